"""ConvTranspose (1, 11, 22): each element of the input times a filter, added up where it falls."""

from dataclasses import replace
from functools import partial
from math import gcd, prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import AUTO_PADS, AxisWindows, Windows, check_each, check_size
from opcheck.engine.operators import is_open, operator
from opcheck.engine.ops.conv import grouped, matmul
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

OP = operator("ConvTranspose")


def of_windows(convolution, reading=lambda asked: {}):
    """The formulas of all versions, from `convolution(X, W, B, windows, group)`.

    The windows lie over the output, one for each element of the input. `reading` gives what is
    asked otherwise.
    """

    def formula(since, X, W, B=None, *, kernel_shape, strides, dilations, pads, auto_pad, group,
                output_padding, output_shape):  # fmt: skip
        n, shape = X.ndim - 2, (X.shape[0], W.shape[1] * group if W.ndim > 1 else 0)
        if n < 1 or W.ndim != X.ndim or group < 1 or X.shape[1] != W.shape[0] or W.shape[0] % group:
            raise InvalidNode(f"X {list(X.shape)} and W {list(W.shape)} do not fit group {group}")
        if kernel_shape is not None and tuple(kernel_shape) != tuple(W.shape[2:]):
            raise InvalidNode(f"kernel_shape {list(kernel_shape)}, and W is {list(W.shape)}")
        if B is not None and tuple(B.shape) != shape[1:]:
            raise InvalidNode(f"B of shape {list(B.shape)}; allowed: {list(shape[1:])}")
        if auto_pad not in AUTO_PADS or (pads is not None and auto_pad != "NOTSET"):
            raise InvalidNode(f"auto_pad {auto_pad!r} and pads {pads}")
        if since == 1 and output_shape and len(output_shape) == n + 2:
            raise NotSupported("version 1 does not say whether a shape has batches and channels")
        asked = {"auto_pad": auto_pad, "stated": output_shape is not None, "lengths": X.shape[2:]}
        for name, values, count, least in (
            ("strides", strides, n, 1), ("dilations", dilations, n, 1), ("pads", pads, 2 * n, 0),
            ("output_padding", output_padding, n, 0), ("output_shape", output_shape, n, 0),
        ):  # fmt: skip
            asked[name] = [least] * count if values is None else [*values]
            check_each(name, asked[name], count, "one" if count == n else "two", least)
        axes = axes_of(since, W.shape[2:], **asked | reading(asked))
        check_size((*shape, *(axis.length for axis in axes)))
        if not np.isfinite(bare(xp.values_of(W))).all():
            is_open("nothing is said of weights that are no numbers where no element falls")
        return convolution(X, W, B, Windows(shape, axes), group)

    later = partial(formula, 11)
    return {1: partial(formula, 1), 11: later, 22: later}


def axes_of(since, kernel, lengths, strides, dilations, pads, output_padding, output_shape,
            auto_pad, stated):  # fmt: skip
    """The windows along each axis of the output."""
    begins, ends = pads[: len(kernel)], pads[len(kernel) :]
    along = partial(windows_along, since, auto_pad, stated)
    return tuple(map(along, lengths, kernel, strides, dilations, begins, ends, output_padding,
                     output_shape))  # fmt: skip


def windows_along(since, auto_pad, stated, length, kernel, stride, dilation, begin, end, extra,
                  size):  # fmt: skip
    """The windows along an axis of the output, of a size that is stated or follows."""
    if since > 1 and extra >= max(stride, dilation):
        raise InvalidNode(f"output_padding {extra}, stride {stride}, dilation {dilation}")
    if since > 1 and extra >= stride:
        is_open("stride/dilation may be the smaller or the larger of the two")
    is_same = auto_pad.startswith("SAME")
    if since == 1 and (extra or (is_same and (stride > 1 or stated))):
        is_open("version 1 does not say at which side output_padding is, nor what SAME means")
    whole = stride * (length - 1) + extra + (kernel - 1) * dilation + 1
    if stated or is_same:
        size = size if stated else length * stride
        # Of an odd padding one more is before, but under SAME_UPPER; where a size is stated version
        # 1 has it the other way round.
        begin = (whole - size + (auto_pad != "SAME_UPPER" and not (since == 1 and stated))) // 2
    else:
        size = whole - begin - end
    if size < 0 or not kernel:
        raise InvalidNode(f"an output of size {size}, a kernel of {kernel}")
    below_0, is_valid = (stated or is_same) and whole < size, stated and auto_pad == "VALID"
    if below_0 or is_valid or not (size and length):
        is_open("nothing is said of empty images, paddings below 0, nor of VALID beside a size")
    return AxisWindows(size, kernel, stride, dilation, begin, length)


