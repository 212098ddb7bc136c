"""Questions to a backend and their outcomes, not judged yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from opcheck.dtypes import DType
from opcheck.model.case import Array, Arrays, Attrs, OpVersion, OutputSpec, Port

#: A value for a model's input: a tensor, a sequence of them, or an optional without a value.
Value: TypeAlias = Array | list[Array] | None


@dataclass(frozen=True)
class TensorType:
    """Name, dtype and shape of a tensor, without its values."""

    name: str
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Task:
    """A task for a backend: a case without its expectation.

    `case` is the id of the case, `<id>~legal` for its legal twin. `inputs` are the tensors that the
    caller feeds, in order; `initializers` are constants of the model. A `model` is the task itself,
    in ONNX's format; `ports` are its inputs, empty where each of `inputs` is one. `dtype` is that
    of an input that is a sequence of no tensors.
    """

    case: str
    op: OpVersion
    opset: int
    attrs: Attrs
    slots: tuple[str, ...]
    inputs: tuple[TensorType, ...]
    initializers: Arrays
    outputs: tuple[OutputSpec, ...]
    model: bytes | None = None
    ports: tuple[Port, ...] = ()
    dtype: DType | None = None

    def feed(self, inputs: Sequence[Array]) -> dict[str, Array]:
        """`inputs`, which follow `self.inputs`, by name. Each must be a tensor of its own."""
        return dict(zip((tensor.name for tensor in self.inputs), inputs, strict=True))

    def values(self, inputs: Sequence[Array]) -> dict[str, Value]:
        """`inputs` as the model takes them, by name, in the order of its inputs."""
        if not self.ports:
            return {**self.feed(inputs)}
        rest = iter(inputs)
        return {port.name: _value(port, rest) for port in self.ports}

    def operands(self, inputs: Sequence[Array]) -> list[Array | None]:
        """`inputs` and the initializers in the operator's order, None for omitted ones."""
        arrays = {**self.initializers, **self.feed(inputs)}
        return [arrays[slot] if slot else None for slot in self.slots]

    @property
    def places(self) -> tuple[int, ...]:
        """The places of `outputs` among the operator's outputs."""
        return tuple(n if one.place is None else one.place for n, one in enumerate(self.outputs))

    @property
    def output_slots(self) -> tuple[str, ...]:
        """The names of the outputs in the operator's order; "" where one is left out."""
        names = {place: one.name for place, one in zip(self.places, self.outputs, strict=True)}
        return tuple(names.get(place, "") for place in range(max(names, default=-1) + 1))


def _value(port: Port, rest: Iterator[Array]) -> Value:
    match port.form:
        case "tensor":
            return next(rest)
        case "sequence":
            return [*islice(rest, port.count)]
        case "nothing":
            return None


@dataclass(frozen=True)
class DataFiles:
    """Files of tensors that no message holds, whose task runs once.

    `inputs` holds the bytes of all inputs, each from `starts` on; the backend's process writes
    those of the outputs, one after the other, to `outputs`.
    """

    inputs: str
    starts: tuple[int, ...]
    outputs: str


@dataclass(frozen=True, eq=False)
class Question:
    """A task with its inputs, in the order of `task.inputs`, and `second` inputs like them.

    `second_is_legal` only if the engine knows the operator: else a floating input may be a ratio or
    a threshold. `timeout`: seconds that an answer may take even if the run allows fewer. No two
    runs need agree on a `random` answer. `twin`: of a model that may be refused, its legal twin.
    With `files` there are no inputs here: they lie there.
    """

    task: Task
    inputs: tuple[Array, ...]
    second: tuple[Array, ...]
    second_is_legal: bool
    timeout: float | None = None
    random: bool = False
    twin: "Question | None" = None
    files: DataFiles | None = None

    def turned(self) -> "Question":
        """Return the question with the other data first."""
        return replace(self, inputs=self.second, second=self.inputs)


@dataclass(frozen=True)
class Foreign:
    """Something a backend returned in an output's place that is no NumPy array."""

    description: str


#: An optional output without a value.
NOTHING = Foreign("builtins.NoneType")


@dataclass(frozen=True, eq=False)
class Items(Foreign):
    """A sequence of tensors that a backend returned in an output's place."""

    values: tuple[Array, ...]


