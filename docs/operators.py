"""Makes `docs/operators.md`: what opcheck knows of every operator of ONNX.

python docs/operators.py
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.engine import operator_of
from opcheck.model import OpVersion, OutputSpec, Rejected, TensorSpec
from opcheck.opset import Parameter, Schema
from opcheck.suite import Selection, load, select

PAGE = Path(__file__).with_suffix("").with_name("operators.md")
_INTRODUCTION = """\
# Operators

<!-- Made by `python docs/operators.py`; edits are lost. -->

A *cell* is an operator in one of its versions with one element type of its first type variable,
that of the first input or, without inputs, of the first output. Deprecated versions have none.

- **computed**: opcheck's engine has a formula, so that it judges your own cases, and nodes of your
  models, by their exact answers. Nodes of other operators are judged by
  [another backend's answers](any-operator.md).
- **judged**: the shipped suites, which `opcheck run` judges backends by, ask for an answer too.
"""


#: Why cells of operators that are judged elsewhere are not.
_WHY = {
    **dict.fromkeys(
        ("RandomNormalLike", "RandomUniformLike"),
        "Of the input only the shape is read; its other types are asked at level deep.",
    ),
    **dict.fromkeys(
        ("Optional", "OptionalGetElement", "OptionalHasElement"),
        "Optional sequences: case files hold optional tensors.",
    ),
    **dict.fromkeys(("If", "Loop"), "Sequences and optional values: case files hold tensors."),
    "Identity": "Sequences and optional values: case files hold tensors.",
    "Tile": "Version 1 says both that elements are repeated and that the tensor is.",
}


def text() -> str:
    """The page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    asked = _asked()
    counts = {name: _counted(name, asked) for name in opset.operators("")}
    versions, cells, computed, judged = map(sum, zip(*counts.values(), strict=True))
    known, suites = (sum(row[n] > 0 for row in counts.values()) for n in (2, 3))
    yield _INTRODUCTION
    yield (
        f"Of ONNX's {len(counts)} operators in {versions:,} versions, {known} are computed in "
        f"{computed:,} of {cells:,} cells, and {suites} are judged in {judged:,}."
    )
    yield ""
    yield "| operator | versions | cells | computed | judged |"
    yield "|---|---:|---:|---:|---:|"
    for name, row in counts.items():
        yield f"| {name} | {' | '.join(str(count) if count else '·' for count in row)} |"
    yield ""
    yield "Of the operators that are judged, these cells are not:"
    yield ""
    yield "| operator | cells | why |"
    yield "|---|---:|---|"
    for name, (_, cells, _, judged) in counts.items():
        if 0 < judged < cells:
            yield f"| {name} | {cells - judged} | {_WHY[name]} |"


def _first(schema: Schema) -> Parameter:
    # A sequence is the first where it is declared so, though cases have its tensors last.
    name = next(chain(*schema.formals)).name
    return next(one for one in (*schema.inputs, *schema.outputs) if one.name == name)


def _asked() -> dict[OpVersion, set[str]]:
    """The types of the first type variable that the shipped suites ask for an answer in."""
    found: dict[OpVersion, set[str]] = defaultdict(set)
    for case in select(load(), Selection()):
        if isinstance(case.expect, Rejected):
            continue
        schema = opset.versions(case.op.domain, case.op.name)[case.op.since]
        formals = (*schema.inputs, *schema.outputs)
        stems = {one.stem for one in formals if one.constraint == _first(schema).constraint}
        tensors: list[TensorSpec | OutputSpec] = [*case.inputs, *case.outputs]
        for tensor in tensors:
            if tensor.dtype and re.sub(r"_\d+$", "", tensor.name) in stems:
                found[case.op].add(tensor.dtype.text)
    return found


def _counted(name: str, asked: dict[OpVersion, set[str]]) -> tuple[int, int, int, int]:
    """The versions of an operator, its cells, those computed, and those judged."""
    schemas = [one for one in opset.versions("", name).values() if not one.deprecated]
    cells = computed = judged = 0
    for schema in schemas:
        first = _first(schema).types
        operator = operator_of(schema.op)
        cells += len(next(chain(*schema.formals)).types)
        if operator:
            computed += len(first & {dtype.text for dtype in DTYPES.values()})
        judged += len(first & asked[schema.op])
    return len(schemas), cells, computed, judged


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    print(PAGE)
