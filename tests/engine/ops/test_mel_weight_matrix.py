"""MelWeightMatrix against loops over bins that are found in 50 digits, and against float32."""

import mpmath
import numpy as np
import pytest

from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

mpmath.mp.dps = 50


def weights(count, length, rate, low, high, log, power, real):
    """The matrix of the page's example, in numbers of one kind."""
    low, high, f700, m = real(low), real(high), real(700), real(2595)
    low, high = (m * log(real(1) + f / f700) for f in (low, high))
    step = (high - low) / real(count + 2)
    mels = [low + real(n) * step for n in range(count + 2)]
    hertz = [f700 * (power(mel / m) - real(1)) for mel in mels]
    bins = [int(real(length + 1) * f / real(rate)) for f in hertz]
    found = np.zeros((length // 2 + 1, count), np.float32)
    for n, (left, peak, right) in enumerate(zip(bins, bins[1:], bins[2:], strict=False)):
        for j in range(left, peak):
            found[j, n] = (j - left) / (peak - left)
        for j in range(peak, right):
            found[j, n] = (right - j) / (right - peak)
        found[peak, n] = 1
    return found


@pytest.mark.parametrize("seed", range(40))
def test_bins_are_those_of_50_digits_and_of_float32(seed):
    random = np.random.default_rng(seed)
    count, length = int(random.integers(1, 90)), int(random.integers(1, 1100))
    rate = int(random.choice([8000, 16000, 22050, 44100]))
    low, high = sorted(random.integers(0, rate // 2, 2).tolist())
    inputs = [*map(np.array, (count, length, rate)), *map(np.float32, (low, high + 1))]
    exact = weights(
        count, length, rate, low, high + 1, mpmath.log10, lambda x: mpmath.mpf(10) ** x, mpmath.mpf
    )
    [answer] = evaluate(OpVersion("", "MelWeightMatrix", 17), inputs, {})
    assert answer.dtype == np.float32
    np.testing.assert_array_almost_equal_nulp(answer, exact, 1)
    try:
        with judging():
            evaluate(OpVersion("", "MelWeightMatrix", 17), inputs, {})
    except NotSupported:
        return
    log, power = np.log10, lambda x: np.float32(10) ** x
    rounded = weights(count, length, rate, low, high + 1, log, power, np.float32)
    np.testing.assert_array_equal(rounded, exact)


def test_fractions_as_integers_have_each_rounding():
    # The second band falls from bin 1 over 2, where it is one half, to 3.
    scalars = [*map(np.array, (2, 14, 21000)), np.float32(0), np.float32(10500)]
    found = by_reading(OpVersion("", "MelWeightMatrix", 17), scalars, {"output_datatype": 6})
    column = {name: out[0][:4, 1].tolist() for name, out in found.items()}
    assert column == {
        "cut_off": [0, 1, 0, 0],
        "half_to_even": [0, 1, 0, 0],
        "half_up": [0, 1, 1, 0],
    }
