"""Kernels that compute some operators as fast as NumPy allows, beside their formulas.

A module here is named as the operator's file. It has `native(bound, *inputs, threads)`, or in
FORMULAS, by operator and version, formulas of plain arrays in the place of the operator's own.
Nothing but the `numpy` backend knows it: answers are judged by the formulas. Every kernel has to
lie within the bound of its operator's formula, on any memory layout.
"""

import importlib
import importlib.util
from functools import cache
from types import ModuleType

from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import Node, bind
from opcheck.errors import InvalidNode
from opcheck.model import Array


def natively(node: Node, threads: int = 1) -> tuple[Array, ...]:
    """The outputs by a kernel of its own, in `threads` threads, or else by the formula.

    Raises what `evaluate` raises.
    """
    bound = bind(node)
    module = _module(bound.operator.module.rpartition(".")[2])
    kernel = getattr(module, "native", None)
    if kernel is None:
        of_op = getattr(module, "FORMULAS", {}).get(node.op.name, {})
        return evaluate(node, of_op.get(node.op.since))
    try:
        found: tuple[Array, ...] = kernel(bound, *node.inputs, threads=threads)
    except InvalidNode as error:
        raise InvalidNode(f"{node.op}: {error}") from None
    return found


@cache
def _module(name: str) -> ModuleType | None:
    module = f"{__name__}.{name}"
    return importlib.import_module(module) if importlib.util.find_spec(module) else None
