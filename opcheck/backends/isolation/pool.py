"""Questions put to one backend in its own worker processes; every question gets its reply.

A slot holds one worker after the other: asks and watches it, and replaces it when it is lost. Only
`connected` and `close` wait: the caller waits for all backends at once.
"""

import itertools
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from opcheck import interrupt
from opcheck.backends.base import Defect
from opcheck.backends.execute import Observed, outcome
from opcheck.backends.isolation import wire
from opcheck.backends.isolation.process import BackendSettings, Loss, Process, kill
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError, plural
from opcheck.grouping import not_none
from opcheck.model import BackendInfo, Crashed, NotRun, OutOfMemory, Question, Reply, TimedOut
from opcheck.model.question import Elapsed, Hold, Measure, Ready, Release, Released

#: The most questions that a worker holds, so that it is not idle while an answer is judged.
DEPTH = 4
#: A backend is given up after so many failed processes in a row.
_FAILURES = 3
#: Seconds that idle workers have in the end to clean up after themselves.
_FAREWELL = 0.5
#: A function called repeatedly while waiting; an exception that it raises ends the wait.
Meanwhile: TypeAlias = Callable[[], None]


def _nothing() -> None:
    """Do nothing while waiting."""


def _fits_nowhere(size: int) -> bool:
    """Return False: a message that nobody asked for is not read."""
    return False


@dataclass(frozen=True, eq=False)
class Job:
    """A question under way. `before` is its reply from a process that had answered others."""

    ticket: int
    question: Question
    #: Others may have damaged the process, so the question is asked once more in a fresh one.
    before: Reply | None = None

    @cached_property
    def is_large(self) -> bool:
        """Return True if it goes through the file."""
        return wire.is_large(wire.question_parts(self.question))

    def final_reply(self, reply: Reply) -> Reply:
        """Return the job's reply once its last `reply` is there."""
        if self.before is None or type(self.before.outcome) is type(reply.outcome):
            return reply
        # A loss is reported even where it does not happen again: a backend that damages its
        # process shows it in another case than the one that did the damage.
        first = self.before.outcome
        assert isinstance(first, Crashed | OutOfMemory)
        how = f"{first.how}, and asked first in a fresh one it does not happen"
        return Reply(replace(first, how=how, alone=reply.outcome), self.before.printed)


