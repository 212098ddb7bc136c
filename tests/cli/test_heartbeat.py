"""How far a run is, in a log that has no progress bar."""

import pytest

from opcheck.cli.heartbeat import INTERVAL, Heartbeat, time_left


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_nothing_is_printed_in_the_first_half_minute(clock, capsys) -> None:
    beat = Heartbeat(1000, "judged", clock)
    clock.now += INTERVAL - 1
    beat.count()
    assert capsys.readouterr().err == ""


def test_a_line_counts_failures_and_says_how_long_the_rest_takes(clock, capsys, wording) -> None:
    beat = Heartbeat(1945, "judged", clock)
    for number in range(1211):
        beat.count(failed=number < 3)
    clock.now += 197
    beat.count()
    assert capsys.readouterr().err == wording


def test_lines_come_every_half_minute(clock, capsys) -> None:
    beat = Heartbeat(100, "judged", clock)
    for _ in range(40):
        clock.now += 3
        beat.count()
    assert len(capsys.readouterr().err.splitlines()) == 120 // INTERVAL


def test_the_last_result_needs_no_line(clock, capsys) -> None:
    beat = Heartbeat(1, "judged", clock)
    clock.now += 2 * INTERVAL
    beat.count()
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_bar_and_no_lines(clock, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    beat = Heartbeat(10, "judged", clock)
    clock.now += 2 * INTERVAL
    beat.count()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("done", "left"), [(0, None), (1, 90.0), (5, 10.0), (10, 0.0)])
def test_the_rest_takes_as_long_as_what_is_done(done: int, left: float | None) -> None:
    assert time_left(10.0, done, 10) == left
