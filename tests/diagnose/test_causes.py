"""As few causes as explain all failures."""

from __future__ import annotations

from opcheck.diagnose import UNEXPLAINED, Cause, causes
from opcheck.model import Diagnosis, OpVersion, Record, Verdict
from tests.report.made import record


def failure(*mistakes: str, since: int = 13) -> Record:
    diagnoses = tuple(Diagnosis(name, f"as if {name}") for name in mistakes)
    op = OpVersion("", "Hardmax", since)
    return record(Verdict.FAIL, op=op, diagnoses=diagnoses)


def test_one_cause_for_all() -> None:
    found = causes([failure("a", "b"), failure("b", since=1), failure("c", "b")])
    assert found == [Cause("b", "as if b", ("Hardmax-1", "Hardmax-13"), ("float32",), 3)]


def test_each_failure_counts_once() -> None:
    found = causes([failure("a", "b"), failure("a", "b"), failure("a"), failure("b", "c")])
    assert [(one.mistake, one.failures) for one in found] == [("a", 3), ("b", 1)]


def test_among_equals_the_one_named_first() -> None:
    assert [one.mistake for one in causes([failure("a", "b"), failure("a", "b")])] == ["a"]


def test_what_is_left_over_comes_last() -> None:
    found = causes([failure(), failure(), failure("a")])
    assert [(one.mistake, one.text, one.failures) for one in found] == [
        ("a", "as if a", 1),
        (None, UNEXPLAINED, 2),
    ]


def test_no_failure_no_cause() -> None:
    assert causes([]) == []


def test_what_numbers_have_in_common_is_no_cause() -> None:
    twice, thrice = (Diagnosis(None, f"like {n} times the right values") for n in (2, 3))
    failures = [record(Verdict.FAIL, diagnoses=(seen,)) for seen in (twice, thrice)]
    assert [(one.mistake, one.failures) for one in causes(failures)] == [(None, 2)]
