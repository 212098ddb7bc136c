"""Comparisons, selections and steps admit what the errors leave open, and nothing else."""

import itertools
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck import numbers as xp
from opcheck.numbers.arithmetic import FLOAT32
from opcheck.numbers.bounded import Bounded, bounded
from opcheck.numbers.bounded.array import Errors
from opcheck.numbers.bounded.choice import Choices, Truth, truth_parts
from opcheck.numbers.bounded.movement import cast_to_half
from tests.examples import examples
from tests.wording import Wording

intervals = st.tuples(st.integers(-3, 3), st.sampled_from([0, 1, 2]))


def about(values: Any, error: Any, lost: Any = None) -> Bounded:
    """Numbers that may be off by `error`."""
    v = np.asarray(values, np.float64)
    e = np.broadcast_to(np.asarray(error, np.float64), v.shape)
    return Bounded(v, np.dtype(np.float32), FLOAT32, Errors(e, None, lost))


def hull(x: Bounded) -> list[tuple[float, float]]:
    x = x.with_rounding()
    e = np.zeros(x.shape) if x.e is None else x.e
    return [*zip((x.v - e).ravel().tolist(), (x.v + e).ravel().tolist(), strict=True)]


def corners(x: tuple[int, int]) -> list[float]:
    """Numbers that lie in an interval, its ends and those between."""
    return [x[0] + x[1] * part for part in (-1, -0.5, 0, 0.5, 1)]


@pytest.mark.parametrize(
    "name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
)
@given(intervals, intervals)
def test_a_comparison_is_unsure_exactly_where_both_outcomes_are_possible(name, a, b):
    compare = getattr(np, name)
    v, unsure = truth_parts(getattr(xp, name)(about(*a), about(*b)))
    outcomes = {bool(compare(x, y)) for x, y in itertools.product(corners(a), corners(b))}
    assert bool(v) in outcomes
    assert bool(unsure) or len(outcomes) == 1
    # Equal ends may be called unsure where they are not.
    assert len(outcomes) == 2 or not unsure or abs(a[0] - b[0]) == a[1] + b[1]


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@given(st.tuples(*[st.booleans()] * 4))
def test_logic_of_what_is_unsure(name: str, drawn: tuple[bool, ...]) -> None:
    a, b = ([drawn[i]] if not drawn[i + 1] else [False, True] for i in (0, 2))
    truths = [Truth(np.array([drawn[i]]), np.array([drawn[i + 1]])) for i in (0, 2)]
    v, unsure = truth_parts(getattr(xp, name)(*truths))
    outcomes = {bool(getattr(np, name)(x, y)) for x, y in itertools.product(a, b)}
    assert (bool(v[0]) in outcomes, bool(unsure[0])) == (True, len(outcomes) == 2)
    operator = {"logical_and": "__and__", "logical_or": "__or__", "logical_xor": "__xor__"}[name]
    found = truth_parts(getattr(truths[0], operator)(truths[1]))
    assert [half.tolist() for half in found] == [[v[0]], [unsure[0]]]
    assert truth_parts(~truths[0])[0].tolist() == [not drawn[0]]


@given(st.lists(intervals, min_size=3, max_size=3))
def test_a_selection_reaches_both_sides_where_it_is_unsure(drawn: list[tuple[int, int]]) -> None:
    c, a, b = drawn
    [(low, high)] = hull(xp.where(about(*c) > 0, about(*a), about(*b)))
    possible = {x > 0 for x in corners(c)}
    for one, chosen in ((a, True), (b, False)):
        if chosen in possible:
            assert low <= one[0] - one[1] <= one[0] + one[1] <= high
    if possible == {True}:
        assert (low, high) == (a[0] - a[1], a[0] + a[1])


@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "floor", "ceil", "round", "trunc", "sign", "remainder", "fmod"]
)
@given(intervals, intervals)
def test_steps_and_extremes_hold_every_outcome(name, a, b):
    a = (a[0] * 3, a[1]) if name in ("remainder", "fmod") else (a[0] / 2, a[1] / 4)
    function = getattr(np, {"round": "rint"}.get(name, name))
    two = name in ("maximum", "minimum", "remainder", "fmod")
    if name in ("remainder", "fmod") and abs(b[0]) <= b[1]:
        return
    operands = [about(*a), about(*b)][: 1 + two]
    [(low, high)] = hull(getattr(xp, name)(*operands))
    for corner in itertools.product(*(corners(one) for one in (a, b)[: 1 + two])):
        assert low - 1e-12 <= function(*corner) <= high + 1e-12


