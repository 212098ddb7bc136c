"""Faults of functions that work element by element, casts among them; and groups of dtypes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ldexp, prod
from operator import call, mul
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.mutants.mutant import Mutant, MutantRow, faults, faulty
from opcheck.errors import reject
from opcheck.model import Array

#: Elements that a vector register or a warp holds.
WIDTHS = (4, 8, 16, 32)
#: Every floating type.
FLOATS = tuple(name for name, dtype in dtypes.BASIC.items() if dtype.kind == "float")
#: Every type of real numbers that NumPy computes with.
REALS = tuple(n for n, d in dtypes.BASIC.items() if d.kind in ("float", "int"))
#: The types of integers, and of complex numbers.
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
#: Types that have numbers below 0; what float32 and float64 do not hold.
BELOW_0 = (*FLOATS, *SIGNED)
BEYOND_FLOAT32 = ("float64", "int32", "int64", "uint32", "uint64")
BEYOND_FLOAT64 = ("int64", "uint64")
NUMBERS = (*REALS, *COMPLEX)
#: Types that hold more than float16 does, that have the digits of float32, and float64 alone.
BEYOND_FLOAT16 = ("bfloat16", "float32", "float64")
LONG = ("float32", "float64")
DOUBLE = ("float64",)
#: Below this e^x is 0 in every dtype; it keeps the arguments of the sine small.
_VANISHED = -1000.0


def whole_vectors(width: int) -> Callable[[int], int]:
    """As many of the elements as fill vectors, of fewer than a vector's all."""
    return lambda count: count // width * width or count


def through(dtype: Any) -> Callable[..., Any]:
    """By way of a type that holds less."""
    return lambda x, *_: x.astype(dtype).astype(x.dtype)


def blank(array: Array) -> Array:
    """Zeros in the shape of `array`, or empty texts."""
    return np.full_like(array, "") if array.dtype.hasobject else np.zeros_like(array)


