"""What changed from one run to another, and which of it is for the worse."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from opcheck.analysis import REGRESSIONS, ChangeKind, compare, diff_status, differences
from opcheck.errors import Exit
from opcheck.model import Diagnosis, Ending, Known, Record, Run, Verdict
from tests.report.made import record
from tests.report.runs import run_of
from tests.wording import Wording

PASS, KNOWN, WARN, FAIL = Verdict.PASS, Verdict.KNOWN, Verdict.WARN, Verdict.FAIL
CRASH, UNSUPPORTED = Verdict.CRASH, Verdict.UNSUPPORTED
NOT_RUN, BAD = Verdict.NOT_RUN, Verdict.BAD_CASE
RED = [
    v for v in Verdict if v in ("fail", "differ", "error", "crash", "timeout", "oom", "unstable")
]
TWO = run_of(record(), record(FAIL), record(backend="bolt"), record(backend="bolt"))
RECORDS = st.lists(
    st.builds(record, st.sampled_from(Verdict), st.sampled_from(["acme", "bolt"])), max_size=5
)


def one(verdict: Verdict, **fields: Any) -> Run:
    """A run of two cases, of which the first has this verdict and the second passes."""
    return run_of(record(verdict, **fields), record())


def under(run: Run, **fields: Any) -> Run:
    """The run with these fields in its header."""
    return replace(run, header=replace(run.header, **fields))


def kind(old: Run, new: Run) -> ChangeKind | None:
    """The kind of the only change, if there is one."""
    found = compare(old, new)
    assert len(found.changes) <= 1
    assert found.compared == 2 - any(c.kind is ChangeKind.CHANGED for c in found.changes)
    return found.changes[0].kind if found.changes else None


def code(old: Run, new: Run, **options: bool) -> Exit:
    return diff_status(old, new, compare(old, new), **options)[0]


def test_a_pass_that_is_the_engine_s_own_now_is_a_regression() -> None:
    """A profile may name the engine now, whose passes prove nothing."""
    assert kind(one(PASS), one(PASS, self_check=True)) is ChangeKind.SELF
    assert kind(one(PASS, self_check=True), one(PASS, self_check=True)) is None
    assert kind(one(PASS, self_check=True), one(PASS)) is None
    assert ChangeKind.SELF in REGRESSIONS


#: What each verdict makes of the one before, but where that says otherwise.
USUAL: dict[Verdict, ChangeKind] = {
    PASS: ChangeKind.PASSES,
    KNOWN: ChangeKind.LISTED,
    WARN: ChangeKind.WARNS,
    **dict.fromkeys(RED, ChangeKind.FAILS),
    UNSUPPORTED: ChangeKind.DECLINES,
    NOT_RUN: ChangeKind.NOT_RUN,
    BAD: ChangeKind.BAD_CASE,
}
OTHERWISE: dict[Verdict, dict[Verdict, ChangeKind]] = {
    PASS: {UNSUPPORTED: ChangeKind.LOST},
    KNOWN: dict.fromkeys(RED, ChangeKind.UNLISTED),
    WARN: {PASS: ChangeKind.UNWARNED, UNSUPPORTED: ChangeKind.LOST},
    UNSUPPORTED: {},
    NOT_RUN: {},
    BAD: {},
}
#: What becomes of a verdict: those that are left out here change nothing.
EXPECTED: dict[Verdict, dict[Verdict, ChangeKind]] = {
    was: {now: kind for now, kind in (USUAL | more).items() if now is not was}
    for was, more in OTHERWISE.items()
}
EXPECTED |= dict.fromkeys(RED, USUAL | dict.fromkeys(RED, ChangeKind.OTHERWISE))


@pytest.mark.parametrize("was", Verdict)
@pytest.mark.parametrize("now", Verdict)
def test_what_becomes_of_each_verdict(was: Verdict, now: Verdict) -> None:
    # Whether a pass was listed is no matter of the backend's.
    before, after = (PASS if one is Verdict.UNEXPECTED_PASS else one for one in (was, now))
    expected = None if before is after else EXPECTED[before].get(after)
    assert kind(one(was), one(now)) is expected
    wanted = Exit.NONCONFORMING if expected in REGRESSIONS else Exit.CONFORMS
    # What was not delivered, or judged, in both runs is no verdict about the new one.
    wanted = Exit.UNUSABLE if was is now and was in (NOT_RUN, BAD) else wanted
    assert code(one(was), one(now)) is wanted
    nobody = run_of(record(UNSUPPORTED))
    assert code(nobody, nobody) is Exit.NOTHING_JUDGED


def test_whatever_becomes_red_or_is_no_longer_judged_is_for_the_worse() -> None:
    judged_ = {PASS, KNOWN, WARN, *RED}
    for was, kinds in EXPECTED.items():
        for now, found in kinds.items():
            worse = now in (NOT_RUN, BAD) or (now in RED and was not in RED)
            worse = worse or (now is UNSUPPORTED and was in (PASS, WARN))
            assert (found in REGRESSIONS) is worse, (was, now)
        assert was not in judged_ or NOT_RUN in kinds


@pytest.mark.parametrize(
    "fields",
    [
        {"reason": "output: 3 of 4 elements wrong"},
        {"failure": "shape"},
        {"diagnoses": (Diagnosis("b", "as if b"),)},
        {"diagnoses": (Diagnosis("a", "as if a"), Diagnosis("b", "as if b"))},
    ],
)
def test_a_failure_that_is_another_is_told_and_no_regression(fields: dict[str, Any]) -> None:
    was = {"reason": "output: 2 of 4 elements wrong", "failure": "values"}
    looks = {"diagnoses": (Diagnosis("a", "as if a"),)}
    old, new = one(FAIL, **was, **looks), one(FAIL, **{**was, **looks, **fields})
    assert kind(old, new) is ChangeKind.OTHERWISE
    assert code(old, new) is Exit.CONFORMS


def test_where_something_lay_in_memory_and_which_guess_came_first_is_no_change() -> None:
    a, b = Diagnosis("a", "as if a"), Diagnosis("b", "as if b")
    old = one(FAIL, reason="no at 0x7f4099e84f40", diagnoses=(a, b))
    assert kind(old, one(FAIL, reason="no at 0x7ff0cfbecd60", diagnoses=(b, a))) is None


def test_a_known_defect_of_another_cause_is_told() -> None:
    one_cause, other = Known("This.", None, "a.yaml"), Known("That.", None, "a.yaml")
    assert kind(one(KNOWN, known=one_cause), one(KNOWN, known=other)) is ChangeKind.OTHERWISE
    assert kind(one(KNOWN, known=one_cause), one(KNOWN, known=one_cause)) is None


def test_another_of_several_right_answers_is_told() -> None:
    old, new = one(PASS, alternative="first_nan"), one(PASS, alternative="skips_nan")
    assert kind(old, new) is ChangeKind.ANSWERS
    assert code(old, new) is Exit.CONFORMS


def test_warnings_are_red_where_the_run_was_strict() -> None:
    strict = partial(under, strict=True)
    assert kind(one(PASS), strict(one(WARN))) is ChangeKind.FAILS
    assert kind(one(WARN), strict(one(WARN))) is ChangeKind.FAILS
    assert kind(strict(one(WARN)), strict(one(WARN))) is None
    assert kind(strict(one(WARN)), one(PASS)) is ChangeKind.PASSES
    assert kind(strict(one(WARN)), one(WARN)) is None


def test_what_is_unsupported_is_red_where_support_was_required() -> None:
    required = partial(under, require_supported=True)
    assert kind(one(UNSUPPORTED), required(one(UNSUPPORTED))) is ChangeKind.FAILS
    assert kind(one(PASS), required(one(UNSUPPORTED))) is ChangeKind.FAILS
    none = one(UNSUPPORTED, inexpressible=True)
    assert kind(none, required(none)) is None


def test_where_known_defects_were_applied_once_it_is_as_if_they_never_were() -> None:
    listed = one(KNOWN, known=Known("Why.", None, "a.yaml"), found=FAIL)
    plain = one(FAIL)
    judging = under(plain, known=False)
    assert kind(listed, judging) is kind(judging, listed) is None
    # What is known is not diagnosed.
    first, second = judging.records
    diagnosed = replace(first, diagnoses=(Diagnosis("a", "as if a"),)), second
    assert kind(listed, replace(judging, records=diagnosed)) is None
    assert kind(listed, plain) is ChangeKind.UNLISTED


def without(run: Run, gone: Iterable[int]) -> Run:
    """The run of a suite that lacks the cases at these places."""
    left = [one for one in run.records if one.place not in gone]
    return Run(replace(run.header, cases=run.header.cases - len({*gone})), tuple(left), run.ending)


def test_a_case_that_is_missing_though_it_was_asked_for_is_a_regression() -> None:
    assert [(c.kind, c.record.backend) for c in compare(TWO, without(TWO, [0])).changes] == [
        (ChangeKind.VANISHED, "acme"),
        (ChangeKind.VANISHED, "bolt"),
    ]
    assert code(TWO, without(TWO, [0])) is Exit.NONCONFORMING
    # Even one that failed: whether it still would, nobody knows.
    assert compare(TWO, without(TWO, [1])).regressions == 2


def released(run: Run, version: str) -> Run:
    """The run as opcheck of this version stored it."""
    return under(run, environment=replace(run.header.environment, opcheck=version))


@pytest.mark.parametrize("verdict", [PASS, FAIL, KNOWN])
def test_a_shipped_case_that_another_release_does_not_ask_is_no_regression(
    verdict: Verdict,
) -> None:
    shipped = replace(record().source, shipped=True)
    old = one(verdict, source=shipped)
    new = released(without(old, [0]), "9.9")
    assert kind_of_first(old, new) is ChangeKind.DROPPED
    assert code(old, new) is Exit.CONFORMS
    # A case of the user is asked by any release.
    own = one(verdict, source=replace(shipped, shipped=False))
    assert kind_of_first(own, released(without(own, [0]), "9.9")) is ChangeKind.VANISHED
    # The same release asks the same cases.
    assert kind_of_first(old, without(old, [0])) is ChangeKind.VANISHED


def kind_of_first(old: Run, new: Run) -> ChangeKind:
    """The kind of the only change, of a result that one of the runs lacks."""
    (change,) = compare(old, new).changes
    return change.kind


@pytest.mark.parametrize(
    "fields", [{"selection": "op Hardmax"}, {"paths": ("a.yaml",)}, {"shard": (1, 2)}, {"seed": 3}]
)
def test_what_was_not_asked_for_is_left_out_and_told(
    fields: dict[str, Any], wording: Wording
) -> None:
    new = under(without(TWO, [0]), **fields)
    found = compare(TWO, new)
    assert (found.changes, len(found.left_out), found.compared) == ((), 2, 2)
    status, meaning = diff_status(TWO, new, found)
    assert status is Exit.UNUSABLE
    assert meaning == (wording)
    assert diff_status(TWO, new, found, common=True) == (
        Exit.CONFORMS,
        wording,
    )
    # Where nothing is missing, it does not matter how it was asked for.
    assert code(TWO, under(TWO, **fields)) is Exit.CONFORMS


def test_a_backend_that_took_no_part_was_not_asked() -> None:
    new = run_of(record(), record(FAIL))
    assert len(compare(TWO, new).left_out) == 2
    assert code(TWO, new) is Exit.UNUSABLE
    assert code(TWO, new, common=True) is Exit.CONFORMS


def test_what_is_new_is_a_regression_if_it_fails() -> None:
    assert [c.kind for c in compare(without(TWO, [0]), TWO).changes] == [ChangeKind.APPEARED] * 2
    assert code(without(TWO, [0]), TWO) is Exit.CONFORMS
    kinds = [c.kind for c in compare(without(TWO, [1]), TWO).changes]
    assert kinds == [ChangeKind.FAILS, ChangeKind.APPEARED]
    assert code(without(TWO, [1]), TWO) is Exit.NONCONFORMING


def edited(run: Run) -> Run:
    first, *rest = run.records
    return replace(run, records=(replace(first, digest="another"), *rest))


def test_an_edited_case_is_told_and_not_compared() -> None:
    changed = edited(one(PASS, reason="so"))
    assert kind(one(PASS), changed) is ChangeKind.CHANGED
    assert kind(one(FAIL), edited(one(FAIL, reason="another"))) is ChangeKind.CHANGED
    assert kind(one(FAIL), edited(one(UNSUPPORTED))) is ChangeKind.CHANGED
    assert code(one(PASS), changed) is Exit.CONFORMS


def test_an_edited_case_that_begins_to_fail_is_a_failure_all_the_same() -> None:
    found = compare(one(PASS), edited(one(FAIL)))
    assert [c.kind for c in found.changes] == [ChangeKind.FAILS]
    assert found.compared == 1


@pytest.mark.parametrize(
    ("now", "changed"),
    [
        (UNSUPPORTED, ChangeKind.LOST),
        (NOT_RUN, ChangeKind.NOT_RUN),
        (BAD, ChangeKind.BAD_CASE),
    ],
)
@pytest.mark.parametrize("was", [PASS, WARN])
def test_an_edited_case_that_is_no_longer_judged_is_a_regression(was, now, changed) -> None:
    before, after = one(was), edited(one(now))
    assert [c.kind for c in compare(before, after).changes] == [changed]
    assert code(before, after) is Exit.NONCONFORMING


def test_a_process_that_dies_between_questions_is_a_regression_if_none_did_before() -> None:
    calm, dying = one(PASS), one(PASS)
    assert dying.ending is not None
    dying = replace(dying, ending=replace(dying.ending, accidents=("acme: killed",)))
    assert code(calm, dying) is Exit.NONCONFORMING
    assert code(dying, dying) is Exit.CONFORMS
    assert code(dying, calm) is Exit.CONFORMS


def test_backends_are_matched_by_their_address_whatever_their_version() -> None:
    (info,) = one(PASS).header.backends
    newer = replace(one(FAIL).header, backends=(replace(info, version="2.0"),))
    assert kind(one(PASS), replace(one(FAIL), header=newer)) is ChangeKind.FAILS
    assert differences(one(PASS).header, newer) == {"backend acme": ("1.5", "2.0")}


def test_a_run_that_was_cut_short_proves_nothing(wording: Wording) -> None:
    short = replace(one(PASS), ending=None)
    for old, new in [(short, one(PASS)), (one(PASS), short), (short, short)]:
        status, meaning = diff_status(old, new, compare(old, new))
        assert status is Exit.UNUSABLE
        assert meaning == wording


def test_what_a_run_that_was_cut_short_lacks_is_no_regression() -> None:
    new = Run(TWO.header, TWO.records[:1], Ending(False, 130, ""))
    found = compare(TWO, new)
    assert (found.regressions, len(found.left_out)) == (0, 3)
    assert code(TWO, new, common=True) is Exit.UNUSABLE


def test_what_fails_in_a_run_that_was_cut_short_is_told() -> None:
    assert compare(one(PASS), replace(one(FAIL), ending=None)).regressions == 1


def test_where_nothing_is_in_common_nothing_was_compared() -> None:
    empty = run_of(backends=["acme"])
    assert code(empty, empty) is Exit.NOTHING_JUDGED
    assert code(empty, one(PASS)) is Exit.NOTHING_JUDGED
    every = one(PASS)
    other = replace(every, records=tuple(replace(one, digest="another") for one in every.records))
    assert code(every, other) is Exit.NOTHING_JUDGED
    assert code(one(PASS), run_of(record(FAIL), cases=1, selection="x")) is Exit.UNUSABLE


def test_the_sentence_counts_the_changes_of_each_kind(wording: Wording) -> None:
    old = run_of(record(), record(), record(FAIL), record())
    new = run_of(record(FAIL), record(CRASH), record(), record(WARN))
    _, meaning = diff_status(old, new, compare(old, new))
    assert meaning == wording
    assert diff_status(new, old, compare(new, old))[1] == (wording)
    _, none = diff_status(old, old, compare(old, old))
    assert none == wording


def whole(records: list[Record]) -> Run:
    return replace(run_of(*records, backends=["acme", "bolt"]), ending=Ending(True, 0, ""))


@given(RECORDS, RECORDS)
def test_every_result_is_told_once_or_is_as_it_was(one: list[Record], two: list[Record]) -> None:
    old, new = whole(one), whole(two)
    found = compare(old, new)
    told = [(c.record.case, c.record.backend) for c in found.changes]
    assert len({*told}) == len(told)
    before = {(r.case, r.backend) for r in old.records}
    after = {(r.case, r.backend) for r in new.records}
    assert {*told} >= before ^ after
    assert found.compared == len(before & after)
    order = [*ChangeKind]
    places = [order.index(c.kind) for c in found.changes]
    assert places == sorted(places)


def test_a_ledger_in_one_run_only_is_left_out_of_both():
    listed = one(KNOWN, known=Known("Why.", None, "m.yaml", 3), found=FAIL)
    gated = under(listed, ledgers={"m.yaml": "5eed"})
    assert kind(one(FAIL), gated) is None
    assert kind(gated, one(PASS)) is ChangeKind.PASSES
    dropped = one(UNSUPPORTED, unexpected=True)
    dropped = replace(dropped, header=gated.header)
    assert kind(one(UNSUPPORTED), dropped) is None


def test_where_a_failure_is_listed_is_no_matter():
    known = [Known("Why.", None, "m.yaml", line, f"- line {line}") for line in (3, 7)]
    assert kind(*(one(KNOWN, known=said, found=FAIL) for said in known)) is None
