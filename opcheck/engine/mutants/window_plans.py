"""Faults of windows that are elsewhere, or of another number, than the attributes say."""

from dataclasses import replace
from functools import partial
from operator import call
from typing import Any

from opcheck.engine.axes import AxisWindows, Windows, up
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.mutants.windows import (
    FILTERED,
    WindowArguments,
    WindowChange,
    planned,
    window_faults,
)
from opcheck.grouping import attributes_of


def planning(change: WindowChange, asked: WindowArguments, right: Windows) -> Windows:
    """Fault: the windows along each axis are changed.

    `asked`, the arguments of the node, changes nothing. Raises InvalidNode for a changed number of
    windows below 0, MemoryError for an output that is too large.
    """
    return planned(right.outer, map(change, right.axes))


# ── the axes whose windows are changed ────────────────────────────────────────────────────────


def under_same(change: WindowChange, axis: AxisWindows) -> AxisWindows:
    """Return the windows, changed under SAME_UPPER and SAME_LOWER."""
    return change(axis) if axis.same else axis


def under_valid(change: WindowChange, axis: AxisWindows) -> AxisWindows:
    """Return the windows, changed under VALID."""
    return change(axis) if axis.auto_pad == "VALID" else axis


def where_it_hangs(change: WindowChange, axis: AxisWindows) -> AxisWindows:
    """Return the windows, changed where ceil_mode lets the last one hang over the end."""
    return change(axis) if axis.hangs else axis


# ── sizes and beginnings of other windows ─────────────────────────────────────────────────────


def fitting(axis: AxisWindows, padding: int) -> int:
    """Return the number of windows that fit into the input with this padding, in all.

    It is below 1 if none does.
    """
    return (axis.length + padding - axis.width) // axis.stride + 1


def planned_as(name: str, axis: AxisWindows, **changed: Any) -> AxisWindows:
    """Return windows whose member `name` is that of the windows for other arguments."""
    return replace(axis, **attributes_of(replace(axis, **changed).planned(), name))


#: There are as many windows as of the kernel without its dilation.
as_many_as_undilated = partial(planned_as, "size", dilation=1)
#: Windows begin where those of the kernel without its dilation do.
beginning_as_undilated = partial(planned_as, "begin", dilation=1)


# ── windows of any axis ───────────────────────────────────────────────────────────────────────


def last_missing(axis: AxisWindows) -> AxisWindows:
    """Mutant: there is one window less."""
    return replace(axis, size=max(0, axis.size - 1))


def one_late(axis: AxisWindows) -> AxisWindows:
    """Mutant: windows begin one element late."""
    return replace(axis, begin=axis.begin - 1)


def holding_undilated(axis: AxisWindows) -> AxisWindows:
    """Mutant: what windows hold is not dilated."""
    return replace(axis, dilation=1)


