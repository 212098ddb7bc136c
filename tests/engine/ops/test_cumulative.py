"""CumSum and CumProd beside loops in plain Python, and flags that are open."""

from itertools import accumulate
from operator import add, mul

import numpy as np
import pytest

from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

OPERATORS = {
    "CumSum": (OpVersion("", "CumSum", 14), add, 0),
    "CumProd": (OpVersion("", "CumProd", 26), mul, 1),
}


def looped(row, step, start, exclusive, reverse):
    """What is accumulated of a list so far."""
    ordered = row[::-1] if reverse else row
    every = list(accumulate(ordered, step, initial=start))
    found = every[:-1] if exclusive else every[1:]
    return found[::-1] if reverse else found


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_every_element_is_accumulated_from_those_before(name, exclusive, reverse):
    op, step, start = OPERATORS[name]
    x = np.float32([[1, 2, 3], [4, -5, 6]])
    flags = {"exclusive": exclusive, "reverse": reverse}
    [along_rows] = evaluate(op, [x, np.array(-1)], flags)
    assert along_rows.tolist() == [
        looped(row, step, start, exclusive, reverse) for row in x.tolist()
    ]
    [along_columns] = evaluate(op, [x, np.array(0)], flags)
    assert along_columns.T.tolist() == [
        looped(row, step, start, exclusive, reverse) for row in x.T.tolist()
    ]


def test_flags_other_than_0_and_1_are_taken_for_either_or_refused():
    op, _, _ = OPERATORS["CumSum"]
    found = by_reading(op, [np.float32([1, 2, 3]), np.array(0)], {"exclusive": 2})
    assert found.keys() == {"as_1", "as_0", "refused"}
    assert found["as_1"][0].tolist() == [0, 1, 3]
    assert found["as_0"][0].tolist() == [1, 3, 6]
    assert found["refused"] is None
