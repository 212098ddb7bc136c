from typing import Any, get_args

import numpy as np
import pytest

from opcheck import model
from opcheck.compare import Want
from opcheck.compare.verdict import (
    Admitted,
    Answer,
    Judgement,
    Refusal,
    judge,
    judge_without_oracle,
)
from opcheck.dtypes import DTYPES
from opcheck.engine import Tier
from opcheck.model import Crashed, Declined, Outcome, OutOfMemory, Raised, Rule, TimedOut, Verdict
from tests.compare.test_bounded import Fake, arithmetic
from tests.wording import Wording

RULES: tuple[Rule, ...] = get_args(Rule)
PASS, WARN, FAIL, ERROR = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.ERROR
CRASH, TIMEOUT, OOM = Verdict.CRASH, Verdict.TIMEOUT, Verdict.OOM
UNSTABLE, UNSUPPORTED, NOT_RUN = Verdict.UNSTABLE, Verdict.UNSUPPORTED, Verdict.NOT_RUN

RIGHT = np.array([1, 0, 0], np.float32)
WANTS = (Want("y", DTYPES["float32"], RIGHT, 0, 1),)
REFUSED = Raised("prepare", "Fail", "axis 7", documented=True)
NEARLY = np.array([1, 0.25, 0.25], np.float32)
WRONG = np.array([0, 1, 0], np.float32)
QUARTER = model.Tolerance(atol=0.25)
THIRD = np.array([1 / 3, 2 / 3])
POOR = (Tier("plain", arithmetic(1e-6)), Tier("float16", arithmetic(1e-2), None, "in float16"))


def made(*outputs: Any, unstable: str | None = None, **more: Any) -> model.Produced:
    return model.Produced(outputs, 0.0, unstable, **more)


def refusal(name: str | None = None, wants: tuple[Want, ...] = WANTS) -> Refusal:
    return Refusal("axis is outside [-1, 0]", wants, name)


LEGAL: list[Admitted] = [Answer(WANTS)]
ILLEGAL: list[Admitted] = [refusal()]
EITHER: list[Admitted] = [Answer(WANTS, "answered"), refusal("rejected")]


def judged(rule, admitted, outcome, tolerance=model.EXACT, twin=None):
    """The judgement; whoever refuses what it may answers the legal twin well, or with `twin`."""
    return judge(rule, admitted, outcome, tolerance, twin=twin or made(RIGHT))


