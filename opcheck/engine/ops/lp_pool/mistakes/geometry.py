"""LpPool with the wrong elements in a window: kernel, strides and dilations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.lp_pool.axes import Axis, planned, taps
from opcheck.engine.ops.lp_pool.mistakes.making import (
    NO_DILATIONS,
    as_before,
    default,
    told,
    undilated,
)
from opcheck.engine.ops.lp_pool.steps import Steps
from opcheck.engine.windows import AxisWindows


def _exchanged(*names: str) -> Steps:
    """The axes get each other's attributes of these names."""
    return Steps(
        axes=lambda axes: [
            replace(axis, **{name: getattr(other, name) for name in names})
            for axis, other in zip(axes, axes[::-1], strict=True)
        ]
    )


def _first(name: str) -> Steps:
    """All axes get the first's attribute of this name."""
    return Steps(
        axes=lambda axes: [replace(axis, **{name: getattr(axes[0], name)}) for axis in axes]
    )


def _fewer(axes: list[Axis]) -> list[Axis]:
    """The first two axes as they are, the others not pooled."""
    return [*axes[:2], *(replace(axis, kernel=1, stride=1) for axis in axes[2:])]


def _cube(plans: list[AxisWindows]) -> bool:
    return len({plan.kernel for plan in plans}) == 1


def _rounded_to_the_stride(when: Callable[[Axis], bool]) -> Steps:
    """The padding before the input is made a multiple of the stride."""
    return Steps(
        plan=lambda axis: (
            replace(planned(axis), begin=axis.begin // axis.stride * axis.stride)
            if when(axis) and not axis.same
            else planned(axis)
        )
    )


DILATIONS: tuple[Mistake, ...] = (
    Mistake(
        "dilation_axes_exchanged",
        "dilations were read from the last axis to the first",
        _exchanged("dilation"),
        NO_DILATIONS,
    ),
    Mistake(
        "first_dilation_for_all",
        "the first of the dilations served every axis",
        _first("dilation"),
        NO_DILATIONS,
    ),
    Mistake(
        "second_dilation_for_the_third",
        "a third spatial axis had the dilation of the second",
        as_before("dilation", 2),
        NO_DILATIONS,
    ),
    Mistake(
        "third_dilation_ignored",
        "the dilation of a third spatial axis was taken as 1",
        Steps(axes=lambda axes: [*axes[:2], *map(undilated, axes[2:])]),
        NO_DILATIONS,
    ),
    Mistake(
        "dilation_ignored_in_the_size",
        "the output's size was computed as if dilations were 1",
        Steps(plan=lambda axis: replace(planned(axis), size=planned(undilated(axis)).size)),
        NO_DILATIONS,
    ),
    Mistake(
        "dilation_ignored_in_the_window",
        "dilations counted for the output's size, but not for what a window holds",
        Steps(taps=lambda axis, plan: taps(axis, replace(plan, dilation=1))),
        NO_DILATIONS,
    ),
    Mistake(
        "dilations_ignored", "dilations were taken as 1", told(dilation=lambda a: 1), NO_DILATIONS
    ),
    Mistake(
        "dilations_are_gaps",
        "a dilation of d left out d elements between two, not d − 1",
        Steps(
            attrs=lambda attrs, node: (
                {**attrs, "dilations": [d + 1 for d in attrs["dilations"]]}
                if "dilations" in attrs
                else attrs
            )
        ),
        NO_DILATIONS,
    ),
)

STRIDES: tuple[Mistake, ...] = (
    Mistake(
        "second_stride_for_the_third_of_a_cube",
        "a third spatial axis had the stride of the second where the kernel was a cube",
        as_before("stride", 2, _cube),
    ),
    Mistake(
        "second_stride_for_the_third",
        "a third spatial axis had the stride of the second",
        as_before("stride", 2),
    ),
    Mistake(
        "third_stride_for_the_fourth",
        "a fourth spatial axis had the stride of the third",
        as_before("stride", 3),
    ),
    Mistake(
        "beginning_rounded_to_the_dilation",
        "where the dilation was the stride, the padding before the input was rounded down to it",
        _rounded_to_the_stride(lambda axis: axis.stride == axis.dilation),
        NO_DILATIONS,
    ),
    Mistake(
        "beginning_rounded_to_the_stride",
        "the padding before the input was rounded down to a multiple of the stride",
        _rounded_to_the_stride(lambda axis: True),
    ),
    Mistake(
        "strides_default_to_the_kernel",
        "strides, left out, were taken from kernel_shape",
        default("strides", lambda attrs: attrs["kernel_shape"]),
    ),
    Mistake(
        "strides_at_most_the_kernel",
        "a stride larger than the kernel was taken for the kernel's size",
        told(stride=lambda axis: min(axis.stride, axis.kernel)),
    ),
    Mistake(
        "strides_are_dilations_too",
        "dilations, left out, were taken from strides",
        default("dilations", lambda attrs: attrs.get("strides", [1] * len(attrs["kernel_shape"]))),
    ),
    Mistake(
        "stride_axes_exchanged",
        "strides were read from the last axis to the first",
        _exchanged("stride"),
    ),
    Mistake("first_stride_for_all", "the first of the strides served every axis", _first("stride")),
    Mistake("strides_ignored", "strides were taken as 1", told(stride=lambda axis: 1)),
    Mistake(
        "strides_are_the_kernel",
        "windows stood side by side, whatever strides said",
        told(stride=lambda axis: axis.kernel),
    ),
)

KERNELS: tuple[Mistake, ...] = (
    Mistake(
        "second_kernel_size_for_the_third",
        "a third spatial axis had the kernel size of the second",
        as_before("kernel", 2),
    ),
    Mistake(
        "third_axis_not_pooled",
        "only the first two spatial axes were pooled",
        Steps(axes=_fewer),
    ),
    Mistake(
        "kernel_axes_exchanged",
        "kernel_shape was read from the last axis to the first",
        _exchanged("kernel"),
    ),
    Mistake(
        "first_kernel_size_for_all",
        "the first of the kernel's sizes served every axis",
        _first("kernel"),
    ),
    Mistake(
        "width_before_height",
        "every list was read from the last axis to the first",
        _exchanged("kernel", "stride", "dilation", "begin", "end"),
    ),
    Mistake(
        "last_window_missing",
        "the last window along each axis was left out",
        Steps(plan=lambda axis: replace(planned(axis), size=max(0, planned(axis).size - 1))),
    ),
    Mistake(
        "windows_one_late",
        "every window began one element late",
        Steps(plan=lambda axis: replace(planned(axis), begin=planned(axis).begin - 1)),
    ),
)

MISTAKES: tuple[Mistake, ...] = (*DILATIONS, *STRIDES, *KERNELS)
