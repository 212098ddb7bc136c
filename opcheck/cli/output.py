"""A run as `opcheck run` asks for it: its ledgers, its part of the cases, its output and files.

Output is results while the run lasts, and the reports at its end.
"""

import io
import os
import select
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import Any

import click

from opcheck import interrupt
from opcheck.analysis import is_failure, is_red, reds_of
from opcheck.cli.options import STANDARD, lock, output, progress, read_runs, tell
from opcheck.cli.runs import Target
from opcheck.errors import Exit, Unwritable, UsageError, few
from opcheck.execution.workers import facts_of
from opcheck.known import Facts, Gate, UserLedger, check, load_user_ledgers
from opcheck.model import (
    BackendInfo,
    Case,
    Ending,
    Header,
    LiveResult,
    Record,
    Records,
    Run,
    Verdict,
    light,
)
from opcheck.reading import Problems, read_text
from opcheck.report import lines, store, summary, write_text
from opcheck.report.plain_text import one_line, plural
from opcheck.session import LiveRun
from opcheck.suite import Selection, choose


class _Output:
    """Output of a run; its `bar` counts results while they come."""

    def __init__(self, header: Header, *, pausing: bool) -> None:
        self.red = reds_of(header)
        self.bar = progress(pausing=pausing)
        self.task = self.bar.add_task("judging", total=header.results)

    def is_shown(self, result: LiveResult | Record) -> bool:
        return is_failure(result, self.red)


class JsonOutput(_Output):
    """JSON lines on standard output: the rest of an interrupted one is written before the next."""

    def __init__(self, header: Header) -> None:
        super().__init__(header, pausing=False)
        self._rest = f"{store.header(header)}\n".encode()
        self._flush()

    def take(self, result: Record) -> None:
        """Take the result's line, to be written whatever happens."""
        self._rest += f"{store.record(result)}\n".encode()

    def show(self, result: Record) -> None:
        """Write the line now, so that a run cut short leaves what it had."""
        self._flush()

    def finish(self, results: Sequence[Record], ending: Ending, revised: Sequence[Record]) -> None:
        """Write the footer, with the results that were `revised` after they were written."""
        self._rest += f"{store.footer(light(results), ending, revised)}\n".encode()
        self._flush()

    def _flush(self) -> None:
        """Write the rest; may raise KeyboardInterrupt in the middle of it."""
        try:
            file = sys.stdout.fileno()
        except io.UnsupportedOperation:  # no file at all, as in tests
            sys.stdout.write(self._rest.decode())
            self._rest = b""
            return
        sys.stdout.flush()
        while self._rest:
            with interrupt.shielded() as is_urgent:
                # Wait for a reader that takes nothing, but notice an interruption in time.
                while self._rest and not is_urgent():
                    if select.select([], [file], [], 0.1)[1]:
                        written = os.write(file, self._rest[: select.PIPE_BUF])
                        self._rest = self._rest[written:]


class PrettyOutput(_Output):
    """Failures as they come, tables at the end."""

    def __init__(self, header: Header, **options: Any) -> None:
        super().__init__(header, pausing=True)
        self.pretty = summary.Pretty(output(), header, **options)

    def take(self, result: Record) -> None:
        """Do nothing: only `show` prints."""

    def show(self, result: Record) -> None:
        """Print a failure in full, now: a run may be long, or end with the whole process."""
        if self.pretty.is_due(result):
            self.bar.stop()
            summary.show_failure(self.pretty.console, result)
            self.bar.start()

    def is_shown(self, result: LiveResult | Record) -> bool:
        """Return True if a result is shown in detail and its failure is diagnosed."""
        return self.pretty.is_in_full(result) or super().is_shown(result)

    def finish(self, results: Sequence[Record], ending: Ending, revised: Sequence[Record]) -> None:
        """Print the summary, then what the exit code means."""
        self.pretty.finish(results, ending.complete, Exit(ending.exit_code), ending.meaning)


