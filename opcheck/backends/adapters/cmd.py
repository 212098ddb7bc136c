"""`cmd:COMMAND`: any program, so that a device or a C++ runner needs no Python.

With `{model}`, `{inputs}` and `{outputs}` in it, the command is run once for each case, and speaks
in files and exit statuses. Without them it is started once, gets lines of JSON on its standard
input, and answers each with one on its output. docs/writing-a-backend.md has both protocols.
"""

import base64
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Any

import numpy as np
from onnx import ModelProto

from opcheck import dtypes
from opcheck.backends import base, transport
from opcheck.backends.adapters import About, take
from opcheck.backends.connect import digest
from opcheck.backends.isolation.cleanup import SCRATCH, how_it_ended
from opcheck.errors import BackendUnavailable, NotSupported, UsageError, decline, did_you_mean
from opcheck.graph import model_of
from opcheck.graph.folders import DATA_SET, MODEL, read_outputs, write_question
from opcheck.grouping import not_none
from opcheck.model import Array, BackendInfo, Task, Tensors

ABOUT = About(
    "any program, cmd:COMMAND, through files or lines of JSON",
    included="the way to the program and back",
)
PLACEHOLDERS = ("model", "inputs", "outputs")
#: "Not implemented here", as automake's tests and other test runners skip a test. Programs return
#: their libraries' error codes, and abort() on Windows 3, so small numbers will not do.
UNSUPPORTED = 77
#: "Nothing was computed", such as without a device; in the same protocol, a set-up that failed.
NOT_RUN = 99
#: Exit statuses of a shell that cannot run a command, or does not find it, and of ssh.
_CANNOT_BE_RUN = (126, 127, 255)
_KEYS = {"name", "dtype", "shape", "data"}


def connect(detail: str | None, options: Mapping[str, str]) -> base.Backend:
    """Return the program, already started if it is asked in lines."""
    take("cmd", options, {})
    words = words_of(detail or "")
    once = is_one_shot(words)
    if not shutil.which(words[0]):
        if Path(words[0]).is_file():
            raise BackendUnavailable(f"{words[0]} is not executable", f"chmod +x {words[0]}")
        message = f"there is no program {words[0]!r}"
        raise BackendUnavailable(message, f"looked for from {Path.cwd()} and on PATH")
    address = f"cmd:{detail}"
    digests = {name: digest([path]) for name, path in _files_in(words).items()}
    if once:
        info = BackendInfo(address, "cmd", "", repeatable=False, made_of=digests)
        return base.Backend(info, (CommandFailed,), partial(_prepared, words))
    program = Persistent(words)
    info = BackendInfo(address, "cmd", program.version, made_of=digests)
    return base.Backend(info, (CommandFailed,), program.prepare)


def _files_in(words: Sequence[str]) -> dict[str, Path]:
    """Return the program, and the files that its words name, by themselves or behind `=`."""
    files = {words[0]: Path(shutil.which(words[0]) or words[0])}
    for word in words[1:]:
        for name in (word, word.partition("=")[2]):
            # A word may be no path at all, or too long for one.
            with suppress(OSError, ValueError):
                if name and Path(name).is_file():
                    files[name] = Path(name)
    return files


def words_of(command: str) -> tuple[str, ...]:
    """Split a command as a shell would; nothing else of a shell is done."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"backend 'cmd': {command}: {error}") from None
    if not words:
        hint = "such as cmd:./runner {model} {inputs} {outputs}"
        raise UsageError("backend 'cmd' needs a command", hint)
    return words


def is_one_shot(words: Sequence[str]) -> bool:
    """Return True if the command has the placeholders: all of them, or none."""
    names = [name for word in words for name in re.findall(r"\{([A-Za-z_]+)\}", word)]
    for name in names:
        hint = did_you_mean(name, PLACEHOLDERS)
        if name not in PLACEHOLDERS and hint:
            raise UsageError(f"backend 'cmd' has no placeholder {{{name}}}", hint)
    missing = [name for name in PLACEHOLDERS if name not in names]
    if missing and len(missing) < len(PLACEHOLDERS):
        message = " and ".join(f"{{{name}}}" for name in missing)
        raise UsageError(
            f"backend 'cmd': the command lacks {message}",
            "{model}, {inputs} and {outputs} must all be there; without any of them, the command"
            " is started once and asked in lines of JSON",
        )
    return not missing


class CommandFailed(Exception):
    """A program failed, or refuses the model; the message is the program's."""


class BrokenProtocol(base.UnusableAnswer):
    """A program violates the protocol."""


