"""Numbers with fewer bits of significand than their type has, as approximations leave them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opcheck.model import Array


def rounded_to_bits(values: Array, bits: int) -> Array:
    """To so many bits of significand, to nearest; in the dtype of `values`, float32 or float64."""
    return _in_bits(values, bits, np.rint)


def cut_to_bits(values: Array, bits: int) -> Array:
    """The same towards zero."""
    return _in_bits(values, bits, np.trunc)


def _in_bits(values: Array, bits: int, whole: Callable[[Array], Array]) -> Array:
    mantissa, exponent = np.frexp(values)
    fewer: Array = np.ldexp(whole(np.ldexp(mantissa, bits)), exponent - bits)
    return fewer.astype(values.dtype)
