"""Which cases test each sentence of a page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from opcheck import opset
from opcheck.clauses.files import Pages, pages_of
from opcheck.clauses.pages import Sentence, cited, quotation
from opcheck.errors import Problem
from opcheck.model import Case, OpVersion, OutputSpec, Rejected, TensorSpec


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

    `link` is None where opcheck has no pages of the operator's version. `problems` are those of the
    operator's file of `clauses/`.
    """

    op: OpVersion
    link: str | None
    sentences: tuple[Checked, ...]
    strays: tuple[Case, ...]
    problems: tuple[Problem, ...] = ()


def survey(
    cases: Iterable[Case], pages: Callable[[str, str], Pages | None] = pages_of
) -> tuple[Survey, ...]:
    """A survey of the page of each operator version that `cases` are about, in order.

    `pages` returns those of a domain's operator. Names of cases mean what the shipped suites mean
    by them: any other case counts for what it quotes.
    """
    about: dict[OpVersion, list[Case]] = defaultdict(list)
    for case in cases:
        about[case.op].append(case)
    return tuple(_survey(op, pages(op.domain, op.name), about[op]) for op in sorted(about))


def _survey(op: OpVersion, pages: Pages | None, cases: Sequence[Case]) -> Survey:
    page = pages.versions.get(op.since) if pages else None
    if pages is None or page is None:
        return Survey(op, None, (), ())
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
        named = (label.partition("#") for label in sentence.cases)
        tested = [
            case
            for name, _, row in named
            for case in by_name.get(name, ())
            if case.source.shipped and row in ("", case.row)
        ]
        tested += quoting[sentence]
        if sentence.heading and not (tested or sentence.cases or sentence.nothing):
            tested = _asking(sentence, op, cases)
        chosen = {case.id: case for case in tested}
        if chosen and not sentence.source.line:
            # What is quoted is tested, whatever its kind.
            sentence = replace(sentence, nothing=None)
        names = {case.name for case in chosen.values()}
        whole = {name for name in names if all(case.id in chosen for case in by_name[name])}
        # A case goes by its name, with its row unless all cases of that name are meant.
        counts = Counter(
            one.name if one.row is None or one.name in whole else f"{one.name}#{one.row}"
            for one in chosen.values()
        )
        checked.append(Checked(sentence, dict(counts)))
    return Survey(op, pages.link, tuple(checked), tuple(strays), pages.problems)


def _asking(heading: Sentence, op: OpVersion, cases: Sequence[Case]) -> list[Case]:
    """The cases that test a heading: those with an answer that have what it announces.

    The default of an attribute is tested where the attribute is left out, and a list of types
    where every one of them occurs.
    """
    answered = [case for case in cases if not isinstance(case.expect, Rejected)]
    kind, _, name = heading.part.rpartition(" ")
    if kind == "Attribute":
        left_out = "(default is" in heading.text
        return [case for case in answered if (name in case.attrs) != left_out]
    schema = opset.versions(op.domain, op.name)[op.since]
    listed = kind == "Type constraint"
    formals = [*schema.inputs, *schema.outputs]
    formals = [f for f in formals if name == (f.constraint if listed else f.name)]
    types = {case.id: _types(case, {formal.name for formal in formals}) for case in answered}
    if listed and not {t for f in formals for t in f.types} <= set().union(*types.values()):
        return []
    return [case for case in answered if not kind or types[case.id]]


def _types(case: Case, names: Set[str]) -> set[str]:
    """The types of the inputs and outputs of a case with these names; "" for an open one."""
    found: list[TensorSpec | OutputSpec] = [*case.inputs, *case.outputs]
    # A variadic `data` is written as data_0, data_1 …
    named = [tensor for tensor in found if {tensor.name, re.sub(r"_\d+$", "", tensor.name)} & names]
    return {tensor.dtype.text if tensor.dtype else "" for tensor in named}
