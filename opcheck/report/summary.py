"""The end of a run in a terminal: counts of every verdict, known defects, open answers, remarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.model import Header, Record, Verdict
from opcheck.report import listed, tally, words
from opcheck.report.look import COLOURS, add_numbers, new_table, put

#: How many kinds of reasons a list shows for a backend before it says how many more there are.
_REASONS = 3
#: What differs between reasons of one kind: numbers, and lists of them.
_PARTICULARS = re.compile(r"\[[-\d, ]*\]|-?\d+")


def show(console: Console, header: Header, results: Sequence[Record], *, complete: bool) -> None:
    """Print the summary of `results`, a section after the other."""
    # A version is the backend's own word.
    names = {backend.address: words.brief(str(backend)) for backend in header.backends}
    if not complete:
        said = f"INCOMPLETE: {len(results):,} of {words.plural(header.results, 'result')}"
        console.print(Text(said, "bold red"))
        console.print()
    sections = [
        _counts(header, names, results),
        _open_answers(names, results),
        *_causes(header, names, results),
        _known(header, names, results),
        _listed(header, names, results),
        _passing(names, results),
        _reasons(names, results, Verdict.NOT_RUN, "Not run", _reason),
        _reasons(names, results, Verdict.UNSUPPORTED, "Not supported", _reason),
        _reasons(
            names,
            results,
            Verdict.WARN,
            "Warnings (in full with -v, red with --strict)",
            _name_and_reason,
        ),
    ]
    for section in sections:
        if section.row_count:
            put(console, section)
            console.print()
    for remark in (*_unjudged(names, results), *_outdated(results)):
        console.print(Text(words.one_line(remark), "yellow"))


def _counts(header: Header, names: Mapping[str, str], results: Sequence[Record]) -> Table:
    """Operator version × backend, with a column for each verdict that occurs.

    Where error bounds judged, the last column is the largest part of them that a pass used.
    """
    rows = tally.counts(header.backends, results)
    columns = tally.columns(rows)
    has_bounds = any(row.used is not None for row in rows)
    table = new_table("operator", "backend")
    for column in (*columns, *["used"] * has_bounds):
        add_numbers(table, column)
    previous = None
    for row in rows:
        if previous not in (None, row.op):
            table.add_section()
        cells = [_cell(row.count[column], column) for column in columns]
        if has_bounds:
            cells.append(_cell(0, "") if row.used is None else Text(f"{row.used:.2f}"))
        said = "" if row.op == previous else words.brief(str(row.op))
        table.add_row(said, names[row.backend], *cells)
        previous = row.op
    return table


def _cell(count: int, column: str) -> Text:
    if not count:
        return Text("·", "bright_black")
    colour = "green" if column == "self" else COLOURS[Verdict(column)]
    return Text(f"{count:,}", colour)


def _open_answers(names: Mapping[str, str], results: Iterable[Record]) -> Table:
    """Which answer each backend gives where several are right."""
    chosen: dict[str, dict[str, Counter[str]]] = {}
    for result in results:
        if result.alternative and result.verdict is Verdict.PASS:
            by_backend = chosen.setdefault(f"{result.op.name}/{result.name}", {})
            by_backend.setdefault(result.backend, Counter())[result.alternative] += 1
    table = new_table(title="Where the text leaves it open, the answer each backend gives")
    table.add_column("case", overflow="fold")
    for address in names:
        table.add_column(words.brief(address), overflow="fold")
    for name, by_backend in chosen.items():
        table.add_row(words.brief(name), *(_answers(by_backend.get(address)) for address in names))
    return table


def _answers(counts: Counter[str] | None) -> str:
    said = [f"{words.brief(answer)} ×{count}" for answer, count in (counts or {}).items()]
    return ", ".join(said) or "–"


def _causes(header: Header, names: Mapping[str, str], results: Iterable[Record]) -> Iterable[Table]:
    """For each backend what its failures look like; each counts for one cause."""
    for wrong in tally.wrong(header.backends, results):
        table = new_table(title=f"What is wrong with {names[wrong.backend]}: {wrong.told}")
        add_numbers(table, "cases")
        table.add_column("looks", overflow="fold")
        table.add_column("in", overflow="fold")
        for cause in wrong.causes:
            told = f"{cause.failures:,}", cause.looks, ", ".join(cause.places)
            table.add_row(*map(words.one_line, told))
        yield table


def _known(header: Header, names: Mapping[str, str], results: Iterable[Record]) -> Table:
    """The known defects, by cause."""
    table = _listing("Known defects of these releases (--no-known judges them)", "cause")
    return _with_causes(table, header, names, [one for one in results if not _is_listed(one)])


def _listed(header: Header, names: Mapping[str, str], results: Iterable[Record]) -> Table:
    """The failures that the user's ledgers list, by cause."""
    table = _listing(
        f"Known failures, as {words.brief(', '.join(header.ledgers))} has them", "cause"
    )
    return _with_causes(table, header, names, filter(_is_listed, results))


