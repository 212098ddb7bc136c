"""Sums over windows, one axis after the other, in few passes over memory that stays in the cache.

A pass is fast over neighbours in memory. So a block is laid out once with its padding, and rows
that lie a stride apart next to each other. Then what is added to each element lies at the same
distance, and sums of 2, 4, 8 … elements take one addition each. Rows run into the next, and what
comes of it is not looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import Any

import numpy as np

from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

#: What a call of NumPy costs beside the elements, in elements; and where windows are added up one
#: by one, a window whose rows are single elements, or else each of its rows.
_CALL, _WINDOW, _ROW = 10_000, 200, 100


def every(length: int) -> AxisWindows:
    """Each element of an axis is a window of its own, as along N and C."""
    return AxisWindows(length, 1, 1, 1, 0, length)


def whole(length: int) -> AxisWindows:
    """One window holds all elements of an axis."""
    return AxisWindows(length, length, 1, 1, 0, 1)


@dataclass(frozen=True)
class AxisLayout:
    """The rows along an axis with their padding, those of a phase a stride apart.

    Or there is one phase, where windows are added up `one_by_one`, and where a row is one element:
    it takes less to compute the sums of a stride of 1 then and drop some.
    """

    axis: AxisWindows
    phases: int
    one_by_one: bool = False

    @property
    def rows(self) -> int:
        """The rows of a phase."""
        return -(-self.axis.span // self.phases)

    @property
    def rows_after(self) -> int:
        """The rows of sums."""
        return self.axis.size if self.one_by_one else self.rows

    @property
    def found(self) -> slice:
        """Where the sums are in these."""
        step = 1 if self.one_by_one else self.axis.stride // self.phases
        return slice(0, (self.axis.size - 1) * step + 1, step)

    @property
    def terms(self) -> tuple[int, int, int]:
        """The number of phases that hold terms of a window, of terms in each, and of those left."""
        cycle = min(self.phases // gcd(self.phases, self.axis.dilation), self.axis.kernel)
        return cycle, *divmod(self.axis.kernel, cycle)

    def reach(self, phase: int) -> tuple[slice, slice]:
        """The rows of a phase that are no padding, and where they are in the array."""
        return replace(self.axis, stride=self.phases, dilation=1, size=self.rows).reach(phase)

    def cost(self, outer: int, inner: int) -> int:
        """The cost of sums in a block (phases, outer, rows, inner)."""
        axis = self.axis
        if self.one_by_one:
            each = axis.kernel * (inner + _ROW) if inner > 1 else axis.kernel + _WINDOW
            return outer * axis.size * each
        cycle, count, more = self.terms
        additions = cycle - 1 + count.bit_length() + count.bit_count() - 2 + more
        return additions * (outer * self.rows * inner + _CALL) + self.phases * _CALL


def laid_out(axis: AxisWindows, outer: int, inner: int) -> AxisLayout:
    """The layout with the least cost, for an axis (outer, rows, inner)."""
    ways = AxisLayout(axis, axis.stride if inner > 1 else 1), AxisLayout(axis, 1, one_by_one=True)
    return min(ways, key=lambda way: way.cost(outer, inner))


class AxisSums:
    """Sums over the windows along one axis of a block (phases, outer, rows, inner)."""

    def __init__(self, layout: AxisLayout, outer: int, inner: int) -> None:
        self._layout, self._axis, self._inner = layout, layout.axis, inner
        self._size = outer * layout.rows_after * inner
        cycle, self._count, self._more = layout.terms
        # Of each phase that holds terms, from the first one on.
        self._terms = [
            slice(phase * self._size + row * inner, (phase + 1) * self._size)
            for row, phase in (divmod(j * self._axis.dilation, layout.phases) for j in range(cycle))
        ]
        self._step = cycle * self._axis.dilation // layout.phases * inner

    def of(self, block: Array, rooms: Sequence[Array]) -> tuple[Array, Sequence[Array]]:
        """The sums of a flat block, and three flat arrays that are free then.

        The sums are in the memory of the block, or in that of one of three flat `rooms`.
        """
        room, into, free = rooms = [room[: self._size] for room in rooms]
        if self._layout.one_by_one:
            self._by_windows(block, room)
            return room, [block, into, free]
        terms = [block[some] for some in self._terms]
        *others, joined = terms
        if self._axis.dilation == 1:
            room = joined
        for other in others:
            joined = _add(joined, other, room)
        sums, count = joined, 1
        for bit in f"{self._count:b}"[1:]:
            sums, into, free = _add(sums, sums[count * self._step :], into), free, into
            count *= 2
            if bit == "1":
                sums = _add(sums, joined[count * self._step :], sums)
                count += 1
        for other in others[: self._more]:
            sums = _add(sums, other[count * self._step :], sums)
        return sums, [room for room in (terms[0], *rooms) if room is not sums][:3]

    def _by_windows(self, block: Array, out: Array) -> None:
        axis, row = self._axis, self._inner * block.itemsize
        shape = self._size // (axis.size * self._inner), axis.size, self._inner
        strides = axis.span * row, axis.stride * row, block.itemsize, axis.dilation * row
        windows = np.ndarray((*shape, axis.kernel), block.dtype, block, 0, strides)
        np.einsum("awbk->awb", windows, out=out.reshape(shape))


def _add(x: Array, y: Array, out: Array) -> Array:
    """Put x + y into `out` as far as both go; nobody looks at what is behind that."""
    size = min(x.size, y.size)
    np.add(x[:size], y[:size], out=out[:size])
    return out


class BlockSums:
    """Sums over the windows along some axes of an array, the axes that shrink most first.

    Beside the array it takes four flat buffers of `room` elements.
    """

    def __init__(self, axes: tuple[AxisWindows, ...]) -> None:
        merged = list(_merged(axes))
        order = sorted(range(len(merged)), key=lambda n: merged[n].size / merged[n].length)
        shape, layouts = [axis.span for axis in merged], {}
        for n in order:
            layouts[n] = laid_out(merged[n], prod(shape[:n]), prod(shape[n + 1 :]))
            shape[n] = layouts[n].phases * layouts[n].rows_after
        self._shape = [axis.length for axis in merged]
        # One axis for the phases of each, outermost those of the first, and one for its rows.
        phases = [layouts[n].phases for n in order]
        rows = [layouts[n].rows for n in range(len(merged))]
        self._layout = (*phases, *rows)
        self._padding, self._moves = [], []
        for corner in product(*map(range, phases)):
            reached = [layouts[n].reach(corner[order.index(n)]) for n in range(len(merged))]
            places, elements = zip(*reached, strict=True)
            self._moves.append(((*corner, *places), elements))
        for outer, n in enumerate(order):
            for phase in range(phases[outer]):
                held, _ = layouts[n].reach(phase)
                for padding in (slice(0, held.start), slice(held.stop, rows[n])):
                    if padding.start < padding.stop:
                        index: list[Any] = [slice(None)] * (len(order) + n)
                        index[outer] = phase
                        self._padding.append((*index, padding))
        one_move = len(self._moves) == 1 and not self._padding
        self._as_it_is = one_move and rows == self._shape
        self._steps = []
        for outer, n in enumerate(order):
            if merged[n] != every(merged[n].length):
                before = prod(phases[outer + 1 :]) * prod(rows[:n])
                self._steps.append(AxisSums(layouts[n], before, prod(rows[n + 1 :])))
                rows[n] = layouts[n].rows_after
        self._rows, self._found = rows, tuple(layouts[n].found for n in range(len(merged)))
        self.room = max(prod(self._layout), prod(self._shape))

    def of(self, power: Callable[..., object], x: Array, buffers: Sequence[Array]) -> Array:
        """The sums of `power` of a contiguous `x`, which may be in the first buffer.

        They are in the memory of one of the buffers.
        """
        held, block, free, room = buffers
        block = block[: prod(self._layout)].reshape(self._layout)
        x = x.reshape(self._shape)
        if self._as_it_is:
            x = x.reshape(self._layout)
        else:
            for index in self._padding:
                block[index] = 0
            for place, elements in self._moves:
                block[place] = x[elements]
            x = block
        power(x, block, room)
        sums = block.reshape(-1)
        rooms: Sequence[Array] = (held, free, room)
        for step in self._steps:
            sums, rooms = step.of(sums, rooms)
        return sums[: prod(self._rows)].reshape(self._rows)[self._found]


#: Worked out once for all blocks of one shape.
block_sums = lru_cache(maxsize=256)(BlockSums)


def _merged(axes: tuple[AxisWindows, ...]) -> Iterator[AxisWindows]:
    """Neighbours as one where each element is a window, or all of them are one."""
    before, *rest = axes
    for axis in rest:
        for kind in (every, whole):
            if before == kind(before.length) and axis == kind(axis.length):
                before = kind(before.length * axis.length)
                break
        else:
            yield before
            before = axis
    yield before
