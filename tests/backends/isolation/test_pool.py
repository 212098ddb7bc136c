"""Workers that are asked, replaced and given up, none of which is any other case's matter."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np
import psutil
import pytest

from opcheck.backends.base import Defect
from opcheck.backends.execute import Observed
from opcheck.backends.isolation import process
from opcheck.backends.isolation.wire import locked
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import Crashed, NotRun, OutOfMemory, Produced, Question, Raised, TimedOut
from tests.backends.isolation.asked import (
    FAULTY,
    MEBI,
    case_file,
    look,
    pool_of,
    process_of,
    questions,
    replies,
    wait_for,
)
from tests.expecting import of_type

pytestmark = [pytest.mark.processes, pytest.mark.starts_early]

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def outcomes(pool, *names):
    return [reply.outcome for reply in replies(pool, questions(*names))]


def look_until(pool, there, found=None):
    end = time.monotonic() + 30
    while not there():
        assert time.monotonic() < end
        look(pool, {} if found is None else found)


def kinds(found):
    return [type(outcome) for outcome in found]


def right(question: Question, outcome) -> bool:
    """Whether `outcome` has the one of each row where it belongs."""
    [x] = question.inputs
    want = np.eye(3, dtype=np.float32)[x.argmax(axis=1)]
    return isinstance(outcome, Produced) and np.array_equal(outcome.outputs[0], want)


def test_a_crash_is_tried_again_first_in_a_fresh_process():
    asked = questions("a", "b__abort", "c", "d", "e__not_first", "f")
    with pool_of("Faulty") as pool:
        found = [reply.outcome for reply in replies(pool, asked)]
    assert found[1] == Crashed("killed by SIGABRT")
    # It depends on the cases before it, and is told all the same.
    end = "its process had answered 2 questions before, and asked first in a fresh one it does not"
    assert right(asked[4], found[4].alone)
    assert found[4] == Crashed(f"killed by SIGABRT; {end} happen", found[4].alone)
    assert all(right(asked[place], found[place]) for place in (0, 2, 3, 5))


def test_a_question_may_bring_its_own_time_limit():
    hang, slow = questions("a__hang", "b")
    with pool_of("Sleepy?seconds=0.5", timeout=0.2) as pool:
        patient = [replace(slow, timeout=30), slow, replace(hang, timeout=1)]
        found = [reply.outcome for reply in replies(pool, patient)]
    assert right(slow, found[0])
    assert found[1:] == [TimedOut(0.2), TimedOut(1)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("aborts_later", "killed by SIGABRT"),
        ("exits_later", "exited with status 0"),
        ("alarm_later", "killed by SIGALRM"),
        ("garbage_later", "sent something that"),
    ],
)
def test_what_ends_between_two_questions_is_no_fault_of_either_and_yet_told(fault, told):
    first, second = questions(f"a__{fault}", "b")
    with pool_of("Faulty") as pool:
        [before] = replies(pool, [first])
        look_until(pool, lambda: pool.idle_deaths)
        [after] = replies(pool, [second])
        [accident] = pool.idle_deaths
    assert accident.startswith("its process ended")
    assert told in accident
    assert right(first, before.outcome)
    assert right(second, after.outcome)


@pytest.mark.parametrize("fault", ["allows_itself_no_bytes", "allows_itself_no_file"])
def test_limits_that_a_backend_sets_itself_are_its_own_matter(fault):
    asked = questions(f"a__{fault}", "b__odd", "c")
    with pool_of("Faulty", memory_limit=2048 * MEBI) as pool:
        found = [reply.outcome for reply in replies(pool, asked)]
    assert right(asked[0], found[0])
    assert isinstance(found[1], Raised)
    assert right(asked[2], found[2])


def test_data_that_cannot_be_handed_over_are_no_fault_of_the_backend(monkeypatch):
    first, second = questions("a", "b")
    with pool_of("Faulty") as pool:
        channel = pool._slots[0].process.channel
        with monkeypatch.context() as patch:
            patch.setattr(channel, "send", lambda number, parts: os.write(-1, b""))
            [unasked] = replies(pool, [first])
        [asked] = replies(pool, [second])
    assert "handed over: [Errno 9]" in of_type(NotRun, unasked.outcome).reason
    assert right(second, asked.outcome)


def test_memory_that_a_backend_denies_itself_is_told_and_costs_no_process():
    with pool_of("Faulty") as pool:
        found = outcomes(pool, "a", "b__limits_its_memory", "c")
        assert pool._slots[0].process.handled == 3
    assert kinds(found) == [Produced, OutOfMemory, Produced]


def test_three_processes_in_a_row_that_end_unasked_are_enough(wording):
    asked = questions("a", "b", "c")
    with pool_of("Deaf") as pool:
        found = replies(pool, asked)
        [(death, count)] = pool.idle_deaths.items()
        assert (death, count) == (wording, 3)
        # All that comes then is told at once, though it be much.
        assert all(pool.ask(question) and pool.has_room for question in asked * 9)
        start = time.monotonic()
        found += replies(pool, asked * 1000)
        assert time.monotonic() - start < 10
    not_run = of_type(NotRun, found[0].outcome)
    assert not_run.reason == wording
    assert [reply.outcome for reply in found] == [not_run] * 3003


def test_a_bug_of_opcheck_ends_the_run(wording):
    with pool_of("Faulty") as pool, pytest.raises(Defect) as raised:
        outcomes(pool, "a", "b__defect", "c")
    assert raised.value == wording


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "seen",
    [
        Observed("run"),
        Observed("third run", first=(), kept=()),
        Observed("run", first=(), fed=((), ())),
        Observed("run", exit=None, kept=(), again=()),
    ],
)
def test_an_answer_that_is_neither_outputs_nor_an_exit_is_a_crash(monkeypatch, seen, wording):
    def answer(self, kind, number, given):
        self.channel.receive()
        return seen

    with pool_of("Faulty") as pool, monkeypatch.context() as patch:
        patch.setattr(process.Process, "answer", answer)
        [reply] = replies(pool, questions("a"))
    assert of_type(Crashed, reply.outcome).how == wording


def test_workers_share_the_questions_and_a_hang_holds_up_none_but_its_own():
    asked = questions("a__hang", *(f"c{number}" for number in range(20)))
    asked[0] = replace(asked[0], timeout=20)
    with pool_of("Faulty", workers=2) as pool:
        tickets = [pool.ask(question) for question in asked]
        start = time.monotonic()
        # Three may have queued behind the hang.
        found = {}
        while len(found) < 17:
            look(pool, found)
            assert time.monotonic() < start + 15
        assert tickets[0] not in found
        assert sum(slot.process is not None for slot in pool._slots) == 2


def test_replies_keep_to_their_questions_with_several_workers():
    asked = questions(*(f"c{number}" for number in range(40)))
    with pool_of("Faulty", workers=3) as pool:
        found = replies(pool, asked)
    assert all(right(*pair) for pair in zip(asked, (reply.outcome for reply in found), strict=True))


def test_no_more_workers_are_started_than_there_are_questions():
    with pool_of("Faulty", workers=4) as pool:
        outcomes(pool, "a")
        assert sum(slot.process is not None for slot in pool._slots) == 1


def test_large_answers_wait_until_the_ones_before_them_were_read():
    # Small questions are queued; their answers are large, and the parent takes its time.
    asked = questions(*(f"c{number}__large" for number in range(6)))
    with pool_of("Faulty") as pool:
        tickets = [pool.ask(question) for question in asked]
        time.sleep(0.5)
        found = wait_for(pool, tickets)
    for question, reply in zip(asked, found, strict=True):
        assert isinstance(reply.outcome, Produced)
        for got, x in [
            (reply.outcome.outputs, question.inputs),
            (reply.outcome.between, question.second),
        ]:
            assert np.array_equal(got[0], x[0].reshape(-1).repeat(50_000))


def test_large_questions_and_answers_are_the_same_bit_by_bit():
    [small] = questions("a__echo")
    random = np.random.default_rng(0)
    asked = [small]
    for size in (1, 15_900, 16_100, 3 * MEBI):
        pair = [(random.integers(0, 255, size, np.uint8),) for _ in range(2)]
        asked.append(replace(small, inputs=pair[0], second=pair[1]))
    with pool_of("Faulty") as pool:
        found = replies(pool, [*asked, *asked])
    for question, reply in zip([*asked, *asked], found, strict=True):
        assert isinstance(reply.outcome, Produced)
        assert reply.outcome.unstable is None
        assert np.array_equal(reply.outcome.outputs[0], question.inputs[0])
        assert np.array_equal(reply.outcome.between[0], question.second[0])


def test_to_ask_takes_no_time_even_where_nobody_listens():
    [small] = questions("a__echo")
    [x] = small.inputs
    large = replace(small, inputs=(x.repeat(10_000),), second=(x.repeat(10_000),))
    with pool_of("Faulty") as pool:
        for asked in ([small] * 8, [large] * 8):
            os.kill(process_of(pool), signal.SIGSTOP)
            start = time.monotonic()
            tickets = [pool.ask(question) for question in asked]
            assert time.monotonic() - start < 10
            os.kill(process_of(pool), signal.SIGCONT)
            assert kinds(reply.outcome for reply in wait_for(pool, tickets)) == [Produced] * 8


def test_an_answer_too_large_to_be_judged_here_ends_its_case_only(monkeypatch, wording):
    monkeypatch.setattr(process, "fits", lambda size: size < MEBI)
    with pool_of("Faulty") as pool:
        found = outcomes(pool, "a", "b__large", "c__large", "d")
        assert pool._slots[0].process.handled == 4
    assert kinds(found) == [Produced, OutOfMemory, OutOfMemory, Produced]
    # How many bytes an answer takes as it is sent differs a little from run to run.
    assert re.sub(r"[\d,]+ bytes", "so many bytes", found[1].how) == wording


def test_an_output_of_another_size_than_expected_is_taken_as_it_is():
    with pool_of("Faulty") as pool:
        [huge] = outcomes(pool, "a__huge")
        # The memory that it took on its way is free again, here and there.
        assert psutil.Process(process_of(pool)).memory_info().rss < 300 * MEBI
        assert os.fstat(pool._slots[0].process._file).st_size < MEBI
    assert of_type(Produced, huge).outputs[0].nbytes == 100 * MEBI


@on_linux
def test_replaced_workers_leave_no_open_file():
    def files():
        return len(list(Path("/proc/self/fd").iterdir()))

    with pool_of("Faulty") as pool:
        outcomes(pool, "a__exit_0", "b")
        before = files()
        outcomes(pool, *(f"c{number}__exit_0" for number in range(3)), "d")
        assert files() == before
    assert files() < before


def allocated(pid):
    """Bytes of memory but for files, which the system drops and reads again as it likes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)[1]) * 1024


