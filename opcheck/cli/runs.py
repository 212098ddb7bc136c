"""`opcheck run` with its option --report; `report`, `diff` and `merge`, which read stored runs."""

import gc
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from opcheck import interrupt
from opcheck.cli import console, kept, options, scopes
from opcheck.cli.console import STANDARD
from opcheck.cli.defaults import CommandWithDefaults, note_defaults
from opcheck.cli.files import (
    OutputCommand,
    OutputPath,
    ReportFile,
    ReportTarget,
    check_files,
    check_report_targets,
    read_runs,
)
from opcheck.cli.options import (
    BackendOptions,
    CaseOptions,
    ModelOptions,
    PrettyOptions,
)
from opcheck.errors import Exit, UsageError
from opcheck.report import BENCH_FORMATS, FORMATS, lines
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.cli.output import CaseFilter, JsonOutput, Ledgers, PrettyOutput
    from opcheck.model import Case, Ending, Header, Record, Run
    from opcheck.session import Session
    from opcheck.suite import Selection

#: How often Python looks for objects that hold each other, in objects that came and were not freed.
#: Judging leaves few, and by Python's own 700 the search is a tenth of a run's processor time.
_COLLECTED_AT = (10_000, 20, 20)
#: Names of standard error, to which a report may go.
_STANDARD_ERROR = ("/dev/stderr", "/dev/fd/2")
#: In place of a RUN that is not named: the last run of this folder.
LAST = Path("(the last run)")


def _shard(value: str) -> tuple[int, int]:
    """Read `2/5`, the second of five shards, as two numbers."""
    match = re.fullmatch(r"(\d{1,6})/([1-9]\d{0,5})", value, re.ASCII)
    if not match:
        raise click.BadParameter(f"{value!r} is not a shard; write for example 2/5")
    number = int(match[1])
    total = int(match[2])
    if not 1 <= number <= total:
        raise click.BadParameter(f"{value!r}: the first of {total} is 1/{total}")
    return number, total


