"""Causes by the elements that are wrong: by their values, or by their places.

"Group", "left" and "chosen" are explained in `operator_failures`.
"""

from collections.abc import Sequence
from contextlib import suppress

from opcheck.diagnose.allowance import BEFORE_ASKING, NoTimeLeft
from opcheck.diagnose.elements import ANY_VALUE
from opcheck.diagnose.explanations import NOT_FINITE, Explanation, explanation
from opcheck.diagnose.operator_failures import NEARLY_ALL, OperatorFailures
from opcheck.diagnose.positions import explanation_by_place
from opcheck.diagnose.results import DiagnosedResult, size_of_inputs
from opcheck.diagnose.rules import FEWEST
from opcheck.diagnose.wording import PROBABLY
from opcheck.model import Diagnosis, cause_counts


def choose_by_elements(
    failures: OperatorFailures,
    group: Sequence[DiagnosedResult],
    *,
    only_all: bool,
    any_outcome: bool = True,
) -> None:
    """Choose what is given where single elements are wrong, in `chosen`, for those left.

    If `only_all`, one condition must explain all of them; unless `any_outcome`, what is given
    there must not be just wrong. Nothing is chosen for other failures than wrong values, for
    less than half of the questions left, and without time, of which a part is left to ask the
    backend if `only_all`.
    """
    left = failures.without_cause(group)
    if not left or left[0].record.failure != "values":
        return
    allowance = failures.suspects.allowance
    with suppress(NoTimeLeft), allowance.up_to(BEFORE_ASKING if only_all else 1.0):
        failing = failures.elements_of_failures(left)
        if not failing or (only_all and len(failing) < len(left)):
            return
        passing = failures.elements_of_passes()
        while failing:
            results = [result for result in left if result.case.id in failing]
            cause = explanation([*failing.values()], passing, allowance.check)
            if cause is None or (cause.outcome == ANY_VALUE and not any_outcome):
                return
            explained = [results[number] for number in sorted(cause.explained)]
            if not _is_enough(failures, cause, results, group, only_all=only_all):
                return
            counts = failures.counts_of_elements(explained, group)
            failures.choose(Diagnosis(None, f"gives {cause.text}", counts), explained)
            for result in explained:
                del failing[result.case.id]


def choose_one_for_all_elements(
    failures: OperatorFailures, group: Sequence[DiagnosedResult]
) -> None:
    """Choose what is given where, in `chosen`, for a group of which mutants explain parts.

    It must explain nearly all whose elements are known, at least half of the group, and takes
    the place of what was chosen for these. Of larger ones it is the probable cause. Nothing is
    chosen if one mutant explains nearly all, for other failures than wrong values, and without
    time, of which a part is left to ask the backend.
    """
    if group[0].record.failure != "values" or failures.has_one_cause(group):
        return
    allowance = failures.suspects.allowance
    with suppress(NoTimeLeft), allowance.up_to(BEFORE_ASKING):
        failing = failures.elements_of_failures(group)
        if len(failing) < max(FEWEST, len(group) / 2):
            return
        results = [result for result in group if result.case.id in failing]
        passing = failures.elements_of_passes()
        for explain in (explanation_by_place, explanation):
            cause = explain([*failing.values()], passing, allowance.check)
            if cause and len(cause.explained) >= NEARLY_ALL * len(results):
                explained = [results[number] for number in sorted(cause.explained)]
                counts = failures.counts_of_elements(explained, group)
                failures.choose(Diagnosis(None, f"gives {cause.text}", counts), explained)
                largest = max(map(size_of_inputs, explained))
                larger = [result for result in group if size_of_inputs(result) > largest]
                unknown = [result for result in larger if result.case.id not in failing]
                text = f"{PROBABLY}gives {cause.text}"
                counts = cause_counts(failing=len(unknown), judged=len(unknown))
                failures.choose(Diagnosis(None, text, counts), unknown)
                return


def choose_by_place(failures: OperatorFailures, group: Sequence[DiagnosedResult]) -> None:
    """Choose the place of wrong elements, in `chosen`, for those left of a group that have it.

    It must be that of more than half of the questions left, whatever the values. Nothing is
    chosen for other failures than wrong values, and without time, of which a part is left to
    ask the backend.
    """
    left = failures.without_cause(group)
    if not left or left[0].record.failure != "values":
        return
    allowance = failures.suspects.allowance
    with suppress(NoTimeLeft), allowance.up_to(BEFORE_ASKING):
        failing = failures.elements_of_failures(left)
        if 2 * len(failing) <= len(left):
            return
        passing = failures.elements_of_passes()
        cause = explanation_by_place([*failing.values()], passing, allowance.check)
        if cause is None:
            return
        results = [result for result in left if result.case.id in failing]
        explained = [results[number] for number in sorted(cause.explained)]
        if 2 * len(failures.questions_of(explained)) > len(failures.questions_of(left)):
            counts = failures.counts_of_elements(explained, group)
            failures.choose(Diagnosis(None, f"gives {cause.text}", counts), explained)


def _is_incidental(
    failures: OperatorFailures,
    cause: Explanation,
    explained: Sequence[DiagnosedResult],
    group: Sequence[DiagnosedResult],
) -> bool:
    """Return True if what the rest of a group fails by may explain a few results, too.

    That is not so if they give NaN or an infinity, as few mistakes do.
    """
    return cause.outcome not in NOT_FINITE and failures.is_of_too_few(explained, group)


def _is_enough(
    failures: OperatorFailures,
    cause: Explanation,
    results: Sequence[DiagnosedResult],
    group: Sequence[DiagnosedResult],
    *,
    only_all: bool,
) -> bool:
    """Return True if a condition on elements explains half of the questions of `results`.

    If `only_all`, it must explain all results. A condition of fewer questions is most often
    incidental: where cases fail by the place of an element, some have a NaN there. It must not
    be incidental in the whole `group`, either.
    """
    explained = [results[number] for number in sorted(cause.explained)]
    if _is_incidental(failures, cause, explained, group):
        return False
    if only_all:
        return len(explained) == len(results)
    return 2 * len(failures.questions_of(explained)) >= len(failures.questions_of(results))
