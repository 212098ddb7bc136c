"""Parts of a suite: shards, what failed last, and how many cases there must be."""

import re
import shlex
from itertools import count
from pathlib import Path

import pytest

from opcheck.model import Verdict
from opcheck.report import store
from opcheck.report.store import lines
from tests.cli.conftest import notes
from tests.cli.fakes import FAKES, Fake, right
from tests.cli.test_run import CASES
from tests.wording import lines_with

pytestmark = pytest.mark.usefixtures("cases", "many")

#: Cases with failures of several causes, so that what failures look like depends on those before.
MANY = """\
op: Hardmax
dtype: float32
opset: 13
cases:
- name: rows
  matrix: {attrs.axis: [0, 1, -1], inputs.input.seed: [0, 1, 2, 3, 4, 5]}
  inputs: {input: {shape: [4, 5], choice: [1, 2, 3]}}
- name: out_of_range
  inputs: {input: [[1, 2]]}
  attrs: {axis: 2}
  expect: {rejected: "axis 2 is outside [-2, 1]", legal: {attrs.axis: 1}}
"""
BACKENDS = ["-b", "right", "-b", "last_of_ties", "-b", "lacks_float32"]
_PREPARED: list[object] = []


@pytest.fixture
def many(run, tmp_path):
    (tmp_path / "many.yaml").write_text(MANY)


def kept(name="run.jsonl"):
    return store.read(Path(name))


def test_a_shard_knows_what_it_is_part_of(run, wording):
    found = run("run", "many.yaml", "-b", "right", "--shard", "2/4", "--report", "json=run.jsonl")
    head = kept().header
    assert (head.shard, head.suite.cases) == ((2, 4), 19)
    assert 4 <= head.cases <= 6
    assert len(kept().records) == head.cases
    assert kept().complete
    assert found.stdout.splitlines()[-1] == wording


@pytest.mark.parametrize(
    "shard", ["0/2", "3/2", "1/0", "1", "a/b", "1/2/3", "-1/2", "1.0/2", "½/2"]
)
def test_what_is_no_shard_is_told(run, shard):
    found = run("run", "cases.yaml", "-b", "right", f"--shard={shard}", code=2)
    assert "Invalid value for '--shard'" in found.stderr


def test_only_what_failed_last_is_run(run, wording):
    run("run", "cases.yaml", "-b", "right", "-b", "narrow", "--report", "json=last")
    failed = {one.case for one in kept("last").records if one.verdict is Verdict.FAIL}
    words = ["run", "cases.yaml", "-b", "narrow", "--last-failed", "last"]
    run(*words, "--report", "json=run.jsonl")
    assert {one.case for one in kept().records} == failed
    assert kept().header.selection == wording
    assert len(failed) == 4


def test_it_is_about_the_backends_asked_for(run, wording):
    run("run", "cases.yaml", "-b", "right", "-b", "narrow", "--report", "json=last")
    run("run", "cases.yaml", "-b", "right", "--lf", "last", "--report", "json=run.jsonl")
    assert [one.name for one in kept().records] == ["nan"]
    assert run("run", "cases.yaml", "-b", "flat", "--lf", "last", code=2).stderr == wording


def test_what_fails_only_under_strict_failed_under_strict(run):
    words = ["cases.yaml", "-b", "last_of_ties", "-k", "subnormal"]
    run("run", *words, "--report", "json=lenient")
    run("run", *words, "--strict", "--report", "json=strict")
    assert run("run", *words, "--lf", "lenient").exit_code == 5
    assert run("run", *words, "--lf", "strict").exit_code == 0


def test_a_case_that_failed_and_is_gone_leaves_the_run_incomplete(run, tmp_path):
    run("run", "cases.yaml", "-b", "narrow", "--report", "json=last")
    gone = "1 case that failed in last is not among those selected: Hardmax/ties"
    (tmp_path / "cases.yaml").write_text(CASES.replace("name: ties", "name: equals"))
    for words in ([], ["-k", "not nan"]):
        found = run("run", "cases.yaml", "-b", "narrow", "--lf", "last", *words, code=4)
        assert notes(found) == f"opcheck: {gone}\n"
        assert found.stdout.splitlines()[-1].startswith(f"exit 4: incomplete: {gone}; ")


