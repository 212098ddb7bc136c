import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, example, given, strategies as st
from onnx import TensorProto, helper

from opcheck.engine.axes import AUTO_PADS, AxisWindows, Windows, windows_of
from opcheck.errors import InvalidNode
from tests.examples import examples
from tests.wording import Wording

HUGE = 1 << 62


def along(length: int, **attrs: Any) -> AxisWindows:
    """The windows along the one spatial axis of a tensor; lists may be given as their element."""
    lists: dict[str, Any] = {n: (v,) if isinstance(v, int) else v for n, v in attrs.items()}
    lists |= {"ceil_mode": attrs["ceil_mode"]} if "ceil_mode" in attrs else {}
    (axis,) = windows_of((1, 1, length), **lists).axes
    return axis


def refusal(shape: tuple[int, ...] = (1, 1, 5), **attrs: Any) -> str:
    with pytest.raises(InvalidNode) as error:
        windows_of(shape, **({"kernel_shape": (2,) * (len(shape) - 2)} | attrs))
    return str(error.value)


def held(axis: AxisWindows, i: int) -> list[int]:
    """The elements that window i holds, by the definition."""
    all_of_it = (i * axis.stride - axis.begin + j * axis.dilation for j in range(axis.kernel))
    return [position for position in all_of_it if 0 <= position < axis.length]


axes = st.builds(
    AxisWindows,
    length=st.integers(0, 9),
    kernel=st.integers(1, 7),
    stride=st.integers(1, 5),
    dilation=st.integers(1, 4),
    begin=st.integers(0, 9),
    size=st.integers(1, 9),
)


@given(axes)
def test_a_window_holds_the_elements_that_a_loop_over_its_positions_finds(axis):
    loops = [held(axis, i) for i in range(axis.size)]
    firsts, counts = axis.spans(np.arange(axis.size))
    assert counts.tolist() == [len(loop) for loop in loops]
    for loop, first, count in zip(loops, firsts.tolist(), counts.tolist(), strict=True):
        assert loop == [first + j * axis.dilation for j in range(count)]
    assert max(map(len, loops)) <= axis.most
    by_offset: list[list[int]] = [[] for _ in loops]
    for j in axis.offsets:
        windows, elements = axis.reach(j)
        positions = range(axis.length)[elements]
        for i, position in zip(range(axis.size)[windows], positions, strict=True):
            by_offset[i].append(position)
    assert by_offset == loops


@given(st.lists(axes, min_size=1, max_size=3), st.data())
@examples(60)
def test_sums_and_gathered_windows_equal_a_slow_loop(chosen, data):
    outer = data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    windows = Windows(outer, tuple(chosen))
    assume(math.prod(windows.shape) <= 300)
    shape = (*outer, *(axis.length for axis in chosen))
    # Whole numbers, so that every order of additions gives the same sum.
    x = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    loops: list[list[float]] = []
    for n, c, *numbers in np.ndindex(windows.shape):
        parts = (held(axis, i) for axis, i in zip(chosen, numbers, strict=True))
        loops.append([x[n, c, *position].item() for position in itertools.product(*parts)])
    assert windows.sums(x).shape == windows.shape
    assert windows.sums(x).ravel().tolist() == [sum(loop) for loop in loops]
    assume(x.size)
    places = np.array(data.draw(st.permutations(range(len(loops)))), np.intp)
    seen: list[int] = []
    for portion, rows in windows.gathered(x, places):
        for place, row in zip(places[portion], rows, strict=True):
            assert [value for value in row.tolist() if value] == loops[place]
            seen.append(place)
    assert seen == places.tolist()


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0), (1, 1, 1, 1)])
def test_a_window_has_as_many_terms_as_elements(pads: tuple[int, ...]) -> None:
    windows = windows_of((2, 3, 7, 6), (2, 3), (1, 2), pads=pads)
    terms = np.broadcast_to(windows.terms, windows.shape)
    assert terms.tolist() == windows.sums(np.ones((2, 3, 7, 6))).tolist()


def test_gathering_takes_bounded_portions() -> None:
    windows = windows_of((1, 1, 4000), kernel_shape=(1000,))
    portions = list(windows.gathered(np.ones((1, 1, 4000), np.float32), np.arange(3001)))
    assert max(rows.size for _, rows in portions) <= 1 << 18
    assert len(portions) == 12


