"""Ledgers of known failures: those that ship with opcheck, and those of users, which are a gate.

A failure that a ledger lists, in its way and place, is `known` and green. A case of a user's ledger
that fails otherwise keeps its verdict, and one that passes is an `unexpected pass`: both are red,
and so is an unsupported case that is not listed. Entries in vain are reported before anything runs.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import VERSION_PATTERN
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import core_schema

import opcheck
from opcheck import dtypes, model, opset
from opcheck.errors import did_you_mean, meant
from opcheck.grouping import group_by
from opcheck.model import FAILURES, WRONG, BackendInfo, Case, Known, LiveResult, Verdict
from opcheck.reading import FileNode, Problems, quoted, read_file, validation

#: The folder of the ledgers that ship with opcheck.
SHIPPED_LEDGERS = Path(opcheck.__file__).parent / "ledgers"
#: The verdicts that a ledger of released backends can explain.
FAILING = (Verdict.WARN, *WRONG)
LISTABLE = (*FAILING, Verdict.UNSUPPORTED)


def _dtype_of(case: Case) -> str | None:
    """Return the name of a case's dtype, None if it has none."""
    return case.dtype.name if case.dtype else None


#: The fields of a place that hold values to choose from, the most general first: a case's value.
VALUES: Mapping[str, Callable[[Case], str | int | None]] = {
    "case": attrgetter("id"),
    "op": attrgetter("op.name"),
    "name": attrgetter("name"),
    "row": attrgetter("row"),
    "opset": attrgetter("opset"),
    "dtype": _dtype_of,
}
#: How many names a hint lists if none is like the wrong one.
_LISTED = 8


def _not_deleted(value: Any) -> Any:
    """Return a value that is not null; raises ValueError for null."""
    if value is None:
        raise ValueError("no line is left: delete the whole entry, or say which cases fail")
    return value


def _specifier(text: str) -> str:
    """Return a range of versions as it is; raises ValueError for one that is none."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"{error} (write for example '>=1.20,<2')") from error
    return text


def _one_of(known: Sequence[str], what: str) -> AfterValidator:
    """Return a validator that returns the known text; it raises ValueError for any other.

    `what` names the texts in its message, with the known ones and a hint.
    """

    def checked(text: str) -> str:
        if text not in known:
            hint = meant(text, map(str, known))
            raise ValueError(f"{text!r} is not a {what}: one of {', '.join(known)}{hint}")
        return known[known.index(text)]

    return AfterValidator(checked)


class _OneOrList:
    """Annotates a list: one item stands for a list of it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_before_validator_function(self._as_list, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        items = handler(schema)
        return {"anyOf": [items["items"], items]}

    @staticmethod
    def _as_list(value: Any) -> Any:
        """Return a list as it is, and anything else as the one item of a list."""
        return value if isinstance(value, list) else [value]


_AsList = _OneOrList()
_Some = Field(min_length=1)
Text = Annotated[str, Field(min_length=1)]
Words = Annotated[list[str], _AsList]
Failure = Annotated[str, _one_of(FAILURES, "way to fail"), WithJsonSchema({"enum": [*FAILURES]})]
Failures = Annotated[list[Failure], _AsList]
Listed = Annotated[str, _one_of(LISTABLE, "verdict to list"), WithJsonSchema({"enum": [*LISTABLE]})]
Verdicts = Annotated[list[Listed], _AsList]
Versions = Annotated[str, AfterValidator(_specifier)]
#: The name of a defect, such as ORT-0017: its ledger's prefix, and a number that is given once.
DefectId = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9]*-[0-9]{4,}$")]


class Place(validation.Fields):
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
        """Raise ValueError unless `op` or `case` is stated."""
        if self.op is None and self.case is None:
            raise ValueError("'op' is missing: which operator's cases fail?")
        return self

    @cached_property
    def _stated(self) -> list[tuple[Callable[[Case], str | int | None], Container[Any]]]:
        """For each field that is stated, what returns a case's value, and the values that fit."""
        fields = ((value_of, getattr(self, field)) for field, value_of in VALUES.items())
        return [(value_of, frozenset(items)) for value_of, items in fields if items is not None]

    @property
    def ops(self) -> list[str]:
        """The operators whose cases may fit, by name; a name may be there twice."""
        return [*(self.op or ()), *(case.partition("/")[0] for case in self.case or ())]

    def may_be_about(self, op: str, name: str | None) -> bool:
        """Return True unless other operators are named, or cases of other names than this.

        `name` None means any.
        """
        named = self.name is None or name is None or name in self.name
        return named and (self.op is None or op in self.op)

    def fits(self, case: Case) -> bool:
        """Return True if `case` is one of these, by all fields and attributes.

        An attribute that a case does not state is null.
        """
        for value_of, items in self._stated:
            if value_of(case) not in items:
                return False
        attrs = (self.attrs or {}).items()
        return all(_plain(case.attrs.get(name)) in items for name, items in attrs)


