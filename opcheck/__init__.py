"""opcheck: does a backend compute an ONNX or DirectML operator as its specification says?

What this module offers is in `opcheck.api`, which is imported when it is used.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from opcheck.api import Result, Results, Session, Status, bench, diff, load, read, run, status
    from opcheck.errors import BackendUnavailable, CaseFileError, OpcheckError, UsageError
    from opcheck.model import Case, Verdict

__all__ = [
    "BackendUnavailable",
    "Case",
    "CaseFileError",
    "OpcheckError",
    "Result",
    "Results",
    "Session",
    "Status",
    "UsageError",
    "Verdict",
    "__version__",
    "bench",
    "diff",
    "load",
    "read",
    "run",
    "status",
]

if not TYPE_CHECKING:  # to a type checker, every name would be there

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from opcheck import api, errors, model

        return next(getattr(one, name) for one in (api, errors, model) if hasattr(one, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
