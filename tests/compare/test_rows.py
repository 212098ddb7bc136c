from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opcheck.compare.rows import shares


def by_pairs(off: list[float], own: list[float], common: float) -> float:
    """λ as the most that any two elements disagree, in parts of what they may."""
    parts = [(o, t) for o, t in [*zip(off, own, strict=True), (0.0, common)] if t < math.inf]
    return max(((a - b) / (s + t) for (a, s), (b, t) in permutations(parts, 2)), default=0.0)


sizes = st.one_of(st.just(0.0), st.floats(-1e-3, -1e-12), st.floats(1e-12, 1e-3))
tolerances = st.one_of(st.just(math.inf), st.floats(1e-7, 1e-3))
rows = st.lists(st.tuples(sizes, tolerances), min_size=1, max_size=9)


@given(rows, tolerances)
def test_the_share_of_a_row_is_the_most_that_two_elements_disagree(
    row: list[tuple[float, float]], common: float
) -> None:
    off, own = [o for o, _ in row], [t for _, t in row]
    found, each = shares(np.array([off]), np.array([own]), np.array([[common]]))
    expected = max(0.0, by_pairs(off, own, common))
    assert math.isclose(found[0, 0], expected, rel_tol=1e-9, abs_tol=1e-12)
    assert each.shape == (1, len(row))
    assert (each <= found * (1 + 1e-9)).all()
    assert (each[np.isinf([own])] == 0).all()


@given(rows, tolerances)
def test_no_common_error_fits_better(row: list[tuple[float, float]], common: float) -> None:
    """The share is that of the best common error, so no other gives a smaller one."""
    off, own = np.array([[o for o, _ in row]]), np.array([[t for _, t in row]])
    found, _ = shares(off, own, np.array([[common]]))
    for t in np.linspace(-2e-3, 2e-3, 41):
        needed = max(float((np.abs(off - t) / own).max()), abs(t) / common)
        assert found[0, 0] <= needed * (1 + 1e-9)


def test_rows_are_judged_apart() -> None:
    off = np.array([[1e-6, -1e-6], [5e-6, 5e-6]])
    found, each = shares(off, np.full((2, 2), 1e-6), np.array([[1e-5], [1e-5]]))
    assert np.allclose(found[:, 0], [1.0, 5 / 11])
    assert np.allclose(each[0], [1, 1])


def test_an_error_that_all_share_is_limited_by_the_common_tolerance_alone() -> None:
    off = np.full((1, 4), 1e-3)
    assert shares(off, np.full((1, 4), 1e-7), np.array([[math.inf]]))[0] == 0
    assert shares(off, np.full((1, 4), 1e-7), np.array([[1e-4]]))[0] > 9


def test_a_row_without_an_element_that_takes_part_is_right() -> None:
    found, each = shares(np.full((2, 3), np.nan), np.full((2, 3), np.inf), np.ones((2, 1)))
    assert not found.any()
    assert not each.any()
    found, each = shares(np.zeros((2, 0)), np.zeros((2, 0)), np.ones((2, 1)))
    assert found.shape == (2, 1)
    assert each.shape == (2, 0)


def test_rounding_beside_the_end_does_not_start_the_search_again() -> None:
    off, own = [0.0, -2.84000823e-14], [5.55e-16, 9.23e-14]
    found, _ = shares(np.array([off]), np.array([own]), np.array([[2.9e-44]]))
    assert math.isclose(found[0, 0], by_pairs(off, own, 2.9e-44), rel_tol=1e-12)


def test_wide_ranges_of_tolerances_are_no_harder() -> None:
    random = np.random.default_rng(0)
    off = random.normal(size=(500, 20)) * 10.0 ** random.uniform(-16, -6, (500, 20))
    own, common = (
        10.0 ** random.uniform(-16, -2, (500, 20)),
        10.0 ** random.uniform(-40, -3, (500, 1)),
    )
    found, _ = shares(off, own, common)
    for i in range(0, 500, 10):
        want = by_pairs(off[i].tolist(), own[i].tolist(), float(common[i, 0]))
        assert math.isclose(found[i, 0], want, rel_tol=1e-9)
