"""LpPool's kernel: windows of every kind, every way to add them up, the ends of the range."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.dtypes import DTYPES, limits
from opcheck.engine import Node
from opcheck.engine.native import natively, pools
from opcheck.model import OpVersion
from tests.engine.ops.lp_pool_exactly import tensor
from tests.engine.ops.test_rows import LAYOUTS
from tests.engine.test_native import assert_right as assert_within

NAMES = ("float16", "bfloat16", "float32", "float64")
NAN, INF, HUGE = math.nan, math.inf, 1 << 62


def pooled(x: Any, version: int = 22, threads: int = 1, **attrs: Any) -> Any:
    (out,) = natively(Node(OpVersion("", "LpPool", version), (x,), attrs), threads)
    return out


def assert_right(x: Any, version: int = 22, **attrs: Any) -> None:
    assert_within(OpVersion("", "LpPool", version), x, attrs)


def numbers(shape: tuple[int, ...], seed: int, name: str = "float32") -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[name].numpy)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have tensors taken in parts of so many elements, as large ones are."""
    return lambda size: monkeypatch.setattr(pools, "BLOCK", size)


# ── windows of every kind ─────────────────────────────────────────────────────────────────────


@st.composite
def poolings(draw: st.DrawFn, most: int = 3) -> tuple[tuple[int, ...], dict[str, Any]]:
    rank = draw(st.integers(1, most))
    sides = [draw(st.integers(1, {1: 40, 2: 12, 3: 7, 4: 4}[rank])) for _ in range(rank)]
    kernel = [draw(st.integers(1, 9 if rank == 1 else 4)) for _ in sides]
    strides = [draw(st.integers(1, 4)) for _ in sides]
    dilations = [draw(st.integers(1, 3)) for _ in sides]
    begins = [draw(st.integers(0, 5)) for _ in sides]
    ends = []
    for k, d, side, begin in zip(kernel, dilations, sides, begins, strict=True):
        least = max(0, (k - 1) * d + 1 - side - begin)
        ends.append(draw(st.integers(least, least + 5)))
    outer = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    attrs |= {"pads": begins + ends, "ceil_mode": draw(st.integers(0, 1))}
    return (*outer, *sides), attrs


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(
    poolings(4),
    st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 10, 64, 65]),
    st.sampled_from([*LAYOUTS]),
    st.integers(0, 99),
)
def test_answers_lie_within_the_bound(name, pooling, p, layout, seed):
    shape, attrs = pooling
    assert_right(LAYOUTS[layout](numbers(shape, seed, name)), p=p, **attrs)


@pytest.mark.parametrize("p", [0.01, 0.5, 1.5, 2.5, 3.7, 100.5])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_a_fractional_p_is_within_the_bound_and_one_number_is_its_own_norm(name, p):
    x = numbers((2, 3, 9, 10), 1, name)
    assert_right(x, 1, p=p, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0])
    assert pooled(x, 1, kernel_shape=(1, 1), p=p).tolist() == np.abs(x).tolist()


#: Shapes that large tensors have, and what is pooled there.
LARGE: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "many planes": ((3, 20, 14, 14), {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1,) * 4}),
    "wide windows": ((1, 3, 40, 50), {"kernel_shape": (7, 7), "pads": (3,) * 4}),
    "long rows": ((1, 1, 5000), {"kernel_shape": (4,), "strides": (2,), "pads": (1, 1)}),
    "few rows": ((1, 2, 3, 700), {"kernel_shape": (3, 3), "pads": (1,) * 4}),
    "dilated": (
        (1, 6, 30, 31), {"kernel_shape": (3, 2), "dilations": (5, 4), "pads": (9, 0, 0, 9)}
    ),
    "all of a plane": ((2, 3, 30, 40), {"kernel_shape": (30, 40)}),
    "all of an axis": ((2, 3, 30, 40), {"kernel_shape": (30, 1)}),
    "halves of rows": ((2, 3, 7, 200), {"kernel_shape": (1, 100), "strides": (1, 100)}),
    "one window with padding": ((1, 2, 50, 60), {"kernel_shape": (70, 80), "pads": (10,) * 4}),
    "one dilated window": ((1, 50, 99), {"kernel_shape": (33,), "dilations": (3,)}),
    "windows as long as the axis": ((3, 5, 300), {"kernel_shape": (299,), "pads": (150, 149)}),
    "three axes": ((1, 5, 9, 10, 11), {"kernel_shape": (3,) * 3, "strides": (2,) * 3}),
    "four axes": ((1, 6, 5, 6, 7, 4), {"kernel_shape": (2, 3, 2, 3), "pads": (1,) * 8}),
    "padding only, at the end": ((30, 20, 7), {"kernel_shape": (2,), "pads": (5, 9)}),
}  # fmt: skip


