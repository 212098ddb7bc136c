"""The picture of an output of which some elements are wrong."""

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck.compare import Want, compare
from opcheck.dtypes import DTYPES
from opcheck.engine import Tier
from opcheck.model import Picture, Tolerance
from tests.compare.test_bounded import Fake, arithmetic, judged

FLOAT32 = DTYPES["float32"]
ABSOLUTE = Tolerance(atol=1.0)


def drawn(want: Any, got: Any, tolerance: Tolerance, dtype: str = "float32") -> Picture:
    kind = DTYPES[dtype]
    values = np.asarray(want, np.float64 if kind.kind == "float" else kind.numpy)
    compared = compare(Want("y", kind, values), np.asarray(got).astype(kind.numpy), tolerance)
    assert compared.picture is not None
    return compared.picture()


def test_what_matches_has_no_picture():
    same = np.ones(3, np.float32)
    assert compare(Want("y", FLOAT32, same.astype(np.float64)), same).picture is None


@pytest.mark.parametrize(
    ("error", "letter"),
    [
        (0.0, "."),
        (1e-9, "a"),
        (2.0**-25, "a"),
        (2.0**-24, "b"),
        (0.25, "x"),
        (0.2500001, "y"),
        (0.5, "y"),
        (0.5000001, "z"),
        (1.0, "z"),
        (1.000001, "A"),
        (2.0, "A"),
        (2.000001, "B"),
        (4.0, "B"),
        (2.0**24, "X"),
        (2.0**25, "Y"),
        (1e30, "Y"),
        (math.inf, "Z"),
        (math.nan, "Z"),
    ],
)
def test_a_letter_tells_how_much_of_what_is_allowed_is_used(error, letter):
    # Beside it an element is wrong, or there would be no picture.
    assert drawn([0.0, 0.0], [error, 9.0], ABSOLUTE, "float64").cells == (f"{letter}D",)


def test_where_nothing_is_allowed_whatever_differs_is_boundlessly_wrong():
    assert drawn([1, 2, 3], [1, 2, 4], Tolerance(ulp=0), "int32").cells == ("..Z",)
    assert drawn([True, False], [True, True], Tolerance(ulp=0), "bool").cells == (".Z",)


def test_elements_are_counted_by_powers_of_two_of_their_distance():
    steps = [0, 0, 0, 1, 2, 3, 4, 7, 8]
    want = np.ones(len(steps) + 2)
    got = np.array([1 + n * 2.0**-23 for n in steps] + [math.nan, math.inf], np.float32)
    # From 1 to infinity there are 128 binades of 2**23 steps: 2**30 of them, all in all.
    ulps = ((0, 3), (1, 1), (2, 2), (3, 2), (4, 1), (31, 1))
    found = drawn(want, got, ABSOLUTE)
    assert (found.ulps, found.unordered, found.shape) == (ulps, 1, (11,))


def test_the_largest_distance_of_all_takes_64_bits():
    most = np.finfo(np.float64).max
    assert drawn([-most, 1.0], [most, 1.0], ABSOLUTE, "float64").ulps == ((0, 1), (64, 1))


def test_nan_that_was_wanted_is_right():
    assert drawn([math.nan, 0.0], [math.nan, 5.0], ABSOLUTE).ulps[0] == (0, 1)


def test_integers_have_no_such_distance():
    found = drawn([1, 2], [1, 9], Tolerance(ulp=0), "int64")
    assert (found.ulps, found.unordered) == ((), 0)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((), (1, 1)),
        ((5,), (1, 5)),
        ((1000,), (1, 64)),
        ((3, 2), (3, 2)),
        ((2, 3, 4), (6, 4)),
        ((2, 64, 200), (64, 64)),
        ((65, 65), (64, 64)),
        ((1, 1, 1), (1, 1)),
    ],
)
def test_the_last_axis_runs_to_the_right_and_all_others_downwards(shape, size):
    found = drawn(np.zeros(shape), np.full(shape, 9.0), ABSOLUTE)
    assert (len(found.cells), len(found.cells[0])) == size
    assert set("".join(found.cells)) == {"D"}
    assert found.shape == shape


@given(st.data())
def test_each_cell_has_the_worst_of_its_elements(data):
    shape = data.draw(st.sampled_from([(7,), (130,), (5, 3), (100, 70), (2, 50, 65), (64, 64)]))
    size = math.prod(shape)
    places = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6, unique=True))
    rates = st.sampled_from([0.25, 1.0, 8.0, 64.0])
    errors = data.draw(st.lists(rates, min_size=len(places), max_size=len(places)))
    got = np.zeros(size)
    got[places] = errors
    got[places[0]] = 1024.0
    found = drawn(np.zeros(shape), got.reshape(shape), ABSOLUTE, "float64")
    rows, columns = size // shape[-1], shape[-1]
    down, across = min(rows, 64), min(columns, 64)
    letters = {0.0: ".", 0.25: "x", 1.0: "z", 8.0: "C", 64.0: "F", 1024.0: "J"}
    worst: dict[tuple[int, int], float] = {}
    for place in range(size):
        row, column = place // columns, place % columns
        cell = row * down // rows, column * across // columns
        worst[cell] = max(worst.get(cell, 0.0), got[place])
    want = [[letters[worst[row, column]] for column in range(across)] for row in range(down)]
    assert [list(row) for row in found.cells] == want


def test_what_a_poorer_arithmetic_needs_is_drawn_too():
    tiers = Tier("plain", arithmetic()), Tier("poor", arithmetic(0.1), remark="so it is poor")
    compared = judged([1.0, 1.0], [1.0, 1.05], Fake(tiers))
    assert compared.problem == "precision"
    assert compared.picture is not None
    assert compared.picture().cells == (".F",)


def test_a_picture_of_a_large_output_takes_little_memory():
    y = np.ones((2000, 2000))
    compared = compare(Want("y", FLOAT32, y), np.full(y.shape, 9.0, np.float32), ABSOLUTE)
    assert compared.picture is not None
    tracemalloc.start()
    try:
        compared.picture()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < y.nbytes / 2
