"""Two benchmarks held against each other."""

from dataclasses import replace

import pytest

from opcheck.report import timings
from opcheck.timing import Compared, Missing, TimingChange
from tests.report.made import Page, page_of
from tests.report.timed import MACHINE, bench

OLD = bench("numpy", "onnxruntime")
ELSEWHERE = bench(
    "numpy",
    "torch",
    backends={"numpy": "1.6", "torch": "2.13.0"},
    packages={"numpy": "2.4.1", "onnx": "1.23.2"},
    machine=replace(MACHINE, processor="Bolt 3", governor="", load=7.25),
    threads=4,
    cold=True,
)
COMPARED = Compared(
    (
        TimingChange("Softmax/rows@dtype=float32", "numpy", 1.104, 1.09, 1.121, 1e-9, "slower"),
        TimingChange(
            "Softmax/rows@dtype=float32", "onnxruntime", 1.032, 1.02, 1.04, 0.0312, "slower"
        ),
        TimingChange("Softmax/maps", "numpy", 0.8, 0.7, 0.9, 0.04, "faster"),
        TimingChange("Softmax/maps", "onnxruntime", 1.0, 0.99, 1.01, 1.0, "same"),
        TimingChange("Softmax/few", "py:my.module:Backend?threads=2", 1.5, 0.0, float("inf"), 1.0),
    ),
    (
        Missing("Hardmax/x", "numpy", "no time in the old run: no such case"),
        Missing("Hardmax/x", "torch", "timed next to other backends"),
    ),
)


@pytest.mark.parametrize("width", [80, 120])
def test_differences_come_first_then_rows_then_what_lacks(snapshot, width):
    page = page_of(timings.show_changes, timings.differences(OLD, ELSEWHERE), COMPARED, width=width)
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"changes_{width}", page.text)


def test_of_runs_alike_no_difference_is_told(wording):
    differences = timings.differences(OLD, replace(OLD, started="2027-01-01"), ["a"], ["a"])
    page = page_of(timings.show_changes, differences, Compared((), ()))
    assert page.lines == wording
    assert differences == {}


@pytest.mark.parametrize(
    ("fields", "name", "both", "is_unfair"),
    [
        ({"threads": 2, "threads_of": {}}, "threads", ("1", "2"), True),
        ({"threads_of": {"numpy": 4}}, "threads of numpy", ("", "4"), True),
        ({"threads_of": {"numpy": None}}, "threads of numpy", ("", "unknown"), True),
        ({"workers": 5}, "processes a backend", ("3", "5"), False),
        ({"cold": True}, "caches", ("warm", "cold"), True),
        ({"warm": 0.03}, "warm-up", ("0 s", "0.03 s"), True),
        ({"python": "3.12.1"}, "Python", ("3.11.7", "3.12.1"), False),
        ({"opcheck": "0.2"}, "opcheck", ("0.1", "0.2"), True),
        ({"backends": {"numpy": "1.5"}}, "backend onnxruntime", ("1.5", ""), True),
        (
            {"backends": {"numpy": "1.5", "onnxruntime": "2"}},
            "backend onnxruntime",
            ("1.5", "2"),
            False,
        ),
        ({"packages": {"numpy": "2.4.0"}}, "package onnx", ("1.23.2", ""), False),
        ({"machine": replace(MACHINE, cores=4)}, "processors", ("8", "4"), True),
        ({"machine": replace(MACHINE, memory=8 << 30)}, "memory", ("17.2 GB", "8.59 GB"), False),
        ({"machine": replace(MACHINE, platform="x")}, "platform", (MACHINE.platform, "x"), False),
        ({"machine": replace(MACHINE, processor="x")}, "processor", (MACHINE.processor, "x"), True),
        ({"machine": replace(MACHINE, governor="x")}, "governor", ("powersave", "x"), True),
        ({"machine": replace(MACHINE, load=4.5)}, "load", ("low", "high: 4.5"), False),
    ],
)
def test_a_difference_that_may_matter_is_found_and_some_make_runs_incomparable(
    fields, name, both, is_unfair
):
    found = timings.differences(OLD, replace(OLD, **fields))
    assert found == {name: both}
    said = f"{name} {both[0] or 'absent'} there, {both[1] or 'absent'} here"
    assert timings.unfair(found) == (said if is_unfair else "")


def test_other_cases_in_between_make_runs_incomparable(wording):
    found = timings.differences(OLD, OLD, ["a", "b", "c"], ["c"])
    assert [*found.values()] == [("a and 1 more", "")]
    assert timings.unfair(found) == wording
    assert timings.differences(OLD, OLD, ["a", "b"], ["b", "a"]) == {}


def test_a_load_that_leaves_half_of_the_processors_free_is_no_difference():
    some = replace(OLD, machine=replace(MACHINE, load=3.9, memory=MACHINE.memory - 4096))
    assert timings.differences(OLD, some) == {}


def test_within_a_run_rows_that_close_a_gate_or_may_are_shown(wording):
    found = Compared(
        (
            TimingChange("x", "new", 1.1, 1.06, 1.14, verdict="slower"),
            TimingChange("y", "new", 1.0, 0.99, 1.01, verdict="same"),
            TimingChange("z", "new", 1.0, 0.9, 1.2),
        ),
        (Missing("w", "new", "fail: wrong", lost=True), Missing("v", "new", "crash")),
        (TimingChange("", "new", 1.03, 1.01, 1.04, verdict="same"),),
    )
    assert page_of(timings.show_changes, {}, found, "old").lines == wording


def test_rows_that_lack_for_the_same_reason_are_told_together(wording):
    missing = [Missing(f"x{number}", "numpy", "no such case") for number in range(7)]
    compared = Compared((), (*missing, Missing("y", "numpy", "another case")))
    assert page_of(timings.show_changes, {}, compared).lines == wording


def test_nothing_from_outside_steers_the_terminal():
    sly = "\x1b[2J"
    page = Page(80)
    compared = Compared((TimingChange(sly, sly, 1, 1, 1, 1),), (Missing(f"{sly}2", sly, sly),))
    both = bench(sly), bench("x", python=sly, backends={sly: sly})
    timings.show_changes(page.console, timings.differences(*both), compared)
    timings.show_changes(page.console, {}, compared, sly)
    assert "\x1b" not in page.text
