"""What must come out of a case: the answers its expectation admits, computed where it says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from opcheck import dtypes
from opcheck.backends import Backend
from opcheck.compare import Want, compare_outputs
from opcheck.compare.verdict import Admitted, Answer, Refusal, Twin, what_is_wrong
from opcheck.engine import evaluate, operator_of
from opcheck.errors import InvalidNode
from opcheck.graph.tensors import read_tensor
from opcheck.model import (
    EXACT,
    AnyOf,
    Array,
    Case,
    Computed,
    Golden,
    OpVersion,
    Rejected,
    Tolerance,
    Values,
)
from opcheck.run.question import Question, question
from opcheck.suite import unrounded

#: The admitted answers, once it is known which backend a legal twin is put to.
ForBackend: TypeAlias = Callable[[Backend], list[Admitted]]


class WrongCase(ValueError):
    """The case contradicts itself or the engine; nothing can be said about any backend."""


def admitted(case: Case, asked: Question) -> ForBackend:
    """The answers that `case` admits.

    Raises WrongCase where the engine rejects a model that the case takes for legal, and any other
    ValueError where the expectation's data cannot be had.
    """
    match case.expect:
        case AnyOf(alternatives):
            parts = [_one(case, asked, a.expect, a.name) for a in alternatives]
        case expect:
            parts = [_one(case, asked, expect, None)]
    return lambda backend: [part(backend) for part in parts]


def _one(
    case: Case, asked: Question, expect: Values | Computed | Golden | Rejected, name: str | None
) -> Callable[[Backend], Admitted]:
    match expect:
        case Rejected(reason, legal):
            twin = question(legal)
            wants = _wants_of_twin(legal, twin)
            if case.rule != "open":
                _check_refused(case, asked)
            return lambda backend: Refusal(reason, lambda: Twin(twin.ask(backend), wants), name)
        case Computed():
            answer = Answer(computed(case, asked, asked.inputs), name)
        case Values(specs):
            answer = Answer(
                tuple(_want(case.op, s.name, unrounded(s), s.dtype) for s in specs), name
            )
            _check_answer(case, asked, answer)
        case Golden(folder):
            answer = Answer(_wants(case, _stored(case, folder)), name)
            _check_answer(case, asked, answer)
    return lambda _: answer


def _check_answer(case: Case, asked: Question, answer: Answer) -> None:
    """Raise WrongCase where the engine contradicts an answer that the case calls the only one."""
    if case.rule == "open" or operator_of(case.op) is None:
        return
    mine = [want.values for want in computed(case, asked, asked.inputs)]
    for comparison in compare_outputs(answer.wants, mine, bound(case)):
        if comparison.problem:
            where = f", {comparison.where}" if comparison.where else ""
            told = f"{what_is_wrong(comparison)}{where}"
            raise WrongCase(f"the case and opcheck's engine contradict each other: {told}")


def _check_refused(case: Case, asked: Question) -> None:
    """Raise WrongCase where the engine accepts a model that the case takes for invalid."""
    if operator_of(case.op) is None:
        return
    try:
        evaluate(case.op, asked.arrays(asked.inputs), case.attrs)
    except InvalidNode:
        return
    raise WrongCase("the case takes this model for invalid, opcheck's engine accepts it")


def _wants_of_twin(legal: Case, twin: Question) -> tuple[Want, ...]:
    if operator_of(legal.op) is None:
        return ()
    try:
        return computed(legal, twin, twin.inputs)
    except WrongCase as error:
        raise WrongCase(f"its legal twin: {error}") from None


def _stored(case: Case, folder: Path) -> list[Array]:
    """The golden outputs; raises ValueError where they cannot be those of this case."""
    stored = [read_tensor(folder / f"output_{number}.pb") for number in range(len(case.outputs))]
    for number, (output, array) in enumerate(zip(case.outputs, stored, strict=True)):
        dtype = dtypes.of(array)
        if dtype is None or output.dtype not in (None, dtype):
            gives = f"; {case.op} gives {output.dtype} here" if output.dtype else ""
            raise WrongCase(f"output_{number}.pb holds {dtype or array.dtype}{gives}")
    return stored


def computed(case: Case, asked: Question, inputs: tuple[Array, ...]) -> tuple[Want, ...]:
    """What the engine's exact mode gives for `asked` on `inputs`."""
    try:
        return _wants(case, evaluate(case.op, asked.arrays(inputs), case.attrs))
    except InvalidNode as error:
        raise WrongCase(
            f"the case takes this model for legal, the engine does not: {error}"
        ) from None


def bound(case: Case) -> Tolerance:
    """How far an answer may lie off: as the case says, else by the operator's own error bound."""
    operator = operator_of(case.op)
    return case.tolerance or (operator.bound if operator else EXACT)


def _wants(case: Case, arrays: list[Array] | tuple[Array, ...]) -> tuple[Want, ...]:
    pairs = zip(case.outputs, arrays, strict=True)
    return tuple(_want(case.op, output.name, array, dtypes.of(array)) for output, array in pairs)


def _want(op: OpVersion, name: str, values: Array, dtype: dtypes.DType | None) -> Want:
    operator = operator_of(op)
    low, high = (operator.low, operator.high) if operator else (None, None)
    return Want(name, dtype, values, low, high)
