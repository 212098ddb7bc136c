"""LpPool (1, 2, 11, 18, 22): (Σ |x|^p)^(1/p) over every window; padding adds nothing."""

import math

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import windows_apart, windows_of
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode

OP = operator("LpPool", low=0.0, parts=windows_apart)


def by_windows(norms):
    """The formulas of all versions, from `norms(X, p, windows)`."""

    def version_1(X, *, kernel_shape, p, strides, pads, auto_pad):
        # p may be fractional; without kernel_shape nothing is defined.
        if not 0 < p < math.inf:
            raise InvalidNode(f"p {p}; allowed: numbers that are above 0 in float32")
        if kernel_shape is None:
            raise InvalidNode("attribute kernel_shape is mandatory")
        return norms(X, p, windows_of(X.shape, kernel_shape, strides, None, pads, auto_pad))

    def from_2(X, *, kernel_shape, p, strides, pads, auto_pad, dilations=None, ceil_mode=0):
        if p < 1:
            raise InvalidNode(f"p {p}; allowed: integers from 1 on")
        windows = windows_of(X.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
        return norms(X, float(p), windows)

    return {1: version_1, 2: from_2, 11: from_2, 18: from_2, 22: from_2}


@OP.formula(by=by_windows)
def plain(X, p, windows):
    return xp.pow(xp.sums(xp.pow(xp.abs(X), p), windows.sums, windows.terms), xp.real(1) / p)


@OP.also_honest("", by=by_windows)
def scaled(X, p, windows):
    """Powers of shares of the window's maximum, or the mean of the powers times how many."""
    return xp.inexact(plain(X, p, windows), 4 + 2 / p)


def of_norms(change):
    """The norms, changed by `change(norms, magnitudes, p, windows)`."""
    return lambda X, p, windows: change(plain(X, p, windows), np.abs(X), p, windows)


def of_powers(power, root):
    """`root(sum, p)` of the sum of powers with the exponent `power(p)`."""
    return lambda X, p, windows: root(
        windows.sums(np.power(np.abs(X), power(p))).astype(np.float64), p
    ).astype(X.dtype)


def with_root(change):
    """The sum to another power than 1/p."""
    return of_powers(lambda p: p, lambda total, p: np.power(total, change(1 / p)))


def any_in(mask, windows):
    """Windows with an element where `mask` is True."""
    return windows.sums(mask.astype(np.int64)) > 0


def signed(X, p, windows):
    """The sum of the powers; odd powers keep the sign."""
    powers = np.power(np.abs(X), p)
    total = windows.sums(powers * np.sign(X) if p % 2 else powers)
    return np.copysign(np.power(np.abs(total), 1 / p), total).astype(X.dtype)


def without_nan(X, p, windows):
    """Norms of what is no NaN, scaled up to the whole window."""
    nan = np.isnan(X)
    size = math.prod(axis.kernel for axis in windows.axes)
    rest = np.maximum(1, size - windows.sums(nan.astype(np.int64)))
    norms = plain(np.where(nan, X.dtype.type(0), X), p, windows)
    return (norms * (size / rest) ** (1 / p)).astype(X.dtype)


def largest(X, p, windows):
    out = np.zeros(windows.shape, X.dtype)
    for portion, values in windows.gathered(np.abs(X), np.arange(out.size if X.size else 0)):
        out.reshape(-1)[portion] = values.max(axis=1)
    return out


MUTANTS = {
    "p_is_1": ("magnitudes were added up, whatever p",
               lambda X, p, windows: plain(X, 1.0, windows)),
    "large_p_is_infinity": (
        "a p above 16 was taken for infinity, and the norm for the largest magnitude",
        lambda X, p, windows: (largest if p > 16 else plain)(X, p, windows)),
    "powers_by_squaring_alone": (
        "powers above the fourth were made by squaring alone, which stops at a power of two",
        of_powers(lambda p: 2.0 ** math.floor(math.log2(p)) if p > 4 else p,
                  lambda total, p: np.power(total, 1 / p))),
    "maximum": ("the largest magnitude was taken for the norm", largest),
    "signs_kept": ("the absolute value was forgotten, and a negative sum had a negative root",
                   signed),
    "signs_kept_for_p_1": ("values were added up with their signs where p is 1",
        lambda X, p, windows: windows.sums(X) if p == 1 else plain(X, p, windows)),
    "windows_of_one_copied": ("windows of one element were copied, and kept their signs",
        lambda X, p, windows: (
            windows.sums(X) if all(axis.kernel == 1 for axis in windows.axes)
            else plain(X, p, windows))),
    "tiny_values_are_zero": ("values below 2^-23, float32's epsilon, counted as 0",
        lambda X, p, windows: plain(np.where(np.abs(X) < 2**-23, 0, X), p, windows)),
    "nan_dropped_and_rescaled": (
        "NaN was dropped, and what is left of the window was scaled up to a whole one",
        without_nan),
    "infinity_beats_nan": ("a window of an infinity and a NaN gave infinity", of_norms(
        lambda y, m, p, windows: np.where(any_in(np.isinf(m), windows), np.inf, y))),
    "infinity_gives_nan": (
        "a window with an infinity gave NaN, as where infinity is divided by itself", of_norms(
        lambda y, m, p, windows: np.where(any_in(np.isinf(m), windows), np.nan, y))),
    "root_4_ulp_too_large": ("the root came out 4 ULP too large, as by way of a power", of_norms(
        lambda y, m, p, windows: y if p == 1 else y * (1 + 4 * np.finfo(y.dtype).eps))),
    "at_least_1e_5": ("norms below 1e-5 were raised to that", of_norms(
        lambda y, m, p, windows: np.maximum(y, y.dtype.type(1e-5)))),
    "square_root_always": ("the square root was taken whatever p", with_root(lambda part: 0.5)),
    "integer_division": (
        "1/p was an integer division, and every norm was 1, the sum to the power of 0",
        with_root(lambda part: part if part >= 1 or (1 / part) % 1 else 0.0)),
    "inverse_of_p_of_6_digits": ("1/p was cut off after six decimals", with_root(
        lambda part: math.floor(part * 1e6) / 1e6)),
    "inverse_of_p_in_float16": ("1/p was a float16", with_root(lambda p: float(np.float16(p)))),
    "inverse_of_p_in_float32": ("1/p was a float32", with_root(lambda p: float(np.float32(p)))),
    **{f"epsilon_of_1e_{digits}": (f"1e-{digits} was added to the sum before the root",
           of_powers(lambda p: p, lambda total, p, epsilon=10.0**-digits: (
               np.power(total + epsilon, 1 / p))))
       for digits in (30, 12, 5)},
}  # fmt: skip

OP.mutant_table(MUTANTS, by=by_windows)
OP.mutant("p was read as its shortest decimal text, and not as the float32 that a model holds", 1,
          name="p_in_64_bits", by=by_windows)(
    lambda X, p, windows: plain(X, float(str(np.float32(p))), windows))  # fmt: skip
