"""Snapshots, the first run, and why a test may be skipped.

Snapshots are texts that a test compares exactly with a committed file in the folder `snapshots`
beside the test. After a change that is meant, write them anew with `OPCHECK_UPDATE_SNAPSHOTS=1
pytest` and read the difference before you commit it.

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
from hypothesis import is_hypothesis_test, settings
from xdist.scheduler import LoadFileScheduling

import opcheck
from opcheck.cli.group import program
from opcheck.model import Case
from opcheck.suite.select import LEVELS
from tests.shell import Workers

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

UPDATE = "OPCHECK_UPDATE_SNAPSHOTS"
T = TypeVar("T")


# How long an example takes depends on the machine, and on who else works there. The same examples
# come in every run: a gate must not turn red by chance.
settings.register_profile("opcheck", deadline=None, derandomize=True)
settings.load_profile("opcheck")

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

#: Files whose tests read all shipped suites in a gate, which takes half a minute: one process of a
#: gate that asks a part has them all.
READ_ALL = """
cases/test_score_and_groups cases/test_twins engine/mutants/test_general execution/test_saving
graph/test_folders known/test_shipped precise/test_golden_values suite/test_load test_cases
test_clauses test_power_of_the_suites
""".split()
#: What takes longest of the others comes next, so that no process is left with it in the end.
LONG = """
cli/test_shipped test_pytest_plugin cli/test_bench backends/isolation/test_pool cli/test_process
execution/bench/test_session report/html/test_browser cli/test_backends bounds/softmax/test_sound
""".split()
#: A gate asks one in so many tests of the files below, and of what is asked again elsewhere.
TURNS = 3
#: Clusters, browsers, compilers, the steps of CI systems, processes that hang or are killed.
#: `pytest` asks those of a file that is named.
STARTED = """
backends/isolation/test_ends backends/isolation/test_pool backends/test_made_of cli/test_bench
cli/test_builds cli/test_cluster cli/test_golden cli/test_judges cli/test_process cli/test_workers
execution/bench/test_session report/html/test_browser test_ci_files test_docs test_examples
test_gate_page test_pytest_plugin
""".split()
#: Tests of one part of a gate that take longest, with seconds: others take about one.
SECONDS = {
    "tests/cli/test_cluster.py::test_cells_and_mutants_are_those_of_one_process": 12,
    "tests/cli/test_cluster.py::test_workers_find_what_one_process_finds": 12,
    "tests/cli/test_shipped.py"
    "::test_without_the_ledgers_the_defects_are_failures_of_which_some_are_told": 8,
    "tests/execution/test_diagnosis.py::test_nine_lies_of_ten_are_named_first": 15,
    "tests/known/test_shipped.py::test_every_place_of_a_shipped_line_is_about_a_shipped_case": 8,
    "tests/report/html/test_browser.py::test_a_failure_by_another_name_is_found_by_its_number": 9,
    "tests/cases/test_twins.py::test_no_two_mutants_are_one": 10,
    "tests/engine/mutants/test_general.py"
    "::test_every_fault_of_a_function_that_operators_call_concerns_a_case": 30,
    "tests/test_reports.py::test_defects_show_without_opcheck": 15,
    "tests/test_reports.py::test_the_pages_are_those_that_the_stored_files_make": 60,
}
_unlisted: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a gate that leaves tests out, in each of its processes."""
    if PART is not None and config.option.markexpr:
        raise pytest.UsageError("the gate asks all tests of its part: -m is for others")
    if PART not in (None, "whole", *map(str, range(1, PARTS + 1))):
        raise pytest.UsageError(f"OPCHECK_PART is 1 to {PARTS}, or whole, not {PART!r}")


def pytest_report_header() -> str | None:
    if PART in (None, "whole"):
        return None
    return f"part {PART} of {PARTS} of what is marked gate or mutation: .ci/whole asks all"


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
    return SECONDS.get(item.nodeid.partition("[")[0], 1.0)


def _fixtures(item: pytest.Item) -> set[str]:
    return {*getattr(item, "fixturenames", ())}


class Scheduling(LoadFileScheduling):
    """Each file in one process, and those that read all suites, if any do, in one together."""

    def _split_scope(self, nodeid: str) -> str:
        file = _file(nodeid)
        return "all suites" if file in READ_ALL and PART not in (None, "whole") else file


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0].removeprefix("tests/").removesuffix(".py")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


#: Of so many examples that Hypothesis would draw one is asked, and each by `.ci/whole`.
SHARE = 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `sampled` leaves to the gate; begin with what takes longest.

    What waits for the gate's first run comes last, so that no process waits while others work.
    """
    drawn = {getattr(item, "obj", None) for item in items} if PART != "whole" else set()
    for test in filter(is_hypothesis_test, drawn):
        all_ = test._hypothesis_internal_use_settings
        few = settings(all_, max_examples=max(all_.max_examples // SHARE, 1))
        test._hypothesis_internal_use_settings = few
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
        if _file(item.nodeid) in STARTED and item.path not in named:
            item.add_marker(pytest.mark.gate(in_turn=True))
    if left := _left_out(items):
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]
    waiting = {item.path for item in items if "first_run" in _fixtures(item)}
    order = {file: place for place, file in enumerate([*READ_ALL, *LONG])}
    items.sort(key=lambda item: (item.path in waiting, order.get(_file(item.nodeid), len(order))))


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


#: Tests of how workers start and end, and of all the harm that they do.
_FRESH = {"test_start", "test_ends", "test_faults"}


@pytest.fixture(autouse=True, scope="module")
def _quick_workers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have workers be forks, which start at once, but where the tests are about workers."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux" and request.path.stem not in _FRESH:
            patch.setattr("opcheck.backends.isolation.process.subprocess", Workers)
        yield


@pytest.fixture
def fresh_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have workers be what they are to users: interpreters that begin with nothing."""
    monkeypatch.setattr("opcheck.backends.isolation.process.subprocess", subprocess)


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A function of a name and a text, which must be what the file of that name holds."""
    folder = request.path.parent / "snapshots"

    def check(name: str, text: str) -> None:
        file = folder / f"{name}.txt"
        if os.environ.get(UPDATE):
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        assert file.is_file(), f"no snapshot {file.name}: write it with {UPDATE}=1"
        assert text == file.read_text(encoding="utf-8")

    return check


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
