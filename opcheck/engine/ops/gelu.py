"""Gelu: a gate by the error function, or by tanh."""

import math
from collections.abc import Callable

from opcheck import numbers as xp
from opcheck.engine.graphs import body_formula
from opcheck.engine.operators import check_one_of, formulas_of_versions, operator
from opcheck.engine.rulings import with_limit
from opcheck.model import OpVersion
from opcheck.numbers import Array, Tensor

OP = operator("Gelu")
#: The text's 0.044715, as a whole number of millionths: no kind of numbers rounds it.
MILLIONTHS = 44715


@formulas_of_versions(20)
def gelu(gate: Callable[[Tensor, str], Tensor], X: Tensor, *, approximate: str) -> Tensor:
    """Return 0.5 * X * (1 + gate(X)), in the shape of X: version 20.

    "y = 0.5 * x * (1 + erf(x/sqrt(2)))", or "(1 + Tanh(sqrt(2/π) * (x + 0.044715 * x^3)))" with
    `approximate` tanh. Of -infinity it is NaN, or its limit 0: LIMIT_AT_INFINITY. Infinity and NaN
    stay. Raises InvalidNode for an `approximate` other than none and tanh.
    """
    check_one_of("approximate", approximate, "none", "tanh")
    return with_limit(X, 0.5 * X * (1 + gate(X, approximate)), xp.zeros_like(X))


@OP.formula(build=gelu)
def gate(x: Tensor, approximate: str) -> Tensor:
    """Return erf(x/√2) if `approximate` is none, else its approximation by tanh."""
    if approximate == "none":
        return xp.erf(x * xp.inexact(xp.sqrt(xp.real(0.5)), 1))
    return tanh_of_cubic(x, MILLIONTHS)


def tanh_of_cubic(x: Tensor, millionths: int) -> Tensor:
    """Return tanh(√(2/π) · (x + c·x³)), where c is `millionths` / 1000000."""
    quarter_of_pi = xp.atan(xp.real(1))
    root = xp.sqrt(xp.real(0.5) / quarter_of_pi)
    factor = xp.real(millionths) / 1000000
    return xp.tanh(root * (x + factor * (x * x * x)))


OP.alternative("with the function body's constants, float32's in the tensor's type", 20)(
    body_formula(OpVersion("", "Gelu", 20))
)


@OP.mutant("the approximation by tanh was taken, whatever approximate", build=gelu)
def tanh_always(x: Tensor, approximate: str) -> Tensor:
    """Mutant of `gate`: approximate is tanh."""
    return gate(x, "tanh")


@OP.mutant("the approximation by a logistic function of 1.702·x was taken", build=gelu)
def quick(x: Tensor, approximate: str) -> Tensor:
    """Mutant of `gate`: x · sigmoid(1.702·x)."""
    return xp.tanh(0.851 * x)


@OP.mutant("erf was taken of x, not of x/√2", build=gelu)
def root_of_two_forgotten(x: Tensor, approximate: str) -> Tensor:
    """Mutant of `gate`: the argument is not divided."""
    return xp.erf(x) if approximate == "none" else gate(x, approximate)


@OP.mutant("0.0447 stood for 0.044715", build=gelu)
def shorter_factor(x: Tensor, approximate: str) -> Tensor:
    """Mutant of `gate`: the factor of the cube has three digits."""
    return gate(x, "none") if approximate == "none" else tanh_of_cubic(x, 44700)


@OP.mutant("x² stood for x³", build=gelu)
def square_for_cube(x: Tensor, approximate: str) -> Tensor:
    """Mutant of `gate`: a square in place of the cube."""
    if approximate == "none":
        return gate(x, approximate)
    return xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x)))


@OP.mutant("results below -3 were taken for 0", build=gelu)
def tail_cut(x: Tensor, approximate: str) -> Tensor:
    """Mutant of `gate`: the gate is closed below -3."""
    return xp.where(x < -3, -1.0, gate(x, approximate))


@OP.mutant("erf was a polynomial that is good to 1.5e-7", build=gelu)
def polynomial(x: Tensor, approximate: str) -> Tensor:
    """Mutant of `gate`: erf by Abramowitz and Stegun, 7.1.26."""
    if approximate == "tanh":
        return gate(x, approximate)
    z = xp.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    total: Array = 0
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total = (total + factor) * t
    erf: Tensor = xp.sign(x) * (1 - total * xp.exp(-z * z))
    return erf
