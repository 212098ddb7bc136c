"""Score a suite by mutants in every version and dtype of its cases.

A *mutant* is an operator's implementation that is wrong in one way. A case *kills* it if it fails
it as a backend, and *notices* it if it comes out wrong but decides nothing. Most mutants do not
show in most cases: an answer that is right bit for bit is not judged.

A *cell* is one version of an operator on one dtype. A *batch* is the work on some mutants of one
operator in all its cells, done in one process.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong. What
looks up the mutants of a cell raises CaseFileError, a UsageError, if shipped files are wrong.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field

from opcheck import backends, model, opset, suite
from opcheck.backends.base import Backend, TaskCall
from opcheck.backends.execute import message_of
from opcheck.diagnose.suspects import cell_of
from opcheck.dtypes import content, identical
from opcheck.engine import Node, dtypes_of, operator_of
from opcheck.engine.mutants import Mutant, guards_of, mutants_of
from opcheck.engine.mutants.mutant import STATEFUL, MutantRaised, StatefulMutant
from opcheck.engine.operators import Operator
from opcheck.errors import InvalidNode, NotSupported, UsageError, did_you_mean
from opcheck.execution import evaluation, expected, workers
from opcheck.grouping import group_by, not_none
from opcheck.model import Case, Cell, MutantId, Mutation, OpVersion, Outcome, Verdict
from opcheck.opset.direct_ml import LOWERED
from opcheck.reading import (
    FileNode,
    Kind,
    Problems,
    quoted,
    read_file,
    shipped_files,
    shipped_name,
    validation,
)
from opcheck.suite.select import HUGE

#: The outputs of a node, or why it is refused; an exception is returned, and not raised.
OutputsOrRefusal: TypeAlias = Sequence[Any] | InvalidNode
#: The verdicts by which a case fails a mutant, which neither crashes nor hangs.
RED = (Verdict.FAIL, Verdict.ERROR, Verdict.UNSTABLE)
#: The backend that a mutant's answer counts as; it is asked once.
CANNED = model.BackendInfo("canned", "canned", "", repeatable=False)

#: A mutant of single answers, or one whose runs disturb each other.
AnyMutant: TypeAlias = Mutant | StatefulMutant
#: Yields what a function yields for each batch, elsewhere than in this process, in no order.
Spread: TypeAlias = Callable[[Callable[[Any], Iterable[Any]], Sequence[Any]], Iterator[Any]]


def stateful_backend(stateful: StatefulMutant) -> Backend:
    """Return a backend whose single answers are right, but whose runs disturb each other.

    It answers by the mutant's habit, which sees all its runs since the model was prepared. A run
    raises what the engine raises on the node: InvalidNode, which is its refusal, or NotSupported.
    """

    def prepare(task: model.Task) -> TaskCall:
        """Return a call of the task, which remembers the right outputs of its runs."""
        runs: list[list[Any]] = []

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            """Return what the habit makes of the right outputs of all runs, this one the last."""
            right = expected.node_of(task, [array.copy() for array in inputs]).right
            runs.append([out.copy() for out in right])
            return stateful.habit(runs, inputs)

        return TaskCall(run)

    return Backend(model.BackendInfo(stateful.name, "habit", ""), (InvalidNode,), prepare)


def canned_outcome(answer: OutputsOrRefusal) -> Outcome:
    """Return the outcome of a backend that has one answer, outputs or a refusal.

    A refusal is an exception in the run, of a documented type, with the message of `answer`.
    Outputs are given once, so that stability is not judged.
    """
    if isinstance(answer, InvalidNode):
        return model.Raised("run", type(answer).__name__, message_of(answer), documented=True)
    return model.Produced(backends.as_outputs(answer), 0.0, once=True)


class CaseKills:
    """One case, shown any number of mutants of `dtype`; it is of that dtype, or of an illegal one.

    An illegal or unknown dtype is judged in any. The case's evaluation, the engine's answers and
    verdicts on equal answers are kept.
    """

    def __init__(self, case: Case, dtype: str) -> None:
        """Begin without a verdict; nothing is computed yet."""
        self.case = case
        self.dtype = dtype
        self.evaluation = evaluation.CaseEvaluation(case)
        #: Verdicts on answers, by digest.
        self._verdicts: dict[bytes | None, Verdict] = {}

    @cached_property
    def judges(self) -> bool:
        """True if the case has answers; False if the engine has none, so that nothing is judged.

        Raises UsageError if the case is wrong, which names its file, MemoryError, and NotSupported
        if the bound of a stated answer takes more than opcheck computes.
        """
        try:
            _ = self.evaluation.accepted_answers
        except expected.Unsupported:
            return False
        except ValueError as error:
            message = f"{self.case.source}: {self.case.id}: the case is wrong: {error}"
            raise UsageError(message, "`opcheck run` shows all such cases") from None
        return True

    def verdict(self, mutant: Mutant | StatefulMutant) -> Verdict:
        """Return the verdict of the case on `mutant`; PASS if it gives the engine's bits.

        A mutant that refuses an invalid model as the engine does shows only if it gives another
        answer to the legal twin, the model made valid. A stateful mutant is run as a backend,
        another is asked once. Verdicts are kept by the answer's digest. The case `judges`. Raises
        MutantRaised, and what the engine raises for the case's data: ValueError, MemoryError.
        """
        if isinstance(mutant, StatefulMutant):
            backend = stateful_backend(mutant)
            questions = self.evaluation.judge(backend.info)
            return workers.run_here(questions, partial(backends.attempt, backend)).result.verdict
        right = right_of(self.evaluation.node)
        answer = mutant.made_on(self.evaluation.node)
        if same_outputs(answer, right) and not self._shows_in_twin(mutant, answer):
            return Verdict.PASS
        # Mutants often give the same wrong answer; refusals are judged with the twin's.
        key = None if isinstance(answer, InvalidNode) else digest(answer)
        verdict = self._verdicts.get(key) or self._judge(mutant, answer)
        if key:
            self._verdicts[key] = verdict
        return verdict

    def _shows_in_twin(self, mutant: Mutant, answer: OutputsOrRefusal) -> bool:
        """Return True if a mutant whose `answer` is a refusal is wrong about the legal twin.

        Wrong is another answer than the engine's. False for outputs, and without a twin.
        """
        if not isinstance(answer, InvalidNode) or self._twin is None:
            return False
        return not same_outputs(self._of_twin(mutant, self._twin), right_of(self._twin))

    def _judge(self, mutant: Mutant, answer: OutputsOrRefusal) -> Verdict:
        """Judge a mutant by its `answer` to the case, and by that to its legal twin.

        The case is judged as for a backend that gives these answers, at whatever opset it is asked:
        the same data at a later one make the same node.
        """

        def reply(question: model.Question) -> Outcome:
            """Return `answer` to a question about the case, else the mutant's for its twin."""
            if question.inputs is self.evaluation.question.inputs:
                return canned_outcome(answer)
            return canned_outcome(self._of_twin(mutant, not_none(self._twin)))

        return workers.run_here(self.evaluation.judge(CANNED), reply).result.verdict

    def _of_twin(self, mutant: Mutant, twin: Node) -> OutputsOrRefusal:
        """Return a mutant's outputs for the legal twin, or its refusal.

        If the twin is of another legal dtype than this object, the engine's outputs are returned:
        the mutant is one of kernels of this dtype alone.
        """
        other = twin.dtype != self.dtype and twin.dtype in dtypes_of(twin.op)
        return right_of(twin) if other else mutant.made_on(twin)

    @cached_property
    def _twin(self) -> Node | None:
        """The node of the legal twin, None without one."""
        twin = self.evaluation.question.twin
        return expected.node_of(twin.task, twin.inputs) if twin else None


