"""A gate with a ledger of known failures, as a vendor of a backend lives with it."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.fakes import FAKES, Fake, last_of_ties
from tests.wording import lines_with

CASES = """\
op: Hardmax
matrix: {opset: [11, 13], dtype: [float32]}
attrs: {axis: 1}
cases:
- {name: ties, inputs: {input: [[3, 3, 1]]}, expect: {output: [[1, 0, 0]]}}
- {name: two_ties, inputs: {input: [[1, 3, 3]]}, expect: {output: [[0, 1, 0]]}}
- {name: all_tie, inputs: {input: [[3, 3]]}, expect: {output: [[1, 0]]}}
- {name: none, inputs: {input: [[3, 2, 1]]}, expect: {output: [[1, 0, 0]]}}
- name: out_of_range
  attrs: {axis: 2}
  inputs: {input: [[1, 2]]}
  expect: {rejected: "axis 2 is outside [-2, 1]", legal: {attrs.axis: 1}}
"""


@pytest.fixture
def cases(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "my.yaml").write_text(CASES)
    return tmp_path


TIES = """\
backend: last_of_ties
known:
- verdict: fail
  cause: Ties go to the last maximum.
  where:
  - {op: Hardmax, name: [ties, two_ties, all_tie, out_of_range]}
"""


def test_in_ci_nothing_is_added(run, cases, wording):
    words = ("run", "my.yaml", "-q", "-b", "last_of_ties", "--update-known", "mine.yaml")
    assert run(*words, CI="true", code=1).stderr == wording
    assert not (cases / "mine.yaml").exists()
    found = run(*words, CI="false")
    assert (found.exit_code, found.stderr) == (1, "opcheck: mine.yaml: 8 results listed\n")


def test_the_gate_that_comes_next_is_named_and_green(run, cases):
    words = ("run", "my.yaml", "-b", "last_of_ties", "-k", "ties or two_ties", "--opset", "13")
    found = run(*words, "--update-known", "mine.yaml", code=1)
    (gate,) = [line for line in found.stdout.splitlines() if "--known mine.yaml" in line]
    command, *asked = shlex.split(gate, comments=True)
    assert command == "opcheck"
    assert {*words} | {"--known", "mine.yaml"} == {*asked}
    assert run(*asked, code=0).exit_code == 0


def test_what_passes_stays_listed_unless_pruned(run, cases, wording):
    (cases / "mine.yaml").write_text(TIES.replace("out_of_range]", "out_of_range, none]"))
    words = ("run", "my.yaml", "-q", "-b", "last_of_ties", "--update-known", "mine.yaml")
    found = run(*words, CI="1")
    assert found.stderr == wording
    found = run(*words, "--prune-known", CI="1", code=1)
    assert found.stderr == wording
    found = run("run", "my.yaml", "-q", "-b", "last_of_ties", "--known", "mine.yaml", code=0)


def test_what_is_pruned_because_its_file_was_not_read_is_told(run, cases, wording):
    more = "- {verdict: unsupported, cause: None yet., where: [{op: Softmax, name: zeros}]}\n"
    (cases / "mine.yaml").write_text(TIES + more)
    words = ("run", "-q", "-b", "last_of_ties", "--update-known", "mine.yaml", "--prune-known")
    assert run(*words, "my.yaml").stderr == wording
    assert (cases / "mine.yaml").read_bytes() == TIES.encode()


def test_a_ledger_of_which_each_line_was_deleted_lists_nothing(run, cases, wording):
    # With the ends of lines that it has, it is written too.
    empty = f"{TIES.partition('known:')[0]}known:\n".replace("\n", "\r\n")
    (cases / "mine.yaml").write_bytes(empty.encode())
    words = ("run", "my.yaml", "-q", "-b", "last_of_ties")
    out = run(*words, "--known", "mine.yaml", code=1).stdout
    assert lines_with(out, "exit 1: does not") == wording
    run(*words, "--update-known", "mine.yaml")
    lines = (cases / "mine.yaml").read_bytes().splitlines(keepends=True)
    assert len(lines) > 3
    assert all(line.endswith(b"\r\n") for line in lines)
    assert run(*words, "--known", "mine.yaml").exit_code == 0


def test_what_somebody_wrote_meanwhile_is_not_lost(run, cases, monkeypatch, wording):
    (cases / "mine.yaml").write_text("backend: last_of_ties\nknown: []\n")
    monkeypatch.setitem(FAKES, "last_of_ties", Fake(while_somebody_writes, "last_of_ties"))
    words = ("run", "my.yaml", "-q", "-b", "last_of_ties", "--update-known", "mine.yaml")
    assert run(*words).stderr == wording
    assert (cases / "mine.yaml").read_bytes() == TIES.encode()


def while_somebody_writes(task, x):
    Path("mine.yaml").write_text(TIES)
    return last_of_ties(task, x)


def test_a_ledger_that_is_up_to_date_is_not_written(run, cases, wording):
    (cases / "mine.yaml").write_text(TIES)
    (cases / "mine.yaml").chmod(0o600)
    before = (cases / "mine.yaml").stat()
    found = run("run", "my.yaml", "-q", "-b", "last_of_ties", "--update-known", "mine.yaml")
    assert found.exit_code == 0
    assert found.stderr == wording
    after = (cases / "mine.yaml").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_after_a_run_in_which_not_all_was_judged_nothing_is_written(run, cases, wording):
    words = ("run", "my.yaml", "-q", "-b", "falls_back", "--update-known", "mine.yaml")
    found = run(*words, code=4)
    assert found.stderr == wording
    assert not (cases / "mine.yaml").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--prune-known"],
        ["--update-known", "mine.yaml", "-x"],
        ["--update-known", "mine.yaml", "--max-fail", "3"],
        ["--update-known", "no/mine.yaml"],
        ["--update-known", "."],
        ["--update-known", "my.yaml"],
        ["--update-known", "a", "--report", "json=a"],
        ["--known", "a", "--report", "json=a"],
        ["--update-known", "mine.yaml", "-b", "right"],
        ["--known", "gone.yaml"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_told_before_anything_runs(run, cases, words, wording):
    found = run("run", "my.yaml", "-b", "last_of_ties", *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == wording


def test_a_ledger_that_lies_is_refused(run, cases, wording):
    (cases / "mine.yaml").write_text(TIES.replace("two_ties", "to_ties"))
    found = run("run", "my.yaml", "-b", "last_of_ties", "--known", "mine.yaml")
    assert (found.exit_code, found.stdout) == (2, "")
    assert re.search(r"^mine.yaml:6:\d+: ", found.stderr)
    assert found.stderr == wording


@pytest.mark.parametrize(
    "selection",
    [["-k", "none"], ["--opset", "11"], ["--case", "Hardmax/none@opset=11,dtype=float32"]],
)
def test_what_a_selection_leaves_out_is_not_missed(run, cases, selection):
    (cases / "mine.yaml").write_text(TIES)
    run("run", "my.yaml", "-b", "last_of_ties", "--known", "mine.yaml", *selection, code=0)


def test_a_ledger_of_one_backend_excuses_no_other(run, cases):
    (cases / "mine.yaml").write_text(TIES)
    both = ("run", "my.yaml", "-q", "--known", "mine.yaml", "-b", "last_of_ties", "-b", "right")
    assert run(*both).exit_code == 0
    run(*both, "-b", "twice", code=1)
    # Nor is another held to it: what it lacks was red for nobody before.
    assert run(*both, "-b", "lacks_float32").exit_code == 5


def test_every_rendering_tells_it(run, cases, wording):
    (cases / "mine.yaml").write_text(TIES.replace("out_of_range]", "out_of_range, none]"))
    forms = ["junit=r.xml", "markdown=r.md", "github=r.txt", "json=r.jsonl"]
    reports = [word for form in forms for word in ("--report", form)]
    found = run("run", "my.yaml", "-b", "last_of_ties", "--known", "mine.yaml", *reports)
    assert found.stdout.splitlines()[-1] == wording
    for file in ("r.xml", "r.md", "r.txt"):
        text = (cases / file).read_text().replace("&#95;", "_")
        assert lines_with(text, "listed in mine.yaml:3 as") == wording, file
    assert "::error file=mine.yaml,line=3,col=1" in (cases / "r.txt").read_text()
    head, *records, footer = map(json.loads, (cases / "r.jsonl").read_text().splitlines())
    assert [*head["ledgers"]] == ["mine.yaml"]
    assert footer["totals"] == {"last_of_ties": {"known": 8, "unexpected pass": 2}}
    passing = [record for record in records if record["verdict"] == "unexpected pass"]
    told = {(r["found"], r["unexpected"], r["known"]["line"]) for r in passing}
    assert told == {("pass", True, 3)}
    again = run("report", "r.jsonl")
    assert (again.exit_code, again.stdout) == (1, found.stdout)
    # Which is no matter of the backend's.
    run("run", "my.yaml", "-q", "-b", "last_of_ties", "--report", "json=old.jsonl")
    assert run("diff", "old.jsonl", "r.jsonl").exit_code == 0
    assert run("merge", "r.jsonl", "-o", "all.jsonl").exit_code == 0
    assert run("report", "all.jsonl").exit_code == 1


def test_a_listed_case_may_pass_if_that_is_allowed(run, cases):
    (cases / "mine.yaml").write_text(TIES.replace("out_of_range]", "out_of_range, none]"))
    words = ("run", "my.yaml", "-b", "last_of_ties", "--known", "mine.yaml")
    run(*words, code=1)
    allowing = (*words, "--allow-unexpected-passes", "--report", "json=r.jsonl")
    found = run(*allowing, code=0)
    assert "2 unexpected pass" in found.stdout
    assert "mine.yaml:3" in found.stdout
    # A stored run goes by what it was told.
    assert run("report", "r.jsonl", code=0).stdout == found.stdout
    # Another failure stays red.
    (cases / "mine.yaml").write_text(TIES.replace("[ties,", "[none,"))
    run(*allowing, code=1)


def test_passes_are_pruned_though_they_are_allowed(run, cases):
    (cases / "mine.yaml").write_text(TIES.replace("out_of_range]", "out_of_range, none]"))
    words = ("run", "my.yaml", "-q", "-b", "last_of_ties", "--update-known", "mine.yaml")
    run(*words, "--allow-unexpected-passes", "--prune-known", code=0)
    assert (cases / "mine.yaml").read_bytes() == TIES.encode()


def test_settings_allow_passes_but_not_in_ci(run, cases):
    (cases / "mine.yaml").write_text(TIES.replace("out_of_range]", "out_of_range, none]"))
    (cases / "opcheck.toml").write_text("[run]\nallow_unexpected_passes = true\n")
    words = ("run", "my.yaml", "-b", "last_of_ties", "--known", "mine.yaml")
    found = run(*words, code=0)
    assert "allow_unexpected_passes = true" in found.stderr
    in_ci = run(*words, CI="1", code=1)
    assert "allow_unexpected_passes = true" not in in_ci.stderr
    assert "allow_unexpected_passes" in in_ci.stderr


def test_what_is_printed_beside_a_stream_does_not_break_it(run, cases):
    words = ("run", "my.yaml", "-b", "last_of_ties", "--update-known", "mine.yaml")
    found = run(*words, "--format", "json")
    assert [json.loads(line)["type"] for line in found.stdout.splitlines()][-1] == "footer"


def test_a_repeat_asks_the_ledger_again(run, cases, wording):
    (cases / "mine.yaml").write_text(TIES.replace("out_of_range]", "out_of_range, none]"))
    found = run("run", "my.yaml", "-b", "last_of_ties", "--known", "mine.yaml")
    repeat = next(line for line in found.stdout.splitlines() if line.startswith("  repeat"))
    assert run(*repeat.split()[2:], code=1).stdout.splitlines()[-1] == wording


@pytest.mark.parametrize(("asked", "written"), [("py:rt", "py:rt"), ("py:rt:Rt", "py:rt")])
def test_a_ledger_is_found_however_its_backend_is_written(run, cases, asked, written):
    code = "class Rt:\n def prepare(self, task): return self\n def run(self, xs): return [xs[0]]\n"
    (cases / "rt.py").write_text(code)
    words = ("run", "my.yaml", "-k", "ties", "-b", asked)
    run(*words, "-q", "--update-known", "mine.yaml")
    text = (cases / "mine.yaml").read_text()
    (cases / "mine.yaml").write_text(text.replace("backend: py:rt:Rt", f"backend: {written}"))
    assert run(*words, "--known", "mine.yaml").exit_code == 0


def test_a_ledger_reads_the_suites_of_its_operators_and_no_others(run, cases, monkeypatch):
    from opcheck import suite

    read: list[tuple[str, ...]] = []

    def load_all(paths, dims, *, selection, inputs):
        read.append(tuple(selection.operators))
        return loaded(paths, dims, selection, inputs)

    loaded = suite.load_all
    monkeypatch.setattr(suite, "load_all", load_all)
    (cases / "mine.yaml").write_text(
        "backend: last_of_ties\nknown:\n- verdict: unsupported\n  cause: Gone.\n"
        "  where: [{op: Softmax, name: bfloat16}]\n"
    )
    words = ("run", "--op", "Hardmax", "-k", "rank_1", "-b", "last_of_ties")
    run(*words, "--known", "mine.yaml")
    run(*words, "--update-known", "new.yaml")
    run(*words)
    assert read == [("Hardmax", "Softmax"), ("Hardmax",), ("Hardmax",)]
