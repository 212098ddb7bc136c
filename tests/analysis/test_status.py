from collections import Counter
from dataclasses import replace

import pytest

from opcheck.analysis import WAYS, causes, number_of, outcome, reds, status
from opcheck.errors import Exit
from opcheck.model import FAILURES, Diagnosis, Ending, Header, OpVersion, Record, Run, Verdict
from tests.report.made import header, record
from tests.wording import Wording

ONE = replace(header("one"), named=True)
BOTH = replace(header("one", "two"), named=True)
RED = {Verdict[it] for it in "FAIL DIFFER ERROR CRASH TIMEOUT OOM UNSTABLE UNEXPECTED_PASS".split()}
UNJUDGED = {Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE}
LEDGER = {"ledgers": {"mine.yaml": "5eed"}}


def code_of(
    *verdicts: Verdict, also: tuple[Verdict, ...] = (), interrupted: bool = False, **rules: bool
) -> tuple[Exit, str]:
    """The status after `verdicts` from backend one and, if there is a second, `also` from it.

    `rules` are those of `reds`.
    """
    records = [record(verdict, "one") for verdict in verdicts]
    records += [record(verdict, "two") for verdict in also]
    return status(replace(BOTH if also else ONE, **rules), records, interrupted=interrupted)


def _counted(value: tuple[Verdict, ...] | Exit) -> str:
    """Return the id of a parameter of the test below, such as `3 fail, 1 error`."""
    if isinstance(value, Exit):
        return value.name
    counts = Counter(verdict.value for verdict in value)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "none"


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((), Exit.NOTHING_JUDGED),
        ((Verdict.PASS,), Exit.CONFORMS),
        ((Verdict.PASS,) * 1200, Exit.CONFORMS),
        ((Verdict.KNOWN,), Exit.CONFORMS),
        ((Verdict.WARN,), Exit.CONFORMS),
        (
            (Verdict.PASS, Verdict.KNOWN, Verdict.WARN, Verdict.WARN, Verdict.UNSUPPORTED),
            Exit.CONFORMS,
        ),
        *(((red,), Exit.NONCONFORMING) for red in sorted(RED)),
        ((Verdict.CRASH, Verdict.UNSUPPORTED), Exit.NONCONFORMING),
        ((Verdict.FAIL, Verdict.FAIL, Verdict.ERROR), Exit.NONCONFORMING),
        (
            (Verdict.UNSTABLE, Verdict.OOM, Verdict.TIMEOUT, Verdict.CRASH, Verdict.FAIL),
            Exit.NONCONFORMING,
        ),
        ((Verdict.UNSUPPORTED,), Exit.NOTHING_JUDGED),
        ((Verdict.UNSUPPORTED, Verdict.PASS), Exit.CONFORMS),
        ((Verdict.NOT_RUN,), Exit.UNUSABLE),
        ((Verdict.NOT_RUN, Verdict.PASS), Exit.UNUSABLE),
        ((Verdict.NOT_RUN, Verdict.FAIL, Verdict.ERROR), Exit.UNUSABLE),
        ((Verdict.BAD_CASE,), Exit.USAGE),
        ((Verdict.BAD_CASE, Verdict.PASS), Exit.USAGE),
        ((Verdict.BAD_CASE, Verdict.FAIL), Exit.USAGE),
        ((Verdict.BAD_CASE, Verdict.BAD_CASE), Exit.USAGE),
    ],
    ids=_counted,
)
def test_what_verdicts_amount_to_and_how_it_is_said(
    verdicts: tuple[Verdict, ...], code: Exit, wording: Wording
) -> None:
    assert code_of(*verdicts) == (code, wording)
    interrupted, meaning = code_of(*verdicts, interrupted=True)
    assert interrupted is Exit.INTERRUPTED
    assert meaning.startswith("interrupted")


def test_every_verdict_has_been_thought_of() -> None:
    assert {Verdict.PASS, Verdict.KNOWN, Verdict.WARN} | RED | UNJUDGED == set(Verdict)


