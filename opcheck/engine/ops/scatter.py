"""Scatter, ScatterElements, ScatterND and TensorScatter: a copy of a tensor with some updated.

"The output of the operation is produced by creating a copy of the input `data`, and then updating
its value to values specified by `updates` at specific index positions specified by `indices`",
which are those of `indexing`. With a reduction f, output[i] = f(output[i], updates[…]).

No order of updates is defined. So an element is judged where it is one number whatever the order:
it is updated once, or the reduction is a maximum or a minimum, or no order rounds.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, limits
from opcheck.engine.axes import from_either_end
from opcheck.engine.operators import check_one_of, check_shape, operator, raise_unspecified
from opcheck.engine.ops.indexing import Index, index_of_elements, index_of_slices
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NEGATIVE_INDEX, maximum, minimum
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.numbers import Array, Tensor
from opcheck.numbers.faulty import bare

NAMES = """Scatter ScatterElements ScatterND TensorScatter"""

DUPLICATE_INDICES = Ruling(
    "duplicate-indices",
    "Without a reduction, indices should not have duplicate entries. The text does not state which "
    "of two updates of one element counts.",
    ("last", "first", "refused"),
    by_element=True,
)

#: What becomes of an element and an update.
REDUCTIONS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": xp.add,
    "mul": xp.multiply,
    "max": maximum,
    "min": minimum,
}
#: The reductions of each version; "none" is always one.
REDUCTIONS_OF_11: Collection[str] = ()
REDUCTIONS_OF_16: Collection[str] = ("add", "mul")
REDUCTIONS_OF_18: Collection[str] = tuple(REDUCTIONS)


# ── updates ───────────────────────────────────────────────────────────────────────────────────


def scattered(
    data: Tensor,
    index: Index,
    updates: Tensor,
    reduction: str = "none",
    allowed: Collection[str] = (),
) -> Tensor:
    """Return `data` with `updates` at `index`, or with what `reduction` makes of both.

    index: for each update the element, as an index of an array, in range; updates: of the shape
    that `data[index]` has. Of NaN and a number, max and min give either: NAN_IN_MAXIMUM,
    NAN_IN_MINIMUM. `data` stays as it is.

    Raises InvalidNode unless the reduction is "none" or `allowed`. Of two updates of one element by
    none the last or the first counts, or they are refused: DUPLICATE_INDICES. An element may be
    anything that has three updates by none or more, or several by add or mul of which an order
    rounds, and an integer that some order takes out of range. Raises NotSupported for a
    reduction of booleans, texts or complex numbers, for a subnormal number in the output of add or
    mul, and, while judging, if all elements may be anything, and in graphs.
    """
    check_one_of("reduction", reduction, "none", *allowed)
    places = np.arange(data.size).reshape(data.shape)[index].reshape(-1)
    turns = turns_of(places)
    is_open = depend_on_order(data, places, updates, reduction)
    if reduction == "none":
        turns = in_either_order(turns)
    flat = updated(data, places, turns, updates, reduction)
    if reduction in ("add", "mul"):
        check_no_subnormal(flat, data.dtype.name)
    y = xp.reshape(flat, data.shape)
    subject = "the order of updates, or of integers out of range"
    marked: Tensor = undefined_where(y, is_open.reshape(data.shape), subject)
    return marked


def turns_of(places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return which of the updates of its element each one is, counted from 0.

    `places` has the element of each update, in one axis; so has the result.
    """
    order = np.argsort(places, kind="stable")
    turns = np.empty_like(places)
    turns[order] = np.arange(places.size) - np.searchsorted(places[order], places[order])
    return turns


