"""From a tensor as a case file writes it to a TensorSpec, from that to its values, and back.

Values are the same on every machine, NumPy version and dtype: random fills read the raw bit stream
of PCG64, which NumPy promises never to change, and use nothing but additions, multiplications and
comparisons on it, in float64, rounded once at the end. Nothing but literals is allocated before.
"""

import math
import re
import tokenize
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes
from opcheck.dtypes import DTYPES, DType
from opcheck.engine.axes import slices
from opcheck.model import Array, Case, Fill, FromFile, Given, Put, TensorSpec
from opcheck.reading import FileNode, Mark, Unreadable, quoted
from opcheck.reading.validation import shown
from opcheck.suite.fields import CONTENTS, FILLS, ROUND_IT, TensorFields

Floats: TypeAlias = NDArray[np.float64]
#: Uniform draws that add up to one normal one; their sum has variance 1 and mean 6.
_DRAWS = 12
#: Up to here float64, in which fills compute, has all whole numbers.
_LARGEST_EXACT = 2.0**53
#: The kinds of types whose values are written as others, to be rounded.
_UNROUNDED = {"float": np.float64, "minifloat": np.float64, "complex": np.complex128}
#: Elements made at a time: the temporaries of a whole tensor would fill the memory.
_CHUNK = 1 << 16
_STATE = "state dtype for the case"
_MAGIC = b"\x93NUMPY"
_OF_HEADERS = (SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError)
#: No tensor of a case, nor all of them together, may hold more: case files may come from strangers.
MAX_ELEMENTS = 1 << 26
MAX_BYTES = 1 << 28
#: Of level huge, whose tensors of fills are never made as a whole.
MAX_HUGE_BYTES = 1 << 33
#: The fills of which a tensor of level huge may be.
HUGE_FILLS = ("constant", "cycle")


def materialize(spec: TensorSpec) -> Array:
    """Return the tensor in its dtype, C-contiguous, writable, of the caller's own.

    Files are read. Raises ValueError for a finite value that overflows the dtype, for a permutation
    whose values rounding makes equal, for a file that cannot be read, and for a tensor of level
    huge.
    """
    if isinstance(spec.content, Fill) and excess(math.prod(spec.shape), spec.nbytes):
        raise ValueError(f"{spec.name} is of level huge: only `opcheck run` judges it")
    if isinstance(spec.content, FromFile):
        return _with_puts(spec, np.array(_read(spec.content.path, spec.dtype), order="C"))
    values = unrounded(spec)
    is_stored = isinstance(spec.content, Given) and values.dtype == spec.dtype.numpy
    if spec.dtype.kind == "complex":
        with np.errstate(over="ignore"):
            return values.astype(spec.dtype.numpy)
    if spec.dtype.kind not in ("float", "minifloat") or is_stored:
        return values
    rounded = _rounded(spec, values)
    if isinstance(spec.content, Fill) and spec.content.kind == "permutation":
        _check_no_ties(spec, rounded)
    return rounded


def _check_no_ties(spec: TensorSpec, values: Array) -> None:
    """Raise ValueError for a permutation of which rounding made some values equal."""
    ordered = values.astype(np.float64).reshape(-1)
    ordered.sort()
    different = min(values.size, 1) + np.count_nonzero(ordered[1:] != ordered[:-1])
    if different < values.size:
        many = f"a permutation of {values.size} has no ties"
        few = f"in {spec.dtype} only {different} of its values differ"
        raise ValueError(f"{spec.name}: {many}, but {few}")


def values_at(spec: TensorSpec) -> Callable[[NDArray[np.int64]], Array]:
    """Return a function of row-major positions that returns the tensor's values there.

    A tensor that an ordinary case may have is made at once. Of a larger one, which is of a fill of
    `HUGE_FILLS`, each call makes the values asked for, in an array of the caller's own. Raises
    what `materialize` raises.
    """
    fill = spec.content
    is_made = excess(math.prod(spec.shape), spec.nbytes) is None
    if is_made or not isinstance(fill, Fill) or fill.kind not in HUGE_FILLS:
        whole = materialize(spec).reshape(-1)

        def taken(positions: NDArray[np.int64]) -> Array:
            return np.array(whole[positions])

        return taken
    dtype = spec.dtype.numpy
    ends: tuple[Any, ...] = fill.args
    places = [(_position(put.at, spec.shape), put.value) for put in spec.put]

    def made(positions: NDArray[np.int64]) -> Array:
        values: Array = np.full(positions.shape, ends[0], dtype)
        if fill.kind == "cycle":
            low, high = map(int, ends)
            values[...] = positions % (high - low + 1) + low
        for place, value in places:
            values[positions == place] = value
        return values

    return made


