"""What wrong values have in common, where no mistake is known that gives them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from opcheck.compare.elements import wide
from opcheck.compare.ulp import distance
from opcheck.diagnose.evidence import Evidence
from opcheck.dtypes import DType, of
from opcheck.model import Array, Foreign

Floats = NDArray[np.float64]

#: What a single value has in common with itself is nothing.
_ENOUGH = 3


def resemblance(evidence: Evidence) -> str | None:
    """In words, None where nothing fits."""
    if evidence.got is None or len(evidence.admitted) != 1:
        return None
    said: list[str | None] = []
    for place, (want, got) in enumerate(zip(evidence.admitted[0], evidence.got, strict=False)):
        right = evidence.nearest(place)
        if right is None or isinstance(got, Foreign):
            return None
        dtype = of(got)
        if dtype is None or (want.dtype or dtype) != dtype:
            return None
        if evidence.node.inputs and _is_swapped(evidence.node.inputs[0], right, got):
            said.append("like the right values, swapped between equal elements of the input")
        else:
            said.append(next(_words(right, got, dtype), None))
    return "; ".join(filter(None, said)) or None


def _is_swapped(given: Array, right: Array, got: Array) -> bool:
    """Return True if each value of the input has the same outputs, in another order."""
    if not given.shape == right.shape == got.shape:
        return False
    pairs = (np.stack([wide(given).ravel(), wide(out).ravel()]) for out in (right, got))
    one, other = (pair[:, np.lexsort(pair)] for pair in pairs)
    return np.array_equal(one, other)


def _words(right: Array, got: Array, dtype: DType) -> Iterator[str]:
    steps = distance(right, got)
    off = steps > 0
    wanted, actual = wide(right)[off], wide(got)[off]
    if not (np.isfinite(wanted).all() and np.isfinite(actual).all() and off.any()):
        return
    furthest = int(steps.max())
    if furthest <= 2 ** (dtype.precision // 2):
        yield f"like less precision: it would pass with a tolerance of {furthest:,} ULP"
    few, digits = 2.0 ** (3 - dtype.precision), 3 if got.dtype.itemsize == 2 else 6
    if wanted.size >= _ENOUGH and np.ptp(wanted) > 0:
        with np.errstate(all="ignore"):
            factors, offsets = actual / wanted, actual - wanted
        factor = _common(factors, few * np.abs(factors))
        if factor is not None and abs(factor) > few:
            yield f"like {factor:.{digits}g} times the right values, where it is wrong"
        offset = _common(offsets, few * np.maximum(np.abs(actual), np.abs(wanted)))
        if offset is not None:
            sign = "+-"[offset < 0]
            yield f"like the right values {sign} {abs(offset):.{digits}g}, where it is wrong"


def _common(values: Floats, room: Floats) -> float | None:
    """What all values are, each within its room."""
    if not np.isfinite(values).all():
        return None
    middle = float(np.median(values))
    return middle if np.all(np.abs(values - middle) <= room) else None
