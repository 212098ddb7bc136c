"""Kernels that compute some operators as fast as NumPy allows, beside their formulas.

A module here is named as the operator's file. By operator it has functions of `(bound, *inputs,
threads)` in KERNELS, or, for each version too, formulas of plain arrays in the place of the
operator's own in FORMULAS.
Nothing but the `numpy` backend knows it: answers are judged by the formulas. Every kernel has to
lie within the bound of its operator's formula, on any memory layout.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from math import prod
from types import ModuleType
from typing import TypeVar

import numpy as np

from opcheck.engine.axes import Rows, from_either_end, from_the_front, matrix_of
from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import BoundNode, Node, bind, operator_of
from opcheck.errors import InvalidNode
from opcheck.model import Array


def natively(node: Node, threads: int = 1) -> tuple[Array, ...]:
    """The outputs by a kernel of its own, in `threads` threads, or else by the formula.

    Raises what `evaluate` raises.
    """
    operator = operator_of(node.op)
    module = operator and _module(operator.module.rpartition(".")[2])
    kernel = getattr(module, "KERNELS", {}).get(node.op.name)
    if kernel is None:
        of_op = getattr(module, "FORMULAS", {}).get(node.op.name, {})
        return evaluate(node, of_op.get(node.op.since))
    bound = bind(node)
    try:
        found: tuple[Array, ...] = kernel(bound, *node.inputs, threads=threads)
    except InvalidNode as error:
        raise InvalidNode(f"{node.op}: {error}") from None
    return found


@cache
def _module(name: str) -> ModuleType | None:
    module = f"{__name__}.{name}"
    return importlib.import_module(module) if importlib.util.find_spec(module) else None


_Piece = TypeVar("_Piece")


def as_laid_out(array: Array) -> bool:
    """Return True if `array` lies in memory like a new one, so that views can reshape it."""
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


def each(work: Callable[[_Piece], object], pieces: Iterable[_Piece], threads: int = 1) -> None:
    """Do `work` on each of the pieces, in `threads` threads.

    NumPy's `errstate` is the caller's in all of them. What `work` raises is raised, in the end.
    """
    if threads > 1:
        pieces = list(pieces)
        threads = min(threads, len(pieces))
    if threads <= 1:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        done = [pool.submit(copy_context().run, work, piece) for piece in pieces]
    for one in done:
        one.result()


def rows_of(bound: BoundNode) -> Rows:
    """The rows of Hardmax and Softmax, which all versions but one coerce to a matrix's lines."""
    node, axis = bound.node, bound.attrs["axis"]
    shape = node.inputs[0].shape  # type: ignore[union-attr]
    counted = (from_the_front if node.op.since == 1 else from_either_end)(axis, len(shape))
    if node.op.since < 13:
        return (*matrix_of(shape, counted), 1)
    return prod(shape[:counted]), shape[counted], prod(shape[counted + 1 :])
