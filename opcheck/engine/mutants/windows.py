"""Faults of windows and of what lies in them: attributes that are read wrongly, windows that are
elsewhere, padding, sums over windows, pooled tensors.

All pooling shares them. They refuse illegal nodes, but for those that accept some.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from math import prod
from operator import attrgetter, call
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine import axes as engine
from opcheck.engine.axes import OTHER_SAME, AxisWindows as Axis, Windows, check_size, up
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.elements import WIDTHS, through, whole_vectors
from opcheck.engine.mutants.mutant import Mutant, MutantRow, faulty, reading, refusing
from opcheck.engine.node import Node
from opcheck.engine.operators import FLOATING
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject
from opcheck.grouping import picked
from opcheck.model import Array

#: The helper that is wrong, and as it is whatever takes its place.
NAME = "windows_of"
windows_of: Callable[..., Windows] = engine.windows_of.__wrapped__  # type: ignore[attr-defined]


@dataclass(frozen=True)
class WindowArguments:
    """The arguments of `windows_of`; a list that is left out is None."""

    shape: Sequence[int]
    kernel_shape: Sequence[int]
    strides: Sequence[int] | None = None
    dilations: Sequence[int] | None = None
    pads: Sequence[int] | None = None
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    open_sizes: Collection[Ruling] = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The windows along each spatial axis, which need not be legal."""
        n = len(self.shape) - 2
        ones, pads = [1] * n, self.pads or [0] * 2 * n
        return tuple(
            map(
                engine.windows_along,
                self.shape[2:],
                self.kernel_shape,
                self.strides or ones,
                self.dilations or ones,
                pads[:n],
                pads[n:],
                repeat(self.auto_pad),
                repeat(bool(self.ceil_mode)),
            )
        )


#: Other arguments in place of the given ones.
ArgumentReading: TypeAlias = Callable[[WindowArguments], WindowArguments]
#: The windows along an axis, in place of the right ones.
WindowChange: TypeAlias = Callable[[Axis], Axis]
#: Wrong windows, from the arguments and the right windows.
WindowFault: TypeAlias = Callable[[WindowArguments, Windows], Windows]
#: The function called where filters are a tensor, which has the kernel's sizes.
_FILTERED = "bilinear"


def of_windows(fault: WindowFault, _: Any, *arguments: Any, **named: Any) -> Windows:
    """The windows that `fault` makes of the right ones, if they are not too many."""
    asked = WindowArguments(*arguments, **named)
    right = windows_of(**vars(asked))
    try:
        return fault(asked, right)
    except MemoryError:
        return right


def planned(outer: tuple[int, int], axes: Iterable[Axis]) -> Windows:
    """Windows along these axes; raises InvalidNode, or MemoryError, where there can be none."""
    windows = Windows(outer, tuple(axes))
    reject(min(windows.shape[2:]) < 0, "the output's size is negative")
    check_size(windows.shape)
    return windows


def _faults(fault: Callable[..., Windows], *rows: MutantRow) -> tuple[Mutant, ...]:
    """Mutants with a `WindowFault` that takes a row's change first.

    After it the row has the attribute without which nobody can be so wrong, and a function:
    formulas that call it have no such mutant.
    """
    return tuple(
        faulty(
            NAME,
            name,
            text,
            partial(of_windows, partial(fault, change)),
            needs=needs,
            unless=tuple(unless),
        )
        for name, text, change, needs, *unless in rows
    )


def _accepting(
    legal: ArgumentReading, plan: Callable[[Axis, Axis], Axis], _: Any, *given: Any, **named: Any
) -> Windows:
    """Accept nodes that are legal once reread; the plan takes the given axes and the legal ones."""
    asked = WindowArguments(*given, **named)
    try:
        return windows_of(**vars(asked))
    except InvalidNode:
        reread = windows_of(**vars(legal(asked)))
        return planned(reread.outer, map(plan, asked.axes, reread.axes))


def _refusing(when: Callable[[Axis], bool], asked: WindowArguments, right: Windows) -> Windows:
    reject(any(map(when, right.axes)), "not supported")
    return right


