"""DFT and STFT, all versions: the discrete Fourier transform of a signal, or of frames of one.

A signal holds its real and imaginary parts along the last axis, or the real parts alone. Bin k of
a transform of length N is the sum over n of x[n] * e^(-2πi·k·n/N), and back with the other sign and
divided by N. It is computed as a product with the matrix of the factors' cosines and sines.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import log2
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import (
    Formula,
    NamedMutants,
    check_shape,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

NAMES = """DFT STFT"""


class Request(NamedTuple):
    """What is asked of a transform.

    Attributes:
        bins: The number of values that come out.
        length: The length N of the transform.
        inverse: It goes back, from a spectrum to a signal.
        folded: It goes back from the first half of a spectrum; the others are their conjugates.
    """

    bins: int
    length: int
    inverse: bool
    folded: bool


#: Transforms along the last axis but one: from [..., n, parts] to [..., bins, 2], or [..., bins, 1]
#: of a folded spectrum.
Transform: TypeAlias = Callable[[Array, Request], Array]


# ── the transform ─────────────────────────────────────────────────────────────────────────────


def exactly(y: NDArray[Any]) -> Array:
    """Return longdouble numbers `y` as formulas compute with them: with more digits than float64.

    They are the sum of two float64 numbers, which bounded arithmetic keeps; plain arrays round it
    to float64. Infinity, NaN and what float64 does not reach become NaN.
    """
    high = y.astype(np.float64)
    return xp.astype(high, np.float64) + xp.astype((y - high).astype(np.float64), np.float64)


def turns(rows: int, columns: int, length: int) -> tuple[Array, Array]:
    """Return the cosines and sines of 2π·k·n / length, k below `rows` and n below `columns`.

    Both have the shape (rows, columns); `length` is 1 or more. Each may be off by what its angle is
    in float32 before it is reduced, and by what the steps of a fast transform add. Raises
    MemoryError for more than 2^28 angles.
    """
    check_size((rows, columns))
    product = np.outer(np.arange(rows), np.arange(columns))
    # The nearest quarter of a turn, and at most half a quarter from there.
    turn = product % length
    quarter = (8 * turn + length) // (2 * length)
    part = (4 * turn - quarter * length).astype(np.longdouble) / length
    half_pi = np.arctan2(np.longdouble(0), np.longdouble(-1)) / 2
    near = np.cos(part * half_pi)
    far = np.sin(part * half_pi)
    by_quarter = (near, -far, -near, far)
    cosines = np.choose(quarter % 4, by_quarter)
    sines = np.choose((quarter + 3) % 4, by_quarter)
    # Numbers 0 with the errors that each factor may have, in unit roundoffs.
    one = xp.astype(np.ones(product.shape), np.float64)
    room = xp.inexact(one, 8 + 4 * log2(length) + 6 * np.pi / length * product) - one
    return exactly(cosines) + room, exactly(sines) + room


def transformed(x: Array, request: Request) -> Array:
    """Return the transform of x as a product with a matrix, in the type of x.

    `request` is what is asked of the transform. x: [..., n, parts], of 2 parts, or 1 for real
    numbers; if it is folded, n is at most length // 2 + 1. The result: [..., bins, 2], or [...,
    bins, 1] if folded. Values that a short signal lacks count as 0. Raises MemoryError for a matrix
    of more than 2^28 factors.
    """
    count = x.shape[-2]
    length = request.length
    cosines, sines = turns(count, request.bins, length)
    if not request.inverse:
        sines = -sines
    if request.folded:
        # All frequencies but 0 and half the length stand for their conjugates too.
        is_alone = np.arange(count) * 2 % length == 0
        twice = np.where(is_alone, 1.0, 2.0)[:, np.newaxis]
        weights = [[cosines * twice], [-sines * twice]]
    else:
        weights = [[cosines, sines], [-sines, cosines]][: x.shape[-1]]
    matrix = xp.stack([xp.stack(row, axis=-1) for row in weights], axis=1)
    y = xp.tensordot(x, matrix, ((x.ndim - 2, x.ndim - 1), (0, 1)))
    return xp.astype(y / length if request.inverse else y, x.dtype)


def check_signal(x: Array, onesided: int) -> None:
    """Raise InvalidNode for a flag or a number of parts that the text excludes.

    "Values can be 0 or 1." of `onesided`; the last axis is "1 or 2 (for the real or complex case)".
    Raises NotSupported, while judging, if `x` holds infinity or NaN.
    """
    reject(onesided not in (0, 1), f"onesided {onesided}; allowed: 0 and 1")
    reject(x.shape[-1] not in (1, 2), f"numbers of {x.shape[-1]} parts; allowed: 1 and 2")
    if not xp.isfinite(x).all():
        leave_open("nothing is said of infinities and NaN times a cosine of 0")


# ── DFT ───────────────────────────────────────────────────────────────────────────────────────


def length_of(input: Array, axis: int, dft_length: Array, folded: bool) -> int:
    """Return the length of the transform: by default that of the axis, or of what was folded.

    axis: counted from the front; dft_length: a tensor of one element, or None; folded: `input` is
    the first half of a spectrum, of length // 2 + 1 values.

    Raises NotSupported for a length below 1 or that rounding decides, InvalidNode for a dft_length
    of no or several elements. One element of rank 1 or more is taken or refused:
    ONE_ELEMENT_AS_A_SCALAR.
    """
    if dft_length is not None:
        length = scalar("dft_length", dft_length)
    elif folded:
        length = 2 * (input.shape[axis] - 1)
    else:
        length = input.shape[axis]
    if length < 1:
        raise_unspecified(f"transforms of length {length}")
    return int(length)


def check_folded(x: Array, length: int) -> None:
    """Raise NotSupported, while judging, if an imaginary part is not 0 that a real signal lacks.

    x: [..., n, 2], half a spectrum. The imaginary parts are those of frequency 0 and, if `length`
    is even, of half of it.
    """
    real = [n for n in range(x.shape[-2]) if 2 * n % length == 0]
    if np.any(xp.values_of(x)[..., real, 1]):
        leave_open("a real signal has no imaginary part of these frequencies")


def dft(
    transform: Transform,
    input: Array,
    dft_length: Array,
    axis: int,
    *,
    inverse: int,
    onesided: int,
) -> Array:
    """Return the transform along an axis other than the last, which holds the parts.

    input: [..., 1 or 2]; dft_length: a tensor of one element, or None for the length there is; the
    result, in the type of the input, has its shape but for the axis, whose length is that of the
    transform, or length // 2 + 1 of half a spectrum, and 2 parts, or 1 of a one-sided inverse. A
    signal that is longer than the transform is cut off, and zeros follow a shorter one. With
    `onesided` a real signal has the first half of its spectrum, and the inverse takes that half.

    Raises InvalidNode for an axis out of range or the last, a last axis of other than 1 or 2 parts
    (with `onesided` other than 1, or 2 of the inverse), a `onesided` other than 0 and 1, and a
    dft_length of no or several elements. One element of rank 1 or more, and an `inverse` other than
    0 and 1, are taken or refused so: ONE_ELEMENT_AS_A_SCALAR, FLAG_OF_ANOTHER_NUMBER.

    Raises NotSupported for a length below 1; while judging, also for infinity and NaN, and for
    imaginary parts of frequencies that have none in real signals. Raises MemoryError for more than
    2^28 factors.
    """
    rank = input.ndim
    if not (-rank <= axis <= -2 or 0 <= axis <= rank - 2):
        raise InvalidNode(f"axis {axis} of rank {rank}; allowed: all but the last")
    is_inverse = flag("inverse", inverse)
    check_signal(input, onesided)
    if onesided and input.shape[-1] != (2 if is_inverse else 1):
        raise InvalidNode("one-sided transforms are of real signals, and back from complex spectra")
    folded = bool(onesided) and is_inverse
    counted = axis % rank
    length = length_of(input, counted, dft_length, folded)
    half = length // 2 + 1
    order = [n for n in range(rank - 1) if n != counted] + [counted, rank - 1]
    x = xp.permute_dims(input, order)
    x = x[..., : min(x.shape[-2], half if folded else length), :]
    if folded:
        check_folded(x, length)
    bins = half if onesided and not is_inverse else length
    y = transform(x, Request(bins, length, is_inverse, folded))
    return xp.permute_dims(y, np.argsort(order).tolist())


def dft_along_attribute(
    transform: Transform,
    input: Array,
    dft_length: Array = None,
    *,
    axis: int,
    inverse: int,
    onesided: int,
) -> Array:
    """Return the transform of version 17 along the attribute `axis`.

    input: [..., 1 or 2]; dft_length: a tensor of one element, or None for the length there is. With
    `onesided` a real signal has the first half of its spectrum, and the inverse takes that half.
    The result has 2 parts, or 1 of a one-sided inverse.

    Raises InvalidNode for an axis out of range or the last, a last axis of other than 1 or 2 parts
    (with `onesided` other than 1, or 2 of the inverse), a `onesided` other than 0 and 1, and a
    dft_length of no or several elements; NotSupported for a length below 1, and, while judging, for
    infinity and NaN, and imaginary parts that a real signal lacks; MemoryError for more than 2^28
    factors. One element of rank 1 or more, and an `inverse` other than 0 and 1, are taken or raise
    InvalidNode: ONE_ELEMENT_AS_A_SCALAR, FLAG_OF_ANOTHER_NUMBER.
    """
    return dft(transform, input, dft_length, axis, inverse=inverse, onesided=onesided)


def dft_along_input(
    transform: Transform,
    input: Array,
    dft_length: Array = None,
    axis: Array = None,
    *,
    inverse: int,
    onesided: int,
) -> Array:
    """Return the transform of version 20 along the input `axis`, None for -2.

    input: [..., 1 or 2]; dft_length: a tensor of one element, or None for the length there is;
    axis: one of one element. With `onesided` a real signal has the first half of its spectrum, and
    the inverse takes that half. The result has 2 parts, or 1 of a one-sided inverse.

    Raises InvalidNode for an axis out of range or the last, a last axis of other than 1 or 2 parts
    (with `onesided` other than 1, or 2 of the inverse), a `onesided` other than 0 and 1, and an
    axis or dft_length of no or several elements; NotSupported for a length below 1, and, while
    judging, for infinity and NaN, and imaginary parts that a real signal lacks; MemoryError for
    more than 2^28 factors. One element of rank 1 or more, and an `inverse` other than 0 and 1, are
    taken or raise InvalidNode: ONE_ELEMENT_AS_A_SCALAR, FLAG_OF_ANOTHER_NUMBER.
    """
    along = -2 if axis is None else scalar("axis", axis)
    return dft(transform, input, dft_length, along, inverse=inverse, onesided=onesided)


def each_version(transform: Transform) -> Mapping[int, Formula]:
    """Return the formula of each version of DFT: 17 and 20."""
    return {17: partial(dft_along_attribute, transform), 20: partial(dft_along_input, transform)}


DFT = operator("DFT")
DFT.formula(build=each_version)(transformed)


# ── STFT ──────────────────────────────────────────────────────────────────────────────────────


class Framing(NamedTuple):
    """How a signal is cut into frames.

    Attributes:
        step: The elements from the beginning of a frame to that of the next.
        window: What each frame is multiplied by, [length]; None for nothing.
        length: The elements of a frame.
        onesided: The first half of each spectrum comes out.
    """

    step: int
    window: Array
    length: int
    onesided: bool


#: Makes spectra, [batch, frames, bins, 2], of signals, [batch, length, parts].
Spectra: TypeAlias = Callable[[Array, Framing], Array]


def spectra_of_frames(transform: Transform, signal: Array, framing: Framing) -> Array:
    """Return the transform of each frame that lies within the signal, [batch, frames, bins, 2].

    signal: [batch, length, parts]; framing: its step is 1 or more. Where a frame is longer than the
    signal by no more than a step, there are no frames.

    Raises NotSupported for a frame that is longer than that or has no elements, MemoryError for a
    transform of more than 2^28 factors.
    """
    length = framing.length
    count = (signal.shape[1] - length) // framing.step + 1
    if length < 1 or count < 0:
        raise_unspecified(f"{count} frames of {length} in {signal.shape[1]}")
    places = np.arange(count)[:, np.newaxis] * framing.step + np.arange(length)
    frames = xp.take(signal, places, axis=1)
    if framing.window is not None:
        frames = frames * xp.expand_dims(framing.window, axis=1)
    bins = length // 2 + 1 if framing.onesided else length
    return transform(frames, Request(bins, length, inverse=False, folded=False))


@formulas_of_versions(17)
def stft(
    spectra: Spectra,
    signal: Array,
    frame_step: Array,
    window: Array = None,
    frame_length: Array = None,
    *,
    onesided: int,
) -> Array:
    """Return the spectra of a signal's frames, [batch, frames, bins, 2].

    signal: [batch, length, 1 or 2]; window: a list, None for ones; frame_step, frame_length:
    tensors of one element. The length of a frame is frame_length, or else the window's, or else the
    signal's. With `onesided` there are length // 2 + 1 bins, else as many as elements in a frame.
    spectra: makes them of a signal and its framing.

    Raises InvalidNode for other shapes, a window of another length than frame_length, a `onesided`
    other than 0 and 1, and one side of a complex signal. One element of rank 1 or more is taken or
    refused so: ONE_ELEMENT_AS_A_SCALAR. Raises NotSupported for a step below 1, and for frames that
    are empty or longer than the signal by more than a step; while judging, also for infinity and
    NaN in the signal. Raises MemoryError for a transform of more than 2^28 factors.
    """
    reject(signal.ndim != 3, f"a signal of rank {signal.ndim}; allowed: 3")
    check_signal(signal, onesided)
    reject(onesided and signal.shape[-1] == 2, "a complex signal has no one-sided transform")
    if window is not None and window.ndim != 1:
        raise InvalidNode(f"a window of shape {list(window.shape)}; allowed: a list")
    length = signal.shape[1] if window is None else window.shape[0]
    if frame_length is not None:
        length = scalar("frame_length", frame_length)
    check_shape("window", window, (length,))
    step = scalar("frame_step", frame_step)
    if step < 1:
        raise_unspecified(f"a step of {step}")
    return spectra(signal, Framing(step, window, length, bool(onesided)))


def stft_by(transform: Transform) -> Mapping[int, Formula]:
    """Return the formulas of STFT from what transforms a frame."""
    return stft(partial(spectra_of_frames, transform))


STFT = operator("STFT")
STFT.formula(build=stft_by)(transformed)


# ── mutants of both ───────────────────────────────────────────────────────────────────────────


def scaled_by_length(x: Array, request: Request, power: float) -> Array:
    """Return the transform times a power of its length, for mutants.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    return transformed(x, request) * request.length**power


