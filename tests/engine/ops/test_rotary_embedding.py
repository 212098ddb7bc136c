"""RotaryEmbedding against complex numbers in plain Python; see also `tests.blind`."""

import cmath

import numpy as np
import pytest

from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate

RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("apart", [0, 1])
def test_rotary_embedding_multiplies_complex_numbers(apart: int) -> None:
    x, angles = normal(2, 3, 4, 6), normal(9, 2)
    positions = RANDOM.integers(0, 9, (2, 4))
    attrs = {"interleaved": apart, "rotary_embedding_dim": 4}
    inputs = [x, np.cos(angles), np.sin(angles), positions]
    (y,) = evaluate(OpVersion("", "RotaryEmbedding", 23), inputs, attrs)
    np.testing.assert_array_equal(y[..., 4:], x[..., 4:])
    for batch, head, token, pair in np.ndindex(2, 3, 4, 2):
        places = (2 * pair, 2 * pair + 1) if apart else (pair, pair + 2)
        a, b = (float(x[batch, head, token, place]) for place in places)
        turned = complex(a, b) * cmath.exp(1j * float(angles[positions[batch, token], pair]))
        got = [y[batch, head, token, place] for place in places]
        np.testing.assert_allclose(got, [turned.real, turned.imag], rtol=1e-5, atol=1e-6)


def test_a_flag_other_than_0_and_1_is_one_of_them_or_refused() -> None:
    cache = np.ones((1, 1, 2), np.float32)
    found = by_reading(
        OpVersion("", "RotaryEmbedding", 23), [normal(1, 1, 1, 4), cache, cache], {"interleaved": 2}
    )
    assert found.keys() == {"as_1", "as_0", "refused"}
    assert found["refused"] is None
