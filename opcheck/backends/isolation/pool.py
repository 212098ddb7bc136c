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
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError
from opcheck.grouping import not_none
from opcheck.model import BackendInfo, Crashed, NotRun, OutOfMemory, Question, Reply, TimedOut
from opcheck.model.question import Elapsed, Hold, Measure, Ready, Release, Released

#: The most questions that a worker holds, so that it is not idle while an answer is judged.
DEPTH = 4
#: A backend is given up after so many failed processes in a row.
_FAILURES = 3
#: A function called repeatedly while waiting; an exception that it raises ends the wait.
Meanwhile: TypeAlias = Callable[[], None]


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
        said = f"{first.how}, and asked first in a fresh one it does not happen"
        return Reply(replace(first, how=said, alone=reply.outcome), self.before.printed)


class Slot:
    """One worker at a time, which is at work on the first of its `jobs`."""

    def __init__(self, settings: BackendSettings, waiting: deque[Job]) -> None:
        #: Queued jobs of a lost worker go back to the front of those `waiting`.
        self._settings, self._waiting = settings, waiting
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
            said = f"backend {self._settings.address!r} {self._settings.too_much} at start"
            raise BackendUnavailable(said)
        if info is None:
            return
        made_of = {**info.made_of, **self._settings.digest}
        info = replace(info, asked=self._settings.address, made_of=made_of)
        if name := self._settings.name:
            info = replace(info, address=name, of=info.address)
        if self.info not in (None, info):
            raise BackendUnavailable(f"started again, it is another: {info} and not {self.info}")
        if self.info and (unlike := dict(self.info.made_of.items() ^ info.made_of.items())):
            changed = ", ".join(sorted(unlike))
            raise BackendUnavailable(f"started again, its files are not what they were: {changed}")
        self.process.connected = True
        self.info = info
        if self.again:
            job, self.again = self.again, None
            self.send(job)

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
            said = NotRun(f"the case's data cannot be handed over: {error}")
            self._replies.append((job.ticket, Reply(said)))
            return
        self.jobs.append(job)

    def attend(self, *, readable: bool) -> list[tuple[int, Reply]]:
        """Look after the worker, if `readable` read; return replies by ticket. Raises Defect."""
        if (process := self.process) and not process.connected:
            try:
                self.connect()
            except OpcheckError as error:  # and yet it could be used before
                self._not_started(error)
        elif process:
            answered, seconds = False, None
            if self.jobs:
                seconds = max(self.jobs[0].question.timeout or 0, self._settings.timeout)
            try:
                loss = self._answer(process) if readable else process.loss(seconds)
                answered = readable
            except (EOFError, ConnectionError, wire.Damaged) as error:
                loss = process.broken(error)
            if loss:
                self._lost(process, loss, answered=answered)
        replies, self._replies = self._replies, []
        return replies

    def _answer(self, process: Process) -> Loss | None:
        """Take an answer; return a loss if the worker has to be ended for it."""
        if not self.jobs:
            with suppress(MemoryError):
                process.channel.receive(lambda size: False)
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
            if (limit := self._settings.memory_limit) is not None and seen.peak > limit:
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
        jobs, self.jobs = self.jobs, deque()
        if jobs and (answered or jobs[0].ticket == at_work):
            job = jobs.popleft()
            self._failures = 0
            if isinstance(how, TimedOut) or not process.handled:
                self._replies.append((job.ticket, job.final_reply(Reply(how, printed))))
            else:
                questions = f"{process.handled:,} question{'s' * (process.handled != 1)}"
                note = f"{how.how}; its process had answered {questions} before"
                self.again = replace(job, before=Reply(replace(how, how=note), printed))
        else:
            message = "it hung" if isinstance(how, TimedOut) else how.how
            words = printed.strip().partition("\n")[0]
            said = f"its process ended between questions: {message}"
            self.idle_deaths.append(f"{said}: {words}" if words else said)
            self._count_failure(f"its process ended {_FAILURES} times between questions: {message}")
        self._waiting.extendleft(reversed(jobs))

    def _not_started(self, error: OpcheckError) -> None:
        late = False
        if self.process:
            late = monotonic() - self.process.since > self._settings.start_timeout
            self.process.kill()
            self.process = None
        said = f"the backend could not be started again: {error.message}"
        self._count_failure(said, at_once=late)

    def _count_failure(self, said: str, *, at_once: bool = False) -> None:
        """Count a process that failed; after too many of them the slot is given up."""
        self._failures += 1
        if self._failures < _FAILURES and not at_once:
            return
        self.given_up = said
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
        self._tickets = itertools.count(1)
        self._waiting: deque[Job] = deque()
        self._slots = [Slot(settings, self._waiting) for _ in range(workers)]
        self._slots[0].process = Process(settings)

    def connected(self) -> BackendInfo:
        """Wait for the backend; raise BackendUnavailable or UsageError, or as Ctrl-C does."""
        first = self._slots[0]
        while first.info is None:
            interrupt.safe_place()
            not_none(first.process).connection.poll(0.05)
            first.connect()
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
            if slot.process and slot.jobs:
                slot.process.kill()
                slot.process = None
            slot.jobs, slot.again, slot._replies = deque(), None, []

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
        return Counter(said for slot in self._slots for said in slot.idle_deaths)

    @property
    def _is_given_up(self) -> bool:
        return all(slot.given_up for slot in self._slots)

    def close(self) -> None:
        """End all workers, at once where they are at work or not there yet."""
        for slot in (slot for slot in self._slots if not slot.is_starting):
            slot.attend(readable=False)
        idle = [s.process for s in self._slots if s.process and not (s.jobs or s.is_starting)]
        kill([s.process for s in self._slots if s.process and s.process not in idle])
        for process in idle:
            process.connection.close()  # it ends by itself
        # How long, in seconds, idle workers have to clean up after themselves.
        until = monotonic() + 0.5
        for process in idle:
            process.wait(until)
            if process.has_ended() and (how := process.how_it_ended()) != "exited with status 0":
                self.unclean_exits.append(how)
        kill(idle)
        for slot in self._slots:
            slot.process = None

    def _distribute(self) -> None:
        """Hand waiting jobs out, in order, and start workers for those that find none."""
        while self._waiting:
            if not (free := [slot for slot in self._slots if slot.takes(self._waiting[0])]):
                break
            min(free, key=lambda slot: len(slot.jobs)).send(self._waiting.popleft())
        wanted = len(self._waiting) - sum(slot.is_starting for slot in self._slots)
        for slot in self._slots:
            if slot.process is None and not slot.given_up and (slot.again or wanted > 0):
                slot.start()
                wanted -= not slot.again


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

    def connected(self, meanwhile: Meanwhile = lambda: None) -> BackendInfo:
        """Wait for the backend; raises BackendUnavailable and UsageError as it says."""
        while True:
            meanwhile()
            self._process = self._process or Process(self._settings)
            self._process.connection.poll(0.05)
            if info := self._process.greeting():
                return info

    def hold(self, question: Question, meanwhile: Meanwhile = lambda: None) -> Ready:
        """Have this task prepared and kept. Raises WorkerLost, and what `meanwhile` raises."""
        if self._process is None:
            try:
                self.connected(meanwhile)
            except (BackendUnavailable, UsageError) as error:
                self.close()
                message = f"its process could not be started again: {error.message}"
                raise WorkerLost(message) from error
        self._timeout = max(question.timeout or 0, self._settings.timeout)
        return self._asked(Ready, Hold(question), meanwhile)

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        """Time calls of the held task; see `Measure`. Raises WorkerLost."""
        return self._asked(Elapsed, Measure(loops, flushed))

    def release(self, *, other: bool = False) -> Released:
        """Run the held task once more, on `other` data too, and release it. Raises WorkerLost."""
        return self._asked(Released, Release(other), calls=9 if other else 1)

    def close(self) -> str:
        """End the worker; return the last line that it printed."""
        if self._process is None:
            return ""
        printed = self._process.kill().strip().splitlines()
        self._process = None
        return printed[-1] if printed else ""

    def _asked(
        self,
        kind: type[wire.Answer],
        asked: wire.WorkerRequest,
        meanwhile: Meanwhile = lambda: None,
        calls: int = 1,
    ) -> wire.Answer:
        """Ask and wait; without an answer the worker ends: raises WorkerLost, or as `meanwhile`."""
        process, number = self._process, next(self._numbers)
        if process is None:
            raise WorkerLost("its process is gone")
        process.since = monotonic()
        try:
            process.channel.send(number, wire.question_parts(asked))
            while not process.connection.poll(0.2):
                meanwhile()
                if loss := process.loss(calls * self._timeout):
                    late = f"no answer within {self._timeout:g} s"
                    raise self._lost(late if isinstance(loss, TimedOut) else loss.how)
            answer = process.answer(kind, number)
            # A clock's smallest step is more than nothing.
            if isinstance(answer, Elapsed) and not answer.seconds > 0:
                raise wire.Damaged(f"{answer.seconds} seconds")
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

    def _lost(self, how: str) -> WorkerLost:
        """End the worker; return the exception to raise, with the last line that it printed."""
        printed = self.close()
        return WorkerLost(f"{how}; the last it printed: {printed}" if printed else how)
