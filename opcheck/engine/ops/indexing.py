"""Elements that indices, conditions or their own values select, and boxes that no better one does.

Of boxes overlaps are known better than float32 can tell them. Where its roundings may decide
whether a box is selected, and where equal scores do, the answer is open.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, limits
from opcheck.engine.axes import check_size, elements_at, from_either_end, from_the_front
from opcheck.engine.operators import (
    Formula,
    check_one_of,
    check_shape,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import MAX_ANSWERS, Ruling
from opcheck.engine.rulings import NAN_IN_ORDER, NEGATIVE_AXIS, extremes_beside_nan, has_nan
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import bare, seen

#: The values and the indices of a selection along an axis.
Selected: TypeAlias = tuple[Array, Array]

#: Each row of ArgMax and ArgMin is an element of the output.
NAN_IN_ORDER_OF_A_ROW = replace(NAN_IN_ORDER, by_element=True)
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
#: -1 is the default.
NEGATIVE_AXIS_BUT_THE_LAST = Ruling(
    NEGATIVE_AXIS.id,
    "The text of this version mentions no negative axis but -1.",
    ("from_the_back", "refused"),
)
NEGATIVE_INDEX = Ruling(
    "negative-index",
    "The text of this version mentions no negative index.",
    ("refused", "from_the_back"),
)

NAMES = """ArgMax ArgMin Compress Gather GatherElements GatherND NonMaxSuppression NonZero OneHot
Scatter ScatterElements ScatterND TensorScatter TopK Unique"""
OPS = {name: operator(name, exact=True) for name in NAMES.split()}
BOXES = OPS["NonMaxSuppression"]
BOXES.any_order = lambda attrs: "rows"


def _grid(data, indices, axis):
    """The places in `data` that `indices` along an axis name, as an index of an array."""
    if indices.ndim != data.ndim or not data.ndim:
        raise InvalidNode(f"indices of rank {indices.ndim} into data of rank {data.ndim}")
    if (np.delete(indices.shape, axis) > np.delete(data.shape, axis)).any():
        raise InvalidNode(f"indices {list(indices.shape)} do not fit {list(data.shape)}")
    grid = list(np.indices(indices.shape, sparse=True))
    grid[axis] = elements_at(indices, data.shape[axis], back=True)
    return tuple(grid)


OPS["GatherElements"].formula(11, 13)(
    lambda data, indices, *, axis: data[_grid(data, indices, from_either_end(axis, data.ndim))]
)


def _slices(data, indices, batch_dims):
    """The slices of `data` that the last axis of `indices` names, as an index of an array."""
    b, rank = batch_dims, data.ndim
    if not rank or not indices.ndim or not 0 <= b < min(rank, indices.ndim):
        raise InvalidNode(f"batch_dims {b}, data of rank {rank}, indices of rank {indices.ndim}")
    if data.shape[:b] != indices.shape[:b]:
        raise InvalidNode(f"shapes {list(data.shape)} and {list(indices.shape)} differ in batches")
    depth = indices.shape[-1]
    reject(not 1 <= depth <= rank - b, f"index tuples of {depth}; allowed: 1 to {rank - b}")
    named = [elements_at(indices[..., n], data.shape[b + n], back=True) for n in range(depth)]
    return (*np.indices(indices.shape[:-1], sparse=True)[:b], *named)


OPS["GatherND"].formula(11)(lambda data, indices: data[_slices(data, indices, 0)])
OPS["GatherND"].formula(12, 13)(
    lambda data, indices, *, batch_dims: data[_slices(data, indices, batch_dims)]
)
_ascending = sorted  # which is an attribute of Unique
_REDUCE = {"add": xp.add, "mul": xp.multiply, "max": xp.maximum, "min": xp.minimum}


def _scattered(data, index, updates, reduction="none", allowed=()):
    """`data` with `updates` at `index`, or what `reduction` makes of both."""
    check_one_of("reduction", reduction, "none", *allowed)
    places = np.arange(data.size).reshape(data.shape)[index].reshape(-1)
    order = np.argsort(places, kind="stable")
    # Which of the updates of an element each one is.
    turns = np.empty_like(places)
    turns[order] = np.arange(places.size) - np.searchsorted(places[order], places[order])
    if turns.any() and reduction == "none":
        raise_unspecified("the order of updates")
    if reduction != "none" and data.dtype.kind in "Obc":
        raise_unspecified(f"{reduction} of {data.dtype}")
    if reduction in ("max", "min"):
        _check_no_nan(data)
        _check_no_nan(updates)
    elif reduction != "none" and (turns.any() or data.dtype.kind in "iu"):
        _check_exact(data, places, updates, reduction)
    first = flat = xp.reshape(data, (-1,))
    updates, reduced = xp.reshape(updates, (-1,)), lambda now, _, new: _REDUCE[reduction](now, new)
    for turn in range(turns.max(initial=-1) + 1):
        (chosen,) = np.nonzero(turns == turn)
        at, values = places[chosen], xp.take(updates, chosen, axis=0)
        if reduction != "none":
            both = (xp.take(x, at, axis=0) for x in (flat, first))  # of which mutants take the last
            values = xp.called(f"reduced_by_{reduction}", reduced, *both, values)
        source = np.arange(data.size)
        source[at] = data.size + np.arange(len(at))
        flat = xp.take(xp.concat([flat, values], axis=0), source, axis=0)
    if reduction in ("add", "mul") and (known := DTYPES[data.dtype.name]).kind == "float":
        least = 2.0 ** (known.min_exponent + known.precision - 1)
        if ((bare(flat) != 0) & (np.abs(bare(flat)) < least)).any():
            raise NotSupported("subnormal numbers may be flushed")
    return xp.reshape(flat, data.shape)


def _check_exact(data, places, updates, reduction):
    """No order of updates may make another number, and integers stay in their range."""
    known = DTYPES[data.dtype.name]
    size, more = (np.abs(bare(x).astype(np.longdouble)).reshape(-1) for x in (data, updates))
    whole = (size == np.floor(size)).all() and (more == np.floor(more)).all()
    if reduction == "mul":
        size, more = np.maximum(size, 1), np.maximum(more, 1)
    with np.errstate(over="ignore"):
        (np.add if reduction == "add" else np.multiply).at(size, places, more)
    most = 2.0**known.precision if known.precision else limits(known)[1]
    if not whole or (size > most).any():
        raise_unspecified("the order of updates, or of integers out of range")


def _check_no_nan(x):
    if (seen(x) != seen(x)).any():
        raise_unspecified("NaN")


def _by_elements(allowed, data, indices, updates, *, axis, reduction="none"):
    check_shape("updates", updates, indices.shape)
    index = _grid(data, indices, from_either_end(axis, data.ndim))
    return _scattered(data, index, updates, reduction, allowed)


@OPS["Scatter"].formula(9)
def scatter_9(data, indices, updates, *, axis):
    """Version 11 is deprecated, and no model may have it."""
    if (indices < 0).any():
        raise_unspecified("negative indices")
    return _by_elements((), data, indices, updates, axis=axis)


def _by_slices(allowed, data, indices, updates, *, reduction="none"):
    if indices.ndim and not indices.shape[-1]:
        raise_unspecified("index tuples of length 0")
    index = _slices(data, indices, 0)
    check_shape("updates", updates, (*indices.shape[:-1], *data.shape[indices.shape[-1] :]))
    return _scattered(data, index, updates, reduction, allowed)


for _name, _form in (("ScatterElements", _by_elements), ("ScatterND", _by_slices)):
    # With the reductions that each version has.
    for _versions, _names in {(11, 13): (), (16,): ("add", "mul"), (18,): tuple(_REDUCE)}.items():
        OPS[_name].formula(*_versions)(partial(_form, _names))


@OPS["TensorScatter"].formula(24)
def tensor_scatter(past_cache, update, write_indices=None, *, axis, mode):
    rank = past_cache.ndim
    axis = from_either_end(axis, rank)
    if not axis or mode not in ("linear", "circular"):
        raise InvalidNode(f"axis {axis} and mode {mode!r}; allowed: not 0; linear, circular")
    length, most = update.shape[axis] if update.ndim == rank else -1, past_cache.shape[axis]
    shape = (*past_cache.shape[:axis], length, *past_cache.shape[axis + 1 :])
    if update.shape != shape or length > most:
        raise InvalidNode(f"update {list(update.shape)} does not fit {list(past_cache.shape)}")
    batches = past_cache.shape[:1]
    check_shape("write_indices", write_indices, batches)
    first = np.zeros(batches, np.int64) if write_indices is None else write_indices
    if mode == "linear" and (first > most - length).any():
        raise InvalidNode(f"write_indices {first.tolist()}: beyond {most} elements")
    if mode == "linear" and (first < 0).any():
        raise_unspecified("negative write_indices")
    first = first % max(most, 1)
    grid = list(np.indices(update.shape, sparse=True))
    grid[axis] = (first.reshape(-1, *[1] * (rank - 1)) + grid[axis]) % max(most, 1)
    return _scattered(past_cache, tuple(grid), update)


@OPS["OneHot"].formula(9)
def one_hot_9(indices, depth, values, *, axis):
    made = one_hot(indices, depth, values, axis=axis)
    if axis < -1 or (bare(indices) < 0).any():
        raise_unspecified("negative indices, and of negative axes but -1")
    return made


def _whole(x):
    """Numbers of any type in int64; unsigned ones that are too large are out of every range."""
    numbers = bare(x)
    if numbers.dtype == np.uint64:
        numbers = np.minimum(numbers, np.uint64(np.iinfo(np.int64).max))
    elif numbers.dtype.kind not in "iub":
        numbers = numbers.astype(np.float64)
        if not (np.abs(numbers) < 2.0**63).all():
            raise_unspecified("casts of numbers that int64 does not hold")
    return numbers.astype(np.int64)


@OPS["OneHot"].formula(11, 28)
def one_hot(indices, depth, values, *, axis):
    if depth.shape not in ((), (1,)) or values.shape != (2,):
        raise InvalidNode(f"depth {list(depth.shape)}, values {list(values.shape)}; allowed: 1, 2")
    places, length = _whole(indices), _whole(depth).item()
    reject(length < 0, f"depth {length}; allowed: 0 or more")
    # Classes are counted, though there be no indices.
    check_size((max(1, indices.size), length))
    axis = from_either_end(axis, indices.ndim + 1)
    inside = (places >= -length) & (places < length)
    place = np.where(inside, np.where(places < 0, places + length, places), -1)
    classes = np.arange(length).reshape(-1, *[1] * (indices.ndim - axis))
    return xp.where(np.expand_dims(place, axis) == classes, values[1:], values[:1])


@OPS["NonZero"].formula(9, 13)
def non_zero(X):
    """Of a scalar the output has no rows. Of texts the empty one is zero, as in numpy.nonzero."""
    zeros = np.full(X.shape, "", object) if X.dtype == object else xp.zeros_like(X)
    return np.argwhere(xp.not_equal(X, zeros)).T.astype(np.int64)


def compress(counted, input, condition, *, axis):
    if not input.ndim or condition.ndim != 1:
        raise InvalidNode(f"ranks {input.ndim} and {condition.ndim}; allowed: 1 or more, and 1")
    x = xp.reshape(input, (-1,)) if axis is None else input
    place = 0 if axis is None else counted(axis, x.ndim)
    if condition[x.shape[place] :].any():
        raise NotSupported(f"{len(condition)} conditions for {x.shape[place]} elements")
    return xp.take(x, np.flatnonzero(condition), axis=place)


OPS["Compress"].formula(9)(partial(compress, from_the_front))
OPS["Compress"].formula(11, 28)(partial(compress, from_either_end))


@OPS["Unique"].formula(11, 28)
def unique(X, *, axis, sorted):
    check_one_of("sorted", sorted, 0, 1)
    x, place = (xp.reshape(X, (-1,)), 0) if axis is None else (X, from_either_end(axis, X.ndim))
    _check_no_nan(x)
    rows = np.moveaxis(bare(x), place, 0)
    items = [tuple(row) for row in rows.reshape(len(rows), prod(rows.shape[1:])).tolist()]
    counts, firsts = Counter(items), dict(zip(items[::-1], range(len(items))[::-1], strict=True))
    if X.dtype.kind == "c" and sorted and len(counts) > 1:
        raise_unspecified("the order of complex numbers")
    order = _ascending(counts) if sorted else [*counts]
    numbers = {item: number for number, item in enumerate(order)}
    found = ([firsts[i] for i in order], [numbers[i] for i in items], [counts[i] for i in order])
    places, inverse, count = (np.array(one, np.int64) for one in found)
    return xp.take(x, places, axis=place), places, inverse, count


# ── Gather ──────────────────────────────────────────────────────────────────────────────────────

GATHER = OPS["Gather"]
#: From data, indices counted from the front, and an axis, what is gathered.
GatherFunction: TypeAlias = Callable[[Array, Array, int], Array]


@formula_builder(each={1: False, 11: True, 13: True})
def by_index(
    function: GatherFunction, may_be_negative: bool, data: Array, indices: Array, *, axis: int
) -> Array:
    """Return `function` of data, the indices counted from the front, and the axis.

    data: of rank r ≥ 1; indices: of rank q, so that the output has rank q + r − 1. "All index
    values are expected to be within bounds [-s, s-1] along axis of size s." Version 1 mentions no
    negative index: NEGATIVE_INDEX. Raises InvalidNode for an axis or an index out of range.
    """
    place = from_either_end(axis, data.ndim)
    length = data.shape[place]
    if not may_be_negative and ((indices < 0) & (indices >= -length)).any():
        may_be_negative = NEGATIVE_INDEX.reading() == "from_the_back"
    return function(data, elements_at(indices, length, back=may_be_negative), place)


GATHER.formula(build=by_index)(xp.take)


# Mutants of Gather.


def indices_first(data: Array, indices: Array, axis: int) -> Array:
    """Mutant: the axes of the indices come first, wherever the axis is."""
    return np.take(np.moveaxis(data, axis, 0), indices, axis=0)


def indices_last(data: Array, indices: Array, axis: int) -> Array:
    """Mutant: the axes of the indices come last, wherever the axis is."""
    return np.take(np.moveaxis(data, axis, -1), indices, axis=-1)


def indices_as_vector(data: Array, indices: Array, axis: int) -> Array:
    """Mutant: the indices are a vector."""
    return xp.take(data, indices.reshape(-1), axis)


def index_keeps_its_axis(data: Array, indices: Array, axis: int) -> Array:
    """Mutant: a single index keeps an axis of one element."""
    return xp.take(data, indices if indices.ndim else indices.reshape(1), axis)


def indices_column_major(data: Array, indices: Array, axis: int) -> Array:
    """Mutant: the indices are read in column-major order."""
    return xp.take(data, indices.reshape(indices.shape[::-1]).T, axis)


def as_gather_elements(data: Array, indices: Array, axis: int) -> Array:
    """Mutant: GatherElements is computed if the shapes are the same but for the axis."""
    has_same_rank = data.ndim == indices.ndim
    if has_same_rank and np.delete(data.shape, axis).tolist() == (
        np.delete(indices.shape, axis).tolist()
    ):
        return np.take_along_axis(data, indices, axis)
    return xp.take(data, indices, axis)


GATHER.mutant_table(
    {
        "indices_first": (
            "the axes of the indices came first, wherever the axis was",
            indices_first,
        ),
        "indices_last": (
            "the axes of the indices came last, wherever the axis was",
            indices_last,
        ),
        "indices_as_vector": ("the indices were read as a vector", indices_as_vector),
        "index_keeps_its_axis": (
            "a single index kept an axis of one element",
            index_keeps_its_axis,
        ),
        "indices_column_major": (
            "the indices were read in column-major order",
            indices_column_major,
        ),
        "as_gather_elements": (
            "GatherElements was computed where the shapes allowed it",
            as_gather_elements,
        ),
    },
    build=by_index,
)


@GATHER.mutant("an index out of range gave zeros", of_validity=True)
def zeros_out_of_range(data: Array, indices: Array, *, axis: int) -> Array:
    """Mutant: an index out of range gives zeros."""
    place = from_either_end(axis, data.ndim)
    return np.zeros((*data.shape[:place], *indices.shape, *data.shape[place + 1 :]), data.dtype)


# ── ArgMax and ArgMin ─────────────────────────────────────────────────────────────────────────

ARG_MAX = OPS["ArgMax"]
ARG_MIN = OPS["ArgMin"]


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
        """Return a mask of the elements that are the extreme of their row along `axis`."""
        if has_nan(x):
            reading = NAN_IN_ORDER_OF_A_ROW.reading()
            return extremes_beside_nan(x, axis, reading, largest=self.largest)
        values = seen(x)
        choose = np.max if self.largest else np.min
        return np.asarray(values == choose(values, axis=axis, keepdims=True), bool)


@formula_builder(each={1: 1, 11: 11, 12: 12, 13: 12})
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

    data: of any shape; the output has size 1 along `axis`, or "the reduced dimension pruned".
    "If select_last_index is True (default False), the index of the last occurrence" is selected,
    from version 12 on; see `number_among_equals` for earlier ones.

    Raises InvalidNode for an axis out of range, and for an empty input in version 11.
    """
    reject(since == 11 and not data.size, "the input is empty")
    counted = from_the_front if since == 1 else from_either_end
    axis = counted(axis, data.ndim)
    length = data.shape[axis]
    if not length:
        raise_unspecified("an empty axis")
    if not {keepdims, select_last_index} <= {0, 1}:
        raise_unspecified("flags other than 0 and 1")
    has_order = since >= 12 and not has_nan(data)
    if not has_order:
        is_extreme = extreme.mask(data, axis)
        last = length - 1 if select_last_index else 0
        number = last if since >= 12 else number_among_equals(is_extreme, axis)
        if number or has_nan(data):
            place = nth_place(is_extreme, number, axis)
            return place if keepdims else place.squeeze(axis)
    x = xp.flip(data, axis=axis) if select_last_index else data
    place = extreme.place(x, axis=axis, keepdims=bool(keepdims))
    return length - 1 - place if select_last_index else place


