"""Gather (1, 11, 13): the entries of `data` along an axis that `indices` name."""

from functools import partial

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import elements_at, from_either_end
from opcheck.engine.operators import operator

OP = operator("Gather", exact=True)


def by_index(function):
    """All versions, from `function(data, indices, axis)`; version 1 names no negative index."""

    def formula(back, data, indices, *, axis):
        place = from_either_end(axis, data.ndim)
        return function(data, elements_at(indices, data.shape[place], back=back), place)

    either = partial(formula, True)
    return {1: partial(formula, False), 11: either, 13: either}


@OP.formula(by=by_index)
def taken(data, indices, axis):
    return xp.take(data, indices, axis=axis)


def as_gather_elements(data, indices, axis):
    along = [n for place, n in enumerate(data.shape) if place != axis]
    beside = [n for place, n in enumerate(indices.shape) if place != axis]
    if indices.ndim != data.ndim or along != beside:
        return taken(data, indices, axis)
    return np.take_along_axis(data, indices, axis)


MUTANTS = {
    "indices_first": ("the axes of the indices came first, wherever the axis was",
        lambda data, i, axis: np.take(np.moveaxis(data, axis, 0), i, axis=0)),
    "indices_last": ("the axes of the indices came last, wherever the axis was",
        lambda data, i, axis: np.take(np.moveaxis(data, axis, -1), i, axis=-1)),
    "indices_as_vector": ("the indices were read as a vector",
                          lambda data, i, axis: taken(data, i.reshape(-1), axis)),
    "index_keeps_its_axis": ("a single index kept an axis of one element",
        lambda data, i, axis: taken(data, i if i.ndim else i.reshape(1), axis)),
    "indices_column_major": ("the indices were read in column-major order",
        lambda data, i, axis: taken(data, i.reshape(i.shape[::-1]).T, axis)),
    "as_gather_elements": ("GatherElements was computed where the shapes allowed it",
                           as_gather_elements),
}  # fmt: skip
OP.mutant_table(MUTANTS, by=by_index)


@OP.mutant("an index out of range gave zeros", of_validity=True)
def zeros_out_of_range(data, indices, *, axis):
    place = from_either_end(axis, data.ndim)
    return np.zeros((*data.shape[:place], *indices.shape, *data.shape[place + 1 :]), data.dtype)
