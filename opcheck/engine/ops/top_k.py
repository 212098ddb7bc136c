"""TopK (1, 10, 11, 24): the largest or smallest elements along an axis, and their places."""

from functools import partial

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode

OP = operator(
    "TopK",
    exact=True,
    any_order=lambda attrs: None if attrs.get("sorted", 1) == 1 else attrs["axis"],
)


def by_axis(function, of_k=None):
    """Every version, from `function(x, k, axis, largest)`, whose results are sorted.

    `of_k(k, length)` makes another k, where the tensor may have no such number of elements.
    """

    def sorted_by(x, k, axis, largest):
        axis = from_either_end(axis, x.ndim)
        if not 0 <= k <= x.shape[axis]:
            raise InvalidNode(f"k {k}; the axis has {x.shape[axis]} elements")
        return function(x, k, axis, largest)

    def of_attribute(X, *, axis, k):
        k = of_k(k, X.shape[from_either_end(axis, X.ndim)]) if of_k else k
        return sorted_by(X, k, axis, True)

    def of_input(X, K, *, axis, sorted=1, largest=1):
        if of_k:
            length = X.shape[from_either_end(axis, X.ndim)]
            K = np.array([of_k(int(k), length) for k in K.reshape(-1)[:1]])
        if K.shape != (1,) or K[0] < 1:
            raise InvalidNode(f"K {K.tolist()}; allowed: one positive number in a list")
        values, indices = sorted_by(X, int(K[0]), axis, largest == 1)
        if sorted == 1:
            return values, indices
        axis = from_either_end(axis, X.ndim)
        order = np.argsort(indices, axis, kind="stable")
        return [xp.take_along_axis(found, order, axis) for found in (values, indices)]

    return {1: of_attribute, 10: of_input, 11: of_input, 24: of_input}


@OP.formula(by=by_axis)
def top_k(x, k, axis, largest):
    """Of equal elements the first comes first."""
    return xp.top_k(x, k, axis, largest)


def changed(change):
    """Every version, from what `change(x, values, indices, axis)` makes of the results."""
    return by_axis(lambda x, k, axis, largest: change(x, *top_k(x, k, axis, largest), axis))


def in_the_order_of_the_input(x, values, indices, axis):
    ordered = np.sort(indices, axis)
    return np.take_along_axis(x, ordered, axis), ordered


def places_in_the_output(x, values, indices, axis):
    alone = indices.shape[axis] < 2
    return values, indices * 0 if alone else np.argsort(np.argsort(indices, axis), axis)


MUTANTS = {
    "places_in_the_tensor": ("Indices were places in the whole tensor",
        lambda x, values, indices, axis: (
            values, np.take_along_axis(np.arange(x.size).reshape(x.shape), indices, axis))),
    "places_in_the_output": ("Indices were places in the output", places_in_the_output),
    "places_from_1": ("Indices counted from 1",
                      lambda x, values, indices, axis: (values, indices + 1)),
    "never_sorted": ("the elements came in the order of the input", in_the_order_of_the_input),
    "sorted_the_wrong_way": ("the order was the other way round",
        lambda x, values, indices, axis: (np.flip(values, axis), np.flip(indices, axis))),
    "values_alone_sorted": ("Values alone were sorted, and Indices in the order of the input",
        lambda x, values, indices, axis: (values, np.sort(indices, axis))),
}  # fmt: skip
OP.mutant_table(MUTANTS, by=changed)


OF_K = {
    "k_cut_to_the_length": ("a k beyond the length of the axis was cut down to that",
                            lambda k, length: min(k, length)),
    "negative_k_accepted": ("a k below 0 was taken for 1",
                            lambda k, length: 1 if k < 0 else k),
    "first_of_k": ("the first number of K was taken, whatever its shape", lambda k, length: k),
}  # fmt: skip
OP.mutant_table(OF_K, by=partial(by_axis, top_k), of_validity=True)
