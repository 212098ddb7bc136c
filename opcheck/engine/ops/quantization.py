"""Elements in another type, each value rounded once, and numbers in few bits.

QuantizeLinear is y = saturate(x / scale + zero point), DequantizeLinear x = (y − zero point)·scale.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.dtypes import DTYPES, NARROW, DType, limits, round_to
from opcheck.engine.axes import from_either_end
from opcheck.engine.operators import (
    check_one_of,
    check_shape,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.errors import InvalidNode, decline, reject
from opcheck.model import Array
from opcheck.numbers.bounded.array import Bounded
from opcheck.numbers.bounded.choice import Indices
from opcheck.numbers.faulty import bare
from opcheck.numbers.plain import values_of as exact_values

NAMES = """Cast CastLike DequantizeLinear DynamicQuantizeLinear QuantizeLinear"""
CAST, LIKE = operator("Cast", exact=True), operator("CastLike", exact=True)
DEQUANTIZE, DYNAMIC, QUANTIZE = map(operator, NAMES.split()[2:])
LONG_ZERO = "there is no zero point of int32"
#: The versions of Cast, and of those that quantize, after their first ones.
_LATER: tuple[int, ...] = (13, 19, 21, 23, 24, 25, 28)
#: Every integer up to here is a number of float64.
_EXACT = 1 << 53
# Numbers as texts, by what Cast-9 and later say of them.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,15})?", re.ASCII | re.IGNORECASE)
_SPECIAL = {"+inf": np.inf, "inf": np.inf, "nan": np.nan}


def check_castable(one: DType | None) -> None:
    """Raise NotSupported for complex numbers."""
    decline(one is None or one.kind == "complex", f"unsupported by opcheck: casts of {one}")


@xp.primitive
def cast_to(x: Array, dtype: DType) -> Array:
    """`x` in another type.

    Floats are rounded to nearest, ties to even, and infinite where they are out of range. To
    integers they are cut off; where these cannot hold them, nothing is said of the result, and they
    come out as the nearest end, NaN as 0. Integers keep their lowest bits. Raises NotSupported for
    texts about which the standard says nothing.
    """
    check_castable(own := dtypes.of(x))
    check_castable(dtype)
    if own and own.kind == "string" and dtype != own:
        x = _read(x, dtype)
    if own and own.name in NARROW:
        x = x.astype(np.int8 if own.kind == "int" else np.float64)
    match dtype.kind:
        case "string":
            return x if x.dtype == object else _written(x)
        case "bool":
            return np.asarray(x != 0)
        case "int" if x.dtype.kind in "biu":
            return x.astype(dtype.numpy)
        case "int":
            # ONNX's node tests have the lowest bits of what types of 4 and 2 bits cannot hold.
            whole = _cut_off(x.astype(np.float64), DTYPES["int64"] if dtype.bits < 8 else dtype)
            return whole.astype(dtype.numpy)
        case _ if dtype.name == "float64" or x.dtype == dtype.numpy:
            return x.astype(dtype.numpy)
        case _:
            return round_to(_as_float64(x), dtype)


@xp.primitive
def to_minifloat(x: Array, dtype: DType, saturate: int, round_mode: str) -> Array:
    """Numbers of float64 in a type of 8 bits or less, rounded to nearest, ties to even.

    In float8e8m0, which has powers of two alone, as `round_mode` says. Out of range they come out
    as the nearest end where they `saturate`; nothing is said of types that are not of 8 bits.
    """
    low, high = limits(dtype)
    outside = (x < low) | (x > high)
    if saturate:
        x = np.clip(x, low, high)
    if dtype.name == "float8e8m0":
        part, exponent = np.frexp(x)
        up = {"up": part > 0.5, "down": part >= 1, "nearest": part >= 0.75}  # Of 0.5 to 1.
        check_one_of("round_mode", round_mode, *up)
        x = np.where(np.isnan(x), x, np.ldexp(1.0, exponent - 1 + up[round_mode]))
        x = x if saturate else np.where(outside, np.nan, x)
    return round_to(x, dtype)


def _as_float64(x: Array) -> Array:
    """`x` in float64; integers beyond 2^53 by rounding to odd, which a later rounding undoes.

    Of the two neighbors in float64, that one is taken whose last digit is odd: rounded again, to
    two digits less or fewer, it gives what the integer itself gives.
    """
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    low = x & x.dtype.type(0x7FF)
    odd = (x - low) | ((low != 0).astype(x.dtype) << x.dtype.type(11))
    exact = (x <= _EXACT) & (x >= (-_EXACT if x.dtype.kind == "i" else 0))
    return np.where(exact, x, odd).astype(np.float64)


def _cut_off(x: Array, dtype: DType) -> Array:
    low, high = map(int, limits(dtype))
    values = np.trunc(np.where(np.isnan(x), 0.0, x))
    # The largest number of 64 bits is none of float64, but one more is.
    inside = (values >= low) & (values < high + 1)
    whole = np.where(inside, values, 0.0).astype(np.int64 if low else np.uint64)
    ends = np.where(values < 0, np.array(low, dtype.numpy), np.array(high, dtype.numpy))
    return np.where(inside, whole.astype(dtype.numpy), ends)


def _each(function: Callable[[Any], Any], x: Array, dtype: Any) -> Array:
    return np.fromiter(map(function, x.reshape(-1)), dtype, x.size).reshape(x.shape)


def _read(x: Array, dtype: DType) -> Array:
    """The numbers that texts represent, such that rounding them to `dtype` rounds once.

    They are float64 for floating types, else `dtype`. Raises NotSupported where the text
    says nothing: for non-numerical ones, floating-point values on the way to an integer, integers
    out of range, and booleans.
    """
    if dtype.kind in ("float", "minifloat"):
        exact = dtype.name == "float64"
        return _each(lambda text: _floating(text, exact), x, np.float64)
    decline(dtype.kind == "bool", "the text does not say which texts are true")
    return _each(lambda text: _integer(text, dtype), x, dtype.numpy)


@lru_cache(1 << 16)  # A case is evaluated on the same texts several times.
def _floating(text: str, nearest: bool) -> float:
    """The nearest float64 of a number, or of the two next to it the one whose last digit is odd."""
    if text == "-INF":  # It alone is said in capitals.
        return -np.inf
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    decline(not _NUMBER.fullmatch(text), f"opcheck reads no number in {text!r}")
    value, exact = float(text), Decimal(text)
    if nearest or Decimal(value) == exact or np.float64(value).view(np.int64) & 1:
        return value
    return float(np.nextafter(value, np.inf if exact > Decimal(value) else -np.inf))


def _integer(text: str, dtype: DType) -> int:
    low, high = limits(dtype)
    if not re.fullmatch("[+-]?[0-9]+", text) or not low <= (exact := Decimal(text)) <= high:
        raise_unspecified(f"converting {text!r} to {dtype}")
    return int(exact)


def _written(x: Array) -> Array:
    """Numbers as texts, of floats in some digits that tell them apart, without an exponent."""
    decline(x.dtype == np.bool_, "the text does not say what texts booleans become")
    if x.dtype.kind in "iu":
        return _each(str, x, object)
    leave_open("the text does not say how many digits a float's text has")
    return _each(_plain, x, object)


def _plain(value: Any) -> str:
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "INF" if value > 0 else "-INF"
    return np.format_float_positional(value, trim="-")


def _is_said(x: Array, dtype: DType, *, beyond: bool, zero: bool) -> Any:
    """The elements for which the text gives the result of a cast.

    `beyond` whether it does so of infinities for what floats lack, and of the bits of what integers
    lack; `zero` whether float8e8m0 has NaN for 0.
    """
    own = dtypes.of(x)
    if own == dtype or own is None or "string" in (own.kind, dtype.kind) or dtype.kind == "bool":
        return True
    if beyond and (dtype.kind == "float" or (own.kind in ("int", "bool") and dtype.kind == "int")):
        return True
    low, high = dtypes.limits(dtype)
    if dtype.kind == "int" and own.kind in ("int", "bool"):
        x = x.astype(np.int8) if own.kind == "bool" else x
        return (x >= low) & (x <= high)
    x = x.astype(np.float64)
    if dtype.kind == "float":
        return ~np.isfinite(x) | (np.abs(x) <= high)
    if dtype.kind == "int":
        # One more than the largest number of 64 bits is one of float64.
        whole = np.trunc(x)
        return (whole >= low) & (whole < high + 1.0)
    if dtype.name == "float8e8m0":
        return ~np.signbit(x) & (zero | (x != 0))
    return (dtype.bits == 8) | ((x >= low) & (x <= high))


def _cast(input, dtype, saturate, round_mode, *, beyond=True):
    """Function bodies cast numbers with bounds too; what they make of others may have some."""
    assert dtype
    x, zero = bare(input), not saturate and round_mode == "nearest"
    if not isinstance(x, np.ndarray):
        check_castable(dtype)
        return xp.astype(x, dtype.numpy)
    if not np.all(_is_said(x, dtype, beyond=beyond, zero=zero)):
        leave_open(f"nothing is said of what some of these numbers become as {dtype}")
    if dtype.kind != "minifloat" or (own := dtypes.of(x)) == dtype:
        return xp.astype(cast_to(x, dtype), dtype.numpy)
    check_castable(own)
    x = _read(x, dtype) if own and own.kind == "string" else x
    return to_minifloat(_as_float64(x), dtype, saturate, round_mode)


CAST.formula(1, 6, 9)(lambda input, *, to: _cast(input, dtypes.named(to), 1, "up", beyond=False))
CAST.formula(*_LATER)(
    lambda input, *, to, saturate=1, round_mode="up": _cast(
        input, dtypes.named(to), saturate, round_mode
    )
)
LIKE.formula(15, 19, 21, 23, 24, 25)(
    lambda input, target_type, *, saturate=1, round_mode="up": _cast(
        input, dtypes.of(np.empty(0, target_type.dtype)), saturate, round_mode
    )
)


def _nan_by_bits(added, input, *, to, saturate=1, round_mode="up"):
    """As if NaN was a number: bfloat16 is the upper half of float32."""
    made = _cast(input, dtypes.named(to), saturate, round_mode)
    if made.dtype.name != "bfloat16":
        return made
    upper = (bare(input).view(np.uint32) + np.uint32(added) >> 16).astype(np.uint16)
    return np.where(np.isnan(made), upper.view(made.dtype), made)


CAST.mutant_table(
    {
        f"nan_{name}": (f"the bits of NaN were {words} to bfloat16", partial(_nan_by_bits, added))
        for name, words, added in (
            ("cut_off", "cut off", 0),
            ("rounded", "rounded like a number", 0x7FFF),
        )
    },
    *_LATER,
    only=("float32",),
)


def spread(
    x, scale, zero, axis, block_size, blocks=lambda length, size, count: np.arange(length) // size
):
    """The scale and the zero point of each element of `x`; without an axis they are scalars."""
    shapes = {scale.shape, scale.shape if zero is None else zero.shape}
    if shapes == {()} or (shapes <= {(), (1,)} and shapes != {x.shape}):
        if (1,) in shapes:
            leave_open("it is not said whether one element makes a scalar")
        if axis not in (None, 1) and not -x.ndim <= axis < x.ndim:
            leave_open("it is not said whether an axis without use must be one")
        return (one if one is None else xp.reshape(one, ()) for one in (scale, zero))
    if len(shapes) > 1:
        raise InvalidNode(f"a zero point {list(zero.shape)} for scales {list(scale.shape)}")
    reject(axis is None, f"scales of shape {list(scale.shape)}; allowed: a scalar")
    if scale.ndim == 1 and axis == 1 == x.ndim:
        leave_open("an axis beyond those of a vector may be of no need")
        axis = 0
    axis = from_either_end(axis, x.ndim)
    if scale.ndim == 1 and (x.ndim > 1 or not block_size):
        if block_size:
            leave_open("nothing is said of blocks along a whole axis")
        shape, at = x.shape[axis : axis + 1], np.arange(x.shape[axis])
    else:
        if block_size < 1 or scale.ndim != x.ndim:
            raise InvalidNode(f"scales of rank {scale.ndim} and blocks of {block_size}")
        count = -(-x.shape[axis] // block_size)
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        at = blocks(x.shape[axis], block_size, count)
    check_shape("scales", scale, shape)
    if scale.ndim == x.ndim:
        return (one if one is None else xp.take(one, at, axis=axis) for one in (scale, zero))
    lined = (-1, *[1] * (x.ndim - axis - 1))
    return (one if one is None else xp.reshape(one, lined) for one in (scale, zero))


@formula_builder(each={10: 10, **dict.fromkeys(_LATER, 13)}, options=["place"])
def of_products(
    product,
    since,
    x,
    x_scale,
    x_zero_point=None,
    *,
    axis=1,
    block_size=0,
    output_dtype=0,
    place=spread,
):
    """All versions of DequantizeLinear, from `product(x, zero, scale, out)` in that type."""
    out = dtypes.named(output_dtype) if output_dtype else dtypes.of(np.empty(0, x_scale.dtype))
    reject(out is None or out.kind != "float", f"an output of type {out}; allowed: floats")
    scale, zero = place(x, x_scale, x_zero_point, axis if since > 10 else None, block_size)
    if zero is not None and x.dtype == np.int32 and zero.any():
        leave_open(LONG_ZERO)
    return product(x, np.zeros((), x.dtype) if zero is None else zero, scale, out)


def difference(x, zero):
    """Without their scale, and what float32 cannot hold of it rounded."""
    exact = exact_values(x) - exact_values(zero)
    made, held = xp.astype(exact, np.float64), exact.astype(np.float32) == exact
    return made if held.all() else xp.inexact(made, ~held)


def in_float32(x, zero, scale, out):
    """The product as float32 has it, or anything finer."""
    return difference(x, zero) * real(scale)


def in_type_of_output(x, zero, scale, out):
    wide = xp.astype(exact_values(x) - exact_values(zero), np.float64)
    a, b = (xp.astype(one, out.numpy, computes=True) for one in (wide, real(scale)))
    return a * b


# "The output type also determines the precision of the multiplication", only since version 23.
DEQUANTIZE.formula_and_alternatives(of_products, in_float32, in_type_of_output)


SHIFTED = [one for one in (*NARROW, "int8", "int16", "uint8", "uint16") if one != "float8e8m0"]


def same_bits(x, **types):
    return x.view(DTYPES[types[x.dtype.name]].numpy) if x.dtype.name in types else x


#: Other types that the numbers may be mistaken for.
UNSIGNED = {"int8": "uint8", "int16": "uint16", "uint8": "int8", "uint16": "int16"}

#: Wrong products, and the types in which they are wrong: int32 has no zero point.
DEQUANTIZE.mutant_table(
    {
        "zero_point_added": (
            "the zero point was added",
            lambda x, zero, scale, _: (exact_values(x) + exact_values(zero)) * real(scale),
            *SHIFTED,
        ),
        "zero_point_unscaled": (
            "the zero point was subtracted after the product",
            lambda x, zero, scale, _: exact_values(x) * real(scale) - exact_values(zero),
            *SHIFTED,
        ),
        "difference_wraps": (
            "the difference was taken in the tensor's own type",
            lambda x, zero, scale, out: (
                exact_values((x.astype(np.int64) - zero.astype(np.int64)).astype(x.dtype))
                * real(scale)
            ),
            *(one for one in SHIFTED if DTYPES[one].kind == "int"),
        ),
        "divided_by_scale": (
            "it was divided by the scale",
            lambda x, zero, scale, out: (exact_values(x) - exact_values(zero)) / real(scale),
        ),
        "signs_mistaken": (
            "signed numbers were taken for unsigned ones, and those for signed",
            lambda x, zero, scale, out: in_float32(
                same_bits(x, **UNSIGNED), same_bits(zero, **UNSIGNED), scale, out
            ),
            *UNSIGNED,
        ),
    },
    build=of_products,
)


def _along(new, x, scale, zero, axis, block_size):
    """Scales of one axis, along another one that is as long."""
    fits = axis is not None and scale.ndim == 1 and x.shape[new:][:1] == scale.shape
    return spread(x, scale, zero, new if fits else axis, block_size)


PLACES: dict[str, tuple[str, tuple[int, ...], Any]] = {
    "scales_along_first_axis": (
        "the scales lay along the first axis where it is as long",
        _LATER,
        partial(_along, 0),
    ),
    "scales_along_last_axis": (
        "the scales lay along the last axis where it is as long",
        _LATER,
        partial(_along, -1),
    ),
    "first_scale_for_all": (
        "the first scale served for all",
        _LATER,
        lambda x, scale, zero, axis, block_size: (
            one if one is None else one[(slice(0, 1),) * one.ndim]
            for one in spread(x, scale, zero, axis, block_size)
        ),
    ),
    "blocks_in_turns": (
        "the blocks' elements were taken in turns",
        _LATER[2:],
        partial(spread, blocks=lambda length, size, count: np.arange(length) % max(1, count)),
    ),
    "blocks_of_equal_length": (
        "an axis was split into blocks that are as equal as can be",
        _LATER[2:],
        partial(
            spread, blocks=lambda length, size, count: np.arange(length) // -(-length // count)
        ),
    ),
}


def converted(q, zero, out, saturate, rounding=xp.round):
    """Quotients as numbers of `out`: the nearest, shifted by `zero`, and saturated."""
    q = np.asarray(q, np.float64) if bare(q) is q else xp.astype(q, np.float64)
    if out.kind == "int":
        return bare(xp.clip(rounding(q) + zero, *dtypes.limits(out))).astype(out.numpy)
    return to_minifloat(bare(q + zero), out, saturate or out.bits < 8, "up")


def whole(quotients, zero, out, saturate=1, sure=False, convert=converted):
    """Numbers of `out` from quotients, as `convert` makes them with the zero point.

    The first of `quotients` decides; of bounded ones all is admitted that the errors of any leave,
    but where they are `sure`.
    """
    first = quotients[0]
    values = (
        bare(first).astype(np.float64)
        if not isinstance(first, Bounded)
        else (first.v.astype(np.float64).astype(first.dtype).astype(np.float64))
    )
    if np.isnan(values).any() and (out.kind == "int" or out.bits < 8):
        leave_open("what NaN becomes")
    near = np.rint(values.astype(out.numpy).astype(np.float64))
    if out.kind != "int" and np.any(zero) and not (values == near).all():
        leave_open("it is not said to what is rounded before a zero point of floats is added")
    if not isinstance(first, Bounded):
        return convert(first, zero, out, saturate)
    ends = []
    for q in (q.settled() for q in quotients):
        e = 0.0 if q.e is None else np.where(sure, 0.0, q.e)
        ends += [
            convert((q.v + far).astype(np.float64), zero, out, saturate).astype(np.float64)
            for far in (-e, e)
        ]
    if (np.isnan(ends) != np.isnan(ends[0])).any():
        leave_open("what is rounded may be out of range")
    low, high = (how.reduce(ends).astype(out.numpy) for how in (np.minimum, np.maximum))
    return admitted(convert(values, zero, out, saturate), low, high)


def admitted(y, low, high):
    """`y`, and whatever else lies from `low` to `high`."""
    if ((low == high) | (low != low)).all():
        return y
    if (dtype := dtypes.of(y)) and dtype.kind != "int":
        return Indices(y, np.stack([y, low, high], axis=-1))
    first, last = low.astype(np.int64), high.astype(np.int64)
    each = first[..., None] + np.arange(1 + (last - first).max())
    return Indices(y, np.minimum(each, last[..., None]).astype(y.dtype))


def real(x):
    """Numbers of any type as those of the kind in force."""
    dtype = dtypes.of(np.empty(0, x.dtype))
    return x if dtype and dtype.kind == "float" else xp.astype(exact_values(x), np.float64)


def are_decided(x, scale, divides, is_stated):
    """The quotients that are exact in `divides`; the rest is open where the text is silent."""
    own, values = (xp.values_of(real(one)) for one in (x, scale))
    size, finite = np.abs(values), np.abs(np.where(np.isfinite(own), own, 0))
    if not ((size >= 2.0**-126) & (size <= 2.0**126)).all():
        leave_open("nothing is said of scales by which nothing or hardly anything can be divided")
    if divides.name == "float16" and (
        (finite > 65504).any() or not ((size >= 2.0**-14) & (size <= 65504)).all()
    ):
        leave_open("float16 does not hold what is divided")
    if is_stated and divides.kind == "int" and (np.fmod(own, values) != 0).any():
        leave_open("nothing is said of divisions in what is no float")
    held = DTYPES["float32"] if divides.kind != "float" else divides
    power = np.frexp(size)[0] == 0.5
    return power & (own == own.astype(held.numpy)) & ((finite >= size * 2.0**-14) | (own == 0))


@formula_builder(
    each={10: 10, **{n: 13 if n < 23 else 23 for n in _LATER}}, options=["place", "convert"]
)
def of_quotients(
    quotient,
    since,
    x,
    y_scale,
    y_zero_point=None,
    *,
    axis=1,
    saturate=1,
    block_size=0,
    output_dtype=0,
    precision=0,
    place=spread,
    convert=converted,
):
    """All versions of QuantizeLinear, from `quotient(x, scale, dtype)` by a division in that."""
    stated = dtypes.named(output_dtype) if output_dtype else None
    given = None if y_zero_point is None else dtypes.of(y_zero_point)
    reject(output_dtype and given not in (None, stated), f"output {stated}, zero point {given}")
    divides = dtypes.named(precision) if precision else dtypes.of(np.empty(0, y_scale.dtype))
    if precision and (divides is None or divides.kind != "float"):
        leave_open("nothing is said of divisions in what is no float")
        divides = DTYPES["float32"]
    scale, zero = place(x, y_scale, y_zero_point, axis if since > 10 else None, block_size)
    shift = 0 if zero is None else exact_values(zero)
    sure = are_decided(x, scale, divides, since > 22)
    out = stated or given or DTYPES["uint8"]
    return whole(quotient(x, scale, divides), shift, out, saturate, sure, convert)


@QUANTIZE.formula(build=of_quotients)
def divided(x, scale, dtype):
    """Quotients in `dtype`, which the text asks for since version 23, or in float32 if finer."""
    narrow = [dtype] if dtype.name in ("float16", "bfloat16") else []
    wide = dtype if dtype.name == "float64" else DTYPES["float32"]
    return [
        a / b
        for a, b in (
            [xp.astype(real(one), kind.numpy, computes=True) for one in (x, scale)]
            for kind in (*narrow, wide)
        )
    ]


def stepped(rule, kind, q, zero, out, saturate):
    """Numbers of a kind of types by another rule than to nearest, ties to even."""
    if (out.kind == "int") != (kind == "int"):
        return converted(q, zero, out, saturate)
    q = bare(q).astype(np.float64)
    step = (
        1.0
        if kind == "int"
        else np.ldexp(1.0, np.maximum(np.frexp(q)[1] - out.precision, out.min_exponent))
    )
    return converted(rule(q / step) * step, zero, out, saturate)


def of_integers(convert, q, zero, out, saturate):
    """A wrong conversion, from q rounded, the zero point and the ends of a type of integers."""
    if out.kind != "int":
        return converted(q, zero, out, saturate)
    q = bare(q).astype(np.float64)
    made = convert(np.rint(q), q, zero, *dtypes.limits(out))
    return np.nan_to_num(np.clip(made, -(2.0**62), 2.0**62)).astype(np.int64).astype(out.numpy)


#: Wrong conversions of quotients.
CONVERSIONS: dict[str, tuple[str, Any]] = {
    **{
        f"{name}_{kind}s": (f"{text}, of {kind}s", partial(stepped, rule, kind))
        for kind in ("int", "minifloat")
        for name, text, rule in (
            (
                "ties_away",
                "ties were rounded away from 0",
                lambda q: np.copysign(np.floor(np.abs(q) + 0.5), q),
            ),
            ("truncated", "what is no number of the type was cut off", np.trunc),
            ("rounded_down", "it was rounded down", np.floor),
            ("ties_up", "ties were rounded up", lambda q: np.floor(q + 0.5)),
        )
    },
    "integers_first": (
        "quotients were rounded to integers, whatever the type",
        lambda q, *more: converted(xp.round(q), *more),
    ),
    **{
        name: (text, partial(of_integers, convert))
        for name, text, convert in (
            (
                "rounded_last",
                "it was rounded after the zero point had been added",
                lambda near, q, zero, low, high: np.clip(np.rint(q + zero), low, high),
            ),
            (
                "zero_point_subtracted",
                "the zero point was subtracted",
                lambda near, q, zero, low, high: np.clip(near - zero, low, high),
            ),
            (
                "wraps",
                "numbers out of range wrapped around",
                lambda near, q, zero, *ends: near + zero,
            ),
            (
                "saturates_first",
                "quotients were saturated before the zero point was added",
                lambda near, q, zero, low, high: np.clip(
                    np.clip(near, low, high) + zero, low, high
                ),
            ),
            (
                "narrow_range",
                "signed types had no lowest number",
                lambda near, q, zero, low, high: np.clip(near + zero, low + (low < 0), high),
            ),
            (
                "unsigned_range",
                "signed types had the range of unsigned ones",
                lambda near, q, zero, low, high: np.clip(near + zero, 0, high - low),
            ),
            (
                "low_beyond_32_bits",
                "what 32 bits cannot hold was the lowest number",
                lambda near, q, zero, low, high: np.where(
                    np.abs(near) < 2.0**31, np.clip(near + zero, low, high), low
                ),
            ),
        )
    },
}


for _name, (_text, _convert) in CONVERSIONS.items():
    _since = _LATER[1:] if "float" in _name or _name == "integers_first" else ()
    QUANTIZE.mutant(
        _text, *_since, name=_name, build=lambda convert: of_quotients(divided, convert=convert)
    )(_convert)
QUANTIZE.mutant("it was multiplied by the scale", name="multiplied_by_scale", build=of_quotients)(
    lambda x, scale, dtype: [real(x) * real(scale)]
)
for _op, _by in (
    (DEQUANTIZE, lambda place: of_products(in_float32, place=place)),
    (QUANTIZE, lambda place: of_quotients(divided, place=place)),
):
    for _name, (_text, _since, _place) in PLACES.items():
        _op.mutant(_text, *_since, name=_name, build=_by)(_place)


def each(y):
    """All that is admitted of each element, along another axis."""
    return y.admitted if isinstance(y, Indices) else np.asarray(y)[..., None]


def of_range(
    x,
    ends=lambda x: (xp.minimum(xp.min(x), 0.0), xp.maximum(xp.max(x), 0.0)),
    steps=255.0,
    point=lambda low, high, scale: -low / scale,
    first=converted,
    then=converted,
):
    """Scale and zero point from the least and the greatest element, and 0."""
    out = DTYPES["uint8"]
    if not x.size:
        leave_open("nothing is said of the range of nothing")
        return np.zeros(x.shape, np.uint8), np.zeros((), x.dtype), np.zeros((), np.uint8)
    low, high = ends(x)
    scale = (high - low) / steps
    values = xp.values_of(scale)
    if not ((values > 2.0**-100) & (values * 255 < dtypes.limits(DTYPES["float32"])[1])).all():
        leave_open("nothing is said of what is divided by 0, or of what is no number")
    zero = whole([point(low, high, scale)], 0, out, convert=first)
    # The scale is what float32 has of it, or, where that is not kept, anything finer.
    quotients = [x / xp.astype(np.float32(values), np.float32), x / scale]
    chosen = zero.v if isinstance(zero, Indices) else zero
    found = [
        whole(quotients, exact_values(one), out, convert=then)
        for one in (np.asarray(chosen), *np.ravel(each(zero)))
    ]
    every = np.concatenate([each(one) for one in found], axis=-1)
    y = found[0].v if isinstance(found[0], Indices) else found[0]
    return admitted(y, every.min(-1), every.max(-1)), scale, zero


# The schema knows none of its options.
DYNAMIC.formula(11)(lambda x: of_range(x))
DYNAMIC.mutant_table(
    {
        "range_without_zero": (
            "the range was not adjusted to include 0",
            {"ends": lambda x: (xp.min(x), xp.max(x))},
        ),
        "range_of_256_steps": ("the range had 256 steps", {"steps": 256.0}),
        "symmetric_range": (
            "the range was as wide on both sides of 0",
            {"ends": lambda x: (-(far := xp.max(xp.abs(x))), far)},
        ),
        "zero_point_of_the_greatest": (
            "the zero point was that of the greatest element",
            {"point": lambda low, high, scale: high / scale},
        ),
        "zero_point_truncated_ints": (
            "the zero point was cut off",
            {"first": CONVERSIONS["truncated_ints"][1]},
        ),
        **{
            name: (CONVERSIONS[name][0], {"then": CONVERSIONS[name][1]})
            for name in ("truncated_ints", "rounded_down_ints", "zero_point_subtracted")
        },
    },
    build=lambda options: {11: lambda x: of_range(x, **options)},
)
