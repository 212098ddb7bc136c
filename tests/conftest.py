"""Snapshots, the first run, and why a test may be skipped.

Snapshots are texts that a test compares exactly with a committed file in the folder `snapshots`
beside the test: a whole page by the fixture `snapshot`, a message by `wording`. After a change that
is meant, write them anew with `pytest --update-snapshots` and read the difference before you commit
it.

A test that is skipped proves nothing, so each skip is printed, and one for a reason that is not
listed here fails the run.
"""

import compileall
import gc
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner
from xdist.scheduler import LoadFileScheduling

import opcheck
from opcheck.cli.group import program
from opcheck.model import Case
from opcheck.suite.select import HUGE, LEVELS
from tests.examples import load_profile
from tests.shell import Workers
from tests.wording import Wording, heading_of

ROOT = Path(__file__).parent.parent
#: What the reason of a skip begins with.
REASONS = (
    "not installed: ",  # an optional engine, or a compiler
    "a release that the ledgers have not been looked over with",
    "longdouble is no wider than float64 here",
    "no named pipes here",
    "needs a full device",
    "onnx ",  # words a sentence otherwise
    "PyYAML was built without libyaml",
    "root may read all",
    "POSIX signals and terminals",
    "the gate is a bash script",
    "this onnxruntime has no second provider to try",
    "no browser: ",  # Chromium and its driver
)

UPDATE = "--update-snapshots"
T = TypeVar("T")


load_profile()

# Ledgers are revised in another way there; a test that wants it says so.
os.environ.pop("CI", None)
# Workers have read it, and tests run pytest, too.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("PYTEST_ADDOPTS", None)


#: Tests of what is published, which a source distribution has not.
collect_ignore = (
    [] if (Path(__file__).parent.parent / "reports").is_dir() else ["test_reports.py", "known"]
)
#: Which of so many parts a gate asks of what takes long, or "whole"; None where this is no gate.
PARTS = 48
PART = os.environ.get("OPCHECK_PART")

#: A gate runs one in so many tests marked `processes`, and of what is tested elsewhere too.
TURNS = 3
_unlisted: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes snapshots."""
    parser.addoption(UPDATE, action="store_true", help="write the snapshots that differ anew")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a gate that leaves tests out, in each of its processes."""
    if PART is not None and config.option.markexpr:
        raise pytest.UsageError("the gate runs all tests of its part: leave -m out")
    if PART not in (None, "whole", *map(str, range(1, PARTS + 1))):
        raise pytest.UsageError(f"OPCHECK_PART is 1 to {PARTS}, or whole, not {PART!r}")


def pytest_report_header() -> str | None:
    if PART in (None, "whole"):
        return None
    return f"part {PART} of {PARTS} of what is marked gate or mutation: .ci/whole runs all"


def _of_part(
    things: Sequence[T], cost: Callable[[T], float] = lambda thing: 1.0, parts: int = PARTS
) -> Sequence[T]:
    """Those that this gate asks: the dearest are dealt first, each to the part with the least."""
    if PART in (None, "whole"):
        return things
    loads, mine = [(0.0, part) for part in range(parts)], []
    for thing in sorted(things, key=cost, reverse=True):
        load, part = heappop(loads)
        heappush(loads, (load + cost(thing), part))
        if part == int(PART) % parts:
            mine.append(thing)
    return mine


@pytest.fixture(scope="session")
def of_part() -> Callable[..., Sequence[T]]:
    """What is asked of many things: all or, in a gate of one part, one of `parts` by their cost.

    A test that uses this is asked by each gate; other tests marked `gate` or `mutation` are dealt.
    """
    return _of_part


@pytest.fixture
def each_gate() -> None:
    """For a test marked `gate` that each gate is to ask."""


