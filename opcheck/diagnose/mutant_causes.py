"""Causes that are mutants: those that give the answers, and that no pass contradicts.

One that passes contradict needs a condition under which it shows. "Group", "left" and "chosen" are
explained in `operator_failures`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from opcheck import interrupt
from opcheck.diagnose.allowance import BEFORE_ASKING, NoTimeLeft
from opcheck.diagnose.condition_causes import rule_of_group
from opcheck.diagnose.operator_failures import ENOUGH, SHOW_LITTLE, OperatorFailures
from opcheck.diagnose.results import OF_OUTPUTS, WITHOUT_ANSWER, DiagnosedResult
from opcheck.diagnose.rules import FEWEST, Condition, rule
from opcheck.diagnose.suspects import as_diagnosis
from opcheck.engine.mutants import Mutant
from opcheck.model import Case, Diagnosis


def _is_about_attribute_of(mutant: Mutant, condition: Condition) -> bool:
    """Return True if the text of a mutant has the name of an attribute of a condition."""
    words = {*re.findall(r"\w+", mutant.text)}
    return not words.isdisjoint(re.findall(r"`(\w+)`", condition.text))


def choose_mutants_where_legal(
    failures: OperatorFailures,
    group: Sequence[DiagnosedResult],
    standing: Counter[str],
    *,
    beside_chosen: bool,
) -> None:
    """Choose mutants that only such passes contradict as they would refuse, in `chosen`.

    What a backend makes of a node that it has misread to an illegal one is not known. Passes of
    all kernels contradict them. Unless `beside_chosen`, nothing is chosen for what a mutant
    fits that is the cause of others of the group: a condition of that one is likelier. Nothing
    is chosen for exceptions, which show no misreading, for accepted invalid models, and where
    likelier mutants were not tried for want of time. For all others without a cause,
    `uncontradicted` has these mutants then. The group is not empty, and fails in one way.
    """
    if group[0].record.failure in (*WITHOUT_ANSWER, "accepted"):
        return
    untried = failures.suspects.untried
    left = [result for result in failures.without_cause(group) if result.case.id not in untried]
    if not beside_chosen:
        causes = (failures.chosen.get(result.case.id) for result in group)
        known = {cause.mistake for cause in causes if cause}
        left = [result for result in left if known.isdisjoint(failures.fitting[result.case.id])]
    for result in left:
        failures.uncontradicted[result.case.id] = failures.uncontradicted_in(
            failures.cells, result, where_legal=True
        )
    cover_group(failures, left, standing, with_rules=False)


def choose_telling_mutant(failures: OperatorFailures, group: Sequence[DiagnosedResult]) -> None:
    """Choose the mutant that gives all of a group without a cause, in `chosen`, if it can be.

    All of the group must be without a cause, and have many wrong elements that the mutant gives
    exactly: that is no chance. Passes contradict it, so that it must have a condition, which is
    not known: the counts have these passes. Nothing is chosen without time, and for failures
    without values.
    """
    left = failures.without_cause(group)
    if len(left) < len(group) or group[0].record.failure not in OF_OUTPUTS:
        return
    op = left[0].case.op
    for name, mutant in failures.fitting[left[0].case.id].items():
        if name in SHOW_LITTLE or not failures.suspects.has_many_elements(op, name):
            continue
        if all(name in failures.fitting[result.case.id] for result in left):
            with suppress(NoTimeLeft):
                contradicting = failures.against(mutant, of_legal=True)
                counts = failures.counts_with_exceptions(contradicting, left, group)
                failures.choose(Diagnosis(name, as_diagnosis(mutant).text, counts), left)
            return


def cover_group(
    failures: OperatorFailures,
    group: Sequence[DiagnosedResult],
    standing: Counter[str],
    *,
    with_rules: bool,
) -> None:
    """Choose causes of a group's results, in `chosen`, that which explains most first.

    Candidates are mutants that no pass contradicts, unless they may fit by chance, as
    `_best_mutant` has it. If `with_rules`, a rule (a condition that no other case meets) that
    explains more is a candidate too; the backend is asked about it first. `standing`, the
    number of cases that each mutant explains over all operators, breaks ties. A result that no
    candidate explains stays without a cause. The group fails in one way. If it asks, raises
    KeyboardInterrupt and what `ask` raises.
    """
    while True:
        left = failures.without_cause(group)
        if not left:
            return
        best, explained = _best_mutant(failures, left, standing, group)
        rule = None
        if with_rules and len(explained) < len(left):
            failures.ask_about(left, group)
            rule = rule_of_group(failures, left, group)
        if rule and len(rule[1]) > len(explained):
            diagnosis, by_rule = rule
            failures.choose(diagnosis, by_rule)
        elif explained:
            mutant = failures.fitting[explained[0].case.id][best]
            diagnosis = as_diagnosis(mutant)
            bases = failures.facts.bits(result.subject for result in explained)
            diagnosis = replace(diagnosis, asked=failures.inquiry.cures(bases))
            failures.choose_mutant(diagnosis, explained)
        else:
            return


def _best_mutant(
    failures: OperatorFailures,
    left: Sequence[DiagnosedResult],
    standing: Counter[str],
    group: Sequence[DiagnosedResult],
) -> tuple[str, list[DiagnosedResult]]:
    """Return the name of the mutant that explains the most of those left, and these results.

    "" and no result if none explains any, or each may fit by chance: if what it explains are
    fewer than three exceptions, or fewer than three questions and fewer than a quarter of the
    questions left, or of the whole group if the answers are of a few values. All types and
    versions of a case are one question. Ties go to the mutant with the larger `standing`, the
    number of cases that it explains over all operators, then to the one found earlier.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for result in left:
        for place, name in enumerate(failures.uncontradicted[result.case.id]):
            places[name].append(place)

    def weight(name: str) -> tuple[int, int, int]:
        """Return what is largest for the best mutant; of equal ones, for the earliest found."""
        return len(places[name]), standing[name], -sum(places[name])

    for best in sorted(places, key=weight, reverse=True):
        explained = [result for result in left if best in failures.uncontradicted[result.case.id]]
        # An exception says more than a mutant that may fit it by chance.
        is_raised = explained[0].record.failure == "raised"
        is_little = is_raised and len(explained) < FEWEST
        is_little |= not is_raised and _is_little_of(failures, group, explained, best)
        if not is_little and not failures.may_fit_by_chance(explained, left):
            return best, explained
    return "", []


