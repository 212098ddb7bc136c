"""A mistake reproduces an answer where it gives the same, but for rounding, and that is wrong."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.diagnose.suspects import contradicts, mutant_named, reproduces
from opcheck.engine import Node
from opcheck.engine.mutants import mutants_of
from opcheck.model import Foreign, OpVersion
from tests.diagnose.wrong import HARDMAX, SOFTMAX, mutant, node, refuse, wrong

TIES = node(HARDMAX, [[3, 3, 1]], {"axis": 1})
LAST = np.array([[0, 1, 0]], np.float32)
ROW = node(SOFTMAX, [[0, 1, 2, 3]], {"axis": 1})
RIGHT = ROW.right[0]


def test_the_same_wrong_answer_is_reproduced() -> None:
    assert reproduces(mutant(lambda _: [LAST]), wrong(TIES, [LAST]))


@pytest.mark.parametrize(
    "other",
    [np.array([[0, 0, 1]], np.float32), LAST.astype(np.float64), LAST[0], [[0, 1, 0]]],
    ids=["values", "dtype", "shape", "type"],
)
def test_another_answer_is_not(other: Any) -> None:
    assert not reproduces(mutant(lambda _: [other]), wrong(TIES, [LAST]))


@pytest.mark.parametrize(("op", "given", "attrs", "got", "name"), [
    (("Mod", 13), [[-7], [3]], {"fmod": 0}, [-1], "sign_of_the_dividend"),
    (("ScatterND", 18), [[1, 2], [[0], [0]], [5, 6]], {"reduction": "add"}, [7, 2],
     "last_update_under_add"),
    (("Cast", 19), [[9e9, np.nan]], {"to": 17, "saturate": 0},
     np.array([448, np.nan], ml_dtypes.float8_e4m3fn), "saturate_ignored"),
    (("Relu", 14), [[-1] * 9], {}, [0] * 8 + [-1], "tail_of_8_the_input"),
])  # fmt: skip
def test_famous_mistakes_have_a_name(op: Any, given: Any, attrs: Any, got: Any, name: str) -> None:
    node = Node(OpVersion("", *op), tuple(map(np.array, given)), attrs)
    found = {one.name: one for one in mutants_of(node.op)}
    assert reproduces(found[name], wrong(node, [np.array(got)]))


def test_another_number_of_outputs_is_not() -> None:
    assert not reproduces(mutant(lambda _: [LAST, LAST]), wrong(TIES, [LAST]))


def test_what_would_have_passed_explains_no_failure() -> None:
    nearly = np.nextafter(RIGHT, np.float32(0))
    wrong_by_little = RIGHT * np.float32(1 + 2e-6)
    assert not reproduces(mutant(lambda _: [nearly]), wrong(ROW, [wrong_by_little]))


def test_another_arithmetic_of_the_same_mistake_may_differ_by_a_few_ulp() -> None:
    doubled = 2 * RIGHT
    near = np.nextafter(doubled, np.float32(9))
    assert reproduces(mutant(lambda _: [doubled]), wrong(ROW, [near]))


def test_another_arithmetic_may_differ_by_what_the_operator_s_own_rounds_to() -> None:
    """Stage one is computed in float32, and outputs are float64; Mean is right in both."""
    x = np.random.default_rng(0).standard_normal((3, 40)) + 2
    scale, bias = np.linspace(1, 2, 40), np.linspace(-1, 1, 40)
    given = Node(OpVersion("", "LayerNormalization", 17), (x, scale, bias), {"epsilon": 0.1})
    mean = x.mean(1, keepdims=True)
    deviation = x.std(1, keepdims=True)
    answer = [(x - mean) / (deviation + 0.1) * scale + bias, mean, 1 / (deviation + 0.1)]
    got = [answer[0], *(part.astype(np.float32) for part in (mean * (1 + 1e-6), answer[2]))]
    found = {one.name: one for one in mutants_of(given.op)}
    assert reproduces(found["epsilon_after_the_root"], wrong(given, got))
    assert not reproduces(found["epsilon_ignored"], wrong(given, got))


@pytest.mark.parametrize("off", [(1e-4, 2e-4), (2.6e-6, 4.6e-6)])
def test_what_is_nearer_to_the_right_answer_than_to_the_mistake_is_not_that_mistake(off):
    got, other = (RIGHT * np.float32([[1 + one, 1, 1, 1]]) for one in off)
    assert not reproduces(mutant(lambda _: [other]), wrong(ROW, [got]))


def test_two_that_are_made_at_once_go_by_both_names() -> None:
    known = {name: mutant(refuse, name) for name in ("one", "two")}
    for name in ("one", "one+two", "one+computed_in_float32", "one+nobody"):
        assert getattr(mutant_named(name, known), "name", "one+nobody") == name


def test_nan_is_reproduced_by_nan_only() -> None:
    nan = np.full_like(RIGHT, np.nan)
    assert reproduces(mutant(lambda _: [nan]), wrong(ROW, [nan]))
    assert not reproduces(mutant(lambda _: [2 * RIGHT]), wrong(ROW, [nan]))


def test_a_refusal_is_reproduced_by_a_refusal() -> None:
    assert reproduces(mutant(refuse), wrong(TIES, None))
    assert not reproduces(mutant(refuse), wrong(TIES, [LAST]))
    assert not reproduces(mutant(lambda _: [LAST]), wrong(TIES, None))


def test_what_is_no_tensor_is_reproduced_by_the_same_type() -> None:
    seen = wrong(TIES, [Foreign("builtins.list")])
    assert reproduces(mutant(lambda _: [[0, 1, 0]]), seen)
    assert not reproduces(mutant(lambda _: [object()]), seen)


def test_an_accepted_invalid_model_is_reproduced_by_its_answer() -> None:
    invalid = node(HARDMAX, [[3, 3, 1]], {"axis": 2})
    assert reproduces(mutant(lambda _: [LAST]), wrong(invalid, [LAST]))
    assert not reproduces(mutant(lambda _: [1 - LAST]), wrong(invalid, [LAST]))


def test_a_pass_contradicts_what_would_have_failed() -> None:
    passed = wrong(TIES, None)
    assert contradicts(mutant(lambda _: [LAST]), passed)
    assert contradicts(mutant(refuse), passed)
    assert not contradicts(mutant(lambda made_on: made_on.right), passed)


def test_a_refusal_that_was_right_contradicts_who_accepts() -> None:
    refused = wrong(node(HARDMAX, [[3, 3, 1]], {"axis": 2}), None)
    assert contradicts(mutant(lambda _: [LAST]), refused)
    assert not contradicts(mutant(refuse), refused)
