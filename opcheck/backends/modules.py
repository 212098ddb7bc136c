"""Users' Python modules: found by name, with problems reported in a sentence.

They are looked for in the working directory, on PYTHONPATH, and among what is installed, in this
order. Mind that a file in the working directory that is named like an engine, `openvino.py` or
`torch.py`, then stands in the engine's place for everyone who imports it; name it `my_openvino.py`.
"""

import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import opcheck
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError, did_you_mean

#: Files whose lines say nothing about where somebody's module fails.
_NOT_THEIRS = ("<frozen ", *(f"{m.__path__[0]}{os.sep}" for m in (opcheck, importlib)))

#: Modules whose classes are what others derive from.
_BASES = ("opcheck.", "onnx.backend.base")


@contextmanager
def blamed(what: str) -> Iterator[None]:
    """Around what somebody's code does: raises BackendUnavailable for whatever it raises.

    `what` begins the sentence that ends with the exception and its place. OpcheckErrors pass.
    """
    try:
        yield
    except (OpcheckError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # That of a SyntaxError repeats its place.
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        said = f"{type(error).__name__}: {text}" if text else type(error).__name__
        place = place_of(error)
        hint = None
        if isinstance(error, ModuleNotFoundError):
            hint = "install what is missing, or put its folder on PYTHONPATH"
        raise BackendUnavailable(f"{what}: {said}{place and f' ({place})'}", hint) from error


def find(kind: str, detail: str | None, methods: Sequence[str]) -> tuple[str, Any, str]:
    """The canonical address of `pkg.mod[:Name]`, the thing itself, and its version.

    Without a name, it is what has one of the methods. From now on, this process searches the
    working directory first.

    Raises:
        UsageError: it means nothing, or several things.
        BackendUnavailable: the module cannot be imported.
    """
    name, colon, path = (detail or "").partition(":")
    if not name or (colon and not path):
        raise UsageError(f"backend {kind!r} needs a module", f"write {kind}:pkg.mod:Class")
    backend = f"{kind}:{detail}"
    module = _load(backend, name)
    if path:
        thing = _member(backend, module, path)
    else:
        path, thing = _chosen(backend, module, methods)
    return f"{kind}:{name}:{path}" if path else f"{kind}:{name}", thing, _version(module)


def accepts(function: Any, *arguments: Any, **more: Any) -> bool:
    """Return True if the function's signature accepts this call."""
    try:
        inspect.signature(function).bind(*arguments, **more)
    except (TypeError, ValueError):
        return False
    return True


def _load(backend: str, name: str) -> ModuleType:
    # Imported before, lest a file of the same name in the working directory takes its place.
    import opcheck.graph  # noqa: F401

    if not all(part.isidentifier() for part in name.split(".")):
        stem = ".".join(Path(name).with_suffix("").parts) if name.endswith(".py") else "pkg.mod"
        hint = f"write {stem}, as Python's import does"
        raise UsageError(f"backend {backend!r}: {name!r} is no name of a module", hint)
    here = str(Path.cwd())
    if sys.path[:1] != [here]:
        sys.path.insert(0, here)
    return _imported(backend, name, here)


def _member(backend: str, module: ModuleType, path: str) -> Any:
    """Return the member of the module that `path` names, with dots between names."""
    found: Any = module
    for name in path.split("."):
        with blamed(f"backend {backend!r}: {path!r} cannot be read"):
            names = [known for known in dir(found) if not known.startswith("_")]
            if not hasattr(found, name):
                what = f"module {module.__name__!r}" if found is module else repr(found)
                hint = did_you_mean(name, names) or f"it has {', '.join(names[:12]) or 'nothing'}"
                raise UsageError(f"backend {backend!r}: {what} has no {name!r}", hint)
            found = getattr(found, name)
    return found


def _chosen(backend: str, module: ModuleType, methods: Sequence[str]) -> tuple[str, Any]:
    """The module itself, which goes by "", or the only class in it with one of the methods."""
    if any(callable(getattr(module, method, None)) for method in methods):
        return "", module
    classes: dict[type, str] = {}
    for name, thing in vars(module).items():
        if isinstance(thing, type) and any(hasattr(thing, method) for method in methods):
            classes.setdefault(thing, name)
    own = [thing for thing in classes if thing.__module__ == module.__name__]
    meant = own or [thing for thing in classes if not thing.__module__.startswith(_BASES)]
    if len(meant) == 1:
        return classes[meant[0]], meant[0]
    kind = backend.partition(":")[0]
    wanted = " or ".join(methods)
    if meant:
        message = f"module {module.__name__!r} has several classes with {wanted}"
        spelt = (f"{kind}:{module.__name__}:{classes[thing]}" for thing in meant)
        hint = f"write one of {', '.join(spelt)}"
    else:
        message = f"module {module.__name__!r} has neither {wanted} nor a class with it"
        hint = f"write {kind}:{module.__name__}:Name for what Name is there"
    raise UsageError(f"backend {backend!r}: {message}", hint)


def _version(module: ModuleType) -> str:
    """The version that the module or its package states, or that was installed; "" for none."""
    package = module.__name__.partition(".")[0]
    top = sys.modules.get(package)
    for stated in (getattr(module, "__version__", None), getattr(top, "__version__", None)):
        if isinstance(stated, str):
            return stated
    return version_of(package)


def version_of(distribution: str) -> str:
    """The version of an installed distribution, "" where it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _imported(backend: str, name: str, here: str) -> ModuleType:
    parent = name.rpartition(".")[0]
    # A module that is no package has no __path__, and nothing in it.
    paths = getattr(_imported(backend, parent, here), "__path__", ()) if parent else None
    with blamed(f"backend {backend!r}: module {name!r} cannot be imported"):
        if name in sys.modules or (paths != () and importlib.util.find_spec(name)):
            return importlib.import_module(name)
    # A module with almost this name, from the first of the places that has any.
    start = name[: name.rfind(".") + 1]
    places: Sequence[Sequence[str] | None] = [[here], None] if paths is None else [paths]
    known = ([f"{start}{m.name}" for m in pkgutil.iter_modules(place)] for place in places)
    near = next(filter(None, (did_you_mean(name, names) for names in known)), None)
    looked = f"it was looked for in {here}, on PYTHONPATH, and among what is installed"
    if name.endswith(".py"):
        near = f"write {name.removesuffix('.py')}, as Python's import does"
    raise UsageError(f"backend {backend!r}: there is no module {name!r}", near or looked)


def place_of(error: BaseException) -> str:
    """File and line where somebody's code failed: the last frame in the folder it lies in."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{error.filename}:{error.lineno}"
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    theirs = [(file, line) for file, line in frames if not file.startswith(_NOT_THEIRS)]
    if not theirs:
        return ""
    folder = Path(theirs[0][0]).parent
    near = [
        f"{file}:{line}"
        for file, line in theirs
        if Path(file).is_relative_to(folder)
        and "site-packages" not in Path(file).relative_to(folder).parts
    ]
    return near[-1]
