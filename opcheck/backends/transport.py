"""Limits of opcheck's own adapters: values that they cannot hand to their backend.

An adapter raises NotCarried for such a task, in the backend's process, where a backend can raise
the same. So the judge believes it only where its own process finds the same by `limit`.
"""

from collections.abc import Callable, Iterator, Mapping

from onnx import TypeProto

from opcheck import dtypes
from opcheck.errors import NodeError, NotCarried, NotExpressible
from opcheck.graph import model_of
from opcheck.model import Task

#: What messages call the backends that adapters of a kind feed.
_FED = {
    "cmd": "programs that speak JSON",
    "openvino": "openvino",
    "torch": "torch",
    "tract": "tract",
}
#: Narrow types that adapters of a kind feed all the same, by their names.
_ALSO: Mapping[str, frozenset[str]] = {"openvino": frozenset({"float8e4m3fn", "float8e5m2"})}


def limit(task: Task, kind: str) -> str:
    """Return why an adapter of this kind cannot hand the values of a task on, or ""."""
    find = _LIMITS.get(kind)
    return find(task, kind) if find else ""


def check(task: Task, kind: str) -> None:
    """Raise NotCarried where an adapter of this kind cannot hand the values of a task on."""
    reason = limit(task, kind)
    if reason:
        raise NotCarried(reason)


def why_no_model(task: Task) -> str:
    """Return why no ONNX model can state a task, or ""."""
    try:
        model_of(task)
    except NotExpressible as error:
        return str(error)
    except NodeError:  # it states the task, which is illegal
        pass
    return ""


def _only_tensors(task: Task, kind: str) -> str:
    """Describe the first value that is not a tensor of real numbers or booleans.

    Of floats of 8 bits, OpenVINO takes two types.
    """
    also = _ALSO.get(kind, frozenset())
    odd = ((name, what) for name, what in _odd(task) if str(what) not in also)
    return next((f"opcheck feeds {_FED[kind]} no {what}: {name}" for name, what in odd), "")


def _odd(task: Task) -> Iterator[tuple[str, object]]:
    """Yield name and type of each value that is not a tensor of real numbers or booleans.

    Strings and complex numbers are fed to no backend, but may be constants and outputs.
    """
    for port in task.ports:
        if port.form != "tensor":
            yield port.name, "sequences and optionals"
    for tensor in task.inputs:
        if tensor.dtype.name not in dtypes.BASIC:
            yield tensor.name, tensor.dtype
    for name, array in task.initializers.items():
        dtype = dtypes.of(array)
        if dtype and dtype.name in dtypes.NARROW:
            yield name, dtype
    for output in task.outputs:
        if output.dtype and output.dtype.name in dtypes.NARROW:
            yield output.name, output.dtype


def _one_node(task: Task, kind: str) -> str:
    """Describe a task that is several nodes as a model, which run_node does not take."""
    is_one = len(model_of(task).graph.node) == 1
    return "" if is_one else "run_node takes one node, and as ONNX this operator is several"


def _beside_raw_types(task: Task, kind: str) -> str:
    """Describe a port that ONNX Runtime takes from NumPy only, if NumPy lacks another's type."""
    graph = model_of(task).graph
    ports = [*graph.input, *graph.output]
    if not any(dtypes.is_raw(_element_type(port.type)) for port in ports):
        return ""
    for port in ports:
        is_tensor = port.type.HasField("tensor_type")
        if not is_tensor or _element_type(port.type) == dtypes.DTYPES["string"]:
            return f"opcheck feeds onnxruntime no {port.name} next to a type that NumPy lacks"
    return ""


def _element_type(port: TypeProto) -> dtypes.DType | None:
    """Return the element type of a tensor, of a sequence or of an optional, None if undeclared."""
    match port.WhichOneof("value"):
        case "tensor_type":
            return dtypes.named(port.tensor_type.elem_type)
        case "sequence_type":
            return _element_type(port.sequence_type.elem_type)
        case "optional_type":
            return _element_type(port.optional_type.elem_type)
        case _:
            return None


#: What the adapter of a kind cannot hand on; those of other kinds hand on whatever a model has.
_LIMITS: Mapping[str, Callable[[Task, str], str]] = {
    "cmd": _only_tensors,
    "onnx": _one_node,
    "onnxruntime": _beside_raw_types,
    "openvino": _only_tensors,
    "torch": _only_tensors,
    "tract": _only_tensors,
}
