"""ConvTranspose and Col2Im: products, or blocks, added up where they fall on an image.

All versions under the texts' own symbols:

- ConvTranspose: Y[n, m, i * stride - pad + j * dilation] += W[c, m, j] * X[n, c, i], over the
  channels c of the group of m, and B[m]; output_shape[i] = stride[i] * (input_size[i] - 1) +
  output_padding[i] + ((kernel_shape[i] - 1) * dilations[i] + 1) - pads[start_i] - pads[end_i];
- Col2Im: the columns of blocks go back to where they were in the image; where blocks overlap, they
  are added up.

The windows of both lie over the output. The parts of the file: what the texts leave open; the
windows of ConvTranspose; its sums; its mutants; Col2Im and its mutants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import (
    AUTO_PADS,
    OTHER_SAME,
    AxisWindows,
    Windows,
    check_size,
    for_axes,
    listed,
    windows_of,
)
from opcheck.engine.operators import formulas_of_versions, leave_open, operator, raise_unspecified
from opcheck.engine.ops.conv import (
    OPERANDS,
    Convolution,
    Operands,
    check_filters,
    matmul,
    of_channels,
    of_operands,
)
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

NAMES = """Col2Im ConvTranspose"""

CONV_TRANSPOSE = operator("ConvTranspose")
COL2IM = operator("Col2Im")

# ── what the texts leave open ─────────────────────────────────────────────────────────────────

OUTPUT_PADDING_BELOW_THE_DILATION = Ruling(
    "output-padding-below-the-dilation",
    'Whether "less than the corresponding stride/dilation dimension" means both, or either.',
    ("either", "both"),
)
SIDE_OF_OUTPUT_PADDING = Ruling(
    "side-of-output-padding",
    "Version 1 does not state to which side of the output output_padding is added.",
    ("end", "beginning"),
)
TRANSPOSED_SIZE_UNDER_SAME = Ruling(
    "transposed-size-under-same",
    "In version 1 the padding of SAME makes the output match the input: literally, or with a stride"
    " for each element, as later versions say.",
    ("stride_for_each_element", "size_of_the_input"),
)
SPLIT_BESIDE_SAME = Ruling(
    "split-beside-same",
    "In version 1 the equations of the padding contradict what SAME_UPPER and SAME_LOWER mean.",
    ("odd_one_at_the_end", "odd_one_at_the_beginning"),
)
PADDING_BELOW_0 = Ruling(
    "padding-below-0",
    "The text does not state where zeros are if the output is larger than all that products reach.",
    ("split", "split_the_other_way", "zeros_at_the_end", "refused"),
)
BATCHES_IN_OUTPUT_SHAPE = Ruling(
    "batches-in-output-shape",
    "Version 1 does not state whether output_shape may begin with batches and channels.",
    ("refused", "batches_and_channels"),
)
EMPTY_IMAGE = Ruling(
    "empty-image",
    "The text does not state whether an image without elements, or no block, is legal.",
    ("computed", "refused"),
)
INFINITE_WEIGHT_BETWEEN_ELEMENTS = Ruling(
    "infinite-weight-between-elements",
    "Between the elements of the input, and around them, there is nothing, or a zero, of which an"
    " infinite weight makes NaN.",
    ("no_product", "product_with_0"),
    by_element=True,
)


# ── windows of ConvTranspose ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Placement:
    """What decides where products fall: the attributes, with their defaults filled in.

    Each list has an entry for each spatial axis, `pads` all beginnings and then all ends.

    Attributes:
        lengths: The sizes of X.
        kernel: The sizes of W.
        output_shape: The sizes of the output, None where they follow.
    """

    lengths: Sequence[int]
    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    auto_pad: str
    output_padding: Sequence[int]
    output_shape: Sequence[int] | None

    @property
    def is_same(self) -> bool:
        """True for SAME_UPPER and SAME_LOWER."""
        return self.auto_pad.startswith("SAME")


def as_given(placement: Placement) -> Placement:
    """Return the attributes as the node has them, where a mutant reads them otherwise."""
    return placement


@dataclass(frozen=True)
class Transposed:
    """A transposed convolution: how it reads its attributes, and what it computes."""

    convolution: Convolution
    read: Callable[[Placement], Placement] = as_given


@formulas_of_versions(each={1: 1, 11: 11, 22: 11})
def conv_transpose(
    transposed: Transposed,
    since: int,
    X: Array,
    W: Array,
    B: Array = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return Y, N×M×O1×…×On, of X, N×C×D1×…×Dn, and W, C×M/group×k1×…×kn.

    B: [M], None for zeros; attributes: None for the defaults. `since` is 1, or 11 for later
    versions too. Where an infinite weight, or NaN, meets no element of X, it adds nothing, or makes
    NaN: INFINITE_WEIGHT_BETWEEN_ELEMENTS. transposed: the steps, which mutants change.

    Raises InvalidNode for shapes, kernel_shape or group that do not fit each other; an unknown
    auto_pad, and pads beside it; lists of another length; strides and dilations below 1, other
    numbers below 0; a size of the output below 0; an empty kernel; and since version 11 an
    output_padding as large as stride and dilation. Taken, or refused so: an output_padding as large
    as the stride alone, OUTPUT_PADDING_BELOW_THE_DILATION; an output larger than products reach,
    PADDING_BELOW_0; one without elements, EMPTY_IMAGE; in version 1 an output_shape with batches
    and channels, BATCHES_IN_OUTPUT_SHAPE.

    Raises NotSupported, while judging, for auto_pad VALID beside output_shape, MemoryError for an
    output of more than 2^28 elements. In version 1, TRANSPOSED_SIZE_UNDER_SAME decides the size,
    SPLIT_BESIDE_SAME where an odd padding is, SIDE_OF_OUTPUT_PADDING at which end output_padding
    is.
    """
    check_filters(X, W, B, kernel_shape, group, is_transposed=True)
    outer = X.shape[0], W.shape[1] * group
    axes = X.ndim - 2
    if auto_pad not in AUTO_PADS or (pads is not None and auto_pad != "NOTSET"):
        raise InvalidNode(f"auto_pad {auto_pad!r} and pads {pads}")
    if output_shape is not None:
        stated = spatial_sizes(since, output_shape, outer, axes)
        output_shape = for_axes("output_shape", stated, axes, least=0)
    placement = Placement(
        lengths=X.shape[2:],
        kernel=W.shape[2:],
        strides=for_axes("strides", strides, axes),
        dilations=for_axes("dilations", dilations, axes),
        pads=for_axes("pads", pads, axes, least=0, sides=2),
        auto_pad=auto_pad,
        output_padding=for_axes("output_padding", output_padding, axes, least=0),
        output_shape=output_shape,
    )
    placement = transposed.read(placement)
    windows = Windows(outer, tuple(windows_along(since, placement, n) for n in range(axes)))
    check_size((*outer, *(axis.length for axis in windows.axes)))
    y = transposed.convolution(X, W, B, windows, group)
    is_finite = xp.isfinite(W)
    if np.all(is_finite) or INFINITE_WEIGHT_BETWEEN_ELEMENTS.reading() == "no_product":
        return y
    is_infinite = (~np.isfinite(xp.values_of(W))).astype(np.float64)
    return xp.where(has_lonely_weight(windows, group, is_infinite, X.shape), np.nan, y)


