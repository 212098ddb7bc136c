"""No situation is without a case of level core, unless an argument says why."""

from functools import cache

import pytest

from opcheck import opset
from opcheck.situations import FAMILIES, Survey, survey
from opcheck.suite import load

MOST = 300

pytestmark = pytest.mark.reads_all_suites


def operators() -> list[str]:
    newest = opset.newest("")
    schemas = (opset.describe("", name, newest) for name in opset.operators(""))
    return [
        schema.op.name
        for schema in schemas
        if schema and any(any(family.situations(schema)) for family in FAMILIES)
    ]


@cache
def surveys(op: str) -> tuple[Survey, ...]:
    return survey(op, load((), [op], ("smoke", "core")))


@pytest.mark.parametrize("op", operators())
def test_each_situation_has_a_core_case_or_an_argument(op: str) -> None:
    assert [(one.family, one.unexplained) for one in surveys(op) if one.unexplained] == []


@pytest.mark.parametrize("op", operators())
def test_no_argument_is_about_situations_that_have_cases(op: str) -> None:
    assert [one.refuted for one in surveys(op) if one.refuted] == []


@pytest.mark.parametrize("op", operators())
def test_situations_differ_and_can_be_counted(op: str) -> None:
    for one in surveys(op):
        assert len({*one.situations}) == len(one.situations) <= MOST


def test_each_argument_is_about_some_situation() -> None:
    for family in FAMILIES:
        for argument in family.argued:
            schema = opset.describe("", argument.op, opset.newest(""))
            assert schema is not None
            assert any(argument.is_about(argument.op, one) for one in family.situations(schema))


def test_without_its_cases_a_situation_is_missing() -> None:
    cases = [case for case in load((), ["Add"], ("core",)) if case.name != "pairs_of_shapes"]
    (broadcasting,) = [one for one in survey("Add", cases) if one.family == "broadcasting"]
    assert "[m,n] with [1,n]" in broadcasting.unexplained
