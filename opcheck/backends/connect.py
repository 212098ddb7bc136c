"""From an address to the backend itself: here its code is imported.

That belongs in a process of its own; see `opcheck.backends.isolation`.

Somebody's own class or function is called with the options of the address as keywords, whose values
are strings, and with the detail before them where there is one. What it returns needs
`prepare(task)`, which returns an object with `run(inputs)`. `version`, `documented_errors`,
`devices`, `threads` and `repeatable` are attributes that it may have.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from opcheck.backends import adapters
from opcheck.backends.address import Address, built_in, entry_points, parse
from opcheck.backends.base import Adapted, Backend, Prepared, UnusableAnswer, only_nodes
from opcheck.backends.modules import blamed
from opcheck.errors import UsageError, did_you_mean
from opcheck.model import Array, BackendInfo, Task, Typed

#: How the addresses of Python objects begin that are asked in the process of the run.
IN_PROCESS = "object"


def adapter(kind: str) -> ModuleType:
    """The file for a kind that is built in; no third party's code is imported yet.

    `ABOUT` describes the kind. `connect(detail, options)` gives the backend; it raises UsageError
    for what has no sense, BackendUnavailable otherwise.
    """
    return importlib.import_module(f"{adapters.__name__}.{kind}")


def connect(address: Address | str) -> Backend:
    """The backend at `address`, whose own spelling of it is the canonical one.

    Raises:
        UsageError: a detail or an option that the backend has no use for.
        BackendUnavailable: it exists but cannot be used here; the hint says what to do.
    """
    if isinstance(address, str):
        address = parse(address)
    if address.kind in built_in():
        backend: Backend = adapter(address.kind).connect(address.detail, dict(address.options))
    else:
        point = entry_points()[address.kind]
        with blamed(f"backend {address.kind!r} ({point.value}) cannot be loaded"):
            maker = point.load()
        place = str(replace(address, options=(), accumulate=()))
        version = point.dist.version if point.dist else ""
        backend = made(maker, place, address.detail, dict(address.options), version)
    spelt = address.at(backend.info.address)
    if spelt == backend.info.address:
        return backend
    # There is more in its address than itself knows of.
    info = replace(backend.info, address=spelt, accumulate=address.accumulate)
    declares = getattr(backend, "declares", None)
    return Adapted(info, backend.documented_errors, backend.prepare, declares)


def made(
    maker: Any, address: str, detail: str | None, options: Mapping[str, str], version: str
) -> Backend:
    """The backend that `maker(detail, **options)` is, in the clothes of the protocol.

    Without a detail, it is `maker(**options)`. What cannot be called is the backend itself.
    `version` is for one that states none.

    Raises:
        UsageError: these options cannot be given to it, or it does not follow the protocol.
        BackendUnavailable: it raises.
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
            raise UsageError(
                f"backend {address!r}: {type(backend).__name__} has {lacks}",
                "a backend has prepare(task), which returns an object with run(inputs)",
            )
        stated, declares = _stated(backend, address), getattr(backend, "declares", None)
    documented = stated.pop("documented_errors", ())
    info = BackendInfo(address, address.partition(":")[0], version)

    def prepare(task: Task) -> Prepared:
        return runnable(backend.prepare(task))

    return Adapted(replace(info, **stated), documented, prepare, declares)


def runnable(prepared: Any) -> Prepared:
    """`prepared` itself; raises UnusableAnswer where it cannot run."""
    if not callable(getattr(prepared, "run", None)):
        said = f"prepare returned {type(prepared).__name__}, which has no run(inputs)"
        raise UnusableAnswer(said)
    return prepared  # type: ignore[no-any-return]


def of_object(thing: Any) -> Backend:
    """The backend that a Python object is: one with `prepare`, or a function of one operator.

    A function is called with the operator's inputs in order, None for one that is left out, and
    with the attributes that the case states by name; it returns the output, or a tuple of them, of
    which those that nobody asked for are dropped. It
    raises NotImplementedError for what it does not implement; any other exception is a refusal.
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
        return _Called(thing, task)

    return Adapted(BackendInfo(address, IN_PROCESS, ""), (), prepare)


@dataclass(frozen=True)
class _Called:
    """A task whose runs are calls of a function."""

    function: Callable[..., Any]
    task: Task

    def run(self, inputs: Sequence[Array]) -> Any:
        attrs = {
            name: value.value if isinstance(value, Typed) else value
            for name, value in self.task.attrs.items()
        }
        found = self.function(*self.task.operands(inputs), **attrs)
        # A function is not told which outputs are asked for: what is behind those is not looked at.
        return found[: len(self.task.outputs)] if isinstance(found, tuple) else found


def _check_call(
    maker: Any, address: str, arguments: tuple[str, ...], options: Mapping[str, str]
) -> None:
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


def _each(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(isinstance(v, kind) for v in value)


#: What a backend may state beside `prepare`: what it must be, in words and as a test.
_STATED: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "version": ("a string", lambda value: isinstance(value, str)),
    "repeatable": ("True or False", lambda value: isinstance(value, bool)),
    "threads": ("a whole number or None", lambda value: value is None or type(value) is int),
    "devices": ("a list of strings", _each(str)),
    "documented_errors": (
        "a list of exception types",
        lambda value: _each(type)(value) and all(issubclass(v, BaseException) for v in value),
    ),
}


def _stated(backend: Any, address: str) -> dict[str, Any]:
    found = {}
    for name, (meant, fits) in _STATED.items():
        if hasattr(backend, name):
            value = getattr(backend, name)
            if not fits(value):
                raise UsageError(f"backend {address!r}: its {name} is {value!r}, not {meant}")
            found[name] = tuple(value) if isinstance(value, list) else value
    return found
