"""The mark that every process of a backend bears, its children included, wherever they went.

Also used by a process that must not import anything large; see `guard`.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

#: Names, in the environment of a worker and so of all its children, the folder where adapters put
#: files that must not outlive the process. The parent removes it.
SCRATCH = "OPCHECK_SCRATCH"
#: How many seconds killed processes may take to be gone; one that a driver holds never is.
_LAST = 2.0
#: How many seconds lie between two looks at them.
_NAP = 0.005


def signal_name(number: int) -> str:
    """`SIGSEGV`, or the number of a signal that has no name here."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def kill_marked(meant: Callable[[str], bool]) -> None:
    """End all processes whose folder is `meant`, even those that left their family and group."""
    until = monotonic() + _LAST
    # More than once, for some may have begun others before they ended.
    while found := [process for process, folder in _marked() if meant(folder)]:
        for process in found:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if monotonic() > until:
            return
        sleep(_NAP)


def _marked() -> Iterator[tuple[int, str]]:
    """All processes that can be asked, with the folder that each names."""
    if sys.platform != "linux":
        import psutil

        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if folder := process.environ().get(SCRATCH):
                    yield process.pid, folder
        return
    # psutil takes thrice as long for this.
    name = f"{SCRATCH}=".encode()
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                for item in (process / "environ").read_bytes().split(b"\0"):
                    if item.startswith(name):
                        yield int(process.name), os.fsdecode(item.removeprefix(name))
