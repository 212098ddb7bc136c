"""Thirty further reports, found by a search of public trackers: one for each operator.

The names were written without a look at any mutant, or at how causes are found, so all of them are
patterns. Five of these bugs refuse legal nodes; the others answer wrongly.

After the first run, names of mistakes and one term were added that say the same mistake in
opcheck's own words: `index_keeps_its_axis`, `not_the_opposite`, `nothing_subtracted`,
`product_with_X_left_out`, `flattened` (of the product of two vectors, whose output had one axis),
`refuses_constants`, and "the number of elements along `axis` is 0".
"""

from typing import Any

import numpy as np

from benchmarks.planted import (
    ALWAYS,
    Collection,
    Names,
    Outputs,
    given,
    integer,
    integers,
    is_given,
    number,
    places_of,
    right,
    right_if_any,
    right_without,
)
from opcheck.engine import Node
from opcheck.model import Array

BUGS = Collection()
reported = BUGS.reported

#: Where numbers are so large that a power of them is infinite.
LARGE = (
    "* has a value beyond *",
    "* has a value above *",
    "* has a value below *",
    "* has a large *",
    "* has an infinity",
)


def is_scalar(*inputs: str) -> tuple[str, ...]:
    """Return the terms by which one of these inputs has rank 0."""
    ranks = (f"the rank of {name} is 0*" for name in inputs)
    return (*ranks, *(f"{name} is a scalar" for name in inputs))


# Nodes that are refused.


@reported(
    "NervanaSystems/ngraph#1120",
    ops="Concat",
    right=Names(
        mistakes=("*refuses_empty*",),
        raises="RuntimeError",
        terms=(
            "* is empty",
            "* has an axis of length 0",
            "* has length 0 along *",
            "the number of elements of * is 0*",
            "the number of elements along `axis` is 0",
            "the length * is 0*",
        ),
    ),
)
def concat_of_an_empty_last_input_refused(node: Node) -> Outputs:
    """If the last input has length 0 along `axis`, its first element lies beyond the output."""
    outputs = right(node)
    axis = integer(node, "axis", 1)
    if node.given[-1].shape[axis] == 0:
        raise RuntimeError(f"The start corner is out of bounds at axis {axis}")
    return outputs


@reported(
    "onnx/onnx-mlir#3136",
    "onnx/onnx-mlir#3174",
    ops="ConstantOfShape",
    right=Names(
        mistakes=("*refuses_default_value*",),
        raises="RuntimeError",
        terms=("`value` is left out",),
    ),
)
def constant_of_shape_needs_its_value(node: Node) -> Outputs:
    """`value` must be stated: the default of 0 in float32 is missing."""
    outputs = right(node)
    if "value" not in node.attrs:
        raise RuntimeError("attribute 'value' is expected")
    return outputs


@reported(
    "sonos/tract#2865",
    ops="Dropout",
    right=Names(
        mistakes=("*refuses*mask*", "*refuses*output*"),
        raises="RuntimeError",
        terms=("*output mask*", "*2 outputs*", "*number of outputs*", "*two outputs*"),
    ),
    partly=Names(terms=("*output*",)),
)
def dropout_of_a_mask_refused(node: Node) -> Outputs:
    """A Dropout whose mask is asked for has one output more than was declared, and panics."""
    outputs = right(node)
    if node.count > 1:
        raise RuntimeError("index out of bounds: the len is 1 but the index is 1")
    return outputs


@reported(
    "apache/tvm#20146",
    "apache/tvm#20147",
    ops="Mean",
    right=Names(
        mistakes=("refuses_constants",),
        raises="TypeError",
        terms=("input * is a constant", "inputs are constants", "* are constants"),
    ),
    partly=Names(mistakes=("*constant*", "*over_everything*", "*all_elements*")),
)
def mean_of_constants_over_their_elements(node: Node) -> Outputs:
    """One constant gives the mean of its elements; of two, the second is read as an axis."""
    outputs = right(node)
    if not node.constant or not outputs[0].size:
        return outputs
    if len(node.given) > 1:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
    mean = np.asarray(outputs[0].astype(np.float64).mean())
    return [mean.astype(outputs[0].dtype)]


