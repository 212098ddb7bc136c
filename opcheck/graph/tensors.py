"""Values of ONNX's types in files: tensors, in ONNX's own format and NumPy's, sequences, optionals.

Files may come from strangers: whatever is no such value is refused with what it is instead, and
nothing larger than `MAX_BYTES` is made of one.
"""

from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, TypeProto, numpy_helper

from opcheck.dtypes import DType, named
from opcheck.model import Array, Value

#: No tensor file may be larger, in bytes: they may come from strangers.
MAX_BYTES = 1 << 30
_NPY = b"\x93NUMPY"
#: Names of values that opcheck neither feeds nor judges.
_BEYOND = {
    "map_type": "map values",
    "sparse_tensor_type": "sparse tensors",
    "opaque_type": "opaque values",
}


def read_tensor(path: Path) -> Array:
    """The tensor in a .pb file; raises ValueError, naming the file, for whatever is not one."""
    return read_named_tensor(path)[1]


def read_named_tensor(path: Path) -> tuple[str, Array]:
    """Return the tensor's name and the tensor."""
    try:
        tensor = TensorProto.FromString(read_whole(path))
        return tensor.name, array_of(tensor)
    except Exception as error:
        # A damaged file makes protobuf, onnx and NumPy raise whatever they stumble over.
        raise ValueError(f"{path.name} is no readable tensor: {error}") from error


def read_npy(path: Path) -> Array:
    """The array in a .npy file, in native byte order, never unpickled; raises ValueError."""
    try:
        _check_size(path)
        with path.open("rb") as file:
            # NumPy would also read archives and pickles.
            if file.read(len(_NPY)) != _NPY:
                raise ValueError("it is no .npy file")
        loaded: Array = np.load(path, allow_pickle=False)
        array = loaded.astype(loaded.dtype.newbyteorder("="))
    except Exception as error:
        # The header is a Python expression: NumPy lets out whatever its parsing raises.
        raise ValueError(f"{path.name} is no readable array: {error}") from error
    if array.dtype.kind == "V":
        hint = f"write {path.stem}.pb instead"
        raise ValueError(f"{path.name}: NumPy's format has no bfloat16, only bytes: {hint}")
    return array


def tensor_bytes(array: Array, name: str) -> bytes:
    """`array` as a .pb file holds it, the same on every machine; raises ValueError if none can."""
    try:
        tensor = numpy_helper.from_array(array.astype(array.dtype.newbyteorder("=")), name)
        return tensor.SerializeToString(deterministic=True)
    except Exception as error:
        # protobuf, onnx and NumPy each have their own way to refuse.
        raise ValueError(f"no tensor file can hold {array.dtype}: {error}") from error


def array_from(data: bytes) -> Array:
    """The tensor that `tensor_bytes` wrote; raises whatever protobuf raises for other bytes."""
    return array_of(TensorProto.FromString(data))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, even if this process is killed meanwhile."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    part.replace(path)


def read_whole(path: Path) -> bytes:
    """Return the bytes of a file; raises ValueError if it is no file, or a very large one."""
    _check_size(path)
    return path.read_bytes()


def _check_size(path: Path) -> None:
    # A pipe would never end.
    if not path.is_file():
        raise ValueError("it is no file" if path.exists() else "there is no such file")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES / 2**30:g} GiB")


def initializers(model: ModelProto, names: Collection[str]) -> dict[str, Array]:
    """The constants of a model that have these names; raises ValueError for a damaged one."""
    found = (tensor for tensor in model.graph.initializer if tensor.name in names)
    try:
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in found}
    except Exception as error:  # onnx and NumPy raise whatever they stumble over
        raise ValueError(f"has a damaged constant: {error}") from None


class BeyondOpcheck(Exception):
    """A value that opcheck neither feeds nor judges; the message names it."""


def tensor_type(declared: TypeProto) -> TypeProto.Tensor:
    """The type of a tensor, or of those in a sequence or an optional; else raises BeyondOpcheck."""
    inner, sequences = declared, 0
    while (form := inner.WhichOneof("value")) in ("sequence_type", "optional_type"):
        sequences += form == "sequence_type"
        inner = getattr(inner, form).elem_type
    if form in _BEYOND:
        raise BeyondOpcheck(_BEYOND[form])
    if sequences > 1:
        raise BeyondOpcheck("sequences of sequences")
    return inner.tensor_type


def element(code: int) -> DType:
    """The element type of this number; raises BeyondOpcheck, or ValueError where ONNX has none."""
    if dtype := named(code):
        return dtype
    if code in TensorProto.DataType.values() and code != TensorProto.UNDEFINED:
        raise BeyondOpcheck(f"elements of type {TensorProto.DataType.Name(code)}")
    raise ValueError(f"no element type has the number {code}")


def read_value(path: Path, declared: TypeProto | None) -> Value:
    """Read a value, by default a tensor; raises BeyondOpcheck and, naming the file, ValueError."""
    if path.suffix == ".npy":
        return read_npy(path)
    if declared is None:
        return read_tensor(path)
    try:
        data = read_whole(path)
        match declared.WhichOneof("value"):
            case "sequence_type":
                return _sequence(SequenceProto.FromString(data))
            case "optional_type":
                return _optional(OptionalProto.FromString(data))
            case _:
                return array_of(TensorProto.FromString(data))
    except BeyondOpcheck:
        raise
    except Exception as error:
        # A damaged file makes protobuf, onnx and NumPy raise whatever they stumble over.
        message = str(error) or type(error).__name__
        raise ValueError(f"{path.name} holds no readable value: {message}") from error


def _sequence(proto: SequenceProto) -> list[Array]:
    if proto.elem_type != SequenceProto.TENSOR:
        known = proto.elem_type in SequenceProto.DataType.values()
        name = SequenceProto.DataType.Name(proto.elem_type) if known else proto.elem_type
        raise ValueError(f"a sequence of {name}, not of tensors")
    return [array_of(tensor) for tensor in proto.tensor_values]


def _optional(proto: OptionalProto) -> Value:
    match proto.elem_type:
        case OptionalProto.UNDEFINED:
            return None
        case OptionalProto.TENSOR:
            # The type may be stated where the value is not.
            return array_of(proto.tensor_value) if proto.HasField("tensor_value") else None
        case OptionalProto.SEQUENCE:
            return _sequence(proto.sequence_value) if proto.HasField("sequence_value") else None
        case _:
            raise ValueError("an optional of something else than a tensor or a sequence")


def array_of(tensor: TensorProto) -> Array:
    """The array in a tensor; raises ValueError, among others, where there is none."""
    if tensor.data_location == TensorProto.EXTERNAL:
        raise ValueError("it keeps its data in another file")
    dtype = element(tensor.data_type)
    shape = list(tensor.dims)
    if any(size < 0 for size in shape) or prod(shape) * dtype.numpy.itemsize > MAX_BYTES:
        raise ValueError(f"a tensor of shape {shape}")
    array: Array = numpy_helper.to_array(tensor)
    return array


def value_bytes(value: Any, declared: TypeProto | None, name: str) -> bytes:
    """A .pb file of a `declared` value, or else a tensor; raises BeyondOpcheck and ValueError."""
    form = ""
    if declared is not None:
        tensor_type(declared)
        form = declared.WhichOneof("value") or ""
    if form == "sequence_type":
        return numpy_helper.from_list(value, name).SerializeToString()
    if form == "optional_type":
        return numpy_helper.from_optional(value, name).SerializeToString()
    return tensor_bytes(value, name)
