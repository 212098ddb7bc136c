"""`opcheck bench`: what is shown, kept, compared and refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from opcheck.cli.bench import TimingGate
from opcheck.cli.group import program
from opcheck.errors import Unwritable
from opcheck.report import timings
from opcheck.timing import Compared, Missing, TimingChange
from tests.execution.bench.suite import CASES, SPINNING
from tests.wording import lines_with

pytestmark = [pytest.mark.processes, pytest.mark.starts_early]

THREE = """\
- name: three
  inputs: {input: {normal: [0, 1]}}
  matrix: {inputs.input.shape: [[1, 30], [10, 300], [100, 3000]]}
"""
SPIN = f"{SPINNING}Spin"
LIES = f"{SPINNING}Ends?how=lies&after=0"
CLEAR = TimingChange("x", "b", 1.0, 0.98, 1.02, verdict="same")
UNCLEAR = TimingChange("y", "b", 1.1, 0.9, 1.3)


@pytest.fixture(scope="module", autouse=True)
def _fewer_processes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opcheck.execution.bench._QUICK_WORKERS", 2)
        yield


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_text(CASES + THREE, encoding="utf-8")
    return str(path)


@pytest.fixture
def bench(run, file):
    """`opcheck bench` with few rounds, of the cases in the file."""

    def bench(*words, cases=file, **more):
        return run("bench", *([cases] if cases else []), "--quick", *words, **more)

    return bench


def test_a_row_shows_time_ratio_and_rate_and_whoever_is_wrong_none(bench):
    found = bench("-b", "numpy", "-b", f"{SPIN}?seconds=0.002", "-b", LIES, "-k", "one", code=0)
    lines = found.stdout.splitlines()
    assert "; processes a backend: 2; " in found.stdout
    assert "Hardmax-13 float32 [4, 25]: 800 bytes must move" in found.stdout
    assert re.search(r"[2-9]\.\d+ ms .* slower ", found.stdout, re.MULTILINE)
    assert re.search(r"baseline", next(line for line in lines if line.startswith("numpy ")))
    assert "96 of 100 elements" in " ".join(found.stdout.split())
    assert lines[-1] == "exit 0: 1 case, 2 timings"


@pytest.mark.gate
def test_another_backend_may_be_what_ratios_are_to(bench, wording):
    found = bench("-b", "numpy", "-b", SPIN, "-k", "one or two or 1x30", "--base", SPIN)
    assert lines_with(found.stdout, "Geometric mean of") == wording


def test_the_samples_are_kept_and_can_be_compared(bench, run, tmp_path, wording):
    old, new = (str(tmp_path / name) for name in ("a.jsonl", "b.jsonl"))
    words = ["-b", f"{SPIN}?seconds=0.001", "-k", "one"]
    assert bench(*words, "--save", old).exit_code == 0
    header, row, footer = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert header["bench"]["machine"]["cores"] > 0
    assert row["case"] == "Hardmax/one"
    assert footer["complete"] is True
    limit = "--max-regression", "900%", "--unclear", "pass"
    again = bench(*words, "--save", new, "--baseline", old, *limit, code=0)
    assert lines_with(again.stdout, "no row is") == wording
    assert "Hardmax/one" in run("bench", "--compare", old, new, *limit, code=0).stdout


@pytest.mark.gate
def test_what_was_saved_is_shown_again_as_it_was(bench, run, tmp_path):
    saved = str(tmp_path / "a.jsonl")
    first = bench("-b", "numpy", "-b", SPIN, "-k", "one or three", "--save", saved)
    assert run("report", saved, code=0).stdout.splitlines() == first.stdout.splitlines()[:-1]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What was kept of a backend that takes 1 ms for one case, and for another."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "f.yaml").write_text(CASES + THREE, encoding="utf-8")
    words = "bench", str(folder / "f.yaml"), "--quick", "-b", f"{SPIN}?seconds=0.001"
    found = CliRunner().invoke(program, [*words, "-k", "one or two", "--save", str(folder / "a")])
    assert found.exit_code == 0, found.stderr
    return (folder / "a").read_text()


@pytest.fixture
def old(saved, tmp_path):
    """A function that writes it to a file, with some texts replaced, and returns the path."""

    def write(*replaced):
        text = saved
        for was, now in replaced:
            assert was in text
            text = text.replace(was, now)
        (tmp_path / "a.jsonl").write_text(text)
        return str(tmp_path / "a.jsonl")

    return write


def test_what_became_slower_closes_the_gate(bench, old, wording):
    """The same address is another build: its module says how long it takes."""
    file = old(("seconds=0.001", "seconds=0.02"))
    found = bench("-b", f"{SPIN}?seconds=0.02", "-k", "one or two", "--baseline", file, code=3)
    last = found.stdout.splitlines()[-1]
    assert last.rpartition(" timings; ")[2] == wording


def test_a_row_that_has_no_time_any_more_is_worse_than_a_slower_one(run, old, tmp_path):
    head, one, two, foot = Path(old()).read_text().splitlines()
    slow, gone = json.loads(one), json.loads(two)
    for timing in slow["timings"]:
        timing["samples"]["seconds"] = [20 * it for it in timing["samples"]["seconds"]]
    gone["timings"][0]["samples"] = {name: [] for name in gone["copy"]}
    new = tmp_path / "b.jsonl"
    new.write_text("\n".join([head, json.dumps(slow), json.dumps(gone), foot]))
    found = run("bench", "--compare", old(), str(new), code=4)
    told = "1 that had a time before have none now; 1 slower than before by more than 5 %"
    assert found.stdout.splitlines()[-1] == f"exit 4: {told}; 0 of 2 unclear"


@pytest.mark.sampled(3, evenly=True)
@pytest.mark.parametrize(
    ("words", "replaced"),
    [
        ("--threads 2", ()),
        ("--cold", ()),
        ("-b numpy", ()),
        ("-k one", ()),
        ("", (('"warm":0.03', '"warm":0.5'),)),
        ("", (('"cores":', '"cores":1'),)),
        ("", (('"digest":"', '"digest":"f'),)),
        ("", ((SPIN, f"{SPIN}ning"),)),
    ],
)
def test_a_baseline_of_something_else_is_refused_before_any_run(
    bench, old, words, replaced, wording
):
    usual = ["-b", f"{SPIN}?seconds=0.001", "--baseline", old(*replaced)]
    if "-k" not in words:
        usual += ["-k", "one or two"]
    found = bench(*usual, *words.split(), code=2)
    text = found.stderr.replace(f"{np.__version__} here", "{numpy} here")
    text = re.sub(r"processors \d+ there, \d+ here", "processors 12 there, 2 here", text)
    assert text == wording
    assert "GB/s" not in found.stdout


def test_a_baseline_without_a_time_that_is_asked_for_is_refused(bench, old, wording):
    path = Path(old())
    lines = path.read_text().splitlines()
    row = json.loads(lines[2])
    row["timings"][0]["samples"] = {name: [] for name in row["copy"]}
    path.write_text("\n".join([*lines[:2], json.dumps(row), lines[3]]))
    address = f"{SPIN}?seconds=0.001"
    found = bench("-b", address, "-k", "one or two", "--baseline", str(path), code=2)
    assert found.stderr == wording


def test_saved_runs_of_different_company_have_no_verdict(run, old, tmp_path):
    alone = tmp_path / "b.jsonl"
    alone.write_text(Path(old()).read_text())
    both = old(('"backends":{', '"backends":{"numpy":"1",'))
    found = run("bench", "--compare", both, str(alone), "--unclear", "pass", code=5)
    assert "backend numpy 1 there" in found.stdout.splitlines()[-1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("new", "base", "code", "said"),
    [
        (f"{SPIN}?seconds=0.002", SPIN, 3, "1 slower than {base} by more than 5 %; 0 of 1 unclear"),
        (SPIN, f"{SPIN}?seconds=0.002", 0, "no row is clearly slower than {base} by more"),
        (LIES, SPIN, 4, "1 that have a time on {base} have none now; 0 of 1 unclear"),
        (SPIN, LIES, 5, "nothing could be compared; 1 of 1 unclear"),
    ],
)
def test_a_build_is_held_against_another_of_the_same_run(bench, new, base, code, said):
    words = "-k", "one", "--base", base, "--max-regression", "5%"
    found = bench("-b", new, "-b", base, *words)
    last = found.stdout.splitlines()[-1]
    assert (found.exit_code, last.startswith(f"exit {code}: ")) == (code, True)
    assert said.format(base=base) in last


@pytest.mark.parametrize(
    ("changes", "unclear", "code"),
    [
        ((UNCLEAR,), None, 5),
        ((UNCLEAR,), "fail", 5),
        ((UNCLEAR,), "pass", 0),
        ((CLEAR, UNCLEAR), None, 0),
        ((CLEAR, UNCLEAR, UNCLEAR), None, 5),
        ((CLEAR, UNCLEAR, UNCLEAR), "pass", 0),
        ((CLEAR, UNCLEAR), "fail", 5),
        ((CLEAR,), "fail", 0),
        ((), "pass", 5),
    ],
)
def test_a_gate_may_ask_for_a_clear_answer_and_always_counts_unclear_ones(changes, unclear, code):
    found, said = TimingGate(0.05, unclear).verdict(Compared(changes, ()))
    assert found == code
    assert said.endswith(f"; {changes.count(UNCLEAR)} of {len(changes)} unclear")


def test_a_row_that_cannot_be_compared_is_not_clear(wording):
    found = Compared((CLEAR,), (Missing("y", "b", "no such case"),))
    code, meaning = TimingGate(0.05, "fail").verdict(found)
    assert code == 5
    assert meaning == wording


def test_rows_that_cannot_be_compared_are_unclear_rows_of_a_gate():
    missing = Missing("y", "b", "no such case")
    assert TimingGate(0.05, None).verdict(Compared((CLEAR,), (missing,)))[0] == 0
    assert TimingGate(0.05, None).verdict(Compared((CLEAR,), (missing, missing)))[0] == 5


@pytest.mark.gate
def test_a_case_may_be_timed_in_several_sizes(bench):
    found = bench("-b", "numpy", "-k", "three", code=0)
    for size in ("[1, 30]", "[10, 300]", "[100, 3000]"):
        assert size in found.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--base", "numpi"], 2),
        (["--max-regression", "5%"], 2),
        (["--max-regression", "5%", "--base", "numpy"], 2),
        (["--max-regression", "1%", "--base", "numpy"], 2),
        (["--unclear", "fail"], 2),
        (["--max-regression", "-5%"], 2),
        (["--max-regression", "2%", "--baseline", "x"], 2),
        (["--baseline", "nowhere.jsonl"], 2),
        (["--workers", "2"], 2),
        (["--save", "no/a.jsonl"], 2),
        (["--compare", "a", "b"], 2),
        (["-k", "nothing"], 5),
        (["-b", "nobody"], 2),
    ],
)
def test_bad_input_is_told_and_nothing_is_timed(bench, words, code, wording):
    found = bench(*(["-b", "numpy"] if "-b" not in words else []), *words, code=code)
    assert found.stderr == wording
    assert "GB/s" not in found.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["--op", "Sofmax"],
        ["--op", "Relu", "--dtype", "string"],
        ["--case", "Relu/nan"],
        ["--case", "Softmax/nothing"],
        ["--opset", "3"],
    ],
    ids=" ".join,
)
def test_what_no_bench_list_has_is_an_error(run, words, wording):
    assert run("bench", *words, code=2).stderr == wording


def test_bench_cases_of_a_file_are_named_where_an_operator_has_none(bench, wording):
    assert bench("--op", "Softmax", code=2).stderr == wording


def test_what_can_be_timed_is_listed(run, bench):
    found = run("bench", "--list", code=0)
    assert "Softmax/attention" in found.stdout
    assert "--op NAME" in found.stderr
    mine = bench("--list", "-k", "one", code=0)
    assert "Hardmax/one" in mine.stdout
    assert "Hardmax/two" not in mine.stdout
    assert "--op NAME" not in mine.stderr


def test_ids_of_what_can_be_timed_are_whole_on_a_narrow_terminal(run):
    narrow = run("bench", "--list", "--op", "Softmax", COLUMNS="60", code=0).stdout
    ids = [line.split()[0] for line in narrow.splitlines() if line.startswith("Softmax/")]
    assert "Softmax/classes@dtype=bfloat16" in ids
    assert ids
    for id in ids:
        run("bench", "--list", "--case", id, code=0)


def test_an_operator_without_bench_cases_is_timed_on_a_derived_one(run, tmp_path):
    words = ["bench", "--op", "Relu", "--quick", "-b", "numpy", "--report", "csv=times.csv"]
    found = run(*words, code=0)
    assert "Relu/derived@opset=14,dtype=float32" in found.stdout
    assert "derived: a shipped" in found.stdout
    assert len((tmp_path / "times.csv").read_text().splitlines()) == 2


def test_operators_of_a_pattern_are_derived_where_they_need_it(run):
    found = run("bench", "--list", "--op", "Soft*", code=0)
    assert "Softmax/classes@dtype=float32" in found.stdout
    assert "Softplus/derived@" in found.stdout


def test_a_quick_look_leaves_out_large_cases_unless_they_are_named(run):
    short = run("bench", "--quick", "--list", "--op", "Softmax", code=0)
    assert "Softmax/attention" not in short.stdout
    assert "--quick leaves out" in short.stderr
    assert "Softmax/attention" in short.stderr
    named = run("bench", "--quick", "--list", "--case", "Softmax/attention", code=0)
    assert "Softmax/attention" in named.stdout


def test_a_benchmark_says_first_how_long_it_takes(bench):
    found = bench("-b", "numpy", "-k", "one", code=0)
    assert "takes about 5 s" in found.stderr


def test_a_benchmark_is_also_written_in_other_formats(bench, run, tmp_path):
    saved = tmp_path / "a.jsonl"
    reports = ["--report", "csv=a.csv", "--report", "markdown=a.md", "--save", str(saved)]
    bench("-b", "numpy", "-k", "one", *reports, code=0)
    for form, name in (("csv", "a.csv"), ("markdown", "a.md")):
        again = run("report", str(saved), "--format", form, code=0).stdout
        assert again == (tmp_path / name).read_text()


@pytest.mark.parametrize("report", ["html=a.html", "csv=-", "csv=no/a.csv", "csv=a.yaml"])
def test_a_report_that_cannot_be_written_is_refused_first(bench, report):
    assert "--report" in bench("-b", "numpy", "--report", report, code=2).stderr


def test_a_benchmark_that_cannot_be_kept_is_shown_all_the_same(
    bench, tmp_path, monkeypatch, wording
):
    write = timings.write

    def full(path, *rows, complete):
        if complete:
            raise Unwritable(path, OSError("the disk is full"))
        write(path, *rows, complete=complete)

    monkeypatch.setattr(timings, "write", full)
    found = bench("-b", "numpy", "-k", "one", "--save", str(tmp_path / "a.jsonl"), code=4)
    assert "GB/s" in found.stdout
    assert lines_with(found.stderr, "cannot be written") == wording


def test_a_baseline_is_not_written_over(bench, tmp_path, wording):
    old = tmp_path / "a.jsonl"
    assert bench("-b", SPIN, "-k", "one", "--save", str(old)).exit_code == 0
    found = bench("-b", SPIN, "-k", "one", "--save", str(old), "--baseline", str(old), code=2)
    assert found.stderr == wording


def test_cases_without_an_answer_that_takes_time_are_told(bench, tmp_path, wording):
    path = tmp_path / "g.yaml"
    entry = "{name: a, attrs: {axis: 0}, inputs: {input: {shape: [0, 2], constant: 0}}}"
    path.write_text(f"op: Hardmax\nopset: 13\ndtype: float32\nbench:\n- {entry}\n")
    found = bench("-b", "numpy", cases=str(path), code=2)
    assert found.stderr == wording


def test_nothing_timed_is_no_success(bench, wording):
    found = bench("-b", LIES, "-k", "one", code=5)
    assert found.stdout.splitlines()[-1] == wording


def test_threads_are_asked_for_and_shown(bench):
    found = bench("-b", "onnxruntime", "-k", "one", "--threads", "2", code=0)
    assert "onnxruntime?threads=2" in found.stdout
    assert "; threads: 2; " in found.stdout
