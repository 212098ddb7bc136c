"""Functions of one tensor that round: trigonometry, powers, logarithms, all versions."""

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.operators import family, leave_open
from opcheck.numbers import Tensor
from opcheck.numbers.faulty import bare

NAMES = """Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Reciprocal Sin Sinh Sqrt Tan
Tanh"""


def error_function(input: Tensor) -> Tensor:
    """Erf, of integers too, which are cut off to integers again.

    Raises NotSupported, while judging, if an integer is not 0: the text does not define how the
    result becomes an integer.
    """
    if input.dtype.kind in "iu" and np.any(bare(input)):
        leave_open("how the result becomes an integer")
    return xp.erf(input)


def reciprocal(X: Tensor) -> Tensor:
    """Reciprocal: "y = 1/x"; an infinity of 0, with its sign."""
    return 1 / X


def root_by_power(X: Tensor) -> Tensor:
    """Sqrt as "y = x^0.5", which is as right; NaN of negative numbers."""
    return xp.pow(X, 0.5)


#: The formula of the text first, then one that is as right where it rounds elsewhere.
OPERATORS = family(
    {
        "Acos": xp.acos,
        "Acosh": xp.acosh,
        "Asin": xp.asin,
        "Asinh": xp.asinh,
        "Atan": xp.atan,
        "Atanh": xp.atanh,
        "Cos": xp.cos,
        "Cosh": xp.cosh,
        "Erf": error_function,
        "Exp": xp.exp,
        "Log": xp.log,
        "Reciprocal": reciprocal,
        "Sin": xp.sin,
        "Sinh": xp.sinh,
        "Sqrt": (xp.sqrt, root_by_power),
        "Tan": xp.tan,
        "Tanh": xp.tanh,
    }
)
# No arithmetic makes less of an exponential.
OPERATORS["Exp"].low = 0.0
OPERATORS["Erf"].constant = tuple(
    name for name, dtype in dtypes.DTYPES.items() if dtype.kind == "int"
)
