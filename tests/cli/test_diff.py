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


def runs_of(keep, tmp_path, old: str, new: str) -> tuple[str, str]:
    """Keep two runs, and give the backend of each another address."""
    for name, address in (("old", old), ("new", new)):
        text = (tmp_path / keep(name, "right")).read_text()
        text = text.replace('"kind":"right"', '"kind":"py"')
        (tmp_path / name).write_text(text.replace('"right"', f'"{address}"'))
    return "old", "new"


@pytest.mark.parametrize("new", ["py:mine:Npu?refuses=false", "py:mine:Npu?threads=2"])
def test_a_backend_with_other_options_is_the_same(run, keep, tmp_path, new) -> None:
    runs = runs_of(keep, tmp_path, "py:mine:Npu", new)
    found = run("diff", *runs, code=0)
    assert "of OLD is" in found.stderr


def test_a_backend_that_became_a_profile_is_the_same(run, keep, tmp_path) -> None:
    old, new = runs_of(keep, tmp_path, "py:mine:Npu", "npu")
    text = (tmp_path / new).read_text()
    (tmp_path / new).write_text(text.replace('"of":null', '"of":"py:mine:Npu?refuses=false"'))
    assert "of OLD is" in run("diff", old, new, code=0).stderr


def test_backends_of_other_names_are_compared_if_both_are_named(run, keep, tmp_path) -> None:
    runs = runs_of(keep, tmp_path, "py:mine:Npu", "py:other:Gpu")
    # A regression in every case would be no help.
    assert "newly failing" not in run("diff", *runs, code=5).stdout
    run("diff", *runs, "--as", "py:mine:Npu=py:other:Gpu", code=0)


@pytest.mark.parametrize("option", ["speed=1", "device=CPU"])
def test_an_option_that_may_choose_another_backend_is_not_passed_over(
    run, keep, tmp_path, option: str
) -> None:
    runs = runs_of(keep, tmp_path, "py:mine:Npu", f"py:mine:Npu?{option}")
    run("diff", *runs, code=5)
    run("diff", *runs, "--as", f"py:mine:Npu=py:mine:Npu?{option}", code=0)


@pytest.mark.parametrize("order", [("right", "last_of_ties"), ("last_of_ties", "right")])
def test_two_backends_of_the_old_run_are_never_one(run, keep, order: tuple[str, str]) -> None:
    """The results of one would hide those of the other."""
    old, new = keep("old", *order), keep("new", "right")
    run("diff", old, new, "--as", "last_of_ties=right", code=2)


@pytest.mark.parametrize("names", ["py:mne:Npu=py:other:Gpu", "py:mine:Npu=gpu", "=gpu", "npu"])
def test_names_of_no_backend_are_an_error(run, keep, tmp_path, names: str) -> None:
    runs = runs_of(keep, tmp_path, "py:mine:Npu", "py:other:Gpu")
    assert not run("diff", *runs, "--as", names, code=2).stdout
