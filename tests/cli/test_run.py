"""`opcheck run` on small files and fakes: what a user sees of each kind of answer."""

import json
import re
import shlex

import pytest

import opcheck
from opcheck.report import store
from tests.cli.conftest import notes, without_diagnoses
from tests.cli.fakes import FAKES
from tests.report.made import strict
from tests.wording import lines_with

pytestmark = pytest.mark.usefixtures("cases")

CASES = """\
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: 1}
clause: 1 if the element is the first maximum value along the specified axis, 0 otherwise
cases:
- name: ties
  inputs: {input: [[3, 3, 1], [3, 0, 3]]}
  expect: {output: [[1, 0, 0], [1, 0, 0]]}
- name: many_ties
  inputs: {input: {shape: [6, 5], choice: [-2, -1], seed: 3}}
- name: axis_out_of_range
  clause: Accepted range is [-r, r-1] where r = rank(input).
  inputs: {input: [[1, 2]]}
  attrs: {axis: 2}
  expect: {rejected: "axis 2 is outside [-2, 1]", legal: {attrs.axis: 1}}
- name: nan
  clause: ""
  rule: open
  inputs: {input: [[1, .nan, 3]]}
  expect:
    any_of:
    - {as: first_nan, output: [[0, 1, 0]]}
    - {as: skips_nan, output: [[0, 0, 1]]}
- name: subnormal
  rule: should
  inputs: {input: [[0, 1.0e-40, 1.0e-40]]}
  expect: {output: [[0, 1, 0]]}
"""


EACH = [word for fake in FAKES for word in ("-b", fake)]


@pytest.mark.parametrize("backend", ["last_of_ties", "narrow", "flat", "twice", "lists", "refuses"])
def test_the_failures_of_a_backend(run, snapshot, backend):
    found = run("run", "cases.yaml", "-b", backend, code=1)
    assert notes(found) == ""
    snapshot(f"failures_of_{backend}", found.stdout)


@pytest.mark.parametrize("width", [80, 120])
def test_several_backends(run, snapshot, width):
    found = run("run", "cases.yaml", "-q", *EACH, COLUMNS=str(width))
    snapshot(f"several_backends_{width}", found.stdout)


@pytest.mark.parametrize("backend", ["rude", "declines"])
def test_hostile_words_of_a_backend_are_harmless_and_short(run, backend):
    found = run("run", "cases.yaml", "-b", backend, "-k", "ties")
    for character in "\x1b\x07\x9b\x00\u202e\r":
        assert character not in found.output
    assert "[red]markup[/] [/nope]" in found.output
    assert len(found.output) < 8000
    *_, last = lines = found.stdout.splitlines()
    assert [line for line in lines if line.startswith("exit")] == [last]
    assert len(run("run", "cases.yaml", "-b", backend, "--format", "json").stdout) < 40_000


def test_warnings_are_red_under_strict_only(run, wording):
    lenient = run("run", "cases.yaml", "-b", "last_of_ties", "-k", "subnormal")
    strict = run("run", "cases.yaml", "-b", "last_of_ties", "-k", "subnormal", "--strict")
    assert (lenient.exit_code, strict.exit_code) == (0, 1)
    assert "WARN last_of_ties" not in lenient.stdout
    assert lines_with(lenient.stdout, "Warnings (in full") == wording
    assert "WARN last_of_ties" in strict.stdout


def test_what_is_unsupported_is_red_where_support_is_required(run, wording):
    words = ("run", "cases.yaml", "-b", "right", "-b", "lacks_float32", "-k", "not nan")
    assert run(*words).exit_code == 5  # one of two named backends was judged on nothing
    found = run(*words, "--require-supported", code=1)
    assert "UNSUPPORTED lacks_float32  Hardmax/ties" in found.stdout
    assert found.stdout.splitlines()[-1] == wording
    [command, *_] = re.findall(r"^  repeat  opcheck (.*)$", found.stdout, re.MULTILINE)
    assert run(*shlex.split(command)).exit_code == 1
    assert "INCOMPLETE: 2 of 8 results" in run(*words, "--require-supported", "-x").stdout


@pytest.mark.parametrize("backend", ["declines_opset_13", "refuses_opset_13"])
def test_who_takes_a_later_opset_only_is_told_so(run, backend):
    found = run("run", "cases.yaml", "-b", backend, "-k", "ties and not many", code=1)
    assert f"ERROR {backend}  Hardmax/ties" in found.stdout
    hint = r"takes the same model at opset \d\d, where Hardmax-13 is in force too; at opset 13: "
    assert re.search(rf"^  found   {hint}.*opset 13$", found.stdout, re.MULTILINE)


