"""A case as a folder in ONNX's test-data layout: the model, its inputs, and its outputs.

<folder of the case>/
    model.onnx
    test_data_set_0/
        input_0.pb …      the tensors fed, in the order of the model's inputs
        output_0.pb …     or output_0.npy: the answer, in the order of the model's outputs
    unsupported.txt       in place of an answer: the backend's own "not implemented"
    error.txt             the backend refused the model, or failed
    not_run.txt           nothing was computed, through no fault of the backend or the model

Above them `opcheck.json` says whose outputs they are.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args
from urllib.parse import quote

import numpy as np
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, TypeProto, numpy_helper

from opcheck.dtypes import DTYPES, DType, identical, named
from opcheck.graph import substance
from opcheck.model import Array, BackendInfo, Items, OutputSpec, Raised, Task, Tensors, Value
from opcheck.opset import weights

MODEL = "model.onnx"
DATA_SET = "test_data_set_0"
#: No name of a folder is longer. Windows allows 260 characters for a whole path.
MAX_NAME = 150
#: What two ids may differ in that their names as node tests lack: underscores at the ends of words,
#: capital letters of a value, and other characters than separators and a minus before a number.
_LOST_IN_NAMES = re.compile(r"__|\b_|_\b|=[^,#~]*[A-Z]|-(?![\d.])|[^\w/@=,.#~ -]|[^\x20-\x7e]")
_SUFFIXES = (".pb", ".npy")
_INPUT = re.compile(r"input_\d+\.pb")
FailureKind: TypeAlias = Literal["unsupported", "error", "not_run"]
KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
_ACCIDENT = "refused by accident: "
#: A folder that has a file of this name was written by opcheck.
MARKER = "opcheck.json"
#: Files that opcheck writes into such a folder, and those that it adds for answers.
QUESTION_FILE = re.compile(rf"{MARKER}|[^/]+/({MODEL}|{DATA_SET}/input_\d+\.pb)(\.part)?")
_ANSWERS = rf"[^/]+/(({'|'.join(KINDS)})\.txt|{DATA_SET}/output_\d+\.pb)(\.part)?"
ANSWER_FILE = re.compile(rf"{QUESTION_FILE.pattern}|{_ANSWERS}")
#: Of the file that says whose outputs these are, null where only questions were written.
_FORMAT = 1
#: The most characters of a status that are read.
_MAX_STATUS = 4000
#: What it states of the backend.
ORIGIN_FIELDS = (
    "address",
    "kind",
    "version",
    "accumulate",
    "engine",
    "devices",
    "threads",
    "refuses",
)


def folder_name(case: str) -> str:
    """Return the name of the folder of the case with this id, safe on every file system.

    It is the id, percent-encoded as in a URL but for letters, digits and ``_ . , = + @ # ~ -``.
    Also encoded are the first character of a name that begins with a dot or like a device of
    Windows (con, nul …), and a dot at the end. A name of more than 150 characters is cut, and ends
    in ``%-`` and the first 20 hexadecimal digits of the id's SHA-256.

    Different ids have different names; if they differ in more than the case of letters, names do.
    """
    # Characters that are not encoded, with letters, digits and `_.~-`.
    name = quote(case, safe=",=+@#")
    # What Windows takes for a device, whatever follows after a dot.
    if re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|\Z)", case) or case.startswith("."):
        name = f"%{ord(case[0]):02X}{name[1:]}"
    if name.endswith("."):
        name = f"{name[:-1]}%2E"
    if len(name) <= MAX_NAME:
        return name
    end = f"%-{hashlib.sha256(case.encode()).hexdigest()[:20]}"
    return name[: MAX_NAME - len(end)] + end


def node_test_name(case: str) -> str:
    """Return the id of a case as ONNX names a node test: `softmax_ties_opset13_float32`.

    It has lower-case letters, digits and underscores alone, and no prefix `test_`. Only the values
    of `opset` and `dtype` are kept, and of `attrs.NAME` and `inputs.NAME` the last name; a minus
    before a number is a word. An id that loses more than that, such as capital letters of a value,
    ends in the first 8 hexadecimal digits of its SHA-256; so does a name that is cut at 150
    characters. Other ids may still have the same name.
    """
    text = re.sub(r"\bopset=", "opset", case)
    text = re.sub(r"\bdtype=|\battrs\.|\binputs\.", "", text)
    name = words_of_name(text)
    is_whole = len(name) <= MAX_NAME and not _LOST_IN_NAMES.search(case)
    if is_whole:
        return name
    end = f"_{hashlib.sha256(case.encode()).hexdigest()[:8]}"
    return name[: MAX_NAME - len(end)] + end


def words_of_name(text: str) -> str:
    """Return the words and numbers of a text, in lower case and joined by underscores."""
    return "_".join(re.findall(r"[a-z0-9]+", re.sub(r"-(?=[\d.])", "minus_", text.lower())))


def task_folder_name(task: Task) -> str:
    """Return the name of the folder of a task that is the case's but for its opset."""
    # No id of a case holds "~", that of a legal twin but the one at its end.
    return folder_name(f"{task.case}~opset{task.opset}")


