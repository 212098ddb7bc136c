"""One worker process as its parent sees it: started, asked, watched, and ended for good."""

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
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias, cast

import psutil

import opcheck
from opcheck import own_memory
from opcheck.backends.isolation import cleanup, wire
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import BackendInfo, Crashed, OutOfMemory, Tensors, TimedOut

#: The least seconds between measurements of a worker's memory and log.
_MEASURE = 0.1
#: The worker's program, which finds modules where the parent does, not in its working directory.
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1])['path']; "
_START += "from opcheck.backends.isolation.worker import main; main(sys.argv[1])"
#: The name of their digest among those of a backend's files.
SETTINGS = "environment and limits"
Loss: TypeAlias = Crashed | TimedOut | OutOfMemory


def _module_path(environment: Mapping[str, str]) -> list[str]:
    """Return a worker's path for modules: its parent's, or with its own PYTHONPATH instead."""
    if "PYTHONPATH" not in environment:
        return sys.path
    own = _entries(environment["PYTHONPATH"])
    parents = _entries(os.environ.get("PYTHONPATH", ""))
    # Without the parent's entries, no other build is found there where its own is missing.
    others = [entry for entry in sys.path if str(Path(entry).resolve()) not in parents]
    return [*own, *others, str(Path(opcheck.__file__).parent.parent)]


def _entries(path: str) -> list[str]:
    """Return the folders of a PYTHONPATH."""
    return [str(Path(entry).resolve()) for entry in path.split(os.pathsep) if entry]


def fits(size: int) -> bool:
    """Return True if an answer fits into memory, so that reading it cannot end this process."""
    return size <= wire.INLINE or size < psutil.virtual_memory().available // 2


@dataclass(frozen=True)
class BackendSettings:
    """Limits and options of a backend's processes; a `name` is the user's, if it is no address."""

    address: str
    scratch: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    #: In seconds a question, unless that asks for more; in bytes; in seconds until it is imported.
    timeout: float = 30.0
    memory_limit: int | None = None
    start_timeout: float = 120.0
    name: str | None = None
    #: What a worker of a cluster needs for it.
    resources: Mapping[str, float] = field(default_factory=dict)

    @property
    def too_much(self) -> str:
        """Message about a worker that exceeds its memory limit."""
        return f"took more than {(self.memory_limit or 0) / 2**20:,.6g} MiB of memory"

    @property
    def digest(self) -> dict[str, str]:
        """Return the settings that can change answers, hashed: variables may be secrets."""
        message = f"{sorted(self.environment.items())} {self.timeout} {self.memory_limit}"
        return {SETTINGS: sha256(message.encode()).hexdigest()[:16]}