def test_the_first_code_that_applies_wins() -> None:
    order = [Verdict.BAD_CASE, Verdict.NOT_RUN, Verdict.FAIL, Verdict.PASS]
    codes = [Exit.USAGE, Exit.UNUSABLE, Exit.NONCONFORMING, Exit.CONFORMS]
    for place, code in enumerate(codes):
        left = order[place:]
        assert code_of(*left)[0] is code
        assert code_of(*reversed(left))[0] is code
    names = "INTERRUPTED USAGE UNUSABLE NONCONFORMING SLOWER NOTHING_JUDGED CONFORMS"
    assert [code.name for code in Exit] == names.split()
    assert [int(code) for code in Exit] == [130, 2, 4, 1, 3, 5, 0]


def test_a_failure_comes_before_a_backend_that_supports_nothing() -> None:
    assert code_of(Verdict.FAIL, also=(Verdict.UNSUPPORTED,))[0] is Exit.NONCONFORMING


def test_nothing_was_judged_if_one_of_two_backends_supports_nothing() -> None:
    idle = Verdict.UNSUPPORTED
    nothing, said = Exit.NOTHING_JUDGED, "not all were judged: {} supported no case"
    assert code_of(Verdict.PASS, also=(idle, idle)) == (nothing, said.format("two"))
    assert code_of(idle, also=(Verdict.PASS,)) == (nothing, said.format("one"))
    assert code_of(Verdict.PASS, also=(idle, Verdict.WARN))[0] is Exit.CONFORMS


def test_backends_that_nobody_named_may_support_nothing_but_not_all_of_them(
    wording: Wording,
) -> None:
    results = [record(Verdict.PASS, "one"), record(Verdict.UNSUPPORTED, "two")]

    def unnamed(results: list[Record]) -> tuple[Exit, str]:
        return status(header("one", "two"), results)

    assert unnamed(results)[0] is Exit.CONFORMS
    idle = [replace(results[0], verdict=Verdict.UNSUPPORTED), results[1]]
    assert unnamed(idle) == (Exit.NOTHING_JUDGED, wording)


def test_a_backend_without_any_result_was_not_judged_either(wording: Wording) -> None:
    code, said = status(BOTH, [record(Verdict.PASS, "one")])
    assert (code, said) == (Exit.NOTHING_JUDGED, wording)


def test_to_refuse_invalid_models_alone_is_nothing_where_legal_ones_are_unsupported(
    wording: Wording,
) -> None:
    refusal, legal = record(Verdict.PASS, "one", refused=True), record(Verdict.PASS, "one")
    declined = record(Verdict.UNSUPPORTED, "one")
    assert status(ONE, [refusal, refusal, declined]) == (Exit.NOTHING_JUDGED, wording)
    for judged in ([refusal], [refusal, legal, declined]):
        assert status(ONE, judged)[0] is Exit.CONFORMS


def test_strict_makes_warnings_red(wording: Wording) -> None:
    assert code_of(Verdict.WARN, Verdict.PASS)[0] is Exit.CONFORMS
    assert code_of(Verdict.WARN, Verdict.PASS, strict=True) == (Exit.NONCONFORMING, wording)
    assert code_of(Verdict.KNOWN, Verdict.PASS, strict=True)[0] is Exit.CONFORMS


def test_what_is_unsupported_is_red_where_support_is_required(wording: Wording) -> None:
    idle = Verdict.UNSUPPORTED
    assert code_of(idle, Verdict.PASS)[0] is Exit.CONFORMS
    red = code_of(idle, Verdict.PASS, require_supported=True)
    assert red == (Exit.NONCONFORMING, wording)
    assert code_of(idle)[0] is Exit.NOTHING_JUDGED
    assert code_of(idle, require_supported=True)[0] is Exit.NONCONFORMING
    assert code_of(Verdict.WARN, require_supported=True)[0] is Exit.CONFORMS
    both = code_of(idle, Verdict.WARN, require_supported=True, strict=True)
    assert both == (Exit.NONCONFORMING, wording)
    # No model states the case: nobody can support it. What opcheck cannot judge is not judged.
    for beyond, code in ((False, Exit.CONFORMS), (True, Exit.NONCONFORMING)):
        gap = replace(record(idle, "one"), inexpressible=True, beyond=beyond)
        found = status(replace(ONE, require_supported=True), [gap, record(Verdict.PASS, "one")])
        assert (found[0], "by opcheck" in found[1]) == (code, beyond)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdict", list(Verdict))
