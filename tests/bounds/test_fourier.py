"""DFT's bound beside fast, direct and blocked transforms in float32, and beside wrong factors."""

import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.model import OpVersion
from tests.asking import scatter_message
from tests.computed import exactly

DFT, f32, c64 = OpVersion("", "DFT", 20), np.float32, np.complex64


def factors(rows, columns, length):
    return np.exp(-2j * np.pi / length * (np.outer(np.arange(rows), np.arange(columns)) % length))


def unreduced(length):
    """Of angles that float32 multiplies out."""
    k = np.arange(length, dtype=f32)
    angle = f32(-2 * np.pi / length) * k[:, None] * k
    return np.cos(angle) + 1j * np.sin(angle)


def direct(x, matrix):
    total = np.zeros_like(x)
    for n in range(x.shape[-1]):
        total += x[..., n, None] * matrix[n].astype(c64)
    return total


def halved(x):
    """Radix 2, of a power of 2, and of odd factors directly."""
    length = x.shape[-1]
    if length % 2:
        return direct(x, factors(length, length, length))
    even, odd = halved(x[..., ::2]), halved(x[..., 1::2])
    turned = odd * factors(2, length // 2, length)[1].astype(c64)
    return np.concatenate([even + turned, even - turned], -1)


def chirped(x):
    """Bluestein's, by a convolution of a power of 2."""
    length = x.shape[-1]
    size, n = 1 << (2 * length - 1).bit_length(), np.arange(length)
    chirp = np.exp(-1j * np.pi / length * (n * n % (2 * length))).astype(c64)
    kernel = np.zeros(size, c64)
    kernel[n], kernel[-n] = chirp.conj(), chirp.conj()
    padded = np.pad(x * chirp, [(0, 0), (0, size - length)])
    product = (halved(padded) * halved(kernel[None])).conj()
    return (halved(product).conj() / f32(size))[..., :length] * chirp


def blocked(x):
    length = x.shape[-1]
    matrix = factors(length, length, length).astype(c64)
    cuts = [slice(at, at + 8) for at in range(0, length, 8)]
    return np.sum([x[..., cut] @ matrix[cut] for cut in cuts], axis=0)


WAYS = {
    "direct": lambda x: direct(x, factors(*3 * x.shape[-1:])),
    "unreduced": lambda x: direct(x, unreduced(x.shape[-1])),
    "radix 2": halved,
    "Bluestein": chirped,
    "blocked": blocked,
    "numpy": np.fft.fft,
}


def parts(x):
    return x.astype(c64).view(f32).reshape(*x.shape, 2)


def expected(x, **attrs):
    return computed_want(DFT, "output", exactly(DFT, [parts(x)], attrs)[0])


def signals(length):
    rng = np.random.default_rng(length)
    return rng.standard_normal((3, length, 2)).astype(f32).view(c64)[..., 0].copy()


@pytest.mark.parametrize("length", [3, 7, 16, 31, 96, 256])
@pytest.mark.parametrize("inverse", [0, 1])
def test_dft_may_be_computed_in_any_way(length, inverse):
    x = signals(length)
    want = expected(x, inverse=inverse)
    for name, way in WAYS.items():
        y = parts(way(x.conj()).conj() / f32(length) if inverse else way(x))
        found = compare(want, y)
        assert (found.problem, found.used <= 1) == (None, True), (name, found)
        assert not scatter_message(want, y), name


@pytest.mark.parametrize("length", [3, 7, 16, 31, 96, 256])
def test_dft_of_poorer_or_wrong_factors_is_wrong(length):
    x, right = signals(length), factors(length, length, length)
    want = expected(x)
    coarse = right.real.astype(np.float16) + 1j * right.imag.astype(np.float16)
    sign, missing = right.copy(), right.copy()
    sign[1, length // 3] *= -1
    missing[length // 2, 1] = 0
    for matrix in (coarse, sign, missing, right.conj()):
        y = parts(direct(x, matrix))
        # In long sums each error fits in, and how far all of them scatter shows them.
        assert compare(want, y).problem == "values" or scatter_message(want, y)
