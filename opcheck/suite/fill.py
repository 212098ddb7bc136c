"""From a TensorSpec to its values: the same numbers on every machine, NumPy version and dtype.

Random fills read the raw bit stream of PCG64, which NumPy promises never to change, and use
nothing but additions, multiplications and comparisons on it, in float64, rounded once at the end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.model import Array, Fill, FromFile, Given, TensorSpec
from opcheck.suite.npy import load_npy

#: Uniform draws that add up to one normal one; their sum has variance 1 and mean 6.
_DRAWS = 12
_CHUNK = 1 << 16


def materialize(spec: TensorSpec) -> Array:
    """The tensor: `spec.shape`, `spec.dtype`, C-contiguous and writable.

    Raises ValueError where the rule makes values that the dtype cannot hold, or a permutation
    would get ties.
    """
    if isinstance(spec.content, FromFile):
        return _with_puts(spec, np.array(_from_file(spec), order="C"))
    values = unrounded(spec)
    if spec.dtype.kind != "float":
        return values
    rounded = dtypes.round_to(values, spec.dtype)
    overflown = np.isinf(rounded.astype(np.float64)) & ~np.isinf(values)
    if overflown.any():
        raise ValueError(f"{spec.name}: {values[overflown].flat[0]:g} overflows {spec.dtype}")
    if isinstance(spec.content, Fill) and spec.content.kind == "permutation":
        _check_distinct(spec, rounded)
    return rounded


def unrounded(spec: TensorSpec) -> Array:
    """The tensor's values as written: float64 for floating dtypes, else in the dtype itself."""
    match spec.content:
        case Given(values):
            return _with_puts(spec, values.copy())
        case FromFile():
            stored = _from_file(spec)
            kind = np.dtype(np.float64) if spec.dtype.kind == "float" else stored.dtype
            return _with_puts(spec, stored.astype(kind))
        case Fill() as fill:
            size = int(np.prod(spec.shape, dtype=np.int64))
            values = _FILLS[fill.kind](fill, size, spec.dtype).reshape(spec.shape)
            exact = values if spec.dtype.kind == "float" else dtypes.round_to(values, spec.dtype)
            return _with_puts(spec, exact)


def _with_puts(spec: TensorSpec, values: Array) -> Array:
    for put in spec.put:
        values[put.at] = put.value
    return values


def _from_file(spec: TensorSpec) -> Array:
    assert isinstance(spec.content, FromFile)
    stored = load_npy(spec.content.path)
    if stored.dtype.kind == "V":
        return np.asarray(stored).view(spec.dtype.numpy)
    return np.asarray(stored).astype(spec.dtype.numpy)


def _uniform01(seed: int, count: int) -> NDArray[np.float64]:
    """`count` numbers in [0, 1), multiples of 2^-53."""
    raw: NDArray[np.uint64] = np.random.PCG64(seed).random_raw(count)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _constant(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    return np.full(size, fill.args[0], np.float64)


def _arange(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    start, step = fill.args
    return start + step * np.arange(size, dtype=np.float64)


def _uniform(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    low, high = fill.args
    return low + (high - low) * _uniform01(fill.seed, size)


def _normal(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    mean, deviation = fill.args
    bits = np.random.PCG64(fill.seed)
    sums = np.empty(size, np.float64)
    for start in range(0, size, _CHUNK):
        part = sums[start : start + _CHUNK]
        raw = bits.random_raw(part.size * _DRAWS).reshape(part.size, _DRAWS)
        # Added as whole numbers, which is exact in any order.
        part[:] = (raw >> np.uint64(11)).sum(axis=1, dtype=np.uint64) * 2.0**-53
    return mean + deviation * (sums - _DRAWS / 2)


def _integers(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    low, high = fill.args
    return low + np.floor(_uniform01(fill.seed, size) * (high - low + 1))


def _choice(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    place = np.floor(_uniform01(fill.seed, size) * len(fill.args)).astype(np.intp)
    return np.array(fill.args, np.float64)[place]


def _permutation(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    start, step = fill.args
    order = np.argsort(np.random.PCG64(fill.seed).random_raw(size), kind="stable")
    return start + step * order.astype(np.float64)


def _specials(fill: Fill, size: int, dtype: DType) -> NDArray[np.float64]:
    return np.resize(np.array(specials(dtype), np.float64), size)


def specials(dtype: DType) -> list[float]:
    """The values that break implementations, in the order in which `specials` repeats them."""
    low, high = dtypes.limits(dtype)
    if dtype.kind == "float":
        normal = 2.0 ** (dtype.min_exponent + dtype.precision - 1)
        magnitudes = [0.0, 1.0, 2.0**dtype.min_exponent, normal, high, np.inf]
        return [*(signed for value in magnitudes for signed in (value, -value)), np.nan]
    # 64-bit limits are not exact in float64; 2^53 is the largest that surely is.
    low, high = max(low, -(2.0**53)), min(high, 2.0**53)
    return [0.0, 1.0, *([-1.0, low] if low else []), *([high] if high > 1 else [])]


def _check_distinct(spec: TensorSpec, values: Array) -> None:
    different = np.unique(values.astype(np.float64)).size
    if different < values.size:
        raise ValueError(
            f"{spec.name}: a permutation of {values.size} has no ties, but in {spec.dtype} only "
            f"{different} of its values differ"
        )


_FILLS: dict[str, Callable[[Fill, int, DType], NDArray[np.float64]]] = {
    "constant": _constant,
    "arange": _arange,
    "uniform": _uniform,
    "normal": _normal,
    "integers": _integers,
    "choice": _choice,
    "permutation": _permutation,
    "specials": _specials,
}
