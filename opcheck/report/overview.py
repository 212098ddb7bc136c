"""The end of a run on one screen: known defects, wrong results by operator and backend, a legend.

What matters most comes last, next to the prompt.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.model import Header, Record, Verdict
from opcheck.report import plain_text, totals
from opcheck.report.style import COLOURS, Numbers, least, new_table, put

#: Lines of a screen: of one whose height is unknown, and at least.
_SCREEN = 40
_SMALL_SCREEN = 24
#: How wide a name may stand beside numbers, and above them where space is short.
_NAME = 40
_HEAD = 12
STYLES = {"wrong": "red", "self": "green", **{str(verdict): c for verdict, c in COLOURS.items()}}
_LEGEND = {
    "known": "wrong as a ledger lists it, which does not fail the run",
    "self": "compared with itself, which is no evidence",
    "used": "the largest error of a pass as a part of the allowed one",
}
_MORE = "-v: counts by version, every known defect, why something is unsupported"

#: Counts by backend, by the label of their row.
_Rows = Mapping[str, Mapping[str, Counter[str]]]


def show(console: Console, header: Header, results: Sequence[Record]) -> None:
    """Print the overview of `results`."""
    height = console.height if console.file.isatty() else _SCREEN
    screen = min(max(height, _SMALL_SCREEN), _SCREEN)
    rows = totals.by_operator(header.backends, results, screen // 3)
    if not results:
        return
    occur = {kind for counts in rows.values() for count in counts.values() for kind in count}
    kinds = [kind for kind in (*list(Verdict)[1:], "self") if kind in occur]
    names = {backend.address: plain_text.brief(str(backend)) for backend in header.backends}
    tables = [
        _by_operator(names, rows, kinds, _NAME),
        _by_operator(names, rows, kinds, _HEAD),
        _by_backend(names, rows, kinds),
        _by_backend(names, dict([*rows.items()][-1:]), kinds),
    ]
    fitting = (table for table in tables if least(table, folded=_NAME) <= console.width)
    table = next(fitting, tables[-1])
    notes = _legend(kinds, console.width)
    if {"known", Verdict.UNSUPPORTED} & occur:
        notes += textwrap.wrap(_MORE, console.width)
    # The head of the table takes three lines, the exit code two, and so does the prompt.
    room = screen - table.row_count - len(notes) - 8
    for line in _known(console.width, room, header, names, results):
        console.print(line, soft_wrap=True)
    put(console, table)
    console.print()
    _print(console, notes)


def legend(console: Console, columns: Iterable[str]) -> None:
    """Explain those of the columns that are not plain."""
    if notes := _legend(columns, console.width):
        _print(console, [*notes, ""])


def _print(console: Console, notes: Iterable[str]) -> None:
    for line in notes:
        console.print(Text(line, "dim"), soft_wrap=True)


def _legend(columns: Iterable[str], width: int) -> list[str]:
    named = {*columns}
    messages = [f"{name}: {text}" for name, text in _LEGEND.items() if name in named]
    return textwrap.wrap("; ".join(messages), width)


def _by_operator(names: Mapping[str, str], rows: _Rows, kinds: Iterable[str], head: int) -> Table:
    columns = (Numbers(_folded(name, head)) for name in names.values())
    table = new_table("wrong, of those judged", *columns)
    for label, counts in rows.items():
        style = "bold" if label == totals.ALL else ""
        table.add_row(Text(plain_text.brief(label), style), *_shares([counts[a] for a in names]))
    total = [*rows.values()][-1]
    for kind in kinds:
        table.add_row(f"  {kind}", *(_count(total[address], kind) for address in names))
    return table


def _by_backend(names: Mapping[str, str], rows: _Rows, kinds: Iterable[str]) -> Table:
    *operators, last = rows
    columns = (Numbers(_folded(name, _HEAD)) for name in (*operators, f"wrong, {last}", *kinds))
    table = new_table("backend", *columns)
    shares = _shares([rows[last][address] for address in names])
    for (address, name), share in zip(names.items(), shares, strict=True):
        wrong = (_count(rows[operator][address], "wrong") for operator in operators)
        table.add_row(name, *wrong, share, *(_count(rows[last][address], kind) for kind in kinds))
    return table


def _folded(name: str, width: int) -> str:
    """Break a long name, which stands above numbers, into lines."""
    lines = [""]
    for part in re.findall("[^ _:]*[ _:]?", name):
        if len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _shares(counts: Iterable[Counter[str]]) -> list[Text]:
    """`93 of 706`, or a dot where nothing was judged."""
    return [
        Text.assemble(_count(count, "wrong", "0"), f" of {count['judged']:,}")
        if count["judged"]
        else Text("·", "bright_black")
        for count in counts
    ]


def _count(counts: Counter[str], kind: str, none: str = "·") -> Text:
    if not counts[kind]:
        return Text(none, "green" if kind == "wrong" else "bright_black")
    excused = kind == "wrong" and counts[kind] == counts["known"]
    return Text(f"{counts[kind]:,}", "cyan" if excused else STYLES[kind])


def _known(
    width: int, room: int, header: Header, names: Mapping[str, str], results: Sequence[Record]
) -> Iterator[Text]:
    """The most frequent known defects of each backend, in so many lines."""
    found = plain_text.alike(totals.known(header.backends, results), lambda one: one[0])
    for address, mine in found.items():
        causes = [(count, plain_text.one_line(known.cause)) for _, known, count in mine]
        # A title and a blank line are needed as well, and a line about those left out.
        lines = [*_listed(causes, width, room // len(found) - 3)]
        if lines:
            yield Text(
                f"{names[address]}: {plain_text.plural(len(causes), 'known defect')}", "bold"
            )
            yield from map(Text, [*lines, ""])


def _listed(causes: Sequence[tuple[int, str]], width: int, room: int) -> Iterator[str]:
    digits = len(f"{sum(count for count, _ in causes):,}") + 2
    for number, (count, cause) in enumerate(causes):
        text = f"{count:{digits},}  {cause}"
        lines = textwrap.wrap(text, width, subsequent_indent=" " * (digits + 2))
        room -= len(lines)
        if room < 0:
            left = causes[number:]
            total = sum(count for count, _ in left)
            if number:
                yield f"{total:{digits},}  by {plain_text.plural(len(left), 'other defect')}"
            return
        yield from lines
