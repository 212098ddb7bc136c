"""Counts what public models use: the nodes of ONNX models that Python packages ship.

    pip download --no-deps -d wheels rapidocr silero-vad …
    python reports/weights.py wheels           writes weights.json

Wheels are only read, never installed. A file that two packages ship is one model. Model-local
functions are inlined, so that their nodes count once per call; nodes of subgraphs count once. A
node belongs to a cell: its operator, the version in force at the model's opset, and its type, which
onnx infers. Each model has the same weight, whatever its size.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import ZipFile

import onnx
from onnx import inliner, shape_inference

HERE = Path(__file__).parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

from opcheck import opset  # noqa: E402  (it may be run as a script)
from opcheck.dtypes import BY_TEXT  # noqa: E402
from opcheck.model import OpVersion  # noqa: E402

STORED = HERE / "weights.json"
FORMAT = 1
#: The type of what is no tensor, or what onnx cannot infer.
UNKNOWN = "unknown"
#: An operator's version and its type.
Cell: TypeAlias = tuple[OpVersion, str]


@dataclass(frozen=True)
class Model:
    """A model that a package ships, and its nodes by cell."""

    package: str
    version: str
    file: str
    sha256: str
    opset: int
    nodes: Mapping[Cell, int]

    @property
    def size(self) -> int:
        """Its number of nodes."""
        return sum(self.nodes.values())


def count(model: onnx.ModelProto) -> Counter[Cell]:
    """Return how many nodes of a model are of each cell."""
    whole = shape_inference.infer_shapes(inliner.inline_local_functions(model))
    opsets = {_domain(one.domain): one.version for one in whole.opset_import}
    return Counter(_cells(whole.graph, opsets, {}))


def _cells(
    graph: onnx.GraphProto, opsets: Mapping[str, int], outer: Mapping[str, str]
) -> Iterator[Cell]:
    types = dict(outer)
    types |= {one.name: _named(one.data_type) for one in graph.initializer}
    types |= {one.values.name: _named(one.values.data_type) for one in graph.sparse_initializer}
    for info in (*graph.input, *graph.value_info, *graph.output):
        types[info.name] = _named(info.type.tensor_type.elem_type)
    for node in graph.node:
        yield _cell(node, opsets, types)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _cells(inner, opsets, types)


def _cell(node: onnx.NodeProto, opsets: Mapping[str, int], types: Mapping[str, str]) -> Cell:
    domain = _domain(node.domain)
    at = opsets.get(domain, 0)
    schema = opset.describe(domain, node.op_type, at)
    if schema is None:
        return OpVersion(domain, node.op_type, at), UNKNOWN
    # Tensors that only graphs use are no inputs of the node.
    typed = schema.inputs[0] if schema.typed.constraint == opset.OUTER else schema.typed
    taken = typed in schema.inputs
    place = schema.inputs.index(typed) if taken else schema.outputs.index(typed)
    names = [*(node.input if taken else node.output), *[""] * (place + 1)]
    return schema.op, types.get(names[place], UNKNOWN)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


@cache
def _named(kind: int) -> str:
    text = f"tensor({onnx.TensorProto.DataType.Name(kind).lower()})"
    return BY_TEXT[text].name if text in BY_TEXT else UNKNOWN


def shares(models: Sequence[Model]) -> dict[Cell, Fraction]:
    """Return the part of the nodes that each cell has in a model, on average over all models."""
    found: dict[Cell, Fraction] = defaultdict(Fraction)
    for model in models:
        for cell, number in model.nodes.items():
            found[cell] += Fraction(number, model.size * len(models))
    return found


def shipped(wheel: Path) -> Iterator[Model]:
    """Yield the models in a wheel."""
    package, version, *_ = wheel.name.split("-")
    with ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".onnx"):
                data = archive.read(name)
                model = onnx.load_from_string(data)
                at = max(one.version for one in model.opset_import if not _domain(one.domain))
                digest = hashlib.sha256(data).hexdigest()
                named = package.replace("_", "-")
                yield Model(named, version, name, digest, at, count(model))


def read(path: Path = STORED) -> list[Model]:
    """Return the models that were counted."""
    stored = json.loads(path.read_text("utf-8"))
    if stored["format"] != FORMAT:
        raise ValueError(f"{path}: format {stored['format']}, not {FORMAT}: make it anew")
    return [
        Model(**{**one, "nodes": {_parsed(cell): n for cell, n in one["nodes"].items()}})
        for one in stored["models"]
    ]


def written(models: Sequence[Model]) -> str:
    """Return models as they are stored: `Conv-11 float32` names a cell."""
    plain: list[dict[str, Any]] = [
        {**vars(one), "nodes": {_spelt(cell): one.nodes[cell] for cell in sorted(one.nodes)}}
        for one in models
    ]
    return json.dumps({"format": FORMAT, "models": plain}, indent=1) + "\n"


def _spelt(cell: Cell) -> str:
    op, dtype = cell
    return f"{op.domain}:{op.name}-{op.since} {dtype}".removeprefix(":")


def _parsed(cell: str) -> Cell:
    operator, _, dtype = cell.partition(" ")
    name, _, since = operator.rpartition("-")
    domain, _, name = name.rpartition(":")
    return OpVersion(domain, name, int(since)), dtype


def main(folder: Path) -> int:
    """Count the models of all wheels in a folder; exit status 1 if there are none."""
    every = [model for wheel in sorted(folder.glob("*.whl")) for model in shipped(wheel)]
    models = list({model.sha256: model for model in reversed(every)}.values())[::-1]
    for one in models:
        unknown = sum(n for (_, dtype), n in one.nodes.items() if dtype == UNKNOWN)
        print(
            f"{one.package} {one.version} {one.file}: {one.size} nodes, {unknown} of unknown type"
        )
    if models:
        STORED.write_text(written(models), "utf-8")
    return int(not models)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
