"""A backend that dies before it is asked anything is told once, and in its own words."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opcheck.backends.isolation import process
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import Crashed, NotRun, Produced
from tests.backends.isolation.asked import FAULTY, MEBI, case_file, pool_of, questions, replies

ROOT = Path(__file__).parent.parent.parent.parent


def error_of(backend: str, **settings) -> BackendUnavailable:
    with pytest.raises(BackendUnavailable) as caught, pool_of(backend, **settings):
        pass
    return caught.value


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("abort", "died at start: killed by SIGABRT; the last it printed:\nabout to abort\nFatal"),
        ("exit", "died at start: exited with status 0; the last it printed:\nabout to exit"),
        ("sys_exit", "cannot be made: SystemExit: 3 ("),
        ("raise", "cannot be made: KeyError: 'no device' ("),
    ],
)
def test_a_death_at_start_is_told_with_what_was_printed(how, told):
    message = error_of(f"DeadAtStart?how={how}").message
    assert message.startswith(f"backend '{FAULTY}DeadAtStart")
    assert told in message


@pytest.mark.parametrize("how", ["hang", "print"])
def test_a_start_takes_only_so_long(how):
    start = time.monotonic()
    assert "hangs at start" in error_of(f"DeadAtStart?how={how}", start_timeout=1.5).message
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("limit", [30, 400])
def test_a_start_takes_only_so_much_memory(limit):
    # A limit too low for Python and NumPy is no matter of any case.
    message = error_of("DeadAtStart?how=grow", memory_limit=limit * MEBI).message
    assert message.endswith(f"took more than {limit} MiB of memory at start")


def test_a_backend_that_forks_while_it_starts_is_one_backend():
    asked = questions("a", "b", "c")
    with pool_of("ForksAtStart") as pool:
        found = replies(pool, asked)
        assert not pool.accidents
    assert [type(reply.outcome) for reply in found] == [Produced] * 3


def test_a_command_line_error_of_the_backend_stays_one():
    with pytest.raises(UsageError, match=r"unexpected .* 'hwo'"), pool_of("DeadAtStart?hwo=x"):
        pass


def test_a_system_without_room_for_a_process_is_told(monkeypatch):
    def full(*words, **settings):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process.subprocess, "Popen", full)
    assert "no process can be started: [Errno 11]" in error_of("Faulty").message


# ── when a worker is replaced ───────────────────────────────────────────────────────────────────
def run_with_deaths(tmp_path, starts):
    """What comes of five questions, the second of which crashes the process, and how many starts
    there were.
    """
    memory = tmp_path / "starts"
    asked = questions("a", "b__abort", "c", "d", "e")
    with pool_of(f"StartsSometimes?file={memory}&starts={starts}") as pool:
        found = [reply.outcome for reply in replies(pool, asked)]
    return found, len(memory.read_text())


def test_a_replacement_that_dies_at_start_is_started_again(tmp_path):
    found, starts = run_with_deaths(tmp_path, "2,4,5")
    assert found[1] == Crashed("killed by SIGABRT")
    assert [type(outcome) for outcome in found].count(Produced) == 4
    assert starts == 6


def test_after_three_deaths_at_start_the_other_cases_are_not_run(tmp_path):
    found, starts = run_with_deaths(tmp_path, "2,3,4")
    assert isinstance(found[0], Produced)
    assert found[1] == Crashed("killed by SIGABRT; its process had answered 1 question before")
    for outcome in found[2:]:
        assert isinstance(outcome, NotRun)
        assert "the backend could not be started again: " in outcome.reason
        assert "died at start: exited with status 7; the last it printed:\nno device left" in (
            outcome.reason
        )
    assert starts == 4


def test_a_second_worker_that_cannot_start_leaves_the_cases_to_the_first(tmp_path):
    asked = questions(*(f"c{number}" for number in range(20)))
    with pool_of(
        f"StartsSometimes?file={tmp_path / 'starts'}&starts=2,3,4,5,6,7", workers=2
    ) as pool:
        found = replies(pool, asked)
    assert [type(reply.outcome) for reply in found] == [Produced] * 20


# ── on the command line ─────────────────────────────────────────────────────────────────────────
def test_a_run_says_it_once_and_judges_nothing(tmp_path):
    names = [f"c{number}" for number in range(50)]
    found = subprocess.run(
        [
            *(sys.executable, "-m", "opcheck", "run", str(case_file(tmp_path, names))),
            *("-b", f"{FAULTY}DeadAtStart?how=exit", "-j", "2"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
        encoding="utf-8",
    )
    assert (found.returncode, found.stdout) == (4, "")
    assert found.stderr.count("died at start: exited with status 0") == 1
    assert found.stderr.count("about to exit") == 1
