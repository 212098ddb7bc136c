"""Functions of each element: of one tensor, activations too, or of several that broadcast."""

import math
from functools import partial, reduce
from typing import Any

import numpy as np

from opcheck import dtypes, numbers as xp, opset
from opcheck.engine import axes, operators
from opcheck.engine.axes import broadcast, common_shape, from_the_front, stretches
from opcheck.engine.mutants.elements import FLOATS, SIGNED, UNSIGNED
from opcheck.engine.node import body_formula
from opcheck.engine.operators import (
    check_one_of,
    family,
    leave_open,
    operator,
    raise_unspecified,
    signature_of,
)
from opcheck.errors import InvalidNode, NotSupported, decline, reject
from opcheck.grouping import sure
from opcheck.model import OpVersion
from opcheck.numbers.faulty import bare, seen

NAMES = """Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd BitwiseNot
BitwiseOr BitwiseXor Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual
HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul
Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt
Sub Sum SwiGLU Swish Tan Tanh ThresholdedRelu Xor"""
BIT_CAST, CLIP, SHIFT = (operator(name, exact=True) for name in ("BitCast", "Clip", "BitShift"))
GELU, MOD, P_RELU = map(operator, ("Gelu", "Mod", "PRelu"))
_ALL_FINITE = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2fnuz")
#: Those that round nothing.
_EXACT = family(
    {
        "Abs": xp.abs,
        "BitwiseNot": lambda x: ~x,
        "Ceil": xp.ceil,
        "Floor": xp.floor,
        "Identity": lambda x: x,
        "IsNaN": xp.isnan,
        "Neg": xp.negative,
        "Not": xp.logical_not,
        "Relu": lambda x: xp.maximum(x, 0),
        "Round": xp.round,
        "Sign": xp.sign,
    },
    exact=True,
)


def _half_added(X):
    return xp.floor(X + X.dtype.type(0.5))


for _name in ("Floor", "Ceil"):
    _EXACT[_name].mutant("numbers were cut off towards zero", name="cut_off")(lambda X: xp.trunc(X))
_EXACT["Round"].mutant("1/2 was added, and the sum rounded down", name="half_added")(_half_added)
_EXACT["Round"].mutant("halves were rounded away from zero", name="half_added_to_the_magnitude")(
    lambda X: xp.sign(X) * _half_added(xp.abs(X))
)
_EXACT["Sign"].mutant("zero counted as positive", name="zero_is_positive")(
    lambda input: xp.where(xp.less(input, 0), input * 0 - 1, input * 0 + 1)
)


@operator("IsInf", exact=True, constant=_ALL_FINITE).formula(10, 20)
def is_inf(X, *, detect_negative, detect_positive):
    if not {detect_negative, detect_positive} <= {0, 1}:
        raise_unspecified("values other than 0 and 1")
    infinite, negative = xp.isinf(X), xp.less(X, 0)
    return infinite & ((bool(detect_negative) & negative) | (bool(detect_positive) & ~negative))


@BIT_CAST.formula(26)
def bit_cast(input, *, to):
    dtype, own = sure(dtypes.named(to)), sure(dtypes.of(bare(input)))
    if dtype == own:
        return input
    if not (dtype.bits and own.bits):
        raise NotSupported(f"unsupported by opcheck: the bits of {own} as {dtype}")
    reject(dtype.bits != own.bits, f"{own} as {dtype}, which has another width")
    # Of a byte in NumPy, narrower types have the lowest bits.
    return bare(input).view(dtype.numpy)


def _erf(x):
    if x.dtype.kind in "iu" and np.any(bare(x)):
        leave_open("how the result becomes an integer")
    return xp.erf(x)


def sigmoid(x):
    return xp.at_most_1(1 / (1 + xp.exp(-x)))


def _softplus(x):
    return xp.log(xp.exp(x) + 1)


