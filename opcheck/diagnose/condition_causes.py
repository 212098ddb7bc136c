"""Causes that are conditions: facts of cases that failures share, and others do not have.

The conditions are found by `rules`. "Group", "left" and "chosen" are explained in
`operator_failures`.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import partial

from opcheck.diagnose.facts import LIMIT, LIMITS, Feature
from opcheck.diagnose.operator_failures import ENOUGH, SEVERAL, SHOW_LITTLE, OperatorFailures
from opcheck.diagnose.results import OF_OUTPUTS, DiagnosedResult
from opcheck.diagnose.rules import (
    FEWEST,
    Condition,
    Terms,
    chance,
    condition_of,
    meeting,
    necessary,
    others_and_rank,
)
from opcheck.diagnose.suspects import NOT_CHECKED, as_diagnosis
from opcheck.diagnose.wording import in_brackets, where_clause
from opcheck.dtypes import DTYPES
from opcheck.model import Case, Diagnosis, Failure, Verdict, cause_counts

#: So many exact conditions may share the failures of a kind, each with less than half of them.
_MOST_CONDITIONS = 3
#: The mutant whose answer is the input.
_INPUT = "input_unchanged"
#: An input or an output in the words of a fact.
_INPUT_OR_OUTPUT = re.compile(r"\b(?:input|output) \w+|the (?:input|output)\b")
#: How the fact ends that an input is of a type.
_TYPES = tuple(f" is {name}" for name in DTYPES)
#: What is likelier than this by chance is not named.
_EVEN_CHANCE = 0.5
#: If mutants leave no more of a group, they say more than a condition of all of it.
_LEAST_LEFT = 1 / 3
#: Ways to fail that one mistake may have in different cases.
_WAYS_OF_ONE_MISTAKE: tuple[Failure | None, ...] = ("raised", "values", "shape", "dtype", "oom")


def _of_any_input(feature: Feature) -> str:
    """Return the words of a fact without the name of the input or output that it is about."""
    return _INPUT_OR_OUTPUT.sub("*", feature.text)


def choose_one_fact_for_all(failures: OperatorFailures, group: Sequence[DiagnosedResult]) -> None:
    """Choose one exact fact for a group of which mutants explain a part.

    All of the group, of six questions or more, must have it, and no case that does not fail so;
    it is not a limit on a number. Nothing is chosen if mutants explain nothing, or two thirds of
    the questions: then mistakes say more than when they show. Nor is it for failures without
    outputs.
    """
    if group[0].record.failure not in OF_OUTPUTS:
        return
    left = failures.without_cause(group)
    questions = len(failures.questions_of(group))
    if len(left) == len(group) or questions < ENOUGH:
        return
    if len(failures.questions_of(left)) <= _LEAST_LEFT * questions:
        return
    others = failures.others(group, group)
    condition = failures.condition(group, others, group) if others else None
    if condition is None or condition.text.endswith(LIMITS) or len(condition.terms) > 1:
        return
    if len(failures.under(condition, group)) == len(group):
        text = f"{failures.way(group, failures.shared_message(group))}{where_clause(condition)}"
        failures.choose(failures.diagnosis(None, text, condition), group)


def choose_one_for_all_ways(
    failures: OperatorFailures, by_failure: Mapping[Failure | None, Sequence[DiagnosedResult]]
) -> None:
    """Choose a condition that all failures of the operator have, in whatever way they fail.

    No pass meets it, and it is no limit on a size. So one mistake may give wrong values here,
    and raise there. Each way keeps words of its own. Nothing is chosen for failures of one way,
    or if one mutant explains nearly all.
    """
    ways = {way: group for way, group in by_failure.items() if way in _WAYS_OF_ONE_MISTAKE}
    failing = [result for group in ways.values() for result in group]
    if len(ways) < SEVERAL or failures.has_one_cause(failing):
        return
    passes = [
        result.subject
        for result in failures.results
        if result.record.verdict is Verdict.PASS and not result.record.refused
    ]
    others = failures.facts.bits(passes) | failures.inquiry.passing
    condition = failures.condition(failing, others, failing) if passes else None
    if condition is None or not condition.text or condition.rank == LIMIT:
        return
    if len(failures.under(condition, failing)) < len(failing):
        return
    for group in ways.values():
        text = f"{failures.way(group, failures.shared_message(group))}{where_clause(condition)}"
        failures.choose(failures.diagnosis(None, text, condition), group)


def choose_one_property_for_all(
    failures: OperatorFailures, group: Sequence[DiagnosedResult], *, beside_mutants: bool
) -> None:
    """Choose one condition as the cause of all of a group without a cause, which meet it.

    Several conditions, or mutants, for parts of them are incidental then. An exact condition,
    which no other case meets, is chosen if it has no limit on a size and mutants fit less than
    half of these. If none is exact for all of them, it is a property of all that few others
    have. Nothing is chosen if a mutant fits all of them, unless `beside_mutants`: then passes
    contradict it, under each condition, and it is named with the property if its values show
    anything. Nor is it for fewer than three, for accepted invalid models, and if no other case
    is known. The group is not empty, and all of it fails in one way. Raises KeyboardInterrupt
    and what `ask` raises.
    """
    left = failures.without_cause(group)
    is_accepted = group[0].record.failure == "accepted"
    if is_accepted or len(left) < FEWEST or not failures.others(left, group):
        return
    if failures.is_of_too_few(left, group):
        return
    fitting = [{*failures.fitting[result.case.id]} for result in left]
    of_all = set.intersection(*fitting)
    if of_all and not beside_mutants:
        return
    failures.ask_about(left, group)
    exact = failures.condition(left, failures.others(left, group), group)
    if exact is None or len(failures.under(exact, left)) < len(left):
        condition = _property_of_all(failures, left, group)
    elif exact.rank == LIMIT:
        condition = _simpler(failures, exact, left, group)
    elif 2 * sum(map(bool, fitting)) < len(left):
        condition = _simpler(failures, exact, left, group) or exact
    else:
        return
    if condition:
        failures.choose(_of_property(failures, condition, left, group, of_all), left)


def _simpler(
    failures: OperatorFailures,
    exact: Condition,
    left: Sequence[DiagnosedResult],
    group: Sequence[DiagnosedResult],
) -> Condition | None:
    """Return a property of all failures left of a group that is simpler than a condition.

    A limit that only leaves some passes out says less than their number. None for a condition
    without a limit, without a property, and for a limit alone that a failing case lost when it
    was cured.
    """
    failing = failures.facts.bits(result.subject for result in left)
    cured = {feature.text for feature in failures.inquiry.confirmed(failing)}
    has_limit = any(term.endswith(LIMITS) for term in exact.terms)
    if not has_limit or exact.text in cured:
        return None
    return _property_of_all(failures, left, group)


def _of_property(
    failures: OperatorFailures,
    condition: Condition,
    left: Sequence[DiagnosedResult],
    group: Sequence[DiagnosedResult],
    of_all: Set[str],
) -> Diagnosis:
    """Return the diagnosis of a property of all failures left of a group.

    It has the first of the mutants that fit all of them, whose names are `of_all`, unless
    their values show little, or several fit fewer than three questions.
    """
    fitting = failures.fitting[left[0].case.id]
    # That the input came out says more than which step would have made it something else.
    names = [name for name in (_INPUT, *fitting) if name in of_all - SHOW_LITTLE]
    # Of several mistakes, few questions do not tell which it is.
    is_telling = len(names) == 1 or len(failures.questions_of(left)) >= FEWEST
    telling = next(iter(names), None) if is_telling else None
    if telling:
        text = f"{as_diagnosis(fitting[telling]).text},{where_clause(condition)}"
    else:
        text = f"{failures.way(left, failures.shared_message(group))}{where_clause(condition)}"
    return failures.diagnosis(telling, text, condition)


def _property_of_all(
    failures: OperatorFailures, left: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]
) -> Condition | None:
    """Return the property that all failures left of a group have and the fewest others.

    Fewer others than failures must have it, not by chance, and it is not a limit on a size.
    None if there is none.
    """
    failing = failures.facts.bits(result.subject for result in left)
    return necessary(
        failures.inquiry.unrefuted(failing),
        failing=failing | failures.inquiry.failing(failing),
        others=failures.others(left, group),
        alike=failures.facts.bits(result.subject for result in group),
        questions=failures.facts.questions,
        asked=failures.inquiry.asked,
    )


def choose_proven_property(failures: OperatorFailures, group: Sequence[DiagnosedResult]) -> None:
    """Choose the property without which no failure of a kind without a cause comes, if asked.

    Its change cures a failing case and breaks a passing one. Of several, it is that of the
    fewest changed cases that pass, then of the fewest passes, and not a limit on a size; passes
    may have it. The group is not empty.
    """
    left = failures.without_cause(group)
    bases = failures.facts.bits(result.subject for result in left)
    others = failures.others(left, group)
    proven = [one for one in failures.inquiry.proven(bases) if one.rank < LIMIT]
    if not proven or failures.is_of_too_few(left, group):
        return
    changed = failures.inquiry.passing

    def fewness(feature: Feature) -> tuple[int, int, int]:
        """Return what is least for the best property."""
        return (feature.holds & changed).bit_count(), *others_and_rank(others, feature)

    best = min(proven, key=fewness)
    # A change of all inputs does not tell the first one's property from that of the others.
    of_first = next(one for one in proven if _of_any_input(one) == _of_any_input(best))
    _choose_only_where(failures, of_first, left, group, is_sure=False)


def _choose_only_where(
    failures: OperatorFailures,
    feature: Feature,
    left: Sequence[DiagnosedResult],
    group: Sequence[DiagnosedResult],
    *,
    is_sure: bool,
) -> None:
    """Choose a property without which no failure left of a group comes; passes may have it.

    If as many passes as failures have it, it is named with a second one of all failures, if
    fewer passes have both, and not by chance. Unless the property `is_sure`, nothing is chosen
    if it is likelier than not that as many cases have what is named by chance.
    """
    others = failures.others(left, group)
    own = others & ~failures.inquiry.asked
    failing = failures.facts.bits(result.subject for result in left)
    terms: Terms = (feature,)
    if (feature.holds & own).bit_count() >= len(left):
        second = necessary(
            [one for one in failures.inquiry.unrefuted(failing) if one.rank < LIMIT],
            failing=failing | failures.inquiry.failing(failing),
            others=others & feature.holds,
            alike=failing,
            questions=failures.facts.questions,
            asked=failures.inquiry.asked,
        )
        if second is not None:
            terms = (feature, Feature(second.text, second.rank, second.everywhere))
    holds = meeting(terms, ~0)
    if not is_sure and chance(holds, failing, own, failures.facts.questions) > _EVEN_CHANCE:
        return
    such = len(left) + (holds & own).bit_count()
    counts = (len(left), such, 0, (own & ~holds).bit_count())
    way = failures.way(left, failures.shared_message(group)).removesuffix(",")
    words = " and ".join(term.text for term in terms)
    condition = Condition(words, holds, counts, holds, feature.rank)
    text = f"{way} only{where_clause(condition)}"
    failures.choose(failures.diagnosis(None, text, condition), left)


def choose_facts_needed_together(
    failures: OperatorFailures, group: Sequence[DiagnosedResult]
) -> None:
    """Choose the two or three facts of all failures left that only together make them fail.

    No other case has all of them, and for each a failing case was cured by a change that took
    away that one and none of the others. Nothing is chosen for fewer than three failures, with
    those of changed cases, and if no case is known that does not fail so. The group is not
    empty.
    """
    left = failures.without_cause(group)
    others = failures.others(left, group)
    bases = failures.facts.bits(result.subject for result in left)
    if not others or (bases | failures.inquiry.failing(bases)).bit_count() < FEWEST:
        return
    if failures.is_of_too_few(left, group):
        return
    terms = failures.inquiry.needed_together(bases, others)
    if terms is not None:
        alike = failures.facts.bits(result.subject for result in group)
        condition = condition_of(terms, alike, others, failures.inquiry.asked)
        text = f"{failures.way(left, failures.shared_message(group))}{where_clause(condition)}"
        failures.choose(failures.diagnosis(None, text, condition), left)


def choose_type_of_all(failures: OperatorFailures, group: Sequence[DiagnosedResult]) -> None:
    """Choose the type of all failures of a kind without a cause, if other types pass.

    That is, each is of a question that passes in another type, in the same version, and there
    are three failures, of two questions at least; passes may have the type. The group is not
    empty.
    """
    left = failures.without_cause(group)
    if len(left) < FEWEST or len(failures.questions_of(left)) < SEVERAL:
        return
    if failures.is_of_too_few(left, group):
        return
    others = failures.others(left, group)
    by_question: dict[tuple[object, ...], int] = defaultdict(int)
    for number, case in enumerate(failures.facts.cases):
        if others >> number & 1:
            by_question[_question_of_version(failures, case)] |= 1 << number
    failing = failures.facts.bits(result.subject for result in left)
    twins = [by_question[_question_of_version(failures, result.subject)] for result in left]
    if not all(twins):
        return
    of_all = [
        feature
        for feature in failures.inquiry.unrefuted(failing)
        if feature.text.endswith(_TYPES)
        and not failing & ~feature.holds
        and not any(feature.holds & twin for twin in twins)
    ]
    if of_all:
        feature = min(of_all, key=partial(others_and_rank, others))
        _choose_only_where(failures, feature, left, group, is_sure=True)


def _question_of_version(failures: OperatorFailures, case: Case) -> tuple[object, ...]:
    """Return the key of a case's question with its version, whatever its type."""
    return *failures.facts.questions[failures.facts.number(case)], case.op.since, case.opset


