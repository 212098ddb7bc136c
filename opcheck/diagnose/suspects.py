"""Mutants that explain a backend's failures, narrowed down with each of its answers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, product, starmap
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from opcheck.backends import as_outputs, same_answers
from opcheck.compare import Want, are_plainly_right, compare_outputs
from opcheck.compare.elements import Floats, distance, wide
from opcheck.compare.outputs import Outputs, computed_want
from opcheck.diagnose.allowance import UNLIMITED, WHILE_RUNNING, Allowance, NoTimeLeft
from opcheck.dtypes import BASIC, DTYPES, DType, is_real, limits, of, round_to
from opcheck.engine import Drawn, Node, dtype_of, dtypes_of, leading, operator_of
from opcheck.engine.mutants import Mutant, causes_of
from opcheck.engine.mutants.mutant import AnswerFunction
from opcheck.engine.node import of_legality
from opcheck.errors import InvalidNode, NotSupported
from opcheck.grouping import not_none
from opcheck.model import (
    Array,
    Case,
    Cell,
    Comparison,
    Diagnosis,
    Foreign,
    OpVersion,
    Rejected,
    Tolerance,
)
from opcheck.numbers import setting

#: All mutants are tried on so many failures of a dtype. Later those that explained one before are
#: tried first, and all again at most so many times in vain.
_TRIES = 12
#: The same in further versions, whose mutants are mostly the same.
_IN_FURTHER_VERSIONS = 4
#: In the end all are tried again on so many of the rest.
_AGAIN = 50
#: So many failures are kept for that.
_KEPT = 2000
#: The largest inputs on which mutants are tried, in bytes.
_LARGEST = 1 << 20
#: The largest inputs of a case that is kept, in bytes.
_SMALL = 16 << 10
#: The fewest values of which the nearest can be chosen.
_SEVERAL = 2
#: The item size of types of 16 bits, in bytes.
_BYTES_OF_16_BITS = 2
#: Types of more digits are not computed in float32.
_PRECISION_OF_16_BITS = 16
#: Parts of a distribution at which drawn numbers are compared with a mutant's.
_QUANTILES = (0.1, 0.5, 0.9)
#: How far these parts may differ.
_OFF_OF_QUANTILE = 0.1
#: An invalid model is accepted, with an answer that no mutant gives.
NOT_CHECKED = Diagnosis("not_checked", "it was not checked whether the model is valid")

#: A test of a mutant by a failure or a pass.
_Test: TypeAlias = "Callable[[Mutant, Evidence], bool]"


def _no_cases() -> dict[str, list[Case]]:
    return defaultdict(list)


@dataclass
class _CellHistory:
    """The results of one version and dtype so far."""

    failures: int = 0
    #: How often all mutants were tried in vain.
    in_vain: int = 0
    #: Cases that passed, or at least were accepted, and the test whether they contradict a mutant.
    passes: list[tuple[Case, _Test]] = field(default_factory=list)
    #: By mutant, the number of passes tried.
    tried: Counter[str] = field(default_factory=Counter)
    #: By mutant, the cases that contradict it.
    against: dict[str, list[Case]] = field(default_factory=_no_cases)


def names_of(op: OpVersion) -> set[str]:
    """Return the names that a diagnosis of an operator may have; empty where no mutant is known.

    They are those of its mutants, former ones too, of faults, of pairs of these, and `not_checked`.
    """
    names = {name for mutant in causes_of(op) for name in mutant.names}
    pairs = {f"{one}+{other}" for one in names for other in (*names, *FAULTS)}
    return names and {*names, *pairs, *FAULTS, str(NOT_CHECKED.mistake)}


@dataclass(eq=False)
class _Trials:
    """Tries mutants on evidence, within an allowance."""

    allowance: Allowance = field(default_factory=partial(Allowance, UNLIMITED))
    #: Why mutants raised, by name.
    broken: dict[str, str] = field(default_factory=dict)

    def holds(self, test: _Test, mutant: Mutant, evidence: Evidence) -> bool:
        """Return the result of a test of a mutant by a failure or a pass.

        False for a mutant that raises, which is noted in `broken`. Raises NoTimeLeft if the time
        for causes is used up.
        """
        self.allowance.check()
        try:
            return test(mutant, evidence)
        # A mutant that fails on a node must not end a run.
        except Exception as error:
            self.broken[mutant.name] = f"{type(error).__name__}: {error}"
            return False

    def fitting(self, mutants: Iterable[Mutant], evidence: Evidence) -> list[Mutant]:
        """Return the mutants that reproduce a failure; those that raise are noted in `broken`.

        Raises NoTimeLeft if the time for causes is used up.
        """
        return [mutant for mutant in mutants if self.holds(reproduces, mutant, evidence)]


def looks_like(name: str, evidence: Evidence) -> bool:
    """Return True if a mutant of this name, or of this former name, reproduces a failure.

    It may do so next to a fault, and two mutants may together, of the name `one+other`.
    `not_checked` fits an answer to a model that must be refused. Time is not limited; a mutant that
    raises reproduces nothing.
    """
    if name == NOT_CHECKED.mistake:
        return evidence.got is not None and not evidence.admitted
    parts = {*name.split("+")}
    mutants = [
        mutant for mutant in causes_of(evidence.node.op) if not parts.isdisjoint(mutant.names)
    ]
    trials = _Trials()
    fitting = _fitting(evidence, mutants, trials)
    fitting += trials.fitting(starmap(both, combinations(mutants, 2)), evidence)
    names = {known for mutant in fitting for known in mutant.names}
    return any(name in (known, known.partition("+")[0]) for known in names)


def _fitting(evidence: Evidence, mutants: Sequence[Mutant], trials: _Trials) -> list[Mutant]:
    """Return mutants that give the answer; else faults such as a poorer arithmetic.

    A fault is a mistake that any operator can have, in the type of the output or of the
    computation. One that fits alone is added if no mutant does, float32 in any case. Mutants
    combined with faults, which take longest, are tried only if nothing else fits. No mutant is
    tried on inputs beyond 1 MiB. Mutants that raise are noted in `trials`. Raises NoTimeLeft.
    """
    tried = mutants if evidence.nbytes <= _LARGEST else ()
    fitting = trials.fitting(tried, evidence)
    views = _views_to_try(evidence, trials)
    names = {mutant.name for mutant in fitting}
    for view in views:
        # float32 in place of float64 is always added: it may be all that is wrong.
        is_needed = not names or view.fault.dtype.name == "float32"
        if view.explains and view.fault.name not in names and is_needed:
            fitting.append(view.fault.beside())
    if not fitting:
        fitting = _fitting_with_faults(views, tried, trials, evidence.distant)
    return [*{mutant.name: mutant for mutant in fitting}.values()]


class _View(NamedTuple):
    """The answer as it would be without a fault, which `explains` it if it is right then."""

    fault: Fault
    evidence: Evidence
    explains: bool


def _views_to_try(evidence: Evidence, trials: _Trials) -> list[_View]:
    """Return the views of an answer, of poorer arithmetics down to the widest that explains it.

    A view is the answer as it would be without a fault; the fault explains it if it is right then.
    Raises NoTimeLeft.
    """
    views: list[_View] = []
    right: DType | None = None
    for fault, view in evidence.views():
        if right not in (None, fault.dtype):
            break
        trials.allowance.check()
        explains = False
        if view.admitted and not evidence.is_beyond(fault.dtype):
            explains = _is_right(view)
        if explains:
            right = fault.dtype
        views.append(_View(fault, view, explains))
    return views


def _fitting_with_faults(
    views: Sequence[_View], tried: Sequence[Mutant], trials: _Trials, distant: Set[str]
) -> list[Mutant]:
    """Return mutants combined with a fault, if both together give the answer.

    Faults are those in the dtype of the first view. Mutants of the names `distant` are tried only
    where numbers are cut: a poorer arithmetic alone cannot explain their distance. Empty without
    `views`. Raises NoTimeLeft.
    """
    first = [view for view in views if view.fault.dtype == views[0].fault.dtype]
    is_cut = len({view.evidence for view in first}) > 1
    candidates = [mutant for mutant in tried if is_cut or mutant.name not in distant]
    fitting: list[Mutant] = []
    by_evidence: dict[Evidence, list[Mutant]] = {}
    for fault, evidence, _ in first:
        if evidence not in by_evidence:
            by_evidence[evidence] = trials.fitting(candidates, evidence)
        fitting += map(fault.beside, by_evidence[evidence])
    return fitting


def _that_may_explain(evidence: Evidence) -> tuple[Mutant, ...]:
    """Return the mutants that may explain a failure: of an exception, mistakes of refusing alone.

    `evidence.got` is None for an exception. Any misreading may lead to a value that is refused
    then, but an exception of a type that its adapter raises by accident shows no misreading.
    """
    mutants = causes_of(evidence.node.op)
    if evidence.got is None:
        return tuple(mutant for mutant in mutants if mutant.is_refusal)
    return mutants


class Suspects:
    """Diagnoses of one backend; its results must come in a fixed order."""

    def __init__(
        self, recall: Callable[[Case], Evidence | None], allowance: Allowance | None = None
    ) -> None:
        """Begin without results.

        Args:
            recall: Returns the evidence of a case that passed, or None.
            allowance: The time that may be spent; None for any.
        """
        self._recall = recall
        self.allowance = allowance or Allowance(UNLIMITED)
        self._trials = _Trials(self.allowance)
        #: Cases whose failures were not compared with every mutant, for want of time.
        self.untried: set[str] = set()
        #: Numbers of failures that each mutant explains, by operator.
        self._explained: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._cells: dict[Cell, _CellHistory] = defaultdict(_CellHistory)
        #: The first version that failed, by operator and dtype.
        self._first: dict[tuple[str, str, str], OpVersion] = {}
        #: Passes that are in no cell yet: most runs never need to know.
        self._new: dict[_Test, list[Case]] = {contradicts: [], refuses: []}
        self._recalled: dict[int, Evidence | None] = {}
        self._failed: dict[str, Evidence] = {}
        #: Mutants by case that give its answer, contradicted or not.
        self._fits: dict[str, list[Mutant]] = {}
        #: Cases on which all mutants were tried in vain.
        self._vain: set[str] = set()
        self._resemblances: dict[str, str] = {}
        self._again = _AGAIN

    def passed(self, case: Case) -> None:
        """Remember a case that passed, as evidence against mutants."""
        self._new[contradicts].append(case)

    def accepted(self, case: Case) -> None:
        """Remember a case that was not refused, whatever its answer is worth."""
        self._new[refuses].append(case)

    def diagnose(self, evidence: Evidence, case: str = "") -> tuple[Diagnosis, ...]:
        """Return the mutants that reproduce a failure, or else a pattern of its numbers.

        Mutants that a pass in the same version and dtype contradicts are left out; the one that
        explains the most failures up to now comes first. Without any, it is `not_checked` for an
        answer to a model that must be refused. Mutants that raised are reported at the end, each
        once.

        What fits the `case`, an id or "", is remembered. Without time, the mutants are missing, and
        the case is noted in `untried`.
        """
        with self.allowance.searching(WHILE_RUNNING):
            return self._diagnose(evidence, case)

    def _diagnose(self, evidence: Evidence, case: str) -> tuple[Diagnosis, ...]:
        """Return the mutants that reproduce a failure, or else a pattern of its numbers.

        Keeps what fits the `case`, and small evidence, for the choice of causes at the end. Notes
        the case in `untried` if there is no time left.
        """
        op = evidence.node.op
        cell = Cell(op, evidence.node.dtype)
        try:
            fits = self._fits_of(evidence, cell, case)
        except NoTimeLeft:
            self.untried.add(case)
            fits = []
        pattern = resemblance(evidence) or ""
        if case:
            self._fits[case] = fits
            self._resemblances[case] = pattern
            if evidence.nbytes <= _SMALL and len(self._failed) < _KEPT:
                self._failed[case] = evidence
        # Those that a pass in the same version and dtype contradicts are left out. First comes the
        # mutant that explains the most failures up to now.
        explained = self._explained[op.domain, op.name]
        of_legal = bool(evidence.admitted)
        uncontradicted = [
            mutant for mutant in fits if not self.is_contradicted(mutant, cell, of_legal=of_legal)
        ]
        explained.update(mutant.name for mutant in uncontradicted)
        uncontradicted.sort(key=lambda mutant: -explained[mutant.name])
        diagnoses = [as_diagnosis(mutant) for mutant in uncontradicted]
        if not diagnoses and evidence.got is not None:
            if not evidence.admitted:
                diagnoses.append(NOT_CHECKED)
            elif pattern:
                diagnoses.append(Diagnosis(None, pattern))
        return (*diagnoses, *self._reports_of_broken())

    def _fits_of(self, evidence: Evidence, cell: Cell, case: str) -> list[Mutant]:
        """Return the mutants that give an answer; none after too many attempts in vain.

        After many failures of a version and dtype, those that explained one before are tried first,
        and all only if none fits. Counts the failure in the `cell`, and notes a `case` on which all
        were tried in vain. Raises NoTimeLeft.
        """
        op = evidence.node.op
        mutants = _that_may_explain(evidence)
        history = self._cells[cell]
        history.failures += 1
        first = self._first.setdefault((op.domain, op.name, cell.dtype), op)
        tries = _TRIES if first == op else _IN_FURTHER_VERSIONS
        if history.failures > tries:
            explained = self._explained[op.domain, op.name]
            parts = {part for name in explained for part in name.split("+")}
            before = [mutant for mutant in mutants if mutant.name in parts]
            fits = _fitting(evidence, before, self._trials)
            if fits:
                return fits
            history.in_vain += 1
        if history.in_vain > tries:
            return []
        fits = _fitting(evidence, mutants, self._trials)
        if not fits:
            self._vain.add(case)
        return fits

    def _reports_of_broken(self) -> list[Diagnosis]:
        """Return a remark on each mutant that raised since the last call, and forget them."""
        broken = dict(self._trials.broken)
        self._trials.broken.clear()
        message = "a mistake of opcheck's own could not be tried"
        return [Diagnosis(None, f"{message}: {name}: {how}") for name, how in broken.items()]

    def fitting(self, case: Case, diagnoses: Iterable[Diagnosis]) -> dict[str, Mutant]:
        """Return the mutants that give the answer to a case, by name, in the order of all mutants.

        They are those found when the case was diagnosed, contradicted or not; if that was not here,
        or found none, those that its `diagnoses` name.
        """
        known = {mutant.name: mutant for mutant in causes_of(case.op)}
        fits = self._fits.get(case.id)
        if not fits:
            diagnosed = (
                mutant_named(diagnosis.mistake, known)
                for diagnosis in diagnoses
                if diagnosis.mistake
            )
            fits = [mutant for mutant in diagnosed if mutant]
        order = {name: place for place, name in enumerate(known)}

        def place(mutant: Mutant) -> int:
            """Return the place of a mutant, or of the first of a pair, among those known."""
            return order.get(mutant.name.partition("+")[0], len(order))

        return {mutant.name: mutant for mutant in sorted(fits, key=place)}

    def resemblance(self, case: Case, diagnoses: Iterable[Diagnosis]) -> str:
        """Return the pattern of an answer's numbers, "" for none.

        It is the one found when the case was diagnosed here. If that was elsewhere, or found none,
        it is the text of the first of its `diagnoses` that names no mutant, whatever that says.
        """
        remarks = (diagnosis.text for diagnosis in diagnoses if diagnosis.mistake is None)
        return self._resemblances.get(case.id) or next(remarks, "")

    def is_contradicted(self, mutant: Mutant, cell: Cell, *, of_legal: bool) -> bool:
        """Return True if a pass of a version and dtype contradicts a mutant; see `against`.

        A pass does so if the mutant would have failed there. True, too, without time to find that
        out: what was not checked is not named.
        """
        try:
            return bool(self.against(mutant, cell, enough=1, of_legal=of_legal))
        except NoTimeLeft:
            return True

    def against(
        self, mutant: Mutant, cell: Cell, enough: int | None = None, *, of_legal: bool = False
    ) -> list[Case]:
        """Return the passes of a version and dtype that contradict a mutant.

        All of them if `enough` is None; else the search ends at that number. Each pass is tried
        once for each mutant; those with large data are not. If it is to explain failures `of_legal`
        models, refusals of invalid ones do not count: a backend may check a model before it makes
        the mistake. Raises NoTimeLeft.
        """

        def counts(case: Case) -> bool:
            """Return True if a case that contradicts the mutant is evidence."""
            return not (of_legal and isinstance(case.expect, Rejected))

        for test, cases in self._new.items():
            for case in cases:
                self._cells[cell_of(case)].passes.append((case, test))
            cases.clear()
        history = self._cells[cell]
        known = history.against[mutant.name]
        against = [*filter(counts, known)]
        for case, test in history.passes[history.tried[mutant.name] :]:
            if enough is not None and len(against) >= enough:
                break
            evidence = self._evidence_of_pass(case)
            contradicts_it = evidence is not None and self._trials.holds(test, mutant, evidence)
            history.tried[mutant.name] += 1
            if contradicts_it:
                known.append(case)
            if contradicts_it and counts(case):
                against.append(case)
        return against

    def _evidence_of_pass(self, case: Case) -> Evidence | None:
        """Return the evidence of a pass, made once; None for more than 16 KiB of inputs.

        None too where no single answer is known to be right.
        """
        if id(case) not in self._recalled:
            is_small = sum(spec.nbytes for spec in case.inputs) <= _SMALL
            self._recalled[id(case)] = self._recall(case) if is_small else None
        return self._recalled[id(case)]

    def refit(self, case: Case, known: Sequence[Mutant]) -> dict[str, Mutant]:
        """Return mutants that reproduce a kept failure, by name: `known` ones, pairs, or any.

        The first of these three of which one fits decides. All mutants are tried on some failures
        only, and not where they were tried in vain before. Empty if none fits, or the failure was
        not kept. Raises NoTimeLeft.
        """
        evidence = self._failed.get(case.id)
        if evidence is None:
            return {}
        is_new = case.id not in self._vain
        if is_new:
            self._again -= 1
        pairs = [both(*pair) for pair in combinations(known, 2)]
        every = _that_may_explain(evidence) if is_new and self._again >= 0 else ()
        for tried in (known, pairs, every):
            fits = self._trials.fitting(tried, evidence)
            if fits:
                return {mutant.name: mutant for mutant in fits}
        return {}


def cell_of(case: Case) -> Cell:
    """Return the version and the type, for which kernels are written; "" for a type unknown."""
    given = {spec.name: spec for spec in case.inputs}
    lead = leading(case.op, [given.get(slot) for slot in case.slots] or case.inputs)
    dtype = dtype_of(case.op, case.attrs, lead.dtype if lead else None)
    return Cell(case.op, dtype.name if dtype else "")


def as_diagnosis(mutant: Mutant) -> Diagnosis:
    """Return the diagnosis of a failure that a mutant reproduces."""
    return Diagnosis(mutant.name, mutant.text)


def _is_right(rounded: Evidence) -> bool:
    """Return True if the answer in `rounded`, a view without a fault, passes there.

    An infinity or 0 passes where values leave the range of the fault's type. An element that is off
    by more than a quarter of the largest decides without a bound; a bound that is computed for the
    first time raises what the operator's formula raises. The answer is not a refusal.
    """
    assert rounded.got is not None
    if any(map(_is_far, rounded.nearest, rounded.got)):
        return False
    for wants in rounded.admitted:
        comparisons = compare_outputs(wants, rounded.got, rounded.tolerance)
        if all(_fits(comparison, rounded, n) for n, comparison in enumerate(comparisons)):
            return True
    return False


def _is_far(right: Array | None, got: Output) -> bool:
    """Return True if an element is off by more than a quarter of the largest one.

    Poorer arithmetic does not explain that, and to see it costs less than bounds do. Elements that
    came as 0, and those that are not finite on either side, do not count, nor do they make the
    largest. False without an array to compare with, or with one of another shape.
    """
    if right is None or isinstance(got, Foreign) or right.shape != got.shape:
        return False
    return bool(_is_off(wide(right), wide(got), 4).any())


def _is_off(right: Floats, got: Floats, times: int) -> Any:
    """Mask known elements that are off by more than the largest of them, divided by `times`.

    Known elements are finite on both sides, and did not come as 0.
    """
    known = np.isfinite(right) & np.isfinite(got) & (got != 0)
    with np.errstate(all="ignore"):
        return known & (times * abs(got - right) > abs(right[known]).max(initial=0))


def _fits(comparison: Comparison, rounded: Evidence, place: int) -> bool:
    """Return True if the output at `place` passes, by its comparison.

    If the arithmetic's range alone explains it, it passes only if all other elements than
    infinities, NaN and 0 are equal to the right ones.
    """
    right = rounded.nearest[place]
    got = (rounded.got or ())[place]
    if comparison.tier != "range" or right is None or isinstance(got, Foreign):
        return comparison.problem is None
    out = ~np.isfinite(got) | (got == 0)
    return bool(out.any() and np.array_equal(right[~out], got[~out]))


Output: TypeAlias = Array | Foreign
#: Two arithmetics that mean the same differ by so many ULP.
_SAME = 4
#: The same in types of 16 bits.
_SAME_IN_16_BITS = 1
#: They differ by more only where the right answer is so many times farther away.
_FARTHER = 16
#: The fewest values that can have a pattern.
_ENOUGH = 3
#: Roundings differ by more than this factor, or in sign.
_ALIKE = 1.5
#: The largest error that they make is smaller than the unit roundoff by so many bits at most.
_FINER = 8

#: Saturated: computed, and clipped to the largest finite number.
_FaultKind: TypeAlias = Literal["output", "computed", "saturated"]


class Fault(NamedTuple):
    """A mistake that any operator can have, in the output's type or that of the computation."""

    kind: _FaultKind
    dtype: DType

    @property
    def name(self) -> str:
        """The name of the fault: `computed_in_float32`."""
        return f"{self.kind}_in_{self.dtype}"

    @property
    def text(self) -> str:
        """A sentence without its full stop: what was done instead."""
        if self.kind == "output":
            return f"the output was {self.dtype} whatever the input"
        text = f"it was computed in {self.dtype}"
        if self.kind == "saturated":
            text += f", where what leaves its range became {limits(self.dtype)[1]:.3g}"
        return text

    def beside(self, mutant: Mutant | None = None) -> Mutant:
        """Return the fault as a mutant, combined with `mutant` unless that is None.

        The combination bears the names of both, as in `mutant+computed_in_float32`.
        """
        if mutant is None:
            text = self.text
            if self.kind == "computed":
                text += ", within whose error it lies"
            return Mutant(self.name, text, partial(self._spoilt, attrgetter("right")))
        name, *aliases = (f"{name}+{self.name}" for name in mutant.names)
        text = f"{mutant.text}, and {self.text}"
        return Mutant(name, text, partial(self._spoilt, mutant.answer), aliases=tuple(aliases))

    def _spoilt(self, answer: AnswerFunction, node: Node) -> Sequence[Any]:
        """Return the outputs that `answer` gives to a node, with the fault.

        A fault of the computation leaves them as they are if the first input is not floating, or
        has no more digits than the fault's type.
        """
        own = None if node.lead is None else of(node.lead)
        if self.kind == "output":
            return [np.asarray(output).astype(self.dtype.numpy) for output in answer(node)]
        if own is None or own.kind != "float" or self.dtype.precision >= own.precision:
            return answer(node)
        outputs = [self._bounded(np.asarray(output)) for output in answer(self.narrowed(node))]
        return [output.astype(own.numpy) for output in outputs]

    def narrowed(self, node: Node) -> Node:
        """Return the node with its floating inputs in the fault's type; made once for each node.

        If the fault is saturation, they are clipped to the largest finite number.
        """

        def made() -> Node:
            narrow = self.dtype.numpy
            with np.errstate(all="ignore"):
                inputs = tuple(
                    self._bounded(x.astype(narrow)) if is_real(x) else x for x in node.inputs
                )
            return replace(node, inputs=inputs)

        return node.variant(self.name, made)

    def restored(self, got: Array) -> Array:
        """Return an output in the fault's type.

        If the fault is saturation, the largest number and its negative become infinite.
        """
        narrow = got.astype(self.dtype.numpy)
        if self.kind != "saturated":
            return narrow
        largest = np.abs(narrow) == limits(self.dtype)[1]
        return np.where(largest, np.copysign(np.inf, narrow), narrow).astype(narrow.dtype)

    def _bounded(self, array: Array) -> Array:
        """Return an array of the fault's type clipped to finite numbers, if the fault saturates.

        Any other is returned as it is.
        """
        if self.kind != "saturated" or array.dtype != self.dtype.numpy:
            return array
        low, high = (array.dtype.type(end) for end in limits(self.dtype))
        return np.asarray(np.clip(array, low, high))


