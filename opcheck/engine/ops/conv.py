"""Conv (1, 11, 22): sums of products of windows and filters, within each group of channels."""

from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import Windows, windows_of
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode
from opcheck.numbers import plain, primitive

OP = operator("Conv")
matmul = primitive(plain.matmul)


def of_windows(convolution):
    """The formulas of all versions, from `convolution(X, W, B, windows, group)`."""

    def formula(X, W, B=None, *, kernel_shape, strides, dilations, pads, auto_pad, group):
        if X.ndim < 3 or W.ndim != X.ndim:
            raise InvalidNode(f"X of rank {X.ndim} and W of rank {W.ndim}; allowed: both 3 or more")
        if group < 1 or X.shape[1] != W.shape[1] * group or W.shape[0] % group:
            raise InvalidNode(f"X {list(X.shape)} and W {list(W.shape)} do not fit group {group}")
        if kernel_shape is not None and tuple(kernel_shape) != tuple(W.shape[2:]):
            raise InvalidNode(f"kernel_shape {list(kernel_shape)}, and W is {list(W.shape)}")
        if B is not None and tuple(B.shape) != (W.shape[0],):
            raise InvalidNode(f"B of shape {list(B.shape)}; allowed: [{W.shape[0]}]")
        windows = windows_of(X.shape, W.shape[2:], strides, dilations, pads, auto_pad)
        return convolution(X, W, B, windows, group)

    return dict.fromkeys((1, 11, 22), formula)


@OP.formula(by=of_windows)
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


# The text says what is computed and not how, and shipped kernels make the same sums of a quarter of
# the products. But these errors are in proportion to the largest elements of a tile, not to those
# under a window, and some ten times as large: an output that they alone explains is a warning.
@OP.also_honest("where tiles are filtered by Winograd's F(4×4, 3×3)", by=of_windows)
def by_tiles(X, W, B, windows, group):
    """Tiles of 4×4 elements are made of products of transforms of 6×6, where that goes."""
    axes = windows.axes
    if len(axes) != 2 or any((a.kernel, a.stride, a.dilation) != (3, 1, 1) for a in axes):
        return by_windows(X, W, B, windows, group)
    (n, channels, *lengths), (filters, each, *_) = X.shape, W.shape
    counts = [-(-axis.size // 4) for axis in axes]
    tiles = [replace(a, kernel=6, stride=4, size=k) for a, k in zip(axes, counts, strict=True)]
    places = Windows((n, channels), tuple(tiles)).places(lengths)
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


#: The transforms for the points 0, ±1, ±2 and infinity.
TILE = np.array([[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0],
                 [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]])  # fmt: skip
KERNEL = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
OUT = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])


def with_operands(change):
    """The convolution of other operands: `change(X, W, B, group)`."""
    return lambda X, W, B, windows, group: by_windows(*change(X, W, B, group), windows, group)


def grouped(array, axis, group):
    """`array` with the channels of its groups taken in turns along `axis`."""
    shape = array.shape
    split = xp.reshape(array, (*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :]))
    return xp.reshape(split.swapaxes(axis, axis + 1), shape)


def outputs_in_turns(X, W, B, windows, group):
    y = grouped(by_windows(X, W, None, windows, group), 1, group)
    return y if B is None else y + xp.reshape(B, (-1, *[1] * (X.ndim - 2)))


MUTANTS = {
    "kernel_turned": ("the kernel was turned around, as in mathematics", with_operands(
        lambda X, W, B, group: (X, xp.flip(W, axis=tuple(range(2, W.ndim))), B))),
    "kernel_transposed": (
        "the first two axes of the kernel were exchanged where it is square", with_operands(
        lambda X, W, B, group: (X, W.swapaxes(2, 3) if W.shape[2:3] == W.shape[3:4] else W, B))),
    "input_channels_in_turns": ("the input's channels went to the groups in turns", with_operands(
        lambda X, W, B, group: (grouped(X, 1, group), W, B))),
    "filters_in_turns": ("the filters went to the groups in turns", with_operands(
        lambda X, W, B, group: (X, grouped(W, 0, group), B))),
    "groups_in_turns": ("each filter was given the next group of channels",
        lambda X, W, B, windows, group: outputs_in_turns(
            X, grouped(W, 0, W.shape[0] // group), B, windows, group)),
    "outputs_in_turns": ("the filters' outputs were written in turns of the groups",
                         outputs_in_turns),
    "first_group_for_all": ("the first group's filters served for all", with_operands(
        lambda X, W, B, group: (X, xp.concat([W[: len(W) // group]] * group), B))),
    "first_bias_for_all": ("of the bias the first element served for all", with_operands(
        lambda X, W, B, group: (X, W, None if B is None else xp.broadcast_to(B[:1], B.shape)))),
}  # fmt: skip
OP.mutant_table(MUTANTS, by=of_windows)
