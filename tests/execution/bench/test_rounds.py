"""Everybody takes turns in random order, and whoever fails takes no further part."""

import itertools
import math
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from opcheck.backends.isolation import answering as timing
from opcheck.backends.isolation.pool import WorkerLost
from opcheck.execution.bench import Contender, Here, Plan, Visit, copying, interleave, yardstick
from opcheck.model.question import Elapsed

#: Half of a visit's time is enough for one.
PLAN = Plan("a", warm=0.05)


class Process:
    """Takes a known time, which is told and not spent; notes its turns."""

    def __init__(self, name: str, seconds: float, turns: list[str], *, lives: int = 10**9) -> None:
        self.name, self.seconds, self.turns, self.lives = name, seconds, turns, lives
        self.asked: list[tuple[int, int]] = []

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        self.lives -= 1
        if self.lives < 0:
            raise WorkerLost("it died")
        self.turns.append(self.name)
        self.asked.append((loops, flushed))
        return Elapsed(self.seconds)


def contender(name: str, turns: list[str], *, seconds: float = 1e-4, lives: int = 10**9):
    return Contender(Process(name, seconds, turns, lives=lives), worker=2)


def go(contenders, rounds, *, beside=(), seconds=60.0, first=0, plan=PLAN, stop=lambda: False):
    visit = Visit(2, rounds, seconds)
    return interleave(contenders, beside, plan, visit, first, random.Random(0), stop)


def test_in_each_round_everybody_takes_one_sample() -> None:
    turns: list[str] = []
    three = [contender(name, turns) for name in "abc"]
    assert go(three[:2], 12, beside=three[2:], first=30) == 42
    assert all(sorted(turns[n : n + 3]) == ["a", "b", "c"] for n in range(0, 36, 3))
    for one in three:
        assert [(s.round, s.worker) for s in one.samples] == [(n, 2) for n in range(30, 42)]


def test_the_order_within_a_round_is_left_to_chance() -> None:
    turns: list[str] = []
    go([contender(name, turns) for name in "abc"], 200)
    assert all(40 < count < 95 for count in Counter(turns[::3]).values())


def test_who_is_lost_takes_no_further_part_and_the_others_go_on() -> None:
    dies, lives = contender("a", [], lives=4), contender("b", [])
    go([dies, lives], 10)
    assert dies.lost == "it died"
    assert (len(dies.samples), len(lives.samples)) == (4, 10)


def test_where_nobody_is_left_nothing_more_is_measured() -> None:
    dies, copy = contender("a", [], lives=4), contender("b", [])
    assert go([dies], 10, beside=[copy]) == 5
    assert len(copy.samples) == 5


def test_an_interrupt_ends_it_after_the_round_at_hand() -> None:
    both = [contender("a", []), contender("b", [])]
    assert go(both, 50, stop=lambda: len(both[0].samples) == 7) == 7
    assert [len(one.samples) for one in both] == [7, 7]


class Sleeper:
    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        time.sleep(0.05)
        return Elapsed(0.05)


def test_time_is_limited_but_there_is_one_round_at_the_least() -> None:
    slow, quick = Contender(Sleeper()), contender("b", [])
    assert go([slow, quick], 1000, seconds=0.001) >= 1
    assert len(slow.samples) == 1
    assert go([Contender(Sleeper())], 1000, seconds=0.2, plan=replace(PLAN, share=9.0)) <= 6


def test_who_is_slow_leaves_time_for_the_others() -> None:
    slow, quick = Contender(Sleeper()), contender("b", [])
    go([slow, quick], 40, seconds=0.3)
    assert 2 <= len(slow.samples) < 10
    assert len(quick.samples) == 40


@pytest.mark.parametrize(("seconds", "loops"), [(1e-6, 500), (1e-4, 5), (6e-4, 1), (0.2, 1)])
def test_samples_last_from_half_a_millisecond_to_a_whole_one(seconds: float, loops: int) -> None:
    one = contender("a", [], seconds=seconds)
    one.warm_up(PLAN)
    assert loops <= one.loops <= max(loops, 2 * loops)
    assert one.loops == 1 or 0.5e-3 <= one.loops * seconds <= 1.01e-3