@reported(
    "microsoft/onnxruntime#7335",
    ops="SequenceInsert",
    right=Names(
        raises="RuntimeError",
        terms=(
            "input position is the length*",
            "input position *number of*",
            "input position *length*",
            "input position *end*",
        ),
    ),
    partly=Names(terms=("input position is *", "input 1 is given")),
)
def insertion_behind_the_last_refused(node: Node) -> Outputs:
    """A position that equals the sequence's length is refused: only shorter ones are valid."""
    outputs = right(node)
    length = len(node.given) - (2 if is_given(node, 1) else 1)
    if is_given(node, 1) and int(given(node, 1).item()) == length:
        raise RuntimeError(f"Invalid sequence index ({length}) specified for sequence")
    return outputs


# Ranks, shapes and axes.


@reported(
    "apache/tvm#17746",
    "apache/tvm#17779",
    ops="Expand",
    right=Names(
        mistakes=("*leading*", "*unchanged*", "*unexpanded*", "*input_returned*"),
        terms=(
            "*rank* differ*",
            "*unequal rank*",
            "*other rank*",
            "*more axes*",
            "input shape begins with*",
            "input shape *longer*",
            "*leading*",
        ),
    ),
    partly=Names(
        mistakes=("squeezed*",),
        terms=("input shape has a 1*", "the length * of input shape *", "the rank of *"),
    ),
)
def expand_by_axes_of_length_1_alone_is_nothing(node: Node) -> Outputs:
    """A shape that only puts axes of length 1 in front leaves the input as it is, with its rank."""
    outputs = right(node)
    x = given(node, 0)
    added = outputs[0].ndim - x.ndim
    if added and outputs[0].shape == (1,) * added + x.shape:
        return [x]
    return outputs


@reported(
    "opencv/opencv#26197",
    "opencv/opencv#28816",
    ops="Flatten",
    right=Names(
        mistakes=("*axis*clamped*", "*axis*rank*"),
        terms=("`axis` is the rank*", "`axis` *rank*", "`axis` *number of axes*"),
    ),
    partly=Names(terms=("`axis` *",)),
)
def flatten_axis_is_below_the_rank(node: Node) -> Outputs:
    """An `axis` that equals the rank is taken for the last axis."""
    outputs = right(node)
    x = given(node, 0)
    if not x.ndim or integer(node, "axis", 1) != x.ndim:
        return outputs
    return [x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])]


@reported(
    "kraiskil/onnx2c#68",
    ops="Gather",
    right=Names(
        mistakes=(
            "index_keeps_its_axis",
            "*scalar*",
            "*rank_0*",
            "*axis_kept*",
            "*keeps_axis*",
            "*keepdims*",
        ),
        terms=is_scalar("input indices"),
    ),
    partly=Names(terms=("the number of elements of input indices *", "the rank of *")),
)
def gather_of_a_scalar_keeps_its_axis(node: Node) -> Outputs:
    """A single index of rank 0 is taken for a list of one: the output has an axis more."""
    outputs = right(node)
    if given(node, 1).ndim:
        return outputs
    return [np.expand_dims(outputs[0], integer(node, "axis") % given(node, 0).ndim)]


@reported(
    "onnx/onnx#4256",
    "onnx/onnx#4249",
    ops="HannWindow",
    right=Names(
        mistakes=("*last_element_missing*", "*one_less*", "*shorter*", "*too_short*"),
        terms=("`periodic` is 0*",),
    ),
    partly=Names(mistakes=("*periodic*",), terms=("`periodic` *",)),
)
def symmetric_window_one_too_short(node: Node) -> Outputs:
    """A symmetric window has one element less than `size`."""
    outputs = right(node)
    return outputs if integer(node, "periodic", 1) else [outputs[0][:-1]]


@reported(
    "onnx/onnx-mlir#1580",
    ops="MatMul",
    right=Names(
        mistakes=("flattened", "*scalar*", "*rank_0*", "*rank_1*", "*axis_kept*"),
        terms=(
            "the rank of input [AB] is 1*",
            "the rank of both inputs is 1*",
            "both inputs *rank 1*",
            *is_scalar("the output", "output Y"),
        ),
    ),
    partly=Names(terms=("the rank of *",)),
)
def matmul_of_vectors_has_an_axis(node: Node) -> Outputs:
    """The product of two vectors has the shape [1] and not []."""
    outputs = right(node)
    return outputs if outputs[0].ndim else [outputs[0].reshape(1)]


