"""Ask a backend about other cases than those of its run, to find out why some fail.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong.
"""

from collections.abc import Callable

from opcheck.compare.verdict import Answer
from opcheck.execution import workers
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.workers import AskableBackend
from opcheck.model import Case, LiveResult


def ask_again(
    case: Case, backend: AskableBackend, meanwhile: Callable[[], None]
) -> LiveResult | None:
    """Return the result of a backend on a case; None if the text does not decide its answer.

    The backend is asked as in a run, with its limits, and not at all about a case whose answer is
    open, or that is illegal. Engine or case state the answer, no oracle. `meanwhile` is called
    again and again while replies are awaited. Raises what it raises, OracleUnavailable for a case
    that names an oracle, BackendUnavailable if the backend cannot answer any more, Defect if
    opcheck's own part of an adapter fails, UsageError if a file of a model's weights has changed,
    and NotSupported where a bound takes more than opcheck computes; what was asked is given up
    then.
    """
    evaluation = CaseEvaluation(case)
    if not _is_decided(evaluation):
        return None
    try:
        (evaluated,) = workers.answers([(backend, evaluation.judge(backend.info))], meanwhile)
    except BaseException:
        backend.forget()  # or the reply would be taken for that to the next question
        raise
    return evaluated.result


def _is_decided(evaluation: CaseEvaluation) -> bool:
    """Return True if the text admits a single answer to a case, with outputs.

    False for a refusal, for several answers, also if they differ in some elements only, for a case
    that compares backends, and for one that is illegal, open, too large, or would test nothing.
    Raises OracleUnavailable for a case that names an oracle, UsageError if a file of a model's
    weights has changed, and NotSupported if the bound of a stated answer takes more than opcheck
    computes.
    """
    try:
        answers = evaluation.accepted_answers
    except (ValueError, MemoryError):  # illegal, open, too large, or it would test nothing
        return False
    if len(answers) != 1 or not isinstance(answers[0], Answer):
        return False
    return not any(want.others for want in answers[0].wants)
