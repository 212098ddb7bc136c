"""The discrete Fourier transform, of a signal or of each frame of one; windows and bands for it."""

from functools import partial
from math import log2
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import (
    check_shape,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.grouping import sure

NAMES = """BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT"""
DFT, STFT = operator("DFT"), operator("STFT")


def _turns(rows, columns, length):
    """The cosines and sines of 2π·k·n / `length`, k below `rows` and n below `columns`.

    Each may be off by what its angle is in float32 before it is reduced, and by what the steps of a
    fast transform add.
    """
    check_size((rows, columns))
    product = np.outer(np.arange(rows), np.arange(columns))
    # The nearest quarter of a turn, and at most half a quarter from there.
    turn = product % length
    quarter = (8 * turn + length) // (2 * length)
    part = (4 * turn - quarter * length).astype(np.longdouble) / length
    angle = part * (np.arctan2(np.longdouble(0), np.longdouble(-1)) / 2)
    near, far = np.cos(angle), np.sin(angle)
    cos, sin = (np.choose((quarter + k) % 4, (near, -far, -near, far)) for k in (0, 3))
    one = xp.astype(np.ones(product.shape), np.float64)
    room = xp.inexact(one, 8 + 4 * log2(length) + 6 * np.pi / length * product) - one
    return [_exactly(y) + room for y in (cos, sin)]


def _exactly(y):
    """Numbers of more digits than float64 has, of the kind in force."""
    high = y.astype(np.float64)
    return xp.astype(high, np.float64) + xp.astype((y - high).astype(np.float64), np.float64)


def _transform(x, bins, length, inverse, folded):
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
    for name, value in ((name, value) for name, value in flags.items() if value not in (0, 1)):
        kind = InvalidNode if name == "onesided" else NotSupported
        raise kind(f"{name} {value}; allowed: 0 and 1")
    reject(x.shape[-1] not in (1, 2), f"numbers of {x.shape[-1]} parts; allowed: 1 and 2")
    if not xp.isfinite(x).all():
        leave_open("nothing is said of infinities and NaN times a cosine of 0")


def _dft(transform, input, dft_length=None, *, axis, inverse, onesided):
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
        raise_unspecified(f"transforms of length {length}")
    order = [n for n in range(rank - 1) if n != place] + [place, rank - 1]
    x = xp.permute_dims(input, order)
    used = min(x.shape[-2], length // 2 + 1 if folded else length)
    real = [n for n in range(used) if 2 * n % length == 0]
    if folded and np.any(xp.values_of(x)[..., real, 1]):
        leave_open("a real signal has no imaginary part of these frequencies")
    bins = length // 2 + 1 if onesided and not inverse else length
    y = transform(x[..., :used, :], bins, length, inverse, folded)
    return xp.permute_dims(y, np.argsort(order).tolist())


def _versions(transform):
    def by_input(input, dft_length=None, axis=None, **flags):
        at = -2 if axis is None else scalar("axis", axis)
        return _dft(transform, input, dft_length, axis=at, **flags)

    return {17: partial(_dft, transform), 20: by_input}


DFT.formula(build=_versions)(_transform)


def _stft(transform, signal, step, window, length, onesided):
    """The transforms of frames, by `transform(x, bins, length, inverse, folded)`."""
    count = (signal.shape[1] - length) // step + 1
    if length < 1 or count < 0:
        raise_unspecified(f"{count} frames of {length} in {signal.shape[1]}")
    frames = xp.take(signal, np.arange(count)[:, None] * step + np.arange(length), axis=1)
    if window is not None:
        frames = frames * xp.expand_dims(window, axis=1)
    return transform(frames, length // 2 + 1 if onesided else length, length, 0, False)


@formula_builder(17)
def _of_frames(spectra, signal, frame_step, window=None, frame_length=None, *, onesided):
    """The formula, from `spectra(signal, step, window, length, onesided)`."""
    reject(signal.ndim != 3, f"a signal of rank {signal.ndim}; allowed: 3")
    _check(signal, {"onesided": onesided})
    reject(onesided and signal.shape[-1] == 2, "a complex signal has no one-sided transform")
    if window is not None and window.ndim != 1:
        raise InvalidNode(f"a window of shape {list(window.shape)}; allowed: a list")
    length = signal.shape[1] if window is None else window.shape[0]
    if frame_length is not None:
        length = scalar("frame_length", frame_length)
    check_shape("window", window, (length,))
    if (step := scalar("frame_step", frame_step)) < 1:
        raise_unspecified(f"a step of {step}")
    return spectra(signal, step, window, length, onesided)


STFT.formula(build=_of_frames)(partial(_stft, _transform))


def _coarse(dtype, x, bins, length, inverse, folded):
    if folded:
        return _transform(x, bins, length, inverse, folded)
    turn = (-2j, 2j)[inverse] * np.pi / length
    factors = np.exp(turn * np.outer(np.arange(x.shape[-2]), np.arange(bins)))
    real, imaginary = (p.astype(dtype).astype(np.float64) for p in (factors.real, factors.imag))
    weights = np.stack([[real, imaginary], [-imaginary, real]])[: x.shape[-1]]
    y = np.einsum("...nc,conk->...ko", x.astype(np.float64), weights)
    return (y / length if inverse else y).astype(x.dtype)


def _padded_in_front(x, bins, length, inverse, folded):
    front = 0 if folded else max(length - x.shape[-2], 0)
    widths = [(0, 0)] * (x.ndim - 2) + [(front, 0), (0, 0)]
    return _transform(np.pad(x, widths), bins, length, inverse, folded)


#: Wrong transforms, of either operator.
_WRONG = {
    "turned_the_other_way": (
        "factors turned the other way",
        lambda x, k, n, inverse, *of: (
            _transform(x, k, n, 1 - inverse, *of) * n ** (1 - 2 * inverse)
        ),
    ),
    "unitary": (
        "the result was divided by the root of the length",
        lambda x, k, n, inverse, *of: _transform(x, k, n, inverse, *of) * n ** (inverse - 0.5),
    ),
    "parts_exchanged": (
        "real and imaginary parts were exchanged",
        lambda *how: _transform(*how)[..., ::-1],
    ),
    "imaginary_part_ignored": (
        "imaginary parts of the input were ignored",
        lambda x, *how: _transform(x * np.array([1, 0], x.dtype)[: x.shape[-1]], *how),
    ),
    "length_of_a_power_of_2": (
        "the length was rounded up to a power of 2",
        lambda x, bins, length, *how: _transform(x, bins, 1 << (length - 1).bit_length(), *how),
    ),
    "last_value_left_out": (
        "the last value of a signal was left out",
        lambda x, *how: _transform(x[..., : max(x.shape[-2] - 1, 1), :], *how),
    ),
    **{
        f"factors_in_{name}": (f"factors were rounded to {name}", partial(_coarse, name))
        for name in ("float16", "bfloat16")
    },
}
DFT.mutant_table(_WRONG, build=_versions)
DFT.mutant_table(
    {
        "inverse_not_divided": (
            "the inverse was not divided by the length",
            lambda x, k, n, inverse, *of: _transform(x, k, n, inverse, *of) * n**inverse,
        ),
        "divided_forwards": (
            "the transform was divided by the length, and not the inverse",
            lambda x, k, n, inverse, *of: (
                _transform(x, k, n, inverse, *of) * n ** (2 * inverse - 1)
            ),
        ),
        "divided_by_what_there_is": (
            "the inverse was divided by the values that there are",
            lambda x, k, n, inverse, *of: (
                _transform(x, k, n, inverse, *of) * (n / x.shape[-2]) ** inverse
            ),
        ),
        "padded_in_front": ("zeros came before a signal that is too short", _padded_in_front),
        "conjugates_left_out": (
            "the other half of a one-sided spectrum was left out",
            lambda x, k, n, inverse, folded: _transform(x, k, n, inverse, False)[..., : 2 - folded],
        ),
        "all_but_the_first_twice": (
            "the bin of half the length counted twice in a one-sided inverse",
            lambda x, k, n, inverse, folded: _transform(
                x * (1 + (folded & (np.arange(x.shape[-2]) * 2 == n))).astype(x.dtype)[:, None],
                k,
                n,
                inverse,
                folded,
            ),
        ),
    },
    build=_versions,
)
STFT.mutant_table(_WRONG, build=lambda transform: _of_frames(partial(_stft, transform)))


def _longer(ends):
    """The spectra of a signal with zeros at its ends: so many as `ends(count, step, length)`."""
    return lambda signal, step, window, length, onesided: _stft(
        _transform,
        np.pad(signal, [(0, 0), ends(signal.shape[1], step, length), (0, 0)]),
        step,
        window,
        length,
        onesided,
    )


STFT.mutant_table(
    {
        "centered": (
            "frames were centered, with zeros around the signal",
            _longer(lambda count, step, length: (length // 2, length // 2)),
        ),
        "tail_padded": (
            "a last frame was filled up with zeros",
            _longer(lambda count, step, length: (0, (length - count) % step)),
        ),
        "last_frame_left_out": (
            "the last frame was left out",
            lambda *how: _stft(_transform, *how)[:, :-1],
        ),
        "window_reversed": (
            "the window was reversed",
            lambda signal, step, window, *how: _stft(
                _transform, signal, step, None if window is None else window[::-1], *how
            ),
        ),
        "window_applied_twice": (
            "the window was applied twice",
            lambda signal, step, window, *how: _stft(
                _transform, signal, step, None if window is None else window * window, *how
            ),
        ),
    },
    build=_of_frames,
)


# Windows, for periodic and symmetric signals.
@formula_builder(17, options=["cut"])
def _window(points, size, *, output_datatype, periodic, cut=lambda y: y):
    """The formula, from `points(cosine, n, period)` of the whole numbers n below `size`."""
    count = scalar("size", size)
    if count < 0 or periodic not in (0, 1):
        raise_unspecified(f"{count} points, periodic={periodic}")
    check_size((count,))
    if count == 1 and not periodic:
        leave_open("a symmetric window of one point would have a period of 0")
    n = xp.astype(np.arange(count), np.float32)
    y = points(xp.cos, n, (count if periodic else count - 1) or 1)
    kind = sure(dtypes.named(output_datatype))
    return xp.astype(cut(y) if kind.kind == "int" else y, kind.numpy)


def _pi():
    """More digits of π than float64 has, where the kind of numbers in force has them."""
    return xp.real(np.pi) + xp.real(1.2246467991473532e-16)


def _cosines(a, b, c, cos, n, period):
    """The function bodies' sum, of shares whose last is 0 but for one window."""
    angle = n * (2 * _pi() / xp.real(period))
    y = a - b * cos(angle)
    return y + c * cos(2 * angle) if c else y


#: The shares of 1, of the cosine, and of that of twice the angle, as the function bodies have them.
_SHARES = {
    "HannWindow": (0.5, 0.5, 0),
    "HammingWindow": (25 / 46, 21 / 46, 0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}
#: Those that others give a window of that name, or the next window's.
_OTHERS: Any = {
    "HannWindow": _SHARES["HammingWindow"],
    "HammingWindow": (0.54, 0.46, 0),
    "BlackmanWindow": (7938 / 18608, 9240 / 18608, 1430 / 18608),
}
for _name, _shares in _SHARES.items():
    _op = operator(_name, of_integers=True, of_scalars=("int32", "int64"))
    _of: Any = partial(_cosines, *_shares)
    _op.formula(build=_window)(_of)
    if _name == "HannWindow":
        _op.alternative("", build=_window)(
            lambda cos, n, period: (half := xp.sin(n * (_pi() / xp.real(period)))) * half
        )
    _op.mutant_table(
        {
            "of_other_shares": (
                "other shares of the cosines were in use",
                partial(_cosines, *_OTHERS[_name]),
            ),
            "between_points": (
                "points lay in the middle of steps",
                lambda cos, n, period, of=_of: of(cos, n + 0.5, period),
            ),
            "period_of_one_more": (
                "the period had a step more",
                lambda cos, n, period, of=_of: of(cos, n, period + 1 or 1),
            ),
            "half_a_turn": (
                "the window was its first half, stretched",
                lambda cos, n, period, of=_of: of(cos, n, 2 * period),
            ),
            "begins_in_the_middle": (
                "the window began with its middle",
                lambda cos, n, period, of=_of: of(lambda x: -cos(x), n, period),
            ),
            **{
                f"computed_in_{t.__name__}": (
                    f"the window was computed in {t.__name__}",
                    lambda cos, n, period, of=_of, t=t: of(cos, n.astype(t), t(period)).astype(t),
                )
                for t in (np.float16, ml_dtypes.bfloat16)
            },
        },
        build=_window,
    )
    _op.mutant_table(
        {
            "rounded_to_nearest": ("integers were rounded and not cut off", np.rint),
            "rounded_up": ("integers were rounded up", lambda y: np.ceil(y - 1e-6)),
        },
        build=lambda cut, of=_of: _window(of, cut=cut),
    )


# Bands on the mel scale, of a spectrum's values.
MEL = operator("MelWeightMatrix", of_integers=True, of_scalars=("int32", "int64"))


@formula_builder(17, options=["cut", "mark", "more"])
def _of_bands(
    points,
    num_mel_bins,
    dft_length,
    sample_rate,
    lower_edge_hertz,
    upper_edge_hertz,
    *,
    output_datatype,
    cut=np.floor,
    mark=lambda y, left, right: y,
    more=1,
):
    """The formula, from `points(u, v, n)`: n + 2 frequencies from u on, in units of 700 Hz."""
    count, length, rate = map(
        scalar,
        ("num_mel_bins", "dft_length", "sample_rate"),
        (num_mel_bins, dft_length, sample_rate),
    )
    edges = {"lower_edge_hertz": lower_edge_hertz, "upper_edge_hertz": upper_edge_hertz}
    low, high = (float(scalar(name, xp.values_of(x))) for name, x in edges.items())
    if count < 0 or min(length, rate) < 1:
        raise_unspecified(f"{count} bands of {length} values, {rate} a second")
    if not 0 <= low <= high < np.inf:
        raise_unspecified(f"bands from {low} to {high} Hz")
    if not low < high <= rate / 2:
        leave_open("bands of no width, or of more than the spectrum")
    check_size((rows := length // 2 + 1, count + 2))
    unit = (length + more) * 700 / rate
    at = points(low / 700, high / 700, count) * unit
    # Sixteen roundings of logarithms and powers in float32; 0 stays 0.
    off = 2.0**-20 * (1 + np.log1p(high / 700)) * (at + unit) * (at > 0)
    if np.any(cut(at - off) != cut(at + off)):
        leave_open("float32 cannot tell bins apart")
    left, peak, right = (cut(at)[n : n + count] for n in range(3))
    j = np.arange(rows)[:, None]
    width = np.maximum(np.where(j < peak, peak - left, right - peak), 1)
    height = np.maximum(np.where(j < peak, j - left, right - j), 0)
    height = mark(np.where(j == peak, width, height), left, right)
    kind = sure(dtypes.named(output_datatype))
    if kind.kind == "int" and np.any(height % width):
        leave_open("what fractions are as integers")
    return xp.astype(xp.astype(height, np.float32) / xp.astype(width, np.float32), kind.numpy)


def _mels(u, v, n, steps=2, forth=np.log1p, back=np.expm1):
    """As the page's example has them: the upper edge is one step after the last of them."""
    u, v = forth(np.array([u, v]))
    return back(u + np.arange(n + 2) * ((v - u) / (n + steps)))


MEL.formula(build=_of_bands)(_mels)
MEL.mutant_table(
    {
        "up_to_the_upper_edge": ("the last band ended at the upper edge", partial(_mels, steps=1)),
        "linear_below_1000_hz": (
            "the mel scale was linear below 1000 Hz",
            partial(
                _mels,
                forth=lambda f: np.where(
                    f < 10 / 7, f * 0.7, 1 + np.log(np.maximum(f * 0.7, 1)) / 1.03
                ),
                back=lambda m: np.where(m < 1, m, np.exp((m - 1) * 1.03)) / 0.7,
            ),
        ),
        **{
            f"computed_in_{t.__name__}": (
                f"frequencies were computed in {t.__name__}",
                lambda u, v, n, t=t: _mels(
                    u,
                    v,
                    n,
                    forth=lambda f: np.log1p(f.astype(t)),
                    back=lambda m: np.expm1(m.astype(t)).astype(np.float64),
                ),
            )
            for t in (np.float16, ml_dtypes.bfloat16)
        },
    },
    build=_of_bands,
)
MEL.mutant_table(
    {
        "rounded_to_nearest": ("frequencies were rounded to the nearest bin", {"cut": np.rint}),
        "between_bins": ("frequencies lay between bins", {"cut": np.positive}),
        "length_as_it_is": ("bins were counted by the length, and not by one more", {"more": 0}),
        "flat_within_a_bin": (
            "bands within a bin had no peak",
            {"mark": lambda y, left, right: y * (left < right)},
        ),
        "of_area_1": (
            "triangles had the same area, and not the same peak",
            {"mark": lambda y, left, right: y * (2 / np.maximum(right - left, 1))},
        ),
    },
    build=lambda options: _of_bands(_mels, **options),
)