def number_among_equals(is_extreme: NDArray[np.bool_], axis: int) -> int:
    """Return which of a row's equal extremes is meant, counted from 0: ONE_OF_EQUAL_ELEMENTS."""
    most = int(is_extreme.sum(axis=axis).max(initial=0))
    if most <= 1:
        return 0
    if most > len(ORDINALS):
        leave_open(f"nothing is said of which of {most} equal elements is meant")
        return 0
    ruling = replace(ONE_OF_EQUAL_ELEMENTS, readings=ORDINALS[:most])
    return ORDINALS.index(ruling.reading())


def nth_place(mask: NDArray[np.bool_], number: int, axis: int) -> NDArray[np.int64]:
    """Return the place of the True of this number along `axis`, of the last if there are fewer.

    Numbers count from 0. The places have size 1 along `axis`.
    """
    numbers = np.cumsum(mask, axis=axis) - 1
    wanted = np.minimum(number, mask.sum(axis=axis, keepdims=True) - 1)
    is_wanted = mask & (numbers == wanted)
    return np.asarray(is_wanted.argmax(axis=axis, keepdims=True), np.int64)


ARG_MAX.formula(build=place_of)(Extreme(largest=True, place=xp.argmax))
ARG_MIN.formula(build=place_of)(Extreme(largest=False, place=xp.argmin))


