"""`py:benchmarks.planted.backend?bug=NAME`: a backend that has one planted bug, and no other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.planted import Bug
from benchmarks.planted.every import bug_named
from opcheck.errors import InvalidNode
from opcheck.execution.expected import node_of
from opcheck.model import Array, Task


class Planted:
    """A backend with the bug of this name."""

    documented_errors = (InvalidNode,)

    def __init__(self, bug: str) -> None:
        self._bug = bug_named(bug)

    def prepare(self, task: Task) -> "Call":
        """Return the task, ready to run."""
        return Call(self._bug, task)


class Call:
    """A task that a bug answers."""

    def __init__(self, bug: Bug, task: Task) -> None:
        self._bug = bug
        self._task = task

    def run(self, inputs: Sequence[Array]) -> Sequence[Any]:
        """Return the outputs that are asked for."""
        with np.errstate(all="ignore"):
            return self._bug.answer(node_of(self._task, [np.copy(array) for array in inputs]))
