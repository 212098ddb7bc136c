"""`opcheck run`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opcheck.cli import interrupt
from opcheck.cli import ledgers as user_ledgers
from opcheck.cli import options as common
from opcheck.cli import reports as report_files
from opcheck.cli.outputs import Command, Output
from opcheck.cli.portion import Portion, portion_options
from opcheck.errors import Exit, UsageError

if TYPE_CHECKING:
    from opcheck.run.conduct import Asked


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what an earlier run saved."""
    from opcheck.run.saving import earlier_cases

    with suppress(UsageError):
        return folder.is_dir() and bool(earlier_cases(folder))
    return False


@click.command(name="run", cls=Command)
@common.selection_options
@common.dim_option
@portion_options
@common.worker_options
@click.option(
    "--repeat",
    "times",
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
    "reproducible",
    is_flag=True,
    help="Right answers that differ between runs are a failure.",
)
@click.option("--no-known", is_flag=True, help="Judge the known defects of public backends too.")
@user_ledgers.known_options
@click.option(
    "--save-outputs",
    "saved",
    type=Output(_is_replaced),
    metavar="DIR",
    help="Keep models, inputs and the backend's outputs, for -b saved:DIR.",
)
@report_files.report_option
@report_files.resume_option
@report_files.resume_within_option
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure.")
@click.option("--max-fail", type=click.IntRange(min=1), metavar="N", help="Stop after N failures.")
@common.pretty_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["pretty", "json"]),
    default="pretty",
    help="json: what --report json= writes, on standard output.",
)
def command(
    addresses: tuple[str, ...],
    jobs: int,
    timeout: float | None,
    memory_limit: str | None,
    expected: int | None,
    failed_in: Path | None,
    shard: tuple[int, int] | None,
    shard_by: Path | None,
    times: int,
    strict: bool,
    require_supported: bool,
    reproducible: bool,
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
    quiet: bool,
    verbose: int,
    slowest: int | None,
    form: str,
    **selection: Any,
) -> None:
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
    from opcheck.backends.isolation.guard import guarded_folder
    from opcheck.cli.output import JsonOutput, PrettyOutput
    from opcheck.cli.workers import check_company, chosen_backends, connect, consulted, started
    from opcheck.known import shipped_ledgers
    from opcheck.model import Ending, Header, Record, Run
    from opcheck.records.merging import Kept
    from opcheck.records.status import is_failure, status
    from opcheck.report.spelling import Recorder
    from opcheck.run import Conductor, environment
    from opcheck.suite import load_all

    portion = Portion(expected, failed_in, shard, shard_by)
    going_on = None if resumed is None else report_files.resumed_target(resumed)
    paths = selection.pop("paths")
    read_from = [*paths, *portion.files]
    written = [*targets, *([going_on] if going_on else [])]
    report_files.check_targets(written, [*read_from, *ledgers], stdout_is_stream=form == "json")
    if slowest and form != "pretty":
        raise UsageError(f"--durations is for --format pretty, not for {form}")
    _ = portion.runs  # whatever is wrong with them is told before anything starts
    earlier = report_files.earlier_run(resumed)
    with (
        guarded_folder() as folder,
        started(chosen_backends(addresses, folder, timeout, memory_limit), jobs) as pools,
        ExitStack() as stack,
    ):
        # They start while the ledgers and the cases are read.
        mine = user_ledgers.opened(
            ledgers,
            updated,
            [*read_from, *(target.path for target in written)],
            prune=prune,
            even_in_ci=even_in_ci,
            cut_short=bool(exitfirst or max_fail),
        )
        everything = load_all(paths, selection.pop("dims"))
        suite, said = common.chosen_of(everything, **selection)
        portion.check(suite, said)
        check_company(suite, len(pools))
        oracles = stack.enter_context(
            consulted(suite, addresses, folder, timeout, memory_limit, jobs)
        )
        connect(pools)
        checked = mine.check([pool.info for pool in pools], everything)
        suite, said = portion.failed(suite, said, {pool.info.address for pool in pools})
        cases = portion.share(suite)
        backends: Sequence[Asked] = pools
        if saved:
            from opcheck.run.saving import recording

            backends = recording(pools, saved)
        shipped = () if no_known else shipped_ledgers()
        recorder = Recorder(suite, [backend.info.address for backend in backends])
        # Those that can change a verdict.
        options = {
            "timeout": f"{timeout:g} s" if timeout else None,
            "memory-limit": memory_limit,
            "repeat": str(times) if times > 1 else None,
            "require-reproducible": "yes" if reproducible else None,
        }
        header = Header(
            environment(),
            tuple(backend.info for backend in backends),
            suite=recorder.suite,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            cases=len(cases),
            shard=portion.shard,
            selection=said,
            level=selection["level"],
            paths=tuple(map(str, paths)),
            known=not no_known,
            ledgers=mine.gate.digests,
            strict=strict,
            require_supported=require_supported,
            named=bool(addresses),
            options={name: value for name, value in options.items() if value},
            oracles=tuple({pool.info.address: pool.info for pool in oracles.values()}.values()),
        )
        kept = Kept(header)
        if resumed and earlier:
            kept = report_files.kept_results(resumed, earlier, header, recorder, suite, hours)
            header = kept.header
        reports = report_files.Reports(targets, going_on)
        reports.begin(header, kept.records.values())
        output = (
            JsonOutput(header)
            if form == "json"
            else PrettyOutput(header, quiet=quiet, verbose=verbose, slowest=slowest)
        )
        most = 1 if exitfirst else max_fail
        records: list[Record] = []
        failures = 0
        stopped = False
        began = time.monotonic()
        stream = Conductor(
            cases,
            backends,
            kept.records,
            shipped,
            output.is_shown,
            oracles,
            mine.gate,
            times=times,
            reproducible=reproducible,
        )
        try:
            with output.bar:
                for result in stream:
                    is_kept = isinstance(result, Record)
                    record = result if isinstance(result, Record) else recorder.record(result)
                    # The footer counts what was written, no more and no less.
                    with interrupt.shielded():
                        records.append(record)
                        output.take(record)
                        reports.take(record, is_kept=is_kept)
                    output.show(record)
                    failures += not is_kept and is_failure(record, output.red)
                    stopped = interrupt.asked()
                    if stopped or (most is not None and failures >= most):
                        break
        except KeyboardInterrupt:
            stopped = True
        # What else was kept stands in the file already, behind what is still to come.
        for record in kept.behind(records):
            records.append(record)
            output.take(record)
            reports.take(record, is_kept=True)
        settled = stream.settled(records)
        revised = [one for one, before in zip(settled, records, strict=True) if one is not before]
        everybody = {
            **{pool.info.address: pool for pool in pools},
            **{f"oracle {address}": pool for address, pool in oracles.items()},
        }
        for pool in everybody.values():
            pool.close()
        complete = len(records) == header.results
        accidents = kept.ending.accidents + tuple(
            f"{name}: {said}{f' (×{count})' if count > 1 else ''}"
            for name, pool in everybody.items()
            for said, count in pool.accidents.items()
        )
        partings = kept.ending.partings + tuple(
            f"{name}: when its process was to leave, it {how}"
            for name, pool in everybody.items()
            for how in pool.partings
        )
        code, meaning = status(
            header,
            records,
            interrupted=stopped and not complete,
            accidents=accidents,
            partings=partings,
        )
        seconds = round(kept.ending.seconds + time.monotonic() - began, 3)
        ending = Ending(complete, int(code), meaning, seconds, accidents, partings)
        run = Run(header, tuple(settled), ending)
        # Whatever may fail comes before the exit code is printed.
        ending = reports.finish(run, checked.update(run), revised)
        output.finish(settled, ending, revised)
        reports.show(run)
    common.leave(Exit(ending.exit_code))
