"""The command line: each command parses, calls, prints and exits; logic lives elsewhere."""

from __future__ import annotations

from opcheck.cli import interrupt


def main() -> None:
    """The program `opcheck`; ends in SystemExit."""
    # Before anything that takes time, click's import included.
    interrupt.install()
    from opcheck.cli.group import program

    program()
