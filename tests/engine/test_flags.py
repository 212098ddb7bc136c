"""A flag of another number than 0 and 1 is taken for either of them, or refused."""

import math
import re
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import ArrayLike
from onnx import defs

from opcheck.engine import operators
from opcheck.engine.rulings import FLAG_OF_ANOTHER_NUMBER
from opcheck.model import Array, OpVersion
from tests.computed import by_reading


@dataclass(frozen=True)
class Flagged:
    """An operator with a flag, and its outputs for both values, worked out by hand.

    None stands for a refusal: the inputs are legal for the other value alone.
    """

    op: OpVersion
    flag: str
    inputs: list[Array | None]
    if_1: list[ArrayLike] | None
    if_0: list[ArrayLike] | None
    attrs: dict[str, Any] = field(default_factory=dict)


def window(name, first):
    """Return a window of two points: of one period, the second is its middle."""
    op = OpVersion("", name, 17)
    size = np.array(2)
    return Flagged(op, "periodic", [size], if_1=[[first, 1]], if_0=[[first, first]])


def of_one_element(name, since, result):
    """Return a reduction of a row of one element, 3, of which this is left: a row, or a number."""
    op = OpVersion("", name, since)
    row = np.float32([3])
    return [
        Flagged(op, "keepdims", [row], if_1=[[result]], if_0=[result]),
        # Over no axes at all, or over all of them.
        Flagged(
            op,
            "noop_with_empty_axes",
            [row, np.array([], np.int64)],
            if_1=[[result]],
            if_0=[result],
            attrs={"keepdims": 0},
        ),
    ]


def stretched(name, since, A, B, result):
    """Return an operator of two tensors before version 7, of which the second is one element."""
    return Flagged(OpVersion("", name, since), "broadcast", [A, B], if_1=[result], if_0=None)


def pool(name, if_1, if_0, **attrs):
    """Return a pool of two places each, over three: the last one is alone if it counts."""
    return Flagged(
        OpVersion("", name, 22),
        "ceil_mode",
        [np.float32([[[1, 2, 5]]])],
        if_1=[[[if_1]]],
        if_0=[[[if_0]]],
        attrs={"kernel_shape": (2,), "strides": (2,), **attrs},
    )


def saturating(name, inputs, **attrs):
    """Return a conversion of a million to float8e5m2, whose largest number is 57,344."""
    return Flagged(
        OpVersion("", name, 19),
        "saturate",
        [np.float32([1e6]), *inputs],
        if_1=[[57_344]],
        if_0=[[np.inf]],
        attrs=attrs,
    )


def scan(name, flag, if_1, if_0):
    """Return running sums or products of 1, 2, 3."""
    op = OpVersion("", name, {"CumSum": 14, "CumProd": 26}[name])
    return Flagged(op, flag, [np.float32([1, 2, 3]), np.array(0)], [if_1], [if_0])