WRONG_OUTPUTS = {
    "value": made(np.array([0, 1, 0], np.float32)),
    "nan": made(np.array([np.nan, 0, 0], np.float32)),
    "shape": made(RIGHT[None]),
    "rank": made(np.float32(1) * np.ones((), np.float32)),
    "dtype": made(RIGHT.astype(np.float64)),
    "type": made(model.Foreign("builtins.list")),
    "too few": made(),
    "too many": made(RIGHT, RIGHT),
}
UNSTABLE_OUTCOMES: dict[str, Outcome] = {
    "contradicts itself": made(RIGHT, unstable="the run modified its input 0"),
    "wrong and contradicts itself": made(RIGHT[None], unstable="the run modified its input 0"),
    "raised later": Raised("second run", "Fail", "gone", documented=True),
}
_DELIVERED_NOTHING: list[tuple[str, Outcome, Verdict]] = [
    ("crashed", Crashed("killed by SIGSEGV"), CRASH),
    ("hangs", TimedOut(30), TIMEOUT),
    ("takes all memory", OutOfMemory("took more than 100 MiB of memory"), OOM),
    ("inexpressible", Declined("no kernel", inexpressible=True), UNSUPPORTED),
    ("not run", model.NotRun("missing"), NOT_RUN),
]
TABLE: list[tuple[str, list[Admitted], Outcome, tuple[Verdict, Verdict, Verdict]]] = [
    ("matches", LEGAL, made(RIGHT), (PASS, PASS, PASS)),
    ("refuses as expected", ILLEGAL, REFUSED, (PASS, PASS, PASS)),
    ("refuses in the run", ILLEGAL, Raised("run", "Fail", "", documented=True), (PASS,) * 3),
    ("one of the answers", EITHER, made(RIGHT), (PASS, PASS, PASS)),
    ("refuses where it may", EITHER, REFUSED, (PASS, PASS, PASS)),
    *(
        (f"wrong {what}, {kind}", admitted, outcome, (FAIL, WARN, FAIL))
        for kind, admitted in (("legal", LEGAL), ("either", EITHER))
        for what, outcome in WRONG_OUTPUTS.items()
    ),
    ("declines", LEGAL, Declined("no kernel"), (UNSUPPORTED,) * 3),
    ("declines as expected", ILLEGAL, Declined("no kernel"), (PASS, PASS, PASS)),
    ("declines where it may", EITHER, Declined("no kernel"), (PASS, PASS, PASS)),
    ("accepts", ILLEGAL, made(RIGHT), (FAIL, WARN, FAIL)),
    ("accepts with nonsense", ILLEGAL, made(), (FAIL, WARN, FAIL)),
    ("raises in prepare", LEGAL, REFUSED, (ERROR, WARN, ERROR)),
    ("raises in run", LEGAL, Raised("run", "Fail", "", documented=False), (ERROR, WARN, ERROR)),
    *(
        (f"{what}, {kind}", admitted, outcome, (verdict, verdict, verdict))
        for kind, admitted in (("legal", LEGAL), ("illegal", ILLEGAL), ("either", EITHER))
        for what, outcome, verdict in (
            *((what, outcome, UNSTABLE) for what, outcome in UNSTABLE_OUTCOMES.items()),
            *_DELIVERED_NOTHING,
        )
    ),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("admitted", "outcome", "verdicts"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_the_table_of_rules_and_outcomes(rule, admitted, outcome, verdicts):
    wanted = dict(zip(("must", "should", "open"), verdicts, strict=True))[rule]
    assert judged(rule, admitted, outcome).verdict is wanted


TWINS: list[tuple[str, Outcome, tuple[Verdict, Verdict, Verdict], str]] = [
    ("refused too", REFUSED, (ERROR, WARN, ERROR), "refuses its legal twin too: Fail: axis 7"),
    (
        "refused in the run",
        Raised("run", "Fail", "", documented=True),
        (ERROR, WARN, ERROR),
        "refuses its legal twin too: Fail",
    ),
    (
        "raised later",
        UNSTABLE_OUTCOMES["raised later"],
        (UNSTABLE,) * 3,
        "its legal twin: answered its first run, then raised on other data of the same shapes: "
        "Fail: gone",
    ),
    (
        "contradicts itself",
        UNSTABLE_OUTCOMES["contradicts itself"],
        (UNSTABLE,) * 3,
        "its legal twin: the run modified its input 0",
    ),
    (
        "declined",
        Declined("no kernel"),
        (UNSUPPORTED,) * 3,
        "its legal twin is not implemented: no kernel",
    ),
    ("not run", model.NotRun("missing"), (NOT_RUN,) * 3, "its legal twin: missing"),
    ("crashed", Crashed("killed by SIGSEGV"), (CRASH,) * 3, "its legal twin: killed by SIGSEGV"),
    ("hangs", TimedOut(0.5), (TIMEOUT,) * 3, "its legal twin: no answer within 0.5 s"),
    ("no memory", OutOfMemory("took all"), (OOM,) * 3, "its legal twin: took all"),
    ("shape", WRONG_OUTPUTS["shape"], (FAIL, WARN, FAIL), "its legal twin: y: shape (1, 3), want"),
    ("dtype", WRONG_OUTPUTS["dtype"], (FAIL, WARN, FAIL), "its legal twin: y: dtype float64, want"),
    ("type", WRONG_OUTPUTS["type"], (FAIL, WARN, FAIL), "its legal twin: y: type builtins.list"),
    ("too few", WRONG_OUTPUTS["too few"], (FAIL, WARN, FAIL), "its legal twin: y: count 0 outputs"),
    ("too many", WRONG_OUTPUTS["too many"], (FAIL, WARN, FAIL), "its legal twin: output 1: count"),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("twin", "verdicts", "said"), [row[1:] for row in TWINS], ids=[row[0] for row in TWINS]
)
def test_a_refusal_counts_only_if_the_legal_twin_is_accepted(rule, twin, verdicts, said):
    wanted = dict(zip(("must", "should", "open"), verdicts, strict=True))[rule]
    for admitted in (ILLEGAL, EITHER):
        found = judged(rule, admitted, REFUSED, twin=twin)
        assert found.verdict is wanted
        assert found.reason.startswith(said)
        assert found.alternative is None
    assert judged(rule, ILLEGAL, REFUSED).refused


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (made(RIGHT), NOT_RUN),
        (REFUSED, NOT_RUN),
        (Declined("no kernel"), NOT_RUN),
        (Crashed("killed"), CRASH),
        (made(RIGHT, unstable="it wrote"), UNSTABLE),
    ],
)
def test_without_an_answer_only_what_fails_by_itself_does(outcome: Any, verdict: Any) -> None:
    found = judge_without_oracle("must", outcome, "nobody knows")
    assert found.verdict is verdict
    assert (found.reason == "nobody knows") is (verdict is NOT_RUN)


