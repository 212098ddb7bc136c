"""Tests of models in ONNX's test-data layout, as ONNX's own runner reads them; its node tests.

<folder of the test>/
    model.onnx
    data.json             rtol and atol, where they are not the runner's own
    test_data_set_0/ …
        input_0.pb …      by place: of the model's inputs that are no initializers
        output_0.pb …     by place: of the model's outputs
"""

import importlib
import json
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from google.protobuf.message import Message
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper

from opcheck import graph, opset
from opcheck.dtypes import DType
from opcheck.errors import did_you_mean
from opcheck.graph import folders, opset_of as opset_of
from opcheck.graph.folders import MODEL, BeyondOpcheck, array_of, element, tensor_type
from opcheck.model import Array, AttrValue, OpVersion, Value
from opcheck.model.question import Declared
from opcheck.opset import onnx_defs, weights
from opcheck.opset.onnx_defs import domain_of, messages

_UNANSWERED = "there are no outputs, so nothing is known to be right"
_DATA_SET = re.compile(r"test_data_set_(\d+)")
_NUMBERED = re.compile(r"(input|output)_\d+\.(pb|npy)")
DATA = "data.json"
#: Bytes of a model with all its weights: protobuf has no more.
_MOST = (1 << 31) - 1
#: The default tolerances of ONNX's runner.
RTOL = 1e-3
ATOL = 1e-7
#: Problems of files, each with the path.
FileMessages: TypeAlias = list[tuple[Path, str]]
#: Name, type and sizes of an input; a size is a number, a name, or "". None if the rank is open.
DeclaredTensor: TypeAlias = tuple[str, DType, tuple[int | str, ...] | None]
#: Attributes that are no tensors, graphs or types.
PLAIN = (*graph.ATTRIBUTE_PROTOS.values(),)
_RANDOM = re.compile("Bernoulli|Multinomial|Random(Normal|Uniform)(Like)?")


class DataSet(NamedTuple):
    """Inputs and outputs of one run of a model; `beyond`: why opcheck cannot judge it, or ""."""

    number: int
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    beyond: str = ""


class ModelTest(NamedTuple):
    """A model with its expected outputs; `fed` are the inputs that data are for."""

    name: str
    model: ModelProto
    fed: tuple[ValueInfoProto, ...]
    data_sets: tuple[DataSet, ...]
    rtol: float = RTOL
    atol: float = ATOL


def is_test(names: Iterable[str]) -> bool:
    """Return True if a folder with these entries is a test."""
    names = [*names]
    return MODEL in names or any(map(_DATA_SET.fullmatch, names))


def read_test(folder: Path, name: str, wrong: FileMessages, *, answered: bool) -> ModelTest | None:
    """Return a folder's test, or None, and `wrong` says why; outputs must be there if `answered`.

    Each problem of a file is added to `wrong`, with its path; no error is raised for these. A data
    set whose values opcheck neither feeds nor judges is no problem, but `beyond`. Raises OSError if
    the folder cannot be listed.
    """
    known = len(wrong)
    links = (path for path in sorted(folder.rglob("*")) if path.is_symlink())
    outside = [path for path in links if not inside(path, folder)]
    wrong += [(path, "this link leads out of the test's folder") for path in outside]
    if outside:
        return None
    try:
        answers = any(folder.glob("test_data_set_*/output_*"))
        model = read_model(folder / MODEL, valid=answered or answers)
    except ValueError as error:
        wrong.append((folder / MODEL, str(error)))
        return None
    rtol = RTOL
    atol = ATOL
    try:
        if (folder / DATA).exists():
            rtol, atol = read_tolerance(folders.read_whole(folder / DATA))
    except ValueError as error:
        wrong.append((folder / DATA, str(error)))
    sets = [path for path in folder.iterdir() if _DATA_SET.fullmatch(path.name) and path.is_dir()]
    sets.sort(key=lambda path: int(path.name.rpartition("_")[2]))
    if not sets:
        wrong.append((folder, "there is a model, and no test_data_set_0"))
    fed: tuple[ValueInfoProto, ...] = ()
    found = []
    for path in sets:
        try:
            fed, data = _data_set(path, model, answered=answered)
            found.append(data)
        except ValueError as error:
            wrong.append((path, str(error)))
    return None if len(wrong) > known else ModelTest(name, model, fed, tuple(found), rtol, atol)


