"""Shipped cases in the user's cache, as they were read before: to read all of them takes 20 s.

A file there is found again by the same code, with the same libraries, for the same case file alone.
One that is damaged, or cannot be read or written, is as good as none.
"""

import io
import os
import pickle
import platform
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import opcheck
from opcheck.model import Case, Level
from opcheck.reading import shipped_folder, uncollected

#: What cases are made of: modules with all that is in them, and names. A file calls nothing else.
_MODULES = {"ml_dtypes", "opcheck.dtypes", "opcheck.model.case"}
_NAMES = {
    "builtins.complex", "numpy.dtype", "numpy.ndarray", "numpy._core.multiarray._reconstruct",
    "numpy._core.numeric._frombuffer", "pathlib.PosixPath",
}  # fmt: skip
#: Folders of other versions that are left when one is made.
_OTHERS = 3
_DIGEST = sha256().digest_size


class _Cases(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if "." in name or not (module in _MODULES or f"{module}.{name}" in _NAMES):
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


def read(file: Path, levels: Collection[Level]) -> tuple[Case, ...] | None:
    """Return the cases of a shipped file at these levels, None where they are not there."""
    with suppress(OSError, ValueError, TypeError, LookupError, pickle.UnpicklingError):
        if path := _path(file, levels):
            data = path.read_bytes()
            if sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
                with uncollected():
                    found: tuple[Case, ...] = _Cases(io.BytesIO(data[_DIGEST:])).load()
                for value in chain.from_iterable(case.attrs.values() for case in found):
                    if isinstance(value, np.ndarray):
                        value.flags.writeable = False
                return found
    return None


def keep(file: Path, levels: Collection[Level], cases: Sequence[Case]) -> None:
    """Put the cases of a shipped file there."""
    with suppress(OSError):
        if path := _path(file, levels):
            if not path.parent.exists():
                path.parent.mkdir(parents=True)
                known = sorted(path.parent.parent.iterdir(), key=lambda one: one.stat().st_mtime)
                for old in known[: -_OTHERS - 1]:
                    shutil.rmtree(old, ignore_errors=True)
            data = pickle.dumps(tuple(cases), pickle.HIGHEST_PROTOCOL)
            part = path.with_suffix(f".{os.getpid()}")
            part.write_bytes(sha256(data).digest() + data)
            part.replace(path)


def _path(file: Path, levels: Collection[Level]) -> Path | None:
    folder = _folder()
    about = sha256(file.read_bytes()).hexdigest()
    return folder and folder / f"{file.stem}-{'-'.join(sorted(levels))}-{about[:16]}"


@cache
def _folder() -> Path | None:
    """The folder of this code and these libraries; None where there is no home."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    if not (base := Path(home)).is_absolute():
        return None
    found = sha256(f"{platform.python_version()} {shipped_folder('_cases', 'cases')}".encode())
    for name in ("ml_dtypes", "numpy", "onnx"):
        found.update(metadata.version(name).encode())
    for module in sorted(Path(opcheck.__file__).parent.rglob("*.py")):
        found.update(module.read_bytes())
    return base / "opcheck" / found.hexdigest()[:16]
