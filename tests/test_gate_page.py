"""The recipes of docs/gate.md work: their shell steps are taken from the page, and run."""

import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from opcheck.errors import Exit
from opcheck.report import store
from tests.shell import ROOT, shell

PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
(WORKFLOW,) = [
    yaml.load(text, yaml.BaseLoader) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
]
PLAIN, COMPARED, WHEEL, SPEED = SHELL

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")

HEAD = "op: Hardmax\nopset: 13\ndtype: float32\nattrs: {axis: 1}\ncases:\n"
TIES = "- {name: ties, inputs: {input: [[3, 3, 1]]}, expect: {output: [[1, 0, 0]]}}\n"
NONE = "- {name: none, inputs: {input: [[3, 2, 1]]}, expect: {output: [[1, 0, 0]]}}\n"
RIGHT, WRONG = (f"py:tests.cli.fakes:{name}" for name in ("RIGHT", "LAST_OF_TIES"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two cases, a right backend `mine`, and what it did of old."""
    (tmp_path / "my.yaml").write_text(HEAD + TIES + NONE, encoding="utf-8")
    mine(tmp_path, RIGHT)
    return tmp_path


def mine(folder: Path, address: str) -> None:
    """From now on `mine` is the backend of this address."""
    (folder / "opcheck.toml").write_text(f'[backends.mine]\naddress = "{address}"\n')


def last(printed: str) -> str:
    return printed.splitlines()[-1]


# ── in a shell ────────────────────────────────────────────────────────────────────────────────
def test_a_plain_gate_is_green_for_a_right_backend_and_all_cases_only(folder: Path) -> None:
    status, printed = shell(folder, PLAIN)
    assert (status, last(printed)) == (0, "exit 0: conforms: 2 results, nothing unexpected")
    assert "<testsuites" in (folder / "new.xml").read_text()
    mine(folder, WRONG)
    assert shell(folder, PLAIN)[0] == 1
    (folder / "my.yaml").write_text(HEAD + NONE)
    status, printed = shell(folder, PLAIN)
    assert status == 2
    assert "opcheck: --expect-cases 2: there is 1 case (level core)" in printed


def test_a_gate_that_compares_lets_old_failures_pass_and_no_new_one(folder: Path) -> None:
    mine(folder, WRONG)
    status, printed = shell(folder, COMPARED)
    assert status == 2
    assert "main.jsonl: this file cannot be read" in printed
    (folder / "new.jsonl").rename(folder / "main.jsonl")
    status, printed = shell(folder, COMPARED)
    told = "exit 0: no regression: 2 results are as they were; 1 failing in both"
    assert (status, last(printed)) == (0, told)
    mine(folder, "py:tests.cli.fakes:NARROW")
    status, printed = shell(folder, COMPARED)
    assert status == 1
    assert "1 newly failing" in last(printed)
    # What cannot be used leaves no run of before, not even for a shell that goes on.
    mine(folder, "py:tests.cli.nowhere:NONE")
    status, printed = shell(folder, COMPARED)
    assert status == 2
    assert "regression" not in printed
    assert shell(folder, "opcheck diff main.jsonl new.jsonl")[0] == 2


# ── on GitHub ─────────────────────────────────────────────────────────────────────────────────
SHARDS = WORKFLOW["jobs"]["shard"]["strategy"]["matrix"]["shard"]


def step(job: str, name: str) -> str:
    """What a step runs."""
    (found,) = [one for one in WORKFLOW["jobs"][job]["steps"] if one.get("name") == name]
    return str(found["run"])


def run_shard(folder: Path, number: str) -> tuple[int, str]:
    # As GitHub runs a step: https://docs.github.com/actions/reference/workflow-syntax
    commands = step("shard", "run").replace("${{ matrix.shard }}", number)
    return shell(folder, f"set -e\n{commands}")


def run_gate(folder: Path) -> tuple[list[int], str]:
    """Exit statuses of `join` and `judge`, and what they print."""
    joined, said = shell(folder, f"set -e\n{step('gate', 'join')}")
    summary = f"export GITHUB_STEP_SUMMARY={folder}/summary.md\n"
    judged, printed = shell(folder, f"set -e\n{summary}{step('gate', 'judge')}")
    return [joined, judged], said + printed


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the shards of six cases have run."""
    folder = tmp_path_factory.mktemp("workflow")
    cases = "".join(TIES.replace("ties", f"ties_{n}") for n in range(3))
    cases += "".join(NONE.replace("none", f"none_{n}") for n in range(3))
    (folder / "my.yaml").write_text(HEAD + cases)
    mine(folder, RIGHT)
    for number in SHARDS:
        assert run_shard(folder, number)[0] == 0
    return folder


@pytest.fixture
def workflow(shards: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(shards, tmp_path / "workflow"))


def test_shards_are_joined_and_judged(workflow: Path) -> None:
    statuses, printed = run_gate(workflow)
    assert statuses == [0, 0]
    assert last(printed) == "exit 0: conforms: 6 results, nothing unexpected"
    assert "conforms" in (workflow / "summary.md").read_text()


def test_a_failure_in_one_shard_is_red_at_the_gate_and_an_annotation(workflow: Path) -> None:
    mine(workflow, WRONG)
    found = [run_shard(workflow, number) for number in SHARDS]
    assert [status for status, _ in found] == [0, 0, 0]
    assert any("::error file=my.yaml,line=" in printed for _, printed in found)
    statuses, printed = run_gate(workflow)
    assert statuses == [0, 1]
    assert "exit 1: does not conform: 3 fail" in printed
    assert "3 fail" in (workflow / "summary.md").read_text()


def test_a_shard_that_was_killed_or_did_not_come_or_came_twice_is_red(workflow: Path) -> None:
    second = workflow / "shard-2.jsonl"
    text = second.read_text()
    second.write_text(text[: len(text) // 2])
    statuses, printed = run_gate(workflow)
    assert statuses == [4, 4]
    assert "shard-2.jsonl was cut short" in printed
    second.unlink()
    statuses, printed = run_gate(workflow)
    assert statuses == [4, 4]
    assert "shard 2 of 3 is missing" in printed
    (workflow / "run.jsonl").unlink()
    (workflow / "shard-1-again.jsonl").write_text((workflow / "shard-1.jsonl").read_text())
    statuses, printed = run_gate(workflow)
    assert statuses == [2, 2]
    assert "results that stand in both" in printed


def test_cases_that_were_lost_are_red_in_a_shard_already(workflow: Path) -> None:
    text = (workflow / "my.yaml").read_text().splitlines(keepends=True)
    (workflow / "my.yaml").write_text("".join(text[:-3]))
    status, printed = run_shard(workflow, SHARDS[0])
    assert status == 2
    assert "--expect-cases 6: there are 3 cases" in printed


def test_the_gate_is_not_skipped_where_a_shard_fails() -> None:
    gate = WORKFLOW["jobs"]["gate"]
    assert (gate["needs"], gate["if"]) == ("shard", "always()")
    assert len(SHARDS) == int(re.findall(r"matrix.shard }}/(\d+)", step("shard", "run"))[0])
    assert WORKFLOW["jobs"]["shard"]["strategy"]["fail-fast"] == "false"


def test_what_is_not_tried_is_listed() -> None:
    told = PAGE[PAGE.index("## What of this page is tried") :]
    steps: list[dict[str, Any]] = [one for job in WORKFLOW["jobs"].values() for one in job["steps"]]
    for one in steps:
        if "uses" in one:
            name = one["uses"].removeprefix("actions/").partition("@")[0]
            assert f"`{name}`" in told
        elif one["name"] == "install":
            assert "the steps `install`" in told
        else:
            assert one["name"] in ("run", "join", "judge")
    assert "`${{ matrix.shard }}`" in told
    # Nothing else stands in braces, and no step is written in another language.
    assert {*re.findall(r"\$\{\{.*?\}\}", PAGE)} == {"${{ matrix.shard }}"}
    assert {*re.findall(r"```(\w+)", PAGE)} == {"sh", "yaml"}


# ── a wheel ───────────────────────────────────────────────────────────────────────────────────
MYLIB = """
from tests.cli.fakes import {fake}, Fake

def backend():
    return Fake({fake}.function, "mylib", version="{says}")
"""


def wheel(folder: Path, version: str, fake: str, says: str | None = None) -> None:
    """The only wheel in `dist`: a backend `mylib`."""
    dist = folder / "dist"
    dist.mkdir(exist_ok=True)
    for old in dist.iterdir():
        old.unlink()
    about = f"mylib-{version}.dist-info"
    files = {
        "mylib.py": MYLIB.format(fake=fake, says=says or version),
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: mylib\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[opcheck.backends]\nmylib = mylib:backend\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(dist / f"mylib-{version}-py3-none-any.whl", "w") as file:
        for name, text in files.items():
            file.writestr(name, text)


@pytest.mark.gate
def test_a_wheel_is_held_against_the_last_release(folder: Path) -> None:
    wheel(folder, "1.0", "RIGHT")
    assert shell(folder, WHEEL)[0] == 2  # no release to hold it against
    assert store.read(folder / "new.jsonl").header.backends[0].version == "1.0"
    (folder / "new.jsonl").rename(folder / "release.jsonl")
    wheel(folder, "1.1", "RIGHT")
    status, printed = shell(folder, WHEEL)
    assert (status, last(printed)) == (0, "exit 0: no regression: 2 results are as they were")
    wheel(folder, "1.2", "LAST_OF_TIES")
    status, printed = shell(folder, WHEEL)
    assert status == 1
    assert "1 newly failing" in last(printed)


def test_another_wheel_than_the_one_that_was_built_is_not_judged(folder: Path) -> None:
    wheel(folder, "1.3", "RIGHT", says="1.1")
    status, printed = shell(folder, WHEEL)
    told = "gate: what was judged is not dist/mylib-1.3-py3-none-any.whl"
    assert (status, last(printed)) == (4, told)
    (folder / "dist" / "mylib-1.4-py3-none-any.whl").touch()
    assert shell(folder, WHEEL)[0] == 1


# ── the page ──────────────────────────────────────────────────────────────────────────────────
def test_its_table_of_exit_codes_is_that_of_the_tool() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    # Only timings can be slower.
    assert told == {int(code) for code in Exit} - {int(Exit.SLOWER)}


# ── speed ─────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.gate
@pytest.mark.parametrize(("new", "code"), [(0.004, 3), (0.001, 0)])
def test_a_gate_for_speed_closes_on_a_slower_build_only(folder, new, code):
    spin = "py:tests.backends.isolation.spinning:Spin?seconds="
    (folder / "opcheck.toml").write_text(
        "".join(
            f'[backends.{name}]\naddress = "{spin}{seconds}"\n'
            for name, seconds in (("new", new), ("old", 0.002))
        )
    )
    (folder / "my.yaml").write_text(HEAD + TIES)
    status, printed = shell(folder, SPEED)
    assert status == code, printed
    assert last(printed).endswith("; 0 of 1 unclear")
