"""`opcheck run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
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
    from opcheck.model import Record
    from opcheck.session import LiveRun


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
def command(
    paths: tuple[Path, ...],
    dims: Mapping[str, int],
    addresses: tuple[str, ...],
    jobs: int,
    timeout: float | None,
    memory_limit: str | None,
    repeat: int,
    strict: bool,
    require_supported: bool,
    require_reproducible: bool,
    no_known: bool,
    ledgers: tuple[Path, ...],
    updated: Path | None,
    prune: bool,
    even_in_ci: bool,
    saved: Path | None,
    targets: list[report_files.Target],
    resumed: Path | None,
    hours: float,
    exitfirst: bool,
    max_fail: int | None,
    form: str,
    slowest: int | None,
    **given: Any,
) -> NoReturn:
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
    from opcheck.session import Request, Session
    from opcheck.suite import Selection, choose, load_all

    subset, selection = common.taken(Subset, given), common.taken(Selection, given)
    most = 1 if exitfirst else max_fail
    read_from = [*paths, *subset.files]
    resumed_file = None if resumed is None else report_files.resumed_target(resumed)
    written = [*targets, *filter(None, [resumed_file])]
    # Whatever is wrong with files is reported before anything starts.
    report_files.check_targets(written, [*read_from, *ledgers], stdout_is_stream=form == "json")
    if slowest and form != "pretty":
        raise UsageError(f"--durations is for --format pretty, not for {form}")
    _ = subset.runs
    earlier = report_files.earlier_run(resumed)
    with Session(
        addresses,
        jobs=jobs,
        timeout=timeout,
        memory_limit=memory_limit,
        meanwhile=interrupt.safe_place,
    ) as session:
        # Backends start while the ledgers and the cases are read.
        mine = run_options.opened(
            ledgers,
            updated,
            [*read_from, *(target.path for target in written)],
            prune=prune,
            even_in_ci=even_in_ci,
            cut_short=bool(most),
        )
        everything = load_all(paths, dims)
        suite, said = choose(everything, selection), str(selection)
        interrupt.safe_place()
        subset.check(suite, said)
        # Only a connected session knows which cases failed on its backends before.
        session.connect(suite)
        suite, said = subset.failed(suite, said, {info.address for info in session.infos})
        request = Request(
            cases=suite,
            share=subset.share(suite),
            shard=subset.shard,
            selection=said,
            level=selection.level,
            paths=tuple(map(str, paths)),
            repeat=repeat,
            strict=strict,
            require_supported=require_supported,
            require_reproducible=require_reproducible,
            shipped_ledgers=not no_known,
            gate=mine.gate,
        )
        checked = mine.check(session.infos, everything)
        run = session.begin(request)
        if saved:
            from opcheck.execution.saving import recording

            run.backends = recording(run.backends, saved)
        if resumed and earlier:
            run.kept = report_files.kept_results(
                resumed, earlier, run.kept.header, run.recorder, suite, hours
            )
        reports = report_files.Reports(targets, resumed_file)
        reports.begin(run.header, run.kept.records)
        from opcheck.cli.output import JsonOutput, PrettyOutput

        pretty = {"slowest": slowest, **given}
        output = JsonOutput(run.header) if form == "json" else PrettyOutput(run.header, **pretty)
        records, stopped = _collected(run, output, reports, most)
        whole, revised = run.end(records, stopped=stopped)
        # Whatever may fail comes before the exit code is printed.
        ending = reports.finish(whole, mine.update(whole, *checked), revised)
        output.finish(whole.records, ending, revised)
        reports.show(whole)
    common.leave(Exit(ending.exit_code))


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
