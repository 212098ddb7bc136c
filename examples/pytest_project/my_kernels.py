"""Kernels under test, as a project may have them: functions of NumPy arrays."""

import numpy as np
from numpy.typing import NDArray


def softmax(x: NDArray[np.float32], *, axis: int = -1) -> NDArray[np.float32]:
    """Softmax of version 13, right for whatever finite values a row holds."""
    if x.size == 0:
        return x.copy()
    with np.errstate(all="ignore"):
        shifted = x - x.max(axis, keepdims=True)
        powers = np.exp(shifted)
        return powers / powers.sum(axis, keepdims=True)


def quick_softmax(x: NDArray[np.float32], *, axis: int = -1) -> NDArray[np.float32]:
    """A softmax with a bug: large values overflow, because no maximum is subtracted."""
    with np.errstate(all="ignore"):
        powers = np.exp(x)
        return powers / powers.sum(axis, keepdims=True)