def _shrink(x, *, lambd, bias):
    if x.dtype.kind in "iu" and bias:
        raise_unspecified("how a float is added to integers")
    bias = bias or xp.zeros_like(x)
    inner = xp.where(xp.greater(x, lambd), x - bias, xp.zeros_like(x))
    return xp.where(xp.less(x, -lambd), x + bias, inner)


def _gated(a, b, *, alpha):
    reject(a.shape != b.shape, f"shapes {list(a.shape)} and {list(b.shape)}; allowed: equal ones")
    return a * sigmoid(alpha * a) * b


def _clipped(x, high):
    return xp.maximum(xp.minimum(x, high), 0)


#: The formula of the text first, then others that are common, where these round elsewhere.
_REAL = family(
    {
        "Acos": xp.acos,
        "Acosh": xp.acosh,
        "Asin": xp.asin,
        "Asinh": xp.asinh,
        "Atan": xp.atan,
        "Atanh": xp.atanh,
        "Cos": xp.cos,
        "Cosh": xp.cosh,
        "Erf": _erf,
        "Exp": xp.exp,
        "Log": xp.log,
        "Sin": xp.sin,
        "Sinh": xp.sinh,
        "Tan": xp.tan,
        "Tanh": xp.tanh,
        "Sqrt": (xp.sqrt, lambda x: xp.pow(x, 0.5)),
        "Celu": lambda x, *, alpha: (
            xp.maximum(x, 0) + xp.minimum(alpha * (xp.exp(x / alpha) - 1), 0)
        ),
        "Elu": lambda x, *, alpha: xp.where(xp.less(x, 0), alpha * (xp.exp(x) - 1), x),
        "HardSigmoid": lambda x, *, alpha, beta: _clipped(alpha * x + beta, 1),
        "HardSwish": (
            lambda x: x * _clipped(x / 6 + 0.5, 1),
            lambda x: x * _clipped(x + 3, 6) / 6,
            lambda x: x * (_clipped(x + 3, 6) * (1 / 6)),
            lambda x: x * _clipped(x * (1 / 6) + 0.5, 1),
            # The function body has 1/6 as an attribute, in float32.
            lambda x: x * _clipped(x * float(np.float32(1 / 6)) + 0.5, 1),
        ),
        "LeakyRelu": lambda x, *, alpha: xp.where(xp.less(x, 0), alpha * x, x),
        "Mish": lambda x: x * xp.tanh(_softplus(x)),
        "Reciprocal": lambda x: 1 / x,
        "Selu": (
            lambda x, *, alpha, gamma: (
                gamma * xp.where(xp.greater(x, 0), x, alpha * xp.exp(x) - alpha)
            ),
            lambda x, *, alpha, gamma: gamma * xp.where(xp.greater(x, 0), x, alpha * xp.expm1(x)),
        ),
        "Shrink": _shrink,
        "Sigmoid": sigmoid,
        "Softplus": (lambda x: xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x))), _softplus),
        "Softsign": lambda x: x / (1 + xp.abs(x)),
        "SwiGLU": _gated,
        "Swish": lambda x, *, alpha: x * sigmoid(alpha * x),
        "ThresholdedRelu": lambda x, *, alpha: xp.where(xp.greater(x, alpha), x, xp.zeros_like(x)),
    },
)

#: Functions of one tensor; also the activations of recurrent layers.
FAMILY = {**_EXACT, **_REAL}

# No arithmetic makes less of the logarithm of 1 or more, or of an exponential.
for _name in ("Exp", "Softplus"):
    _REAL[_name].low = 0.0
_REAL["Erf"].constant = tuple(name for name, dtype in dtypes.DTYPES.items() if dtype.kind == "int")


@P_RELU.formula(7, 9, 16)
def p_relu(X, slope):
    stretches("slope", slope, X)
    X, slope = broadcast(X, slope)
    return xp.where(xp.less(X, 0), slope * X, X)