def choose_every_case(failures: OperatorFailures, group: Sequence[DiagnosedResult]) -> None:
    """Choose, in `chosen`, that values are wrong in every case, if no case shows right ones.

    At least three results must be without a cause.
    """
    left = failures.without_cause(group)
    if len(left) < FEWEST or failures.others(left, group):
        return
    condition = failures.condition(left, 0, group)
    if condition:
        way = failures.way(left, failures.shared_message(group))
        failures.choose(
            failures.diagnosis(None, f"{way}{where_clause(condition)}", condition), left
        )


def rule_of_group(
    failures: OperatorFailures, left: list[DiagnosedResult], group: Sequence[DiagnosedResult]
) -> tuple[Diagnosis, list[DiagnosedResult]] | None:
    """Return the rule that covers the most of those left, and these; None if there is none.

    A rule says under which condition cases of the `group`, which fail in one way, do so. It
    holds for no case that does not. None, too, if the condition may be incidental: see
    `_is_typical`, and for wrong values in every case: see `choose_every_case`. At least one is
    left.
    """
    message = failures.shared_message(group)
    others = failures.others(left, group)
    if left[0].record.failure == "accepted":
        return _rule_of_accepted(failures, message, left, group, others)
    condition = failures.condition(left, others, group)
    if condition is None or (not condition.text and left[0].record.failure == "values"):
        return None
    explained = failures.under(condition, left)
    if not _is_typical(failures, explained, left, others, group):
        return None
    if failures.is_of_too_few(explained, group):
        return None
    if len(explained) == len(left):
        condition = _simpler(failures, condition, left, group) or condition
    text = f"{failures.way(explained, message)}{where_clause(condition)}"
    return failures.diagnosis(None, text, condition), explained