def beginning_by_stride(axis: AxisWindows) -> AxisWindows:
    """Mutant: the padding before the input is a multiple of the stride, but under SAME."""
    return axis if axis.same else replace(axis, begin=axis.begin // axis.stride * axis.stride)


def beginning_by_dilation(axis: AxisWindows) -> AxisWindows:
    """Mutant: the same where the dilation is the stride."""
    return beginning_by_stride(axis) if axis.stride == axis.dilation else axis


def beginning_at_0(axis: AxisWindows) -> AxisWindows:
    """Mutant: the first window begins with the input."""
    return replace(axis, begin=0)


# ── ceil_mode ─────────────────────────────────────────────────────────────────────────────────


def rounded_up_under_same(axis: AxisWindows) -> AxisWindows:
    """Mutant: ceil_mode rounds the number of windows up in the padding that SAME has."""
    if not (axis.ceil and axis.same):
        return axis
    padding = axis.padding(up(axis.length, axis.stride))
    return replace(axis, size=up(axis.length + padding - axis.width, axis.stride) + 1)


def always_one_more(axis: AxisWindows) -> AxisWindows:
    """Mutant: one window more than fit."""
    return replace(axis, size=axis.room // axis.stride + 2)


# ── SAME_UPPER, SAME_LOWER and VALID ──────────────────────────────────────────────────────────


def negative_padding(axis: AxisWindows) -> AxisWindows:
    """Mutant: padding can be negative."""
    return replace(axis, begin=int((axis.span - axis.length + axis.is_lower) / 2))


def padded_as_undilated(axis: AxisWindows) -> AxisWindows:
    """Mutant: padding is that of the kernel without its dilation, in which fewer windows fit."""
    padding = replace(axis, dilation=1).padding(axis.size)
    return replace(beginning_as_undilated(axis), size=max(0, fitting(axis, padding)))


def padded_symmetrically(axis: AxisWindows) -> AxisWindows:
    """Mutant: an odd padding has one element more, so that both ends have as many."""
    half = up(axis.padding(axis.size), 2)
    return replace(axis, begin=half, size=fitting(axis, 2 * half))


def padded_at_one_side(axis: AxisWindows) -> AxisWindows:
    """Mutant: all padding is at the end under SAME_UPPER, at the beginning under SAME_LOWER."""
    return replace(axis, begin=axis.padding(axis.size) * axis.is_lower)


def size_rounded_down(axis: AxisWindows) -> AxisWindows:
    """Mutant: the size of the input by the stride is rounded down."""
    return replace(axis, size=axis.length // axis.stride)


def size_of_the_input(axis: AxisWindows) -> AxisWindows:
    """Mutant: there are as many windows as elements, and padding for them."""
    begin = (axis.padding(axis.length) + axis.is_lower) // 2
    return replace(axis, size=axis.length, begin=begin)


def size_rounded_up(axis: AxisWindows) -> AxisWindows:
    """Mutant: a window may hang over the end."""
    return replace(axis, size=up(axis.room, axis.stride) + 1)


# ── windows of one axis ───────────────────────────────────────────────────────────────────────


def as_before(name: str, place: int, asked: WindowArguments, right: Windows) -> Windows:
    """Mutant: the axis at `place`, if there is one, has the member `name` of the one before."""
    axes = [*right.axes]
    if len(axes) > place:
        axes[place] = replace(axes[place], **attributes_of(axes[place - 1], name))
    return Windows(right.outer, tuple(axes))


def stride_of_a_cube_as_before(asked: WindowArguments, right: Windows) -> Windows:
    """Mutant: the third axis has the stride of the second, where the kernel is a cube."""
    if len({*asked.kernel_shape}) > 1:
        return right
    return as_before("stride", 2, asked, right)


def ceil_mode_of_the_last_axis(asked: WindowArguments, right: Windows) -> Windows:
    """Mutant: ceil_mode is 0 along all axes but the last."""
    others = replace(asked, ceil_mode=0).axes[:-1]
    return Windows(right.outer, (*others, right.axes[-1]))


PLANS = window_faults(
    planning,
    (
        "last_window_missing",
        "the last window along each axis was left out",
        last_missing,
        "kernel_shape",
    ),
    (
        "windows_one_late",
        "every window began one element late",
        one_late,
        "kernel_shape",
    ),
    (
        "dilation_ignored_in_the_size",
        "the output's size was computed without dilations",
        as_many_as_undilated,
        "dilations",
    ),
    (
        "dilation_ignored_in_the_window",
        "dilations counted for the output's size, but not for what a window holds",
        holding_undilated,
        "dilations",
    ),
    (
        "beginning_rounded_to_the_dilation",
        "where the dilation was the stride, the padding before the input was rounded down to it",
        beginning_by_dilation,
        "dilations",
    ),
    (
        "beginning_rounded_to_the_stride",
        "the padding before the input was rounded down to a multiple of the stride",
        beginning_by_stride,
        "pads",
    ),
    (
        "pads_in_the_size_only",
        "pads counted for the output's size, but the first window began in the input",
        beginning_at_0,
        "pads",
    ),
    (
        "ceil_mode_with_same",
        "ceil_mode added a window under SAME_UPPER and SAME_LOWER",
        rounded_up_under_same,
        "ceil_mode",
    ),
    (
        "ceil_mode_without_dilations",
        "ceil_mode counted the windows of the kernel without its dilation",
        partial(where_it_hangs, as_many_as_undilated),
        "ceil_mode",
    ),
    (
        "ceil_mode_without_pads",
        "ceil_mode counted windows without pads",
        partial(where_it_hangs, partial(planned_as, "size", begin=0, end=0)),
        "ceil_mode",
    ),
    (
        "ceil_mode_adds_one",
        "ceil_mode added a window even where nothing was left over",
        partial(where_it_hangs, always_one_more),
        "ceil_mode",
    ),
    (
        "same_negative_padding",
        "padding under SAME was negative where strides were larger than the window",
        partial(under_same, negative_padding),
        "auto_pad",
    ),
    (
        "same_undilated_size",
        "SAME padded for the kernel without its dilation, so that fewer windows fitted",
        partial(under_same, padded_as_undilated),
        "dilations",
    ),
    (
        "same_undilated_beginning",
        "SAME began its windows where those of the kernel without its dilation begin",
        partial(under_same, beginning_as_undilated),
        "dilations",
    ),
    (
        "same_symmetric",
        "an odd padding under SAME was made even, which left room for a window",
        partial(under_same, padded_symmetrically),
        "auto_pad",
    ),
    (
        "same_at_one_side",
        "all padding was put at the end under SAME_UPPER, at the beginning under SAME_LOWER",
        partial(under_same, padded_at_one_side),
        "auto_pad",
    ),
    (
        "same_at_the_end",
        "all padding under SAME was put at the end",
        partial(under_same, beginning_at_0),
        "auto_pad",
    ),
    (
        "same_padding_for_stride_1",
        "padding under SAME was computed for strides of 1",
        partial(under_same, partial(planned_as, "begin", stride=1)),
        "auto_pad",
    ),
    (
        "same_rounded_down",
        "the output's size under SAME was rounded down",
        partial(under_same, size_rounded_down),
        "auto_pad",
    ),
    (
        "same_size_of_the_input",
        "the output under SAME was as large as the input, whatever the strides",
        partial(under_same, size_of_the_input),
        "auto_pad",
    ),
    (
        "valid_rounded_up",
        "VALID counted a window that hung over the end",
        partial(under_valid, size_rounded_up),
        "auto_pad",
    ),
)

OF_ONE_AXIS = window_faults(
    call,
    *(
        (
            f"{what}_of_the_{which}_axis",
            f"the {which} spatial axis had the {words} of the one before",
            partial(as_before, what, place),
            *needs,
        )
        for what, words, which, place, *needs in (
            ("stride", "stride", "third", 2, "strides"),
            ("stride", "stride", "fourth", 3, "strides"),
            ("dilation", "dilation", "third", 2, "dilations"),
            ("kernel", "kernel size", "third", 2, "kernel_shape", FILTERED),
            ("begin", "padding before it", "third", 2, "pads"),
        )
    ),
    (
        "stride_of_the_third_axis_of_a_cube",
        "the third spatial axis had the stride of the one before where the kernel was a cube",
        stride_of_a_cube_as_before,
        "strides",
    ),
    (
        "ceil_mode_of_the_last_axis",
        "ceil_mode was obeyed along the last axis only",
        ceil_mode_of_the_last_axis,
        "ceil_mode",
    ),
)

FAULTS: tuple[Mutant, ...] = (*PLANS, *OF_ONE_AXIS)