@P_RELU.formula(1, 6)
def p_relu_of_channels(X, slope):
    """One slope for all elements, one for each, or, as the text implies, one for each channel."""
    if slope.size == 1:
        return p_relu(X, xp.reshape(slope, ()))
    if slope.shape != X.shape:
        if X.ndim < 2 or slope.shape != X.shape[1:2]:
            raise_unspecified("slopes neither one nor one a channel")
        slope = xp.reshape(slope, (-1, *(1 for _ in X.shape[2:])))
    return p_relu(X, slope)


@CLIP.formula(13)
def clip(input, min=None, max=None):
    for bound in (min, max):
        if np.ndim(bare(bound)):
            raise InvalidNode(f"a bound of shape {list(bound.shape)}; allowed: scalars")
    bounds = [bound for bound in (min, max) if bound is not None]
    if bounds and any(np.any(seen(x) != seen(x)) for x in (input, *bounds)):
        leave_open("nothing is said of NaN")
    x = input if min is None else xp.maximum(input, min)
    return x if max is None else xp.minimum(x, max)


@CLIP.formula(11, 12)
def clip_11(input, min=None, max=None):
    clipped = clip(input, min, max)
    if min is not None and max is not None and bare(min) > bare(max):
        raise_unspecified("min above max")
    return clipped


CLIP.formula(1, 6)(lambda input, *, min, max: clip_11(input, min, max))
CLIP.mutant("min counted more than max where it is above it", 13, name="max_before_min")(
    lambda input, min=None, max=None: clip(clip(input, None, max), min)
)


@operators.formula_builder(20)
def by_function(odd, X, *, approximate):
    """Version 20, from `odd(x, approximate)`, which stands for erf(x / √2)."""
    check_one_of("approximate", approximate, "none", "tanh")
    return 0.5 * X * (1 + odd(X, approximate))


@GELU.formula(build=by_function)
def error_function(x, approximate, millionths=44715):
    if approximate == "none":
        return xp.erf(x * xp.inexact(xp.sqrt(xp.real(0.5)), 1))
    root = xp.sqrt(xp.real(0.5) / xp.atan(xp.real(1)))  # of 2/π
    return xp.tanh(root * (x + xp.real(millionths) / 1000000 * (x * x * x)))


GELU.alternative("with the function body's constants, float32's in the tensor's type", 20)(
    body_formula(OpVersion("", "Gelu", 20))
)
GELU.mutant_table(
    {
        "tanh_always": (
            "the approximation by tanh was taken, whatever approximate",
            lambda x, approximate: error_function(x, "tanh"),
        ),
        "quick": (
            "the approximation by a logistic function of 1.702·x was taken",
            lambda x, approximate: xp.tanh(0.851 * x),
        ),
        "root_of_two_forgotten": (
            "erf was taken of x, not of x/√2",
            lambda x, approximate: (
                xp.erf(x) if approximate == "none" else error_function(x, approximate)
            ),
        ),
        "shorter_factor": (
            "0.0447 stood for 0.044715",
            lambda x, approximate: error_function(x, approximate, 44700),
        ),
        "square_for_cube": (
            "x² stood for x³",
            lambda x, approximate: (
                xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x)))
                if approximate == "tanh"
                else error_function(x, approximate)
            ),
        ),
        "tail_cut": (
            "results below -3 were taken for 0",
            lambda x, approximate: xp.where(x < -3, -1.0, error_function(x, approximate)),
        ),
    },
    build=by_function,
)


@GELU.mutant("erf was a polynomial that is good to 1.5e-7", build=by_function)
def polynomial(x, approximate):
    if approximate == "tanh":
        return error_function(x, approximate)
    z = xp.abs(x) / math.sqrt(2)
    t, total = 1 / (1 + 0.3275911 * z), 0
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total = (total + factor) * t
    return xp.sign(x) * (1 - total * xp.exp(-z * z))


