"""`opcheck diff` on runs of small files and fakes."""

from pathlib import Path

import pytest

from tests.wording import lines_with


@pytest.fixture
def renamed(keep, tmp_path):
    """The same, of a backend that goes by the name of another."""

    def renamed(name, backend, *words):
        text = (tmp_path / keep(name, backend, words=words)).read_text()
        (tmp_path / name).write_text(text.replace(f'"{backend}"', '"mine"'))
        return name

    return renamed


def test_a_backend_that_became_wrong_is_a_regression(run, renamed, wording):
    old, new = renamed("old", "right"), renamed("new", "last_of_ties")
    found = run("diff", old, new, code=1)
    assert found.stderr == ""
    lines = found.stdout.splitlines()
    assert lines[0] == "newly failing: 3"
    assert lines[1].split() == ["pass", "→", "fail", "mine", "Hardmax/ties"]
    assert lines[2] == wording
    assert lines[3].strip().startswith("repeat  opcheck run cases.yaml --case Hardmax/ties -b ")
    assert lines[-1].startswith("exit 1: 3 newly failing; ")
    back = run("diff", new, old, code=0)
    assert back.stdout.splitlines()[-1] == wording


def test_the_first_run_of_a_gate_and_the_next(run, renamed, tmp_path, wording):
    old = renamed("old", "right", "-k", "ties")
    new = renamed("new", "right")
    assert run("diff", old, new).exit_code == 1  # one of the new cases fails
    assert run("diff", new, old).exit_code == 4
    out = run("diff", new, old, "--common", code=0).stdout
    assert lines_with(out, "Left out: 3 results") == wording


def test_formats_and_files(run, renamed, tmp_path, wording):
    runs = renamed("old", "right"), renamed("new", "last_of_ties")
    for form in ("pretty", "markdown"):
        printed = run("diff", *runs, "--format", form)
        written = run("diff", *runs, "--format", form, "-o", "out")
        assert (written.exit_code, written.stdout) == (1, "")
        assert Path("out").read_bytes() == printed.stdout_bytes
    out = run("diff", *runs, "--format", "markdown").stdout
    assert lines_with(out, "## opcheck diff: 3 newly") == wording


@pytest.mark.parametrize(
    "words",
    [
        ["old"],
        ["old", "none"],
        ["none", "cases.yaml"],
        ["-", "-"],
        ["old", "old", "-v", "--format", "markdown"],
        ["old", "old", "-o", "old"],
        ["old", "old", "--format", "junit"],
        ["old", "./old"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_told(run, renamed, words, wording):
    renamed("old", "right")
    found = run("diff", *words, code=2)
    assert found.stderr == wording
    assert found.stdout == ""


def test_what_is_wrong_with_both_files_is_told_at_once(run, renamed):
    found = run("diff", "none", "cases.yaml", code=2)
    assert found.stderr.splitlines()[-1].endswith("nothing was done")
