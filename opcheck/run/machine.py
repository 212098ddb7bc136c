"""The machine and the packages of this run."""

import os
import platform
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import psutil

import opcheck
from opcheck.model import Environment
from opcheck.model.timing import Machine

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


_CPU = Path("/sys/devices/system/cpu/cpu0")
#: Touched where nobody knows how large the caches are, in bytes.
_LARGE = 64 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def machine() -> Machine:
    """What is known of this machine."""
    return Machine(
        processor=_processor(),
        cores=processors(),
        governor=_read(_CPU / "cpufreq" / "scaling_governor"),
        platform=platform.platform(),
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0,
        memory=psutil.virtual_memory().total,
    )


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def beyond_caches() -> int:
    """So many bytes that to touch them leaves nothing else in the caches: twice the largest."""
    sizes = [_read(index / "size") for index in (_CPU / "cache").glob("index*")]
    largest = max((_bytes(size) for size in sizes if size), default=_LARGE // 2)
    return 2 * largest


def _bytes(size: str) -> int:
    number, unit = size[:-1], _UNITS.get(size[-1:], 0)
    return int(number) * unit if number.isdigit() and unit else 0


def _processor() -> str:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(": ")[2]
    return platform.processor()


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8").strip()
    return ""
