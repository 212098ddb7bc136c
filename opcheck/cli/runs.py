"""`opcheck run` with its option --report; `report`, `diff` and `merge`, which read stored runs."""

import gc
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import click

from opcheck import interrupt
from opcheck.cli import options
from opcheck.cli.options import STANDARD, OutputCommand, OutputPath, declared
from opcheck.errors import Exit, UsageError, did_you_mean
from opcheck.grouping import picked
from opcheck.report import FORMATS, lines, why_no_report
from opcheck.report.plain_text import one_line, plural


@dataclass(frozen=True)
class Target:
    """A format and the file to be written in it."""

    form: str
    path: Path

    def __str__(self) -> str:
        return f"--report {self.form}={self.path}"


class ReportFile(OutputPath):
    """The type of the option --report."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert `FORMAT=PATH` to a `Target`."""
        form, _, path = str(value).partition("=")
        if form not in FORMATS:
            hint = f"formats: {', '.join(FORMATS)}; such as json={'run.jsonl' if path else value}"
            hint = (did_you_mean(form, FORMATS) if path else None) or hint
            self.fail(f"no format {form!r} ({hint})", param, ctx)
        if not path:
            self.fail(f"no file: write {form}=PATH", param, ctx)
        return Target(form, Path(path))


def check_targets(targets: Sequence[Target], read_from: Iterable[Path], *, as_json: bool) -> None:
    """Raise UsageError with every file that cannot be written, before anything is."""
    wrong = []
    for one in (one for one in targets if one.path == STANDARD):
        if as_json:
            wrong.append(f"{one}: --format json has standard output to itself")
        elif one.form != "github":  # which is read from logs
            instead = f"`opcheck report RUN --format {one.form}` prints this"
            wrong.append(f"{one}: standard output shows the run; {instead}")
    wrong += [f"{one}: {said}" for one in targets if (said := why_no_report(one.path))]
    options.check_files([(target, target.path) for target in targets], read_from, wrong)


