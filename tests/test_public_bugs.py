"""`benchmarks/public_bugs.py`: planted bugs, and whether their causes are named rightly."""

from itertools import chain
from typing import Any

import numpy as np
import pytest

from benchmarks import public_bugs
from benchmarks.planted import Bug, Names
from benchmarks.planted.drawn import HELD_OUT, REPORTS, WORKING
from benchmarks.planted.every import LISTS, bug_named
from benchmarks.public_bugs import Finding, Grade, Named
from opcheck.analysis import RAISED, Cause
from opcheck.engine import Node
from opcheck.engine.mutants import causes_of
from opcheck.errors import Exit
from opcheck.model import Diagnosis, OpVersion
from opcheck.opset import versions

EVERY = [*chain.from_iterable(bugs.values() for bugs in LISTS.values())]
COUNTS = (3, 3, 0, 9)


def bug(right: Names, partly: Names = Names()) -> Bug:  # noqa: B008
    return Bug(reports=(), operators=("Abs",), right=right, partly=partly, answer=lambda node: [])


def grade(text: str, named: Bug, mistake: str | None = None, *, explained: bool = True) -> Grade:
    return public_bugs.grade(Cause(Diagnosis(mistake, text, COUNTS), (), explained), named)


PADS = bug(
    Names(mistakes=("pads_ends_*",), terms=("`pads` differ*", "the rank of the input is 4*")),
    Names(mistakes=("pads_ignored",), terms=("`pads` has a 0",)),
)


@pytest.mark.parametrize(
    ("mistake", "expected"),
    [
        ("pads_ends_first", Grade.RIGHT),
        ("pads_ignored", Grade.PARTLY),
        ("pads_ends_first+computed_in_float32", Grade.PARTLY),
        ("transposed", Grade.WRONG),
    ],
)
def test_a_mistake_is_right_by_its_name_alone(mistake: str, expected: Grade) -> None:
    assert grade("text, where `axis` is 1", PADS, mistake) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("`pads` differ at the ends of an axis", Grade.RIGHT),
        ("`pads` differ at the ends of an axis and the rank of the input is 4", Grade.RIGHT),
        ("`pads` differ at the ends of an axis and the version is 11", Grade.PARTLY),
        ("`pads` has a 0", Grade.PARTLY),
        ("`pads` has a 0 and the length of axis 2 of input X is 2 or less", Grade.PARTLY),
        ("the length of axis 2 of input X is 2 or less", Grade.WRONG),
        ("inputs A and B are of equal rank, with a 1 in one alone", Grade.WRONG),
    ],
)
def test_a_condition_is_right_if_all_its_terms_are(condition: str, expected: Grade) -> None:
    assert grade(f"gives wrong values where {condition}", PADS) is expected


def test_what_names_nothing_is_neither_right_nor_wrong() -> None:
    assert grade("gives wrong values in every case", PADS) is Grade.NONE
    assert grade("like 2 times the right values, where it is wrong", PADS) is Grade.NONE
    assert grade("not explained: gives wrong values", PADS, explained=False) is Grade.NONE


def test_an_exception_is_right_unless_more_is_made_of_it() -> None:
    raises = bug(Names(raises="KeyError", terms=("`axis` is given",)))
    text = f"{RAISED} KeyError: 'axis'"
    assert grade(text, raises, explained=False) is Grade.RIGHT
    assert grade(f"{text}, where `axis` is given", raises) is Grade.RIGHT
    assert grade(f"{text}, where `mode` is left out", raises) is Grade.PARTLY
    assert grade(f"{text}; it was computed as version 1", raises, "version_1_always") is Grade.WRONG
    assert grade(f"{RAISED} ValueError: no", raises, explained=False) is Grade.NONE


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({Grade.RIGHT: 6, Grade.NONE: 3}, Grade.RIGHT),
        ({Grade.RIGHT: 6, Grade.WRONG: 3}, Grade.WRONG),
        ({Grade.RIGHT: 7, Grade.WRONG: 2}, Grade.RIGHT),
        ({Grade.RIGHT: 3, Grade.NONE: 6}, Grade.PARTLY),
        ({Grade.RIGHT: 1, Grade.PARTLY: 2, Grade.NONE: 6}, Grade.PARTLY),
        ({Grade.RIGHT: 2, Grade.NONE: 7}, Grade.NONE),
        ({}, Grade.NONE),
    ],
)
def test_a_third_of_the_failures_decides(counts: dict[Grade, int], expected: Grade) -> None:
    causes = [Named(count, one, "") for one, count in counts.items()]
    assert public_bugs.whole_grade(causes) is expected


