from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from onnx import defs, helper
from onnx.reference import ReferenceEvaluator

from opcheck.dtypes import DTYPES, DType
from opcheck.engine import Exact, evaluate, exactly, wide
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests.engine.ops.softmax.precise import MP, rounded, rows_of, softmax, step
from tests.node_tests import node_tests_of

NODE_TESTS = [*node_tests_of("Softmax").values()]
DTYPES_OF = {
    1: ("float16", "float32", "float64"),
    11: ("float16", "float32", "float64"),
    13: ("bfloat16", "float16", "float32", "float64"),
}
VERSIONED = [(version, name) for version, names in DTYPES_OF.items() for name in names]


def engine(version: int, x: Any, axis: int | None = None) -> Any:
    attrs = {} if axis is None else {"axis": axis}
    (out,) = evaluate(OpVersion("", "Softmax", version), [x], attrs)
    return out


def unrounded(version: int, x: Any, axis: int) -> Exact:
    (out,) = exactly(OpVersion("", "Softmax", version), [x], {"axis": axis})
    assert isinstance(out, Exact)
    return out


def steps_off(got: Any, want: list[Any], dtype: DType) -> list[float]:
    """How far each element is from the number that `want` rounds to, in steps of `dtype`."""
    flat = [float(value) for value in got.reshape(-1)]
    return [
        abs(value - rounded(exact, dtype)) / float(step(exact, dtype)) if value != exact else 0.0
        for value, exact in zip(flat, want, strict=True)
    ]


