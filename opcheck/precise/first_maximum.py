"""What both Hardmax operators do with a row."""

from __future__ import annotations

import numpy as np

from opcheck.model import Array
from opcheck.precise.answer import Precise, Undecided, exact


def first_maximum(rows: Array) -> Precise:
    """1 at the first maximum of every row and 0 elsewhere; −0 and +0 are equal.

    Raises Undecided where a row holds a NaN, which is neither less than a maximum nor equal to it.
    """
    # float64 holds every number of the other types.
    wide = rows.astype(np.float64)
    if np.isnan(wide).any():
        raise Undecided("the text does not say where the first maximum is of numbers and NaN")
    ones = np.zeros_like(rows)
    # argmax gives the first of equals.
    np.put_along_axis(ones, wide.argmax(axis=1)[:, None], 1, axis=1)
    return exact(ones)
