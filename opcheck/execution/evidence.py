"""From judged failures to evidence for `opcheck.diagnose`; imported when something fails."""

from collections.abc import Iterable

from opcheck.compare.verdict import UNUSABLE, Answer, Refusal
from opcheck.diagnose import Suspects
from opcheck.diagnose.evidence import Evidence, Outputs
from opcheck.engine import operator_of
from opcheck.execution.sight import node_of
from opcheck.execution.trial import Trial
from opcheck.model import Case, Outcome, Produced, Question, Raised, Record


def suspects_of(before: Suspects | None, learned: Iterable[tuple[Case, Record | None]]) -> Suspects:
    """What may be wrong with a backend, with the passes and kept failures that were `learned`."""
    found = before or Suspects(recall)
    for case, record in learned:
        if record is None:
            found.passed(case)
        elif was_looked_into(record):
            found.diagnosed(case, record.diagnoses)
    return found


def evidence(trial: Trial, asked: Question, outcome: Outcome) -> Evidence | None:
    """What is to be known of `outcome`, the wrong answer to `asked` in `trial`.

    None where no mistake of an operator can be seen in it: nobody knows the operator, runs
    contradict each other, or no answer came.
    """
    if operator_of(trial.case.op) is None:
        return None
    match outcome:
        case Raised(unusable=False, stage="prepare" | "run"):
            got: Outputs | None = None
        case Produced(unstable=None, outputs=outputs):
            got = outputs
        case _:
            return None
    return _evidence(trial, asked, got, Refusal if asked is trial.admission.twin else Answer)


def was_looked_into(record: Record) -> bool:
    """Whether there was `evidence` of a failure of which no more than the record is left."""
    if record.failure in (None, "declared", "crash", "timeout", "oom", "unstable"):
        return False
    return operator_of(record.op) is not None and not record.reason.startswith(UNUSABLE)


def recall(case: Case) -> Evidence | None:
    """What is to be known of a case that passed; None where no one answer is known to be right."""
    trial = Trial(case)
    if not case.expect.is_stated or operator_of(case.op) is None:
        return None
    try:
        if len(trial.admission.answers) != 1:
            return None
    # The legal twin of an invalid model need not be a good case itself.
    except ValueError:
        return None
    return _evidence(trial, trial.question, None, Answer)


def _evidence(
    trial: Trial, asked: Question, got: Outputs | None, kind: type[Answer | Refusal]
) -> Evidence:
    """What was asked, with the outputs of those admitted answers that are of this kind."""
    admitted = [one.wants for one in trial.admission.answers if isinstance(one, kind)]
    return Evidence(node_of(asked.task, asked.inputs), got, admitted, trial.case.tolerance)
