"""Causes of formulas: one of several products, sums or quotients is left out.

Mutants of functions are wrong in each of their calls; these are wrong in one.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from opcheck.engine.mutants.elements import FLOATS
from opcheck.engine.mutants.mutant import Mutant, evaluated
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array

#: Functions of two operands, of which one step is called so.
_STEPS = {"multiply": "product", "divide": "quotient", "add": "sum", "subtract": "difference"}
#: The first calls of each function, in words.
_ORDINALS = ("first", "second", "third")


def mutants(known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of an operator that computes with floating numbers.

    known: the operator.
    """
    if known.exact:
        return
    for function, word in _STEPS.items():
        for number, ordinal in enumerate(_ORDINALS):
            text = f"the {ordinal} {word} of the formula was left out"
            answer = partial(step_left_out, function, number)
            name = f"{ordinal}_{word}_left_out"
            yield Mutant(name, text, answer, primitive=function, only=FLOATS)


def step_left_out(function: str, number: int, node: Node) -> Sequence[Array]:
    """Mutant: of the calls of a function the one of this number, from 0, returns an operand.

    That is the tensor next to a number, or the one of more axes, or the first of two.
    """
    calls = count()

    def fault(original: Any, one: Any, other: Any) -> Any:
        """Return the right result, or in the call in question an operand."""
        if next(calls) != number:
            return original(one, other)
        return max(one, other, key=axes_of_tensor)

    return evaluated(None, {function: fault}, node)


def axes_of_tensor(operand: Any) -> int:
    """Return the number of axes of a tensor, and -1 for a number."""
    return operand.ndim if isinstance(operand, np.ndarray) else -1
