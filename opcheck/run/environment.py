"""The machine and the packages of this run."""

from __future__ import annotations

import platform
from importlib import metadata

import opcheck
from opcheck.model import Environment

_PACKAGES = ("numpy", "ml_dtypes", "onnx", "onnxruntime")


def environment() -> Environment:
    """What the header of a stored run says about where it ran."""
    return Environment(
        opcheck=opcheck.__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        packages={name: _version(name) for name in _PACKAGES},
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
