"""opcheck: does a backend compute an ONNX or DirectML operator as its specification says?

What this module offers is in `opcheck.api`, which is imported when it is used.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from opcheck.api import Result, Session, bench, diff, load, read, run

__all__ = ["Result", "Session", "__version__", "bench", "diff", "load", "read", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("opcheck.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
