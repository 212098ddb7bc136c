"""`opcheck run`, with the user's ledgers, and the subset of the cases that it takes."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from opcheck import interrupt
from opcheck.cli import options
from opcheck.cli import reports as report_files
from opcheck.errors import Exit, Unwritable, UsageError, few
from opcheck.grouping import picked
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.cli.output import JsonOutput, PrettyOutput
    from opcheck.execution.ledger_update import LedgerUpdate
    from opcheck.known import Facts, Gate, UserLedger
    from opcheck.model import BackendInfo, Case, Record, Run
    from opcheck.session import LiveRun

#: The most files and cases that a message names.
_NAMED = 3


@dataclass(frozen=True)
class Ledgers:
    """The user's ledgers, as the command line names them, and the one to be written."""

    ledgers: tuple[Path, ...]
    updated: Path | None
    prune: bool

    def __post_init__(self) -> None:
        if self.prune and self.updated is None:
            raise UsageError("--prune-known goes with --update-known FILE")

    @cached_property
    def gate(self) -> Gate:
        """The ledgers, read when they are first asked for. Raises CaseFileError."""
        from opcheck.known import Gate, load_user_ledgers

        there = [path for path in [self.updated] if path and path.exists()]
        return Gate(load_user_ledgers([*self.ledgers, *there]))

    @property
    def target(self) -> UserLedger | None:
        """The ledger to be written, if there is one already."""
        if self.updated is None:
            return None
        real = self.updated.resolve()
        return next((one for one in self.gate.ledgers if one.path.resolve() == real), None)

    def check(
        self, backends: Sequence[BackendInfo], cases: Sequence[Case]
    ) -> tuple[Facts, BackendInfo | None]:
        """Return facts on all cases that were read, and the backend of the ledger to be written.

        Raises CaseFileError with all vain entries, UsageError without a single such backend.
        """
        from opcheck.execution.workers import facts_of
        from opcheck.known import check

        facts = facts_of(backends, cases)
        check(self.gate, facts, self.target if self.prune else None)
        if self.updated is None:
            return facts, None
        target = self.target
        mine = [one for one in backends if target is None or target.is_about(one)]
        if len(mine) != 1:
            there = ", ".join(one.address for one in mine) or "none of the run"
            message = f"a ledger is about one backend, this about {there}"
            raise UsageError(f"--update-known {self.updated}: {message}", "name it with -b")
        return facts, mine[0]

    def update(self, run: Run, facts: Facts, backend: BackendInfo | None) -> list[str]:
        """Write the ledger after a run, and print the changes; return why it cannot be written."""
        path, target, prune = self.updated, self.target, self.prune
        if backend is None or path is None:
            return []
        from opcheck.analysis import is_red, reds_of
        from opcheck.execution.ledger_update import UNDECIDED, update_ledger
        from opcheck.known.writing import new_ledger, revised
        from opcheck.reading import Problems, read_text
        from opcheck.report.files import write_text

        add = os.environ.get("CI", "").lower() in ("", "0", "false")
        red = reds_of(run.header)
        mine = [record for record in run.records if record.backend == backend.address]
        if not run.complete or any(one.verdict in UNDECIDED for one in mine):
            _tell(f"{path}: not updated, because not every case was judged")
            return []
        lines = target.fields.known if target else ()
        listed = {op for line in lines for place in line.where or () for op in place.ops}
        every = facts.all_cases({*listed, *(record.op.name for record in mine)})
        failing = {record.case for record in mine if is_red(record, red)}
        found = update_ledger(target, mine, every, failing, backend.version, add=add, prune=prune)
        if found.revision:
            if target and not target.is_unchanged():
                _tell(f"{path}: not updated, because somebody else changed it meanwhile")
                return []
            text = "\n".join(target.lines) if target else new_ledger(backend.address)
            node = read_text(text, str(path), Problems())
            assert node
            text = revised(text, node, str(path), found.revision)
            if target and b"\r\n" in path.read_bytes():
                text = text.replace("\n", "\r\n")
            try:
                write_text(path, text)
            except Unwritable as error:
                return [error.message]
        for line in _told(found, is_ci=not add):
            _tell(f"{path}: {line}")
        return []


def _tell(line: str) -> None:
    click.echo(f"opcheck: {line}", err=True)


def _told(found: LedgerUpdate, *, is_ci: bool) -> list[str]:
    counts: Mapping[str, int] = {
        "listed": found.added,
        "no longer listed": found.removed,
        "not listed, because the environment variable CI is set": found.left * is_ci,
        "listed, and passing (--prune-known removes them)": found.passing,
        "listed otherwise in another ledger, and to be mended there": found.elsewhere,
    }
    said = [f"{plural(count, 'result')} {what}" for what, count in counts.items() if count]
    if lines := [*dict.fromkeys(found.nowhere)]:
        where = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
        said.append(f"no longer listed, because no case that was read is so: what was at {where}")
    return said or ["nothing to update"]


def _shard(value: str) -> tuple[int, int]:
    """Read `2/5`, the second of five shards, as two numbers."""
    found = re.fullmatch(r"(\d{1,6})/([1-9]\d{0,5})", value, re.ASCII)
    if not found:
        raise click.BadParameter(f"{value!r} is no shard; write for example 2/5")
    number, total = int(found[1]), int(found[2])
    if not 1 <= number <= total:
        raise click.BadParameter(f"{value!r}: the first of {total} is 1/{total}")
    return number, total