def right_of(node: Node) -> OutputsOrRefusal:
    """Return the engine's outputs, or an InvalidNode if it refuses the node or does not support it.

    That exception is returned, and not raised. The outputs, which the node keeps, are made
    read-only.
    """
    try:
        for output in node.right:
            output.flags.writeable = False
    except InvalidNode as error:
        return error
    except NotSupported as error:
        return InvalidNode(str(error))
    return node.right


def same_outputs(outputs: OutputsOrRefusal, other: OutputsOrRefusal) -> bool:
    """Return True for two refusals, whatever their messages, or the same outputs bit for bit.

    Outputs that are not arrays are equal only if both are one object.
    """
    if isinstance(outputs, InvalidNode) or isinstance(other, InvalidNode):
        return isinstance(outputs, InvalidNode) and isinstance(other, InvalidNode)
    if outputs is other:
        return True
    if len(outputs) != len(other) or not all(isinstance(x, np.ndarray) for x in (*outputs, *other)):
        return False
    return all(map(identical, outputs, other))


def digest(outputs: Sequence[Any]) -> bytes | None:
    """Return a digest of dtypes, shapes and bits, which equal outputs share.

    None if an output is not an array.
    """
    hashed = blake2b(digest_size=16)
    for output in outputs:
        if not isinstance(output, np.ndarray):
            return None
        hashed.update(f"{output.dtype} {output.shape} ".encode())
        hashed.update(content(output))
    return hashed.digest()