class Process:
    """A worker, which may end, hang, take too much memory, or send garbage."""

    def __init__(self, settings: BackendSettings) -> None:
        """Start it; raises BackendUnavailable where the system has no room for it."""
        #: It has said hello.
        self.connected = False
        #: The number of questions answered.
        self.handled = 0
        #: Since when it is at work, or idle.
        self.since = monotonic()
        self._settings = settings
        self._last_look = 0.0
        self._killed = False
        try:
            self._start()
        except (OSError, ValueError) as error:  # the latter is about the environment
            raise BackendUnavailable(f"no process can be started: {error}") from error

    def _start(self) -> None:
        environment = self._settings.environment
        self._scratch = Path(tempfile.mkdtemp(dir=self._settings.scratch))
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for end in (ours, theirs):
                for size in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    # In bytes: several messages of the size that goes through the connection.
                    end.setsockopt(socket.SOL_SOCKET, size, 256 << 10)
            for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                # Two seconds for the rest of a message: messages are sent whole.
                ours.setsockopt(socket.SOL_SOCKET, limit, struct.pack("ll", 2, 0))
            self._file = _nameless()
            self._log = _nameless(os.O_APPEND)
            arguments = {
                "address": self._settings.address,
                "path": _module_path(environment),
                "here": _working_directory(),
                "parent": os.getpid(),
                "control": theirs.fileno(),
                "file": self._file,
                "log": self._log,
                "measured": self._settings.memory_limit is not None,
            }
            try:
                with own_memory.lifted():
                    self._popen = subprocess.Popen(
                        # -P: modules are found in the working directory only where asked for.
                        [sys.executable, "-P", "-c", _START, json.dumps(arguments)],
                        stdin=subprocess.DEVNULL,
                        stdout=self._log,
                        stderr=self._log,
                        pass_fds=(theirs.fileno(), self._file, self._log),
                        env={**os.environ, **environment, cleanup.SCRATCH: str(self._scratch)},
                        start_new_session=True,
                    )
            except (OSError, ValueError):
                self._close()
                raise
            #: It becomes readable when the worker replies or ends.
            self.connection: Connection[Any, Any] = Connection(ours.detach())
            self.channel = wire.Channel(self.connection, self._file, at_worker=False)

    def greeting(self) -> BackendInfo | None:
        """Return the backend once the worker has said hello, None if it has not yet.

        Raises UsageError and BackendUnavailable as the worker says, and BackendUnavailable where
        it ends or is silent for too long, with what it printed last.
        """
        who = f"backend {self._settings.name or self._settings.address!r}"
        try:
            # In this order: a worker may say why, and end a moment later.
            ended = self.has_ended()
            if self.connection.poll():
                hello = self.answer(BackendInfo, 0)
                if isinstance(hello, wire.Failure):
                    kind = UsageError if hello.usage else BackendUnavailable
                    raise kind(hello.message, hello.hint)
                return hello
            if not ended:
                if monotonic() < self.since + self._settings.start_timeout:
                    return None
                raise BackendUnavailable(self.killed(f"{who} hangs at start"))
        except (EOFError, ConnectionError):
            pass
        except (wire.Damaged, MemoryError) as error:
            message = f"{who} says something unintelligible at start: {error}"
            raise BackendUnavailable(self.killed(message)) from error
        raise BackendUnavailable(self.killed(f"{who} died at start: {self.how_it_ended()}"))

    def answer(
        self, kind: type[wire.Answer], number: int, given: Tensors = ()
    ) -> wire.Answer | wire.Failure:
        """Read the answer to the question `number`, which arrived.

        Raises EOFError, ConnectionError and Damaged, by which the worker is `broken`, and
        MemoryError where the answer does not fit.
        """
        answered, parts = self.channel.receive(fits)
        if answered != number:
            raise wire.Damaged("it answers what was not asked")
        return wire.read_answer(kind, parts, given)

    def loss(self, seconds: float | None) -> Loss | None:
        """Return why a silent worker is lost, if it is; it has `seconds` for its question."""
        loss: Loss | None = None
        if self.has_ended():
            loss = Crashed(self.how_it_ended())
        elif self.takes_too_much():
            loss = OutOfMemory(self._settings.too_much)
        elif seconds is not None and monotonic() - self.since > seconds:
            loss = TimedOut(seconds)
        # It may have answered, or closed its connection, since that was last looked at.
        return None if loss and self.connection.poll() else loss

    def broken(self, error: Exception) -> Crashed:
        """Return the loss of a worker whose connection raised `error`."""
        if isinstance(error, wire.Damaged):
            return Crashed(self.how_it_ended(f"sent something that is no answer: {error}"))
        return Crashed(self.how_it_ended())

    def has_ended(self) -> bool:
        """Return True if the process is gone; its children may still run."""
        return self._popen.poll() is not None

    def wait(self, until: float) -> None:
        """Wait for its end, by the monotonic clock not longer than `until`."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(max(0.0, until - monotonic()))

    def how_it_ended(self, otherwise: str = "closed its connection to opcheck") -> str:
        """Return the signal or the status of a process that has ended, or is about to."""
        # The connection closes a moment, up to a second, before the process is gone.
        self.wait(monotonic() + 1.0)
        status = self._popen.poll()
        if status is None:
            return otherwise
        how = cleanup.how_it_ended(status)
        if -status == signal.SIGKILL:
            how += ", as the system does where memory runs out"
        return how

    def takes_too_much(self, *, now: bool = False) -> bool:
        """Return True if it exceeds its memory limit; also shorten its log."""
        moment = monotonic()
        if moment - self._last_look < _MEASURE and not now:
            return False
        self._last_look = moment
        if os.fstat(self._log).st_size > 16 << 20:
            # Its end is left, unless the worker is taking it or the disk is full.
            with suppress(OSError), wire.locked(self._log, wait=False):
                tail = self._printed()
                os.ftruncate(self._log, 0)
                os.write(self._log, tail)
        limit = self._settings.memory_limit
        return limit is not None and self._memory() > limit

    def _memory(self) -> int:
        """Return the resident memory of the process and its children in bytes, 0 if it is gone."""
        family = self._family()
        total = 0
        for process in family:
            with suppress(psutil.Error):
                share = 0
                if len(family) > 1:
                    # Without the parts of others in common memory, which only Linux knows.
                    share = getattr(process.memory_full_info(), "pss", 0)
                total += share or process.memory_info().rss
        return total

    def kill(self) -> str:
        """End the process and its children, remove its files; return the end of its output."""
        return kill([self])[0]

    def killed(self, message: str) -> str:
        """Kill it, and append the end of its output to a message about that."""
        printed = self.kill().strip()
        return f"{message}; the last it printed:\n{printed}" if printed else message

    def _family(self) -> list[psutil.Process]:
        try:
            process = psutil.Process(self._popen.pid)
            return [process, *process.children(recursive=True)]
        except psutil.Error:
            return []

    def _bury(self) -> str:
        self.wait(monotonic() + 5.0)  # one that a driver holds may take for ever
        printed = self._printed()
        with suppress(OSError):
            self.connection.close()
        self._close()
        return printed.decode(errors="replace")

    def _close(self) -> None:
        os.close(self._file)
        os.close(self._log)
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _printed(self) -> bytes:
        return os.pread(self._log, wire.TAIL, max(0, os.fstat(self._log).st_size - wire.TAIL))


def kill(processes: Sequence[Process]) -> list[str]:
    """End processes as `Process.kill` does; together, because to look for runaways takes long."""
    alive = [process for process in processes if not process._killed]
    for process in alive:
        process._killed = True
        family = process._family()
        # The group first: it is one call, and nobody in it can escape by forking meanwhile.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process._popen.pid, signal.SIGKILL)
        for relative in family:
            with suppress(psutil.Error):
                relative.kill()
    if alive:
        folders = {str(process._scratch) for process in alive}
        cleanup.kill_marked(folders.__contains__)
    return [process._bury() if process in alive else "" for process in processes]


def _nameless(flags: int = 0) -> int:
    """Return a file that vanishes when the last process that has it open is gone."""
    import fcntl

    if sys.platform == "linux":
        file = os.memfd_create("opcheck")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | flags)
    return file


def _working_directory() -> str | None:
    """Return the folder that `python -m` puts first on the path, which may shadow an engine."""
    if hasattr(sys.modules["__main__"], "HERE"):
        return cast(str | None, sys.modules["__main__"].HERE)
    first = sys.path[0] if sys.path and not sys.flags.safe_path else None
    return first if first in ("", str(Path.cwd())) else None
