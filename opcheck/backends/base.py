"""The protocol of a backend: prepare a problem once, run it on any data of its shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from opcheck.model import Array, BackendInfo, Problem


class Prepared(Protocol):
    """A problem made ready to run; may be run any number of times."""

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs, in the node's order. `inputs` follow `Problem.inputs`."""
        ...


class Backend(Protocol):
    """An implementation of operators.

    To say "not implemented", and only then, raise `opcheck.errors.NotSupported`; every other
    exception is a refusal of the model. Refusals of a type in `documented_errors` are shown as
    meant, others as accidents.
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

    def prepare(self, problem: Problem) -> Prepared:
        """`problem` made ready to run."""
        ...
