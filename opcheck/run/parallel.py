"""Work in several processes."""

import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

#: How often, in seconds, it is looked whether the work is to end.
_GLANCE = 0.1

Job = TypeVar("Job")
Made = TypeVar("Made")


def in_parallel(
    work: Callable[[Job], Made],
    jobs: Sequence[Job],
    processes: int,
    safe_place: Callable[[], None] = lambda: None,
) -> Generator[Made]:
    """Yield what `work` makes of each of `jobs`, as it comes; here, where one process is enough.

    Raises what `work` raises, and what `safe_place` does, which is called again and again. Whoever
    stops listening and closes it ends the processes, whatever they are at.
    """
    if processes == 1 or len(jobs) <= 1:
        yield from map(work, jobs)
        return
    context = multiprocessing.get_context("spawn")
    # Where processes inherit no mask, they ignore Ctrl-C from their start on.
    ignoring = signal.SIGINT, signal.SIG_IGN
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, signal.signal, ignoring)
    waiting: set[Future[Made]] = set()
    try:
        with _interrupts_held():
            waiting |= {pool.submit(work, job) for job in jobs}
        while waiting:
            done, waiting = wait(waiting, timeout=_GLANCE, return_when=FIRST_COMPLETED)
            safe_place()
            for future in done:
                yield future.result()
    finally:
        if waiting:
            # A job may take minutes. Python 3.14 has a method for this.
            for process in [*(pool._processes or {}).values()]:
                process.terminate()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C is for this process, which ends the others: they inherit that they never see one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
