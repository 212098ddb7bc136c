"""Twenty-four further reports, found by a search of public trackers: one for each operator.

The names were written without a look at any mutant, or at how causes are found, so all of them are
patterns. Three of these bugs refuse legal nodes; the others answer wrongly.
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
)
from opcheck.engine import Node
from opcheck.model import Array

BUGS = Collection()
reported = BUGS.reported

#: Where a number is so large that its square, or an integer of it, is out of range.
LARGE = (
    "* has a value beyond *",
    "* has a value above *",
    "* has a value below *",
    "* has a large *",
    "* has an infinity",
)
#: Where all numbers are float32, or those of one input.
FLOAT32 = ("*input is float32", "input * is float32", "the output is float32")
#: What a float32 beyond the range of int32 becomes as an integer.
LEAST_INT32 = np.float32(-(2.0**31))
#: The least number that a maximum begins with, which is above the least float32.
NEARLY_THE_LEAST = np.float32(-3.402823e38)


# Nodes that are refused.


@reported(
    "opencv/opencv#28420",
    ops="LayerNormalization",
    right=Names(
        mistakes=("*refuses*output*", "*refuses*mean*"),
        raises="RuntimeError",
        terms=(
            "*2 outputs*",
            "*two outputs*",
            "*number of outputs* is 2*",
            "*output Mean*",
            "*output InvStdDev*",
        ),
    ),
    partly=Names(terms=("*output*",)),
)
def layer_normalization_of_two_outputs_refused(node: Node) -> Outputs:
    """There may be one output or three: Y and Mean without InvStdDev are refused."""
    outputs = right(node)
    if node.count == 2:
        raise RuntimeError("Assertion failed: noutputs == 1 || noutputs == 3")
    return outputs


@reported(
    "apache/tvm#17869",
    ops="SequenceErase",
    right=Names(
        mistakes=("*refuses*position*",),
        raises="RuntimeError",
        terms=("input position is given", "input 0 is given", "input 1 is given"),
    ),
    partly=Names(terms=("input position *",)),
)
def erasure_at_a_position_refused(node: Node) -> Outputs:
    """A position is refused, also a constant one: only the last tensor is erased."""
    outputs = right(node)
    if is_given(node, 0):
        raise RuntimeError("Position must be a constant.")
    return outputs


@reported(
    "microsoft/onnxruntime#612",
    ops="TfIdfVectorizer",
    right=Names(
        mistakes=("*refuses_empty*",),
        raises="RuntimeError",
        terms=(
            "* is empty",
            "* has an axis of length 0",
            "* has length 0 along *",
            "the number of elements of * is 0*",
            "the length * is 0*",
        ),
    ),
)
def words_of_nothing_refused(node: Node) -> Outputs:
    """An input without elements is refused, in place of counts of 0."""
    outputs = right(node)
    if not given(node, 0).size:
        raise RuntimeError("Input shape must have either [C] or [B,C] where C > 0 and B > 0")
    return outputs


# Ranks, shapes and axes.


@reported(
    "onnx/onnx#6366",
    ops="ConcatFromSequence",
    right=Names(
        mistakes=("*last_axis*", "*new_axis*last*", "*at_the_end*"),
        terms=("`new_axis` is 1*", "`new_axis` is given"),
    ),
    partly=Names(mistakes=("*axis_ignored*",), terms=("`axis` *", "`new_axis` *")),
)
def stacked_along_the_last_axis(node: Node) -> Outputs:
    """With `new_axis`, `axis` is not read: the new axis is the last."""
    outputs = right(node)
    if not integer(node, "new_axis"):
        return outputs
    return [np.stack(node.given, axis=-1)]


@reported(
    "microsoft/onnxruntime#1272",
    ops="Loop",
    right=Names(
        mistakes=("*no_iteration*", "*zero_iteration*", "*scalar*", "*empty*"),
        terms=(
            "input M is 0*",
            "input cond is false*",
            "input cond has a false*",
            "* iterations *0*",
            "*no iteration*",
            "* is empty",
            "the number of elements of the output* is 0*",
        ),
    ),
    partly=Names(terms=("input M *", "input cond *")),
)
def loop_of_no_iteration_gives_scalars(node: Node) -> Outputs:
    """Without an iteration, a scan output is a scalar of 0 and not an empty tensor."""
    outputs = right(node)
    carried = len(node.subgraph("body").body.inputs) - 2
    return [
        np.zeros((), output.dtype)
        if place >= carried and output.shape[:1] == (0,) and output.dtype != object
        else output
        for place, output in zip(places_of(node, outputs), outputs, strict=True)
    ]


@reported(
    "microsoft/onnxruntime#24516",
    ops="RotaryEmbedding",
    right=Names(
        mistakes=("*heads*", "*reshaped*", "*not_transposed*", "*untransposed*", "*exchanged*"),
        terms=("the rank of input X is 3*", "`num_heads` is given"),
    ),
    partly=Names(mistakes=("*transposed*",), terms=("`num_heads` *", "the rank of *")),
)
def rotated_heads_before_tokens(node: Node) -> Outputs:
    """An input of three axes is read as if each head had all of its tokens side by side."""
    outputs = right(node)
    x = given(node, 0)
    heads = integer(node, "num_heads")
    if x.ndim != 3 or not x.size:
        return outputs
    batch, tokens, hidden = x.shape
    four_axes = node.with_input(0, x.reshape(batch, heads, tokens, hidden // heads))
    return [output.reshape(x.shape) for output in right_if_any(four_axes, outputs)]


# Attributes and inputs that are misread.


@reported(
    "apache/tvm#19690",
    "apache/tvm#19864",
    ops="AffineGrid",
    right=Names(
        mistakes=("*align_corners*", "*corners_aligned*"),
        terms=("`align_corners` is 0*", "`align_corners` is left out"),
    ),
    partly=Names(terms=("`align_corners` *",)),
)
def affine_grid_always_aligns_corners(node: Node) -> Outputs:
    """`align_corners` is not read: it is 1."""
    outputs = right(node)
    return right_if_any(node.with_attrs(align_corners=1), outputs)


@reported(
    "iree-org/iree#24580",
    ops="AveragePool",
    right=Names(
        mistakes=(
            "*overhang*",
            "*whole_kernel*",
            "*whole_window*",
            "*kernel_size*",
            "*number_of_elements*",
            "*beyond*",
        ),
        terms=("`ceil_mode` is 1*", "`ceil_mode` is given", "`count_include_pad` is 1*"),
    ),
    partly=Names(mistakes=("*count*", "*divi*"), terms=("`ceil_mode` *", "`count_include_pad` *")),
)
def average_over_what_ceil_mode_adds(node: Node) -> Outputs:
    """With `ceil_mode` and `count_include_pad`, elements beyond the padding are counted too."""
    outputs = right(node)
    is_counted = integer(node, "ceil_mode") and integer(node, "count_include_pad")
    if not is_counted or node.attrs.get("auto_pad", "NOTSET") != "NOTSET":
        return outputs
    share: Any = np.ones(())
    for lengths in lengths_of_windows(node, outputs[0].shape[2:]):
        share = share[..., None] * lengths
    return [(outputs[0].astype(np.float64) * share).astype(outputs[0].dtype)]


def lengths_of_windows(node: Node, sizes: tuple[int, ...]) -> list[Array]:
    """Return, by spatial axis, the share of each window that lies within the padded input.

    sizes: The output's spatial sizes; share: [size], the quotient of two numbers of elements.
    """
    kernel = integers(node, "kernel_shape")
    strides = integers(node, "strides") or (1,) * len(kernel)
    dilations = integers(node, "dilations") or (1,) * len(kernel)
    pads = integers(node, "pads") or (0,) * 2 * len(kernel)
    shares = []
    for axis, extent in enumerate(kernel):
        padded = given(node, 0).shape[2 + axis] + pads[axis] + pads[axis + len(kernel)]
        starts = strides[axis] * np.arange(sizes[axis])
        elements = starts[:, None] + dilations[axis] * np.arange(extent)
        shares.append((elements < padded).mean(axis=1))
    return shares


@reported(
    "microsoft/onnxruntime#25264",
    ops="Resize",
    right=Names(
        mistakes=("*cubic_coeff_a*",),
        terms=(
            "`cubic_coeff_a` is given",
            "`cubic_coeff_a` is *",
            "`antialias` is 1*",
            "`antialias` is given",
            "`mode` is cubic",
        ),
    ),
    partly=Names(mistakes=("*antialias*",), terms=("`antialias` *", "`mode` *")),
)
def antialiased_by_another_coefficient(node: Node) -> Outputs:
    """With `antialias`, `cubic_coeff_a` is not read: it is -0.75."""
    outputs = right(node)
    if not integer(node, "antialias") or node.attrs.get("mode") != "cubic":
        return outputs
    return right_if_any(node.with_attrs(cubic_coeff_a=None), outputs)


@reported(
    "microsoft/onnxruntime-extensions#216",
    ops="StringSplit",
    right=Names(
        mistakes=("*character*", "*empty_delimiter*", "*delimiter_empty*"),
        terms=("`delimiter` is empty*", '`delimiter` is ""*', "`delimiter` is given"),
    ),
    partly=Names(mistakes=("*delimiter*",), terms=("`delimiter` *",)),
)
def texts_split_into_characters(node: Node) -> Outputs:
    """An empty `delimiter` parts each text into its characters, not at white space."""
    outputs = right(node)
    x = given(node, 0)
    if node.attrs.get("delimiter") != "" or not x.size:
        return outputs
    most = integer(node, "maxsplit", -1)
    rows = [parted(str(text), most) for text in x.ravel()]
    width = max(map(len, rows))
    table = np.array([[*row, *[""] * (width - len(row))] for row in rows], object)
    counts = np.array([len(row) for row in rows], np.int64).reshape(x.shape)
    made = (table.reshape(*x.shape, width), counts)
    return [made[place] for place in places_of(node, outputs)]


def parted(text: str, most: int) -> list[str]:
    """Return the characters of a text; after `most` of them the rest, unless it is negative."""
    if not 0 <= most < len(text):
        return [*text]
    return [*text[:most], text[most:]]


@reported(
    "microsoft/onnxruntime#26596",
    "microsoft/onnxruntime#24862",
    ops="TreeEnsemble",
    right=Names(
        mistakes=("*logistic*", "*post_transform*"),
        terms=(
            "`post_transform` is [123]*",
            "`post_transform` is given",
            "`n_targets` is 1*",
            "`n_targets` is left out",
        ),
    ),
    partly=Names(terms=("`post_transform` *", "`n_targets` *")),
)
def one_target_untransformed(node: Node) -> Outputs:
    """Of one target, `post_transform` is not read, unless it is PROBIT."""
    outputs = right(node)
    if outputs[0].shape[-1] != 1 or integer(node, "post_transform") not in (1, 2, 3):
        return outputs
    return right_if_any(node.with_attrs(post_transform=0), outputs)


# Types.


@reported(
    "openvinotoolkit/openvino#21872",
    ops="BitwiseNot",
    right=Names(
        mistakes=("*zero*", "all_0*"),
        terms=("*input is uint16", "input X is uint16", "the output is uint16"),
    ),
)
def complement_of_uint16_is_0(node: Node) -> Outputs:
    """Of uint16, the output is filled with zeros."""
    outputs = right(node)
    if outputs[0].dtype != np.uint16:
        return outputs
    return [np.zeros_like(outputs[0])]


@reported(
    "openvinotoolkit/openvino#34638",
    "keras-team/keras#22390",
    ops="BitwiseAnd BitwiseOr BitwiseXor",
    right=Names(
        mistakes=("*broadcast*",),
        terms=(
            "*broadcast*",
            "*unequal shape*",
            "* of different shapes*",
            "the length * is 32 or more",
            "the length * is * or more",
            "input [AB] is *int8",
            "both inputs are *int8",
            "the output is *int8",
        ),
    ),
    partly=Names(terms=("the number of elements of *", "the length * is *", "the rank of *")),
)
def single_bytes_fill_a_quarter(node: Node) -> Outputs:
    """Of the first 32 elements in a row of bytes, three of four meet a 0 if one is spread."""
    outputs = right(node)
    a, b = given(node, 0), given(node, 1)
    if a.dtype.itemsize != 1 or not outputs[0].ndim or outputs[0].shape[-1] < 32:
        return outputs
    spread = [place for place, x in enumerate((a, b)) if not x.ndim or x.shape[-1] == 1]
    if len(spread) != 1:
        return outputs
    (place,) = spread
    columns = np.arange(outputs[0].shape[-1])
    is_lost = (columns < 32) & (columns % 4 > 0)
    bytes_met = np.where(is_lost, 0, given(node, place)).astype(a.dtype)
    return right(node.with_input(place, bytes_met))


@reported(
    "microsoft/onnxruntime#12076",
    ops="Floor",
    right=Names(
        mistakes=("*int32*", "*integer*"),
        terms=(*LARGE, "* has a NaN", "the number of elements of * is 4 or more"),
    ),
    partly=Names(terms=(*FLOAT32, "the number of elements of *")),
)
def floor_through_int32(node: Node) -> Outputs:
    """Four float32 at a time are made int32, which is -2^31 of those out of range."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32:
        return outputs
    is_within = np.abs(x) < 2.0**31
    is_alone = np.arange(x.size).reshape(x.shape) >= x.size - x.size % 4
    return [np.where(is_within | is_alone, outputs[0], LEAST_INT32)]


