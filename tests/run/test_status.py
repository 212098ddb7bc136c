from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from opcheck.errors import Exit
from opcheck.model import BackendInfo, Case, Result, Verdict
from opcheck.run.status import reds, status
from tests.asking import cases_in

ONE = BackendInfo("one", "fake", "1.0")
TWO = BackendInfo("two", "fake", "1.0")
RED = {
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.CRASH,
    Verdict.TIMEOUT,
    Verdict.OOM,
    Verdict.UNSTABLE,
}
UNJUDGED = {Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    text = """
        op: Hardmax
        cases:
        - {name: made, opset: 13, dtype: float32, attrs: {axis: 0}, inputs: {input: [1]}}
    """
    (found,) = cases_in(tmp_path, text)
    return found


def code_of(
    case: Case,
    *verdicts: Verdict,
    also: tuple[Verdict, ...] = (),
    interrupted: bool = False,
    **rules: bool,
) -> tuple[Exit, str]:
    """The status after `verdicts` from backend one and, if there is a second, `also` from it.

    `rules` are those of `reds`.
    """
    results = [Result(case, "one", verdict) for verdict in verdicts]
    results += [Result(case, "two", verdict) for verdict in also]
    backends = [ONE, TWO] if also else [ONE]
    return status(results, backends, red=reds(**rules), interrupted=interrupted)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((), Exit.NOTHING_JUDGED),
        ((Verdict.PASS,), Exit.CONFORMS),
        ((Verdict.KNOWN,), Exit.CONFORMS),
        ((Verdict.WARN,), Exit.CONFORMS),
        *(((verdict,), Exit.NONCONFORMING) for verdict in sorted(RED)),
        ((Verdict.CRASH, Verdict.UNSUPPORTED), Exit.NONCONFORMING),
        ((Verdict.UNSUPPORTED,), Exit.NOTHING_JUDGED),
        ((Verdict.UNSUPPORTED, Verdict.PASS), Exit.CONFORMS),
        ((Verdict.NOT_RUN,), Exit.UNUSABLE),
        ((Verdict.NOT_RUN, Verdict.PASS), Exit.UNUSABLE),
        ((Verdict.BAD_CASE,), Exit.USAGE),
        ((Verdict.BAD_CASE, Verdict.PASS), Exit.USAGE),
    ],
)
def test_what_each_verdict_amounts_to(
    case: Case, verdicts: tuple[Verdict, ...], code: Exit
) -> None:
    assert code_of(case, *verdicts)[0] is code
    assert code_of(case, *verdicts, interrupted=True)[0] is Exit.INTERRUPTED


def test_every_verdict_has_been_thought_of() -> None:
    green = {Verdict.PASS, Verdict.KNOWN, Verdict.WARN}
    assert green | RED | UNJUDGED == set(Verdict)


def test_the_first_code_that_applies_wins(case: Case) -> None:
    order = [Verdict.BAD_CASE, Verdict.NOT_RUN, Verdict.FAIL, Verdict.PASS]
    codes = [Exit.USAGE, Exit.UNUSABLE, Exit.NONCONFORMING, Exit.CONFORMS]
    for place, code in enumerate(codes):
        left = order[place:]
        assert code_of(case, *left)[0] is code
        assert code_of(case, *reversed(left))[0] is code
    assert list(Exit) == [
        Exit.INTERRUPTED,
        Exit.USAGE,
        Exit.UNUSABLE,
        Exit.NONCONFORMING,
        Exit.SLOWER,
        Exit.NOTHING_JUDGED,
        Exit.CONFORMS,
    ]
    assert [int(code) for code in Exit] == [130, 2, 4, 1, 3, 5, 0]


def test_a_failure_comes_before_a_backend_that_supports_nothing(case: Case) -> None:
    found = code_of(case, Verdict.FAIL, also=(Verdict.UNSUPPORTED,))
    assert found[0] is Exit.NONCONFORMING


def test_nothing_was_judged_if_one_of_two_backends_supports_nothing(case: Case) -> None:
    idle = Verdict.UNSUPPORTED
    assert code_of(case, Verdict.PASS, also=(idle, idle)) == (
        Exit.NOTHING_JUDGED,
        "nothing was judged: two supported no case",
    )
    assert code_of(case, Verdict.PASS, also=(idle, Verdict.WARN))[0] is Exit.CONFORMS


