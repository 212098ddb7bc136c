"""What the repository promises about itself: the README's commands and the import layers."""

import random
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import PARTS

ROOT = Path(__file__).parent.parent


def readme_blocks() -> list[list[str]]:
    """Each fenced block of the README as its lines, in order."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    return [block.splitlines() for block in blocks]


def test_the_first_block_of_the_readme_is_two_commands_that_set_themselves_up():
    commands = readme_blocks()[0]
    assert len(commands) == 2
    for command in commands:
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert commands[0].endswith("&& .venv/bin/opcheck run --level smoke")
    assert commands[1].endswith("&& .venv/bin/pytest")


@pytest.mark.gate
def test_the_source_distribution_builds_the_wheel_and_has_no_reports(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("opcheck-*.tar.gz")
    with tarfile.open(sdist) as tar:
        tar.extractall(tmp_path, filter="data")
    (sources,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert not (sources / "reports").exists()
    subprocess.run([*build, "-t", "wheel"], cwd=sources, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("opcheck-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = {*packed.namelist()}
    # What the wheel of this checkout has, folder by folder.
    folders = {
        "opcheck": ROOT / "opcheck",
        "opcheck/_cases": ROOT / "cases",
        "opcheck/_examples": ROOT / "examples",
    }
    assert "opcheck/_workflows/opcheck.yml" in names
    for inside, folder in folders.items():
        shipped = (path for path in folder.rglob("*") if path.is_file())
        for path in (path for path in shipped if "__pycache__" not in path.parts):
            assert f"{inside}/{path.relative_to(folder).as_posix()}" in names


def test_no_file_is_larger_than_a_megabyte_and_reports_are_small():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    sizes = {
        name: (ROOT / name).stat().st_size
        for name in listed.stdout.decode().split("\0")
        if name and (ROOT / name).is_file()
    }
    assert {name for name, size in sizes.items() if size > 1_000_000} == set()
    reports = {name: size for name, size in sizes.items() if name.startswith("reports/")}
    assert sum(reports.values()) < 12_000_000
    assert sum(size for name, size in reports.items() if "/results/" in name) < 3_000_000


@pytest.mark.skipif(sys.platform == "win32", reason="the gate is a bash script")
def test_the_gate_takes_its_commands_from_the_readme():
    gate = subprocess.run(
        ["bash", ".ci/run", "commands"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert gate.stdout.splitlines() == readme_blocks()[0]


@pytest.mark.skipif(sys.platform == "win32", reason="the gate is a bash script")
@pytest.mark.parametrize(
    ("size", "count", "message"),
    [
        (900_000, 1, ""),
        (1_000_001, 1, "files above 1000000 bytes: 1000001 data0"),
        (900_000, 6, "last commit adds"),
    ],
)
def test_the_gate_refuses_a_large_file_and_a_large_commit(tmp_path, size, count, message):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    shutil.copy(ROOT / "README.md", tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    commit = [*git, "commit", "-q", "--no-verify", "-m"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*commit, "first"], check=True)
    for number in range(count):
        # Random bytes are not made smaller by packing.
        (tmp_path / f"data{number}").write_bytes(random.Random(number).randbytes(size))
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*commit, "data"], check=True)
    gate = subprocess.run(
        ["bash", ".ci/run", "size"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert gate.returncode == (1 if message else 0), gate.stderr
    assert message in gate.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the gate is a bash script")
def test_the_whole_gate_with_an_argument_does_only_that(tmp_path):
    (tmp_path / ".ci").mkdir()
    for name in ("run", "whole"):
        shutil.copy(ROOT / ".ci" / name, tmp_path / ".ci")
    (tmp_path / ".ci" / "interpreters").write_text("exit 7\n", encoding="utf-8")
    shutil.copy(ROOT / "README.md", tmp_path)
    gate = subprocess.run(
        ["bash", ".ci/whole", "commands"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert gate.returncode == 0, gate.stderr
    assert gate.stdout.splitlines() == readme_blocks()[0]


def test_the_gate_has_as_many_parts_as_pytest_deals():
    assert f"\nparts={PARTS}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_import_layers_hold():
    program = (
        "import sys; from importlinter.cli import lint_imports; "
        "sys.exit(lint_imports(no_cache=True))"
    )
    lint = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert lint.returncode == 0, lint.stdout + lint.stderr
