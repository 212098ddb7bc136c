"""Style of all terminal reports: the color of each verdict, the shape of a table."""

from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from opcheck.errors import Exit
from opcheck.grouping import group_by
from opcheck.model import Verdict
from opcheck.report import plain_text

#: Every report also says the verdict in words.
COLOURS = {
    **dict.fromkeys(Verdict, "red"),
    Verdict.PASS: "green",
    Verdict.KNOWN: "cyan",
    Verdict.WARN: "yellow",
    **dict.fromkeys((Verdict.UNSUPPORTED, Verdict.NOT_RUN), "bright_black"),
    Verdict.BAD_CASE: "magenta",
}
#: Of the 256 colours, those that are readable on white and on black, with a contrast of at least
#: 3.8; a terminal's own are not, nor is its dim text, which is grey here.
_CODES = {"green": 28, "cyan": 30, "yellow": 130, "red": 160, "magenta": 133, "bright_black": 243}
_STYLES = {
    f"{weight}{name}": f"{weight}color({code})"
    for name, code in _CODES.items()
    for weight in ("", "bold ")
}
THEME = Theme(_STYLES | {"dim": _STYLES["bright_black"]})
#: Title of the table of settings that differ.
UNLIKE_SETTINGS = "Settings that differ between the two runs"
#: Blanks between two columns.
_GAP = 2


class Numbers(str):
    """The name of a column of numbers, which is neither folded nor cut."""


def new_table(*columns: str, title: str = "") -> Table:
    """Return a table with a ruled head; columns of `Numbers` are flush right, others folded."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), title=title
    )
    for column in columns:
        if isinstance(column, Numbers):
            table.add_column(column, justify="right", no_wrap=True)
        else:
            table.add_column(column, overflow="fold")
    return table


def grouped(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], title: str = "") -> Table:
    """Return a table of rows; rows of one name are together, and only the first shows it."""

    def name_of(row: Sequence[str | Text]) -> str:
        return str(row[0])

    table = new_table(*columns, title=title)
    for name, of_name in group_by(rows, name_of).items():
        for number, (_, *cells) in enumerate(of_name):
            table.add_row("" if number else name, *cells)
    return table


def unlike(both: Mapping[str, tuple[str, str]]) -> Table:
    """Return the table of settings that differ between two runs: name, old and new value."""
    table = new_table("", "old", "new", title=UNLIKE_SETTINGS)
    for name, values in both.items():
        table.add_row(plain_text.brief(name), *(plain_text.brief(value) or "–" for value in values))
    return table


def put(console: Console, table: Table, *, indent: int = 0) -> None:
    """Print a table, folded to the width of the console, but wider if its numbers need it."""
    # Rich would cut numbers, fold the title, and fill lines with blanks.
    if table.title:
        console.print(Text(str(table.title), "bold"), soft_wrap=True)
        table.title = None
    if console.options.ascii_only:
        # Like others, except for the rule.
        table.box = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
    boundless = console.options.update(max_width=10_000)
    natural = console.measure(table, options=boundless).maximum
    table.width = max(least(table), min(natural, console.width))
    for segments in console.render_lines(table, boundless, pad=False):
        line = Text.assemble(" " * indent, *((part.text, part.style or "") for part in segments))
        line.rstrip()
        console.print(line, soft_wrap=True)


def put_all(console: Console, *tables: Table) -> None:
    """Print the tables that have rows, each with a blank line after it."""
    for table in (table for table in tables if table.row_count):
        put(console, table)
        console.print()


def say(console: Console, text: str, style: str = "") -> None:
    """Print a paragraph; Rich would leave blanks at the ends of its lines."""
    for line in plain_text.folded(plain_text.clean(text), console.width):
        console.print(Text(line, style), soft_wrap=True)


def put_exit(console: Console, code: Exit, meaning: str) -> None:
    """Print the exit code and what it means, the last line of a report."""
    style = f"bold {'green' if code is Exit.CONFORMS else 'red'}"
    console.print(Text.assemble((f"exit {int(code)}", style), f": {meaning}"), soft_wrap=True)


def least(table: Table, folded: int = 12) -> int:
    """Return the least width of a table, with foldable columns no wider than `folded`."""
    width = -_GAP
    for column in table.columns:
        texts = (str(text) for text in (column.header, *column.cells))
        cells = max(cell_len(line) for text in texts for line in (text.splitlines() or [""]))
        width += _GAP + (cells if column.no_wrap else min(cells, folded))
    return width
