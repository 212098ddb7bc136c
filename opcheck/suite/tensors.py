"""From a tensor as a case file writes it to a TensorSpec; nothing is allocated but literals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DTYPES, DType
from opcheck.model import Fill, FromFile, Given, Put, TensorSpec
from opcheck.reading import Mark, Node
from opcheck.suite.fields import CONTENTS, FILLS, TensorFields
from opcheck.suite.overlay import get, mapping

#: No tensor of a case may be larger, in bytes: case files may come from strangers.
MAX_BYTES = 1 << 30

_REAL_FILLS = ("uniform", "normal")


class Refused(Exception):
    """A tensor makes no sense; carries the place and what to say there."""

    def __init__(self, mark: Mark, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.mark, self.message, self.hint = mark, message, hint


def read_tensor(
    name: str, node: Node, fields: Any, dtype: DType | None, folder: Path
) -> TensorSpec:
    """The tensor `name` at `node`; `fields` is its validated form.

    `dtype` is its element type unless it says so itself; paths are relative to `folder`, and lie
    in it. Raises `Refused` at the first thing that makes no sense.
    """
    if not isinstance(fields, TensorFields):
        return _literal(name, node, dtype)
    if fields.dtype is not None:
        dtype = DTYPES[fields.dtype]
    contents = [key for key in CONTENTS if getattr(fields, key) is not None]
    if len(contents) != 1:
        said = " and ".join(contents) or "nothing"
        hint = f"exactly one of {', '.join(CONTENTS)}"
        raise Refused(node.mark, f"{name}: its values are given by {said}", hint)
    content = contents[0]
    for key in ("shape", "seed"):
        if getattr(fields, key) is not None and content not in FILLS:
            raise Refused(node.at([key], key=True), f"{name}: {key} goes with a fill only")
    if content == "value":
        spec = _literal(name, mapping(node)["value"], dtype)
    elif content == "file":
        spec = _from_file(name, node, str(fields.file), dtype, folder)
    else:
        spec = _filled(name, node, fields, content, dtype)
    return replace(spec, put=_puts(spec, node, fields), initializer=bool(fields.initializer))


def inside(folder: Path, path: str, mark: Mark) -> Path:
    """`path` in `folder`; refused if it is missing or leads outside, by a link or otherwise."""
    found = (folder / path).resolve()
    if not found.is_relative_to(folder.resolve()):
        raise Refused(mark, f"{path} lies outside the folder of the case file")
    if not found.exists():
        raise Refused(mark, f"{path} does not exist")
    return found


def _puts(spec: TensorSpec, node: Node, fields: TensorFields) -> tuple[Put, ...]:
    for number, put in enumerate(fields.put or ()):
        mark = node.at(["put", number])
        inside = len(put.at) == len(spec.shape) and all(
            0 <= i < n for i, n in zip(put.at, spec.shape, strict=True)
        )
        if not inside:
            raise Refused(mark, f"put: {put.at} is no index of shape {[*spec.shape]}")
        _check_held(spec.dtype, put.value, mark)
    return tuple(Put(tuple(put.at), put.value) for put in fields.put or ())


def _filled(
    name: str, node: Node, fields: TensorFields, kind: str, dtype: DType | None
) -> TensorSpec:
    if fields.shape is None:
        raise Refused(node.mark, f"{name}: {kind} needs a shape")
    if dtype is None:
        raise _no_dtype(name, node.mark)
    value = getattr(fields, kind)
    args = () if value is True else tuple(value) if isinstance(value, list) else (value,)
    mark = node.at([kind])
    _check_fill(name, kind, args, dtype, mark)
    spec = TensorSpec(name, dtype, tuple(fields.shape), Fill(kind, args, fields.seed or 0))
    if spec.nbytes > MAX_BYTES:
        size, most = spec.nbytes / 2**30, MAX_BYTES / 2**30
        message = f"{name}: shape {fields.shape} needs {size:,.1f} GiB; at most {most:g} GiB"
        raise Refused(node.at(["shape"]), message)
    return spec


def _check_fill(name: str, kind: str, args: tuple[float, ...], dtype: DType, mark: Mark) -> None:
    said = f"{name}: {kind}"
    if any(arg is False for arg in args):
        raise Refused(mark, f"{said}: write true, or another fill")
    if kind in _REAL_FILLS and dtype.kind != "float":
        raise Refused(mark, f"{said} makes real numbers; {dtype} holds none")
    if kind not in ("constant", "choice") and not all(map(math.isfinite, args)):
        raise Refused(mark, f"{said} takes finite numbers, got {[*args]}")
    if kind in ("uniform", "integers") and not args[0] <= args[1]:
        raise Refused(mark, f"{said} must be [low, high], got {[*args]}")
    if kind == "integers" and not all(arg.is_integer() for arg in args):
        raise Refused(mark, f"{said} takes whole numbers, got {[*args]}")
    if kind not in ("normal", "arange", "permutation"):
        for arg in args:
            _check_held(dtype, arg, mark)


def _from_file(name: str, node: Node, path: str, dtype: DType | None, folder: Path) -> TensorSpec:
    mark = node.at(["file"])
    found = inside(folder, path, mark)
    try:
        array = np.load(found, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise Refused(mark, f"{path} is no readable .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise Refused(mark, f"{path} is no .npy file but an archive")
    stored = dtypes.of(array)
    if stored is None and dtype and array.dtype.kind == "V":
        # .npy has no name for bfloat16 and stores its bytes as void.
        stored = dtype if dtype.numpy.itemsize == array.dtype.itemsize else None
    if stored is None:
        raise Refused(mark, f"{path} holds {array.dtype}, which no case can use")
    if get(node, ("dtype",)) is not None and stored is not dtype:
        raise Refused(mark, f"{path} holds {stored}, but dtype says {dtype}")
    if array.nbytes > MAX_BYTES:
        raise Refused(mark, f"{path} holds more than {MAX_BYTES / 2**30:g} GiB")
    return TensorSpec(name, stored, array.shape, FromFile(found))


def _literal(name: str, node: Node, dtype: DType | None) -> TensorSpec:
    if dtype is None:
        raise _no_dtype(name, node.mark)
    values: list[Any] = []
    shape = _walk(name, node, dtype, values)
    # Floats stay in float64: they are rounded once, when the case's data is made.
    kind = np.dtype(np.float64) if dtype.kind == "float" else dtype.numpy
    return TensorSpec(name, dtype, shape, Given(np.array(values, dtype=kind).reshape(shape)))


def _walk(name: str, node: Node, dtype: DType, values: list[Any]) -> tuple[int, ...]:
    """The shape below `node`, whose scalars are appended to `values`."""
    if not isinstance(node.value, tuple):
        _check_scalar(name, node, dtype)
        values.append(node.value)
        return ()
    shapes = [_walk(name, item, dtype, values) for item in node.value]
    for item, shape in zip(node.value, shapes, strict=True):
        if shape != shapes[0]:
            message = f"{name}: ragged: {_extent(shape)} beside {_extent(shapes[0])}"
            raise Refused(item.mark, message)
    return (len(shapes), *(shapes[0] if shapes else ()))


def _check_scalar(name: str, node: Node, dtype: DType) -> None:
    value = node.value
    wanted = {"float": (int, float), "int": (int,), "bool": (bool,)}[dtype.kind]
    if not isinstance(value, wanted) or (isinstance(value, bool) and dtype.kind != "bool"):
        said = "a mapping" if isinstance(value, dict) else repr(value)[:60]
        words = str(value).lower().lstrip("+-")
        hint = "write .inf, -.inf or .nan" if words in ("inf", "infinity", "nan") else None
        raise Refused(node.mark, f"{name}: {said} is no value of {dtype}", hint)
    _check_held(dtype, value, node.mark)


def _check_held(dtype: DType, value: float, mark: Mark) -> None:
    """Refuse what `dtype` cannot hold, rounding to a float type aside."""
    if dtype.kind == "float" and not math.isfinite(value):
        return
    low, high = dtypes.limits(dtype)
    whole = dtype.kind == "float" or value == int(value)
    if not (low <= value <= high and whole):
        spelt = (f"{low:.8g}", f"{high:.8g}") if dtype.kind == "float" else (low, high)
        raise Refused(mark, f"{value!r} is outside {dtype}, which holds {spelt[0]} to {spelt[1]}")


def _no_dtype(name: str, mark: Mark) -> Refused:
    return Refused(mark, f"{name}: its dtype is not stated", "state dtype for the case")


def _extent(shape: tuple[int, ...]) -> str:
    return "a number" if not shape else f"a list of shape {[*shape]}"