class NotDelivered(ValueError):
    """An output's file is missing."""


def write_question(folder: Path, model: ModelProto | None, task: Task, inputs: Tensors) -> None:
    """Write the model, if there is one, and its inputs into `folder`, made if it is not there.

    Raises ValueError for an input that no file can hold, and OSError where nothing can be written.
    """
    data = folder / DATA_SET
    data.mkdir(parents=True, exist_ok=True)
    if model is not None:
        write_whole(folder / MODEL, model.SerializeToString())
    for number, (name, value) in enumerate(task.values(inputs).items()):
        write_whole(data / f"input_{number}.pb", _bytes(value, task, name))


def _bytes(value: Value, task: Task, name: str) -> bytes:
    """Return an input or output of a task as a .pb file holds it; raises ValueError if none can."""
    return value_bytes(value, _declared(value, task, name), name)


def _declared(value: Value, task: Task, name: str) -> TypeProto | None:
    """Return the type of an input or output of a task that is a model; None for a plain tensor.

    Raises StopIteration for a name that the model lacks.
    """
    if isinstance(value, np.ndarray):
        return None
    graph = ModelProto.FromString(task.model or b"").graph
    return next(info.type for info in (*graph.input, *graph.output) if info.name == name)


def write_output(path: Path, value: Array | Items, task: Task, name: str) -> None:
    """Write an output; raises ValueError if no file can hold it, OSError if none can be written."""
    if isinstance(value, Items):
        try:
            data = _bytes([*value.values], task, name)
        except Exception as error:  # the type may be no sequence, or another
            raise ValueError(f"no file of this output can hold a sequence: {error}") from error
    else:
        data = _bytes(value, task, name)
    write_whole(path, data)


def other_question(path: Path, model: ModelProto | None, task: Task, inputs: Tensors) -> str | None:
    """Return how a folder differs from this model on these inputs; missing files do not count.

    None if it does not. A file that cannot be read is a difference, too.
    """
    written = path / MODEL
    if model is not None and written.exists():
        try:
            found = ModelProto.FromString(written.read_bytes())
        except Exception:  # protobuf's own DecodeError, or the file cannot be read
            return f"its {MODEL} is not readable"
        if substance(found) != substance(model):
            return "computed for another model"
    values = task.values(inputs).items() if task.ports else [("", array) for array in inputs]
    expected = {f"input_{number}.pb": item for number, item in enumerate(values)}
    data = path / DATA_SET
    for name in filter(_INPUT.fullmatch, _names_in(data)):
        if name not in expected:
            return f"computed for other inputs: there is {name}, the case has {len(expected)}"
        try:
            known, value = expected[name]
            if not _same(read_value(data / name, _declared(value, task, known)), value):
                return f"computed for other inputs: {name} is not the case's"
        except ValueError as error:
            return str(error)
    return None


