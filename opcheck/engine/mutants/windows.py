"""Faults of window arithmetic, which all pooling shares.

They are of three kinds: the attributes are read wrongly (`Asked`), the windows along an axis are
not those that were asked for (`Axis`), or what lies in a window is not added up rightly
(`_Summed`). A fault of the first two kinds keeps to what is legal, unless it accepts what is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.mutant import Faulty, Mutant
from opcheck.engine.node import Node
from opcheck.engine.windows import AxisWindows, Windows
from opcheck.engine.windows import windows_of as replaceable
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.numbers import Fault

#: Elements of a vector register or a warp, and channels that stand side by side in memory.
WIDTHS = (32, 16, 8, 4)
_BLOCK = 4
#: The most elements that a padded input may have.
_PADDED = 1 << 22

_NAME = "windows_of"
#: The helper itself, whatever takes its place.
windows_of = replaceable.__wrapped__


def _up(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class Asked:
    """The arguments of `windows_of`; a list that is left out is None."""

    shape: Sequence[int]
    kernel_shape: Sequence[int]
    strides: Sequence[int] | None = None
    dilations: Sequence[int] | None = None
    pads: Sequence[int] | None = None
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0

    @property
    def n(self) -> int:
        """The number of spatial axes."""
        return len(self.shape) - 2

    @property
    def axes(self) -> list[Axis]:
        """What is asked for along each axis."""
        n, ones = self.n, [1] * self.n
        pads = self.pads or [0] * 2 * n
        strides, dilations = self.strides or ones, self.dilations or ones
        lists = (self.shape[2:], self.kernel_shape, strides, dilations, pads[:n], pads[n:])
        whole = self.auto_pad, bool(self.ceil_mode)
        return [Axis(*each, *whole) for each in zip(*lists, strict=True)]

    def windows(self, original: Any) -> Windows:
        """The windows that are asked for."""
        found = original(*(getattr(self, field.name) for field in fields(self)))
        assert isinstance(found, Windows)
        return found


@dataclass(frozen=True)
class Axis:
    """What is asked for along one axis of `length` elements."""

    length: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    auto_pad: str
    ceil: bool

    @property
    def width(self) -> int:
        """The elements from the first of a window to its last, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def room(self) -> int:
        """How far a window can move."""
        return self.length + self.begin + self.end - self.width

    @property
    def same(self) -> bool:
        """True if the padding follows from the output's size."""
        return self.auto_pad.startswith("SAME")

    @property
    def hangs(self) -> bool:
        """True if a window may reach beyond the padding."""
        return self.ceil and self.auto_pad == "NOTSET"

    def padding(self, size: int) -> int:
        """What SAME pads in all for an output of this size."""
        return max(0, (size - 1) * self.stride + self.width - self.length)

    def split(self, padding: int) -> int:
        """The part of SAME's padding that comes before the input."""
        return padding // 2 if self.auto_pad == "SAME_UPPER" else padding - padding // 2

    @property
    def fitting(self) -> int:
        """How many windows fit, if none is padded for; less than 0 where none fits."""
        return (_up if self.hangs else int.__floordiv__)(self.room, self.stride) + 1

    def planned(self) -> AxisWindows:
        """The windows along the axis."""
        pads = (self.begin, self.end) if self.auto_pad == "NOTSET" else None
        shape, each = (1, 1, self.length), ([self.kernel], [self.stride], [self.dilation])
        return Asked(shape, *each, pads, self.auto_pad, self.ceil).windows(windows_of).axes[0]


#: What is read in place of what is asked for; None where nothing is misread.
Reading: TypeAlias = Callable[[Asked], Asked | None]
#: The windows along an axis, in place of the right ones.
Plan: TypeAlias = Callable[[Axis, AxisWindows], AxisWindows]
#: The sums of some values over windows, in place of the right ones.
Sums: TypeAlias = Callable[[Windows, Any], Any]
Change: TypeAlias = Callable[[Asked], Sums]
#: A name, what was wrong, what is done, and the attribute without which nobody can do it.
Row: TypeAlias = tuple[str, str, Any, str]


@dataclass(frozen=True)
class _Summed(Windows):
    """Windows whose elements are added up in another way."""

    change: Sums = Windows.sums

    def sums(self, values: Any) -> Any:
        """The sums of `values`, wrongly."""
        right = Windows(self.outer, self.axes)
        with np.errstate(all="ignore"):
            return np.asarray(self.change(right, values)).astype(values.dtype)


def _right_or(fault: Callable[[Any, Asked, Windows], Windows]) -> Fault:
    """The windows that `fault` makes of the right ones, if they are not too many."""

    def faulty(original: Any, *asked: Any) -> Windows:
        right = Asked(*asked).windows(original)
        try:
            return fault(original, Asked(*asked), right)
        except MemoryError:
            return right

    return faulty


