"""`numpy`: opcheck's own engine, as a backend like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from opcheck.backends.adapters import About, nothing, take, threads
from opcheck.backends.base import Bare, only_nodes, own_part
from opcheck.engine import planned
from opcheck.errors import InvalidNode
from opcheck.model import Array, BackendInfo, Task, TensorType

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
        """Raises `InvalidNode` for what the specification forbids, of which data is no part."""
        only_nodes(task, "opcheck's engine")
        with own_part():
            operands = task.operands([_like(tensor) for tensor in task.inputs])
            found = planned(task.op, operands, task.attrs)
        if self.mode == "exact":
            return PreparedNode(task, found.evaluate)
        return PreparedNode(task, partial(found.natively, threads=self.info.threads or 1))


def _like(tensor: TensorType) -> Array:
    """An array of this type that takes no memory."""
    return np.broadcast_to(np.zeros((), tensor.dtype.numpy), tensor.shape)


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