def _position(index: Sequence[int], shape: Sequence[int]) -> int:
    """Return the row-major position of an element."""
    position = 0
    for along_axis, size in zip(index, shape, strict=True):
        position = position * size + along_axis
    return position


def unrounded(spec: TensorSpec) -> Array:
    """Return the tensor's values as written: float64 for floating dtypes, else in its dtype.

    Complex numbers are complex128. The array is the caller's own. Raises ValueError for a fill that
    an integer dtype does not hold, and for a file that cannot be read.
    """
    match spec.content:
        case Given(values):
            return _with_puts(spec, values.copy())
        case FromFile(path):
            return _with_puts(spec, _read(path, spec.dtype).astype(unrounded_dtype(spec.dtype)))
        case Fill() as fill:
            values = _made(fill, math.prod(spec.shape), spec.dtype).reshape(spec.shape)
            as_made = spec.dtype.kind == "string" or spec.dtype.kind in _UNROUNDED
            is_exact = values.dtype == spec.dtype.numpy
            return _with_puts(spec, values if as_made or is_exact else _rounded(spec, values))


def unrounded_dtype(dtype: DType) -> np.dtype[Any]:
    """Return the dtype of values as they are written, not yet rounded to `dtype`."""
    wide = _UNROUNDED.get(dtype.kind)
    return np.dtype(wide) if wide else dtype.numpy


def _rounded(spec: TensorSpec, values: Floats) -> Array:
    """Return `values` in the dtype of `spec`, of which each is rounded once.

    Raises ValueError where a finite one becomes infinite, or an integer dtype does not hold one.
    """
    rounded = np.empty(values.size, spec.dtype.numpy)
    flat = values.reshape(-1)
    for part in slices(values.size, _CHUNK):
        rounded[part] = dtypes.round_to(flat[part], spec.dtype)
        overflown = np.isinf(rounded[part].astype(np.float64)) & ~np.isinf(flat[part])
        if spec.dtype.kind == "minifloat":
            overflown = _not_held(flat[part], spec.dtype)
        if overflown.any():
            raise ValueError(f"{spec.name}: {flat[part][overflown][0]:g} overflows {spec.dtype}")
    return rounded.reshape(values.shape)


def _not_held(values: Floats, dtype: DType) -> NDArray[np.bool_]:
    """Mask the `values`, of rank 1, that a minifloat `dtype` does not hold."""
    least, greatest = dtypes.limits(dtype)
    not_held = ~((least <= values) & (values <= greatest))
    # Few are beyond its finite numbers: infinities and NaN, which some types have.
    not_held[not_held] = [not dtypes.holds(dtype, one) for one in values[not_held].tolist()]
    return not_held


def _with_puts(spec: TensorSpec, values: Array) -> Array:
    """Return `values`, changed in place, with the elements that are overwritten."""
    for put in spec.put:
        values[put.at] = put.value
    return values


def _read(path: Path, dtype: DType) -> Array:
    """Return the array in a file in this dtype; .npy stores types it has no name for as void.

    Raises ValueError if the file cannot be read. The array may be mapped and read-only.
    """
    stored = np.asarray(load_npy(path))
    return stored.view(dtype.numpy) if stored.dtype.kind == "V" else stored.astype(dtype.numpy)


def _drawn(fill: Fill, size: int, transform: Callable[[Floats], Floats], draws: int = 1) -> Floats:
    """Return `transform` of `size` sums of `draws` numbers in [0, 1), multiples of 2^-53.

    The seed of the fill decides all.
    """
    bits = np.random.PCG64(fill.seed)
    values = np.empty(size, np.float64)
    once = np.ones(draws, np.uint64)
    for part in slices(size, _CHUNK):
        raw = bits.random_raw((part.stop - part.start) * draws)
        raw >>= np.uint64(11)
        # Added as whole numbers, which is exact in any order.
        values[part] = transform(raw.reshape(-1, draws) @ once * 2.0**-53)
    return values


