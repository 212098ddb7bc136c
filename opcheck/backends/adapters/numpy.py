"""`numpy`: opcheck's own engine, as a backend like any other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opcheck.backends.adapters import About, take
from opcheck.backends.base import Backend, Bare, TaskCall, own_part
from opcheck.backends.connect import lead_dtype
from opcheck.engine import Node, dtypes_of, operator_of
from opcheck.engine.evaluate import evaluate
from opcheck.engine.graphs import graph_of
from opcheck.errors import InvalidNode, NotSupported, decline
from opcheck.grouping import not_none
from opcheck.model import GRAPH, Array, BackendInfo, Task
from opcheck.opset import onnx_defs

ABOUT = About("opcheck's own engine", "numpy", declares="the schemas of its operators")


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the engine, `mode=native` (the default) or `mode=exact`."""
    is_exact = take("numpy", options, {"mode": _mode}, detail).get("mode") == "exact"
    info = BackendInfo("numpy", "numpy", np.__version__, engine=True, threads=1)

    def prepare(task: Task) -> TaskCall:
        if task.op == GRAPH:
            decline(is_exact, "whole models are computed in native mode only")
            return TaskCall(_model(task))
        operator = operator_of(task.op)
        decline(operator is None, f"the engine has no formula for {task.op}")
        native = operator.native.get(task.op.since) if operator else None

        def repeated(inputs: Sequence[Array]) -> Bare:
            operands = tuple(task.operands(inputs))
            node = Node(task.op, operands, task.attrs, task.places, opset=task.opset)

            def compute() -> Any:
                return node.right if is_exact else evaluate(node, native)

            return Bare(compute, tuple)

        def run(inputs: Sequence[Array]) -> Any:
            with own_part():
                return repeated(inputs).call()

        return TaskCall(run, repeated)

    return Backend(info, (InvalidNode,), prepare, _declares)


def _declares(task: Task) -> bool:
    """Return True if the operator takes the dtype."""
    return str(lead_dtype(task)) in dtypes_of(task.op)


def _model(task: Task) -> Callable[[Sequence[Array]], Any]:
    """Return a model as a function: every node in the plain arithmetic of its tensors."""
    with own_part():
        try:
            graph = graph_of(task)
            optionals = onnx_defs.optional_inputs(not_none(task.model))
        except ValueError as error:
            raise NotSupported(str(error)) from None

    def run(inputs: Sequence[Array]) -> Any:
        with own_part(), np.errstate(all="ignore"):
            outputs = graph.run(task.values(inputs), optionals)
        return [np.array(x) if isinstance(x, np.ndarray) else x for x in outputs]

    return run


def _mode(text: str) -> str:
    if text not in ("native", "exact"):
        raise ValueError("mode is native or exact")
    return text