def _is_little_of(
    failures: OperatorFailures,
    group: Sequence[DiagnosedResult],
    explained: Sequence[DiagnosedResult],
    mutant: str,
) -> bool:
    """Return True if a mutant explains too little of a group, by answers of a few values."""
    op = explained[0].case.op
    return failures.may_fit_by_chance(explained, group) and not failures.suspects.is_telling(
        op, mutant
    )


def try_chosen_mutants(failures: OperatorFailures) -> None:
    """Try the mutants that explain other failures, and pairs of them, on the rest.

    Adds those that fit, or else any mutants that do, to `fitting`, and to `uncontradicted` if
    no pass contradicts them. Failures that there is no time for are noted in
    `suspects.untried`: a part of it is left to ask the backend. Raises KeyboardInterrupt if the
    user interrupts it.
    """
    chosen = {diagnosis.mistake for diagnosis in failures.chosen.values()}
    known: dict[str, Mutant] = {}
    for fitting in failures.fitting.values():
        known.update((name, mutant) for name, mutant in fitting.items() if name in chosen)
    for result in failures.without_cause(failures.tried):
        interrupt.safe_place()
        try:
            with failures.suspects.allowance.up_to(BEFORE_ASKING):
                fits = failures.suspects.refit(result.case, [*known.values()])
        except NoTimeLeft:
            failures.suspects.untried.add(result.case.id)
            continue
        failures.fitting[result.case.id].update(fits)
        failures.uncontradicted[result.case.id] = failures.find_uncontradicted(result)


def choose_mutants_under_conditions(
    failures: OperatorFailures, group: Sequence[DiagnosedResult]
) -> None:
    """Choose mutants that passes contradict, if any do, only in cases unlike those that failed.

    For each mutant that fits failures without a cause, the most frequent first, a condition is
    sought that at least three of them meet, and no pass that contradicts the mutant. Those that
    meet it get the mutant as their cause, in `failures.chosen`. If no pass contradicts it, all of
    three or more do. Without a condition, few passes may contradict it: see `_are_exceptions`.
    Refusals of invalid models contradict nothing if a failure of the group is of a legal one.

    A mistake about an attribute that has one value wherever it shows may be another mistake as
    well: one that fits the same failures, and is not about the attribute, comes first.

    A mutant must not have given empty answers alone. A derived one must fit three different
    questions, others as many or a quarter of those without a cause. If the time runs out, the
    failures that the mutant in turn fits are noted in `suspects.untried`, and nothing more is
    chosen. Raises what recalling a pass raises, such as MemoryError.
    """
    by_mutant: dict[str, list[DiagnosedResult]] = defaultdict(list)
    without_cause = failures.without_cause(group)
    for result in without_cause:
        for name in failures.fitting[result.case.id]:
            by_mutant[name].append(result)

    def most_first(name: str) -> int:
        """Return what is least for the mutant that fits the most."""
        return -len(by_mutant[name])

    of_legal = any(result.record.failure != "accepted" for result in group)
    for name in sorted(by_mutant, key=most_first):
        results = failures.without_cause(by_mutant[name])
        if not results:
            continue
        mutant = failures.fitting[results[0].case.id][name]
        if _shows_too_little(failures, mutant, results, without_cause, group):
            continue
        # No condition rests on fewer questions: then one contradiction is enough.
        enough = None if len(failures.questions_of(results)) >= FEWEST else 1
        try:
            with failures.suspects.allowance.up_to(BEFORE_ASKING):
                contradicting = failures.against(mutant, of_legal=of_legal, enough=enough)
            if contradicting and enough:
                continue
            condition = _condition_of_mutant(failures, results, contradicting)
            if condition and _is_about_attribute_of(mutant, condition):
                alike = _fitting_all(failures, results, mutant)
                mutant = _of_same_condition(failures, alike, results, condition, group) or mutant
        except NoTimeLeft:
            failures.suspects.untried.update(result.case.id for result in results)
            return
        _choose_under_condition(failures, mutant, condition, results, contradicting, group)


