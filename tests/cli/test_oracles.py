"""Cases of operators that no engine knows, on the command line."""

import json
import shlex

import pytest

from tests.cli.conftest import notes
from tests.wording import lines_with

GEMM = """\
op: Gemm
opset: 13
dtype: float32
tolerance: {rtol: 1.0e-5}
inputs: {A: [[1, 2]], B: [[3], [4]]}
cases:
"""
HARDMAX = """\
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: 1}
tolerance: {ulp: 0}
inputs: {input: [[3, 3, 1], [3, 0, 3]]}
cases:
"""


def write(tmp_path, text, name="cases.yaml"):
    (tmp_path / name).write_text(text)


def oracle(tmp_path, address, head=HARDMAX):
    write(tmp_path, f"{head}- {{name: asked, expect: {{oracle: '{address}'}}}}\n")


def test_a_run_tells_by_whose_answers_it_judged(run, tmp_path, wording):
    oracle(tmp_path, "right")
    found = run("run", "cases.yaml", "-b", "last_of_ties", "--report", "json=run.jsonl", code=1)
    assert lines_with(found.stdout, "found   unlike oracle") == wording
    assert lines_with(found.stdout, "oracle  right 1.5, whose") == wording
    assert lines_with(found.stdout, "1 result was judged") == wording
    header, result, _ = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines())
    assert [(one["address"], one["version"]) for one in header["oracles"]] == [("right", "1.5")]
    assert result["oracle"] == "right 1.5"
    assert "oracle  right 1.5" in run("report", "run.jsonl").stdout


def test_processes_that_died_unasked_fail_a_run_an_oracle_s_too(
    run, tmp_path, monkeypatch, wording
):
    oracle(tmp_path, "right")
    monkeypatch.setattr("tests.cli.conftest.InlinePool.idle_deaths", {"it died": 2})
    found = run("run", "cases.yaml", "-b", "right", code=1)
    assert lines_with(found.stdout, "does not conform:") == wording


@pytest.mark.parametrize(
    ("address", "backends", "code"),
    [
        ("right", ["right"], 5),
        ("refuses", ["right"], 4),
        ("last_of_ties", ["last_of_ties", "right"], 2),
        ("saved:nowhere", ["right"], 4),
    ],
    ids=["itself", "refuses", "wrong", "not installed"],
)
def test_an_oracle_that_is_no_judge_passes_nobody(run, tmp_path, address, backends, code, wording):
    oracle(tmp_path, address)
    found = run("run", "cases.yaml", *(word for name in backends for word in ("-b", name)))
    assert found.exit_code == code
    assert lines_with(found.output, "itself" if code == 5 else "oracle") == wording


@pytest.mark.parametrize(
    "address",
    [
        "rigth",
        "right:",
        "cmd:./steal {model}",
        "py:steal:Backend",
        "onnx:steal",
    ],
)
def test_who_can_be_no_oracle_is_told_with_its_place(run, tmp_path, address, wording):
    oracle(tmp_path, address)
    for command in (("run",), ("bench", "--quick")):
        assert run(*command, "cases.yaml", "-b", "right", code=2).stderr == wording


def test_code_that_the_command_line_or_its_settings_file_names_may_be_an_oracle(run, tmp_path):
    oracle(tmp_path, "py:tests.cli.fakes:RIGHT")
    both = ("-b", "py:tests.cli.fakes:RIGHT", "-b", "right")
    assert run("run", "cases.yaml", *both).exit_code == 5  # the former is its own oracle
    write(tmp_path, '[backends.wise]\naddress = "py:tests.cli.fakes:RIGHT"\n', "opcheck.toml")
    oracle(tmp_path, "wise")
    words = ("run", "cases.yaml", "-b", "right", "--config", "opcheck.toml")
    assert run(*words).exit_code == 0


