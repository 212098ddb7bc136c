"""A constant in place of an attribute is read off the answer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opcheck.diagnose import Suspects, fitted, names_of
from opcheck.engine import Node
from opcheck.model import OpVersion
from tests.asking import shipped_cases
from tests.diagnose.wrong import wrong

HARD_SIGMOID = OpVersion("", "HardSigmoid", 6)
NORMALIZATION = OpVersion("", "InstanceNormalization", 6)
X = np.float32([-1.2, -0.3, 0.7, 1.1])
ROWS = np.float32([[[1, 2, 4], [0, 3, 5]]])


def hard_sigmoid(x: Any, alpha: float) -> Any:
    return np.float32(np.clip(alpha * x + 0.5, 0, 1))


def names(on: Node, got: Any) -> list[str | None]:
    return [one.mistake for one in Suspects(lambda case: None).diagnose(wrong(on, [got]))]


def test_a_default_is_read_off_the_answer() -> None:
    on = Node(HARD_SIGMOID, (X,), {})
    assert names(on, hard_sigmoid(X, 1 / 6)) == ["default_alpha_0.166667", "alpha_always_0.166667"]


def test_0_is_tried_before_what_lies_near_it() -> None:
    on = Node(HARD_SIGMOID, (X,), {})
    got = np.float32(np.clip(0.2 * X, 0, 1))
    tried = [one.name for mutants in fitted.constants(on, on.right[0], got, 0) for one in mutants]
    of_beta = [name for name in tried if name.startswith("default_beta")]
    assert of_beta[0] == "default_beta_0"


def test_a_stated_value_is_not_taken_for_a_default() -> None:
    on = Node(HARD_SIGMOID, (X,), {"alpha": 0.3})
    assert names(on, hard_sigmoid(X, 0.25)) == ["alpha_always_0.25"]


def test_a_constant_below_a_root_is_found_too() -> None:
    on = Node(NORMALIZATION, (ROWS, np.float32([1, 1]), np.float32([0, 0])), {"epsilon": 0.01})
    deviations = np.sqrt(ROWS.var(-1, keepdims=True) + 0.05)
    got = np.float32((ROWS - ROWS.mean(-1, keepdims=True)) / deviations)
    assert names(on, got) == ["epsilon_always_0.05"]


def test_one_value_says_nothing_about_a_constant() -> None:
    on = Node(HARD_SIGMOID, (X[:1],), {})
    assert not [name for name in names(on, hard_sigmoid(X[:1], 0.29)) if "alpha" in str(name)]


def test_other_wrong_values_are_no_constant() -> None:
    got = hard_sigmoid(X, 0.29) + np.float32([0, 0.1, 0, 0])
    on = Node(HARD_SIGMOID, (X,), {})
    assert not [name for name in names(on, got) if "alpha" in str(name)]


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("default_alpha_0.166667", True),
        ("default_alpha_1e-05", True),
        ("alpha_always_minus_0.2", True),
        ("gamma_always_2", False),
        ("alpha_much_taken_for_the_default", False),
        ("alpha_always_much", False),
    ],
)
def test_ledgers_may_have_any_number(name: str, is_known: bool) -> None:
    assert (name in names_of(HARD_SIGMOID)) is is_known
    assert (fitted.named(HARD_SIGMOID, name) is not None) is is_known


def test_a_number_of_six_digits_stands_for_a_fraction() -> None:
    assert fitted.as_meant(0.166667) == 1 / 6
    assert fitted.as_meant(0.1667) == 0.1667


def test_few_elements_do_not_confirm_a_derived_mistake() -> None:
    case = next(one for one in shipped_cases("HardSigmoid") if one.op == HARD_SIGMOID)
    found = Suspects(lambda case: None)
    found.diagnose(wrong(Node(HARD_SIGMOID, (X,), {}), [hard_sigmoid(X, 1 / 6)]), case.id)
    assert found.fitting(case, ()) == {}
    other = Node(HARD_SIGMOID, (2 * X,), {})
    found.diagnose(wrong(other, [hard_sigmoid(2 * X, 1 / 6)]), case.id)
    assert [*found.fitting(case, ())] == ["default_alpha_0.166667", "alpha_always_0.166667"]


def test_one_word_may_be_ignored_where_others_are_not() -> None:
    W, R = np.float32([[[1], [2], [3], [-1]]]), np.float32([[[0.5], [-1], [0.2], [1]]])
    X = np.float32([[[1]], [[2]], [[-3]]])
    op = OpVersion("", "LSTM", 14)
    on = Node(op, (X, W, R), {"hidden_size": 1, "direction": "reverse"})
    (forward,) = Node(op, (X, W, R), {"hidden_size": 1}, (0,)).right
    on = replace(on, outputs=(0,))
    found = Suspects(lambda case: None).diagnose(wrong(on, [forward]))
    assert "direction_reverse_taken_for_the_default" in [one.mistake for one in found]
    assert "direction_reverse_taken_for_the_default" in names_of(op)
