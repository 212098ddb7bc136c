"""The command line: each command parses, calls, prints and exits; logic lives elsewhere."""

import os
import sys
import traceback
from pathlib import Path

from opcheck import interrupt


def main() -> None:
    """Run the program `opcheck`; it ends in SystemExit."""
    # Before anything that takes time, click's import included.
    interrupt.install()
    if sys.stderr is None:  # closed on purpose, as by 2>&-
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (to the end)
    try:
        from opcheck.cli.group import program

        program()
    except Exception:  # a bug, or a broken installation: no verdict, though Python would say 1
        traceback.print_exc()
        raise SystemExit(4) from None  # `Exit.UNUSABLE`, which need not be importable
