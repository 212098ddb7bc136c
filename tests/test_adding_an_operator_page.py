"""What docs/adding-an-operator.md shows is what stands in the files, and what it runs comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opcheck.engine import operators
from opcheck.engine.operators import WrongOperator
from tests.shell import ROOT, shell

PAGE = (ROOT / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")
FILES = "".join(
    (ROOT / "opcheck" / "engine" / name).read_text(encoding="utf-8")
    for name in ("ops/layer_normalization.py", "normalizing.py")
)
SUITE = ROOT / "cases" / "onnx" / "layer_normalization.yaml"


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def test_every_excerpt_stands_in_its_file() -> None:
    *excerpts, refused = blocks("python")
    assert len(excerpts) == 6
    assert "wrong_version" in refused
    assert [one for one in excerpts if one not in FILES] == []
    assert [one for one in blocks("yaml") if one not in SUITE.read_text(encoding="utf-8")] == []


def test_a_file_that_contradicts_the_schema_is_refused_as_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (message,) = blocks("text")
    monkeypatch.setattr(operators, "_DECLARED", {})
    with pytest.raises(WrongOperator, match=re.escape(message.strip())):
        exec(blocks("python")[-1], {"__name__": "made"})


@pytest.mark.mutation
def test_the_shown_score_is_that_of_the_suite(tmp_path: Path) -> None:
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    (shown,) = blocks("console")
    command, _, output = shown.removeprefix("$ ").partition("\n")
    assert shell(tmp_path, command) == (0, output)
