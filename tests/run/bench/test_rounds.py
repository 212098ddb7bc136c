"""Everybody takes turns in random order, and whoever fails takes no further part."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from opcheck.run.bench.contenders import Here, copying, yardstick
from opcheck.run.bench.plan import Plan
from opcheck.run.bench.rounds import Contender, interleave


class Gone(Exception):
    pass


class Process:
    """Takes a known time, which is told and not spent; notes its turns."""

    def __init__(self, name: str, seconds: float, turns: list[str], *, lives: int = 10**9) -> None:
        self.name, self.seconds, self.turns, self.lives = name, seconds, turns, lives
        self.asked: list[tuple[int, int]] = []

    def measure(self, loops: int, flushed: int = 0) -> float:
        self.lives -= 1
        if self.lives < 0:
            raise Gone("it died")
        self.turns.append(self.name)
        self.asked.append((loops, flushed))
        return self.seconds


def contender(name: str, turns: list[str], *, processes: int = 3, seconds: float = 1e-4):
    return Contender(name, [Process(f"{name}{n}", seconds, turns) for n in range(processes)])


def go(
    contenders: Sequence[Contender],
    plan: Plan,
    *,
    enough: Callable[[], bool] = lambda: False,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    interleave(contenders, plan, enough, Gone, stop)


def test_in_each_round_everybody_takes_one_sample_and_processes_take_turns() -> None:
    turns: list[str] = []
    both = [contender("a", turns), contender("b", turns, processes=2)]
    go(both, Plan("a", looks=(12,)))
    rounds = [turns[n : n + 2] for n in range(0, 24, 2)]
    assert [sorted(one) for one in rounds] == [[f"a{n % 3}", f"b{n % 2}"] for n in range(12)]
    assert [(s.round, s.worker) for s in both[0].samples] == [(n, n % 3) for n in range(12)]


def test_the_order_within_a_round_is_left_to_chance() -> None:
    turns: list[str] = []
    go([contender(name, turns, processes=1) for name in "abc"], Plan("a", looks=(200,)))
    firsts = Counter(turns[::3])
    assert all(40 < firsts[f"{name}0"] < 95 for name in "abc")


def test_it_is_looked_only_after_the_rounds_that_were_planned() -> None:
    seen: list[int] = []
    one = contender("a", [])

    def enough() -> bool:
        seen.append(len(one.samples))
        return len(seen) == 2

    go([one], Plan("a", looks=(15, 30, 60)), enough=enough)
    assert seen == [15, 30]
    assert len(one.samples) == 30


def test_who_is_lost_takes_no_further_part_and_the_others_go_on() -> None:
    turns: list[str] = []
    dies = Contender("a", [Process("a", 1e-4, turns, lives=4)])
    lives = contender("b", turns)
    go([dies, lives], Plan("b", looks=(10,)))
    assert dies.lost == "it died"
    assert (len(dies.samples), len(lives.samples)) == (4, 10)


def test_an_interrupt_ends_it_after_the_round_at_hand() -> None:
    both = [contender("a", []), contender("b", [])]
    go(both, Plan("a", looks=(50,)), stop=lambda: len(both[0].samples) == 7)
    assert [len(one.samples) for one in both] == [7, 7]


class Sleeper:
    def measure(self, loops: int, flushed: int = 0) -> float:
        time.sleep(0.05)
        return 0.05


def test_time_is_limited_but_each_process_has_its_turn() -> None:
    slow = Contender("a", [Sleeper()] * 5)
    start = time.monotonic()
    go([slow, contender("b", [])], Plan("a", looks=(1000,), seconds=0.1))
    assert time.monotonic() - start < 5
    assert {sample.worker for sample in slow.samples} == set(range(5))


def test_who_is_slow_leaves_time_for_the_others() -> None:
    slow, quick = Contender("a", [Sleeper()] * 3), contender("b", [])
    go([slow, quick], Plan("a", looks=(40,), seconds=1.0, share=0.2))
    assert 3 <= len(slow.samples) < 10
    assert len(quick.samples) == 40


@pytest.mark.parametrize(("seconds", "loops"), [(1e-6, 500), (1e-4, 5), (6e-4, 1), (0.2, 1)])
def test_samples_last_from_half_a_millisecond_to_a_whole_one(seconds: float, loops: int) -> None:
    one = contender("a", [], seconds=seconds)
    one.warm_up(Plan("a", warm=0.05))
    assert loops <= one.loops <= max(loops, 2 * loops)
    assert one.loops == 1 or 0.5e-3 <= one.loops * seconds <= 1.01e-3


def test_cold_calls_are_timed_one_by_one() -> None:
    one = contender("a", [], seconds=1e-6)
    plan = Plan("a", looks=(3,), warm=0.01, flushed=1 << 20)
    one.warm_up(plan)
    go([one], plan)
    asked = [call for process in one.processes for call in process.asked]  # type: ignore[attr-defined]
    assert set(asked) == {(1, 1 << 20)}


# ── work in this process ──────────────────────────────────────────────────────────────────────


def test_work_in_this_process_is_timed_as_that_of_workers() -> None:
    def busy() -> None:
        end = time.perf_counter() + 0.002
        while time.perf_counter() < end:
            pass

    found = min(Here(busy).measure(2) for _ in range(10))
    # How much more depends on what else the machine does.
    assert 0.002 <= found < 0.1
    assert 0.002 <= min(Here(busy).measure(2, flushed=1 << 20) for _ in range(5)) < 0.1


def test_a_copy_moves_as_many_bytes_as_it_says() -> None:
    small, large = (min(copying(size).measure(3) for _ in range(9)) for size in (1 << 20, 1 << 25))
    assert large > small


def test_the_yardstick_takes_some_tenths_of_a_millisecond() -> None:
    assert 1e-5 < min(yardstick().measure(3) for _ in range(9)) < 1e-1