@pytest.mark.sampled(14)
@pytest.mark.parametrize("size", [2, 128, 1 << 12])
@pytest.mark.parametrize("name", LARGE)
def test_what_is_taken_in_parts_is_put_together(name, size, small_parts):
    small_parts(size)
    shape, attrs = LARGE[name]
    before = np.getbufsize(), np.geterr()
    for dtype, p in (("float32", 2), ("float32", 3), ("float64", 1), ("bfloat16", 10)):
        assert_right(numbers(shape, 3, dtype), p=p, **attrs)
    x = numbers(shape, 4)
    assert pooled(x, threads=3, **attrs).tobytes() == pooled(x, **attrs).tobytes()
    assert (np.getbufsize(), np.geterr()) == before


def test_empty_dimensions_give_outputs_of_the_right_shape() -> None:
    for name in NAMES:
        for shape, attrs in (
            ((0, 2, 5), {"kernel_shape": (2,)}),
            ((2, 0, 5), {"kernel_shape": (2,)}),
            ((1, 1, 0), {"kernel_shape": (2,), "pads": (1, 1)}),
            ((1, 1, 3, 0), {"kernel_shape": (2, 1), "pads": (0, 1, 0, 0)}),
            ((1, 1, 0, 3), {"kernel_shape": (1, 2), "pads": (1, 0, 0, 0)}),
            ((1, 1, 4), {"kernel_shape": (5,)}),
        ):
            assert_right(np.ones(shape, DTYPES[name].numpy), **attrs)


