"""Functions of each element of one tensor, and the activations made of them."""

import math

import numpy as np

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.engine.axes import broadcast, stretches
from opcheck.engine.node import body_formula
from opcheck.engine.operators import family, is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from opcheck.numbers.faulty import bare

NAMES = """
Abs Acos Acosh Asin Asinh Atan Atanh BitCast BitwiseNot Ceil Celu Clip Cos Cosh Elu Erf Exp Floor
Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not PRelu Reciprocal Relu
Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt SwiGLU Swish Tan Tanh ThresholdedRelu
"""
BITWISE_NOT, BIT_CAST = operator("BitwiseNot", exact=True), operator("BitCast", exact=True)
CLIP = operator("Clip", exact=True, ignores=("consumed_inputs",))
GELU, P_RELU = operator("Gelu"), operator("PRelu", ignores=("consumed_inputs",))
_ALL_FINITE = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2fnuz")
IS_INF = operator("IsInf", exact=True, constant=_ALL_FINITE)
#: Those that round nothing.
_EXACT = family(
    {
        "Abs": xp.abs, "Ceil": xp.ceil, "Floor": xp.floor, "Identity": lambda x: x,
        "IsNaN": xp.isnan, "Neg": xp.negative, "Not": xp.logical_not,
        "Relu": lambda x: xp.maximum(x, 0), "Round": xp.round, "Sign": xp.sign,
    },
    exact=True,
)  # fmt: skip


def _half_added(X):
    return xp.floor(X + X.dtype.type(0.5))


for _name in ("Floor", "Ceil"):
    _EXACT[_name].mutant("numbers were cut off towards zero", name="cut_off")(
        lambda X: xp.where(xp.less(X, 0), xp.ceil(X), xp.floor(X))
    )
_EXACT["Round"].mutant("1/2 was added, and the sum rounded down", name="half_added")(_half_added)
_EXACT["Round"].mutant("halves were rounded away from zero", name="half_added_to_the_magnitude")(
    lambda X: xp.sign(X) * _half_added(xp.abs(X))
)
_EXACT["Sign"].mutant("zero counted as positive", name="zero_is_positive")(
    lambda input: xp.where(xp.less(input, 0), input * 0 - 1, input * 0 + 1)
)


@IS_INF.formula(10, 20)
def is_inf(X, *, detect_negative, detect_positive):
    if not {detect_negative, detect_positive} <= {0, 1}:
        raise NotSupported("nothing is said of values other than 0 and 1")
    infinite, negative = xp.isinf(X), xp.less(X, 0)
    return infinite & ((bool(detect_negative) & negative) | (bool(detect_positive) & ~negative))


BITWISE_NOT.formula(18)(lambda X: ~X)


@BIT_CAST.formula(26)
def bit_cast(input, *, to):
    dtype, own = dtypes.named(to), dtypes.of(bare(input))
    assert dtype
    assert own
    if dtype == own:
        return input
    if not (dtype.bits and own.bits):
        raise NotSupported(f"unsupported by opcheck: the bits of {own} as {dtype}")
    if dtype.bits != own.bits:
        raise InvalidNode(f"{own} as {dtype}, which has another width")
    # Of a byte in NumPy, narrower types have the lowest bits.
    return bare(input).view(dtype.numpy)


def _erf(x):
    if x.dtype.kind in "iu" and np.any(bare(x)):
        is_open("nothing is said of how the result is rounded to an integer")
    return xp.erf(x)


def sigmoid(x):
    return 1 / (1 + xp.exp(-x))


def _softplus(x):
    return xp.log(xp.exp(x) + 1)


def _shrink(x, *, lambd, bias):
    if x.dtype.kind in "iu" and bias:
        raise NotSupported("nothing is said of how a float is added to integers")
    bias = bias or xp.zeros_like(x)
    inner = xp.where(xp.greater(x, lambd), x - bias, xp.zeros_like(x))
    return xp.where(xp.less(x, -lambd), x + bias, inner)


def _gated(a, b, *, alpha):
    if a.shape != b.shape:
        raise InvalidNode(f"shapes {list(a.shape)} and {list(b.shape)}; allowed: identical ones")
    return a * sigmoid(alpha * a) * b


def _clipped(x, high):
    return xp.maximum(xp.minimum(x, high), 0)