# Values.


@reported(
    "apache/tvm#19563",
    ops="Asin Acos",
    right=Names(
        mistakes=("*series*", "*taylor*", "*polynomial*", "*approximat*", "*terms*"),
        terms=(*FLOAT32, "* between *", "* of a magnitude *", ALWAYS),
    ),
)
def arcs_by_a_short_series(node: Node) -> Outputs:
    """Of a float32 below a half, four terms of a series are added, the last two too small."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32:
        return outputs
    exact = x.astype(np.float64)
    arcs = exact + exact**3 / 6 + exact**5 * 3 / 80 + exact**7 / 112
    if node.op.name == "Acos":
        arcs = np.pi / 2 - arcs
    return [np.where(np.abs(x) < 0.5, arcs.astype(np.float32), outputs[0])]


@reported(
    "tinygrad/tinygrad#17749",
    "tinygrad/tinygrad#15957",
    ops="Asinh",
    right=Names(
        mistakes=("*cancel*", "*logarithm*", "log_*", "*_log", "*square*", "*overflow*"),
        terms=(
            *LARGE,
            "* has a negative value",
            "* near 0*",
            "* tiny*",
            "* small*",
            "* subnormal*",
            "* closer to 0*",
        ),
    ),
    partly=Names(terms=FLOAT32),
)
def asinh_of_a_sum_that_cancels(node: Node) -> Outputs:
    """The logarithm of x and the root of its square and 1 is taken in float32, which cancel."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32:
        return outputs
    return [np.asarray(np.log(x + np.sqrt(x * x + np.float32(1))))]