@pytest.fixture(params=["longdouble", "pairs"])
def digits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to more digits than float64 has, on every platform that has both."""
    if request.param == "pairs":
        monkeypatch.setattr(wide, "extended", lambda: False)
    elif not wide.extended():
        pytest.skip("longdouble is no wider than float64 here")
    return str(request.param)


# ── the sentences of the specification, in loops ──────────────────────────────────────────────


@st.composite
def tensors(draw: st.DrawFn, dtype: DType) -> Any:
    shape = draw(array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
    return draw(arrays(np.float64, shape, elements=st.floats(-20, 20))).astype(dtype.numpy)


@pytest.mark.parametrize(("version", "name"), VERSIONED)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_an_element_is_its_power_over_the_sum_of_its_row(
    version: int, name: str, data: st.DataObject
) -> None:
    x = data.draw(tensors(DTYPES[name]))
    axis = data.draw(st.integers(0 if version == 1 else -x.ndim, x.ndim - 1))
    out = engine(version, x, axis)
    assert out.dtype == x.dtype
    assert out.shape == x.shape
    want = softmax(x, rows_of(version, x.shape, axis))
    assert max(steps_off(out, want, DTYPES[name]), default=0.0) <= 1


@pytest.mark.parametrize("version", [1, 11, 13])
def test_a_version_uses_its_own_default_axis(version: int) -> None:
    default = defs.get_schema("Softmax", version).attributes["axis"].default_value.i
    x = np.array([[[1, 5], [5, 2], [0, 4]], [[5, 7], [4, 6], [6, 1]]], np.float32)
    want = softmax(x, rows_of(version, x.shape, default))
    assert engine(version, x).reshape(-1).tolist() == [
        rounded(value, DTYPES["float32"]) for value in want
    ]


@pytest.mark.parametrize("version", [1, 11, 13])
def test_every_dtype_of_the_schema_has_an_answer_of_that_dtype(version: int) -> None:
    allowed = defs.get_schema("Softmax", version).inputs[0].types
    assert {DTYPES[name].text for name in DTYPES_OF[version]} == set(allowed)
    for name in DTYPES_OF[version]:
        assert engine(version, np.ones((2, 2), DTYPES[name].numpy), 1).dtype == DTYPES[name].numpy


def test_known_values() -> None:
    x = np.log([1.0, 2.0, 5.0])
    assert engine(13, x) == pytest.approx([0.125, 0.25, 0.625], rel=1e-15)
    assert engine(13, np.array([7, 7, 7, 7], np.float16)).tolist() == [0.25] * 4
    assert engine(13, np.array([0, -200, -200, -200], np.float32)).tolist() == [1, 0, 0, 0]
    assert engine(1, np.zeros((2, 2, 4), np.float32)).reshape(-1).tolist() == [0.125] * 16
    assert engine(13, np.zeros((2, 2, 4), np.float32), 0).reshape(-1).tolist() == [0.5] * 16


# ── rounding ──────────────────────────────────────────────────────────────────────────────────


def lowest(dtype: DType) -> float:
    """The logarithm of the smallest positive number."""
    return dtype.min_exponent * math.log(2)


FILLS = {
    "near": lambda random, shape, dtype: random.normal(size=shape),
    "apart": lambda random, shape, dtype: 10 * random.normal(size=shape),
    "far apart": lambda random, shape, dtype: 100 * random.normal(size=shape),
    "shifted": lambda random, shape, dtype: random.normal(size=shape) + 1000,
    # x - max has more digits than x.
    "one large": lambda random, shape, dtype: np.where(
        random.random(shape) < 0.1, 30.1, random.normal(size=shape)
    ),
    # Some of the answers are below the smallest normal number, some below the smallest of all.
    "tiny answers": lambda random, shape, dtype: np.where(
        random.random(shape) < 0.1, 0, random.uniform(lowest(dtype) - 2, lowest(dtype) + 40, shape)
    ),
}


def wrongly_rounded(name: str) -> tuple[int, int, float]:
    """The elements tried, how many of them are not correctly rounded, and by how many steps."""
    dtype, random = DTYPES[name], np.random.default_rng(20)
    off: list[float] = []
    for fill in FILLS.values():
        for shape in ((60, 3), (6, 50)):
            x = fill(random, shape, dtype).astype(dtype.numpy)
            want = softmax(x, rows_of(13, shape, 1))
            off += steps_off(engine(13, x), want, dtype)
    return len(off), sum(steps > 0 for steps in off), max(off)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_narrow_types_are_correctly_rounded(name: str) -> None:
    _, wrong, _ = wrongly_rounded(name)
    assert wrong == 0


def test_float64_is_correctly_rounded_but_for_one_in_a_thousand(digits: str) -> None:
    tried, wrong, worst = wrongly_rounded("float64")
    assert tried > 2500
    assert wrong <= (tried / 1000 if digits == "longdouble" else 0)
    assert worst <= 1


def test_float64_comes_with_what_it_has_no_room_for(digits: str) -> None:
    x = np.random.default_rng(21).normal(size=(20, 10)) * 30
    out = unrounded(13, x, 1)
    assert out.rest is not None
    good_to = 2.0**-60 if digits == "longdouble" else 2.0**-95
    for value, rest, want in zip(
        out.values.flat, out.rest.flat, softmax(x, rows_of(13, x.shape, 1)), strict=True
    ):
        assert abs(MP.mpf(float(value)) + MP.mpf(float(rest)) - want) <= good_to * want
        assert abs(rest) <= np.spacing(value) / 2


def test_a_difference_that_float64_cannot_hold_is_no_error(digits: str) -> None:
    x = np.array([[300.0, 1e-17, -1 / 3, 299.9], [1.0, 1e-20, -700, 1 - 2**-53]])
    want = [rounded(y, DTYPES["float64"]) for y in softmax(x, rows_of(13, x.shape, 1))]
    assert engine(13, x).reshape(-1).tolist() == want


def test_many_small_terms_add_up(digits: str) -> None:
    # Each is below half an ULP of the running sum in float64, together they are not.
    terms = 2**14
    x = np.full((1, terms + 1), -40.0)
    x[0, 0] = 0
    top = 1 / (1 + terms * MP.exp(-40))
    out = engine(13, x)
    assert out[0, 0] == float(top)
    assert (out[0, 1:] == float(top * MP.exp(-40))).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_large_tensors_are_worked_on_in_blocks_of_whole_rows(axis: int) -> None:
    random = np.random.default_rng(22)
    for shape in ((7, 300, 70), (70, 7, 300), (3, 70000, 2)):
        x = random.normal(size=shape).astype(np.float32)
        powers = np.exp(x.astype(np.float64))
        want = powers / powers.sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(unrounded(13, x, axis).values, want, rtol=1e-12)


# ── what is not finite, and what is not there ─────────────────────────────────────────────────


@pytest.mark.parametrize(("version", "name"), VERSIONED)
def test_nan_and_infinities_follow_the_formula(version: int, name: str, digits: str) -> None:
    nan, inf = math.nan, math.inf
    x = np.array(
        [[0, nan, 1], [inf, 0, 1], [inf, inf, -inf], [-inf] * 3, [-inf, 2, 2], [-inf, 3, -inf]],
        DTYPES[name].numpy,
    )
    out = engine(version, x, 1).astype(np.float64)
    assert np.isnan(out[:4]).all()
    assert out[4:].tolist() == [[0, 0.5, 0.5], [0, 1, 0]]


@pytest.mark.parametrize("name", DTYPES_OF[13])
def test_the_ends_of_the_range_do_not_overflow(name: str, digits: str) -> None:
    dtype = DTYPES[name]
    low, high = float(ml_dtypes.finfo(dtype.numpy).min), float(ml_dtypes.finfo(dtype.numpy).max)
    x = np.array([[high, high], [low, low], [low, high]], dtype.numpy)
    assert engine(13, x).astype(np.float64).tolist() == [[0.5, 0.5], [0.5, 0.5], [0, 1]]


@pytest.mark.parametrize("name", DTYPES_OF[13])
@pytest.mark.parametrize(
    ("shape", "axis"), [((0,), 0), ((3, 0), 1), ((3, 0), 0), ((0, 3), 1), ((2, 0, 4), 1)]
)
def test_an_empty_tensor_stays_empty(name: str, shape: tuple[int, ...], axis: int) -> None:
    for version in (1, 11, 13) if name != "bfloat16" else (13,):
        out = engine(version, np.zeros(shape, DTYPES[name].numpy), axis)
        assert out.dtype == DTYPES[name].numpy
        assert out.shape == shape


def test_a_row_of_one_is_one() -> None:
    assert engine(13, np.array([[-1e30], [5], [3e38]], np.float32)).tolist() == [[1], [1], [1]]


@pytest.mark.parametrize("name", DTYPES_OF[13])
def test_inputs_of_any_memory_layout_stay_as_they_are(name: str) -> None:
    dtype = DTYPES[name].numpy
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    want = {axis: engine(13, x.copy(), axis).tolist() for axis in range(3)}
    backwards = np.ascontiguousarray(x[::-1, :, ::-1])[::-1, :, ::-1]
    for same in (np.asfortranarray(x), backwards, x.astype(dtype.newbyteorder("S"))):
        before = same.copy()
        same.flags.writeable = False
        for axis in range(3):
            out = engine(13, same, axis)
            assert out.tolist() == want[axis]
            assert out.dtype == dtype
        assert same.tobytes() == before.tobytes()


# ── what follows from the formula ─────────────────────────────────────────────────────────────


def integers(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Values that can be shifted without rounding."""
    return arrays(np.float32, shape, elements=st.integers(-40, 40).map(float))