def _plain(value: Any) -> Any:
    """Return an attribute's value as a ledger spells it: lists, and mappings for tensors.

    An attribute of another type than declared is a mapping, too.
    """
    if isinstance(value, model.Typed):
        return {value.type: _plain(value.value)}
    if isinstance(value, np.ndarray):
        return {"value": value.tolist(), "dtype": str(dtypes.of(value))}
    return list(value) if isinstance(value, tuple) else value


class Line(validation.Fields):
    """One known defect: how it fails, since which versions, where, and why."""

    id: DefectId | None = None
    versions: Versions
    failure: Annotated[Failures, _Some]
    #: Depending on the CPU or on the memory's contents: it may also pass.
    sometimes: bool = False
    cause: Text
    link: str | None = None
    #: docs/known-failures.md explains the fields from here to `clause`, for the scoreboard.
    kind: Literal["legal model", "invalid model"] = "legal model"
    same_as: DefectId | None = None
    ruling: Text | None = None
    documented: Text | None = None
    implemented: Text | None = None
    erratum: Text | None = None
    upstream: Text | None = None
    #: Of a defect that no case shows. A stray crash has neither this nor `where`: any case may be
    #: asked after the one that did the damage.
    clause: Text | None = None
    where: Annotated[list[Place], _Some] = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        """Raise ValueError unless one of `where` and `clause` is stated.

        A stray crash may have no `where`, and needs neither.
        """
        if self.anywhere and self.where:
            raise ValueError("a stray crash may hit any case: leave 'where' out")
        if not self.anywhere and bool(self.where) == bool(self.clause):
            raise ValueError("state 'where', the cases that fail, or 'clause' if no case shows it")
        return self

    @property
    def anywhere(self) -> bool:
        """True if the defect shows in cases that have nothing to do with it."""
        return self.failure == ["stray_crash"]

    def is_about(self, case: Case) -> bool:
        """Return True if the defect shows in `case`, in some version of the backend."""
        return self.anywhere or any(place.fits(case) for place in self.where)


class Opsets(validation.Fields):
    """The opsets of ONNX that an engine says it takes, in its own words."""

    first: Annotated[int, Field(ge=1)]
    last: Annotated[int, Field(ge=1)] | None = None
    documented: Text


class LedgerFields(validation.Fields):
    """A ledger that ships with opcheck: the addresses of the backend it is about, and its lines.

    `last_id` is the last id that was given. Each id up to it is that of a line, or `retired`: then
    it leads to the ids of the lines that hold the defect now, or to none if it was no defect.
    """

    backend: Words
    opsets: Opsets | None = None
    last_id: DefectId | None = None
    retired: dict[DefectId, list[DefectId]] = Field(default_factory=dict)
    known: list[Line]

    def holding(self, id: str) -> tuple[str, ...]:
        """Return the ids of the lines that hold a defect: its own, or those that it leads to.

        None for one that was no defect; an unknown id leads to itself.
        """
        return tuple(self.retired.get(id, (id,)))


class LedgerEntry(validation.Fields):
    """One line of a user's ledger: the expected failure of some cases, and its cause.

    All stated fields have to hold, as docs/known-failures.md explains them.
    """

    verdict: Annotated[Verdicts | None, _Some] = None
    failure: Annotated[Failures | None, _Some] = None
    looks: Annotated[Words | None, _Some] = None
    reason: Text | None = None
    versions: Versions | None = None
    sometimes: bool = False
    cause: Text
    link: str | None = None
    id: Text | None = None
    where: Annotated[list[Place], _Some, BeforeValidator(_not_deleted)]

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        """Raise ValueError unless `verdict` or `failure` is stated.

        So too if `sometimes` is, and a place has neither `name` nor `case`.
        """
        if self.verdict is None and self.failure is None:
            raise ValueError("'verdict' or 'failure' is missing: state how these cases fail")
        if self.sometimes and not all(place.name or place.case for place in self.where):
            state = "state 'name' or 'case' in each place"
            never = "or cases that are not meant are never judged"
            raise ValueError(f"cases that fail only sometimes may pass: {state}, {never}")
        return self

    def holds_for(self, version: str) -> bool:
        """Return True if the entry applies to a version of the backend; always if it states none.

        One that is not a version, such as "", is in no range.
        """
        return self.versions is None or within(version, self.versions)

    @property
    def expected(self) -> str:
        """The expected result in words: `fail (values) that looks like last_of_ties`."""
        ways = " or ".join(self.failure or ())
        text = " or ".join(self.verdict or ())
        text = f"{text} ({ways})" if text and ways and text != ways else text or ways
        text += f" that looks like {' or '.join(self.looks)}" if self.looks else ""
        return f"{text} because of {self.reason!r}" if self.reason else text