def _same(one: Value, other: Value) -> bool:
    """Return True if two values are equal bit by bit: tensors, lists of them, or None."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return identical(one, other)
    return one is other


def read_outputs(folder: Path, specs: Sequence[OutputSpec], model: bytes | None = None) -> Tensors:
    """Return the outputs in `folder`, in order, as backends return them, by the names of the files.

    Sequences and optionals are read by the types that `model` declares; without it all are tensors.

    Raises NotDelivered for a missing one; ValueError for one too many, for one in two formats and
    for a file that cannot be read; BeyondOpcheck, a ValueError, for a value that opcheck does not
    judge.
    """
    names = _names_in(folder)
    files = [file_of("output", number, names) for number in range(len(specs))]
    more = [name for name in names if _is_output(name) and name not in files]
    for number in (n for n, file in enumerate(files) if file is None):
        there = f"; there is {', '.join(more[:5])}" if more else ""
        raise NotDelivered(f"there is no output_{number}.pb, and no output_{number}.npy{there}")
    if more:
        raise ValueError(f"more than the {len(files)} expected: {', '.join(more[:5])}")
    types: list[TypeProto | None] = [None] * len(specs)
    if model is not None:
        types = [info.type for info in ModelProto.FromString(model).graph.output]
    # Sequences and all, as backends return them.
    return cast(list[Array], [*map(_read, [folder / str(file) for file in files], types, specs)])


def _names_in(folder: Path) -> list[str]:
    """Return the sorted names of a folder's entries; none if there is no such folder."""
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def file_of(what: str, number: int, names: Sequence[str]) -> str | None:
    """Return the file of an input or output among `names`, a .pb or a .npy; None if there is none.

    Raises ValueError if there are both.
    """
    possible = [f"{what}_{number}{suffix}" for suffix in _SUFFIXES]
    there = [name for name in possible if name in names]
    if len(there) > 1:
        raise ValueError(f"{' and '.join(there)} are both there: which one is meant?")
    return there[0] if there else None


def _is_output(name: str) -> bool:
    """Return True if a file is surely meant as an output, unlike logs.

    So are .pb and .npy files that are no inputs, and names that begin with "output".
    """
    tensor = name.lower().endswith(_SUFFIXES) and not _INPUT.fullmatch(name)
    return tensor or name.lower().startswith("output")


def _read(path: Path, declared: TypeProto | None, spec: OutputSpec) -> Value:
    """Return a value from a file; raises ValueError for one that is damaged or too large.

    So too for a .npy file of 16 bits where bfloat16 is wanted, which NumPy's format lacks.
    """
    value = read_value(path, declared)
    is_bits = path.suffix == ".npy" and isinstance(value, np.ndarray) and value.dtype == "uint16"
    if is_bits and spec.dtype is DTYPES["bfloat16"]:
        # To guess the meaning of the bits would be no check of the type.
        raise ValueError(f"{path.name}: NumPy's format has no bfloat16: write {path.stem}.pb")
    return value


def read_status(folder: Path) -> tuple[FailureKind, str] | None:
    """Return the kind and the text of the status in `folder`, None if there is none.

    No more than 4,000 characters are read; an empty text becomes one that says so. Raises
    ValueError for two statuses, for an output besides, and for a file that cannot be read.
    """
    found = [kind for kind in KINDS if (folder / f"{kind}.txt").exists()]
    if len(found) > 1:
        raise ValueError(" and ".join(f"{kind}.txt" for kind in found) + " are both there")
    if not found:
        return None
    (kind,) = found
    try:
        with (folder / f"{kind}.txt").open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_STATUS).strip()
    except OSError as error:
        raise ValueError(f"{kind}.txt cannot be read: {error.strerror}") from None
    for name in filter(_is_output, _names_in(folder / DATA_SET)):
        raise ValueError(f"{kind}.txt and {name} are both there")
    return kind, text or f"{kind}.txt gives no reason"


