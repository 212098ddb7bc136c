"""Faults of functions that work element by element; and groups of dtypes.

A fault is called with the right function, and then as that function is; see
`opcheck.numbers.FaultFunction`. Arrays are plain ones of NumPy.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from operator import call
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.mutants.mutant import Mutant, MutantRow, faults, faulty
from opcheck.errors import reject
from opcheck.numbers import Array

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
#: A shape, from the first axis to the last.
Shape: TypeAlias = tuple[int, ...]
#: Another array of the same shape and dtype, or another result of the same arguments.
Change: TypeAlias = Callable[..., Array]
#: Broadcasts arrays to one shape.
Broadcast: TypeAlias = Callable[..., tuple[Array, ...]]
#: Below this e^x is 0 in every dtype; it keeps the arguments of the sine small.
_VANISHED = -1000.0


def whole_vectors(width: int, count: int) -> int:
    """Return as many of `count` elements as fill vectors; all where they do not fill one."""
    return count // width * width or count


def through(dtype: Any, x: Array) -> Array:
    """Return `x` by way of a type that holds less."""
    return x.astype(dtype).astype(x.dtype)


def limits_of(x: Array) -> Any:
    """Return the `finfo` of a floating type."""
    finfo: Any = ml_dtypes.finfo
    return finfo(x.dtype)


def blank(array: Array) -> Array:
    """Return zeros in the shape of `array`, or empty texts."""
    return np.full_like(array, "") if array.dtype.hasobject else np.zeros_like(array)


def cut_to_bits(x: Array, bits: int, whole: Change = np.rint) -> Array:
    """Return `x` with so many bits of significand, as approximations leave them.

    whole: Makes whole numbers of those that have too many bits.
    """
    mantissa, exponent = np.frexp(x)
    return np.ldexp(whole(np.ldexp(mantissa, bits)), exponent - bits).astype(x.dtype)


def cut_off(right: Array, exact: Array) -> Array:
    """Return `right`, with the next number to 0 where it is farther from 0 than `exact` is."""
    wide = right.astype(np.longdouble)
    away = np.isfinite(wide) & (np.abs(wide) > np.abs(exact.astype(np.longdouble)))
    return np.where(away, np.nextafter(right, np.zeros_like(right)), right)


# ── what makes a fault of a change ────────────────────────────────────────────────────────────


def of_value(change: Change, original: Change, *operands: Any, **options: Any) -> Array:
    """Fault: the value is changed."""
    return change(original(*operands, **options))


def of_operands(change: Change, original: Change, *operands: Any, **options: Any) -> Array:
    """Fault: the right function of changed operands."""
    return original(*map(change, operands), **options)


def in_place_of(function: Change, original: Change, *operands: Any) -> Array:
    """Fault: another function takes the place of the right one."""
    return function(*operands)


def on_tensors(function: Change, original: Change, a: Array, b: Array) -> Array:
    """Fault of a function of two tensors, which is right where one of them has no axis."""
    return (function if np.ndim(a) and np.ndim(b) else original)(a, b)


def by_tensors(function: Change, original: Change, a: Array, b: Array) -> Array:
    """Fault of a function whose second operand is a tensor, right where that has no axis."""
    return (function if np.ndim(b) else original)(a, b)


# ── sums of products: the last axis of `a` times the last but one of `b` ──────────────────────


def of_first_products(kept: Callable[[int], int], original: Change, a: Array, b: Array) -> Array:
    """Mutant: of `n` products only `kept(n)` are added up."""
    count = kept(a.shape[-1])
    return original(a[..., :count], b[..., :count, :])


def all_but_the_last(count: int) -> int:
    """Return one less than `count`."""
    return count - 1


def products_added_in(dtype: Any, original: Change, a: Array, b: Array) -> Array:
    """Mutant: each partial sum is rounded to `dtype`."""
    total: Array = np.zeros((), dtype)
    for k in range(a.shape[-1]):
        term = a[..., k : k + 1] * b[..., k : k + 1, :]
        total = (total.astype(a.dtype) + term).astype(dtype)
    return np.broadcast_to(total, original(a, b).shape).astype(a.dtype)


# ── e^x ───────────────────────────────────────────────────────────────────────────────────────


def exp_of_schraudolph(x: Array) -> Array:
    """Mutant: 2^⌊t⌋ (1 + t - ⌊t⌋) for e^x, where t = x / ln 2."""
    t = np.clip(x / np.log(2), _VANISHED, -_VANISHED)
    whole = np.floor(t)
    lines = np.ldexp(1 + t - whole, np.nan_to_num(whole).astype(int))
    return np.where(np.isneginf(x), 0, lines).astype(x.dtype)


def exp_by_its_power_of_4096(x: Array) -> Array:
    """Mutant: (1 + x/4096)^4096 for e^x."""
    return np.maximum(1 + x / 4096, 0) ** 4096


def exp_good_to_bits(bits: int, exp: Change, x: Array) -> Array:
    """Mutant: the relative error waves up and down, up to 2^-bits; e^0 is 1."""
    error = 1 + 2.0**-bits * np.sin(37 * np.maximum(x, _VANISHED))
    return exp(x) * error.astype(x.dtype)


def exp_in_float32(x: Array) -> Array:
    """Mutant: e^x is computed in float32."""
    return np.exp(x.astype(np.float32)).astype(x.dtype)


def far_exponents_vanish(exp: Change, x: Array) -> Array:
    """Mutant: e^x is 0 below -8."""
    return np.where(x < -8, 0, exp(x)).astype(x.dtype)


# ── +, −, × and ÷ between tensors ─────────────────────────────────────────────────────────────


def first_alone(a: Array, b: Array) -> Array:
    """Mutant: the first operand in the shape of both."""
    return np.broadcast_to(np.asarray(a, b.dtype), np.broadcast_shapes(np.shape(a), b.shape)).copy()


def subtracted_the_wrong_way(a: Array, b: Array) -> Array:
    """Mutant: b − a."""
    return b - a


def multiplied(a: Array, b: Array) -> Array:
    """Mutant: a product in place of a quotient."""
    return a * b


def by_a_reciprocal_of_12_bits(a: Array, b: Array) -> Array:
    """Mutant: the product with 1 / b, which has 12 bits."""
    return a * cut_to_bits(1 / b, 12)


def divisor_plus(epsilon: float, a: Array, b: Array) -> Array:
    """Mutant: a / (b + ε)."""
    return a / (b + b.dtype.type(epsilon))


# ── absolute values, powers and roots ─────────────────────────────────────────────────────────


def same(x: Array) -> Array:
    """Mutant of a function of one tensor: it is not applied."""
    return x


def negative_values_are_zero(x: Array) -> Array:
    """Mutant: max(x, 0) in place of |x|."""
    return np.maximum(x, x.dtype.type(0))


def root_forgotten(power: Change, x: Array, p: Array) -> Array:
    """Mutant: powers below 1, which are roots, are not taken."""
    return x if np.ndim(p) == 0 and p < 1 else power(x, p)


def power_to_bits(bits: int, power: Change, x: Array, p: Array) -> Array:
    """Mutant: powers are good to so many bits, but for the first, which is `x` itself."""
    y = power(x, p)
    return y if np.ndim(p) == 0 and p == 1 else cut_to_bits(y, bits, np.trunc)


# ── broadcasting: of arrays, to a tuple of arrays of one shape ────────────────────────────────


def _shapes(arrays: Sequence[Array]) -> list[Shape]:
    """Return the shapes, of as many axes each."""
    rank = max(x.ndim for x in arrays)
    return [(1,) * (rank - x.ndim) + x.shape for x in arrays]


def broadcast_from_the_front(broadcast: Broadcast, *arrays: Array) -> tuple[Array, ...]:
    """Mutant: shapes are matched from their first axes."""
    rank = max(x.ndim for x in arrays)
    filled = [xp.reshape(x, (*x.shape, *[1] * (rank - x.ndim))) for x in arrays]
    return broadcast(*filled)


def broadcast_in_turn(broadcast: Broadcast, *arrays: Array) -> tuple[Array, ...]:
    """Mutant: a tensor is read again from its start where it ends."""
    shape = broadcast(*arrays)[0].shape
    places = np.arange(prod(shape)).reshape(shape)
    return tuple(xp.take(xp.reshape(x, -1), places % (x.size or 1), axis=0) for x in arrays)


def broadcast_of_unequal_lengths(broadcast: Broadcast, *arrays: Array) -> tuple[Array, ...]:
    """Mutant: along each axis the shortest length but 1 is that of all."""
    shapes = _shapes(arrays)
    kept = []
    for lengths in zip(*shapes, strict=True):
        kept.append(slice(min({*lengths} - {1}, default=1)))
    cut = [xp.reshape(x, own)[tuple(kept)] for x, own in zip(arrays, shapes, strict=True)]
    return broadcast(*cut)


def broadcast_to_the_longest(broadcast: Broadcast, *arrays: Array) -> tuple[Array, ...]:
    """Mutant: an axis of length 0 becomes as long as the longest; what it holds is 0."""
    right = broadcast(*arrays)
    longest = tuple(map(max, zip(*_shapes(arrays), strict=True)))
    if longest == right[0].shape:
        return right
    return tuple(np.zeros(longest, x.dtype) for x in arrays)


def broadcast_refused(
    when: Callable[[Shape, Sequence[Shape]], bool], broadcast: Broadcast, *arrays: Array
) -> tuple[Array, ...]:
    """Mutant: refused, `when` the output's shape and those of the inputs are such.

    That raises InvalidNode, as shapes do that do not broadcast.
    """
    right = broadcast(*arrays)
    reject(when(right[0].shape, [x.shape for x in arrays]), "no such broadcasting")
    return right


def are_unequal(shape: Shape, shapes: Sequence[Shape]) -> bool:
    """Return True if inputs have different shapes."""
    return len({*shapes}) > 1


def are_of_unequal_ranks(shape: Shape, shapes: Sequence[Shape]) -> bool:
    """Return True if inputs have different ranks."""
    return len({*map(len, shapes)}) > 1


def is_of_no_input(shape: Shape, shapes: Sequence[Shape]) -> bool:
    """Return True if no input has the output's shape."""
    return shape not in shapes


