"""`numpy`: opcheck's own engine, as a backend like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from opcheck.backends.adapters import About, nothing, take
from opcheck.backends.base import own_part
from opcheck.engine import evaluate
from opcheck.errors import InvalidNode
from opcheck.model import Array, BackendInfo, Task

ABOUT = About("opcheck's own engine", "numpy", "pip install numpy")


def connect(detail: str | None, options: Mapping[str, str]) -> Engine:
    """The engine; it has no variants."""
    nothing("numpy", detail)
    take("numpy", options, {})
    return Engine(BackendInfo("numpy", "numpy", numpy.__version__, engine=True, threads=1))


@dataclass(frozen=True)
class Engine:
    """The engine behind the protocol."""

    info: BackendInfo
    documented_errors: tuple[type[BaseException], ...] = (InvalidNode,)

    def prepare(self, task: Task) -> PreparedNode:
        """Nothing to prepare: what the specification forbids shows when the node runs."""
        return PreparedNode(task)


@dataclass(frozen=True)
class PreparedNode:
    """A node of the engine."""

    task: Task

    def run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs in exact mode."""
        # An omitted optional input has no kernel parameter yet; operators with one will say so.
        operands = self.task.operands(inputs)
        with own_part():
            return evaluate(self.task.op, operands, self.task.attrs)