class Slot:
    """One worker at a time, which is at work on the first of its `jobs`."""

    def __init__(self, settings: BackendSettings, waiting: deque[Job]) -> None:
        self._settings = settings
        #: Queued jobs of a lost worker go back to the front of these.
        self._waiting = waiting
        self._failures = 0
        self._replies: list[tuple[int, Reply]] = []
        self.process: Process | None = None
        self.info: BackendInfo | None = None
        self.jobs: deque[Job] = deque()
        #: To be asked first in the next process.
        self.again: Job | None = None
        #: Why no further worker is started.
        self.given_up: str | None = None
        #: How processes ended that were lost through no question.
        self.idle_deaths: list[str] = []

    @property
    def is_starting(self) -> bool:
        """Return True if a worker was started that has not greeted yet."""
        return self.process is not None and not self.process.connected

    def start(self) -> None:
        """Start a worker, or give up in the end."""
        try:
            self.process = Process(self._settings)
        except BackendUnavailable as error:
            self._not_started(error)

    def connect(self) -> None:
        """Look whether the worker has said hello; raises as `Process.greeting` does."""
        assert self.process
        info = self.process.greeting()
        if self.process.takes_too_much(now=info is not None):
            message = f"backend {self._settings.address!r} {self._settings.too_much} at start"
            raise BackendUnavailable(message)
        if info is None:
            return
        made_of = {**info.made_of, **self._settings.digest}
        info = replace(info, asked=self._settings.address, made_of=made_of)
        if self._settings.name:
            info = replace(info, address=self._settings.name, of=info.address)
        self._check_is_as_before(info)
        self.process.connected = True
        self.info = info
        if self.again:
            job = self.again
            self.again = None
            self.send(job)

    def _check_is_as_before(self, info: BackendInfo) -> None:
        """Raise BackendUnavailable if a worker that was started again is another backend."""
        if self.info is None:
            return
        if self.info != info:
            raise BackendUnavailable(f"started again, it is another: {info} and not {self.info}")
        unlike = dict(self.info.made_of.items() ^ info.made_of.items())
        if unlike:
            changed = ", ".join(sorted(unlike))
            raise BackendUnavailable(f"started again, its files are not what they were: {changed}")

    def takes(self, job: Job) -> bool:
        """Return True if `job` can be sent now and would start soon."""
        if self.process is None or not self.process.connected:
            return False
        large = job.is_large or any(other.is_large for other in self.jobs)
        return len(self.jobs) < (1 if large else DEPTH)

    def send(self, job: Job) -> None:
        """Hand `job` to the worker."""
        assert self.process
        if not self.jobs:
            self.process.since = monotonic()
        try:
            self.process.channel.send(job.ticket, wire.question_parts(job.question))
        except ConnectionError:
            # It has died, which is found out when it is looked after; the job is not lost.
            pass
        except OSError as error:
            not_run = NotRun(f"the case's data cannot be handed over: {error}")
            self._replies.append((job.ticket, Reply(not_run)))
            return
        self.jobs.append(job)

    def attend(self, *, readable: bool) -> list[tuple[int, Reply]]:
        """Look after the worker, if `readable` read; return replies by ticket. Raises Defect."""
        process = self.process
        if process and not process.connected:
            try:
                self.connect()
            except OpcheckError as error:  # and yet it could be used before
                self._not_started(error)
        elif process:
            self._attend_connected(process, readable=readable)
        replies = self._replies
        self._replies = []
        return replies

    def _attend_connected(self, process: Process, *, readable: bool) -> None:
        """Read the worker's answer, or look if it is still alive, and end it if it is lost."""
        answered = False
        try:
            if readable:
                loss = self._read_answer(process)
                answered = True
            else:
                loss = process.loss(self._seconds_for_job())
        except (EOFError, ConnectionError, wire.Damaged) as error:
            loss = process.broken(error)
        if loss:
            self._lost(process, loss, answered=answered)

    def _seconds_for_job(self) -> float | None:
        """Return how long the first job may take, None if there is no job."""
        if not self.jobs:
            return None
        return max(self.jobs[0].question.timeout or 0, self._settings.timeout)

    def _read_answer(self, process: Process) -> Loss | None:
        """Read an answer; return a loss if the worker has to be ended for it."""
        if not self.jobs:
            with suppress(MemoryError):
                process.channel.receive(_fits_nowhere)
            raise wire.Damaged("it answers what was not asked")
        job = self.jobs[0]
        question = job.question
        try:
            seen = process.answer(Observed, job.ticket, (*question.inputs, *question.second))
            if isinstance(seen, wire.Failure):
                raise Defect(seen.message)
            is_answered = seen.first is not None and (seen.kept is None) == (seen.again is None)
            is_fed = all(len(run) == len(question.inputs) for run in seen.fed)
            if not is_fed or (seen.exit is None and not is_answered):
                raise wire.Damaged("neither an answer nor an exit")
            limit = self._settings.memory_limit
            if limit is not None and seen.peak > limit:
                return OutOfMemory(self._settings.too_much)
            reply = Reply(outcome(seen, question), seen.printed)
        except MemoryError as error:
            reply = Reply(OutOfMemory(f"its answer does not fit into memory: {error}"))
        self.jobs.popleft()
        self._replies.append((job.ticket, job.final_reply(reply)))
        process.since = monotonic()
        self._failures = 0
        process.handled += 1
        return None

    def _lost(self, process: Process, how: Loss, *, answered: bool) -> None:
        """End a worker; the job that it was at work on, or has `answered`, is to blame."""
        at_work = process.channel.at_work()
        printed = process.kill()
        self.process = None
        jobs = self.jobs
        self.jobs = deque()
        if jobs and (answered or jobs[0].ticket == at_work):
            job = jobs.popleft()
            self._failures = 0
            if isinstance(how, TimedOut) or not process.handled:
                self._replies.append((job.ticket, job.final_reply(Reply(how, printed))))
            else:
                note = f"{how.how}; its process had answered {plural(process.handled, 'question')}"
                before = replace(how, how=f"{note} before")
                self.again = replace(job, before=Reply(before, printed))
        else:
            reason = "it hung" if isinstance(how, TimedOut) else how.how
            first_line = printed.strip().partition("\n")[0]
            death = f"its process ended between questions: {reason}"
            self.idle_deaths.append(f"{death}: {first_line}" if first_line else death)
            self._count_failure(f"its process ended {_FAILURES} times between questions: {reason}")
        self._waiting.extendleft(reversed(jobs))

    def forget(self) -> None:
        """Give up all jobs, and end the worker if it is at work on one."""
        if self.process and self.jobs:
            self.process.kill()
            self.process = None
        self.jobs = deque()
        self.again = None
        self._replies = []

    def _not_started(self, error: OpcheckError) -> None:
        is_late = False
        if self.process:
            is_late = monotonic() - self.process.since > self._settings.start_timeout
            self.process.kill()
            self.process = None
        reason = f"the backend could not be started again: {error.message}"
        self._count_failure(reason, at_once=is_late)

    def _count_failure(self, reason: str, *, at_once: bool = False) -> None:
        """Count a process that failed; after too many of them the slot is given up."""
        self._failures += 1
        if self._failures < _FAILURES and not at_once:
            return
        self.given_up = reason
        if self.again and self.again.before:
            self._replies.append((self.again.ticket, self.again.before))
        self.again = None