@pytest.mark.parametrize(
    ("size", "pads", "stride", "sums", "gathered"),
    [
        (HUGE, (HUGE - 1, 1), 1, [1, 3, 7, 7], [[1, 0, 0], [1, 2, 0], [1, 2, 4], [1, 2, 4]]),
        (1, (2 * HUGE, HUGE), HUGE, [0, 0, 1, 0], [[0], [0], [1], [0]]),
    ],
    ids=["of any size", "that begin beyond 64 bits"],
)
def test_windows_are_no_work_beyond_their_elements(size, pads, stride, sums, gathered) -> None:
    windows = windows_of((1, 1, 3), kernel_shape=(size,), pads=pads, strides=(stride,))
    x = np.array([[[1.0, 2.0, 4.0]]])
    assert windows.shape == (1, 1, 4)
    assert windows.sums(x).tolist() == [[sums]]
    ((_, rows),) = windows.gathered(x, np.arange(4))
    assert rows.tolist() == gathered


def test_a_dilation_stride_or_pad_of_any_size_is_computed_exactly() -> None:
    windows = windows_of(
        (1, 1, 3), kernel_shape=(3,), dilations=(HUGE,), strides=(HUGE + 1,), pads=(HUGE, HUGE + 2)
    )
    # One window, at −2^62, 0 and 2^62.
    assert windows.shape == (1, 1, 1)
    assert windows.sums(np.array([[[1.0, 2.0, 4.0]]])).tolist() == [[[1]]]
    ((_, rows),) = windows.gathered(np.array([[[1.0, 2.0, 4.0]]]), np.arange(1))
    assert [value for value in rows.ravel().tolist() if value] == [1]


@pytest.mark.parametrize(("batches", "pad"), [(1, HUGE), (0, HUGE), (1, 1 << 31), (1, 1 << 27)])
def test_an_output_that_no_array_can_hold_is_out_of_memory(
    batches: int, pad: int, wording: Wording
) -> None:
    with pytest.raises(MemoryError) as raised:
        windows_of((batches, 1, 5), kernel_shape=(2,), pads=(pad, pad))
    assert str((batches, 1, 2 * pad + 4)) in str(raised.value)
    assert raised.value == wording


#: The length, the attributes, the size that comes of them, and the padding at the beginning.
BY_HAND: list[tuple[int, dict[str, Any], int, int]] = [
    (7, {"kernel_shape": 3, "pads": (2, 1)}, 8, 2),
    (2, {"kernel_shape": 2, "pads": (4, 5)}, 10, 4),
    (0, {"kernel_shape": 2, "pads": (1, 1)}, 1, 1),
    (6, {"kernel_shape": 3, "strides": 2, "ceil_mode": 1}, 3, 0),
    (5, {"kernel_shape": 8, "strides": 4, "ceil_mode": 1}, 1, 0),
    # The last window begins in the padding.
    (4, {"kernel_shape": 2, "strides": 3, "pads": (1, 2), "ceil_mode": 1}, 3, 1),
    (5, {"kernel_shape": 6}, 0, 0),
    (7, {"kernel_shape": 3, "auto_pad": "VALID", "strides": 2}, 3, 0),
    (6, {"kernel_shape": 3, "auto_pad": "VALID", "strides": 2, "ceil_mode": 1}, 2, 0),
    (5, {"kernel_shape": 4, "auto_pad": "SAME_UPPER"}, 5, 1),
    (5, {"kernel_shape": 4, "auto_pad": "SAME_LOWER"}, 5, 2),
    (5, {"kernel_shape": 3, "auto_pad": "SAME_LOWER"}, 5, 1),
    (7, {"kernel_shape": 3, "auto_pad": "SAME_UPPER", "dilations": 2}, 7, 2),
    (6, {"kernel_shape": 2, "auto_pad": "SAME_UPPER", "strides": 3, "ceil_mode": 1}, 2, 0),
    (0, {"kernel_shape": 2, "auto_pad": "SAME_UPPER"}, 0, 0),
]


@pytest.mark.parametrize(("length", "attrs", "size", "begin"), BY_HAND)
def test_sizes_by_hand(length: int, attrs: dict[str, Any], size: int, begin: int) -> None:
    axis = along(length, **attrs)
    assert axis.size == size
    assert axis.begin == begin or not size


def test_pads_list_all_beginnings_then_all_ends() -> None:
    windows = windows_of((1, 1, 5, 6), kernel_shape=(2, 2), pads=(1, 2, 3, 4))
    assert [axis.begin for axis in windows.axes] == [1, 2]
    assert windows.shape == (1, 1, 8, 11)


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, Any]:
    attrs: dict[str, Any] = {"kernel_shape": (draw(st.integers(1, 5)),)}
    for name, top in [("strides", 4), ("dilations", 3)]:
        if draw(st.booleans()):
            attrs[name] = (draw(st.integers(1, top)),)
    if draw(st.booleans()):
        attrs["ceil_mode"] = draw(st.integers(0, 1))
    if draw(st.booleans()):
        attrs["auto_pad"] = draw(st.sampled_from(AUTO_PADS))
    if attrs.get("auto_pad", "NOTSET") == "NOTSET":
        attrs["pads"] = draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    return attrs


