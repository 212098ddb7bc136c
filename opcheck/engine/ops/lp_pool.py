"""LpPool, all versions: (Σ |x|^p)^(1/p) of the elements of each window; padding adds nothing.

The parts of the file: what the texts leave open; the formula; faster norms for the backend `numpy`;
mutants. The attributes and some windows are those of the other pools.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from math import floor, inf, log2, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import (
    NO_WINDOW_FITS,
    PART_OF_A_WINDOW,
    SIZE_BELOW_0,
    SIZE_UNDER_SAME,
    Windows,
)
from opcheck.engine.operators import formulas_of_versions, operator
from opcheck.engine.ops.pools import (
    COUNTED_WINDOW,
    Attributes,
    check_norm,
    rounded_up_if_valid,
    started_within,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.errors import reject
from opcheck.numbers import Array

LP_POOL = operator("LpPool", low=0.0)

#: The norms of windows, from X, p and the windows.
Norms: TypeAlias = Callable[[Array, float, Windows], Array]

# ── what the texts leave open ─────────────────────────────────────────────────────────────────

WITHOUT_KERNEL_SHAPE = Ruling(
    "without-kernel-shape",
    "LpPool-1 does not state what a kernel_shape means that is left out.",
    ("refused", "whole_extent"),
)


@dataclass(frozen=True)
class Text:
    """What the text of a version states otherwise than others.

    Attributes:
        is_first: p may be a fraction, and kernel_shape may be left out.
        open_sizes: What is open about sizes; see `windows_of`.
    """

    is_first: bool
    open_sizes: tuple[Ruling, ...]


SIGNS_OF_ODD_POWERS = Ruling(
    "signs-of-odd-powers",
    "DirectML's page has the formula of a norm without magnitudes, and does not state if odd "
    "powers keep the signs.",
    ("magnitudes", "signs", "signed_root"),
)
#: True if the text in force, unlike ONNX's, leaves SIGNS_OF_ODD_POWERS open.
ODD_POWERS_ARE_OPEN: ContextVar[bool] = ContextVar("ODD_POWERS_ARE_OPEN", default=False)

#: Only since version 18 the text has formulas of sizes, and before 11 not even under SAME.
_OPEN_SINCE_18 = (NO_WINDOW_FITS,)
_OPEN_SINCE_11 = (NO_WINDOW_FITS, PART_OF_A_WINDOW, SIZE_BELOW_0)
_OPEN_SINCE_1 = (*_OPEN_SINCE_11, SIZE_UNDER_SAME)
TEXTS: Mapping[int, Text] = {
    1: Text(is_first=True, open_sizes=_OPEN_SINCE_1),
    2: Text(is_first=False, open_sizes=_OPEN_SINCE_1),
    11: Text(is_first=False, open_sizes=_OPEN_SINCE_11),
    18: Text(is_first=False, open_sizes=_OPEN_SINCE_18),
    22: Text(is_first=False, open_sizes=_OPEN_SINCE_18),
}


# ── the formula ───────────────────────────────────────────────────────────────────────────────


@formulas_of_versions(each=TEXTS, alike=(2, 11, 18))
def lp_pool(
    norms: Norms,
    text: Text,
    X: Array,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int] | None,
    p: float,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return the norm (Σ |x|^p)^(1/p) of each window over X, N×C×D1×…×Dn, as N×C×O1×…×On.

    Padding adds nothing. norms: computes them from X, p and the windows. text: what the version
    states otherwise than others. kernel_shape None: in version 1 refused, or all of X:
    WITHOUT_KERNEL_SHAPE. How many windows there are may follow readings: those of
    `text.open_sizes`, VALID_UNDER_CEIL_MODE, and COUNTED_WINDOW for one that starts in the padding
    at the end.

    Raises InvalidNode for p below 1 (version 1: below 1 by P_BELOW_1, 0 or less, infinite or NaN),
    for later versions without kernel_shape, for X of rank below 3, for lists of another length than
    its spatial axes need, for kernels, strides and dilations below 1, pads below 0, pads beside an
    auto_pad, an unknown auto_pad, and where no window fits. A ceil_mode other than 0 and 1 counts
    as either, or raises it: FLAG_OF_ANOTHER_NUMBER. Raises MemoryError for an output of more than
    2^28 elements.
    """
    if text.is_first:
        reject(not 0 < p < inf, f"p {p}; allowed: numbers that are above 0 in float32")
        check_norm(p)
    else:
        reject(p < 1, f"p {p}; allowed: integers from 1 on")
    if kernel_shape is None:
        is_refused = not text.is_first or WITHOUT_KERNEL_SHAPE.reading() == "refused"
        reject(is_refused, "attribute kernel_shape is mandatory")
        kernel_shape = X.shape[2:]
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=flag("ceil_mode", ceil_mode),
    )
    windows = rounded_up_if_valid(attributes.windows_over(X, text.open_sizes), attributes)
    kept = started_within(windows)
    is_open = attributes.ceil_mode and auto_pad == "NOTSET" and kept != windows
    if is_open and COUNTED_WINDOW.reading() == "dropped":
        windows = kept
    return norms(X, float(p), windows)


