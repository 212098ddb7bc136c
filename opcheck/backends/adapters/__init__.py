"""One file a kind of backend, named like it; the third-party import stands inside `connect`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opcheck.errors import BackendUnavailable


@contextmanager
def importing(kind: str, package: str) -> Iterator[None]:
    """Around the import of `package`: raises BackendUnavailable for whatever goes wrong in it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BackendUnavailable(
            f"backend {kind!r} is not installed: {error}", f"install it: pip install {package}"
        ) from error
    except Exception as error:
        raise BackendUnavailable(
            f"backend {kind!r} is installed but broken: {type(error).__name__}: {error}",
            f"reinstall it: pip install --force-reinstall {package}",
        ) from error