def write_status(folder: Path, kind: FailureKind, text: str) -> None:
    """Write a status into `folder`, which exists; raises OSError if that fails."""
    # A message may hold lone surrogates.
    (folder / f"{kind}.txt").write_bytes(f"{text}\n".encode(errors="backslashreplace"))


def refusal_text(refusal: Raised) -> str:
    """Return a refusal as text: its kind if known, its detail, and a mark if it is by accident."""
    return str(refusal) if refusal.documented else f"{_ACCIDENT}{refusal}"


def read_refusal(text: str) -> Raised:
    """Return the refusal that `refusal_text` wrote; any other text is a reason in words.

    Such a one has no kind and counts as documented.
    """
    words = text.removeprefix(_ACCIDENT)
    parts = re.fullmatch(r"(?s)(?P<kind>[A-Za-z_]\w*)(: (?P<detail>.*))?", words)
    if not parts:
        return Raised("run", "", text, documented=True)
    return Raised("run", parts["kind"], parts["detail"] or "", documented=words == text)


def write_origin(folder: Path, backend: BackendInfo | None) -> None:
    """Mark `folder` as written by opcheck, with the outputs of `backend`, None for questions alone.

    Its address is that in `of`, if there is one. A mark from before is replaced. Raises OSError if
    that fails.
    """
    fields = backend and {name: getattr(backend, name) for name in ORIGIN_FIELDS}
    if fields and backend and backend.of:
        fields["address"] = backend.of
    text = json.dumps({"format": _FORMAT, "backend": fields}, indent=2)
    (folder / MARKER).write_text(text + "\n", encoding="utf-8")


def read_origin(folder: Path) -> BackendInfo | None:
    """Return the backend that gave the outputs in `folder`, None if unknown or if there are none.

    Raises ValueError if the file is damaged or of another format.
    """
    if not (folder / MARKER).exists():
        return None
    from pydantic import TypeAdapter

    try:
        record = json.loads(read_whole(folder / MARKER))
        if record["format"] != _FORMAT:
            raise ValueError(record["format"])
        if record["backend"] is None:
            return None
        # Earlier versions do not state `refuses`.
        fields = {"refuses": True, **record["backend"]}
        data = json.dumps({name: fields[name] for name in ORIGIN_FIELDS})
        return TypeAdapter(BackendInfo).validate_json(data, strict=True)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{MARKER} is damaged, or not of format {_FORMAT}") from None


#: No tensor file may be larger, in bytes: they may come from strangers.
MAX_BYTES = 1 << 30
#: Names of values that opcheck neither feeds nor judges.
_BEYOND = {
    "map_type": "map values",
    "sparse_tensor_type": "sparse tensors",
    "opaque_type": "opaque values",
}


@contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Read a value from the file `path` within this block, a context manager.

    Raises BeyondOpcheck where the block does, and ValueError for any other exception of the block;
    both then name the file.
    """
    try:
        yield
    except BeyondOpcheck as error:
        raise BeyondOpcheck(f"{path.name}: {error}") from error
    except Exception as error:
        # A damaged file makes protobuf, onnx and NumPy raise whatever they stumble over.
        message = str(error) or type(error).__name__
        raise ValueError(f"{path.name} holds no readable value: {message}") from error


def read_tensor(path: Path) -> Array:
    """Return the tensor in a .pb file; raises ValueError, naming the file, for whatever is not one.

    So it does for a file that is missing or too large, and BeyondOpcheck, a ValueError, for a type
    that opcheck lacks.
    """
    with _decoding(path):
        return array_of(TensorProto.FromString(read_whole(path)))


def read_npy(path: Path) -> Array:
    """Return the array in a .npy file, in native byte order, never unpickled.

    Raises ValueError, naming the file, for whatever is not one, for objects, for bfloat16, which
    the format lacks, and for a file that is missing or too large.
    """
    with _decoding(path):
        check_size(path)
        with path.open("rb") as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
            if file.read(1):
                raise ValueError("more bytes follow its array")
        if array.dtype.kind == "V":
            hint = f"write {path.stem}.pb instead"
            raise ValueError(f"NumPy's format has no bfloat16, only bytes: {hint}")
        return array.astype(array.dtype.newbyteorder("="))


def tensor_bytes(array: Array, name: str) -> bytes:
    """Return `array` as a .pb file holds it, the same on every machine; ValueError if none can.

    Raises AttributeError for what is not an array.
    """
    try:
        tensor = numpy_helper.from_array(array.astype(array.dtype.newbyteorder("=")), name)
        return tensor.SerializeToString(deterministic=True)
    except Exception as error:
        # protobuf, onnx and NumPy each have their own way to refuse.
        raise ValueError(f"no tensor file can hold {array.dtype}: {error}") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, even if this process is killed meanwhile.

    It replaces one of this name. Raises OSError if that fails; then no part of it is left.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError:  # as of a full disk
        part.unlink(missing_ok=True)
        raise


def read_whole(path: Path, most: int | None = None) -> bytes:
    """Return the bytes of a file; raises ValueError if it is not one, too large or unreadable.

    `most` is the largest size in bytes, None for that of a model, 1 GiB.
    """
    try:
        check_size(path, most)
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}") from None


def check_size(path: Path, most: int | None = None) -> None:
    """Raise ValueError if it is not a regular file, or larger than `most` bytes.

    None is for the limit of a model, 1 GiB.
    """
    limit = MAX_BYTES if most is None else most
    # A pipe would never end.
    if not path.is_file():
        raise ValueError("it is no file" if path.exists() else "there is no such file")
    if path.stat().st_size > limit:
        raise ValueError(f"it is larger than {limit / 2**20:g} MiB")


def initializers(model: ModelProto, names: Collection[str]) -> dict[str, Array]:
    """Return the constants of a model that have these names, by name.

    Those that it lacks are left out. Raises UsageError if the file of a large one has changed.
    """
    found = (tensor for tensor in model.graph.initializer if tensor.name in names)
    return {tensor.name: weights.array(tensor) for tensor in found}


class BeyondOpcheck(ValueError):
    """A value that opcheck neither feeds nor judges; the message names it."""


def tensor_type(declared: TypeProto) -> TypeProto.Tensor:
    """Return the type of a tensor, or of those in a sequence or an optional.

    It is empty where no type is stated. Raises BeyondOpcheck for maps, sparse tensors, opaque
    values and sequences of sequences.
    """
    inner = declared
    sequences = 0
    form = inner.WhichOneof("value")
    while form in ("sequence_type", "optional_type"):
        sequences += form == "sequence_type"
        inner = getattr(inner, form).elem_type
        form = inner.WhichOneof("value")
    if form in _BEYOND:
        raise BeyondOpcheck(_BEYOND[form])
    if sequences > 1:
        raise BeyondOpcheck("sequences of sequences")
    return inner.tensor_type


def element(code: int) -> DType:
    """Return the element type of this number in TensorProto.DataType.

    Raises BeyondOpcheck for a type that opcheck lacks, and ValueError for a number that ONNX lacks.
    """
    dtype = named(code)
    if dtype:
        return dtype
    if code in TensorProto.DataType.values() and code != TensorProto.UNDEFINED:
        raise BeyondOpcheck(f"elements of type {TensorProto.DataType.Name(code)}")
    raise ValueError(f"no element type has the number {code}")


def read_value(path: Path, declared: TypeProto | None) -> Value:
    """Return the value in a file: a tensor, or a sequence or optional if that is `declared`.

    A .npy file has a tensor. An optional without a value is None.

    Raises BeyondOpcheck for elements that opcheck lacks, and ValueError for a file that is missing,
    too large or damaged; both name the file.
    """
    if path.suffix == ".npy":
        return read_npy(path)
    form = declared and declared.WhichOneof("value")
    if form not in ("sequence_type", "optional_type"):
        return read_tensor(path)
    with _decoding(path):
        data = read_whole(path)
        if form == "sequence_type":
            return _sequence(SequenceProto.FromString(data))
        return _optional(OptionalProto.FromString(data))


def _sequence(proto: SequenceProto) -> list[Array]:
    """Return the tensors of a sequence, in an array each.

    Raises ValueError for a sequence of anything else and for a damaged tensor, and BeyondOpcheck
    for elements that opcheck lacks.
    """
    if proto.elem_type != SequenceProto.TENSOR:
        known = proto.elem_type in SequenceProto.DataType.values()
        name = SequenceProto.DataType.Name(proto.elem_type) if known else proto.elem_type
        raise ValueError(f"a sequence of {name}, not of tensors")
    return [array_of(tensor) for tensor in proto.tensor_values]


def _optional(proto: OptionalProto) -> Value:
    """Return the value of an optional, a tensor or a list of them; None if it has none.

    Raises ValueError for an optional of anything else and for a damaged tensor, and BeyondOpcheck
    for elements that opcheck lacks.
    """
    match proto.elem_type:
        case OptionalProto.UNDEFINED:
            return None
        case OptionalProto.TENSOR:
            # The type may be stated where the value is not.
            return array_of(proto.tensor_value) if proto.HasField("tensor_value") else None
        case OptionalProto.SEQUENCE:
            return _sequence(proto.sequence_value) if proto.HasField("sequence_value") else None
        case _:
            raise ValueError("an optional of something else than a tensor or a sequence")


#: The fields of a TensorProto that hold its data: only one of them has any.
_DATA_FIELDS = (
    "raw_data",
    "float_data",
    "int32_data",
    "string_data",
    "int64_data",
    "double_data",
    "uint64_data",
)


def array_of(tensor: TensorProto) -> Array:
    """Return the array in a tensor; texts are Python's own, in an array of objects.

    Raises ValueError for data in another file or in several fields, an element type that ONNX
    lacks, sizes below 0 or beyond 1 GiB, and a number of elements that does not fit; BeyondOpcheck
    for a type that opcheck lacks. onnx and NumPy may raise others for damaged data.
    """
    if tensor.data_location == TensorProto.EXTERNAL:
        raise ValueError("it keeps its data in another file")
    stated = {field.name for field, data in tensor.ListFields() if data}
    fields = [name for name in _DATA_FIELDS if name in stated]
    if len(fields) > 1:
        raise ValueError(f"it states its data in several fields: {', '.join(fields)}")
    dtype = element(tensor.data_type)
    shape = list(tensor.dims)
    if any(size < 0 for size in shape) or prod(shape) * dtype.numpy.itemsize > MAX_BYTES:
        raise ValueError(f"a tensor of shape {shape}")
    if tensor.data_type == TensorProto.STRING:  # onnx's reader cuts off zeros at their ends
        return np.array([text.decode() for text in tensor.string_data], object).reshape(shape)
    return numpy_helper.to_array(tensor)


def value_bytes(value: Any, declared: TypeProto | None, name: str) -> bytes:
    """Return a .pb file of a `declared` value, or else a tensor.

    Raises BeyondOpcheck for a type that opcheck neither feeds nor judges, and ValueError for a
    tensor that no file can hold. A value of another form than declared raises an error of onnx's,
    of any class.
    """
    form = ""
    if declared is not None:
        tensor_type(declared)
        form = declared.WhichOneof("value") or ""
    if form == "sequence_type":
        return numpy_helper.from_list(value, name).SerializeToString()
    if form == "optional_type":
        return numpy_helper.from_optional(value, name).SerializeToString()
    return tensor_bytes(value, name)
