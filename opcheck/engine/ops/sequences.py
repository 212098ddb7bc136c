"""Sequences of tensors and optional ones, which formulas take and give as lists."""

import re
from functools import partial

import numpy as np

from opcheck import numbers as xp, opset
from opcheck.dtypes import DTYPES
from opcheck.engine.axes import from_either_end, listed, scalar
from opcheck.engine.operators import formula_builder, operator, raise_unspecified
from opcheck.engine.ops.movement import CONCAT, parts
from opcheck.errors import reject

NAMES = """ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt
SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence
Identity_of_optional_sequences Identity_of_optionals Identity_of_sequences Optional_of_sequences
OptionalGetElement_of_optional_sequences OptionalGetElement_of_sequences
OptionalHasElement_of_optional_sequences OptionalHasElement_of_sequences"""
JOIN, OPTIONAL, GET, HAS, AT, CONSTRUCT, EMPTY, ERASE, INSERT, LENGTH, SPLIT, *FORMS = (
    operator(
        name,
        exact=True,
        of_shapes="HasElement" in name or name == "SequenceLength",
        ignores=("type",) if re.match("Optional(_|$)", name) else (),
    )
    for name in NAMES.split()
)
EMPTY.constant = (*DTYPES,)
EMPTY.formula(11)(lambda *, dtype: [])
LENGTH.formula(11)(lambda *input_sequence: np.array(len(input_sequence)))


construct = formula_builder(11)(lambda made, *inputs: made([*inputs]))
CONSTRUCT.formula(build=construct)(list)


@formula_builder(11)
def at(counted, position, *input_sequence):
    n = len(input_sequence)
    return input_sequence[counted(position, -n, n - 1, None)]


@formula_builder(11, options=["made"])
def erase(counted, position=None, *input_sequence, made=list):
    n = len(input_sequence)
    if position is None and not n:
        raise_unspecified("the last tensor of none")
    place = counted(position, -n, n - 1, n - 1) % n
    return made([*input_sequence[:place], *input_sequence[place + 1 :]])


@formula_builder(11, options=["made"])
def insert(counted, tensor, position=None, *input_sequence, made=list):
    n = len(input_sequence)
    place = counted(position, -n, n, n)
    return made([*input_sequence[:place], tensor, *input_sequence[place:]])


@AT.formula(build=at)
@ERASE.formula(build=erase)
@INSERT.formula(build=insert)
def counted(position, low, high, default):
    """A position from `low` to `high`, as Python counts it from either end."""
    place = default if position is None else scalar("position", position)
    reject(not low <= place <= high, f"position {place} is outside [{low}, {high}]")
    return place


@formula_builder(11)
def joined(function, *input_sequence, new_axis, axis):
    if not input_sequence:
        raise_unspecified("a sequence of no tensors")
    if new_axis not in (0, 1):
        raise_unspecified(f"new_axis {new_axis}")
    return function(input_sequence, axis, new_axis)


@JOIN.formula(build=joined)
def along(tensors, axis, new_axis):
    if not new_axis:
        return CONCAT.formulas[13](*tensors, axis=axis)
    shapes = [x.shape for x in tensors]
    reject(len({*shapes}) > 1, f"shapes {shapes} differ")
    return xp.stack(tensors, axis=from_either_end(axis, len(shapes[0]) + 1))


@formula_builder(11, 24, options=["read", "ignores"])
def split_to(chunks, input, split=None, *, axis, keepdims, read=None, ignores=True):
    axis = from_either_end(axis, input.ndim)
    length = input.shape[axis]
    if split is not None and split.ndim:
        sizes = listed("split", split)
        sizes = read(sizes, length) if read else sizes
    else:
        size = 1 if split is None else scalar("split", split)
        reject(size < 0, f"split {size}")
        if not size * length:
            raise_unspecified("parts of no length, or of nothing")
        sizes = chunks(length, size)
    made = parts(input, axis, sizes)
    # "only positive numbers", says the text; ">= 0", its second input.
    if 0 in sizes:
        raise_unspecified("parts of no length")
    if split is None and keepdims not in (0, 1):
        raise_unspecified(f"keepdims {keepdims}")
    kept = keepdims or (split is not None and (ignores or {*sizes} != {1}))
    return made if kept else [xp.take(one, 0, axis=axis) for one in made]


@SPLIT.formula(build=split_to)
def chunks(length, size):
    return [min(size, length - begin) for begin in range(0, length, size)]


