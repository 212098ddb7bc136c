"""Nodes with their data as a case file: small tensors written out, large ones in .npy files."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DTYPES, DType
from opcheck.graph.one_node import DataSet, OneNode
from opcheck.model import Array, AttrValue
from opcheck.opset import Parameter
from opcheck.report.case_yaml import number
from opcheck.suite.signature import changed_defaults, dtype_of, name_at

#: A tensor of more elements is nothing that anybody reads.
_MOST = 256
_WIDTH = 100


@dataclass(frozen=True, eq=False)
class Named:
    """A node, what its cases are called, where it comes from, and what it tolerates."""

    name: str
    origin: str
    node: OneNode
    rtol: float
    atol: float


@dataclass(frozen=True, eq=False)
class Written:
    """The text of a case file, the arrays of the files beside it, and its tensors by case."""

    text: str
    files: Mapping[str, Array]
    tensors: Mapping[str, Mapping[str, Array]]


@dataclass(eq=False)
class _Case:
    name: str
    stem: str
    dtype: DType | None
    files: dict[str, Array]
    tensors: dict[str, Array] = field(default_factory=dict)

    def tensor(self, name: str, array: Array, follows: DType | None) -> str:
        """A line, or several, with a tensor; `follows` is the dtype that need not be stated."""
        self.tensors[name] = array
        dtype = dtypes.of(array)
        assert dtype
        stated = "" if dtype is follows else f", dtype: {dtype}"
        if 0 in array.shape:
            return f"    {name}: {{shape: {[*array.shape]}, constant: 0{stated}}}"
        if array.size > _MOST or not _can_be_spelt(array, dtype):
            file = f"{self.stem}.{self.name}.{name}.npy"
            self.files[file] = array
            # The format of such files has no name for it.
            stated = f", dtype: {dtype}" if dtype.name == "bfloat16" else stated
            return f"    {name}: {{file: {json.dumps(file)}{stated}}}"
        opening = f"    {name}: {'{value: ' * bool(stated)}"
        return _fitting(
            f"{opening}{_literal(array, dtype, len(opening))}{stated}{'}' * bool(stated)}"
        )


def written(nodes: Sequence[Named], stem: str) -> Written:
    """The cases of `nodes`, which are all of one operator, for a file whose name begins so."""
    first = nodes[0].node.schema.op
    files: dict[str, Array] = {}
    tensors: dict[str, Mapping[str, Array]] = {}
    lines = [f"# Imported from {', '.join(one.origin for one in nodes)}."]
    lines += [f"domain: {first.domain}"] * bool(first.domain)
    lines += [f"op: {first.name}", "cases:"]
    for one in nodes:
        sets = one.node.data_sets
        for data in sets:
            name = one.name if len(sets) == 1 else f"{one.name}_set_{data.number}"
            case = _Case(name, stem, dtypes.of(data.inputs[0]) if data.inputs else None, files)
            lines += [*_case(case, one, data), ""]
            tensors[name] = case.tensors
    return Written("\n".join(lines).rstrip() + "\n", files, tensors)


def _case(case: _Case, named: Named, data: DataSet) -> Iterator[str]:
    node = named.node
    yield f"- name: {case.name}"
    yield f"  opset: {node.opset}"
    if case.dtype:
        yield f"  dtype: {case.dtype}"
    attrs = {**dict.fromkeys(changed_defaults(node.schema)), **node.attrs}
    if attrs:
        yield from _attributes(attrs)
    outputs = [*_slots(node.schema.outputs, node.outputs, data.outputs)]
    if any(_is_float(array) for _, _, array in outputs):
        yield f"  tolerance: {{rtol: {named.rtol!r}, atol: {named.atol!r}}}"
    inputs = [*_slots(node.schema.inputs, node.inputs, data.inputs)]
    bound: dict[str, DType] = {}
    if inputs:
        yield "  inputs:"
    for name, parameter, array in inputs:
        dtype = dtypes.of(array)
        if dtype:
            bound.setdefault(parameter.constraint, dtype)
        yield case.tensor(name, array, case.dtype)
    yield "  expect:"
    for name, parameter, array in outputs:
        yield case.tensor(name, array, dtype_of(parameter, bound))


def _slots(
    parameters: Sequence[Parameter], places: Sequence[int], arrays: Sequence[Array]
) -> Iterator[tuple[str, Parameter, Array]]:
    for place, array in zip(places, arrays, strict=True):
        yield (*name_at(parameters, place), array)


def _attributes(attrs: Mapping[str, AttrValue | None]) -> Iterator[str]:
    said = [f"{name}: {_attribute(value)}" for name, value in attrs.items()]
    whole = f"  attrs: {{{', '.join(said)}}}"
    if len(whole) <= _WIDTH:
        yield whole
        return
    yield "  attrs:"
    yield from (_fitting(f"    {one}") for one in said)


def _attribute(value: AttrValue | None) -> str:
    match value:
        case None:
            return "null"
        case str():
            return json.dumps(value)
        case tuple():
            return f"[{', '.join(map(_attribute, value))}]"
        case _:
            # ONNX keeps attributes in float32.
            return number(value, DTYPES["float32"])


def _is_float(array: Array) -> bool:
    dtype = dtypes.of(array)
    return dtype is not None and dtype.kind == "float"


def _can_be_spelt(array: Array, dtype: DType) -> bool:
    """Whether all of an array can be written out: of NaN, texts know one only."""
    if dtype.kind != "float":
        return True
    with np.errstate(invalid="ignore"):
        values = array.astype(np.float64)
    read = dtypes.round_to(np.where(np.isnan(values), np.nan, values), dtype)
    return bool(read.tobytes() == array.tobytes())


def _literal(array: Array, dtype: DType, indent: int) -> str:
    """The array, each row in a line of its own, `indent` characters from the left."""
    values: Any = array.astype(np.float64) if dtype.kind == "float" else array
    if values.ndim == 0:
        return number(values.item(), dtype)
    if values.ndim == 1:
        return f"[{', '.join(number(one.item(), dtype) for one in values)}]"
    rows = [_literal(row, dtype, indent + 1) for row in array]
    return f"[{(chr(44) + chr(10) + ' ' * (indent + 1)).join(rows)}]"


def _fitting(text: str) -> str:
    """Lines that are not too long, those that are folded between two words."""
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += (
            textwrap.wrap(
                line,
                _WIDTH,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
                drop_whitespace=True,
            )
            if len(line) > _WIDTH
            else [line]
        )
    return "\n".join(lines)
