"""Golden folders: written beside their place, and put there when they are whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import opcheck
from opcheck.errors import NotExpressible, Unwritable, UsageError
from opcheck.model import Case
from opcheck.run.golden.answers import LeftOut, made_of
from opcheck.run.golden.files import written
from opcheck.run.parallel import in_parallel
from opcheck.run.writing import is_free, staged
from opcheck.suite import case_digest
from opcheck.suite.golden_manifest import (
    MANIFEST,
    METHODS,
    SUMS,
    CaseFields,
    LeftOutFields,
    Manifest,
    Method,
    NotReadable,
    TestFields,
    read_manifest,
    sums,
)

#: What values may rest on.
_PACKAGES = ("ml_dtypes", "mpmath", "numpy", "onnx")
METHOD_TEXTS: dict[Method, str] = {
    "exact": "nothing had to be rounded; the engine agrees",
    "mpmath": "correctly rounded from as many digits as it takes; the engine agrees",
    "double-double": "too large for that in good time: correctly rounded from compensated sums of"
    " about 100 bits, with a proven bound; the engine agrees",
    "engine": "opcheck's engine alone: the text leaves it open, or the other oracle lacks the"
    " operator",
    "stated": "as the case states it: the text leaves it open, or no oracle knows the operator",
}


@dataclass(frozen=True)
class Settings:
    """What is written: at most so many data sets a test, and archives beside the tensors."""

    data_sets: int = 1
    npz: bool = False


@dataclass(frozen=True)
class _Done:
    case: CaseFields
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Golden:
    """What was written, and what was not."""

    manifest: Manifest
    left_out: tuple[LeftOut, ...]

    @property
    def tests(self) -> list[TestFields]:
        """All tests, in the order of their cases."""
        return [test for case in self.manifest.cases for test in case.tests]


Counted = Callable[[Iterable[_Done]], Iterable[_Done]]


def write(
    folder: Path,
    cases: Sequence[Case],
    selection: str,
    settings: Settings,
    processes: int = 1,
    *,
    force: bool = False,
    counted: Counted = iter,
) -> Golden:
    """Write `cases` to `folder`, which is there whole or not at all, whatever happens meanwhile.

    With `force` it replaces one that opcheck wrote, and that holds nothing else. Nothing is
    written where no test can be. `counted` hands on each case as it is done.

    Raises UsageError where `folder` holds anything else, Unwritable.
    """
    check_place(folder, force=force)
    try:
        with staged(folder) as (stage, put):
            order = {case.id: number for number, case in enumerate(cases)}
            # Closed before what is staged is removed: others may be writing there.
            with closing(in_parallel(partial(_write, stage, settings), cases, processes)) as found:
                done = sorted(counted(found), key=lambda one: order[one.case.id])
            golden = _golden(done, selection, settings)
            if golden.manifest.cases:
                data = golden.manifest.data()
                (stage / MANIFEST).write_bytes(data)
                (stage / SUMS).write_bytes(sums(golden.manifest, sha256(data).hexdigest()))
                put()
    except OSError as error:
        raise Unwritable(folder, error) from None
    return golden


def check_place(folder: Path, *, force: bool) -> None:
    """Raise UsageError where something is at `folder` that must not be replaced."""
    if is_free(folder):
        return
    if not force:
        ours = (folder / MANIFEST).is_file()
        hint = "--force replaces golden files that opcheck wrote" if ours else "choose a new folder"
        raise UsageError(f"-o {folder}: this folder is not empty", hint)
    try:
        manifest, _ = read_manifest(folder)
    except FileNotFoundError:
        told = f"{folder} holds no {MANIFEST}: opcheck did not write it, and removes nothing"
        raise UsageError(told, "choose a new folder") from None
    except NotReadable as error:
        told = f"{folder}/{MANIFEST} {error}: nobody can tell what opcheck wrote there"
        raise UsageError(told, "choose a new folder, or remove this one") from None
    ours_too = {MANIFEST, SUMS}
    ours_too |= {
        f"{test.folder}/{name}" for c in manifest.cases for test in c.tests for name in test.files
    }
    foreign = [name for name in _files(folder) if name not in ours_too]
    if foreign:
        more = f" and {len(foreign) - 3:,} more" if len(foreign) > 3 else ""
        told = f"{folder} holds what opcheck did not write: {', '.join(foreign[:3])}{more}"
        raise UsageError(told, "nothing is removed: move it away, or choose a new folder")


def _files(folder: Path) -> Iterator[str]:
    """All files below `folder`, links among them, by their paths in it."""
    for where, folders, names in os.walk(folder):
        links = [name for name in folders if Path(where, name).is_symlink()]
        for name in sorted([*names, *links]):
            yield Path(where, name).relative_to(folder).as_posix()


def _write(stage: Path, settings: Settings, case: Case) -> _Done:
    """Write the tests of one case."""
    made = made_of(case, settings.data_sets)
    tests: list[TestFields] = []
    left = list(made.left_out)
    for test in made.tests:
        what = "its legal twin" if test.legal_twin else "the case"
        try:
            fields, files = written(test, npz=settings.npz)
        except NotExpressible as error:
            left.append(LeftOut(case.id, what, str(error)))
            continue
        except ValueError as error:
            left.append(LeftOut(case.id, what, str(error), wrong=True))
            continue
        for name, data in files.items():
            path = stage / fields.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        tests.append(fields)
    told = CaseFields(
        id=case.id,
        rule=case.rule,
        level=case.level,
        clause=case.clause,
        digest=case_digest(case),
        fixed=made.fixed if settings.data_sets > 1 else "",
        tests=tuple(tests),
    )
    return _Done(told, tuple(left))


def _golden(done: Sequence[_Done], selection: str, settings: Settings) -> Golden:
    left = tuple(one for result in done for one in result.left_out)
    cases = tuple(result.case for result in done if result.case.tests)
    used = {data.method for case in cases for test in case.tests for data in test.data_sets}
    manifest = Manifest(
        type="opcheck golden files",
        format=1,
        opcheck=opcheck.__version__,
        packages={name: metadata.version(name) for name in _PACKAGES},
        selection=selection,
        data_sets=settings.data_sets,
        npz=settings.npz,
        methods={method: METHOD_TEXTS[method] for method in METHODS if method in used},
        cases=cases,
        left_out=tuple(
            LeftOutFields(case=one.case, what=one.what, reason=one.reason) for one in left
        ),
    )
    return Golden(manifest, left)
