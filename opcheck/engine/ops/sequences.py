"""Sequences of tensors and optional values, which formulas take and return as lists.

A sequence is the list of its tensors. An optional value is a list of one tensor, or of none. The
names that end in `_of_sequences`, `_of_optionals` and `_of_optional_sequences` stand for an
operator of ONNX on a sequence, on an optional tensor and on an optional sequence.

The parts of the file: positions, and the operators that have one; sequences made, joined and split;
optional values; sequences in place of tensors. Each is followed by its mutants.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import numbers as xp, opset
from opcheck.dtypes import DTYPES
from opcheck.engine.axes import from_either_end, listed, scalar, stretches
from opcheck.engine.operators import (
    Formula,
    FormulaBuilder,
    NamedMutants,
    Operator,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.movement import CONCAT, parts
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

NAMES = """ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt
SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence
Identity_of_optional_sequences Identity_of_optionals Identity_of_sequences Optional_of_sequences
OptionalGetElement_of_optional_sequences OptionalGetElement_of_sequences
OptionalHasElement_of_optional_sequences OptionalHasElement_of_sequences"""

#: The tensors of a sequence, or of an optional value.
Tensors: TypeAlias = Sequence[Array]
#: Makes a sequence of tensors.
Make: TypeAlias = Callable[[list[Array]], list[Array]]
#: Returns a position from the input, the range that is accepted, and the default.
Position: TypeAlias = Callable[[Array, int, int, int], int]
#: Makes another position of a position and the range that is accepted.
Change: TypeAlias = Callable[[int, int, int], int]
#: Joins tensors along an axis, or along a new one, from axis and new_axis.
Join: TypeAlias = Callable[[Tensors, int, bool], Array]
#: Returns lengths of parts, from the length of an axis and that of a part.
Chunks: TypeAlias = Callable[[int, int], list[int]]

PARTS_OF_NO_LENGTH = Ruling(
    "parts-of-no-length",
    "The text has split contain only positive numbers, and all values of its input be >= 0.",
    ("accepted", "refused"),
)


def declared(name: str, **options: Any) -> Operator:
    """Declare an operator that moves tensors as they are; `options` are those of `operator`.

    Raises WrongOperator for a name that the schemas do not have, TypeError for an unknown option.
    """
    return operator(name, exact=True, **options)


# ── positions ─────────────────────────────────────────────────────────────────────────────────

SEQUENCE_AT = declared("SequenceAt")
SEQUENCE_ERASE = declared("SequenceErase")
SEQUENCE_INSERT = declared("SequenceInsert")


def position_of(position: Array, low: int, high: int, default: int) -> int:
    """Return a position as Python counts it from either end; the default if it is left out.

    "It is an error if any of the index values are out of bounds", which are from `low` to `high`,
    both included: raises InvalidNode, for the default too. It also raises InvalidNode for a tensor
    of other than one element, and for one of rank 1 or more if ONE_ELEMENT_AS_A_SCALAR refuses it.
    Raises NotSupported if rounding decides the position.
    """
    place: int = default if position is None else scalar("position", position)
    reject(not low <= place <= high, f"position {place} is outside [{low}, {high}]")
    return place


@dataclass(frozen=True)
class Editing:
    """An operator with a position; its fields are what mutants do otherwise.

    Attributes:
        position: Returns the position.
        make: Makes the output of its tensors.
    """

    position: Position = position_of
    make: Make = list


@formulas_of_versions(11)
def sequence_at(editing: Editing, position: Array, *input_sequence: Array) -> Array:
    """Return the tensor at the position, "in [-n, n - 1]", which is not left out.

    Negative positions count from the back. editing: the steps, which mutants change. Raises
    InvalidNode for a position out of range, as each is of an empty sequence, and for a tensor of
    other than one element, or of shape [1] if ONE_ELEMENT_AS_A_SCALAR refuses that; NotSupported if
    rounding decides it.
    """
    n = len(input_sequence)
    return input_sequence[editing.position(position, -n, n - 1, n - 1)]


@formulas_of_versions(11)
def sequence_erase(editing: Editing, position: Array = None, *input_sequence: Array) -> list[Array]:
    """Return the sequence without the tensor at the position: "by default it's the last".

    The position is in [-n, n - 1]; negative ones count from the back. editing: the steps, which
    mutants change. Raises InvalidNode for one out of range, as each is of an empty sequence, and
    for a tensor of other than one element, or of shape [1] if ONE_ELEMENT_AS_A_SCALAR refuses that.
    Raises NotSupported for an empty sequence without a position, and if rounding decides it.
    """
    n = len(input_sequence)
    if position is None and not n:
        raise_unspecified("the last tensor of none")
    place = editing.position(position, -n, n - 1, n - 1) % n
    return editing.make([*input_sequence[:place], *input_sequence[place + 1 :]])


@formulas_of_versions(11)
def sequence_insert(
    editing: Editing, tensor: Array, position: Array = None, *input_sequence: Array
) -> list[Array]:
    """Return the sequence with a tensor at the position, "in [-n, n]", by default the end.

    Negative positions count from the back, and the tensor comes before the one there. editing: the
    steps, which mutants change. Raises InvalidNode for a position out of range, and for a tensor of
    other than one element, or of shape [1] if ONE_ELEMENT_AS_A_SCALAR refuses that; NotSupported if
    rounding decides it.
    """
    n = len(input_sequence)
    place = editing.position(position, -n, n, n)
    return editing.make([*input_sequence[:place], tensor, *input_sequence[place:]])


WITH_POSITION: Sequence[tuple[Operator, FormulaBuilder]] = (
    (SEQUENCE_AT, sequence_at),
    (SEQUENCE_ERASE, sequence_erase),
    (SEQUENCE_INSERT, sequence_insert),
)
#: Those whose position may be left out.
WITH_DEFAULT = WITH_POSITION[1:]
for _op, _build in WITH_POSITION:
    _op.formula(build=_build)(Editing())


# Mutants of positions.


def misread(change: Change, position: Array, low: int, high: int, default: int) -> int:
    """Mutant: a position in range is changed by `change`, and a missing one is not.

    Raises InvalidNode for a position that is out of range, before or after that, or has other than
    one element, or by ONE_ELEMENT_AS_A_SCALAR rank 1 or more; NotSupported if rounding decides it.
    """
    is_range_empty = low > high
    if position is None or is_range_empty:
        return position_of(position, low, high, default)
    place = position_of(position, low, high, 0)
    return position_of(np.array(change(place, low, high)), low, high, default)


def misread_unchecked(change: Change, position: Array, low: int, high: int, default: int) -> int:
    """Mutant: a position is changed by `change` before its range is checked; a missing one is not.

    Raises InvalidNode for a position that is out of range after that, or has other than one
    element, or by ONE_ELEMENT_AS_A_SCALAR rank 1 or more; NotSupported if rounding decides it.
    """
    is_range_empty = low > high
    if position is None or is_range_empty:
        return position_of(position, low, high, default)
    place = scalar("position", position)
    return position_of(np.array(change(place, low, high)), low, high, default)


def first_by_default(position: Array, low: int, high: int, default: int) -> int:
    """Mutant: a position that is left out is the front.

    Raises InvalidNode for a position out of range or of other than one element, or by
    ONE_ELEMENT_AS_A_SCALAR of rank 1 or more; NotSupported if rounding decides it.
    """
    return 0 if position is None else position_of(position, low, high, default)


def minus_sign_dropped(place: int, low: int, high: int) -> int:
    """Mutant: a position's minus sign is dropped."""
    return min(abs(place), high)


