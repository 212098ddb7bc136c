"""HannWindow, HammingWindow and BlackmanWindow: shares of cosines, as the function bodies add them.

    output[n] = A0 - A1 * Cos(angle) + A2 * Cos(2 * angle),  angle = n * (2π / period)

The period is the size of a periodic window, and one less of a symmetric one.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import nan
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.dtypes import DType
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import (
    Formula,
    NamedMutants,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.grouping import not_none
from opcheck.numbers import Array

NAMES = """BlackmanWindow HammingWindow HannWindow"""

#: A function of one tensor, such as the cosine.
Function: TypeAlias = Callable[[Array], Array]
#: Makes the points of a window from the cosine, their numbers n, and the period.
Points: TypeAlias = Callable[[Function, Array, Any], Array]

SYMMETRIC_POINT = Ruling(
    "symmetric-point",
    "A symmetric window of one point has a period of 0. The text does not state whether it is the "
    "first point of every window, 1, or what 0 / 0 makes.",
    ("first", "one", "nan"),
)


# ── the windows ───────────────────────────────────────────────────────────────────────────────


class Shares(NamedTuple):
    """The constants A0, A1 and A2 of a function body."""

    A0: float
    A1: float
    A2: float


HANN = Shares(0.5, 0.5, 0)
HAMMING = Shares(25 / 46, 21 / 46, 0)
BLACKMAN = Shares(0.42, 0.5, 0.08)
#: Less than this is what roundings of float32 leave of a sum of shares.
ROUNDED_AWAY = 2.0**-24
#: What others call a Hamming and a Blackman window.
ROUNDED_HAMMING = Shares(0.54, 0.46, 0)
EXACT_BLACKMAN = Shares(7938 / 18608, 9240 / 18608, 1430 / 18608)


def pi() -> Array:
    """Return more digits of π than float64 has, where the kind of numbers in force has them."""
    return xp.real(np.pi) + xp.real(1.2246467991473532e-16)


def cosines(shares: Shares, cos: Function, n: Array, period: Any) -> Array:
    """Return A0 - A1 * cos(angle) + A2 * cos(2 * angle), where angle = n * (2π / period).

    n: the numbers of the points, [size]; period: a number other than 0; cos: the cosine, or what
    takes its place.
    """
    angle = n * (2 * pi() / xp.real(period))
    y = shares.A0 - shares.A1 * cos(angle)
    return y + shares.A2 * cos(2 * angle) if shares.A2 else y


def squared_sine(cos: Function, n: Array, period: Any) -> Array:
    """Return the Hann window as sin(angle / 2)**2, where angle = n * (2π / period).

    n: the numbers of the points, [size]; period: a number other than 0; `cos` is not used.
    """
    half = xp.sin(n * (pi() / xp.real(period)))
    return half * half


def cut_off(y: Array) -> Array:
    """Return the points as they are: a cast to integers cuts fractions off."""
    return y


def symmetric_point(points: Points, n: Array, dtype: DType) -> Array:
    """Return the window of one symmetric point, [1].

    It is the first point of every window, 1 or NaN: SYMMETRIC_POINT. n: its number, 0, in shape
    [1]; dtype: that of the output. Where the shares of the first point cancel, as those of Blackman
    do, it is 0, with the errors of their roundings. Raises NotSupported for NaN where the output is
    an integer.
    """
    reading = SYMMETRIC_POINT.reading()
    if reading == "first":
        y = points(xp.cos, n, 1)
        if not np.all(np.abs(xp.values_of(y)) < ROUNDED_AWAY):
            return y
        _, roundings = xp.parted(y)
        return xp.full_like(n, 0.0) if roundings is None else roundings
    if reading == "one":
        return xp.full_like(n, 1.0)
    if dtype.kind == "int":
        raise_unspecified("NaN as an integer")
    return xp.full_like(n, nan)


@formulas_of_versions(17, options=["cut"])
def window(
    points: Points,
    size: Array,
    *,
    output_datatype: int,
    periodic: int,
    cut: Function = cut_off,
) -> Array:
    """Return the window, [size], in the type of number `output_datatype`.

    points: makes them from a cosine, their numbers and the period: `size` if `periodic` is 1, else
    size - 1. `cut` is applied to points that become integers. A size of 0 gives no points. A
    symmetric window of one point is the first point of every window, 1 or NaN: SYMMETRIC_POINT.

    Raises InvalidNode for a size that is no scalar (of rank 1 or more, if ONE_ELEMENT_AS_A_SCALAR
    refuses it), and for a `periodic` other than 0 and 1, if FLAG_OF_ANOTHER_NUMBER refuses it.
    Raises NotSupported for a size below 0 or that rounding decides, and for the one point if it is
    NaN as an integer. Raises MemoryError for a size that is too large.
    """
    count = scalar("size", size)
    if count < 0:
        raise_unspecified(f"{count} points")
    check_size((count,))
    is_periodic = flag("periodic", periodic)
    dtype = not_none(dtypes.named(output_datatype))
    n = xp.astype(np.arange(count), np.float32)
    if count == 1 and not is_periodic:
        y = symmetric_point(points, n, dtype)
    else:
        # Nothing is divided by the period of a window without points.
        period = (count if is_periodic else count - 1) or 1
        y = points(xp.cos, n, period)
    return xp.astype(cut(y) if dtype.kind == "int" else y, dtype.numpy)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def between_points(points: Points, cos: Function, n: Array, period: Any) -> Array:
    """Mutant: the points lie in the middle of steps."""
    return points(cos, n + 0.5, period)


def period_of_one_more(points: Points, cos: Function, n: Array, period: Any) -> Array:
    """Mutant: the period has a step more."""
    return points(cos, n, period + 1)


def half_a_turn(points: Points, cos: Function, n: Array, period: Any) -> Array:
    """Mutant: the window is its first half, stretched."""
    return points(cos, n, 2 * period)


def begins_in_the_middle(points: Points, cos: Function, n: Array, period: Any) -> Array:
    """Mutant: the window begins with its middle."""

    def negative_cosine(x: Array) -> Array:
        return -cos(x)

    return points(negative_cosine, n, period)


def computed_in(kind: Any, points: Points, cos: Function, n: Array, period: Any) -> Array:
    """Mutant: the window is computed in a type of fewer digits."""
    return points(cos, n.astype(kind), kind(period)).astype(kind)


def rounded_up(y: Array) -> Array:
    """Mutant: a fraction makes the next integer."""
    return np.ceil(y - 1e-6)


def point_mutants(points: Points, others: Shares) -> NamedMutants[Points]:
    """Return the mutants of a window's points by name, each with a text.

    `others` are the shares that it might have.
    """
    return {
        "of_other_shares": (
            "other shares of the cosines were in use",
            partial(cosines, others),
        ),
        "between_points": (
            "points lay in the middle of steps",
            partial(between_points, points),
        ),
        "period_of_one_more": ("the period had a step more", partial(period_of_one_more, points)),
        "half_a_turn": (
            "the window was its first half, stretched",
            partial(half_a_turn, points),
        ),
        "begins_in_the_middle": (
            "the window began with its middle",
            partial(begins_in_the_middle, points),
        ),
        "computed_in_float16": (
            "the window was computed in float16",
            partial(computed_in, np.float16, points),
        ),
        "computed_in_bfloat16": (
            "the window was computed in bfloat16",
            partial(computed_in, ml_dtypes.bfloat16, points),
        ),
    }


CUT_MUTANTS: NamedMutants[Function] = {
    "rounded_to_nearest": ("integers were rounded and not cut off", np.rint),
    "rounded_up": ("integers were rounded up", rounded_up),
}


def declare(name: str, shares: Shares, others: Shares) -> None:
    """Declare a window of these shares, and its mutants, in the engine's table of operators.

    `others` are the shares that it might have. Raises WrongOperator for a name that ONNX does not
    have, and for a formula that contradicts its schema.
    """
    op = operator(name, module=__name__, of_integers=True, of_scalars=("int32", "int64"))
    points = partial(cosines, shares)
    op.formula(build=window)(points)
    if name == "HannWindow":
        op.alternative("", build=window)(squared_sine)
    op.mutant_table(point_mutants(points, others), build=window)

    def with_cut(cut: Function) -> Mapping[int, Formula]:
        return window(points, cut=cut)

    op.mutant_table(CUT_MUTANTS, build=with_cut)


declare("HannWindow", HANN, others=HAMMING)
declare("HammingWindow", HAMMING, others=ROUNDED_HAMMING)
declare("BlackmanWindow", BLACKMAN, others=EXACT_BLACKMAN)
