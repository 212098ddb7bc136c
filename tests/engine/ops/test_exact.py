"""Movement, selection and bits: answers worked out by hand, where engines go wrong."""

import ml_dtypes
import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.errors import BeyondBudget, InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate

BIG = 2**53 + 1
EIGHT = (1, 2, 1, 3, 1, 1, 2, 1)
X = np.array([[1, 2, 3], [4, 5, 6]])
I8, U8, F = np.int8, np.uint8, np.float32
NONE, EMPTY = None, np.zeros((0, 2), F)


def i(*numbers, dtype=np.int64):
    return np.array(numbers, dtype)


def answer(op, since, *inputs, outputs=1, **attrs):
    """A function that answers: an array, or all outputs as lists."""

    def answered():
        given = [x if x is None else np.asarray(x) for x in inputs]
        found = evaluate(OpVersion("", op, since), given, attrs, outputs)
        return found[0] if outputs == 1 else [one.tolist() for one in found]

    return answered


@pytest.mark.parametrize(
    ("answered", "want"),
    [
        (answer("Split", 18, i(BIG, 2, 3), num_outputs=2, outputs=2), [[BIG, 2], [3]]),
        (answer("Split", 13, EMPTY, i(0, 0), axis=0, outputs=2), [[], []]),
        (answer("Split", 11, X, axis=-1, split=[1, 2], outputs=2), [[[1], [4]], [[2, 3], [5, 6]]]),
        (answer("Expand", 13, i(7), i(2, 0)), [[], []]),
        (answer("Expand", 8, np.int64(BIG), i(1, 2)), [[BIG, BIG]]),
        (answer("Tile", 13, X, i(0, 2)), []),
        (answer("Pad", 13, i(1, 2, 3), i(-1, 1), np.int64(BIG)), [2, 3, BIG]),
        (answer("Pad", 25, i(1, 2, 3), i(4, 2), mode="wrap"), [3, 1, 2, 3, 1, 2, 3, 1, 2]),
        (answer("Pad", 25, i(1, 2, 3), i(2, 1), mode="reflect"), [3, 2, 1, 2, 3, 2]),
        (answer("Pad", 18, X, i(1, -1), NONE, i(-1)), [[0, 1, 2], [0, 4, 5]]),
        (answer("Pad", 13, np.array(["a"], object), i(0, 1)), ["a", ""]),
        (answer("Range", 11, np.int64(BIG), np.int64(BIG + 3), np.int64(2)), [BIG, BIG + 2]),
        (answer("Range", 11, np.int16(3), np.int16(-2), np.int16(-2)), [3, 1, -1]),
        (answer("EyeLike", 22, np.zeros((2, 3), F), k=-1, dtype=6), [[0, 0, 0], [1, 0, 0]]),
        (
            answer(
                "MaxPool",
                12,
                F([[[[1, 2, 9], [7, 4, 3]]]]),
                kernel_shape=[2, 2],
                storage_order=1,
                outputs=2,
            ),
            [[[[[7, 9]]]], [[[[1, 4]]]]],
        ),
        (
            answer(
                "MaxPool",
                22,
                F([[[3, 1]]]),
                kernel_shape=[2],
                strides=[3],
                pads=[0, 2],
                ceil_mode=1,
            ),
            [[[3]]],
        ),
        (
            answer(
                "AveragePool",
                7,
                F([[[2, 4, 8]]]),
                kernel_shape=[2],
                pads=[1, 1],
                count_include_pad=1,
            ),
            [[[1, 3, 6, 4]]],
        ),
        (answer("GlobalLpPool", 2, F([[[3, -4, 5]]]), p=1), [[[12]]]),
        (answer("Trilu", 14, X, np.array(1), upper=1), [[0, 2, 3], [0, 0, 6]]),
        (answer("Trilu", 14, X, np.array(-2), upper=0), [[0, 0, 0], [0, 0, 0]]),
        (answer("CenterCropPad", 18, i(1, 2, 3, 4), i(1)), [2]),
        (answer("CenterCropPad", 18, i(1, 2), i(5)), [0, 1, 2, 0, 0]),
        (answer("ReverseSequence", 10, X.T, i(3, 1)), [[3, 4], [2, 5], [1, 6]]),
        (answer("GatherElements", 13, X, i([-1, 0]), axis=1), [[3, 1]]),
        (answer("GatherND", 12, X, i([-1], [0]), batch_dims=1), [3, 4]),
        (answer("GatherND", 13, i(BIG, 0), i([-2])), [BIG]),
        (answer("ScatterElements", 13, i(1, 2, 3), i(-1), i(BIG)), [1, 2, BIG]),
        (answer("ScatterElements", 18, i(1, 2), i(0, 0), i(3, 4), reduction="mul"), [12, 2]),
        (
            answer("ScatterND", 18, X, i([1], [1]), i([9, 1, 9], [8, 8, 8]), reduction="max"),
            [[1, 2, 3], [9, 8, 9]],
        ),
        (
            answer(
                "TensorScatter",
                24,
                i([1, 2, 3]).reshape(1, 3, 1),
                i([8, 9]).reshape(1, 2, 1),
                i(2),
                mode="circular",
            ),
            [[[9], [2], [8]]],
        ),
        (answer("OneHot", 11, i(-1, 3, -4), F(3), i(0, BIG)), [[0, 0, BIG], [0, 0, 0], [0, 0, 0]]),
        (answer("OneHot", 11, i(1), i(2), i(0, 1), axis=0), [[0], [1]]),
        (answer("NonZero", 13, np.array([[0.0, -0.0], [np.nan, 1]], F)), [[1, 1], [0, 1]]),
        (answer("Compress", 11, X, np.array([False, True])), [2]),
        (answer("Compress", 11, X, np.array([False, True]), axis=-1), [[2], [5]]),
        (answer("Unique", 11, i(BIG, 3, BIG), outputs=4), [[3, BIG], [1, 0], [1, 0, 1], [1, 2]]),
        (
            answer("Unique", 11, X[[1, 0, 1]], axis=0, sorted=0, outputs=4),
            [[[4, 5, 6], [1, 2, 3]], [0, 1], [0, 1, 0], [2, 1]],
        ),
        (answer("ArgMax", 13, i(BIG - 1, BIG, BIG), keepdims=0), 1),
        (answer("ArgMin", 13, i([2, 1, 1]), axis=1, select_last_index=1), [[2]]),
        (answer("Mod", 13, i(-7, 7, -(2**63)), i(3, -3, -1)), [2, -2, 0]),
        (answer("Mod", 28, i(-7, BIG), i(3, 2), fmod=1), [-1, 1]),
        (answer("Mod", 13, np.array([-7.5], F), np.array([2], F), fmod=1), [-1.5]),
        (
            answer("BitShift", 28, i(-5, 5, 1, dtype=I8), i(1, 8, 7, dtype=I8), direction="RIGHT"),
            [-3, 0, 0],
        ),
        (
            answer("BitShift", 28, i(-1, -1, dtype=I8), i(9, -1, dtype=I8), direction="RIGHT"),
            [-1, -1],
        ),
        (answer("BitShift", 11, i(129, dtype=U8), i(1, dtype=U8), direction="LEFT"), [2]),
        (answer("BitwiseXor", 18, i(BIG), i([1], [0])), [[BIG - 1], [BIG]]),
        (answer("BitwiseNot", 18, i(0, dtype=U8)), [255]),
        (answer("BitCast", 26, np.array([-0.0], F), to=6), [-(2**31)]),
        (answer("OneHot", 11, i(2**64 - 1, dtype=np.uint64), i(2), i(0, 1)), [[0, 0]]),
        (answer("Unique", 11, np.zeros((0, 2), F), axis=0, outputs=4), [[], [], [], []]),
        (
            answer("CumSum", 14, i(2**31 - 1, 1, 5, dtype=np.int32), np.int32(0)),
            [2**31 - 1, -(2**31), 5 - 2**31],
        ),
        (answer("CumSum", 14, X, np.int64(-2), exclusive=1, reverse=1), [[4, 5, 6], [0, 0, 0]]),
        (answer("CumSum", 11, np.array([1, 2, np.inf], F), np.int64(0), exclusive=1), [0, 1, 3]),
        (answer("CumProd", 26, i(3, BIG, 1), np.int32(-1), reverse=1), [3 * BIG, BIG, 1]),
        (
            answer("CumProd", 26, np.array([0, 5, 3], F), np.int64(0), exclusive=1, reverse=1),
            [15, 3, 1],
        ),
        (
            answer("IsInf", 20, np.array([np.inf, -np.inf], ml_dtypes.bfloat16), detect_negative=0),
            [True, False],
        ),
        (
            answer("DepthToSpace", 13, np.arange(4).reshape(1, 4, 1, 1), blocksize=2),
            [[[[0, 1], [2, 3]]]],
        ),
        (
            answer("Pow", 15, i(3, -1, -(2**63), 2), i(39, 10**18 + 1, 1, -1)),
            [3**39, -1, -(2**63), 0],
        ),
        (
            answer("Pow", 1, F([[2, 3], [4, 5]]), F([3, 2]), broadcast=1, axis=0),
            [[8, 27], [16, 25]],
        ),
        (
            answer("PRelu", 6, F([[-1, 2, -3], [-4, -5, 6]]), F([2, 3, 5])),
            [[-2, 2, -15], [-8, -15, 6]],
        ),
        (answer("Dropout", 22, i(1).astype(F), NONE, NONE, outputs=2), [[1], [True]]),
    ],
)
def test_answers_are_those_worked_out_by_hand(answered, want):
    got = answered()
    assert (got.tolist() if isinstance(got, np.ndarray) else got) == want