def repeated(run, found):
    """What comes of the first repeat command that a run prints."""
    line = next(line for line in found.stdout.splitlines() if line.startswith("  repeat "))
    return run(*shlex.split(line.partition("opcheck ")[2]))


def test_a_repeated_command_names_an_oracle_that_is_code(run, tmp_path):
    oracle(tmp_path, "py:tests.cli.fakes:RIGHT")
    found = run("run", "cases.yaml", "-b", "last_of_ties", "-b", "py:tests.cli.fakes:RIGHT")
    assert "unlike oracle py:tests.cli.fakes:RIGHT 1.5" in repeated(run, found).stdout


def agreeing(tmp_path):
    write(tmp_path, f"{HARDMAX}- {{name: asked, expect: {{agree: true}}}}\n")


def test_two_that_differ_are_red_and_nobody_is_accused(run, tmp_path, wording):
    agreeing(tmp_path)
    found = run("run", "cases.yaml", "-b", "right", "-b", "last_of_ties", code=1)
    assert lines_with(found.stdout, "exit 1: does not") == wording
    assert lines_with(found.stdout, "differs from last_of_ties: output: 4") == wording
    assert "cases.yaml --case Hardmax/asked -b right -b last_of_ties" in found.stdout
    assert "fail" not in found.stdout


def test_who_agrees_with_whom_stands_in_the_summary(run, tmp_path):
    agreeing(tmp_path)
    found = run("run", "cases.yaml", "-b", "right", "-b", "last_of_ties", "-b", "numpy", "-q")
    assert found.exit_code == 1
    (line,) = [line for line in found.stdout.splitlines() if line.endswith("Hardmax/asked")]
    assert line.split() == ["right,", "numpy", "last_of_ties", "1", "Hardmax/asked"]


ALONE = "cases.yaml:8:3: Hardmax/asked: backends are compared with each other"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("run cases.yaml -b right", 2),
        ("bench --quick cases.yaml -b right", 2),
        ("run cases.yaml -b right -b lacks_float32", 4),
        ("mutate cases.yaml -j 1", 5),
    ],
)
def test_one_backend_alone_has_nobody_to_agree_with(run, tmp_path, command, code, wording):
    agreeing(tmp_path)
    found = run(*command.split(), code=code)
    told = lines_with(found.stdout, "no other backend") if code == 4 else found.stderr
    assert told == wording


def test_a_list_says_whose_answer_it_will_be(run, tmp_path, wording):
    cases = "- {name: a, expect: {oracle: reference}}\n- {name: b, expect: {agree: true}}\n"
    write(tmp_path, GEMM + cases)
    found = run("list", "cases.yaml")
    assert lines_with(found.stdout, "Gemm/a  Gemm-13, must, core, oracle") == wording
    assert "Gemm/b  Gemm-13, must, core, agreement" in found.stdout


def test_questions_of_such_cases_can_be_written(run, tmp_path):
    oracle(tmp_path, "reference", GEMM)
    run("list", "cases.yaml", "--save-questions", "asked", code=0)
    assert (tmp_path / "asked" / "Gemm%2Fasked" / "model.onnx").is_file()


def test_who_fails_by_itself_among_others_is_repeated_beside_them(run, tmp_path):
    write(tmp_path, f"{HARDMAX}- {{name: asked, attrs: {{axis: 7}}, expect: {{agree: true}}}}\n")
    found = run("run", "cases.yaml", "-b", "numpy", "-b", "reference")
    assert "nobody answers" in found.stdout
    again = repeated(run, found)
    assert (again.exit_code, notes(again)) == (1, "")
    assert "nobody answers" in again.stdout


def test_an_oracle_that_is_itself_wrong_is_named_once_in_the_command_that_repeats_it(run, tmp_path):
    oracle(tmp_path, "py:tests.cli.fakes:DIES")
    found = run("run", "cases.yaml", "-b", "py:tests.cli.fakes:DIES")
    again = repeated(run, found)
    assert again.exit_code == found.exit_code
    assert notes(again) == ""
