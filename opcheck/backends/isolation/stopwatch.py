"""A worker that times calls; its parent waits for each answer, so that nothing else runs."""

import itertools
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from opcheck.backends.isolation.process import BackendSettings, Process
from opcheck.backends.isolation.wire import Answer, Damaged, Failure, WorkerRequest, question_parts
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import BackendInfo, Question, TimedOut
from opcheck.model.question import Elapsed, Hold, Measure, Ready, Release, Released

#: A function called repeatedly while waiting; an exception that it raises ends the wait.
Meanwhile: TypeAlias = Callable[[], None]
#: Seconds between checks that a silent worker is still alive.
_LOOK = 0.2


class WorkerLost(Exception):
    """The worker failed, died or hung during a request; the message says how."""


class Stopwatch:
    """One worker of a backend, replaced after a loss. Call `connected` before anything else."""

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
        kind: type[Answer],
        asked: WorkerRequest,
        meanwhile: Meanwhile = lambda: None,
        calls: int = 1,
    ) -> Answer:
        """Ask and wait; without an answer the worker ends: raises WorkerLost, or as `meanwhile`."""
        process, number = self._process, next(self._numbers)
        if process is None:
            raise WorkerLost("its process is gone")
        process.since = monotonic()
        try:
            process.channel.send(number, question_parts(asked))
            while not process.connection.poll(_LOOK):
                meanwhile()
                if loss := process.loss(calls * self._timeout):
                    late = f"no answer within {self._timeout:g} s"
                    raise self._lost(late if isinstance(loss, TimedOut) else loss.how)
            answer = process.answer(kind, number)
            # A clock's smallest step is more than nothing.
            if isinstance(answer, Elapsed) and not answer.seconds > 0:
                raise Damaged(f"{answer.seconds} seconds")
        except (EOFError, ConnectionError, Damaged) as error:
            raise self._lost(process.broken(error).how) from error
        except OSError as error:
            raise self._lost(f"the case's data cannot be handed over: {error}") from error
        except MemoryError as error:
            raise self._lost(f"its answer does not fit into memory: {error}") from error
        except BaseException:  # also what `meanwhile` raises, and Ctrl-C
            self.close()
            raise
        if isinstance(answer, Failure):
            raise WorkerLost(answer.message)
        return answer

    def _lost(self, how: str) -> WorkerLost:
        """End the worker; return the exception to raise, with the last line that it printed."""
        printed = self.close()
        return WorkerLost(f"{how}; the last it printed: {printed}" if printed else how)
