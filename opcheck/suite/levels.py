"""Which rows of cases level core needs, by what they show.

A row is the unit that has a level: a place in a case file, an entry or one of its rows, in one
dtype, at the newest opset of its matrix or at the others, as `core` names them. Core must show what
all levels together show. Of rows that do, the cheapest are proposed by counted work, so that every
machine proposes the same.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from opcheck.grouping import group_by
from opcheck.model import Case, Level, OpVersion, Source
from opcheck.opset import ML
from opcheck.suite.cover import Column, Group, alone, cover

#: What a case takes besides its elements, in the time of so many of them.
CASE_WORK = 8192
#: The least share of an operator's mutants that core must see, of those that some level sees.
SHARE = 0.99
#: The same of mutants that are wrong in one situation only.
CONDITIONED_SHARE = 0.98
#: Of which opsets of their matrix cases are; "" of the only one.
Opsets: TypeAlias = Literal["newest", "older", ""]
#: The levels that a run at level core has.
CORE: tuple[Level, ...] = ("smoke", "core")


class Demand(NamedTuple):
    """Something that core must show: `what` of a `kind`, of one version.

    Kinds are `mutant` (some case kills it), `warning` (cases only notice it), `conditioned mutant`
    (wrong in one situation), `sentence`, `situation`, `defect` of an engine, and of which there
    must be a case: `type`, `constrained type` (of one input or output), `refusal`, `rest` (a row
    that vectors leave a rest of), `pair of types`, `stretch` (of an operand to four axes),
    `no number` (NaN or infinity) and `name`.
    """

    kind: str
    op: OpVersion
    what: str
    dtype: str = ""

    def __str__(self) -> str:
        place = f"{self.op} {self.dtype}".strip()
        return f"{self.kind} {self.what} ({place})"


#: A demand, and the ids of the cases that show it.
Shown = tuple[Demand, Sequence[str]]


@dataclass(frozen=True)
class Row:
    """Cases of one place, dtype and level, and what they show.

    `opsets`: they are of the `newest` opset of their matrix, or of all `older` ones; "" if each
    matrix of the place has one alone. `fixed`: core has it whatever it shows, because smoke has it.
    """

    cases: tuple[Case, ...]
    shows: frozenset[Demand]
    opsets: Opsets
    fixed: bool

    def __str__(self) -> str:
        case = self.cases[0]
        return f"{case.name}#{case.row}" if case.row else case.name

    @property
    def source(self) -> str:
        """The place in the case file."""
        return str(self.cases[0].source)

    @property
    def ops(self) -> tuple[str, ...]:
        """The operators whose cases these are."""
        return tuple(dict.fromkeys(case.op.name for case in self.cases))

    @property
    def dtype(self) -> str:
        """The dtype that `core` may name, "" if every input states its own."""
        dtype = self.cases[0].dtype
        return dtype.name if dtype else ""

    @property
    def place(self) -> str:
        """The dtype, and of which opsets it is: float32, float32@newest, float32@older."""
        return "@".join(filter(None, (self.dtype, self.opsets)))

    @property
    def level(self) -> Level:
        """The level of each of the cases."""
        return self.cases[0].level

    @property
    def is_core(self) -> bool:
        """True if a run at level core has these cases."""
        return self.level in CORE

    @property
    def work(self) -> int:
        """The counted work of the cases."""
        return sum(map(work, self.cases))


@dataclass(frozen=True)
class Tally:
    """A level core: its cases, their counted work, and how many of the `mutants` it sees."""

    cases: int
    work: int
    seen: int
    mutants: int

    @property
    def share(self) -> float:
        """The share of mutants that core sees, of those that some level sees."""
        return self.seen / self.mutants if self.mutants else 1.0


@dataclass(frozen=True)
class Proposal:
    """The rows of some operators, and the places in `rows` of those that core needs."""

    rows: tuple[Row, ...]
    needed: frozenset[int]

    @property
    def missing(self) -> tuple[int, ...]:
        """The needed rows that core lacks."""
        return tuple(n for n in sorted(self.needed) if not self.rows[n].is_core)

    @property
    def idle(self) -> tuple[int, ...]:
        """The rows of core that are not needed."""
        return tuple(n for n in self._core if n not in self.needed)

    @cached_property
    def reasons(self) -> Mapping[int, frozenset[Demand]]:
        """What each needed row shows that no other needed one shows."""
        return alone([_column(row) for row in self.rows], self.needed)

    @cached_property
    def gains(self) -> Mapping[int, frozenset[Demand]]:
        """What each missing row shows that core does not show."""
        shown = frozenset[Demand]().union(*(self.rows[n].shows for n in self._core))
        return {n: self.rows[n].shows - shown for n in self.missing}

    @property
    def ops(self) -> tuple[str, ...]:
        """The operators, in alphabetical order."""
        return tuple(sorted({op for row in self.rows for op in row.ops}))

    def before(self, op: str) -> Tally:
        """Return the tally of an operator's core as it is."""
        return self._tally(op, self._core)

    def after(self, op: str) -> Tally:
        """Return the tally of an operator's core as it is proposed."""
        return self._tally(op, self.needed)

    @property
    def _core(self) -> tuple[int, ...]:
        return tuple(n for n, row in enumerate(self.rows) if row.is_core)

    def _tally(self, op: str, places: Iterable[int]) -> Tally:
        """Return the tally of an operator for a core of the rows at `places`."""
        chosen = [self.rows[n] for n in places]
        cases = [case for row in chosen for case in row.cases if case.op.name == op]
        seen = frozenset[Demand]().union(*(row.shows for row in chosen))
        every = frozenset[Demand]().union(*(row.shows for row in self.rows))
        return Tally(
            cases=len(cases),
            work=sum(map(work, cases)),
            seen=sum(_is_mutant_of(op, demand) for demand in seen),
            mutants=sum(_is_mutant_of(op, demand) for demand in every),
        )


