"""From an address on the command line, `kind[:detail]`, to a backend."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Protocol, cast

from opcheck.backends.base import Backend
from opcheck.errors import UsageError, did_you_mean

#: The backends of a run that names none.
DEFAULT = ("numpy", "onnxruntime", "reference")

_ADAPTERS = "opcheck.backends.adapters"


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
        UsageError: no such kind of backend, or a detail it has no use for.
        BackendUnavailable: it exists but cannot be used here; the hint says what to install.
    """
    kind, colon, detail = address.partition(":")
    if kind not in kinds():
        hint = did_you_mean(kind, kinds())
        known = f"known backends: {', '.join(kinds())}"
        raise UsageError(f"unknown backend {address!r}", f"{hint} {known}" if hint else known)
    if colon and not detail:
        raise UsageError(f"backend {address!r} has nothing after the colon")
    adapter = cast(Adapter, importlib.import_module(f"{_ADAPTERS}.{kind}"))
    return adapter.connect(detail or None)
