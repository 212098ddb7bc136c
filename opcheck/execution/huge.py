"""Judge a case of level huge: its data go through files, and its answer is judged in blocks.

The inputs are written to a file without a name, which the backend's process maps; it writes its
outputs to another. This process holds one block of one tensor at a time. What is right in a block
follows from its positions, in 64-bit arithmetic: see `opcheck.engine.huge`.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import IO, Any

import numpy as np
import psutil

from opcheck import interrupt, own_memory
from opcheck.compare import verdict
from opcheck.compare.verdict import Answer, Judgement
from opcheck.engine.axes import slices
from opcheck.engine.huge import HugeNode
from opcheck.execution.workers import Questions
from opcheck.model import (
    Array,
    Case,
    Outcome,
    OutputSpec,
    Question,
    Reply,
    Task,
    TensorSpec,
    Verdict,
)
from opcheck.model.question import DataFiles, Declared, Produced, TensorType
from opcheck.model.result import Failure
from opcheck.suite.huge import huge_node
from opcheck.suite.tensors import values_at

#: Elements of a block: a few arrays of so many 64-bit numbers are held at a time.
BLOCK = 1 << 22
#: Inputs begin at multiples of so many bytes in their file.
_ALIGNED = 1 << 16
#: An engine holds its output, and a copy for NumPy; the file may stay in memory, too.
_COPIES_OF_OUTPUT = 3
_GIB = 1 << 30


@dataclass(frozen=True)
class Needs:
    """Bytes that a case takes: memory of the backend's process, and space for temporary files."""

    memory: int
    disk: int

    def missing(self) -> str:
        """Return what this machine has too little of at the moment, in words, or "".

        Memory comes before space in the folder of temporary files; only the first that is missing
        is named. Raises OSError if that folder is not there.
        """
        memory = _free_memory()
        if memory < self.memory:
            return _too_little("memory", self.memory, memory)
        folder = tempfile.gettempdir()
        disk = _free_space(folder)
        if disk < self.disk:
            return _too_little(f"space in {folder}", self.disk, disk)
        return ""


def _free_memory() -> int:
    """Return the bytes of memory that are free, and that this process's container may have."""
    return min(psutil.virtual_memory().available, own_memory.available())


def _free_space(folder: str) -> int:
    """Return the bytes that are free in a folder."""
    return shutil.disk_usage(folder).free


def _too_little(what: str, needed: int, free: int) -> str:
    """Describe what there is too little of; `needed` and `free` are in bytes."""
    return f"not enough {what}: needs {needed / _GIB:.1f} GiB, {free / _GIB:.1f} GiB free"


def needs_of(case: Case, node: HugeNode) -> Needs:
    """Return the bytes that a case takes; its output has a stated dtype and the node's shape.

    The backend's process holds the inputs and three times the output. Raises InvalidNode or
    NotSupported for a node without an answer.
    """
    inputs = sum(spec.nbytes for spec in case.inputs)
    output = prod(node.shape) * _dtype_of(case.outputs[0]).itemsize
    return Needs(memory=inputs + _COPIES_OF_OUTPUT * output, disk=inputs + output)


def _dtype_of(output: OutputSpec) -> np.dtype[Any]:
    """Return the dtype of a computed output, which its node's inputs state."""
    assert output.dtype
    return output.dtype.numpy


def judged(
    case: Case, confirm: Callable[[Outcome, Task], Outcome]
) -> Questions[tuple[Judgement, Reply | None]]:
    """Judge a backend on a case of level huge: a generator of one question, or none.

    Returns the judgement, and the reply or None. Without enough memory or space, on another system
    than Linux, and if a temporary file cannot be written, the verdict is *not run*. `confirm`
    returns an outcome without claims that this process does not find true. Raises ValueError for
    data that cannot be made, InvalidNode or NotSupported for a node without an answer, OSError if
    there is no folder for temporary files, and KeyboardInterrupt if the user interrupts it.
    """
    node = huge_node(case)
    missing = needs_of(case, node).missing()
    if sys.platform != "linux":
        missing = "level huge shares files between processes as Linux does"
    if missing:
        return Judgement(Verdict.NOT_RUN, missing), None
    try:
        with tempfile.TemporaryFile() as inputs, tempfile.TemporaryFile() as outputs:
            return (yield from _judged_on_files(case, node, inputs, outputs, confirm))
    except OSError as error:  # as of a quota, which no free space shows
        reason = f"temporary files cannot be written: {error.strerror or error}"
        return Judgement(Verdict.NOT_RUN, reason), None


