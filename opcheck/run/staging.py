"""Folders that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def staged(folder: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A folder beside `folder`, and what puts it in its place; it is gone at the end."""
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
    stage = beside / "new"

    def put() -> None:
        old = beside / "old"
        try:
            if place.exists():
                place.rename(old)
            stage.rename(place)
        except BaseException:
            if old.exists() and not place.exists():
                old.rename(place)
            raise

    try:
        stage.mkdir()
        yield stage, put
    finally:
        shutil.rmtree(beside, ignore_errors=True)
