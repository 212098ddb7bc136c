"""What the cases of each name show that no others do."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from opcheck.clauses import Survey
from opcheck.grouping import group_by
from opcheck.known import Ledger
from opcheck.model import Case, MutantId, Mutation

#: Beginnings of the names of cases that repeat examples or common tests.
EXAMPLES = ("worked_example", "node_test")
#: An operator, and the name of some of its cases.
_Name = tuple[str, str, str]
Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class CaseGroup:
    """The cases of one name, and everything that they alone show.

    `alone` are the mutants that only this group kills or notices; `sentences` those of the
    specification that only it tests; `defects` known ones that show in it only, each as the backend
    and the cause. An `example` repeats what a specification or a common suite shows. `undecided`:
    they record what backends answer where the text does not decide.
    """

    op: str
    name: str
    cases: int
    source: str
    alone: tuple[MutantId, ...] = ()
    sentences: tuple[str, ...] = ()
    defects: tuple[tuple[str, str], ...] = ()
    example: bool = False
    undecided: bool = False

    @property
    def shows_nothing(self) -> bool:
        """Return True if other groups show everything that this one shows."""
        return not (self.alone or self.sentences or self.defects or self.example or self.undecided)


def groups(
    cases: Sequence[Case],
    mutations: Iterable[Mutation],
    surveys: Iterable[Survey],
    ledgers: Iterable[Ledger] = (),
) -> tuple[CaseGroup, ...]:
    """The groups of `cases`, in their order; `mutations` name two killers if there are two."""
    by_name = group_by(cases, _name)
    names = {case.id: _name(case) for case in cases}
    # Of mutants that none kills, that one alone notices.
    mutants = _alone(((names[c] for c in m.killers or m.noticers), m.mutant) for m in mutations)
    # On the page of any version.
    sentences = _alone(
        (
            ((survey.op.domain, survey.op.name, label.partition("#")[0]) for label in one.cases),
            one.sentence.text,
        )
        for survey in surveys
        for one in survey.sentences
    )
    shipped = {name: [c for c in those if c.source.shipped] for name, those in by_name.items()}
    defects = _alone(
        (
            (name for name, those in shipped.items() if any(map(line.is_about, those))),
            (ledger.fields.backend[0], line.cause),
        )
        for ledger in ledgers
        for line in ledger.fields.known
    )
    return tuple(
        CaseGroup(
            op=name[1],
            name=name[2],
            cases=len(those),
            source=str(those[0].source),
            alone=mutants.get(name, ()),
            sentences=sentences.get(name, ()),
            defects=defects.get(name, ()),
            example=name[2].startswith(EXAMPLES),
            undecided=any(case.rule == "open" for case in those),
        )
        for name, those in by_name.items()
    )


def _name(case: Case) -> _Name:
    return case.op.domain, case.op.name, case.name


def _alone(seen: Iterable[tuple[Iterable[_Name], Item]]) -> dict[_Name, tuple[Item, ...]]:
    """Items that one group alone sees, by group; `seen` has the groups that see each item."""
    found: dict[_Name, dict[Item, None]] = defaultdict(dict)
    for names, item in seen:
        if len(those := {*names}) == 1:
            found[those.pop()][item] = None
    return {name: tuple(items) for name, items in found.items()}
