"""A program that is started once for each case and speaks in files and exit statuses."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO

from onnx import ModelProto

from opcheck.backends.base import Backend, ProcessDied, TaskCall, UnusableAnswer, own_part
from opcheck.backends.isolation.cleanup import SCRATCH, how_it_ended
from opcheck.errors import BackendUnavailable, NotSupported
from opcheck.graph import model_of
from opcheck.graph.folders import DATA_SET, MODEL, read_outputs, write_question
from opcheck.model import BackendInfo, Task, Tensors

PLACEHOLDERS = ("model", "inputs", "outputs")
#: "Not implemented here", as automake's tests and other test runners skip a test. Programs return
#: their libraries' error codes, and abort() on Windows 3, so small numbers will not do.
UNSUPPORTED = 77
#: "Nothing was computed", such as without a device; in the same protocol, a set-up that failed.
NOT_RUN = 99
#: How much is kept of what a program prints, in bytes.
_KEPT = 8 << 10
#: How many lines and characters of that make a reason.
_LINES = 5
_CHARACTERS = 1000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class CommandFailed(Exception):
    """A program failed, or refuses the model; the message is the program's."""


class BrokenProtocol(UnusableAnswer):
    """A program violates the protocol."""


def new_folder() -> TemporaryDirectory[str]:
    """Return a folder that is gone with the worker; files that stay are no refusal of the model."""
    scratch = os.environ.get(SCRATCH)
    return TemporaryDirectory(prefix="opcheck-", dir=scratch, ignore_cleanup_errors=True)


def how_it_died(status: int) -> str | None:
    """Describe what ended a program, None where it ended by itself; `status` is that of `Popen`.

    A shell, or ssh with one at the other end, tells of a signal by a status above 128.
    """
    if status < 0:
        return how_it_ended(status)
    # How Windows tells what ended a process: the two highest bits of the status are set.
    if status >= 0xC000_0000:
        return f"ended by Windows with 0x{status:08X}"
    if 128 < status < 160:
        return f"{how_it_ended(128 - status)}, says exit status {status}"
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
        """Return the end of the program's output, once it has ended."""
        # A child that it left behind may keep the pipe open for ever.
        self._thread.join(timeout=0.5)
        return _COLOURS.sub("", self._kept.decode(errors="replace")).strip()


def last_lines(text: str) -> str:
    """Return the end of a text, which is where programs say why they end."""
    end = "\n".join(text.splitlines()[-_LINES:])
    return end if len(end) <= _CHARACTERS else f"…{end[-_CHARACTERS:]}"


def one_shot(info: BackendInfo, words: tuple[str, ...]) -> Backend:
    """Make a backend of a command; `words` hold the placeholders."""

    def prepare(task: Task) -> TaskCall:
        # The program gets the model together with the inputs.
        with own_part():
            return TaskCall(partial(_run, words, task, model_of(task)))

    return Backend(info, (CommandFailed,), prepare)


def _run(words: tuple[str, ...], task: Task, model: ModelProto, inputs: Tensors) -> Tensors:
    with new_folder() as name:
        folder = Path(name)
        paths = (folder / MODEL, folder / DATA_SET, folder / "outputs")
        try:
            write_question(folder, model, task, inputs)
            paths[2].mkdir()
        except OSError as error:
            raise BackendUnavailable(f"the case cannot be written down: {error}") from error
        _execute(filled(words, [str(path) for path in paths]))
        try:
            return read_outputs(paths[2], task.outputs, task.model)
        except ValueError as error:
            raise BrokenProtocol(f"exit status 0, but its outputs: {error}") from error


def filled(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Replace the placeholders in `words` by the paths, whatever these look like."""
    values = dict(zip(PLACEHOLDERS, paths, strict=True))
    placeholder = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")
    return [placeholder.sub(lambda found: values[found[1]], word) for word in words]


def _execute(words: Sequence[str]) -> None:
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise BackendUnavailable(f"{words[0]} cannot be started: {error.strerror}") from error
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = Tail(process.stdout), Tail(process.stderr)
    try:
        status = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    _judge(status, out.text(), err.text())


def _judge(status: int, out: str, err: str) -> None:
    """Raise what the exit status means, unless it means success."""
    if printed := "\n".join(filter(None, (out, err))):
        print(printed, file=sys.stderr)  # shown with a failure
    if status == 0:
        return
    reason, ending = last_lines(err or out), f"exit status {status}"
    if status == UNSUPPORTED:
        raise NotSupported(reason or ending)
    if status == NOT_RUN:
        raise BackendUnavailable(reason or ending)
    kind: type[Exception] = CommandFailed
    if died := how_it_died(status):
        kind, ending = ProcessDied, died
    elif status in (126, 127, 255):
        kind = BackendUnavailable
        ending += ", as where the command cannot be run or the host not reached"
    raise kind(f"{ending}: {reason}" if reason else ending)