def _list_or_null(value: Any) -> Any:
    """Return a list as it is, and an empty one for null."""
    return [] if value is None else value


class UserFields(validation.Fields):
    """A user's ledger: the addresses or profiles of the backend it is about, and its entries."""

    backend: Annotated[Words, _Some]
    #: A list whose last line was deleted is null.
    known: Annotated[
        list[LedgerEntry],
        BeforeValidator(_list_or_null, json_schema_input_type=list[LedgerEntry] | None),
    ]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a user's ledger."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**draft, **UserFields.model_json_schema(), "title": "opcheck ledger of known failures"}


def is_version(version: str) -> bool:
    """Return True if ranges of versions apply to `version`, by PEP 440."""
    return re.fullmatch(rf"(?ix)\s*{VERSION_PATTERN}\s*", version) is not None


@cache
def within(version: str, versions: str) -> bool:
    """Return True if a version lies in a range; an invalid version lies in none.

    So may previews. Raises InvalidSpecifier, a ValueError, for a range that is none.
    """
    return is_version(version) and SpecifierSet(versions).contains(version, prereleases=True)


Form = TypeVar("Form", LedgerFields, UserFields)


@dataclass(frozen=True, eq=False)
class Ledger:
    """The known defects of one backend."""

    file: str
    fields: LedgerFields


@cache
def _lines_of(ledger: Ledger, version: str, op: str, name: str | None) -> list[Line]:
    """Return the lines that may be about cases of a name, or of any for None, of this version.

    They are in the ledger's order. Those of a stray crash may be about any case.
    """
    # First those of the operator: a ledger has hundreds of lines, an operator dozens of names.
    lines = ledger.fields.known if name is None else _lines_of(ledger, version, op, None)
    return [
        line
        for line in lines
        if (line.anywhere or any(place.may_be_about(op, name) for place in line.where))
        and within(version, line.versions)
    ]


def load_ledgers(paths: Iterable[Path]) -> tuple[Ledger, ...]:
    """Return the ledgers in `paths`; raises CaseFileError with every problem of every file.

    A file that cannot be read is such a problem, and so are ids that are lost or given twice.
    """
    problems = Problems()
    ledgers = []
    for path, node, fields in _read(paths, LedgerFields, problems):
        if fields is None:
            continue
        for place, message, hint in _wrong_ids(fields):
            problems.add(str(path), node.at(place), message, hint)
        ledgers.append(Ledger(path.name, fields))
    problems.raise_if_any()
    return tuple(ledgers)


def _wrong_ids(ledger: LedgerFields) -> Iterator[tuple[tuple[str | int, ...], str, str | None]]:
    """Yield what is wrong with the ids of a ledger: the place, a message, and a hint or None."""
    ids = [line.id for line in ledger.known]
    for number, line in enumerate(ledger.known):
        if line.id and line.id in ids[:number]:
            yield ("known", number, "id"), f"{line.id} is the id of an earlier line", None
        if line.id and line.id in ledger.retired:
            yield ("known", number, "id"), f"{line.id} is retired: an id is given once", None
    yield from _wrong_references(ledger)
    if ledger.last_id:
        yield from _lost_ids(ledger, ledger.last_id)


def _wrong_references(
    ledger: LedgerFields,
) -> Iterator[tuple[tuple[str | int, ...], str, str | None]]:
    """Yield references to ids that no line has: the place, a message, and a hint or None."""
    ids = {line.id for line in ledger.known}
    roots = [line.id for line in ledger.known if line.id and line.same_as is None]
    for number, line in enumerate(ledger.known):
        if line.same_as and line.same_as not in roots:
            hint = did_you_mean(line.same_as, roots) or "a line without same_as of this ledger"
            yield ("known", number, "same_as"), f"no such defect: {line.same_as}", hint
    for id, successors in ledger.retired.items():
        for successor in successors:
            if successor not in ids:
                yield ("retired", id), f"no line has the id {successor}", None


