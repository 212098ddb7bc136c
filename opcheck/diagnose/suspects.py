"""Mutants that explain a backend's failures, narrowed down with each of its answers.

A *mutant* is an implementation that is wrong in one way; it *fits* a failure if it gives the same
wrong answer. A pass of the same version and dtype, a *cell*, *contradicts* a mutant that would have
failed there. A *derived* mutant is one of many that could be made of any operator, so that a few
values are no evidence of it. A *fault* is a mistake that any operator can have, in the type of the
output or of the computation. *Evidence* is an answer with the right ones.

What looks up an operator's mutants raises WrongOperator if the file that declares it is wrong. What
tries mutants on passes raises what recalling a pass raises, such as MemoryError for its data.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations, starmap
from typing import NamedTuple, TypeAlias

from opcheck.diagnose import fitted
from opcheck.diagnose.allowance import UNLIMITED, WHILE_RUNNING, Allowance, NoTimeLeft
from opcheck.diagnose.elements import Elements, elements_of
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.faults import FAULTS, Fault, both, mutant_named
from opcheck.diagnose.likeness import contradicts, fits_fault, refuses, reproduces
from opcheck.diagnose.patterns import resemblance
from opcheck.dtypes import DType
from opcheck.engine import Node, dtype_of, leading
from opcheck.engine.mutants import Mutant, causes_of
from opcheck.engine.mutants.mutant import MutantRaised
from opcheck.model import (
    Case,
    Cell,
    Diagnosis,
    Foreign,
    OpVersion,
    Rejected,
)

#: All mutants are tried on so many failures of a dtype. Later those that explained one before are
#: tried first, and all again at most so many times in vain.
_TRIES = 12
#: The same in further versions, whose mutants are mostly the same.
_IN_FURTHER_VERSIONS = 4
#: In the end all are tried again on so many of the rest.
_AGAIN = 50
#: So many failures are kept for that.
_KEPT = 2000
#: The fewest wrong elements that confirm a derived mutant: of several failures, and of one.
_FEWEST_ELEMENTS = 6
_FEWEST_ELEMENTS_OF_ONE = 8
#: So many wrong elements that a mutant gives are no chance, whatever it is contradicted by.
_MANY_ELEMENTS = 64
#: How the name of a mutant ends that ignores an attribute or an input; two are a pair.
_IGNORED = "_ignored"
_PAIR = 2
#: The largest inputs on which mutants are tried, in bytes.
LARGEST = 1 << 20
#: The largest inputs of a case that is kept, in bytes.
_SMALL = 16 << 10
#: An invalid model is accepted, with an answer that no mutant gives.
NOT_CHECKED = Diagnosis("not_checked", "it was not checked whether the model is valid")
#: A test of a mutant by a failure or a pass.
_Test: TypeAlias = "Callable[[Mutant, Evidence], bool]"


def _no_cases() -> dict[str, list[Case]]:
    """Return a mapping in which a missing mutant has no cases."""
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


@dataclass
class _Testimony:
    """What speaks for a derived mutant: the failures that it gives, and their wrong elements.

    A derived mutant is one of many that could be made of any call, so that few values prove little.
    """

    failures: int = 0
    #: Wrong elements of outputs whose elements are not all equal.
    elements: int = 0
    #: The values of outputs whose elements are all equal.
    values: set[object] = field(default_factory=set)

    def add(self, evidence: Evidence) -> None:
        """Count a failure that the mutant gives."""
        self.failures += 1
        self.elements += evidence.wrong_elements
        self.values |= evidence.uniform_values

    @property
    def is_enough(self) -> bool:
        """True for six wrong elements and uniform values in all, or eight if of one failure."""
        least = _FEWEST_ELEMENTS if self.failures > 1 else _FEWEST_ELEMENTS_OF_ONE
        return self.elements + len(self.values) >= least


class NamesOfMistakes(set[str]):
    """The names that a diagnosis of an operator may have.

    Those with a number, of a fitted constant, and those of two mutants or more are in it too, but
    are not listed: there are a million.
    """

    def __init__(self, op: OpVersion, mutants: Iterable[str]) -> None:
        self._op = op
        self._mutants = frozenset(mutants)
        others = {*FAULTS, str(NOT_CHECKED.mistake)} if self._mutants else ()
        super().__init__({*self._mutants, *others})

    def __contains__(self, name: object) -> bool:
        """Return True for a name that is listed, or that mutants or a fitted constant may have."""
        if super().__contains__(name):
            return True
        if not isinstance(name, str) or not self:
            return False
        return self._is_of_several(name.split("+")) or fitted.named(self._op, name) is not None

    def _is_of_several(self, parts: Sequence[str]) -> bool:
        """Return True for a pair of mutants or of one with a fault, and for three listed names."""
        if len(parts) == _PAIR:
            first, second = parts
            return first in self._mutants and (second in self._mutants or second in FAULTS)
        return len(parts) > _PAIR and all(map(super().__contains__, parts))


def names_of(op: OpVersion) -> NamesOfMistakes:
    """Return the names that a diagnosis of an operator may have; empty where no mutant is known.

    They are those of its mutants, former ones too, of faults, of pairs of mutants or of one with a
    fault, of fitted constants, and `not_checked`. Raises WrongOperator if the file of the
    operator's formula is wrong.
    """
    return NamesOfMistakes(op, (name for mutant in causes_of(op) for name in mutant.names))


@dataclass(eq=False)
class _Trials:
    """Tries mutants on evidence, within an allowance."""

    allowance: Allowance = field(default_factory=partial(Allowance, UNLIMITED))
    #: Why mutants raised, by name.
    broken: dict[str, str] = field(default_factory=dict)

    def holds(self, test: _Test, mutant: Mutant, evidence: Evidence) -> bool:
        """Return the result of a test of a mutant by a failure or a pass, such as `reproduces`.

        False for a mutant that raises, which is noted in `broken`. Raises NoTimeLeft if the time
        for causes is used up.
        """
        self.allowance.check()
        try:
            return test(mutant, evidence)
        # A mutant that fails on a node must not end a run.
        except Exception as error:
            cause = error.__cause__ if isinstance(error, MutantRaised) else error
            self.broken[mutant.name] = f"{type(cause).__name__}: {cause}"
            return False

    def fitting(self, mutants: Iterable[Mutant], evidence: Evidence) -> list[Mutant]:
        """Return the mutants that reproduce a failure; those that raise are noted in `broken`.

        Raises NoTimeLeft if the time for causes is used up.
        """
        return [mutant for mutant in mutants if self.holds(reproduces, mutant, evidence)]


def looks_like(name: str, evidence: Evidence) -> bool:
    """Return True if a mutant of this name, or of this former name, reproduces a failure.

    It may do so next to a fault, whether `name` has the fault or not, and two mutants may together,
    of the name `one+other`. A fault, such as `computed_in_float16`, is a name too. `not_checked`
    fits an answer to a model that must be refused. Time is not limited; a mutant that raises
    reproduces nothing. Raises what the operator's formula raises in a narrower type, or where a
    bound is computed for the first time.
    """
    if name == NOT_CHECKED.mistake:
        return evidence.got is not None and not evidence.admitted
    parts = {*name.split("+")}
    mutants = [
        mutant for mutant in causes_of(evidence.node.op) if not parts.isdisjoint(mutant.names)
    ]
    by_name = fitted.named(evidence.node.op, name)
    if by_name is not None:
        mutants.append(by_name)
    trials = _Trials()
    fitting = _fitting(evidence, mutants, trials)
    fitting += trials.fitting(starmap(both, combinations(mutants, 2)), evidence)
    names = {fitting_name for mutant in fitting for fitting_name in mutant.names}
    # The first part of a name is the mutant, to which a fault may have been added.
    return any(name in (fits, fits.partition("+")[0]) for fits in names)


def _fitting(evidence: Evidence, mutants: Sequence[Mutant], trials: _Trials) -> list[Mutant]:
    """Return those of `mutants` that give the answer; else faults such as a poorer arithmetic.

    A fault is a mistake that any operator can have, in the type of the output or of the
    computation. One that fits alone is added if no mutant does, float32 in any case. If nothing
    fits, constants are fitted to attributes; if none fits, mutants are combined with faults, which
    takes longest. No mutant is tried on inputs beyond 1 MiB. There is one of each name, in the
    order of the search. Mutants that raise are noted in `trials`. Raises NoTimeLeft, and what the
    operator's formula raises in a narrower type or where a bound is computed for the first time.
    """
    tried = mutants if evidence.nbytes <= LARGEST else ()
    fitting = trials.fitting(tried, evidence)
    views = _views_to_try(evidence, trials)
    names = {mutant.name for mutant in fitting}
    for view in views:
        # float32 in place of float64 is always added: it may be all that is wrong.
        is_needed = not names or view.fault.dtype.name == "float32"
        if view.explains and view.fault.name not in names and is_needed:
            fitting.append(view.fault.beside())
    if not fitting:
        fitting = trials.fitting(_ignoring_several(evidence.node, tried), evidence)
    # A mistake that could be made of any call may fit where a constant is all that is wrong.
    if tried and all(mutant.derived for mutant in fitting):
        fitting += _fitted_to_answer(evidence, trials)
    if not fitting:
        fitting = _fitting_with_faults(views, tried, trials, evidence.distant)
    return [*{mutant.name: mutant for mutant in fitting}.values()]


def _ignoring_several(node: Node, mutants: Sequence[Mutant]) -> Iterator[Mutant]:
    """Yield what ignores two attributes or inputs of a node, or all of three attributes or more.

    They are made of those `mutants` that ignore one of them. None is yielded for an invalid node.
    """
    if not node.is_legal:
        return
    ignoring = [
        mutant
        for mutant in mutants
        if mutant.read and mutant.name.endswith(_IGNORED) and mutant.read(node) is not node
    ]
    several: list[Sequence[Mutant]] = [*combinations(ignoring, _PAIR)]
    names = {f"{name}{_IGNORED}" for name in node.attrs}
    of_attributes = [mutant for mutant in ignoring if mutant.name in names]
    if len(of_attributes) > _PAIR:
        several.append(of_attributes)
    for ignored in several:
        yield replace(reduce(both, ignored), derived=True)


def _fitted_to_answer(evidence: Evidence, trials: _Trials) -> list[Mutant]:
    """Return mutants that take one attribute for a constant that is fitted to the answer.

    Those of the first constant that gives all of the answer, sought by each wrong output of floats
    in turn. Empty if there is none, and for illegal nodes. Raises NoTimeLeft.
    """
    for place, (right, got) in enumerate(zip(evidence.nearest, evidence.got or (), strict=True)):
        if right is None or isinstance(got, Foreign) or not evidence.node.is_legal:
            continue
        if place in evidence.passing:
            continue
        trials.allowance.check()
        for mutants in fitted.constants(evidence.node, right, got, place):
            fitting = trials.fitting(mutants, evidence)
            if fitting:
                return fitting
    return []


class _View(NamedTuple):
    """The `evidence` of an answer as it would be without a `fault`.

    The fault `explains` the answer if it is right then.
    """

    fault: Fault
    evidence: Evidence
    explains: bool


def _views_to_try(evidence: Evidence, trials: _Trials) -> list[_View]:
    """Return the views of an answer, of poorer arithmetics down to the widest that explains it.

    A view is the answer as it would be without a fault; the fault explains it if it is right then.
    All views of that widest type are there; all views, if none explains the answer. Raises
    NoTimeLeft, and what the operator's formula raises in a narrower type.
    """
    views: list[_View] = []
    explaining: DType | None = None
    for fault, view in evidence.views():
        if explaining not in (None, fault.dtype):
            break
        trials.allowance.check()
        explains = False
        if view.admitted and not evidence.is_beyond(fault.dtype):
            explains = fits_fault(view)
        if explains:
            explaining = fault.dtype
        views.append(_View(fault, view, explains))
    return views


def _fitting_with_faults(
    views: Sequence[_View], tried: Sequence[Mutant], trials: _Trials, distant: Set[str]
) -> list[Mutant]:
    """Return mutants combined with a fault, if both together give the answer.

    Faults are those in the dtype of the first view. Of the mutants `tried`, those of the names
    `distant` are left out unless saturation cuts numbers: a poorer arithmetic alone cannot explain
    their distance. Empty without `views`. Raises NoTimeLeft.
    """
    first = [view for view in views if view.fault.dtype == views[0].fault.dtype]
    # Without a number to cut, a fault with saturation has the view of that without.
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
    return (*mutants, *fitted.ignoring_words(evidence.node))


class Suspects:
    """Diagnoses of one backend; its results must come in a fixed order."""

    def __init__(
        self, recall: Callable[[Case], Evidence | None], allowance: Allowance | None = None
    ) -> None:
        """Begin without results.

        Args:
            recall: Returns the evidence of a case that passed; None if no single answer to it is
                known to be right.
            allowance: The time that may be spent; None for any.
        """
        self._recall = recall
        self.allowance = allowance or Allowance(UNLIMITED)
        self._trials = _Trials(self.allowance)
        #: Cases whose failures were not compared with every mutant, for want of time.
        self.untried: set[str] = set()
        #: Numbers of failures that each mutant explains, by operator.
        self._explained: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        #: Names of mutants that gave a failure, contradicted or not, by operator.
        self._named: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._cells: dict[Cell, _CellHistory] = defaultdict(_CellHistory)
        #: The first version that failed, by operator and dtype.
        self._first: dict[tuple[str, str, str], OpVersion] = {}
        #: Passes that are in no cell yet: most runs never need to know.
        self._new: dict[_Test, list[Case]] = {contradicts: [], refuses: []}
        self._recalled: dict[int, Evidence | None] = {}
        self._elements: dict[int, Elements | None] = {}
        self._wrong_elements: dict[str, Elements | None] = {}
        #: By the name of a mutant and the identity of a case that passed, if it refuses that.
        self._refused: dict[tuple[str, int], bool] = {}
        self._failed: dict[str, Evidence] = {}
        #: Mutants by case that give its answer, contradicted or not.
        self._fits: dict[str, list[Mutant]] = {}
        #: What speaks for each mutant, by operator and name.
        self._testimonies: dict[tuple[str, str, str], _Testimony] = defaultdict(_Testimony)
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
        once. Empty if nothing fits.

        What fits the `case`, an id or "", is remembered. Without time, the mutants are missing, and
        the case is noted in `untried`. Raises what the operator's formula raises in a narrower
        type, or where a bound is computed for the first time, and what recalling a pass raises.
        """
        with self.allowance.searching(WHILE_RUNNING):
            return self._diagnose(evidence, case)

    def _diagnose(self, evidence: Evidence, case: str) -> tuple[Diagnosis, ...]:
        """Return mutants that reproduce a failure and that no pass contradicts, or else a pattern.

        The time is counted already. The mutant that explains the most failures up to now comes
        first; without any, it is `not_checked` for an answer to a model that must be refused, else
        a pattern of the numbers, if there is one. Remarks on mutants that raised come last. Keeps
        what fits the `case`, and small evidence, for the choice of causes at the end. Notes the
        case in `untried` if there is no time left. Raises as `diagnose` does.
        """
        op = evidence.node.op
        cell = Cell(op, evidence.node.dtype)
        try:
            fits = self._fits_of(evidence, cell, case)
        except NoTimeLeft:
            self.untried.add(case)
            fits = []
        self._named[op.domain, op.name].update((mutant.name, None) for mutant in fits)
        pattern = resemblance(evidence) or ""
        if case:
            self._fits[case] = fits
            self._note_evidence(fits, evidence)
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

    def _note_evidence(self, fits: Iterable[Mutant], evidence: Evidence) -> None:
        """Count an answer for each mutant that gives it."""
        op = evidence.node.op
        for mutant in fits:
            self._testimonies[op.domain, op.name, mutant.name].add(evidence)

    def gives_elements(self, op: OpVersion, mutant: Mutant) -> bool:
        """Return False for a mutant of which nothing was seen but answers without an element.

        Any mistake may have them. True for a mistake of refusing.
        """
        if mutant.is_refusal:
            return True
        testimony = self._testimonies.get((op.domain, op.name, mutant.name))
        return testimony is None or testimony.elements + len(testimony.values) > 0

    def is_telling(self, op: OpVersion, mutant: str) -> bool:
        """Return False for a mutant of which only a few wrong elements were seen, or one value.

        True for one of which no answer was seen here.
        """
        testimony = self._testimonies.get((op.domain, op.name, mutant))
        return testimony is None or testimony.is_enough

    def has_many_elements(self, op: OpVersion, mutant: str) -> bool:
        """Return True for a mutant of which 64 wrong elements or more were seen."""
        testimony = self._testimonies.get((op.domain, op.name, mutant))
        return testimony is not None and testimony.elements >= _MANY_ELEMENTS

    def is_degenerate(self, case: Case) -> bool:
        """Return True for a failure in which mistakes look alike; False if it was not kept.

        Each output has one value alone, or at most one axis that is longer than 1: to transpose it
        or to give it another shape is one thing.
        """
        evidence = self._failed.get(case.id)
        return evidence is not None and evidence.is_degenerate

    def _is_confirmed(self, op: OpVersion, mutant: Mutant) -> bool:
        """Return False for a derived mutant that may give the few answers seen by chance.

        True for others, and for one of which no answer was seen here.
        """
        if not mutant.derived:
            return True
        testimony = self._testimonies.get((op.domain, op.name, mutant.name))
        return testimony is None or testimony.is_enough

    def _fits_of(self, evidence: Evidence, cell: Cell, case: str) -> list[Mutant]:
        """Return the mutants that give an answer, and else faults; none after many in vain.

        After 12 failures of a version and dtype, or 4 in a further version, those that gave one of
        the operator before, contradicted or not, are tried first, and all only if none fits; after
        as many attempts in vain, only these. Counts the failure in the `cell`, and notes a `case`
        on which all were tried in vain. Raises NoTimeLeft, and what the formula raises in a
        narrower type or where a bound is computed for the first time.
        """
        op = evidence.node.op
        mutants = _that_may_explain(evidence)
        history = self._cells[cell]
        history.failures += 1
        first = self._first.setdefault((op.domain, op.name, cell.dtype), op)
        tries = _TRIES if first == op else _IN_FURTHER_VERSIONS
        if history.failures > tries:
            names = self._named[op.domain, op.name]
            parts = {part for name in names for part in name.split("+")}
            before = [mutant for mutant in mutants if mutant.name in parts]
            constants = (fitted.named(op, name) for name in names)
            before += [constant for constant in constants if constant is not None]
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
        or found none, those that its `diagnoses` name, if they are known. Fitted ones and faults
        come last. A derived one is left out if answers of this run speak for it, but in too few
        values in all; one of which the run has seen no answer stays. Empty if there is none.
        """
        known = {mutant.name: mutant for mutant in causes_of(case.op)}
        fits = self._fits.get(case.id)
        if not fits:
            diagnosed = (
                fitted.named(case.op, diagnosis.mistake) or mutant_named(diagnosis.mistake, known)
                for diagnosis in diagnoses
                if diagnosis.mistake
            )
            fits = [mutant for mutant in diagnosed if mutant]
        order = {name: place for place, name in enumerate(known)}

        def place(mutant: Mutant) -> int:
            """Return the place of a mutant, or of the first of a pair, among those known."""
            return order.get(mutant.name.partition("+")[0], len(order))

        confirmed = [mutant for mutant in fits if self._is_confirmed(case.op, mutant)]
        return {mutant.name: mutant for mutant in sorted(confirmed, key=place)}

    def resemblance(self, case: Case, diagnoses: Iterable[Diagnosis]) -> str:
        """Return the pattern of an answer's numbers, "" for none.

        It is the one found when the case was diagnosed here. If that was elsewhere, or found none,
        it is the text of the first of its `diagnoses` that names no mutant, even if that is another
        remark.
        """
        remarks = (diagnosis.text for diagnosis in diagnoses if diagnosis.mistake is None)
        return self._resemblances.get(case.id) or next(remarks, "")

    def is_contradicted(
        self, mutant: Mutant, cell: Cell, *, of_legal: bool, where_legal: bool = False
    ) -> bool:
        """Return True if a pass of a version and dtype contradicts a mutant.

        A pass does so if the mutant would have failed there, or refused what was accepted. If it is
        to explain failures `of_legal` models, refusals of invalid ones do not count; with
        `where_legal`, passes that the mutant would have refused do not. True, too, without time to
        find that out: what was not checked is not named. Raises what recalling a pass raises.
        """
        try:
            against = self.against(mutant, cell, None if where_legal else 1, of_legal=of_legal)
            if where_legal:
                return not all(self._is_refused(mutant, case) for case in against)
            return bool(against)
        except NoTimeLeft:
            return True

    def against(
        self, mutant: Mutant, cell: Cell, enough: int | None = None, *, of_legal: bool = False
    ) -> list[Case]:
        """Return the passes of a version and dtype that contradict a mutant.

        All of them if `enough` is None; else the search ends at that number. Each pass is tried
        once for each mutant, in the order of the run; those with more than 16 KiB of inputs are
        not, nor those of which no single answer is known to be right. If the mutant is to explain
        failures `of_legal` models, refusals of invalid ones do not count: a backend may check a
        model before it makes the mistake. Raises NoTimeLeft, and what recalling a pass raises.
        """

        def counts(case: Case) -> bool:
            """Return False for a refusal of an invalid model, if failures of legal ones count."""
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

        None too where no single answer is known to be right. Raises what `recall` raises.
        """
        # By identity, as ids of legal twins are not unique; passes are kept.
        if id(case) not in self._recalled:
            is_small = sum(spec.nbytes for spec in case.inputs) <= _SMALL
            self._recalled[id(case)] = self._recall(case) if is_small else None
        return self._recalled[id(case)]

    def elements_of_pass(self, case: Case) -> Elements | None:
        """Return the elements of the first output of a pass; None where they are not known.

        They are found once. None for what `_evidence_of_pass` has no evidence of, and for large
        outputs. Raises NoTimeLeft and what recalling a pass raises.
        """
        if id(case) not in self._elements:
            self.allowance.check()
            evidence = self._evidence_of_pass(case)
            self._elements[id(case)] = elements_of(evidence) if evidence else None
        return self._elements[id(case)]

    def elements_of_failure(self, case: Case) -> Elements | None:
        """Return the elements of the one wrong output of a failure; None where it was not kept.

        They are found once. Only 2,000 small failures are kept. None, too, if several outputs are
        wrong. Raises NoTimeLeft, and what a bound raises that is computed for the first time.
        """
        evidence = self._failed.get(case.id)
        if evidence is None or evidence.got is None:
            return None
        if case.id not in self._wrong_elements:
            self.allowance.check()
            self._wrong_elements[case.id] = elements_of(evidence)
        return self._wrong_elements[case.id]

    def _is_refused(self, mutant: Mutant, case: Case) -> bool:
        """Return True if a mutant refuses a case that passed; tried once.

        False if the pass has no evidence. Raises NoTimeLeft, and what recalling a pass raises.
        """
        key = mutant.name, id(case)
        if key not in self._refused:
            evidence = self._evidence_of_pass(case)
            self._refused[key] = evidence is not None and self._trials.holds(
                refuses, mutant, evidence
            )
        return self._refused[key]

    def is_of_nothing(self, case: Case) -> bool:
        """Return True for a case with an empty input or answer if no right output has an element.

        False if its answer is not known, or is not the only right one. Raises what recalling a pass
        raises.
        """
        if all(math.prod(spec.shape) for spec in (*case.inputs, *case.expect.written)):
            return False
        evidence = self._evidence_of_pass(case)
        if evidence is None:
            return False
        outputs = [want for wants in evidence.admitted for want in wants]
        return bool(outputs) and not any(want.items or want.values.size for want in outputs)

    def refit(self, case: Case, known: Sequence[Mutant]) -> dict[str, Mutant]:
        """Return mutants that reproduce a kept failure, by name: `known` ones, their pairs, or any.

        The first of these three of which one fits decides. All mutants are tried on 50 failures
        only, and not where they were tried in vain before. Derived ones that may fit by chance are
        left out in the end. Empty if none fits, or the failure was not kept: only 2,000 small ones
        are. Raises NoTimeLeft.
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
                confirmed = [mutant for mutant in fits if self._is_confirmed(case.op, mutant)]
                return {mutant.name: mutant for mutant in confirmed}
        return {}


def cell_of(case: Case) -> Cell:
    """Return the cell of a case: its operator's version, and the type that kernels differ by.

    The type is that of the leading input, or of an output where there is none; "" if it is unknown.
    """
    given = {spec.name: spec for spec in case.inputs}
    lead = leading(case.op, [given.get(slot) for slot in case.slots] or case.inputs)
    dtype = dtype_of(case.op, case.attrs, lead.dtype if lead else None)
    return Cell(case.op, dtype.name if dtype else "")


def as_diagnosis(mutant: Mutant) -> Diagnosis:
    """Return the diagnosis of a failure that a mutant reproduces."""
    return Diagnosis(mutant.name, mutant.text)
