"""What level core must show, and which cases show it: see `opcheck.suite.levels`.

A demand is something that core must show, such as that a mutant, a wrong implementation, is killed.
Functions here yield pairs of a demand and the ids of the cases, of any level, that show it. A
*cell* is an operator version on one dtype.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong. What
asks for a case's answers raises NotSupported if the bound of a stated one takes more than opcheck
computes.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter

import numpy as np

from opcheck import clauses, opset, situations
from opcheck.compare.verdict import first_answer
from opcheck.diagnose.suspects import cell_of
from opcheck.engine import operator_of
from opcheck.execution.conditioned import SituationSighting
from opcheck.execution.expected import Unsupported, accepted_answers, question
from opcheck.execution.mutate import Sighting
from opcheck.grouping import group_by
from opcheck.known import Ledger
from opcheck.model import Case, Cell, Computed, OpVersion, OutputSpec, TensorSpec, Values
from opcheck.suite import materialize
from opcheck.suite.levels import CORE, Demand, Shown

#: Inputs of more elements are not searched for what is no number.
MOST_ELEMENTS = 512
#: So many axes have the tensors to which each axis of another is stretched by itself.
FOUR = 4


def demands(
    cases: Sequence[Case],
    sightings: Iterable[Sighting],
    in_situations: Iterable[SituationSighting],
    ledgers: Iterable[Ledger],
) -> Iterator[Shown]:
    """Yield everything that core must show, with the ids of the cases that show it.

    What no case shows is left out. Raises WrongCase for a case that contradicts itself, ValueError
    for data that cannot be made, MemoryError if data or an answer do not fit into memory.

    Args:
        cases: All cases of some operators, of every level.
        sightings: What they see of every mutant.
        in_situations: Mutants that are wrong in one situation, with the cases that kill them there.
            One that raised is left out.
        ledgers: Known defects of engines.
    """
    yield from _mutants(cases, sightings)
    yield from _mutants_in_situations(in_situations)
    yield from _sentences(cases)
    yield from _situations(cases)
    yield from defects(cases, ledgers)
    yield from _types(cases)
    yield from _types_of_constraints(cases)
    yield from _refusals(cases)
    yield from _rests(cases)
    yield from _stretches(cases)
    yield from _no_numbers(cases)
    yield from _names(cases)


def _mutants_in_situations(in_situations: Iterable[SituationSighting]) -> Iterator[Shown]:
    """Yield each mutant and situation in which cases kill it, with their ids."""
    for sighting in in_situations:
        if sighting.raised:
            continue
        mutant = sighting.mutant
        what = f"{mutant.name} in {sighting.situation}"
        yield Demand("conditioned mutant", mutant.op, what, mutant.dtype), sighting.killers


def _mutants(cases: Sequence[Case], sightings: Iterable[Sighting]) -> Iterator[Shown]:
    """Yield each mutant with the ids of the cases that kill it, that is fail it as a backend.

    Without any, the demand is a "warning", with the cases that notice it. A mutant that no case
    even notices is left out. One that a single dtype decides about has its cases of that dtype
    alone, if there are any.

    A mutant of an old version is left out if it is also one of a later version that differs in
    types alone, on the same dtype: one kernel serves both versions. So it is with a warning if
    there is a mutant or a warning in the later version.
    """
    every = [*_mutants_of_all_versions(cases, sightings)]
    alike = _newest_alike({demand.op for demand, _ in every})
    of_later_versions: set[Demand] = set()
    for demand, ids in sorted(every, key=lambda shown: shown[0].op, reverse=True):
        in_newest = demand._replace(op=alike[demand.op])
        killed_in_newest = in_newest._replace(kind="mutant")
        if not of_later_versions & {in_newest, killed_in_newest}:
            yield demand, ids
        of_later_versions.add(in_newest)


def _mutants_of_all_versions(
    cases: Sequence[Case], sightings: Iterable[Sighting]
) -> Iterator[Shown]:
    """Yield each mutant of each version with the ids of the cases that kill it.

    Without any, the demand is a "warning", with those that notice it; without these it is left out.
    One that a single dtype decides about has its cases of that dtype alone, if there are any.
    """
    dtypes = {case.id: cell_of(case).dtype for case in cases}
    for sighting in sightings:
        mutant = sighting.mutant
        kind = "mutant" if sighting.killers else "warning"
        ids = sighting.killers or sighting.noticers
        if mutant.any_type:
            ids = tuple(id for id in ids if dtypes[id] == mutant.dtype) or ids
        if ids:
            yield Demand(kind, mutant.op, mutant.name, mutant.dtype), ids


def _newest_alike(ops: Collection[OpVersion]) -> dict[OpVersion, OpVersion]:
    """Return, for each of some versions, the newest of them that differs from it in types alone."""
    alike: dict[OpVersion, OpVersion] = {}
    for op in ops:
        operator = operator_of(op)
        ignored = operator.ignores if operator else ()
        schemas = opset.versions(op.domain, op.name)
        alike[op] = max(
            other
            for other in ops
            if (other.domain, other.name) == (op.domain, op.name)
            and opset.differ_in_types_alone(schemas[op.since], schemas[other.since], ignored)
        )
    return alike


def _sentences(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield each sentence of the specification that cases of a version test, with these cases.

    A sentence names its cases by their name, or name and row, which may be several by id. Two parts
    of a page may have the same sentence, as the branches of If.
    """
    by_label: dict[tuple[OpVersion, str], list[str]] = {}
    for case in cases:
        for label in (case.name, f"{case.name}#{case.row}"):
            by_label.setdefault((case.op, label), []).append(case.id)
    for survey in clauses.survey(cases):
        for checked in survey.sentences:
            ids = [id for label in checked.cases for id in by_label.get((survey.op, label), ())]
            if ids:
                sentence = f"{checked.sentence.part}: {checked.sentence.text}"
                yield Demand("sentence", survey.op, sentence), ids


