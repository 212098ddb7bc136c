import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opcheck import model
from opcheck.dtypes import DTYPES
from opcheck.report import summary
from tests.report.made import CASE, Page, record, recorded, result, with_label, wrong_values

# Told apart by their last digits alone.
LONG = (0.12345678901234566, 0.12345678901234568)


def shown(answer, width=80, **settings):
    page = Page(width, **settings)
    summary.show_failure(page.console, recorded(answer))
    return page


@pytest.mark.parametrize("width", [80, 120])
def test_a_wrong_value(snapshot, width):
    worst = (
        model.Mismatch((0, 1), 0.0, 1.0, 1065353216, "exact", 3.0),
        model.Mismatch((1, 0), 1.0, float("nan"), None, "exact", 3.0),
        model.Mismatch((1, 1), -0.0, float("-inf"), 2139095040, "exact", 0.5),
    )
    comparison = wrong_values("float32", *worst, wrong=4711, total=5000, where="scattered")
    answer = result(
        model.Verdict.FAIL,
        reason="output: 4711 of 5000 elements wrong",
        comparisons=(comparison,),
        clause="1 for the first maximum “value” — größter Wert, 最大値 — and 0 for all others",
    )
    snapshot(f"failure_values_{width}", shown(answer, width).text)


@pytest.mark.parametrize("shipped", [True, False])
def test_only_a_shipped_case_has_the_command_that_shows_it(shipped: bool) -> None:
    source = model.Source("cases/onnx/softmax.yaml", 12, 5, shipped=shipped)
    page = Page(80)
    failure = record(model.Verdict.FAIL, source=source)
    summary.show_failure(page.console, failure)
    assert (f"opcheck show {shlex.quote(failure.case)}" in page.text) is shipped


def test_what_a_failure_looks_like_the_likeliest_first(wording):
    mistakes = [model.Diagnosis(name, f"as if it was {name}") for name in ("a", "b", "c", "d")]
    lines = shown(result(model.Verdict.FAIL, diagnoses=tuple(mistakes))).lines
    at = next(place for place, line in enumerate(lines) if line.startswith("  likely"))
    assert lines[at : at + 4] == wording


@pytest.mark.parametrize(
    ("value", "wrong", "told"),
    [
        (7, 1, "input  want"),
        (None, 1, "index  want"),
        (None, 2, "… and 1 more element\n"),
        (None, 3, "… and 2 more elements"),
    ],
)
def test_the_table_has_inputs_where_there_are_any_and_tells_what_is_left_out(value, wrong, told):
    mismatch = model.Mismatch((0,), 0, 1, None, "exact", value)
    comparison = wrong_values("int8", mismatch, wrong=wrong, total=3, where="everywhere")
    assert told in shown(result(model.Verdict.FAIL, comparisons=(comparison,))).text


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_digit_of_a_value_is_cut_however_narrow_the_terminal(width):
    mismatch = model.Mismatch((10, 200, 3000), *LONG, 1, "±0 ULP", -1.7976931348623157e308)
    comparison = wrong_values("float64", mismatch, wrong=1, total=1, where="everywhere")
    page = shown(result(model.Verdict.FAIL, comparisons=(comparison,)), width)
    [row] = [line for line in page.lines if line.startswith(" " * 10 + "[10, 200, 3000]")]
    assert row.split()[3:6] == ["-1.7976931348623157e+308", *map(str, LONG)]


ASKED = ["--case", CASE.id, "-b", "acme", "--no-known"]


@pytest.mark.parametrize(
    ("verdict", "source", "words"),
    [
        (model.Verdict.FAIL, CASE.source, ["my/ties.yaml", *ASKED]),
        (model.Verdict.WARN, CASE.source, ["my/ties.yaml", *ASKED, "--strict"]),
        (
            model.Verdict.FAIL,
            model.Source("my cases/it's.yaml", 1, 1),
            ["my cases/it's.yaml", *ASKED],
        ),
        (model.Verdict.FAIL, model.Source("cases/x.yaml", 1, 1, shipped=True), ASKED),
    ],
    ids=["failure", "warning", "name with a blank", "shipped case"],
)
def test_ids_and_commands_are_never_folded(verdict, source, words):
    page = shown(result(verdict, reason="x" * 300, source=source), 40)
    assert page.lines[0] == f"{verdict.upper()} acme  {CASE.id}"
    assert shlex.split(with_label(page.lines, "repeat")) == ["opcheck", "run", *words]


def test_only_wrong_values_get_a_table():
    fine = model.Comparison("Y", None, dtype=DTYPES["float32"], total=4)
    shape = model.Comparison("Z", "shape", "(4,), want (2, 2)", used=np.inf)
    page = shown(result(model.Verdict.FAIL, reason="Z: shape", comparisons=(fine, shape)))
    assert "index" not in page.text
    assert "where" not in page.text


FIRST = "the first maximum (Hardmax-1, 11)"
DOUBT = replace(wrong_values("float32", wrong=1, total=2000, where="only at [0]"), unjudged=1200)
LANES = model.Known("Lanes are mixed up.", None, "acme.yaml")