def of_one(read):
    """The formulas of an optional, as a list, or from version 18 on of a tensor in place of it."""
    return {
        15: lambda *input: read(input),
        **dict.fromkeys(
            [18, 28],
            lambda input_tensor=None, *input: read(
                input if input_tensor is None else [input_tensor]
            ),
        ),
    }


@GET.formula(build=of_one)
def element(held):
    if not held:
        raise_unspecified("the element of an empty optional")
    return held[0]


optional = formula_builder(15, 28)(lambda made, input=None: [] if input is None else made([input]))
OPTIONAL.formula(build=optional)(list)
HAS.formula(build=of_one)(lambda held: np.array(bool(held)))


@formula_builder(14, 15, 16, 18, 19, 21, 23, 24, 25, 28, options=["needed"])
def given_back(made, *input, needed=False):
    """A sequence or an optional of one, from a list of its tensors; `needed`: at least one."""
    if needed and not input:
        raise_unspecified("the element of an empty optional")
    return made([*input])


def of_form(name):
    """Return what makes the formulas of an operator on sequences or optionals."""
    by = partial(given_back, needed=name.endswith("GetElement_of_optional_sequences"))
    known = opset.versions("", name)
    return lambda made: {since: one for since, one in by(made).items() if since in known}


for _op in FORMS:
    _op.formula(build=of_form(_op.name))(
        list
        if "HasElement" not in _op.name
        else lambda held, of=_op.name: np.array(bool(held) or of.endswith("_of_sequences"))
    )


def misread(change, position, low, high, default, checked=True):
    """Positions that are changed, after it was checked that they are in range, or before."""
    if position is None or low > high:
        return counted(position, low, high, default)
    stated = counted(position, low, high, 0) if checked else scalar("position", position)
    return counted(np.array(change(stated, low, high)), low, high, default)


for _op, _by in ((AT, at), (ERASE, erase), (INSERT, insert)):
    _op.mutant_table(
        {
            "minus_sign_dropped": (
                "the minus sign of a position was dropped",
                lambda place, low, high: min(abs(place), high),
            ),
            "negative_is_last": (
                "every negative position was taken for the back",
                lambda place, low, high: high if place < 0 else place,
            ),
            "from_the_other_end": (
                "positions were counted from the other end",
                lambda place, low, high: (high if place >= 0 else low - 1) - place,
            ),
        },
        build=lambda change, by=_by: by(partial(misread, change)),
    )
    _op.mutant_table(
        {
            "position_clamped": (
                "a position out of range was taken for the nearest in it",
                lambda place, low, high: min(max(place, low), high),
            ),
            "position_wraps": (
                "a position out of range was counted on from the other end",
                lambda at, low, high: (at - low) % (high - low + 1) + low,
            ),
            "position_in_32_bits": (
                "a position was cut down to 32 bits",
                lambda place, *_: (place + 2**31) % 2**32 - 2**31,
            ),
        },
        build=lambda change, by=_by: by(partial(misread, change, checked=False)),
        of_validity=True,
    )
for _op, _by in ((ERASE, erase), (INSERT, insert)):
    _op.mutant("position 0 was taken for a missing one", name="zero_is_the_default", build=_by)(
        partial(misread, lambda place, low, high: place or (high if place == 0 else place))
    )
    _op.mutant("a missing position was taken for the front", name="default_is_first", build=_by)(
        lambda place, *limits: 0 if place is None else counted(place, *limits)
    )
INSERT.mutant("it was inserted after a negative position", name="after_negative", build=insert)(
    partial(misread, lambda place, low, high: place + (high + 1 if place < 0 else 0))
)


def alike(tensors):
    reject(len({x.shape for x in tensors}) > 1, "tensors of several shapes")
    return tensors


SHAPES = {
    "one_shape_alone": ("tensors of several shapes were not supported", alike),
    "empty_dropped": ("empty tensors were dropped", lambda found: [x for x in found if x.size]),
    "scalars_are_vectors": (
        "scalars became vectors of one",
        lambda found: [xp.reshape(x, x.shape or (1,)) for x in found],
    ),
}
CONSTRUCT.mutant_table(SHAPES, build=construct)
OPTIONAL.mutant_table({n: SHAPES[n] for n in ("scalars_are_vectors",)}, build=optional)
for _op, _by in ((ERASE, erase), (INSERT, insert)):
    _op.mutant_table(SHAPES, build=lambda made, by=_by: by(counted, made=made))

