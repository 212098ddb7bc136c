"""From an address to the backend itself, whose code is imported here, in a process of its own.

docs/writing-a-backend.md says where users' modules are looked for.
"""

import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import sysconfig
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

import numpy as np

import opcheck
from opcheck.backends import adapters
from opcheck.backends.address import built_in, entry_points, parse
from opcheck.backends.base import Backend, Prepared, TaskCall, UnusableAnswer, only_nodes, own_part
from opcheck.backends.isolation.cleanup import SCRATCH
from opcheck.dtypes import DType
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError, did_you_mean
from opcheck.model import Array, BackendInfo, Task, Typed

#: Files whose lines say nothing about where somebody's module fails.
_NOT_THEIRS = ("<frozen ", *(f"{m.__path__[0]}{os.sep}" for m in (opcheck, importlib)))
#: Modules whose classes are what others derive from.
_BASES = ("opcheck.", "onnx.backend.base")
Options: TypeAlias = Mapping[str, str]
#: How the addresses of Python objects begin that are asked in the process of the run.
IN_PROCESS = "object"
#: The name, among digests of a backend's files, of the class or function that makes it.
CLASS = "class"
#: What is installed here belongs to somebody, whatever folder it is in.
_INSTALLED = {"site-packages", "dist-packages"}
#: Names that a hint lists of a module without the one asked for.
_SHOWN_NAMES = 12
_CODE = {".py", ".so", ".pyd", ".dylib", ".dll"}


@contextmanager
def blamed(what: str) -> Iterator[None]:
    """Around a user's code: raises BackendUnavailable, `what` with the exception and its place."""
    try:
        yield
    except BackendUnavailable as error:
        raise BackendUnavailable(f"{what}: {error}", error.hint) from error
    except (OpcheckError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # That of a SyntaxError repeats its place.
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        message = f"{what}: {type(error).__name__}"
        if text:
            message += f": {text}"
        place = place_of(error)
        if place:
            message += f" ({place})"
        hint = None
        if isinstance(error, ModuleNotFoundError):
            hint = "install what is missing, or put its folder on PYTHONPATH"
        raise BackendUnavailable(message, hint) from error


def find(kind: str, detail: str | None, methods: Sequence[str]) -> tuple[str, Any, str]:
    """Return the canonical address of `pkg.mod[:Name]`, the object itself, and its version.

    Without a name, the object is one that has one of the methods. From now on, this process
    searches the working directory first. Raises UsageError for no or several such objects, and
    BackendUnavailable for a module that cannot be imported.
    """
    name, colon, path = (detail or "").partition(":")
    if not name or (colon and not path):
        raise UsageError(f"backend {kind!r} needs a module", f"write {kind}:pkg.mod:Class")
    backend = f"{kind}:{detail}"
    # Imported first: a file of the same name in the working directory would take its place.
    import opcheck.graph  # noqa: F401

    if not all(part.isidentifier() for part in name.split(".")):
        file = Path(name if name.endswith(".py") else "pkg/mod.py")
        hint = f"write {'.'.join(file.with_suffix('').parts)}, as Python's import does"
        if file.is_absolute():
            hint = f"write {kind}:{file.stem}, with {file.parent} on PYTHONPATH"
        raise UsageError(f"backend {backend!r}: {name!r} is no name of a module", hint)
    here = str(Path.cwd())
    if sys.path[:1] != [here]:
        sys.path.insert(0, here)
    module = _imported(backend, name, here)
    if path:
        thing = _member(backend, module, path)
    else:
        path, thing = _chosen(backend, module, methods)
    return f"{kind}:{name}:{path}" if path else f"{kind}:{name}", thing, _version(module)


def class_of(thing: Any) -> dict[str, str]:
    """Return where a class or function was defined, whatever name it is found by."""
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "")
    module = _name_of_file(getattr(thing, "__module__", ""))
    return {CLASS: f"{module}.{name}".strip(".")} if isinstance(name, str) else {}


def _name_of_file(module: object) -> object:
    """Return the name of a module by its file, which may have another name as a link."""
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    if not isinstance(module, str) or "." in module or not isinstance(file, str):
        return module
    stem = Path(os.path.realpath(file)).stem
    return module if stem in ("__init__", "__main__") else stem


