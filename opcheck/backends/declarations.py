"""Capabilities that a backend declares, which the probe compares with what it does.

A backend of anybody may have a method `declares(task)`, which says True, False, or None for
nothing. The engines whose adapters are built in are asked here in their own ways.

That may break, hang or die as anything else may. So the question is put by way of a backend that
answers with what another one declares, in the processes that all backends have: `address_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from opcheck import opset
from opcheck.backends.address import parse
from opcheck.backends.base import Adapted
from opcheck.backends.connect import connect
from opcheck.backends.modules import accepts
from opcheck.dtypes import DType
from opcheck.engine import dtypes_of, leading
from opcheck.graph import model_of
from opcheck.model import Array, Task

Declaring = Callable[[Any, str, Task], bool | None]


def address_of(address: str) -> str:
    """The backend that answers a task with what the one at `address` declares about it."""
    # Quoted, because options of its own would be taken for this one's.
    return f"py:{__name__}:Declarations?of={quote(address, safe='')}"


def meant(answer: Array) -> bool | None:
    """Interpret the answer of such a backend."""
    return None if answer < 0 else bool(answer)


class Declarations:
    """The backend of `address_of`."""

    repeatable = False

    def __init__(self, of: str) -> None:
        address = parse(unquote(of))
        # Not the kind of its info, which for saved outputs is that of whoever computed them.
        _, self._ask = _WAYS.get(address.kind, ("", None))
        backend: Any = connect(address)
        self._device = next(iter(backend.info.devices), "")
        # Somebody's own object, where there is one inside opcheck's.
        while isinstance(backend, Adapted) and backend.backend is not None:
            backend = backend.backend
        self._backend = backend

    def prepare(self, task: Task) -> Declaration:
        """Ask; whatever comes up is the answer."""
        if own := getattr(self._backend, "declares", None):
            return Declaration(own(task))
        return Declaration(self._ask(self._backend, self._device, task) if self._ask else None)


@dataclass(frozen=True)
class Declaration:
    """One answer."""

    answer: bool | None

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The answer as a tensor: 1, 0, or -1 for nothing."""
        if self.answer not in (True, False, None):
            raise TypeError(f"declares returned {self.answer!r}, not True, False or None")
        return [np.array(-1 if self.answer is None else self.answer, np.int8)]


def words(address: str) -> str:
    """Say where the backend at `address` declares its capabilities, if it does."""
    return _WAYS.get(parse(address).kind, ("its own method", None))[0]


def _lead(task: Task) -> DType | None:
    """The dtype of the leading input; None where that is a constant."""
    name = leading(task.op, task.slots)
    return next((tensor.dtype for tensor in task.inputs if tensor.name == name), None)


def _onnxruntime(_: Any, provider: str, task: Task) -> bool | None:
    """Return True if each node has its own kernel; others may be converted or expanded."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    kernels = getattr(state, "get_all_opkernel_def", lambda: None)()
    if not kernels:
        return None
    lead = _lead(task)
    if lead is None:
        return None
    model = model_of(task)
    versions = {entry.domain: entry.version for entry in model.opset_import}

    def has_kernel(node: Any) -> bool:
        schema = opset.describe(node.domain, node.op_type, versions[node.domain])
        assert schema
        return any(
            kernel.provider == provider
            and (kernel.op_name, kernel.domain) == (node.op_type, node.domain)
            and kernel.version_range[0] <= schema.op.since <= kernel.version_range[1]
            and lead.text
            in kernel.type_constraints.get(schema.inputs[schema.lead].constraint, [lead.text])
            for kernel in kernels
        )

    return all(map(has_kernel, model.graph.node))


def _openvino(core: Any, device: str, task: Task) -> bool:
    """Return True if the device supports each node that its front end makes of the model."""
    model = core.read_model(model_of(task).SerializeToString())
    supported = core.query_model(model, device)
    return all(node.get_friendly_name() in supported for node in model.get_ops())


def _onnx(interface: Any, device: str, task: Task) -> bool | None:
    """Return the interface's own answer; the inherited method says yes to everything."""
    asked = getattr(interface, "is_compatible", None)
    if asked is None or getattr(asked, "__module__", "") == "onnx.backend.base":
        return None
    arguments = model_of(task), device
    return bool(asked(*arguments) if accepts(asked, *arguments) else asked(arguments[0]))


#: How engines are asked, by the kind of backend: in words for the user, and the question.
_WAYS: Mapping[str, tuple[str, Declaring | None]] = {
    "numpy": (
        "the schemas of its operators",
        lambda backend, device, task: str(_lead(task)) in dtypes_of(task.op),
    ),
    "onnx": ("is_compatible", _onnx),
    "onnxruntime": ("its registry of kernels", _onnxruntime),
    "openvino": ("query_model", _openvino),
}
