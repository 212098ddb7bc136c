"""Elements that indices, conditions or their own values select."""

from collections import Counter
from functools import partial
from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, limits
from opcheck.engine.axes import check_size, elements_at, from_either_end, from_the_front
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
ArgMax ArgMin Compress GatherElements GatherND NonZero OneHot Scatter ScatterElements ScatterND
TensorScatter Unique
"""


def _grid(data, indices, axis):
    """The places in `data` that `indices` along an axis name, as an index of an array."""
    if indices.ndim != data.ndim or not data.ndim:
        raise InvalidNode(f"indices of rank {indices.ndim} into data of rank {data.ndim}")
    beside = [(n, m) for n, m in zip(indices.shape, data.shape, strict=True)]
    if any(n > m for place, (n, m) in enumerate(beside) if place != axis):
        raise InvalidNode(f"indices {list(indices.shape)} do not fit {list(data.shape)}")
    grid = list(np.indices(indices.shape, sparse=True))
    grid[axis] = elements_at(indices, data.shape[axis], back=True)
    return tuple(grid)


ELEMENTS = operator("GatherElements", exact=True)


ELEMENTS.formula(11, 13)(
    lambda data, indices, *, axis: data[_grid(data, indices, from_either_end(axis, data.ndim))]
)
ND = operator("GatherND", exact=True)


def _slices(data, indices, batch_dims):
    """The slices of `data` that the last axis of `indices` names, as an index of an array."""
    b, rank = batch_dims, data.ndim
    if not rank or not indices.ndim or not 0 <= b < min(rank, indices.ndim):
        raise InvalidNode(f"batch_dims {b}, data of rank {rank}, indices of rank {indices.ndim}")
    if data.shape[:b] != indices.shape[:b]:
        raise InvalidNode(f"shapes {list(data.shape)} and {list(indices.shape)} differ in batches")
    depth = indices.shape[-1]
    if not 1 <= depth <= rank - b:
        raise InvalidNode(f"index tuples of {depth}; allowed: 1 to {rank - b}")
    outer = indices.shape[:-1]
    batches = np.indices(outer, sparse=True)[:b]
    named = [elements_at(indices[..., n], data.shape[b + n], back=True) for n in range(depth)]
    return (*batches, *named)


ND.formula(11)(lambda data, indices: data[_slices(data, indices, 0)])
ND.formula(12, 13)(lambda data, indices, *, batch_dims: data[_slices(data, indices, batch_dims)])
_REDUCE = {"add": xp.add, "mul": xp.multiply, "max": xp.maximum, "min": xp.minimum}
#: The versions of ScatterElements and ScatterND, with the reductions that each has.
_ALLOWED = {(11, 13): (), (16,): ("add", "mul"), (18,): tuple(_REDUCE)}


def _scattered(data, index, updates, reduction="none", allowed=()):
    """`data` with `updates` at `index`, or what `reduction` makes of both."""
    if reduction not in ("none", *allowed):
        raise InvalidNode(f"reduction {reduction!r}; allowed: {', '.join(('none', *allowed))}")
    places = np.arange(data.size).reshape(data.shape)[index].reshape(-1)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], places[order])
    # Which of the updates of an element each one is.
    turns = np.empty_like(places)
    turns[order] = np.arange(places.size) - starts
    if turns.any() and reduction == "none":
        raise NotSupported("nothing is said of the order of updates")
    if reduction != "none" and data.dtype.kind in "Obc":
        raise NotSupported(f"nothing is said of {reduction} of {data.dtype}")
    if reduction in ("max", "min"):
        _check_no_nan(data)
        _check_no_nan(updates)
    elif reduction != "none" and (turns.any() or data.dtype.kind in "iu"):
        _check_exact(data, places, updates, reduction)
    flat, updates = xp.reshape(data, (-1,)), xp.reshape(updates, (-1,))
    for turn in range(turns.max(initial=-1) + 1):
        (chosen,) = np.nonzero(turns == turn)
        at, values = places[chosen], xp.take(updates, chosen, axis=0)
        if reduction != "none":
            values = _REDUCE[reduction](xp.take(flat, at, axis=0), values)
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
        raise NotSupported("nothing is said of the order of updates, or of integers out of range")


def _check_no_nan(x):
    if (bare(x) != bare(x)).any():
        raise NotSupported("nothing is said of NaN")


def _by_elements(allowed, data, indices, updates, *, axis, reduction="none"):
    if updates.shape != indices.shape:
        raise InvalidNode(f"updates {list(updates.shape)} for indices {list(indices.shape)}")
    index = _grid(data, indices, from_either_end(axis, data.ndim))
    return _scattered(data, index, updates, reduction, allowed)


SCATTER = operator("Scatter", exact=True)


@SCATTER.formula(9)
def scatter_9(data, indices, updates, *, axis):
    """Version 11 is deprecated, and no model may have it."""
    if (indices < 0).any():
        raise NotSupported("nothing is said of negative indices")
    return _by_elements((), data, indices, updates, axis=axis)


def _by_slices(allowed, data, indices, updates, *, reduction="none"):
    if indices.ndim and not indices.shape[-1]:
        raise NotSupported("nothing is said of index tuples of length 0")
    index = _slices(data, indices, 0)
    shape = (*indices.shape[:-1], *data.shape[indices.shape[-1] :])
    if updates.shape != shape:
        raise InvalidNode(f"updates of shape {list(updates.shape)}; allowed: {list(shape)}")
    return _scattered(data, index, updates, reduction, allowed)


for _name, _form in (("ScatterElements", _by_elements), ("ScatterND", _by_slices)):
    _op = operator(_name, exact=True)
    for _versions, _names in _ALLOWED.items():
        _op.formula(*_versions)(partial(_form, _names))
TENSOR_SCATTER = operator("TensorScatter", exact=True)


@TENSOR_SCATTER.formula(24)
def tensor_scatter(past_cache, update, write_indices=None, *, axis, mode):
    rank = past_cache.ndim
    axis = from_either_end(axis, rank)
    if not axis or mode not in ("linear", "circular"):
        raise InvalidNode(f"axis {axis} and mode {mode!r}; allowed: not 0; linear, circular")
    length, most = update.shape[axis] if update.ndim == rank else -1, past_cache.shape[axis]
    shape = (*past_cache.shape[:axis], length, *past_cache.shape[axis + 1 :])
    if update.shape != shape or length > most:
        raise InvalidNode(f"update {list(update.shape)} does not fit {list(past_cache.shape)}")
    batches = past_cache.shape[0]
    first = np.zeros(batches, np.int64) if write_indices is None else write_indices
    if first.shape != (batches,):
        raise InvalidNode(f"write_indices of shape {list(first.shape)}; allowed: [{batches}]")
    if mode == "linear" and (first > most - length).any():
        raise InvalidNode(f"write_indices {first.tolist()}: beyond {most} elements")
    if mode == "linear" and (first < 0).any():
        raise NotSupported("nothing is said of negative write_indices")
    first = first % max(most, 1)
    grid = list(np.indices(update.shape, sparse=True))
    start = first.reshape(-1, *[1] * (rank - 1))
    grid[axis] = (start + grid[axis]) % max(most, 1)
    return _scattered(past_cache, tuple(grid), update)


ONE_HOT = operator("OneHot", exact=True)


@ONE_HOT.formula(9)
def one_hot_9(indices, depth, values, *, axis):
    made = one_hot(indices, depth, values, axis=axis)
    if axis < -1 or (bare(indices) < 0).any():
        raise NotSupported("nothing is said of negative indices, and of negative axes but -1")
    return made


def _whole(x):
    """Numbers of any type in int64; unsigned ones that are too large are out of every range."""
    numbers = bare(x)
    if numbers.dtype == np.uint64:
        numbers = np.minimum(numbers, np.uint64(np.iinfo(np.int64).max))
    elif numbers.dtype.kind not in "iub":
        numbers = numbers.astype(np.float64)
        if not (np.abs(numbers) < 2.0**63).all():
            raise NotSupported("nothing is said of casts of numbers that int64 does not hold")
    return numbers.astype(np.int64)


@ONE_HOT.formula(11, 28)
def one_hot(indices, depth, values, *, axis):
    if depth.shape not in ((), (1,)) or values.shape != (2,):
        raise InvalidNode(f"depth {list(depth.shape)}, values {list(values.shape)}; allowed: 1, 2")
    places, length = _whole(indices), _whole(depth).item()
    if length < 0:
        raise InvalidNode(f"depth {length}; allowed: 0 or more")
    # Classes are counted, though there be no indices.
    check_size((max(1, indices.size), length))
    axis = from_either_end(axis, indices.ndim + 1)
    inside = (places >= -length) & (places < length)
    place = np.where(inside, np.where(places < 0, places + length, places), -1)
    classes = np.arange(length).reshape(-1, *[1] * (indices.ndim - axis))
    return xp.where(np.expand_dims(place, axis) == classes, values[1:], values[:1])


NON_ZERO = operator("NonZero", exact=True)


@NON_ZERO.formula(9, 13)
def non_zero(X):
    """Of a scalar the output has no rows. Of texts the empty one is zero, as in numpy.nonzero."""
    zeros = np.full(X.shape, "", object) if X.dtype == object else xp.zeros_like(X)
    return np.argwhere(xp.not_equal(X, zeros)).T.astype(np.int64)


COMPRESS = operator("Compress", exact=True)


def compress(counted, input, condition, *, axis):
    if not input.ndim or condition.ndim != 1:
        raise InvalidNode(f"ranks {input.ndim} and {condition.ndim}; allowed: 1 or more, and 1")
    x = xp.reshape(input, (-1,)) if axis is None else input
    place = 0 if axis is None else counted(axis, x.ndim)
    if condition[x.shape[place] :].any():
        raise NotSupported(f"{len(condition)} conditions for {x.shape[place]} elements")
    return xp.take(x, np.flatnonzero(condition), axis=place)


COMPRESS.formula(9)(partial(compress, from_the_front))
COMPRESS.formula(11, 28)(partial(compress, from_either_end))


UNIQUE = operator("Unique", exact=True)
_ascending = sorted


@UNIQUE.formula(11, 28)
def unique(X, *, axis, sorted):
    if sorted not in (0, 1):
        raise InvalidNode(f"sorted {sorted}; allowed: 0, 1")
    x, place = (xp.reshape(X, (-1,)), 0) if axis is None else (X, from_either_end(axis, X.ndim))
    _check_no_nan(x)
    rows = np.moveaxis(bare(x), place, 0)
    items = [tuple(row) for row in rows.reshape(len(rows), prod(rows.shape[1:])).tolist()]
    counts, firsts = Counter(items), dict(zip(items[::-1], range(len(items))[::-1], strict=True))
    if X.dtype.kind == "c" and sorted and len(counts) > 1:
        raise NotSupported("nothing is said of the order of complex numbers")
    order = _ascending(counts) if sorted else [*counts]
    numbers = {item: number for number, item in enumerate(order)}
    found = ([firsts[i] for i in order], [numbers[i] for i in items], [counts[i] for i in order])
    places, inverse, count = (np.array(one, np.int64) for one in found)
    return xp.take(x, places, axis=place), places, inverse, count


def _arg(choose):
    def along(data, axis, keepdims, last=0):
        if not data.shape[axis]:
            raise NotSupported("nothing is said of an empty axis")
        if not {keepdims, last} <= {0, 1}:
            raise NotSupported("nothing is said of flags other than 0 and 1")
        _check_no_nan(data)
        x = xp.flip(data, axis=axis) if last else data
        place = choose(x, axis=axis, keepdims=bool(keepdims))
        return data.shape[axis] - 1 - place if last else place

    def before_12(counted, data, *, axis, keepdims):
        if counted is from_either_end and not data.size:
            raise InvalidNode("the input is empty")
        axis = counted(axis, data.ndim)
        found, x = along(data, axis, keepdims), bare(data)
        end = (np.max if choose is xp.argmax else np.min)(x, axis=axis, keepdims=True)
        if ((x == end).sum(axis=axis) > 1).any():
            raise NotSupported("nothing is said of which of equal elements is meant")
        return found

    def formula(data, *, axis, keepdims, select_last_index):
        return along(data, from_either_end(axis, data.ndim), keepdims, select_last_index)

    first, second = (partial(before_12, counted) for counted in (from_the_front, from_either_end))
    return {1: first, 11: second, 12: formula, 13: formula}


for _name, _choose in (("ArgMax", xp.argmax), ("ArgMin", xp.argmin)):
    _op = operator(_name, exact=True)
    _op.formula(by=_arg)(_choose)
