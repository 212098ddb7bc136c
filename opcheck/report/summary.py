"""The end of a run in a terminal: counts of every verdict, known defects, open answers, remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.model import Header, OpVersion, Result, Verdict
from opcheck.report import words
from opcheck.report.colours import COLOURS

#: How many different reasons a list shows before it says how many more there are.
_REASONS = 5


def show(console: Console, header: Header, results: Sequence[Result], *, complete: bool) -> None:
    """Print the summary of `results`."""
    names = {backend.address: str(backend) for backend in header.backends}
    console.print(_counts(names, results, complete))
    _open_answers(console, names, results)
    _known(console, names, results)
    _outdated(console, results)
    _reasons(console, names, results, Verdict.UNSUPPORTED, "Not supported", _only_reason)
    _reasons(console, names, results, Verdict.WARN, "Warnings (red under --strict)", _with_name)


def _counts(names: dict[str, str], results: Sequence[Result], complete: bool) -> Table:
    """Operator version × backend, with a column for each verdict that occurs."""
    counts: dict[tuple[OpVersion, str], Counter[str]] = {}
    for result in results:
        key = result.case.op, result.backend
        column = "self" if result.self_check and result.verdict is Verdict.PASS else result.verdict
        counts.setdefault(key, Counter())[column] += 1
    found = set[str]().union(*counts.values()) | {Verdict.PASS}
    columns = [v for v in ("pass", "self", *list(Verdict)[1:]) if v in found]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    if not complete:
        table.title = "INCOMPLETE: the run was cut short"
        table.title_style = "bold red"
    table.add_column("operator", no_wrap=True)
    table.add_column("backend", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    order = {address: number for number, address in enumerate(names)}
    previous = None
    for op, address in sorted(counts, key=lambda key: (key[0], order[key[1]])):
        if previous not in (None, op):
            table.add_section()
        row = [_cell(counts[op, address][column], column) for column in columns]
        table.add_row("" if op == previous else str(op), names[address], *row)
        previous = op
    return table


def _cell(count: int, column: str) -> Text:
    if not count:
        return Text("·", "bright_black")
    colour = "green" if column == "self" else COLOURS[Verdict(column)]
    return Text(f"{count:,}", colour)


def _open_answers(console: Console, names: dict[str, str], results: Iterable[Result]) -> None:
    """Where the text leaves the answer open: which one each backend gives."""
    chosen: dict[str, dict[str, Counter[str]]] = {}
    for result in results:
        if result.alternative and result.verdict is Verdict.PASS:
            by_backend = chosen.setdefault(f"{result.case.op.name}/{result.case.name}", {})
            by_backend.setdefault(result.backend, Counter())[result.alternative] += 1
    if not chosen:
        return
    table = _section(console, "Where the text leaves it open, the answer each backend gives")
    table.add_column("case", overflow="fold")
    for address in names:
        table.add_column(address, overflow="fold")
    for name, by_backend in chosen.items():
        table.add_row(name, *(_answers(by_backend.get(address)) for address in names))
    console.print(table)


def _answers(counts: Counter[str] | None) -> str:
    return ", ".join(f"{answer} ×{count}" for answer, count in (counts or {}).items()) or "–"


def _known(console: Console, names: dict[str, str], results: Iterable[Result]) -> None:
    """The known defects, by cause."""
    causes = Counter(
        (result.backend, result.known.cause, result.known.link)
        for result in results
        if result.verdict is Verdict.KNOWN and result.known
    )
    if not causes:
        return
    table = _section(console, "Known defects of these releases (--no-known judges them)")
    for column in ("backend", "cases", "cause"):
        table.add_column(column, justify="right" if column == "cases" else "left")
    for (address, cause, link), count in causes.items():
        table.add_row(names[address], f"{count:,}", f"{cause} ({link})" if link else cause)
    console.print(table)


def _outdated(console: Console, results: Iterable[Result]) -> None:
    """Listed as known, and yet they pass: a remark, because the lines are ours to mend."""
    passing = Counter(
        (r.known.ledger, r.known.cause) for r in results if r.known and r.verdict is Verdict.PASS
    )
    for (ledger, cause), count in passing.items():
        message = f"Listed in {ledger}, but {words.plural(count, 'case')} now pass: {cause}"
        console.print(Text(message, "yellow"))


def _reasons(
    console: Console,
    names: dict[str, str],
    results: Iterable[Result],
    verdict: Verdict,
    title: str,
    spell: Callable[[Result], str],
) -> None:
    """The results of one verdict, by backend and reason."""
    counts = Counter((r.backend, spell(r)) for r in results if r.verdict is verdict)
    if not counts:
        return
    table = _section(console, title)
    for column in ("backend", "cases", "reason"):
        table.add_column(column, justify="right" if column == "cases" else "left")
    for address in names:
        mine = [(reason, count) for (of, reason), count in counts.most_common() if of == address]
        for reason, count in mine[:_REASONS]:
            table.add_row(names[address], f"{count:,}", words.clean(reason))
        if len(mine) > _REASONS:
            table.add_row(names[address], "", f"… {len(mine) - _REASONS} other reasons (-v)")
    console.print(table)


def _only_reason(result: Result) -> str:
    return result.reason


def _with_name(result: Result) -> str:
    return f"{result.case.op.name}/{result.case.name}: {result.reason}"


def _section(console: Console, title: str) -> Table:
    console.print(Text(title, "bold"))
    return Table(box=box.SIMPLE_HEAD, pad_edge=False)
