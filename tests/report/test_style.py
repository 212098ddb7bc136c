"""Tables on narrow and wide consoles, on light and dark ones, and without Unicode."""

from dataclasses import fields, replace

import pytest
from rich.color import Color
from rich.style import Style

from opcheck import model
from opcheck.model import Comparison, ComparisonRecord, LiveResult, Mismatch, OpVersion, Verdict
from opcheck.report import style
from opcheck.report.formatting import Recorder
from opcheck.suite import case_digest
from tests.expecting import of_type
from tests.report.html.test_plots import contrast
from tests.report.made import CASE, page_of, record, wrong_values

ROWS = [
    ("DML_ACTIVATION_HARDMAX1-1", "onnxruntime 1.31.1", "7"),
    ("DML_ACTIVATION_HARDMAX1-1", "reference 1.23.2", "12"),
    ("Hardmax-1", "onnxruntime 1.31.1", "123"),
]


COLUMNS = ["operator", "backend", style.Numbers("pass")]


def shown(width):
    return page_of(style.put, style.grouped(COLUMNS, ROWS), width=width).lines


def test_names_of_groups_stand_in_a_column():
    assert shown(80) == [
        "operator                   backend             pass",
        "───────────────────────────────────────────────────",
        "DML_ACTIVATION_HARDMAX1-1  onnxruntime 1.31.1     7",
        "                           reference 1.23.2      12",
        "Hardmax-1                  onnxruntime 1.31.1   123",
    ]


def test_numbers_are_never_cut():
    assert {"7", "12", "123"} <= {line.split()[-1] for line in shown(5)}


@pytest.mark.parametrize("name", sorted({*style.COLOURS.values(), "bright_black", "dim"}))
@pytest.mark.parametrize("paper", ["#000000", "#ffffff"], ids=["on black", "on white"])
def test_every_colour_is_readable(name, paper):
    assert contrast(of_type(Color, style.THEME.styles[name].color).get_truecolor().hex, paper) > 3.0


def test_bold_is_of_the_same_colour():
    for name, bold in style.THEME.styles.items():
        if name.startswith("bold "):
            assert bold == Style(bold=True) + style.THEME.styles[name.removeprefix("bold ")]


AXIS = "axis - INT (default is '-1')"


def test_a_record_has_all_that_a_result_has():
    kept = {field.name for field in fields(LiveResult)} - {"case"}
    assert kept < {field.name for field in fields(model.Record)}
    # A result's reason says in words that elements are open.
    kept_of_output = {field.name for field in fields(Comparison)} - {"has_open_elements"}
    assert kept_of_output == {field.name for field in fields(ComparisonRecord)}


def test_a_case_keeps_its_place_in_the_whole_selection_whichever_is_judged_first():
    cases = [replace(CASE, id=f"Hardmax/{name}") for name in ("a", "b", "c")]
    recorder = Recorder(cases)
    found = [recorder.record(LiveResult(case, "acme", Verdict.PASS)) for case in reversed(cases)]
    places = [(one.case, one.place) for one in found]
    assert places == [("Hardmax/c", 2), ("Hardmax/b", 1), ("Hardmax/a", 0)]
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