@settings(max_examples=40, deadline=None)
@given(x=integers((2, 5)), shift=st.integers(-(2**18), 2**18))
def test_a_shift_changes_nothing(x: Any, shift: int) -> None:
    assert engine(13, x + np.float32(shift)).tolist() == engine(13, x).tolist()
    wider = x.astype(np.float64)
    assert engine(13, wider + 2.0**20 * shift).tolist() == engine(13, wider).tolist()


@settings(max_examples=40, deadline=None)
@given(x=arrays(np.float64, (3, 7), elements=st.floats(-800, 800)))
def test_rows_sum_to_one(x: Any) -> None:
    out = unrounded(13, x, 1)
    assert out.rest is not None
    for values, rest in zip(out.values, out.rest, strict=True):
        assert float(MP.fsum([*map(float, values), *map(float, rest)]) - 1) == pytest.approx(
            0, abs=1e-18
        )


@settings(max_examples=40, deadline=None)
@given(x=integers((1, 9)), order=st.permutations(range(9)))
def test_a_permutation_of_a_row_permutes_its_answers(x: Any, order: list[int]) -> None:
    assert engine(13, x[:, order]).tolist() == engine(13, x)[:, order].tolist()


@settings(max_examples=40, deadline=None)
@given(x=arrays(np.float32, (4, 6), elements=st.floats(-1, 1, width=32)), place=st.integers(0, 5))
def test_one_element_far_above_the_others_takes_all(x: Any, place: int) -> None:
    x[:, place] += 1000
    assert engine(13, x).tolist() == [[float(i == place) for i in range(6)]] * 4


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_versions_agree_on_the_last_axis_of_a_matrix(data: st.DataObject) -> None:
    shape = data.draw(array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5))
    x = data.draw(integers(shape))
    assert engine(13, x, 1).tolist() == engine(11, x, 1).tolist() == engine(1, x, 1).tolist()