#: Fields of a `Subset`.
subset_options = options.declared(
    """
    --expect-cases expected N: How many cases PATH, -k and the like must select; another number is
        an error.
    --lf --last-failed failed_in RUN: Only cases that failed in this stored run, on one of the
        backends asked for.
    --shard I/N: Only the I-th of N shares of the cases, which take about equally long.
    """,
    shard={"type": _shard},
)


@dataclass(frozen=True)
class Subset:
    """Subset of the selected cases that a run takes; `failed_in` is a stored run."""

    expected: int | None
    failed_in: Path | None
    shard: tuple[int, int] | None

    @cached_property
    def last(self) -> Run | None:
        """The run in which cases failed. Raises CaseFileError."""
        return options.read_runs(self.failed_in)[0] if self.failed_in else None

    def check(self, cases: Sequence[Case], said: str) -> None:
        """Raise UsageError if the selection, described by `said`, has a wrong number of cases."""
        expected = self.expected
        if expected is None or expected == len(cases):
            return
        files = Counter(case.source.file for case in cases)
        counts = few([f"{file} {count:,}" for file, count in files.most_common()], _NAMED)
        there = f"there {'is 1 case' if len(cases) == 1 else f'are {len(cases):,} cases'}"
        hint = f"of {counts}" if files else None
        raise UsageError(f"--expect-cases {expected}: {there} ({said})", hint)

    def failed(
        self, cases: tuple[Case, ...], said: str, addresses: Collection[str]
    ) -> tuple[tuple[Case, ...], str]:
        """Return the cases that failed on one of the backends, and a description of them.

        Warn of failed cases that are not selected; raise UsageError if no backend took part.
        """
        path, run = self.failed_in, self.last
        if run is None:
            return cases, said
        from opcheck.analysis import is_failure, reds_of

        there = [info.address for info in run.header.backends]
        if not {*there} & {*addresses}:
            message = f"--last-failed {path}: no backend of this run took part in it"
            raise UsageError(message, f"it has {', '.join(map(repr, there))}")
        if not run.complete:
            _tell(f"{path} is incomplete: more may fail than did there")
        red = reds_of(run.header)
        records = (one for one in run.records if one.backend in addresses)
        failed = {one.case for one in records if is_failure(one, red)}
        gone = [*failed - {case.id for case in cases}]
        if gone:
            named = few([*map(one_line, sorted(gone))], _NAMED)
            verb = "is" if len(gone) == 1 else "are"
            message = f"{plural(len(gone), 'case')} that failed in {path} {verb} not among those"
            _tell(f"{message} selected: {named}")
        return tuple(case for case in cases if case.id in failed), f"{said}, failed in {path}"


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what an earlier run saved."""
    from opcheck.execution.saving import earlier_cases

    with suppress(UsageError):
        return folder.is_dir() and bool(earlier_cases(folder))
    return False


@click.command(name="run", cls=options.OutputCommand)
@options.selection_options
@options.dim_option
@options.inputs_option
@subset_options
@options.worker_options
@options.cluster_option
@options.declared(
    """
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
    """,
    repeat={"default": 1},
    saved={"type": options.OutputPath(_is_replaced)},
)
@report_files.report_options
@options.declared(
    """
    -x --exitfirst: Stop at the first failure.
    --max-fail N: Stop after N failures.
    """
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
    from opcheck.session import LiveRun, Request, Session
    from opcheck.suite import Selection, choose, load_all, shard
    from opcheck.suite.select import EVERYTHING

    subset, mine = options.taken(Subset, values), options.taken(Ledgers, values)
    selection, given = options.taken(Selection, values), SimpleNamespace(**values)
    # All errors of files come before anything starts.
    as_json = given.form == "json"
    read_from = [*given.paths, *filter(None, [subset.failed_in])]
    report_files.check_targets(given.targets, [*read_from, *mine.ledgers], as_json=as_json)
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
        said = str(selection)
        interrupt.safe_place()
        subset.check(suite, said)
        session.connect(suite)
        suite, said = subset.failed(suite, said, {info.address for info in session.infos})
        request = Request(
            cases=suite,
            share=shard(suite, *subset.shard) if subset.shard else None,
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
        reports = report_files.Reports(given.targets)
        reports.begin(run.header)
        from opcheck.cli.output import JsonOutput, PrettyOutput

        pretty = picked(given, "quiet verbose")
        output = JsonOutput(run.header) if as_json else PrettyOutput(run.header, **pretty)
        records, stopped = _collected(run, output, reports, most_failures)
        whole, revised = run.end(records, stopped=stopped)
        # Whatever may fail comes before the exit code is printed.
        ending = reports.finish(whole, mine.update(whole, *checked), revised)
        output.finish(whole.records, ending, revised)
        reports.show(whole)
    options.leave(Exit(ending.exit_code))


def _collected(
    run: LiveRun, output: JsonOutput | PrettyOutput, reports: report_files.Reports, most: int | None
) -> tuple[list[Record], bool]:
    """Print and write the results up to so many failures; returns them, and if the user stopped."""
    from opcheck.analysis import is_failure

    records: list[Record] = []
    failures, stopped = 0, False
    try:
        # Before the bar, whose thread processes that judge must not inherit.
        results = run.results(output.is_shown)
        with output.bar:
            for record in results:
                # The footer counts what was written, no more and no less.
                with interrupt.shielded():
                    records.append(record)
                    output.take(record)
                    reports.take(record)
                output.show(record)
                # Failures take longer: the bar says why.
                what = "judging, looking for causes" if output.is_shown(record) else "judging"
                output.bar.update(output.task, advance=1, description=what)
                failures += is_failure(record, output.red)
                stopped = interrupt.asked()
                if stopped or (most is not None and failures >= most):
                    break
    except KeyboardInterrupt:
        stopped = True
    return records, stopped
