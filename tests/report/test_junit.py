"""A run as JUnit's XML: valid, read by others as it is meant, and never greener than the run."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import junitparser
import pytest
import xmlschema
from hypothesis import example, given, strategies as st

from opcheck.model import Ending, Verdict
from opcheck.report import ci
from tests.examples import examples
from tests.report.made import record
from tests.report.runs import HOSTILE, every_verdict, hostile, run_of

SCHEMA = xmlschema.XMLSchema10(str(Path(__file__).parent / "junit.xsd"))


def text_of(run):
    return "\n".join(ci.junit_lines(run))


def read(run):
    """The suites as an independent reader sees them, of a file that is valid."""
    text = text_of(run)
    SCHEMA.validate(text)
    return list(junitparser.JUnitXml.fromstring(text.encode()))


def outcomes(run):
    """The kinds of the tests of each suite, by their names."""
    return {
        suite.name: [
            (test.name, type(test.result[0]).__name__ if test.result else "passed")
            for test in suite
        ]
        for suite in read(run)
    }


def test_every_verdict(snapshot):
    run = run_of(*every_verdict(), *every_verdict("bolt:x?y=1"))
    SCHEMA.validate(text_of(run))
    snapshot("junit", text_of(run) + "\n")


def test_each_verdict_becomes_what_ci_systems_know():
    [(_, tests)] = outcomes(run_of(*every_verdict())).items()
    assert [kind for _, kind in tests] == [
        *("passed", "passed", "Skipped", "passed", "Failure", "Failure"),
        *("Error", "Error", "Error", "Error", "Error"),
        *("Failure", "Skipped", "Error", "Error"),
    ]


@pytest.mark.parametrize(
    ("verdict", "option"), [(Verdict.WARN, "strict"), (Verdict.UNSUPPORTED, "require_supported")]
)
def test_what_is_red_by_an_option_is_a_failure(verdict, option):
    run = run_of(record(verdict, reason="so"), record())
    strict = replace(run, header=replace(run.header, **{option: True}))
    [(_, plain)], [(_, red)] = outcomes(run).items(), outcomes(strict).items()
    assert plain[0][1] in ("passed", "Skipped")
    assert red[0][1] == "Failure"


def test_what_no_model_states_is_never_red():
    run = run_of(record(Verdict.UNSUPPORTED, inexpressible=True), record())
    run = replace(run, header=replace(run.header, require_supported=True))
    assert "Failure" not in str(outcomes(run))


def test_a_test_has_the_operator_s_version_the_case_s_id_and_its_time():
    [suite] = read(run_of(record(seconds=0.25), record(Verdict.FAIL, seconds=1e-7)))
    first, second = suite
    assert (first.classname, first.time) == ("Hardmax-13", 0.25)
    assert first.name == "Hardmax/first_of_ties@dtype=float32#axis_0~0"
    assert second.time == 0
    assert suite.time == 0.25
    assert suite.timestamp == "2031-02-03T04:05:06"


def test_times_are_in_utc_and_plain_decimals():
    run = run_of(record(seconds=12345678.5), started="2031-02-03T23:30:00-05:00")
    [suite] = read(run)
    assert suite.timestamp == "2031-02-04T04:30:00"
    assert 'time="12345678.500000"' in text_of(run)


def test_the_numbers_are_those_of_the_tests():
    for run in (run_of(*every_verdict(), *every_verdict("bolt")), run_of(record())):
        whole = junitparser.JUnitXml.fromstring(text_of(run).encode())
        stated = [(s.tests, s.failures, s.errors, s.skipped) for s in whole]
        for suite in whole:
            suite.update_statistics()
        assert stated == [(s.tests, s.failures, s.errors, s.skipped) for s in whole]
        assert whole.tests == sum(numbers[0] for numbers in stated)
        assert whole.failures == sum(numbers[1] for numbers in stated)
        assert whole.errors == sum(numbers[2] for numbers in stated)


def test_a_failure_explains_itself(wording):
    [suite] = read(run_of(*every_verdict()))
    test = next(test for test in suite if test.result and test.result[0].type == "fail")
    text = test.result[0].text
    assert test.result[0].message == wording
    for label in ("asked", "clause", "found", "likely", "where", "written", "repeat"):
        assert f"\n  {label} " in text
    assert "[0, 1]    3.0   0.0  1.0" in text


def test_a_known_defect_is_skipped_with_its_cause_and_a_warning_says_why(wording):
    [suite] = read(run_of(*every_verdict()))
    tests = list(suite)
    assert tests[2].result[0].message == wording
    assert tests[3].system_out == wording
    assert tests[12].result[0].message == wording


def problems(run):
    return [(name, kind) for name, kind in outcomes(run).get("opcheck", [])]


def test_a_run_that_was_cut_short_has_an_error(wording):
    run = run_of(record(), cases=5)
    assert problems(run) == [(wording, "Error")]
    assert problems(replace(run, ending=None)) == problems(run)
    assert "incomplete: 1 of 5 results" in text_of(run)
    assert problems(run_of(cases=5, backends=["acme"])) == problems(run)


def test_a_process_that_died_between_questions_is_an_error():
    run = run_of(record(), ending=Ending(True, 1, "", accidents=("acme: it died",)))
    assert problems(run) == [("a process died", "Error")]
    assert "acme: it died" in text_of(run)


def test_a_run_that_judged_nothing_has_an_error():
    assert problems(run_of(record(Verdict.UNSUPPORTED))) == [("nothing was judged", "Error")]
    assert problems(run_of(backends=["acme"])) == [("nothing was judged", "Error")]
    assert problems(run_of()) == [("nothing was judged", "Error")]


@pytest.mark.parametrize("verdict", [*Verdict])
def test_a_run_whose_results_tell_all_has_no_suite_of_its_own(verdict):
    assert problems(run_of(record(), record(verdict))) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_backend_says_is_text(text):
    run = hostile(text)
    found = Counter(kind for _, tests in outcomes(run).items() for _, kind in tests)
    assert found["passed"] == 2
    assert sum(found.values()) == len(Verdict)
    for character in "\x00\x1b\x08\u202e\ufffe\uffff":
        assert character not in text_of(run)


@examples(40)
@given(st.text(st.characters(), min_size=1, max_size=30))
@example(" ")
def test_any_text_makes_valid_xml(text):
    read(hostile(text))
