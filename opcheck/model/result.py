"""Judged outcomes: comparisons, verdicts, results and their backends, runs as they are stored, and
which mutants a suite kills.

A stored run is all that any report knows of it: plain values, no arrays, no cases.
"""

import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from opcheck.dtypes import DType
from opcheck.model.case import Case, Level, OpVersion, Rule, Source

CaseT = TypeVar("CaseT")
ComparisonT = TypeVar("ComparisonT")


class Verdict(StrEnum):
    """Verdict on an answer; the order is the order of columns in tables."""

    PASS = "pass"
    KNOWN = "known"
    WARN = "warn"
    FAIL = "fail"
    #: Nobody knows the answer, and another backend gives another one: one of them is wrong.
    DIFFER = "differ"
    ERROR = "error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OOM = "oom"
    UNSTABLE = "unstable"
    #: Right, although a user's ledger of known failures lists it.
    UNEXPECTED_PASS = "unexpected pass"
    UNSUPPORTED = "unsupported"
    NOT_RUN = "not run"
    #: The case itself is wrong: no backend can be judged.
    BAD_CASE = "bad case"


#: Verdicts on something wrong, whatever the options of a run; DIFFER accuses no backend.
WRONG = tuple(map(Verdict, "fail differ error crash timeout oom unstable".split()))
#: How a result fails, whatever its rule makes of it: an output differs in number, type, dtype,
#: shape, values (on the data asked for, or on other data of a second run alone) or the distribution
#: of what is drawn at random, is good only for a poorer
#: arithmetic, or is another than declared; an invalid model is accepted, a legal one refused; the
#: process dies, dies of what was asked before, hangs or takes all memory; runs differ.
Failure: TypeAlias = Literal[
    "count",
    "type",
    "dtype",
    "shape",
    "values",
    "other_data",
    "distribution",
    "precision",
    "declared",
    "accepted",
    "raised",
    "crash",
    "stray_crash",
    "timeout",
    "oom",
    "unstable",
]
FAILURES: tuple[Failure, ...] = get_args(Failure)
#: Those that leave no answer, as the backend's process is lost.
LOSSES: tuple[Failure, ...] = ("crash", "stray_crash", "timeout", "oom")
#: A problem of a comparison: of the backend's output, or of the case, which decides too little.
ComparisonProblem: TypeAlias = Failure | Literal["undecided"]
#: The value of an element.
Element: TypeAlias = float | int | bool | complex | str


@dataclass(frozen=True)
class Mismatch:
    """One wrong element. `allowed` is the value or the error allowed for `got`."""

    index: tuple[int, ...]
    want: Element
    got: Element
    ulp: int | None
    allowed: str
    input: Element | None = None


@dataclass(frozen=True)
class Picture:
    """Summary of all elements of an output with wrong ones; docs/stored-runs.md has its fields.

    Integers have no `ulps`. In `cells`, Y is for all larger shares, Z where no error is allowed.
    """

    shape: tuple[int, ...]
    ulps: tuple[tuple[int, int], ...] = ()
    unordered: int = 0
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedOutput:
    """One output compared with its expectation, however its elements are kept.

    `problem` is the first thing wrong with it, None if it matches; `detail` says it in words,
    `remark` why, and `where` the place of all wrong elements. `used` is the largest error as a part
    of the allowed one (1.0 = at the limit). The operator's error bound, which judged by the
    arithmetic `tier`, decides nothing about `unjudged` elements.
    """

    output: str
    problem: ComparisonProblem | None
    detail: str = ""
    remark: str = ""
    tier: str | None = None
    wrong: int = 0
    total: int = 0
    unjudged: int = 0
    max_ulp: int | None = None
    used: float = 0.0
    where: str = ""


@dataclass(frozen=True)
class Comparison(ComparedOutput):
    """A comparison just made; `worst` are some of the wrong elements, in `dtype`."""

    dtype: DType | None = None
    worst: tuple[Mismatch, ...] = ()
    #: Of a model: elements are unjudged because the text leaves open what they are made of.
    has_open_elements: bool = False
    #: Draws all elements if some are wrong, which takes as long as comparing them.
    picture: Callable[[], Picture] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Known:
    """A ledger's explanation of a case: cause, link, the ledger's file, and the defect's id."""

    cause: str
    link: str | None
    ledger: str
    #: Of a user's ledger: a line, from 1, its text, and the expected result in words.
    line: int | None = None
    text: str = ""
    expected: str = ""
    id: str | None = None

    @property
    def at(self) -> str:
        """Location in a ledger: `mine.yaml:12`."""
        return self.ledger if self.line is None else f"{self.ledger}:{self.line}"