class Pool:
    """At most `workers` workers of a backend; the first starts now. Raises BackendUnavailable."""

    def __init__(self, settings: BackendSettings, workers: int = 1) -> None:
        self.settings = settings
        self.address = settings.name or settings.address
        #: How processes ended that were to leave, if not as they should; known once it is closed.
        self.unclean_exits: list[str] = []
        #: Why the backend cannot be used, once it has said so.
        self._failure: OpcheckError | None = None
        self._tickets = itertools.count(1)
        self._waiting: deque[Job] = deque()
        self._slots = [Slot(settings, self._waiting) for _ in range(workers)]
        self._slots[0].process = Process(settings)

    def connected(self) -> BackendInfo:
        """Wait for the backend; raise BackendUnavailable or UsageError, or as Ctrl-C does."""
        while True:
            info = self.look()
            if info is not None:
                return info
            interrupt.safe_place()
            not_none(self._slots[0].process).connection.poll(0.05)

    def look(self) -> BackendInfo | None:
        """Return the backend, None if it has not said hello yet; wait for nothing.

        Raises BackendUnavailable or UsageError, the same each time.
        """
        if self._failure is not None:
            raise self._failure
        first = self._slots[0]
        if first.info is None:
            try:
                first.connect()
            except OpcheckError as error:
                self._failure = error
                raise
        return first.info

    def copy(self, scratch: Path) -> "Pool":
        """A pool of one worker, which has to be the same backend as this one, `connected`."""
        pool = Pool(replace(self.settings, scratch=scratch))
        pool._slots[0].info = self.info
        return pool

    def add_ends(self, idle_deaths: Mapping[str, int], unclean_exits: Iterable[str]) -> None:
        """Count how processes of a `copy` ended."""
        self._slots[0].idle_deaths.extend(Counter(idle_deaths).elements())
        self.unclean_exits.extend(unclean_exits)

    @property
    def info(self) -> BackendInfo:
        """The backend, once it has `connected`."""
        return not_none(self._slots[0].info)

    @property
    def has_room(self) -> bool:
        """Return True if one more question could start soon."""
        if self._is_given_up:
            return True
        held = sum(len(slot.jobs) + bool(slot.again) for slot in self._slots)
        return len(self._waiting) + held < DEPTH * len(self._slots)

    def ask(self, question: Question) -> int:
        """Take a question; its reply will come with the number returned."""
        ticket = next(self._tickets)
        self._waiting.append(Job(ticket, question))
        self._distribute()
        return ticket

    def forget(self) -> None:
        """Give up the questions whose replies nobody took, and the workers that were asked them."""
        self._waiting.clear()
        for slot in self._slots:
            slot.forget()

    @property
    def connections(self) -> "list[Connection[Any, Any]]":
        """Connections to wait for."""
        return [slot.process.connection for slot in self._slots if slot.process]

    def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
        """Yield replies from `readable` connections, by ticket; raises Defect as `attend` does."""
        for slot in self._slots:
            there = slot.process is not None and slot.process.connection in readable
            yield from slot.attend(readable=there)
        self._distribute()
        if self._is_given_up:
            while self._waiting:
                yield self._waiting.popleft().ticket, Reply(NotRun(str(self._slots[0].given_up)))

    @property
    def idle_deaths(self) -> dict[str, int]:
        """Counts of worker deaths outside any question, by how; complete once it is closed."""
        return Counter(death for slot in self._slots for death in slot.idle_deaths)

    @property
    def _is_given_up(self) -> bool:
        return all(slot.given_up for slot in self._slots)

    def close(self) -> None:
        """End all workers, at once where they are at work or not there yet."""
        for slot in self._slots:
            if not slot.is_starting:
                slot.attend(readable=False)
        busy: list[Process] = []
        idle: list[Process] = []
        for slot in self._slots:
            if slot.process:
                is_busy = slot.jobs or slot.is_starting
                (busy if is_busy else idle).append(slot.process)
        kill(busy)
        for process in idle:
            process.connection.close()  # it ends by itself
        until = monotonic() + _FAREWELL
        for process in idle:
            process.wait(until)
            how = process.how_it_ended() if process.has_ended() else ""
            if how and how != "exited with status 0":
                self.unclean_exits.append(how)
        kill(idle)
        for slot in self._slots:
            slot.process = None

    def _distribute(self) -> None:
        """Hand waiting jobs out, in order, and start workers for those that find none."""
        while self._waiting:
            free = [slot for slot in self._slots if slot.takes(self._waiting[0])]
            if not free:
                break
            least_busy = min(free, key=lambda slot: len(slot.jobs))
            least_busy.send(self._waiting.popleft())
        wanted = len(self._waiting) - sum(slot.is_starting for slot in self._slots)
        for slot in self._slots:
            if slot.process is None and not slot.given_up and (slot.again or wanted > 0):
                slot.start()
                wanted -= not slot.again


