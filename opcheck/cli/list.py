"""`opcheck list`."""

from __future__ import annotations

import json
from typing import Any

import click

from opcheck.cli.options import chosen_cases, leave, selection_options
from opcheck.errors import Exit


@click.command(name="list")
@selection_options
@click.option("--format", "form", type=click.Choice(["pretty", "json"]), default="pretty")
def command(form: str, **selection: Any) -> None:
    """Show the cases that files expand to, without running anything.

    \b
    opcheck list --op Hardmax --opset 13 -k 'ties and float32'
    opcheck list my.yaml && echo "my.yaml is well formed"

    Exits with 2 and every problem of every file if there is one, with 5 if no case matches.
    """
    from opcheck.cli.console import output
    from opcheck.report import listing

    cases, said = chosen_cases(**selection)
    if form == "json":
        for case in cases:
            click.echo(json.dumps(listing.record(case)))
    else:
        listing.show(output(), cases)
    if not cases:
        click.echo(f"opcheck: no case matches ({said})", err=True)
        leave(Exit.NOTHING_JUDGED)