for _op in FORMS:
    _op.mutant_table(
        SHAPES
        if "HasElement" not in _op.name
        else {
            "empty_is_none": ("an empty sequence was none", lambda held: np.array(bool(held))),
        }
        if _op.name.endswith("t_of_sequences")
        else {
            "empty_dropped": (
                "a sequence of empty tensors was none",
                lambda held: np.array(any(x.size for x in held)),
            ),
            "always_an_element": ("every optional had an element", lambda held: np.array(True)),
        },
        build=of_form(_op.name),
    )

LENGTH.mutant_table(
    {
        "elements_counted": (
            "elements were counted",
            lambda *input_sequence: np.array(sum(x.size for x in input_sequence)),
        ),
        "empty_dropped": (
            "empty tensors were not counted",
            lambda *input_sequence: np.array(sum(x.size > 0 for x in input_sequence)),
        ),
    }
)

HAS.mutant_table(
    {
        "empty_dropped": (
            "an empty tensor was no element",
            lambda held: np.array(any(x.size for x in held)),
        ),
        "always_an_element": ("every optional had an element", lambda held: np.array(True)),
    },
    build=of_one,
)
GET.mutant("scalars became vectors of one", name="scalars_are_vectors", build=of_one)(
    lambda held: xp.reshape(element(held), held[0].shape or (1,))
)

# What goes wrong where tensors are concatenated.
for _one in (one for one in CONCAT.mutants if one.since == 13):
    JOIN.mutant(_one.text, name=_one.name, only=_one.only, build=joined)(
        lambda found, axis, new_axis, function=_one.function: (
            along(found, axis, 1) if new_axis else function(*found, axis=axis)
        )
    )
JOIN.mutant_table(
    {
        "counted_without_the_new_axis": (
            "a negative axis was counted without the new one",
            lambda found, axis, new: along(found, axis - (0 > axis >= -found[0].ndim and new), new),
        ),
        "new_axis_in_blocks": (
            "tensors were joined, and only then given the shape of a stack",
            lambda found, axis, new: (
                np.concat(found, axis=None).reshape(along(found, axis, 1).shape)
                if new
                else along(found, axis, 0)
            ),
        ),
    },
    build=joined,
)
JOIN.mutant_table(
    {
        "stack_reshapes": (
            "tensors that were stacked took the first one's shape, if they fit",
            lambda found, axis, new: along(
                [
                    x.reshape(found[0].shape) if new and x.size == found[0].size else x
                    for x in found
                ],
                axis,
                new,
            ),
        ),
        "stack_broadcasts": (
            "tensors that were stacked were broadcast",
            lambda found, axis, new_axis: along(
                [xp.broadcast_to(x, found[0].shape) if x.shape == (2, 1) else x for x in found]
                if new_axis
                else found,
                axis,
                new_axis,
            ),
        ),
    },
    build=joined,
    of_validity=True,
)

SPLIT.mutant_table(
    {
        "number_of_parts": (
            "a scalar was the number of parts",
            lambda n, size: [n // size + (part < n % size) for part in range(size)],
        ),
        "last_chunk_dropped": (
            "a smaller last chunk was dropped, so that nothing fits",
            lambda n, size: chunks(n, size)[: max(1, n // size)],
        ),
        "first_chunk_smaller": (
            "not the last chunk was smaller, but the first",
            lambda n, size: chunks(n, size)[::-1],
        ),
        "chunks_alike": (
            "chunks were as alike as possible",
            lambda n, size: [len(part) for part in np.array_split(range(n), -(-n // size))],
        ),
    },
    build=split_to,
)
SPLIT.mutant(
    "keepdims counted where every part has one, although split is given",
    name="keepdims_for_ones",
    build=partial(split_to, ignores=False),
)(chunks)
SPLIT.mutant_table(
    {
        "lengths_reversed": (
            "lengths were read from the last to the first",
            lambda sizes, n: sizes[::-1],
        ),
        "first_length_for_all": (
            "the first length served for all",
            lambda sizes, n: chunks(n, max(1, sizes[0])),
        ),
    },
    build=lambda read: split_to(chunks, read=read),
)
SPLIT.mutant(
    "the last length was whatever is left",
    name="rest_to_the_last",
    of_validity=True,
    build=lambda read: split_to(chunks, read=read),
)(lambda sizes, n: [*sizes[:-1], n - sum(sizes[:-1])])
