"""Activations: functions of one tensor by a formula of several operations, all versions."""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import family, raise_unspecified
from opcheck.engine.rulings import maximum, minimum, of_either_side, with_limit
from opcheck.numbers import Tensor

NAMES = """Celu Elu HardSigmoid HardSwish LeakyRelu Mish Selu Shrink Sigmoid Softplus Softsign Swish
ThresholdedRelu"""


def sigmoid(x: Tensor) -> Tensor:
    """Sigmoid: "y = 1 / (1 + exp(-x))", never more than 1; NaN of NaN."""
    return xp.at_most_1(1 / (1 + xp.exp(-x)))


def celu(X: Tensor, *, alpha: float) -> Tensor:
    """Celu: "max(0,x) + min(0,alpha*(exp(x/alpha)-1))".

    Of NaN, max and min are NaN or the other number: NAN_IN_MAXIMUM, NAN_IN_MINIMUM. So they are
    where `alpha` is 0 and x is 0 or more, as the product is NaN there. With an `alpha` above 0,
    -infinity gives -alpha.
    """
    return maximum(X, 0) + minimum(alpha * (xp.exp(X / alpha) - 1), 0)


def elu(X: Tensor, *, alpha: float) -> Tensor:
    """Elu: "f(x) = alpha * (exp(x) - 1.) for x < 0, f(x) = x for x >= 0."; of NaN, NaN or 0.

    The ruling is NAN_ON_NO_SIDE.
    """
    return of_either_side(X, xp.where(xp.less(X, 0), alpha * (xp.exp(X) - 1), X))


def leaky_relu(X: Tensor, *, alpha: float) -> Tensor:
    """LeakyRelu: "f(x) = alpha * x for x < 0, f(x) = x for x >= 0"; of NaN, NaN or 0.

    The ruling is NAN_ON_NO_SIDE.
    """
    return of_either_side(X, xp.where(xp.less(X, 0), alpha * X, X))


def selu(X: Tensor, *, alpha: float, gamma: float) -> Tensor:
    """Selu: "y = gamma * (alpha * e^x - alpha) for x <= 0, y = gamma * x for x > 0".

    Of NaN it is NaN or 0: NAN_ON_NO_SIDE.
    """
    return of_either_side(X, gamma * xp.where(xp.greater(X, 0), X, alpha * xp.exp(X) - alpha))


def selu_by_expm1(X: Tensor, *, alpha: float, gamma: float) -> Tensor:
    """Selu with alpha * (e^x - 1), which does not cancel; of NaN, NaN or 0: NAN_ON_NO_SIDE."""
    return of_either_side(X, gamma * xp.where(xp.greater(X, 0), X, alpha * xp.expm1(X)))


def shrink(input: Tensor, *, lambd: float, bias: float) -> Tensor:
    """Shrink: "If x < -lambd, y = x + bias; If x > lambd, y = x - bias; Otherwise, y = 0.".

    NaN gives 0. Where a negative `lambd` makes both conditions true, the first one counts. Raises
    NotSupported for integers with a `bias` other than 0.
    """
    if input.dtype.kind in "iu" and bias:
        raise_unspecified("how a float is added to integers")
    added = bias or xp.zeros_like(input)
    inner = xp.where(xp.greater(input, lambd), input - added, xp.zeros_like(input))
    return xp.where(xp.less(input, -lambd), input + added, inner)


def thresholded_relu(X: Tensor, *, alpha: float) -> Tensor:
    """ThresholdedRelu: "y = x for x > alpha, y = 0 otherwise", and so of NaN."""
    return xp.where(xp.greater(X, alpha), X, xp.zeros_like(X))


def clipped(x: Tensor, high: float) -> Tensor:
    """Return max(0, min(high, x)).

    Of NaN, min and max are NaN or the other number: NAN_IN_MINIMUM, NAN_IN_MAXIMUM.
    """
    return maximum(minimum(x, high), 0)


def hard_sigmoid(X: Tensor, *, alpha: float, beta: float) -> Tensor:
    """HardSigmoid: "y = max(0, min(1, alpha * x + beta))".

    Of NaN, as is infinity times an `alpha` of 0, min and max are NaN or the other number:
    NAN_IN_MINIMUM, NAN_IN_MAXIMUM.
    """
    return clipped(alpha * X + beta, 1)


