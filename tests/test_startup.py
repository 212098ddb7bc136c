"""What each command imports: `--help` must answer at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {"numpy", "ml_dtypes", "onnx", "onnxruntime", "packaging", "pydantic", "rich", "yaml"}

PROGRAM = """
import io, sys
sys.argv = ["opcheck", *sys.argv[1:]]
real, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
from opcheck.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*(name for name in sys.modules if "." not in name), file=real)
"""


def imported(*words: str) -> set[str]:
    """The packages that a command line has imported when it ends well."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(found.stdout.split())


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["run", "--help"], ["list", "-h"], ["schema", "-h"]]
)
def test_help_imports_nothing_heavy(words):
    assert "click" in imported(*words)
    assert not imported(*words) & HEAVY


@pytest.mark.parametrize(
    ("words", "spared"),
    [
        (["schema"], {"onnx", "onnxruntime", "rich"}),
        (["list"], {"onnxruntime"}),
        (["run", "-b", "numpy", "-k", "worked_example"], {"onnxruntime"}),
        (["run", "-b", "numpy", "-k", "worked_example", "--format", "json"], {"onnxruntime"}),
    ],
)
def test_a_command_imports_what_it_needs_only(words, spared):
    found = imported(*words)
    assert "pydantic" in found
    assert not found & spared
