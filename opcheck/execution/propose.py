"""Propose small cases that kill surviving mutants.

Nodes are drawn at random, small ones first. One that kills is made smaller as long as it kills.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from opcheck.engine.mutants import Mutant
from opcheck.execution.machine import in_parallel
from opcheck.execution.mutate import cells, mutant_of, mutants_in, size
from opcheck.execution.search.search_space import SearchSpace
from opcheck.model import Case, Cell, FromFile
from opcheck.model.mutation import MutantId, Proposal

#: How many nodes are drawn for a mutant before it is given up.
TRIES = 2000
#: Cases up to this size are tried, and lend their shapes and attributes.
_LENT = 300
#: The cells in which mutants of one operator are to be killed, by the mutants' names, and cases.
_Search: TypeAlias = tuple[Mapping[str, tuple[Cell, ...]], Mapping[Cell, tuple[Case, ...]]]


def proposals(
    survivors: Iterable[MutantId],
    cases: Sequence[Case],
    tries: int = TRIES,
    jobs: int = 1,
    safe_place: Callable[[], None] = lambda: None,
) -> Iterator[Proposal]:
    """Yield cases that kill `survivors` of `cases`, in no order; none for stateful mutants."""
    known = cells(cases)
    by_op: dict[tuple[str, str], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for mutant in survivors:
        of_op = by_op[mutant.op.domain, mutant.op.name]
        of_op[mutant.name].append(Cell(mutant.op, mutant.dtype))
    searches: list[_Search] = []
    for (domain, name), wanted in by_op.items():
        mine = {c: known[c] for c in known if (c.op.domain, c.op.name) == (domain, name)}
        names = list(wanted)
        step = math.ceil(len(names) / (1 if jobs == 1 else 8 * jobs))
        for start in range(0, len(names), step):
            part = {n: tuple(wanted[n]) for n in names[start : start + step]}
            searches.append((part, mine))
    for found in in_parallel(partial(_search, tries), searches, jobs, safe_place):
        yield from found


def _search(tries: int, search: _Search) -> list[Proposal]:
    wanted, cases = search
    cells = {cell for among in wanted.values() for cell in among}
    search_spaces = {cell: SearchSpace(cell, _lent(cell, cases), tries) for cell in cells}
    return [
        proposal
        for name, among in wanted.items()
        for proposal in _of_mutant(name, [search_spaces[cell] for cell in among])
    ]


def _lent(cell: Cell, cases: Mapping[Cell, tuple[Case, ...]]) -> list[Case]:
    """The small cases of the operator, smallest first, those of the same version before others."""
    small = {
        case.id: case
        for among in cases.values()
        for case in among
        if size(case) <= _LENT and not any(isinstance(s.content, FromFile) for s in case.inputs)
    }
    return sorted(small.values(), key=lambda case: (size(case), case.op != cell.op))


def _of_mutant(name: str, search_spaces: Sequence[SearchSpace]) -> Iterator[Proposal]:
    """Yield proposals for one mutant; a case that kills in one cell is tried in the others."""
    left = [
        (search_space, wrong)
        for search_space in search_spaces
        for wrong in mutants_in(search_space.cell.op, search_space.cell.dtype)
        if wrong.name == name and isinstance(wrong, Mutant)
    ]
    while left:
        (first, mutant), *left = left
        if (found := first.found(mutant)) is None:
            continue
        case = first.case(found, mutant)
        served = [(one, its) for one, its in left if one.serves(found, its, case)]
        left = [other for other in left if other not in served]
        killed = [(first, mutant), *served]
        yield Proposal(tuple(mutant_of(one.cell, its) for one, its in killed), case)
