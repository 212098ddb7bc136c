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
    """A case for each data set of a test, judged by the test's tolerance as ONNX's runner does."""
    random = test_data.random_outputs(test.model)
    outputs = [info.name for info in test.model.graph.output]
    for data in test.data_sets:
        row = str(data.number) if len(test.data_sets) > 1 else None
        inputs, ports = _specs([info.name for info in test.fed], data.inputs)
        wanted, wanted_ports = _specs(outputs, data.outputs)
        floats = {spec.dtype.name for spec in wanted if spec.dtype.kind == "float"}
        # Of bfloat16 alone, ONNX's runner admits two ULP at the least.
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
    """A model on these inputs; backends are to agree on it."""
    node = stated(proto)
    # The initializers that the node reads, and nobody feeds.
    unfed = {*node.slots} - {"", *(port.name for port in ports)} if node else set[str]()
    found = initializers(proto, unfed)
    constants = tuple(_spec(name, array, initializer=True) for name, array in found.items())
    # The engine takes plain tensors of its own types; a sparse one is not found.
    plain = all(port.form == "tensor" for port in ports) and unfed <= found.keys()
    known = node if node and engine.operator_of(node.op) and node.plain and plain else None
    # An operator of the engine on other inputs is a graph like any other.
    alone = node if node and not engine.operator_of(node.op) else known
    types = {spec.dtype for spec in inputs}
    slots = known.output_slots if known else ()
    return Case(
        id=name,
        name=name,
        op=alone.op if alone else model.GRAPH,
        opset=node.opset if node else opset_of(proto),
        dtype=types.pop() if len(types) == 1 else None,
        attrs=alone.attrs if alone else {},
        inputs=(*inputs, *constants) if known else inputs,
        slots=known.slots if known else (),
        outputs=tuple(
            model.OutputSpec(it.name, None, slots.index(it.name) if known else None)
            for it in proto.graph.output
        ),
        expect=model.Agreement(),
        source=source,
        model=proto.SerializeToString(deterministic=True),
        ports=ports,
    )


def _specs(names: Sequence[str], values: Sequence[Value]) -> tuple[Tensors, tuple[Port, ...]]:
    tensors: list[TensorSpec] = []
    ports = []
    for name, value in zip(names, values, strict=False):
        match value:
            case None:
                ports.append(Port(name, "nothing", 0))
            case list():
                ports.append(Port(name, "sequence", len(value)))
                tensors += [_spec(f"{name}[{place}]", one) for place, one in enumerate(value)]
            case array:
                ports.append(Port(name))
                tensors.append(_spec(name, array))
    return tuple(tensors), tuple(ports)


def _spec(name: str, array: Array, *, initializer: bool = False) -> TensorSpec:
    dtype = dtypes.of(array)
    assert dtype
    return TensorSpec(name, dtype, array.shape, model.Given(array), initializer=initializer)


class DimSizes:
    """The sizes that a user gave, by the names of dimensions or as INPUT[AXIS]."""

    def __init__(self, given: Mapping[str, int], fed: Mapping[str, int] | None = None) -> None:
        #: Those that the files of inputs have, as INPUT[AXIS], come first.
        self.given = {**given, **(fed or {})}
        #: The names of open sizes of inputs, and the symbols of all other tensors.
        self.known: set[str] = set()
        self.symbols: set[str] = set()
        self.used: set[str] = set()
        #: How many models were noted.
        self.models = 0

    def note(self, proto: ModelProto) -> None:
        """Take down the names of a model's sizes, whatever becomes of the model."""
        self.models += 1
        for info in test_data.fed_by_default(proto):
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if not dim.HasField("dim_value") or dim.dim_value < 0:
                    names = (dim.dim_param, f"{info.name}[{axis}]")
                    self.known.update(filter(None, names))
        for shape in onnx_defs.messages(proto.graph, TensorShapeProto):
            self.symbols.update(dim.dim_param for dim in shape.dim)

    def of(self, name: str, axis: int, size: int | str) -> int | None:
        """The size of an axis, None if unknown."""
        place = f"{name}[{axis}]"
        if isinstance(size, int):
            return size
        keys = [key for key in (place, size) if key in self.given]
        if len({self.given[key] for key in keys}) > 1:
            said = " and ".join(f"{key} is {self.given[key]}" for key in keys)
            raise UsageError(f"axis {axis} of {name!r} has two sizes: {said}")
        self.used.update(keys[:1])
        return self.given[keys[0]] if keys else None

    def check(self) -> None:
        """Raise UsageError for sizes that no model has; every model must have been read."""
        here = f"there are {', '.join(sorted(self.known))}" if self.known else None
        for name in (name for name in self.given if name not in self.known):
            if name in self.symbols:
                where = "no input has a size of that name, and inputs decide all other sizes"
                raise UsageError(f"--dim {name}: {where}", here)
            hint = did_you_mean(name, self.known) or here or "no input has an open size"
            raise UsageError(f"--dim {name}: no model here has a size of that name", hint)


