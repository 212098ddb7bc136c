"""Tensors in ONNX's own file format."""

from __future__ import annotations

from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import TensorProto, numpy_helper

from opcheck.model import Array

#: No tensor file may be larger, in bytes: they may come from strangers.
MAX_BYTES = 1 << 30


def read_tensor(path: Path) -> Array:
    """The tensor in a .pb file; raises ValueError for whatever is not one."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path.name} is larger than {MAX_BYTES / 2**30:g} GiB")
        tensor = TensorProto.FromString(path.read_bytes())
        if tensor.data_location == TensorProto.EXTERNAL:
            raise ValueError(f"{path.name} keeps its data in another file")
        return numpy_helper.to_array(tensor)
    except (OSError, DecodeError, TypeError, KeyError) as error:
        raise ValueError(f"{path.name} is no readable tensor: {error}") from error
