"""Judged outcomes: comparisons, verdicts, results, and their backends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Literal, TypeAlias, TypeVar, get_args

from opcheck.dtypes import DType
from opcheck.model.case import Case, OpVersion

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
    #: Right, where a user's ledger of known failures says that it is not.
    UNEXPECTED_PASS = "unexpected pass"
    UNSUPPORTED = "unsupported"
    NOT_RUN = "not run"
    #: The case itself is wrong: nothing can be said about any backend.
    BAD_CASE = "bad case"


#: What went wrong, whatever a run is asked to mind; that answers differ accuses nobody of it.
WRONG = (
    Verdict.FAIL,
    Verdict.DIFFER,
    Verdict.ERROR,
    Verdict.CRASH,
    Verdict.TIMEOUT,
    Verdict.OOM,
    Verdict.UNSTABLE,
)


#: In what way a result fails, whatever its rule makes of it: an output differs in number, type,
#: dtype, shape or values; its values are good only for a poorer arithmetic than expected; it is
#: another than the backend declared; an invalid model is accepted, a legal one refused; the process
#: dies, hangs or takes all memory; runs contradict.
Failure: TypeAlias = Literal[
    "count",
    "type",
    "dtype",
    "shape",
    "values",
    "precision",
    "declared",
    "accepted",
    "raised",
    "crash",
    "timeout",
    "oom",
    "unstable",
]
FAILURES: tuple[Failure, ...] = get_args(Failure)
#: What is wrong with a comparison: the backend's output, or the case, which decides too little.
ComparisonProblem: TypeAlias = Failure | Literal["undecided"]


#: The value of an element.
Element: TypeAlias = float | int | bool | complex | str


@dataclass(frozen=True)
class Mismatch:
    """One wrong element. `allowed` is what `got` had to be or how far it might lie."""

    index: tuple[int, ...]
    want: Element
    got: Element
    ulp: int | None
    allowed: str
    input: Element | None = None


@dataclass(frozen=True)
class Picture:
    """All elements of an output with wrong ones, in little space.

    `ulps` are pairs: (0, how many elements are right to the last bit), and (n, how many lie from
    2**(n-1) to 2**n - 1 steps off) for each n of which there are some. `unordered` counts NaN
    opposite a number. Without a distance, as between integers, both are empty.

    `cells` is a map of the output, of which the last axis runs to the right and all others
    downwards: at most 64 texts of at most 64 letters. Each letter stands for a block of elements
    and says how much of what it is allowed the worst of them uses: "." nothing, z up to all of it,
    y up to half, x a quarter, … a; A up to twice, B four times as much, … X, Y more, and Z where
    nothing was allowed.
    """

    shape: tuple[int, ...]
    ulps: tuple[tuple[int, int], ...] = ()
    unordered: int = 0
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedOutput:
    """One output against its expectation, however its elements are kept.

    `problem` is None when it matches, else the first that is wrong of count, type, dtype, shape
    and values; `detail` says it in words, and `remark` adds why. `where` says where all of the
    wrong elements lie. `used` is the largest error as a part of the allowed one (1.0 = at the
    limit). `unjudged` elements are those whose value the operator's error bound does not decide.
    `tier` is the arithmetic by which that bound judged.
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
    """One output against its expectation; `worst` holds some of the wrong elements, in `dtype`.

    `picture` draws all elements where some are wrong, which takes as long as to compare them.
    """

    dtype: DType | None = None
    worst: tuple[Mismatch, ...] = ()
    picture: Callable[[], Picture] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Known:
    """A ledger's explanation of a case: cause, link, and the ledger's file.

    Of a user's ledger also the line to delete where nothing fails any more, from 1, what it reads,
    and in words what the ledger expects.
    """

    cause: str
    link: str | None
    ledger: str
    line: int | None = None
    text: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a failure: the mutant that reproduces it, or a pattern of its numbers.

    `mistake` is a mistake's name, None where it is none; `text` says it in words. What was learned
    from the cases of a run has `counts`: how many cases like these fail so, of how many that
    answered or failed so, and the same of all others.
    """

    mistake: str | None
    text: str
    counts: tuple[int, int, int, int] | None = field(default=None, compare=False)

    @property
    def evidence(self) -> str:
        """The counts in words, "" where there are none."""
        if self.counts is None:
            return ""
        here, such, elsewhere, others = self.counts
        among = f"{elsewhere:,}" if elsewhere else "none"
        return f"{here:,} of {such:,}" + (f", and {among} of {others:,} others" if others else "")

    def __str__(self) -> str:
        named = f"{self.text} ({self.mistake})" if self.mistake else self.text
        return f"{named}: {self.evidence}" if self.counts else named


@dataclass(frozen=True, eq=False, slots=True)
class Answered(Generic[CaseT, ComparisonT]):
    """One backend's answer to one case, judged.

    `failure` is in what way it fails. `refused` marks a pass by a refusal that was expected,
    `self_check` the engine against its own exact mode. `alternative` names the answer an `open`
    case was given. `found` is the verdict before the ledger of known failures was asked, and
    `diagnoses` what the failure looks like, the likeliest first.
    `known` is what a ledger says of the case, `unexpected` that a user's ledger has something else
    come or that it does not list what is unsupported: red, whatever the verdict.
    `inexpressible`: unsupported, but not by the backend: no model states the case, or it lies
    `beyond` what opcheck itself can ask or judge.
    `irreproducible`: the same question again gave other values, which are right too.
    `printed` is the end of what the backend wrote to its standard output and error.
    `oracle` is the backend, and its version, whose answer is taken for right; one that passes by
    its own answer is a `self_check` too. Where nobody's is, `against` are the backends that this
    one agrees with, or differs from. `verdicts` is how often each verdict came where a case was
    asked several times, `seconds` how long all took.
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

    `of` is the address it goes by elsewhere: behind a profile's name, or outputs that were saved.
    `asked` is the address as it was written, which may be shorter than the backend's own.
    `accumulate` names arithmetic poorer than expected that it is declared to compute in: a 16-bit
    dtype, or "stored" for intermediate results kept in the tensor's dtype. `engine` marks opcheck's
    own, whose passes against itself prove nothing. What it prepares can be run any number of times
    if it is `repeatable`; otherwise it is asked once, on one data. `devices` are those it offers
    here, the one in use first; `threads` is how many it computes with, None where nobody can tell.
    `made_of` are digests of the files it consists of, and of how its process is started.
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
    made_of: Mapping[str, str] = field(default_factory=dict, compare=False)
    asked: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.address} {self.version}".rstrip()


