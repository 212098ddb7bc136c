"""Cast and CastLike, and linear quantization: numbers in another type, often one of few bits.

The texts under their own symbols, all versions:

- Cast, CastLike: "casts the elements of a given input tensor to a data type";
- QuantizeLinear: y = saturate((x / y_scale) + y_zero_point), where x / y_scale "rounds to the
  nearest even";
- DequantizeLinear: y = (x - x_zero_point) * x_scale;
- DynamicQuantizeLinear: QuantizeLinear by a scale and a zero point that it derives from x.

The parts of the file: what the texts leave open; conversions from type to type; Cast; where scales
lie; DequantizeLinear; QuantizeLinear; DynamicQuantizeLinear. Mutants follow their operators.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.dtypes import DTYPES, NARROW, DType, limits, round_to
from opcheck.engine.axes import from_either_end
from opcheck.engine.operators import (
    DECIDED,
    NamedMutants,
    check_one_of,
    check_shape,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import ONE_ELEMENT_AS_A_SCALAR, flag
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode, decline, reject
from opcheck.numbers import Array
from opcheck.numbers.bounded.array import Bounded
from opcheck.numbers.bounded.choice import Choices
from opcheck.numbers.bounded.movement import hull
from opcheck.numbers.faulty import bare
from opcheck.numbers.plain import values_of as exact_values

NAMES = """Cast CastLike DequantizeLinear DynamicQuantizeLinear QuantizeLinear"""

#: Booleans, one for each element.
Mask: TypeAlias = Any

#: The versions of Cast, QuantizeLinear and DequantizeLinear after their first ones.
LATER = (13, 19, 21, 23, 24, 25, 28)
#: Those with floats of 8 bits, and those with scales of blocks.
SINCE_19 = LATER[1:]
SINCE_21 = LATER[2:]

# ── what the texts leave open ─────────────────────────────────────────────────────────────────

INTEGERS_OUT_OF_RANGE = Ruling(
    "integers-out-of-range",
    "Versions of Cast before 13 do not define what integers out of range become.",
    ("wraps", "saturates"),
    by_element=True,
)
DIGITS_OF_TEXTS = Ruling(
    "digits-of-texts",
    "The text asks for a plain representation of floats, and does not state how many digits it "
    "has, nor whether a whole number has a point.",
    ("fewest_digits", "with_a_point", "with_six_places"),
)
FRACTIONS_TO_FEW_BITS = Ruling(
    "fractions-to-few-bits",
    "Cast cuts fractions off on the way to integers, but ONNX's pages on types of 4 and of 2 bits"
    ' have a "rounding to the nearest-integer".',
    ("cut_off", "rounded"),
    by_element=True,
)
INFINITIES_WITHOUT_SIGNED_ZEROS = Ruling(
    "infinities-without-signed-zeros",
    "The tables of versions 19 to 23 make NaN of an infinity in float8e4m3fnuz and float8e5m2fnuz;"
    " version 24 corrects this to the largest number.",
    ("largest", "not_a_number"),
    by_element=True,
)
UNUSED_AXIS = Ruling(
    "unused-axis",
    "The text does not state whether an axis without use must be one of the input's.",
    ("ignored", "refused"),
)
AXIS_OF_A_VECTOR = Ruling(
    "axis-of-a-vector",
    "The default axis is 1, which a vector does not have.",
    ("first", "refused"),
)
UNUSED_BLOCK_SIZE = Ruling(
    "unused-block-size",
    "The text does not define blocks where each entry of an axis has its scale.",
    ("ignored", "refused"),
)
ZERO_POINT_OF_INT32 = Ruling(
    "zero-point-of-int32",
    'For int32 "there\'s no zero point (zero point is supposed to be 0)".',
    ("subtracted", "ignored", "refused"),
)
#: The reason for which DirectML's page decides it: there the zero point is subtracted.
LONG_ZERO = "there is no zero point of int32"


@dataclass(frozen=True)
class CastText:
    """What the text of a version decides about numbers that a type does not hold.

    Attributes:
        out_of_range: "+/- infinity if OOR" of floats, "discard higher bits" of integers.
        infinities: The largest number stands for an infinity that saturates, in types that end with
            fnuz too; otherwise the largest or NaN does there.
    """

    out_of_range: bool = True
    infinities: bool = True


BEFORE_13 = CastText(out_of_range=False, infinities=False)
BEFORE_24 = CastText(infinities=False)
SINCE_24 = CastText()


@dataclass(frozen=True)
class Target:
    """What numbers are converted to.

    Attributes:
        dtype: The element type.
        saturate: Of floats of 8 bits, other than 0 if the nearest end stands for what is beyond it.
            It changes nothing for integers, and for floats of fewer bits.
        round_mode: How float8e8m0, which has powers of two alone, is rounded to.
        text: What the text of this version decides.
    """

    dtype: DType
    saturate: int = 1
    round_mode: str = "up"
    text: CastText = SINCE_24

    @property
    def is_integer(self) -> bool:
        """True for a type of integers."""
        return self.dtype.kind == "int"

    @property
    def has_nan(self) -> bool:
        """True for a type in which NaN stays NaN."""
        return not self.is_integer and self.dtype.bits >= 8


# ── conversions from type to type ─────────────────────────────────────────────────────────────

#: Every integer up to here is a number of float64.
MAX_EXACT = 1 << 53
#: The digits of 64 bits that float64 does not hold.
LOW_DIGITS = 11
#: The most numbers that are listed as what the elements of one tensor may be.
MAX_LISTED = 1 << 24


def check_castable(dtype: DType | None) -> None:
    """Raise NotSupported for complex numbers, and for what is no element type (None)."""
    is_unknown = dtype is None or dtype.kind == "complex"
    decline(is_unknown, f"unsupported by opcheck: casts of {dtype}")


@xp.primitive
def cast_to(x: Array, dtype: DType) -> Array:
    """Return `x`, a plain array, in another type.

    Floats are rounded to nearest, ties to even; out of range they are infinite, NaN in a type
    without infinities, the largest number in one without NaN, where NaN is a zero; in float8e8m0
    numbers from 0 down are NaN. To integers fractions are cut off; what does not fit is, undefined
    by the text, the nearest end (of 4 and 2 bits the lowest bits), NaN 0. Integers wrap around. To
    booleans all but 0 is true, NaN too.

    Integers become texts of their digits, floats by the reading of DIGITS_OF_TEXTS in force, and
    texts stay. Raises NotSupported for complex and unknown types; from booleans to texts; from
    texts to booleans, from texts without a number, and from those to integers that have a fraction
    or are out of range.
    """
    own = dtypes.of(x)
    check_castable(own)
    check_castable(dtype)
    if own == DTYPES["string"] and dtype != own:
        x = numbers_of_texts(x, dtype)
    if own and own.name in NARROW:
        x = x.astype(np.int8 if own.kind == "int" else np.float64)
    match dtype.kind:
        case "string":
            return x if x.dtype == object else texts_of_numbers(x)
        case "bool":
            return np.asarray(x != 0)
        case "int":
            return to_integers(x, dtype)
        case _:
            return to_floats(x, dtype)


def to_integers(x: Array, dtype: DType) -> Array:
    """Return numbers as integers: of integers the lowest bits, floats without their fractions.

    A float out of range is the nearest end, NaN 0; for types of 4 and 2 bits, the lowest bits.
    """
    if x.dtype.kind in "biu":
        return x.astype(dtype.numpy)
    # ONNX's node tests have the lowest bits of what types of 4 and 2 bits cannot hold.
    held = DTYPES["int64"] if dtype.bits < 8 else dtype
    return cut_off(x.astype(np.float64), held).astype(dtype.numpy)


def cut_off(x: Array, dtype: DType) -> Array:
    """Return floats as integers of 8 bits or more: towards 0, the nearest end, 0 for NaN.

    x: float64. Out of range, infinities too, they become the nearest end of `dtype`.
    """
    low, high = map(int, limits(dtype))
    values = np.trunc(np.where(np.isnan(x), 0.0, x))
    # The largest number of 64 bits is not one of float64, but one more is.
    is_inside = (values >= low) & (values < high + 1)
    inside = np.where(is_inside, values, 0.0).astype(np.int64 if low else np.uint64)
    ends = np.where(values < 0, np.array(low, dtype.numpy), np.array(high, dtype.numpy))
    return np.where(is_inside, inside.astype(dtype.numpy), ends)


def to_floats(x: Array, dtype: DType) -> Array:
    """Return numbers as floats, rounded once to nearest, ties to even; infinite out of range.

    A type without infinities has NaN in their place, and one without NaN its largest number, and a
    zero for NaN. float8e8m0 has NaN for 0 and negative numbers.
    """
    if dtype.name == "float64" or x.dtype == dtype.numpy:
        return x.astype(dtype.numpy)
    return round_to(as_float64(x), dtype)


def as_float64(x: Array) -> Array:
    """Return `x` in float64; rounded again, to float32 or less, it gives what `x` itself gives.

    An integer beyond 2^53 that is not a multiple of 2^LOW_DIGITS becomes the odd one of the two
    multiples next to it: rounding to odd, which rounding to far fewer digits undoes.
    """
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    integer = x.dtype.type
    low = x & integer((1 << LOW_DIGITS) - 1)
    odd = (x - low) | ((low != 0).astype(x.dtype) << integer(LOW_DIGITS))
    least = -MAX_EXACT if x.dtype.kind == "i" else 0
    is_exact = (x <= MAX_EXACT) & (x >= least)
    return np.where(is_exact, x, odd).astype(np.float64)


@xp.primitive
def to_minifloat(x: Array, dtype: DType, saturate: int, round_mode: str) -> Array:
    """Return numbers of float64 in a type of 8 bits or less, to nearest, ties to even.

    Out of range, infinities too, they become the nearest end if `saturate` is not 0. Otherwise they
    become infinite, NaN in a type without infinities, the largest number in one without NaN. For
    types of less than 8 bits the text does not define it. NaN stays NaN, a zero in a type without
    it. To float8e8m0, powers of two above 0, they are rounded by `round_mode`. Raises InvalidNode
    for an unknown round_mode of float8e8m0.
    """
    low, high = limits(dtype)
    is_outside = (x < low) | (x > high)
    if saturate:
        x = np.clip(x, low, high)
    if dtype.name == "float8e8m0":
        x = power_of_two(x, round_mode)
        x = x if saturate else np.where(is_outside, np.nan, x)
    return round_to(x, dtype)


def power_of_two(x: Array, round_mode: str) -> Array:
    """Return the power of two next to each number of float64, "up" or "down" or "nearest".

    x: finite and above 0, or NaN, which stays NaN. "nearest: round to nearest value and ties round
    up". Raises InvalidNode for other modes.
    """
    check_one_of("round_mode", round_mode, "up", "down", "nearest")
    # The parts lie from 0.5, that of a power of two, to 1.
    part, exponent = np.frexp(x)
    if round_mode == "up":
        is_up = part > 0.5
    elif round_mode == "down":
        is_up = part >= 1
    else:
        is_up = part >= 0.75
    return np.where(np.isnan(x), x, np.ldexp(1.0, exponent - 1 + is_up))


def by_the_table(x: Array, target: Target) -> Array:
    """Return numbers of float64 in a type of 8 bits or less, as the tables of Cast have it.

    Out of range they become the nearest end if the target saturates; else infinite, NaN in a type
    without infinities, the largest number in one without NaN. NaN stays, or is a zero in such a
    type. Before version 24 an infinity that saturates becomes the largest number
    or NaN in types that end with fnuz: INFINITIES_WITHOUT_SIGNED_ZEROS. Raises InvalidNode for an
    unknown round_mode of float8e8m0.
    """
    y = to_minifloat(x, target.dtype, target.saturate, target.round_mode)
    is_open = target.saturate and not target.text.infinities and target.dtype.name.endswith("fnuz")
    is_infinite = np.isinf(x)
    if not is_open or not is_infinite.any():
        return y
    if INFINITIES_WITHOUT_SIGNED_ZEROS.reading() == "largest":
        return y
    return np.where(is_infinite, np.array(np.nan, y.dtype), y)


# ── numbers and texts ─────────────────────────────────────────────────────────────────────────

#: "plain (e.g., "3.14" and "1000") and scientific numeric representations (e.g., "1e-5" and "1E8")"
FLOAT_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,15})?", re.ASCII | re.IGNORECASE)
INTEGER_TEXT = re.compile("[+-]?[0-9]+")
#: The digits of a float's text that every representation has: printf writes no more by default.
FEW_DIGITS = 6
#: What is matched "in a case-insensitive way"; "-INF" is not.
SPECIAL_TEXTS = {"+inf": Decimal("inf"), "inf": Decimal("inf"), "nan": Decimal("nan")}


def each_element(function: Callable[[Any], Any], x: Array, dtype: Any) -> Array:
    """Return `function` of each element, in the shape of `x`, as an array of a NumPy dtype."""
    return np.fromiter(map(function, x.reshape(-1)), dtype, x.size).reshape(x.shape)


def numbers_of_texts(x: Array, dtype: DType) -> Array:
    """Return the numbers that texts represent, such that rounding them to `dtype` rounds once.

    They are float64 for floating types, else `dtype`. Raises NotSupported where the text does not
    define the result: for texts without a number, texts other than whole numbers on the way to an
    integer, integers out of range, and booleans.
    """
    if dtype.name == "float64":
        return each_element(nearest_float64, x, np.float64)
    if dtype.kind in ("float", "minifloat"):
        return each_element(odd_float64, x, np.float64)
    decline(dtype.kind == "bool", "the text does not say which texts are true")
    return each_element(partial(integer_of_text, dtype=dtype), x, dtype.numpy)


def number_of_text(text: str) -> Decimal | None:
    """Return the number that a text represents, plain or scientific; None if it is no number.

    INF, +INF and NaN are read in any case, and -INF in this one.
    """
    if text == "-INF":
        return Decimal("-inf")
    special = SPECIAL_TEXTS.get(text.lower())
    if special is not None:
        return special
    return Decimal(text) if FLOAT_TEXT.fullmatch(text) else None


@lru_cache(1 << 16)  # A case is evaluated on the same texts several times.
def nearest_float64(text: str) -> float:
    """Return the float64 next to the number that a text represents; cached.

    A number that is too large is infinite. INF, +INF and NaN are read in any case, and -INF in this
    one. Raises NotSupported for a text that is no number, plain or scientific.
    """
    number = number_of_text(text)
    decline(number is None, f"opcheck reads no number in {text!r}")
    assert number is not None
    return float(number)


@lru_cache(1 << 16)
def odd_float64(text: str) -> float:
    """Return a number's float64, or of the two next to it the one whose last digit is odd; cached.

    Rounded again to fewer digits, that rounds once. Raises NotSupported for a text that is no
    number.
    """
    value = nearest_float64(text)
    exact = number_of_text(text)
    if exact is None or not exact.is_finite():
        return value
    if Decimal(value) == exact or np.float64(value).view(np.int64) & 1:
        return value
    return float(np.nextafter(value, np.inf if exact > Decimal(value) else -np.inf))


def integer_of_text(text: str, dtype: DType) -> int:
    """Return the integer that a text represents, digits with or without a sign.

    Raises NotSupported for other texts, and for an integer that `dtype` does not hold.
    """
    low, high = limits(dtype)
    if not INTEGER_TEXT.fullmatch(text) or not low <= Decimal(text) <= high:
        raise_unspecified(f"converting {text!r} to {dtype}")
    return int(Decimal(text))


def texts_of_numbers(x: Array) -> Array:
    """Return numbers as texts, floats in a "plain floating-point representation".

    That has the digits that are needed, a point in any case, or six places: DIGITS_OF_TEXTS. Raises
    NotSupported for booleans.
    """
    decline(x.dtype == np.bool_, "the text does not say what texts booleans become")
    if x.dtype.kind in "iu" or not x.size:
        return each_element(str, x, object)
    written = {
        "fewest_digits": plain_text,
        "with_a_point": text_with_a_point,
        "with_six_places": text_with_six_places,
    }
    return each_element(written[DIGITS_OF_TEXTS.reading()], x, object)


def have_certain_digits(x: Array) -> Mask:
    """Return a mask of floats that have the same digits however many of them are written.

    So have numbers of at most FEW_DIGITS digits, of which as many follow the point. Infinity, NaN
    and -0 have no such text.
    """
    return each_element(has_certain_digits, x.astype(np.float64), np.bool_)


def has_certain_digits(value: float) -> bool:
    """Return True if a float has at most FEW_DIGITS digits, of which as many follow the point."""
    if not np.isfinite(value) or (value == 0 and np.signbit(value)):
        return False
    number = Decimal(value).normalize()
    exponent = int(number.as_tuple().exponent)
    return len(number.as_tuple().digits) <= FEW_DIGITS and exponent >= -FEW_DIGITS


def plain_text(value: Any) -> str:
    """Return a float in as few digits as identify it, without an exponent; NaN, INF or -INF.

    A bfloat16 has the digits that identify it among numbers of float64.
    """
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    return np.format_float_positional(value, trim="-")


def text_with_a_point(value: Any) -> str:
    """Return a float as `plain_text` does, and a whole number with ".0" after it."""
    text = plain_text(value)
    return text if not np.isfinite(value) or "." in text else f"{text}.0"


def text_with_six_places(value: Any) -> str:
    """Return a float with six digits after its point; infinity and NaN as `plain_text` does."""
    return f"{float(value):.6f}" if np.isfinite(value) else plain_text(value)


# ── Cast and CastLike ─────────────────────────────────────────────────────────────────────────

CAST = operator("Cast", exact=True)
CAST_LIKE = operator("CastLike", exact=True)


def cast(input: Array, target: Target) -> Array:
    """Return the elements in the target's type, by the text's rules and tables.

    input: of any kind of numbers; those with bounds keep them. Open: before version 13, if integers
    out of range wrap or saturate (INTEGERS_OUT_OF_RANGE); before version 24, if infinities that
    saturate are NaN in fnuz types (INFINITIES_WITHOUT_SIGNED_ZEROS); in all, if fractions are cut
    off or rounded to 4 and 2 bits (FRACTIONS_TO_FEW_BITS).

    Floats become texts by DIGITS_OF_TEXTS. What the target does not hold and the text has no rule
    for, and floats of many digits as texts, may become anything: a judge leaves these elements out.

    Raises NotSupported for complex numbers, from booleans to texts, and from texts to booleans and
    without a number of the type; while judging, also if all elements may become anything, or some
    and another node of a graph computes with them. Raises InvalidNode for an unknown round_mode of
    float8e8m0.
    """
    dtype = target.dtype
    check_castable(dtype)
    x = bare(input)
    if isinstance(x, Choices):
        return cast_admitted(x, target)
    if isinstance(x, Bounded) and dtype.kind == "minifloat":
        return cast_with_errors(x, target)
    if not isinstance(x, np.ndarray):
        # Function bodies cast numbers with bounds too.
        return xp.astype(x, dtype.numpy)
    own = dtypes.of(x)
    check_castable(own)
    x = by_the_readings(x, own, target)
    is_undefined = ~np.asarray(is_decided(x, target))
    if dtype.kind != "minifloat" or own == dtype:
        y = xp.astype(cast_to(x, dtype), dtype.numpy)
    else:
        values = numbers_of_texts(x, dtype) if own == DTYPES["string"] else x
        y = by_the_table(as_float64(values), target)
    return undefined_where(y, is_undefined, f"what some of these numbers become as {dtype}")


def cast_admitted(x: Choices, target: Target) -> Array:
    """Return `x`, numbers each of which may be any of several, in the target's type.

    In a floating type of 16 bits or more that is a number with an error that reaches all of them,
    else `Choices` again, with each of them cast. Raises NotSupported for a cast
    that the text does not define, while judging also of numbers that the target does not hold;
    InvalidNode for an unknown round_mode of float8e8m0.
    """
    number = cast(x.v, target)
    numbers = cast(x.admitted, target)
    if target.dtype.kind == "float":
        return hull(number, numbers, axis=-1)
    return Choices(number, numbers)


def cast_with_errors(x: Bounded, target: Target) -> Array:
    """Return `x` in a type of floats of 8 bits or less: `Choices` where errors reach a step.

    Raises NotSupported, while judging, where the text does not say what a number that the errors
    admit becomes, or where they decide between a number and NaN. Raises InvalidNode for an unknown
    round_mode of float8e8m0.
    """
    if not all(np.all(is_decided(end, target)) for end in both_ends(x)):
        leave_open(f"nothing is said of what some of these numbers become as {target.dtype}")
    return quantized([x], np.zeros(()), target)


def by_the_readings(x: Array, own: DType | None, target: Target) -> Array:
    """Return `x` such that converting it to integers follows the readings in force.

    own: the type of x, None if ONNX has none. Before version 13, integers out of range stay, and
    wrap around later, or saturate: INTEGERS_OUT_OF_RANGE. On the way to less than 8 bits, floats
    stay, and are cut off later, or are rounded, ties to even: FRACTIONS_TO_FEW_BITS. Otherwise it
    is `x` itself.
    """
    if own is None or not target.is_integer:
        return x
    if own.kind == "int" and not target.text.out_of_range:
        return within_range(x, own, target.dtype)
    if own.kind not in ("float", "minifloat") or target.dtype.bits >= 8:
        return x
    values = x.astype(np.float64)
    differs = np.isfinite(values) & (np.rint(values) != np.trunc(values))
    if differs.any() and FRACTIONS_TO_FEW_BITS.reading() == "rounded":
        return np.rint(values)
    return x


def within_range(x: Array, own: DType, dtype: DType) -> Array:
    """Return integers of type `own` cut to the range of `dtype` if they saturate.

    Otherwise they are returned as they are, and wrap around later: INTEGERS_OUT_OF_RANGE.
    """
    low = max(limits(dtype)[0], limits(own)[0])
    high = min(limits(dtype)[1], limits(own)[1])
    is_inside = (x >= low) & (x <= high)
    if is_inside.all() or INTEGERS_OUT_OF_RANGE.reading() == "wraps":
        return x
    return np.clip(x, low, high)


def is_decided(x: Array, target: Target) -> Mask:
    """Return True, or a mask, where the text gives the result of a cast.

    It does so from a type to itself, from texts, to booleans, and from integers and booleans to
    integers. To texts it does so for integers, and for floats of few digits, whose digits all
    writings share. It does not before version 13 for numbers that a float type does not hold; for
    floats that an integer does not hold, NaN among them; for float8e8m0 for what has a sign, a NaN
    too, and for 0, but 0 without `saturate` to nearest is NaN; and out of range of types of less
    than 8 bits, NaN again among them.
    """
    own = dtypes.of(x)
    dtype = target.dtype
    if own is None or own == dtype or own.kind == "string":
        return True
    if dtype.kind == "string":
        return own.kind not in ("float", "minifloat") or have_certain_digits(x)
    if dtype.kind == "bool" or (target.is_integer and own.kind in ("int", "bool")):
        return True
    low, high = limits(dtype)
    values = x.astype(np.float64)
    if dtype.kind == "float":
        return target.text.out_of_range | ~np.isfinite(values) | (np.abs(values) <= high)
    if target.is_integer:
        # "fixed point: undefined if OOR". One more than the largest of 64 bits is a float64.
        whole_part = np.trunc(values)
        return (whole_part >= low) & (whole_part < high + 1.0)
    if dtype.name == "float8e8m0":
        # The type has neither signs nor 0: "-0" and "x < 0" are "Unspecified".
        has_nan_for_0 = not target.saturate and target.round_mode == "nearest"
        return ~np.signbit(values) & (has_nan_for_0 | (values != 0))
    return (dtype.bits == 8) | ((values >= low) & (values <= high))


def saturation(saturate: int, dtype: DType) -> int:
    """Return the attribute `saturate` as a target has it: 0 or 1 for a type of floats of 8 bits.

    It "only applies for float 8 conversion": for other types it is returned as it is. A number
    other than 0 and 1 is taken for one of them, or raises InvalidNode: FLAG_OF_ANOTHER_NUMBER.
    """
    if dtype.kind != "minifloat" or dtype.bits != 8:
        return saturate
    return int(flag("saturate", saturate))


#: From a tensor and what it is converted to, to the tensor in that type.
CastFunction: TypeAlias = Callable[[Array, Target], Array]
CAST_TEXT_OF_VERSION: Mapping[int, CastText] = {
    **dict.fromkeys((1, 6, 9), BEFORE_13),
    **dict.fromkeys((13, 15, 19, 21, 23), BEFORE_24),
    **dict.fromkeys((24, 25, 28), SINCE_24),
}


def cast_texts_of(*versions: int) -> Mapping[int, CastText]:
    """Return what the text decides in each of these versions of Cast or CastLike."""
    return {since: CAST_TEXT_OF_VERSION[since] for since in versions}


@formulas_of_versions(each=cast_texts_of(1, 6, 9, *LATER))
def cast_versions(
    function: CastFunction,
    text: CastText,
    input: Array,
    *,
    to: Any,
    saturate: int = 1,
    round_mode: str = "up",
) -> Array:
    """Return `input` in the type that `to` names, by a number or, in version 1, a word.

    function: casts, as `cast` does. saturate: 1 if what is out of range of a float of 8 bits
    becomes its nearest end. round_mode: up, down or nearest, of float8e8m0. text: what the version
    says.

    Floats of many digits as texts, and what a type cannot hold where the text has no rule, may
    become anything: a judge leaves these elements out.

    Raises NotSupported for complex numbers, from booleans to texts, and from texts that represent
    no number of the type; while judging, also if all elements may become anything, or some and
    another node of a graph computes with them. Raises InvalidNode for an unknown round_mode of
    float8e8m0, and to a float of 8 bits for a `saturate` other than 0 and 1, if
    FLAG_OF_ANOTHER_NUMBER refuses it.
    """
    dtype = dtypes.named(to)
    assert dtype is not None  # The schema refuses what names no type.
    return function(input, Target(dtype, saturation(saturate, dtype), round_mode, text))


@formulas_of_versions(each=cast_texts_of(15, 19, 21, 23, 24, 25))
def cast_like_versions(
    function: CastFunction,
    text: CastText,
    input: Array,
    target_type: Array,
    *,
    saturate: int = 1,
    round_mode: str = "up",
) -> Array:
    """Return `input` in "a data type … that is the same as that of the second input".

    target_type: only its type counts. function: casts, as `cast` does. text: what the version says.

    Floats of many digits as texts, and what a type cannot hold where the text has no rule, may
    become anything: a judge leaves these elements out.

    Raises NotSupported for complex numbers, from booleans to texts, and from texts that represent
    no number of the type; while judging, also if all elements may become anything, or some and
    another node of a graph computes with them. Raises InvalidNode for an unknown round_mode of
    float8e8m0, and to a float of 8 bits for a `saturate` other than 0 and 1, if
    FLAG_OF_ANOTHER_NUMBER refuses it.
    """
    dtype = dtype_of(target_type)
    assert dtype is not None
    return function(input, Target(dtype, saturation(saturate, dtype), round_mode, text))


def dtype_of(x: Array) -> DType | None:
    """Return the element type of a tensor of any kind of numbers; None if ONNX has none."""
    return dtypes.of(np.empty(0, x.dtype))


CAST.formula(build=cast_versions)(cast)
CAST_LIKE.formula(build=cast_like_versions)(cast)


def nan_by_bits(added: int, input: Array, target: Target) -> Array:
    """Mutant of casts from float32 to bfloat16, its upper half: NaN is converted as numbers are.

    It becomes the upper 16 of its bits, after `added` to all 32: 0 cuts the lower 16 off, 0x7FFF
    rounds them. So it may become an infinity or a number. Casts to other types are right.
    Raises NotSupported and InvalidNode as `cast` does.
    """
    y = cast(input, target)
    if target.dtype.name != "bfloat16":
        return y
    bits = bare(input).view(np.uint32) + np.uint32(added)
    upper = (bits >> 16).astype(np.uint16)
    return np.where(np.isnan(y), upper.view(y.dtype), y)


CAST.mutant_table(
    {
        "nan_cut_off": ("the bits of NaN were cut off to bfloat16", partial(nan_by_bits, 0)),
        "nan_rounded": (
            "the bits of NaN were rounded like a number to bfloat16",
            partial(nan_by_bits, 0x7FFF),
        ),
    },
    *LATER,
    build=cast_versions,
    only=("float32",),
)

# ── where scales lie ──────────────────────────────────────────────────────────────────────────

#: From an axis' length, the size of a block and the number of scales: the scale of each place.
Blocks: TypeAlias = Callable[[int, int, int], Any]


def in_blocks(length: int, size: int, count: int) -> Any:
    """Return the block that each place of an axis lies in: "every scale is replicated".

    length: of the axis; size: of a block, above 0; count: the number of scales. Returns [length].
    """
    return np.arange(length) // size


def scale_of_each(
    x: Array,
    scale: Array,
    zero: Array,
    axis: int | None,
    block_size: int,
    blocks: Blocks = in_blocks,
) -> tuple[Array, Array]:
    """Return the scale and the zero point of each element of `x`, which broadcast to it.

    scale and zero (None stays None): [] or [1], one for all; [D_axis], one for each entry of the
    axis; or of the shape of x, but with one for each `block_size` elements along the axis. `axis`
    None: a scalar alone, as in version 10. blocks: the block that each place of the axis lies in.

    Raises InvalidNode for other shapes, a zero point of another shape than the scale ([] and [1]
    may mix), and an axis out of range. Readings also refuse what is allowed otherwise: a scale [1],
    ONE_ELEMENT_AS_A_SCALAR; axes unused with one for all, UNUSED_AXIS; a vector's axis 1,
    AXIS_OF_A_VECTOR; blocks beside a scale for each entry, UNUSED_BLOCK_SIZE.
    """
    shapes = {scale.shape} if zero is None else {scale.shape, zero.shape}
    # A scale [1] of an x of shape [1] is one for each entry of the axis.
    is_one_for_all = axis is None or shapes != {x.shape}
    if shapes == {()} or (shapes <= {(), (1,)} and is_one_for_all):
        check_scalars(x, shapes, axis, block_size)
        return of_both(lambda scales: xp.reshape(scales, ()), scale, zero)
    if len(shapes) > 1:
        raise InvalidNode(f"a zero point {list(zero.shape)} for scales {list(scale.shape)}")
    if axis is None:
        raise InvalidNode(f"scales of shape {list(scale.shape)}; allowed: a scalar")
    axis = axis_of_scales(x, scale, axis)
    if scale.ndim == 1 and (x.ndim > 1 or not block_size):
        return along_axis(x, scale, zero, axis, block_size)
    return along_blocks(x, scale, zero, axis, block_size, blocks)


def of_both(function: Callable[[Array], Array], scale: Array, zero: Array) -> tuple[Array, Array]:
    """Return `function` of a scale and of a zero point; None stays None."""
    return function(scale), None if zero is None else function(zero)


def check_scalars(
    x: Array, shapes: set[tuple[int, ...]], axis: int | None, block_size: int
) -> None:
    """Raise InvalidNode by readings that refuse one scale for all, though not by the text.

    shapes: those of scale and zero point, [] or [1]; `axis`: None in version 10, which has none.
    ONE_ELEMENT_AS_A_SCALAR may refuse [1], unless
    it is the scale of an axis of one entry; UNUSED_AXIS an axis that `x` does not have, unless it
    is the default, 1.
    """
    is_axis = axis is not None and -x.ndim <= axis < x.ndim
    is_along_axis = is_axis and shapes == {(1,)} and x.shape[axis] == 1 and not block_size
    if (1,) in shapes and not is_along_axis and ONE_ELEMENT_AS_A_SCALAR.reading() == "refused":
        raise InvalidNode("a scale of shape [1]; allowed: a scalar")
    is_default = axis in (None, 1)
    if not is_axis and not is_default and UNUSED_AXIS.reading() == "refused":
        raise InvalidNode(f"axis {axis} of a tensor of rank {x.ndim}")


def axis_of_scales(x: Array, scale: Array, axis: int) -> int:
    """Return the axis of scales counted from the front; a vector's axis 1, the default, is axis 0.

    "When the rank of the input is 1, per-tensor quantization is applied, rendering the axis
    unnecessary in this scenario." Raises InvalidNode for an axis out of range, and for axis 1 of a
    vector if AXIS_OF_A_VECTOR refuses it.
    """
    is_beyond_a_vector = scale.ndim == 1 and axis == 1 == x.ndim
    if is_beyond_a_vector and AXIS_OF_A_VECTOR.reading() == "first":
        axis = 0
    return from_either_end(axis, x.ndim)


def along_axis(
    x: Array, scale: Array, zero: Array, axis: int, block_size: int
) -> tuple[Array, Array]:
    """Return scale and zero point, one for each entry of an axis of x, broadcastable to x.

    The text: "`y_scale` is a 1-D tensor of length `Di`". axis: counted from the front. The shape of
    `zero` is checked before; None stays None.

    Raises InvalidNode if there are not as many scales as entries, and for a block_size other than
    0, else ignored, if UNUSED_BLOCK_SIZE refuses it.
    """
    if block_size and UNUSED_BLOCK_SIZE.reading() == "refused":
        raise InvalidNode(f"scales of rank 1 and blocks of {block_size}")
    check_shape("scales", scale, x.shape[axis : axis + 1])
    shape = (-1, *(1 for _ in x.shape[axis + 1 :]))
    return of_both(lambda scales: xp.reshape(scales, shape), scale, zero)


def along_blocks(
    x: Array, scale: Array, zero: Array, axis: int, block_size: int, blocks: Blocks
) -> tuple[Array, Array]:
    """Return scales of blocks: "`y_scale` shape is `(D0, ..., ceil(Di/B), ..., Dn)`".

    The scale and the zero point (None stays None) get the shape of x. axis: counted from the front;
    block_size: B. Raises InvalidNode for a block_size below 1, and for scales of another shape;
    that of `zero` is checked before.
    """
    if block_size < 1 or scale.ndim != x.ndim:
        raise InvalidNode(f"scales of rank {scale.ndim} and blocks of {block_size}")
    length = x.shape[axis]
    count = -(-length // block_size)
    check_shape("scales", scale, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    block_of_each = blocks(length, block_size, count)
    return of_both(lambda scales: xp.take(scales, block_of_each, axis=axis), scale, zero)


#: From x, the scale, the zero point, the axis and the size of a block: see `scale_of_each`.
Place: TypeAlias = Callable[[Array, Array, Array, int | None, int], tuple[Array, Array]]


def along_another_axis(
    other: int, x: Array, scale: Array, zero: Array, axis: int | None, block_size: int
) -> tuple[Array, Array]:
    """Mutant: scales of one axis lie along `other`, 0 or -1, if it is as long.

    Raises InvalidNode for shapes of scales and zero points that the text does not have, or that a
    reading refuses, and for an axis out of range.
    """
    fits = axis is not None and scale.ndim == 1 and x.shape[other:][:1] == scale.shape
    return scale_of_each(x, scale, zero, other if fits else axis, block_size)


def first_of_each(
    x: Array, scale: Array, zero: Array, axis: int | None, block_size: int
) -> tuple[Array, Array]:
    """Mutant: the first scale and the first zero point serve for all.

    Raises InvalidNode for shapes of scales and zero points that the text does not have, or that a
    reading refuses, and for an axis out of range.
    """
    return of_both(first_element, *scale_of_each(x, scale, zero, axis, block_size))


def first_element(x: Array) -> Array:
    """Return the first element of a tensor, of the same rank; nothing of an empty axis."""
    return x[(slice(0, 1),) * x.ndim]


def in_turns(length: int, size: int, count: int) -> Any:
    """Mutant: the places of an axis belong to the blocks in turns."""
    return np.arange(length) % max(1, count)


def in_equal_blocks(length: int, size: int, count: int) -> Any:
    """Mutant: the blocks are of one length as far as can be, whatever their size."""
    return np.arange(length) // -(-length // max(1, count))


#: Wrong places of scales, by name: a text, the versions, and what places them.
PLACES: Mapping[str, tuple[str, tuple[int, ...], Place]] = {
    "scales_along_first_axis": (
        "the scales lay along the first axis where it is as long",
        LATER,
        partial(along_another_axis, 0),
    ),
    "scales_along_last_axis": (
        "the scales lay along the last axis where it is as long",
        LATER,
        partial(along_another_axis, -1),
    ),
    "first_scale_for_all": ("the first scale served for all", LATER, first_of_each),
    "blocks_in_turns": (
        "the blocks' elements were taken in turns",
        SINCE_21,
        partial(scale_of_each, blocks=in_turns),
    ),
    "blocks_of_equal_length": (
        "an axis was split into blocks that are as equal as can be",
        SINCE_21,
        partial(scale_of_each, blocks=in_equal_blocks),
    ),
}


def real(x: Array) -> Array:
    """Return `x` as numbers of the kind in force: floats in their type, others in float64."""
    dtype = dtype_of(x)
    if dtype and dtype.kind == "float":
        return x
    return xp.astype(exact_values(x), np.float64)


# ── DequantizeLinear ──────────────────────────────────────────────────────────────────────────

DEQUANTIZE = operator("DequantizeLinear")
#: From x, the zero point, the scale and the type of the output to the product.
Product: TypeAlias = Callable[[Array, Array, Array, DType], Array]


def in_float32(x: Array, zero: Array, scale: Array, out: DType) -> Array:
    """Return (x - x_zero_point) * x_scale in float64, as float32 has it or anything finer."""
    return difference(x, zero) * real(scale)


def difference(x: Array, zero: Array) -> Array:
    """Return x - x_zero_point in float64; both of one type, in any kind of numbers, and broadcast.

    What float32 cannot hold of it may be rounded: it has an error of one rounding.
    """
    exact = exact_values(x) - exact_values(zero)
    is_held = exact.astype(np.float32) == exact
    y = xp.astype(exact, np.float64)
    return y if is_held.all() else xp.inexact(y, ~is_held)


def in_type_of_output(x: Array, zero: Array, scale: Array, out: DType) -> Array:
    """Return (x - x_zero_point) * x_scale, with the product in `out`, the output's type.

    "The output type also determines the precision of the multiplication operation", since 23.
    """
    exact = xp.astype(exact_values(x) - exact_values(zero), np.float64)
    factor = xp.astype(real(scale), out.numpy, computes=True)
    return xp.astype(exact, out.numpy, computes=True) * factor


@dataclass(frozen=True)
class Dequantizer:
    """How DequantizeLinear computes; the fields are what mutants do otherwise."""

    product: Product = in_float32
    place: Place = scale_of_each


@formulas_of_versions(each={10: False, **dict.fromkeys(LATER, True)})
def dequantize_versions(
    how: Dequantizer,
    has_axis: bool,
    x: Array,
    x_scale: Array,
    x_zero_point: Array = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Array:
    """Return y = (x - x_zero_point) * x_scale in the shape of x.

    x: where several numbers of an element are right (`Choices`), so is the product of each.
    x_scale and x_zero_point: one for all, one for each entry of `axis`, or for each block_size of
    them; in version 10 (`has_axis` False) one for all. "If `output_dtype` is not supplied then the
    output type is the same as `x_scale`." Without a zero point it is 0; of int32 one that is not 0
    is subtracted, ignored or refused: ZERO_POINT_OF_INT32. how: the steps, which mutants change.

    Raises InvalidNode for an output that is not a float, for a scale and zero point of other shapes
    than `scale_of_each` has, or of different ones, for an axis out of range, and where readings
    refuse: ZERO_POINT_OF_INT32, and those of `scale_of_each`, as of a scale [1] or an axis 1 of a
    vector.
    """
    out = dtypes.named(output_dtype) if output_dtype else dtype_of(x_scale)
    if out is None or out.kind != "float":
        raise InvalidNode(f"an output of type {out}; allowed: floats")
    number = chosen(x)
    used_axis = axis if has_axis else None
    scale, zero_point = how.place(number, x_scale, x_zero_point, used_axis, block_size)
    zero = zero_point_of(number, zero_point)
    y = how.product(number, zero, scale, out)
    if not isinstance(x, Choices):
        return y
    of_each = how.product(x.admitted, zero[..., np.newaxis], scale[..., np.newaxis], out)
    return hull(y, of_each, axis=-1)


def zero_point_of(x: Array, zero: Array) -> Array:
    """Return the zero point, which "is 0 when it's not specified" (None), in the type of x.

    One of int32 that is not 0 is subtracted, ignored, so 0, or refused: ZERO_POINT_OF_INT32. Raises
    InvalidNode if that refuses it. Where another specification decides it, as DirectML's does
    (DECIDED has LONG_ZERO), it is subtracted.
    """
    no_shift = np.zeros((), x.dtype)
    if zero is None:
        return no_shift
    is_open = x.dtype == np.int32 and zero.any() and LONG_ZERO not in DECIDED.get()
    if not is_open:
        return zero
    reading = ZERO_POINT_OF_INT32.reading()
    if reading == "refused":
        raise InvalidNode("a zero point of int32 that is not 0")
    return no_shift if reading == "ignored" else zero


DEQUANTIZE.formula(build=dequantize_versions)(Dequantizer())
DEQUANTIZE.alternative("", build=dequantize_versions)(Dequantizer(product=in_type_of_output))


def zero_point_added(x: Array, zero: Array, scale: Array, out: DType) -> Array:
    """Mutant of `in_float32`: (x + x_zero_point) * x_scale."""
    return (exact_values(x) + exact_values(zero)) * real(scale)


def zero_point_unscaled(x: Array, zero: Array, scale: Array, out: DType) -> Array:
    """Mutant of `in_float32`: x * x_scale - x_zero_point."""
    return exact_values(x) * real(scale) - exact_values(zero)


def difference_wraps(x: Array, zero: Array, scale: Array, out: DType) -> Array:
    """Mutant of `in_float32`: x - x_zero_point has the lowest bits that the type of x holds."""
    wide = x.astype(np.int64) - zero.astype(np.int64)
    return exact_values(wide.astype(x.dtype)) * real(scale)


def divided_by_scale(x: Array, zero: Array, scale: Array, out: DType) -> Array:
    """Mutant of `in_float32`: (x - x_zero_point) / x_scale."""
    return (exact_values(x) - exact_values(zero)) / real(scale)


def signs_mistaken(x: Array, zero: Array, scale: Array, out: DType) -> Array:
    """Mutant of `in_float32`: signed numbers are read as unsigned ones, and those as signed."""
    mistaken = same_bits(x, **OTHER_SIGNEDNESS)
    return in_float32(mistaken, same_bits(zero, **OTHER_SIGNEDNESS), scale, out)


def same_bits(x: Array, **types: str) -> Array:
    """Return `x` as numbers of another type with the same bits, by the names of the types.

    types: a type's name to that of another as wide; numbers of other types are returned as they
    are.
    """
    if x.dtype.name not in types:
        return x
    return x.view(DTYPES[types[x.dtype.name]].numpy)


#: The type with the same bits that each type may be mistaken for: unsigned for signed, and the
#: other way round.
OTHER_SIGNEDNESS = {"int8": "uint8", "int16": "uint16", "uint8": "int8", "uint16": "int16"}
#: The types that have zero points: int32 has none.
SHIFTED = [name for name in (*NARROW, *OTHER_SIGNEDNESS) if name != "float8e8m0"]
SHIFTED_INTEGERS = [name for name in SHIFTED if DTYPES[name].kind == "int"]

#: Wrong products by name: a text, the product, and the types in which it is wrong if not all.
PRODUCTS: Mapping[str, tuple[Any, ...]] = {
    "zero_point_added": ("the zero point was added", zero_point_added, *SHIFTED),
    "zero_point_unscaled": (
        "the zero point was subtracted after the product",
        zero_point_unscaled,
        *SHIFTED,
    ),
    "difference_wraps": (
        "the difference was taken in the tensor's own type",
        difference_wraps,
        *SHIFTED_INTEGERS,
    ),
    "divided_by_scale": ("it was divided by the scale", divided_by_scale),
    "signs_mistaken": (
        "signed numbers were taken for unsigned ones, and those for signed",
        signs_mistaken,
        *OTHER_SIGNEDNESS,
    ),
}
DEQUANTIZE.mutant_table(
    {
        name: (text, Dequantizer(product=product), *only)
        for name, (text, product, *only) in PRODUCTS.items()
    },
    build=dequantize_versions,
)
for _name, (_text, _versions, _place) in PLACES.items():
    DEQUANTIZE.mutant(_text, *_versions, name=_name, build=dequantize_versions)(
        Dequantizer(place=_place)
    )

# ── QuantizeLinear ────────────────────────────────────────────────────────────────────────────

QUANTIZE = operator("QuantizeLinear")
#: From x, the scale and the type of the division to the quotients; see `quantized`.
Divide: TypeAlias = Callable[[Array, Array, DType], Sequence[Array]]
#: From quotients, the zero point and the output's type to the output.
Convert: TypeAlias = Callable[[Array, Array, Target], Array]


def divided(x: Array, scale: Array, dtype: DType) -> Sequence[Array]:
    """Return x / y_scale, divided in `dtype`, and besides in a finer type if that is as right.

    "The type of `y_scale` determines the precision of the division operation", unless `precision`
    does. For a `dtype` of 16 bits there are two quotients, in `dtype` and in float32, which is
    finer; for float64 one in it; for any other type, integers too, one in float32.
    """
    wide = dtype if dtype.name == "float64" else DTYPES["float32"]
    types = [dtype, wide] if dtype.name in ("float16", "bfloat16") else [wide]
    quotients = []
    for type_ in types:
        numerator = xp.astype(real(x), type_.numpy, computes=True)
        quotients.append(numerator / xp.astype(real(scale), type_.numpy, computes=True))
    return quotients


def converted(q: Array, zero: Array, out: Target) -> Array:
    """Return saturate(q + y_zero_point), with q rounded to the nearest even, as numbers of `out`.

    q: quotients of any kind of numbers; zero: broadcasts to them. Of a type of floats the sum is
    rounded; out of range it is the nearest end if `out` saturates, else infinite, or NaN in a type
    without infinities; infinities before version 24 follow INFINITIES_WITHOUT_SIGNED_ZEROS. What
    becomes of NaN as an integer is not defined.

    Raises InvalidNode for an unknown round_mode of float8e8m0.
    """
    q = as_real_float64(q)
    if out.is_integer:
        low, high = limits(out.dtype)
        return bare(xp.clip(xp.round(q) + zero, low, high)).astype(out.dtype.numpy)
    return by_the_table(bare(q + zero), out)


def as_real_float64(q: Array) -> Array:
    """Return numbers of any kind in float64."""
    return np.asarray(q, np.float64) if bare(q) is q else xp.astype(q, np.float64)


def quantized(
    quotients: Sequence[Array],
    zero: Array,
    out: Target,
    is_exact: Mask = False,
    convert: Convert = converted,
) -> Array:
    """Return numbers of `out`: what `convert` makes of quotients and the zero point.

    `quotients` are the same x / y_scale, divided in types that are as right; the first gives the
    value. If they are bounded, all numbers between what their least and their greatest values, by
    their errors, become are right too. `is_exact` masks quotients whose error does not count. The
    result is an array if one number is left for each element, else `Choices`, which list them. NaN
    may become any number of a type without NaN.

    Raises NotSupported, while judging: in a type of floats, for a zero point other than 0, unless
    all quotients are whole numbers of the type; where a quotient may be infinite or NaN by an
    overflow, or the errors decide between a number and NaN; and for too many NaN to list what they
    become. Raises what `convert` raises: InvalidNode for an unknown round_mode of float8e8m0.
    """
    first = quotients[0]
    values = rounded_values(first)
    if not out.is_integer and np.any(zero) and not are_whole_in(out.dtype, values):
        leave_open("it is not said to what is rounded before a zero point of floats is added")
    if not isinstance(first, Bounded):
        return convert(first, zero, out)
    if first.lost is not None and first.lost.any():
        leave_open("what is rounded may be infinite or NaN")
    ends: list[Array] = []
    for quotient in quotients:
        ends += ends_of(quotient, zero, out, is_exact, convert)
    if (np.isnan(ends) != np.isnan(ends[0])).any():
        leave_open("what is rounded may be out of range")
    low = np.minimum.reduce(ends).astype(out.dtype.numpy)
    high = np.maximum.reduce(ends).astype(out.dtype.numpy)
    y = admitted(convert(values, zero, out), low, high)
    return y if out.has_nan else with_any_for_nan(y, np.isnan(values), out.dtype)


def rounded_values(q: Array) -> Any:
    """Return quotients as a plain array of float64, with values that their own type holds.

    q: numbers of any kind. Bounded ones have values of more digits, which are rounded to the type.
    """
    if not isinstance(q, Bounded):
        return bare(q).astype(np.float64)
    return q.v.astype(np.float64).astype(q.dtype).astype(np.float64)


def are_whole_in(dtype: DType, values: Any) -> bool:
    """Return True if all values are whole numbers that a type of floats holds.

    NaN is none; an infinity counts as one if the type has it. values: a plain array of float64.
    """
    return bool((values == np.rint(values.astype(dtype.numpy).astype(np.float64))).all())


def ends_of(
    quotient: Bounded, zero: Array, out: Target, is_exact: Mask, convert: Convert
) -> list[Array]:
    """Return what the least and what the greatest value of each quotient become, in float64.

    These are two arrays of the output's shape, of v - e and of v + e. is_exact: a mask of the
    quotients whose error e does not count. convert: makes numbers of `out` from quotients and the
    zero point. Raises what `convert` raises.
    """
    return [convert(end, zero, out).astype(np.float64) for end in both_ends(quotient, is_exact)]


def both_ends(x: Bounded, is_exact: Mask = False) -> list[Array]:
    """Return v - e and v + e in float64: the least and the greatest value by the error e.

    That has the last rounding in it. is_exact: a mask of the numbers whose error does not count.
    """
    x = x.with_rounding()
    error = 0.0 if x.e is None else np.where(is_exact, 0.0, x.e)
    return [(x.v - error).astype(np.float64), (x.v + error).astype(np.float64)]


def admitted(y: Array, low: Array, high: Array) -> Array:
    """Return `y`, and whatever else lies from `low` to `high`, all of one dtype and shape.

    It is `y` itself if both ends are equal, or NaN, in every element. Else `Choices`: of integers
    with all between both ends, of floats with `y` and the two ends alone.
    """
    if ((low == high) | (low != low)).all():
        return y
    dtype = dtypes.of(y)
    if dtype and dtype.kind != "int":
        return Choices(y, np.stack([y, low, high], axis=-1))
    first = low.astype(np.int64)[..., np.newaxis]
    last = high.astype(np.int64)[..., np.newaxis]
    numbers = first + np.arange(1 + (last - first).max())
    return Choices(y, np.minimum(numbers, last).astype(y.dtype))


def each_admitted(y: Array) -> Array:
    """Return all that is admitted of each element, along another axis, the last."""
    return y.admitted if isinstance(y, Choices) else np.asarray(y)[..., np.newaxis]


def chosen(y: Array) -> Array:
    """Return the number that comes first of what is admitted of each element."""
    return y.v if isinstance(y, Choices) else y


def with_any_for_nan(y: Array, is_nan: Any, dtype: DType) -> Array:
    """Return `y`, in which elements of the mask `is_nan` may be any number of a type without NaN.

    Without any it is `y` itself. Raises NotSupported, while judging, if all elements times the
    numbers of the type are more than MAX_LISTED; a backend then goes on with `y`.
    """
    if not is_nan.any():
        return y
    count = 1 << dtype.bits
    if is_nan.size * count > MAX_LISTED:
        leave_open("what NaN becomes")
        return y
    every = every_number(dtype)
    before = each_admitted(y)
    repeated = np.repeat(before[..., :1], count - before.shape[-1], axis=-1)
    listed = np.concatenate([before, repeated], axis=-1)
    return Choices(chosen(y), np.where(is_nan[..., np.newaxis], every, listed))


def every_number(dtype: DType) -> Array:
    """Return all numbers of a type without NaN and of few bits, in any order."""
    bits = np.arange(1 << dtype.bits)
    if dtype.kind == "int":
        return bits.astype(dtype.numpy)
    return bits.astype(np.uint8).view(dtype.numpy)


@dataclass(frozen=True)
class Quantizer:
    """How QuantizeLinear computes; the fields are what mutants do otherwise."""

    divide: Divide = divided
    place: Place = scale_of_each
    convert: Convert = converted


@dataclass(frozen=True)
class QuantizeText:
    """What a version of QuantizeLinear has.

    Attributes:
        has_axis: Scales may be those of an axis.
        states_precision: The text states in which type x is divided.
        cast: What its tables decide, which are those of Cast.
    """

    has_axis: bool = True
    states_precision: bool = True
    cast: CastText = SINCE_24


QUANTIZE_10 = QuantizeText(has_axis=False, states_precision=False, cast=BEFORE_24)
QUANTIZE_13 = QuantizeText(states_precision=False, cast=BEFORE_24)
QUANTIZE_23 = QuantizeText(cast=BEFORE_24)
QUANTIZE_24 = QuantizeText()


@formulas_of_versions(
    each={
        10: QUANTIZE_10,
        **dict.fromkeys((13, 19, 21), QUANTIZE_13),
        23: QUANTIZE_23,
        **dict.fromkeys((24, 25, 28), QUANTIZE_24),
    }
)
def quantize_versions(
    how: Quantizer,
    text: QuantizeText,
    x: Array,
    y_scale: Array,
    y_zero_point: Array = None,
    *,
    axis: int = 1,
    saturate: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
) -> Array:
    """Return y = saturate((x / y_scale) + y_zero_point), in the shape of x.

    y has the type output_dtype, else that of the zero point, else uint8. A scale is one for all,
    for an entry of `axis`, or for block_size of them. precision: the type to divide in, else that
    of the scale. saturate: concerns floats of 8 bits. NaN may be any number of a type without it.
    Where errors of the division admit several numbers, y is `Choices`.
    how: the steps, which mutants change; text: what the version says.

    Raises InvalidNode if output_dtype and the type of the zero point differ, for a `saturate` other
    than 0 and 1 if FLAG_OF_ANOTHER_NUMBER refuses it, for a scale and zero point of shapes that
    `scale_of_each` does not have, for an axis out of range, and where its readings refuse. Raises
    NotSupported, while judging, for what the text does not define: scales of 0 or nearly, infinite
    or NaN, a precision that is not of floats, fractions divided in integers, what float16 does not
    hold, in a type of floats a zero point other than 0 beside fractions and what rounding may take
    out of range, and for too many NaN to list what they become.
    """
    dtype = dtype_of_output(output_dtype, y_zero_point)
    saturates = 1 if dtype.bits < 8 else saturation(saturate, dtype)
    out = Target(dtype, saturates, text=text.cast)
    divides = dtype_of_division(precision, y_scale)
    used_axis = axis if text.has_axis else None
    scale, zero = how.place(x, y_scale, y_zero_point, used_axis, block_size)
    check_division(x, scale, divides, is_stated=text.states_precision)
    is_exact = are_exact(x, scale, divides)
    shift = 0 if zero is None else exact_values(zero)
    return quantized(how.divide(x, scale, divides), shift, out, is_exact, how.convert)


def dtype_of_output(output_dtype: int, zero_point: Array) -> DType:
    """Return the type of y: `output_dtype`, else the zero point's, else uint8.

    output_dtype: by its number, 0 if it is left out; zero_point: None if it is. A node whose
    `output_dtype` is the number of no type that y may have was refused before. "If both
    `output_dtype` and `y_zero_point` are specified, `output_dtype` must be `T3`": raises
    InvalidNode if they differ.
    """
    stated = dtypes.named(output_dtype) if output_dtype else None
    of_zero_point = None if zero_point is None else dtypes.of(zero_point)
    is_contradicted = output_dtype and of_zero_point not in (None, stated)
    reject(is_contradicted, f"output {stated}, zero point {of_zero_point}")
    return stated or of_zero_point or DTYPES["uint8"]


def dtype_of_division(precision: int, scale: Array) -> DType:
    """Return the type to divide in: `precision`, by its number, else, if that is 0, the scale's.

    Raises NotSupported, while judging, for a precision that is not a type of floats; otherwise it
    is float32 then.
    """
    if not precision:
        dtype = dtype_of(scale)
        assert dtype is not None  # The schema lists the types of scales.
        return dtype
    stated = dtypes.named(precision)
    if stated is not None and stated.kind == "float":
        return stated
    leave_open("nothing is said of divisions in what is no float")
    return DTYPES["float32"]


#: The sizes of scales that are normal numbers of float32, as their reciprocals are.
FLOAT32_SCALES = (2.0**-126, 2.0**126)
#: The sizes of scales that are normal numbers of float16.
FLOAT16_SCALES = (2.0**-14, 65504.0)
#: The least quotient that counts as exact: the smallest normal number of float16, in any type.
LEAST_QUOTIENT = 2.0**-14


def check_division(x: Array, scale: Array, divides: DType, *, is_stated: bool) -> None:
    """Raise NotSupported, while judging, for quotients that the text does not define.

    Those are of scales that are 0, NaN, infinite or beyond FLOAT32_SCALES; in float16 (`divides`)
    of scales beyond FLOAT16_SCALES and finite numbers beyond its range; and, if the text states the
    precision (`is_stated`), those with fractions in a type of integers.
    """
    numerator = xp.values_of(real(x))
    divisor = xp.values_of(real(scale))
    size = np.abs(divisor)
    if not ((size >= FLOAT32_SCALES[0]) & (size <= FLOAT32_SCALES[1])).all():
        leave_open("nothing is said of scales by which nothing or hardly anything can be divided")
    if divides.name == "float16":
        finite = np.abs(np.where(np.isfinite(numerator), numerator, 0))
        is_held = (size >= FLOAT16_SCALES[0]) & (size <= FLOAT16_SCALES[1])
        if (finite > FLOAT16_SCALES[1]).any() or not is_held.all():
            leave_open("float16 does not hold what is divided")
    if is_stated and divides.kind == "int" and (np.fmod(numerator, divisor) != 0).any():
        leave_open("nothing is said of divisions in what is no float")


def are_exact(x: Array, scale: Array, divides: DType) -> Mask:
    """Return a mask of the quotients that are exact in the type of the division, `divides`.

    Those are finite numbers that the type holds (float32 for a type of integers), divided by powers
    of two of either sign, with a quotient of 0 or of at least LEAST_QUOTIENT in size. One too large
    for the type counts too: y, narrower, does not hold it either. A quotient of what has an error,
    as what a model computes before has, is not exact.
    """
    numerator = xp.values_of(real(x))
    size = np.abs(xp.values_of(real(scale)))
    held = divides if divides.kind == "float" else DTYPES["float32"]
    is_power_of_two = np.frexp(size)[0] == 0.5
    is_held = numerator == numerator.astype(held.numpy)
    finite = np.abs(np.where(np.isfinite(numerator), numerator, 0))
    is_normal = (finite >= size * LEAST_QUOTIENT) | (numerator == 0)
    return is_power_of_two & is_held & is_normal & is_without_error(x) & is_without_error(scale)


def is_without_error(x: Array) -> Mask:
    """Return a mask of the elements of `x` that have no error; True for a plain array."""
    if not isinstance(x, Bounded):
        return True
    e = x.with_rounding().e
    return True if e is None else e == 0


QUANTIZE.formula(build=quantize_versions)(Quantizer())

#: A rule by which numbers become whole.
Rule: TypeAlias = Callable[[Any], Any]
#: From a quotient rounded, the quotient, the zero point and the ends of a type to its numbers.
OfIntegers: TypeAlias = Callable[[Any, Any, Any, int, int], Any]


def half_away_from_zero(q: Any) -> Any:
    """Mutant of a rule: ties go away from 0."""
    return np.copysign(np.floor(np.abs(q) + 0.5), q)


def half_up(q: Any) -> Any:
    """Mutant of a rule: ties go up."""
    return np.floor(q + 0.5)


def of_integers_by(rule: Rule, q: Array, zero: Array, out: Target) -> Array:
    """Mutant: quotients are rounded by another rule for types of integers.

    If `out` is of floats, raises InvalidNode for an unknown round_mode of float8e8m0.
    """
    if not out.is_integer:
        return converted(q, zero, out)
    return converted(rule(bare(q).astype(np.float64)), zero, out)


def of_minifloats_by(rule: Rule, q: Array, zero: Array, out: Target) -> Array:
    """Mutant: quotients are rounded by another rule for types of floats.

    Raises InvalidNode for an unknown round_mode of float8e8m0.
    """
    if out.is_integer:
        return converted(q, zero, out)
    q = bare(q).astype(np.float64)
    exponent = np.frexp(q)[1] - out.dtype.precision
    step = np.ldexp(1.0, np.maximum(exponent, out.dtype.min_exponent))
    return converted(rule(q / step) * step, zero, out)


def integers_first(q: Array, zero: Array, out: Target) -> Array:
    """Mutant of `converted`: quotients are rounded to integers first, ties to even.

    So they are for floating types, too, where `converted` rounds to the type alone.

    Raises InvalidNode for an unknown round_mode of float8e8m0.
    """
    return converted(xp.round(q), zero, out)


def integers_wrongly(convert: OfIntegers, q: Array, zero: Array, out: Target) -> Array:
    """Mutant: numbers of a type of integers are made by `convert`.

    If `out` is of floats, raises InvalidNode for an unknown round_mode of float8e8m0.
    """
    if not out.is_integer:
        return converted(q, zero, out)
    q = bare(q).astype(np.float64)
    low, high = map(int, limits(out.dtype))
    y = convert(np.rint(q), q, zero, low, high)
    within_64_bits = np.nan_to_num(np.clip(y, -(2.0**62), 2.0**62))
    return within_64_bits.astype(np.int64).astype(out.dtype.numpy)


def rounded_last(rounded_q: Any, q: Any, zero: Any, low: int, high: int) -> Any:
    """Mutant: saturate(round(q + zero))."""
    return np.clip(np.rint(q + zero), low, high)


def zero_point_subtracted(rounded_q: Any, q: Any, zero: Any, low: int, high: int) -> Any:
    """Mutant: saturate(round(q) - zero)."""
    return np.clip(rounded_q - zero, low, high)


def wraps(rounded_q: Any, q: Any, zero: Any, low: int, high: int) -> Any:
    """Mutant: numbers out of range keep their lowest bits."""
    return rounded_q + zero


def saturates_first(rounded_q: Any, q: Any, zero: Any, low: int, high: int) -> Any:
    """Mutant: saturate(saturate(round(q)) + zero)."""
    return np.clip(np.clip(rounded_q, low, high) + zero, low, high)


def narrow_range(rounded_q: Any, q: Any, zero: Any, low: int, high: int) -> Any:
    """Mutant: a signed type's lowest number is the largest one's opposite."""
    return np.clip(rounded_q + zero, low + (low < 0), high)


def unsigned_range(rounded_q: Any, q: Any, zero: Any, low: int, high: int) -> Any:
    """Mutant: a signed type has the range of the unsigned one."""
    return np.clip(rounded_q + zero, 0, high - low)


def low_beyond_32_bits(rounded_q: Any, q: Any, zero: Any, low: int, high: int) -> Any:
    """Mutant: quotients that 32 bits cannot hold become the lowest number."""
    return np.where(np.abs(rounded_q) < 2.0**31, np.clip(rounded_q + zero, low, high), low)


#: Wrong rules by name: a text, and the rule.
RULES: NamedMutants[Rule] = {
    "ties_away": ("ties were rounded away from 0", half_away_from_zero),
    "truncated": ("what is no number of the type was cut off", np.trunc),
    "rounded_down": ("it was rounded down", np.floor),
    "ties_up": ("ties were rounded up", half_up),
}
#: Wrong numbers of integers by name: a text, and what makes them.
INTEGERS: NamedMutants[OfIntegers] = {
    "rounded_last": ("it was rounded after the zero point had been added", rounded_last),
    "zero_point_subtracted": ("the zero point was subtracted", zero_point_subtracted),
    "wraps": ("numbers out of range wrapped around", wraps),
    "saturates_first": (
        "quotients were saturated before the zero point was added",
        saturates_first,
    ),
    "narrow_range": ("signed types had no lowest number", narrow_range),
    "unsigned_range": ("signed types had the range of unsigned ones", unsigned_range),
    "low_beyond_32_bits": (
        "what 32 bits cannot hold was the lowest number",
        low_beyond_32_bits,
    ),
}
#: Wrong conversions of quotients to integers, by name: a text, and the conversion.
TO_INTEGERS: NamedMutants[Convert] = {
    **{
        f"{name}_ints": (f"{text}, of ints", partial(of_integers_by, rule))
        for name, (text, rule) in RULES.items()
    },
    **{
        name: (text, partial(integers_wrongly, convert))
        for name, (text, convert) in INTEGERS.items()
    },
}
#: And to floats of 8 bits or fewer, which came with version 19.
TO_MINIFLOATS: NamedMutants[Convert] = {
    **{
        f"{name}_minifloats": (f"{text}, of minifloats", partial(of_minifloats_by, rule))
        for name, (text, rule) in RULES.items()
    },
    "integers_first": ("quotients were rounded to integers, whatever the type", integers_first),
}
for _name, (_text, _convert) in TO_INTEGERS.items():
    QUANTIZE.mutant(_text, name=_name, build=quantize_versions)(Quantizer(convert=_convert))
for _name, (_text, _convert) in TO_MINIFLOATS.items():
    QUANTIZE.mutant(_text, *SINCE_19, name=_name, build=quantize_versions)(
        Quantizer(convert=_convert)
    )


def multiplied(x: Array, scale: Array, dtype: DType) -> Sequence[Array]:
    """Mutant: x * y_scale."""
    return [real(x) * real(scale)]


QUANTIZE.mutant(
    "it was multiplied by the scale", name="multiplied_by_scale", build=quantize_versions
)(Quantizer(divide=multiplied))
for _name, (_text, _versions, _place) in PLACES.items():
    QUANTIZE.mutant(_text, *_versions, name=_name, build=quantize_versions)(Quantizer(place=_place))

# ── DynamicQuantizeLinear ─────────────────────────────────────────────────────────────────────

DYNAMIC = operator("DynamicQuantizeLinear")
#: From x to both ends of its range; from these and the scale to the zero point.
Ends: TypeAlias = Callable[[Array], tuple[Array, Array]]
Point: TypeAlias = Callable[[Array, Array, Array], Array]
#: Scales up to here are open, as one of 0 is; by those above float32 divides as the text has it.
LEAST_SCALE = 2.0**-100


def ends_with_zero(x: Array) -> tuple[Array, Array]:
    """Return minimum(0, min(x)) and maximum(0, max(x)): "adjusted to include 0".

    x: not empty; with a NaN in it, both are NaN.
    """
    return xp.minimum(xp.min(x), 0.0), xp.maximum(xp.max(x), 0.0)


def point_of_the_least(low: Array, high: Array, scale: Array) -> Array:
    """Return intermediate_zero_point = qmin - min(x)/y_scale, where qmin is 0."""
    return -low / scale


@dataclass(frozen=True)
class DynamicQuantizer:
    """How DynamicQuantizeLinear computes; the fields are what mutants do otherwise.

    Attributes:
        ends: The range of the data.
        steps: qmax - qmin.
        point: The zero point before it is rounded.
        convert_point: Rounds and saturates the zero point.
        convert: Rounds and saturates the elements.
    """

    ends: Ends = ends_with_zero
    steps: float = 255.0
    point: Point = point_of_the_least
    convert_point: Convert = converted
    convert: Convert = converted


UINT8 = Target(DTYPES["uint8"])


@formulas_of_versions(11)
def dynamic_quantize(how: DynamicQuantizer, x: Array) -> tuple[Array, Array, Array]:
    """Return y, y_scale and y_zero_point.

    how: the steps, which mutants change. y is uint8 in the shape of x; y_scale, in the type of x,
    and y_zero_point, uint8, are scalars.

        y_scale = (maximum(0, max(x)) - minimum(0, min(x))) / (qmax - qmin),
        y_zero_point = cast(round(saturate(qmin - min(x)/y_scale))),
        y = saturate(round(x / y_scale) + y_zero_point).

    Where the errors of x and of the scale admit several numbers, y and y_zero_point are `Choices`.

    Raises NotSupported, while judging, for an empty x, whose scale and zero point are 0 otherwise,
    for a y_scale that is NaN, 0 or up to LEAST_SCALE, or too large for float32, where x is all
    zeros, or holds infinities or NaN; and where an element of x may be infinite or NaN.
    """
    if not x.size:
        leave_open("nothing is said of the range of nothing")
        return np.zeros(x.shape, np.uint8), np.zeros((), x.dtype), np.zeros((), np.uint8)
    low, high = how.ends(x)
    scale = (high - low) / how.steps
    values = xp.values_of(scale)
    largest = limits(DTYPES["float32"])[1]
    if not ((values > LEAST_SCALE) & (values * 255 < largest)).all():
        leave_open("nothing is said of what is divided by 0, or of what is no number")
    zero = quantized([how.point(low, high, scale)], 0, UINT8, convert=how.convert_point)
    # The scale is what float32 has of it, or, where that is not kept, anything finer.
    quotients = [x / xp.astype(np.float32(values), np.float32), x / scale]
    return by_each_point(quotients, zero, how.convert), scale, zero


def by_each_point(quotients: Sequence[Array], zero: Array, convert: Convert) -> Array:
    """Return y, uint8 in the shape of the quotients, by any zero point that is admitted.

    zero: a uint8, or `Choices` with several. The first point decides, and all that lies between the
    results of any is admitted: the return value has it as `Choices`, unless one number each is
    left. Raises NotSupported, while judging, where a quotient may be infinite or NaN, and for too
    many NaN.
    """
    points = [np.asarray(chosen(zero))]
    if isinstance(zero, Choices):
        points = [*points, *np.ravel(zero.admitted)]
    results = [
        quantized(quotients, exact_values(point), UINT8, convert=convert) for point in points
    ]
    every = np.concatenate([each_admitted(y) for y in results], axis=-1)
    return admitted(chosen(results[0]), every.min(-1), every.max(-1))


DYNAMIC.formula(build=dynamic_quantize)(DynamicQuantizer())


def ends_of_the_data(x: Array) -> tuple[Array, Array]:
    """Mutant: the range need not include 0."""
    return xp.min(x), xp.max(x)


def ends_around_zero(x: Array) -> tuple[Array, Array]:
    """Mutant: the range is as wide on both sides of 0."""
    farthest = xp.max(xp.abs(x))
    return -farthest, farthest


def point_of_the_greatest(low: Array, high: Array, scale: Array) -> Array:
    """Mutant: the zero point is max(x)/y_scale."""
    return high / scale


DYNAMIC.mutant_table(
    {
        "range_without_zero": (
            "the range was not adjusted to include 0",
            DynamicQuantizer(ends=ends_of_the_data),
        ),
        "range_of_256_steps": ("the range had 256 steps", DynamicQuantizer(steps=256.0)),
        "symmetric_range": (
            "the range was as wide on both sides of 0",
            DynamicQuantizer(ends=ends_around_zero),
        ),
        "zero_point_of_the_greatest": (
            "the zero point was that of the greatest element",
            DynamicQuantizer(point=point_of_the_greatest),
        ),
        "zero_point_truncated_ints": (
            "the zero point was cut off",
            DynamicQuantizer(convert_point=TO_INTEGERS["truncated_ints"][1]),
        ),
        **{
            name: (TO_INTEGERS[name][0], DynamicQuantizer(convert=TO_INTEGERS[name][1]))
            for name in ("truncated_ints", "rounded_down_ints", "zero_point_subtracted")
        },
    },
    build=dynamic_quantize,
)
