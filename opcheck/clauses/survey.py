"""The cases of every sentence: those that its file names and those that quote it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from opcheck.clauses.pages import Pages, Sentence
from opcheck.clauses.quoting import cited, quotation
from opcheck.model import Case, OpVersion


@dataclass(frozen=True)
class Checked:
    """A sentence and the number of concrete cases that test it, by name.

    A name with a row, `name#row`, stands for that row alone.
    """

    sentence: Sentence
    cases: Mapping[str, int]


@dataclass(frozen=True)
class Survey:
    """What tests one page; `strays` are cases that quote what does not stand on it.

    `link` is None where opcheck has no pages of the operator's version.
    """

    op: OpVersion
    link: str | None
    sentences: tuple[Checked, ...]
    strays: tuple[Case, ...]


def survey(pages: Iterable[Pages], cases: Iterable[Case]) -> tuple[Survey, ...]:
    """A survey of the page of each operator version that `cases` are about, in order.

    Names of cases mean what the shipped suites mean by them: any other case counts for what it
    quotes.
    """
    known = {(p.domain, p.op, version): p for p in pages for version in p.versions}
    about: dict[OpVersion, list[Case]] = defaultdict(list)
    for case in cases:
        about[case.op].append(case)
    return tuple(
        _survey(op, known.get((op.domain, op.name, op.since)), about[op]) for op in sorted(about)
    )


def _survey(op: OpVersion, pages: Pages | None, cases: Sequence[Case]) -> Survey:
    if pages is None:
        return Survey(op, None, (), ())
    page = pages.page(op.since)
    by_clause: dict[str, tuple[Sentence, ...]] = {}
    by_name: dict[str, list[Case]] = defaultdict(list)
    quoting: dict[Sentence, list[Case]] = defaultdict(list)
    strays = []
    for case in cases:
        by_name[case.name].append(case)
        if case.clause not in by_clause:
            by_clause[case.clause] = cited(quotation(case.clause, op), page)
        for sentence in by_clause[case.clause]:
            quoting[sentence].append(case)
        if case.clause and not by_clause[case.clause]:
            strays.append(case)
    checked = []
    for sentence in page:
        named = [case for label in sentence.cases for case in _called(label, by_name)]
        chosen = {case.id: case for case in (*named, *quoting[sentence])}
        names = {case.name for case in chosen.values()}
        whole = {name for name in names if all(case.id in chosen for case in by_name[name])}
        counts = Counter(_label(case, whole) for case in chosen.values())
        checked.append(Checked(sentence, dict(counts)))
    return Survey(op, pages.link, tuple(checked), tuple(strays))


def _called(label: str, by_name: Mapping[str, Sequence[Case]]) -> list[Case]:
    """The shipped cases that a file calls `name` or `name#row`."""
    name, _, row = label.partition("#")
    found = by_name.get(name, ())
    return [case for case in found if case.source.shipped and row in ("", case.row)]


def _label(case: Case, whole: Set[str]) -> str:
    """A case's name, with its row unless all cases of that name are meant."""
    return case.name if case.row is None or case.name in whole else f"{case.name}#{case.row}"