ZEROS = np.zeros((1, 1, 2, 1), np.float32)
TRUTHS = np.array([True, False])
FLOAT8 = np.zeros(1, ml_dtypes.float8_e5m2)
FLAGGED = [
    Flagged(
        OpVersion("", "AffineGrid", 20),
        "align_corners",
        [np.float32([[[1, 0, 0], [0, 1, 0]]]), np.array([1, 1, 2, 2])],
        if_1=[[[[[-1, -1], [1, -1]], [[-1, 1], [1, 1]]]]],
        if_0=[[[[[-0.5, -0.5], [0.5, -0.5]], [[-0.5, 0.5], [0.5, 0.5]]]]],
    ),
    # The location is three quarters of the way to the last pixel, or that pixel.
    Flagged(
        OpVersion("", "GridSample", 20),
        "align_corners",
        [np.float32([[[[2, 4]]]]), np.float32([[[[0.5, 0]]]])],
        if_1=[[[[[3.5]]]]],
        if_0=[[[[[4]]]]],
    ),
    window("HannWindow", 0),
    window("HammingWindow", 4 / 46),
    window("BlackmanWindow", 0),
    # As corners the second box is a quarter of the first; as centers they share 1 of 7.
    Flagged(
        OpVersion("", "NonMaxSuppression", 11),
        "center_point_box",
        [
            np.float32([[[0, 0, 2, 2], [1, 1, 2, 2]]]),
            np.float32([[[2, 1]]]),
            np.array(2),
            np.float32(0.2),
        ],
        if_1=[[[0, 0, 0], [0, 0, 1]]],
        if_0=[[[0, 0, 0]]],
    ),
    Flagged(
        OpVersion("", "Trilu", 14),
        "upper",
        [np.float32([[1, 2], [3, 4]])],
        if_1=[[[1, 2], [0, 4]]],
        if_0=[[[1, 0], [3, 4]]],
    ),
    Flagged(
        OpVersion("", "Reshape", 14),
        "allowzero",
        [np.zeros((2, 0), np.float32), np.array([0, 0])],
        if_1=[np.zeros((0, 0))],
        if_0=[np.zeros((2, 0))],
    ),
    Flagged(
        OpVersion("", "ConcatFromSequence", 11),
        "new_axis",
        [np.float32([1, 2]), np.float32([3, 4])],
        if_1=[[[1, 2], [3, 4]]],
        if_0=[[1, 2, 3, 4]],
        attrs={"axis": 0},
    ),
    # The first output is the number of parts.
    Flagged(
        OpVersion("", "SplitToSequence", 11),
        "keepdims",
        [np.float32([1, 2])],
        if_1=[2, [1], [2]],
        if_0=[2, 1, 2],
    ),
    Flagged(
        OpVersion("", "ArgMax", 13),
        "keepdims",
        [np.float32([1, 3])],
        if_1=[[1]],
        if_0=[1],
    ),
    Flagged(
        OpVersion("", "ArgMin", 13),
        "select_last_index",
        [np.float32([3, 3])],
        if_1=[[1]],
        if_0=[[0]],
    ),
    Flagged(
        OpVersion("", "IsInf", 20),
        "detect_negative",
        [np.float32([-np.inf, np.inf])],
        if_1=[[True, True]],
        if_0=[[False, True]],
    ),
    Flagged(
        OpVersion("", "IsInf", 20),
        "detect_positive",
        [np.float32([-np.inf, np.inf])],
        if_1=[[True, True]],
        if_0=[[True, False]],
    ),
    Flagged(
        OpVersion("", "ArgMin", 13),
        "keepdims",
        [np.float32([1, 3])],
        if_1=[[0]],
        if_0=[0],
    ),
    Flagged(
        OpVersion("", "ArgMax", 13),
        "select_last_index",
        [np.float32([3, 3])],
        if_1=[[1]],
        if_0=[[0]],
    ),
    *of_one_element("ReduceL1", 18, 3),
    *of_one_element("ReduceL2", 18, 3),
    *of_one_element("ReduceLogSum", 18, math.log(3)),
    *of_one_element("ReduceLogSumExp", 18, 3),
    *of_one_element("ReduceMax", 20, 3),
    *of_one_element("ReduceMean", 18, 3),
    *of_one_element("ReduceMin", 20, 3),
    *of_one_element("ReduceProd", 18, 3),
    *of_one_element("ReduceSum", 13, 3),
    *of_one_element("ReduceSumSquare", 18, 9),
    scan("CumSum", "exclusive", [0, 1, 3], [1, 3, 6]),
    scan("CumSum", "reverse", [6, 5, 3], [1, 3, 6]),
    scan("CumProd", "exclusive", [1, 1, 2], [1, 2, 6]),
    scan("CumProd", "reverse", [6, 6, 3], [1, 2, 6]),
    stretched("Add", 6, np.float32([3, 6]), np.float32([3]), [6, 9]),
    stretched("Sub", 6, np.float32([3, 6]), np.float32([3]), [0, 3]),
    stretched("Mul", 6, np.float32([3, 6]), np.float32([3]), [9, 18]),
    stretched("Div", 6, np.float32([3, 6]), np.float32([3]), [1, 2]),
    stretched("Pow", 1, np.float32([3, 6]), np.float32([2]), [9, 36]),
    stretched("Equal", 1, np.int32([3, 6]), np.int32([3]), [True, False]),
    stretched("Less", 1, np.float32([3, 6]), np.float32([4]), [True, False]),
    stretched("Greater", 1, np.float32([3, 6]), np.float32([4]), [False, True]),
    stretched("And", 1, TRUTHS, np.array([True]), [True, False]),
    stretched("Or", 1, TRUTHS, np.array([False]), [True, False]),
    stretched("Xor", 1, TRUTHS, np.array([True]), [False, True]),
    pool("MaxPool", [2, 5], [2]),
    pool("AveragePool", [1.5, 5], [1.5]),
    pool("LpPool", [3, 5], [3], p=1),
    Flagged(
        OpVersion("", "Mod", 10),
        "fmod",
        [np.int32([-1]), np.int32([3])],
        if_1=[[-1]],
        if_0=[[2]],
    ),
    Flagged(
        OpVersion("", "TopK", 11),
        "largest",
        [np.float32([1, 3]), np.array([1])],
        if_1=[[3], [1]],
        if_0=[[1], [0]],
    ),
    # Unsorted, any order is right: the engine's is that of the input.
    Flagged(
        OpVersion("", "TopK", 11),
        "sorted",
        [np.float32([1, 3]), np.array([2])],
        if_1=[[3, 1], [1, 0]],
        if_0=[[1, 3], [0, 1]],
    ),
    Flagged(
        OpVersion("ai.onnx.ml", "OneHotEncoder", 1),
        "zeros",
        [np.array([2])],
        if_1=[[[0]]],
        if_0=None,
        attrs={"cats_int64s": (1,)},
    ),
    # All keys weigh the same, of which the first query attends the first alone if it is causal.
    Flagged(
        OpVersion("", "Attention", 23),
        "is_causal",
        [ZEROS, ZEROS, np.float32([[[[1], [3]]]])],
        if_1=[[[[[1], [2]]]], ZEROS, [[[[1], [3]]]], np.zeros((1, 1, 2, 2))],
        if_0=[[[[[2], [2]]]], ZEROS, [[[[1], [3]]]], np.zeros((1, 1, 2, 2))],
    ),
    # A quarter turn of two pairs, which are neighbors or lie half a row apart.
    Flagged(
        OpVersion("", "RotaryEmbedding", 23),
        "interleaved",
        [
            np.float32([[[[1, 2, 3, 4]]]]),
            np.zeros((1, 1, 2), np.float32),
            np.ones((1, 1, 2), np.float32),
        ],
        if_1=[[[[[-2, 1, -4, 3]]]]],
        if_0=[[[[[-3, -4, 1, 2]]]]],
    ),
    Flagged(
        OpVersion("", "DFT", 20),
        "inverse",
        [np.float32([[[1, 0], [3, 0]]])],
        if_1=[[[[2, 0], [-1, 0]]]],
        if_0=[[[[4, 0], [-2, 0]]]],
    ),
    # Statistics of each place, (C, D1), are missing here.
    Flagged(
        OpVersion("", "BatchNormalization", 7),
        "spatial",
        [np.float32([[[1, 2]]]), *map(np.float32, ([1], [0], [0], [1]))],
        if_1=[[[[1, 2]]]],
        if_0=None,
        attrs={"epsilon": 0.0},
    ),
    Flagged(
        OpVersion("", "BatchNormalization", 15),
        "training_mode",
        [np.float32([[[1, 3]]]), *map(np.float32, ([1], [0], [0], [1]))],
        if_1=[[[[-1, 1]]], [0.2], [1]],
        if_0=[[[[1, 3]]]],
        attrs={"epsilon": 0.0},
    ),
    # The cell keeps what the forget gate lets pass of 1: a half, or what the input gate leaves.
    Flagged(
        OpVersion("", "LSTM", 14),
        "input_forget",
        [
            np.zeros((1, 1, 1), np.float32),
            np.zeros((1, 4, 1), np.float32),
            np.zeros((1, 4, 1), np.float32),
            np.float32([[math.log(3), 0, 0, 0, 0, 0, 0, 0]]),
            None,
            None,
            np.ones((1, 1, 1), np.float32),
        ],
        if_1=[[[[[math.tanh(0.25) / 2]]]], [[[math.tanh(0.25) / 2]]], [[[0.25]]]],
        if_0=[[[[[math.tanh(0.5) / 2]]]], [[[math.tanh(0.5) / 2]]], [[[0.5]]]],
        attrs={"hidden_size": 1},
    ),
    saturating("Cast", [], to=19),
    saturating("CastLike", [FLOAT8]),
    saturating("QuantizeLinear", [np.float32(1), FLOAT8.reshape(())]),
    # Weights of places beyond the ends are those of the ends, or are left out.
    Flagged(
        OpVersion("", "Resize", 19),
        "exclude_outside",
        [np.float32([0, 4]), None, np.float32([2])],
        if_1=[[-0.421875 / 0.7734375, 1.046875 / 1.140625, 4 - 1.046875 / 1.140625, 4.5454545]],
        if_0=[[-0.421875, 0.90625, 3.09375, 4.421875]],
        attrs={"mode": "cubic"},
    ),
    # Means of two, or by the weights 1, 3, 3, 1 of four, of which one lies beyond an end.
    Flagged(
        OpVersion("", "Resize", 19),
        "antialias",
        [np.float32([0, 2, 4, 10]), None, np.float32([0.5])],
        if_1=[[10 / 8, 54 / 8]],
        if_0=[[1, 7]],
        attrs={"mode": "linear"},
    ),
    Flagged(
        OpVersion("", "StringNormalizer", 10),
        "is_case_sensitive",
        [np.array(["A", "b"], object)],
        if_1=[["A", "b"]],
        if_0=[["b"]],
        attrs={"stopwords": ("a",)},
    ),
]
#: Flags of which the text decides other numbers too, and the words that do.
DECIDED = {
    ("AveragePool", "count_include_pad"): "exclude pad when attribute count_include_pad is zero",
    ("BatchNormalization", "is_test"): "If set to nonzero",
    ("DFT", "onesided"): "Value can be `0` or `1`.",
    ("Dropout", "is_test"): "if nonzero",
    ("Gemm", "broadcast"): "If attribute broadcast is non-zero",
    ("Gemm", "transA"): "if attribute transA is non-zero",
    ("Gemm", "transB"): "is non-zero, same for B and transB",
    # A number stands for a format of shapes, of which there are two.
    ("GRU", "layout"): "The shape format of inputs X, initial_h and outputs Y, Y_h.",
    ("LSTM", "layout"): "The shape format of inputs X, initial_h, initial_c and outputs",
    ("RNN", "layout"): "The shape format of inputs X, initial_h and outputs Y, Y_h.",
    ("GRU", "output_sequence"): "optional if 0",
    ("LSTM", "output_sequence"): "optional if 0",
    ("RNN", "output_sequence"): "optional if 0",
    ("STFT", "onesided"): "Values can be 0 or 1.",
    ("Unique", "sorted"): "Must be one of 0, or 1",
    # Nothing is stated of what else there is.
    ("LinearClassifier", "multi_class"): "0=OvR is the default",
}
#: Integers of which more than 0 and 1 mean something.
NUMBERS = (
    "axis group k max_skip_count offset_group output_datatype qk_matmul_output_mode "
    "right_window_size sampling_ratio start stash_type"
).split()
OF_A_FLAG = re.compile(
    r"\b(flag|boolean|whether|true|false|non-?zero|enabl\w+)\b|if set\b|set to `?1|or not\b"
    r"|(=|is|if|to|pass) ?`?[01]\b|0 or 1|0, or 1",
    re.IGNORECASE,
)


