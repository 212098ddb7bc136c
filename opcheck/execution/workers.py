"""The machine, and work on it: in several processes, and by backends in processes of their own.

A `Pool` is a backend in worker processes of its own, an `InProcess` one in this process; both take
questions by `ask` and give replies by `replies`. `Questions` is a generator that yields questions,
is sent their replies, and returns a result. Many are under way at a time.
"""

import os
import platform
import re
import shlex
import signal
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent import futures
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar, cast

import numpy as np
import psutil

from opcheck import __version__, diagnose, interrupt, suite
from opcheck.backends import base, floating_point
from opcheck.backends.address import DEFAULT, memory, names_code, parse, profiles, resolve
from opcheck.backends.connect import IN_PROCESS, version_of
from opcheck.backends.execute import execute, outcome
from opcheck.backends.isolation import pool
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.errors import BackendUnavailable, OpcheckError, ProcessDied, UsageError, few
from opcheck.execution.expected import oracles_of
from opcheck.grouping import Found, Item, Key
from opcheck.known import Facts
from opcheck.machine import look, processor_fields, remarks
from opcheck.model import BackendInfo, Case, Environment, Outcome, Produced, Question, Reply, timing

Result = TypeVar("Result")
#: Seconds that a backend has for a case by default.
TIMEOUT = 30.0
#: Seconds to wait for any reply before the caller gets its turn.
_WAIT = 0.05
#: Yields questions about a case, is sent the reply to each, and returns a result.
Questions: TypeAlias = Generator[Question, Reply, Found]


@dataclass(frozen=True)
class Limits:
    """Limits of each process, by default the profile's: seconds per case, memory as in "2GiB"."""

    timeout: float | None = None
    memory: str | None = None


def chosen_backends(wanted: Sequence[str], folder: Path, limits: Limits) -> list[BackendSettings]:
    """Return the settings of backends, the default ones if none is `wanted`, in order.

    A name is an address or a profile of the opcheck.toml in force; settings are what starts a
    process. Their files go to `folder`; `limits` go before those of a profile. Raises UsageError
    with all that are wrong: unknown, named twice, malformed or not trusted; also for a memory limit
    that is malformed, and CaseFileError for a wrong opcheck.toml.
    """
    limit = None if limits.memory is None else memory(limits.memory)
    known = profiles(Path.cwd())

    def settings_of(text: str) -> BackendSettings:
        """Return the settings of one backend; raise UsageError if it is wrong or named twice.

        A limit that the user states goes before that of a profile, and that before the default.
        """
        if wanted.count(text) > 1:
            raise UsageError(f"backend {text!r} is named twice")
        profile = resolve(text, known)
        return BackendSettings(
            address=str(profile.address),
            scratch=folder,
            environment=profile.environment,
            timeout=limits.timeout or profile.timeout or TIMEOUT,
            memory_limit=limit or profile.memory_limit,
            name=profile.name if profile.name in known else None,
            resources=profile.resources,
        )

    return each(settings_of, wanted or DEFAULT)


@contextmanager
def started(settings: Sequence[BackendSettings], workers: int) -> Iterator[list[Pool]]:
    """Start backends, each with at most so many `workers`; the context is their pools, in order.

    They are not connected yet, and their processes end with the context. Raises BackendUnavailable
    if no process can be started.
    """
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(pool.Pool(of_backend, workers))) for of_backend in settings
        ]