def _is_typical(
    failures: OperatorFailures,
    explained: Sequence[DiagnosedResult],
    left: Sequence[DiagnosedResult],
    others: int,
    group: Sequence[DiagnosedResult],
) -> bool:
    """Return True if a condition explains half of those left, or a few such explain them all.

    `_explained` are those of `left` that meet the condition; up to two more conditions may
    explain the rest. A property of less than half of the failures is most often incidental:
    large tensors show more of any mistake. So is one without which most cases fail too: if the
    rest are more than the `others`, bits of cases that do not fail so, the result is False.
    """
    rest = [result for result in left if result not in explained]
    if len(rest) > others.bit_count():
        return False
    if len(rest) <= len(explained):
        return True
    for _ in range(_MOST_CONDITIONS - 1):
        condition = failures.condition(rest, others, group)
        if condition is None:
            return False
        under = failures.under(condition, rest)
        rest = [result for result in rest if result not in under]
        if not rest:
            return True
    return False


def _rule_of_accepted(
    failures: OperatorFailures,
    message: str,
    left: list[DiagnosedResult],
    group: Sequence[DiagnosedResult],
    others: int,
) -> tuple[Diagnosis, list[DiagnosedResult]] | None:
    """Return the rule by which invalid models are accepted, and the results that it explains.

    Without a condition that distinguishes them from `others`, the bits of cases that were
    refused, it explains all of those left: that it was not checked, or not always if some were
    refused. `message` is why the models are invalid; None if they are so for different reasons,
    so that it is "".
    """
    if not message:
        return None
    condition = failures.condition(left, others, group) if others else None
    if condition:
        text = f"{NOT_CHECKED.text}{in_brackets(message)}{where_clause(condition)}"
        diagnosis = Diagnosis(NOT_CHECKED.mistake, text, condition.counts)
        return diagnosis, failures.under(condition, left)
    text = NOT_CHECKED.text
    counts = None
    if others:
        text = text.replace("was not checked", "was not always checked")
        counts = cause_counts(failing=len(group), judged=len(group) + others.bit_count())
    return Diagnosis(NOT_CHECKED.mistake, f"{text}{in_brackets(message)}", counts), [*left]
