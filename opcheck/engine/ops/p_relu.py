"""PRelu, all versions."""

from opcheck import numbers as xp
from opcheck.engine.axes import broadcast, stretches
from opcheck.engine.integers import in_type
from opcheck.engine.operators import operator, raise_unspecified
from opcheck.engine.rulings import of_either_side
from opcheck.numbers import Tensor

OP = operator("PRelu")
#: Multiplies two tensors that broadcast; a type of integers need not hold the products.
multiplied = in_type(xp.multiply)


@OP.formula(7, 9, 16)
def p_relu(X: Tensor, slope: Tensor) -> Tensor:
    """Return "f(x) = slope * x for x < 0, f(x) = x for x >= 0" of X, in its shape.

    slope: broadcasts to X, which is not stretched. Products that a type of integers does not hold
    wrap around, or saturate: OUTSIDE_THE_INTEGERS. NaN gives NaN, or 0: NAN_ON_NO_SIDE. Raises
    InvalidNode where slope does not broadcast to X.
    """
    stretches("slope", slope, X)
    X, slope = broadcast(X, slope)
    return of_either_side(X, xp.where(xp.less(X, 0), multiplied(slope, X), X))


@OP.formula(1, 6)
def p_relu_of_channels(X: Tensor, slope: Tensor) -> Tensor:
    """Return f(x) = slope * x for x < 0, f(x) = x for x >= 0, of X, in its shape.

    slope: one element of any rank, one for each of X, or, as the text implies, one for each
    channel, [C]. Products that a type of integers does not hold wrap around, or saturate:
    OUTSIDE_THE_INTEGERS. NaN gives NaN, or 0: NAN_ON_NO_SIDE. Raises NotSupported for slopes of
    other shapes.
    """
    if slope.size == 1:
        return p_relu(X, xp.reshape(slope, ()))
    if slope.shape != X.shape:
        if X.ndim < 2 or slope.shape != X.shape[1:2]:
            raise_unspecified("slopes neither one nor one a channel")
        slope = xp.reshape(slope, (-1, *(1 for _ in X.shape[2:])))
    return p_relu(X, slope)