def flags_of_schemas():
    """Return the operators and attributes whose description is that of a flag, in any version."""
    return {
        (schema.name, attribute.name)
        for schema in defs.get_all_schemas_with_history()
        for attribute in schema.attributes.values()
        if attribute.type == defs.OpSchema.AttrType.INT
        and operators.find(schema.domain, schema.name)
        and OF_A_FLAG.search(attribute.description)
        and attribute.name not in NUMBERS
    }


def test_every_flag_is_asked_of_or_decided_by_its_text():
    asked = {(flagged.op.name, flagged.flag) for flagged in FLAGGED}
    assert asked | DECIDED.keys() == flags_of_schemas()


@pytest.mark.parametrize(("name", "flag"), DECIDED)
def test_a_text_that_decides_has_these_words(name, flag):
    texts = [
        " ".join(f"{schema.doc} {schema.attributes[flag].description}".split())
        for schema in defs.get_all_schemas_with_history()
        if schema.name == name and flag in schema.attributes
    ]
    assert any(DECIDED[name, flag] in text for text in texts)


@pytest.mark.parametrize("value", [2, -1])
@pytest.mark.parametrize("flagged", FLAGGED, ids=lambda flagged: f"{flagged.op} {flagged.flag}")
def test_a_flag_of_another_number_counts_as_1_or_as_0_or_is_refused(flagged, value):
    """Other rulings may follow, which only add answers."""
    attrs = {**flagged.attrs, flagged.flag: value}
    answers = by_reading(flagged.op, flagged.inputs, attrs)
    of_flag = {}
    for readings, outputs in answers.items():
        first, *_ = readings.split(", ")
        of_flag.setdefault(first, outputs)
    assert of_flag.keys() == {*FLAG_OF_ANOTHER_NUMBER.readings}
    assert of_flag["refused"] is None
    assert_are_close(of_flag["as_1"], flagged.if_1)
    assert_are_close(of_flag["as_0"], flagged.if_0)


def assert_are_close(outputs, expected):
    """Assert that outputs have these values and shapes; None is a refusal."""
    if expected is None:
        assert outputs is None
        return
    assert outputs is not None
    for output, values in zip(outputs, expected, strict=True):
        assert output.shape == np.shape(values)
        if output.dtype == object:
            assert output.tolist() == values
        else:
            wide = output.astype(np.float64)
            assert wide == pytest.approx(np.array(values, np.float64), rel=0, abs=1e-6)
