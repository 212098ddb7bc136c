"""Cases that come as models: a folder of test data, or the node tests of the onnx package."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from math import prod
from pathlib import Path
from shlex import quote
from typing import TypeAlias

from opcheck import dtypes, engine, model, opset
from opcheck.errors import UsageError, did_you_mean, few
from opcheck.graph import ModelProto, TensorShapeProto, test_data
from opcheck.graph.folders import BeyondOpcheck, initializers, read_npy, read_tensor
from opcheck.graph.test_data import DeclaredTensor, FileMessages, ModelTest, opset_of, stated
from opcheck.model import Array, Case, Port, Source, TensorSpec, Tolerance, Value
from opcheck.opset import onnx_defs
from opcheck.suite.discovery import UNREADABLE, is_case_file, is_yaml
from opcheck.suite.golden_files import as_cases, golden_above, orphans
from opcheck.suite.tensors import MAX_ELEMENTS

Tensors: TypeAlias = tuple[TensorSpec, ...]
#: The node tests of the installed onnx package, `onnx-node/PATTERN` for some of them.
NODE_TESTS = "onnx-node"
SUFFIX = ".onnx"
#: No more of models and their inputs is held at once, in bytes.
MAX_HELD = 4 << 30
#: Fills of inputs: numbers of a size that is usual between layers, and small indices.
_FILLS: dict[str, tuple[str, tuple[float, ...]]] = {
    "float": ("normal", (0.0, 1.0)),
    "int": ("integers", (0.0, 3.0)),
    "bool": ("integers", (0.0, 1.0)),
}


def cases_of(test: ModelTest, source: Source) -> Iterator[Case]:
    """Yield a case for each data set of a test, with the test's tolerance, as ONNX's runner has it.

    The runner admits at least two ULP where all floating outputs are of bfloat16. The ids of
    several data sets end in their numbers.
    """
    random = test_data.random_outputs(test.model)
    outputs = [info.name for info in test.model.graph.output]
    for data in test.data_sets:
        row = str(data.number) if len(test.data_sets) > 1 else None
        inputs, ports = _specs([info.name for info in test.fed], data.inputs)
        wanted, wanted_ports = _specs(outputs, data.outputs)
        floats = {spec.dtype.name for spec in wanted if spec.dtype.kind == "float"}
        rtol = max(test.rtol, 2.0**-6) if floats == {"bfloat16"} else test.rtol
        yield replace(
            _case(test.model, test.name, inputs, ports, source),
            id=f"{test.name}#{row}" if row else test.name,
            row=row,
            expect=model.Values(wanted, wanted_ports, random),
            tolerance=Tolerance(rtol=rtol, atol=test.atol),
            beyond=data.beyond,
        )


def _case(
    proto: ModelProto, name: str, inputs: Tensors, ports: tuple[Port, ...], source: Source
) -> Case:
    """Return a model on these inputs as a case; backends are to agree on it.

    A model of one node that the engine computes is a case of its operator; so is one of an operator
    that the engine does not have. Any other is a case of a graph.
    """
    node = stated(proto)
    dtypes_of_inputs = {spec.dtype for spec in inputs}
    case = Case(
        id=name,
        name=name,
        op=model.GRAPH,
        opset=node.opset if node else opset_of(proto),
        dtype=dtypes_of_inputs.pop() if len(dtypes_of_inputs) == 1 else None,
        attrs={},
        inputs=inputs,
        slots=(),
        outputs=tuple(model.OutputSpec(output.name, None, None) for output in proto.graph.output),
        expect=model.Agreement(),
        source=source,
        model=proto.SerializeToString(deterministic=True),
        ports=ports,
    )
    if node is None:
        return case
    if engine.operator_of(node.op) is None:
        return replace(case, op=node.op, attrs=node.attrs)
    # The initializers that the node reads, and no input feeds.
    unfed = {*node.slots} - {"", *(port.name for port in ports)}
    found = initializers(proto, unfed)
    # The engine takes plain tensors of its own types; a sparse one is not found.
    takes_tensors = all(port.form == "tensor" for port in ports) and unfed <= found.keys()
    if not (node.plain and takes_tensors):
        return case
    constants = [_spec(name, array, initializer=True) for name, array in found.items()]
    return replace(
        case,
        op=node.op,
        attrs=node.attrs,
        inputs=(*inputs, *constants),
        slots=node.slots,
        outputs=tuple(
            replace(output, place=node.output_slots.index(output.name)) for output in case.outputs
        ),
    )


def _specs(names: Sequence[str], values: Sequence[Value]) -> tuple[Tensors, tuple[Port, ...]]:
    """Return the tensors of values, and what each value is: a tensor, a sequence or nothing.

    A value is an array, a list of arrays or None. Those of a sequence x are named x[0], x[1], …
    """
    tensors: list[TensorSpec] = []
    ports: list[Port] = []
    for name, value in zip(names, values, strict=False):
        match value:
            case None:
                ports.append(Port(name, "nothing", 0))
            case list():
                ports.append(Port(name, "sequence", len(value)))
                tensors += [_spec(f"{name}[{n}]", item) for n, item in enumerate(value)]
            case array:
                ports.append(Port(name))
                tensors.append(_spec(name, array))
    return tuple(tensors), tuple(ports)


def _spec(name: str, array: Array, *, initializer: bool = False) -> TensorSpec:
    """Return an array of an element type of ONNX as a tensor of this name."""
    dtype = dtypes.of(array)
    assert dtype
    return TensorSpec(name, dtype, array.shape, model.Given(array), initializer=initializer)


class DimSizes:
    """The sizes that a user gave, by the names of dimensions or as INPUT[AXIS].

    Attributes:
        given: The sizes by these names; those that the files of inputs have come first.
        known: The names of open sizes of inputs in all models noted.
        fixed: The sizes that these models state themselves, by INPUT[AXIS].
        symbols: The names of sizes of all other tensors in them.
        used: The given names that `of` has used.
        models: The number of models noted.
    """

    def __init__(self, given: Mapping[str, int], fed: Mapping[str, int] | None = None) -> None:
        self.given = {**given, **(fed or {})}
        self.known: set[str] = set()
        self.fixed: dict[str, set[int]] = {}
        self.symbols: set[str] = set()
        self.used: set[str] = set()
        self.models = 0

    def note(self, proto: ModelProto) -> None:
        """Note the names of a model's sizes, even if the model becomes no case."""
        self.models += 1
        for info in test_data.fed_by_default(proto):
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                place = f"{info.name}[{axis}]"
                if dim.HasField("dim_value") and dim.dim_value >= 0:
                    self.fixed.setdefault(place, set()).add(dim.dim_value)
                    continue
                self.known.add(place)
                if dim.dim_param:
                    self.known.add(dim.dim_param)
        for shape in onnx_defs.messages(proto.graph, TensorShapeProto):
            self.symbols.update(dim.dim_param for dim in shape.dim)

    def of(self, name: str, axis: int, size: int | str) -> int | None:
        """Return the size of an axis, None if it is open and not given.

        `size` is a number, or the name of an open size, "" for none. A given one is noted as used.
        Raises UsageError if two different ones are given, by the name and by INPUT[AXIS].
        """
        if isinstance(size, int):
            return size
        keys = [key for key in (f"{name}[{axis}]", size) if key in self.given]
        if not keys:
            return None
        if len({self.given[key] for key in keys}) > 1:
            sizes = " and ".join(f"{key} is {self.given[key]}" for key in keys)
            raise UsageError(f"axis {axis} of {name!r} has two sizes: {sizes}")
        self.used.add(keys[0])
        return self.given[keys[0]]

    def check(self) -> None:
        """Raise UsageError for sizes that no input of a model has; all models must be noted.

        A size that a model states itself may be repeated, as a part of a whole shape.
        """
        here = f"there are {', '.join(sorted(self.known))}" if self.known else None
        for name, size in self.given.items():
            fixed = self.fixed.get(name, set())
            if name in self.known or size in fixed:
                continue
            if fixed:
                stated = " or ".join(map(str, sorted(fixed)))
                raise UsageError(f"--dim {name}: the model fixes this size: it is {stated}", here)
            if name in self.symbols:
                where = "no input has a size of that name, and inputs decide all other sizes"
                raise UsageError(f"--dim {name}: {where}", here)
            hint = did_you_mean(name, self.known) or here or "no input has an open size"
            raise UsageError(f"--dim {name}: no model here has a size of that name", hint)


