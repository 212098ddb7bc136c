"""`opcheck bench`, with its gates: a saved benchmark, or another backend of the same run."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NoReturn, Protocol

import click

from opcheck import interrupt
from opcheck.cli import console, options, values
from opcheck.cli.files import (
    OutputCommand,
    OutputPath,
    ReportFile,
    ReportTarget,
    check_files,
    check_report_targets,
)
from opcheck.cli.options import BackendOptions, CaseOptions
from opcheck.errors import Exit, Unwritable, UsageError, few, plural
from opcheck.grouping import group_by, not_none
from opcheck.report import BENCH_FORMATS, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.cluster import Hosts
    from opcheck.execution.bench import Benchmark, BenchRequest
    from opcheck.model import Case
    from opcheck.model.timing import Bench, Rows
    from opcheck.report.timings import Stored
    from opcheck.timing import Compared

#: The exit code of a gate, and its part of the last line.
Verdict = tuple[Exit, str]
_SAVED = click.Path(path_type=Path, dir_okay=False)
#: Seconds between two saves of a benchmark that goes on.
_SAVE_EVERY = 10


@dataclass(frozen=True)
class TimingGate:
    """Limit on slowdowns, and what unclear rows make of it.

    `unclear` None ends with exit code 5 unless at least half of the rows are clear; "fail" does
    so for one unclear row, "pass" for none.
    """

    most: float
    unclear: str | None

    def verdict(self, compared: "Compared", base: str = "", unfair: str = "") -> Verdict:
        """Return what a comparison with `base` or an older run means, and if it is `unfair`."""
        code, messages = self._verdict(compared, base, unfair)
        rows = len(compared.changes) + len(compared.missing)
        return code, "; ".join([*messages, f"{compared.unclear:,} of {rows:,} unclear"])

    def _verdict(self, compared: "Compared", base: str, unfair: str) -> tuple[Exit, list[str]]:
        limit = f"{base or 'before'} by more than {100 * compared.beyond:g} %"
        if unfair:
            slower = [f"the runs cannot be compared: {unfair}"]
        else:
            slower = _slower(compared, limit)
        lost = sum(row.lost for row in compared.missing)
        if lost:
            had = f"have a time on {base}" if base else "had a time before"
            return Exit.UNUSABLE, [f"{lost:,} that {had} have none now", *slower]
        if slower:
            return Exit.NOTHING_JUDGED if unfair else Exit.SLOWER, slower
        if not compared.changes:
            return Exit.NOTHING_JUDGED, ["nothing could be compared"]
        if not self._is_clear_enough(compared):
            return Exit.NOTHING_JUDGED, [f"undecided whether slower than {limit}"]
        return Exit.CONFORMS, [f"no row is clearly slower than {limit}"]

    def _is_clear_enough(self, compared: "Compared") -> bool:
        """Return True if so few rows are unclear that a gate may be green."""
        if self.unclear == "pass":
            return True
        if self.unclear == "fail":
            return compared.unclear == 0
        return 2 * compared.unclear <= len(compared.changes) + len(compared.missing)


def _slower(compared: "Compared", limit: str) -> list[str]:
    """Describe the rows that are slower than this limit, in no or one message."""
    slower = sum(change.verdict == "slower" for change in compared.changes)
    together = any(change.verdict == "slower" for change in compared.together)
    if not slower and not together:
        return []
    also = ", and so are all together" if together else ""
    return [f"{slower:,} slower than {limit}{also}"]


def timing_gate(
    most: float | None, unclear: str | None, *, stored: bool, base: str | None = None
) -> TimingGate | None:
    """Return the gate; raise UsageError without `stored` or `base`, or for too small a limit."""
    from opcheck.timing import FINEST, LIMIT, USUAL

    if not stored and most is None:
        if unclear:
            raise UsageError("--unclear needs --baseline, --compare or --max-regression")
        return None
    if not stored and base is None:
        # Else the first backend would be the old build, whichever it is.
        raise UsageError("--max-regression needs --base BACKEND, or a saved --baseline FILE")
    least = FINEST if stored else LIMIT
    if most is not None and most < least:
        hint = "two builds in one run show less: -b old -b new --base old" if stored else None
        detectable = f"{100 * least:g}% is the least that can be detected"
        raise UsageError(f"--max-regression {100 * most:g}%: {detectable}", hint)
    return TimingGate(USUAL if most is None else most, unclear)


def saved_benchmark(path: Path) -> "Stored":
    """Return a saved benchmark; warn if it was cut short."""
    from opcheck.report.timings import read

    stored = read(path)
    if not stored.complete:
        console.note(f"{path} is of a run that was cut short")
    return stored


def check_baseline(path: Path, stored: "Stored", header: "Bench", cases: "Sequence[Case]") -> None:
    """Raise UsageError where the saved benchmark cannot be compared with what will be measured."""
    from opcheck.report import timings
    from opcheck.suite import case_digest

    ids = [case.id for case in cases]
    rows = {row.case: row for row in stored.rows}
    unfair = timings.unfair(timings.differences(stored.bench, header, [*rows], ids))
    if unfair:
        hint = "times would change without the build: time the same, or save a new baseline"
        raise UsageError(f"{path} cannot be compared with this run: {unfair}", hint)
    missing = []
    for case in cases:
        row = rows[case.id]
        timed = set()
        if row.digest == case_digest(case):
            timed = {timing.backend for timing in row.timings if timing.samples}
        untimed = [name for name in header.backends if name not in timed]
        missing += [f"{path} has no time of {name} for {case.id} as it is" for name in untimed]
    if missing:
        hint = "leave it out of both by -k, or save a new baseline with `opcheck bench --save FILE`"
        raise UsageError(few(missing), hint)


def show_changes(to: "Console", gate: TimingGate, old: "Stored | None", new: "Stored") -> Verdict:
    """Print and judge a benchmark, compared with an old one or with its own baseline."""
    from opcheck.report import timings
    from opcheck.timing import compare_backends, compare_runs

    if old is None:
        base = new.bench.baseline
        compared = compare_backends(new.rows, base, gate.most)
        timings.show_changes(to, {}, compared, base)
        return gate.verdict(compared, base)
    cases = ([row.case for row in stored.rows] for stored in (old, new))
    differences = timings.differences(old.bench, new.bench, *cases)
    compared = compare_runs(old.rows, new.rows, gate.most)
    timings.show_changes(to, differences, compared)
    return gate.verdict(compared, unfair=timings.unfair(differences))


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """Options of `opcheck bench`."""

    cases: CaseOptions
    backends: BackendOptions
    cluster: str | None
    base: str | None
    threads: int
    workers: int | None
    seconds: float | None
    cold: bool
    quick: bool
    save: Path | None
    baseline: Path | None
    max_regression: float | None
    unclear: str | None
    compare: tuple[Path, Path] | None
    reports: tuple[ReportTarget, ...]
    only_list: bool


_measuring_options = options.compose(
    click.option(
        "--base",
        metavar="ADDRESS",
        shell_complete=values.backends,
        help="Backend that ratios are relative to.  [default: the first]",
    ),
    click.option(
        "--threads",
        metavar="N",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Threads per backend.",
    ),
    click.option(
        "--workers",
        metavar="N",
        type=click.IntRange(min=3),
        help="Processes per backend; memory layout differs between processes.  [default: 5]",
    ),
    click.option(
        "--seconds",
        metavar="SECONDS",
        type=options.SECONDS,
        help="Time limit per case.  [default: 20]",
    ),
    click.option("--cold", is_flag=True, help="Empty the processor's caches before every call."),
    click.option("--quick", is_flag=True, help="Measure less: few rounds, wide intervals."),
)
_gate_options = options.compose(
    click.option(
        "--save",
        metavar="FILE",
        type=OutputPath(dir_okay=False),
        help="Save all samples, as JSON lines.",
    ),
    click.option(
        "--baseline",
        metavar="FILE",
        type=_SAVED,
        help="Compare the times with a saved benchmark.",
    ),
    click.option(
        "--max-regression",
        metavar="SHARE",
        type=options.SHARE,
        help="Exit with 3 if slower by more than SHARE: than the backend of --base (2% or more), or"
        " than --baseline (3% or more).  [default: 5% with --baseline]",
    ),
    click.option(
        "--unclear",
        type=click.Choice(["fail", "pass"]),
        help="Outcome for rows whose interval spans the limit: exit with 5, or pass."
        "  [default: fail unless at least half of the rows are clear]",
    ),
    click.option(
        "--compare",
        metavar="OLD NEW",
        type=_SAVED,
        nargs=2,
        help="Compare two saved benchmarks; measure nothing.",
    ),
)


_output_options = options.compose(
    click.option(
        "--report",
        "reports",
        metavar="FORMAT=PATH",
        type=ReportFile(tuple(BENCH_FORMATS)),
        multiple=True,
        help=f"Also write the times to a file: {', '.join(BENCH_FORMATS)}. Repeatable.",
    ),
    click.option(
        "--list",
        "only_list",
        is_flag=True,
        help="Show the cases that would be timed, and measure nothing.",
    ),
)


@click.command(name="bench", cls=OutputCommand)
@options.case_options
@options.backend_options
@options.cluster_option
@_measuring_options
@_gate_options
@_output_options
@options.takes(BenchOptions)
def command(given: BenchOptions) -> None:
    """Time backends against each other, on cases they answer correctly.

    PATH is a case file or a folder of them. Its list `bench` is timed, or its cases if it has none;
    without PATH, the lists of the shipped suites; of another operator, --op times a case that is
    derived from its shipped ones. A backend that fails a case is not timed on it, and the table
    shows why. Backends take turns in random order, each with several processes, so that what
    disturbs the machine disturbs all of them.

    \b
    opcheck bench -b numpy -b onnxruntime --quick      a first look at the shipped suites
    opcheck bench --list                               what can be timed
    opcheck bench --op Softmax -k maps                 some cases on the default backends
    opcheck bench --op Relu --report csv=relu.csv      an operator without bench cases, as a file
    opcheck bench my.yaml -b old -b new --base old     two builds, as opcheck.toml names them
    opcheck bench my.yaml -b old -b new --base old --max-regression 5%    the best gate
    opcheck bench --save today.jsonl                   save the samples
    opcheck bench --baseline main.jsonl --max-regression 5%    a gate without the old build
    opcheck bench --compare monday.jsonl tuesday.jsonl
    opcheck report monday.jsonl                        the table once more

    To compare two builds on one machine, name both with -b: what disturbs the machine disturbs
    both. Saved benchmarks are compared by a fixed piece of work and a copy that were timed in the
    same rounds; that gate sees slowdowns of about 7 %, or of 15 % in one row.

    Ctrl-C ends it after the current round; what was measured is shown and saved.

    On a cluster, one worker of each host times a share of the cases. Hosts must be alike.

    Exit codes: 0 something was timed, 2 wrong usage, case file or saved benchmark, 3 slower than
    --max-regression allows, 4 a backend or the output could not be used, or a row that had a time
    has none now, 5 nothing was timed or is clear, 130 interrupted.
    """
    options.use_config(given.backends.config)
    if given.compare:
        _compare_saved(given, *given.compare)
    from opcheck.report import timings

    # All errors of the command line come before any process is started.
    check_report_targets(given.reports, [*given.cases.paths])
    report_files = [(target, target.path) for target in given.reports]
    check_files([(f"--save {given.save}", given.save), *report_files], [given.baseline])
    cases = _cases_to_time(given)
    if given.only_list:
        timings.show_cases(console.stdout_console(), cases)
        _note_other_operators(given.cases)
        return
    gate = _gate(given)
    old = saved_benchmark(given.baseline) if given.baseline else None
    request = _request(given, cases)
    with _benchmark(request, given.cluster) as (header, session):
        if given.baseline and old:
            check_baseline(given.baseline, old, header, cases)
        stdout = console.stdout_console()
        timings.show_head(stdout, header)
        _note_duration(request, len(header.backends))
        for pool in session.oracles.values():
            click.echo(f"oracle {pool.info} states the answers of cases that name it")
        rows, unwritten = _measured(session, _save_to(given.save, header))
    timings.show_results(stdout, header, rows)
    verdict: Verdict | None = None
    if gate and rows:
        stdout.print()
        measured = timings.Stored(header, tuple(rows), complete=True)
        verdict = show_changes(stdout, gate, old, measured)
    stored = timings.Stored(header, tuple(rows), complete=not interrupt.asked())
    _write_reports(given.reports, stored)
    if unwritten:
        raise unwritten
    console.print_and_exit(*_ending(rows, len(cases), verdict))


def _gate(given: BenchOptions) -> TimingGate | None:
    """Return the gate that the options state, None for none; raise UsageError."""
    from opcheck.backends.address import DEFAULT

    gate = timing_gate(
        given.max_regression,
        given.unclear,
        stored=given.baseline is not None,
        base=given.base,
    )
    if gate and not given.baseline and len(given.backends.addresses or DEFAULT) < 2:
        raise UsageError("--max-regression compares with --base: name another backend by -b")
    return gate


def _request(given: BenchOptions, cases: "list[Case]") -> "BenchRequest":
    """Return what is measured, and how much."""
    from opcheck.execution.bench import BenchRequest, planned
    from opcheck.execution.workers import Limits

    return BenchRequest(
        addresses=given.backends.addresses,
        cases=cases,
        limits=Limits(given.backends.timeout, given.backends.memory_limit),
        plan=planned(given.workers, given.seconds, cold=given.cold, quick=given.quick),
        threads=given.threads,
        base=given.base,
    )


def _benchmark(
    request: "BenchRequest", cluster: str | None
) -> "AbstractContextManager[tuple[Bench, Benchmark | Hosts]]":
    """Return a benchmark that can begin, with its header: here, or on the hosts of a cluster."""
    if cluster is None:
        from opcheck.execution.bench import entered

        return entered(request)
    from opcheck.cluster import timed

    return timed(cluster, request)


def _save_to(path: Path | None, header: "Bench") -> "SaveRows":
    """Return a function that saves the rows to a file, which it writes now; None saves nothing."""
    from opcheck.report import timings

    def save(rows: "Rows", *, complete: bool = False) -> None:
        if path:
            timings.write(path, header, rows, complete=complete)

    save(())
    return save


def _ending(rows: "Rows", cases: int, verdict: Verdict | None) -> Verdict:
    """Return the exit code and the last line of a benchmark.

    Args:
        rows: The cases that were timed.
        cases: The number of cases that were to be timed.
        verdict: That of the gate, None without one.
    """
    if interrupt.asked():
        return Exit.INTERRUPTED, f"interrupted: {len(rows):,} of {cases:,} cases"
    timed = sum(bool(timing.samples) for row in rows for timing in row.timings)
    if not timed:
        return Exit.NOTHING_JUDGED, "nothing was timed"
    counted = f"{plural(len(rows), 'case')}, {plural(timed, 'timing')}"
    if verdict is None:
        return Exit.CONFORMS, counted
    code, meaning = verdict
    return code, f"{counted}; {meaning}"


def _compare_saved(given: BenchOptions, old: Path, new: Path) -> NoReturn:
    """Print and judge what changed between two saved benchmarks."""
    others = options.given_besides("compare", "max_regression", "unclear")
    if others:
        raise UsageError(f"--compare measures nothing: leave {others[0]} out")
    gate = not_none(timing_gate(given.max_regression, given.unclear, stored=True))
    code, meaning = show_changes(
        console.stdout_console(), gate, saved_benchmark(old), saved_benchmark(new)
    )
    console.print_and_exit(code, meaning)


def _cases_to_time(given: BenchOptions) -> "list[Case]":
    """Return the cases that can be timed; warn of the others, raise UsageError if there is none."""
    from opcheck.execution.bench import why_not

    cases, description = options.chosen_benchmarks(given.cases.paths, given.cases.selection)
    by_reason = group_by(cases, why_not)
    timed = by_reason.pop("", [])
    for reason, others in by_reason.items():
        console.note(f"not timed: {few([case.id for case in others])}: {reason}")
    if cases and not timed:
        raise UsageError("none of the cases can be timed")
    if not cases:
        console.note(f"no bench case matches ({description})")
        console.exit_with(Exit.NOTHING_JUDGED)
    # Cases that a user names or has written are meant, however large.
    is_chosen_here = not given.cases.paths and not given.cases.ids
    return _small(timed) if given.quick and is_chosen_here else timed


def _small(cases: "list[Case]") -> "list[Case]":
    """Return the cases that are small enough for a quick look; all if none is."""
    from opcheck.execution.bench import QUICK_BYTES

    by_size = group_by(cases, lambda case: sum(spec.nbytes for spec in case.inputs) <= QUICK_BYTES)
    small = by_size.get(True, [])
    large = by_size.get(False, [])
    if not small or not large:
        return cases
    names = few([case.id for case in large])
    console.note(
        f"--quick leaves out {plural(len(large), 'large case')}: {names}; --case times one"
    )
    return small


def _note_other_operators(given: CaseOptions) -> None:
    """Print how an operator is timed that has no bench case, if the whole list was asked for."""
    if not given.paths and not given.selection.operators:
        console.note("another operator is timed on a case derived from its shipped ones: --op NAME")


def _note_duration(request: "BenchRequest", backends: int) -> None:
    """Print how long the benchmark will take, as far as that can be known."""
    from opcheck.execution.bench import estimated_seconds
    from opcheck.report.plain_text import duration

    takes = duration(estimated_seconds(request.plan, request.cases, backends))
    work = f"{plural(len(request.cases), 'case')} on {plural(backends, 'backend')}"
    more = "" if len(request.plan.looks) == 1 else ", longer where a ratio stays unclear"
    console.note(f"timing {work} takes about {takes} on a quiet machine{more}")


def _write_reports(targets: Sequence[ReportTarget], stored: "Stored") -> None:
    """Write the times in each format; raises Unwritable."""
    from opcheck.report import timing_files

    for target in targets:
        lines = timing_files.lines(target.form, stored)
        write_text(target.path, "".join(f"{line}\n" for line in lines))


class SaveRows(Protocol):
    """A function that saves a benchmark as it is."""

    def __call__(self, rows: "Rows", *, complete: bool = False) -> None:
        """Save the rows; `complete` once the benchmark has ended."""


def _measured(session: "Benchmark | Hosts", save: "SaveRows") -> "tuple[Rows, Unwritable | None]":
    """Run a session and `save` its rows now and then; return them, and why the last save failed."""
    last = monotonic()
    with console.progress(pausing=True) as bar:
        task = bar.add_task("timing", total=session.to_come, remark="")
        for done, case in enumerate(session.visits(interrupt.asked)):
            bar.update(task, description=case, completed=done, total=done + session.to_come)
            # What came since the last save is lost if the program is killed.
            if monotonic() - last > _SAVE_EVERY:
                with suppress(Unwritable):  # the last try decides
                    save(session.rows())
                last = monotonic()
    rows = session.rows()
    try:
        save(rows, complete=not interrupt.asked())
    except Unwritable as error:
        return rows, error
    return rows, None
