"""The process in which a backend works, from its first line to its last.

It is started with one argument, a JSON object: `address`, `path` (where modules are found), `here`
(what stands in it by accident), `parent` (its process), the numbers of three inherited files
(`control`, `file` and `log`), and whether its memory is `measured`.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from json import dumps, loads
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opcheck.backends.base import Backend
    from opcheck.backends.isolation.channel import Channel, Message
    from opcheck.backends.isolation.wire import Timer

#: How much is kept of what a backend prints, in bytes.
_TAIL = 8 << 10
#: Numbers of the C library and of Linux.
_LINE_BUFFERED = 1
_PR_SET_PDEATHSIG = 1


def main(arguments: str) -> None:
    """Connect to the backend and answer questions until there are no more."""
    given = loads(arguments)
    home = os.getpid()
    if sys.platform == "linux":
        # This process ends with its parent, even one that is killed: at once, and even while a
        # backend keeps Python's lock; for the rest there is `cleanup`.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != given["parent"]:
            os._exit(1)
    for file in (given["control"], given["file"], given["log"]):
        os.set_inheritable(file, False)  # they are no business of programs a backend starts
    faulthandler.enable()  # a crash tells on standard error where it was
    # And is over at once: no core is written.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # What is printed line by line is to be there after a crash.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    c = ctypes.CDLL(None)
    with suppress(ValueError):  # a C library that calls it otherwise
        name = "__stdoutp" if sys.platform == "darwin" else "stdout"
        c.setvbuf(ctypes.c_void_p.in_dll(c, name), None, _LINE_BUFFERED, 0)
    # Where memory runs out, Linux is to choose this process, not the one that judges.
    _tell_system("oom_score_adj", "1000")
    # Before the backend is imported, which may change what these do.
    from opcheck.backends.isolation import wire  # noqa: F401
    from opcheck.backends.isolation.channel import Channel

    # It has served to find opcheck, and must not serve to find engines; adapters for modules of
    # the user's put it back.
    if given["here"] is not None:
        sys.path.remove(given["here"])
    channel = Channel(Connection(given["control"]), given["file"])
    printed = _Printed(given["log"])
    worker = _Worker(channel, printed, home, given["measured"])
    if backend := worker.connected(given["address"]):
        # The peak of memory is to be that of the backend at work.
        _tell_system("clear_refs", "5")
        worker.serve(backend)
    with suppress(BaseException):
        sys.stdout.flush()


def _tell_system(name: str, text: str) -> None:
    with suppress(OSError):  # no Linux, or not allowed
        Path(f"/proc/self/{name}").write_text(text)


class _Printed:
    """Captured output, including file descriptors 1 and 2, in the file `log`."""

    def __init__(self, log: int) -> None:
        self._log = log
        self._flush_c = ctypes.CDLL(None).fflush

    def take(self) -> str:
        """The end of what was printed since the last time."""
        for stream in (sys.stdout, sys.stderr):
            # A backend may have closed or replaced them.
            with suppress(BaseException):
                stream.flush()
        self._flush_c(None)
        # Or have closed this.
        with suppress(OSError):
            size = os.fstat(self._log).st_size
            if size:
                tail = os.pread(self._log, _TAIL, max(0, size - _TAIL))
                os.ftruncate(self._log, 0)
                return tail.decode(errors="replace")
        return ""


@dataclass(frozen=True)
class _Worker:
    """The process of `home`, whose peak of memory may be `measured`."""

    channel: Channel
    printed: _Printed
    home: int
    measured: bool

    def connected(self, address: str) -> Backend | None:
        """The backend, having said so; None, having said why not."""
        from opcheck.backends.address import parse
        from opcheck.backends.connect import connect
        from opcheck.backends.made_of import loaded, made_of
        from opcheck.errors import BackendUnavailable, UsageError

        hello: dict[str, Any]
        try:
            before = loaded()
            backend = connect(parse(address))
            info = asdict(backend.info)
            hello = {"info": info | {"made_of": made_of(loaded() - before) | info["made_of"]}}
        except (BackendUnavailable, UsageError) as error:
            backend = None
            usage = isinstance(error, UsageError)
            hello = {"usage": usage, "message": error.message, "hint": error.hint}
        self._end_if_forked()
        self.printed.take()
        self.channel.send(0, [dumps(hello).encode()])
        return backend

    def serve(self, backend: Backend) -> None:
        """Answer questions until there are no more."""
        from opcheck.backends.isolation.wire import Timer

        timer = Timer(backend, self.printed.take)
        while True:
            try:
                message = self.channel.receive()
                self.channel.mark(message.number)
                # In a function, so that nothing of one question is there when the next one comes.
                self._answer(backend, timer, message)
            except (EOFError, ConnectionError):
                return

    def _answer(self, backend: Backend, timer: Timer, message: Message) -> None:
        from opcheck.backends.execute import CallFailure, Observed, execute
        from opcheck.backends.isolation.wire import WorkerAnswer, answer_parts, read_question
        from opcheck.model import Question

        seen = Observed()
        try:
            question = read_question(message.read())
            if not isinstance(question, Question):
                self.channel.send(message.number, timer.answer(question), patient=True)
                return
            seen = execute(backend, question, alone=True)
            self._end_if_forked()
            told = WorkerAnswer(seen, self.printed.take(), _peak() if self.measured else 0)
            self.channel.send(message.number, answer_parts(question, told), patient=True)
            return
        except ConnectionError:
            raise
        except (MemoryError, OSError) as error:
            # Of its data, if it was not asked yet, else of its answer.
            failed = CallFailure("memory", type(error).__name__, str(error), documented=False)
            answer = answer_parts(
                None, WorkerAnswer(Observed(seen.stage, failed), self.printed.take())
            )
        except Exception:  # what a backend raises is observed: this is a mistake of opcheck's
            answer = [dumps({"bug": traceback.format_exc()}).encode()]
        self.channel.send(message.number, answer, patient=True)

    def _end_if_forked(self) -> None:
        """End this process if it is not the one at `home`: its backend forked, and nobody asked."""
        if os.getpid() != self.home:
            os._exit(0)


def _peak() -> int:
    """The most resident memory this process ever had, in bytes; 0 where the system does not say."""
    # Not getrusage, whose number begins with that of the parent.
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) << 10
    return 0
