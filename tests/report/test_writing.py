"""Files that are there whole, or not at all."""

from pathlib import Path

import pytest

from opcheck.errors import Unwritable
from opcheck.graph.folders import write_whole
from opcheck.report import write_text


def test_a_disk_that_is_full_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "known.yaml"
    path.write_text("old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(Unwritable):
        write_text(path, "new")
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("known.yaml", "old")]
