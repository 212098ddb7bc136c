"""MaxPool by the maximum along one axis after the other, and LpPool in float64.

Indices of MaxPool are the formula's. Where powers leave the range of float64, or come near its
lower end, norms are computed once more, of shares of their window's largest element.
"""

from typing import Any

import numpy as np

from opcheck.engine.axes import Windows
from opcheck.engine.ops.pools import by_windows, maximum, of_maxima
from opcheck.model import Array


def _maximum(X: Array, windows: Windows, storage_order: int, outputs: int) -> Any:
    if outputs > 1:
        return maximum(X, windows, storage_order, outputs)
    lowest = np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf
    return windows.reduced(X, np.maximum, lowest)


def _norms(X: Array, p: float, windows: Windows) -> Array:
    with np.errstate(all="ignore"):
        sizes = np.abs(X.astype(np.float64))
        norms = windows.sums(sizes**p) ** (1 / p)
        # Sums of powers lose digits below so many times the smallest normal number.
        info = np.finfo(np.float64)
        least = (windows.most * info.tiny / info.eps) ** (1 / p)
        if not ((norms > least) & (norms < np.inf)).all():
            largest = windows.reduced(sizes, np.maximum, 0)
            # Zeros, infinities and NaN are right where they come from such elements.
            lost = ~((norms > least) & (norms < np.inf)) & (largest > 0) & (largest < np.inf)
            places = np.flatnonzero(lost)
            for portion, rows in windows.gathered(X, places):
                top = np.abs(rows).max(axis=1, keepdims=True)
                shares = (np.abs(rows) / top) ** p
                norms.flat[places[portion]] = shares.sum(axis=1) ** (1 / p) * top[:, 0]
        return norms.astype(X.dtype)


FORMULAS = {
    "LpPool": by_windows(_norms),
    "MaxPool": of_maxima(_maximum, checked=lambda X: X),
}