def new_folder() -> TemporaryDirectory[str]:
    """Return a folder that is gone with the worker; files that stay are no refusal of the model."""
    scratch = os.environ.get(SCRATCH)
    return TemporaryDirectory(prefix="opcheck-", dir=scratch, ignore_cleanup_errors=True)


def how_it_died(status: int) -> str | None:
    """Describe what ended a program, None where it ended by itself; `status` is that of `Popen`."""
    if status < 0:
        return how_it_ended(status)
    # A shell, or ssh with one at the other end, tells of a signal by a status above 128.
    if 128 < status < 160:
        return f"{how_it_ended(128 - status)}, says exit status {status}"
    return None


#: Bytes that are kept of a program's output.
_TAIL = 8 << 10


class Tail:
    """Reads a pipe to its end in a thread, so that the program never waits; keeps its tail."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._kept = b""
        self._thread = Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            chunk = os.read(pipe.fileno(), 1 << 16)
            while chunk:
                self._kept = (self._kept + chunk)[-_TAIL:]
                chunk = os.read(pipe.fileno(), 1 << 16)

    def text(self) -> str:
        """Return the end of the program's output, once it has ended, without colours."""
        # A child that it left behind may keep the pipe open for ever.
        self._thread.join(timeout=0.5)
        return re.sub(r"\x1b\[[0-9;]*m", "", self._kept.decode(errors="replace")).strip()


def last_lines(text: str) -> str:
    """Return the end of a text, at most five lines: there programs say why they end."""
    end = "\n".join(text.splitlines()[-5:])
    return end if len(end) <= 1000 else f"…{end[-1000:]}"


def _prepared(words: tuple[str, ...], task: Task) -> base.TaskCall:
    # The program gets the model together with the inputs.
    with base.own_part():
        return base.TaskCall(partial(_run, words, task, model_of(task)))


def _run(words: tuple[str, ...], task: Task, model: ModelProto, inputs: Tensors) -> Tensors:
    with new_folder() as name:
        folder = Path(name)
        outputs = folder / "outputs"
        paths = {"model": folder / MODEL, "inputs": folder / DATA_SET, "outputs": outputs}
        try:
            write_question(folder, model, task, inputs)
            outputs.mkdir()
        except OSError as error:
            raise BackendUnavailable(f"the case cannot be written down: {error}") from error
        command = filled(words, {name: str(path) for name, path in paths.items()})
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise BackendUnavailable(f"{command[0]} cannot be started: {error.strerror}") from error
        out = Tail(not_none(process.stdout))
        err = Tail(not_none(process.stderr))
        try:
            status = process.wait()
        except BaseException:  # also Ctrl-C, which leaves no program behind
            process.kill()
            process.wait()
            raise
        _check_status(status, out.text(), err.text())
        try:
            return read_outputs(outputs, task.outputs, task.model)
        except ValueError as error:
            raise BrokenProtocol(f"exit status 0, but its outputs: {error}") from error


def filled(words: Sequence[str], paths: Mapping[str, str]) -> list[str]:
    """Replace the placeholders in `words` by their paths, whatever these look like."""
    placeholder = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")

    def path_of(match: re.Match[str]) -> str:
        return paths[match[1]]

    return [placeholder.sub(path_of, word) for word in words]


def _check_status(status: int, out: str, err: str) -> None:
    """Raise what the exit status means, unless it means success."""
    printed = "\n".join(filter(None, (out, err)))
    if printed:
        print(printed, file=sys.stderr)  # shown with a failure
    if status == 0:
        return
    reason = last_lines(err or out)
    ending = f"exit status {status}"
    decline(status == UNSUPPORTED, reason or ending)
    if status == NOT_RUN:
        raise BackendUnavailable(reason or ending)
    kind: type[Exception] = CommandFailed
    death = how_it_died(status)
    if death:
        kind = base.ProcessDied
        ending = death
    elif status in _CANNOT_BE_RUN:
        kind = BackendUnavailable
        ending += ", as where the command cannot be run or the host not reached"
    raise kind(f"{ending}: {reason}" if reason else ending)


#: Raised by one with every change that a program of today would not understand.
PROTOCOL = 1
#: How long a program has to end by itself when nothing more is asked, in seconds.
_PATIENCE = 2.0
#: No line of a program is longer: base64 of what a tensor's file may hold, and some.
_LONGEST_LINE = 3 << 29
#: Nor is its first line, which has its name and version.
_LONGEST_HELLO = 1 << 20

_FAILURES: dict[str, type[Exception]] = {
    "unsupported": NotSupported,
    "error": CommandFailed,
    "unavailable": BackendUnavailable,
}


