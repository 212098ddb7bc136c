"""Check if one case kills a mutant, by judging a backend that is that mutant.

Most mutants do not show in most cases: an answer that is right bit for bit is not judged.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from opcheck.backends import attempt
from opcheck.backends.base import Backend, TaskCall
from opcheck.dtypes import content, identical
from opcheck.engine import Node, dtypes_of
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.mutant import StatefulMutant
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import legal_twin, node_of
from opcheck.execution.workers import at_once
from opcheck.model import BackendInfo, Case, Outcome, Question, Task, Verdict

#: The outputs of a node, or why it is refused.
OutputsOrRefusal: TypeAlias = Sequence[Any] | InvalidNode
#: Verdicts on a wrong backend; no others are possible here.
RED = (Verdict.FAIL, Verdict.ERROR, Verdict.UNSTABLE)
CANNED = BackendInfo("canned", "canned", "", repeatable=False)


def canned_backend(
    info: BackendInfo, ready: Callable[[Task], Callable[[Sequence[Any]], OutputsOrRefusal]]
) -> Backend:
    """A backend of functions: `ready` returns the one that answers a task."""

    def prepare(task: Task) -> TaskCall:
        answer = ready(task)

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            if isinstance(outputs := answer(inputs), InvalidNode):
                raise outputs
            return outputs

        return TaskCall(run)

    return Backend(info, (InvalidNode,), prepare)


def stateful_backend(stateful: StatefulMutant) -> Backend:
    """A backend whose single answers are right, but whose runs disturb each other."""

    def ready(task: Task) -> Callable[[Sequence[Any]], OutputsOrRefusal]:
        return stateful.spoilt(lambda inputs: node_of(task, [one.copy() for one in inputs]).right)

    return canned_backend(BackendInfo(stateful.name, "habit", ""), ready)


def canned_outcome(answer: OutputsOrRefusal, question: Question) -> Outcome:
    """The outcome of a backend that has one answer, or refusal, for the one `question`."""
    return attempt(canned_backend(CANNED, lambda task: lambda inputs: answer), question)


class CaseKills:
    """One case, shown any number of mutants of `dtype` and of dtypes that are not allowed."""

    def __init__(self, case: Case, dtype: str) -> None:
        self.case = case
        self.dtype = dtype
        self.evaluation = CaseEvaluation(case)
        #: Verdicts on answers, by digest.
        self._verdicts: dict[bytes, Verdict] = {}

    @cached_property
    def problem(self) -> str | None:
        """Why the case can judge no backend, None where it can."""
        try:
            _ = self.evaluation.accepted_answers
        except ValueError as error:
            return str(error)
        return None

    def verdict(self, mutant: Mutant | StatefulMutant) -> Verdict:
        """Return the verdict of the case on `mutant`."""
        if isinstance(mutant, StatefulMutant):
            backend = stateful_backend(mutant)
            inquiry = self.evaluation.on(backend.info)
            return at_once(inquiry, partial(attempt, backend)).result.verdict
        right = self._right
        answer = mutant.made_on(self.node)
        if same_outputs(answer, right) and not (
            isinstance(answer, InvalidNode)
            and self._twin
            and not same_outputs(self._of_twin(mutant, self._twin), self._right_of_twin)
        ):
            return Verdict.PASS
        # Where a mutant does not show, the same is left of another arithmetic than the engine's.
        key = None if isinstance(answer, InvalidNode) else digest(answer)
        if key is None:
            return self._judged(mutant, answer)
        if key not in self._verdicts:
            self._verdicts[key] = self._judged(mutant, answer)
        return self._verdicts[key]

    def _judged(self, mutant: Mutant, answer: OutputsOrRefusal) -> Verdict:
        own = self.evaluation.question.inputs

        def reply(asked: Question) -> Outcome:
            # The same data at a later opset make the same node.
            if asked.inputs is own:
                return canned_outcome(answer, asked)
            assert self._twin
            return canned_outcome(self._of_twin(mutant, self._twin), asked)

        return at_once(self.evaluation.on(CANNED), reply).result.verdict

    def _of_twin(self, mutant: Mutant, twin: Node) -> OutputsOrRefusal:
        other = twin.dtype != self.dtype and twin.dtype in dtypes_of(twin.op)
        return self._right_of_twin if other else mutant.made_on(twin)

    @property
    def node(self) -> Node:
        """The case's node, on which mutants are made."""
        return self.evaluation.node

    @cached_property
    def _right(self) -> OutputsOrRefusal:
        return right_of(self.node)

    @cached_property
    def _twin(self) -> Node | None:
        twin = legal_twin(self.evaluation.accepted_answers)
        return node_of(twin.task, twin.inputs) if twin else None

    @cached_property
    def _right_of_twin(self) -> OutputsOrRefusal:
        assert self._twin
        return right_of(self._twin)


def right_of(node: Node) -> OutputsOrRefusal:
    """Return the engine's outputs, or why it refuses the node or does not support it."""
    try:
        for output in node.right:
            output.flags.writeable = False
    except InvalidNode as error:
        return error
    except NotSupported as error:
        return InvalidNode(str(error))
    return node.right


def same_outputs(one: OutputsOrRefusal, other: OutputsOrRefusal) -> bool:
    """Both refusals, or the same outputs bit for bit."""
    if isinstance(one, InvalidNode) or isinstance(other, InvalidNode):
        return isinstance(one, InvalidNode) and isinstance(other, InvalidNode)
    return one is other or (
        len(one) == len(other)
        and all(isinstance(array, np.ndarray) for array in (*one, *other))
        and all(map(identical, one, other))
    )


def digest(outputs: Sequence[Any]) -> bytes | None:
    """Return a digest that equal outputs share; None where one is no array."""
    found = blake2b(digest_size=16)
    for output in outputs:
        if not isinstance(output, np.ndarray):
            return None
        found.update(f"{output.dtype} {output.shape} ".encode())
        found.update(content(output))
    return found.digest()