def cases_of_models(
    paths: Sequence[Path], dims: Mapping[str, int], inputs: Path | None, messages: FileMessages
) -> list[Case]:
    """Return the models in files as cases; `messages` has what is wrong with the others.

    `dims` are open sizes. `inputs` is a folder of files for a single model, see `fed_from`. Raises
    UsageError for sizes that no model has, unless a model cannot be read; for two sizes of one
    axis; for inputs of several models, and wrong ones.
    """
    fed: dict[str, Array] = {}
    sizes_of_fed: dict[str, int] = {}
    if inputs:
        if len(paths) != 1:
            count = len(paths)
            raise UsageError(f"{inputs}: these inputs are for one model, and {count} are named")
        fed, sizes_of_fed = fed_from(paths[0], inputs)
    sizes = DimSizes(dims, sizes_of_fed)
    cases: list[Case] = []
    for path in paths:
        case = case_of_model(path, sizes, messages, fed)
        if case and inputs:
            case = replace(case, said=(f"--inputs={inputs}",))
        if case:
            cases.append(case)
    if sizes.models == len(paths):  # a model that cannot be read may have sizes of any name
        sizes.check()
    return cases


def case_of_model(
    path: Path, sizes: DimSizes, messages: FileMessages, fed: Mapping[str, Array] | None = None
) -> Case | None:
    """Return the model in a file as a case, on inputs `fed` or made up.

    The engine's answers are expected if it computes all operators; else backends are to agree. A
    model that opcheck cannot judge has the reason in `beyond`. Returns None, with `messages` on it,
    for a name that is not printable ASCII, a model that cannot be read or has no outputs, and
    inputs without a shape, of open sizes that are not given, or too large. Raises UsageError for
    two sizes of one axis.
    """
    known = len(messages)
    if not (str(path).isprintable() and str(path).isascii()):
        messages.append((path, "the name must be printable ASCII"))
        return None
    beyond = ""
    sizes.used.clear()
    inputs: Tensors = ()
    try:
        proto = test_data.read_model(path)
        sizes.note(proto)
        _check_within(proto)
        inputs = tuple(_inputs(test_data.declared_inputs(proto), sizes, messages, path))
        if fed:
            inputs = tuple(replace(one, content=model.Given(fed[one.name])) for one in inputs)
    except BeyondOpcheck as error:
        beyond = str(error)
    except ValueError as error:
        messages.append((path, str(error)))
    else:
        if not proto.graph.output:
            messages.append((path, "this model has no outputs"))
    if len(messages) > known:
        return None
    ports = tuple(Port(spec.name) for spec in inputs)
    case = _case(proto, path.as_posix(), inputs, ports, Source(str(path), 0, 0))
    options = tuple(f"--dim={name}={sizes.given[name]}" for name in sorted(sizes.used))
    case = replace(case, beyond=beyond, said=options)
    if not beyond and case.model and _is_known(case.model):
        return replace(case, expect=model.Computed(), empty="it is what the model gives")
    # How far answers may lie apart. Errors add up over a graph, so that this is more than ONNX's
    # runner allows one node.
    return replace(case, tolerance=Tolerance(rtol=1e-3, atol=1e-4))


