"""Cleaning up after a run, even a killed one: no process of a backend and no file is left.

A variable in the environment marks all processes of a backend, with their children. A killed
process cannot clean up, so another waits for its end: this file, as a program of few imports.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

#: Environment variable of a worker and all its children, which names the folder for files that must
#: not outlive the process. The parent removes it.
SCRATCH = "OPCHECK_SCRATCH"


def how_it_ended(status: int) -> str:
    """Describe the end of a process by the status of its `Popen`."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:  # it has no name here
        return f"killed by signal {-status}"


def kill_marked(meant: Callable[[str], bool]) -> None:
    """End all processes whose folder is `meant`, even those that left their family and group."""
    until = monotonic() + 2.0  # one that a driver holds is never gone
    # More than once, for some may have begun others before they ended.
    while True:
        processes = [process for process, folder in _marked() if meant(folder)]
        for process in processes:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not processes or monotonic() > until:
            return
        sleep(0.005)


def _marked() -> Iterator[tuple[int, str]]:
    """Yield all readable processes that are marked, with the folder that each names."""
    import psutil

    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            folder = process.environ().get(SCRATCH)
            if folder:
                yield process.pid, folder


@contextmanager
def guarded_folder() -> Iterator[Path]:
    """A folder for the folders of workers, which end with it; raises BackendUnavailable."""
    from opcheck.errors import BackendUnavailable

    try:
        folder = Path(tempfile.mkdtemp(prefix="opcheck-"))
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Not killed with the group that this process belongs to.
            start_new_session=True,
        )
    except OSError as error:
        raise BackendUnavailable(f"no process can be started for a backend: {error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        # Killed first: it takes the closing of its standard input for an accident.
        with guard:
            guard.kill()


def main() -> None:
    """Wait until the process that started this one is gone, and end what it has left."""
    folder = Path(sys.argv[1])
    sys.stdin.buffer.read()
    sys.path[:] = sys.argv[2:]

    def is_of_run(own: str) -> bool:
        return Path(own).parent == folder

    kill_marked(is_of_run)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
