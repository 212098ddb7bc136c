"""Values of ONNX's types in files: tensors, sequences of them, and optionals.

Files may come from strangers: whatever is no such value is refused with what it is instead, and
nothing larger than `tensors.MAX_BYTES` is made of one.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from onnx import OptionalProto, SequenceProto, TensorProto, TypeProto, numpy_helper

from opcheck.dtypes import ELEMENT_TYPES, DType
from opcheck.graph.tensors import MAX_BYTES, read_whole
from opcheck.model import Array, Value

_BY_CODE = {dtype.onnx: dtype for dtype in ELEMENT_TYPES.values()}
#: What values are called that opcheck neither feeds nor judges.
_BEYOND = {
    "map_type": "map values",
    "sparse_tensor_type": "sparse tensors",
    "opaque_type": "opaque values",
}


class BeyondOpcheck(Exception):
    """A value that ONNX has and opcheck neither feeds nor judges; the message names it."""


def tensor_type(declared: TypeProto) -> TypeProto.Tensor:
    """The type of the tensor, of the sequence's, or of the one that an optional may hold.

    Raises BeyondOpcheck where no tensors are in it, or sequences in a sequence.
    """
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
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code in TensorProto.DataType.values() and code != TensorProto.UNDEFINED:
        raise BeyondOpcheck(f"elements of type {TensorProto.DataType.Name(code)}")
    raise ValueError(f"no element type has the number {code}")


def read_value(path: Path, declared: TypeProto) -> Value:
    """The value in a .pb file, of which the model says that it is `declared`.

    Raises ValueError, naming the file, for whatever is no such value, and BeyondOpcheck.
    """
    try:
        return _value(read_whole(path), declared)
    except BeyondOpcheck:
        raise
    except Exception as error:
        # A damaged file makes protobuf, onnx and NumPy raise whatever they stumble over.
        told = str(error) or type(error).__name__
        raise ValueError(f"{path.name} holds no readable value: {told}") from error


def _value(data: bytes, declared: TypeProto) -> Value:
    match declared.WhichOneof("value"):
        case "sequence_type":
            return _sequence(SequenceProto.FromString(data))
        case "optional_type":
            return _optional(OptionalProto.FromString(data))
        case _:
            return array_of(TensorProto.FromString(data))


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


def value_bytes(value: Any, declared: TypeProto, name: str) -> bytes:
    """The bytes of a file with `value`, as ONNX's own tool writes it.

    Raises BeyondOpcheck.
    """
    tensor_type(declared)
    match declared.WhichOneof("value"):
        case "sequence_type":
            return numpy_helper.from_list(value, name).SerializeToString()
        case "optional_type":
            return numpy_helper.from_optional(value, name).SerializeToString()
        case _ if isinstance(value, TensorProto):
            return value.SerializeToString()
        case _:
            return numpy_helper.from_array(value, name).SerializeToString()
