"""Backends whose Exp is twice as large, always or as it depends on what came before."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opcheck.execution.expected import node_of
from opcheck.model import Task

#: The environment variable that names a file, which exists once a process of a backend has started.
STARTED = "OPCHECK_TEST_STARTED"
#: The operators that this process has computed.
seen: list[str] = []


class _Prepared:
    def __init__(self, task: Task, spoilers: frozenset[str]) -> None:
        self._task = task
        self._spoilers = spoilers

    def run(self, inputs: Sequence[Any]) -> Any:
        seen.append(self._task.op.name)
        outputs = node_of(self._task, [*map(np.copy, inputs)]).plain
        is_spoilt = self._task.op.name == "Exp" and self._spoilers <= {*seen}
        return [output * output.dtype.type(2) if is_spoilt else output for output in outputs]


class Backend:
    """Exp is wrong after an Elu, in the same process."""

    spoilers: frozenset[str] = frozenset({"Elu"})

    def prepare(self, task: Task) -> _Prepared:
        return _Prepared(task, self.spoilers)


class AfterBoth(Backend):
    """Exp is wrong after a Relu and an Elu."""

    spoilers = frozenset({"Elu", "Relu"})


class WrongExp(Backend):
    """Exp is wrong, whatever came before."""

    spoilers = frozenset()


class FirstProcess(Backend):
    """Exp is wrong in the first process that finds no file at `STARTED`, and right in others."""

    def __init__(self) -> None:
        started = Path(os.environ[STARTED])
        self.spoilers = frozenset({"never"} if started.exists() else ())
        started.touch()
