"""What docs/stored-runs.md tells is what works: its commands are typed, its tables checked."""

import json
import os
import re
from pathlib import Path

import pytest

from opcheck.analysis import REGRESSIONS, ChangeKind
from opcheck.report import FORMATS, store
from tests.cli.test_builds import TWO as CASES
from tests.report.runs import every_verdict, run_of
from tests.shell import ROOT, program, shell
from tests.wording import lines_with

PAGE = (ROOT / "docs" / "stored-runs.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")

PROFILES = "".join(
    f'[backends.{name}]\naddress = "{address}"\n'
    for name, address in {"mine": "numpy", "cpu": "reference", "npu": "numpy"}.items()
)


def rows(head: str) -> list[list[str]]:
    """The cells of the table that begins so."""
    lines = PAGE[PAGE.index(f"| {head} |") :].splitlines()
    table = lines[2 : next(n for n, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def names(section: str) -> set[str]:
    """The fields that a section's table names."""
    part = PAGE[PAGE.index(f"\n{section}:\n") :]
    cells = [line.split("|")[1] for line in part.split("\n\n")[1].splitlines()[2:]]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my.yaml").write_text(CASES, encoding="utf-8")
    (tmp_path / "opcheck.toml").write_text(PROFILES, encoding="utf-8")
    return tmp_path


@pytest.mark.gate
@posix
def test_its_commands_work_one_after_the_other(folder: Path, wording) -> None:
    program(folder / "bin" / "ssh", '#!/bin/sh\nshift\nexec "$@"\n')
    keep, elsewhere, failed, shards, compare, join, packed = COMMANDS
    status, printed = shell(folder, keep)
    assert (status, printed.count("exit 0: conforms: 2 results")) == (0, 2), printed
    status, printed = shell(
        folder, f"PATH=$PWD/bin:$PATH\n{elsewhere.replace(' run ', ' run my.yaml ')}"
    )
    assert (status, printed.count("exit 0: conforms: 2 results")) == (0, 1), printed
    status, printed = shell(folder, failed)
    assert status == 5
    assert lines_with(printed, "no case matched") == wording
    status, printed = shell(folder, shards)
    assert status == 0
    assert printed.splitlines()[-1] == wording
    status, printed = shell(folder, f"cp new.jsonl main.jsonl\n{compare}")
    assert status == 0
    assert lines_with(printed, "exit 0: no regression: 2") == wording
    out = (folder / "comment.md").read_text(encoding="utf-8")
    assert lines_with(out, "opcheck diff: no") == wording
    status, printed = shell(
        folder,
        "opcheck run my.yaml -b cpu --report json=cpu.jsonl -q\n"
        f"opcheck run my.yaml -b mine --report json=gpu.jsonl -q\n{join}opcheck report all.jsonl",
    )
    assert status == 0
    assert lines_with(printed, "exit 0: joined: 4 results, 2") == wording
    assert "exit 0: conforms: 4 results" in printed
    mine = packed.replace("run -b npu:0", "run my.yaml -b mine")
    status, printed = shell(folder, mine.replace("verify npu.zip", "verify npu.zip my.yaml"))
    assert status == 0, printed
    assert printed.splitlines()[-1].startswith("exit 0: "), printed


def test_every_field_is_told_and_no_other() -> None:
    head, *results, footer = map(json.loads, store.lines(run_of(*every_verdict())))
    assert names("Header") | {"type"} == set(head)
    # What was revised is in streams only.
    assert {*names("Footer"), "type"} - {"revised"} == {*footer} - {"revised"}
    for result in results:
        assert names("Result") | {"type"} == set(result)
    assert f"| `format` | {store.FORMAT} |" in PAGE
    assert f"take format {store.FORMAT} " in PAGE


def test_the_limits_are_those_of_the_reader() -> None:
    assert f"more than {store.LONGEST >> 20} MiB" in PAGE
    assert f"more than {store.LIMIT >> 30} GiB" in PAGE


def test_every_format_is_told() -> None:
    written = [name.strip("`") for name, *_ in rows("format | what it is | where it goes")]
    assert written == [*FORMATS]


def test_every_change_is_told_and_whether_it_is_for_the_worse() -> None:
    told = {name: worse == "yes" for name, worse in rows("change | regression")}
    for kind in ChangeKind:
        (worse,) = [
            worse
            for name, worse in told.items()
            if kind in re.split(r"; |: |, (?=not compared)", name) or name.startswith(kind)
        ]
        assert worse is (kind in REGRESSIONS), kind
