"""`py:pkg.mod[:Name]`: Python code that follows opcheck's own protocol.

`Name` is a class or a function that makes the backend; the only class with `prepare` needs no name.
"""

from collections.abc import Mapping

from opcheck.backends.adapters import About
from opcheck.backends.base import Backend
from opcheck.backends.connect import find, made

ABOUT = About("a class in a Python module of yours, py:pkg.mod:Class")


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the backend that the named class or function makes, or the module itself."""
    address, thing, version = find("py", detail, ["prepare"])
    return made(thing, address, None, options, version)
