"""TopK, ArgMax and ArgMin: the largest or the smallest elements along an axis, all versions.

What they have in common is an order of the elements, in which NaN has a place by a ruling, and
equal elements of which one is meant: the first in TopK and, from version 12 on, in the others too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, from_the_front, from_the_front_or_last
from opcheck.engine.operators import (
    Formula,
    NamedMutants,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import MAX_ANSWERS, Ruling
from opcheck.engine.rulings import NAN_IN_ORDER, extremes_beside_nan, flag, has_nan
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import seen

NAMES = """ArgMax ArgMin TopK"""

#: The values and the indices of a selection along an axis.
Selected: TypeAlias = tuple[Array, Array]

#: Each row of ArgMax and ArgMin is an element of the output.
NAN_IN_ORDER_OF_A_ROW = replace(NAN_IN_ORDER, by_element=True)
#: Of places that may be any: in rows of more equal elements than ORDINALS has.
MANY_EQUALS = "which of many equal elements is meant"
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
ONE_OF_EQUAL_ELEMENTS = Ruling(
    "one-of-equal-elements",
    "The text of this version does not state which of equal elements is meant.",
    ORDINALS[:MAX_ANSWERS],
    by_element=True,
)
K_OF_0 = Ruling(
    "k-of-0",
    "The text of version 1 does not state whether no element may be retrieved.",
    ("empty", "refused"),
)


# ── ArgMax and ArgMin ─────────────────────────────────────────────────────────────────────────

ARG_MAX = operator("ArgMax", exact=True)
ARG_MIN = operator("ArgMin", exact=True)


@dataclass(frozen=True)
class Extreme:
    """The largest element of a row, or the smallest.

    Attributes:
        largest: It is the largest.
        place: Finds the place of the first one along an axis.
    """

    largest: bool
    place: Callable[..., Array]

    def mask(self, x: Array, axis: int) -> NDArray[np.bool_]:
        """Return a mask of the elements that are the extreme of their row along `axis`.

        The axis has elements, and the mask the shape of x, with all of equal extremes. NaN is the
        largest or the smallest, or no comparison with it is true, so that it is the extreme if it
        comes first: NAN_IN_ORDER_OF_A_ROW.
        """
        if has_nan(x):
            reading = NAN_IN_ORDER_OF_A_ROW.reading()
            return extremes_beside_nan(x, axis, reading, largest=self.largest)
        values = seen(x)
        choose = np.max if self.largest else np.min
        return np.asarray(values == choose(values, axis=axis, keepdims=True), bool)


@formulas_of_versions(each={1: 1, 11: 11, 12: 12, 13: 12})
def place_of(
    extreme: Extreme,
    since: int,
    data: Array,
    *,
    axis: int,
    keepdims: int,
    select_last_index: int = 0,
) -> Array:
    """Return "the indices of the max elements" along `axis`, or of the min elements.

    data: of any shape but a scalar's; the output has size 1 along `axis`, or "the reduced dimension
    pruned". "If select_last_index is True (default False), the index of the last occurrence" is
    selected, from version 12 on; before it may be any of equal elements: ONE_OF_EQUAL_ELEMENTS. NaN
    is the largest or the smallest, or no comparison with it is true: NAN_IN_ORDER_OF_A_ROW. In
    version 1 a negative axis is refused, or counts from the back: NEGATIVE_AXIS. extreme: the
    largest or the smallest; since: the version whose text decides.

    Raises InvalidNode for an axis out of range or refused, for an empty input in version 11, and
    for flags other than 0 and 1, if FLAG_OF_ANOTHER_NUMBER refuses them. Raises NotSupported for an
    axis without elements. In rows of more than 8 equal elements the place may be anything before
    version 12.
    """
    reject(since == 11 and not data.size, "the input is empty")
    count_axis = from_the_front if since == 1 else from_either_end
    axis = count_axis(axis, data.ndim)
    length = data.shape[axis]
    if not length:
        raise_unspecified("an empty axis")
    keeps = flag("keepdims", keepdims)
    has_many: NDArray[np.bool_] | bool = False
    takes_last = flag("select_last_index", select_last_index)
    is_decided = since >= 12 and not has_nan(data)
    if not is_decided:
        is_extreme = extreme.mask(data, axis)
        # The number of the extreme that is meant among equal ones; one too many is the last.
        number = length - 1 if takes_last else 0
        if since < 12:
            count = is_extreme.sum(axis=axis, keepdims=keeps)
            has_many = count > len(ORDINALS)
            number = number_among_equals(count)
        if number or has_nan(data):
            place = nth_place(is_extreme, number, axis)
            return undefined_where(place if keeps else place.squeeze(axis), has_many, MANY_EQUALS)
    # Without NaN, the first of equal extremes is meant, or the last: the first from the back.
    x = xp.flip(data, axis=axis) if takes_last else data
    place = extreme.place(x, axis=axis, keepdims=keeps)
    return length - 1 - place if takes_last else undefined_where(place, has_many, MANY_EQUALS)


def number_among_equals(count: NDArray[np.int64]) -> int:
    """Return which of a row's equal extremes is meant, counted from 0.

    count: how many each row has. It is the first, second, … up to the most that a row has, by
    ONE_OF_EQUAL_ELEMENTS; 0 if no row has several. Rows with more than 8 do not count: any may be
    meant.
    """
    most = int(np.max(count, initial=0, where=count <= len(ORDINALS)))
    if most <= 1:
        return 0
    ruling = replace(ONE_OF_EQUAL_ELEMENTS, readings=ORDINALS[:most])
    return ORDINALS.index(ruling.reading())


def nth_place(mask: NDArray[np.bool_], number: int, axis: int) -> NDArray[np.int64]:
    """Return the place of the True of this number along `axis`, of the last if there are fewer.

    Numbers count from 0, and each row has a True. The places have size 1 along `axis`.
    """
    numbers = np.cumsum(mask, axis=axis) - 1
    wanted = np.minimum(number, mask.sum(axis=axis, keepdims=True) - 1)
    is_wanted = mask & (numbers == wanted)
    return np.asarray(is_wanted.argmax(axis=axis, keepdims=True), np.int64)


ARG_MAX.formula(build=place_of)(Extreme(largest=True, place=xp.argmax))
ARG_MIN.formula(build=place_of)(Extreme(largest=False, place=xp.argmin))


# ── TopK ──────────────────────────────────────────────────────────────────────────────────────

TOP_K = operator("TopK", exact=True)


def order_is_free(attributes: Mapping[str, Any]) -> int | None:
    """Return the axis along which results may come in any order; None if they are sorted.

    `attributes` has the values of all attributes, defaults too; `axis` may be negative.
    """
    return None if attributes.get("sorted", 1) == 1 else attributes["axis"]


TOP_K.any_order = order_is_free


def in_order(x: Array, k: int, axis: int, largest: bool) -> Selected:
    """Return the k largest elements along `axis`, or the smallest, and their indices, in order.

    "Given two equivalent values, this operator uses the indices along the axis as a tiebreaker.
    That is, the element with the lower index will appear first." NaN is the largest or the
    smallest, or is never exceeded: NAN_IN_ORDER. k is at most the length of the axis.
    """
    reading = NAN_IN_ORDER.reading() if has_nan(x) else "largest"
    if reading == "largest":
        values, indices = xp.top_k(x, k, axis, largest)
        return values, indices
    if reading == "smallest":
        # NaN counts as the largest among the negatives.
        _, indices = xp.top_k(-x, k, axis, not largest)
    else:
        indices = order_between_nan(x, axis, largest).take(range(k), axis)
    return xp.take_along_axis(x, indices, axis), indices


def order_between_nan(x: Array, axis: int, largest: bool) -> NDArray[np.intp]:
    """Return the order of the elements along `axis` where no comparison with NaN is true.

    An element goes before those in front of it that it exceeds, or that exceed it if the smallest
    come first. None goes past NaN, so that the stretches from one NaN to the next are ordered each
    by itself. The result has indices along `axis`, in the shape of `x`.
    """
    values = seen(x).astype(np.float64)
    is_nan = np.isnan(values)
    stretch = np.cumsum(is_nan, axis=axis)
    key = np.where(is_nan, 0.0, -values if largest else values)
    # The last key counts most; NaN is the first of its stretch. The sort is stable.
    return np.lexsort((key, ~is_nan, stretch), axis=axis)


def as_stated(K: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return K as it is."""
    return K


