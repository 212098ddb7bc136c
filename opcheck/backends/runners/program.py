"""How a program ended, and its last words."""

import os
import re
from threading import Thread
from typing import IO

from opcheck.backends.base import UnusableAnswer
from opcheck.backends.isolation.mark import SCRATCH, signal_name

#: How much is kept of what a program prints, in bytes.
_KEPT = 8 << 10
#: How many lines and characters of that make a reason.
_LINES = 5
_CHARACTERS = 1000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: How Windows tells what ended a process: the two highest bits of the status are set.
_NTSTATUS = 0xC000_0000


class CommandFailed(Exception):
    """A program said that it failed, or refuses the model; its own words."""


class BrokenProtocol(UnusableAnswer):
    """A program does not keep to what opcheck expects of it."""


def scratch() -> str | None:
    """Where temporary folders are made; None means where the system wants them."""
    return os.environ.get(SCRATCH)


def how_it_died(status: int) -> str | None:
    """What ended a program, None where it ended by itself; `status` is that of `Popen`.

    A shell, or ssh with one at the other end, tells of a signal by a status above 128.
    """
    if status < 0:
        return f"killed by {signal_name(-status)}"
    if status >= _NTSTATUS:
        return f"ended by Windows with 0x{status:08X}"
    if 128 < status < 160:
        return f"killed by {signal_name(status - 128)}, says exit status {status}"
    return None


class Tail:
    """Reads a pipe to its end in a thread, so that nobody waits for it, and keeps its end."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._kept = b""
        self._thread = Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                self._kept = (self._kept + chunk)[-_KEPT:]

    def text(self) -> str:
        """What was printed last, once the program has ended."""
        # A child that it left behind may keep the pipe open for ever.
        self._thread.join(timeout=0.5)
        return _COLOURS.sub("", self._kept.decode(errors="replace")).strip()


def last_lines(text: str) -> str:
    """The end of a text, which is where programs say why they end."""
    end = "\n".join(text.splitlines()[-_LINES:])
    return end if len(end) <= _CHARACTERS else f"…{end[-_CHARACTERS:]}"
