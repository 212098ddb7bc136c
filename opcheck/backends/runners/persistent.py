"""A program that is started once and asked in lines of JSON; `lines` has the protocol's words."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from opcheck.backends.base import only_tensors, own_part
from opcheck.backends.runners.lines import Conversation
from opcheck.backends.runners.program import BrokenProtocol, CommandFailed
from opcheck.backends.runners.tensors import from_json, to_json
from opcheck.errors import BackendUnavailable
from opcheck.graph import model_of
from opcheck.model import Array, BackendInfo, Task


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