#: How often a cause was seen, as `cause_counts` names the four numbers.
CauseCounts: TypeAlias = tuple[int, int, int, int]


def cause_counts(
    *, failing: int, judged: int, failing_elsewhere: int = 0, judged_elsewhere: int = 0
) -> CauseCounts:
    """Return the evidence for a cause, in the order of stored runs.

    Args:
        failing: The number of cases with the common property that fail so.
        judged: All cases with the property that answered, or failed so.
        failing_elsewhere: The number of cases without the property that fail so, too.
        judged_elsewhere: All cases without it that answered, or failed so.
    """
    return failing, judged, failing_elsewhere, judged_elsewhere


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a failure: the mutant that reproduces it, or a pattern of its numbers.

    `mistake` is the mutant's name, None for a pattern; `text` says it in words. `counts` are the
    evidence for what was learned from a run, made by `cause_counts`. `asked` is what the backend
    answered when it was asked about this cause, a sentence each. `repeat` is a command that shows
    the failure, "" if that of the case does.
    """

    mistake: str | None
    text: str
    counts: CauseCounts | None = field(default=None, compare=False)
    asked: tuple[str, ...] = field(default=(), compare=False)
    repeat: str = field(default="", compare=False)

    @property
    def is_remark(self) -> bool:
        """True for a pattern of one answer's numbers, which no other case confirms."""
        return self.mistake is None and self.counts is None

    @property
    def evidence(self) -> str:
        """The counts in words, "" where there are none."""
        if self.counts is None:
            return ""
        failing, judged, failing_elsewhere, judged_elsewhere = self.counts
        share = f"{failing:,} of {judged:,}"
        if not judged_elsewhere:
            return share
        among = f"but also {failing_elsewhere:,}" if failing_elsewhere else "and none"
        return f"{share}, {among} of {judged_elsewhere:,} others"

    def __str__(self) -> str:
        named = f"{self.text} ({self.mistake})" if self.mistake else self.text
        return f"{named}: {self.evidence}" if self.counts else named


@dataclass(frozen=True, eq=False, slots=True)
class Answered(Generic[CaseT, ComparisonT]):
    """One backend's answer to one case, judged.

    `refused`: it passes by an expected refusal.
    `inexpressible`: it is unsupported, but not by the backend: no model states the case, or it lies
    `beyond` what opcheck itself can ask or judge.
    `irreproducible`: the same question again gave other values, which are right too.
    `self_check`: the engine is compared with its own exact mode, or an oracle with itself.
    `alternative`: the answer that an `open` case was given.
    `known`: a ledger's explanation of the case.
    `unexpected`: a user's ledger expects another result, or does not list an unsupported case: red,
    whatever the verdict.
    `found`: the verdict before ledgers were asked.
    `diagnoses`: explanations of the failure, the likeliest first.
    `printed`: the end of what the backend wrote to its standard output and error.
    `oracle`: the backend, and its version, whose answer is taken for right.
    `against`: without one, the backends that this one agrees with, or differs from.
    `seconds`, `verdicts`: how long all took, and each verdict's count if asked several times.
    """

    case: CaseT
    backend: str
    verdict: Verdict
    reason: str = ""
    failure: Failure | None = None
    refused: bool = False
    inexpressible: bool = False
    irreproducible: bool = False
    beyond: bool = False
    self_check: bool = False
    alternative: str | None = None
    comparisons: tuple[ComparisonT, ...] = ()
    known: Known | None = None
    unexpected: bool = False
    found: Verdict | None = None
    diagnoses: tuple[Diagnosis, ...] = ()
    printed: str = ""
    oracle: str = ""
    against: tuple[str, ...] = ()
    seconds: float = 0.0
    verdicts: Mapping[Verdict, int] | None = None


class LiveResult(Answered[Case, Comparison]):
    """A judged answer, with its case and the arrays that were compared."""


@dataclass(frozen=True)
class BackendInfo:
    """A backend that took part: its address on the command line, its kind and its version.

    `accumulate` names the poorer arithmetic that it is declared to compute in: a 16-bit dtype, or
    "stored" for intermediate results in the tensor's dtype. `engine` marks opcheck's own, whose
    passes against itself prove nothing. One that is not `repeatable` is asked once, on one data.
    `devices` are those offered here, the one in use first; `threads` is None if unknown. `of` is
    its address elsewhere: behind a profile's name, or of saved outputs. `made_of` are digests of
    its files, and of how its process is started. `asked` is the address as the user wrote it.
    One that is declared not to refuse invalid models has False for `refuses`.
    """

    address: str
    kind: str
    version: str
    accumulate: tuple[str, ...] = ()
    engine: bool = False
    repeatable: bool = True
    devices: tuple[str, ...] = ()
    threads: int | None = None
    of: str | None = None
    refuses: bool = True
    made_of: Mapping[str, str] = field(default_factory=dict, compare=False)
    asked: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.address} {self.version}".rstrip()