@dataclass(frozen=True)
class MutationSettings:
    """Options of mutation testing."""

    #: The only mutants, all if empty.
    names: tuple[str, ...] = ()
    #: Ask no more cases once so many names of cases kill a mutant.
    kills: int = 1
    #: Ask backends once each, so that no case sees state.
    once: bool = False


#: Elements of the inputs of a case that is small.
_MAX_SMALL = 1000


class _Batch(NamedTuple):
    """Some mutants of one operator, and the cases that they are shown to.

    Attributes:
        cases_of_cells: All cases of the operator, by the cell that they are of.
        settings: They name the mutants.
        checks_cases: True if a wrong case is reported before any mutant is tried.
    """

    cases_of_cells: Mapping[Cell, tuple[Case, ...]]
    settings: MutationSettings
    checks_cases: bool


@dataclass(frozen=True)
class _MutantOfCells:
    """A mutant with the cells whose cases decide about it: one, or all of a version."""

    mutant: AnyMutant
    cells: list[Cell] = field(default_factory=list)

    @property
    def cell(self) -> Cell:
        """The cell that stands for all: one of float32, which every backend has, else the first."""
        return min(self.cells, key=lambda cell: cell.dtype != "float32")

    def kills(self, of_cells: Mapping[Cell, Sequence[CaseKills]]) -> list[CaseKills]:
        """Return the cases of all its cells, each once, as the last of these has it."""
        by_id = {
            case_kills.case.id: case_kills for cell in self.cells for case_kills in of_cells[cell]
        }
        return [*by_id.values()]


@cache
def mutants_in(op: OpVersion, dtype: str) -> tuple[AnyMutant, ...]:
    """Return the mutants of an operator on one dtype, the most specific first; made once.

    Only those that concern a node of a small shipped case, of at most 1000 elements, are among
    them: a mutant of a function that the formula calls in none of these is left out. Stateful ones
    are last. Without a formula there are none; without such a case of the dtype, stateful ones
    alone. Raises CaseFileError for shipped files that are wrong.
    """
    operator = operator_of(op)
    if operator is None:
        return ()
    small = (case for case in _shipped(op) if size(case) <= _MAX_SMALL)
    of_cell = cells(small).get(Cell(op, dtype), ())
    nodes = [evaluation.CaseEvaluation(case).node for case in of_cell]
    nodes = [node for node in nodes if node.dtype == dtype]
    plain = (mutant for mutant in all_mutants(op) if any(map(mutant.concerns, nodes)))
    return (*plain, *_stateful_mutants(operator, op, dtype))


def _stateful_mutants(operator: Operator, op: OpVersion, dtype: str) -> Iterator[StatefulMutant]:
    """Yield the stateful mutants that can show in an operator on one dtype, in a fixed order.

    Those that remember inputs need some. Those that remember values need outputs that depend on the
    inputs' values, not on shapes or chance alone, and inputs that are not scalars, which are the
    same in each run.
    """
    has_inputs = bool(opset.versions(op.domain, op.name)[op.since].inputs)
    has_values = has_inputs and not (
        operator.of_shapes or operator.random or dtype in operator.of_scalars
    )
    for mutant in STATEFUL:
        if mutant.of_inputs and not has_inputs:
            continue
        if mutant.of_values and not has_values:
            continue
        yield mutant


