"""`onnx:pkg.mod[:Class]`: a class or module with the interface of onnx/backend/base.py.

The first of `prepare`, `run_model` and `run_node` that exists is used.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from onnx.checker import ValidationError

from opcheck.backends import transport
from opcheck.backends.adapters import About, take
from opcheck.backends.base import Backend, TaskCall, UnusableAnswer, only_nodes, own_part
from opcheck.backends.connect import accepts, blamed, class_of, find, runnable
from opcheck.errors import NotSupported, UsageError, decline
from opcheck.graph import model_of, output_names
from opcheck.model import BackendInfo, Task, Tensors

ABOUT = About(
    "a class or module with ONNX's Backend interface, onnx:pkg.mod:Class", declares="is_compatible"
)

_WAYS = ("prepare", "run_model", "run_node")
#: Exceptions that ONNX's own tests of the interface take for "not here", by name, because
#: onnx.backend.test.runner, which defines the first, takes a second to import.
_NOT_HERE = {"BackendIsNotSupposedToImplementIt", "SkipTest"}


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the class or module; its option `device` is passed on as it is."""
    device = take("onnx", options, {"device": str}).get("device", "CPU")
    address, interface, version = find("onnx", detail, _WAYS)
    if (way := next((way for way in _WAYS if _own(interface, way)), None)) is None:
        raise UsageError(f"backend {address!r} has neither {' nor '.join(_WAYS)} of its own")
    method = getattr(interface, way)
    if inspect.isfunction(method) and "self" in inspect.signature(method).parameters:
        # Not the class has the interface, but its objects.
        with blamed(f"backend {address!r} cannot be made"):
            interface = interface()
    made_of = class_of(interface if isinstance(interface, type) else type(interface))
    if inspect.ismodule(interface):
        made_of = class_of(interface)
    info = BackendInfo(address, "onnx", version, devices=(device,), made_of=made_of)
    declares = getattr(interface, "declares", None) or partial(_declares, interface, device)
    return Backend(info, (ValidationError,), partial(_prepared, interface, way, device), declares)


def _own(interface: Any, way: str) -> bool:
    """Return True if it defines the method itself, instead of inheriting the empty one."""
    method = getattr(interface, way, None)
    return callable(method) and getattr(method, "__module__", "") != "onnx.backend.base"


def _declares(interface: Any, device: str, task: Task) -> bool | None:
    """Return the interface's own answer; the inherited method says yes to everything."""
    if not _own(interface, "is_compatible"):
        return None
    ask, arguments = interface.is_compatible, (model_of(task), device)
    return bool(ask(*arguments) if accepts(ask, *arguments) else ask(arguments[0]))


def _prepared(interface: Any, way: str, device: str, task: Task) -> TaskCall:
    answer = _answering(interface, way, device, task)

    def run(inputs: Tensors) -> Any:
        with _heard():
            outputs = answer(inputs)
        if not isinstance(outputs, Mapping):
            return outputs
        names = output_names(task)
        if not all(name in outputs for name in names):
            raise UnusableAnswer(f"outputs are called {[*outputs]} and should be {names}")
        return [outputs[name] for name in names]

    return TaskCall(run)


def _answering(interface: Any, way: str, device: str, task: Task) -> Callable[[Tensors], Any]:
    with own_part():
        model = model_of(task)
    run = getattr(interface, way)
    with _heard():
        for name, arguments in (("supports_device", [device]), ("is_compatible", [model, device])):
            ask = getattr(interface, name, None)
            # ONNX's own tests leave the device out.
            given = arguments if accepts(ask, *arguments) else arguments[:1]
            decline(callable(ask) and not ask(*given), f"{name} says no to {device}")
        if way == "prepare":
            prepared: Any = runnable(run(model, device))
            return lambda inputs: prepared.run([*task.values(inputs).values()])
    if way == "run_model":
        return lambda inputs: run(model, [*task.values(inputs).values()], device)
    transport.check(task, "onnx")
    node, version = model.graph.node[0], {"opset_version": task.opset}
    more = version if accepts(run, node, [], device, **version) else {}
    only_nodes(task, "run_node")
    return lambda inputs: run(node, task.operands(inputs), device, **more)


@contextmanager
def _heard() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if _NOT_HERE & {kind.__name__ for kind in type(error).__mro__}:
            raise NotSupported(str(error)) from error
        raise