def _data_set(
    folder: Path, model: ModelProto, *, answered: bool
) -> tuple[tuple[ValueInfoProto, ...], DataSet]:
    """Return the inputs that data are for, and the data set in a folder.

    These are the inputs without a value of their own, or all, by the number of files. A set without
    outputs, unless `answered`, or with values that opcheck neither feeds nor judges is `beyond`.

    Raises ValueError for a wrong number of files, and for files that are damaged or of another type
    or shape than the model declares; if `answered`, also for missing outputs.
    """
    number = int(folder.name.rpartition("_")[2])
    names = sorted(path.name for path in folder.iterdir())
    given = _files(folder, names, "input")
    by_default = fed_by_default(model)
    all_ = tuple(model.graph.input)
    if len(given) not in (len(by_default), len(all_)):
        raise ValueError(_numbers("input", len(given), [one.name for one in by_default]))
    fed = by_default if len(given) == len(by_default) else all_
    outputs = [*model.graph.output]
    files = _files(folder, names, "output")
    try:
        if not files and answered:
            raise ValueError(_UNANSWERED)
        if files and len(files) != len(outputs):
            raise ValueError(_numbers("output", len(files), [one.name for one in outputs]))
        inputs = tuple(_values(given, "input", fed))
        if not files:
            return fed, DataSet(number, inputs, beyond=_UNANSWERED)
        return fed, DataSet(number, inputs, tuple(_values(files, "output", outputs)))
    except BeyondOpcheck as error:
        return fed, DataSet(number, beyond=str(error))


def _numbers(what: str, count: int, names: Sequence[str]) -> str:
    """Describe a wrong number of files."""
    files = f"{count} {what}_*.pb"
    return f"there are {files}, and the model has {len(names)} {what}s: {', '.join(names)}"


def _files(folder: Path, names: Sequence[str], what: str) -> list[Path]:
    """Return the files of inputs or outputs, by number; each number from 0 on must be there once.

    Raises ValueError for a number that is missing, or that has two files.
    """
    numbered = filter(None, map(_NUMBERED.fullmatch, names))
    mine = [match[0] for match in numbered if match[1] == what]
    files = []
    for number in range(len(mine)):
        file = folders.file_of(what, number, mine)
        if not file:
            raise ValueError(f"there is {mine[-1]}, and no {what}_{number}.pb")
        files.append(folder / file)
    return files


def _values(files: list[Path], what: str, declared: Sequence[ValueInfoProto]) -> Iterator[Value]:
    """Yield the values in files, each as `declared`.

    Raises ValueError for a value of another dtype, or an input of another shape, and for a file
    that is damaged; BeyondOpcheck for values that opcheck neither feeds nor judges.
    """
    for path, info in zip(files, declared, strict=True):
        try:
            expected = tensor_type(info.type)
            value = folders.read_value(path, info.type)
            dtype = element(expected.elem_type) if expected.elem_type else None
        except BeyondOpcheck as error:
            raise BeyondOpcheck(f"{error} ({what} {info.name!r})") from None
        message = f"and the model's {what} {info.name!r} is {dtype}"
        for array in value if isinstance(value, list) else [value]:
            if array is None:
                continue
            if dtype and array.dtype != dtype.numpy:
                raise ValueError(f"{path.name} holds {array.dtype}, {message}")
            if what == "input" and info.type.HasField("tensor_type") and not _fits(array, expected):
                sizes = ", ".join(d.dim_param or str(d.dim_value) for d in expected.shape.dim)
                raise ValueError(f"{path.name} holds the shape {array.shape}, {message}[{sizes}]")
        yield value


def _fits(array: Array, expected: Any) -> bool:
    """Return True if an array has the rank and the sizes that a declared type states.

    A size that is not stated, or −1, is open.
    """
    if not expected.HasField("shape"):
        return True
    sizes = expected.shape.dim
    return len(sizes) == array.ndim and all(
        not one.HasField("dim_value") or one.dim_value in (-1, size)
        for one, size in zip(sizes, array.shape, strict=True)
    )