@OP.formula(by=of_windows)
def added_up(X, W, B, windows, group):
    """Each element is the sum of those products that fall on it."""
    # Along an axis only so many offsets of the kernel fall on one element.
    taps = (min(a.size, -(-a.kernel * gcd(a.stride, a.dilation) // a.stride)) for a in windows.axes)
    bias = None if B is None else xp.reshape(B, (-1, *[1] * len(windows.axes)))
    terms = X.shape[1] // group * prod(taps)
    return xp.bilinear(W, X, partial(products, windows, group), terms, bias)


def products(windows, group, w, x):
    """Without bias: the products of each group's filters and elements, added up."""
    each, lengths, kernel = x.shape[1] // group, x.shape[2:], w.shape[2:]
    filters = w.reshape(group, each, prod(w.shape[1:])).swapaxes(1, 2)
    columns = matmul(filters, x.reshape(len(x), group, each, prod(lengths)))
    planes = windows.folded(columns.reshape(prod(windows.outer), *kernel, *lengths))
    return planes.reshape(*windows.outer, *planes.shape[1:])


OPERANDS = {
    "kernel_turned": ("the kernel was turned around",
        lambda X, W, B, group: (X, np.flip(W, axis=tuple(range(2, W.ndim))), B)),
    "kernel_transposed": ("the first two axes of a square kernel were exchanged",
        lambda X, W, B, group: (X, W.swapaxes(2, 3) if W.shape[2:3] == W.shape[3:4] else W, B)),
    "filters_first": ("filters were read as those of Conv, M/group x C", lambda X, W, B, group: (
        X, W.reshape(*W.shape[1::-1], *W.shape[2:]).swapaxes(0, 1), B)),
    "input_channels_in_turns": ("the input's channels went to the groups in turns",
        lambda X, W, B, group: (grouped(X, 1, group), W, B)),
    "filters_in_turns": ("the filters went to the groups in turns",
        lambda X, W, B, group: (X, grouped(W, 0, group), B)),
    "first_group_for_all": ("the first group's filters served for all",
        lambda X, W, B, group: (X, np.concat([W[: len(W) // group]] * group), B)),
    "first_bias_for_all": ("of the bias the first element served for all",
        lambda X, W, B, group: (X, W, None if B is None else np.broadcast_to(B[:1], B.shape))),
}  # fmt: skip
OP.mutant_table(OPERANDS, by=lambda change: of_windows(
    lambda X, W, B, windows, group: added_up(*change(X, W, B, group), windows, group)))  # fmt: skip

AXES = {
    "windows_one_late": ("everything fell one element late", lambda a: {"begin": a.begin - 1}),
    "pads_in_the_size_only": ("nothing was cut off before the image", lambda a: {"begin": 0}),
    "dilation_ignored_in_the_kernel": ("dilations counted for the output's size alone",
        lambda a: {"dilation": 1}),
    "stride_ignored_in_places": ("strides counted for the output's size alone",
        lambda a: {"stride": 1}),
}  # fmt: skip
OP.mutant_table(AXES, by=lambda change: of_windows(
    lambda X, W, B, windows, group: added_up(X, W, B, replace(
        windows, axes=tuple(replace(a, **change(a)) for a in windows.axes)), group)))  # fmt: skip

_OTHER = {"SAME_UPPER": "SAME_LOWER", "SAME_LOWER": "SAME_UPPER"}


def _pads(read):
    """`pads` read in another order, from the beginnings and the ends."""
    return lambda pads, **_: {"pads": [*read(pads[: len(pads) // 2], pads[len(pads) // 2 :])]}


READINGS = {
    "pads_interleaved": ("pads were read as x1_begin, x1_end, x2_begin, …",
        _pads(lambda begins, ends: (*(begins + ends)[::2], *(begins + ends)[1::2]))),
    "pads_ends_first": ("the ends were read before the beginnings in pads",
        _pads(lambda begins, ends: ends + begins)),
    "pads_from_the_last_axis": ("pads were read from the last axis to the first",
        _pads(lambda begins, ends: begins[::-1] + ends[::-1])),
    "output_padding_at_the_beginning": ("output_padding was added before the image",
        lambda pads, output_padding, **_: {"pads": [*map(int.__add__, pads, [
            *(-extra for extra in output_padding), *output_padding])]}),
    "output_padding_beside_a_size": ("output_padding was left out of the split of padding",
        lambda stated, output_padding, **_: {"output_padding": [0] * len(output_padding)}
        if stated else {}),
    "same_exchanged": ("SAME_UPPER and SAME_LOWER were exchanged",
        lambda auto_pad, **_: {"auto_pad": _OTHER.get(auto_pad, auto_pad)}),
    "same_beside_a_size": ("auto_pad was ignored where output_shape was stated",
        lambda auto_pad, stated, **_: {"auto_pad": "NOTSET" if stated else auto_pad}),
    "size_of_the_input": ("the output under SAME was as large as the input",
        lambda auto_pad, stated, lengths, output_shape, **_: {
            "stated": True, "output_shape": output_shape if stated else lengths}
        if auto_pad in _OTHER else {}),
}  # fmt: skip
OP.mutant_table(READINGS, by=lambda change: of_windows(
    added_up, lambda asked: change(**asked)))  # fmt: skip
