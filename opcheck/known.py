"""The ledger of known failures: defects of released backends, each with its cause.

A result that fails in the way and in the place that a line of the ledger says is `known` and
green. Places are fields of cases; a field left out says nothing, a list means any of its items.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from opcheck.model import FAILURES, BackendInfo, Case, Known, Result, Verdict
from opcheck.reading import Problems, form, read_file, shipped_folder

#: The verdicts that a ledger can explain.
_EXPLAINABLE = (
    Verdict.WARN,
    Verdict.FAIL,
    Verdict.DIFFER,
    Verdict.ERROR,
    Verdict.CRASH,
    Verdict.TIMEOUT,
    Verdict.OOM,
    Verdict.UNSTABLE,
)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"{error} (write for example '>=1.20,<2')") from error
    return text


def _failure(text: str) -> str:
    if text not in FAILURES:
        raise ValueError(f"{text!r} is no way to fail: one of {', '.join(FAILURES)}")
    return text


Words = Annotated[list[str], BeforeValidator(_listed)]
Failures = Annotated[list[Annotated[str, AfterValidator(_failure)]], BeforeValidator(_listed)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Place(_Fields):
    """Cases by their fields: all that are stated must fit, of a list any item."""

    op: Words = Field(min_length=1)
    name: Words | None = None
    row: Words | None = None
    opset: Annotated[list[int], BeforeValidator(_listed)] | None = None
    dtype: Words | None = None
    attrs: dict[str, Annotated[list[Any], BeforeValidator(_listed)]] | None = None


class Line(_Fields):
    """One known defect: in what way it fails, since which versions, where, and why.

    What fails only `sometimes`, because it depends on the CPU or on what memory happens to hold,
    may also pass.
    """

    versions: Annotated[str, AfterValidator(_specifier)]
    failure: Annotated[Failures, Field(min_length=1)]
    sometimes: bool = False
    cause: str = Field(min_length=1)
    link: str | None = None
    where: list[Place] = Field(min_length=1)

    def is_about(self, case: Case) -> bool:
        """Whether the defect shows in `case`, in some version of the backend."""
        return any(_fits(place, case) for place in self.where)


class LedgerFields(_Fields):
    """A ledger file: the addresses of the backend it is about, and its lines."""

    backend: Words
    known: list[Line]


@dataclass(frozen=True)
class Ledger:
    """The known defects of one backend."""

    file: str
    fields: LedgerFields

    def line_for(self, result: Result, backend: BackendInfo) -> Line | None:
        """The first line that explains a failure or, of a pass, the first that denies it.

        Names of cases mean what the shipped suites mean by them: other cases are never explained.
        """
        address = (backend.of or backend.address).partition("?")[0]
        if address not in self.fields.backend or not result.case.source.shipped:
            return None
        passed = result.verdict is Verdict.PASS
        if passed and backend.accumulate:
            return None  # Declared, what fails otherwise may pass.
        for line in self.fields.known:
            fails = result.verdict in _EXPLAINABLE and result.failure in line.failure
            fits = fails or (passed and not line.sometimes)
            if fits and _within(backend.version, line.versions) and line.is_about(result.case):
                return line
        return None


def load_ledgers(paths: Iterable[Path]) -> tuple[Ledger, ...]:
    """The ledgers in `paths`; raises CaseFileError with every problem of every file."""
    problems = Problems()
    ledgers = []
    for path in paths:
        node = read_file(path, problems)
        fields = form.validate(LedgerFields, node, str(path), problems, _keys) if node else None
        if fields:
            ledgers.append(Ledger(path.name, fields))
    problems.raise_if_any()
    return tuple(ledgers)


def shipped_ledgers() -> tuple[Ledger, ...]:
    """The ledgers that ship with opcheck."""
    return load_ledgers(sorted(shipped_folder("_known", "reports/known").glob("*.yaml")))


def explain(ledgers: Iterable[Ledger], result: Result, backend: BackendInfo) -> Result:
    """`result` with what the ledgers know of it.

    A failure that a line names becomes `known`; a pass that a line names stays one, with the
    line beside it, so that reports can say that the line is out of date.
    """
    for ledger in ledgers:
        line = ledger.line_for(result, backend)
        if line is not None:
            known = Known(line.cause, line.link, ledger.file)
            passed = result.verdict is Verdict.PASS
            verdict = Verdict.PASS if passed else Verdict.KNOWN
            return replace(result, verdict=verdict, found=result.verdict, known=known)
    return result


def _keys(container: form.Location) -> list[str]:
    if "where" in container:
        return form.aliases(Place)
    return form.aliases(Line if "known" in container else LedgerFields)


def _fits(place: Place, case: Case) -> bool:
    dtype = case.dtype.name if case.dtype else None
    return (
        case.op.name in place.op
        and (place.name is None or case.name in place.name)
        and (place.row is None or case.row in place.row)
        and (place.opset is None or case.opset in place.opset)
        and (place.dtype is None or dtype in place.dtype)
        and all(
            _plain(case.attrs.get(name)) in items for name, items in (place.attrs or {}).items()
        )
    )


def _plain(value: Any) -> Any:
    """An attribute's value as a ledger spells it: a list of numbers is a list there."""
    return list(value) if isinstance(value, tuple) else value


def _within(version: str, versions: str) -> bool:
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False
