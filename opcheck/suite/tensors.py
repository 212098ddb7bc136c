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
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
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
from opcheck.suite.fields import CONTENTS, FILLS, TensorFields

Floats: TypeAlias = NDArray[np.float64]
#: Uniform draws that add up to one normal one; their sum has variance 1 and mean 6.
_DRAWS = 12
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


def materialize(spec: TensorSpec) -> Array:
    """The tensor, C-contiguous, writable; raises ValueError for overflow or a tied permutation."""
    if isinstance(spec.content, FromFile):
        return _with_puts(spec, np.array(_read(spec.content.path, spec.dtype), order="C"))
    values = unrounded(spec)
    stored = isinstance(spec.content, Given) and values.dtype == spec.dtype.numpy
    if spec.dtype.kind == "complex":
        with np.errstate(over="ignore"):
            return values.astype(spec.dtype.numpy)
    if spec.dtype.kind not in ("float", "minifloat") or stored:
        return values
    rounded = _rounded(spec, values)
    if isinstance(spec.content, Fill) and spec.content.kind == "permutation":
        ordered = rounded.astype(np.float64).reshape(-1)
        ordered.sort()
        different = min(rounded.size, 1) + np.count_nonzero(ordered[1:] != ordered[:-1])
        if different < rounded.size:
            many = f"a permutation of {rounded.size} has no ties"
            few = f"in {spec.dtype} only {different} of its values differ"
            raise ValueError(f"{spec.name}: {many}, but {few}")
    return rounded


def unrounded(spec: TensorSpec) -> Array:
    """The tensor's values as written: float64 for floating dtypes, else in the dtype itself."""
    match spec.content:
        case Given(values):
            return _with_puts(spec, values.copy())
        case FromFile(path):
            return _with_puts(spec, _read(path, spec.dtype).astype(unrounded_dtype(spec.dtype)))
        case Fill() as fill:
            values = _made(fill, math.prod(spec.shape), spec.dtype).reshape(spec.shape)
            as_made = spec.dtype.kind == "string" or spec.dtype.kind in _UNROUNDED
            return _with_puts(spec, values if as_made else _rounded(spec, values))


def unrounded_dtype(dtype: DType) -> np.dtype[Any]:
    """The dtype of values as they are written, not yet rounded to `dtype`."""
    wide = _UNROUNDED.get(dtype.kind)
    return np.dtype(wide) if wide else dtype.numpy


def _rounded(spec: TensorSpec, values: Floats) -> Array:
    """`values` in the dtype of `spec`; raises ValueError where one becomes infinite."""
    rounded = np.empty(values.size, spec.dtype.numpy)
    flat = values.reshape(-1)
    for part in slices(values.size, _CHUNK):
        rounded[part] = dtypes.round_to(flat[part], spec.dtype)
        overflown = np.isinf(rounded[part].astype(np.float64)) & ~np.isinf(flat[part])
        if spec.dtype.kind == "minifloat":
            overflown = np.array([not dtypes.holds(spec.dtype, one) for one in flat[part].tolist()])
        if overflown.any():
            raise ValueError(f"{spec.name}: {flat[part][overflown][0]:g} overflows {spec.dtype}")
    return rounded.reshape(values.shape)


def _with_puts(spec: TensorSpec, values: Array) -> Array:
    for put in spec.put:
        values[put.at] = put.value
    return values


def _read(path: Path, dtype: DType) -> Array:
    stored = np.asarray(load_npy(path))
    return stored.view(dtype.numpy) if stored.dtype.kind == "V" else stored.astype(dtype.numpy)


def _drawn(fill: Fill, size: int, made: Callable[[Floats], Floats], draws: int = 1) -> Floats:
    """`made` of `size` sums of `draws` numbers in [0, 1), multiples of 2^-53."""
    bits = np.random.PCG64(fill.seed)
    values = np.empty(size, np.float64)
    once = np.ones(draws, np.uint64)
    for part in slices(size, _CHUNK):
        raw = bits.random_raw((part.stop - part.start) * draws)
        raw >>= np.uint64(11)
        # Added as whole numbers, which is exact in any order.
        values[part] = made(raw.reshape(-1, draws) @ once * 2.0**-53)
    return values