@pytest.mark.parametrize("opset", [13, 18])
@settings(max_examples=20, deadline=None)
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
    (want,) = evaluator.run(None, {"input": x}, attributes={"axis": axis})
    np.testing.assert_allclose(engine(13, x, axis), want, rtol=1e-13)


# ── the worked examples of the specification, and ONNX's own node tests ───────────────────────


def test_onnx_has_the_node_tests_that_the_suites_quote() -> None:
    assert [test.name.removeprefix("test_softmax_") for test in NODE_TESTS] == [
        "example",
        "large_number",
        "axis_0",
        "axis_1",
        "axis_2",
        "negative_axis",
        "default_axis",
    ]


@pytest.mark.parametrize("test", NODE_TESTS, ids=lambda test: test.name)
def test_the_engine_passes_onnx_node_tests(test: Any) -> None:
    (node,) = test.model.graph.node
    attrs = {attribute.name: int(attribute.i) for attribute in node.attribute}
    ((x,), (want,)) = test.data_sets[0]
    (out,) = evaluate(OpVersion("", "Softmax", 13), [x], attrs)
    assert out.dtype == want.dtype
    np.testing.assert_allclose(out, want, rtol=1e-6)


# ── what the specification forbids ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "shape", "axis", "allowed"),
    [
        (1, (2, 3), 2, "[0, 1]"),
        (1, (2, 3), -1, "[0, 1]"),
        (1, (4,), None, "[0, 0]"),
        (11, (2, 3), 2, "[-2, 1]"),
        (11, (2, 3), -3, "[-2, 1]"),
        (11, (4,), None, "[-1, 0]"),
        (13, (2, 3), 2, "[-2, 1]"),
        (13, (2, 3), -3, "[-2, 1]"),
        (13, (0, 3), 2**32 + 1, "[-2, 1]"),
        (1, (), None, "rank-0"),
        (11, (), 0, "rank-0"),
        (13, (), None, "rank-0"),
    ],
)
def test_an_axis_out_of_range_names_operator_value_and_range(
    version: int, shape: tuple[int, ...], axis: int | None, allowed: str
) -> None:
    with pytest.raises(InvalidNode) as error:
        engine(version, np.zeros(shape, np.float32), axis)
    default = -1 if version == 13 else 1
    assert str(error.value).startswith(
        f"Softmax-{version}: axis {default if axis is None else axis} "
    )
    assert allowed in str(error.value)


@pytest.mark.parametrize(
    ("version", "dtype"),
    [(1, ml_dtypes.bfloat16), (11, ml_dtypes.bfloat16), (13, np.int32), (13, np.complex64)],
)
def test_a_dtype_outside_the_constraint_names_operator_value_and_choice(
    version: int, dtype: Any
) -> None:
    with pytest.raises(InvalidNode) as error:
        engine(version, np.ones((2, 2), dtype), 1)
    assert f"Softmax-{version}: input of type {np.dtype(dtype)}" in str(error.value)
    assert f"allowed: {', '.join(DTYPES_OF[version])}" in str(error.value)