def _holds_saved_outputs(folder: Path, _words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what an earlier run saved."""
    from opcheck.execution.saving import earlier_cases

    return folder.is_dir() and bool(earlier_cases(folder))


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of `opcheck run`."""

    cases: CaseOptions
    model: ModelOptions
    expect_cases: int | None
    digest: str | None
    last_failed: Path | None
    shard: tuple[int, int] | None
    backends: BackendOptions
    jobs: int
    cluster: str | None
    repeat: int
    strict: bool
    require_supported: bool
    require_reproducible: bool
    no_known: bool
    known: tuple[Path, ...]
    update_known: Path | None
    prune_known: bool
    allow_unexpected_passes: bool
    explain: str
    save_outputs: Path | None
    reports: tuple[ReportTarget, ...]
    durations: int | None
    exitfirst: bool
    max_fail: int | None
    pretty: PrettyOptions
    format: str

    @property
    def max_failures(self) -> int | None:
        """Number of failures after which the run stops, None for no limit."""
        return 1 if self.exitfirst else self.max_fail


_filter_options = options.compose(
    click.option(
        "--expect-cases",
        metavar="N",
        type=options.COUNT,
        help="Exit with 2 unless PATH, -k and the like select exactly N cases.",
    ),
    click.option(
        "--digest",
        metavar="SHA256",
        help="Exit with 2 unless manifest.json of the golden folder PATH, which has the checksums"
        " of all its files, has this SHA-256.",
    ),
    click.option(
        "--lf",
        "--last-failed",
        "last_failed",
        metavar="[RUN]",
        type=options.PATH,
        is_flag=False,
        flag_value=str(LAST),
        help="Only cases that failed in this stored run, on one of the tested backends; without RUN"
        " in the last run of this folder, or before and not passed since.",
    ),
    click.option(
        "--shard",
        metavar="I/N",
        type=_shard,
        help="Only share I of the cases, of N that take about equally long.",
    ),
)
_process_options = options.compose(
    click.option(
        "-j",
        "--jobs",
        metavar="N",
        type=options.COUNT,
        default=1,
        show_default=True,
        help="Worker processes per backend, and judging processes.",
    ),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Judge on the dask.distributed cluster at this address; local:4 starts four workers"
        " here.",
    ),
)
_strictness_options = options.compose(
    click.option(
        "--repeat",
        metavar="N",
        type=options.COUNT,
        default=1,
        help="Run each case N times, prepared anew; it fails by one failure, or two different"
        " answers.",
    ),
    click.option("--strict", is_flag=True, help="Treat warnings as failures."),
    click.option(
        "--require-supported",
        is_flag=True,
        help="Treat unsupported cases as failures, also those that opcheck does not support.",
    ),
    click.option(
        "--require-reproducible",
        is_flag=True,
        help="Treat right answers that differ between runs as failures.",
    ),
)
_ledger_options = options.compose(
    click.option(
        "--no-known",
        is_flag=True,
        help="Apply no shipped ledger: known defects of public backends count as failures.",
    ),
    click.option(
        "--known",
        metavar="FILE",
        type=options.PATH,
        multiple=True,
        help="Ledger of your known failures: listed cases must fail as listed, all others must"
        " pass. Repeatable.",
    ),
    click.option(
        "--update-known",
        metavar="FILE",
        type=options.PATH,
        help="Write what fails now to this ledger, which may be new, unless the environment"
        " variable CI is set; the exit code stays that of the run.",
    ),
    click.option(
        "--prune-known",
        is_flag=True,
        help="With --update-known: remove entries that no longer fail, or match no case.",
    ),
    click.option(
        "--allow-unexpected-passes",
        is_flag=True,
        help="Count a case that --known lists and that passes as green, as pytest does without"
        " xfail_strict.",
    ),
)
_output_options = options.compose(
    click.option(
        "--explain",
        type=click.Choice(["short", "full"]),
        default="short",
        help="full: look for causes of failures as long as it takes; otherwise for a minute, or as"
        " long as the run takes if that is longer.",
    ),
    click.option(
        "--save-outputs",
        metavar="DIR",
        type=OutputPath(_holds_saved_outputs),
        help="Save models, inputs and the backend's outputs, for -b saved:DIR.",
    ),
    click.option(
        "--report",
        "reports",
        metavar="FORMAT=PATH",
        type=ReportFile(),
        multiple=True,
        help=f"Also write a report to a file: {', '.join(FORMATS)}. Repeatable.",
    ),
    click.option(
        "--durations",
        metavar="N",
        type=options.COUNT,
        help="Show the N slowest cases of each backend.",
    ),
    click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure."),
    click.option("--max-fail", metavar="N", type=options.COUNT, help="Stop after N failures."),
)


