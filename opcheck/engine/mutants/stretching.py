"""Causes of operators that broadcast: an operand reaches only a part, or lies along other axes."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from opcheck.engine.mutants.elements import blank
from opcheck.engine.mutants.mutant import Mutant, reading
from opcheck.engine.mutants.schema import ELEMENTWISE
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array

#: Makes another operand of one that is stretched to a shape; returns it as it is for others.
OperandChange: TypeAlias = Callable[[Array, Sequence[int]], Array]
_OPERANDS = 2
_AXES_OF_A_MATRIX = 2
#: Families of operators that broadcast, but whose elements touch each other, or have no numbers.
_ALSO_BROADCASTING = ("matmul", "strings", "where")
#: Of fewer axes, that of the channels is the last.
_FEWEST_AXES_WITH_CHANNELS = 3


def mutants(known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of an operator that broadcasts.

    known: the operator.
    """
    family = known.module.rpartition(".")[2]
    if family in (*ELEMENTWISE, *_ALSO_BROADCASTING):
        yield from _of_other_axes()
    if family not in ELEMENTWISE:
        return
    for suffix, which, is_concerned in (
        ("", "", is_any),
        ("_of_equal_rank", " of equal rank", are_of_equal_rank),
        ("_of_a_matrix", " that is a row [1, n]", is_row_of_matrix),
    ):
        for passes, rest, words in (
            (True, "", "the other operand came out"),
            (False, "_and_else_zeros", "zeros came out"),
        ):
            text = f"a stretched operand{which} reached the first row alone, and elsewhere {words}"
            name = f"stretched_to_the_first_row_alone{suffix}{rest}"
            yield Mutant(name, text, partial(first_entry_alone, passes, is_concerned))


def is_any(operand: Array, other: Array) -> bool:
    """Return True."""
    return True


def are_of_equal_rank(operand: Array, other: Array) -> bool:
    """Return True for tensors of as many axes."""
    return operand.ndim == other.ndim


def is_row_of_matrix(operand: Array, other: Array) -> bool:
    """Return True for a matrix of one row, and one of rows as long."""
    are_matrices = operand.ndim == other.ndim == _AXES_OF_A_MATRIX
    return are_matrices and operand.shape == (1, other.shape[1])


def first_entry_alone(
    passes: bool, is_concerned: Callable[[Array, Array], bool], node: Node
) -> Sequence[Array]:
    """Mutant: the result is right for the first entry of axes along which an operand is stretched.

    Elsewhere it is the other operand if that `passes` and is as large as the output, or else zero.
    Only of operands that are concerned.
    """
    out, *others = node.right
    if len(node.given) != _OPERANDS:
        return node.right
    for place, operand in enumerate(node.given):
        other = node.given[1 - place]
        reaches = _is_stretched(operand.shape, out.shape) and other.shape == out.shape
        if not reaches or not is_concerned(operand, other):
            continue
        is_first = _is_first_along_stretched(operand.shape, out.shape)
        if not passes:
            return [np.where(is_first, out, blank(out)), *others]
        if other.dtype == out.dtype:
            return [np.where(is_first, out, other), *others]
    return node.right


def _is_first_along_stretched(shape: Sequence[int], to: Sequence[int]) -> Array:
    """Return a mask of the first entries along the axes by which `shape` is stretched `to`."""
    lengths = (*[1] * (len(to) - len(shape)), *shape)
    mask = np.ones(to, bool)
    for axis, (length, longer) in enumerate(zip(lengths, to, strict=True)):
        if length != longer:
            first = np.arange(longer) == 0
            mask &= first.reshape([-1 if at == axis else 1 for at in range(len(to))])
    return mask


# ── along other axes ──────────────────────────────────────────────────────────────────────────


def _of_other_axes() -> Iterator[Mutant]:
    """Yield mutants that read a stretched operand along other axes than the last ones."""
    for name, text, change in (
        (
            "stretched_along_channels",
            "an operand of rank 1, as long as axis 1 of the other, lay along that",
            along_channels,
        ),
        (
            "stretched_from_one_element",
            "of a stretched operand the first element served for all",
            first_element,
        ),
    ):
        yield reading(name, text, partial(with_stretched, change))


def with_stretched(change: OperandChange, node: Node) -> Node:
    """Return a node whose operands that are stretched to the shape of the output are changed."""
    if len(node.given) < _OPERANDS:
        return node
    shape = node.right[0].shape
    for place, operand in enumerate(node.inputs):
        if operand is not None and operand.size > 1 and _is_stretched(operand.shape, shape):
            node = node.with_input(place, change(operand, shape))
    return node


def _is_stretched(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Return True if a tensor of a shape broadcasts to another one."""
    pairs = zip(reversed(shape), reversed(to), strict=False)
    fits = len(shape) <= len(to) and all(length in (1, longer) for length, longer in pairs)
    return fits and tuple(shape) != tuple(to)


def along_channels(operand: Array, shape: Sequence[int]) -> Array:
    """Mutant: as many elements as there are channels are one for each of these."""
    if len(shape) < _FEWEST_AXES_WITH_CHANNELS or operand.shape != tuple(shape[1:2]):
        return operand
    return operand.reshape(-1, *[1] * (len(shape) - 2))


def first_element(operand: Array, shape: Sequence[int]) -> Array:
    """Mutant: the operand is its first element."""
    return np.asarray(operand.reshape(-1)[0])
