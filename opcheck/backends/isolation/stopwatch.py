"""A worker that times: asked, and waited for, because nobody else may be at work meanwhile."""

import itertools
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias, TypeVar

from opcheck.backends.isolation.channel import Damaged
from opcheck.backends.isolation.process import Process, started
from opcheck.backends.isolation.slot import BackendSettings, Loss, Watchdog, fits
from opcheck.backends.isolation.wire import (
    WorkerRequest,
    question_parts,
    read_elapsed,
    read_ready,
    read_release,
)
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import BackendInfo, Question, TimedOut
from opcheck.model.question import Elapsed, Hold, Measure, Ready, Release, Released

Answer = TypeVar("Answer")
#: What is called while one waits; it may raise what it likes, to end that.
Meanwhile: TypeAlias = Callable[[], None]

#: How often, in seconds, it is looked whether a silent worker still lives.
_LOOK = 0.2


class WorkerLost(Exception):
    """The worker failed, died or hung while it was at work; says how."""


class Stopwatch:
    """One worker of a backend, which is replaced after it was lost.

    `settings` tell how long it has for a request. Nothing but `connected` may be called before
    that has returned.
    """

    def __init__(self, settings: BackendSettings) -> None:
        self._settings = settings
        self._watchdog = Watchdog(settings)
        self._numbers = itertools.count(1)
        self._process: Process | None = self._settings.process(measured=False)
        self._since = monotonic()
        self._timeout = settings.timeout

    def connected(self, meanwhile: Meanwhile = lambda: None) -> BackendInfo:
        """Wait for the backend; raises BackendUnavailable and UsageError as it says."""
        while True:
            meanwhile()
            if self._process is None:
                self._process, self._since = self._settings.process(measured=False), monotonic()
            self._process.connection.poll(0.05)
            until = self._since + self._settings.start_timeout
            info = started(self._process, self._settings.address, until)
            if info:
                self._process.connected = True
                return info

    def hold(self, question: Question, meanwhile: Meanwhile = lambda: None) -> Ready:
        """Have this task prepared and kept. Raises WorkerLost, and what `meanwhile` raises."""
        if self._process is None:
            try:
                self.connected(meanwhile)
            except (BackendUnavailable, UsageError) as error:
                self.close()
                raise WorkerLost(
                    f"its process could not be started again: {error.message}"
                ) from error
        self._timeout = max(question.timeout or 0, self._settings.timeout)
        return self._asked(Hold(question), read_ready, meanwhile)

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        """Time calls of what is held; see `Measure`. Raises WorkerLost."""
        return self._asked(Measure(loops, flushed), read_elapsed)

    def release(self, *, other: bool = False) -> Released:
        """Run the held task once more, on `other` data too, and release it. Raises WorkerLost."""
        return self._asked(Release(other), read_release, calls=9 if other else 1)

    def close(self) -> str:
        """End the worker; the last line that it printed."""
        if self._process is None:
            return ""
        printed = self._process.kill().strip().splitlines()
        self._process = None
        return printed[-1] if printed else ""

    def _asked(
        self,
        asked: WorkerRequest,
        read: Callable[[list[bytearray]], Answer | str],
        meanwhile: Meanwhile = lambda: None,
        calls: int = 1,
    ) -> Answer:
        """Ask, and wait for the answer. Raises WorkerLost, and the worker is gone if it gave none.

        So it is if `meanwhile`, called now and then, raises what it likes.
        """
        process, number = self._process, next(self._numbers)
        if process is None:
            raise WorkerLost("its process is gone")
        since = monotonic()
        try:
            process.channel.send(number, question_parts(asked))
            while not process.connection.poll(_LOOK):
                meanwhile()
                if loss := self._watchdog.loss(process, since, calls * self._timeout):
                    raise self._lost(_told(loss, self._timeout))
            message = process.channel.receive()
            if message.number != number:
                raise Damaged("it answers what was not asked")
            answer = read(message.read(fits))
        except (EOFError, ConnectionError, Damaged) as error:
            raise self._lost(self._watchdog.broken(process, error).how) from error
        except OSError as error:
            raise self._lost(f"the case's data cannot be handed over: {error}") from error
        except MemoryError as error:
            raise self._lost(f"its answer does not fit into memory: {error}") from error
        except WorkerLost:
            raise
        except BaseException:  # somebody else wants it to end
            self.close()
            raise
        if isinstance(answer, str):
            raise WorkerLost(answer)
        return answer

    def _lost(self, how: str) -> WorkerLost:
        """End the worker; what is to be raised of that, with the last that it printed."""
        printed = self.close()
        return WorkerLost(f"{how}; the last it printed: {printed}" if printed else how)


def _told(loss: Loss, seconds: float) -> str:
    return f"no answer within {seconds:g} s" if isinstance(loss, TimedOut) else loss.how
