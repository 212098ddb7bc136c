"""Faults of windows: attributes that are read wrongly, windows refused, and windows accepted.

All pooling shares them. They refuse illegal nodes, but for those that accept some. Windows that are
elsewhere are in `window_plans`, wrong sums over windows in `window_sums`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

from opcheck.engine import axes as engine
from opcheck.engine.axes import OTHER_SAME, AxisWindows, Windows, check_size, up
from opcheck.engine.mutants.mutant import Mutant, MutantRow, faulty
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject

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
    def axes(self) -> tuple[AxisWindows, ...]:
        """The windows along each spatial axis, which need not be legal."""
        n = len(self.shape) - 2
        ones = [1] * n
        pads = self.pads or [0] * 2 * n
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
#: `pads` in another order, from [x1_begin, …, xn_begin, x1_end, …, xn_end] and n.
PadsReading: TypeAlias = Callable[[Sequence[int], int], Sequence[int]]
#: The windows along an axis, in place of the right ones.
WindowChange: TypeAlias = Callable[[AxisWindows], AxisWindows]
#: Wrong windows, from the arguments and the right windows.
WindowFault: TypeAlias = Callable[[WindowArguments, Windows], Windows]
#: The function called where filters are a tensor, which has the kernel's sizes.
FILTERED = "bilinear"


def of_windows(fault: WindowFault, original: Any, *arguments: Any, **named: Any) -> Windows:
    """Return the windows that `fault` makes of the right ones, or these if they are too many.

    Raises InvalidNode for arguments that `windows_of` refuses or `fault` does; MemoryError for
    right windows that are too many.
    """
    asked = WindowArguments(*arguments, **named)
    right = windows_of(**vars(asked))
    try:
        return fault(asked, right)
    except MemoryError:
        return right


def planned(outer: tuple[int, int], axes: Iterable[AxisWindows]) -> Windows:
    """Return windows along these axes.

    outer: N and C. Raises InvalidNode for a negative size of the output, MemoryError for an output
    that is too large.
    """
    windows = Windows(outer, tuple(axes))
    reject(min(windows.shape[2:]) < 0, "the output's size is negative")
    check_size(windows.shape)
    return windows


def window_faults(fault: Callable[..., Windows], *rows: MutantRow) -> tuple[Mutant, ...]:
    """Return mutants with a `WindowFault` that takes a row's change first.

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


def accepting(
    legal: ArgumentReading,
    plan: Callable[[AxisWindows, AxisWindows], AxisWindows],
    original: Any,
    *given: Any,
    **named: Any,
) -> Windows:
    """Accept nodes that are legal once reread; `plan` takes the given axes and the legal ones.

    given, named: the arguments of `windows_of`. Raises InvalidNode where the node is not legal even
    when `legal` has reread it, or its windows would have a negative size; MemoryError for an output
    that is too large.
    """
    asked = WindowArguments(*given, **named)
    try:
        return windows_of(**vars(asked))
    except InvalidNode:
        reread = windows_of(**vars(legal(asked)))
        return planned(reread.outer, map(plan, asked.axes, reread.axes))


def refused_where(
    when: Callable[[AxisWindows], bool], asked: WindowArguments, right: Windows
) -> Windows:
    """Mutant: refused, if `when` holds along an axis.

    That raises InvalidNode.
    """
    reject(any(map(when, right.axes)), "not supported")
    return right


def rereading(read: ArgumentReading, asked: WindowArguments, right: Windows) -> Windows:
    """Fault: the windows of other arguments, which `read` makes.

    Raises InvalidNode if these are illegal, MemoryError for too many windows.
    """
    return windows_of(**vars(read(asked)))


# ── strides, dilations and the kernel ─────────────────────────────────────────────────────────


def strides_default_to_the_kernel(a: WindowArguments) -> WindowArguments:
    """Mutant: missing strides are the kernel's sizes."""
    return replace(a, strides=a.strides or a.kernel_shape)


def strides_are_the_kernel(a: WindowArguments) -> WindowArguments:
    """Mutant: strides are the kernel's sizes."""
    return replace(a, strides=a.kernel_shape)


