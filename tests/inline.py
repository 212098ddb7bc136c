"""Backends that are asked in this process, for tests of what is done with their answers."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from opcheck.backends import Backend, attempt
from opcheck.backends.base import TaskCall
from opcheck.engine.mutants import Mutant
from opcheck.errors import InvalidNode
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import node_of
from opcheck.execution.scheduler import Scheduler
from opcheck.execution.workers import AskableBackend, InProcess, run_here
from opcheck.known import Ledger
from opcheck.model import BackendInfo, Case, LiveResult, Task

#: One backend; asked, it answers at once.
Inline = InProcess


def lying(mistake: Mutant) -> Backend:
    """A backend that makes one mistake; asked once, because it would make it every time."""

    def run(task: Task, inputs: Sequence[Any]) -> Sequence[Any]:
        outputs = mistake.made_on(node_of(task, [*map(np.copy, inputs)]))
        if isinstance(outputs, InvalidNode):
            raise outputs
        return outputs

    info = BackendInfo(mistake.name, "mistake", "", repeatable=False)
    return Backend(info, (InvalidNode,), lambda task: TaskCall(partial(run, task)))


def result_of(evaluation: CaseEvaluation, backend: Backend) -> LiveResult:
    """What `backend` is worth in one trial, whose data is kept for the next."""
    return run_here(evaluation.judge(backend.info), partial(attempt, backend)).result


def judge_all(
    cases: Sequence[Case], backends: Sequence[AskableBackend], *more: Any, **options: Any
) -> Iterator[LiveResult]:
    """Judge every case on every backend; see `Scheduler`."""
    return cast(Iterator[LiveResult], iter(Scheduler(cases, backends, *more, **options)))


def judged(
    cases: Iterable[Case], backends: Sequence[Backend], ledgers: Sequence[Ledger] = ()
) -> Iterator[LiveResult]:
    """The results of `backends`, without processes."""
    return judge_all(list(cases), [Inline(backend) for backend in backends], ledgers)


def diagnosed(cases: Iterable[Case], backend: Backend) -> list[LiveResult]:
    """The results of one backend; whatever fails is diagnosed."""
    return [*judge_all(list(cases), [Inline(backend)], is_unexplained=lambda result: True)]