def _lost_ids(
    ledger: LedgerFields, last_id: str
) -> Iterator[tuple[tuple[str | int, ...], str, str | None]]:
    """Yield the ids up to the last one that are gone, and lines without an id of the ledger's.

    Each is a place, a message, and a hint.
    """
    prefix, _, last = last_id.rpartition("-")
    given = [f"{prefix}-{number:04d}" for number in range(1, int(last) + 1)]
    for number, line in enumerate(ledger.known):
        if line.id not in given:
            following = f"{prefix}-{int(last) + 1:04d}"
            hint = f"give it {following}, and write last_id: {following}"
            yield ("known", number), f"the line has no id from {given[0]} to {last_id}", hint
    for id in {*given} - {line.id for line in ledger.known} - {*ledger.retired}:
        hint = f"retired: {{{id}: [the ids that hold it now]}}"
        yield ("last_id",), f"{id} is gone, and an id is given once", hint


def _read(
    paths: Iterable[Path], cls: type[Form], problems: Problems
) -> Iterator[tuple[Path, FileNode, Form | None]]:
    """Yield the files that are YAML, each with its fields; None, and reported, if malformed.

    Raises nothing: `problems` gets what is wrong with these and with other files.
    """
    entry = Line if cls is LedgerFields else LedgerEntry
    keys = {"where": validation.aliases(Place), "known": validation.aliases(entry)}
    for path in paths:
        node = read_file(path, problems)
        fields = validation.check(cls, node, str(path), problems, keys)[0] if node else None
        if node:
            yield path, node, fields


@cache
def shipped_ledgers() -> tuple[Ledger, ...]:
    """Return the ledgers that ship with opcheck; read once, though a session may judge many runs.

    Raises CaseFileError with their problems, if there are any.
    """
    return load_ledgers(sorted(SHIPPED_LEDGERS.glob("*.yaml")))


def explain(ledgers: Iterable[Ledger], result: LiveResult, backend: BackendInfo) -> LiveResult:
    """Return `result` with its ledger's line: a failure becomes `known`, a pass stays.

    A pass with a line shows that the line is outdated. Only shipped cases are explained; a pass of
    a backend with a declared arithmetic is not. `result` itself where no line is about it.
    `backend` gives the address and the version.
    """
    case = result.case
    passed = result.verdict is Verdict.PASS
    # A declared arithmetic may pass.
    if not case.source.shipped or (passed and backend.accumulate):
        return result
    address = (backend.of or backend.address).partition("?")[0]
    # The first line counts that explains a failure of a shipped case, or that denies a pass.
    for ledger in (one for one in ledgers if address in one.fields.backend):
        for line in _lines_of(ledger, backend.version, case.op.name, case.name):
            fails = result.verdict in FAILING and result.failure in line.failure
            if (fails or (passed and not line.sometimes)) and line.is_about(case):
                known = Known(line.cause, line.link, ledger.file, id=line.id)
                verdict = Verdict.PASS if passed else Verdict.KNOWN
                return replace(result, verdict=verdict, found=result.verdict, known=known)
    return result