def work(case: Case) -> int:
    """Return the counted work of a case: the elements of its inputs, and what each case takes."""
    return CASE_WORK + sum(math.prod(spec.shape) for spec in case.inputs)


def propose(cases: Sequence[Case], shown: Iterable[Shown], share: float = SHARE) -> Proposal:
    """Return which rows core needs to show what all the cases show.

    Args:
        cases: All cases of some operators, of every level.
        shown: What they show.
        share: The least share of an operator's mutants that core must see. It must see each mutant
            of float32 in the newest version, of ai.onnx.ml that of every dtype, and show everything
            else.
    """
    shown = [*shown]
    by_case: dict[str, set[Demand]] = {}
    for demand, ids in shown:
        for id in ids:
            by_case.setdefault(id, set()).add(demand)
    rows = tuple(_rows(cases, by_case))
    newest = {op.name: op.since for op in sorted({case.op for case in cases})}
    demands = {demand for demand, _ in shown}
    lenient = {demand for demand in demands if _may_be_missed(demand, newest)}
    groups = [Group(frozenset(demands - lenient))]
    by_kind = group_by(lenient, lambda demand: (demand.op.name, demand.kind))
    for (_, kind), of_op in by_kind.items():
        least = min(share, CONDITIONED_SHARE) if kind == "conditioned mutant" else share
        groups.append(Group(frozenset(of_op), least))
    settings = _settings(rows)
    columns = [_together([rows[n] for n in places]) for places in settings]
    needed = {n for place in cover(columns, groups) for n in settings[place]}
    return Proposal(rows, frozenset(needed))


def _settings(rows: Sequence[Row]) -> list[tuple[int, ...]]:
    """Return, for each row, the places of the rows that core has if it has this one.

    Of a row at the older opsets these are also those at the newest one: `core` names a dtype at the
    newest opset, or at all.
    """
    newest = group_by(
        (n for n, row in enumerate(rows) if row.opsets == "newest"),
        lambda n: (rows[n].cases[0].source, rows[n].dtype),
    )
    return [
        (n, *newest.get((row.cases[0].source, row.dtype), ())) if row.opsets == "older" else (n,)
        for n, row in enumerate(rows)
    ]


def _together(rows: Sequence[Row]) -> Column[Demand]:
    """Return one column of rows that are in core together; it is what the first one is."""
    first, *others = map(_column, rows)
    cost = first.cost + sum(column.cost for column in others if not column.fixed)
    shows = first.shows.union(*(column.shows for column in others))
    return replace(first, shows=shows, cost=cost)


def _rows(cases: Sequence[Case], shows: Mapping[str, set[Demand]]) -> Iterator[Row]:
    """Yield the rows of cases, in the order of files; `shows` has the demands by case."""
    by_matrix = group_by(cases, _matrix)
    newest = {matrix: max(case.opset for case in of) for matrix, of in by_matrix.items()}
    older = {case.source for case in cases if case.opset != newest[_matrix(case)]}

    def opsets(case: Case) -> Opsets:
        """Return of which opsets of its matrix a case is."""
        if case.source not in older:
            return ""
        return "newest" if case.opset == newest[_matrix(case)] else "older"

    by_row = group_by(cases, lambda case: (case.source, case.dtype, case.level, opsets(case)))
    for those in sorted(by_row.values(), key=lambda those: _order(those[0])):
        yield Row(
            cases=tuple(those),
            shows=frozenset[Demand]().union(*(shows.get(case.id, ()) for case in those)),
            opsets=opsets(those[0]),
            fixed=those[0].level == "smoke",
        )


def _matrix(case: Case) -> tuple[str, str, str | None, Source]:
    """Return what cases of one matrix have in common: operator, name, row and place."""
    return case.op.name, case.name, case.row, case.source


def _order(case: Case) -> tuple[str, int, int, str, str, int]:
    """Return a key that sorts rows by their places."""
    source = case.source
    return source.file, source.line, source.column, str(case.dtype), case.level, case.opset


def _column(row: Row) -> Column[Demand]:
    return Column(row.shows, row.work, row.fixed, row.is_core)


def _is_mutant_of(op: str, demand: Demand) -> bool:
    return demand.kind == "mutant" and demand.op.name == op


def _may_be_missed(demand: Demand, newest: Mapping[str, int]) -> bool:
    """Return True for a mutant, unless it is of float32 in the newest version.

    Of ai.onnx.ml it must be seen there in every dtype: each of its operators has a few of its own.
    """
    if demand.kind == "conditioned mutant":
        return True
    if demand.kind not in ("mutant", "warning"):
        return False
    is_newest = demand.op.since == newest[demand.op.name]
    return not is_newest or (demand.dtype != "float32" and demand.op.domain != ML)
