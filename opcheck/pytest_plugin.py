"""The plugin of pytest: case files as tests, and a fixture that judges a kernel of the test's.

Nothing of opcheck is imported before it is used, because pytest loads this module in every project
that has opcheck installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from opcheck.api import Result
    from opcheck.known import Gate
    from opcheck.model import BackendInfo, Case
    from opcheck.session import BackendLike, Session

#: What a case file usually has at the beginning of a line, and other YAML files seldom have.
_CASES = re.compile(r"^(cases|op) *:", re.MULTILINE)
_SUFFIXES = (".yaml", ".yml")
#: The folders that pytest leaves out by itself, unless a project's setting names others. Case files
#: in them are collected all the same: a folder `build` may hold cases, as `opcheck run` takes them.
_LEFT_OUT_BY_DEFAULT = ["*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv"]
_LEFT_OUT_BY_DEFAULT.append("{arch}")
#: Fields with the files that were passed over.
_PASSED_OVER = ("idle", "left_out", "without_cases", "foreign")
#: Options that make no sense without a backend.
_FOR_BACKENDS = ("known", "level", "timeout", "config", "require_supported")
#: The most files that the summary names.
_NAMED = 5


class OpcheckWarning(pytest.PytestWarning):
    """A backend deviates from what the specification recommends."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and a setting of the same name for each that a project keeps."""
    option = parser.getgroup("opcheck", "opcheck: case files judged on backends").addoption
    repeated: dict[str, Any] = {"action": "append", "default": []}
    about = "Judge the case files that are collected on this backend. Repeatable."
    option("--opcheck-backend", help=about, **repeated)
    about = "A ledger: what it lists has to fail as listed. Repeatable."
    option("--opcheck-known", help=about, **repeated)
    about = "smoke, core (the default) or deep."
    option("--opcheck-level", help=about, choices=("smoke", "core", "deep"))
    about = "Seconds that a backend has for a case; 30 by default."
    option("--opcheck-timeout", help=about, type=float)
    about = "The settings file, whose code you accept, in place of the nearest opcheck.toml."
    option("--opcheck-config", help=about, type=Path)
    about = "Fail where a backend does not support a case, instead of skipping it."
    option("--opcheck-require-supported", help=about, action="store_true")
    about = "Let a case that a ledger lists pass, as xpassed, instead of failing the test."
    option("--opcheck-allow-unexpected-passes", help=about, action="store_true")
    parser.addini("opcheck_backend", "Backends, as --opcheck-backend.", "linelist", [])
    parser.addini("opcheck_known", "Ledgers, as --opcheck-known.", "linelist", [])
    parser.addini("opcheck_level", "As --opcheck-level.", default="core")
    about = "As --opcheck-allow-unexpected-passes, but not used where the variable CI is set."
    parser.addini("opcheck_allow_unexpected_passes", about, "bool", default=False)