# ── TopK ──────────────────────────────────────────────────────────────────────────────────────

TOP_K = OPS["TopK"]


def order_is_free(attributes: Mapping[str, Any]) -> int | None:
    """Return the axis along which results may come in any order; None if they are sorted."""
    return None if attributes.get("sorted", 1) == 1 else attributes["axis"]


TOP_K.any_order = order_is_free


def in_order(x: Array, k: int, axis: int, largest: bool) -> Selected:
    """Return the k largest elements along `axis`, or the smallest, the first of them first.

    "Given two equivalent values, this operator uses the indices along the axis as a tiebreaker.
    That is, the element with the lower index will appear first." NaN: NAN_IN_ORDER.
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
    by itself.
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
        """Return the selection; InvalidNode if the axis has fewer than k elements."""
        length = x.shape[axis]
        reject(not 0 <= k <= length, f"k {k}; the axis has {length} elements")
        return self.select(x, k, axis, largest)


def axis_of_first_versions(axis: int, rank: int) -> int:
    """Return the axis counted from the front: NEGATIVE_AXIS_BUT_THE_LAST."""
    is_open = -rank <= axis < -1
    if is_open and NEGATIVE_AXIS_BUT_THE_LAST.reading() == "refused":
        raise InvalidNode(f"axis {axis}: this version mentions no negative axis but -1")
    return from_either_end(axis, rank)


@formula_builder(1)
def of_attribute(selection: Selection, X: Array, *, axis: int, k: int) -> Selected:
    """Return Values and Indices of version 1: the k largest elements, K_OF_0 of none."""
    axis = axis_of_first_versions(axis, X.ndim)
    k = int(selection.read(np.array([k]), X.shape[axis])[0])
    if k == 0 and K_OF_0.reading() == "refused":
        raise InvalidNode("k 0: no element is retrieved")
    return selection.of(X, k, axis, True)


@formula_builder(each={10: 10, 11: 11, 24: 11})
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
    """Return Values and Indices, whose order is free unless `sorted` is 1.

    K: "A 1-D tensor containing a single positive value". Raises InvalidNode for another one.
    """
    counted = axis_of_first_versions if since == 10 else from_either_end
    axis = counted(axis, X.ndim)
    K = selection.read(K, X.shape[axis])
    reject(K.shape != (1,) or K[0] < 1, f"K {K.tolist()}; allowed: one positive int in a list")
    values, indices = selection.of(X, int(K[0]), axis, largest == 1)
    if sorted == 1:
        return values, indices
    order = np.argsort(indices, axis, kind="stable")
    return xp.take_along_axis(values, order, axis), xp.take_along_axis(indices, order, axis)


def top_k(selection: Selection) -> Mapping[int, Formula]:
    """Return the formulas of all versions."""
    return {**of_attribute(selection), **of_input(selection)}


TOP_K.formula(build=top_k)(Selection())


# Mutants of TopK.

#: Makes wrong results of the tensor, the right Values and Indices, and the axis.
Change: TypeAlias = Callable[[Array, Array, Array, int], Selected]


def changed(change: Change, x: Array, k: int, axis: int, largest: bool) -> Selected:
    """Return what `change` makes of the right results."""
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


CHANGES: Mapping[str, tuple[str, Change]] = {
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


# ── NonMaxSuppression ───────────────────────────────────────────────────────────────────────────

# NonMaxSuppression: the boxes of a class that no better one overlaps too much.
_U = 2.0**-24


def single(name, x, default):
    """The number of a scalar, which ONNX's node tests give as a list of one."""
    if x is not None and x.shape not in ((), (1,)):
        raise InvalidNode(f"{name} of shape {list(x.shape)}; allowed: a scalar")
    return default if x is None else bare(x).reshape(-1)[0]