@LP_POOL.formula(build=lp_pool)
def norms_of(X: Array, p: float, windows: Windows) -> Array:
    """Return (Σ |x|^p)^(1/p) of each window: 0 of padding alone, NaN of one with NaN.

    It is infinite with an infinity, or where a power or the sum overflows. If ODD_POWERS_ARE_OPEN,
    odd powers may keep the signs: SIGNS_OF_ODD_POWERS.
    """
    if ODD_POWERS_ARE_OPEN.get() and p % 2 == 1 and (xp.values_of(X) < 0).any():
        return norms_of_odd_powers(X, p, windows)
    total = xp.sums(xp.pow(xp.abs(X), p), windows.sums, windows.terms)
    return xp.pow(total, xp.real(1) / p)


def norms_of_odd_powers(X: Array, p: float, windows: Windows) -> Array:
    """Return (Σ x^p)^(1/p) of each window, where x is a magnitude or not: SIGNS_OF_ODD_POWERS.

    p: odd. The root of a sum below 0 is NaN, or by the last reading negative.
    """
    reading = SIGNS_OF_ODD_POWERS.reading()
    powers = xp.pow(xp.abs(X) if reading == "magnitudes" else X, p)
    total = xp.sums(powers, windows.sums, windows.terms)
    if reading != "signed_root":
        return xp.pow(total, xp.real(1) / p)
    return xp.sign(total) * xp.pow(xp.abs(total), xp.real(1) / p)


@LP_POOL.fast_path(build=lp_pool)
def norms_beyond_the_range(X: Array, p: float, windows: Windows) -> Array:
    """Return the norms, by shares of the largest element where powers nearly leave the range.

    X: a plain array. If ODD_POWERS_ARE_OPEN, odd powers may keep the signs: SIGNS_OF_ODD_POWERS. A
    norm is computed again if it is NaN, infinite, or so small that its sum of powers may have lost
    digits, and the window's largest magnitude is finite and above 0; with a p of 1 none is.
    """
    norms = np.asarray(norms_of(X, p, windows))
    info = np.finfo(X.dtype)
    # Sums of powers lose digits below so many times the smallest normal number.
    least = (windows.most * float(info.tiny) / float(info.eps)) ** (1 / p)
    # NaN is among them, as it compares with nothing.
    is_lost = ~((norms > 1.01 * least) & (norms < inf))
    if p == 1 or not is_lost.any():
        return norms
    largest = largest_magnitudes(X, p, windows)
    # Where the largest element is 0, infinite or NaN, the norm is so rightly.
    places = np.flatnonzero(is_lost & (largest > 0) & (largest < inf))
    for portion, rows in windows.gathered(X, places):
        magnitudes = np.abs(rows)
        top = magnitudes.max(axis=1, keepdims=True)
        norms.flat[places[portion]] = ((magnitudes / top) ** p).sum(axis=1) ** (1 / p) * top[:, 0]
    return norms


