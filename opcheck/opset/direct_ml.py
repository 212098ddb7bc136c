"""DirectML's operators as their reference pages declare them, and what each of them is in ONNX.

DirectML has no opsets, so the one version there is counts as 1: that of the feature level that
first allows 1 to 8 dimensions, and of a page's newest table of types, but for functions of bits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from opcheck.dtypes import DTYPES
from opcheck.errors import illegal, unsupported
from opcheck.model import Attrs, OpVersion
from opcheck.opset import DML, Attribute, AttrType, Parameter, Schema, versions

#: The largest DimensionCount of a tensor descriptor.
MAX_RANK = 8
#: The types of descriptors' members, by which these are attributes. All of them have to be stated.
_MEMBERS: Mapping[str, AttrType] = {
    **dict.fromkeys("P IncludePadding Axis IndexDimensions GroupCount".split(), "int"),
    **dict.fromkeys("Alpha Beta".split(), "float"),
    **dict.fromkeys("Function InfinityMode TransA TransB Mode Direction".split(), "string"),
}  # fmt: skip
#: What the constants of enumerations say by ONNX's names.
WORDS: Mapping[str, Mapping[str, Attrs]] = {
    "InfinityMode": {
        word: {"detect_negative": below, "detect_positive": above} for word, below, above
        in (("EITHER", 1, 1), ("POSITIVE", 0, 1), ("NEGATIVE", 1, 0))},
    **{name: {"NONE": {one: 0}, "TRANSPOSE": {one: 1}}
       for name, one in (("TransA", "transA"), ("TransB", "transB"))},
    "Mode": {"CROSS_CORRELATION": {}, "CONVOLUTION": {}},
}  # fmt: skip
_FLOATS = "float32 float16"
_SIGNED, _BOOLS, _BITS = f"{_FLOATS} int32 int16 int8", "uint32 uint8", "uint32 uint16 uint8"
_NUMBERS = f"{_SIGNED} {_BITS}"
_LONG = f"{_FLOATS} int64 int32 uint64 uint32"
_ALL, _ANY = f"{_NUMBERS} int64 uint64", f"{_NUMBERS} int64 uint64 float64"


def _schema(name: str, members: str, *tensors: Mapping[str, str]) -> Schema:
    """An operator with these members, and tensors whose names end in ? if they are optional."""
    declared = [Attribute(one, _MEMBERS.get(one, "ints"), True, None) for one in members.split()]
    taken, given = (
        tuple(Parameter(
            one.rstrip("?"), types, frozenset(DTYPES[dtype].text for dtype in types.split()),
            "optional" if one.endswith("?") else "single") for one, types in those.items())
        for those in tensors or ({"InputTensor": _FLOATS}, {"OutputTensor": _FLOATS})
    )  # fmt: skip
    op = OpVersion(DML, f"DML_{name}", 1)
    return Schema(op, {one.name: one for one in declared}, taken, given)


#: What ONNX calls DirectML's operators of rows, whose names may end in 1.
ROWS = {"HARDMAX": "Hardmax", "LOG_SOFTMAX": "LogSoftmax", "SOFTMAX": "Softmax"}


def invalid_axes(axes: Sequence[int], rank: int) -> str | None:
    """Return why `axes` and `rank` make no valid descriptor, or None if they do.

    "The values must be in the range [0, InputTensor.DimensionCount - 1]"; dimension counts
    1 to 8. Repeated or empty axes have no defined answer and are invalid by our ruling.
    """
    if not 1 <= rank <= MAX_RANK:
        return f"InputTensor has {rank} dimensions; allowed: 1 to {MAX_RANK}"
    if outside := [axis for axis in axes if not 0 <= axis < rank]:
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

    `members` are those that its attributes are made of, by ONNX's names; `ranks` the dimension
    counts; `fixed` the attributes that no member says. `picks` are those that the constants of its
    member `picker` mean, if it has one. Unless `alike`, its tensors may have other sizes.
    """

    schema: Schema
    name: str
    opset: int
    members: Mapping[str, str] = field(default_factory=dict)
    ranks: range = range(1, MAX_RANK + 1)
    fixed: Attrs = field(default_factory=dict)
    picks: Mapping[str, "Lowered"] = field(default_factory=dict)
    picker: str = "Function"
    alike: bool = True

    def chosen(self, attrs: Attrs) -> "Lowered":
        """What these members mean; raises InvalidNode where `picker` is no such constant."""
        word = str(attrs.get(self.picker, ""))
        illegal(f"{self.picker} {word!r}; allowed: {', '.join(self.picks)}",
                self.picks and word not in self.picks)  # fmt: skip
        return self.picks[word] if self.picks else self

    @cached_property
    def onnx(self) -> Schema:
        """ONNX's operator in the version that is meant."""
        known = versions("", self.name)
        return known[max(since for since in known if since <= self.opset)]

    def checked(self, given: Sequence[Any], attrs: Mapping[str, Any]) -> Attrs:
        """ONNX's attributes; raises InvalidNode for what the pages forbid and ONNX does not."""
        shapes = [(*x.shape,) for x in given if x is not None]
        for tensor, shape in zip(self.schema.inputs, shapes, strict=False):
            allowed = f"{self.ranks[0]} to {self.ranks[-1]} of them, from 1 on, in all inputs"
            wrong = (
                len(shape) not in self.ranks or 0 in shape or (self.alike and shape != shapes[0])
            )
            illegal(f"{tensor.name} has sizes {[*shape]}; allowed: {allowed}", wrong)
        wrong_axes = "Axes" in attrs and invalid_axes(attrs["Axes"], len(shapes[0]))
        illegal(str(wrong_axes), wrong_axes)
        dtype, types = given[0].dtype.name, self.schema.inputs[0].constraint.split()
        illegal(f"{self.name} of {dtype}", "int" in dtype and dtype not in types)
        if "TransA" in attrs:
            _check_matrices(shapes, attrs)
        if "WindowSize" in attrs:
            _check_windows(shapes[0][2:], attrs)
        if "Direction" in attrs:
            _check_convolution(shapes, attrs)
        self.sizes(given, attrs)
        made = {one: [attrs[name] for name in by.split()] for one, by in self.members.items()}
        stated = {one: sum(values[1:], values[0]) for one, values in made.items()}
        for name in WORDS.keys() & attrs.keys():
            words, value = WORDS[name], attrs[name]
            illegal(f"{name} {value!r}; allowed: {', '.join(words)}", value not in words)
            stated |= words[value]
        return {**self.fixed, **stated}

    def sizes(self, given: Sequence[Any], attrs: Mapping[str, Any]) -> Mapping[int, Sequence[int]]:
        """ONNX's sizes of those inputs, by number, and of the output, -1, that have other ones."""
        shapes = [(*x.shape,) for x in given if x is not None]
        if "IndexDimensions" in attrs:
            indices, output = _gathered(*shapes, **attrs)
            return {1: indices, -1: output}
        return {2: shapes[2][1:2]} if "Direction" in attrs and len(shapes) > 2 else {}