def corners(boxes, center):
    """The low and high ends of boxes along two axes, and how far they may be off."""
    if not center:
        ends = boxes.reshape(-1, 2, 2)
        return ends.min(1), ends.max(1), 0.0
    middle, half = boxes[:, :2], boxes[:, 2:] / 2
    if (half < 0).any():
        leave_open("nothing is said of boxes of a negative size")
    both = middle - half, middle + half
    rounds = any((x.astype(np.float32) != x).any() for x in both)
    return *both, 2 * _U * np.abs(both).max(initial=0) * rounds


def overlaps(boxes, center, threshold, whole=lambda areas, both: areas + areas[:, None] - both):
    """The boxes that overlap too much, where float32 cannot tell, and which have an area.

    That is by the share of what both have in the `whole`, the area of their union.
    """
    low, high, off = corners(boxes.astype(np.float64), center)
    sides = high - low
    shared = np.maximum(np.minimum(high, high[:, None]) - np.maximum(low, low[:, None]), 0)
    areas, both = sides.prod(-1), shared.prod(-1)
    total = areas + areas[:, None]
    union = whole(areas, both)
    ratio = both / np.where(union > 0, union, 1)
    steps = sides, areas, both, total, union
    if not off and all((x.astype(np.float32) == x).all() for x in steps):
        # Only the division is left.
        room = np.where(ratio.astype(np.float32) == ratio, 0, 2 * _U * ratio)
    else:
        lost = off * shared.sum(-1) + off**2 + 4 * _U * both
        each = off * sides.sum(-1) + off**2 + 4 * _U * areas
        most = lost + each + each[:, None] + 4 * _U * total
        room = 2 * ((lost + ratio * most) / np.where(union > 0, union, 1) + _U * ratio)
    return ratio > threshold, (np.abs(ratio - threshold) <= room) & (room > 0), union > 0