def read_tolerance(data: bytes) -> tuple[float, float]:
    """Return the relative and the absolute tolerance that a data.json states, or the runner's own.

    Other names are left out. Raises ValueError for what is not a JSON object, for a name that is
    almost right, and for a tolerance that is not a finite number of 0 or more.
    """
    try:
        stated = json.loads(data)
        rtol = stated.get("rtol", RTOL)
        atol = stated.get("atol", ATOL)
        for name in stated.keys() - {"rtol", "atol"}:
            meant = did_you_mean(name, ("rtol", "atol"))
            if meant:
                raise ValueError(f"{name!r} ({meant})")
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"this is not a JSON object with rtol and atol: {error}") from None
    for value in (rtol, atol):
        if type(value) not in (int, float) or not 0 <= value <= sys.float_info.max:
            raise ValueError(f"rtol {rtol!r}, atol {atol!r}: they must be finite, and at least 0")
    return float(rtol), float(atol)


def read_model(path: Path, *, valid: bool = True) -> ModelProto:
    """Return the model in a file, whole, and `valid` if asked.

    What it keeps in other files is read into it, and no path leads out of its folder. Large weights
    stay where they are, see `weights`.

    Raises ValueError for a file that is missing, damaged or larger than 2 GiB, names that are not
    UTF-8, data that are missing or outside of the folder, and, if it is to be `valid`, what onnx's
    checker says.
    """
    try:
        folders.check_size(path, _MOST)
        data, places = weights.without(path)
        model = ModelProto.FromString(data)
    except Exception as error:  # protobuf's own DecodeError, or the file cannot be read
        raise ValueError(f"this is not a readable model: {error}") from error
    every = [*messages(model, Message)]
    _check_names(every)
    room = _MOST - path.stat().st_size
    initializers = [*model.graph.initializer]
    held = {id(tensor) for tensor in initializers}
    own_places = {
        id(tensor): place for tensor, place in zip(initializers, places, strict=False) if place
    }
    for tensor in every:
        if not isinstance(tensor, TensorProto):
            continue
        if id(tensor) in own_places:
            weights.put_outside(tensor, path, *own_places[id(tensor)])
        elif weights.is_outside(tensor):
            room -= _fetch(tensor, path.parent, room, may_stay=id(tensor) in held)
        try:
            weights.array(tensor)
        except Exception as error:  # onnx and NumPy raise whatever they stumble over
            why = f"the tensor {tensor.name!r} is damaged: {error}"
            raise ValueError(f"this is not a valid model: {why}") from None
    message = invalid(_for_checker(model)) if valid else ""
    if message:
        raise ValueError(f"this is not a valid model: {message}")
    return model


def _check_names(every: Iterable[Message]) -> None:
    """Raise ValueError where a name in these messages is not text in UTF-8."""
    for field, value in chain.from_iterable(message.ListFields() for message in every):
        is_name = field.type == field.TYPE_STRING and field.name != "doc_string"
        # Then protobuf gives its bytes.
        if is_name and any(isinstance(text, bytes) for text in (value, *value)):
            message = "a name in it is not text in UTF-8"
            raise ValueError(f"this is not a readable model: {message}")


def fed_by_default(model: ModelProto) -> tuple[ValueInfoProto, ...]:
    """Return the inputs of a model that have no value of their own."""
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    return tuple(one for one in model.graph.input if one.name not in constants)


def _for_checker(model: ModelProto) -> ModelProto:
    """Return `model` as onnx's checker wants it: itself, or a copy.

    In a copy, weights that lie in files are inputs, and inputs and outputs have shapes.
    """
    # Inputs and outputs have shapes, which ONNX's runner does not ask for, and initializers have
    # their data: those that lie elsewhere are inputs.
    ends = (*model.graph.input, *model.graph.output)
    outside = [one for one in model.graph.initializer if weights.is_outside(one)]
    if not outside and all(one.type.tensor_type.HasField("shape") for one in ends):
        return model  # Weights are not copied without need.
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(o for o in model.graph.initializer if not weights.is_outside(o))
    declared = {one.name for one in model.graph.input}
    copy.graph.input.extend(
        helper.make_tensor_value_info(one.name, one.data_type, one.dims)
        for one in outside
        # In older models, an initializer is the default of an input.
        if one.name not in declared and model.ir_version > 3
    )
    for info in (*copy.graph.input, *copy.graph.output):
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.shape.SetInParent()
    return copy