@dataclass(eq=False)
class _Judges:
    """The backends of a session of pytest, started when the first case asks them."""

    config: pytest.Config
    stack: ExitStack = field(default_factory=ExitStack)
    sessions: dict[tuple[object, ...], Session] = field(default_factory=dict)
    #: Results on all backends of cases that compare them with each other, by id.
    compared: dict[str, list[Result]] = field(default_factory=dict)
    #: Case files, and the cases in them, that were collected; and files that no backend judges.
    files: int = 0
    cases: list[Case] = field(default_factory=list)
    idle: list[Path] = field(default_factory=list)
    #: Real paths of the case files that were collected; YAML files that are none; case files that
    #: are hidden or that the project has pytest leave out; those without a case of the level.
    collected: set[Path] = field(default_factory=set)
    foreign: list[Path] = field(default_factory=list)
    left_out: list[Path] = field(default_factory=list)
    without_cases: list[Path] = field(default_factory=list)
    #: Backends that support none of their cases.
    lacking: list[str] = field(default_factory=list)
    #: Cases were collected, and something removed all of their tests.
    is_unrun: bool = False
    _gates: dict[tuple[Path, ...], Gate] = field(default_factory=dict)

    @property
    def backends(self) -> list[str]:
        return [*self.setting("backend")]

    def setting(self, name: str) -> Any:
        """Return an option of the command line, or else of the project."""
        return self.config.getoption(f"opcheck_{name}") or self.config.getini(f"opcheck_{name}")

    def gate(self, more: Iterable[str | Path] = ()) -> Gate:
        """Return the ledgers of the user, each set of them read once."""
        from opcheck.known import Gate, load_user_ledgers

        paths = tuple(Path(one) for one in (*self.setting("known"), *more))
        if paths not in self._gates:
            lenient = self.allows_unexpected_passes()
            self._gates[paths] = Gate(load_user_ledgers(paths), lenient=lenient)
        return self._gates[paths]

    def allows_unexpected_passes(self) -> bool:
        """Return True if a case that a ledger lists may pass.

        The setting of the project does not count where CI is set: a gate says itself what is red.
        """
        from opcheck.machine import in_ci

        by_option = bool(self.config.getoption("opcheck_allow_unexpected_passes"))
        return by_option or (self._has_lenient_setting() and not in_ci())

    def leaves_out_lenient_setting(self) -> bool:
        """Return True if the project's setting for unexpected passes is not used, because of CI."""
        return self._has_lenient_setting() and not self.allows_unexpected_passes()

    def _has_lenient_setting(self) -> bool:
        return bool(self.config.getini("opcheck_allow_unexpected_passes"))

    def judge(self, case: Case, backend: BackendLike, known: Iterable[str | Path] = ()) -> Result:
        from opcheck.api import as_result
        from opcheck.session import LiveRun, Request

        # Those that are compared with each other are judged together, once.
        together = case.expect.compares_backends and backend in self.backends
        backends: Sequence[BackendLike] = self.backends if together else [backend]
        results = self.compared.setdefault(case.id, []) if together else []
        if not results:
            session = self._session(backends)
            session.connect([case])
            request = Request(cases=[case], gate=self.gate(known))
            results += [*map(as_result, LiveRun(session, request).results())]
        return results[backends.index(backend)]

    def case_file(
        self, path: Path, parent: pytest.Collector, *, is_named: bool = False
    ) -> CollectedCaseFile | None:
        """Collect a YAML file if it is a case file; None, and noted as foreign, if it is not."""
        from opcheck.suite.discovery import holds_cases

        if is_named or holds_cases(path):
            return CollectedCaseFile.from_parent(parent, path=path)
        if _is_asked(self.config, path):
            self.foreign.append(path)
        return None

    def _session(self, backends: Sequence[BackendLike]) -> Session:
        from opcheck.session import Session

        # A session keeps its objects alive, so that no other gets the same id.
        key = tuple(one if isinstance(one, str) else id(one) for one in backends)
        if key not in self.sessions:
            # Nothing limits the time of a function.
            is_limited = any(isinstance(one, str) for one in backends)
            timeout = self.config.getoption("opcheck_timeout") if is_limited else None
            self.sessions[key] = self.stack.enter_context(Session(backends, timeout=timeout))
        return self.sessions[key]

    def ran_nothing(self, stats: Mapping[str, Sequence[Any]]) -> bool:
        """Return True if cases were collected, and neither run nor deselected."""
        ids = {str(getattr(one, "nodeid", "")) for ends in stats.values() for one in ends}
        is_run = any(id.endswith(f"[{backend}]") for id in ids for backend in self.backends)
        is_meant = self.config.getoption("collectonly") or "deselected" in stats
        return bool(self.cases) and not (is_run or is_meant)

    def passed_over(self) -> dict[str, list[str]]:
        """Return the files from which no case was taken, by field."""
        return {name: [*map(str, getattr(self, name))] for name in _PASSED_OVER}

    def not_judged(self) -> dict[str, list[Path]]:
        """Return the files from which no case was taken, by why not."""
        reasons = {
            "case files not judged, as --opcheck-backend names no backend": self.idle,
            "case files left out, as hidden or by the settings of pytest": self.left_out,
            f"case files without a case of level {self.setting('level')}": self.without_cases,
            "YAML files that are not case files": self.foreign,
        }
        return {why: paths for why, paths in reasons.items() if paths}

    def check_ledgers(self) -> None:
        """Raise CaseFileError where a ledger lists something in vain."""
        from opcheck.api import with_their_files
        from opcheck.errors import OpcheckError
        from opcheck.execution.workers import facts_of
        from opcheck.known import check

        infos: list[BackendInfo] = []
        for backend in self.backends:
            # One that cannot be used says so in its own tests.
            with suppress(OpcheckError):
                session = self._session([backend])
                session.connect()
                infos += session.infos
        check(self.gate(), facts_of(infos, with_their_files(self.cases)))

    def report(self, results: Sequence[Result], node: pytest.Item) -> None:
        """End a test as the worst of its results says."""
        from opcheck.grouping import group_by
        from opcheck.model import Verdict

        outcomes = {
            Verdict.PASS: "passed",
            Verdict.WARN: "warned",
            Verdict.KNOWN: "known",
            # Without leave, it has failed.
            Verdict.UNEXPECTED_PASS: "passed unexpectedly",
        }
        if not self.config.getoption("opcheck_require_supported"):
            outcomes[Verdict.UNSUPPORTED] = "unsupported"

        def outcome_of(result: Result) -> str:
            # A warning, too, has failed that is not as a ledger lists it.
            return "failed" if result.failed else outcomes.get(result.verdict, "failed")

        def count(alike: Sequence[Result]) -> str:
            return f"{len(alike)} of {len(results)} cases: " if len(results) > 1 else ""

        by_outcome = group_by(results, outcome_of)
        for result in by_outcome.get("warned", ()):
            node.warn(OpcheckWarning(str(result)))
        failed = by_outcome.get("failed")
        if failed:
            # The short summary shows the first line, next to the test's name.
            first = failed[0]
            pytest.fail(f"{count(failed)}{first.verdict}: {first.reason}\n{first}", pytrace=False)
        known = by_outcome.get("known")
        if known:
            cause = known[0].known.cause if known[0].known else known[0].reason
            pytest.xfail(f"{count(known)}{cause}")
        unsupported = by_outcome.get("unsupported")
        if unsupported:
            message = f"{count(unsupported)}unsupported: {unsupported[0].reason}"
            raise pytest.skip.Exception(message, _use_item_location=True)
        passed = by_outcome.get("passed unexpectedly")
        if passed:
            cause = passed[0].known.cause if passed[0].known else passed[0].reason
            node.stash[_PASSED_UNEXPECTEDLY] = f"{count(passed)}{cause}"