def negative_is_last(place: int, low: int, high: int) -> int:
    """Mutant: every negative position is the back."""
    return high if place < 0 else place


def from_the_other_end(place: int, low: int, high: int) -> int:
    """Mutant: positions count from the other end."""
    end = high if place >= 0 else low - 1
    return end - place


def position_clamped(place: int, low: int, high: int) -> int:
    """Mutant: a position out of range is the nearest in it."""
    return min(max(place, low), high)


def position_wraps(place: int, low: int, high: int) -> int:
    """Mutant: a position out of range counts on from the other end."""
    return (place - low) % (high - low + 1) + low


def position_in_32_bits(place: int, low: int, high: int) -> int:
    """Mutant: a position is cut down to 32 bits."""
    return (place + 2**31) % 2**32 - 2**31


def zero_is_the_default(place: int, low: int, high: int) -> int:
    """Mutant: position 0 is a missing one."""
    return high if place == 0 else place


def after_negative(place: int, low: int, high: int) -> int:
    """Mutant: a tensor is inserted after a negative position."""
    return place + high + 1 if place < 0 else place


def with_position(change: Change) -> Editing:
    """Return the mutant that changes positions in range; a missing one is not changed."""
    return Editing(partial(misread, change))


def with_unchecked_position(change: Change) -> Editing:
    """Return the mutant that changes positions before they are checked, but no missing one."""
    return Editing(partial(misread_unchecked, change))


