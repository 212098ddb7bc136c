"""Shipped cases in the user's cache, as they were read before: to read all of them takes a minute.

A file there is found again by the same code, with the same libraries, for the same case file alone.
One that is damaged, or cannot be read or written, is as good as none.
"""

import io
import os
import pickle
import platform
import shutil
from collections.abc import Collection, Mapping, Sequence
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
from opcheck.suite.expand import CaseFile
from opcheck.suite.select import LEVELS, case_digest, names_files, set_stored_digest

#: What cases are made of: classes of these modules, and these names. A file calls nothing else.
_MODULES = {"ml_dtypes", "opcheck.model.case"}
_NAMES = {
    "builtins.complex",
    "numpy.dtype",
    "numpy.ndarray",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.numeric._frombuffer",
    "opcheck.dtypes.of_name",
    "pathlib.PosixPath",
    "pathlib._local.PosixPath",  # Python 3.13
}


class _Cases(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        is_named = f"{module}.{name}" in _NAMES
        if "." not in name and (is_named or module in _MODULES):
            found = super().find_class(module, name)
            if is_named or isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name}")


def place(file: CaseFile, levels: Collection[Level]) -> Path | None:
    """Return where cases of a shipped file belong, by its content and the code; None: nowhere.

    That is without a home, and for a file that cannot be read. Nothing need be there.
    """
    with suppress(OSError):
        folder = _folder()
        # Cases know the name of their file; those whose data lie beside it, where that is.
        text = file.path.read_bytes()
        known = str(file.path) if b".npy" in text else file.name
        about = sha256(text + known.encode()).hexdigest()
        return folder and folder / f"{file.path.stem}-{'-'.join(sorted(levels))}-{about[:16]}"
    return None


def find(file: CaseFile, levels: Collection[Level]) -> tuple[Case, ...] | None:
    """Return the cases of a shipped file at these levels, or among those at all levels, if kept.

    None if neither is in the cache, or what is there is damaged.
    """
    for kept in dict.fromkeys((frozenset(levels), frozenset(LEVELS))):
        path = place(file, kept)
        cases = read(path) if path else None
        if cases is not None:
            return tuple(case for case in cases if case.level in levels)
    return None


def packed(cases: Sequence[Case]) -> bytes:
    """Return cases as bytes: a digest of 32 bytes, and what it is of, pickled.

    That is the cases, and the digest of each case; None if files belong to it.
    """
    digests = [None if names_files(case.expect) else case_digest(case) for case in cases]
    data = pickle.dumps((tuple(cases), digests), pickle.HIGHEST_PROTOCOL)
    return sha256(data).digest() + data


def unpacked(data: bytes) -> tuple[Case, ...]:
    """Return packed cases, whose arrays cannot be written to; their digests are kept for them.

    Raises ValueError for damaged bytes; UnpicklingError for what is no case, and other errors of
    pickle for anything else.
    """
    if sha256(data[32:]).digest() != data[:32]:
        raise ValueError("damaged")
    with uncollected():
        found: tuple[Case, ...]
        digests: list[str | None]
        found, digests = _Cases(io.BytesIO(data[32:])).load()
    for case, digest in zip(found, digests, strict=True):
        if digest is not None:
            set_stored_digest(case, digest)
    for value in chain.from_iterable(case.attrs.values() for case in found):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return found


def read(path: Path) -> tuple[Case, ...] | None:
    """Return the cases at a place; None without any, or if they are damaged or cannot be read."""
    with suppress(OSError, ValueError, TypeError, LookupError, pickle.UnpicklingError):
        if path.is_file():  # to open a pipe would never end
            return unpacked(path.read_bytes())
    return None


def keep(read: Mapping[Path, tuple[CaseFile, bytes]], levels: Collection[Level]) -> None:
    """Put packed cases at their places, unless their files or the code are others by now.

    `read` has the file and its packed cases by the place. Each file is written whole or not at all,
    and caches of older code are deleted, but for three. What cannot be written is left out without
    an error. Raises OSError if opcheck's own code cannot be read.
    """
    is_the_same = bool(read) and _folder.__wrapped__() == _folder()
    for path, (file, data) in read.items():
        if not is_the_same or place(file, levels) != path:
            continue
        part = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(OSError):
            if not path.parent.exists():
                path.parent.mkdir(parents=True)
                known = sorted(path.parent.parent.iterdir(), key=lambda one: one.stat().st_mtime)
                for old in known[:-4]:  # the new one and three of other versions are left
                    shutil.rmtree(old, ignore_errors=True)
            try:
                part.write_bytes(data)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)


def folder_of_user() -> Path | None:
    """Return the folder of opcheck in the user's cache; None without a home."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    base = Path(home)
    return base / "opcheck" if base.is_absolute() else None


@cache
def _folder() -> Path | None:
    """Return the folder of this code and these libraries; None without a home. It is cached.

    Reads all code and data of opcheck. Raises OSError if that cannot be read.
    """
    base = folder_of_user()
    if base is None:
        return None
    digest = sha256(platform.python_version().encode())
    for name in ("ml_dtypes", "numpy", "onnx", "pydantic", "PyYAML"):
        digest.update(metadata.version(name).encode())
    code = map(Path(opcheck.__file__).parent.rglob, ("*.py", "*.toml"))
    for path in sorted(chain(*code, shipped_folder("cases").rglob("*.npy"))):
        digest.update(path.read_bytes())
    return base / digest.hexdigest()[:16]
