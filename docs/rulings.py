"""Makes `docs/rulings.md`: what texts leave open, and the readings that opcheck admits.

python docs/rulings.py
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from opcheck.engine import operator_of
from opcheck.engine.all_rulings import all_rulings
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution import expected
from opcheck.model import Case
from opcheck.suite import load

PAGE = Path(__file__).with_suffix(".md")
_INTRODUCTION = """\
# Rulings

<!-- Made by `python docs/rulings.py`; edits are lost. -->

Where a text leaves a point open, opcheck admits each of its readings. Each point is a `Ruling` with
an id ([readings.py](../opcheck/engine/readings.py)). The formulas of all operators that meet the
point follow the same one, so that one question has one answer: in `run`, for your own cases, in
models, in `locate`, in pytest and in golden files. A backend may follow any reading; the backend
`numpy` follows the first.

*Each element*: elements may follow different readings. Otherwise one reading binds the outputs of
a node. The operators are those whose shipped cases meet the point.

[Errata](errata.md) lists where ONNX contradicts its own text. Elements that may be anything, as
quotients of integers by 0, are unjudged, and the others of a node are judged. Points of which no
finite set of answers exists are *unsupported by opcheck*, with a reason of their own.
"""


def of_all_places(ruling: Ruling) -> Ruling:
    """Return the ruling as it stands in its module, where each axis, bin or class has its own."""
    id_ = re.sub(r"-(along-axis|of-bin|of-class)-[\d-]+$", "", ruling.id)
    if id_ == ruling.id:
        return ruling
    return next(one for one in all_rulings() if (one.id, one.text) == (id_, ruling.text))


def met_by(cases: Iterable[Case]) -> Mapping[Ruling, set[str]]:
    """Return by ruling the operators whose open cases meet it."""
    found: dict[Ruling, set[str]] = defaultdict(set)
    for case in cases:
        if case.model is not None or operator_of(case.op) is None:
            continue
        asked = expected.question(case)
        node = expected.node_of(asked.task, asked.inputs)
        try:
            with judging():
                readings = each_answer(node)
        except (InvalidNode, NotSupported):
            continue
        for reading in readings:
            for ruling in reading.rulings.values():
                found[of_all_places(ruling)].add(case.op.name)
    return found


def page(operators: Mapping[Ruling, set[str]]) -> str:
    """Return the page, for these operators by ruling."""
    rows = [
        "| id | what is open | readings | operators |",
        "|---|---|---|---|",
    ]
    for ruling in all_rulings():
        readings = ", ".join(f"`{name}`" for name in ruling.readings)
        if ruling.by_element:
            readings += "; each element"
        names = ", ".join(sorted(operators.get(ruling, ()))) or "no shipped case"
        rows.append(f"| `{ruling.id}` | {ruling.text} | {readings} | {names} |")
    return "\n".join([_INTRODUCTION, *rows, ""])


def main() -> None:
    """Write the page."""
    cases = [case for case in load() if case.rule == "open"]
    PAGE.write_text(page(met_by(cases)), encoding="utf-8")


if __name__ == "__main__":
    main()
