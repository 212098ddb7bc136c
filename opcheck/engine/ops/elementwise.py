"""Functions of each element of one tensor, and the activations made of them."""

from itertools import product

import numpy as np

from opcheck import dtypes, opset
from opcheck import numbers as xp
from opcheck.engine.axes import broadcast, stretches
from opcheck.engine.operators import FLUSHED, family, is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
Abs Acos Acosh Asin Asinh Atan Atanh BitCast BitwiseNot Ceil Celu Clip Cos Cosh Elu Erf Exp Floor
HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not PRelu Reciprocal Relu Round
Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt SwiGLU Swish Tan Tanh ThresholdedRelu
"""


#: Those that round nothing.
_EXACT = family(
    {
        "Abs": xp.abs, "Ceil": xp.ceil, "Floor": xp.floor, "Identity": lambda x: x,
        "IsNaN": xp.isnan, "Neg": xp.negative, "Not": xp.logical_not,
        "Relu": lambda x: xp.maximum(x, 0), "Round": xp.round, "Sign": xp.sign,
    },
    exact=True,
)  # fmt: skip


def _cut_off(X):
    return xp.where(xp.less(X, 0), xp.ceil(X), xp.floor(X))


def _half_added(X):
    return xp.floor(X + X.dtype.type(0.5))


for _name in ("Floor", "Ceil"):
    _EXACT[_name].mutant("numbers were cut off towards zero", name="cut_off")(_cut_off)
_EXACT["Round"].mutant("1/2 was added, and the sum rounded down", name="half_added")(_half_added)
_EXACT["Round"].mutant("halves were rounded away from zero", name="half_added_to_the_magnitude")(
    lambda X: xp.sign(X) * _half_added(xp.abs(X))
)
_EXACT["Sign"].mutant("zero counted as positive", name="zero_is_positive")(
    lambda input: xp.where(xp.less(input, 0), input * 0 - 1, input * 0 + 1)
)
_EXACT["Round"].equivalent("subnormal_inputs_flushed", "the nearest integer is 0 anyhow")
_NEGATIVE = "minus_infinity_taken_for_minus_1e4 minus_infinity_taken_for_minus_1e9"
for _name in ("Relu", "Sign"):
    _EXACT[_name].equivalent("nan_taken_for_zero", "the text does not say what comes of NaN")
    _EXACT[_name].equivalent(_NEGATIVE, "any number below 0 serves")
_EXACT["Sign"].equivalent("infinities_clamped input_in_tf32 input_in_the_range_of_float16",
                          "no number changes its sign, or becomes 0")  # fmt: skip
_EXACT["Identity"].equivalent("invalid_is_copied invalid_is_zero",
                              "nothing that is of its form is invalid", "25")  # fmt: skip
_EXACT["Sign"].equivalent("input_in_bfloat16", "bfloat16 has the smaller numbers", "float16")

_ALL_FINITE = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2fnuz")
IS_INF = operator("IsInf", exact=True, constant=_ALL_FINITE)
IS_INF.equivalent("subnormal_inputs_flushed whole_numbers input_in_the_range_of_float16",
                  "finite numbers stay finite")  # fmt: skip
IS_INF.equivalent("nan_taken_for_zero", "neither is infinite")
IS_INF.equivalent("invalid_attribute_ignored", "no value is said to be invalid")
for _sign, _called in product(("negative", "positive"), ("{}_in_32_bits", "invalid_{}_is_0_or_1")):
    IS_INF.equivalent(_called.format(f"detect_{_sign}"), "the text names 0 and 1 alone")
_EXACT["IsNaN"].equivalent(f"""{_NEGATIVE}
infinities_clamped input_in_bfloat16 input_in_float16 input_in_float32 input_in_tf32
input_in_the_range_of_float16 subnormal_inputs_flushed whole_numbers
""", "numbers stay numbers, and NaN stays NaN")  # fmt: skip


@IS_INF.formula(10, 20)
def is_inf(X, *, detect_negative, detect_positive):
    if not {detect_negative, detect_positive} <= {0, 1}:
        raise NotSupported("nothing is said of values other than 0 and 1")
    infinite, negative = xp.isinf(X), xp.less(X, 0)
    return infinite & ((bool(detect_negative) & negative) | (bool(detect_positive) & ~negative))


BITWISE_NOT = operator("BitwiseNot", exact=True)
BITWISE_NOT.formula(18)(lambda X: ~X)
BIT_CAST = operator("BitCast", exact=True)


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


def _sigmoid(x):
    return 1 / (1 + xp.exp(-x))


def _softplus(x):
    return xp.log(xp.exp(x) + 1)


def _softplus_in_range(x):
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))


def _shrink(x, *, lambd, bias):
    if x.dtype.kind in "iu" and bias:
        raise NotSupported("nothing is said of how a float is added to integers")
    bias = bias or xp.zeros_like(x)
    inner = xp.where(xp.greater(x, lambd), x - bias, xp.zeros_like(x))
    return xp.where(xp.less(x, -lambd), x + bias, inner)


def _gated(a, b, *, alpha):
    if a.shape != b.shape:
        raise InvalidNode(f"shapes {list(a.shape)} and {list(b.shape)}; allowed: identical ones")
    return a * _sigmoid(alpha * a) * b


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
        "Shrink": _shrink, "Sigmoid": _sigmoid, "Softplus": (_softplus_in_range, _softplus),
        "Softsign": lambda x: x / (1 + xp.abs(x)),
        "SwiGLU": _gated, "Swish": lambda x, *, alpha: x * _sigmoid(alpha * x),
        "ThresholdedRelu": lambda x, *, alpha: (
            xp.where(xp.greater(x, alpha), x, xp.zeros_like(x))),
    },
)  # fmt: skip

_REAL["Erf"].constant = tuple(name for name, dtype in dtypes.DTYPES.items() if dtype.kind == "int")


def _argue(names, mutants, why, *where):
    for name in names.split():
        _REAL[name].equivalent(mutants, why, *where)


_HALF = ("bfloat16", "float16")
_argue("Acos Acosh Asin Atanh Log Sqrt", f"{_NEGATIVE} minus_infinity_taken_for_nan",
       "negative numbers beyond 1 have no value")  # fmt: skip
_argue("Cos Sin Tan", "minus_infinity_taken_for_nan", "infinity has no value")
_argue("Acosh", "nan_taken_for_zero", "0 has no value")
_BEYOND = "infinities_clamped input_in_the_range_of_float16"
_argue("Acos Asin Atanh", _BEYOND, "numbers beyond 1 have no value")
_argue("Cosh Erf Exp Sinh Tanh", f"{_BEYOND} {_NEGATIVE}", "large numbers give what infinity gives")
_argue("Atan", "infinities_clamped", "the largest number gives what infinity gives")
_argue("Atan", f"input_in_the_range_of_float16 {_NEGATIVE}", "so do large numbers", *_HALF)
_argue("Atan", "minus_infinity_taken_for_minus_1e9", "so do large numbers", "float32")
_argue(
    "Acos Acosh Asin Asinh Atan Cos Erf Sin Sqrt Tan Tanh", "overflow_saturates", "none is large"
)
_argue("Cos Cosh", "zeros_are_nan zeros_are_tiny", "no result is 0")
_argue("Acos Acosh Cos Cosh Log Sqrt", "subnormal_results_flushed", "none is that small", "float16")
_argue("Acos Acosh Cos Cosh Exp", "subnormal_inputs_flushed", "0 gives the same", *_HALF)
for _operator in _REAL.values():
    _operator.equivalent(*FLUSHED)
_argue("Acos Cosh Exp", "input_in_float16", "smaller numbers give the same", "bfloat16")
_argue("Acos Acosh Cos Log", "result_through_float16", "bfloat16 has fewer digits", "bfloat16")
_argue("Exp", "exp_in_bfloat16 exponent_of_8_bits", "the result has no more digits", "bfloat16")
_argue("Exp", "exp_in_float16 exponent_above_minus_20", "the result has no more", "float16")
_argue("Exp", "exponent_of_11_bits", "the result has no more digits", *_HALF)

for _exponent in range(-6, 10):
    _low, _high = 2.0**_exponent, 2.0 ** (_exponent + 1)
    _above = f"wrong_where_elements_from_{_low:g}_to_{_high:g}"
    _below = f"wrong_where_elements_from_minus_{_low:g}_to_minus_{_high:g}"
    _argue("Acosh Log Sqrt", _below, "negative numbers have no value")
    if _low < 1:
        _argue("Acosh", _above, "numbers below 1 have no value")
    elif _low > 1:
        _argue("Acos Asin Atanh", f"{_above} {_below}", "numbers beyond 1 have no value")

_BESIDE = "what is that small adds nothing"
_GATES = "Celu Elu Selu Sigmoid SwiGLU Swish"
_argue(_GATES, "exponent_above_minus_10", _BESIDE, *_HALF)
_argue(f"{_GATES} Mish Softplus", "exponent_above_minus_20", _BESIDE, *_HALF, "float32")
_argue(f"{_GATES} Mish Softplus", "exponent_above_minus_50 exponent_above_minus_87", _BESIDE,
       "bfloat16", "float32", "float64")  # fmt: skip
_argue(f"{_GATES} Mish Softplus", "exponent_above_minus_708", _BESIDE, "float64")
_FEWER = "the result has fewer digits"
_argue("Elu Mish Selu Sigmoid Softplus", "exponent_of_11_bits", _FEWER, *_HALF)
_argue("SwiGLU Swish", "exponent_of_11_bits", _FEWER, "bfloat16")
_argue("Elu Mish Selu Sigmoid Softplus", "exponent_of_8_bits", _FEWER, "bfloat16")
_argue("Selu Softplus", "exp_good_to_18_bits", _FEWER, "bfloat16")
_argue("Softplus", "exp_good_to_16_bits", _FEWER, "bfloat16")
_argue("Celu Elu Sigmoid SwiGLU Swish", "far_exponents_vanish", _FEWER, "bfloat16")
_argue("Selu", "far_exponents_vanish", _FEWER, *_HALF)
_argue("Swish", "far_exponents_vanish", _FEWER, "float16")
_LIMIT = "large numbers give what infinity gives"
_argue("Sigmoid Softsign", "infinities_clamped", _LIMIT)
_argue("HardSigmoid", "infinities_clamped", "alpha is not as small as that")
_argue("Elu HardSwish Mish Selu Sigmoid Softplus", _NEGATIVE, _LIMIT)
_argue("Softsign", "input_in_the_range_of_float16", _LIMIT, "bfloat16")
_argue("Sigmoid", "input_in_the_range_of_float16", _LIMIT)
_argue("HardSwish Mish Softsign Swish", "minus_infinity_taken_for_nan", "NaN is admitted")
_argue("ThresholdedRelu", "minus_infinity_taken_for_nan", "0 comes of both")
_argue("Softsign", "divisor_plus_1e-05", "bfloat16 has fewer digits", "bfloat16")
_argue("Shrink", "nothing_added nothing_subtracted", "the bias is a number, and no tensor")
_argue("Shrink ThresholdedRelu", "nan_becomes_zero", "no result is NaN")
_argue("Celu Elu HardSigmoid LeakyRelu Selu", "nan_becomes_zero", "0 is admitted for NaN")
_argue("Celu Elu LeakyRelu Selu Shrink ThresholdedRelu", "nan_taken_for_zero", "0 is admitted")
_argue("HardSigmoid HardSwish Mish Sigmoid Softplus Softsign Swish ThresholdedRelu",
       "overflow_saturates", "no result is larger than the input")  # fmt: skip
_argue("Celu Elu", "overflow_saturates", "alpha is of float32", "bfloat16", "float32", "float64")
_argue("Shrink", "overflow_saturates", "bias is of float32", "float64")
_argue("ThresholdedRelu", "truncated", "nothing is rounded")
_argue("HardSigmoid Sigmoid Softplus", "subnormal_inputs_flushed", "0 gives the same", "float16")
_argue("HardSigmoid", "subnormal_results_flushed", "beta is not that small", "float16")
_argue("Sigmoid", "input_in_float16", "smaller numbers give the same", "bfloat16")
_argue("HardSigmoid", "result_through_float16", "bfloat16 has fewer digits", "bfloat16")
_INTEGERS = _REAL["Erf"].constant
_argue("Shrink", "bias_cut_off bias_ignored bias_rounded refuses_bias refuses_fractions_of_bias",
       "nothing is said of how a bias is added to integers", *_INTEGERS)  # fmt: skip
_argue("Shrink", "default_lambd_minus_0.5", "no integer lies between", *_INTEGERS)
_argue("Selu", "default_alpha_1.6732631921768188 default_gamma_1.0507010221481323",
       "the type has fewer digits", "1 float16")  # fmt: skip
_argue("Selu", "default_alpha_1.673200011253357 default_gamma_1.0506999492645264",
       "the type has fewer digits", "22 bfloat16")  # fmt: skip
for _name, _operator in _REAL.items():
    for _schema in opset.versions("", _name).values():
        for _attribute in _schema.attributes.keys() - {"consumed_inputs"}:
            _operator.equivalent(
                f"invalid_{_attribute}_is_0_or_1 invalid_attribute_ignored",
                "no number is said to be invalid",
            )

P_RELU = operator("PRelu", ignores=("consumed_inputs",))
P_RELU.equivalent("broadcast_to_one_alone broadcast_of_unequal_lengths wrong_where_one_X",
                  "X is not stretched")  # fmt: skip
P_RELU.equivalent("broadcast_in_turn", "no element is below 0", "uint32", "uint64")
P_RELU.equivalent(*FLUSHED)


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


CLIP = operator("Clip", exact=True, ignores=("consumed_inputs",))


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
CLIP.equivalent("invalid_attribute_ignored invalid_max_is_0_or_1 invalid_min_is_0_or_1",
                "no number is said to be invalid", "1", "6")  # fmt: skip
for _called in ("max_", "min_minus_"):
    CLIP.equivalent(f"default_{_called}3.4028234663852886e+38", "it is the largest", "1", "6")