def _uniform(low: float, high: float, drawn: Floats) -> Floats:
    """Return numbers in [0, 1) turned into numbers in [low, high)."""
    return low + (high - low) * drawn


def _normal(mean: float, deviation: float, sums: Floats) -> Floats:
    """Return sums of `_DRAWS` numbers in [0, 1) turned into about normally distributed ones."""
    return mean + deviation * (sums - _DRAWS / 2)


def _integers(low: int, high: int, drawn: Floats) -> Floats:
    """Return numbers in [0, 1) turned into whole numbers from `low` to `high`, both included."""
    return low + np.floor(drawn * (high - low + 1))


def _made(fill: Fill, size: int, dtype: DType) -> NDArray[Any]:
    """Return `size` values of a fill, in float64 unless they are complex numbers or texts.

    A choice of whole numbers is in the dtype.
    The fill was checked before, so that its kind and arguments are right.
    """
    args: tuple[Any, ...] = fill.args
    has_own_type = dtype.kind in ("complex", "string")
    made_dtype = unrounded_dtype(dtype) if has_own_type else np.dtype(np.float64)
    match fill.kind, args:
        case "constant", (value,):
            return np.full(size, value, made_dtype)
        case "arange", (start, step):
            counted: NDArray[Any] = start + step * np.arange(size, dtype=np.float64)
            return counted.astype(made_dtype)
        case "uniform", (low, high):
            return _drawn(fill, size, partial(_uniform, low, high))
        case "normal", (mean, deviation):
            return _drawn(fill, size, partial(_normal, mean, deviation), _DRAWS)
        case "integers", (low, high):
            return _drawn(fill, size, partial(_integers, low, high))
        case "cycle", (low, high):
            cycled: NDArray[Any] = np.arange(size, dtype=np.float64) % (high - low + 1) + low
            return cycled
        case "choice", args:
            places = _drawn(fill, size, partial(_integers, 0, len(args) - 1)).astype(np.intp)
            if dtype.kind == "int":
                return np.array([*map(int, args)], dtype.numpy)[places]
            return np.array(args, made_dtype)[places]
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
    """Return the values that break implementations, in the order `specials` repeats them.

    Of floats: zeros, ones, the smallest subnormal and normal numbers, the largest, infinities, of
    both signs, and NaN, as far as the dtype has them. Of integers: 0, 1, -1 and the limits, up to
    2^53.
    """
    low, high = dtypes.limits(dtype)
    if dtype.kind in ("float", "minifloat"):
        magnitudes = [0.0, 1.0, 2.0**dtype.min_exponent, dtype.smallest_normal, high, np.inf]
        values = [*(signed for value in magnitudes for signed in (value, -value)), np.nan]
        return [value for value in values if dtypes.holds(dtype, value)]
    # 64-bit limits are not exact in float64; 2^53 is the largest that surely is.
    low = max(low, -_LARGEST_EXACT)
    high = min(high, _LARGEST_EXACT)
    values = [0.0, 1.0]
    if low:
        values += [-1.0, low]
    if high > 1:
        values.append(high)
    return values


def load_npy(path: Path) -> NDArray[Any]:
    """Return the array in a .npy file, mapped read-only, or a .pb file of ONNX.

    Raises ValueError for any other file, one that cannot be read or is damaged, and one with Python
    objects.
    """
    if path.suffix == ".pb":  # which has more types
        from opcheck.graph import folders

        return folders.read_tensor(path)
    try:
        # A pipe would never end.
        if not path.is_file():
            raise ValueError("is not a file")
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
        if start.startswith(b"PK"):
            raise ValueError("is an archive")
        if start != _MAGIC:
            raise ValueError("is not a .npy file")
        # Files of Python 2 take longer to read, which does not matter here.
        with warnings.catch_warnings(action="ignore"):
            try:
                array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            # The header is a Python expression, and NumPy lets out whatever its parsing raises.
            except (*_OF_HEADERS, ValueError, EOFError, OverflowError) as error:
                raise ValueError("is a damaged .npy file, or holds Python objects") from error
        if isinstance(array, np.memmap) and path.stat().st_size > array.offset + array.nbytes:
            raise ValueError("has more bytes after its array")
        return array
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error


class InvalidTensor(Unreadable):
    """A tensor is malformed."""


