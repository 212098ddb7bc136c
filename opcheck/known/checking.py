"""Find what a user's ledger lists in vain, before anything runs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from opcheck import opset
from opcheck.errors import did_you_mean
from opcheck.known.fields import VALUES, Place, is_version
from opcheck.known.ledgers import Gate, UserLedger
from opcheck.model import BackendInfo, Case, OpVersion
from opcheck.reading import Problems, quoted
from opcheck.reading.validation import shown

#: How many names are told where none is like the one that is wrong.
_TOLD = 8


@dataclass(frozen=True)
class Facts:
    """Facts that ledgers are checked against.

    `cases` are all that were read, whether they were selected or not. `elsewhere` reads those of
    the shipped suites, where a ledger may list what this run was not asked about. `why_none` says
    why an address names no backend, `looks` what failures of an operator can look like.
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
    """Raise CaseFileError with all that is listed in vain, but for what `pruned` will drop."""
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
    """Return True if part of what a place names matches none of these cases."""
    return bool(_in_vain(place, [case for case in cases if place.fits(case)]))


def _check_versions(ledger: UserLedger, facts: Facts, problems: Problems) -> None:
    """Versions of a backend that has none would switch entries off."""
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
        for field, items, told, hint in () if pruned else _nowhere(where, facts.all_cases):
            mark = ledger.node.at((*path, field, *items))
            problems.add(ledger.file, mark, told, hint)
    for item, name in enumerate(entry.looks or ()):
        looks = {look for op in {case.op for case in about} for look in facts.looks(op)}
        if about and name not in looks:
            names = " or ".join(sorted({case.op.name for case in about}))
            told = f"there is no mistake {quoted(name)} of {names}"
            mark = ledger.node.at(("known", number, "looks", item))
            # Two at once are a hint for nobody who named one.
            alike = [one for one in looks if one.count("+") <= name.count("+")]
            problems.add(ledger.file, mark, told, did_you_mean(name, alike))


def _in_vain(place: Place, about: Collection[Case]) -> list[tuple[str, int]]:
    """The fields and items of a place that none of the cases has, which it is about."""
    return [
        (field, number)
        for field in VALUES
        for number, value in enumerate(getattr(place, field) or ())
        if value not in {VALUES[field](case) for case in about}
    ]


def _nowhere(
    place: Place, cases: Sequence[Case]
) -> Iterator[tuple[str, tuple[int, ...], str, str | None]]:
    """Yield what a place names that does not exist: field, item, message, and hint."""
    # Field by field, from what is most general, and no more after one that leaves no case at all.
    left, so_far = list(cases), "cases that were read"
    gone: set[tuple[str, int]] = set()
    for field in VALUES:
        if (wanted := getattr(place, field)) is None:
            continue
        there = {VALUES[field](case) for case in left} - {None}
        missing = [(n, value) for n, value in enumerate(wanted) if value not in there]
        for number, value in missing:
            gone.add((field, number))
            message = f"none of the {so_far} has the {field} {shown(value)}"
            yield field, (number,), message, _hint(str(value), sorted(map(str, there)))
        left = [case for case in left if VALUES[field](case) in wanted]
        if not left:
            return
        so_far = f"cases with {'this' if len(wanted) == 1 else 'one of these'} {field}"
    about = [case for case in left if place.fits(case)]
    if not about and place.attrs:
        yield "attrs", (), f"none of the {so_far} has these attributes", None
        return
    for field, number in _in_vain(place, about):
        if (field, number) not in gone:
            value = shown(getattr(place, field)[number])
            yield field, (number,), f"no case has the {field} {value} and what else is said", None


def _hint(value: str, known: list[str]) -> str | None:
    near = did_you_mean(value, known)
    if near or not known:
        return near
    more = ", …" if len(known) > _TOLD else ""
    return f"there are {', '.join(known[:_TOLD])}{more}"


def _check_overlaps(gate: Gate, facts: Facts, problems: Problems) -> None:
    """A case that is listed twice has an entry that explains nothing."""
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
