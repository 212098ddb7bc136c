"""Reported bugs of indices, axes, shapes and inputs that are left out."""

import os

import numpy as np

from benchmarks.planted import Collection, Names, Outputs, given, integer, is_given, right
from opcheck.engine import Node
from opcheck.errors import InvalidNode

BUGS = Collection()
reported = BUGS.reported

NEGATIVE_INDEX = "input indices has a negative value"
NEGATIVE_AXIS = ("`axis` is negative", "`axis` is -1 or less")
ROW = Names(
    mistakes=("*first_row*", "*row_0*"),
    terms=(
        "inputs * and * are of equal rank, with a 1 in one alone",
        "the length of axis 0 of input * is 1*",
        "the rank of input * is 2*",
    ),
)
ROW_IN_PART = Names(
    terms=("input * has an axis of length 1", "the number of elements of input * is *")
)


def row_added_to_row_0(node: Node) -> Outputs:
    """Return the right outputs, but for a row [1, n] and a matrix: all rows but 0 stay as given."""
    outputs = right(node)
    a, b = given(node, 0), given(node, 1)
    for matrix, row in ((a, b), (b, a)):
        if matrix.ndim == row.ndim == 2 and row.shape == (1, matrix.shape[1]):
            outputs[0][1:] = matrix[1:]
    return outputs


@reported("Tencent/ncnn#4508", "Tencent/ncnn#3924", ops="Add", right=ROW, partly=ROW_IN_PART)
def add_of_a_row(node: Node) -> Outputs:
    """A row [1, n] is added to row 0 of a matrix alone."""
    return row_added_to_row_0(node)


@reported("Tencent/ncnn#4508", ops="Mul", right=ROW, partly=ROW_IN_PART)
def mul_by_a_row(node: Node) -> Outputs:
    """A row [1, n] multiplies row 0 of a matrix alone."""
    return row_added_to_row_0(node)


@reported("Tencent/ncnn#4508", ops="PRelu", right=ROW, partly=ROW_IN_PART)
def prelu_of_a_row(node: Node) -> Outputs:
    """A row [1, n] of slopes is for row 0 of a matrix alone."""
    return row_added_to_row_0(node)


@reported(
    "microsoft/onnxruntime#18654",
    ops="Einsum",
    right=Names(mistakes=("transposed", "*column_major")),
    partly=Names(terms=("`equation` is *",)),
)
def einsum_of_one_operand_not_transposed(node: Node) -> Outputs:
    """`ijk->ki`: where a letter is summed, the others stay in the order of the operand."""
    outputs = right(node)
    terms, _, letters = str(node.attrs["equation"]).replace(" ", "").partition("->")
    is_summed = len(node.inputs) == 1 and 1 < len(letters) < len(terms)
    if not is_summed or len({*terms}) < len(terms) or not {*letters} <= {*terms}:
        return outputs
    kept = [letter for letter in terms if letter in letters]
    unturned = np.einsum(outputs[0], [*map(letters.index, letters)], [*map(letters.index, kept)])
    return [unturned.reshape(outputs[0].shape)]


@reported(
    "apache/tvm#19435",
    "apache/tvm#19564",
    ops="ScatterElements",
    right=Names(
        mistakes=("reduction_ignored", "add_is_none", "mul_is_none", "max_is_none", "min_is_none")
    ),
    partly=Names(mistakes=("version_1?_always",), terms=("`reduction` is *",)),
)
def scatter_elements_without_reduction(node: Node) -> Outputs:
    """`reduction` is ignored: the last update replaces what is there."""
    outputs = right(node)
    data, indices, updates = (given(node, place) for place in range(3))
    if node.attrs.get("reduction", "none") == "none":
        return outputs
    axis = integer(node, "axis", 0) % data.ndim
    places = [*np.indices(indices.shape)]
    places[axis] = np.where(indices < 0, indices + data.shape[axis], indices)
    scattered = data.copy()
    scattered[tuple(places)] = updates
    return [scattered]


@reported(
    "apache/tvm#20217",
    ops="OneHot",
    right=Names(
        mistakes=("negative_index_unsigned", "negative_index_ignored"), terms=(NEGATIVE_INDEX,)
    ),
    partly=Names(mistakes=("version_9_always",)),
)
def one_hot_of_negative_indices_is_off(node: Node) -> Outputs:
    """An index of -1 gives a row of off values, not a one at the end."""
    outputs = right(node)
    indices, values = given(node, 0), given(node, 2)
    axis = integer(node, "axis", -1) % outputs[0].ndim
    if node.op.since >= 11:
        rows = np.moveaxis(outputs[0], axis, -1)
        rows[indices < 0] = values[0]
    return outputs


@reported(
    "apache/tvm#20217",
    ops="GatherElements",
    right=Names(mistakes=("negative_index_*_memory",), terms=(NEGATIVE_INDEX,)),
)
def gather_elements_reads_in_front(node: Node) -> Outputs:
    """A negative index is not counted from the end: what lies in memory before is read."""
    outputs = right(node)
    data, indices = given(node, 0), given(node, 1)
    if not indices.size:
        return outputs
    axis = integer(node, "axis", 0) % data.ndim
    steps = [int(np.prod(data.shape[n + 1 :])) for n in range(data.ndim)]
    places = [*np.indices(indices.shape)]
    places[axis] = indices.astype(np.int64)
    flat = sum(place * step for place, step in zip(places, steps, strict=True))
    return [data.reshape(-1)[flat % data.size]]


