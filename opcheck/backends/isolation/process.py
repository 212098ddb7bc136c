"""One worker process as its parent sees it: started, asked, watched, and ended for good."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any, cast

import psutil

import opcheck
from opcheck.backends.isolation.channel import Channel, Damaged
from opcheck.backends.isolation.cleanup import SCRATCH, kill_marked, signal_name
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import BackendInfo

#: The connection holds several messages of the size that goes through it, in bytes.
_BUFFER = 256 << 10
#: How many seconds, and microseconds, the rest of a message may take: it is sent as a whole, and
#: nobody waits for the rest of garbage.
_MESSAGE = struct.pack("ll", 2, 0)
#: What a worker has printed is cut beyond this many bytes, so that it fills no memory.
_LONGEST_LOG = 16 << 20
_TAIL = 8 << 10
#: How many seconds may lie between the end of a connection and that of its process.
_MOMENT = 1.0
#: How many seconds a killed process may take to be gone; one that a driver holds may take for ever.
_LAST = 5.0
#: Python found as the parent found it, not by the folder that happens to be the working directory.
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1])['path']; "
_START += "from opcheck.backends.isolation.worker import main; main(sys.argv[1])"


def _module_path(environment: Mapping[str, str]) -> list[str]:
    """Return where a worker finds modules: as its parent, but by its own PYTHONPATH if it has one.

    Then the parent's has no say, so that a build that is missing is not taken from there.
    """
    if "PYTHONPATH" not in environment:
        return sys.path
    own, parents = (
        [str(Path(entry).resolve()) for entry in path.split(os.pathsep) if entry]
        for path in (environment["PYTHONPATH"], os.environ.get("PYTHONPATH", ""))
    )
    rest = [entry for entry in sys.path if str(Path(entry).resolve()) not in parents]
    return [*own, *rest, str(Path(opcheck.__file__).parent.parent)]


class Process:
    """A worker; it has `connected` once it has said hello, and `handled` so many questions."""

    def __init__(
        self, address: str, environment: Mapping[str, str], scratch: Path, *, measured: bool
    ) -> None:
        self.connected = False
        self.handled = 0
        self._killed = False
        self._scratch = Path(tempfile.mkdtemp(dir=scratch))
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for end in (ours, theirs):
                for size in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    end.setsockopt(socket.SOL_SOCKET, size, _BUFFER)
            for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                ours.setsockopt(socket.SOL_SOCKET, limit, _MESSAGE)
            self._file, self._log = _nameless(), _nameless(os.O_APPEND)
            arguments = {
                "address": address,
                "path": _module_path(environment),
                "here": _working_directory(),
                "parent": os.getpid(),
                "control": theirs.fileno(),
                "file": self._file,
                "log": self._log,
                "measured": measured,
            }
            try:
                self._popen = subprocess.Popen(
                    # -P: the working directory is no place to find modules in, but where asked for.
                    [sys.executable, "-P", "-c", _START, json.dumps(arguments)],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    pass_fds=(theirs.fileno(), self._file, self._log),
                    env={**os.environ, **environment, SCRATCH: str(self._scratch)},
                    start_new_session=True,
                )
            except OSError:
                self._close()
                raise
            self.channel = Channel(Connection(ours.detach()), self._file)

    @property
    def connection(self) -> Connection[Any, Any]:
        """Connection that becomes readable when the worker replies or ends."""
        return self.channel.connection

    def has_ended(self) -> bool:
        """Return True if the process is gone; its children may still run."""
        return self._popen.poll() is not None

    def wait(self, until: float) -> None:
        """Wait for its end, by the monotonic clock not longer than `until`."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(max(0.0, until - monotonic()))

    def how_it_ended(self, otherwise: str = "closed its connection to opcheck") -> str:
        """The signal or the status of a process that is about to end, if not gone already."""
        # The connection closes a moment before the process is gone.
        self.wait(monotonic() + _MOMENT)
        status = self._popen.poll()
        if status is None:
            return otherwise
        if status >= 0:
            return f"exited with status {status}"
        told = ", as the system does where memory runs out" if -status == signal.SIGKILL else ""
        return f"killed by {signal_name(-status)}{told}"

    def memory(self) -> int:
        """Resident memory of the process and its children in bytes, 0 when it is gone."""
        kin, total = self._family(), 0
        for process in kin:
            with suppress(psutil.Error):
                total += process.memory_info().rss if len(kin) == 1 else _share(process)
        return total

    def trim_log(self) -> None:
        """Cut what was printed, if it is much too much."""
        if os.fstat(self._log).st_size > _LONGEST_LOG:
            tail = self._printed()
            os.ftruncate(self._log, 0)
            os.write(self._log, tail)

    def leave(self) -> None:
        """Let the process end by itself; `kill` it soon."""
        self.channel.connection.close()

    def kill(self) -> str:
        """End the process, its children, and its temporary files; the end of what it printed."""
        return kill([self])[0]

    def _kill_group(self) -> None:
        kin = self._family()
        # The group first: it is one call, and nobody in it can escape by forking meanwhile.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        for process in kin:
            with suppress(psutil.Error):
                process.kill()

    def _family(self) -> list[psutil.Process]:
        try:
            process = psutil.Process(self._popen.pid)
            return [process, *process.children(recursive=True)]
        except psutil.Error:
            return []

    def _bury(self) -> str:
        self.wait(monotonic() + _LAST)
        printed = self._printed()
        with suppress(OSError):
            self.channel.connection.close()
        self._close()
        return printed.decode(errors="replace")

    def _close(self) -> None:
        os.close(self._file)
        os.close(self._log)
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _printed(self) -> bytes:
        return os.pread(self._log, _TAIL, max(0, os.fstat(self._log).st_size - _TAIL))


