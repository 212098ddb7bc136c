"""Makes `docs/operators.md` and `cases/judged.json`: what opcheck knows of every operator of ONNX.

python docs/operators.py
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.model import Case, OpVersion, OutputSpec, Rejected, TensorSpec
from opcheck.suite import Selection, load, select
from opcheck.suite.load import JUDGED, chief_slots, coverage, listed_type, shipped_suites

PAGE = Path(__file__).with_suffix("").with_name("operators.md")
_INTRODUCTION = """\
# Operators

<!-- Made by `python docs/operators.py`; edits are lost. -->

A *cell* is an operator in one of its versions with one element type of its first type variable,
that of the first input or, without inputs, of the first output. Deprecated versions have none.
`opcheck list --operators` prints this page's numbers by operator, with `--format json` the types.

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
        "No operator makes or takes apart a sequence of the types that version 28 added.",
    ),
    "Tile": "Version 1 says both that elements are repeated and that the tensor is.",
}
#: Why operators of ai.onnx.ml are not judged.
_OF_ML = {
    **dict.fromkeys(
        ("CastMap", "DictVectorizer", "ZipMap"),
        "They take or give maps: case files hold tensors and sequences of them.",
    ),
    **dict.fromkeys(("SVMClassifier", "SVMRegressor"), "The text states no formula."),
}
_OF_TRAINING = {
    "Gradient": "Its attributes name tensors of the graph around it: a case is one node.",
}
#: Why operators of DirectML have no suite: what their pages leave open, or what ONNX lacks.
_OF_DIRECT_ML = {
    "RESAMPLE, RESAMPLE1": "The caller states the output's sizes, “the scales don't need to be"
    " exactly OutputSize / InputSize”, and a case does not. “The input element nearest to the"
    " corresponding pixel center” does not say which of two it is.",
    "ELEMENT_WISE_THRESHOLD of integers": "“Min”, “the minimum value, below which the operator"
    " replaces the value with Min”, is a FLOAT: what 1.5 is beside integers is not said.",
    "ELEMENT_WISE_MEAN of integers": "“(a + b) / 2” of INT32 and UINT32 does not say how a half is"
    " rounded.",
    "ELEMENT_WISE_CLIP1": "“MinMaxDataType determines how to interpret” Min and Max, which are each"
    " “DML_SCALAR_UNION”: a member of a case is of one type.",
    "ELEMENT_WISE_QUANTIZE_LINEAR, ELEMENT_WISE_QUANTIZED_LINEAR_ADD": "“round(input / scale)” does"
    " not say how a half is rounded. ONNX has no operator that is the second.",
    "ELEMENT_WISE_DEQUANTIZE_LINEAR of UINT32": "ONNX has no such operator.",
    "ELEMENT_WISE_ATAN_YX, ELEMENT_WISE_DIFFERENCE_SQUARE": "“atan2(y, x)” and “(a - b) * (a - b)”"
    " are decided, the first but for “the origin”. ONNX has no such operators.",
    "ELEMENT_WISE_CLIP_GRAD, ELEMENT_WISE_CLIP_GRAD1": "They are decided: “if x <= Min then 0”,"
    " “if x >= Max then 0”, else the gradient. ONNX has no such operators.",
    "ELEMENT_WISE_BIT_COUNT": "Its output is “UINT32, UINT8”, as the caller states and a case does"
    " not. ONNX has no such operator.",
    "ACTIVATION_CELU, GELU, HARD_SIGMOID, HARD_SWISH, IDENTITY, LEAKY_RELU, LINEAR,"
    " PARAMETERIZED_RELU, PARAMETRIC_SOFTPLUS, RELU_GRAD, SCALED_ELU, SCALED_TANH, SHRINK, SIGMOID,"
    " SOFTPLUS, SOFTSIGN, SWISH, TANH, THRESHOLDED_RELU": "Their pages have not been read sentence"
    " by sentence yet.",
}
_REASONS = {"": _WHY, opset.ML: _OF_ML, opset.TRAINING: _OF_TRAINING}