@click.command(name="run", cls=CommandWithDefaults)
@options.case_options
@options.model_options
@_filter_options
@options.backend_options
@_process_options
@_strictness_options
@_ledger_options
@_output_options
@options.pretty_options
@options.format_option(
    "json", help="json: JSON lines on standard output, as --report json= writes them."
)
@options.takes(RunOptions)
def run(given: RunOptions) -> NoReturn:
    """Judge backends by case files: every case on every backend.

    PATH is a case file, a folder of them or of ONNX's test data, a model, or onnx-node[/PATTERN],
    the node tests of the onnx package. Without PATH, the shipped suites are run. ADDRESS is
    kind[:detail][?option=value], see `opcheck backends`; without -b: numpy (the built-in engine),
    onnxruntime and reference (onnx.reference). Add ?refuses=false for a library that does not
    validate models: cases that expect a refusal are then unsupported. Each backend has processes
    of its own: if one crashes, hangs or takes too much memory, that is its verdict, and the run
    goes on.

    \b
    opcheck run                                   the shipped suites on the default backends
    opcheck run --op Hardmax -b numpy             one operator, one backend
    opcheck run my.yaml -k 'ties and not nan' -x  some of my cases, until one fails
    opcheck run -b py:my_backend:Backend -j 4     my class, in four processes
    opcheck run -b 'cmd:./run {model} {inputs} {outputs}'   my program
    opcheck run gemm.yaml -b mine -b reference    an operator that opcheck's engine lacks
    opcheck run vendor/tests -b onnxruntime       tests in ONNX's layout: model.onnx, input_0.pb …
    opcheck run 'onnx-node/softmax*' -b reference     some of onnx's node tests
    opcheck run model.onnx --dim batch=4 -b mine      a model, on generated inputs
    opcheck run --report json=run.jsonl           save the run, for `opcheck report run.jsonl`
    opcheck run --last-failed run.jsonl           only what failed in it
    opcheck run --lf                              only what failed in the last run here
    opcheck run --shard 2/5                       the second of five shares, about equally long
    opcheck run -b mine --update-known mine.yaml  write down what fails now
    opcheck run -b mine --known mine.yaml         pass only if exactly these cases fail, as listed

    Ctrl-C ends the run after the current case; a second Ctrl-C ends it at once.

    Exit codes: 0 conforms, 1 something failed, 2 wrong usage or case file, 4 a backend or the
    output could not be used, 5 nothing was judged, 130 interrupted.
    """
    from opcheck.cli.output import CaseFilter, Ledgers
    from opcheck.session import Session
    from opcheck.suite.golden_files import check_pinned

    options.use_config(given.backends.config)
    given.model.apply_limits()
    name = str(given.last_failed)
    earlier: dict[str, set[str]] = {}
    is_of_last_run = given.last_failed == LAST
    if is_of_last_run:
        name = "the last run"
        earlier = kept.failures()
        given = replace(given, last_failed=kept.last_run("--last-failed"))
    case_filter = CaseFilter(
        expect_cases=given.expect_cases,
        last_failed=given.last_failed,
        name=name,
        earlier=earlier,
        shard=given.shard,
    )
    ledgers = Ledgers(
        known=given.known,
        updated=given.update_known,
        prune=given.prune_known,
        lenient=given.allow_unexpected_passes,
    )
    # All errors of files come before anything starts.
    _check_run_options(given)
    note_defaults()
    case_filter.read_last_run()
    if is_of_last_run:
        _note_last_command(given)
    if given.digest is not None:
        check_pinned(given.cases.paths, given.digest)
    with Session(
        given.backends.addresses,
        jobs=given.jobs,
        timeout=given.backends.timeout,
        memory_limit=given.backends.memory_limit,
        cluster=given.cluster,
    ) as session:
        ending = _judge_and_report(given, session, case_filter, ledgers)
    console.exit_with(Exit(ending.exit_code))


def _asked_of(given: RunOptions) -> kept.Asked:
    """Return words of the command line by what they are about: cases, backends, what fails."""
    dims = [["--dim", f"{name}={size}"] for name, size in given.model.dims.items()]
    if given.model.inputs is not None:
        dims.append(["--inputs", str(given.model.inputs)])
    config = given.backends.config
    level = given.cases.level
    ledgers = [word for path in given.known for word in ("--known", str(path))]
    if given.no_known:
        ledgers.append("--no-known")
    demands = {
        "--strict": given.strict,
        "--require-supported": given.require_supported,
        "--require-reproducible": given.require_reproducible,
        "--allow-unexpected-passes": given.allow_unexpected_passes,
    }
    return {
        "files": [str(path) for path in given.cases.paths],
        "models": [word for words in dims for word in words],
        "level": [] if level == options.DEFAULT_LEVEL else ["--level", level],
        "config": [] if config is None else ["--config", str(config)],
        "backends": [word for address in given.backends.addresses for word in ("-b", address)],
        "ledgers": ledgers,
        "demands": [option for option, is_given in demands.items() if is_given],
    }


def _again(asked: kept.Asked) -> str:
    """Return the command that runs the failures of a kept run again."""
    words = [word for words in asked.values() for word in words]
    return shlex.join(["opcheck", "run", *words, "--lf"])