def _made(fill: Fill, size: int, dtype: DType) -> NDArray[Any]:
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
    if dtype.kind in ("float", "minifloat"):
        normal = 2.0 ** (dtype.min_exponent + dtype.precision - 1)
        magnitudes = [0.0, 1.0, 2.0**dtype.min_exponent, normal, high, np.inf]
        values = [*(signed for value in magnitudes for signed in (value, -value)), np.nan]
        return [value for value in values if dtypes.holds(dtype, value)]
    # 64-bit limits are not exact in float64; 2^53 is the largest that surely is.
    low, high = max(low, -(2.0**53)), min(high, 2.0**53)
    return [0.0, 1.0, *([-1.0, low] if low else []), *([high] if high > 1 else [])]


def load_npy(path: Path) -> NDArray[Any]:
    """The array in a .npy file, mapped read-only, or a .pb file of ONNX; raises ValueError."""
    if path.suffix == ".pb":  # which has more types
        from opcheck.graph import folders

        return folders.read_tensor(path)
    try:
        # A pipe would never end.
        if not path.is_file():
            raise ValueError("is no file")
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
        if start != _MAGIC:
            raise ValueError(f"is {'an archive' if start.startswith(b'PK') else 'no .npy file'}")
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


class InvalidTensor(Unreadable):
    """A tensor is malformed."""


class Lacking(InvalidTensor):
    """Something is missing that the case may state elsewhere."""


def excess(elements: int, nbytes: int) -> str | None:
    """Return why a tensor, or a whole case, of this size is too large; None if it is not."""
    if elements > MAX_ELEMENTS:
        return f"more than {MAX_ELEMENTS:,} elements"
    return f"more than {MAX_BYTES >> 20} MiB" if nbytes > MAX_BYTES else None


@lru_cache(1024)  # One tensor is asked in many versions.
def read_tensor(
    name: str, node: FileNode, fields: TensorFields | None, dtype: DType | None, folder: Path
) -> TensorSpec:
    """The tensor `name`, by default of `dtype`, or a literal at `node`; raises InvalidTensor."""
    if fields is None:
        return _literal(name, node, dtype)
    if fields.dtype is not None:
        dtype = DTYPES[fields.dtype]
    contents = [key for key in CONTENTS if getattr(fields, key) is not None]
    if len(contents) != 1:
        how = f"by {' and '.join(contents)}" if contents else "nowhere"
        hint = f"exactly one of {', '.join(CONTENTS)}"
        message = f"{name}: its values are given {how}"
        raise (InvalidTensor if contents else Lacking)(node.mark, message, hint)
    content = contents[0]
    for key in ("shape", "seed"):
        if getattr(fields, key) is not None and content not in FILLS:
            raise InvalidTensor(node.at([key], key=True), f"{name}: {key} goes with a fill only")
    if content == "value":
        spec = _literal(name, node.entries["value"], dtype)
    elif content == "file":
        spec = _from_file(name, node, str(fields.file), dtype, folder)
    else:
        spec = _filled(name, node, fields, content, dtype)
    if fields.put or fields.initializer:
        spec = replace(spec, put=_puts(spec, node, fields), initializer=bool(fields.initializer))
    return spec


def inside(folder: Path, path: str, mark: Mark) -> Path:
    """`path` in `folder`; refused if it is missing or leads outside, by a link or otherwise."""
    try:
        found = (folder / path).resolve()
        is_inside = found.is_relative_to(folder.resolve())
        exists = is_inside and found.exists()
    except (OSError, RuntimeError, ValueError):
        raise InvalidTensor(mark, f"{quoted(path)} is no path of a file") from None
    if not is_inside:
        raise InvalidTensor(mark, f"{quoted(path)} lies outside the folder of the case file")
    if not exists:
        raise InvalidTensor(mark, f"{quoted(path)} does not exist")
    return found


