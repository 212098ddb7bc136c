"""AveragePool and MaxPool along one axis after the other; Indices, and other pools, by formulas."""

from typing import Any

import numpy as np

from opcheck.engine.axes import Windows
from opcheck.engine.ops.pools import maximum, mean, of_maxima, of_means
from opcheck.model import Array

#: Numbers of elements up to here are exact in float32.
_COUNTED = 1 << 24


def _mean(X: Array, windows: Windows, terms: Array, padded: Array, include: int) -> Array:
    count = padded if include else terms
    if count.max(initial=0) > _COUNTED:
        return mean(X, windows, terms, padded, include)  # type: ignore[no-any-return]
    y = windows.sums(X)
    y /= count.astype(X.dtype)
    return y


def _maximum(X: Array, windows: Windows, storage_order: int, outputs: int) -> Any:
    if outputs > 1:
        return maximum(X, windows, storage_order, outputs)
    lowest = np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf
    return windows.reduced(X, np.maximum, lowest)


FORMULAS = {
    "AveragePool": of_means(_mean),  # type: ignore[no-untyped-call]
    "MaxPool": of_maxima(_maximum, checked=lambda X: X),  # type: ignore[no-untyped-call]
}
