"""Files that releases and hosted systems read name the version, the commands and the inputs."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

import opcheck
from opcheck.cli.group import COMMANDS, program
from opcheck.cli.list import SCHEMAS
from opcheck.opset.releases import opsets_of_release
from tests.shell import shell

ROOT = Path(__file__).parent.parent
MINOR = ".".join(opcheck.__version__.split(".")[:2])
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTION = ROOT / "action.yml"


def loaded(file: Path) -> Any:
    """Return a YAML file with all its scalars as texts: YAML takes `on` for a truth value."""
    return yaml.load(file.read_text(encoding="utf-8"), yaml.BaseLoader)


def scripts(file: Path) -> list[str]:
    """Return the shell scripts of all steps of a workflow or an action."""
    tree = loaded(file)
    jobs = tree["jobs"].values() if "jobs" in tree else [tree["runs"]]
    return [step["run"] for job in jobs for step in job.get("steps", ()) if "run" in step]


def test_pins_are_of_this_minor_version() -> None:
    pinned = [
        (file.name, pin)
        for file in [*WORKFLOWS, ACTION, *(ROOT / "docs").glob("*.md"), *ROOT.glob("examples/ci/*")]
        for pin in re.findall(r"opcheck==([\d.*]+)", file.read_text(encoding="utf-8"))
    ]
    assert {name for name, _ in pinned} >= {"opcheck.yml", "action.yml", "gate.md"}
    assert [pin for pin in pinned if pin[1] != f"{MINOR}.*"] == []


def test_the_changelog_and_the_citation_have_this_version() -> None:
    headings = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == opcheck.__version__
    assert loaded(ROOT / "CITATION.cff")["version"] == opcheck.__version__


@pytest.mark.parametrize("file", [*WORKFLOWS, ACTION], ids=lambda file: file.name)
def test_scripts_use_commands_and_options_that_there_are(file: Path) -> None:
    for script in scripts(file):
        for line in re.findall(r"\bopcheck ([a-z].*)", script):
            words = line.split()
            command = program.get_command(None, words[0])  # type: ignore[arg-type]
            assert words[0] in COMMANDS
            assert command is not None
            if words[0] == "golden":
                command = command.commands[words[1]]  # type: ignore[attr-defined]
            known = {name for option in command.params for name in option.opts}
            assert {word for word in words if word.startswith("--")} <= known


def test_golden_archives_are_of_releases_that_onnx_lists() -> None:
    build = "\n".join(scripts(ROOT / ".github/workflows/release.yml"))
    (releases,) = re.findall(r"for release in ([\d. ]+);", build)
    newest = [opsets_of_release(release)[""] for release in releases.split()]
    assert newest == sorted({*newest})
    schemas = re.findall(r"for format in ([a-z ]+);", build)
    assert schemas == [" ".join(SCHEMAS)]


def test_the_action_gives_each_input_to_its_steps() -> None:
    action = loaded(ACTION)
    text = ACTION.read_text(encoding="utf-8")
    assert {name for name in action["inputs"] if f"inputs.{name} " not in text} == set()


@pytest.mark.parametrize("name", ["wrong-verdict", "bug"])
def test_issue_templates_ask_for_fields_of_their_own(name: str) -> None:
    template = loaded(ROOT / ".github/ISSUE_TEMPLATE" / f"{name}.yml")
    ids = [field["id"] for field in template["body"]]
    assert len(ids) == len(set(ids))
    assert "machine" in ids


def test_the_hook_runs_a_command_that_there_is() -> None:
    for hook in loaded(ROOT / ".pre-commit-hooks.yaml"):
        assert hook["entry"].split()[1] in COMMANDS


@pytest.mark.processes
@pytest.mark.skipif(os.name != "posix", reason="a bash script")
@pytest.mark.parametrize(("backend", "code"), [("numpy", 0), ("nowhere", 2)])
def test_the_action_ends_with_the_exit_code_of_the_run(
    tmp_path: Path, backend: str, code: int
) -> None:
    judge = scripts(ACTION)[-1]
    inputs = dict.fromkeys(("KNOWN", "REQUIRE", "SHARD"), "")
    case = "--case 'Softmax/worked_example@opset=13,dtype=float32'"
    inputs |= {"BACKEND": backend, "CASES": "", "OPERATORS": "Softmax", "OPTIONS": case}
    inputs |= {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary.md"}
    inputs["RUNNER_TEMP"] = "."
    stated = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in inputs.items())
    found, output = shell(tmp_path, stated + judge)
    assert found == code, output
    assert (tmp_path / "summary.md").exists() == (code == 0)
    # On macOS, mktemp replaces X only at the end of a name.
    [run] = re.findall(
        r"^run=\./(opcheck-\w+/run\.jsonl)$", (tmp_path / "output").read_text(), re.M
    )
    assert (tmp_path / run).exists() == (code == 0)


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
@pytest.mark.parametrize(
    ("heading", "code"),
    [
        ("## 1.2.0 (2030-01-31)", 0),
        ("## 1.2.0 - 2030-01-31", 0),
        ("## 1.2.0 (unreleased)", 1),
        ("## 1.2.0", 1),
        ("## 1.2.01 (2030-01-31)", 1),
        ("## 1x2.0 (2030-01-31)", 1),
    ],
)
def test_a_release_needs_a_section_of_its_version_with_a_date(
    tmp_path: Path, heading: str, code: int
) -> None:
    (tmp_path / "opcheck").mkdir()
    (tmp_path / "opcheck/__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"{heading}\n\n- New.\n\n## 1.1.0 (2029)\n\n- Old.\n")
    check = scripts(ROOT / ".github/workflows/release.yml")[0]
    found, output = shell(tmp_path, f"set -e\nexport GITHUB_REF_NAME=v1.2.0\n{check}")
    assert found == code, output
    assert "Old." not in (tmp_path / "notes.md").read_text()
