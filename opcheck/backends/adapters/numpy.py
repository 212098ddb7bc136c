"""`numpy`: opcheck's own engine, as a backend like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from opcheck.backends.adapters import About, nothing, take, threads
from opcheck.backends.base import Bare, only_nodes, own_part
from opcheck.engine import Node, evaluate, operator_of
from opcheck.engine.native import natively
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Array, BackendInfo, Task

ABOUT = About("opcheck's own engine", "numpy", "pip install numpy", threads=True)


def connect(detail: str | None, options: Mapping[str, str]) -> Engine:
    """The engine, `mode=native` (the default) or `mode=exact`, in `threads=` threads."""
    nothing("numpy", detail)
    taken = take("numpy", options, {"mode": _mode, "threads": threads})
    number = taken.get("threads", 1)
    info = BackendInfo("numpy", "numpy", np.__version__, engine=True, threads=number)
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
        """Raises `NotSupported` for an operator version that the engine lacks."""
        only_nodes(task, "opcheck's engine")
        if operator_of(task.op) is None:
            raise NotSupported(f"the engine has no formula for {task.op}")
        count, threads = len(task.outputs), self.info.threads or 1

        def exact(*inputs: Array) -> tuple[Array, ...]:
            return evaluate(task.op, inputs, task.attrs, count)

        def native(*inputs: Array) -> tuple[Array, ...]:
            return natively(Node(task.op, inputs, task.attrs, count), threads)

        return PreparedNode(task, exact if self.mode == "exact" else native)


@dataclass(frozen=True)
class PreparedNode:
    """A node of the engine."""

    task: Task
    compute: Callable[..., tuple[Array, ...]]

    def run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs, in the engine's mode."""
        # An omitted optional input has no kernel parameter yet; operators with one will say so.
        with own_part():
            return self.compute(*self.task.operands(inputs))

    def repeated(self, inputs: Sequence[Array]) -> Bare:
        """The engine alone."""
        return Bare(partial(self.compute, *self.task.operands(inputs)), tuple)
