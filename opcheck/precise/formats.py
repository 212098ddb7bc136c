"""The floating types that are rounded to, stated here once more and not taken from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary floating type of IEEE 754's kind.

    `precision` counts the significand's bits with the hidden one; the smallest subnormal is
    2^`least`.
    """

    dtype: np.dtype[Any]
    precision: int
    least: int

    @property
    def name(self) -> str:
        """As in case files."""
        return self.dtype.name


#: binary16, binary32, binary64, and the upper half of binary32.
FORMATS = {
    "float16": Format(np.dtype(np.float16), 11, -24),
    "float32": Format(np.dtype(np.float32), 24, -149),
    "float64": Format(np.dtype(np.float64), 53, -1074),
    "bfloat16": Format(np.dtype(ml_dtypes.bfloat16), 8, -133),
}
