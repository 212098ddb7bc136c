"""DirectML's operators as their reference pages declare them, and what each of them is in ONNX.

`direct_ml.toml` lists them. DirectML has no opsets, so the one version there is counts as 1: that
of the feature level that first allows 1 to 8 dimensions, and of a page's newest table of types, but
for functions of bits.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.errors import decline, reject
from opcheck.model import Array, Attrs, OpVersion
from opcheck.opset import DML, Attribute, Parameter, Schema, versions

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_MEMBERS: Mapping[str, Any] = _TABLE["members"]
_Shapes: TypeAlias = Sequence[tuple[int, ...]]
#: The sizes in ONNX of inputs, by number, and of the output, -1, that have other ones there.
_Sizes: TypeAlias = Mapping[int, Sequence[int]]
#: The largest DimensionCount of a tensor descriptor.
MAX_RANK = 8
#: What the constants of enumerations say by ONNX's names.
WORDS = {name: one["words"] for name, one in _MEMBERS.items() if "words" in one}


def invalid_axes(axes: Sequence[int], rank: int) -> str | None:
    """Return why `axes` and `rank` make no valid descriptor, or None if they do.

    "The values must be in the range [0, InputTensor.DimensionCount - 1]"; dimension counts
    1 to 8. Repeated or empty axes have no defined answer and are invalid by our ruling.
    """
    if not 1 <= rank <= MAX_RANK:
        return f"InputTensor has {rank} dimensions; allowed: 1 to {MAX_RANK}"
    outside = [axis for axis in axes if not 0 <= axis < rank]
    if outside:
        return f"Axes {list(axes)} holds {outside[0]}; allowed: 0 to {rank - 1}"
    if not axes:
        return "Axes is empty; allowed: 1 or more axes"
    if len(set(axes)) < len(axes):
        return f"Axes {list(axes)} repeats an axis; allowed: each axis once"
    return None


def invalid_sizes(shape: Sequence[int]) -> str | None:
    """Return why an operator without Axes takes no tensor of this shape, or None if it does.

    Its effective rank, which is the rank without sizes of 1 on the left, is at most 2.
    """
    if any(size != 1 for size in shape[:-2]):
        return f"InputTensor has sizes {list(shape)}; allowed: 1 in all places but the last two"
    return invalid_axes([len(shape) - 1], len(shape))


@dataclass(frozen=True)
class Lowered:
    """An operator of DirectML that is one of ONNX at an opset, under other names.

    `ranks` are the least and the greatest dimension count; `fixed` the attributes that no member
    says; `fits` what sizes have to do, a key of `_FITS`. `picks` are those that constants of its
    member `picker` mean, if it has one. Unless `alike`, its tensors may have other sizes.
    """

    schema: Schema
    name: str
    opset: int
    ranks: Sequence[int]
    fixed: Attrs
    fits: str
    alike: bool
    picker: str
    picks: Mapping[str, "Lowered"]

    def chosen(self, attrs: Attrs) -> "Lowered":
        """Return the meaning of these members; raise InvalidNode for an unknown constant."""
        word = str(attrs.get(self.picker, ""))
        reject(
            self.picks and word not in self.picks,
            f"{self.picker} {word!r}; allowed: {', '.join(self.picks)}",
        )
        return self.picks[word] if self.picks else self

    @cached_property
    def onnx(self) -> Schema:
        """ONNX's operator in the version that is meant."""
        known = versions("", self.name)
        return known[max(since for since in known if since <= self.opset)]

    @cached_property
    def members(self) -> Mapping[str, Sequence[str]]:
        """The members that ONNX's attributes are made of, by these."""
        members: dict[str, list[str]] = {}
        for member in self.schema.attributes:
            attribute = _MEMBERS[member].get("onnx")
            if attribute in self.onnx.attributes:
                members.setdefault(attribute, []).append(member)
        return members

    def constants(self, given: Sequence[Any], attrs: Attrs) -> dict[str, Array]:
        """The inputs of ONNX's operator, in its types; raises NotSupported for values they lack."""
        dtype = DTYPES[given[0].dtype.name]
        constants: dict[str, Array] = {}
        values = dict(self.fixed)
        for member in self.schema.attributes:
            values[_MEMBERS[member].get("onnx")] = attrs[member]
        for parameter in self.onnx.inputs:
            name = parameter.name
            if name not in values:
                continue
            has_type_of_data = parameter.constraint == self.onnx.inputs[0].constraint
            with np.errstate(all="ignore"):
                value = np.array(values[name], np.float32)
                constants[name] = value.astype(dtype.numpy) if has_type_of_data else value
            if has_type_of_data and dtype.kind == "int":
                decline(constants[name] != np.trunc(value), f"{name} {value} as {dtype}")
        decline(constants.get("min", 0) > constants.get("max", np.inf), "no number lies between")
        return constants

    def checked(self, given: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Attrs, _Sizes]:
        """ONNX's attributes, and sizes it has not; InvalidNode for what only DirectML forbids."""
        shapes = [(*x.shape,) for x in given if x is not None]
        for tensor, shape in zip(self.schema.inputs, shapes, strict=False):
            allowed = "{} to {} of them, from 1 on, in all inputs".format(*self.ranks)
            wrong = not self.ranks[0] <= len(shape) <= self.ranks[1] or 0 in shape
            wrong |= self.alike and shape != shapes[0]
            reject(wrong, f"{tensor.name} has sizes {[*shape]}; allowed: {allowed}")
        sizes = _FITS[self.fits](shapes, attrs) if self.fits else {}
        dtype = given[0].dtype.name
        types = self.schema.inputs[0].types
        reject("int" in dtype and DTYPES[dtype].text not in types, f"{self.name} of {dtype}")
        stated = {}
        for attribute, members in self.members.items():
            first, *others = (attrs[member] for member in members)
            stated[attribute] = sum(others, first)
        for name in filter(attrs.__contains__, WORDS):  # in their order
            words = WORDS[name]
            value = attrs[name]
            reject(value not in words, f"{name} {value!r}; allowed: {', '.join(words)}")
            stated |= words[value]
        known = {**self.fixed, **stated}
        return {n: x for n, x in known.items() if n in self.onnx.attributes}, sizes