def test_what_was_not_run_is_listed_and_makes_the_run_incomplete(run, wording):
    found = run("run", "cases.yaml", "-b", "right", "-b", "falls_back", "-k", "ties", code=4)
    assert "INCOMPLETE" not in found.stdout
    lines = found.stdout.splitlines()
    *fields, reason = lines[lines.index("Not run") + 3].split(maxsplit=3)
    assert fields == ["falls_back", "1.5", "2"]
    assert reason == wording
    assert lines[-1] == wording


def test_quiet_leaves_out_the_failures_and_verbose_adds_the_warnings(run):
    words = ("run", "cases.yaml", "-b", "last_of_ties")
    options = (["-q"], [], ["-v"], ["-vv"])
    quiet, plain, tables, everything = (run(*words, *more).stdout for more in options)
    assert plain.endswith(quiet)
    assert "repeat" not in quiet
    assert plain.count("\n  repeat") == tables.count("\n  repeat") == 3
    assert "operator    backend " not in plain
    assert "operator    backend " in tables
    assert everything.count("\n  repeat") == 5
    assert "WARN last_of_ties  Hardmax/subnormal" in everything


@pytest.mark.parametrize(
    ("words", "red"), [(["-x"], 1), (["--max-fail", "1"], 1), (["--max-fail", "2"], 2)]
)
def test_a_run_stops_at_enough_failures(run, words, red):
    found = run("run", "cases.yaml", "-b", "right", "-b", "last_of_ties", *words, code=1)
    assert found.stdout.splitlines()[-1].endswith(f" {red} fail")
    assert f"INCOMPLETE: {2 * red} of 10 results\n" in found.stdout


def test_a_case_that_is_wrong_is_never_left_without_its_reason_and_is_a_failure(
    run, tmp_path, wording
):
    (tmp_path / "cases.yaml").write_text(CASES.replace("[[1, 0, 0], [1", "[[0, 1, 0], [1"))
    for quiet in ([], ["-q"]):
        found = run("run", "cases.yaml", "-b", "right", "-k", "ties", *quiet)
        assert lines_with(found.stdout, "found   the case") == wording
    found = run("run", "cases.yaml", "-b", "right", "-x", code=2)
    assert "INCOMPLETE: 1 of 5 results\n" in found.stdout


def test_a_run_that_fails_at_its_very_end_is_complete(run):
    found = run("run", "cases.yaml", "-b", "last_of_ties", "-k", "nan", "-x", code=1)
    assert "INCOMPLETE" not in found.stdout


def test_a_run_does_not_stop_at_warnings(run):
    words = ("run", "cases.yaml", "-b", "flat", "-b", "narrow", "-k", "subnormal", "-x")
    assert "INCOMPLETE" not in run(*words).stdout
    assert "INCOMPLETE: 1 of 2 results" in run(*words, "--strict").stdout


def test_an_interrupt_that_comes_too_late_changes_nothing(run, monkeypatch):
    monkeypatch.setattr("opcheck.interrupt.asked", lambda: True)
    assert run("run", "cases.yaml", "-b", "right", "-k", "many_ties").exit_code == 0
    assert run("run", "cases.yaml", "-b", "right").exit_code == 130


