"""What an outcome is worth: comparisons, verdicts, results, and the run they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from opcheck.dtypes import DType
from opcheck.model.case import Case


class Verdict(StrEnum):
    """How a backend answered a case; the order is the order of columns in tables."""

    PASS = "pass"
    KNOWN = "known"
    WARN = "warn"
    FAIL = "fail"
    ERROR = "error"
    UNSTABLE = "unstable"
    UNSUPPORTED = "unsupported"
    NOT_RUN = "not run"
    #: The case itself is wrong: nothing can be said about any backend.
    BAD_CASE = "bad case"


@dataclass(frozen=True)
class Mismatch:
    """One wrong element. `allowed` is what `got` had to be or how far it might lie."""

    index: tuple[int, ...]
    want: float | int | bool
    got: float | int | bool
    ulp: int | None
    allowed: str
    input: float | int | bool | None = None


@dataclass(frozen=True)
class Comparison:
    """One output against its expectation.

    `problem` is None when it matches, else "count", "type", "dtype", "shape" or "values", and
    `detail` says it in words. `dtype` is that of the values in `worst`, some of the wrong
    elements; `where` tells where all of them lie. `used` is the largest error as a part of the
    allowed one (1.0 = at the limit); `unjudged` counts elements that no bound covers.
    """

    output: str
    problem: str | None
    detail: str = ""
    dtype: DType | None = None
    wrong: int = 0
    total: int = 0
    unjudged: int = 0
    max_ulp: int | None = None
    used: float = 0.0
    where: str = ""
    worst: tuple[Mismatch, ...] = ()


@dataclass(frozen=True)
class Known:
    """Why a failure was expected: the ledger's cause in a sentence and its link."""

    cause: str
    link: str | None
    ledger: str


@dataclass(frozen=True, eq=False)
class Result:
    """One backend's answer to one case, judged.

    `self_check` marks the engine against its own exact mode. `alternative` names the answer an
    `open` case was given. `found` is the verdict before the ledger of known failures was asked.
    """

    case: Case
    backend: str
    verdict: Verdict
    reason: str = ""
    self_check: bool = False
    alternative: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    known: Known | None = None
    found: Verdict | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class BackendInfo:
    """A backend that took part: its address on the command line, its kind and its version."""

    address: str
    kind: str
    version: str

    def __str__(self) -> str:
        return f"{self.address} {self.version}".rstrip()


@dataclass(frozen=True)
class Environment:
    """The machine and the packages of a run."""

    opcheck: str
    python: str
    platform: str
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Header:
    """What a run was: who took part, on which machine, and what was asked of whom."""

    environment: Environment
    backends: tuple[BackendInfo, ...]
    selection: str
    cases: int
    known: bool = True
    strict: bool = False