class Lacking(InvalidTensor):
    """Something is missing that the case may state elsewhere."""


def excess(elements: int, nbytes: int, *, is_huge: bool = False) -> str | None:
    """Return why a tensor, or a whole case, of this size is too large; None if it is not.

    is_huge: it is of level huge.
    """
    if is_huge:
        most = MAX_HUGE_BYTES >> 30
        return f"more than {most} GiB" if nbytes > MAX_HUGE_BYTES else None
    if elements > MAX_ELEMENTS:
        return f"more than {MAX_ELEMENTS:,} elements"
    if nbytes > MAX_BYTES:
        return f"more than {MAX_BYTES >> 20} MiB"
    return None


@lru_cache(1024)  # Cases of many versions share a tensor.
def read_tensor(
    name: str,
    node: FileNode,
    fields: TensorFields | None,
    dtype: DType | None,
    folder: Path,
    *,
    is_huge: bool = False,
) -> TensorSpec:
    """Return the tensor `name`, by default of `dtype`, or a literal at `node`.

    `fields` of None is a literal; `folder` is that of the case file. A dtype in `fields` goes
    before `dtype`. `is_huge`: of level huge. It is cached.

    Raises InvalidTensor, with the place, for contents of two kinds, a shape or seed without a fill,
    a value that the dtype does not hold, a ragged list, a fill that cannot be made or is too large,
    and a file that is missing, outside of the folder or of another dtype. Raises Lacking, which is
    one of these, where the contents, a shape or the dtype are missing.
    """
    if fields is None:
        return _literal(name, node, dtype)
    if fields.dtype is not None:
        dtype = DTYPES[fields.dtype]
    contents = [key for key in CONTENTS if getattr(fields, key) is not None]
    one_of = f"exactly one of {', '.join(CONTENTS)}"
    if not contents:
        raise Lacking(node.mark, f"{name}: its values are given nowhere", one_of)
    if len(contents) > 1:
        message = f"{name}: its values are given by {' and '.join(contents)}"
        raise InvalidTensor(node.mark, message, one_of)
    content = contents[0]
    for key in ("shape", "seed"):
        if getattr(fields, key) is not None and content not in FILLS:
            raise InvalidTensor(node.at([key], key=True), f"{name}: {key} goes with a fill only")
    if content == "value":
        spec = _literal(name, node.entries["value"], dtype)
    elif content == "file":
        spec = _from_file(name, node, str(fields.file), dtype, folder)
    else:
        spec = _filled(name, node, fields, content, dtype, is_huge=is_huge)
    if fields.put or fields.initializer:
        spec = replace(spec, put=_puts(spec, node, fields), initializer=bool(fields.initializer))
    return spec


def inside(folder: Path, path: str, mark: Mark) -> Path:
    """Return `path` in `folder`, which is there, without links.

    Raises InvalidTensor, at `mark`, if it is missing or leads outside, by a link or otherwise.
    """
    no_path = InvalidTensor(mark, f"{quoted(path)} is not the path of a file")
    try:
        resolved = (folder / path).resolve()
        is_inside = resolved.is_relative_to(folder.resolve())
        exists = is_inside and resolved.exists()
    except (OSError, RuntimeError, ValueError):
        raise no_path from None
    # From Python 3.13 on, links that lead to each other end in one of them.
    if resolved.is_symlink():
        raise no_path
    if not is_inside:
        raise InvalidTensor(mark, f"{quoted(path)} lies outside the folder of the case file")
    if not exists:
        raise InvalidTensor(mark, f"{quoted(path)} does not exist")
    return resolved


def _puts(spec: TensorSpec, node: FileNode, fields: TensorFields) -> tuple[Put, ...]:
    """Return the elements that are overwritten after the fill.

    Raises InvalidTensor for an index that the shape does not have, and a value that the dtype does
    not hold, or that no float64 is, where the dtype is not of whole numbers.
    """
    puts = []
    for number, put in enumerate(fields.put or ()):
        has_rank = len(put.at) == len(spec.shape)
        if not has_rank or not all(0 <= i < n for i, n in zip(put.at, spec.shape, strict=True)):
            message = f"put: [{_spelt(put.at)}] is not an index of shape [{_spelt(spec.shape)}]"
            raise InvalidTensor(node.at(["put", number, "at"]), message)
        mark = node.at(["put", number, "value"])
        value = _held(spec.name, spec.dtype, put.value, mark)
        _check_exact("put", value, spec.dtype, mark)
        puts.append(Put(tuple(put.at), value))
    return tuple(puts)


