"""A program that is started once and asked in lines of JSON; `lines` has the protocol's words.

A tensor in JSON is its dtype, its shape, and the little-endian bytes of its elements in base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.backends.base import only_tensors, own_part
from opcheck.backends.runners.lines import Conversation
from opcheck.backends.runners.program import BrokenProtocol, CommandFailed
from opcheck.errors import BackendUnavailable, did_you_mean
from opcheck.graph import model_of
from opcheck.model import Array, BackendInfo, Task

_KEYS = {"name", "dtype", "shape", "data"}


class Program:
    """The program, started anew where it died or broke the protocol."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._conversation: Conversation | None = None
        #: The model that the program has; it has one at a time.
        self.at_hand: object = None

    def conversation(self) -> Conversation:
        """The one that goes on, or a new one, in which the program has no model yet."""
        if self._conversation is None or not self._conversation.is_open:
            self.at_hand = None
            self._conversation = Conversation(self._words)
        return self._conversation


@dataclass(frozen=True)
class Persistent:
    """A program behind the protocol."""

    info: BackendInfo
    program: Program
    documented_errors: tuple[type[BaseException], ...] = (CommandFailed,)

    def prepare(self, task: Task) -> Model:
        """The model, in the program."""
        only_tensors(task, "programs that speak JSON")
        with own_part():
            data = model_of(task).SerializeToString()
        model = Model(self.program, task, data)
        model.prepare()
        return model


@dataclass(frozen=True, eq=False)
class Model:
    """A model that the program has, or is given again."""

    program: Program
    task: Task
    data: bytes

    def prepare(self) -> None:
        """Give the model to the program, in place of the one it has."""
        conversation = self.program.conversation()
        self.program.at_hand = None
        try:
            path = conversation.new_file(self.data, ".onnx")
        except OSError as error:
            raise BackendUnavailable(f"the model cannot be written down: {error}") from error
        request = {
            "do": "prepare",
            "case": self.task.case,
            "op": self.task.op.name,
            "opset": self.task.opset,
            "model": str(path),
            "bytes": base64.b64encode(self.data).decode(),
        }
        if conversation.ask(request, "ready") is not True:
            raise BrokenProtocol("'ready' must be true")
        self.program.at_hand = self

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs that the program replies."""
        conversation = self.program.conversation()
        if self.program.at_hand is not self:
            self.prepare()
        with own_part():
            feed = [to_json(*item) for item in self.task.feed(inputs).items()]
        outputs = conversation.ask({"do": "run", "inputs": feed}, "outputs")
        if not isinstance(outputs, list):
            raise BrokenProtocol("'outputs' must be a list of tensors")
        for output, said in zip(self.task.outputs, outputs, strict=False):
            name = said.get("name", output.name) if isinstance(said, dict) else output.name
            if name != output.name:
                raise BrokenProtocol(f"output {name!r} stands in the place of {output.name!r}")
        return [from_json(said, f"output {number}") for number, said in enumerate(outputs)]


def to_json(name: str, array: Array) -> dict[str, Any]:
    """`array` as a JSON object; its elements in row-major order."""
    dtype = dtypes.of(array)
    assert dtype is not None
    plain = array.astype(array.dtype.newbyteorder("<"))
    data = base64.b64encode(plain.tobytes()).decode()
    return {"name": name, "dtype": dtype.name, "shape": list(array.shape), "data": data}


def from_json(said: Any, what: str) -> Array:
    """The array that a JSON object spells; `what` names it. Raises BrokenProtocol."""
    if not isinstance(said, dict) or not {"dtype", "shape", "data"} <= said.keys() <= _KEYS:
        found = f"it has {', '.join(map(repr, said))}" if isinstance(said, dict) else "it is none"
        raise BrokenProtocol(f"{what} must be an object with dtype, shape and data; {found}")
    name, shape = said["dtype"], said["shape"]
    dtype = dtypes.BASIC.get(name) if isinstance(name, str) else None
    if dtype is None:
        hint = isinstance(name, str) and did_you_mean(name, dtypes.BASIC)
        known = hint or f"known: {', '.join(dtypes.BASIC)}"
        raise BrokenProtocol(f"{what}: no dtype {name!r} ({known})")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise BrokenProtocol(f"{what}: shape must be a list of sizes, got {shape!r}")
    try:
        data = base64.b64decode(said["data"], validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise BrokenProtocol(f"{what}: data is no base64: {error}") from None
    size = prod(shape) * dtype.numpy.itemsize
    if len(data) != size:
        told = f"{dtype}{shape} has {size:,} bytes, data has {len(data):,}"
        raise BrokenProtocol(f"{what}: {told}")
    if dtype.kind == "bool" and data.strip(b"\0\1"):
        raise BrokenProtocol(f"{what}: a bool is a byte that is 0 or 1")
    stored = np.frombuffer(data, dtype.numpy.newbyteorder("<")).reshape(shape)
    return stored.astype(dtype.numpy)
