"""A run in a terminal: which failures are told in full, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opcheck.model import Diagnosis, Ending, OpVersion, Run, Verdict
from opcheck.report import pretty
from tests.report.made import Page, header, record

LAST = Diagnosis("last_of_ties", "as if the last of equal maxima won")
ZEROS = Diagnosis("zeros", "as if nothing was computed")


def shown(*results, **options):
    page = Page(100)
    numbered = [
        replace(one, case=f"{one.case}{n}", place=n) for n, one in enumerate(results, start=0)
    ]
    backends = dict.fromkeys(one.backend for one in results)
    head = header(*backends, cases=len(results))
    pretty.show(page.console, Run(head, tuple(numbered), Ending(True, 1, "so")), **options)
    return page


def in_full(page):
    return [line for line in page.lines if line.startswith(("FAIL ", "ERROR ", "WARN ", "KNOWN "))]


def test_of_failures_that_look_alike_three_are_told_and_the_others_counted():
    page = shown(*[record(Verdict.FAIL, diagnoses=(LAST,)) for _ in range(50)])
    assert len(in_full(page)) == 3
    assert "… and 47 more failures, which are each like 3 of those above: -v shows all" in page.text
    assert "50 failures: 50 explained by 1 cause" in page.text


def test_three_are_no_reason_to_leave_anything_out():
    page = shown(*[record(Verdict.FAIL, diagnoses=(LAST,)) for _ in range(3)])
    assert len(in_full(page)) == 3
    assert "more failure" not in page.text


def test_one_more_is_one():
    page = shown(*[record(Verdict.FAIL, diagnoses=(LAST,)) for _ in range(4)])
    assert "… and 1 more failure, which is like 3 of those above" in page.text


@pytest.mark.parametrize(
    "other",
    [
        {"backend": "bolt", "diagnoses": (LAST,)},
        {"diagnoses": (ZEROS,)},
        {"op": OpVersion("", "Softmax", 13), "diagnoses": (LAST,)},
        {"failure": "shape", "diagnoses": (LAST,)},
        {"verdict": Verdict.ERROR, "diagnoses": (LAST,)},
        {"reason": "another reason"},
    ],
    ids=["another backend", "another look", "another operator", "another way", "error", "no look"],
)
def test_what_differs_is_told_however_many_came_before(other):
    many = [record(Verdict.FAIL, failure="values", diagnoses=(LAST,)) for _ in range(50)]
    one = record(**{"verdict": Verdict.FAIL, "failure": "values"} | other)
    page = shown(*many, one)
    assert len(in_full(page)) == 4
    assert f"{one.backend}  {one.case}50" in in_full(page)[-1]


def test_reasons_that_differ_in_numbers_are_alike():
    many = [record(Verdict.ERROR, reason=f"axis {n} of [{n}, 3]") for n in range(9)]
    assert len(in_full(shown(*many))) == 3


def test_verbose_tells_all_and_quiet_none():
    many = [record(Verdict.FAIL, diagnoses=(LAST,)) for _ in range(50)]
    page = shown(*many, verbose=True)
    assert len(in_full(page)) == 50
    assert "more failure" not in page.text
    page = shown(*many, quiet=True)
    assert in_full(page) == []
    assert "more failure" not in page.text


def test_every_cause_is_in_the_tables_though_it_is_told_in_full_no_more():
    looks = [Diagnosis(f"mistake_{n}", f"as if {n}") for n in range(30)]
    page = shown(*[record(Verdict.FAIL, diagnoses=(look,)) for look in looks for _ in range(5)])
    assert "150 failures: 150 explained by 30 causes" in page.text
    assert all(f"({look.mistake})" in page.text for look in looks)
