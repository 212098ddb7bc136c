"""Mutants of LpPool's own, and those of its schema, are what they say on one small input."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opcheck.engine.ops.lp_pool import LP_POOL
from tests.engine.mutants.pooled import BITS, INF, NAN, Shown


def window(*x: float, p: float | None = 1) -> tuple[list[float], dict[str, Any]]:
    """All elements in one window."""
    return [*x], {"kernel_shape": (len(x),), "p": p}


POWERS = [
    Shown("default_p_1", *window(3, 4, p=None), [7]),
    Shown("default_p_3", *window(3, 4, 5, p=None), [6]),
    Shown("large_p_is_infinity", *window(1, 1, p=20), [1]),
    Shown("p_cut_off", *window(3, 4, p=2.75), [5], since=1),
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
    Shown("windows_of_one_copied", [-3, 4], {"kernel_shape": (1,)}, [-3, 4]),
    Shown("zeros_are_nan", *window(0, 0), [NAN]),
    Shown("epsilon_of_1e_5", *window(0), [1e-5]),
    Shown("epsilon_of_1e_12", *window(0, p=2), [1e-6]),
    Shown("epsilon_of_1e_30", *window(0, p=3), [1e-10]),
    Shown("at_least_1e_5", *window(0), [1e-5]),
    Shown("square_root_always", *window(2, p=4), [4]),
    Shown("integer_division", *window(3, 4, p=2), [1]),
    Shown("root_forgotten", *window(3, 4, p=2), [25]),
    Shown("maximum", *window(3, 4, p=2), [4]),
]

PRECISION = [
    Shown("inverse_of_p_of_6_digits", *window(8, p=3), [512**0.333333]),
    Shown("inverse_of_p_in_float16", *window(8, p=3), [512 ** float(np.float16(1 / 3))]),
    Shown("pow_of_12_bits", *window(1 + 2.0**-12, p=2), [1]),
    Shown("pow_of_16_bits", *window(1 + 2.0**-16, p=2), [1]),
    Shown("input_in_tf32", *window(1 + 3 * 2.0**-12), [1 + 2.0**-10]),
    Shown("root_4_ulp_too_large", *window(3, 4, p=2), [5 + 2 * 2.0**-20]),
    Shown("overflow_saturates", *window(60000, 60000), [65504], dtype="float16"),
]

#: What is accepted and what comes of it.
ACCEPTED = [
    Shown("kernel_shape_of_any_length", [1, 2, 4], {"kernel_shape": (2, 5)}, [3, 6]),
    Shown("kernel_shape_of_any_length", [[1, 2], [4, 8]], {"kernel_shape": (2,)}, [[5, 10]]),
    Shown("strides_of_any_length", [1, 2], {"kernel_shape": (1,), "strides": (1, 2)}, [1, 2]),
    Shown("dilations_of_any_length", [1, 2], {"kernel_shape": (1,), "dilations": ()}, [1, 2]),
    Shown("pads_of_any_length", [1, 2], {"kernel_shape": (2,), "pads": (1,)}, [1, 3]),
    Shown("pads_repeated", [1, 2], {"kernel_shape": (2,), "pads": (1,)}, [1, 3, 2]),
    Shown("kernel_shape_clamped", [1, 2], {"kernel_shape": (-1,)}, [1, 2]),
    Shown("strides_clamped", [1, 2], {"kernel_shape": (1,), "strides": (0,)}, [1, 2]),
    Shown("dilations_clamped", [1, 2], {"kernel_shape": (2,), "dilations": (0,)}, [3]),
    Shown("pads_clamped", [1, 2, 4], {"kernel_shape": (2,), "pads": (1, -1)}, [1, 3, 6]),
    Shown("auto_pad_in_any_case", [1, 2], {"kernel_shape": (2,), "auto_pad": "same_upper"}, [3, 2]),
    Shown(
        "unknown_auto_pad_is_the_default", [1, 2], {"kernel_shape": (2,), "auto_pad": "FULL"}, [3]
    ),
    Shown(
        "later_attributes_accepted",
        BITS,
        {"kernel_shape": (2,), "dilations": (8,)},
        [257],
        since=11,
    ),
    Shown("later_types_accepted", *window(3, 4), [7], since=18, dtype="bfloat16"),
    Shown("integers_accepted", *window(1, 2, p=2), [2], dtype="int32"),
]

#: What is refused.
REFUSED = [
    Shown("refuses_ceil_mode", BITS, {"kernel_shape": (2,), "ceil_mode": 1}, None),
    Shown("refuses_dilations", BITS, {"kernel_shape": (2,), "dilations": (2,)}, None),
    Shown("refuses_fractions_of_p", *window(3, 4, p=2.5), None, since=1),
    Shown("refuses_p", *window(3, 4, p=3), None),
    Shown("refuses_auto_pad", BITS, {"kernel_shape": (2,), "auto_pad": "VALID"}, None),
    Shown("refuses_default_p", *window(3, 4, p=None), None),
    Shown("refuses_default_strides", BITS, {"kernel_shape": (2,), "pads": (0, 0)}, None),
    Shown("refuses_default_pads", BITS, {"kernel_shape": (2,), "strides": (1,)}, None),
]

#: What is refused where nothing is stated.
DEFAULTS = {"refuses_default_p", "refuses_default_strides", "refuses_default_pads"}
APART = {"p_in_64_bits", "inverse_of_p_in_float32"}


@pytest.mark.parametrize("shown", [*POWERS, *PRECISION, *ACCEPTED, *REFUSED], ids=str)
def test_a_mutant_is_what_it_says(shown: Shown) -> None:
    assert shown.holds(), (shown.made(), shown.right())


def test_every_mutant_of_its_own_is_shown() -> None:
    shown = {one.name for one in (*POWERS, *PRECISION, *ACCEPTED, *REFUSED)}
    assert {one.name for one in LP_POOL.mutants} - APART <= shown


@pytest.mark.parametrize("shown", REFUSED, ids=str)
def test_nothing_else_is_refused(shown: Shown) -> None:
    plain = replace(shown, x=BITS, attrs={"kernel_shape": (2,), "p": 2})
    assert (plain.made() is None) is (shown.name in DEFAULTS - {"refuses_default_p"})
    assert shown.right() is not None


@pytest.mark.parametrize("shown", ACCEPTED, ids=str)
def test_what_is_invalid_in_another_way_is_refused_all_the_same(shown: Shown) -> None:
    assert shown.right() is None
    assert replace(shown, attrs={**shown.attrs, "p": 0}).made() is None


@pytest.mark.parametrize("p", [0, -1])
def test_a_p_that_has_no_norm_is_taken_for_1(p: int) -> None:
    x, attrs = window(3, 4, p=p)
    assert Shown("invalid_p_is_0_or_1", x, attrs, [7]).holds()
    assert Shown("invalid_p_is_0_or_1", x, {**attrs, "strides": (0,)}, None).made() is None


def test_p_in_64_bits() -> None:
    x, attrs = window(1, 2, p=3.7)
    shown = Shown("p_in_64_bits", x, attrs, None, since=1, dtype="float64")
    assert shown.made() == pytest.approx([(1 + 2**3.7) ** (1 / 3.7)], rel=1e-15)
    assert shown.right() != pytest.approx(shown.made(), rel=1e-10)


def test_the_inverse_of_p_in_float32() -> None:
    shown = Shown("inverse_of_p_in_float32", *window(8, p=3), None, dtype="float64")
    assert shown.made() == pytest.approx([512 ** float(np.float32(1 / 3))], rel=1e-15)
    assert shown.right() == [8]