def both(one: Mutant, other: Mutant) -> Mutant:
    """Return two mutants as one; where both spoil an element, the second wins.

    If one gives another shape than the right one, the answer is that of the second alone. Its names
    are all pairs `one+other`.
    """

    def spoilt(node: Node) -> Sequence[Any]:
        outputs = []
        for right, mine, its in zip(node.right, one.answer(node), other.answer(node), strict=True):
            if not np.shape(right) == np.shape(mine) == np.shape(its):
                return other.answer(node)
            same = (its == right) | (np.isnan(its) & np.isnan(right))
            outputs.append(np.where(same, mine, its).astype(right.dtype))
        return outputs

    name, *aliases = ("+".join(names) for names in product(one.names, other.names))
    return Mutant(name, f"{one.text}, and {other.text}", spoilt, aliases=tuple(aliases))


#: Every fault, by its name.
FAULTS = {one.name: one for one in starmap(Fault, product(get_args(_FaultKind), BASIC.values()))}


def mutant_named(name: str, mutants: Mapping[str, Mutant]) -> Mutant | None:
    """Return the mutant or fault of this name, or the combination that it names.

    A name is one of `mutants`, of a fault, or several with "+" between them. None if a part is
    unknown.
    """
    combined: Mutant | None = None
    for part in name.split("+"):
        mutant = mutants.get(part)
        fault = FAULTS.get(part)
        if mutant is not None:
            combined = mutant if combined is None else both(combined, mutant)
        elif fault is not None:
            combined = fault.beside(combined)
        else:
            return None
    return combined