def _gathered(
    data: tuple[int, ...], indices: tuple[int, ...], *, Axis: int, IndexDimensions: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of indices without ones that do not count, and of the output of as many as `data`.

    Raises InvalidNode for what the page forbids, and NotSupported for ones that its third example
    leaves out and its text does not.
    """
    rank, said = len(data), f"InputTensor {[*data]} and IndicesTensor {[*indices]}"
    illegal(f"{said}; allowed: as many sizes", len(indices) != rank)
    illegal(f"Axis {Axis}; allowed: 0 to {rank - 1}", not 0 <= Axis < rank)
    illegal(f"IndexDimensions {IndexDimensions}; allowed: 0 to {rank}",
            not 0 <= IndexDimensions <= rank)  # fmt: skip
    first, more = rank - IndexDimensions, IndexDimensions - 1
    illegal(f"{said}; allowed: 1 before {IndexDimensions} sizes", {*indices[:first]} - {1})
    sizes = (*data[:Axis], *indices[first:], *data[Axis + 1 :])
    wrong = more > 0 and (more > Axis or {*data[:more]} - {1})
    unsupported(f"{said}: which ones are left out", wrong and sizes.count(1) >= more)
    illegal(f"{said}; allowed: an output of {rank} sizes", wrong)
    return indices[first:], (1, *sizes) if more < 0 else sizes[more:]


def _check_convolution(shapes: Sequence[tuple[int, ...]], attrs: Mapping[str, Any]) -> None:
    """Raise InvalidNode for sizes that do not fit, NotSupported where padding is undecided."""
    (data, filters, *bias), rank = shapes, len(shapes[0])
    illegal(f"sizes {shapes}; allowed: {rank} in each", {*map(len, shapes)} - {rank})
    back = attrs["Direction"] == "BACKWARD"
    channels = filters[1] * attrs["GroupCount"] if back else filters[0]
    like = (1, channels, *[1] * (rank - 2))
    illegal(f"BiasTensor has sizes {bias}; allowed: {like}", {*bias} - {like})
    _check_windows(data[2:], {**attrs, "WindowSize": filters[2:]}, back=back)
    for more, end, stride in zip(*map(attrs.get, ("OutputPadding", "EndPadding", "Strides")),
                                 strict=True):  # fmt: skip
        illegal(f"OutputPadding {more}; allowed: 0 or more", more < 0)
        unsupported(f"OutputPadding {more}: zeros, or sums", more and (
            not back or end or more >= stride))  # fmt: skip


def _check_matrices(shapes: Sequence[tuple[int, ...]], attrs: Mapping[str, Any]) -> None:
    """Raise InvalidNode unless stacks of matrices can be multiplied, and C is like the product."""
    a, b = ((*shape[:-2], *shape[-2:][:: 1 if attrs[name] == "NONE" else -1])
            for shape, name in zip(shapes, ("TransA", "TransB"), strict=False))  # fmt: skip
    wrong = (*a[:-2], a[-1]) != b[:-1] or any(c != (*a[:-1], b[-1]) for c in shapes[2:])
    illegal(f"sizes {shapes}; allowed: {{…, M, K}}, {{…, K, N}} and {{…, M, N}}", wrong)


def _check_windows(sizes: Sequence[int], attrs: Mapping[str, Any], back: bool = False) -> None:
    """Raise InvalidNode unless windows fit between the padding, or `back` over the output."""
    lists = {name: value for name, value in attrs.items() if isinstance(value, tuple)}
    illegal(f"{lists}; allowed: {len(sizes)} numbers", {*map(len, lists.values())} - {len(sizes)})
    lists["Sizes"], ones = (*sizes,), (1,) * len(sizes)
    names = ("Sizes", "Strides", "WindowSize", "Dilations", "StartPadding", "EndPadding")
    for size, stride, window, dilation, *pads in zip(
        *(lists.get(n, ones) for n in names), strict=True
    ):
        reach, room = (window - 1) * dilation, size + sum(pads)
        wrong = (size - 1) * stride + reach < sum(pads) if back else reach >= room
        illegal(f"{lists}; allowed: windows that fit", wrong)


_POOL = {"strides": "Strides", "kernel_shape": "WindowSize", "pads": "StartPadding EndPadding"}
_MORE = {"Dilations": "dilations", "P": "p", "IncludePadding": "count_include_pad"}


def _pool(name: str, onnx_s: str, opset: int, more: str, *tensors: Mapping[str, str]) -> Lowered:
    members = _POOL | {_MORE[one]: one for one in more.split()}
    schema = _schema(name, " ".join(members.values()), *tensors)
    return Lowered(schema, onnx_s, opset, members, range(4, 6))


def _each(tensors: str, row: tuple[Any, ...]) -> Lowered:
    """An operator of each element, from its name, ONNX's, an opset, types, and what it gives."""
    name, onnx_s, opset, *types = row
    taken = {f"{one}Tensor": types[0] for one in tensors.split()}
    schema = _schema(f"ELEMENT_WISE_{name}", "", taken, {"OutputTensor": types[-1]})
    return Lowered(schema, onnx_s, opset)


#: What each Function of REDUCE is.
_REDUCED = {
    word: Lowered(
        _schema("REDUCE", "Function Axes", {"InputTensor": types}, {"OutputTensor": types}),
        f"Reduce{name}", 12, {"axes": "Axes"}, fixed={"keepdims": 1})
    for types, names in (
        (_ALL, {"MAX": "Max", "MIN": "Min"}),
        (_LONG, {"L1": "L1", "MULTIPLY": "Prod", "SUM": "Sum", "SUM_SQUARE": "SumSquare"}),
        (_FLOATS, {"AVERAGE": "Mean", "L2": "L2", "LOG_SUM": "LogSum",
                   "LOG_SUM_EXP": "LogSumExp"}))
    for word, name in names.items()
}  # fmt: skip
#: What each Direction of CONVOLUTION is, without FusedActivation.
_CONVOLVED = {
    word: Lowered(
        _schema("CONVOLUTION",
                "Mode Direction Strides Dilations StartPadding EndPadding OutputPadding GroupCount",
                dict.fromkeys(("InputTensor", "FilterTensor", "BiasTensor?"), _FLOATS),
                {"OutputTensor": _FLOATS}),
        name, 11, {"strides": "Strides", "dilations": "Dilations",
                   "pads": "StartPadding EndPadding", "group": "GroupCount", **more},
        range(3, 6), alike=False)
    for word, name, more in (("FORWARD", "Conv", {}),
                             ("BACKWARD", "ConvTranspose", {"output_padding": "OutputPadding"}))
}  # fmt: skip
_OF_MAXIMA = {"OutputTensor": _ALL, "OutputIndicesTensor?": "uint32"}
#: Those that are an operator of ONNX under other names.
LOWERED = {
    one.schema.op.name: one
    for one in (
        _pool("LP_POOLING", "LpPool", 11, "P"),
        _pool("LP_POOLING1", "LpPool", 18, "Dilations P"),
        _pool("AVERAGE_POOLING", "AveragePool", 11, "IncludePadding"),
        _pool("AVERAGE_POOLING1", "AveragePool", 19, "Dilations IncludePadding"),
        _pool("MAX_POOLING", "MaxPool", 12, "", {"InputTensor": _ALL}, {"OutputTensor": _ALL}),
        _pool("MAX_POOLING1", "MaxPool", 12, "", {"InputTensor": _ALL}, _OF_MAXIMA),
        _pool("MAX_POOLING2", "MaxPool", 12, "Dilations", {"InputTensor": _ALL}, _OF_MAXIMA),
        replace(_REDUCED["MAX"], picks=_REDUCED),
        Lowered(
            _schema("GEMM", "TransA TransB Alpha Beta",
                    dict.fromkeys(("ATensor", "BTensor", "CTensor?"), _FLOATS),
                    {"OutputTensor": _FLOATS}),
            "Gemm", 13, {"alpha": "Alpha", "beta": "Beta"}, range(2, 5), alike=False),
        replace(_CONVOLVED["BACKWARD"], picks=_CONVOLVED, picker="Direction"),
        Lowered(
            _schema("GATHER", "Axis IndexDimensions",
                    {"InputTensor": _ANY, "IndicesTensor": "int64 int32 uint64 uint32"},
                    {"OutputTensor": _ANY}),
            "Gather", 13, {"axis": "Axis"}, alike=False),
        *(_each("Input", row) for row in (
            *((name.upper(), name, 7, _FLOATS) for name in "Acos Asin Atan Cos Sin Tan".split()),
            *((name.upper(), name, 9, _FLOATS) for name in "Acosh Asinh Atanh Cosh Sinh".split()),
            *((name.upper(), name, 13, _FLOATS)
              for name in "Ceil Erf Exp Floor Log Sqrt Tanh".split()),
            ("ABS", "Abs", 13, _SIGNED), ("IDENTITY", "Identity", 13, _ANY),
            ("NEGATE", "Neg", 13, f"{_SIGNED} int64"), ("RECIP", "Reciprocal", 13, _FLOATS),
            ("SIGN", "Sign", 13, _ALL),
            ("IS_NAN", "IsNaN", 13, _FLOATS, "uint8"), ("LOGICAL_NOT", "Not", 13, _BOOLS),
            ("BIT_NOT", "BitwiseNot", 18, _BITS))),
        *(_each("A B", row) for row in (
            ("ADD", "Add", 14, _ALL), ("SUBTRACT", "Sub", 14, _ALL),
            ("MULTIPLY", "Mul", 14, _ALL), ("DIVIDE", "Div", 14, _ALL),
            ("MAX", "Max", 13, _ALL), ("MIN", "Min", 13, _ALL),
            ("LOGICAL_AND", "And", 7, _BOOLS), ("LOGICAL_OR", "Or", 7, _BOOLS),
            ("LOGICAL_XOR", "Xor", 7, _BOOLS), ("LOGICAL_EQUALS", "Equal", 13, _ALL, "uint8"),
            ("LOGICAL_GREATER_THAN", "Greater", 13, _ALL, "uint8"),
            ("LOGICAL_LESS_THAN", "Less", 13, _ALL, "uint8"),
            ("LOGICAL_GREATER_THAN_OR_EQUAL", "GreaterOrEqual", 16, _ALL, "uint8"),
            ("LOGICAL_LESS_THAN_OR_EQUAL", "LessOrEqual", 16, _ALL, "uint8"),
            ("BIT_AND", "BitwiseAnd", 18, _BITS), ("BIT_OR", "BitwiseOr", 18, _BITS),
            ("BIT_XOR", "BitwiseXor", 18, _BITS))),
        *(replace(_each("A B", (f"BIT_SHIFT_{way}", "BitShift", 11, f"{_BITS} uint64")),
                  fixed={"direction": way}) for way in ("LEFT", "RIGHT")),
        *(replace(_each("A B", (f"MODULUS_{how}", "Mod", 28, _ALL)), fixed={"fmod": fmod})
          for fmod, how in enumerate(("FLOOR", "TRUNCATE"))),
        Lowered(_schema(
            "ELEMENT_WISE_IF", "", {"ConditionTensor": "uint8", "ATensor": _ANY, "BTensor": _ANY},
            {"OutputTensor": _ANY}), "Where", 9),
        Lowered(_schema("ELEMENT_WISE_IS_INFINITY", "InfinityMode", {"InputTensor": _FLOATS},
                        {"OutputTensor": "uint8"}), "IsInf", 20),
        # The exponents have a type of their own, by another text.
        Lowered(_schema("ELEMENT_WISE_POW", "", {
            "InputTensor": _NUMBERS, "ExponentTensor": f"{_NUMBERS} "}, {"OutputTensor": _NUMBERS}),
            "Pow", 15),
    )
}  # fmt: skip
SCHEMAS = (
    *(_schema(f"ACTIVATION_{name}{one}", members)
      for one, members in (("", ""), ("1", "Axes")) for name in ROWS),
    *(one.schema for one in LOWERED.values()),
)  # fmt: skip
