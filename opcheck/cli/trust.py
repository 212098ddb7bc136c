"""`opcheck trust`: accept the code that a settings file names."""

from dataclasses import dataclass
from pathlib import Path

import click

from opcheck.cli import options
from opcheck.cli.console import print_and_exit
from opcheck.errors import Exit, UsageError
from opcheck.report.plain_text import one_line, plural


@dataclass(frozen=True, kw_only=True)
class TrustOptions:
    """Options of `opcheck trust`."""

    folder: Path
    list: bool
    forget: bool


@click.command(name="trust")
@click.argument("folder", type=options.PATH, default=".")
@click.option("--list", is_flag=True, help="Show the accepted files, and accept nothing.")
@click.option("--forget", is_flag=True, help="Accept the file no longer.")
@options.takes(TrustOptions)
def command(given: TrustOptions) -> None:
    """Accept the code that a settings file names.

    The file is the nearest opcheck.toml, or pyproject.toml with settings of opcheck, in FOLDER or
    above; by default of the working directory. Case files may then name its profiles as oracles,
    and `opcheck backends` tries them. A profile that you name by -b needs no such step.

    It is accepted as it is now, for commands in its own folder: once it is edited, it must be
    accepted again. Other files of the folder, such as a program that the file names, may change.
    The list of accepted files is opcheck/trusted.json in $XDG_CONFIG_HOME, or in ~/.config.

    \b
    opcheck trust                 show what the file here names, and accept it
    opcheck trust ../mine         that of another folder
    opcheck trust --list          what you have accepted

    Exit codes: 0 done, 2 there is no such file or it cannot be read, 4 the list cannot be written.
    """
    if given.list and given.forget:
        raise UsageError("--list and --forget exclude each other")
    if given.list:
        _show_list()
    _change(given.folder, is_forgotten=given.forget)


def _show_list() -> None:
    from opcheck.backends.trust import accepted

    files = accepted()
    for path, digest in sorted(files.items()):
        click.echo(f"{digest[:12]}…  {one_line(path)}")
    print_and_exit(Exit.CONFORMS, plural(len(files), "accepted file"))


def _change(folder: Path, *, is_forgotten: bool) -> None:
    """Accept the settings file of a folder, or forget it; raise UsageError without one."""
    from opcheck.backends.address import nearest_settings
    from opcheck.backends.profile_fields import profiles_of
    from opcheck.backends.trust import accept, forget, is_accepted, shortened
    from opcheck.reading import Problems

    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    problems = Problems()
    settings = nearest_settings(folder, problems)
    problems.raise_if_any()
    if not settings:
        raise UsageError(f"no settings of opcheck in {folder.resolve()} or above")
    table, file = settings
    if is_forgotten:
        known = forget(file.path)
        print_and_exit(
            Exit.CONFORMS, f"{file.path} {'is forgotten' if known else 'was not accepted'}"
        )
    profiles = profiles_of(table, file, problems)
    problems.raise_if_any()
    code = [part for profile in profiles.values() for part in profile.code]
    for part in code:
        place = f"{file.shown}:{part.mark.line}:{part.mark.column}"
        click.echo(f"{place}: {part.key}: {shortened(part.value)}")
    if not code:
        print_and_exit(Exit.CONFORMS, f"{file.path} names no code: there is nothing to accept")
    known = is_accepted(file)
    accept(file)
    print_and_exit(
        Exit.CONFORMS, f"{file.path} {'was accepted already' if known else 'is accepted'}"
    )
