"""Hardmax, versions 1, 11 and 13: 1 at the first maximum of every row, 0 elsewhere."""

from __future__ import annotations

from opcheck.model import Array
from opcheck.precise.answer import Precise
from opcheck.precise.first_maximum import first_maximum
from opcheck.precise.registry import Operator, Version
from opcheck.precise.rows import along, coerced, counted


def _hardmax_1(x: Array, *, axis: int = 1) -> Precise:
    return along(x, coerced(x, axis, since=1), first_maximum)


def _hardmax_11(x: Array, *, axis: int = 1) -> Precise:
    return along(x, coerced(x, axis, since=11), first_maximum)


def _hardmax_13(x: Array, *, axis: int = -1) -> Precise:
    return along(x, [counted(x, axis)], first_maximum)


_FLOATS = ("float16", "float32", "float64")
OPERATOR = Operator(
    domain="",
    name="Hardmax",
    versions={
        1: Version(_FLOATS, _hardmax_1),
        11: Version(_FLOATS, _hardmax_11),
        13: Version((*_FLOATS, "bfloat16"), _hardmax_13),
    },
)
