"""Convolutions: sums of products of windows and filters, within each group of channels."""

from dataclasses import replace
from functools import partial
from math import gcd, prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine import axes as ax
from opcheck.engine.interpolation import linear
from opcheck.engine.operators import (
    check_one_of,
    check_shape,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.activations import sigmoid
from opcheck.engine.ops.attention import stored
from opcheck.errors import InvalidNode, NotSupported, reject

NAMES = """CausalConvWithState Col2Im Conv ConvTranspose DeformConv"""
CAUSAL, COL2IM, CONV, TRANSPOSE, DEFORM = map(operator, NAMES.split())
matmul = xp.primitive(xp.plain.matmul)
#: The transforms for the points 0, ±1, ±2 and infinity.
TILE = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
KERNEL = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
OUT = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])


def check_filters(X, W, B, kernel_shape, group, turned=False):
    """Raise InvalidNode for filters that X forbids; if `turned`, their first axis is that of X."""
    ranks = f"X of rank {X.ndim} and W of rank {W.ndim}; allowed: both 3 or more"
    reject(X.ndim < 3 or W.ndim != X.ndim, ranks)
    ends = W.shape[1] * group, W.shape[0]
    channels, filters = ends[::-1] if turned else ends
    if group < 1 or X.shape[1] != channels or W.shape[0] % group:
        raise InvalidNode(f"X {list(X.shape)} and W {list(W.shape)} do not fit group {group}")
    if kernel_shape is not None and tuple(kernel_shape) != tuple(W.shape[2:]):
        raise InvalidNode(f"kernel_shape {list(kernel_shape)}, and W is {list(W.shape)}")
    check_shape("B", B, (filters,))


@formula_builder(1, 11, 22)
def of_windows(convolution, X, W, B=None, *, kernel_shape, group, **asked):
    """The formulas of all versions, from `convolution(X, W, B, windows, group)`."""
    check_filters(X, W, B, kernel_shape, group)
    return convolution(X, W, B, ax.windows_of(X.shape, W.shape[2:], **asked), group)


@CONV.formula(build=of_windows)
def by_windows(X, W, B, windows, group):
    """Each element is the sum of the products of a filter and the elements under a window."""
    bias = None if B is None else xp.reshape(B, (-1, *[1] * len(windows.axes)))
    return xp.bilinear(W, X, partial(products, windows, group), prod(W.shape[1:]), bias)