def case_of_model(
    path: Path, sizes: DimSizes, messages: FileMessages, fed: Mapping[str, Array] | None = None
) -> Case | None:
    """The model in a file as a case, on inputs `fed` or made up; or None and `messages` on it."""
    known = len(messages)
    if not (str(path).isprintable() and str(path).isascii()):
        messages.append((path, "the name must be printable ASCII"))
        return None
    beyond = ""
    sizes.used.clear()
    specs: list[TensorSpec] = []
    try:
        proto = test_data.read_model(path)
        sizes.note(proto)
        if random := test_data.random_outputs(proto):
            raise BeyondOpcheck(f"outputs that are drawn at random: {', '.join(sorted(random))}")
        if others := [o.name for o in proto.graph.output if not o.type.HasField("tensor_type")]:
            raise BeyondOpcheck(f"outputs that are sequences or optionals: {', '.join(others)}")
        if hidden := [f.name for f in proto.functions if opset.versions(f.domain, f.name)]:
            what = "functions named as operators of ONNX, which a backend may take or not"
            raise BeyondOpcheck(f"{what}: {', '.join(hidden)}")
        if opset_of(proto) > (newest := opset.newest("")):
            raise BeyondOpcheck(f"opset {opset_of(proto)}: the installed onnx ends at {newest}")
        specs = [*_inputs(test_data.declared_inputs(proto), sizes, messages, path)]
        if fed:
            specs = [replace(one, content=model.Given(fed[one.name])) for one in specs]
    except BeyondOpcheck as error:
        beyond = str(error)
    except ValueError as error:
        messages.append((path, str(error)))
    else:
        if not proto.graph.output:
            messages.append((path, "this model has no outputs"))
    if len(messages) > known:
        return None
    ports = tuple(Port(spec.name) for spec in specs)
    case = _case(proto, path.as_posix(), tuple(specs), ports, Source(str(path), 0, 0))
    said = tuple(f"--dim={name}={sizes.given[name]}" for name in sorted(sizes.used))
    case = replace(case, beyond=beyond, said=said)
    if not beyond and _is_known(case.model or b""):
        return replace(case, expect=model.Computed(), empty="it is what the model gives")
    # How far answers may lie apart. Errors add up over a graph, so that this is more than ONNX's
    # runner allows one node.
    return replace(case, tolerance=Tolerance(rtol=1e-3, atol=1e-4))


def fed_from(path: Path, folder: Path) -> tuple[dict[str, Array], dict[str, int]]:
    """Inputs of the model at `path` from files in `folder`, and the open sizes that they have.

    The files are NAME.npy, or input_0.pb … in the order of the model's inputs. Raises UsageError.
    """
    found: dict[str, Array] = {}
    sizes: dict[str, int] = {}
    try:
        declared = [*test_data.declared_inputs(test_data.read_model(path))]
    except (OSError, ValueError, BeyondOpcheck) as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        used = {f"{name}.npy" for name, *_ in declared}
        if others := sorted({file.name for file in folder.glob("*.npy")} - used):
            raise UsageError(f"{folder}: no input has the name of {few(others)}")
        for number, (name, dtype, shape) in enumerate(declared):
            file, numbered = folder / f"{name}.npy", folder / f"input_{number}.pb"
            if file.is_file() and numbered.is_file():
                raise UsageError(f"{folder} has both {file.name} and {numbered.name}")
            if not (file.is_file() or numbered.exists()):
                raise UsageError(f"{folder} has neither {file.name} nor {numbered.name}")
            array = read_npy(file) if file.is_file() else read_tensor(numbered)
            shape = array.shape if shape is None else shape
            axes = [*zip(shape, array.shape, strict=False)]
            fits = all(isinstance(own, str) or own == size for own, size in axes)
            if dtypes.of(array) != dtype or len(shape) != array.ndim or not fits:
                asked = f"{dtype}[{', '.join(str(one) or '?' for one in shape)}]"
                here = f"{dtypes.of(array) or array.dtype}{[*array.shape]}"
                raise UsageError(f"{folder}: input {name!r} is {here}, and {asked} is asked for")
            found[name] = array
            opened = (n for n, (own, _) in enumerate(axes) if isinstance(own, str))
            sizes |= {f"{name}[{n}]": array.shape[n] for n in opened}
    except (OSError, ValueError, BeyondOpcheck) as error:
        raise UsageError(f"{folder}: {error}") from None
    return found, sizes


def _is_known(data: bytes) -> bool:
    """Return True if the engine computes all operators of a model, those in its graphs too."""
    try:
        todo = [onnx_defs.model_body(data)]
    except ValueError:
        return False
    while todo:
        for node in todo.pop().nodes:
            todo += node.graphs
            if engine.operator_of(node.op) is None:
                return False
    return True


