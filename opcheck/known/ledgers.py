"""Ledgers of known failures: those that ship with opcheck, and those of users, which are a gate.

A failure that a ledger lists, in its way and place, is `known` and green. A case of a user's ledger
that fails otherwise keeps its verdict, and one that passes is an `unexpected pass`: both are red,
and so is an unsupported case that is not listed. Entries that match nothing are reported before
anything runs.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

from opcheck import opset
from opcheck.errors import did_you_mean
from opcheck.known import fields as f
from opcheck.known.fields import VALUES, Place, is_version
from opcheck.model import BackendInfo, Case, Known, LiveResult, OpVersion, Verdict
from opcheck.reading import FileNode, Problems, quoted, read_file, shipped_folder, validation
from opcheck.reading.validation import shown

Fields = TypeVar("Fields", f.LedgerFields, f.UserFields)


@dataclass(frozen=True)
class Ledger:
    """The known defects of one backend."""

    file: str
    fields: f.LedgerFields
    _found: dict[tuple[str, str, str], list[f.Line]] = field(default_factory=dict, init=False)

    def line_for(self, result: LiveResult, backend: BackendInfo) -> f.Line | None:
        """The first line that explains a failure of a shipped case, or that denies a pass."""
        address = (backend.of or backend.address).partition("?")[0]
        if address not in self.fields.backend or not result.case.source.shipped:
            return None
        if (passed := result.verdict is Verdict.PASS) and backend.accumulate:
            return None  # A declared arithmetic may pass.
        for line in self._lines(result.case.op.name, result.case.name, backend.version):
            fails = result.verdict in f.FAILING and result.failure in line.failure
            if (fails or (passed and not line.sometimes)) and line.is_about(result.case):
                return line
        return None

    def _lines(self, op: str, name: str, version: str) -> list[f.Line]:
        """The lines that may be about cases of a name, for a version of the backend."""
        if (op, name, version) not in self._found:
            self._found[op, name, version] = [
                line
                for line in self.fields.known
                if any(place.may_be_about(op, name) for place in line.where)
                and f.within(version, line.versions)
            ]
        return self._found[op, name, version]


def load_ledgers(paths: Iterable[Path]) -> tuple[Ledger, ...]:
    """The ledgers in `paths`; raises CaseFileError with every problem of every file."""
    problems = Problems()
    ledgers = []
    for path, node, fields in _read(paths, f.LedgerFields, problems):
        # Each `same_as` begins the cause of exactly one independent line.
        causes = [line.cause for line in fields.known if line.same_as is None]
        for number, begin in enumerate(line.same_as for line in fields.known):
            if begin and (count := sum(cause.startswith(begin) for cause in causes)) != 1:
                message = f"{quoted(begin)} begins {count} causes of other lines, not 1"
                problems.add(str(path), node.at(("known", number, "same_as")), message)
        ledgers.append(Ledger(path.name, fields))
    problems.raise_if_any()
    return tuple(ledgers)


def _read(
    paths: Iterable[Path], cls: type[Fields], problems: Problems
) -> Iterator[tuple[Path, FileNode, Fields]]:
    entry = f.Line if cls is f.LedgerFields else f.LedgerEntry
    keys = {"where": validation.aliases(f.Place), "known": validation.aliases(entry)}
    for path in paths:
        node = read_file(path, problems)
        fields = validation.check(cls, node, str(path), problems, keys)[0] if node else None
        if node and fields:
            yield path, node, fields


@cache
def shipped_ledgers() -> tuple[Ledger, ...]:
    """The ledgers that ship with opcheck; read once, though a session may judge many runs."""
    return load_ledgers(sorted(shipped_folder("_known", "reports/known").glob("*.yaml")))


def explain(ledgers: Iterable[Ledger], result: LiveResult, backend: BackendInfo) -> LiveResult:
    """`result` with its ledger's line: a failure becomes `known`, a pass shows it as outdated."""
    for ledger in ledgers:
        if (line := ledger.line_for(result, backend)) is not None:
            known = Known(line.cause, line.link, ledger.file)
            verdict = Verdict.PASS if result.verdict is Verdict.PASS else Verdict.KNOWN
            return replace(result, verdict=verdict, found=result.verdict, known=known)
    return result


