"""Values, attributes, tensors and commands in the words that all reports share."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence

import numpy as np

from opcheck.dtypes import DType
from opcheck.model import Array, Attrs, Case, Fill, FromFile, Given, Result, TensorSpec

#: The most elements of a literal that are shown in a line.
_SHOWN = 16
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Text from a backend, harmless to a terminal: no control characters but newline and tab."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def number(value: float | int | bool | None, dtype: DType | None) -> str:
    """A value as short as its dtype allows: float32 0.1 is 0.1, not 0.10000000149011612."""
    if value is None:
        return ""
    if not isinstance(value, float) or dtype is None or dtype.kind != "float":
        return str(value)
    if not math.isfinite(value) or value == 0:
        return str(value)
    if dtype.name == "bfloat16":
        return f"{value:.4g}"
    return str(dtype.numpy.type(value))


def bits(value: float | int | bool, dtype: DType) -> str:
    """The exact representation of a value in its dtype, in hexadecimal."""
    width = dtype.numpy.itemsize
    raw = np.array(value).astype(dtype.numpy).tobytes()
    return f"0x{int.from_bytes(raw, 'little'):0{2 * width}x}"


def attributes(attrs: Attrs) -> str:
    """`axis=1 pads=[0, 1]`, or "no attributes"."""
    said = (f"{name}={[*v] if isinstance(v, tuple) else v}" for name, v in attrs.items())
    return " ".join(said) or "no attributes"


def tensor(spec: TensorSpec) -> str:
    """`input float32[2, 3] uniform 0, 1 seed 7`; a small literal in full, a large one not."""
    shape = f"{spec.name} {spec.dtype}[{', '.join(map(str, spec.shape))}]"
    match spec.content:
        case Fill(kind, args, seed):
            random = kind not in ("constant", "arange", "specials")
            values = f" {kind} {', '.join(f'{arg:g}' for arg in args)}".rstrip()
            return f"{shape}{values}{f' seed {seed}' if random else ''}"
        case FromFile(path):
            return f"{shape} from {path.name}"
        case Given(values) if 0 < values.size <= _SHOWN:
            return f"{shape} {_literal(values)}"
        case _:
            return shape


def _literal(values: Array) -> str:
    if values.ndim:
        return f"[{', '.join(map(_literal, values))}]"
    return f"{values:g}" if values.dtype.kind == "f" else str(values)


def question(case: Case) -> str:
    """What the case asks, in a line."""
    tensors = ", ".join(map(tensor, case.inputs))
    return f"{case.op} at opset {case.opset}, {attributes(case.attrs)}, {tensors}"


def repeat(result: Result) -> str:
    """The command that repeats just this case on just this backend."""
    words = ["opcheck", "run"]
    if not result.case.source.shipped:
        words.append(result.case.source.file)
    words += ["--case", result.case.id, "-b", result.backend, "--no-known"]
    return shlex.join(words)


def plural(count: int, noun: str) -> str:
    """`1 case`, `2 cases`, `1,031 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def index(place: Sequence[int]) -> str:
    """An element's index: `[0, 2]`."""
    return f"[{', '.join(map(str, place))}]"
