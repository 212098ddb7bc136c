"""Det beside the sum over all permutations, in fractions."""

from fractions import Fraction
from itertools import combinations, permutations
from math import prod

import numpy as np
import pytest

from opcheck.compare import compare
from opcheck.compare.bounded import SCATTER, judge, scatter
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate, exactly

DET = OpVersion("", "Det", 22)


def leibniz(matrix):
    """The determinant of fractions."""
    total = Fraction(0)
    for order in permutations(range(len(matrix))):
        odd = sum(a > b for a, b in combinations(order, 2)) % 2
        entries = [Fraction(float(matrix[row][column])) for row, column in enumerate(order)]
        total += (-1) ** odd * prod(entries)
    return total


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_determinants_are_sums_over_all_permutations(size, dtype):
    rng = np.random.default_rng(size)
    plain = rng.normal(size=(6, size, size))
    plain[1] *= 10.0 ** rng.integers(-2, 3, (size, size))
    plain[2, 0] = plain[2, -1]
    x = plain.astype(dtype)
    (found,) = evaluate(DET, [x], {})
    for one, matrix in zip(found, x, strict=True):
        assert one == np.float64(float(leibniz(matrix))).astype(dtype)


@pytest.mark.parametrize("size", [2, 3, 4, 6, 9, 20])
def test_elimination_is_honest_and_narrow_inputs_are_seen(size):
    import ml_dtypes

    x = np.random.default_rng(size).normal(size=(20, size, size)).astype(np.float32)
    (want,) = exactly(DET, [x], {})
    wanted = computed_want(DET, "Y", want)
    assert not compare(wanted, np.linalg.det(x)).problem
    assert not compare(wanted, np.linalg.det(x.swapaxes(1, 2))).problem
    assert compare(wanted, np.linalg.det(x.astype(ml_dtypes.bfloat16).astype(np.float32))).problem


def eliminated(matrices):
    """Determinants by rows of float32, with the largest pivot of a column."""
    u, y = matrices.copy(), np.ones(len(matrices), np.float32)
    each = np.arange(len(u))
    for k in range(u.shape[1]):
        pivot = k + np.abs(u[:, k:, k]).argmax(axis=1)
        u[each, k], u[each, pivot] = u[each, pivot], u[:, k].copy()
        y *= np.where(pivot == k, 1, -1) * u[:, k, k]
        factors = u[:, k + 1 :, k] / u[:, k, k, None]
        u[:, k + 1 :] -= factors[..., None] * u[:, None, k]
    return y


@pytest.mark.parametrize("mean", [0, 5])
@pytest.mark.parametrize("size", [5, 8, 12, pytest.param(24, marks=pytest.mark.gate)])
def test_errors_scatter_as_far_as_elimination_explains(size, mean):
    x = np.random.default_rng(size).normal(mean, size=(120, size, size)).astype(np.float32)
    (want,) = exactly(DET, [x], {})
    wanted = computed_want(DET, "Y", want)
    for honest in (eliminated(x), eliminated(x.swapaxes(1, 2).copy())):
        assert judge(wanted, honest, DTYPES["float32"], want.tiers()[0]).shares.max() < 1
        assert 0.2 < scatter(wanted, honest) < 3
    assert scatter(wanted, eliminated(cut_to_bits(x, 11))) > SCATTER


@pytest.mark.parametrize("x", [np.ones((2, 0, 0)), np.float32([[1, np.inf], [0, 1]])])
def test_what_the_text_does_not_decide_has_no_answer(x):
    with pytest.raises(NotSupported):
        evaluate(DET, [x], {})
