"""Native Softmax keeps to the operator's own bound, whichever way it takes."""

from __future__ import annotations

import math
import threading
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
from opcheck.engine.exact import Exact

from opcheck.compare import Want, compare
from opcheck.dtypes import DTYPES
from opcheck.engine import exactly, natively
from opcheck.model import OpVersion
from tests.bounds.softmax import rows
from tests.bounds.softmax.judging import told, want_of_batch
from tests.engine.ops.layouts import LAYOUTS

#: Rows of one element, short ones, such as are added up by a product, and longer ones.
LENGTHS = (1, 2, 5, 17, 31, 33, 257, 1000)

#: The sizes on which ways depend, by module: their own, and those with which small arrays take all
#: the ways that large ones do.
SIZES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "native": {
        "_BLOCK": (16, 64, 1 << 20),
        "_NARROW_BLOCK": (8, 32, 1 << 18),
        "_WIDE": (1, 2, 3, 16),
        "_BESIDE": (1, 2, 64),
        "_WHOLE": (1, 4, 1 << 19),
        "_BESIDE_IN_OUTPUT": (1, 3, 1 << 14),
    },
    "native_long": {"BLOCK": (1, 3, 8), "_WIDE": (1, 3)},
    "native_rows": {
        "_SHORT": (1, 3, 32),
        "_FEW": (2, 4, 256),
        "_PRODUCT": (256, 8192),
        "_IN_ORDER": (1, 2, 512),
    },
}


def softmax(x: Any, axis: int = -1, *, version: int = 13, threads: int = 1) -> Any:
    (out,) = natively(OpVersion("", "Softmax", version), [x], {"axis": axis}, threads)
    return out


def want(x: Any, axis: int = -1, version: int = 13) -> Want:
    (exact,) = exactly(OpVersion("", "Softmax", version), [x], {"axis": axis})
    assert isinstance(exact, Exact)
    return Want("y", exact.dtype, exact.values, 0, 1, exact.bound, exact.rest)


def assert_right(right: Want, got: Any, of: object = "") -> None:
    assert got.dtype.isnative
    found = compare(right, got)
    assert not told(found), of
    assert found.used <= 1