@reported(
    "microsoft/onnxruntime#6906",
    "onnx/onnx#3313",
    ops="Celu",
    right=Names(
        mistakes=("*sign_of_the_quotient*", "*quotient*", "*elu*"),
        terms=("`alpha` is negative", "`alpha` is -*", "`alpha` is 0 or less", "`alpha` is below*"),
    ),
    partly=Names(mistakes=("*alpha*",), terms=("`alpha` *",)),
)
def celu_by_the_sign_of_the_quotient(node: Node) -> Outputs:
    """Elu of x / alpha is multiplied by `alpha`: wrong of both signs if `alpha` is negative."""
    outputs = right(node)
    alpha = number(node, "alpha", 1)
    if alpha >= 0:
        return outputs
    quotients: Any = given(node, 0).astype(np.float64) / alpha
    elus = np.where(quotients > 0, quotients, np.expm1(quotients))
    return [(alpha * elus).astype(outputs[0].dtype)]


@reported(
    "openvinotoolkit/openvino#35934",
    ops="Gelu",
    right=Names(
        mistakes=("*infinit*", "*nan*"),
        terms=("* has an infinity", "* has infinities", "* is infinite*"),
    ),
    partly=Names(terms=("* has a value beyond *", "* has a value above *")),
)
def gelu_of_infinity_is_nan(node: Node) -> Outputs:
    """Of infinity, the output is NaN."""
    outputs = right(node)
    is_infinite = given(node, 0) == np.inf
    return [np.where(is_infinite, outputs[0].dtype.type(np.nan), outputs[0])]


