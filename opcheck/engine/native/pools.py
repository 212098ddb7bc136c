"""Pools along one axis after the other; Indices, and what is not here, by formulas.

LpPool is computed in the input's dtype, float32 inside for the types of 16 bits. The windows are
taken in parts whose elements stay in the cache: powers, sums, roots. Powers are products, square
and cube roots NumPy's own, as far as that goes. Norms that may have suffered from the end of the
range are computed once more, window by window.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes
from opcheck.dtypes import DTYPES, limits, narrowed, widened
from opcheck.engine.axes import Windows
from opcheck.engine.native import each
from opcheck.engine.node import BoundNode
from opcheck.engine.ops.pools import by_windows, maximum, mean, of_maxima, of_means
from opcheck.model import Array
from opcheck.numbers.arithmetic import expected


def _mean(X: Array, windows: Windows, terms: Array, padded: Array, include: int) -> Array:
    count = padded if include else terms
    if count.max(initial=0) > 1 << 24:  # more of them are not exact in float32
        return mean(X, windows, terms, padded, include)  # type: ignore[no-any-return]
    y = _in_parts(X, windows, _sums)
    y /= count.astype(X.dtype)
    return y


def _in_parts(X: Array, windows: Windows, of: Callable[..., Array], threads: int = 1) -> Array:
    """What it makes of the windows, in parts that stay in the cache with all that is between."""
    if 0 < X.size <= BLOCK:
        return of(X, windows)
    out = np.zeros(windows.shape, X.dtype.newbyteorder("="))

    def work(part: tuple[Any, Windows, Any]) -> None:
        elements, over, place = part
        out[place] = of(X[elements], over)

    # Windows over an empty tensor hold nothing but padding.
    each(work, windows.apart(BLOCK) if X.size and out.size else (), threads)
    return out


def _maximum(X: Array, windows: Windows, storage_order: int, outputs: int) -> Any:
    if outputs > 1:
        return maximum(X, windows, storage_order, outputs)
    lowest = np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf
    return _in_parts(X, windows, lambda some, over: over.reduced(some, np.maximum, lowest))


FORMULAS = {
    "AveragePool": of_means(_mean),
    "MaxPool": of_maxima(_maximum, checked=lambda X: X),
}

#: About how many elements of a part there are.
BLOCK = 1 << 17
#: Up to this p float32 has some range left for powers; and whole powers are multiplied.
_IN_FLOAT32, _MULTIPLIED = 8, 64


def lp_pool(bound: BoundNode, X: Array, *, threads: int = 1) -> tuple[Array]:
    """The p-norm of every window."""
    p, windows = by_windows(lambda X, *found: found)[bound.node.op.since](X, **bound.attrs)
    with np.errstate(all="ignore"):
        return (_in_parts(X, windows, partial(_norms, p), threads),)


def _norms(p: float, X: Array, windows: Windows) -> Array:
    dtype = dtypes.of(X)
    assert dtype  # no other types come this far
    if windows.most <= 1:
        p = 1.0  # the norm of one number is that number, whatever p is
    is_whole = p == int(p)
    held = expected(dtype).grid.dtype if is_whole and p <= _IN_FLOAT32 else DTYPES["float64"]
    x = (widened(X) if X.dtype.itemsize == 2 else X).astype(held.numpy, copy=False)
    norms = _rooted(_sums(_raised(x, p, is_whole), windows), p)
    if p != 1 and norms.size:
        # Sums of powers lose something to underflow where they are below so many times the
        # smallest normal number by the unit roundoff.
        arithmetic = expected(held)
        least = np.float64(windows.most) * arithmetic.smallest / arithmetic.u
        low, high = 1.01 * least ** (1 / p), 0.99 * np.float64(limits(held)[1] / 2) ** (1 / p)
        if not (low <= norms.min() and norms.max() <= high):
            # Zeros and infinities are right where they come from such elements.
            largest = windows.reduced(np.abs(x), np.maximum, 0)
            wrong = ((norms < low) | (norms > high)) & (largest > 0) & (largest < np.inf)
            places = np.flatnonzero(wrong)
            for portion, rows in windows.gathered(X, places):
                norms.flat[places[portion]] = _of_rows(rows, p)
    if X.dtype.itemsize == 2:
        return narrowed(norms.astype(np.float32, copy=False), X.dtype)
    return norms.astype(X.dtype.newbyteorder("="), copy=False)


def _raised(x: Array, p: float, is_whole: bool) -> Array:
    if p == 2:
        return np.square(x)
    sizes = np.abs(x)
    if not is_whole or p > _MULTIPLIED:
        return np.power(sizes, p, out=sizes)
    powers = sizes
    for bit in f"{int(p):b}"[1:]:
        powers = np.square(powers)
        if bit == "1":
            powers *= sizes
    return powers


def _sums(powers: Array, windows: Windows) -> Array:
    if all(axis.kernel == axis.length and axis.span == axis.length for axis in windows.axes):
        # Each window is the whole of its plane.
        planes = powers.reshape(prod(windows.outer), -1)
        return np.asarray(np.einsum("ij->i", planes).reshape(windows.shape))
    return windows.sums(powers)


def _rooted(sums: Array, p: float) -> Array:
    roots = {1.0: np.positive, 2.0: np.sqrt, 3.0: np.cbrt}
    return np.asarray(roots[p](sums, out=sums) if p in roots else np.power(sums, 1 / p, out=sums))


def _of_rows(rows: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """The norms of rows, each divided by its largest number first."""
    sizes = np.abs(rows)
    largest = sizes.max(axis=1, keepdims=True)
    return np.asarray(((sizes / largest) ** p).sum(axis=1) ** (1 / p) * largest[:, 0])


KERNELS = {"LpPool": lp_pool}
