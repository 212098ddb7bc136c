"""Work of a worker process after its set-up: connect to the backend, answer questions, time calls.

As in `execute`, names of other packages are bound before a backend is imported.
"""

import ctypes
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import repeat
from math import inf, nan
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from numpy import copyto, roll, uint8, zeros

from opcheck.backends import as_outputs
from opcheck.backends.base import Backend
from opcheck.backends.connect import connect, loaded, made_of
from opcheck.backends.execute import CallFailure, Observed, Outputs, execute, message_of
from opcheck.backends.isolation import wire
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import Array, Elapsed, Hold, Measure, Question, Ready, Release, Released

_THREADS = Path("/proc/self/task")


class Answering:
    """A worker that answers questions; `home` is its process, `given` the arguments of that."""

    def __init__(self, home: int, given: Mapping[str, Any]) -> None:
        self._home = home
        self._is_measured = given["measured"]
        self._log = given["log"]
        self._channel = wire.Channel(Connection(given["control"]), given["file"], at_worker=True)
        self._flush_c = ctypes.CDLL(None).fflush
        self._held: Held | None = None

    def connect(self, address: str) -> bool:
        """Connect to the backend and send what it is, or why it cannot be used."""
        try:
            # What opcheck may load itself is no part of the backend.
            importlib.import_module("opcheck.graph.folders")
            before = loaded()
            self._backend = connect(address)
            info = self._backend.info
            digests = {**made_of(loaded() - before), **info.made_of}
            hello = wire.answer_parts(replace(info, made_of=digests))
        except (BackendUnavailable, UsageError) as error:
            is_usage = isinstance(error, UsageError)
            hello = wire.answer_parts(wire.Failure(error.message, error.hint, is_usage))
        self._end_if_forked()
        self._take_printed()
        self._channel.send(0, hello)
        return hasattr(self, "_backend")

    def answer_next(self) -> None:
        """Answer one question, and keep nothing of it."""
        seen = Observed()
        number = 0
        try:
            number, parts = self._channel.receive()
            question = wire.read_question(parts)
            if isinstance(question, Question):
                seen = execute(self._backend, question, alone=True)
                self._end_if_forked()
                peak = _peak() if self._is_measured else 0
                noted = replace(seen, printed=self._take_printed(), peak=peak)
                answer = wire.answer_parts(noted, (*question.inputs, *question.second))
            else:
                answer = wire.answer_parts(self._timed(question))
            self._channel.send(number, answer)
            return
        except (EOFError, ConnectionError, wire.Damaged):
            raise
        except (MemoryError, OSError) as error:
            # If the backend was not asked yet its data did not fit, else its answer.
            failed = CallFailure("MemoryError", type(error).__name__, str(error), documented=False)
            answer = wire.answer_parts(Observed(seen.stage, failed, printed=self._take_printed()))
        except Exception:  # a bug of opcheck: `execute` lets no exception of a backend through
            answer = wire.answer_parts(wire.Failure(traceback.format_exc()))
        self._channel.send(number or self._channel.at_work(), answer)

    def _timed(self, asked: Hold | Measure | Release) -> Ready | Elapsed | Released | wire.Failure:
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
            return wire.Failure(f"{type(error).__name__}: {message_of(error)}".removesuffix(": "))

    def _take_printed(self) -> str:
        """Return the end of what was printed since the last call."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(BaseException):  # a backend may have closed or replaced them
                stream.flush()
        self._flush_c(None)
        with suppress(OSError):  # or have closed this
            with wire.locked(self._log):
                size = os.fstat(self._log).st_size
                tail = os.pread(self._log, wire.TAIL, max(0, size - wire.TAIL))
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


class Repeated:
    """A call that is timed again and again."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        #: Seconds of the last call.
        self._last = 0.0
        self._other = zeros(0, uint8)

    def elapsed(self, asked: Measure) -> Elapsed:
        """Time as many calls as asked for."""
        loops = asked.loops
        if asked.flushed:
            parts = [self._timed(1, asked.flushed) for _ in range(loops)]
        else:
            parts = [self._timed(loops)]
        seconds, waited = (sum(column) / loops for column in zip(*parts, strict=True))
        self._last = seconds
        return Elapsed(seconds, waited)

    def _timed(self, loops: int, flushed: int = 0) -> tuple[float, float]:
        """Return the seconds of all calls: at work or asleep, and waiting for a processor."""
        call = self._call
        if flushed:
            if self._other.size != flushed:
                self._other = zeros(flushed, uint8)
            self._other[::64] += 1  # no processor has shorter lines in its caches
        # To a call of so many seconds it matters little that others have emptied the caches.
        elif self._last < 0.01:
            call()
        queued = _queued()
        used = process_time()
        start = perf_counter()
        for _ in repeat(None, loops):
            call()
        seconds = perf_counter() - start
        used = process_time() - used
        # Threads at work at the same time use more than `seconds`: then no wait holds up the call.
        # Of NaN, `max` makes 0.
        waited = max(0.0, min(_queued() - queued, seconds - used))
        return seconds - waited, waited


