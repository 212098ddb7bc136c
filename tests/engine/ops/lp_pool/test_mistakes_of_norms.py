"""What is wrongly read about norms, or refused or accepted, is just that, on one small input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opcheck.engine.mistakes import Node
from opcheck.engine.ops.lp_pool.mistakes import MISTAKES, beyond, powers, precision, refusals
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests.engine.ops.lp_pool.wrong import BITS, BY_NAME, IMAGE, INF, NAN, Shown


def window(*x: float, p: float | None = 1) -> tuple[list[float], dict[str, Any]]:
    """All elements in one window."""
    return [*x], {"kernel_shape": (len(x),), "p": p}


POWERS = [
    Shown("p_defaults_to_1", *window(3, 4, p=None), [7]),
    Shown("p_defaults_to_3", *window(3, 4, 5, p=None), [6]),
    Shown("large_p_is_infinity", *window(1, 1, p=20), [1]),
    Shown("p_cut", *window(3, 4, p=2.75), [5], since=1),
    Shown("p_rounded", *window(3, 4, 5, p=2.75), [6], since=1),
    # Of p = 6, the sixth roots of fourth powers.
    Shown("powers_by_squaring_alone", [8], {"kernel_shape": (1,), "p": 6}, [4]),
    Shown("p_ignored", *window(3, 4, p=3), [5]),
    Shown("p_is_1", *window(3, 4, p=2), [7]),
    Shown("infinity_beats_nan", *window(INF, NAN), [INF]),
    Shown("infinity_gives_nan", *window(INF, 1), [NAN]),
    Shown("nan_dropped_and_rescaled", *window(NAN, 1), [2]),
    Shown("signs_kept_for_p_1", *window(-1, 4), [3]),
    Shown("absolute_value_forgotten", *window(-3, -4, -5, p=3), [NAN]),
    Shown("signs_kept", *window(-3, -4, -5, p=3), [-6]),
    Shown("negative_values_are_zero", *window(-1, 4), [4]),
    Shown("tiny_values_are_zero", *window(2.0**-24), [0]),
    *(
        Shown(f"window_tail_of_{width}", *window(*[1.0] * (width + 1)), [width])
        for width in powers.WIDTHS
    ),
    Shown("last_element_of_a_window", *window(1, 2, 4), [3]),
    Shown("windows_of_one_copied", [-3, 4], {"kernel_shape": (1,)}, [-3, 4]),
    Shown("zeros_give_nan", *window(0, 0), [NAN]),
    Shown("epsilon_of_1e_5", *window(0), [1e-5]),
    Shown("epsilon_of_1e_12", *window(0, p=2), [1e-6]),
    Shown("epsilon_of_1e_30", *window(0, p=3), [1e-10]),
    Shown("at_least_1e_5", *window(0), [1e-5]),
    Shown("square_root_always", *window(2, p=4), [4]),
    Shown("integer_division", *window(3, 4, p=2), [1]),
    Shown("root_forgotten", *window(3, 4, p=2), [25]),
    Shown("mean", *window(3, 5), [4]),
    Shown("maximum", *window(3, 4, p=2), [4]),
]

PRECISION = [
    Shown("inverse_of_p_of_6_digits", *window(8, p=3), [512**0.333333]),
    # A third is 1365.33… units of 2^-12, which are the last of its eleven bits.
    Shown("inverse_of_p_in_float16", *window(8, p=3), [512 ** (1365 / 4096)]),
    Shown("values_in_tf32", *window(1 + 3 * 2.0**-12), [1 + 2.0**-10]),
    Shown("root_of_12_bits", *window(1 + 2.0**-12, p=2), [1]),
    Shown("root_of_16_bits", *window(1 + 2.0**-16, p=2), [1]),
    Shown("powers_of_12_bits", *window(1 + 3 * 2.0**-13, p=2), [(1 + 2.0**-11) ** 0.5]),
    Shown("powers_of_16_bits", *window(1 + 3 * 2.0**-17, p=2), [(1 + 2.0**-15) ** 0.5]),
    Shown("powers_in_float16", *window(300, p=2), [INF]),
    Shown("sums_in_float16", *window(2048, 1), [2048]),
    Shown("sums_in_bfloat16", *window(256, 1), [256]),
    Shown("powers_not_scaled", *window(2.0**70, p=2), [INF]),
    Shown("powers_not_scaled", *window(1000, p=13), [INF], dtype="float16"),
    Shown("overflow_saturates", *window(60000, 60000), [65504], dtype="float16"),
    Shown("root_4_ulp_too_large", *window(3, 4, p=2), [5 + 2 * 2.0**-20]),
]

#: What is accepted and what comes of it.
ACCEPTED = [
    Shown("kernel_defaults_to_the_extent", [1, 2, 4], {}, [7]),
    Shown("kernel_shape_of_any_length", [1, 2, 4], {"kernel_shape": (2, 5)}, [3, 6]),
    Shown("kernel_shape_of_any_length", [[1, 2], [4, 8]], {"kernel_shape": (2,)}, [[5, 10]]),
    Shown("strides_of_any_length", [1, 2], {"kernel_shape": (1,), "strides": (1, 2)}, [1, 2]),
    Shown("dilations_of_any_length", [1, 2], {"kernel_shape": (1,), "dilations": ()}, [1, 2]),
    Shown("pads_of_any_length", [1, 2], {"kernel_shape": (2,), "pads": (1,)}, [1, 3]),
    Shown("half_the_pads_for_both_ends", [1, 2], {"kernel_shape": (2,), "pads": (1,)}, [1, 3, 2]),
    Shown("kernel_shape_clamped", [1, 2], {"kernel_shape": (-1,)}, [1, 2]),
    Shown("strides_clamped", [1, 2], {"kernel_shape": (1,), "strides": (0,)}, [1, 2]),
    Shown("dilations_clamped", [1, 2], {"kernel_shape": (2,), "dilations": (0,)}, [3]),
    Shown("pads_clamped", [1, 2, 4], {"kernel_shape": (2,), "pads": (1, -1)}, [1, 3, 6]),
    Shown("negative_pads_cut", [1, 2, 4], {"kernel_shape": (2,), "pads": (1, -1)}, [1, 3]),
    Shown("negative_pads_cut", [1, 2, 4], {"kernel_shape": (2,), "pads": (-1, 0)}, [6]),
    Shown("nothing_below_dilation_1", [1, 2], {"kernel_shape": (2,), "dilations": (0,)}, [0, 0]),
    Shown("auto_pad_in_any_case", [1, 2], {"kernel_shape": (2,), "auto_pad": "same_upper"}, [3, 2]),
    Shown("unknown_auto_pad_is_notset", [1, 2], {"kernel_shape": (2,), "auto_pad": "FULL"}, [3]),
    Shown("size_cut_towards_zero", [1, 2], {"kernel_shape": (5,), "strides": (2,)}, []),
    Shown("negative_size_is_empty", [1, 2], {"kernel_shape": (5,)}, []),
    Shown("dilated_kernel_not_compared", [1, 2], {"kernel_shape": (2,), "dilations": (5,)}, []),
    Shown(
        "later_attributes_accepted",
        BITS,
        {"kernel_shape": (2,), "dilations": (8,)},
        [257],
        since=11,
    ),
    Shown("later_type_accepted", *window(3, 4), [7], since=18, dtype="bfloat16"),
    Shown("integers_accepted", *window(1, 2, p=2), [2], dtype="int32"),
]

#: What is refused.
REFUSED = [
    Shown("refuses_four_axes", [[[[1]]]], {"kernel_shape": (1,) * 4}, None),
    Shown(
        "refuses_ceil_mode_beside_auto_pad",
        BITS,
        {"kernel_shape": (2,), "ceil_mode": 1, "auto_pad": "SAME_UPPER"},
        None,
    ),
    Shown(
        "refuses_negative_same_padding",
        BITS,
        {"kernel_shape": (2,), "strides": (5,), "auto_pad": "SAME_LOWER"},
        None,
    ),
    Shown("refuses_pads_of_the_kernel", BITS, {"kernel_shape": (2,), "pads": (0, 2)}, None),
    Shown("refuses_asymmetric_pads", BITS, {"kernel_shape": (2,), "pads": (1, 0)}, None),
    Shown("refuses_ceil_mode", BITS, {"kernel_shape": (2,), "ceil_mode": 1}, None),
    Shown("refuses_dilations", BITS, {"kernel_shape": (2,), "dilations": (2,)}, None),
    Shown("refuses_fractional_p", *window(3, 4, p=2.5), None, since=1),
    Shown("refuses_other_p", *window(3, 4, p=3), None),
    Shown("refuses_auto_pad", BITS, {"kernel_shape": (2,), "auto_pad": "VALID"}, None),
    Shown("refuses_kernels_of_1", IMAGE, {"kernel_shape": (1, 2)}, None),
    Shown("refuses_default_p", *window(3, 4, p=None), None),
    Shown("refuses_default_strides", BITS, {"kernel_shape": (2,), "pads": (0, 0)}, None),
    Shown("refuses_default_pads", BITS, {"kernel_shape": (2,), "strides": (1,)}, None),
    Shown("refuses_vectors", BITS, {"kernel_shape": (2,)}, None),
]

#: A plain image is refused by none but these.
NEVER_PLAIN = {"refuses_default_strides", "refuses_default_pads"}
#: They need another shape or more digits than an example has: each has its test.
APART = {
    "channels_added_up",
    "inverse_of_p_in_float32",
    "p_clamped",
    "p_in_64_bits",
    "rank_2_is_unbatched",
}


@pytest.mark.parametrize("shown", [*POWERS, *PRECISION, *ACCEPTED, *REFUSED], ids=str)
def test_a_mistake_is_what_it_says(shown: Shown) -> None:
    assert shown.holds(), (shown.made(), shown.right())


def test_every_mistake_is_shown() -> None:
    shown = {one.name for one in (*POWERS, *PRECISION, *ACCEPTED, *REFUSED)}
    modules = (powers, precision, refusals, beyond)
    assert shown | APART == {one.name for module in modules for one in module.MISTAKES}


@pytest.mark.parametrize("shown", REFUSED, ids=str)
def test_nothing_else_is_refused(shown: Shown) -> None:
    plain = Shown(shown.name, IMAGE, {"kernel_shape": (2, 2), "p": 2}, None)
    assert (plain.made() is None) is (shown.name in NEVER_PLAIN)
    assert shown.right() is not None


@pytest.mark.parametrize("shown", ACCEPTED, ids=str)
def test_what_is_invalid_in_another_way_is_refused_all_the_same(shown: Shown) -> None:
    assert shown.right() is None
    assert Shown(shown.name, shown.x, {**shown.attrs, "p": 0}, None).made() is None


def test_channels_added_up() -> None:
    node = Node(OpVersion("", "LpPool", 22), (np.ones((2, 3, 1)),), {"kernel_shape": (1,)})
    [out] = BY_NAME["channels_added_up"].answer(node)
    assert out.tolist() == np.full((2, 3, 1), 3).tolist()


def test_p_in_64_bits() -> None:
    x, attrs = window(1, 2, p=3.7)
    shown = Shown("p_in_64_bits", x, attrs, None, since=1, dtype="float64")
    assert shown.made() == pytest.approx([(1 + 2**3.7) ** (1 / 3.7)], rel=1e-15)
    assert shown.right() != pytest.approx(shown.made(), rel=1e-10)


def test_the_inverse_of_p_in_float32() -> None:
    shown = Shown("inverse_of_p_in_float32", *window(8, p=3), None, dtype="float64")
    assert shown.made() == pytest.approx([512 ** float(np.float32(1 / 3))], rel=1e-15)
    assert shown.right() == [8]


@pytest.mark.parametrize("p", [0, -1])
def test_a_p_that_has_no_norm_taken_for_1(p: int) -> None:
    x, attrs = window(3, 4, p=p)
    shown = Shown("p_clamped", x, attrs, [7])
    assert shown.holds()
    assert shown.right() is None
    assert Shown("p_clamped", x, {**attrs, "strides": (0,)}, None).made() is None


def test_an_input_of_two_axes_without_batches() -> None:
    node = Node(
        OpVersion("", "LpPool", 22), (np.array([[3.0, 4], [8, 6]]),), {"kernel_shape": (2,)}
    )
    with pytest.raises(InvalidNode):
        assert node.right
    [out] = BY_NAME["rank_2_is_unbatched"].answer(node)
    assert out.tolist() == [[5], [10]]


def test_mistakes_are_told_apart_by_their_names_and_in_words() -> None:
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
    assert len({mistake.text for mistake in MISTAKES}) == len(MISTAKES)