@dataclass(frozen=True, eq=False)
class Evidence:
    """A wrong answer, None for a refusal, and the `admitted` ones, none for an invalid node."""

    node: Node
    got: Outputs | None
    admitted: Sequence[Sequence[Want]] = ()
    tolerance: Tolerance | None = None

    @cached_property
    def distant(self) -> set[str]:
        """Names of mutants, tried so far, whose answers no poorer arithmetic makes of this one."""
        return set()

    @property
    def nbytes(self) -> int:
        """Size of the inputs in bytes."""
        return sum(array.nbytes for array in self.node.inputs if array is not None)

    def is_right(self, outputs: Outputs) -> bool:
        """Return True if other outputs would have passed; some admitted answer decides.

        A bound that is computed for the first time raises what the operator's formula raises.
        """
        return any(
            are_plainly_right(wants, outputs, self.tolerance)
            or all(
                output.problem is None for output in compare_outputs(wants, outputs, self.tolerance)
            )
            for wants in self.admitted
        )

    def passes(self, place: int, output: Output) -> bool:
        """Return True if an output at this place would have passed, whatever the others are.

        False if nothing is admitted there. A bound that is computed for the first time raises what
        the operator's formula raises.
        """
        for want in self._wants(place):
            (comparison,) = compare_outputs([want], [output], self.tolerance)
            if comparison.problem is None:
                return True
        return False

    def within_errors(self, place: int, one: Array, other: Array) -> Any:
        """Mask elements that may differ so much between two correct implementations.

        That is by twice the error that the output's bound allows. False, instead of a mask, if
        there is not exactly one bound.
        """
        bounds = [want.bound for want in self._wants(place)]
        if len(bounds) != 1 or bounds[0] is None:
            return False
        with np.errstate(all="ignore"):
            return np.abs(wide(one) - wide(other)) <= 2 * bounds[0].room(bounds[0].tiers()[0]).own

    def is_far_from(self, place: int, plain: Any) -> bool:
        """Return True if the output at `place` cannot be `plain`, however that was rounded.

        `plain` is a mutant's output in plain arithmetic. So it is if the distance of an element is
        more than half of the digits of the largest (in 16 bits, than nearly all), is no small part
        of that of the right value from `plain`, and is beyond twice the bound. False for outputs
        that pass, and for what is not floating or has another shape than the right one.
        """
        got = (self.got or ())[place]
        right = self.nearest[place]
        if place in self.passing or right is None or not isinstance(got, np.ndarray):
            return False
        precision = not_none(of(got)).precision
        # Plain numbers of 16 bits are computed in float32.
        bits = precision - 2 if precision < _PRECISION_OF_16_BITS else precision // 2 - 1
        mine = wide(got)
        other = wide(plain)
        off = _is_off(mine, other, 2**bits)
        with np.errstate(all="ignore"):
            off &= 8 * abs(mine - other) > abs(wide(right) - other)
        if not off.any():
            return False
        return bool((off & ~np.asarray(self.within_errors(place, got, plain))).any())

    def _wants(self, place: int) -> list[Want]:
        """Return what may be expected of the output at this place."""
        return [wants[place] for wants in self.admitted if place < len(wants)]

    @cached_property
    def passing(self) -> frozenset[int]:
        """The places of the outputs that pass, where others do not.

        Empty for a single output, and if all pass.
        """
        got = self.got or ()
        if len(got) == 1:
            return frozenset()
        passing = frozenset(n for n, output in enumerate(got) if self.passes(n, output))
        return passing if len(passing) < len(got) else frozenset()

    @cached_property
    def nearest(self) -> list[Array | None]:
        """For each output the nearest right values; None without floats of the same shape."""
        return [self._nearest(place, got) for place, got in enumerate(self.got or ())]

    def _nearest(self, place: int, got: Output) -> Array | None:
        """Return the right values of an output nearest to `got`, rounded to its dtype.

        Of several admitted answers, those at the smallest largest distance. None if `got` is not
        floating, and without right numbers of its shape.
        """
        dtype = None if isinstance(got, Foreign) else of(got)
        if isinstance(got, Foreign) or dtype is None or dtype.kind != "float":
            return None
        wants = [some[place] for some in self.admitted if len(some) == len(self.got or ())]
        fitting = (want.values for want in wants if want.values.shape == got.shape)
        right = [round_to(x.astype(np.float64), dtype) for x in fitting if x.dtype.kind != "b"]
        if len(right) < _SEVERAL or not got.size:
            return next(iter(right), None)

        def furthest(values: Array) -> int:
            return int(distance(values, got).max())

        return min(right, key=furthest)

    @cached_property
    def farthest(self) -> list[tuple[int, int]]:
        """Largest distance in ULP of each output from its `nearest` right values, and where it is.

        Those are of one admitted answer as a whole, rounded. The distance is `UNORDERED` for NaN
        and a number; the place is a flat index. Both are 0 if unknown: for what is not floating,
        has another shape, or has no element. Empty for a refusal.
        """
        farthest = []
        for got, right in zip(self.got or (), self.nearest, strict=True):
            if right is None or isinstance(got, Foreign) or not got.size:
                farthest.append((0, 0))
            else:
                steps = distance(got, right)
                farthest.append((int(steps.max()), int(steps.argmax())))
        return farthest

    def narrower_types(self) -> list[DType]:
        """Return narrower types that may explain the answer, the widest first.

        They are types of the operator whose unit roundoff is at most 256 times the largest error.
        None unless all outputs are of the first input's floating type.
        """
        lead = self.node.lead
        own = None if lead is None else of(lead)
        if own is None or own.kind != "float" or not self.got:
            return []
        if any(isinstance(got, Foreign) or of(got) != own for got in self.got):
            return []
        least = -math.log2(self._coarseness) - _FINER
        narrower = ("float32", "float16", "bfloat16")
        allowed = [DTYPES[name] for name in narrower if name in dtypes_of(self.node.op)]
        return [t for t in allowed if least <= t.precision < own.precision]

    @cached_property
    def _coarseness(self) -> float:
        """The largest relative error of wrong elements; infinite if there is none or it is unknown.

        If all errors are alike, they are no roundings, and it is 2¹⁶ times less.
        """
        by_output = [np.zeros(0)]
        for right, got in zip(self.nearest, self.got or (), strict=True):
            if right is not None and isinstance(got, np.ndarray):
                steps = distance(right, got)
                wrong = steps > max(1, int(steps.max(initial=0)) // _FARTHER)
                with np.errstate(all="ignore"):
                    by_output.append(wide(got)[wrong] / wide(right)[wrong] - 1)
        errors = np.concat(by_output)
        if not (errors.any() and np.isfinite(errors).all()):
            return math.inf
        least, most = sorted((errors.min(), errors.max()), key=abs)
        largest = float(abs(most))
        are_alike = 0 < most / least < _ALIKE and np.unique(errors).size >= _ENOUGH
        return math.ldexp(largest, -2 * _FINER) if are_alike else largest

    def views(self) -> Iterator[tuple[Fault, Evidence]]:
        """Yield faults, each with the answer as it would be without it, the likeliest first.

        An output of the wrong type comes first, then computation in each narrower type, without and
        with saturation. The answer is cast to the right type or, in a narrower one, compared with
        the engine's answer there.
        """
        types = self._types()
        if types:
            wanted, dtype = types
            fault = Fault("output", dtype)
            with np.errstate(all="ignore"):
                got = [np.asarray(array).astype(wanted.numpy) for array in self.got or ()]
            cast = replace(self, got=got)
            yield fault, cast
            # An output of a narrower type cannot have more digits than that.
            if dtype in cast.narrower_types():
                yield fault, cast._rounded(fault)
        for dtype in self.narrower_types():
            computed = Fault("computed", dtype)
            view = self._rounded(computed)
            yield computed, view
            _, largest = limits(dtype)
            arrays = [*self.node.given, *(self.got or ())]
            with np.errstate(all="ignore"):
                is_cut = any((np.abs(np.asarray(array)) >= largest).any() for array in arrays)
            saturated = Fault("saturated", dtype)
            yield saturated, self._rounded(saturated) if is_cut else view

    def is_beyond(self, dtype: DType) -> bool:
        """Return True if the answer has finite numbers that a type does not reach."""
        arrays = [wide(got) for got in self.got or () if isinstance(got, np.ndarray)]
        return any((np.isfinite(x) & (np.abs(x) > limits(dtype)[1])).any() for x in arrays)

    def _types(self) -> tuple[DType, DType] | None:
        """Return the type that all outputs must have, and the one that all have instead.

        None if they are equal, or if outputs differ in it. Both are booleans, floats or integers.
        """
        wanted = {want.dtype for wants in self.admitted for want in wants}
        types = {of(got) if isinstance(got, np.ndarray) else None for got in self.got or ()}
        if len(wanted) != 1 or len(types) != 1 or wanted == types:
            return None
        want = wanted.pop()
        dtype = types.pop()
        # Strings and complex numbers are not the same answer in another type.
        if want and dtype and {want.kind, dtype.kind} <= {"bool", "float", "int"}:
            return want, dtype
        return None

    def _rounded(self, fault: Fault) -> Evidence:
        """Return the evidence in a fault's type, with the engine's answer there.

        If the engine has none, the admitted answers stay, without their bounds, and may be off by
        some ULP.
        """
        node = fault.narrowed(self.node)
        with np.errstate(all="ignore"):
            arrays = [array for array in self.got or () if isinstance(array, np.ndarray)]
            got = [*map(fault.restored, arrays)]
        try:
            answers = node.exact
        except (InvalidNode, NotSupported):
            # Right answers to a node that the text leaves open are known by their values alone.
            bare = partial(replace, dtype=fault.dtype, bound=None, rest=None)
            admitted = [[*map(bare, wants)] for wants in self.admitted]
            return Evidence(node, got, admitted, Tolerance(ulp=_SAME))
        return Evidence(
            node, got, (tuple(computed_want(node.op, "", output) for output in answers),)
        )


def reproduces(mutant: Mutant, evidence: Evidence) -> bool:
    """Return True if `mutant` gives the same wrong answer, up to rounding.

    A refusal (`evidence.got` is None) is reproduced if the mutant refuses the model too; numbers
    drawn at random, if they may be drawn from the mutant's distribution. Any other answer of the
    mutant must be wrong itself. Raises what the mutant raises on the node, but for InvalidNode,
    NotSupported and MemoryError, which count as a refusal.
    """
    operator = operator_of(evidence.node.op)
    is_rounded = operator is not None and not operator.exact
    if is_rounded and _is_far_in_plain_arithmetic(mutant, evidence):
        return False
    answer = _answer(mutant, evidence)
    if answer is None or evidence.got is None:
        return answer is not None
    if evidence.node.draws:
        return _draws_alike(mutant, evidence)
    if not _outputs_alike(answer, evidence, is_rounded):
        return False
    # An answer that passes explains no failure.
    return not evidence.is_right(answer)


def _is_far_in_plain_arithmetic(mutant: Mutant, evidence: Evidence) -> bool:
    """Return True if the mutant is far off in plain arithmetic, too, which takes less time.

    Far off means that rounding cannot make the backend's answer of it. True, too, if it gives
    another kind of answer, or the right one. False for illegal nodes and numbers drawn at random.
    Adds the mutant to `evidence.distant` if no poorer arithmetic explains the distance.
    """
    if not evidence.node.is_legal or evidence.node.draws:
        return False
    with setting(of_legality, True):
        plain = _answer(mutant, evidence)
    if plain is None:
        return True
    if any(map(_is_distant, evidence.got or (), plain)):
        evidence.distant.add(mutant.name)
    return any(starmap(evidence.is_far_from, enumerate(plain)))


def _is_distant(got: Output, plain: Any) -> bool:
    """Return True if an element of two arrays differs by more than a quarter of the largest.

    Infinities, NaN and elements that came as 0 do not count; False for what is not a real array.
    """
    if not isinstance(got, np.ndarray) or not is_real(got):
        return False
    return bool(_is_off(wide(got), wide(plain), 4).any())


def _outputs_alike(answer: tuple[Output, ...], evidence: Evidence, is_rounded: bool) -> bool:
    """Return True if each output is the mutant's, up to rounding, or right in both.

    `answer` are the mutant's outputs, of the kind of the backend's. `is_rounded` is True if the
    operator rounds.
    """
    got = evidence.got or ()
    right = as_outputs([*evidence.node.right]) if evidence.node.is_legal else ()
    untouched = {n for n, output in enumerate(right) if same_answers((output,), answer[n : n + 1])}

    def both_right(place: int) -> bool:
        """Return True for an output that may be computed in another arithmetic, but is right."""
        is_right = place in untouched or (not right and evidence.passes(place, answer[place]))
        return is_right and place in evidence.passing

    # Outputs that the mutant spoils come first: bounds take longer.
    spoilt_first = sorted(range(len(answer)), key=untouched.__contains__)
    return all(
        _alike(got[n], answer[n], evidence, place=n, is_rounded=is_rounded) or both_right(n)
        for n in spoilt_first
    )


def _answer(mutant: Mutant, evidence: Evidence) -> tuple[Output, ...] | None:
    """Return the outputs of a mutant; an empty tuple if both it and the backend refuse.

    None if its answer cannot be the backend's: one of both refuses, the outputs differ in number,
    type or shape, or the mutant makes no difference to a legal node.
    """
    made = mutant.made_on(evidence.node)
    refused = isinstance(made, InvalidNode)
    if evidence.got is None:
        return () if refused else None
    if isinstance(made, InvalidNode):
        return None
    # Most mutants make no difference to a node, and a right answer explains no failure.
    if evidence.node.is_legal and made is evidence.node.right:
        return None
    answer = as_outputs(made)
    are_of_one_kind = len(evidence.got) == len(answer) and all(
        map(_same_kind, evidence.got, answer)
    )
    return answer if are_of_one_kind else None


def _draws_alike(mutant: Mutant, evidence: Evidence) -> bool:
    """Return True if the answer may be drawn from the mutant's distribution.

    Three quantiles are compared first; then all elements, as for a backend's answer.
    """
    got = evidence.got or ()

    def drawn() -> Sequence[Array]:
        answer = mutant.made_on(evidence.node)
        return () if isinstance(answer, InvalidNode) else answer

    draws = [Drawn(drawn, place) for place in range(len(got))]
    # Most mutants draw from another distribution, which is quickly seen.
    for part, (draw, output) in product(_QUANTILES, zip(draws, got, strict=True)):
        quantile = draw.quantiles(part)
        with np.errstate(invalid="ignore"):
            below = np.mean(output < quantile) - _OFF_OF_QUANTILE
            not_above = np.mean(output <= quantile) + _OFF_OF_QUANTILE
        if not below < part < not_above:
            return False
    wants = [computed_want(evidence.node.op, "", draw) for draw in draws]
    return all(output.problem is None for output in compare_outputs(wants, got))


def contradicts(mutant: Mutant, passed: Evidence) -> bool:
    """Return True if `mutant` would have failed where the backend passed.

    A refusal fails if an answer is admitted there. Raises what the mutant raises on the node, but
    for InvalidNode, NotSupported and MemoryError, which count as a refusal.
    """
    answer = mutant.made_on(passed.node)
    if isinstance(answer, InvalidNode):
        return bool(passed.admitted)
    return not passed.is_right(as_outputs(answer))


def refuses(mutant: Mutant, accepted: Evidence) -> bool:
    """Return True if `mutant` would have refused a model that was accepted.

    Its outputs are not computed exactly for that. Raises what the mutant raises, but for
    InvalidNode, NotSupported and MemoryError, which count as a refusal.
    """
    with setting(of_legality, True):
        return isinstance(mutant.made_on(accepted.node), InvalidNode)


def _same_kind(got: Output, answer: Output) -> bool:
    """Return True for two arrays of one type and shape, and for equal values of other kinds."""
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return isinstance(got, Foreign) and isinstance(answer, Foreign) and got == answer
    same_type = got.dtype.newbyteorder("=") == answer.dtype.newbyteorder("=")
    return same_type and got.shape == answer.shape


def _alike(
    got: Output, answer: Output, evidence: Evidence, *, place: int, is_rounded: bool
) -> bool:
    """Return True if an output is that of a mutant, up to rounding; both are of one kind.

    Floats of an operator that rounds (`is_rounded`) may differ by some ULP, or more where the
    mutant is far from right; all others must be equal, NaN to NaN and 0 to −0. Outputs that are
    not tensors are equal already. A bound that is computed here for the first time raises what the
    operator's formula raises.
    """
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return True
    dtype = of(got)
    if dtype is None:
        return np.array_equal(got, answer)
    if dtype.kind != "float" or not is_rounded or not got.size:
        return np.array_equal(got, answer, equal_nan=dtype.kind != "string")
    right = evidence.nearest[place]
    if right is None:
        return int(distance(got, answer).max()) <= _same_ulp(got)
    return _floats_alike(got, answer, right, dtype, evidence, place)


def _same_ulp(got: Array) -> int:
    """Return by how many ULP two arithmetics that mean the same differ."""
    return _SAME_IN_16_BITS if got.dtype.itemsize == _BYTES_OF_16_BITS else _SAME


def _floats_alike(
    got: Array, answer: Array, right: Array, dtype: DType, evidence: Evidence, place: int
) -> bool:
    """Return True if rounded values are those of a mutant, being far from the `right` ones.

    They are, within a few ULP. They may be further off, if the largest distance is at most half of
    that to the right values, and each one is small next to the mutant's own error or within twice
    the bound.
    """
    same = _same_ulp(got)
    farthest, worst = evidence.farthest[place]
    # Most mutants leave the worst element right.
    if farthest > same and answer.flat[worst] == right.flat[worst]:
        return False
    between = distance(got, answer)
    furthest_between = int(between.max())
    if furthest_between <= same:
        return True
    # The backend's answer must be nearer to the mutant's than to the right one by this factor.
    if furthest_between > farthest // 2:
        return False
    # The most by which two arithmetics that mean the same may differ: half of the digits.
    most = 2 ** (dtype.precision // 2)
    away = np.minimum(distance(right, answer) // np.uint64(_FARTHER), np.uint64(most))
    allowed = between <= np.maximum(np.uint64(same), away)
    return bool(allowed.all() or (allowed | evidence.within_errors(place, got, answer)).all())


def resemblance(evidence: Evidence) -> str | None:
    """Describe what wrong values have in common, of each output that is wrong.

    None if one has no pattern, for a refusal, for several admitted answers or none, and for outputs
    that are not floating or of another dtype or shape than wanted. A bound that is computed for the
    first time raises what the operator's formula raises.
    """
    if evidence.got is None or len(evidence.admitted) != 1:
        return None
    patterns: list[str] = []
    is_explained = True
    for place, (want, got) in enumerate(zip(evidence.admitted[0], evidence.got, strict=False)):
        right = evidence.nearest[place]
        if right is None or isinstance(got, Foreign):
            return None
        dtype = of(got)
        if dtype is None or (want.dtype or dtype) != dtype:
            return None
        if compare_outputs([want], [got], evidence.tolerance)[0].problem is None:
            continue
        pattern = _pattern(evidence.node.lead, right, got, dtype)
        # All wrong outputs must be explained.
        if pattern is None:
            is_explained = False
        else:
            patterns.append(pattern)
    if not is_explained:
        return None
    return "; ".join(dict.fromkeys(patterns)) or None


def _pattern(lead: Array | None, right: Array, got: Array, dtype: DType) -> str | None:
    """Describe what the wrong values of one output have in common; None if nothing fits.

    They are right but for the sign of zeros, swapped between equal elements of `lead`, the first
    input, or off by one factor, one offset or few digits.
    """
    if np.array_equal(wide(right), wide(got), equal_nan=True):
        return "like the right values, but for the sign of zeros"
    if lead is not None and _is_swapped(lead, right, got):
        return "like the right values, swapped between equal elements of the input"
    return next(_patterns_of_numbers(right, got, dtype), None)


def _is_swapped(given: Array, right: Array, got: Array) -> bool:
    """Return True if each value of the input has the same outputs, in another order.

    False for texts, and unless all three have one shape.
    """
    if given.dtype == object or not given.shape == right.shape == got.shape:
        return False

    def sorted_pairs(output: Array) -> Array:
        pairs = np.stack([wide(given).ravel(), wide(output).ravel()])
        return np.asarray(pairs[:, np.lexsort(pairs)])

    return np.array_equal(sorted_pairs(right), sorted_pairs(got))


def _patterns_of_numbers(right: Array, got: Array, dtype: DType) -> Iterator[str]:
    """Yield what the numbers that are wrong have in common: a factor, an offset, few digits.

    The likeliest comes first. A factor or an offset needs at least three wrong numbers whose right
    values are not all equal. Nothing is yielded if one of them is not finite, or none is wrong.
    `right` and `got` have one shape, and `dtype`, a floating one. Raises ValueError otherwise.
    """
    steps = distance(right, got)
    off = steps > 0
    wanted = wide(right)[off]
    actual = wide(got)[off]
    if not (np.isfinite(wanted).all() and np.isfinite(actual).all() and off.any()):
        return
    # Relative errors of a few roundings.
    roundings = 2.0 ** (3 - dtype.precision)
    digits = 3 if got.dtype.itemsize == _BYTES_OF_16_BITS else 7
    with np.errstate(over="ignore"):
        varied = wanted.size >= _ENOUGH and np.ptp(wanted) > 0
    if varied:
        with np.errstate(all="ignore"):
            factors = actual / wanted
            offsets = actual - wanted
        factor = _common(factors, roundings * np.abs(factors))
        if factor is not None and min(abs(factor), abs(factor - 1)) > roundings:
            yield f"like {factor:.{digits}g} times the right values, where it is wrong"
        room = roundings * np.maximum(np.abs(actual), np.abs(wanted))
        offset = _common(offsets, room)
        # A lesser offset may have either sign.
        if offset is not None and abs(offset) > np.median(room):
            sign = "-" if offset < 0 else "+"
            yield f"like the right values {sign} {abs(offset):.{digits}g}, where it is wrong"
    furthest = int(steps.max())
    if furthest <= 2 ** (dtype.precision // 2):
        yield f"like less precision: it would pass with a tolerance of {furthest:,} ULP"


def _common(values: Floats, room: Floats) -> float | None:
    """Return the median if all `values` are within their `room` of it; None otherwise.

    None too if one is infinite or NaN.
    """
    if not np.isfinite(values).all():
        return None
    middle = float(np.median(values))
    return middle if np.all(np.abs(values - middle) <= room) else None