def _gate(given: RunOptions) -> str:
    """Return the command of a gate by the ledger that this run updates: the same, held to it."""
    asked = _asked_of(given)
    cases = given.cases
    words = [*asked["files"], *asked["models"], *asked["level"]]
    named = {"--case": cases.ids, "--op": cases.ops, "--opset": cases.opsets}
    named |= {"-k": (cases.keywords,) if cases.keywords else (), "--dtype": cases.dtypes}
    words += [
        str(word) for option, values in named.items() for one in values for word in (option, one)
    ]
    words += [*asked["config"], *asked["backends"], *asked["ledgers"]]
    if given.update_known not in given.known:
        words += ["--known", str(given.update_known)]
    return shlex.join(["opcheck", "run", *words, *asked["demands"]])


def _next_commands(given: RunOptions) -> list[tuple[str, str]]:
    """Return the commands that come next after failures, each with what it is for."""
    commands = []
    if given.update_known is not None:
        commands.append((_gate(given), "a gate: red on all but what the ledger lists"))
    if kept.is_keeping():
        commands.append((_again(_asked_of(given)), "after a change: only what failed"))
    return commands


def _note_last_command(given: RunOptions) -> None:
    """Print how to ask again what the last run asked, if this one leaves part of it out."""
    last = kept.last_asked()
    asked = _asked_of(given)
    if any(words and not asked.get(what) for what, words in last.items()):
        note = "it named files, backends or options that this one does not"
        console.note(f"{note}: {one_line(_again(last))}")


def _check_run_options(given: RunOptions) -> None:
    """Raise UsageError for options that contradict each other, or files that cannot be written."""
    read_from = [*given.cases.paths]
    if given.last_failed:
        read_from.append(given.last_failed)
    check_report_targets(given.reports, [*read_from, *given.known], as_json=given.format == "json")
    report_paths = [target.path for target in given.reports]
    update_option = f"--update-known {given.update_known}"
    check_files([(update_option, given.update_known)], [*read_from, *report_paths])
    if given.update_known and given.max_failures is not None:
        # A run that stops early does not know all failures.
        raise UsageError("--update-known needs the whole run: leave -x and --max-fail out")
    if given.durations and given.format == "json":
        raise UsageError("--durations is for pretty output; JSON has the seconds of each case")
    if given.cases.selection.level == "huge":
        _check_huge_run(given)
    if given.save_outputs and given.cluster:
        raise UsageError("--save-outputs is for runs on this machine: leave --cluster out")


def _check_huge_run(given: RunOptions) -> None:
    """Raise UsageError for a run of level huge that takes more than one process of a backend."""
    if len(given.backends.addresses) != 1 or given.jobs > 1 or given.cluster:
        hint = "name one with -b, without -j and --cluster: each would need gigabytes"
        raise UsageError("--level huge is for one backend in one process", hint)
    if given.save_outputs:
        raise UsageError("--level huge saves no outputs: leave --save-outputs out")


def _judge_and_report(
    given: RunOptions, session: "Session", case_filter: "CaseFilter", ledgers: "Ledgers"
) -> "Ending":
    """Judge the cases, print and write the results; return how the run ended."""
    from opcheck.cli.output import Reports, judge_and_show
    from opcheck.session import LiveRun, Request
    from opcheck.suite.select import HUGE

    gc.set_threshold(*_COLLECTED_AT)
    # Backends start while the ledgers and the cases are read.
    selection = given.cases.selection
    all_cases, cases, description = _selected_cases(given, ledgers, case_filter.failed)
    case_filter.check_count(cases, description)
    session.connect(cases)
    addresses = {info.address for info in session.infos}
    too_few = case_filter.why_too_few(all_cases, cases, selection, addresses)
    cases, description = case_filter.only_failed(cases, description, addresses)
    for reason in too_few:
        console.note(reason)
    request = Request(
        cases=cases,
        shard=case_filter.shard,
        selection=description,
        level=selection.level,
        paths=tuple(map(str, given.cases.paths)),
        shipped_ledgers=not given.no_known,
        gate=ledgers.gate,
        too_few=too_few,
        repeat=given.repeat,
        strict=given.strict,
        require_supported=given.require_supported,
        require_reproducible=given.require_reproducible,
        explain_fully=given.explain == "full",
    )
    is_whole = not given.cases.paths and selection.level != HUGE
    facts, ledger_backend = ledgers.check(session.infos, all_cases, whole=is_whole)
    run = LiveRun(session, request)
    if given.save_outputs:
        from opcheck.execution.saving import Recording

        run.observe = Recording(session.infos, given.save_outputs).observe
    reports = Reports(given.reports)
    reports.begin(run.header)
    output = _output_of(given, run.header)
    records, stopped = judge_and_show(run, output, reports, given.max_failures)
    with output.searching(records) as searched:
        whole, revised = run.end(records, stopped=stopped, searched=searched)
    # Whatever may fail comes before the exit code is printed.
    unwritten = ledgers.update(whole, facts, ledger_backend)
    ending = reports.finish(whole, unwritten, revised)
    if _is_of_everything(given) and whole.complete and not given.pretty.quiet:
        named = [info.address for info in whole.header.backends if whole.header.named]
        _propose_scopes(whole.records, named, selection.level)
    output.finish(whole.records, ending, revised)
    reports.show(whole)
    if whole.records:
        kept.keep(replace(whole, ending=ending), _asked_of(given))
    return ending