def _queued() -> float:
    """Return seconds that threads were ready and did not run; NaN if one ended, 0 if not Linux."""
    try:
        return 1e-9 * sum(
            int(file.read_bytes().split()[1]) for file in _THREADS.glob("*/schedstat")
        )
    except (OSError, IndexError):
        return nan


def _not_bound() -> None:
    """Stand for a call whose inputs are not there yet."""


def _as_returned(returned: object) -> object:
    """Return what a backend returned: it needs no conversion."""
    return returned


class Held(Repeated):
    """One task with its data, `ready` to be run, if possible without its adapter's conversions."""

    def __init__(self, backend: Backend, question: Question) -> None:
        gc.disable()
        gc.collect()
        super().__init__(_not_bound)
        self._question = question
        # Its own copy: a backend may hold on to it, or write into it.
        self._own = [array.copy() for array in question.inputs]
        self._inputs = [*self._own]
        # Once before, because the first time loads things that serve all tasks.
        backend.prepare(question.task)
        start = perf_counter()
        self._task = backend.prepare(question.task)
        prepared = perf_counter() - start
        self._bind(question.inputs)
        start = perf_counter()
        self._call()
        self._last = perf_counter() - start
        self.ready = Ready(prepared, self._last)

    def released(self, printed: str, *, other: bool) -> Released:
        """Return the answer of one more timed run, and that to `other` data."""
        outputs = self._answer()
        others, looked_up = self._on_other_data() if other else ((), 0.0)
        return Released(outputs, printed, others, looked_up)

    def _answer(self) -> Outputs:
        return as_outputs(self._outputs(self._call()))

    def _on_other_data(self) -> tuple[Outputs, float]:
        """Return the answer to second data, and how many times as long new data take, else 0.0."""
        given = self._question.inputs
        second = self._question.second
        # The largest of the inputs that differ.
        sizes = [
            after.size if before.tobytes() != after.tobytes() else 0
            for before, after in zip(given, second, strict=True)
        ]
        largest = sizes.index(max(sizes)) if any(sizes) else None
        self._bind(second)
        answer = self._answer()
        known = self._last
        new = inf
        for turn in range(1, 6):
            # Rolled, because time may depend on the values, and on how sorted they are.
            other = [
                roll(array, turn) if place == largest else array
                for place, array in enumerate(second)
            ]
            new = min(new, self._alone(other))
            # New data take thrice as long only where answers are looked up: a processor that has
            # seen the same data a thousand times sorts them twice as fast.
            if new < 3.0 * known:
                return answer, 0.0
            # Twice, since the last answer may be the only one that is remembered.
            self._alone(given)
            known = self._alone(given)
        return answer, new / known

    def _alone(self, inputs: Sequence[Array]) -> float:
        self._bind(inputs)
        self._last = inf  # so that no call goes before
        return self._timed(1)[0]

    def _bind(self, inputs: Sequence[Array]) -> None:
        """Have calls run on these inputs, in the same memory as those before."""
        for own, array in zip(self._own, inputs, strict=True):
            own.flags.writeable = True
            copyto(own, array)
        self._inputs[:] = self._own
        task = self._task
        self._call: Callable[[], Any] = partial(task.run, self._inputs)
        self._outputs: Callable[[Any], object] = _as_returned
        is_own = type(task).__module__.startswith("opcheck.backends.")
        repeated: Any = getattr(task, "repeated", None) if is_own else None
        # No other adapter may choose which part of its work is timed.
        if getattr(repeated, "__module__", "").startswith("opcheck.backends.adapters."):
            bare = repeated(self._inputs)
            self._call = bare.call
            self._outputs = bare.outputs
