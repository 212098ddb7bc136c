"""Correctly rounded outputs: proven by error bounds, or to as many digits as it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from opcheck.dtypes import DTYPES, DType, round_to
from opcheck.engine.evaluate import Evaluation, Expected, Tier, exactly, precisely
from opcheck.engine.node import Node
from opcheck.model import Array
from opcheck.numbers import arithmetic
from opcheck.numbers.arithmetic import Arithmetic, Grid

#: How the values of a node came about: nothing was rounded; an error bound of the reference's own
#: arithmetic leaves one number each; computed by mpmath to as many digits as it took.
Method: TypeAlias = Literal["exact", "bounded", "mpmath"]
METHODS: tuple[Method, ...] = get_args(Method)

#: Binary digits that are computed with, until two of them in a row give the same numbers.
_DIGITS = (160, 320, 640, 1280)


class Unrounded(ValueError):
    """No number of digits that was tried tells what an output rounds to."""


def correctly_rounded(node: Node) -> tuple[tuple[Array, ...], Method]:
    """The outputs of a node, each value rounded once to its dtype, and how they came about.

    Raises what `evaluate` raises, and Unrounded.
    """
    with np.errstate(all="ignore"):
        return _rounded_outputs(node)


def _rounded_outputs(node: Node) -> tuple[tuple[Array, ...], Method]:
    expected = exactly(node)
    found: list[Array] = []
    methods: set[Method] = {"exact"}
    fine: Sequence[Array] | None = None
    for place, output in enumerate(expected):
        if not isinstance(output, Expected):
            found.append(output)
            continue
        array = _proven(output)
        methods.add("bounded" if array is not None else "mpmath")
        if array is None:
            fine = fine or _by_digits(node, expected)
            array = fine[place]
        found.append(array)
    return tuple(found), max(methods, key=METHODS.index)


def _proven(output: Expected) -> Array | None:
    """The rounded values, where the reference's own error leaves no choice; else None."""
    if output.dtype.kind != "float":
        low = high = output.rounded()
        return low if np.array_equal(low, high) else None
    whole = np.empty(output.values.shape, output.dtype.numpy)
    for at, piece in output.pieces:
        tier = _own_tier(piece.evaluation)
        room = piece.room(tier)
        slack = (
            room.own
            if room.shared is None
            else room.own
            + np.abs(piece.values) * (2 * np.maximum(room.shared.down, room.shared.up))
        )
        ends = [
            nearest(*_sum(piece.values, piece.rest, sign * slack), output.dtype) for sign in (-1, 1)
        ]
        same = (ends[0] == ends[1]) | ~np.isfinite(piece.values)
        if not same.all():
            return None
        whole[at] = np.where(np.isfinite(piece.values), ends[0], piece.rounded())
    # A zero has its sign from the formula and not from its bound.
    return np.where(output.values == 0, output.rounded(), whole)


def _own_tier(evaluation: Evaluation) -> Tier:
    """The arithmetic in which the reference itself is computed."""
    first = evaluation.tiers()[0]
    values = arithmetic.VALUE_GRIDS[first.arithmetic.values]
    own: Arithmetic = replace(
        first.arithmetic, grid=Grid(_NO_DTYPE, values), ulp=4.0, largest=np.inf, smallest=0.0
    )
    return Tier("reference", own)


#: A dtype that no output has, so that the rounding to the output's own is one more.
_NO_DTYPE = DType("reference", np.dtype(np.float64), 0, "", "float", 53, -1074)


def _sum(high: Any, low: Any, more: Any) -> tuple[Any, Any]:
    """high + low + more as a number and what it has lost."""
    total = high + (more if low is None else low + more)
    return total, (high - total) + (more if low is None else low + more)


def nearest(high: Any, low: Any, dtype: DType) -> Array:
    """`high` + `low`, of which `high` is the nearest float64, rounded once to `dtype`.

    An odd last digit stands for all the digits that float64 has no room for.
    """
    if dtype.precision < DTYPES["float64"].precision:
        inexact = (low != 0) & ((high.view(np.int64) & 1) == 0) & np.isfinite(high)
        high = np.where(inexact, np.nextafter(high, np.where(low > 0, np.inf, -np.inf)), high)
    return round_to(high, dtype)


def _by_digits(node: Node, expected: Sequence[Array | Expected]) -> Sequence[Array]:
    """The outputs with as many digits as it takes."""
    before: list[Array] = []
    for digits in _DIGITS:
        now = [
            array if not isinstance(output, Expected) else _rounded(array, output)
            for array, output in zip(precisely(node, digits), expected, strict=True)
        ]
        if before and all(map(_same, before, now)):
            return now
        before = now
    raise Unrounded(f"{node.op}: {_DIGITS[-1]} binary digits do not tell what it rounds to")


def _rounded(array: Any, output: Expected) -> Array:
    from opcheck.numbers.precise import Precise, halves

    if not isinstance(array, Precise):
        return np.asarray(array).astype(output.dtype.numpy)
    high, low = halves(array.v)
    rounded = nearest(high, low, output.dtype)
    # mpmath has no negative zero, and says less of what is no number.
    keep = (output.values == 0) | ~np.isfinite(output.values)
    return np.where(keep, output.rounded(), rounded)


def _same(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()