def _situations(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield each situation that cases of an operator's newest version are in, with these cases.

    A situation, such as a shape or a sign, is one that kernels may treat apart; it is one of a
    family. One that needs no case by an argument is left out.
    """
    for name, op in _newest_versions(cases).items():
        for family, situations_of_cases in situations.by_family(name, cases):
            by_situation: dict[str, list[str]] = {}
            for case, found in situations_of_cases.items():
                for situation in found:
                    by_situation.setdefault(situation, []).append(case.id)
            for situation, ids in by_situation.items():
                if any(argument.is_about(name, situation) for argument in family.argued):
                    continue
                yield Demand("situation", op, f"{family.name}: {situation}"), ids


def _newest_versions(cases: Iterable[Case]) -> dict[str, OpVersion]:
    """Return the newest version that the cases have of each operator, by its name."""
    return {case.op.name: case.op for case in sorted(cases, key=attrgetter("op"))}


def defects(cases: Sequence[Case], ledgers: Iterable[Ledger]) -> Iterator[Shown]:
    """Yield each known defect of an engine in each version, with the cases that show it.

    A demand names the engine and the defect's id. Defects of no operator, such as stray crashes,
    are left out.
    """
    by_version = group_by(cases, attrgetter("op"))
    for ledger in ledgers:
        engine = ledger.fields.backend[0]
        for line in ledger.fields.known:
            for op, of_version in by_version.items():
                # An operator that no place names cannot match; a stray crash has no place.
                if not any(place.may_be_about(op.name, None) for place in line.where):
                    continue
                ids = [case.id for case in of_version if line.is_about(case)]
                if ids:
                    yield Demand("defect", op, f"{engine} {line.id}"), ids


def _types(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield each version and dtype, with its cases that decide whether answers are right."""
    deciding = [case for case in cases if case.rule == "must" and case.expect.rejection is None]
    yield from _in_each_cell("type", deciding)


def _types_of_constraints(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield each dtype of each type constraint of a version, with its answered cases.

    These have an input or an output of the constraint in that dtype.
    """
    answered = [case for case in cases if case.expect.rejection is None]
    for op, of_version in group_by(answered, attrgetter("op")).items():
        constraints = _constraints(op)
        by_type: dict[Demand, list[str]] = {}
        for case in of_version:
            for constraint, dtype in sorted(_constrained(case, constraints)):
                demand = Demand("constrained type", op, constraint, dtype)
                by_type.setdefault(demand, []).append(case.id)
        yield from by_type.items()


def _constraints(op: OpVersion) -> dict[str, str]:
    """Return the type constraint of each input and output of a version, by its name."""
    schema = opset.versions(op.domain, op.name)[op.since]
    return {formal.name: formal.constraint for formal in chain(*schema.formals)}


def _constrained(case: Case, constraints: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the pairs of a type constraint and a dtype that an input or output of it has."""
    tensors: list[TensorSpec | OutputSpec] = [*case.inputs, *case.outputs]
    pairs = set()
    for tensor in tensors:
        # A variadic `data` is written as data_0, data_1 …
        name = tensor.name if tensor.name in constraints else tensor.name.rpartition("_")[0]
        if name in constraints and tensor.dtype:
            pairs.add((constraints[name], tensor.dtype.name))
    return pairs


def _refusals(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield each version and dtype of which something must be refused, with the cases that ask."""
    refusing = [case for case in cases if case.rule == "must" and case.expect.rejection is not None]
    yield from _in_each_cell("refusal", refusing)


def _in_each_cell(kind: str, cases: Iterable[Case]) -> Iterator[Shown]:
    """Yield a demand of this kind for each version and dtype of the cases, with those of it."""
    for cell, of_cell in group_by(cases, cell_of).items():
        yield Demand(kind, cell.op, cell.dtype, cell.dtype), [case.id for case in of_cell]


def _rests(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield where a kernel may leave the rest of a row, with the cases that would show it.

    A rest is what whole vectors of elements leave. One is to be shown in each version for each
    dtype of what goes in and of what comes out, and in the newest version for each pair of these.
    Raises WrongCase for a case that contradicts itself, ValueError for data that cannot be made,
    and MemoryError if data or an answer do not fit into memory.
    """
    newest = _newest_versions(cases)
    showing = [case for case in cases if _leaves_a_rest(case) and _shows_a_rest(case)]
    yield from _in_each_cell("rest", showing)
    for (op, dtype), of_dtype in group_by(showing, lambda case: (case.op, _output(case))).items():
        yield Demand("rest", op, f"to {dtype}"), [case.id for case in of_dtype]
    of_newest = [case for case in showing if case.op == newest[case.op.name]]
    pairs = group_by(of_newest, lambda case: (case.op, case.inputs[0].dtype.name, _output(case)))
    for (op, first, last), of_pair in pairs.items():
        yield Demand("pair of types", op, f"{first} to {last}"), [case.id for case in of_pair]


def _leaves_a_rest(case: Case) -> bool:
    """Return True if the case or the engine states its answer, and vectors leave an input's rest.

    So do vectors of 8, 16 and 32 elements of an input of more than 32, if it is no multiple of 8.
    """
    sizes = [math.prod(spec.shape) for spec in case.inputs]
    is_answered = isinstance(case.expect, Computed | Values)
    return is_answered and any(size > 32 and size % 8 for size in sizes)


def _shows_a_rest(case: Case) -> bool:
    """Return True if what vectors of 8 elements leave of the first output is not all zeros.

    Of several answers the first decides. False if the engine has none, and for refusals alone.
    Raises WrongCase for a case that contradicts itself, ValueError for data that cannot be made,
    and MemoryError if data or answer do not fit into memory.
    """
    try:
        admitted = accepted_answers(case, question(case))
    except Unsupported:
        return False
    answer = first_answer(admitted)
    if answer is None:
        return False
    values = answer.wants[0].values.reshape(-1)
    return any(one != 0 for one in values[len(values) // 8 * 8 :].tolist())


def _stretches(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield each shape that is stretched to four axes along one or all but one, with the cases.

    Situations of operands end at three axes. A demand is of an operand in the newest version;
    cases of each version show it. Those whose answer is not stated, nor the engine's, do not count.
    """
    newest = _newest_versions(cases)
    by_shape: dict[Demand, list[str]] = {}
    for case in cases:
        if not isinstance(case.expect, Computed | Values):
            continue
        for spec in _stretched(case):
            what = f"{spec.name} {list(spec.shape)}"
            demand = Demand("stretch", newest[case.op.name], what)
            by_shape.setdefault(demand, []).append(case.id)
    yield from by_shape.items()


def _stretched(case: Case) -> Iterator[TensorSpec]:
    """Yield the inputs that have 1 along one or all but one of the four axes of another input."""
    wholes = {spec.shape for spec in case.inputs if len(spec.shape) == FOUR and min(spec.shape) > 1}
    for spec in case.inputs:
        padded = (1,) * (FOUR - len(spec.shape)) + spec.shape
        if any(_is_stretched(padded, whole) for whole in wholes):
            yield spec


def _is_stretched(shape: Sequence[int], whole: Sequence[int]) -> bool:
    """Return True if a shape of four axes has 1 for one or three sizes of another."""
    if len(shape) != FOUR or any(
        own not in (1, size) for own, size in zip(shape, whole, strict=True)
    ):
        return False
    return sum(own != size for own, size in zip(shape, whole, strict=True)) in (1, FOUR - 1)


def _output(case: Case) -> str:
    """Return the dtype of the first output."""
    return str(case.outputs[0].dtype)


def _no_numbers(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield NaN and infinity of each version and float dtype, with the cases that have them.

    The dtype is that of the input in which they are. Cases of which a backend states the answer, or
    that expect a refusal or one of several answers, do not count. Raises ValueError for data that
    cannot be made.
    """
    by_kind: dict[Demand, list[str]] = {}
    for case in cases:
        if not isinstance(case.expect, Computed | Values):
            continue
        for spec in case.inputs:
            for kind in _no_numbers_of(spec):
                demand = Demand("no number", case.op, kind, spec.dtype.name)
                by_kind.setdefault(demand, []).append(case.id)
    yield from by_kind.items()


def _no_numbers_of(spec: TensorSpec) -> list[str]:
    """Return which of "nan" and "infinite" an input holds; none for one of over 512 elements.

    None, too, if it is not floating. Raises ValueError for data that cannot be made.
    """
    if spec.dtype.kind != "float" or math.prod(spec.shape) > MOST_ELEMENTS:
        return []
    values = materialize(spec)
    tests = {"nan": np.isnan, "infinite": np.isinf}
    # NumPy warns of some NaN.
    with np.errstate(invalid="ignore"):
        return [kind for kind, test in tests.items() if test(values).any()]


def _names(cases: Sequence[Case]) -> Iterator[Shown]:
    """Yield each name of a case in core, with its cases of the newest version that has it in core.

    These are cases of every level. If core has it in float32 there, those of other types are left
    out. A name states a behavior, for which there may be no mutant.
    """
    by_name = group_by(cases, lambda case: (case.op.domain, case.op.name, case.name))
    for (_, _, name), of_name in by_name.items():
        in_core = [case for case in of_name if case.level in CORE]
        if in_core:
            newest = max(case.op for case in in_core)
            cells = {cell_of(case) for case in in_core}
            standard = Cell(newest, "float32")
            of_newest = [case for case in of_name if case.op == newest]
            shown = [case for case in of_newest if cell_of(case) == standard]
            ids = [case.id for case in (shown if standard in cells else of_newest)]
            yield Demand("name", newest, name), ids
