"""DeformConv: a convolution of elements that lie beside the places of the kernel.

Both versions: Y[n, m, o] = B[m] + Σ W[m, c, j] * mask[n, j, o] * X(n, c, o * stride - pad +
j * dilation + offset[n, j, o]), where X between elements is interpolated linearly along each axis.

The parts of the file: what the text leaves open; the offsets; samples; the formula; its mutants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import NO_WINDOW_FITS, Windows, windows_of
from opcheck.engine.operators import check_shape, formulas_of_versions, operator, raise_unspecified
from opcheck.engine.ops.conv import check_filters, dealt_to_groups, matmul, of_channels, turned
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode
from opcheck.numbers import Array

DEFORM_CONV = operator("DeformConv")

HALF_OUTSIDE = Ruling(
    "half-outside-the-padded-tensor",
    '"Sampling locations outside of the padded input tensor gives zero": between its last element'
    " and the place after it, or from there on, with an interpolation before.",
    ("interpolated", "zero"),
)


# ── offsets ───────────────────────────────────────────────────────────────────────────────────


def by_axis(offset: Array, groups: int, kernel: Sequence[int], sizes: Sequence[int]) -> list[Array]:
    """Return the offset along each axis, [N, offset_group, *kernel, *sizes of the output].

    offset: [N, offset_group * places of the kernel * axes, *sizes]; groups: offset_group.
    """
    axes = len(kernel)
    split = xp.reshape(offset, (offset.shape[0], groups, *kernel, axes, *sizes))
    before = (slice(None),) * (2 + axes)
    return [split[*before, axis] for axis in range(axes)]


def places_of_samples(
    offsets: Sequence[Array], kernel: Sequence[int], windows: Windows
) -> list[Array]:
    """Return the place of each sample in X along each axis, in the shapes of the offsets.

    offsets: for each axis, [N, offset_group, *kernel, *sizes of the output]; kernel: its lengths;
    windows: those of the kernel over X. A place is a number of elements from the first one of X,
    with a fraction; below 0 is before it.
    """
    axes = len(kernel)
    # For each axis of the kernel and then of the output the numbers along it.
    numbers = np.ix_(*map(np.arange, (*kernel, *windows.shape[2:])))
    places = []
    for n, axis in enumerate(windows.axes):
        window = numbers[axes + n] * float(axis.stride)
        within = numbers[n] * float(axis.dilation)
        places.append(offsets[n] + (window + within - axis.begin))
    return places


# ── samples ───────────────────────────────────────────────────────────────────────────────────


def linear_share(place: Array, element: NDArray[np.float64]) -> Array:
    """Return the share of an element in what lies at a place: 1 - their distance, at least 0."""
    # No place is NaN: the formula declines such offsets.
    return xp.maximum(1.0 - xp.abs(place - element), 0.0)


#: The share of an element in a sample along one axis, from the place of each.
Share: TypeAlias = Callable[..., Array]


def sampled(
    X: Array,
    places: Sequence[Array],
    pads: Sequence[tuple[int, int]],
    share: Share,
    reach: int = 1,
) -> Array:
    """Return X at the places along each axis, and 0 outside of it.

    X: [N, C, *lengths]; places: for each axis [N, groups, …], of finite numbers; pads: for each
    axis the padding at both ends; the result: [N, groups, channels of each, places]. `reach`
    elements on either side of a place have a share: those `reach` and more away must have 0 by
    `share`. Less than one element outside, on a side without padding, a sample is interpolated with
    0, or is 0: HALF_OUTSIDE.
    """
    batch, channels, *lengths = X.shape
    groups = places[0].shape[1]
    count = prod(places[0].shape[2:])
    size = prod(lengths)
    # Of each place and the elements near it along all axes so far: the element's place in a plane,
    # whether there is one, and its share.
    flat: Array = 0
    is_held: Array = True
    shares: Array = None
    # How many elements near each place there are, along all axes so far.
    taps = 1
    # One more than `reach` needs: rounding may move a place to the other side of an element.
    near = np.arange(-reach, reach + 2).reshape(1, 1, 1, -1, 1)
    for place, length, pad in zip(places, lengths, pads, strict=True):
        at = xp.values_of(place)
        first = np.floor(np.clip(at, -3, length + 3)).astype(np.int64)
        index = first.reshape(batch, groups, 1, 1, count) + near
        parts = share(xp.reshape(place, (batch, groups, 1, 1, count)), index.astype(np.float64))
        shares = parts if shares is None else shares * parts
        flat = flat * length + index
        is_element = (index >= 0) & (index < length)
        is_held = (
            is_held & is_element & is_read(at, length, pad).reshape(batch, groups, 1, 1, count)
        )
        taps *= near.size
        flat = flat.reshape(batch, groups, taps, 1, count)
        is_held = is_held.reshape(batch, groups, taps, 1, count)
        shares = xp.reshape(shares, (batch, groups, taps, 1, count))
    planes = xp.reshape(X, (batch, groups, channels // groups, size))
    # What stands for everything outside is the last element, a 0.
    planes = xp.pad(planes, [(0, 0)] * 3 + [(0, 1)])
    taken = np.where(is_held, flat, size).reshape(batch, groups, 1, taps * count)
    under = xp.take_along_axis(planes, taken, axis=3)
    under = xp.reshape(under, (*planes.shape[:3], taps, count))
    terms = under * xp.reshape(shares, (batch, groups, 1, taps, count))
    return xp.sums(terms, partial(np.sum, axis=3), (2 * reach) ** len(lengths))


def is_read(at: NDArray[np.float64], length: int, pad: tuple[int, int]) -> NDArray[np.bool_]:
    """Return a mask of the places `at` that are read, all unless HALF_OUTSIDE is read as zero.

    Then places within one element outside of an axis are not read, on a side without padding.
    length: that of the axis; pad: its padding at both ends.
    """
    is_before = (at > -1) & (at < 0)
    is_after = (at > length - 1) & (at < length)
    is_open = (is_before & (pad[0] == 0)) | (is_after & (pad[1] == 0))
    if is_open.any() and HALF_OUTSIDE.reading() == "zero":
        return ~is_open
    return np.ones_like(is_open)


# ── the formula ───────────────────────────────────────────────────────────────────────────────

#: X, W and the mask of a node.
Operands: TypeAlias = tuple[Array, Array, Array]


def as_given(X: Array, W: Array, mask: Array, group: int, offset_group: int) -> Operands:
    """Return X, W and the mask as they are, where a mutant changes them."""
    return X, W, mask


@dataclass(frozen=True)
class Steps:
    """The steps of DeformConv, each of which some mutant does otherwise.

    Attributes:
        offsets: The offsets along each axis; see `by_axis`.
        share: See `linear_share`.
        operands: X, W and the mask, from these and both numbers of groups.
    """

    offsets: Callable[[Array, int, Sequence[int], Sequence[int]], list[Array]] = by_axis
    share: Share = linear_share
    operands: Callable[[Array, Array, Array, int, int], Operands] = as_given


@formulas_of_versions(19, 22)
def deform_conv(
    steps: Steps,
    X: Array,
    W: Array,
    offset: Array,
    B: Array = None,
    mask: Array = None,
    *,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    offset_group: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return Y, N×M×O1×…×On, of X, N×C×D1×…×Dn, and W, M×C/group×k1×…×kn, in X's type.

    offset: N×(offset_group*k1*…*kn*n)×O1×…×On; B: [M], None for zeros; mask:
    N×(offset_group*k1*…*kn)×O1×…×On, None for ones. A sample less than one element outside of X, on
    a side without padding, is interpolated with 0, or is 0: HALF_OUTSIDE.

    Raises InvalidNode for shapes and attributes that do not fit each other, for attributes out of
    range, and for a kernel larger than the padded X by more than a stride; if it is larger by less,
    Y is empty or that is raised: NO_WINDOW_FITS. Raises NotSupported if X or `offset` holds
    infinity or NaN, and for a mask of offset's shape with several axes; MemoryError for more than
    2^28 windows, counted in each channel of X.
    """
    check_filters(X, W, B, kernel_shape, group)
    if offset_group < 1 or X.shape[1] % offset_group:
        raise InvalidNode(f"offset_group {offset_group} of X {list(X.shape)}")
    axes = X.ndim - 2
    kernel = tuple(W.shape[2:])
    windows = windows_of(X.shape, kernel, strides, dilations, pads, open_sizes=(NO_WINDOW_FITS,))
    batch = X.shape[0]
    sizes = windows.shape[2:]
    count = offset_group * prod(kernel)
    check_shape("offset", offset, (batch, count * axes, *sizes))
    if mask is not None and axes > 1 and mask.shape == offset.shape:
        raise_unspecified("masks for each axis")
    check_shape("mask", mask, (batch, count, *sizes))
    X, W, mask = steps.operands(X, W, mask, group, offset_group)
    if not all(xp.isfinite(x).all() for x in (X, offset)):
        raise_unspecified("what lies between numbers and none")
    offsets = steps.offsets(offset, offset_group, kernel, sizes)
    ends = pads[axes:] if pads else [0] * axes
    margins = [(axis.begin, end) for axis, end in zip(windows.axes, ends, strict=True)]
    samples = sampled(X, places_of_samples(offsets, kernel, windows), margins, steps.share)
    if mask is not None:
        samples = samples * xp.reshape(mask, (batch, offset_group, 1, prod(kernel + sizes)))
    terms = prod(W.shape[1:])
    multiply = partial(products, group, sizes)
    return xp.astype(xp.bilinear(W, samples, multiply, terms, of_channels(B, axes)), X.dtype)