def _puts(spec: TensorSpec, node: FileNode, fields: TensorFields) -> tuple[Put, ...]:
    puts = []
    for n, put in enumerate(fields.put or ()):
        within = (0 <= i < n for i, n in zip(put.at, spec.shape, strict=True))
        if len(put.at) != len(spec.shape) or not all(within):
            message = f"put: [{_spelt(put.at)}] is no index of shape [{_spelt(spec.shape)}]"
            raise InvalidTensor(node.at(["put", n, "at"]), message)
        value = _held(spec.name, spec.dtype, put.value, node.at(["put", n, "value"]))
        puts.append(Put(tuple(put.at), value))
    return tuple(puts)


def _filled(
    name: str, node: FileNode, fields: TensorFields, kind: str, dtype: DType | None
) -> TensorSpec:
    if fields.shape is None:
        raise Lacking(node.mark, f"{name}: {kind} needs a shape")
    if dtype is None:
        raise Lacking(node.mark, f"{name}: its dtype is not stated", _STATE)
    value = getattr(fields, kind)
    args = () if value is True else tuple(value) if isinstance(value, list) else (value,)
    if kind in ("constant", "choice", "arange"):
        if dtype.kind == "string":  # a number stands for its text
            args = tuple(arg if isinstance(arg, str) else f"{arg:g}" for arg in args)
        # The step to an item is skipped where there is but one value.
        ends = kind == "arange"
        args = tuple(_held(name, dtype, a, node.at([kind, n]), ends) for n, a in enumerate(args))
    spec = TensorSpec(name, dtype, tuple(fields.shape), Fill(kind, args, fields.seed or 0))
    # As if no dimension were 0: NumPy has the same limit for empty arrays.
    elements = math.prod(n or 1 for n in spec.shape)
    longest = max((len(arg.encode()) for arg in args if isinstance(arg, str)), default=0)
    if too_much := excess(elements, elements * max(dtype.numpy.itemsize, longest)):
        message = f"{name}: shape [{_spelt(spec.shape)}] needs {too_much}"
        raise InvalidTensor(node.at(["shape"]), message)
    if wrong := _wrong_fill(kind, args, dtype, math.prod(spec.shape)):
        raise InvalidTensor(node.at([kind]), f"{name}: {kind} {wrong}")
    return spec


def _wrong_fill(kind: str, args: tuple[Any, ...], dtype: DType, size: int) -> str | None:
    real = dtype.kind in ("float", "minifloat")
    if dtype.kind in ("string", "complex"):
        makes = ("constant", "choice", *(["arange"] if dtype.kind == "complex" else []))
        return None if kind in makes else f"makes no {dtype}; those that do: {', '.join(makes)}"
    got = f"got {' and '.join(map(shown, args))}"
    if kind == "specials":
        return "must be true, or another fill be written" if args else None
    if kind in ("uniform", "normal") and not real:
        return f"makes real numbers, and {dtype} holds none"
    if kind in ("constant", "choice"):
        return None
    if not all(map(math.isfinite, args)):
        return f"takes finite numbers, {got}"
    # Beyond it float64, in which fills compute, skips whole numbers.
    whole = all(arg.is_integer() and abs(arg) <= 2.0**53 for arg in args)
    if not whole and (kind == "integers" or not real):
        return f"takes whole numbers up to 2^53, {got}"
    if kind in ("uniform", "integers") and args[0] > args[1]:
        return f"must be [low, high], {got}"
    if kind == "uniform" and not math.isfinite(args[1] - args[0]):
        return f"spans more than {dtype} holds"
    if kind == "normal" and args[1] < 0:
        return f"takes a standard deviation of 0 or more, got {shown(args[1])}"
    ends = args
    if kind in ("arange", "permutation"):
        ends = (args[0], args[0] + args[1] * max(size - 1, 0))
    elif kind == "normal":
        ends = (args[0] - 6 * args[1], args[0] + 6 * args[1])
    low, high = dtypes.limits(dtype)
    outside = [end for end in ends if not low <= end <= high]
    return f"reaches {outside[0]:g}, which {dtype} does not hold" if outside else None


