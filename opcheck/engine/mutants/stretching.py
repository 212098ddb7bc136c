"""Causes of operators that broadcast: an operand that is stretched reaches only a part."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from opcheck.engine.mutants.elements import blank
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.mutants.schema import ELEMENTWISE
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array

_OPERANDS = 2
_AXES_OF_A_MATRIX = 2


def mutants(known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of an operator whose elements do not touch each other.

    known: the operator.
    """
    if known.module.rpartition(".")[2] not in ELEMENTWISE:
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
        is_stretched = operand.shape != out.shape and other.shape == out.shape
        if not is_stretched or not is_concerned(operand, other):
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