def test_a_step_away_from_its_edge_has_no_error() -> None:
    assert hull(xp.floor(about([2.5, 2.9, 3.1], 0.2))) == [(2, 2), (2, 3), (2, 3)]
    assert hull(xp.sign(about([0.1, -0.1, 5], 0.2))) == [(-1, 1), (-1, 1), (1, 1)]


@pytest.mark.parametrize("remainder", [xp.remainder, xp.fmod])
def test_the_remainder_of_a_division_by_what_may_be_0_is_lost(remainder: Any) -> None:
    found = remainder(about([5.0, 5.0], 0.0), about([0.1, 3.0], 0.2)).with_rounding()
    assert (found.lost > 0).tolist() == [True, False]
    assert remainder(about([5.0], 0.1), about([3.0], 0.2)).with_rounding().lost is None


def test_a_step_of_what_scatters_keeps_its_value_and_reaches_every_outcome() -> None:
    x = replace(about([2.9], 0.2), arithmetic=replace(FLOAT32, scatters=True))
    (low, high) = hull(xp.floor(x))[0]
    assert xp.values_of(xp.floor(x)).tolist() == [2.0]
    assert low <= 2 <= 3 <= high


def test_casts_to_integers_and_booleans(wording: Wording) -> None:
    cast = xp.astype(about([2.9, -2.9, 1e9, 3e9, np.nan], 0.2), np.int32).with_rounding()
    assert hull(cast)[:2] == [(2, 3), (-3, -2)]
    assert cast.lost.tolist() == [False, False, False, True, True]
    ends = about([-(2.0**63), 2.0**63 - 2.0**11, 2.0**63], 0.0)
    assert xp.astype(ends, np.int64).with_rounding().lost.tolist() == [False, False, True]
    near_ends = about([127.2, 126.2, -127.2, -128.2], 1.5)
    assert xp.astype(near_ends, np.int8).lost.tolist() == [True, False, False, True]
    v, unsure = truth_parts(xp.astype(about([0.0, 0.1, 3.0], [0.0, 0.2, 0.2]), np.bool_))
    assert (v.tolist(), unsure.tolist()) == ([False, True, True], [False, True, False])
    with pytest.raises(TypeError) as raised:
        xp.astype(about([1.0], 0.1), np.str_)
    assert raised.value == wording


def test_an_integer_that_may_be_any_decides_nothing() -> None:
    cast = xp.astype(about([2.0, 3e9, np.nan], 0), np.int32)
    for decision in (xp.astype(cast, np.bool_), cast > 0, cast == xp.zeros_like(cast)):
        assert truth_parts(decision)[1].tolist() == [False, True, True]


def test_an_integer_that_may_be_any_is_any_number_as_a_float() -> None:
    cast = xp.astype(xp.astype(about([2.0, 3e9, np.nan], 0), np.int32), np.float32)
    with np.errstate(invalid="ignore"):
        assert hull(cast)[1:] == [(-np.inf, np.inf)] * 2
    assert cast.e[0] == 0