MISREAD: NamedMutants[Editing] = {
    "minus_sign_dropped": (
        "the minus sign of a position was dropped",
        with_position(minus_sign_dropped),
    ),
    "negative_is_last": (
        "every negative position was taken for the back",
        with_position(negative_is_last),
    ),
    "from_the_other_end": (
        "positions were counted from the other end",
        with_position(from_the_other_end),
    ),
}
OUT_OF_RANGE: NamedMutants[Editing] = {
    "position_clamped": (
        "a position out of range was taken for the nearest in it",
        with_unchecked_position(position_clamped),
    ),
    "position_wraps": (
        "a position out of range was counted on from the other end",
        with_unchecked_position(position_wraps),
    ),
    "position_in_32_bits": (
        "a position was cut down to 32 bits",
        with_unchecked_position(position_in_32_bits),
    ),
}
DEFAULTS: NamedMutants[Editing] = {
    "zero_is_the_default": (
        "position 0 was taken for a missing one",
        with_position(zero_is_the_default),
    ),
    "default_is_first": (
        "a missing position was taken for the front",
        Editing(first_by_default),
    ),
}
for _op, _build in WITH_POSITION:
    _op.mutant_table(MISREAD, build=_build)
    _op.mutant_table(OUT_OF_RANGE, build=_build, of_validity=True)
for _op, _build in WITH_DEFAULT:
    _op.mutant_table(DEFAULTS, build=_build)
SEQUENCE_INSERT.mutant(
    "it was inserted after a negative position", build=sequence_insert, name="after_negative"
)(with_position(after_negative))


# ── sequences made, and counted ───────────────────────────────────────────────────────────────

SEQUENCE_CONSTRUCT = declared("SequenceConstruct")
SEQUENCE_EMPTY = declared("SequenceEmpty", constant=(*DTYPES,))
SEQUENCE_LENGTH = declared("SequenceLength", of_shapes=True)


@SEQUENCE_EMPTY.formula(11)
def sequence_empty(*, dtype: int | None) -> list[Array]:
    """Return a sequence of no tensors, of any type."""
    return []


@formulas_of_versions(11)
def sequence_construct(make: Make, *inputs: Array) -> list[Array]:
    """Return the "sequence enclosing the input tensors", whose shapes may differ.

    make: makes it of the list of tensors.
    """
    return make([*inputs])


@SEQUENCE_LENGTH.formula(11)
def sequence_length(*input_sequence: Array) -> Array:
    """Return the number of tensors, a scalar; 0 for an empty sequence."""
    return np.array(len(input_sequence))


SEQUENCE_CONSTRUCT.formula(build=sequence_construct)(list)


