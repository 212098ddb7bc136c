import json
from pathlib import Path
from typing import Any

import pytest

from opcheck.graph.folders import MARKER, read_origin, write_origin
from opcheck.model import BackendInfo

FULL = BackendInfo(
    "device?accumulate=float16", "device", "2.1", ("float16",), True, True, ("npu", "cpu"), 4
)
PLAIN = BackendInfo("numpy", "numpy", "")


@pytest.mark.parametrize("backend", [FULL, PLAIN, None])
def test_whose_outputs_they_are_is_read_as_written(tmp_path, backend):
    write_origin(tmp_path, backend)
    assert read_origin(tmp_path) == backend


def test_a_folder_without_the_file_says_nothing(tmp_path: Path) -> None:
    assert read_origin(tmp_path) is None


def refusal(folder: Path, text: str) -> str:
    (folder / MARKER).write_text(text)
    with pytest.raises(ValueError, match=MARKER) as error:
        read_origin(folder)
    return str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', "[" * 100_000])
def test_another_file_of_that_name_is_none_of_ours(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text) == "opcheck.json is damaged, or not opcheck's"


def test_a_later_format_is_not_guessed_at(tmp_path: Path) -> None:
    told = refusal(tmp_path, '{"format": 2, "backend": null}')
    assert told == "opcheck.json has format 2; this opcheck reads 1"


@pytest.mark.parametrize(
    "change",
    [
        {"address": 3},
        {"version": None},
        {"accumulate": "float16"},
        {"devices": [1]},
        {"engine": "no"},
        {"threads": "1"},
    ],
)
def test_what_it_says_has_to_make_sense(tmp_path: Path, change: dict[str, Any]) -> None:
    write_origin(tmp_path, FULL)
    record = json.loads((tmp_path / MARKER).read_text())
    record["backend"] |= change
    told = refusal(tmp_path, json.dumps(record))
    assert told == "opcheck.json does not say whose outputs these are"


def test_a_marker_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / MARKER).mkdir()
    with pytest.raises(ValueError, match=r"^opcheck\.json cannot be read: "):
        read_origin(tmp_path)