def _filled(
    name: str,
    node: FileNode,
    fields: TensorFields,
    kind: str,
    dtype: DType | None,
    *,
    is_huge: bool,
) -> TensorSpec:
    """Return the tensor that a fill makes; nothing is made yet.

    `kind` is the fill's key. `is_huge`: of level huge, where some fills may be larger. Raises
    Lacking for a missing shape or dtype, InvalidTensor for a tensor that is too large, and for
    arguments that are wrong or that the dtype does not hold.
    """
    if fields.shape is None:
        raise Lacking(node.mark, f"{name}: {kind} needs a shape")
    if dtype is None:
        raise Lacking(node.mark, f"{name}: its dtype is not stated", _STATE)
    args = _fill_arguments(name, node, kind, getattr(fields, kind), dtype)
    spec = TensorSpec(name, dtype, tuple(fields.shape), Fill(kind, args, fields.seed or 0))
    # As if no dimension were 0: NumPy has the same limit for empty arrays.
    elements = math.prod(n or 1 for n in spec.shape)
    longest_text = max((len(arg.encode()) for arg in args if isinstance(arg, str)), default=0)
    nbytes = elements * max(dtype.numpy.itemsize, longest_text)
    too_much = excess(elements, nbytes, is_huge=is_huge and kind in HUGE_FILLS)
    if too_much:
        message = f"{name}: shape [{_spelt(spec.shape)}] needs {too_much}"
        raise InvalidTensor(node.at(["shape"]), message)
    wrong = _wrong_fill(kind, args, dtype, math.prod(spec.shape))
    if wrong:
        raise InvalidTensor(node.at([kind]), f"{name}: {kind} {wrong}")
    return spec


def _fill_arguments(
    name: str, node: FileNode, kind: str, value: Any, dtype: DType
) -> tuple[Any, ...]:
    """Return the arguments of a fill, values of the tensor as `dtype` holds them.

    Raises InvalidTensor for those of constant and choice that it does not hold. A false of
    `specials` remains, and is wrong.
    """
    if value is True:  # `specials` has no arguments
        return ()
    args = tuple(value) if isinstance(value, list) else (value,)
    if kind not in ("constant", "choice", "arange"):
        return args
    if dtype.kind == "string":  # a number stands for its text
        args = tuple(arg if isinstance(arg, str) else f"{arg:g}" for arg in args)
    # An arange of one value makes no use of the step, nor one of none of the start.
    is_checked = kind != "arange"
    held = []
    for number, arg in enumerate(args):
        mark = node.at([kind, number])
        held.append(_held(name, dtype, arg, mark, is_checked=is_checked))
        _check_exact(kind, arg, dtype, mark)
    return tuple(held)


def _check_exact(key: str, value: object, dtype: DType, mark: Mark) -> None:
    """Raise InvalidTensor for a whole number that no float64 is, unless `dtype` is of them."""
    if isinstance(value, int) and dtype.kind != "int":
        raise InvalidTensor(mark, f"{key}: {shown(value)} has no exact float64", ROUND_IT)


def _wrong_fill(kind: str, args: tuple[Any, ...], dtype: DType, size: int) -> str | None:
    """Return why a fill cannot make `size` values of `dtype`, None if it can."""
    if dtype.kind == "string":
        return _not_made(kind, dtype, ("constant", "choice"))
    if dtype.kind == "complex":
        return _not_made(kind, dtype, ("constant", "choice", "arange"))
    if kind == "specials":
        return "must be true, or another fill be written" if args else None
    if kind in ("constant", "choice"):
        return None
    wrong = _wrong_arguments(kind, args, dtype)
    if wrong:
        return wrong
    low, high = dtypes.limits(dtype)
    for end in _ends(kind, args, size):
        if not low <= end <= high:
            return f"reaches {end:g}, which {dtype} does not hold"
    return None


def _not_made(kind: str, dtype: DType, makes: Sequence[str]) -> str | None:
    """Return why a fill makes no texts or complex numbers, None for one that `makes` them."""
    if kind in makes:
        return None
    return f"makes no {dtype}; those that do: {', '.join(makes)}"


