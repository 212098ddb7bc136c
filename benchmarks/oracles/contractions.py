"""Products of matrices and what is made of them."""

import math
from itertools import permutations

import numpy as np

from benchmarks.oracles import (
    Array,
    Random,
    Sample,
    chance,
    normal,
    one_of,
    oracle,
    shape,
    sizes,
    whole,
    wide,
)


def multiplied(a: Array, b: Array) -> Array:
    """The product of stacks of matrices by plain loops, in the operands' own type."""
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, (*outer, *a.shape[-2:]))
    b = np.broadcast_to(b, (*outer, *b.shape[-2:]))
    y = np.zeros((*outer, a.shape[-2], b.shape[-1]), a.dtype)
    for index in np.ndindex(*y.shape):
        *at, row, column = index
        for k in range(a.shape[-1]):
            y[index] += a[(*at, row, k)] * b[(*at, k, column)]
    return y


def stacks(rng: Random) -> tuple[list[int], list[int]]:
    """The shapes of two stacks of matrices that broadcast."""
    rows, inner, columns = sizes(rng, 3)
    outer = shape(rng, (0, 2), most=3)
    left = [1 if chance(rng, 0.3) else size for size in outer]
    right = [1 if chance(rng, 0.3) else size for size in outer[int(rng.integers(len(outer) + 1)) :]]
    return [*left, rows, inner], [*right, inner, columns]


@oracle("MatMul")
def product(rng: Random) -> Sample:
    left, right = stacks(rng)
    a, b = normal(rng, left), normal(rng, right)
    return Sample(13, (a, b), (multiplied(wide(a), wide(b)),))


@oracle("MatMulInteger")
def integer_product(rng: Random) -> Sample:
    left, right = stacks(rng)
    types = [one_of(rng, np.uint8, np.int8) for _ in range(2)]
    lows = [0 if dtype == np.uint8 else -128 for dtype in types]
    a, b = (
        whole(rng, dims, low, low + 255, dtype)
        for dims, low, dtype in zip((left, right), lows, types, strict=True)
    )
    zeros = [whole(rng, (), low, low + 255, dtype) for low, dtype in zip(lows, types, strict=True)]
    lifted = (x.astype(np.int64) - int(zero) for x, zero in zip((a, b), zeros, strict=True))
    return Sample(10, (a, b, *zeros), (multiplied(*lifted).astype(np.int32),))


@oracle("Gemm")
def general_product(rng: Random) -> Sample:
    rows, inner, columns = sizes(rng, 3)
    turned, other = int(rng.integers(2)), int(rng.integers(2))
    a = normal(rng, (inner, rows) if turned else (rows, inner))
    b = normal(rng, (columns, inner) if other else (inner, columns))
    alpha, beta = 0.5, 2.0
    y = alpha * multiplied(wide(a.T if turned else a), wide(b.T if other else b))
    attrs = {"transA": turned, "transB": other, "alpha": alpha, "beta": beta}
    if chance(rng, 0.4):
        return Sample(13, (a, b), (y,), attrs)
    c = normal(rng, one_of(rng, (rows, columns), (columns,), (1, columns), (rows, 1), ()))
    return Sample(13, (a, b, np.asarray(c)), (y + beta * wide(np.asarray(c)),), attrs)


EQUATIONS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "ii->i",
    "ij->ji",
    "i,j->ij",
    "bij->bj",
    "ij,ij->",
    "ijk,kl,lm->ijm",
    "iij->ij",
    "Ab,bC->AC",
    "ij,jk",
    "ba",
)


@oracle("Einsum")
def summed(rng: Random) -> Sample:
    equation = one_of(rng, *EQUATIONS)
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted(name for name in {*left} - {","} if left.count(name) == 1))
    lengths = dict(zip(sorted({*left} - {","}), sizes(rng, 9, 1, 3), strict=False))
    operands = [normal(rng, [lengths[name] for name in term]) for term in terms]
    y = np.zeros([lengths[name] for name in right])
    names = [*lengths]
    for values in np.ndindex(*lengths.values()):
        at = dict(zip(names, values, strict=True))
        factors = [
            float(x[tuple(at[name] for name in term)])
            for x, term in zip(operands, terms, strict=True)
        ]
        y[tuple(at[name] for name in right)] += math.prod(factors)
    return Sample(12, tuple(operands), (y,), {"equation": equation})


@oracle("Det")
def determinant(rng: Random) -> Sample:
    size = int(rng.integers(1, 5))
    x = normal(rng, [*shape(rng, (0, 2), most=3), size, size])
    y = np.zeros(x.shape[:-2])
    for at in np.ndindex(*y.shape):
        for order in permutations(range(size)):
            swaps = sum(order[i] > order[j] for i in range(size) for j in range(i + 1, size))
            factors = [float(x[(*at, row, column)]) for row, column in enumerate(order)]
            y[at] += (-1) ** swaps * math.prod(factors)
    return Sample(22, (x,), (y,))