#: The formula of the text first, then others that are common, where these round elsewhere.
_REAL = family(
    {
        "Acos": xp.acos, "Acosh": xp.acosh, "Asin": xp.asin, "Asinh": xp.asinh, "Atan": xp.atan,
        "Atanh": xp.atanh, "Cos": xp.cos, "Cosh": xp.cosh, "Erf": _erf, "Exp": xp.exp,
        "Log": xp.log, "Sin": xp.sin, "Sinh": xp.sinh, "Tan": xp.tan,
        "Tanh": xp.tanh, "Sqrt": (xp.sqrt, lambda x: xp.pow(x, 0.5)),
        "Celu": lambda x, *, alpha: (
            xp.maximum(x, 0) + xp.minimum(alpha * (xp.exp(x / alpha) - 1), 0)),
        "Elu": lambda x, *, alpha: xp.where(xp.less(x, 0), alpha * (xp.exp(x) - 1), x),
        "HardSigmoid": lambda x, *, alpha, beta: _clipped(alpha * x + beta, 1),
        "HardSwish": (
            lambda x: x * _clipped(x / 6 + 0.5, 1), lambda x: x * _clipped(x + 3, 6) / 6,
            lambda x: x * (_clipped(x + 3, 6) * (1 / 6)),
            lambda x: x * _clipped(x * (1 / 6) + 0.5, 1),
            # The function body has 1/6 as an attribute, in float32.
            lambda x: x * _clipped(x * float(np.float32(1 / 6)) + 0.5, 1)),
        "LeakyRelu": lambda x, *, alpha: xp.where(xp.less(x, 0), alpha * x, x),
        "Mish": lambda x: x * xp.tanh(_softplus(x)), "Reciprocal": lambda x: 1 / x,
        "Selu": (
            lambda x, *, alpha, gamma: (
                gamma * xp.where(xp.greater(x, 0), x, alpha * xp.exp(x) - alpha)),
            lambda x, *, alpha, gamma: (
                gamma * xp.where(xp.greater(x, 0), x, alpha * xp.expm1(x)))),
        "Shrink": _shrink, "Sigmoid": sigmoid, "Softplus": (
            lambda x: xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x))), _softplus),
        "Softsign": lambda x: x / (1 + xp.abs(x)),
        "SwiGLU": _gated, "Swish": lambda x, *, alpha: x * sigmoid(alpha * x),
        "ThresholdedRelu": lambda x, *, alpha: (
            xp.where(xp.greater(x, alpha), x, xp.zeros_like(x))),
    },
)  # fmt: skip

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
            raise NotSupported("nothing is said of slopes that are neither one nor one a channel")
        slope = xp.reshape(slope, (-1, *(1 for _ in X.shape[2:])))
    return p_relu(X, slope)


@CLIP.formula(13)
def clip(input, min=None, max=None):
    for bound in (min, max):
        if np.ndim(bare(bound)):
            raise InvalidNode(f"a bound of shape {list(bound.shape)}; allowed: scalars")
    bounds = [bound for bound in (min, max) if bound is not None]
    if bounds and any(np.any(bare(x) != bare(x)) for x in (input, *bounds)):
        is_open("nothing is said of NaN")
    x = input if min is None else xp.maximum(input, min)
    return x if max is None else xp.minimum(x, max)


@CLIP.formula(11, 12)
def clip_11(input, min=None, max=None):
    clipped = clip(input, min, max)
    if min is not None and max is not None and bare(min) > bare(max):
        raise NotSupported("nothing is said of min above max")
    return clipped


CLIP.formula(1, 6)(lambda input, *, min, max: clip_11(input, min, max))


def by_function(odd):
    """Version 20, from `odd(x, approximate)`, which stands for erf(x / √2)."""

    def formula(X, *, approximate):
        if approximate not in ("none", "tanh"):
            raise InvalidNode(f"approximate {approximate!r}; allowed: none, tanh")
        return 0.5 * X * (1 + odd(X, approximate))

    return {20: formula}


@GELU.formula(by=by_function)
def error_function(x, approximate, millionths=44715):
    if approximate == "none":
        return xp.erf(x * xp.inexact(xp.sqrt(xp.real(0.5)), 1))
    root = xp.sqrt(xp.real(0.5) / xp.atan(xp.real(1)))  # of 2/π
    return xp.tanh(root * (x + xp.real(millionths) / 1000000 * (x * x * x)))


GELU.also_honest("with the function body's constants, float32's in the tensor's type", 20)(
    body_formula(OpVersion("", "Gelu", 20))
)


def square_for_cube(x, approximate):
    cubed = xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x)))
    return cubed if approximate == "tanh" else error_function(x, approximate)


GELUS = {
    "tanh_always": ("the approximation by tanh was taken, whatever approximate",
                    lambda x, approximate: error_function(x, "tanh")),
    "quick": ("the approximation by a logistic function of 1.702·x was taken",
              lambda x, approximate: xp.tanh(0.851 * x)),
    "root_of_two_forgotten": ("erf was taken of x, not of x/√2", lambda x, approximate: (
        xp.erf(x) if approximate == "none" else error_function(x, approximate))),
    "shorter_factor": ("0.0447 stood for 0.044715",
                       lambda x, approximate: error_function(x, approximate, 44700)),
    "square_for_cube": ("x² stood for x³", square_for_cube),
    "tail_cut": ("results below -3 were taken for 0",
                 lambda x, approximate: xp.where(x < -3, -1.0, error_function(x, approximate))),
}  # fmt: skip
GELU.mutant_table(GELUS, by=by_function)


@GELU.mutant("erf was a polynomial that is good to 1.5e-7", by=by_function)
def polynomial(x, approximate):
    if approximate == "tanh":
        return error_function(x, approximate)
    z = xp.abs(x) / math.sqrt(2)
    t, total = 1 / (1 + 0.3275911 * z), 0
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total = (total + factor) * t
    return xp.sign(x) * (1 - total * xp.exp(-z * z))