def greedy(boxes, scores, most, threshold, least, center, measure=overlaps):
    """The selected boxes of one class, the best one first."""
    if not (np.isfinite(boxes).all() and np.isfinite(scores).all()):
        raise_unspecified("what is no number")
    over, unsure, has_area = measure(boxes, center, threshold)
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] >= (-np.inf if least is None else least)]
    chosen: list[int] = []
    for at in order:
        if len(chosen) == most:
            break
        if (over & ~unsure)[at, chosen].any():
            continue
        if unsure[at, chosen].any():
            leave_open("float32 cannot tell whether boxes overlap too much")
        if not has_area[at, chosen].all():
            leave_open("nothing is said of overlaps of empty boxes")
        if not over[at, chosen].any():
            chosen.append(at)
    _undecided(scores, order, chosen, most, over | unsure)
    return chosen


def _undecided(scores, order, chosen, most, may):
    """Boxes of equal scores that no better box suppresses must be selected together."""
    for score in {scores[at] for at in order}:
        better = [at for at in chosen if scores[at] > score]
        tied = [at for at in order if scores[at] == score and not may[at, better].any()]
        if (
            len(tied) > 1
            and len(better) < most
            and (len(better) + len(tied) > most or any(may[pair] for pair in combinations(tied, 2)))
        ):
            leave_open("it is not said which of equal scores comes first")


