"""Einsum beside loops in plain Python, and the readings of equations that are open."""

from itertools import product
from math import prod

import numpy as np
import pytest

from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

LENGTHS = {"i": 2, "j": 3, "k": 4, "A": 2, "b": 1}


@pytest.mark.parametrize(
    "equation", ["ij,jk->ki", "ii,ij->j", "k,Ab,kA->bk", "iki->", "jA,ki", ",j->j"]
)
def test_every_sum_is_that_of_loops_over_letters(equation):
    left, arrow, out = equation.partition("->")
    out = out if arrow else "".join(sorted(c for c in {*left} - {","} if left.count(c) == 1))
    shapes = ([LENGTHS[c] for c in term] for term in left.split(","))
    x = [np.arange(-1, prod(shape) - 1).reshape(shape) for shape in shapes]
    want, letters = np.zeros([LENGTHS[c] for c in out], np.int64), sorted({*left} - {","})
    for at in product(*(range(LENGTHS[c]) for c in letters)):
        place = dict(zip(letters, at, strict=True))
        terms = zip(x, left.split(","), strict=True)
        want[tuple(place[c] for c in out)] += prod(
            int(a[tuple(place[c] for c in t)]) for a, t in terms
        )
    (found,) = evaluate(OpVersion("", "Einsum", 12), x, {"equation": equation})
    assert found.tolist() == want.tolist()


EINSUM = OpVersion("", "Einsum", 12)


@pytest.mark.parametrize(
    ("equation", "shapes", "stretched"),
    [
        ("i,i->i", [(1,), (3,)], [0, 0, 0]),
        ("ij,jk->ik", [(2, 1), (3, 1)], [[0], [3]]),
        ("ii->i", [(1, 3)], [0, 1, 2]),
    ],
)
def test_an_axis_of_one_that_a_letter_names_is_stretched_or_refused(equation, shapes, stretched):
    x = [np.arange(prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
    found = by_reading(EINSUM, x, {"equation": equation})
    assert found["refused"] is None
    assert found["stretched"][0].tolist() == stretched


def test_an_axis_of_one_of_an_ellipsis_is_stretched():
    x = [np.ones((1, 2)), np.full((3, 1), 2.0)]
    found = by_reading(EINSUM, x, {"equation": "...,..."})
    assert {name: out[0].tolist() for name, out in found.items()} == {"": [[2, 2]] * 3}


@pytest.mark.parametrize(
    ("equation", "reading", "want"),
    [("...i->i", "summed", [3, 5, 7]), ("ij->...ij", "no_axes", [[0, 1, 2], [3, 4, 5]])],
)
def test_an_ellipsis_on_one_side_alone_has_a_meaning_or_is_refused(equation, reading, want):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = by_reading(EINSUM, [x], {"equation": equation})
    assert found == {reading: found[reading], "refused": None}
    assert found[reading][0].tolist() == want


def test_a_letter_twice_in_the_output_has_no_answer(wording):
    with pytest.raises(NotSupported) as raised:
        evaluate(EINSUM, [np.ones(2)], {"equation": "i->ii"})
    assert raised.value == wording


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("i1->i", [(2, 2)]),
        ("i......->i", [(2, 2)]),
        ("ij,jk", [(2, 2)]),
        ("...,...", [(2, 2), (2,)]),
        ("...ijk", [(2, 2)]),
        ("i", [(2, 2)]),
        ("ij,jk", [(2, 3), (2, 2)]),
        ("ij->ik", [(2, 2)]),
    ],
)
def test_an_equation_that_does_not_fit_is_refused_with_the_reason(equation, shapes, wording):
    with pytest.raises(InvalidNode) as raised:
        evaluate(EINSUM, [np.ones(shape) for shape in shapes], {"equation": equation})
    assert raised.value == wording