def _axes(shapes: _Shapes, attrs: Mapping[str, Any]) -> _Sizes:
    """Raise InvalidNode for axes that the tensor does not have."""
    wrong = invalid_axes(attrs["Axes"], len(shapes[0]))
    reject(wrong, str(wrong))
    return {}


def _indices(shapes: _Shapes, attrs: Mapping[str, Any]) -> _Sizes:
    """The sizes of indices without ones that do not count, and of the output of as many as data.

    Raises InvalidNode for what the page forbids, and NotSupported for ones that its third example
    leaves out and its text does not.
    """
    data, indices = shapes
    Axis = attrs["Axis"]
    IndexDimensions = attrs["IndexDimensions"]
    rank = len(data)
    shapes_text = f"InputTensor {[*data]} and IndicesTensor {[*indices]}"
    reject(len(indices) != rank, f"{shapes_text}; allowed: as many sizes")
    reject(not 0 <= Axis < rank, f"Axis {Axis}; allowed: 0 to {rank - 1}")
    reject(
        not 0 <= IndexDimensions <= rank, f"IndexDimensions {IndexDimensions}; allowed: 0 to {rank}"
    )
    first = rank - IndexDimensions
    more = IndexDimensions - 1
    reject({*indices[:first]} - {1}, f"{shapes_text}; allowed: 1 before {IndexDimensions} sizes")
    sizes = (*data[:Axis], *indices[first:], *data[Axis + 1 :])
    wrong = more > 0 and (more > Axis or {*data[:more]} - {1})
    decline(wrong and sizes.count(1) >= more, f"{shapes_text}: which ones are left out")
    reject(wrong, f"{shapes_text}; allowed: an output of {rank} sizes")
    return {1: indices[first:], -1: (1, *sizes) if more < 0 else sizes[more:]}


