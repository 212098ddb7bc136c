"""What a command names: case files, folders of them, test data, node tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from opcheck.errors import UsageError, did_you_mean
from opcheck.model import Case, Source
from opcheck.reading import Mark, Problems
from opcheck.suite.load import SUFFIXES, check_unique, load

if TYPE_CHECKING:
    from opcheck.graph.test_data import ModelTest

#: The node tests of the installed onnx package, `onnx-node/PATTERN` for some of them.
NODE_TESTS = "onnx-node"
_PREFIX = "test_"
_MODEL = ".onnx"
#: No more of models and their inputs is held at once, in bytes.
MAX_HELD = 4 << 30
_WHOLE = Mark(0, 0)


def load_all(paths: Sequence[Path] = (), dims: Mapping[str, int] | None = None) -> tuple[Case, ...]:
    """The cases of all `paths`, whatever they are; of the shipped suites without any.

    `dims` are sizes that models leave open. Raises CaseFileError with every problem of every file,
    and UsageError.
    """
    files = [path for path in paths if not _is_of_models(path)]
    cases = [*load(files)] if files or not paths else []
    problems = Problems()
    models = []
    for path in dict.fromkeys(path for path in paths if path not in files):
        if is_node_tests(path):
            from opcheck.suite.models import cases_of

            tests = node_tests_called(path)
            cases += [one for test in tests for one in cases_of(test, Source(NODE_TESTS, 0, 0))]
        elif path.suffix == _MODEL:
            models.append(path)
        else:
            cases += _test_data(path, problems)
    cases += _models(models, dims or {}, problems)
    check_unique(cases, problems)
    problems.raise_if_any()
    return tuple(cases)


def check_case_files(paths: Sequence[Path], command: str) -> None:
    """Raise UsageError for what is no case file, and a command can do nothing with."""
    for path in paths:
        if _is_of_models(path):
            raise UsageError(f"{path}: opcheck {command} takes case files only, no models")


def _is_of_models(path: Path) -> bool:
    return is_node_tests(path) or path.suffix == _MODEL or _is_test_data(path)


def _models(paths: Iterable[Path], dims: Mapping[str, int], problems: Problems) -> Iterator[Case]:
    from opcheck.graph.test_data import Told
    from opcheck.suite.models import Sizes, case_of_model

    told, sizes = Told(), Sizes(dims)
    for path in paths:
        case = case_of_model(path, sizes, told)
        if case:
            yield case
    sizes.check()
    for path, message in told.problems:
        problems.add(str(path), _WHOLE, message)


def is_node_tests(path: Path) -> bool:
    """Whether a path names node tests; raises UsageError where a folder has the same name."""
    if path.parts[:1] != (NODE_TESTS,) or len(path.parts) > 2:
        return False
    if Path(NODE_TESTS).exists():
        raise UsageError(
            f"{NODE_TESTS} is the name of the onnx package's node tests, and of a folder here",
            f"{Path.cwd() / path} means the folder; elsewhere, {path} means the tests",
        )
    return True


def node_tests_called(path: Path) -> list[ModelTest]:
    """The tests that `path` names; raises UsageError where there are none."""
    from opcheck.graph.nodes import all_node_tests

    tests = all_node_tests()
    pattern = path.parts[1] if len(path.parts) > 1 else "*"
    wanted = [pattern, _PREFIX + pattern]
    found = [test for test in tests if any(fnmatchcase(test.name, one) for one in wanted)]
    if not found:
        hint = did_you_mean(pattern, [test.name for test in tests])
        told = f"no node test of the onnx package is called {pattern!r}"
        raise UsageError(told, hint or f"such as '{NODE_TESTS}/test_softmax*'")
    return found


def _is_test_data(path: Path) -> bool:
    """Whether a folder holds tests of models; raises UsageError if it holds case files too."""
    from opcheck.graph.test_data import is_test

    test: Path | None = None
    file: Path | None = None
    for where, folders, names in _walk(path):
        if test is None and is_test([*names, *folders]):
            test = where
        file = file or next(
            (where / name for name in names if Path(name).suffix.lower() in SUFFIXES), None
        )
    if test and file:
        raise UsageError(
            f"{path} holds both case files ({file}) and test data ({test})",
            "name the one or the other",
        )
    return test is not None


def _test_data(root: Path, problems: Problems) -> Iterator[Case]:
    from opcheck.graph.test_data import Told, is_test, read_test
    from opcheck.suite.golden_files import as_cases, golden_above, orphans
    from opcheck.suite.models import cases_of

    told = Told()
    golden = golden_above(root, told)
    found: dict[Path, list[Case]] = {}
    room = MAX_HELD

    def unreadable(error: OSError) -> None:
        told.add(Path(error.filename), f"this folder cannot be read: {error.strerror}")

    for where, folders, names in _walk(root, unreadable):
        if not is_test([*names, *folders]):
            for link in (where / name for name in folders if (where / name).is_symlink()):
                told.add(link, "links to folders are not followed")
            continue
        folders.clear()
        name = where.relative_to(root).as_posix() if where != root else where.resolve().name
        if not (name.isprintable() and name.isascii()):
            told.add(where, f"a test's name must be printable ASCII, not {name!a}")
            continue
        test = read_test(where, name, told, answered=golden is None)
        for case in cases_of(test, Source(str(root), 0, 0)) if test else ():
            room -= len(case.model or b"") + sum(spec.nbytes for spec in case.inputs)
            if room < 0:
                limit = f"tests of more than {MAX_HELD >> 30} GiB: name fewer of them at once"
                told.add(root, limit)
                break
            found.setdefault(where, []).append(case)
        if room < 0:
            break
    if golden:
        yield from as_cases(golden, root, found)
    else:
        told.problems += orphans(found)
        yield from (case for cases in found.values() for case in cases)
    for path, message in told.problems:
        problems.add(str(path), _WHOLE, message)


def _walk(
    root: Path, onerror: Callable[[OSError], None] | None = None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Folders below one, in order, nothing hidden; folders that are links are not entered."""
    for where, folders, names in os.walk(root, onerror=onerror):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield Path(where), folders, names
