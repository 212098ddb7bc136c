"""The files of a test in ONNX's layout, which may come from strangers.

No path leads out of the test's folder, and nothing is allocated because a file only says that it
is large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from onnx import TensorProto, ValueInfoProto, numpy_helper

from opcheck import dtypes
from opcheck.dtypes import DTYPES
from opcheck.graph.onnx_tolerance import ATOL, DATA, RTOL, read_tolerance
from opcheck.model import Array

#: No file may be larger, in bytes: more than the largest tensor of a case takes.
MAX_BYTES = 1 << 28
#: No tensor may have more elements.
MAX_ELEMENTS = 1 << 26

_BY_CODE = {dtype.onnx: dtype for dtype in DTYPES.values()}


class Unfit(ValueError):
    """A folder that cannot become a case; the message names the file and what was found."""


def file_in(folder: Path, name: str) -> Path:
    """A file of the folder; raises Unfit where there is none, a link leads out, or it is large."""
    path = folder / name
    try:
        _check_inside(folder, path)
        if not path.is_file():
            raise Unfit(f"{name}: " + ("this is no file" if path.exists() else "there is none"))
        if path.stat().st_size > MAX_BYTES:
            raise Unfit(f"{name}: larger than {MAX_BYTES >> 20} MiB")
    except OSError as error:  # no permission
        raise Unfit(f"{name}: cannot be read: {error.strerror}") from None
    return path


def tolerance_in(folder: Path) -> tuple[float, float]:
    """The relative and the absolute tolerance of the test in `folder`; raises Unfit, OSError."""
    if not (folder / DATA).exists():
        return RTOL, ATOL
    data = file_in(folder, DATA).read_bytes()
    try:
        return read_tolerance(data)
    except ValueError as error:
        raise Unfit(f"{DATA}: {error}") from None


def _check_inside(folder: Path, path: Path) -> None:
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        raise Unfit(f"{path.relative_to(folder)}: a loop of links") from None
    if not inside:
        raise Unfit(f"{path.relative_to(folder)}: this link leads out of the folder")


def tensors_in(
    root: Path, folder: Path, what: str, infos: Sequence[ValueInfoProto]
) -> Iterator[Array]:
    """The tensors of a data set; raises Unfit unless there is one for each of the model's."""
    _check_inside(root, folder)
    if not folder.is_dir():
        raise Unfit(f"{folder.name}: this is no folder")
    wanted = [f"{what}_{number}.pb" for number in range(len(infos))]
    there = {path.name for path in folder.iterdir() if path.name.startswith(f"{what}_")}
    if more := sorted(there - {*wanted}):
        told = f"the model has {len(infos)} {what}{'s' * (len(infos) != 1)}"
        raise Unfit(f"{folder.name}: {told}; there is {', '.join(more[:5])} too")
    for name, info in zip(wanted, infos, strict=True):
        place = f"{folder.name}/{name}"
        yield _tensor(file_in(root, place), place, info)


def _tensor(path: Path, place: str, info: ValueInfoProto) -> Array:
    try:
        tensor = TensorProto.FromString(path.read_bytes())
    except Exception as error:  # protobuf's own DecodeError, or the file cannot be read
        raise Unfit(f"{place}: no readable tensor: {error}") from None
    if tensor.data_location == TensorProto.EXTERNAL:
        raise Unfit(f"{place}: it keeps its data in another file")
    codes = TensorProto.DataType
    known = tensor.data_type in codes.values()
    kind = codes.Name(tensor.data_type) if known else f"type {tensor.data_type}"
    dtype = _BY_CODE.get(tensor.data_type)
    if dtype is None:
        raise Unfit(f"{place}: a tensor of {kind}, which no case can hold")
    declared = info.type.tensor_type.elem_type
    if declared not in (0, tensor.data_type):
        raise Unfit(f"{place}: a tensor of {dtype}; the model declares {_BY_CODE.get(declared)}")
    shape = [*tensor.dims]
    if min(shape, default=0) < 0 or math.prod(n or 1 for n in shape) > MAX_ELEMENTS:
        raise Unfit(f"{place}: the shape {shape} is more than {MAX_ELEMENTS:,} elements, or none")
    try:
        array: Array = numpy_helper.to_array(tensor)
    except Exception as error:  # onnx and NumPy raise whatever they stumble over
        raise Unfit(f"{place}: no readable tensor: {error}") from None
    if dtypes.of(array) is not dtype or [*array.shape] != shape:
        raise Unfit(f"{place}: no readable tensor: {array.dtype} of shape {array.shape} came of it")
    return array
