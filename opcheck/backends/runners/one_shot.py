"""A program that is started once for each case and speaks in files and exit statuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from onnx import ModelProto

from opcheck.backends.base import ProcessDied, own_part
from opcheck.backends.runners import program
from opcheck.errors import BackendUnavailable, NotSupported
from opcheck.graph import model_of
from opcheck.graph.folders import DATA_SET, MODEL, read_outputs, write_question
from opcheck.model import Array, BackendInfo, Task

PLACEHOLDERS = ("model", "inputs", "outputs")

#: "Not implemented here". In the protocol of automake's tests, which other test runners speak too,
#: this status skips a test. Small numbers will not do: programs return the error codes of their
#: libraries, and 3 is what abort() returns on Windows.
UNSUPPORTED = 77
#: "Nothing was computed, through no fault of the model", such as a device that is not there. In the
#: same protocol: the test could not be set up.
NOT_RUN = 99
#: What a shell says of a command that it cannot run, and ssh of a host that it cannot reach: to be
#: taken for a refusal of the model by no one.
_NEVER_STARTED = (126, 127, 255)


@dataclass(frozen=True)
class OneShot:
    """A command behind the protocol; `words` hold the placeholders."""

    info: BackendInfo
    words: tuple[str, ...]
    documented_errors: tuple[type[BaseException], ...] = (program.CommandFailed,)

    def prepare(self, task: Task) -> Command:
        """The model; the program gets it together with the inputs."""
        with own_part():
            return Command(self.words, task, model_of(task))


@dataclass(frozen=True)
class Command:
    """One model, on which the command can be started."""

    words: tuple[str, ...]
    task: Task
    model: ModelProto

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs that the program leaves in a folder of its own."""
        # Files that cannot be removed are no refusal of the model.
        with TemporaryDirectory(
            prefix="opcheck-", dir=program.scratch(), ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            paths = (folder / MODEL, folder / DATA_SET, folder / "outputs")
            try:
                write_question(folder, self.model, self.task, inputs)
                paths[2].mkdir()
            except OSError as error:
                raise BackendUnavailable(f"the case cannot be written down: {error}") from error
            _execute(filled(self.words, [str(path) for path in paths]))
            try:
                return read_outputs(paths[2], self.task.outputs, self.task.model)
            except ValueError as error:
                raise program.BrokenProtocol(f"exit status 0, but its outputs: {error}") from error


def filled(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """`words` with the paths in place of the placeholders, whatever the paths look like."""
    values = dict(zip(PLACEHOLDERS, paths, strict=True))

    def put(word: str) -> str:
        # From left to right, so that what was put in is not looked at again.
        before, brace, rest = word.partition("{")
        name, end, after = rest.partition("}")
        if brace and end and name in values:
            return before + values[name] + put(after)
        return before + brace + put(rest) if brace else word

    return [put(word) for word in words]


def _execute(words: Sequence[str]) -> None:
    """Run a command to its end; returns if it was successful."""
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise BackendUnavailable(f"{words[0]} cannot be started: {error.strerror}") from error
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = program.Tail(process.stdout), program.Tail(process.stderr)
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
    said = program.last_lines(err or out)
    if died := program.how_it_died(status):
        raise ProcessDied(f"{died}: {said}" if said else died)
    if status == UNSUPPORTED:
        raise NotSupported(said or f"exit status {status}")
    if status == NOT_RUN:
        raise BackendUnavailable(said or f"exit status {status}")
    if status in _NEVER_STARTED:
        told = f"exit status {status}, as where the command cannot be run or the host not reached"
        raise BackendUnavailable(f"{told}: {said}" if said else told)
    raise program.CommandFailed(
        f"exit status {status}: {said}" if said else f"exit status {status}"
    )
