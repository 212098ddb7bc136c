"""MaxPool by the maximum along one axis after the other; Indices by the formula."""

from typing import Any

import numpy as np

from opcheck.engine.axes import Windows
from opcheck.engine.ops.pools import maximum, of_maxima
from opcheck.model import Array


def _maximum(X: Array, windows: Windows, storage_order: int, outputs: int) -> Any:
    if outputs > 1:
        return maximum(X, windows, storage_order, outputs)
    lowest = np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf
    return windows.reduced(X, np.maximum, lowest)


FORMULAS = {"MaxPool": of_maxima(_maximum, checked=lambda X: X)}
