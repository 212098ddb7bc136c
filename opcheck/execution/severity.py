"""The judgement on a case: right, a warning, or a failure.

A wrong answer is a warning where the text only suggests the right one. The rule of a shipped case
says so, `should`. Of a case that states no rule and no answer the engine decides it: see
`opcheck.engine.suggestions`. Of both, an answer is a warning only if a suggestion admits it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from opcheck.backends.execute import Outputs
from opcheck.compare import verdict
from opcheck.compare.elements import native
from opcheck.compare.outputs import in_its_dtype
from opcheck.compare.verdict import Admitted, Judgement
from opcheck.dtypes import DType, is_real
from opcheck.engine import Node
from opcheck.engine.suggestions import Suggested, suggested
from opcheck.execution.expected import WrongCase, answers_of, node_of
from opcheck.model import Array, Case, Foreign, Outcome, Produced, Question, Verdict

#: Failures of outputs that a suggestion may admit.
_OF_ADMITTED = ("values", "shape")


def judge_case(
    case: Case,
    admitted: Sequence[Admitted],
    outcome: Outcome,
    node: Callable[[], Node],
    *,
    like: Array | None = None,
    declared: Collection[str] = (),
    twin: Outcome | None = None,
) -> Judgement:
    """Return the judgement on an outcome of a case; this alone decides between warning and failure.

    node: makes the node of the case; it is asked only where the text may be vague.

    `like`, `declared` and `twin` as in `verdict.judge`. Of a case without a rule of its own, a
    failure is a warning if a suggestion admits the answer. Of a shipped `should` case, a warning is
    a failure if suggestions are known and none admits the answer. Raises ValueError for a tolerance
    that makes no sense, what `node` raises, and what a formula raises for a bound.
    """
    judgement = verdict.judge(
        case.rule,
        admitted,
        outcome,
        tolerance=case.tolerance,
        like=like,
        declared=declared,
        twin=twin,
    )
    is_wrong = judgement.verdict in (Verdict.FAIL, Verdict.ERROR)
    if is_wrong and case.leaves_rule_to_engine:
        return _eased_if_suggested(case, judgement, outcome, admitted, suggested(node()))
    is_shipped_should = case.source.shipped and case.rule == "should"
    is_suspect = judgement.verdict is Verdict.WARN and judgement.failure in _OF_ADMITTED
    if is_suspect and is_shipped_should:
        return _failed_unless_suggested(case, judgement, outcome, admitted, suggested(node()))
    return judgement


def _eased_if_suggested(
    case: Case,
    judgement: Judgement,
    outcome: Outcome,
    admitted: Sequence[Admitted],
    vague: Suggested | None,
) -> Judgement:
    """Return a failure as a warning, if nothing but what the text suggests is wrong.

    An output of another shape is a warning where the node as a whole is only suggested, and such an
    answer is admitted; a refusal also where the node may be refused. The reason names the
    suggestions that are needed to admit the answer, and no others. Raises what a formula raises for
    a bound.
    """
    if vague is None:
        return judgement
    if judgement.failure == "raised":
        needed = vague.about_refusals()
    elif _covers(vague, case, judgement, outcome, admitted):
        needed = _needed(vague, case, judgement, outcome, admitted)
    else:
        return judgement
    if needed is None:
        return judgement
    why = "; ".join(f"{each.text} ({each.id})" for each in needed.suggestions)
    reason = f"{judgement.reason}; the text only suggests the right answer: {why}"
    return replace(judgement, verdict=Verdict.WARN, reason=reason)


def _needed(
    vague: Suggested,
    case: Case,
    judgement: Judgement,
    outcome: Outcome,
    admitted: Sequence[Admitted],
) -> Suggested:
    """Return the suggestions without those that are not needed to admit wrong outputs.

    Of several that admit the same, the first is kept. Raises what a formula raises for a bound.
    """
    for suggestion in reversed(vague.suggestions):
        fewer = vague.without(suggestion)
        if fewer is not None and _covers(fewer, case, judgement, outcome, admitted):
            vague = fewer
    return vague


def _failed_unless_suggested(
    case: Case,
    judgement: Judgement,
    outcome: Outcome,
    admitted: Sequence[Admitted],
    vague: Suggested | None,
) -> Judgement:
    """Return the warning of a shipped `should` case as a failure, if no suggestion admits it.

    One of a node of which the engine has no suggestion is returned as it is. Raises what a formula
    raises for a bound.
    """
    if vague is None or _covers(vague, case, judgement, outcome, admitted):
        return judgement
    why = ", ".join(each.id for each in vague.suggestions)
    reason = f"{judgement.reason}; the text only suggests the right answer, but not this one: {why}"
    return replace(judgement, verdict=Verdict.FAIL, reason=reason)


def _covers(
    vague: Suggested,
    case: Case,
    judgement: Judgement,
    outcome: Outcome,
    admitted: Sequence[Admitted],
) -> bool:
    """Return True if suggestions admit wrong outputs; raises what a formula raises for a bound."""
    if judgement.failure not in _OF_ADMITTED or not isinstance(outcome, Produced):
        return False
    if _is_admitted(case, outcome, vague):
        return True
    return judgement.failure == "values" and _is_right_elsewhere(case, outcome, admitted, vague)


def _is_admitted(case: Case, outcome: Produced, suggested: Suggested) -> bool:
    """Return True if a suggestion about the node as a whole admits the outputs of each run."""
    runs = [outcome.outputs] if outcome.again is None else [outcome.outputs, outcome.again]
    tensors = [_tensors(outputs) for outputs in runs]
    if all(arrays is not None and suggested.accepts(arrays) for arrays in tensors):
        return True
    own = [output.dtype for output in suggested.subject.outputs]
    if any(arrays is None or [x.dtype for x in arrays] != own for arrays in tensors):
        return False
    return any(_is_right_answer_of(case, outcome, node) for node in suggested.other_nodes())


def _tensors(outputs: Outputs) -> list[Array] | None:
    """Return outputs in the machine's byte order, None if one is not a tensor."""
    if any(isinstance(output, Foreign) for output in outputs):
        return None
    return [native(np.asarray(output)) for output in outputs]


