"""Ways to add up windows along one axis of a block (A, L, B), and the fastest of them.

- whole: one window of all elements.
- by offset: the elements that lie at one offset of their windows are a slice with the stride as
  its step, and as many slices as the kernel is long are added up.
- by phase: the same, where the block is not there yet. Its elements are put down so that those
  which lie a stride apart are neighbours, and so are the elements of every slice.
- by doubling: sums of 2, 4, 8 … elements from every position on take one addition each, over all
  of the block as if it had one axis. Rows run into the next, and what comes of it is not looked at.
- one by one, where windows are long and few.
- in a loop: by offset, where that would be too many calls to lay down.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from opcheck.engine.native.lp_pool.block_sums.calls import ELEMENT, gaps
from opcheck.engine.native.lp_pool.block_sums.parts import inside, is_whole
from opcheck.engine.windows import AxisWindows

# In nanoseconds, roughly: a call; and what an element adds to it where it is not beside the next
# one, in all of its arrays together. NumPy is better at functions of one array.
_CALL, _APART, _APART_OF_ONE = 700.0, 0.21, 0.09
#: So many calls are not laid down for one axis.
MANY = 1 << 11


@lru_cache(maxsize=256)
def way(axis: AxisWindows, a: int, b: int, first: bool, there: bool) -> str:
    """The name of the way that costs least; for `first` and `there` see `Along`."""
    if is_whole(axis):
        return "whole"
    costs = {"by offset": _by_offset(axis, b)}
    if first and 1 < axis.stride <= axis.length // 2:
        costs["by phase"] = _by_phase(axis, b)
    if inside(axis):
        doublings = axis.kernel.bit_length() + axis.kernel.bit_count() - 2
        costs["by doubling"] = _from_positions(axis, b, doublings, there)
        if b == 1:
            costs["one by one"] = _one_by_one(axis)
    found = min(costs, key=lambda name: costs[name][0] * a + costs[name][1] * _CALL)
    many = found not in ("by doubling", "one by one") and costs[found][1] > MANY
    return "in a loop" if many else found


#: What a way costs for each of A, and how many calls it takes.
_Cost: TypeAlias = tuple[float, int]


def _by_offset(axis: AxisWindows, b: int) -> _Cost:
    out, calls = axis.size * b, max(1, len(axis.offsets) - 1)
    each = out * ELEMENT + gaps(out, out, 3)
    if axis.stride == 1:
        return calls * each, calls
    if b == 1:
        return calls * (each + out * _APART), calls
    return calls * (out * ELEMENT + gaps(out, b)) + gaps(out, b), calls


def _by_phase(axis: AxisWindows, b: int) -> _Cost:
    out, calls, elements = axis.size * b, max(1, len(axis.offsets) - 1), axis.length * b
    # The elements have to come from far away anyway.
    dealt = elements * _APART_OF_ONE if b == 1 else 0.75 * gaps(elements, b)
    return dealt + calls * (out * ELEMENT + gaps(out, out, 3)), calls + axis.stride - 1


def _from_positions(axis: AxisWindows, b: int, additions: int, there: bool) -> _Cost:
    out = axis.size * b
    taken = out * ELEMENT if there else 0.0
    if b == 1 < axis.stride and there:
        taken += out * _APART_OF_ONE
    if not crosses_rows(axis, b):
        taken += gaps(out, out if 1 in (b, axis.stride) else b)
    ends, calls = _ends(axis)
    return axis.length * b * additions * ELEMENT + taken + ends * b, additions + calls


def _one_by_one(axis: AxisWindows) -> _Cost:
    each = axis.kernel * (ELEMENT if axis.dilation == 1 else 1.0) + 20
    ends, calls = _ends(axis)
    return len(inside(axis)) * each + ends, calls


def _ends(axis: AxisWindows) -> _Cost:
    """Of the windows that hold padding, by offset."""
    count = axis.size - len(inside(axis))
    return count * axis.kernel * ELEMENT, 2 * min(count, axis.kernel)


def crosses_rows(axis: AxisWindows, b: int) -> bool:
    """Return True if windows lie as far apart across the end of a row as within it."""
    return axis.stride * axis.size == axis.length and 1 in (b, axis.stride)