@formula_builder(10, 11, options=["change"])
def of_classes(
    select,
    boxes,
    scores,
    max_output_boxes_per_class=None,
    iou_threshold=None,
    score_threshold=None,
    *,
    center_point_box,
    change=lambda rows, most: rows,
):
    """Both versions, from the boxes selected of a class, and a change of all rows."""
    boxes, scores = bare(boxes), bare(scores)
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape != (*scores.shape[::2], 4):
        raise InvalidNode(f"boxes {list(boxes.shape)}, scores {list(scores.shape)}")
    most = int(single("max_output_boxes_per_class", max_output_boxes_per_class, 0))
    threshold = float(single("iou_threshold", iou_threshold, 0.0))
    least = single("score_threshold", score_threshold, None)
    reject(not 0 <= threshold <= 1, f"iou_threshold {threshold}; allowed: [0, 1]")
    if most < 0 or center_point_box not in (0, 1):
        raise_unspecified(f"{most} boxes, format {center_point_box}")
    each = ((n, kind, row) for n, some in enumerate(scores) for kind, row in enumerate(some))
    how = most, threshold, least, center_point_box
    found = [(n, kind, box) for n, kind, row in each for box in select(boxes[n], row, *how)]
    return change(np.array(found, np.int64).reshape(-1, 3), most)


