"""Whether one case sees a mistake, by backends that make it.

Most mistakes do not show in most cases: an answer that is the right one bit for bit cannot be held
against anybody, and is not judged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from opcheck.backends import attempt
from opcheck.backends.base import Adapted
from opcheck.dtypes import content, identical
from opcheck.engine import Node, dtypes_of
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.mutant import StatefulMutant
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.driver import at_once
from opcheck.execution.trial import Trial
from opcheck.model import Array, BackendInfo, Case, Outcome, Question, Result, Task, Verdict

#: What comes of a node: outputs, or why it is refused.
Answer: TypeAlias = Sequence[Any] | InvalidNode

#: What a case says of a backend that it finds wrong. Nothing else can come of these here.
RED = (Verdict.FAIL, Verdict.ERROR, Verdict.UNSTABLE)
#: The backend of `told`.
TOLD = BackendInfo("told", "told", "", repeatable=False)


def node_of(task: Task, inputs: Sequence[Array]) -> Node:
    """The node of `task`, whose data nobody may change."""
    operands = tuple(task.operands(inputs))
    for array in operands:
        if array is not None:
            array.flags.writeable = False
    return Node(task.op, operands, task.attrs, len(task.outputs), bool(task.initializers))


@dataclass(frozen=True)
class Ready:
    """A prepared task; what its `answer` returns is the outputs, or why the node is refused."""

    answer: Callable[[Sequence[Any]], Answer]

    def run(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The outputs."""
        if isinstance(said := self.answer(inputs), InvalidNode):
            raise said
        return said


def made(info: BackendInfo, ready: Callable[[Task], Callable[[Sequence[Any]], Answer]]) -> Adapted:
    """A backend whose answers are made here: `ready` gives what answers a task."""
    return Adapted(info, (InvalidNode,), lambda task: Ready(ready(task)))


def habitual(habit: StatefulMutant) -> Adapted:
    """A backend whose single answers are right, but whose runs disturb each other."""

    def ready(task: Task) -> Callable[[Sequence[Any]], Answer]:
        return habit.spoilt(lambda inputs: node_of(task, [one.copy() for one in inputs]).right)

    return made(BackendInfo(habit.name, "habit", ""), ready)


def told(answer: Answer, question: Question) -> Outcome:
    """The outcome of a backend that has one answer, or refusal, for the one `question`."""
    return attempt(made(TOLD, lambda task: lambda inputs: answer), question)


class Sight:
    """One case, to which any number of mistakes are shown; its data is made once.

    They are made on `dtype` alone, and on dtypes that the operator does not allow.
    """

    def __init__(self, case: Case, dtype: str) -> None:
        self.case = case
        self.dtype = dtype
        self.trial = Trial(case)
        #: What was said of answers, by their digest.
        self._verdicts: dict[bytes, Verdict] = {}

    @cached_property
    def problem(self) -> str | None:
        """Why the case can say nothing about anybody, None where it can."""
        try:
            assert self.trial.admission is not None
        except ValueError as error:
            return str(error)
        return None

    def verdict(self, mistake: Mutant) -> Verdict:
        """What the case says of a backend that makes `mistake`."""
        right = self._right
        answer = mistake.made_on(self.node)
        if same(answer, right) and not (
            isinstance(answer, InvalidNode)
            and self._twin
            and not same(self._of_twin(mistake, self._twin), self._right_of_twin)
        ):
            return Verdict.PASS
        # Where a mistake does not show, the same is left of another arithmetic than the engine's.
        key = None if isinstance(answer, InvalidNode) else digest(answer)
        if key is None:
            return self._judged(mistake, answer).verdict
        if key not in self._verdicts:
            self._verdicts[key] = self._judged(mistake, answer).verdict
        return self._verdicts[key]

    def verdict_on_habit(self, habit: StatefulMutant) -> Verdict:
        """What the case says of a backend whose runs disturb each other so."""
        backend = habitual(habit)
        answer = partial(attempt, backend)
        return at_once(self.trial.on(backend.info), answer).result.verdict

    def _judged(self, mistake: Mutant, answer: Answer) -> Result:
        own = self.trial.question.inputs

        def reply(asked: Question) -> Outcome:
            # The same data at a later opset make the same node.
            if asked.inputs is own:
                return told(answer, asked)
            assert self._twin
            return told(self._of_twin(mistake, self._twin), asked)

        return at_once(self.trial.on(TOLD), reply).result

    def _of_twin(self, mistake: Mutant, twin: Node) -> Answer:
        other = twin.dtype != self.dtype and twin.dtype in dtypes_of(twin.op)
        return self._right_of_twin if other else mistake.made_on(twin)

    @cached_property
    def node(self) -> Node:
        """The case's node, on which mistakes are made."""
        return node_of(self.trial.question.task, self.trial.question.inputs)

    @cached_property
    def _right(self) -> Answer:
        return right_of(self.node)

    @cached_property
    def _twin(self) -> Node | None:
        twin = self.trial.admission.twin
        return node_of(twin.task, twin.inputs) if twin else None

    @cached_property
    def _right_of_twin(self) -> Answer:
        assert self._twin
        return right_of(self._twin)


def right_of(node: Node) -> Answer:
    """What the engine answers, or why it refuses the node; what it lacks it refuses too."""
    try:
        for output in node.right:
            output.flags.writeable = False
    except InvalidNode as error:
        return error
    except NotSupported as error:
        return InvalidNode(str(error))
    return node.right


def same(one: Answer, other: Answer) -> bool:
    """Both refusals, or the same outputs bit for bit."""
    if isinstance(one, InvalidNode) or isinstance(other, InvalidNode):
        return isinstance(one, InvalidNode) and isinstance(other, InvalidNode)
    if one is other:
        return True
    return len(one) == len(other) and all(
        isinstance(mine, np.ndarray) and isinstance(its, np.ndarray) and identical(mine, its)
        for mine, its in zip(one, other, strict=True)
    )


def digest(outputs: Sequence[Any]) -> bytes | None:
    """What two answers have in common only if they are the same; None where one is no array."""
    found = blake2b(digest_size=16)
    for output in outputs:
        if not isinstance(output, np.ndarray):
            return None
        found.update(f"{output.dtype} {output.shape} ".encode())
        found.update(content(output))
    return found.digest()