def test_what_is_red_alone_is_what_makes_a_run_red(verdict, strict, required):
    red = verdict in reds(strict=strict, require_supported=required)
    found = code_of(verdict, strict=strict, require_supported=required)
    assert red is (found[0] is Exit.NONCONFORMING)
    of_rules = (strict, Verdict.WARN), (required, Verdict.UNSUPPORTED)
    assert red is (verdict in RED or (True, verdict) in of_rules)


def test_a_process_that_ended_between_questions_is_red_though_no_case_is() -> None:
    said = "one: its process ended between questions: killed by SIGSEGV"
    code, meaning = status(ONE, [record(Verdict.PASS, "one")], Ending(accidents=(said,)))
    assert (code, meaning) == (Exit.NONCONFORMING, f"does not conform: {said}")


def stored(*verdicts: Verdict, about: Header = ONE, complete: bool = True) -> Run:
    records = tuple(record(verdict, "one", place=place) for place, verdict in enumerate(verdicts))
    return Run(about, records, Ending(complete, 0, ""))


def test_a_stored_run_amounts_to_what_it_did(wording: Wording) -> None:
    assert outcome(stored(Verdict.PASS))[0] is Exit.CONFORMS
    assert outcome(stored(Verdict.PASS, Verdict.CRASH))[0] is Exit.NONCONFORMING
    assert outcome(stored(Verdict.WARN, about=replace(ONE, strict=True)))[0] is Exit.NONCONFORMING
    died = replace(stored(Verdict.PASS), ending=Ending(True, 1, "", accidents=("one: it died",)))
    assert outcome(died) == (Exit.NONCONFORMING, wording)


def test_a_stored_run_that_was_cut_short_is_incomplete_whatever_there_is(wording: Wording) -> None:
    about = replace(header("one", "two", cases=3), named=True)
    short = stored(Verdict.PASS, Verdict.FAIL, about=about, complete=False)
    assert outcome(short) == (Exit.UNUSABLE, wording)
    killed = replace(short, ending=None)
    assert outcome(killed) == outcome(short)
    assert outcome(replace(killed, records=())) == (Exit.UNUSABLE, "incomplete: 0 of 6 results")


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.WARN, Verdict.FAIL])
def test_what_a_ledger_did_not_expect_is_red_whatever_the_verdict(verdict):
    records = [record(Verdict.PASS, "one"), record(verdict, "one", unexpected=True)]
    assert status(ONE, records) == (Exit.NONCONFORMING, f"does not conform: 1 {verdict}")


def test_what_is_known_to_be_unsupported_is_no_judgement(wording):
    unsupported = record(Verdict.KNOWN, "one", found=Verdict.UNSUPPORTED)
    assert status(replace(ONE, **LEDGER), [unsupported])[0] is Exit.NOTHING_JUDGED
    both = [unsupported, record(Verdict.PASS, "one")]
    assert status(replace(ONE, **LEDGER), both) == (Exit.CONFORMS, wording)


def test_a_backend_that_passes_nothing_is_told(wording):
    known = record(Verdict.KNOWN, "one", found=Verdict.FAIL)
    code, said = status(replace(ONE, **LEDGER), [known])
    assert code is Exit.CONFORMS
    assert said == wording
    assert status(ONE, [known])[1] == said


def test_known_failures_are_counted_for_each_backend_as_what_they_are(wording):
    records = [record(Verdict.KNOWN, "one", found=found) for found in [*Verdict][2:10]]
    records += [record(Verdict.KNOWN, "two", found=Verdict.CRASH)] * 3
    assert status(replace(BOTH, **LEDGER), records)[1] == wording


