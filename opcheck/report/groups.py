"""What the cases of each name show that no others do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from opcheck.model.mutation import Group
from opcheck.report import words
from opcheck.report.look import add_numbers, new_table, put


def show(console: Console, groups: Sequence[Group], *, verbose: bool) -> None:
    """Print what each group shows; unless `verbose`, only those that show nothing."""
    table = new_table("operator", "cases of this name")
    add_numbers(table, "cases")
    table.add_column("what they show that no others do", overflow="fold")
    for group in groups:
        if verbose or group.shows_nothing:
            style = "red" if group.shows_nothing else ""
            table.add_row(group.op, Text(group.name, style), f"{group.cases:,}", _shows(group))
    if table.row_count:
        put(console, table)
        console.print()


def records(groups: Iterable[Group]) -> Iterator[dict[str, Any]]:
    """The same as JSON."""
    for group in groups:
        yield {
            "type": "group",
            "op": group.op,
            "name": group.name,
            "cases": group.cases,
            "source": group.source,
            "alone": [f"{mutant.name} {mutant.op} {mutant.dtype}" for mutant in group.alone],
            "sentences": [*group.sentences],
            "defects": [{"backend": backend, "cause": cause} for backend, cause in group.defects],
            "example": group.example,
            "undecided": group.undecided,
            "shows_nothing": group.shows_nothing,
        }


def _shows(group: Group) -> Text:
    told = []
    if group.alone:
        names = list(dict.fromkeys(mutant.name for mutant in group.alone))
        more = f" and {words.plural(len(names) - 1, 'more mistake')}" if len(names) > 1 else ""
        told.append(f"{names[0]}{more}")
    if group.sentences:
        told.append(words.plural(len(group.sentences), "sentence"))
    if group.defects:
        backends = ", ".join(dict.fromkeys(backend for backend, _ in group.defects))
        told.append(f"{words.plural(len(group.defects), 'known defect')} of {backends}")
    told += ["an example"] * group.example + ["what the text leaves open"] * group.undecided
    return Text("; ".join(told)) if told else Text(f"nothing ({group.source})", "red")