def connect(pools: Sequence[Pool]) -> None:
    """Wait until all backends are connected, one after the other.

    Raises UsageError if two pools are of one backend or an address is wrong; otherwise
    BackendUnavailable if any cannot be used. The message has all errors, of either kind. Raises
    KeyboardInterrupt if the user interrupts it.
    """
    by_address: dict[str, Pool] = {}

    def connect_one(pool: Pool) -> None:
        """Wait for one backend; raise UsageError if an earlier one is the same."""
        info = pool.connected()
        other = by_address.setdefault(info.address, pool)
        if other is not pool:
            if other.address == pool.address:
                raise UsageError(f"backend {info.address!r} is named twice")
            names = f"{other.address!r} and {pool.address!r}"
            raise UsageError(f"{names} name the same backend, {info.address!r}")
        interrupt.safe_place()

    each(connect_one, pools)


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Call a function on every item; return the results in order.

    If it raises OpcheckErrors, raises one with the messages of all after the last item: of the
    class of the first UsageError, or else of the first error. Any other exception ends it at once.
    """
    results: list[Result] = []
    failures: list[OpcheckError] = []
    for item in items:
        try:
            results.append(function(item))
        except OpcheckError as error:
            failures.append(error)
    if failures:
        raise as_one(failures)
    return results


def as_one(failures: Sequence[OpcheckError]) -> OpcheckError:
    """Return an error with the messages of all `failures`, at least one, each line once.

    Its class is that of the first UsageError, or else of the first error.
    """
    # A wrong command line comes before a backend that is missing.
    usage_errors = [error for error in failures if isinstance(error, UsageError)]
    worst = (usage_errors or failures)[0]
    lines = dict.fromkeys(line for error in failures for line in error.lines())
    return type(worst)("\n".join(lines))


@contextmanager
def consulted(
    cases: Sequence[Case], given: Sequence[str], folder: Path, limits: Limits, workers: int = 1
) -> Iterator[dict[str, Pool]]:
    """Connect the oracles of `cases`; the context is their pools by the names that the cases use.

    An oracle is a backend that a case names for its answer. Any of `given`, the backends that the
    user names, may be one. Of other backends, only those that run no code which a file may name,
    and profiles of a trusted opcheck.toml. The processes end with the context. Raises UsageError
    for those not allowed, not trusted or unknown and for a wrong opcheck.toml, BackendUnavailable
    for those that cannot be used, KeyboardInterrupt if the user interrupts it.
    """
    oracles = oracles_of(cases)

    def settings_of(address: str) -> BackendSettings:
        """Return the settings of one oracle; a UsageError names the case that wants it.

        It is one for an oracle that is code to run, unknown or not trusted, and for a wrong
        opcheck.toml.
        """
        try:
            if address not in given:
                _require_harmless(address)
            (of_oracle,) = chosen_backends([address], folder, limits)
        except UsageError as error:
            message = f"{oracles[address].source}: expect.oracle: {error.message}"
            raise UsageError(message, error.hint) from None
        return of_oracle

    with started(each(settings_of, oracles), workers) as pools:
        by_address = dict(zip(oracles, pools, strict=True))

        def connect_oracle(address: str) -> None:
            """Wait for one oracle; raise the error of `connect` with its name in front."""
            try:
                connect([by_address[address]])
            except OpcheckError as error:
                message = "\n".join([f"oracle {address!r}: {error.message}", *error.lines()[1:]])
                raise type(error)(message) from None

        each(connect_oracle, oracles)
        yield by_address


def _require_harmless(address: str) -> None:
    """Raise UsageError for an oracle of a case file that is code to run, or is unknown.

    An address is code if its kind is `cmd`, `onnx` or `py`, if it has a library of an execution
    provider loaded, or if another package offers its kind and it has a detail or options. A profile
    of opcheck.toml passes if it names no code or its file is trusted, else it raises UntrustedCode.
    Raises CaseFileError for a wrong opcheck.toml.
    """
    profile = profiles(Path.cwd()).get(address)
    if profile:
        profile.require_trust(f"-b {shlex.quote(address)}")
    elif names_code(parse(address, profiles(Path.cwd()))):
        hint = "name it as a backend too, or give it a name in a trusted opcheck.toml"
        raise UsageError(f"{address!r} is code, which no case file may have run", hint)


def check_has_other_backends(cases: Sequence[Case], backends: int) -> None:
    """Raise UsageError where cases compare backends with each other, and there are fewer than two.

    `backends` is their number. Cases beyond opcheck do not count.
    """
    asked = (case for case in cases if case.expect.compares_backends and not case.beyond)
    alone = [": ".join(dict.fromkeys((str(case.source), case.id))) for case in asked]
    if alone and backends < 2:
        hint = "name several: only they know the answer of such a case or model"
        message = f"{few(alone)}: backends are compared with each other, and there is only one"
        raise UsageError(message, hint)


def facts_of(
    backends: Sequence[BackendInfo], cases: Sequence[Case], *, whole: bool = False
) -> Facts:
    """Return facts that users' ledgers are checked against; `cases` are all that were read.

    They are `whole` if they hold all shipped cases of their operators. `backends` are those of the
    run. Among the facts are functions that read shipped cases of operators, return why an address
    names no backend here, None if it names one, and return the names of an operator's mutants.
    Raises CaseFileError for a wrong opcheck.toml.
    """
    known = profiles(Path.cwd())

    def why_none(address: str) -> str | None:
        """Return why an address names no backend here, None if it names one."""
        if address.partition(":")[0] == IN_PROCESS:
            return None
        try:
            resolve(address, known)
        except UsageError as error:
            return "; ".join(line.strip() for line in error.lines())
        return None

    return Facts(
        backends=backends,
        cases=cases,
        whole=whole,
        elsewhere=partial(suite.load, ()),
        why_none=why_none,
        looks=diagnose.names_of,
    )


class InProcess:
    """A backend asked in this process: a crash of it ends the run, and nothing limits its time."""

    #: None: replies are there at once.
    connections: "Sequence[Connection[Any, Any]]" = ()

    def __init__(self, backend: base.Backend) -> None:
        """Begin without a question."""
        self._backend = backend
        self.info = backend.info
        self._done: deque[tuple[int, Reply]] = deque()
        self._asked = 0

    @property
    def has_room(self) -> bool:
        """True until a question was answered whose reply nobody took."""
        return not self._done

    def ask(self, question: Question) -> int:
        """Answer a question at once; return its number, with which `replies` yields the answer.

        An answer that leaves the processor in another floating-point mode, which is reset, is
        unstable. Raises Defect if opcheck's own part of an adapter fails, BackendUnavailable if the
        processor cannot be brought back to IEEE 754's default mode, and KeyboardInterrupt.
        """
        self._asked += 1
        _require_default_mode("before a call")
        # Of NumPy, a thread's handling of overflow and the like is restored too.
        with np.errstate(), _staying():
            seen = execute(self._backend, question)
        changed = floating_point.deviations()
        _require_default_mode(f"after a call of {self.info.address}")
        result = outcome(seen, question)
        if changed and isinstance(result, Produced):
            reason = f"it leaves this process's processor in another mode: {', '.join(changed)}"
            result = replace(result, unstable=reason)
        self._done.append((self._asked, Reply(result)))
        return self._asked

    def forget(self) -> None:
        """Give up the replies that nobody took."""
        self._done.clear()

    def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
        """Yield the replies that nobody took yet, with their numbers; `readable` is not used."""
        while self._done:
            yield self._done.popleft()


@contextmanager
def _staying() -> Iterator[None]:
    """Turn `os._exit` into SystemExit until the block ends: a context manager, which yields None.

    A kernel that ends this process with 0 would end it green. Processes that a kernel forks leave
    as they like.
    """
    leave = os._exit
    own_process = os.getpid()

    def raise_exit(status: int) -> NoReturn:
        """Raise SystemExit in place of leaving; in a forked process, leave."""
        if os.getpid() != own_process:
            leave(status)
        raise SystemExit(status)

    os._exit = raise_exit
    try:
        yield
    finally:
        os._exit = leave


def _require_default_mode(when: str) -> None:
    """Have this process compute by IEEE 754's default; raise BackendUnavailable if it cannot.

    The message begins with `when`.
    """
    deviations = floating_point.reset()
    if deviations:
        message = f"{when}, nothing can be judged in this process: {', '.join(deviations)}"
        hint = "undo what changed this, such as torch.set_flush_denormal, or use an address"
        raise BackendUnavailable(message, hint)


#: A backend that is asked without waiting for its reply.
AskableBackend: TypeAlias = Pool | InProcess


class Driver(Generic[Key, Found]):
    """Generators of questions that are under way, by keys of the caller's.

    `start` begins one on a backend; `collect` yields the results of those that ended, with their
    keys.
    """

    def __init__(self) -> None:
        self._asked: dict[AskableBackend, dict[int, tuple[Questions[Found], Key]]] = {}
        self._ended: deque[tuple[Key, Found]] = deque()

    @property
    def is_busy(self) -> bool:
        """True while a generator is under way, or its result was not taken."""
        return bool(self._ended) or any(self._asked.values())

    def start(
        self,
        backend: AskableBackend,
        questions: Questions[Found],
        key: Key,
        reply: Reply | None = None,
    ) -> None:
        """Ask a backend the next question of a generator; `key` is that of its result.

        `reply` is that to the question before, None for the first. A generator that ends instead
        has its result at once. Raises what the generator raises, and what the backend's `ask`
        raises.
        """
        try:
            question = next(questions) if reply is None else questions.send(reply)
        except StopIteration as end:
            self._ended.append((key, end.value))
        else:
            self._asked.setdefault(backend, {})[backend.ask(question)] = questions, key

    def collect(self) -> Iterator[tuple[Key, Found]]:
        """Yield the results that are there by now, with their keys, perhaps none.

        If there is none yet, waits for any reply, at most 0.05 seconds. Replies are sent to their
        generators, which may ask again. Raises what the generators and a backend's `ask` raise, and
        Defect if opcheck's own part of an adapter fails.
        """
        if not self._ended:
            connections = [
                connection for backend in self._asked for connection in backend.connections
            ]
            # Backends in this process have no connection, and have answered.
            has_answers = any(
                asked and not backend.connections for backend, asked in self._asked.items()
            )
            readable = wait(connections, 0 if has_answers else _WAIT) if connections else []
            for backend, asked in self._asked.items():
                for ticket, reply in backend.replies(readable):
                    self.start(backend, *asked.pop(ticket), reply)
        while self._ended:
            yield self._ended.popleft()


def answers(
    asked: Sequence[tuple[AskableBackend, Questions[Found]]], meanwhile: Callable[[], None]
) -> list[Found]:
    """Return the results of several generators of questions, each for one backend, in order.

    `meanwhile` is called again and again while replies are awaited. Raises what it raises, what the
    generators raise, what a backend's `ask` raises (one in this process BackendUnavailable), and
    Defect if opcheck's own part of an adapter fails; questions are left open then, for `forget`.
    """
    driver: Driver[int, Found] = Driver()
    for number, (backend, questions) in enumerate(asked):
        driver.start(backend, questions, number)
    results: dict[int, Found] = {}
    while driver.is_busy:
        meanwhile()
        results |= driver.collect()
    return [results[number] for number in range(len(asked))]


def ask_once(question: Question) -> Questions[Reply]:
    """Ask one question, and return its reply; a generator of questions."""
    return (yield question)


def run_here(questions: Questions[Found], answer: Callable[[Question], Outcome]) -> Found:
    """Return the result of a generator of questions, which `answer` answers in this process.

    A question has its outcome at once. Raises what `answer` or the generator raises.
    """
    try:
        question = next(questions)
        while True:
            question = questions.send(Reply(answer(question)))
    except StopIteration as end:
        return cast(Found, end.value)


#: The packages whose versions a stored run records.
_PACKAGES = ("numpy", "ml_dtypes", "onnx", "onnxruntime")
_CPU = Path("/sys/devices/system/cpu/cpu0")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
#: Passes items on, one by one, and shows the progress.
Counted: TypeAlias = Callable[[Iterable[Result]], Iterable[Result]]


def environment(kinds: Collection[str] = (), operators: Collection[str] = ()) -> Environment:
    """Return the environment that a stored run records: versions, platform and machine.

    A package that is not installed has the version "not installed".

    Args:
        kinds: The kinds of the backends that are judged, by which there may be remarks on the
            machine.
        operators: The names of their operators, by which there may be such remarks too.
    """
    return Environment(
        opcheck=__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        packages={name: version_of(name) or "not installed" for name in _PACKAGES},
        machine=look(),
        remarks=remarks(kinds, operators),
    )


def machine() -> timing.Machine:
    """Return a description of this machine: processor, cores, load and memory in bytes.

    The governor is that of the processor's frequency. Texts that are unknown are "".
    """
    return timing.Machine(
        processor=processor_fields().get("model name") or platform.processor(),
        cores=interrupt.processors(),
        governor=_read(_CPU / "cpufreq" / "scaling_governor"),
        platform=platform.platform(),
        load=round(interrupt.load(), 2),
        memory=psutil.virtual_memory().total,
    )


def beyond_caches() -> int:
    """Return twice the bytes of the largest cache, 64 MiB if unknown: touching them empties it."""
    texts = " ".join(_read(index / "size") for index in (_CPU / "cache").glob("index*"))
    sizes = re.findall(r"\b(\d+)([KMG])\b", texts)
    return 2 * max((int(number) * _UNITS[unit] for number, unit in sizes), default=32 << 20)


def _read(path: Path) -> str:
    """Return the text in a file without blanks around it, "" if it cannot be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8").strip()
    return ""