@dataclass(frozen=True)
class Environment:
    """The machine and the packages of a run."""

    opcheck: str
    python: str
    platform: str
    packages: Mapping[str, str] = field(default_factory=dict)


#: A poorer arithmetic than expected is no reason to say that a backend lacks an operator.
_WORKING = (Verdict.PASS, Verdict.WARN)


@dataclass(frozen=True)
class Cell:
    """One version of an operator on one dtype."""

    op: OpVersion
    dtype: str


@dataclass(frozen=True)
class Support:
    """One cell of one backend.

    `verdict` is the worst that its models met, None where there are none; `share` of `count` met
    it, `case` first, for this `reason`. `works` tells whether any of them came out right.
    `declared` is None where the backend says nothing.
    """

    cell: Cell
    declared: bool | None
    verdict: Verdict | None
    count: int = 0
    share: int = 0
    case: str = ""
    reason: str = ""
    works: bool = False

    @property
    def is_declared_but_failing(self) -> bool:
        """Return True if the backend declares more than it does."""
        nothing_said = (None, Verdict.NOT_RUN, Verdict.BAD_CASE, *_WORKING)
        return self.declared is True and self.verdict not in nothing_said

    @property
    def is_undeclared_but_working(self) -> bool:
        """Return True if the backend does more than it declares."""
        return self.declared is False and self.works