_KEY = pytest.StashKey[_Judges]()
#: How tests end, by pytest's words, whose backend gave an answer, or was broken.
_JUDGED = frozenset({"passed", "failed", "error", "xfailed", "xpassed"})
#: Of a test that passed, though a ledger lists its case: the cause that is stated there.
_PASSED_UNEXPECTEDLY = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the judges, whose backends are started later, and ended with pytest."""
    judges = config.stash[_KEY] = _Judges(config)
    config.add_cleanup(judges.stack.close)
    settings = config.getoption("opcheck_config")
    if settings:
        from opcheck.backends.trust import configured

        judges.stack.enter_context(configured(settings))
    if not judges.backends:
        for name in _FOR_BACKENDS:
            if config.getoption(f"opcheck_{name}"):
                option = f"--opcheck-{name.replace('_', '-')}"
                raise pytest.UsageError(f"{option} without a backend: name it by --opcheck-backend")
    if not (judges.backends or judges.setting("known")):
        return
    from opcheck.errors import OpcheckError
    from opcheck.execution.workers import Limits, chosen_backends

    # Wrong addresses and unreadable ledgers are found before anything starts.
    try:
        chosen_backends(judges.backends, Path(), Limits())
        judges.gate()
    except OpcheckError as error:
        raise pytest.UsageError(*error.lines()) from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CollectedCaseFile | None:
    """Collect case files if a backend is named: those on the command line, and those with cases."""
    if file_path.suffix.lower() not in _SUFFIXES:
        return None
    config = parent.config
    judges = parent.config.stash[_KEY]
    if not judges.backends:
        if _is_asked(config, file_path) and _looks_like_cases(file_path):
            judges.idle.append(file_path)
        return None
    return judges.case_file(file_path, parent, is_named=file_path in _named(config))


def _looks_like_cases(path: Path) -> bool:
    """Return True for an ordinary case file; opcheck is not imported where nothing is judged."""
    with suppress(OSError):
        text = path.read_text("utf-8", "replace")
        return len({match[1] for match in _CASES.finditer(text)}) > 1
    return False


def _named(config: pytest.Config) -> list[Path]:
    """The paths of the command line, or of the setting `testpaths`."""
    return [config.invocation_params.dir / str(one).split("::")[0] for one in config.args]


def _is_asked(config: pytest.Config, path: Path) -> bool:
    """Return True if a path is on the command line, or below one: pytest looks beside them, too."""
    return any(path.is_relative_to(named) for named in _named(config))


@pytest.hookimpl(tryfirst=True, specname="pytest_collection_modifyitems")
def pytest_collect_what_pytest_leaves_out(
    session: pytest.Session, items: list[pytest.Item]
) -> None:
    """Collect the case files that `opcheck run` finds in the same folders, and pytest does not."""
    judges = session.config.stash[_KEY]
    if not judges.backends:
        return
    from opcheck.reading import Problems
    from opcheck.suite.discovery import case_files_in, hidden_case_files, holds_cases, real

    folders = [path for path in _named(session.config) if path.is_dir()]
    problems = Problems()
    known = {real(path) for path in judges.foreign}
    for folder in folders:
        for path in case_files_in(folder, problems):
            if real(path) in judges.collected | known:
                continue
            if not _is_left_out(session, folder, path):
                if (file := judges.case_file(path, session)) is not None:
                    items.extend(session.genitems(file))
            elif holds_cases(path):
                judges.left_out.append(path)
    # Pytest collects hidden files, and enters no hidden folder.
    hidden = hidden_case_files(folders)
    judges.left_out += [path for path in hidden if real(path) not in judges.collected]
    # Links that lead nowhere, which pytest passes over; a file that it collected has its own error.
    passed_over = [each for each in problems if real(Path(each.file)) not in judges.collected]
    if passed_over:
        raise pytest.UsageError(*map(str, passed_over))


def _is_left_out(session: pytest.Session, folder: Path, file: Path) -> bool:
    """Return True if the project's own settings leave out a file, or a folder that it is in."""
    steps = file.relative_to(folder).parts
    paths = [folder.joinpath(*steps[:count]) for count in range(1, len(steps) + 1)]
    return any(_is_ignored(session, path) for path in paths)


