"""`opcheck run`."""

import gc
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import click

from opcheck import interrupt
from opcheck.cli import options
from opcheck.cli.reports import ReportFile, check_targets
from opcheck.errors import Exit, UsageError
from opcheck.grouping import picked
from opcheck.report import FORMATS


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
def command(**values: Any) -> NoReturn:
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
    with Session(given.addresses, **picked(given, "jobs timeout memory_limit cluster")) as session:
        # Backends start while the ledgers and the cases are read. A ledger of the user's own is
        # checked against all there is.
        about = EVERYTHING if mine.gate.ledgers or mine.updated else selection
        interrupt.safe_place()
        everything = load_all(given.paths, given.dims, about, given.inputs)
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