def strides_at_most_the_kernel(a: WindowArguments) -> WindowArguments:
    """Mutant: no stride is larger than the kernel."""
    return replace(a, strides=a.strides and [*map(min, a.strides, a.kernel_shape)])


def strides_are_dilations_too(a: WindowArguments) -> WindowArguments:
    """Mutant: missing dilations are the strides."""
    return replace(a, dilations=a.dilations or a.strides)


def width_before_height(a: WindowArguments) -> WindowArguments:
    """Mutant: each list is read from the last axis to the first."""
    names = ("kernel_shape", "strides", "dilations")
    lists = {name: getattr(a, name)[::-1] for name in names if getattr(a, name)}
    return replace(with_pads(pads_from_the_last_axis, a), **lists)


def two_axes(a: WindowArguments) -> WindowArguments:
    """Mutant: the kernel and the strides are 1 along all but two axes."""
    rest = [1] * (len(a.kernel_shape) - 2)
    strides = a.strides and [*a.strides[:2], *rest]
    return replace(a, kernel_shape=[*a.kernel_shape[:2], *rest], strides=strides)


# ── pads ──────────────────────────────────────────────────────────────────────────────────────


def with_pads(read: PadsReading, a: WindowArguments) -> WindowArguments:
    """Return the arguments with `pads` read in another order, if there are any."""
    return replace(a, pads=[*read([*a.pads], len(a.pads) // 2)]) if a.pads else a


def pads_from_the_last_axis(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: xn_begin, …, x1_begin, xn_end, …, x1_end."""
    return [*pads[:n][::-1], *pads[n:][::-1]]


def pads_interleaved(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: x1_begin, x1_end, x2_begin, …."""
    return [*pads[::2], *pads[1::2]]


def pads_interleaved_from_the_last_axis(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: xn_begin, xn_end, …, x1_end."""
    return [*pads[::2][::-1], *pads[1::2][::-1]]


def ends_first(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: x1_end, …, xn_end, x1_begin, …, xn_begin."""
    return [*pads[n:], *pads[:n]]


def beginnings_for_both(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: ends are the beginnings."""
    return [*pads[:n]] * 2


def ends_for_both(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: beginnings are the ends."""
    return [*pads[n:]] * 2


def ends_of_0(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: ends are 0."""
    return [*pads[:n], *[0] * n]


def beginnings_of_0(pads: Sequence[int], n: int) -> Sequence[int]:
    """Mutant: beginnings are 0."""
    return [*[0] * n, *pads[n:]]


def pads_default_to_half_the_kernel(a: WindowArguments) -> WindowArguments:
    """Mutant: missing pads are half the kernel's sizes."""
    if a.pads or a.auto_pad != "NOTSET":
        return a
    return replace(a, pads=[size // 2 for size in a.kernel_shape] * 2)


# ── auto_pad and ceil_mode ────────────────────────────────────────────────────────────────────


def auto_pad_spelt(old: str, new: str, a: WindowArguments) -> WindowArguments:
    """Mutant: a part of auto_pad's value is another."""
    return replace(a, auto_pad=a.auto_pad.replace(old, new))


def same_exchanged(a: WindowArguments) -> WindowArguments:
    """Mutant: SAME_UPPER is SAME_LOWER, and the reverse."""
    return replace(a, auto_pad=OTHER_SAME.get(a.auto_pad, a.auto_pad))


def same_ignored(a: WindowArguments) -> WindowArguments:
    """Mutant: SAME_UPPER and SAME_LOWER are NOTSET."""
    return replace(a, auto_pad="NOTSET") if a.auto_pad in OTHER_SAME else a


def always_rounded_up(a: WindowArguments) -> WindowArguments:
    """Mutant: ceil_mode is 1."""
    return replace(a, ceil_mode=1)


READINGS = window_faults(
    rereading,
    (
        "strides_default_to_the_kernel",
        "strides, left out, were taken from kernel_shape",
        strides_default_to_the_kernel,
        "strides",
    ),
    (
        "strides_are_the_kernel",
        "windows stood side by side, whatever strides said",
        strides_are_the_kernel,
        "strides",
    ),
    (
        "strides_at_most_the_kernel",
        "a stride larger than the kernel was taken for its size",
        strides_at_most_the_kernel,
        "strides",
    ),
    (
        "strides_are_dilations_too",
        "dilations, left out, were taken from strides",
        strides_are_dilations_too,
        "dilations",
    ),
    (
        "width_before_height",
        "every list was read from the last axis to the first",
        width_before_height,
        "kernel_shape",
    ),
    (
        "third_axis_not_pooled",
        "only the first two spatial axes were pooled",
        two_axes,
        "kernel_shape",
        FILTERED,
    ),
    (
        "pads_interleaved",
        "pads were read as x1_begin, x1_end, x2_begin, …",
        partial(with_pads, pads_interleaved),
        "pads",
    ),
    (
        "pads_interleaved_from_the_last_axis",
        "pads were read as xn_begin, xn_end, …, x1_end",
        partial(with_pads, pads_interleaved_from_the_last_axis),
        "pads",
    ),
    (
        "pads_from_the_last_axis",
        "pads were read as xn_begin, …, x1_begin, xn_end, …, x1_end",
        partial(with_pads, pads_from_the_last_axis),
        "pads",
    ),
    (
        "pads_ends_first",
        "the ends were read before the beginnings in pads",
        partial(with_pads, ends_first),
        "pads",
    ),
    (
        "pads_beginnings_for_both",
        "the beginnings in pads served as ends too",
        partial(with_pads, beginnings_for_both),
        "pads",
    ),
    (
        "pads_ends_for_both",
        "the ends in pads served as beginnings too",
        partial(with_pads, ends_for_both),
        "pads",
    ),
    (
        "pads_ends_ignored",
        "the ends in pads were ignored",
        partial(with_pads, ends_of_0),
        "pads",
    ),
    (
        "pads_beginnings_ignored",
        "the beginnings in pads were ignored",
        partial(with_pads, beginnings_of_0),
        "pads",
    ),
    (
        "pads_default_to_half_the_kernel",
        "pads, left out, were half the kernel",
        pads_default_to_half_the_kernel,
        "pads",
    ),
    (
        "same_upper_is_lower",
        "SAME_UPPER put the odd one of padding at the beginning",
        partial(auto_pad_spelt, "UPPER", "LOWER"),
        "auto_pad",
    ),
    (
        "same_lower_is_upper",
        "SAME_LOWER put the odd one of padding at the end",
        partial(auto_pad_spelt, "LOWER", "UPPER"),
        "auto_pad",
    ),
    (
        "same_exchanged",
        "SAME_UPPER and SAME_LOWER were exchanged",
        same_exchanged,
        "auto_pad",
    ),
    (
        "same_ignored",
        "SAME_UPPER and SAME_LOWER meant no padding",
        same_ignored,
        "auto_pad",
    ),
    (
        "valid_is_same",
        "VALID was taken for SAME_UPPER",
        partial(auto_pad_spelt, "VALID", "SAME_UPPER"),
        "auto_pad",
    ),
    (
        "always_rounded_up",
        "sizes were rounded up whatever ceil_mode said",
        always_rounded_up,
        "kernel_shape",
    ),
)


# ── windows that are refused ──────────────────────────────────────────────────────────────────


def is_padded_unequally(axis: AxisWindows) -> bool:
    """Return True for pads of which one is unlike that at the other end."""
    return axis.auto_pad == "NOTSET" and axis.begin != axis.end


def is_padded_by_the_kernel(axis: AxisWindows) -> bool:
    """Return True for a pad as large as the kernel."""
    return axis.auto_pad == "NOTSET" and max(axis.begin, axis.end) >= axis.kernel


def has_kernel_of_1(axis: AxisWindows) -> bool:
    """Return True for a kernel of one element."""
    return axis.kernel == 1


def has_ceil_mode_and_auto_pad(axis: AxisWindows) -> bool:
    """Return True for both attributes."""
    return axis.ceil and axis.auto_pad != "NOTSET"


def has_negative_same_padding(axis: AxisWindows) -> bool:
    """Return True where windows of SAME end before the input does."""
    return axis.same and (up(axis.length, axis.stride) - 1) * axis.stride + axis.width < axis.length


REFUSALS = window_faults(
    refused_where,
    (
        "refuses_asymmetric_pads",
        "a pad unlike that at the other end was not supported",
        is_padded_unequally,
        "pads",
    ),
    (
        "refuses_pads_of_the_kernel",
        "a pad as large as the kernel was not supported",
        is_padded_by_the_kernel,
        "pads",
    ),
    (
        "refuses_kernels_of_1",
        "a kernel of a single element along an axis was not supported",
        has_kernel_of_1,
        "kernel_shape",
    ),
    (
        "refuses_ceil_mode_beside_same",
        "ceil_mode beside auto_pad was not supported",
        has_ceil_mode_and_auto_pad,
        "ceil_mode",
    ),
    (
        "refuses_negative_same_padding",
        "SAME whose padding came out negative, and had to be 0 instead, was not supported",
        has_negative_same_padding,
        "auto_pad",
    ),
)


# ── windows that are accepted: the reading that may be legal, and the windows then ────────────


def negative_pads_of_0(a: WindowArguments) -> WindowArguments:
    """Return the arguments with 0 for negative pads."""
    return replace(a, pads=[max(0, pad) for pad in a.pads or ()])


def cut_at_the_end(asked: AxisWindows, legal: AxisWindows) -> AxisWindows:
    """Mutant: a negative pad at the end cuts elements off."""
    return replace(asked, length=asked.length + min(0, asked.end))


def dilations_of_1_at_least(a: WindowArguments) -> WindowArguments:
    """Return the arguments with 1 for dilations below."""
    return replace(a, dilations=[max(1, dilation) for dilation in a.dilations or ()])


def beyond_the_input(asked: AxisWindows, legal: AxisWindows) -> AxisWindows:
    """Mutant: as many windows, which hold padding alone."""
    return replace(legal, begin=legal.size * legal.stride + legal.length + asked.kernel)


def dilations_of_1_at_most(a: WindowArguments) -> WindowArguments:
    """Return the arguments with 1 for dilations above."""
    return replace(a, dilations=[min(1, dilation) for dilation in a.dilations or ()])


def kernel_of_1_at_most(a: WindowArguments) -> WindowArguments:
    """Return the arguments with a kernel that fits into any input; sizes below 1 stay so."""
    return replace(a, kernel_shape=[min(1, size) for size in a.kernel_shape])


def size_cut_towards_0(asked: AxisWindows, legal: AxisWindows) -> AxisWindows:
    """Mutant: the number of windows is cut towards 0, where it is below, and not rounded down."""
    size = int(asked.room / asked.stride) + 1 if asked.room < 0 else asked.size
    return replace(legal, kernel=asked.kernel, size=size)


def none_fits(asked: AxisWindows, legal: AxisWindows) -> AxisWindows:
    """Mutant: no windows but those that fit, of which the formula counts less than 0."""
    return replace(legal, kernel=asked.kernel, dilation=asked.dilation, size=max(0, asked.size))


#: A reading that may be legal, and the windows then, from the given axis and the legal one.
ACCEPTED = tuple(
    faulty(NAME, name, text, partial(accepting, legal, plan), of_validity=True, needs=needs)
    for name, text, needs, legal, plan in (
        (
            "negative_pads_cut",
            "a negative pad cut elements off",
            "pads",
            negative_pads_of_0,
            cut_at_the_end,
        ),
        (
            "nothing_below_dilation_1",
            "a dilation below 1 was accepted, and windows were empty",
            "dilations",
            dilations_of_1_at_least,
            beyond_the_input,
        ),
        (
            "size_cut_towards_zero",
            "a negative output size was cut towards zero, not rounded down",
            "kernel_shape",
            kernel_of_1_at_most,
            size_cut_towards_0,
        ),
        (
            "negative_size_is_empty",
            "an output size below 0 gave an empty output",
            "kernel_shape",
            kernel_of_1_at_most,
            none_fits,
        ),
        (
            "dilated_kernel_not_compared",
            "a dilated kernel larger than the input was accepted, and gave an empty output",
            "dilations",
            dilations_of_1_at_most,
            none_fits,
        ),
    )
)
