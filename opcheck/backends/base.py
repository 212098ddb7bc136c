"""The protocol of a backend: prepare a task once, run it on any data of its shapes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from opcheck import errors
from opcheck.model import Array, BackendInfo, Task


class Defect(Exception):
    """opcheck's own part of an adapter failed, which says nothing about the backend."""


class UnusableAnswer(Exception):
    """An answer came that is no tensors: it says what came, and is no refusal of the model."""


class ProcessDied(Exception):
    """A program that an adapter runs died while it was at work; says of what."""


@contextmanager
def own_part() -> Iterator[None]:
    """Around an adapter's own work: raises Defect for its bugs, which would look like refusals."""
    try:
        yield
    except (errors.NodeError, errors.WrongOperator, errors.BackendUnavailable, MemoryError):
        raise
    except (OSError, errors.UsageError) as error:  # a full disk, or a model's file that has changed
        raise errors.BackendUnavailable(str(error)) from error
    except Exception as error:
        raise Defect(f"{type(error).__name__}: {error}") from error


@contextmanager
def handed_over(make: Callable[[], Any], *, as_file: bool = False) -> Iterator[str | bytes]:
    """Around what reads the model that an adapter makes, as `graph.opened` gives it."""
    from opcheck.graph import opened

    with ExitStack() as stack:
        with own_part():
            model = stack.enter_context(opened(make(), as_file=as_file))
        yield model


def only_nodes(task: Task, whose: str) -> None:
    """Raise NotSupported for a whole model: `whose` name is of one that computes single nodes."""
    if task.model is not None and not task.slots:
        known = "single nodes of operators that it knows"
        raise errors.NotSupported(f"{whose} computes {known}: no {task.op}")


class Prepared(Protocol):
    """A task made ready to run; may be run any number of times."""

    def run(self, inputs: Sequence[Array], /) -> Sequence[Array]:
        """Return the outputs, in the node's order. `inputs` follow `Task.inputs`."""


@dataclass(frozen=True, eq=False)
class Bare:
    """A run without its adapter's conversions: `outputs` makes arrays of what `call` returns."""

    #: It can be repeated; its inputs were handed to the backend before.
    call: Callable[[], Any]
    outputs: Callable[[Any], Sequence[Array]]


@dataclass(frozen=True)
class TaskCall:
    """A prepared task that is a function of its inputs."""

    run: Callable[[Sequence[Array]], Any]
    #: Prepared tasks of opcheck's adapters have it; None: `run` itself is timed.
    repeated: Callable[[Sequence[Array]], Bare] | None = None


@dataclass(frozen=True)
class Backend:
    """An implementation of operators: what prepares its tasks.

    To say "not implemented", and only then, raise `opcheck.errors.NotSupported` or Python's own
    NotImplementedError; every other exception is a refusal of the model, but for four:
    `opcheck.errors.BackendUnavailable` where the backend turns out to be another than the one asked
    for, `UnusableAnswer`, `ProcessDied`, and `Defect`. SystemExit, which ends the caller's process,
    is no refusal either. Refusals of a type in `documented_errors` are shown as meant, others as
    accidents. `declares` says which tasks it implements.

    A prepared task may have `declared()`, which returns the dtype's name and the shape of each
    output, and is then held to them: None, or a size that is no whole number from 0, is unsaid.
    """

    info: BackendInfo
    documented_errors: tuple[type[BaseException], ...]
    prepare: Callable[[Task], Prepared]
    declares: Callable[[Task], bool | None] | None = None