def judged_by(cases: Iterable[Case]) -> dict[OpVersion, set[str]]:
    """The types, as case files name them, that cases ask for an answer in."""
    found: dict[OpVersion, set[str]] = defaultdict(set)
    for case in cases:
        if isinstance(case.expect, Rejected):
            continue
        schema = opset.versions(case.op.domain, case.op.name)[case.op.since]
        parameters = {one.stem: one for one in chief_slots(schema)}
        op = replace(case.op, name=opset.plain(case.op.name))
        tensors: list[TensorSpec | OutputSpec] = [*case.inputs, *case.outputs]
        for tensor in tensors:
            parameter = parameters.get(re.sub(r"_\d+$", "", tensor.name))
            if tensor.dtype and parameter:
                found[op].add(listed_type(parameter, tensor.dtype.name))
    return found


def _dtype(name: str) -> str:
    return name.rstrip(")").rpartition("(")[2]


def text() -> str:
    """The page."""
    return "\n".join(_lines()) + "\n"


@cache
def judged() -> str:
    """The types that shipped cases ask for an answer in, by domain, operator and version."""
    asked = judged_by(select(load(), Selection()))
    found: dict[str, dict[str, dict[str, str]]] = {opset.ML: {}}
    for op in sorted(asked, key=lambda op: (op.domain, op.name, op.since)):
        of_op = found.setdefault(op.domain, {}).setdefault(op.name, {})
        order = [*DTYPES]
        names = sorted(asked[op], key=lambda one: (one.count("("), order.index(_dtype(one)), one))
        of_op[str(op.since)] = " ".join(names)
    for domain, reasons in _REASONS.items():
        for name, why in reasons.items():
            found[domain].setdefault(name, {})["why"] = why
    return json.dumps(found, indent=1) + "\n"


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    for domain, reasons in _REASONS.items():
        yield from ("", f"## {domain}", "") if domain else ()
        yield from _of_domain("Its" if domain else "ONNX's", domain, reasons)
    yield from _of_pages()


def _of_pages() -> Iterator[str]:
    yield from ("", f"## {opset.DML}", "")
    names = opset.operators(opset.DML)
    yield f"{len(names)} of DirectML's operators are judged, in all of their cells."
    yield "Of others, and of other types:"
    yield from ("", "| operator | why |", "|---|---|")
    yield from (f"| {name} | {why} |" for name, why in _OF_DIRECT_ML.items())


def _of_domain(whose: str, domain: str, reasons: Mapping[str, str]) -> Iterator[str]:
    table: dict[str, dict[str, Any]] = json.loads(judged())[domain]
    names = [name for name in opset.operators(domain) if name == opset.plain(name)]
    counts = {name: _counted(domain, name, table.get(name, {})) for name in names}
    counts = {name: row for name, row in counts.items() if row[0]}
    versions, cells, computed, suited = map(sum, zip(*counts.values(), strict=True))
    known, suites = (sum(row[n] > 0 for row in counts.values()) for n in (2, 3))
    yield (
        f"{whose} {len(counts)} operators in {versions:,} versions: {known} are computed in "
        f"{computed:,} of {cells:,} cells, and {suites} are judged in {suited:,}."
    )
    yield ""
    yield "| operator | versions | cells | computed | judged |"
    yield "|---|---:|---:|---:|---:|"
    for name, row in counts.items():
        yield f"| {name} | {' | '.join(str(count) if count else '·' for count in row)} |"
    yield ""
    yield "These cells are not judged:"
    yield ""
    yield "| operator | cells | why |"
    yield "|---|---:|---|"
    for name, (_, cells, _, met) in counts.items():
        if met < cells and name in reasons:
            yield f"| {name} | {cells - met} | {reasons[name]} |"


def _counted(domain: str, name: str, stated: dict[str, Any]) -> tuple[int, int, int, int]:
    """The versions of an operator, its cells, those computed, and those judged."""
    rows = [*coverage(domain, name, stated)]
    counted = (
        sum(len(getattr(row, one)) for row in rows) for one in ("types", "computed", "judged")
    )
    return len(rows), *counted  # type: ignore[return-value]


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    (shipped_suites() / JUDGED).write_text(judged(), encoding="utf-8")
    print(PAGE)
