"""What each command imports: `--help` must answer at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opcheck.cli.group import COMMANDS, COMPLETE_VARIABLE
from opcheck.report import store
from tests.report.made import record
from tests.report.runs import run_of

ROOT = Path(__file__).parent.parent
HEAVY = {
    *(
        "jinja2",
        "matplotlib",
        "numpy",
        "ml_dtypes",
        "onnx",
        "onnxruntime",
        "packaging",
        "psutil",
        "pydantic",
        "rich",
        "scipy",
        "yaml",
    ),
    *("importlib.metadata", "multiprocessing", "opcheck.backends.adapters"),
}
#: Selects a case or two.
EXAMPLE = "--op Hardmax -k worked_example"
#: What backends are made of: it belongs in their own processes.
VENDORS = {"onnxruntime", "onnx.reference", "openvino", "torch", "tract"}

PROGRAM = """
import io, sys
lines, real = sys.argv[1:], sys.stdout
for line in lines:
    sys.argv = ["opcheck", *line.split()]
    sys.stdout = io.TextIOWrapper(io.BytesIO())
    from opcheck.cli import main
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    print(*sys.modules, file=real)
"""


def after(*lines: str, **environment: str) -> list[set[str]]:
    """The modules imported once each of these command lines has ended well, in one process."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *lines],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [set(line.split()) for line in found.stdout.splitlines()]


def test_help_imports_nothing_heavy():
    lines = ["--version", "--help", *(f"{name} -h" for name in [*COMMANDS, "golden write"])]
    found = dict(zip(lines, after(*lines), strict=True))
    assert "click" in found["--version"]
    assert {line: modules & HEAVY for line, modules in found.items() if modules & HEAVY} == {}


@pytest.mark.parametrize("line", ["opcheck ", "opcheck run --op So", "opcheck run -b onnx"])
def test_the_tab_key_imports_nothing_heavy(line: str):
    asked = {
        COMPLETE_VARIABLE: "bash_complete",
        "COMP_LINE": line,
        "COMP_LAST": line.split(" ")[-1],
    }
    [found] = after("", **asked)
    assert "opcheck.cli.completion" in found
    # Installed packages may offer backends.
    assert found & HEAVY <= {"importlib.metadata"}


@pytest.mark.gate
def test_a_command_imports_what_it_needs_only():
    # In one process: what a command imports, those after it may.
    spared = {
        "schema": {"onnx", "rich", "opcheck.backends"},
        "list --op Hardmax": {"opcheck.backends"},
        f"run -b numpy {EXAMPLE} --format json": {"opcheck.execution.saving", "ruamel.yaml"},
        # The library of a vendor is imported in a process of its own.
        f"run {EXAMPLE}": {"opcheck.execution.saving"},
    }
    for (line, own), found in zip(spared.items(), after(*spared), strict=True):
        assert "pydantic" in found
        assert not found & (own | VENDORS), line
        assert not {name for name in found if name.startswith("opcheck.backends.adapters.")}
    assert {"numpy", "onnx", "opcheck.backends.isolation.pool"} <= found


@pytest.mark.gate
def test_operators_are_listed_without_loading_a_case():
    [found] = after("list --operators")
    assert not found & {"opcheck.backends", "opcheck.graph", "opcheck.execution", *VENDORS}


def test_a_stored_run_is_shown_without_anything_that_runs_cases(tmp_path):
    path, other = tmp_path / "run.jsonl", tmp_path / "other.jsonl"
    for one in (path, other):
        one.write_text("\n".join(store.lines(run_of(record()))), encoding="utf-8")
    spared = {"onnx", "yaml", "scipy", "opcheck.suite", "opcheck.opset", "opcheck.execution"}
    spared |= VENDORS
    lines = [f"report {path}", f"report {path} --format junit", f"diff {path} {other}"]
    for line, found in zip(lines, after(*lines), strict=True):
        assert not found & spared, line
