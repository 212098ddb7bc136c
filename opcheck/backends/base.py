"""The protocol of a backend: prepare a task once, run it on any data of its shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from opcheck.errors import NodeError
from opcheck.model import Array, BackendInfo, Task


class Defect(Exception):
    """opcheck's own part of an adapter failed, which says nothing about the backend."""


@contextmanager
def own_part() -> Iterator[None]:
    """Around what an adapter does before it asks its backend, such as building the model.

    A mistake in here would otherwise look like a refusal of the model. Raises Defect for whatever
    is raised in it, except for what is said about the node itself (NodeError).
    """
    try:
        yield
    except NodeError:
        raise
    except Exception as error:
        raise Defect(f"{type(error).__name__}: {error}") from error


class Prepared(Protocol):
    """A task made ready to run; may be run any number of times."""

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs, in the node's order. `inputs` follow `Task.inputs`."""
        ...


class Backend(Protocol):
    """An implementation of operators.

    To say "not implemented", and only then, raise `opcheck.errors.NotSupported`; every other
    exception is a refusal of the model, but for two: `opcheck.errors.BackendUnavailable` where the
    backend turns out to be another than the one asked for, and `Defect`. Refusals of a type in
    `documented_errors` are shown as meant, others as accidents.
    """

    @property
    def info(self) -> BackendInfo:
        """Address, kind and version."""
        ...

    @property
    def documented_errors(self) -> tuple[type[BaseException], ...]:
        """The exceptions that the backend's users are told to expect."""
        ...

    @property
    def is_engine(self) -> bool:
        """Whether this is opcheck's own engine, whose passes against itself prove nothing."""
        ...

    def prepare(self, task: Task) -> Prepared:
        """`task` made ready to run."""
        ...