# Mutants of tensors that a sequence, or an optional value, holds.


def one_shape_alone(tensors: list[Array]) -> list[Array]:
    """Mutant: tensors of several shapes raise InvalidNode."""
    reject(len({x.shape for x in tensors}) > 1, "tensors of several shapes")
    return tensors


def empty_dropped(tensors: list[Array]) -> list[Array]:
    """Mutant: tensors without elements are dropped."""
    return [x for x in tensors if x.size]


def scalars_are_vectors(tensors: list[Array]) -> list[Array]:
    """Mutant: scalars become vectors of one element."""
    return [xp.reshape(x, x.shape or (1,)) for x in tensors]


def elements_counted(*input_sequence: Array) -> Array:
    """Mutant: elements of tensors are counted."""
    return np.array(sum(x.size for x in input_sequence))


def empty_not_counted(*input_sequence: Array) -> Array:
    """Mutant: tensors without elements are not counted."""
    return np.array(sum(x.size > 0 for x in input_sequence))


SCALARS_ARE_VECTORS: NamedMutants[Make] = {
    "scalars_are_vectors": ("scalars became vectors of one", scalars_are_vectors),
}
SHAPES: NamedMutants[Make] = {
    "one_shape_alone": ("tensors of several shapes were not supported", one_shape_alone),
    "empty_dropped": ("empty tensors were dropped", empty_dropped),
    **SCALARS_ARE_VECTORS,
}
EDITED: NamedMutants[Editing] = {
    name: (text, Editing(make=make)) for name, (text, make) in SHAPES.items()
}
SEQUENCE_CONSTRUCT.mutant_table(SHAPES, build=sequence_construct)
for _op, _build in WITH_DEFAULT:
    _op.mutant_table(EDITED, build=_build)
SEQUENCE_LENGTH.mutant_table(
    {
        "elements_counted": ("elements were counted", elements_counted),
        "empty_dropped": ("empty tensors were not counted", empty_not_counted),
    }
)


# ── sequences joined ──────────────────────────────────────────────────────────────────────────

CONCAT_FROM_SEQUENCE = declared("ConcatFromSequence")


@formulas_of_versions(11)
def concat_from_sequence(join: Join, *input_sequence: Array, new_axis: int, axis: int) -> Array:
    """Return the tensors joined along an axis, or, with new_axis, along a new one.

    A negative axis counts from the back of the output. Raises InvalidNode for an axis out of range,
    and for shapes that differ beyond the axis, or at all with new_axis; for a new_axis other than 0
    and 1, if FLAG_OF_ANOTHER_NUMBER refuses it. Raises NotSupported for a sequence of no tensors.
    """
    if not input_sequence:
        raise_unspecified("a sequence of no tensors")
    return join(input_sequence, axis, flag("new_axis", new_axis))


def joined(tensors: Tensors, axis: int, new_axis: bool) -> Array:
    """Return the tensors as Concat joins them, or stacked along a new axis.

    `tensors` has one at least, and `axis` counts from either end of the result. Raises InvalidNode
    for an axis out of range, and for shapes that differ beyond the axis, or at all if they are
    stacked.
    """
    if not new_axis:
        return CONCAT.formulas[13](*tensors, axis=axis)
    shapes = [x.shape for x in tensors]
    reject(len({*shapes}) > 1, f"shapes {shapes} differ")
    return xp.stack(tensors, axis=from_either_end(axis, len(shapes[0]) + 1))


CONCAT_FROM_SEQUENCE.formula(build=concat_from_sequence)(joined)


# Mutants of ConcatFromSequence.


def joined_wrongly(concat: Formula, tensors: Tensors, axis: int, new_axis: bool) -> Array:
    """Mutant: Concat is wrong.

    With new_axis, raises InvalidNode for an axis out of range and for shapes that differ; else what
    `concat` does.
    """
    return joined(tensors, axis, True) if new_axis else concat(*tensors, axis=axis)


