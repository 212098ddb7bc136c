"""What the repository promises about itself: the README's commands and the import layers."""

import re
import subprocess
import sys
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


@pytest.mark.skipif(sys.platform == "win32", reason="the gate is a bash script")
def test_the_gate_takes_its_commands_from_the_readme():
    gate = subprocess.run(
        ["bash", ".ci/run", "commands"], cwd=ROOT, capture_output=True, text=True, check=True
    )
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