def test_a_case_that_passes_does_not_make_up_for_one_that_is_gone(run, tmp_path, wording):
    run("run", "cases.yaml", "-b", "narrow", "--report", "json=last")
    (tmp_path / "cases.yaml").write_text(CASES.replace("name: ties", "name: equals"))
    # The same backend, repaired.
    stored = Path("last").read_text().replace('"narrow"', '"right"')
    Path("last").write_text(stored)
    words = ["run", "cases.yaml", "-b", "right", "--lf", "last", "-k", "not nan"]
    run(*words, "--report", "json=again", code=4)
    assert run("report", "again", code=4).stdout.splitlines()[-1] == wording
    run("merge", "again", "-o", "whole", code=4)


def test_cases_that_a_keyword_leaves_out_are_left_out_on_purpose(run):
    run("run", "cases.yaml", "-b", "narrow", "--report", "json=last")
    stored = Path("last").read_text().replace('"narrow"', '"right"')
    Path("last").write_text(stored)
    found = run("run", "cases.yaml", "-b", "right", "--lf", "last", "-k", "ties", code=0)
    assert not notes(found)


def test_failures_of_a_level_that_is_not_selected_leave_the_run_incomplete(run, tmp_path):
    (tmp_path / "cases.yaml").write_text(CASES.replace("name: ties", "name: ties\n  level: deep"))
    run("run", "cases.yaml", "-b", "narrow", "--level", "deep", "--report", "json=last")
    found = run("run", "cases.yaml", "-b", "narrow", "--lf", "last", code=4)
    assert "Hardmax/ties" in found.stderr


def test_a_backend_that_took_no_part_leaves_the_run_incomplete(run, wording):
    run("run", "cases.yaml", "-b", "right", "-b", "narrow", "--report", "json=last")
    found = run("run", "cases.yaml", "-b", "right", "-b", "flat", "--lf", "last", code=4)
    assert notes(found) == wording


def test_what_was_not_run_is_run_again(run):
    run("run", "cases.yaml", "-b", "falls_back", "--report", "json=last", code=4)
    found = run("run", "cases.yaml", "-b", "falls_back", "--lf", "last", code=4)
    assert "5 not run" in found.stdout


def test_a_last_run_that_is_incomplete_leaves_the_run_incomplete(run, wording):
    run("run", "cases.yaml", "-b", "narrow", "-x", "--report", "json=last")
    found = run("run", "cases.yaml", "-b", "narrow", "--lf", "last", code=4)
    assert notes(found) == wording
    assert found.stdout.splitlines()[-1] == wording


@pytest.mark.parametrize(
    "words",
    [
        ["--lf", "none"],
        ["--lf", "cases.yaml"],
        ["--lf"],
        ["--lf", "last", "--report", "json=last"],
    ],
    ids=" ".join,
)
def test_what_is_no_last_run_is_told(run, words, wording):
    run("run", "cases.yaml", "-b", "narrow", "--report", "json=last")
    before = Path("last").read_bytes()
    assert run("run", "cases.yaml", "-b", "narrow", *words, code=2).stderr == wording
    assert Path("last").read_bytes() == before


def test_another_number_of_cases_than_expected_is_an_error(run, wording):
    words = ["run", "cases.yaml", "-b", "right", "-k", "not nan"]
    assert run(*words, "--expect-cases", "4").exit_code == 0
    found = run(*words, "--expect-cases", "5", "--report", "json=run.jsonl", code=2)
    assert notes(found) == wording
    assert not Path("run.jsonl").exists()


def test_the_number_is_that_of_the_whole_in_every_shard_and_of_all_that_may_fail(run):
    words = ["run", "many.yaml", "-b", "right", "--expect-cases", "19"]
    for part in ("1/1", "1/3"):
        assert run(*words, "--shard", part).exit_code == 0
    assert run(*words[:-1], "6", "--shard", "1/3").exit_code == 2
    run("run", "many.yaml", *BACKENDS, "--report", "json=last")
    assert run(*words, "--lf", "last", "-b", "last_of_ties").exit_code == 1