@LP_POOL.alternative("", build=lp_pool)
def scaled(X: Array, p: float, windows: Windows) -> Array:
    """Return the norms of windows, with the errors of two other ways to compute them.

    Values are those of `norms_of`, by SIGNS_OF_ODD_POWERS if ODD_POWERS_ARE_OPEN. The ways are a
    norm of shares of the largest element, times that element, and a norm from the mean of the
    powers.
    """
    return xp.inexact(norms_of(X, p, windows), 4 + 2 / p)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def largest_magnitudes(X: Array, p: float, windows: Windows) -> Array:
    """Return the largest magnitude of each window, whatever p; it is a mutant, too.

    NaN where a window holds one, 0 where it holds padding alone.
    """
    return windows.reduced(np.abs(X), np.maximum, 0)


def norms_for_p_1(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: magnitudes are added up, whatever p."""
    return norms_of(X, 1.0, windows)


def large_p_is_infinity(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: a p above 16 gives the largest magnitude."""
    return largest_magnitudes(X, p, windows) if p > 16 else norms_of(X, p, windows)


def signs_kept(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: no absolute value is taken, and a negative sum has a negative root."""
    powers = np.power(np.abs(X), p)
    total = windows.sums(powers * np.sign(X) if p % 2 else powers)
    return np.copysign(np.power(np.abs(total), 1 / p), total).astype(X.dtype)


def signs_kept_for_p_1(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: for p of 1 the elements are added up as they are."""
    return windows.sums(X) if p == 1 else norms_of(X, p, windows)


def windows_of_one_copied(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: a window of one element is that element, with its sign."""
    is_copied = all(axis.kernel == 1 for axis in windows.axes)
    return windows.sums(X) if is_copied else norms_of(X, p, windows)


def tiny_values_are_zero(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: values below float32's epsilon are 0."""
    return norms_of(np.where(np.abs(X) < 2**-23, 0, X), p, windows)


def nan_dropped_and_rescaled(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: NaN is left out, and the norm of the others scaled up to the whole window.

    It is multiplied by (size of the kernel / elements without NaN, padding included)^(1/p).
    """
    is_none = np.isnan(X)
    size = prod(axis.kernel for axis in windows.axes)
    remaining = np.maximum(1, size - windows.sums(is_none.astype(np.int64)))
    norms = norms_of(np.where(is_none, X.dtype.type(0), X), p, windows)
    return (norms * (size / remaining) ** (1 / p)).astype(X.dtype)


def windows_with_infinities(X: Array, p: float, windows: Windows, *, value: float) -> Array:
    """Mutant: the norm of a window with an infinity is `value`."""
    has_infinity = windows.sums(np.isinf(X).astype(np.int64)) > 0
    return np.where(has_infinity, value, norms_of(X, p, windows))


def root_4_ulp_too_large(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: the root is 4 ULP too large, as by way of a power."""
    norms = norms_of(X, p, windows)
    return norms if p == 1 else norms * (1 + 4 * np.finfo(norms.dtype).eps)


def at_least_1e_5(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: norms below 1e-5 are raised to that."""
    norms = norms_of(X, p, windows)
    return np.maximum(norms, norms.dtype.type(1e-5))


def p_in_64_bits(X: Array, p: float, windows: Windows) -> Array:
    """Mutant: p is its shortest decimal text, and not the float32 that a model holds."""
    return norms_of(X, float(str(np.float32(p))), windows)


def same_power(p: float) -> float:
    """Return the power of |x|, which is p."""
    return p


def power_of_two_below(p: float) -> float:
    """Mutant of a power: above 4 the largest power of two up to p."""
    return 2.0 ** floor(log2(p)) if p > 4 else p


def root_of(total: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return total^(1/p): the norms of windows from their sums of powers."""
    root: NDArray[np.float64] = np.power(total, 1 / p)
    return root


def root_with_epsilon(epsilon: float, total: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Mutant of a root: an epsilon is added to the sum."""
    return root_of(total + epsilon, p)


def root_by_inverse(
    change: Callable[[float], float], total: NDArray[np.float64], p: float
) -> NDArray[np.float64]:
    """Mutant of a root: total^change(1/p), where `change` makes a wrong exponent of 1/p."""
    root: NDArray[np.float64] = np.power(total, change(1 / p))
    return root


def half(inverse: float) -> float:
    """Mutant of 1/p: the square root is taken, whatever p."""
    return 0.5


def integer_division(inverse: float) -> float:
    """Mutant of 1/p: 0 for whole numbers above 1."""
    is_whole = not (1 / inverse) % 1
    return 0.0 if inverse < 1 and is_whole else inverse


def cut_to_6_digits(inverse: float) -> float:
    """Mutant of 1/p: cut off after six decimals."""
    return floor(inverse * 1e6) / 1e6


def in_float16(inverse: float) -> float:
    """Mutant of 1/p: a float16."""
    return float(np.float16(inverse))


def in_float32(inverse: float) -> float:
    """Mutant of 1/p: a float32."""
    return float(np.float32(inverse))


def norms_by(
    X: Array,
    p: float,
    windows: Windows,
    *,
    power: Callable[[float], float] = same_power,
    root: Callable[[NDArray[np.float64], float], NDArray[np.float64]] = root_of,
) -> Array:
    """Mutant: the power of |x| is `power` of p, and the norm is `root` of the sum and p.

    Without them it is right, but for what overflows. The result has the type of X.
    """
    powers = np.power(np.abs(X), power(p))
    return root(windows.sums(powers).astype(np.float64), p).astype(X.dtype)


def with_inverse(change: Callable[[float], float]) -> Norms:
    """Return a mutant's norms: `change` makes the exponent of the root from 1/p."""
    return partial(norms_by, root=partial(root_by_inverse, change))


LP_POOL.mutant_table(
    {
        "p_is_1": ("magnitudes were added up, whatever p", norms_for_p_1),
        "large_p_is_infinity": (
            "a p above 16 was taken for infinity, and the norm for the largest magnitude",
            large_p_is_infinity,
        ),
        "powers_by_squaring_alone": (
            "powers above the fourth were made by squaring alone, which stops at a power of two",
            partial(norms_by, power=power_of_two_below),
        ),
        "maximum": ("the largest magnitude was taken for the norm", largest_magnitudes),
        "signs_kept": (
            "the absolute value was forgotten, and a negative sum had a negative root",
            signs_kept,
        ),
        "signs_kept_for_p_1": (
            "values were added up with their signs where p is 1",
            signs_kept_for_p_1,
        ),
        "windows_of_one_copied": (
            "windows of one element were copied, and kept their signs",
            windows_of_one_copied,
        ),
        "tiny_values_are_zero": (
            "values below 2^-23, float32's epsilon, counted as 0",
            tiny_values_are_zero,
        ),
        "nan_dropped_and_rescaled": (
            "NaN was dropped, and what is left of the window was scaled up to a whole one",
            nan_dropped_and_rescaled,
        ),
        "infinity_beats_nan": (
            "a window of an infinity and a NaN gave infinity",
            partial(windows_with_infinities, value=np.inf),
        ),
        "infinity_gives_nan": (
            "a window with an infinity gave NaN, as where infinity is divided by itself",
            partial(windows_with_infinities, value=np.nan),
        ),
        "root_4_ulp_too_large": (
            "the root came out 4 ULP too large, as by way of a power",
            root_4_ulp_too_large,
        ),
        "at_least_1e_5": ("norms below 1e-5 were raised to that", at_least_1e_5),
        "square_root_always": ("the square root was taken whatever p", with_inverse(half)),
        "integer_division": (
            "1/p was an integer division, and every norm was 1, the sum to the power of 0",
            with_inverse(integer_division),
        ),
        "inverse_of_p_of_6_digits": (
            "1/p was cut off after six decimals",
            with_inverse(cut_to_6_digits),
        ),
        "inverse_of_p_in_float16": ("1/p was a float16", with_inverse(in_float16)),
        "inverse_of_p_in_float32": ("1/p was a float32", with_inverse(in_float32)),
        **{
            f"epsilon_of_1e_{digits}": (
                f"1e-{digits} was added to the sum before the root",
                partial(norms_by, root=partial(root_with_epsilon, 10.0**-digits)),
            )
            for digits in (30, 12, 5)
        },
    },
    build=lp_pool,
)
LP_POOL.mutant(
    "p was read as its shortest decimal text, and not as the float32 that a model holds",
    1,
    build=lp_pool,
)(p_in_64_bits)