def _judged_on_files(
    case: Case,
    node: HugeNode,
    inputs: IO[bytes],
    outputs: IO[bytes],
    confirm: Callable[[Outcome, Task], Outcome],
) -> Questions[tuple[Judgement, Reply]]:
    """Write the inputs to one file, ask the backend, and judge what it wrote to the other.

    Generator of one question; returns the judgement and the reply. For `confirm` see `judged`.
    Raises ValueError for data that cannot be made, OSError for a file that cannot be written or
    read, KeyboardInterrupt if the user interrupts it.
    """
    starts = tuple(_write(inputs, spec) for spec in case.inputs)
    inputs.flush()
    task = _task(case)
    reply = yield Question(
        task=task,
        inputs=(),
        second=(),
        second_is_legal=False,
        timeout=case.timeout,
        files=DataFiles(_path(inputs), starts, _path(outputs)),
    )
    outcome = confirm(reply.outcome, task)
    if isinstance(outcome, Produced):
        judgement = _judge_output(case, node, outcome.written, outputs)
    else:
        judgement = verdict.judge(case.rule, [Answer(())], outcome, tolerance=None)
    return judgement, reply


def _path(file: IO[bytes]) -> str:
    """Return a path by which another process opens a file without a name, while it is open here."""
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _task(case: Case) -> Task:
    """Return the node of a case as a task, without data: all inputs come from the file.

    It has no initializers.
    """
    return Task(
        case=case.id,
        op=case.op,
        opset=case.opset,
        attrs=case.attrs,
        slots=case.slots,
        inputs=tuple(TensorType(spec.name, spec.dtype, spec.shape) for spec in case.inputs),
        initializers={},
        outputs=case.outputs,
    )


def _write(file: IO[bytes], spec: TensorSpec) -> int:
    """Write an input to a file, block by block; return the byte where it begins.

    That is the first multiple of 64 KiB behind what was written before. Raises ValueError for
    values that cannot be made, OSError if the file cannot be written, KeyboardInterrupt if the user
    interrupts it.
    """
    end = file.tell()
    start = end + -end % _ALIGNED
    file.seek(start)
    at = values_at(spec)
    for part in slices(prod(spec.shape), BLOCK):
        interrupt.safe_place()
        file.write(at(np.arange(part.start, part.stop)).tobytes())
    return start


def _judge_output(
    case: Case, node: HugeNode, written: tuple[Declared, ...], file: IO[bytes]
) -> Judgement:
    """Judge the only output, which lies in a file and is of the type and shape `written`.

    `written` has what the backend's process says of each output. Another number, type or shape
    fails; else the elements are compared bit by bit, in blocks. A failure is a warning under the
    rule `should`. Raises KeyboardInterrupt if the user interrupts it.
    """
    wanted = Declared(str(case.outputs[0].dtype), node.shape)
    kind = _wrong_form(wanted, written)
    if kind:
        got = ", ".join(map(str, written)) or "nothing"
        return verdict.downgrade_should(case.rule, Verdict.FAIL, f"{got}, not {wanted}", kind)
    findings = _Findings()
    for part in slices(prod(node.shape), BLOCK):
        interrupt.safe_place()
        positions = np.arange(part.start, part.stop)
        want = node.at(positions)
        findings.add(part.start, want, _read(file, part, want.dtype))
    if not findings.wrong:
        return Judgement(Verdict.PASS)
    message = f"{case.outputs[0].name}: {findings.in_words(node.shape)}"
    return verdict.downgrade_should(case.rule, Verdict.FAIL, message, "values")


def _wrong_form(wanted: Declared, written: tuple[Declared, ...]) -> Failure | None:
    """Return how outputs differ from a single one, `wanted`, in form; None if they do not.

    That is "count", else "dtype", else "shape"; `wanted` has both.
    """
    if len(written) != 1:
        return "count"
    (only,) = written
    if only.dtype != wanted.dtype:
        return "dtype"
    return "shape" if only.shape != wanted.shape else None


def _read(file: IO[bytes], part: slice, dtype: np.dtype[Any]) -> Array:
    """Return the elements `part` of an output; zeros where the file has become shorter."""
    # Read and not mapped: a process is killed for reading a mapped file that became shorter.
    size = (part.stop - part.start) * dtype.itemsize
    data = os.pread(file.fileno(), size, part.start * dtype.itemsize)
    return np.frombuffer(data.ljust(size, b"\0"), dtype)


@dataclass
class _Findings:
    """Wrong elements so far: how many, the first and last position, and both values there."""

    wrong: int = 0
    first: int = 0
    last: int = 0
    got: object = None
    want: object = None

    def add(self, start: int, want: Array, got: Array) -> None:
        """Compare a block of right values with what the backend gave, of the same length and dtype.

        `start` is the position of the first element in the output, in row-major order.
        """
        differ = np.flatnonzero(want != got)
        if not differ.size:
            return
        if not self.wrong:
            self.first = start + int(differ[0])
            self.want = want[differ[0]].item()
            self.got = got[differ[0]].item()
        self.last = start + int(differ[-1])
        self.wrong += differ.size

    def in_words(self, shape: tuple[int, ...]) -> str:
        """Describe the wrong elements, at least one, of an output of this shape."""
        at = [*map(int, np.unravel_index(self.first, shape))]
        place = f"the first at {at}, position {self.first:,}"
        words = f"{self.wrong:,} of {prod(shape):,} elements are wrong"
        return f"{words}, {place}: got {self.got}, want {self.want}; the last at {self.last:,}"
