import math
from itertools import product

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from opcheck.compare.bounded import row_shares as shares

sizes = st.one_of(st.just(0.0), st.floats(-1e-3, -1e-12), st.floats(1e-12, 1e-3))
tolerances = st.one_of(st.just(math.inf), st.floats(1e-7, 1e-3))
rows = st.lists(st.tuples(sizes, tolerances), min_size=1, max_size=9)


def by_pairs(off: list[float], own: list[float], down: float, up: float) -> float:
    """λ as the most that any two elements disagree, in parts of what they may."""
    elements = [(o, t) for o, t in zip(off, own, strict=True) if t < math.inf]
    above = [*elements, *([(0.0, down)] if down < math.inf else [])]
    below = [*elements, *([(0.0, up)] if up < math.inf else [])]
    return max(((a - b) / (s + t) for (a, s), (b, t) in product(above, below)), default=0.0)


def share(
    off: list[float], own: list[float], down: float, up: float
) -> tuple[float, NDArray[np.float64]]:
    found, each = shares(np.array([off]), np.array([own]), np.array([[down]]), np.array([[up]]))
    return float(found[0, 0]), each[0]


@given(rows, tolerances, tolerances)
def test_the_share_of_a_row_is_the_most_that_two_elements_disagree(row, down, up):
    off, own = [o for o, _ in row], [t for _, t in row]
    found, each = share(off, own, down, up)
    expected = max(0.0, by_pairs(off, own, down, up))
    assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    assert each.shape == (len(row),)
    assert (each[np.isinf(own)] == 0).all()
    if found <= 1:
        assert (each <= found * (1 + 1e-9) + 1e-12).all()
    elif found > 1 + 1e-9:
        assert (each > 1).any()


@given(rows, tolerances, tolerances)
def test_no_common_error_fits_better(row, down, up):
    """The share is that of the best common error, so no other gives a smaller one."""
    off, own = np.array([o for o, _ in row]), np.array([t for _, t in row])
    found, _ = share(off.tolist(), own.tolist(), down, up)
    for t in np.linspace(-2e-3, 2e-3, 41):
        needed = max(float((np.abs(off - t) / own).max()), -t / down, t / up)
        assert found <= needed * (1 + 1e-9)


def test_rows_are_judged_apart() -> None:
    off = np.array([[1e-6, -1e-6], [5e-6, 5e-6]])
    limit = np.full((2, 1), 1e-5)
    found, each = shares(off, np.full((2, 2), 1e-6), limit, limit)
    assert np.allclose(found[:, 0], [1.0, 5 / 11])
    assert np.allclose(each[0], [1, 1])


def test_an_error_that_all_share_is_limited_by_the_common_tolerance_alone() -> None:
    off, own = [1e-3] * 4, [1e-7] * 4
    assert share(off, own, math.inf, math.inf)[0] == 0
    assert share(off, own, math.inf, 1e-4)[0] > 9
    assert share(off, own, 1e-4, math.inf)[0] == 0
    assert share([-1e-3] * 4, own, 1e-4, math.inf)[0] > 9


def test_of_one_that_disagrees_with_many_it_is_the_one_that_is_wrong() -> None:
    _, each = share([0.0, 1e-8, 1e-4, -1e-8, 0.0], [1e-6] * 5, math.inf, math.inf)
    assert (each > 1).tolist() == [False, False, True, False, False]


def test_a_row_without_an_element_that_takes_part_is_right() -> None:
    nothing = np.full((2, 3), np.nan)
    found, each = shares(nothing, np.full((2, 3), np.inf), np.ones((2, 1)), np.ones((2, 1)))
    assert not found.any()
    assert not each.any()
    empty = np.zeros((2, 0))
    found, each = shares(empty, empty, np.ones((2, 1)), np.ones((2, 1)))
    assert found.shape == (2, 1)
    assert each.shape == (2, 0)


def test_rounding_beside_the_end_does_not_start_the_search_again() -> None:
    off, own = [0.0, -2.84000823e-14], [5.55e-16, 9.23e-14]
    found, _ = share(off, own, 2.9e-44, 2.9e-44)
    assert math.isclose(found, by_pairs(off, own, 2.9e-44, 2.9e-44), rel_tol=1e-12)


def test_wide_ranges_of_tolerances_are_no_harder() -> None:
    random = np.random.default_rng(0)
    off = random.normal(size=(500, 20)) * 10.0 ** random.uniform(-16, -6, (500, 20))
    own = 10.0 ** random.uniform(-16, -2, (500, 20))
    down, up = 10.0 ** random.uniform(-40, -3, (2, 500, 1))
    found, _ = shares(off, own, down, up)
    for i in range(0, 500, 10):
        limits = float(down[i, 0]), float(up[i, 0])
        want = by_pairs(off[i].tolist(), own[i].tolist(), *limits)
        assert math.isclose(found[i, 0], want, rel_tol=1e-9)