def _divided(a, b):
    """a/b; integers are rounded towards zero. Nothing is said of what no integer can hold."""
    if a.dtype.kind not in "iu":
        return a / b
    if ((b == 0) | ((b == -1) & (a == np.iinfo(a.dtype).min))).any():
        raise_unspecified("integers divided by 0, or out of range")
    return (a - np.fmod(a, b)) // b


def _to_either_side(function, a, b):
    """A rounding that is not the last one: no text says to which neighbour a result is rounded."""
    exact = function(a, b)
    return exact if exact.dtype.kind in "iu" else xp.inexact(exact, 0)


def _power(x, y):
    """x^y, in the type of `x`; of integers the fraction is cut off, as casts do it."""
    if x.dtype.kind not in "iu":
        return xp.pow(x, y)
    whole = y.dtype.kind in "iu"
    exponent = y if whole else xp.values_of(y)
    power = np.power(x.astype(np.longdouble), exponent.astype(np.longdouble))
    off = np.abs(power - np.rint(power))
    # A root of 64 or more is no whole number. Other powers next to one may be rounded to it.
    exact = (off == 0) & ((exponent * 32 % 1 == 0) | (x == 1))
    low, high = dtypes.limits(dtypes.of(x)) if whole else (-(2**24), 2**24)
    held = (power >= low) & (power <= high)
    if not (held & (exact | (off >= 2.0**-18 * np.abs(power)))).all():
        raise_unspecified("how powers are rounded")
    # Beyond 64 only the powers of 1, 0 and -1 are held.
    times = np.clip(y, 0, 64 + y % 2).astype(x.dtype) if whole else 0
    return np.where(whole & (y >= 0), np.power(x, times), np.trunc(power).astype(x.dtype))


def _in_one_type(x, y):
    # Of integers that is no sound way: 9^0.5 became 9^0.
    if x.dtype.kind in "iu" or x.dtype == y.dtype:
        return _power(x, y)
    # Rounded, and not with an error: only of whole numbers does a negative base have powers.
    return xp.pow(x, xp.lifted(xp.values_of(y).astype(x.dtype)))


def _by_products(x, y):
    """Powers of whole y by |y| factors, where each product is rounded."""
    times = xp.values_of(y)
    return xp.inexact(_power(x, y), np.where(times % 1 == 0, np.abs(times), 0))


#: Functions of two tensors, and those of them that round nothing.
PAIRS = {
    "Add": xp.add,
    "Sub": xp.subtract,
    "Mul": xp.multiply,
    "Div": _divided,
    "Pow": _power,
    "Less": xp.less,
    "LessOrEqual": xp.less_equal,
    "Greater": xp.greater,
    "GreaterOrEqual": xp.greater_equal,
    "Equal": xp.equal,
    "And": xp.logical_and,
    "Or": xp.logical_or,
    "Xor": xp.logical_xor,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}
EXACT = {*PAIRS} - {"Add", "Sub", "Mul", "Div", "Pow"}
#: Other sound ways, by their remarks.
SOUND: dict[str, Any] = {n: {"": partial(_to_either_side, PAIRS[n])} for n in ("Add", "Sub", "Mul")}
SOUND["Pow"] = {
    "with the exponent in the base's type": _in_one_type,
    "where powers are products of many factors": _by_products,
}


def _aligned(a, b, broadcast, axis):
    """`b` for the versions before 7, in which it is stretched only if `broadcast` says so."""
    if not broadcast:
        reject(a.shape != b.shape, f"shapes {list(a.shape)} and {list(b.shape)}, and no broadcast")
        return b
    if b.size == 1:
        return xp.reshape(b, ())
    if axis is not None and axis < 0:
        raise_unspecified("negative axes")
    start = a.ndim - b.ndim if axis is None else from_the_front(axis, a.ndim)
    if start < 0 or a.shape[start : start + b.ndim] != b.shape:
        raise InvalidNode(f"shape {list(b.shape)} is no part of {list(a.shape)} from axis {start}")
    return xp.reshape(b, (*b.shape, *(1 for _ in range(a.ndim - start - b.ndim))))