def _from_file(name: str, node: FileNode, path: str, dtype: DType | None, base: Path) -> TensorSpec:
    mark = node.at(["file"])
    found = inside(base, path, mark)
    try:
        array = load_npy(found)
    except ValueError as error:
        why = str(error).removeprefix(f"{found.name} ")
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
    if too_much := excess(array.size, array.nbytes):
        raise InvalidTensor(mark, f"{quoted(path)} holds {too_much}")
    return TensorSpec(name, stored, array.shape, FromFile(found))


def _literal(name: str, node: FileNode, dtype: DType | None) -> TensorSpec:
    values: list[Any] = []
    shape = _walk(name, node, dtype, values)
    if dtype is None:
        raise Lacking(node.mark, f"{name}: its dtype is not stated", _STATE)
    # Floats stay in float64: they are rounded once, when the case's data is made.
    array = np.array(values, unrounded_dtype(dtype)).reshape(shape)
    return TensorSpec(name, dtype, shape, Given(array))


def _walk(name: str, node: FileNode, dtype: DType | None, values: list[Any]) -> tuple[int, ...]:
    """The shape below `node`, whose scalars are appended to `values`, if their dtype is known."""
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
    value = node.value
    if dtype.kind in ("string", "complex"):
        return _held(name, dtype, value, node.mark)
    numbers = (int, float) if dtype.kind in _UNROUNDED else (int,)
    # To Python a truth value is a whole number.
    if not isinstance(value, numbers) or isinstance(value, bool) != (dtype.kind == "bool"):
        words = str(value).lower().lstrip("+-")
        hint = "write .inf, -.inf or .nan" if words in ("inf", "infinity", "nan") else None
        if words in ("random", "rand", "randn", "normal", "uniform"):
            hint = "write {shape: [2, 3], normal: [0, 1]}, or uniform: [0, 1]"
        message = f"{name}: {shown(node.plain())} is no value of {dtype}"
        raise InvalidTensor(node.mark, message, hint)
    _check_held(dtype, value, node.mark)
    return value


def _held(name: str, dtype: DType, value: Any, mark: Mark, ends: bool = False) -> Any:
    """A value as `dtype` holds it; the `ends` of a fill are not checked, as its values are."""
    hint = None
    if dtype.kind == "string" and isinstance(value, str):
        return value
    if dtype.kind == "string":
        hint = "quote what is meant as text"
    elif dtype.kind == "complex":
        hint = "write a number, or a text such as 1+2j, nan+0j or -infj"
        text = isinstance(value, str) and re.fullmatch(r"[-+.0-9a-z]+", value)
        if text or type(value) in (int, float):
            with suppress(ValueError, OverflowError):
                number = complex(value)
                for part in (number.real, number.imag):
                    _check_held(dtypes.PARTS[dtype.name], part, mark)
                return number
    elif isinstance(value, int | float):
        if not ends:
            _check_held(dtype, value, mark)
        return value
    raise InvalidTensor(mark, f"{name}: {shown(value)} is no value of {dtype}", hint)


def _check_held(dtype: DType, value: float, mark: Mark) -> None:
    """Raise InvalidTensor for a value that `dtype` cannot hold, but for rounding to a float."""
    if not dtypes.holds(dtype, value):
        real, (low, high) = dtype.kind != "int", dtypes.limits(dtype)
        ends = f"{low:.8g} to {high:.8g}" if real else f"whole numbers from {low} to {high}"
        raise InvalidTensor(mark, f"{shown(value)} is outside {dtype}, which holds {ends}")


def _extent(shape: tuple[int, ...]) -> str:
    return f"[{_spelt(shape)}]" if shape else "[] (a number)"


def _spelt(numbers: Iterable[int]) -> str:
    return ", ".join(map(shown, numbers))


