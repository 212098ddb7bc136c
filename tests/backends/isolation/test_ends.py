"""However `opcheck` ends, nothing of its backends outlives it, and what it wrote is whole."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.asking import wait_until
from tests.backends.isolation.asked import FAULTY, case_file, processes_of

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
    pytest.mark.processes,
    pytest.mark.fresh_workers,
]

REPORT = "report.jsonl"
ROOT = Path(__file__).parent.parent.parent.parent


def _mind_signals():
    """Whoever runs the tests may ignore some, as nohup does, and it would be inherited."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def at_work(tmp_path):
    """A run that has judged two cases and hangs in two others, whose processes have children."""
    (tmp_path / "tmp").mkdir()
    # Three are queued behind the first hang; so the second one is the other worker's.
    names = ["a", "b", "c__hang_with_children", *"defg", "h__hang_with_children", *"ijklmn"]
    started = []

    def start(backend="Faulty"):
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "opcheck", "run", str(case_file(tmp_path, names))),
                *("-b", f"{FAULTY}{backend}", "-j", "2", "--timeout", "600"),
                *("--report", f"json={tmp_path / REPORT}"),
            ],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "tmp")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=_mind_signals,
        )
        started.append(process)
        # Two workers, and five children of each.
        wait_until(lambda: len(processes_of(tmp_path)) == 12, 60)
        # A hang begins before the results before it have come from the process that judged them.
        report = tmp_path / REPORT
        wait_until(lambda: report.is_file() and report.read_text("utf-8").count("\n") >= 3, 60)
        # It looks for a Ctrl-C after each result: the next one is not there yet.
        time.sleep(0.2)
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def check_that_nothing_is_left(folder, seconds=3):
    wait_until(lambda: not processes_of(folder) and not list((folder / "tmp").iterdir()), seconds)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_who_is_killed_leaves_nothing_behind_and_a_report_that_can_be_read(
    at_work, tmp_path, number
):
    process = at_work()
    process.send_signal(number)
    check_that_nothing_is_left(tmp_path)
    _, err = process.communicate(timeout=30)
    header, *records = map(json.loads, (tmp_path / REPORT).read_text("utf-8").splitlines())
    assert header["type"] == "header"
    judged = [record for record in records if record["type"] == "result"]
    assert [record["name"] for record in judged[:2]] == ["a", "b"]
    assert {record["verdict"] for record in judged} == {"pass"}
    assert "Traceback" not in err
    if number == signal.SIGTERM:
        assert records[-1]["type"] == "footer"
        assert (records[-1]["complete"], records[-1]["exit_code"]) == (False, 130)
        assert process.returncode == 130
    else:
        assert process.returncode == -number


def test_who_is_terminated_shows_the_table_so_far(at_work, tmp_path):
    process = at_work()
    process.terminate()
    check_that_nothing_is_left(tmp_path)
    out, _ = process.communicate(timeout=30)
    assert re.match(r"INCOMPLETE: \d+ of 14 results\n", out)
    assert out.splitlines()[-1].startswith("exit 130: interrupted")


@pytest.mark.gate
def test_a_whole_process_group_that_is_killed_leaves_nothing_behind(at_work, tmp_path):
    # As CI systems do with a job that takes too long.
    os.killpg(at_work().pid, signal.SIGKILL)
    check_that_nothing_is_left(tmp_path)


def test_a_second_interrupt_ends_workers_that_hang(at_work, tmp_path):
    process = at_work()
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.3)
    # The first is for the terminal's owner only: no worker is interrupted.
    assert process.poll() is None
    assert len(processes_of(tmp_path)) == 12
    os.killpg(process.pid, signal.SIGINT)
    check_that_nothing_is_left(tmp_path, 10)
    process.communicate(timeout=30)
    assert process.returncode == 130
