"""One failure, explained: the sentence tested, what came instead, where, and how to repeat it."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from opcheck.model import Comparison, Result, Verdict
from opcheck.report import words
from opcheck.report.colours import COLOURS


def show(console: Console, result: Result) -> None:
    """Print one result that is no pass."""
    case = result.case
    style = COLOURS[result.verdict]
    title = Text.assemble(
        (f"{result.verdict.upper()} ", f"bold {style}"), (result.backend, "bold"), "  ", case.id
    )
    # Never folded: ids and commands are there to be copied.
    console.print(title, soft_wrap=True)
    _line(console, "asked", words.question(case))
    _line(console, "clause", f"“{case.clause}”" if case.clause else "none quoted")
    if result.reason:
        _line(console, "found", result.reason)
    if result.verdict is Verdict.KNOWN and result.known:
        _line(console, "cause", result.known.cause)
    for comparison in result.comparisons:
        if comparison.problem:
            console.print(Padding(evidence(comparison), (0, 0, 0, 2)))
    _line(console, "written", str(case.source))
    _line(console, "repeat", words.repeat(result))
    console.print()


def _line(console: Console, label: str, text: str) -> None:
    console.print(Text.assemble((f"  {label:<8}", "dim"), words.clean(text)), soft_wrap=True)


def evidence(comparison: Comparison) -> RenderableType:
    """How many elements are wrong, where they lie, and the worst of them."""
    if comparison.problem != "values":
        return Text(f"{comparison.output}: wrong {comparison.problem}: {comparison.detail}")
    share = f"{comparison.wrong:,} of {words.plural(comparison.total, 'element')} wrong"
    largest = f", up to {comparison.max_ulp:,} ULP" if comparison.max_ulp else ""
    where = f": {comparison.where}" if comparison.where else ""
    parts: list[RenderableType] = [Text(f"{comparison.output}: {share}{largest}{where}")]
    parts.append(_worst(comparison))
    left = comparison.wrong - len(comparison.worst)
    if left > 0:
        parts.append(Text(f"… and {left:,} more", "dim"))
    return Group(*parts)


def _worst(comparison: Comparison) -> Table:
    beside_input = any(mismatch.input is not None for mismatch in comparison.worst)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("index", no_wrap=True)
    for column in (*(["input"] if beside_input else []), "want", "got", "ULP", "allowed"):
        table.add_column(column, justify="right", no_wrap=True)
    dtype = comparison.dtype
    for mismatch in comparison.worst:
        table.add_row(
            words.index(mismatch.index),
            *([words.number(mismatch.input, dtype)] if beside_input else []),
            Text(words.number(mismatch.want, dtype), "green"),
            Text(words.number(mismatch.got, dtype), "red"),
            "" if mismatch.ulp is None else f"{mismatch.ulp:,}",
            mismatch.allowed,
        )
    return table
