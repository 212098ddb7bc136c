"""Where a wrong answer is a warning because the text only suggests the right one.

The rule of a shipped case says so, `should`. Of a case that states no rule and no answer the engine
decides it: see `opcheck.engine.suggestions`. Of both, an answer is a warning only if a suggestion
admits it.
"""

from collections.abc import Callable, Sequence
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


def eased_if_suggested(
    case: Case,
    judgement: Judgement,
    outcome: Outcome,
    admitted: Sequence[Admitted],
    node: Callable[[], Node],
) -> Judgement:
    """Return a failure as a warning, if nothing but what the text suggests is wrong.

    node: makes the node of the case; it is asked of a failure alone.

    A judgement that is no failure is returned as it is, and so is any of a case that states its own
    rule or tolerance. An output of another shape is a warning where the node as a whole is only
    suggested, and such an answer is admitted; a refusal also where the node may be refused. Raises
    what `node` raises, and what a formula raises for a bound.
    """
    if judgement.verdict not in (Verdict.FAIL, Verdict.ERROR) or not case.leaves_rule_to_engine:
        return judgement
    vague = suggested(node())
    if vague is None:
        return judgement
    if judgement.failure == "raised":
        is_covered = vague.may_be_refused
    else:
        is_covered = _covers(vague, case, judgement, outcome, admitted)
    if not is_covered:
        return judgement
    why = "; ".join(f"{each.text} ({each.id})" for each in vague.suggestions)
    reason = f"{judgement.reason}; the text only suggests the right answer: {why}"
    return replace(judgement, verdict=Verdict.WARN, reason=reason)


def failed_unless_suggested(
    case: Case,
    judgement: Judgement,
    outcome: Outcome,
    admitted: Sequence[Admitted],
    node: Callable[[], Node],
) -> Judgement:
    """Return the warning of a shipped `should` case as a failure, if no suggestion admits it.

    node: makes the node of the case; it is asked of a warning alone.

    Other judgements are returned as they are, and so is one of a node of which the engine has no
    suggestion. Raises what `node` raises, and what a formula raises for a bound.
    """
    is_shipped_should = case.source.shipped and case.rule == "should"
    if not is_shipped_should or judgement.verdict is not Verdict.WARN:
        return judgement
    if judgement.failure not in _OF_ADMITTED:
        return judgement
    vague = suggested(node())
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