#: Functions that are easily taken for each other, and the opposite of each comparison.
SIBLINGS = (
    "And Or Xor",
    "BitwiseAnd BitwiseOr BitwiseXor",
    "Less LessOrEqual",
    "Greater GreaterOrEqual",
)
OPPOSITES = {"Less": "GreaterOrEqual", "LessOrEqual": "Greater"}
OPPOSITES |= {opposite: name for name, opposite in OPPOSITES.items()}


def _wrong(name):
    """Mutants of what rounds nothing: by name a text, the function, and its dtypes if not all."""
    right, opposite = PAIRS[name], OPPOSITES.get(name)
    siblings = (one for group in SIBLINGS if name in group.split() for one in group.split())
    found: dict[str, tuple[Any, ...]] = {
        f"{other.lower()}_computed": (f"{other} was computed", PAIRS[other])
        for other in siblings
        if other != name
    }
    if name == "Equal":
        found["bits_compared"] = (
            "the bits of floating numbers were compared",
            lambda a, b: a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}"),
            *FLOATS,
        )
    return (
        found
        if not opposite
        else found
        | {
            "not_the_opposite": (
                f"not {opposite} was computed, which NaN makes true",
                lambda a, b: ~PAIRS[opposite](a, b),
                *FLOATS,
            ),
            # Infinities differ by NaN, which is neither less nor greater, as equal numbers are not.
            "by_the_difference": (
                "a − b was compared with 0",
                lambda a, b: right(a - b, a.dtype.type(0)),
                *SIGNED,
                *UNSIGNED,
                *(FLOATS if "Equal" in name else ()),
            ),
            "sign_bit_misread": (
                "signed integers were compared as unsigned, others as signed",
                lambda a, b: right(a ^ _sign_bit(a), b ^ _sign_bit(b)),
                *SIGNED,
                *UNSIGNED,
            ),
        }
    )


def _sign_bit(x):
    return np.left_shift(x.dtype.type(1), x.dtype.type(8 * x.itemsize - 1))


def _by_version(name, function):
    def of_pair(A, B):
        if name in EXACT:
            return function(*axes.broadcast(A, B))
        common_shape(A.shape, B.shape)
        return function(A, B)

    def of_part(A, B, *, broadcast, axis):
        return function(A, _aligned(A, B, broadcast, axis))

    versions = opset.versions("", name)
    for made, names in ((of_part, ("broadcast", "axis")), (of_pair, ())):
        made.__signature__ = signature_of(versions[max(versions)], names)  # type: ignore[union-attr]
    return {since: of_part if since < 7 else of_pair for since in versions}


