"""Mutants of every operator: what its schema, its formula and its own file make of it."""

from __future__ import annotations

from functools import cache
from itertools import chain

from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants import axes, elements, layout, refusals, rows, schema, values, windows
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import operator_of
from opcheck.engine.operators import Operator, OwnMutant
from opcheck.model import OpVersion

__all__ = ["Mutant", "mutants_of"]

_FAULTS = (*rows.FAULTS, *elements.FAULTS, *axes.FAULTS, *windows.FAULTS)
_GENERIC = (*layout.MUTANTS, *values.MUTANTS, *refusals.MUTANTS)


@cache
def mutants_of(op: OpVersion) -> tuple[Mutant, ...]:
    """The mutants of an operator version, the most specific first.

    Empty where the engine does not know the operator. Not all of them concern every node: see
    `Mutant.concerns`.
    """
    operator = operator_of(op)
    if operator is None:
        return ()
    own = [_own(one) for one in operator.mutants if one.since == op.since]
    faulty = [one.mutant(operator.equivalents.get(one.name, {})) for one in _FAULTS]
    generic = [one for one in _GENERIC if not (one.rounded and operator.exact)]
    generic = [_argued(one, operator) for one in generic]
    found: dict[str, Mutant] = {}
    for mutant in chain(own, schema.mutants(op, operator), faulty, generic):
        # One of the operator's own takes the place of a general one of that name.
        if mutant.name not in found or mutant.primitive:
            key = mutant.name if mutant.name not in found else f"{mutant.name} {mutant.primitive}"
            found.setdefault(key, mutant)
    return tuple(found.values())


def _own(mutant: OwnMutant) -> Mutant:
    function = mutant.function
    return Mutant(
        mutant.name,
        mutant.text,
        lambda node: evaluate(node, function),
        equivalent=mutant.equivalent,
    )


def _argued(mutant: Mutant, operator: Operator) -> Mutant:
    from dataclasses import replace

    argued = operator.equivalents.get(mutant.name)
    return replace(mutant, equivalent=argued) if argued else mutant
