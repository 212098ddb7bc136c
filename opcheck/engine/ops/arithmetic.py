"""Arithmetic, comparisons and logic of tensors that broadcast."""

from functools import partial, reduce
from typing import Any

import numpy as np

from opcheck import dtypes, opset
from opcheck import numbers as xp
from opcheck.engine import axes
from opcheck.engine.axes import common_shape, from_the_front
from opcheck.engine.mutants.elements import FLOATS, SIGNED, UNSIGNED
from opcheck.engine.operators import operator, signature_of
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual
Max Mean Min Mod Mul Or Pow Sub Sum Xor
"""
MOD, SHIFT = operator("Mod"), operator("BitShift", exact=True)


def _divided(a, b):
    """a/b; integers are rounded towards zero. Nothing is said of what no integer can hold."""
    if a.dtype.kind not in "iu":
        return a / b
    if ((b == 0) | ((b == -1) & (a == np.iinfo(a.dtype).min))).any():
        raise NotSupported("nothing is said of integers divided by 0, or out of range")
    quotient = np.floor_divide(a, b)
    inexact = (quotient * b != a) & ((a < 0) != (b < 0)) & (b != 0)
    return quotient + inexact.astype(a.dtype)


def _to_either_side(function, a, b):
    """A rounding that is not the last one: no text says to which neighbour a result is rounded."""
    exact = function(a, b)
    return exact if exact.dtype.kind in "iu" else xp.inexact(exact, 0)


def _power(x, y):
    """x^y, in the type of `x`; of integers the fraction is cut off, as casts do it."""
    if x.dtype.kind != "i":
        return xp.pow(x, y)
    whole = y.dtype.kind in "iu"
    exponent = y if whole else bare(xp.values_of(y))
    power = np.power(x.astype(np.longdouble), exponent.astype(np.longdouble))
    off = np.abs(power - np.rint(power))
    # A root of 64 or more is no whole number. Other powers next to one may be rounded to it.
    exact = (off == 0) & ((exponent * 32 % 1 == 0) | (x == 1))
    low, high = dtypes.limits(dtypes.of(x)) if whole else (-(2**24), 2**24)
    held = (power >= low) & (power <= high)
    if not (held & (exact | (off >= 2.0**-18 * np.abs(power)))).all():
        raise NotSupported("nothing is said of how such powers of integers are rounded")
    # Beyond 64 only the powers of 1, 0 and -1 are held.
    times = np.clip(y, 0, 64 + y % 2).astype(x.dtype) if whole else 0
    return np.where(whole & (y >= 0), np.power(x, times), np.trunc(power).astype(x.dtype))


def _in_one_type(x, y):
    # Of integers that is no sound way: 9^0.5 became 9^0.
    same = x.dtype.kind == "i" or x.dtype == y.dtype
    return _power(x, y) if same else xp.pow(xp.astype(x, x.dtype), xp.astype(y, x.dtype))


def _by_products(x, y):
    """Where y is whole, of |y| factors, each product of which is rounded."""
    times = bare(xp.values_of(y))
    return xp.inexact(_power(x, y), np.where(times % 1 == 0, np.abs(times), 0))


#: Functions of two tensors, and those of them that round nothing.
PAIRS = {
    "Add": xp.add, "Sub": xp.subtract, "Mul": xp.multiply, "Div": _divided, "Pow": _power,
    "Less": xp.less, "LessOrEqual": xp.less_equal, "Greater": xp.greater,
    "GreaterOrEqual": xp.greater_equal, "Equal": xp.equal,
    "And": xp.logical_and, "Or": xp.logical_or, "Xor": xp.logical_xor,
    "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor,
}  # fmt: skip
EXACT = {*PAIRS} - {"Add", "Sub", "Mul", "Div", "Pow"}
#: Other sound ways, by their remarks.
SOUND: dict[str, Any] = {n: {"": partial(_to_either_side, PAIRS[n])} for n in ("Add", "Sub", "Mul")}
SOUND["Pow"] = {"with the exponent in the base's type": _in_one_type,
                "where powers are products of many factors": _by_products}  # fmt: skip


def _aligned(a, b, broadcast, axis):
    """`b` for the versions before 7, in which it is stretched only if `broadcast` says so."""
    if not broadcast:
        if a.shape != b.shape:
            raise InvalidNode(f"shapes {list(a.shape)} and {list(b.shape)}, and no broadcast")
        return b
    if b.size == 1:
        return xp.reshape(b, ())
    if axis is not None and axis < 0:
        raise NotSupported("nothing is said of negative axes")
    start = a.ndim - b.ndim if axis is None else from_the_front(axis, a.ndim)
    if start < 0 or a.shape[start : start + b.ndim] != b.shape:
        raise InvalidNode(f"shape {list(b.shape)} is no part of {list(a.shape)} from axis {start}")
    return xp.reshape(b, (*b.shape, *(1 for _ in range(a.ndim - start - b.ndim))))


#: Functions that are easily taken for each other, and the opposite of each comparison.
SIBLINGS = (
    "And Or Xor", "BitwiseAnd BitwiseOr BitwiseXor", "Less LessOrEqual", "Greater GreaterOrEqual",
)  # fmt: skip
OPPOSITES = {"Less": "GreaterOrEqual", "LessOrEqual": "Greater"}
OPPOSITES |= {opposite: name for name, opposite in OPPOSITES.items()}


def _wrong(name):
    """Mutants of what rounds nothing: a name, a text, the function, and its dtypes if not all."""
    right, opposite = PAIRS[name], OPPOSITES.get(name)
    for siblings in (group.split() for group in SIBLINGS if name in group.split()):
        for other in (one for one in siblings if one != name):
            yield f"{other.lower()}_computed", f"{other} was computed", PAIRS[other]
    if name == "Equal":
        yield ("bits_compared", "the bits of floating numbers were compared",
               lambda a, b: a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}"),
               *FLOATS)  # fmt: skip
    if opposite:
        yield ("not_the_opposite", f"not {opposite} was computed, which NaN makes true",
               lambda a, b: ~PAIRS[opposite](a, b), *FLOATS)  # fmt: skip
        # Infinities differ by NaN, which is neither less nor greater, as equal numbers are not.
        yield ("by_the_difference", "a − b was compared with 0",
               lambda a, b: right(a - b, a.dtype.type(0)), *SIGNED, *UNSIGNED,
               *(FLOATS if "Equal" in name else ()))  # fmt: skip
        yield ("sign_bit_misread", "signed integers were compared as unsigned, others as signed",
               lambda a, b: right(a ^ _sign_bit(a), b ^ _sign_bit(b)), *SIGNED,
               *UNSIGNED)  # fmt: skip


def _sign_bit(x):
    return np.left_shift(x.dtype.type(1), x.dtype.type(8 * x.itemsize - 1))


def _by_version(name, function):
    def of_pair(A, B):
        if name in EXACT:
            return function(*axes.broadcast(A, B))
        common_shape(A, B)
        return function(A, B)

    def of_part(A, B, *, broadcast, axis):
        return function(A, _aligned(A, B, broadcast, axis))

    versions = opset.versions("", name)
    for made, names in ((of_part, ("broadcast", "axis")), (of_pair, ())):
        made.__signature__ = signature_of(versions[max(versions)], names)  # type: ignore[union-attr]
    return {since: of_part if since < 7 else of_pair for since in versions}


def _declare(name):
    made = operator(name, exact=name in EXACT, ignores=("consumed_inputs",))
    by = partial(_by_version, name)
    made.formula(by=by)(PAIRS[name])
    for remark, other in SOUND.get(name, {}).items():
        made.also_honest(remark, by=by)(other)
    for called, text, wrong, *only in _wrong(name) if name in EXACT else ():
        made.mutant(text, name=called, by=by, only=only or None)(wrong)


for _name in PAIRS:
    _declare(_name)


def modulo(since, A, B, *, fmod):
    """The remainder of a division that rounds down, or towards zero if `fmod`."""
    whole = A.dtype.kind in "iu"
    # Floating numbers are 0 in the evaluation of infinities and NaN too.
    if since == 10 and whole and not A.all():
        raise NotSupported("what comes of a dividend of 0 depends on the platform")
    if since == 13 and whole and fmod == 1:
        raise InvalidNode("fmod 1 of integers; allowed: 0")
    if since < 28 and not whole and not fmod:
        raise InvalidNode("fmod 0 of floating numbers; allowed: 1")
    common_shape(A, B)
    if fmod not in (0, 1):
        raise InvalidNode(f"fmod {fmod}; allowed: 0, 1")
    if whole and not B.all():
        raise NotSupported("nothing is said of integers divided by 0")
    return xp.fmod(A, B) if fmod else xp.remainder(A, B)


for _since in (10, 13, 28):
    MOD.formula(_since)(partial(modulo, _since))


@MOD.also_honest("", 28)
def by_the_quotient(A, B, *, fmod):
    if A.dtype.kind in "iu":
        return modulo(28, A, B, fmod=fmod)
    quotient = A / B
    return A - (xp.trunc(quotient) if fmod else xp.floor(quotient)) * B


@SHIFT.formula(11)
def shifted_11(X, Y, *, direction):
    if (8 * X.dtype.itemsize <= Y).any():
        raise NotSupported("nothing is said of shifts by the width or more")
    return shifted(X, Y, direction=direction)


@SHIFT.formula(28)
def shifted(X, Y, *, direction):
    """Bits that are shifted out are lost; what a negative number is filled with is its sign."""
    X, Y = axes.broadcast(X, Y)
    if direction not in ("LEFT", "RIGHT"):
        raise InvalidNode(f"direction {direction!r}; allowed: LEFT, RIGHT")
    width = 8 * X.dtype.itemsize
    beyond = (Y < 0) | (width <= Y)
    by = np.where(beyond, Y.dtype.type(0), Y)
    if direction == "LEFT":
        return np.where(beyond, X.dtype.type(0), np.left_shift(X, by))
    return np.where(beyond, np.where(X < 0, ~(X * 0), X * 0), np.right_shift(X, by))


def _summed(*data, by=None):
    """The sum in any order; of all inputs divided by `by`, if that is given."""
    shape = common_shape(*data)
    stacked = xp.stack([xp.broadcast_to(one, shape) for one in data])
    return xp.sum(stacked if by is None else _over(stacked, by), axis=0)


def _over(x, count):
    return x / np.full((1,) * x.ndim, count, x.dtype)


def _sum(*data):
    return reduce(xp.add, data)


for _name, _text, _way, *_versions in (
    ("shifted_modulo_the_width", "the amount was taken modulo the width", lambda X, Y, *, direction:
        shifted(X, Y & Y.dtype.type(8 * Y.itemsize - 1), direction=direction), 28),
    ("always_to_the_left", "the direction was ignored", lambda X, Y, *, direction:
        shifted(X, Y, direction="LEFT")),
):  # fmt: skip
    SHIFT.mutant(_text, *_versions, name=_name)(_way)


@SHIFT.mutant("zeros were shifted in, whatever the sign", 28, only=SIGNED)
def zeros_shifted_in(X, Y, *, direction):
    unsigned = (x.view(f"u{x.itemsize}") for x in (X, Y))
    return shifted(*unsigned, direction=direction).view(X.dtype)


def _of_many(name, function):
    def of_equal(*data_0):
        if any(one.shape != data_0[0].shape for one in data_0):
            raise InvalidNode("the shapes differ, and nothing is stretched before version 8")
        return function(*data_0)

    def of_all(*data_0):
        common_shape(*data_0)
        return function(*data_0)

    return {since: of_equal if since < 8 else of_all for since in opset.versions("", name)}


def _declare_many(name, function, *others, exact=False):
    made = operator(name, exact=exact, ignores=("consumed_inputs",))
    by = partial(_of_many, name)
    made.formula(by=by)(function)
    for other in others:
        made.also_honest("", by=by)(other)


_declare_many("Max", lambda *data: reduce(xp.maximum, data), exact=True)
_declare_many("Min", lambda *data: reduce(xp.minimum, data), exact=True)
# The sum divided, in any order; the sum of shares; and a running mean.
_declare_many(
    "Mean", lambda *data: _over(_sum(*data), len(data)),
    lambda *data: _over(_summed(*data), len(data)), lambda *data: _summed(*data, by=len(data)),
    lambda *data: reduce(
        lambda mean, n: mean + _over(data[n] - mean, n + 1), range(1, len(data)), data[0]),
)  # fmt: skip
_declare_many("Sum", _sum, _summed)
