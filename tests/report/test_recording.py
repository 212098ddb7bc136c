"""What a record keeps of a result."""

from dataclasses import fields, replace

from opcheck.model import (
    Comparison,
    ComparisonRecord,
    LiveResult,
    Mismatch,
    OpVersion,
    Record,
    Verdict,
)
from opcheck.report.formatting import Recorder
from opcheck.suite import case_digest
from tests.report.made import CASE, record, wrong_values

AXIS = "axis - INT (default is '-1')"


def test_a_record_has_all_that_a_result_has():
    kept = {field.name for field in fields(LiveResult)} - {"case"}
    assert kept < {field.name for field in fields(Record)}
    assert {field.name for field in fields(Comparison)} == {
        field.name for field in fields(ComparisonRecord)
    }


def test_a_case_keeps_its_place_in_the_whole_selection_whichever_is_judged_first():
    cases = [replace(CASE, id=f"Hardmax/{name}") for name in ("a", "b", "c")]
    recorder = Recorder(cases)
    found = [recorder.record(LiveResult(case, "acme", Verdict.PASS)) for case in reversed(cases)]
    assert [(one.case, one.place) for one in found] == [
        ("Hardmax/c", 2),
        ("Hardmax/b", 1),
        ("Hardmax/a", 0),
    ]
    assert [one.digest for one in reversed(found)] == [*map(case_digest, cases)]
    assert recorder.suite.cases == 3
    assert recorder.suite != Recorder(cases[::-1]).suite
    assert recorder.suite == Recorder(list(cases)).suite


def test_of_a_clause_that_quotes_several_versions_that_of_the_case_is_kept():
    clause = "the first maximum (Hardmax-1, 11); the specified axis (Hardmax-13)"
    assert record(clause=clause).clause == "the specified axis"
    assert record(clause=clause, op=OpVersion("", "Hardmax", 1)).clause == "the first maximum"
    other = "the first maximum (Hardmax-1, 11)"
    assert record(clause=other).clause == other


def test_rulings_are_kept_of_what_did_not_pass():
    assert record(Verdict.FAIL, clause=AXIS).rulings == ("An INT has 64 bits.",)
    assert record(Verdict.PASS, clause=AXIS).rulings == ()


def test_values_are_spelt_in_the_type_of_the_output():
    mismatch = Mismatch((0, 1), 1.0, float("nan"), None, "exact", 0.1)
    compared = wrong_values("float16", mismatch, wrong=1, total=2, where="only at [0, 1]")
    (comparison,) = record(Verdict.FAIL, comparisons=(compared,)).comparisons
    (element,) = comparison.worst
    assert (element.input, element.want, element.got) == ("0.1", "1.0", "nan")
    assert (element.want_bits, element.got_bits) == ("0x3c00", "0x7e00")
    assert (comparison.dtype, comparison.wrong, comparison.total) == ("float16", 1, 2)


def test_the_measures_of_a_record_are_those_of_its_outputs():
    outputs = (Comparison("a", None, used=0.5, unjudged=2), Comparison("b", None, unjudged=3))
    found = record(comparisons=outputs)
    assert (found.used, found.unjudged) == (0.5, 5)
    assert (record().used, record().unjudged) == (None, 0)
