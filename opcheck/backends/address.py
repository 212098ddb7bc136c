"""From an address on the command line, `kind[:detail][?accumulate=…]`, to a backend."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, replace
from typing import Protocol, cast

from opcheck.backends.base import Backend, Prepared
from opcheck.errors import UsageError, did_you_mean
from opcheck.model import BackendInfo, Task

#: The backends of a run that names none.
DEFAULT = ("numpy", "onnxruntime", "reference")

_ADAPTERS = "opcheck.backends.adapters"

#: The arithmetic that a backend may be declared to compute in: see BackendInfo.
_ACCUMULATE = ("bfloat16", "float16", "stored")


class Adapter(Protocol):
    """A file in `backends/adapters/`, named like the kind of backend it connects."""

    def connect(self, detail: str | None) -> Backend:
        """The backend; raises BackendUnavailable or, for a senseless `detail`, UsageError."""
        ...


def kinds() -> tuple[str, ...]:
    """Every kind of backend there is a file for."""
    package = importlib.import_module(_ADAPTERS)
    return tuple(sorted(module.name for module in pkgutil.iter_modules(package.__path__)))


def connect(address: str) -> Backend:
    """The backend at `address`.

    Raises:
        UsageError: no such kind of backend, or a detail or an option it has no use for.
        BackendUnavailable: it exists but cannot be used here; the hint says what to install.
    """
    place, question, options = address.partition("?")
    kind, colon, detail = place.partition(":")
    if kind not in kinds():
        hint = did_you_mean(kind, kinds())
        known = f"known backends: {', '.join(kinds())}"
        raise UsageError(f"unknown backend {place!r}", f"{hint} {known}" if hint else known)
    if colon and not detail:
        raise UsageError(f"backend {address!r} has nothing after the colon")
    accumulate = _accumulate(address, options) if question else ()
    adapter = cast(Adapter, importlib.import_module(f"{_ADAPTERS}.{kind}"))
    backend = adapter.connect(detail or None)
    if not accumulate:
        return backend
    declared = f"{backend.info.address}?accumulate={','.join(accumulate)}"
    return _Declared(backend, replace(backend.info, address=declared, accumulate=accumulate))


def _accumulate(address: str, options: str) -> tuple[str, ...]:
    """What is declared after the question mark, each once and in alphabetical order."""
    name, _, words = options.partition("=")
    if name != "accumulate":
        meant = did_you_mean(name, ["accumulate"]) or "the one option is accumulate"
        raise UsageError(f"backend {address!r} has no option {name!r}", meant)
    known = f"accumulate takes one or several of {', '.join(_ACCUMULATE)}, joined by commas"
    known += "; float32 is what is expected without it"
    for word in words.split(","):
        if word not in _ACCUMULATE:
            hint = did_you_mean(word, _ACCUMULATE)
            raise UsageError(
                f"backend {address!r}: no such arithmetic: {word!r}",
                f"{hint} {known}" if hint else known,
            )
    return tuple(sorted(set(words.split(","))))


@dataclass(frozen=True)
class _Declared:
    """A backend about which something is declared that matters to its judges only."""

    backend: Backend
    info: BackendInfo

    @property
    def documented_errors(self) -> tuple[type[BaseException], ...]:
        return self.backend.documented_errors

    @property
    def is_engine(self) -> bool:
        return self.backend.is_engine

    def prepare(self, task: Task) -> Prepared:
        return self.backend.prepare(task)