def inside(path: Path, folder: Path) -> bool:
    """Return True if a path stays in a folder, with links followed; False for one that is none."""
    try:
        resolved = path.resolve()
        # From Python 3.13 on, links that lead to each other end in one of them.
        return not resolved.is_symlink() and resolved.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that is none
        return False


def _fetch(tensor: TensorProto, folder: Path, room: int, *, may_stay: bool) -> int:
    """Read a tensor's data from a file, where large ones `may_stay`; return their size in bytes.

    Changes `tensor` in place. `room` is how many bytes the model may still have. Raises ValueError
    for a path that leads out of `folder` or to no file, for a part that the file does not have, and
    for more bytes than `room`; OSError if it cannot be read.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    what = f"the data of {tensor.name!r} in {location!r}"
    path = folder / location
    if not location or not inside(path, folder):
        raise ValueError(f"{what}: this path leads out of the model's folder")
    if not path.is_file():
        raise ValueError(f"{what}: there is no such file")
    size = path.stat().st_size
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", size - offset))
    except ValueError:
        raise ValueError(f"{what}: offset or length is no number") from None
    if offset < 0 or length < 0 or offset + length > size:
        raise ValueError(f"{what}: {length} bytes from {offset} on, of {size}")
    if length > room:
        raise ValueError(f"{what}: with it the model is larger than 2 GiB")
    if may_stay and weights.is_large(tensor, length):
        weights.put_outside(tensor, path, offset, length)
        return length
    with path.open("rb") as file:
        file.seek(offset)
        tensor.raw_data = file.read(length)
    tensor.ClearField("external_data")
    tensor.data_location = TensorProto.DEFAULT
    return length


def declared_inputs(model: ModelProto) -> Iterator[DeclaredTensor]:
    """Yield the inputs without a value of their own: name, dtype, and sizes, None for an open rank.

    Raises BeyondOpcheck for sequences, optionals and types that opcheck lacks, and ValueError for
    an element type that ONNX lacks.
    """
    for info in fed_by_default(model):
        try:
            tensor = tensor_type(info.type)
            if not info.type.HasField("tensor_type"):
                raise BeyondOpcheck("a sequence or an optional")
            dtype = element(tensor.elem_type)
        except BeyondOpcheck as error:
            message = f"no values are made up for {error} (input {info.name!r})"
            raise BeyondOpcheck(message) from None
        # Some converters write -1 for a size that is open.
        sizes = tuple(
            d.dim_value if d.HasField("dim_value") and d.dim_value != -1 else d.dim_param
            for d in tensor.shape.dim
        )
        yield info.name, dtype, sizes if tensor.HasField("shape") else None


def output_types(data: bytes) -> list[DType | None]:
    """Return the types of elements that a model declares for its outputs; None for none.

    Raises BeyondOpcheck for types that opcheck lacks, ValueError for those that ONNX lacks.
    """
    codes = (one.type.tensor_type.elem_type for one in ModelProto.FromString(data).graph.output)
    return [element(code) if code else None for code in codes]


def output_declarations(data: bytes) -> list[Declared]:
    """Return what a model declares of its outputs; None for sizes that it leaves open.

    Raises BeyondOpcheck for types that opcheck lacks, ValueError for those that ONNX lacks.
    """
    declared = []
    for info in ModelProto.FromString(data).graph.output:
        tensor = info.type.tensor_type
        dtype = element(tensor.elem_type) if tensor.elem_type else None
        shape = None
        if tensor.HasField("shape"):
            shape = tuple(
                dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None
                for dim in tensor.shape.dim
            )
        declared.append(Declared(dtype.name if dtype else None, shape))
    return declared


def invalid(model: ModelProto) -> str | None:
    """Return the error of onnx's checker on a model, in one line; None if it is valid.

    Raises nothing, whatever a damaged model leads to.
    """
    try:
        checker.check_model(model)
    except Exception as error:  # ValidationError, and whatever a damaged model leads to
        return " ".join(str(error).split())
    return None


class Stated(NamedTuple):
    """A node as a case states one; `plain` unless it has what no case can state."""

    op: OpVersion
    opset: int
    attrs: dict[str, AttrValue]
    slots: tuple[str, ...]
    output_slots: tuple[str, ...]
    plain: bool


def stated(model: ModelProto) -> Stated | None:
    """Return the node that a model is; None if it has several or none, or functions of its own.

    An operator that onnx does not know has the imported opset as its version.
    """
    if len(model.graph.node) != 1 or model.functions:
        return None
    node = model.graph.node[0]
    domain = domain_of(node.domain)
    version = opset_of(model, domain)
    schema = opset.describe(domain, node.op_type, version)
    op = schema.op if schema else OpVersion(domain, node.op_type, version)
    # A legal model, so that the node's attributes are of the types that they must be of.
    plain = all(proto.type in PLAIN for proto in node.attribute)
    plain = plain and all(output.name in node.output for output in model.graph.output)
    # Of sequences a case states the tensors.
    plain = plain and all(output.type.HasField("tensor_type") for output in model.graph.output)
    return Stated(op, version, attributes(node), tuple(node.input), tuple(node.output), plain)


def attributes(node: NodeProto) -> dict[str, AttrValue]:
    """Return the attributes of a node that a case can state, by name.

    Tensors, graphs and types are left out.
    """
    plain = (proto for proto in node.attribute if proto.type in PLAIN)
    return {proto.name: onnx_defs.value_of(proto) for proto in plain}


def random_outputs(model: ModelProto) -> frozenset[str]:
    """Return the names of outputs that depend on random numbers, with a seed too.

    No generator is specified. A Dropout counts unless its ratio, or its training mode, is a
    constant 0 or false. Raises ValueError for a damaged scalar constant.
    """
    nothing = _constants_of_nothing(model)
    functions = {(one.domain, one.name) for one in model.functions if _draws(one, frozenset())}
    found: set[str] = set()
    for node in model.graph.node:
        read = chain.from_iterable(one.input for one in messages(node, NodeProto))
        is_random = _draws(node, nothing) or (node.domain, node.op_type) in functions
        if is_random or not found.isdisjoint(read):
            found.update(node.output)
    return frozenset(output.name for output in model.graph.output if output.name in found)


def _constants_of_nothing(model: ModelProto) -> frozenset[str]:
    """Return the names of a model's scalars that are 0 or false, and that nobody can feed.

    Raises ValueError if such a scalar is damaged.
    """
    fed = {one.name for one in model.graph.input}
    constants = [
        one
        for one in model.graph.initializer
        if one.name not in fed and not one.dims and not weights.is_outside(one)
    ]
    return frozenset(one.name for one in constants if not array_of(one).any())


def _draws(where: FunctionProto | NodeProto, nothing: Collection[str]) -> bool:
    """Return True for random operators; the names in `nothing` are of constants 0 and false."""
    standard = (one for one in messages(where, NodeProto) if not domain_of(one.domain))
    return any(_RANDOM.fullmatch(one.op_type) or _drops(one, nothing) for one in standard)


def _drops(node: NodeProto, nothing: Collection[str]) -> bool:
    """Return True for a Dropout whose ratio is not 0, and whose third input may be true.

    `nothing` are the names of constants 0 and false.
    """
    if node.op_type != "Dropout" or not any(node.input[2:]):
        return False
    return not any(name in nothing for name in node.input[1:])


def all_node_tests() -> tuple[ModelTest, ...]:
    """Return all node tests of ONNX, by name; making them takes some seconds."""
    with warnings.catch_warnings(action="ignore"):
        cases = importlib.import_module("onnx.backend.test.case.node").collect_testcases(None)
    return tuple(map(whole, sorted(cases, key=lambda case: str(case.name))))


def whole(case: Any) -> ModelTest:
    """Return a test of the onnx package; raises ValueError for a tensor that `array_of` refuses."""
    data = tuple(
        DataSet(number, tuple(map(_plain, inputs)), tuple(map(_plain, outputs)))
        for number, (inputs, outputs) in enumerate(case.data_sets)
    )
    fed = tuple(case.model.graph.input)
    return ModelTest(case.name, case.model, fed, data, case.rtol, case.atol)


def _plain(value: Any) -> Value:
    """Return a value as its file holds it; it is given as a tensor, an array, or a number.

    A list is a sequence, None an optional without a value. Raises ValueError for a tensor that
    `array_of` refuses, such as one with data in another file.
    """
    if value is None:
        return None
    if isinstance(value, list):
        return [*map(_array, value)]
    return array_of(value) if isinstance(value, TensorProto) else _array(value)


def _array(value: Any) -> Array:
    """Return an array of a value, with texts as objects."""
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind == "U" else array
