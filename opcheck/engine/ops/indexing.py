"""Elements that indices, conditions or their own values select, all versions.

- Gather, GatherElements and GatherND: by indices along an axis, by an index for each element of the
  output, and by tuples of indices;
- Compress and NonZero: by a condition, and where the elements are not zero;
- OneHot: a number where an index says so, and another one elsewhere;
- Unique: one of equal elements each.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import (
    check_axes,
    check_size,
    elements_at,
    from_either_end,
    from_the_front,
    from_the_front_or_last,
)
from opcheck.engine.operators import (
    check_one_of,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NEGATIVE_INDEX
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import bare, seen

NAMES = """Compress Gather GatherElements GatherND NonZero OneHot Unique"""

#: An index of an array, with an array of places for each of the axes that it decides.
Index: TypeAlias = tuple[NDArray[Any], ...]

NEGATIVE_CLASS = Ruling(
    NEGATIVE_INDEX.id,
    "The values must be non-negative, and those outside the range are off: the text has both.",
    ("refused", "off", "from_the_back"),
)
EQUAL_NAN = Ruling(
    "equal-nan",
    "The text does not state whether NaN equals itself.",
    ("refused", "once", "each"),
)


# ── Gather ──────────────────────────────────────────────────────────────────────────────────────

GATHER = operator("Gather", exact=True)
#: From data, indices counted from the front, and an axis, what is gathered.
GatherFunction: TypeAlias = Callable[[Array, Array, int], Array]


@formulas_of_versions(each={1: False, 11: True, 13: True})
def by_index(
    function: GatherFunction, may_be_negative: bool, data: Array, indices: Array, *, axis: int
) -> Array:
    """Return `function` of data, the indices counted from the front, and the axis.

    data: of rank r ≥ 1; indices: of rank q, so that the output has rank q + r − 1. "All index
    values are expected to be within bounds [-s, s-1] along axis of size s." Version 1 mentions no
    negative index, which is refused or counts from the back: NEGATIVE_INDEX. may_be_negative: True
    since version 11.

    Raises InvalidNode for an axis or an index out of range, and so for data of rank 0. Raises
    NotSupported for an output of more axes than NumPy has.
    """
    place = from_either_end(axis, data.ndim)
    # NumPy's own function ends the process there.
    check_axes(data.ndim + indices.ndim - 1)
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
    """Mutant: GatherElements is computed where data and indices differ along `axis` alone."""
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


def from_memory(data: Array, index_of_0: Array, indices: Array, axis: int) -> Array:
    """Return what a kernel reads that adds indices to addresses, though they are out of range.

    data: row-major; index_of_0: places in memory of the elements at index 0 along `axis`, in the
    shape of the output, to which `indices` broadcast. The addresses wrap around at either end of
    the tensor. Of data without elements nothing is read: the output must be empty too.
    """
    step = prod(data.shape[axis + 1 :])
    flat = index_of_0 + indices.astype(np.int64) * step
    return data.reshape(-1)[flat % data.size] if data.size else data.reshape(flat.shape)


@GATHER.mutant("a negative index read what lies in front in memory", is_asked=False)
def negative_index_into_memory(data: Array, indices: Array, *, axis: int) -> Array:
    """Mutant: an index below 0 is added to an address as it is, and not counted from the back.

    Raises InvalidNode for an axis out of range, and so for data of rank 0.
    """
    place = from_either_end(axis, data.ndim)
    places = np.arange(data.size).reshape(data.shape)
    places_of_0 = np.take(places, np.zeros_like(indices, np.int64), axis=place)
    trailing = [1] * (data.ndim - place - 1)
    return from_memory(data, places_of_0, indices.reshape(*indices.shape, *trailing), place)


@GATHER.mutant("an index out of range gave zeros", of_validity=True)
def zeros_out_of_range(data: Array, indices: Array, *, axis: int) -> Array:
    """Mutant: a node with an index out of range gives zeros; it is asked of such nodes alone.

    Raises InvalidNode for an axis out of range, and so for data of rank 0.
    """
    place = from_either_end(axis, data.ndim)
    return np.zeros((*data.shape[:place], *indices.shape, *data.shape[place + 1 :]), data.dtype)


# ── GatherElements and GatherND ─────────────────────────────────────────────────────────────────

GATHER_ELEMENTS = operator("GatherElements", exact=True)
GATHER_ND = operator("GatherND", exact=True)


def index_of_elements(data: Array, indices: Array, axis: int) -> Index:
    """Return the index of an element of `data` for each of `indices`, which are along `axis`.

    axis: counted from the front. indices: "with the same rank r as the input"; on other axes no
    longer than `data`, as an element has the place of its index there. Negative ones count from the
    back. Raises InvalidNode for others, for rank 0, and for an index out of range.
    """
    if indices.ndim != data.ndim or not data.ndim:
        raise InvalidNode(f"indices of rank {indices.ndim} into data of rank {data.ndim}")
    if (np.delete(indices.shape, axis) > np.delete(data.shape, axis)).any():
        raise InvalidNode(f"indices {list(indices.shape)} do not fit {list(data.shape)}")
    index = list(np.indices(indices.shape, sparse=True))
    index[axis] = elements_at(indices, data.shape[axis], back=True)
    return tuple(index)


def index_of_slices(data: Array, indices: Array, batch_dims: int) -> Index:
    """Return the index of a slice of `data` for each tuple that the last axis of `indices` holds.

    The first `batch_dims` axes of both are batches, and "must be equal". A tuple has "a value
    between 1 (inclusive) and rank `r-b` (inclusive)" of indices, of which negative ones count from
    the back.

    Raises InvalidNode for data or indices of rank 0, a batch_dims below 0 or not below both ranks,
    batches that differ, tuples of another length, and an index out of range.
    """
    rank = data.ndim
    has_room = 0 <= batch_dims < min(rank, indices.ndim)
    if not rank or not indices.ndim or not has_room:
        raise InvalidNode(
            f"batch_dims {batch_dims}, data of rank {rank}, indices of rank {indices.ndim}"
        )
    if data.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise InvalidNode(f"shapes {list(data.shape)} and {list(indices.shape)} differ in batches")
    depth = indices.shape[-1]
    longest = rank - batch_dims
    reject(not 1 <= depth <= longest, f"index tuples of {depth}; allowed: 1 to {longest}")
    named = [
        elements_at(indices[..., n], data.shape[batch_dims + n], back=True) for n in range(depth)
    ]
    batches = np.indices(indices.shape[:-1], sparse=True)[:batch_dims]
    return (*batches, *named)


@GATHER_ELEMENTS.formula(11, 13)
def gather_elements(data: Array, indices: Array, *, axis: int) -> Array:
    """Return an element of `data` for each index: out[i][j] = input[index[i][j]][j] if axis = 0.

    The result has the shape of `indices`, of which negative ones count from the back. Raises
    InvalidNode for indices of another rank than `data`, or longer than it on another axis, for rank
    0, and for an axis or an index out of range.
    """
    return data[index_of_elements(data, indices, from_either_end(axis, data.ndim))]


@GATHER_ELEMENTS.mutant(
    "a negative index read what lies in front in memory",
    name="negative_index_into_memory",
    is_asked=False,
)
def negative_element_into_memory(data: Array, indices: Array, *, axis: int) -> Array:
    """Mutant: an index below 0 is added to an address as it is, and not counted from the back.

    Raises InvalidNode for indices of another rank than `data`, or longer than it on another axis,
    for rank 0, for an axis out of range, and for any index of an axis without elements.
    """
    place = from_either_end(axis, data.ndim)
    places = np.arange(data.size).reshape(data.shape)
    places_of_0 = gather_elements(places, np.zeros_like(indices), axis=place)
    return from_memory(data, places_of_0, indices, place)


@GATHER_ND.formula(11)
def gather_nd_11(data: Array, indices: Array) -> Array:
    """Return a slice of `data` for each tuple of indices, along the last axis of `indices`.

    The result has the shape of `indices` but for that axis, then that of a slice. Negative indices
    count from the back. Raises InvalidNode for data or indices of rank 0, for tuples of no index or
    of more than data has axes, and for an index out of range.
    """
    return data[index_of_slices(data, indices, 0)]


@GATHER_ND.formula(12, 13)
def gather_nd(data: Array, indices: Array, *, batch_dims: int) -> Array:
    """Return a slice of `data` for each tuple of indices, batch by batch.

    The first `batch_dims` axes of both are batches; tuples are along the last axis of `indices`.
    The result has the shape of `indices` but for that axis, then that of a slice. Negative indices
    count from the back. Raises InvalidNode for rank 0, a batch_dims below 0 or not below both
    ranks, batches that differ, tuples of no index or of more than there are axes left, and an index
    out of range.
    """
    return data[index_of_slices(data, indices, batch_dims)]


# ── Compress and NonZero ────────────────────────────────────────────────────────────────────────

COMPRESS = operator("Compress", exact=True)
NON_ZERO = operator("NonZero", exact=True)


def compress(
    counted: Callable[[int, int], int], input: Array, condition: Array, *, axis: int | None
) -> Array:
    """Return the slices of the input along `axis` whose condition is true.

    input: of rank 1 or more, "flattened before elements being selected" without an axis. condition:
    a list, whose "length can be less than the input length along the axis". `counted` counts the
    axis from the front; in version 9 a negative one is refused, or counts from the back:
    NEGATIVE_AXIS.

    Raises InvalidNode for other ranks and an axis out of range or refused; NotSupported for a
    condition that is true beyond the axis.
    """
    if not input.ndim or condition.ndim != 1:
        raise InvalidNode(f"ranks {input.ndim} and {condition.ndim}; allowed: 1 or more, and 1")
    x = xp.reshape(input, (-1,)) if axis is None else input
    place = 0 if axis is None else counted(axis, x.ndim)
    length = x.shape[place]
    if condition[length:].any():
        raise NotSupported(f"{len(condition)} conditions for {length} elements")
    return xp.take(x, np.flatnonzero(condition), axis=place)


COMPRESS.formula(9)(partial(compress, from_the_front))
COMPRESS.formula(11, 28)(partial(compress, from_either_end))


@NON_ZERO.formula(9, 13)
def non_zero(X: Array) -> Array:
    """Return the indices of the elements that are not zero, a row for each axis, in int64.

    "For scalar input, NonZero produces output shape (0, N)". They are in row-major order. Of texts
    the empty one is zero, as in numpy.nonzero. NaN is not equal to zero.
    """
    zeros = np.full(X.shape, "", object) if X.dtype == object else xp.zeros_like(X)
    return np.argwhere(xp.not_equal(X, zeros)).T.astype(np.int64)


# ── OneHot ──────────────────────────────────────────────────────────────────────────────────────

ONE_HOT = operator("OneHot", exact=True)
#: The class of an index out of range.
NO_CLASS = -1


def in_int64(x: Array) -> NDArray[np.int64]:
    """Return numbers of any type in int64: "the values will be casted to int64 before use".

    uint64 beyond int64 becomes the largest of int64, which is outside of every range as well.
    Fractions are cut off. Raises NotSupported for floats that int64 does not hold, NaN among them.
    """
    numbers = bare(x)
    if numbers.dtype == np.uint64:
        numbers = np.minimum(numbers, np.uint64(np.iinfo(np.int64).max))
    elif numbers.dtype.kind not in "iub":
        numbers = numbers.astype(np.float64)
        if not (np.abs(numbers) < 2.0**63).all():
            raise_unspecified("casts of numbers that int64 does not hold")
    return np.asarray(numbers.astype(np.int64))


def check_one_hot_shapes(depth: Array, values: Array) -> None:
    """Raise InvalidNode unless `depth` is one number and `values` is [off_value, on_value].

    depth: of rank 0, or of shape [1].
    """
    if depth.shape not in ((), (1,)) or values.shape != (2,):
        raise InvalidNode(f"depth {list(depth.shape)}, values {list(values.shape)}; allowed: 1, 2")


def number_of_classes(indices: Array, depth: Array) -> int:
    """Return the depth, a tensor of one element, as a number.

    Raises InvalidNode if it is negative, NotSupported for a float that int64 does not hold, and
    MemoryError for an output of more than 2^28 elements.
    """
    count = int(in_int64(depth).item())
    reject(count < 0, f"depth {count}; allowed: 0 or more")
    # Without indices the classes alone are compared, all in one array.
    check_size((max(1, indices.size), count))
    return count


def switched_on(classes: NDArray[np.int64], count: int, values: Array, axis: int) -> Array:
    """Return `on_value` at the class of each index along a new `axis`, and `off_value` elsewhere.

    classes: of the shape of the indices, from 0 to below `count`, or NO_CLASS; values: [off_value,
    on_value]; axis: counted from the front.
    """
    behind = classes.ndim - axis
    all_classes = np.arange(count).reshape(-1, *[1] * behind)
    return xp.where(np.expand_dims(classes, axis) == all_classes, values[1:], values[:1])


def classes_from_either_end(places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the class of each index in "the range [-depth, depth-1]", and NO_CLASS of others.

    places: indices in int64; count: the depth. Negative ones count from the back.
    """
    is_inside = (places >= -count) & (places < count)
    return np.where(is_inside, np.where(places < 0, places + count, places), NO_CLASS)


