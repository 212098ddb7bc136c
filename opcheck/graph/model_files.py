"""Models in files that may come from strangers.

What a model keeps in other files is read into it, and no path leads out of the model's folder.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from onnx import ModelProto, TensorProto, ValueInfoProto, checker, shape_inference

from opcheck.dtypes import DType
from opcheck.graph.build import anonymous, at_newest_opsets, model_of, state_rank
from opcheck.graph.tensors import MAX_BYTES, BeyondOpcheck, element, read_whole, tensor_type
from opcheck.model import Task


def read_model(path: Path, *, valid: bool = True, alone: bool = False) -> ModelProto:
    """The model in a file, whole, `valid` and `alone` in its file if asked; raises ValueError."""
    try:
        model = ModelProto.FromString(read_whole(path))
    except Exception as error:  # protobuf's own DecodeError, or the file cannot be read
        raise ValueError(f"this is no readable model: {error}") from error
    # Where a name is no text, protobuf gives its bytes.
    if not all(isinstance(text, str) for text in _texts(model)):
        raise ValueError("this is no readable model: a name in it is no text in UTF-8")
    room = MAX_BYTES
    for tensor in _tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            if alone:
                raise ValueError(f"its constant {tensor.name!r} is kept in another file")
            room -= _fetch(tensor, path.parent, room)
    if valid and (message := invalid(_with_shapes(model))):
        raise ValueError(f"this is no valid model: {message}")
    return model


def fed_by_default(model: ModelProto) -> tuple[ValueInfoProto, ...]:
    """The inputs of a model that have no value of their own."""
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    return tuple(one for one in model.graph.input if one.name not in constants)


def _with_shapes(model: ModelProto) -> ModelProto:
    """`model` for the checker, which wants shapes of inputs and outputs; ONNX's runner does not."""
    infos = [*model.graph.input, *model.graph.output]
    tensors = [info.type.tensor_type for info in infos if info.type.HasField("tensor_type")]
    if all(tensor.HasField("shape") for tensor in tensors):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for info in (*copy.graph.input, *copy.graph.output):
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.shape.SetInParent()
    return copy


def _texts(model: ModelProto) -> Iterator[object]:
    """Yield all texts of a model that cases, messages or file names use."""
    graph = model.graph
    yield from (one.domain for one in model.opset_import)
    yield from (function.name for function in model.functions)
    for info in (*graph.input, *graph.output):
        yield info.name
        yield from (dim.dim_param for dim in info.type.tensor_type.shape.dim)
    for tensor in _tensors(model):
        yield tensor.name
        yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))
    for node in graph.node:
        yield from (node.op_type, node.domain, *node.input, *node.output)
        yield from (proto.name for proto in node.attribute)


def inside(path: Path, folder: Path) -> bool:
    """Return True if a path stays in a folder, with links followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that is none
        return False


def _fetch(tensor: TensorProto, folder: Path, room: int) -> int:
    """Read the data of a tensor from another file; returns their number of bytes."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    what = f"the data of {tensor.name!r} in {location!r}"
    path = folder / location
    if not location or not inside(path, folder):
        raise ValueError(f"{what}: this path leads out of the model's folder")
    if not path.is_file():
        raise ValueError(f"{what}: there is no such file")
    size = path.stat().st_size
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", size - offset))
    except ValueError:
        raise ValueError(f"{what}: offset or length is no number") from None
    if offset < 0 or length < 0 or offset + length > size:
        raise ValueError(f"{what}: {length} bytes from {offset} on, of {size}")
    if length > room:
        raise ValueError(f"{what}: with it the model is larger than {MAX_BYTES >> 30} GiB")
    with path.open("rb") as file:
        file.seek(offset)
        tensor.raw_data = file.read(length)
    tensor.ClearField("external_data")
    tensor.data_location = TensorProto.DEFAULT
    return length


def _tensors(message: Any) -> Iterator[TensorProto]:
    """Yield every tensor of a model, in whatever graph, function or attribute."""
    if isinstance(message, TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type:
            for one in (value,) if hasattr(value, "ListFields") else value:
                yield from _tensors(one)


#: Name, type and sizes of an input; a size is a number, a name, or "". None if the rank is open.
DeclaredTensor: TypeAlias = tuple[str, DType, tuple[int | str, ...] | None]


def declared_inputs(model: ModelProto) -> Iterator[DeclaredTensor]:
    """The inputs without a value of their own; raises BeyondOpcheck or ValueError by their type."""
    for info in fed_by_default(model):
        try:
            tensor = tensor_type(info.type)
            if not info.type.HasField("tensor_type"):
                raise BeyondOpcheck("a sequence or an optional")
            dtype = element(tensor.elem_type)
        except BeyondOpcheck as error:
            message = f"no values are made up for {error} (input {info.name!r})"
            raise BeyondOpcheck(message) from None
        dims = tensor.shape.dim
        sizes = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param for d in dims)
        yield info.name, dtype, sizes if tensor.HasField("shape") else None


def model_bytes(task: Task, ranks: Sequence[int]) -> bytes:
    """`task` as the bytes of a model, with the `ranks` of outputs; raises NotExpressible."""
    model = model_of(task)
    for output, rank in zip(model.graph.output, ranks, strict=False):
        if not output.type.tensor_type.HasField("shape"):
            state_rank(output, rank)
    return model.SerializeToString(deterministic=True)


def other_model(model: ModelProto, task: Task) -> str | None:
    """Return how `model` differs from `task`; its maker, IR version and output types may."""
    theirs, ours = (_substance(one) for one in (model, model_of(task)))
    if theirs == ours:
        return None
    for field, what in (("opset_import", "opset"), ("graph", "graph")):
        if getattr(theirs, field) != getattr(ours, field):
            return f"states another {what} than the manifest"
    return "states something else than the manifest"


def invalid(model: ModelProto) -> str | None:
    """Return the error of onnx's checker on a model, None if it is valid."""
    try:
        checker.check_model(model)
    except Exception as error:  # ValidationError, and whatever a damaged model leads to
        return " ".join(str(error).split())
    return None


def inferred_elements(model: ModelProto) -> int:
    """Return the outputs' number of elements as ONNX infers it; 0 where it cannot."""
    counts = [0]
    # Some first versions have no inference.
    for one in (model, at_newest_opsets(model)):
        try:
            outputs = shape_inference.infer_shapes(one).graph.output
        except Exception:  # InferenceError, or a domain that onnx does not know
            continue
        shapes = [[dim.dim_value for dim in o.type.tensor_type.shape.dim] for o in outputs]
        counts.append(sum(math.prod(shape) for shape in shapes))
    return max(counts)


def _substance(model: ModelProto) -> ModelProto:
    bare = anonymous(model)
    bare.ClearField("ir_version")
    for output in bare.graph.output:
        output.ClearField("type")
    for node in bare.graph.node:
        # Their order means nothing.
        node.attribute.sort(key=lambda attribute: attribute.name)
    return bare
