import json
from dataclasses import replace

import pytest

from opcheck.clauses import CheckedSentence, Sentence, Survey
from opcheck.errors import Problem
from opcheck.model import OpVersion, Source
from opcheck.report import listing
from tests.report.made import CASE, page_of

OP = OpVersion("", "Hardmax", 13)


def checked(text, part="Summary", nothing=None, ruling=None, **cases):
    names = () if nothing else ("ties",)
    source = Source("cases/onnx/softmax.hardmax.clauses.yaml", 7, 5)
    return CheckedSentence(Sentence(text, part, names, nothing, ruling, source), cases)


SURVEY = Survey(
    OP,
    "https://example.org/Hardmax",
    (
        checked("function: False", "Version", "how a backend computes it is its own affair"),
        checked(
            "A one at the first maximum of every row, and zeros in all the other places.",
            ruling="The first is the one with the lowest index.",
            first_of_ties=1200,
            nan=31,
        ),
        checked("The output has the shape of the input.", a=1, b=2, c=3, d=4, e=5, f=6),
        checked("Accepted range is [-r, r-1].", "Attribute axis"),
    ),
    (
        replace(CASE, id="x", clause="The last\n  maximum", source=Source("my.yaml", 3, 3)),
        replace(CASE, id="y", clause="The last\n  maximum"),
        replace(CASE, id="z", clause="No\x1b[2J maximum", source=Source("\x1b.yaml", 9, 3)),
    ),
)


@pytest.mark.parametrize("width", [60, 100])
def test_a_page_is_a_table_of_its_sentences_and_their_cases(snapshot, width):
    page = page_of(listing.show_clauses, [SURVEY], width=width)
    assert max(map(len, page.text.split("not on this page")[0].splitlines())) <= width
    snapshot(f"clauses_{width}", page.text)


def test_what_no_case_at_hand_tests_is_counted_only_where_there_is_some(wording):
    page = page_of(listing.show_clauses, [replace(SURVEY, sentences=SURVEY.sentences[:3])])
    assert page.lines[1] == wording


def test_pages_that_are_not_held_are_told():
    surveys = [Survey(OpVersion("", "Concat", since), None, (), ()) for since in (11, 13)]
    said = "no text of it is known"
    assert page_of(listing.show_clauses, surveys).lines == [
        f"Concat-11: {said}",
        "",
        f"Concat-13: {said}",
    ]


def test_an_entry_that_names_no_sentence_is_shown_with_its_place():
    problem = Problem(
        "cases/onnx/softmax.hardmax.clauses.yaml", 3, 5, "'The outputs': there is no such sentence"
    )
    survey = replace(SURVEY, strays=(), problems=(problem,))
    assert page_of(listing.show_clauses, [survey], width=100).lines[-1] == str(problem)
    assert [*listing.clause_records(survey)][-1]["problem"] == str(problem)


def test_no_quotation_can_steer_the_terminal():
    assert "\x1b" not in page_of(listing.show_clauses, [SURVEY]).text


def test_records_are_json(wording):
    _, one, *_, stray = json.loads(json.dumps(list(listing.clause_records(SURVEY))))
    assert one == {
        "op": "Hardmax",
        "domain": "",
        "since": 13,
        "part": "Summary",
        "sentence": SURVEY.sentences[1].sentence.text,
        "ruling": wording,
        "ruling_since": None,
        "nothing": None,
        "cases": {"first_of_ties": 1200, "nan": 31},
        "source": "cases/onnx/softmax.hardmax.clauses.yaml:7:5",
    }
    assert stray == {
        "op": "Hardmax",
        "domain": "",
        "since": 13,
        "stray": SURVEY.strays[2].clause,
        "cases": ["z"],
    }
