"""What the cases of each name show that no others show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from opcheck.clauses import Survey
from opcheck.known import Ledger
from opcheck.model import Case
from opcheck.model.mutation import Group, Mutant, Mutation

#: How the names of cases begin that repeat an example of the specification, or what everybody runs.
EXAMPLES = ("worked_example", "node_test")

#: An operator, and the name of some of its cases.
_Name = tuple[str, str, str]


def groups(
    cases: Sequence[Case],
    mutations: Iterable[Mutation],
    surveys: Iterable[Survey],
    ledgers: Iterable[Ledger] = (),
) -> tuple[Group, ...]:
    """The groups of `cases`, in their order.

    `mutations` are what they see of every mistake, each killed or noticed by two names if there are
    two that do; `surveys` are about the same cases. What `ledgers` know is about shipped ones.
    """
    by_name: dict[_Name, list[Case]] = defaultdict(list)
    for case in cases:
        by_name[_name(case)].append(case)
    alone = _seen_alone({case.id: _name(case) for case in cases}, mutations)
    sentences = _tested_alone(surveys)
    defects = _known_alone(by_name, ledgers)
    return tuple(
        Group(
            op=name[1],
            name=name[2],
            cases=len(those),
            source=str(those[0].source),
            alone=tuple(alone.get(name, ())),
            sentences=tuple(sentences.get(name, ())),
            defects=tuple(defects.get(name, ())),
            example=name[2].startswith(EXAMPLES),
            undecided=any(case.rule == "open" for case in those),
        )
        for name, those in by_name.items()
    )


def _name(case: Case) -> _Name:
    return case.op.domain, case.op.name, case.name


def _seen_alone(
    names: Mapping[str, _Name], mutations: Iterable[Mutation]
) -> dict[_Name, list[Mutant]]:
    """The mutants that one group alone kills; of those that none kills, that one alone notices."""
    found: dict[_Name, list[Mutant]] = defaultdict(list)
    for mutation in mutations:
        seen = {names[case] for case in mutation.killers or mutation.noticers}
        if len(seen) == 1:
            found[seen.pop()].append(mutation.mutant)
    return found


def _tested_alone(surveys: Iterable[Survey]) -> dict[_Name, list[str]]:
    """The sentences that one group alone tests, on the page of any version."""
    found: dict[_Name, list[str]] = defaultdict(list)
    for survey in surveys:
        for checked in survey.sentences:
            names = {label.partition("#")[0] for label in checked.cases}
            if len(names) == 1:
                text = checked.sentence.text
                mine = found[survey.op.domain, survey.op.name, names.pop()]
                mine += [text] if text not in mine else []
    return found


def _known_alone(
    by_name: Mapping[_Name, Sequence[Case]], ledgers: Iterable[Ledger]
) -> dict[_Name, list[tuple[str, str]]]:
    """The defects of released backends that the cases of one group alone are known to find."""
    found: dict[_Name, list[tuple[str, str]]] = defaultdict(list)
    for ledger in ledgers:
        for line in ledger.fields.known:
            names = [
                name
                for name, cases in by_name.items()
                if any(case.source.shipped and line.is_about(case) for case in cases)
            ]
            if len(names) == 1:
                found[names[0]].append((ledger.fields.backend[0], line.cause))
    return found
