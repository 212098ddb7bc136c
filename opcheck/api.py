"""opcheck from Python: what `import opcheck` offers, with the same verdicts as the command line.

    import opcheck

    cases = opcheck.load("my_cases.yaml")
    results = opcheck.run(cases, ["onnxruntime", my_kernel])
    for result in results:
        if result.failed:
            print(result)
    sys.exit(opcheck.status(results).code)

Names that `opcheck.__all__` lists keep their meaning within a major version.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from opcheck import analysis, session as sessions
from opcheck.errors import Exit, UsageError, writing
from opcheck.execution.bench import BenchRequest, entered, planned, why_not
from opcheck.execution.workers import Limits, facts_of
from opcheck.known import Gate, check, load_user_ledgers
from opcheck.model import Case, Level, Record, Records, Run as StoredRun, Verdict
from opcheck.model.timing import Timed
from opcheck.report import store, summary, why_no_report, write_text
from opcheck.report.html.run_page import fragment
from opcheck.suite import Selection, choose, load_all

AnyPath: TypeAlias = str | PathLike[str]
Item = TypeVar("Item", bound=str | int | PathLike[str])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result(Record):
    """One backend's answer to one case, judged; `str` explains it as the command line does.

    The most useful fields are `case` (its id), `backend` (its address), `verdict`, `reason`,
    `clause` (the sentence of the specification), `comparisons` (wrong elements of each output),
    `diagnoses` (which known mistake it looks like) and `repeat` (the command that repeats it).
    """

    @property
    def failed(self) -> bool:
        """True for a result that makes `opcheck run` end with exit code 1, 2 or 4.

        A result that was not run failed. An unexpected pass failed unless its run allows them. That
        no result failed does not make a run conform: a backend may support nothing. See `status`.
        """
        was_not_run = self.verdict is Verdict.NOT_RUN
        # A run that allows unexpected passes marks none of them as unexpected.
        red = analysis.reds(allow_unexpected_passes=not self.unexpected)
        return was_not_run or analysis.is_failure(self, red)

    def __str__(self) -> str:
        return summary.failure_text(self)

    def _repr_html_(self) -> str:
        return fragment(self)


class Status(NamedTuple):
    """What a run amounts to: the exit code of `opcheck run`, 0 for one that conforms, and why."""

    code: int
    meaning: str


class Results(Iterator[Result]):
    """The results of a run, one by one as they come; `status` says what they amount to."""

    def __init__(
        self, results: Iterator[Result], live: Callable[[], sessions.LiveRun | None]
    ) -> None:
        self._results = results
        self._records = Records()
        #: Returns the run, once it has begun.
        self.live = live

    def __next__(self) -> Result:
        result = next(self._results)
        self._records.append(result)
        return result

    def _status(self) -> Status:
        """Return the status of the results so far, which are incomplete until the last one."""
        live = self.live()
        if live is None:
            return Status(int(Exit.UNUSABLE), "incomplete: no result was taken")
        code, meaning = live.status(self._records)
        return Status(int(code), meaning)


def status(run: "Results | StoredRun | AnyPath") -> Status:
    """Return what a run amounts to, as the last line of `opcheck run` says it.

    Args:
        run: What `run` or `Session.run` returned, once its results were taken; or what `read`
            returned, or the file. A run of which results are missing is incomplete, with code 4.
    """
    if isinstance(run, Results):
        return run._status()
    code, meaning = analysis.outcome(run if isinstance(run, StoredRun) else read(run))
    return Status(int(code), meaning)


def load(
    paths: AnyPath | Iterable[AnyPath] = (),
    *,
    ids: str | Iterable[str] = (),
    keywords: str = "",
    ops: str | Iterable[str] = (),
    opsets: int | Iterable[int] = (),
    dtypes: str | Iterable[str] = (),
    level: Level = "core",
    dims: Mapping[str, int] | None = None,
    inputs: AnyPath | None = None,
) -> tuple[Case, ...]:
    """Return the cases of files, as `opcheck run` selects them.

    Args:
        paths: Case files, folders of them or of ONNX's test data, models, or "onnx-node/PATTERN";
            the shipped suites if there is none.
        ids: Only this case or these, also by a pattern with `*`, whatever their level.
        keywords: An expression of words, `and`, `or`, `not` and parentheses, as for `-k`.
        ops: Only this operator or these.
        opsets: Only this opset or these.
        dtypes: Only this element type or these, such as "float32".
        level: "smoke", "core" (with smoke) or "deep" (both); "huge", tensors of more than 2^31
            elements, for one backend at a time.
        dims: Sizes that a model leaves open.
        inputs: A folder of files that a model is fed, NAME.npy or input_0.pb ….

    Raises:
        CaseFileError: with every problem of every file.
        UsageError: a name of nothing that there is, or no case that meets all conditions.
    """
    numbers: tuple[Any, ...] = _several(opsets)
    for number in numbers:
        if not isinstance(number, int):
            raise UsageError(f"an opset is a whole number, got {number!r}")
    names = tuple(map(str, _several(dtypes)))
    chosen = Selection(_several(ids), keywords, _several(ops), numbers, names, level)
    cases = load_all([*map(Path, _several(paths))], dims, chosen, Path(inputs) if inputs else None)
    selected = choose(cases, chosen)
    if selected:
        return selected
    raise UsageError(f"none of {len(cases):,} cases is of {chosen.why_empty(cases, python=True)}")


class Session(sessions.Session):
    """Backends that are started once, for any number of runs; a context manager.

    Takes the arguments of `run` that are about backends.

        with opcheck.Session(["onnxruntime", my_kernel], jobs=2) as session:
            results = session.run(opcheck.load(ops=["Softmax"]))
            wrong = [result for result in results if result.failed]
            status = opcheck.status(results)
    """

    def run(
        self,
        cases: Iterable[Case],
        *,
        known: AnyPath | Iterable[AnyPath] = (),
        allow_unexpected_passes: bool = False,
        shipped_ledgers: bool = True,
        repeat: int = 1,
        require_reproducible: bool = False,
    ) -> Results:
        """Judge every case on every backend of the session, as `opcheck.run` does."""
        if repeat < 1:
            raise UsageError(f"repeat is a whole number from 1, got {repeat}")
        request = sessions.Request(
            cases=_some(cases),
            selection="given",
            shipped_ledgers=shipped_ledgers,
            repeat=repeat,
            require_reproducible=require_reproducible,
            gate=Gate(
                load_user_ledgers([*map(Path, _several(known))]),
                lenient=allow_unexpected_passes,
            ),
        )

        begun: list[sessions.LiveRun] = []

        def results() -> Iterator[Result]:
            self.connect(request.cases)
            if request.gate.ledgers:
                check(request.gate, facts_of(self.infos, with_their_files(request.cases)))
            self.live = live = sessions.LiveRun(self, request)
            begun.append(live)
            for record in live.results():
                yield as_result(record)
                if self.live is not live:
                    raise UsageError("another run of this session has begun", "open two sessions")

        def live_run() -> sessions.LiveRun | None:
            return begun[0] if begun else None

        return Results(results(), live_run)


def run(
    cases: Iterable[Case],
    backends: Sequence[sessions.BackendLike] | sessions.BackendLike = (),
    *,
    known: AnyPath | Iterable[AnyPath] = (),
    allow_unexpected_passes: bool = False,
    shipped_ledgers: bool = True,
    jobs: int = 1,
    timeout: float | None = None,
    memory_limit: str | None = None,
    cluster: str | None = None,
    graph_elements: int | None = None,
    graph_nodes: int | None = None,
    repeat: int = 1,
    require_reproducible: bool = False,
    save: AnyPath | None = None,
) -> Results:
    """Judge every case on every backend; yield results as they come, case by case.

    Once they were taken, `status` returns whether the run conforms.

    Args:
        cases: What `load` returns, or some of it; at least one.
        backends: Addresses as for `opcheck run -b`, backend objects, or functions of NumPy arrays;
            opcheck's default ones if it is left out. An address gets `jobs` processes of its
            own, so that a crash is a verdict. Objects and functions work in this process.
        known: Ledgers of known failures: what they list has to fail as listed.
        allow_unexpected_passes: What they list may pass, too.
        shipped_ledgers: Excuse known defects of public backends on shipped cases.
        jobs: Processes of each backend.
        timeout: Seconds that a backend has for a case; 30 by default.
        memory_limit: What each process may take, such as "2GiB".
        cluster: Judge on the workers of dask.distributed there, or on new ones, as "local:4".
        graph_elements: The most elements of a tensor that opcheck computes in a model.
        graph_nodes: The most runs of nodes when opcheck computes a model.
        repeat: How often each case is asked, prepared anew each time.
        require_reproducible: Right answers that differ between runs fail.
        save: Store the run in this file for `diff`, `read` and `opcheck report` once the last
            result was taken. Its diagnoses are final: they know all results. An earlier file of
            that name is `NAME.stale` until then.

    Raises:
        UsageError: no case, or an argument that makes no sense.
        BackendUnavailable: a backend that cannot be used here, when iteration begins.
        CaseFileError: a ledger that lists something in vain.
        OpcheckError: the run cannot be stored.
    """
    if isinstance(backends, str) or not isinstance(backends, Sequence):
        backends = [backends]
    session = Session(
        backends,
        jobs=jobs,
        timeout=timeout,
        memory_limit=memory_limit,
        cluster=cluster,
        graph_elements=graph_elements,
        graph_nodes=graph_nodes,
    )
    results = session.run(
        cases,
        known=known,
        allow_unexpected_passes=allow_unexpected_passes,
        shipped_ledgers=shipped_ledgers,
        repeat=repeat,
        require_reproducible=require_reproducible,
    )
    if save is not None:
        message = why_no_report(Path(save))
        if message:
            raise UsageError(f"save={save}: {message}")
        if not Path(save).parent.is_dir():
            raise UsageError(f"there is no folder {Path(save).parent}")

    def within() -> Iterator[Result]:
        if save is not None:
            _set_aside(Path(save))
        with session:
            records = Records()
            for result in results:
                if save is not None:
                    records.append(result)
                yield result
            if save is not None:
                stored, _ = session.live.end(records)
                write_text(Path(save), "".join(f"{line}\n" for line in store.lines(stored)))
                _stale(Path(save)).unlink(missing_ok=True)

    return Results(within(), results.live)


def _stale(path: Path) -> Path:
    return path.with_name(f"{path.name}.stale")


def _set_aside(path: Path) -> None:
    """Rename an earlier run, so that it is not taken for this one if this one is left early."""
    if path.is_file():
        with writing(path):
            path.replace(_stale(path))


def with_their_files(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases, and all others of the files in which they are written."""
    files = dict.fromkeys(case.source.file for case in cases if not case.source.shipped)
    there = [path for path in map(Path, files) if path.exists()]
    if not there:
        return cases
    return tuple({case.id: case for case in (*load_all(there), *cases)}.values())


