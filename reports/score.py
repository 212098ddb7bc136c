"""The numbers of an engine for other pages to embed: `badge.json` and `score.json`."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Any

from opcheck.analysis import reds
from opcheck.grouping import group_by
from reports import counts as count_of
from reports.counts import Harm, Mark
from reports.nodes import Nodes, used as share_of_nodes
from reports.published import UNJUDGED, Published, State
from reports.weights import Cell, Model, shares

#: Of `score.json`; another number where a field changes its name, its place or its meaning.
FORMAT = 1
#: The least percentage for each of the colors that shields.io names.
_COLORS = {95: "brightgreen", 90: "green", 75: "yellowgreen", 50: "yellow", 25: "orange", 0: "red"}


def judged(states: Counter[State]) -> int:
    """Return how many cells were judged: all but those that the engine does not implement."""
    return states.total() - states[State.ABSENT]


def counts(one: Published, operator: str | None = None) -> Counter[State]:
    """Return the cells of an operator, or of all, by their state."""
    return Counter(state for (op, _), state in one.cells.items() if operator in (None, op.name))


def percent(states: Counter[State]) -> int:
    """Return how many of a hundred judged cells are right: 100 only if nothing is wrong."""
    of = judged(states)
    return 100 * states[State.RIGHT] // of if of else 0


def share_right(one: Published) -> float | None:
    """Return the share of cases that are right, from 0 to 1; None if none was judged.

    Each sentence of an operator's text weighs alike, however many cases test it. A warning is no
    failure. What the engine documents as missing stands apart, as what it does not implement.
    """
    return _mean([share for _, share in _sentences(one)])


def shares_right(one: Published) -> dict[str, float | None]:
    """Return that share for each operator of which a case was judged."""
    by_operator = group_by(_sentences(one), itemgetter(0))
    return {name: _mean([share for _, share in those]) for name, those in by_operator.items()}


def _sentences(one: Published) -> list[tuple[str, float]]:
    """Return the operator of each tested sentence, and the share of its cases that are right."""
    sentences: dict[tuple[str, str, str], Counter[bool]] = defaultdict(Counter)
    for result in one.results:
        if result.plain in UNJUDGED or one.is_documented(result):
            continue
        sentence = result.clause or result.case.partition("@")[0]
        sentences[result.op.domain, result.op.name, sentence][result.plain not in reds()] += 1
    return [(name, count[True] / count.total()) for (_, name, _), count in sentences.items()]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _harm(one: Published, which: Harm) -> dict[str, int]:
    """Return how many defects do this, and how many of them have each mark."""
    marked = count_of.beside(one, which)
    return {"defects": count_of.by_harm(one)[which], **{mark: marked[mark] for mark in Mark}}


def badge(one: Published) -> str:
    """Return what shields.io's endpoint badge reads."""
    states = counts(one)
    said = {
        "schemaVersion": 1,
        "label": "opcheck",
        "message": f"{percent(states)}% of {judged(states):,} cells right",
        "color": next(color for least, color in _COLORS.items() if percent(states) >= least),
    }
    return json.dumps(said, indent=1) + "\n"


def score(
    one: Published,
    models: Sequence[Model],
    nodes: Sequence[Nodes],
    defects: Sequence[Mapping[str, Any]],
) -> str:
    """Return all numbers of an engine, an operator a line, in the form of `score.schema.json`."""
    head = one.head
    states = counts(one)
    used = one.use(shares(models))
    ran = share_of_nodes(nodes, one.full_address)
    operators: dict[str, dict[int, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for (op, dtype), state in one.cells.items():
        name = f"{op.domain}:{op.name}" if op.domain else op.name
        operators[name][op.since][dtype] = state
    said: dict[str, Any] = {
        "format": FORMAT,
        "engine": one.address,
        "release": one.version,
        "date": head.started[:10],
        "opcheck": head.opcheck,
        "suite": {"digest": head.suite.digest, "cases": head.suite.cases},
        "cells": {state: states[state] for state in State if state is not State.UNJUDGED},
        "weights": {
            "models": len(models),
            "nodes": sum(model.size for model in models),
            "shares": {state: round(share, 4) for state, share in used.items()},
        },
        "nodes": {
            "nodes": sum(sum(model.counts) for model in nodes),
            "shares": {state: round(share, 4) for state, share in ran.items()},
        },
        "right": round(share_right(one) or 0, 4),
        "harm": {harm: _harm(one, harm) for harm in Harm},
        "distinct_defects": {
            kind: sum(defect["models"] == kind for defect in defects)
            for kind in ("legal", "invalid")
        },
    }
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in said.items()]
    parts.append(f'"defects": {_lines([*map(json.dumps, defects)], "[]")}')
    rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in operators.items()]
    parts.append(f'"operators": {_lines(rows, "{}")}')
    return _lines(parts, "{}") + "\n"


def _lines(parts: Sequence[str], brackets: str) -> str:
    return f"{brackets[0]}\n" + ",\n".join(parts) + f"\n{brackets[1]}"


def share_of(operator: str, weights: Mapping[Cell, Fraction]) -> Fraction:
    """Return the part of the nodes of models that an operator has, in all versions and types."""
    return sum((share for (op, _), share in weights.items() if op.name == operator), Fraction())
