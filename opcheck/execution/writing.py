"""Folders and files that are there whole or not at all, whatever happens while they are written."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from opcheck.dtypes import identical
from opcheck.errors import CaseFileError, Unwritable, UsageError, few
from opcheck.execution.machine import Counted
from opcheck.graph.test_data import TEST_FILE, ModelTest, write_test
from opcheck.model import Arrays, Values
from opcheck.suite import load, materialize
from opcheck.suite.load import node_tests_called


@contextmanager
def staged(folder: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A temporary folder, and a function that moves it to `folder`; raises Unwritable."""
    place = folder.resolve()

    def put() -> None:
        old = beside / "old"
        try:
            if place.exists():
                place.rename(old)
            stage.rename(place)
        except BaseException:
            if old.exists() and not place.exists():
                old.rename(place)
            raise

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
        stage = beside / "new"
        try:
            stage.mkdir()
            yield stage, put
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise Unwritable(folder, error) from None


def write_node_tests(
    folder: Path, source: Path, *, force: bool = False, counted: Counted[ModelTest] = iter
) -> int:
    """Write tests to `folder`/node, whole or not at all; returns how many; see `check_tests`."""
    check_tests(folder, force=force)
    tests = node_tests_called(source)
    with staged(folder) as (stage, put):
        for test in counted(tests):
            write_test(stage / "node" / test.name, test)
        put()
    return len(tests)


def is_free(folder: Path, *, links: bool = True) -> bool:
    """Return True if nothing is in `folder`; UsageError for a file or, unless `links`, a link."""
    try:
        if not folder.exists() and not folder.is_symlink():
            return True
        if not folder.is_dir() or (folder.is_symlink() and not links):
            raise UsageError(f"-o {folder}: this is no folder")
        return not any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror}") from None


def check_foreign(folder: Path, known: Callable[[str], object]) -> None:
    """Raise UsageError for links below `folder`, and files whose paths in it are not `known`."""
    foreign = []
    try:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink() or not (path.is_dir() or known(name)):
                foreign.append(name)
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror}") from None
    if foreign:
        what = f"it holds what opcheck did not write: {few(foreign, 3)}"
        hint = "nothing is removed: move it away, or choose a new folder"
        raise UsageError(f"-o {folder}: {what}", hint)


def check_tests(folder: Path, *, force: bool) -> None:
    """Raise UsageError where something is at `folder` that must not be replaced."""
    if is_free(folder, links=False):
        return
    check_foreign(folder, TEST_FILE.fullmatch)
    if not force:
        raise UsageError(f"-o {folder}: this folder is not empty", "--force replaces its tests")


def place(file: Path, text: str, arrays: Arrays, held: Mapping[str, Arrays], *, force: bool) -> int:
    """Write a case file and the `arrays` next to it, last the case file; the number of its cases.

    It is read first, and has to give what is `held` by each case bit for bit. Raises UsageError for
    text that is no case file, or where `force` is needed to replace something; and Unwritable.
    """
    targets = [*(file.parent / name for name in arrays), file]
    there = [path for path in targets if path.exists() or path.is_symlink()]
    if there and not force:
        named = few([*map(str, there)])
        raise UsageError(f"{named}: already there", "--force replaces what is there")
    if folders := [path for path in there if path.is_dir()]:
        raise UsageError(f"{folders[0]}: this is a folder")
    try:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".opcheck-") as made:
            folder = Path(made)
            for name, array in arrays.items():
                np.save(folder / name, array, allow_pickle=False)
            (folder / file.name).write_text(text, encoding="utf-8")
            count = _check(folder / file.name, held)
            for target in targets:
                shutil.move(folder / target.name, target)
    except OSError as error:
        raise Unwritable(file, error) from None
    return count


def _check(file: Path, tensors: Mapping[str, Arrays]) -> int:
    try:
        cases = load([file])
    except CaseFileError as error:
        messages = [f"{problem.line}: {problem.message}" for problem in error.problems]
        raise UsageError("\n".join(["this makes no valid case file:", *messages])) from None
    for case in cases:
        outputs = case.expect.outputs if isinstance(case.expect, Values) else ()
        there_are = {spec.name: spec for spec in (*outputs, *case.inputs)}
        for name, array in tensors[case.name].items():
            there = materialize(there_are[name]) if name in there_are else None
            if there is None or not identical(there, array):
                raise UsageError(f"{case.name}: {name} would not be the same tensor")
    return len(cases)