@dataclass(eq=False)
class _File:
    """A file that is open for as long as the run lasts."""

    target: Target
    raw: io.FileIO | None = None
    error: str | None = None
    #: How many bytes the file must have.
    size: int = 0

    def open(self) -> None:
        """Open the file for this process alone, and empty it; raises Unwritable."""
        try:
            self.raw = io.FileIO(self.target.path, "a")
            lock(self.raw.fileno())
            if self.target.path.is_file():
                self.raw.truncate(0)
            self.size = os.fstat(self.raw.fileno()).st_size
        except OSError as error:
            self._fail(error)
            raise Unwritable(self.target, error) from None

    def write(self, line: str) -> None:
        """Write a line now, and nothing more after the first that could not be written."""
        data = memoryview(f"{line}\n".encode(errors="replace"))
        try:
            while data and self.raw is not None:
                count = self.raw.write(data)
                self.size += count
                data = data[count:]
        except OSError as error:
            # Printed at once: the run may last for hours.
            self._fail(error)
            tell(f"{self.error}")

    def close(self) -> None:
        """Close the file, which has to be the one at its path still, as it was written."""
        if self.raw is not None:
            try:
                stat = os.fstat(self.raw.fileno())
                if not os.path.samestat(stat, self.target.path.stat()):
                    raise OSError("another file was put in its place meanwhile")
                if S_ISREG(stat.st_mode) and stat.st_size != self.size:
                    raise OSError("somebody else changed it meanwhile")
                self.raw.close()
            except OSError as error:
                self._fail(error)
            self.raw = None

    def _fail(self, error: OSError) -> None:
        self.error = Unwritable(self.target, error).message
        if self.raw is not None:
            with suppress(OSError):
                self.raw.close()
        self.raw = None


