"""Cases as a list: what each asks and what it expects, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from opcheck.model import (
    Agreement,
    AnyOf,
    Case,
    Computed,
    Expectation,
    Golden,
    Oracle,
    Rejected,
    Values,
)
from opcheck.report import spelling, words


def show(console: Console, cases: Sequence[Case]) -> None:
    """Print a line a case, under the file it is written in, and the totals."""
    file = None
    for case in cases:
        if case.source.file != file:
            file = case.source.file
            console.print(Text(words.clean(file), "bold"), soft_wrap=True)
        said = f"  {case.op}, {case.rule}, {case.level}, {expectation(case.expect)}"
        line = Text.assemble(f"  {case.id}", (said, "dim"))
        console.print(line, soft_wrap=True)
    names = {(case.op.domain, case.op.name, case.name) for case in cases}
    literal = sum(isinstance(case.expect, Values) for case in cases)
    total = f"{words.plural(len(cases), 'case')} of {words.plural(len(names), 'name')}"
    console.print(f"{total}, {literal:,} with literal expectations")


def record(case: Case) -> dict[str, Any]:
    """A case as JSON."""
    return {
        "case": case.id,
        "op": case.op.name,
        "domain": case.op.domain,
        "since": case.op.since,
        "opset": case.opset,
        "dtype": case.dtype.name if case.dtype else None,
        "rule": case.rule,
        "level": case.level,
        "expect": expectation(case.expect),
        "question": spelling.question(case),
        "clause": case.clause,
        "source": str(case.source),
    }


def expectation(expect: Expectation) -> str:
    """What must come out, in a word or two."""
    match expect:
        case Values():
            return "literal"
        case Computed():
            return "computed"
        case Golden(folder):
            return f"golden {folder.name}"
        case Oracle(backend):
            return f"oracle {backend}"
        case Agreement():
            return "agreement"
        case Rejected():
            return "rejected"
        case AnyOf(alternatives):
            return f"any of {', '.join(alternative.name for alternative in alternatives)}"