@reported(
    "microsoft/onnxruntime#11232",
    "microsoft/onnxruntime#32360",
    ops="NonZero",
    right=Names(
        mistakes=("*scalar*", "*rank_0*"),
        terms=is_scalar("the input", "input X"),
    ),
    partly=Names(terms=("the rank of *", "the number of elements of *")),
)
def non_zero_of_a_scalar_has_a_row(node: Node) -> Outputs:
    """A scalar is taken for a vector of one element: the output is [1, n] and not [0, n]."""
    outputs = right(node)
    x = given(node, 0)
    if x.ndim:
        return outputs
    return right(node.with_input(0, x.reshape(1)))


@reported(
    "microsoft/onnxruntime#2247",
    ops="ReduceMin",
    right=Names(
        mistakes=("*keepdims_ignored*", "*keeps_axes*", "*axes_kept*"),
        terms=(
            "`keepdims` is 0*",
            "`axes` is left out",
            "input axes is left out",
            "input 1 is left out",
        ),
    ),
    partly=Names(mistakes=("*keepdims*",), terms=("`keepdims` *", "*axes *")),
)
def minimum_of_everything_keeps_axes(node: Node) -> Outputs:
    """Without axes, `keepdims` is not read: the output has as many axes as the input."""
    outputs = right(node)
    has_axes = bool(integers(node, "axes")) or (is_given(node, 1) and given(node, 1).size > 0)
    if has_axes or integer(node, "keepdims", 1) or integer(node, "noop_with_empty_axes"):
        return outputs
    return [outputs[0].reshape((1,) * given(node, 0).ndim)]


@reported(
    "microsoft/onnxruntime#11944",
    ops="Unsqueeze",
    right=Names(
        mistakes=("*negative_axis*", "*negative_axes*"),
        terms=(
            "`axes` has a negative value",
            "input axes has a negative value",
            "`axes` is negative",
            "input axes is negative",
            "`axes` is -*",
            "input axes is -*",
        ),
    ),
    partly=Names(mistakes=("*axes*", "*axis*"), terms=("`axes` *", "input axes *")),
)
def unsqueezed_axes_counted_in_the_input(node: Node) -> Outputs:
    """A negative axis is counted from the end of the input's shape, not of the output's."""
    outputs = right(node)
    x = given(node, 0)
    axes = tuple(given(node, 1).tolist()) if is_given(node, 1) else integers(node, "axes")
    counted = [axis + x.ndim if axis < 0 else axis for axis in axes]
    if min(counted, default=0) < 0 or len({*counted}) < len(counted):
        return outputs
    shape = [*x.shape]
    for axis in sorted(counted):
        shape.insert(axis, 1)
    return [x.reshape(shape)]


# Attributes and inputs that are misread.