def _selected_cases(
    given: RunOptions, ledgers: "Ledgers", failed: Collection[str] | None
) -> "tuple[tuple[Case, ...], tuple[Case, ...], str]":
    """Return all cases that were read, those that are selected, and a description of these.

    A ledger of the user's own is checked against all cases of its operators, and a stored run
    against those of all that `failed` in it; None without one.
    """
    from opcheck.suite import choose, load_all

    selection = given.cases.selection
    # Files, operators and cases that are named are meant, whatever a profile says.
    is_named = bool(given.cases.paths or selection.ops or selection.ids)
    scope = options.scope_of(given.backends.addresses, cases_are_named=is_named)
    needed = selection if scope is None else replace(selection, ops=scope.operators)
    interrupt.safe_place()
    all_cases = load_all(
        given.cases.paths,
        given.model.dims,
        selection=_to_read(given, ledgers, needed, failed),
        inputs=given.model.inputs,
    )
    options.note_hidden_files(given.cases.paths)
    gc.freeze()  # Cases stay to the end: the collector need not look through them.
    cases = choose(all_cases, selection)
    description = str(selection) if cases else selection.why_empty(all_cases)
    if scope is not None:
        cases = options.within_scope(cases, scope, given.backends.addresses)
        # A run of another scope is another selection, which `diff` and `merge` compare.
        description += f", scope of {', '.join(given.backends.addresses)}: {scope}"
    interrupt.safe_place()
    return all_cases, cases, description


def _to_read(
    given: RunOptions,
    ledgers: "Ledgers",
    needed: "Selection",
    failed: Collection[str] | None,
) -> "Selection":
    """Return which shipped cases are read: those `needed`, or more for ledgers and a stored run.

    Cases of each level are read of the operators that are needed or that a ledger names. If only
    the `failed` cases are run, these are their operators, unless all that are selected are counted.
    """
    from opcheck import reading
    from opcheck.suite.select import EVERYTHING

    operators = [*needed.operators]
    if failed is not None:
        if given.expect_cases is not None:
            return EVERYTHING
        of_failed = {case.partition("/")[0] for case in failed}
        operators = operators or sorted(of_failed.intersection(reading.shipped_operators()))
        if not operators:
            return needed
    elif not (ledgers.gate.ledgers or given.update_known):
        return needed
    if not operators:
        return EVERYTHING
    return replace(EVERYTHING, ops=(*operators, *sorted(ledgers.gate.operators)))


def _output_of(given: RunOptions, header: "Header") -> "JsonOutput | PrettyOutput":
    """Return what prints the results on standard output."""
    from opcheck.cli.output import JsonOutput, PrettyOutput

    if given.format == "json":
        return JsonOutput(header)
    return PrettyOutput(
        header,
        quiet=given.pretty.quiet,
        verbose=given.pretty.verbose,
        durations=given.durations,
        next_commands=_next_commands(given),
        # A report there has standard error to itself.
        headed=not any(str(target.path) in _STANDARD_ERROR for target in given.reports),
    )


