"""`opcheck run`."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from opcheck.cli import interrupt, run_options
from opcheck.cli import options as common
from opcheck.cli import reports as report_files
from opcheck.cli.options import OutputCommand, OutputPath, flag, number
from opcheck.cli.run_options import Subset, subset_options
from opcheck.errors import Exit, UsageError

if TYPE_CHECKING:
    from opcheck.cli.output import JsonOutput, PrettyOutput
    from opcheck.cli.run_options import Ledgers
    from opcheck.model import Case, Record
    from opcheck.session import LiveRun, Request, Session
    from opcheck.suite import Selection


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what an earlier run saved."""
    from opcheck.execution.saving import earlier_cases

    with suppress(UsageError):
        return folder.is_dir() and bool(earlier_cases(folder))
    return False


@click.command(name="run", cls=OutputCommand)
@common.selection_options
@common.dim_option
@subset_options
@common.worker_options
@number(
    "--repeat",
    default=1,
    help="Ask each case N times, anew each time; one failure, or two answers, and it fails.",
)
@flag("--strict", help="A warning is a failure.")
@flag("--require-supported", help="What is unsupported, also by opcheck, fails.")
@flag("--require-reproducible", help="Right answers that differ between runs are a failure.")
@flag("--no-known", help="Judge the known defects of public backends too.")
@run_options.known_options
@click.option(
    "--save-outputs",
    "saved",
    type=OutputPath(_is_replaced),
    metavar="DIR",
    help="Keep models, inputs and the backend's outputs, for -b saved:DIR.",
)
@report_files.report_options
@flag("-x", "--exitfirst", help="Stop at the first failure.")
@number("--max-fail", help="Stop after N failures.")
@common.pretty_options
@common.format_option("json", help="json: what --report json= writes, on standard output.")
def command(**given: Any) -> None:
    """Judge backends by case files: every case on every backend.

    PATH is a case file, a folder of them or of ONNX's test data, a model, or onnx-node[/PATTERN],
    the node tests of the onnx package; the shipped suites if there is none. ADDRESS is
    kind[:detail][?option=value], see `opcheck backends`; without -b: numpy (the built-in engine),
    onnxruntime and reference (onnx.reference). Each backend works in processes of its own: if one
    crashes, hangs or takes too much memory, that is its verdict, and the run goes on.

    \b
    opcheck run                                   the shipped suites on the default backends
    opcheck run --op Hardmax -b numpy             one operator, one backend
    opcheck run my.yaml -k 'ties and not nan' -x  some of my cases, until one fails
    opcheck run -b py:my_backend:Backend -j 4     a class of mine, in four processes
    opcheck run -b 'cmd:./run {model} {inputs} {outputs}'   a program of mine
    opcheck run gemm.yaml -b mine -b reference    an operator that has no engine here
    opcheck run vendor/tests -b onnxruntime       tests in ONNX's layout: model.onnx, input_0.pb …
    opcheck run 'onnx-node/softmax*' -b reference     some of onnx's node tests
    opcheck run model.onnx --dim batch=4 -b A -b B    A and B compared on inputs made up
    opcheck run --report json=run.jsonl           kept, for `opcheck report run.jsonl`
    opcheck run --resume run.jsonl                the rest of it, where it was cut short
    opcheck run --last-failed run.jsonl           what failed in it
    opcheck run --shard 2/5                       the second of five shares, about equally long
    opcheck run -b mine --update-known mine.yaml  what fails now, written down
    opcheck run -b mine --known mine.yaml         a gate: just that fails, and just in that way

    Ctrl-C ends the run after the case at hand; a second one ends it at once.

    Exit codes: 0 conforms, 1 something failed, 2 wrong usage or case file, 4 a backend or the
    output could not be used, 5 nothing was judged, 130 interrupted.
    """
    from opcheck.suite import Selection

    subset, selection = common.taken(Subset, given), common.taken(Selection, given)
    judge(Arguments(subset=subset, selection=selection, **given))


@dataclass(frozen=True)
class Arguments:
    """The command line, a field for each option; `subset` and `selection` hold several."""

    subset: Subset
    selection: Selection
    paths: tuple[Path, ...]
    dims: Mapping[str, int]
    addresses: tuple[str, ...]
    jobs: int
    timeout: float | None
    memory_limit: str | None
    repeat: int
    strict: bool
    require_supported: bool
    require_reproducible: bool
    no_known: bool
    ledgers: tuple[Path, ...]
    updated: Path | None
    prune: bool
    even_in_ci: bool
    saved: Path | None
    targets: list[report_files.Target]
    resumed: Path | None
    hours: float
    exitfirst: bool
    max_fail: int | None
    quiet: bool
    verbose: int
    slowest: int | None
    form: str


