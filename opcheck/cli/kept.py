"""The last runs of a folder, kept in the user's cache for `--lf` and `opcheck report`.

Next to them is a file of all failures: those of a run that a narrower one did not repeat are in it
until they pass.

Nothing is kept, and nothing is taken from here, where the environment variable CI is set: a gate
says itself what it compares. OPCHECK_KEEP=0 keeps nothing either.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

from opcheck.cli.console import note
from opcheck.errors import UsageError
from opcheck.machine import in_ci
from opcheck.report.plain_text import one_line

if TYPE_CHECKING:
    from opcheck.model import Run

#: The most runs of one folder, and the most bytes of all together.
_MOST_RUNS = 5
_MOST_BYTES = 200 * 10**6
_SUFFIX = ".jsonl.gz"
#: The file of failures in a folder of runs: ids of cases by the address of the backend, as JSON.
_FAILURES = "failures.json"
#: The file of what the last run was asked, as JSON.
_ASKED = "asked.json"
#: Words of a command line by what they name, such as files or backends.
Asked: TypeAlias = Mapping[str, Sequence[str]]
#: How the time of a run is its name: in UTC, so that clocks that are put back change no order.
_TIME = "%Y%m%d-%H%M%S-%f"


def keep(run: "Run", asked: Asked) -> None:
    """Keep a run of the working directory, and what it was asked; delete those that are too many.

    A cache that cannot be written is no error: a note says that the run is not kept.
    """
    from opcheck.report import store

    folder = _folder()
    if folder is None or not is_keeping():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Removed whatever happens, unless it has its name by then.
        with TemporaryDirectory(dir=folder) as scratch:
            part = Path(scratch) / "run"
            with gzip.open(part, "wt", compresslevel=3, encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in store.lines(run))
            # The name is the time: the last run is the last in their order.
            part.replace(folder / f"{datetime.now(UTC).strftime(_TIME)}{_SUFFIX}")
            part.write_text(json.dumps(_with_failures(folder, run)), encoding="utf-8")
            part.replace(folder / _FAILURES)
            part.write_text(json.dumps(asked), encoding="utf-8")
            part.replace(folder / _ASKED)
        _delete_old(folder)
    except OSError as error:
        note(f"this run is not kept for --lf: {error.strerror or error}")


def is_keeping() -> bool:
    """Return True if runs are kept: not in CI, and not if the user wants none."""
    return not in_ci() and os.environ.get("OPCHECK_KEEP") != "0"


def last_run(what_for: str) -> Path:
    """Return the last run that was kept of the working directory, and print which it is.

    Raises UsageError if there is none, or in CI; `what_for` is the option or command that needs it.
    """
    if in_ci():
        message = f"{what_for} needs RUN where the variable CI is set"
        raise UsageError(message, "no run is kept there")
    folder = _folder()
    runs = _runs_in(folder) if folder else []
    if not runs:
        hint = "name the file of a stored run, or run opcheck here first"
        raise UsageError(f"{what_for}: no run of this folder is kept", hint)
    stated = datetime.strptime(runs[-1].name.removesuffix(_SUFFIX), _TIME)
    time = stated.replace(tzinfo=UTC).astimezone()
    note(f"the last run of this folder is of {time:%Y-%m-%d %H:%M:%S}: {_selection(runs[-1])}")
    return runs[-1]


def case_files() -> Iterator[list[Path]]:
    """Yield the case files, and folders of them, that each run of the working directory named.

    Those of the last run come first; a run that named none is left out, and one that named the same
    as a later one. So are files that are gone, and models, which need more than a name. Nothing is
    yielded where no run was kept, and in CI.
    """
    from opcheck.suite.discovery import is_yaml

    folder = None if in_ci() else _folder()
    yielded: list[list[Path]] = []
    for run in reversed(_runs_in(folder) if folder else []):
        named = [Path(path) for path in _header(run).get("paths", ())]
        files = [path for path in named if path.is_dir() or (path.is_file() and is_yaml(path))]
        if files and files not in yielded:
            yielded.append(files)
            yield files


def failed_cases(run: "Run") -> dict[str, set[str]]:
    """Return the ids of cases that are red or were not run, by the address of each backend."""
    from opcheck.analysis import is_failure, reds_of
    from opcheck.model import Verdict

    red = reds_of(run.header)
    failed: dict[str, set[str]] = {info.address: set() for info in run.header.backends}
    for record in run.records:
        if record.verdict is Verdict.NOT_RUN or is_failure(record, red):
            failed.setdefault(record.backend, set()).add(record.case)
    return failed


def failures() -> dict[str, set[str]]:
    """Return the failures of all runs of the working directory that did not pass since.

    They are ids of cases by the address of the backend. Empty where no run was kept; a file that
    cannot be read counts as none, and a note says so.
    """
    folder = _folder()
    return _failures_in(folder) if folder else {}


def last_asked() -> Asked:
    """Return what the last run of the working directory was asked; empty if that is not known."""
    folder = _folder()
    try:
        stored = json.loads((folder / _ASKED).read_text(encoding="utf-8")) if folder else {}
        return {str(what): [*map(str, words)] for what, words in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _failures_in(folder: Path) -> dict[str, set[str]]:
    """Return the failures that a folder of runs has, by backend; none with a note if unreadable."""
    try:
        stored = json.loads((folder / _FAILURES).read_text(encoding="utf-8"))
        return {str(backend): {*map(str, cases)} for backend, cases in stored.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        note("failures of earlier runs of this folder cannot be read: --lf has those of the last")
        return {}


def _with_failures(folder: Path, run: "Run") -> dict[str, list[str]]:
    """Return the failures of a folder of runs after this run, by backend, for its file."""
    failed = _failures_in(folder)
    judged: dict[str, set[str]] = {}
    for record in run.records:
        judged.setdefault(record.backend, set()).add(record.case)
    for backend, cases in failed_cases(run).items():
        earlier = failed.get(backend, set()) - judged.get(backend, set())
        failed[backend] = earlier | cases
    return {backend: sorted(cases) for backend, cases in failed.items() if cases}


def _selection(run: Path) -> str:
    """Return what a kept run was asked for, in the words of its header."""
    return one_line(str(_header(run).get("selection", "it cannot be read")))


def _header(run: Path) -> Mapping[str, Any]:
    """Return the header of a kept run as it is in its file, {} if it cannot be read."""
    try:
        with gzip.open(run, "rt", encoding="utf-8") as file:
            header = json.loads(file.readline())
    except (OSError, EOFError, ValueError, zlib.error):
        return {}
    return header if isinstance(header, dict) else {}


def _folder() -> Path | None:
    """Return where runs of the working directory are kept; None without a home."""
    from opcheck.suite.cache import folder_of_user

    base = folder_of_user()
    name = sha256(os.fsencode(Path.cwd())).hexdigest()[:16]
    return base / "runs" / name if base else None


def _runs_in(folder: Path) -> list[Path]:
    """Return the runs in a folder, the last one last."""
    return sorted(path for path in folder.glob(f"*{_SUFFIX}") if path.is_file())


def _delete_old(folder: Path) -> None:
    """Delete the oldest runs of a folder, and of all folders, beyond what may be kept.

    The last run of any folder stays until nothing else is left to delete.
    """
    for path in _runs_in(folder)[:-_MOST_RUNS]:
        path.unlink(missing_ok=True)
    folders = [_runs_in(path) for path in folder.parent.iterdir() if path.is_dir()]
    last = sorted((runs[-1] for runs in folders if runs), key=_name, reverse=True)
    earlier = sorted((run for runs in folders for run in runs[:-1]), key=_name, reverse=True)
    # The newest stays, however large it is.
    for path in [*_beyond([*last, *earlier])]:
        if path != last[0]:
            path.unlink(missing_ok=True)


def _name(path: Path) -> str:
    return path.name


def _beyond(most_wanted_first: Iterable[Path]) -> Iterable[Path]:
    """Yield the files that do not fit into what all runs together may take."""
    total = 0
    for path in most_wanted_first:
        with suppress(OSError):
            total += path.stat().st_size
        if total > _MOST_BYTES:
            yield path
