"""The stream of a run as JSON lines: a header, a record a result as it happens, a footer.

A stream without a footer, or with one whose `complete` is false, is that of a run cut short.
NaN, infinities and exact values are strings: the shortest spelling, and the bits beside it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from opcheck.model import Comparison, Header, Mismatch, Result
from opcheck.report import words

# History of the format:
# 1  header, result and footer; a result names its case in full.
FORMAT = 1


def header(run: Header) -> str:
    """The first line."""
    environment = dataclasses.asdict(run.environment)
    return _line(
        {
            "type": "header",
            "format": FORMAT,
            "environment": environment,
            "backends": [dataclasses.asdict(backend) for backend in run.backends],
            "selection": run.selection,
            "cases": run.cases,
            "known": run.known,
            "strict": run.strict,
            "require_supported": run.require_supported,
        }
    )


def record(result: Result) -> str:
    """The line of one result."""
    case = result.case
    return _line(
        {
            "type": "result",
            "case": case.id,
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
            "op": case.op.name,
            "domain": case.op.domain,
            "since": case.op.since,
            "opset": case.opset,
            "dtype": case.dtype.name if case.dtype else None,
            "name": case.name,
            "row": case.row,
            "rule": case.rule,
            "level": case.level,
            "clause": case.clause,
            "source": dataclasses.asdict(case.source),
            "question": words.question(case),
            "repeat": words.repeat(result),
            "used": _number(max(c.used for c in result.comparisons))
            if result.comparisons
            else None,
            "unjudged": sum(comparison.unjudged for comparison in result.comparisons),
            "comparisons": [_comparison(c) for c in result.comparisons],
            "seconds": result.seconds,
        }
    )


def footer(results: Iterable[Result], complete: bool, exit_code: int, meaning: str) -> str:
    """The last line: totals by backend and verdict, and what the exit code means."""
    totals: dict[str, Counter[str]] = {}
    for result in results:
        totals.setdefault(result.backend, Counter())[result.verdict] += 1
    return _line(
        {
            "type": "footer",
            "complete": complete,
            "totals": totals,
            "exit_code": exit_code,
            "meaning": meaning,
        }
    )


def _comparison(comparison: Comparison) -> dict[str, Any]:
    fields = {f.name: getattr(comparison, f.name) for f in dataclasses.fields(comparison)}
    fields["dtype"] = comparison.dtype.name if comparison.dtype else None
    fields["used"] = _number(comparison.used)
    fields["worst"] = [_mismatch(mismatch, comparison) for mismatch in comparison.worst]
    return fields


def _mismatch(mismatch: Mismatch, comparison: Comparison) -> dict[str, Any]:
    dtype = comparison.dtype
    fields = dataclasses.asdict(mismatch)
    for name in ("want", "got"):
        value = getattr(mismatch, name)
        fields[f"{name}_bits"] = words.bits(value, dtype) if dtype else None
        fields[name] = words.number(value, dtype)
    # An input may be of another dtype, so it has no bits here.
    fields["input"] = words.number(mismatch.input, dtype)
    return fields


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=True, allow_nan=False)
