"""Arrays of the same values that lie in memory in unusual ways."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def _swapped(x: Any) -> Any:
    bits = np.ascontiguousarray(x).view(f"u{x.itemsize}")
    return bits.byteswap().view(x.dtype.newbyteorder("S"))


def _backwards(x: Any) -> Any:
    flip = (slice(None, None, -1),) * x.ndim
    return np.ascontiguousarray(x[flip])[flip]


def _transposed(x: Any) -> Any:
    """The dimensions lie in memory in an order that is neither C's nor Fortran's."""
    order = np.roll(np.arange(x.ndim), 1)
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def _unaligned(x: Any) -> Any:
    moved = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


LAYOUTS: Mapping[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "fortran": np.asfortranarray,
    "spread": lambda x: np.repeat(x, 2, axis=x.ndim - 1)[..., ::2],
    "backwards": _backwards,
    "transposed": _transposed,
    "swapped": _swapped,
    "unaligned": _unaligned,
}
