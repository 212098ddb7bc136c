"""What the `numpy` backend computes lies within the bounds of the formulas."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opcheck.compare import compare
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES, limits
from opcheck.engine import Expected, Node, dtypes_of, operator_of
from opcheck.engine.evaluate import evaluate as evaluate_node, exactly as exactly_node
from opcheck.model import OpVersion
from tests.bounds.softmax import rows
from tests.engine.ops.test_rows import LAYOUTS
from tests.examples import examples

FLOATS = ("float32", "float64", "float16", "bfloat16")
HARDMAX, SOFTMAX = OpVersion("", "Hardmax", 13), OpVersion("", "Softmax", 13)
NAN, INF = math.nan, math.inf


def natively(node: Node) -> Any:
    operator = operator_of(node.op)
    assert operator
    return evaluate_node(node, operator.native.get(node.op.since))


def answered(op: OpVersion, x: Any, attrs: Mapping[str, Any]) -> Any:
    before, was = x.tobytes(), x.flags.writeable
    x.flags.writeable = False
    (out,) = natively(Node(op, (x,), attrs))
    x.flags.writeable = was
    assert x.tobytes() == before
    assert not np.shares_memory(out, x)
    assert out.flags.c_contiguous
    assert out.flags.writeable
    assert out.dtype == x.dtype.newbyteorder("=")
    return out


def assert_right(op: OpVersion, x: Any, attrs: Mapping[str, Any]) -> None:
    """The answer is exact, or within the bound with nothing to be said of it."""
    (right,) = exactly_node(Node(op, (x,), attrs))
    got = answered(op, x, attrs)
    found = compare(computed_want(op, "y", right), got)
    if found.problem == "undecided" and isinstance(right, Expected):
        # No kind of number holds the powers, so that nothing is known of their errors.
        near = 1e-14 if x.dtype.itemsize == 8 else 1e-2 if x.dtype.itemsize == 2 else 1e-6
        np.testing.assert_allclose(got.astype(float), right.rounded().astype(float), rtol=near)
        return
    assert (found.problem, found.remark) == (None, ""), (op, x.dtype, x.shape, attrs, found)
    if isinstance(right, np.ndarray):
        assert got.tobytes() == right.tobytes()


#: Few of them, so that most rows have ties; what e^x is too large or too small for; no numbers.
NUMBERS = st.one_of(
    st.sampled_from([-3.0, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0]),
    st.sampled_from([88.0, 89.0, -100.0, 1e4, 6e4, -6e4, 3e38]),
    st.sampled_from([INF, -INF, NAN, -NAN]),
)
KINDS = [NUMBERS, st.floats(-5, 5), st.sampled_from([-3.0, -2.0, -1.0]), st.just(1.0)]


@st.composite
def tensors(draw: st.DrawFn, dtype: str, most: int = 200) -> Any:
    """Of every rank and layout, some of them empty."""
    shapes = array_shapes(min_dims=1, max_dims=8, min_side=0, max_side=5)
    shape = draw(shapes.filter(lambda shape: math.prod(shape) <= most))
    x = rows.rounded(draw(arrays(np.float64, shape, elements=draw(st.sampled_from(KINDS)))), dtype)
    return LAYOUTS[draw(st.sampled_from([*LAYOUTS]))](x)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["Hardmax", "Softmax"])
@examples(60)
@given(data=st.data())
def test_any_tensor_is_answered_as_the_formula_says(name, dtype, data):
    x = data.draw(tensors(dtype))
    since = data.draw(st.sampled_from([1, 11, 13] if dtype != "bfloat16" else [13]))
    axis = data.draw(st.integers(0 if since == 1 else -x.ndim, x.ndim - 1))
    assert_right(OpVersion("", name, since), x, {"axis": axis})


def numbers(shape: tuple[int, ...], kind: str, dtype: str) -> Any:
    rng = np.random.default_rng(6)
    x = 3 * rng.standard_normal(shape, dtype=np.float32)
    if kind == "ties":
        x = np.round(x)
    elif kind == "nan":
        x[rng.random(shape) < 0.01] = np.nan
    elif kind == "below zero":
        x = -np.abs(x)
    elif kind == "one nan":
        x.flat[x.size // 2] = -np.nan
    return x.astype(DTYPES[dtype].numpy)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", ["ordinary", "ties", "nan", "below zero", "one nan"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_tensors_of_many_shapes_along_every_axis(dtype: str, kind: str) -> None:
    for shape in ((300, 1000), (9000, 9), (3, 40, 700), (2, 20, 30, 20), (3, 200, 70), (300, 2, 4)):
        x = numbers(shape, kind, dtype)
        for axis in range(x.ndim):
            assert_right(HARDMAX, x, {"axis": axis})
            if dtype != "float64" and kind in ("ordinary", "nan"):
                assert_right(SOFTMAX, x, {"axis": axis})


def places(ones: Any, axis: int = -1) -> Any:
    return ones.astype(np.float32).argmax(axis=axis).tolist()


@pytest.mark.parametrize("beside", [1, 2, 20, 200])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_tie_in_one_row_and_nan_in_another_are_not_taken_for_two_single_maxima(dtype, beside):
    x = np.zeros((3, 40, 2 * beside), DTYPES[dtype].numpy)
    x[:, 7], x[:, 9, ::2], x[:, 30, 1::2] = 1, 1, np.nan
    assert places(answered(HARDMAX, x, {"axis": 1}), 1) == [[7, 30] * beside] * 3


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ([-0.0, 0.0, -1.0], 0),
        ([-1.0, -0.0, 0.0], 1),
        ([-3.0, -1.0, -2.0], 1),
        ([-INF, -6e4, -6e4], 1),
        ([-INF, -INF], 0),
        ([1.0, INF, INF], 1),
        ([INF, NAN], 1),
        ([-1.0, -NAN, NAN], 1),
        ([6e-8, 0.0, 1.2e-7], 2),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_signs_zeros_and_nan_of_16_bits(dtype: str, row: list[float], place: int) -> None:
    for filling in (0, 40):
        x = np.array([row + [-INF] * filling, [5.0] + [1.0] * (len(row) - 1 + filling)], np.float32)
        x = x.astype(DTYPES[dtype].numpy)
        assert places(answered(HARDMAX, x, {})) == [place, 0]
        beside = np.ascontiguousarray(np.repeat(x[:, :, np.newaxis], 70, axis=2))
        assert places(answered(HARDMAX, beside, {"axis": 1}), 1) == [[place] * 70, [0] * 70]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_number_of_16_bits_beats_those_below_it(dtype: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(DTYPES[dtype].numpy)
    other = np.random.default_rng(7).permutation(1 << 16)
    with np.errstate(invalid="ignore"):
        want = np.stack([x, x[other]], axis=1).astype(np.float32).argmax(axis=1).tolist()
    for axis in (0, 1):
        pairs = np.ascontiguousarray(np.stack([x, x[other]], axis=axis))
        assert places(answered(HARDMAX, pairs, {"axis": axis}), axis) == want


NAN_BITS = {
    "float16": (0x7C01, 0xFC01, 0x7FFF),
    "bfloat16": (0x7F81, 0xFF81, 0x7FFF),
    "float32": (0x7F800001, 0xFF800001),
    "float64": (0x7FF0000000000001, 0xFFF0000000000001),
}


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_first_nan_wins_whatever_its_bits_are_and_warns_of_nothing(dtype: str) -> None:
    for first, second in itertools.product(NAN_BITS[dtype], repeat=2):
        x = np.ones((3, 50, 100), DTYPES[dtype].numpy)
        bits = x.view(f"u{x.itemsize}")
        bits[1, 20], bits[1, 30] = first, second
        with np.errstate(all="raise"):
            got = [answered(HARDMAX, x, {"axis": axis}) for axis in range(3)]
            shares = answered(SOFTMAX, x, {"axis": 1})
        assert places(got[1], 1) == [[0] * 100, [20] * 100, [0] * 100]
        assert np.isnan(shares.astype(np.float32)).all(axis=(1, 2)).tolist() == [False, True, False]


@pytest.mark.sampled(12, evenly=True)
@pytest.mark.parametrize("columns", [1, 2, 5, 17, 31, 33, 257, 1000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_kind_of_row_is_right_alone_and_beside_all_others(dtype: str, columns: int) -> None:
    x = rows.batch(dtype, columns)
    assert_right(SOFTMAX, x, {})
    assert_right(SOFTMAX, np.ascontiguousarray(x.T), {"axis": 0})
    assert_right(SOFTMAX, np.stack([x, x, x], axis=2), {"axis": 1})
    for row in x[:: 3 if columns < 100 else 11]:
        assert_right(SOFTMAX, row[np.newaxis], {})
        assert_right(SOFTMAX, np.stack([row] * 20, axis=1), {"axis": 0})


def test_equal_elements_have_equal_shares_and_one_element_all() -> None:
    for dtype in FLOATS:
        for value in (-20.0, 0.0, 3.0, 1000.0):
            for length in (1, 3, 64, 300):
                got = answered(SOFTMAX, np.full((5, length), value).astype(DTYPES[dtype].numpy), {})
                assert [len(set(row.tolist())) for row in got] == [1] * 5
                assert length > 1 or (got == 1).all()


def of(name: str, since: int, *shapes: tuple[int, ...], **attrs: Any) -> Any:
    return pytest.param(OpVersion("", name, since), shapes, attrs, id=f"{name}{len(repr(attrs))}")


SMALL = [
    of("LpPool", 22, (2, 3, 7, 6), kernel_shape=(3, 2), strides=(2, 3), pads=(1, 1, 0, 1)),
    of("LpPool", 18, (1, 2, 9), kernel_shape=(3,), dilations=(2,), p=5, pads=(2, 1)),
    of("LpPool", 1, (1, 2, 5, 4), kernel_shape=(5, 4), p=2.5),
    of("MaxPool", 22, (2, 3, 7, 6), kernel_shape=(3, 2), strides=(2, 3), pads=(1, 1, 0, 1)),
    of("MaxPool", 12, (1, 2, 9), kernel_shape=(4,), dilations=(2,), strides=(3,), pads=(3, 2)),
    of("MaxPool", 8, (1, 2, 5, 4), kernel_shape=(5, 4)),
    of("LogSoftmax", 13, (3, 40, 2), axis=1),
    of("LogSoftmax", 1, (3, 4, 2)),
]


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "dtype"),
    [
        pytest.param(*one.values, dtype, id=f"{one.id}-{dtype}")
        for one in SMALL
        for dtype in FLOATS
        if dtype in dtypes_of(one.values[0])
    ],
)
def test_operators_with_other_native_formulas_answer_within_the_bound(op, shapes, attrs, dtype):
    rng = np.random.default_rng(8)
    plain = [rows.rounded(rng.normal(size=shape), dtype) for shape in shapes]
    for layout in LAYOUTS.values():
        given = [layout(x) for x in plain]
        node = Node(op, tuple(given), attrs)
        before = [x.tobytes() for x in given]
        for name, right, got in zip("abc", exactly_node(node), natively(node), strict=False):
            found = compare(computed_want(op, name, right), got)
            assert (found.problem, found.remark) == (None, "")
            assert got.dtype == plain[0].dtype.newbyteorder("=") or name != "a"
            assert not any(np.shares_memory(got, x) for x in given)
        assert np.getbufsize() == 8192
        assert [x.tobytes() for x in given] == before


def test_integers_have_maxima_too():
    x = np.array([[[-3, -128, 127, 5, -7]]], np.int8)
    node = Node(OpVersion("", "MaxPool", 12), (x,), {"kernel_shape": (2,), "pads": (1, 0)})
    assert natively(node)[0].tolist() == [[[-3, -3, 127, 127, 5]]]


@pytest.mark.parametrize("p", [1, 2, 3, 9, 1000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_norms_at_the_ends_of_the_range_and_beyond_them(dtype, p):
    smallest, largest = 2.0 ** DTYPES[dtype].min_exponent, limits(DTYPES[dtype])[1]
    some = [smallest, 0, 0, largest, 0, 0, -smallest, smallest, 0, 0, 1, 0, NAN, INF, -INF, 2]
    x = np.array([[some]]).astype(DTYPES[dtype].numpy)
    op = OpVersion("", "LpPool", 22)
    for each in (x, np.full_like(x, smallest), np.full_like(x, largest / 4)):
        assert_right(op, each, {"kernel_shape": (2,), "p": p})
        assert_right(op, each, {"kernel_shape": (3,), "strides": (3,), "p": p})
