"""Axis arithmetic shared by the operators: ranges, negative axes, coercion to two dimensions."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from functools import partial
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers import primitive
from opcheck.numbers.faulty import bare

#: A tensor seen as (outer, length, inner): its rows run along the axis in the middle.
Rows: TypeAlias = tuple[int, int, int]


@primitive
def from_either_end(axis: int, rank: int) -> int:
    """`axis` counted from the front: "Accepted range is [-r, r-1] where r = rank(input)"."""
    if not -rank <= axis < rank:
        raise InvalidNode(f"axis {axis} is outside {_range(-rank, rank)}")
    return axis % rank


def distinct(
    axes: Sequence[int], rank: int, counted: Callable[[int, int], int] = from_either_end
) -> tuple[int, ...]:
    """Axes counted from the front; NotSupported where one is named twice: no text decides that."""
    found = tuple(counted(axis, rank) for axis in axes)
    if len({*found}) < len(found):
        raise NotSupported("nothing is said of axes that are named twice")
    return found


@primitive
def from_the_front(axis: int, rank: int) -> int:
    """`axis` where the text documents no negative values: in [0, r-1]."""
    if not 0 <= axis < rank:
        raise InvalidNode(f"axis {axis} is outside {_range(0, rank)}")
    return axis


def listed(name: str, numbers: Any) -> list[int]:
    """Whole numbers of an attribute, or of a tensor; raises InvalidNode where it is no list."""
    if np.ndim(numbers) != 1:
        raise InvalidNode(f"{name} of shape {list(np.shape(numbers))} is no list")
    return [int(one) for one in numbers]


def scalar(name: str, x: Any) -> Any:
    """The single number of a tensor of rank 0, as Python has it."""
    if x.ndim:
        kind = NotSupported if x.size == 1 else InvalidNode
        raise kind(f"{name} of shape {list(x.shape)}; allowed: a scalar")
    return bare(x).item()


#: The most axes of NumPy's arrays, and elements of an output: no memory is to be tried for more.
_MOST_AXES = 64
_largest = ContextVar("_largest", default=1 << 28)


def outputs_of_at_most(elements: int) -> AbstractContextManager[None]:
    """Let `check_size` refuse larger outputs meanwhile."""
    return xp.setting(_largest, elements)


def check_size(shape: Sequence[int]) -> None:
    """Raise MemoryError for an output that is too large, NotSupported for too many axes."""
    if len(shape) > _MOST_AXES:
        raise NotSupported(f"NumPy has no arrays of {len(shape)} axes")
    # NumPy counts an empty axis as one element where it addresses them.
    addressed = 8 * prod(size or 1 for size in shape) <= np.iinfo(np.intp).max
    if not addressed or prod(shape) > _largest.get():
        raise MemoryError(f"no array can hold an output of shape {tuple(shape)}")


@primitive
def elements_at(indices: Any, length: int, *, back: bool) -> Any:
    """Indices along an axis of this length, counted from the front.

    Those below 0 count from the `back` if the text says so. InvalidNode where one is out of range.
    """
    low = -length if back else 0
    outside = (indices < low) | (indices >= length)
    if outside.any():
        named = f"[{low}, {length - 1}]" if length else "an axis of length 0"
        raise InvalidNode(f"index {indices[outside][0]} is outside {named}")
    return np.where(indices < 0, indices + length, indices)


@primitive
def matrix_of(shape: Sequence[int], axis: int) -> tuple[int, int]:
    """The matrix [a_0 * … * a_{k-1}, a_k * … * a_{n-1}] that versions 1 and 11 work on."""
    return prod(shape[:axis]), prod(shape[axis:])


@primitive
def broadcast(*arrays: Any) -> tuple[Any, ...]:
    """The arrays in the shape to which all of them broadcast, as NumPy's do.

    Raises InvalidNode where the lengths of an axis differ and are not 1.
    """
    shape = common_shape(*arrays)
    return tuple(xp.broadcast_to(x, shape) for x in arrays)


def common_shape(*arrays: Any) -> tuple[int, ...]:
    """The shape to which all of the arrays broadcast; raises InvalidNode where there is none."""
    try:
        return np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        shapes = ", ".join(str(list(x.shape)) for x in arrays)
        raise InvalidNode(f"the shapes {shapes} do not broadcast") from None


def stretches(name: str, x: Any, other: Any) -> None:
    """Raise InvalidNode unless `x` broadcasts to the shape of `other`, which stays as it is."""
    with suppress(ValueError):
        if np.broadcast_shapes(x.shape, other.shape) == tuple(other.shape):
            return
    shape, wanted = list(x.shape), list(other.shape)
    raise InvalidNode(f"{name} of shape {shape} does not broadcast to {wanted}")


def _range(low: int, end: int) -> str:
    return f"[{low}, {end - 1}]" if low < end else f"the empty range of a rank-{end} tensor"


def by_rows(function: Callable[[Any, int], Any]) -> dict[int, Callable[..., Any]]:
    """The formulas of versions 1, 11 and 13 of an operator of rows, from `function(x, axis)`.

    Versions 1 and 11 coerce their input to a matrix, whose lines are the rows; in version 13 they
    run along one axis. Version 1 documents no negative axis.
    """

    def formula(since: int, input: Any, *, axis: int) -> Any:
        counted = (from_the_front if since == 1 else from_either_end)(axis, input.ndim)
        matrix = matrix_of(input.shape, counted) if since < 13 else None
        if not input.size:
            return input
        if matrix is None:
            return function(input, counted)
        return xp.reshape(function(xp.reshape(input, matrix), 1), input.shape)

    return {since: partial(formula, since) for since in (1, 11, 13)}


def rows_apart(
    since: int, shape: Sequence[int], attrs: Mapping[str, Any], size: int
) -> Iterator[tuple[Any, Mapping[str, Any], Any]]:
    """Parts of whole rows of `by_rows`; see `operators.Parts`."""
    axis = attrs["axis"] % len(shape)
    axes = range(axis) if since < 13 else set(range(len(shape))) - {axis}
    for at in parts_along(axes, shape, size):
        yield at, {}, at


#: Elements of a part that lie side by side at the least: memory is read in order.
_RUN = 1 << 8


def parts_along(
    axes: Collection[int], shape: Sequence[int], size: int, run: int = _RUN
) -> Iterator[Any]:
    """Index parts of an array of this shape, cut along `axes` into at most `size` elements.

    `run` of them lie side by side at the least, even if that is more.
    """
    if prod(shape) <= size:
        return iter([tuple(slice(0, length) for length in shape)] if prod(shape) else [])
    lengths = [1 if axis in axes else length for axis, length in enumerate(shape)]
    for axis in sorted(axes, reverse=True):
        most = max(1, size // prod(lengths), run // prod(lengths[axis + 1 :]))
        lengths[axis] = min(shape[axis], most)
    return product(*map(slices, shape, lengths))


def slices(count: int, step: int) -> list[slice]:
    """The numbers below `count`, `step` at a time."""
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
