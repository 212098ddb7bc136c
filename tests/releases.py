"""The releases that the shipped ledgers were last looked over with.

A later one may mend a known defect or bring a new one. That is for `opcheck run` to tell, not for
the tests of this repository, which must not turn red because of it.
"""

from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.version import Version

_LAST = {"onnxruntime": "1.31.1", "onnx": "1.23.2"}
#: Engines that need not be installed; each package is named like its backend.
_LAST_OF_ENGINES = {"openvino": "2026.4.1", "torch": "2.13.0", "tract": "0.23.9"}
_LATER = "a release that the ledgers have not been looked over with"

needs_known_releases = pytest.mark.skipif(
    any(Version(version(package)) > Version(last) for package, last in _LAST.items()), reason=_LATER
)


def engines() -> dict[str, str | None]:
    """The optional engines that have ledgers, with why they cannot be held to them here."""
    return {engine: _hindrance(engine, last) for engine, last in _LAST_OF_ENGINES.items()}


def _hindrance(engine: str, last: str) -> str | None:
    try:
        # Torch's is "2.13.0+cpu" where it was built for the CPU alone.
        return _LATER if Version(Version(version(engine)).public) > Version(last) else None
    except PackageNotFoundError:
        return f"not installed: {engine}"
