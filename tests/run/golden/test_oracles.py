from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opcheck import precise
from opcheck.errors import InvalidNode
from opcheck.model import Array, OpVersion
from opcheck.precise import Precise, Undecided
from opcheck.run.golden import oracles
from opcheck.run.golden.oracles import NEAR, Disagreement, outputs, same

SOFTMAX = OpVersion("", "Softmax", 13)
X = np.array([0.0, 1.0], np.float32)
RIGHT = np.array([0.26894143, 0.7310586], np.float32)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the high-precision oracle say something else."""

    def says(answer: Any) -> None:
        def evaluate(*_: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(precise, "evaluate", evaluate)

    return says


def one(values: Array, distance: float = 0.25) -> tuple[Precise]:
    return (Precise(values, np.full(values.shape, distance), "mpmath"),)


def up(values: Array) -> Array:
    return np.nextafter(values, np.array(np.inf, values.dtype))


def test_what_is_written_is_the_correctly_rounded_value() -> None:
    found = outputs(SOFTMAX, [X], {})
    assert found is not None
    assert np.array_equal(found.arrays[0], RIGHT)
    assert found.method == "mpmath"


def test_one_ulp_apart_is_agreement_next_to_a_midpoint_only(says: Any) -> None:
    says(one(up(RIGHT), NEAR))
    found = outputs(SOFTMAX, [X], {})
    assert found is not None
    assert np.array_equal(found.arrays[0], up(RIGHT))
    says(one(up(RIGHT), 2 * NEAR))
    with pytest.raises(Disagreement, match=r"2 of 2 elements differ; at \[0\] opcheck\.precise"):
        outputs(SOFTMAX, [X], {})
    says(one(up(up(RIGHT)), 0))
    with pytest.raises(Disagreement):
        outputs(SOFTMAX, [X], {})


@pytest.mark.parametrize(
    "other", [RIGHT.astype(np.float64), RIGHT[None], np.full(2, np.nan, np.float32), -RIGHT]
)
def test_another_dtype_shape_nan_or_sign_is_disagreement(says: Any, other: Array) -> None:
    says(one(other, 0))
    with pytest.raises(Disagreement):
        outputs(SOFTMAX, [X], {})


def test_the_other_zero_is_disagreement(says: Any) -> None:
    x = np.array([0, -1000], np.float32)
    says(one(np.array([1, -0.0], np.float32), 0))
    with pytest.raises(Disagreement, match=r"at \[1\] .* gives -0\.0, the engine 0\.0"):
        outputs(SOFTMAX, [x], {})


def test_both_have_to_reject(says: Any) -> None:
    with pytest.raises(InvalidNode):
        outputs(SOFTMAX, [X], {"axis": 7})
    says(one(RIGHT))
    with pytest.raises(Disagreement, match=r"opcheck\.precise accepts the node, the engine does"):
        outputs(SOFTMAX, [X], {"axis": 7})
    says(InvalidNode("no"))
    with pytest.raises(Disagreement, match=r"the engine accepts the node, opcheck\.precise does"):
        outputs(SOFTMAX, [X], {})


def test_what_is_undecided_has_no_answer(says: Any) -> None:
    says(Undecided("who knows"))
    with pytest.raises(Undecided):
        outputs(SOFTMAX, [X], {})


def test_an_operator_of_one_oracle_is_that_one_s_and_of_none_nobody_s(says: Any) -> None:
    says(None)
    found = outputs(SOFTMAX, [X], {})
    assert found is not None
    assert found.method == "engine"
    assert outputs(OpVersion("", "Relu", 14), [X], {}) is None


def test_numbers_are_the_same_by_their_bits_but_for_nan() -> None:
    nan = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    assert same(nan[:1], nan[1:]).all()
    assert not same(np.float32([0.0]), np.float32([-0.0])).any()
    assert same(np.array([True]), np.array([True])).all()
    assert oracles.NEAR < 0.5
