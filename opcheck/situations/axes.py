"""Axes by place: each one of up to three, counted from the front and from the back.

A kernel that is right along the last axis, or the first, is often wrong along another one. One
that reduces several axes may take them for neighbors.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations.family import Argument, Family, newest_schema
from opcheck.situations.stated import attribute_of, integers_of, integers_of_input

_LEFT_OUT = (
    "More than three axes, and which axes go together but of reductions. DFT, "
    "Resize, ReverseSequence, Scan and TensorScatter, and those that `indexing` and "
    "`quantization` ask for."
)
_NAMES = ("axis", "axes")
_ELSEWHERE = frozenset(
    {
        *("Gather", "GatherElements", "ScatterElements", "QuantizeLinear", "DequantizeLinear"),
        *("DFT", "Resize", "TensorScatter"),
    }
)
#: Operators whose axes are those of the output, which has more of them than the input.
_OF_THE_OUTPUT = frozenset({"OneHot", "Unsqueeze"})
#: Operators besides reductions that compute numbers from all elements along several axes.
_OF_SEVERAL = frozenset({"MeanVarianceNormalization"})
_MOST_AXES = 3


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator that works along an axis, or along several."""
    if schema.op.domain or schema.deprecated or schema.op.name in _ELSEWHERE:
        return
    inputs = {parameter.name for parameter in schema.inputs}
    if any(name in schema.attributes or name in inputs for name in _NAMES):
        for rank in range(1, _MOST_AXES + 1):
            yield from (_place(axis, rank) for axis in range(-rank, rank))
    if _reduces(schema.op.name):
        for rank in range(2, _MOST_AXES + 1):
            yield from (_together(axes, rank) for axes in choices(range(rank), least=2))


def found_in(case: Case) -> Iterator[str]:
    """Yield the situation of a case that works along one axis."""
    schema = newest_schema(case.op.name)
    if schema is None or not case.inputs:
        return
    rank = len(case.inputs[0].shape) + (case.op.name in _OF_THE_OUTPUT)
    axes = stated_axes(case, schema)
    if len(axes) == 1 and rank <= _MOST_AXES and -rank <= axes[0] < rank:
        yield _place(axes[0], rank)
    elif _reduces(case.op.name) and 0 not in case.inputs[0].shape:
        yield _together(sorted(axis % rank for axis in axes if rank), rank)


def _reduces(op: str) -> bool:
    return op.startswith("Reduce") or op in _OF_SEVERAL


def choices(axes: Sequence[int], least: int) -> Iterator[tuple[int, ...]]:
    """Yield each choice of `least` axes or more, in order."""
    for count in range(least, len(axes) + 1):
        yield from combinations(axes, count)


def _together(axes: Sequence[int], rank: int) -> str:
    return f"axes {', '.join(map(str, axes))} of {rank}"


def _place(axis: int, rank: int) -> str:
    return f"axis {axis} of {rank}"


def stated_axes(case: Case, schema: Schema) -> tuple[int, ...]:
    """Return the axes that a case states, or those of an attribute's default."""
    for name in _NAMES:
        if name in schema.attributes:
            return integers_of(attribute_of(case, schema, name))
    given = (integers_of_input(case, name) for name in _NAMES)
    return next((axes for axes in given if axes is not None), ())


_ARGUED = (
    Argument(
        op="LpNormalization",
        pattern="axis -[23] of *",
        why="The text says of -1 alone that it counts from the back, so opcheck has no answer.",
    ),
    Argument(
        op="LpNormalization",
        pattern="axis * of [13]",
        why="The text speaks of a matrix: a refusal of other ranks is a warning.",
    ),
    Argument(
        op="MeanVarianceNormalization",
        pattern="axis -* of *",
        why="The text does not say that such an axis counts from the back: a refusal is a warning.",
    ),
    Argument(
        op="OneHot",
        pattern="axis * of 1",
        why="The text does not mention a single index: a refusal is a warning.",
    ),
)

FAMILY = Family(
    name="axes",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
    argued=_ARGUED,
)
