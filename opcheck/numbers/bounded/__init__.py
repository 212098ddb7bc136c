"""Bounded numbers: values, and how far a sound implementation may lie from them.

The rules, with u the unit roundoff of the arithmetic:

- +, −, × and √ propagate the errors of their operands and round once; ÷ rounds twice, for a
  reciprocal and a product.
- A library function gives its interval's image, and errs by k ULP (`arithmetic.LIBRARY`).
- Sums and contractions may be computed in any order, fused or not (`reductions`).
- Movement carries values and bounds along; minimum and maximum take those of all candidates.
- Comparisons know where they are not sure, selections then admit both sides (`choice`).
- An element is *lost* if an implementation may have an infinity or NaN there, because an
  intermediate result left the range, or if an integer may be any. What is computed of it is lost
  too, but where the function of an infinity is a finite number.
- The last rounding is kept apart from the error before it, so that an output is rounded to its own
  type once and not twice.
"""

from opcheck.numbers.bounded.array import Bounded, Common, bounded, is_finite, value_dtypes
from opcheck.numbers.bounded.choice import (
    Choices,
    Truth,
    argmax,
    argmin,
    ceil,
    clip,
    equal,
    floor,
    fmod,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    not_equal,
    remainder,
    round,
    sign,
    top_k,
    trunc,
    where,
)
from opcheck.numbers.bounded.elementwise import (
    abs,
    add,
    at_most_1,
    divide,
    inexact,
    multiply,
    negative,
    subtract,
    values_of,
)
from opcheck.numbers.bounded.library import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    erf,
    exp,
    expm1,
    log,
    log1p,
    pow,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from opcheck.numbers.bounded.movement import (
    astype,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    full_like,
    pad,
    permute_dims,
    reshape,
    squeeze,
    stack,
    take,
    take_along_axis,
    tile,
    zeros_like,
)
from opcheck.numbers.bounded.reductions import (
    bilinear,
    cumulative_prod,
    cumulative_sum,
    matmul,
    max,
    mean,
    min,
    prod,
    sum,
    sums,
    tensordot,
)
