"""Large weights of a model, which stay in the file that they lie in.

A model that is read from a file is held as bytes in which a large initializer is external data: an
absolute path, an offset and a length, and how to know a file that has changed since. `array` maps
it into memory; `pieces` gives the whole model. Both raise UsageError for a file that has changed.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, helper, numpy_helper

from opcheck.dtypes import named
from opcheck.errors import UsageError
from opcheck.model import Array

Bytes: TypeAlias = bytes | memoryview
#: An offset in a file, and a length.
Place: TypeAlias = tuple[int, int]
#: Initializers of fewer bytes stay in the model.
_LARGE = 1 << 16
#: Numbers of fields: of a model's graph, of its initializers, and of their data.
_GRAPH = 7
_INITIALIZER = 5
_DATA = 9


def without(path: Path) -> tuple[bytes, list[Place | None]]:
    """The model in a file without the data of its large initializers, and where those lie.

    There is a place for each initializer, None where its data are in the model. A file that is no
    message of protobuf comes back as it is.
    """
    if path.stat().st_size < _LARGE:
        return path.read_bytes(), []
    mapped: Any = np.memmap(path, np.uint8, "r")
    data = memoryview(mapped)
    places: list[Place | None] = []

    def smaller(begin: int, end: int) -> list[Bytes] | None:
        fields = [*_fields(data, begin, end)]
        held = [(at, stop - at) for field, _, at, stop in fields if field == _DATA]
        rest = b"".join(data[at:stop] for field, at, _, stop in fields if field != _DATA)
        tensor = TensorProto.FromString(rest)
        # These fields hold its data in other ways.
        alone = len(held) == 1 and {4, 5, 6, 7, 10, 11}.isdisjoint(field for field, *_ in fields)
        goes = alone and is_large(tensor, held[0][1]) and not is_outside(tensor)
        places.append(held[0] if goes else None)
        return [rest] if goes else None

    try:
        return b"".join(_changed(data, smaller)), places
    except (ValueError, IndexError, DecodeError):
        return bytes(data), []


def _changed(data: memoryview, change: Callable[[int, int], list[Bytes] | None]) -> Iterator[Bytes]:
    """Yield a model with `change` made to each initializer, by its place; None leaves it."""
    for number, start, begin, end in _fields(data, 0, len(data)):
        if number != _GRAPH:
            yield data[start:end]
            continue
        graph: list[Bytes] = []
        for field, at, first, stop in _fields(data, begin, end):
            new = change(first, stop) if field == _INITIALIZER else None
            graph += [data[at:stop]] if new is None else _message(_INITIALIZER, new)
        yield from _message(_GRAPH, graph)


def is_large(tensor: TensorProto, length: int) -> bool:
    """Return True if a tensor's data of this length are worth mapping, and can be."""
    dtype = named(tensor.data_type)
    # Elements of less than a byte are packed.
    if length < _LARGE or dtype is None or dtype.kind == "string" or 0 < dtype.bits < 8:
        return False
    return length == prod(tensor.dims) * dtype.numpy.itemsize


def put_outside(tensor: TensorProto, path: Path, offset: int, length: int) -> None:
    """Let the data of a tensor lie in a file."""
    was_stated = tensor.HasField("data_location")
    tensor.ClearField("raw_data")
    tensor.ClearField("external_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": path.resolve(), "offset": offset, "length": length}
    for key, value in (entries | {"state": _state(path), "was_stated": was_stated}).items():
        tensor.external_data.add(key=key, value=str(value))


def _state(path: Path) -> str:
    found = path.stat()
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def is_outside(tensor: TensorProto) -> bool:
    """Return True if the data of a tensor lie in a file."""
    return tensor.data_location == TensorProto.EXTERNAL


def array(tensor: TensorProto) -> Array:
    """The array of a tensor, mapped if its data lie in a file."""
    if not is_outside(tensor):
        return numpy_helper.to_array(tensor)
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type).newbyteorder("<")
    path, offset, _, state, _ = (one.value for one in tensor.external_data)
    try:
        if state == _state(Path(path)):
            return np.asarray(np.memmap(path, dtype, "r", int(offset), tuple(tensor.dims)))
    except OSError as error:
        raise UsageError(f"{path} cannot be read any more: {error.strerror}") from None
    raise UsageError(f"{path} has changed since it was read")


def are_outside(model: bytes) -> bool:
    """Return True if large weights of a model lie in files, which have not changed."""
    held = b"location" in model and ModelProto.FromString(model).graph.initializer
    return len([array(one) for one in held or () if is_outside(one)]) > 0


def pieces(model: bytes) -> Iterator[Bytes]:
    """Yield a model with all its weights, piece by piece; itself where it has no others."""
    if b"location" not in model:
        yield model
        return
    data = memoryview(model)

    def filled(begin: int, end: int) -> list[Bytes] | None:
        tensor = TensorProto.FromString(bytes(data[begin:end]))
        if not is_outside(tensor):
            return None
        mapped: Any = array(tensor).reshape(-1).view(np.uint8)
        was_stated = tensor.external_data[-1].value == str(True)
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        if was_stated:
            tensor.data_location = TensorProto.DEFAULT
        rest = memoryview(tensor.SerializeToString())
        # By number, as protobuf writes fields.
        places = [begin for field, begin, *_ in _fields(rest, 0, len(rest)) if field > _DATA]
        after = min(places, default=len(rest))
        return [rest[:after], *_message(_DATA, [memoryview(mapped)]), rest[after:]]

    yield from _changed(data, filled)


def digest(model: bytes) -> str:
    """The SHA-256 of a whole model, wherever its weights lie."""
    found = sha256()
    for piece in pieces(model):
        found.update(piece)
    return found.hexdigest()


def _message(number: int, content: Sequence[Bytes]) -> list[Bytes]:
    head = bytearray()
    for value in (number << 3 | 2, sum(map(len, content))):
        rest = value
        while rest > 0x7F:
            head.append(rest & 0x7F | 0x80)
            rest >>= 7
        head.append(rest)
    return [bytes(head), *content]


def _fields(data: memoryview, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield each field of a message: number, where it begins, where its content does, and ends."""

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while shift < 70:  # bits of the longest numbers, seven a byte
            byte = data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte <= 0x7F:
                return value
        raise ValueError("a number of more than 64 bits")

    while at < end:
        start = at
        key = varint()
        begin = at
        match key & 7:
            case 0:
                varint()
            case 1:
                at += 8
            case 2:
                size = varint()
                begin = at
                at += size
            case 5:
                at += 4
            case kind:
                raise ValueError(f"a field of type {kind}")
        if at > end or key < 8:
            raise ValueError("it is cut off, or a field has no number")
        yield key >> 3, start, begin, at
