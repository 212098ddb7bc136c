"""Small backends for tests, each wrong in one known way.

`Fake` answers with any function, or fails as told; `HABITS` are ways to break the protocol
(overwrite inputs, reuse buffers, go stale …). Wrong answers of an operator are its mistakes in
the engine.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from opcheck.model import BackendInfo, Task

Run: TypeAlias = Callable[[Sequence[Any]], Any]


class Refused(Exception):
    """The documented error of every backend here."""


def _raise(error: BaseException) -> Any:
    raise error


@dataclass(frozen=True)
class Ready:
    """A prepared task that answers by calling `run`."""

    run: Run


@dataclass(frozen=True)
class Fake:
    """A backend whose `prepare` calls `prepared` with the task to get the function that runs."""

    prepared: Callable[[Task], Run]
    address: str = "fake"
    documented_errors: tuple[type[BaseException], ...] = (Refused,)

    @property
    def info(self) -> BackendInfo:
        return BackendInfo(self.address, "fake", "1.0")

    def prepare(self, task: Task) -> Any:
        return Ready(self.prepared(task))


def answering(run: Run) -> Fake:
    """Whatever the task, the answer of `run`."""
    return Fake(lambda _: run)


def of_operand(run: Callable[[Task, Any], Any]) -> Callable[[Task], Run]:
    """What is prepared for operators of one input, be it fed or a constant of the model."""
    return lambda task: lambda inputs: run(task, task.operands(inputs)[0])


def refusing(error: BaseException | None = None, stage: str = "prepare") -> Fake:
    """Raises in `prepare` or in `run`."""
    error = error or Refused("no such model")
    if stage == "prepare":
        return Fake(lambda _: _raise(error))
    return answering(lambda _: _raise(error))


def in_turn(*answers: Any) -> Fake:
    """The given answers, one a run; an exception among them is raised."""

    def prepared(_: Task) -> Run:
        left = list(answers)

        def run(inputs: Sequence[Any]) -> Any:
            answer = left.pop(0)
            return _raise(answer) if isinstance(answer, BaseException) else answer

        return run

    return Fake(prepared)


class Anew:
    """What is prepared at opset 13: each time the next of these answers, or of these errors."""

    def __init__(self, *answers: Any) -> None:
        self.answers = itertools.cycle(answers)

    def __call__(self, task: Task) -> Run:
        if task.opset != 13:
            raise Refused("this opset never")
        answer = next(self.answers)
        return lambda _: _raise(answer) if isinstance(answer, BaseException) else [answer.copy()]


def twice(inputs: Sequence[Any]) -> Any:
    """A right answer to try habits on."""
    return [inputs[0] + inputs[0]]


def _modifies_its_input(run: Run) -> Run:
    def habitual(inputs: Sequence[Any]) -> Any:
        outputs = [out.copy() for out in run(inputs)]
        inputs[0][...] = 77
        return outputs

    return habitual


def _returns_its_only_buffer(run: Run) -> Run:
    buffers: list[Any] = []

    def habitual(inputs: Sequence[Any]) -> Any:
        outputs = run(inputs)
        buffers.extend(out.copy() for out in outputs[len(buffers) :])
        for buffer, out in zip(buffers, outputs, strict=True):
            buffer[...] = out
        return buffers

    return habitual


def _returns_the_first_answer_forever(run: Run) -> Run:
    kept: list[Any] = []

    def habitual(inputs: Sequence[Any]) -> Any:
        kept[:] = kept or run(inputs)
        return [out.copy() for out in kept]

    return habitual


def _adds_up(run: Run) -> Run:
    sums: list[Any] = []

    def habitual(inputs: Sequence[Any]) -> Any:
        outputs = run(inputs)
        sums[:] = [out + old for out, old in zip(outputs, sums or [0] * len(outputs), strict=True)]
        return [out.copy() for out in sums]

    return habitual


def _raises_the_second_time(run: Run) -> Run:
    runs: list[int] = []

    def habitual(inputs: Sequence[Any]) -> Any:
        runs.append(1)
        return run(inputs) if len(runs) == 1 else _raise(Refused("once is enough"))

    return habitual


#: What is done to the function that runs a prepared task.
HABITS: dict[str, Callable[[Run], Run]] = {
    "modifies_its_input": _modifies_its_input,
    "returns_its_only_buffer": _returns_its_only_buffer,
    "returns_the_first_answer_forever": _returns_the_first_answer_forever,
    "adds_up": _adds_up,
    "raises_the_second_time": _raises_the_second_time,
}


def offer(site: Path, distribution: str, *points: str) -> None:
    """Install a distribution that has nothing but entry points, which are backends."""
    folder = site / f"{distribution}-1.5.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
    (folder / "entry_points.txt").write_text("\n".join(["[opcheck.backends]", *points, ""]))
