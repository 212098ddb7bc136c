"""Case files as text, from cases or from nodes with data.

Large tensors, and those that YAML cannot express, go into .npy files.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from opcheck import dtypes, model, opset
from opcheck.dtypes import DTYPES, DType
from opcheck.graph.nodes import OneNode
from opcheck.graph.test_data import DataSet
from opcheck.opset import Parameter, leads, name_at
from opcheck.report.plain_text import folded
from opcheck.suite.resolve import changed_defaults

_WIDTH = 100
#: Larger tensors go into files.
_MOST = 256


def name_of(words: str) -> str:
    """Turn `words` into the name of a case."""
    return re.sub("[^a-z0-9]+", "_", words.lower()).strip("_")


def written(case: model.Case, name: str, places: Sequence[tuple[int, str]]) -> list[str]:
    """The lines of `case` under this name, at each of these `combinations`."""
    # Digits that identify a number in this type do so in the others.
    widest = max((DTYPES[dtype] for _, dtype in places), key=lambda dtype: dtype.precision)
    schema = opset.describe(case.op.domain, case.op.name, case.opset)
    opsets, types = (dict.fromkeys(map(str, some)) for some in zip(*places, strict=True))
    values = {"opset": ", ".join(opsets), "dtype": ", ".join(types)}
    varied = ", ".join(f"{key}: [{some}]" for key, some in values.items() if "," in some)
    # Also attributes left out whose defaults differ between versions.
    attrs = {**dict.fromkeys(changed_defaults(schema.op) if schema else ()), **case.attrs}
    typed = [spec.name for spec in case.inputs if not leads(case.op, spec.name)]
    return [
        f"- name: {name}",
        *[f"  matrix: {{{varied}}}"] * bool(varied),
        *(f"  {key}: {some}" for key, some in values.items() if "," not in some),
        *_attributes(attrs),
        *(_tensors("inputs", case.inputs, widest, typed) if case.inputs else ()),
        *_expectation(case, widest),
    ]


def combinations(places: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Divide opsets and dtypes into parts that are full combinations."""
    by_opset: dict[int, tuple[str, ...]] = {}
    for opset_, dtype in sorted(places):
        by_opset[opset_] = (*by_opset.get(opset_, ()), dtype)
    for chosen in dict.fromkeys(by_opset.values()):
        alike = [number for number, among in by_opset.items() if among == chosen]
        yield [(number, dtype) for number in alike for dtype in chosen]


def _value(value: model.AttrValue | model.Typed | None, dtype: DType | None = None) -> str:
    """An attribute's value, with numbers in the digits of `dtype`."""
    match value:
        case None:
            return "null"
        case tuple():
            return f"[{', '.join(_value(item, dtype) for item in value)}]"
        case np.ndarray():
            return f"{{value: {_rows(value, dtypes.of(value), None)}, dtype: {dtypes.of(value)}}}"
        case model.Typed():
            return f"{{{value.type}: {_value(value.value, dtype)}}}"
        case _:
            return _spelt(value, dtype)


def _expectation(case: model.Case, dtype: DType) -> list[str]:
    match case.expect:
        case model.Values(outputs):
            pairs = zip(case.outputs, outputs, strict=True)
            typed = [spec.name for output, spec in pairs if output.dtype is None]
            return _tensors("expect", outputs, None, typed)
        case model.Rejected(reason, legal):
            rejected = 'rejected: "{}"'.format(reason.replace('"', "'"))
            change = f"legal: {{{_change(case, legal, dtype)}}}"
            whole = f"  expect: {{{rejected}, {change}}}"
            if len(whole) <= _WIDTH:
                return [whole]
            return ["  expect:", f"    {rejected}", f"    {change}"]
        case _:
            return ['  empty: "{}"'.format(case.empty.replace('"', "'"))] if case.empty else []


def _change(case: model.Case, legal: model.Case, dtype: DType) -> str:
    """The one attribute or input in which a legal twin differs from its case."""
    for name in {**case.attrs, **legal.attrs}:
        if _value(case.attrs.get(name)) != _value(legal.attrs.get(name)):
            return f"attrs.{name}: {_value(legal.attrs.get(name))}"
    for mine, other in zip(case.inputs, legal.inputs, strict=True):
        if mine.shape != other.shape:
            typed = "" if leads(case.op, other.name) else f", dtype: {other.dtype}"
            return f"inputs.{_tensor(other, dtype, typed).strip()}"
    raise ValueError(f"{case.id}: its legal twin is the same")