def _wrong_arguments(kind: str, args: tuple[Any, ...], dtype: DType) -> str | None:
    """Return why the arguments of a fill with numbers are not right, whatever its size.

    None if they are.
    """
    is_real = dtype.kind in ("float", "minifloat")
    if kind in ("uniform", "normal") and not is_real:
        return f"makes real numbers, and {dtype} holds none"
    got = f"got {' and '.join(map(shown, args))}"
    if not all(map(math.isfinite, args)):
        return f"takes finite numbers, {got}"
    are_whole = all(arg.is_integer() and abs(arg) <= _LARGEST_EXACT for arg in args)
    if not are_whole and (kind in ("integers", "cycle") or not is_real):
        return f"takes whole numbers up to 2^53, {got}"
    first, second = args
    if kind in ("uniform", "integers", "cycle") and first > second:
        return f"must be [low, high], {got}"
    if kind == "uniform" and not math.isfinite(second - first):
        return f"spans more than {dtype} holds"
    if kind == "normal" and second < 0:
        return f"takes a standard deviation of 0 or more, got {shown(second)}"
    return None


def _ends(kind: str, args: tuple[Any, ...], size: int) -> tuple[float, float]:
    """Return the first and the last value that a fill with two numbers can reach."""
    first, second = args
    if kind in ("arange", "permutation"):
        return first, first + second * max(size - 1, 0)
    if kind == "normal":
        # A sum of so many draws reaches half as many deviations.
        return first - _DRAWS / 2 * second, first + _DRAWS / 2 * second
    return first, second


def _from_file(name: str, node: FileNode, path: str, dtype: DType | None, base: Path) -> TensorSpec:
    """Return the tensor in a file; its values are not read yet.

    Raises InvalidTensor for a file that is missing, outside of `base`, damaged or too large, of a
    type that no case has, and of another than `dtype`, if that is not None.
    """
    mark = node.at(["file"])
    file = inside(base, path, mark)
    try:
        array = load_npy(file)
    except ValueError as error:
        why = str(error).removeprefix(f"{file.name} ")
        raise InvalidTensor(mark, f"{quoted(path)} {why}") from error
    stored = dtypes.of(array)
    if dtype and dtype.numpy.isbuiltin == 2 and array.dtype.str == f"|V{dtype.bits / 8:g}":
        # .npy has no name for such a type and stores its bytes as void.
        stored = dtype
    if stored is None:
        holds = shown(str(array.dtype))
        raise InvalidTensor(mark, f"{quoted(path)} holds {holds}, which no case can use")
    if dtype is not None and stored is not dtype:
        hint = f"state dtype: {stored} beside it if that is meant"
        raise InvalidTensor(mark, f"{quoted(path)} holds {stored}, not {dtype}", hint)
    too_much = excess(array.size, array.nbytes)
    if too_much:
        raise InvalidTensor(mark, f"{quoted(path)} holds {too_much}")
    return TensorSpec(name, stored, array.shape, FromFile(file))


def _literal(name: str, node: FileNode, dtype: DType | None) -> TensorSpec:
    """Return the tensor that a number, a text or nested lists of them state.

    Raises InvalidTensor for a ragged list and a value that the dtype does not hold; Lacking for a
    `dtype` of None.
    """
    values: list[Any] = []
    shape = _walk(name, node, dtype, values)
    if dtype is None:
        raise Lacking(node.mark, f"{name}: its dtype is not stated", _STATE)
    # Floats stay in float64: they are rounded once, when the case's data is made.
    array = np.array(values, unrounded_dtype(dtype)).reshape(shape)
    return TensorSpec(name, dtype, shape, Given(array))


def _walk(name: str, node: FileNode, dtype: DType | None, values: list[Any]) -> tuple[int, ...]:
    """Return the shape below `node`; its scalars are added to `values`, if the dtype is known.

    None is added for each if it is not. Raises InvalidTensor for a ragged list, and a scalar that
    the dtype does not hold.
    """
    if not isinstance(node.value, tuple):
        values.append(dtype and _scalar(name, node, dtype))
        return ()
    shapes = [_walk(name, item, dtype, values) for item in node.value]
    for item, shape in zip(node.value, shapes, strict=True):
        if shape != shapes[0]:
            both = f"{_extent(shapes[0])} and {_extent(shape)}"
            raise InvalidTensor(item.mark, f"{name}: ragged list: rows have shapes {both}")
    return (len(shapes), *(shapes[0] if shapes else ()))


