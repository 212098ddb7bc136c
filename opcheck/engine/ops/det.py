"""Det (11, 22): determinants of square matrices."""

from functools import partial, reduce

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

OP = operator("Det")


def of_matrices(determinants, finish=lambda y: y):
    """The formulas of both versions, from `determinants(X)` of matrices of 2×2 or more."""

    def formula(X):
        if X.ndim < 2 or X.shape[-1] != X.shape[-2]:
            raise InvalidNode(f"{list(X.shape)} are no square matrices")
        n, values = X.shape[-1], bare(xp.values_of(X))
        if not n or (n > 1 and not np.isfinite(values).all()):
            raise NotSupported("nothing is said of matrices of nothing, of infinity or NaN")
        return finish(X[..., 0, 0] if n == 1 else xp.astype(determinants(X), X.dtype))

    return dict.fromkeys((11, 22), formula)


# The value is computed in whole numbers, because elimination loses what a singular matrix is about.
@OP.formula(by=of_matrices)
def eliminated(X):
    """The determinants, as near as the elimination with pivots gets in an arithmetic."""
    values = bare(xp.values_of(X))
    *outer, n, _ = values.shape
    top = np.frexp(np.abs(values).max(axis=(-2, -1), initial=0))[1]
    scaled = np.ldexp(values, -top[..., None, None])
    found = [(*exact(a), *room(a)) for a in scaled.reshape(-1, n, n)]
    parts = np.array(found, np.float64).reshape(*outer, 5)
    with np.errstate(over="ignore"):
        parts = np.ldexp(parts, n * top[..., None])
    parts[..., 1:] = np.where(np.isinf(parts[..., :1]), 0, np.minimum(parts[..., 1:], 1e300))
    high, middle, low, most = (xp.astype(parts[..., k], np.float64) for k in range(4))
    return high + (middle + low) + (xp.inexact(most, 1, parts[..., 4]) - most)


def exact(a):
    """Three numbers that add up to the determinant, by Bareiss's elimination."""
    mantissas, exponents = np.frexp(a)
    least, sign, last = int(exponents.min()), 1, 1
    whole = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    whole = whole << (exponents - least).astype(object)
    for k in range(len(a) - 1):
        pivots = np.flatnonzero(whole[k:, k])
        if not pivots.size:
            return 0.0, 0.0, 0.0
        if pivots[0]:
            whole[[k, k + pivots[0]]], sign = whole[[k + pivots[0], k]], -sign
        pivot, rest = whole[k, k], whole[k + 1 :, k + 1 :]
        rest[...] = (rest * pivot - np.outer(whole[k + 1 :, k], whole[k, k + 1 :])) // last
        last = pivot
    rest, exponent, found = sign * whole[-1, -1], len(a) * (least - 53), []
    shift = max(0, rest.bit_length() - 1000)
    rest, exponent = rest >> shift, exponent + shift
    for _ in range(3):
        found.append(float(rest))
        rest -= int(found[-1])
    return tuple(np.ldexp(found, exponent))


def triangles(a, exchanged=True):
    """The order of rows, L and U of an elimination, with rows `exchanged` for larger pivots."""
    u, rows, lower = a.copy(), np.arange(len(a)), np.zeros_like(a)
    for k in range(len(u)):
        pivot = k + (np.abs(u[k:, k]).argmax() if exchanged else 0)
        for one in (u, rows, lower):
            one[[k, pivot]] = one[[pivot, k]]
        lower[k:, k] = u[k:, k] / (u[k, k] or 1.0)
        lower[k, k] = 1
        u[k + 1 :, k:] -= np.outer(lower[k + 1 :, k], u[k, k:])
    return rows, lower, u


def room(a):
    """The largest error of an elimination, and its standard deviation, in unit roundoffs.

    Elimination is right of a matrix nearby: A + E = LU with |E| ≤ n·u·|L||U|. To first order each
    element of E moves a determinant by its cofactor, and to all others no further than products of
    singular values tell.
    """
    n = len(a)
    left, sizes, right = np.linalg.svd(a)
    others = np.prod(np.where(np.eye(n), 1, sizes), axis=1)
    cofactors, found = np.abs((left * others) @ right), []
    for x, factors in (a, cofactors), (a.T, cofactors.T):
        rows, lower, upper = triangles(x)
        spread = 2 * (lower**2 @ upper**2) * factors[rows] ** 2
        found.append((np.sum(factors[rows] * (near := np.abs(lower) @ np.abs(upper))),
                      np.linalg.norm(near), np.sqrt(spread.sum())))  # fmt: skip
    first, moved, deviation = np.max(found, axis=0) * [n, n, 1]
    moved *= 2.0**-24
    rest = np.poly(-sizes)[::-1][2:] @ moved ** np.arange(2, n + 1)
    return first + rest * 2.0**24 + n * np.prod(sizes), deviation + np.prod(sizes)


OP.also_honest("where determinants are exponentials of sums of logarithms", by=partial(
    of_matrices, finish=lambda y: xp.sign(y) * xp.exp(xp.log(xp.abs(y)))))(eliminated)  # fmt: skip


# Kernels of small matrices have the formula, which is not as near to singular matrices.
@OP.also_honest("", by=of_matrices)
def by_minors(X):
    n = X.shape[-1]
    if n > 4:
        return eliminated(X)
    if n == 1:
        return X[..., 0, 0]
    others = ([j for j in range(n) if j != k] for k in range(n))
    minors = (by_minors(xp.take(X[..., 1:, :], columns, axis=-1)) for columns in others)
    terms = [(-1) ** k * (X[..., 0, k] * minor) for k, minor in enumerate(minors)]
    return reduce(lambda a, b: a + b, terms)


OP.mutant_table({
    "sign_lost": ("determinants were positive", lambda x: abs(np.linalg.det(x))),
    "exchanges_not_counted": ("the sign did not turn where rows were exchanged",
        lambda x: np.prod(np.diagonal(triangles(x)[2]))),
    "no_exchanges": ("a pivot of 0 was the end",
        lambda x: np.prod(np.diagonal(triangles(x, exchanged=False)[2]))),
    "diagonal_product": ("the product of the diagonal was taken",
        lambda x: np.prod(np.diagonal(x))),
}, by=lambda change: of_matrices(lambda X: np.array(
    [change(x) for x in X.astype(np.float64).reshape(-1, *X.shape[-2:])]
).reshape(X.shape[:-2])))  # fmt: skip
