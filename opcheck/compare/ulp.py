"""Distances in units in the last place: how many steps of its dtype lie between two numbers.

Every value of a floating dtype has a rank: its place in the order of all values from -inf to inf,
with -0 and +0 in one place. The distance of two values is the difference of their ranks. It is
taken on the bits as unsigned integers, so it is exact across zero, through the subnormals and up
to the infinities (one step beyond the largest finite value), and cannot overflow.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import DType, of
from opcheck.model import Array

Bits: TypeAlias = NDArray[np.unsignedinteger[Any]]

#: The distance between NaN and anything that is not NaN: no number of steps leads there.
UNORDERED = 2**64 - 1

#: Elements looked at together; a few temporaries of this size stay in a core's cache.
CHUNK = 1 << 16


def distance(a: Array, b: Array) -> NDArray[np.uint64]:
    """The steps between `a` and `b`, element by element, as uint64 in their shape.

    Both have one shape and one dtype, float16, bfloat16, float32 or float64, in any memory layout
    and byte order; others raise ValueError. +0 and -0 are 0 apart, NaN and NaN likewise; NaN and
    anything else are UNORDERED.
    """
    dtype = _common(a, b)
    # The bits of +inf: every bit of the exponent set, none of the significand.
    fraction = dtype.precision - 1
    infinity = ((1 << (8 * dtype.numpy.itemsize - 1 - fraction)) - 1) << fraction
    (magnitude_a, rank_a), (magnitude_b, rank_b) = _ranked(a), _ranked(b)
    steps = np.maximum(rank_a, rank_b) - np.minimum(rank_a, rank_b)

    nan_a, nan_b = magnitude_a > infinity, magnitude_b > infinity
    either = nan_a | nan_b
    if not either.any():
        return np.asarray(steps, np.uint64)
    unordered = np.where(nan_a & nan_b, np.uint64(0), np.uint64(UNORDERED))
    return np.where(either, unordered, steps)


def chunks(*arrays: Array) -> Iterator[tuple[int, tuple[Array, ...]]]:
    """Arrays of one shape in pieces of CHUNK elements, in index order, whatever their layout.

    Yields the flat index of a piece's first element and the pieces: one-dimensional, in the
    machine's byte order.
    """
    # Slices of a contiguous array are views; those of `flat` copy no more than the piece.
    flats = [array.reshape(-1) if array.flags.c_contiguous else array.flat for array in arrays]
    for start in range(0, arrays[0].size, CHUNK):
        yield start, tuple(native(flat[start : start + CHUNK]) for flat in flats)


def same_bits(a: Array, b: Array) -> bool:
    """Return True if two arrays of the same floating dtype and shape are equal bit by bit."""
    return bool(np.array_equal(_bits(a), _bits(b)))


def stepped(array: Array, steps: int) -> Array:
    """`array`, of a floating dtype, so many ULP upwards, at most to infinity; NaN stays NaN.

    No more steps are made than lead from 0 to infinity.
    """
    bits = array.view(f"i{array.itemsize}")
    least = np.iinfo(bits.dtype).min
    # Negative numbers in the order of their values, −0 in the place of 0.
    place = np.where(bits < 0, least - bits, bits)
    endless = int(np.array(np.inf).astype(array.dtype).view(bits.dtype))
    count = min(abs(steps), endless)
    if steps > 0:
        moved = np.where(place > endless - count, endless, place + count)
    else:
        moved = np.where(place < count - endless, -endless, place - count)
    back = np.where(moved < 0, least - moved, moved).astype(bits.dtype).view(array.dtype)
    return np.where(np.isnan(array), array, back)


def native(array: Array) -> Array:
    """`array` in the machine's byte order: itself if it is."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _common(a: Array, b: Array) -> DType:
    dtype = of(a)
    if dtype is None or dtype.kind != "float" or of(b) != dtype:
        raise ValueError(f"no ULP distance between {a.dtype} and {b.dtype}")
    if a.shape != b.shape:
        raise ValueError(f"no ULP distance between shapes {a.shape} and {b.shape}")
    return dtype


def _bits(array: Array) -> Bits:
    return native(array).view(np.dtype(f"u{array.dtype.itemsize}"))


def _ranked(array: Array) -> tuple[Bits, Bits]:
    """The bits without the sign, which put NaN above infinity, and the place among all values.

    Zero is in the middle of the unsigned range.
    """
    bits = _bits(array)
    zero = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    magnitude = np.asarray(bits & ~zero)
    return magnitude, np.where(bits >= zero, zero - magnitude, zero + magnitude)