for _name, _right in PAIRS.items():
    _by = partial(_by_version, _name)
    _made = operator(_name, exact=_name in EXACT, led=_name == "Pow")
    _made.formula(build=_by)(_right)
    for _remark, _other in SOUND.get(_name, {}).items():
        _made.alternative(_remark, build=_by)(_other)
    _made.mutant_table(_wrong(_name) if _name in EXACT else {}, build=_by)
    if _name == "Div":
        _made.mutant(
            "negative quotients were rounded down",
            name="quotients_rounded_down",
            only=SIGNED,
            build=_by,
        )(lambda a, b: (_divided(a, b), a // b)[1])


@MOD.formula(build=lambda formula: {since: partial(formula, since) for since in (10, 13, 28)})
def modulo(since, A, B, *, fmod):
    """The remainder of a division that rounds down, or towards zero if `fmod`."""
    whole = A.dtype.kind in "iu"
    # Floating numbers are 0 in the evaluation of infinities and NaN too.
    decline(since == 10 and whole and not A.all(), "of 0 the result depends on the platform")
    reject(since == 13 and whole and fmod == 1, "fmod 1 of integers; allowed: 0")
    reject(since < 28 and not whole and not fmod, "fmod 0 of floating numbers; allowed: 1")
    common_shape(A.shape, B.shape)
    check_one_of("fmod", fmod, 0, 1)
    if whole and not B.all():
        raise_unspecified("integers divided by 0")
    return xp.fmod(A, B) if fmod else xp.remainder(A, B)


@MOD.alternative("", 28)
def by_the_quotient(A, B, *, fmod):
    if A.dtype.kind in "iu":
        return modulo(28, A, B, fmod=fmod)
    quotient = A / B
    return A - (xp.trunc(quotient) if fmod else xp.floor(quotient)) * B


@SHIFT.formula(11)
def shifted_11(X, Y, *, direction):
    if (8 * X.dtype.itemsize <= Y).any():
        raise_unspecified("shifts by the width or more")
    return shifted(X, Y, direction=direction)


@SHIFT.formula(28)
def shifted(X, Y, *, direction):
    """Bits that are shifted out are lost; what a negative number is filled with is its sign."""
    X, Y = axes.broadcast(X, Y)
    check_one_of("direction", direction, "LEFT", "RIGHT")
    beyond = (Y < 0) | (8 * X.dtype.itemsize <= Y)
    by = np.where(beyond, Y.dtype.type(0), Y)
    if direction == "LEFT":
        return np.where(beyond, X.dtype.type(0), np.left_shift(X, by))
    return np.where(beyond, np.where(X < 0, ~(X * 0), X * 0), np.right_shift(X, by))


def _summed(*data):
    """The sum in any order."""
    return xp.sum(xp.stack(broadcast(*data)), axis=0)


def _over(x, count):
    return x / np.full((1,) * x.ndim, count, x.dtype)


# Version 13 forbids an fmod of 1, which is that mistake in the others.
MOD.mutant("the sign was the dividend's, as in C", 13, name="sign_of_the_dividend", only=SIGNED)(
    lambda A, B, *, fmod: (modulo(13, A, B, fmod=fmod), xp.fmod(A, B))[1]
)
SHIFT.mutant("the amount was taken modulo the width", 28, name="shifted_modulo_the_width")(
    lambda X, Y, *, direction: shifted(X, Y & Y.dtype.type(8 * Y.itemsize - 1), direction=direction)
)
SHIFT.mutant("the direction was ignored", name="always_to_the_left")(
    lambda X, Y, *, direction: shifted(X, Y, direction="LEFT")
)
SHIFT.mutant("zeros were shifted in, whatever the sign", 28, name="zeros_shifted_in", only=SIGNED)(
    lambda X, Y, *, direction: shifted(
        *(x.view(f"u{x.itemsize}") for x in (X, Y)), direction=direction
    ).view(X.dtype)
)


def _of_many(function, stretched, *data_0):
    if not stretched and len({x.shape for x in data_0}) > 1:
        raise InvalidNode("the shapes differ, and nothing is stretched before version 8")
    common_shape(*(x.shape for x in data_0))
    return function(*data_0)


for _name, *_functions in (
    ("Max", lambda *data: reduce(xp.maximum, data)),
    ("Min", lambda *data: reduce(xp.minimum, data)),
    # The sum divided, in any order; the sum of shares; and a running mean.
    (
        "Mean",
        lambda *data: _over(reduce(xp.add, data), len(data)),
        lambda *data: _over(_summed(*data), len(data)),
        lambda *data: _summed(*(_over(x, len(data)) for x in data)),
        lambda *data: reduce(
            lambda mean, n: mean + _over(data[n] - mean, n + 1), range(1, len(data)), data[0]
        ),
    ),
    ("Sum", lambda *data: reduce(xp.add, data), _summed),
):
    _each = {since: since >= 8 for since in opset.versions("", _name)}
    _made = operator(_name, exact=_name in ("Max", "Min"))
    _made.formula_and_alternatives(operators.formula_builder(each=_each)(_of_many), *_functions)
