from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck.model.timing import Sample, Timed, Timing
from opcheck.timing import Compared, Missing, TimingChange, compare_backends, compare_runs
from tests.examples import examples
from tests.timing.machine import QUIET, Machine, Noise, samples

USUAL = Noise(0.02, 0.005, 0.05)
CASES = 20
OLD, NEW = "no time in the old run", "no time in the new run"
ABSENT = "no such case on this backend, or another one of that name"


def run(machine: Machine, slow: float = 1.0, cases: int = CASES, rounds: int = 60) -> list[Timed]:
    """A run of cases on two backends; every row, and the run as a whole, is off by about 1 %."""
    off = machine.rng.normal(0, 0.01)
    rows = np.exp(off + machine.rng.normal(0, 0.005, (cases, 2))) * (1.0, slow)
    return [machine.timed(f"case {number}", rounds, a=a, b=b) for number, (a, b) in enumerate(rows)]


def scaled(found: tuple[Sample, ...], factor: float) -> tuple[Sample, ...]:
    return tuple(replace(sample, seconds=sample.seconds * factor) for sample in found)


def slower(timed: Timed, backend: str, factor: float) -> Timed:
    timings = [
        replace(one, samples=scaled(one.samples, factor)) if one.backend == backend else one
        for one in timed.timings
    ]
    return replace(timed, timings=tuple(timings))


def slow(changes: Iterable[TimingChange]) -> set[tuple[str, str]]:
    return {(one.case, one.backend) for one in changes if one.verdict == "slower"}


@pytest.mark.gate
def test_two_runs_of_the_same_build_raise_an_alarm_in_2_of_50_at_the_most():
    machine, alarms = Machine(1, USUAL), 0
    for _ in range(50):
        found = compare_runs(run(machine, rounds=30), run(machine, rounds=30))
        said = {change.verdict for change in (*found.changes, *found.together)}
        alarms += bool(said & {"slower", "faster"})
    assert alarms <= 2


@pytest.mark.gate
def test_a_backend_slower_by_10_percent_is_found_in_45_of_50_at_the_least():
    machine, found, others = Machine(2, USUAL), 0, 0
    for _ in range(50):
        changes = compare_runs(run(machine, cases=8), run(machine, 1.1, cases=8)).changes
        backends = {backend for _, backend in slow(changes)}
        found += "b" in backends
        others += "a" in backends
    assert found >= 45
    assert others <= 2


@pytest.mark.gate
def test_so_is_a_single_row_of_16_that_is_slower_by_15_percent():
    machine, found = Machine(3, USUAL), 0
    for _ in range(50):
        new = run(machine, cases=8)
        new[7] = slower(new[7], "a", 1.15)
        found += ("case 7", "a") in slow(compare_runs(run(machine, cases=8), new).changes)
    assert found >= 45


@pytest.mark.gate
def test_what_is_slower_altogether_shows_in_the_mean_where_noise_hides_it_in_the_rows():
    """Processes differ by 5 %, so that 13 % are often nothing in any row."""
    machine, in_rows, altogether, alarms = Machine(9, Noise(0.02, 0.05, 0.05)), 0, 0, 0
    for _ in range(20):
        old = run(machine, rounds=30)
        slower, same = run(machine, 1.13, rounds=30), run(machine, rounds=30)
        found = compare_runs(old, slower)
        in_rows += bool(slow(found.changes))
        altogether += slow(found.together) == {("", "b")}
        alarms += bool(slow(compare_runs(old, same).together))
    assert altogether >= 16
    assert altogether > in_rows + 3
    assert alarms == 0


def test_a_backend_with_one_row_has_no_mean():
    old = run(Machine(10, USUAL), cases=1)
    assert compare_runs(old, old).together == ()
    two = [*old, replace(old[0], case="another", timings=old[0].timings[:1])]
    assert [(one.case, one.backend) for one in compare_runs(two, two).together] == [("", "a")]


def test_the_mean_is_of_processes_that_have_a_part_in_all_rows():
    one, other = run(Machine(11, USUAL), cases=2)
    few = replace(
        other,
        timings=tuple(
            replace(timing, samples=tuple(s for s in timing.samples if s.worker in keep))
            for timing, keep in zip(other.timings, ({1, 3}, set()), strict=True)
        ),
    )
    found = compare_runs([one, few], [one, few])
    assert [change.backend for change in found.together] == ["a"]
    assert found.together[0].ratio == 1.0


