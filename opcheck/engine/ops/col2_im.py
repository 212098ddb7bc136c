"""Col2Im (18): blocks go back to where they were in an image, added up where they overlap."""

from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import listed, windows_of
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported

OP = operator("Col2Im")


def of_blocks(joined):
    """The formula, from `joined(columns, windows)`; `columns` are planes×block×blocks."""

    def formula(input, image_shape, block_shape, *, dilations, pads, strides):
        image, block = listed("image_shape", image_shape), listed("block_shape", block_shape)
        if input.ndim != 3 or len(image) < 2 or len(block) != len(image) or min(image + block) < 0:
            raise InvalidNode(f"{list(input.shape)} of blocks {block} for an image {image}")
        terms = prod(block)
        windows = windows_of((input.shape[0], 1, *image), block, strides, dilations, pads)
        if input.shape[1] % terms or input.shape[2] != prod(windows.shape[2:]):
            raise InvalidNode(f"{list(input.shape)}; allowed: N×C·{terms}×{windows.shape[2:]}")
        if not (input.shape[2] and prod(image)):
            is_open("nothing is said of images that hold nothing, nor of no block")
        outer = input.shape[0], input.shape[1] // terms
        columns = xp.reshape(input, (prod(outer), *block, *windows.shape[2:]))
        return xp.reshape(joined(columns, windows), (*outer, *image))

    return {18: formula}


@OP.formula(by=of_blocks)
def added_up(columns, windows):
    over, kind = windows.folded(np.ones((1, *columns.shape[1:]), np.intp))[0], columns.dtype.kind
    if (kind in "bO" and (over > 1).any()) or (kind == "O" and not over.all()):
        raise NotSupported("nothing is said of sums of texts or truth values, nor of no text")
    if kind == "O":
        return columns.reshape(-1)[windows.folded(np.arange(columns.size).reshape(columns.shape))]
    y = xp.sums(columns, windows.folded, over)
    if kind in "iuc" and (y != windows.folded(columns.astype(np.clongdouble))).any():
        is_open("nothing is said of integers out of range, nor of how complex sums are rounded")
    return y


def overwritten(columns, windows):
    lengths = [axis.length for axis in windows.axes]
    y = np.zeros((len(columns), prod(lengths) + 1), columns.dtype)
    places = windows.places(lengths)
    y[:, places] = columns.reshape(len(columns), *places.shape)
    return y[:, :-1]


def mean(columns, windows):
    over = np.maximum(windows.folded(np.ones((1, *columns.shape[1:]), np.intp)), 1)
    y = added_up(columns, windows)
    return y if y.dtype.kind in "bO" else (y / over).astype(y.dtype)


def in_columns(of):
    """The axes `of(n)` read in the order of columns."""

    def read(columns, windows):
        shape, axes, part = [*columns.shape], [*range(columns.ndim)], of(len(windows.axes))
        shape[part], axes[part] = shape[part][::-1], axes[part][::-1]
        return added_up(columns.reshape(shape).transpose(axes), windows)

    return read


def channels_last(columns, windows):
    n, terms = max(1, windows.outer[0]), prod(axis.kernel for axis in windows.axes)
    split = columns.reshape(n, terms, len(columns) // n, prod(windows.shape[2:]))
    return added_up(split.swapaxes(1, 2).reshape(columns.shape), windows)


OP.mutant_table({
    "overwritten": ("of blocks that overlap the last one held", overwritten),
    "mean": ("blocks that overlap were averaged", mean),
    "channels_last": ("channels came after the places of a block", channels_last),
    "blocks_in_columns": ("blocks were enumerated from the last axis on",
                          in_columns(lambda n: slice(n + 1, None))),
    "places_in_columns": ("places in a block were enumerated from the last axis on",
                          in_columns(lambda n: slice(1, n + 1))),
}, by=of_blocks)  # fmt: skip
