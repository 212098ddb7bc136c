"""A run as it is stored, and all that any report knows of it: plain values, no arrays, no cases."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from opcheck.model import result
from opcheck.model.case import Level, OpVersion, Rule, Source


@dataclass(frozen=True, slots=True)
class ElementRecord:
    """One wrong element, its values as short as their dtype allows, with the bits beside them.

    `input` is "" where there is none. An input may be of another dtype, so it has no bits.
    """

    index: tuple[int, ...]
    input: str
    want: str
    want_bits: str
    got: str
    got_bits: str
    ulp: int | None
    allowed: str


@dataclass(frozen=True, slots=True)
class ComparisonRecord(result.ComparedOutput):
    """A `Comparison` in plain values."""

    dtype: str | None = None
    worst: tuple[ElementRecord, ...] = ()
    picture: result.Picture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(result.Answered[str, ComparisonRecord]):
    """A `LiveResult` in plain values, and what has to be known of its case.

    `place` is the case's in the whole selection, from 0; `digest` tells it from others that had its
    id. `clause` is quoted for this version of the operator, `rulings` say how opcheck reads it.
    `question` is what was asked, in a line, and `repeat` the command that asks it again.
    """

    place: int
    digest: str
    op: OpVersion
    opset: int
    dtype: str | None
    name: str
    row: str | None
    rule: Rule
    level: Level
    clause: str
    source: Source
    question: str
    repeat: str
    rulings: tuple[str, ...] = ()

    @property
    def used(self) -> float | None:
        """The largest error of an element as a part of the allowed one, None without outputs."""
        return max((comparison.used for comparison in self.comparisons), default=None)

    @property
    def unjudged(self) -> int:
        """Number of elements that could not be judged."""
        return sum(comparison.unjudged for comparison in self.comparisons)


@dataclass(frozen=True)
class Suite:
    """All cases of a selection: their number and digest; a run may be a part of them.

    Where the digests are equal, so are the cases and their order.
    """

    digest: str
    cases: int


@dataclass(frozen=True)
class Header:
    """Header of a run: backends, machine, cases and options.

    `cases` are those of `suite`, or of the part of it that `shard` names, the first of which is
    (1, n). `started` is in UTC, as ISO 8601 has it. `known`: the ledgers that ship with opcheck
    were applied; `ledgers` are digests of the user's, by file. `named`: the user named the
    backends. `options` are other command-line options that can change a verdict. `oracles` are the
    backends whose answers cases take for right.
    """

    environment: result.Environment
    backends: tuple[result.BackendInfo, ...]
    selection: str
    cases: int
    suite: Suite
    started: str
    level: Level = "core"
    paths: tuple[str, ...] = ()
    known: bool = True
    ledgers: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    require_supported: bool = False
    named: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    oracles: tuple[result.BackendInfo, ...] = ()
    shard: tuple[int, int] | None = None
    seed: int | None = None

    @property
    def part(self) -> str:
        """The part of the suite in words, "" for the whole."""
        return f"shard {self.shard[0]} of {self.shard[1]}" if self.shard else ""

    @property
    def results(self) -> int:
        """Number of results of a complete run."""
        return self.cases * len(self.backends)


@dataclass(frozen=True)
class Ending:
    """End of a run: complete or interrupted, and its seconds; by default what is known of none.

    `accidents` tell of processes that died while they were asked nothing, `partings` of those that
    died of being asked to leave.
    """

    complete: bool = False
    exit_code: int = 0
    meaning: str = ""
    seconds: float = 0.0
    accidents: tuple[str, ...] = ()
    partings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """A stored run; without an `ending` if it was killed."""

    header: Header
    records: tuple[Record, ...] = ()
    ending: Ending | None = None

    @cached_property
    def by_pair(self) -> Mapping[tuple[str, str], Record]:
        """The results by case and backend."""
        return {(record.case, record.backend): record for record in self.records}

    @property
    def complete(self) -> bool:
        """Return True if all results are there."""
        return self.ending is not None and self.ending.complete
