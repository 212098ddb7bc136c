"""The command line: each command parses, calls, prints and exits; logic lives elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from opcheck.cli import interrupt


def main() -> None:
    """The program `opcheck`; ends in SystemExit."""
    # Before anything that takes time, click's import included.
    interrupt.install()
    if sys.stderr is None:  # closed, as by 2>&-: who does so wants nothing said there
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (to the end)
    from opcheck.cli.group import program

    program()