def _pads(read: Callable[[Sequence[int], int], Sequence[int]]) -> ArgumentReading:
    """`pads` is read in another order; the second argument is the number of axes."""
    return lambda a: replace(a, pads=[*read([*a.pads], len(a.pads) // 2)]) if a.pads else a


def _from_the_last_axis(pads: Sequence[int], n: int) -> Sequence[int]:
    return [*pads[:n][::-1], *pads[n:][::-1]]


def _all_reversed(a: WindowArguments) -> WindowArguments:
    names = ("kernel_shape", "strides", "dilations")
    lists = {name: getattr(a, name)[::-1] for name in names if getattr(a, name)}
    return replace(_pads(_from_the_last_axis)(a), **lists)


def _two_axes(a: WindowArguments) -> WindowArguments:
    rest = [1] * (len(a.kernel_shape) - 2)
    strides = a.strides and [*a.strides[:2], *rest]
    return replace(a, kernel_shape=[*a.kernel_shape[:2], *rest], strides=strides)


READINGS = _faults(
    lambda read, asked, right: windows_of(**vars(read(asked))),
    (
        "strides_default_to_the_kernel",
        "strides, left out, were taken from kernel_shape",
        lambda a: replace(a, strides=a.strides or a.kernel_shape),
        "strides",
    ),
    (
        "strides_are_the_kernel",
        "windows stood side by side, whatever strides said",
        lambda a: replace(a, strides=a.kernel_shape),
        "strides",
    ),
    (
        "strides_at_most_the_kernel",
        "a stride larger than the kernel was taken for its size",
        lambda a: replace(a, strides=a.strides and [*map(min, a.strides, a.kernel_shape)]),
        "strides",
    ),
    (
        "strides_are_dilations_too",
        "dilations, left out, were taken from strides",
        lambda a: replace(a, dilations=a.dilations or a.strides),
        "dilations",
    ),
    (
        "width_before_height",
        "every list was read from the last axis to the first",
        _all_reversed,
        "kernel_shape",
    ),
    (
        "third_axis_not_pooled",
        "only the first two spatial axes were pooled",
        _two_axes,
        "kernel_shape",
        _FILTERED,
    ),
    (
        "pads_interleaved",
        "pads were read as x1_begin, x1_end, x2_begin, …",
        _pads(lambda pads, n: [*pads[::2], *pads[1::2]]),
        "pads",
    ),
    (
        "pads_interleaved_from_the_last_axis",
        "pads were read as xn_begin, xn_end, …, x1_end",
        _pads(lambda pads, n: [*pads[::2][::-1], *pads[1::2][::-1]]),
        "pads",
    ),
    (
        "pads_from_the_last_axis",
        "pads were read as xn_begin, …, x1_begin, xn_end, …, x1_end",
        _pads(_from_the_last_axis),
        "pads",
    ),
    (
        "pads_ends_first",
        "the ends were read before the beginnings in pads",
        _pads(lambda pads, n: [*pads[n:], *pads[:n]]),
        "pads",
    ),
    (
        "pads_beginnings_for_both",
        "the beginnings in pads served as ends too",
        _pads(lambda pads, n: [*pads[:n]] * 2),
        "pads",
    ),
    (
        "pads_ends_for_both",
        "the ends in pads served as beginnings too",
        _pads(lambda pads, n: [*pads[n:]] * 2),
        "pads",
    ),
    (
        "pads_ends_ignored",
        "the ends in pads were ignored",
        _pads(lambda pads, n: [*pads[:n], *[0] * n]),
        "pads",
    ),
    (
        "pads_beginnings_ignored",
        "the beginnings in pads were ignored",
        _pads(lambda pads, n: [*[0] * n, *pads[n:]]),
        "pads",
    ),
    (
        "pads_default_to_half_the_kernel",
        "pads, left out, were half the kernel",
        lambda a: (
            a
            if a.pads or a.auto_pad != "NOTSET"
            else replace(a, pads=[k // 2 for k in a.kernel_shape] * 2)
        ),
        "pads",
    ),
    (
        "same_upper_is_lower",
        "SAME_UPPER put the odd one of padding at the beginning",
        lambda a: replace(a, auto_pad=a.auto_pad.replace("UPPER", "LOWER")),
        "auto_pad",
    ),
    (
        "same_lower_is_upper",
        "SAME_LOWER put the odd one of padding at the end",
        lambda a: replace(a, auto_pad=a.auto_pad.replace("LOWER", "UPPER")),
        "auto_pad",
    ),
    (
        "same_exchanged",
        "SAME_UPPER and SAME_LOWER were exchanged",
        lambda a: replace(a, auto_pad=OTHER_SAME.get(a.auto_pad, a.auto_pad)),
        "auto_pad",
    ),
    (
        "same_ignored",
        "SAME_UPPER and SAME_LOWER meant no padding",
        lambda a: replace(a, auto_pad="NOTSET") if a.auto_pad in OTHER_SAME else a,
        "auto_pad",
    ),
    (
        "valid_is_same",
        "VALID was taken for SAME_UPPER",
        lambda a: replace(a, auto_pad=a.auto_pad.replace("VALID", "SAME_UPPER")),
        "auto_pad",
    ),
    (
        "always_rounded_up",
        "sizes were rounded up whatever ceil_mode said",
        lambda a: replace(a, ceil_mode=1),
        "kernel_shape",
    ),
)


def where(when: Callable[[Axis], bool], plan: WindowChange) -> WindowChange:
    """The plan of some axes alone."""
    return lambda axis: plan(axis) if when(axis) else axis


under_same = partial(where, attrgetter("same"))
_where_it_hangs = partial(where, attrgetter("hangs"))
under_valid = partial(where, lambda axis: axis.auto_pad == "VALID")


def _fitting(axis: Axis, padding: int) -> int:
    """The number of windows that fit into the input with this padding."""
    return (axis.length + padding - axis.width) // axis.stride + 1


def _planned_as(name: str, **changed: Any) -> WindowChange:
    """Members of these names are those of the windows for other arguments."""
    return lambda axis: replace(axis, **picked(replace(axis, **changed).planned(), name))


#: There are as many windows as of the kernel without its dilation, or they begin where those do.
_as_large_as_undilated, _as_the_undilated = (
    _planned_as(name, dilation=1) for name in ("size", "begin")
)
#: The padding before the input is made a multiple of the stride.
_by_stride = where(lambda a: not a.same, lambda a: replace(a, begin=a.begin // a.stride * a.stride))

PLANS = _faults(
    lambda plan, asked, right: planned(right.outer, map(plan, right.axes)),
    (
        "last_window_missing",
        "the last window along each axis was left out",
        lambda a: replace(a, size=max(0, a.size - 1)),
        "kernel_shape",
    ),
    (
        "windows_one_late",
        "every window began one element late",
        lambda a: replace(a, begin=a.begin - 1),
        "kernel_shape",
    ),
    (
        "dilation_ignored_in_the_size",
        "the output's size was computed as if dilations were 1",
        _as_large_as_undilated,
        "dilations",
    ),
    (
        "dilation_ignored_in_the_window",
        "dilations counted for the output's size, but not for what a window holds",
        lambda a: replace(a, dilation=1),
        "dilations",
    ),
    (
        "beginning_rounded_to_the_dilation",
        "where the dilation was the stride, the padding before the input was rounded down to it",
        where(lambda a: a.stride == a.dilation, _by_stride),
        "dilations",
    ),
    (
        "beginning_rounded_to_the_stride",
        "the padding before the input was rounded down to a multiple of the stride",
        _by_stride,
        "pads",
    ),
    (
        "pads_in_the_size_only",
        "pads counted for the output's size, but the first window began in the input",
        lambda a: replace(a, begin=0),
        "pads",
    ),
    (
        "ceil_mode_with_same",
        "ceil_mode added a window under SAME_UPPER and SAME_LOWER",
        where(
            lambda a: a.ceil and a.same,
            lambda a: replace(
                a, size=up(a.length + a.padding(up(a.length, a.stride)) - a.width, a.stride) + 1
            ),
        ),
        "ceil_mode",
    ),
    (
        "ceil_mode_without_dilations",
        "ceil_mode counted the windows of the kernel without its dilation",
        _where_it_hangs(_as_large_as_undilated),
        "ceil_mode",
    ),
    (
        "ceil_mode_without_pads",
        "ceil_mode counted windows as if there were no pads",
        _where_it_hangs(_planned_as("size", begin=0, end=0)),
        "ceil_mode",
    ),
    (
        "ceil_mode_adds_one",
        "ceil_mode added a window even where nothing was left over",
        _where_it_hangs(lambda a: replace(a, size=a.room // a.stride + 2)),
        "ceil_mode",
    ),
    (
        "same_negative_padding",
        "padding under SAME was negative where strides were larger than the window",
        under_same(lambda a: replace(a, begin=int((a.span - a.length + a.is_lower) / 2))),
        "auto_pad",
    ),
    (
        "same_undilated_size",
        "SAME padded for the kernel without its dilation, so that fewer windows fitted",
        under_same(
            lambda a: replace(
                _as_the_undilated(a),
                size=max(0, _fitting(a, replace(a, dilation=1).padding(a.size))),
            )
        ),
        "dilations",
    ),
    (
        "same_undilated_beginning",
        "SAME began its windows where those of the kernel without its dilation begin",
        under_same(_as_the_undilated),
        "dilations",
    ),
    (
        "same_symmetric",
        "an odd padding under SAME was made even, which left room for a window",
        under_same(
            lambda a: replace(
                a, begin=(half := up(a.padding(a.size), 2)), size=_fitting(a, 2 * half)
            )
        ),
        "auto_pad",
    ),
    (
        "same_at_one_side",
        "all padding was put at the end under SAME_UPPER, at the beginning under SAME_LOWER",
        under_same(lambda a: replace(a, begin=a.padding(a.size) * a.is_lower)),
        "auto_pad",
    ),
    (
        "same_at_the_end",
        "all padding under SAME was put at the end",
        under_same(lambda a: replace(a, begin=0)),
        "auto_pad",
    ),
    (
        "same_padding_for_stride_1",
        "padding under SAME was computed as if strides were 1",
        under_same(_planned_as("begin", stride=1)),
        "auto_pad",
    ),
    (
        "same_rounded_down",
        "the output's size under SAME was rounded down",
        under_same(lambda a: replace(a, size=a.length // a.stride)),
        "auto_pad",
    ),
    (
        "same_size_of_the_input",
        "the output under SAME was as large as the input, whatever the strides",
        under_same(
            lambda a: replace(a, size=a.length, begin=(a.padding(a.length) + a.is_lower) // 2)
        ),
        "auto_pad",
    ),
    (
        "valid_rounded_up",
        "VALID counted a window that hung over the end",
        under_valid(lambda a: replace(a, size=up(a.room, a.stride) + 1)),
        "auto_pad",
    ),
)


def _as_before(name: str, place: int, _: WindowArguments, right: Windows) -> Windows:
    axes = [*right.axes]
    if len(axes) > place:
        axes[place] = replace(axes[place], **picked(axes[place - 1], name))
    return Windows(right.outer, tuple(axes))


OF_ONE_AXIS = _faults(
    call,
    *(
        (
            f"{what}_of_the_{which}_axis",
            f"the {which} spatial axis had the {words} of the one before",
            partial(_as_before, what, place),
            *needs,
        )
        for what, words, which, place, *needs in (
            ("stride", "stride", "third", 2, "strides"),
            ("stride", "stride", "fourth", 3, "strides"),
            ("dilation", "dilation", "third", 2, "dilations"),
            ("kernel", "kernel size", "third", 2, "kernel_shape", _FILTERED),
            ("begin", "padding before it", "third", 2, "pads"),
        )
    ),
    (
        "stride_of_the_third_axis_of_a_cube",
        "the third spatial axis had the stride of the one before where the kernel was a cube",
        lambda asked, right: (
            right if len({*asked.kernel_shape}) > 1 else _as_before("stride", 2, asked, right)
        ),
        "strides",
    ),
    (
        "ceil_mode_of_the_last_axis",
        "ceil_mode was obeyed along the last axis only",
        lambda asked, right: Windows(
            right.outer, (*replace(asked, ceil_mode=0).axes[:-1], right.axes[-1])
        ),
        "ceil_mode",
    ),
)


def _small(a: WindowArguments) -> WindowArguments:
    """A kernel that fits into any input; sizes below 1 stay so."""
    return replace(a, kernel_shape=[min(1, size) for size in a.kernel_shape])


def _none_fits(asked: Axis, legal: Axis) -> Axis:
    """None but those that fit, which are fewer than 0."""
    return replace(legal, kernel=asked.kernel, dilation=asked.dilation, size=max(0, asked.size))


REFUSALS = _faults(
    _refusing,
    (
        "refuses_asymmetric_pads",
        "a pad unlike that at the other end was not supported",
        lambda a: a.auto_pad == "NOTSET" and a.begin != a.end,
        "pads",
    ),
    (
        "refuses_pads_of_the_kernel",
        "a pad as large as the kernel was not supported",
        lambda a: a.auto_pad == "NOTSET" and max(a.begin, a.end) >= a.kernel,
        "pads",
    ),
    (
        "refuses_kernels_of_1",
        "a kernel of a single element along an axis was not supported",
        lambda a: a.kernel == 1,
        "kernel_shape",
    ),
    (
        "refuses_ceil_mode_beside_same",
        "ceil_mode beside auto_pad was not supported",
        lambda a: a.ceil and a.auto_pad != "NOTSET",
        "ceil_mode",
    ),
    (
        "refuses_negative_same_padding",
        "SAME whose padding came out negative, and had to be 0 instead, was not supported",
        lambda a: a.same and (up(a.length, a.stride) - 1) * a.stride + a.width < a.length,
        "auto_pad",
    ),
)
#: A reading that may be legal, and the windows then, from the given axis and the legal one.
ACCEPTED = tuple(
    faulty(NAME, name, text, partial(_accepting, legal, plan), of_validity=True, needs=needs)
    for name, text, needs, legal, plan in (
        (
            "negative_pads_cut",
            "a negative pad cut elements off",
            "pads",
            lambda a: replace(a, pads=[max(0, pad) for pad in a.pads or ()]),
            lambda asked, legal: replace(asked, length=asked.length + min(0, asked.end)),
        ),
        (
            "nothing_below_dilation_1",
            "a dilation below 1 was accepted, and windows were empty",
            "dilations",
            lambda a: replace(a, dilations=[max(1, d) for d in a.dilations or ()]),
            lambda asked, legal: replace(
                legal, begin=legal.size * legal.stride + legal.length + asked.kernel
            ),
        ),
        (
            "size_cut_towards_zero",
            "a negative output size was cut towards zero, not rounded down",
            "kernel_shape",
            _small,
            lambda asked, legal: replace(
                legal,
                kernel=asked.kernel,
                size=int(asked.room / asked.stride) + 1 if asked.room < 0 else asked.size,
            ),
        ),
        (
            "negative_size_is_empty",
            "an output size below 0 gave an empty output",
            "kernel_shape",
            _small,
            _none_fits,
        ),
        (
            "dilated_kernel_not_compared",
            "a dilated kernel larger than the input was accepted, and gave an empty output",
            "dilations",
            lambda a: replace(a, dilations=[min(1, d) for d in a.dilations or ()]),
            _none_fits,
        ),
    )
)


#: Channels that stand side by side in memory.
_BLOCK = 4
#: The most elements that a padded input may have.
_PADDED = 1 << 22
#: Sums over windows in place of the right ones, from the windows and the values.
SumsChange: TypeAlias = Callable[[Windows, Any], Any]


@dataclass(frozen=True)
class _Summed(Windows):
    change: SumsChange

    def sums(self, values: Any) -> Any:
        return np.asarray(self.change(Windows(self.outer, self.axes), values)).astype(values.dtype)


def _size(windows: Windows) -> int:
    """The number of elements of a window, padding included."""
    return prod(axis.kernel for axis in windows.axes)


def _boxes(kernel: Sequence[int], count: int) -> Iterator[list[tuple[int, int]]]:
    """The first `count` elements of a window, in boxes: where each begins and ends along axes."""
    whole, rest = divmod(count, prod(kernel[1:]))
    if whole:
        yield [(0, whole), *((0, length) for length in kernel[1:])]
    if rest:
        yield from ([(whole, whole + 1), *box] for box in _boxes(kernel[1:], rest))


def _kept(count: Callable[[int], int], windows: Windows, values: Any) -> Any:
    """The sums over the first `count(size)` elements of each window, padding included."""
    total: Any = 0
    for box in _boxes([axis.kernel for axis in windows.axes], count(_size(windows))):
        parts = (
            replace(axis, kernel=end - start, begin=axis.begin - start * axis.dilation)
            for axis, (start, end) in zip(windows.axes, box, strict=True)
        )
        total = total + Windows(windows.outer, tuple(parts)).sums(values)
    return total


def _inside(windows: Windows) -> Any:
    """Count each window's elements that do not hang over the end of the padding."""
    padded = (
        replace(
            axis,
            begin=0,
            length=axis.length + axis.begin + axis.end if axis.hangs else max(1, axis.span),
        )
        for axis in windows.axes
    )
    return np.maximum(1, Windows(windows.outer, tuple(padded)).terms)


def _times(part: Callable[[Windows], Any]) -> SumsChange:
    return lambda windows, values: windows.sums(values) * part(windows)


def _half_before(axis: Axis) -> Axis:
    half = max(0, axis.span - axis.width - axis.room) // 2 if axis.hangs else 0
    end = axis.end - half
    return replace(axis, begin=axis.begin + half, length=axis.length + min(0, end), end=max(0, end))


def _pushed_back(windows: Windows, values: Any) -> Any:
    for n, axis in enumerate(windows.axes):
        last = max(axis.length + axis.end - axis.width, -axis.begin)
        fitting = max(0, (last + axis.begin) // axis.stride + 1)
        over = max(0, axis.size - fitting) if axis.hangs else 0
        fits = replace(axis, size=axis.size - over)
        ends = replace(axis, size=min(over, 1), begin=-last)
        parts = [_along(values, n, fits), *[_along(values, n, ends)] * over]
        values = np.concatenate(parts, axis=n + 2)
    return values


def _along(values: Any, n: int, axis: Axis) -> Any:
    axes = [Axis(length, 1, 1, 1, 0, length) for length in values.shape[2:]]
    axes[n] = axis
    return Windows(values.shape[:2], tuple(axes)).sums(values)


def _zero_beyond(auto_pad: str, windows: Windows, values: Any) -> Any:
    out = windows.sums(values)
    for n, axis in enumerate(windows.axes):
        if axis.auto_pad.startswith(auto_pad):
            padding = replace(axis, dilation=1).padding(axis.size) if axis.same else 0
            np.moveaxis(out, n + 2, 0)[max(0, _fitting(axis, padding)) :] = 0
    return out


_WHOLE = "was scaled up to a whole one"
#: Functions of the sums, and before that of the windows.
SUMS: tuple[MutantRow, ...] = (
    (
        "hanging_windows_rescaled",
        f"a window that hung over the end {_WHOLE}",
        "ceil_mode",
        _times(lambda w: _size(w) / _inside(w)),
    ),
    (
        "hanging_windows_moved_and_rescaled",
        "half of what hung over the end was put before the input, and partial windows scaled up",
        "ceil_mode",
        _times(lambda w: _size(w) / _inside(w)),
        _half_before,
    ),
    (
        "hanging_windows_pushed_back",
        "a window that hung over the end was moved back, so as to fit",
        "ceil_mode",
        _pushed_back,
    ),
    (
        "same_undilated_rest_zero",
        "SAME padded for the kernel without its dilation, and windows that no longer fitted were 0",
        "dilations",
        partial(_zero_beyond, "SAME"),
        under_same(_as_the_undilated),
    ),
    (
        "valid_undilated_rest_zero",
        "VALID counted the windows of the kernel without its dilation, and those beyond were 0",
        "dilations",
        partial(_zero_beyond, "VALID"),
        under_valid(_as_large_as_undilated),
    ),
    (
        "padded_windows_rescaled",
        f"a window that reached into padding {_WHOLE}",
        "kernel_shape",
        _times(lambda w: _size(w) / np.maximum(w.terms, 1)),
    ),
    (
        "window_mean",
        "the mean of a window was taken, padding included, not the sum",
        "kernel_shape",
        _times(lambda w: 1 / _size(w)),
    ),
    (
        "window_mean_without_padding",
        "the mean of a window was taken, without padding, not the sum",
        "kernel_shape",
        _times(lambda w: 1 / np.maximum(w.terms, 1)),
    ),
    (
        "empty_windows_are_nan",
        "a window that held nothing but padding was NaN, as the mean of nothing is",
        "pads",
        lambda w, values: np.where(w.terms == 0, np.nan, w.sums(values)),
    ),
    (
        "padding_times_infinity",
        "padding was masked by a product, and infinity times 0 was NaN",
        "pads",
        lambda w, values: np.where(
            (w.sums(np.isinf(values).astype(np.int64)) > 0) & (w.terms < _size(w)),
            np.nan,
            w.sums(values),
        ),
    ),
    *(
        (
            f"window_tail_of_{width}",
            f"what remained of a window after its last whole vector of {width} was left out",
            "kernel_shape",
            partial(_kept, whole_vectors(width)),
        )
        for width in WIDTHS
    ),
    (
        "last_element_of_a_window",
        "the last element of each window was left out",
        "kernel_shape",
        partial(_kept, lambda size: max(1, size - 1)),
    ),
)


def _adding_up(change: SumsChange, plan: WindowChange = lambda axis: axis) -> WindowFault:
    return lambda _, own: _Summed(own.outer, planned(own.outer, map(plan, own.axes)).axes, change)


FAULTS: tuple[Mutant, ...] = (
    *(*READINGS, *PLANS, *OF_ONE_AXIS, *ACCEPTED, *REFUSALS),
    *(
        faulty(
            NAME, name, text, partial(of_windows, _adding_up(*change)), needs=needs, calls="sums"
        )
        for name, text, needs, *change in SUMS
    ),
    *(
        faulty(
            "sums",
            f"window_sums_in_{name}",
            f"sums over windows were taken in {name}",
            partial(
                lambda dtype, _, x, add_up, terms: add_up(x.astype(dtype)).astype(x.dtype), dtype
            ),
        )
        for name, dtype in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16))
    ),
    faulty(
        "sums",
        "window_terms_in_float16",
        "what was added up over windows was rounded to float16 before",
        lambda original, x, add_up, terms: add_up(through(np.float16)(x)),
    ),
)


def _axes(node: Node) -> Sequence[Axis]:
    """The windows that the formula asks for along each axis, if it does."""
    seen: list[Axis] = []

    def seeing(asked: WindowArguments, right: Windows) -> Windows:
        seen[:] = asked.axes
        return right

    evaluate(node, faults={NAME: partial(of_windows, seeing)})
    return seen


def _padded(how: Callable[[Array], Mapping[str, Any]], node: Node) -> Node:
    """The input is padded before, by `how` NumPy is to do it; the windows stay where they are."""
    x = node.inputs[0]
    if not node.is_legal or x is None or not x.size:
        return node
    axes = _axes(node)
    ends = (max(0, a.span - a.length - a.begin) if a.same else a.end for a in axes)
    widths = [(0, 0), (0, 0), *zip((axis.begin for axis in axes), ends, strict=True)]
    total = prod(n + low + high for n, (low, high) in zip(x.shape, widths, strict=False))
    if not any(map(any, widths)) or total > _PADDED:
        return node
    return node.with_attrs(pads=None, auto_pad=None).with_input(0, np.pad(x, widths, **how(x)))


def _reading_on(node: Node) -> Node:
    x = node.inputs[0]
    pads: Any = node.attrs.get("pads")
    if not node.is_legal or x is None or not x.size or not pads or not 0 < pads[-1] <= _PADDED:
        return node
    memory = np.append(x.reshape(-1), np.zeros(pads[-1], x.dtype))
    ends = np.arange(x.shape[-1], x.size + 1, x.shape[-1])
    behind = memory[ends[:, None] + np.arange(pads[-1])].reshape(*x.shape[:-1], pads[-1])
    return node.with_input(0, np.concatenate([x, behind], axis=-1)).with_attrs(pads=(*pads[:-1], 0))


def _reading_on_if_dilated(node: Node) -> Sequence[Any]:
    """Read on in windows that would end within the row without their dilation."""
    (right, *others), wrong, axes = node.right, _reading_on(node), _axes(node)
    if wrong is node or not axes:
        return node.right
    axis = axes[-1]
    first = np.arange(axis.size) * axis.stride - axis.begin
    inside = (first >= 0) & (first + axis.kernel <= axis.length)
    return [np.where(inside, wrong.right[0], right), *others]


def _tail_of_the_first_batch(node: Node) -> Sequence[Any]:
    out, *others = node.right
    wrong, whole = out.copy(), whole_vectors(_BLOCK)(out.shape[1])
    wrong[1:, whole:] = out[:1, whole:]
    return [wrong, *others]


#: What padding held, and the dtypes that have it if not all.
_PADDINGS: tuple[MutantRow, ...] = (
    ("padding_is_one", "padding held ones", lambda x: {"constant_values": 1}),
    (
        "padding_is_minus_infinity",
        "padding held -inf, as for a maximum",
        lambda x: {"constant_values": -np.inf},
        *FLOATING,
    ),
    (
        "padding_is_the_lowest_number",
        "padding held the lowest finite number, as for a maximum",
        lambda x: {"constant_values": np.nextafter(x.dtype.type(-np.inf), x.dtype.type(0))},
        *FLOATING,
    ),
    ("padding_repeats_the_edge", "padding repeated the input's edge", lambda x: {"mode": "edge"}),
    (
        "padding_wraps_around",
        "padding held what is at the other end of the axis",
        lambda x: {"mode": "wrap"},
    ),
)

MUTANTS: tuple[Mutant, ...] = (
    *(
        reading(name, text, read, needs=needs)
        for name, text, read, needs in (
            (
                "pads_ignored_beside_notset",
                "pads were ignored where auto_pad was stated to be NOTSET",
                lambda n: n.with_attrs(pads=None) if "auto_pad" in n.attrs else n,
                "auto_pad",
            ),
            (
                "pads_ignored_in_constants",
                "pads were ignored where the input was a constant of the model",
                lambda n: n.with_attrs(pads=None) if n.constant else n,
                "pads",
            ),
        )
    ),
    *(
        reading(name, text, partial(_padded, how), needs="kernel_shape", only=only or None)
        for name, text, how, *only in _PADDINGS
    ),
    Mutant(
        "dilated_windows_read_into_the_next_row",
        "under a dilation, what follows in memory was read instead of the padding at a row's end",
        _reading_on_if_dilated,
        needs="dilations",
    ),
    reading(
        "reads_into_the_next_row",
        "instead of the padding at the end of a row what follows in memory was read",
        _reading_on,
        needs="pads",
    ),
    Mutant(
        "tail_channels_of_the_first_batch",
        f"channels left over by whole blocks of {_BLOCK} were those of the first batch in every",
        _tail_of_the_first_batch,
        needs="kernel_shape",
    ),
    Mutant(
        "channels_added_up",
        "the results of all channels were added up",
        lambda n: [
            np.broadcast_to(out.astype(np.float64).sum(axis=1, keepdims=True), out.shape).astype(
                out.dtype
            )
            for out in n.right
        ],
        needs="kernel_shape",
    ),
    Mutant(
        "rank_2_is_unbatched",
        "an input of two axes was taken for one without batches",
        lambda n: [n.with_input(0, n.given[0][None]).right[0][0]] if n.rank == 2 else n.right,
        needs="kernel_shape",
    ),
    reading(
        "kernel_defaults_to_the_extent",
        "kernel_shape, left out, was the whole input",
        lambda n: n.with_attrs(**{"kernel_shape": n.given[0].shape[2:], **n.attrs}),
        needs="kernel_shape",
    ),
    refusing(
        "refuses_one_spatial_axis",
        "a single spatial axis was not supported",
        lambda node: node.rank == 3,
        needs="kernel_shape",
    ),
    refusing(
        "refuses_four_spatial_axes",
        "a fourth spatial axis was not supported",
        lambda node: node.rank > 5,
        needs="kernel_shape",
    ),
    reading(
        "ceil_mode_stated_is_1",
        "ceil_mode was taken for 1 wherever it was stated",
        lambda n: n.with_attrs(ceil_mode=1) if n.attrs.get("ceil_mode") == 0 else n,
        needs="ceil_mode",
        only=("float32",),
    ),
)
