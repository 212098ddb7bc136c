"""A test of a model that is a single node, in the words of a case.

Whatever no case can state is refused by name.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from onnx import AttributeProto, ModelProto, ValueInfoProto

from opcheck import dtypes, opset
from opcheck.graph.nodes import PLAIN, attributes, domain_of, opset_of
from opcheck.graph.test_data import ModelTest, Told, read_test
from opcheck.model import Array, AttrValue
from opcheck.opset import Schema


@dataclass(frozen=True, eq=False)
class OneNode:
    """A node with its test, all values of which are arrays.

    `inputs` and `outputs` are the slots of the node that are there, by their places; of a variadic
    parameter each tensor has one.
    """

    schema: Schema
    opset: int
    attrs: dict[str, AttrValue]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    test: ModelTest


def read(folder: Path, told: Told) -> OneNode | None:
    """The node and the data in `folder`; None where something is wrong with it, which is `told`."""
    test = read_test(folder, folder.name, told, check=_schema)
    for data in test.data_sets if test else ():
        for what, values in (("input", data.inputs), ("output", data.outputs)):
            for number, array in enumerate(cast(Sequence[Array], values)):
                if dtypes.of(array) is None:
                    path = folder / f"test_data_set_{data.number}" / f"{what}_{number}.pb"
                    told.append((path, f"holds {array.dtype}, which no case can have"))
    if test is None or told:
        return None
    schema, version = _schema(test.model)
    (node,) = test.model.graph.node
    inputs, outputs = _places(node.input), _places(node.output)
    return OneNode(schema, version, attributes(node), inputs, outputs, test)


def _schema(model: ModelProto) -> tuple[Schema, int]:
    """The operator of a model's only node, and its opset.

    Raises ValueError with what else is in the model, or in what its node is none of a case.
    """
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
    protos = [proto for node in graph.node for proto in node.attribute]
    found += [f"attribute {p.name!r}, {_kind(p)}" for p in protos if p.type not in PLAIN]
    found += [
        f"attribute {proto.name!r}, which is no text in UTF-8"
        for proto in protos
        if not all(map(_is_text, (proto.s, *proto.strings)))
    ]
    if found:
        raise ValueError(f"a case is one node on its inputs; this has {'; '.join(found)}")
    (node,) = graph.node
    domain = domain_of(node.domain)
    if not (version := opset_of(model, domain)):
        raise ValueError(f"it imports no opset of {_named(domain)}, whose {node.op_type} it uses")
    schema = opset.describe(domain, node.op_type, version)
    if schema is None:
        known = f"of {_named(domain)} at opset {version}"
        raise ValueError(f"opcheck knows no operator {node.op_type!r} {known}")
    gap = next((number for number, slot in enumerate(node.output) if not slot), None)
    if gap is not None:
        left = f"its node leaves out output {gap}, before one that is there"
        raise ValueError(f"{left}, which a case cannot state")
    _check_declared(graph.input, node.input, "input")
    _check_declared(graph.output, node.output, "output")
    return schema, version


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


def _check_declared(infos: Sequence[ValueInfoProto], slots: Sequence[str], what: str) -> None:
    """Raise ValueError unless the model's inputs or outputs are the node's, one by one."""
    names, used = [info.name for info in infos], [slot for slot in slots if slot]
    if names != used:
        mine, theirs = (", ".join(some) or "none" for some in (names, used))
        raise ValueError(f"its {what}s are {mine}, and those of its node {theirs}")
    if len({*used}) < len(used):
        raise ValueError(f"its node takes an {what} twice: {', '.join(used)}")
    for info in infos:
        kind = info.type.WhichOneof("value") or "nothing"
        if kind != "tensor_type":
            raise ValueError(f"{what} {info.name!r} is no tensor: {kind}")


def _places(slots: Sequence[str]) -> tuple[int, ...]:
    return tuple(number for number, slot in enumerate(slots) if slot)
