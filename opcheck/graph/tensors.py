"""Tensors in ONNX's own file format."""

from __future__ import annotations

from pathlib import Path

from onnx import TensorProto, numpy_helper

from opcheck.model import Array

#: No tensor file may be larger, in bytes: they may come from strangers.
MAX_BYTES = 1 << 30


def read_tensor(path: Path) -> Array:
    """The tensor in a .pb file; raises ValueError, naming the file, for whatever is not one."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES / 2**30:g} GiB")
        tensor = TensorProto.FromString(path.read_bytes())
        if tensor.data_location == TensorProto.EXTERNAL:
            raise ValueError("it keeps its data in another file")
        return numpy_helper.to_array(tensor)
    except Exception as error:
        # A damaged file makes protobuf, onnx and NumPy raise whatever they stumble over.
        raise ValueError(f"{path.name} is no readable tensor: {error}") from error