def _check_within(proto: ModelProto) -> None:
    """Raise BeyondOpcheck for a model whose answers opcheck cannot judge.

    That is one with outputs drawn at random, or that are no tensors; with functions named as
    operators of ONNX; or of an opset that the installed onnx does not know.
    """
    if random := test_data.random_outputs(proto):
        raise BeyondOpcheck(f"outputs that are drawn at random: {', '.join(sorted(random))}")
    others = [out.name for out in proto.graph.output if not out.type.HasField("tensor_type")]
    if others:
        raise BeyondOpcheck(f"outputs that are sequences or optionals: {', '.join(others)}")
    hidden = [f.name for f in proto.functions if opset.versions(f.domain, f.name)]
    if hidden:
        what = "functions named as operators of ONNX, which a backend may take or not"
        raise BeyondOpcheck(f"{what}: {', '.join(hidden)}")
    newest = opset.newest("")
    if opset_of(proto) > newest:
        raise BeyondOpcheck(f"opset {opset_of(proto)}: the installed onnx ends at {newest}")


def fed_from(path: Path, folder: Path) -> tuple[dict[str, Array], dict[str, int]]:
    """Return inputs of the model at `path` from files in `folder`, and the open sizes they have.

    The files are NAME.npy, or input_0.pb … in the order of the model's inputs. Sizes are by
    INPUT[AXIS]. Raises UsageError for a model or file that cannot be read, a missing input, one
    that is there twice or that no input is, and one of another type or shape.
    """
    arrays: dict[str, Array] = {}
    sizes: dict[str, int] = {}
    try:
        declared = [*test_data.declared_inputs(test_data.read_model(path))]
    except (OSError, ValueError, BeyondOpcheck) as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        used = {f"{name}.npy" for name, *_ in declared}
        unused = sorted({file.name for file in folder.glob("*.npy")} - used)
        if unused:
            raise UsageError(f"{folder}: no input has the name of {few(unused)}")
        for number, tensor in enumerate(declared):
            name, _, shape = tensor
            array = _fed(folder, name, number)
            _check_fed(folder, tensor, array)
            arrays[name] = array
            for axis, size in enumerate(array.shape):
                if shape is not None and isinstance(shape[axis], str):
                    sizes[f"{name}[{axis}]"] = size
    except (OSError, ValueError, BeyondOpcheck) as error:
        raise UsageError(f"{folder}: {error}") from None
    return arrays, sizes


