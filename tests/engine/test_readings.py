"""A formula is evaluated once for every combination of the readings that it comes across."""

import pytest

from opcheck.engine.readings import MAX_ANSWERS, Ruling, each_reading
from opcheck.errors import InvalidNode, NotSupported

FIRST = Ruling("first", "The text leaves this open.", ("a", "b"))
SECOND = Ruling("second", "The text leaves that open.", ("x", "y", "z"))
FREE = Ruling("free", "Each element is free.", ("0", "1"), by_element=True)


def answers(evaluate):
    return [reading.answer for reading in each_reading(evaluate)]


def test_on_its_own_a_formula_follows_the_first_reading() -> None:
    assert (FIRST.reading(), SECOND.reading()) == ("a", "x")


def test_a_formula_without_rulings_is_evaluated_once() -> None:
    (reading,) = each_reading(lambda: 5)
    assert (reading.answer, dict(reading.chosen), reading.name) == (5, {}, None)


def test_every_combination_comes_once_and_that_of_first_readings_comes_first() -> None:
    found = answers(lambda: FIRST.reading() + SECOND.reading())
    assert found[0] == "ax"
    assert sorted(found) == ["ax", "ay", "az", "bx", "by", "bz"]


def test_a_ruling_that_one_reading_alone_comes_across_multiplies_that_one_alone() -> None:
    def formula() -> str:
        return "a" + SECOND.reading() if FIRST.reading() == "a" else "b"

    assert sorted(answers(formula)) == ["ax", "ay", "az", "b"]


def test_a_ruling_that_comes_up_again_has_the_same_reading() -> None:
    assert sorted(answers(lambda: FIRST.reading() + FIRST.reading())) == ["aa", "bb"]


def test_a_reading_may_be_a_refusal() -> None:
    def formula() -> str:
        if FIRST.reading() == "b":
            raise InvalidNode("refused")
        return "a"

    first, second = answers(formula)
    assert first == "a"
    assert isinstance(second, InvalidNode)


def test_readings_that_bind_whole_outputs_have_a_name_and_those_of_elements_none() -> None:
    names = {reading.name for reading in each_reading(lambda: FIRST.reading() + FREE.reading())}
    assert names == {"a", "b"}
    assert {reading.name for reading in each_reading(FREE.reading)} == {None}


def test_more_answers_than_a_judge_compares_are_declined() -> None:
    many = Ruling("many", "This is open.", tuple(map(str, range(MAX_ANSWERS + 1))))
    with pytest.raises(NotSupported):
        answers(many.reading)