def test_who_took_long_for_the_first_call_is_warm() -> None:
    turns: list[str] = []
    one = contender("a", turns, seconds=0.2)
    one.warm_up(PLAN, first=0.2)
    assert (turns, one.loops) == ([], 1)


def test_cold_calls_are_timed_one_by_one() -> None:
    process = Process("a", 1e-6, [])
    one = Contender(process)
    plan = replace(PLAN, warm=0.01, flushed=1 << 20)
    one.warm_up(plan)
    go([one], 3, plan=plan)
    assert set(process.asked) == {(1, 1 << 20)}


def test_processes_visit_once_before_each_look_and_share_rounds_and_seconds() -> None:
    tours = [*Plan("a", processes=5, looks=(30, 60, 120), seconds=24.0).tours()]
    assert [[visit.worker for visit in tour] for tour in tours] == [[0, 1, 2, 3, 4]] * 3
    assert [{visit.rounds for visit in tour} for tour in tours] == [{6}, {6}, {12}]
    assert sum(visit.seconds for tour in tours for visit in tour) == pytest.approx(24.0)


def test_rounds_that_processes_cannot_share_are_more_and_not_fewer() -> None:
    [tour] = Plan("a", processes=4, looks=(9,)).tours()
    assert [visit.rounds for visit in tour] == [3, 3, 3, 3]


def test_work_in_this_process_is_timed_as_that_of_workers() -> None:
    def busy() -> None:
        end = time.process_time() + 0.002
        while time.process_time() < end:
            pass

    found = min(Here(busy).measure(2).seconds for _ in range(10))
    # How much more depends on what else the machine does.
    assert 0.002 <= found < 0.1
    assert 0.002 <= min(Here(busy).measure(2, flushed=1 << 20).seconds for _ in range(5)) < 0.1


@pytest.mark.parametrize(
    ("used", "queued", "waited"),
    [
        (4.0, 6.0, 6.0),  # at work or waiting
        (4.0, 2.0, 2.0),  # asleep for the rest
        (4.0, 0.0, 0.0),
        (4.0, 9.0, 6.0),  # what waited before and after the call is none of it
        (20.0, 6.0, 0.0),  # several threads at work
        (4.0, math.nan, 0.0),
    ],
)
@pytest.mark.parametrize("flushed", [0, 64])
def test_a_call_does_not_include_waiting_for_a_processor(
    monkeypatch: pytest.MonkeyPatch, used: float, queued: float, waited: float, flushed: int
) -> None:
    clocks = {"perf_counter": 10.0, "process_time": used, "_queued": queued}
    for name, step in clocks.items():
        ticks = itertools.count(100.0, step)
        monkeypatch.setattr(timing, name, lambda ticks=ticks: next(ticks))
    found = Here(lambda: None).measure(2, flushed)
    calls = 1 if flushed else 2
    assert found == Elapsed((10.0 - waited) / calls, waited / calls)


@pytest.mark.parametrize(
    ("threads", "seconds"),
    [(["9000 2000000000 7", "1 500000000 1"], 2.5), ([], 0.0), (["9000 2000000000 7", ""], None)],
)
def test_how_long_threads_waited_is_what_linux_says_of_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, threads: list[str], seconds: float | None
) -> None:
    for number, text in enumerate(threads):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "schedstat").write_text(text)
    monkeypatch.setattr(timing, "_THREADS", tmp_path)
    found = timing._queued()
    assert math.isnan(found) if seconds is None else found == seconds


def test_a_copy_moves_as_many_bytes_as_it_says() -> None:
    small, large = (
        min(copying(size).measure(3).seconds for _ in range(9)) for size in (1 << 20, 1 << 25)
    )
    assert large > small


def test_the_yardstick_takes_some_tenths_of_a_millisecond() -> None:
    assert 1e-5 < min(yardstick().measure(3).seconds for _ in range(9)) < 1e-1
