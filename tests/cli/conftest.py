"""Command lines, run in this process and in one of their own."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

# Before a test replaces what it imports.
import opcheck.backends.profile_fields  # noqa: F401
from opcheck.backends import address
from opcheck.backends.isolation import pool
from opcheck.cli.group import program
from opcheck.engine import Node
from opcheck.engine.mutants import Mutant
from opcheck.execution import bench  # noqa: F401  (it names the pool in its types: before that is a fake)
from opcheck.model import BackendInfo
from tests.cli.fakes import FAKES
from tests.inline import Inline
from tests.shell import Forked

ROOT = Path(__file__).parent.parent.parent
_TERMINAL = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")

Run = Callable[..., Result]


class InlinePool(Inline):
    """A fake that answers in this process, in the place of workers."""

    idle_deaths: ClassVar[dict[str, int]] = {}
    unclean_exits: ClassVar[list[str]] = []

    @property
    def address(self) -> str:
        return self.info.address

    def connected(self) -> BackendInfo:
        return self.info

    def look(self) -> BackendInfo:
        return self.info

    def copy(self, scratch: Path) -> "InlinePool":
        return InlinePool(self._backend)

    def add_ends(self, idle_deaths: Any, unclean_exits: Any) -> None:
        """They are those of the fakes here."""

    def close(self) -> None:
        """There is nothing to end."""


@pytest.fixture(scope="session")
def remembered() -> Callable[[Mutant, Node], Any]:
    """`Mutant.made_on`, which is asked about the same failures in most tests, and answers once."""
    made_on, known = Mutant.made_on, dict[Any, tuple[Mutant, Any]]()

    def answer(mutant: Mutant, node: Node) -> Any:
        if "_key" not in node.__dict__:
            inputs = [x is None or (x.dtype, x.shape, x.tolist()) for x in node.inputs]
            asked = node.op, inputs, node.attrs, node.outputs, node.constant, node.opset
            node.__dict__["_key"] = repr(asked)
        key = id(mutant), node.__dict__["_key"]
        if key not in known:
            made = made_on(mutant, node)
            # What is right is known by its identity.
            is_right = node.is_legal and made is node.right
            known[key] = mutant, None if is_right else made
        _, made = known[key]
        return node.right if made is None else made

    return answer


@pytest.fixture
def run(monkeypatch, tmp_path, remembered) -> Run:
    """`opcheck` in an empty folder, with the fakes among its backends, in this process.

    All others work in processes of their own, as they always do. What is called is to end with
    the exit code `code`, where one is given.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPCHECK_KEEP", "0")
    for name in _TERMINAL:
        monkeypatch.delenv(name, raising=False)
    kinds, real = address.built_in, pool.Pool

    def inline(settings, workers=1):
        fake = FAKES.get(settings.address)
        return InlinePool(fake) if fake else real(settings, workers)

    monkeypatch.setattr(address, "built_in", lambda: (*kinds(), *FAKES))
    monkeypatch.setattr(pool, "Pool", inline)
    monkeypatch.setattr(Mutant, "made_on", remembered)

    def run(*words: str, code: int | None = None, **environment: str) -> Result:
        found = CliRunner().invoke(program, words, env=environment, prog_name="opcheck")
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        assert code in (None, found.exit_code), found.output
        return found

    return run


@pytest.fixture
def cases(request, run, tmp_path) -> None:
    """The module's CASES in the folder that `opcheck` runs in."""
    (tmp_path / "cases.yaml").write_text(request.module.CASES)


@pytest.fixture
def keep(run, tmp_path) -> Callable[..., str]:
    """Runs the cases of test_run.py on backends, and keeps the run under a name."""
    from tests.cli.test_run import CASES

    (tmp_path / "cases.yaml").write_text(CASES)

    def keep(name: str, *backends: str, words: Sequence[str] = ()) -> str:
        asked = [word for backend in backends for word in ("-b", backend)]
        run("run", "cases.yaml", *asked, *words, "--report", f"json={name}")
        return name

    return keep


def environment(**changes: str) -> dict[str, str]:
    """The environment of a process that finds this checkout and has no terminal's settings."""
    kept = {name: value for name, value in os.environ.items() if name not in _TERMINAL}
    return {**kept, "PYTHONPATH": str(ROOT), "OPCHECK_KEEP": "0", **changes}


def _become(closed: Sequence[int]) -> None:
    """As in the foreground, even if these tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for descriptor in closed:
        os.close(descriptor)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[Any]]]:
    """Starts `opcheck` in a process and a process group of its own, without the files `closed`.

    Of a real interpreter where `fresh`, or where there are words for `python`.
    """
    started = []

    def start(*words, python=(), fresh=False, closed=(), **settings):
        own: dict[str, Any] = {"env": environment(), "text": True} | settings
        own = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | own
        process: subprocess.Popen[Any]
        if not (python or fresh) and sys.platform == "linux":
            process = Forked(words, closed, **own)
        else:
            command = [sys.executable, *python, "-m", "opcheck", *words]
            become = functools.partial(_become, closed)
            own = {"start_new_session": True, "preexec_fn": become} | own
            process = subprocess.Popen(command, **own)
        started.append(process)
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def notes(found: Result) -> str:
    """What `opcheck run` printed on standard error, without its first line about the run."""
    return without_header(found.stderr)


def without_header(printed: str) -> str:
    """What was printed on standard error, without the line about the run."""
    lines = printed.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("opcheck: version "))


def without_diagnoses(lines: Iterable[str]) -> list[str]:
    """`lines` without what the failure looks like, which is better known after other failures."""
    return [line for line in lines if not line.startswith(("  likely", "  or ", " " * 10 + "…"))]
