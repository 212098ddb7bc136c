"""The node tests of the onnx package as files, which it has ceased to ship."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from opcheck.errors import Unwritable, UsageError
from opcheck.graph.test_data import ModelTest, foreign, write_test
from opcheck.run.staging import staged
from opcheck.suite.load import node_tests_called

Counted = Callable[[Sequence[ModelTest]], Iterable[ModelTest]]


def write_node_tests(
    folder: Path, source: Path, *, force: bool = False, counted: Counted = iter
) -> int:
    """Write the tests that `source` names to `folder`/node; returns how many.

    The folder is there whole or not at all, whatever happens meanwhile. With `force` it replaces
    one of nothing but such tests. `counted` hands on each test before it is written. Raises
    UsageError, Unwritable.
    """
    check_tests(folder, force=force)
    tests = node_tests_called(source)
    try:
        with staged(folder) as (stage, put):
            for test in counted(tests):
                write_test(stage / "node" / test.name, test)
            put()
    except OSError as error:
        raise Unwritable(folder, error) from None
    return len(tests)


def check_tests(folder: Path, *, force: bool) -> None:
    """Raise UsageError where something is at `folder` that must not be replaced."""
    try:
        if not folder.exists() and not folder.is_symlink():
            return
        if folder.is_symlink() or not folder.is_dir():
            raise UsageError(f"-o {folder}: this is no folder")
        if not any(folder.iterdir()):
            return
        others = [*foreign(folder)]
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror}") from None
    if others:
        told = f"-o {folder}: it holds what opcheck did not write: {', '.join(others[:3])}"
        raise UsageError(told, "choose a new folder")
    if not force:
        raise UsageError(f"-o {folder}: this folder is not empty", "--force replaces its tests")