class Persistent:
    """A program behind the protocol, started anew where it died or broke the protocol.

    `version` is what it calls itself. Raises BackendUnavailable.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._start()

    def _start(self) -> None:
        #: The model that the program has; it has one at a time.
        self._model: bytes | None = None
        self._numbers = itertools.count(1)
        self._files = itertools.count(1)
        folder = new_folder()
        try:
            # What it prints on standard error goes where ours goes, and is shown with a failure.
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            folder.cleanup()
            message = f"{self._words[0]} cannot be started: {error.strerror}"
            raise BackendUnavailable(message) from error
        self._folder = Path(folder.name)
        #: Ends the program, at the latest with this object or Python; `alive` until then.
        self.close = weakref.finalize(self, _end, self._process, folder)
        try:
            self.version = read_hello(self._line(_LONGEST_HELLO))
        except (BrokenProtocol, base.ProcessDied) as error:
            self.close()
            hint = "only a command with {model}, {inputs} and {outputs} is run once for each case"
            raise BackendUnavailable(f"{self._words[0]} says no hello: {error}", hint) from error

    def _ask(self, request: dict[str, Any], answer: str) -> Any:
        """Send `request` and return its `answer`; raises the error that the program reports."""
        number = next(self._numbers)
        try:
            try:
                stdin = not_none(self._process.stdin)
                stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
                stdin.flush()
            except OSError:
                raise self._died() from None
            kind, value = read_reply(self._line(_LONGEST_LINE), number, answer)
        except (BrokenProtocol, base.ProcessDied):
            self.close()  # it might answer the next question with the answer to this one
            self._model = None
            raise
        if kind != answer:
            raise _FAILURES[kind](str(value).strip() or f"{kind}, without a reason")
        return value

    def _line(self, longest: int) -> bytes:
        """Return the next line of the program, or so many bytes of a longer one.

        Raises ProcessDied if there is none.
        """
        line = not_none(self._process.stdout).readline(longest)
        if not line:
            raise self._died()
        return line

    def _died(self) -> base.ProcessDied:
        try:
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return base.ProcessDied("it closed its standard input or output, and runs on")
        return base.ProcessDied(how_it_died(status) or how_it_ended(status))

    def prepare(self, task: Task) -> base.TaskCall:
        """Hand the model over to the program."""
        transport.check(task, "cmd")
        with base.own_part():
            model = model_of(task).SerializeToString()
        self._hand_over(task, model)
        return base.TaskCall(partial(self._run, task, model))

    def _hand_over(self, task: Task, model: bytes) -> None:
        if not self.close.alive:
            self._start()
        self._model = None
        path = self._folder / f"{next(self._files)}.onnx"
        try:
            for file in self._folder.glob("*.onnx"):  # the one before
                file.unlink()
            path.write_bytes(model)
        except OSError as error:
            raise BackendUnavailable(f"the model cannot be written down: {error}") from error
        request = {
            "do": "prepare",
            "case": task.case,
            "op": task.op.name,
            "opset": task.opset,
            "model": str(path),
            "bytes": base64.b64encode(model).decode(),
        }
        if self._ask(request, "ready") is not True:
            raise BrokenProtocol("'ready' must be true")
        self._model = model

    def _run(self, task: Task, model: bytes, inputs: Sequence[Array]) -> Sequence[Array]:
        if self._model is not model:
            self._hand_over(task, model)
        with base.own_part():
            feed = [to_json(*item) for item in task.feed(inputs).items()]
        outputs = self._ask({"do": "run", "inputs": feed}, "outputs")
        if not isinstance(outputs, list):
            raise BrokenProtocol("'outputs' must be a list of tensors")
        for output, tensor in zip(task.outputs, outputs, strict=False):
            name = tensor.get("name", output.name) if isinstance(tensor, dict) else output.name
            if name != output.name:
                raise BrokenProtocol(f"output {name!r} stands in the place of {output.name!r}")
        return [from_json(tensor, f"output {number}") for number, tensor in enumerate(outputs)]


def _end(process: subprocess.Popen[bytes], folder: TemporaryDirectory[str]) -> None:
    with folder, process:
        with suppress(OSError):
            not_none(process.stdin).close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
        process.kill()  # which is nothing to one that has ended


def read_hello(line: bytes) -> str:
    """Return name and version from a program's first line; raises BrokenProtocol for another."""
    message = _object(line)
    version = message.get("opcheck")
    if type(version) is not int:
        problem = 'must begin with {"opcheck": 1, "name": …, "version": …}'
        raise BrokenProtocol(f"what it says {problem}; got {_shown(line)}")
    if version != PROTOCOL:
        raise BrokenProtocol(f"it speaks version {version} of the protocol, we speak {PROTOCOL}")
    _check_keys(message, {"opcheck", "name", "version"}, line)
    name = message.get("name")
    release = message.get("version")
    if not isinstance(name, str) or not isinstance(release, str) or not name.strip():
        raise BrokenProtocol(f"'name' and 'version' must be texts; got {_shown(line)}")
    return f"{name.strip()} {release.strip()}"


