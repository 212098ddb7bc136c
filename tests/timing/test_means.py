import math
from dataclasses import replace

import pytest

from opcheck.model.timing import Timed, Timing
from opcheck.timing.ratios import means
from tests.timing.machine import QUIET, Machine, Noise


def timed(**backends: float) -> Timed:
    return Machine(1, QUIET).timed("case", 30, workers=5, **backends)


def without(one: Timed, backend: str) -> Timed:
    timings = [
        Timing(backend, why_not="fails") if timing.backend == backend else timing
        for timing in one.timings
    ]
    return replace(one, timings=tuple(timings))


def test_the_mean_of_twice_and_half_as_slow_is_as_slow():
    cases = timed(base=1.0, a=1.5), timed(base=3.0, a=2.0), timed(base=2.0, a=2.0)
    (found,) = means(cases, "base")
    assert (found.backend, found.cases, found.of) == ("a", 3, 3)
    assert found.value == pytest.approx(1.0)
    assert 0.2 < found.low < 0.5
    assert 2 < found.high < 5


def test_only_cases_that_all_have_times_for_count():
    both = [timed(base=1.0, a=2.0, b=3.0) for _ in range(3)]
    cases = [*both, without(timed(base=1.0, a=9.0, b=9.0), "b"), timed(base=1.0, b=50.0)]
    cases.append(without(timed(base=1.0, a=9.0, b=9.0), "base"))
    a, b = means(cases, "base")
    assert [one.backend for one in (a, b)] == ["a", "b"]
    assert [one.value for one in (a, b)] == pytest.approx([2.0, 3.0])
    assert {(one.cases, one.of) for one in (a, b)} == {(3, 6)}


def test_a_backend_that_fails_everything_takes_no_mean_from_the_others():
    cases = [without(timed(base=1.0, a=2.0, b=1.0), "b") for _ in range(3)]
    assert [found.backend for found in means(cases, "base")] == ["a"]


def test_without_a_case_in_common_there_is_no_mean():
    cases = [without(timed(base=1.0, a=1.0, b=1.0), name) for name in "ab"]
    assert means(cases, "base") == ()
    assert means(cases, "unknown") == ()
    assert means([], "base") == ()


@pytest.mark.parametrize("cases", [1, 2])
def test_one_case_or_two_say_nothing_about_others(cases):
    assert means([timed(base=1.0, a=2.0)] * cases, "base") == ()


def test_an_interval_that_could_be_anything_is_boundless():
    (found,) = means([timed(base=1.0, a=a) for a in (0.1, 1.0, 10.0)], "base")
    assert found.value == pytest.approx(1.0)
    assert (found.low, found.high) == (0.0, math.inf)


def test_the_interval_covers_the_mean_of_all_cases_that_these_were_drawn_from():
    machine, covered = Machine(2, Noise(0.01, 0.0, 0.0)), 0
    for _ in range(40):
        ratios = 1.5 * 2 ** machine.rng.normal(0, 1, 6)
        (found,) = means([machine.timed("case", 10, base=1.0, a=slow) for slow in ratios], "base")
        covered += found.low <= 1.5 <= found.high
    assert 34 <= covered < 40
