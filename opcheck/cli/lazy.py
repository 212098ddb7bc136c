"""Groups of commands, each of which is imported only when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from opcheck.errors import did_you_mean


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for.

    Each is a module in `package` with a function `command`; `lines` are what `--help` says of
    them, in its order, so that it need not import them.
    """

    def __init__(self, *args: Any, package: str, lines: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.package, self.lines = package, lines

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order of a day's work."""
        return list(self.lines)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command `name`, imported now."""
        if name not in self.lines:
            return None
        command: click.Command = importlib.import_module(f"{self.package}.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in `--help`, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a hint where the command is unknown."""
        if args and args[0] not in self.lines and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.lines) or f"commands: {', '.join(self.lines)}"
            ctx.fail(f"no command {args[0]!r} ({hint})")
        return super().resolve_command(ctx, args)
