"""Mutants that explain a backend's failures, narrowed down with each of its answers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import numpy as np

from opcheck.compare import compare_outputs
from opcheck.diagnose import evidence as ev
from opcheck.diagnose.evidence import FAULTS, Evidence, Fault, both, contradicts, reproduces
from opcheck.dtypes import DType
from opcheck.engine import dtype_of, leading
from opcheck.engine.mutants import Mutant, mutants_of
from opcheck.model import Case, Cell, Comparison, Diagnosis, Foreign, OpVersion

#: All mutants are tried on so many failures of each version and dtype. Later those that explained
#: one before are tried first, and all again at most so many times in vain.
_THOROUGHLY, _IN_VAIN = 12, 12
#: In the end all are tried again on so many of the rest, of so many failures that are kept.
_AGAIN, _KEPT = 50, 2000
#: The largest inputs on which mutants are tried, and of a case that is kept, in bytes.
_LARGEST = 1 << 20
_SMALL = 16 << 10
#: An invalid model is accepted, with an answer that no mutant gives.
NOT_CHECKED = Diagnosis("not_checked", "as if it was not checked whether the model is valid")

_Asks: TypeAlias = Callable[[Mutant, Evidence], bool]


@dataclass
class _Known:
    failures: int = 0
    in_vain: int = 0
    #: Cases that passed, or at least were accepted, and the test whether they contradict a mutant.
    passes: list[tuple[Case, _Asks]] = field(default_factory=list)
    #: By mutant, the number of passes tried, and the cases that contradict it.
    asked: Counter[str] = field(default_factory=Counter)
    against: dict[str, list[Case]] = field(default_factory=lambda: defaultdict(list))


def names_of(op: OpVersion) -> set[str]:
    """Return the names of all diagnoses for an operator; empty where no mutant is known."""
    names = {mutant.name for mutant in mutants_of(op)}
    pairs = {f"{one}+{other}" for one in names for other in (*names, *FAULTS)}
    return names and {*names, *pairs, *FAULTS, str(NOT_CHECKED.mistake)}


def looks_like(name: str, evidence: Evidence) -> bool:
    """Return True if the mutant of this name reproduces a failure."""
    if name == NOT_CHECKED.mistake:
        return evidence.got is not None and not evidence.admitted
    mutants = [one for one in mutants_of(evidence.node.op) if one.name in name.split("+")]
    found = [one.name for one in _fitting(evidence, mutants, {})]
    pairs = (both(*pair) for pair in combinations(mutants, 2))
    found += [one.name for one in pairs if _does(reproduces, one, evidence, {})]
    return any(name in (one, one.partition("+")[0]) for one in found)


def _does(what: _Asks, mutant: Mutant, evidence: Evidence, broken: dict[str, str]) -> bool:
    try:
        return what(mutant, evidence)
    # A mutant that fails on a node must not end a run.
    except Exception as error:
        broken[mutant.name] = f"{type(error).__name__}: {error}"
        return False


def _fitting(evidence: Evidence, mutants: Sequence[Mutant], broken: dict[str, str]) -> list[Mutant]:
    """Return mutants that give an answer, by themselves or combined with a fault.

    float32 in place of float64 is always added, because it may be all that is wrong. Of poorer
    arithmetics only the widest that fits is tried.
    """
    tried = mutants if evidence.nbytes <= _LARGEST else ()
    found = [one for one in tried if _does(reproduces, one, evidence, broken)]
    names = {one.name for one in found}
    views: list[tuple[Fault, Evidence]] = []
    right: DType | None = None
    for fault, view in evidence.views():
        if right not in (None, fault.dtype):
            break
        views.append((fault, view))
        if view.admitted and _is_right(view):
            right = fault.dtype
            if fault.name not in names and (not names or right.name == "float32"):
                found.append(fault.beside())
    fitting: dict[Evidence, list[Mutant]] = {}
    for fault, view in () if found else views:
        if fault.dtype == views[0][0].dtype:
            if view not in fitting:
                fitting[view] = [one for one in tried if _does(reproduces, one, view, broken)]
            found += map(fault.beside, fitting[view])
    return [*{one.name: one for one in found}.values()]


class Suspects:
    """Diagnoses of one backend; its results must come in a fixed order."""

    def __init__(self, recall: Callable[[Case], Evidence | None]) -> None:
        #: Returns the evidence of a case that passed, or None.
        self._recall = recall
        #: Numbers of failures that each mutant explains, by operator.
        self._explained: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._cells: dict[Cell, _Known] = defaultdict(_Known)
        self._recalled: dict[int, Evidence | None] = {}
        self._failed: dict[str, Evidence] = {}
        #: Mutants by case that give its answer, contradicted or not.
        self._fits: dict[str, list[Mutant]] = {}
        self._resemblances: dict[str, str] = {}
        self._broken: dict[str, str] = {}
        self._again = _AGAIN

    def passed(self, case: Case) -> None:
        """Remember a case that passed, as evidence against mutants."""
        self._cells[cell_of(case)].passes.append((case, contradicts))

    def accepted(self, case: Case) -> None:
        """Remember a case that was not refused, whatever its answer is worth."""
        self._cells[cell_of(case)].passes.append((case, ev.refuses))

    def diagnosed(self, case: Case, diagnoses: Sequence[Diagnosis]) -> None:
        """Remember a failure on a case, with the diagnosis of an earlier run."""
        self._cells[cell_of(case)].failures += 1
        named = (one.mistake for one in diagnoses if one.mistake and one != NOT_CHECKED)
        self._explained[case.op.domain, case.op.name].update(named)

    def diagnose(self, evidence: Evidence, case: str = "") -> tuple[Diagnosis, ...]:
        """Return the mutants that reproduce a failure, or else a pattern of its numbers.

        The mutant that explains the most failures up to now comes first. Those that a pass in the
        same version and dtype contradicts are left out.
        """
        op = evidence.node.op
        cell = Cell(op, evidence.node.dtype)
        explained = self._explained[op.domain, op.name]
        known = self._cells[cell]
        known.failures += 1
        fits: list[Mutant] = []
        if known.failures > _THOROUGHLY:
            parts = {part for name in explained for part in name.split("+")}
            before = [one for one in mutants_of(op) if one.name in parts]
            fits = _fitting(evidence, before, self._broken)
            known.in_vain += not fits
        if not fits and known.in_vain <= _IN_VAIN:
            fits = _fitting(evidence, mutants_of(op), self._broken)
        seen = ev.resemblance(evidence) or ""
        if case:
            self._fits[case] = fits
            self._resemblances[case] = seen
            if evidence.nbytes <= _SMALL and len(self._failed) < _KEPT:
                self._failed[case] = evidence
        said = [spelt(one) for one in fits if not self.against(one, cell, enough=1)]
        explained.update(one.mistake for one in said if one.mistake)
        said.sort(key=lambda one: -explained[str(one.mistake)])
        if not said and evidence.got is not None:
            if not evidence.admitted:
                said.append(NOT_CHECKED)
            elif seen:
                said.append(Diagnosis(None, seen))
        # Mutants that raised are reported once.
        broken, self._broken = self._broken, {}
        excuse = "a mistake of opcheck's own could not be tried"
        return (*said, *(Diagnosis(None, f"{excuse}: {n}: {how}") for n, how in broken.items()))

    def fitting(self, case: Case, diagnoses: Iterable[Diagnosis]) -> dict[str, Mutant]:
        """Return the mutants that give the answer to a case, after its first diagnosis."""
        known = {one.name: one for one in mutants_of(case.op)}
        said = (ev.mutant_named(one.mistake, known) for one in diagnoses if one.mistake)
        fits = self._fits.get(case.id) or [one for one in said if one]
        order = [*known]
        first = [(one.name.split("+")[0], one) for one in fits]
        first.sort(key=lambda pair: order.index(pair[0]) if pair[0] in known else len(order))
        return {one.name: one for _, one in first}

    def resemblance(self, case: Case, diagnoses: Iterable[Diagnosis]) -> str:
        """Return the pattern of an answer's numbers, after its first diagnosis."""
        said = (one.text for one in diagnoses if one.mistake is None)
        return self._resemblances.get(case.id) or next(said, "")

    def against(self, mutant: Mutant, cell: Cell, enough: int | None = None) -> list[Case]:
        """Return the passes of a version and dtype that contradict a mutant, or `enough`."""
        known = self._cells[cell]
        against = known.against[mutant.name]
        for case, contradicts_it in known.passes[known.asked[mutant.name] :]:
            if enough is not None and len(against) >= enough:
                break
            known.asked[mutant.name] += 1
            if id(case) not in self._recalled:
                small = sum(spec.nbytes for spec in case.inputs) <= _SMALL
                self._recalled[id(case)] = self._recall(case) if small else None
            seen = self._recalled[id(case)]
            if seen and _does(contradicts_it, mutant, seen, self._broken):
                against.append(case)
        return against

    def refit(self, case: Case, known: Sequence[Mutant]) -> dict[str, Mutant]:
        """Return the `known` mutants that reproduce a kept failure, or pairs of them, or any."""
        if (evidence := self._failed.get(case.id)) is None:
            return {}
        self._again -= 1
        pairs = [both(*pair) for pair in combinations(known, 2)]
        for tried in (known, pairs, mutants_of(case.op) if self._again >= 0 else ()):
            if found := [one for one in tried if _does(reproduces, one, evidence, self._broken)]:
                return {one.name: one for one in found}
        return {}


def cell_of(case: Case) -> Cell:
    """Return the version and the type, for which kernels are written."""
    lead = leading(case.op, case.inputs)
    dtype = dtype_of(case.op, case.attrs, lead.dtype if lead else None)
    return Cell(case.op, dtype.name if dtype else "")


def spelt(mutant: Mutant) -> Diagnosis:
    """The diagnosis of a failure that a mutant reproduces."""
    return Diagnosis(mutant.name, f"as if {mutant.text}")


def _is_right(rounded: Evidence) -> bool:
    """Return True if the answer passes with infinity or 0 where sums of powers leave the range."""
    assert rounded.got is not None
    got, tolerance = rounded.got, rounded.tolerance
    compared = [compare_outputs(wants, got, tolerance) for wants in rounded.admitted]
    return any(all(_fits(one, rounded, n) for n, one in enumerate(those)) for those in compared)


def _fits(compared: Comparison, rounded: Evidence, place: int) -> bool:
    right, got = rounded.nearest[place], (rounded.got or ())[place]
    if compared.tier != "range" or right is None or isinstance(got, Foreign):
        return compared.problem is None
    out = ~np.isfinite(got) | (got == 0)
    return bool(out.any() and np.array_equal(right[~out], got[~out]))