def turned_the_other_way(x: Array, request: Request) -> Array:
    """Mutant: the factors have the sign of the other direction; the division is right.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    y = transformed(x, request._replace(inverse=not request.inverse))
    return y * request.length ** (-1 if request.inverse else 1)


def unitary(x: Array, request: Request) -> Array:
    """Mutant: the transform and its inverse are both divided by the root of the length.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    return scaled_by_length(x, request, 0.5 if request.inverse else -0.5)


def parts_exchanged(x: Array, request: Request) -> Array:
    """Mutant: the imaginary parts come first.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    return transformed(x, request)[..., ::-1]


def imaginary_part_ignored(x: Array, request: Request) -> Array:
    """Mutant: the imaginary parts of the input are 0.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    is_real = np.array([1, 0], x.dtype)[: x.shape[-1]]
    return transformed(x * is_real, request)


def length_of_a_power_of_2(x: Array, request: Request) -> Array:
    """Mutant: the length is rounded up to a power of 2.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    return transformed(x, request._replace(length=1 << (request.length - 1).bit_length()))


def last_value_left_out(x: Array, request: Request) -> Array:
    """Mutant: the last value of a signal is left out, unless it is the only one.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    return transformed(x[..., : max(x.shape[-2] - 1, 1), :], request)


def with_factors_in(kind: Any, x: Array, request: Request) -> Array:
    """Mutant: the factors are rounded to `kind`, a type of fewer digits, unless it is folded.

    A folded transform is right: raises MemoryError for more than 2^28 factors.
    """
    if request.folded:
        return transformed(x, request)
    turn = (2j if request.inverse else -2j) * np.pi / request.length
    factors = np.exp(turn * np.outer(np.arange(x.shape[-2]), np.arange(request.bins)))
    real = factors.real.astype(kind).astype(np.float64)
    imaginary = factors.imag.astype(kind).astype(np.float64)
    weights = np.stack([[real, imaginary], [-imaginary, real]])[: x.shape[-1]]
    y = np.einsum("...nc,conk->...ko", x.astype(np.float64), weights)
    return (y / request.length if request.inverse else y).astype(x.dtype)


