"""Tensors in JSON: dtype, shape, and the little-endian bytes of the elements in base64."""

from __future__ import annotations

import base64
import binascii
from math import prod
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.backends.runners.program import BrokenProtocol
from opcheck.errors import did_you_mean
from opcheck.model import Array

_KEYS = {"name", "dtype", "shape", "data"}


def to_json(name: str, array: Array) -> dict[str, Any]:
    """`array` as a JSON object; its elements in row-major order."""
    dtype = dtypes.of(array)
    assert dtype is not None
    plain = array.astype(array.dtype.newbyteorder("<"))
    data = base64.b64encode(plain.tobytes()).decode()
    return {"name": name, "dtype": dtype.name, "shape": list(array.shape), "data": data}


def from_json(said: Any, what: str) -> Array:
    """The array that a JSON object spells; `what` names it. Raises BrokenProtocol."""
    if not isinstance(said, dict) or not {"dtype", "shape", "data"} <= said.keys() <= _KEYS:
        found = f"it has {', '.join(map(repr, said))}" if isinstance(said, dict) else "it is none"
        raise BrokenProtocol(f"{what} must be an object with dtype, shape and data; {found}")
    dtype = _dtype(said["dtype"], what)
    shape = said["shape"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise BrokenProtocol(f"{what}: shape must be a list of sizes, got {shape!r}")
    data = _bytes(said["data"], what)
    size = prod(shape) * dtype.numpy.itemsize
    if len(data) != size:
        told = f"{dtype}{shape} has {size:,} bytes, data has {len(data):,}"
        raise BrokenProtocol(f"{what}: {told}")
    if dtype.kind == "bool" and data.strip(b"\0\1"):
        raise BrokenProtocol(f"{what}: a bool is a byte that is 0 or 1")
    stored = np.frombuffer(data, dtype.numpy.newbyteorder("<")).reshape(shape)
    return stored.astype(dtype.numpy)


def _dtype(name: Any, what: str) -> dtypes.DType:
    found = dtypes.DTYPES.get(name) if isinstance(name, str) else None
    if found is None:
        hint = isinstance(name, str) and did_you_mean(name, dtypes.DTYPES)
        known = hint or f"known: {', '.join(dtypes.DTYPES)}"
        raise BrokenProtocol(f"{what}: no dtype {name!r} ({known})")
    return found


def _bytes(text: Any, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise BrokenProtocol(f"{what}: data is no base64: {error}") from None
