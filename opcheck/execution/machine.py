"""The machine and the packages of this run, and work in several processes."""

import multiprocessing
import os
import platform
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias, TypeVar

import psutil

import opcheck
from opcheck.backends.connect import version_of
from opcheck.model import Environment
from opcheck.model.timing import Machine

_PACKAGES = ("numpy", "ml_dtypes", "onnx", "onnxruntime")
_CPU = Path("/sys/devices/system/cpu/cpu0")
#: Bytes that are touched if the sizes of the caches are unknown.
_LARGE = 64 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
#: Seconds between two calls of `safe_place`.
_GLANCE = 0.1
Job = TypeVar("Job")
Made = TypeVar("Made")
#: Passes items on, one by one, and shows the progress.
Counted: TypeAlias = Callable[[Iterable[Made]], Iterable[Made]]


def environment() -> Environment:
    """Return the environment that the header of a stored run records."""
    return Environment(
        opcheck=opcheck.__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        packages={name: version_of(name) or "not installed" for name in _PACKAGES},
    )


def machine() -> Machine:
    """Describe this machine."""
    return Machine(
        processor=_processor(),
        cores=processors(),
        governor=_read(_CPU / "cpufreq" / "scaling_governor"),
        platform=platform.platform(),
        load=round(os.getloadavg()[0], 2),
        memory=psutil.virtual_memory().total,
    )


def processors() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def beyond_caches() -> int:
    """Return twice the bytes of the largest cache: touching them leaves nothing else in it."""
    sizes = [_read(index / "size") for index in (_CPU / "cache").glob("index*")]
    return 2 * max((_bytes(size) for size in sizes if size), default=_LARGE // 2)


def _bytes(size: str) -> int:
    number, unit = size[:-1], _UNITS.get(size[-1:], 0)
    return int(number) * unit if number.isdigit() and unit else 0


def _processor() -> str:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(": ")[2]
    return platform.processor()


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8").strip()
    return ""


def in_parallel(
    work: Callable[[Job], Made],
    jobs: Sequence[Job],
    processes: int,
    safe_place: Callable[[], None] = lambda: None,
) -> Generator[Made]:
    """Yield the result of `work` for each of `jobs`, as it comes; closing it ends the processes.

    `safe_place` is called again and again; both it and `work` may raise.
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
    """Hold Ctrl-C back; processes started meanwhile inherit that, and this one ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
