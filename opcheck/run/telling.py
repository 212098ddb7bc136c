"""Whether an answer that nobody wrote out can tell a backend that computes from one that does not.

Whoever leaves the answer to opcheck's engine may not have seen that the data are too large, too
small or all masked: then 0, infinity or NaN comes out nearly everywhere, and what is tested is
next to nothing.
"""

from __future__ import annotations

import math

import numpy as np

from opcheck.dtypes import DType, limits
from opcheck.model import Array


def little(values: Array, dtype: DType | None, *, rounded: bool) -> str | None:
    """What is to be said of an output that tells too little, None where it tells enough.

    That is one of which more than half is 0 in `dtype`, infinity or NaN. Where answers are not
    `rounded`, zeros are answers like others, as those of Hardmax are, and only an output of nothing
    else tells too little.
    """
    blank = values.size - _telling(values, dtype)
    if not values.size or (2 * blank <= values.size if rounded else blank < values.size):
        return None
    return f"{blank} of {values.size} elements come out as 0, infinity or NaN"


def _telling(values: Array, dtype: DType | None) -> int:
    """How many elements are neither 0, nor infinite, nor NaN."""
    if dtype is None or dtype.kind != "float":
        return int(np.count_nonzero(values))
    magnitudes = np.abs(values)
    # Half of the smallest subnormal number is the largest that rounds to 0.
    tells = (magnitudes > math.ldexp(0.5, dtype.min_exponent)) & (magnitudes <= limits(dtype)[1])
    return int(np.count_nonzero(tells))
