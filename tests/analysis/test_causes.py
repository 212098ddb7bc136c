"""Failures summed up by their causes."""

from opcheck.analysis.causes import UNEXPLAINED, WAYS, causes, number_of
from opcheck.model import FAILURES, Diagnosis, OpVersion, Record, Verdict
from tests.report.made import record


def failure(*mistakes: str, since: int = 13) -> Record:
    diagnoses = tuple(Diagnosis(name, f"as if {name}") for name in mistakes)
    op = OpVersion("", "Hardmax", since)
    return record(Verdict.FAIL, op=op, diagnoses=diagnoses)


def test_the_first_diagnosis_is_the_cause() -> None:
    found = causes([failure("b", "a"), failure("b", since=1), failure("b"), failure("a", "b")])
    assert [(one.looks, one.places, len(one.results)) for one in found] == [
        ("as if b (b)", ("Hardmax-1", "Hardmax-13", "float32"), 3),
        ("as if a (a)", ("Hardmax-13", "float32"), 1),
    ]


def test_what_is_left_over_comes_last_by_the_way_it_fails() -> None:
    numbers = record(Verdict.FAIL, failure="values", diagnoses=(Diagnosis(None, "like 2 times"),))
    lost = record(Verdict.CRASH, failure="crash")
    found = causes([numbers, numbers, lost, failure("a")])
    assert [(one.looks, len(one.results), one.explained) for one in found] == [
        ("as if a (a)", 1, True),
        (f"{UNEXPLAINED}: gives wrong values", 2, False),
        (f"{UNEXPLAINED}: dies", 1, False),
    ]


def test_two_mistakes_made_at_once_are_two_causes() -> None:
    assert (
        number_of(causes([failure("a+b"), failure("b"), failure("c"), record(Verdict.FAIL)])) == 3
    )


def test_counts_of_several_operators_are_added() -> None:
    counts = {"Hardmax": (3, 3, 0, 10), "Softmax": (4, 4, 2, 1000)}
    results = [
        record(
            Verdict.CRASH,
            op=OpVersion("", op, since),
            diagnoses=(Diagnosis(None, "dies where it is dark", those),),
        )
        for op, those in counts.items()
        for since in (11, 13)
    ]
    (cause,) = causes(results)
    assert cause.looks == "dies where it is dark: 7 of 7, and 2 of 1,010 others"


def test_no_failure_no_cause() -> None:
    assert causes([]) == []


def test_every_way_to_fail_has_words() -> None:
    assert {*WAYS} == {*FAILURES}
