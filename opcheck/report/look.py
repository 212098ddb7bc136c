"""What all terminal reports look like: the colour of each verdict, the shape of a table."""

from collections.abc import Mapping

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.model import Verdict
from opcheck.report import words

#: Every report also says the verdict in words.
COLOURS = {
    Verdict.PASS: "green",
    Verdict.KNOWN: "cyan",
    Verdict.WARN: "yellow",
    Verdict.FAIL: "red",
    Verdict.ERROR: "red",
    Verdict.CRASH: "red",
    Verdict.TIMEOUT: "red",
    Verdict.OOM: "red",
    Verdict.UNSTABLE: "red",
    Verdict.UNEXPECTED_PASS: "red",
    Verdict.UNSUPPORTED: "bright_black",
    Verdict.NOT_RUN: "bright_black",
    Verdict.BAD_CASE: "magenta",
}

#: Wider than any table.
_BOUNDLESS = 10_000
#: Between two columns.
_GAP = 2
#: How narrow a column may be folded.
_FOLDED = 12


def new_table(*columns: str, title: str = "") -> Table:
    """A table with a ruled head; `columns` are flush left, and folded where space is short."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), title=title
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def add_numbers(table: Table, name: str) -> None:
    """Add a column that is neither folded nor cut: part of a number is another number."""
    table.add_column(name, justify="right", no_wrap=True)


def unlike(both: Mapping[str, tuple[str, str]]) -> Table:
    """What was not alike in two runs, by name: how it was in the old one, and in the new."""
    table = new_table("", "old", "new", title="Not alike in the two runs")
    for name, values in both.items():
        table.add_row(words.brief(name), *(words.brief(value) or "–" for value in values))
    return table


def put(console: Console, table: Table, *, indent: int = 0) -> None:
    """Print a table, as wide as the console if it must be folded, wider if its numbers need it.

    Rich would cut numbers, fold the title, and fill lines up with blanks.
    """
    if table.title:
        console.print(Text(str(table.title), "bold"), soft_wrap=True)
        table.title = None
    boundless = console.options.update(max_width=_BOUNDLESS)
    natural = console.measure(table, options=boundless).maximum
    table.width = max(_least(table), min(natural, console.width))
    for segments in console.render_lines(table, boundless, pad=False):
        line = Text.assemble(" " * indent, *((part.text, part.style or "") for part in segments))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _least(table: Table) -> int:
    width = -_GAP
    for column in table.columns:
        cells = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
        width += _GAP + (cells if column.no_wrap else min(cells, _FOLDED))
    return width
