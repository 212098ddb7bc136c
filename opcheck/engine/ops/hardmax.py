"""Hardmax (1, 11, 13): 1 for the first maximum of each row, 0 for the rest."""

from functools import partial

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


MUTANTS = {
    "all_maxima": ("every maximum of a row had a one",
        lambda x, axis: xp.astype(xp.equal(x, xp.max(x, axis=axis, keepdims=True)), x.dtype)),
    "maximum_in_place_of_one": ("the maximum itself stood in place of a one",
        lambda x, axis: np.where(one_hot(x, axis) == 1, x, 0).astype(x.dtype)),
    "nan_passed_on": ("NaN of the input was passed on to the output",
                      lambda x, axis: np.where(np.isnan(x), x, one_hot(x, axis))),
    "rows_of_one_copied": (
        "rows of one element were left out as nothing to do, and the input copied",
        lambda x, axis: x if x.shape[axis] == 1 else one_hot(x, axis)),
}  # fmt: skip
OP.mutant_table(MUTANTS, by=by_rows)


def transposed(function):
    """Versions 1 and 11 of what competes in the order of the last axis first."""

    def formula(since, input, *, axis):
        competing = range(axis % max(1, input.ndim), input.ndim)
        order = [*range(input.ndim - len(competing)), *reversed(competing)]
        return function(OP.formulas[since](input.transpose(order), axis=axis), order)

    return {since: partial(formula, since) for since in (1, 11)}


OP.mutant("the first of equal maxima was that of the transposed tensor", by=transposed,
          name="ties_in_column_major_order")(
    lambda ones, order: ones.transpose(np.argsort(order)))  # fmt: skip