def _filters(shapes: _Shapes, attrs: Mapping[str, Any]) -> _Sizes:
    """The sizes of the bias, a vector in ONNX; NotSupported where padding is undecided."""
    _, filters, *bias = shapes
    rank = len(shapes[0])
    reject({*map(len, shapes)} - {rank}, f"sizes {shapes}; allowed: {rank} in each")
    back = attrs["Direction"] == "BACKWARD"
    channels = filters[1] * attrs["GroupCount"] if back else filters[0]
    like = (1, channels, *[1] * (rank - 2))
    reject({*bias} - {like}, f"BiasTensor has sizes {bias}; allowed: {like}")
    _windows(shapes, {**attrs, "WindowSize": filters[2:]}, back=back)
    for more, end, stride in zip(
        *map(attrs.get, ("OutputPadding", "EndPadding", "Strides")), strict=True
    ):
        reject(more < 0, f"OutputPadding {more}; allowed: 0 or more")
        decline(
            more and (not back or end or more >= stride), f"OutputPadding {more}: zeros, or sums"
        )
    return {2: (channels,)} if bias else {}


def _matrices(shapes: _Shapes, attrs: Mapping[str, Any]) -> _Sizes:
    """Raise InvalidNode unless stacks of matrices can be multiplied, and C is like the product."""
    a, b = (
        (*shape[:-2], *shape[-2:][:: 1 if attrs[name] == "NONE" else -1])
        for shape, name in zip(shapes, ("TransA", "TransB"), strict=False)
    )
    wrong = (*a[:-2], a[-1]) != b[:-1] or any(c != (*a[:-1], b[-1]) for c in shapes[2:])
    reject(wrong, f"sizes {shapes}; allowed: {{…, M, K}}, {{…, K, N}} and {{…, M, N}}")
    return {}


def _windows(shapes: _Shapes, attrs: Mapping[str, Any], back: bool = False) -> _Sizes:
    """Raise InvalidNode unless windows fit between the padding, or `back` over the output."""
    sizes = shapes[0][2:]
    lists = {name: value for name, value in attrs.items() if isinstance(value, tuple)}
    reject({*map(len, lists.values())} - {len(sizes)}, f"{lists}; allowed: {len(sizes)} numbers")
    lists["Sizes"] = sizes
    ones = (1,) * len(sizes)
    names = "Sizes Strides WindowSize Dilations OutputPadding StartPadding EndPadding".split()
    each = zip(*(lists.get(name, ones) for name in names), strict=True)
    for size, stride, window, dilation, more, *pads in each:
        reach = (window - 1) * dilation
        lacks = sum(pads) - (size - 1) * stride - reach if back else reach + 1 - size - sum(pads)
        decline(back and 0 < lacks <= more, "an output of OutputPadding alone")
        reject(lacks > 0, f"{lists}; allowed: windows that fit")
    return {}


_FITS = {one.__name__[1:]: one for one in (_axes, _filters, _indices, _matrices, _windows)}


def _schema(name: str, row: Mapping[str, Any]) -> Schema:
    """The tensors and members of an operator."""

    def parameter(tensor: str) -> Parameter:
        plain = tensor.rstrip("?")
        option = "optional" if tensor.endswith("?") else "single"
        types = row["others"].get(plain, row["types"])
        texts = (DTYPES[dtype].text for dtype in _TABLE["types"][types].split())
        return Parameter(plain, types, frozenset(texts), option)  # type: ignore[arg-type]

    taken, given = (tuple(map(parameter, row[side].split())) for side in ("inputs", "outputs"))
    members = {
        one: Attribute(one, _MEMBERS[one]["type"], True, None) for one in row["members"].split()
    }
    return Schema(OpVersion(DML, name, 1), members, taken, given, formals=(taken, given))


def _lowered(name: str, row: dict[str, Any]) -> Lowered:
    """An operator from its row; its picks are rows that differ from it in what they state."""
    picks = {word: _lowered(name, row | {"picks": {}} | one) for word, one in row["picks"].items()}
    same = {key: row[key] for key in ("opset", "ranks", "fixed", "fits", "alike", "picker")}
    return Lowered(_schema(name, row), row["onnx"], picks=picks, **same)


_ROWS = {name: {**_TABLE["defaults"], **row} for name, row in _TABLE["operators"].items()}
#: What ONNX calls DirectML's operators of rows, by their names.
OF_ROWS = {name: row["of_rows"] for name, row in _ROWS.items() if row["of_rows"]}
#: Those that are an operator of ONNX under other names.
LOWERED = {name: _lowered(name, row) for name, row in _ROWS.items() if row["onnx"]}
SCHEMAS = tuple(_schema(*item) for item in _ROWS.items())