def test_backends_that_nobody_named_may_support_nothing_but_not_all_of_them(case: Case) -> None:
    results = [Result(case, "one", Verdict.PASS), Result(case, "two", Verdict.UNSUPPORTED)]

    def unnamed(results: list[Result]) -> tuple[Exit, str]:
        return status(results, [ONE, TWO], red=reds(), interrupted=False, named=False)

    assert unnamed(results)[0] is Exit.CONFORMS
    idle = [replace(results[0], verdict=Verdict.UNSUPPORTED), results[1]]
    said = "nothing was judged: one, two supported no case"
    assert unnamed(idle) == (Exit.NOTHING_JUDGED, said)


def test_a_backend_without_any_result_was_not_judged_either(case: Case) -> None:
    one_passed = [Result(case, "one", Verdict.PASS)]
    code, said = status(one_passed, [ONE, TWO], red=reds(), interrupted=False)
    assert (code, said) == (Exit.NOTHING_JUDGED, "nothing was judged: two supported no case")


def test_strict_makes_warnings_red(case: Case) -> None:
    assert code_of(case, Verdict.WARN, Verdict.PASS)[0] is Exit.CONFORMS
    assert code_of(case, Verdict.WARN, Verdict.PASS, strict=True) == (
        Exit.NONCONFORMING,
        "does not conform: 1 warn",
    )
    assert code_of(case, Verdict.KNOWN, Verdict.PASS, strict=True)[0] is Exit.CONFORMS


def test_what_is_unsupported_is_red_where_support_is_required(case: Case) -> None:
    idle = Verdict.UNSUPPORTED
    assert code_of(case, idle, Verdict.PASS)[0] is Exit.CONFORMS
    assert code_of(case, idle, Verdict.PASS, require_supported=True) == (
        Exit.NONCONFORMING,
        "does not conform: 1 unsupported",
    )
    assert code_of(case, idle)[0] is Exit.NOTHING_JUDGED
    assert code_of(case, idle, require_supported=True)[0] is Exit.NONCONFORMING
    assert code_of(case, Verdict.WARN, require_supported=True)[0] is Exit.CONFORMS
    both = code_of(case, idle, Verdict.WARN, require_supported=True, strict=True)
    assert both == (Exit.NONCONFORMING, "does not conform: 1 warn, 1 unsupported")


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdict", list(Verdict))
def test_what_is_red_alone_is_what_makes_a_run_red(
    case: Case, verdict: Verdict, strict: bool, required: bool
) -> None:
    red = verdict in reds(strict=strict, require_supported=required)
    found = code_of(case, verdict, strict=strict, require_supported=required)
    assert red is (found[0] is Exit.NONCONFORMING)
    of_rules = (strict, Verdict.WARN), (required, Verdict.UNSUPPORTED)
    assert red is (verdict in RED or (True, verdict) in of_rules)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ((), "nothing was judged: no case matched"),
        ((Verdict.PASS,) * 1200, "conforms: 1,200 results, nothing unexpected"),
        (
            (Verdict.PASS, Verdict.KNOWN, Verdict.WARN, Verdict.WARN, Verdict.UNSUPPORTED),
            "conforms: 4 results, nothing unexpected; 1 known, 2 warn, 1 unsupported",
        ),
        ((Verdict.FAIL, Verdict.FAIL, Verdict.ERROR), "does not conform: 2 fail, 1 error"),
        (
            (Verdict.UNSTABLE, Verdict.OOM, Verdict.TIMEOUT, Verdict.CRASH, Verdict.FAIL),
            "does not conform: 1 fail, 1 crash, 1 timeout, 1 oom, 1 unstable",
        ),
        ((Verdict.NOT_RUN, Verdict.PASS), "incomplete: 1 not run"),
        ((Verdict.NOT_RUN, Verdict.FAIL, Verdict.ERROR), "incomplete: 1 not run; 1 fail, 1 error"),
        ((Verdict.BAD_CASE, Verdict.FAIL), "1 result says that the case is wrong; 1 fail"),
        ((Verdict.PASS,), "conforms: 1 result, nothing unexpected"),
        ((Verdict.BAD_CASE, Verdict.BAD_CASE), "2 results say that the case is wrong"),
    ],
)
def test_the_sentence_says_what_the_code_means(
    case: Case, verdicts: tuple[Verdict, ...], said: str
) -> None:
    assert code_of(case, *verdicts)[1] == said
    assert code_of(case, *verdicts, interrupted=True)[1].startswith("interrupted")


def test_a_process_that_ended_between_questions_is_red_though_no_case_is(case: Case) -> None:
    said = "one: its process ended between questions: killed by SIGSEGV"
    passed = Result(case, "one", Verdict.PASS)
    code, meaning = status([passed], [ONE], red=reds(), interrupted=False, accidents=[said])
    assert (code, meaning) == (Exit.NONCONFORMING, f"does not conform: {said}")