def all_mutants(op: OpVersion) -> tuple[Mutant, ...]:
    """Return the mutants of a version, whatever they concern, but for stateful ones.

    They are those that name causes of failures, and guards, which are wrong on one path of kernels
    only.
    """
    return (*mutants_of(op), *guards_of(op))


def cells(cases: Iterable[Case]) -> dict[Cell, tuple[Case, ...]]:
    """Return the cases that need no backend's answer (`is_stated`), by version and dtype.

    A version has a cell for each legal dtype of its cases, sorted. A case of an illegal or unknown
    dtype is in all of them, and in none if there are none, as of versions that the engine does not
    compute. Cases of level huge, whose data no mutant can be shown, are left out.
    """
    stated = [case for case in cases if case.expect.is_stated and case.level != HUGE]
    by_cell: dict[Cell, tuple[Case, ...]] = {}
    for op, of_op in sorted(group_by(stated, lambda case: case.op).items()):
        allowed = {*dtypes_of(op)}
        dtypes = [(case, cell_of(case).dtype) for case in of_op]
        for dtype in sorted({own for _, own in dtypes if own in allowed}):
            by_cell[Cell(op, dtype)] = tuple(
                case for case, own in dtypes if own == dtype or own not in allowed
            )
    return by_cell


def mutations(
    cases: Iterable[Case],
    settings: MutationSettings | None = None,
    jobs: int = 1,
    spread: Spread | None = None,
) -> Iterator[Mutation]:
    """Yield the fate of every mutant in every cell, in no order, using `jobs` processes.

    A fate is the cases that kill it and those that notice it, by their ids, or why none can. A
    mutant that one dtype decides about comes once for a version.

    Args:
        cases: The cases; those that need a backend's answer are left out.
        settings: Options, None for the default ones.
        jobs: The number of processes.
        spread: Does the work elsewhere, None for processes of this machine.

    Raises UsageError for a case that is itself wrong, CaseFileError for arguments about nothing
    known, ProcessDied if a process is killed, and KeyboardInterrupt if the user interrupts it.
    """
    by_cell = cells(cases)
    for cell in by_cell:
        arguments(cell.op)  # here, so that no other process has to send the error
    batches = _batches(by_cell, with_present_names(by_cell, settings or MutationSettings()), jobs)
    return (spread or partial(here, jobs))(_fates, batches)


def count(cases: Iterable[Case], settings: MutationSettings) -> int:
    """Return how many mutations `mutations` will yield."""
    by_cell = cells(cases)
    return len(_mutants_of_cells(by_cell, with_present_names(by_cell, settings)))


def with_present_names(cells: Iterable[Cell], settings: MutationSettings) -> MutationSettings:
    """Return settings that also name the mutants whose former names are given.

    `cells` decide whose mutants are looked at. The settings may name none, which means all.
    """
    formerly = {
        mutant.name
        for op in dict.fromkeys(cell.op for cell in cells)
        for mutant in all_mutants(op)
        if not set(settings.names).isdisjoint(mutant.aliases)
    }
    return replace(settings, names=(*settings.names, *sorted(formerly - {*settings.names})))


def _batches(
    cases_of_cells: Mapping[Cell, tuple[Case, ...]], settings: MutationSettings, jobs: int
) -> list[_Batch]:
    """Return the work in parts, the longest first, so that all processes end at about one time.

    A part has some mutants of one operator, in all its cells, and takes about a quarter of a
    process's share at most. The first part of an operator also checks its cases. With one of
    `jobs`, an operator is one part. An operator without a mutant that the settings name has none.
    """
    by_op = group_by(cases_of_cells, lambda cell: (cell.op.domain, cell.op.name))
    costs = {
        # In elements, with the time that a small case takes.
        op: sum(1000 + size(case) for cell in of_op for case in cases_of_cells[cell])
        for op, of_op in by_op.items()
    }
    enough = sum(costs.values()) / (4 * jobs)
    batches: list[_Batch] = []
    for op in sorted(by_op, key=lambda op: -costs[op]):
        names = list(dict.fromkeys(w.name for cell in by_op[op] for w in _chosen(cell, settings)))
        parts = 1 if jobs == 1 else math.ceil(costs[op] / enough)
        for part in range(parts):
            # Every so many-th: neighbours are alike, and take about as long.
            share = tuple(names[part::parts])
            if share:
                only = replace(settings, names=share)
                cases = {cell: cases_of_cells[cell] for cell in by_op[op]}
                batches.append(_Batch(cases, only, checks_cases=part == 0))
    return batches


