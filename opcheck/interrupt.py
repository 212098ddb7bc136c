"""Ctrl-C: once, the program ends at its next safe place; twice, at once, and processes with it.

Python's own exception anywhere would become other errors in other packages. Processes that opcheck
starts for its own work leave Ctrl-C to it.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Any

#: True where a copy of a process works; elsewhere system libraries may not survive it.
CAN_FORK = sys.platform == "linux"

#: The variable by which Python leaves the working directory out of its path for modules.
_SAFE_PATH = "PYTHONSAFEPATH"
#: Seconds between two calls of a check at safe places.
_BETWEEN_CHECKS = 0.1
_asked = False
_shielded = _urgent = False
#: What `safe_place` calls, the last one first.
_checks: list[Callable[[], None]] = []
_next_check = 0.0


def install() -> None:
    """Have the first Ctrl-C only noted, and the next raise KeyboardInterrupt."""
    # A shell that starts a program in the background may have it ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _handle)
    # A request to terminate raises it at once: one that cannot be handled may follow soon.
    signal.signal(signal.SIGTERM, _handle)


def asked() -> bool:
    """Return True if the user interrupted the program."""
    return _asked


def safe_place() -> None:
    """Raise KeyboardInterrupt if the user has interrupted the program, which may end here.

    Raises what a check raises that is called here; see `checking`.
    """
    if _asked:
        raise KeyboardInterrupt
    if _checks:
        _call_check()


def _call_check() -> None:
    """Call the last check if the time has come; it may come to safe places itself."""
    global _next_check
    now = monotonic()
    if now < _next_check:
        return
    _next_check = now + _BETWEEN_CHECKS
    check = _checks.pop()
    try:
        check()
    finally:
        _checks.append(check)


@contextmanager
def checking(check: Callable[[], None]) -> Iterator[None]:
    """Have `safe_place` call a check meanwhile, which may end what goes on by an exception.

    It is called some times a second, and not in other processes.
    """
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)


@contextmanager
def shielded() -> Iterator[Callable[[], bool]]:
    """Delay KeyboardInterrupt to the end of something short, which can ask if it should hurry."""
    global _shielded, _urgent
    outer, _shielded = _shielded, True
    _urgent = outer and _urgent
    try:
        yield lambda: _urgent
    finally:
        _shielded = outer
        # Also in place of an error, as of processes that the same signal ended.
        if _urgent and not outer:
            _urgent = False
            raise KeyboardInterrupt


def end_with(parent: int) -> None:
    """Have this process end with its `parent`, even one that is killed, at once; on Linux only."""
    import ctypes

    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def follow(parent: int) -> None:
    """Have this process, a copy of its `parent`, end with it, and leave Ctrl-C and checks to it."""
    end_with(parent)
    _checks.clear()
    # Programs that it starts do not inherit this handler.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def processors() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> float:
    """Return how many programs were ready to run in the last minute; 0 where unknown: Windows."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


@contextmanager
def safe_path() -> Iterator[None]:
    """Have Python's own helper processes, started here, import nothing from the working directory.

    `multiprocessing` starts them by `python -c`, which looks there first: a `random.py` of a folder
    of strangers' case files would run.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


@contextmanager
def processes(
    count: int, start: str, begin: Callable[..., object], given: tuple[object, ...]
) -> Iterator[Any]:
    """A pool of processes, each begun by `begin(*given)`; left early, it ends them at once."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with safe_path():  # it starts a process that tracks semaphores
        executor = ProcessPoolExecutor(count, get_context(start), begin, given)
    with executor as pool:
        try:
            yield pool
        except BaseException:  # whatever it is, nobody waits for jobs, which may take minutes
            # Python 3.14 has a method for this.
            for process in [*(pool._processes or {}).values()]:
                process.kill()
            # The pool reads on what one of them was writing for as long as anything may write.
            pool._result_queue._writer.close()  # type: ignore[attr-defined]
            raise


def submitted(pool: Any, work: Callable[..., object], jobs: Iterable[object]) -> list[Any]:
    """The futures of `work` for each of `jobs`; a signal waits till all processes are known."""
    with shielded(), safe_path():
        return [pool.submit(work, job) for job in jobs]


def _handle(signum: int, frame: FrameType | None) -> None:
    global _asked, _urgent
    is_first, _asked = not _asked, True
    if is_first and signum == signal.SIGINT:
        return
    if not _shielded:
        raise KeyboardInterrupt
    _urgent = True
