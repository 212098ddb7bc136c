"""Files that reports are written into."""

from __future__ import annotations

from pathlib import Path

from opcheck.errors import Unwritable


def write_text(path: Path, text: str) -> None:
    """Write a file that has all of the text, or is as it was before; a device is written into.

    Raises Unwritable.
    """
    try:
        whole = path.resolve()
        if whole.exists() and not whole.is_file():
            _write(whole, text)
            return
        part = whole.with_name(f"{whole.name}.part")
        _write(part, text)
        part.replace(whole)
    except OSError as error:
        raise Unwritable(path, error) from None
    except RuntimeError as error:  # of links that lead in a circle
        raise Unwritable(path, OSError(str(error))) from None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
