"""A folder in ONNX's test-data layout whose model is a single node, in the words of a case.

Whatever no case can state is refused by name. Files may come from strangers: no path leads out of
the folder, and nothing is allocated because a file only says that it is large.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from opcheck import dtypes, opset
from opcheck.dtypes import DTYPES
from opcheck.graph.folders import MODEL
from opcheck.graph.model_files import has_texts
from opcheck.graph.nodes import PLAIN, attributes, domain_of, opset_of
from opcheck.graph.test_data import ATOL, DATA, RTOL, read_tolerance
from opcheck.model import Array, AttrValue
from opcheck.opset import Schema

_DATA_SET = re.compile(r"test_data_set_(0|[1-9]\d{0,5})")
#: No file may be larger, in bytes: more than the largest tensor of a case takes.
_MAX_BYTES = 1 << 28
#: No tensor may have more elements.
_MAX_ELEMENTS = 1 << 26

_BY_CODE = {dtype.onnx: dtype for dtype in DTYPES.values()}


@dataclass(frozen=True, eq=False)
class DataSet:
    """The tensors of one data set, in the order of the node's inputs and outputs."""

    number: int
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class OneNode:
    """A node with its data.

    `inputs` and `outputs` are the slots of the node that are there, by their places; of a variadic
    parameter each tensor has one.
    """

    schema: Schema
    opset: int
    attrs: dict[str, AttrValue]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    data_sets: tuple[DataSet, ...]


def read(folder: Path) -> OneNode:
    """The node and the data in `folder`; raises Unfit."""
    model = _model(file_in(folder, MODEL))
    node = _node(model)
    domain = domain_of(node.domain)
    if not (version := opset_of(model, domain)):
        told = f"it imports no opset of {_named(domain)}, whose {node.op_type} it uses"
        raise Unfit(f"{MODEL}: {told}")
    schema = opset.describe(domain, node.op_type, version)
    if schema is None:
        raise Unfit(
            f"{MODEL}: opcheck knows no operator {node.op_type!r} of {_named(domain)} at opset"
            f" {version}"
        )
    gap = next((number for number, slot in enumerate(node.output) if not slot), None)
    if gap is not None:
        left = f"its node leaves out output {gap}, before one that is there"
        raise Unfit(f"{MODEL}: {left}, which a case cannot state")
    inputs = _declared(model.graph.input, node.input, "input")
    outputs = _declared(model.graph.output, node.output, "output")
    sets = sorted(
        (int(match[1]), path)
        for path in folder.iterdir()
        if (match := _DATA_SET.fullmatch(path.name))
    )
    if not sets:
        raise Unfit("there is no folder test_data_set_0 beside the model")
    data = [
        DataSet(
            number,
            tuple(tensors_in(folder, path, "input", inputs)),
            tuple(tensors_in(folder, path, "output", outputs)),
        )
        for number, path in sets
    ]
    return OneNode(
        schema, version, attributes(node), _places(node.input), _places(node.output), tuple(data)
    )


def _model(path: Path) -> ModelProto:
    try:
        model = ModelProto.FromString(path.read_bytes())
    except Exception as error:  # protobuf's own DecodeError, or the file cannot be read
        raise Unfit(f"{MODEL}: no readable model: {error}") from None
    if not has_texts(model):
        raise Unfit(f"{MODEL}: no readable model: a name in it is no text in UTF-8")
    return model


def _node(model: ModelProto) -> NodeProto:
    """The only node of a model that is nothing else; raises Unfit with all that it is."""
    graph = model.graph
    most = Counter(node.op_type for node in graph.node).most_common(5)
    kinds = ", ".join(f"{count} × {kind}" for kind, count in most)
    found = []
    if len(graph.node) != 1:
        found.append(f"{len(graph.node)} nodes ({kinds})" if graph.node else "no node")
    found += [f"function {function.name!r}" for function in model.functions]
    found += [f"initializer {tensor.name!r}" for tensor in graph.initializer]
    found += [f"sparse initializer {one.values.name!r}" for one in graph.sparse_initializer]
    domains = sorted({domain_of(one.domain) for one in model.opset_import})
    if len(domains) > 1:
        found.append(f"operators of {' and '.join(map(_named, domains))}")
    found += [
        f"attribute {proto.name!r}, {_kind(proto)}"
        for node in graph.node
        for proto in node.attribute
        if proto.type not in PLAIN
    ]
    found += [
        f"attribute {proto.name!r}, which is no text in UTF-8"
        for node in graph.node
        for proto in node.attribute
        if not all(map(_is_text, (proto.s, *proto.strings)))
    ]
    if found:
        raise Unfit(f"{MODEL}: a case is one node on its inputs; this has {'; '.join(found)}")
    node: NodeProto = graph.node[0]
    return node


def _kind(proto: Any) -> str:
    known = proto.type in AttributeProto.AttributeType.values()
    name = AttributeProto.AttributeType.Name(proto.type).lower() if known else "nothing known"
    return f"a {name}" if known else name


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _named(domain: str) -> str:
    return f"domain {domain!r}" if domain else "ONNX's own domain"


