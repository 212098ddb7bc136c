"""What docs/golden-files.md tells is what is written."""

import re
from pathlib import Path
from typing import get_args

from opcheck.engine import rounding
from opcheck.execution.golden import METHOD_TEXTS, AnswerKind
from opcheck.graph.test_data import DATA
from opcheck.suite.golden_files import MANIFEST, SUMS, read_manifest
from tests.execution.golden.made import golden
from tests.shell import ROOT

PAGE = (ROOT / "docs" / "golden-files.md").read_text(encoding="utf-8")


def column(head: str) -> set[str]:
    """The words in code in the first column of the table that begins so."""
    lines = PAGE[PAGE.index(f"| {head} |") :].splitlines()[2:]
    cells = [line.split("|")[1] for line in lines[: lines.index("")]]
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_every_file_and_folder_is_named(tmp_path: Path) -> None:
    golden(tmp_path)
    folder = tmp_path / "golden"
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert column("file") == names == column("file") | {MANIFEST, SUMS, DATA}
    assert column("folder") == {*get_args(AnswerKind)}
    manifest, _ = read_manifest(folder)
    assert all(name in PAGE for name in manifest.packages)


def test_numbers_and_methods_are_those_of_the_code() -> None:
    *digits, most = (f"{bits:,}" for bits in rounding.DIGITS)
    assert f" {', '.join(digits)} and {most} binary digits" in PAGE
    assert f" {rounding.DIGITS[-1] // 2:,} digits do not" in PAGE
    flat = " ".join(PAGE.split())
    assert all(text in flat for text in METHOD_TEXTS.values())


def test_the_example_is_as_short_as_is_said() -> None:
    lines = (ROOT / "examples" / "read_golden.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 30
