"""Snapshots: texts that a test compares exactly with a committed file.

They lie in the folder `snapshots` beside the test. After a change that is meant, write them anew
with `OPCHECK_UPDATE_SNAPSHOTS=1 pytest` and read the difference before you commit it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

UPDATE = "OPCHECK_UPDATE_SNAPSHOTS"


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A function of a name and a text, which must be what the file of that name holds."""
    folder = request.path.parent / "snapshots"

    def check(name: str, text: str) -> None:
        file = folder / f"{name}.txt"
        if os.environ.get(UPDATE):
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        assert file.is_file(), f"no snapshot {file.name}: write it with {UPDATE}=1"
        assert text == file.read_text(encoding="utf-8")

    return check