def counted_without_the_new_axis(tensors: Tensors, axis: int, new_axis: bool) -> Array:
    """Mutant of `joined`: a negative axis counts without the new one.

    Raises InvalidNode for an axis out of range, and for shapes that differ beyond the axis, or at
    all if they are stacked.
    """
    if -tensors[0].ndim <= axis < 0:
        axis -= new_axis
    return joined(tensors, axis, new_axis)


def new_axis_in_blocks(tensors: Tensors, axis: int, new_axis: bool) -> Array:
    """Mutant of `joined`: elements of one tensor follow those of another, whatever the new axis is.

    Raises InvalidNode for an axis out of range, and for shapes that differ beyond the axis, or at
    all if they are stacked.
    """
    y = joined(tensors, axis, new_axis)
    return np.concat(tensors, axis=None).reshape(y.shape) if new_axis else y


def stack_reshapes(tensors: Tensors, axis: int, new_axis: bool) -> Array:
    """Mutant of `joined`: tensors that are stacked take the first one's shape, if they fit.

    Raises InvalidNode for an axis out of range, and for shapes that then differ beyond the axis, or
    at all if they are stacked.
    """
    first = tensors[0]
    if new_axis:
        tensors = [x.reshape(first.shape) if x.size == first.size else x for x in tensors]
    return joined(tensors, axis, new_axis)


def stack_broadcasts(tensors: Tensors, axis: int, new_axis: bool) -> Array:
    """Mutant of `joined`: tensors that are stacked broadcast to the first one's shape.

    Raises InvalidNode for an axis out of range, and for shapes that do not broadcast to the first,
    or without a new axis differ beyond the axis.
    """
    first = tensors[0]
    if new_axis:
        for x in tensors:
            stretches("a tensor", x, first)
        tensors = [xp.broadcast_to(x, first.shape) for x in tensors]
    return joined(tensors, axis, new_axis)


for _concat in CONCAT.mutants:
    if _concat.since == 13:
        CONCAT_FROM_SEQUENCE.mutant(
            _concat.text, build=concat_from_sequence, name=_concat.name, only=_concat.only
        )(partial(joined_wrongly, _concat.function))
CONCAT_FROM_SEQUENCE.mutant_table(
    {
        "counted_without_the_new_axis": (
            "a negative axis was counted without the new one",
            counted_without_the_new_axis,
        ),
        "new_axis_in_blocks": (
            "tensors were joined, and only then given the shape of a stack",
            new_axis_in_blocks,
        ),
    },
    build=concat_from_sequence,
)
CONCAT_FROM_SEQUENCE.mutant_table(
    {
        "stack_reshapes": (
            "tensors that were stacked took the first one's shape, if they fit",
            stack_reshapes,
        ),
        "stack_broadcasts": ("tensors that were stacked were broadcast", stack_broadcasts),
    },
    build=concat_from_sequence,
    of_validity=True,
)


# ── tensors split ─────────────────────────────────────────────────────────────────────────────

SPLIT_TO_SEQUENCE = declared("SplitToSequence")


def chunks(length: int, size: int) -> list[int]:
    """Return lengths of parts of one size, of which the last may be smaller; none of length 0.

    `size` is 1 or more.
    """
    return [min(size, length - begin) for begin in range(0, length, size)]


def as_listed(sizes: list[int], length: int) -> list[int]:
    """Return the lengths of the parts as they are given."""
    return sizes


@dataclass(frozen=True)
class Splitting:
    """SplitToSequence; its fields are what mutants do otherwise.

    Attributes:
        chunks: Returns the lengths of parts of one size.
        read: What is made of lengths that are listed, and of the axis' length.
        keeps_ones: Dimensions are kept if `split` is given, also if all lengths are 1.
    """

    chunks: Chunks = chunks
    read: Callable[[list[int], int], list[int]] = as_listed
    keeps_ones: bool = True


