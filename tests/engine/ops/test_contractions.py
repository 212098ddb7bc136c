"""Matrix products and Einsum beside loops in plain Python."""

from itertools import product
from math import prod

import numpy as np
import pytest

from opcheck.model import OpVersion
from tests.computed import evaluate

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