def as_result(record: Record) -> Result:
    """Return a record as a result."""
    return Result(**{field.name: getattr(record, field.name) for field in fields(Record)})


def bench(
    cases: Iterable[Case],
    backends: Sequence[str] | str = (),
    *,
    base: str | None = None,
    threads: int = 1,
    workers: int | None = None,
    seconds: float | None = None,
    cold: bool = False,
    quick: bool = False,
    timeout: float | None = None,
    memory_limit: str | None = None,
) -> tuple[Timed, ...]:
    """Time backends against each other on cases that they answer rightly.

    Args:
        cases: What `load` returns, without cases that expect a refusal.
        backends: Addresses as for `opcheck bench -b`; no functions and objects.
        base: Address of the backend that ratios are relative to; the first by default.
        threads: Threads of each backend.
        workers: Processes of each backend; 5 by default, 3 if `quick`.
        seconds: At most so many for a case; 20 by default.
        cold: Empty the processor's caches before every call.
        quick: A first look: few rounds, wide intervals.
        timeout: Seconds that a backend has for a case when it is judged.
        memory_limit: What each process may take, such as "2GiB".

    Returns:
        The samples of each case in seconds, by backend. A backend without samples has a reason.

    Raises:
        UsageError: no case, or one that cannot be timed.
        BackendUnavailable: a backend that cannot be used here.
    """
    wanted = _some(cases)
    for case in wanted:
        reason = why_not(case)
        if reason:
            raise UsageError(f"{case.id} cannot be timed: {reason}")
    plan = planned(workers, seconds, cold=cold, quick=quick)
    addresses: tuple[Any, ...] = _several(backends)
    for address in addresses:
        if not isinstance(address, str):
            hint = (
                "a timed backend has its own processes: write it as an address, such as py:pkg.mod"
            )
            raise UsageError(f"{address!r} cannot be timed in this process", hint)
    request = BenchRequest(
        addresses=addresses,
        cases=wanted,
        limits=Limits(timeout, memory_limit),
        plan=plan,
        threads=threads,
        base=base,
    )
    with entered(request) as (_, benchmark):
        for _visit in benchmark.visits():
            pass
        return benchmark.rows()