def _fed(folder: Path, name: str, number: int) -> Array:
    """Return the input of this name and number from its one file.

    Raises UsageError for both files, or none; ValueError if it cannot be read.
    """
    named = folder / f"{name}.npy"
    numbered = folder / f"input_{number}.pb"
    if named.is_file() and numbered.is_file():
        raise UsageError(f"{folder} has both {named.name} and {numbered.name}")
    if named.is_file():
        return read_npy(named)
    if numbered.exists():
        return read_tensor(numbered)
    raise UsageError(f"{folder} has neither {named.name} nor {numbered.name}")


def _check_fed(folder: Path, declared: DeclaredTensor, array: Array) -> None:
    """Raise UsageError for an array of other type or shape than the input is declared with.

    An open size fits any; a declared shape of None, too.
    """
    name, dtype, shape = declared
    if shape is None:
        shape = array.shape
    sizes = zip(shape, array.shape, strict=False)
    fits = all(isinstance(own, str) or own == size for own, size in sizes)
    if dtypes.of(array) != dtype or len(shape) != array.ndim or not fits:
        asked = f"{dtype}[{', '.join(str(size) or '?' for size in shape)}]"
        here = f"{dtypes.of(array) or array.dtype}{[*array.shape]}"
        raise UsageError(f"{folder}: input {name!r} is {here}, and {asked} is asked for")


def _is_known(data: bytes) -> bool:
    """Return True if the engine computes all operators of a model, those in its graphs too.

    `data` are the model's bytes; False if they have no body that can be read.
    """
    try:
        bodies = [onnx_defs.model_body(data)]
    except ValueError:
        return False
    while bodies:
        for node in bodies.pop().nodes:
            bodies += node.graphs
            if engine.operator_of(node.op) is None:
                return False
    return True


