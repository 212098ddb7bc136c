"""The time for causes: a part of it during the run, all of it at the end, and none after Ctrl-C."""

from typing import Any

import numpy as np
import pytest

from opcheck import interrupt
from opcheck.diagnose import Suspects, allowance, suspects
from opcheck.diagnose.allowance import UNLIMITED, WHILE_RUNNING, Allowance, NoTimeLeft
from opcheck.errors import InvalidNode
from tests.diagnose.wrong import SOFTMAX, mutant, node, wrong
from tests.report.made import CASE


class Clock:
    """A clock that stands still until it is set forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(allowance, "monotonic", clock)
    return clock


def spend(clock: Clock, spent: Allowance, seconds: float, part: float = 1.0) -> bool:
    """Search so long; return True if there was time to the end."""
    with spent.searching(part):
        clock.now += seconds
        try:
            spent.check()
        except NoTimeLeft:
            return False
    return True


def test_a_short_run_has_a_minute_in_all(clock: Clock) -> None:
    spent = Allowance()
    assert [spend(clock, spent, 20) for _ in range(4)] == [True, True, True, False]


def test_a_long_run_has_its_own_time(clock: Clock) -> None:
    spent = Allowance()
    clock.now += 100
    assert [spend(clock, spent, 40) for _ in range(3)] == [True, True, False]


def test_a_part_of_it_is_left_for_the_end(clock: Clock) -> None:
    spent = Allowance()
    assert not spend(clock, spent, 60 * WHILE_RUNNING + 1, WHILE_RUNNING)
    assert spend(clock, spent, 20)


def test_without_a_limit_there_is_always_time(clock: Clock) -> None:
    assert spend(clock, Allowance(UNLIMITED), 1e9)


def test_what_is_not_part_of_a_search_takes_as_long_as_it_takes(clock: Clock) -> None:
    spent = Allowance()
    assert not spend(clock, spent, 61)
    spent.check()


def test_an_interrupted_search_ends_at_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "_asked", True)
    assert not spend(clock, Allowance(UNLIMITED), 0)


def test_a_failure_without_time_is_noted_and_named_by_nothing(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(asked: Any) -> Any:
        clock.now += 61
        raise InvalidNode("never")

    several = [mutant(slow, f"refuses_{n}") for n in range(3)]
    monkeypatch.setattr(suspects, "causes_of", lambda op: several)
    held = Suspects(lambda case: None, Allowance())
    evidence = wrong(node(SOFTMAX, np.zeros((2, 2)), {"axis": 1}), None)
    assert held.diagnose(evidence, CASE.id) == ()
    assert held.untried == {CASE.id}


def test_a_part_of_a_search_may_be_left_to_what_follows(clock: Clock) -> None:
    spent = Allowance()
    with spent.searching():
        clock.now += 50
        with spent.up_to(0.8), pytest.raises(NoTimeLeft):
            spent.check()
        spent.check()