@reported(
    "microsoft/onnxruntime#21703",
    ops="Split",
    right=Names(
        mistakes=("axis_ignored", "first_axis_always", "negative_axis_*"), terms=NEGATIVE_AXIS
    ),
    partly=Names(terms=("`axis` is the last axis",)),
)
def split_of_a_negative_axis(node: Node) -> Outputs:
    """On WebGPU, a negative axis is not counted from the end: pieces of axis 0 come."""
    outputs = right(node)
    axis = integer(node, "axis", 0)
    if axis >= 0:
        return outputs
    x = given(node, 0)
    starts = np.cumsum([0, *(output.shape[axis] for output in outputs)])
    pieces = []
    for output, start in zip(outputs, starts, strict=False):
        # Rows of axis 0 fill the shape of the piece.
        rows = np.roll(x, -int(start), axis=0).reshape(-1)
        pieces.append(rows[: output.size].reshape(output.shape))
    return pieces


@reported(
    "microsoft/onnxruntime#19726",
    ops="SplitToSequence",
    right=Names(mistakes=("*repeat*", "first_*_for_all"), terms=("*is string",)),
)
def sequence_of_texts_repeats_the_first(node: Node) -> Outputs:
    """Each piece of a tensor of strings has the strings of the first piece."""
    outputs = right(node)
    count, first, *others = outputs
    if given(node, 0).dtype != object:
        return outputs
    # A piece that is shorter than the first has as many of its strings.
    return [count, first, *(np.resize(first, piece.shape) for piece in others)]


def absent_inputs_closed_up(node: Node) -> Outputs:
    """Return the outputs with inputs moved to the places of those before them that are absent."""
    outputs = right(node)
    there = [array for array in node.inputs if array is not None]
    closed = (*there, *[None] * (len(node.inputs) - len(there)))
    if all(one is other for one, other in zip(closed, node.inputs, strict=True)):
        return outputs
    for place, array in enumerate(closed):
        node = node.with_input(place, array)
    return right(node)


ABSENT = Names(
    mistakes=("absent_*", "*inputs_shifted*", "*left_out*"),
    terms=("input ? is left out",),
    raises="InvalidNode",
)


@reported("onnx/onnx-mlir#217", "microsoft/onnxscript#2007", ops="Clip", right=ABSENT)
def clip_takes_max_for_min(node: Node) -> Outputs:
    """Of Clip(x, "", max) the maximum is taken for the minimum."""
    return absent_inputs_closed_up(node)


@reported("onnx/onnx-mlir#217", ops="Pad", right=ABSENT)
def pad_takes_axes_for_the_value(node: Node) -> Outputs:
    """Of Pad(x, pads, "", axes) the axes are taken for the value."""
    return absent_inputs_closed_up(node)


@reported("onnx/onnx-mlir#217", ops="LSTM", right=ABSENT)
def lstm_takes_the_next_input(node: Node) -> Outputs:
    """Inputs after one that is left out are taken for it."""
    return absent_inputs_closed_up(node)


@reported("microsoft/onnxscript#2007", ops="Resize", right=ABSENT)
def resize_takes_the_next_input(node: Node) -> Outputs:
    """Of Resize(x, "", scales) the scales are taken for the regions."""
    return absent_inputs_closed_up(node)


@reported(
    "microsoft/onnxruntime#26576",
    ops="Where",
    right=Names(
        mistakes=("refuses_empty",),
        terms=(
            "* has an axis of length 0",
            "* has length 0 along axis *",
            "the number of elements of * is 0 or less",
            "*output* is empty",
        ),
    ),
)
def where_of_nothing_dies(node: Node) -> Outputs:
    """The process dies of an output without elements: a division by 0."""
    outputs = right(node)
    if not outputs[0].size:
        os._exit(136)
    return outputs


def refused_if_empty(node: Node) -> Outputs:
    """Return the right outputs; refuse inputs without elements."""
    outputs = right(node)
    if not given(node, 0).size:
        raise InvalidNode("cannot reduce an empty tensor")
    return outputs


NOTHING_TO_REDUCE = Names(
    mistakes=("refuses_empty",),
    terms=("* has an axis of length 0", "the number of elements of * is 0 or less"),
    raises="InvalidNode",
)


@reported("robertknight/rten#1204", ops="ReduceSum", right=NOTHING_TO_REDUCE)
def sum_of_nothing_is_refused(node: Node) -> Outputs:
    """The sum of no element is refused, in place of 0."""
    return refused_if_empty(node)


@reported("robertknight/rten#1204", ops="ReduceMin", right=NOTHING_TO_REDUCE)
def minimum_of_nothing_is_refused(node: Node) -> Outputs:
    """The minimum of no element is refused, in place of infinity."""
    return refused_if_empty(node)


@reported(
    "onnx/onnx#7964",
    ops="Scan",
    right=Names(raises="InvalidNode", terms=("`num_scan_inputs` *",)),
)
def scan_of_other_counts_is_refused(node: Node) -> Outputs:
    """A Scan is refused if its outputs are not as many as its inputs."""
    outputs = right(node)
    fed = [place for place in range(len(node.inputs)) if is_given(node, place)]
    if len(fed) != node.count:
        raise InvalidNode(f"{len(fed)} inputs, but {node.count} outputs")
    return outputs
