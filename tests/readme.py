"""The blocks of the README and of other pages, and what a test compares printed text with."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
VERDICTS = README.parent / "docs" / "verdicts.md"


def block(start: str, page: Path = README) -> str:
    """The one fenced block of a page that begins with `start`."""
    blocks = re.findall(r"```\w+\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [text for text in blocks if text.startswith(start)]
    return str(found)


def plain(text: str) -> str:
    """Without what a version number and its width change."""
    return re.sub(r"[ ─]+", " ", re.sub(r"\d+\.\d+\.\d+", "VERSION", text))


def numberless(text: str) -> str:
    """Without numbers, and what their widths change."""
    return re.sub(r"[\d.,·]*\d[\d.,]*", "N", plain(text))
