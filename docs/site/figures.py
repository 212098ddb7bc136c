"""The pictures of the site, drawn of the product's own numbers when the site is built."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log10
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs.site import svg
from docs.site.flowchart import flowchart as flowchart
from opcheck.execution.show import shown
from opcheck.suite import load
from opcheck.suite.select import LEVELS

_DOCS = Path(__file__).parents[1]
_WIDTH = 480


def picture(name: str) -> str:
    """Return a picture by the name that pages give it."""
    return _PICTURES[name]()


# ── bounds ────────────────────────────────────────────────────────────────────────────────────

#: A row of 0, -10 and -20: the further from the maximum, the more may an element be off.
_BOUND_CASE = "Softmax/small_shares@opset=13#float32"


class BoundOf(NamedTuple):
    """An element: input, right value, allowed error and that of NumPy in float32, in ULP."""

    input: float
    value: float
    allowed: float
    off: float


def bounds() -> Sequence[BoundOf]:
    """Return the elements of the first row of a case of Softmax."""
    case = next(one for one in load(ops=("Softmax",)) if one.id == _BOUND_CASE)
    about = shown(case)
    assert about.question is not None
    row = np.asarray(about.question.inputs[0][0], np.float32)
    output = about.answers[0].outputs[0]
    powers = np.exp(row - row.max())
    got = powers / powers.sum()
    found = []
    for place, value in enumerate(np.asarray(output.values[0], np.float32)):
        ulp = float(np.spacing(value))
        highest = float(np.asarray(output.highest[0], np.float64)[place])
        found.append(
            BoundOf(
                input=float(row[place]),
                value=float(value),
                allowed=(highest - float(value)) / ulp,
                off=(float(got[place]) - float(value)) / ulp,
            )
        )
    return found


def _bound() -> str:
    """Draw the allowed errors of three elements of one row."""
    elements = bounds()
    middle, room, height = 290.0, 170.0, 54
    scale = room / max(one.allowed for one in elements)
    shapes = [svg.text(middle, 18, "error in ULP of float32", "soft", "middle")]
    for place, one in enumerate(elements):
        y = 44 + place * height
        reach = one.allowed * scale
        shapes += [
            svg.text(0, y + 5, f"x = {one.input:g}".replace("-", "−")),
            svg.text(0, y + 22, f"want {one.value:.3g}", "soft"),
            svg.box(middle - reach, y - 9, 2 * reach, 18, "allowed"),
            svg.line(middle, y - 14, middle, y + 14),
            svg.dot(middle + one.off * scale, y, "good"),
            svg.text(middle - reach, y + 26, f"−{one.allowed:.0f}", "soft", "middle"),
            svg.text(middle + reach, y + 26, f"+{one.allowed:.0f}", "soft", "middle"),
        ]
    about = (
        "Softmax of 0, −10, −20 in float32. The band is what an element may be off, in units of "
        "its last place (ULP); the dot is NumPy's answer. The band is wider where x is further "
        "from the maximum."
    )
    return svg.drawing("bound", _WIDTH, 44 + len(elements) * height, shapes, about)


# ── scatter ───────────────────────────────────────────────────────────────────────────────────

#: The row of a table in docs/verdicts.md that the picture shows, and the table's columns.
_SCATTER_ROW = "MatMul, K = 4,096"
_ARITHMETIC = ("float32", "inputs in two bfloat16", "TF32", "bfloat16")
#: Scatter beyond this is a warning; a share of the bound beyond 1 is wrong.
_WARNED = 60.0
_LEAST, _MOST = -4, 3


def scatters() -> Sequence[tuple[str, float, float]]:
    """Return the share of the bound and the scatter of one sum by arithmetic."""
    page = (_DOCS / "verdicts.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {_SCATTER_ROW} \| (.*) \|$", page, re.MULTILINE)
    assert row is not None, f"docs/verdicts.md has no row {_SCATTER_ROW}"
    pairs = [pair.replace(",", "").split("/") for pair in row[1].split("|")]
    return [
        (name, float(used), float(scatter))
        for name, (used, scatter) in zip(_ARITHMETIC, pairs, strict=True)
    ]


def _scatter() -> str:
    """Draw both measures of four arithmetics, each on a logarithmic scale to its limit."""
    left, width, height = 160, 210, 50

    def x(value: float) -> float:
        at = min(max(log10(value), _LEAST), _MOST)
        return left + (at - _LEAST) / (_MOST - _LEAST) * width

    rows = [
        (f"{measure} {value:.2g}", value, 46 + height * place + 20 * below, name)
        for place, (name, used, scatter) in enumerate(scatters())
        for below, (measure, value) in enumerate((("bound", used), ("scatter", scatter / _WARNED)))
    ]
    shapes = [
        svg.box(left, 30, x(1) - left, 4 * height - 4, "allowed"),
        svg.line(x(1), 26, x(1), 30 + 4 * height, "limit"),
        svg.text(x(1), 18, "limit", "soft", "middle"),
    ]
    for words, value, y, name in rows:
        if words.startswith("bound"):
            shapes.append(svg.text(0, y + 14, name))
        shapes.append(svg.dot(x(value), y, "good" if value <= 1 else "bad"))
        shapes.append(svg.text(_WIDTH, y + 5, words, "soft", "end"))
    about = (
        "A sum of 4,096 products in four arithmetics, as shares of the two limits. The bound has "
        "room for the worst sum of all roundings, so that even bfloat16 fits. Scatter compares "
        "with roundings that are independent, and shows TF32 and bfloat16."
    )
    return svg.drawing("scatter", _WIDTH, 36 + 4 * height, shapes, about)


# ── causes ────────────────────────────────────────────────────────────────────────────────────

#: Rows are mistakes, columns are cases. `#`: the mistake gives the answer that the case got.
#: `x`: it contradicts a case that passes.
_MISTAKES = (
    ("computes version 13", "######   .", True),
    ("returns the last of ties", "  ##     x", False),
    ("does not validate models", "      ## .", True),
    ("drops the last axis", "#   #    x", False),
)
_FAILURES = 8


def _causes() -> str:
    """Draw which mistakes explain which failures, and the two that explain all."""
    left, top, step = 185, 44, 29
    shapes = [
        svg.text(left + step * _FAILURES / 2, 14, "cases that fail", "soft", "middle"),
        svg.text(_WIDTH, 14, "one passes", "soft", "end"),
        svg.line(left + step * (_FAILURES + 0.5), 22, left + step * (_FAILURES + 0.5), 160),
    ]
    for row, (name, cells, is_cause) in enumerate(_MISTAKES):
        y = top + row * step
        shapes.append(svg.text(0, y + 5, name, "" if is_cause else "soft"))
        for column, cell in enumerate(cells):
            x = left + step * (column + 0.5)
            if cell == "#":
                shapes.append(svg.box(x - 9, y - 9, 18, 18, "cause" if is_cause else "allowed"))
            elif cell == "x":
                shapes.append(svg.text(x, y + 5, "✗", "refuted", "middle"))
            elif cell == ".":
                shapes.append(svg.dot(x, y, "good", 3))
    about = (
        "A sketch. A filled square: the mistake gives exactly the wrong answer of that case. A "
        "mistake that contradicts a pass is out. The fewest mistakes that explain all failures "
        "are the causes: two here."
    )
    return svg.drawing("causes", _WIDTH, top + len(_MISTAKES) * step, shapes, about)


# ── levels ────────────────────────────────────────────────────────────────────────────────────

_LEVEL_OPERATOR = "Softmax"
_MEANT_FOR = {
    "smoke": "does it run at all? One type, two versions",
    "core": "the judgement: all versions, types and corners",
    "deep": "large tensors, and what takes long",
}


def levels() -> Mapping[str, int]:
    """Return how many cases of one operator run at each level."""
    counts = Counter(case.level for case in load(ops=(_LEVEL_OPERATOR,)))
    return {
        level: sum(counts[one] for one in LEVELS[: place + 1]) for place, level in enumerate(LEVELS)
    }


def _levels() -> str:
    """Draw the levels inside each other."""
    shapes = []
    counts = levels()
    for depth, (level, count) in enumerate(reversed([*counts.items()])):
        inset = 16 * depth
        bottom = 56 * len(counts) + 16
        y = 56 * depth + 4
        shapes += [
            svg.box(inset, y, _WIDTH - 2 * inset, bottom - y - inset / 2, f"level level-{depth}"),
            svg.text(inset + 14, y + 22, f"{level}: {count:,} cases", "strong"),
            svg.text(inset + 14, y + 40, _MEANT_FOR[level], "soft"),
        ]
    about = f"The cases of {_LEVEL_OPERATOR} at each level. Each level includes the one inside it."
    return svg.drawing("levels", _WIDTH, 56 * len(counts) + 20, shapes, about)


_PICTURES: Mapping[str, Callable[[], str]] = {
    "bound": _bound,
    "scatter": _scatter,
    "causes": _causes,
    "levels": _levels,
}


def names() -> Iterator[str]:
    """Yield the names of all pictures."""
    yield from _PICTURES
