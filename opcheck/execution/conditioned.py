"""Score a suite by conditioned mutants: each is wrong in one situation, and right in all others.

A mutant that is wrong everywhere is killed by any case that shows it. A kernel that is chosen by
shapes, attributes or signs may be wrong there alone, so each mutant is tried in each situation
(`opcheck.situations`) in which it could hide: where a case of the situation kills it, that is fails
it as a backend, or would kill it on other data of the same shapes.

A situation is one of a *family*, such as of shapes or of signs; it may be about some elements of
the output only. A *cell* is the newest version of an operator on one dtype.

What looks mutants up raises CaseFileError, a UsageError, if shipped files are wrong. What evaluates
a formula raises WrongOperator if the file that declares the operator is wrong.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.diagnose.suspects import cell_of
from opcheck.dtypes import DTYPES, DType, limits
from opcheck.engine import Node
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.mutant import MutantRaised
from opcheck.errors import InvalidNode, UsageError
from opcheck.execution.mutate import (
    RED,
    AnyMutant,
    CaseKills,
    MutationSettings,
    Spread,
    here,
    mutant_of,
    mutants_in,
    right_of,
    same_outputs,
    size,
    why_harmless,
    with_present_names,
)
from opcheck.grouping import group_by
from opcheck.model import Array, Case, Cell, Computed, Fill, MutantId, TensorSpec
from opcheck.model.conditions import ConditionedMutant
from opcheck.situations import FAMILIES, by_family
from opcheck.situations.family import Family

#: Data on which mutants are tried that no case of a situation kills: of floats, of booleans, and
#: of integers, whose ends are numbers that a type may lack.
_OTHER_DATA = {
    "float": (
        Fill("normal", (0.0, 100.0), seed=1),
        Fill("uniform", (0.5, 2.0), seed=2),
        Fill(
            "choice",
            (0.1, -2.7, 65600.5, 1e-5, 3.0, -0.0, 0.0, 3e38, np.inf, -np.inf, np.nan),
            seed=3,
        ),
    ),
    "bool": (Fill("choice", (0.0, 1.0), seed=1),),
}
#: The least and the greatest number of each fill.
_OTHER_INTEGERS = ((1.0, 11.0), (-11.0, 11.0))
#: Cases of a situation whose shapes and attributes are tried with other data, the smallest first.
_MOST_PROBED = 2

#: The cases of a cell in situations of one family, which these are, and the settings.
_Batch: TypeAlias = tuple[Cell, str, Mapping[Case, Sequence[str]], MutationSettings]


def conditioned_mutants(
    cases: Sequence[Case],
    settings: MutationSettings,
    jobs: int = 1,
    spread: Spread | None = None,
) -> Iterator[ConditionedMutant]:
    """Yield where each mutant could hide, and whether a case kills it there, in no order.

    One item has a mutant of a cell and its situations in one family, killed ones and others.

    Args:
        cases: The cases; those in no situation are left out.
        settings: Options; only the names of mutants count.
        jobs: The number of processes.
        spread: Does the work elsewhere, None for processes of this machine.

    Raises UsageError for a case that is itself wrong, ProcessDied if a process is killed, and
    KeyboardInterrupt if the user interrupts it.
    """
    return (spread or partial(here, jobs))(_fates, _batches(cases, settings))


@dataclass(frozen=True)
class SituationSighting:
    """A mutant that is wrong in one `situation` only, with the ids of all cases that kill it there.

    A situation is "family: situation". If the mutant itself `raised`, it says what, and has neither
    a situation nor cases.
    """

    mutant: MutantId
    situation: str = ""
    killers: tuple[str, ...] = ()
    raised: str = ""


def sightings(cases: Sequence[Case], jobs: int = 1) -> Iterator[SituationSighting]:
    """Yield each mutant and each situation in which cases kill it, with all these cases.

    Nothing is yielded of a mutant that none kills. Raises UsageError for a case that is itself
    wrong, ProcessDied if a process is killed, and KeyboardInterrupt if the user interrupts it.
    """
    yield from here(jobs, _sightings, _batches(cases, MutationSettings()))


def _sightings(batch: _Batch) -> Iterator[SituationSighting]:
    """Yield each mutant of a batch in each situation in which cases kill it.

    One that raises comes once, with what it raised. Raises UsageError for a case that is wrong.
    """
    cell, name, situations_of_cases, settings = batch
    family = next(family for family in FAMILIES if family.name == name)
    suite = _Suite(family, cell.dtype, situations_of_cases)
    for mutant in _mutants(cell, settings):
        known = mutant_of(cell, mutant)
        try:
            killers = suite.killers(mutant)
        except MutantRaised as error:
            yield SituationSighting(known, raised=str(error))
        else:
            for situation, ids in killers.items():
                yield SituationSighting(known, f"{name}: {situation}", tuple(ids))


def count(cases: Sequence[Case], settings: MutationSettings) -> int:
    """Return how many results `conditioned_mutants` will yield."""
    return sum(len(_mutants(cell, named)) for cell, _, _, named in _batches(cases, settings))


def _batches(cases: Sequence[Case], settings: MutationSettings) -> list[_Batch]:
    """Return the work, a part for each family of situations of each cell.

    A part has the cases in situations of the family, the smallest first, and which these are. Only
    operators of ONNX's own domain have parts, and only cases that need no backend's answer are
    there.
    """
    batches: list[_Batch] = []
    stated = [case for case in cases if case.expect.is_stated and not case.op.domain]
    for name, of_op in group_by(stated, lambda case: case.op.name).items():
        for family, situations in by_family(name, of_op):
            for cell, of_cell in group_by(situations, cell_of).items():
                named = with_present_names([cell], settings)
                found = {case: situations[case] for case in sorted(of_cell, key=size)}
                batches.append((cell, family.name, found, named))
    return batches


def _mutants(cell: Cell, settings: MutationSettings) -> list[AnyMutant]:
    """Return the mutants in a cell that are tried in situations, all if the settings name none.

    Left out are those that one type decides about for a version, which concern invalid nodes, and
    those that an argument says no input can show. Raises CaseFileError for arguments about nothing
    known.
    """
    return [
        mutant
        for mutant in mutants_in(cell.op, cell.dtype)
        if (not settings.names or mutant.name in settings.names)
        and not (isinstance(mutant, Mutant) and _is_left_out(mutant, cell))
    ]


def _is_left_out(mutant: Mutant, cell: Cell) -> bool:
    """Return True if a mutant is tried once for all types, or is argued to be harmless.

    Raises CaseFileError for arguments about nothing known.
    """
    return mutant.once_a_version or why_harmless(mutant, cell.op, cell.dtype) is not None


def _fates(batch: _Batch) -> Iterator[ConditionedMutant]:
    """Yield the fate of each mutant of a batch in each situation.

    Raises UsageError for a case that is wrong.
    """
    cell, name, situations_of_cases, settings = batch
    family = next(family for family in FAMILIES if family.name == name)
    suite = _Suite(family, cell.dtype, situations_of_cases)
    for mutant in _mutants(cell, settings):
        known = mutant_of(cell, mutant)
        try:
            killed = suite.killed(mutant)
            survived = suite.survived(mutant, killed)
        except MutantRaised as error:
            yield ConditionedMutant(known, name, killed={}, survived={}, raised=str(error))
        else:
            yield ConditionedMutant(known, name, killed=killed, survived=survived)


class _Suite:
    """The cases of one cell in the situations of one family, the smallest first."""

    def __init__(
        self, family: Family, dtype: str, situations_of_cases: Mapping[Case, Sequence[str]]
    ) -> None:
        """Take the cases of a cell and their situations, as `by_family` has them, in order."""
        self.family = family
        self.dtype = dtype
        self.cases = [
            _Placed(CaseKills(case, dtype), family, tuple(situations), case.id)
            for case, situations in situations_of_cases.items()
        ]

    def killed(self, mutant: AnyMutant) -> dict[str, str]:
        """Return the situations in which a case kills the mutant, with the id of the first.

        Raises UsageError for a case that is wrong.
        """
        return _kills(mutant, self.cases, {})

    def killers(self, mutant: AnyMutant) -> dict[str, list[str]]:
        """Return the situations in which cases kill the mutant, with the ids of all these cases.

        Raises MutantRaised, and UsageError for a case that is wrong.
        """
        ids_of_situations: dict[str, list[str]] = {}
        for placed in self.cases:
            if not placed.case_kills.judges:
                continue
            for situation in placed.kills_in(mutant, placed.situations):
                ids_of_situations.setdefault(situation, []).append(placed.case_id)
        return ids_of_situations

    def survived(self, mutant: AnyMutant, killed: Mapping[str, str]) -> dict[str, str]:
        """Return the situations in which the mutant shows on other data alone, with a case's id.

        The case, a shipped one, has the shapes and attributes with which it shows. Situations in
        which it is `killed` are left out. Raises UsageError for a case that is wrong.
        """
        return _kills(mutant, self._probes, killed)

    @cached_property
    def _probes(self) -> list["_Placed"]:
        """Cases with other data, in the same shapes, attributes and situations; made once.

        They are made of the smallest two cases of each situation, and have those of its situations
        that their data are in too. Those whose data are illegal, or whose answer is open, are left
        out.
        """
        probes: list[_Placed] = []
        tried: dict[str, int] = {}
        for placed in self.cases:
            fresh = [one for one in placed.situations if tried.get(one, 0) < _MOST_PROBED]
            if not fresh:
                continue
            tried |= {one: tried.get(one, 0) + 1 for one in fresh}
            for case in _with_other_data(placed.case_kills.case, self.dtype):
                situations = {*self.family.found_in(case)}.intersection(placed.situations)
                probe = _Placed(
                    CaseKills(case, self.dtype), self.family, tuple(sorted(situations)), case.id
                )
                if probe.is_judged:
                    probes.append(probe)
        return probes


@dataclass(frozen=True, eq=False)
class _Placed:
    """A case, or one with other data in its place, and the situations of a family that it is in.

    `case_id` is always that of the case.
    """

    case_kills: CaseKills
    family: Family
    situations: tuple[str, ...]
    case_id: str

    @cached_property
    def is_judged(self) -> bool:
        """True if the case can be judged; other data may be illegal, or their answer left open."""
        try:
            return self.case_kills.judges
        except UsageError:
            return False

    def kills_in(self, mutant: AnyMutant, situations: Sequence[str]) -> Iterator[str]:
        """Yield the situations in which the case kills the mutant, made right elsewhere.

        If the family's situations are about elements (`family.elements` masks them in the output),
        the mutant is made wrong at these alone, for each situation; a stateful one cannot be, and
        counts in all.
        """
        if self.case_kills.verdict(mutant) not in RED:
            return
        if self.family.elements is None or not isinstance(mutant, Mutant):
            yield from situations
            return
        for situation in situations:
            wrong_there = self.family.elements(self.case_kills.case, situation)
            if self.case_kills.verdict(_wrong_at(wrong_there, mutant)) in RED:
                yield situation


def _kills(
    mutant: AnyMutant, cases: Iterable[_Placed], before: Mapping[str, str]
) -> dict[str, str]:
    """Return the situations, other than those `before`, in which a case kills the mutant.

    Each comes with the id of the first such case. Cases that cannot be judged are left out. Raises
    UsageError for a case that is wrong.
    """
    killed: dict[str, str] = {}
    for placed in cases:
        situations = [one for one in placed.situations if one not in killed and one not in before]
        if situations and placed.case_kills.judges:
            killed |= dict.fromkeys(placed.kills_in(mutant, situations), placed.case_id)
    return killed


def _wrong_at(elements: Array, mutant: Mutant) -> Mutant:
    """Return the mutant with right answers at all elements but these, a mask of its output.

    Where it refuses the node, gives several outputs, or one of another shape or type than the right
    one, it answers as before.
    """

    def answer(node: Node) -> Sequence[Any]:
        """Return the mutant's outputs, right elsewhere; raise InvalidNode if it refuses."""
        wrong = mutant.made_on(node)
        if isinstance(wrong, InvalidNode):
            raise wrong
        right = right_of(node)
        if isinstance(right, InvalidNode) or same_outputs(wrong, right):
            return wrong
        if len(wrong) != 1 or not _are_alike(wrong[0], right[0]):
            return wrong
        return [np.where(elements, wrong[0], right[0])]

    return replace(mutant, answer=answer)