@dataclass(frozen=True, eq=False)
class UserLedger:
    """A user's ledger; `node` and `lines` are the file as it is written."""

    path: Path
    fields: UserFields
    node: FileNode
    lines: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name of the file in messages."""
        return str(self.path)

    @cached_property
    def digest(self) -> str:
        """Equal for ledgers of equal contents, whatever their ids and their spelling."""
        # Ids are names, and decide nothing.
        text = self.fields.model_dump_json(exclude={"known": {"__all__": {"id"}}})
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def is_unchanged(self) -> bool:
        """Return True if the file is unchanged since it was read; False if it cannot be read."""
        try:
            return _lines(self.path) == self.lines
        except (OSError, ValueError):
            return False

    def is_about(self, backend: BackendInfo) -> bool:
        """Return True if it names the backend's profile or address.

        Options, which begin with "?", may be left out, and the class of a backend in Python.
        """
        names = {name for name in (backend.address, backend.of, backend.asked) if name}
        names |= {name.partition("?")[0] for name in names}
        names |= {":".join(n.split(":")[:2]) for n in names if n.startswith(("py:", "onnx:"))}
        return not names.isdisjoint(self.fields.backend)

    def line_of(self, number: int, place: int) -> int:
        """Return the line to delete if nothing fails any more in a place of an entry, from 1.

        Both are given by their numbers, from 0. It is the entry's line if the place is its only
        one. Raises IndexError if there is no such entry.
        """
        alone = len(self.fields.known[number].where) == 1
        return self.node.at(("known", number) if alone else ("known", number, "where", place)).line


def load_user_ledgers(paths: Iterable[Path]) -> tuple[UserLedger, ...]:
    """Return the ledgers in `paths`, each file once.

    Raises CaseFileError with every problem of all: files that cannot be read and malformed entries
    and, next to these, names of no operators. Names alone are left to `check`.
    """
    problems = Problems()
    nodes: list[tuple[Path, FileNode]] = []
    ledgers = []
    for path, node, fields in _read(
        {path.resolve(): path for path in paths}.values(), UserFields, problems
    ):
        nodes.append((path, node))
        if fields:
            ledgers.append(UserLedger(path, fields, node, _lines(path)))
    if problems:
        for path, node in nodes:
            for place in _places(node):
                _has_unknown_operators(place, str(path), problems)
    problems.raise_if_any()
    return tuple(ledgers)


def _places(node: FileNode) -> Iterator[FileNode]:
    """Yield the places of all entries of a user's ledger, however malformed it is."""
    known = node.get("known")
    for entry in known.items if known else ():
        where = entry.get("where")
        yield from where.items if where else ()


def _has_unknown_operators(place: FileNode, file: str, problems: Problems) -> bool:
    """Return True for a place with names of no operators, which are reported."""
    known = [name for domain in opset.domains() for name in opset.operators(domain)]
    before = len(problems)
    stated = place.get("op")
    for name, mark in validation.operators_of(stated).items() if stated else ():
        if name not in known:
            hint = did_you_mean(name, known)
            if any(character in name for character in "*?["):
                hint = "wildcards are not supported: name each operator"
            problems.add(file, mark, f"unknown operator {quoted(name)}", hint)
    return len(problems) > before


def _lines(path: Path) -> tuple[str, ...]:
    """Return the lines of a file; raises OSError, or ValueError if it is not UTF-8."""
    return tuple(path.read_text(encoding="utf-8-sig").splitlines())


class _Listed(NamedTuple):
    """The place of a case in a ledger: the number of an entry, and one of its places."""

    ledger: UserLedger
    number: int
    entry: LedgerEntry
    place: int
    where: Place

    @property
    def line(self) -> int:
        return self.ledger.line_of(self.number, self.place)

    def known(self) -> Known:
        """Return the explanation of a case by this entry."""
        text = self.ledger.lines[self.line - 1].strip()
        if not text.endswith("}"):  # of a mapping in lines this is but the first
            text += " …"
        entry = self.entry
        return Known(
            cause=entry.cause,
            link=entry.link,
            ledger=self.ledger.file,
            line=self.line,
            text=text,
            expected=entry.expected,
            id=entry.id,
        )