def test_an_interrupt_of_what_explains_failures_loses_no_result(run, monkeypatch, wording):
    def explained(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("opcheck.execution.scheduler.attribute_causes", explained)
    found = run("run", "cases.yaml", "-b", "last_of_ties", code=1)
    assert "wrong / judged" in found.stdout
    assert found.stdout.splitlines()[-1] == wording


def test_who_is_interrupted_does_not_wait_for_what_explains_the_whole(run, monkeypatch):
    explained = []
    monkeypatch.setattr(
        "opcheck.execution.scheduler.attribute_causes", lambda *_: explained.append(1) or {}
    )
    run("run", "cases.yaml", "-b", "last_of_ties", code=1)
    assert explained == [1]
    monkeypatch.setattr("opcheck.interrupt.asked", lambda: True)
    run("run", "cases.yaml", "-b", "last_of_ties", code=130)
    assert explained == [1]


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize("backend", ["last_of_ties", "narrow", "flat", "twice", "refuses"])
def test_the_printed_command_repeats_the_failure(run, backend):
    reports = run("run", "cases.yaml", "-b", backend, "-vv").stdout.split("\n\n")
    commands = {}
    for report in reports:
        *told, last = report.splitlines()
        if last.startswith("  repeat  "):
            commands[last.removeprefix("  repeat  ")] = told
    assert len(commands) >= 4
    for command, told in commands.items():
        program, *words = shlex.split(command)
        assert program == "opcheck"
        again = run(*words, code=1)
        alone, among = without_diagnoses(again.stdout.splitlines()), without_diagnoses(told)
        assert alone[: len(among)] == among
        assert again.stdout.count("  repeat  ") == 1


def test_a_file_whose_name_begins_like_an_option_can_be_repeated(run, tmp_path):
    (tmp_path / "-d.yaml").write_text(CASES)
    found = run("run", "./-d.yaml", "-b", "narrow", "-k", "many_ties")
    [command] = re.findall(r"^  repeat  opcheck (.*)$", found.stdout, re.MULTILINE)
    assert run(*shlex.split(command)).exit_code == 1


def test_the_stream_is_a_header_a_record_a_result_and_a_footer(run):
    found = run("run", "cases.yaml", "-b", "right", "-b", "last_of_ties", "--format", "json")
    header, *records, footer = map(strict, found.stdout.splitlines())
    assert (header["type"], header["cases"], len(header["backends"])) == ("header", 5, 2)
    assert [record["type"] for record in records] == ["result"] * 10
    assert footer["complete"] is True
    assert footer["exit_code"] == found.exit_code == 1
    totals: dict[str, dict[str, int]] = {}
    for record in records:
        of_backend = totals.setdefault(record["backend"], {})
        of_backend[record["verdict"]] = of_backend.get(record["verdict"], 0) + 1
    assert footer["totals"] == totals


LATER = """\
op: Hardmax
opset: 13
dtype: float32
cases:
- {name: ties, attrs: {axis: 1}, inputs: {input: [[3, 3, 1], [3, 0, 3]]}}
- {name: plain, attrs: {axis: 1}, inputs: {input: [[1, 2, 3, 0], [4, 1, 0, 2]]}}
"""


def test_what_a_later_pass_contradicts_is_in_no_file(run, tmp_path):
    (tmp_path / "later.yaml").write_text(LATER)
    words = ("run", "later.yaml", "-b", "last_of_ties")
    found = run(*words, "--format", "json", "--report", "json=file.jsonl")
    (tmp_path / "piped.jsonl").write_text(found.stdout)
    piped, file = map(store.read, (tmp_path / "piped.jsonl", tmp_path / "file.jsonl"))
    assert piped.records == file.records
    first, *_, footer = (json.loads(line) for line in found.stdout.splitlines()[1:])
    (revised,) = footer["revised"]
    before, after = ({d["mistake"] for d in one["diagnoses"]} for one in (first, revised))
    assert "last_of_ties" in after < before
    lines = [json.loads(line) for line in (tmp_path / "file.jsonl").read_text().splitlines()]
    assert lines[1]["diagnoses"] == revised["diagnoses"]
    assert "revised" not in lines[-1]
    # A report shows what the run showed.
    told = run(*words).stdout.split("What is wrong with")[1]
    assert run("report", "piped.jsonl").stdout.split("What is wrong with")[1] == told


def test_an_error_leaves_no_half_stream(run):
    assert run("run", "cases.yaml", "-b", "nope", "--format", "json", code=2).stdout == ""


PRINTING = """
class Backend:
    def prepare(self, task):
        print("::stop-commands::token")
        print("   ::error::forged")
        print("x" * 95 + "::error::at the break of a line")
        print("##[error]forged")
        return self

    def run(self, inputs):
        return [inputs[0] + 9]
"""


@pytest.mark.gate
def test_what_a_backend_prints_is_no_command_of_a_ci_system(start, tmp_path):
    (tmp_path / "cases.yaml").write_text(CASES)
    (tmp_path / "printing.py").write_text(PRINTING)
    process = start("run", "cases.yaml", "-b", "py:printing", cwd=tmp_path)
    printed = "".join(process.communicate())
    assert "stop-commands" in printed
    lines = [line.strip() for line in printed.splitlines()]
    assert not [line for line in lines if line.startswith("::") or "##[" in line]


def test_a_run_says_first_what_it_is_about(run, wording):
    found = run("run", "cases.yaml", "-b", "right", "--shard", "1/2", "--no-known")
    first = found.stderr.splitlines()[0]
    assert first.replace(opcheck.__version__, "0.0") == wording


@pytest.mark.parametrize("words", [["-q"], ["--format", "json"]])
def test_a_quiet_run_has_no_header(run, words):
    assert "opcheck: version" not in run("run", "cases.yaml", "-b", "right", *words).stderr


def test_the_slowest_cases_are_shown_if_asked_for(run):
    found = run("run", "cases.yaml", "-b", "right", "-b", "narrow", "--durations", "1")
    assert found.stdout.count("1 slowest case of ") == 2
    assert "slowest" not in run("run", "cases.yaml", "-b", "right").stdout


def test_json_has_the_seconds_of_each_case_itself(run):
    words = ["run", "cases.yaml", "-b", "right", "--durations", "1", "--format", "json"]
    assert "--durations" in run(*words, code=2).stderr
