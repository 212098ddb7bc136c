"""Causes of operators that broadcast: an operand that is stretched reaches only a part."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from opcheck.engine.mutants.elements import blank
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.mutants.schema import ELEMENTWISE
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array


def mutants(known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of an operator whose elements do not touch each other.

    known: the operator.
    """
    if known.module.rpartition(".")[2] not in ELEMENTWISE:
        return
    for passes, words in ((True, "the other operand came out"), (False, "zeros came out")):
        text = f"a stretched operand reached only the first entry of its axis, and else {words}"
        name = "stretched_operand_in_the_first_entry" + ("" if passes else "_and_else_zeros")
        yield Mutant(name, text, partial(first_entry_alone, passes))


def first_entry_alone(passes: bool, node: Node) -> Sequence[Array]:
    """Mutant: the result is right for the first entry of axes along which an operand is stretched.

    Elsewhere it is the other operand if that `passes` and is as large as the output, or else zero.
    """
    out, *others = node.right
    if len(node.given) != 2:
        return node.right
    for place, operand in enumerate(node.given):
        other = node.given[1 - place]
        if operand.shape == out.shape or other.shape != out.shape:
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
