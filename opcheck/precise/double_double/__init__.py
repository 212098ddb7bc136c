"""Numbers of about 106 bits, as unevaluated sums of two float64, on whole arrays.

Of arithmetic there are only +, −, × , ÷ and √, which IEEE 754 defines to the last bit, each as a
NumPy ufunc of its own, so that nothing is fused; besides them functions whose results are exact
and leave nothing to choose: abs, sign, rint, floor, fmod, frexp, ldexp, maximum and comparisons.
Neither the C library's exp, log and pow nor NumPy's sum, dot and power take part: their last bits
differ among machines and versions. So results are the same, bit for bit, on every machine.

Throughout, u = 2^-53, and a bound such as 4u² holds for relative errors unless it says otherwise.
Magnitudes are kept between 2^-400 and 2^400, where nothing overflows or underflows, products of
low parts included.
"""

from opcheck.precise.double_double.arithmetic import (
    DoubleDouble,
    U,
    add,
    divide,
    multiply,
    square_root,
    times,
    two_product,
    two_sum,
)
from opcheck.precise.double_double.exponential import exponential
from opcheck.precise.double_double.logarithm import ln2, logarithm
from opcheck.precise.double_double.summation import levels, total, watched_total

#: How many elements are best computed on at once: about what fits into a processor's own cache.
PIECE = 1 << 14

__all__ = [
    "PIECE",
    "DoubleDouble",
    "U",
    "add",
    "divide",
    "exponential",
    "levels",
    "ln2",
    "logarithm",
    "multiply",
    "square_root",
    "times",
    "total",
    "two_product",
    "two_sum",
    "watched_total",
]
