"""What a backend did with a problem; no judgement yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from opcheck.model.case import Array


@dataclass(frozen=True)
class Foreign:
    """Something a backend returned in an output's place that is no NumPy array."""

    description: str


@dataclass(frozen=True, eq=False)
class Produced:
    """Outputs came; `unstable` says how the second or third run contradicted the first."""

    outputs: tuple[Array | Foreign, ...]
    seconds: float
    unstable: str | None = None
    #: The answer to the other data that was fed in between, None where that was refused.
    between: tuple[Array | Foreign, ...] | None = None
    #: That answer is the first answer, though the data differ.
    stale: bool = False


@dataclass(frozen=True)
class Declined:
    """The backend's own not-implemented signal."""

    reason: str


@dataclass(frozen=True)
class Raised:
    """Any other exception; `documented` if its type is one the backend's users are told to expect.

    `stage` is "prepare", "run", "second run" (on other data) or "third run".
    """

    stage: str
    kind: str
    detail: str
    documented: bool


@dataclass(frozen=True)
class NotRun:
    """Nothing was delivered."""

    reason: str


Outcome: TypeAlias = Produced | Declined | Raised | NotRun