def size(case: Case) -> int:
    """Return the number of elements in its inputs."""
    return sum(math.prod(spec.shape) for spec in case.inputs)


def _chosen(cell: Cell, settings: MutationSettings) -> list[AnyMutant]:
    """Return the mutants in a cell that the settings name, all if they name none.

    Raises CaseFileError for shipped files that are wrong.
    """
    mutants = mutants_in(cell.op, cell.dtype)
    return [wrong for wrong in mutants if not settings.names or wrong.name in settings.names]


def _mutants_of_cells(cells: Iterable[Cell], settings: MutationSettings) -> list[_MutantOfCells]:
    """Return each mutant with its cell, or all of a version if one dtype stands for them.

    Only mutants that the settings name are there, all if they name none.
    """
    by_place: dict[tuple[str, Cell | OpVersion], _MutantOfCells] = {}
    for cell in cells:
        for wrong in _chosen(cell, settings):
            place = cell.op if mutant_of(cell, wrong).any_type else cell
            by_place.setdefault((wrong.name, place), _MutantOfCells(wrong)).cells.append(cell)
    return [*by_place.values()]


def mutant_of(cell: Cell, wrong: AnyMutant) -> MutantId:
    """Return the id of a mutant made in a cell; it says if one dtype decides for the version."""
    once = isinstance(wrong, Mutant) and wrong.once_a_version
    return MutantId(cell.op, cell.dtype, wrong.name, wrong.text, once)


def here(jobs: int, work: Callable[[Any], Iterable[Any]], batches: Sequence[Any]) -> Iterator[Any]:
    """Do work in so many processes: a `Spread` of this machine, where others use several.

    Returns an iterator of what `work` yields for each of the `batches`; with one of `jobs`, in this
    process and in order. Raises what `work` raises, ProcessDied if a process is killed, and
    KeyboardInterrupt if the user interrupts it while others work.
    """
    if jobs == 1:
        return chain.from_iterable(map(work, batches))
    return chain.from_iterable(workers.in_parallel(partial(_whole, work), batches, jobs))


def _whole(function: Callable[[Any], Iterable[Any]], batch: object) -> list[Any]:
    """Return a list of all that a function yields for a batch."""
    return [*function(batch)]


def _fates(batch: _Batch) -> Iterator[Mutation]:
    """Yield the fate of each mutant of a batch: which cases kill or notice it, or why none can.

    The settings of the batch name its mutants. Small cases are asked first, and cases that killed
    the mutant in another cell before them. Raises UsageError for a case that is wrong, in the first
    batch of an operator for any of its cases; CaseFileError for arguments about nothing known.
    """
    # Small cases are quick to ask, and easy to read if they kill.
    kills_of_cases = {
        cell: [CaseKills(case, cell.dtype) for case in sorted(cases, key=size)]
        for cell, cases in batch.cases_of_cells.items()
    }
    if batch.checks_cases:
        for case_kills in chain.from_iterable(kills_of_cases.values()):
            _ = case_kills.judges  # a wrong case is reported before anything else
    # Cases that kill a mutant in one cell are asked first in the others.
    known: dict[str, dict[str, None]] = {name: {} for name in batch.settings.names}
    for of_cells in _mutants_of_cells(kills_of_cases, batch.settings):
        kills = of_cells.kills(kills_of_cases)
        wrong = of_cells.mutant
        yield _mutation(of_cells.cell, wrong, kills, batch.settings, known[wrong.name])


