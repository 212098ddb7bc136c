"""A case as it is written in a case file, ready to be pasted below `cases:`."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opcheck import dtypes, opset
from opcheck.dtypes import DTYPES, DType
from opcheck.model import (
    Array,
    AttrValue,
    Case,
    Fill,
    Given,
    Rejected,
    TensorSpec,
    Typed,
    Values,
)
from opcheck.suite.signature import changed_defaults

_WIDTH = 100
_NOT_IN_NAMES = re.compile("[^a-z0-9]+")
#: Whatever else YAML may take for something that is no text.
_PLAIN = re.compile("[A-Z][A-Z_]*[A-Z]")


def name_of(words: str) -> str:
    """`words` as a name that a case may have."""
    return _NOT_IN_NAMES.sub("_", words.lower()).strip("_")


def written(case: Case, name: str, places: Sequence[tuple[int, str]]) -> list[str]:
    """The lines of `case` under this name, at each of these opsets and dtypes.

    The opsets and dtypes must be all combinations of some with some.
    """
    # What tells a number from its neighbours here, does it in the other types too.
    widest = max((DTYPES[dtype] for _, dtype in places), key=lambda dtype: dtype.precision)
    return [
        f"- name: {name}",
        *_matrix(places),
        f"  attrs: {_mapping(_attrs(case))}",
        *_tensors("inputs", case.inputs, widest),
        *_expectation(case, widest),
    ]


def combinations(places: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Opsets and dtypes in parts, each of which is all combinations of some with some."""
    by_opset: dict[int, tuple[str, ...]] = {}
    for opset_, dtype in sorted(places):
        by_opset[opset_] = (*by_opset.get(opset_, ()), dtype)
    for chosen in dict.fromkeys(by_opset.values()):
        alike = [number for number, among in by_opset.items() if among == chosen]
        yield [(number, dtype) for number in alike for dtype in chosen]


def _matrix(places: Sequence[tuple[int, str]]) -> list[str]:
    opsets = list(dict.fromkeys(number for number, _ in places))
    types = list(dict.fromkeys(dtype for _, dtype in places))
    varied = []
    lines = []
    for key, values in (("opset", opsets), ("dtype", types)):
        if len(values) > 1:
            varied.append(f"{key}: [{', '.join(map(str, values))}]")
        else:
            lines.append(f"  {key}: {values[0]}")
    return [*([f"  matrix: {{{', '.join(varied)}}}"] if varied else []), *lines]


def _attrs(case: Case) -> dict[str, AttrValue | Typed | None]:
    """The attributes, with those left out whose defaults differ between versions."""
    schema = opset.describe(case.op.domain, case.op.name, case.opset)
    changed = changed_defaults(schema) if schema else ()
    return {**dict.fromkeys(changed), **case.attrs}


def _mapping(attrs: Mapping[str, AttrValue | Typed | None]) -> str:
    return "{" + ", ".join(f"{name}: {_value(value)}" for name, value in attrs.items()) + "}"


def _value(value: AttrValue | Typed | None) -> str:
    match value:
        case None:
            return "null"
        case str():
            return value if _PLAIN.fullmatch(value) else f'"{value}"'
        case tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Typed():
            return f"{{{value.type}: {_value(value.value)}}}"
        case _:
            return number(value, None)


def _expectation(case: Case, dtype: DType) -> list[str]:
    match case.expect:
        case Values(outputs):
            return _tensors("expect", outputs, None)
        case Rejected(reason, legal):
            rejected = 'rejected: "{}"'.format(reason.replace('"', "'"))
            change = f"legal: {{{_change(case, legal, dtype)}}}"
            whole = f"  expect: {{{rejected}, {change}}}"
            if len(whole) <= _WIDTH:
                return [whole]
            return ["  expect:", f"    {rejected}", f"    {change}"]
        case _:
            return ['  empty: "{}"'.format(case.empty.replace('"', "'"))] if case.empty else []


def _change(case: Case, legal: Case, dtype: DType) -> str:
    """In what its legal twin differs from a case: one attribute, or one input."""
    for name in {**case.attrs, **legal.attrs}:
        if case.attrs.get(name) != legal.attrs.get(name):
            return f"attrs.{name}: {_value(legal.attrs.get(name))}"
    for mine, other in zip(case.inputs, legal.inputs, strict=True):
        if mine.shape != other.shape:
            (line,) = _tensor(other, dtype)
            return f"inputs.{line.strip()}"
    raise ValueError(f"{case.id}: its legal twin is the same")


def _tensors(key: str, specs: Sequence[TensorSpec], dtype: DType | None) -> list[str]:
    """Tensors by name, in as many digits as `dtype` has, or in all if they are not rounded yet."""
    lines = [f"  {key}:"]
    for spec in specs:
        lines += _tensor(spec, dtype)
    if len(lines) == 2 and len(lines[1]) + len(lines[0]) + 2 <= _WIDTH:
        return [f"{lines[0]} {{{lines[1].strip()}}}"]
    return lines


def _tensor(spec: TensorSpec, dtype: DType | None) -> list[str]:
    constant = ", initializer: true" if spec.initializer else ""
    match spec.content:
        case Fill(kind, args, seed):
            said = f"{kind}: {_fill(kind, args)}"
            said += "" if kind in ("constant", "arange") else f", seed: {seed}"
            puts = [f"{{at: {_value(p.at)}, value: {number(p.value, None)}}}" for p in spec.put]
            said += f", put: [{', '.join(puts)}]" if puts else ""
            return [f"    {spec.name}: {{shape: {_value(spec.shape)}, {said}{constant}}}"]
        case Given(values) if values.size == 0:
            shape = _value(spec.shape)
            return [f"    {spec.name}: {{shape: {shape}, constant: 0{constant}}}"]
        case Given(values):
            text = _literal(values, dtype)
            opening = f"    {spec.name}: {'{value: ' * bool(constant)}"
            return _wrapped(opening, text, f"{constant}}}" * bool(constant))
        case _:
            raise ValueError(f"{spec.name}: its values are in a file")


def _fill(kind: str, args: Sequence[float]) -> str:
    numbers = [number(arg, None) for arg in args]
    return numbers[0] if kind == "constant" else f"[{', '.join(numbers)}]"


def _wrapped(opening: str, text: str, closing: str) -> list[str]:
    whole = f"{opening}{text}{closing}"
    if len(whole) <= _WIDTH:
        return [whole]
    indent = " " * len(opening)
    lines = textwrap.wrap(
        text, _WIDTH - len(opening) - len(closing), break_long_words=False, break_on_hyphens=False
    )
    return [
        opening + lines[0],
        *(indent + line for line in lines[1:-1]),
        indent + lines[-1] + closing,
    ]


def _literal(values: Array, dtype: DType | None) -> str:
    if values.ndim:
        return f"[{', '.join(_literal(part, dtype) for part in values)}]"
    return number(values.item(), dtype)


def number(value: float | int | bool, dtype: DType | None) -> str:
    """A number in as few digits as `dtype` tells it from others by; in all, if that is None."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' * (value < 0)}.inf"
    if value == 0:
        return "-0.0" if math.copysign(1.0, value) < 0 else "0"
    if value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if dtype is None or dtype.kind != "float":
        return repr(value)
    low, high = dtypes.limits(dtype)
    spellings = (float(f"{value:.{digits}g}") for digits in range(1, 18))
    held = (short for short in spellings if low <= short <= high)
    meant = _in(dtype, value)
    return repr(next(short for short in held if _in(dtype, short) == meant))


def _in(dtype: DType, value: float) -> Any:
    return dtypes.round_to(np.array([value]), dtype)[0]
