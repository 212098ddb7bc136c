"""`opcheck run`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opcheck.cli import interrupt
from opcheck.cli import ledgers as user_ledgers
from opcheck.cli.options import chosen_of, leave, selection_options, worker_options
from opcheck.cli.reports import Reports, Target, check_targets, report_option

if TYPE_CHECKING:
    from opcheck.model import BackendInfo, Header, Record, Suite


@click.command(name="run")
@selection_options
@worker_options
@click.option("--strict", is_flag=True, help="A warning is a failure.")
@click.option("--require-supported", is_flag=True, help="What is unsupported is a failure.")
@click.option("--no-known", is_flag=True, help="Judge the known defects of public backends too.")
@user_ledgers.known_options
@click.option(
    "--save-outputs",
    "saved",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep models, inputs and the backend's outputs, for -b saved:DIR.",
)
@report_option
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure.")
@click.option("--max-fail", type=click.IntRange(min=1), metavar="N", help="Stop after N failures.")
@click.option("-q", "--quiet", is_flag=True, help="No table for each failure, only the summary.")
@click.option("-v", "--verbose", is_flag=True, help="Warnings and known failures in full too.")
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
    strict: bool,
    require_supported: bool,
    no_known: bool,
    ledgers: tuple[Path, ...],
    updated: Path | None,
    prune: bool,
    even_in_ci: bool,
    saved: Path | None,
    targets: list[Target],
    exitfirst: bool,
    max_fail: int | None,
    quiet: bool,
    verbose: bool,
    form: str,
    **selection: Any,
) -> None:
    """Judge backends by case files: every case on every backend.

    PATH is a case file or a folder of them; the shipped suites if there is none. ADDRESS is
    kind[:detail][?option=value], see `opcheck backends`; without -b: numpy (the built-in engine),
    onnxruntime and reference (onnx.reference). Each backend works in processes of its own: if one
    crashes, hangs or takes too much memory, that is its verdict, and the run goes on.

    \b
    opcheck run                                   the shipped suites on the default backends
    opcheck run --op Hardmax -b numpy             one operator, one backend
    opcheck run my.yaml -k 'ties and not nan' -x  some of my cases, until one fails
    opcheck run -b py:my_backend:Backend -j 4     a class of mine, in four processes
    opcheck run -b 'cmd:./run {model} {inputs} {outputs}'   a program of mine
    opcheck run --report json=run.jsonl           kept, for `opcheck report run.jsonl`
    opcheck run -b mine --update-known mine.yaml  what fails now, written down
    opcheck run -b mine --known mine.yaml         a gate: just that fails, and just in that way

    Ctrl-C ends the run after the case at hand; a second one ends it at once.

    Exit codes: 0 conforms, 1 something failed, 2 wrong usage or case file, 4 a backend or the
    output could not be used, 5 nothing was judged, 130 interrupted.
    """
    from opcheck.cli.output import JsonOutput, PrettyOutput
    from opcheck.cli.workers import chosen_backends, connect, scratch, started
    from opcheck.known import shipped_ledgers
    from opcheck.model import Ending, Run
    from opcheck.records.status import is_failure, status
    from opcheck.report.recording import Recorder
    from opcheck.run import conduct
    from opcheck.run.saving import recording
    from opcheck.suite import load

    read = (*selection["paths"], *ledgers)
    check_targets(targets, read, stdout_is_stream=form == "json")
    with (
        scratch() as folder,
        started(chosen_backends(addresses, folder, timeout, memory_limit), jobs) as pools,
    ):
        # They start while the ledgers and the cases are read.
        mine = user_ledgers.opened(
            ledgers,
            updated,
            [*selection["paths"], *(target.path for target in targets)],
            prune=prune,
            even_in_ci=even_in_ci,
            cut_short=bool(exitfirst or max_fail),
        )
        everything = load(selection["paths"])
        cases, said = chosen_of(everything, **selection)
        connect(pools)
        checked = mine.check([pool.info for pool in pools], everything)
        backends = recording(pools, saved) if saved else pools
        shipped = () if no_known else shipped_ledgers()
        recorder = Recorder(cases)
        header = _header(
            [backend.info for backend in backends],
            recorder.suite,
            selection=said,
            level=selection["level"],
            paths=tuple(map(str, selection["paths"])),
            known=not no_known,
            ledgers=mine.gate.digests,
            strict=strict,
            require_supported=require_supported,
            named=bool(addresses),
            options=_options(timeout=timeout, memory_limit=memory_limit),
        )
        reports = Reports(targets)
        reports.begin(header)
        output = (
            JsonOutput(header)
            if form == "json"
            else PrettyOutput(header, quiet=quiet, verbose=verbose)
        )
        most = 1 if exitfirst else max_fail
        records: list[Record] = []
        failures = 0
        stopped = False
        began = time.monotonic()
        try:
            with output:
                for result in conduct(cases, backends, shipped, output.is_shown, mine.gate):
                    record = recorder.record(result)
                    # The footer counts what was written, no more and no less.
                    with interrupt.shielded():
                        records.append(record)
                        output.take(record)
                        reports.take(record)
                    output.show(record)
                    failures += is_failure(result, output.red)
                    stopped = interrupt.asked()
                    if stopped or (most is not None and failures >= most):
                        break
        except KeyboardInterrupt:
            stopped = True
        for pool in pools:
            pool.close()
        complete = len(records) == header.results
        accidents = tuple(
            f"{pool.info.address}: {said}{f' (×{count})' if count > 1 else ''}"
            for pool in pools
            for said, count in pool.accidents.items()
        )
        partings = tuple(
            f"{pool.info.address}: when its process was to leave, it {how}"
            for pool in pools
            for how in pool.partings
        )
        code, meaning = status(
            header,
            records,
            interrupted=stopped and not complete,
            accidents=accidents,
            partings=partings,
        )
        seconds = round(time.monotonic() - began, 3)
        ending = Ending(complete, int(code), meaning, seconds, accidents, partings)
        run = Run(header, tuple(records), ending)
        reports.finish(run)
        code, meaning = reports.judged(code, meaning)
        output.finish(records, replace(ending, exit_code=int(code), meaning=meaning))
        reports.show(run)
        checked.update(run)
    leave(code)


def _header(backends: Sequence[BackendInfo], suite: Suite, **asked: Any) -> Header:
    """What the run is, as of now."""
    from opcheck.model import Header
    from opcheck.run import environment

    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Header(
        environment(), tuple(backends), cases=suite.cases, suite=suite, started=now, **asked
    )


def _options(*, timeout: float | None, memory_limit: str | None) -> dict[str, str]:
    """What was said on the command line by which a verdict may differ."""
    said = {"timeout": timeout and f"{timeout:g} s", "memory-limit": memory_limit}
    return {name: value for name, value in said.items() if value}