def accepts(function: Any, *arguments: Any, **more: Any) -> bool:
    """Return True if the function's signature accepts this call."""
    with suppress(TypeError, ValueError):
        inspect.signature(function).bind(*arguments, **more)
        return True
    return False


def _member(backend: str, module: ModuleType, path: str) -> Any:
    """Return the object at a dotted `path` in a module; raises UsageError if there is none."""
    thing: Any = module
    for name in path.split("."):
        with blamed(f"backend {backend!r}: {path!r} cannot be read"):
            if not hasattr(thing, name):
                names = _public_names(thing)
                what = f"module {module.__name__!r}" if thing is module else repr(thing)
                shown = ", ".join(names[:_SHOWN_NAMES]) or "nothing"
                hint = did_you_mean(name, names) or f"it has {shown}"
                raise UsageError(f"backend {backend!r}: {what} has no {name!r}", hint)
            thing = getattr(thing, name)
    return thing


def _public_names(thing: Any) -> list[str]:
    """Return the public names of an object; of a module, those of its own things."""
    names = [name for name in dir(thing) if not name.startswith("_")]
    if not isinstance(thing, ModuleType):
        return names
    here = vars(thing)
    return [name for name in names if name not in here or _is_own(here[name], thing)]


def _is_own(thing: Any, module: ModuleType) -> bool:
    """Return True unless `thing` was imported: its class or function is of the module's package."""
    home = str(getattr(thing, "__module__", ""))
    return home.partition(".")[0] == module.__name__.partition(".")[0]


def _chosen(backend: str, module: ModuleType, methods: Sequence[str]) -> tuple[str, Any]:
    """Return the module, under the name "", or the only class in it with one of the methods."""
    if any(callable(getattr(module, method, None)) for method in methods):
        return "", module
    classes = _classes_with(module, methods)
    if len(classes) == 1:
        (only,) = classes
        return classes[only], only
    kind = backend.partition(":")[0]
    wanted = " or ".join(methods)
    if classes:
        message = f"module {module.__name__!r} has several classes with {wanted}"
        addresses = (f"{kind}:{module.__name__}:{name}" for name in classes.values())
        hint = f"write one of {', '.join(addresses)}"
    else:
        message = f"module {module.__name__!r} has neither {wanted} nor a class with it"
        hint = f"write {kind}:{module.__name__}:Name for what Name is there"
    raise UsageError(f"backend {backend!r}: {message}", hint)


def _classes_with(module: ModuleType, methods: Sequence[str]) -> dict[type, str]:
    """Return the classes of a module that have one of the methods, each with its first name.

    Imported classes count only if the module defines none, and bases that others derive from never.
    """
    classes: dict[type, str] = {}
    for name, thing in vars(module).items():
        if isinstance(thing, type) and any(hasattr(thing, method) for method in methods):
            classes.setdefault(thing, name)
    own = {kind: name for kind, name in classes.items() if kind.__module__ == module.__name__}
    if own:
        return own
    return {kind: name for kind, name in classes.items() if not kind.__module__.startswith(_BASES)}


def _version(module: ModuleType) -> str:
    """Return the version that the module, its package or its distribution states, or ""."""
    package = module.__name__.partition(".")[0]
    top = sys.modules.get(package)
    for stated in (getattr(module, "__version__", None), getattr(top, "__version__", None)):
        if isinstance(stated, str):
            return stated
    return version_of(package)


def version_of(distribution: str) -> str:
    """Return the version of an installed distribution, "" where it is not installed."""
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        return metadata.version(distribution)
    return ""