class Reports:
    """Reports of a run: streams while it runs, everything else at its end."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._printed = [target for target in targets if target.path == STANDARD]
        files = [_File(target) for target in targets if target.path != STANDARD]
        self._streams = [one for one in files if one.target.form == "json"]
        self._others = [one for one in files if one.target.form != "json"]

    def begin(self, header: Header) -> None:
        """Empty all files, and begin the streams; raises Unwritable."""
        for one in (*self._streams, *self._others):
            one.open()
        for one in self._streams:
            one.write(store.header(header))

    def take(self, result: Record) -> None:
        """Write a result to the streams, a whole line, so that a run cut short leaves it."""
        for one in self._streams:
            one.write(store.record(result))

    def finish(self, run: Run, lacking: Sequence[str], revised: Sequence[Record] = ()) -> Ending:
        """Write the rest of all files; return the ending, which files that failed change."""
        # `lacking` are messages about other files that failed. Files are written anew if results
        # were `revised` after their lines were written.
        assert run.ending
        for one in self._others:
            for line in lines(one.target.form, run):
                one.write(line)
            one.close()
        ending = self._ended(run.ending, lacking)
        for one in self._streams:
            one.write(store.footer(light(run.records), ending, revised))
            one.close()
            if revised and not one.error and one.target.path.is_file():
                text = "".join(f"{line}\n" for line in store.lines(replace(run, ending=ending)))
                try:
                    write_text(one.target.path, text)
                except Unwritable as error:
                    one.error = error.message
        return self._ended(run.ending, lacking)

    def _ended(self, ending: Ending, lacking: Sequence[str]) -> Ending:
        lacking = [*lacking, *filter(None, (one.error for one in (*self._streams, *self._others)))]
        if not lacking:
            return ending
        first = ending.exit_code in (Exit.INTERRUPTED, Exit.USAGE)
        said = [ending.meaning, *lacking] if first else [*lacking, ending.meaning]
        code = ending.exit_code if first else int(Exit.UNUSABLE)
        return replace(ending, exit_code=code, meaning="; ".join(said))

    def show(self, run: Run) -> None:
        """Print the reports that go to standard output, after everything else."""
        for target in self._printed:
            for line in lines(target.form, run):
                click.echo(line)


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
        from opcheck.execution.ledger_update import UNDECIDED, update_ledger
        from opcheck.known.writing import new_ledger, revised

        add = os.environ.get("CI", "").lower() in ("", "0", "false")
        red = reds_of(run.header)
        mine = [record for record in run.records if record.backend == backend.address]
        if not run.complete or any(one.verdict in UNDECIDED for one in mine):
            tell(f"{path}: not updated, because not every case was judged")
            return []
        lines = target.fields.known if target else ()
        listed = {op for line in lines for place in line.where or () for op in place.ops}
        every = facts.all_cases({*listed, *(record.op.name for record in mine)})
        failing = {record.case for record in mine if is_red(record, red)}
        told = target, mine, every, failing, backend.version
        revision, said = update_ledger(*told, add=add, prune=prune)
        if revision:
            if target and not target.is_unchanged():
                tell(f"{path}: not updated, because somebody else changed it meanwhile")
                return []
            text = "\n".join(target.lines) if target else new_ledger(backend.address)
            node = read_text(text, str(path), Problems())
            assert node
            text = revised(text, node, str(path), revision)
            if target and b"\r\n" in path.read_bytes():
                text = text.replace("\n", "\r\n")
            try:
                write_text(path, text)
            except Unwritable as error:
                return [error.message]
        for line in said:
            tell(f"{path}: {line}")
        return []


@dataclass(frozen=True)
class Subset:
    """Subset of the selected cases that a run takes; `failed_in` is a stored run."""

    expected: int | None
    failed_in: Path | None
    shard: tuple[int, int] | None

    @cached_property
    def last(self) -> Run | None:
        """The run in which cases failed. Raises CaseFileError."""
        return read_runs(self.failed_in)[0] if self.failed_in else None

    def check(self, cases: Sequence[Case], said: str) -> None:
        """Raise UsageError if the selection, described by `said`, has a wrong number of cases."""
        expected = self.expected
        if expected is None or expected == len(cases):
            return
        files = Counter(case.source.file for case in cases)
        counts = few([f"{file} {count:,}" for file, count in files.most_common()], 3)
        there = f"there {'is 1 case' if len(cases) == 1 else f'are {len(cases):,} cases'}"
        hint = f"of {counts}" if files else None
        raise UsageError(f"--expect-cases {expected}: {there} ({said})", hint)

    def failed(
        self, cases: tuple[Case, ...], said: str, addresses: Collection[str]
    ) -> tuple[tuple[Case, ...], str]:
        """Return the cases that failed on one of the backends, and a description of them.

        A case that was not run failed. Raises UsageError if no backend took part.
        """
        path, run = self.failed_in, self.last
        if run is None:
            return cases, said
        there = [info.address for info in run.header.backends]
        if not {*there} & {*addresses}:
            message = f"--last-failed {path}: no backend of this run took part in it"
            raise UsageError(message, f"it has {', '.join(map(repr, there))}")
        failed = self._failed_ids(run, addresses)
        return tuple(case for case in cases if case.id in failed), f"{said}, failed in {path}"

    def why_too_few(
        self,
        everything: Sequence[Case],
        selected: Sequence[Case],
        selection: Selection,
        addresses: Collection[str],
    ) -> list[str]:
        """Return why cases may have failed in the stored run that this run leaves out.

        `everything` are all cases that were read, of which the `selection` has `selected`. Those
        that -k and the like exclude are left out on purpose; a level may be forgotten.
        """
        path, run = self.failed_in, self.last
        if run is None:
            return []
        reasons = []
        if not run.complete:
            reasons.append(f"{path} is incomplete: more may fail than did there")
        there = {info.address for info in run.header.backends}
        if strangers := sorted({*addresses} - there):
            reasons.append(f"{', '.join(strangers)} took no part in {path}: any case may fail")
        at_any_level = choose(everything, replace(selection, level="deep"))
        excluded = {case.id for case in everything} - {case.id for case in at_any_level}
        here = {case.id for case in selected}
        gone = sorted(self._failed_ids(run, addresses) - here - excluded)
        if gone:
            named = few([*map(one_line, gone)], 3)
            verb = "is" if len(gone) == 1 else "are"
            message = f"{plural(len(gone), 'case')} that failed in {path} {verb} not among those"
            reasons.append(f"{message} selected: {named}")
        return reasons

    @staticmethod
    def _failed_ids(run: Run, addresses: Collection[str]) -> set[str]:
        """Return the ids of cases that failed, or were not run, on one of the backends."""
        red = reds_of(run.header)
        return {
            record.case
            for record in run.records
            if record.backend in addresses
            and (record.verdict is Verdict.NOT_RUN or is_failure(record, red))
        }


def collected(
    run: LiveRun, output: JsonOutput | PrettyOutput, reports: Reports, most: int | None
) -> tuple[Records, bool]:
    """Print and write the results up to so many failures; returns them, and if the user stopped."""
    records = Records()
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
