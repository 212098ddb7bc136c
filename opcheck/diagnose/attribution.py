"""Attribute the failures of a backend to causes, once all its results are there.

A mutant that any pass contradicts is dropped (`mutant_causes`). Failures that no mutant explains
are explained by facts that their cases share and others do not (`condition_causes`), by their wrong
elements (`element_causes`) and otherwise (`other_causes`). This module says in which order.

What looks at the passes raises what recalling one raises (`Suspects`), such as MemoryError.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from opcheck import interrupt
from opcheck.analysis import UNJUDGED
from opcheck.diagnose.asking import Ask
from opcheck.diagnose.condition_causes import (
    choose_every_case,
    choose_facts_needed_together,
    choose_one_fact_for_all,
    choose_one_for_all_ways,
    choose_one_property_for_all,
    choose_proven_property,
    choose_type_of_all,
)
from opcheck.diagnose.element_causes import (
    choose_by_elements,
    choose_by_place,
    choose_one_for_all_elements,
)
from opcheck.diagnose.mutant_causes import (
    choose_mutants_under_conditions,
    choose_mutants_where_legal,
    choose_telling_mutant,
    cover_group,
    try_chosen_mutants,
)
from opcheck.diagnose.operator_failures import OperatorFailures
from opcheck.diagnose.other_causes import (
    choose_causes_of_smaller_ones,
    choose_contradictions,
    choose_patterns,
    note_what_is_known,
)
from opcheck.diagnose.results import WITH_MESSAGE, DiagnosedResult
from opcheck.diagnose.suspects import Suspects
from opcheck.diagnose.wording import exceptions_in_words
from opcheck.model import Diagnosis, Failure, Verdict


def _count_nothing() -> None:
    """Do nothing: a search whose progress is not shown."""


def attribute_causes(
    results: Sequence[DiagnosedResult],
    suspects: Suspects,
    searched: Callable[[], None] = _count_nothing,
    ask: Ask | None = None,
) -> dict[str, tuple[Diagnosis, ...]]:
    """Return the final diagnoses of each case that is to be explained, by its id, its cause first.

    The cases are the unexplained failures among `results`, all of one backend, whose failures and
    passes `suspects` has met; those without a verdict on them are left out. A case whose cause is
    not found has its remarks alone, and () without any. Calls `searched` twice for each, to show
    progress. Conditions are told apart by what `ask` returns for changed cases; None for a backend
    that cannot be asked. Unrecognized failures that were not compared with every mutant, for want
    of time, are in `suspects.untried`. Raises KeyboardInterrupt if the user interrupts it, and what
    `ask` raises.
    """
    with suspects.allowance.searching():
        return _attributed(results, suspects, searched, ask)


def _attributed(
    results: Sequence[DiagnosedResult],
    suspects: Suspects,
    searched: Callable[[], None],
    ask: Ask | None,
) -> dict[str, tuple[Diagnosis, ...]]:
    """Return the final diagnoses of each unexplained failure, by its case's id, its cause first.

    The caller has begun to count the time (`suspects.allowance`). Results without a verdict on them
    are left out. Each operator is explained by itself; how many cases a mutant explains counts over
    all of them. Cases whose mutant was found are taken out of `suspects.untried`. Calls `searched`
    twice for each failure; `ask` is None for a backend that cannot be asked. A case whose cause is
    not found has its remarks alone, and () without any. Raises KeyboardInterrupt if the user
    interrupts it, and what `ask` raises.
    """
    unjudged = (*UNJUDGED, Verdict.DIFFER)
    judged = [result for result in results if result.record.verdict not in unjudged]
    by_operator: dict[tuple[str, str], list[DiagnosedResult]] = defaultdict(list)
    for result in judged:
        by_operator[result.case.op.domain, result.case.op.name].append(result)
    exceptions = exceptions_in_words(judged)
    operators = [
        OperatorFailures(of_operator, suspects, exceptions, searched, ask)
        for of_operator in by_operator.values()
        if any(result.unexplained for result in of_operator)
    ]
    # The number of cases that each mutant explains, of all operators.
    standing: Counter[str] = Counter()
    for operator in operators:
        for mutants in operator.uncontradicted.values():
            standing.update(mutants)
    diagnoses: dict[str, tuple[Diagnosis, ...]] = {}
    for operator in operators:
        interrupt.safe_place()
        diagnoses.update(_explained(operator, standing))
    suspects.untried -= {
        case
        for case, of_case in diagnoses.items()
        if any(diagnosis.mistake for diagnosis in of_case)
    }
    return diagnoses


def _explained(
    failures: OperatorFailures, standing: Counter[str]
) -> Iterator[tuple[str, tuple[Diagnosis, ...]]]:
    """Yield the id of each failing case with its diagnoses: its cause, then mutants that fit.

    Causes are chosen in turns; the first that a case gets stays, but for one that explains all in
    place of several (3). `standing`, the number of cases by mutant over all operators, breaks ties.
    All causes are chosen before the first item comes. Raises KeyboardInterrupt if the user
    interrupts it, and what `ask` raises.
    """
    by_failure: dict[Failure | None, list[DiagnosedResult]] = defaultdict(list)
    by_message: dict[tuple[Failure | None, str], list[DiagnosedResult]] = defaultdict(list)
    for result in failures.failing:
        by_failure[result.record.failure].append(result)
        by_message[result.record.failure, result.message].append(result)
    # 1. Contradictions have causes of their own.
    choose_contradictions(failures, by_failure.get("unstable", []))
    # 2. One mutant for one message; a rule only if the messages distinguish causes.
    for (failure, _), group in by_message.items():
        failures.ask_about_refusals(group)
        cover_group(failures, group, standing, with_rules=failure in WITH_MESSAGE)
    # 3. Mutants that explain other failures, also in pairs.
    try_chosen_mutants(failures)
    # One cause of all is likelier than several that explain parts.
    for group in by_failure.values():
        choose_one_for_all_elements(failures, group)
        choose_one_fact_for_all(failures, group)
    choose_one_for_all_ways(failures, by_failure)
    # 4. One mutant for several messages, or one that passes contradict, but not in such cases.
    for group in by_failure.values():
        cover_group(failures, group, standing, with_rules=False)
        choose_mutants_where_legal(failures, group, standing, beside_chosen=False)
        choose_by_elements(failures, group, only_all=True, any_outcome=False)
        choose_by_place(failures, group)
        choose_one_property_for_all(failures, group, beside_mutants=False)
        # An exception has no values: what refuses under a condition is the condition.
        if group[0].record.failure != "raised":
            choose_mutants_under_conditions(failures, group)
        choose_mutants_where_legal(failures, group, standing, beside_chosen=True)
        choose_one_property_for_all(failures, group, beside_mutants=True)
        choose_by_elements(failures, group, only_all=True)
    # 5. Rules, for one message before those for several.
    for group in (*by_message.values(), *by_failure.values()):
        cover_group(failures, group, standing, with_rules=True)
    for group in by_failure.values():
        choose_facts_needed_together(failures, group)
        choose_proven_property(failures, group)
        choose_by_elements(failures, group, only_all=False)
        choose_type_of_all(failures, group)
    # 6. Mutants for refusals that only other kernels contradict.
    for result in failures.without_cause(failures.failing):
        failures.uncontradicted[result.case.id] = failures.find_uncontradicted(
            result, everywhere=False
        )
    for group in by_message.values():
        cover_group(failures, group, standing, with_rules=False)
    # 7. Patterns of the numbers.
    choose_patterns(failures)
    # 8. What mutants were not tried on, as it is too large.
    choose_causes_of_smaller_ones(failures)
    # 9. That all are wrong says less than any pattern.
    choose_every_case(failures, by_failure.get("values", []))
    # 10. A mistake of many elements, though the passes that contradict it have no property.
    for group in by_failure.values():
        choose_telling_mutant(failures, group)
    # 11. What is known of those without a cause.
    for group in by_failure.values():
        note_what_is_known(failures, failures.without_cause(group))
    for result in failures.failing:
        failures.searched()
        yield result.case.id, failures.diagnoses_of(result)