def _tensors(
    key: str, specs: Sequence[model.TensorSpec], dtype: DType | None, typed: Sequence[str]
) -> list[str]:
    """Tensors in the digits of `dtype`, or in all; those with `typed` names state their dtype."""
    lines = [f"  {key}:"]
    for spec in specs:
        own = spec.name in typed
        digits = spec.dtype if dtype and own else dtype
        lines += _tensor(spec, digits, f", dtype: {spec.dtype}" * own).split("\n")
    if len(lines) == 2 and len(lines[1]) + len(lines[0]) + 2 <= _WIDTH:
        return [f"{lines[0]} {{{lines[1].strip()}}}"]
    return lines


def _tensor(spec: model.TensorSpec, dtype: DType | None, typed: str = "") -> str:
    constant = f"{typed}{', initializer: true' * spec.initializer}"
    match spec.content:
        case model.Fill(kind, args, seed):
            numbers = ", ".join(_spelt(arg, None) for arg in args)
            values = {"specials": "true", "constant": numbers}.get(kind, f"[{numbers}]")
            said = f"{kind}: {values}"
            said += "" if kind in ("constant", "arange", "specials") else f", seed: {seed}"
            puts = [f"{{at: {_value(p.at)}, value: {_spelt(p.value, None)}}}" for p in spec.put]
            said += f", put: [{', '.join(puts)}]" if puts else ""
            return f"    {spec.name}: {{shape: {_value(spec.shape)}, {said}{constant}}}"
        case model.Given(array):
            return _given(spec.name, array, dtype, constant)
        case _:
            raise ValueError(f"{spec.name}: its values are in a file")


def _spelt(value: model.Scalar, dtype: DType | None) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"{value}".strip("()") if isinstance(value, complex) else number(value, dtype)


def _given(
    name: str, values: model.Array, dtype: DType | None, stated: str, *, in_rows: bool = False
) -> str:
    """A literal tensor and its `stated` fields; in one line if it fits, unless `in_rows`."""
    if values.size == 0:
        return f"    {name}: {{shape: {[*values.shape]}, constant: 0{stated}}}"
    opening, closing = f"    {name}: {'{value: ' * bool(stated)}", f"{stated}}}" * bool(stated)
    flat = f"{opening}{_rows(values, dtype, None)}{closing}"
    if len(flat) <= _WIDTH and not in_rows:
        return flat
    return _fitting(f"{opening}{_rows(values, dtype, len(opening))}{closing}")


def number(value: float | int | bool, dtype: DType | None) -> str:
    """A number in the fewest digits that identify it in `dtype`; in all if that is None."""
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
    held = [short for short in spellings if low <= short <= high]
    meant, *found = dtypes.round_to(np.array([value, *held]), dtype)
    # Beyond the range no digits are needed, since none identify it.
    pairs = zip(held, found, strict=True)
    return repr(next((short for short, one in pairs if one == meant), value))


class NamedNode(NamedTuple):
    """A node, the name of its cases, and its origin."""

    name: str
    origin: str
    node: OneNode


class Written(NamedTuple):
    """The text of a case file, the arrays of files next to it, and its tensors by case."""

    text: str
    files: Mapping[str, model.Array]
    tensors: Mapping[str, Mapping[str, model.Array]]


@dataclass(eq=False)
class _YamlCase:
    name: str
    stem: str
    dtype: DType | None
    files: dict[str, model.Array]
    tensors: dict[str, model.Array] = field(default_factory=dict)

    def tensor(self, name: str, array: model.Array, follows: DType | None) -> str:
        """Lines of a tensor; the dtype `follows` need not be stated."""
        self.tensors[name] = array
        dtype = dtypes.of(array)
        assert dtype
        stated = "" if dtype is follows else f", dtype: {dtype}"
        if (array.size > _MOST and dtype.kind != "string") or not _can_be_spelt(array, dtype):
            file = f"{self.stem}.{self.name}.{name}.npy"
            self.files[file] = array
            # .npy files have no name for it.
            stated = f", dtype: {dtype}" if dtype.name == "bfloat16" else stated
            return f"    {name}: {{file: {json.dumps(file)}{stated}}}"
        return _given(name, array, dtype, stated, in_rows=True)


