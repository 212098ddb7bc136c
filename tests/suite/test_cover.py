"""Choosing few and cheap columns that show enough, on small matrices whose optimum is known."""

import random
from itertools import combinations

import pytest

from opcheck.suite.cover import Column, Group, alone, cover


def column(shows: str, cost: int = 1, *, fixed: bool = False, preferred: bool = False):
    """A column that shows one demand for each letter."""
    return Column(frozenset(shows), cost, fixed, preferred)


def all_of(letters: str, share: float = 1.0):
    return Group(frozenset(letters), share)


def test_nothing_is_chosen_where_nothing_is_demanded():
    assert cover([column("a")], []) == ()
    assert cover([], [all_of("a")]) == ()


def test_what_no_column_shows_is_not_demanded():
    assert cover([column("a")], [all_of("ab")]) == (0,)


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        # One that shows all replaces two halves.
        (["ab", "cd", "abcd"], (2,)),
        # Two that are cheap replace one that is dear.
        ([("ab", 1), ("cd", 1), ("abcd", 9)], (0, 1)),
        # One that alone shows something is chosen whatever it costs.
        ([("a", 99), "b", "bc"], (0, 2)),
        # Of three that overlap, two are enough.
        (["ab", "bc", "cd"], (0, 2)),
        # The first that was chosen becomes superfluous: "bcde" first, then "ab" and "cd" and "ef".
        ([("bcde", 10), ("abc", 10), ("def", 10)], (1, 2)),
    ],
)
def test_the_cheapest_that_show_all_are_chosen(columns, chosen):
    made = [column(*(one if isinstance(one, tuple) else (one,))) for one in columns]
    every = "".join(sorted({letter for one in made for letter in one.shows}))
    assert cover(made, [all_of(every)]) == chosen


def test_a_fixed_column_is_chosen_and_others_need_not_show_what_it_shows():
    columns = [column("ab", 99, fixed=True), column("abc", 2), column("c", 1)]
    assert cover(columns, [all_of("abc")]) == (0, 2)


def test_a_fixed_column_stays_though_it_shows_nothing():
    assert cover([column("", fixed=True), column("a")], [all_of("a")]) == (0, 1)


def test_of_two_equal_columns_the_preferred_one_is_chosen_else_the_first():
    assert cover([column("a"), column("a", preferred=True)], [all_of("a")]) == (1,)
    assert cover([column("a"), column("a")], [all_of("a")]) == (0,)


def test_of_a_group_with_a_share_what_costs_most_is_left_out():
    columns = [column("abc", 1), column("d", 1000)]
    assert cover(columns, [all_of("abcd", 0.75)]) == (0,)
    assert cover(columns, [all_of("abcd", 0.76)]) == (0, 1)
    assert cover(columns, [all_of("abcd")]) == (0, 1)


def test_each_group_has_its_share():
    columns = [column("abcd", 1), column("xyz", 1), column("w", 1)]
    assert cover(columns, [all_of("abcd", 0.5), all_of("wxyz", 0.75)]) == (0, 1)
    # All of the first group does not make up for the second.
    assert cover(columns, [all_of("abcd"), all_of("wxyz", 0.9)]) == (0, 1, 2)


def test_99_of_100_are_enough_for_99_percent():
    letters = [chr(0x100 + n) for n in range(100)]
    columns = [column(letter) for letter in letters]
    assert len(cover(columns, [Group(frozenset(letters), 0.99)])) == 99


def test_what_a_chosen_column_alone_shows_is_its_reason():
    columns = [column("ab"), column("bc"), column("abcd")]
    assert alone(columns, [0, 1]) == {0: {"a"}, 1: {"c"}}
    assert alone(columns, [0, 2]) == {0: set(), 2: {"c", "d"}}


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_demands_changes_nothing_and_the_cost_is_near_the_optimum(seed: int):
    draw = random.Random(seed)
    letters = "abcdefgh"
    columns = [
        column("".join(draw.sample(letters, draw.randint(1, 4))), draw.randint(1, 5))
        for _ in range(9)
    ]
    wanted = [all_of(letters)]
    chosen = cover(columns, wanted)
    reachable = frozenset().union(*(one.shows for one in columns))

    def cost(places):
        return sum(columns[place].cost for place in places)

    def shows_all(places):
        return frozenset().union(*(columns[place].shows for place in places)) == reachable

    assert shows_all(chosen)
    # No column is superfluous.
    assert not any(shows_all({*chosen} - {place}) for place in chosen)
    every = (places for n in range(10) for places in combinations(range(9), n))
    assert cost(chosen) <= 1.6 * min(cost(places) for places in every if shows_all(places))
    assert cover([*columns], [all_of(letters[::-1])]) == chosen