def read(path: AnyPath) -> StoredRun:
    """Return a run that `save=` or `opcheck run --report json=PATH` stored; see its `records`.

    Raises CaseFileError with everything that is wrong with the file; warns of fields that a newer
    opcheck wrote, and that are ignored because they decide nothing.
    """
    run = store.read(Path(path))
    note = store.left_out_note(Path(path), run)
    if note:
        warnings.warn(note, stacklevel=2)
    return replace(run, records=tuple(map(as_result, run.records)))


@dataclass(frozen=True, kw_only=True)
class Difference(analysis.Difference):
    """What changed from one run to another, and the exit code of `opcheck diff`.

    A gate needs `status`: runs that are incomplete, or a new one that was asked for less, have no
    regressions among what could be compared.
    """

    status: Status


def diff(old: AnyPath | StoredRun, new: AnyPath | StoredRun, *, common: bool = False) -> Difference:
    """Return what changed from one stored run to another, by case and backend.

    `regressions` of it counts those for the worse; its `status` has the exit code of
    `opcheck diff`, by whose option `common` the new run may have been asked for less. Raises
    CaseFileError for other files.
    """
    before = old if isinstance(old, StoredRun) else read(old)
    after = new if isinstance(new, StoredRun) else read(new)
    difference = analysis.compare(before, after)
    code, meaning = analysis.diff_status(before, after, difference, common=common)
    return Difference(**vars(difference), status=Status(int(code), meaning))


def _several(given: Item | Iterable[Item]) -> tuple[Item, ...]:
    """Return several items, or the only one, as a tuple; a text is one item."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(given)
    return (given,)


def _some(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Return the cases; raises UsageError for none, and for anything that is not a case."""
    if isinstance(cases, Case) or not isinstance(cases, Iterable):
        raise UsageError("cases is a list of cases, as opcheck.load returns")
    given: tuple[Any, ...] = tuple(cases)
    for case in given:
        if not isinstance(case, Case):
            hint = "opcheck.load(ids=[…]) returns the case of an id"
            raise UsageError(f"{case!r:.60} is no case", hint)
    if not given:
        raise UsageError("there is no case: nothing would be judged")
    return given
