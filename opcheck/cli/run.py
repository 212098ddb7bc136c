"""`opcheck run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from opcheck.cli import interrupt, run_options
from opcheck.cli import options as common
from opcheck.cli import reports as report_files
from opcheck.cli.options import OutputCommand, OutputPath
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
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Ask each case N times, anew each time; one failure, or two answers, and it fails.",
)
@click.option("--strict", is_flag=True, help="A warning is a failure.")
@click.option(
    "--require-supported", is_flag=True, help="What is unsupported, also by opcheck, fails."
)
@click.option(
    "--require-reproducible",
    is_flag=True,
    help="Right answers that differ between runs are a failure.",
)
@click.option("--no-known", is_flag=True, help="Judge the known defects of public backends too.")
@run_options.known_options
@click.option(
    "--save-outputs",
    "saved",
    type=OutputPath(_is_replaced),
    metavar="DIR",
    help="Keep models, inputs and the backend's outputs, for -b saved:DIR.",
)
@report_files.report_options
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure.")
@click.option("--max-fail", type=click.IntRange(min=1), metavar="N", help="Stop after N failures.")
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
    """The command line, field by option; `subset` and `selection` are of several."""

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

    @property
    def read_from(self) -> list[Path]:
        """The files that are read."""
        return [*self.paths, *self.subset.files]

    @cached_property
    def written(self) -> list[report_files.Target]:
        """The files that the run is written to; raises UsageError for one that cannot be."""
        again = [] if self.resumed is None else [report_files.resumed_target(self.resumed)]
        return [*self.targets, *again]

    @property
    def most(self) -> int | None:
        """After how many failures the run stops."""
        return 1 if self.exitfirst else self.max_fail

    def check(self) -> None:
        """Raise what is wrong with the command line and the stored runs that it names."""
        on_stdout = self.form == "json"
        report_files.check_targets(
            self.written, [*self.read_from, *self.ledgers], stdout_is_stream=on_stdout
        )
        if self.slowest and self.form != "pretty":
            raise UsageError(f"--durations is for --format pretty, not for {self.form}")
        _ = self.subset.runs


def judge(given: Arguments) -> NoReturn:
    """Judge the cases, print and write what comes, and end the program."""
    from opcheck.session import Session
    from opcheck.suite import load_all

    # Whatever is wrong with files is reported before anything starts.
    given.check()
    earlier = report_files.earlier_run(given.resumed)
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
            [*given.read_from, *(target.path for target in given.written)],
            prune=given.prune,
            even_in_ci=given.even_in_ci,
            cut_short=bool(given.most),
        )
        everything = load_all(given.paths, given.dims)
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
        resumed = given.written[-1] if given.resumed else None
        reports = report_files.Reports(given.targets, resumed)
        reports.begin(run.header, run.kept.records)
        from opcheck.cli.output import JsonOutput, PrettyOutput

        as_json = given.form == "json"
        pretty = {"quiet": given.quiet, "verbose": given.verbose, "slowest": given.slowest}
        output = JsonOutput(run.header) if as_json else PrettyOutput(run.header, **pretty)
        records, stopped = _collected(run, output, reports, given.most)
        whole, revised = run.end(records, stopped=stopped)
        # Whatever may fail comes before the exit code is printed.
        ending = reports.finish(whole, mine.update(whole, *checked), revised)
        output.finish(whole.records, ending, revised)
        reports.show(whole)
    common.leave(Exit(ending.exit_code))


def _request(
    given: Arguments, session: Session, everything: tuple[Case, ...], mine: Ledgers
) -> Request:
    """Build the request of a run; connects the session to find the cases that failed before."""
    from opcheck.session import Request
    from opcheck.suite import choose

    subset = given.subset
    suite = choose(everything, given.selection)
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
        with output.bar:
            for record in run.results(output.is_shown):
                is_kept = run.is_kept(record)
                # The footer counts what was written, no more and no less.
                with interrupt.shielded():
                    take(record, is_kept=is_kept)
                output.show(record)
                # Why it is slow where results fail.
                what = "judging, looking for causes" if output.is_shown(record) else "judging"
                output.bar.update(output.task, advance=1, description=what)
                failures += not is_kept and is_failure(record, output.red)
                stopped = interrupt.asked()
                if stopped or (most is not None and failures >= most):
                    break
    except KeyboardInterrupt:
        stopped = True
    # What else was kept stands in the file already, behind what is still to come.
    there = {(record.case, record.backend) for record in records}
    for pair, record in run.kept.by_pair.items():
        if pair not in there:
            take(record, is_kept=True)
    return records, stopped