MUTANTS: NamedMutants[Transform] = {
    "turned_the_other_way": ("factors turned the other way", turned_the_other_way),
    "unitary": ("the result was divided by the root of the length", unitary),
    "parts_exchanged": ("real and imaginary parts were exchanged", parts_exchanged),
    "imaginary_part_ignored": (
        "imaginary parts of the input were ignored",
        imaginary_part_ignored,
    ),
    "length_of_a_power_of_2": (
        "the length was rounded up to a power of 2",
        length_of_a_power_of_2,
    ),
    "last_value_left_out": ("the last value of a signal was left out", last_value_left_out),
    "factors_in_float16": (
        "factors were rounded to float16",
        partial(with_factors_in, np.float16),
    ),
    "factors_in_bfloat16": (
        "factors were rounded to bfloat16",
        partial(with_factors_in, ml_dtypes.bfloat16),
    ),
}
DFT.mutant_table(MUTANTS, build=each_version)
STFT.mutant_table(MUTANTS, build=stft_by)


# ── mutants of DFT ────────────────────────────────────────────────────────────────────────────


@DFT.mutant("the inverse was not divided by the length", build=each_version)
def inverse_not_divided(x: Array, request: Request) -> Array:
    """Mutant: neither the transform nor the inverse is divided by its length.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    return scaled_by_length(x, request, 1 if request.inverse else 0)


@DFT.mutant(
    "the transform was divided by the length, and not the inverse",
    build=each_version,
)
def divided_forwards(x: Array, request: Request) -> Array:
    """Mutant: the transform is divided by its length, and the inverse is not.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    return scaled_by_length(x, request, 1 if request.inverse else -1)


