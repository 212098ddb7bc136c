"""A benchmark as pyperf reads it: judged by pyperf itself, where it is installed."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import pytest

from opcheck.model.timing import Sample, Timing
from opcheck.report.timing_store import pyperf_text
from tests.report.timed import MACHINE, bench, row, timing

needs_pyperf = pytest.mark.skipif(find_spec("pyperf") is None, reason="not installed: pyperf")

BENCH = bench("acme", "bolt")
SLOW = timing("bolt", 2e-3, seed=2)
ROWS = (
    row("Softmax/rows", (timing("acme", 1e-3), SLOW)),
    row("Softmax/small", (timing("acme", 3e-6), Timing("bolt", why_not="it is wrong"))),
)


def says(*command):
    words = [sys.executable, "-m", "pyperf", *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_name_is_the_case_and_the_backend_and_what_was_not_timed_has_none():
    found = json.loads(pyperf_text(BENCH, ROWS))
    assert found["version"] == "1.0"
    assert [one["metadata"]["name"] for one in found["benchmarks"]] == [
        "Softmax/rows [acme]",
        "Softmax/rows [bolt]",
        "Softmax/small [acme]",
    ]


def test_a_run_is_a_process_and_its_values_are_seconds():
    samples = (Sample(0, 1, 8, 0.5), Sample(1, 0, 8, 0.25), Sample(2, 1, 8, 0.75))
    one = row("Softmax/rows", (Timing("acme", samples, (0.1, 0.2)),))
    [found] = json.loads(pyperf_text(BENCH, (one,)))["benchmarks"]
    assert found["runs"] == [
        {"metadata": {"loops": 8, "worker": 0, "prepare_seconds": 0.1}, "values": [0.25]},
        {"metadata": {"loops": 8, "worker": 1, "prepare_seconds": 0.2}, "values": [0.5, 0.75]},
    ]


def test_samples_of_different_numbers_of_calls_are_runs_of_their_own():
    one = row("x", (Timing("acme", (Sample(0, 0, 8, 0.5), Sample(1, 0, 4, 0.25)), (0.1,)),))
    [found] = json.loads(pyperf_text(BENCH, (one,)))["benchmarks"]
    assert [(run["metadata"]["loops"], run["values"]) for run in found["runs"]] == [
        (4, [0.25]),
        (8, [0.5]),
    ]


def test_what_is_not_known_is_left_out_because_pyperf_takes_no_empty_text():
    unknown = replace(MACHINE, governor="", processor=" \n")
    found = json.loads(pyperf_text(replace(BENCH, machine=unknown), ROWS))
    assert not {"cpu_governor", "cpu_model_name"} & set(found["metadata"])
    assert found["metadata"]["cpu_count"] == 8
    assert found["metadata"]["numpy_version"] == "2.4.0"


def write(file, bench, rows):
    file.write_text(pyperf_text(bench, rows), encoding="utf-8")


def test_the_date_is_without_its_zone_as_pyperf_writes_it():
    assert json.loads(pyperf_text(BENCH, ROWS))["metadata"]["date"] == "2026-11-20 20:15:30"


@needs_pyperf
def test_pyperf_reads_every_value_and_all_that_is_said(tmp_path):
    suites = import_module("pyperf").BenchmarkSuite
    file = tmp_path / "one.json"
    steep = row("a\nb", (replace(timing("acme", 1e-3), backend="py:my mod\u202e:X"),), dtype="")
    write(file, replace(BENCH, machine=replace(MACHINE, platform="")), (*ROWS, steep))
    suite = suites.load(str(file))
    assert len(suite.get_benchmarks()) == 4
    found = suite.get_benchmark("Softmax/rows [bolt]")
    assert found.get_nrun() == 3
    assert found.get_loops() == 16
    assert sorted(found.get_values()) == sorted(sample.seconds for sample in SLOW.samples)
    said = found.get_metadata()
    assert said["cpu_model_name"] == "Acme Fast CPU @ 3.00GHz"
    assert said["bytes_moved"] == 25_731_584
    # What pyperf writes of it, pyperf reads again.
    suite.dump(str(tmp_path / "two.json"))
    assert len(suites.load(str(tmp_path / "two.json"))) == 4


@needs_pyperf
def test_pyperf_compares_two_benchmarks(tmp_path):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    write(old, BENCH, ROWS)
    write(new, BENCH, (row("Softmax/rows", (timing("acme", 1.5e-3), SLOW)), ROWS[1]))
    said = says("compare_to", old, new)
    assert "Softmax/rows [acme]: Mean +- std dev: [old] 1.01 ms" in said
    assert "1.50x slower" in said
    assert "Benchmark hidden because not significant (2)" in said


@needs_pyperf
def test_pyperf_shows_a_benchmark(tmp_path):
    file = tmp_path / "one.json"
    write(file, BENCH, ROWS)
    said = says("show", "--metadata", file)
    assert "Softmax/rows [bolt]" in said
    assert "Mean +- std dev: 2.02 ms +- 0.01 ms" in said
    assert "cpu_model_name: Acme Fast CPU @ 3.00GHz" in said