def failure(*mistakes: str, since: int = 13) -> Record:
    diagnoses = tuple(Diagnosis(name, f"as if {name}") for name in mistakes)
    return record(Verdict.FAIL, op=OpVersion("", "Hardmax", since), diagnoses=diagnoses)


def test_the_first_diagnosis_is_the_cause(wording: Wording) -> None:
    found = causes([failure("b", "a"), failure("b", since=1), failure("b"), failure("a", "b")])
    assert [(one.looks, one.places, len(one.results)) for one in found] == [
        (wording, ("Hardmax-1", "Hardmax-13", "float32"), 3),
        (wording, ("Hardmax-13", "float32"), 1),
    ]


def test_what_is_left_over_comes_last_by_the_way_it_fails(wording: Wording) -> None:
    numbers = record(Verdict.FAIL, failure="values", diagnoses=(Diagnosis(None, "like 2 times"),))
    found = causes([numbers, numbers, record(Verdict.CRASH, failure="crash"), failure("a")])
    assert [(one.looks, len(one.results), one.explained) for one in found] == [
        (wording, 1, True),
        (wording, 2, False),
        ("not explained: dies", 1, False),
    ]


def test_exceptions_that_nothing_explains_are_left_over_by_their_message() -> None:
    message = Diagnosis(None, "your backend raised X: no")
    fields = {"failure": "raised", "diagnoses": (message,)}
    found = causes([record(Verdict.ERROR, **fields), record(Verdict.ERROR, **fields)])
    assert [(one.looks, len(one.results), one.explained) for one in found] == [
        (message.text, 2, False)
    ]


def accepting(reason: str, *diagnoses: Diagnosis) -> Record:
    text = f"accepts an invalid model: {reason}"
    return record(Verdict.FAIL, failure="accepted", reason=text, diagnoses=diagnoses)


def test_accepted_invalid_models_are_one_folded_cause_below_all_others(
    wording: Wording,
) -> None:
    named = Diagnosis("axis_wraps", "an axis out of range was taken modulo the rank")
    reasons = ["axis 7 is outside [-2, 1]", "axis 9 is outside [-3, 2]", "X is empty"]
    accepted = [accepting(reason, named) for reason in reasons]
    wrong = record(Verdict.FAIL, failure="values")
    found = causes([*accepted, wrong], folded=True)
    assert [(cause.folded, len(cause.results)) for cause in found] == [(False, 1), (True, 3)]
    assert found[-1].looks == wording
    # A single rule is named, with its numbers if they are alike; unfolded, each has its cause.
    (only,) = causes(accepted[:2], folded=True)
    assert only.looks == wording
    (alike,) = causes([accepted[0], accepted[0]], folded=True)
    assert f"2 cases of 1 rule ({reasons[0]});" in alike.diagnosis.text
    assert [cause.diagnosis for cause in causes(accepted)] == [named]


def test_two_mistakes_made_at_once_are_two_causes() -> None:
    several = [failure("a+b"), failure("b"), failure("c"), record(Verdict.FAIL)]
    assert number_of(causes(several)) == 3
    elsewhere = Diagnosis("c", "as if c, where the rank is 5", (3, 3, 1, 9))
    several.append(record(Verdict.FAIL, diagnoses=(elsewhere,)))
    assert number_of(causes(several)) == 4


def test_counts_of_several_operators_are_added(wording: Wording) -> None:
    counts = {"Hardmax": (3, 3, 0, 10), "Softmax": (4, 4, 2, 1000)}
    results = [
        record(
            Verdict.CRASH,
            op=OpVersion("", op, since),
            diagnoses=(Diagnosis(None, "dies where it is dark", those),),
        )
        for op, those in counts.items()
        for since in (11, 13)
    ]
    (cause,) = causes(results)
    assert cause.looks == wording


def test_no_failure_no_cause() -> None:
    assert causes([]) == []


def test_every_way_to_fail_has_words() -> None:
    assert {*WAYS} == {*FAILURES}
