"""`opcheck bench`: what is shown, kept, compared and refused."""

from __future__ import annotations

import json
import re

import pytest

from opcheck.errors import Unwritable
from opcheck.report import timing_store
from tests.run.bench.suite import CASES, SPINNING

SWEPT = """\
- name: three
  inputs: {input: {shape: [1, 30], normal: [0, 1]}}
  sweep: {inputs.input.shape: [[1, 30], [10, 300], [100, 3000]]}
"""
SPIN = f"{SPINNING}Spin"
LIES = f"{SPINNING}Ends?how=lies&after=0"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_text(CASES + SWEPT, encoding="utf-8")
    return str(path)


@pytest.fixture
def bench(run, file):
    """`opcheck bench` with few rounds, of the cases in the file."""
    return lambda *words, cases=file: run("bench", *([cases] if cases else []), "--quick", *words)


def test_a_row_shows_time_ratio_and_rate_and_whoever_is_wrong_none(bench):
    found = bench("-b", "numpy", "-b", f"{SPIN}?seconds=0.002", "-b", LIES, "-k", "one")
    assert found.exit_code == 0, found.stderr
    lines = found.stdout.splitlines()
    assert "3 processes a backend, 1 thread each" in found.stdout
    assert "Hardmax-13 float32 [4, 25]: 800 bytes must move" in found.stdout
    assert re.search(r"^ +[2-9]\.\d+ ms .* slower ", found.stdout, re.MULTILINE)
    assert re.search(r"baseline", next(line for line in lines if line.startswith("numpy ")))
    assert "fail: output: 96 of 100 elements" in " ".join(found.stdout.split())
    assert lines[-1] == "exit 0: 1 case, 2 timings"


def test_another_backend_may_be_what_ratios_are_to(bench):
    found = bench("-b", "numpy", "-b", SPIN, "-k", "one or two", "--base", SPIN)
    assert f"Geometric mean of the ratios to {SPIN}, over 2 cases" in found.stdout


def test_the_samples_are_kept_and_can_be_compared(bench, run, tmp_path):
    old, new, for_pyperf = (str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "c.json"))
    words = ["-b", f"{SPIN}?seconds=0.001", "-k", "one"]
    assert bench(*words, "--save", old, "--pyperf", for_pyperf).exit_code == 0
    header, row, footer = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert header["bench"]["machine"]["cores"] > 0
    assert row["case"] == "Hardmax/one"
    assert footer["complete"] is True
    assert json.loads((tmp_path / "c.json").read_text())["benchmarks"]
    again = bench(*words, "--save", new, "--baseline", old, "--max-regression", "50%")
    assert again.exit_code == 0, again.stdout
    assert "nothing is seen to be slower than before by more than 50 %" in again.stdout
    compared = run("bench", "--compare", old, new)
    assert compared.exit_code == 0
    assert "Hardmax/one" in compared.stdout


def test_what_was_saved_is_shown_again_as_it_was(bench, run, tmp_path):
    saved = str(tmp_path / "a.jsonl")
    first = bench("-b", "numpy", "-b", SPIN, "-k", "one or three", "--save", saved)
    again = run("report", saved)
    assert again.exit_code == 0, again.stderr
    assert again.stdout.splitlines() == first.stdout.splitlines()[:-1]


def test_what_became_slower_closes_the_gate(bench, tmp_path):
    """The same address is another build: its module says how long it takes."""
    old = tmp_path / "a.jsonl"
    address = f"{SPIN}?seconds=0.001"
    assert bench("-b", address, "-k", "one", "--save", str(old)).exit_code == 0
    faster = old.read_text().replace("seconds=0.001", "seconds=0.02")
    old.write_text(faster)
    found = bench("-b", f"{SPIN}?seconds=0.02", "-k", "one", "--baseline", str(old))
    assert found.exit_code == 3
    assert found.stdout.splitlines()[-1].endswith("1 slower than before by more than 5 %")


def test_a_row_that_has_no_time_any_more_is_worse_than_a_slower_one(bench, run, tmp_path):
    old, new = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert bench("-b", SPIN, "-k", "one or two", "--save", str(old)).exit_code == 0
    head, one, _, foot = old.read_text().splitlines()
    row = json.loads(one)
    for timing in row["timings"]:
        timing["samples"]["seconds"] = [20 * it for it in timing["samples"]["seconds"]]
    foot = foot.replace('"cases":2', '"cases":1')
    new.write_text("\n".join([head, json.dumps(row), foot]))
    found = run("bench", "--compare", str(old), str(new))
    assert found.exit_code == 4
    told = "1 that had a time before have none now; 1 slower than before by more than 5 %"
    assert found.stdout.splitlines()[-1] == f"exit 4: {told}"


def test_a_baseline_without_a_row_that_is_asked_for_is_refused_before_anything_runs(
    bench, tmp_path
):
    old = tmp_path / "a.jsonl"
    assert bench("-b", SPIN, "-k", "one", "--save", str(old)).exit_code == 0
    found = bench("-b", SPIN, "-k", "one or two or three", "--baseline", str(old))
    assert found.exit_code == 2
    assert f"has no time of {SPIN} for Hardmax/two, and 3 more" in found.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--threads", "2"], "was taken with --threads 1, and 2 is asked for"),
        (["--cold"], "was taken with warm caches"),
    ],
)
def test_a_baseline_of_something_else_is_refused_before_anything_runs(bench, tmp_path, words, said):
    old = tmp_path / "a.jsonl"
    assert bench("-b", SPIN, "-k", "one", "--save", str(old)).exit_code == 0
    found = bench("-b", SPIN, "-k", "one", "--baseline", str(old), *words)
    assert found.exit_code == 2
    assert said in found.stderr
    assert "GB/s" not in found.stdout