def _imported(backend: str, name: str, here: str) -> ModuleType:
    """Import a module; raises UsageError if there is none, with what may be meant."""
    parent = name.rpartition(".")[0]
    paths = None
    if parent:
        # A module that is not a package has no __path__, and nothing in it.
        paths = getattr(_imported(backend, parent, here), "__path__", ())
    with blamed(f"backend {backend!r}: module {name!r} cannot be imported"):
        if name in sys.modules or (paths != () and importlib.util.find_spec(name)):
            return importlib.import_module(name)
    # A module with almost this name, from the first of the places that has any.
    start = f"{parent}." if parent else ""
    places: Sequence[Sequence[str] | None] = [[here], None] if paths is None else [paths]
    hint = f"it was looked for in {here}, on PYTHONPATH, and among what is installed"
    for place in places:
        names = [f"{start}{module.name}" for module in pkgutil.iter_modules(place)]
        near = did_you_mean(name, names)
        if near:
            hint = near
            break
    if name.endswith(".py"):
        hint = f"write {name.removesuffix('.py')}, as Python's import does"
    raise UsageError(f"backend {backend!r}: there is no module {name!r}", hint)


def place_of(error: BaseException) -> str:
    """Return file and line where a user's code failed: the last frame in its own folder."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{error.filename}:{error.lineno}"
    places = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    of_user = [(file, line) for file, line in places if not file.startswith(_NOT_THEIRS)]
    if not of_user:
        return ""
    first_file, _ = of_user[0]
    folder = Path(first_file).parent

    def is_in_folder(path: Path) -> bool:
        """Return True for a file in the folder, but for packages installed below it."""
        if not path.is_relative_to(folder):
            return False
        return "site-packages" not in path.relative_to(folder).parts

    inside = [f"{file}:{line}" for file, line in of_user if is_in_folder(Path(file))]
    return inside[-1]


def adapter(kind: str) -> ModuleType:
    """Return the module of a built-in kind; no third party's code is imported yet."""
    # It has `ABOUT`, and `connect(detail, options)`: raises UsageError and BackendUnavailable.
    return importlib.import_module(f"{adapters.__name__}.{kind}")


def connect(text: str) -> Backend:
    """Return the backend, whose own address is canonical; raise UsageError, BackendUnavailable."""
    address = parse(text)
    if address.kind in built_in():
        backend: Backend = adapter(address.kind).connect(address.detail, dict(address.options))
    else:
        point = entry_points()[address.kind]
        with blamed(f"backend {address.kind!r} ({point.value}) cannot be loaded"):
            maker = point.load()
        place = str(replace(address, options=(), accumulate=(), refuses=True))
        version = point.dist.version if point.dist else ""
        backend = made(maker, place, address.detail, dict(address.options), version)
    # There may be more in its address than itself knows of.
    own = backend.info
    info = replace(
        own,
        address=address.at(own.address),
        accumulate=address.accumulate or own.accumulate,
        refuses=address.refuses and own.refuses,
    )
    return replace(backend, info=info)


def made(maker: Any, address: str, detail: str | None, options: Options, version: str) -> Backend:
    """Return the backend `maker(detail, **options)`, or `maker(**options)` without a detail.

    A `maker` that cannot be called is the backend itself. `version` is for one that states none.
    Raises UsageError for wrong options or a violated protocol, and BackendUnavailable if it raises.
    """
    backend = maker
    if callable(maker):
        arguments = () if detail is None else (detail,)
        _check_call(maker, address, arguments, options)
        with blamed(f"backend {address!r} cannot be made"):
            backend = maker(*arguments, **options)
    elif options or detail is not None:
        raise UsageError(f"backend {address!r} takes neither a detail nor options")
    with blamed(f"backend {address!r} cannot be asked what it is"):
        if not callable(getattr(backend, "prepare", None)):
            lacks = "a prepare that is no method" if hasattr(backend, "prepare") else "no prepare"
            hint = "a backend has prepare(task), which returns an object with run(inputs)"
            raise UsageError(f"backend {address!r}: {type(backend).__name__} has {lacks}", hint)
        stated = _stated(backend, address)
        declares = getattr(backend, "declares", None)
    documented = stated.pop("documented_errors", ())
    info = replace(BackendInfo(address, address.partition(":")[0], version), **stated)

    def prepare(task: Task) -> Prepared:
        if task.model is not None:
            from opcheck.graph import with_weights

            with own_part():
                task = with_weights(task)
        return runnable(backend.prepare(task))

    return Backend(info, documented, prepare, declares)


