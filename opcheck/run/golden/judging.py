"""Stored answers against today's oracles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from opcheck import dtypes
from opcheck.compare.ulp import distance
from opcheck.compare.wants import computed_want
from opcheck.engine import Exact, exactly, operator_of
from opcheck.errors import InvalidNode
from opcheck.model import Array, Task
from opcheck.precise import Undecided
from opcheck.run.golden.oracles import Disagreement, by_engine, outputs, same
from opcheck.run.golden.tolerances import ends
from opcheck.suite.golden_manifest import Method


def accepted(task: Task, operands: Sequence[Array]) -> str | None:
    """What is to be said of a model that is to be refused, None if the oracles refuse it too."""
    try:
        if outputs(task.op, operands, task.attrs) is not None:
            return "is to be refused, but both oracles accept it"
    except (InvalidNode, Undecided):
        return None
    except (Disagreement, MemoryError) as error:
        return f"the oracles: {error}"
    return None


def wrong_answers(
    task: Task,
    operands: Sequence[Array],
    stored: Sequence[Array],
    method: Method | None,
    allowed: tuple[float, float],
) -> Iterator[tuple[str | None, str]]:
    """What the oracles say against stored outputs, by the stems of their files.

    None stands for the model. Outputs that a case stated may lie `allowed` = (rtol, atol) off;
    those of the engine alone are held against the engine alone.
    """
    try:
        if method == "engine":
            arrays = by_engine(task.op, operands, task.attrs)
        else:
            found = outputs(task.op, operands, task.attrs)
            arrays = found.arrays if found else None
    except (InvalidNode, Undecided, Disagreement, MemoryError) as error:
        yield None, f"today's oracles give no answer: {error}"
        return
    if arrays is None:
        if method != "stated":
            yield None, "no oracle of this opcheck knows the operator"
        return
    if len(arrays) != len(stored):
        yield None, f"gives {len(arrays)} outputs, the manifest says {len(stored)}"
        return
    for number, (want, got) in enumerate(zip(arrays, stored, strict=True)):
        told = _wrong(want, got, allowed if method == "stated" else None)
        if told:
            yield f"output_{number}", told


def _wrong(want: Array, got: Array, allowed: tuple[float, float] | None) -> str | None:
    if (want.dtype, want.shape) != (got.dtype, got.shape):
        told = f"the oracles give {dtypes.of(want)}{list(want.shape)}"
        return f"holds {dtypes.of(got)}{list(got.shape)}, {told}"
    wrong = ~same(want, got)
    if allowed is not None and wrong.any():
        with np.errstate(all="ignore"):
            wrong &= ~np.isclose(got, want, *allowed, equal_nan=True)
    if not wrong.any():
        return None
    place = tuple(map(int, np.argwhere(wrong)[0]))
    count = f"{int(np.count_nonzero(wrong)):,} of {want.size:,} elements are wrong"
    return f"{count}: at {list(place)} it has {got[place]!s}, the oracles {want[place]!s}"


def wrong_ends(
    task: Task,
    operands: Sequence[Array],
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
        answers = exactly(task.op, operands, task.attrs)
    except (InvalidNode, MemoryError):
        # The answers themselves are told; without any there are no ends.
        return
    every = enumerate(zip(answers, stored, lowest, highest, strict=True))
    for number, (answer, output, low, high) in every:
        if not isinstance(answer, Exact) or answer.values.shape != output.shape:
            continue
        mine = ends(computed_want(task.op, "", answer), output, None)
        for kind, want, got in (("lowest", mine.lowest, low), ("highest", mine.highest, high)):
            if (distance(want, got) > 1).any():
                yield f"{kind}_{number}", "is not what the operator's error bound allows"
