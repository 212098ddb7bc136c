"""Mutants that compute a textbook formula in the input's own type, where a step leaves its range.

log(x + √(x² + 1)) is asinh(x), but x² of float16 is infinite from 256 on: a kernel that computes
so gives infinity for 5.5. Only what the range loses is wrong here; what rounding loses is not.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.mutants.elements import FLOATS
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.mutants.poorer import rounded_steps
from opcheck.engine.node import Node
from opcheck.engine.operators import Formula, Operator
from opcheck.model import Array
from opcheck.numbers import Tensor

#: A formula, and how the text of its mutant writes it.
_Row: TypeAlias = tuple[Formula, str]

# ── formulas of one tensor, in its shape ──────────────────────────────────────────────────────


def asinh(x: Tensor) -> Tensor:
    """Return log(x + √(x² + 1)), of which the square overflows; below 0 by the sign."""
    size = xp.abs(x)
    return xp.sign(x) * xp.log(size + xp.sqrt(size * size + 1))


def acosh(x: Tensor) -> Tensor:
    """Return log(x + √(x² − 1)), of which the square overflows."""
    return xp.log(x + xp.sqrt(x * x - 1))


def sinh(x: Tensor) -> Tensor:
    """Return (e^x − e^−x) / 2, of which an exponential overflows before it is halved."""
    return (xp.exp(x) - xp.exp(-x)) / 2


def cosh(x: Tensor) -> Tensor:
    """Return (e^x + e^−x) / 2, of which an exponential overflows before it is halved."""
    return (xp.exp(x) + xp.exp(-x)) / 2


def tanh(x: Tensor) -> Tensor:
    """Return (e^2x − 1) / (e^2x + 1), which is ∞ / ∞ of large numbers."""
    power = xp.exp(2 * x)
    return (power - 1) / (power + 1)


def sigmoid(X: Tensor) -> Tensor:
    """Return e^x / (1 + e^x), which is ∞ / ∞ of large numbers."""
    power = xp.exp(X)
    return power / (1 + power)


def swish(X: Tensor, *, alpha: float) -> Tensor:
    """Return x · sigmoid(alpha · x), of which the quotient is ∞ / ∞ of large numbers."""
    return X * sigmoid(alpha * X)


def softplus(X: Tensor) -> Tensor:
    """Return log(e^x + 1), of which the exponential overflows."""
    return xp.log(xp.exp(X) + 1)


def mish(X: Tensor) -> Tensor:
    """Return x · ((1 + e^x)² − 1) / ((1 + e^x)² + 1), which is ∞ / ∞ of large numbers."""
    power = xp.exp(X) + 1
    square = power * power
    return X * ((square - 1) / (square + 1))


def celu(X: Tensor, *, alpha: float) -> Tensor:
    """Return both branches of Celu, the lower times 1 or 0: above 0 that is infinity times 0."""
    return _both_branches(X, alpha * (xp.exp(X / alpha) - 1))


def elu(X: Tensor, *, alpha: float) -> Tensor:
    """Return both branches of Elu, the lower times 1 or 0: above 0 that is infinity times 0."""
    return _both_branches(X, alpha * (xp.exp(X) - 1))


def selu(X: Tensor, *, alpha: float, gamma: float) -> Tensor:
    """Return both branches of Selu, the lower times 1 or 0: above 0 that is infinity times 0."""
    return gamma * _both_branches(X, alpha * xp.exp(X) - alpha)


def _both_branches(x: Tensor, below: Tensor) -> Tensor:
    """Return `x` above 0 and else `below`, as a sum in which that is times 0 above 0."""
    zeros = xp.zeros_like(x)
    mask = xp.where(xp.greater(x, 0), zeros, zeros + 1)
    return xp.maximum(x, 0) + mask * below


def hard_swish(X: Tensor) -> Tensor:
    """Return x · min(max(x + 3, 0), 6) / 6, of which the product overflows before it is divided."""
    return X * xp.minimum(xp.maximum(X + 3, 0), 6) / 6


# ── the mutant ────────────────────────────────────────────────────────────────────────────────

#: By operator of ONNX's own domain.
_FORMULAS: Mapping[str, _Row] = {
    "Acosh": (acosh, "log(x + sqrt(x*x - 1))"),
    "Asinh": (asinh, "log(x + sqrt(x*x + 1))"),
    "Celu": (celu, "0 * e^x of the other branch"),
    "Cosh": (cosh, "(e^x + e^-x) / 2"),
    "Elu": (elu, "0 * e^x of the other branch"),
    "HardSwish": (hard_swish, "x * clip(x + 3, 0, 6) / 6"),
    "Mish": (mish, "((1 + e^x)^2 - 1) / ((1 + e^x)^2 + 1)"),
    "Selu": (selu, "0 * e^x of the other branch"),
    "Sigmoid": (sigmoid, "e^x / (1 + e^x)"),
    "Sinh": (sinh, "(e^x - e^-x) / 2"),
    "Softplus": (softplus, "log(e^x + 1)"),
    "Swish": (swish, "e^x / (1 + e^x)"),
    "Tanh": (tanh, "(e^2x - 1) / (e^2x + 1)"),
}


def mutants(known: Operator) -> Iterator[Mutant]:
    """Yield the mutant of an operator's versions, if a step of its formula can overflow."""
    row = None if known.domain else _FORMULAS.get(known.name)
    if row is not None:
        formula, words = row
        text = f"{words} was computed in the input's type, where a step overflowed"
        answer = partial(steps_overflow, formula)
        yield Mutant("steps_overflow", text, answer, only=FLOATS)


def steps_overflow(formula: Formula, node: Node) -> Sequence[Array]:
    """Mutant: finite results of finite numbers are infinity or NaN where a step leaves the range.

    formula: of one tensor, in its shape; each of its steps is rounded to the tensor's type. Other
    elements are right. Raises InvalidNode, NotSupported and MemoryError as `evaluate` does.
    """
    (x,) = node.given
    (right,) = node.right
    (wrong,) = rounded_steps(x.dtype, node, formula)
    is_lost = np.isfinite(x) & np.isfinite(right) & ~np.isfinite(wrong)
    return [np.where(is_lost, wrong, right)]
