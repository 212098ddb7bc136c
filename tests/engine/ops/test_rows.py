"""Hardmax and Softmax against their sentences, computed in loops, and ONNX's own node tests."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from onnx import defs, helper
from onnx.reference import ReferenceEvaluator

from opcheck.dtypes import DTYPES
from opcheck.engine import Expected, dtypes_of
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests import brute
from tests.computed import by_reading, evaluate, exactly
from tests.engine.ops.layouts import LAYOUTS
from tests.examples import examples
from tests.precise.by_the_text import MP, in_rows, nearest

BOTH = ("Hardmax", "Softmax")
VERSIONED = [
    (since, name) for since in (1, 11, 13) for name in dtypes_of(OpVersion("", "Softmax", since))
]
NAN, INF = math.nan, math.inf


def answer(op: str, x: Any, axis: int | None = None, *, since: int = 13) -> Any:
    (out,) = evaluate(OpVersion("", op, since), [x], {} if axis is None else {"axis": axis})
    assert (out.shape, out.dtype) == (x.shape, x.dtype.newbyteorder("="))
    return out


def floats(out: Any) -> list[float]:
    return [float(value) for value in out.reshape(-1)]


def rows_of(since: int, shape: tuple[int, ...], axis: int) -> list[brute.Row]:
    """The rows of the specification, for an axis in the range of version 13."""
    axis = axis + len(shape) if axis < 0 else axis
    return brute.along(shape, [axis]) if since == 13 else brute.coerced(shape, axis)


def want(op: str, x: Any, since: int, axis: int) -> list[float]:
    rows = rows_of(since, x.shape, axis)
    if op == "Hardmax":
        return floats(brute.hardmax(x, rows))
    return [nearest(value, x.dtype.name) for value in in_rows(x, rows)]


#: For Hardmax few numbers, so that most rows have ties.
HARDMAX_ELEMENTS = st.sampled_from([-INF, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, INF])
ELEMENTS = {"Hardmax": HARDMAX_ELEMENTS, "Softmax": st.floats(-20, 20)}


@st.composite
def tensors(draw: st.DrawFn, op: str, name: str) -> Any:
    shape = draw(array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=4))
    shape = shape if math.prod(shape) <= 60 else shape[:2]
    return draw(arrays(np.float64, shape, elements=ELEMENTS[op])).astype(DTYPES[name].numpy)


@pytest.mark.parametrize("op", BOTH)
@pytest.mark.parametrize(("since", "name"), VERSIONED)
@examples(25)
@given(data=st.data())
def test_rows_are_answered_as_the_text_says_and_rounded_once(since, name, op, data):
    x = data.draw(tensors(op, name))
    axis = data.draw(st.integers(0 if since == 1 else -x.ndim, x.ndim - 1))
    got, right = floats(answer(op, x, axis, since=since)), want(op, x, since, axis)
    if (op, name) == ("Softmax", "float64"):
        # Eleven more digits do not tell what is next to a tie.
        exact = in_rows(x, rows_of(since, x.shape, axis))
        off = (abs(value - mine) / np.spacing(mine) for value, mine in zip(exact, got, strict=True))
        right = [
            mine if far < 0.505 else one for mine, one, far in zip(got, right, off, strict=True)
        ]
    assert got == right


@pytest.mark.parametrize("op", BOTH)
@pytest.mark.parametrize("since", [1, 11, 13])
def test_a_version_has_its_own_default_axis_and_types(since: int, op: str) -> None:
    schema = defs.get_schema(op, since)
    # No two axes give the same answer for this tensor, coerced or not.
    x = np.array([[[1, 5], [5, 2], [0, 4]], [[5, 7], [4, 6], [6, 1]]], np.float32)
    default = schema.attributes["axis"].default_value.i
    assert floats(answer(op, x, since=since)) == want(op, x, since, default)
    names = dtypes_of(OpVersion("", op, since))
    assert {DTYPES[name].text for name in names} == set(schema.inputs[0].types)


@pytest.mark.parametrize("op", BOTH)
@examples(30)
@given(data=st.data())
def test_coercion_is_a_reshape_to_two_dimensions(op: str, data: st.DataObject) -> None:
    x = data.draw(tensors(op, "float32"))
    axis = data.draw(st.integers(0, x.ndim - 1))
    matrix = np.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    for since in (1, 11):
        assert floats(answer(op, x, axis, since=since)) == floats(answer(op, matrix, 1))


@pytest.mark.parametrize("op", BOTH)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_inputs_of_any_memory_layout_stay_as_they_are(layout, op):
    for name in dtypes_of(OpVersion("", op, 13)):
        x = np.arange(24).reshape(2, 3, 4).astype(DTYPES[name].numpy)
        strange = layout(x.copy())
        before = strange.tobytes()
        strange.flags.writeable = False
        for axis in range(3):
            out = answer(op, strange, axis)
            assert floats(out) == floats(answer(op, x, axis))
            assert out.flags.writeable
            assert not np.shares_memory(out, strange)
        assert strange.tobytes() == before


def test_a_row_with_nan_has_its_one_at_the_first_nan_and_no_warning() -> None:
    for dtype, bits, signalling in (
        (np.float16, np.uint16, 0x7C01),
        (ml_dtypes.bfloat16, np.uint16, 0x7F81),
        (np.float32, np.uint32, 0x7F800001),
        (np.float64, np.uint64, 0x7FF0000000000001),
    ):
        for nan in (np.array(signalling, bits).view(dtype), np.array(np.nan, dtype)):
            x = np.array([[1, np.inf, 0, 0], [3, 3, 1, 0]], dtype)
            x[0, 2:] = nan
            assert floats(answer("Hardmax", x, 1)) == [0, 0, 1, 0, 1, 0, 0, 0]


def readings(op: str, x: Any, axis: int, since: int = 13) -> dict[str, Any]:
    """The tensor of each reading as a list; None for a refusal."""
    found = by_reading(OpVersion("", op, since), [np.array(x, np.float32)], {"axis": axis})
    return {
        name: None if outputs is None else outputs[0].tolist() for name, outputs in found.items()
    }


def test_nan_is_above_all_numbers_or_below_them_or_stays_where_nothing_comes_before_it() -> None:
    x = [[NAN, 2, 3], [1, NAN, 3], [NAN, -INF, NAN], [3, 3, 1]]
    assert readings("Hardmax", x, 1) == {
        "largest, first_nan": [[1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]],
        "largest, no_one": [[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]],
        "smallest": [[0, 0, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0]],
        "never_exceeded": [[1, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]],
    }


def test_infinity_leaves_the_others_nothing_or_nan_and_in_the_limit_it_has_all() -> None:
    none, half = [NAN] * 3, [0.5, 0.5, 0]
    x = [[1, INF, 3], [INF, INF, 3], [1, NAN, INF], [INF] * 3, [0, 0, -1000]]
    np.testing.assert_equal(
        readings("Softmax", x, 1),
        {
            "all_nan": [none, none, none, none, half],
            "nan_at_infinity": [[0, NAN, 0], [NAN, NAN, 0], none, none, half],
        },
    )
    np.testing.assert_equal(
        readings("LogSoftmax", [[1, INF, 3], [INF, INF, 3], [1, NAN, INF]], 1),
        {
            "all_nan": [none, none, none],
            "nan_at_infinity": [[-INF, NAN, -INF], [NAN, NAN, -INF], none],
            "it_has_all": [[-INF, 0, -INF], [NAN, NAN, -INF], none],
        },
    )


def test_infinity_is_nan_by_every_reading_where_nothing_is_beside_it() -> None:
    np.testing.assert_equal(
        readings("Softmax", [[INF, INF], [0, 0]], 1), {"": [[NAN] * 2, [0.5] * 2]}
    )
    np.testing.assert_equal(
        readings("LogSoftmax", [[INF]], 1),
        {"all_nan": [[NAN]], "nan_at_infinity": [[NAN]], "it_has_all": [[0]]},
    )


@pytest.mark.parametrize(("op", "alone"), [("Hardmax", 1), ("Softmax", 1), ("LogSoftmax", 0)])
def test_an_axis_that_version_1_does_not_mention_is_refused_or_as_later_texts_read_it(op, alone):
    behind = {"refused": None, "rows_of_one": [[alone, alone]]}
    assert readings(op, [[0, 1000]], 2, since=1) == behind
    refused, from_the_back = readings(op, [[0, 1000]], -1, since=1).items()
    assert refused == ("refused", None)
    assert from_the_back == ("from_the_back", readings(op, [[0, 1000]], 1)[""])


@pytest.mark.parametrize("axes", [[2, 0], [0, 2]])
def test_the_order_of_axes_matters_where_they_do_not_increase_and_maxima_are_equal(axes) -> None:
    op = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)
    x = np.array([[[1, 5]], [[5, 2]]], np.float32)
    found = by_reading(op, [x], {"Axes": axes})
    by_rows, by_columns = [[[0, 1]], [[0, 0]]], [[[0, 0]], [[1, 0]]]
    answers = {name: outputs[0].tolist() for name, outputs in found.items() if outputs}
    if axes == [0, 2]:
        assert answers == {"": by_rows}
    else:
        assert answers == {"as_sorted": by_rows, "as_written": by_columns}
    (alone,) = by_reading(op, [x + np.float32([[[0, 1]]])], {"Axes": axes})
    assert alone == ""


@pytest.mark.parametrize(("weights", "left_out", "counted"), [(None, 2, 3), ([3, 1], 6, 7)])
def test_an_ignored_sample_is_left_out_of_the_mean_or_counted_by_its_weight(
    weights, left_out, counted
):
    total = math.log(2) * (2 if weights is None else 6)
    scores, labels = np.zeros((3, 2), np.float32), np.array([1, 0, 0])
    weight = None if weights is None else np.array(weights, np.float32)
    found = by_reading(
        OpVersion("", "SoftmaxCrossEntropyLoss", 13),
        [scores, labels, weight],
        {"ignore_index": 1, "reduction": "mean"},
    )
    values = {name: outputs[0].item() for name, outputs in found.items() if outputs}
    assert values == {
        "left_out": pytest.approx(total / left_out),
        "counted": pytest.approx(total / counted),
    }


def lowest(name: str) -> float:
    """The logarithm of the smallest positive number."""
    return DTYPES[name].min_exponent * math.log(2)


FILLS: dict[str, Callable[..., Any]] = {
    "near": lambda random, shape, name: random.normal(size=shape),
    "far apart": lambda random, shape, name: 100 * random.normal(size=shape),
    "shifted": lambda random, shape, name: random.normal(size=shape) + 1000,
    # x - max has more digits than x.
    "one large": lambda random, shape, name: np.where(
        random.random(shape) < 0.1, 30.1, random.normal(size=shape)
    ),
    # Some of the answers are below the smallest normal number, some below the smallest of all.
    "tiny answers": lambda random, shape, name: np.where(
        random.random(shape) < 0.1, 0, random.uniform(lowest(name) - 2, lowest(name) + 40, shape)
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64"])
def test_answers_are_correctly_rounded_and_in_float64_nearly_always(name: str) -> None:
    random, off = np.random.default_rng(20), []
    for fill in FILLS.values():
        for shape in ((60, 3), (6, 50)):
            x = fill(random, shape, name).astype(DTYPES[name].numpy)
            right = want("Softmax", x, 13, 1)
            off += [a != b for a, b in zip(floats(answer("Softmax", x)), right, strict=True)]
    assert sum(off) <= (len(off) / 1000 if name == "float64" else 0)


def test_float64_comes_with_what_it_has_no_room_for() -> None:
    x = np.random.default_rng(21).normal(size=(20, 10)) * 30
    (out,) = exactly(OpVersion("", "Softmax", 13), [x], {})
    assert isinstance(out, Expected)
    rights = in_rows(x, rows_of(13, x.shape, 1))
    for value, rest, right in zip(out.values.flat, out.rest.flat, rights, strict=True):
        assert abs(MP.mpf(float(value)) + MP.mpf(float(rest)) - right) <= 2.0**-58 * right
        assert abs(rest) <= np.spacing(value) / 2


def test_what_float64_cannot_hold_between_is_no_error() -> None:
    x = np.array([[300.0, 1e-17, -1 / 3, 299.9], [1.0, 1e-20, -700, 1 - 2**-53]])
    assert floats(answer("Softmax", x)) == want("Softmax", x, 13, 1)
    # Each is below half an ULP of the running sum, together they are not.
    x = np.full((1, 2**14 + 1), -40.0)
    x[0, 0] = 0
    top = 1 / (1 + 2**14 * MP.exp(-40))
    out = answer("Softmax", x)
    assert out[0, 0] == float(top)
    assert (out[0, 1:] == float(top * MP.exp(-40))).all()


def integers(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Values that can be shifted without rounding."""
    return arrays(np.float32, shape, elements=st.integers(-40, 40).map(float))


