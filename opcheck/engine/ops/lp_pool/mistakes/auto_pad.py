"""LpPool with auto_pad misread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from opcheck.engine.bounds import Places
from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.lp_pool.axes import Axis, planned, taps, towards_zero, up
from opcheck.engine.ops.lp_pool.mistakes.making import (
    NO_DILATIONS,
    VERSIONS,
    sized,
    told,
    undilated,
)
from opcheck.engine.ops.lp_pool.steps import Steps
from opcheck.engine.windows import AxisWindows

#: Why what strides alone show cannot be held against anybody in some versions.
_OPEN_STRIDES = dict.fromkeys(
    ("1", "2"), "only strides show it, and what SAME makes of those is open before version 11"
)
_OTHER = {"SAME_UPPER": "SAME_LOWER", "SAME_LOWER": "SAME_UPPER"}


def _same(plan: Callable[[Axis, AxisWindows], AxisWindows]) -> Steps:
    """Another plan under SAME, from the axis and the right plan."""
    return Steps(plan=lambda axis: plan(axis, planned(axis)) if axis.same else planned(axis))


def _begun(begin: Callable[[Axis, int], int]) -> Steps:
    """So much padding at the beginning under SAME, from the axis and all padding."""
    return _same(lambda axis, plan: replace(plan, begin=begin(axis, axis.padding(plan.size))))


def _fitted(axis: Axis, padding: int) -> int:
    """How many windows fit into the input with so much padding."""
    return (axis.length + padding - axis.width) // axis.stride + 1


def _symmetric(axis: Axis, plan: AxisWindows) -> AxisWindows:
    half = up(axis.padding(plan.size), 2)
    return replace(plan, begin=half, size=_fitted(axis, 2 * half))


def _unclamped(axis: Axis, plan: AxisWindows) -> AxisWindows:
    padding = (plan.size - 1) * axis.stride + axis.width - axis.length
    odd_one = 0 if axis.auto_pad == "SAME_UPPER" else 1
    return replace(plan, begin=towards_zero(padding + odd_one, 2))


def _for_the_undilated(axis: Axis, plan: AxisWindows) -> AxisWindows:
    return replace(plan, begin=planned(undilated(axis)).begin)


def _as_many_as_fit(axis: Axis, plan: AxisWindows) -> AxisWindows:
    size = _fitted(axis, undilated(axis).padding(plan.size))
    return replace(_for_the_undilated(axis, plan), size=max(0, size))


def _zero_beyond(auto_pad: str) -> Callable[[Axis, AxisWindows], Places]:
    """Windows are empty that do not fit into the padding of the undilated kernel."""

    def held(axis: Axis, plan: AxisWindows) -> Places:
        positions = taps(axis, plan)
        if not axis.auto_pad.startswith(auto_pad):
            return positions
        padding = undilated(axis).padding(plan.size) if axis.same else 0
        fits = positions[:, -1:] + plan.begin < axis.length + padding
        return np.where(fits, positions, -1)

    return held


_SAME: tuple[Mistake, ...] = (
    Mistake(
        "same_negative_padding",
        "padding under SAME was negative where strides were larger than the window",
        _same(_unclamped),
        _OPEN_STRIDES,
    ),
    Mistake(
        "same_undilated_rest_zero",
        "SAME padded for the kernel without its dilation, and windows that no longer fitted were 0",
        replace(_same(_for_the_undilated), taps=_zero_beyond("SAME")),
        NO_DILATIONS,
    ),
    Mistake(
        "same_undilated_size",
        "SAME padded for the kernel without its dilation, so that fewer windows fitted",
        _same(_as_many_as_fit),
        NO_DILATIONS,
    ),
    Mistake(
        "same_undilated_beginning",
        "SAME began its windows where those of the kernel without its dilation begin",
        _same(_for_the_undilated),
        NO_DILATIONS,
    ),
    Mistake(
        "same_upper_is_lower",
        "SAME_UPPER put the odd one of padding at the beginning",
        told(auto_pad=lambda axis: axis.auto_pad.replace("UPPER", "LOWER")),
    ),
    Mistake(
        "same_lower_is_upper",
        "SAME_LOWER put the odd one of padding at the end",
        told(auto_pad=lambda axis: axis.auto_pad.replace("LOWER", "UPPER")),
    ),
    Mistake(
        "same_exchanged",
        "SAME_UPPER and SAME_LOWER were exchanged",
        told(auto_pad=lambda axis: _OTHER.get(axis.auto_pad, axis.auto_pad)),
    ),
    Mistake(
        "same_symmetric",
        "an odd padding under SAME was made even, which left room for another window",
        _same(_symmetric),
    ),
    Mistake(
        "same_at_one_side",
        "all padding was put at the end under SAME_UPPER, at the beginning under SAME_LOWER",
        _begun(lambda axis, padding: padding * (axis.auto_pad == "SAME_LOWER")),
    ),
    Mistake(
        "same_at_the_end",
        "all padding under SAME was put at the end",
        _begun(lambda axis, padding: 0),
    ),
    Mistake(
        "same_padding_for_stride_1",
        "padding under SAME was computed as if strides were 1",
        _same(lambda axis, plan: replace(plan, begin=planned(replace(axis, stride=1)).begin)),
        _OPEN_STRIDES,
    ),
    Mistake(
        "same_rounded_down",
        "the output's size under SAME was rounded down",
        sized(lambda axis: axis.same, lambda axis: axis.length // axis.stride),
        _OPEN_STRIDES,
    ),
    Mistake(
        "same_size_of_the_input",
        "the output under SAME was as large as the input, whatever the strides",
        _same(lambda axis, plan: axis.windows(axis.length, axis.split(axis.padding(axis.length)))),
        dict.fromkeys(("1", "2"), "the text may be read to want just that: cases leave it open"),
    ),
    Mistake(
        "same_ignored",
        "SAME_UPPER and SAME_LOWER meant no padding",
        told(auto_pad=lambda axis: "NOTSET" if axis.same else axis.auto_pad),
    ),
)

_VALID: tuple[Mistake, ...] = (
    Mistake(
        "valid_undilated_rest_zero",
        "VALID counted the windows of the kernel without its dilation, and those beyond were 0",
        replace(
            sized(lambda axis: axis.auto_pad == "VALID", lambda a: planned(undilated(a)).size),
            taps=_zero_beyond("VALID"),
        ),
        NO_DILATIONS,
    ),
    Mistake(
        "valid_rounded_up",
        "VALID counted a window that hung over the end",
        sized(lambda axis: axis.auto_pad == "VALID", lambda axis: up(axis.room, axis.stride) + 1),
    ),
    Mistake(
        "valid_is_same",
        "VALID was taken for SAME_UPPER",
        told(auto_pad=lambda axis: axis.auto_pad.replace("VALID", "SAME_UPPER")),
    ),
    Mistake(
        "valid_is_notset",
        "VALID was taken for NOTSET",
        told(auto_pad=lambda axis: axis.auto_pad.replace("VALID", "NOTSET")),
        dict.fromkeys(
            VERSIONS,
            "⌈(D − w + 1)/s⌉ is ⌊(D − w)/s⌋ + 1, pads may not stand beside auto_pad, and with "
            "ceil_mode it is open whether VALID rounds up",
        ),
    ),
)

MISTAKES: tuple[Mistake, ...] = (*_SAME, *_VALID)
