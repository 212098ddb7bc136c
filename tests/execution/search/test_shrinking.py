import math

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.execution.search.drawing import Candidate
from opcheck.execution.search.search_space import shrunk
from opcheck.model import Fill, Given, TensorSpec

FLOAT32 = DTYPES["float32"]


def node(values, attrs=None, *, constant=False):
    array = np.array(values, np.float64)
    spec = TensorSpec("X", FLOAT32, array.shape, Given(array), (), constant)
    return Candidate(attrs or {}, (spec,))


def values(found):
    return found.inputs[0].content.values


@pytest.mark.parametrize("shape", [(3,), (4, 5), (2, 3, 4), (65,)])
def test_what_matters_is_left(shape):
    start = np.full(shape, 3.25)
    start.flat[start.size // 2] = 7
    found = shrunk(node(start), lambda n: bool((values(n) == 7).any()))
    assert values(found).tolist() == 7


def test_two_elements_side_by_side():
    start = np.arange(40.0).reshape(5, 8)
    start[3, 4:6] = 50

    def tied(n):
        rows = values(n)
        return rows.ndim == 2 and bool((rows[:, 1:] == rows[:, :-1]).any())

    found = shrunk(node(start), tied)
    assert values(found).tolist() == [[0, 0]]


def test_numbers_become_plain():
    found = shrunk(node([3.7251, -12.625]), lambda n: values(n).size == 2 and values(n)[1] < -1)
    assert values(found).tolist() == [0, -13]
    signed = shrunk(node([0.3]), lambda n: values(n).size == 1 and values(n).flat[0] > 0)
    assert values(signed).tolist() in (1, [1])


def test_special_values_stay_where_they_matter():
    found = shrunk(node([math.inf, -0.0, math.nan]), lambda n: bool(np.isnan(values(n)).any()))
    assert values(found).size == 1
    assert np.isnan(values(found)).all()


def test_attributes_are_left_out_or_become_plain():
    attrs = {"axis": 5, "pads": (2, 1), "p": 2.5, "auto_pad": "VALID"}
    found = shrunk(node(1, attrs), lambda n: "pads" in n.attrs and n.attrs.get("p", 0) > 2)
    assert found.attrs == {"pads": (0, 0), "p": 3.0}


def test_the_axis_moves_with_the_axes_that_are_dropped():
    def along_the_long_one(n):
        axis = n.attrs.get("axis")
        return isinstance(axis, int) and n.inputs[0].shape[axis:][:1] == (3,)

    start = np.arange(3.0).reshape(1, 1, 3, 1)
    found = shrunk(node(start, {"axis": 2}), along_the_long_one)
    assert (found.attrs, found.inputs[0].shape) == ({"axis": 0}, (3,))


def test_an_initializer_becomes_an_input_unless_it_matters():
    start = node([1.0], constant=True)
    assert not shrunk(start, lambda n: True).inputs[0].initializer
    assert shrunk(start, lambda n: n.inputs[0].initializer).inputs[0].initializer


def test_fills_stay_as_they_are():
    spec = TensorSpec("X", FLOAT32, (70_000,), Fill("constant", (0.0,)))
    found = shrunk(Candidate({"axis": 0}, (spec,)), lambda n: True)
    assert found.inputs == (spec,)
    assert found.attrs == {}


def test_nothing_is_tried_for_ever():
    asked = []
    shrunk(node(np.arange(64.0) + 0.123), lambda n: bool(asked.append(n)))
    assert len(asked) <= 400
