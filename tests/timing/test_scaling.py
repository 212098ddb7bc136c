import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.timing.ratios import Scaling, scaling

SIZES = [float(4**power) for power in range(4, 12)]


def fitted(seconds: object, sizes: list[float] = SIZES) -> Scaling:
    found = scaling(sizes, list(np.broadcast_to(np.asarray(seconds), len(sizes))))
    assert found is not None
    return found


@settings(deadline=None)
@given(
    exponent=st.floats(0.5, 3),
    factor=st.floats(1e-12, 1e-3),
    sizes=st.lists(st.integers(1, 10**9), min_size=2, max_size=9, unique=True),
)
def test_a_power_is_found_exactly(exponent, factor, sizes):
    seconds = [factor * size**exponent for size in sizes]
    found = scaling(sizes, seconds)
    assert found is not None
    if max(seconds) > 2.1 * min(seconds):
        assert found.exponent == pytest.approx(exponent, rel=1e-4)
        assert (found.fixed, found.flat) == (0, 0)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("part", [0.2, 1.5, 50.0])
def test_a_fixed_cost_does_not_bend_the_exponent(exponent, part):
    work = 1e-9 * np.array(SIZES) ** exponent
    cost = part * work[0]
    found = fitted(cost + work)
    assert found.exponent == pytest.approx(exponent, rel=1e-3)
    assert found.fixed == pytest.approx(cost, rel=1e-3)
    assert found.flat == max(np.array(SIZES)[work <= cost], default=0)


@pytest.mark.parametrize("cost", [0.0, 2e-5, 2e-4])
@pytest.mark.parametrize("count", [4, 5, 8])
def test_the_interval_covers_the_exponent(cost, count):
    rng, covered, sizes = np.random.default_rng(1), 0, SIZES[-count:]
    for _ in range(100):
        seconds = (cost + 1e-9 * np.array(sizes)) * np.exp(rng.normal(0, 0.02, count))
        found = fitted(seconds, sizes)
        covered += found.low <= 1 <= found.high
    assert covered >= 90


def test_what_hardly_grows_is_fixed_cost():
    found = fitted(3e-6 * np.linspace(1, 1.1, len(SIZES)))
    assert found.exponent == pytest.approx(0.01, abs=0.01)
    assert found.fixed == pytest.approx(3.15e-6, rel=0.01)
    assert found.flat == SIZES[-1]


def test_a_step_widens_the_interval():
    smooth = 1e-9 * np.array(SIZES)
    step = smooth * np.where(np.array(SIZES) > 1e5, 2, 1)
    rough = fitted(step)
    assert rough.high - rough.low > 0.05
    assert fitted(smooth).high - fitted(smooth).low < 1e-6


def test_points_need_no_order_and_a_size_may_come_twice():
    seconds = [2e-6 + 1e-9 * size for size in SIZES]
    assert scaling(SIZES[::-1], seconds[::-1]) == scaling(SIZES, seconds)
    twice = scaling([*SIZES, *SIZES], [*seconds, *seconds])
    assert twice is not None
    assert twice.exponent == pytest.approx(1.0, rel=1e-3)


def test_two_sizes_make_a_line_and_no_certainty():
    found = scaling([10.0, 1000.0], [1.0, 10.0])
    assert found is not None
    assert found.exponent == pytest.approx(0.5)
    assert (found.low, found.high) == (-math.inf, math.inf)


@pytest.mark.parametrize("sizes", [[], [5.0], [5.0, 5.0]])
def test_one_size_makes_nothing(sizes):
    assert scaling(sizes, [1.0] * len(sizes)) is None
