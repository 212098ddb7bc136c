from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opcheck.graph.folders import Saying, read_refusal, read_saying, refusal_text, write_saying
from opcheck.model import Raised


def test_nothing_is_said_where_there_is_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("hello")
    assert read_saying(tmp_path) is None


@pytest.mark.parametrize("kind", ["unsupported", "error", "not_run"])
def test_what_was_said_is_read_by_its_kind(tmp_path: Path, kind: str) -> None:
    (tmp_path / f"{kind}.txt").write_bytes("  two\nlines: é\n\n".encode())
    assert read_saying(tmp_path) == Saying(kind, "two\nlines: é")  # type: ignore[arg-type]


def test_an_empty_file_speaks_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "unsupported.txt").touch()
    assert read_saying(tmp_path) == Saying("unsupported", "unsupported.txt gives no reason")


def test_two_kinds_contradict_each_other(tmp_path: Path) -> None:
    for kind in ("unsupported", "error"):
        (tmp_path / f"{kind}.txt").write_text("why")
    with pytest.raises(ValueError, match=r"^unsupported\.txt and error\.txt are both there$"):
        read_saying(tmp_path)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "error.txt").mkdir()
    with pytest.raises(ValueError, match=r"^error\.txt cannot be read: "):
        read_saying(tmp_path)


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    write_saying(tmp_path, Saying("error", "a\ud800b"))
    assert read_saying(tmp_path) == Saying("error", "a\\ud800b")
    (tmp_path / "error.txt").write_bytes(b"\xff" * 10_000)
    found = read_saying(tmp_path)
    assert found is not None
    assert len(found.text) == 4000


@given(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True),
    st.text().map(str.strip),
    st.booleans(),
)
@example("KeyError", "", False)
@example("Error", "refused by accident: x", True)
def test_a_refusal_is_read_as_it_was_written(kind: str, detail: str, documented: bool) -> None:
    refusal = Raised("run", kind, detail, documented)
    assert read_refusal(refusal_text(refusal)) == refusal


@pytest.mark.parametrize("text", ["axis 7 is out of range", "no such axis: 7", "[E] axis: 7"])
def test_other_words_are_words(text: str) -> None:
    assert read_refusal(text) == Raised("run", "", text, documented=True)