def test_rank_0_has_no_places_and_rank_8_stays():
    assert answer("NonZero", 13, np.array(5))().shape == (0, 1)
    assert answer("Tile", 13, np.ones(EIGHT), i(*EIGHT))().shape == tuple(n * n for n in EIGHT)


@pytest.mark.parametrize(
    ("kind", "op", "since", "inputs", "attrs"),
    [
        (InvalidNode, "Split", 13, (i(1, 2, 3), i(1, 1)), {}),
        (NotSupported, "Split", 18, (i(1, 2),), {}),
        (NotSupported, "Split", 18, (i(1, 2),), {"num_outputs": 4, "outputs": 4}),
        (InvalidNode, "Pad", 25, (i(1, 2), i(3, 0)), {"mode": "reflect"}),
        (InvalidNode, "Pad", 18, (i(1, 2), i(1, 0)), {"mode": "wrap"}),
        (InvalidNode, "GatherND", 13, (X, i([2])), {}),
        (NotSupported, "ScatterElements", 13, (i(1, 2), i(0, -2, 0), i(3, 4, 5)), {}),
        (InvalidNode, "ScatterElements", 16, (i(1), i(0), i(3)), {"reduction": "max"}),
        (NotSupported, "Unique", 11, (np.array([np.nan], F),), {}),
        (NotSupported, "Mod", 13, (i(1), i(0)), {}),
        (InvalidNode, "Mod", 13, (np.ones(1, F), np.ones(1, F)), {}),
        (InvalidNode, "Mod", 13, (i(1), i(2)), {"fmod": 1}),
        (NotSupported, "Mod", 10, (i(0), i(3)), {}),
        (NotSupported, "Split", 1, (np.ones(2, F),), {}),
        (BeyondBudget, "Pad", 25, (i(1), i(2**62, 0)), {}),
        (BeyondBudget, "Expand", 13, (i(1), i(2**62, 2)), {}),
        (NotSupported, "Expand", 13, (i(1), np.ones(70, np.int64)), {}),
        (NotSupported, "Pad", 1, (np.ones((3, 2), F),), {"paddings": [0, 0, 2, 0]}),
        (NotSupported, "Pad", 13, (i(1), i(-2, 2)), {}),
        (InvalidNode, "OneHot", 9, (i(-1), i(2), i(0, 1)), {}),
        (NotSupported, "OneHot", 11, (np.array([np.nan], F), i(2), i(0, 1)), {}),
        (
            InvalidNode,
            "TensorScatter",
            24,
            (np.ones((1, 2)), np.ones((1, 1)), i(2**63 - 1)),
            {"axis": 1},
        ),
        (NotSupported, "MeanVarianceNormalization", 9, (np.ones((2, 2), F),), {"axes": [-1, 1]}),
        (NotSupported, "MeanVarianceNormalization", 13, (np.ones((2, 2), F),), {"axes": []}),
        (InvalidNode, "MeanVarianceNormalization", 13, (np.ones((2, 2), F),), {}),
        (NotSupported, "PRelu", 6, (np.ones((2, 3, 4), F), np.ones(4, F)), {}),
        (InvalidNode, "PRelu", 16, (np.ones(3, F), np.ones((1, 3), F)), {}),
        (InvalidNode, "SwiGLU", 28, (np.ones((2, 3), F), np.ones(3, F)), {}),
        (InvalidNode, "Pow", 1, (np.ones((2, 3), F), np.ones(3, F)), {}),
        (NotSupported, "Pow", 15, (i(0), i(-1)), {}),
        (
            NotSupported,
            "ScatterElements",
            18,
            (np.array([1j]), i(0), np.array([1j])),
            {"reduction": "mul"},
        ),
        (NotSupported, "DepthToSpace", 1, (np.ones((1, 8, 1, 1), F),), {"blocksize": 2}),
        (InvalidNode, "Scatter", 9, (i(1, 2), i(-1), i(3)), {}),
        (NotSupported, "BitShift", 11, (i(1, dtype=U8), i(9, dtype=U8)), {"direction": "LEFT"}),
        (NotSupported, "Range", 11, (F(-8.537562), F(1.8177228), F(0.86294043)), {}),
        # The ends are further apart than float64 reaches.
        (NotSupported, "Range", 11, (np.array(-1.7e308), np.array(1.7e308), np.array(1e308)), {}),
        (NotSupported, "Dropout", 6, (F([np.inf]),), {"is_test": 0}),
        (NotSupported, "Dropout", 6, (np.ones(1, F),), {"is_test": 0, "ratio": 1.0}),
        # A scale of 10/9 has other digits in float32 than in float64.
        (NotSupported, "Dropout", 22, (np.ones(1), F(0.1), np.array(True)), {}),
        (InvalidNode, "CumSum", 14, (X, i(0, 1)), {}),
        (InvalidNode, "CumSum", 14, (np.float32(5), np.int64(0)), {}),
        (InvalidNode, "CumProd", 26, (X, np.int64(2)), {}),
        (InvalidNode, "BitCast", 26, (np.ones(1, F),), {"to": 7}),
        (InvalidNode, "TensorScatter", 24, (np.ones((1, 2, 1)), np.ones((1, 2, 1)), i(1)), {}),
    ],
)
def test_what_is_forbidden_is_refused_and_what_is_open_not_judged(kind, op, since, inputs, attrs):
    with judging(), pytest.raises(kind):
        answer(op, since, *inputs, **attrs)()


def test_a_flag_that_is_refused_is_named():
    unique = answer("Unique", 11, F([1]), sorted=2)
    with pytest.raises(InvalidNode, match="sorted 2; allowed: 0, 1"):
        unique()
