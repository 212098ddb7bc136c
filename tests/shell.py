"""Commands as they stand in documents, run by a shell that finds opcheck and python3."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def program(path: Path, text: str) -> Path:
    """An executable file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def shell(folder: Path, commands: str, more: str = "") -> tuple[int, str]:
    """Exit status and output of `commands`, run in `folder`; `opcheck run` is given `more`.

    Programs in `folder`/bin are found before any other.
    """
    python = shlex.quote(sys.executable)
    program(folder / "bin" / "python3", f'#!/bin/sh\nexec {python} "$@"\n')
    program(
        folder / "bin" / "opcheck",
        f'#!/bin/sh\n[ "$1" != run ] || set -- "$@" {more}\nexec {python} -P -m opcheck "$@"\n',
    )
    environment = {
        **os.environ,
        "PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(":"),
        "COLUMNS": "200",
    }
    found = subprocess.run(
        ["bash", "-c", commands],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return found.returncode, found.stdout
