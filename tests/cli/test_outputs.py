"""What a command writes is stale once it starts, and the printed exit code is the real one."""

import fcntl
import os
import re
from pathlib import Path
from textwrap import dedent

import pytest

from opcheck.report import store
from tests.cli.conftest import InlinePool
from tests.cli.test_run import CASES
from tests.execution.golden.made import FOUR

#: Commands that write `out`, by what they write.
COMMANDS = {
    "report": ["run", "cases.yaml", "-b", "right", "--report", "json=out"],
    "glued": ["run", "cases.yaml", "-b", "right", "--report=junit=./out"],
    "saved": ["run", "cases.yaml", "-b", "right", "--save-outputs", "out"],
    "samples": ["bench", "cases.yaml", "-b", "numpy", "--save=out"],
    "page": ["report", "whole", "-oout"],
    "changes": ["diff", "whole", "half", "--output", "out"],
    "whole": ["merge", "whole", "-o", "out"],
    "golden": ["golden", "write", "my.yaml", "--force", "-j", "1", "-o", "out"],
}
MADE = ("report", "saved", "golden")


@pytest.fixture(autouse=True)
def files(run, tmp_path):
    (tmp_path / "cases.yaml").write_text(CASES)
    (tmp_path / "my.yaml").write_text(dedent(FOUR))


def earlier(run, name):
    """The output that an earlier command has left, and what is in it."""
    out = Path("out")
    if name in MADE:
        assert run(*COMMANDS[name]).exit_code in (0, 1)
    else:
        out.write_text("of another day")
    return out, content(out)


def content(path):
    if path.is_file():
        return path.read_bytes()
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.*")}


@pytest.mark.parametrize("wrong", ["--no-such-option", "no such path"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_refused_command_leaves_no_output_of_an_earlier_one(run, name, wrong, wording):
    out, before = earlier(run, name)
    found = run(*COMMANDS[name], wrong, code=2)
    assert not out.exists()
    assert content(Path(f"{out}.stale")) == before
    assert found.stderr == wording
    # Once more, there is nothing to be set aside, and what was is not lost.
    run(*COMMANDS[name], wrong)
    assert content(Path(f"{out}.stale")) == before


@pytest.mark.parametrize("name", MADE)
def test_what_was_set_aside_goes_once_there_is_a_new_output(run, name):
    out, _ = earlier(run, name)
    assert run(*COMMANDS[name], "--no-such-option").exit_code == 2
    for _ in range(2):
        assert run(*COMMANDS[name]).exit_code in (0, 1)
    assert out.exists()
    assert not Path("out.stale").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["run", "cases.yaml", "--report", "json=cases.yaml"],
        ["run", "cases.yaml", "--report", "json=out", "--last-failed", "out"],
        ["run", "cases.yaml", "-b", "saved:out", "--report", "junit=./out"],
        ["bench", "cases.yaml", "--save", "out", "--baseline=out"],
        ["report", "out", "-o", "link"],
        ["merge", "out", "whole", "-o", "out"],
        ["golden", "write", "my.yaml", "-o", "kept"],
        ["golden", "write", "my.yaml", "-o", "kept", "--force"],
        ["run", "cases.yaml", "--save-outputs", "kept"],
        ["run", "cases.yaml", "--report", "json=out", "--help"],
    ],
)
def test_what_is_read_or_not_replaced_stays_where_it_is(run, tmp_path, words):
    (tmp_path / "kept").mkdir()
    for name in ("out", "kept/notes.txt"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "link").symlink_to("out")
    before = content(tmp_path), (tmp_path / "out").read_text()
    assert (run(*words).exit_code == 0) is ("--help" in words)
    assert (content(tmp_path), (tmp_path / "out").read_text()) == before


def test_through_a_link_the_file_is_replaced_and_not_the_link(run, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "run").write_text("of another day")
    (tmp_path / "out").symlink_to("there/run")
    assert run(*COMMANDS["report"]).exit_code == 1
    assert (tmp_path / "out").is_symlink()
    assert store.read(tmp_path / "there" / "run").complete


def test_a_file_that_can_only_be_written_into_is_emptied(run, monkeypatch):
    Path("out").write_text("of another day")
    monkeypatch.setattr(Path, "replace", _busy)
    assert run("run", "nowhere.yaml", "--report", "json=out").exit_code == 2
    assert Path("out").read_text() == ""
    assert run("report", "out").exit_code == 2


def _busy(*_):
    raise OSError(16, "Device or resource busy")


def test_two_commands_do_not_write_one_file(run, wording):
    run("run", "cases.yaml", "-b", "right", "-x", "--report", "json=out")
    before = Path("out").read_bytes()
    with Path("out").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = run(*COMMANDS["report"])
    assert found.exit_code == 4
    assert found.stderr == wording
    assert Path("out").read_bytes() == before


@pytest.mark.parametrize("instead", ["another", "", None])
def test_a_report_that_is_replaced_while_it_is_written_is_no_report(
    run, monkeypatch, instead, wording
):
    ask = InlinePool.ask

    def asked(self, question):
        if instead == "":
            os.truncate("out", 0)
        else:
            Path("out").unlink(missing_ok=True)
        if instead:
            Path("out").write_text(instead)
        return ask(self, question)

    monkeypatch.setattr(InlinePool, "ask", asked)
    found = run("run", "cases.yaml", "-b", "right", "-k", "not nan", "--report", "json=out", code=4)
    assert found.stdout.splitlines()[-1] == wording


@pytest.mark.parametrize(
    "words", [["--update-known", "no/room"], ["--report", "junit=/dev/full"]], ids=" ".join
)
def test_what_cannot_be_written_changes_the_printed_code_too(run, monkeypatch, words):
    Path("no").mkdir()
    words = ["run", "cases.yaml", "-b", "narrow", *words, "--report", "json=kept"]

    def full(path, text, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    for form in ("pretty", "json"):
        found = run(*words, "--format", form)
        printed = re.findall(r'^exit (\d+)|"exit_code":(\d+)', found.stdout, re.MULTILINE)
        assert {int(one or other) for one, other in printed} == {found.exit_code} == {4}
        assert "No space left" in found.output
        kept = store.read(Path("kept"))
        assert kept.complete
        assert kept.ending.exit_code == 4


@pytest.mark.parametrize("words", [["-x"], ["-k", "ties", "--report", "junit=/dev/full"]])
def test_what_github_shows_is_no_other_code(run, words):
    found = run("run", "cases.yaml", "-b", "narrow", "--report", "github=-", *words)
    assert {int(code) for code in re.findall(r"exit (\d+)", found.stdout)} == {found.exit_code}


def test_no_command_prints_an_exit_code_but_where_it_ends():
    """`print_and_exit` does; what reports print is the code that `outcome` or `judged` gives."""
    root = Path(os.path.realpath(store.__file__)).parent.parent
    places = [
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        for _ in re.findall(r'f"exit \{', file.read_text())
    ]
    assert sorted(places) == ["cli/console.py", "report/style.py"]