def _share(process: psutil.Process) -> int:
    """Memory of a process, without the parts of others in what several have in common."""
    share: int = getattr(process.memory_full_info(), "pss", 0)  # Linux alone knows
    return share or process.memory_info().rss


def kill(processes: Sequence[Process]) -> list[str]:
    """End processes as `Process.kill` does; together, because to look for runaways takes long."""
    alive = [process for process in processes if not process._killed]
    for process in alive:
        process._killed = True
        process._kill_group()
    if alive:
        kill_marked({str(process._scratch) for process in alive}.__contains__)
    return [process._bury() if process in alive else "" for process in processes]


def _nameless(flags: int = 0) -> int:
    """A file that vanishes when the last process that has it open is gone."""
    import fcntl

    if sys.platform == "linux":
        file = os.memfd_create("opcheck")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    if flags:
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | flags)
    return file


def _working_directory() -> str | None:
    """Return the folder that `python -m` puts first on the path, which may shadow an engine."""
    if hasattr(sys.modules["__main__"], "HERE"):
        return cast(str | None, sys.modules["__main__"].HERE)
    first = sys.path[0] if sys.path and not sys.flags.safe_path else None
    return first if first in ("", str(Path.cwd())) else None


def started(process: Process, address: str, until: float) -> BackendInfo | None:
    """The worker's greeting, None if it has not come yet.

    Raises UsageError and BackendUnavailable as the worker says, and BackendUnavailable where it
    ends, or is still silent at `until` (by the monotonic clock), with what it printed last.
    """
    try:
        # In this order: who ends may have said why a moment before.
        ended = process.has_ended()
        if process.connection.poll():
            hello = json.loads(process.channel.receive().read()[0])
            if "info" not in hello:
                kind = UsageError if hello["usage"] else BackendUnavailable
                raise kind(hello["message"], hello["hint"])
            lists = {name: tuple(hello["info"][name]) for name in ("accumulate", "devices")}
            return BackendInfo(**hello["info"] | lists)
        if not ended:
            if monotonic() < until:
                return None
            raise BackendUnavailable(with_output(f"backend {address!r} hangs at start", process))
    except (EOFError, ConnectionError):
        pass
    except (Damaged, ValueError, TypeError, LookupError, RecursionError) as error:
        said = f"backend {address!r} says something unintelligible at start: {error}"
        raise BackendUnavailable(with_output(said, process)) from error
    how = process.how_it_ended()
    raise BackendUnavailable(with_output(f"backend {address!r} died at start: {how}", process))


def with_output(said: str, process: Process) -> str:
    """Append what the process printed last to a message about its end."""
    printed = process.kill().strip()
    return f"{said}; the last it printed:\n{printed}" if printed else said
