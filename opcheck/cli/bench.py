"""`opcheck bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from opcheck.cli import interrupt, scalings, timing_gate
from opcheck.cli.bench_cases import chosen, timable
from opcheck.cli.entrants import entered, with_threads
from opcheck.cli.options import (
    Seconds,
    Share,
    backend_options,
    leave,
    selection_options,
)
from opcheck.errors import Exit, UsageError, did_you_mean

if TYPE_CHECKING:
    from opcheck.model.timing import Bench, Timed
    from opcheck.run.bench import Plan

_FILE = click.Path(path_type=Path, dir_okay=False)
#: A quick look: at most so many seconds a case, so many rounds, and seconds of warming up.
_QUICK_SECONDS, _QUICK_ROUNDS, _QUICK_WARM = 1.0, 9, 0.05
#: Processes of a backend.
_WORKERS, _QUICK_WORKERS = 5, 3


@click.command(name="bench")
@selection_options
@backend_options
@click.option("--base", metavar="ADDRESS", help="Whom ratios are to.  [default: the first backend]")
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Of a backend."
)
@click.option(
    "--workers",
    type=click.IntRange(min=3),
    metavar="N",
    help="Processes a backend, of which each has luck of its own with memory.  [default: 5]",
)
@click.option("--seconds", type=Seconds(), help="At most for a case.  [default: 20]")
@click.option("--cold", is_flag=True, help="Empty the processor's caches before every call.")
@click.option("--quick", is_flag=True, help="A first look: few rounds, wide intervals.")
@click.option(
    "--sweep",
    metavar="PATH=VALUES",
    help="Each case in several sizes, such as 'inputs.input.shape=[[1, 1000], [64, 1000]]'.",
)
@click.option(
    "--plot",
    type=_FILE,
    metavar="FILE",
    help="Draw how times grow in a sweep; .svg or .png.",
)
@click.option(
    "--save",
    "saved",
    type=_FILE,
    metavar="FILE",
    help="Keep all samples, as JSON lines.",
)
@click.option(
    "--pyperf",
    type=_FILE,
    metavar="FILE",
    help="The same for pyperf, once all is measured.",
)
@click.option(
    "--baseline",
    type=_FILE,
    metavar="FILE",
    help="Hold what is measured against a saved benchmark.",
)
@click.option(
    "--max-regression",
    "most",
    type=Share(),
    metavar="SHARE",
    help="How much slower than the baseline is too slow, such as 5%.  [default: 5%]",
)
@click.option(
    "--compare",
    "compared",
    nargs=2,
    type=_FILE,
    metavar="OLD NEW",
    help="Hold two saved benchmarks against each other, and measure nothing.",
)
def command(
    addresses: tuple[str, ...],
    timeout: float | None,
    memory_limit: str | None,
    base: str | None,
    threads: int,
    workers: int | None,
    seconds: float | None,
    cold: bool,
    quick: bool,
    sweep: str | None,
    plot: Path | None,
    saved: Path | None,
    pyperf: Path | None,
    baseline: Path | None,
    most: float | None,
    compared: tuple[Path, Path] | None,
    **selection: Any,
) -> None:
    """Time backends against each other, on cases that they answer rightly.

    PATH is a case file or a folder of them: what stands in its list `bench` is timed, or its cases
    if it has none. Without PATH, the shipped suites' lists. Whoever fails a case gets no time for
    it, and the table says why. Backends take turns in random order, each with several processes, so
    that what disturbs the machine disturbs all of them.

    \b
    opcheck bench -b numpy -b onnxruntime --quick      a first look at the shipped suites
    opcheck bench --op Softmax -k maps                 some cases on the default backends
    opcheck bench my.yaml -b old -b new --base old     two builds, as opcheck.toml names them
    opcheck bench --op Softmax -k classes --sweep 'inputs.input.shape=[[1, 999], [99, 999]]'
    opcheck bench --save today.jsonl                   keep the samples
    opcheck bench --baseline main.jsonl --max-regression 5%    a gate
    opcheck bench --compare monday.jsonl tuesday.jsonl

    Two builds on one machine are compared best by naming both with -b: what disturbs the machine
    disturbs both. Saved benchmarks are compared by a fixed piece of work and a copy that were timed
    in the same rounds; they show differences from some 5 % on.

    Ctrl-C ends it after the round at hand, and what was measured is shown and kept.

    Exit codes: 0 something was timed, 2 wrong usage, case file or saved benchmark, 3 slower than
    the baseline, 4 a backend or the output could not be used, or a row of the baseline has no time
    now, 5 nothing was timed, 130 interrupted.
    """
    if compared:
        timing_gate.compare(*compared, most)
    from opcheck.cli.console import output
    from opcheck.cli.workers import chosen_backends, scratch
    from opcheck.report import timings
    from opcheck.report.pyperf import write as write_pyperf
    from opcheck.run.bench import time_cases
    from opcheck.run.bench.about import about as describe

    processes = workers or (_QUICK_WORKERS if quick else _WORKERS)
    with scratch() as folder, ExitStack() as open_files:
        asked = chosen_backends(addresses, folder, timeout, memory_limit)
        settings = [with_threads(one, threads) for one in asked]
        with entered(settings, processes) as entrants:
            cases = timable(*chosen(sweep, **selection))
            scalings.check(cases, plot)
            names = [entrant.name for entrant in entrants]
            plan = _plan(_base(base, addresses, names), quick=quick, cold=cold, seconds=seconds)
            infos = [entrant.judged.info for entrant in entrants]
            about = describe(infos, plan, threads=threads, workers=processes)
            if baseline and quick:
                click.echo("opcheck: a quick look finds large differences only", err=True)
            if pyperf and not pyperf.parent.is_dir():
                raise UsageError(f"--pyperf {pyperf}: there is no such folder")
            old = timing_gate.held_against(baseline, cases, names, most)
            keep = open_files.enter_context(_kept(saved, about))
            console, rows = output(), []
            timings.show_head(console, about)
            for row in _counted(time_cases(cases, entrants, plan, interrupt.asked), len(cases)):
                rows.append(row)
                keep(row)
                timings.show_case(console, about, row)
            timings.show_means(console, about, rows)
            scalings.show(console, about, rows, plot)
    if pyperf and any(one.samples for row in rows for one in row.timings):
        write_pyperf(pyperf, about, rows)
    _end(rows, len(cases), *timing_gate.gate(console, old, about, rows, most))


def _base(wanted: str | None, given: Sequence[str], names: Sequence[str]) -> str:
    """The address of whom ratios are to, who may be called what the command line calls it."""
    if wanted in given:
        return names[given.index(wanted)]
    if wanted is None or wanted in names:
        return wanted or names[0]
    hint = did_you_mean(wanted, names) or f"backends: {', '.join(names)}"
    raise UsageError(f"--base {wanted}: no such backend takes part", hint)


def _plan(base: str, *, quick: bool, cold: bool, seconds: float | None) -> Plan:
    from opcheck.run.bench import Plan
    from opcheck.run.machine import beyond_caches

    plan = Plan(base, flushed=beyond_caches() if cold else 0)
    if quick:
        plan = replace(plan, looks=(_QUICK_ROUNDS,), seconds=_QUICK_SECONDS, warm=_QUICK_WARM)
    return replace(plan, seconds=seconds) if seconds else plan


@contextmanager
def _kept(path: Path | None, about: Bench) -> Iterator[Callable[[Timed], None]]:
    """What to call with each case, so that it is kept at once."""
    from opcheck.report.timing_store import Writer

    if path is None:
        yield lambda row: None
        return
    writer = Writer(path, about)
    yield writer.add
    writer.finish(complete=not interrupt.asked())


def _counted(rows: Iterator[Timed], total: int) -> Iterator[Timed]:
    """The same, counted in a bar while it is shown."""
    from opcheck.cli.console import progress

    with progress(pausing=True) as bar:
        task = bar.add_task("timing", total=total)
        for row in rows:
            bar.stop()
            yield row
            bar.advance(task)
            bar.start()


def _end(rows: Sequence[Timed], wanted: int, gate: Exit | None, said: str) -> NoReturn:
    """Say what the exit code means, and end."""
    from opcheck.report.words import plural

    timed = sum(bool(timing.samples) for row in rows for timing in row.timings)
    code, meaning = Exit.CONFORMS, f"{plural(len(rows), 'case')}, {plural(timed, 'timing')}"
    if said:
        code, meaning = gate or code, f"{meaning}; {said}"
    if interrupt.asked():
        code, meaning = Exit.INTERRUPTED, f"interrupted: {len(rows):,} of {wanted:,} cases"
    elif not timed:
        code, meaning = Exit.NOTHING_JUDGED, "nothing was timed"
    click.echo(f"exit {int(code)}: {meaning}")
    leave(code)