def _shard(value: str) -> tuple[int, int]:
    """Read `2/5`, the second of five shards, as two numbers."""
    found = re.fullmatch(r"(\d{1,6})/([1-9]\d{0,5})", value, re.ASCII)
    if not found:
        raise click.BadParameter(f"{value!r} is no shard; write for example 2/5")
    number, total = int(found[1]), int(found[2])
    if not 1 <= number <= total:
        raise click.BadParameter(f"{value!r}: the first of {total} is 1/{total}")
    return number, total


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what an earlier run saved."""
    from opcheck.execution.saving import earlier_cases

    return folder.is_dir() and bool(earlier_cases(folder))


@click.command(name="run", cls=options.OutputCommand)
@options.selection_options
@options.model_options
@options.declared(
    """
    --expect-cases expected N: How many cases PATH, -k and the like must select; another number is
        an error.
    --digest SHA256: The SHA-256 of the manifest.json of the golden folder PATH, which pins all its
        files; another is an error.
    --lf --last-failed failed_in RUN: Only cases that failed in this stored run, on one of the
        backends asked for.
    --shard I/N: Only the I-th of N shares of the cases, which take about equally long.
    """,
    shard={"type": _shard},
)
@options.backend_options
@options.declared(
    f"""
    -j --jobs N: Processes a backend, and that judge.
    --cluster ADDRESS: Judge on the workers of dask.distributed there; local:4 starts four here.
    --repeat N: Ask each case N times, anew each time; one failure, or two answers, and it fails.
    --strict: A warning is a failure.
    --require-supported: What is unsupported, also by opcheck, fails.
    --require-reproducible: Right answers that differ between runs are a failure.
    --no-known: Judge the known defects of public backends too.
    --known ledgers FILE...: A ledger of known failures of yours: what it lists has to fail as
        listed, all else to pass. Repeatable.
    --update-known updated FILE: Have a ledger, which may be new, list what fails now, unless the
        environment variable CI is set; the exit code stays that of the run.
    --prune-known prune: With --update-known: remove what no longer fails, or is nowhere.
    --save-outputs saved DIR: Keep models, inputs and the backend's outputs, for -b saved:DIR.
    --report targets FORMAT=PATH...: Write the run to a file too: {", ".join(FORMATS)}. Repeatable.
    -x --exitfirst: Stop at the first failure.
    --max-fail N: Stop after N failures.
    """,
    jobs={"default": 1, "show_default": True},
    repeat={"default": 1},
    saved={"type": options.OutputPath(_is_replaced)},
    targets={"type": ReportFile()},
)
@options.pretty_options
@options.format_option("json", help="json: what --report json= writes, on standard output.")
def run(**values: Any) -> NoReturn:
    """Judge backends by case files: every case on every backend.

    PATH is a case file, a folder of them or of ONNX's test data, a model, or onnx-node[/PATTERN],
    the node tests of the onnx package; the shipped suites if there is none. ADDRESS is
    kind[:detail][?option=value], see `opcheck backends`; without -b: numpy (the built-in engine),
    onnxruntime and reference (onnx.reference). Of a kernel library that does not refuse invalid
    models, ?refuses=false says so: what asks for refusals is then unsupported. Each backend works
    in processes of its own: if one crashes, hangs or takes too much memory, that is its verdict,
    and the run goes on.

    \b
    opcheck run                                   the shipped suites on the default backends
    opcheck run --op Hardmax -b numpy             one operator, one backend
    opcheck run my.yaml -k 'ties and not nan' -x  some of my cases, until one fails
    opcheck run -b py:my_backend:Backend -j 4     a class of mine, in four processes
    opcheck run -b 'cmd:./run {model} {inputs} {outputs}'   a program of mine
    opcheck run gemm.yaml -b mine -b reference    an operator that has no engine here
    opcheck run vendor/tests -b onnxruntime       tests in ONNX's layout: model.onnx, input_0.pb …
    opcheck run 'onnx-node/softmax*' -b reference     some of onnx's node tests
    opcheck run model.onnx --dim batch=4 -b mine      a model, on inputs made up
    opcheck run --report json=run.jsonl           kept, for `opcheck report run.jsonl`
    opcheck run --last-failed run.jsonl           what failed in it
    opcheck run --shard 2/5                       the second of five shares, about equally long
    opcheck run -b mine --update-known mine.yaml  what fails now, written down
    opcheck run -b mine --known mine.yaml         a gate: just that fails, and just in that way

    Ctrl-C ends the run after the case at hand; a second one ends it at once.

    Exit codes: 0 conforms, 1 something failed, 2 wrong usage or case file, 4 a backend or the
    output could not be used, 5 nothing was judged, 130 interrupted.
    """
    from opcheck.cli.output import JsonOutput, Ledgers, PrettyOutput, Reports, Subset, collected
    from opcheck.session import LiveRun, Request, Session
    from opcheck.suite import Selection, choose, load_all
    from opcheck.suite.golden_files import check_pinned
    from opcheck.suite.select import EVERYTHING

    subset, mine = options.taken(Subset, values), options.taken(Ledgers, values)
    selection, given = options.taken(Selection, values), SimpleNamespace(**values)
    # All errors of files come before anything starts.
    as_json = given.form == "json"
    read_from = [*given.paths, *filter(None, [subset.failed_in])]
    check_targets(given.targets, [*read_from, *mine.ledgers], as_json=as_json)
    taken = [*read_from, *(target.path for target in given.targets)]
    options.check_files([(f"--update-known {mine.updated}", mine.updated)], taken)
    most_failures = 1 if given.exitfirst else given.max_fail
    if mine.updated and most_failures is not None:
        # It would not know all failures.
        raise UsageError("--update-known needs the whole run: leave -x and --max-fail out")
    if given.saved and given.cluster:
        raise UsageError("--save-outputs is for runs on this machine: leave --cluster out")
    _ = subset.last  # read now, which may fail
    if given.digest:
        check_pinned(given.paths, given.digest)
    with Session(given.addresses, **picked(given, "jobs timeout memory_limit cluster")) as session:
        # Backends start while the ledgers and the cases are read. A ledger of the user's own is
        # checked against all there is.
        about = EVERYTHING if mine.gate.ledgers or mine.updated else selection
        interrupt.safe_place()
        everything = load_all(given.paths, given.dims, about, given.inputs)
        options.name_hidden_files(given.paths)
        gc.freeze()  # Cases stay to the end: the collector need not look through them.
        suite = choose(everything, selection)
        said = str(selection) if suite else selection.why_empty(everything)
        interrupt.safe_place()
        subset.check(suite, said)
        session.connect(suite)
        suite, said = subset.failed(suite, said, {info.address for info in session.infos})
        request = Request(
            cases=suite,
            shard=subset.shard,
            selection=said,
            level=selection.level,
            paths=tuple(map(str, given.paths)),
            shipped_ledgers=not given.no_known,
            gate=mine.gate,
            **picked(given, "repeat strict require_supported require_reproducible"),
        )
        checked = mine.check(session.infos, everything)
        run = LiveRun(session, request)
        if given.saved:
            from opcheck.execution.saving import Recording

            run.heard = Recording(session.infos, given.saved).heard
        reports = Reports(given.targets)
        reports.begin(run.header)
        pretty = picked(given, "quiet verbose")
        output = JsonOutput(run.header) if as_json else PrettyOutput(run.header, **pretty)
        records, stopped = collected(run, output, reports, most_failures)
        whole, revised = run.end(records, stopped=stopped)
        # Whatever may fail comes before the exit code is printed.
        ending = reports.finish(whole, mine.update(whole, *checked), revised)
        output.finish(whole.records, ending, revised)
        reports.show(whole)
    options.leave(Exit(ending.exit_code))


#: What a saved benchmark begins with.
_BENCHMARK = b'{"type":"bench"'
_WHOLE = {"type": OutputPath(), "required": True}


@click.command(name="report", cls=OutputCommand)
@click.argument("path", type=options.PATH, metavar="RUN")
@options.format_option(
    *FORMATS,
    show_default=True,
    help="; ".join(f"{name}: {about}" for name, about in FORMATS.items()) + ".",
)
@options.out_option
@options.pretty_options
def report(path: Path, form: str, out: Path | None, quiet: bool, verbose: int) -> None:
    """Show a stored run, as `opcheck run` did or in another format.

    RUN is what `opcheck run --report json=RUN` wrote; `-` is standard input. Nothing is run again,
    and nothing judged anew. A benchmark that `opcheck bench --save` kept is shown too.

    \b
    opcheck report run.jsonl                   every failure, and the tables
    opcheck report run.jsonl -q -o run.txt     the tables, in a file
    opcheck report run.jsonl --format html -o run.html    a page to look at and to send around
    opcheck report run.jsonl --format json | jq -r 'select(.verdict == "fail") | .case'
    ssh there opcheck run --format json | opcheck report -

    Exit codes: those of the run, but 4 for one that is incomplete; also 4 if the output cannot be
    written, 2 if RUN cannot be read.
    """
    from opcheck.analysis import outcome

    if (quiet or verbose) and form != "pretty":
        raise UsageError(f"-q and -v are for --format pretty, not for {form}")
    options.check_files([(f"-o {out}", out)], [path])
    if _is_benchmark(path):
        if quiet or verbose:
            raise UsageError(f"-q and -v are for runs; {path} is a benchmark")
        options.leave(_benchmark(path, form, out))
    (run,) = options.read_runs(path)
    code, meaning = outcome(run)
    if form == "pretty":
        from opcheck.report import summary

        with options.printed(out) as console:
            summary.show(console, run, quiet=quiet, verbose=verbose)
    else:
        options.write_lines(out, lines(form, run))
        if not run.complete:
            options.tell(f"{path}: {meaning}")
    options.leave(code)


def _is_benchmark(path: Path) -> bool:
    """Return True if a file, packed or not, begins as `opcheck bench --save` writes it."""
    from opcheck.report.store import unpacked

    try:
        # A pipe cannot be read twice.
        if path == STANDARD or not path.is_file():
            return False
        with path.open("rb") as file:
            return unpacked(file).read(len(_BENCHMARK)) == _BENCHMARK
    except (OSError, ValueError, EOFError, zlib.error):
        return False


def _benchmark(path: Path, form: str, out: Path | None) -> Exit:
    from opcheck.report import timings

    if form != "pretty":
        raise UsageError(f"{path} is a benchmark, which is shown as pretty, not as {form}")
    kept = timings.read(path)
    with options.printed(out) as console:
        timings.show(console, kept.bench, kept.rows, complete=kept.complete)
    if not kept.complete:
        options.tell(f"{path}: the benchmark was cut short")
        return Exit.UNUSABLE
    timed = any(timing.samples for row in kept.rows for timing in row.timings)
    return Exit.CONFORMS if timed else Exit.NOTHING_JUDGED


@click.command(name="diff", cls=OutputCommand)
@click.argument("old_path", type=options.PATH, metavar="OLD")
@click.argument("new_path", type=options.PATH, metavar="NEW")
@declared("--common: Where NEW was asked for less than OLD, compare what both were asked for.")
@options.format_option("markdown", help="markdown: a page for pull requests.")
@options.out_option
@declared("-v --verbose: Every change, however many there are.")
def diff(
    old_path: Path, new_path: Path, common: bool, form: str, out: Path | None, verbose: bool
) -> None:
    """Show what changed from one stored run to another: a gate that lets old failures pass.

    Results are held against each other by case and by the address of the backend. A regression is
    what is red now and was not, what is no longer supported or no longer run, and what is missing
    in NEW though it was asked for. A case that was edited is reported, and not compared.

    \b
    opcheck run -b mine --report json=new.jsonl; opcheck diff main.jsonl new.jsonl
    opcheck diff main.jsonl new.jsonl --format markdown -o comment.md
    opcheck diff all.jsonl some.jsonl --common       NEW has fewer cases, on purpose

    Exit codes: 0 no regression, 1 some, 2 a file cannot be read, or is both, 4 a run is
    incomplete, NEW was asked for less than OLD, or the output cannot be written, 5 nothing could be
    compared.
    """
    from opcheck.analysis import apart, compare, judged
    from opcheck.report import diff as shown

    if verbose and form != "pretty":
        raise UsageError(f"-v is for --format pretty, not for {form}")
    options.check_files([(f"-o {out}", out)], [old_path, new_path])
    old, new = options.read_runs(old_path, new_path)
    if STANDARD not in (old_path, new_path) and old_path.samefile(new_path):
        raise UsageError(f"{old_path} and {new_path} are one file: nothing can have changed")
    if apart(old.header, new.header) < 0:
        options.tell(f"{new_path} began before {old_path}: is it NEW?")
    found = compare(old, new)
    if form == "pretty":
        with options.printed(out) as console:
            shown.show(console, old, new, found, common=common, verbose=verbose)
    else:
        options.write_lines(out, shown.markdown_lines(old, new, found, common=common))
    options.leave(judged(old, new, found, common=common)[0])


@click.command(name="merge", cls=OutputCommand)
@click.argument("paths", nargs=-1, required=True, type=options.PATH, metavar="RUN...")
@declared("-o --output out FILE: The whole; `-` is standard output.", out=_WHOLE)
def merge(paths: tuple[Path, ...], out: Path) -> None:
    """Join stored runs of one suite into one: other backends, or other parts of the cases.

    What they were asked has to be one selection of the same cases, judged by the same rules, and no
    result may stand in two of them. Where shards are missing, or a run was cut short, so is the
    whole, and missing results are reported.

    \b
    opcheck merge cpu.jsonl gpu.jsonl -o all.jsonl
    opcheck merge shard-*.jsonl -o all.jsonl && opcheck report all.jsonl

    Exit codes: 0 the whole is complete, whatever its verdicts; 2 a file cannot be read, or they are
    no parts of one whole; 4 it is incomplete, or cannot be written.
    """
    from opcheck import analysis
    from opcheck.report import store

    options.check_files([(f"-o {out}", out)], paths)
    parts = [(str(path), run) for path, run in zip(paths, options.read_runs(*paths), strict=True)]
    whole, lacks = analysis.merge(parts)
    options.write_lines(out, store.lines(whole))
    header = whole.header
    for said in (*lacks, *analysis.several_builds(header)):
        options.tell(one_line(said))
    counts = len(whole.records), header.cases, len(header.backends)
    message = ", ".join(map(plural, counts, ("result", "case", "backend")))
    code = Exit.CONFORMS if whole.complete else Exit.UNUSABLE
    meaning = "joined" if whole.complete else "incomplete"
    options.end(code, f"{meaning}: {message}", err=str(out) == "-")