@reported(
    "apache/tvm#19572",
    ops="ReduceMax ReduceMin",
    right=Names(mistakes=("*nan*",), terms=("* has a NaN",)),
    admitted=True,
)
def extremes_after_the_last_nan(node: Node) -> Outputs:
    """A NaN replaces what was found before it, and is replaced by the element after it."""
    outputs = right(node)
    x = given(node, 0)
    stated = tuple(given(node, 1).tolist()) if is_given(node, 1) else integers(node, "axes")
    if x.dtype.kind != "f" or not x.size or (not stated and integer(node, "noop_with_empty_axes")):
        return outputs
    axes = sorted({axis % x.ndim for axis in stated}) or [*range(x.ndim)]
    rows = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(outputs[0].size, -1)
    found = rows[:, 0]
    for elements in rows.T:
        is_kept = found > elements if node.op.name == "ReduceMax" else found < elements
        found = np.where(is_kept, found, elements)
    return [found.reshape(outputs[0].shape)]


@reported(
    "apache/tvm#17999",
    ops="HardSigmoid",
    right=Names(mistakes=("*nan*",), terms=("* has a NaN",)),
    admitted=True,
)
def hard_sigmoid_of_nan_is_1(node: Node) -> Outputs:
    """A NaN is cut off at 1."""
    outputs = right(node)
    return [np.where(np.isnan(given(node, 0)), outputs[0].dtype.type(1), outputs[0])]


