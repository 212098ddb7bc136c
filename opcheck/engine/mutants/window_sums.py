"""Faults of sums over windows.

Sums have the shape of the output, (N, C, size of each axis). `Windows.terms` is the number of a
window's elements in the input, of the same shape but for N and C.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.axes import AxisWindows, Windows
from opcheck.engine.mutants.elements import WIDTHS, through, whole_vectors
from opcheck.engine.mutants.mutant import Mutant, MutantRow, faulty
from opcheck.engine.mutants.window_plans import (
    as_many_as_undilated,
    beginning_as_undilated,
    fitting,
    under_same,
    under_valid,
)
from opcheck.engine.mutants.windows import (
    NAME,
    WindowArguments,
    WindowChange,
    of_windows,
    planned,
)
from opcheck.numbers import Array

#: Sums over windows in place of the right ones, from the windows and the values.
SumsChange: TypeAlias = Callable[[Windows, Array], Array]


@dataclass(frozen=True)
class SummedWindows(Windows):
    """Windows whose sums are wrong.

    Attributes:
        change: What takes the place of `Windows.sums`.
    """

    change: SumsChange

    def sums(self, values: Array) -> Array:
        """Return what `change` makes of the windows and values, in the dtype of the values."""
        sums = self.change(Windows(self.outer, self.axes), values)
        return np.asarray(sums).astype(values.dtype)


def same_windows(axis: AxisWindows) -> AxisWindows:
    """Return right windows."""
    return axis


def summing(
    change: SumsChange, plan: WindowChange, asked: WindowArguments, right: Windows
) -> Windows:
    """Fault: windows changed by `plan`, with sums changed by `change`.

    `asked`, the arguments of the node, changes nothing. Raises InvalidNode for a changed number of
    windows below 0, MemoryError for an output that is too large.
    """
    windows = planned(right.outer, map(plan, right.axes))
    return SummedWindows(right.outer, windows.axes, change)


def size_of(windows: Windows) -> int:
    """Return the number of elements of a window, padding included."""
    return prod(axis.kernel for axis in windows.axes)


# ── the first elements of each window ─────────────────────────────────────────────────────────


def _boxes(kernel: Sequence[int], count: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the first `count` elements of a window, in boxes: begin and end along each axis.

    kernel: the lengths of the window. The order is row-major; for a count of 0 there are none.
    """
    whole, rest = divmod(count, prod(kernel[1:]))
    if whole:
        yield [(0, whole), *((0, length) for length in kernel[1:])]
    if rest:
        yield from ([(whole, whole + 1), *box] for box in _boxes(kernel[1:], rest))


def of_first(count: Callable[[int], int], windows: Windows, values: Array) -> Array:
    """Mutant: only the first `count(size)` elements of each window, padding included."""
    total: Any = 0
    for box in _boxes([axis.kernel for axis in windows.axes], count(size_of(windows))):
        parts = []
        for axis, (start, end) in zip(windows.axes, box, strict=True):
            begin = axis.begin - start * axis.dilation
            parts.append(replace(axis, kernel=end - start, begin=begin))
        total = total + Windows(windows.outer, tuple(parts)).sums(values)
    return total


def all_but_the_last(size: int) -> int:
    """Return one element less, but 1 at least."""
    return max(1, size - 1)


# ── sums times something ──────────────────────────────────────────────────────────────────────


def scaled(part: Callable[[Windows], Array], windows: Windows, values: Array) -> Array:
    """Fault: sums are multiplied by what `part` makes of the windows."""
    return windows.sums(values) * part(windows)


def size_by_inner(windows: Windows) -> Array:
    """Return a window's size by the number of elements that do not hang over the padding.

    That number counts as 1 at least. The result broadcasts to the output.
    """
    padded = []
    for axis in windows.axes:
        length = axis.length + axis.begin + axis.end if axis.hangs else max(1, axis.span)
        padded.append(replace(axis, begin=0, length=length))
    inner = np.maximum(1, Windows(windows.outer, tuple(padded)).terms)
    return size_of(windows) / inner


def size_by_terms(windows: Windows) -> Array:
    """Return a window's size by the number of its elements in the input, at least 1."""
    return size_of(windows) / np.maximum(windows.terms, 1)


def one_by_size(windows: Windows) -> float:
    """Return 1 by a window's size."""
    return 1 / size_of(windows)


def one_by_terms(windows: Windows) -> Array:
    """Return 1 by the number of a window's elements in the input, at least 1."""
    return 1 / np.maximum(windows.terms, 1)


# ── windows that hang over the end, or no longer fit ──────────────────────────────────────────


def half_before(axis: AxisWindows) -> AxisWindows:
    """Mutant: half of what hangs over the end is before the input."""
    half = max(0, axis.span - axis.width - axis.room) // 2 if axis.hangs else 0
    end = axis.end - half
    return replace(axis, begin=axis.begin + half, length=axis.length + min(0, end), end=max(0, end))