def _scalar(name: str, node: FileNode, dtype: DType) -> Any:
    """Return the scalar at `node` as `dtype` holds it, not rounded.

    Raises InvalidTensor for one of another kind, or out of range. Integers take no floats, numbers
    no truth values, and booleans nothing else.
    """
    value = node.value
    if dtype.kind in ("string", "complex"):
        return _held(name, dtype, value, node.mark)
    numbers = (int, float) if dtype.kind in _UNROUNDED else (int,)
    # To Python a truth value is a whole number.
    if not isinstance(value, numbers) or isinstance(value, bool) != (dtype.kind == "bool"):
        message = f"{name}: {shown(node.plain())} is not a value of {dtype}"
        raise InvalidTensor(node.mark, message, _hint_for_word(str(value).lower().lstrip("+-")))
    _check_held(dtype, value, node.mark)
    return value


def _hint_for_word(word: str) -> str | None:
    """Return how to write what a word in place of a number may mean; None for other words."""
    if word in ("inf", "infinity", "nan"):
        return "write .inf, -.inf or .nan"
    if word in ("random", "rand", "randn", "normal", "uniform"):
        return "write {shape: [2, 3], normal: [0, 1]}, or uniform: [0, 1]"
    return None


def _held(name: str, dtype: DType, value: Any, mark: Mark, *, is_checked: bool = True) -> Any:
    """Return a value as `dtype` holds it, not rounded.

    Raises InvalidTensor for one of another kind. Real numbers outside its range raise it if that
    `is_checked`, complex ones always.
    """
    hint = None
    if dtype.kind == "string":
        if isinstance(value, str):
            return value
        hint = "quote what is meant as text"
    elif dtype.kind == "complex":
        number = _complex(value)
        if number is not None:
            _check_held(dtypes.PARTS[dtype.name], number.real, mark)
            _check_held(dtypes.PARTS[dtype.name], number.imag, mark)
            return number
        hint = "write a number, or a text such as 1+2j, nan+0j or -infj"
    elif isinstance(value, int | float):
        if is_checked:
            _check_held(dtype, value, mark)
        return value
    raise InvalidTensor(mark, f"{name}: {shown(value)} is not a value of {dtype}", hint)


def _complex(value: Any) -> complex | None:
    """Return a number, or a text such as 1+2j, as a complex number; None for anything else."""
    is_text = isinstance(value, str) and re.fullmatch(r"[-+.0-9a-z]+", value)
    if not is_text and type(value) not in (int, float):
        return None
    try:
        return complex(value)
    except (ValueError, OverflowError):
        return None


def _check_held(dtype: DType, value: float, mark: Mark) -> None:
    """Raise InvalidTensor for a value that `dtype` cannot hold, but for rounding to a float."""
    if dtypes.holds(dtype, value):
        return
    low, high = dtypes.limits(dtype)
    if dtype.kind == "int":
        ends = f"whole numbers from {low} to {high}"
    else:
        ends = f"{low:.8g} to {high:.8g}"
    raise InvalidTensor(mark, f"{shown(value)} is outside {dtype}, which holds {ends}")


def _extent(shape: tuple[int, ...]) -> str:
    """Return a shape as messages have it."""
    return f"[{_spelt(shape)}]" if shape else "[] (a number)"


