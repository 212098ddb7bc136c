"""From a case to the tests that are written of it: each a question with its right answers."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from opcheck import model
from opcheck.compare import Want, compare_outputs
from opcheck.compare.outputs import in_its_dtype
from opcheck.compare.verdict import Answer, Refusal, what_is_wrong
from opcheck.engine import any_order
from opcheck.errors import InvalidNode
from opcheck.execution.expected import accepted_answers, computed, question
from opcheck.execution.golden.oracles import Disagreement, Ends, NodeOutputs, ends, outputs
from opcheck.model import Array, Case, Question, Task, TensorSpec, Tolerance
from opcheck.suite.golden_manifest import LeftOut, ManifestMethod

#: The folders that tests lie in; see the package's docstring.
AnswerKind: TypeAlias = Literal["must", "should", "open", "rejected"]
#: Why there may be no answer to other data, or to a legal twin.
_NO_ANSWER = (ValueError, InvalidNode, MemoryError)
#: Why there is none of a node whose elements may be returned in another order.
_ANY_ORDER = "its outputs may come in any order, and a stored tensor has one"


@dataclass(frozen=True, eq=False)
class ComputedDataSet:
    """Inputs of fills with `seed` added, and right outputs; none if the model is to be refused."""

    seed: int
    inputs: tuple[Array, ...]
    outputs: tuple[Ends, ...]
    method: ManifestMethod | None


@dataclass(frozen=True, eq=False)
class Test:
    """A model with its data."""

    name: str
    kind: AnswerKind
    task: Task
    tolerance: Tolerance | None
    #: True if the tolerance differs from element to element.
    bound: bool
    data_sets: tuple[ComputedDataSet, ...]
    #: Name of one of the answers of an undecided text.
    alternative: str = ""
    legal_twin: bool = False
    #: Why the model is to be refused, "" if it has answers.
    reason: str = ""
    #: The ranks of the outputs, of a model to be refused those of its legal twin; () if unknown.
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Made:
    """Contents of a case's folder; `fixed` is why it has one data set only."""

    tests: tuple[Test, ...]
    left_out: tuple[LeftOut, ...]
    fixed: str = ""


def made_of(case: Case, data_sets: int = 1) -> Made:
    """The tests of `case`; one that contradicts itself or the oracle is left out as `wrong`."""
    try:
        asked = question(case)
        match case.expect:
            case model.Rejected(reason, legal):
                return _rejected(case, asked, reason, legal)
            case model.Oracle() | model.Agreement():
                message = "what must come out is what backends answer, which nobody vouches for"
                return Made((), (LeftOut(case.id, "the case", message),))
            case _ if any_order(case.op, case.attrs) is not None:
                return Made((), (LeftOut(case.id, "the case", _ANY_ORDER),))
            case model.AnyOf():
                return Made(tuple(_alternatives(case, asked)), (), "its text is undecided")
            case _:
                return _answered(case, asked, data_sets)
    except (ValueError, MemoryError) as error:
        message = str(error) or "it takes too much memory"
    except InvalidNode as error:
        message = f"the case takes this model for legal, the oracle does not: {error}"
    return Made((), (LeftOut(case.id, "the case", message, wrong=True),))


def _answered(case: Case, asked: Question, data_sets: int) -> Made:
    (answer,) = accepted_answers(case, asked)
    assert isinstance(answer, Answer)
    found = outputs(asked.task, asked.inputs)
    if found is not None and not isinstance(case.expect, model.Computed):
        for comparison in compare_outputs(answer.wants, found.arrays, case.tolerance):
            if comparison.problem not in (None, "undecided"):
                message = what_is_wrong(comparison)
                for worst in comparison.worst[:1]:
                    message += f"; at {list(worst.index)} the case says {worst.want!r}, the oracle"
                    message += f" {worst.got!r} (allowed: {worst.allowed})"
                raise Disagreement(f"the case and the oracle contradict each other: {message}")
    sets = [_data_set(0, asked, answer.wants, found, case.tolerance)]
    fixed = "" if any(map(_is_random, case.inputs)) else "nothing in its inputs is random"
    if not isinstance(case.expect, model.Computed):
        fixed = "its answer is written out"
    left: list[LeftOut] = []
    for seed in range(1, 1 if fixed else data_sets):
        inputs = (
            replace(spec, content=replace(spec.content, seed=spec.content.seed + seed))
            if isinstance(spec.content, model.Fill) and _is_random(spec)
            else spec
            for spec in case.inputs
        )
        other = replace(case, inputs=tuple(inputs))
        try:
            sets.append(_computed_set(other, question(other), seed))
        except _NO_ANSWER as error:
            left.append(LeftOut(case.id, f"data set {seed}", str(error)))
    kind: AnswerKind = "should" if case.rule == "should" else "must"
    return Made((_test(case.id, kind, asked.task, case, sets),), tuple(left), fixed)


