"""A case that states no rule gets from the engine the rule that shipped cases state.

A shipped case says `should` itself, and the engine's suggestions say it for users' cases. These are
two statements of one thing.
"""

from collections.abc import Iterator, Sequence

import pytest

import opcheck
from opcheck.engine import operator_of
from opcheck.engine.operators import every
from opcheck.engine.suggestions import suggested
from opcheck.engine.suggestions.table import SUGGESTIONS
from opcheck.execution import expected
from opcheck.model import Case
from opcheck.model.case import Level, Rule
from tests.asking import judged_operators

#: Cases of the rule `should` for a reason that a formula cannot know.
NOT_KNOWN = {
    ("LpPool", "three_four_five_within_one_ulp"): "its tolerance is stated, which is narrower",
    ("DML_LP_POOLING", "within_one_ulp"): "its tolerance is stated, which is narrower",
    ("DML_LP_POOLING1", "within_one_ulp"): "its tolerance is stated, which is narrower",
    ("Abs", "zeros_lose_their_sign"): "its tolerance asks for the signs of zeros",
    ("Neg", "zeros_change_their_sign"): "its tolerance asks for the signs of zeros",
    ("Mod", "signs_of_multiples_rounded_down"): "its tolerance asks for the signs of zeros",
    ("Attention", "two_types"): "one row of the matrix has one type",
    ("LabelEncoder", "other_bits_of_nan"): "NaN is one number to the engine",
    ("DepthToSpace", "every_type#empty"): "without an element no order is wrong",
    ("SpaceToDepth", "every_type#empty"): "without an element no order is wrong",
    ("ReduceLogSum", "long_logarithms"): "16-bit sums have no bound; those of float32 have one",
    ("ReduceLogSumExp", "long_logarithms"): "16-bit sums have no bound; those of float32 have one",
}


#: Cases of the rule `must` of which the engine takes nothing for stated, each with the reason.
STATED_BY_CASES = {
    ("BatchNormalization", "squares_beyond_float16"): "the text asks for float32 of 16 bits",
    ("LpPool", "every_p#p_1000"): "what vanishes in it is nothing beside 1",
}


def names_of(case: Case) -> tuple[tuple[str, str], ...]:
    """Return the operator with the name of a case, and with its name and label."""
    label = f"{case.name}#{case.row}"
    return (case.op.name, case.name), (case.op.name, label)


def answered_cases(names: Sequence[str], level: Level, rule: Rule) -> Iterator[Case]:
    """Yield the shipped cases of a rule that ask a node for an answer which the engine computes."""
    for case in opcheck.load(ops=names, level=level):
        is_computed = case.model is None and operator_of(case.op) is not None
        if case.rule == rule and case.expect.rejection is None and is_computed:
            yield case


def suggested_alone(cases: Iterator[Case]) -> Iterator[str]:
    """Yield the cases of the rule `must` that the engine would let be refused, or be others."""
    for case in cases:
        if any(name in STATED_BY_CASES for name in names_of(case)):
            continue
        question = expected.question(case)
        found = suggested(expected.node_of(question.task, question.inputs))
        if found is not None and found.may_be_refused:
            yield case.id


def stated_alone(cases: Iterator[Case]) -> Iterator[str]:
    """Yield the cases of the rule `should` of which the engine takes everything for stated."""
    for case in cases:
        if any(name in NOT_KNOWN for name in names_of(case)):
            continue
        question = expected.question(case)
        node = expected.node_of(question.task, question.inputs)
        is_declined = False
        try:
            expected.answers_of(case, node)
        except expected.Unsupported:
            is_declined = True  # nothing is decided against the case
        if suggested(node) is None and not is_declined:
            yield case.id


@pytest.mark.gate
def test_the_engine_suggests_what_the_cases_suggest(of_part) -> None:
    """At every level: so a gate asks some operators alone, and loads no others."""
    names = of_part(sorted({operator.name for operator in judged_operators()}))
    assert [*stated_alone(answered_cases(names, "deep", "should"))] == []


@pytest.mark.gate
def test_the_engine_states_what_the_cases_state(of_part) -> None:
    """Of level core; single elements of a case may be suggested, such as subnormal numbers."""
    names = of_part(sorted({name for each in SUGGESTIONS for name in each.operators}))
    assert [*suggested_alone(answered_cases(names, "core", "must"))] == []


def test_each_suggestion_is_about_operators_that_exist() -> None:
    names = {operator.name for operator in every()}
    for suggestion in SUGGESTIONS:
        assert {*suggestion.operators} <= names, suggestion.id
        assert suggestion.operators, suggestion.id
    assert len({suggestion.id for suggestion in SUGGESTIONS}) == len(SUGGESTIONS)
