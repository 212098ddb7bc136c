"""`opcheck golden check`."""

from __future__ import annotations

import click


@click.command(name="check")
def command() -> None:
    """Check such a folder: every file, every model, every answer."""