def _is_of_everything(given: RunOptions) -> bool:
    """Return True if all shipped operators are asked: others are not known to be missing."""
    selection = given.cases.selection
    is_narrow = any((selection.ops, selection.ids, selection.opsets, selection.dtypes))
    is_part = given.cases.paths or selection.keywords or given.shard or given.last_failed
    return not is_narrow and not is_part


def _propose_scopes(records: "Iterable[Record]", addresses: Sequence[str], level: str) -> None:
    """Print the operators that a backend has, for its profile, if it lacks most of those asked."""
    from opcheck.model import Verdict

    tried = {address: scopes.TriedOperators() for address in addresses}
    for record in records:
        if record.backend in tried:
            is_had = record.verdict not in (Verdict.UNSUPPORTED, Verdict.NOT_RUN)
            tried[record.backend].add(record.op, is_had=is_had)
    for address, of_backend in tried.items():
        if of_backend.are_few:
            scopes.propose(address, of_backend, of_backend.names(), is_of_smoke=level == "smoke")


#: What a saved benchmark begins with.
_BENCHMARK = b'{"type":"bench"'
#: The formats of `opcheck report`; CSV is of benchmarks alone.
_FORMATS = {**FORMATS, "csv": "the times of a benchmark, for spreadsheets"}


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of `opcheck report`."""

    path: Path
    format: str
    out: Path | None
    pretty: PrettyOptions


@click.command(name="report", cls=OutputCommand)
@click.argument("path", type=options.PATH, metavar="[RUN]", default=LAST)
@options.format_option(
    *_FORMATS,
    show_default=True,
    help="; ".join(f"{name}: {about}" for name, about in _FORMATS.items()) + ".",
)
@options.out_option
@options.pretty_options
@options.takes(ReportOptions)
def report(given: ReportOptions) -> NoReturn:
    """Show a stored run, as `opcheck run` did or in another format.

    RUN is a file that `opcheck run --report json=RUN` wrote; `-` is standard input; without it the
    last run of this folder is shown, of which opcheck keeps five. Nothing is run or judged again. A
    benchmark that `opcheck bench --save` wrote can be shown, too.

    \b
    opcheck report                             the last run of this folder
    opcheck report run.jsonl                   every failure, and the tables
    opcheck report run.jsonl -q -o run.txt     the tables, in a file
    opcheck report run.jsonl --format html -o run.html    a page to read and to share
    opcheck report run.jsonl --format json | jq -r 'select(.verdict == "fail") | .case'
    ssh there opcheck run --format json | opcheck report -

    Exit codes: those of the run, but 4 for one that is incomplete; also 4 if the output cannot be
    written, 2 if RUN cannot be read.
    """
    from opcheck.analysis import outcome

    has_pretty_options = bool(given.pretty.quiet or given.pretty.verbose)
    if has_pretty_options and given.format != "pretty":
        raise UsageError(f"-q and -v are for --format pretty, not for {given.format}")
    if given.path == LAST:
        given = replace(given, path=kept.last_run("opcheck report"))
    check_files([(f"-o {given.out}", given.out)], [given.path])
    if _is_benchmark(given.path):
        if has_pretty_options:
            raise UsageError(f"-q and -v are for runs; {given.path} is a benchmark")
        console.exit_with(_show_benchmark(given.path, given.format, given.out))
    if given.format not in ("pretty", *FORMATS):
        raise UsageError(f"--format {given.format} is for benchmarks; {given.path} is a run")
    (run,) = read_runs(given.path)
    code, meaning = outcome(run)
    if given.format == "pretty":
        from opcheck.report import summary

        with console.console_to(given.out) as to:
            summary.show(to, run, quiet=given.pretty.quiet, verbose=given.pretty.verbose)
    else:
        console.write_lines(given.out, lines(given.format, run))
        if not run.complete:
            console.note(f"{given.path}: {meaning}")
    console.exit_with(code)


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


def _show_benchmark(path: Path, form: str, out: Path | None) -> Exit:
    """Print a saved benchmark; return the exit code."""
    from opcheck.report import timing_files, timings

    if form not in ("pretty", *BENCH_FORMATS):
        shown = f"as pretty, {' or '.join(BENCH_FORMATS)}"
        raise UsageError(f"{path} is a benchmark, which is shown {shown}, not as {form}")
    stored = timings.read(path)
    if form == "pretty":
        with console.console_to(out) as to:
            timings.show(to, stored.bench, stored.rows, complete=stored.complete)
    else:
        console.write_lines(out, timing_files.lines(form, stored))
    if not stored.complete:
        console.note(f"{path}: the benchmark was cut short")
        return Exit.UNUSABLE
    is_timed = any(timing.samples for row in stored.rows for timing in row.timings)
    return Exit.CONFORMS if is_timed else Exit.NOTHING_JUDGED


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """Options of `opcheck diff`."""

    old_path: Path
    new_path: Path
    common: bool
    names: tuple[str, ...]
    format: str
    out: Path | None
    verbose: bool


@click.command(name="diff", cls=OutputCommand)
@click.argument("old_path", type=options.PATH, metavar="OLD")
@click.argument("new_path", type=options.PATH, metavar="NEW")
@click.option(
    "--common",
    is_flag=True,
    help="Compare only what both runs cover, where NEW covers less than OLD.",
)
@click.option(
    "--as",
    "names",
    metavar="OLD=NEW",
    multiple=True,
    help="Compare this backend of OLD with that of NEW, as 'py:mine=mine'. Repeatable.",
)
@options.format_option("markdown", help="markdown: a page for pull requests.")
@options.out_option
@click.option("-v", "--verbose", is_flag=True, help="Print every change, however many there are.")
@options.takes(DiffOptions)
def diff(given: DiffOptions) -> NoReturn:
    """Show what changed from one stored run to another: a gate that lets old failures pass.

    Results are compared by case and by the address of the backend; one that is a profile in NEW, or
    has other threads there, is found by what it names. A regression is a result that
    became red, is no longer supported or no longer run, or is missing in NEW though the run covers
    it. Other results of an edited case are not compared.

    \b
    opcheck run -b mine --report json=new.jsonl; opcheck diff main.jsonl new.jsonl
    opcheck diff main.jsonl new.jsonl --format markdown -o comment.md
    opcheck diff all.jsonl some.jsonl --common       NEW has fewer cases, on purpose

    Exit codes: 0 no regression, 1 some, 2 a file cannot be read, or OLD and NEW are
    the same file, 4 a run is incomplete, NEW covers less than OLD, or the output cannot be written,
    5 nothing could be compared.
    """
    from opcheck.analysis import compare, diff_status, hours_apart
    from opcheck.report import diff as shown

    old_path = given.old_path
    new_path = given.new_path
    if given.verbose and given.format != "pretty":
        raise UsageError(f"-v is for --format pretty, not for {given.format}")
    check_files([(f"-o {given.out}", given.out)], [old_path, new_path])
    old, new = read_runs(old_path, new_path)
    if STANDARD not in (old_path, new_path) and old_path.samefile(new_path):
        raise UsageError(f"{old_path} and {new_path} are one file: nothing can have changed")
    if hours_apart(old.header, new.header) < 0:
        console.note(f"{new_path} began before {old_path}: are OLD and NEW swapped?")
    old = _with_names_of_new(old, new, given.names)
    difference = compare(old, new)
    if given.format == "pretty":
        with console.console_to(given.out) as to:
            shown.show(to, old, new, difference, common=given.common, verbose=given.verbose)
    else:
        page = shown.markdown_lines(old, new, difference, common=given.common)
        console.write_lines(given.out, page)
    code, _ = diff_status(old, new, difference, common=given.common)
    console.exit_with(code)


def _with_names_of_new(old: "Run", new: "Run", names: Sequence[str]) -> "Run":
    """Return the old run with the addresses that its backends have in NEW, and print which changed.

    `names` are texts OLD=NEW. Raises UsageError for names of no backend, and where two backends of
    OLD would be one. Ends the program if the runs share no backend: everything would be a
    regression.
    """
    from opcheck.analysis import renamed, same_backends

    there = [info.address for info in old.header.backends]
    here = [info.address for info in new.header.backends]
    stated = [_stated_names(text, there, here) for text in names]
    others = {**same_backends(old.header, new.header), **dict(stated)}
    if len(stated) > len(dict(stated)):
        raise UsageError("--as: a backend of OLD is named twice", "name each once")
    taken = Counter(others.get(address, address) for address in there)
    for name, count in taken.items():
        if count > 1:
            # Of their results, only those of one would be compared.
            message = f"--as: {count} backends of OLD are compared with {name!r}"
            raise UsageError(message, "name each once")
    for was, now in others.items():
        console.note(f"{one_line(was)} of OLD is compared with {one_line(now)} of NEW")
    if not {others.get(address, address) for address in there} & {*here}:
        both = f"OLD has {', '.join(there)}, and NEW {', '.join(here)}"
        message = f"nothing could be compared: {one_line(both)} (--as OLD=NEW names two as one)"
        console.print_and_exit(Exit.NOTHING_JUDGED, message)
    return renamed(old, others)


def _stated_names(text: str, there: Sequence[str], here: Sequence[str]) -> tuple[str, str]:
    """Return the names in a text OLD=NEW; raise UsageError if they are of no backend.

    An address may have = itself: the one between the names is that with both known.
    """
    places = [place for place, letter in enumerate(text) if letter == "="]
    pairs = [(text[:place], text[place + 1 :]) for place in places]
    known = [(old, new) for old, new in pairs if old in there and new in here]
    if len(known) == 1:
        return known[0]
    both = f"OLD has {', '.join(there)}, and NEW {', '.join(here)}"
    raise UsageError(f"--as {text!r} is no OLD=NEW of backends of these runs", one_line(both))


def _check_distinct(paths: Sequence[Path]) -> None:
    """Raise UsageError if two paths are one file. All of them exist; `-` is standard input."""
    files = [path for path in paths if path != STANDARD]
    for first, second in combinations(files, 2):
        if first.samefile(second):
            twice = f"{first} is given twice" if first == second else f"{first} is also {second}"
            raise UsageError(f"{twice}: name each run once")


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """Options of `opcheck merge`."""

    paths: tuple[Path, ...]
    out: Path


@click.command(name="merge", cls=OutputCommand)
@click.argument("paths", nargs=-1, required=True, type=options.PATH, metavar="RUN...")
@click.option(
    "-o",
    "--output",
    "out",
    metavar="FILE",
    type=OutputPath(),
    required=True,
    help="File for the joined run; `-` is standard output.",
)
@options.takes(MergeOptions)
def merge(given: MergeOptions) -> NoReturn:
    """Join stored runs of one suite into one: other backends, or other parts of the cases.

    The runs must be of the same selection of cases, judged by the same rules, and no result may be
    in two of them. If a shard is missing or a run was cut short, the joined run is incomplete, and
    missing results are reported.

    \b
    opcheck merge cpu.jsonl gpu.jsonl -o all.jsonl
    opcheck merge shard-*.jsonl -o all.jsonl && opcheck report all.jsonl

    Exit codes: 0 the joined run is complete, whatever its verdicts; 2 a file cannot be read, or the
    runs cannot be joined; 4 the joined run is incomplete, or cannot be written.
    """
    from opcheck import analysis
    from opcheck.report import store

    check_files([(f"-o {given.out}", given.out)], given.paths)
    runs = read_runs(*given.paths)
    _check_distinct(given.paths)
    parts = [(str(path), run) for path, run in zip(given.paths, runs, strict=True)]
    whole, missing = analysis.merge(parts)
    console.write_lines(given.out, store.lines(whole))
    header = whole.header
    for message in (*missing, *analysis.several_builds(header)):
        console.note(one_line(message))
    counts = ", ".join(
        (
            plural(len(whole.records), "result"),
            plural(header.cases, "case"),
            plural(len(header.backends), "backend"),
        )
    )
    is_stdout_used = given.out == STANDARD
    if whole.complete:
        console.print_and_exit(Exit.CONFORMS, f"joined: {counts}", err=is_stdout_used)
    console.print_and_exit(Exit.UNUSABLE, f"incomplete: {counts}", err=is_stdout_used)