def test_a_twin_is_accepted_whatever_its_values() -> None:
    # Its values are another case's business; this one asks whether the backend can do it at all.
    for outcome in (WRONG_OUTPUTS["value"], WRONG_OUTPUTS["nan"]):
        assert judged("must", ILLEGAL, REFUSED, twin=outcome).verdict is PASS


def test_a_twin_that_nothing_computes_is_accepted_if_it_is_answered() -> None:
    unknown: list[Admitted] = [refusal(wants=())]
    for outcome in (made(RIGHT), made(RIGHT[None]), made()):
        assert judged("must", unknown, REFUSED, twin=outcome).verdict is PASS
    assert judged("must", unknown, REFUSED, twin=REFUSED).verdict is ERROR


def test_the_twin_matters_only_after_a_refusal() -> None:
    outcomes = [made(RIGHT), *UNSTABLE_OUTCOMES.values(), *(row[1] for row in _DELIVERED_NOTHING)]
    for admitted in (LEGAL, ILLEGAL, EITHER):
        for outcome in outcomes:
            found = judge("must", admitted, outcome, model.EXACT)
            beside = judged("must", admitted, outcome, twin=Crashed("killed"))
            assert (beside.verdict, beside.reason) == (found.verdict, found.reason)


def one_hot(place: int) -> Any:
    return np.eye(1, 3, place, dtype=np.float32)[0]


def answers(*places: int) -> list[Admitted]:
    wants = [Want("y", DTYPES["float32"], one_hot(place).astype(np.float64)) for place in places]
    return [Answer((want,), f"place_{place}") for want, place in zip(wants, places, strict=True)]


def test_each_admitted_answer_passes_by_its_name() -> None:
    for place in range(3):
        found = judged("open", answers(0, 1, 2), made(one_hot(place)))
        assert (found.verdict, found.alternative) == (PASS, f"place_{place}")
        assert not any(comparison.problem for comparison in found.comparisons)
    found = judged("open", [*answers(0), refusal("rejected")], REFUSED)
    assert (found.verdict, found.alternative) == (PASS, "rejected")


def test_anything_else_fails_and_is_compared_with_the_nearest(wording: Wording) -> None:
    nearly = [one_hot(0), one_hot(1) + one_hot(2)]
    admitted: list[Admitted] = [
        Answer((Want("y", DTYPES["float32"], values.astype(np.float64)),), f"with_{n}")
        for n, values in enumerate(nearly, 1)
    ]
    found = judged("open", admitted, made(one_hot(1)))
    assert (found.verdict, found.alternative) == (FAIL, None)
    assert found.reason == wording
    assert [comparison.wrong for comparison in found.comparisons] == [1]


def test_an_answer_of_the_right_shape_is_nearer_than_one_of_another(wording: Wording) -> None:
    admitted: list[Admitted] = [
        Answer((Want("y", DTYPES["float32"], np.zeros((1, 3))),), "matrix"),
        Answer((Want("y", DTYPES["float32"], np.zeros(3)),), "vector"),
    ]
    found = judged("open", admitted, made(np.ones(3, np.float32)))
    assert found.reason == wording


def test_a_refusal_is_named_among_the_admitted_answers(wording: Wording) -> None:
    assert judged("open", [*answers(0), refusal("rejected")], made(one_hot(1))).reason == (wording)


@pytest.mark.parametrize(
    ("documented", "detail"),
    [
        (True, "axis 7"),
        (False, "axis 7"),
        (False, ""),
    ],
)
def test_a_refusal_by_accident_counts_and_is_called_so(documented, detail, wording):
    found = judged("must", ILLEGAL, Raised("run", "Fail", detail, documented))
    assert (found.verdict, found.reason) == (PASS, wording)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("first", [RIGHT, NEARLY])