def _inputs(
    declared: Iterable[DeclaredTensor], sizes: DimSizes, messages: FileMessages, path: Path
) -> Iterator[TensorSpec]:
    """Yield made-up inputs of the model at `path`, but those that `messages` has problems of.

    Those are inputs without a shape, with an open size that is not given, a negative one or too
    many elements. Raises BeyondOpcheck for types without made-up values, UsageError for two sizes
    of one axis.
    """
    for seed, (name, dtype, declared_shape) in enumerate(declared):
        if dtype.kind not in _FILLS:
            raise BeyondOpcheck(f"no values are made up for {dtype} (input {name!r})")
        if declared_shape is None:
            messages.append((path, f"input {name!r} is declared without a shape"))
            continue
        partial_shape = [sizes.of(name, axis, size) for axis, size in enumerate(declared_shape)]
        shape = [size for size in partial_shape if size is not None]
        if len(shape) < len(declared_shape):
            for message in _missing(name, declared_shape, partial_shape):
                messages.append((path, f"input {name!r}: {message}"))
            continue
        if any(size < 0 for size in shape) or prod(shape) > MAX_ELEMENTS:
            limit = f"at most {MAX_ELEMENTS:,} elements are made up, and no negative sizes"
            messages.append((path, f"input {name!r} is declared as {dtype}{shape}: {limit}"))
            continue
        fill = model.Fill(*_FILLS[dtype.kind], seed)
        yield TensorSpec(name, dtype, tuple(shape), fill)


def _missing(
    name: str, declared: Sequence[int | str], shape: Sequence[int | None]
) -> Iterator[str]:
    """Yield messages about the sizes that `shape` leaves open, with options that state them.

    Several are one message, unless one has a name of its own in `declared`.
    """
    axes = [axis for axis, size in enumerate(shape) if size is None]
    if len(axes) > 1 and not any(declared[axis] for axis in axes):
        listed = f"{', '.join(map(str, axes[:-1]))} and {axes[-1]}"
        whole = "x".join("N" if size is None else str(size) for size in shape)
        option = f"--dim {quote(name)}={whole}"
        yield f"the sizes of axes {listed} are not fixed by the model: add {option}"
        return
    for axis in axes:
        option = _dim_option(name, axis, declared[axis])
        yield f"the size of axis {axis} is not fixed by the model: add {option}"


def _dim_option(name: str, axis: int, size: int | str) -> str:
    """Return the option that states the size of an axis: by the size's name if it needs no quotes.

    `size` is that name, or "" where it has none.
    """
    has_plain_name = size and quote(str(size)) == size
    dim = size if has_plain_name else quote(f"{name}[{axis}]")
    return f"--dim {dim}=SIZE"


def is_of_models(path: Path) -> bool:
    """Return True for a model, a folder of test data, or node tests.

    Raises UsageError for a folder of both case files and test data, and one named as the node
    tests.
    """
    return is_node_tests(path) or path.suffix == SUFFIX or _is_test_data(path)


def is_model(path: Path) -> bool:
    """Return True for the file of a model, by its suffix alone.

    Raises UsageError for node tests if a folder has the same name.
    """
    return path.suffix == SUFFIX and not is_node_tests(path)


def is_node_tests(path: Path) -> bool:
    """Return True if a path names node tests: `onnx-node`, or `onnx-node/PATTERN`.

    Raises UsageError if a folder has the same name.
    """
    if path.parts[:1] != (NODE_TESTS,) or len(path.parts) > 2:
        return False
    if Path(NODE_TESTS).exists():
        both = f"{NODE_TESTS} is the name of the onnx package's node tests, and of a folder here"
        hint = f"{Path.cwd() / path} means the folder; elsewhere, {path} means the tests"
        raise UsageError(both, hint)
    return True


