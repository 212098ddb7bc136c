"""Causes of formulas: one of several products, sums or quotients is left out.

Mutants of functions are wrong in each of their calls; these are wrong in one. It is named by the
input or attribute that it is taken with, and only by its place in the formula if it has none.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.mutants.elements import FLOATS
from opcheck.engine.mutants.mutant import Mutant, evaluated
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array
from opcheck.opset import Schema

#: Functions of two operands, of which one step is called so.
_STEPS = {"multiply": "product", "divide": "quotient", "add": "sum", "subtract": "difference"}
#: What joins such a step to its operand, in words; of a quotient and a difference the second one.
_JOINED = {"multiply": "with", "divide": "by", "add": "with", "subtract": "from"}
#: Functions whose operands can be exchanged.
_COMMUTATIVE = ("multiply", "add")
#: Returns True for an operand of a step that is the input or attribute in question, of a node.
IsOperand: TypeAlias = Callable[[Node, Any], bool]
#: The first calls of each function, in words.
_ORDINALS = ("first", "second", "third")


def mutants(schema: Schema, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of a version that computes with floating numbers.

    known: the operator.
    """
    if known.exact:
        return
    operands: dict[str, IsOperand] = {}
    for place, parameter in enumerate(schema.inputs):
        if parameter.option != "variadic":
            operands[parameter.name] = partial(is_input, place)
    for attribute in schema.attributes.values():
        if attribute.type == "float" and attribute.name not in known.ignores:
            operands[attribute.name] = partial(is_number, attribute.name, attribute.default)
    for function, word in _STEPS.items():
        for name, is_operand in operands.items():
            text = f"the {word} {_JOINED[function]} {name} was left out"
            answer = partial(operand_left_out, function, is_operand)
            name = f"{word}_{_JOINED[function]}_{name}_left_out"
            yield Mutant(name, text, answer, primitive=function, only=FLOATS)
    for function, word in _STEPS.items():
        for number, ordinal in enumerate(_ORDINALS):
            # In what order steps are taken is known of opcheck's own formula alone.
            text = f"one {word} was left out, the {ordinal} of opcheck's own formula"
            answer = partial(step_left_out, function, number)
            name = f"{ordinal}_{word}_left_out"
            yield Mutant(name, text, answer, primitive=function, only=FLOATS)


def is_input(place: int, node: Node, operand: Any) -> bool:
    """Return True for a tensor that holds the elements of an input, in any shape."""
    x = node.inputs[place] if place < len(node.inputs) else None
    if x is None or not isinstance(operand, np.ndarray) or operand.size != x.size:
        return False
    elements = operand.reshape(-1)
    return np.array_equal(elements, x.reshape(-1).astype(operand.dtype), equal_nan=True)


def is_number(name: str, default: Any, node: Node, operand: Any) -> bool:
    """Return True for the number that an attribute is, stated or by default."""
    value = node.attrs.get(name, default)
    return isinstance(value, int | float) and not np.ndim(operand) and bool(operand == value)


def operand_left_out(function: str, is_operand: IsOperand, node: Node) -> Sequence[Array]:
    """Mutant: a function with an operand in question returns the other one, in the same shape."""

    def fault(original: Any, one: Any, other: Any) -> Any:
        """Return the operand that is left, or the right result of others."""
        result = original(one, other)
        if is_operand(node, other):
            return np.broadcast_to(one, np.shape(result)).astype(np.result_type(result))
        if function in _COMMUTATIVE and is_operand(node, one):
            return np.broadcast_to(other, np.shape(result)).astype(np.result_type(result))
        return result

    return evaluated(None, {function: fault}, node)


def step_left_out(function: str, number: int, node: Node) -> Sequence[Array]:
    """Mutant: of the calls of a function the one of this number, from 0, returns an operand.

    That is the tensor next to a number, or the one of more axes, or the first of two, broadcast to
    the shape of the result.
    """
    calls = count()

    def fault(original: Any, one: Any, other: Any) -> Any:
        """Return the right result, or in the call in question an operand."""
        result = original(one, other)
        if next(calls) != number:
            return result
        operand = max(one, other, key=axes_of_tensor)
        if np.shape(operand) == np.shape(result):
            return operand
        return np.broadcast_to(operand, np.shape(result))

    return evaluated(None, {function: fault}, node)


def axes_of_tensor(operand: Any) -> int:
    """Return the number of axes of a tensor, and -1 for a number."""
    return operand.ndim if isinstance(operand, np.ndarray) else -1