def in_parallel(
    work: Callable[[Item], Result], jobs: Sequence[Item], count: int
) -> Generator[Result]:
    """Yield the result of `work` for each of `jobs`, as it comes; closing it ends the processes.

    With a `count` of 1 or a single job, `work` is done in this process, in order; else in at most
    `count` other ones, so that it and the jobs must be picklable. Nothing is yielded for no jobs.
    Raises what `work` raises, ProcessDied if a process is killed, and KeyboardInterrupt if the user
    interrupts it there.
    """
    if count == 1 or len(jobs) <= 1:
        yield from map(work, jobs)
        return
    try:
        yield from _in_processes(work, jobs, count)
    except futures.BrokenExecutor:
        message = f"one of {count} processes of opcheck died before its work was done"
        hint = "the system may have been short of memory: try fewer processes, as in -j 1"
        raise ProcessDied(message, hint) from None


def _in_processes(
    work: Callable[[Item], Result], jobs: Sequence[Item], count: int
) -> Generator[Result]:
    """Yield the result of `work` for each of `jobs`, as it comes, from at most `count` processes.

    `jobs` has at least one. Closing it ends the processes. Raises what `work` raises,
    BrokenExecutor if a process dies, and KeyboardInterrupt if the user interrupts it.
    """
    # Where processes inherit no mask, they ignore Ctrl-C from their start on.
    ignoring = signal.SIGINT, signal.SIG_IGN
    with interrupt.processes(min(count, len(jobs)), "spawn", signal.signal, ignoring) as pool:
        # Processes started meanwhile inherit that Ctrl-C is held back, and this one ends them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            running = {*interrupt.submitted(pool, work, jobs)}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        while running:
            done, running = futures.wait(running, timeout=0.1, return_when=futures.FIRST_COMPLETED)
            interrupt.safe_place()
            yield from (future.result() for future in done)
