"""Kernels that compute some operators as fast as NumPy allows, beside their formulas.

A module here is named as the operator's file, and has `native(bound, *inputs, threads)`. Nothing
but the `numpy` backend knows it: answers are judged by the formulas. Every kernel has to lie within
the bound of its operator's formula, on any memory layout.
"""

import importlib
import importlib.util
from functools import cache
from typing import Any

from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import Node, bind
from opcheck.errors import InvalidNode
from opcheck.model import Array


def natively(node: Node, threads: int = 1) -> tuple[Array, ...]:
    """The outputs by a kernel of its own, in `threads` threads, or else by the formula.

    Raises what `evaluate` raises.
    """
    bound = bind(node)
    kernel = _kernel(bound.operator.module.rpartition(".")[2])
    if kernel is None:
        return evaluate(node)
    try:
        found: tuple[Array, ...] = kernel(bound, *node.inputs, threads=threads)
    except InvalidNode as error:
        raise InvalidNode(f"{node.op}: {error}") from None
    return found


@cache
def _kernel(name: str) -> Any:
    module = f"{__name__}.{name}"
    if importlib.util.find_spec(module) is None:
        return None
    return importlib.import_module(module).native