def spatial_sizes(
    since: int, output_shape: Sequence[int], outer: tuple[int, int], axes: int
) -> Sequence[int]:
    """Return the sizes in `output_shape` without batches and channels.

    outer: batches and channels of the output; axes: how many are spatial. "Note that the
    output_shape attribute value should not include dimensions for batch size and channels" is of
    version 11; before, a list of two more entries is cut off, or left as it is, and its length
    refused by the caller: BATCHES_IN_OUTPUT_SHAPE.

    Raises InvalidNode where what is cut off differs from `outer`. No other length is checked here.
    """
    if since > 1 or len(output_shape) != axes + 2:
        return output_shape
    if BATCHES_IN_OUTPUT_SHAPE.reading() == "refused":
        return output_shape  # Its length is refused.
    is_other = tuple(output_shape[:2]) != outer
    reject(is_other, f"output_shape {list(output_shape)} of an output {list(outer)}")
    return output_shape[2:]


def windows_along(since: int, placement: Placement, n: int) -> AxisWindows:
    """Return the windows over the output along spatial axis `n`, one for each element of X.

    `since` is 1, or 11 for later versions. Raises InvalidNode for an output of a size below 0, an
    empty kernel, and since version 11 an output_padding as large as stride and dilation, or as the
    stride alone by a reading of OUTPUT_PADDING_BELOW_THE_DILATION. PADDING_BELOW_0 may refuse a
    size beyond all products so too, EMPTY_IMAGE one of 0 of Y or X. Raises NotSupported while
    judging for auto_pad VALID beside output_shape. In version 1, TRANSPOSED_SIZE_UNDER_SAME decides
    the size, SPLIT_BESIDE_SAME where an odd padding is, SIDE_OF_OUTPUT_PADDING at which end
    output_padding is.
    """
    length = placement.lengths[n]
    kernel = placement.kernel[n]
    stride = placement.strides[n]
    dilation = placement.dilations[n]
    added = placement.output_padding[n]
    check_output_padding(since, added, stride, dilation)
    # All that products reach, before anything is cut off.
    reached = stride * (length - 1) + added + (kernel - 1) * dilation + 1
    if placement.output_shape is None and not placement.is_same:
        before, after = placement.pads[n :: len(placement.lengths)]
        size = reached - before - after
    else:
        if placement.output_shape is not None:
            size = placement.output_shape[n]
        else:
            size = size_under_same(since, length, stride)
        before = padding_before(since, placement, reached - size)
    reject(size < 0 or not kernel, f"an output of size {size}, a kernel of {kernel}")
    # The padding is computed for an output_shape; VALID has none.
    if placement.output_shape is not None and placement.auto_pad == "VALID":
        leave_open("nothing is said of VALID beside output_shape")
    check_image(size, length)
    if since == 1 and added and SIDE_OF_OUTPUT_PADDING.reading() == "beginning":
        # The places that output_padding adds come first: all products fall later.
        before -= added
    return AxisWindows(
        length=size, kernel=kernel, stride=stride, dilation=dilation, begin=before, size=length
    )


