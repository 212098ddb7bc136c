"""What docs/adding-an-operator.md shows is what stands in the files, and what it runs comes out."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node, operators
from opcheck.engine.evaluate import evaluate
from opcheck.engine.operators import find
from opcheck.errors import WrongOperator
from opcheck.model import OpVersion
from opcheck.reading import Kind
from tests.expecting import error_of
from tests.shell import ROOT, shell

PAGE = (ROOT / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")
FILES = "".join(
    (ROOT / "opcheck" / "engine" / name).read_text(encoding="utf-8")
    for name in ("ops/layer_normalization.py", "ops/where.py", "ops/normalizations.py")
)
DATA = "".join(
    (ROOT / "cases" / "onnx" / f"layer_normalization{kind}").read_text(encoding="utf-8")
    for kind in (Kind.CASES, Kind.EQUIVALENT)
)


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def test_every_excerpt_stands_in_its_file() -> None:
    *excerpts, refused = blocks("python")
    assert len(excerpts) == 7
    assert "xp.arange" in refused
    assert [one for one in excerpts if one not in FILES] == []
    assert [one for one in blocks("yaml") if one not in DATA] == []


def test_a_wrong_file_is_refused_as_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    contradicting, failing = blocks("text")
    source = blocks("python")[-1]
    file = tmp_path / "opcheck" / "engine" / "ops" / "layer_normalization.py"
    file.parent.mkdir(parents=True)
    file.write_text(source, encoding="utf-8")
    assert find("", "LayerNormalization")  # the real one, which is kept
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(file.parent.parent))
    monkeypatch.setattr(operators, "_DECLARED", {})
    monkeypatch.setattr(operators, "_OPS", "ops")
    monkeypatch.setattr(operators, "_files", lambda: {file.stem: file})
    monkeypatch.setattr(operators, "_modules", operators._modules.__wrapped__)
    assert error_of(WrongOperator, operators._load, file.stem).lines() == [contradicting.strip()]

    made: dict[str, Any] = {"__name__": "made"}
    mended = source.replace("axes", "axis").replace("=0)", ")")
    exec(compile(mended, str(file), "exec"), made)
    rows = np.ones((2, 3), np.float32)
    node = Node(OpVersion("", "LayerNormalization", 17), (rows, rows[0]), {})
    assert error_of(WrongOperator, evaluate, node, made["formula"]).lines() == [failing.strip()]


@pytest.mark.gate
def test_the_shown_score_is_that_of_the_suite(tmp_path: Path) -> None:
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    (shown,) = blocks("console")
    command, _, output = shown.removeprefix("$ ").partition("\n")
    status, printed = shell(tmp_path, command)
    assert status == 0
    left = iter(printed.splitlines())
    assert [line for line in output.splitlines() if line != "…" and line not in left] == []
