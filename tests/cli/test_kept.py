"""The last runs of a folder are kept, and used where no run is named; never in CI."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opcheck import suite
from opcheck.cli import kept as kept_runs
from tests.wording import lines_with

#: ONNX's reference computes Hardmax-11 as version 13.
CASES = """\
op: Hardmax
opset: 11
dtype: float32
clause: coerced into a 2-dimensional tensor
attrs: {axis: 1}
cases:
- {name: right, inputs: {input: [[1, 5]]}, expect: {output: [[0, 1]]}}
- {name: wrong, inputs: {input: [[[1, 5], [5, 2]]]}, expect: {output: [[[0, 1], [0, 0]]]}}
"""
RUN = ("run", "cases.yaml", "-b", "reference", "--no-known")


@pytest.fixture
def kept(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Path]]:
    """A function that lists the kept files, in a cache of the test's own."""
    (tmp_path / "cases.yaml").write_text(CASES)
    monkeypatch.delenv("OPCHECK_KEEP")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda: sorted((tmp_path / "cache" / "opcheck" / "runs").glob("*/*"))


def runs_in(files: list[Path]) -> list[Path]:
    """Return the files that are runs."""
    return [path for path in files if path.name.endswith(".jsonl.gz")]


def cases_in(output: str) -> list[str]:
    """Return the cases of the results in JSON lines."""
    records = map(json.loads, output.splitlines())
    return [record["case"] for record in records if record["type"] == "result"]


def test_the_last_run_is_shown_and_what_failed_in_it_is_run_again(run, kept) -> None:
    run(*RUN, code=1)
    assert len(runs_in(kept())) == 1
    run("report", code=1)
    shown = run("report", "--format", "json", code=1)
    assert cases_in(shown.stdout) == ["Hardmax/right", "Hardmax/wrong"]
    again = run(*RUN, "--lf", "--format", "json", code=1)
    assert cases_in(again.stdout) == ["Hardmax/wrong"]
    # That was the last run now.
    assert cases_in(run("report", "--format", "json", code=1).stdout) == ["Hardmax/wrong"]


#: As `wrong`, of another name, and a case that passes.
OTHER = CASES.replace("name: right", "name: also_right").replace("name: wrong", "name: also_wrong")


def test_failures_that_a_narrower_run_left_out_are_run_again_until_they_pass(
    run, kept, tmp_path
) -> None:
    (tmp_path / "other.yaml").write_text(OTHER)
    words = ("run", "cases.yaml", "other.yaml", "-b", "reference", "--no-known")
    run(*words, code=1)
    run(*words, "-k", "also_wrong", code=1)
    both = run(*words, "--lf", "--format", "json", code=1)
    assert {*cases_in(both.stdout)} == {"Hardmax/wrong", "Hardmax/also_wrong"}
    # It passes on a matrix, where the versions agree.
    matrix = OTHER.replace("[[[1, 5], [5, 2]]]", "[[1, 5]]")
    (tmp_path / "other.yaml").write_text(matrix.replace("[[[0, 1], [0, 0]]]", "[[0, 1]]"))
    run(*words, "-k", "also_wrong", code=0)
    rest = run(*words, "--lf", "--format", "json", code=1)
    assert cases_in(rest.stdout) == ["Hardmax/wrong"]


def test_earlier_failures_in_other_files_are_left_out_on_purpose(run, kept, tmp_path) -> None:
    (tmp_path / "other.yaml").write_text(OTHER)
    run("run", "other.yaml", "-b", "reference", "--no-known", code=1)
    run(*RUN, code=1)
    found = run(*RUN, "--lf", "--format", "json", code=1)
    assert cases_in(found.stdout) == ["Hardmax/wrong"]


def test_without_the_files_of_the_last_run_the_command_that_names_them_is_printed(
    run, kept
) -> None:
    run(*RUN, code=1)
    again = "opcheck run cases.yaml -b reference --no-known --lf"
    without = ("run", "--op", "Hardmax", "--level", "smoke", "--lf", "--format", "json")
    assert again in run(*without, "-b", "reference", code=4).stderr
    run(*RUN, code=1)
    assert again in run("run", "cases.yaml", "--lf", "--format", "json", code=4).stderr
    run(*RUN, code=1)
    assert again not in run(*RUN, "--lf", "--format", "json", code=1).stderr


@pytest.mark.parametrize("command", ["show", "explain"])
def test_cases_of_the_last_runs_are_shown_without_their_files(run, kept, tmp_path, command) -> None:
    run(command, "Hardmax/wrong", code=2)
    run(*RUN, code=1)
    found = run(command, "Hardmax/wrong", code=0)
    assert "cases.yaml:8:3" in found.stdout
    assert "wrng" in run(command, "Hardmax/wrng", code=2).stderr
    (tmp_path / "cases.yaml").unlink()
    run(command, "Hardmax/wrong", code=2)