def _declared(
    infos: Sequence[ValueInfoProto], slots: Sequence[str], what: str
) -> list[ValueInfoProto]:
    """The model's inputs or outputs; raises Unfit unless they are the node's, one by one."""
    names, used = [info.name for info in infos], [slot for slot in slots if slot]
    if names != used:
        raise Unfit(
            f"{MODEL}: its {what}s are {', '.join(names) or 'none'}, and those of its node"
            f" {', '.join(used) or 'none'}"
        )
    if len({*used}) < len(used):
        raise Unfit(f"{MODEL}: its node takes an {what} twice: {', '.join(used)}")
    for info in infos:
        kind = info.type.WhichOneof("value") or "nothing"
        if kind != "tensor_type":
            raise Unfit(f"{MODEL}: {what} {info.name!r} is no tensor: {kind}")
    return [*infos]


def _places(slots: Sequence[str]) -> tuple[int, ...]:
    return tuple(number for number, slot in enumerate(slots) if slot)


class Unfit(ValueError):
    """A folder that cannot become a case; the message names the file and what was found."""


def file_in(folder: Path, name: str) -> Path:
    """A file of the folder; raises Unfit where there is none, a link leads out, or it is large."""
    path = folder / name
    try:
        _check_inside(folder, path)
        if not path.is_file():
            raise Unfit(f"{name}: " + ("this is no file" if path.exists() else "there is none"))
        if path.stat().st_size > _MAX_BYTES:
            raise Unfit(f"{name}: larger than {_MAX_BYTES >> 20} MiB")
    except OSError as error:  # no permission
        raise Unfit(f"{name}: cannot be read: {error.strerror}") from None
    return path


def tolerance_in(folder: Path) -> tuple[float, float]:
    """The relative and the absolute tolerance of the test in `folder`; raises Unfit, OSError."""
    if not (folder / DATA).exists():
        return RTOL, ATOL
    data = file_in(folder, DATA).read_bytes()
    try:
        return read_tolerance(data)
    except ValueError as error:
        raise Unfit(f"{DATA}: {error}") from None


def _check_inside(folder: Path, path: Path) -> None:
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        raise Unfit(f"{path.relative_to(folder)}: a loop of links") from None
    if not inside:
        raise Unfit(f"{path.relative_to(folder)}: this link leads out of the folder")


def tensors_in(
    root: Path, folder: Path, what: str, infos: Sequence[ValueInfoProto]
) -> Iterator[Array]:
    """The tensors of a data set; raises Unfit unless there is one for each of the model's."""
    _check_inside(root, folder)
    if not folder.is_dir():
        raise Unfit(f"{folder.name}: this is no folder")
    wanted = [f"{what}_{number}.pb" for number in range(len(infos))]
    there = {path.name for path in folder.iterdir() if path.name.startswith(f"{what}_")}
    if more := sorted(there - {*wanted}):
        told = f"the model has {len(infos)} {what}{'s' * (len(infos) != 1)}"
        raise Unfit(f"{folder.name}: {told}; there is {', '.join(more[:5])} too")
    for name, info in zip(wanted, infos, strict=True):
        place = f"{folder.name}/{name}"
        yield _tensor(file_in(root, place), place, info)


def _tensor(path: Path, place: str, info: ValueInfoProto) -> Array:
    try:
        tensor = TensorProto.FromString(path.read_bytes())
    except Exception as error:  # protobuf's own DecodeError, or the file cannot be read
        raise Unfit(f"{place}: no readable tensor: {error}") from None
    if tensor.data_location == TensorProto.EXTERNAL:
        raise Unfit(f"{place}: it keeps its data in another file")
    codes = TensorProto.DataType
    known = tensor.data_type in codes.values()
    kind = codes.Name(tensor.data_type) if known else f"type {tensor.data_type}"
    dtype = _BY_CODE.get(tensor.data_type)
    if dtype is None:
        raise Unfit(f"{place}: a tensor of {kind}, which no case can hold")
    declared = info.type.tensor_type.elem_type
    if declared not in (0, tensor.data_type):
        raise Unfit(f"{place}: a tensor of {dtype}; the model declares {_BY_CODE.get(declared)}")
    shape = [*tensor.dims]
    if min(shape, default=0) < 0 or math.prod(n or 1 for n in shape) > _MAX_ELEMENTS:
        raise Unfit(f"{place}: the shape {shape} is more than {_MAX_ELEMENTS:,} elements, or none")
    try:
        array: Array = numpy_helper.to_array(tensor)
    except Exception as error:  # onnx and NumPy raise whatever they stumble over
        raise Unfit(f"{place}: no readable tensor: {error}") from None
    if dtypes.of(array) is not dtype or [*array.shape] != shape:
        raise Unfit(f"{place}: no readable tensor: {array.dtype} of shape {array.shape} came of it")
    return array
