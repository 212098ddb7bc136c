"""Det, both versions: determinants of square matrices.

The value is computed in whole numbers, because elimination loses what a nearly singular matrix is
about. How far an implementation may be off follows from the error of an elimination with pivots.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.operators import Formula, formulas_of_versions, operator, raise_unspecified
from opcheck.errors import decline, reject
from opcheck.numbers import Tensor
from opcheck.numbers.faulty import bare

#: One matrix of float64, [M, M].
Matrix: TypeAlias = NDArray[np.float64]
#: Makes determinants, [*], of matrices, [*, M, M].
Determinants: TypeAlias = Callable[[Tensor], Tensor]

#: The unit roundoff in which `room` counts.
ROUNDOFF = 2.0**-24
#: Errors stay below this, so that they can be added up.
MOST_ROOM = 1e300
#: The time of a product of whole numbers grows with this power of their length.
POWER_OF_PRODUCTS = 1.6
#: The most steps of an elimination, some ten seconds.
MOST_WORK = 5e9
#: Digits of a whole number that float64 holds in its range.
MOST_BITS = 1000


# ── the operator ──────────────────────────────────────────────────────────────────────────────


def as_computed(y: Tensor) -> Tensor:
    """Return the determinants as they are; a step that an alternative does otherwise."""
    return y


def by_logarithms(y: Tensor) -> Tensor:
    """Return the determinants by way of their logarithms; 0 of 0, NaN of NaN."""
    return xp.sign(y) * xp.exp(xp.log(xp.abs(y)))


@formulas_of_versions(11, 22, options=["finish"])
def of_matrices(
    determinants: Determinants, X: Tensor, *, finish: Determinants = as_computed
) -> Tensor:
    """Return Y, [*], of X, [*, M, M]: "the inner-most 2 dimensions form square matrices".

    `finish` computes further with the determinants. A matrix of one element is that element, NaN
    and infinity too.

    Raises InvalidNode for a rank below 2 and matrices that are not square, NotSupported for an M of
    0, and for an M of 2 or more with infinity or NaN: the text does not define those. Raises what
    `determinants` raises: NotSupported for matrices that take too long.
    """
    reject(X.ndim < 2 or X.shape[-1] != X.shape[-2], f"{list(X.shape)} are no square matrices")
    n = X.shape[-1]
    if n == 0 or (n > 1 and not xp.isfinite(X).all()):
        raise_unspecified("matrices of nothing, of infinity or NaN")
    if n == 1:
        return finish(X[..., 0, 0])
    return finish(xp.astype(determinants(X), X.dtype))


DET = operator("Det")


# ── the value, and the room of an elimination ─────────────────────────────────────────────────


@DET.formula(build=of_matrices)
def eliminated(X: Tensor) -> Tensor:
    """Return the determinants, [*], exact, with the errors that an elimination with pivots has.

    X: [*, M, M], of finite numbers, M 1 or more. A determinant out of float64's range is infinite.
    Raises NotSupported for matrices so large that this takes some ten seconds.
    """
    values = xp.values_of(X)
    *outer, n, _ = values.shape
    # Matrices are scaled to elements of at most 1, and their determinants back.
    power = np.frexp(np.abs(values).max(axis=(-2, -1), initial=0))[1]
    matrices = np.ldexp(values, -power[..., None, None]).reshape(-1, n, n)
    rows = [(*exact(matrix), *room(matrix)) for matrix in matrices]
    parts = np.array(rows, np.float64).reshape(*outer, 5)
    with np.errstate(over="ignore"):
        parts = np.ldexp(parts, n * power[..., None])
    is_out_of_range = np.isinf(parts[..., :1])
    parts[..., 1:] = np.where(is_out_of_range, 0, np.minimum(parts[..., 1:], MOST_ROOM))
    high, middle, low, largest_error = (xp.astype(parts[..., k], np.float64) for k in range(4))
    deviation = parts[..., 4]
    # The last term is 0, with an error of `largest_error` unit roundoffs.
    return high + (middle + low) + (xp.inexact(largest_error, 1, deviation) - largest_error)


def check_work(size: int, bits: int) -> None:
    """Raise NotSupported for too large a matrix: of `size` rows, and whole numbers of these `bits`.

    The elimination takes size³ products of whole numbers that have up to size · bits bits.
    """
    work = size**3 * (size * bits / 64) ** POWER_OF_PRODUCTS
    decline(work > MOST_WORK, f"the determinant of a matrix of {size} rows takes too long")


def exact(matrix: Matrix) -> Sequence[float]:
    """Return three numbers that add up to the determinant, by Bareiss's elimination.

    It divides whole numbers without a remainder: by the pivot before. The matrix is finite and not
    empty; of a singular one all three are 0. Raises NotSupported for a large matrix.
    """
    mantissas, exponents = np.frexp(matrix)
    least = int(exponents.min())
    check_work(len(matrix), 53 + int(exponents.max()) - least)
    # The elements over 2^(least − 53) are whole numbers.
    integers = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    integers = integers << (exponents - least).astype(object)
    sign = 1
    last_pivot = 1
    for k in range(len(matrix) - 1):
        candidates = np.flatnonzero(integers[k:, k])
        if not candidates.size:
            return 0.0, 0.0, 0.0
        if candidates[0]:
            # The pivot is 0: the next row without one takes its place.
            row = k + candidates[0]
            integers[[k, row]] = integers[[row, k]]
            sign = -sign
        pivot = integers[k, k]
        below = integers[k + 1 :, k + 1 :]
        products = np.outer(integers[k + 1 :, k], integers[k, k + 1 :])
        below[...] = (below * pivot - products) // last_pivot
        last_pivot = pivot
    return three_floats(sign * integers[-1, -1], len(matrix) * (least - 53))


def three_floats(integer: int, exponent: int) -> Sequence[float]:
    """Return three numbers that add up to integer * 2**exponent, the largest first.

    They lack what is beyond three times 53 bits. Beyond float64's range they are infinite.
    """
    surplus = max(0, integer.bit_length() - MOST_BITS)
    rest = integer >> surplus
    parts: list[float] = []
    for _ in range(3):
        part = float(rest)
        parts.append(part)
        rest -= int(part)
    return [float(np.ldexp(part, exponent + surplus)) for part in parts]


def triangles(
    matrix: Matrix, *, exchanges_rows: bool = True
) -> tuple[NDArray[np.intp], Matrix, Matrix]:
    """Return the order of rows, L and U of an elimination; the largest pivots come first.

    The rows in that order are L·U. Unless it `exchanges_rows`, rows stay in their order; a pivot of
    0 divides as 1.
    """
    upper = matrix.copy()
    lower = np.zeros_like(matrix)
    rows = np.arange(len(matrix))
    for k in range(len(matrix)):
        if exchanges_rows:
            pivot = k + np.abs(upper[k:, k]).argmax()
            exchanged = np.array([pivot, k])
            for part in (upper, rows, lower):
                part[exchanged[::-1]] = part[exchanged]
        lower[k:, k] = upper[k:, k] / (upper[k, k] or 1.0)
        lower[k, k] = 1
        upper[k + 1 :, k:] -= np.outer(lower[k + 1 :, k], upper[k, k:])
    return rows, lower, upper


def room(matrix: Matrix) -> tuple[float, float]:
    """Return the largest error of an elimination, and its standard deviation, in unit roundoffs.

    matrix: finite and not empty. Elimination is exact for a matrix nearby: A + E = LU with |E| ≤
    n·u·|L||U|. To first order in E, each of its elements changes the determinant by its cofactor
    times itself; higher orders are bounded by products of singular values. Rows may be eliminated,
    or columns: the larger error counts.
    """
    n = len(matrix)
    left, sizes, right = np.linalg.svd(matrix)
    # For each singular value, the product of all others.
    others = np.prod(np.where(np.eye(n), 1, sizes), axis=1)
    cofactors = np.abs((left * others) @ right)
    of_rows = of_elimination(matrix, cofactors)
    of_columns = of_elimination(matrix.T, cofactors.T)
    first, norm_of_e, deviation = np.max([of_rows, of_columns], axis=0) * [n, n, 1]
    norm_of_e *= ROUNDOFF
    # For each k from 2 on, the norm to the power of k times all products of n − k singular values.
    higher = np.poly(-sizes)[::-1][2:] @ norm_of_e ** np.arange(2, n + 1)
    # The product of the pivots is rounded n times.
    magnitude = np.prod(sizes)
    return first + higher / ROUNDOFF + n * magnitude, deviation + magnitude


def of_elimination(matrix: Matrix, cofactors: Matrix) -> tuple[float, float, float]:
    """Return Σ |cofactor|·|L||U|, the norm of |L||U|, and the deviation of the first of them.

    cofactors: the magnitudes of the matrix's cofactors, in its shape.
    """
    rows, lower, upper = triangles(matrix)
    nearby = np.abs(lower) @ np.abs(upper)
    variances = 2 * (lower**2 @ upper**2) * cofactors[rows] ** 2
    first = np.sum(cofactors[rows] * nearby)
    return first, float(np.linalg.norm(nearby)), np.sqrt(variances.sum())


DET.alternative(
    "where determinants are exponentials of sums of logarithms",
    build=partial(of_matrices, finish=by_logarithms),
)(eliminated)


@DET.alternative("", build=of_matrices)
def by_minors(X: Tensor) -> Tensor:
    """Return the determinants, [*], by the first row's minors, as kernels of small matrices do.

    X: [*, M, M], of finite numbers, M 1 or more. Those of nearly singular matrices are less exact
    than by elimination, which computes all above 4×4: for too large ones, that raises NotSupported.
    """
    n = X.shape[-1]
    if n > 4:
        return eliminated(X)
    if n == 1:
        return X[..., 0, 0]
    terms = []
    for k in range(n):
        columns = [j for j in range(n) if j != k]
        minor = by_minors(xp.take(X[..., 1:, :], columns, axis=-1))
        terms.append((-1) ** k * (X[..., 0, k] * minor))
    total: Tensor = reduce(add, terms)
    return total


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def of_each_matrix(determinant: Callable[[Matrix], float]) -> Mapping[int, Formula]:
    """Return the formulas, by version, from what makes one determinant of one matrix."""
    return of_matrices(partial(mapped, determinant))


def mapped(determinant: Callable[[Matrix], float], X: Tensor) -> Tensor:
    """Return `determinant` of each matrix of X, [*, M, M], computed in float64: [*]."""
    matrices = bare(X).astype(np.float64).reshape(-1, *X.shape[-2:])
    found = np.array([determinant(matrix) for matrix in matrices])
    return found.reshape(X.shape[:-2])


@DET.mutant("determinants were positive", build=of_each_matrix)
def sign_lost(matrix: Matrix) -> float:
    """Mutant: the magnitude of the determinant."""
    return float(abs(np.linalg.det(matrix)))


@DET.mutant("the sign did not turn where rows were exchanged", build=of_each_matrix)
def exchanges_not_counted(matrix: Matrix) -> float:
    """Mutant: the product of the pivots, though rows were exchanged for them."""
    _, _, upper = triangles(matrix)
    return float(np.prod(np.diagonal(upper)))


@DET.mutant("a pivot of 0 was the end", build=of_each_matrix)
def no_exchanges(matrix: Matrix) -> float:
    """Mutant: rows are not exchanged, so that a pivot may be 0."""
    _, _, upper = triangles(matrix, exchanges_rows=False)
    return float(np.prod(np.diagonal(upper)))


@DET.mutant("the product of the diagonal was taken", build=of_each_matrix)
def diagonal_product(matrix: Matrix) -> float:
    """Mutant: all but the diagonal is taken for 0."""
    return float(np.prod(np.diag(matrix)))