# ── the range ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8, 9, 40, 65, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_the_ends_of_the_range_and_what_is_beyond_them(name: str, p: int) -> None:
    smallest, largest = 2.0 ** DTYPES[name].min_exponent, limits(DTYPES[name])[1]
    x = tensor([smallest, 0, 0, largest, 0, 0, -smallest, smallest, 0, 0, 1, 0], name)
    special = tensor([1, NAN, INF, -INF, 2, 0, -0.0, 0, -NAN, 3], name)
    with np.errstate(all="raise"):
        got = pooled(special, kernel_shape=(2,), p=p).astype(float).ravel()
    np.testing.assert_array_equal(got, [NAN, NAN, INF, INF, 2, 0, 0, NAN, NAN])
    assert not np.signbit(got[5:7]).any()
    for window in ({"kernel_shape": (2,)}, {"kernel_shape": (3,), "strides": (3,)}):
        # Alone, and everywhere.
        for some in (x, np.full_like(x, smallest), np.full_like(x, largest / 4)):
            assert_right(some, p=p, **window)
    got = pooled(x, kernel_shape=(2,), p=p).astype(float).ravel()
    assert got[[0, 1, 2, 3, 4, 9, 10]].tolist() == [smallest, 0, largest, largest, 0, 1, 1]
    assert pooled(tensor([largest] * 2, name), kernel_shape=(2,), p=min(p, 2)).item() == INF


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", ["sizes", "small", "large", "one large", "alone", "zeros", "rare"])
@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_windows_of_all_sizes_are_within_the_bound(name: str, kind: str) -> None:
    dtype = DTYPES[name]
    rng, shape, top = np.random.default_rng(5), (2, 4, 12, 13), math.log2(limits(dtype)[1])
    x = rng.standard_normal(shape)
    if kind == "sizes":
        x = np.ldexp(x, rng.integers(dtype.min_exponent, int(top) - 5, shape))
    elif kind in ("small", "large"):
        x = np.ldexp(x, dtype.min_exponent * 3 // 4 if kind == "small" else int(top * 0.8))
    elif kind == "one large":
        x[:, :, 5, 5] = 2.0 ** (top * 0.9)
    elif kind == "alone":
        x[0, 0, 2:8, 2:8], x[0, 0, 5, 5], x[1, 1, 5, 5] = 0, 2.0 ** (-top * 0.8), 2.0 ** (top * 0.9)
    elif kind == "zeros":
        x[rng.random(shape) < 0.8] = 0
    else:
        x[rng.random(shape) < 0.05], x[:, 1:3, 4, 4] = INF, NAN
    x = x.astype(dtype.numpy)
    for version, p in ((22, 1), (22, 2), (22, 3), (22, 7), (22, 100), (1, 2.5)):
        if version == 22 or name != "bfloat16":
            assert_right(x, version, p=p, kernel_shape=(2, 3), strides=(2, 1))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("p", [2, 3, 1000])
@pytest.mark.parametrize("scale", [0, 1, 1e-30, 1e30, INF, NAN])
def test_a_window_larger_than_a_part_has_its_norm(p, scale, small_parts):
    small_parts(128)
    with np.errstate(invalid="ignore"):
        x = numbers((2, 1, 30, 31), 2) * np.float32(scale)
    assert_right(x, p=p, kernel_shape=(30, 31))
    assert_right(x, p=p, kernel_shape=(40, 16), dilations=(1, 2), pads=(5, 0, 5, 0))
    assert_right(x, p=p, kernel_shape=(29, 30))
    assert_right(x, p=p, kernel_shape=(9, 4), dilations=(3, 9), strides=(2, 1), pads=(0, 3, 25, 4))


@pytest.mark.parametrize(
    "attrs",
    [
        {"kernel_shape": (HUGE,), "pads": (HUGE - 1, 1)},
        {"kernel_shape": (3,), "dilations": (HUGE,), "strides": (HUGE + 1,),
         "pads": (HUGE, HUGE + 2)},
        {"kernel_shape": (1,), "strides": (HUGE,), "pads": (2 * HUGE - 1, HUGE)},
        {"kernel_shape": (2,), "strides": (HUGE,), "pads": (0, HUGE)},
        {"kernel_shape": (20_000,), "pads": (19_999, 19_999)},
        {"kernel_shape": (20_000,), "pads": (10_000, 10_001), "strides": (7,)},
    ],
)  # fmt: skip
def test_attributes_of_any_size_are_computed_with(attrs: dict[str, Any]) -> None:
    x = np.array([[[1.0, 2.0, 4.0]]], np.float32)
    for p in (1, 2, 3):
        assert_right(x, p=p, **attrs)


@pytest.mark.parametrize(
    ("length", "kernel", "pads", "stride"),
    [(2500, 2100, (2099, 2099), 1), (2100, 2500, (2300, 2400), 1), (9000, 2100, (2, 1), 3)],
)
def test_windows_of_many_elements_are_added_up(length, kernel, pads, stride):
    x = np.random.default_rng(3).integers(0, 100, (1, 2, length)).astype(np.float32)
    attrs = {"kernel_shape": (kernel,), "pads": pads, "strides": (stride,)}
    for p in (1, 2):
        # Sums of whole numbers are differences of others.
        padded = np.pad(np.abs(x.astype(np.int64)) ** p, [(0, 0), (0, 0), (pads[0] + 1, pads[1])])
        total = np.cumsum(padded, axis=2)
        right = (total[..., kernel:] - total[..., :-kernel])[..., ::stride] ** (1 / p)
        np.testing.assert_allclose(pooled(x, p=p, **attrs), right, rtol=1e-6)
        assert_right(x, p=p, **attrs)
