"""Golden files in one file, a `.tar.gz` or a `.zip`: the same content gives the same bytes.

Files are sorted by path, below one folder `golden`. All have the same date, owner and permissions.
"""

import gzip
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from opcheck.errors import writing
from opcheck.execution import golden, workers
from opcheck.model import Case
from opcheck.suite import golden_files as gm

#: The folder that the archive unpacks to, whatever the archive's own name.
FOLDER = "golden"
#: 1980-01-01 in UTC, the first date that a zip file can hold; in seconds since 1970.
_DATE = 315_532_800
_DATE_OF_ZIP = (1980, 1, 1, 0, 0, 0)
_PERMISSIONS = 0o644


def _write_tar_gz(folder: Path, archive: Path) -> None:
    """Write the files of `folder` to a compressed tar file, `archive`, which it replaces.

    All have the same date and permissions, so that the same files give the same bytes. Raises
    OSError.
    """
    with (
        archive.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in _files(folder):
            entry = tarfile.TarInfo(name)
            entry.size = path.stat().st_size
            entry.mtime = _DATE
            entry.mode = _PERMISSIONS
            with path.open("rb") as data:
                tar.addfile(entry, data)


def _write_zip(folder: Path, archive: Path) -> None:
    """Write the files of `folder` to a zip file, `archive`, which it replaces.

    All have the same date and permissions, so that the same files give the same bytes. Raises
    OSError.
    """
    with zipfile.ZipFile(archive, "w") as package:
        for name, path in _files(folder):
            entry = zipfile.ZipInfo(name, _DATE_OF_ZIP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on every system
            entry.external_attr = _PERMISSIONS << 16
            package.writestr(entry, path.read_bytes())


#: How an archive of each suffix is written.
_WRITERS: dict[str, Callable[[Path, Path], None]] = {
    ".tar.gz": _write_tar_gz,
    ".tgz": _write_tar_gz,
    ".zip": _write_zip,
}


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name of each file in the archive, and its path, sorted by the name.

    Names begin with `golden/`, whatever `folder` is called.
    """
    names = {f"{FOLDER}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*")}
    for name in sorted(names):
        if names[name].is_file():
            yield name, names[name]


def _suffix(path: Path) -> str:
    """Return the suffix by which a path names an archive, "" if it names none."""
    name = path.name.lower()
    return next((suffix for suffix in _WRITERS if name.endswith(suffix)), "")


def is_archive(path: Path) -> bool:
    """Return True for the name of an archive: `.tar.gz`, `.tgz` or `.zip`."""
    return _suffix(path) != ""


def write(
    archive: Path,
    cases: Sequence[Case],
    selection: str,
    processes: int = 1,
    *,
    names: golden.Names = "opcheck",
    counted: workers.Counted[tuple[gm.ManifestCase, tuple[gm.LeftOut, ...]]] = iter,
) -> gm.Manifest:
    """Write `cases` to `archive`, whole or not at all, as `golden.write` does to a folder.

    An earlier file is replaced; nothing is written if no case has a test. Returns the manifest. The
    name of `archive` is that of an archive, else KeyError is raised.

    Raises:
        UsageError: Two tests have one name, or a file of a model's weights has changed.
        Unwritable: A file cannot be written.
        UnsoundArithmetic: This machine's arithmetic cannot be relied on.
        NotSupported: The bound of a stated answer takes more than opcheck computes.
        ProcessDied: One of the processes was killed.
        KeyboardInterrupt: The user interrupts it while other processes work.
    """
    place = archive.resolve()
    with (
        writing(archive),
        TemporaryDirectory(".part", f".{place.name}.", place.parent, True) as temporary,
    ):
        folder = Path(temporary, FOLDER)
        manifest = golden.write(folder, cases, selection, processes, names=names, counted=counted)
        if manifest.cases:
            complete = Path(temporary, place.name)
            _WRITERS[_suffix(place)](folder, complete)
            complete.replace(place)
    return manifest
