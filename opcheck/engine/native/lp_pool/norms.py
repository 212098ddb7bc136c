"""The p-norms of a part of a pooling, and of one window that is larger than a part should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.engine.half import narrowed
from opcheck.engine.native.lp_pool.block_sums.parts import every, fresh_parts, parts
from opcheck.engine.native.lp_pool.block_sums.sums import Workspace
from opcheck.engine.native.lp_pool.powers import Powers, powers_of, values
from opcheck.engine.windows import AxisWindows, Windows
from opcheck.model import Array

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

#: The most elements of windows that are gathered at once, and how many times the cost of computing
#: with all of them the gathering of one is.
_GATHERED, _GATHERING = 1 << 16, 8


def pool(powers: Powers, x: Array, axes: tuple[AxisWindows, ...], y: Array) -> None:
    """Put the norms of all windows of `x` into `y`."""
    space = Workspace.of_this_thread(powers.held.numpy)
    sums = space.sums(axes)
    _, spare, other, last = space.buffers
    direct = y.dtype == last.dtype and y.flags.c_contiguous
    norms = y if direct else last[: y.size].reshape(y.shape)

    def compute(elements: Array, into: Array) -> None:
        elements = elements.reshape(sums.layout)
        for index, place, how in sums.places:
            how(powers.raise_to, elements[:, index], place, other)
        sums.put(np.sqrt if powers.begins_with_sqrt else np.absolute, into)
        powers.finish_root(into)

    compute(values(x, spare), norms)
    low, high = powers.safe
    if powers.p != 1 and not (low <= norms.min() and norms.max() <= high):
        # Zeros, infinities and NaN are right where they come from such elements.
        least, largest = _extremes(values(x, spare), other)
        if least < low or largest > powers.largest:
            _again(powers, x, axes, norms, compute)
    if y.dtype.itemsize == 2:
        narrowed(norms.astype(np.float32, copy=False), y.dtype, y)
    elif not direct:
        y[...] = norms


def _extremes(x: Array, room: Array) -> tuple[float, float]:
    """The least and the largest magnitude of `x` that are neither 0 nor infinite nor NaN.

    Infinity and 0 where there is none.
    """
    bits = np.dtype(f"u{x.itemsize}").type
    exponents = np.array(np.inf, x.dtype).view(bits) << bits(1)
    sizes = room[: x.size].view(bits)
    # Without their signs numbers compare like integers, of which what is below 0 is the largest: so
    # zeros are the least only where there is nothing else, and infinity and NaN the largest.
    np.left_shift(x.reshape(-1).view(bits), 1, out=sizes)
    np.subtract(sizes, 1, out=sizes)
    least = float(((sizes.min() + bits(1)) >> bits(1)).view(x.dtype))
    np.subtract(sizes, exponents - bits(1), out=sizes)
    largest = float(((sizes.max() + exponents) >> bits(1)).view(x.dtype))
    return least if 0 < least < np.inf else np.inf, largest if largest < np.inf else 0.0


def _again(
    powers: Powers,
    x: Array,
    axes: tuple[AxisWindows, ...],
    norms: Array,
    compute: Callable[[Array, Array], None],
) -> None:
    """Compute the norms out of range once more, but for NaN: nothing else has become that."""
    low, high = powers.safe
    wrong = (norms < low) | (norms > high)
    if np.count_nonzero(wrong) * powers.most * _GATHERING > x.size:
        if powers.held.name == "float32":
            _again_in_float64(powers, x, axes, norms, wrong)
            return
        x = values(x, np.empty(x.size))
        _, largest = _extremes(x, np.empty(x.size))
        # A power of two costs no digits.
        _, exponent = np.frexp(largest)
        instead = np.empty(norms.shape)
        compute(np.ldexp(x, -exponent), instead)
        back = np.ldexp(instead, exponent)
        # A root that rounded up may pass the end of the range, where the norm itself does not.
        right = wrong & (instead >= low) & (np.isfinite(back) | np.isinf(instead))
        norms[right] = back[right]
        # What is left stands next to something much larger, or at the end of the range.
        wrong &= ~right
    places = np.flatnonzero(wrong)
    windows, x = Windows((1, 1), axes), x[None, None]
    step = max(1, _GATHERED // powers.most)
    for first in range(0, len(places), step):
        some = places[first : first + step]
        for portion, rows, _ in windows.gathered(x, some):
            norms.flat[some[portion]] = _of_rows(rows, powers.p)


def _again_in_float64(
    powers: Powers, x: Array, axes: tuple[AxisWindows, ...], norms: Array, wrong: Mask
) -> None:
    """Compute the `wrong` norms once more, in parts that take less memory than that in float32."""
    wide = powers_of(powers.dtype, powers.p, powers.most, wide=True)
    for some in fresh_parts(axes, x, x.size // 4):
        elements, here = x[some.elements], some.windows
        if elements.size and wrong[here].any():
            instead = np.empty([axis.size for axis in some.axes])
            pool(wide, elements, some.axes, instead)
            np.copyto(norms[here], instead, where=wrong[here], casting="same_kind")


def _of_rows(rows: Floats, p: float) -> Floats:
    """The norms of rows, each divided by its largest number first."""
    sizes = np.abs(rows)
    largest = sizes.max(axis=1)
    usual = np.isfinite(largest) & (largest > 0)
    total = ((sizes / np.where(usual, largest, 1.0)[:, None]) ** p).sum(axis=1)
    return np.asarray(np.where(usual, total ** (1 / p) * largest, largest))


def norm_of_all(x: Array, powers: Powers, most: int) -> float:
    """The norm of all of `x`, of which `most` elements are taken at a time."""
    if not x.size:
        return 0.0
    pieces = [part.elements for part in parts(tuple(map(every, x.shape)), x, most)]
    room, out, more = np.empty((3, most), powers.held.numpy)

    def elements() -> Iterator[Array]:
        return (values(x[piece], room) for piece in pieces)

    def norm(divisor: float) -> float:
        total = 0.0
        for some in elements():
            raised = out[: some.size].reshape(some.shape)
            powers.raise_to(some if divisor == 1 else some / divisor, raised, more)
            total += float(raised.sum())
        return float(powers.root(np.array([total]))[0])

    low, high = powers.safe
    if low <= (found := norm(1.0)) <= high:
        return found
    largest = float(np.max([np.abs(some).max() for some in elements()]))
    return norm(largest) * largest if 0 < largest < np.inf else largest
