"""From judged failures to evidence for `opcheck.diagnose`; imported when something fails."""

from collections.abc import Iterable
from contextlib import suppress

from opcheck.compare.verdict import UNUSABLE, Admitted, Answer, Refusal
from opcheck.diagnose import Suspects
from opcheck.diagnose.suspects import Evidence, OutputSequence
from opcheck.engine import operator_of
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import legal_twin, node_of
from opcheck.model import LOSSES, Case, Outcome, Produced, Question, Raised, Record


def suspects_of(before: Suspects | None, learned: Iterable[tuple[Case, Record | None]]) -> Suspects:
    """Return the suspects of a backend, after the passes and failures that were `learned`."""
    found = before or Suspects(recall)
    for case, record in learned:
        if record is None:
            found.passed(case)
        elif was_looked_into(record):
            found.diagnosed(case, record.diagnoses)
    return found


def evidence(evaluation: CaseEvaluation, is_twin: bool, outcome: Outcome) -> Evidence | None:
    """Return the evidence in a wrong `outcome`, if the engine knows the operator.

    It is that of the case's question, or of its legal twin if `is_twin`.
    """
    if operator_of(evaluation.case.op) is None:
        return None
    match outcome:
        case Raised(unusable=False, stage="prepare" | "run"):
            got: OutputSequence | None = None
        case Produced(unstable=None, outputs=outputs):
            got = outputs
        case _:
            return None
    twin = legal_twin(evaluation.accepted_answers) if is_twin else None
    return _evidence(evaluation, twin or evaluation.question, got, Refusal if twin else Answer)


def was_looked_into(record: Record) -> bool:
    """Return True if a failure had `evidence`, by its record alone."""
    if record.failure in (None, "declared", "unstable", *LOSSES):
        return False
    return operator_of(record.op) is not None and not record.reason.startswith(UNUSABLE)


def recall(case: Case) -> Evidence | None:
    """Return the evidence of a pass; None where no single answer is known to be right."""
    if not case.expect.is_stated or operator_of(case.op) is None:
        return None
    evaluation = CaseEvaluation(case)
    # The legal twin of an invalid model need not be a good case itself.
    with suppress(ValueError):
        if len(evaluation.accepted_answers) == 1:
            return _evidence(evaluation, evaluation.question, None, Answer)
    return None


def _evidence(
    evaluation: CaseEvaluation, asked: Question, got: OutputSequence | None, kind: type[Admitted]
) -> Evidence:
    """Return the question with the outputs of all accepted answers of this kind."""
    admitted = [one.wants for one in evaluation.accepted_answers if isinstance(one, kind)]
    node = evaluation.node if kind is Answer else node_of(asked.task, asked.inputs)
    return Evidence(node, got, admitted, evaluation.case.tolerance)