def runnable(prepared: Any) -> Prepared:
    """Return `prepared` itself; raise UnusableAnswer where it cannot run."""
    if not callable(getattr(prepared, "run", None)):
        name = type(prepared).__name__
        raise UnusableAnswer(f"prepare returned {name}, which has no run(inputs)")
    return prepared  # type: ignore[no-any-return]


def of_object(thing: Any) -> Backend:
    """Make a backend of a Python object: one with `prepare`, or a function of one operator.

    A function is called with the operator's inputs in order, None for a missing one, and with the
    attributes that the case states by name. It returns the output, or a tuple of outputs.
    NotImplementedError means not implemented; any other exception is a refusal.
    """
    name = getattr(thing, "__name__", None) or type(thing).__name__
    address = f"{IN_PROCESS}:{name}"
    if hasattr(thing, "prepare"):
        return made(thing, address, None, {}, "")
    if not callable(thing):
        hint = "a backend is an address, a function, or an object with prepare(task)"
        raise UsageError(f"{thing!r} is no backend", hint)

    def prepare(task: Task) -> Prepared:
        only_nodes(task, address)
        plain = {
            name: value.value if isinstance(value, Typed) else value
            for name, value in task.attrs.items()
        }

        def run(inputs: Sequence[Array]) -> Any:
            outputs = thing(*task.operands(inputs), **plain)
            if not isinstance(outputs, tuple):
                return outputs
            # A function does not know which outputs the case uses, and returns the others too.
            return tuple(outputs[place] for place in task.places if place < len(outputs))

        return TaskCall(run)

    return Backend(BackendInfo(address, IN_PROCESS, ""), (), prepare)


