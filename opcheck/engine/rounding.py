"""Correctly rounded outputs: proven by error bounds, or to as many digits as it takes."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from opcheck.dtypes import DTYPES, DType, round_to
from opcheck.engine.evaluate import precisely, with_undefined_elements
from opcheck.engine.node import Node
from opcheck.engine.outputs import Drawn, Expected
from opcheck.engine.tiers import Tier
from opcheck.errors import NotSupported, decline
from opcheck.model import Array
from opcheck.numbers.arithmetic import VALUE_GRIDS, Grid

#: How the values of a node came about: nothing was rounded; an error bound of the reference's own
#: arithmetic leaves one number each; computed by mpmath to as many digits as it took.
Method: TypeAlias = Literal["exact", "bounded", "mpmath"]
#: Binary digits that are computed with, until they tell what everything rounds to.
DIGITS = (160, 640, 2560, 10240)
#: Below this a float64 has no room for what it leaves of a number, which is under the least one.
_LEAST_WITH_REST = 2.0**-1021
_LEAST_SUBNORMAL = 2.0**-1074
#: A dtype that no output has, so that the rounding to the output's own is one more.
_NO_DTYPE = DType("reference", np.dtype(np.float64), 0, "", "float", 53, -1074)


class Unrounded(ValueError):
    """It is not certain what an output rounds to."""


class _Left(NamedTuple):
    """An output, and the lowest and highest numbers that its proven error leaves."""

    output: Expected
    low: Array
    high: Array


@np.errstate(all="ignore")
def correctly_rounded(node: Node) -> tuple[tuple[Array, ...], Method]:
    """Return the outputs rounded once to their own types, and how they came about.

    Raises InvalidNode for a node that is forbidden; NotSupported for one that is not implemented,
    for outputs drawn at random and for elements that no text defines; MemoryError and WrongOperator
    as a formula does; Unrounded where all DIGITS do not tell what an element rounds to, precise
    numbers contradict bounded ones, or an integer may be any number.
    """
    rounded: dict[int, Array] = {}
    method: Method = "exact"
    left: dict[int, _Left] = {}
    outputs, undefined = with_undefined_elements(node)
    decline(bool(undefined), "some of its elements may be anything")
    for place, output in enumerate(outputs):
        if isinstance(output, Drawn):
            raise NotSupported("its outputs are drawn at random")
        if not isinstance(output, Expected):
            rounded[place] = output
            continue
        method = "bounded"
        low, high = _ends(output)
        if np.array_equal(low, high, equal_nan=output.dtype.kind == "float"):
            # A zero has its sign from the formula and not from its bound.
            rounded[place] = np.where(output.values == 0, output.rounded(), low)
        else:
            left[place] = _Left(output, low, high)
    if left:
        method = "mpmath"
        rounded |= _by_digits(node, left)
    return tuple(rounded[place] for place in sorted(rounded)), method


def _ends(output: Expected) -> tuple[Array, Array]:
    """Return the lowest and highest numbers that the reference's own error leaves an element.

    Both have the output's shape and dtype; of infinities, NaN and other types than numbers both are
    the rounded value. Of integers they are the ends of what is right; raises Unrounded where any
    number is.
    """
    if output.dtype.kind == "int":
        return _ends_of_integers(output)
    if output.dtype.kind != "float":
        return output.rounded(), output.rounded()
    # The arithmetic in which the reference itself is computed.
    first = output.tiers()[0].arithmetic
    own = Grid(_NO_DTYPE, VALUE_GRIDS[first.values])
    reference = replace(first, grid=own, ulp=4.0, largest=np.inf, smallest=0.0)
    room = output.room(Tier("reference", reference))
    y = output.values
    size = np.abs(y)
    slack = room.own
    if room.shared is not None:
        slack = slack + size * (2 * np.maximum(room.shared.down, room.shared.up))
    if output.dtype.name == "float64":
        # What float64 has no room for is too small for a float64 itself.
        has_no_rest = (size > 0) & (size < _LEAST_WITH_REST)
        slack = slack + np.where(has_no_rest, _LEAST_SUBNORMAL, 0.0)
    slack = np.where(np.isnan(slack), np.inf, slack)
    with np.errstate(over="ignore", invalid="ignore"):
        low = nearest(*_sum(y, output.rest, -1 * slack), output.dtype)
        high = nearest(*_sum(y, output.rest, slack), output.dtype)
    is_known = np.isfinite(size)
    rounded = output.rounded()
    return np.where(is_known, low, rounded), np.where(is_known, high, rounded)


def _ends_of_integers(output: Expected) -> tuple[Array, Array]:
    """Return the lowest and highest integers that are right; an index of several counts as sure.

    Raises Unrounded where any number is right.
    """
    room = output.room(output.tiers()[0])
    if room.lost is not None and room.lost.any():
        raise Unrounded(f"an integer beyond {output.dtype} is not defined")
    return output.integer_ends(room)


def _sum(high: Any, low: Any, slack: Any) -> tuple[Any, Any]:
    """Return high + low + slack as a number and what it has lost; `low` may be None for 0."""
    added = slack if low is None else low + slack
    total = high + added
    return total, (high - total) + added


def nearest(high: Any, low: Any, dtype: DType) -> Array:
    """Return `high` + `low`, where `high` is the nearest float64, rounded once to `dtype`.

    low: what `high` has lost, of its shape; it is not used for float64. dtype: a float. An odd last
    digit stands for all the digits that float64 has no room for. What is too large is infinite.
    """
    if dtype.precision < DTYPES["float64"].precision:
        inexact = (low != 0) & ((high.view(np.int64) & 1) == 0) & np.isfinite(high)
        high = np.where(inexact, np.nextafter(high, np.where(low > 0, np.inf, -np.inf)), high)
    return round_to(high, dtype)


def _by_digits(node: Node, wanted: Mapping[int, _Left]) -> Mapping[int, Array]:
    """Return the wanted outputs, by their places, with as many digits as it takes.

    Raises Unrounded if no number of DIGITS tells what they round to, or they contradict bounds; and
    InvalidNode, NotSupported, MemoryError and WrongOperator as `precisely` does.
    """
    rounded: dict[int, Array] = {}
    before = precisely(node, DIGITS[0])
    for bits, more_bits in pairwise(DIGITS):
        now = precisely(node, more_bits)
        for place in wanted.keys() - rounded.keys():
            left = wanted[place]
            array = _certain(before[place], now[place], bits, more_bits, left.output)
            if array is not None:
                _check(node, place, array, left)
                rounded[place] = array
        if len(rounded) == len(wanted):
            return rounded
        before = now
    raise Unrounded(f"{node.op}: {DIGITS[-1]} binary digits do not tell what it rounds to")


def _certain(before: Any, now: Any, bits: int, more_bits: int, output: Expected) -> Array | None:
    """Return the rounded values; None where the digits leave a choice.

    before, now: precise numbers with `bits` and with `more_bits` binary digits. NaN, infinities and
    the signs of zeros are those of `output`.
    """
    from opcheck.numbers.precise import rounded

    result = output.rounded()
    is_last = more_bits == DIGITS[-1]
    for place, (x, y) in enumerate(zip(before.v.flat, now.v.flat, strict=True)):
        value = rounded(x, y, bits, more_bits, output.dtype, last=is_last)
        if value is None:
            return None
        # NaN, infinity and a zero's sign come from bounded numbers, which know −0.
        is_known = np.isfinite(output.values.flat[place])
        if is_known and value == value and (value or result.flat[place]):
            result.flat[place] = value
    return result


def _check(node: Node, place: int, array: Array, left: _Left) -> None:
    """Raise Unrounded where precise numbers are not what bounded ones prove."""
    is_within = (left.low <= array) & (array <= left.high)
    is_wrong = ~is_within & np.isfinite(left.output.values)
    if is_wrong.any():
        at = tuple(map(int, np.argwhere(is_wrong)[0]))
        what = f"{node.op}: output {place} at {list(at)}: precise numbers give {array[at]!s}"
        raise Unrounded(f"{what}, bounded ones {left.low[at]!s} to {left.high[at]!s}")
