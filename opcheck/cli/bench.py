"""`opcheck bench`, with its gates: a saved benchmark, or another backend of the same run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from opcheck import interrupt
from opcheck.cli import options
from opcheck.errors import Exit, Unwritable, UsageError, few, plural
from opcheck.grouping import group_by, picked, sure

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.cluster import Hosts
    from opcheck.execution.bench import Benchmark
    from opcheck.model import Case
    from opcheck.model.timing import Bench, Rows
    from opcheck.report.timings import Stored
    from opcheck.timing import Compared

#: The exit code of a gate, and its part of the last line.
Verdict = tuple[Exit, str]
_READ = {"type": click.Path(path_type=Path, dir_okay=False)}


@dataclass(frozen=True)
class TimingGate:
    """Limit on slowdowns, and what unclear rows make of it.

    `unclear` None ends with exit code 5 unless at least half of the rows are clear; "fail" does
    so for one unclear row, "pass" for none.
    """

    most: float
    unclear: str | None

    def verdict(self, found: Compared, base: str = "", unfair: str = "") -> Verdict:
        """Return what a comparison with `base` or an older run means, and if it is `unfair`."""
        code, messages = self._verdict(found, base, unfair)
        rows = len(found.changes) + len(found.missing)
        return code, "; ".join([*messages, f"{found.unclear:,} of {rows:,} unclear"])

    def _verdict(self, found: Compared, base: str, unfair: str) -> tuple[Exit, list[str]]:
        limit = f"{base or 'before'} by more than {100 * found.beyond:g} %"
        slower = [f"the runs cannot be compared: {unfair}"] if unfair else _slower(found, limit)
        if lost := sum(one.lost for one in found.missing):
            had = f"have a time on {base}" if base else "had a time before"
            return Exit.UNUSABLE, [f"{lost:,} that {had} have none now", *slower]
        if slower:
            return Exit.NOTHING_JUDGED if unfair else Exit.SLOWER, slower
        if not found.changes:
            return Exit.NOTHING_JUDGED, ["nothing could be compared"]
        if not self._is_clear_enough(found):
            return Exit.NOTHING_JUDGED, [f"undecided whether slower than {limit}"]
        return Exit.CONFORMS, [f"nothing is seen to be slower than {limit}"]

    def _is_clear_enough(self, found: Compared) -> bool:
        """Return True if so few rows are unclear that a gate may be green."""
        if self.unclear == "pass":
            return True
        if self.unclear == "fail":
            return found.unclear == 0
        return 2 * found.unclear <= len(found.changes) + len(found.missing)


def _slower(found: Compared, limit: str) -> list[str]:
    """Describe the rows that are slower than this limit, in no or one message."""
    slower = sum(one.verdict == "slower" for one in found.changes)
    together = any(one.verdict == "slower" for one in found.together)
    if not slower and not together:
        return []
    also = ", and so are all together" if together else ""
    return [f"{slower:,} slower than {limit}{also}"]


def asked_gate(
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
        said = f"{100 * least:g}% is the least that can be detected"
        raise UsageError(f"--max-regression {100 * most:g}%: {said}", hint)
    return TimingGate(USUAL if most is None else most, unclear)


def saved_benchmark(path: Path) -> Stored:
    """Return a saved benchmark; warn if it was cut short."""
    from opcheck.report.timings import read

    stored = read(path)
    if not stored.complete:
        options.tell(f"{path} is of a run that was cut short")
    return stored


def check_baseline(path: Path, stored: Stored, about: Bench, cases: Sequence[Case]) -> None:
    """Raise UsageError where the saved benchmark cannot be compared with what will be measured."""
    from opcheck.report import timings
    from opcheck.suite import case_digest

    ids, known = [case.id for case in cases], {row.case: row for row in stored.rows}
    unfair = timings.unfair(timings.differences(stored.bench, about, [*known], ids))
    if unfair:
        hint = "times would change without the build: ask for the same, or save a new baseline"
        raise UsageError(f"{path} cannot be compared with this run: {unfair}", hint)
    lacking = []
    for case in cases:
        row = known[case.id]
        is_same = row.digest == case_digest(case)
        timed = {one.backend for one in row.timings if one.samples and is_same}
        missing = [name for name in about.backends if name not in timed]
        lacking += [f"{path} has no time of {name} for {case.id} as it is" for name in missing]
    if lacking:
        hint = "leave it out of both by -k, or save a new baseline with `opcheck bench --save FILE`"
        raise UsageError(few(lacking), hint)


def show_changes(console: Console, gate: TimingGate, old: Stored | None, new: Stored) -> Verdict:
    """Print and judge a benchmark, compared with an old one or with its own baseline."""
    from opcheck.report import timings
    from opcheck.timing import compare_backends, compare_runs

    if old is None:
        base = new.bench.baseline
        found = compare_backends(new.rows, base, gate.most)
        timings.show_changes(console, {}, found, base)
        return gate.verdict(found, base)
    cases = ([row.case for row in stored.rows] for stored in (old, new))
    differences = timings.differences(old.bench, new.bench, *cases)
    found = compare_runs(old.rows, new.rows, gate.most)
    timings.show_changes(console, differences, found)
    return gate.verdict(found, unfair=timings.unfair(differences))


@click.command(name="bench", cls=options.OutputCommand)
@options.selection_options
@options.backend_options
@options.cluster_option
@options.declared(
    """
    --base ADDRESS: Backend that ratios are relative to. [default: the first]
    --threads: Of a backend.
    --workers N: Processes of each backend; each has its own luck with memory. [default: 5]
    --seconds: At most for a case. [default: 20]
    --cold: Empty the processor's caches before every call.
    --quick: A first look: few rounds, wide intervals.
    --save saved FILE: Keep all samples, as JSON lines.
    --baseline FILE: Compare the times with a saved benchmark.
    --max-regression most SHARE: How much slower is too slow: than the backend that --base names, 2%
        or more, or than a --baseline, 3% or more. [default: 5% with --baseline]
    --unclear: What a row makes of a gate that may be too slow or not, exit code 5 or none.
        [default: fail unless at least half of the rows are clear]
    --compare compared OLD NEW: Compare two saved benchmarks, and measure nothing.
    """,
    threads={"type": click.IntRange(min=1), "default": 1, "show_default": True},
    workers={"type": click.IntRange(min=3)},
    seconds={"type": options.SECONDS},
    saved={"type": options.OutputPath(dir_okay=False)},
    baseline=_READ,
    most={"type": options.SHARE},
    unclear={"type": click.Choice(["fail", "pass"])},
    compared={**_READ, "nargs": 2},
)
def command(**values: Any) -> NoReturn:
    """Time backends against each other, on cases that they answer rightly.

    PATH is a case file or a folder of them: what stands in its list `bench` is timed, or its cases
    if it has none. Without PATH, the shipped suites' lists. Whoever fails a case gets no time for
    it, and the table says why. Backends take turns in random order, each with several processes, so
    that what disturbs the machine disturbs all of them.

    \b
    opcheck bench -b numpy -b onnxruntime --quick      a first look at the shipped suites
    opcheck bench --op Softmax -k maps                 some cases on the default backends
    opcheck bench my.yaml -b old -b new --base old     two builds, as opcheck.toml names them
    opcheck bench my.yaml -b old -b new --base old --max-regression 5%    a gate, the best one
    opcheck bench --save today.jsonl                   keep the samples
    opcheck bench --baseline main.jsonl --max-regression 5%    a gate where the old build is gone
    opcheck bench --compare monday.jsonl tuesday.jsonl
    opcheck report monday.jsonl                        the table once more

    Two builds on one machine are compared best by naming both with -b: what disturbs the machine
    disturbs both. Saved benchmarks are compared by a fixed piece of work and a copy that were timed
    in the same rounds; that gate sees slowdowns by some 7 %, or by 15 % in one row.

    Ctrl-C ends it after the round at hand, and what was measured is shown and kept.

    On a cluster, one worker of each host times a share of the cases. Hosts must be alike.

    Exit codes: 0 something was timed, 2 wrong usage, case file or saved benchmark, 3 slower than
    --max-regression allows, 4 a backend or the output could not be used, or a row that had a time
    has none now, 5 nothing was timed or is clear, 130 interrupted.
    """
    given = SimpleNamespace(**values)
    if given.compared:
        for name in options.given_besides("compared", "most", "unclear"):
            raise UsageError(f"--compare measures nothing: {name} has no place beside it")
        limit = sure(asked_gate(given.most, given.unclear, stored=True))
        code, meaning = show_changes(options.output(), limit, *map(saved_benchmark, given.compared))
        options.end(code, meaning)
    from opcheck.backends.address import DEFAULT
    from opcheck.execution.bench import entered, planned
    from opcheck.execution.workers import Limits
    from opcheck.report import timings

    # All errors of the command line come before any process is started.
    cases = _chosen(**picked(given, "paths ids keywords ops opsets dtypes level"))
    baseline: Path | None = given.baseline
    options.check_files([(f"--save {given.saved}", given.saved)], [baseline])
    gate = asked_gate(given.most, given.unclear, stored=baseline is not None, base=given.base)
    old = saved_benchmark(baseline) if baseline else None
    if gate and not baseline and len(given.addresses or DEFAULT) < 2:
        raise UsageError("--max-regression compares with --base: name another backend by -b")
    limits = Limits(given.timeout, given.memory_limit)
    plan = planned(**picked(given, "workers seconds cold quick"))
    entry = given.addresses, cases, limits, plan, given.threads, given.base
    where: AbstractContextManager[tuple[Bench, Benchmark | Hosts]] = entered(*entry)
    if given.cluster is not None:
        from opcheck.cluster import timed as timed_on

        where = timed_on(given.cluster, *entry)
    with where as (about, session):
        if baseline and old:
            check_baseline(baseline, old, about, cases)
        console = options.output()
        timings.show_head(console, about)
        for pool in session.oracles.values():
            click.echo(f"oracle {pool.info} states the answers of cases that name it")

        def save(rows: Rows, *, complete: bool = False) -> None:
            if given.saved:
                timings.write(given.saved, about, rows, complete=complete)

        save(())
        rows, error = _measured(session, save)
    timings.show_results(console, about, rows)
    code, meaning = Exit.CONFORMS, ""
    if gate and rows:
        console.print()
        stored = timings.Stored(about, tuple(rows), complete=True)
        code, meaning = show_changes(console, gate, old, stored)
    if error:
        raise error
    timed = sum(bool(timing.samples) for row in rows for timing in row.timings)
    if interrupt.asked():
        options.end(Exit.INTERRUPTED, f"interrupted: {len(rows):,} of {len(cases):,} cases")
    if not timed:
        options.end(Exit.NOTHING_JUDGED, "nothing was timed")
    counted = f"{plural(len(rows), 'case')}, {plural(timed, 'timing')}"
    options.end(code, f"{counted}; {meaning}" if meaning else counted)


def _chosen(**selection: Any) -> list[Case]:
    """Return the cases that can be timed; warn of the others, raise UsageError if there is none."""
    from opcheck.execution.bench import why_not

    cases, said = options.chosen_cases(**selection, bench=True)
    by_reason = group_by(cases, why_not)
    found = by_reason.pop("", [])
    for reason, those in by_reason.items():
        options.tell(f"not timed: {few([one.id for one in those])}: {reason}")
    if cases and not found:
        raise UsageError("none of the cases can be timed")
    if not cases:
        options.tell(f"no case matches ({said})")
        options.leave(Exit.NOTHING_JUDGED)
    return found


def _measured(
    session: Benchmark | Hosts, save: Callable[..., None]
) -> tuple[Rows, Unwritable | None]:
    """Run a session and `save` its rows now and then; return them, and why the last save failed."""
    last = monotonic()
    with options.progress(pausing=True) as bar:
        task = bar.add_task("timing", total=session.to_come)
        for done, case in enumerate(session.visits(interrupt.asked)):
            bar.update(task, description=case, completed=done, total=done + session.to_come)
            if monotonic() - last > 10:  # seconds, which may be lost if the program is killed
                with suppress(Unwritable):  # the last try decides
                    save(session.rows())
                last = monotonic()
    rows = session.rows()
    try:
        save(rows, complete=not interrupt.asked())
    except Unwritable as error:
        return rows, error
    return rows, None