def _reading(read: Reading) -> Fault:
    return _right_or(lambda original, asked, right: (read(asked) or asked).windows(original))


def _planned(asked: Asked, right: Windows, plan: Plan) -> Windows:
    planned = tuple(map(plan, asked.axes, right.axes))
    if min(axis.size for axis in planned) < 0:
        raise InvalidNode("the output's size is negative")
    return Windows(right.outer, planned)


def _planning(plan: Plan) -> Fault:
    return _right_or(lambda _, asked, right: _planned(asked, right, plan))


def _adding_up(change: Change, plan: Plan) -> Fault:
    def fault(_: Any, asked: Asked, right: Windows) -> Windows:
        planned = _planned(asked, right, plan)
        return _Summed(planned.outer, planned.axes, change(asked))

    return _right_or(fault)


def _accepting(read: Reading, plan: Plan | None = None) -> Fault:
    """What is legal once it is reread, or by the `plan` of what it is without that."""

    def faulty(original: Any, *args: Any) -> Windows:
        asked = Asked(*args)
        try:
            return asked.windows(original)
        except InvalidNode as error:
            reread = read(asked)
            if reread is not None:
                with suppress(InvalidNode):
                    legal = reread.windows(original)
                    return _planned(asked, legal, plan) if plan else legal
            raise error from None

    return faulty


def _refusing(when: Callable[[Axis], bool]) -> Fault:
    """Nodes with such an axis are refused."""

    def fault(original: Any, asked: Asked, right: Windows) -> Windows:
        if any(map(when, asked.axes)):
            raise InvalidNode("not supported")
        return right

    return _right_or(fault)


# ── attributes are misread ────────────────────────────────────────────────────────────────────


def _pads(read: Callable[[Sequence[int], int], Sequence[int]]) -> Reading:
    """`pads` is read in another order; the second argument is the number of axes."""
    return lambda a: replace(a, pads=[*read([*a.pads], a.n)]) if a.pads else None


def _all_reversed(a: Asked) -> Asked:
    """Every list is read from the last axis to the first."""
    pads = a.pads and [*a.pads[: a.n][::-1], *a.pads[a.n :][::-1]]
    lists = {"strides": a.strides, "dilations": a.dilations, "kernel_shape": a.kernel_shape}
    return replace(a, pads=pads, **{k: v and [*v][::-1] for k, v in lists.items()})


def _without_pads(a: Asked) -> Asked:
    return replace(a, pads=None)


def _two_axes(a: Asked) -> Asked:
    """The first two axes as they are, the others not pooled."""
    rest = [1] * (a.n - 2)
    return replace(
        a,
        kernel_shape=[*a.kernel_shape[:2], *rest],
        strides=a.strides and [*a.strides[:2], *rest],
    )


def _for_each(old: str, new: str) -> Reading:
    return lambda a: replace(a, auto_pad=a.auto_pad.replace(old, new))


_OTHER = {"SAME_UPPER": "SAME_LOWER", "SAME_LOWER": "SAME_UPPER"}

