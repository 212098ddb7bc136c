"""Hardmax (1, 11, 13): 1 for the first maximum of each row, 0 for the rest."""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import by_rows
from opcheck.engine.operators import operator

OP = operator("Hardmax", low=0.0, high=1.0, exact=True)


@OP.formula(by=by_rows)
def one_hot(x, axis):
    """1 at the first maximum along `axis`, which is the first NaN where there is one."""
    first = xp.argmax(x, axis=axis, keepdims=True)
    places = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return xp.astype(xp.equal(places, first), x.dtype)


@OP.mutant("every maximum of a row had a one", by=by_rows)
def all_maxima(x, axis):
    return xp.astype(xp.equal(x, xp.max(x, axis=axis, keepdims=True)), x.dtype)
