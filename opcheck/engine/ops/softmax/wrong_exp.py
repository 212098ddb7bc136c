"""Softmax with a wrong or a poor exponential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from opcheck.engine.fewer_bits import rounded_to_bits
from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.softmax.steps import Matrix, Steps, wide

#: Below this e^x is 0 in every dtype; it keeps the arguments of the sine small.
_VANISHED = -1000.0


def _good_to(bits: int) -> Steps:
    """e^0 is 1, and elsewhere the relative error waves up and down, up to 2^-bits."""

    def exp(d: Matrix) -> Matrix:
        return np.exp(d) * (1 + 2.0**-bits * np.sin(37 * np.maximum(d, _VANISHED))).astype(d.dtype)

    return Steps(exp=exp)


def _schraudolph(d: Matrix) -> Matrix:
    """e^d from the bits of a float: a straight line between the powers of two."""
    t = np.maximum(d / np.log(2), _VANISHED)
    whole = np.floor(t)
    return np.where(np.isneginf(d), 0, np.ldexp(1 + t - whole, whole.astype(int))).astype(d.dtype)


def _through(dtype: Any) -> Steps:
    return Steps(exp=lambda d: np.exp(d).astype(dtype).astype(d.dtype))


def _clamped(low: float) -> Steps:
    return Steps(exp=lambda d: np.exp(np.maximum(d, d.dtype.type(low))))


def _reads(change: Callable[[Matrix], Matrix]) -> Steps:
    return Steps(wide=lambda x: change(wide(x)))


_FLUSHED = {"float16": "e^-50 is 0 in float16, and fewer than 10^14 of them change no sum"}

_ALLOWED = dict.fromkeys(
    ("bfloat16", "float16", "float32"),
    "2^-20 is 16 roundoffs of float32, as many as the error bound allows an element's exponential",
)

#: Mistakes about the elements that are read and their exponentials.
EXPONENTIALS: tuple[Mistake, ...] = (
    Mistake("base_2", "2^x was taken, not e^x", Steps(exp=np.exp2)),
    Mistake(
        "no_exponential",
        "the elements themselves were divided by their sum, without an exponential",
        Steps(shift=lambda x: np.zeros_like(x[:, :1]), exp=lambda d: d),
    ),
    Mistake("sign_lost", "the magnitudes of the elements were taken", _reads(np.abs)),
    Mistake(
        "sign_changed",
        "the signs were changed, and the smallest element got the largest share",
        _reads(np.negative),
    ),
    Mistake("whole_numbers", "the elements were truncated to whole numbers", _reads(np.trunc)),
    Mistake(
        "range_of_float16",
        "the elements were clamped to the range of float16",
        _reads(lambda x: np.where(np.isinf(x), x, np.clip(x, -65504, 65504))),
        {"float16": "all of its numbers lie in that range"},
    ),
    Mistake(
        "exp_of_schraudolph",
        "e^x was read from the bits of a float, a straight line between the powers of two",
        Steps(exp=_schraudolph),
    ),
    Mistake(
        "exp_by_its_power_of_4096",
        "(1 + x/4096)^4096 was taken for e^x",
        Steps(exp=lambda d: np.maximum(1 + d / 4096, 0) ** 4096),
    ),
    Mistake(
        "exp_in_float16",
        "the exponentials were rounded to float16",
        _through(np.float16),
    ),
    Mistake(
        "exp_in_bfloat16",
        "the exponentials were rounded to bfloat16",
        _through(ml_dtypes.bfloat16),
    ),
    *(
        Mistake(
            f"exp_good_to_{bits}_bits",
            f"a fast exponential was good to 2^-{bits} only",
            _good_to(bits),
            _ALLOWED if bits == 20 else {},
        )
        for bits in (11, 14, 16, 18, 20)
    ),
    Mistake(
        "exp_in_float32",
        "the exponentials were computed in float32",
        Steps(exp=lambda d: np.exp(d.astype(np.float32)).astype(d.dtype)),
        dict.fromkeys(("bfloat16", "float16", "float32"), "float32 is what is expected"),
    ),
    Mistake(
        "exponent_of_8_bits",
        "the distance from the maximum was rounded to bfloat16",
        Steps(exp=lambda d: np.exp(rounded_to_bits(d, 8))),
    ),
    Mistake(
        "exponent_of_11_bits",
        "the distance from the maximum was rounded to 11 bits, as in TF32",
        Steps(exp=lambda d: np.exp(rounded_to_bits(d, 11))),
    ),
    Mistake(
        "far_exponents_vanish",
        "e^x was taken for 0 below -8",
        Steps(exp=lambda d: np.where(d < -8, 0, np.exp(d)).astype(d.dtype)),
    ),
    Mistake("exponent_above_minus_10", "the exponent was clamped to -10", _clamped(-10)),
    Mistake("exponent_above_minus_20", "the exponent was clamped to -20", _clamped(-20)),
    Mistake("exponent_above_minus_50", "the exponent was clamped to -50", _clamped(-50), _FLUSHED),
    Mistake(
        "exponent_above_minus_87",
        "the exponent was clamped to -87, where float32 has its smallest normal number",
        _clamped(-87),
        _FLUSHED,
    ),
    Mistake(
        "exponent_above_minus_708",
        "the exponent was clamped to -708, where float64 has its smallest normal number",
        _clamped(-708),
        dict.fromkeys(("bfloat16", "float16", "float32"), "e^-708 is 0 in float32"),
    ),
)
