"""Faults of how an axis is read and how an input is coerced to a matrix, which operators share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from opcheck.engine.mutants.mutant import Faulty
from opcheck.errors import InvalidNode
from opcheck.numbers import Fault

_EITHER_END = "from_either_end"
_BOTH = (_EITHER_END, "from_the_front")


def _outside(change: Callable[[int, int], int]) -> Fault:
    """What `change` makes of an axis that is out of range; a tensor of rank 0 has none."""

    def axis_of(original: Any, axis: int, rank: int) -> int:
        try:
            return int(original(axis, rank))
        except InvalidNode:
            if not rank:
                raise
            return change(axis, rank)

    return axis_of


def _stated(change: Callable[[int, int], int]) -> Fault:
    """Another axis is taken; `change` takes the axis as it is stated, and the rank."""

    def axis_of(original: Any, axis: int, rank: int) -> int:
        return int(original(change(axis, rank), rank))

    return axis_of


def _found(change: Callable[[int, int], int]) -> Fault:
    """Another axis is taken; `change` takes the right one, counted from the front."""

    def axis_of(original: Any, axis: int, rank: int) -> int:
        return change(int(original(axis, rank)), rank)

    return axis_of


def _refused(when: Callable[[int], bool], why: str) -> Fault:
    def axis_of(original: Any, axis: int, rank: int) -> int:
        if when(axis):
            raise InvalidNode(why)
        return int(original(axis, rank))

    return axis_of


def _axes() -> Iterator[Faulty]:
    for name, text, fault in (
        ("axis_wraps", "an axis out of range was taken modulo the rank", _outside(
            lambda axis, rank: axis % rank)),
        ("axis_clamped", "an axis out of range was clamped to the nearest one", _outside(
            lambda axis, rank: min(max(axis, 0), rank - 1))),
        ("out_of_range_is_last", "an axis out of range was taken for the last one", _outside(
            lambda axis, rank: rank - 1)),
        ("axis_1_always", "axis 1 was taken, whatever the attribute", _found(
            lambda axis, rank: min(1, rank - 1))),
        ("first_axis_always", "the first axis was taken, whatever the attribute", _found(
            lambda axis, rank: 0)),
        ("last_axis_always", "the last axis was taken, whatever the attribute", _found(
            lambda axis, rank: rank - 1)),
        ("axis_mirrored", "the axis was counted from the wrong end", _found(
            lambda axis, rank: rank - 1 - axis)),
        ("axis_minus_1", "the axis before the right one was taken", _found(
            lambda axis, rank: (axis - 1) % rank)),
        ("axis_plus_1", "the axis after the right one was taken", _found(
            lambda axis, rank: (axis + 1) % rank)),
        ("axis_0_is_1_of_rank_5",
         "axis 1 was taken in place of axis 0 where there are more than four axes", _found(
            lambda axis, rank: (axis or 1) if rank > 4 else axis)),
        ("axis_of_rank_5_exchanged",
         "the first two of more than four axes were exchanged", _found(
            lambda axis, rank: 1 - axis if rank > 4 and axis < 2 else axis)),
    ):  # fmt: skip
        for primitive in _BOTH:
            yield Faulty(primitive, name, text, fault)
    for name, text, fault in (
        ("axis_in_32_bits", "the axis was cut down to 32 bits", _stated(
            lambda axis, rank: (axis + 2**31) % 2**32 - 2**31)),
        ("negative_axis_off_by_one",
         "negative axes were counted from -2, so that -2 was taken for the last one", _stated(
            lambda axis, rank: axis if axis >= -1 else axis + 1)),
        ("minus_sign_ignored", "the minus sign of a negative axis was ignored", _stated(
            lambda axis, rank: abs(axis))),
        ("axis_of_vector_as_of_a_matrix",
         "a vector, taken for a matrix of one row, had the range of a matrix's axis", _stated(
            lambda axis, rank: 0 if rank == 1 and -2 <= axis < 2 else axis)),
        ("refuses_negative_axes", "negative axes were refused", _refused(
            lambda axis: axis < 0, "the axis is negative")),
    ):  # fmt: skip
        yield Faulty(_EITHER_END, name, text, fault)


def _matrices() -> Iterator[Faulty]:
    for name, text, matrix in (
        ("coercion_one_axis_long",
         "the input was coerced to two dimensions one axis before the right one",
         lambda shape, axis: (prod(shape[: max(axis - 1, 0)]), prod(shape[max(axis - 1, 0) :]))),
        ("coercion_one_axis_short",
         "the input was coerced to two dimensions behind the axis, not before it",
         lambda shape, axis: (prod(shape[: axis + 1]), prod(shape[axis + 1 :]))),
        ("whole_tensor", "the whole tensor was one row", lambda shape, axis: (1, prod(shape))),
        ("shape_reversed", "the shape was read from the last axis to the first",
         lambda shape, axis: (prod(shape[::-1][:axis]), prod(shape[::-1][axis:]))),
    ):  # fmt: skip
        yield Faulty("matrix_of", name, text, lambda _, shape, axis, m=matrix: m(shape, axis))


FAULTS: tuple[Faulty, ...] = (*_axes(), *_matrices())