@pytest.mark.parametrize("again", [RIGHT, NEARLY])
def test_right_answers_that_differ_are_a_remark(
    rule: Rule, first: Any, again: Any, wording: Wording
) -> None:
    found = judged(rule, EITHER, made(first, again=(again,), differs="so"), QUARTER)
    assert (found.verdict, found.irreproducible) == (PASS, True)
    assert found.reason == wording


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("first", "again"), [(RIGHT, WRONG), (WRONG, RIGHT), (WRONG, -WRONG), (RIGHT, RIGHT[:2])]
)
def test_if_one_is_wrong_the_backend_is_unstable(rule: Rule, first: Any, again: Any) -> None:
    found = judged(rule, LEGAL, made(first, again=(again,), differs="so"), QUARTER)
    assert (found.verdict, found.failure, found.reason) == (UNSTABLE, "unstable", "so")
    assert not found.irreproducible


def test_the_worse_of_two_tolerable_answers_counts() -> None:
    poorer = Tier("poor", arithmetic(), None, "poor")
    bound: Any = Fake((Tier("good", arithmetic(1e-6)), poorer), values=np.ones(3))
    want = Want("y", DTYPES["float32"], np.ones(3), bound=bound)
    exact, poor = np.ones(3, np.float32), np.full(3, 1.0001, np.float32)
    found = [
        judge("must", [Answer((want,))], made(one, again=(other,), differs="so"), None)
        for one, other in ((exact, poor), (poor, exact))
    ]
    told = [(one.verdict, one.failure, one.irreproducible) for one in found]
    assert told == [(WARN, "precision", True)] * 2


@pytest.mark.parametrize(
    ("dtype", "shape", "verdict"),
    [
        ("float32", (3,), PASS),
        (None, None, PASS),
        (None, (None,), PASS),
        ("float32", None, PASS),
        ("float32", (4,), FAIL),
        (None, (4,), FAIL),
        (None, (), FAIL),
        (None, (3, None), FAIL),
        ("float16", (3,), FAIL),
        ("float16", None, FAIL),
    ],
)
def test_an_output_has_to_be_what_the_backend_declared(
    dtype: Any, shape: Any, verdict: Verdict, wording: Wording
) -> None:
    outcome = made(RIGHT, declared=(model.Declared(dtype, shape),))
    results = [judged(rule, EITHER, outcome) for rule in RULES]
    failure = "declared" if verdict is FAIL else None
    assert {(found.verdict, found.failure) for found in results} == {(verdict, failure)}
    [reason] = {found.reason for found in results}
    assert reason == wording


def test_another_number_of_outputs_than_declared_is_wrong() -> None:
    found = judged("must", LEGAL, made(RIGHT, declared=(model.Declared(None, None),) * 2))
    assert (found.verdict, found.reason) == (FAIL, "2 outputs declared, 1 returned")
    two = made(RIGHT, RIGHT, declared=(model.Declared(None, None),))
    assert judged("must", [Answer(WANTS * 2)], two).reason == "1 outputs declared, 2 returned"


def test_a_wrong_answer_is_that_before_it_is_another_than_declared() -> None:
    outcome = made(RIGHT[None], declared=(model.Declared("float32", (3,)),))
    assert judged("must", LEGAL, outcome).failure == "shape"
    assert judged("should", ILLEGAL, outcome).failure == "accepted"


@pytest.mark.parametrize(
    ("admitted", "outcome"),
    [
        (LEGAL, made(RIGHT)),
        (LEGAL, REFUSED),
        (ILLEGAL, made(RIGHT)),
        (LEGAL, Declined("no kernel")),
        (LEGAL, model.NotRun("cut short")),
        (LEGAL, Crashed("exited with status 0")),
        (LEGAL, TimedOut(30)),
        (LEGAL, TimedOut(0.25)),
        (ILLEGAL, OutOfMemory("took all")),
        (LEGAL, UNSTABLE_OUTCOMES["raised later"]),
        (LEGAL, UNSTABLE_OUTCOMES["contradicts itself"]),
        (LEGAL, WRONG_OUTPUTS["dtype"]),
        (LEGAL, WRONG_OUTPUTS["too few"]),
    ],
)
def test_every_verdict_but_a_pass_says_why(admitted, outcome, wording):
    assert judged("must", admitted, outcome).reason == wording


