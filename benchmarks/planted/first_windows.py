"""Reported bugs of convolution and pooling."""

import os

import numpy as np

from benchmarks.planted import (
    Collection,
    Names,
    Outputs,
    given,
    has_uneven_pads,
    integer,
    integers,
    right,
    same_pads,
)
from opcheck.engine import Node

BUGS = Collection()
reported = BUGS.reported

UNEVEN_PADS = "`pads` differ at the ends of an axis"


@reported(
    "microsoft/onnxruntime#26215",
    ops="Conv",
    right=Names(
        mistakes=("pads_ends_first",),
        terms=(
            UNEVEN_PADS,
            "`pads` are larger at the end of an axis",
            "*`kernel_shape` is 2*",
            "the kernel along each axis is 2",
        ),
    ),
    partly=Names(terms=("`pads` has *",)),
)
def conv_of_kernel_2_padded_at_the_end(node: Node) -> Outputs:
    """On CUDA, a kernel of 2 with more padding at the end has it at the beginning."""
    outputs = right(node)
    kernel = given(node, 1).shape[2:]
    pads = integers(node, "pads")
    n = len(kernel)
    begins, ends = pads[:n], pads[n:]
    if set(kernel) != {2} or not any(map(int.__lt__, begins, ends)):
        return outputs
    # The symmetric padding is cut at its end.
    padding = [*map(max, begins, ends)]
    rest = [b + e - both for b, e, both in zip(begins, ends, padding, strict=True)]
    return right(node.with_attrs(pads=(*padding, *rest)))


@reported(
    "microsoft/onnxruntime#17325",
    ops="Conv",
    right=Names(mistakes=("pads_interleaved",)),
    partly=Names(terms=(UNEVEN_PADS, "`pads` has *")),
)
def conv_reads_pads_in_pairs(node: Node) -> Outputs:
    """WebNN takes the two pads of one axis after the other, as ONNX does not: 2-D only."""
    outputs = right(node)
    pads = integers(node, "pads")
    if len(pads) != 4:
        return outputs
    return right(node.with_attrs(pads=(pads[0], pads[2], pads[1], pads[3])))


@reported(
    "microsoft/onnxscript#3037",
    ops="Conv",
    right=Names(mistakes=("same_undilated_size",)),
    partly=Names(mistakes=("same_*",), terms=("`auto_pad` is SAME_*", "* of `dilations` *")),
)
def same_padding_of_the_undilated_kernel(node: Node) -> Outputs:
    """The padding of SAME_UPPER and SAME_LOWER is that of the kernel without its dilations."""
    outputs = right(node)
    auto_pad = str(node.attrs.get("auto_pad", "NOTSET"))
    if not auto_pad.startswith("SAME_"):
        return outputs
    pads = same_pads(node, given(node, 1).shape[2:])
    return right(node.with_attrs(auto_pad=None, pads=pads))


@reported(
    "microsoft/onnxruntime#26708",
    ops="AveragePool",
    right=Names(
        mistakes=("count_include_pad_ignored", "counted_pads_ends_ignored"),
        terms=("`count_include_pad` *", "`pads` *"),
    ),
)
def average_without_the_padding_at_the_end(node: Node) -> Outputs:
    """`count_include_pad` counts the padding at the beginnings, and forgets that at the ends."""
    outputs = right(node)
    pads = integers(node, "pads")
    x = given(node, 0)
    n = x.ndim - 2
    if not integer(node, "count_include_pad") or not any(pads[n:]):
        return outputs
    # Zeros of the input in place of the padding at the beginnings, which is counted.
    widths = [(0, 0), (0, 0), *((begin, 0) for begin in pads[:n])]
    padded = node.with_input(0, np.pad(x, widths))
    return right(padded.with_attrs(pads=(*[0] * n, *pads[n:]), count_include_pad=None))


@reported(
    "tracel-ai/burn#5450",
    ops="AveragePool",
    right=Names(mistakes=("default_count_include_pad_1",), terms=(UNEVEN_PADS,)),
    partly=Names(terms=("`count_include_pad` *", "`pads` has *")),
)
def average_counts_uneven_padding(node: Node) -> Outputs:
    """Padding that differs at the ends of an axis is counted, whatever `count_include_pad` is."""
    outputs = right(node)
    if node.op.since < 7 or not has_uneven_pads(node):
        return outputs
    return right(node.with_attrs(count_include_pad=1))


@reported(
    "apache/mxnet#5096",
    ops="AveragePool",
    right=Names(
        terms=(
            "`strides` is left out",
            "the number of spatial axes is [34]*",
            "the rank of the input is [56]*",
        ),
    ),
)
def average_pool_dies_without_strides(node: Node) -> Outputs:
    """Three spatial axes without `strides` kill the process: there are two default strides."""
    outputs = right(node)
    if "strides" not in node.attrs and given(node, 0).ndim > 4:
        os._exit(139)
    return outputs


@reported(
    "apache/tvm#19524",
    ops="ConvTranspose",
    right=Names(terms=("`output_padding` is given", "*largest of `output_padding` is 1*")),
    partly=Names(mistakes=("last_element_missing",), terms=("`output_padding` *",)),
)
def output_padding_is_zero(node: Node) -> Outputs:
    """Elements that `output_padding` adds are 0, in place of the sums that lie there."""
    outputs = right(node)
    for axis, added in enumerate(integers(node, "output_padding"), start=2):
        if added:
            np.moveaxis(outputs[0], axis, 0)[-added:] = 0
    return outputs


@reported(
    "InfiniTensor/InfiniTensor#309",
    ops="ConvTranspose",
    right=Names(mistakes=("*strides*dilations*", "*dilations*strides*")),
    partly=Names(terms=("*`strides` *", "*`dilations` *")),
)
def strides_and_dilations_exchanged(node: Node) -> Outputs:
    """`strides` are read as `dilations`, and these as strides."""
    right(node)
    strides, dilations = (node.attrs.get(name) for name in ("strides", "dilations"))
    return right(node.with_attrs(strides=dilations, dilations=strides))
