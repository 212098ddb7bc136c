"""Wrong behaviour between the runs of one prepared node, which no single answer shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]


#: What comes of the right outputs and the inputs of a run, and of what the runs before have kept.
Habit: TypeAlias = Callable[[Sequence[Any], Sequence[Any], list[Any]], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class StatefulMutant:
    """One way to break the promise that runs do not touch each other.

    `name` and `text` are as a mistake's; `habit` spoils a right run.
    """

    name: str
    text: str
    habit: Habit

    def spoilt(self, run: Run) -> Run:
        """A right run with the habit."""
        kept: list[Any] = []
        return lambda inputs: self.habit(run(inputs), inputs, kept)


def _copies(outputs: Sequence[Any]) -> list[Any]:
    return [out.copy() for out in outputs]


def _overwrites_its_input(outputs: Sequence[Any], inputs: Sequence[Any], _: Any) -> Sequence[Any]:
    made = _copies(outputs)
    inputs[0][...] = 0
    inputs[0].reshape(-1)[:1] = 1
    return made


def _returns_its_only_buffer(outputs: Sequence[Any], _: Any, buffers: list[Any]) -> Sequence[Any]:
    buffers.extend(_copies(outputs[len(buffers) :]))
    for buffer, out in zip(buffers, outputs, strict=True):
        buffer[...] = out
    return buffers


def _returns_the_first_answer_for_ever(
    outputs: Sequence[Any], _: Any, kept: list[Any]
) -> Sequence[Any]:
    kept[:] = kept or _copies(outputs)
    return _copies(kept)


def _adds_to_the_last_answer(outputs: Sequence[Any], _: Any, sums: list[Any]) -> Sequence[Any]:
    sums[:] = [a + b for a, b in zip(outputs, sums, strict=True)] if sums else outputs
    return _copies(sums)


def _another(out: Any) -> Any:
    if out.dtype.hasobject:
        return out + "."
    return ~out if out.dtype.kind in "biu" else -out - 1


def _negates_from_the_second_run(outputs: Sequence[Any], _: Any, runs: list[Any]) -> Sequence[Any]:
    runs.append(None)
    return [*map(_another, outputs)] if len(runs) > 1 else outputs


#: By what is seen of them: the second run alone, the first answer afterwards, or the input.
STATEFUL: tuple[StatefulMutant, ...] = (
    StatefulMutant("input_overwritten", "the input was overwritten", _overwrites_its_input),
    StatefulMutant("shared_buffer", "all runs answered in one buffer", _returns_its_only_buffer),
    StatefulMutant("stale_answer", "later runs gave the first run's answer",
                   _returns_the_first_answer_for_ever),
    StatefulMutant("adds_up", "every run added to the last answer", _adds_to_the_last_answer),
    StatefulMutant("second_run_negated", "runs after the first were wrong",
                   _negates_from_the_second_run),
)  # fmt: skip
