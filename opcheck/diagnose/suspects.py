"""The mistakes that a backend seems to make, known better with each of its answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import numpy as np

from opcheck.compare import compare_outputs
from opcheck.diagnose.evidence import NARROWER, Evidence
from opcheck.diagnose.likeness import contradicts, reproduces
from opcheck.diagnose.numbers import resemblance
from opcheck.engine.mutants import Mutant as Mistake
from opcheck.engine.mutants import mutants_of as mistakes_of
from opcheck.model import Case, Comparison, Diagnosis, Foreign, OpVersion
from opcheck.model.support import Cell

#: Of so many failures of each version and dtype are all mistakes tried; later only those that
#: explained one before, and if none of them fits, all again, but not more often than this in vain.
_THOROUGHLY, _IN_VAIN = 12, 24
#: The largest input on which mistakes are tried, and of a pass that is looked at, in bytes.
_LARGEST = 1 << 20
_SMALL = 16 << 10

#: Of an invalid model that is accepted, with an answer that no mistake gives.
_UNCHECKED = Diagnosis("not_checked", "as if it was not checked whether the model is valid")

#: What is to be known of a case that passed, None where that is no evidence.
Recall: TypeAlias = Callable[[Case], Evidence | None]


@dataclass
class _Known:
    """What is known of one version and dtype: its failures, and a pass of every name."""

    failures: int = 0
    in_vain: int = 0
    passes: dict[str, Case] = field(default_factory=dict)
    evidence: dict[str, Evidence | None] = field(default_factory=dict)
    #: How many of the passes were held against each mistake, and those that one speaks against.
    asked: Counter[str] = field(default_factory=Counter)
    against: set[str] = field(default_factory=set)


def names_of(op: OpVersion) -> set[str]:
    """What a failure of an operator can be said to look like; nothing where no mistake is known."""
    names = {mistake.name for mistake in mistakes_of(op)}
    return names and names | {_UNCHECKED.mistake or "", *(f"computed_in_{t}" for t in NARROWER)}


def looks_like(name: str, evidence: Evidence) -> bool:
    """Whether the mistake of this name gives a failure, whatever else failed or passed.

    In the operator's own arithmetic, or in the widest narrower one; so that what `Suspects` named
    of a failure is found in it again, also where other cases were run.
    """
    if name == _UNCHECKED.mistake:
        return evidence.got is not None and not evidence.admitted
    if evidence.nbytes > _LARGEST:
        return False
    rounded = [evidence.rounded_to(dtype) for dtype in evidence.narrower_types()]
    for dtype, seen in zip(evidence.narrower_types(), rounded, strict=True):
        if name == f"computed_in_{dtype}":
            return bool(evidence.admitted) and _is_right(seen)
    mistakes = [one for one in mistakes_of(evidence.node.op) if one.name == name]
    pairs = product(mistakes, [evidence, *rounded[:1]])
    return any(_fits_quietly(mistake, seen) for mistake, seen in pairs)


def _fits_quietly(mistake: Mistake, evidence: Evidence) -> bool:
    try:
        return reproduces(mistake, evidence)
    # As in Suspects: the author of a mistake did not think of this node, so it says nothing.
    except Exception:
        return False


class Suspects:
    """What was found of one backend; its results have to come in a fixed order.

    That is so because what explained the most failures is named first.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        #: By operator, how many failures each mistake explains.
        self._explained: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._cells: dict[Cell, _Known] = defaultdict(_Known)
        self._broken: dict[str, str] = {}

    def passed(self, case: Case) -> None:
        """Remember a case that passed: what it would have failed is no cause of other failures."""
        self._cell(case).passes.setdefault(case.name, case)

    def diagnosed(self, case: Case, diagnoses: Sequence[Diagnosis]) -> None:
        """Remember a failure on a case, of which `diagnose` said this in an earlier run."""
        cell = self._cell(case)
        named = [one.mistake for one in diagnoses if one.mistake and one != _UNCHECKED]
        self._explained[case.op.domain, case.op.name].update(named)
        cell.failures += 1
        cell.in_vain += not named

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        """The mistakes that reproduce a failure, or else what its numbers have in common.

        First the one that explains the most failures up to now, among equals the most specific. A
        mistake that a pass in the same version and dtype speaks against is left out. Where none
        fits, they are tried once more with everything rounded to a narrower type. Empty where
        nothing fits.
        """
        op = evidence.node.op
        cell, explained = (
            self._cells[Cell(op, evidence.node.dtype)],
            self._explained[op.domain, op.name],
        )
        cell.failures += 1
        found = self._reproducing(evidence, cell, explained)
        said = [*map(_spelt, found), *self._narrower(evidence, found, cell, explained)]
        explained.update(one.mistake for one in said if one.mistake)
        said.sort(key=lambda one: -explained[str(one.mistake)])
        cell.in_vain += not said
        if not said and evidence.got is not None:
            if not evidence.admitted:
                said.append(_UNCHECKED)
            elif seen := resemblance(evidence):
                said.append(Diagnosis(None, seen))
        return (*said, *self._excuses())

    def _cell(self, case: Case) -> _Known:
        return self._cells[Cell(case.op, str(case.inputs[0].dtype) if case.inputs else "")]

    def _reproducing(
        self, evidence: Evidence, cell: _Known, explained: Counter[str]
    ) -> list[Mistake]:
        """The mistakes that give this answer, and that no pass speaks against."""
        if evidence.nbytes > _LARGEST:
            return []
        mistakes = mistakes_of(evidence.node.op)
        if cell.failures > _THOROUGHLY:
            before = [mistake for mistake in mistakes if mistake.name in explained]
            found = self._those_that_do(before, evidence, cell)
            if found or cell.in_vain >= _IN_VAIN:
                return found
            mistakes = tuple(mistake for mistake in mistakes if mistake.name not in explained)
        return self._those_that_do(mistakes, evidence, cell)

    def _narrower(
        self,
        evidence: Evidence,
        found: Sequence[Mistake],
        cell: _Known,
        explained: Counter[str],
    ) -> list[Diagnosis]:
        """The widest narrower type in which the answer is right, or in which mistakes give it.

        That float64 was computed in float32 is said beside whatever else fits, because it may be
        all that is wrong; poorer arithmetic than that only where nothing else does.
        """
        widest: Evidence | None = None
        for dtype in evidence.narrower_types():
            if found and dtype.name != "float32":
                return []
            rounded = evidence.rounded_to(dtype)
            widest = widest or rounded
            if evidence.admitted and _is_right(rounded):
                text = f"as if it was computed in {dtype}, within whose error it lies"
                return [Diagnosis(f"computed_in_{dtype}", text)]
        if found or widest is None:
            return []
        return [*map(_spelt, self._reproducing(widest, cell, explained))]

    def _is_contradicted(self, mistake: Mistake, cell: _Known) -> bool:
        """Whether a case that passed would have failed who makes `mistake`."""
        if mistake.name in cell.against:
            return True
        for case in [*cell.passes.values()][cell.asked[mistake.name] :]:
            cell.asked[mistake.name] += 1
            if case.id not in cell.evidence:
                cell.evidence[case.id] = self._remembered(case)
            seen = cell.evidence[case.id]
            if seen and self._does(contradicts, mistake, seen):
                cell.against.add(mistake.name)
                return True
        return False

    def _remembered(self, case: Case) -> Evidence | None:
        small = sum(spec.nbytes for spec in case.inputs) <= _SMALL
        return self._recall(case) if small else None

    def _those_that_do(
        self, mistakes: Sequence[Mistake], evidence: Evidence, cell: _Known
    ) -> list[Mistake]:
        found = [one for one in mistakes if self._does(reproduces, one, evidence)]
        return [one for one in found if not self._is_contradicted(one, cell)]

    def _does(
        self, what: Callable[[Mistake, Evidence], bool], mistake: Mistake, evidence: Evidence
    ) -> bool:
        try:
            return what(mistake, evidence)
        # A node that the author of a mistake did not think of is no reason to end a run.
        except Exception as error:
            self._broken[mistake.name] = f"{type(error).__name__}: {error}"
            return False

    def _excuses(self) -> list[Diagnosis]:
        """What went wrong in opcheck itself meanwhile, told once."""
        broken, self._broken = self._broken, {}
        said = "a mistake of opcheck's own could not be tried"
        return [Diagnosis(None, f"{said}: {name}: {how}") for name, how in broken.items()]


def _spelt(mistake: Mistake) -> Diagnosis:
    return Diagnosis(mistake.name, f"as if {mistake.text}")


def _is_right(rounded: Evidence) -> bool:
    """Whether the answer would pass, with infinity or 0 where sums of powers leave the range."""
    assert rounded.got is not None
    compared = [compare_outputs(wants, rounded.got) for wants in rounded.admitted]
    return any(all(_fits(one, rounded, n) for n, one in enumerate(those)) for those in compared)


def _fits(compared: Comparison, rounded: Evidence, place: int) -> bool:
    right, got = rounded.nearest(place), (rounded.got or ())[place]
    if compared.tier != "range" or right is None or isinstance(got, Foreign):
        return compared.problem is None
    out = ~np.isfinite(got) | (got == 0)
    return bool(out.any() and np.array_equal(right[~out], got[~out]))
