"""The README's blocks, and what of printed text a test compares them with."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def block(start: str) -> str:
    """The one fenced block that begins with `start`."""
    (found,) = [text for _, text in BLOCKS if text.startswith(start)]
    return found


def plain(text: str) -> str:
    """Without what a version number and its width change."""
    return re.sub(r"[ ─]+", " ", re.sub(r"\d+\.\d+\.\d+", "VERSION", text))


def numberless(text: str) -> str:
    """Without numbers, and what their widths change."""
    return re.sub(r"[\d.,·]*\d[\d.,]*", "N", plain(text))