def _fitting_all(
    failures: OperatorFailures, results: Sequence[DiagnosedResult], but: Mutant
) -> Iterator[Mutant]:
    """Yield the mutants that fit all of the results, `but` one; the results are not empty."""
    for name, mutant in failures.fitting[results[0].case.id].items():
        if name != but.name and all(name in failures.fitting[one.case.id] for one in results):
            yield mutant


def _of_same_condition(
    failures: OperatorFailures,
    mutants: Iterable[Mutant],
    results: Sequence[DiagnosedResult],
    condition: Condition,
    group: Sequence[DiagnosedResult],
) -> Mutant | None:
    """Return the first mutant that is not about an attribute of a condition, and meets it.

    That is, it explains the results under the same condition. None if there is none. Raises
    NoTimeLeft.
    """
    of_legal = any(result.record.failure != "accepted" for result in group)
    for mutant in mutants:
        if _is_about_attribute_of(mutant, condition):
            continue
        its = _condition_of_mutant(failures, results, failures.against(mutant, of_legal=of_legal))
        if its and its.text == condition.text:
            return mutant
    return None


def _choose_under_condition(
    failures: OperatorFailures,
    mutant: Mutant,
    condition: Condition | None,
    results: Sequence[DiagnosedResult],
    contradicting: Sequence[Case],
    group: Sequence[DiagnosedResult],
) -> None:
    """Choose a mutant for those of the results that it explains that meet a condition.

    No pass that contradicts it meets the condition. If there is none, the mutant is chosen for
    all of the results if few passes contradict it, and else for none.
    """
    text = as_diagnosis(mutant).text
    if condition:
        # Without a condition, all of its kind failed alike.
        if condition.text:
            text += f", where {condition.text}"
        diagnosis = Diagnosis(mutant.name, text, condition.counts)
        failures.choose_mutant(diagnosis, failures.under(condition, results))
    elif _are_exceptions(failures, contradicting, results):
        counts = failures.counts_with_exceptions(contradicting, results, group)
        failures.choose_mutant(Diagnosis(mutant.name, text, counts), results)


def _are_exceptions(
    failures: OperatorFailures, contradicting: Iterable[Case], explained: Sequence[DiagnosedResult]
) -> bool:
    """Return True if passes that contradict a mutant are of few questions.

    They are less than half of those that it explains, which are at least three.
    """
    numbers = {failures.facts.questions[failures.facts.number(case)] for case in contradicting}
    questions = len(failures.questions_of(explained))
    return questions >= FEWEST and 2 * len(numbers) < questions


def _shows_too_little(
    failures: OperatorFailures,
    mutant: Mutant,
    explained: Sequence[DiagnosedResult],
    left: Sequence[DiagnosedResult],
    group: Sequence[DiagnosedResult],
) -> bool:
    """Return True if a mutant that passes contradict explains too little of what is left.

    A derived one must fit three questions, others not by chance, and an answer with an element.
    It must not give few values of few questions of the group. If all that it fits are
    degenerate, in which mistakes look alike, it must fit all of those left. `_explained` is not
    empty.
    """
    is_telling = failures.suspects.is_telling(explained[0].case.op, mutant.name)
    if failures.is_of_too_few(explained, group) and not is_telling:
        return True
    if mutant.derived and len(failures.questions_of(explained)) < FEWEST:
        return True
    if not failures.suspects.gives_elements(explained[0].case.op, mutant):
        return True
    if len(explained) < len(left) and all(
        failures.suspects.is_degenerate(result.case) for result in explained
    ):
        return True
    return failures.may_fit_by_chance(explained, left)


def _condition_of_mutant(
    failures: OperatorFailures, results: Sequence[DiagnosedResult], contradicting: Iterable[Case]
) -> Condition | None:
    """Return a condition under which cases fail as a mutant does, None if there is none.

    It holds for the most of `results`, all of which the mutant explains, and for none of the
    cases that contradict it. It must not hold by chance, next to so few questions. A fact that
    kernels branch on, and that all of the results have, need not meet that if the mutant
    explains six questions: that is no chance then.
    """
    bits = failures.facts.bits(result.subject for result in results)
    others = failures.facts.bits(contradicting)
    conditions = [
        rule(
            failures.facts.features,
            failing=bits,
            others=others,
            alike=bits,
            keys=failures.facts.keys(bits, others),
            few=few,
            asked=failures.inquiry.asked,
        )
        for few in (False, True)
    ]
    sure, likely = conditions
    is_of_all = sure is not None and not bits & ~sure.everywhere
    if is_of_all or likely is None or bits & ~likely.everywhere:
        return sure
    return likely if len(failures.questions_of(results)) >= ENOUGH else sure
