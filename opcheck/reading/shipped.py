"""Where the data that ships with opcheck lies."""

from __future__ import annotations

from pathlib import Path

import opcheck


def shipped_folder(installed: str, checkout: str) -> Path:
    """The folder `installed` inside the package or, in a checkout, `checkout` beside it."""
    package = Path(opcheck.__file__).parent
    inside = package / installed
    return inside if inside.is_dir() else package.parent / checkout
