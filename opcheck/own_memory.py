"""How much memory opcheck's own processes may take, so that no model takes the machine's.

On Linux an allocation beyond the limit fails at once, before memory is taken, and raises
MemoryError. Processes of backends have limits of their own: they are started without this one.
"""

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The option that changes the limit, as messages name it.
OPTION = "--judge-memory"
#: Without the option: this part of the memory that there is.
_SHARE = 0.75
_CGROUP = Path("/sys/fs/cgroup/memory.max")
#: Elsewhere the system does not count what a process allocates.
_WORKS = sys.platform == "linux"

_before: tuple[int, int] | None = None
_limit: int | None = None


def available() -> int:
    """Return the bytes of memory that the machine, or its container, has."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        stated = _CGROUP.read_text().strip()
    except OSError:
        return total
    return min(total, int(stated)) if stated.isdecimal() else total


@contextmanager
def limited() -> Iterator[None]:
    """Limit what this process allocates meanwhile to a part of the machine's memory."""
    global _before, _limit
    if not _WORKS or _before is not None:
        yield
        return
    _before = resource.getrlimit(resource.RLIMIT_DATA)
    change(int(available() * _SHARE))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, _before)
        _before = _limit = None


def change(limit: int) -> None:
    """Change the limit in force to so many bytes; a lower one of the user's own stays."""
    global _limit
    if _before is None:
        return
    own, hard = _before
    _limit = min(one for one in (limit, own, hard) if one != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (_limit, hard))


def share_among(processes: int) -> None:
    """Divide the limit, in a copy of the process, among so many of them."""
    if _limit is not None:
        change(_limit // processes)


@contextmanager
def lifted() -> Iterator[None]:
    """Lift the limit meanwhile, for a process that is started and is not opcheck's own."""
    if _before is None:
        yield
        return
    mine = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, _before)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, mine)


def limit_in_words() -> str:
    """Return the limit and its option, to follow a message; "" without a limit."""
    if _limit is None:
        return ""
    return f": opcheck itself may take {_limit / 2**20:,.0f} MiB ({OPTION})"