def _mutation(
    cell: Cell,
    wrong: AnyMutant,
    kills_of_cases: Sequence[CaseKills],
    settings: MutationSettings,
    known: dict[str, None],
) -> Mutation:
    """Show one mutant to the cases of a cell, and return its fate.

    A mutant that no input distinguishes from the formula, as an argument says, is shown all the
    same; its fate has the argument. The names of cases that kill or notice it are added to `known`,
    so that they are asked first about the next cell. A stateful mutant is shown to none if backends
    are asked once. One that raises is shown to no further case; its fate says what. Raises
    UsageError for a case that is wrong, CaseFileError for arguments about nothing known.
    """
    mutant = mutant_of(cell, wrong)
    harmless = None
    if isinstance(wrong, Mutant):
        harmless = why_harmless(wrong, cell.op, None if mutant.any_type else cell.dtype)
    elif settings.once:
        return Mutation(mutant)
    try:
        ids = _ids_of_killers(wrong, kills_of_cases, settings.kills, known)
    except MutantRaised as error:
        return Mutation(mutant, raised=str(error))
    known |= dict.fromkeys((*ids.killers, *ids.noticers))
    operator = operator_of(cell.op)
    if not ids.killers and operator and cell.dtype in operator.constant and not mutant.any_type:
        harmless = harmless or "one value is all that comes of this type"
    killers = tuple(ids.killers.values())
    return Mutation(mutant, harmless, killers, tuple(ids.noticers.values()))


class _IdsOfKillers(NamedTuple):
    """Ids of cases by the names of these: those that kill a mutant, and that only notice it."""

    killers: dict[str, str]
    noticers: dict[str, str]


def _ids_of_killers(
    wrong: AnyMutant, kills_of_cases: Sequence[CaseKills], enough: int, known: Collection[str]
) -> _IdsOfKillers:
    """Return the cases that kill a mutant, and those that only notice it.

    Cases of the rule `must` decide and come first, of these the `known` names, until `enough` names
    kill it; of several cases of a name one is enough. Cases of other rules can only notice it, and
    are tried if none kills; a warning of a case `must` is noticed too. Raises MutantRaised, and
    UsageError for a case that is wrong.
    """

    def order(case_kills: CaseKills) -> tuple[bool, bool]:
        """Return what is least for cases that decide, and of these for known names."""
        return case_kills.case.rule != "must", case_kills.case.name not in known

    killers: dict[str, str] = {}
    noticers: dict[str, str] = {}
    for case_kills in sorted(kills_of_cases, key=order):
        case = case_kills.case
        decides = case.rule == "must"
        if len(killers) >= enough or (killers and not decides):
            break
        if case.name in (killers if decides else noticers) or not case_kills.judges:
            continue
        verdict = case_kills.verdict(wrong)
        if verdict in RED and decides:
            killers[case.name] = case.id
        elif verdict in (Verdict.WARN, *RED):
            noticers.setdefault(case.name, case.id)
    return _IdsOfKillers(killers, noticers)


@dataclass(frozen=True)
class Sighting:
    """A mutant with the ids of every case that sees it.

    `killers` are ids of `must` cases that fail; without any, `noticers` are of cases that come out
    wrong but decide nothing. If the mutant itself `raised`, it says what, and has no cases.
    """

    mutant: MutantId
    killers: tuple[str, ...] = ()
    noticers: tuple[str, ...] = ()
    raised: str = ""


def sightings(cases: Iterable[Case], jobs: int = 1) -> Iterator[Sighting]:
    """Yield every mutant in every cell with all cases that see it, in no order.

    Raises UsageError for a case that is itself wrong, ProcessDied if a process is killed, and
    KeyboardInterrupt if the user interrupts it.
    """
    yield from here(jobs, _sightings, _batches(cells(cases), MutationSettings(), jobs))


def _sightings(batch: _Batch) -> Iterator[Sighting]:
    """Yield each mutant of a batch with the cases that see it.

    Raises UsageError for a case that is wrong.
    """
    kills_of_cases = {
        cell: [CaseKills(case, cell.dtype) for case in cases]
        for cell, cases in batch.cases_of_cells.items()
    }
    for of_cells in _mutants_of_cells(kills_of_cases, batch.settings):
        mutant = mutant_of(of_cells.cell, of_cells.mutant)
        try:
            yield _sighting(mutant, of_cells.mutant, of_cells.kills(kills_of_cases))
        except MutantRaised as error:
            yield Sighting(mutant, raised=str(error))


