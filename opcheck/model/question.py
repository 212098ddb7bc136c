"""What a backend is asked: a task, and the data to run it on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opcheck.dtypes import DType
from opcheck.model.case import Array, Arrays, Attrs, OpVersion, OutputSpec


@dataclass(frozen=True)
class TensorType:
    """Name, dtype and shape of a tensor, without its values."""

    name: str
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Task:
    """What a backend is asked: a case without its expectation.

    `case` is the id of the case, `<id>~legal` for its legal twin. `inputs` gives name, dtype and
    shape of every tensor the caller feeds, in order; `initializers` are constants of the model
    and come with their values.
    """

    case: str
    op: OpVersion
    opset: int
    attrs: Attrs
    slots: tuple[str, ...]
    inputs: tuple[TensorType, ...]
    initializers: Arrays
    outputs: tuple[OutputSpec, ...]

    def feed(self, inputs: Sequence[Array]) -> dict[str, Array]:
        """`inputs`, which follow `self.inputs`, by name."""
        return dict(zip((tensor.name for tensor in self.inputs), inputs, strict=True))

    def operands(self, inputs: Sequence[Array]) -> list[Array]:
        """`inputs` and the initializers in the operator's order, without what is left out."""
        arrays = {**self.initializers, **self.feed(inputs)}
        return [arrays[slot] for slot in self.slots if slot]


@dataclass(frozen=True, eq=False)
class Question:
    """A task with its inputs, in the order of `task.inputs`, and `second` inputs like them.

    Those are surely legal only where the engine knows the operator: elsewhere a floating input may
    be a ratio or a threshold, to which not every value is allowed. `timeout` is how many seconds
    an answer may take where the run allows fewer, None for as many as it does.
    """

    task: Task
    inputs: tuple[Array, ...]
    second: tuple[Array, ...]
    second_is_legal: bool
    timeout: float | None = None

    def turned(self) -> Question:
        """The same question with the other data first."""
        return replace(self, inputs=self.second, second=self.inputs)

    def arrays(self, inputs: tuple[Array, ...]) -> list[Array]:
        """`inputs` and the initializers in the operator's order."""
        return self.task.operands(inputs)