@on_linux
def test_memory_does_not_grow_with_the_number_of_cases():
    asked = questions(*(f"c{number}" for number in range(99)), "d__large")
    with pool_of("Faulty") as pool:
        both = os.getpid(), process_of(pool)
        sizes = []
        for _ in range(15):
            assert all(isinstance(r.outcome, Produced) for r in replies(pool, asked))
            sizes.append([allocated(pid) for pid in both])
    for found in zip(*sizes, strict=True):
        # Of three, as memory may be given back late. One of the large answers would be five.
        assert min(found[-3:]) - min(found[3:6]) < 4 * MEBI


def test_a_thread_that_prints_for_ever_fills_no_memory():
    with pool_of("Faulty") as pool:
        outcomes(pool, "a__thread_prints_for_ever")
        sizes = []

        def was_cut():
            sizes.append(os.fstat(pool._slots[0].process._log).st_size)
            return sizes[-1] < max(sizes)

        look_until(pool, was_cut)
        [reply] = replies(pool, questions("b"))
    assert isinstance(reply.outcome, Produced)


#: Holds the lock of a log, as a worker does that takes what was printed, until it is told to end.
LOCKING = "import fcntl, sys; fcntl.lockf(int(sys.argv[1]), fcntl.LOCK_EX); print(flush=True)"