@dataclass(frozen=True)
class Declared:
    """An output that a backend declares before it runs; None where it declares nothing."""

    dtype: str | None
    shape: tuple[int | None, ...] | None

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Return True if an output of this shape has the declared rank and sizes."""
        if self.shape is None:
            return True
        if len(shape) != len(self.shape):
            return False
        return all(own in (None, size) for own, size in zip(self.shape, shape, strict=True))

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape or ())
        return f"{self.dtype or ''}{f'[{sizes}]' if self.shape is not None else ''}"


@dataclass(frozen=True, eq=False)
class Produced:
    """Outputs came, after so many `seconds` for preparing and all runs."""

    outputs: tuple[Array | Foreign, ...]
    seconds: float
    #: How the second or third run contradicted the first.
    unstable: str | None = None
    #: The answer to the same data again, where its values differ, and in which output they do.
    again: tuple[Array | Foreign, ...] | None = None
    differs: str = ""
    #: The answer to the other data that was fed in between, None where that was refused.
    between: tuple[Array | Foreign, ...] | None = None
    #: It cannot be asked twice, so its stability is unknown.
    once: bool = False
    #: `between` equals the first answer, though the data differ.
    stale: bool = False
    #: What the backend declared of the outputs in a row, where it declares anything.
    declared: tuple[Declared, ...] = ()
    #: The dtypes and shapes of the outputs in `DataFiles`; `outputs` is empty then.
    written: tuple[Declared, ...] = ()


@dataclass(frozen=True)
class Declined:
    """The backend's own not-implemented signal.

    `inexpressible`: no model states the task, or opcheck's adapter cannot hand its values on
    (`beyond`). A worker only claims the first; `execution.evaluation` confirms it or drops it.
    """

    reason: str
    inexpressible: bool = False
    beyond: bool = False


#: Printed before a traceback, in a line of its own, and at the beginning of each of its lines.
TRACEBACK = "the traceback:"
IN_TRACEBACK = "| "


@dataclass(frozen=True)
class Raised:
    """Any other exception; `documented` if the backend documents its type."""

    #: "prepare", "run", "second run" (on other data) or "third run".
    stage: str
    kind: str
    detail: str
    documented: bool
    #: True for an answer that is no tensors, which is no refusal.
    unusable: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


@dataclass(frozen=True)
class _Lost:
    """The backend's process was lost, as `how` explains.

    `alone` is what came of it in a fresh process, asked first, if that was not lost: then what was
    asked before has done the damage.
    """

    how: str
    alone: "Outcome | None" = None


class Crashed(_Lost):
    """The backend's process ended while it was at work; `how` names the signal or the status."""


class OutOfMemory(_Lost):
    """The backend took more memory than it may, or than there is."""


@dataclass(frozen=True)
class TimedOut:
    """No answer came within `seconds`; the backend's process was killed."""

    seconds: float


@dataclass(frozen=True)
class NotRun:
    """Nothing was delivered."""

    reason: str


Outcome: TypeAlias = Produced | Declined | Raised | Crashed | TimedOut | OutOfMemory | NotRun


@dataclass(frozen=True, eq=False)
class Reply:
    """An outcome, and the end of what the backend printed meanwhile."""

    outcome: Outcome
    printed: str = ""


@dataclass(frozen=True, eq=False)
class Hold:
    """Prepare this task and hold it with its data, in place of the one held before."""

    question: Question


@dataclass(frozen=True)
class Ready:
    """Seconds to prepare the held task, and to run it for the first time."""

    prepared: float
    first: float


@dataclass(frozen=True)
class Measure:
    """Run the held task `loops` times.

    If `flushed` is not 0, that many bytes of other memory are touched, untimed, before each run;
    else one untimed run goes before, unless runs are long.
    """

    loops: int
    flushed: int = 0


@dataclass(frozen=True)
class Elapsed:
    """Mean `seconds` of a call, without those in which it `waited` for a processor."""

    seconds: float
    waited: float = 0.0


@dataclass(frozen=True)
class Release:
    """Run the held task once more, on `other` data too, return the answers, and drop it."""

    other: bool = False


@dataclass(frozen=True, eq=False)
class Released:
    """The answer of a held task, and the end of what was printed while it was measured."""

    outputs: tuple[Array | Foreign, ...]
    printed: str
    #: The answer to the second data.
    other: tuple[Array | Foreign, ...] = ()
    #: How many times as long new data take.
    looked_up: float = 0.0