def pushed_back(windows: Windows, values: Array) -> Array:
    """Mutant: a window that hangs over the end is moved back, so as to fit."""
    for n, axis in enumerate(windows.axes):
        last = max(axis.length + axis.end - axis.width, -axis.begin)
        count = max(0, (last + axis.begin) // axis.stride + 1)
        over = max(0, axis.size - count) if axis.hangs else 0
        fits = replace(axis, size=axis.size - over)
        ends = replace(axis, size=min(over, 1), begin=-last)
        parts = [_sums_along(values, n, fits), *[_sums_along(values, n, ends)] * over]
        values = np.concatenate(parts, axis=n + 2)
    return values


def _sums_along(values: Array, n: int, axis: AxisWindows) -> Array:
    """Return the sums over windows along the spatial axis `n` alone.

    values: N×C×D1×…×Dn; the result has a window for an element along that axis.
    """
    axes = [AxisWindows(length, 1, 1, 1, 0, length) for length in values.shape[2:]]
    axes[n] = axis
    return Windows(values.shape[:2], tuple(axes)).sums(values)


def zero_beyond(auto_pad: str, windows: Windows, values: Array) -> Array:
    """Mutant: windows are 0 that do not fit into the padding of an undilated kernel."""
    out = windows.sums(values)
    for n, axis in enumerate(windows.axes):
        if axis.auto_pad.startswith(auto_pad):
            padding = replace(axis, dilation=1).padding(axis.size) if axis.same else 0
            np.moveaxis(out, n + 2, 0)[max(0, fitting(axis, padding)) :] = 0
    return out


# ── NaN, and narrow types ─────────────────────────────────────────────────────────────────────


def empty_are_nan(windows: Windows, values: Array) -> Array:
    """Mutant: a window that holds padding alone is NaN."""
    return np.where(windows.terms == 0, np.nan, windows.sums(values))


def padding_times_infinity(windows: Windows, values: Array) -> Array:
    """Mutant: a window with padding and an infinity is NaN."""
    infinities = windows.sums(np.isinf(values).astype(np.int64))
    is_nan = (infinities > 0) & (windows.terms < size_of(windows))
    return np.where(is_nan, np.nan, windows.sums(values))


def sums_in(
    dtype: Any, original: Any, x: Array, add_up: Callable[[Array], Array], terms: Array
) -> Array:
    """Mutant: sums are taken in a narrow type."""
    return add_up(x.astype(dtype)).astype(x.dtype)


def terms_in_float16(
    original: Any, x: Array, add_up: Callable[[Array], Array], terms: Array
) -> Array:
    """Mutant: what is added up is rounded to float16."""
    return add_up(through(np.float16, x))


_WHOLE = "was scaled up to a whole one"
#: Functions of the sums, and before that of the windows.
SUMS: tuple[MutantRow, ...] = (
    (
        "hanging_windows_rescaled",
        f"a window that hung over the end {_WHOLE}",
        "ceil_mode",
        partial(scaled, size_by_inner),
    ),
    (
        "hanging_windows_moved_and_rescaled",
        "half of what hung over the end was put before the input, and partial windows scaled up",
        "ceil_mode",
        partial(scaled, size_by_inner),
        half_before,
    ),
    (
        "hanging_windows_pushed_back",
        "a window that hung over the end was moved back, so as to fit",
        "ceil_mode",
        pushed_back,
    ),
    (
        "same_undilated_rest_zero",
        "SAME padded for the kernel without its dilation, and windows that no longer fitted were 0",
        "dilations",
        partial(zero_beyond, "SAME"),
        partial(under_same, beginning_as_undilated),
    ),
    (
        "valid_undilated_rest_zero",
        "VALID counted the windows of the kernel without its dilation, and those beyond were 0",
        "dilations",
        partial(zero_beyond, "VALID"),
        partial(under_valid, as_many_as_undilated),
    ),
    (
        "padded_windows_rescaled",
        f"a window that reached into padding {_WHOLE}",
        "kernel_shape",
        partial(scaled, size_by_terms),
    ),
    (
        "window_mean",
        "the mean of a window was taken, padding included, not the sum",
        "kernel_shape",
        partial(scaled, one_by_size),
    ),
    (
        "window_mean_without_padding",
        "the mean of a window was taken, without padding, not the sum",
        "kernel_shape",
        partial(scaled, one_by_terms),
    ),
    (
        "empty_windows_are_nan",
        "a window that held nothing but padding was NaN, as the mean of nothing is",
        "pads",
        empty_are_nan,
    ),
    (
        "padding_times_infinity",
        "padding was masked by a product, and infinity times 0 was NaN",
        "pads",
        padding_times_infinity,
    ),
    *(
        (
            f"window_tail_of_{width}",
            f"what remained of a window after its last whole vector of {width} was left out",
            "kernel_shape",
            partial(of_first, partial(whole_vectors, width)),
        )
        for width in WIDTHS
    ),
    (
        "last_element_of_a_window",
        "the last element of each window was left out",
        "kernel_shape",
        partial(of_first, all_but_the_last),
    ),
)

FAULTS: tuple[Mutant, ...] = (
    *(
        faulty(
            NAME,
            name,
            text,
            partial(of_windows, partial(summing, change, plan[0] if plan else same_windows)),
            needs=needs,
            calls="sums",
        )
        for name, text, needs, change, *plan in SUMS
    ),
    *(
        faulty(
            "sums",
            f"window_sums_in_{name}",
            f"sums over windows were taken in {name}",
            partial(sums_in, dtype),
        )
        for name, dtype in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16))
    ),
    faulty(
        "sums",
        "window_terms_in_float16",
        "what was added up over windows was rounded to float16 before",
        terms_in_float16,
    ),
)