@dataclass(frozen=True)
class Selection:
    """How TopK is computed; mutants do otherwise.

    Attributes:
        select: Returns Values and Indices from the tensor, k, the axis, and True for the largest.
        read: The K that is checked and computed with, from that of the node and the axis's length.
    """

    select: Callable[[Array, int, int, bool], Selected] = in_order
    read: Callable[[NDArray[np.int64], int], NDArray[np.int64]] = as_stated

    def of(self, x: Array, k: int, axis: int, largest: bool) -> Selected:
        """Return Values and Indices of the k largest or smallest elements along `axis`.

        Raises InvalidNode if k is negative or above the length of the axis.
        """
        length = x.shape[axis]
        reject(not 0 <= k <= length, f"k {k}; the axis has {length} elements")
        return self.select(x, k, axis, largest)


@formulas_of_versions(1)
def of_attribute(selection: Selection, X: Array, *, axis: int, k: int) -> Selected:
    """Return Values and Indices of version 1: the k largest elements, in order.

    A k of 0 gives empty outputs, or raises InvalidNode: K_OF_0. A negative axis other than -1 is
    refused, or counts from the back: NEGATIVE_AXIS_BUT_THE_LAST. NaN is the largest or the
    smallest, or no comparison with it is true: NAN_IN_ORDER. selection: the steps, which mutants
    change. Raises InvalidNode for an axis out of range or refused, and for a k below 0 or above the
    axis's length.
    """
    axis = from_the_front_or_last(axis, X.ndim)
    k = int(selection.read(np.array([k]), X.shape[axis])[0])
    if k == 0 and K_OF_0.reading() == "refused":
        raise InvalidNode("k 0: no element is retrieved")
    return selection.of(X, k, axis, True)


