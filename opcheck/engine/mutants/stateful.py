"""Wrong behaviour between the runs of one prepared node, which no single answer shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class StatefulMutant:
    """One way to break the promise that runs do not touch each other.

    `name` and `text` are as a mistake's; `spoilt` makes of a right run one that has the habit.
    """

    name: str
    text: str
    spoilt: Callable[[Run], Run]


def _overwrites_its_input(run: Run) -> Run:
    def spoilt(inputs: Sequence[Any]) -> Sequence[Any]:
        outputs = [out.copy() for out in run(inputs)]
        inputs[0][...] = 0
        inputs[0].reshape(-1)[:1] = 1
        return outputs

    return spoilt


def _returns_its_only_buffer(run: Run) -> Run:
    buffers: list[Any] = []

    def spoilt(inputs: Sequence[Any]) -> Sequence[Any]:
        outputs = run(inputs)
        buffers.extend(out.copy() for out in outputs[len(buffers) :])
        for buffer, out in zip(buffers, outputs, strict=True):
            buffer[...] = out
        return buffers

    return spoilt


def _returns_the_first_answer_for_ever(run: Run) -> Run:
    kept: list[Any] = []

    def spoilt(inputs: Sequence[Any]) -> Sequence[Any]:
        kept[:] = kept or [out.copy() for out in run(inputs)]
        return [out.copy() for out in kept]

    return spoilt


def _adds_to_the_last_answer(run: Run) -> Run:
    sums: list[Any] = []

    def spoilt(inputs: Sequence[Any]) -> Sequence[Any]:
        outputs = run(inputs)
        sums[:] = [a + b for a, b in zip(outputs, sums, strict=True)] if sums else outputs
        return [out.copy() for out in sums]

    return spoilt


def _another(out: Any) -> Any:
    if out.dtype.hasobject:
        return out + "."
    return ~out if out.dtype.kind in "biu" else -out - 1


def _negates_from_the_second_run(run: Run) -> Run:
    runs: list[None] = []

    def spoilt(inputs: Sequence[Any]) -> Sequence[Any]:
        outputs = run(inputs)
        runs.append(None)
        return [*map(_another, outputs)] if len(runs) > 1 else outputs

    return spoilt


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