class Gate:
    """The ledgers of a user, as they are in force in a run.

    If `lenient`, a case that is listed as failing may pass.
    """

    def __init__(self, ledgers: Iterable[UserLedger] = (), *, lenient: bool = False) -> None:
        self.ledgers = tuple(ledgers)
        self.lenient = lenient
        self._listed: dict[tuple[str, str, str, str], list[_Listed]] = {}

    @cached_property
    def operators(self) -> frozenset[str]:
        """The names of the operators whose cases the ledgers list."""
        entries = (entry for ledger in self.ledgers for entry in ledger.fields.known)
        return frozenset(op for entry in entries for place in entry.where for op in place.ops)

    def is_about(self, backend: BackendInfo) -> bool:
        """Return True if one of the ledgers is of this backend."""
        return any(ledger.is_about(backend) for ledger in self.ledgers)

    def listed(self, case: Case, backend: BackendInfo) -> list[_Listed]:
        """Return where a case is listed for a backend of this version; twice is an error.

        The error is not found here, but by `check`. Places that name the operator come first.
        """
        places = self.places(case.op.name, case.name, backend)
        return [place for place in places if place.where.fits(case)]

    def places(self, op: str, name: str, backend: BackendInfo) -> Sequence[_Listed]:
        """Return the places that may be about cases of a name, those that name `op` first.

        They are of a backend of this version, and are kept for the next call.
        """
        key = backend.address, backend.version, op, name
        if key not in self._listed:
            listed = [
                _Listed(ledger, number, entry, place, where)
                for ledger in self.ledgers
                if ledger.is_about(backend)
                for number, entry in enumerate(ledger.fields.known)
                if entry.holds_for(backend.version)
                for place, where in enumerate(entry.where)
                if where.may_be_about(op, name)
            ]
            # First the places that name the operator.
            self._listed[key] = sorted(listed, key=lambda place: place.where.op is None)
        return self._listed[key]

    def apply(
        self, result: LiveResult, backend: BackendInfo, looks: Callable[[str], bool]
    ) -> LiveResult | None:
        """Return `result` as the ledgers explain it; None where they say nothing about it.

        `looks` returns True if a mistake gives this answer. A listed failure becomes `known`, a
        listed pass an unexpected one, unless the entry is of cases that fail sometimes; it is
        `unexpected` unless the gate is lenient. Another failure keeps its verdict and is
        `unexpected`; so is an unsupported case that is not listed, of a backend with a ledger. Not
        judged ones stay as they are.
        """
        listed = self.listed(result.case, backend)
        if not listed:
            unsupported = result.verdict is Verdict.UNSUPPORTED and not result.inexpressible
            lost = unsupported and self.is_about(backend)
            return replace(result, unexpected=True) if lost else None
        entry = listed[0].entry
        passed = result.verdict is Verdict.PASS
        if result.verdict in (Verdict.NOT_RUN, Verdict.BAD_CASE) or (passed and entry.sometimes):
            return result
        is_as_listed = not passed and _fails_as(result, entry, looks)
        if passed:
            verdict = Verdict.UNEXPECTED_PASS
        elif is_as_listed:
            verdict = Verdict.KNOWN
        else:
            verdict = result.verdict
        return replace(
            result,
            verdict=verdict,
            found=result.verdict,
            known=listed[0].known(),
            unexpected=not (is_as_listed or (passed and self.lenient)),
        )


def _fails_as(result: LiveResult, entry: LedgerEntry, looks: Callable[[str], bool]) -> bool:
    """Return True if a failure is of the kind that an entry lists: by all that it states.

    `looks` may run cases. It is called last, for each mistake of the entry until one is alike.
    """
    if entry.verdict is not None and result.verdict not in entry.verdict:
        return False
    if entry.failure is not None and result.failure not in entry.failure:
        return False
    if entry.reason is not None and not says(result.reason, entry.reason):
        return False
    # Last, because it takes as long as some cases.
    return entry.looks is None or any(map(looks, entry.looks))


def says(reason: str, pattern: str) -> bool:
    """Return True if a reason contains the pattern; `*` matches anything, newlines are blanks.

    Letters have their case, and several blanks count as one. "" is in any reason.
    """
    parts = (re.escape(" ".join(part.split())) for part in pattern.split("*"))
    # The first place of each part decides, or a search could take forever.
    wanted = "".join(f"(?>.*?{part})" for part in parts)
    return re.match(wanted, " ".join(reason.split())) is not None