READINGS: tuple[Row, ...] = (
    ("strides_default_to_the_kernel", "strides, left out, were taken from kernel_shape",
     lambda a: replace(a, strides=a.strides or a.kernel_shape), "strides"),
    ("strides_are_the_kernel", "windows stood side by side, whatever strides said",
     lambda a: replace(a, strides=a.kernel_shape), "strides"),
    ("strides_at_most_the_kernel", "a stride larger than the kernel was taken for the kernel's size",
     lambda a: a.strides and replace(a, strides=[*map(min, a.strides, a.kernel_shape)]), "strides"),
    ("strides_are_dilations_too", "dilations, left out, were taken from strides",
     lambda a: replace(a, dilations=a.dilations or a.strides), "dilations"),
    ("width_before_height", "every list was read from the last axis to the first",
     _all_reversed, "kernel_shape"),
    ("third_axis_not_pooled", "only the first two spatial axes were pooled",
     _two_axes, "kernel_shape"),
    ("pads_interleaved", "pads were read as x1_begin, x1_end, x2_begin, …",
     _pads(lambda pads, n: [*pads[::2], *pads[1::2]]), "pads"),
    ("pads_interleaved_from_the_last_axis", "pads were read as xn_begin, xn_end, …, x1_begin, x1_end",
     _pads(lambda pads, n: [*pads[::2][::-1], *pads[1::2][::-1]]), "pads"),
    ("pads_from_the_last_axis", "pads were read as xn_begin, …, x1_begin, xn_end, …, x1_end",
     _pads(lambda pads, n: [*pads[:n][::-1], *pads[n:][::-1]]), "pads"),
    ("pads_ends_first", "the ends were read before the beginnings in pads",
     _pads(lambda pads, n: [*pads[n:], *pads[:n]]), "pads"),
    ("pads_beginnings_for_both", "the beginnings in pads served as ends too",
     _pads(lambda pads, n: [*pads[:n]] * 2), "pads"),
    ("pads_ends_for_both", "the ends in pads served as beginnings too",
     _pads(lambda pads, n: [*pads[n:]] * 2), "pads"),
    ("pads_ends_ignored", "the ends in pads were ignored",
     _pads(lambda pads, n: [*pads[:n], *[0] * n]), "pads"),
    ("pads_beginnings_ignored", "the beginnings in pads were ignored",
     _pads(lambda pads, n: [*[0] * n, *pads[n:]]), "pads"),
    ("pads_default_to_half_the_kernel", "pads, left out, were half the kernel",
     lambda a: None if a.pads or a.auto_pad != "NOTSET" else replace(
         a, pads=[k // 2 for k in a.kernel_shape] * 2), "pads"),
    ("same_upper_is_lower", "SAME_UPPER put the odd one of padding at the beginning",
     _for_each("UPPER", "LOWER"), "auto_pad"),
    ("same_lower_is_upper", "SAME_LOWER put the odd one of padding at the end",
     _for_each("LOWER", "UPPER"), "auto_pad"),
    ("same_exchanged", "SAME_UPPER and SAME_LOWER were exchanged",
     lambda a: replace(a, auto_pad=_OTHER.get(a.auto_pad, a.auto_pad)), "auto_pad"),
    ("same_ignored", "SAME_UPPER and SAME_LOWER meant no padding",
     lambda a: replace(a, auto_pad="NOTSET") if a.auto_pad in _OTHER else None, "auto_pad"),
    ("valid_is_same", "VALID was taken for SAME_UPPER",
     _for_each("VALID", "SAME_UPPER"), "auto_pad"),
    ("always_rounded_up", "sizes were rounded up whatever ceil_mode said",
     lambda a: replace(a, ceil_mode=1), "kernel_shape"),
)  # fmt: skip


# ── windows are elsewhere ─────────────────────────────────────────────────────────────────────


def _same(plan: Plan) -> Plan:
    """Another plan under SAME."""
    return lambda axis, right: plan(axis, right) if axis.same else right


def _begun(begin: Callable[[Axis, int], int]) -> Plan:
    """So much padding at the beginning under SAME, from the axis and all padding."""
    return _same(lambda a, right: replace(right, begin=begin(a, a.padding(right.size))))


def _sized(when: Callable[[Axis], bool], size: Callable[[Axis], int]) -> Plan:
    """Along some axes there are so many windows, which begin where they should."""
    return lambda axis, right: replace(right, size=size(axis)) if when(axis) else right


def _undilated(axis: Axis) -> Axis:
    return replace(axis, dilation=1)


def _fitted(axis: Axis, padding: int) -> int:
    """How many windows fit into the input with so much padding."""
    return (axis.length + padding - axis.width) // axis.stride + 1


def _symmetric(axis: Axis, right: AxisWindows) -> AxisWindows:
    half = _up(axis.padding(right.size), 2)
    return replace(right, begin=half, size=_fitted(axis, 2 * half))


def _unclamped(axis: Axis, right: AxisWindows) -> AxisWindows:
    padding = (right.size - 1) * axis.stride + axis.width - axis.length
    return replace(right, begin=int((padding + (axis.auto_pad == "SAME_LOWER")) / 2))


def _as_the_undilated(axis: Axis, right: AxisWindows) -> AxisWindows:
    return replace(right, begin=_undilated(axis).planned().begin)


def _as_many_as_fit(axis: Axis, right: AxisWindows) -> AxisWindows:
    size = _fitted(axis, _undilated(axis).padding(right.size))
    return replace(_as_the_undilated(axis, right), size=max(0, size))


def _whole_strides(when: Callable[[Axis], bool]) -> Plan:
    """The padding before the input is made a multiple of the stride."""
    return lambda axis, right: (
        replace(right, begin=axis.begin // axis.stride * axis.stride)
        if when(axis) and not axis.same
        else right
    )


PLANS: tuple[Row, ...] = (
    ("last_window_missing", "the last window along each axis was left out",
     lambda axis, right: replace(right, size=max(0, right.size - 1)), "kernel_shape"),
    ("windows_one_late", "every window began one element late",
     lambda axis, right: replace(right, begin=right.begin - 1), "kernel_shape"),
    ("dilation_ignored_in_the_size", "the output's size was computed as if dilations were 1",
     lambda axis, right: replace(right, size=_undilated(axis).planned().size), "dilations"),
    ("dilation_ignored_in_the_window",
     "dilations counted for the output's size, but not for what a window holds",
     lambda axis, right: replace(right, dilation=1), "dilations"),
    ("beginning_rounded_to_the_dilation",
     "where the dilation was the stride, the padding before the input was rounded down to it",
     _whole_strides(lambda axis: axis.stride == axis.dilation), "dilations"),
    ("beginning_rounded_to_the_stride",
     "the padding before the input was rounded down to a multiple of the stride",
     _whole_strides(lambda axis: True), "pads"),
    ("pads_in_the_size_only",
     "pads counted for the output's size, but the first window began in the input",
     lambda axis, right: replace(right, begin=0), "pads"),
    ("ceil_mode_with_same", "ceil_mode added a window under SAME_UPPER and SAME_LOWER",
     _sized(lambda a: a.ceil and a.same, lambda a: _up(
         a.length + a.padding(_up(a.length, a.stride)) - a.width, a.stride) + 1), "ceil_mode"),
    ("ceil_mode_without_dilations",
     "ceil_mode counted the windows of the kernel without its dilation",
     _sized(lambda a: a.hangs, lambda a: _undilated(a).planned().size), "ceil_mode"),
    ("ceil_mode_without_pads", "ceil_mode counted windows as if there were no pads",
     _sized(lambda a: a.hangs, lambda a: replace(a, begin=0, end=0).planned().size), "ceil_mode"),
    ("ceil_mode_adds_one", "ceil_mode added a window even where nothing was left over",
     _sized(lambda a: a.hangs, lambda a: a.room // a.stride + 2), "ceil_mode"),
    ("same_negative_padding",
     "padding under SAME was negative where strides were larger than the window",
     _same(_unclamped), "auto_pad"),
    ("same_undilated_size",
     "SAME padded for the kernel without its dilation, so that fewer windows fitted",
     _same(_as_many_as_fit), "dilations"),
    ("same_undilated_beginning",
     "SAME began its windows where those of the kernel without its dilation begin",
     _same(_as_the_undilated), "dilations"),
    ("same_symmetric", "an odd padding under SAME was made even, which left room for another window",
     _same(_symmetric), "auto_pad"),
    ("same_at_one_side",
     "all padding was put at the end under SAME_UPPER, at the beginning under SAME_LOWER",
     _begun(lambda axis, padding: padding * (axis.auto_pad == "SAME_LOWER")), "auto_pad"),
    ("same_at_the_end", "all padding under SAME was put at the end",
     _begun(lambda axis, padding: 0), "auto_pad"),
    ("same_padding_for_stride_1", "padding under SAME was computed as if strides were 1",
     _same(lambda a, right: replace(right, begin=replace(a, stride=1).planned().begin)), "auto_pad"),
    ("same_rounded_down", "the output's size under SAME was rounded down",
     _sized(lambda a: a.same, lambda a: a.length // a.stride), "auto_pad"),
    ("same_size_of_the_input",
     "the output under SAME was as large as the input, whatever the strides",
     _same(lambda a, right: replace(right, size=a.length, begin=a.split(a.padding(a.length)))),
     "auto_pad"),
    ("valid_rounded_up", "VALID counted a window that hung over the end",
     _sized(lambda a: a.auto_pad == "VALID", lambda a: _up(a.room, a.stride) + 1), "auto_pad"),
)  # fmt: skip


def _as_before(name: str, place: int, cube: bool = False) -> Fault:
    """The axis at a place has what the one before it has; not in its size."""

    def fault(original: Any, asked: Asked, right: Windows) -> Windows:
        axes = [*right.axes]
        if len(axes) <= place or (cube and len(set(asked.kernel_shape)) > 1):
            return right
        axes[place] = replace(axes[place], **{name: getattr(axes[place - 1], name)})
        return Windows(right.outer, tuple(axes))

    return _right_or(fault)


def _ceil_mode_of_the_last(original: Any, asked: Asked, right: Windows) -> Windows:
    floor = replace(asked, ceil_mode=0).windows(original)
    return Windows(right.outer, (*floor.axes[:-1], right.axes[-1]))


def _geometry() -> Iterator[tuple[str, str, Fault, str]]:
    for name, text, read, needs in READINGS:
        yield name, text, _reading(read), needs
    for name, text, plan, needs in PLANS:
        yield name, text, _planning(plan), needs
    which = ("third", "fourth")
    for what, words, place, needs in (
        ("stride", "stride", 2, "strides"),
        ("stride", "stride", 3, "strides"),
        ("dilation", "dilation", 2, "dilations"),
        ("kernel", "kernel size", 2, "kernel_shape"),
        ("begin", "padding before it", 2, "pads"),
    ):
        text = f"the {which[place - 2]} spatial axis had the {words} of the one before"
        yield f"{what}_of_the_{which[place - 2]}_axis", text, _as_before(what, place), needs
    text = "the third spatial axis had the stride of the one before where the kernel was a cube"
    yield "stride_of_the_third_axis_of_a_cube", text, _as_before("stride", 2, cube=True), "strides"
    text = "ceil_mode was obeyed along the last axis only"
    yield "ceil_mode_of_the_last_axis", text, _right_or(_ceil_mode_of_the_last), "ceil_mode"


# ── elements are not added up rightly ─────────────────────────────────────────────────────────


def _boxes(kernel: Sequence[int], count: int) -> Iterator[list[tuple[int, int]]]:
    """The first `count` elements of a window in boxes: where each begins along each axis, and ends."""
    inner = prod(kernel[1:])
    whole, rest = divmod(count, inner)
    if whole:
        yield [(0, whole), *((0, length) for length in kernel[1:])]
    if rest:
        yield from ([(whole, whole + 1), *box] for box in _boxes(kernel[1:], rest))


def _first_of(windows: Windows, count: int, values: Any) -> Any:
    """The sums over the first `count` elements of each window, padding included."""
    total: Any = 0
    for box in _boxes([axis.kernel for axis in windows.axes], count):
        parts = (
            replace(axis, kernel=end - start, begin=axis.begin - start * axis.dilation)
            for axis, (start, end) in zip(windows.axes, box, strict=True)
        )
        total = total + Windows(windows.outer, tuple(parts)).sums(values)
    return total


def _kept(count: Callable[[int], int]) -> Change:
    """So many of a window's elements are added up."""

    def change(asked: Asked) -> Sums:
        size = prod(asked.kernel_shape)
        return lambda windows, values: _first_of(windows, count(size), values)

    return change


def _inside(asked: Asked, windows: Windows) -> Any:
    """How many of each window's elements do not hang over the end of the padding."""

    def padded(axis: Axis, own: AxisWindows) -> AxisWindows:
        length = axis.length + axis.begin + axis.end
        whole = (own.size - 1) * own.stride + axis.width
        return replace(own, begin=0, length=length if axis.hangs else max(1, whole))

    axes = tuple(map(padded, asked.axes, windows.axes))
    return np.maximum(1, Windows(windows.outer, axes).terms)


def _times(part: Callable[[Asked, Windows], Any]) -> Change:
    """So much of the sum."""
    return lambda asked: lambda windows, values: windows.sums(values) * part(asked, windows)


def _half_before(axis: Axis, right: AxisWindows) -> AxisWindows:
    """Half of what hangs over is put before the input."""
    over = (right.size - 1) * right.stride - axis.room if axis.hangs else 0
    return replace(right, begin=right.begin + max(0, over) // 2)


def _where(mask: Callable[[Windows, Any], Any]) -> Change:
    """NaN where `mask` is True."""
    return lambda _: lambda w, values: np.where(mask(w, values), np.nan, w.sums(values))


def _pushed_back(asked: Asked) -> Sums:
    """A window that hangs over the end begins earlier, if not before all padding."""

    def sums(windows: Windows, values: Any) -> Any:
        for n, (axis, own) in enumerate(zip(asked.axes, windows.axes, strict=True)):
            last = max(axis.length + axis.end - axis.width, -axis.begin)
            over = own.size - max(0, (last + own.begin) // own.stride + 1) if axis.hangs else 0
            fits = replace(own, size=own.size - over)
            ends = replace(own, size=min(over, 1), begin=-last)
            parts = [_along(values, n, fits), *[_along(values, n, ends)] * over]
            values = np.concatenate(parts, axis=n + 2)
        return values

    return sums


def _along(values: Any, n: int, axis: AxisWindows) -> Any:
    """The sums over windows along one axis alone."""
    single = (AxisWindows(length, 1, 1, 1, 0, length) for length in values.shape[2:])
    axes = [*single]
    axes[n] = axis
    return Windows(values.shape[:2], tuple(axes)).sums(values)


def _zero_beyond(auto_pad: str) -> Change:
    """Windows are empty that do not fit into the padding of the undilated kernel."""

    def change(asked: Asked) -> Sums:
        def sums(windows: Windows, values: Any) -> Any:
            out = windows.sums(values)
            for n, (axis, own) in enumerate(zip(asked.axes, windows.axes, strict=True)):
                if axis.auto_pad.startswith(auto_pad):
                    padding = _undilated(axis).padding(own.size) if axis.same else 0
                    np.moveaxis(out, n + 2, 0)[max(0, _fitted(axis, padding)) :] = 0
            return out

        return sums

    return change


def _size_of(asked: Asked) -> int:
    return prod(asked.kernel_shape)


def _as_it_is(axis: Axis, right: AxisWindows) -> AxisWindows:
    return right


_VALID = _sized(lambda a: a.auto_pad == "VALID", lambda a: _undilated(a).planned().size)
_WHOLE = "was scaled up to a whole one"

#: What is done to the sums, and before that to the windows.
SUMS: tuple[tuple[str, str, Change, Plan, str], ...] = (
    ("hanging_windows_rescaled", f"a window that hung over the end {_WHOLE}",
     _times(lambda a, w: _size_of(a) / _inside(a, w)), _as_it_is, "ceil_mode"),
    ("hanging_windows_moved_and_rescaled",
     "half of what hung over the end was put before the input, and partial windows scaled up",
     _times(lambda a, w: _size_of(a) / _inside(a, w)), _half_before, "ceil_mode"),
    ("hanging_windows_pushed_back", "a window that hung over the end was moved back until it fitted",
     _pushed_back, _as_it_is, "ceil_mode"),
    ("same_undilated_rest_zero",
     "SAME padded for the kernel without its dilation, and windows that no longer fitted were 0",
     _zero_beyond("SAME"), _same(_as_the_undilated), "dilations"),
    ("valid_undilated_rest_zero",
     "VALID counted the windows of the kernel without its dilation, and those beyond were 0",
     _zero_beyond("VALID"), _VALID, "dilations"),
    ("padded_windows_rescaled", f"a window that reached into padding {_WHOLE}",
     _times(lambda a, w: _size_of(a) / np.maximum(w.terms, 1)), _as_it_is, "kernel_shape"),
    ("window_mean", "the mean of a window was taken, padding included, not the sum",
     _times(lambda a, w: 1 / _size_of(a)), _as_it_is, "kernel_shape"),
    ("window_mean_without_padding", "the mean of a window without its padding was taken, not the sum",
     _times(lambda a, w: 1 / np.maximum(w.terms, 1)), _as_it_is, "kernel_shape"),
    ("empty_windows_are_nan",
     "a window that held nothing but padding was NaN, as the mean of nothing is",
     _where(lambda w, values: np.broadcast_to(w.terms == 0, w.shape)), _as_it_is, "pads"),
    ("padding_times_infinity", "padding was masked by a product, and infinity times 0 was NaN",
     _where(lambda w, values: (w.sums(np.isinf(values).astype(np.int64)) > 0) & (
         w.terms < prod(axis.kernel for axis in w.axes))), _as_it_is, "pads"),
    *((f"window_tail_of_{width}",
       f"what remained of a window after its last whole vector of {width} was left out",
       _kept(lambda size, width=width: size // width * width or size), _as_it_is, "kernel_shape")
      for width in WIDTHS),
    ("last_element_of_a_window", "the last element of each window was left out",
     _kept(lambda size: max(1, size - 1)), _as_it_is, "kernel_shape"),
)  # fmt: skip


def _sum_in(dtype: Any) -> Fault:
    """A running sum in `dtype`."""
    return lambda _, x, add_up, terms: add_up(x.astype(dtype)).astype(x.dtype)


def _terms_in(dtype: Any) -> Fault:
    return lambda original, x, add_up, terms: add_up(x.astype(dtype).astype(x.dtype))


# ── what is refused, and what is not ──────────────────────────────────────────────────────────


def _small(a: Asked) -> Asked:
    """A kernel that fits into any input; what is below 1 stays so."""
    return replace(a, kernel_shape=[min(1, size) for size in a.kernel_shape])


def _towards_zero(axis: Axis, right: AxisWindows) -> AxisWindows:
    size = int(axis.room / axis.stride) + 1
    return replace(right, kernel=axis.kernel, size=size if axis.room < 0 else axis.fitting)


def _none_fits(axis: Axis, right: AxisWindows) -> AxisWindows:
    return replace(right, kernel=axis.kernel, dilation=axis.dilation, size=max(0, axis.fitting))


def _cut_off(axis: Axis, right: AxisWindows) -> AxisWindows:
    length = axis.length + min(0, axis.end)
    return replace(right, begin=axis.begin, length=length, size=axis.fitting)


def _empty(axis: Axis, right: AxisWindows) -> AxisWindows:
    return replace(right, begin=right.size * right.stride + right.length + axis.kernel)


REFUSALS: tuple[tuple[str, str, Callable[[Axis], bool], str], ...] = (
    ("asymmetric_pads", "a pad unlike that at the other end was", lambda a: a.begin != a.end, "pads"),
    ("pads_of_the_kernel", "a pad as large as the kernel was",
     lambda a: max(a.begin, a.end) >= a.kernel, "pads"),
    ("kernels_of_1", "a kernel of a single element along an axis was",
     lambda a: a.kernel == 1, "kernel_shape"),
    ("ceil_mode_beside_same", "ceil_mode beside auto_pad was",
     lambda a: a.ceil and a.auto_pad != "NOTSET", "ceil_mode"),
    ("negative_same_padding", "SAME whose padding came out negative, and had to be 0 instead, was",
     lambda a: a.same and (_up(a.length, a.stride) - 1) * a.stride + a.width < a.length, "auto_pad"),
)  # fmt: skip

ACCEPTED: tuple[tuple[str, str, Fault, str], ...] = (
    ("negative_pads_cut", "a negative pad cut elements off", _accepting(
        lambda a: a.pads and replace(a, pads=[max(0, pad) for pad in a.pads]), _cut_off), "pads"),
    ("nothing_below_dilation_1", "a dilation below 1 was accepted, and windows were empty",
     _accepting(lambda a: a.dilations and replace(
         a, dilations=[max(1, dilation) for dilation in a.dilations]), _empty), "dilations"),
    ("size_cut_towards_zero", "a negative output size was cut towards zero, not rounded down",
     _accepting(_small, _towards_zero), "kernel_shape"),
    ("negative_size_is_empty", "an output size below 0 gave an empty output",
     _accepting(_small, _none_fits), "kernel_shape"),
    ("dilated_kernel_not_compared",
     "a dilated kernel larger than the input was accepted, and gave an empty output",
     _accepting(lambda a: replace(a, dilations=None) if min(a.dilations or [0]) > 0 else None,
                _none_fits), "dilations"),
)  # fmt: skip


def _faults() -> Iterator[Faulty]:
    for name, text, fault, needs in (*_geometry(), *ACCEPTED):
        yield Faulty(_NAME, name, text, fault, needs=needs)
    for name, text, change, plan, needs in SUMS:
        yield Faulty(_NAME, name, text, _adding_up(change, plan), needs=needs)
    for name, text, when, needs in REFUSALS:
        yield Faulty(
            _NAME, f"refuses_{name}", f"{text} not supported", _refusing(when), needs=needs
        )
    for dtype in (np.float16, ml_dtypes.bfloat16):
        called = np.dtype(dtype).name
        text = f"sums over windows were taken in {called}"
        yield Faulty("sums", f"window_sums_in_{called}", text, _sum_in(dtype))
    text = "what was added up over windows was rounded to float16 before"
    yield Faulty("sums", "window_terms_in_float16", text, _terms_in(np.float16))


FAULTS: tuple[Faulty, ...] = tuple(_faults())


# ── what is done to a node ────────────────────────────────────────────────────────────────────


def _windows(node: Node) -> tuple[Asked, Windows] | None:
    """What the formula asks for, and the windows that it gets; None where it asks for none."""
    seen: list[tuple[Asked, Windows]] = []

    def faulty(original: Any, *asked: Any) -> Windows:
        right = Asked(*asked).windows(original)
        seen.append((Asked(*asked), right))
        return right

    evaluate(node, faults={_NAME: faulty})
    return seen[0] if seen else None


def _padded(pad: Callable[[Array, Sequence[tuple[int, int]]], Array]) -> Callable[[Node], Any]:
    """The input is padded so before, with what it is padded by; the windows stay where they are."""

    def answer(node: Node) -> Sequence[Any]:
        right, found, x = node.right, _windows(node), node.inputs[0]
        if found is None or x is None or not x.size:
            return right
        widths = [(0, 0), (0, 0)]
        for axis, own in zip(found[0].axes, found[1].axes, strict=True):
            end = (own.size - 1) * own.stride + axis.width - axis.length - own.begin
            widths.append((own.begin, max(0, end) if axis.same else axis.end))
        total = prod(n + low + high for n, (low, high) in zip(x.shape, widths, strict=True))
        if not any(map(any, widths)) or total > _PADDED:
            return right
        stripped = node.with_attrs(pads=None, auto_pad=None)
        return stripped.with_input(0, pad(x, widths)).right

    return answer


def _filled(value: Callable[[np.dtype[Any]], float]) -> Callable[[Array, Any], Array]:
    return lambda x, widths: np.pad(x, widths, constant_values=x.dtype.type(value(x.dtype)))


def _with_what_follows(x: Array, count: int) -> Array:
    """Every row with so many elements more: those behind its end in memory."""
    memory = np.append(x.reshape(-1), np.zeros(count, x.dtype))
    ends = np.arange(x.shape[-1], x.size + 1, x.shape[-1])
    behind = memory[ends[:, None] + np.arange(count)]
    return np.concatenate([x, behind.reshape(*x.shape[:-1], count)], axis=-1)


def _reading_on(node: Node) -> Sequence[Any]:
    """The padding at the end of rows is not there."""
    right, x, pads = node.right, node.inputs[0], node.attrs.get("pads")
    if x is None or not isinstance(pads, tuple) or not pads[-1] or not x.size:
        return right
    wider = node.with_input(0, _with_what_follows(x, int(pads[-1])))
    return wider.with_attrs(pads=(*pads[:-1], 0)).right


def _reading_on_if_dilated(node: Node) -> Sequence[Any]:
    """The same in windows that would end within the row without their dilation."""
    (right,), (wrong,), found = node.right, _reading_on(node), _windows(node)
    if found is None or wrong is right:
        return (right,)
    axis = found[0].axes[-1]
    first = np.arange(right.shape[-1]) * axis.stride - axis.begin
    return [np.where((first >= 0) & (first + axis.kernel <= axis.length), wrong, right)]


def _without(name: str, when: Callable[[Node], bool]) -> Callable[[Node], Any]:
    return lambda node: (node.with_attrs(**{name: None}) if when(node) else node).right


def _tail_of_the_first_batch(node: Node) -> Sequence[Any]:
    (out,) = node.right
    tail = out.shape[1] // _BLOCK * _BLOCK
    if len(out) < 2 or tail in (0, out.shape[1]):
        return (out,)
    wrong = out.copy()
    wrong[1:, tail:] = out[0, tail:]
    return (wrong,)


def _channels_added_up(node: Node) -> Sequence[Any]:
    (out,) = node.right
    total = out.astype(np.float64).sum(axis=1, keepdims=True)
    return [np.broadcast_to(total, out.shape).astype(out.dtype)]


def _unbatched(node: Node) -> Sequence[Any]:
    x = node.inputs[0]
    if x is None or x.ndim != 2:
        return node.right
    return [node.with_input(0, x[None]).right[0][0]]


def _whole_extent(node: Node) -> Sequence[Any]:
    if "kernel_shape" in node.attrs:
        return node.right
    return node.with_attrs(kernel_shape=node.given[0].shape[2:]).right


def _refusing_ranks(low: int, high: int) -> Callable[[Node], Any]:
    def answer(node: Node) -> Sequence[Any]:
        right = node.right
        if low <= node.rank <= high:
            raise InvalidNode("not supported")
        return right

    return answer


def _lowest(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(dtype).min)


_ON_NODES: tuple[tuple[str, str, Callable[[Node], Any], str], ...] = (
    ("pads_ignored_beside_notset", "pads were ignored where auto_pad said NOTSET in so many letters",
     _without("pads", lambda node: "auto_pad" in node.attrs), "auto_pad"),
    ("pads_ignored_in_constants", "pads were ignored where the input was a constant of the model",
     _without("pads", lambda node: node.constant), "pads"),
    ("padding_is_one", "padding held ones", _padded(_filled(lambda dtype: 1)), "pads"),
    ("padding_is_minus_infinity", "padding held -inf, as for a maximum",
     _padded(_filled(lambda dtype: -np.inf)), "pads"),
    ("padding_is_the_lowest_number", "padding held the lowest finite number, as for a maximum",
     _padded(_filled(_lowest)), "pads"),
    ("padding_repeats_the_edge", "padding repeated the input's edge",
     _padded(lambda x, widths: np.pad(x, widths, "edge")), "pads"),
    ("padding_wraps_around", "padding held what is at the other end of the axis",
     _padded(lambda x, widths: np.pad(x, widths, "wrap")), "pads"),
    ("dilated_windows_read_into_the_next_row",
     "under a dilation, what follows in memory was read instead of the padding at a row's end",
     _reading_on_if_dilated, "dilations"),
    ("reads_into_the_next_row",
     "instead of the padding at the end of a row what follows in memory was read",
     _reading_on, "pads"),
    ("tail_channels_of_the_first_batch",
     f"channels left over by whole blocks of {_BLOCK} were those of the first batch in every",
     _tail_of_the_first_batch, "kernel_shape"),
    ("channels_added_up", "the results of all channels were added up",
     _channels_added_up, "kernel_shape"),
    ("rank_2_is_unbatched", "an input of two axes was taken for one without batches",
     _unbatched, "kernel_shape"),
    ("kernel_defaults_to_the_extent", "kernel_shape, left out, was the whole input",
     _whole_extent, "kernel_shape"),
    ("refuses_one_spatial_axis", "a single spatial axis was not supported",
     _refusing_ranks(3, 3), "kernel_shape"),
    ("refuses_four_spatial_axes", "a fourth spatial axis was not supported",
     _refusing_ranks(6, 99), "kernel_shape"),
)  # fmt: skip

MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(name, text, answer, _NAME, needs=needs) for name, text, answer, needs in _ON_NODES
)
