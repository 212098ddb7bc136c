"""Mutants of every operator: what its schema, its formula and its own file make of it."""

from functools import cache, partial
from itertools import chain

from opcheck import opset
from opcheck.engine.mutants import elements, rows, schema, tensors, windows
from opcheck.engine.mutants.mutant import Accepting, Mutant, evaluated
from opcheck.engine.node import operator_of
from opcheck.engine.operators import located
from opcheck.errors import WrongOperator
from opcheck.model import OpVersion
from opcheck.opset.direct_ml import LOWERED

__all__ = ["Mutant", "causes_of", "guards_of", "mutants_of"]


@cache
def mutants_of(op: OpVersion) -> tuple[Mutant, ...]:
    """The mutants of a version, the most specific first; none where the engine lacks it."""
    operator = operator_of(op)
    if operator is None:
        return ()
    known = opset.versions(op.domain, op.name)[op.since]
    attributes, gives_booleans = known.attributes, known.outputs[0].types == {"tensor(bool)"}
    optional = {name for name, one in attributes.items() if not one.required}
    needed = {"", *attributes, *("*" for name in optional - {*operator.ignores})}
    # Windows may be read wrongly under any names.
    below = LOWERED[op.name].members if op.name in LOWERED else ()
    general = (
        mutant
        for mutant in (
            *chain(*(one.FAULTS for one in (rows, elements, tensors, windows))),
            *chain(elements.CASTS, windows.MUTANTS, tensors.MUTANTS),
        )
        if not (mutant.rounded and operator.exact)
        and not (mutant.unbounded and operator.high is not None)
        and not (mutant.of_numbers and gives_booleans)
        and not (mutant.of_values and operator.of_shapes)
        and (mutant.needs in needed or (mutant.primitive and mutant.needs in below))
        # SequenceEmpty has no elements.
        and (known.inputs or known.by_value)
    )
    found: dict[tuple[str, str], Mutant] = {}
    own = [one for one in operator.mutants if one.since == op.since]
    made = tuple(schema.mutants(op, operator))
    names = {mutant.name for mutant in made}
    for one in (one for one in own if one.name in names):
        wrong = f"{operator.name}: the schema makes a mutant {one.name!r} already"
        raise WrongOperator(f"{located(one.function)}: {wrong}")
    answers = [(one, partial(evaluated, one.function, None)) for one in own]
    repaired = ((one, Accepting(how) if one.of_validity else how) for one, how in answers)
    ours = (Mutant(one.name, one.text, how, only=one.only) for one, how in repaired)
    for mutant in chain(ours, made, general):
        # Its own takes the place of a general one of that name, as Softmax's `nan_skipped` does.
        if (mutant.name, "") not in found:
            found.setdefault((mutant.name, mutant.primitive), mutant)
    return tuple(found.values())


@cache
def causes_of(op: OpVersion) -> tuple[Mutant, ...]:
    """The mutants that name causes of failures.

    Those that `mutants_of` lacks are not asked of suites: in many operators no case can show them.
    """
    named = mutants_of(op)
    return (*rows.CAUSES, *named, *tensors.CAUSES) if named else ()


@cache
def guards_of(op: OpVersion) -> tuple[Mutant, ...]:
    """The mutants of an operator version that are wrong only on one path of kernels.

    They measure a suite, and name no cause of a failure: any wrong answer there looks like them.
    """
    operator = operator_of(op)
    return tuple(schema.guards(op, operator)) if operator else ()
