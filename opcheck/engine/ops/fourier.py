"""The discrete Fourier transform, of a signal or of each frame of one."""

from functools import partial
from math import log2

import ml_dtypes
import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

NAMES = """
DFT STFT
"""
DFT = operator("DFT")
STFT = operator("STFT")


def _turns(rows, columns, length):
    """The cosines and sines of 2π·k·n / `length`, k below `rows` and n below `columns`.

    Each may be off by what its angle is in float32 before it is reduced, and by what the steps of a
    fast transform add.
    """
    check_size((rows, columns))
    product = np.outer(np.arange(rows), np.arange(columns))
    # From half a quarter of a turn on, the other function of what is left to a quarter.
    eighth, rest = np.divmod(product % length * 8, length)
    odd = eighth % 2 == 1
    part = np.where(odd, length - rest, rest).astype(np.longdouble) / length
    angle = part * (np.arctan2(np.longdouble(0), np.longdouble(-1)) / 4)
    near, far = np.cos(angle), np.sin(angle)
    swap = (eighth + 1) // 2 % 2 == 1
    cos = np.where(swap, far, near) * np.where((eighth + 2) // 4 % 2 == 1, -1, 1)
    sin = np.where(swap, near, far) * np.where(eighth >= 4, -1, 1)
    one = xp.astype(np.ones(product.shape), np.float64)
    room = xp.inexact(one, 8 + 4 * log2(length) + 6 * np.pi / length * product) - one
    return [_exactly(y) + room for y in (cos, sin)]


def _exactly(y):
    """Numbers of more digits than float64 has, of the kind in force."""
    high = y.astype(np.float64)
    return xp.astype(high, np.float64) + xp.astype((y - high).astype(np.float64), np.float64)


def _transform(x, bins, length, inverse=0, folded=False):
    """`bins` values of the transform along the last axis but one; the last holds both parts.

    `folded`: there are those of half the bins, and the others are their conjugates.
    """
    count = x.shape[-2]
    cos, sin = _turns(count, bins, length)
    sin = sin if inverse else -sin
    if folded:
        twice = np.where(np.arange(count) * 2 % length == 0, 1.0, 2.0)[:, None]
        weights = [[cos * twice], [-sin * twice]]
    else:
        weights = [[cos, sin], [-sin, cos]][: x.shape[-1]]
    matrix = xp.stack([xp.stack(row, axis=-1) for row in weights], axis=1)
    y = xp.tensordot(x, matrix, ((x.ndim - 2, x.ndim - 1), (0, 1)))
    return xp.astype(y / length if inverse else y, x.dtype)


def _check(x, flags):
    """Refuse or leave open what both operators do; `flags` by name."""
    for name, value in flags.items():
        if value not in (0, 1):
            kind = InvalidNode if name == "onesided" else NotSupported
            raise kind(f"{name} {value}; allowed: 0 and 1")
    if x.shape[-1] not in (1, 2):
        raise InvalidNode(f"numbers of {x.shape[-1]} parts; allowed: 1 and 2")
    if not np.isfinite(bare(xp.values_of(x))).all():
        is_open("nothing is said of infinities and NaN times a cosine of 0")


def _dft(transform, input, dft_length, axis, inverse, onesided):
    """The transform along an axis, by `transform(x, bins, length, inverse, folded)`."""
    rank = input.ndim
    if not (-rank <= axis <= -2 or 0 <= axis <= rank - 2):
        raise InvalidNode(f"axis {axis} of rank {rank}; allowed: all but the last")
    _check(input, {"inverse": inverse, "onesided": onesided})
    if onesided and input.shape[-1] != 1 + inverse:
        raise InvalidNode("one-sided transforms are of real signals, and back from complex spectra")
    folded, place = bool(onesided and inverse), axis % rank
    length = input.shape[place] if not folded else 2 * (input.shape[place] - 1)
    if dft_length is not None:
        length = scalar("dft_length", dft_length)
    if length < 1:
        raise NotSupported(f"nothing is said of transforms of length {length}")
    order = [n for n in range(rank - 1) if n != place] + [place, rank - 1]
    x = xp.permute_dims(input, order)
    used = min(x.shape[-2], length // 2 + 1 if folded else length)
    if folded and np.any(
        bare(xp.values_of(x))[..., [n for n in range(used) if 2 * n % length == 0], 1]
    ):
        is_open("a real signal has no imaginary part of these frequencies")
    bins = length // 2 + 1 if onesided and not inverse else length
    y = transform(x[..., :used, :], bins, length, inverse, folded)
    back = np.argsort(order)
    return xp.permute_dims(y, back.tolist())


def _versions(transform):
    def by_attribute(input, dft_length=None, *, inverse, axis, onesided):
        return _dft(transform, input, dft_length, axis, inverse, onesided)

    def by_input(input, dft_length=None, axis=None, *, inverse, onesided):
        at = -2 if axis is None else scalar("axis", axis)
        return _dft(transform, input, dft_length, at, inverse, onesided)

    return {17: by_attribute, 20: by_input}


DFT.formula(by=_versions)(_transform)


def _stft(transform, signal, step, window, length, onesided):
    """The transforms of frames, by `transform(x, bins, length)`."""
    count = (signal.shape[1] - length) // step + 1
    if length < 1 or count < 0:
        raise NotSupported(f"nothing is said of {count} frames of {length} in {signal.shape[1]}")
    at = np.arange(count)[:, None] * step + np.arange(length)
    frames = xp.take(signal, at, axis=1)
    if window is not None:
        frames = frames * xp.expand_dims(window, axis=1)
    return transform(frames, length // 2 + 1 if onesided else length, length)


def _of_frames(spectra):
    """The formula, from `spectra(signal, step, window, length, onesided)`."""

    def formula(signal, frame_step, window=None, frame_length=None, *, onesided):
        if signal.ndim != 3:
            raise InvalidNode(f"a signal of rank {signal.ndim}; allowed: 3")
        _check(signal, {"onesided": onesided})
        if onesided and signal.shape[-1] == 2:
            raise InvalidNode("a complex signal has no one-sided transform")
        if window is not None and window.ndim != 1:
            raise InvalidNode(f"a window of shape {list(window.shape)}; allowed: a list")
        length = signal.shape[1] if window is None else window.shape[0]
        if frame_length is not None:
            length = scalar("frame_length", frame_length)
        if window is not None and window.shape != (length,):
            raise InvalidNode(f"a window of {window.shape[0]} for frames of {length}")
        if (step := scalar("frame_step", frame_step)) < 1:
            raise NotSupported(f"nothing is said of a step of {step}")
        return spectra(signal, step, window, length, onesided)

    return {17: formula}


STFT.formula(by=_of_frames)(partial(_stft, _transform))


def _coarse(dtype):
    """The transform with factors that were rounded to `dtype`."""

    def transform(x, bins, length, inverse=0, folded=False):
        if folded:
            return _transform(x, bins, length, inverse, folded)
        turn = (-2j, 2j)[inverse] * np.pi / length
        factors = np.exp(turn * np.outer(np.arange(x.shape[-2]), np.arange(bins)))
        real, imaginary = (p.astype(dtype).astype(np.float64) for p in (factors.real, factors.imag))
        weights = np.stack([[real, imaginary], [-imaginary, real]])[: x.shape[-1]]
        y = np.einsum("...nc,conk->...ko", x.astype(np.float64), weights)
        return (y / length if inverse else y).astype(x.dtype)

    return transform


def _padded_in_front(x, bins, length, *how):
    front = max(length - x.shape[-2], 0) if how[1:2] != (True,) else 0
    widths = [(0, 0)] * (x.ndim - 2) + [(front, 0), (0, 0)]
    return _transform(np.pad(x, widths), bins, length, *how)


#: Wrong transforms, of either operator.
_WRONG = {
    "turned_the_other_way": ("factors turned the other way", lambda x, bins, length, inverse=0,
        folded=False: _transform(x, bins, length, 1 - inverse, folded) * (
            1 / length if inverse else length)),
    "unitary": ("the result was divided by the root of the length", lambda x, bins, length,
        inverse=0, folded=False: _transform(x, bins, length, inverse, folded) * (
            np.sqrt(length) if inverse else 1 / np.sqrt(length))),
    "parts_exchanged": ("real and imaginary parts were exchanged",
        lambda *how: _transform(*how)[..., ::-1]),
    "imaginary_part_ignored": ("imaginary parts of the input were ignored",
        lambda x, *how: _transform(x * np.array([1, 0], x.dtype)[: x.shape[-1]], *how)),
    "length_of_a_power_of_2": ("the length was rounded up to a power of 2",
        lambda x, bins, length, *how: _transform(x, bins, 1 << (length - 1).bit_length(), *how)),
    "last_value_left_out": ("the last value of a signal was left out",
        lambda x, *how: _transform(x[..., : max(x.shape[-2] - 1, 1), :], *how)),
    **{f"factors_in_{np.dtype(t).name}": (f"factors were rounded to {np.dtype(t).name}", _coarse(t))
       for t in (np.float16, ml_dtypes.bfloat16)},
}  # fmt: skip
DFT.mutant_table(_WRONG, by=_versions)
DFT.mutant_table({
    "inverse_not_divided": ("the inverse was not divided by the length", lambda x, bins, length,
        inverse=0, *how: _transform(x, bins, length, inverse, *how) * (length if inverse else 1)),
    "divided_forwards": ("the transform was divided by the length, and not the inverse",
        lambda x, bins, length, inverse=0, *how: _transform(x, bins, length, inverse, *how) * (
            length if inverse else 1 / length)),
    "divided_by_what_there_is": ("the inverse was divided by the values that there are",
        lambda x, bins, length, inverse=0, *how: _transform(x, bins, length, inverse, *how) * (
            length / x.shape[-2] if inverse else 1)),
    "padded_in_front": ("zeros came before a signal that is too short", _padded_in_front),
    "conjugates_left_out": ("the other half of a one-sided spectrum was left out",
        lambda x, bins, length, inverse=0, folded=False: _transform(
            x, bins, length, inverse)[..., : 2 - folded]),
    "all_but_the_first_twice": ("the bin of half the length counted twice in a one-sided inverse",
        lambda x, bins, length, inverse=0, folded=False: _transform(x * np.where(
            folded & (np.arange(x.shape[-2]) * 2 == length), 2, 1).astype(x.dtype)[:, None],
            bins, length, inverse, folded)),
}, by=_versions)  # fmt: skip
for _name, (_text, _function) in _WRONG.items():
    STFT.mutant(_text, name=_name, by=_of_frames)(partial(_stft, _function))


def _centered(signal, step, window, length, onesided):
    padded = np.pad(signal, [(0, 0), (length // 2, length // 2), (0, 0)])
    return _stft(_transform, padded, step, window, length, onesided)


def _tail_padded(signal, step, window, length, onesided):
    missing = (length - signal.shape[1]) % step
    padded = np.pad(signal, [(0, 0), (0, missing), (0, 0)])
    return _stft(_transform, padded, step, window, length, onesided)


STFT.mutant_table({
    "centered": ("frames were centered, with zeros around the signal", _centered),
    "tail_padded": ("a last frame was filled up with zeros", _tail_padded),
    "last_frame_left_out": ("the last frame was left out",
        lambda *how: _stft(_transform, *how)[:, :-1]),
    "window_reversed": ("the window was reversed", lambda signal, step, window, *how: _stft(
        _transform, signal, step, None if window is None else window[::-1], *how)),
    "window_applied_twice": ("the window was applied twice", lambda signal, step, window, *how:
        _stft(_transform, signal, step, None if window is None else window * window, *how)),
}, by=_of_frames)  # fmt: skip