def test_the_interval_of_a_row_covers_its_change():
    machine, covered = Machine(4, Noise(0.02, 0.01, 0.1)), 0
    for _ in range(10):
        old = [machine.timed(str(number), 30, a=1.0) for number in range(10)]
        new = [machine.timed(str(number), 30, a=1.2) for number in range(10)]
        covered += sum(one.low <= 1.2 <= one.high for one in compare_runs(old, new).changes)
    assert covered >= 90


def test_p_values_know_how_many_rows_there_are():
    machine = Machine(5, USUAL)
    old, new = run(machine), run(machine)
    new[0] = slower(new[0], "a", 1.1)
    alone = compare_runs(old[:1], new[:1]).changes[0]
    among = compare_runs(old, new).changes[0]
    assert among.p > 10 * alone.p
    assert replace(among, p=alone.p, verdict=alone.verdict) == alone


def test_a_run_is_the_same_as_itself():
    old = run(Machine(6, Noise(0.01, 0.005, 0.0)))
    found = compare_runs(old, old)
    assert Counter(change.verdict for change in found.changes) == {"same": 2 * CASES}
    assert {(change.ratio, change.p) for change in found.changes} == {(1.0, 1.0)}


@pytest.mark.parametrize("factor", [0.5, 1.5, 3.0])
def test_a_machine_that_is_slower_altogether_changes_nothing(factor):
    old = run(Machine(7, USUAL))
    new = [
        replace(
            slower(slower(timed, "a", factor), "b", factor),
            copy=scaled(timed.copy, factor),
            yardstick=scaled(timed.yardstick, factor),
        )
        for timed in old
    ]
    found = compare_runs(old, new).changes
    assert [change.ratio for change in found] == pytest.approx([1.0] * len(found))
    assert all(change.verdict in ("same", "unclear") for change in found)


def held_against(old: Timed, copy: float, yardstick: float) -> TimingChange:
    """What is said of a row whose rulers take so many times as long in the new run."""
    beside = scaled(old.copy, copy), scaled(old.yardstick, yardstick)
    new = replace(old, copy=beside[0], yardstick=beside[1])
    return compare_runs([old], [new]).changes[0]


def test_only_what_is_slower_relative_to_both_is_slower():
    """The rows take as long as the copy, so they are of nothing but memory."""
    old = Machine(8, Noise(0.01, 0.0, 0.0)).timed("case", 60, a=1.0)
    for copy, yardstick in ((0.8, 1.0), (1.0, 0.8)):
        change = held_against(old, copy, yardstick)
        assert change.ratio == pytest.approx(1.0, abs=0.03)
        assert change.verdict == "unclear"
        assert change.high > 1.2
    change = held_against(old, 0.8, 0.8)
    assert change.ratio == pytest.approx(1.25)
    assert change.verdict == "slower"


def test_the_copy_counts_for_as_much_as_it_takes_of_the_time():
    """A tenth of the time of this row can be lost by slow memory, and no more."""
    old = Machine(8, QUIET).timed("case", 30, a=10.0)
    assert held_against(old, 0.5, 1.0).high == pytest.approx(2**0.071, rel=1e-3)
    assert held_against(old, 2.0, 1.0).low == pytest.approx(0.5**0.141, rel=1e-3)
    assert held_against(old, 0.5, 0.9).verdict == "slower"
    longer = Machine(8, QUIET).timed("case", 30, a=0.1)  # no row is of more than memory
    assert held_against(longer, 0.5, 1.0).high == pytest.approx(2.0)


def test_what_is_slower_relative_to_one_and_faster_to_the_other_is_neither():
    (old,) = run(Machine(8, Noise(0.001, 0.0, 0.0)), cases=1)
    new = replace(old, copy=scaled(old.copy, 0.5), yardstick=scaled(old.yardstick, 2.0))
    for change in compare_runs([old], [new]).changes:
        assert (change.p, change.verdict) == (1.0, "unclear")


def test_without_samples_of_copying_the_fixed_work_decides():
    (old,) = run(Machine(9, USUAL), cases=1)
    new = slower(old, "a", 1.5)
    for before, after in [(old, replace(new, copy=())), (replace(old, copy=()), new)]:
        assert compare_runs([before], [after]).changes[0].verdict == "slower"


