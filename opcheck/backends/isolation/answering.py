"""Work of a worker process after its set-up: connect to the backend, answer questions."""

import ctypes
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from opcheck.backends.address import parse
from opcheck.backends.connect import connect
from opcheck.backends.execute import CallFailure, Observed, execute, message_of
from opcheck.backends.isolation.wire import Channel, Damaged, Failure, answer_parts, read_question
from opcheck.backends.made_of import loaded, made_of
from opcheck.backends.timing import Held
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import Question
from opcheck.model.question import Elapsed, Hold, Measure, Ready, Release, Released

#: How much is kept of what a backend prints, in bytes.
_TAIL = 8 << 10


class Answering:
    """A worker that answers questions; `home` is its process, `given` the arguments of that."""

    def __init__(self, home: int, given: Mapping[str, Any]) -> None:
        self._home, self._is_measured, self._log = home, given["measured"], given["log"]
        self._channel = Channel(Connection(given["control"]), given["file"], at_worker=True)
        self._flush_c = ctypes.CDLL(None).fflush
        self._held: Held | None = None

    def connect(self, address: str) -> bool:
        """Connect to the backend and send what it is, or why it cannot be used."""
        try:
            before = loaded()
            self._backend = connect(parse(address))
            info = self._backend.info
            made = {**made_of(loaded() - before), **info.made_of}
            hello = answer_parts(replace(info, made_of=made))
        except (BackendUnavailable, UsageError) as error:
            hello = answer_parts(Failure(error.message, error.hint, isinstance(error, UsageError)))
        self._end_if_forked()
        self._take_printed()
        self._channel.send(0, hello)
        return hasattr(self, "_backend")

    def answer_next(self) -> None:
        """Answer one question, and keep nothing of it."""
        seen, number = Observed(), 0
        try:
            number, parts = self._channel.receive()
            question = read_question(parts)
            if isinstance(question, Question):
                seen = execute(self._backend, question, alone=True)
                self._end_if_forked()
                peak = _peak() if self._is_measured else 0
                noted = replace(seen, printed=self._take_printed(), peak=peak)
                answer = answer_parts(noted, (*question.inputs, *question.second))
            else:
                answer = answer_parts(self._timed(question))
            self._channel.send(number, answer)
            return
        except (EOFError, ConnectionError, Damaged):
            raise
        except (MemoryError, OSError) as error:
            # If the backend was not asked yet its data did not fit, else its answer.
            failed = CallFailure("MemoryError", type(error).__name__, str(error), documented=False)
            answer = answer_parts(Observed(seen.stage, failed, printed=self._take_printed()))
        except Exception:  # a bug of opcheck: `execute` lets no exception of a backend through
            answer = answer_parts(Failure(traceback.format_exc()))
        self._channel.send(number or self._channel.at_work(), answer)

    def _timed(self, asked: Hold | Measure | Release) -> Ready | Elapsed | Released | Failure:
        """Answer a request to time; no exception leaves this."""
        try:
            if isinstance(asked, Hold):
                self._held = None
                self._held = Held(self._backend, asked.question)
                self._take_printed()  # printed while preparing: no part of any sample
                return self._held.ready
            assert self._held
            if isinstance(asked, Measure):
                return self._held.elapsed(asked)
            held, self._held = self._held, None
            return held.released(self._take_printed(), other=asked.other)
        except BaseException as error:
            self._held = None
            return Failure(f"{type(error).__name__}: {message_of(error)}".removesuffix(": "))

    def _take_printed(self) -> str:
        """Return the end of what was printed since the last call."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(BaseException):  # a backend may have closed or replaced them
                stream.flush()
        self._flush_c(None)
        with suppress(OSError):  # or have closed this
            size = os.fstat(self._log).st_size
            if size:
                tail = os.pread(self._log, _TAIL, max(0, size - _TAIL))
                os.ftruncate(self._log, 0)
                return tail.decode(errors="replace")
        return ""

    def _end_if_forked(self) -> None:
        """End this process if it is not the one at `home`: its backend forked, and nobody asked."""
        if os.getpid() != self._home:
            os._exit(0)


def _peak() -> int:
    """Return the most resident memory this process ever had, in bytes; 0 if unknown."""
    # Not getrusage, whose number begins with that of the parent.
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) << 10
    return 0
