"""MaxPool by the maximum along one axis after the other, and LpPool beyond its formula's range.

Indices of MaxPool are the formula's. So are LpPool's norms, but where powers leave the range, or
come near its lower end: these are computed once more, of shares of their window's largest element.
"""

from typing import Any

import numpy as np

from opcheck.engine.axes import Windows
from opcheck.engine.ops.pools import by_windows, maximum, norms_of, of_maxima
from opcheck.model import Array


def _maximum(X: Array, windows: Windows, storage_order: int, outputs: int) -> Any:
    if outputs > 1:
        return maximum(X, windows, storage_order, outputs)
    lowest = np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf
    return windows.reduced(X, np.maximum, lowest)


def _norms(X: Array, p: float, windows: Windows) -> Array:
    with np.errstate(all="ignore"):
        norms = np.asarray(norms_of(X, p, windows))
        info = np.finfo(X.dtype)
        # Sums of powers lose digits below so many times the smallest normal number.
        least = (windows.most * float(info.tiny) / float(info.eps)) ** (1 / p)
        lost = ~((norms > 1.01 * least) & (norms < np.inf))
        if p == 1 or not lost.any():
            return norms
        largest = windows.reduced(np.abs(X), np.maximum, 0)
        # Zeros, infinities and NaN are right where they come from such elements.
        places = np.flatnonzero(lost & (largest > 0) & (largest < np.inf))
        for portion, rows in windows.gathered(X, places):
            sizes = np.abs(rows)
            top = sizes.max(axis=1, keepdims=True)
            found = ((sizes / top) ** p).sum(axis=1) ** (1 / p) * top[:, 0]
            norms.flat[places[portion]] = found
        return norms


FORMULAS = {"LpPool": by_windows(_norms), "MaxPool": of_maxima(_maximum, checked=lambda X: X)}