def test_a_log_is_not_shortened_while_the_worker_takes_it():
    with pool_of("Faulty") as pool:
        log = pool._slots[0].process._log
        os.write(log, bytes(17 * MEBI))
        with subprocess.Popen(
            [sys.executable, "-c", f"{LOCKING}; input()", str(log)],
            pass_fds=(log,),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as worker:
            worker.stdout.readline()
            pool._slots[0].process.takes_too_much(now=True)
            assert os.fstat(log).st_size == 17 * MEBI
            worker.communicate(b"\n")
        pool._slots[0].process.takes_too_much(now=True)
        assert os.fstat(log).st_size == 8 << 10


def test_a_log_is_not_taken_while_it_is_shortened():
    with pool_of("Faulty") as pool:
        log = pool._slots[0].process._log
        with locked(log):
            tickets = [pool.ask(question) for question in questions("b")]
            assert not wait(pool.connections, 0.3)
            os.write(log, b"the end\n")
        [reply] = wait_for(pool, tickets)
    assert reply.printed == "the end\n"


@on_linux
def test_what_several_processes_share_is_counted_once():
    with pool_of("Faulty", memory_limit=500 * MEBI) as pool:
        [found] = outcomes(pool, "a__forks_with_much_memory")
    assert isinstance(found, Produced)


def test_no_child_is_left_where_the_system_is_not_linux(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    first, second = questions("a__crash_with_children", "b")
    with pool_of("Faulty", timeout=1.0) as pool:
        _, after = replies(pool, [first, second])
    assert right(second, after.outcome)


ROOT = Path(__file__).parent.parent.parent.parent


def error_of(backend: str, **settings) -> BackendUnavailable:
    with pytest.raises(BackendUnavailable) as caught, pool_of(backend, **settings):
        pass
    return caught.value


@pytest.mark.fresh_workers
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("abort", ["killed by SIGABRT;", "printed:\nabout to abort\nFatal"]),
        ("exit", ["with status 0;", "printed:\nabout to exit"]),
        ("sys_exit", ["made: SystemExit: 3 ("]),
        ("raise", ["made: KeyError: 'no device' ("]),
    ],
)
def test_a_death_at_start_is_told_with_what_was_printed(how, told):
    message = error_of(f"DeadAtStart?how={how}").message
    assert message.startswith(f"backend '{FAULTY}DeadAtStart")
    assert all(part in message for part in told)