@dataclass(frozen=True, eq=False)
class UserLedger:
    """A user's ledger; `node` and `lines` are the file as it is written."""

    path: Path
    fields: f.UserFields
    node: FileNode
    lines: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name of the file in messages."""
        return str(self.path)

    @cached_property
    def digest(self) -> str:
        """Equal for ledgers of equal contents."""
        return hashlib.sha256(self.fields.model_dump_json().encode()).hexdigest()[:16]

    def is_unchanged(self) -> bool:
        """Return True if the file is unchanged since it was read."""
        try:
            return _lines(self.path) == self.lines
        except (OSError, ValueError):
            return False

    def is_about(self, backend: BackendInfo) -> bool:
        """True if it names the backend's profile or address; that of code may omit the class."""
        names = {name for name in (backend.address, backend.of, backend.asked) if name}
        names |= {name.partition("?")[0] for name in names}
        names |= {":".join(n.split(":")[:2]) for n in names if n.startswith(("py:", "onnx:"))}
        return not names.isdisjoint(self.fields.backend)

    def line_of(self, number: int, place: int) -> int:
        """The line to delete if nothing fails any more in a place of an entry, from 1."""
        alone = len(self.fields.known[number].where) == 1
        path = ("known", number) if alone else ("known", number, "where", place)
        return self.node.at(path).line


def load_user_ledgers(paths: Iterable[Path]) -> tuple[UserLedger, ...]:
    """The ledgers in `paths`, each file once; raises CaseFileError with every problem of all."""
    problems = Problems()
    once = {path.resolve(): path for path in paths}.values()
    read = _read(once, f.UserFields, problems)
    ledgers = [UserLedger(path, fields, node, _lines(path)) for path, node, fields in read]
    problems.raise_if_any()
    return tuple(ledgers)


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8-sig").splitlines())


@dataclass(frozen=True, eq=False)
class _Listed:
    """Where a case is listed: the number of a ledger's entry, and one of its places."""

    ledger: UserLedger
    number: int
    place: int

    @property
    def entry(self) -> f.LedgerEntry:
        return self.ledger.fields.known[self.number]

    @property
    def where(self) -> Place:
        return self.entry.where[self.place]

    @property
    def line(self) -> int:
        return self.ledger.line_of(self.number, self.place)

    def known(self) -> Known:
        text = self.ledger.lines[self.line - 1].strip()
        if not text.endswith("}"):  # of a mapping in lines this is but the first
            text += " …"
        entry = self.entry
        return Known(entry.cause, entry.link, self.ledger.file, self.line, text, entry.expected)


class Gate:
    """The ledgers of a user, as they are in force in a run."""

    def __init__(self, ledgers: Iterable[UserLedger] = ()) -> None:
        self.ledgers = tuple(ledgers)
        self._listed: dict[tuple[str, str, str, str], list[_Listed]] = {}

    @property
    def digests(self) -> Mapping[str, str]:
        """Digests of the ledgers in force, by file."""
        return {ledger.file: ledger.digest for ledger in self.ledgers}

    def is_about(self, backend: BackendInfo) -> bool:
        """Return True if one of the ledgers is of this backend."""
        return any(ledger.is_about(backend) for ledger in self.ledgers)

    def listed(self, case: Case, backend: BackendInfo) -> list[_Listed]:
        """Return where a case is listed for a backend of this version; twice is an error."""
        key = backend.address, backend.version, case.op.name, case.name
        if key not in self._listed:
            some = [
                _Listed(ledger, number, place)
                for ledger in self.ledgers
                if ledger.is_about(backend)
                for number, entry in enumerate(ledger.fields.known)
                if entry.holds_for(backend.version)
                for place, where in enumerate(entry.where)
                if where.may_be_about(case.op.name, case.name)
            ]
            # First the places that name the operator.
            self._listed[key] = sorted(some, key=lambda one: one.where.op is None)
        return [one for one in self._listed[key] if one.where.fits(case)]

    def judged(
        self, result: LiveResult, backend: BackendInfo, looks: Callable[[str], bool]
    ) -> LiveResult | None:
        """`result` by the ledgers, or None; `looks` is True if a mistake gives this answer."""
        found = self.listed(result.case, backend)
        unsupported = result.verdict is Verdict.UNSUPPORTED and not result.inexpressible
        if not found:
            lost = unsupported and self.is_about(backend)
            return replace(result, unexpected=True) if lost else None
        listed = found[0]
        match result.verdict:
            case Verdict.NOT_RUN | Verdict.BAD_CASE:
                return result
            case Verdict.PASS:
                if listed.entry.sometimes:
                    return result
                verdict, red = Verdict.UNEXPECTED_PASS, True
            case _:
                red = not is_as_listed(listed.entry, result, looks)
                verdict = result.verdict if red else Verdict.KNOWN
        known = listed.known()
        return replace(result, verdict=verdict, found=result.verdict, known=known, unexpected=red)


