"""`opcheck backends`."""

from __future__ import annotations

from pathlib import Path

import click

from opcheck.cli import interrupt
from opcheck.cli.console import output, print_records
from opcheck.cli.options import SECONDS, format_option, leave
from opcheck.errors import Exit

#: The default of the seconds that a backend has to start.
PATIENCE = 20.0


@click.command(name="backends")
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@click.option(
    "--timeout",
    type=SECONDS,
    metavar="SECONDS",
    help=f"How long a backend may take to start.  [default: {PATIENCE:g}]",
)
@format_option("json")
def command(addresses: tuple[str, ...], timeout: float | None, form: str) -> None:
    """Show the backends there are, or those at ADDRESS: which can be used here, and what the
    others need.

    \b
    opcheck backends                        built in, offered by installed packages, and profiles
    opcheck backends openvino:GPU           whether this one can be used
    opcheck backends --format json          a line of JSON for each backend

    Each is started in a process of its own, as for a run. `opcheck support` shows which operators
    they have.

    Exit codes: 0 all is shown, 2 wrong usage, 4 what is at an ADDRESS cannot be used.
    """
    from opcheck.backends.address import profiles, resolve
    from opcheck.backends.isolation.cleanup import guarded_folder
    from opcheck.backends.offers import offer, offers, tried
    from opcheck.execution.workers import each
    from opcheck.report import backends

    known = profiles(Path.cwd())
    named = each(lambda text: offer(resolve(text, known)), addresses)
    chosen, problems = (named, []) if addresses else offers(known)
    console = None if form == "json" else output()
    with guarded_folder() as folder:
        found = tried(chosen, folder, timeout or PATIENCE, interrupt.safe_place)
        if console:
            backends.show(console, found, problems)
        else:
            print_records(map(backends.record, found))
            messages = ("\n".join(one.lines()) for one in problems)
            print_records({"type": "problem", "message": message} for message in messages)
    codes = [one.error.exit_code for one in found if one.error] if addresses else []
    leave(min(codes, key=list(Exit).index, default=Exit.CONFORMS))