@pytest.mark.parametrize(
    ("beyond", "said"),
    [
        (0.03, ["faster", "faster", "not slower", "same", "slower", "slower"]),
        (0.05, ["faster", "not slower", "same", "same", "unclear", "slower"]),
        (0.2, ["same"] * 6),
    ],
)
def test_what_counts_is_what_surely_changed_by_more_than_was_asked_for(beyond, said):
    (old,) = run(Machine(10, Noise(0.001, 0.0, 0.0)), cases=1)
    factors = (0.89, 0.952, 0.971, 1.025, 1.05, 1.1)
    found = [compare_runs([old], [slower(old, "a", factor)], beyond) for factor in factors]
    assert [one.changes[0].verdict for one in found] == said
    assert {one.beyond for one in found} == {beyond}


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_samples_without_any_noise_are_no_trouble(factor):
    old = Machine(11, QUIET).timed("case", 30, a=1.0)
    change = compare_runs([old], [slower(old, "a", factor)]).changes[0]
    assert [change.low, change.high] == pytest.approx([factor, factor])
    assert change.verdict == ("same" if factor == 1 else "slower")


def test_a_run_of_a_few_processes_borrows_no_certainty_from_one_of_many():
    machine = Machine(18, QUIET)
    many, few = machine.timed("case", 60, workers=20, a=1.0), machine.timed("case", 60, a=1.0)
    apart = Timing("a", samples([1.0e-3, 1.2e-3] * 30, workers=2))
    for runs in [(many, replace(few, timings=(apart,))), (replace(few, timings=(apart,)), many)]:
        change = compare_runs(*([one] for one in runs)).changes[0]
        assert change.high / change.low > 10


def test_of_one_process_nothing_follows():
    machine = Machine(12, QUIET)
    change = compare_runs(
        [machine.timed("case", 30, workers=1, a=1.0)], [machine.timed("case", 30, a=9.0)]
    ).changes[0]
    assert (change.p, change.verdict, change.low) == (1.0, "unclear", 0.0)


def test_what_only_one_run_has_is_told_with_the_reason():
    machine = Machine(13, USUAL)
    old = [machine.timed("gone", 30, a=1.0), machine.timed("kept", 30, a=1.0, b=1.0)]
    new = [machine.timed("kept", 30, a=1.0, b=1.0), machine.timed("new", 30, a=1.0)]
    new[0] = replace(new[0], timings=(*new[0].timings, Timing("c", why_not="fails")))
    found = compare_runs(old, new)
    told = [(change.case, change.backend) for change in found.changes]
    assert told == [("kept", "a"), ("kept", "b")]
    assert found.missing == (
        Missing("kept", "c", f"{OLD}: {ABSENT}; {NEW}: fails"),
        Missing("new", "a", f"{OLD}: {ABSENT}"),
        Missing("gone", "a", f"{NEW}: {ABSENT}", lost=True),
    )


def test_times_of_other_shapes_or_types_are_times_of_something_else():
    old = Machine(14, USUAL).timed("case", 30, a=1.0)
    others = replace(old, shapes="9×9"), replace(old, dtype="float16"), replace(old, digest="f")
    for other in others:
        found = compare_runs([old], [other])
        assert not found.changes
        missing = [(one.lost, one.why) for one in found.missing]
        assert missing == [(False, f"{OLD}: {ABSENT}"), (True, f"{NEW}: {ABSENT}")]


def test_a_row_without_the_fixed_work_cannot_be_compared():
    old = Machine(15, USUAL).timed("case", 30, a=1.0)
    found = compare_runs([old], [replace(old, yardstick=())])
    why = f"{NEW}: no fixed work in the same rounds"
    assert found.missing == (Missing("case", "a", why, lost=True),)


def test_runs_without_anything_have_nothing_to_tell():
    assert compare_runs([], []) == Compared((), ())
    failed = replace(Machine(16).timed("case", 1), timings=(Timing("a", why_not="fails"),))
    why = "no time on either side: fails"
    assert compare_runs([failed], [failed]).missing == (Missing("case", "a", why),)


PRESENT = st.lists(
    st.lists(st.sampled_from(["timed", "failed", ""]), min_size=2, max_size=2), max_size=4
)