def _is_ignored(session: pytest.Session, path: Path) -> bool:
    """Return True if pytest ignores a path for another reason than the name of a folder."""
    from opcheck.suite.discovery import is_virtual_environment

    config = session.config
    hooks = session.gethookproxy(path.parent)
    if not hooks.pytest_ignore_collect(collection_path=path, config=config):
        return False
    has_own_setting = config.getini("norecursedirs") != _LEFT_OUT_BY_DEFAULT
    is_by_name = any(fnmatch(path.name, pattern) for pattern in _LEFT_OUT_BY_DEFAULT)
    if has_own_setting or not (path.is_dir() and is_by_name):
        return True
    return is_virtual_environment(path) or path in _ignored_on_purpose(config)


def _ignored_on_purpose(config: pytest.Config) -> set[Path]:
    """Return the paths that --ignore and `collect_ignore` of a conftest.py name."""
    here = config.invocation_params.dir
    found = {here / path for path in config.getoption("ignore") or ()}
    for plugin in config.pluginmanager.get_plugins():
        file = getattr(plugin, "__file__", None)
        names = getattr(plugin, "collect_ignore", ())
        if file and names:
            found.update(Path(file).parent / name for name in names)
    return found


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add tests that fail for backends without cases, and for ledgers that list in vain."""
    config = session.config
    judges = config.stash[_KEY]
    asked = judges.files or config.getoption("opcheck_backend")
    # A file with an error has been reported.
    if asked and not judges.cases and not session.testsfailed:
        items.append(NoCase.from_parent(session, name="--opcheck-backend"))
    # Where single files are asked, or what failed last, ledgers may list what is in others.
    is_partial = config.getoption("lf", False) or not all(one.is_dir() for one in _named(config))
    if judges.cases and judges.setting("known") and not is_partial:
        items.append(Ledgers.from_parent(session, name="--opcheck-known"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a ledger alone excuse a case: a hook that marks it as xfail does not.

    A test that passed though a ledger lists its case, and may, is reported as xpassed.
    """
    report = yield
    passed_unexpectedly = item.stash.get(_PASSED_UNEXPECTEDLY, None)
    if call.when == "call" and report.passed and passed_unexpectedly is not None:
        report.wasxfail = passed_unexpectedly
        return report
    if not isinstance(item, CaseItem) or not hasattr(report, "wasxfail"):
        return report
    by_ledger = (
        call.when == "call" and call.excinfo and call.excinfo.errisinstance(pytest.xfail.Exception)
    )
    if not by_ledger:
        # A case that passes is reported as passed.
        report.outcome = "failed" if call.excinfo else "passed"
        del report.wasxfail
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which a backend supports none of its cases, so that nothing was judged."""
    judges = session.config.stash[_KEY]
    if hasattr(session.config, "workeroutput"):
        # A worker of xdist has no reporter: the controller prints this.
        session.config.workeroutput["opcheck"] = judges.passed_over()
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    stats = [*reporter.stats.items()] if reporter else []
    for backend in judges.backends:
        mine = f"[{backend}]"
        ended = {how for how, ends in stats for one in ends if str(one.nodeid).endswith(mine)}
        if "skipped" in ended and not ended & _JUDGED:
            judges.lacking.append(backend)
    judges.is_unrun = judges.ran_nothing(dict(stats))
    if judges.lacking or judges.is_unrun:
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Note what a worker of xdist has passed over; all of them collect the same files."""
    found = getattr(node, "workeroutput", {}).get("opcheck", {})
    judges = node.config.stash[_KEY]
    for name, paths in found.items():
        setattr(judges, name, [Path(path) for path in paths])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name case files that were there and not judged, and backends that support none."""
    judges = config.stash[_KEY]
    if judges.leaves_out_lenient_setting():
        setting = "opcheck_allow_unexpected_passes"
        terminalreporter.line(f"opcheck: setting {setting} not used where CI is set")
    for what, paths in judges.not_judged().items():
        terminalreporter.line(f"opcheck: {what}: {_some(paths)}")
    for backend in judges.lacking:
        terminalreporter.line(f"opcheck: nothing was judged: {backend} supports none of its cases")
    if judges.is_unrun:
        count = len(judges.cases)
        terminalreporter.line(f"opcheck: nothing was judged: none of {count} collected cases ran")


def _some(paths: Sequence[Path]) -> str:
    """Return the number of files, and the names of the first, as seen from here."""
    from opcheck.errors import few
    from opcheck.report.plain_text import one_line

    here = Path.cwd()
    names = [path.relative_to(here) if path.is_relative_to(here) else path for path in paths]
    return f"{len(names)}: {few([one_line(str(name)) for name in names], _NAMED)}"


class NoCase(pytest.Item):
    """Error of a run whose backends have no case."""

    def runtest(self) -> None:
        """Fail."""
        files = self.config.stash[_KEY].files
        why = f"of {files} case files, none has a case of this level" if files else "no case file"
        pytest.fail(f"--opcheck-backend: no case was collected: {why}", pytrace=False)


class _Explained:
    """A node whose errors that opcheck raises on purpose are shown without a traceback."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *more: Any) -> Any:
        """Return the error's lines, with line and column of damaged files."""
        from opcheck.errors import OpcheckError

        if isinstance(excinfo.value, OpcheckError):
            return "\n".join(excinfo.value.lines())
        return super().repr_failure(excinfo, *more)  # type: ignore[misc]


