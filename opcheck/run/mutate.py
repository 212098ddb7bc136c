"""Which mistakes a suite sees: each is made in every version and dtype that the cases are about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from opcheck.engine import operator_of
from opcheck.engine.habits import HABITS, Habit
from opcheck.engine.mistakes import Mistake, mistakes_of
from opcheck.errors import UsageError
from opcheck.model import Case, OpVersion, Verdict
from opcheck.model.mutation import Mutant, Mutation
from opcheck.model.support import Cell
from opcheck.run.parallel import in_parallel
from opcheck.run.sight import RED, Sight, dtypes_of

Wrong: TypeAlias = Mistake | Habit


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
    """The cases of one version and dtype, with some of the mistakes made there, by their places."""

    cell: Cell
    cases: tuple[Case, ...]
    mistakes: range
    settings: Settings


def mistakes_in(op: OpVersion) -> tuple[Wrong, ...]:
    """What can be wrong with an operator: mistakes, most specific first, then habits."""
    return (*mistakes_of(op), *HABITS) if operator_of(op) else ()


def cells(cases: Iterable[Case]) -> dict[Cell, tuple[Case, ...]]:
    """The cases of each version that the engine knows, for each dtype that it allows.

    Those of a dtype that it does not allow are about none of them, and count for all.
    """
    by_op: dict[OpVersion, list[Case]] = {}
    for case in cases:
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
    cases: Iterable[Case], settings: Settings | None = None, jobs: int = 1
) -> Iterator[Mutation]:
    """What `cases` see of every mistake in every cell, in no order; in `jobs` processes.

    Raises UsageError for a case that is itself wrong: nobody could pass or fail it.
    """
    plots = _plots(cells(cases), settings or Settings(), jobs)
    return chain.from_iterable(in_parallel(_work, plots, jobs))


def count(cases: Iterable[Case], settings: Settings) -> int:
    """How many mutations there will be."""
    return sum(len(plot.mistakes) for plot in _plots(cells(cases), settings, 1))


def _plots(found: Mapping[Cell, tuple[Case, ...]], settings: Settings, jobs: int) -> list[Plot]:
    """The work in parts, the longest first, so that all processes end at about the same time."""
    costs = {cell: sum(map(_cost, cases)) for cell, cases in found.items()}
    enough = sum(costs.values()) / (8 * jobs)
    plots = []
    for cell, cases in sorted(found.items(), key=lambda item: -costs[item[0]]):
        number = len(_chosen(cell.op, settings))
        parts = min(number, 1 if jobs == 1 else math.ceil(costs[cell] / enough))
        step = math.ceil(number / max(parts, 1))
        for start in range(0, number, max(step, 1)):
            part = range(start, min(start + step, number))
            plots.append(Plot(cell, cases, part, settings))
    return plots


def _cost(case: Case) -> int:
    """About how long a case takes, in elements: a small one takes some time too."""
    return 1000 + size(case)


def size(case: Case) -> int:
    """How many elements its inputs have."""
    return sum(math.prod(spec.shape) for spec in case.inputs)


def _chosen(op: OpVersion, settings: Settings) -> list[Wrong]:
    wanted = settings.names
    return [wrong for wrong in mistakes_in(op) if not wanted or wrong.name in wanted]


def _work(plot: Plot) -> list[Mutation]:
    """What the cases of a plot see of its mistakes."""
    settings, op = plot.settings, plot.cell.op
    # What is small is quick to ask, and easy to read where it kills.
    sights = [Sight(case, plot.cell.dtype) for case in sorted(plot.cases, key=size)]
    for sight in sights:
        if sight.problem is not None:
            message = f"{sight.case.source}: {sight.case.id}: the case is wrong: {sight.problem}"
            raise UsageError(message, "`opcheck run` shows all such cases")
    chosen = _chosen(op, settings)
    return [_mutation(plot.cell, chosen[place], sights, settings) for place in plot.mistakes]


def _mutation(cell: Cell, wrong: Wrong, sights: Sequence[Sight], settings: Settings) -> Mutation:
    mutant = Mutant(cell.op, cell.dtype, wrong.name, wrong.text)
    harmless = None
    if isinstance(wrong, Mistake):
        harmless = wrong.why_harmless(cell.op, cell.dtype)
    elif settings.once:
        return Mutation(mutant)
    killers: dict[str, str] = {}
    noticers: dict[str, str] = {}
    # What decides, first: the others are asked only where nothing does, or for their own sake.
    for sight in sorted(sights, key=lambda sight: sight.case.rule != "must"):
        case = sight.case
        decides = case.rule == "must"
        enough = len(killers) >= settings.kills
        if enough and (decides or settings.kills == 1):
            continue
        found = killers if decides else noticers
        if case.name in found:
            continue
        verdict = (
            sight.verdict(wrong) if isinstance(wrong, Mistake) else sight.verdict_on_habit(wrong)
        )
        if verdict in RED and decides:
            killers[case.name] = case.id
        elif verdict in (Verdict.WARN, *RED):
            noticers.setdefault(case.name, case.id)
    return Mutation(mutant, harmless, tuple(killers.values()), tuple(noticers.values()))
