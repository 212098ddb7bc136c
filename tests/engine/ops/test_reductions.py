"""Reductions agree with loops of plain Python, in which every sum is rounded once."""

import math
from itertools import product

import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

#: What is made of a list of numbers.
RIGHT = {
    "ReduceL1": lambda row: math.fsum(map(abs, row)),
    "ReduceL2": lambda row: math.hypot(*row),
    "ReduceLogSum": lambda row: math.log(math.fsum(row)),
    "ReduceLogSumExp": lambda row: math.log(math.fsum(map(math.exp, row))),
    "ReduceMax": max,
    "ReduceMean": lambda row: math.fsum(row) / len(row),
    "ReduceMin": min,
    "ReduceProd": math.prod,
    "ReduceSum": math.fsum,
    "ReduceSumSquare": lambda row: math.fsum(x * x for x in row),
}
AXES = [(), (0,), (2,), (1, -1), (-2, 0), (0, 1, 2)]


def looped(x, axes, keep, made):
    along = [axis % 3 for axis in axes] or [0, 1, 2]
    kept = [1 if axis in along else n for axis, n in enumerate(x.shape)]
    rows = {place: [] for place in product(*map(range, kept))}
    for place in product(*map(range, x.shape)):
        rows[tuple(0 if a in along else i for a, i in enumerate(place))].append(float(x[place]))
    found = np.array([made(row) for row in rows.values()]).reshape(kept)
    return found if keep else found.squeeze(tuple(along))


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("keep", [0, 1])
def test_every_reduction_is_a_loop(name, axes, keep):
    x = np.random.default_rng(1).uniform(0.25, 2, (2, 3, 4))
    want = looped(x, axes, keep, RIGHT[name])
    as_input, as_attribute = 13 if name == "ReduceSum" else 18, 11
    attrs = {"axes": axes} if axes else {}
    [found] = evaluate(OpVersion("", name, as_attribute), [x], {**attrs, "keepdims": keep})
    [other] = evaluate(OpVersion("", name, as_input), [x, np.array(axes, int)], {"keepdims": keep})
    for out in (found, other):
        assert out.shape == want.shape
        np.testing.assert_allclose(out, want, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "since"), [("ReduceMean", 18), ("ReduceSum", 11), ("ReduceMax", 12)]
)
def test_what_no_values_make_is_answered_and_judges_nobody(name, since):
    op, x = OpVersion("", name, since), np.ones(0, np.float32)
    assert len(evaluate(op, [x], {})) == 1
    with judging(), pytest.raises(NotSupported, match="nothing is said"):
        evaluate(op, [x], {})


def readings(name, since, x, attrs, axes=None):
    inputs = [x] if axes is None else [x, np.array(axes)]
    found = by_reading(OpVersion("", name, since), inputs, attrs)
    return {reading: out and out[0].tolist() for reading, out in found.items()}


def test_axes_that_the_text_leaves_open_have_a_reading_each():
    x = np.float32([[2, 7], [9, 1]])
    along_last = {"keepdims": 0, "axes": (-1,)}
    assert readings("ReduceSum", 1, x, along_last) == {"from_the_back": [9, 10], "refused": None}
    assert readings("ReduceSum", 11, x, along_last) == {"": [9, 10]}
    empty = {"keepdims": 0, "axes": ()}
    every = {"all": 9, "none": x.tolist(), "refused": None}
    assert readings("ReduceMax", 13, x, empty) == every
    twice = {"once": [9, 10], "refused": None}
    assert readings("ReduceSum", 11, x, {"keepdims": 0, "axes": (1, -1)}) == twice
    assert readings("ReduceSum", 13, x, {"keepdims": 0}, axes=[1, -1]) == twice


def test_flags_other_than_0_and_1_are_taken_for_either_or_refused():
    x = np.float32([2, 7])
    assert readings("ReduceSum", 13, x, {"keepdims": 2}) == {
        "as_1": [9],
        "as_0": 9,
        "refused": None,
    }
    assert readings("ReduceSum", 13, x, {"noop_with_empty_axes": -1}) == {
        "as_1": [2, 7],
        "as_0": [9],
        "refused": None,
    }


@pytest.mark.parametrize(
    ("name", "x", "scaled", "out_of_range"),
    [
        ("ReduceL2", np.float16([30000, 40000]), np.float16(50000), math.inf),
        ("ReduceL2", np.float32([3e30, 4e30]), np.float32(5e30), math.inf),
        ("ReduceL2", [3 * 2.0**600, 4 * 2.0**600], 5 * 2.0**600, math.inf),
        ("ReduceLogSumExp", np.float32([150, 130]), 150, math.inf),
        ("ReduceLogSumExp", [800.0], 800, math.inf),
        ("ReduceLogSumExp", np.float32([-104]), -104, -math.inf),
        ("ReduceLogSumExp", [-746.0], -746, -math.inf),
    ],
)
def test_a_sum_out_of_range_may_be_scaled_or_not(name, x, scaled, out_of_range):
    found = readings(name, 13, np.asarray(x), {"keepdims": 0})
    assert found == {"scaled": scaled, "out_of_range": out_of_range}


@pytest.mark.parametrize(
    ("name", "x", "want"),
    [
        ("ReduceL2", np.float32([3e18, 4e18]), np.float32(5e18)),
        ("ReduceL2", np.float32([3e38, 3e38]), math.inf),
        ("ReduceLogSumExp", np.float32([88]), 88),
        ("ReduceLogSumExp", np.float32([-103]), -103),
        ("ReduceLogSumExp", np.float32([math.inf]), math.inf),
        ("ReduceLogSumExp", np.float32([-math.inf]), -math.inf),
    ],
)
def test_one_answer_is_right_where_the_sum_is_in_range_or_the_result_is_not(name, x, want):
    assert readings(name, 13, x, {"keepdims": 0}) == {"": want}


@pytest.mark.parametrize("x", [[46341], [-(2**31)], [[3, 4], [40000, 30000]]])
def test_a_norm_of_integers_whose_squares_leave_the_type_is_open(x):
    # The norm of 46341 is 46341, and that of its square in 32 bits is not.
    with judging(), pytest.raises(NotSupported):
        evaluate(OpVersion("", "ReduceL2", 13), [np.int32(x)], {"axes": [-1]})


@pytest.mark.parametrize(("x", "want"), [([46340], 46340), ([[27804, 37072], [0, -5]], [46340, 5])])
def test_a_norm_of_integers_whose_squares_fit_is_decided(x, want):
    with judging():
        (y,) = evaluate(OpVersion("", "ReduceL2", 13), [np.int32(x)], {"axes": [-1], "keepdims": 0})
    assert np.array_equal(y, want)


@pytest.mark.parametrize("axes", [[2], [-3], [[0]]])
def test_axes_are_a_list_of_those_in_range(axes):
    with pytest.raises(InvalidNode):
        evaluate(OpVersion("", "ReduceSum", 13), [np.ones((2, 2)), np.array(axes)], {})