def hard_swish(X: Tensor) -> Tensor:
    """HardSwish: "y = x * max(0, min(1, alpha * x + beta))" with alpha = 1/6 and beta = 0.5.

    Of -infinity it is NaN, as the formula has it, or its limit 0: LIMIT_AT_INFINITY. NaN gives NaN.
    """
    return with_limit(X, X * clipped(X / 6 + 0.5, 1), xp.zeros_like(X))


def hard_swish_divided_last(X: Tensor) -> Tensor:
    """HardSwish as x * max(0, min(6, x + 3)) / 6.

    Of -infinity it is NaN, as the formula has it, or its limit 0: LIMIT_AT_INFINITY. NaN gives NaN.
    """
    return with_limit(X, X * clipped(X + 3, 6) / 6, xp.zeros_like(X))


def hard_swish_by_a_sixth(X: Tensor) -> Tensor:
    """HardSwish as x * (max(0, min(6, x + 3)) * (1/6)).

    Of -infinity it is NaN, as the formula has it, or its limit 0: LIMIT_AT_INFINITY. NaN gives NaN.
    """
    return with_limit(X, X * (clipped(X + 3, 6) * (1 / 6)), xp.zeros_like(X))


def hard_swish_of_a_sixth(X: Tensor) -> Tensor:
    """HardSwish as x * max(0, min(1, x * (1/6) + 0.5)).

    Of -infinity it is NaN, as the formula has it, or its limit 0: LIMIT_AT_INFINITY. NaN gives NaN.
    """
    return with_limit(X, X * clipped(X * (1 / 6) + 0.5, 1), xp.zeros_like(X))


def hard_swish_as_the_body(X: Tensor) -> Tensor:
    """HardSwish as its function body, which has 1/6 as an attribute, in float32.

    Of -infinity it is NaN, as the formula has it, or its limit 0: LIMIT_AT_INFINITY. NaN gives NaN.
    """
    sixth = float(np.float32(1 / 6))
    return with_limit(X, X * clipped(X * sixth + 0.5, 1), xp.zeros_like(X))


def literal_softplus(X: Tensor) -> Tensor:
    """Softplus: "y = ln(exp(x) + 1)"; infinity where exp(x) overflows, 0 of -infinity."""
    return xp.log(xp.exp(X) + 1)


def softplus(X: Tensor) -> Tensor:
    """Softplus without overflow: max(x, 0) + ln(1 + exp(-|x|)); NaN of NaN."""
    return xp.maximum(X, 0) + xp.log1p(xp.exp(-xp.abs(X)))


def mish(X: Tensor) -> Tensor:
    """Mish: "mish(x) = x * tanh(softplus(x))".

    Of -infinity it is NaN, or its limit 0: LIMIT_AT_INFINITY. Of infinity it is infinity, of NaN
    NaN.
    """
    return with_limit(X, X * xp.tanh(literal_softplus(X)), xp.zeros_like(X))


def softsign(input: Tensor) -> Tensor:
    """Softsign: "x/(1+|x|)"; NaN stays NaN.

    Of an infinity it is NaN as the formula has it, or the limit, 1 or -1 by its sign: each reading
    of LIMIT_AT_INFINITY gives one.
    """
    return with_limit(input, input / (1 + xp.abs(input)), xp.sign(input))


def swish(X: Tensor, *, alpha: float) -> Tensor:
    """Swish: "y = x * sigmoid(alpha * x)".

    Of -infinity with an `alpha` above 0, of infinity with one below 0, and of both with 0, the
    formula gives NaN: that, or 0 by the other reading of LIMIT_AT_INFINITY. NaN stays NaN.
    """
    return with_limit(X, X * sigmoid(alpha * X), xp.zeros_like(X))


#: The formula of the text first, then others that are as right, where these round elsewhere.
OPERATORS = family(
    {
        "Celu": celu,
        "Elu": elu,
        "HardSigmoid": hard_sigmoid,
        "HardSwish": (
            hard_swish,
            hard_swish_divided_last,
            hard_swish_by_a_sixth,
            hard_swish_of_a_sixth,
            hard_swish_as_the_body,
        ),
        "LeakyRelu": leaky_relu,
        "Mish": mish,
        "Selu": (selu, selu_by_expm1),
        "Shrink": shrink,
        "Sigmoid": sigmoid,
        "Softplus": (softplus, literal_softplus),
        "Softsign": softsign,
        "Swish": swish,
        "ThresholdedRelu": thresholded_relu,
    }
)
# No arithmetic makes less of the logarithm of 1 or more.
OPERATORS["Softplus"].low = 0.0