def lengths_of_parts(splitting: Splitting, split: Array, length: int) -> list[int]:
    """Return the lengths of the parts: a list, or of one size, by default 1.

    `split` is a list, a scalar or None; `length` is that of the axis. A list is not checked here.
    Raises InvalidNode for a negative scalar and for a tensor of rank 2 or more; NotSupported for a
    scalar of 0, for an axis of length 0 without a list, and if rounding decides the scalar.
    """
    if split is not None and split.ndim:
        return splitting.read(listed("split", split), length)
    size: int = 1 if split is None else scalar("split", split)
    reject(size < 0, f"split {size}")
    if not size * length:
        raise_unspecified("parts of no length, or of nothing")
    return splitting.chunks(length, size)


@formulas_of_versions(11, 24)
def split_to_sequence(
    splitting: Splitting, input: Array, split: Array = None, *, axis: int, keepdims: int
) -> list[Array]:
    """Return the parts of the input along an axis, whose lengths add up to its length.

    A list `split` has the lengths, and a scalar that of all but the last, which may be smaller.
    Without it each has the length 1, and no such dimension unless keepdims is 1; "If input 'split'
    is specified, this attribute is ignored." Parts of length 0 are accepted, or raise InvalidNode:
    PARTS_OF_NO_LENGTH. splitting: the steps, which mutants change.

    Raises InvalidNode for an axis out of range, negative lengths and lists that do not add up, a
    `split` of rank 2 or more; for a keepdims other than 0 and 1 that counts, if
    FLAG_OF_ANOTHER_NUMBER refuses it. Raises NotSupported for a scalar of 0, for an axis of length
    0 without a list, and if rounding decides the scalar.
    """
    axis = from_either_end(axis, input.ndim)
    lengths = lengths_of_parts(splitting, split, input.shape[axis])
    split_up: list[Array] = parts(input, axis, lengths)
    if 0 in lengths and PARTS_OF_NO_LENGTH.reading() == "refused":
        raise InvalidNode(f"parts of {lengths}; allowed: positive numbers")
    has_only_ones = {*lengths} == {1}
    is_flag_ignored = split is not None and (splitting.keeps_ones or not has_only_ones)
    if is_flag_ignored or flag("keepdims", keepdims):
        return split_up
    return [xp.take(x, 0, axis=axis) for x in split_up]


SPLIT_TO_SEQUENCE.formula(build=split_to_sequence)(Splitting())


# Mutants of SplitToSequence.