def written_nodes(nodes: Sequence[NamedNode], stem: str) -> Written:
    """The cases of `nodes`, all of one operator, for a file whose name begins with `stem`."""
    first = nodes[0].node.schema.op
    files: dict[str, model.Array] = {}
    tensors: dict[str, Mapping[str, model.Array]] = {}
    lines = [f"# Imported from {', '.join(one.origin for one in nodes)}."]
    lines += [f"domain: {first.domain}"] * bool(first.domain)
    lines += [f"op: {first.name}", "cases:"]
    for one in nodes:
        sets = one.node.test.data_sets
        for data in sets:
            name = one.name if len(sets) == 1 else f"{one.name}_set_{data.number}"
            dtype = dtypes.of(cast(model.Array, data.inputs[0])) if data.inputs else None
            case = _YamlCase(name, stem, dtype, files)
            lines += [*_case_lines(case, one.node, data), ""]
            tensors[name] = case.tensors
    return Written("\n".join(lines).rstrip() + "\n", files, tensors)


def _case_lines(case: _YamlCase, node: OneNode, data: DataSet) -> Iterator[str]:
    yield f"- name: {case.name}"
    yield f"  opset: {node.opset}"
    if case.dtype:
        yield f"  dtype: {case.dtype}"
    if attrs := {**dict.fromkeys(changed_defaults(node.schema.op)), **node.attrs}:
        yield from _attributes(attrs)
    outputs = [*_slots(node.schema.outputs, node.outputs, data.outputs)]
    if any((dtype := dtypes.of(array)) and dtype.kind == "float" for _, _, array in outputs):
        yield f"  tolerance: {{rtol: {node.test.rtol!r}, atol: {node.test.atol!r}}}"
    bound: dict[str, DType] = {}
    if data.inputs:
        yield "  inputs:"
    for name, parameter, array in _slots(node.schema.inputs, node.inputs, data.inputs):
        if dtype := dtypes.of(array):
            bound.setdefault(parameter.constraint, dtype)
        yield case.tensor(name, array, case.dtype)
    yield "  expect:"
    for name, parameter, array in outputs:
        dtype = opset.output_dtype(node.schema, parameter, bound, node.attrs)
        yield case.tensor(name, array, dtype)


def _slots(
    parameters: Sequence[Parameter], places: Sequence[int], arrays: Sequence[model.Value]
) -> Iterator[tuple[str, Parameter, model.Array]]:
    for at, array in zip(places, arrays, strict=True):
        yield (*name_at(parameters, at), cast(model.Array, array))


def _attributes(attrs: Mapping[str, model.AttrValue | model.Typed | None]) -> Iterator[str]:
    # ONNX keeps attributes in float32.
    float32 = DTYPES["float32"]
    said = [f"{name}: {_value(value, float32)}" for name, value in attrs.items()]
    whole = f"  attrs: {{{', '.join(said)}}}"
    if len(whole) <= _WIDTH:
        yield whole
        return
    yield "  attrs:"
    yield from (_fitting(f"    {one}") for one in said)


def _can_be_spelt(array: model.Array, dtype: DType) -> bool:
    """Return True if YAML, which has only one NaN, can express the array."""
    if dtype.kind == "complex":
        read = np.array([complex(str(one)) for one in array.reshape(-1).tolist()], array.dtype)
    elif dtype.kind == "float":
        with np.errstate(invalid="ignore"):
            values = array.astype(np.float64)
        read = dtypes.round_to(np.where(np.isnan(values), np.nan, values), dtype)
    else:
        return True
    return bool(read.tobytes() == array.tobytes())


def _rows(array: model.Array, dtype: DType | None, indent: int | None) -> str:
    """The array in one line, or with each row in a line that is indented by `indent`."""
    if array.ndim > 1:
        below = None if indent is None else indent + 1
        gap = ", " if below is None else f",\n{' ' * below}"
        return f"[{gap.join(_rows(row, dtype, below) for row in array)}]"
    # Types that NumPy lacks are floats and narrow integers.
    values: Any = array if array.dtype.kind in "biucOUT" else array.astype(np.float64)
    if values.ndim == 0:
        return _spelt(values.item(), dtype)
    return f"[{', '.join(_spelt(one, dtype) for one in values.tolist())}]"


def _fitting(text: str) -> str:
    """Fold lines that are too long between words."""
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += folded(line, _WIDTH, indent) if len(line) > _WIDTH else [line]
    return "\n".join(lines)
