"""The page on the architecture names what is there."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from tests.shell import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_floors_are_those_that_imports_are_checked_by() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one["id"] == "layers"]
    assert [re.findall(r"`(\w+)`", floor) for floor, *_ in rows("Floors")] == [
        floor.split(" | ") for floor in layers
    ]


@pytest.mark.parametrize("cell", [row[0] for row in rows("The shapes of a result")])
def test_each_shape_of_a_result_is_a_type(cell: str) -> None:
    name = re.findall(r"`([\w.]+)`", cell)[0]
    module, _, type_name = name.rpartition(".")
    assert hasattr(importlib.import_module(f"opcheck.{module}"), type_name)


def test_each_module_that_is_named_is_there() -> None:
    for name in set(re.findall(r"`((?:[a-z_]+)(?:\.[a-z_]+)+)`", PAGE)):
        first, *_ = name.split(".")
        if not (ROOT / "opcheck" / first).exists():
            continue
        path = Path(ROOT / "opcheck", *name.split("."))
        parent = path.parent.with_suffix(".py")
        is_there = path.is_dir() or path.with_suffix(".py").exists()
        assert is_there or parent.exists(), name
