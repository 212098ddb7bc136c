"""`opcheck run -j N`: judges in processes of their own, and what one process would have said."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from opcheck.execution.scheduler import JudgePool
from tests.cli.conftest import notes
from tests.wording import lines_with

pytestmark = pytest.mark.processes

BACKENDS = ("-b", "numpy", "-b", "reference", "--no-known")
SUITES = ("--op", "Hardmax", "--op", "Gather", *BACKENDS)
SMALL = ("--op", "Hardmax", "--dtype", "float32", "-k", "coerced", *BACKENDS)
#: A backend that is slow, or fails in opcheck's own part of its adapter.
SLOW = """\
import time
from opcheck.backends.base import Defect

class Backend:
    version = "1"

    def prepare(self, task):
        self.task = task
        return self

    def run(self, inputs):
        time.sleep(0.2)
        if "broken" in self.task.case:
            raise Defect("a bug of ours")
        return [inputs[0]]
"""
CASES = """\
op: Identity
opset: 13
dtype: float32
inputs: {input: [1, 2]}
cases:
"""


def answers(text):
    """The lines of a stored run, without times."""
    times = ("seconds", "started")
    lines = map(json.loads, text.splitlines())
    return [{k: v for k, v in line.items() if k not in times} for line in lines]


@pytest.mark.gate
def test_several_judges_find_what_one_finds(run, tmp_path):
    one, three = (
        run("run", *SUITES, "--format", "json", "-j", jobs, code=1).stdout for jobs in ("1", "3")
    )
    assert answers(one) == answers(three)
    # Causes were looked for, and found.
    assert sum(bool(line.get("diagnoses")) for line in answers(three)) > 100


@pytest.mark.sampled(1)
@pytest.mark.parametrize("more", [("-x",), ("--max-fail", "5")])
def test_a_run_that_stops_early_stops_where_one_judge_would(run, more):
    words = ("run", *SMALL, *more, "--format", "json", "-j")
    one = answers(run(*words, "1").stdout)
    assert one == answers(run(*words, "2").stdout)
    assert len(one) < 2 * one[0]["cases"]


@pytest.fixture
def slow(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)

    def start(names):
        lines = [f"- {{name: {name}}}\n" for name in names]
        (tmp_path / "cases.yaml").write_text(CASES + "".join(lines))
        words = ("run", "cases.yaml", "-b", "py:slow:Backend", "-j", "2", "--format", "json")
        return subprocess.Popen(
            [sys.executable, "-m", "opcheck", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    return start


def test_a_judge_that_is_killed_ends_the_run_and_nothing_is_green(slow, wording):
    with slow([f"c{number}" for number in range(40)]) as run:
        run.stdout.readline()  # the header
        json.loads(run.stdout.readline())
        judges = [
            child
            for child in psutil.Process(run.pid).children()
            if child.cmdline() == psutil.Process(run.pid).cmdline()
        ]
        assert len(judges) == 2
        workers = [worker for judge in judges for worker in judge.children()]
        judges[0].send_signal(signal.SIGKILL)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 4
    assert lines_with(err, "a process that") == wording
    assert "Traceback" not in err
    assert len(out.splitlines()) < 40
    assert len(workers) == 2
    _, alive = psutil.wait_procs([*judges, *workers], 5)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


def test_what_the_backends_of_a_judge_left_is_missed_where_it_does_not_say(
    run, monkeypatch, wording
):
    judge = JudgePool._judge
    monkeypatch.setattr(
        JudgePool,
        "_judge",
        lambda self, send: judge(
            self, lambda what: None if isinstance(what, tuple) else send(what)
        ),
    )
    words = ("run", "--op", "Relu", "--level", "smoke", "-b", "numpy", "-j", "2")
    assert notes(run(*words, code=4)) == wording


def test_a_bug_of_an_adapter_ends_the_run_as_in_one_process(slow):
    with slow([*"abcdef", "broken", *"ghijkl"]) as run:
        _, err = run.communicate(timeout=60)
    assert run.returncode not in (0, 1)
    assert "bug of ours" in err
