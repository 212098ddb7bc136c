"""The recipes of docs/gate.md work: their commands are taken from the page, and run.

Those for CI systems are in test_ci_files.py.
"""

import os
import re
import zipfile
from pathlib import Path

import pytest

from opcheck.errors import Exit
from opcheck.report import store
from tests.shell import ROOT, shell
from tests.wording import lines_with

PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
PLAIN, COMPARED, _, WHEEL, SPEED = SHELL

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals"),
    pytest.mark.processes,
]

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


def test_a_plain_gate_is_green_for_a_right_backend_and_all_cases_only(
    folder: Path, wording
) -> None:
    status, printed = shell(folder, PLAIN)
    assert status == 0
    assert last(printed) == wording
    assert "<testsuites" in (folder / "new.xml").read_text()
    mine(folder, WRONG)
    assert shell(folder, PLAIN)[0] == 1
    (folder / "my.yaml").write_text(HEAD + NONE)
    status, printed = shell(folder, PLAIN)
    assert status == 2
    assert lines_with(printed, "opcheck: --expect-cases 2: there is 1") == wording


def test_a_gate_that_compares_lets_old_failures_pass_and_no_new_one(folder: Path, wording) -> None:
    mine(folder, WRONG)
    status, printed = shell(folder, COMPARED)
    assert status == 2
    assert lines_with(printed, "main.jsonl: this file cannot") == wording
    (folder / "new.jsonl").rename(folder / "main.jsonl")
    status, printed = shell(folder, COMPARED)
    assert status == 0
    assert last(printed) == wording
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
def test_a_wheel_is_held_against_the_last_release(folder: Path, wording) -> None:
    wheel(folder, "1.0", "RIGHT")
    assert shell(folder, WHEEL)[0] == 2  # no release to hold it against
    assert store.read(folder / "new.jsonl").header.backends[0].version == "1.0"
    (folder / "new.jsonl").rename(folder / "release.jsonl")
    wheel(folder, "1.1", "RIGHT")
    status, printed = shell(folder, WHEEL)
    assert status == 0
    assert last(printed) == wording
    wheel(folder, "1.2", "LAST_OF_TIES")
    status, printed = shell(folder, WHEEL)
    assert status == 1
    assert "1 newly failing" in last(printed)


def test_another_wheel_than_the_one_that_was_built_is_not_judged(folder: Path, wording) -> None:
    wheel(folder, "1.3", "RIGHT", says="1.1")
    status, printed = shell(folder, WHEEL)
    assert status == 4
    assert last(printed) == wording
    (folder / "dist" / "mylib-1.4-py3-none-any.whl").touch()
    assert shell(folder, WHEEL)[0] == 1


def test_its_table_of_exit_codes_is_that_of_the_tool() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    # Only timings can be slower.
    assert told == {int(code) for code in Exit} - {int(Exit.SLOWER)}


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
