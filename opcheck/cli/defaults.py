"""Defaults of `opcheck run` that a settings file states in its table `[run]`.

The command line wins over them. Where the variable CI is set, those that decide what is red are not
taken: a gate says itself what it requires.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.core import Context, ParameterSource

from opcheck.cli.console import note
from opcheck.cli.files import OutputCommand
from opcheck.machine import in_ci

#: Keys whose option's parameter has another name.
_PARAMETERS = {"backend": "addresses"}
#: Keys that change what is red, and that a gate has to state itself.
_NOT_IN_CI = (
    "level",
    "strict",
    "require_supported",
    "require_reproducible",
    "known",
    "allow_unexpected_passes",
)
#: Where a context keeps the defaults that are stated, and the name of their file.
_STATED = f"{__name__}.stated"


class CommandWithDefaults(OutputCommand):
    """A command whose options have the defaults that a settings file states."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse as click does, with the defaults of the settings file.

        Raises CaseFileError for mistakes of that file, with line and column.
        """
        needs_none = ctx.resilient_parsing or any(name in args for name in ctx.help_option_names)
        # What is wrong with the command line, click reports below.
        with suppress(click.UsageError):
            given, _, _ = self.make_parser(ctx).parse_args([*args])
            if not needs_none:
                stated, shown = _stated(given.get("config"))
                ctx.default_map = {_PARAMETERS.get(key, key): stated[key] for key in stated}
                ctx.meta[_STATED] = stated, shown
        return super().parse_args(ctx, args)


def _stated(config: str | None) -> tuple[dict[str, Any], str]:
    """Return the defaults of the settings file that count here, by key, and the file's name.

    Raises CaseFileError for mistakes of the file.
    """
    from opcheck.backends.address import settings_for
    from opcheck.backends.trust import configured
    from opcheck.reading import Problems

    problems = Problems()
    if config is None:
        settings = settings_for(Path.cwd(), problems)
    else:
        with configured(Path(config)):
            settings = settings_for(Path.cwd(), problems)
    if settings is None:
        problems.raise_if_any()
        return {}, ""
    # Imported here, because it takes as long as the start of a whole command.
    from opcheck.backends.profile_fields import run_defaults_of

    table, file = settings
    stated = run_defaults_of(table, file, problems).model_dump(exclude_none=True)
    problems.raise_if_any()
    if "known" in stated:
        stated["known"] = [str(file.path.parent / name) for name in stated["known"]]
    if in_ci():
        left_out = [key for key in _NOT_IN_CI if stated.pop(key, None) is not None]
        if left_out:
            note(f"{file.shown}: [run] {', '.join(left_out)} not used where CI is set")
    return stated, file.shown


def note_defaults() -> None:
    """Print the defaults of the settings file that this command line takes, in one line."""
    context = click.get_current_context()
    stated, shown = context.meta.get(_STATED, ({}, ""))
    taken = [key for key in stated if _is_default(context, key)]
    if taken:
        values = ", ".join(f"{key} = {_toml(stated[key])}" for key in taken)
        note(f"{shown}: [run] {values}")


def _is_default(context: Context, key: str) -> bool:
    """Return True if the command line leaves this option to the settings file."""
    source = context.get_parameter_source(_PARAMETERS.get(key, key))
    return source is ParameterSource.DEFAULT_MAP


def _toml(value: bool | float | str | Sequence[str]) -> str:
    """Return a value as TOML has it, in one line of ASCII."""
    return json.dumps(value)
