"""Scales of QuantizeLinear and DequantizeLinear: one, one for each index of an axis, or blocks."""

from collections.abc import Iterator

from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations.family import Family
from opcheck.situations.stated import integer_attribute

_LEFT_OUT = (
    "More than three axes, and which types, zero points and saturation go with each axis: other "
    "cases ask these of some axes."
)
_OPERATORS = frozenset({"QuantizeLinear", "DequantizeLinear"})
_MOST_AXES = 3
_PER_INDEX = "a scale for each index of"
_BLOCKS = "blocks along"
_SHORTER_BLOCK = "a last block that is shorter along"
_ONE_BLOCK = "one block along"


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator that quantizes by axis and by block."""
    if schema.op.domain or schema.op.name not in _OPERATORS:
        return
    yield from (f"one scale of rank {rank}" for rank in range(_MOST_AXES + 1))
    for rank in range(1, _MOST_AXES + 1):
        for axis in range(rank):
            for kind in (_PER_INDEX, _BLOCKS, _SHORTER_BLOCK, _ONE_BLOCK):
                yield f"{kind} axis {axis} of {rank}"
            yield f"{_PER_INDEX} axis {axis} of {rank}, from the back"


def found_in(case: Case) -> Iterator[str]:
    """Yield the situation of a case's scales."""
    if case.op.name not in _OPERATORS or len(case.inputs) < 2:
        return
    data, scale = (spec.shape for spec in case.inputs[:2])
    axis = integer_attribute(case, "axis", 1)
    block = integer_attribute(case, "block_size", 0)
    rank = len(data)
    if rank > _MOST_AXES or 0 in data:
        return
    if not scale:
        yield f"one scale of rank {rank}"
    elif -rank <= axis < rank:
        yield from _along(axis, data, block)


def _along(axis: int, data: tuple[int, ...], block: int) -> Iterator[str]:
    """Yield what several scales are along an axis of data; a block of 0 is none."""
    rank = len(data)
    place = f"axis {axis % rank} of {rank}"
    length = data[axis]
    if not block:
        yield f"{_PER_INDEX} {place}"
        if axis < 0:
            yield f"{_PER_INDEX} {place}, from the back"
    elif block >= length:
        yield f"{_ONE_BLOCK} {place}"
    elif length % block:
        yield f"{_SHORTER_BLOCK} {place}"
    elif block > 1:
        yield f"{_BLOCKS} {place}"


FAMILY = Family(
    name="quantization",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
    one_type=False,
)
