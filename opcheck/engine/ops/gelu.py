"""Gelu (20): x times the normal distribution's share below x, or by an approximation of that."""

import math

from opcheck import numbers as xp
from opcheck.engine.bodies import body_formula
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

OP = operator("Gelu")


def by_function(odd):
    """Version 20, from `odd(x, approximate)`, which stands for erf(x / √2)."""

    def formula(X, *, approximate):
        if approximate not in ("none", "tanh"):
            raise InvalidNode(f"approximate {approximate!r}; allowed: none, tanh")
        return 0.5 * X * (1 + odd(X, approximate))

    return {20: formula}


@OP.formula(by=by_function)
def error_function(x, approximate, millionths=44715):
    if approximate == "none":
        return xp.erf(x * xp.inexact(xp.sqrt(xp.real(0.5)), 1))
    root = xp.sqrt(xp.real(0.5) / xp.atan(xp.real(1)))  # of 2/π
    return xp.tanh(root * (x + xp.real(millionths) / 1000000 * (x * x * x)))


OP.also_honest("with the function body's constants, float32's in the tensor's type", 20)(
    body_formula(OpVersion("", "Gelu", 20))
)


def square_for_cube(x, approximate):
    cubed = xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x)))
    return cubed if approximate == "tanh" else error_function(x, approximate)


MUTANTS = {
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
OP.mutant_table(MUTANTS, by=by_function)


@OP.mutant("erf was a polynomial that is good to 1.5e-7", by=by_function)
def polynomial(x, approximate):
    if approximate == "tanh":
        return error_function(x, approximate)
    z = xp.abs(x) / math.sqrt(2)
    t, total = 1 / (1 + 0.3275911 * z), 0
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total = (total + factor) * t
    return xp.sign(x) * (1 - total * xp.exp(-z * z))
