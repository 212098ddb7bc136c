"""`opcheck report`."""

import zlib
from pathlib import Path

import click

from opcheck.cli import options
from opcheck.cli.options import STANDARD, OutputCommand, leave, pretty_options
from opcheck.errors import Exit, UsageError
from opcheck.report.files import FORMATS, lines

#: What a saved benchmark begins with.
_BENCHMARK = b'{"type":"bench"'


@click.command(name="report", cls=OutputCommand)
@click.argument("path", type=options.PATH, metavar="RUN")
@options.format_option(
    *FORMATS,
    show_default=True,
    help="; ".join(f"{name}: {form.about}" for name, form in FORMATS.items()) + ".",
)
@options.out_option
@pretty_options
def command(
    path: Path, form: str, out: Path | None, quiet: bool, verbose: int, slowest: int | None
) -> None:
    """Show a stored run, as `opcheck run` did or in another format.

    RUN is what `opcheck run --report json=RUN` wrote; `-` is standard input. Nothing is run again,
    and nothing judged anew. A benchmark that `opcheck bench --save` kept is shown too, as pretty or
    html.

    \b
    opcheck report run.jsonl                   every failure, and the tables
    opcheck report run.jsonl -q -o run.txt     the tables, in a file
    opcheck report run.jsonl --format html -o run.html    a page to look at and to send around
    opcheck report run.jsonl --format json | jq -r 'select(.verdict == "fail") | .case'
    ssh there opcheck run --format json | opcheck report -

    Exit codes: those of the run, but 4 for one that is incomplete; also 4 if the output cannot be
    written, 2 if RUN cannot be read.
    """
    from opcheck.analysis.status import outcome

    if (quiet or verbose or slowest) and form != "pretty":
        raise UsageError(f"-q, -v and --durations are for --format pretty, not for {form}")
    options.check_files([(f"-o {out}", out)], [path])
    if _is_benchmark(path):
        if quiet or verbose or slowest:
            raise UsageError(f"-q, -v and --durations are for runs; {path} is a benchmark")
        leave(_benchmark(path, form, out))
    (run,) = options.read_runs(path)
    code, meaning = outcome(run)
    if form == "pretty":
        from opcheck.report import summary

        with options.printed(out) as console:
            summary.show(console, run, quiet=quiet, verbose=verbose, slowest=slowest)
    else:
        options.write_lines(out, lines(form, run))
        if not run.complete:
            click.echo(f"opcheck: {path}: {meaning}", err=True)
    leave(code)


def _is_benchmark(path: Path) -> bool:
    """Return True if a file, packed or not, begins as `opcheck bench --save` writes it."""
    from opcheck.report.json_lines import unpacked

    try:
        # A pipe cannot be read twice.
        if path == STANDARD or not path.is_file():
            return False
        with path.open("rb") as file:
            return unpacked(file).read(len(_BENCHMARK)) == _BENCHMARK
    except (OSError, ValueError, EOFError, zlib.error):
        return False


def _benchmark(path: Path, form: str, out: Path | None) -> Exit:
    from opcheck.report import timing_store

    if form not in ("pretty", "html"):
        raise UsageError(f"{path} is a benchmark, which is shown as pretty or html, not as {form}")
    kept = timing_store.read(path)
    if form == "html":
        from opcheck.report.html import bench_page

        options.write_lines(out, bench_page.lines(kept))
    else:
        from opcheck.report import scaling, timings

        with options.printed(out) as console:
            timings.show(console, kept.bench, kept.rows, complete=kept.complete)
            scaling.show_sweeps(console, kept.bench, kept.rows)
    if not kept.complete:
        click.echo(f"opcheck: {path}: the benchmark was cut short", err=True)
        return Exit.UNUSABLE
    timed = any(timing.samples for row in kept.rows for timing in row.timings)
    return Exit.CONFORMS if timed else Exit.NOTHING_JUDGED