def is_as_listed(entry: f.LedgerEntry, result: LiveResult, looks: Callable[[str], bool]) -> bool:
    """Return True if a result fails in the way that an entry lists."""
    return (
        (entry.verdict is None or result.verdict in entry.verdict)
        and (entry.failure is None or result.failure in entry.failure)
        and (entry.reason is None or says(result.reason, entry.reason))
        # Last, because it takes as long as some cases.
        and (entry.looks is None or any(map(looks, entry.looks)))
    )


def says(reason: str, pattern: str) -> bool:
    """Return True if a reason contains the pattern; `*` matches anything, newlines are blanks."""
    text, end = " ".join(reason.split()), 0
    for part in pattern.split("*"):
        wanted = " ".join(part.split())
        if (begin := text.find(wanted, end)) < 0:
            return False
        end = begin + len(wanted)
    return True


#: How many names a hint lists if none is like the wrong one.
_LISTED = 8


@dataclass(frozen=True)
class Facts:
    """Facts that ledgers are checked against; `cases` are all that were read, selected or not.

    `elsewhere` reads the shipped suites, whose cases a ledger may list too. `why_none` returns why
    an address names no backend, `looks` the mistakes that failures of an operator can look like.
    """

    backends: Sequence[BackendInfo]
    cases: Sequence[Case]
    elsewhere: Callable[[], Sequence[Case]]
    why_none: Callable[[str], str | None]
    looks: Callable[[OpVersion], Collection[str]]

    @cached_property
    def all_cases(self) -> tuple[Case, ...]:
        """The cases that were read and those of the shipped suites, each once."""
        return tuple({case.id: case for case in (*self.elsewhere(), *self.cases)}.values())


def check(gate: Gate, facts: Facts, pruned: UserLedger | None = None) -> None:
    """Raise CaseFileError for entries that match nothing, except those `pruned` will drop."""
    problems = Problems()
    for ledger in gate.ledgers:
        for number, name in enumerate(ledger.fields.backend):
            if message := facts.why_none(name):
                mark = ledger.node.at(("backend", number))
                problems.add(ledger.file, mark, f"{quoted(name)} is no backend: {message}")
    problems.raise_if_any()
    in_force = [one for one in gate.ledgers if any(map(one.is_about, facts.backends))]
    for ledger in gate.ledgers if not in_force else ():
        there = ", ".join(quoted(backend.address) for backend in facts.backends)
        mark = ledger.node.at(("backend",))
        problems.add(ledger.file, mark, f"this ledger is about no backend of the run, {there}")
    for ledger in in_force:
        _check_versions(ledger, facts, problems)
        for number, entry in enumerate(ledger.fields.known):
            for place in range(len(entry.where)):
                _check_place(ledger, number, place, facts, problems, pruned=ledger is pruned)
    if not problems:
        _check_overlaps(gate, facts, problems)
    problems.raise_if_any()


def is_dead(place: Place, cases: Iterable[Case]) -> bool:
    """Return True if a part of a place matches none of these cases."""
    return bool(_in_vain(place, [case for case in cases if place.fits(case)]))


def _check_versions(ledger: UserLedger, facts: Facts, problems: Problems) -> None:
    """Note entries with versions if the backend's version lies in no range."""
    for backend in filter(ledger.is_about, facts.backends):
        if is_version(backend.version):
            continue
        for number, entry in enumerate(ledger.fields.known):
            if entry.versions is not None:
                version = quoted(backend.version) if backend.version else "none"
                message = f"{backend.address} has a version that lies in no range: {version}"
                mark = ledger.node.at(("known", number, "versions"), key=True)
                problems.add(ledger.file, mark, message, "leave 'versions' out")