def by_operator(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return the cases by the operator's name."""
    return group_by(cases, lambda case: case.op.name)


def of_operators(cases_by_operator: Mapping[str, Sequence[Case]], ops: Iterable[str]) -> list[Case]:
    """Return the cases of operators, of one that is named twice once."""
    return [case for op in dict.fromkeys(ops) for case in cases_by_operator.get(op, ())]


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """Facts that ledgers are checked against; `cases` are all that were read, selected or not.

    Where these hold all shipped cases of their operators, they are `whole`.
    """

    backends: Sequence[BackendInfo]
    cases: Sequence[Case]
    whole: bool
    #: Reads the shipped suites of operators, whose cases a ledger may list too.
    elsewhere: Callable[[Collection[str]], Sequence[Case]]
    #: Returns why an address names no backend, or None.
    why_none: Callable[[str], str | None]
    #: Returns the mistakes that failures of an operator can look like.
    looks: Callable[[model.OpVersion], Collection[str]]

    @cached_property
    def cases_by_operator(self) -> Mapping[str, Sequence[Case]]:
        """The cases that were read, by the operator's name."""
        return by_operator(self.cases)

    def read_cases(self, ops: Iterable[str]) -> Sequence[Case]:
        """Return the cases of operators that were read; a name may be there twice."""
        return of_operators(self.cases_by_operator, ops)

    def all_cases(self, ops: Collection[str]) -> Sequence[Case]:
        """Return the cases that were read and the shipped ones of operators, each once."""
        unread = {op for op in ops if not (self.whole and op in self.cases_by_operator)}
        if not unread:
            return self.cases
        by_id = {case.id: case for case in (*self.elsewhere(unread), *self.cases)}
        return [*by_id.values()]


def check(gate: Gate, facts: Facts, pruned: UserLedger | None = None) -> None:
    """Check the names in ledgers against the backends and cases that there are.

    Args:
        gate: The ledgers. One without a backend of the run is not in force, and not checked.
        facts: What there is.
        pruned: The ledger whose places without a case are not reported, as they will be dropped.

    Raises:
        CaseFileError: with all problems, or else with the cases that are listed twice: names of no
            backends, no ledger about a backend of the run, versions of a backend without any that
            a range can contain, places that no case has, and mistakes that no failure looks like.
    """
    problems = Problems()
    misnamed = [ledger for ledger in gate.ledgers if _has_unknown_backends(ledger, facts, problems)]
    in_force = [
        ledger
        for ledger in gate.ledgers
        if ledger in misnamed or any(map(ledger.is_about, facts.backends))
    ]
    if not in_force:
        addresses = ", ".join(quoted(backend.address) for backend in facts.backends)
        for ledger in gate.ledgers:
            message = f"this ledger is not about a backend of the run: {addresses}"
            problems.add(ledger.file, ledger.node.at(("backend",)), message)
    for ledger in in_force:
        _check_versions(ledger, facts, problems)
        for number, entry in enumerate(ledger.fields.known):
            for place in range(len(entry.where)):
                _check_place(ledger, number, place, facts, problems, pruned=ledger is pruned)
    problems.raise_if_any()
    _check_listed_once(gate, facts, problems)
    problems.raise_if_any()


def _has_unknown_backends(ledger: UserLedger, facts: Facts, problems: Problems) -> bool:
    """Return True for a ledger with names of no backends, which are reported."""
    before = len(problems)
    for number, name in enumerate(ledger.fields.backend):
        message = facts.why_none(name)
        if message:
            mark = ledger.node.at(("backend", number))
            problems.add(ledger.file, mark, f"{quoted(name)} is not a backend: {message}")
    return len(problems) > before


def _check_versions(ledger: UserLedger, facts: Facts, problems: Problems) -> None:
    """Report versions of entries where a backend has none that is in any range.

    Raises nothing: `problems` gets them.
    """
    for number, entry in enumerate(ledger.fields.known):
        if entry.versions is None:
            continue
        for backend in filter(ledger.is_about, facts.backends):
            if not is_version(backend.version):
                version = quoted(backend.version) if backend.version else "none"
                message = f"{backend.address} has a version that no range can contain: {version}"
                mark = ledger.node.at(("known", number, "versions"), key=True)
                problems.add(ledger.file, mark, message, "leave 'versions' out")


def _check_listed_once(gate: Gate, facts: Facts, problems: Problems) -> None:
    """Report entries that list a case which an earlier one lists: they would explain nothing.

    Raises nothing: `problems` gets them, each place once.
    """
    reported: set[tuple[str, str, int]] = set()
    for backend in filter(gate.is_about, facts.backends):
        for case in _cases_that_may_be_listed_twice(gate, facts, backend):
            listed = gate.listed(case, backend)
            for other in listed[1:]:
                first = f"{listed[0].ledger.file}:{listed[0].line}"
                key = (first, other.ledger.file, other.line)
                if key not in reported:
                    reported.add(key)
                    mark = other.ledger.node.at(("known", other.number, "where", other.place))
                    problems.add(other.ledger.file, mark, f"{case.id} is listed at {first} too")


def _cases_that_may_be_listed_twice(
    gate: Gate, facts: Facts, backend: BackendInfo
) -> Iterator[Case]:
    """Yield the cases that were read of a name about which two places may be."""
    cases = facts.read_cases(gate.operators)
    several = {
        key: len(gate.places(*key, backend)) > 1
        for key in dict.fromkeys((case.op.name, case.name) for case in cases)
    }
    yield from (case for case in cases if several[case.op.name, case.name])


def is_dead(place: Place, cases: Iterable[Case]) -> bool:
    """Return True if a part of a place, a field's item, matches none of these cases."""
    return bool(_in_vain(place, [case for case in cases if place.fits(case)]))


def _check_place(
    ledger: UserLedger, number: int, place: int, facts: Facts, problems: Problems, *, pruned: bool
) -> None:
    """Report what matches nothing of one place of an entry; both are given by their numbers.

    Raises nothing: `problems` gets it, unless the ledger is `pruned`, where only unknown
    operators and mistakes are reported. Shipped cases count where those that were read do not have
    it.
    """
    entry = ledger.fields.known[number]
    where = entry.where[place]
    path = ("known", number, "where", place)
    node = ledger.node.get(*path)
    if node and _has_unknown_operators(node, ledger.file, problems):
        return
    matched = [case for case in facts.read_cases(where.ops) if where.fits(case)]
    ops = {case.op for case in matched}
    if _in_vain(where, matched):
        every = facts.all_cases(where.ops)
        ops = {case.op for case in every if case.op.name in where.ops}
        matched = [case for case in every if where.fits(case)]
        if not pruned:
            for field, items, message, hint in _nowhere(where, every):
                problems.add(ledger.file, ledger.node.at((*path, field, *items)), message, hint)
    if entry.looks and ops:
        _check_looks(ledger, number, ops, facts, problems)


def _check_looks(
    ledger: UserLedger,
    number: int,
    ops: Collection[model.OpVersion],
    facts: Facts,
    problems: Problems,
) -> None:
    """Report mistakes of an entry that failures of these operators cannot look like.

    Raises nothing: `problems` gets them. `number` is the entry's.
    """
    by_operator = [facts.looks(op) for op in ops]
    for item, name in enumerate(ledger.fields.known[number].looks or ()):
        if not any(name in looks for looks in by_operator):
            names = " or ".join(sorted({op.name for op in ops}))
            message = f"there is no mistake {quoted(name)} of {names}"
            mark = ledger.node.at(("known", number, "looks", item))
            # A combination of two mistakes is not a hint for a single one.
            every = {look for looks in by_operator for look in looks}
            alike = [look for look in every if look.count("+") <= name.count("+")]
            problems.add(ledger.file, mark, message, did_you_mean(name, alike))


def _in_vain(place: Place, cases: Collection[Case]) -> list[tuple[str, int]]:
    """Return the fields and items of a place that none of its cases has: a name and a number."""
    in_vain = []
    for field, value_of in VALUES.items():
        values = {value_of(case) for case in cases}
        for number, item in enumerate(getattr(place, field) or ()):
            if item not in values:
                in_vain.append((field, number))
    return in_vain


def _nowhere(
    place: Place, cases: Sequence[Case]
) -> Iterator[tuple[str, tuple[int, ...], str, str | None]]:
    """Yield parts of a place that do not exist: field, item, message, and hint or None.

    `item` is the number of a value in a tuple, which is empty for attributes.
    """
    # The most general field first. One that leaves no case is left out of account for the others.
    left = cases
    so_far = "cases that were read"
    reported: set[tuple[str, int]] = set()
    is_contradictory = False
    for name, value_of in VALUES.items():
        wanted = getattr(place, name)
        if wanted is None:
            continue
        known = {value_of(case) for case in left} - {None}
        for number, value in enumerate(wanted):
            if value not in known:
                reported.add((name, number))
                message = f"none of the {so_far} has the {name} {validation.shown(value)}"
                yield name, (number,), message, _known_values(value, known)
        narrowed = [case for case in left if value_of(case) in wanted]
        if not narrowed:
            is_contradictory = True
            continue
        left = narrowed
        so_far = f"cases with {'this' if len(wanted) == 1 else 'one of these'} {name}"
    if is_contradictory:
        return
    matched = [case for case in left if place.fits(case)]
    if not matched and place.attrs:
        yield "attrs", (), f"none of the {so_far} has these attributes", None
        return
    for name, number in _in_vain(place, matched):
        if (name, number) not in reported:
            value = validation.shown(getattr(place, name)[number])
            message = f"no case has the {name} {value} and what else is stated"
            yield name, (number,), message, None


def _known_values(value: object, known: Iterable[object]) -> str | None:
    """Return a hint at the known value that one may mean, else at some; None without any."""
    names = sorted(map(str, known))
    hint = did_you_mean(str(value), names)
    if hint or not names:
        return hint
    shown = names[:_LISTED]
    if len(names) > _LISTED:
        shown.append("…")
    return f"there are {', '.join(shown)}"
