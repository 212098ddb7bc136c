"""A benchmark as one HTML page: its numbers are those that a terminal shows."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.model.timing import Timing
from opcheck.report import timings
from opcheck.report.html import run_page
from opcheck.report.timing_store import Stored
from opcheck.timing import Ratio
from tests.report.html.seen import Seen
from tests.report.made import Page
from tests.report.runs import HOSTILE
from tests.report.timed import bench, row, timing


def stored(*, complete=True):
    """Two cases: three backends of which one fails the second case."""
    about = bench("old", "new", "other", included={"other": "a pipe"})
    everybody = [timing("old", 1e-3), timing("new", 8e-4, seed=2), timing("other", 2e-3, seed=3)]
    two = [timing("old", 1e-3), timing("new", 1e-3, seed=4), Timing("other", why_not="fail: so")]
    rows = (row("Softmax/a", everybody), row("Softmax/b", two))
    return Stored(about, rows, complete)


def page_of(kept):
    return "\n".join(run_page.bench_lines(kept))


def test_the_numbers_are_those_of_the_terminal():
    kept, terminal = stored(), Page(160)
    first, second = kept.rows
    more = (replace(first, case=f"Softmax/{name}") for name in "cd")  # three have a mean
    kept = replace(kept, rows=(first, second, *more))
    timings.show(terminal.console, kept.bench, kept.rows)
    text = Seen(page_of(kept)).text
    cells = [
        word
        for line in terminal.lines
        if re.match("(old|new|other)  ", line)
        for word in re.split(r"\s{2,}", line)
        if word not in ("1", "–") and "was not timed" not in word
    ]
    assert len(cells) > 60
    for cell in cells:
        assert cell in text, cell
    assert "other was not timed: fail: so" in text
    assert "a pipe" in text


def test_all_ratios_are_drawn_with_the_names_of_cases_and_backends():
    page = page_of(stored())
    assert [one["id"] for one in Seen(page).all("symbol")] == ["ratios"]
    assert {one["href"] for one in Seen(page).all("use")} == {"#ratios"}
    [ratios] = re.findall(r"<symbol.*?</symbol>", page)
    assert ratios.count(">Softmax/a<") == ratios.count(">Softmax/b<") == 1
    assert ratios.count(">new<") == 2
    assert ratios.count(">other<") == 1
    assert "var(--series-1)" in ratios
    assert "var(--series-0)" not in ratios


@given(st.lists(st.tuples(st.floats(1e-21, 1e21), st.floats(1, 1e3)), min_size=1, max_size=4))
def test_the_ends_and_no_difference_are_marked_above_and_below_whatever_ratios(rows):
    found = [("c", "b", Ratio(value, value / far, value * far)) for value, far in rows]
    inside = run_page.ratios(found, {"b": "--series-0"}).inside
    above, below = (re.findall(f' y="{y}">([^<]+)<', inside) for y in (-4, 16 * len(rows) + 11))
    assert above == below
    assert above[0] == "1.00"
    assert 2 <= len(above) <= 3


def test_a_benchmark_that_was_cut_short_says_so():
    assert "INCOMPLETE" in Seen(page_of(stored(complete=False))).text
    assert "INCOMPLETE" not in Seen(page_of(stored())).text


def test_nothing_timed_is_no_reason_to_fail():
    about = bench("old")
    kept = Stored(about, (row("x", [Timing("old", why_not="crash")]),), True)
    assert "old was not timed: crash" in Seen(page_of(kept)).text
    assert Seen(page_of(Stored(about, (), True))).text


@pytest.mark.parametrize("text", [*HOSTILE, "漢字", "$x$"])
def test_whatever_names_are_they_are_shown_and_no_more(text):
    about = replace(bench(text, "b"), packages={text: text}, included={text: text})
    rows = (row(text, [timing(text, 1e-3), timing("b", 2e-3)], shapes=text),)
    page = Seen(page_of(Stored(about, rows, True)))
    assert len(page.all("script")) == 1
    assert not page.all("img")
    assert not [attrs for _, attrs in page.elements if any(name.startswith("on") for name in attrs)]


def test_where_the_baseline_has_no_time_there_is_no_word_on_the_others():
    kept = stored()
    rows = (row("Softmax/a", [Timing("old", why_not="fail: so"), timing("new", 1e-3)]),)
    assert "no pairs" not in Seen(page_of(replace(kept, rows=rows))).text


def test_what_is_printed_while_it_is_timed_is_told():
    kept = stored()
    loud = replace(timing("new", 1e-3), printed="a\nhello <b>")
    text = Seen(page_of(replace(kept, rows=(row("Softmax/a", [timing("old", 1e-3), loud]),)))).text
    assert "new prints while it is timed: hello <b>" in text
