"""Transforms and windows of signals, as sums of sines and cosines."""

import cmath
import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.oracles import (
    ORACLES,
    Array,
    Random,
    Sample,
    chance,
    int64,
    normal,
    one_of,
    oracle,
    sizes,
    trimmed,
)


def transformed(row: list[complex], inverse: bool = False) -> list[complex]:
    """The discrete Fourier transform of a row, by its definition."""
    count = len(row)
    turn = (2 if inverse else -2) * math.pi / count
    sums = [
        sum((v * cmath.exp(1j * turn * k * n) for n, v in enumerate(row)), 0j) for k in range(count)
    ]
    return [total / count for total in sums] if inverse else sums


def as_complex(x: Array) -> Array:
    """Complex numbers of a last axis of one or two numbers."""
    parts = x.astype(np.float64)
    return np.asarray(parts[..., 0] + (1j * parts[..., 1] if parts.shape[-1] == 2 else 0))


def as_pairs(x: Array) -> Array:
    return np.stack([x.real, x.imag], -1)


@oracle("DFT")
def fourier(rng: Random) -> Sample | None:
    parts, inverse, half = int(rng.integers(1, 3)), int(rng.integers(2)), int(rng.integers(2))
    if half and (inverse or parts == 2):
        return None
    x = normal(rng, (1, *sizes(rng, int(rng.integers(1, 3)), 1, 6), parts))
    axis = int(rng.integers(1, x.ndim - 1))
    length = int(rng.integers(1, 8)) if chance(rng, 0.4) else None
    lined = np.moveaxis(as_complex(x), axis, -1)
    count = length or lined.shape[-1]
    rows = []
    for row in lined.reshape(-1, lined.shape[-1]).tolist():
        full = transformed((row + [0j] * count)[:count], bool(inverse))
        rows.append(full[: count // 2 + 1] if half else full)
    y = np.moveaxis(np.array(rows).reshape(*lined.shape[:-1], -1), -1, axis)
    attrs = {"inverse": inverse, "onesided": half}
    inputs = (x, None if length is None else int64(length), int64(axis))
    return Sample(20, inputs, (as_pairs(y),), attrs)


@oracle("STFT")
def short_time(rng: Random) -> Sample:
    length = int(rng.integers(4, 12))
    frame, step = int(rng.integers(1, length + 1)), int(rng.integers(1, 4))
    parts = 2 if chance(rng, 0.3) else 1
    half = 0 if parts == 2 else int(rng.integers(2))
    x = normal(rng, (2, length, parts))
    window = rng.random(frame).astype(np.float32) if chance(rng, 0.5) else None
    signal = as_complex(x)
    factors = np.ones(frame) if window is None else window.astype(np.float64)
    found: list[Any] = []
    for row in signal:
        frames = []
        for start in range(0, length - frame + 1, step):
            full = transformed((row[start : start + frame] * factors).tolist())
            frames.append(full[: frame // 2 + 1] if half else full)
        found.append(frames)
    inputs = (x, int64(step), window, int64(frame))
    return Sample(17, inputs, (as_pairs(np.array(found)),), {"onesided": half})


#: The shares of the constant, the cosine, and the cosine of twice the angle.
WINDOWS = {
    "HannWindow": (0.5, -0.5, 0.0),
    "HammingWindow": (25 / 46, -21 / 46, 0.0),
    "BlackmanWindow": (0.42, -0.5, 0.08),
}


def _window(name: str, rng: Random) -> Sample | None:
    size, periodic = int(rng.integers(2, 40)), int(rng.integers(2))
    a, b, c = WINDOWS[name]
    turn = 2 * math.pi / (size if periodic else size - 1)
    y = [a + b * math.cos(turn * n) + c * math.cos(2 * turn * n) for n in range(size)]
    return Sample(17, (int64(size),), (np.array(y),), {"periodic": periodic})


ORACLES.update({name: partial(_window, name) for name in WINDOWS})


@oracle("MelWeightMatrix")
def mel_weights(rng: Random) -> Sample | None:
    bands, length = int(rng.integers(1, 8)), one_of(rng, 8, 16, 32, 64, 15)
    rate = one_of(rng, 8000, 16000, 100)
    low = float(np.float32(rng.random() * rate / 10))
    high = float(np.float32(rate / 2 * (0.4 + 0.6 * rng.random())))
    least, most = (2595 * math.log10(1 + f / 700) for f in (low, high))
    step = (most - least) / (bands + 2)
    edges = [700 * (10 ** ((least + n * step) / 2595) - 1) for n in range(bands + 2)]
    places = [(length + 1) * f / rate for f in edges]
    if any(min(place % 1, 1 - place % 1) < 1e-3 for place in places):
        return None  # float32 may cut it off to another number
    at, count = [math.floor(place) for place in places], length // 2 + 1
    if max(at) >= count:
        return None
    y = np.zeros((count, bands))
    for band in range(bands):
        start, middle, end = at[band : band + 3]
        for n in range(start, middle + 1):
            y[n, band] = (n - start) / (middle - start) if middle > start else 1
        for n in range(middle, end):
            y[n, band] = (end - n) / (end - middle)
    inputs = trimmed(int64(bands), int64(length), int64(rate), np.float32(low), np.float32(high))
    return Sample(17, inputs, (y,), rtol=1e-4, atol=1e-5)
