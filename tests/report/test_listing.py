"""Lists of cases, commands that repeat one, and what is said of the power of a suite."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.model import Alternative, AnyOf, Computed, Golden, Rejected, Source, Values, Verdict
from opcheck.model.case import Given, OpVersion, TensorSpec
from opcheck.model.result import MutantId, Mutation, Power, Score
from opcheck.report import formatting, listing
from tests.report.made import CASE, page_of, result

REFUSED = Rejected("axis out of range", CASE)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        (Values(()), "literal"),
        (Computed(), "computed"),
        (Golden(Path("data/test_set_0")), "golden test_set_0"),
        (REFUSED, "rejected"),
        (AnyOf((Alternative("x1", REFUSED), Alternative("x2", Values(())))), "any of x1, x2"),
    ],
)
def test_an_expectation_in_a_word_or_two(expect, said):
    assert listing.expectation(expect) == said


def test_cases_stand_under_their_files(snapshot):
    long = replace(CASE, id="Hardmax/x@" + "y" * 100, name="x", expect=Computed())
    cases = [CASE, long, replace(CASE, source=Source("other.yaml", 1, 1), rule="should")]
    snapshot("listing", page_of(listing.show, cases, width=60).text)


def test_no_case_is_a_list_too(wording):
    assert page_of(listing.show, []).lines == [wording]


def test_a_file_name_cannot_steer_the_terminal():
    sly = replace(CASE, source=Source("\x1b[2Jx.yaml", 1, 1))
    assert "\x1b" not in page_of(listing.show, [sly]).text


def test_a_record_is_json():
    found = json.loads(json.dumps(listing.record(CASE)))
    assert found["case"] == CASE.id
    assert found["source"] == "my/ties.yaml:7:3"
    assert found["expect"] == "literal"
    assert found["question"].startswith("Hardmax-13 at opset 13, axis=0, input float32[2, 2]")


@pytest.mark.parametrize(
    ("verdict", "flag"),
    [
        (Verdict.FAIL, None),
        (Verdict.CRASH, None),
        (Verdict.WARN, "--strict"),
        (Verdict.UNSUPPORTED, "--require-supported"),
    ],
)
def test_what_is_red_by_an_option_alone_is_repeated_with_it(verdict, flag):
    command = formatting.repeat(result(verdict))
    red = [word for word in command.split() if word in ("--strict", "--require-supported")]
    assert red == ([flag] if flag else [])


@pytest.mark.parametrize(("file", "said"), [("-d.yaml", "./-d.yaml"), ("a-d.yaml", "a-d.yaml")])
def test_a_file_is_repeated_as_a_file_and_not_as_an_option(file, said):
    assert formatting.repeat(result(source=Source(file, 1, 1))).startswith(
        f"opcheck run {said} --case "
    )


def test_a_number_that_is_only_near_another_is_told_from_it():
    values = np.array([1.0000000000000002, 0.1, 2, np.nan])
    spec = TensorSpec("X", DTYPES["float64"], (4,), Given(values))
    assert formatting.tensor(spec) == "X float64[4] [1.0000000000000002, 0.1, 2, nan]"


ELEVEN, THIRTEEN = OpVersion("", "Hardmax", 11), OpVersion("", "Hardmax", 13)
POOL = OpVersion("", "LpPool", 22)
TEXTS = {
    "last_of_ties": "the last of equal maxima won",
    "all_maxima": "all maxima won",
    "axis_wraps": "an axis outside its range wrapped around",
    "input_in_float16": "the input was narrowed to float16",
    "nan_skipped": "NaN was skipped",
    "p_ignored": "p was always 2",
}


def mutant(name, op=THIRTEEN, dtype="float32"):
    return MutantId(op, dtype, name, TEXTS[name])


def killed(name, by, *where):
    return Mutation(mutant(name, *where), killers=(by,))


def survived(name, *where):
    return Mutation(mutant(name, *where))


TIES = replace(CASE, id="Hardmax/ties@opset=11")
WRAPS = replace(CASE, id="Hardmax/axis_out_of_range@opset=13")
MUTATIONS = (
    killed("all_maxima", "Hardmax/ties@opset=13,dtype=float32#last", THIRTEEN, "float32"),
    killed("all_maxima", "Hardmax/ties@opset=13,dtype=float16#last", THIRTEEN, "float16"),
    killed("axis_wraps", "Hardmax/axis_out_of_range@opset=13", THIRTEEN, "float32"),
    survived("axis_wraps", THIRTEEN, "float16"),
    survived("last_of_ties", ELEVEN, "float16"),
    survived("last_of_ties", ELEVEN, "float32"),
    survived("last_of_ties", THIRTEEN, "float32"),
    replace(survived("nan_skipped"), noticers=("Hardmax/nan#first",)),
    replace(survived("input_in_float16", THIRTEEN, "float16"), harmless="it is float16 already"),
    replace(killed("input_in_float16", "Hardmax/neighbours"), harmless="all is small"),
    survived("p_ignored", POOL),
)
POWER = Power(
    MUTATIONS,
    {
        mutant("last_of_ties", ELEVEN): TIES,
        mutant("last_of_ties"): TIES,
        mutant("axis_wraps", THIRTEEN, "float16"): WRAPS,
    },
)


def shown(what, width=80, *, verbose=False):
    return page_of(listing.show_power, what, width=width, verbose=verbose)


@pytest.mark.parametrize("width", [70, 120])
def test_what_is_to_be_done_comes_before_the_scores(snapshot, width):
    snapshot(f"mutation_{width}", shown(POWER, width).text)


def test_all_that_is_known_is_told_on_request(snapshot):
    snapshot("mutation_verbose", shown(POWER, 120, verbose=True).text)


def test_a_whole_score_says_little():
    page = shown(Power(MUTATIONS[:3]))
    assert page.lines[2].split() == ["Hardmax-13", "3", "3", "·", "·", "·", "100", "%"]
    # The legend has the columns with a number alone.
    assert "killed:" in page.text
    assert "warned:" not in page.text
    assert "survived:" not in page.text


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (Score(killed=3), "100 %"),
        (Score(killed=1999, survived=1), "99.9 %"),
        (Score(killed=99_999, survived=1), "99.9 %"),
        (Score(killed=1, survived=2), "33.3 %"),
        (Score(survived=2), "0 %"),
        (Score(warned=1, survived=1), "50 %"),
        (Score(harmless=5), "–"),
    ],
)
def test_a_score_is_never_rounded_up(score, said):
    assert listing.percent(score) == said


def test_an_argument_cannot_steer_the_terminal():
    sly = replace(MUTATIONS[8], harmless="\x1b[2J")
    assert "\x1b" not in shown(Power((sly,)), verbose=True).text
