"""What must come out of a case: the answers its expectation admits, computed where it says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np

from opcheck import dtypes
from opcheck.compare import Want, compare, compare_outputs, too_wide
from opcheck.compare.verdict import Admitted, Answer, Refusal, what_is_wrong
from opcheck.compare.wants import computed_want, in_its_dtype, stated_want
from opcheck.engine import evaluate, exactly, operator_of, rounded
from opcheck.errors import InvalidNode
from opcheck.graph.tensors import read_tensor
from opcheck.model import (
    Agreement,
    AnyOf,
    Array,
    Case,
    Comparison,
    Computed,
    Golden,
    Oracle,
    Port,
    Question,
    Rejected,
    Values,
)
from opcheck.run import telling
from opcheck.run.question import question
from opcheck.run.witness import Silent, Testimony
from opcheck.suite import unrounded

_CONTRADICTION = "the case and opcheck's engine contradict each other"


class WrongCase(ValueError):
    """The case contradicts itself or the engine; nothing can be said about any backend."""


@dataclass(frozen=True, eq=False)
class Admission:
    """The answers that a case admits, and the legal twin of the first refusal among them."""

    answers: tuple[Admitted, ...]
    twin: Question | None


def admission(case: Case, asked: Question, testimony: Testimony | None = None) -> Admission:
    """The answers that `case` admits; none where it only asks whether backends agree.

    `testimony` is what the case's oracle says, where it has one. Raises WrongCase where the engine
    rejects a model that the case takes for legal, Silent where the oracle gives no answer, and any
    other ValueError where the expectation's data cannot be had.
    """
    match case.expect:
        case AnyOf(alternatives):
            refused = [a for a in alternatives if isinstance(a.expect, Rejected)]
            refusals = {a.name: _one(case, asked, a.expect, a.name) for a in refused}
            twin = [want for answer, _ in refusals.values() for want in answer.wants]
            parts = [
                refusals.get(a.name) or _one(case, asked, a.expect, a.name, twin)
                for a in alternatives
            ]
        case Oracle():
            if testimony is None:
                raise Silent("the oracle was not asked: there was no memory left")
            parts = [(_by_oracle(case, asked, testimony), None)]
        case Agreement():
            parts = []
        case expect:
            parts = [_one(case, asked, expect, None)]
    answers = tuple(answer for answer, _ in parts)
    for answer in answers:
        if wide := too_wide(answer.wants, case.tolerance):
            raise WrongCase(wide)
    return Admission(answers, next((twin for _, twin in parts if twin), None))


def _one(
    case: Case,
    asked: Question,
    expect: Values | Computed | Golden | Rejected,
    name: str | None,
    twins: Sequence[Want] = (),
) -> tuple[Admitted, Question | None]:
    """One answer, and the legal twin of a refusal; `twins` as in `_given`."""
    match expect:
        case Rejected(reason, legal):
            if case.rule != "open":
                _check_refused(case, asked)
            twin = question(legal)
            return Refusal(reason, _wants_of_twin(legal, twin), name), twin
        case Computed():
            wants = computed(case, asked, asked.inputs)
            if case.rule != "open" and not case.empty:
                _check_telling(wants)
            return Answer(wants, name), None
        case Values(specs, ports, random):
            given = [stated_want(case.op, s.name, unrounded(s), s.dtype) for s in specs]
            if ports and operator_of(case.op) is None:
                return Answer(tuple(_outputs(ports, given, random)), name), None
            return _given(case, asked, given, name, twins), None
        case Golden(folder):
            pairs = zip(case.outputs, _stored(case, folder), strict=True)
            given = [
                stated_want(case.op, out.name, array, dtypes.of(array)) for out, array in pairs
            ]
            return _given(case, asked, given, name, twins), None


def _outputs(
    ports: Iterable[Port], wants: Iterable[Want], random: Collection[str]
) -> Iterator[Want]:
    """What the outputs of a model must be, of which `wants` are the tensors."""
    rest = (replace(want, random=want.name in random) for want in wants)
    for port in ports:
        if port.form == "tensor":
            yield next(rest)
        else:
            items = tuple(islice(rest, port.count))
            yield Want(port.name, None, np.empty(0), form=port.form, items=items)


def _by_oracle(case: Case, asked: Question, testimony: Testimony) -> Answer:
    wants = testimony.wants(case)
    try:
        return _given(case, asked, wants, None)
    except WrongCase as error:
        raise WrongCase(f"by oracle {testimony.oracle}: {error}") from None


def _given(
    case: Case,
    asked: Question,
    wants: Sequence[Want],
    name: str | None,
    twins: Sequence[Want] = (),
) -> Answer:
    """Outputs that the case states, with the bounds of what the engine computes in their place.

    Where the engine refuses the model, the bounds are those of the legal twin's outputs, `twins`,
    if they are the same. Raises WrongCase where the engine contradicts an answer that the case
    calls the only one, and where an answer needs a tolerance, because the engine has no bound.
    """
    operator = operator_of(case.op)
    if operator is None:
        return Answer(tuple(wants), name)
    try:
        mine = exactly(case.op, asked.arrays(asked.inputs), case.attrs)
    except InvalidNode as error:
        if case.rule != "open":
            raise _refused_by_the_engine(error) from None
        mine = ()
    answers = [*map(rounded, mine)]
    if case.rule != "open":
        _check_shapes(wants, answers)
    if operator.rounded:
        engine = [computed_want(case.op, "", answer) for answer in mine]
        pairs = zip_longest(wants, (engine or twins)[: len(wants)])
        wants = [_bounded(case, *pair, is_twin=not engine) for pair in pairs]
    if case.rule != "open":
        _check_agreement(compare_outputs(wants, answers, case.tolerance))
    return Answer(tuple(wants), name)


def _bounded(case: Case, want: Want, other: Want | None, *, is_twin: bool) -> Want:
    """`want` with the bound of what the engine gives, for the case or for its legal twin.

    That is about outputs of the same shape and, of a twin, of the same values only.
    """
    of_one_shape = other is not None and other.values.shape == want.values.shape
    if other and of_one_shape and not (is_twin and compare(other, in_its_dtype(want)).problem):
        return replace(want, bound=other.bound, rounded=dtypes.of(want.values))
    if case.tolerance:
        return want
    shape = f"gives the shape {other.values.shape}" if other and not is_twin else "refuses it"
    raise WrongCase(
        f"{want.name}: tolerance must be stated: opcheck's engine {shape}, so it has no error bound"
        " for this answer"
    )


def _check_shapes(wants: Sequence[Want], answers: Sequence[Array]) -> None:
    for want, answer in zip(wants, answers, strict=False):
        if answer.shape != want.values.shape:
            raise WrongCase(
                f"{_CONTRADICTION}: {want.name}: the case says shape {want.values.shape}, the"
                f" engine {answer.shape}"
            )


def _check_agreement(comparisons: Iterable[Comparison]) -> None:
    for comparison in comparisons:
        if comparison.problem in (None, "undecided"):
            continue
        told = what_is_wrong(comparison)
        if comparison.wrong:
            told = f"{comparison.output}: {comparison.wrong} of {comparison.total} elements differ"
            told += f", {comparison.where}"
        for worst in comparison.worst[:1]:
            told += f"; at {list(worst.index)} the case says {worst.want!r},"
            told += f" the engine {worst.got!r} (allowed: {worst.allowed})"
        raise WrongCase(f"{_CONTRADICTION}: {told}")


def _check_telling(wants: Iterable[Want]) -> None:
    """Raise WrongCase where nearly anybody could give an answer that nobody wrote out."""
    for want in wants:
        said = telling.little(want.values, want.dtype, rounded=want.bound is not None)
        if said:
            raise WrongCase(
                f"{want.name}: {said}, so the case tells little: choose other data, write the"
                " answer out, or state in `empty` why it is meant to be so"
            )


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
    """What the engine's exact mode gives for `asked` on `inputs`, with its error bounds."""
    try:
        outputs = exactly(case.op, asked.arrays(inputs), case.attrs)
    except InvalidNode as error:
        raise _refused_by_the_engine(error) from None
    pairs = zip(case.outputs, outputs, strict=True)
    return tuple(computed_want(case.op, output.name, answer) for output, answer in pairs)


def _refused_by_the_engine(error: InvalidNode) -> WrongCase:
    return WrongCase(f"the case takes this model for legal, the engine does not: {error}")