#: By function; of +, −, × and ÷ between tensors.
_FAULTS: Mapping[str, tuple[MutantRow | Mutant, ...]] = {
    "matmul": (
        (
            "factors_in_tf32",
            "factors were rounded to 11 bits, as in TF32",
            partial(of_operands, partial(cut_to_bits, bits=11)),
            LONG,
        ),
        *(
            (
                f"factors_in_{kind.__name__}",
                f"factors were rounded to {kind.__name__}",
                partial(of_operands, partial(through, kind)),
                only,
            )
            for kind, only in ((ml_dtypes.bfloat16, LONG), (np.float32, DOUBLE))
        ),
        *(
            (
                f"products_added_in_{kind.__name__}",
                f"products were added up in {kind.__name__}",
                partial(products_added_in, kind),
                only,
            )
            for kind, only in ((np.float16, None), (ml_dtypes.bfloat16, LONG))
        ),
        (
            "last_product_left_out",
            "the last product of each sum was left out",
            partial(of_first_products, all_but_the_last),
        ),
        *(
            (
                f"products_left_over_by_{width}",
                f"what remained of the products after the last whole vector of {width}"
                " was left out",
                partial(of_first_products, partial(whole_vectors, width)),
            )
            for width in WIDTHS
        ),
        *(
            (
                f"products_of_{count}_elements",
                f"only the first {count} products were added up",
                partial(of_first_products, partial(min, count)),
            )
            for count in (1024, 4096)
        ),
    ),
    "exp": (
        ("base_2", "2^x was taken, not e^x", partial(in_place_of, np.exp2)),
        (
            "exp_of_schraudolph",
            "e^x was read from the bits of a float, a straight line between the powers of two",
            partial(in_place_of, exp_of_schraudolph),
        ),
        (
            "exp_by_its_power_of_4096",
            "(1 + x/4096)^4096 was taken for e^x",
            partial(in_place_of, exp_by_its_power_of_4096),
        ),
        *(
            (
                f"exp_in_{kind.__name__}",
                f"exponentials were rounded to {kind.__name__}",
                partial(of_value, partial(through, kind)),
            )
            for kind in (np.float16, ml_dtypes.bfloat16)
        ),
        *(
            (
                f"exp_good_to_{bits}_bits",
                f"a fast exponential was good to 2^-{bits} only",
                partial(exp_good_to_bits, bits),
                DOUBLE if bits == 20 else None,
            )
            for bits in (11, 14, 16, 18, 20)
        ),
        (
            "exp_in_float32",
            "exponentials were computed in float32",
            partial(in_place_of, exp_in_float32),
            DOUBLE,
        ),
        (
            "exponent_of_8_bits",
            "exponents were rounded to bfloat16",
            partial(of_operands, partial(cut_to_bits, bits=8)),
        ),
        (
            "exponent_of_11_bits",
            "exponents were rounded to 11 bits, as in TF32",
            partial(of_operands, partial(cut_to_bits, bits=11)),
        ),
        (
            "far_exponents_vanish",
            "e^x was taken for 0 below -8",
            far_exponents_vanish,
        ),
        *(
            (
                f"exponent_above_minus_{-low}",
                f"exponents were clamped to {low}{why}",
                partial(of_operands, partial(np.maximum, float(low))),
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
        ("nothing_subtracted", "nothing was subtracted", partial(on_tensors, first_alone)),
        (
            "subtracted_the_wrong_way",
            "a − b was computed as b − a",
            partial(on_tensors, subtracted_the_wrong_way),
        ),
    ),
    "add": (("nothing_added", "nothing was added", partial(on_tensors, first_alone)),),
    "multiply": (("nothing_multiplied", "no product was taken", partial(on_tensors, first_alone)),),
    "divide": (
        ("not_divided", "nothing was divided by", partial(by_tensors, first_alone)),
        (
            "multiplied_not_divided",
            "a product was taken, not a quotient",
            partial(by_tensors, multiplied),
        ),
        (
            "reciprocal_of_12_bits",
            "a reciprocal was estimated to 12 bits, and not refined",
            partial(by_tensors, by_a_reciprocal_of_12_bits),
        ),
        *(
            (
                f"divisor_plus_{epsilon:.0e}",
                f"{epsilon:.2g} was added to the divisor",
                partial(by_tensors, partial(divisor_plus, epsilon)),
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
            partial(in_place_of, same),
            BELOW_0,
        ),
        (
            "negative_values_are_zero",
            "negative values counted as 0",
            partial(in_place_of, negative_values_are_zero),
            BELOW_0,
        ),
    ),
    "pow": (
        (
            "root_forgotten",
            "the root was forgotten",
            root_forgotten,
        ),
        *(
            (
                f"pow_of_{bits}_bits",
                f"powers and roots were good to {bits} bits",
                partial(power_to_bits, bits),
                LONG,
            )
            for bits in (12, 16)
        ),
    ),
    "sqrt": (
        ("square_root_forgotten", "the square root was forgotten", partial(in_place_of, same)),
    ),
    "broadcast": (
        (
            "broadcast_from_the_front",
            "shapes were matched from their first axes",
            broadcast_from_the_front,
        ),
        (
            "broadcast_in_turn",
            "the smaller tensor was read again from its start where it ended",
            broadcast_in_turn,
        ),
        (
            "broadcast_of_nothing",
            "an axis of length 0 became as long as the longest beside it",
            broadcast_to_the_longest,
        ),
        (
            "refuses_broadcasting",
            "tensors of unequal shapes were not supported",
            partial(broadcast_refused, are_unequal),
        ),
        (
            "refuses_unequal_ranks",
            "tensors of unequal ranks were not supported",
            partial(broadcast_refused, are_of_unequal_ranks),
        ),
        (
            "broadcast_to_one_alone",
            "outputs larger than each of the inputs were not supported",
            partial(broadcast_refused, is_of_no_input),
        ),
        faulty(
            "broadcast",
            "broadcast_of_unequal_lengths",
            "axes of unequal lengths were cut to the shortest",
            broadcast_of_unequal_lengths,
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
            partial(of_value, partial(cut_to_bits, bits=bits, whole=np.trunc)),
            LONG,
        )
        for name in ("sqrt", "log", "tanh", "erf", "sin", "cos")
        for bits in (12, 16)
    ),
)
