"""A run in a terminal: which failures are told in full, and what is said of the others."""

from dataclasses import replace

import pytest

from opcheck.model import GRAPH, Diagnosis, Ending, OpVersion, Run, Source, Verdict
from opcheck.report import summary
from tests.report.made import Page, header, record
from tests.wording import lines_with

LAST = Diagnosis("last_of_ties", "the last of equal maxima won")
ZEROS = Diagnosis("zeros", "nothing was computed")


def shown(*results, **options):
    page = Page(100)
    numbered = [replace(one, case=f"{one.case}{n}", place=n) for n, one in enumerate(results)]
    head = header(*dict.fromkeys(one.backend for one in results), cases=len(results))
    summary.show(page.console, Run(head, tuple(numbered), Ending(True, 1, "so")), **options)
    return page


def in_full(page):
    return [line for line in page.lines if line.startswith(("FAIL ", "ERROR ", "WARN ", "KNOWN "))]


@pytest.mark.parametrize(("diagnoses", "told"), [((LAST,), 1), ((), 3)])
def test_of_failures_that_look_alike_few_are_shown_and_the_others_counted(diagnoses, told):
    page = shown(*[record(Verdict.FAIL, diagnoses=diagnoses) for _ in range(50)])
    assert len(in_full(page)) == told
    assert f"… and {50 - told} more failures" in page.text
    assert "50 failures" in page.text
    page = shown(*[record(Verdict.FAIL, diagnoses=diagnoses) for _ in range(told)])
    assert len(in_full(page)) == told
    assert "more failure" not in page.text


def test_one_more_is_one(wording):
    page = shown(*[record(Verdict.FAIL) for _ in range(4)])
    assert lines_with(page.text, "… and 1 more failure") == wording


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
    assert len(in_full(page)) == 2
    assert f"{one.backend}  {one.case}50" in in_full(page)[-1]


def test_reasons_that_differ_in_numbers_are_alike():
    many = [record(Verdict.ERROR, reason=f"axis {n} of [{n}, 3]") for n in range(9)]
    assert len(in_full(shown(*many))) == 3


def test_of_failures_with_the_same_words_few_are_shown_whatever_they_look_like():
    looks = [Diagnosis(f"mistake_{n}", f"looks like {n}") for n in range(9)]
    many = [record(Verdict.ERROR, reason="no device", diagnoses=(look,)) for look in looks]
    assert len(in_full(shown(*many))) == 3
    assert len(in_full(shown(*many, record(Verdict.ERROR, reason="no kernel")))) == 4


@pytest.mark.parametrize(("live", "label"), [(True, "so far"), (False, "likely")])
def test_causes_are_marked_that_later_results_may_speak_against(live, label):
    page = shown(record(Verdict.FAIL, diagnoses=(LAST, ZEROS)), live=live)
    labels = [line[2:8] for line in page.lines if line.startswith("  ")]
    assert label in labels
    assert len({"so far", "likely"} & {*labels}) == 1
    assert any(line.startswith("so far: ") for line in page.lines) == live


def test_without_a_cause_nothing_is_preliminary():
    page = shown(record(Verdict.FAIL), live=True)
    assert "so far" not in page.text


def test_twice_verbose_shows_all_and_quiet_none():
    many = [record(Verdict.FAIL, diagnoses=(LAST,)) for _ in range(50)]
    assert len(in_full(shown(*many, verbose=1))) == 1
    page = shown(*many, record(Verdict.WARN), verbose=2)
    assert len(in_full(page)) == 51
    assert "more failure" not in page.text
    page = shown(*many, quiet=True)
    assert in_full(page) == []
    assert "more failure" not in page.text


def test_every_cause_is_in_the_tables_though_it_is_told_in_full_no_more(wording):
    looks = [Diagnosis(f"mistake_{n}", f"as if {n}") for n in range(30)]
    page = shown(*[record(Verdict.FAIL, diagnoses=(look,)) for look in looks for _ in range(5)])
    assert lines_with(page.text, "150 failures: 150 explained by 30") == wording
    assert all(f"({look.mistake})" in page.text for look in looks)


@pytest.mark.parametrize(("verdict", "is_named"), [(Verdict.WARN, True), (Verdict.PASS, False)])
def test_a_warning_of_a_model_ends_with_the_command_that_judges_its_nodes(verdict, is_named):
    source = Source("net.onnx", 0, 0)
    repeat = "opcheck run net.onnx --dim=n=4 --case net.onnx -b acme --no-known"
    result = replace(record(verdict, op=GRAPH, source=source), repeat=repeat)
    assert ("  opcheck locate net.onnx --dim=n=4 -b acme  #" in shown(result).text) is is_named
