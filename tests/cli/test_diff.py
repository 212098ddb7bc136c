"""`opcheck diff` on runs of small files and fakes."""

from pathlib import Path

import pytest


@pytest.fixture
def renamed(keep, tmp_path):
    """The same, of a backend that goes by the name of another."""

    def renamed(name, backend, *words):
        text = (tmp_path / keep(name, backend, words=words)).read_text()
        (tmp_path / name).write_text(text.replace(f'"{backend}"', '"mine"'))
        return name

    return renamed


def test_a_backend_that_became_wrong_is_a_regression(run, renamed):
    old, new = renamed("old", "right"), renamed("new", "last_of_ties")
    found = run("diff", old, new, code=1)
    assert found.stderr == ""
    lines = found.stdout.splitlines()
    assert lines[0] == "newly failing: 3"
    assert lines[1].split() == ["pass", "→", "fail", "mine", "Hardmax/ties"]
    assert "likely cause: the last of equal maxima won" in lines[2]
    assert lines[3].strip().startswith("repeat  opcheck run cases.yaml --case Hardmax/ties -b ")
    assert lines[-1].startswith("exit 1: 3 newly failing; ")
    back = run("diff", new, old, code=0)
    assert back.stdout.splitlines()[-1].startswith("exit 0: no regression: 3 newly passing")


def test_the_first_run_of_a_gate_and_the_next(run, renamed, tmp_path):
    old = renamed("old", "right", "-k", "ties")
    new = renamed("new", "right")
    assert run("diff", old, new).exit_code == 1  # one of the new cases fails
    assert run("diff", new, old).exit_code == 4
    assert "Left out: 3 results of mine" in run("diff", new, old, "--common", code=0).stdout


def test_formats_and_files(run, renamed, tmp_path):
    runs = renamed("old", "right"), renamed("new", "last_of_ties")
    for form in ("pretty", "markdown"):
        printed = run("diff", *runs, "--format", form)
        written = run("diff", *runs, "--format", form, "-o", "out")
        assert (written.exit_code, written.stdout) == (1, "")
        assert Path("out").read_bytes() == printed.stdout_bytes
    assert "## opcheck diff: 3 newly failing" in run("diff", *runs, "--format", "markdown").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["old"], "Missing argument 'NEW'"),
        (["old", "none"], "none: this file cannot be read: No such file"),
        (["none", "cases.yaml"], "cases.yaml:1:1: this is no stored run"),
        (["-", "-"], "only one run can be on standard input"),
        (["old", "old", "-v", "--format", "markdown"], "-v is for --format pretty, not for mark"),
        (["old", "old", "-o", "old"], "-o old: the same command names this file twice"),
        (["old", "old", "--format", "junit"], "'junit' is not one of"),
        (["old", "./old"], "old and old are one file: nothing can have changed"),
    ],
)
def test_what_makes_no_sense_is_told(run, renamed, words, said):
    renamed("old", "right")
    found = run("diff", *words, code=2)
    assert said in found.stderr
    assert found.stdout == ""


def test_what_is_wrong_with_both_files_is_told_at_once(run, renamed):
    found = run("diff", "none", "cases.yaml", code=2)
    assert found.stderr.splitlines()[-1].endswith("nothing was done")
