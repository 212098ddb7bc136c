"""Pairs of shapes that are stretched to each other, by which axes are 1, missing or equal.

A situation is named after two shapes, such as `[m,n] with [1,n]`. The same letter in both means
equal lengths, which are not 1.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product, repeat
from typing import Literal, TypeAlias

from opcheck.model import Case, TensorSpec
from opcheck.opset import Schema
from opcheck.situations.family import Family
from opcheck.suite import materialize

Shape: TypeAlias = tuple[int, ...]
#: An axis of two shapes, counted from the last: equal lengths, or a stretched operand.
Axis: TypeAlias = Literal["equal", "first is 1", "second is 1", "first lacks it", "second lacks it"]
Pattern: TypeAlias = tuple[Axis, ...]

_LEFT_OUT = (
    "Shapes of more than three axes, axes that are 1 in both shapes, and axes of length 0. Of the "
    "last two axes of MatMul's operands none is stretched."
)
_LETTERS = "kmn"
_FIRST_LACKS: Axis = "first lacks it"
_SECOND_LACKS: Axis = "second lacks it"
_PRESENT: tuple[Axis, ...] = ("equal", "first is 1", "second is 1")


@dataclass(frozen=True)
class Operands:
    """Two inputs that are stretched to each other, or only the second to the first.

    Shapes have up to `rank` axes, without the last `inner` ones, which are not stretched.
    """

    first: str
    second: str
    rank: int = 3
    one_way: bool = False
    inner: int = 0

    @property
    def label(self) -> str:
        """The names of the inputs."""
        return f"{self.first},{self.second}"


def _each(names: str, operands: Operands) -> dict[str, tuple[Operands, ...]]:
    return dict.fromkeys(names.split(), (operands,))


_PAIRS: Mapping[str, tuple[Operands, ...]] = {
    **_each("Add Sub Mul Div Mod And Or Xor", Operands("A", "B")),
    **_each("BitwiseAnd BitwiseOr BitwiseXor", Operands("A", "B")),
    **_each("Equal Less LessOrEqual Greater GreaterOrEqual", Operands("A", "B")),
    **_each("Pow BitShift StringConcat", Operands("X", "Y")),
    **_each("Max Min Sum Mean", Operands("data_0", "data_1")),
    "Where": (
        Operands("condition", "X"),
        Operands("condition", "Y"),
        Operands("X", "Y"),
    ),
    "Expand": (Operands("input", "shape"),),
    "PRelu": (Operands("X", "slope", one_way=True),),
    "MatMul": (Operands("A", "B", rank=2, inner=2),),
}


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator that stretches its operands."""
    pairs = _PAIRS.get(schema.op.name, ())
    for operands in pairs:
        for pattern in patterns(operands.rank):
            if not (operands.one_way and _stretches_first(pattern)):
                yield _name(operands, pattern, len(pairs) > 1)


def found_in(case: Case) -> Iterator[str]:
    """Yield the situations that a case is in.

    An operand whose elements are all equal does not show where it is read.
    """
    pairs = _PAIRS.get(case.op.name, ())
    for operands in pairs:
        shapes = _shapes(case, operands)
        pattern = None if shapes is None else _pattern(*shapes)
        if pattern is not None:
            yield _name(operands, pattern, len(pairs) > 1)


def patterns(rank: int) -> Iterator[Pattern]:
    """Yield every way in which two shapes of up to `rank` axes go together."""
    for axes in range(rank + 1):
        for missing in range(axes + 1):
            for present in product(_PRESENT, repeat=axes - missing):
                if not missing:
                    yield present
                else:
                    yield (*repeat(_FIRST_LACKS, missing), *present)
                    yield (*repeat(_SECOND_LACKS, missing), *present)


def _shapes(case: Case, operands: Operands) -> tuple[Shape, Shape] | None:
    """Return the shapes that go together, None if the case does not show how they do."""
    inputs = {spec.name: spec for spec in case.inputs}
    first, second = inputs.get(operands.first), inputs.get(operands.second)
    if first is None or second is None or _is_uniform(first):
        return None
    if case.op.name == "Expand":
        return first.shape, tuple(int(length) for length in materialize(second))
    if _is_uniform(second) or min(len(first.shape), len(second.shape)) < operands.inner:
        return None
    return _outer(first.shape, operands.inner), _outer(second.shape, operands.inner)


def _pattern(first: Shape, second: Shape) -> Pattern | None:
    """Return how two shapes go together, None for long ones and axes of 0, or of 1 in both."""
    rank = max(len(first), len(second))
    if rank > len(_LETTERS):
        return None
    axes = [_axis(first, second, place) for place in range(-rank, 0)]
    present = [axis for axis in axes if axis is not None]
    return tuple(present) if len(present) == rank else None


def _axis(first: Shape, second: Shape, place: int) -> Axis | None:
    if -place > len(first):
        return _FIRST_LACKS
    if -place > len(second):
        return _SECOND_LACKS
    lengths = first[place], second[place]
    if 0 in lengths or lengths == (1, 1):
        return None
    if lengths[0] == lengths[1]:
        return "equal"
    return "first is 1" if lengths[0] == 1 else "second is 1"


def _outer(shape: Shape, inner: int) -> Shape:
    return shape[: len(shape) - inner]


def _stretches_first(pattern: Pattern) -> bool:
    return any(axis.startswith("first") for axis in pattern)


def _is_uniform(spec: TensorSpec) -> bool:
    if 0 in spec.shape:
        return True
    values = materialize(spec).reshape(-1)
    return bool(values.size > 1 and (values == values[0]).all())


def _name(operands: Operands, pattern: Pattern, is_one_of_several: bool) -> str:
    letters = _LETTERS[len(_LETTERS) - len(pattern) :]
    first = _text(letters, pattern, "first")
    second = _text(letters, pattern, "second")
    label = f"{operands.label}: " if is_one_of_several else ""
    return f"{label}{first} with {second}"


def _text(letters: Iterable[str], pattern: Pattern, side: str) -> str:
    axes = (
        "1" if axis == f"{side} is 1" else letter
        for letter, axis in zip(letters, pattern, strict=True)
        if axis != f"{side} lacks it"
    )
    return f"[{','.join(axes)}]"


FAMILY = Family(
    name="broadcasting",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
)