def read_reply(line: bytes, number: int, answer: str) -> tuple[str, Any]:
    """Return the kind and the value of a reply to question `number`; raise BrokenProtocol."""
    message = _object(line)
    if type(message.get("id")) is not int or message["id"] != number:
        got = f"got {message['id']!r}" if "id" in message else "it has none"
        raise BrokenProtocol(f"the reply's id must be {number}, {got}: {_shown(line)}")
    _check_keys(message, {"id", answer, *_FAILURES}, line)
    kinds = [key for key in message if key != "id"]
    if len(kinds) != 1:
        allowed = ", ".join([answer, *_FAILURES])
        raise BrokenProtocol(f"a reply has one of {allowed}; got {_shown(line)}")
    (kind,) = kinds
    if kind != answer and not isinstance(message[kind], str):
        raise BrokenProtocol(f"{kind!r} must be a text; got {_shown(line)}")
    return kind, message[kind]


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line; raises BrokenProtocol for anything else."""
    try:
        message = json.loads(line, object_pairs_hook=_without_repeats)
    except _RepeatedKey as error:
        raise BrokenProtocol(f"the key {error} is there twice: {_shown(line)}") from None
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        problem = "its standard output is for the protocol alone; everything else goes to standard"
        raise BrokenProtocol(f"no JSON object: {_shown(line)} ({problem} error)")
    return message


class _RepeatedKey(Exception):
    """An object of JSON has a key twice, of which a reader takes one."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raises _RepeatedKey, with the key, if one is there twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKey(repr(next(key for key in keys if keys.count(key) > 1)))
    return fields


def _check_keys(message: dict[str, Any], known: set[str], line: bytes) -> None:
    """Raise BrokenProtocol for the first key that is not `known`."""
    for key in message:
        if key not in known:
            hint = did_you_mean(key, known) or f"known here: {', '.join(sorted(known))}"
            raise BrokenProtocol(f"no such key: {key!r} ({hint}): {_shown(line)}")


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 200 else f"{text[:200]}…")


def to_json(name: str, array: Array) -> dict[str, Any]:
    """Encode `array` as a JSON object; its elements in row-major order."""
    dtype = not_none(dtypes.of(array))
    data = base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode()
    return {"name": name, "dtype": dtype.name, "shape": list(array.shape), "data": data}


def _dtype_named(name: object, what: str) -> dtypes.DType:
    """Return the dtype of this name; raises BrokenProtocol, about `what`, if there is none."""
    hint = ""
    if isinstance(name, str):
        dtype = dtypes.BASIC.get(name)
        if dtype is not None:
            return dtype
        hint = did_you_mean(name, dtypes.BASIC) or ""
    known = hint or f"known: {', '.join(dtypes.BASIC)}"
    raise BrokenProtocol(f"{what}: no dtype {name!r} ({known})")


def from_json(tensor: Any, what: str) -> Array:
    """Decode an array of JSON; `what` names it. Raises BrokenProtocol."""
    message = f"{what} must be an object with dtype, shape and data"
    if not isinstance(tensor, dict):
        raise BrokenProtocol(f"{message}; it is none")
    if not {"dtype", "shape", "data"} <= tensor.keys() <= _KEYS:
        raise BrokenProtocol(f"{message}; it has {', '.join(map(repr, tensor))}")
    dtype = _dtype_named(tensor["dtype"], what)
    shape = tensor["shape"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise BrokenProtocol(f"{what}: shape must be a list of sizes, got {shape!r}")
    try:
        data = base64.b64decode(tensor["data"], validate=True)
    except (TypeError, ValueError) as error:
        raise BrokenProtocol(f"{what}: data is no base64: {error}") from None
    size = prod(shape) * dtype.numpy.itemsize
    if len(data) != size:
        message = f"{dtype}{shape} has {size:,} bytes, data has {len(data):,}"
        raise BrokenProtocol(f"{what}: {message}")
    if dtype.kind == "bool" and data.strip(b"\0\1"):
        raise BrokenProtocol(f"{what}: a bool is a byte that is 0 or 1")
    return np.frombuffer(data, dtype.numpy.newbyteorder("<")).reshape(shape).astype(dtype.numpy)
