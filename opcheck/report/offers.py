"""The backends that can be asked for: which are ready, and what the others need."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.backends.offers import Tried
from opcheck.errors import OpcheckError
from opcheck.report import words
from opcheck.report.look import add_numbers, new_table, put


def show(console: Console, found: Sequence[Tried], problems: Sequence[OpcheckError] = ()) -> None:
    """Print what is there, a table for each state; `problems` are about none of them."""
    for section in (
        _ready([one for one in found if one.info]),
        _absent([one for one in found if one.state == "not installed"]),
        _templates([one for one in found if one.state == "template"]),
    ):
        if section.row_count:
            put(console, section)
            console.print()
    unusable = [one for one in found if one.state == "unusable"]
    if unusable or problems:
        console.print(Text("Cannot be used", "bold red"))
        for one in unusable:
            said = Text.assemble((_shown(one), "bold"), f": {words.clean(one.offer.about.summary)}")
            console.print(said, soft_wrap=True)
            if one.error:
                _explain(console, one.error, "  ")
        for problem in problems:
            _explain(console, problem, "")


def record(one: Tried) -> dict[str, Any]:
    """A backend as JSON."""
    offer, info = one.offer, one.info
    return {
        "type": "backend",
        "name": offer.name,
        "address": info.address if info else str(offer.profile.address),
        "origin": offer.origin,
        "state": one.state,
        "summary": offer.about.summary,
        "distribution": offer.about.distribution,
        "distribution_version": offer.version or None,
        "install": offer.about.install or None,
        "backend": dataclasses.asdict(info) if info else None,
        "error": "\n".join(one.error.lines()) if one.error else None,
    }


def _ready(found: Sequence[Tried]) -> Table:
    table = new_table("backend", "version")
    add_numbers(table, "threads")
    table.add_column("devices", overflow="fold")
    table.add_column("what it is", overflow="fold")
    for one in found:
        assert one.info
        info = one.info
        table.add_row(
            _shown(one),
            words.clean(info.version),
            "?" if info.threads is None else f"{info.threads}",
            words.clean("\n".join(info.devices)),
            words.clean(one.offer.about.summary),
        )
    return table


def _absent(found: Sequence[Tried]) -> Table:
    table = new_table("not installed", "what it is", "install it with")
    for one in found:
        table.add_row(_shown(one), one.offer.about.summary, one.offer.about.install)
    return table


def _templates(found: Sequence[Tried]) -> Table:
    table = new_table("needs a detail", "what it is")
    for one in found:
        table.add_row(_shown(one), one.offer.about.summary)
    return table


def _shown(one: Tried) -> str:
    return words.clean(one.offer.name)


def _explain(console: Console, error: OpcheckError, indent: str) -> None:
    for line in error.lines():
        for part in words.block(line).split("\n"):
            console.print(Text(f"{indent}{part}"), soft_wrap=True)
