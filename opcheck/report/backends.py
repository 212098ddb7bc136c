"""Available backends, and their requirements."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from opcheck.backends.offers import Offer
from opcheck.errors import OpcheckError
from opcheck.report import plain_text
from opcheck.report.style import Numbers, new_table, put_all


def show(console: Console, found: Sequence[Offer], problems: Sequence[OpcheckError] = ()) -> None:
    """Print a table of backends for each state, and `problems` that concern none of them."""
    ready = new_table("backend", "version", Numbers("threads"), "devices", "what it is")
    absent = new_table("not installed", "what it is", "install it with")
    templates = new_table("needs a detail", "what it is")
    for one in found:
        name, info, about = plain_text.clean(one.name), one.info, one.about
        if info:
            threads = "?" if info.threads is None else f"{info.threads}"
            cells = info.version, threads, "\n".join(info.devices), about.summary
            ready.add_row(name, *map(plain_text.clean, cells))
        elif one.state == "not installed":
            absent.add_row(name, about.summary, about.install)
        elif one.state == "template":
            templates.add_row(name, about.summary)
    put_all(console, ready, absent, templates)
    unusable = [one for one in found if one.state == "unusable"]
    if unusable or problems:
        console.print(Text("Cannot be used", "bold red"))
    for one in unusable:
        name, summary = map(plain_text.clean, (one.name, one.about.summary))
        console.print(Text.assemble((name, "bold"), f": {summary}"), soft_wrap=True)
        _explain(console, one.error, "  ")
    for problem in problems:
        _explain(console, problem, "")


def record(one: Offer) -> dict[str, Any]:
    """A backend as JSON."""
    info = one.info
    return {
        "type": "backend",
        "name": one.name,
        "address": info.address if info else str(one.profile.address),
        "origin": one.origin,
        "state": one.state,
        "summary": one.about.summary,
        "distribution": one.about.distribution,
        "distribution_version": one.version or None,
        "install": one.about.install or None,
        "backend": dataclasses.asdict(info) if info else None,
        "error": "\n".join(one.error.lines()) if one.error else None,
    }


def _explain(console: Console, error: OpcheckError | None, indent: str) -> None:
    for line in error.lines() if error else ():
        for part in plain_text.block(line).split("\n"):
            console.print(Text(f"{indent}{part}"), soft_wrap=True)