def _are_alike(wrong: object, right: Array) -> bool:
    """Return True for an array of the same shape and type; a mutant may answer something else."""
    if not isinstance(wrong, np.ndarray):
        return False
    return bool(wrong.shape == right.shape and wrong.dtype == right.dtype)


def _with_other_data(case: Case, dtype: str) -> Iterator[Case]:
    """Yield the case with other data in the tensors of a type, and the answer left to the engine.

    One case comes for each fill of the type. Tensors of other types, such as indices next to
    floats, stay. Nothing is yielded if no input is of the type, nor for types without numbers.
    """
    for fill in (
        _fills(DTYPES[dtype]) if any(spec.dtype.name == dtype for spec in case.inputs) else ()
    ):
        inputs = tuple(_filled(spec, fill, place, dtype) for place, spec in enumerate(case.inputs))
        yield replace(case, inputs=inputs, expect=Computed(), empty="data are random")


def _fills(dtype: DType) -> list[Fill]:
    """Return the fills for a type; none for texts, complex numbers and 8-bit floats.

    Of integers there are only those of which the type holds all values.
    """
    if dtype.kind != "int":
        return list(_OTHER_DATA.get(dtype.kind, ()))
    least, greatest = limits(dtype)
    return [
        Fill("integers", ends, seed=1)
        for ends in _OTHER_INTEGERS
        if least <= ends[0] and ends[1] <= greatest
    ]


def _filled(spec: TensorSpec, fill: Fill, place: int, dtype: str) -> TensorSpec:
    """Return a tensor with other data if it is of that type, else as it is.

    Its `place` among the inputs changes the seed: each input has other data.
    """
    if spec.dtype.name != dtype:
        return spec
    return replace(spec, content=replace(fill, seed=fill.seed + 10 * place), put=())