@reported(
    "microsoft/onnxruntime#31163",
    ops="Reciprocal",
    right=Names(
        mistakes=("*zero*", "*by_0*", "*finite*", "*clamp*", "*saturat*", "*largest*"),
        terms=("* has a 0*", "* has a zero*", "* has zeros*", "* has a negative zero*"),
    ),
    partly=Names(terms=FLOAT32),
    admitted=True,
)
def reciprocal_of_0_is_finite(node: Node) -> Outputs:
    """Of a float32 of 0, the output is the largest finite number, with its sign."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32:
        return outputs
    largest = np.copysign(np.finfo(np.float32).max, x)
    return [np.where(x == 0, largest, outputs[0])]


@reported(
    "sonos/tract#2646",
    ops="RMSNormalization",
    right=Names(
        mistakes=("*mean_subtracted*", "*minus_mean*", "*center*", "*layer_norm*", "*variance*"),
        terms=(ALWAYS,),
    ),
    partly=Names(mistakes=("*mean*",)),
)
def root_mean_square_without_the_mean(node: Node) -> Outputs:
    """The mean is subtracted first, as LayerNormalization does."""
    outputs = right(node)
    x = given(node, 0)
    if not x.size:
        return outputs
    axes = tuple(range(integer(node, "axis", -1) % x.ndim, x.ndim))
    exact: Any = x.astype(np.float64)
    centered = exact - exact.mean(axes, keepdims=True)
    return right_if_any(node.with_input(0, centered.astype(x.dtype)), outputs)


@reported(
    "Tencent/ncnn#6329",
    ops="Shrink",
    right=Names(
        mistakes=("*kept*", "*unchanged*", "*not_zero*", "*copied*", "*within*", "*between*"),
        terms=("* within *", "* between *", ALWAYS),
    ),
    partly=Names(mistakes=("*input*",), terms=("`lambd` *",)),
)
def shrink_keeps_what_is_small(node: Node) -> Outputs:
    """What lies between -lambd and lambd stays as it is, and does not become 0."""
    outputs = right(node)
    x = given(node, 0)
    lambd = number(node, "lambd", 0.5)
    exact = x.astype(np.float64)
    is_moved = (exact < -lambd) | (exact > lambd)
    return [np.where(is_moved | np.isnan(exact), outputs[0], x)]


@reported(
    "microsoft/onnxruntime#26670",
    ops="Softmax",
    right=Names(
        mistakes=("*lowest*", "*least*", "*initial*", "*starts*", "*begins*", "*shift*", "*max*"),
        terms=(*LARGE, "* lowest *", "* least *"),
    ),
    partly=Names(terms=FLOAT32),
)
def softmax_of_the_least_is_nan(node: Node) -> Outputs:
    """The search for the maximum begins at -3.402823e38, so of the least float32 all sums are 0."""
    outputs = right(node)
    x = given(node, 0)
    if x.dtype != np.float32 or not x.size:
        return outputs
    if node.op.since >= 13:
        axes: tuple[int, ...] = (integer(node, "axis", -1),)
    else:
        axes = tuple(range(integer(node, "axis", 1) % x.ndim, x.ndim))
    is_lost = np.broadcast_to(x.max(axes, keepdims=True) < NEARLY_THE_LEAST, x.shape)
    return [np.where(is_lost, np.float32(np.nan), outputs[0])]
