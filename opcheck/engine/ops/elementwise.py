"""Functions of each element of one tensor, and the activations made of them."""

from opcheck import numbers as xp
from opcheck.engine.axes import stretches
from opcheck.engine.operators import family, operator

NAMES = """
Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Clip Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish
Identity IsNaN LeakyRelu Log Mish Neg Not PRelu Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin
Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu
"""


def _moved(x):
    return x


def _relu(x):
    return xp.maximum(x, 0)


#: Those that round nothing.
family(
    {
        "Abs": xp.abs, "Ceil": xp.ceil, "Floor": xp.floor, "Identity": _moved, "IsNaN": xp.isnan,
        "Neg": xp.negative, "Not": xp.logical_not, "Relu": _relu, "Round": xp.round,
        "Sign": xp.sign,
    },
    exact=True,
)  # fmt: skip


def _sigmoid(x):
    return 1 / (1 + xp.exp(-x))


def _softplus(x):
    return xp.log(xp.exp(x) + 1)


def _elu(x, *, alpha):
    return xp.where(xp.less(x, 0), alpha * (xp.exp(x) - 1), x)


def _selu(x, *, alpha, gamma):
    return gamma * xp.where(xp.greater(x, 0), x, alpha * xp.exp(x) - alpha)


def _celu(x, *, alpha):
    return xp.maximum(x, 0) + xp.minimum(alpha * (xp.exp(x / alpha) - 1), 0)


def _leaky_relu(x, *, alpha):
    return xp.where(xp.less(x, 0), alpha * x, x)


def _thresholded_relu(x, *, alpha):
    return xp.where(xp.greater(x, alpha), x, xp.zeros_like(x))


def _hard_sigmoid(x, *, alpha, beta):
    return xp.maximum(xp.minimum(alpha * x + beta, 1), 0)


def _hard_swish(x):
    return x * xp.maximum(xp.minimum(x / 6 + 0.5, 1), 0)


def _shrink(x, *, lambd, bias):
    inner = xp.where(xp.greater(x, lambd), x - bias, xp.zeros_like(x))
    return xp.where(xp.less(x, -lambd), x + bias, inner)


def _swish(x, *, alpha):
    return x * _sigmoid(alpha * x)


family(
    {
        "Acos": xp.acos, "Acosh": xp.acosh, "Asin": xp.asin, "Asinh": xp.asinh, "Atan": xp.atan,
        "Atanh": xp.atanh, "Cos": xp.cos, "Cosh": xp.cosh, "Erf": xp.erf, "Exp": xp.exp,
        "Log": xp.log, "Sin": xp.sin, "Sinh": xp.sinh, "Sqrt": xp.sqrt, "Tan": xp.tan,
        "Tanh": xp.tanh,
        "Celu": _celu, "Elu": _elu, "HardSigmoid": _hard_sigmoid, "HardSwish": _hard_swish,
        "LeakyRelu": _leaky_relu, "Mish": lambda x: x * xp.tanh(_softplus(x)),
        "Reciprocal": lambda x: 1 / x, "Selu": _selu, "Shrink": _shrink, "Sigmoid": _sigmoid,
        "Softplus": _softplus, "Softsign": lambda x: x / (1 + xp.abs(x)), "Swish": _swish,
        "ThresholdedRelu": _thresholded_relu,
    },
)  # fmt: skip

P_RELU = operator("PRelu")


@P_RELU.formula(7, 9, 16)
def p_relu(X, slope):
    stretches("slope", slope, X)
    return xp.where(xp.less(X, 0), slope * X, X)


CLIP = operator("Clip", exact=True, ignores=("consumed_inputs",))


@CLIP.formula(1, 6)
def clip_by_attributes(input, *, min, max):
    return _clipped(input, min, max)


@CLIP.formula(11, 12, 13)
def clip(input, min=None, max=None):
    return _clipped(input, min, max)


def _clipped(x, low, high):
    x = x if low is None else xp.maximum(x, low)
    return x if high is None else xp.minimum(x, high)
