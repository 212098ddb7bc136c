"""Backends that are wrong in one known way, made of the engine's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from opcheck.backends import attempt
from opcheck.engine import Node
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.stateful import StatefulMutant
from opcheck.errors import InvalidNode
from opcheck.model import Array, BackendInfo, Outcome, Question, Reply, Result, Task
from opcheck.run.trial import Judged, Trial


def node_of(task: Task, inputs: Sequence[Array]) -> Node:
    """The node of `task`, whose data nobody may change."""
    operands = tuple(task.operands(inputs))
    for array in operands:
        if array is not None:
            array.flags.writeable = False
    return Node(task.op, operands, task.attrs, len(task.outputs), bool(task.initializers))


def result_of(trial: Trial, info: BackendInfo, answer: Callable[[Question], Outcome]) -> Result:
    """What a backend that gives these answers at once is worth in one trial."""
    return judged(trial, info, answer).result


def judged(trial: Trial, info: BackendInfo, answer: Callable[[Question], Outcome]) -> Judged:
    """The same, with what it answered wrongly."""
    inquiry = trial.on(info)
    try:
        question = next(inquiry)
        while True:
            question = inquiry.send(Reply(answer(question)))
    except StopIteration as end:
        return cast(Judged, end.value)


@dataclass(frozen=True)
class Ready:
    """A prepared task that answers by calling `run`."""

    run: Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class Lying:
    """A backend that makes one mistake; asked once, because it would make it every time."""

    mistake: Mutant

    @property
    def info(self) -> BackendInfo:
        """It is called like its mistake."""
        return BackendInfo(self.mistake.name, "mistake", "", repeatable=False)

    @property
    def documented_errors(self) -> tuple[type[BaseException], ...]:
        """What the engine says of an invalid node, and the mistake of what it refuses."""
        return (InvalidNode,)

    def prepare(self, task: Task) -> Ready:
        """Ready to answer mistakenly."""
        return Ready(lambda inputs: self._made(node_of(task, _copied(inputs))))

    def _made(self, node: Node) -> Sequence[Any]:
        made = self.mistake.made_on(node)
        if isinstance(made, InvalidNode):
            raise made
        return made


@dataclass(frozen=True)
class Habitual:
    """A backend whose single answers are right, but whose runs disturb each other."""

    habit: StatefulMutant

    @property
    def info(self) -> BackendInfo:
        """It is called like its habit."""
        return BackendInfo(self.habit.name, "habit", "")

    @property
    def documented_errors(self) -> tuple[type[BaseException], ...]:
        """What the engine says of an invalid node."""
        return (InvalidNode,)

    def prepare(self, task: Task) -> Ready:
        """Ready to answer, the first time rightly."""
        return Ready(self.habit.spoilt(lambda inputs: node_of(task, _copied(inputs)).right))


@dataclass(frozen=True)
class Telling:
    """A backend that has one answer, or refusal, for the one question that it is asked."""

    answer: Sequence[Any] | InvalidNode

    info = BackendInfo("told", "told", "", repeatable=False)
    documented_errors = (InvalidNode,)

    def prepare(self, task: Task) -> Ready:
        """Ready to say it."""
        return Ready(self._say)

    def _say(self, inputs: Sequence[Any]) -> Sequence[Any]:
        if isinstance(self.answer, InvalidNode):
            raise self.answer
        return self.answer


def told(answer: Sequence[Any] | InvalidNode, question: Question) -> Outcome:
    """The outcome of a backend that answers `question` so."""
    return attempt(Telling(answer), question)


def _copied(inputs: Sequence[Array]) -> list[Array]:
    return [array.copy() for array in inputs]