def _is_right_answer_of(case: Case, outcome: Produced, node: Node) -> bool:
    """Return True if outputs, in the types that another node gives, are a right answer of it.

    False if that node is illegal, or has no answer.
    """
    try:
        answers = answers_of(case, node)
    except (WrongCase, MemoryError):
        return False
    for answer in answers:
        if not isinstance(answer, verdict.Answer):
            continue
        types = [want.dtype for want in answer.wants]
        outputs = _in_types(outcome.outputs, types)
        again = None if outcome.again is None else _in_types(outcome.again, types)
        converted = replace(outcome, outputs=outputs, again=again)
        if verdict.is_right(verdict.judge("must", [answer], converted, tolerance=None)):
            return True
    return False


def _in_types(outputs: Outputs, types: Sequence[DType | None]) -> Outputs:
    """Return floats in other types of floats, rounded to them; others as they are."""
    converted = []
    for output, dtype in zip(outputs, types, strict=True):
        if not isinstance(output, Foreign) and is_real(output) and dtype is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                output = output.astype(dtype.numpy)
        converted.append(output)
    return tuple(converted)


def _is_right_elsewhere(
    case: Case, outcome: Produced, admitted: Sequence[Admitted], suggested: Suggested
) -> bool:
    """Return True if outputs are an admitted answer but for elements that are excused.

    Poorer arithmetic is right. Raises what a formula raises for a bound.
    """
    for answer in admitted:
        if not isinstance(answer, verdict.Answer):
            continue
        right = [in_its_dtype(want) for want in answer.wants]
        mended = _mended(outcome.outputs, right, suggested)
        again = None if outcome.again is None else _mended(outcome.again, right, suggested)
        if mended is None or (again is None) != (outcome.again is None):
            continue
        judgement = verdict.judge(
            "must", admitted, replace(outcome, outputs=mended, again=again), case.tolerance
        )
        if verdict.is_right(judgement):
            return True
    return False


def _mended(outputs: Outputs, right: Sequence[Array], suggested: Suggested) -> Outputs | None:
    """Return outputs with the right elements in place of those that are excused.

    None if an output is no tensor, or of another number, shape or type than the right one.
    """
    engine_outputs = suggested.subject.outputs
    if not len(outputs) == len(right) == len(engine_outputs):
        return None
    mended = []
    for n, (output, want, own) in enumerate(zip(outputs, right, engine_outputs, strict=True)):
        if isinstance(output, Foreign):
            return None
        if not output.shape == want.shape == own.shape or output.dtype != want.dtype:
            return None
        mended.append(np.where(suggested.excused(n, output), want, output))
    return tuple(mended)


def is_only_suggested(case: Case, question: Question) -> bool:
    """Return True for a case without a rule of its own of which the text states nothing.

    Raises UsageError if a file of a model's weights has changed.
    """
    if not case.leaves_rule_to_engine:
        return False
    vague = suggested(node_of(question.task, question.inputs))
    return vague is not None and vague.covers_everything