@ONE_HOT.formula(9)
def one_hot_9(indices: Array, depth: Array, values: Array, *, axis: int) -> Array:
    """Return output[input[i, j, k], i, j, k] = on_value when axis = 0, and off_value elsewhere.

    indices: of any type and shape, cast to int64. One of depth or more is off; a negative one
    raises InvalidNode, is off, or counts from the back, off below -depth: NEGATIVE_CLASS. depth:
    one number, 0 or more; values: [off_value, on_value]. axis: where the classes are in the output;
    another negative one than -1 counts from the back or is refused: NEGATIVE_AXIS_BUT_THE_LAST.

    Raises InvalidNode for others; NotSupported for floats that int64 does not hold; MemoryError for
    more than 2^28 elements.
    """
    check_one_hot_shapes(depth, values)
    places = in_int64(indices)
    count = number_of_classes(indices, depth)
    place = from_the_front_or_last(axis, indices.ndim + 1)
    classes = classes_from_either_end(places, count)
    if (bare(indices) < 0).any():
        reading = NEGATIVE_CLASS.reading()
        if reading == "refused":
            raise InvalidNode("a negative index")
        if reading == "off":
            classes = np.where(places < 0, NO_CLASS, classes)
    return switched_on(classes, count, values, place)


@ONE_HOT.formula(11, 28)
def one_hot(indices: Array, depth: Array, values: Array, *, axis: int) -> Array:
    """Return output[input[i, j, k], i, j, k] = on_value when axis = 0, and off_value elsewhere.

    indices: of any type and shape, cast to int64; negative ones count from the back, and those
    outside of [-depth, depth-1] are off. depth: one number, 0 or more; values: [off_value,
    on_value]. axis: where the classes are in the output, within [-r-1, r].

    Raises InvalidNode for others; NotSupported for floats that int64 does not hold; MemoryError for
    more than 2^28 elements.
    """
    check_one_hot_shapes(depth, values)
    places = in_int64(indices)
    count = number_of_classes(indices, depth)
    place = from_either_end(axis, indices.ndim + 1)
    return switched_on(classes_from_either_end(places, count), count, values, place)