UNSURE = Truth(np.array([[True, False, True]]), np.array([[False, False, True]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_an_unsure_truth_is_0_or_1_in_floating_types(dtype: Any) -> None:
    with xp.lifting(partial(bounded, arithmetic=FLOAT32)):
        cast = xp.astype(UNSURE, dtype)
    assert cast.dtype == dtype
    (sure, no, unsure) = hull(cast)
    assert (sure, no) == ((1, 1), (0, 0))
    assert unsure[0] <= 0 < 1 <= unsure[1]


def test_an_unsure_truth_is_0_or_1_in_integer_types_and_itself_as_boolean() -> None:
    cast = xp.astype(UNSURE, np.int8)
    assert (cast.v.dtype, cast.v.tolist()) == (np.int8, [[1, 0, 1]])
    assert [sorted(possible) for possible in cast.admitted[0]] == [[1, 1], [0, 0], [0, 1]]
    assert xp.astype(UNSURE, np.bool_) is UNSURE


def test_a_truth_of_plain_numbers_in_force_is_no_float() -> None:
    with pytest.raises(TypeError):
        xp.astype(UNSURE, np.float32)


@pytest.mark.parametrize("array", [UNSURE, Choices(np.array([1]), np.array([[0, 1]]))])
def test_what_is_unsure_decides_no_branch(array: Any) -> None:
    with pytest.raises(TypeError):
        bool(array)


@pytest.mark.parametrize("limits", [(None, None), (None, 1.0), (-1.0, None), (-1.0, 1.0)])
def test_a_limit_of_none_is_no_limit(limits: tuple[float | None, float | None]) -> None:
    x = np.array([-3.0, 0.5, 3.0, np.nan])
    clipped = xp.clip(about(x, 0.0), *limits)
    np.testing.assert_array_equal(clipped.v, np.clip(x, *limits))
    np.testing.assert_array_equal(xp.clip(x, *limits), np.clip(x, *limits))


def test_a_cast_to_16_bits_gives_a_number_of_the_type() -> None:
    """Next to 2,049 float16 has even numbers alone; 65,520 is the least that is infinite."""
    x = about([2048.9, 2049.02, 65519.9, 70000.0, -70000.0, 1e-9], [0.05, 0.05, 0.5, 1, 1, 1e-12])
    cast = cast_to_half(xp.astype(x, np.float16))
    assert cast.v.tolist() == [2048, 2050, 65504, np.inf, -np.inf, 0]
    assert (cast.k, cast.e.tolist()) == (0, [0, 2, 0, 0, 0, 0])
    assert cast.lost.tolist() == [False, False, True, False, False, False]
    assert cast_to_half(xp.astype(about([2048.9, 70000.0], 0.05), np.float16)).exact


def test_an_error_as_large_as_the_value_decides_no_overflow() -> None:
    cast = cast_to_half(xp.astype(about([1000.0], [100_000.0]), np.float16))
    assert cast.lost is None
    assert hull(cast) == [(-99_000, 101_000)]


def test_a_cast_that_is_left_out_rounds_nothing_but_what_is_too_large() -> None:
    arithmetic = replace(FLOAT32, keeps_casts=True)
    x = replace(about([2048.9, 70000.0], 0.05), arithmetic=arithmetic)
    cast = cast_to_half(xp.astype(x, np.float16))
    assert cast.v.tolist() == [2048.9, np.inf]
    assert cast.with_rounding().e[0] == pytest.approx(0.05 + 2048.95 * 2.0**-11)


def admitted(found: Any) -> list[list[int]]:
    if not isinstance(found, Choices):
        return [[one] for one in np.ravel(found).tolist()]
    lists = found.admitted.reshape(-1, found.admitted.shape[-1]).tolist()
    return [sorted(set(one)) for one in lists]


def test_an_index_may_be_any_that_the_errors_admit() -> None:
    x = about([[1.0, 1.1, 0.9, 3.0], [5.0, 1.0, 2.0, 4.9]], 0.1)
    assert admitted(xp.argmax(x, axis=1)) == [[3], [0, 3]]
    assert admitted(xp.argmin(x, axis=1)) == [[0, 1, 2], [1]]
    assert admitted(xp.argmax(x)) == [[4, 7]]
    assert admitted(xp.argmax(x, axis=0, keepdims=True)) == [[1], [0, 1], [1], [1]]
    assert np.asarray(xp.argmax(about([[1.0, 2.0]], 0.1), axis=1)).tolist() == [1]


def test_what_is_taken_at_an_unsure_index_reaches_all_that_it_may_be() -> None:
    x = about([[1.0, 1.1, 0.0]], 0.1)
    y = about([[10.0, 30.0, 99.0]], 1.0)
    index = xp.argmax(x, axis=1, keepdims=True)
    assert isinstance(index, Choices)
    assert hull(xp.take_along_axis(y, index, 1)) == [(9, 51)]
    assert hull(xp.take(y[0], xp.argmax(x[0], axis=0), 0)) == [(9, 51)]
    assert hull(xp.take_along_axis(y, np.array([[2]]), 1)) == [(98, 100)]


@examples(60)
@given(st.lists(intervals, min_size=2, max_size=5), st.booleans(), st.data())
def test_the_largest_in_order_are_among_those_admitted(drawn, largest, data):
    k = data.draw(st.integers(1, len(drawn)))
    x = about([one[0] for one in drawn], [one[1] for one in drawn])
    values, indices = xp.top_k(x, k, 0, largest)
    real = np.array([data.draw(st.sampled_from(corners(one))) for one in drawn])
    order = np.argsort(-real if largest else real, kind="stable")[:k]
    for place, (low, high) in enumerate(hull(values)):
        assert low <= real[order[place]] <= high
        assert order[place] in admitted(indices)[place]


@pytest.mark.parametrize("axis", [0, 1])
def test_the_axis_of_the_largest_in_order_may_be_counted_from_the_end(axis: int) -> None:
    x = about([[1.0, 1.1, 3.0], [1.1, 5.0, 1.2]], 0.1)
    _, indices = xp.top_k(x, 2, axis, True)
    _, counted = xp.top_k(x, 2, axis - 2, True)
    assert isinstance(counted, Choices)
    assert np.array_equal(counted.v, indices.v)
    assert np.array_equal(counted.admitted, indices.admitted)


def test_what_was_lost_stays_lost_where_it_is_chosen() -> None:
    x, y = about([[2.0, 1.0]], 0.1, np.array([[True, False]])), about([[0.0, 0.0]], 0.1)
    for chosen, want in (
        (xp.where(np.array([[True, True]]), x, y), [True, False]),
        (xp.where(np.array([[False, True]]), x, y), [False, False]),
        (xp.maximum(x, y), [True, False]),
        (xp.minimum(x, y), [False, False]),
        (xp.concat([y, x], axis=1), [False, False, True, False]),
        (xp.take(x, np.array([1, 0]), 1), [False, True]),
        (xp.pad(x, ((0, 0), (1, 0))), [False, True, False]),
    ):
        found = chosen.with_rounding().lost
        assert (np.zeros(chosen.shape, bool) if found is None else found)[0].tolist() == want
    assert xp.max(x, axis=1).with_rounding().lost.tolist() == [True]
    assert not xp.min(x, axis=1).with_rounding().lost.any()


@pytest.mark.parametrize("choose", ["maximum", "max"])
def test_an_extreme_of_what_may_be_anything_may_be_anything_above_the_rest(choose: str) -> None:
    one, large = (about([value], 0.0) for value in (1.0, 1e8))
    with np.errstate(all="ignore"):
        q = 1 / ((one + large) - large)  # 1 + 1e8 has not the digits for the 1
        for x, sure in ((q, False), (-q, False), (q * 0 - 7, False), (one, True)):
            pair = (x, xp.zeros_like(x))
            found = xp.maximum(*pair) if choose == "maximum" else xp.max(xp.stack(pair), axis=0)
            found = found.with_rounding()
            assert (found.e is None or bool(np.isfinite(found.e).all())) == sure
            assert (found.lost is None) == sure


def test_what_is_lost_below_is_no_matter_above() -> None:
    x = about([-3e38], 1.0) * 2
    for found in (xp.maximum(x, 1.0), xp.max(xp.stack([x, xp.zeros_like(x)]), axis=0)):
        assert not found.with_rounding().lost.any()
    assert xp.minimum(x, 1.0).with_rounding().lost.all()


def test_an_unsure_condition_chooses_between_bounded_numbers_only(wording: Wording) -> None:
    unsure = about([0.0], 0.1) > 0
    with pytest.raises(TypeError) as raised:
        xp.where(unsure, np.ones(1), np.zeros(1))
    assert raised.value == wording
    with pytest.raises(TypeError) as raised:
        bool(about([0.0], 0.1))
    assert raised.value == wording


@np.errstate(invalid="ignore")  # as formulas are evaluated
@pytest.mark.parametrize("pair", [(np.inf, 1.0), (1.0, np.inf), (1.0, np.nan), (np.inf, -np.inf)])
def test_an_unsure_choice_of_an_infinity_or_nan_may_be_anything(pair: tuple[float, float]) -> None:
    unsure = xp.less(about([1.0], 0.1), 1.0)
    chosen, other = (about([number], 0.0) for number in pair)
    found = xp.where(unsure, chosen, other).with_rounding()
    assert np.isfinite(found.v).all()
    assert (found.lost > 0).tolist() == [True]


@np.errstate(invalid="ignore")
def test_an_unsure_choice_of_two_equal_infinities_is_sure() -> None:
    unsure = xp.less(about([1.0, 1.0], 0.1), 1.0)
    same = about([np.inf, np.nan], 0.0)
    found = xp.where(unsure, same, same).with_rounding()
    assert np.array_equal(found.v, [np.inf, np.nan], equal_nan=True)
    assert found.lost is None


@np.errstate(invalid="ignore")
@pytest.mark.parametrize("pair", [(np.inf, 1.0), (1.0, np.inf), (np.nan, 1.0), (np.inf, -np.inf)])
def test_an_infinity_or_nan_at_an_unsure_index_may_be_anything(pair: tuple[float, float]) -> None:
    index = xp.argmax(about([1.0, 1.0], 0.1), axis=0)
    found = xp.take(about(pair, 0.0), index, 0).with_rounding()
    assert np.isfinite(found.v)
    assert found.lost.tolist()


@np.errstate(invalid="ignore")
def test_an_infinity_at_each_unsure_index_is_sure() -> None:
    index = xp.argmax(about([1.0, 1.0], 0.1), axis=0)
    found = xp.take(about([np.inf, np.inf], 0.0), index, 0).with_rounding()
    assert found.v == np.inf
    assert found.lost is None
