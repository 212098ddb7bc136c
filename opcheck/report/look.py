"""What all terminal reports look like: the colour of each verdict, the shape of a table."""

from rich import box
from rich.table import Table

from opcheck.model import Verdict

#: Every report also says the verdict in words.
COLOURS = {
    Verdict.PASS: "green",
    Verdict.KNOWN: "cyan",
    Verdict.WARN: "yellow",
    Verdict.FAIL: "red",
    Verdict.ERROR: "red",
    Verdict.UNSTABLE: "red",
    Verdict.UNSUPPORTED: "bright_black",
    Verdict.NOT_RUN: "bright_black",
    Verdict.BAD_CASE: "magenta",
}


def new_table(*columns: str, title: str | None = None) -> Table:
    """A table with a ruled head; `columns` are flush left and never folded."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        title=title,
        title_justify="left",
        title_style="bold",
    )
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table