@formulas_of_versions(each={10: 10, 11: 11, 24: 11})
def of_input(
    selection: Selection,
    since: int,
    X: Array,
    K: Array,
    *,
    axis: int,
    sorted: int = 1,
    largest: int = 1,
) -> Selected:
    """Return Values and Indices of the largest elements if `largest` is 1, else of the smallest.

    They are in order if `sorted` is 1; else in that of the input, though any is right. K: "A 1-D
    tensor containing a single positive value". NaN is the largest or the smallest, or no comparison
    with it is true: NAN_IN_ORDER. In version 10 a negative axis other than -1 is refused, or counts
    from the back: NEGATIVE_AXIS_BUT_THE_LAST. selection: the steps, which mutants change; since:
    the version whose text decides. Raises InvalidNode for an axis out of range or refused, another
    shape of K, a value below 1 or above the axis's length, and flags other than 0 and 1, if
    FLAG_OF_ANOTHER_NUMBER refuses them.
    """
    count_axis = from_the_front_or_last if since == 10 else from_either_end
    axis = count_axis(axis, X.ndim)
    K = selection.read(K, X.shape[axis])
    reject(K.shape != (1,) or K[0] < 1, f"K {K.tolist()}; allowed: one positive int in a list")
    is_largest = flag("largest", largest)
    values, indices = selection.of(X, int(K[0]), axis, is_largest)
    if flag("sorted", sorted):
        return values, indices
    order = np.argsort(indices, axis, kind="stable")
    return xp.take_along_axis(values, order, axis), xp.take_along_axis(indices, order, axis)


def top_k(selection: Selection) -> Mapping[int, Formula]:
    """Return the formulas of all versions, by the opset since which each is in force."""
    return {**of_attribute(selection), **of_input(selection)}


TOP_K.formula(build=top_k)(Selection())


# Mutants of TopK.

#: Makes wrong results of the tensor, the right Values and Indices, and the axis.
Change: TypeAlias = Callable[[Array, Array, Array, int], Selected]


def changed(change: Change, x: Array, k: int, axis: int, largest: bool) -> Selected:
    """Return what `change` makes of the right results, Values and Indices."""
    values, indices = xp.top_k(x, k, axis, largest)
    return change(x, values, indices, axis)


def places_in_the_tensor(x: Array, values: Array, indices: Array, axis: int) -> Selected:
    """Mutant: Indices are places in the whole tensor, row-major."""
    places = np.arange(x.size).reshape(x.shape)
    return values, np.take_along_axis(places, indices, axis)


def places_in_the_output(x: Array, values: Array, indices: Array, axis: int) -> Selected:
    """Mutant: Indices are places in the output, in the order of the input."""
    return values, np.argsort(np.argsort(indices, axis), axis)


def places_from_1(x: Array, values: Array, indices: Array, axis: int) -> Selected:
    """Mutant: Indices count from 1."""
    return values, indices + 1


def never_sorted(x: Array, values: Array, indices: Array, axis: int) -> Selected:
    """Mutant: the elements come in the order of the input."""
    in_order_of_input = np.sort(indices, axis)
    return np.take_along_axis(x, in_order_of_input, axis), in_order_of_input


def sorted_the_wrong_way(x: Array, values: Array, indices: Array, axis: int) -> Selected:
    """Mutant: the order is the other way round."""
    return np.flip(values, axis), np.flip(indices, axis)


def values_alone_sorted(x: Array, values: Array, indices: Array, axis: int) -> Selected:
    """Mutant: Values alone are sorted."""
    return values, np.sort(indices, axis)


CHANGES: NamedMutants[Change] = {
    "places_in_the_tensor": ("Indices were places in the whole tensor", places_in_the_tensor),
    "places_in_the_output": ("Indices were places in the output", places_in_the_output),
    "places_from_1": ("Indices counted from 1", places_from_1),
    "never_sorted": ("the elements came in the order of the input", never_sorted),
    "sorted_the_wrong_way": ("the order was the other way round", sorted_the_wrong_way),
    "values_alone_sorted": (
        "Values alone were sorted, and Indices in the order of the input",
        values_alone_sorted,
    ),
}
TOP_K.mutant_table(
    {
        name: (text, Selection(select=partial(changed, change)))
        for name, (text, change) in CHANGES.items()
    },
    build=top_k,
)


def k_cut_to_the_length(K: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Mutant: a k beyond the length of the axis is cut down to that."""
    return np.minimum(K, length)


def negative_k_as_1(K: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Mutant: a k below 0 is 1."""
    return np.where(K < 0, 1, K)


def first_of_k(K: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Mutant: the first number of K is taken, whatever its shape."""
    return K.reshape(-1)[:1]


TOP_K.mutant_table(
    {
        "k_cut_to_the_length": (
            "a k beyond the length of the axis was cut down to that",
            Selection(read=k_cut_to_the_length),
        ),
        "negative_k_accepted": ("a k below 0 was taken for 1", Selection(read=negative_k_as_1)),
        "first_of_k": (
            "the first number of K was taken, whatever its shape",
            Selection(read=first_of_k),
        ),
    },
    build=top_k,
    of_validity=True,
)