@pytest.mark.fresh_workers
@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["hang", "print"])
def test_a_start_takes_only_so_long(how):
    start = time.monotonic()
    assert "hangs at start" in error_of(f"DeadAtStart?how={how}", start_timeout=1.5).message
    assert time.monotonic() - start < 30


@pytest.mark.fresh_workers
@pytest.mark.parametrize("limit", [30, 400])
def test_a_start_takes_only_so_much_memory(limit, wording):
    # A limit too low for Python and NumPy is no matter of any case.
    message = error_of("DeadAtStart?how=grow", memory_limit=limit * MEBI).message
    assert message == wording


@pytest.mark.fresh_workers
def test_a_backend_that_forks_while_it_starts_is_one_backend():
    asked = questions("a", "b", "c")
    with pool_of("ForksAtStart") as pool:
        found = replies(pool, asked)
        assert not pool.idle_deaths
    assert [type(reply.outcome) for reply in found] == [Produced] * 3


@pytest.mark.fresh_workers
def test_a_command_line_error_of_the_backend_stays_one():
    with pytest.raises(UsageError, match=r"unexpected .* 'hwo'"), pool_of("DeadAtStart?hwo=x"):
        pass


def test_a_system_without_room_for_a_process_is_told(monkeypatch, wording):
    def full(*words, **settings):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process.subprocess, "Popen", full)
    assert error_of("Faulty").message == wording


def run_with_deaths(tmp_path, starts):
    """What comes of five questions, the second of which crashes the process, and how many starts
    there were.
    """
    memory = tmp_path / "starts"
    asked = questions("a", "b__abort", "c", "d", "e")
    with pool_of(f"StartsSometimes?file={memory}&starts={starts}") as pool:
        found = [reply.outcome for reply in replies(pool, asked)]
    return found, len(memory.read_text())


@pytest.mark.fresh_workers
def test_a_replacement_that_dies_at_start_is_started_again(tmp_path):
    found, starts = run_with_deaths(tmp_path, "2,4,5")
    assert found[1] == Crashed("killed by SIGABRT")
    assert [type(outcome) for outcome in found].count(Produced) == 4
    assert starts == 6


@pytest.mark.fresh_workers
def test_after_three_deaths_at_start_the_other_cases_are_not_run(tmp_path, wording):
    found, starts = run_with_deaths(tmp_path, "2,3,4")
    assert isinstance(found[0], Produced)
    assert found[1] == Crashed("killed by SIGABRT; its process had answered 1 question before")
    for outcome in found[2:]:
        assert isinstance(outcome, NotRun)
        assert outcome.reason == wording
    assert starts == 4


@pytest.mark.fresh_workers
def test_a_second_worker_that_cannot_start_leaves_the_cases_to_the_first(tmp_path):
    asked = questions(*(f"c{number}" for number in range(20)))
    starts = f"file={tmp_path / 'starts'}&starts=2,3,4,5,6,7"
    with pool_of(f"StartsSometimes?{starts}", workers=2) as pool:
        found = replies(pool, asked)
    assert [type(reply.outcome) for reply in found] == [Produced] * 20


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
