"""`numpy`: opcheck's own engine, as a backend like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy

from opcheck.backends.adapters import About, nothing, take, threads
from opcheck.backends.base import own_part
from opcheck.engine import evaluate, natively
from opcheck.errors import InvalidNode
from opcheck.model import Array, Attrs, BackendInfo, OpVersion, Task

ABOUT = About("opcheck's own engine", "numpy", "pip install numpy")


def connect(detail: str | None, options: Mapping[str, str]) -> Engine:
    """The engine, `mode=native` (the default) or `mode=exact`, in `threads=` threads."""
    nothing("numpy", detail)
    taken = take("numpy", options, {"mode": _mode, "threads": threads})
    number = taken.get("threads", 1)
    info = BackendInfo("numpy", "numpy", numpy.__version__, engine=True, threads=number)
    return Engine(info, taken.get("mode", "native"))


def _mode(text: str) -> str:
    if text not in ("native", "exact"):
        raise ValueError("mode is native or exact")
    return text


@dataclass(frozen=True)
class Engine:
    """The engine behind the protocol."""

    info: BackendInfo
    mode: str
    documented_errors: tuple[type[BaseException], ...] = (InvalidNode,)

    def prepare(self, task: Task) -> PreparedNode:
        """Nothing to prepare: what the specification forbids shows when the node runs."""
        if self.mode == "exact":
            return PreparedNode(task, evaluate)
        return PreparedNode(task, partial(natively, threads=self.info.threads or 1))


@dataclass(frozen=True)
class PreparedNode:
    """A node of the engine."""

    task: Task
    compute: Callable[[OpVersion, Sequence[Array], Attrs], tuple[Array, ...]]

    def run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs, in the engine's mode."""
        # An omitted optional input has no kernel parameter yet; operators with one will say so.
        operands = self.task.operands(inputs)
        with own_part():
            return self.compute(self.task.op, operands, self.task.attrs)
