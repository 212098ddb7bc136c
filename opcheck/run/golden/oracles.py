"""What comes out of a node, correctly rounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import parts
from opcheck.engine import Node, operator_of
from opcheck.engine.rounding import correctly_rounded
from opcheck.errors import Exit, NotSupported, OpcheckError
from opcheck.model import Array, Task
from opcheck.suite.golden_manifest import Method


class Disagreement(ValueError):
    """The oracle and the case contradict each other; nothing may be written."""


class UnsoundArithmetic(OpcheckError):
    """The arithmetic of this process is not that of IEEE 754."""

    exit_code = Exit.UNUSABLE


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of a node and how they came about."""

    arrays: tuple[Array, ...]
    method: Method


def node_of(task: Task, inputs: Sequence[Array]) -> Node:
    """The node that a task states."""
    return Node(task.op, tuple(task.operands(inputs)), task.attrs, len(task.outputs))


def outputs(task: Task, inputs: Sequence[Array]) -> Outputs | None:
    """The right outputs, each value correctly rounded; None if the engine lacks the operator.

    Raises InvalidNode, UnsoundArithmetic, and ValueError where it is not certain what an output
    rounds to.
    """
    if operator_of(task.op) is None:
        return None
    require_sound_arithmetic()
    try:
        arrays, method = correctly_rounded(node_of(task, inputs))
    except NotSupported:
        return None
    return Outputs(tuple(map(_with_one_nan, arrays)), method)


def _with_one_nan(array: Array) -> Array:
    """The array with positive quiet NaNs, since their bits depend on the processor."""
    known = dtypes.of(array)
    if known is None or known.kind != "float":
        return array
    return np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)


def require_sound_arithmetic() -> None:
    """Raise UnsoundArithmetic unless this thread computes as IEEE 754's default has it.

    A library that was loaded may have made the processor flush subnormal numbers, or round
    differently.
    """
    one, half_step, least = np.array([1.0]), np.array([2.0**-53]), np.array([2.0**-1074])
    to_nearest = one + half_step == 1 and -one - half_step == -1 and one + 1.5 * half_step > 1
    if not (to_nearest and least * one > 0):
        raise UnsoundArithmetic(
            "floating-point numbers are not rounded to nearest here, or lose their subnormals",
            "something in this process changed the processor's floating-point mode",
        )


def same(one: Array, other: Array) -> Any:
    """Which elements are the same: all NaN are, +0 and −0 are not."""
    if one.dtype.kind in "bO":
        return np.asarray(one == other)
    if one.dtype.kind == "c":
        return np.all(same(parts(one), parts(other)), axis=-1)
    bits = f"u{one.itemsize}"
    equal = one.view(bits) == other.view(bits)
    if dtypes.of(one).kind != "float":  # type: ignore[union-attr]
        return equal
    return equal | (np.isnan(one) & np.isnan(other))
