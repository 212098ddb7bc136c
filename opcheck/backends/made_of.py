"""Digests of the files that a backend's process has loaded; builds of one version may differ.

Files that `prepare` or `run` load later, and those of programs, are unknown.
"""

import os
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path

import opcheck
from opcheck.backends.isolation.cleanup import SCRATCH
from opcheck.graph.folders import write_whole

#: What is installed here belongs to somebody, whatever folder it is in.
_INSTALLED = {"site-packages", "dist-packages"}
_CODE = {".py", ".so", ".pyd", ".dylib", ".dll"}
#: So many bytes are read in some milliseconds.
_LARGE = 1 << 22
#: How many digits of a digest are kept.
_DIGITS = 16


def loaded() -> set[str]:
    """Return the files of this process's modules and shared libraries."""
    files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
    with suppress(OSError):  # no Linux
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            _, permissions, *_, path = line.split(maxsplit=5)
            files |= {path} if "x" in permissions else set()
    return {os.path.realpath(one) for one in files if isinstance(one, str) and Path(one).is_file()}


def made_of(files: Iterable[str]) -> dict[str, str]:
    """Return digests of the code in `files`, by the names of packages, modules and libraries.

    Of a package that is not installed all code counts. Files of Python, the system or opcheck do
    not, nor do libraries in the folder for temporary files.
    """
    roots = sorted({os.path.realpath(entry) for entry in (*sys.path, str(Path.cwd()))}, key=len)
    made_here = os.path.realpath(tempfile.gettempdir())
    parts: dict[str, set[Path]] = defaultdict(set)
    for file in filter(_is_foreign, map(Path, files)):
        root = next((one for one in reversed(roots) if file.is_relative_to(one)), None)
        if root is None and file.is_relative_to(made_here):
            continue
        top = Path(root, file.relative_to(root).parts[0]) if root else file
        is_source = (top / "__init__.py").is_file() and not _INSTALLED & {*top.parts}
        parts[top.name.partition(".")[0]] |= {file, *(_code_in(top) if is_source else ())}
    return {name: digest(paths) for name, paths in sorted(parts.items())}


def digest(paths: Iterable[Path]) -> str:
    """Return a digest of what files are called and hold, in the order of their paths."""
    stats = {}
    for path in sorted(paths):
        with suppress(OSError):  # gone meanwhile
            stats[path] = path.stat()
    stamps = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats.items()]
    # Later processes of the same run need not read large files again that have not changed since.
    name = sha256("\n".join(stamps).encode()).hexdigest()
    memory = Path(os.environ.get(SCRATCH, "")).parent / name
    with suppress(OSError):
        return memory.read_text()
    total = sha256()
    for path, stamp in zip(stats, stamps, strict=True):
        try:
            with path.open("rb") as file:
                sha = file_digest(file, "sha256").hexdigest()
        except OSError:  # a program that may be run, and not be read
            sha = stamp
        total.update(f"{path.name}\0{sha}\n".encode())
    found = total.hexdigest()[:_DIGITS]
    if SCRATCH in os.environ and sum(stat.st_size for stat in stats.values()) > _LARGE:
        with suppress(OSError):
            write_whole(memory, found.encode())
    return found


def _code_in(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._" and name not in _INSTALLED]
        yield from (Path(where, name) for name in names if Path(name).suffix in _CODE)


def _is_foreign(file: Path) -> bool:
    """Return True if a file belongs neither to Python, nor to the system, nor to opcheck."""
    if any(file.is_relative_to(os.path.realpath(one)) for one in opcheck.__path__):
        return False
    python = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    system = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", *python)
    return bool(_INSTALLED & {*file.parts}) or not any(
        file.is_relative_to(os.path.realpath(one)) for one in system
    )