@pytest.mark.parametrize(
    ("outcome", "failure"),
    [
        (Crashed("killed by SIGSEGV"), "crash"),
        (Crashed("killed by SIGSEGV", alone=made(RIGHT)), "stray_crash"),
        (Crashed("killed by SIGSEGV", alone=Declined("no kernel")), "stray_crash"),
        (TimedOut(30), "timeout"),
        (OutOfMemory("took all"), "oom"),
        (OutOfMemory("took all", alone=made(RIGHT)), "oom"),
        (UNSTABLE_OUTCOMES["raised later"], "unstable"),
        (REFUSED, "raised"),
        (WRONG_OUTPUTS["value"], "values"),
        (Declined("no kernel"), None),
        (model.NotRun("cut short"), None),
    ],
)
def test_every_failure_says_in_what_way(outcome: Outcome, failure: str | None) -> None:
    assert judged("must", LEGAL, outcome).failure == failure
    assert judged("should", LEGAL, outcome).failure == failure
    if not isinstance(outcome, model.Produced):
        assert judged("must", ILLEGAL, REFUSED, twin=outcome).failure == failure


@pytest.mark.parametrize(
    ("alone", "failure"), [(WRONG_OUTPUTS["value"], "values"), (REFUSED, "raised")]
)
@pytest.mark.parametrize("loss", [Crashed, OutOfMemory])
def test_what_is_wrong_in_a_fresh_process_too_is_not_hidden_by_what_died_before(
    loss, alone, failure, wording
):
    found = judged("must", LEGAL, loss("it went", alone=alone))
    assert found.failure == failure
    assert found.reason == wording


def test_of_several_outputs_each_wrong_one_is_named(wording: Wording) -> None:
    wants = tuple(Want(name, DTYPES["float32"], np.zeros(2)) for name in ("a", "b", "c"))
    out = np.zeros(2, np.float32)
    found = judged("must", [Answer(wants)], made(out + 1, out, out[None]))
    assert found.reason == wording
    assert [comparison.problem for comparison in found.comparisons] == ["values", None, "shape"]
    for first, last, verdict in ((0, 0, PASS), (0, 1, FAIL), (1, 0, FAIL)):
        assert (
            judged("must", [Answer(wants)], made(out + first, out, out + last)).verdict is verdict
        )


def test_the_tolerance_is_the_case_s() -> None:
    near = np.array([1, 0, 1e-3], np.float32)
    assert judged("must", LEGAL, made(near)).verdict is FAIL
    assert judged("must", LEGAL, made(near), model.Tolerance(atol=1e-2)).verdict is PASS
    assert judged("must", LEGAL, made(near), model.Tolerance(ulp=3)).verdict is FAIL


def test_wrong_elements_are_shown_beside_the_input() -> None:
    found = judge(
        "must", LEGAL, made(one_hot(1)), model.EXACT, like=np.array([7, 8, 9], np.float32)
    )
    assert [element.input for element in found.comparisons[0].worst] == [7, 8]


def by_bound(rule: Rule, factor: float, declared=(), tiers: tuple[Tier, ...] = POOR) -> Judgement:
    bound: Any = Fake(tiers, values=THIRD)
    want = Want("y", DTYPES["float32"], THIRD, 0, 1, bound)
    got = made((THIRD * factor).astype(np.float32))
    return judge(rule, [Answer((want,))], got, None, declared=declared)


@pytest.mark.parametrize("rule", RULES)
def test_a_poorer_arithmetic_is_warned_of_whatever_the_rule(rule: Rule, wording: Wording) -> None:
    found = by_bound(rule, 1.001)
    assert (found.verdict, found.failure) == (WARN, "precision")
    assert found.reason == wording
    assert by_bound(rule, 1.001, declared=("float16",)).verdict is PASS


def test_what_no_arithmetic_explains_fails() -> None:
    found = by_bound("must", 1.1, declared=("float16",))
    assert (found.verdict, found.failure) == (FAIL, "values")
    assert by_bound("should", 1.1).verdict is WARN


def test_a_case_that_decides_too_little_is_a_bad_case(wording: Wording) -> None:
    found = by_bound("must", 1.0, tiers=(Tier("plain", arithmetic(0.6)),))
    assert found.verdict is Verdict.BAD_CASE
    assert found.reason == (wording)


def test_a_wrong_output_beside_a_poor_one_decides(wording: Wording) -> None:
    bound: Any = Fake(POOR, values=THIRD)
    wants = tuple(Want(name, DTYPES["float32"], THIRD, 0, 1, bound) for name in ("poor", "wrong"))
    got = made(*((THIRD * factor).astype(np.float32) for factor in (1.001, 1.1)))
    found = judge("must", [Answer(wants)], got, None)
    assert (found.verdict, found.failure) == (FAIL, "values")
    assert found.reason == wording