BOXES.formula(build=of_classes)(greedy)


def by_all_better(boxes, scores, most, threshold, least, center):
    """Also by those that are suppressed themselves."""
    order = np.argsort(-scores, kind="stable")
    over = overlaps(boxes, center, threshold)[0]
    kept = scores >= (-np.inf if least is None else least)
    return [at for n, at in enumerate(order) if kept[at] and not over[at, order[:n]].any()][:most]


BOXES.mutant_table(
    {
        "or_equal": (
            "an overlap of just the threshold was too much",
            lambda boxes, center, threshold: overlaps(boxes, center, np.nextafter(threshold, -1)),
        ),
        "one_more": (
            "boxes held their far corners, as pixels do",
            lambda boxes, center, threshold: overlaps(
                np.add(np.hstack(corners(boxes.astype(np.float64), center)[:2]), [0, 0, 1, 1]),
                0,
                threshold,
            ),
        ),
        "of_the_smaller": (
            "overlaps were measured by the smaller box",
            partial(overlaps, whole=lambda areas, both: np.minimum(areas, areas[:, None])),
        ),
        # Boxes whose corners come the other way round have no area.
        "one_corner_first": (
            "corners were not put in order",
            lambda boxes, center, threshold: overlaps(
                boxes
                if center
                else np.hstack([boxes[:, :2], np.maximum(boxes[:, :2], boxes[:, 2:])]),
                center,
                threshold,
            ),
        ),
    },
    build=lambda measure: of_classes(partial(greedy, measure=measure)),
)
BOXES.mutant_table(
    {
        "without_least": (
            "boxes with just the least score were removed",
            lambda boxes, scores, most, threshold, least, center: greedy(
                boxes, scores, most, threshold, least and np.nextafter(least, np.inf), center
            ),
        ),
        "by_all_better": ("boxes that were suppressed suppressed others", by_all_better),
    },
    build=of_classes,
)
BOXES.mutant_table(
    {
        "class_before_batch": (
            "rows had the class before the batch",
            lambda rows, most: rows[:, [1, 0, 2]],
        ),
        "box_before_class": (
            "rows had the box before the class",
            lambda rows, _: rows[:, [0, 2, 1]],
        ),
        "most_of_all": (
            "the most of boxes was for all classes together",
            lambda rows, most: rows[:most],
        ),
        "most_of_a_batch": (
            "the most of boxes was for all classes of a batch together",
            lambda rows, most: np.concatenate(
                [rows[:0], *(rows[rows[:, 0] == n][:most] for n in np.unique(rows[:, 0]))]
            ),
        ),
    },
    build=lambda change: of_classes(greedy, change=change),
)
