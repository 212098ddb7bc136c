"""DFT and STFT as their texts say, against the engine."""

import cmath
import math
from typing import Any

import numpy as np

from tests.blind.by_the_text import Forbidden, Open, differences


def transformed(signal: list[complex], bins: int, sign: int) -> list[complex]:
    """The sums of a signal times exp(sign 2 pi j k n / N), for k below `bins`."""
    size = len(signal)
    turns = [cmath.exp(sign * 2j * math.pi * k / size) for k in range(size)]
    for quarter in range(4):
        if quarter * size % 4 == 0:
            turns[quarter * size // 4] = (1, sign * 1j, -1, -sign * 1j)[quarter]
    found = []
    for k in range(bins):
        terms = [value * turns[k * n % size] for n, value in enumerate(signal)]
        real, imag = (it.real for it in terms), (it.imag for it in terms)
        found.append(complex(math.fsum(real), math.fsum(imag)))
    return found


def scalar(array: np.ndarray, name: str) -> int:
    if array.ndim:
        raise Forbidden(f"{name} as a scalar")
    return int(array)


def complexes(line: np.ndarray) -> list[complex]:
    """The values of a line, whose last dimension is of real and imaginary parts."""
    return [complex(float(v[0]), float(v[1]) if len(v) == 2 else 0.0) for v in line]


def dft(
    since: int, inputs: list[np.ndarray | None], attrs: dict[str, Any], outputs: int
) -> list[np.ndarray]:
    x, length, axis_input = (*inputs, None, None)[:3]
    assert x is not None
    inverse, onesided = attrs.get("inverse", 0), attrs.get("onesided", 0)
    if onesided not in (0, 1):
        raise Forbidden("Value can be 0 or 1")
    if inverse not in (0, 1):
        raise Open("0 corresponds to false")
    if x.ndim < 2:
        raise Forbidden("the last dimension is of complex numbers and is an invalid axis")
    if x.shape[-1] not in (1, 2):
        raise Forbidden("The final dimension represents the real and imaginary parts")
    if onesided and x.shape[-1] != (2 if inverse else 1):
        raise Forbidden("only real (or, when inverse, complex) input is supported")
    axis = attrs.get("axis", 1) if since < 20 else -2
    if axis_input is not None:
        axis = scalar(axis_input, "axis")
    if not (-x.ndim <= axis <= -2 or 0 <= axis <= x.ndim - 2):
        raise Forbidden("Accepted range is [-r, -2] and [0, r-2]")
    axis %= x.ndim
    irfft = onesided and inverse
    size = 2 * (x.shape[axis] - 1) if irfft else x.shape[axis]
    if length is not None:
        size = scalar(length, "dft_length")
    if size <= 0:
        raise Open("The length of the signal is not positive")
    lines = np.moveaxis(x, axis, -2)
    bins = size // 2 + 1 if onesided and not inverse else size
    y = np.zeros((*lines.shape[:-2], bins, 1 if irfft else 2))
    for at in np.ndindex(*lines.shape[:-2]):
        line = complexes(lines[at])
        if irfft:
            half = (line + [0j] * size)[: size // 2 + 1]
            line = [half[k] if 2 * k <= size else half[size - k].conjugate() for k in range(size)]
        line = (line + [0j] * size)[:size]
        found = transformed(line, bins, 1 if inverse else -1)
        for k, value in enumerate(found):
            value = value / size if inverse else value
            y[(*at, k)] = [value.real] if irfft else [value.real, value.imag]
    return [np.moveaxis(y, -2, axis)]


def stft(
    since: int, inputs: list[np.ndarray | None], attrs: dict[str, Any], outputs: int
) -> list[np.ndarray]:
    signal, step_input, window, length = (*inputs, None, None)[:4]
    assert signal is not None
    assert step_input is not None
    onesided = attrs.get("onesided", 1)
    if onesided not in (0, 1):
        raise Forbidden("Values can be 0 or 1")
    if signal.ndim != 3 or signal.shape[-1] not in (1, 2):
        raise Forbidden("The tensor is expected to have rank 3, [..][1] or [..][2]")
    if onesided and signal.shape[-1] == 2:
        raise Forbidden("if the input is complex, then onesided output is not possible")
    if window is not None and window.ndim != 1:
        raise Forbidden("`window` must be a 1-D tensor")
    step, size = scalar(step_input, "frame_step"), signal.shape[1]
    if window is not None:
        size = len(window)
    if length is not None:
        size = scalar(length, "frame_length")
    if window is not None and len(window) != size:
        raise Forbidden("the length of the `window` tensor must equal `frame_length`")
    if step <= 0 or size <= 0:
        raise Open("frame_step or frame_length is not positive")
    frames = (signal.shape[1] - size) // step + 1
    if frames < 0:
        raise Open("frames = floor((signal_length - frame_length) / frame_step) + 1 is negative")
    bins = size // 2 + 1 if onesided else size
    y = np.zeros((signal.shape[0], frames, bins, 2))
    for batch, frame in np.ndindex(signal.shape[0], frames):
        line = complexes(signal[batch, frame * step : frame * step + size])
        if window is not None:
            line = [value * float(weight) for value, weight in zip(line, window, strict=True)]
        found = transformed(line, bins, -1)
        y[batch, frame] = [[value.real, value.imag] for value in found]
    return [y]


def test_dft_is_what_its_text_says() -> None:
    assert differences("DFT", dft, every=3) == []


def test_stft_is_what_its_text_says() -> None:
    assert differences("STFT", stft) == []