def products(windows, group, w, x, multiply=matmul):
    """Without bias: the matrix of each group's filters times that of the elements under windows."""
    lengths, terms = x.shape[2:], prod(w.shape[1:])
    filters = w.reshape(group, w.shape[0] // group, terms)
    # What stands for padding is the last element.
    x = np.pad(x.reshape(*x.shape[:2], prod(lengths)), [(0, 0), (0, 0), (0, 1)])
    found = []
    for part in windows.portions(x.shape[0] * terms * group):
        # Of a group, as in W: its channels, and within them the places of the kernel.
        under = np.take(x, part.places(lengths), axis=2)
        under = under.reshape(len(x), group, terms, prod(part.shape[2:]))
        found.append(multiply(filters, under).reshape(len(x), len(w), *part.shape[2:]))
    return np.concatenate(found, axis=2)


# The text gives the result and not the way, and shipped kernels make the same sums of a quarter of
# the products. But these errors are in proportion to the largest elements of a tile, not to those
# under a window, and some ten times as large: an output that they alone explains is a warning.
@CONV.alternative("where tiles are filtered by Winograd's F(4×4, 3×3)", build=of_windows)
def by_tiles(X, W, B, windows, group):
    """Tiles of 4×4 elements are made of products of transforms of 6×6, where that goes."""
    axes = windows.axes
    if len(axes) != 2 or any((a.kernel, a.stride, a.dilation) != (3, 1, 1) for a in axes):
        return by_windows(X, W, B, windows, group)
    (n, channels, *lengths), (filters, each, *_) = X.shape, W.shape
    counts = [-(-axis.size // 4) for axis in axes]
    tiles = [replace(a, kernel=6, stride=4, size=k) for a, k in zip(axes, counts, strict=True)]
    places = ax.Windows((n, channels), tuple(tiles)).places(lengths)
    # What stands for padding is the last element.
    x = xp.pad(xp.reshape(X, (n, channels, prod(lengths))), ((0, 0), (0, 0), (0, 1)))
    x = transformed(TILE, xp.take(x, places, axis=2), 2)
    w = transformed(KERNEL, xp.reshape(W, (filters, each, 9)), 2)
    w = xp.reshape(w, (36, 1, group, filters // group, each))
    y = xp.matmul(w, xp.reshape(x, (36, n, group, each, prod(counts))))
    y = xp.reshape(transformed(OUT, y, 0), (4, 4, n, filters, *counts))
    y = xp.reshape(xp.permute_dims(y, (2, 3, 4, 0, 5, 1)), (n, filters, *(4 * k for k in counts)))
    y = y[:, :, : axes[0].size, : axes[1].size]
    return y if B is None else y + xp.reshape(B, (-1, 1, 1))


def transformed(matrix, x, axis):
    """Both axes of a square, which `axis` holds, transformed one after the other."""
    both = partial(np.tensordot, axes=([1], [axis]))
    return xp.bilinear(np.kron(matrix, matrix), x, both, 2 * matrix.shape[1])


def grouped(array, axis, group):
    """`array` with the channels of its groups taken in turns along `axis`."""
    shape = array.shape
    split = xp.reshape(array, (*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :]))
    return xp.reshape(split.swapaxes(axis, axis + 1), shape)


def with_operands(by, convolution, change):
    return by(lambda X, W, B, *of: convolution(*change(X, W, B, of[1]), *of))


def outputs_in_turns(X, W, B, windows, group):
    y = grouped(by_windows(X, W, None, windows, group), 1, group)
    return y if B is None else y + xp.reshape(B, (-1, *[1] * (X.ndim - 2)))


OPERANDS = {
    "kernel_turned": (
        "the kernel was turned around, as in mathematics",
        lambda X, W, B, group: (X, xp.flip(W, axis=tuple(range(2, W.ndim))), B),
    ),
    "last_tap_missing": (
        "the last tap of each filter was left out",
        lambda X, W, B, group: (
            X,
            np.where(np.arange(prod(W.shape[2:]))[::-1].reshape(W.shape[2:]), W, W.dtype.type(0)),
            B,
        ),
    ),
    "kernel_transposed": (
        "the first two axes of the kernel were exchanged where it is square",
        lambda X, W, B, group: (X, W.swapaxes(2, 3) if W.shape[2:3] == W.shape[3:4] else W, B),
    ),
    "input_channels_in_turns": (
        "the input's channels went to the groups in turns",
        lambda X, W, B, group: (grouped(X, 1, group), W, B),
    ),
    "filters_in_turns": (
        "the filters went to the groups in turns",
        lambda X, W, B, group: (X, grouped(W, 0, group), B),
    ),
    "first_group_for_all": (
        "the first group's filters served for all",
        lambda X, W, B, group: (X, xp.concat([W[: len(W) // group]] * group), B),
    ),
    "first_bias_for_all": (
        "of the bias the first element served for all",
        lambda X, W, B, group: (X, W, None if B is None else xp.broadcast_to(B[:1], B.shape)),
    ),
}
CONV.mutant_table(OPERANDS, build=partial(with_operands, of_windows, by_windows))
CONV.mutant_table(
    {
        "groups_in_turns": (
            "each filter was given the next group of channels",
            lambda X, W, B, windows, group: outputs_in_turns(
                X, grouped(W, 0, W.shape[0] // group), B, windows, group
            ),
        ),
        "outputs_in_turns": (
            "the filters' outputs were written in turns of the groups",
            outputs_in_turns,
        ),
    },
    build=of_windows,
)


# ConvTranspose: each element of the input times a filter, added up where it falls.
@formula_builder(each={1: 1, 11: 11, 22: 11}, options=["reading"])
def of_places(
    convolution,
    since,
    X,
    W,
    B=None,
    *,
    kernel_shape,
    strides,
    dilations,
    pads,
    auto_pad,
    group,
    output_padding,
    output_shape,
    reading=lambda asked: {},
):
    """The formulas of all versions, from `convolution(X, W, B, windows, group)`.

    The windows lie over the output, one for an input element. `reading` gives what else is asked.
    """
    check_filters(X, W, B, kernel_shape, group, turned=True)
    n, shape = X.ndim - 2, (X.shape[0], W.shape[1] * group)
    if auto_pad not in ax.AUTO_PADS or (pads is not None and auto_pad != "NOTSET"):
        raise InvalidNode(f"auto_pad {auto_pad!r} and pads {pads}")
    if since == 1 and output_shape and len(output_shape) == n + 2:
        raise NotSupported("version 1 does not say whether a shape has batches and channels")
    asked = {"auto_pad": auto_pad, "stated": output_shape is not None, "lengths": X.shape[2:]}
    for name, values, *least_and_sides in (
        ("strides", strides),
        ("dilations", dilations),
        ("pads", pads, 0, 2),
        ("output_padding", output_padding, 0),
        ("output_shape", output_shape, 0),
    ):
        asked[name] = ax.for_axes(name, values, n, *least_and_sides)
    asked |= reading(asked)
    begins, ends = asked["pads"][:n], asked["pads"][n:]
    along = partial(windows_on, since, asked["auto_pad"], asked["stated"])
    axes = tuple(
        map(
            along,
            asked["lengths"],
            W.shape[2:],
            asked["strides"],
            asked["dilations"],
            begins,
            ends,
            asked["output_padding"],
            asked["output_shape"],
        )
    )
    ax.check_size((*shape, *(axis.length for axis in axes)))
    if not xp.isfinite(W).all():
        leave_open("nothing is said of weights that are no numbers where no element falls")
    return convolution(X, W, B, ax.Windows(shape, axes), group)


def windows_on(since, auto_pad, stated, length, kernel, stride, dilation, begin, end, extra, size):
    """The windows along an axis of the output, of a size that is stated or follows."""
    if since > 1 and extra >= max(stride, dilation):
        raise InvalidNode(f"output_padding {extra}, stride {stride}, dilation {dilation}")
    if since > 1 and extra >= stride:
        leave_open("stride/dilation may be the smaller or the larger one")
    is_same = auto_pad.startswith("SAME")
    if since == 1 and (extra or (is_same and (stride > 1 or stated))):
        leave_open("version 1 does not say at which side output_padding is, nor what SAME means")
    whole = stride * (length - 1) + extra + (kernel - 1) * dilation + 1
    if stated or is_same:
        size = size if stated else length * stride
        # Of an odd padding one more is before, but under SAME_UPPER; where a size is stated version
        # 1 has it the other way round.
        begin = (whole - size + (auto_pad != "SAME_UPPER" and not (since == 1 and stated))) // 2
    else:
        size = whole - begin - end
    reject(size < 0 or not kernel, f"an output of size {size}, a kernel of {kernel}")
    below_0, is_valid = (stated or is_same) and whole < size, stated and auto_pad == "VALID"
    if below_0 or is_valid or not (size and length):
        leave_open("nothing is said of empty images, paddings below 0, nor of VALID beside a size")
    return ax.AxisWindows(size, kernel, stride, dilation, begin, length)


@TRANSPOSE.formula(build=of_places)
def added_up(X, W, B, windows, group):
    """Each element is the sum of those products that fall on it."""
    # Along an axis only so many offsets of the kernel fall on one element.
    taps = (min(a.size, -(-a.kernel * gcd(a.stride, a.dilation) // a.stride)) for a in windows.axes)
    bias = None if B is None else xp.reshape(B, (-1, *[1] * len(windows.axes)))
    terms = X.shape[1] // group * prod(taps)
    return xp.bilinear(W, X, partial(folded, windows, group), terms, bias)


def folded(windows, group, w, x):
    """Without bias: the products of each group's filters and elements, added up."""
    each, lengths, kernel = x.shape[1] // group, x.shape[2:], w.shape[2:]
    filters = w.reshape(group, each, prod(w.shape[1:])).swapaxes(1, 2)
    columns = matmul(filters, x.reshape(len(x), group, each, prod(lengths)))
    planes = windows.folded(columns.reshape(prod(windows.outer), *kernel, *lengths))
    return planes.reshape(*windows.outer, *planes.shape[1:])


TRANSPOSE.mutant_table(
    {
        **OPERANDS,
        "filters_first": (
            "filters were read as those of Conv, M/group x C",
            lambda X, W, B, group: (X, W.reshape(*W.shape[1::-1], *W.shape[2:]).swapaxes(0, 1), B),
        ),
    },
    build=partial(with_operands, of_places, added_up),
)

TRANSPOSE.mutant_table(
    {
        "windows_one_late": ("everything fell one element late", lambda a: {"begin": a.begin - 1}),
        "pads_in_the_size_only": ("nothing was cut off before the image", lambda a: {"begin": 0}),
        "dilation_ignored_in_the_kernel": (
            "dilations counted for the output's size alone",
            lambda a: {"dilation": 1},
        ),
        "stride_ignored_in_places": (
            "strides counted for the output's size alone",
            lambda a: {"stride": 1},
        ),
    },
    build=lambda change: of_places(
        lambda X, W, B, windows, group: added_up(
            X,
            W,
            B,
            replace(windows, axes=tuple(replace(a, **change(a)) for a in windows.axes)),
            group,
        )
    ),
)

TRANSPOSE.mutant_table(
    {
        "pads_interleaved": (
            "pads were read as x1_begin, x1_end, x2_begin, …",
            lambda pads, **_: {"pads": pads[::2] + pads[1::2]},
        ),
        "pads_ends_first": (
            "the ends were read before the beginnings in pads",
            lambda pads, **_: {"pads": pads[(n := len(pads) // 2) :] + pads[:n]},
        ),
        "pads_from_the_last_axis": (
            "pads were read from the last axis to the first",
            lambda pads, **_: {"pads": pads[: (n := len(pads) // 2)][::-1] + pads[n:][::-1]},
        ),
        "output_padding_at_the_beginning": (
            "output_padding was added before the image",
            lambda pads, output_padding, **_: {
                "pads": [
                    *map(
                        int.__add__, pads, [*(-extra for extra in output_padding), *output_padding]
                    )
                ]
            },
        ),
        "output_padding_beside_a_size": (
            "output_padding was left out of the split of padding",
            lambda stated, output_padding, **_: (
                {"output_padding": [0] * len(output_padding)} if stated else {}
            ),
        ),
        "same_exchanged": (
            "SAME_UPPER and SAME_LOWER were exchanged",
            lambda auto_pad, **_: {"auto_pad": ax.OTHER_SAME.get(auto_pad, auto_pad)},
        ),
        "same_beside_a_size": (
            "auto_pad was ignored where output_shape was stated",
            lambda auto_pad, stated, **_: {"auto_pad": "NOTSET" if stated else auto_pad},
        ),
        "size_of_the_input": (
            "the output under SAME was as large as the input",
            lambda auto_pad, stated, lengths, output_shape, **_: (
                {"stated": True, "output_shape": output_shape if stated else lengths}
                if auto_pad in ax.OTHER_SAME
                else {}
            ),
        ),
    },
    build=lambda change: of_places(added_up, reading=lambda asked: change(**asked)),
)


# DeformConv: a convolution of what is sampled beside the places of the kernel.
def offsets(x, groups, kernel, axes, sizes):
    """The offset along each axis: of shape N × groups × kernel × places of the output."""
    split = xp.reshape(x, (x.shape[0], groups, *kernel, axes, *sizes))
    return [split[(*[slice(None)] * (2 + axes), axis)] for axis in range(axes)]


@formula_builder(19, 22, options=["share", "change"])
def of_samples(
    read,
    X,
    W,
    offset,
    B=None,
    mask=None,
    *,
    kernel_shape,
    strides,
    dilations,
    pads,
    group,
    offset_group,
    share=lambda place, at: linear(xp.abs(place - at)),
    change=lambda X, W, mask, *groups: (X, W, mask),
):
    """Both versions, from what offsets are read as, the shares, and a change of tensors."""
    check_filters(X, W, B, kernel_shape, group)
    if offset_group < 1 or X.shape[1] % offset_group:
        raise InvalidNode(f"offset_group {offset_group} of X {list(X.shape)}")
    n, kernel = X.ndim - 2, tuple(W.shape[2:])
    windows = ax.windows_of(X.shape, kernel, strides, dilations, pads)
    sizes, batch = windows.shape[2:], X.shape[0]
    count = offset_group * prod(kernel)
    check_shape("offset", offset, (batch, count * n, *sizes))
    if mask is not None and n > 1 and mask.shape == offset.shape:
        raise_unspecified("masks for each axis")
    check_shape("mask", mask, (batch, count, *sizes))
    X, W, mask = change(X, W, mask, group, offset_group)
    if not all(xp.isfinite(x).all() for x in (X, offset)):
        raise_unspecified("what lies between numbers and none")
    # Where each element under the kernel would be without an offset.
    steps = np.ix_(*map(np.arange, (*kernel, *sizes)))
    places, margins = read(offset, offset_group, kernel, n, sizes), []
    for a, axis in enumerate(windows.axes):
        base = steps[n + a] * float(axis.stride) + steps[a] * float(axis.dilation) - axis.begin
        places[a] = places[a] + base
        margins.append((axis.begin, pads[n + a] if pads else 0))
    taken = sampled(X, places, margins, share)
    if mask is not None:
        taken = taken * xp.reshape(mask, (batch, offset_group, 1, prod(kernel + sizes)))
    filters, terms = W.shape[0], prod(W.shape[1:])

    def products(w, x):
        under = x.reshape(batch, group, terms, prod(sizes))
        y = matmul(w.reshape(group, filters // group, terms), under)
        return y.reshape(batch, filters, *sizes)

    bias = None if B is None else xp.reshape(B, (-1, *[1] * n))
    return xp.astype(xp.bilinear(W, taken, products, terms, bias), X.dtype)


def sampled(X, places, pads, share, reach=1):
    """X at the places, of shape N × groups × channels of each × places; 0 outside.

    So many elements on either side of a place have a share.
    """
    (batch, channels, *lengths), groups = X.shape, places[0].shape[1]
    count, size = prod(places[0].shape[2:]), prod(lengths)
    flat, held, shares, taps = 0, True, None, 1
    # Rounded, a place may lie beside them.
    near = np.arange(-reach, reach + 2).reshape(1, 1, 1, -1, 1)
    for place, length, pad in zip(places, lengths, pads, strict=True):
        at = xp.values_of(place)
        outside = [(at > -1) & (at < 0), (at > length - 1) & (at < length)]
        if any(some.any() and not wide for some, wide in zip(outside, pad, strict=True)):
            leave_open("what lies half outside the padded tensor is 0, or interpolated with 0")
        first = np.floor(np.clip(at, -3, length + 3)).astype(np.int64)
        index = first.reshape(batch, groups, 1, 1, count) + near
        parts = share(xp.reshape(place, (batch, groups, 1, 1, count)), index.astype(np.float64))
        shares = parts if shares is None else shares * parts
        flat, held = flat * length + index, held & (index >= 0) & (index < length)
        taps *= near.size
        flat, held = (x.reshape(batch, groups, taps, 1, count) for x in (flat, held))
        shares = xp.reshape(shares, (batch, groups, taps, 1, count))
    planes = xp.reshape(X, (batch, groups, channels // groups, size))
    planes = xp.pad(planes, [(0, 0)] * 3 + [(0, 1)])
    taken = np.where(held, flat, size).reshape(batch, groups, 1, taps * count)
    under = xp.reshape(xp.take_along_axis(planes, taken, axis=3), (*planes.shape[:3], taps, count))
    terms = under * xp.reshape(shares, (batch, groups, 1, taps, count))
    return xp.sums(terms, partial(np.sum, axis=3), (2 * reach) ** len(lengths))


DEFORM.formula(build=of_samples)(offsets)
DEFORM.mutant_table(
    {
        "x_before_y": (
            "the offsets along the last axis came first",
            lambda *of: offsets(*of)[::-1],
        ),
        "axes_outside_the_kernel": (
            "all offsets along one axis came before those along the next",
            lambda x, groups, kernel, axes, sizes: [
                *np.moveaxis(x.reshape(x.shape[0], groups, axes, *kernel, *sizes), 2, 0)
            ],
        ),
        "kernel_by_columns": (
            "offsets came by the columns of the kernel",
            lambda x, groups, kernel, axes, sizes: [
                np.moveaxis(one, range(2, 2 + axes), range(1 + axes, 1, -1))
                for one in offsets(x, groups, kernel[::-1], axes, sizes)
            ],
        ),
        "offsets_subtracted": (
            "offsets were subtracted",
            lambda *of: [-one for one in offsets(*of)],
        ),
        "first_offsets_for_all": (
            "the first group's offsets served for all",
            lambda *of: [xp.broadcast_to(one[:, :1], one.shape) for one in offsets(*of)],
        ),
    },
    build=of_samples,
)
DEFORM.mutant(
    "the nearest element was taken", name="nearest", build=lambda by: of_samples(offsets, share=by)
)(lambda place, at: (np.floor(place + 0.5) == at) * 1.0)
DEFORM.mutant_table(
    {
        "input_channels_in_turns": (
            "the input's channels went to the groups of offsets in turns",
            lambda X, W, mask, group, by: (grouped(X, 1, by), W, mask),
        ),
        "filters_in_turns": (
            "the filters went to the groups in turns",
            lambda X, W, mask, group, by: (X, grouped(W, 0, group), mask),
        ),
        "mask_in_turns": (
            "the mask went to the groups of offsets in turns",
            lambda X, W, mask, group, by: (X, W, None if mask is None else grouped(mask, 1, by)),
        ),
        "kernel_turned": (
            "the kernel was turned around, as in mathematics",
            lambda X, W, mask, *of: (X, xp.flip(W, axis=tuple(range(2, W.ndim))), mask),
        ),
    },
    build=lambda change: of_samples(offsets, change=change),
)


# CausalConvWithState: each channel's sums of products of its last elements and a kernel.
@formula_builder(27, options=["keep", "activated", "state"])
def of_channels(
    convolution,
    input,
    weight,
    bias=None,
    past_state=None,
    *,
    activation,
    keep=lambda x, dtype: x,
    activated=lambda y: y * sigmoid(y),
    state=lambda x, length: x[:, :, length:],
):
    """Version 27, from `convolution(x, weight, bias)`, where x begins with the state."""
    kernel = weight.shape[-1] if weight.ndim == 3 else 0
    channels = input.shape[1:2]
    if input.ndim != 3 or not kernel or weight.shape != (*channels, 1, kernel):
        raise InvalidNode(f"input {list(input.shape)} and weight {list(weight.shape)}")
    before = (*input.shape[:2], kernel - 1)
    check_shape("bias", bias, channels)
    check_shape("past_state", past_state, before)
    check_one_of("activation", activation, "silu", "swish", "none")
    past = np.zeros(before, np.float32) if past_state is None else past_state
    x = xp.concat([xp.astype(past, input.dtype), input], axis=2)
    y = keep(convolution(x, weight, bias), input.dtype)
    return y if activation == "none" else activated(y), state(x, input.shape[2])


@CAUSAL.formula(build=of_channels)
@CAUSAL.alternative("", build=partial(of_channels, keep=stored))  # as in the function body
def over_time(x, weight, bias):
    if not x.size:
        return x[..., weight.shape[2] - 1 :]
    return by_windows(x, weight, bias, ax.windows_of(x.shape, weight.shape[2:]), x.shape[1])


def ahead(x, weight, bias):
    """With as many elements that follow as precede, and zeros behind the last."""
    half = weight.shape[2] // 2
    return over_time(np.concat([x[..., half:], np.zeros_like(x[..., :half])], axis=2), weight, bias)


CAUSAL.mutant_table(
    {
        "kernel_turned": (
            "the kernel was turned around, as in mathematics",
            lambda x, weight, bias: over_time(x, weight[..., ::-1], bias),
        ),
        "ahead": ("half of the kernel stood on elements that follow", ahead),
        "first_kernel_for_all": (
            "the first channel's kernel served for all",
            lambda x, weight, bias: over_time(x, np.broadcast_to(weight[:1], weight.shape), bias),
        ),
        "first_bias_for_all": (
            "of the bias the first element served for all",
            lambda x, w, b: over_time(x, w, b if b is None else np.broadcast_to(b[:1], b.shape)),
        ),
    },
    build=of_channels,
)
CAUSAL.mutant_table(
    {
        "sigmoid_alone": ("the sigmoid did not multiply its argument", {"activated": sigmoid}),
        "first_elements_kept": (
            "the first elements became the state, not the last",
            {"state": lambda x, length: x[:, :, : x.shape[2] - length]},
        ),
        "zeros_before_short_inputs": (
            "of inputs shorter than the state the past was not kept",
            {
                "state": lambda x, length: np.where(
                    np.arange(x.shape[2]) < x.shape[2] - length, 0, x
                )[:, :, length:].astype(x.dtype)
            },
        ),
    },
    build=lambda steps: of_channels(over_time, **steps),
)


# Col2Im: blocks go back to where they were in an image, added up where they overlap.
@formula_builder(18)
def of_blocks(joined, input, image_shape, block_shape, *, dilations, pads, strides):
    """The formula, from `joined(columns, windows)`; `columns` are planes×block×blocks."""
    image, block = ax.listed("image_shape", image_shape), ax.listed("block_shape", block_shape)
    if input.ndim != 3 or len(image) < 2 or len(block) != len(image) or min(image + block) < 0:
        raise InvalidNode(f"{list(input.shape)} of blocks {block} for an image {image}")
    terms = prod(block)
    windows = ax.windows_of((input.shape[0], 1, *image), block, strides, dilations, pads)
    if input.shape[1] % terms or input.shape[2] != prod(windows.shape[2:]):
        raise InvalidNode(f"{list(input.shape)}; allowed: N×C·{terms}×{windows.shape[2:]}")
    if not (input.shape[2] and prod(image)):
        leave_open("nothing is said of empty images or no block")
    outer = input.shape[0], input.shape[1] // terms
    columns = xp.reshape(input, (prod(outer), *block, *windows.shape[2:]))
    return xp.reshape(joined(columns, windows), (*outer, *image))


@COL2IM.formula(build=of_blocks)
def put_back(columns, windows):
    over, kind = windows.folded(np.ones((1, *columns.shape[1:]), np.intp))[0], columns.dtype.kind
    if (kind in "bO" and (over > 1).any()) or (kind == "O" and not over.all()):
        raise_unspecified("sums of texts or truth values, nor of no text")
    if kind == "O":
        return columns.reshape(-1)[windows.folded(np.arange(columns.size).reshape(columns.shape))]
    y = xp.sums(columns, windows.folded, over)
    if kind in "iuc" and (y != windows.folded(columns.astype(np.clongdouble))).any():
        leave_open("nothing is said of integers out of range, nor of how complex sums are rounded")
    return y


def overwritten(columns, windows):
    lengths = [axis.length for axis in windows.axes]
    y = np.zeros((len(columns), prod(lengths) + 1), columns.dtype)
    places = windows.places(lengths)
    y[:, places] = columns.reshape(len(columns), *places.shape)
    return y[:, :-1]


def mean(columns, windows):
    over = np.maximum(windows.folded(np.ones((1, *columns.shape[1:]), np.intp)), 1)
    y = put_back(columns, windows)
    return y if y.dtype.kind in "bO" else (y / over).astype(y.dtype)


def in_columns(of, columns, windows):
    """The axes `of(n)` read in the order of columns."""
    shape, axes, part = [*columns.shape], [*range(columns.ndim)], of(len(windows.axes))
    shape[part], axes[part] = shape[part][::-1], axes[part][::-1]
    return put_back(columns.reshape(shape).transpose(axes), windows)


def channels_last(columns, windows):
    n, terms = max(1, windows.outer[0]), prod(axis.kernel for axis in windows.axes)
    split = columns.reshape(n, terms, len(columns) // n, prod(windows.shape[2:]))
    return put_back(split.swapaxes(1, 2).reshape(columns.shape), windows)


COL2IM.mutant_table(
    {
        "overwritten": ("of blocks that overlap the last one held", overwritten),
        "mean": ("blocks that overlap were averaged", mean),
        "channels_last": ("channels came after the places of a block", channels_last),
        "blocks_in_columns": (
            "blocks were enumerated from the last axis on",
            partial(in_columns, lambda n: slice(n + 1, None)),
        ),
        "places_in_columns": (
            "places in a block were enumerated from the last axis on",
            partial(in_columns, lambda n: slice(1, n + 1)),
        ),
    },
    build=of_blocks,
)
