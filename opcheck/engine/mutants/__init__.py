"""Mutants of every operator: what its schema, its formula and its own file make of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain

from opcheck import opset
from opcheck.engine.mutants import (
    calls,
    casts,
    elements,
    guards,
    indices,
    integers,
    loop_ends,
    operands,
    overflow,
    places,
    pooling,
    poorer,
    roundings,
    rows,
    scalars,
    schema,
    slices,
    steps,
    stretching,
    tensors,
    values,
    versions,
    window_plans,
    window_sums,
    windows,
)
from opcheck.engine.mutants.mutant import Accepting, AnswerFunction, Mutant, evaluated
from opcheck.engine.node import operator_of
from opcheck.engine.operators import Operator, OwnMutant, located
from opcheck.errors import WrongOperator
from opcheck.model import OpVersion
from opcheck.opset import Schema
from opcheck.opset.direct_ml import LOWERED

__all__ = ["Mutant", "causes_of", "guards_of", "mutants_of"]

#: Mutants of all operators, those of functions that a formula may call first.
_GENERAL: tuple[Mutant, ...] = (
    *rows.FAULTS,
    *places.FAULTS,
    *elements.FAULTS,
    *indices.FAULTS,
    *windows.READINGS,
    *window_plans.FAULTS,
    *windows.ACCEPTED,
    *windows.REFUSALS,
    *window_sums.FAULTS,
    *casts.CASTS,
    *pooling.MUTANTS,
    *tensors.MUTANTS,
    *values.MUTANTS,
)


@cache
def mutants_of(op: OpVersion) -> tuple[Mutant, ...]:
    """Return the mutants of a version, the most specific first; none without a formula. Cached.

    Raises WrongOperator if an operator's file declares a mutant that its schema makes too, or if
    two have one name.
    """
    operator = operator_of(op)
    if operator is None:
        return ()
    own = [mutant for mutant in operator.mutants if mutant.since == op.since and mutant.is_asked]
    of_schema = tuple(schema.mutants(op, operator))
    _check_names(operator, own, of_schema)
    mutants: dict[str, Mutant] = {}
    _add(op, chain(map(_of_own, own), overflow.mutants(operator), of_schema), mutants)
    # An own one takes the place of a general one of that name, as Softmax's `nan_skipped` does.
    _add(op, [mutant for mutant in _general(op, operator) if mutant.name not in mutants], mutants)
    return tuple(mutants.values())


def _add(op: OpVersion, mutants: Iterable[Mutant], by_name: dict[str, Mutant]) -> None:
    """Add mutants of a version to those that it has; raise WrongOperator for two of one name."""
    for mutant in mutants:
        if mutant.name in by_name:
            raise WrongOperator(f"{op}: two mutants are named {mutant.name!r}")
        by_name[mutant.name] = mutant


def _check_names(operator: Operator, own: Sequence[OwnMutant], of_schema: Sequence[Mutant]) -> None:
    """Raise WrongOperator if an operator's file declares a mutant that its schema makes too."""
    names = {mutant.name for mutant in of_schema}
    for mutant in own:
        if mutant.name in names:
            problem = f"the schema makes a mutant {mutant.name!r} already"
            raise WrongOperator(f"{located(mutant.function)}: {operator.name}: {problem}")


def _of_own(own: OwnMutant) -> Mutant:
    """Return a mutant that an operator's file declares."""
    answer: AnswerFunction = partial(evaluated, own.function, None)
    if own.of_validity:
        answer = Accepting(answer)
    return Mutant(own.name, own.text, answer, only=own.only)


def _general(op: OpVersion, operator: Operator) -> Iterator[Mutant]:
    """Yield the mutants of all operators that a version can have."""
    version = opset.versions(op.domain, op.name)[op.since]
    if not version.inputs and not version.by_value:
        return  # SequenceEmpty has no elements.
    gives_booleans = version.outputs[0].types == {"tensor(bool)"}
    attributes = _attributes_needed(version, operator)
    # Windows may be read wrongly under any names.
    below = LOWERED[op.name].members if op.name in LOWERED else ()
    for mutant in _GENERAL:
        is_of_member = bool(mutant.primitive) and mutant.needs in below
        if mutant.needs not in attributes and not is_of_member:
            continue
        if _can_differ(mutant, operator, gives_booleans=gives_booleans):
            yield mutant


def _attributes_needed(version: Schema, operator: Operator) -> set[str]:
    """Return what `Mutant.needs` may be for a version."""
    optional = {name for name, attribute in version.attributes.items() if not attribute.required}
    has_optional = bool(optional - {*operator.ignores})
    return {"", *version.attributes, *(["*"] if has_optional else [])}


def _can_differ(mutant: Mutant, operator: Operator, *, gives_booleans: bool) -> bool:
    """Return False for a mutant about something that an operator does not have."""
    if mutant.rounded and operator.exact:
        return False
    if mutant.unbounded and operator.high is not None:
        return False
    if mutant.of_numbers and gives_booleans:
        return False
    return not (mutant.of_values and operator.of_shapes)


@cache
def causes_of(op: OpVersion) -> tuple[Mutant, ...]:
    """Return the mutants that name causes of failures; none without a formula. Cached.

    Those that `mutants_of` does not have are not asked of suites: in many operators no case can
    show them. A mistake that is illegal in this version is answered as in another one. Raises
    WrongOperator as `mutants_of` does, for two mutants of one name.
    """
    operator = operator_of(op)
    mutants = mutants_of(op)
    if operator is None or not mutants:
        return ()
    by_name: dict[str, Mutant] = {}
    for mutant in (*rows.CAUSES, *_own_causes(op, operator), *mutants, *values.CAUSES):
        by_name[mutant.name] = _of_any_input(mutant)
    declared = opset.versions(op.domain, op.name)[op.since]
    others = tuple(since for since in sorted(operator.formulas, reverse=True) if since != op.since)
    for mutant in chain(
        calls.mutants(declared, operator),
        stretching.mutants(operator),
        steps.mutants(declared, operator),
        slices.mutants(declared, operator),
        scalars.mutants(declared, operator),
        roundings.mutants(),
        loop_ends.mutants(),
        poorer.mutants(declared, operator),
        integers.mutants(declared),
        operands.mutants(declared),
        versions.in_other_versions(op, operator, [*by_name.values()], _of_own),
    ):
        by_name.setdefault(mutant.name, replace(mutant, derived=True))
    return tuple(versions.lenient(mutant, others) for mutant in by_name.values())


def _of_any_input(mutant: Mutant) -> Mutant:
    """Return a mutant of integers of any input, if it is one of those of the leading input.

    Suites are asked about integers where the leading input has them.
    """
    is_of_integers = mutant.name.startswith("integers_through_")
    return replace(mutant, only=None) if is_of_integers else mutant


def _own_causes(op: OpVersion, operator: Operator) -> Iterator[Mutant]:
    """Yield the mutants that the operator's file declares for this version, and not for suites."""
    for own in operator.mutants:
        if own.since == op.since and not own.is_asked:
            yield replace(_of_own(own), derived=True)


@cache
def guards_of(op: OpVersion) -> tuple[Mutant, ...]:
    """Return the mutants of a version that are wrong only on one path of kernels. Cached.

    They measure a suite, and name no cause of a failure: any wrong answer there looks like them.
    Without a formula there are none. Raises WrongOperator for two mutants of one name.
    """
    operator = operator_of(op)
    if operator is None:
        return ()
    mutants = {mutant.name: mutant for mutant in mutants_of(op)}
    others = len(mutants)
    _add(op, guards.guards(op, operator), mutants)
    return tuple(mutants.values())[others:]
