"""Two benchmarks held against each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opcheck.report import changes
from opcheck.timing.comparing import Change, Compared, Missing
from tests.report.made import Page
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
        Change("Softmax/rows@dtype=float32", "numpy", 1.104, 1.09, 1.121, 1e-9, "slower"),
        Change("Softmax/rows@dtype=float32", "onnxruntime", 1.032, 1.02, 1.04, 0.0312, "slower"),
        Change("Softmax/maps", "numpy", 0.8, 0.7, 0.9, 0.04, "faster"),
        Change("Softmax/maps", "onnxruntime", 1.0, 0.99, 1.01, 1.0, "same"),
        Change("Softmax/few", "py:my.module:Backend?threads=2", 1.5, 0.0, float("inf"), 1.0),
    ),
    (
        Missing("Hardmax/x", "numpy", "old", "no such case"),
        Missing("Hardmax/x", "torch", "both", "no such case; fail: 3 elements are wrong"),
    ),
)


@pytest.mark.parametrize("width", [80, 120])
def test_differences_come_first_then_rows_then_what_lacks(snapshot, width):
    page = Page(width)
    changes.show(page.console, OLD, ELSEWHERE, COMPARED)
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"changes_{width}", page.text)


def test_of_runs_alike_no_difference_is_told():
    page = Page(80)
    changes.show(page.console, OLD, replace(OLD, started="2027-01-01"), Compared((), ()))
    assert page.lines == ["There is nothing to compare."]
    assert changes.differences(OLD, OLD) == {}


@pytest.mark.parametrize(
    ("fields", "name", "both"),
    [
        ({"threads": 2, "threads_of": {}}, "threads", ("1", "2")),
        ({"threads_of": {"numpy": 4}}, "threads of numpy", ("", "4")),
        ({"workers": 5}, "processes a backend", ("3", "5")),
        ({"cold": True}, "caches", ("warm", "cold")),
        ({"python": "3.12.1"}, "Python", ("3.11.7", "3.12.1")),
        ({"opcheck": "0.2"}, "opcheck", ("0.1", "0.2")),
        ({"backends": {"numpy": "1.5"}}, "backend onnxruntime", ("1.5", "")),
        ({"packages": {"numpy": "2.4.0"}}, "package onnx", ("1.23.2", "")),
        ({"machine": replace(MACHINE, cores=4)}, "processors", ("8", "4")),
        ({"machine": replace(MACHINE, memory=8 << 30)}, "memory", ("17.2 GB", "8.59 GB")),
        ({"machine": replace(MACHINE, platform="x")}, "platform", ("Linux-6.1-x86_64", "x")),
        ({"machine": replace(MACHINE, processor="x")}, "processor", (MACHINE.processor, "x")),
        ({"machine": replace(MACHINE, governor="x")}, "governor", ("powersave", "x")),
        ({"machine": replace(MACHINE, load=4.5)}, "load", ("low", "high: 4.5")),
    ],
)
def test_every_difference_that_may_matter_is_found(fields, name, both):
    assert changes.differences(OLD, replace(OLD, **fields)) == {name: both}


def test_a_load_that_leaves_half_of_the_processors_free_is_no_difference():
    some = replace(OLD, machine=replace(MACHINE, load=3.9, memory=MACHINE.memory - 4096))
    assert changes.differences(OLD, some) == {}


def test_how_much_slower_is_too_slow_is_told():
    page = Page(80)
    changes.show(page.console, OLD, OLD, replace(COMPARED, beyond=0.125))
    rows = [line for line in page.lines if line.startswith("  ")]
    assert [row.split("  ")[-1].strip() for row in rows][:2] == ["slower by more than 12.5 %"] * 2


def test_rows_that_lack_for_the_same_reason_are_told_together():
    missing = [Missing(f"x{number}", "numpy", "old", "no such case") for number in range(7)]
    page = Page(80)
    other = Missing("y", "numpy", "new", "no such case")
    changes.show(page.console, OLD, OLD, Compared((), (*missing, other)))
    assert page.lines == [
        "Not compared",
        "no times in the old run: no such case: x0 [numpy], x1 [numpy], x2 [numpy],",
        "  x3 [numpy], x4 [numpy], and 2 more",
        "no times in the new run: no such case: y [numpy]",
        "",
        "8 not compared",
    ]


def test_nothing_from_outside_steers_the_terminal():
    sly = "\x1b[2J"
    page = Page(80)
    compared = Compared((Change(sly, sly, 1, 1, 1, 1),), (Missing(f"{sly}2", sly, "new", sly),))
    changes.show(page.console, bench(sly), bench("x", python=sly, backends={sly: sly}), compared)
    assert "\x1b" not in page.text
