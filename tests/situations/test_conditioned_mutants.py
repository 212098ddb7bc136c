"""The core cases of each situation kill the mutants that are wrong in it alone."""

from functools import cache

import pytest

from opcheck import opset
from opcheck.execution.conditioned import conditioned_mutants
from opcheck.execution.mutate import MutationSettings
from opcheck.model import Fate, Score
from opcheck.model.conditions import score_of
from opcheck.situations import FAMILIES
from opcheck.suite import load
from tests.situations.test_situations import operators

#: Part of the mutants, counted once for each situation where they could hide, that core cases kill.
LEAST = 0.98
#: Families of which core cases kill fewer so far, 83 % to 99 % for an operator: no least is stated.
WITHOUT_A_LEAST = ("attributes", "axes", "coefficients", "ranges")
_TWO_ANSWERS = "a wrong element of two possible answers may be right by chance"
#: Operators of which fewer are killed, with that part, and why.
FEWER = {
    **dict.fromkeys(
        ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"), (0.97, _TWO_ANSWERS)
    ),
    "Conv": (0.97, "under dilations its numbers are finite"),
    "LpPool": (0.90, "its windows have no infinities, NaN and zeros beside other numbers"),
    "MaxPool": (0.97, "the text leaves open which of NaN and a number is the maximum"),
    "Pow": (0.97, "an overflow that saturates shows only where no infinity is among the numbers"),
    "Sub": (0.979, "where A has few elements, none of them is 0"),
}
#: Operators whose mutants are tried in seconds, one for each family or more.
QUICK = ("Gather", "GatherND", "Neg", "StringConcat", "Where")

pytestmark = pytest.mark.reads_all_suites


@cache
def score(op: str) -> Score:
    cases = load((), [op], ("smoke", "core"))
    conditioned = conditioned_mutants(cases, MutationSettings())
    return score_of(one for one in conditioned if one.family not in WITHOUT_A_LEAST)


def measured_operators() -> set[str]:
    """Return the operators with situations of a family that has a least."""
    measured = [family for family in FAMILIES if family.name not in WITHOUT_A_LEAST]
    schemas = {op: opset.describe("", op, opset.newest("")) for op in operators()}
    return {
        op
        for op, schema in schemas.items()
        if schema and any(any(family.situations(schema)) for family in measured)
    }


def assert_most_are_killed(op: str) -> None:
    share = score(op).share
    assert share is not None
    least, _ = FEWER.get(op, (LEAST, ""))
    assert share >= least


@pytest.mark.parametrize("op", QUICK)
def test_core_cases_kill_mutants_in_each_situation(op: str) -> None:
    assert_most_are_killed(op)
    assert score(op)[Fate.KILLED] > 100


@pytest.mark.mutation
@pytest.mark.parametrize("op", sorted(measured_operators() - {*QUICK}))
def test_core_cases_of_each_operator_kill_mutants_in_each_situation(op: str) -> None:
    assert_most_are_killed(op)


def test_without_the_pairs_of_shapes_mutants_survive() -> None:
    cases = [case for case in load((), ["Where"], ("core",)) if case.name != "pairs_of_shapes"]
    share = score_of(conditioned_mutants(cases, MutationSettings())).share
    assert share is not None
    assert share < LEAST