def test_a_case_is_shown_of_the_last_run_whose_files_have_it(run, kept, tmp_path) -> None:
    run(*RUN, code=1)
    # A copy has a case of the same id.
    (tmp_path / "copy.yaml").write_text(CASES)
    run("run", "copy.yaml", *RUN[2:], code=1)
    assert "copy.yaml:8:3" in run("show", "Hardmax/wrong", code=0).stdout
    (tmp_path / "copy.yaml").write_text("op: Hardmax\ncases: [")
    assert " cases.yaml:8:3" in run("show", "Hardmax/wrong", code=0).stdout


@pytest.mark.parametrize("spoil", [lambda data: data[:30], lambda data: data[:30] + bytes(30)])
def test_a_kept_run_that_is_damaged_has_no_cases_to_show(run, kept, spoil) -> None:
    run(*RUN, code=1)
    (path,) = runs_in(kept())
    path.write_bytes(spoil(path.read_bytes()))
    run("show", "Hardmax/wrong", code=2)


def test_in_ci_cases_of_the_last_runs_are_not_shown(run, kept, monkeypatch) -> None:
    run(*RUN, code=1)
    monkeypatch.setenv("CI", "true")
    run("show", "Hardmax/wrong", code=2)


def test_failures_of_another_backend_are_its_own(run, kept) -> None:
    run(*RUN, code=1)
    words = ("run", "cases.yaml", "-b", "numpy")
    run(*words, code=0)
    run(*words, "--lf", code=5)
    found = run(*RUN, "--lf", "--format", "json", code=4)
    assert cases_in(found.stdout) == ["Hardmax/wrong"]


def test_a_damaged_list_of_failures_is_none(run, kept, wording) -> None:
    run(*RUN, code=1)
    (failures,) = (path for path in kept() if path.name == "failures.json")
    failures.write_text("[1]")
    found = run(*RUN, "--lf", "--format", "json", code=1)
    assert cases_in(found.stdout) == ["Hardmax/wrong"]
    assert found.stderr.splitlines()[0] == wording


def test_five_runs_of_a_folder_are_kept(run, kept) -> None:
    seen: list[Path] = []
    for _ in range(7):
        run(*RUN, "--case", "Hardmax/right", code=0)
        seen += [path for path in runs_in(kept()) if path not in seen]
    assert runs_in(kept()) == seen[-5:]


def test_a_run_of_nothing_is_not_the_last_one(run, kept) -> None:
    run(*RUN, code=1)
    run(*RUN, "--lf", "-k", "right", code=5)
    assert len(runs_in(kept())) == 1
    assert cases_in(run(*RUN, "--lf", "--format", "json", code=1).stdout) == ["Hardmax/wrong"]


def test_the_command_that_is_printed_has_the_options_of_the_last_run(
    run, kept, tmp_path, wording
) -> None:
    (tmp_path / "own.toml").write_text('[backends.mine]\naddress = "numpy"\n')
    run(*RUN, "--config", "own.toml", "--level", "deep", code=1)
    again = run(*RUN, "--lf", "--format", "json", code=1).stderr
    assert lines_with(again, "--lf") == wording


def test_the_last_run_of_another_folder_is_deleted_last(
    run, kept, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*RUN, code=1)
    (first,) = runs_in(kept())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "cases.yaml").write_text(CASES)
    monkeypatch.chdir(tmp_path / "other")
    # Two runs fit.
    monkeypatch.setattr(kept_runs, "_MOST_BYTES", first.stat().st_size * 2.5)
    run(*RUN, code=1)
    (second,) = (path for path in runs_in(kept()) if path != first)
    run(*RUN, code=1)
    assert first in runs_in(kept())
    assert second not in runs_in(kept())


def test_the_failures_of_a_shipped_operator_are_run_without_the_others(
    run, kept, monkeypatch
) -> None:
    words = ("run", "--op", "Hardmax", "--level", "smoke", "-b", "reference", "--no-known")
    run(*words, code=1)
    read: list[object] = []
    monkeypatch.setattr(suite, "load_all", partial(noted, read, suite.load_all))
    run("run", "-b", "reference", "--no-known", "--lf", code=1)
    assert read == [("Hardmax",)]


def noted(read: list[object], load_all: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Add the operators that are read to a list; return the cases."""
    read.append(options["selection"].ops)
    return load_all(*args, **options)


def test_another_folder_has_runs_of_its_own(run, kept, tmp_path, monkeypatch) -> None:
    run(*RUN, code=1)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    run("report", code=2)


@pytest.mark.parametrize("variable", [("CI", "true"), ("OPCHECK_KEEP", "0")])
def test_nothing_is_kept_in_ci_or_if_it_is_not_wanted(run, kept, monkeypatch, variable) -> None:
    monkeypatch.setenv(*variable)
    run(*RUN, code=1)
    assert not kept()


def test_ci_takes_no_run_that_is_not_named(run, kept, monkeypatch) -> None:
    run(*RUN, code=1)
    monkeypatch.setenv("CI", "1")
    run("report", code=2)
    run(*RUN, "--lf", code=2)


def test_a_cache_that_cannot_be_written_does_not_change_the_verdict(run, kept, tmp_path) -> None:
    (tmp_path / "cache").write_text("no folder")
    found = run(*RUN, code=1)
    assert "not kept" in found.stderr
