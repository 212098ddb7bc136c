"""What a backend did with a problem; no judgement yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from opcheck.model.case import Array


@dataclass(frozen=True)
class Foreign:
    """Something a backend returned in an output's place that is no NumPy array."""

    description: str


#: What stands for an optional output without a value.
NOTHING = Foreign("builtins.NoneType")


@dataclass(frozen=True, eq=False)
class Items(Foreign):
    """A sequence of tensors that a backend returned in an output's place."""

    values: tuple[Array, ...]


@dataclass(frozen=True)
class Declared:
    """What a backend says of an output before it runs; None where it does not say."""

    dtype: str | None
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape or ())
        return f"{self.dtype or ''}{f'[{sizes}]' if self.shape is not None else ''}"


@dataclass(frozen=True, eq=False)
class Produced:
    """Outputs came, after so many `seconds` for preparing and all runs.

    `unstable` says how the second or third run contradicted the first.
    """

    outputs: tuple[Array | Foreign, ...]
    seconds: float
    unstable: str | None = None
    #: The answer to the same data again, where its values differ, and in which output they do.
    again: tuple[Array | Foreign, ...] | None = None
    differs: str = ""
    #: The answer to the other data that was fed in between, None where that was refused.
    between: tuple[Array | Foreign, ...] | None = None
    #: It was asked once, because it cannot be asked again: nobody knows whether it is stable.
    once: bool = False
    #: That answer is the first answer, though the data differ.
    stale: bool = False
    #: What the backend declared of the outputs in a row, where it declares anything.
    declared: tuple[Declared, ...] = ()


@dataclass(frozen=True)
class Declined:
    """The backend's own not-implemented signal, or none could be asked for: `inexpressible`."""

    reason: str
    inexpressible: bool = False


@dataclass(frozen=True)
class Raised:
    """Any other exception; `documented` if its type is one the backend's users are told to expect.

    `stage` is "prepare", "run", "second run" (on other data) or "third run". `unusable`: it stands
    for an answer that is no tensors, and is no refusal.
    """

    stage: str
    kind: str
    detail: str
    documented: bool
    unusable: bool = False


@dataclass(frozen=True)
class Crashed:
    """The backend's process ended while it was at work; `how` names the signal or the status."""

    how: str


@dataclass(frozen=True)
class TimedOut:
    """No answer came within `seconds`; the backend's process was killed."""

    seconds: float


@dataclass(frozen=True)
class OutOfMemory:
    """The backend took more memory than it may, or than there is; `how` tells."""

    how: str


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