def judge(given: Arguments) -> NoReturn:
    """Judge the cases, print and write what comes, and end the program."""
    from opcheck.session import Session
    from opcheck.suite import load_all
    from opcheck.suite.select import EVERYTHING

    # All errors of files come before anything starts.
    as_json = given.form == "json"
    resumed = report_files.resumed_target(given.resumed) if given.resumed else None
    written = [*given.targets, *filter(None, [resumed])]
    read_from = [*given.paths, *given.subset.files]
    report_files.check_targets(written, [*read_from, *given.ledgers], stdout_is_stream=as_json)
    if given.slowest and as_json:
        raise UsageError("--durations is for --format pretty, not for json")
    _ = given.subset.runs  # read now, which may fail
    earlier = report_files.earlier_run(given.resumed)
    most_failures = 1 if given.exitfirst else given.max_fail
    with Session(
        given.addresses,
        jobs=given.jobs,
        timeout=given.timeout,
        memory_limit=given.memory_limit,
        meanwhile=interrupt.safe_place,
    ) as session:
        # Backends start while the ledgers and the cases are read.
        mine = run_options.opened(
            given.ledgers,
            given.updated,
            [*read_from, *(target.path for target in written)],
            prune=given.prune,
            even_in_ci=given.even_in_ci,
            cut_short=most_failures is not None,
        )
        # A ledger of the user's own is checked against all there is.
        about = EVERYTHING if mine.gate.ledgers or mine.updated else given.selection
        interrupt.safe_place()
        everything = load_all(given.paths, given.dims, about)
        gc.freeze()  # Cases stay to the end: the collector need not look through them.
        request = _request(given, session, everything, mine)
        checked = mine.check(session.infos, everything)
        run = session.begin(request)
        if given.saved:
            from opcheck.execution.saving import recording

            run.backends = recording(run.backends, given.saved)
        if given.resumed and earlier:
            run.kept = report_files.kept_results(
                given.resumed, earlier, run.kept.header, run.recorder, request.cases, given.hours
            )
        reports = report_files.Reports(given.targets, resumed)
        reports.begin(run.header, run.kept.records)
        from opcheck.cli.output import JsonOutput, PrettyOutput

        pretty = {"quiet": given.quiet, "verbose": given.verbose, "slowest": given.slowest}
        output = JsonOutput(run.header) if as_json else PrettyOutput(run.header, **pretty)
        records, stopped = _collected(run, output, reports, most_failures)
        whole, revised = run.end(records, stopped=stopped)
        # Whatever may fail comes before the exit code is printed.
        ending = reports.finish(whole, mine.update(whole, *checked), revised)
        output.finish(whole.records, ending, revised)
        reports.show(whole)
    common.leave(Exit(ending.exit_code))


def _request(given: Arguments, session: Session, cases: tuple[Case, ...], mine: Ledgers) -> Request:
    """Build the request of a run; connects the session to find the cases that failed before."""
    from opcheck.session import Request
    from opcheck.suite import choose

    subset = given.subset
    suite = choose(cases, given.selection)
    said = str(given.selection)
    interrupt.safe_place()
    subset.check(suite, said)
    session.connect(suite)
    suite, said = subset.failed(suite, said, {info.address for info in session.infos})
    return Request(
        cases=suite,
        share=subset.share(suite),
        shard=subset.shard,
        selection=said,
        level=given.selection.level,
        paths=tuple(map(str, given.paths)),
        repeat=given.repeat,
        strict=given.strict,
        require_supported=given.require_supported,
        require_reproducible=given.require_reproducible,
        shipped_ledgers=not given.no_known,
        gate=mine.gate,
    )


def _collected(
    run: LiveRun, output: JsonOutput | PrettyOutput, reports: report_files.Reports, most: int | None
) -> tuple[list[Record], bool]:
    """Print and write the results up to so many failures; returns them, and if the user stopped."""
    from opcheck.analysis.status import is_failure

    records: list[Record] = []

    def take(record: Record, *, is_kept: bool) -> None:
        records.append(record)
        output.take(record)
        reports.take(record, is_kept=is_kept)

    failures, stopped = 0, False
    try:
        # Before the bar, whose thread processes that judge must not inherit.
        results = run.results(output.is_shown)
        with output.bar:
            for record in results:
                is_kept = run.is_kept(record)
                # The footer counts what was written, no more and no less.
                with interrupt.shielded():
                    take(record, is_kept=is_kept)
                output.show(record)
                # Failures take longer: the bar says why.
                what = "judging, looking for causes" if output.is_shown(record) else "judging"
                output.bar.update(output.task, advance=1, description=what)
                failures += not is_kept and is_failure(record, output.red)
                stopped = interrupt.asked()
                if stopped or (most is not None and failures >= most):
                    break
    except KeyboardInterrupt:
        stopped = True
    # Other kept results are in the file already, after those that were missing.
    there = {(record.case, record.backend) for record in records}
    for pair, record in run.kept.by_pair.items():
        if pair not in there:
            take(record, is_kept=True)
    return records, stopped
