"""Reductions agree with loops of plain Python, in which every sum is rounded once."""

import math
from itertools import product

import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate

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
    ("name", "since", "shape", "attrs"),
    [
        ("ReduceMean", 18, (0,), {}),
        ("ReduceSum", 11, (0,), {}),
        ("ReduceMax", 12, (0,), {}),
        ("ReduceSum", 1, (2,), {"axes": (-1,)}),
        ("ReduceSum", 11, (2,), {"axes": ()}),
        ("ReduceSum", 13, (2,), {"keepdims": 2}),
        ("ReduceSum", 13, (2,), {"noop_with_empty_axes": -1}),
    ],
)
def test_what_the_text_leaves_open_is_answered_and_judges_nobody(name, since, shape, attrs):
    op, x = OpVersion("", name, since), np.ones(shape, np.float32)
    assert len(evaluate(op, [x], attrs)) == 1
    with judging(), pytest.raises(NotSupported, match="nothing is said"):
        evaluate(op, [x], attrs)


@pytest.mark.parametrize("axes", [[2], [-3], [[0]]])
def test_axes_are_a_list_of_those_in_range(axes):
    with pytest.raises(InvalidNode):
        evaluate(OpVersion("", "ReduceSum", 13), [np.ones((2, 2)), np.array(axes)], {})
