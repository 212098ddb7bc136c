"""Who agrees with whom, and what is said of those who do not."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck import model
from opcheck.compare.verdict import ALONE, Judgement, judge_among, unstable_if_inconsistent
from opcheck.dtypes import DTYPES
from tests.report.made import CASE
from tests.wording import Wording

Y = (model.OutputSpec("Y", DTYPES["float32"]),)
NEAR = model.Tolerance(atol=0.1)
NO = model.Raised("run", "InvalidGraph", "no such axis", documented=True)


def says(*values: float, dtype: Any = np.float32) -> model.Produced:
    return model.Produced((np.array(values, dtype),), 0.1)


def among(*outcomes, tolerance=NEAR, outputs=Y, rule="must", op="Gemm"):
    stated = {"rule": rule, "outputs": outputs, "tolerance": tolerance}
    case = replace(CASE, op=model.OpVersion("", op, 13), **stated)
    return [*judge_among(case, dict(zip("ABCDE", outcomes, strict=False))).values()]


def verdicts(found: list[Judgement]) -> list[str]:
    return [judgement.verdict for judgement in found]


def test_two_that_agree_pass_and_each_names_the_other() -> None:
    one, other = among(says(1, 2), says(1, 2.05))
    assert (one.verdict, one.against, one.reason) == (model.Verdict.PASS, ("B",), "")
    assert (other.verdict, other.against, other.reason) == (model.Verdict.PASS, ("A",), "")
    assert 0 < other.comparisons[0].used < 1
    # Of several the first is shown.
    one, *_ = among(says(1, 2), says(1, 2.05), says(1, 2))
    assert one.comparisons[0].used == pytest.approx(0.5, 1e-3)


def test_of_two_that_differ_nobody_is_accused(wording: Wording) -> None:
    one, other = among(says(1, 2, 3), says(1, 2, 4))
    assert (one.verdict, one.against) == (model.Verdict.DIFFER, ("B",))
    assert one.reason == wording
    assert (other.verdict, other.failure) == (model.Verdict.DIFFER, "values")
    assert other.reason == wording
    (worst,) = other.comparisons[0].worst
    assert (worst.index, worst.want, worst.got) == ((2,), 3, 4)


def test_answers_of_different_shapes_differ(wording: Wording) -> None:
    one, other = among(says(1), says(1, 1))
    assert (one.failure, one.reason) == ("shape", wording)
    assert verdicts([one, other]) == ["differ", "differ"]


def test_one_element_that_is_no_number_in_one_answer_only_is_a_difference() -> None:
    assert verdicts(among(says(np.nan, 1), says(np.nan, 1))) == ["pass", "pass"]
    assert verdicts(among(says(np.nan, 1), says(1, 1))) == ["differ", "differ"]
    assert verdicts(among(says(np.inf, 1), says(3e38, 1))) == ["differ", "differ"]


def test_without_tolerance_answers_agree_exactly() -> None:
    above = float(np.nextafter(np.float32(1), np.float32(2)))
    assert verdicts(among(says(1), says(above), tolerance=None)) == ["differ", "differ"]


def test_to_be_near_is_asked_of_both_sides() -> None:
    # A tenth of 1.0 is less than a tenth of 1.105: nearness to the larger alone is not enough.
    tenth = model.Tolerance(rtol=0.1)
    assert verdicts(among(says(1), says(1.105), tolerance=tenth)) == ["differ", "differ"]
    assert verdicts(among(says(1.105), says(1), tolerance=tenth)) == ["differ", "differ"]
    assert verdicts(among(says(1), says(1.05), tolerance=tenth)) == ["pass", "pass"]


def test_two_majorities_are_none(wording: Wording) -> None:
    found = among(says(1), says(1.08), says(1.09), says(1.16))
    assert verdicts(found) == ["differ", "pass", "pass", "differ"]
    assert found[0].reason == wording


@pytest.mark.parametrize(("again", "is_steady"), [(None, True), (0.95, True), (0.5, False)])
def test_answers_to_the_same_data_lie_within_the_tolerance(again: Any, is_steady: bool) -> None:
    case = replace(CASE, outputs=Y, tolerance=NEAR)
    outcome = says(1)
    if again is not None:
        outcome = replace(outcome, again=says(again).outputs, differs="output Y differs")
    assert unstable_if_inconsistent(case, outcome).unstable == (
        None if is_steady else "output Y differs"
    )
    # What is no answer, or has another form, is judged as that.
    for other in (NO, replace(outcome, outputs=()), replace(says(1, dtype=np.int32), again=())):
        assert unstable_if_inconsistent(case, other) is other


def test_the_odd_one_out_is_named_as_one_that_differs(wording: Wording) -> None:
    a, b, c = among(says(1), says(5), says(1))
    assert verdicts([a, b, c]) == ["pass", "differ", "pass"]
    assert b.reason == wording
    assert (a.reason, a.against) == ("B differs", ("C",))
    a, *_ = among(says(1), says(5), says(1), says(1))
    assert (a.reason, a.against) == ("B differs", ("C", "D"))


def test_without_a_majority_all_differ(wording: Wording) -> None:
    assert verdicts(among(says(1), says(5), says(9))) == ["differ"] * 3
    a, *rest = among(says(1), says(5), says(1), says(5))
    assert verdicts([a, *rest]) == ["differ"] * 4
    assert a.reason == wording


def test_who_lies_between_two_that_differ_agrees_with_both_and_makes_no_majority(
    wording: Wording,
) -> None:
    low, middle, high = among(says(1), says(1.08), says(1.16))
    assert verdicts([low, middle, high]) == ["differ", "pass", "differ"]
    assert middle.reason == wording
    assert low.reason == wording


@given(st.lists(st.sampled_from([0.0, 0.04, 0.08, 0.12, 5.0]), min_size=2, max_size=5))
def test_whoever_passes_agrees_with_somebody_and_if_two_differ_somebody_fails(values):
    found = among(*map(says, values))
    unlike = any(abs(one - other) > 0.1 for one in values for other in values)
    assert unlike == ("differ" in verdicts(found))
    for number, judgement in enumerate(found):
        if judgement.verdict is model.Verdict.PASS:
            others = values[:number] + values[number + 1 :]
            assert any(abs(values[number] - other) <= 0.1 for other in others)


@pytest.mark.gate
@given(st.lists(st.sampled_from([0.0, 0.08, 0.16, 5.0]), min_size=2, max_size=4))
def test_the_order_of_the_backends_is_no_matter(values: list[float]) -> None:
    found = verdicts(among(*map(says, values)))
    for order in permutations(range(len(values))):
        assert verdicts(among(*(says(values[n]) for n in order))) == [found[n] for n in order]


def test_to_refuse_what_another_answers_is_to_differ_and_nobody_is_accused(
    wording: Wording,
) -> None:
    one, other = among(says(1), NO)
    assert (one.verdict, one.reason) == (model.Verdict.DIFFER, wording)
    assert (other.verdict, other.failure) == (model.Verdict.DIFFER, "raised")
    assert other.reason == wording


@pytest.mark.parametrize(
    ("outcomes", "wanted"),
    [
        ((NO, says(1), says(1)), ["differ", "pass", "pass"]),
        ((says(1), NO, NO), ["differ"] * 3),
        ((NO, NO), ["error"] * 2),
    ],
    ids=["one refuses", "most refuse", "all refuse"],
)
def test_that_most_refuse_makes_no_refusal_right(outcomes, wanted, wording: Wording) -> None:
    found = among(*outcomes)
    assert (verdicts(found), found[0].reason) == (wanted, wording)


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (model.Declined("no kernel"), "unsupported"),
        (model.Crashed("killed by SIGSEGV"), "crash"),
        (model.TimedOut(30), "timeout"),
        (model.NotRun("nothing"), "not run"),
        (model.Produced((np.zeros(1, np.float32),), 0.1, unstable="differs"), "unstable"),
        (model.Raised("third run", "Oops", "", documented=False), "unstable"),
        (model.Raised("run", "Oops", "", documented=True, unusable=True), "error"),
    ],
)
def test_an_answer_that_there_is_none_to_compare_with_is_not_judged(other, verdict):
    found = among(says(1), other)
    assert verdicts(found) == ["not run", verdict]
    assert found[0].reason == ALONE
    assert verdicts(among(says(1), other, says(1))) == ["pass", verdict, "pass"]


@pytest.mark.parametrize(
    "outputs",
    [
        (),
        (np.ones(1, np.float32),) * 2,
        (model.Foreign("builtins.str"),),
        (np.ones(1, np.float64),),
        (np.array(["1"]),),
    ],
)
def test_what_no_answer_may_be_fails_though_all_agree_on_it(outputs: Any, wording: Wording) -> None:
    wrong = model.Produced(outputs, 0.1)
    found = among(wrong, wrong)
    assert verdicts(found) == ["fail", "fail"]
    assert found[0].reason == wording


def test_where_nobody_knows_the_dtype_answers_must_have_the_same() -> None:
    found = among(says(1), says(1, dtype=np.float64), outputs=(model.OutputSpec("Y", None),))
    assert verdicts(found) == ["differ", "differ"]
    assert found[0].failure == "dtype"


def test_a_rule_that_a_sound_backend_may_break_makes_it_a_warning() -> None:
    assert verdicts(among(says(1), says(2), rule="should")) == ["warn", "warn"]


def test_integers_and_truth_values_are_compared_exactly() -> None:
    for dtype in ("int64", "bool"):
        outputs = (model.OutputSpec("Y", DTYPES[dtype]),)
        same = among(says(0, 1, dtype=dtype), says(0, 1, dtype=dtype), outputs=outputs)
        other = among(says(0, 1, dtype=dtype), says(1, 1, dtype=dtype), outputs=outputs)
        assert verdicts(same) == ["pass", "pass"]
        assert verdicts(other) == ["differ", "differ"]


def test_what_the_operator_may_flush_is_no_difference() -> None:
    flushed, kept = says(0, 1), says(2.3e-38, 1)
    exact = model.Tolerance(ulp=0)
    for op, tolerance, verdict in (
        ("Softmax", exact, "pass"),
        ("Softmax", model.Tolerance(ulp=0, strict=True), "differ"),
        ("Det", exact, "differ"),
    ):
        assert verdicts(among(flushed, kept, tolerance=tolerance, op=op)) == [verdict] * 2
    found = among(flushed, says(2.4e-38, 1), tolerance=exact, op="Softmax")
    assert verdicts(found) == ["differ", "differ"]


def test_an_output_that_is_not_the_declared_one_fails_though_all_agree_on_it(
    wording: Wording,
) -> None:
    wrong = replace(says(1, 2), declared=(model.Declared("float32", (3,)),))
    found = among(wrong, says(1, 2), says(1, 2))
    assert verdicts(found) == ["fail", "pass", "pass"]
    assert found[0].failure == "declared"
    assert found[0].reason == wording