#: How a tensor is written in a case file.
Contents: TypeAlias = Callable[[TensorSpec], Mapping[str, Any]]
#: Elements of a tensor that is written out, and of one whose integers are kept in a file.
_FEW, _MANY = 64, 1 << 20


def case_file(cases: Sequence[Case], contents: Contents, notes: Sequence[str] = ()) -> str:
    """A case file of cases of one operator and opset; `notes` are comments on them."""
    first = cases[0]
    domain = [f"domain: {first.op.domain}"] if first.op.domain else []
    lines = [f"op: {first.op.name}", *domain, f"opset: {first.opset}", "cases:"]
    for number, case in enumerate(cases):
        lines += [f"# {note}" for note in notes[number : number + 1]]
        lines.append(f"- name: {name_of(case.name)}")
        if case.empty:
            lines.append(f"  empty: {_flow(case.empty)}")
        if case.attrs:
            lines.append(f"  attrs: {_flow({n: _attribute(v) for n, v in case.attrs.items()})}")
        inputs = {}
        for spec in case.inputs:
            inputs[spec.name] = {**contents(spec), "dtype": spec.dtype.name}
            if spec.initializer:
                inputs[spec.name]["initializer"] = True
        if inputs:
            lines.append(f"  inputs: {_flow(inputs)}")
        lines.append(f"  expect: {_flow({'computed': [one.name for one in case.outputs]})}")
    return "\n".join(lines) + "\n"


def name_of(text: str) -> str:
    """A name that a case file may use: lower case, from a letter on."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return word if word[:1].isalpha() else f"node_{word}".rstrip("_")


def made_up(spec: TensorSpec) -> Mapping[str, Any]:
    """The tensor's values if there are few, or else numbers of its range made up by rule."""
    assert isinstance(spec.content, Given)
    values: Array = spec.content.values
    kind, few = spec.dtype.kind, 0 < values.size <= _FEW
    # Short lists, such as the scales of Resize, decide what is asked even if a node computes them.
    if few and kind != "complex" and (spec.initializer or kind != "float" or values.ndim < 2):
        return {"value": _plain(values)}
    # What no rule makes is in a file, named by what is in it.
    # Indices may be of these types: others would be out of range, unsorted or the same twice.
    is_index = spec.dtype.name in ("int32", "int64") and _FEW < values.size <= _MANY
    if is_index or kind in ("string", "complex"):
        return {"file": f"{spec.name}_{sha256(dtypes.content(values)).hexdigest()[:16]}.pb"}
    shape = {"shape": [*spec.shape]}
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    low, high = (finite.min().item(), finite.max().item()) if finite.size else (0.0, 0.0)
    infinities = np.unique(numbers[np.isinf(numbers)]).tolist()
    if infinities or high - low == np.inf:  # which no range has
        return {**shape, "choice": [low, high, *infinities]}
    least, most = dtypes.limits(spec.dtype)
    whole = max(-low, high) < 2**53 and np.array_equal(finite, np.rint(finite))
    if whole or kind == "int":
        # Fills compute in float64, which has all whole numbers up to 2^53.
        least, most = max(least, -(2**53)), min(most, 2**53)
        return {**shape, "integers": [int(min(max(end, least), most)) for end in (low, high)]}
    ends = (float(f"{end:.4g}") for end in (low, high))
    return {**shape, "uniform": [min(max(end, least), most) for end in ends]}


def _attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        found = dtypes.of(value)
        return {"value": _plain(value), "dtype": found.name if found else str(value.dtype)}
    return [*value] if isinstance(value, tuple) else value


def _plain(values: Array) -> Any:
    known = dtypes.of(values)
    exact = known is not None and known.kind in ("float", "minifloat")
    return (values.astype(np.float64) if exact else values).tolist()


def _flow(value: Any) -> str:
    import yaml  # which cases that are in the cache do not need

    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**9, sort_keys=False)
    return text.removesuffix("\n...\n").strip()
