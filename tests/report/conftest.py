"""Files of lines."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes lines to a file; its last line may lack its end."""

    def write(lines: Sequence[str], end: str = "\n") -> Path:
        path = tmp_path / "stored.jsonl"
        path.write_text("\n".join(lines) + end, encoding="utf-8")
        return path

    return write
