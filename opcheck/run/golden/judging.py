"""Stored answers against today's oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from opcheck import dtypes
from opcheck.compare.ulp import distance
from opcheck.compare.wants import computed_want
from opcheck.engine import Expected, operator_of
from opcheck.engine.evaluate import exactly
from opcheck.errors import InvalidNode
from opcheck.model import Array, Task
from opcheck.run.golden.oracles import node_of, outputs, same
from opcheck.run.golden.tolerances import ends
from opcheck.suite.golden_manifest import Method


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
