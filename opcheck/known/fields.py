"""The form of a ledger: cases of an entry, how they fail, and why."""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache, cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from opcheck import dtypes
from opcheck.errors import meant
from opcheck.model import FAILURES, WRONG, Case, Typed, Verdict
from opcheck.reading.validation import Fields

#: The verdicts that a ledger of released backends can explain.
FAILING = (Verdict.WARN, *WRONG)
LISTABLE = (*FAILING, Verdict.UNSUPPORTED)


def _not_deleted(value: Any) -> Any:
    if value is None:
        raise ValueError("no line is left: delete the whole entry, or say which cases fail")
    return value


def _specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"{error} (write for example '>=1.20,<2')") from error
    return text


def _one_of(known: Sequence[str], what: str) -> AfterValidator:
    def checked(text: str) -> str:
        if text not in known:
            hint = meant(text, map(str, known))
            raise ValueError(f"{text!r} is no {what}: one of {', '.join(known)}{hint}")
        return known[known.index(text)]

    return AfterValidator(checked)


_AsList = BeforeValidator(lambda value: value if isinstance(value, list) else [value])
_Some = Field(min_length=1)
Text = Annotated[str, Field(min_length=1)]
Words = Annotated[list[str], _AsList]
Failures = Annotated[list[Annotated[str, _one_of(FAILURES, "way to fail")]], _AsList]
Verdicts = Annotated[list[Annotated[str, _one_of(LISTABLE, "verdict to list")]], _AsList]
Versions = Annotated[str, AfterValidator(_specifier)]


class Place(Fields):
    """Cases by their fields: all that are stated must fit, of a list any item."""

    op: Annotated[Words | None, _Some] = None
    name: Annotated[Words | None, _Some] = None
    row: Annotated[Words | None, _Some] = None
    opset: Annotated[Annotated[list[int], _AsList] | None, _Some] = None
    dtype: Annotated[Words | None, _Some] = None
    attrs: dict[str, Annotated[list[Any], _AsList]] | None = None
    case: Annotated[Words | None, _Some] = None

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if self.op is None and self.case is None:
            raise ValueError("'op' is missing: which operator's cases fail?")
        return self

    @cached_property
    def _stated(self) -> list[tuple[Callable[[Case], str | int | None], Container[Any]]]:
        fields = ((value_of, getattr(self, field)) for field, value_of in VALUES.items())
        return [(value_of, frozenset(items)) for value_of, items in fields if items is not None]

    def may_be_about(self, op: str, name: str) -> bool:
        """Return True unless other operators are named, or cases of other names."""
        return (self.op is None or op in self.op) and (self.name is None or name in self.name)

    def fits(self, case: Case) -> bool:
        """Return True if `case` is one of these."""
        for value_of, items in self._stated:
            if value_of(case) not in items:
                return False
        attrs = (self.attrs or {}).items()
        return all(_plain(case.attrs.get(name)) in items for name, items in attrs)


#: The fields of a place that hold values to choose from, the most general first: a case's value.
VALUES: Mapping[str, Callable[[Case], str | int | None]] = {
    "case": lambda case: case.id,
    "op": lambda case: case.op.name,
    "name": lambda case: case.name,
    "row": lambda case: case.row,
    "opset": lambda case: case.opset,
    "dtype": lambda case: case.dtype.name if case.dtype else None,
}


def _plain(value: Any) -> Any:
    """An attribute's value as a ledger spells it."""
    if isinstance(value, Typed):
        return {value.type: _plain(value.value)}
    if isinstance(value, np.ndarray):
        return {"value": value.tolist(), "dtype": str(dtypes.of(value))}
    return list(value) if isinstance(value, tuple) else value


class Line(Fields):
    """One known defect: how it fails, since which versions, where, and why.

    If it fails only `sometimes`, depending on the CPU or on the memory's contents, it may also
    pass. docs/known-failures.md explains the fields from `kind` to `clause`, for the scoreboard. A
    defect that no case shows has no `where`, but a `clause`.
    """

    versions: Versions
    failure: Annotated[Failures, _Some]
    sometimes: bool = False
    cause: Text
    link: str | None = None
    kind: Literal["legal model", "invalid model"] = "legal model"
    same_as: Text | None = None
    documented: Text | None = None
    upstream: Text | None = None
    clause: Text | None = None
    where: Annotated[list[Place], _Some] = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if bool(self.where) == bool(self.clause):
            raise ValueError("state 'where', the cases that fail, or 'clause' if no case shows it")
        return self

    def is_about(self, case: Case) -> bool:
        """Return True if the defect shows in `case`, in some version of the backend."""
        return any(place.fits(case) for place in self.where)


class LedgerFields(Fields):
    """A ledger that ships with opcheck: the addresses of the backend it is about, and its lines."""

    backend: Words
    known: list[Line]


class LedgerEntry(Fields):
    """One line of a user's ledger: the expected failure of some cases, and its cause.

    All stated fields have to hold: one of the verdicts, one of the ways to fail, the `reason`
    somewhere in the result's, where `*` is anything, and one of the mistakes that it `looks` like.
    """

    verdict: Annotated[Verdicts | None, _Some] = None
    failure: Annotated[Failures | None, _Some] = None
    looks: Annotated[Words | None, _Some] = None
    reason: Text | None = None
    versions: Versions | None = None
    sometimes: bool = False
    cause: Text
    link: str | None = None
    where: Annotated[list[Place], _Some, BeforeValidator(_not_deleted)]

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if self.verdict is None and self.failure is None:
            raise ValueError("in what way it fails is missing: state 'verdict', 'failure' or both")
        if self.sometimes and not all(place.name or place.case for place in self.where):
            raise ValueError(
                "what fails only sometimes may pass: state 'name' or 'case' in each place,"
                " or cases that nobody thought of are never judged"
            )
        return self

    def holds_for(self, version: str) -> bool:
        """Return True if the entry applies to a version of the backend."""
        return self.versions is None or within(version, self.versions)

    @property
    def expected(self) -> str:
        """The expected result in words: `fail (values) that looks like last_of_ties`."""
        ways = " or ".join(self.failure or ())
        text = " or ".join(self.verdict or ())
        text = f"{text} ({ways})" if text and ways and text != ways else text or ways
        text += f" that looks like {' or '.join(self.looks)}" if self.looks else ""
        return f"{text} because of {self.reason!r}" if self.reason else text


class UserFields(Fields):
    """A user's ledger: the addresses or profiles of the backend it is about, and its entries."""

    backend: Annotated[Words, _Some]
    #: A list whose last line was deleted is null.
    known: Annotated[list[LedgerEntry], BeforeValidator(lambda it: [] if it is None else it)]


def is_version(version: str) -> bool:
    """Return True if ranges of versions apply to `version`."""
    try:
        Version(version)
    except InvalidVersion:
        return False
    return True


@cache
def within(version: str, versions: str) -> bool:
    """Return True if a version lies in a range; an invalid version lies in none."""
    known = SpecifierSet(versions)
    return is_version(version) and known.contains(Version(version), prereleases=True)
