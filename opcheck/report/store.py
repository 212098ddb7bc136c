"""The stream of a run as JSON lines: a header, a record a result as it happens, a footer.

A stream without a footer, or with one whose `complete` is false, is that of a run cut short.
NaN, infinities and exact values are strings: the shortest spelling, and the bits beside it.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from opcheck.model import ComparisonRecord, Ending, Header, Record
from opcheck.report.json_lines import line

# History of the format:
#   1  header, result and footer; a result names its case in full
#   2  the header tells the whole suite, the part of it that a shard is, when the run began and
#      what else its verdicts depend on; a result has its case's place and digest, and its clause
#      as quoted for the case's version; failures have a picture; the footer tells duration,
#      accidents and partings
FORMAT = 2


def header(run: Header) -> str:
    """The first line."""
    return line({"type": "header", "format": FORMAT, **dataclasses.asdict(run)})


def record(result: Record) -> str:
    """The line of one result."""
    return line(
        {
            "type": "result",
            "case": result.case,
            "backend": result.backend,
            "verdict": result.verdict,
            "self": result.self_check,
            "reason": result.reason,
            "failure": result.failure,
            "refused": result.refused,
            "inexpressible": result.inexpressible,
            "printed": result.printed,
            "alternative": result.alternative,
            "known": dataclasses.asdict(result.known) if result.known else None,
            "found": result.found,
            "diagnoses": [dataclasses.asdict(diagnosis) for diagnosis in result.diagnoses],
            "op": result.op.name,
            "domain": result.op.domain,
            "since": result.op.since,
            "opset": result.opset,
            "dtype": result.dtype,
            "name": result.name,
            "row": result.row,
            "rule": result.rule,
            "level": result.level,
            "clause": result.clause,
            "rulings": result.rulings,
            "source": dataclasses.asdict(result.source),
            "place": result.place,
            "digest": result.digest,
            "question": result.question,
            "repeat": result.repeat,
            "used": _number(result.used),
            "unjudged": result.unjudged,
            "comparisons": [*map(_comparison, result.comparisons)],
            "seconds": result.seconds,
        }
    )


def footer(results: Iterable[Record], ending: Ending) -> str:
    """The last line: totals by backend and verdict, and how the run ended."""
    return line({"type": "footer", "totals": totals(results), **dataclasses.asdict(ending)})


def totals(results: Iterable[Record]) -> dict[str, dict[str, int]]:
    """How many results of each verdict each backend has."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        counts.setdefault(result.backend, Counter())[result.verdict.value] += 1
    return {backend: dict(count) for backend, count in counts.items()}


def _comparison(comparison: ComparisonRecord) -> dict[str, Any]:
    return {**dataclasses.asdict(comparison), "used": _number(comparison.used)}


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)
