"""Work in several processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")


def in_parallel(
    work: Callable[[Job], Made], jobs: Sequence[Job], processes: int
) -> Generator[Made]:
    """What `work` makes of each of `jobs`, as it comes; here, where one process is enough.

    Raises what `work` raises. Who stops listening ends the work after the jobs at hand, and waits
    for those by closing it.
    """
    if processes == 1 or len(jobs) <= 1:
        yield from map(work, jobs)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, _leave_interrupts)
    try:
        with _interrupts_held():
            waiting: set[Future[Made]] = {pool.submit(work, job) for job in jobs}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until the processes are started, which inherit that they never see one.

    It is for the process that was started first, which ends the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_interrupts() -> None:
    """The same where a process inherits nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