def _is_listed(result: Record) -> bool:
    return result.known is not None and result.known.line is not None


def _with_causes(
    table: Table, header: Header, names: Mapping[str, str], results: Iterable[Record]
) -> Table:
    for address, known, count in tally.known(header.backends, results):
        said = f"{known.cause} ({known.link})" if known.link else known.cause
        table.add_row(names[address], f"{count:,}", words.one_line(said))
    return table


def _passing(names: Mapping[str, str], results: Sequence[Record]) -> Table:
    """The lines of the user's ledgers that list what passes."""
    table = new_table("backend", "listed in", title="Listed as failing, but passing")
    add_numbers(table, "cases")
    table.add_column("what to do", overflow="fold")
    for address in names:
        mine = [result for result in results if result.backend == address]
        for known, passing, total in listed.outdated(mine):
            told = words.one_line(listed.advice(known, passing, total))
            table.add_row(names[address], listed.place(known), f"{passing:,}", told)
    return table


def _unjudged(names: Mapping[str, str], results: Iterable[Record]) -> Iterable[str]:
    """About how many elements of passes the error bounds say little, and in which cases."""
    passed = [result for result in results if result.verdict is Verdict.PASS]
    for address, name in names.items():
        mine = [result for result in passed if result.backend == address and result.unjudged]
        if mine:
            some = sum(result.unjudged for result in mine)
            cases = sorted({f"{result.op.name}/{result.name}" for result in mine})
            more = f" and {len(cases) - _REASONS} more" if len(cases) > _REASONS else ""
            where = f"{', '.join(cases[:_REASONS])}{more}"
            yield f"{name}: {words.plural(some, 'element')} unjudged, in {where}"


def _outdated(results: Iterable[Record]) -> Iterable[str]:
    """Causes that explain no failure any more: a remark, because the ledgers are ours to mend."""
    said = [(r.verdict, (r.known.ledger, r.known.cause)) for r in results if r.known]
    applied = {cause for verdict, cause in said if verdict is Verdict.KNOWN}
    passing = Counter(c for verdict, c in said if verdict is Verdict.PASS and c not in applied)
    for (ledger, cause), count in passing.items():
        verb = "passes" if count == 1 else "pass"
        yield f"listed in {ledger}, but {words.plural(count, 'such case')} {verb}: {cause}"


def _reasons(
    names: Mapping[str, str],
    results: Iterable[Record],
    verdict: Verdict,
    title: str,
    spell: Callable[[Record], str],
) -> Table:
    """The results of one verdict, by backend and kind of reason."""
    table = _listing(title, "reason")
    chosen = [result for result in results if result.verdict is verdict]
    for address in names:
        reasons = Counter(spell(result) for result in chosen if result.backend == address)
        kinds: dict[str, Counter[str]] = {}
        for reason, count in reasons.items():
            kinds.setdefault(_PARTICULARS.sub("#", reason), Counter())[reason] += count
        by_size = sorted(kinds.values(), key=lambda kind: -kind.total())
        for kind in by_size[:_REASONS]:
            alike = f" (and {len(kind) - 1} more like it)" if len(kind) > 1 else ""
            said = f"{words.brief(next(iter(kind)))}{alike}"
            table.add_row(names[address], f"{kind.total():,}", said)
        left = by_size[_REASONS:]
        if left:
            total = sum(kind.total() for kind in left)
            table.add_row(names[address], f"{total:,}", words.plural(len(left), "other reason"))
    return table


def _reason(result: Record) -> str:
    return result.reason


def _name_and_reason(result: Record) -> str:
    return f"{result.op.name}/{result.name}: {result.reason}"


def _listing(title: str, last: str) -> Table:
    table = new_table("backend", title=title)
    add_numbers(table, "cases")
    table.add_column(last, overflow="fold")
    return table