def test_every_bug_has_a_sentence_and_names() -> None:
    names = [one.name for one in EVERY]
    assert len(names) == len({*names}) > 40
    for one in EVERY:
        assert one.sentence.endswith("."), one.name
        assert one.right != Names(), one.name
        assert all("#" in report for report in one.reports), one.name


@pytest.mark.gate
def test_names_of_mistakes_are_those_of_mutants() -> None:
    for one in EVERY:
        known = {
            name
            for operator in one.operators
            for since in versions("", operator)
            for mutant in causes_of(OpVersion("", operator, since))
            for name in mutant.names
        }
        stated = {*one.right.mistakes, *one.partly.mistakes}
        whole = {name for name in stated if not {*name} & {*"*?["}}
        assert whole <= known, one.name


def test_the_lot_is_as_it_was_drawn() -> None:
    assert {*LISTS["working"]} == WORKING
    assert {*LISTS["held_out"]} == HELD_OUT
    assert len(WORKING) == len(HELD_OUT) == len(REPORTS) // 2
    assert "batch_normalization_by_running_averages" in WORKING


@pytest.mark.parametrize(("lot", "size"), [("second", 30), ("third", 30), ("fourth", 24)])
def test_a_lot_is_of_reports_that_no_other_list_has(lot: str, size: int) -> None:
    drawn = LISTS[lot]
    assert len(drawn) == size
    assert all(bug.reports for bug in drawn.values())
    others = chain.from_iterable(bugs.values() for name, bugs in LISTS.items() if name != lot)
    of_others = {report for bug in others for report in bug.reports}
    assert not any(of_others & {*bug.reports} for bug in drawn.values())


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "right", "wrong"),
    [
        ("selu_of_negative_alpha", [np.float32(1)], {"alpha": -2.0, "gamma": -3.0}, -3, 7.30969),
        ("sub_of_uint8_saturates", [np.uint8(3), np.uint8(5)], {}, 254, 0),
        ("relu_of_integers_through_float32", [np.int32(2**31 - 1)], {}, 2**31 - 1, -(2**31)),
        ("erf_of_tiny_numbers_is_0", [np.float32(3e-9)], {}, 3.3851374e-9, 0),
        ("hard_swish_is_hard_sigmoid", [np.float32(6)], {}, 6, 1),
        ("powers_of_integers_truncated", [np.int32(3), np.int32(1)], {}, 3, 2),
        ("true_is_255", [np.True_], {"to": 1}, 1, 255),
        ("xor_with_one_element_is_the_other", [np.True_, np.False_], {}, True, False),
        (
            "celu_by_the_sign_of_the_quotient",
            [np.float32(-0.49682534)],
            {"alpha": -0.5},
            -0.850538632,
            -0.49682534,
        ),
        ("reciprocal_of_0_is_finite", [np.float32(0)], {}, np.inf, 3.4028235e38),
        ("shrink_keeps_what_is_small", [np.float32(0.25)], {}, 0, 0.25),
    ],
)
def test_planted_bugs_answer_as_their_reports_say(
    name: str, inputs: list[Any], attrs: dict[str, float], right: float, wrong: float
) -> None:
    planted = bug_named(name)
    (operator,) = planted.operators
    node = Node(
        OpVersion("", operator, max(versions("", operator))), (*map(np.array, inputs),), attrs
    )
    assert node.right[0] == pytest.approx(right)
    assert planted.answer(node)[0] == pytest.approx(wrong)


def test_lists_that_are_not_to_be_read_have_to_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def counted(planted: Bug, cases: object, *, jobs: int) -> Finding:
        ran.append(planted.name)
        return Finding(
            bug=planted, cases=1, red=0, code=Exit(0), meaning="", causes=(), seconds=0.0
        )

    monkeypatch.setattr(public_bugs, "run", counted)
    monkeypatch.setattr(public_bugs, "cases_of", lambda planted: [])
    monkeypatch.setattr("sys.argv", ["public_bugs"])
    public_bugs.main()
    assert {*ran} == {*LISTS["first"], *LISTS["working"]}
    admitted = sum(bug_named(name).admitted for name in ran)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"{len(ran)} bugs: 0 red")
    assert f"{len(ran) - admitted} MISSED, {admitted} admitted" in last


def test_a_planted_bug_is_red_and_named() -> None:
    planted = bug_named("integers_divided_downwards")
    cases = [case for case in public_bugs.cases_of(planted) if str(case.inputs[0].dtype) == "int32"]
    finding = public_bugs.run(planted, cases)
    assert finding.code == 1
    assert 0 < finding.red < len(cases)
    assert finding.grade is Grade.RIGHT
