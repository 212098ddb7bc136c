"""Values, attributes, tensors and commands in the words that all reports share."""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Sequence

import numpy as np

from opcheck.dtypes import DType, round_to
from opcheck.model import Array, Attrs, Case, Fill, FromFile, Given, Result, TensorSpec, Verdict

#: The most elements of a literal that are shown in a line.
_SHOWN = 16
#: What steers a terminal, reorders its text, or shows as nothing; newline and tab are not in it.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
#: How much of a backend's message is shown: lines in the report of a failure, characters in a list.
_LINES = 20
_LENGTH = 200


def clean(text: str) -> str:
    """Text from outside, harmless to a terminal, in lines of its own."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def block(text: str) -> str:
    """Text from outside as a report of a failure shows it: harmless, and not too many lines."""
    lines = clean(text).split("\n")
    if len(lines) > _LINES:
        lines[_LINES:] = [f"… and {plural(len(lines) - _LINES, 'more line')}"]
    return "\n".join(lines)


def ending(text: str) -> str:
    """The last lines of what a program printed: what it died of stands there."""
    lines = clean(text.lstrip("\r\n").rstrip()).split("\n")
    if len(lines) > _LINES:
        left = len(lines) - _LINES + 1
        lines[:left] = [f"… {plural(left, 'line')} before"]
    return "\n".join(lines)


def brief(text: str) -> str:
    """Text from outside as a list shows it: harmless, in one line, and short."""
    line = " ".join(clean(text).split())
    return line if len(line) <= _LENGTH else f"{line[: _LENGTH - 2]} …"


def number(value: float | int | bool | None, dtype: DType | None) -> str:
    """A value as short as its dtype allows: float32 0.1 is 0.1, not 0.10000000149011612.

    Whole numbers are spelt out: the largest float16 is 65504, though 6.55e+04 leads there too.
    """
    if value is None:
        return ""
    if not isinstance(value, float) or not math.isfinite(value) or dtype is None:
        return str(value)
    if dtype.kind != "float" or (value.is_integer() and abs(value) < 1e16):
        return str(value)
    # 17 digits tell all values of float64 apart.
    spellings = (float(f"{value:.{digits}g}") for digits in range(1, 18))
    return str(next(s for s in spellings if round_to(np.array([s]), dtype)[0] == value))


def bits(value: float | int | bool, dtype: DType) -> str:
    """The exact representation of a value in its dtype, in hexadecimal."""
    width = dtype.numpy.itemsize
    raw = np.array(value).astype(dtype.numpy).tobytes()
    return f"0x{int.from_bytes(raw, sys.byteorder):0{2 * width}x}"


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
        file = result.case.source.file
        words.append(f"./{file}" if file.startswith("-") else file)  # or it would be an option
    words += ["--case", result.case.id, "-b", result.backend, "--no-known"]
    # Without it, the like of it is only counted.
    if result.verdict is Verdict.WARN:
        words.append("--strict")
    if result.verdict is Verdict.UNSUPPORTED:
        words.append("--require-supported")
    return shlex.join(words)


def plural(count: int, noun: str) -> str:
    """`1 case`, `2 cases`, `1,031 cases`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def index(place: Sequence[int]) -> str:
    """An element's index: `[0, 2]`."""
    return f"[{', '.join(map(str, place))}]"