@examples(40)
@given(integers((2, 5)), st.integers(-(2**18), 2**18), st.permutations(range(5)))
def test_a_shift_changes_nothing_and_a_permutation_permutes(x, shift, order):
    assert answer("Softmax", x + np.float32(shift)).tolist() == answer("Softmax", x).tolist()
    wider = x.astype(np.float64)
    assert answer("Softmax", wider + 2.0**20 * shift).tolist() == answer("Softmax", wider).tolist()
    assert answer("Softmax", x[:, order]).tolist() == answer("Softmax", x)[:, order].tolist()


@pytest.mark.parametrize("opset", [13, 18])
@examples(20)
@given(data=st.data())
def test_version_13_is_its_function_body(opset: int, data: st.DataObject) -> None:
    shape = data.draw(array_shapes(min_dims=1, max_dims=4, max_side=4))
    x = data.draw(arrays(np.float64, shape, elements=st.floats(-30, 30)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    node = helper.make_node("Softmax", ["input"], ["output"], axis=axis)
    of_input = helper.make_tensor_type_proto(onnx.TensorProto.DOUBLE, shape)
    schema: Any = defs.get_schema("Softmax", 13)
    body = onnx.FunctionProto()
    body.ParseFromString(
        schema.get_context_dependent_function_with_opset_version(
            opset, node.SerializeToString(), [of_input.SerializeToString()]
        )
    )
    evaluator: Any = ReferenceEvaluator(body)
    (right,) = evaluator.run(None, {"input": x}, attributes={"axis": axis})
    np.testing.assert_allclose(answer("Softmax", x, axis), right, rtol=1e-13)


@pytest.mark.parametrize("op", BOTH)
@pytest.mark.parametrize(
    ("since", "shape", "axis", "allowed"),
    [
        (1, (2, 3), 2, "[0, 1]"),
        (1, (2, 3), -1, "[0, 1]"),
        (1, (4,), None, "[0, 0]"),
        (11, (2, 3), 2, "[-2, 1]"),
        (11, (2, 3), -3, "[-2, 1]"),
        (11, (4,), None, "[-1, 0]"),
        (13, (2, 3), 2, "[-2, 1]"),
        (13, (0, 3), 2**32 + 1, "[-2, 1]"),
        (13, (2, 1, 1), 3, "[-3, 2]"),
        (1, (), None, "the empty range of a rank-0 tensor"),
        (11, (), 0, "the empty range of a rank-0 tensor"),
        (13, (), None, "the empty range of a rank-0 tensor"),
    ],
)
def test_an_axis_out_of_range_names_operator_value_and_range(op, since, shape, axis, allowed):
    with pytest.raises(InvalidNode) as error:
        answer(op, np.zeros(shape, np.float32), axis, since=since)
    axis = axis if axis is not None else -1 if since == 13 else 1
    assert str(error.value) == f"{op}-{since}: axis {axis} is outside {allowed}"
