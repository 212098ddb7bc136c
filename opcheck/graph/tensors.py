"""Tensors in files: ONNX's own format, and NumPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper

from opcheck.model import Array

#: No tensor file may be larger, in bytes: they may come from strangers.
MAX_BYTES = 1 << 30
_NPY = b"\x93NUMPY"


def read_tensor(path: Path) -> Array:
    """The tensor in a .pb file; raises ValueError, naming the file, for whatever is not one."""
    return read_named_tensor(path)[1]


def read_named_tensor(path: Path) -> tuple[str, Array]:
    """The same, after its name."""
    try:
        _check_size(path)
        tensor = TensorProto.FromString(path.read_bytes())
        if tensor.data_location == TensorProto.EXTERNAL:
            raise ValueError("it keeps its data in another file")
        return tensor.name, numpy_helper.to_array(tensor)
    except Exception as error:
        # A damaged file makes protobuf, onnx and NumPy raise whatever they stumble over.
        raise ValueError(f"{path.name} is no readable tensor: {error}") from error


def read_npy(path: Path) -> Array:
    """The array in a .npy file, in this machine's byte order; raises ValueError, naming the file.

    What holds pickled objects is never unpickled.
    """
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


def write_tensor(path: Path, array: Array, name: str) -> None:
    """Write `array` as a .pb file; a file of that name is there whole or not at all.

    Raises ValueError for what such a file cannot hold.
    """
    write_whole(path, tensor_bytes(array, name))


def tensor_bytes(array: Array, name: str) -> bytes:
    """`array` as a .pb file holds it, the same on every machine; raises ValueError if none can."""
    try:
        tensor = numpy_helper.from_array(array.astype(array.dtype.newbyteorder("=")), name)
        return tensor.SerializeToString(deterministic=True)
    except Exception as error:
        # protobuf, onnx and NumPy each have their own way to refuse.
        raise ValueError(f"no tensor file can hold {array.dtype}: {error}") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, even if this process is killed meanwhile."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    part.replace(path)


def _check_size(path: Path) -> None:
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES / 2**30:g} GiB")
