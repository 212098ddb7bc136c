"""LpPool with sizes rounded the wrong way, and windows that hang over the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from opcheck.engine.bounds import Floats, Places
from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.lp_pool.axes import Axis, planned, taps, up
from opcheck.engine.ops.lp_pool.mistakes.making import NO_CEIL_MODE, shared, sized, told
from opcheck.engine.ops.lp_pool.steps import Steps, Windows
from opcheck.engine.windows import AxisWindows


def _as_whole(w: Windows) -> Floats:
    """What makes a window that hangs over the end count as a whole one."""
    return np.asarray(w.size / np.maximum(w.inside, 1))


def _half_before(axes: list[Axis]) -> list[Axis]:
    """Half of what hangs over is put before the input."""
    moved = []
    for axis in axes:
        over = (planned(axis).size - 1) * axis.stride - axis.room if axis.hangs else 0
        half = max(0, over) // 2
        moved.append(replace(axis, begin=axis.begin + half, end=axis.end - half))
    return moved


def _pushed_back(axis: Axis, plan: AxisWindows) -> Places:
    """A window that hangs over the end begins earlier, if not before all padding."""
    positions = taps(axis, plan)
    last = max(axis.length + axis.end - axis.width, -axis.begin)
    return positions - np.maximum(0, positions[:, :1] - last) if axis.hangs else positions


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "ceil_mode_with_same",
        "ceil_mode added a window under SAME_UPPER and SAME_LOWER",
        sized(
            lambda axis: axis.ceil and axis.same,
            lambda axis: (
                up(axis.length + axis.padding(planned(axis).size) - axis.width, axis.stride) + 1
            ),
        ),
        NO_CEIL_MODE,
    ),
    Mistake(
        "hanging_windows_rescaled",
        "a window that hung over the end was scaled up to a whole one",
        shared(_as_whole),
        NO_CEIL_MODE,
    ),
    Mistake(
        "hanging_windows_moved_and_rescaled",
        "half of what hung over the end was put before the input, and partial windows scaled up",
        replace(shared(_as_whole), axes=_half_before),
        NO_CEIL_MODE,
    ),
    Mistake(
        "hanging_windows_pushed_back",
        "a window that hung over the end was moved back until it fitted",
        Steps(taps=_pushed_back),
        NO_CEIL_MODE,
    ),
    Mistake(
        "ceil_mode_without_dilations",
        "ceil_mode counted the windows of the kernel without its dilation",
        sized(lambda axis: axis.hangs, lambda axis: planned(replace(axis, dilation=1)).size),
        NO_CEIL_MODE,
    ),
    Mistake(
        "ceil_mode_without_pads",
        "ceil_mode counted windows as if there were no pads",
        sized(lambda axis: axis.hangs, lambda axis: planned(replace(axis, begin=0, end=0)).size),
        NO_CEIL_MODE,
    ),
    Mistake(
        "ceil_mode_of_the_last_axis",
        "ceil_mode was obeyed along the last axis only",
        Steps(axes=lambda axes: [*(replace(a, ceil=False) for a in axes[:-1]), axes[-1]]),
        NO_CEIL_MODE,
    ),
    Mistake(
        "ceil_mode_adds_one",
        "ceil_mode added a window even where nothing was left over",
        sized(lambda axis: axis.hangs, lambda axis: axis.room // axis.stride + 2),
        NO_CEIL_MODE,
    ),
    Mistake(
        "ceil_mode_ignored", "ceil_mode was ignored", told(ceil=lambda axis: False), NO_CEIL_MODE
    ),
    Mistake(
        "always_rounded_up",
        "sizes were rounded up whatever ceil_mode said",
        told(ceil=lambda axis: True),
    ),
)
