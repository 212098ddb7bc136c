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
from opcheck.errors import NotSupported, UsageError
from opcheck.graph import ModelProto, model_of, output_names
from opcheck.model import BackendInfo, Task, Tensors

ABOUT = About(
    "a class or module with ONNX's Backend interface, onnx:pkg.mod:Class", declares="is_compatible"
)

#: The methods that answer a model, the preferred one first.
_METHODS = ("prepare", "run_model", "run_node")
#: Exceptions that ONNX's own tests of the interface take for "not here", by name, because
#: onnx.backend.test.runner, which defines the first, takes a second to import.
_NOT_HERE = {"BackendIsNotSupposedToImplementIt", "SkipTest"}


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the class or module; its option `device` is passed on as it is."""
    device = take("onnx", options, {"device": str}).get("device", "CPU")
    address, interface, version = find("onnx", detail, _METHODS)
    names = [name for name in _METHODS if _own(interface, name)]
    if not names:
        raise UsageError(f"backend {address!r} has neither {' nor '.join(_METHODS)} of its own")
    method_name = names[0]
    method = getattr(interface, method_name)
    if inspect.isfunction(method) and "self" in inspect.signature(method).parameters:
        # Not the class has the interface, but its objects.
        with blamed(f"backend {address!r} cannot be made"):
            interface = interface()
    made_of = class_of(interface if isinstance(interface, type) else type(interface))
    if inspect.ismodule(interface):
        made_of = class_of(interface)
    info = BackendInfo(address, "onnx", version, devices=(device,), made_of=made_of)
    declares = getattr(interface, "declares", None) or partial(_declares, interface, device)
    prepare = partial(_prepared, interface, method_name, device)
    return Backend(info, (ValidationError,), prepare, declares)


def _own(interface: Any, method_name: str) -> bool:
    """Return True if it defines the method itself, instead of inheriting the empty one."""
    method = getattr(interface, method_name, None)
    return callable(method) and getattr(method, "__module__", "") != "onnx.backend.base"


def _declares(interface: Any, device: str, task: Task) -> bool | None:
    """Return the interface's own answer; the inherited method says yes to everything."""
    if not _own(interface, "is_compatible"):
        return None
    return _is_yes(interface.is_compatible, model_of(task), device)


def _is_yes(method: Callable[..., Any], *arguments: Any) -> bool:
    """Call a method that may not take a device, the last argument, as in ONNX's own tests."""
    if accepts(method, *arguments):
        return bool(method(*arguments))
    return bool(method(arguments[0]))


def _prepared(interface: Any, method_name: str, device: str, task: Task) -> TaskCall:
    answer = _answering(interface, method_name, device, task)

    def run(inputs: Tensors) -> Any:
        with _not_here_declines():
            outputs = answer(inputs)
        if not isinstance(outputs, Mapping):
            return outputs
        names = output_names(task)
        if not all(name in outputs for name in names):
            raise UnusableAnswer(f"outputs are called {[*outputs]} and should be {names}")
        return [outputs[name] for name in names]

    return TaskCall(run)


def _answering(
    interface: Any, method_name: str, device: str, task: Task
) -> Callable[[Tensors], Any]:
    """Return a function of the task's inputs; raises NotSupported as the interface says."""
    with own_part():
        model = model_of(task)
    method = getattr(interface, method_name)
    with _not_here_declines():
        _ask_for_support(interface, model, device)
        if method_name == "prepare":
            prepared: Any = runnable(method(model, device))

            def run_prepared(inputs: Tensors) -> Any:
                return prepared.run([*task.values(inputs).values()])

            return run_prepared

    if method_name == "run_model":

        def run_model(inputs: Tensors) -> Any:
            return method(model, [*task.values(inputs).values()], device)

        return run_model

    transport.check(task, "onnx")
    node = model.graph.node[0]
    version = {"opset_version": task.opset}
    options = version if accepts(method, node, [], device, **version) else {}
    only_nodes(task, "run_node")

    def run_node(inputs: Tensors) -> Any:
        return method(node, task.operands(inputs), device, **options)

    return run_node


def _ask_for_support(interface: Any, model: ModelProto, device: str) -> None:
    """Raise NotSupported if the interface takes neither the device nor the model."""
    for name, arguments in (("supports_device", (device,)), ("is_compatible", (model, device))):
        method = getattr(interface, name, None)
        if callable(method) and not _is_yes(method, *arguments):
            raise NotSupported(f"{name} says no to {device}")


@contextmanager
def _not_here_declines() -> Iterator[None]:
    """Around a call of the interface: raises NotSupported for "not here" in ONNX's own terms."""
    try:
        yield
    except Exception as error:
        if _NOT_HERE & {kind.__name__ for kind in type(error).__mro__}:
            raise NotSupported(str(error)) from error
        raise
