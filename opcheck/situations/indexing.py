"""Indices by sign and place, and indices that are shorter than the data along each axis."""

from collections.abc import Iterator

from opcheck.model import Array, Case
from opcheck.opset import Schema
from opcheck.situations.family import Family
from opcheck.situations.stated import integer_attribute
from opcheck.suite import materialize

_LEFT_OUT = (
    "Indices out of range, which are refused. More than three axes. Repeated indices of "
    "ScatterElements and ScatterND, whose order the text leaves open without a reduction."
)
_ALONG_AN_AXIS = frozenset({"Gather", "GatherElements", "ScatterElements"})
_OF_TUPLES = frozenset({"GatherND", "ScatterND"})
_SHORTER = frozenset({"GatherElements", "ScatterElements"})
_SCATTERED = frozenset({"ScatterElements", "ScatterND"})
_PLACES = ("first", "last", "negative", "first from the back", "last from the back", "repeated")
_MOST_AXES = 3


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator that reads or writes where indices say."""
    op = schema.op.name
    if schema.op.domain or op not in _ALONG_AN_AXIS | _OF_TUPLES:
        return
    yield from (place for place in _PLACES if place != "repeated" or op not in _SCATTERED)
    if op in _ALONG_AN_AXIS:
        yield from (f"axis {axis} of {rank}" for rank, axis in _axes())
    if op in _SHORTER:
        for rank, axis in _axes():
            yield from (f"axis {axis} of {rank}, shorter along {other}" for other in range(rank))


def found_in(case: Case) -> Iterator[str]:
    """Yield the situations that the indices of a case are in."""
    op = case.op.name
    if op not in _ALONG_AN_AXIS | _OF_TUPLES or len(case.inputs) < 2:
        return
    data, indices = (spec.shape for spec in case.inputs[:2])
    values = materialize(case.inputs[1])
    if values.size and 0 not in data:
        if op in _OF_TUPLES:
            # The first index of a tuple goes into the first axis behind those of the batch.
            batch_dims = integer_attribute(case, "batch_dims", 0)
            yield from _places(values[..., :1], data[batch_dims])
            return
        axis = integer_attribute(case, "axis", 0)
        yield from _places(values, data[axis])
        yield from _shapes(data, indices, axis % len(data), is_shorter=op in _SHORTER)


def _axes() -> Iterator[tuple[int, int]]:
    return ((rank, axis) for rank in range(1, _MOST_AXES + 1) for axis in range(rank))


def _places(values: Array, length: int) -> Iterator[str]:
    """Yield what indices into an axis of that length are."""
    numbers = values.reshape(-1).tolist()
    if 0 in numbers:
        yield "first"
    if length - 1 in numbers and length > 1:
        yield "last"
    if min(numbers) < 0:
        yield "negative"
    if -length in numbers:
        yield "first from the back"
    if -1 in numbers:
        yield "last from the back"
    if len({*numbers}) < len(numbers):
        yield "repeated"


def _shapes(
    data: tuple[int, ...], indices: tuple[int, ...], axis: int, *, is_shorter: bool
) -> Iterator[str]:
    if len(data) > _MOST_AXES:
        return
    place = f"axis {axis} of {len(data)}"
    yield place
    if is_shorter:
        pairs = enumerate(zip(indices, data, strict=True))
        shorter = [other for other, (index, length) in pairs if index < length]
        if len(shorter) == 1:
            yield f"{place}, shorter along {shorter[0]}"


FAMILY = Family(
    name="indexing",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
)