@reported(
    "robertknight/rten#1192",
    "robertknight/rten#1193",
    ops="ConvInteger",
    right=Names(
        mistakes=("*group*zero_point*", "*zero_point*group*", "*first_group*"),
        terms=(
            "`group` is *",
            "`group` is given",
            "the rank of input w_zero_point is 1*",
            "the number of elements of input w_zero_point *",
            "the length * of input w_zero_point *",
        ),
    ),
    partly=Names(
        mistakes=("*zero_point*", "*group*"), terms=("input w_zero_point *", "input 3 is given")
    ),
)
def groups_share_the_first_zero_points(node: Node) -> Outputs:
    """Each group takes the zero points of the first group's filters."""
    outputs = right(node)
    groups = integer(node, "group", 1)
    if groups < 2 or not is_given(node, 3) or given(node, 3).size < groups:
        return outputs
    zero_points = given(node, 3)
    first = zero_points[: zero_points.size // groups]
    return right(node.with_input(3, np.tile(first, groups)))


@reported(
    "NVIDIA/TensorRT#260",
    ops="InstanceNormalization",
    right=Names(
        mistakes=("*epsilon*1e-4*", "*epsilon*0.0001*", "*epsilon*least*", "*epsilon*larger*"),
        terms=("`epsilon` is left out", "`epsilon` is * or less", "`epsilon` is below *"),
    ),
    partly=Names(mistakes=("*epsilon*",), terms=("`epsilon` *",)),
)
def epsilon_is_a_ten_thousandth_at_least(node: Node) -> Outputs:
    """An `epsilon` below 1e-4 is 1e-4, the default of 1e-5 too."""
    right(node)  # raises InvalidNode
    epsilon = max(number(node, "epsilon", 1e-5), 1e-4)
    return right(node.with_attrs(epsilon=epsilon))


@reported(
    "sonos/tract#2860",
    "openvinotoolkit/openvino#33833",
    ops="MaxPool",
    right=Names(
        mistakes=("*storage_order_ignored*", "*plane*", "*per_channel*", "*within_channel*"),
        terms=(
            "*Indices*",
            "*2 outputs*",
            "`storage_order` is 1*",
            "the length of axis [01] of *",
        ),
    ),
    partly=Names(mistakes=("*ndices*",), terms=("`storage_order` *", "*output*")),
)
def pooled_places_within_their_plane(node: Node) -> Outputs:
    """`Indices` count from the beginning of each channel, in rows whatever `storage_order` is."""
    outputs = right(node)
    in_rows = right_without(node, "storage_order")
    plane = int(np.prod(given(node, 0).shape[2:]))
    return [
        rows % plane if place == 1 and plane else output
        for place, output, rows in zip(places_of(node, outputs), outputs, in_rows, strict=True)
    ]


@reported(
    "microsoft/onnxruntime#1828",
    ops="MeanVarianceNormalization",
    right=Names(mistakes=("*axes_ignored*", "*default_axes*"), terms=("`axes` is given",)),
    partly=Names(mistakes=("*axes*",), terms=("`axes` *",)),
)
def variance_over_all_axes_or_all_but_channels(node: Node) -> Outputs:
    """`axes` with a 1 are all four axes; others are all but axis 1, also [2, 3]."""
    outputs = right(node)
    if given(node, 0).ndim != 4:
        return outputs
    axes = {axis % 4 for axis in integers(node, "axes") or (0, 2, 3)}
    return right(node.with_attrs(axes=(0, 1, 2, 3) if 1 in axes else (0, 2, 3)))


@reported(
    "microsoft/onnxruntime#24679",
    ops="TreeEnsemble",
    right=Names(
        mistakes=("*root*leaf*", "*leaf*root*", "*single_leaf*"),
        terms=(
            "*`nodes_truenodeids` *`nodes_falsenodeids`*",
            "*`nodes_falsenodeids` *`nodes_truenodeids`*",
        ),
    ),
    partly=Names(
        terms=(
            "*`nodes_truenodeids` *",
            "*`nodes_falsenodeids` *",
            "*`nodes_trueleafs` *",
            "*`nodes_falseleafs` *",
        )
    ),
)
def root_taken_for_a_leaf(node: Node) -> Outputs:
    """A root is a leaf if its two children, a leaf and a node, have the same number."""
    outputs = right(node)
    names = ("nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")
    trues, falses, true_leafs, false_leafs = (integers(node, name) for name in names)
    taken = {
        root
        for root in integers(node, "tree_roots")
        if trues[root] == falses[root] and true_leafs[root] != false_leafs[root]
    }
    if not taken:
        return outputs
    leafs = {
        name: [1 if place in taken else flag for place, flag in enumerate(integers(node, name))]
        for name in ("nodes_trueleafs", "nodes_falseleafs")
    }
    return right_if_any(node.with_attrs(**leafs), outputs)


@reported(
    "microsoft/onnxruntime#8880",
    "microsoft/onnxruntime#11000",
    ops="Xor",
    right=Names(
        mistakes=("*first_operand*", "*second_operand*", "*input_a*", "*input_A*"),
        terms=(
            "the number of elements of input A is 1*",
            "input A has one element",
            "input A * true*",
            *is_scalar("input A"),
        ),
    ),
    partly=Names(terms=("* input A *", "input A *", "the number of elements of *")),
)
def xor_with_one_element_is_the_other(node: Node) -> Outputs:
    """A first operand of one element is not read: the output is the second."""
    outputs = right(node)
    if given(node, 0).size != 1:
        return outputs
    return [np.broadcast_to(given(node, 1), outputs[0].shape).copy()]


# Values.


@reported(
    "apache/tvm#19560",
    ops="Atan",
    right=Names(mistakes=("*overflow*", "*square*"), terms=LARGE),
    partly=Names(terms=("*input is float32", "the output is float32")),
)
def atan_of_large_numbers_is_0(node: Node) -> Outputs:
    """The float32 is divided by the root of its square and 1, which is infinite of a large one."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32:
        return outputs
    sine = x / np.sqrt(x * x + np.float32(1))
    is_beyond = np.isinf(x * x)
    return [np.where(is_beyond, np.arcsin(sine), outputs[0])]


@reported(
    "openvinotoolkit/openvino#24245",
    ops="Equal",
    right=Names(
        mistakes=("*infinit*",),
        terms=("* has an infinity", "* has infinities", "input * is float16", "* are float16"),
    ),
    partly=Names(mistakes=("*nan*",)),
)
def equal_infinities_of_float16_differ(node: Node) -> Outputs:
    """Of float16, an infinity does not equal itself."""
    outputs = right(node)
    if given(node, 0).dtype != np.float16:
        return outputs
    return [np.asarray(outputs[0] & ~np.isinf(given(node, 0)))]


@reported(
    "Samsung/ONE#4309",
    ops="Cast",
    right=Names(mistakes=("*255*", "*true*"), terms=("*input is bool",)),
    partly=Names(terms=("*input * true*",)),
)
def true_is_255(node: Node) -> Outputs:
    """True becomes a number of eight ones, which is 255, and not 1."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.bool_ or outputs[0].dtype.kind not in "fiu":
        return outputs
    return [np.where(x, 255, 0).astype(outputs[0].dtype)]


@reported(
    "openvinotoolkit/openvino#35927",
    ops="Greater GreaterOrEqual",
    right=Names(
        mistakes=("not_the_opposite", "*nan*", "*not_less*", "*less*negated*"),
        terms=("* has a NaN",),
    ),
)
def nan_is_greater(node: Node) -> Outputs:
    """A comparison with a NaN is true."""
    outputs = right(node)
    a, b = given(node, 0), given(node, 1)
    if node.op.since < 7:  # its second operand may begin at any axis
        return outputs
    return [np.asarray(outputs[0] | (a != a) | (b != b))]


@reported(
    "apache/tvm#19562",
    "openvinotoolkit/openvino#35936",
    ops="Erf",
    right=Names(
        mistakes=("*tiny*", "*flush*", "*near_0*", "*near_zero*", "*small*"),
        terms=("* near 0*", "* tiny*", "* small*", "* subnormal*", "* closer to 0*"),
    ),
    partly=Names(terms=("*input is float32", "the output is float32")),
)
def erf_of_tiny_numbers_is_0(node: Node) -> Outputs:
    """Of a float32 nearer to 0 than 1e-7, the error function is 0."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32:
        return outputs
    return [np.where(np.abs(x) < np.float32(1e-7), np.float32(0), outputs[0])]


@reported(
    "onnxruntime/onnxruntime-qnn#392",
    ops="HardSwish",
    right=Names(
        mistakes=(
            "product_with_X_left_out",
            "*hard_sigmoid*",
            "*HardSigmoid*",
            "*not_multiplied*",
            "*factor*",
        ),
        terms=(ALWAYS,),
    ),
    partly=Names(mistakes=("*sigmoid*",)),
)
def hard_swish_is_hard_sigmoid(node: Node) -> Outputs:
    """HardSigmoid is computed: the output is not multiplied by the input."""
    outputs = right(node)
    x: Any = given(node, 0).astype(np.float64)
    return [np.clip(x / 6 + 0.5, 0, 1).astype(outputs[0].dtype)]


@reported(
    "onnx/onnx#5320",
    ops="LabelEncoder",
    right=Names(mistakes=("*nan*",), terms=("* has a NaN",)),
)
def label_of_nan_is_the_default(node: Node) -> Outputs:
    """A NaN among the keys is never found, since it does not equal itself."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype not in (np.float32, np.float64):
        return outputs
    keys: Any = node.attrs.get("keys_floats", node.attrs.get("keys_tensor", ()))
    finite = np.abs(np.nan_to_num(np.array(keys, np.float64), posinf=0, neginf=0))
    absent = x.dtype.type(2 * finite.max(initial=0) + 1)
    return right(node.with_input(0, np.where(np.isnan(x), absent, x)))


@reported(
    "tracel-ai/burn#315",
    ops="LogSoftmax",
    right=Names(
        mistakes=(
            "nothing_subtracted",
            "*overflow*",
            "*shift*",
            "*largest_subtracted*",
            "*max*subtract*",
            "*unstable*",
        ),
        terms=LARGE,
    ),
    partly=Names(terms=("*input is float32", "*input is float64", "the output is float*")),
)
def log_softmax_of_unshifted_exponentials(node: Node) -> Outputs:
    """The largest is not subtracted: all are infinite where the sum of exponentials is, or is 0."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype not in (np.float32, np.float64) or not x.size:
        return outputs
    if node.op.since >= 13:
        axes: tuple[int, ...] = (integer(node, "axis", -1),)
    else:
        axes = tuple(range(integer(node, "axis", 1) % x.ndim, x.ndim))
    logarithms: Any = np.log(np.exp(x).sum(axes, keepdims=True))
    return [np.where(np.isinf(logarithms), x - logarithms, outputs[0])]


@reported(
    "openvinotoolkit/openvino#35887",
    ops="LpNormalization",
    right=Names(
        mistakes=("*zero_norm*", "*norm*zero*", "*by_zero*", "*by_0*", "*0_norm*"),
        terms=("*norm is 0*", "*all zero*", "* zeros*", "* is 0 along *", "* has only 0*"),
    ),
    partly=Names(mistakes=("*nan*",), terms=("* has a 0*", "* has a zero*", "* has zeros*")),
)
def zero_vectors_normalized_to_nan(node: Node) -> Outputs:
    """A vector of zeros is divided by its norm: NaN, and not 0."""
    outputs = right(node)
    x: Any = given(node, 0).astype(np.float64)
    is_zero = np.broadcast_to(
        (x == 0).all(axis=integer(node, "axis", -1), keepdims=True), outputs[0].shape
    )
    return [np.where(is_zero, outputs[0].dtype.type(np.nan), outputs[0])]


@reported(
    "microsoft/onnxruntime#19298",
    "microsoft/onnxruntime#19299",
    ops="Pow",
    right=Names(
        mistakes=("*float32*", "*truncat*", "*one_less*", "*rounded_towards_zero*"),
        terms=(
            "the output is int*",
            "input [XY] is int*",
            "both inputs are int*",
            "inputs * are int*",
        ),
    ),
)
def powers_of_integers_truncated(node: Node) -> Outputs:
    """A power of int32 is computed by float32 logarithms, too small, and cut: 3 to the 1 is 2."""
    outputs = right(node)
    x, y = given(node, 0), given(node, 1)
    if x.dtype != np.int32 or y.dtype.kind != "i":
        return outputs
    logarithms = float32_below(np.log2(np.abs(x.astype(np.float64))))
    powers = float32_below(np.exp2(y * logarithms.astype(np.float64)))
    signs = np.where((x < 0) & (y % 2 == 1), -1, 1)
    is_computed = np.isfinite(powers) & (powers < 2.0**31)
    truncated = signs * np.trunc(np.where(is_computed, powers, 0)).astype(np.int64)
    return [np.where(is_computed, truncated, outputs[0]).astype(x.dtype)]


def float32_below(x: Array) -> Array:
    """Return numbers of float64 rounded down to float32."""
    nearest = x.astype(np.float32)
    below = np.nextafter(nearest, np.float32(-np.inf))
    return np.asarray(np.where(nearest > x, below, nearest))


@reported(
    "microsoft/onnxruntime#10542",
    ops="ReduceL1",
    right=Names(
        mistakes=("*abs*", "*signed*", "*unchanged*", "*copied*"),
        terms=(
            "* has an axis of length 1",
            "* has length 1 along *",
            "the length * is 1*",
            "`noop_with_empty_axes` is 1*",
            "* has a negative value",
        ),
    ),
    partly=Names(terms=("the number of elements of *", "the rank of *")),
)
def norm_of_one_element_is_signed(node: Node) -> Outputs:
    """If the output has as many elements as the input, these are copied with their signs."""
    outputs = right(node)
    x = given(node, 0)
    if x.size != outputs[0].size or not x.size:
        return outputs
    return [x.reshape(outputs[0].shape)]
