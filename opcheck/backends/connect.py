"""From an address to the backend itself: here its code is imported.

That belongs in a process of its own; see `opcheck.backends.isolation`.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, cast

from opcheck.backends import adapters
from opcheck.backends.adapters import About
from opcheck.backends.address import Address, built_in, entry_points, parse
from opcheck.backends.base import Backend, Prepared
from opcheck.model import BackendInfo, Task


class Adapter(Protocol):
    """A file in `backends/adapters/`, named like the kind of backend it connects."""

    @property
    def ABOUT(self) -> About:
        """What there is to say about this kind without connecting it."""
        ...

    def connect(self, detail: str | None, options: Mapping[str, str]) -> Backend:
        """The backend; raises UsageError for what has no sense, BackendUnavailable otherwise."""
        ...


def adapter(kind: str) -> Adapter:
    """The file for a kind that is built in; no third party's code is imported yet."""
    return cast(Adapter, importlib.import_module(f"{adapters.__name__}.{kind}"))


def connect(address: Address | str) -> Backend:
    """The backend at `address`, whose own spelling of it is the canonical one.

    Raises:
        UsageError: a detail or an option that the backend has no use for.
        BackendUnavailable: it exists but cannot be used here; the hint says what to do.
    """
    if isinstance(address, str):
        address = parse(address)
    if address.kind in built_in():
        backend = adapter(address.kind).connect(address.detail, dict(address.options))
    else:
        backend = _offered(address)
    spelt = address.at(backend.info.address)
    if spelt == backend.info.address:
        return backend
    return _Declared(backend, replace(backend.info, address=spelt, accumulate=address.accumulate))


def _offered(address: Address) -> Backend:
    from opcheck.backends.factory import made
    from opcheck.backends.modules import blamed

    point = entry_points()[address.kind]
    with blamed(f"backend {address.kind!r} ({point.value}) cannot be loaded"):
        maker = point.load()
    place = replace(address, options=(), accumulate=())
    version = point.dist.version if point.dist else ""
    return made(maker, str(place), address.detail, dict(address.options), version)


@dataclass(frozen=True)
class _Declared:
    """A backend with more in its address than itself knows of."""

    backend: Backend
    info: BackendInfo

    @property
    def documented_errors(self) -> tuple[type[BaseException], ...]:
        return self.backend.documented_errors

    def prepare(self, task: Task) -> Prepared:
        return self.backend.prepare(task)
