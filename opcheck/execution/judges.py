"""Judging in several processes, each with processes of its own of the backends.

A judge takes a few cases at a time, in their order, asks, judges, and sends back what a report
needs to know. It is forked, so that it has the cases without reading them.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias, cast

from opcheck.backends.isolation.cleanup import how_it_ended, kill_marked
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.worker import PR_SET_PDEATHSIG
from opcheck.errors import BackendUnavailable
from opcheck.execution.scheduler import AHEAD, JudgedAnswer, Scheduler
from opcheck.model import LiveResult, Record

#: How many cases a judge takes at a time.
_CASES = 4
#: Seconds that a judge waits for others whose cases come first.
_TICK = 0.01
#: Seconds that judges have to end their backends.
_FAREWELL = 5.0

#: True if judges can be forked here; elsewhere system libraries may not survive it.
CAN_FORK = sys.platform == "linux"


#: For each pool, accidents and partings of its copy in a judge, which that sends last.
Ends: TypeAlias = tuple[tuple[dict[str, int], list[str]], ...]


class Judges:
    """Processes that judge the cases of a run, whose backends are pools.

    `folder` is for the files of their backends; `record` makes the results to be stored.
    """

    def __init__(
        self, run: Scheduler, count: int, folder: Path, record: Callable[[LiveResult], Record]
    ) -> None:
        self._run, self._record, self._folder = run, record, folder
        self._pools = cast("list[Pool]", [*run.backends, *run.oracles.values()])
        # Judges must not keep these connections open.
        for pool in self._pools:
            pool.close()
        self._parent = os.getpid()
        context = multiprocessing.get_context("fork")
        #: Shared: the places of the next case and of the first not emitted; 1 if all is to end.
        self._next = context.Value("q", 0)
        self._emitted = context.Value("q", 0, lock=False)
        self._stopped = context.Value("b", 0, lock=False)
        self._ends: dict[Connection[Any, Any], BaseProcess] = {}
        for _ in range(count):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=self._work, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._ends[ours] = process

    def answers(self) -> Iterator[list[JudgedAnswer]]:
        """Yield judged answers as they come; raises as the judges do."""
        working = set(self._ends)
        while working:
            self._emitted.value = self._run.emitted
            found: list[JudgedAnswer] = []
            for end in cast("list[Connection[Any, Any]]", wait(list(working))):
                match self._received(end):
                    case tuple():
                        working.remove(end)
                    case BaseException() as error:
                        raise error
                    case answers:
                        found += answers
            yield found

    def _received(self, end: Connection[Any, Any]) -> Any:
        """Return what a judge sends: answers, an error, or last what its backends left."""
        try:
            received = pickle.loads(end.recv_bytes())
        except EOFError:
            process = self._ends[end]
            process.join(_FAREWELL)
            how = how_it_ended(process.exitcode or 0)
            return BackendUnavailable(f"a process that judges ended before its cases: {how}")
        if isinstance(received, tuple):
            for pool, ends in zip(self._pools, received, strict=True):
                pool.add_ends(*ends)
        return received

    def close(self) -> None:
        """End the judges and their backends."""
        self._stopped.value = 1
        until = monotonic() + _FAREWELL
        for end, process in self._ends.items():
            # What they still send is read, or they could not end.
            while end.poll(max(0.0, until - monotonic())):
                if isinstance(self._received(end), tuple | BaseException):
                    break
            end.close()
            process.join(max(0.0, until - monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        if any(process.exitcode for process in self._ends.values()):
            kill_marked(lambda own: Path(own).parent == self._folder)
        self._ends.clear()

    def _work(self, end: Connection[Any, Any]) -> None:
        """Judge in this process, which is a copy of its parent and must not go on as that."""
        # It ends with its parent, and its backends with it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # Ctrl-C is the parent's business. Backends do not inherit this handler.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            if os.getppid() == self._parent:
                self._judge(lambda what: end.send_bytes(pickle.dumps(what, 5)))
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            end.send_bytes(pickle.dumps(error))
        finally:
            os._exit(0)

    def _judge(self, send: Callable[[list[JudgedAnswer] | Ends], None]) -> None:
        with ExitStack() as stack:
            pools = [stack.enter_context(closing(p.copy(self._folder))) for p in self._pools]
            oracles = dict(zip(self._run.oracles, pools[len(self._run.backends) :], strict=True))
            backends = pools[: len(self._run.backends)]
            for answers in replace(self._run, backends=backends, oracles=oracles).answers(
                self._take
            ):
                if self._stopped.value:
                    break
                if answers:
                    send([*map(self._stored, answers)])
                else:
                    sleep(_TICK)
        send(tuple((dict(pool.accidents), pool.partings) for pool in pools))

    def _take(self) -> Sequence[int] | None:
        """Take some cases that no other judge has; see `Take`."""
        with self._next.get_lock():
            place, end = self._next.value, len(self._run.cases)
            if place >= end:
                return None
            if place >= self._emitted.value + AHEAD:
                return ()
            self._next.value = min(place + _CASES, end)
            return range(place, self._next.value)

    def _stored(self, answer: JudgedAnswer) -> JudgedAnswer:
        """The answer as it is sent: without what nobody will look into."""
        record = self._record(cast(LiveResult, answer.result))
        if answer.failed and self._run.is_unexplained(record):
            return replace(answer, result=record)
        return replace(answer, result=record, failed=None, oracle_answer=None)
