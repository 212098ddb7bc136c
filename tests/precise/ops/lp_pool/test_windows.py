"""Where windows lie, what is invalid, and what the text leaves open."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.errors import InvalidNode
from opcheck.precise import Precise, Undecided
from tests.precise.asking import METHODS, Method, ask, by

VERSIONS = [1, 2, 11, 18, 22]


def pool(x: Any, since: int = 22, method: Method | None = None, **attrs: Any) -> Precise:
    with by(method):
        return ask("LpPool", since, np.asarray(x), **attrs)


def line(*values: float) -> np.ndarray[Any, Any]:
    return np.array([[values]], np.float32)


def sums(x: Any, since: int = 22, **attrs: Any) -> Any:
    """Sums of absolute values along the only axis, of p = 1."""
    return pool(x, since, p=1.0 if since == 1 else 1, **attrs).values[0, 0].tolist()


@pytest.mark.parametrize("since", VERSIONS)
def test_defaults(since: int) -> None:
    """p = 2, strides 1, no padding."""
    got = pool(line(3, -4, 0, 5), since, kernel_shape=(2,))
    assert got.values.tolist() == [[[5, 4, 5]]]


@pytest.mark.parametrize("since", VERSIONS)
def test_pads_begin_with_all_beginnings(since: int) -> None:
    """[x1_begin, x2_begin, x1_end, x2_end]: one row above, two columns behind."""
    x = np.ones((1, 1, 2, 2), np.float32)
    p = 1.0 if since == 1 else 1
    got = pool(x, since, p=p, kernel_shape=(2, 2), pads=(1, 0, 0, 2))
    assert got.values[0, 0].tolist() == [[2, 1, 0], [4, 2, 0]]


def test_strides_and_dilations() -> None:
    x = line(1, 2, 4, 8, 16, 32, 64)
    assert sums(x, kernel_shape=(2,), strides=(3,)) == [3, 24]
    assert sums(x, kernel_shape=(2,), dilations=(3,)) == [9, 18, 36, 72]
    assert sums(x, kernel_shape=(3,), dilations=(2,), strides=(2,), pads=(2, 1)) == [5, 21, 84]


def test_ceil_mode_keeps_the_last_window_and_rescales_nothing() -> None:
    """1 … 6 in windows of 3 by 2: the last holds 5 and 6, whose norm is √61."""
    x = line(1, 2, 3, 4, 5, 6)
    assert sums(x, kernel_shape=(3,), strides=(2,), ceil_mode=1) == [6, 12, 11]
    got = pool(x, kernel_shape=(3,), strides=(2,), ceil_mode=1)
    assert got.values[0, 0, 2] == np.float32(math.sqrt(61))
    assert sums(x, kernel_shape=(3,), strides=(2,)) == [6, 12]
    # A single window that hangs over.
    assert sums(line(1, 2, 3), kernel_shape=(4,), strides=(2,), ceil_mode=1) == [6]


@pytest.mark.parametrize("since", VERSIONS)
def test_auto_pad(since: int) -> None:
    """An odd element of padding lies at the end for SAME_UPPER, at the beginning for SAME_LOWER."""
    x = line(1, 2, 4)
    assert sums(x, since, kernel_shape=(2,), auto_pad="SAME_UPPER") == [3, 6, 4]
    assert sums(x, since, kernel_shape=(2,), auto_pad="SAME_LOWER") == [1, 3, 6]
    assert sums(x, since, kernel_shape=(2,), auto_pad="VALID") == [3, 6]
    assert sums(x, since, kernel_shape=(2,), auto_pad="NOTSET", pads=(1, 0)) == [1, 3, 6]


def test_auto_pad_with_strides_and_dilations() -> None:
    x = line(1, 2, 4, 8, 16, 32, 64)
    assert sums(x, kernel_shape=(3,), dilations=(2,), auto_pad="SAME_UPPER") == [
        5, 10, 21, 42, 84, 40, 80,
    ]  # fmt: skip
    assert sums(x, 11, kernel_shape=(3,), strides=(3,), auto_pad="SAME_LOWER") == [3, 28, 96]
    # A stride beyond the window leaves nothing to pad.
    assert sums(x, kernel_shape=(2,), strides=(6,), auto_pad="SAME_UPPER") == [3, 64]
    assert sums(x, kernel_shape=(2,), strides=(3,), auto_pad="VALID") == [3, 24]
    # ceil_mode changes nothing about SAME.
    assert sums(x, kernel_shape=(2,), strides=(4,), auto_pad="SAME_UPPER", ceil_mode=1) == [3, 48]


@pytest.mark.parametrize("method", METHODS)
def test_a_window_wholly_in_padding_is_0(method: Method) -> None:
    got = pool(line(1, 2), method=method, kernel_shape=(2,), pads=(3, 2))
    assert got.values[0, 0].tolist()[:2] == [0, 0]
    assert got.distance[0, 0].tolist()[:2] == [0.5, 0.5]
    assert np.signbit(got.values).sum() == 0


@pytest.mark.parametrize("method", METHODS)
def test_windows_that_are_larger_than_any_memory(method: Method) -> None:
    far = 2**40
    got = pool(line(3, 4), method=method, kernel_shape=(far,), pads=(far - 2, 0))
    assert got.values.tolist() == [[[5]]]
    got = pool(line(3, 4), method=method, kernel_shape=(2,), dilations=(far,), pads=(far, 0))
    assert got.values.tolist() == [[[3, 4]]]
    assert sums(line(1, 2), kernel_shape=(1,), dilations=(2**63 - 1,)) == [1, 2]


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3)])
def test_without_batch_or_channels_the_output_is_empty(shape: tuple[int, ...]) -> None:
    got = pool(np.zeros(shape), kernel_shape=(2,))
    assert got.values.shape == (*shape[:2], 2)


@pytest.mark.parametrize("method", METHODS)
def test_without_space_there_is_padding_only(method: Method) -> None:
    got = pool(np.zeros((1, 2, 0)), method=method, kernel_shape=(2,), pads=(1, 2))
    assert got.values.tolist() == [[[0, 0], [0, 0]]]


@st.composite
def nodes(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    rank = draw(st.integers(1, 3))

    def some(low: int, high: int, count: int = rank) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))

    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 2)), *some(1, 5))
    x = np.arange(1, 1 + math.prod(shape), dtype=np.float64).reshape(shape)
    attrs = {"kernel_shape": some(1, 3), "strides": some(1, 3), "dilations": some(1, 2)}
    attrs["pads"] = some(0, 3, 2 * rank)
    attrs["ceil_mode"] = draw(st.integers(0, 1))
    return x, attrs


@pytest.mark.parametrize("method", METHODS)
@given(node=nodes())
def test_windows_against_loops(method: Method, node: tuple[Any, dict[str, Any]]) -> None:
    x, attrs = node
    rank = x.ndim - 2
    sizes, starts = [], []
    for i, n in enumerate(x.shape[2:]):
        kernel, stride, dilation = (
            attrs[name][i] for name in ("kernel_shape", "strides", "dilations")
        )
        begin, end = attrs["pads"][i], attrs["pads"][rank + i]
        width = (kernel - 1) * dilation + 1
        rounding = math.ceil if attrs["ceil_mode"] else math.floor
        sizes.append(rounding((n + begin + end - width) / stride) + 1)
        starts.append((stride, begin, dilation, kernel, n))
    try:
        got = pool(x, method=method, p=1, **attrs).values
    except InvalidNode:
        assert min(sizes) < 0
        return
    except Undecided:
        behind = [
            (size - 1) * stride >= n + begin
            for size, (stride, begin, _, _, n) in zip(sizes, starts, strict=True)
        ]
        assert min(sizes) == 0 or (attrs["ceil_mode"] and any(behind))
        return
    assert got.shape == (*x.shape[:2], *sizes)
    for index in itertools.product(*map(range, got.shape)):
        taps = [
            [
                place
                for tap in range(kernel)
                if 0 <= (place := o * stride - begin + tap * dilation) < n
            ]
            for o, (stride, begin, dilation, kernel, n) in zip(index[2:], starts, strict=True)
        ]
        want = sum(x[index[0], index[1]][place] for place in itertools.product(*taps))
        assert got[index] == want


@pytest.mark.parametrize(
    ("since", "shape", "attrs", "reason"),
    [
        (22, (2, 3), {"kernel_shape": (2,)}, "rank 2 has no spatial axis"),
        (2, (1, 1, 3), {}, "kernel_shape is missing"),
        (22, (1, 1, 3), {"kernel_shape": (2, 2)}, "kernel_shape has 2 values, not 1"),
        (22, (1, 1, 3), {"kernel_shape": 2}, "kernel_shape 2 are no integers"),
        (22, (1, 1, 3), {"kernel_shape": (0,)}, "kernel_shape 0 is below 1"),
        (11, (1, 1, 3), {"kernel_shape": (2,), "strides": (0,)}, "strides 0 is below 1"),
        (18, (1, 1, 3), {"kernel_shape": (2,), "dilations": (-1,)}, "dilations -1 is below 1"),
        (1, (1, 1, 3), {"kernel_shape": (2,), "pads": (0, -1)}, "pads -1 is below 0"),
        (1, (1, 1, 3), {"kernel_shape": (2,), "pads": (0,)}, "pads has 1 values, not 2"),
        (2, (1, 1, 3), {"kernel_shape": (2,), "auto_pad": "SAME"}, "auto_pad 'SAME' is none of"),
        (
            22,
            (1, 1, 3),
            {"kernel_shape": (2,), "auto_pad": "VALID", "pads": (0, 0)},
            "pads cannot be used together with auto_pad",
        ),
        (22, (1, 1, 3), {"kernel_shape": (5,)}, "the size -1"),
        (22, (1, 1, 3, 3), {"kernel_shape": (4, 5)}, "the size -1"),
        (11, (1, 1, 3), {"kernel_shape": (2,), "ceil_mode": 0}, "ceil_mode is none of its"),
        (2, (1, 1, 3), {"kernel_shape": (2,), "dilations": (1,)}, "dilations is none of its"),
        (1, (1, 1, 3), {"kernel_shape": (2,), "p": 0.0}, r"no norm for a p of 0\.0"),
        (1, (1, 1, 3), {"kernel_shape": (2,), "p": math.nan}, "no norm for a p of nan"),
        (1, (1, 1, 3), {"kernel_shape": (2,), "p": 1e39}, r"no norm for a p of 1e\+39"),
        (1, (1, 1, 3), {"kernel_shape": (2,), "p": "2"}, "p '2' is no number"),
        (22, (1, 1, 3), {"kernel_shape": (2,), "p": -1}, "no norm for a p of -1"),
        (22, (1, 1, 3), {"kernel_shape": (2,), "p": 2.0}, r"p 2\.0 is no integer"),
    ],
)
def test_what_is_invalid(
    since: int, shape: tuple[int, ...], attrs: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidNode, match=rf"^LpPool-{since}: .*{reason}"):
        pool(np.ones(shape, np.float32), since, **attrs)


@pytest.mark.parametrize(
    ("since", "attrs", "reason"),
    [
        (1, {}, "a missing kernel_shape"),
        (1, {"kernel_shape": (2,), "p": 0.5}, r"p may be below 1, as 0\.5 is"),
        (22, {"kernel_shape": (4,)}, "an output may have the size 0"),
        (22, {"kernel_shape": (4,), "auto_pad": "VALID"}, "an output may have the size 0"),
        (1, {"kernel_shape": (2,), "strides": (2,), "auto_pad": "SAME_UPPER"}, "SAME_UPPER with"),
        (2, {"kernel_shape": (2,), "strides": (2,), "auto_pad": "SAME_LOWER"}, "SAME_LOWER with"),
        (18, {"kernel_shape": (1,), "strides": (4,), "ceil_mode": 1}, "behind the input"),
        (22, {"kernel_shape": (2,), "strides": (3,), "ceil_mode": 1, "pads": (0, 1)}, "behind"),
        (
            22,
            {"kernel_shape": (2,), "strides": (2,), "ceil_mode": 1, "auto_pad": "VALID"},
            "VALID knows no ceil_mode",
        ),
        (22, {"kernel_shape": (2,), "ceil_mode": 2}, "what ceil_mode 2 is"),
    ],
)
def test_what_the_text_leaves_open(since: int, attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(Undecided, match=rf"^LpPool-{since}: .*{reason}"):
        pool(line(1, 2, 3), since, **attrs)


def test_what_an_axis_leaves_open_does_not_matter_beside_an_invalid_one() -> None:
    with pytest.raises(InvalidNode, match="the size -1"):
        pool(np.ones((1, 1, 3, 3)), kernel_shape=(4, 5))


def test_what_changes_nothing_is_not_open() -> None:
    """ceil_mode with VALID where nothing is left over; SAME with a stride where one output fits."""
    assert sums(line(1, 2, 4), kernel_shape=(1,), strides=(2,), ceil_mode=1, auto_pad="VALID") == [
        1,
        4,
    ]
    assert sums(line(1), 1, kernel_shape=(1,), strides=(2,), auto_pad="SAME_UPPER") == [1]