class Flaky(Fake):
    """Wrong about everything it is prepared for third, sixth and so on."""

    def prepare(self, task):
        _PREPARED.append(task)
        scale = len(_PREPARED) % 3 > 0
        return Fake(lambda task, x: [right(task, x)[0] * scale], self.address).prepare(task)


@pytest.fixture
def flaky(monkeypatch):
    """A backend `flaky`, at its first question."""
    _PREPARED.clear()
    monkeypatch.setitem(FAKES, "flaky", Flaky(right, "flaky"))


@pytest.mark.usefixtures("flaky")
def test_a_flaky_backend_is_red_and_it_is_told_how_often(run, wording):
    words = ["run", "cases.yaml", "-b", "flaky", "-k", "many_ties", "--report", "json=run.jsonl"]
    assert run(*words).exit_code == 0
    found = run(*words, "--repeat", "10", code=1)
    assert found.stdout.startswith("UNSTABLE flaky  Hardmax/many_ties\n")
    assert re.search(r"   3 of 10: .*; 7 of 10: pass$", found.stdout, re.MULTILINE)
    assert "  times   10: 7 pass, 3 fail\n" in found.stdout
    assert found.stdout.splitlines()[-1] == wording
    [record] = kept().records
    assert record.verdicts == {Verdict.PASS: 7, Verdict.FAIL: 3}
    assert kept().header.options == {"repeat": "10"}
    [command] = re.findall(r"^  repeat  opcheck (.*)$", found.stdout, re.MULTILINE)
    assert shlex.split(command)[-2:] == ["--repeat", "10"]
    again = run("report", "run.jsonl")
    assert (again.stdout, again.exit_code) == (found.stdout, 1)
    assert "times   10: 7 pass, 3 fail" in run("report", "run.jsonl", "--format", "junit").stdout
    assert [*lines(kept())] == Path("run.jsonl").read_text().splitlines()


NEAR = """\
op: Hardmax
opset: 13
dtype: float32
cases:
- name: near
  tolerance: {atol: 0.1}
  attrs: {axis: -1}
  inputs: {input: [[1, 3, 2], [4, 4, 0]]}
"""


def drifting() -> Fake:
    """A backend whose runs are all right, and none like the one before."""
    runs = count(1)
    return Fake(lambda task, x: [abs(right(task, x)[0] - x.dtype.type(next(runs) / 256))], "drifts")


def test_answers_that_differ_and_are_right_are_red_only_where_asked_for(
    run, tmp_path, monkeypatch, wording
):
    (tmp_path / "near.yaml").write_text(NEAR)
    monkeypatch.setitem(FAKES, "drifts", drifting())
    words = ["run", "near.yaml", "-b", "drifts", "-b", "right", "--report", "json=run.jsonl"]
    found = run(*words)
    assert found.exit_code == 0
    assert lines_with(found.stdout, "1 not reproducible") == wording
    assert lines_with(found.stdout, "red with --require-reproducible") == wording
    assert [one.irreproducible for one in kept().records] == [True, False]
    assert run("report", "run.jsonl").stdout == found.stdout

    monkeypatch.setitem(FAKES, "drifts", drifting())
    found = run(*words, "--require-reproducible")
    assert found.exit_code == 1
    assert found.stdout.splitlines()[-1] == wording
    assert lines_with(found.stdout, "found   not reproducible") == wording
    assert kept().header.options == {"require-reproducible": "yes"}
    [command] = re.findall(r"^  repeat  opcheck (.*)$", found.stdout, re.MULTILINE)
    assert shlex.split(command)[-1] == "--require-reproducible"
    assert run("report", "run.jsonl").exit_code == 1


def test_hidden_case_files_are_left_out_and_named(run, tmp_path, wording):
    folder = tmp_path / "mine"
    (folder / ".hidden").mkdir(parents=True)
    inputs = "{input: {dtype: float32, value: [1]}}"
    text = f"op: Identity\ncases:\n- {{name: one, opset: 13, inputs: {inputs}}}\n"
    (folder / "seen.yaml").write_text(text)
    (folder / ".hidden" / "b.yaml").write_text(text)
    for words in (("run", "mine", "-b", "right"), ("list", "mine")):
        assert notes(run(*words)) == wording