def products(group: int, sizes: Sequence[int], w: Array, samples: Array) -> Array:
    """Return the filters of each group times the samples under each window, N×M×O1×…×On.

    w: M×C/group×k1×…×kn; sizes: O1, …, On. samples: [N, offset_group, channels of each, places of
    the kernel times those of the output].
    """
    batch = samples.shape[0]
    filters = w.shape[0]
    terms = prod(w.shape[1:])
    under = samples.reshape(batch, group, terms, prod(sizes))
    y = matmul(w.reshape(group, filters // group, terms), under)
    return y.reshape(batch, filters, *sizes)


DEFORM_CONV.formula(build=deform_conv)(Steps())


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def last_axis_first(
    offset: Array, groups: int, kernel: Sequence[int], sizes: Sequence[int]
) -> list[Array]:
    """Mutant: the offset along the last axis comes first."""
    return by_axis(offset, groups, kernel, sizes)[::-1]


def axes_outside_the_kernel(
    offset: Array, groups: int, kernel: Sequence[int], sizes: Sequence[int]
) -> list[Array]:
    """Mutant: all offsets along one axis come before those along the next."""
    split = offset.reshape(offset.shape[0], groups, len(kernel), *kernel, *sizes)
    return [*np.moveaxis(split, 2, 0)]


def kernel_by_columns(
    offset: Array, groups: int, kernel: Sequence[int], sizes: Sequence[int]
) -> list[Array]:
    """Mutant: the offsets of a kernel are read as if its places were in column-major order."""
    axes = len(kernel)
    turned_around = by_axis(offset, groups, kernel[::-1], sizes)
    return [np.moveaxis(x, range(2, 2 + axes), range(1 + axes, 1, -1)) for x in turned_around]


def offsets_subtracted(
    offset: Array, groups: int, kernel: Sequence[int], sizes: Sequence[int]
) -> list[Array]:
    """Mutant: offsets are subtracted."""
    return [-x for x in by_axis(offset, groups, kernel, sizes)]


def first_offsets_for_all(
    offset: Array, groups: int, kernel: Sequence[int], sizes: Sequence[int]
) -> list[Array]:
    """Mutant: each group has the first one's offsets."""
    offsets = by_axis(offset, groups, kernel, sizes)
    return [xp.broadcast_to(x[:, :1], x.shape) for x in offsets]


def share_of_the_nearest(place: Array, element: NDArray[np.float64]) -> Array:
    """Mutant: the nearest element is taken."""
    return (np.floor(place + 0.5) == element) * 1.0


def input_channels_in_turns(
    X: Array, W: Array, mask: Array, group: int, offset_group: int
) -> Operands:
    """Mutant: the first channel has the first group's offsets, the second the second's."""
    return dealt_to_groups(X, 1, offset_group), W, mask


def filters_in_turns(X: Array, W: Array, mask: Array, group: int, offset_group: int) -> Operands:
    """Mutant: the first filter is the first group's, the second the second group's."""
    return X, dealt_to_groups(W, 0, group), mask


def mask_in_turns(X: Array, W: Array, mask: Array, group: int, offset_group: int) -> Operands:
    """Mutant: the mask's entries belong to the groups of offsets in turns."""
    return X, W, None if mask is None else dealt_to_groups(mask, 1, offset_group)


def kernel_turned(X: Array, W: Array, mask: Array, group: int, offset_group: int) -> Operands:
    """Mutant: a convolution as in mathematics."""
    return X, turned(W), mask


DEFORM_CONV.mutant_table(
    {
        "x_before_y": (
            "the offsets along the last axis came first",
            Steps(offsets=last_axis_first),
        ),
        "axes_outside_the_kernel": (
            "all offsets along one axis came before those along the next",
            Steps(offsets=axes_outside_the_kernel),
        ),
        "kernel_by_columns": (
            "offsets came by the columns of the kernel",
            Steps(offsets=kernel_by_columns),
        ),
        "offsets_subtracted": ("offsets were subtracted", Steps(offsets=offsets_subtracted)),
        "first_offsets_for_all": (
            "the first group's offsets served for all",
            Steps(offsets=first_offsets_for_all),
        ),
        "nearest": ("the nearest element was taken", Steps(share=share_of_the_nearest)),
        "input_channels_in_turns": (
            "the input's channels went to the groups of offsets in turns",
            Steps(operands=input_channels_in_turns),
        ),
        "filters_in_turns": (
            "the filters went to the groups in turns",
            Steps(operands=filters_in_turns),
        ),
        "mask_in_turns": (
            "the mask went to the groups of offsets in turns",
            Steps(operands=mask_in_turns),
        ),
        "kernel_turned": (
            "the kernel was turned around, as in mathematics",
            Steps(operands=kernel_turned),
        ),
    },
    build=deform_conv,
)