def _check_call(maker: Any, address: str, arguments: tuple[str, ...], options: Options) -> None:
    """Raise UsageError for what its signature does not allow, if it has one."""
    try:
        signature = inspect.signature(maker)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        unknown = [name for name in options if name not in signature.parameters]
        near = did_you_mean(unknown[0], signature.parameters) if unknown else None
        hint = near or f"it is made by {getattr(maker, '__name__', 'a call')}{signature}"
        raise UsageError(f"backend {address!r} cannot be made so: {error}", hint) from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_truth_value(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return value is None or type(value) is int


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _are_exceptions(value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return False
    return all(isinstance(item, type) and issubclass(item, BaseException) for item in value)


#: What a backend may state beside `prepare`: what it must be, in words and as a test.
_STATED: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "version": ("a string", _is_text),
    "repeatable": ("True or False", _is_truth_value),
    "refuses": ("True or False", _is_truth_value),
    "threads": ("a whole number or None", _is_count),
    "devices": ("a list of strings", _are_texts),
    "documented_errors": ("a list of exception types", _are_exceptions),
}


def _stated(backend: Any, address: str) -> dict[str, Any]:
    """Return what a backend states about itself; raises UsageError for a value of a wrong type."""
    stated = {}
    for name, (meant, fits) in _STATED.items():
        if hasattr(backend, name):
            value = getattr(backend, name)
            if not fits(value):
                raise UsageError(f"backend {address!r}: its {name} is {value!r}, not {meant}")
            stated[name] = tuple(value) if isinstance(value, list) else value
    return stated


def address_of(address: str) -> str:
    """Return the address of a backend whose answers are the declarations of `address`."""
    # A backend may have a method `declares(task)`, which returns True, False, or None if it does
    # not say. It may break, hang or die like any other, so it is asked in a process of its own.
    # Quoted, because options of its own would be taken for this one's.
    return f"py:{__name__}:declarations?of={quote(address, safe='')}"


def meant(answer: Array) -> bool | None:
    """Interpret the answer of such a backend."""
    return None if answer < 0 else bool(answer)


def lead_dtype(task: Task) -> DType | None:
    """Return the dtype that kernels differ by; None where that is of a constant input."""
    from opcheck.engine import dtype_of, leading

    name = leading(task.op, task.slots)
    lead = next((tensor.dtype for tensor in task.inputs if tensor.name == name), None)
    return dtype_of(task.op, task.attrs, lead)


def declarations(of: str) -> SimpleNamespace:
    """Make the backend of `address_of`, which asks; whatever comes up is the answer."""
    declares = connect(unquote(of)).declares

    def prepare(task: Task) -> TaskCall:
        return declaration(declares(task) if declares else None)

    return SimpleNamespace(repeatable=False, prepare=prepare)


def declaration(answer: bool | None) -> TaskCall:
    """Return a task that answers with a tensor: 1, 0, or -1 for nothing."""

    def run(inputs: Sequence[Array]) -> list[Array]:
        if answer not in (True, False, None):
            raise TypeError(f"declares returned {answer!r}, not True, False or None")
        return [np.array(-1 if answer is None else answer, np.int8)]

    return TaskCall(run)


def loaded() -> set[str]:
    """Return the files of this process's modules and shared libraries."""
    files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
    with suppress(OSError):  # no Linux
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            _, permissions, *_, path = line.split(maxsplit=5)
            if "x" in permissions:
                files.add(path)
    return {
        os.path.realpath(file) for file in files if isinstance(file, str) and Path(file).is_file()
    }


def made_of(files: Iterable[str]) -> dict[str, str]:
    """Return digests of the code in `files`, by the names of packages, modules and libraries."""
    # Of a package that is not installed all code counts. Files of Python, the system or opcheck do
    # not, nor libraries in the folder for temporary files. What is loaded later is unknown.
    roots = sorted({os.path.realpath(entry) for entry in (*sys.path, str(Path.cwd()))}, key=len)
    made_here = os.path.realpath(tempfile.gettempdir())
    parts: dict[str, set[Path]] = defaultdict(set)
    for file in filter(_is_foreign, map(Path, files)):
        root = next((entry for entry in reversed(roots) if file.is_relative_to(entry)), None)
        if root is None and file.is_relative_to(made_here):
            continue
        top = Path(root, file.relative_to(root).parts[0]) if root else file
        is_source = (top / "__init__.py").is_file() and not _INSTALLED & {*top.parts}
        code = parts[top.name.partition(".")[0]]
        code.add(file)
        if is_source:
            code.update(_code_in(top))
    # The name of a single file does not count, so that a copy of a module has the same digest.
    return {name: digest(parts[name], named=len(parts[name]) > 1) for name in sorted(parts)}


#: So many bytes are read in some milliseconds.
_SOON_READ = 4 << 20


def digest(paths: Iterable[Path], *, named: bool = True) -> str:
    """Return a digest of what files hold, in the order of their paths; `named`: of names, too."""
    stats = {}
    for path in sorted(paths):
        with suppress(OSError):  # gone meanwhile
            stats[path] = path.stat()
    stamps = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats.items()]
    # Later processes of the same run need not read large files again that have not changed since.
    name = sha256("\n".join([str(named), *stamps]).encode()).hexdigest()
    memory = Path(os.environ.get(SCRATCH, "")).parent / name
    with suppress(OSError):
        return memory.read_text()
    total = sha256()
    for path, stamp in zip(stats, stamps, strict=True):
        try:
            with path.open("rb") as file:
                sha = file_digest(file, "sha256").hexdigest()
        except OSError:  # a program that may be run, and not be read
            sha = stamp
        total.update(f"{path.name if named else ''}\0{sha}\n".encode())
    short = total.hexdigest()[:16]
    if SCRATCH in os.environ and sum(stat.st_size for stat in stats.values()) > _SOON_READ:
        with suppress(OSError):
            part = memory.with_name(f"{name}.{os.getpid()}")
            part.write_text(short)
            part.replace(memory)
    return short


def _code_in(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._" and name not in _INSTALLED]
        yield from (Path(where, name) for name in names if Path(name).suffix in _CODE)


def _is_foreign(file: Path) -> bool:
    """Return True if a file belongs neither to Python, nor to the system, nor to opcheck."""
    if any(map(file.is_relative_to, map(os.path.realpath, opcheck.__path__))):
        return False
    python = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    system = map(os.path.realpath, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", *python))
    return bool(_INSTALLED & {*file.parts}) or not any(map(file.is_relative_to, system))
