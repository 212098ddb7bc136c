"""`opcheck golden write`."""

from __future__ import annotations

import click


@click.command(name="write")
def command() -> None:
    """Write cases with their right answers, as ONNX's test data."""
