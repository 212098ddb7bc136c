"""What comes out of a node, correctly rounded; and stored answers against that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.compare.outputs import computed_want
from opcheck.compare.ulp import distance
from opcheck.dtypes import parts
from opcheck.engine import Expected, Node, operator_of
from opcheck.engine.evaluate import exactly
from opcheck.engine.rounding import correctly_rounded
from opcheck.errors import Exit, InvalidNode, NotSupported, OpcheckError
from opcheck.model import Array, Task
from opcheck.run.golden.tolerances import ends
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


def accepted(task: Task, inputs: Sequence[Array]) -> str | None:
    """Return what is wrong with a model that must be refused; None if the oracle refuses it."""
    try:
        if outputs(task, inputs) is not None:
            return "must be refused, but the oracle accepts it"
    except InvalidNode:
        return None
    except (ValueError, MemoryError) as error:
        return f"the oracle gives no answer: {error}"
    return None


def wrong_answers(
    task: Task,
    inputs: Sequence[Array],
    stored: Sequence[Array],
    method: Method | None,
    allowed: tuple[float, float],
) -> Iterator[tuple[str | None, str]]:
    """What is wrong with stored outputs, by the stems of their files; None stands for the model.

    Outputs that a case stated may lie `allowed` = (rtol, atol) off.
    """
    try:
        found = outputs(task, inputs)
    except (InvalidNode, ValueError, MemoryError) as error:
        yield None, f"today's oracle gives no answer: {error}"
        return
    if found is None:
        if method != "stated":
            yield None, "this opcheck lacks the operator"
        return
    if len(found.arrays) != len(stored):
        yield None, f"gives {len(found.arrays)} outputs, the manifest says {len(stored)}"
        return
    for number, (want, got) in enumerate(zip(found.arrays, stored, strict=True)):
        told = _wrong(want, got, allowed if method == "stated" else None)
        if told:
            yield f"output_{number}", told


def _wrong(want: Array, got: Array, allowed: tuple[float, float] | None) -> str | None:
    if (want.dtype, want.shape) != (got.dtype, got.shape):
        told = f"the oracle gives {dtypes.of(want)}{list(want.shape)}"
        return f"holds {dtypes.of(got)}{list(got.shape)}, {told}"
    wrong = ~same(want, got)
    if allowed is not None and wrong.any():
        with np.errstate(all="ignore"):
            wrong &= ~np.isclose(got, want, *allowed, equal_nan=True)
    if not wrong.any():
        return None
    place = tuple(map(int, np.argwhere(wrong)[0]))
    count = f"{int(np.count_nonzero(wrong)):,} of {want.size:,} elements are wrong"
    return f"{count}: at {list(place)} it has {got[place]!s}, the oracle {want[place]!s}"


def wrong_ends(
    task: Task,
    inputs: Sequence[Array],
    stored: Sequence[Array],
    lowest: Sequence[Array],
    highest: Sequence[Array],
) -> Iterator[tuple[str, str]]:
    """Ends that are not those of the operator's error bound, by the stems of their files.

    One ULP is for what other machines round.
    """
    if operator_of(task.op) is None:
        return
    try:
        answers = exactly(node_of(task, inputs))
    except (InvalidNode, MemoryError):
        # The answers themselves are reported; without any there are no ends.
        return
    every = enumerate(zip(answers, stored, lowest, highest, strict=True))
    for number, (answer, output, low, high) in every:
        if not isinstance(answer, Expected) or answer.values.shape != output.shape:
            continue
        mine = ends(computed_want(task.op, "", answer), output, None)
        for kind, want, got in (("lowest", mine.lowest, low), ("highest", mine.highest, high)):
            if (distance(want, got) > 1).any():
                yield f"{kind}_{number}", "is not what the operator's error bound allows"