@DFT.mutant("the inverse was divided by the values that there are", build=each_version)
def divided_by_what_there_is(x: Array, request: Request) -> Array:
    """Mutant: the inverse is divided by the number of values, not that of bins.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    y = transformed(x, request)
    return y * (request.length / x.shape[-2]) if request.inverse else y * 1.0


@DFT.mutant("zeros came before a signal that is too short", build=each_version)
def padded_in_front(x: Array, request: Request) -> Array:
    """Mutant: zeros come before a signal that is shorter than the transform, and not behind it.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    front = 0 if request.folded else max(request.length - x.shape[-2], 0)
    widths = [(0, 0)] * (x.ndim - 2) + [(front, 0), (0, 0)]
    return transformed(np.pad(x, widths), request)


@DFT.mutant("the other half of a one-sided spectrum was left out", build=each_version)
def conjugates_left_out(x: Array, request: Request) -> Array:
    """Mutant: the inverse of half a spectrum takes the other half for 0.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    y = transformed(x, request._replace(folded=False))
    return y[..., :1] if request.folded else y


@DFT.mutant(
    "the bin of half the length counted twice in a one-sided inverse",
    build=each_version,
)
def all_but_the_first_twice(x: Array, request: Request) -> Array:
    """Mutant: the frequency of half the length stands for a conjugate too.

    Raises MemoryError for a transform of more than 2^28 factors.
    """
    is_half = np.arange(x.shape[-2]) * 2 == request.length
    times = np.where(is_half & request.folded, 2, 1).astype(x.dtype)[:, np.newaxis]
    return transformed(x * times, request)


# ── mutants of STFT ───────────────────────────────────────────────────────────────────────────


def spectra(signal: Array, framing: Framing) -> Array:
    """Return the transform of each frame that lies within the signal, [batch, frames, bins, 2].

    Raises NotSupported for frames without elements or longer than the signal by more than a step,
    MemoryError for a transform of more than 2^28 factors.
    """
    return spectra_of_frames(transformed, signal, framing)


def spectra_with_zeros(signal: Array, framing: Framing, before: int, behind: int) -> Array:
    """Return the spectra of a signal with so many zeros before and behind it.

    Raises NotSupported for frames without elements or longer than that by more than a step,
    MemoryError for a transform of more than 2^28 factors.
    """
    return spectra(np.pad(signal, [(0, 0), (before, behind), (0, 0)]), framing)


@STFT.mutant("frames were centered, with zeros around the signal", build=stft)
def centered(signal: Array, framing: Framing) -> Array:
    """Mutant: frames are centered at their first elements, with zeros around the signal.

    Raises NotSupported for frames without elements, MemoryError for a transform of more than 2^28
    factors.
    """
    half = framing.length // 2
    return spectra_with_zeros(signal, framing, half, half)


@STFT.mutant("a last frame was filled up with zeros", build=stft)
def tail_padded(signal: Array, framing: Framing) -> Array:
    """Mutant: what is behind the last frame has a frame too, filled up with zeros.

    Raises NotSupported for frames without elements or longer than the signal by more than a step,
    MemoryError for a transform of more than 2^28 factors.
    """
    missing = (framing.length - signal.shape[1]) % framing.step
    return spectra_with_zeros(signal, framing, 0, missing)


@STFT.mutant("the last frame was left out", build=stft)
def last_frame_left_out(signal: Array, framing: Framing) -> Array:
    """Mutant: the last frame is left out.

    Raises NotSupported for frames without elements or longer than the signal by more than a step,
    MemoryError for a transform of more than 2^28 factors.
    """
    return spectra(signal, framing)[:, :-1]


@STFT.mutant("the window was reversed", build=stft)
def window_reversed(signal: Array, framing: Framing) -> Array:
    """Mutant: the window's last element comes first.

    Raises NotSupported for frames without elements or longer than the signal by more than a step,
    MemoryError for a transform of more than 2^28 factors.
    """
    window = framing.window
    backwards = None if window is None else window[::-1]
    return spectra(signal, framing._replace(window=backwards))


@STFT.mutant("the window was applied twice", build=stft)
def window_applied_twice(signal: Array, framing: Framing) -> Array:
    """Mutant: each frame is multiplied by the window's squares.

    Raises NotSupported for frames without elements or longer than the signal by more than a step,
    MemoryError for a transform of more than 2^28 factors.
    """
    window = framing.window
    squares = None if window is None else window * window
    return spectra(signal, framing._replace(window=squares))
