"""Lists of cases, and commands that repeat one."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.model import Alternative, AnyOf, Computed, Golden, Rejected, Source, Values, Verdict
from opcheck.model.case import Given, TensorSpec
from opcheck.report import formatting, listing
from tests.report.made import CASE, Page, result

REFUSED = Rejected("axis out of range", CASE)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        (Values(()), "literal"), (Computed(), "computed"),
        (Golden(Path("data/test_set_0")), "golden test_set_0"), (REFUSED, "rejected"),
        (AnyOf((Alternative("no", REFUSED), Alternative("first", Values(())))), "any of no, first"),
    ],
)  # fmt: skip
def test_an_expectation_in_a_word_or_two(expect, said):
    assert listing.expectation(expect) == said


def test_cases_stand_under_their_files(snapshot):
    long = replace(CASE, id="Hardmax/x@" + "y" * 100, name="x", expect=Computed())
    cases = [CASE, long, replace(CASE, source=Source("other.yaml", 1, 1), rule="should")]
    page = Page(60)
    listing.show(page.console, cases)
    snapshot("listing", page.text)


def test_no_case_is_a_list_too():
    page = Page(60)
    listing.show(page.console, [])
    assert page.lines == ["0 cases of 0 names, 0 with literal expectations"]


def test_a_file_name_cannot_steer_the_terminal():
    page = Page(60)
    listing.show(page.console, [replace(CASE, source=Source("\x1b[2Jx.yaml", 1, 1))])
    assert "\x1b" not in page.text


def test_a_record_is_json():
    found = json.loads(json.dumps(listing.record(CASE)))
    assert found["case"] == CASE.id
    assert found["source"] == "my/ties.yaml:7:3"
    assert found["expect"] == "literal"
    assert found["question"].startswith("Hardmax-13 at opset 13, axis=0, input float32[2, 2]")


@pytest.mark.parametrize(
    ("verdict", "flag"),
    [
        (Verdict.FAIL, None), (Verdict.CRASH, None), (Verdict.WARN, "--strict"),
        (Verdict.UNSUPPORTED, "--require-supported"),
    ],
)  # fmt: skip
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
