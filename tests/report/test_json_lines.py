"""Files of JSON lines of each kind: what is read in spite of its looks, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from opcheck.errors import CaseFileError
from opcheck.report import store, timings
from tests.report import made, test_store_reading, test_timing_store


@dataclass(frozen=True)
class Kind:
    """A kind of file: what its first line is, and a whole file of it."""

    name: str
    begins: str
    read: Callable[[Path], Any]
    reading: type[Any]
    lines: Sequence[str]

    def complaint(self, path: Path) -> list[str]:
        return made.complaint(self.read, path)


RUN = Kind("run", "header", store.read, store._RunReading, test_store_reading.LINES)
BENCH = Kind("benchmark", "bench", timings.read, timings._BenchReading, test_timing_store.LINES)

pytestmark = pytest.mark.parametrize("kind", [RUN, BENCH], ids=lambda kind: kind.name)


def test_ends_of_lines_of_windows_its_mark_and_empty_lines_do_no_harm(kind, file):
    lines = [f"{line}\r" for line in kind.lines]
    lines[0] = f"\ufeff{lines[0]}"
    whole = kind.read(file(kind.lines))
    assert whole.complete
    assert kind.read(file([*lines[:2], "", *lines[2:], " "])) == whole


def test_a_line_cut_short_in_the_middle_is_damaged_at_a_place(kind, file):
    [said] = kind.complaint(file([kind.lines[0], kind.lines[1][:80], *kind.lines[2:4]]))
    assert said.startswith(":2:1: Invalid JSON: EOF while parsing")
    assert said.endswith(" at line 1 column 80")


@pytest.mark.parametrize(
    "line",
    [
        "name: no JSON at all",
        "\x00\x01\x02",
        "[]",
        "{}",
        '{"type": "header", "format": "2"}',
        '{"type": "bench", "format": "1"}',
        '{"version": "1.0", "benchmarks": []}',
    ],
)
def test_a_file_of_somebody_else_is_told_from_ours(kind, file, line, wording):
    [said] = kind.complaint(file([line, *kind.lines[1:]]))
    assert said.startswith(":1:1: ")
    assert said == wording


def test_of_the_other_kind_it_is_told_what_shows_it(kind, file, wording):
    other = BENCH if kind is RUN else RUN
    [said] = kind.complaint(file([other.lines[0]]))
    assert said.startswith(":1:1: ")
    assert said == wording
    head = f'{{"type": "{other.begins}", "format": 1, "more": {{}}}}'
    assert kind.complaint(file([head])) == [said]


@pytest.mark.parametrize("number", [0, 7, -1])
def test_another_format_is_named_whatever_else_is_in_it(kind, file, number, wording):
    other = f'{{"type": "{kind.begins}", "format": {number}, "where": "elsewhere"}}'
    [said] = kind.complaint(file([other, "{}"]))
    assert said.startswith(":1:1: ")
    assert said == wording


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_an_empty_file(kind, file, text, wording):
    assert kind.complaint(file([], end=text)) == [wording]


def test_the_first_damaged_line_is_told(kind, file, wording):
    [said] = kind.complaint(file([kind.lines[0], "{}", "{", *kind.lines[3:]]))
    assert said.startswith(":2:1: ")
    assert said == wording


def test_a_file_that_is_too_large_is_not_read_to_its_end(kind, file, monkeypatch, wording):
    monkeypatch.setattr(kind.reading, "limit", 1 << 20)
    said = kind.complaint(file([kind.lines[0], *[" " * 2000] * 900]))
    assert said == [wording]
    assert kind.complaint(file(["x" * (1 << 20)])) == said


def test_two_files_in_one_are_told_apart(kind, file, wording):
    [said] = kind.complaint(file([*kind.lines, *kind.lines]))
    assert said.startswith(f":{len(kind.lines) + 1}:1: ")
    assert said == wording
    assert kind.complaint(file([*kind.lines, kind.lines[1]])) == [said]


def test_what_is_no_file_is_a_wrong_command(kind, tmp_path, wording):
    assert kind.complaint(tmp_path / "none") == [wording]
    assert kind.complaint(tmp_path) == [wording]
    with pytest.raises(CaseFileError, match="null"):
        kind.read(Path("a\0b"))


@given(data=st.binary(max_size=300))
def test_garbage_is_refused(kind, tmp_path_factory, data):
    assert made.unless_refused(kind.read, tmp_path_factory, data) is None


@given(data=st.binary(max_size=60))
def test_garbage_after_a_header_gives_no_result(kind, tmp_path_factory, data):
    header = kind.lines[0].encode()
    alone = made.unless_refused(kind.read, tmp_path_factory, header)
    assert alone is not None
    assert not alone.complete
    assert made.unless_refused(kind.read, tmp_path_factory, header + b"\n" + data) in (None, alone)