def _left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """What a gate of one part leaves to others, and to `.ci/whole`, which has a whole first run."""
    if PART in (None, "whole"):
        return set()
    waiting = {item for item in items if "first_run" in _fixtures(item)}
    each = {"first_run", "of_part", "each_gate"}
    marked = [
        item
        for item in items
        if {"gate", "mutation"} & {mark.name for mark in item.iter_markers() if not mark.kwargs}
        and not each & _fixtures(item)
    ]
    # Those that are not dealt anyway: the closest mark is their own.
    gate = ((item, item.get_closest_marker("gate")) for item in items)
    started = [one for one, mark in gate if mark and mark.kwargs and not each & _fixtures(one)]
    mine = {*_of_part(marked, _seconds), *_of_part(started, _seconds, TURNS)}
    return waiting | ({*marked, *started} - mine)


def _seconds(item: pytest.Item) -> float:
    """The seconds that a test is marked to take: about one if it is not."""
    mark = item.get_closest_marker("seconds")
    return float(mark.args[0]) if mark else 1.0


def _fixtures(item: pytest.Item) -> set[str]:
    return {*getattr(item, "fixturenames", ())}


#: Stands in the files that one process of a gate has together, which reads all suites once.
READS_ALL = "reads_all_suites"


class Scheduling(LoadFileScheduling):
    """Each file in one process, and those that read all suites, if any do, in one together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        is_part = PART not in (None, "whole")
        return "all suites" if is_part and _is_marked(file, READS_ALL) else file


@cache
def _is_marked(file: str, mark: str) -> bool:
    """Return True if a file has a mark. This process knows no tests, only their ids."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return f"pytest.mark.{mark}" in text


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `sampled` leaves to the gate; begin with what takes longest.

    What waits for the gate's first run comes last, so that no process waits while others work.
    """
    several = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        several[item.nodeid.partition("[")[0]].append(item)
    for those in several.values():
        if mark := those[0].get_closest_marker("sampled"):
            step = len(those) / mark.args[0] if mark.kwargs else 1
            chosen = {int(number * step) for number in range(mark.args[0])}
            for item in (item for number, item in enumerate(those) if number not in chosen):
                item.add_marker("gate")
    named = {Path(word.partition("::")[0]).resolve() for word in config.args}
    for item in items:
        if item.get_closest_marker("processes") and item.path not in named:
            item.add_marker(pytest.mark.gate(in_turn=True))
    if left := _left_out(items):
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]
    waiting = {item.path for item in items if "first_run" in _fixtures(item)}
    items.sort(key=lambda item: (item.path in waiting, _turn(item)))


def _turn(item: pytest.Item) -> int:
    """When a test comes: with what reads all suites, with other files that take long, or later."""
    if item.get_closest_marker(READS_ALL):
        return 0
    return 1 if item.get_closest_marker("starts_early") else 2


if "PYTEST_XDIST_WORKER" not in os.environ:
    # Since no process of a test writes any, see below.
    compileall.compile_dir(Path(opcheck.__file__).parent, quiet=1)


@pytest.fixture(autouse=True, scope="session")
def _no_stale_bytecode() -> Iterator[None]:
    """Have no process take a backend's bytecode of the second before for the file it is asked for.

    Python compares the time, in whole seconds, and the size.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        yield


