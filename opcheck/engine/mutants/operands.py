"""Causes of single inputs: one entry serves for all, and inputs behind the first two are ignored.

They also have axes that a formula moves, exchanged with one another. Suites need not see these
mutants: in many operators no case can show them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from opcheck.engine.mutants.mutant import Mutant, evaluated, reading
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode, WrongOperator
from opcheck.model import Array
from opcheck.opset import Schema

#: The axes of an input whose first entry may serve for all.
_AXES = (0, 1, -1)
#: Inputs beyond so many may be ignored where an operator takes any number of them.
_PAIR = 2
#: So many axes are moved at most in a formula that mutants are made of.
_MOST_MOVED = 6


def mutants(schema: Schema) -> Iterator[Mutant]:
    """Yield the mutants of a version that misread one of its inputs."""
    is_variadic = bool(schema.inputs) and schema.inputs[-1].option == "variadic"
    if len(schema.inputs) > 1 and not is_variadic:
        for place, parameter in enumerate(schema.inputs):
            for axis in _AXES:
                where = "the last axis" if axis < 0 else f"axis {axis}"
                yield reading(
                    f"first_of_{parameter.name}_for_all_along_axis_{axis}".replace("-", "minus_"),
                    f"of {parameter.name} the first entry along {where} served for all",
                    partial(first_entry_for_all, place, axis),
                )
    if is_variadic and len(schema.inputs) == 1:
        text = "of three inputs or more only the first two were taken"
        yield Mutant("inputs_behind_the_second_ignored", text, partial(_of_inputs, 0, _PAIR))
        text = "of several inputs only the first was taken"
        yield Mutant("inputs_behind_the_first_ignored", text, partial(_of_inputs, 0, 1))
        text = "of several inputs only the last was taken"
        yield Mutant("inputs_before_the_last_ignored", text, partial(_of_inputs, -1, None))
    for one, other in combinations(range(_MOST_MOVED), 2):
        name = f"moved_axes_{one}_and_{other}_exchanged"
        text = f"where axes are moved, the ones that become {one} and {other} were exchanged"
        answer = partial(_with_moved_axes_exchanged, one, other)
        yield Mutant(name, text, answer, primitive="permute_dims")


def first_entry_for_all(place: int, axis: int, node: Node) -> Node:
    """Return a node of whose input at a place each entry along an axis is the first one."""
    x = node.inputs[place] if place < len(node.inputs) else None
    if x is None or not -x.ndim <= axis < x.ndim or x.shape[axis] <= 1:
        return node
    first = np.take(x, [0], axis=axis)
    return node.with_input(place, np.broadcast_to(first, x.shape).copy())


def _of_inputs(start: int, stop: int | None, node: Node) -> Sequence[Array]:
    """Mutant: only the inputs from `start` to `stop` are taken, and stretched to the output."""
    inputs = node.inputs[start:stop]
    if len(inputs) == len(node.inputs):
        return node.right
    (out,) = replace(node, inputs=inputs).right
    (right,) = node.right
    if right.ndim < out.ndim or out.shape == right.shape:
        return [out]
    try:
        return [np.broadcast_to(out, right.shape).copy()]
    except ValueError:
        return [out]


def _with_moved_axes_exchanged(one: int, other: int, node: Node) -> Sequence[Array]:
    """Mutant: two axes of those that are moved take each other's place.

    Raises InvalidNode where the formula cannot go on with the shape that it gets then.
    """
    if not node.is_legal:
        return node.right
    fault = partial(with_axes_exchanged, one, other)
    try:
        return evaluated(None, {"permute_dims": fault}, node)
    except WrongOperator as error:
        raise InvalidNode("axes that were moved wrongly do not fit what follows") from error


def with_axes_exchanged(one: int, other: int, original: Any, x: Any, axes: Sequence[int]) -> Any:
    """Fault: two axes of those that are moved take each other's place."""
    order = [*axes]
    if other >= len(order):
        return original(x, axes)
    order[one], order[other] = order[other], order[one]
    return original(x, tuple(order))
