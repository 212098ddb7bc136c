"""`py:pkg.mod[:Name]`: Python code that follows opcheck's own protocol.

`Name` is a class or a function that makes the backend; the only class with `prepare` needs no name.
"""

from collections.abc import Mapping
from dataclasses import replace

from opcheck.backends.adapters import About
from opcheck.backends.base import Backend
from opcheck.backends.connect import class_of, find, made

ABOUT = About("a class in a Python module of yours, py:pkg.mod:Class")


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the backend that the named class or function makes, or the module itself."""
    address, thing, version = find("py", detail, ["prepare"])
    backend = made(thing, address, None, options, version)
    return replace(backend, info=replace(backend.info, made_of=class_of(thing)))
