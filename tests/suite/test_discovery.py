"""Which YAML files are case files."""

import os
from pathlib import Path

import pytest

from opcheck.reading import Problems
from opcheck.suite.discovery import case_files_in, hidden_case_files, holds_cases

PLAIN = "op: Softmax\ncases: []\n"


def written(path: Path, text: str | bytes = PLAIN) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "op: Softmax\n",
        "cases: []\n",
        "bench: []\n",
        "{op: Softmax, cases: []}",
        '{"op": "Softmax", "cases": []}',
        "'op' : Softmax\n",
        '"\\x6fp": Softmax\n',
        "? op\n: Softmax\n",
        "other: &key op\n*key : Softmax\n",
        "  op: Softmax\n",
        "--- {op: Softmax}\n",
        "%YAML 1.2\n---\nop: Softmax\n",
        "\ufeffop: Softmax\n",
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-32"),
        PLAIN.encode() + b"\0",
        PLAIN.encode() + b"\xff",
        "op: Softmax\ncases:\n- {name: [}\n",
        "- op: Softmax\n  cases: [\n",
    ],
)
def test_a_file_with_a_key_of_case_files_at_its_top_is_one(tmp_path: Path, text) -> None:
    assert holds_cases(written(tmp_path / "a.yaml", text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "services: {web: {}}\n",
        "- op: add\n  path: /spec\n",
        "patches:\n- {op: replace}\n",
        "text: |\n  op: Softmax\n  cases: []\n",
        "stop: 1\nuse-cases: 2\n",
        "on: [push\nop: 1",
    ],
)
def test_other_yaml_is_none(tmp_path: Path, text: str) -> None:
    assert not holds_cases(written(tmp_path / "a.yaml", text))


def test_what_cannot_be_read_counts_so_that_loading_it_reports_why(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "link.yaml").symlink_to("nowhere")
    for name in ("pipe", "link"):
        assert holds_cases(tmp_path / f"{name}.yaml")


def test_a_misnamed_case_file_is_reported_in_any_form(tmp_path: Path) -> None:
    for name in ("a.clauses.yaml", "b.equivalent.yaml"):
        written(tmp_path / name, "{op: Softmax, 'cases': []}")
    written(tmp_path / "c.clauses.yaml", "op: Softmax\nclauses: []\n")
    problems = Problems()
    assert case_files_in(tmp_path, problems) == []
    assert [Path(one.file).name for one in problems] == ["a.clauses.yaml", "b.equivalent.yaml"]


def test_files_of_a_folder_are_found_in_order_and_dead_links_reported(tmp_path: Path) -> None:
    for name in ("b.yml", "a.YAML", "build/c.yaml", "text.txt", ".hidden.yaml", ".git/d.yaml"):
        written(tmp_path / name)
    (tmp_path / "link.yaml").symlink_to("nowhere")
    problems = Problems()
    found = [path.relative_to(tmp_path).as_posix() for path in case_files_in(tmp_path, problems)]
    assert found == ["a.YAML", "b.yml", "build/c.yaml"]
    assert [Path(one.file).name for one in problems] == ["link.yaml"]


def test_hidden_case_files_are_named_unless_a_tool_owns_the_folder(tmp_path: Path) -> None:
    hidden = [".a.yaml", ".cases/b.yaml", ".cases/deep/c.YML", "d/.e/f.yaml"]
    tools = [".git/a.yaml", ".tox/a.yaml", ".mypy_cache/a.yaml", ".venv/a.yaml", ".cache/a.yaml"]
    for name in (*hidden, *tools, "seen.yaml"):
        written(tmp_path / name)
    written(tmp_path / ".github" / "workflow.yaml", "on: push\n")
    written(tmp_path / ".venv" / "pyvenv.cfg", "")
    found = [path.relative_to(tmp_path).as_posix() for path in hidden_case_files([tmp_path])]
    assert found == hidden
