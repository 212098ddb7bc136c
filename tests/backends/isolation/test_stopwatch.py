"""What is timed in a worker is the call alone, and whatever ends it is told."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opcheck.backends.isolation.pool import Stopwatch, WorkerLost
from opcheck.backends.isolation.process import BackendSettings
from opcheck.errors import UsageError
from tests.backends.isolation.asked import questions
from tests.wording import Wording

[ASKED] = questions("a")


@contextmanager
def watch(backend: str, **settings: Any) -> Iterator[Stopwatch]:
    with tempfile.TemporaryDirectory() as folder:
        address = f"py:tests.backends.isolation.spinning:{backend}"
        found = Stopwatch(BackendSettings(address, Path(folder), **settings))
        try:
            found.connected()
            yield found
        finally:
            found.close()
            assert not list(Path(folder).iterdir())


@pytest.mark.parametrize("seconds", [0.0002, 0.002, 0.02])
def test_a_known_time_is_measured_right(seconds: float) -> None:
    with watch(f"Spin?seconds={seconds}") as timer:
        timer.hold(ASKED)
        found = min(timer.measure(max(1, round(0.001 / seconds))).seconds for _ in range(20))
        # How much more depends on what else the machine does.
        assert seconds <= found < 5 * seconds


def test_the_way_to_the_worker_and_back_is_no_part_of_it() -> None:
    with watch("Spin?seconds=0") as timer:
        timer.hold(ASKED)
        start = time.perf_counter()
        inside = min(timer.measure(1).seconds for _ in range(20))
        outside = (time.perf_counter() - start) / 20
        assert inside < outside


def test_only_opcheck_s_own_adapters_say_what_is_timed() -> None:
    with watch("Copies?seconds=0") as timer:
        timer.hold(ASKED)
        found = timer.measure(1)
        # While this backend sleeps, another thread of its process may wait for a processor.
        assert found.seconds + found.waited >= 0.05


def test_preparing_is_timed_apart() -> None:
    with watch("Spin?seconds=0.05") as timer:
        held = timer.hold(ASKED)
        assert held.prepared < 0.05 <= held.first
        assert timer.measure(1).seconds >= 0.05


def test_other_memory_is_touched_before_a_cold_call_and_does_not_count() -> None:
    with watch("Spin?seconds=0.0002") as timer:
        timer.hold(ASKED)
        start = time.perf_counter()
        cold = timer.measure(3, flushed=256 << 20).seconds
        assert (time.perf_counter() - start) / 3 > cold >= 0.0002


@pytest.mark.parametrize("how", ["dies", "hangs", "raises"])
def test_an_end_is_told_and_the_next_case_is_timed_all_the_same(how: str, wording: Wording) -> None:
    with watch(f"Ends?how={how}&after=20", timeout=1.0) as timer:
        timer.hold(ASKED)
        timer.measure(10)
        with pytest.raises(WorkerLost) as lost:
            timer.measure(10)
        assert lost.value == wording
        timer.hold(ASKED)
        assert timer.measure(5).seconds > 0


def test_what_it_answers_in_the_end_can_be_judged() -> None:
    with watch("Ends?how=lies&after=20") as timer:
        timer.hold(ASKED)
        timer.measure(10)
        timer.measure(10)
        [answer] = timer.release().outputs
        assert answer.tolist()[0] == [1, 1, 1]  # type: ignore[union-attr]


def test_what_is_printed_while_it_is_measured_is_told_and_nothing_else() -> None:
    with watch("Prints?seconds=0") as timer:
        timer.hold(ASKED)
        assert timer.release().printed == ""
        timer.hold(ASKED)
        timer.measure(2)
        assert timer.release().printed == "run\ndone\n" * 3  # one goes before


def test_preparing_may_be_ended_by_who_waits_for_it() -> None:
    def enough() -> None:
        raise StopIteration("enough")

    with watch("Slow") as timer, pytest.raises(StopIteration, match="enough"):
        timer.hold(ASKED, enough)


def test_nothing_is_timed_that_is_not_held() -> None:
    with watch("Spin?seconds=0") as timer, pytest.raises(WorkerLost, match="AssertionError"):
        timer.measure(1)


def test_a_worker_that_takes_too_much_memory_is_ended() -> None:
    lost = pytest.raises(WorkerLost, match="of memory")
    with watch("Spin?seconds=0.5", memory_limit=1 << 20) as timer, lost:
        timer.hold(ASKED)


def test_a_backend_that_is_not_there_says_so() -> None:
    with pytest.raises(UsageError), watch("Absent"):
        pass
