"""Where mistakes are hunted: the nodes that are tried in one version on one dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.engine import Node
from opcheck.engine.mutants import Mutant as Mistake
from opcheck.model import Case, Given
from opcheck.model.mutation import Mutant
from opcheck.model.result import Cell
from opcheck.opset import Schema
from opcheck.run.search.cases import alike, case_of, written_out
from opcheck.run.search.drawing import Candidate, drawn
from opcheck.run.search.shrinking import shrunk
from opcheck.run.sight import RED, Answer, Sight, right_of, same
from opcheck.suite import materialize, unrounded

#: The data of larger nodes is made anew for each mistake: all of it would fill the memory.
_KEPT = 1000


@dataclass(eq=False)
class _Tried:
    """A node, what is right about it, and its case, made when it is needed first."""

    candidate: Candidate
    node: Node
    right: Answer
    sight: Sight | None = None
    asked: bool = False


def nodes_of(cell: Cell, tries: int) -> Iterator[Node]:
    """So many drawn nodes, or a few less, of which some are legal."""
    schema = opset.describe(cell.op.domain, cell.op.name, cell.op.since)
    assert schema
    for candidate in drawn(schema, DTYPES[cell.dtype], (), tries):
        node = _node(schema, candidate)
        if node is not None:
            yield node


def _node(schema: Schema, candidate: Candidate) -> Node | None:
    """None where it lacks an attribute, or has no such data."""
    required = (one.name for one in schema.attributes.values() if one.required)
    if any(name not in candidate.attrs for name in required):
        return None
    try:
        arrays = tuple(map(materialize, candidate.inputs))
    except ValueError:
        return None
    for array in arrays:
        array.flags.writeable = False
    asked = sum(output.option == "single" for output in schema.outputs)
    return Node(schema.op, arrays, candidate.attrs, asked, candidate.constant)


class Ground:
    """The same nodes for every mistake: `cases` with their own values, then drawn ones."""

    def __init__(self, cell: Cell, cases: Sequence[Case], tries: int) -> None:
        schema = opset.describe(cell.op.domain, cell.op.name, cell.op.since)
        assert schema
        self.cell, self.schema, self.dtype = cell, schema, DTYPES[cell.dtype]
        self._cases, self._tries = cases, tries
        self._tried: list[_Tried] = []
        self._large: list[Candidate] = []

    def mutant(self, mistake: Mistake) -> Mutant:
        """`mistake` made here."""
        return Mutant(self.cell.op, self.cell.dtype, mistake.name, mistake.text)

    def found(self, mistake: Mistake) -> Candidate | None:
        """A small node that kills `mistake`, None where none is found."""
        first = next((one for one in self._all() if self._kills(one, mistake)), None)
        if first is None:
            return None
        return shrunk(first.candidate, lambda smaller: self.kills(smaller, mistake))

    def kills(self, candidate: Candidate, mistake: Mistake) -> bool:
        """Whether a case of this node kills `mistake`."""
        tried = self._try(candidate)
        return tried is not None and self._kills(tried, mistake)

    def case(self, candidate: Candidate, mistake: Mistake) -> Case:
        """The case of a node that kills, with its answer written out if it kills like that too."""
        plain = case_of(self.schema, self.dtype, candidate)
        assert plain
        written = written_out(plain)
        sight = Sight(written, self.cell.dtype)
        return written if sight.problem is None and sight.verdict(mistake) in RED else plain

    def serves(self, candidate: Candidate, mistake: Mistake, case: Case) -> bool:
        """Whether `case`, made of `candidate` elsewhere, also kills `mistake` here as it is."""
        moved = candidate.on(self.schema, self.dtype)
        return self.kills(moved, mistake) and alike(self.case(moved, mistake), case)

    @cached_property
    def _source(self) -> Iterator[Candidate]:
        return self._candidates()

    def _candidates(self) -> Iterator[Candidate]:
        for case in self._cases:
            inputs = (replace(s, content=Given(unrounded(s)), put=()) for s in case.inputs)
            yield Candidate(case.attrs, tuple(inputs)).on(self.schema, self.dtype)
        yield from drawn(self.schema, self.dtype, self._cases, self._tries)

    def _all(self) -> Iterator[_Tried]:
        yield from self._tried
        yield from filter(None, map(self._try, self._large))
        for candidate in self._source:
            if candidate.size > _KEPT:
                self._large.append(candidate)
            if tried := self._try(candidate):
                self._tried += [tried] if candidate.size <= _KEPT else []
                yield tried

    def _try(self, candidate: Candidate) -> _Tried | None:
        """What is right about a node; None where there is none."""
        node = _node(self.schema, candidate)
        if node is None:
            return None
        with np.errstate(all="ignore"):
            return _Tried(candidate, node, right_of(node))

    def _kills(self, tried: _Tried, mistake: Mistake) -> bool:
        if same(mistake.made_on(tried.node), tried.right):
            return False
        if not tried.asked:
            case = case_of(self.schema, self.dtype, tried.candidate)
            tried.sight, tried.asked = Sight(case, self.cell.dtype) if case else None, True
        sight = tried.sight
        return sight is not None and sight.problem is None and sight.verdict(mistake) in RED
