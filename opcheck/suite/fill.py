"""From a TensorSpec to its values: the same numbers on every machine, NumPy version and dtype.

Random fills read the raw bit stream of PCG64, which NumPy promises never to change, and use
nothing but additions, multiplications and comparisons on it, in float64, rounded once at the end.
"""

import tokenize
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.model import Array, Fill, FromFile, Given, TensorSpec

#: Uniform draws that add up to one normal one; their sum has variance 1 and mean 6.
_DRAWS = 12
#: Elements made at a time: the temporaries of a whole tensor would fill the memory.
_CHUNK = 1 << 16
_MAGIC = b"\x93NUMPY"
_ZIP = b"PK"
_OF_HEADERS = (SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError)


def materialize(spec: TensorSpec) -> Array:
    """The tensor of `spec.shape` and `spec.dtype`, C-contiguous and writable.

    Raises ValueError for values that the dtype cannot hold, and for ties in a permutation.
    """
    if isinstance(spec.content, FromFile):
        return _with_puts(spec, np.array(_from_file(spec), order="C"))
    values = unrounded(spec)
    stored = isinstance(spec.content, Given) and values.dtype == spec.dtype.numpy
    if spec.dtype.kind == "complex":
        with np.errstate(over="ignore"):
            return values.astype(spec.dtype.numpy)
    if spec.dtype.kind != "float" or stored:
        return values
    rounded = _rounded(spec, values)
    if isinstance(spec.content, Fill) and spec.content.kind == "permutation":
        ordered = rounded.astype(np.float64).reshape(-1)
        ordered.sort()
        different = min(rounded.size, 1) + np.count_nonzero(ordered[1:] != ordered[:-1])
        if different < rounded.size:
            message = (
                f"{spec.name}: a permutation of {rounded.size} has no ties, but in {spec.dtype}"
            )
            raise ValueError(f"{message} only {different} of its values differ")
    return rounded


def unrounded(spec: TensorSpec) -> Array:
    """The tensor's values as written: float64 for floating dtypes, else in the dtype itself."""
    match spec.content:
        case Given(values):
            return _with_puts(spec, values.copy())
        case FromFile():
            stored = _from_file(spec)
            return _with_puts(spec, stored.astype(unrounded_dtype(spec.dtype)))
        case Fill() as fill:
            size = int(np.prod(spec.shape, dtype=np.int64))
            values = _filled(fill, size, spec.dtype).reshape(spec.shape)
            as_made = spec.dtype.kind in ("float", "complex", "string")
            return _with_puts(spec, values if as_made else _rounded(spec, values))


def unrounded_dtype(dtype: DType) -> np.dtype[Any]:
    """The dtype of values as they are written, not yet rounded to `dtype`."""
    wide = {"float": np.float64, "complex": np.complex128}.get(dtype.kind)
    return np.dtype(wide) if wide else dtype.numpy


def _rounded(spec: TensorSpec, values: NDArray[np.float64]) -> Array:
    """`values` in the dtype of `spec`; raises ValueError where one becomes infinite."""
    rounded = np.empty(values.size, spec.dtype.numpy)
    flat = values.reshape(-1)
    for part in _parts(values.size):
        rounded[part] = dtypes.round_to(flat[part], spec.dtype)
        overflown = np.isinf(rounded[part].astype(np.float64)) & ~np.isinf(flat[part])
        if overflown.any():
            raise ValueError(f"{spec.name}: {flat[part][overflown][0]:g} overflows {spec.dtype}")
    return rounded.reshape(values.shape)


def _parts(size: int) -> Iterator[slice]:
    return (slice(start, min(start + _CHUNK, size)) for start in range(0, size, _CHUNK))


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


def _drawn(
    fill: Fill,
    size: int,
    made: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    draws: int = 1,
) -> NDArray[np.float64]:
    """`made` of `size` sums of `draws` numbers in [0, 1), multiples of 2^-53."""
    bits = np.random.PCG64(fill.seed)
    values = np.empty(size, np.float64)
    once = np.ones(draws, np.uint64)
    for part in _parts(size):
        raw = bits.random_raw((part.stop - part.start) * draws)
        raw >>= np.uint64(11)
        # Added as whole numbers, which is exact in any order.
        values[part] = made(raw.reshape(-1, draws) @ once * 2.0**-53)
    return values


def _filled(fill: Fill, size: int, dtype: DType) -> NDArray[Any]:
    args: tuple[Any, ...] = fill.args
    made = unrounded_dtype(dtype) if dtype.kind in ("complex", "string") else np.dtype(np.float64)
    match fill.kind, args:
        case "constant", (value,):
            return np.full(size, value, made)
        case "arange", (start, step):
            counted: NDArray[Any] = start + step * np.arange(size, dtype=np.float64)
            return counted.astype(made)
        case "uniform", (low, high):
            return _drawn(fill, size, lambda drawn: low + (high - low) * drawn)
        case "normal", (mean, deviation):
            return _drawn(fill, size, lambda sums: mean + deviation * (sums - _DRAWS / 2), _DRAWS)
        case "integers", (low, high):
            return _drawn(fill, size, lambda drawn: low + np.floor(drawn * (high - low + 1)))
        case "choice", args:
            places = _drawn(fill, size, lambda drawn: np.floor(drawn * len(args)))
            return np.array(args, made)[places.astype(np.intp)]
        case "permutation", (start, step):
            order = np.argsort(np.random.PCG64(fill.seed).random_raw(size), kind="stable")
            values = order.astype(np.float64)
            values *= step
            values += start
            return values
        case "specials", ():
            return np.resize(np.array(specials(dtype), np.float64), size)
    raise AssertionError(fill.kind)


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


def load_npy(path: Path) -> NDArray[Any]:
    """The array in a .npy file, mapped read-only; raises ValueError with what it is instead."""
    try:
        # A pipe would never end.
        if not path.is_file():
            raise ValueError("is no file")
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
        if start != _MAGIC:
            raise ValueError(f"is {'an archive' if start.startswith(_ZIP) else 'no .npy file'}")
        # Files of Python 2 take longer to read, which is no concern of ours.
        with warnings.catch_warnings(action="ignore"):
            try:
                array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            # The header is a Python expression, and NumPy lets out whatever its parsing raises.
            except (*_OF_HEADERS, ValueError, EOFError, OverflowError) as error:
                raise ValueError("is a damaged .npy file, or holds Python objects") from error
        return array
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