def test_what_is_compared_is_not_measured(run):
    found = run("bench", "--compare", "a.jsonl", "b.jsonl", "--cold")
    assert found.exit_code == 2
    assert "--compare measures nothing: --cold has no place beside it" in found.stderr


def test_a_sweep_shows_how_times_grow_and_is_drawn(bench, tmp_path):
    pytest.importorskip("matplotlib", reason="not installed: matplotlib")
    picture = tmp_path / "p.svg"
    found = bench("-b", "numpy", "-k", "three", "--plot", str(picture))
    assert found.exit_code == 0, found.stderr
    assert "exponent" in found.stdout
    for size in ("[1, 30]", "[10, 300]", "[100, 3000]"):
        assert size in found.stdout
    assert picture.read_text().startswith("<?xml")


def test_a_sweep_may_be_asked_for(bench):
    found = bench("-b", "numpy", "-k", "one", "--sweep", "inputs.input.shape=[[1, 9], [9, 99]]")
    assert found.exit_code == 0, found.stderr
    assert "Hardmax/one@inputs.input.shape=9x99" in found.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--base", "numpi"], 2, "--base numpi: no such backend takes part"),
        (["--max-regression", "5%"], 2, "--max-regression needs a --baseline"),
        (["--max-regression", "-5%"], 2, "-0.05 is not in the range"),
        (
            ["--max-regression", "2%", "--baseline", "x"],
            2,
            "two runs of one build differ by as much",
        ),
        (["--sweep", "attrs.axis=0"], 2, "two values or more are needed"),
        (["--sweep", "axis=[0, 1]"], 2, "'axis' is no path"),
        (["--plot", "x.svg", "-k", "one"], 2, "--plot draws one case in several sizes"),
        (["--baseline", "nowhere.jsonl"], 2, "nowhere.jsonl"),
        (["--workers", "2"], 2, "2 is not in the range"),
        (["--save", "no/a.jsonl"], 2, "--save no/a.jsonl: there is no folder no"),
        (["--pyperf", "no/a.json"], 2, "--pyperf no/a.json: there is no folder no"),
        (["--compare", "a", "b"], 2, "--compare measures nothing: PATH has no place beside it"),
        (["-k", "nothing"], 5, "no case matches"),
        (["-b", "nobody"], 2, "nobody"),
    ],
)
def test_bad_input_is_told_and_nothing_is_timed(bench, words, code, said):
    found = bench(*(["-b", "numpy"] if "-b" not in words else []), *words)
    assert found.exit_code == code
    assert said in found.stderr
    assert "GB/s" not in found.stdout


def test_a_benchmark_that_cannot_be_kept_is_shown_all_the_same(bench, tmp_path, monkeypatch):
    write = timing_store.write

    def full(path, *rows, complete):
        if complete:
            raise Unwritable(path, OSError("the disk is full"))
        write(path, *rows, complete=complete)

    monkeypatch.setattr(timing_store, "write", full)
    found = bench("-b", "numpy", "-k", "one", "--save", str(tmp_path / "a.jsonl"))
    assert found.exit_code == 4
    assert "GB/s" in found.stdout
    assert "a.jsonl cannot be written: the disk is full" in found.stderr


def test_a_baseline_is_not_written_over(bench, tmp_path):
    old = tmp_path / "a.jsonl"
    assert bench("-b", SPIN, "-k", "one", "--save", str(old)).exit_code == 0
    found = bench("-b", SPIN, "-k", "one", "--save", str(old), "--baseline", str(old))
    assert found.exit_code == 2
    assert f"--save {old}: the same command names this file twice" in found.stderr


@pytest.mark.parametrize(
    ("axis", "fields", "said"),
    [
        (
            7,
            "inputs: {input: [[1, 2]]}, expect: {rejected: no, legal: {attrs.axis: 0}}",
            "it expects, or admits, a refusal",
        ),
        (0, "inputs: {input: {shape: [0, 2], constant: 0}}", "a tensor of it has no element"),
    ],
)
def test_cases_without_an_answer_that_takes_time_are_told(bench, tmp_path, axis, fields, said):
    path = tmp_path / "g.yaml"
    entry = f"{{name: a, attrs: {{axis: {axis}}}, {fields}}}"
    path.write_text(f"op: Hardmax\nopset: 13\ndtype: float32\nbench:\n- {entry}\n")
    found = bench("-b", "numpy", cases=str(path))
    assert found.exit_code == 2
    assert f"not timed: Hardmax/a: {said}" in found.stderr
    assert "none of the cases can be timed" in found.stderr


def test_nothing_timed_is_no_success(bench):
    found = bench("-b", LIES, "-k", "one")
    assert found.exit_code == 5
    assert found.stdout.splitlines()[-1] == "exit 5: nothing was timed"


def test_threads_are_asked_for_and_shown(bench):
    found = bench("-b", "numpy", "-k", "one", "--threads", "2")
    assert found.exit_code == 0
    assert "numpy?threads=2" in found.stdout
    assert "2 threads each" in found.stdout