def _sighting(mutant: MutantId, wrong: AnyMutant, kills_of_cases: Sequence[CaseKills]) -> Sighting:
    """Show one mutant to every case, and return which ones see it.

    Those that decide nothing, of other rules than `must`, are shown it only if none kills it.
    Raises MutantRaised, and UsageError for a case that is wrong.
    """
    deciding = [case_kills for case_kills in kills_of_cases if case_kills.case.rule == "must"]
    verdicts = {
        case_kills.case.id: case_kills.verdict(wrong)
        for case_kills in deciding
        if case_kills.judges
    }
    killers = tuple(id for id, verdict in verdicts.items() if verdict in RED)
    if killers:
        return Sighting(mutant, killers)
    verdicts |= {
        case_kills.case.id: case_kills.verdict(wrong)
        for case_kills in kills_of_cases
        if case_kills.case.rule != "must" and case_kills.judges
    }
    noticed = (Verdict.WARN, *RED)
    return Sighting(mutant, (), tuple(id for id, it in verdicts.items() if it in noticed))


@dataclass(frozen=True)
class ShippedKill:
    """The smallest shipped `case` that kills a survivor, or what the mutant `raised` on one.

    A mutant that raises is shown to no further case, and has no case.
    """

    mutant: MutantId
    case: Case | None = None
    raised: str = ""


def killed_elsewhere(
    alive: Iterable[MutantId], cases: Iterable[Case], jobs: int = 1, spread: Spread | None = None
) -> Iterator[ShippedKill]:
    """Yield the smallest shipped case that kills each survivor of `cases`, where one does.

    `alive` are the survivors, mutants that no case of `cases` killed. Shipped cases of their
    version with the rule `must` are shown them, but for those that are among `cases`. `jobs` is the
    number of processes, unless `spread` does the work elsewhere. Raises CaseFileError for shipped
    files that are wrong, ValueError for a survivor that is no mutant of its cell, ProcessDied if a
    process is killed, KeyboardInterrupt if the user interrupts it.
    """
    asked = {(case.id, case.source) for case in cases}
    batches = [
        (survivors, [case for case in _shipped(op) if (case.id, case.source) not in asked])
        for op, survivors in group_by(alive, lambda mutant: mutant.op).items()
    ]
    yield from (spread or partial(here, jobs))(_killing, batches)


def _killing(batch: tuple[Sequence[MutantId], Sequence[Case]]) -> list[ShippedKill]:
    """Return the survivors of a batch that a shipped case kills, each with the first one.

    A survivor that raises before is returned with what it raised.

    A batch has survivors of one version, at least one, and shipped cases, the smallest first. A
    case that contradicts itself kills none. Raises ValueError for a survivor that is no mutant of
    its cell, and for a case whose data cannot be made; CaseFileError for shipped files that are
    wrong.
    """
    survivors, shipped = batch
    by_cell = cells(shipped)
    found: list[ShippedKill] = []
    for dtype in dict.fromkeys(survivor.dtype for survivor in survivors):
        of_cell = by_cell.get(Cell(survivors[0].op, dtype), ())
        kills_of_cases = [CaseKills(case, dtype) for case in of_cell]
        for survivor in survivors:
            if survivor.dtype != dtype:
                continue
            [mutant] = (it for it in mutants_in(survivor.op, dtype) if it.name == survivor.name)
            try:
                killer = next((it for it in kills_of_cases if it.verdict(mutant) in RED), None)
            except MutantRaised as error:
                found.append(ShippedKill(survivor, raised=str(error)))
            else:
                if killer is not None:
                    found.append(ShippedKill(survivor, killer.case))
    return found


@cache
def _shipped(op: OpVersion) -> tuple[Case, ...]:
    """Return the shipped cases of a version with the rule `must`, the smallest first; read once.

    Raises CaseFileError for shipped files that are wrong.
    """
    cases = suite.load((), (op.name,))
    return tuple(sorted((it for it in cases if it.op == op and it.rule == "must"), key=size))