def singles(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


# ── every kind of row ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("dtype", rows.FLOATS)
def test_every_kind_of_row_is_right_alone_and_beside_all_others(dtype: str, columns: int) -> None:
    x, right = rows.batch(dtype, columns), want_of_batch(dtype, columns)
    ways = {
        "together": softmax(x),
        "alone": np.concatenate([softmax(row[np.newaxis]) for row in x]),
        "side by side": softmax(np.ascontiguousarray(x.T), 0).T,
        "three by three": softmax(np.stack([x, x, x], axis=2), 1)[:, :, 1],
        "many alone": np.stack([softmax(np.stack([row] * 20, axis=1), 0)[:, 7] for row in x]),
    }
    for way, got in ways.items():
        assert_right(right, np.ascontiguousarray(got), way)


@pytest.mark.parametrize("beside", [1, 3, 70])
@pytest.mark.parametrize(("dtype", "columns"), [("float32", 600_000), ("bfloat16", 600_000)])
def test_long_rows_are_right_too(dtype: str, columns: int, beside: int) -> None:
    x = rows.long(dtype, columns // beside, 4)
    for row in x:
        got = softmax(np.stack([row] * beside, axis=1), 0)
        assert_right(want(row), np.ascontiguousarray(got[:, beside // 2]))


@pytest.mark.parametrize("shape", [(300, 1000), (70_000, 9), (3, 5000, 40), (2, 100, 9000)])
@pytest.mark.parametrize("dtype", rows.FLOATS)
def test_large_tensors_are_right_along_every_axis(dtype: str, shape: tuple[int, ...]) -> None:
    x = rows.rounded(3 * np.random.default_rng(2).standard_normal(shape), dtype)
    if dtype == "float64":
        x = x[:, :200]
    for axis in range(x.ndim):
        assert_right(want(x, axis), softmax(x, axis), axis)


# ── any tensor whatever, in every way ─────────────────────────────────────────────────────────


@contextmanager
def sizes_from(data: st.DataObject) -> Iterator[None]:
    """With any of the sizes."""
    with pytest.MonkeyPatch.context() as patch:
        for module, sizes in SIZES.items():
            for size, some in sizes.items():
                path = f"opcheck.engine.ops.softmax.{module}"
                patch.setattr(import_module(path), size, data.draw(st.sampled_from(some)))
        yield


NUMBERS = st.one_of(
    st.floats(-5, 5),
    st.sampled_from([0.0, -0.0, 1.0, 88.0, 89.0, -100.0, 1e4, 6e4, -6e4, 3e38]),
    st.sampled_from([math.nan, math.inf, -math.inf, -math.inf]),
)


@st.composite
def tensors(draw: st.DrawFn, dtype: str) -> Any:
    """Of every rank, some of them empty; ordinary numbers for the most part, or only these."""
    shape = draw(array_shapes(min_dims=1, max_dims=8, min_side=0, max_side=5).filter(_is_small))
    ordinary = draw(st.booleans())
    x = draw(arrays(np.float64, shape, elements=st.floats(-5, 5) if ordinary else NUMBERS))
    return rows.rounded(x, dtype)


def _is_small(shape: tuple[int, ...]) -> bool:
    return math.prod(shape) <= 200


@pytest.mark.parametrize("dtype", rows.FLOATS)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_any_tensor_is_answered_within_the_bound(dtype: str, data: st.DataObject) -> None:
    x = data.draw(tensors(dtype))
    layout = data.draw(st.sampled_from([*LAYOUTS]))
    version = data.draw(st.sampled_from([1, 11, 13] if dtype != "bfloat16" else [13]))
    axis = data.draw(st.integers(0 if version == 1 else -x.ndim, x.ndim - 1))
    threads = data.draw(st.sampled_from([1, 1, 1, 2]))
    right = want(x, axis, version)
    given = LAYOUTS[layout](x)
    given.flags.writeable = False
    before = given.tobytes()
    with sizes_from(data):
        got = softmax(given, axis, version=version, threads=threads)
        assert got.tobytes() == softmax(given, axis, version=version).tobytes()
    assert_right(right, got, layout)
    assert got.shape == x.shape
    assert got.flags.c_contiguous
    assert got.flags.writeable
    assert given.tobytes() == before
    assert not np.shares_memory(got, given)


# ── what each way has to be careful about ─────────────────────────────────────────────────────


@pytest.mark.parametrize("special", [math.nan, -math.nan, math.inf])
@pytest.mark.parametrize("dtype", rows.FLOATS)
def test_a_row_with_nan_or_infinity_is_nan_and_the_others_are_not(
    dtype: str, special: float
) -> None:
    x = np.random.default_rng(3).standard_normal((7, 40))
    x[3, 5], x[5] = special, -np.inf
    x = rows.rounded(x, dtype)
    for got in (softmax(x), softmax(np.ascontiguousarray(x.T), 0).T):
        nan = np.isnan(got.astype(np.float32))
        assert nan.all(axis=1).tolist() == [False, False, False, True, False, True, False]
        assert not nan[[0, 1, 2, 4, 6]].any()


@pytest.mark.parametrize("beside", [1, 3, 20])
@pytest.mark.parametrize("dtype", rows.FLOATS)
def test_a_row_of_one_element_is_exactly_1(dtype: str, beside: int) -> None:
    x = rows.rounded(np.linspace(-300, 300, 4 * beside).reshape(4, 1, beside), dtype)
    assert (softmax(x, 1) == 1).all()


@pytest.mark.parametrize("dtype", rows.FLOATS)
def test_equal_elements_have_equal_shares(dtype: str) -> None:
    for value in (-20.0, 0.0, 3.0, 1000.0):
        for length in (3, 64, 300):
            got = softmax(np.full((5, length), value).astype(DTYPES[dtype].numpy))
            assert [len(set(row.tolist())) for row in got] == [1] * 5


def test_what_e_to_the_x_is_too_large_or_too_small_for() -> None:
    ordinary = singles(0.0, -1.0, 2.0)
    for row in (
        singles(88.6, 88.5, 80.0),  # the sum is infinite, no element is
        singles(89.0, 0.0, -89.0),
        singles(-87.0, -88.0, -100.0),  # the sum is subnormal, or nearly
        singles(-104.0, -104.5, -130.0),
        singles(-20.0, -100.0, -103.0),
        singles(3e38, -3e38, 2.9e38),
    ):
        assert_right(want(row), softmax(row), row)
        both = np.stack([ordinary, row])
        assert_right(want(both), softmax(both), row)


@pytest.mark.parametrize("mask", [-math.inf, -1e4, -3e38])
def test_masked_elements_are_0_and_cost_the_others_nothing(mask: float) -> None:
    x = np.random.default_rng(4).standard_normal((5, 60)).astype(np.float32)
    x[:, 50:] = mask
    got = softmax(x)
    assert not got[:, 50:].any()
    np.testing.assert_allclose(got[:, :50], softmax(x[:, :50]), rtol=3e-7)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("shape", [(600, 1000), (2, 700_000), (40, 30, 300), (2, 300_000, 3)])
def test_threads_change_no_bit(shape: tuple[int, ...], threads: int) -> None:
    x = 3 * np.random.default_rng(5).standard_normal(shape, dtype=np.float32)
    x.flat[17] = 100
    for axis in range(x.ndim):
        for array in (x, np.asfortranarray(x)):
            alone = softmax(array, axis)
            assert softmax(array, axis, threads=threads).tobytes() == alone.tobytes()


def test_one_long_row_is_shared_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()
    module: Any = import_module("opcheck.engine.ops.softmax.native_long")
    read = module._read

    def seen_reading(x: Any) -> Any:
        seen.add(threading.get_ident())
        return read(x)

    monkeypatch.setattr(module, "_read", seen_reading)
    softmax(np.zeros((1, 2_000_000), np.float32), threads=2)
    assert threading.get_ident() not in seen


@pytest.mark.parametrize("threads", [2, 3, 4])
@pytest.mark.parametrize("shape", [(1, 600_000), (3, 600_000), (2, 200_000, 3), (9, 600_000)])
def test_no_more_threads_than_asked_for_are_at_work(
    shape: tuple[int, ...], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, most = threading.active_count(), 0
    start = threading.Thread.start

    def started(thread: threading.Thread) -> None:
        nonlocal most
        start(thread)
        most = max(most, threading.active_count() - before)

    monkeypatch.setattr(threading.Thread, "start", started)
    for dtype in ("float32", "float16"):
        softmax(np.zeros(shape, dtype), 1, threads=threads)
    assert 1 < most <= threads


def test_numpys_settings_stay_as_they_are() -> None:
    buffer, errors = np.getbufsize(), np.geterr()
    softmax(np.zeros((4, 1000), np.float32), threads=2)
    assert (np.getbufsize(), np.geterr()) == (buffer, errors)


# ── memory ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((1 << 14, 256), -1),
        ((1 << 14, 256), 0),
        ((1 << 18, 16), -1),
        ((1, 1 << 22), -1),
        ((4, 128, 1 << 13), 1),
        ((1 << 14, 64, 4), 1),
        ((2, 1 << 19, 4), 1),
        ((64, 64, 32, 32), 1),
        ((1 << 18, 4, 4), 0),
    ],
)
@pytest.mark.parametrize("layout", ["as it is", "fortran", "transposed"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_there_is_no_second_copy_of_a_tensor(
    dtype: str, layout: str, shape: tuple[int, ...], axis: int
) -> None:
    x = LAYOUTS[layout](np.zeros(shape, dtype))
    x[..., :1] = 1
    softmax(np.zeros((2, 2), dtype))
    tracemalloc.start()
    try:
        out = softmax(x, axis)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < out.nbytes + (7 << 20)