@ONE_HOT.mutant("a negative index gave off values alone", 11, 28, is_asked=False)
def negative_index_ignored(indices: Array, depth: Array, values: Array, *, axis: int) -> Array:
    """Mutant: no index is counted from the back; a negative one is off.

    depth: one number. Raises InvalidNode for a negative one, values of another shape than [2], and
    an axis out of range; NotSupported for floats that int64 does not hold; MemoryError for more
    than 2^28 elements.
    """
    count = number_of_classes(indices, depth)
    # The index `count` is out of range, and so off.
    places = np.where(indices < 0, count, in_int64(indices))
    return one_hot(places, depth, values, axis=axis)


# ── Unique ──────────────────────────────────────────────────────────────────────────────────────

UNIQUE = operator("Unique", exact=True)
#: The elements of a slice, which compare with those of another one from the first on.
Item: TypeAlias = tuple[Any, ...]


@UNIQUE.formula(11, 28)
def unique(X: Array, *, axis: int | None, sorted: int) -> tuple[Array, Array, Array, Array]:
    """Return Y, indices, inverse_indices and counts of the unique slices along `axis`.

    Without an axis "the input tensor is flattened". Slices are in ascending order if `sorted` is 1,
    else in the order in which they occur first. Of equal ones Y has the first; -0 equals 0. The
    last three are lists of int64. If not `sorted`, NaN equals itself, or nothing, or raises
    InvalidNode: EQUAL_NAN. Raises InvalidNode for an axis out of range, as any is for rank 0, and a
    `sorted` other than 0 and 1. Raises NotSupported, if `sorted`, for NaN, and for complex numbers
    that differ, which have no order.
    """
    check_one_of("sorted", sorted, 0, 1)
    x = xp.reshape(X, (-1,)) if axis is None else X
    place = 0 if axis is None else from_either_end(axis, X.ndim)
    items = items_along(x, place, is_sorted=sorted == 1)
    counts = Counter(items)
    if X.dtype.kind == "c" and sorted and len(counts) > 1:
        raise_unspecified("the order of complex numbers")
    # A Counter has its keys in the order in which they occur first.
    order = in_ascending_order(counts) if sorted else [*counts]
    numbers = {item: number for number, item in enumerate(order)}
    firsts = {item: n for n, item in reversed([*enumerate(items)])}
    indices = np.array([firsts[item] for item in order], np.int64)
    inverse_indices = np.array([numbers[item] for item in items], np.int64)
    count_of_each = np.array([counts[item] for item in order], np.int64)
    return xp.take(x, indices, axis=place), indices, inverse_indices, count_of_each


def in_ascending_order(items: Iterable[Item]) -> list[Item]:
    """Return the items in ascending order: Python's sorted(), which is an attribute in `unique`."""
    return sorted(items)


def items_along(x: Array, axis: int, *, is_sorted: bool) -> list[Item]:
    """Return the slices of `x` along `axis` as tuples of numbers or texts; equal ones are equal.

    NaN equals itself, as None in its place, or nothing, or raises InvalidNode: EQUAL_NAN. If
    `is_sorted`, raises NotSupported for NaN, which has no place in the order.
    """
    values = seen(x)
    is_nan = values != values
    equals_itself = False
    if is_nan.any():
        if is_sorted:
            raise_unspecified("NaN")
        reading = EQUAL_NAN.reading()
        reject(reading == "refused", "NaN")
        equals_itself = reading == "once"
    rows = np.moveaxis(bare(x), axis, 0)
    rows = rows.reshape(len(rows), prod(rows.shape[1:]))
    items = [tuple(row) for row in rows.tolist()]
    if not equals_itself:
        # Each NaN is an object of its own, which equals no other.
        return items
    return [tuple(None if number != number else number for number in item) for item in items]
