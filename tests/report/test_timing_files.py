"""A benchmark as CSV and Markdown."""

import csv
from dataclasses import replace

from opcheck.model.timing import Timing
from opcheck.report.timing_files import TimingRow, lines, timing_rows
from opcheck.report.timings import Stored
from tests.report.timed import bench, row, stored, timing


def test_csv_has_a_line_for_each_backend_of_each_case() -> None:
    table = [*csv.DictReader(lines("csv", stored()))]
    assert [(it["case"], it["backend"]) for it in table] == [
        (case, backend)
        for case in ("Softmax/a", "Softmax/b")
        for backend in ("old", "new", "other")
    ]
    assert tuple(table[0]) == TimingRow._fields


def test_numbers_are_seconds_and_the_ratio_to_the_baseline() -> None:
    old, new, _, _, _, lost = csv.DictReader(lines("csv", stored()))
    assert 0.9e-3 < float(old["median"]) < 1.1e-3
    assert float(old["lower_quartile"]) < float(old["median"]) < float(old["upper_quartile"])
    assert (old["ratio"], old["verdict"]) == ("", "baseline")
    assert float(new["ratio_low"]) < float(new["ratio"]) < float(new["ratio_high"]) < 1
    assert new["verdict"] == "faster"
    assert (lost["median"], lost["verdict"], lost["not_timed"]) == ("", "", "fail: so")


def test_a_derived_case_is_marked() -> None:
    made = row("Relu/derived@opset=14", [timing("old", 1e-3)])
    written = row("Relu/derived_rows", [timing("old", 1e-3)])
    rows = timing_rows(Stored(bench("old"), (made, written), complete=True))
    assert [it.derived for it in rows] == [True, False]


def test_a_text_of_several_lines_stays_in_one() -> None:
    chatty = Timing("old", why_not="one\ntwo, and\r\nthree")
    found = [*lines("csv", Stored(bench("old"), (row("x", [chatty]),), complete=True))]
    assert len(found) == 2
    assert "\n" not in found[1]


def test_markdown_has_a_table_and_why_a_backend_has_no_time() -> None:
    found = [*lines("markdown", stored())]
    assert found[0] == "## opcheck bench"
    assert "processors: 8" in found[2]
    table = [line for line in found if line.startswith("|")]
    assert len(table) == 2 + 6
    assert "not timed: fail" in table[-1]
    assert "faster" in table[3]


def test_names_are_no_markup() -> None:
    evil = replace(row("a|<b>", [timing("old", 1e-3)]))
    found = [*lines("markdown", Stored(bench("old"), (evil,), complete=True))]
    assert "<b>" not in found[-1]
    assert found[-1].count("|") == 8
