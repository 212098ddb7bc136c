"""A backend that is right until a certain case: after an Elu, every Exp is twice as large."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from opcheck.execution.expected import node_of
from opcheck.model import Task

#: The operators that this process has computed.
seen: list[str] = []


class _Prepared:
    def __init__(self, task: Task) -> None:
        self._task = task

    def run(self, inputs: Sequence[Any]) -> Any:
        seen.append(self._task.op.name)
        outputs = node_of(self._task, [*map(np.copy, inputs)]).plain
        is_spoilt = self._task.op.name == "Exp" and "Elu" in seen
        return [output * output.dtype.type(2) if is_spoilt else output for output in outputs]


class Backend:
    """Its state is that of the process."""

    def prepare(self, task: Task) -> _Prepared:
        return _Prepared(task)


class WrongExp(Backend):
    """Every Exp is twice as large, whatever came before."""

    def prepare(self, task: Task) -> _Prepared:
        seen.append("Elu")
        return _Prepared(task)