#: Each of so many calls may take as long as a question.
_CALLS_ON_OTHER_DATA = 9


class WorkerLost(Exception):
    """The worker failed, died or hung during a request; the message says how."""


class Stopwatch:
    """One worker of a backend that times calls, replaced after a loss. Call `connected` first."""

    # Its parent waits for each answer, so that nothing else runs.

    def __init__(self, settings: BackendSettings) -> None:
        self._settings = settings
        self._numbers = itertools.count(1)
        self._process: Process | None = Process(settings)
        self._timeout = settings.timeout

    def connected(self, meanwhile: Meanwhile = _nothing) -> BackendInfo:
        """Wait for the backend; raises BackendUnavailable and UsageError as it says."""
        while True:
            meanwhile()
            self._process = self._process or Process(self._settings)
            self._process.connection.poll(0.05)
            info = self._process.greeting()
            if info:
                return info

    def hold(self, question: Question, meanwhile: Meanwhile = _nothing) -> Ready:
        """Have this task prepared and kept. Raises WorkerLost, and what `meanwhile` raises."""
        if self._process is None:
            try:
                self.connected(meanwhile)
            except (BackendUnavailable, UsageError) as error:
                self.close()
                message = f"its process could not be started again: {error.message}"
                raise WorkerLost(message) from error
        self._timeout = max(question.timeout or 0, self._settings.timeout)
        return self._ask(Ready, Hold(question), meanwhile)

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        """Time calls of the held task; see `Measure`. Raises WorkerLost."""
        return self._ask(Elapsed, Measure(loops, flushed))

    def release(self, *, other: bool = False) -> Released:
        """Run the held task once more, on `other` data too, and release it. Raises WorkerLost."""
        calls = _CALLS_ON_OTHER_DATA if other else 1
        return self._ask(Released, Release(other), calls=calls)

    def close(self) -> str:
        """End the worker; return the last line that it printed."""
        if self._process is None:
            return ""
        printed = self._process.kill().strip().splitlines()
        self._process = None
        return printed[-1] if printed else ""

    def _ask(
        self,
        kind: type[wire.Answer],
        request: wire.WorkerRequest,
        meanwhile: Meanwhile = _nothing,
        calls: int = 1,
    ) -> wire.Answer:
        """Ask, and wait for an answer of this `kind`; the worker ends if there is none.

        It has its time for a question for each of the `calls`. Raises WorkerLost, and what
        `meanwhile` raises.
        """
        process = self._process
        if process is None:
            raise WorkerLost("its process is gone")
        try:
            answer = self._answer(process, kind, request, meanwhile, calls)
        except (EOFError, ConnectionError, wire.Damaged) as error:
            raise self._lost(process.broken(error).how) from error
        except OSError as error:
            raise self._lost(f"the case's data cannot be handed over: {error}") from error
        except MemoryError as error:
            raise self._lost(f"its answer does not fit into memory: {error}") from error
        except BaseException:  # also what `meanwhile` raises, and Ctrl-C
            self.close()
            raise
        if isinstance(answer, wire.Failure):
            raise WorkerLost(answer.message)
        return answer

    def _answer(
        self,
        process: Process,
        kind: type[wire.Answer],
        request: wire.WorkerRequest,
        meanwhile: Meanwhile,
        calls: int,
    ) -> wire.Answer | wire.Failure:
        """Send a request and read the answer; raises as `Process.answer` does, and OSError."""
        number = next(self._numbers)
        process.since = monotonic()
        process.channel.send(number, wire.question_parts(request))
        while not process.connection.poll(0.2):
            meanwhile()
            loss = process.loss(calls * self._timeout)
            if isinstance(loss, TimedOut):
                raise self._lost(f"no answer within {self._timeout:g} s")
            if loss:
                raise self._lost(loss.how)
        answer = process.answer(kind, number)
        # A clock's smallest step is more than nothing.
        if isinstance(answer, Elapsed) and not answer.seconds > 0:
            raise wire.Damaged(f"{answer.seconds} seconds")
        return answer

    def _lost(self, how: str) -> WorkerLost:
        """End the worker; return the exception to raise, with the last line that it printed."""
        printed = self.close()
        return WorkerLost(f"{how}; the last it printed: {printed}" if printed else how)
