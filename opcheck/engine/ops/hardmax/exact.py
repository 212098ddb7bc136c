"""One at the first maximum of every row, by the plainest code there is.

The answers are exact, so there is no error bound: the only legal values are 0 and 1.
"""

from __future__ import annotations

import numpy as np

from opcheck.engine.axes import Rows
from opcheck.engine.blocks import blocks
from opcheck.model import Array

#: Elements that NumPy may copy at once to look for maxima across them.
_BLOCK = 1 << 18


def exact(rows: Rows, input: Array) -> tuple[Array]:
    """One at the first maximum of every row, zero elsewhere; same shape and dtype.

    +0 and -0 are equal, so the first of them wins. A row with NaN, which the text leaves open,
    gets its one at the first NaN.
    """
    x = input.reshape(rows)
    out = np.zeros(rows, x.dtype.newbyteorder("="))
    with np.errstate(invalid="ignore"):
        for part in blocks(rows, _BLOCK):
            # bfloat16 has no argmax of its own in NumPy; float32 holds its values exactly.
            ordered = x[part].astype(np.float32) if x.dtype.itemsize == 2 else x[part]
            np.put_along_axis(out[part], np.argmax(ordered, axis=1, keepdims=True), 1, axis=1)
    return (out.reshape(input.shape),)
