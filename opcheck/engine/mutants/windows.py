"""Faults of windows: attributes that are read wrongly, and windows that are elsewhere.

All pooling shares them. They keep to what is legal, but for those that accept what is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import prod
from typing import Any, TypeAlias

from opcheck.engine import windows as engine
from opcheck.engine.mutants.mutant import Mutant, MutantRow, faulty
from opcheck.engine.windows import AxisWindows, Windows
from opcheck.errors import InvalidNode
from opcheck.numbers import FaultFunction

#: The helper that is wrong, and as it is whatever takes its place.
NAME = "windows_of"
windows_of = engine.windows_of.__wrapped__  # type: ignore[attr-defined]


def _up(a: int, b: int) -> int:
    return -(-a // b)


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

    @property
    def axes(self) -> list[Axis]:
        """Window arguments along each spatial axis."""
        n = len(self.shape) - 2
        strides, dilations = self.strides or [1] * n, self.dilations or [1] * n
        pads = self.pads or [0] * 2 * n
        each = zip(self.shape[2:], self.kernel_shape, strides, dilations, pads[:n], pads[n:],
                   strict=True)  # fmt: skip
        ceil = bool(self.ceil_mode)
        return [Axis(d, k, s, dil, b, e, self.auto_pad, ceil) for d, k, s, dil, b, e in each]

    @property
    def size(self) -> int:
        """Number of elements of a window, padding included."""
        return prod(self.kernel_shape)

    def windows(self, original: Any = windows_of) -> Windows:
        """The windows that are asked for."""
        found = original(*(getattr(self, field.name) for field in fields(self)))
        assert isinstance(found, Windows)
        return found


@dataclass(frozen=True)
class Axis:
    """Window arguments along one axis of `length` elements."""

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
        """Largest distance that a window can move."""
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
        """Return the total padding of SAME for an output of this size."""
        return max(0, (size - 1) * self.stride + self.width - self.length)

    def split(self, padding: int) -> int:
        """The part of SAME's padding that comes before the input."""
        return padding // 2 if self.auto_pad == "SAME_UPPER" else padding - padding // 2

    @property
    def fitting(self) -> int:
        """Number of windows that fit without padding; less than 0 where none fits."""
        return (_up if self.hangs else int.__floordiv__)(self.room, self.stride) + 1

    def planned(self) -> AxisWindows:
        """The windows along the axis."""
        pads = (self.begin, self.end) if self.auto_pad == "NOTSET" else None
        shape, each = (1, 1, self.length), ([self.kernel], [self.stride], [self.dilation])
        return WindowArguments(shape, *each, pads, self.auto_pad, self.ceil).windows().axes[0]


#: What is read in place of what is asked for; None where nothing is misread.
ArgumentReading: TypeAlias = Callable[[WindowArguments], WindowArguments | None]
#: The windows along an axis, in place of the right ones.
WindowChange: TypeAlias = Callable[[Axis, AxisWindows], AxisWindows]
#: What is called where filters are a tensor, which has the kernel's sizes.
_FILTERED = "bilinear"


def right_or(fault: Callable[[Any, WindowArguments, Windows], Windows]) -> FaultFunction:
    """The windows that `fault` makes of the right ones, if they are not too many."""

    def faulty(original: Any, *asked: Any) -> Windows:
        right = WindowArguments(*asked).windows(original)
        try:
            return fault(original, WindowArguments(*asked), right)
        except MemoryError:
            return right

    return faulty


def planned_windows(asked: WindowArguments, right: Windows, plan: WindowChange) -> Windows:
    """The windows that `plan` makes of the right ones."""
    planned = tuple(map(plan, asked.axes, right.axes))
    if min(axis.size for axis in planned) < 0:
        raise InvalidNode("the output's size is negative")
    return Windows(right.outer, planned)


def _faults(make: Callable[[Any], FaultFunction], *rows: MutantRow) -> tuple[Mutant, ...]:
    """Mutants of which `make` makes the fault.

    A row has a name, what was wrong, what is done, the attribute without which nobody can do it,
    and a function: where it is called, nobody does.
    """
    return tuple(
        faulty(NAME, name, text, make(change), of_validity=make is _accepting,
               needs=needs, unless=tuple(unless))
        for name, text, change, needs, *unless in rows
    )  # fmt: skip


def _reading(read: ArgumentReading) -> FaultFunction:
    return right_or(lambda original, asked, right: (read(asked) or asked).windows(original))


def _planning(plan: WindowChange) -> FaultFunction:
    return right_or(lambda original, asked, right: planned_windows(asked, right, plan))