def inferred(version: int, length: int, attrs: dict[str, Any]) -> int:
    """The output size that ONNX's own shape inference declares."""
    node = helper.make_node("LpPool", ["x"], ["y"], **attrs)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, length])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "one", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    (declared,) = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output
    return declared.type.tensor_type.shape.dim[2].dim_value


@given(st.sampled_from([2, 11, 18, 22]), st.integers(0, 9), attributes())
@example(18, 6, {"kernel_shape": (2,), "strides": (3,), "pads": (0, 1), "ceil_mode": 1})
@examples(300)
def test_sizes_equal_shape_inference_wherever_the_text_agrees_with_it(version, length, attrs):
    if version < 18:
        attrs = {k: v for k, v in attrs.items() if k not in ("dilations", "ceil_mode")}
    try:
        axis = along(length, **attrs)
    except InvalidNode:
        return  # Shape inference declares negative sizes, or what rounding towards 0 makes of them.
    ceil, words = attrs.get("ceil_mode"), attrs.get("auto_pad", "NOTSET")
    if not axis.size:
        return  # It rounds a negative quotient towards 0: one window where strides are above 1.
    if ceil and words == "VALID":
        return  # The text's formula of VALID has no ceil_mode; shape inference rounds up.
    if ceil and words.startswith("SAME") and version == 18:
        return  # The text's size is ceil(D / stride); shape inference adds one at times.
    if ceil and version == 22 and (axis.size - 1) * axis.stride >= length + axis.begin:
        return  # It drops a last window that starts in the padding, which the text counts.
    assert inferred(version, length, attrs) == axis.size


@given(st.integers(0, 40), attributes())
def test_sizes_follow_the_formulas_of_the_text(length: int, attrs: dict[str, Any]) -> None:
    width = (attrs["kernel_shape"][0] - 1) * attrs.get("dilations", (1,))[0] + 1
    (stride,) = attrs.get("strides", (1,))
    words = attrs.get("auto_pad", "NOTSET")
    if words == "NOTSET":
        up = math.ceil if attrs.get("ceil_mode") else math.floor
        size = up(Fraction(length + sum(attrs["pads"]) - width, stride) + 1)
    else:
        size = math.ceil(Fraction(length - width + 1 if words == "VALID" else length, stride))
    if size < 0:
        assert f"output size {size}; " in refusal((1, 1, length), **attrs)
    else:
        assert along(length, **attrs).size == size


def test_lists_need_a_value_or_two_for_each_spatial_axis(wording: Wording) -> None:
    for name in ("kernel_shape", "strides", "dilations"):
        for values in [(), (1,), (1, 1, 1)]:
            assert refusal((1, 1, 5, 5), **{name: values}) == (wording)
        for value in (0, -1, -HUGE):
            assert refusal((1, 1, 5, 5), **{name: (2, value)}) == wording
    for pads in [(), (1,), (1, 1), (0, 0, 0, 0, 0)]:
        assert refusal((1, 1, 5, 5), pads=pads) == (wording)
    for rank in range(3):
        with pytest.raises(InvalidNode) as raised:
            windows_of((1,) * rank, kernel_shape=())
        assert raised.value == wording


@pytest.mark.parametrize(
    "attrs",
    [
        {"pads": (0, -1)},
        {"ceil_mode": -1},
        {"ceil_mode": 2},
        *({"auto_pad": word} for word in ("", "SAME", "same_upper", "NOTSET ")),
        *({"auto_pad": word, "pads": (1, 1)} for word in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    ],
)
def test_what_is_forbidden_is_named_with_what_is_allowed(
    attrs: dict[str, Any], wording: Wording
) -> None:
    assert refusal(**attrs) == wording
    assert along(5, kernel_shape=2, auto_pad="NOTSET", pads=(1, 1)).begin == 1


def test_an_output_size_is_not_negative(wording: Wording) -> None:
    assert refusal((1, 1, 9, 5), kernel_shape=(2, 4), dilations=(1, 3), pads=(0, 2, 0, 1)) == (
        wording
    )
    assert "output size -1;" in refusal(kernel_shape=(7,), auto_pad="VALID")
    wide = {"kernel_shape": (HUGE,), "dilations": (HUGE,)}
    assert refusal(**wide) == wording