def in_either_order(turns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the turns of updates that replace elements.

    They are as given, or the other way round: DUPLICATE_INDICES. Raises InvalidNode if that ruling
    refuses several updates of one element.
    """
    if not turns.any():
        return turns
    reading = DUPLICATE_INDICES.reading()
    reject(reading == "refused", "duplicate indices")
    return turns if reading == "last" else turns.max() - turns


def updated(
    data: Tensor,
    places: NDArray[np.intp],
    turns: NDArray[np.intp],
    updates: Tensor,
    reduction: str,
) -> Tensor:
    """Return the elements of `data` in a row, after the updates of each turn in its order.

    places, turns: [n], one for each of `updates` in row-major order; no place is twice in a turn.
    Of NaN and a number, max and min give either: NAN_IN_MAXIMUM, NAN_IN_MINIMUM.
    """
    first = xp.reshape(data, (-1,))
    flat = first
    updates = xp.reshape(updates, (-1,))
    for turn in range(turns.max(initial=-1) + 1):
        (chosen,) = np.nonzero(turns == turn)
        at = places[chosen]
        values = xp.take(updates, chosen, axis=0)
        if reduction != "none":
            now = xp.take(flat, at, axis=0)
            # Mutants reduce the element as it was first.
            before = xp.take(first, at, axis=0)
            reduce = partial(reduced, reduction)
            values = xp.called(f"reduced_by_{reduction}", reduce, now, before, values)
        source = np.arange(data.size)
        source[at] = data.size + np.arange(len(at))
        flat = xp.take(xp.concat([flat, values], axis=0), source, axis=0)
    return flat


def reduced(reduction: str, now: Tensor, before: Tensor, update: Tensor) -> Tensor:
    """Return what `reduction` makes of elements as they are `now`, and an update of each.

    `before`, the elements as they were at first, is for mutants. Next to NaN, max and min follow
    NAN_IN_MAXIMUM and NAN_IN_MINIMUM: NaN or the number.
    """
    return REDUCTIONS[reduction](now, update)


def depend_on_order(
    data: Tensor, places: NDArray[np.intp], updates: Tensor, reduction: str
) -> NDArray[np.bool_]:
    """Return a mask of the elements of `data`, in a row, that the order of updates may decide.

    "In cases where `reduction` is set to "none", indices should not have duplicate entries": of two
    updates of an element the last or first counts, DUPLICATE_INDICES, of three or more any. Of add
    and mul they are the elements with several updates that some order may round, and integers that
    may leave their range in some order. places: the element of each update, in row-major order.

    Raises NotSupported for other reductions than "none" of booleans, texts and complex numbers.
    """
    count = np.bincount(places, minlength=data.size)
    if reduction == "none":
        return np.asarray(count > 2, np.bool_)
    if data.dtype.kind in "Obc":
        raise_unspecified(f"{reduction} of {data.dtype}")
    may_leave_range = data.dtype.kind in "iu"
    has_several = count > 1
    if reduction not in ("add", "mul") or not (may_leave_range or has_several.any()):
        return np.zeros(data.size, np.bool_)
    is_open = ~are_exact(data, places, updates, reduction)
    return is_open if may_leave_range else is_open & has_several


def are_exact(
    data: Tensor, places: NDArray[np.intp], updates: Tensor, reduction: str
) -> NDArray[np.bool_]:
    """Return a mask of the elements of which every order of updates gives one number, in a row.

    reduction: add or mul; places: the element of each update, in row-major order. An element and
    its updates are whole numbers then, and no sum or product of their magnitudes is above
    2^precision of a float type, or above the largest integer. NaN and infinity are not exact.
    """
    known = DTYPES[data.dtype.name]
    sizes = np.abs(bare(data).astype(np.longdouble)).reshape(-1)
    added = np.abs(bare(updates).astype(np.longdouble)).reshape(-1)
    is_whole = sizes == np.floor(sizes)
    np.logical_and.at(is_whole, places, added == np.floor(added))
    if reduction == "mul":
        sizes = np.maximum(sizes, 1)
        added = np.maximum(added, 1)
    accumulate = np.add if reduction == "add" else np.multiply
    with np.errstate(over="ignore"):
        accumulate.at(sizes, places, added)
    # Integers have no precision, and are exact within their range.
    largest = 2.0**known.precision if known.precision else limits(known)[1]
    return np.asarray(is_whole & (sizes <= largest), np.bool_)


def check_no_subnormal(x: Tensor, dtype: str) -> None:
    """Raise NotSupported if a float is subnormal, which may be flushed to 0.

    `dtype` is the name of its type. Types that are not floats pass.
    """
    known = DTYPES[dtype]
    if known.kind != "float":
        return
    values = bare(x)
    if ((values != 0) & (np.abs(values) < known.smallest_normal)).any():
        raise NotSupported("subnormal numbers may be flushed")


# ── Scatter and ScatterElements ─────────────────────────────────────────────────────────────────

SCATTER = operator("Scatter", exact=True)
SCATTER_ELEMENTS = operator("ScatterElements", exact=True)


def scatter_elements(
    allowed: Collection[str],
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    axis: int,
    reduction: str = "none",
) -> Tensor:
    """Return `data` with output[indices[i][j]][j] = updates[i][j] if axis = 0.

    allowed: the reductions of the version. indices: of the rank of `data`, which is 1 or more, and
    no longer on other axes; those below 0 count from the back. updates: of the "same rank and shape
    as indices". Of NaN and a number, max and min give either: NAN_IN_MAXIMUM, NAN_IN_MINIMUM.

    Raises InvalidNode for other shapes, an axis or index out of range, another reduction, and two
    updates of one element by none if DUPLICATE_INDICES refuses them (else the last or the first
    counts). An element that the order of updates decides may be anything. Raises NotSupported for a
    reduction of booleans, texts or complex numbers, and for a subnormal number in the output of add
    or mul; while judging, also if all elements may be anything, and in graphs.
    """
    check_shape("updates", updates, indices.shape)
    index = index_of_elements(data, indices, from_either_end(axis, data.ndim))
    return scattered(data, index, updates, reduction, allowed)


@SCATTER.formula(9)
def scatter_9(data: Tensor, indices: Tensor, updates: Tensor, *, axis: int) -> Tensor:
    """Return `data` with the elements at `indices` along `axis` replaced by `updates`.

    A negative index is refused, or counts from the back: NEGATIVE_INDEX. Version 11 is deprecated,
    and no model may have it.

    Raises InvalidNode for other shapes, an axis or index out of range, a negative index if that is
    refused, and two updates of one element if DUPLICATE_INDICES refuses them (else the last or the
    first counts). An element with three updates or more may be anything: raises NotSupported, while
    judging, if all elements have, and in graphs.
    """
    if (indices < 0).any() and NEGATIVE_INDEX.reading() == "refused":
        raise InvalidNode("a negative index")
    return scatter_elements(REDUCTIONS_OF_11, data, indices, updates, axis=axis)


SCATTER_ELEMENTS.formula(11, 13)(partial(scatter_elements, REDUCTIONS_OF_11))
SCATTER_ELEMENTS.formula(16)(partial(scatter_elements, REDUCTIONS_OF_16))
SCATTER_ELEMENTS.formula(18)(partial(scatter_elements, REDUCTIONS_OF_18))


# ── ScatterND ───────────────────────────────────────────────────────────────────────────────────

SCATTER_ND = operator("ScatterND", exact=True)


def scatter_nd(
    allowed: Collection[str],
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    reduction: str = "none",
) -> Tensor:
    """Return `data` with a slice of it replaced for each tuple of indices.

    allowed: the reductions of the version. indices: tuples along the last axis, of length k from 1
    to the rank of `data`; those below 0 count from the back. updates: its shape "must equal
    indices.shape[0:q-1] ++ data.shape[k:r]". Of NaN and a number, max and min give either:
    NAN_IN_MAXIMUM, NAN_IN_MINIMUM.

    Raises InvalidNode for other shapes, rank 0 among them, an index out of range, another
    reduction, and two updates of one element by none if DUPLICATE_INDICES refuses them (else the
    last or the first counts). An element that the order of updates decides may be anything.
    Raises NotSupported for tuples of length 0, for a reduction of booleans, texts or complex
    numbers, and for a subnormal number in the output of add or mul; while judging, also if all
    elements may be anything, and in graphs.
    """
    if indices.ndim and not indices.shape[-1]:
        raise_unspecified("index tuples of length 0")
    index = index_of_slices(data, indices, 0)
    depth = indices.shape[-1]
    check_shape("updates", updates, (*indices.shape[:-1], *data.shape[depth:]))
    return scattered(data, index, updates, reduction, allowed)


SCATTER_ND.formula(11, 13)(partial(scatter_nd, REDUCTIONS_OF_11))
SCATTER_ND.formula(16)(partial(scatter_nd, REDUCTIONS_OF_16))
SCATTER_ND.formula(18)(partial(scatter_nd, REDUCTIONS_OF_18))


# ── TensorScatter ───────────────────────────────────────────────────────────────────────────────

TENSOR_SCATTER = operator("TensorScatter", exact=True)


@TENSOR_SCATTER.formula(24)
def tensor_scatter(
    past_cache: Tensor, update: Tensor, write_indices: Tensor | None = None, *, axis: int, mode: str
) -> Tensor:
    """Return the cache with the update written from `write_indices` on, along `axis`.

    past_cache: [batch_size, …, max_sequence_length, …]; update: of that shape, but for a
    sequence_length of at most max_sequence_length; write_indices: [batch_size], "assumed to be all
    zeros if not provided". mode: linear, which "requires write_indices + sequence_length <=
    max_sequence_length", or circular, where the places are modulo max_sequence_length, those below
    0 too. axis: "It cannot be 0".

    Raises InvalidNode for other shapes and modes, for an update that would end beyond the cache in
    the linear mode, and for axis 0 or one out of range; NotSupported for a negative write index in
    the linear mode.
    """
    rank = past_cache.ndim
    place = from_either_end(axis, rank)
    if not place or mode not in ("linear", "circular"):
        raise InvalidNode(f"axis {place} and mode {mode!r}; allowed: not 0; linear, circular")
    most = past_cache.shape[place]
    length = update.shape[place] if update.ndim == rank else -1
    shape = (*past_cache.shape[:place], length, *past_cache.shape[place + 1 :])
    if update.shape != shape or length > most:
        raise InvalidNode(f"update {list(update.shape)} does not fit {list(past_cache.shape)}")
    batches = past_cache.shape[:1]
    check_shape("write_indices", write_indices, batches)
    first: Array = np.zeros(batches, np.int64) if write_indices is None else write_indices
    if mode == "linear":
        check_linear(first, most, length)
    modulus = max(most, 1)  # of an empty axis too, into which nothing is written
    index = list(np.indices(update.shape, sparse=True))
    starts = (first % modulus).reshape(-1, *[1] * (rank - 1))
    index[place] = (starts + index[place]) % modulus
    return scattered(past_cache, tuple(index), update)


def check_linear(first: Array, most: int, length: int) -> None:
    """Raise InvalidNode if an update goes beyond the cache, NotSupported if it begins before it.

    `first` has the start of each batch; `most` and `length` are those of the cache and the update.
    """
    if (first > most - length).any():
        raise InvalidNode(f"write_indices {first.tolist()}: beyond {most} elements")
    if (first < 0).any():
        raise_unspecified("negative write_indices")