def number_of_parts(length: int, size: int) -> list[int]:
    """Mutant of `chunks`: a scalar `split`, here `size`, is the number of parts.

    The first ones are longer by 1 if the length is not a multiple; some are empty if it is less.
    """
    return [length // size + (part < length % size) for part in range(size)]


def last_chunk_dropped(length: int, size: int) -> list[int]:
    """Mutant of `chunks`: a smaller last part is dropped, unless it is the only one.

    The lengths then do not add up.
    """
    return chunks(length, size)[: max(1, length // size)]


def first_chunk_smaller(length: int, size: int) -> list[int]:
    """Mutant of `chunks`: the first chunk is smaller, and not the last."""
    return chunks(length, size)[::-1]


def chunks_alike(length: int, size: int) -> list[int]:
    """Mutant of `chunks`: as many parts as `chunks` returns, whose lengths differ by 1 at most."""
    count = -(-length // size)
    return [len(part) for part in np.array_split(range(length), count)]


def lengths_reversed(sizes: list[int], length: int) -> list[int]:
    """Mutant: lengths are read from the last to the first."""
    return sizes[::-1]


def first_length_for_all(sizes: list[int], length: int) -> list[int]:
    """Mutant: all parts have the first length, at least 1, and the last one what is left.

    Without any length there is no part.
    """
    return chunks(length, max(1, sizes[0])) if sizes else sizes


def rest_to_the_last(sizes: list[int], length: int) -> list[int]:
    """Mutant: the last length is whatever is left."""
    before = sizes[:-1]
    return [*before, length - sum(before)]


SPLIT_MUTANTS: NamedMutants[Splitting] = {
    "number_of_parts": ("a scalar was the number of parts", Splitting(number_of_parts)),
    "last_chunk_dropped": (
        "a smaller last chunk was dropped, so that nothing fits",
        Splitting(last_chunk_dropped),
    ),
    "first_chunk_smaller": (
        "not the last chunk was smaller, but the first",
        Splitting(first_chunk_smaller),
    ),
    "chunks_alike": ("chunks were as alike as possible", Splitting(chunks_alike)),
    "keepdims_for_ones": (
        "keepdims counted where every part has one, although split is given",
        Splitting(keeps_ones=False),
    ),
    "lengths_reversed": (
        "lengths were read from the last to the first",
        Splitting(read=lengths_reversed),
    ),
    "first_length_for_all": (
        "the first length served for all",
        Splitting(read=first_length_for_all),
    ),
}
SPLIT_TO_SEQUENCE.mutant_table(SPLIT_MUTANTS, build=split_to_sequence)
SPLIT_TO_SEQUENCE.mutant(
    "the last length was whatever is left",
    build=split_to_sequence,
    name="rest_to_the_last",
    of_validity=True,
)(Splitting(read=rest_to_the_last))


# ── optional values ───────────────────────────────────────────────────────────────────────────

OPTIONAL = declared("Optional", ignores=("type",))
OPTIONAL_GET_ELEMENT = declared("OptionalGetElement")
OPTIONAL_HAS_ELEMENT = declared("OptionalHasElement", of_shapes=True)


@formulas_of_versions(15, 28)
def optional(make: Make, input: Array = None) -> list[Array]:
    """Return an optional value, empty if the input is left out.

    make: makes it of the input in a list.
    """
    return [] if input is None else make([input])


def of_optional(read: Callable[[Tensors], Array], *input: Array) -> Array:
    """Return what is read of an optional value: version 15. `input` has one tensor or none."""
    return read(input)


def of_optional_or_tensor(
    read: Callable[[Tensors], Array], input_tensor: Array = None, *input: Array
) -> Array:
    """Return what is read of an optional value, or of a tensor in its place: from version 18 on.

    `input` has one tensor or none, and counts where `input_tensor` is left out.
    """
    return read(input if input_tensor is None else [input_tensor])


def reader_versions(read: Callable[[Tensors], Array]) -> Mapping[int, Formula]:
    """Return the formulas of an operator that reads an optional value, by version.

    `read` returns the output from the tensors that are there: one or none.
    """
    # Both versions have the same function: so no mutant computes one in place of the other.
    later = partial(of_optional_or_tensor, read)
    return {15: partial(of_optional, read), 18: later, 28: later}


def element(tensors: Tensors) -> Array:
    """Return the element of an optional value, which has one tensor or none.

    Raises NotSupported if there is none: "the behavior is undefined".
    """
    if not tensors:
        raise_unspecified("the element of an empty optional")
    return tensors[0]


def has_element(tensors: Tensors) -> Array:
    """Return true if there is an element, a boolean scalar."""
    return np.array(bool(tensors))


OPTIONAL.formula(build=optional)(list)
OPTIONAL_GET_ELEMENT.formula(build=reader_versions)(element)
OPTIONAL_HAS_ELEMENT.formula(build=reader_versions)(has_element)


# Mutants of optional values.


def element_as_vector(tensors: Tensors) -> Array:
    """Mutant: a scalar becomes a vector of one element.

    Raises NotSupported if there is none.
    """
    x = element(tensors)
    return xp.reshape(x, x.shape or (1,))


def has_any_of_elements(tensors: Tensors) -> Array:
    """Mutant: tensors without elements are no element."""
    return np.array(any(x.size for x in tensors))


def always_has_element(tensors: Tensors) -> Array:
    """Mutant: every optional value has an element."""
    return np.array(True)


OPTIONAL.mutant_table(SCALARS_ARE_VECTORS, build=optional)
OPTIONAL_HAS_ELEMENT.mutant_table(
    {
        "empty_dropped": ("an empty tensor was no element", has_any_of_elements),
        "always_an_element": ("every optional had an element", always_has_element),
    },
    build=reader_versions,
)
OPTIONAL_GET_ELEMENT.mutant(
    "scalars became vectors of one", build=reader_versions, name="scalars_are_vectors"
)(element_as_vector)


# ── sequences in place of tensors ─────────────────────────────────────────────────────────────


@formulas_of_versions(14, 15, 16, 18, 19, 21, 23, 24, 25, 28)
def given_back(make: Callable[[list[Array]], Any], *input: Array) -> Any:
    """Return what `make` makes of a list of the tensors of a sequence, or of an optional one.

    `make` is `list` for operators that return them, or what a mutant does otherwise.
    """
    return make([*input])


def versions_of(name: str, make: Callable[[list[Array]], Any]) -> Mapping[int, Formula]:
    """Return the formulas of the versions that the operator of this name has.

    Each returns what `make` makes of the tensors of a sequence.
    """
    known = opset.versions("", name)
    return {since: formula for since, formula in given_back(make).items() if since in known}


def made_of_some(make: Make, tensors: list[Array]) -> list[Array]:
    """Return what `make` makes of the tensors of an optional sequence.

    Raises NotSupported if there are none, as of an empty optional: "the behavior is undefined".
    """
    if not tensors:
        raise_unspecified("the element of an empty optional")
    return make(tensors)


def is_a_sequence(tensors: Tensors) -> Array:
    """Return true: a sequence in the place of an optional one is there, empty or not."""
    return np.array(True)


def versions_of_some(name: str, make: Make) -> Mapping[int, Formula]:
    """Return the formulas of the operator that needs an element of an optional sequence.

    They are by version. Each raises NotSupported for a sequence of no tensors.
    """
    return versions_of(name, partial(made_of_some, make))


def builders(
    names: Iterable[str], build: Callable[..., Mapping[int, Formula]], **options: Any
) -> list[tuple[Operator, FormulaBuilder]]:
    """Declare operators; return each with what makes its formulas, `build` under its name.

    The second of a pair is called with a formula's parts, and returns the formulas by version: it
    is the `build` of `formula` and `mutant_table`. `options` are those of `operator`. Raises
    WrongOperator for a name that the schemas do not have.
    """
    return [(declared(name, **options), partial(build, name)) for name in names]


#: Those that return the tensors.
GIVING_BACK = (
    *builders(
        ("Identity_of_optional_sequences", "Identity_of_optionals", "Identity_of_sequences"),
        versions_of,
    ),
    *builders(("Optional_of_sequences",), versions_of, ignores=("type",)),
    *builders(("OptionalGetElement_of_optional_sequences",), versions_of_some),
    *builders(("OptionalGetElement_of_sequences",), versions_of),
)
for _op, _build in GIVING_BACK:
    _op.formula(build=_build)(list)
    _op.mutant_table(SHAPES, build=_build)

for _op, _build in builders(
    ("OptionalHasElement_of_optional_sequences",), versions_of, of_shapes=True
):
    _op.formula(build=_build)(has_element)
    _op.mutant_table(
        {
            "empty_dropped": ("a sequence of empty tensors was none", has_any_of_elements),
            "always_an_element": ("every optional had an element", always_has_element),
        },
        build=_build,
    )
for _op, _build in builders(("OptionalHasElement_of_sequences",), versions_of, of_shapes=True):
    _op.formula(build=_build)(is_a_sequence)
    _op.mutant_table({"empty_is_none": ("an empty sequence was none", has_element)}, build=_build)