def _check_place(
    ledger: UserLedger, number: int, place: int, facts: Facts, problems: Problems, *, pruned: bool
) -> None:
    entry = ledger.fields.known[number]
    where = entry.where[place]
    path = ("known", number, "where", place)
    known = [name for domain in opset.domains() for name in opset.operators(domain)]
    unknown = [(item, name) for item, name in enumerate(where.op or ()) if name not in known]
    for item, name in unknown:
        hint = did_you_mean(name, known)
        if set(name) & {*"*?["}:
            hint = "there are no wildcards: what nobody named is not listed"
        mark = ledger.node.at((*path, "op", item))
        problems.add(ledger.file, mark, f"unknown operator {quoted(name)}", hint)
    if unknown:
        return
    about = [case for case in facts.cases if where.fits(case)]
    if _in_vain(where, about):
        about = [case for case in facts.all_cases if where.fits(case)]
        for field, items, message, hint in () if pruned else _nowhere(where, facts.all_cases):
            mark = ledger.node.at((*path, field, *items))
            problems.add(ledger.file, mark, message, hint)
    for item, name in enumerate(entry.looks or ()):
        looks = {look for op in {case.op for case in about} for look in facts.looks(op)}
        if about and name not in looks:
            names = " or ".join(sorted({case.op.name for case in about}))
            message = f"there is no mistake {quoted(name)} of {names}"
            mark = ledger.node.at(("known", number, "looks", item))
            # Two mistakes at once are no hint for a single one.
            alike = [one for one in looks if one.count("+") <= name.count("+")]
            problems.add(ledger.file, mark, message, did_you_mean(name, alike))


def _in_vain(place: Place, about: Collection[Case]) -> list[tuple[str, int]]:
    """The fields and items of a place that none of its cases has."""
    return [
        (field, number)
        for field in VALUES
        for number, value in enumerate(getattr(place, field) or ())
        if value not in {VALUES[field](case) for case in about}
    ]


def _nowhere(
    place: Place, cases: Sequence[Case]
) -> Iterator[tuple[str, tuple[int, ...], str, str | None]]:
    """Yield parts of a place that do not exist: field, item, message, and hint."""
    # The most general field first, and no more after one that leaves no case.
    left, so_far = list(cases), "cases that were read"
    gone: set[tuple[str, int]] = set()
    for name in VALUES:
        if (wanted := getattr(place, name)) is None:
            continue
        there = {VALUES[name](case) for case in left} - {None}
        missing = [(n, value) for n, value in enumerate(wanted) if value not in there]
        for number, value in missing:
            gone.add((name, number))
            message = f"none of the {so_far} has the {name} {shown(value)}"
            yield name, (number,), message, _hint(str(value), sorted(map(str, there)))
        if not (left := [case for case in left if VALUES[name](case) in wanted]):
            return
        so_far = f"cases with {'this' if len(wanted) == 1 else 'one of these'} {name}"
    if not (about := [case for case in left if place.fits(case)]) and place.attrs:
        yield "attrs", (), f"none of the {so_far} has these attributes", None
        return
    for name, number in _in_vain(place, about):
        if (name, number) not in gone:
            value = shown(getattr(place, name)[number])
            yield name, (number,), f"no case has the {name} {value} and what else is said", None


def _hint(value: str, known: list[str]) -> str | None:
    if (near := did_you_mean(value, known)) or not known:
        return near
    more = ", …" if len(known) > _LISTED else ""
    return f"there are {', '.join(known[:_LISTED])}{more}"


def _check_overlaps(gate: Gate, facts: Facts, problems: Problems) -> None:
    """Note cases that are listed twice: one of the entries explains nothing."""
    seen: set[tuple[str, str, int]] = set()
    for backend in filter(gate.is_about, facts.backends):
        for case in facts.cases:
            listed = gate.listed(case, backend)
            for other in listed[1:]:
                place = f"{listed[0].ledger.file}:{listed[0].line}"
                key = place, other.ledger.file, other.line
                if key not in seen:
                    seen.add(key)
                    mark = other.ledger.node.at(("known", other.number, "where", other.place))
                    problems.add(other.ledger.file, mark, f"{case.id} is listed at {place} too")