def check_output_padding(since: int, added: int, stride: int, dilation: int) -> None:
    """Raise InvalidNode since version 11 for an output_padding that is too large.

    added: the output_padding along an axis. "Each padding value in "output_padding" must be less
    than the corresponding stride/dilation dimension": less than the larger of both, or than the
    stride too: OUTPUT_PADDING_BELOW_THE_DILATION. Version 1 allows any.
    """
    if since == 1:
        return
    refusal = f"output_padding {added}, stride {stride}, dilation {dilation}"
    reject(added >= max(stride, dilation), refusal)
    if added >= stride:
        reject(OUTPUT_PADDING_BELOW_THE_DILATION.reading() == "both", refusal)


def size_under_same(since: int, length: int, stride: int) -> int:
    """Return the size of the output: "output_shape[i] = input_shape[i] * strides[i]".

    length: that of the input. In version 1 it may be `length` itself, as that has "the output
    spatial size match the input": TRANSPOSED_SIZE_UNDER_SAME.
    """
    is_open = since == 1 and length * stride != length
    if is_open and TRANSPOSED_SIZE_UNDER_SAME.reading() == "size_of_the_input":
        return length
    return length * stride


def padding_before(since: int, placement: Placement, total: int) -> int:
    """Return how much of the `total` padding is before the image; below 0 it is added there.

    It is half of it. Of an odd padding one more is before, but behind under SAME_UPPER, and in
    version 1 where a size is stated; if that is beside SAME, either: SPLIT_BESIDE_SAME. A `total`
    below 0 is split so, with the odd one at the other end, added all behind (0 is returned), or
    raises InvalidNode: PADDING_BELOW_0.
    """
    is_first = since == 1 and placement.output_shape is not None
    more_before = placement.auto_pad != "SAME_UPPER" and not is_first
    if is_first and placement.is_same and total % 2:
        more_before = SPLIT_BESIDE_SAME.reading() == "odd_one_at_the_beginning"
    if total < 0:
        reading = PADDING_BELOW_0.reading()
        reject(reading == "refused", f"a padding of {total} in all")
        if reading == "zeros_at_the_end":
            return 0
        if reading == "split_the_other_way":
            more_before = not more_before
    return (total + more_before) // 2


