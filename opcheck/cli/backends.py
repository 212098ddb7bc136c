"""`opcheck backends`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli import interrupt
from opcheck.cli.console import output, print_records, progress
from opcheck.cli.options import SECONDS, flag, format_option, leave
from opcheck.errors import Exit

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.backends.offers import Offer

#: The default of the seconds that a backend has to start, or for a model.
_PATIENCE = 20.0


@click.command(name="backends")
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@flag("--probe", help="Which operators they have, by small models of each dtype.")
@click.option(
    "--timeout",
    type=SECONDS,
    metavar="SECONDS",
    help="How long a backend may take to start, and for a model of the probe.  [default:"
    f" {_PATIENCE:g}, for a model also as the backend's profile says]",
)
@format_option("json")
def command(addresses: tuple[str, ...], probe: bool, timeout: float | None, form: str) -> None:
    """Show the backends there are, or those at ADDRESS: which can be used here, and what the
    others need.

    \b
    opcheck backends                        built in, offered by installed packages, and profiles
    opcheck backends openvino:GPU           whether this one can be used
    opcheck backends onnxruntime --probe    which operators and dtypes it has
    opcheck backends --probe --format json  a line of JSON for each backend, operator and dtype

    Each is started in a process of its own, as for a run. The probe shows what a backend does
    beside what it declares, and judges nothing.

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
        found = tried(chosen, folder, timeout or _PATIENCE, interrupt.safe_place)
        if console:
            backends.show(console, found, problems)
        else:
            print_records(map(backends.record, found))
            messages = ("\n".join(one.lines()) for one in problems)
            print_records({"type": "problem", "message": message} for message in messages)
        if probe:
            _probe([one for one in found if one.info], folder, timeout, console)
    codes = [one.error.exit_code for one in found if one.error] if addresses else []
    leave(min(codes, key=list(Exit).index, default=Exit.CONFORMS))


def _probe(found: list[Offer], folder: Path, limit: float | None, console: Console | None) -> None:
    from opcheck.backends import declarations
    from opcheck.backends.isolation.process import BackendSettings
    from opcheck.backends.offers import about_kind
    from opcheck.execution.probe import matrix, probe
    from opcheck.execution.workers import connect, started
    from opcheck.report import backends
    from opcheck.suite import Selection, load

    asked = matrix(load((), levels=Selection().levels))

    def settings(one: Offer, address: str) -> BackendSettings:
        profile = one.profile
        seconds = limit or profile.timeout or _PATIENCE
        return BackendSettings(address, folder, profile.environment, seconds, profile.memory_limit)

    with progress(pausing=console is not None) as bar:
        task = bar.add_task("probing", total=len(found) * sum(map(len, asked.values())))

        def step() -> None:
            bar.advance(task)
            interrupt.safe_place()

        for one in found:
            address = str(one.profile.address)
            twins = [settings(one, address), settings(one, declarations.address_of(address))]
            with started(twins, 1) as (backend, declaring):
                connect([backend], interrupt.safe_place)
                supports = probe(asked, backend, declaring, step)
            bar.stop()
            name, info = one.name, one.info
            if console:
                title = str(info) if info and name == info.address else f"{name}: {info}"
                declares = about_kind(one.profile.address.kind).declares
                backends.show_support(console, title, supports, declares)
            else:
                print_records(backends.support_record(name, cell) for cell in supports)
            bar.start()
    if console:
        backends.legend(console)