@pytest.mark.parametrize(
    ("fields", "label", "is_there"),
    [
        ({"clause": ""}, "clause", False),
        ({"clause": "", "verdict": model.Verdict.BAD_CASE}, "clause", False),
        # Of a clause that quotes several versions, that of the case is shown.
        ({"clause": f"{FIRST}; the specified axis (Hardmax-13)"}, "clause", True),
        ({"clause": FIRST}, "clause", True),
        # How opcheck reads a sentence is told where it does not decide.
        ({"clause": "axis - INT (default is '-1')"}, "ruling", True),
        ({"clause": "Default value is -1."}, "ruling", False),
        ({}, "rule", False),
        ({"rule": "should"}, "rule", True),
        ({}, "cause", False),
        ({"verdict": model.Verdict.KNOWN, "known": LANES}, "cause", True),
        ({"comparisons": (DOUBT,)}, "doubt", True),
        *(({"printed": printed}, "printed", False) for printed in ("", "\n", " \r\n\t")),
    ],
)
def test_a_label_stands_there_where_there_is_something_to_tell(fields, label, is_there, wording):
    lines = shown(result(**{"verdict": model.Verdict.FAIL, **fields})).lines
    found = [line[10:] for line in lines if line.startswith(f"  {label} ")]
    assert found == ([wording] if is_there else [])


WORDS = "none of the admitted answers, as a sentence that is long for a small terminal says"


@pytest.mark.parametrize("width", [40, 80])
def test_sentences_are_folded_on_a_terminal_and_whole_in_a_pipe(width, wording):
    answer = result(model.Verdict.FAIL, reason=WORDS, clause=WORDS)
    assert with_label(shown(answer, width).lines, "found") == wording
    page = Page(width)
    page.file.isatty = lambda: True
    summary.show_failure(page.console, recorded(answer))
    copied = ("FAIL ", "  written ", "  repeat ")
    assert all(len(line) <= width or line.startswith(copied) for line in page.lines)
    assert " ".join(WORDS.split()) in " ".join(page.text.split())
    assert with_label(page.lines, "repeat") == recorded(answer).repeat


HOSTILE = (
    "\x1b[2J\x1b]0;title\x07[red]ha[/] [/nope]\r\n\x9b31m\u202egnp\u202c\nexit 0: conforms\x00"
)


def test_hostile_words_cannot_steer_the_terminal_nor_pass_for_ours():
    hostile = result(model.Verdict.ERROR, reason=HOSTILE, clause=HOSTILE, printed=HOSTILE)
    page = shown(hostile, force_terminal=True)
    for character in "\x1b\x07\x9b\u202e\u202c\x00\r":
        assert character not in page.text
    assert "[red]ha[/] [/nope]" in page.text
    assert not any(line.startswith("exit") for line in page.lines)
    assert " " * 10 + "exit 0: conforms" in page.text
    assert with_label(page.lines, "printed").startswith("�[2J")


def test_a_message_of_many_lines_is_cut():
    page = shown(result(model.Verdict.ERROR, reason="\n".join(map(str, range(1000)))))
    assert len(page.lines) < 30
    assert " " * 10 + "… and 980 more lines" in page.lines


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (model.Fill("uniform", (0.0, 1.5), 7), "uniform 0, 1.5 seed 7"),
        (model.Fill("constant", (2.0,), 7), "constant 2"),
        (model.Fill("specials", ()), "specials"),
        (model.Given(np.array([[1.0, -np.inf], [np.nan, -0.0]])), "[[1, -inf], [nan, -0]]"),
        (model.Given(np.zeros((5, 5))), ""),
        (model.FromFile(Path("data/x.npy")), "from x.npy"),
    ],
)
def test_the_question_is_told_in_a_line(content, said):
    shape = content.values.shape if isinstance(content, model.Given) else (2, 2)
    spec = model.TensorSpec("input", DTYPES["float32"], shape, content)
    asked = with_label(shown(result(model.Verdict.FAIL, inputs=(spec,))).lines, "asked")
    dims = ", ".join(map(str, shape))
    assert asked == f"Hardmax-13 at opset 13, axis=0, input float32[{dims}] {said}".rstrip()


def test_attributes_are_spelt_as_in_case_files():
    page = shown(result(model.Verdict.FAIL, attrs={"axes": (0, 2), "mode": "same"}))
    assert "axes=[0, 2] mode=same" in with_label(page.lines, "asked")
    assert "no attributes" in shown(result(model.Verdict.FAIL, attrs={})).text


@pytest.mark.parametrize(
    "verdict",
    [model.Verdict.UNSTABLE, model.Verdict.CRASH, model.Verdict.TIMEOUT, model.Verdict.OOM],
)
def test_the_verdict_stands_in_words_and_in_colour(verdict):
    page = Page(80, color_system="standard", force_terminal=True)
    summary.show_failure(page.console, record(verdict))
    assert f"\x1b[1;31m{verdict.upper()}\x1b[0m" in page.text


@pytest.mark.parametrize("traceback", [False, True])
def test_a_traceback_is_shown_on_demand_alone(traceback):
    printed = "a warning\nthe traceback:\n| Traceback:\n|   File x\nraised at x.py:7\n| bar\n"
    page = Page(80)
    answer = result(model.Verdict.ERROR, reason="raised", printed=printed)
    summary.show_failure(page.console, recorded(answer), traceback=traceback)
    assert ("Traceback:" in page.text) is traceback
    assert with_label(page.lines, "printed") == "a warning"
    assert "          raised at x.py:7\n          | bar\n" in page.text


def test_a_crash_is_shown_with_the_end_of_what_was_printed(snapshot):
    printed = "\n".join(["a warning", *(f"frame {number}" for number in range(25)), "aborting"])
    answer = result(model.Verdict.CRASH, reason="killed by SIGABRT", printed=printed + "\n")
    snapshot("failure_crash", shown(answer).text)
