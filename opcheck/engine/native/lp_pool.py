"""LpPool in the input's dtype, float32 inside for the types of 16 bits, as fast as NumPy allows.

The windows are taken in parts whose elements stay in the cache: powers, sums along one axis after
the other, roots. Norms that may have suffered from the end of the range are computed once more.
Powers and their roots are made by products, square and cube roots as far as they go.
Windows that reach farther than a part are taken one by one, if they are few.

Beside input and output that takes 16 MiB at most in each thread, but for many windows that reach
over some 100 KiB each: dozens over each element, or dilated. A part holds two of them along each
axis then, and some arrays as large.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes
from opcheck.dtypes import DTYPES, DType, limits
from opcheck.engine.axes import AxisWindows, Windows
from opcheck.engine.half import narrowed, widened
from opcheck.engine.native import as_laid_out, each
from opcheck.engine.node import BoundNode
from opcheck.engine.ops.lp_pool import by_windows
from opcheck.model import Array
from opcheck.numbers.arithmetic import expected

Float64Array: TypeAlias = NDArray[np.float64]
#: How many times the cost of computing with all elements the gathering of one is.
_GATHERING = 8
#: Up to this p float32 has some range left for powers.
_IN_FLOAT32 = 8
#: Up to this p a whole power is multiplied.
_MULTIPLIED = 64
#: From so many elements for each step on windows are long.
_LONG = 8


@dataclass(frozen=True)
class WindowPart:
    """Some of the windows of a tensor.

    `windows` and `elements` are where they and the elements that they reach stand, `axes` are they
    over nothing but these elements.
    """

    windows: tuple[slice, ...]
    elements: tuple[slice, ...]
    axes: tuple[AxisWindows, ...]

    @property
    def size(self) -> int:
        """The number of elements and of padding from the first window to the last."""
        return prod(axis.span for axis in self.axes)


def every(length: int) -> AxisWindows:
    """Each element of an axis is a window of its own, as along N and C."""
    return AxisWindows(length, 1, 1, 1, 0, length)


def some_of(axis: AxisWindows, windows: range) -> tuple[slice, AxisWindows]:
    """The elements that some windows reach, and these windows over those elements.

    Offsets at which there is nothing but padding are left out.
    """
    held = axis.cut(windows)
    offsets = held.offsets
    if not offsets:
        return slice(0, 0), replace(held, length=0, kernel=1, begin=0)
    at = offsets.start * axis.dilation - held.begin
    held = replace(held, kernel=len(offsets), begin=-at)
    if held.size == 1:
        return slice(at, at + held.width, axis.dilation), AxisWindows(
            held.kernel, held.kernel, 1, 1, 0, 1
        )
    rows = held.rows
    return rows, replace(held, length=rows.stop - rows.start, begin=rows.start - at)


def parts(
    axes: tuple[AxisWindows, ...], order: tuple[int, ...], most: int, box: tuple[range, ...] = ()
) -> Iterator[WindowPart]:
    """All windows, or those of a box, in parts of `most` elements or fewer.

    The axes are halved in this order. A part may be larger where its windows would overlap too much
    with those of the next.
    """
    box = box or tuple(range(axis.size) for axis in axes)
    elements, own = zip(*map(some_of, axes, box), strict=True)
    part = WindowPart(tuple(slice(some.start, some.stop) for some in box), elements, own)
    for n in order if part.size > most else ():
        half = len(box[n]) // 2
        # What two neighbours both read is to be no more than either's own.
        if half * axes[n].stride >= own[n].width:
            for some in (box[n][:half], box[n][half:]):
                yield from parts(axes, order, most, (*box[:n], some, *box[n + 1 :]))
            return
    yield part


#: The same for tensors as large as others before.
remembered_parts = lru_cache(maxsize=8)(lambda *given: tuple(parts(*given)))


def order_of(x: Array) -> tuple[int, ...]:
    """The axes of `x`, those first whose elements lie far apart."""
    return tuple(sorted(range(x.ndim), key=lambda n: -abs(x.strides[n])))


@dataclass(frozen=True)
class Powers:
    """The way to p-norms of at most `most` numbers of `dtype`."""

    dtype: DType
    p: float
    most: int

    @cached_property
    def held(self) -> DType:
        """The dtype to compute in."""
        return DTYPES["float64"] if self._whole > _IN_FLOAT32 else expected(self.dtype).grid.dtype

    @cached_property
    def safe(self) -> tuple[float, float]:
        """The least and the greatest norm that no overflow or underflow can have changed.

        Sums of powers lose something to underflow where they are below `most` times the smallest
        normal number by the unit roundoff. Sums of the numbers themselves never do.
        """
        if self.p == 1:
            return 0.0, np.inf
        arithmetic = expected(self.held)
        least = np.float64(self.most) * arithmetic.smallest / arithmetic.u
        greatest = np.float64(limits(self.held)[1]) / 2
        return 1.01 * float(least ** (1 / self.p)), 0.99 * float(greatest ** (1 / self.p))

    def raise_to(self, x: Array, out: Array, room: Array) -> None:
        """Fill `out` with |x|^p; `room`, flat, is overwritten too, and `x` is elsewhere.

        All are of the dtype computed in. What counts is how often `x` is read.
        """
        if self.p == 2:
            np.square(x, out=out)
        elif self.p == 1 or self._whole > _MULTIPLIED:
            np.absolute(x, out=out)
            if self.p != 1:
                np.power(out, self.p, out=out)
        else:
            base = power = np.absolute(x, out=room[: x.size].reshape(x.shape))
            for bit in f"{self._whole:b}"[1:]:
                power = np.square(power, out=out)
                if bit == "1":
                    np.multiply(out, base, out=out)

    def root(self, sums: Array, out: Array) -> Array:
        """Fill `out` with the roots of `sums`."""
        for step in self._root:
            sums = step(sums, out=out)
        return out

    @cached_property
    def _root(self) -> Sequence[Callable[..., Array]]:
        """The functions that make a root, one after the other."""
        steps: list[Callable[..., Array]] = []
        p = self.p
        for divisor, step in ((2, np.sqrt), (3, np.cbrt)) if self._whole <= _MULTIPLIED else ():
            while p % divisor == 0:
                steps.append(step)
                p //= divisor
        if p != 1:
            steps.append(lambda y, out: np.power(y, 1 / p, out=out))
        return steps or [np.absolute]

    @cached_property
    def _whole(self) -> int:
        """p, or more than is multiplied where p is not whole."""
        return int(self.p) if self.p == int(self.p) else _MULTIPLIED + 1


#: Remembered with what was worked out for them.
powers_of = lru_cache(maxsize=64)(Powers)


def values(x: Array, room: Array) -> Array:
    """`x` as it is computed with, contiguous and aligned: itself or a copy in `room`."""
    if x.dtype == room.dtype and as_laid_out(x):
        return x
    copy = room[: x.size].reshape(x.shape)
    if x.dtype.itemsize == 2 and copy.dtype.itemsize == 4:
        return widened(x, copy)
    np.copyto(copy, widened(x) if x.dtype.itemsize == 2 else x)
    return copy


def pool(powers: Powers, x: Array, part: WindowPart, y: Array, buffers: list[Array]) -> None:
    """Put the norms of the windows of a part, whose elements are `x`, into `y`."""
    held, spare, _ = buffers
    direct = y.dtype == held.dtype and y.flags.c_contiguous
    norms = y if direct else np.empty(y.shape, held.dtype)
    _norms(powers, values(x, held), part, norms, buffers)
    low, high = powers.safe
    if powers.p != 1 and not (low <= norms.min() and norms.max() <= high):
        # Zeros, infinities and NaN are right where they come from such elements.
        least, largest = _extremes(values(x, held), spare)
        if least < low or largest > high / np.float64(powers.most) ** (1 / powers.p):
            _again(powers, x, part, norms, largest, buffers)
    if y.dtype.itemsize == 2:
        narrowed(norms.astype(np.float32, copy=False), y.dtype, y)
    elif not direct:
        y[...] = norms


def _norms(powers: Powers, x: Array, part: WindowPart, norms: Array, buffers: list[Array]) -> None:
    raised = buffers[1][: x.size].reshape(x.shape)
    powers.raise_to(x, raised, buffers[2])
    axes = [*part.axes]
    for n, axis in enumerate(axes):
        if axis.size > 1 and axis.kernel > _LONG * axis.stride:
            raised, axes[n] = _long_sums(raised, n, axis), every(axis.size)
    outer, inner, *spatial = axes
    if all(axis.size == 1 for axis in spatial):  # A part of one window is that window.
        sums = raised.reshape(outer.size, inner.size, -1).sum(axis=2).reshape(norms.shape)
    else:
        sums = Windows((outer.size, inner.size), tuple(spatial)).sums(raised)
    powers.root(sums, norms)


def _long_sums(x: Array, n: int, axis: AxisWindows) -> Array:
    """Sums over long windows along axis `n`, made of those of 2, 4, 8 … elements."""
    source, rows, dilation = np.moveaxis(x, n, 0), axis.rows, axis.dilation
    padded = np.zeros((axis.span, *source.shape[1:]), x.dtype)
    padded[rows.start + axis.begin : rows.stop + axis.begin] = source[rows]
    total, count = padded, 1
    for bit in f"{axis.kernel:b}"[1:]:
        total, count = total[: -count * dilation] + total[count * dilation :], 2 * count
        if bit == "1":
            total, count = total[:-dilation] + padded[count * dilation :], count + 1
    return np.moveaxis(total[:: axis.stride], 0, n)


def _extremes(x: Array, room: Array) -> tuple[float, float]:
    """The least and the largest magnitude of `x` that are neither 0 nor infinite nor NaN.

    Infinity and 0 where there is none.
    """
    sizes = np.absolute(x.reshape(-1), out=room[: x.size])
    usual = (sizes > 0) & (sizes < np.inf)
    least, largest = sizes.min(initial=np.inf, where=usual), sizes.max(initial=0, where=usual)
    return float(least), float(largest)


def _again(
    powers: Powers, x: Array, part: WindowPart, norms: Array, largest: float, buffers: list[Array]
) -> None:
    """Compute the norms out of range once more, but for NaN: nothing else has become that.

    Where they are many, all are computed in float64, or with elements divided by a power of two
    that brings `largest` of them near 1.
    """
    low, high = powers.safe
    wrong = (norms < low) | (norms > high)
    if np.count_nonzero(wrong) * powers.most * _GATHERING > x.size:
        instead = np.empty(norms.shape)
        if powers.held.name == "float32":
            wide = powers_of(DTYPES["float64"], powers.p, powers.most)
            pool(wide, x, part, instead, [*np.empty((3, x.size))])
            np.copyto(norms, instead, where=wrong, casting="same_kind")
            return
        exponent = int(np.frexp(largest)[1])
        near_one = np.ldexp(values(x, buffers[0]), -exponent)
        _norms(powers, near_one, part, instead, [*np.empty((3, x.size))])
        # A rounding upwards must not make infinity of a norm next to the largest number.
        right = wrong & (low <= instead) & (instead <= min(high, 2.0 ** min(1022, 1022 - exponent)))
        np.ldexp(instead, exponent, out=norms, where=right)
        wrong &= ~right
    places = np.flatnonzero(wrong)
    windows = Windows((1, 1), part.axes)
    for portion, rows in windows.gathered(x[None, None], places):
        norms.flat[places[portion]] = _of_rows(rows, powers.p)


def _of_rows(rows: Float64Array, p: float) -> Float64Array:
    """The norms of rows, each divided by its largest number first."""
    sizes = np.abs(rows)
    largest = sizes.max(axis=1)
    usual = np.isfinite(largest) & (largest > 0)
    total = ((sizes / np.where(usual, largest, 1.0)[:, None]) ** p).sum(axis=1)
    return np.asarray(np.where(usual, total ** (1 / p) * largest, largest))


def norm_of_all(x: Array, powers: Powers, most: int) -> float:
    """The norm of all of `x`, taking `most` elements at a time."""
    if not x.size:
        return 0.0
    pieces = [part.elements for part in parts(tuple(map(every, x.shape)), order_of(x), most)]
    copy, out, more = np.empty((3, most), powers.held.numpy)

    def elements() -> Iterator[Array]:
        return (values(x[piece], copy) for piece in pieces)

    def norm(divisor: float) -> float:
        total = 0.0
        for some in elements():
            raised = out[: some.size].reshape(some.shape)
            powers.raise_to(some if divisor == 1 else some / divisor, raised, more)
            total += float(raised.sum())
        return float(powers.root(np.array([total]), np.empty(1))[0])

    low, high = powers.safe
    if low <= (found := norm(1.0)) <= high:
        return found
    largest = float(np.max([np.abs(some).max() for some in elements()]))
    return norm(largest) * largest if 0 < largest < np.inf else largest


#: The bytes of a block that is worked on, more or less: several fit into the caches together.
BLOCK = 1 << 20
#: What a window alone costs beside its elements, in elements, and all windows at once for each.
_WINDOW, _AT_ONCE = 1 << 15, 64


def native(bound: BoundNode, X: Array, *, threads: int = 1) -> tuple[Array]:
    """The p-norm of every window."""
    planned = by_windows(lambda X, p, windows: (p, windows))[bound.node.op.since]
    p, windows = planned(X, **bound.attrs)
    dtype = dtypes.of(X)
    assert dtype  # no other types come this far
    axes = (*map(every, X.shape[:2]), *windows.axes)
    out = np.empty(windows.shape, X.dtype.newbyteorder("="))
    if out.size:
        # The norm of one number is that number, whatever p is.
        powers = powers_of(dtype, p if windows.most > 1 else 1.0, windows.most)
        todo = remembered_parts(axes, order_of(X), BLOCK // powers.held.numpy.itemsize)
        # Each thread has its own memory.
        shares = 1 if threads == 1 else 4 * threads
        with np.errstate(all="ignore"):
            each(lambda n: _pool(powers, todo[n::shares], X, out), range(shares), threads)
    return (out,)


def _pool(powers: Powers, some: Sequence[WindowPart], x: Array, y: Array) -> None:
    """Put the norms of some parts of `x` into `y`."""
    dtype = powers.held.numpy
    most = BLOCK // dtype.itemsize
    buffers = np.empty((3, 0), dtype)
    for part in some:
        elements, found = x[part.elements], y[part.windows]
        if not elements.size:
            found[...] = 0
        elif part.size > 2 * most and _one_by_one(powers, part, elements, found):
            for index in np.ndindex(found.shape):
                ranges = (range(i, i + 1) for i in index)
                own, _ = zip(*map(some_of, part.axes, ranges), strict=True)
                found[index] = norm_of_all(elements[own], powers, most)
        else:
            if buffers.shape[1] < elements.size:
                buffers = np.empty((3, elements.size), dtype)
            pool(powers, elements, part, found, [*buffers])


def _one_by_one(powers: Powers, part: WindowPart, x: Array, norms: Array) -> bool:
    """Return True if that is not much slower than all at once, or nearly all is padding."""
    few = norms.size * (powers.most + _WINDOW) <= _AT_ONCE * part.size
    return few or part.size > _AT_ONCE * (x.size + norms.size)
