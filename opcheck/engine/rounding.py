"""Correctly rounded outputs: proven by error bounds, or to as many digits as it takes."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from opcheck.dtypes import DTYPES, DType, round_to
from opcheck.engine.evaluate import exactly, precisely
from opcheck.engine.node import Node
from opcheck.engine.outputs import Drawn, Expected
from opcheck.engine.tiers import Tier
from opcheck.errors import NotSupported
from opcheck.model import Array
from opcheck.numbers.arithmetic import VALUE_GRIDS, Grid

#: How the values of a node came about: nothing was rounded; an error bound of the reference's own
#: arithmetic leaves one number each; computed by mpmath to as many digits as it took.
Method: TypeAlias = Literal["exact", "bounded", "mpmath"]
#: An output, and the lowest and highest numbers that its proven error leaves.
_Left: TypeAlias = tuple[Expected, Array, Array]
#: Binary digits that are computed with, until they tell what everything rounds to.
DIGITS = (160, 640, 2560, 10240)
#: A dtype that no output has, so that the rounding to the output's own is one more.
_NO_DTYPE = DType("reference", np.dtype(np.float64), 0, "", "float", 53, -1074)


class Unrounded(ValueError):
    """It is not certain what an output rounds to."""


@np.errstate(all="ignore")
def correctly_rounded(node: Node) -> tuple[tuple[Array, ...], Method]:
    """The outputs rounded once, and how they came about; raises as `evaluate`, and Unrounded."""
    found: dict[int, Array] = {}
    method: Method = "exact"
    left: dict[int, _Left] = {}
    for place, output in enumerate(exactly(node)):
        if isinstance(output, Drawn):
            raise NotSupported("its outputs are drawn at random")
        if not isinstance(output, Expected):
            found[place] = output
            continue
        method = "bounded"
        low, high = _ends(output)
        if np.array_equal(low, high, equal_nan=output.dtype.kind == "float"):
            # A zero has its sign from the formula and not from its bound.
            found[place] = np.where(output.values == 0, output.rounded(), low)
        else:
            left[place] = output, low, high
    if left:
        method = "mpmath"
        found |= _by_digits(node, left)
    return tuple(found[place] for place in sorted(found)), method


def _ends(output: Expected) -> tuple[Array, Array]:
    """The lowest and highest numbers that the reference's own error leaves for each element."""
    if output.dtype.kind != "float":
        return output.rounded(), output.rounded()
    # The arithmetic in which the reference itself is computed.
    first = output.tiers()[0].arithmetic
    own = Grid(_NO_DTYPE, VALUE_GRIDS[first.values])
    reference = replace(first, grid=own, ulp=4.0, largest=np.inf, smallest=0.0)
    room = output.room(Tier("reference", reference))
    y, size = output.values, np.abs(output.values)
    slack = room.own
    if room.shared is not None:
        slack = slack + size * (2 * np.maximum(room.shared.down, room.shared.up))
    if output.dtype.name == "float64":
        # What float64 has no room for is too small for a float64 itself.
        slack = slack + np.where((size > 0) & (size < 2.0**-1021), 2.0**-1074, 0.0)
    slack = np.where(np.isnan(slack), np.inf, slack)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = (nearest(*_sum(y, output.rest, sign * slack), output.dtype) for sign in (-1, 1))
    known, rounded = np.isfinite(size), output.rounded()
    return np.where(known, low, rounded), np.where(known, high, rounded)


def _sum(high: Any, low: Any, more: Any) -> tuple[Any, Any]:
    """high + low + more as a number and what it has lost."""
    total = high + (more if low is None else low + more)
    return total, (high - total) + (more if low is None else low + more)


def nearest(high: Any, low: Any, dtype: DType) -> Array:
    """`high` + `low`, where `high` is the nearest float64, rounded once to `dtype`.

    An odd last digit stands for all the digits that float64 has no room for.
    """
    if dtype.precision < DTYPES["float64"].precision:
        inexact = (low != 0) & ((high.view(np.int64) & 1) == 0) & np.isfinite(high)
        high = np.where(inexact, np.nextafter(high, np.where(low > 0, np.inf, -np.inf)), high)
    return round_to(high, dtype)


def _by_digits(node: Node, wanted: Mapping[int, _Left]) -> Mapping[int, Array]:
    """The wanted outputs, with as many digits as it takes."""
    found: dict[int, Array] = {}
    before = precisely(node, DIGITS[0])
    for bits, more in pairwise(DIGITS):
        now = precisely(node, more)
        for place in wanted.keys() - found.keys():
            array = _certain(before[place], now[place], bits, more, wanted[place][0])
            if array is not None:
                _check(node, place, array, wanted[place])
                found[place] = array
        if len(found) == len(wanted):
            return found
        before = now
    raise Unrounded(f"{node.op}: {DIGITS[-1]} binary digits do not tell what it rounds to")


def _certain(before: Any, now: Any, bits: int, more: int, output: Expected) -> Array | None:
    """The rounded values; None where the digits leave a choice."""
    from opcheck.numbers.precise import rounded

    found = output.rounded()
    for place, (x, y) in enumerate(zip(before.v.flat, now.v.flat, strict=True)):
        value = rounded(x, y, bits, more, output.dtype, last=more == DIGITS[-1])
        if value is None:
            return None
        # What is no number, and a zero's sign, bounded numbers tell, which know −0.
        known = np.isfinite(output.values.flat[place])
        if known and value == value and (value or found.flat[place]):
            found.flat[place] = value
    return found


def _check(node: Node, place: int, array: Array, left: _Left) -> None:
    """Raise Unrounded where precise numbers are not what bounded ones prove."""
    output, low, high = left
    wrong = ~((low <= array) & (array <= high)) & np.isfinite(output.values)
    if wrong.any():
        at = tuple(map(int, np.argwhere(wrong)[0]))
        what = f"{node.op}: output {place} at {list(at)}: precise numbers give {array[at]!s}"
        raise Unrounded(f"{what}, bounded ones {low[at]!s} to {high[at]!s}")
