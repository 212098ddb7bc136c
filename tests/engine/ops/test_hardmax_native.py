"""Native Hardmax, and DirectML's, equal the exact mode bit for bit, whichever way they take."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opcheck.dtypes import DTYPES
from opcheck.engine import evaluate, natively
from opcheck.engine.axes import Rows
from opcheck.model import Attrs, OpVersion
from opcheck.opset import directml
from tests import brute
from tests.asking import HARDMAX1
from tests.engine.ops.layouts import LAYOUTS

FLOATS = ("float32", "float64", "float16", "bfloat16")
JOINT = OpVersion(directml.DOMAIN, HARDMAX1, 1)

#: The sizes on which ways depend: their own, and those with which small arrays take all the ways
#: that large ones do.
SIZES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "hardmax.native": {
        "_SHORT": (1, 3, 32),
        "_SOME": (1, 2, 16),
        "_TALL": (1, 3, 2048),
        "_BLOCK": (8, 1 << 16),
        "_LARGER": (8, 64, 1 << 18),
        "_LARGEST": (8, 64, 1 << 20),
        "_BESIDE": (1, 2, 64),
        "_WHOLE": (1, 4, 1 << 20),
        "_ABREAST": (1, 4, 512),
    },
    "dml_activation_hardmax1.modes": {"_BLOCK": (1, 8, 1 << 18), "_BESIDE": (1, 2, 64)},
}


@contextmanager
def sizes_from(data: st.DataObject) -> Iterator[None]:
    """With any of the sizes."""
    with pytest.MonkeyPatch.context() as patch:
        for module, sizes in SIZES.items():
            for size, some in sizes.items():
                path = f"opcheck.engine.ops.{module}"
                patch.setattr(import_module(path), size, data.draw(st.sampled_from(some)))
        yield


def hardmax(x: Any, axis: int = -1, *, threads: int = 1) -> Any:
    (out,) = natively(OpVersion("", "Hardmax", 13), [x], {"axis": axis}, threads)
    return out


def assert_same(got: Any, want: Any, of: object = "") -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape), of
    assert got.tobytes() == want.tobytes(), of


def assert_both_modes_agree(op: OpVersion, x: Any, attrs: Attrs, threads: int = 1) -> None:
    before = x.tobytes()
    (want,), (got,) = evaluate(op, [x], attrs), natively(op, [x], attrs, threads)
    assert_same(got, want, (op, x.shape, attrs))
    assert got.dtype.isnative
    assert got.flags.c_contiguous
    assert got.flags.writeable
    assert x.tobytes() == before
    assert not np.shares_memory(got, x)


#: Few of them, so that most rows have ties; NaN of both signs, and zeros.
NUMBERS = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, math.inf, -math.inf])
WITH_NAN = NUMBERS | st.sampled_from([math.nan, -math.nan])
NEGATIVE = st.sampled_from([-3.0, -2.0, -1.0])


@st.composite
def tensors(draw: st.DrawFn, dtype: str, most: int = 200) -> Any:
    shapes = array_shapes(min_dims=1, max_dims=8, min_side=0, max_side=5)
    shape = draw(shapes.filter(lambda shape: math.prod(shape) <= most))
    elements = draw(st.sampled_from([NUMBERS, WITH_NAN, NEGATIVE, st.floats(-100, 100)]))
    x = draw(arrays(np.float64, shape, elements=elements))
    return x.astype(DTYPES[dtype].numpy)


# ── any tensor whatever, in every way ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", FLOATS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_tensor_is_answered_as_in_exact_mode(dtype: str, data: st.DataObject) -> None:
    x = LAYOUTS[data.draw(st.sampled_from([*LAYOUTS]))](data.draw(tensors(dtype)))
    x.flags.writeable = False
    version = data.draw(st.sampled_from([1, 11, 13] if dtype != "bfloat16" else [13]))
    axis = data.draw(st.integers(0 if version == 1 else -x.ndim, x.ndim - 1))
    threads = data.draw(st.sampled_from([1, 1, 1, 2]))
    with sizes_from(data):
        assert_both_modes_agree(OpVersion("", "Hardmax", version), x, {"axis": axis}, threads)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_so_is_directmls_over_any_axes(dtype: str, data: st.DataObject) -> None:
    x = LAYOUTS[data.draw(st.sampled_from([*LAYOUTS]))](data.draw(tensors(dtype)))
    x.flags.writeable = False
    axes = data.draw(st.lists(st.integers(0, x.ndim - 1), min_size=1, unique=True))
    threads = data.draw(st.sampled_from([1, 1, 1, 2]))
    with sizes_from(data):
        assert_both_modes_agree(JOINT, x, {"Axes": tuple(axes)}, threads)


@pytest.mark.parametrize("dtype", FLOATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_one_is_at_the_first_maximum_of_every_row(dtype: str, data: st.DataObject) -> None:
    x = data.draw(tensors(dtype).filter(lambda x: not np.isnan(x.astype(np.float32)).any()))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    with sizes_from(data):
        got = hardmax(x, axis)
    want = brute.hardmax(x, brute.along(x.shape, [axis % x.ndim]))
    assert got.astype(np.float64).tolist() == want.astype(np.float64).tolist()


# ── the sizes that there really are ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["ordinary", "ties", "nan", "below zero", "one nan"])
@pytest.mark.parametrize(
    "shape",
    [
        (300, 1000),
        (30_000, 9),
        (3, 40, 2000),
        (2, 5000, 40),
        (2, 20, 30, 20),
        (3, 200, 70),
        (1, 1_200_000),
        (300_000, 4),
    ],
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_tensors_of_many_shapes_along_every_axis(
    dtype: str, shape: tuple[int, ...], kind: str
) -> None:
    x = _numbers(shape, kind, dtype)
    for axis in range(x.ndim):
        assert_both_modes_agree(OpVersion("", "Hardmax", 13), x, {"axis": axis})


def _numbers(shape: tuple[int, ...], kind: str, dtype: str) -> Any:
    rng = np.random.default_rng(6)
    x = rng.standard_normal(shape, dtype=np.float32)
    if kind == "ties":
        x = np.round(x)
    elif kind == "nan":
        x[rng.random(shape) < 0.01] = np.nan
    elif kind == "below zero":
        x = -np.abs(x)
    elif kind == "one nan":
        x.flat[x.size // 2] = -np.nan
    return x.astype(DTYPES[dtype].numpy)


@pytest.mark.parametrize("beside", [1, 2, 20, 200])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_tie_in_one_row_and_nan_in_another_are_not_taken_for_two_single_maxima(
    dtype: str, beside: int
) -> None:
    x = np.zeros((3, 40, 2 * beside), DTYPES[dtype].numpy)
    x[:, 7], x[:, 9, ::2], x[:, 30, 1::2] = 1, 1, np.nan
    got = hardmax(x, 1).argmax(axis=1) if dtype != "bfloat16" else _places(hardmax(x, 1))
    assert got.tolist() == [[7, 30] * beside] * 3


def _places(ones: Any) -> Any:
    return ones.astype(np.float32).argmax(axis=1)


# ── numbers of 16 bits, compared as integers ──────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ([-0.0, 0.0, -1.0], 0),
        ([-1.0, -0.0, 0.0], 1),
        ([-3.0, -1.0, -2.0], 1),
        ([-math.inf, -6e4, -6e4], 1),
        ([-math.inf, -math.inf], 0),
        ([1.0, math.inf, math.inf], 1),
        ([math.inf, math.nan], 1),
        ([2.0, -math.nan, 1.0], 1),
        ([-1.0, -math.nan, math.nan], 1),
        ([6e-8, 0.0, 1.2e-7], 2),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_signs_zeros_and_nan_of_16_bits(dtype: str, row: list[float], place: int) -> None:
    kind = DTYPES[dtype].numpy
    for filling in (0, 40):
        x = np.array([row + [-math.inf] * filling, [5.0] + [1.0] * (len(row) - 1 + filling)])
        x = x.astype(np.float32).astype(kind)
        assert _places(hardmax(x)).tolist() == [place, 0]
        beside = np.ascontiguousarray(np.repeat(x[:, :, np.newaxis], 70, axis=2))
        assert _places(hardmax(beside, 1)).tolist() == [[place] * 70, [0] * 70]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_number_of_16_bits_beats_those_below_it(dtype: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(DTYPES[dtype].numpy)
    with np.errstate(invalid="ignore"):
        numbers = x.astype(np.float32)
    other = np.random.default_rng(7).permutation(1 << 16)
    pairs = np.stack([numbers, numbers[other]], axis=1)
    want = np.argmax(pairs, axis=1)
    for axis in (0, 1):
        mine = np.ascontiguousarray(np.stack([x, x[other]], axis=axis))
        assert _places(hardmax(np.moveaxis(mine, axis, 1), 1)).tolist() == want.tolist()
        ones = hardmax(mine, axis).astype(np.float32)
        assert ones.argmax(axis=axis).tolist() == want.tolist()


#: The NaN next to infinity, with either sign, and the last one.
NAN_BITS = {
    "float16": (0x7C01, 0xFC01, 0x7FFF, 0xFFFF),
    "bfloat16": (0x7F81, 0xFF81, 0x7FFF, 0xFFFF),
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
            for axis in range(3):
                got = hardmax(x, axis)
                if axis == 1:
                    assert _places(got).tolist() == [[0] * 100, [20] * 100, [0] * 100]
            assert _places(hardmax(np.ascontiguousarray(x[1].T))).tolist() == [20] * 100


# ── DirectML's joint rows ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shape", "reduced", "rows"),
    [
        ((2, 3, 5, 7), (1,), (2, 3, 35)),
        ((2, 3, 5, 7), (0, 1), (1, 6, 35)),
        ((2, 3, 5, 7), (1, 2), (2, 15, 7)),
        ((2, 3, 5, 7), (0, 2), None),
        ((2, 1, 5, 7), (0, 2), (1, 10, 7)),
        ((2, 3, 1, 7), (0, 2), (1, 2, 21)),
        ((2, 3, 5, 1), (1, 3), (2, 3, 5)),
        ((1, 1, 5, 1), (0, 3), (1, 1, 5)),
    ],
)
def test_dimensions_side_by_side_are_not_moved(
    shape: tuple[int, ...], reduced: tuple[int, ...], rows: Rows | None
) -> None:
    modes: Any = import_module("opcheck.engine.ops.dml_activation_hardmax1.modes")
    length = math.prod(shape[axis] for axis in reduced)
    assert modes._as_they_lie(shape, reduced, length) == rows


@pytest.mark.parametrize("block", [1, 8, 1 << 18])
def test_all_choices_of_axes_in_blocks_of_any_size(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = import_module("opcheck.engine.ops.dml_activation_hardmax1.modes")
    monkeypatch.setattr(module, "_BLOCK", block)
    x = np.random.default_rng(10).integers(0, 3, (3, 2, 4, 3)).astype(np.float32)
    for count in range(1, 5):
        for axes in itertools.combinations(range(4), count):
            assert_both_modes_agree(JOINT, x, {"Axes": axes}, threads=2)


@pytest.mark.parametrize("kind", ["ordinary", "ties", "nan", "one nan"])
@pytest.mark.parametrize("shape", [(700, 2, 600), (900, 2, 400, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rows_that_are_read_piece_by_piece(dtype: str, shape: tuple[int, ...], kind: str) -> None:
    x = _numbers(shape, kind, dtype)
    for threads in (1, 2):
        assert_both_modes_agree(JOINT, x, {"Axes": (0, 2)}, threads)


@pytest.mark.parametrize("block", [1, 8])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_first_of_several_maxima_is_found_in_whichever_piece_it_is(
    dtype: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = import_module("opcheck.engine.ops.dml_activation_hardmax1.modes")
    monkeypatch.setattr(module, "_BLOCK", block)
    for numbers in ((1.0, 1.0), (-0.0, 0.0), (1.0, math.nan), (math.nan, -math.nan, math.inf)):
        for places in itertools.permutations(range(0, 12, 5), len(numbers)):
            x = np.full((4, 2, 3), -1, dtype)
            for place, number in zip(places, numbers, strict=True):
                x[place // 3, 1, place % 3] = number
            nan = [place for place in places if math.isnan(x[place // 3, 1, place % 3])]
            got = natively(JOINT, [x], {"Axes": (0, 2)})[0].transpose(1, 0, 2).reshape(2, 12)
            assert np.argwhere(got).tolist() == [[0, 0], [1, min(nan or places)]]


# ── threads and memory ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_threads_change_nothing(dtype: str, threads: int) -> None:
    x = np.random.default_rng(8).standard_normal((20, 300, 200)).astype(DTYPES[dtype].numpy)
    for axis in range(3):
        for array in (x, np.asfortranarray(x)):
            assert_same(hardmax(array, axis, threads=threads), hardmax(array, axis))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((1 << 14, 256), -1),
        ((1 << 14, 256), 0),
        ((1 << 18, 16), -1),
        ((1, 1 << 22), -1),
        ((4, 128, 1 << 13), 1),
        ((1 << 12, 64, 16), 1),
        ((2, 1 << 19, 4), 1),
        ((64, 64, 32, 32), 1),
    ],
)
@pytest.mark.parametrize("layout", ["as it is", "fortran", "transposed"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_there_is_no_second_copy_of_a_tensor(
    dtype: str, layout: str, shape: tuple[int, ...], axis: int
) -> None:
    x = LAYOUTS[layout](np.zeros(shape, dtype))
    assert _most(lambda: hardmax(x, axis)) < x.nbytes + (7 << 20)


@pytest.mark.parametrize(
    "shape", [(32, 64, 32, 64), (2048, 1, 2, 1024), (1024, 2, 1024, 2), (512, 2, 512, 8)]
)
@pytest.mark.parametrize("axes", [(0,), (0, 1), (0, 2), (1, 3), (2, 3), (0, 2, 3), (0, 3)])
@pytest.mark.parametrize(("dtype", "layout"), [("float32", "as it is"), ("float16", "transposed")])
def test_nor_of_one_whose_dimensions_are_reduced_jointly(
    dtype: str, layout: str, axes: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    x = LAYOUTS[layout](np.zeros(shape, dtype))
    assert _most(lambda: natively(JOINT, [x], {"Axes": axes})) < x.nbytes + (7 << 20)


def _most(call: Any) -> int:
    """The most memory that there is at a time while `call` is under way."""
    tracemalloc.start()
    try:
        call()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return most