class Argument(validation.Fields):
    """Why no legal input distinguishes `mutants`, by their names, from the formula.

    Without `op` it holds for each operator of the file, without `versions` and `dtypes` for all.
    """

    mutants: Sequence[str] = Field(min_length=1)
    why: str = Field(min_length=1)
    op: validation.Operators | None = None
    versions: Sequence[int] = ()
    dtypes: Sequence[str] = ()


class ArgumentsFields(validation.Fields):
    """A file `*.equivalent.yaml`."""

    op: validation.Operators
    domain: str = ""
    equivalent: list[Argument] = Field(min_length=1)


def why_harmless(mutant: Mutant, op: OpVersion, dtype: str | None) -> str | None:
    """Return the argument that no input distinguishes a mutant from the formula; None without one.

    It may be one about a mutant that is wrong wherever this one is. `dtype` None asks for an
    argument about all dtypes. Raises CaseFileError for arguments about nothing known.
    """
    names = {*mutant.names, *mutant.within}
    about = (argument for argument in arguments(op) if not names.isdisjoint(argument.mutants))
    return next(
        (argument.why for argument in about if not argument.dtypes or dtype in argument.dtypes),
        None,
    )


@cache
def arguments(op: OpVersion) -> tuple[Argument, ...]:
    """Return the arguments about a version; of DirectML, those about its ONNX operator too.

    An argument says why no legal input distinguishes some mutants from the formula. Made once for
    each version. Raises CaseFileError with every argument of the operator about a version, a dtype
    or a mutant that is not known, and every problem of the files.
    """
    operator = operator_of(op)
    versions: Set[int] = operator.formulas.keys() if operator else {op.since}
    problems = Problems()
    about: list[Argument] = []
    for file, node, fields in _files():
        if fields.domain != op.domain:
            continue
        for number, argument in enumerate(fields.equivalent):
            if op.name in (argument.op or fields.op):
                if op.since in (argument.versions or versions):
                    about.append(argument)
                _check_argument(argument, op, versions, file, node, number, problems)
    problems.raise_if_any()
    # An operator of DirectML takes what its ONNX operator takes, unless it may be one of several.
    same = LOWERED.get(op.name)
    if same and same.alike and not same.picks:
        about += arguments(same.onnx.op)
    return tuple(about)


def _check_argument(
    argument: Argument,
    op: OpVersion,
    versions: Set[int],
    file: str,
    node: FileNode,
    number: int,
    problems: Problems,
) -> None:
    """Add to `problems` what the `number`-th argument of a file names and does not exist.

    Dtypes and mutants are looked up in those of the operator's `versions` that the argument is
    about; `node` has the places of its values in the `file`.
    """
    ops = [replace(op, since=since) for since in {*argument.versions} & versions or versions]
    known_values: dict[str, Set[Any]] = {
        "versions": versions,
        "dtypes": {dtype for version in ops for dtype in dtypes_of(version)},
        "mutants": {
            name for version in ops for mutant in all_mutants(version) for name in mutant.names
        },
    }
    for key, known in known_values.items():
        for place, value in enumerate(getattr(argument, key)):
            if value not in known:
                message = f"{key}: {op.name} has no {quoted(str(value))} there"
                hint = did_you_mean(str(value), sorted(map(str, known)))
                problems.add(file, node.at(("equivalent", number, key, place)), message, hint)


@cache
def _files() -> tuple[tuple[str, FileNode, ArgumentsFields], ...]:
    """Return each shipped file of arguments: its name, its nodes with places, and its fields.

    Read once. An argument says why no input distinguishes mutants from the formula. Raises
    CaseFileError with every problem of every file.
    """
    problems = Problems()
    files: list[tuple[str, FileNode, ArgumentsFields]] = []
    keys = {"equivalent": validation.aliases(Argument)}
    for path in shipped_files(Kind.EQUIVALENT):
        file = shipped_name(path)
        node = read_file(path, problems)
        fields = node and validation.check(ArgumentsFields, node, file, problems, keys)[0]
        if node and fields:
            files.append((file, node, fields))
            for place in (node, *node.entries["equivalent"].items):
                validation.check_operators(place, opset.operators(fields.domain), file, problems)
    problems.raise_if_any()
    return tuple(files)
