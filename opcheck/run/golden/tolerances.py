"""How far an answer may lie off: by element, and as the two numbers that ONNX's runner knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.compare import Want
from opcheck.compare.bounded import ends as ends_of_bound
from opcheck.compare.ulp import stepped
from opcheck.model import EXACT, Array, Tolerance

#: So many values of atol are tried.
_TRIED = 48
#: So often both numbers are made larger by a hundredth.
_GROWTHS = 40
#: What ONNX's runner allows bfloat16 at the least, whatever data.json says.
_BFLOAT16 = 2.0**-6


@dataclass(frozen=True, eq=False)
class Ends:
    """The lowest and the highest right values beside those that are `written`.

    `floor` is the absolute error that is right whatever the case's tolerance.
    """

    written: Array
    lowest: Array
    highest: Array
    floor: float = 0.0


def ends(want: Want, written: Array, tolerance: Tolerance | None) -> Ends:
    """How far an answer may lie from `written`, by the tolerance or else by the bound of `want`."""
    if tolerance is None and want.bound is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            return Ends(written, *ends_of_bound(want.bound, written, want.low, want.high))
    stated = tolerance or EXACT
    floor = 0.0 if stated.strict else want.floor
    # What is exact, and what is stated as rtol and atol, needs no array to say so.
    return stated_ends(written, stated.ulp or 0, floor)


def stated_ends(written: Array, ulp: int, floor: float = 0.0) -> Ends:
    """How far an answer may lie from `written`: so many ULP, or by `floor`."""
    if not ulp and not floor:
        return Ends(written, written, written)
    finite = np.isfinite(written)
    lowest, highest = (np.where(finite, stepped(written, by), written) for by in (-ulp, ulp))
    if floor:
        off = [np.where(finite, _wide(written) + by, written) for by in (-floor, floor)]
        lowest = np.minimum(lowest, off[0].astype(written.dtype))
        highest = np.maximum(highest, off[1].astype(written.dtype))
    return Ends(written, lowest, highest, floor)


def as_rtol_and_atol(found: Sequence[Ends]) -> tuple[float, float]:
    """The two numbers that admit, by ONNX's own comparison, all that lies within `found`.

    Of the pairs that do so it is the one that allows least beyond, in the geometric mean of all
    elements. An element that may be infinite is left out: no such numbers admit that.
    """
    parts = [part for one in found for part in _needs(one)]
    if not parts:
        return 0.0, 0.0
    need, size = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    rtol, atol = _tightest(need, size)
    # The runner computes in the dtype itself, which rounds, and where small numbers vanish.
    for _ in range(_GROWTHS):
        if all(_admits(one, rtol, atol) for one in found):
            return rtol, atol
        rtol, atol = _upwards(rtol * 1.01), _upwards(atol * 1.01)
    atol = _upwards(1.1 * float(need.max()))
    return rtol, atol


def _needs(one: Ends) -> list[tuple[Any, Any]]:
    """How far elements may lie off, and how large they are, where that is not 0."""
    if one.lowest is one.written:
        return []
    low, at, high = (_wide(array) for array in (one.lowest, one.written, one.highest))
    with np.errstate(invalid="ignore"):
        # In files from strangers an end may lie on the wrong side.
        need = np.maximum(np.abs(high - at), np.abs(at - low))
    part = np.isfinite(need) & (need > 0)
    return [(need[part], np.abs(at[part]))] if part.any() else []


def _tightest(need: Any, size: Any) -> tuple[float, float]:
    exponents = np.frexp(need)[1]
    least, most = int(exponents.min()) - 1, int(exponents.max())
    tried = [0.0, *np.ldexp(1.0, np.unique(np.linspace(least, most, _TRIED).astype(int)))]
    best = (np.inf, 0.0, 0.0)
    for atol in map(_upwards, tried):
        beyond = np.maximum(need - atol, 0.0)
        if (beyond[size == 0] > 0).any():
            continue
        share = np.divide(beyond, size, out=np.zeros_like(need), where=size > 0)
        rtol = _upwards(float(share.max(initial=0.0)))
        with np.errstate(over="ignore"):
            looseness = float(np.mean(np.log2((atol + rtol * size) / need)))
        best = min(best, (looseness, rtol, atol))
    return best[1:]


def _admits(one: Ends, rtol: float, atol: float) -> bool:
    """Whether numpy.testing.assert_allclose admits both ends, as ONNX's runner asks it."""
    if one.lowest is one.written:
        return True
    arrays = [one.lowest, one.written, one.highest]
    if dtypes.of(one.written) is dtypes.DTYPES["bfloat16"]:
        arrays = [array.astype(np.float32) for array in arrays]
        rtol = max(rtol, _BFLOAT16)
    low, at, high = arrays
    with np.errstate(all="ignore"):
        close = np.isclose(low, at, rtol, atol, equal_nan=True)
        close &= np.isclose(high, at, rtol, atol, equal_nan=True)
    return bool(np.all(close | ~np.isfinite(_wide(low)) | ~np.isfinite(_wide(high))))


def _upwards(number: float) -> float:
    """`number` with three digits, rounded up."""
    if number == 0 or not np.isfinite(number):
        return number
    spelt = float(f"{number:.2e}")
    return spelt if spelt >= number else float(f"{number * 1.005:.2e}")


def _wide(array: Array) -> Any:
    return array.astype(np.float64)
