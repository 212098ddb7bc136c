"""Shards: each case is in one of them, whoever asks, and they take about equally long."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from opcheck.model import Case
from opcheck.suite import shard
from tests.report.made import CASE

SIZES = st.lists(st.integers(0, 1 << 22), max_size=60)
MICROSECONDS = st.integers(0, 40_000_000)


def cases_of(sizes: list[int]) -> tuple[Case, ...]:
    """Cases of one input with so many elements each."""
    (spec,) = CASE.inputs
    return tuple(
        replace(CASE, id=f"case {number}", inputs=(replace(spec, shape=(size,)),))
        for number, size in enumerate(sizes)
    )


def cost(case: Case) -> int:
    return 8192 + case.inputs[0].shape[0]


@given(SIZES, st.integers(1, 9), st.dictionaries(st.integers(0, 80), MICROSECONDS))
def test_every_case_is_in_one_shard_and_in_its_place(sizes, total, measured):
    cases = cases_of(sizes)
    seconds = {f"case {number}": one / 1e6 for number, one in measured.items()}
    shards = [shard(cases, number, total, seconds) for number in range(1, total + 1)]
    order = {case.id: place for place, case in enumerate(cases)}
    places = [[order[case.id] for case in one] for one in shards]
    assert sorted(place for one in places for place in one) == [*range(len(cases))]
    assert all(one == sorted(one) for one in places)


@given(SIZES.filter(len), st.integers(1, 9))
def test_no_shard_has_more_than_its_share_and_one_case(sizes: list[int], total: int) -> None:
    cases = cases_of(sizes)
    loads = [sum(map(cost, shard(cases, n, total))) for n in range(1, total + 1)]
    assert max(loads) <= sum(map(cost, cases)) / total + max(map(cost, cases))
    assert max(loads) - min(loads) <= max(map(cost, cases))


@given(SIZES, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_order_in_which_seconds_are_told_is_no_matter(sizes, total, random) -> None:
    cases = cases_of(sizes)
    told = [(case.id, number / 7) for number, case in enumerate(cases)]
    shuffled = random.sample(told, len(told))
    for number in range(1, total + 1):
        assert shard(cases, number, total, dict(told)) == shard(
            cases, number, total, dict(shuffled)
        )


def test_a_large_case_outweighs_many_small_ones() -> None:
    cases = cases_of([10] * 100 + [8192 * 99])
    first, second = (shard(cases, number, 2) for number in (1, 2))
    assert sorted(map(len, (first, second))) == [1, 100]


def test_measured_seconds_come_before_sizes() -> None:
    cases = cases_of([1 << 22, 10, 10, 10])
    seconds = {"case 0": 0.001, "case 1": 3.0, "case 2": 0.001, "case 3": 0.001}
    assert shard(cases, 1, 2, seconds) == (cases[1],)
    assert shard(cases, 2, 2, seconds) == (cases[0], *cases[2:])


def test_a_case_that_was_not_measured_counts_as_an_average_one() -> None:
    cases = cases_of([10, 10, 1 << 22])
    # 2 s and 1 s: the third, of 1.5 s, goes to the shard with less to do.
    assert shard(cases, 2, 2, {"case 0": 2.0, "case 1": 1.0}) == cases[1:]


def test_there_may_be_more_shards_than_cases() -> None:
    cases = cases_of([1])
    assert [shard(cases, number, 3) for number in (1, 2, 3)] == [cases, (), ()]