@examples(30)
@given(old=PRESENT, new=PRESENT)
def test_every_row_of_either_run_is_told_of_once(old, new):
    sample = Machine(17, USUAL).timed("case", 15, a=1.0, b=1.0)

    def present(cases: list[list[str]]) -> list[Timed]:
        return [
            replace(
                sample,
                case=str(number),
                timings=tuple(
                    timing if state == "timed" else Timing(timing.backend, why_not="fails")
                    for timing, state in zip(sample.timings, states, strict=True)
                    if state
                ),
            )
            for number, states in enumerate(cases)
        ]

    found = compare_runs(present(old), present(new))
    rows = {
        (str(number), backend)
        for run_ in (old, new)
        for number, states in enumerate(run_)
        for backend, state in zip("ab", states, strict=True)
        if state
    }
    told = [(one.case, one.backend) for one in found.changes]
    told += [(one.case, one.backend) for one in found.missing]
    assert sorted(told) == sorted(rows)


def test_within_a_run_a_backend_slower_by_8_percent_is_found_and_an_equal_one_is_not():
    machine, found = Machine(19, USUAL), Counter()
    for _ in range(30):
        rows = [machine.timed(f"{n}", 60, old=1.0, same=1.0, new=1.08) for n in range(4)]
        compared = compare_backends(rows, "old")
        assert len(compared.changes) == 8
        found.update(one.backend for one in compared.together if one.verdict == "slower")
        found.update(f"row of {one.backend}" for one in compared.changes if one.verdict == "slower")
    assert found["new"] >= 28
    assert found["row of new"] >= 60
    assert found["same"] == found["row of same"] == 0


@pytest.mark.parametrize(
    ("slow", "verdict"),
    [(1.1, "slower"), (1.05, "unclear"), (1.0, "same"), (0.95, "not slower"), (0.9, "faster")],
)
def test_the_interval_of_the_ratio_is_the_test(slow, verdict):
    machine = Machine(20, Noise(0.002, 0.005, 0.0))
    (change,) = compare_backends([machine.timed("x", 60, old=1.0, new=slow)], "old").changes
    assert change.verdict == verdict
    assert change.low < slow < change.high


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_exactly_the_change_that_is_allowed_is_none(ratio):
    row = Machine(23).timed("x", 60, old=1.0, new=ratio)
    assert compare_backends([row], "old", beyond=1.0).changes[0].verdict == "same"


@pytest.mark.parametrize(
    ("rows", "workers", "apart", "means"),
    [(1, 5, 0, 0), (2, 2, 0, 1), (2, 1, 0, 0), (2, 2, 2, 0)],
)
def test_a_mean_is_of_two_rows_and_two_processes_that_both_have(rows, workers, apart, means):
    machine = Machine(23, USUAL)

    def moved(drawn: tuple[Sample, ...], by: int) -> tuple[Sample, ...]:
        return tuple(replace(sample, worker=sample.worker + by) for sample in drawn)

    def row(n: int) -> Timed:
        timings = [Timing(a, moved(machine.draw(30, workers), n * apart)) for a in ("old", "new")]
        return replace(case, case=str(n), timings=tuple(timings))

    case = machine.timed("x", 30)
    assert len(compare_backends([*map(row, range(rows))], "old").together) == means


def test_a_row_without_a_time_of_either_is_missing_and_is_not_clear(wording):
    machine = Machine(21, USUAL)
    times, fails = machine.timed("x", 30, old=1.0, new=1.0), Timing("new", why_not="wrong")
    old = replace(times.timings[0], samples=(), why_not="crash")
    rows = [
        replace(times, timings=(times.timings[0], fails)),
        replace(times, timings=(old, times.timings[1])),
        replace(times, timings=(old, fails)),
    ]
    both = replace(old, why_not="no kernel"), replace(fails, why_not="no kernel")
    rows.append(replace(times, timings=both))
    found = compare_backends(rows, "old")
    assert [row.lost for row in found.missing] == [True, False, False, False]
    assert [row.why for row in found.missing] == wording
    assert (found.changes, found.unclear) == ((), 3)


def test_rows_timed_next_to_other_backends_cannot_be_compared():
    machine = Machine(22, USUAL)
    alone, both = machine.timed("x", 30, a=1.0), machine.timed("x", 30, a=1.0, b=1.0)
    found = compare_runs([alone], [both])
    assert Missing("x", "a", "timed next to other backends") in found.missing
    assert found.changes == ()