def _inputs(
    declared: Iterable[DeclaredTensor], sizes: DimSizes, messages: FileMessages, path: Path
) -> Iterator[TensorSpec]:
    for seed, (name, dtype, declared_sizes) in enumerate(declared):
        if dtype.kind not in _FILLS:
            raise BeyondOpcheck(f"no values are made up for {dtype} (input {name!r})")
        if declared_sizes is None:
            messages.append((path, f"input {name!r} is declared without a shape"))
            continue
        shape: list[int] = []
        for axis, declared_size in enumerate(declared_sizes):
            if (size := sizes.of(name, axis, declared_size)) is None:
                plain = declared_size and quote(str(declared_size)) == declared_size
                dim = declared_size if plain else quote(f"{name}[{axis}]")
                unsaid = f"nobody says how large axis {axis} is: --dim {dim}=N"
                messages.append((path, f"input {name!r}: {unsaid}"))
            else:
                shape.append(size)
        if len(shape) < len(declared_sizes):
            continue
        if any(size < 0 for size in shape) or prod(shape) > MAX_ELEMENTS:
            limit = f"at most {MAX_ELEMENTS:,} elements are made up, and no negative sizes"
            messages.append((path, f"input {name!r} is declared as {dtype}{shape}: {limit}"))
            continue
        yield TensorSpec(name, dtype, tuple(shape), model.Fill(*_FILLS[dtype.kind], seed))


def is_of_models(path: Path) -> bool:
    """Return True for a model, a folder of test data, or node tests."""
    return is_node_tests(path) or path.suffix == SUFFIX or _is_test_data(path)


def is_node_tests(path: Path) -> bool:
    """Return True if a path names node tests; raises UsageError if a folder has the same name."""
    if path.parts[:1] != (NODE_TESTS,) or len(path.parts) > 2:
        return False
    if Path(NODE_TESTS).exists():
        both = f"{NODE_TESTS} is the name of the onnx package's node tests, and of a folder here"
        hint = f"{Path.cwd() / path} means the folder; elsewhere, {path} means the tests"
        raise UsageError(both, hint)
    return True


def _node_tests(path: Path) -> list[ModelTest]:
    """The tests that `path` names; raises UsageError where there are none."""
    tests = test_data.all_node_tests()
    pattern = path.parts[1] if len(path.parts) > 1 else "*"
    wanted = [pattern, f"test_{pattern}"]
    found = [test for test in tests if any(fnmatchcase(test.name, one) for one in wanted)]
    if not found:
        hint = did_you_mean(pattern, [test.name for test in tests])
        message = f"no node test of the onnx package is called {pattern!r}"
        raise UsageError(message, hint or f"such as '{NODE_TESTS}/test_softmax*'")
    return found


def _is_test_data(path: Path) -> bool:
    """Return True if a folder holds tests of models; raises UsageError if it has case files too."""
    tests: list[Path] = []
    files: list[Path] = []
    for where, folders, names in _walk_tests(path):
        tests += [where] if test_data.is_test([*names, *folders]) else []
        yaml_files = (where / name for name in names if is_yaml(Path(name)))
        files += filter(is_case_file, yaml_files)
    if tests and files:
        message = f"{path} holds both case files ({files[0]}) and test data ({tests[0]})"
        raise UsageError(message, "name the one or the other")
    return bool(tests)


def tests_at(root: Path, messages: FileMessages) -> Iterator[Case]:
    """The cases of tests in a folder, or of node tests; `messages` say which cannot be read."""
    if is_node_tests(root):
        yield from chain(*(cases_of(one, Source(NODE_TESTS, 0, 0)) for one in _node_tests(root)))
        return
    golden = golden_above(root, messages)
    found: dict[Path, list[Case]] = {}
    room = MAX_HELD

    def unreadable(error: OSError) -> None:
        messages.append((Path(error.filename), UNREADABLE.format(error.strerror)))

    for where, folders, names in _walk_tests(root, unreadable):
        if not test_data.is_test([*names, *folders]):
            for link in (where / name for name in folders if (where / name).is_symlink()):
                messages.append((link, "links to folders are not followed"))
            continue
        folders.clear()
        name = where.relative_to(root).as_posix() if where != root else where.resolve().name
        if not (name.isprintable() and name.isascii()):
            messages.append((where, f"a test's name must be printable ASCII, not {name!a}"))
            continue
        test = test_data.read_test(where, name, messages, answered=golden is None)
        for case in cases_of(test, Source(str(root), 0, 0)) if test else ():
            room -= len(case.model or b"") + sum(spec.nbytes for spec in case.inputs)
            if room < 0:
                limit = f"tests of more than {MAX_HELD >> 30} GiB: name fewer of them at once"
                messages.append((root, limit))
                break
            found.setdefault(where, []).append(case)
        if room < 0:
            break
    if golden:
        yield from as_cases(golden, root, found)
    else:
        messages += orphans(found)
        yield from chain.from_iterable(found.values())


def _walk_tests(
    root: Path, onerror: Callable[[OSError], None] | None = None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Folders below one, in order, nothing hidden; folders that are links are not entered."""
    for where, folders, names in os.walk(root, onerror=onerror):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield Path(where), folders, names
