"""Which mistakes a suite sees: each is made in every version and dtype that the cases are about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TypeAlias

from opcheck.engine import dtypes_of, operator_of
from opcheck.engine.mutants import Mutant as Mistake
from opcheck.engine.mutants import mutants_of
from opcheck.engine.mutants.stateful import STATEFUL, StatefulMutant
from opcheck.errors import UsageError
from opcheck.model import Agreement, Case, OpVersion, Oracle, Verdict
from opcheck.model.mutation import Mutant, Mutation
from opcheck.model.support import Cell
from opcheck.run.parallel import in_parallel
from opcheck.run.search.ground import nodes_of
from opcheck.run.sight import RED, Sight

Wrong: TypeAlias = Mistake | StatefulMutant

#: Nodes that are drawn to see what a formula calls; the first ten or so that are legal show it.
_DRAWN = 40


@dataclass(frozen=True)
class Settings:
    """How mistakes are shown to the cases.

    `names`: the only mistakes, all where it is empty. `kills` is after how many different names of
    cases that kill a mistake no more are asked. `once`: backends are asked once each, so that no
    case sees a habit.
    """

    names: tuple[str, ...] = ()
    kills: int = 1
    once: bool = False


@dataclass(frozen=True)
class Plot:
    """The cases of one operator, and the names of some of the mistakes made there.

    The `first` plot of an operator also looks for cases that are wrong and that nobody asks.
    """

    cells: Mapping[Cell, tuple[Case, ...]]
    mistakes: tuple[str, ...]
    settings: Settings
    first: bool


def has_answer(case: Case) -> bool:
    """Whether a case says what must come out; it may leave that to a backend, or to several."""
    return not isinstance(case.expect, Oracle | Agreement)


@cache
def mistakes_in(op: OpVersion, dtype: str | None = None) -> tuple[Wrong, ...]:
    """What can be wrong with an operator, on one dtype or on any, the most specific first.

    Mutants of what its formula calls on none of some drawn nodes are left out. A suite's own cases
    do not decide that: what they never reach is a mistake that they do not see.
    """
    allowed = dtypes_of(op) if dtype is None else (dtype,)
    nodes = list(chain.from_iterable(nodes_of(Cell(op, one), _DRAWN) for one in allowed))
    concerned = (one for one in mutants_of(op) if any(map(one.concerns, nodes)))
    return (*concerned, *STATEFUL) if operator_of(op) else ()


def cells(cases: Iterable[Case]) -> dict[Cell, tuple[Case, ...]]:
    """The cases of each version that the engine knows, for each dtype that it allows.

    Those of a dtype that it does not allow are about none of them, and count for all. Those that
    do not say themselves what must come out are left out.
    """
    by_op: dict[OpVersion, list[Case]] = {}
    for case in filter(has_answer, cases):
        by_op.setdefault(case.op, []).append(case)
    found = {}
    for op in sorted(by_op):
        about = {case.id: _dtypes(case, dtypes_of(op)) for case in by_op[op]}
        for dtype in sorted(set().union(*(about[case.id] for case in by_op[op]))):
            mine = (case for case in by_op[op] if about[case.id] in ((), (dtype,)))
            found[Cell(op, dtype)] = tuple(mine)
    return found


def _dtypes(case: Case, allowed: Sequence[str]) -> tuple[str, ...]:
    """The dtype that a case is about, if it is allowed."""
    dtype = case.inputs[0].dtype.name if case.inputs else ""
    return (dtype,) if dtype in allowed else ()


def mutations(
    cases: Iterable[Case],
    settings: Settings | None = None,
    jobs: int = 1,
    safe_place: Callable[[], None] = lambda: None,
) -> Iterator[Mutation]:
    """What `cases` see of every mistake in every cell, in no order; in `jobs` processes.

    Raises UsageError for a case that is itself wrong: nobody could pass or fail it.
    """
    plots = _plots(cells(cases), settings or Settings(), jobs)
    if jobs == 1:
        return chain.from_iterable(map(_each, plots))
    return chain.from_iterable(in_parallel(_work, plots, jobs, safe_place))


def count(cases: Iterable[Case], settings: Settings) -> int:
    """How many mutations there will be."""
    return sum(len(_chosen(cell, settings)) for cell in cells(cases))


def _plots(found: Mapping[Cell, tuple[Case, ...]], settings: Settings, jobs: int) -> list[Plot]:
    """The work in parts, the longest first, so that all processes end at about the same time."""
    by_op: dict[tuple[str, str], dict[Cell, tuple[Case, ...]]] = {}
    for cell, mine in found.items():
        by_op.setdefault((cell.op.domain, cell.op.name), {})[cell] = mine
    costs = {
        op: sum(_cost(case) for mine in those.values() for case in mine)
        for op, those in by_op.items()
    }
    enough = sum(costs.values()) / (4 * jobs)
    plots = []
    for op in sorted(by_op, key=lambda op: -costs[op]):
        names = list(dict.fromkeys(w.name for cell in by_op[op] for w in _chosen(cell, settings)))
        parts = 1 if jobs == 1 else math.ceil(costs[op] / enough)
        for part in range(parts):
            # Neighbours are alike, and take as long.
            share = tuple(names[part::parts])
            if share:
                plots.append(Plot(by_op[op], share, settings, first=part == 0))
    return plots


def _cost(case: Case) -> int:
    """About how long a case takes, in elements: a small one takes some time too."""
    return 1000 + size(case)


def size(case: Case) -> int:
    """How many elements its inputs have."""
    return sum(math.prod(spec.shape) for spec in case.inputs)


def _chosen(cell: Cell, settings: Settings) -> list[Wrong]:
    wanted, found = settings.names, mistakes_in(cell.op, cell.dtype)
    return [wrong for wrong in found if not wanted or wrong.name in wanted]


def _work(plot: Plot) -> list[Mutation]:
    return list(_each(plot))


def _each(plot: Plot) -> Iterator[Mutation]:
    """What the cases of a plot see of its mistakes."""
    # What is small is quick to ask, and easy to read where it kills.
    sights = {
        cell: [Sight(case, cell.dtype) for case in sorted(cases, key=size)]
        for cell, cases in plot.cells.items()
    }
    if plot.first:
        for sight in chain.from_iterable(sights.values()):
            _check(sight)
    made = {cell: {w.name: w for w in _chosen(cell, plot.settings)} for cell in sights}
    for name in plot.mistakes:
        # What kills a mistake in one place is asked first in the others.
        known: dict[str, None] = {}
        for cell in sights:
            if name in made[cell]:
                yield _mutation(cell, made[cell][name], sights[cell], plot.settings, known)


def _check(sight: Sight) -> None:
    if sight.problem is not None:
        message = f"{sight.case.source}: {sight.case.id}: the case is wrong: {sight.problem}"
        raise UsageError(message, "`opcheck run` shows all such cases")


def _mutation(
    cell: Cell,
    wrong: Wrong,
    sights: Sequence[Sight],
    settings: Settings,
    known: dict[str, None],
) -> Mutation:
    """What the cases of a cell see of one mistake.

    `known` are the names of cases that see it elsewhere, to which those are added that do here.
    """
    mutant = Mutant(cell.op, cell.dtype, wrong.name, wrong.text)
    harmless = None
    if isinstance(wrong, Mistake):
        harmless = wrong.why_harmless(cell.op, cell.dtype)
    elif settings.once:
        return Mutation(mutant)
    killers: dict[str, str] = {}
    noticers: dict[str, str] = {}
    # What decides, first: the others are asked only where nothing does.
    order = sorted(sights, key=lambda s: (s.case.rule != "must", s.case.name not in known))
    for sight in order:
        case = sight.case
        decides = case.rule == "must"
        if len(killers) >= settings.kills or (killers and not decides):
            break
        found = killers if decides else noticers
        if case.name in found:
            continue
        _check(sight)
        verdict = (
            sight.verdict(wrong) if isinstance(wrong, Mistake) else sight.verdict_on_habit(wrong)
        )
        if verdict in RED and decides:
            killers[case.name] = case.id
        elif verdict in (Verdict.WARN, *RED):
            noticers.setdefault(case.name, case.id)
    known |= dict.fromkeys((*killers, *noticers))
    return Mutation(mutant, harmless, tuple(killers.values()), tuple(noticers.values()))