def _test(name: str, kind: AnswerKind, task: Task, case: Case, sets: list[ComputedDataSet]) -> Test:
    bound = case.tolerance is None and any(
        one.lowest is not one.written for data in sets for one in data.outputs
    )
    ranks = tuple(one.written.ndim for one in sets[0].outputs)
    return Test(name, kind, task, case.tolerance, bound, tuple(sets), ranks=ranks)


def _is_random(spec: TensorSpec) -> bool:
    fill, random = spec.content, ("uniform", "normal", "integers", "choice", "permutation")
    return isinstance(fill, model.Fill) and fill.kind in random and not spec.initializer


def _computed_set(case: Case, asked: Question, seed: int = 0) -> ComputedDataSet:
    """The data set whose answer opcheck computes; raises one of `_NO_ANSWER`."""
    found = outputs(asked.task, asked.inputs)
    if found is None:
        raise ValueError("opcheck lacks the operator")
    return _data_set(seed, asked, computed(case, asked, asked.inputs), found, case.tolerance)


def _data_set(
    seed: int,
    asked: Question,
    wants: Sequence[Want],
    found: NodeOutputs | None,
    tolerance: Tolerance | None,
) -> ComputedDataSet:
    """The data set with the outputs `found`, or else those that the case states."""
    found = found or NodeOutputs(tuple(map(in_its_dtype, wants)), "stated")
    pairs = zip(wants, found.arrays, strict=True)
    around = tuple(ends(want, array, tolerance) for want, array in pairs)
    return ComputedDataSet(seed, asked.inputs, around, found.method)


def _rejected(case: Case, asked: Question, reason: str, legal: Case) -> Made:
    accepted_answers(case, asked)
    with suppress(InvalidNode):
        if outputs(asked.task, asked.inputs) is not None:
            raise Disagreement("the case takes this model for invalid, the oracle accepts it")
    unanswered = ComputedDataSet(0, asked.inputs, (), None)
    refused = replace(_test(case.id, "rejected", asked.task, case, [unanswered]), reason=reason)
    try:
        twin = question(legal)
        data = _computed_set(legal, twin)
        if any_order(legal.op, legal.attrs) is not None:
            raise ValueError(_ANY_ORDER)
    except _NO_ANSWER as error:
        wrong = isinstance(error, Disagreement | InvalidNode)
        left = LeftOut(case.id, "its legal twin", str(error), wrong)
        return Made((refused,), (left,), "its model is to be refused")
    kind: AnswerKind = "should" if case.rule == "should" else "must"
    accepted = _test(twin.task.case, kind, twin.task, legal, [data])
    if [len(one.shape) for one in case.inputs] == [len(one.shape) for one in legal.inputs]:
        refused = replace(refused, ranks=accepted.ranks)
    return Made((refused, replace(accepted, legal_twin=True)), (), "its model is to be refused")


def _alternatives(case: Case, asked: Question) -> Iterator[Test]:
    """Each of the answers that an undecided text admits, as its author stated it."""
    assert isinstance(case.expect, model.AnyOf)
    pairs = zip(case.expect.alternatives, accepted_answers(case, asked), strict=True)
    for alternative, admitted in pairs:
        match admitted:
            case Refusal(reason):
                data = ComputedDataSet(0, asked.inputs, (), None)
            case Answer(wants):
                is_computed = isinstance(alternative.expect, model.Computed)
                found = outputs(asked.task, asked.inputs) if is_computed else None
                data, reason = _data_set(0, asked, wants, found, case.tolerance), ""
        test = _test(f"{case.id}~{alternative.name}", "open", asked.task, case, [data])
        yield replace(test, alternative=alternative.name, reason=reason)
