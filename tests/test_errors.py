import subprocess
import sys

import pytest

from opcheck import errors
from opcheck.dtypes import DTYPES


def test_exit_codes_are_those_of_the_manual_in_order_of_precedence():
    assert [int(code) for code in errors.Exit] == [130, 2, 4, 1, 3, 5, 0]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.OpcheckError("m"), 2),
        (errors.UsageError("m"), 2),
        (errors.CaseFileError([errors.Problem("f", 1, 1, "m")]), 2),
        (errors.BackendUnavailable("m"), 4),
    ],
)
def test_errors_know_their_exit_code(error, code):
    assert error.exit_code == code


def test_a_hint_stands_in_a_line_of_its_own():
    assert errors.UsageError("no such thing", "try that").lines() == ["no such thing", "  try that"]
    assert errors.UsageError("no such thing").lines() == ["no such thing"]


def test_a_problem_begins_with_its_place():
    assert str(errors.Problem("a.yaml", 3, 7, "bad", "do so")) == "a.yaml:3:7: bad (do so)"
    assert str(errors.Problem("a.yaml", 3, 7, "bad")) == "a.yaml:3:7: bad"


def test_a_problem_of_the_whole_file_has_no_line():
    assert str(errors.Problem("folder", 0, 0, "no cases")) == "folder: no cases"


def test_problems_come_in_file_order_and_once():
    early, late, other = (
        errors.Problem("a.yaml", 2, 9, "early"),
        errors.Problem("a.yaml", 10, 1, "late"),
        errors.Problem("b.yaml", 1, 1, "other"),
    )
    error = errors.CaseFileError([other, late, early, late])
    assert error.problems == (early, late, other)
    assert error.lines()[-1].startswith("3 problems in 2 files")


def test_one_problem_is_one_problem():
    error = errors.CaseFileError([errors.Problem("a", 1, 1, "m")])
    assert error.lines()[-1].startswith("1 problem in 1 file;")


def test_problems_of_one_place_stay_in_the_order_found():
    program = (
        "from opcheck.errors import *\n"
        "found = [Problem('a', 1, 1, message) for message in 'qwertzuiop']\n"
        "print(*(problem.message for problem in CaseFileError(found).problems), sep='')"
    )
    # The order of a set of texts differs from process to process.
    for seed in ("0", "1", "2"):
        said = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout.strip() == "qwertzuiop"


def test_no_more_problems_are_shown_than_one_reads(wording):
    problems = [errors.Problem("a.yaml", line, 1, "m") for line in range(1, 5001)]
    lines = errors.CaseFileError(problems).lines()
    assert len(lines) == 101
    assert lines[99] == "a.yaml:100:1: m"
    assert lines[100] == wording


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("flaot32", "float32"),
        ("FLOAT32", "float32"),
        ("hardmx", "Hardmax"),
        ("max", "Hardmax"),
        ("float16,zzz", "float16"),
    ],
)
def test_near_words_are_proposed(word, meant, wording):
    hint = errors.did_you_mean(word, ["float32", "float16", "Hardmax"])
    assert repr(meant) in str(hint)
    assert hint == wording


@pytest.mark.parametrize("word", ["16", "zzz", ""])
def test_words_that_are_not_near_are_not_proposed(word):
    assert errors.did_you_mean(word, ["float32", "float16", "Hardmax"]) is None


def test_of_several_known_words_each_is_to_be_named_by_itself(wording):
    assert errors.did_you_mean("hardmax, float16", ["float32", "float16", "Hardmax"]) == wording


@pytest.mark.parametrize(
    ("word", "near"),
    [
        # What was left out counts less than what was mistaken, and the end of a name least.
        ("flot32", ["float32"]),
        ("float8e4", ["float8e4m3fn", "float8e4m3fnuz"]),
        ("unit8", ["uint8", "int8"]),
        ("float61", ["float64", "float16"]),
        ("half", ["float16"]),
    ],
)
def test_the_nearest_word_takes_fewest_edits(word, near):
    assert errors.nearest(word, DTYPES) == near


def test_nothing_is_near_where_nothing_is_known():
    assert errors.did_you_mean("x", []) is None
