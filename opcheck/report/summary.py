"""The end of a run in a terminal: counts of every verdict, known defects, open answers, remarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.diagnose import causes
from opcheck.model import Header, OpVersion, Record, Verdict
from opcheck.report import words
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
        _counts(names, results),
        _open_answers(names, results),
        *_causes(names, results),
        _known(names, results),
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
        console.print(Text(remark, "yellow"))


def _counts(names: Mapping[str, str], results: Sequence[Record]) -> Table:
    """Operator version × backend, with a column for each verdict that occurs.

    Where error bounds judged, the last column is the largest part of them that a pass used.
    """
    counts: dict[tuple[OpVersion, str], Counter[str]] = {}
    used: dict[tuple[OpVersion, str], float] = {}
    for result in results:
        key = result.op, result.backend
        passed = result.verdict is Verdict.PASS
        column = "self" if result.self_check and passed else result.verdict
        counts.setdefault(key, Counter())[column] += 1
        for comparison in result.comparisons:
            if passed and comparison.tier:
                used[key] = max(used.get(key, 0.0), comparison.used)
    found = set[str]().union(*counts.values()) | {Verdict.PASS}
    columns = [v for v in ("pass", "self", *list(Verdict)[1:]) if v in found]
    table = new_table("operator", "backend")
    for column in columns:
        add_numbers(table, column)
    if used:
        add_numbers(table, "used")
    order = {address: number for number, address in enumerate(names)}
    previous = None
    for op, address in sorted(counts, key=lambda key: (key[0], order[key[1]])):
        if previous not in (None, op):
            table.add_section()
        row = [_cell(counts[op, address][column], column) for column in columns]
        if used:
            share = used.get((op, address))
            row.append(_cell(0, "") if share is None else Text(f"{share:.2f}"))
        table.add_row("" if op == previous else str(op), names[address], *row)
        previous = op
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
        table.add_column(address, overflow="fold")
    for name, by_backend in chosen.items():
        table.add_row(name, *(_answers(by_backend.get(address)) for address in names))
    return table


def _answers(counts: Counter[str] | None) -> str:
    return ", ".join(f"{answer} ×{count}" for answer, count in (counts or {}).items()) or "–"


def _causes(names: Mapping[str, str], results: Iterable[Record]) -> Iterable[Table]:
    """For each backend what its failures look like; each counts for one cause."""
    puzzling = [r for r in results if r.diagnoses or r.verdict in (Verdict.FAIL, Verdict.ERROR)]
    for address, name in names.items():
        mine = [result for result in puzzling if result.backend == address]
        if not mine:
            continue
        found = causes(mine)
        named = sum(cause.mistake is not None for cause in found)
        left = sum(cause.failures for cause in found if cause.mistake is None)
        told = [words.plural(len(mine), "failure")]
        if named:
            told.append("one cause" if named == 1 else words.plural(named, "cause"))
        if left:
            told.append(f"{left:,} unexplained" if named else "unexplained")
        table = new_table(title=f"What is wrong with {name}: {', '.join(told)}")
        add_numbers(table, "cases")
        table.add_column("looks", overflow="fold")
        table.add_column("in", overflow="fold")
        for cause in found:
            text = f"{cause.text} ({cause.mistake})" if cause.mistake else cause.text
            places = [*cause.ops, *(cause.dtypes if len(cause.dtypes) == 1 else ())]
            table.add_row(f"{cause.failures:,}", text, ", ".join(places))
        yield table


def _known(names: Mapping[str, str], results: Iterable[Record]) -> Table:
    """The known defects, by cause."""
    causes = Counter(
        (result.backend, result.known.cause, result.known.link)
        for result in results
        if result.verdict is Verdict.KNOWN and result.known
    )
    table = _listing("Known defects of these releases (--no-known judges them)", "cause")
    for address in names:
        for (backend, cause, link), count in causes.most_common():
            if backend == address:
                said = f"{cause} ({link})" if link else cause
                table.add_row(names[address], f"{count:,}", said)
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
    listed = [(r.verdict, (r.known.ledger, r.known.cause)) for r in results if r.known]
    applied = {cause for verdict, cause in listed if verdict is Verdict.KNOWN}
    passing = Counter(c for verdict, c in listed if verdict is Verdict.PASS and c not in applied)
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