@dataclass(frozen=True)
class Environment:
    """The machine and the packages of a run.

    `machine` has what changes verdicts of some engines, such as `locale`; `remarks` say what of it
    matters for the run.
    """

    opcheck: str
    python: str
    platform: str
    packages: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One version of an operator on one dtype."""

    op: OpVersion
    dtype: str


@dataclass(frozen=True)
class Floor:
    """Cells that must be right, as a user writes them: `Conv`, `MatMul@13+`, `*:float32`."""

    text: str
    cells: frozenset[Cell]


@dataclass(frozen=True)
class Support:
    """One cell of one backend; `declared` is None if the backend declares nothing.

    `verdict` is the worst of its `count` models, None without any; `share` of them met it, `case`
    first, for this `reason`. `works`: one of them came out right. `failed` of them did not, and
    `warned` came with a warning that neither declared arithmetic nor the rule `should` explains.
    """

    cell: Cell
    declared: bool | None
    verdict: Verdict | None
    count: int = 0
    share: int = 0
    case: str = ""
    reason: str = ""
    works: bool = False
    failed: int = 0
    warned: int = 0

    def missed(self, *, lenient: bool) -> int:
        """Return how many models are not right, or only with a warning unless `lenient`."""
        return self.failed if lenient else self.failed + self.warned

    @property
    def is_supported(self) -> bool:
        """Return True if the backend took one of the models: not all were declined or not run."""
        is_declined = self.verdict in (None, Verdict.UNSUPPORTED, Verdict.NOT_RUN)
        return not is_declined or self.share < self.count

    @property
    def is_declared_but_failing(self) -> bool:
        """Return True if the backend declares more than it does."""
        # With a poorer arithmetic than expected it still has the operator.
        fine = (None, Verdict.NOT_RUN, Verdict.BAD_CASE, Verdict.PASS, Verdict.WARN)
        return self.declared is True and self.verdict not in fine

    @property
    def is_undeclared_but_working(self) -> bool:
        """Return True if the backend does more than it declares."""
        return self.declared is False and self.works


@dataclass(frozen=True, slots=True)
class ElementRecord:
    """One wrong element, its values as short as their dtype allows, with their bits."""

    index: tuple[int, ...]
    #: "" without an input. It may be of another dtype, so it has no bits.
    input: str
    want: str
    want_bits: str
    got: str
    got_bits: str
    ulp: int | None
    allowed: str


@dataclass(frozen=True, slots=True)
class ComparisonRecord(ComparedOutput):
    """A `Comparison` in plain values."""

    dtype: str | None = None
    worst: tuple[ElementRecord, ...] = ()
    picture: Picture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Answered[str, ComparisonRecord]):
    """A `LiveResult` in plain values, with the data of its case.

    `place` is the case's in the whole selection, from 0; `digest` tells it from others that had its
    id. `clause` is quoted for this version of the operator, `rulings` say how opcheck reads it.
    `question` describes the case in a line, and `repeat` is the command that asks it again.
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
    """All cases of a selection: the digest of their list, and their number."""

    digest: str
    cases: int


@dataclass(frozen=True)
class Header:
    """Header of a run: backends, machine, cases and options.

    `cases` are those of `suite`, or of its part `shard`, which is (1, n) to (n, n). `started` is an
    ISO 8601 time in UTC. `known`: the ledgers that ship with opcheck were applied; `ledgers` are
    digests of the user's, by file. `named`: the user named the backends. `options` are other
    command-line options that can change a verdict. `oracles` answer cases, right or wrong.
    """

    environment: Environment
    backends: tuple[BackendInfo, ...]
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
    oracles: tuple[BackendInfo, ...] = ()
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
    """End of a run: complete or interrupted, and its seconds.

    `accidents` are processes that died while idle, `partings` those that died while they ended.
    """

    complete: bool = False
    exit_code: int = 0
    meaning: str = ""
    seconds: float = 0.0
    accidents: tuple[str, ...] = ()
    partings: tuple[str, ...] = ()