def check_image(*sizes: int) -> None:
    """Raise InvalidNode if one of the sizes is 0 and EMPTY_IMAGE is read as refused."""
    if not all(sizes):
        reject(EMPTY_IMAGE.reading() == "refused", "an image without elements")


# ── sums of ConvTranspose ─────────────────────────────────────────────────────────────────────


def added_up(X: Array, W: Array, B: Array, windows: Windows, group: int) -> Array:
    """Return for each element the sum of those products that fall on it, and B: N×M×O1×…×On.

    `windows` lie over the output. X: N×C×D1×…×Dn; W: C×M/group×k1×…×kn; B: [M], or None. An element
    that nothing falls on is 0, and B.
    """
    terms = X.shape[1] // group * prod(map(most_taps, windows.axes))
    bias = of_channels(B, len(windows.axes))
    return xp.bilinear(W, X, partial(folded, windows, group), terms, bias)


def most_taps(axis: AxisWindows) -> int:
    """Return how many products may fall on one element of the output along an axis, at the most.

    axis: the windows, one for each element of the input.
    """
    # Of the kernel's places, those that fall on one element are stride / gcd apart.
    return min(axis.size, -(-axis.kernel * gcd(axis.stride, axis.dilation) // axis.stride))


def folded(windows: Windows, group: int, w: Array, x: Array) -> Array:
    """Return the products of each group's filters and elements, added up, without B.

    w: C×M/group×k1×…×kn; x: N×C×D1×…×Dn; the result: N×M×O1×…×On. `windows` lie over the output.
    """
    batch, channels, *lengths = x.shape
    channels_of_group = channels // group
    kernel = w.shape[2:]
    filters = w.reshape(group, channels_of_group, prod(w.shape[1:])).swapaxes(1, 2)
    elements = x.reshape(batch, group, channels_of_group, prod(lengths))
    columns = matmul(filters, elements)
    planes = windows.folded(columns.reshape(prod(windows.outer), *kernel, *lengths))
    return planes.reshape(*windows.outer, *planes.shape[1:])


def has_lonely_weight(
    windows: Windows, group: int, is_infinite: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Return a mask, N×M×O1×…×On, of outputs of which some infinite weight meets no element of X.

    is_infinite: 1 for each weight that is infinite or NaN, else 0, of W's shape; shape: that of X.
    """
    # How many infinite weights meet an element, and how many there are for the output's channel.
    met = folded(windows, group, is_infinite, np.ones(shape))
    channels, filters_of_group = is_infinite.shape[:2]
    split = is_infinite.reshape(group, channels // group, filters_of_group, -1)
    of_filters = split.sum(axis=(1, 3)).reshape(-1)
    is_lonely: NDArray[np.bool_] = met < of_channels(of_filters, len(windows.axes))
    return is_lonely


CONV_TRANSPOSE.formula(build=conv_transpose)(Transposed(added_up))


# ── mutants of ConvTranspose ──────────────────────────────────────────────────────────────────


def filters_first(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: the filters in memory are those of Conv, M/group×C×k1×…×kn."""
    return X, W.reshape(*W.shape[1::-1], *W.shape[2:]).swapaxes(0, 1), B


CONV_TRANSPOSE.mutant_table(
    {
        name: (text, Transposed(convolution))
        for name, (text, convolution) in of_operands(
            added_up,
            {
                **OPERANDS,
                "filters_first": ("filters were read as those of Conv, M/group x C", filters_first),
            },
        ).items()
    },
    build=conv_transpose,
)


def one_late(axis: AxisWindows) -> AxisWindows:
    """Mutant: every window begins one element late."""
    return replace(axis, begin=axis.begin - 1)


def without_begin(axis: AxisWindows) -> AxisWindows:
    """Mutant: nothing is cut off before the image."""
    return replace(axis, begin=0)


def without_dilation(axis: AxisWindows) -> AxisWindows:
    """Mutant: what falls beside an element is next to it, whatever the dilation."""
    return replace(axis, dilation=1)


def without_stride(axis: AxisWindows) -> AxisWindows:
    """Mutant: elements fall side by side, whatever the stride."""
    return replace(axis, stride=1)


def elsewhere(change: Callable[[AxisWindows], AxisWindows]) -> Transposed:
    """Return a mutant of ConvTranspose: the windows along each axis are changed by `change`.

    What is computed with them, and the attributes, are the formula's.
    """

    def convolution(X: Array, W: Array, B: Array, windows: Windows, group: int) -> Array:
        moved = replace(windows, axes=tuple(map(change, windows.axes)))
        return added_up(X, W, B, moved, group)

    return Transposed(convolution)


CONV_TRANSPOSE.mutant_table(
    {
        "windows_one_late": ("everything fell one element late", elsewhere(one_late)),
        "pads_in_the_size_only": ("nothing was cut off before the image", elsewhere(without_begin)),
        "dilation_ignored_in_the_kernel": (
            "dilations counted for the output's size alone",
            elsewhere(without_dilation),
        ),
        "stride_ignored_in_places": (
            "strides counted for the output's size alone",
            elsewhere(without_stride),
        ),
    },
    build=conv_transpose,
)


def pads_interleaved(placement: Placement) -> Placement:
    """Mutant: x1_begin, x1_end, x2_begin, …"""
    pads = placement.pads
    return replace(placement, pads=[*pads[::2], *pads[1::2]])


def pads_ends_first(placement: Placement) -> Placement:
    """Mutant: the ends come before the beginnings."""
    axes = len(placement.lengths)
    pads = placement.pads
    return replace(placement, pads=[*pads[axes:], *pads[:axes]])


def pads_from_the_last_axis(placement: Placement) -> Placement:
    """Mutant: the last axis comes first, in the beginnings and in the ends."""
    axes = len(placement.lengths)
    pads = placement.pads
    return replace(placement, pads=[*pads[:axes][::-1], *pads[axes:][::-1]])


def output_padding_at_the_beginning(placement: Placement) -> Placement:
    """Mutant: as much more is kept before the image as output_padding adds, and less after it."""
    axes = len(placement.lengths)
    begins = zip(placement.pads[:axes], placement.output_padding, strict=True)
    ends = zip(placement.pads[axes:], placement.output_padding, strict=True)
    pads = [*(pad - added for pad, added in begins), *(pad + added for pad, added in ends)]
    return replace(placement, pads=pads)


def output_padding_beside_a_size(placement: Placement) -> Placement:
    """Mutant: output_padding has no part in the padding that a stated size leaves."""
    if placement.output_shape is None:
        return placement
    return replace(placement, output_padding=[0] * len(placement.lengths))


def same_exchanged(placement: Placement) -> Placement:
    """Mutant: SAME_UPPER is SAME_LOWER, and the other way round."""
    auto_pad = placement.auto_pad
    return replace(placement, auto_pad=OTHER_SAME.get(auto_pad, auto_pad))


def same_beside_a_size(placement: Placement) -> Placement:
    """Mutant: auto_pad does not decide where the odd one is beside a stated size."""
    is_stated = placement.output_shape is not None
    return replace(placement, auto_pad="NOTSET" if is_stated else placement.auto_pad)


def size_of_the_input(placement: Placement) -> Placement:
    """Mutant: under SAME the sizes are those of the input."""
    if not placement.is_same or placement.output_shape is not None:
        return placement
    return replace(placement, output_shape=placement.lengths)


CONV_TRANSPOSE.mutant_table(
    {
        name: (text, Transposed(added_up, read))
        for name, text, read in (
            (
                "pads_interleaved",
                "pads were read as x1_begin, x1_end, x2_begin, …",
                pads_interleaved,
            ),
            (
                "pads_ends_first",
                "the ends were read before the beginnings in pads",
                pads_ends_first,
            ),
            (
                "pads_from_the_last_axis",
                "pads were read from the last axis to the first",
                pads_from_the_last_axis,
            ),
            (
                "output_padding_at_the_beginning",
                "output_padding was added before the image",
                output_padding_at_the_beginning,
            ),
            (
                "output_padding_beside_a_size",
                "output_padding was left out of the split of padding",
                output_padding_beside_a_size,
            ),
            ("same_exchanged", "SAME_UPPER and SAME_LOWER were exchanged", same_exchanged),
            (
                "same_beside_a_size",
                "auto_pad was ignored where output_shape was stated",
                same_beside_a_size,
            ),
            (
                "size_of_the_input",
                "the output under SAME was as large as the input",
                size_of_the_input,
            ),
        )
    },
    build=conv_transpose,
)


# ── Col2Im ────────────────────────────────────────────────────────────────────────────────────

#: Makes planes, [N*C, *image], of columns, [N*C, *block, *blocks along each axis].
Joining: TypeAlias = Callable[[Array, Windows], Array]


@formulas_of_versions(18)
def col2im(
    join: Joining,
    input: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return the image, [N, C, *image_shape], of an input [N, C * the block's size, blocks].

    image_shape, block_shape: lists of one length, 2 or more. Overlapping elements are added up by
    `join`, and places that no block holds are 0. strides, dilations: None for 1; pads: None for 0.

    Raises InvalidNode for other ranks or lengths; sizes, strides, dilations or pads out of range; a
    block larger than the padded image by more than a stride; and where there are more blocks, or
    fewer, than lie in the image. An image without elements or blocks may be refused so too:
    EMPTY_IMAGE. Raises NotSupported for sums of texts or booleans, and for texts where no block is;
    while judging also where integers overflow or complex sums are rounded. Raises MemoryError for
    more than 2^28 blocks of all batches.
    """
    image = listed("image_shape", image_shape)
    block = listed("block_shape", block_shape)
    if input.ndim != 3 or len(image) < 2 or len(block) != len(image) or min(image + block) < 0:
        raise InvalidNode(f"{list(input.shape)} of blocks {block} for an image {image}")
    batch, rows, count = input.shape
    terms = prod(block)
    windows = windows_of((batch, 1, *image), block, strides, dilations, pads)
    blocks = windows.shape[2:]
    if rows % terms or count != prod(blocks):
        raise InvalidNode(f"{list(input.shape)}; allowed: N×C·{terms}×{blocks}")
    check_image(count, *image)
    outer = batch, rows // terms
    columns = xp.reshape(input, (prod(outer), *block, *blocks))
    return xp.reshape(join(columns, windows), (*outer, *image))


@COL2IM.formula(build=col2im)
def put_back(columns: Array, windows: Windows) -> Array:
    """Return planes with the elements of blocks where they were, added up where they overlap.

    columns: [N*C, *block, *blocks along each axis]; the result: [N*C, *image], 0 where no block is.

    Raises NotSupported for booleans or texts that overlap, and for texts where no block is; while
    judging also where a sum of integers overflows or one of complex numbers is rounded. `windows`
    lie over the image.
    """
    over = number_of_blocks(columns, windows)
    kind = columns.dtype.kind
    is_added = (over > 1).any()
    if (kind in "bO" and is_added) or (kind == "O" and not over.all()):
        raise_unspecified("sums of texts or truth values, nor of no text")
    if kind == "O":
        places = windows.folded(np.arange(columns.size).reshape(columns.shape))
        return columns.reshape(-1)[places]
    y = xp.sums(columns, windows.folded, over)
    if kind in "iuc" and (y != windows.folded(columns.astype(np.clongdouble))).any():
        leave_open("nothing is said of integers out of range, nor of how complex sums are rounded")
    return y


def number_of_blocks(columns: Array, windows: Windows) -> NDArray[np.intp]:
    """Return how many blocks hold each element of the image, in the image's shape."""
    ones = np.ones((1, *columns.shape[1:]), np.intp)
    counts: NDArray[np.intp] = windows.folded(ones)[0]
    return counts


# ── mutants of Col2Im ─────────────────────────────────────────────────────────────────────────


def overwritten(columns: Array, windows: Windows) -> Array:
    """Mutant: of blocks that overlap the last one is in the image.

    columns: [N*C, *block, *blocks along each axis]; the result: [N*C, elements of the image].
    """
    lengths = [axis.length for axis in windows.axes]
    # What stands for padding is the last element.
    planes = np.zeros((len(columns), prod(lengths) + 1), columns.dtype)
    places = windows.places(lengths)
    planes[:, places] = columns.reshape(len(columns), *places.shape)
    return planes[:, :-1]


def mean(columns: Array, windows: Windows) -> Array:
    """Mutant: blocks that overlap are averaged.

    Raises NotSupported for booleans or texts that overlap, and for texts where no block is; while
    judging also where a sum of integers overflows or one of complex numbers is rounded.
    """
    over = np.maximum(number_of_blocks(columns, windows), 1)
    y = put_back(columns, windows)
    return y if y.dtype.kind in "bO" else (y / over).astype(y.dtype)


def blocks_in_columns(columns: Array, windows: Windows) -> Array:
    """Mutant: blocks are enumerated from the last axis on.

    Raises NotSupported for booleans or texts that overlap, and for texts where no block is; while
    judging also where a sum of integers overflows or one of complex numbers is rounded.
    """
    n = len(windows.axes)
    return put_back(with_axes_reversed(columns, slice(n + 1, None)), windows)


def places_in_columns(columns: Array, windows: Windows) -> Array:
    """Mutant: places in a block are enumerated from the last axis on.

    Raises NotSupported for booleans or texts that overlap, and for texts where no block is; while
    judging also where a sum of integers overflows or one of complex numbers is rounded.
    """
    n = len(windows.axes)
    return put_back(with_axes_reversed(columns, slice(1, n + 1)), windows)


def with_axes_reversed(columns: Array, part: slice) -> Array:
    """Return the columns with the elements along some axes read in column-major order, for mutants.

    part: a slice of the numbers of axes. The shape stays.
    """
    shape = [*columns.shape]
    axes = [*range(columns.ndim)]
    shape[part] = shape[part][::-1]
    axes[part] = axes[part][::-1]
    return columns.reshape(shape).transpose(axes)


def channels_last(columns: Array, windows: Windows) -> Array:
    """Mutant: channels come after the places of a block.

    Raises NotSupported for booleans or texts that overlap, and for texts where no block is; while
    judging also where a sum of integers overflows or one of complex numbers is rounded.
    """
    batch = max(1, windows.outer[0])
    terms = prod(axis.kernel for axis in windows.axes)
    split = columns.reshape(batch, terms, len(columns) // batch, prod(windows.shape[2:]))
    return put_back(split.swapaxes(1, 2).reshape(columns.shape), windows)


COL2IM.mutant_table(
    {
        "overwritten": ("of blocks that overlap the last one held", overwritten),
        "mean": ("blocks that overlap were averaged", mean),
        "channels_last": ("channels came after the places of a block", channels_last),
        "blocks_in_columns": (
            "blocks were enumerated from the last axis on",
            blocks_in_columns,
        ),
        "places_in_columns": (
            "places in a block were enumerated from the last axis on",
            places_in_columns,
        ),
    },
    build=col2im,
)
