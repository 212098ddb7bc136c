"""What a worker is asked when it times a task, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass

from opcheck.model.case import Array
from opcheck.model.outcome import Foreign
from opcheck.model.question import Question


@dataclass(frozen=True, eq=False)
class Hold:
    """Prepare this and keep it ready with its data; what was held before is let go."""

    question: Question


@dataclass(frozen=True)
class Ready:
    """How many seconds it took to prepare what is held, and to run it for the first time."""

    prepared: float
    first: float


@dataclass(frozen=True)
class Measure:
    """Run what is held, `loops` times.

    Where `flushed` is not 0, so many bytes of other memory are touched before each run, and the
    time of that does not count; else one run goes before that is not timed, unless runs are long.
    """

    loops: int
    flushed: int = 0


@dataclass(frozen=True)
class Elapsed:
    """The mean of some calls: the `seconds` of one, without those for which it only `waited`.

    It waits while it could go on and other processes have the processors.
    """

    seconds: float
    waited: float = 0.0


@dataclass(frozen=True)
class Release:
    """Run what is held once more, on `other` data too, tell the answers, and let it go."""

    other: bool = False


@dataclass(frozen=True, eq=False)
class Released:
    """The answer of what was held, and the end of what was printed while it was measured.

    `other` is the answer to its second data; `looked_up` is how many times as long new data take.
    """

    outputs: tuple[Array | Foreign, ...]
    printed: str
    other: tuple[Array | Foreign, ...] = ()
    looked_up: float = 0.0
