"""`opcheck doctor`: versions, backends, the machine, and what looks wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli import options
from opcheck.cli.console import print_and_exit, stdout_console
from opcheck.errors import CaseFileError, Exit, OpcheckError, plural

if TYPE_CHECKING:
    from opcheck.backends.address import Profile


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Options of `opcheck doctor`."""

    config: Path | None


@click.command(name="doctor")
@options.config_option
@options.takes(DoctorOptions)
def command(given: DoctorOptions) -> None:
    """Look at versions, backends and the machine, and say what looks wrong.

    Shown are what decides verdicts and timings apart from cases: the versions of opcheck and of
    its libraries, the processor's instructions and threads, the locale, the settings file, and
    which backends can be started. Paste it into a bug report.

    \b
    opcheck doctor
    opcheck doctor --config ci/opcheck.toml

    Exit codes: 0 nothing looks wrong, 1 something does, 2 wrong usage.
    """
    from opcheck.backends.address import profiles
    from opcheck.backends.isolation.cleanup import guarded_folder
    from opcheck.backends.offers import offers, tried
    from opcheck.execution.checkup import checkup
    from opcheck.report import checkup as report
    from opcheck.report.support import show_backends

    options.use_config(given.config)
    of_settings: list[OpcheckError] = []
    known: Mapping[str, Profile] = {}
    try:
        known = profiles(Path.cwd())
    except CaseFileError as error:
        of_settings.append(error)
    choices, problems = offers(known)
    with guarded_folder() as folder:
        tried_offers = tried(choices, folder, options.PATIENCE)
    found = checkup(tried_offers, [*of_settings, *problems])
    console = stdout_console()
    report.show(console, found.facts)
    show_backends(console, [offer for offer in tried_offers if offer.state != "unusable"])
    report.show_wrong(console, found.wrong)
    if found.wrong:
        print_and_exit(Exit.NONCONFORMING, f"{plural(len(found.wrong), 'thing')} to look at")
    print_and_exit(Exit.CONFORMS, "nothing looks wrong")