#: Fields that a plain result lacks, and those that tell kinds of plain ones apart.
_ODD = "known unexpected irreproducible alternative against unjudged verdicts diagnoses"
_KIND = "backend op verdict reason failure refused inexpressible beyond self_check found oracle"
_odd, _kind = attrgetter(*_ODD.split()), attrgetter(*_KIND.split())
#: How many results are packed together.
_BLOCK = 256


class Records(Sequence[Record]):
    """The results of a run; plain passes and lacks of support among them are packed.

    In `light`, those of a kind are one record, without what only their cases tell.
    """

    def __init__(self) -> None:
        self.light: list[Record] = []
        self._kinds: dict[Hashable, Record] = {}
        self._packed: list[bytes] = []
        #: Those that will be packed next.
        self._last: list[Record] = []

    def append(self, one: Record) -> None:
        """Add the next result."""
        if one.verdict not in (Verdict.PASS, Verdict.UNSUPPORTED) or any(_odd(one)):
            self.light.append(one)
            return
        kind = *_kind(one), bool(one.comparisons)
        if kind not in self._kinds:
            self._kinds[kind] = replace(one, case="", name="", question="", repeat="", clause="")
        self.light.append(self._kinds[kind])
        self._last.append(one)
        if len(self._last) == _BLOCK:
            self._packed.append(zlib.compress(pickle.dumps(self._last, 5), 1))
            self._last = []

    def __iter__(self) -> Iterator[Record]:
        blocks = (pickle.loads(zlib.decompress(block)) for block in self._packed)
        plain = chain.from_iterable(chain(blocks, [self._last]))
        return (one if one.case else next(plain) for one in self.light)

    def __len__(self) -> int:
        return len(self.light)

    def __getitem__(self, place: Any) -> Any:
        return [*self][place]


def light(records: Sequence[Record]) -> Sequence[Record]:
    """Return the results, for counts: plain ones may be without what only their cases tell."""
    return records.light if isinstance(records, Records) else records


@dataclass(frozen=True)
class Run:
    """A stored run; without an `ending` if it was killed.

    `left_out` are fields of its file that this opcheck does not know, and that decide nothing.
    """

    header: Header
    records: Sequence[Record] = ()
    ending: Ending | None = None
    left_out: tuple[str, ...] = field(default=(), compare=False)

    @property
    def complete(self) -> bool:
        """Return True if all results are there."""
        return self.ending is not None and self.ending.complete


class Fate(StrEnum):
    """Fate of a mutant; the order is the order of columns in tables."""

    #: A `must` case fails.
    KILLED = "killed"
    #: At most a warning, or a failure where the text does not decide.
    WARNED = "warned"
    #: Argued to be equivalent.
    HARMLESS = "harmless"
    SURVIVED = "survived"


@dataclass(frozen=True, order=True)
class MutantId:
    """A mutant, made in one version of an operator on one dtype."""

    op: OpVersion
    dtype: str
    name: str
    #: It fits after "likely cause:".
    text: str
    #: True if the cases of every type decide about it together; `dtype` is one of them.
    any_type: bool = False


@dataclass(frozen=True)
class Mutation:
    """The fate of one mutant under a suite.

    `harmless` is the argument that it is equivalent, if any. `killers` are ids of `must` cases that
    fail: the first, or those of the first two names. Without any, `noticers` are ids of cases that
    come out wrong but decide nothing: the first of each name. If the mutant itself `raised` on a
    case, which is a mistake of opcheck's own, it says what; its fate is not known.
    """

    mutant: MutantId
    harmless: str | None = None
    killers: tuple[str, ...] = ()
    noticers: tuple[str, ...] = ()
    raised: str = ""

    @property
    def fate(self) -> Fate:
        """The fate of a mutant."""
        if self.killers:
            return Fate.KILLED
        if self.noticers:
            return Fate.WARNED
        return Fate.SURVIVED if self.harmless is None else Fate.HARMLESS

    @property
    def contradicts(self) -> bool:
        """Return True if a case kills a mutant that is argued to be harmless."""
        return self.harmless is not None and bool(self.killers)


class Score(Counter[Fate]):
    """Counts of mutants by fate."""

    @property
    def share(self) -> float | None:
        """The part that is seen of those that could be, None where there are none."""
        seen = self[Fate.KILLED] + self[Fate.WARNED]
        return seen / (seen + self[Fate.SURVIVED]) if seen + self[Fate.SURVIVED] else None


@dataclass(frozen=True, eq=False)
class Power:
    """All results of mutation testing for a suite, and shipped cases that kill its survivors."""

    mutations: tuple[Mutation, ...]
    elsewhere: Mapping[MutantId, Case] = field(default_factory=dict)