def _accepting(read_and_plan: tuple[ArgumentReading, WindowChange]) -> FaultFunction:
    """Nodes that are legal once they are reread, by a plan of the reread node."""
    read, plan = read_and_plan

    def fault(original: Any, *args: Any) -> Windows:
        asked = WindowArguments(*args)
        try:
            return asked.windows(original)
        except InvalidNode:
            return planned_windows(asked, (read(asked) or asked).windows(original), plan)

    return fault


def _refusing(when: Callable[[Axis], bool]) -> FaultFunction:
    """Nodes with such an axis are refused."""

    def fault(original: Any, asked: WindowArguments, right: Windows) -> Windows:
        if any(map(when, asked.axes)):
            raise InvalidNode("not supported")
        return right

    return right_or(fault)


def _pads(read: Callable[[Sequence[int], int], Sequence[int]]) -> ArgumentReading:
    """`pads` is read in another order; the second argument is the number of axes."""
    return lambda a: replace(a, pads=[*read([*a.pads], len(a.pads) // 2)]) if a.pads else None


def _from_the_last_axis(pads: Sequence[int], n: int) -> Sequence[int]:
    return [*pads[:n][::-1], *pads[n:][::-1]]


def _all_reversed(a: WindowArguments) -> WindowArguments:
    """Every list is read from the last axis to the first."""
    names = ("kernel_shape", "strides", "dilations")
    lists = {name: getattr(a, name)[::-1] for name in names if getattr(a, name)}
    return replace(_pads(_from_the_last_axis)(a) or a, **lists)


def _two_axes(a: WindowArguments) -> WindowArguments:
    """The first two axes as they are, the others not pooled."""
    rest = [1] * (len(a.kernel_shape) - 2)
    strides = a.strides and [*a.strides[:2], *rest]
    return replace(a, kernel_shape=[*a.kernel_shape[:2], *rest], strides=strides)


def _for_each(old: str, new: str) -> ArgumentReading:
    return lambda a: replace(a, auto_pad=a.auto_pad.replace(old, new))


_OTHER = {"SAME_UPPER": "SAME_LOWER", "SAME_LOWER": "SAME_UPPER"}

READINGS = _faults(
    _reading,
    ("strides_default_to_the_kernel", "strides, left out, were taken from kernel_shape",
     lambda a: replace(a, strides=a.strides or a.kernel_shape), "strides"),
    ("strides_are_the_kernel", "windows stood side by side, whatever strides said",
     lambda a: replace(a, strides=a.kernel_shape), "strides"),
    ("strides_at_most_the_kernel", "a stride larger than the kernel was taken for its size",
     lambda a: replace(a, strides=a.strides and [*map(min, a.strides, a.kernel_shape)]), "strides"),
    ("strides_are_dilations_too", "dilations, left out, were taken from strides",
     lambda a: replace(a, dilations=a.dilations or a.strides), "dilations"),
    ("width_before_height", "every list was read from the last axis to the first",
     _all_reversed, "kernel_shape"),
    ("third_axis_not_pooled", "only the first two spatial axes were pooled",
     _two_axes, "kernel_shape", _FILTERED),
    ("pads_interleaved", "pads were read as x1_begin, x1_end, x2_begin, …",
     _pads(lambda pads, n: [*pads[::2], *pads[1::2]]), "pads"),
    ("pads_interleaved_from_the_last_axis", "pads were read as xn_begin, xn_end, …, x1_end",
     _pads(lambda pads, n: [*pads[::2][::-1], *pads[1::2][::-1]]), "pads"),
    ("pads_from_the_last_axis", "pads were read as xn_begin, …, x1_begin, xn_end, …, x1_end",
     _pads(_from_the_last_axis), "pads"),
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


def under_same(plan: WindowChange) -> WindowChange:
    """Another plan under SAME."""
    return lambda axis, right: plan(axis, right) if axis.same else right


def sized(when: Callable[[Axis], bool], size: Callable[[Axis], int]) -> WindowChange:
    """Along some axes there are so many windows, which begin where they should."""
    return lambda axis, right: replace(right, size=size(axis)) if when(axis) else right


def undilated(axis: Axis) -> Axis:
    """The axis without its dilation."""
    return replace(axis, dilation=1)


def fitted(axis: Axis, padding: int) -> int:
    """Return the number of windows that fit into the input with this padding."""
    return (axis.length + padding - axis.width) // axis.stride + 1


def as_the_undilated(axis: Axis, right: AxisWindows) -> AxisWindows:
    """The windows begin where those of the kernel without its dilation do."""
    return replace(right, begin=undilated(axis).planned().begin)


def _whole_strides(axis: Axis, right: AxisWindows) -> AxisWindows:
    """The padding before the input is made a multiple of the stride."""
    return right if axis.same else replace(right, begin=axis.begin // axis.stride * axis.stride)


PLANS = _faults(
    _planning,
    ("last_window_missing", "the last window along each axis was left out",
     lambda axis, right: replace(right, size=max(0, right.size - 1)), "kernel_shape"),
    ("windows_one_late", "every window began one element late",
     lambda axis, right: replace(right, begin=right.begin - 1), "kernel_shape"),
    ("dilation_ignored_in_the_size", "the output's size was computed as if dilations were 1",
     lambda axis, right: replace(right, size=undilated(axis).planned().size), "dilations"),
    ("dilation_ignored_in_the_window",
     "dilations counted for the output's size, but not for what a window holds",
     lambda axis, right: replace(right, dilation=1), "dilations"),
    ("beginning_rounded_to_the_dilation",
     "where the dilation was the stride, the padding before the input was rounded down to it",
     lambda axis, right: _whole_strides(axis, right) if axis.stride == axis.dilation else right,
     "dilations"),
    ("beginning_rounded_to_the_stride",
     "the padding before the input was rounded down to a multiple of the stride",
     _whole_strides, "pads"),
    ("pads_in_the_size_only",
     "pads counted for the output's size, but the first window began in the input",
     lambda axis, right: replace(right, begin=0), "pads"),
    ("ceil_mode_with_same", "ceil_mode added a window under SAME_UPPER and SAME_LOWER",
     sized(lambda a: a.ceil and a.same, lambda a: _up(
         a.length + a.padding(_up(a.length, a.stride)) - a.width, a.stride) + 1), "ceil_mode"),
    ("ceil_mode_without_dilations",
     "ceil_mode counted the windows of the kernel without its dilation",
     sized(lambda a: a.hangs, lambda a: undilated(a).planned().size), "ceil_mode"),
    ("ceil_mode_without_pads", "ceil_mode counted windows as if there were no pads",
     sized(lambda a: a.hangs, lambda a: replace(a, begin=0, end=0).planned().size), "ceil_mode"),
    ("ceil_mode_adds_one", "ceil_mode added a window even where nothing was left over",
     sized(lambda a: a.hangs, lambda a: a.room // a.stride + 2), "ceil_mode"),
    ("same_negative_padding",
     "padding under SAME was negative where strides were larger than the window",
     under_same(lambda a, right: replace(right, begin=int(
         ((right.size - 1) * a.stride + a.width - a.length + (a.auto_pad == "SAME_LOWER")) / 2))),
     "auto_pad"),
    ("same_undilated_size",
     "SAME padded for the kernel without its dilation, so that fewer windows fitted",
     under_same(lambda a, right: replace(
         as_the_undilated(a, right),
         size=max(0, fitted(a, undilated(a).padding(right.size))))), "dilations"),
    ("same_undilated_beginning",
     "SAME began its windows where those of the kernel without its dilation begin",
     under_same(as_the_undilated), "dilations"),
    ("same_symmetric", "an odd padding under SAME was made even, which left room for a window",
     under_same(lambda a, right: replace(
         right, begin=(half := _up(a.padding(right.size), 2)), size=fitted(a, 2 * half))),
     "auto_pad"),
    ("same_at_one_side",
     "all padding was put at the end under SAME_UPPER, at the beginning under SAME_LOWER",
     under_same(lambda a, right: replace(
         right, begin=a.padding(right.size) * (a.auto_pad == "SAME_LOWER"))), "auto_pad"),
    ("same_at_the_end", "all padding under SAME was put at the end",
     under_same(lambda a, right: replace(right, begin=0)), "auto_pad"),
    ("same_padding_for_stride_1", "padding under SAME was computed as if strides were 1",
     under_same(lambda a, right: replace(right, begin=replace(a, stride=1).planned().begin)),
     "auto_pad"),
    ("same_rounded_down", "the output's size under SAME was rounded down",
     sized(lambda a: a.same, lambda a: a.length // a.stride), "auto_pad"),
    ("same_size_of_the_input",
     "the output under SAME was as large as the input, whatever the strides",
     under_same(lambda a, right: replace(right, size=a.length, begin=a.split(a.padding(a.length)))),
     "auto_pad"),
    ("valid_rounded_up", "VALID counted a window that hung over the end",
     sized(lambda a: a.auto_pad == "VALID", lambda a: _up(a.room, a.stride) + 1), "auto_pad"),
)  # fmt: skip


def _as_before(
    name: str, place: int, cube: bool, _: Any, asked: WindowArguments, right: Windows
) -> Windows:
    """The axis at a place, of a cube if asked for, has what the one before it has; not its size."""
    axes = [*right.axes]
    if len(axes) <= place or (cube and len(set(asked.kernel_shape)) > 1):
        return right
    axes[place] = replace(axes[place], **{name: getattr(axes[place - 1], name)})
    return Windows(right.outer, tuple(axes))


OF_ONE_AXIS = _faults(
    right_or,
    *((f"{what}_of_the_{which}_axis", f"the {which} spatial axis had the {words} of the one before",
       partial(_as_before, what, place, False), *needs) for what, words, which, place, *needs in (
           ("stride", "stride", "third", 2, "strides"),
           ("stride", "stride", "fourth", 3, "strides"),
           ("dilation", "dilation", "third", 2, "dilations"),
           ("kernel", "kernel size", "third", 2, "kernel_shape", _FILTERED),
           ("begin", "padding before it", "third", 2, "pads"))),
    ("stride_of_the_third_axis_of_a_cube",
     "the third spatial axis had the stride of the one before where the kernel was a cube",
     partial(_as_before, "stride", 2, True), "strides"),
    ("ceil_mode_of_the_last_axis", "ceil_mode was obeyed along the last axis only",
     lambda original, asked, right: Windows(right.outer, (
         *replace(asked, ceil_mode=0).windows(original).axes[:-1], right.axes[-1])), "ceil_mode"),
)  # fmt: skip


def _small(a: WindowArguments) -> WindowArguments:
    """A kernel that fits into any input; what is below 1 stays so."""
    return replace(a, kernel_shape=[min(1, size) for size in a.kernel_shape])


def _none_fits(axis: Axis, right: AxisWindows) -> AxisWindows:
    return replace(right, kernel=axis.kernel, dilation=axis.dilation, size=max(0, axis.fitting))


REFUSALS = _faults(
    _refusing,
    ("refuses_asymmetric_pads", "a pad unlike that at the other end was not supported",
     lambda a: a.begin != a.end, "pads"),
    ("refuses_pads_of_the_kernel", "a pad as large as the kernel was not supported",
     lambda a: max(a.begin, a.end) >= a.kernel, "pads"),
    ("refuses_kernels_of_1", "a kernel of a single element along an axis was not supported",
     lambda a: a.kernel == 1, "kernel_shape"),
    ("refuses_ceil_mode_beside_same", "ceil_mode beside auto_pad was not supported",
     lambda a: a.ceil and a.auto_pad != "NOTSET", "ceil_mode"),
    ("refuses_negative_same_padding",
     "SAME whose padding came out negative, and had to be 0 instead, was not supported",
     lambda a: a.same and (_up(a.length, a.stride) - 1) * a.stride + a.width < a.length,
     "auto_pad"),
)  # fmt: skip

#: What is reread, and the windows that there are then.
ACCEPTED = _faults(
    _accepting,
    ("negative_pads_cut", "a negative pad cut elements off",
     (lambda a: replace(a, pads=[max(0, pad) for pad in a.pads or ()]),
      lambda axis, right: replace(
          right, begin=axis.begin, length=axis.length + min(0, axis.end), size=axis.fitting)),
     "pads"),
    ("nothing_below_dilation_1", "a dilation below 1 was accepted, and windows were empty",
     (lambda a: replace(a, dilations=[max(1, d) for d in a.dilations or ()]),
      lambda axis, right: replace(
          right, begin=right.size * right.stride + right.length + axis.kernel)), "dilations"),
    ("size_cut_towards_zero", "a negative output size was cut towards zero, not rounded down",
     (_small, lambda axis, right: replace(
         right, kernel=axis.kernel,
         size=int(axis.room / axis.stride) + 1 if axis.room < 0 else axis.fitting)),
     "kernel_shape"),
    ("negative_size_is_empty", "an output size below 0 gave an empty output",
     (_small, _none_fits), "kernel_shape"),
    ("dilated_kernel_not_compared",
     "a dilated kernel larger than the input was accepted, and gave an empty output",
     (lambda a: replace(a, dilations=[min(1, d) for d in a.dilations or ()]), _none_fits),
     "dilations"),
)  # fmt: skip

FAULTS: tuple[Mutant, ...] = (*READINGS, *PLANS, *OF_ONE_AXIS, *ACCEPTED, *REFUSALS)
