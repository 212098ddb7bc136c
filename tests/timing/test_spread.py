import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opcheck.model.timing import Sample
from opcheck.timing.ratios import Spread, drift, loops_for, settled, spread
from tests.timing.machine import QUIET, Machine, Noise, samples

BUSY = Noise(0.02, 0.02, 0.1)


def seen(seconds: object) -> Spread:
    found = spread(samples(list(np.asarray(seconds))), ())
    assert found is not None
    return found


# ── spread ──────────────────────────────────────────────────────────────────────────────────────
def test_the_median_with_its_quartiles_and_tail():
    found = seen(np.arange(1, 102))
    assert (found.median, found.low, found.high) == (51, 26, 76)
    assert found.tail == pytest.approx(91 / 51)
    assert found.drift == 0


def test_a_machine_is_noisy_where_a_tenth_takes_a_third_longer():
    assert not seen([1.0] * 95 + [9.0] * 5).noisy
    assert seen([1.0] * 85 + [1.35] * 15).noisy
    assert not seen([1.0] * 85 + [1.25] * 15).noisy


def test_what_processes_waited_is_told_of_all_their_time():
    calls = [Sample(0, 0, 1, 3.0, 1.0), Sample(1, 0, 8, 0.5, 0.0)]
    found = spread(calls, ())
    assert found is not None
    assert found.waited == pytest.approx(1 / 8)
    assert found.busy
    assert not seen([1.0]).busy


def test_no_samples_have_no_spread():
    assert spread((), samples([1.0])) is None


# ── drift ───────────────────────────────────────────────────────────────────────────────────────
def growing(found: tuple[Sample, ...], growth: float) -> tuple[Sample, ...]:
    """Longer and longer, by `growth` at the end."""
    last = len(found) - 1
    return tuple(
        replace(one, seconds=one.seconds * (1 + growth * n / last)) for n, one in enumerate(found)
    )


@pytest.mark.parametrize("workers", [1, 3, 5])
def test_growth_is_told_by_its_size(workers):
    found = drift(growing(Machine(1, QUIET).draw(60, workers), 0.2), samples([1.0] * 60))
    assert found == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("growth", [0.12, 0.3])
def test_a_backend_that_is_throttled_is_found_on_a_busy_machine(growth):
    machine, found = Machine(2, BUSY), 0
    for _ in range(20):
        one = growing(machine.draw(120, 5), growth)
        told = spread(one, machine.draw(120))
        assert told is not None
        found += told.drift > 0
    assert found >= 18


def test_a_busy_machine_is_no_drift():
    machine, found = Machine(3, Noise(0.05, 0.02, 0.2)), 0
    for _ in range(50):
        found += drift(machine.draw(60, 5), machine.draw(60)) > 0
    assert found == 0


def test_a_machine_that_gets_slower_altogether_is_no_drift_of_a_backend():
    machine = Machine(4, Noise(0.01, 0.0, 0.0))
    one, beside = (growing(machine.draw(60, 5), 0.5) for _ in range(2))
    assert drift(one, beside) == 0
    assert drift(one, samples([1.0] * 60)) == pytest.approx(0.5, abs=0.1)


def test_slower_processes_later_are_no_drift():
    """If each takes its samples in one go, as well as if they take turns."""
    level = np.repeat([1.0, 1.1, 1.2, 1.3], 15)
    one = tuple(Sample(r, r // 15, 1, float(s)) for r, s in enumerate(level))
    assert drift(one, samples([1.0] * 60)) == 0
    assert drift(growing(one, 0.8), samples([1.0] * 60)) > 0.05


@pytest.mark.parametrize("growth", [-0.2, 0.02])
def test_what_gets_faster_or_hardly_slower_does_not_drift(growth):
    assert drift(growing(Machine(5, QUIET).draw(60, 5), growth), samples([1.0] * 60)) == 0


def test_a_few_samples_or_one_of_each_process_show_no_drift():
    steep = samples([1.0 + r for r in range(14)])
    assert drift(steep, samples([1.0] * 14)) == 0
    each = samples([1.0 + r for r in range(30)], workers=30)
    assert drift(each, samples([1.0] * 30)) == 0


# ── warm-up ─────────────────────────────────────────────────────────────────────────────────────
def calls_until_settled(seconds: np.ndarray) -> int:
    return next(n for n in range(len(seconds) + 1) if settled(list(seconds[:n])))


def test_fourteen_calls_are_the_least():
    assert calls_until_settled(np.ones(20)) == 14
    assert calls_until_settled(np.array([9.0] + [1.0] * 19)) == 14


@pytest.mark.parametrize("fades", [1, 3, 10])
def test_it_is_not_over_while_calls_still_get_faster(fades):
    calls = np.arange(200)
    level = 1 + 2 * np.exp(-calls / fades)
    assert level[calls_until_settled(level)] < 1.05


def test_noise_does_not_keep_it_going():
    machine = Machine(6, Noise(0.05, 0.0, 0.1))
    waited = [
        calls_until_settled(np.array([one.seconds for one in machine.draw(100)])) for _ in range(50)
    ]
    assert np.median(waited) <= 15
    assert max(waited) < 40


def test_a_step_down_is_waited_for():
    assert calls_until_settled(np.array([3.0] * 10 + [1.0] * 40)) >= 17


# ── loops ───────────────────────────────────────────────────────────────────────────────────────
@given(seconds=st.floats(1e-9, 10))
@example(seconds=0.49e-3)
def test_a_sample_takes_half_a_millisecond_to_one_or_is_a_single_call(seconds):
    loops = loops_for(seconds)
    if seconds >= 0.5e-3:
        assert loops == 1
    else:
        assert 0.5e-3 * (1 - 1e-9) <= loops * seconds <= 1e-3 * (1 + 1e-9)


def test_the_length_of_a_sample_may_be_chosen():
    assert loops_for(1e-3, least=4e-3, most=9e-3) == 6
    assert loops_for(5e-3, least=4e-3, most=9e-3) == 1
    assert loops_for(1e-6) == round(math.sqrt(0.5) * 1000)