def _spelt(numbers: Iterable[int]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(map(shown, numbers))


#: How a tensor is written in a case file.
Contents: TypeAlias = Callable[[TensorSpec], Mapping[str, Any]]
#: The most elements of a tensor that is written out.
_FEW = 64
#: The most elements of a tensor whose integers are kept in a file.
_MANY = 1 << 20


def case_file(cases: Sequence[Case], contents: Contents, notes: Sequence[str] = ()) -> str:
    """Return a case file of cases of one operator and opset, one at least.

    `contents` returns how a tensor is written; `notes` are comments on the cases, in their order.
    """
    first = cases[0]
    lines = [f"op: {first.op.name}"]
    if first.op.domain:
        lines.append(f"domain: {first.op.domain}")
    lines += [f"opset: {first.opset}", "cases:"]
    for number, case in enumerate(cases):
        lines += [f"# {note}" for note in notes[number : number + 1]]
        lines += _case_lines(case, contents)
    return "\n".join(lines) + "\n"


def _case_lines(case: Case, contents: Contents) -> list[str]:
    """Return the lines of an entry of `cases`, whose outputs the engine computes."""
    lines = [f"- name: {name_of(case.name)}"]
    if case.empty:
        lines.append(f"  empty: {_flow(case.empty)}")
    if case.attrs:
        attrs = {name: _attribute(value) for name, value in case.attrs.items()}
        lines.append(f"  attrs: {_flow(attrs)}")
    inputs = {}
    for spec in case.inputs:
        inputs[spec.name] = {**contents(spec), "dtype": spec.dtype.name}
        if spec.initializer:
            inputs[spec.name]["initializer"] = True
    if inputs:
        lines.append(f"  inputs: {_flow(inputs)}")
    lines.append(f"  expect: {_flow({'computed': [output.name for output in case.outputs]})}")
    return lines


def name_of(text: str) -> str:
    """Return a name that a case file may use: lower case, from a letter on."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return word if word[:1].isalpha() else f"node_{word}".rstrip("_")


def made_up(spec: TensorSpec) -> Mapping[str, Any]:
    """Return the tensor's values if there are few, or else numbers of its range made up by rule.

    It is a mapping as case files have it: a value, a shape and a fill, or, of texts, complex
    numbers and what may be indices, the name of a file, which is not written here. `spec` holds its
    values.
    """
    assert isinstance(spec.content, Given)
    values: Array = spec.content.values
    if _is_written_out(spec, values):
        return {"value": _plain(values)}
    # What no rule makes is in a file, named by what is in it. Indices may be of these types: others
    # would be out of range, unsorted or the same twice.
    may_be_indices = spec.dtype.name in ("int32", "int64") and _FEW < values.size <= _MANY
    if may_be_indices or spec.dtype.kind in ("string", "complex"):
        return {"file": f"{spec.name}_{sha256(dtypes.content(values)).hexdigest()[:16]}.pb"}
    return {"shape": [*spec.shape], **_fill_of_range(spec.dtype, values)}


def _is_written_out(spec: TensorSpec, values: Array) -> bool:
    """Return True for few values, unless they are those of a matrix of floats that is fed."""
    if not 0 < values.size <= _FEW or spec.dtype.kind == "complex":
        return False
    # Short lists, such as the scales of Resize, decide what a node does, even if a node computes
    # them.
    return spec.initializer or spec.dtype.kind != "float" or values.ndim < 2


def _fill_of_range(dtype: DType, values: Array) -> Mapping[str, Any]:
    """Return the fill that makes numbers of a tensor's range, whole ones if all of its are.

    NaN does not count. With infinities it is a choice of the ends and these; of no finite numbers
    the ends are 0.
    """
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    low = finite.min().item() if finite.size else 0.0
    high = finite.max().item() if finite.size else 0.0
    infinities = np.unique(numbers[np.isinf(numbers)]).tolist()
    if infinities or high - low == np.inf:  # which no range has
        return {"choice": [low, high, *infinities]}
    least, most = dtypes.limits(dtype)
    are_whole = max(-low, high) < _LARGEST_EXACT and np.array_equal(finite, np.rint(finite))
    if are_whole or dtype.kind == "int":
        least = max(least, -_LARGEST_EXACT)
        most = min(most, _LARGEST_EXACT)
        return {"integers": [int(min(max(end, least), most)) for end in (low, high)]}
    ends = [float(f"{end:.4g}") for end in (low, high)]
    return {"uniform": [min(max(end, least), most) for end in ends]}


def _attribute(value: Any) -> Any:
    """Return the value of an attribute as a case file writes it."""
    if isinstance(value, np.ndarray):
        dtype = dtypes.of(value)
        return {"value": _plain(value), "dtype": dtype.name if dtype else str(value.dtype)}
    return [*value] if isinstance(value, tuple) else value


def _plain(values: Array) -> Any:
    """Return the elements as nested lists of Python's numbers or texts."""
    dtype = dtypes.of(values)
    if dtype is not None and dtype.kind in ("float", "minifloat"):
        values = values.astype(np.float64)
    return values.tolist()


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    import yaml  # which cases that are in the cache do not need

    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**9, sort_keys=False)
    return text.removesuffix("\n...\n").strip()