@pytest.fixture(autouse=True, scope="session")
def _suites_read_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Choose shipped cases among all, once a test has read all, which takes as long as most do."""
    folder = _of_all_processes(tmp_path_factory)
    module = sys.modules["opcheck.suite.load"]
    # What modules have read while tests were collected is there already.
    some, kept = module._shipped, defaultdict[str, list[Case]](list)
    read = some.__wrapped__

    def keep(cases: tuple[Case, ...]) -> None:
        kept.clear()
        for case in cases:
            kept[case.op.name.lower()].append(case)

    is_whole = False

    @cache
    def chosen(ops: frozenset[str], levels: frozenset[str]) -> tuple[Case, ...]:
        nonlocal is_whole
        if levels == {HUGE}:  # which lie in files of their own
            return tuple(some(ops, levels))
        if not (ops or is_whole):
            keep(_read_by_one(folder, lambda: read(frozenset(), frozenset(LEVELS))))
            is_whole = True
        names = {op.lower() for op in ops or kept}
        if names - kept.keys():
            if levels >= {*LEVELS} and len(names) > len(kept):
                keep(some(ops, levels))
            return tuple(some(ops, levels))
        # All files come in their order, and the operators of each in theirs.
        those = chain.from_iterable(of for name, of in kept.items() if name in names)
        return tuple(case for case in those if case.level in levels)

    chosen.__wrapped__ = read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_shipped", chosen)
        yield


def _of_all_processes(factory: pytest.TempPathFactory) -> Path:
    """The folder of the gate, or of this run of pytest, whatever the process."""
    base = factory.getbasetemp()
    own = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return Path(os.environ.get("OPCHECK_FIRST_RUN", own))


def _read_by_one(folder: Path, read: Callable[[], tuple[Case, ...]]) -> tuple[Case, ...]:
    """All shipped cases, which one process of a gate reads, and the others take from the cache."""
    if "PYTEST_XDIST_WORKER" not in os.environ or sys.platform == "win32":
        return read()
    import fcntl

    with (folder / "suites.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return read()


#: Where the product looks up how to start workers.
_STARTS_WORKERS = "opcheck.backends.isolation.process.subprocess"


@pytest.fixture(autouse=True, scope="module")
def _forked_workers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make workers forks, which start at once, but where the file is marked `fresh_workers`."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux" and not request.node.get_closest_marker("fresh_workers"):
            patch.setattr(_STARTS_WORKERS, Workers)
        yield


@pytest.fixture(autouse=True)
def _fresh_workers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start the workers of a test marked `fresh_workers` as those of a user's run are started."""
    if not request.node.get_closest_marker("fresh_workers"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_STARTS_WORKERS, subprocess)
        yield


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A function of a name and a text, which must be what the file of that name holds."""
    folder = request.path.parent / "snapshots"

    def check(name: str, text: str) -> None:
        file = folder / f"{name}.txt"
        if request.config.getoption(UPDATE):
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        assert file.is_file(), f"no snapshot {file.name}: write it with {UPDATE}"
        assert text == file.read_text(encoding="utf-8")

    return check


@pytest.fixture
def wording(request: pytest.FixtureRequest) -> Wording:
    """What each text that this test compares must be, see `tests/wording.py`."""
    item = request.node
    heading = item.name
    if parameters := getattr(item, "callspec", None):
        heading = heading_of(item.name, item.originalname, [*parameters.indices.values()])
    places: dict[str, str] = {}
    if "tmp_path" in request.fixturenames:
        folder = request.getfixturevalue("tmp_path")
        places = {str(folder): "{tmp_path}", folder.name: "{tmp_path.name}"}
    return Wording(
        file=item.path.parent / "snapshots" / f"{item.path.stem}.txt",
        heading=heading,
        places=places | {sys.executable: "{python}", str(ROOT): "{root}"},
        update=request.config.getoption(UPDATE),
    )


@dataclass(frozen=True)
class FirstRun:
    """`opcheck run`: its exit code, what it prints, and the stored run."""

    exit_code: int
    stdout: str
    stderr: str
    stored: Path


@pytest.fixture(scope="session")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    """Run the shipped suites on the default backends, once for all processes of these tests.

    The gate has done that already, and names the folder of what it printed and stored.
    """
    folder = _of_all_processes(tmp_path_factory)
    stored, *said = (folder / f"first.{name}" for name in ("jsonl", "code", "out", "err"))
    with (folder / "first.lock").open("w") as lock:
        fcntl = pytest.importorskip("fcntl", reason="POSIX signals and terminals")
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said[0].exists():
            words = ["run", "--report", f"json={stored}"]
            run = CliRunner().invoke(program, words, env={"COLUMNS": "100"})
            for file, text in zip(said, (run.exit_code, run.stdout, run.stderr), strict=True):
                file.write_text(str(text), encoding="utf-8")
    code, out, err = (file.read_text(encoding="utf-8") for file in said)
    return FirstRun(int(code), out, err, stored)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the collector of garbage from walking over all tests and cases again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report)


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(REASONS):
            _unlisted.append(f"{report.nodeid}: {reason}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unlisted and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _unlisted:
        terminalreporter.section("skipped for a reason that tests/conftest.py does not list")
        for line in _unlisted:
            terminalreporter.line(line, red=True)