class Ledgers(_Explained, pytest.Item):
    """The check that ledgers list nothing in vain."""

    def runtest(self) -> None:
        """Fail with all that matches no case or backend."""
        self.config.stash[_KEY].check_ledgers()


class CollectedCaseFile(_Explained, pytest.File):
    """A case file; each of its cases on each backend is a test."""

    def collect(self) -> Iterator[CaseItem]:
        """Yield the tests, in the order of the file."""
        from opcheck.suite import Selection, choose, load_all
        from opcheck.suite.discovery import real

        judges = self.config.stash[_KEY]
        judges.files += 1
        judges.collected.add(real(self.path))
        cases = choose(load_all([self.path]), Selection(level=judges.setting("level")))
        if not cases:
            judges.without_cases.append(self.path)
        for case in cases:
            judges.cases.append(case)
            for backend in judges.backends:
                name = f"{case.id}[{backend}]"
                # Stated as text, as pytest remembers it for --lf.
                id = f"{self.nodeid}::{name}"
                yield CaseItem.from_parent(self, name=name, nodeid=id, case=case, backend=backend)


class CaseItem(_Explained, pytest.Item):
    """One case on one backend."""

    def __init__(self, *, case: Case, backend: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.case = case
        self.backend = backend

    def runtest(self) -> None:
        """Judge the case; end as the verdict says."""
        judges = self.config.stash[_KEY]
        judges.report([judges.judge(self.case, self.backend)], self)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the case's location."""
        return self.path, max(self.case.source.line - 1, 0), self.name


@pytest.fixture
def opcheck_case(request: pytest.FixtureRequest) -> Callable[..., Result]:
    """Judge a kernel on a case: `opcheck_case("Softmax/worked_example@opset=13", my_softmax)`."""
    judges = request.config.stash[_KEY]

    def check(
        case: str,
        backend: BackendLike,
        *,
        path: str | Path | None = None,
        known: str | Path | Iterable[str | Path] = (),
    ) -> Result:
        """Judge a backend on a case; the test fails, is skipped or xfails as the verdict says.

        Args:
            case: The id of a case, or a pattern with `*` that one or more ids match.
            backend: A function of NumPy arrays, an object with `prepare(task)`, or an address.
            path: The file of the case; one of the shipped suites by default.
            known: Ledgers of known failures, besides those of `--opcheck-known`.

        Returns:
            The result, of several the last. All are judged, and the worst ends the test. The test
            fails too where there is no such case.
        """
        from opcheck.errors import OpcheckError

        ledgers = [known] if isinstance(known, str | Path) else known
        try:
            results = [judges.judge(one, backend, ledgers) for one in _cases(case, path)]
            judges.report(results, request.node)
            return results[-1]
        except OpcheckError as error:
            messages = error.lines()
        pytest.fail("\n".join(messages), pytrace=False)

    return check


def _cases(wanted: str, path: str | Path | None) -> Sequence[Case]:
    from opcheck.api import load
    from opcheck.errors import UsageError

    if not isinstance(wanted, str):
        raise UsageError(f"{wanted!r:.60} is no id of a case", "pass the case's id")
    return load([] if path is None else [path], ids=[wanted])
