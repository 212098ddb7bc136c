"""Draws what `opcheck run` prints in a terminal, as `run.svg` beside this file.

python docs/images/terminal.py
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PICTURE = Path(__file__).with_name("run.svg")
COMMAND = (
    "opcheck run --op Hardmax --opset 13 --dtype float32 -b onnxruntime -b reference --no-known"
)
_COLUMNS = 110


def main() -> None:
    """Run the command as on a terminal with colours, and draw what it prints."""
    printed = subprocess.run(
        [sys.executable, "-m", *COMMAND.split()],
        env={**os.environ, "COLUMNS": str(_COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    ).stdout.splitlines()
    console = Console(file=io.StringIO(), record=True, width=_COLUMNS, force_terminal=True)
    console.print(Text(f"$ {COMMAND}", "bold"), soft_wrap=True)
    for line in printed:
        text = Text.from_ansi(line)
        text.truncate(_COLUMNS, overflow="ellipsis")
        console.print(text, soft_wrap=True)
    svg = console.export_svg(title="opcheck run", theme=MONOKAI, unique_id="opcheck")
    # The font is the reader's own: a page that shows the picture fetches nothing.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    PICTURE.write_text(svg.replace("Fira Code", "ui-monospace, monospace"), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
