"""Softmax, versions 1, 11 and 13: e^x over the sum of e^x, in every row.

The number of elements decides the method. By mpmath they take some 40 times as long each as by
double-double in a large tensor; `_FEW` of them are computed so before anyone gets impatient.
"""

from __future__ import annotations

import numpy as np

from opcheck.model import Array
from opcheck.precise import double_double as dd
from opcheck.precise.answer import Floats, Precise, Undecided, quantized
from opcheck.precise.formats import FORMATS, Format
from opcheck.precise.ops.softmax.by_double_double import some_rows
from opcheck.precise.ops.softmax.by_mpmath import row
from opcheck.precise.registry import Operator
from opcheck.precise.rows import versions

_FEW = 1 << 12


def softmax(rows: Array) -> Precise:
    """The softmax of every row of a matrix.

    By the formula a row with a NaN is NaN, as is one of −inf alone, which sums to 0, and one of
    +inf alone. Raises Undecided where +inf stands beside other numbers: e^x / inf is 0, but of
    e^(x − inf) over the sum of e^(inf − inf), as Softmax-13's function body has it, all is NaN.
    """
    form = FORMATS[rows.dtype.name]
    little = rows.size <= _FEW
    values, distance = np.empty(rows.shape, form.dtype), np.empty(rows.shape)
    together = max(1, dd.PIECE // rows.shape[1])
    for start in range(0, len(rows), together):
        block = slice(start, start + together)
        # float64 holds every number of the other types.
        rounded, far = _some_rows(rows[block].astype(np.float64), form, little)
        values[block], distance[block] = rounded.astype(form.dtype), quantized(far)
    return Precise(values, distance, "mpmath" if little else "double-double")


def _some_rows(x: Floats, form: Format, little: bool) -> tuple[Floats, Floats]:
    """The softmax of the rows of `x`, and distances from a midpoint in ULP."""
    nan = np.isnan(x).any(axis=1)
    endless = np.isposinf(x)
    if (endless.any(axis=1) & ~endless.all(axis=1) & ~nan).any():
        raise Undecided("the text does not say what stands beside +inf in a row")
    values, distance = np.full(x.shape, np.nan), np.full(x.shape, np.inf)
    real = np.flatnonzero(~nan & ~endless.all(axis=1) & ~np.isneginf(x).all(axis=1))
    if little:
        for i in real:
            values[i], distance[i] = row(x[i], form)
    elif len(real):
        values[real], distance[real] = some_rows(x[real], form)
    return values, distance


OPERATOR = Operator(domain="", name="Softmax", versions=versions(softmax))