def _node_tests(path: Path) -> list[ModelTest]:
    """Return the tests that `path` names, with or without `test_`; all for `onnx-node`.

    Raises UsageError where there are none.
    """
    tests = test_data.all_node_tests()
    pattern = path.parts[1] if len(path.parts) > 1 else "*"
    wanted = [pattern, f"test_{pattern}"]
    chosen = [test for test in tests if any(fnmatchcase(test.name, one) for one in wanted)]
    if not chosen:
        hint = did_you_mean(pattern, [test.name for test in tests])
        message = f"no node test of the onnx package is called {pattern!r}"
        raise UsageError(message, hint or f"such as '{NODE_TESTS}/test_softmax*'")
    return chosen


def _is_test_data(path: Path) -> bool:
    """Return True if a folder holds tests of models, in itself or below.

    Raises UsageError if it has case files too. False for what is no folder.
    """
    tests: list[Path] = []
    files: list[Path] = []
    for where, folders, names in _walk_tests(path):
        if test_data.is_test([*names, *folders]):
            tests.append(where)
        for name in names:
            if is_yaml(Path(name)) and is_case_file(where / name):
                files.append(where / name)
    if tests and files:
        message = f"{path} holds both case files ({files[0]}) and test data ({tests[0]})"
        raise UsageError(message, "name the one or the other")
    return bool(tests)


def tests_at(root: Path, messages: FileMessages) -> Iterator[Case]:
    """Yield the cases of tests in a folder, or of node tests.

    `messages` has tests that cannot be read, damage of golden files, and tests beyond MAX_HELD
    together, of which no more are read. Raises UsageError for node tests that do not exist.
    """
    if is_node_tests(root):
        for test in _node_tests(root):
            yield from cases_of(test, Source(NODE_TESTS, 0, 0))
        return
    golden = golden_above(root, messages)
    cases: dict[Path, list[Case]] = {}
    room = MAX_HELD
    for folder in _test_folders(root, messages):
        for case in _cases_in_folder(folder, root, messages, answered=golden is None):
            room -= len(case.model or b"") + sum(spec.nbytes for spec in case.inputs)
            if room < 0:
                break
            cases.setdefault(folder, []).append(case)
        if room < 0:
            limit = f"tests of more than {MAX_HELD >> 30} GiB: name fewer of them at once"
            messages.append((root, limit))
            break
    if golden:
        yield from as_cases(golden, root, cases)
    else:
        messages += orphans(cases)
        yield from chain.from_iterable(cases.values())


def _test_folders(root: Path, messages: FileMessages) -> Iterator[Path]:
    """Yield the folders of tests, `root` or below, in order.

    `messages` has folders that cannot be read, and links to folders, which are not followed.
    """

    def unreadable(error: OSError) -> None:
        messages.append((Path(error.filename), UNREADABLE.format(error.strerror)))

    for where, folders, names in _walk_tests(root, unreadable):
        if test_data.is_test([*names, *folders]):
            folders.clear()
            yield where
            continue
        for name in folders:
            if (where / name).is_symlink():
                messages.append((where / name, "links to folders are not followed"))


def _cases_in_folder(
    folder: Path, root: Path, messages: FileMessages, *, answered: bool
) -> Iterator[Case]:
    """Yield the cases of the test in a folder; without outputs it has none if it is `answered`.

    `messages` has what is wrong with the test, which has no cases then.
    """
    name = folder.resolve().name if folder == root else folder.relative_to(root).as_posix()
    if not (name.isprintable() and name.isascii()):
        messages.append((folder, f"a test's name must be printable ASCII, not {name!a}"))
        return
    test = test_data.read_test(folder, name, messages, answered=answered)
    if test:
        yield from cases_of(test, Source(str(root), 0, 0))


def _walk_tests(
    root: Path, onerror: Callable[[OSError], None] | None = None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield the folders below one in order, with the names of folders and files in each.

    The first is `root`. Hidden ones and links are not entered, nor those that the caller takes off
    the list of folders. `onerror` is called for a folder that cannot be read.
    """
    for where, folders, names in os.walk(root, onerror=onerror):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield Path(where), folders, names
