"""Mutants of windows are what they say, each shown on one small input of LpPool."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine.mutants import pooling, window_plans, window_sums, windows
from opcheck.engine.mutants.elements import WIDTHS
from opcheck.engine.node import Node
from opcheck.model import OpVersion
from tests.engine.mutants.pooled import BITS, IMAGE, INF, NAN, SMALL, Shown, by_name

LARGEST = 3.4028234663852886e38


def ceil(size: int, **attrs: Any) -> tuple[list[float], dict[str, Any]]:
    return BITS[:size], {"ceil_mode": 1, **attrs}


def same(size: int, side: str, **attrs: Any) -> tuple[list[float], dict[str, Any]]:
    return BITS[:size], {"auto_pad": f"SAME_{side}", **attrs}


def valid(size: int, **attrs: Any) -> tuple[list[float], dict[str, Any]]:
    return BITS[:size], {"auto_pad": "VALID", **attrs}


def vector(size: int, **attrs: Any) -> tuple[list[float], dict[str, Any]]:
    return BITS[:size], attrs


def image(**attrs: Any) -> tuple[list[list[int]], dict[str, Any]]:
    return IMAGE, attrs


def padded(*pads: int) -> tuple[list[list[int]], dict[str, Any]]:
    """2×2 elements under a kernel as large."""
    return SMALL, {"kernel_shape": (2, 2), "pads": pads}


#: With a kernel of 2 and one element of padding before it.
BEHIND_PADDING: dict[str, Any] = {"kernel_shape": (2,), "pads": (1, 0)}

#: The third axis of three with a stride of 2.
EVERY_OTHER: tuple[Any, dict[str, Any]] = (
    [[[1, 2, 4]]],
    {"kernel_shape": (1, 1, 1), "strides": (1, 1, 2)},
)

CEIL_MODE = [
    Shown(
        "ceil_mode_with_same",
        *same(6, "UPPER", kernel_shape=(2,), strides=(3,), ceil_mode=1),
        [3, 24, 0],
    ),
    Shown("hanging_windows_rescaled", *ceil(4, kernel_shape=(3,), strides=(2,)), [7, 18]),
    Shown("hanging_windows_moved_and_rescaled", *ceil(6, kernel_shape=(4,), strides=(5,)), [7, 64]),
    Shown("hanging_windows_pushed_back", *ceil(4, kernel_shape=(3,), strides=(2,)), [7, 14]),
    Shown(
        "ceil_mode_without_dilations",
        *ceil(5, kernel_shape=(2,), strides=(2,), dilations=(2,)),
        [5, 20, 16],
    ),
    Shown("ceil_mode_without_pads", *ceil(4, kernel_shape=(2,), strides=(2,), pads=(1, 1)), [1, 6]),
    Shown(
        "ceil_mode_of_the_last_axis",
        [[1, 2, 4], [8, 16, 32], [64, 128, 256]],
        {"ceil_mode": 1, "kernel_shape": (2, 2), "strides": (2, 2)},
        [[27, 36]],
    ),
    Shown("ceil_mode_adds_one", *ceil(4, kernel_shape=(2,), strides=(2,)), [3, 12, 0]),
    Shown(
        "ceil_mode_stated_is_1", *vector(4, kernel_shape=(3,), strides=(2,), ceil_mode=0), [7, 12]
    ),
    Shown("ceil_mode_ignored", *ceil(4, kernel_shape=(3,), strides=(2,)), [7]),
    Shown("always_rounded_up", *vector(4, kernel_shape=(3,), strides=(2,)), [7, 12]),
]

AUTO_PAD = [
    Shown("same_negative_padding", *same(9, "UPPER", kernel_shape=(2,), strides=(5,)), [6, 192]),
    Shown(
        "same_undilated_rest_zero",
        *same(7, "UPPER", kernel_shape=(3,), dilations=(2,)),
        [10, 21, 42, 84, 40, 0, 0],
    ),
    Shown(
        "same_undilated_size",
        *same(7, "UPPER", kernel_shape=(3,), dilations=(2,)),
        [10, 21, 42, 84, 40],
    ),
    Shown(
        "same_undilated_beginning",
        *same(7, "UPPER", kernel_shape=(3,), dilations=(2,)),
        [10, 21, 42, 84, 40, 80, 32],
    ),
    Shown("same_upper_is_lower", *same(3, "UPPER", kernel_shape=(2,)), [1, 3, 6]),
    Shown("same_lower_is_upper", *same(3, "LOWER", kernel_shape=(2,)), [3, 6, 4]),
    Shown("same_exchanged", *same(3, "UPPER", kernel_shape=(2,)), [1, 3, 6]),
    Shown("same_exchanged", *same(3, "LOWER", kernel_shape=(2,)), [3, 6, 4]),
    Shown("same_symmetric", *same(3, "UPPER", kernel_shape=(2,)), [1, 3, 6, 4]),
    Shown("same_at_one_side", *same(3, "UPPER", kernel_shape=(3,)), [7, 6, 4]),
    Shown("same_at_one_side", *same(3, "LOWER", kernel_shape=(3,)), [1, 3, 7]),
    Shown("same_at_the_end", *same(3, "LOWER", kernel_shape=(3,)), [7, 6, 4]),
    Shown(
        "same_padding_for_stride_1", *same(6, "UPPER", kernel_shape=(3,), strides=(2,)), [3, 14, 56]
    ),
    Shown("same_rounded_down", *same(5, "UPPER", kernel_shape=(2,), strides=(2,)), [3, 12]),
    Shown(
        "same_size_of_the_input",
        *same(6, "UPPER", kernel_shape=(3,), strides=(2,)),
        [0, 3, 14, 56, 32, 0],
    ),
    Shown("same_ignored", *same(3, "UPPER", kernel_shape=(2,)), [3, 6]),
    Shown(
        "valid_undilated_rest_zero",
        *valid(6, kernel_shape=(2,), dilations=(3,), strides=(2,)),
        [9, 36, 0],
    ),
    Shown("valid_rounded_up", *valid(4, kernel_shape=(3,), strides=(2,)), [7, 12]),
    Shown("valid_is_same", *valid(3, kernel_shape=(2,)), [3, 6, 4]),
]

GEOMETRY = [
    Shown(
        "dilations_reversed",
        *image(kernel_shape=(2, 2), dilations=(2, 1)),
        [[85, 170], [1360, 2720]],
    ),
    Shown("dilations_first_for_all", *image(kernel_shape=(2, 2), dilations=(2, 1)), [[1285, 2570]]),
    Shown(
        "dilation_of_the_third_axis",
        [[[1, 2, 4]]],
        {"kernel_shape": (1, 1, 2), "dilations": (1, 1, 2)},
        [[[3]]],
    ),
    Shown(
        "dilations_entry_2_as_default",
        [[[1, 2, 4]]],
        {"kernel_shape": (1, 1, 2), "dilations": (1, 1, 2)},
        [[[3, 6]]],
    ),
    Shown(
        "dilation_ignored_in_the_size", *vector(4, kernel_shape=(2,), dilations=(2,)), [5, 10, 4]
    ),
    Shown("dilation_ignored_in_the_window", *vector(4, kernel_shape=(2,), dilations=(2,)), [3, 6]),
    Shown("dilations_ignored", *vector(4, kernel_shape=(2,), dilations=(2,)), [3, 6, 12]),
    Shown("dilations_one_larger", *vector(4, kernel_shape=(2,), dilations=(2,)), [9]),
    Shown("strides_default_to_the_kernel", *vector(4, kernel_shape=(2,)), [3, 12]),
    Shown("strides_at_most_the_kernel", *vector(3, kernel_shape=(1,), strides=(2,)), [1, 2, 4]),
    Shown("strides_are_dilations_too", *vector(4, kernel_shape=(2,), strides=(2,)), [5]),
    Shown("stride_of_the_third_axis_of_a_cube", *EVERY_OTHER, [[[1, 2]]]),
    Shown("stride_of_the_third_axis", *EVERY_OTHER, [[[1, 2]]]),
    Shown(
        "stride_of_the_fourth_axis",
        [[[[1, 2, 4]]]],
        {"kernel_shape": (1, 1, 1, 1), "strides": (1, 1, 1, 2)},
        [[[[1, 2]]]],
    ),
    Shown(
        "beginning_rounded_to_the_dilation",
        *vector(4, kernel_shape=(2,), strides=(2,), dilations=(2,), pads=(1, 0)),
        [5, 4],
    ),
    Shown(
        "beginning_rounded_to_the_stride",
        *vector(4, kernel_shape=(2,), strides=(2,), pads=(1, 0)),
        [3, 12],
    ),
    Shown("strides_reversed", *image(kernel_shape=(1, 1), strides=(2, 3)), [[1, 4]]),
    Shown(
        "strides_first_for_all", *image(kernel_shape=(1, 1), strides=(2, 3)), [[1, 4], [256, 1024]]
    ),
    Shown("strides_ignored", *vector(4, kernel_shape=(2,), strides=(2,)), [3, 6, 12]),
    Shown("strides_are_the_kernel", *vector(4, kernel_shape=(2,), strides=(1,)), [3, 12]),
    Shown("kernel_of_the_third_axis", [[[1, 2]]], {"kernel_shape": (1, 1, 2)}, [[[1]]]),
    Shown("third_axis_not_pooled", [[[1, 2]]], {"kernel_shape": (1, 1, 2)}, [[[1, 2]]]),
    Shown("kernel_shape_reversed", *image(kernel_shape=(1, 3)), [[273, 546, 1092, 2184]]),
    Shown("kernel_shape_first_for_all", *image(kernel_shape=(1, 3)), IMAGE),
    Shown("width_before_height", *image(kernel_shape=(1, 2), strides=(1, 2)), [[17, 34, 68, 136]]),
    Shown("last_window_missing", *vector(3, kernel_shape=(2,)), [3]),
    Shown("windows_one_late", *vector(3, kernel_shape=(2,)), [6, 4]),
]

PADDING = [
    Shown("pads_ignored_in_constants", [1, 2], BEHIND_PADDING, [3], constant=True),
    Shown("pads_ignored_beside_notset", [1, 2], {**BEHIND_PADDING, "auto_pad": "NOTSET"}, [3]),
    Shown("pads_interleaved", *padded(0, 1, 0, 0), [[15], [12]]),
    Shown("pads_interleaved_from_the_last_axis", *padded(0, 1, 0, 0), [[15, 10]]),
    Shown("pads_from_the_last_axis", *padded(0, 1, 0, 0), [[3], [15]]),
    Shown("pads_reversed", *padded(0, 1, 0, 0), [[15], [12]]),
    Shown("pads_ends_first", *padded(0, 1, 0, 0), [[15, 10]]),
    Shown("pads_beginnings_for_both", *padded(0, 1, 0, 0), [[5, 15, 10]]),
    Shown("pads_ends_for_both", *padded(0, 1, 0, 0), [[15]]),
    Shown("pads_ends_ignored", *padded(0, 1, 0, 1), [[5, 15]]),
    Shown("pads_beginnings_ignored", *padded(0, 1, 0, 1), [[15, 10]]),
    Shown(
        "begin_of_the_third_axis",
        [[[1, 2]]],
        {"kernel_shape": (1, 1, 2), "pads": (0, 0, 1, 0, 0, 0)},
        [[[3, 2]]],
    ),
    Shown("pads_in_the_size_only", *padded(0, 1, 0, 0), [[15, 10]]),
    Shown("pads_ignored", *padded(0, 1, 0, 1), [[15]]),
    Shown("pads_default_to_half_the_kernel", *vector(3, kernel_shape=(2,)), [1, 3, 6, 4]),
    Shown("empty_windows_are_nan", *vector(1, kernel_shape=(1,), pads=(1, 0)), [NAN, 1]),
    Shown("padding_times_infinity", [INF, 1], BEHIND_PADDING, [NAN, INF]),
    Shown("padding_is_one", [2, 4], BEHIND_PADDING, [3, 6]),
    Shown("padding_is_minus_infinity", [2, 4], BEHIND_PADDING, [INF, 6]),
    Shown("padding_is_the_lowest_number", [2, 4], BEHIND_PADDING, [LARGEST, 6]),
    Shown("padding_repeats_the_edge", [2, 8], BEHIND_PADDING, [4, 10]),
    Shown("padding_wraps_around", [2, 8], BEHIND_PADDING, [10, 10]),
    Shown("padded_windows_rescaled", [3, 4], {**BEHIND_PADDING, "p": 2}, [18**0.5, 5]),
    Shown("window_mean_without_padding", [3, 5], BEHIND_PADDING, [3, 4]),
]


MEMORY = [
    Shown(
        "dilated_windows_read_into_the_next_row",
        [[1, 2, 4], [8, 16, 32]],
        {"kernel_shape": (1, 2), "dilations": (1, 2), "pads": (0, 1, 0, 1)},
        [[2, 5, 10], [16, 40, 16]],
    ),
    Shown(
        "reads_into_the_next_row",
        [[1, 2], [8, 16]],
        {"kernel_shape": (1, 2), "pads": (0, 0, 0, 1)},
        [[3, 10], [24, 16]],
    ),
]


REFUSED = [
    Shown("refuses_ceil_mode_beside_same", *same(9, "UPPER", kernel_shape=(2,), ceil_mode=1), None),
    Shown(
        "refuses_negative_same_padding", *same(9, "LOWER", kernel_shape=(2,), strides=(5,)), None
    ),
    Shown("refuses_pads_of_the_kernel", *vector(9, kernel_shape=(2,), pads=(0, 2)), None),
    Shown("refuses_asymmetric_pads", *vector(9, kernel_shape=(2,), pads=(1, 0)), None),
    Shown("refuses_kernels_of_1", *image(kernel_shape=(1, 2)), None),
    Shown("refuses_one_spatial_axis", *vector(9, kernel_shape=(2,)), None),
    Shown("refuses_four_spatial_axes", [[[[1]]]], {"kernel_shape": (1,) * 4}, None),
]

ACCEPTED = [
    Shown("kernel_defaults_to_the_extent", [1, 2, 4], {}, [7]),
    Shown("negative_pads_cut", [1, 2, 4], {"kernel_shape": (2,), "pads": (1, -1)}, [1, 3]),
    Shown("negative_pads_cut", [1, 2, 4], {"kernel_shape": (2,), "pads": (-1, 0)}, [6]),
    Shown("nothing_below_dilation_1", [1, 2], {"kernel_shape": (2,), "dilations": (0,)}, [0]),
    Shown("size_cut_towards_zero", [1, 2], {"kernel_shape": (5,), "strides": (2,)}, []),
    Shown("negative_size_is_empty", [1, 2], {"kernel_shape": (5,)}, []),
    Shown("dilated_kernel_not_compared", [1, 2], {"kernel_shape": (2,), "dilations": (5,)}, []),
]

SUMS = [
    *(
        Shown(
            f"window_tail_of_{width}", [1.0] * (width + 1), {"kernel_shape": (width + 1,)}, [width]
        )
        for width in WIDTHS
    ),
    Shown("window_tail_of_4", *image(kernel_shape=(3, 2)), [[51, 102, 204]]),
    Shown(
        "last_element_of_a_window", *image(kernel_shape=(2, 2)), [[19, 38, 76], [304, 608, 1216]]
    ),
    Shown("window_mean", [3, 5], {"kernel_shape": (2,)}, [4]),
    Shown("window_terms_in_float16", [300, 1], {"kernel_shape": (2,), "p": 2}, [INF]),
    Shown("window_sums_in_float16", [2048, 1], {"kernel_shape": (2,)}, [2048]),
    Shown("window_sums_in_bfloat16", [256, 1], {"kernel_shape": (2,)}, [256]),
]

EVERY = [*CEIL_MODE, *AUTO_PAD, *GEOMETRY, *PADDING, *MEMORY, *SUMS, *REFUSED, *ACCEPTED]


@pytest.mark.parametrize("shown", EVERY, ids=str)
def test_a_mutant_is_what_it_says(shown: Shown) -> None:
    assert shown.holds(), (shown.made(), shown.right())


def test_every_mutant_of_windows_is_shown() -> None:
    apart = {"tail_channels_of_the_first_batch", "channels_added_up", "rank_2_is_unbatched"}
    every = (
        *windows.READINGS,
        *windows.ACCEPTED,
        *windows.REFUSALS,
        *window_plans.FAULTS,
        *window_sums.FAULTS,
        *pooling.MUTANTS,
    )
    assert {one.name for one in every} - apart <= {shown.name for shown in EVERY}


@pytest.mark.parametrize("shown", ACCEPTED, ids=str)
def test_what_is_invalid_in_another_way_is_refused_all_the_same(shown: Shown) -> None:
    assert shown.right() is None
    assert Shown(shown.name, shown.x, {**shown.attrs, "p": 0}, None).made() is None


@pytest.mark.parametrize("shown", REFUSED, ids=str)
def test_nothing_else_is_refused(shown: Shown) -> None:
    assert Shown(shown.name, IMAGE, {"kernel_shape": (2, 2)}, None).made() is not None


def test_nothing_follows_the_last_row_or_a_channel_of_one_row() -> None:
    shown = Shown("reads_into_the_next_row", *vector(2, kernel_shape=(2,), pads=(0, 1)), None)
    assert shown.made() == shown.right() == [3, 2]


def made(name: str, x: Any, kernel: int) -> Any:
    x = np.array(x, np.float32)
    node = Node(OpVersion("", "LpPool", 22), (x,), {"kernel_shape": (kernel,)})
    [out] = by_name(name).made_on(node)
    return out.tolist()


def test_channels_are_mixed() -> None:
    mixed = [[[0], [1], [2], [3], [4]], [[5], [6], [7], [8], [4]]]
    assert made("tail_channels_of_the_first_batch", np.arange(10).reshape(2, 5, 1), 1) == mixed
    assert made("channels_added_up", np.ones((1, 3, 1)), 1) == [[[3], [3], [3]]]


def test_an_input_of_two_axes_has_no_batches() -> None:
    assert made("rank_2_is_unbatched", [[3.0, 4], [8, 6]], 2) == [[5], [10]]


def test_windows_that_begin_in_the_padding_may_be_left_out() -> None:
    """MaxPool leaves them out; without the padding, which this mutant has not, there is one more.

    The first window is of 1 and the element behind its row, which is 8 and should be padding.
    """
    x = np.array([[[1, 2], [8, 16]]], np.float32)
    attrs = {
        "kernel_shape": (2,),
        "dilations": (2,),
        "strides": (2,),
        "pads": (0, 2),
        "ceil_mode": 1,
    }
    node = Node(OpVersion("", "MaxPool", 22), (x,), attrs)
    assert [out.tolist() for out in node.right[:1]] == [[[[1], [8]]]]
    mutant = by_name("dilated_windows_read_into_the_next_row")
    assert [out.tolist() for out in mutant.made_on(node)[:1]] == [[[[8], [8]]]]