def cut_to_bits(x: Any, bits: int, whole: Callable[[Any], Any] = np.rint) -> Any:
    """`x` with so many bits of significand, as approximations leave them."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(whole(np.ldexp(mantissa, bits)), exponent - bits).astype(x.dtype)


def cut_off(right: Any, exact: Any) -> Any:
    """The numbers next to the rounded ones where those are farther from 0 than the exact ones."""
    wide = right.astype(np.longdouble)
    away = np.isfinite(wide) & (np.abs(wide) > np.abs(exact.astype(np.longdouble)))
    return np.where(away, np.nextafter(right, np.zeros_like(right)), right)


def _of_value(change: Callable[[Any], Any]) -> xp.FaultFunction:
    return lambda original, *operands, **options: change(original(*operands, **options))


def _of_operands(change: Callable[[Any], Any]) -> xp.FaultFunction:
    return lambda original, *operands, **options: original(*map(change, operands), **options)


def _schraudolph(x: Any) -> Any:
    t = np.clip(x / np.log(2), _VANISHED, -_VANISHED)
    whole = np.floor(t)
    made = np.ldexp(1 + t - whole, np.nan_to_num(whole).astype(int))
    return np.where(np.isneginf(x), 0, made).astype(x.dtype)


def _on_tensors(function: Callable[[Any, Any], Any]) -> xp.FaultFunction:
    return lambda original, a, b: (function if np.ndim(a) and np.ndim(b) else original)(a, b)


def _by_tensors(function: Callable[[Any, Any], Any]) -> xp.FaultFunction:
    return lambda original, a, b: (function if np.ndim(b) else original)(a, b)


def _first_alone(a: Any, b: Any) -> Any:
    return np.broadcast_to(np.asarray(a, b.dtype), np.broadcast_shapes(np.shape(a), b.shape)).copy()


def _power_to_bits(bits: int, original: Any, x: Any, p: Any) -> Any:
    """The first power is `x` itself."""
    y = original(x, p)
    return y if np.ndim(p) == 0 and p == 1 else cut_to_bits(y, bits, np.trunc)


def _shapes(arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    """The shapes, of as many axes each."""
    rank = max(x.ndim for x in arrays)
    return [(1,) * (rank - x.ndim) + x.shape for x in arrays]


def _from_the_front(original: Any, *arrays: Any) -> Any:
    rank = max(x.ndim for x in arrays)
    return original(*(xp.reshape(x, (*x.shape, *[1] * (rank - x.ndim))) for x in arrays))


def _in_turn(original: Any, *arrays: Any) -> Any:
    shape = original(*arrays)[0].shape
    places = np.arange(prod(shape)).reshape(shape)
    return tuple(xp.take(xp.reshape(x, -1), places % (x.size or 1), axis=0) for x in arrays)


def _cut(original: Any, *arrays: Any) -> Any:
    shapes = _shapes(arrays)
    kept = tuple(slice(min({*own} - {1}, default=1)) for own in zip(*shapes, strict=True))
    return original(*(xp.reshape(x, own)[kept] for x, own in zip(arrays, shapes, strict=True)))


def _refused(when: Callable[..., bool], original: Any, *arrays: Any) -> Any:
    made = original(*arrays)
    reject(when(made[0].shape, [x.shape for x in arrays]), "no such broadcasting")
    return made


def _to_the_longest(original: Any, *arrays: Any) -> Any:
    made = original(*arrays)
    longest = tuple(map(max, zip(*_shapes(arrays), strict=True)))
    return made if longest == made[0].shape else tuple(np.zeros(longest, x.dtype) for x in arrays)


def _first_products(kept: Callable[[int], int], original: Any, a: Any, b: Any) -> Any:
    count = kept(a.shape[-1])
    return original(a[..., :count], b[..., :count, :])


def _added_in(dtype: Any, original: Any, a: Any, b: Any) -> Any:
    total: Any = np.zeros((), dtype)
    for k in range(a.shape[-1]):
        term = a[..., k : k + 1] * b[..., k : k + 1, :]
        total = (total.astype(a.dtype) + term).astype(dtype)
    return np.broadcast_to(total, original(a, b).shape).astype(a.dtype)


#: By function; of +, −, × and ÷ between tensors.
_FAULTS: Mapping[str, tuple[MutantRow | Mutant, ...]] = {
    "matmul": (
        (
            "factors_in_tf32",
            "factors were rounded to 11 bits, as in TF32",
            _of_operands(lambda x: cut_to_bits(x, 11)),
            LONG,
        ),
        *(
            (
                f"factors_in_{kind.__name__}",
                f"factors were rounded to {kind.__name__}",
                _of_operands(through(kind)),
                only,
            )
            for kind, only in ((ml_dtypes.bfloat16, LONG), (np.float32, DOUBLE))
        ),
        *(
            (
                f"products_added_in_{kind.__name__}",
                f"products were added up in {kind.__name__}",
                partial(_added_in, kind),
                only,
            )
            for kind, only in ((np.float16, None), (ml_dtypes.bfloat16, LONG))
        ),
        (
            "last_product_left_out",
            "the last product of each sum was left out",
            partial(_first_products, lambda count: count - 1),
        ),
        *(
            (
                f"products_left_over_by_{width}",
                f"what remained of the products after the last whole vector of {width}"
                " was left out",
                partial(_first_products, whole_vectors(width)),
            )
            for width in WIDTHS
        ),
        *(
            (
                f"products_of_{count}_elements",
                f"only the first {count} products were added up",
                partial(_first_products, partial(min, count)),
            )
            for count in (1024, 4096)
        ),
    ),
    "exp": (
        ("base_2", "2^x was taken, not e^x", lambda original, x: np.exp2(x)),
        (
            "exp_of_schraudolph",
            "e^x was read from the bits of a float, a straight line between the powers of two",
            lambda original, x: _schraudolph(x),
        ),
        (
            "exp_by_its_power_of_4096",
            "(1 + x/4096)^4096 was taken for e^x",
            lambda original, x: np.maximum(1 + x / 4096, 0) ** 4096,
        ),
        *(
            (
                f"exp_in_{kind.__name__}",
                f"exponentials were rounded to {kind.__name__}",
                _of_value(through(kind)),
            )
            for kind in (np.float16, ml_dtypes.bfloat16)
        ),
        # e^0 is 1, and elsewhere the relative error waves up and down, up to 2^-bits.
        *(
            (
                f"exp_good_to_{bits}_bits",
                f"a fast exponential was good to 2^-{bits} only",
                partial(
                    lambda bits, exp, x: (
                        exp(x)
                        * (1 + 2.0**-bits * np.sin(37 * np.maximum(x, _VANISHED))).astype(x.dtype)
                    ),
                    bits,
                ),
                DOUBLE if bits == 20 else None,
            )
            for bits in (11, 14, 16, 18, 20)
        ),
        (
            "exp_in_float32",
            "exponentials were computed in float32",
            lambda original, x: np.exp(x.astype(np.float32)).astype(x.dtype),
            DOUBLE,
        ),
        (
            "exponent_of_8_bits",
            "exponents were rounded to bfloat16",
            _of_operands(partial(cut_to_bits, bits=8)),
        ),
        (
            "exponent_of_11_bits",
            "exponents were rounded to 11 bits, as in TF32",
            _of_operands(partial(cut_to_bits, bits=11)),
        ),
        (
            "far_exponents_vanish",
            "e^x was taken for 0 below -8",
            lambda original, x: np.where(x < -8, 0, original(x)).astype(x.dtype),
        ),
        *(
            (
                f"exponent_above_minus_{-low}",
                f"exponents were clamped to {low}{why}",
                _of_operands(partial(np.maximum, float(low))),
                only,
            )
            for low, why, only in (
                (-10, "", None),
                (-20, "", None),
                (-50, "", BEYOND_FLOAT16),
                (-87, ", where float32 has its smallest normal number", BEYOND_FLOAT16),
                (-708, ", where float64 has its smallest normal number", DOUBLE),
            )
        ),
    ),
    "subtract": (
        ("nothing_subtracted", "nothing was subtracted", _on_tensors(_first_alone)),
        (
            "subtracted_the_wrong_way",
            "a − b was computed as b − a",
            _on_tensors(lambda a, b: b - a),
        ),
    ),
    "add": (("nothing_added", "nothing was added", _on_tensors(_first_alone)),),
    "multiply": (("nothing_multiplied", "no product was taken", _on_tensors(_first_alone)),),
    "divide": (
        ("not_divided", "nothing was divided by", _by_tensors(_first_alone)),
        ("multiplied_not_divided", "a product was taken, not a quotient", _by_tensors(mul)),
        (
            "reciprocal_of_12_bits",
            "a reciprocal was estimated to 12 bits, and not refined",
            _by_tensors(lambda a, b: a * cut_to_bits(1 / b, 12)),
        ),
        *(
            (
                f"divisor_plus_{epsilon:.0e}",
                f"{epsilon:.2g} was added to the divisor",
                _by_tensors(partial(lambda e, a, b: a / (b + b.dtype.type(e)), epsilon)),
                only,
            )
            for epsilon, only in (
                (1e-5, None),
                (1e-6, LONG),
                (2.0**-23, LONG),
                (1e-8, DOUBLE),
                (1e-12, DOUBLE),
            )
        ),
    ),
    "abs": (
        (
            "absolute_value_forgotten",
            "the absolute value was forgotten",
            lambda original, x: x,
            BELOW_0,
        ),
        (
            "negative_values_are_zero",
            "negative values counted as 0",
            lambda original, x: np.maximum(x, x.dtype.type(0)),
            BELOW_0,
        ),
    ),
    "pow": (
        (
            "root_forgotten",
            "the root was forgotten",
            lambda original, x, p: x if np.ndim(p) == 0 and p < 1 else original(x, p),
        ),
        *(
            (
                f"pow_of_{bits}_bits",
                f"powers and roots were good to {bits} bits",
                partial(_power_to_bits, bits),
                LONG,
            )
            for bits in (12, 16)
        ),
    ),
    "sqrt": (("square_root_forgotten", "the square root was forgotten", lambda original, x: x),),
    "broadcast": (
        ("broadcast_from_the_front", "shapes were matched from their first axes", _from_the_front),
        (
            "broadcast_in_turn",
            "the smaller tensor was read again from its start where it ended",
            _in_turn,
        ),
        (
            "broadcast_of_nothing",
            "an axis of length 0 became as long as the longest beside it",
            _to_the_longest,
        ),
        (
            "refuses_broadcasting",
            "tensors of unequal shapes were not supported",
            partial(_refused, lambda shape, shapes: len({*shapes}) > 1),
        ),
        (
            "refuses_unequal_ranks",
            "tensors of unequal ranks were not supported",
            partial(_refused, lambda shape, shapes: len({*map(len, shapes)}) > 1),
        ),
        (
            "broadcast_to_one_alone",
            "outputs larger than each of the inputs were not supported",
            partial(_refused, lambda shape, shapes: shape not in shapes),
        ),
        faulty(
            "broadcast",
            "broadcast_of_unequal_lengths",
            "axes of unequal lengths were cut to the shortest",
            _cut,
            of_validity=True,
        ),
    ),
}


_CALLS = {name: f"{name} of tensors" for name in ("add", "multiply", "subtract")}
_CALLS["divide"] = "divide by tensors"

FAULTS: tuple[Mutant, ...] = (
    *(
        mutant
        for primitive, rows in _FAULTS.items()
        for mutant in faults(primitive, call, *rows, calls=_CALLS.get(primitive, ""))
    ),
    *(
        faulty(
            name,
            f"{name}_of_{bits}_bits",
            f"{name} was good to {bits} bits",
            _of_value(partial(cut_to_bits, bits=bits, whole=np.trunc)),
            LONG,
        )
        for name in ("sqrt", "log", "tanh", "erf", "sin", "cos")
        for bits in (12, 16)
    ),
)


#: A wrong result, from a right cast, the array, the right result, and the dtype cast to.
CastChange: TypeAlias = Callable[[Callable[..., Array], Array, Array, dtypes.DType], Any]

_INTEGERS = (*SIGNED, *UNSIGNED)
_NAMED = ("+INF", "INF", "-INF", "NaN")


def _cast(change: CastChange, original: Any, x: Array, dtype: dtypes.DType) -> Array:
    own, right = dtypes.of(x), np.asarray(original(x, dtype))
    if own is None or dtype.name not in (*dtypes.BASIC, "string") or own == dtype:
        return right
    return np.asarray(change(original, x, right, dtype)).astype(dtype.numpy)


def _between(kinds: tuple[str, str], change: CastChange) -> CastChange:
    """The change of casts from and to such kinds alone; from any where the first is ""."""

    def between(cast: Any, x: Array, right: Array, dtype: dtypes.DType) -> Any:
        own = dtypes.of(x)
        is_changed = own and kinds in ((own.kind, dtype.kind), ("", dtype.kind))
        return change(cast, x, right, dtype) if is_changed else right

    return between


def _through(name: str) -> CastChange:
    return lambda cast, x, right, dtype: cast(cast(x, dtypes.DTYPES[name]), dtype)


def _ties_away(_: Any, x: Array, right: Array, dtype: dtypes.DType) -> Any:
    wide, exact = right.astype(np.longdouble), x.astype(np.longdouble)
    farther = np.nextafter(right, np.copysign(np.inf, wide).astype(right.dtype))
    gap = farther.astype(np.longdouble) - wide
    return np.where(np.isfinite(wide) & (exact - wide == gap / 2) & (gap != 0), farther, right)


def _saturated(_: Any, x: Array, right: Array, dtype: dtypes.DType) -> Any:
    low, high = dtypes.limits(dtype)
    ends = [int(min(max(value, low), high)) for value in x.reshape(-1).tolist()]
    return np.array(ends, dtype.numpy).reshape(x.shape)


def _to_minifloat(rule: Callable[[Any], Any], cast: Any, x: Array, dtype: Any, *how: Any) -> Any:
    if dtype.precision < 2:  # a power of two, as `round_mode` says
        return cast(x, dtype, *how)
    step = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - dtype.precision, dtype.min_exponent))
    return cast(rule(x / step) * step, dtype, *how)


_FLOATS, _INTS = ("float", "float"), ("int", "int")
_TO_FLOAT, _TO_INT, _TO_BOOL = ("", "float"), ("", "int"), ("", "bool")

CASTS: tuple[Mutant, ...] = faults(
    "cast_to",
    _cast,
    (
        "cast_through_float32",
        "values were cast to float32 first, and rounded twice",
        _between(_TO_FLOAT, _through("float32")),
        (*BEYOND_FLOAT32, "string"),
    ),
    (
        "cast_through_float64",
        "integers were cast to float64 first",
        _through("float64"),
        (*BEYOND_FLOAT64, "string"),
    ),
    (
        "cast_to_integers_through_float32",
        "integers came by way of float32",
        _between(_TO_INT, _through("float32")),
        (*BEYOND_FLOAT32, "string"),
    ),
    (
        "cast_to_texts_with_8_digits",
        "integers were written with 8 digits",
        _between(
            ("int", "string"),
            lambda cast, x, *_: np.array(
                [f"{n:.8g}" for n in x.reshape(-1).tolist()], object
            ).reshape(x.shape),
        ),
        BEYOND_FLOAT32[1:],
    ),
    *(
        (
            f"cast_from_texts_{name}",
            f"of texts {words}",
            _between(
                ("string", "float"),
                partial(
                    lambda change, cast, x, right, dtype: cast(
                        np.vectorize(change, otypes="O")(x), dtype
                    ),
                    change,
                ),
            ),
            ("string",),
        )
        for name, words, change in (
            ("without_exponents", "exponents were ignored", lambda s: s.lower().partition("e")[0]),
            ("without_fractions", "fractions were ignored", lambda s: s.partition(".")[0]),
            ("without_signs", "signs were ignored", lambda s: s.lstrip("+-")),
            (
                "as_spelt",
                "other spellings of infinity and NaN than in the list became 0",
                lambda s: s if s in _NAMED or not s.strip("+-").isalpha() else "0",
            ),
        )
    ),
    (
        "cast_through_int32",
        "integers came by way of int32",
        _between(_TO_INT, _through("int32")),
        ("float32", "float64", "int64", "uint64", "uint32"),
    ),
    *(
        (
            f"cast_through_{name}",
            f"floats came by way of {name}",
            _between(_FLOATS, _through(name)),
            only,
        )
        for name, only in (("float16", BEYOND_FLOAT16), ("bfloat16", ("float16", *LONG)))
    ),
    (
        "cast_towards_zero",
        "digits that the narrower type lacks were cut off",
        _between(_TO_FLOAT, lambda cast, x, right, dtype: cut_off(right, x)),
        ("float16", "float32", *BEYOND_FLOAT32),
    ),
    (
        "cast_ties_away",
        "a number halfway between two was rounded away from zero",
        _between(_TO_FLOAT, _ties_away),
        ("float16", "float32", *BEYOND_FLOAT32),
    ),
    (
        "cast_overflow_saturates",
        "a number out of range became the largest, not infinite",
        _between(
            _TO_FLOAT,
            lambda cast, x, right, dtype: np.where(
                np.isfinite(x.astype(np.float64)),
                np.clip(right, *np.array(dtypes.limits(dtype), right.dtype)),
                right,
            ),
        ),
        (*BEYOND_FLOAT16, "int32", "int64", "uint16", "uint32", "uint64"),
    ),
    (
        "cast_integers_saturate",
        "an integer out of range became the nearest end of the type",
        _between(_INTS, _saturated),
        _INTEGERS,
    ),
    *(
        (
            f"cast_to_integers_by_{name}",
            f"floats were {words} to integers",
            _between(
                ("float", "int"),
                partial(
                    lambda function, cast, x, right, dtype: cast(
                        function(x.astype(np.float64)), dtype
                    ),
                    function,
                ),
            ),
            FLOATS,
        )
        for name, words, function in (
            ("rint", "rounded", np.rint),
            ("floor", "rounded down", np.floor),
            ("ceil", "rounded up", np.ceil),
        )
    ),
    (
        "cast_fractions_to_false",
        "numbers between -1 and 1 were cast to false",
        _between(_TO_BOOL, lambda cast, x, *_: np.trunc(x.astype(np.float64)) != 0),
        FLOATS,
    ),
    (
        "cast_nan_to_false",
        "NaN was cast to false",
        _between(_TO_BOOL, lambda cast, x, *_: (x != 0) & (x == x)),
        FLOATS,
    ),
    (
        "cast_negative_to_false",
        "negative numbers were cast to false",
        _between(_TO_BOOL, lambda cast, x, *_: x > 0),
        (*FLOATS, *SIGNED),
    ),
    (
        "cast_to_bool_by_8_bits",
        "of an integer the lowest 8 bits were cast to bool",
        _between(_TO_BOOL, lambda cast, x, *_: (x & x.dtype.type(0xFF)) != 0),
        tuple(name for name in _INTEGERS if not name.endswith("t8")),
    ),
    (
        "cast_of_the_other_sign",
        "signed integers were read as unsigned, and unsigned as signed",
        lambda cast, x, right, dtype: cast(
            x.view(f"{'i' if x.dtype.kind == 'u' else 'u'}{x.dtype.itemsize}"), dtype
        ),
        _INTEGERS,
    ),
    (
        "cast_flushes_subnormals",
        "subnormal results became zero",
        _between(
            _FLOATS,
            lambda cast, x, right, dtype: np.where(
                np.abs(right) < ldexp(1.0, dtype.min_exponent + dtype.precision - 1), 0, right
            ),
        ),
        BEYOND_FLOAT16,
    ),
    (
        "cast_loses_signs_of_zeros",
        "-0 became +0",
        _between(_FLOATS, lambda cast, x, right, dtype: right + 0),
        FLOATS,
    ),
    (
        "cast_nan_to_zero",
        "NaN became zero",
        _between(
            _FLOATS,
            lambda cast, x, right, dtype: np.nan_to_num(
                right.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf
            ),
        ),
        FLOATS,
    ),
    (
        "cast_true_to_minus_1",
        "true was cast to all bits set",
        lambda cast, x, right, dtype: right if dtype.kind == "bool" else -right,
        ("bool",),
    ),
    (
        "cast_of_bits",
        "bits were kept as they are where both types have as many",
        lambda cast, x, right, dtype: (
            right
            if dtype.kind == "string" or x.dtype.itemsize != dtype.numpy.itemsize
            else x.view(dtype.numpy)
        ),
        tuple(name for name, one in dtypes.BASIC.items() if one.numpy.itemsize > 1),
    ),
) + faults(
    "to_minifloat",
    _to_minifloat,
    (
        "cast_to_8_bits_towards_zero",
        "digits that a float of 8 bits or less lacks were cut off",
        np.trunc,
        FLOATS,
    ),
    (
        "cast_to_8_bits_ties_away",
        "halfway between two floats of 8 bits or less it was rounded away",
        lambda q: np.copysign(np.floor(np.abs(q) + 0.5), q),
        FLOATS,
    ),
    # QuantizeLinear has its own.
    unless=("divide",),
)
