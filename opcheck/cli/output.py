"""What `opcheck run` reads and writes: ledgers, the cases to run, its output and reports."""

import io
import os
import select
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

import click
from rich.text import Text

from opcheck import interrupt
from opcheck.analysis import is_failure, is_red, reds_of
from opcheck.cli.console import STANDARD, note, progress, stdout_console
from opcheck.cli.files import ReportTarget, lock, read_runs
from opcheck.cli.heartbeat import Heartbeat
from opcheck.cli.kept import failed_cases
from opcheck.errors import Exit, Unwritable, UsageError, few
from opcheck.execution.workers import facts_of
from opcheck.known import Facts, Gate, UserLedger, check, load_user_ledgers
from opcheck.machine import in_ci
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
from opcheck.report import durations, lines, store, summary, write_text
from opcheck.report.plain_text import one_line, plural
from opcheck.session import LiveRun
from opcheck.suite import Selection, choose

if TYPE_CHECKING:
    from opcheck.known.writing import Revision


class _Output:
    """Output of a run; its `bar` counts results while they come."""

    def __init__(self, header: Header, *, pausing: bool) -> None:
        self.red = reds_of(header)
        self.pausing = pausing
        self.bar = progress(pausing=pausing)
        self.task = self.bar.add_task("judging", total=header.results, remark="")
        self._heartbeat = Heartbeat(header.results, "judged")

    def count(self, result: Record) -> bool:
        """Count a result in the bar, or in lines of a log; return True for a failure."""
        failed = is_failure(result, self.red)
        self._heartbeat.count(failed=failed)
        failures = self._heartbeat.failed
        # Failures take longer: the bar says why.
        what = "diagnosing" if self.is_shown(result) else "judging"
        remark = f"{failures:,} failed" if failures else ""
        self.bar.update(self.task, advance=1, description=what, remark=remark)
        return failed

    def is_shown(self, result: LiveResult | Record) -> bool:
        return is_failure(result, self.red)

    @contextmanager
    def searching(self, records: Records) -> Iterator[Callable[[], None]]:
        """Show a bar while causes are looked for; give the function that it counts calls of."""
        failures = sum(self.is_shown(record) for record in records.light)
        bar = progress(pausing=self.pausing)
        task = bar.add_task("looking for causes", total=2 * failures, remark="")
        heartbeat = Heartbeat(2 * failures, "steps of looking for causes done")

        def advance() -> None:
            bar.advance(task)
            heartbeat.count()

        with bar:
            yield advance


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

    def __init__(
        self,
        header: Header,
        *,
        quiet: bool,
        verbose: int,
        durations: int | None = None,
        headed: bool = True,
        next_commands: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(header, pausing=True)
        self._durations = durations
        if headed and not quiet:
            note(_about(header))
        self.pretty = summary.Pretty(
            stdout_console(),
            header,
            quiet=quiet,
            verbose=verbose,
            live=True,
            next_commands=next_commands,
        )
        for remark in header.environment.remarks:
            self.pretty.console.print(Text(f"this machine: {remark}", "bold"))

    def take(self, result: Record) -> None:
        """Do nothing: only `show` prints."""

    def show(self, result: Record) -> None:
        """Print a failure in full, now: a run may be long, or end with the whole process."""
        if self.pretty.is_due(result):
            self.bar.stop()
            self.pretty.show_failure(result)
            self.bar.start()

    def is_shown(self, result: LiveResult | Record) -> bool:
        """Return True if a result is shown in detail and its failure is diagnosed."""
        return self.pretty.is_in_full(result) or super().is_shown(result)

    def finish(self, results: Sequence[Record], ending: Ending, revised: Sequence[Record]) -> None:
        """Print the slowest cases if asked for, the summary, and what the exit code means."""
        if self._durations:
            durations.show(self.pretty.console, self.pretty.header, results, self._durations)
        self.pretty.finish(results, ending.complete, Exit(ending.exit_code), ending.meaning)


def _about(header: Header) -> str:
    """Return what a run is about, in a line: cases, backends with versions, and the selection."""
    backends = ", ".join(one_line(str(info)) for info in header.backends)
    cases = plural(header.cases, "case")
    if header.shard:
        cases += f" (shard {header.shard[0]} of {header.shard[1]})"
    ledgers = "" if header.known else "; no shipped ledger"
    version = header.environment.opcheck
    return f"version {version}; {cases} on {backends}; {one_line(header.selection)}{ledgers}"


@dataclass(eq=False)
class _File:
    """A file that is open for as long as the run lasts."""

    target: ReportTarget
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
            note(f"{self.error}")

    def close(self) -> None:
        """Close the file, which has to be the one at its path still, as it was written."""
        if self.raw is not None:
            try:
                stat = os.fstat(self.raw.fileno())
                if not os.path.samestat(stat, self.target.path.stat()):
                    raise OSError("another file was put in its place meanwhile")
                if S_ISREG(stat.st_mode) and stat.st_size != self.size:
                    raise OSError("another process changed it meanwhile")
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

    def __init__(self, targets: Sequence[ReportTarget]) -> None:
        self._printed = [target for target in targets if target.path == STANDARD]
        files = [_File(target) for target in targets if target.path != STANDARD]
        self._streams = [file for file in files if file.target.form == "json"]
        self._others = [file for file in files if file.target.form != "json"]

    @property
    def _files(self) -> list[_File]:
        return [*self._streams, *self._others]

    def begin(self, header: Header) -> None:
        """Empty all files, and begin the streams; raises Unwritable."""
        for file in self._files:
            file.open()
        for stream in self._streams:
            stream.write(store.header(header))

    def take(self, result: Record) -> None:
        """Write a result to the streams, a whole line, so that a run cut short leaves it."""
        for stream in self._streams:
            stream.write(store.record(result))

    def finish(self, run: Run, unwritten: Sequence[str], revised: Sequence[Record] = ()) -> Ending:
        """Write the rest of all files; return the ending, which files that failed change.

        Args:
            run: The whole run, with its ending.
            unwritten: Messages about other files that could not be written.
            revised: Results that changed after their lines were written. Files of lines are
                written anew if there are any.
        """
        assert run.ending
        for file in self._others:
            for line in lines(file.target.form, run):
                file.write(line)
            file.close()
        ending = self._with_failures(run.ending, unwritten)
        for stream in self._streams:
            stream.write(store.footer(light(run.records), ending, revised))
            stream.close()
            if revised and not stream.error and stream.target.path.is_file():
                text = "".join(f"{line}\n" for line in store.lines(replace(run, ending=ending)))
                try:
                    write_text(stream.target.path, text)
                except Unwritable as error:
                    stream.error = error.message
        return self._with_failures(run.ending, unwritten)

    def _with_failures(self, ending: Ending, unwritten: Sequence[str]) -> Ending:
        """Return the ending, with exit code 4 and the messages if a file could not be written.

        An interrupted run, and wrong usage, keep their exit code.
        """
        messages = [*unwritten, *(file.error for file in self._files if file.error)]
        if not messages:
            return ending
        if ending.exit_code in (Exit.INTERRUPTED, Exit.USAGE):
            return replace(ending, meaning="; ".join([ending.meaning, *messages]))
        meaning = "; ".join([*messages, ending.meaning])
        return replace(ending, exit_code=int(Exit.UNUSABLE), meaning=meaning)

    def show(self, run: Run) -> None:
        """Print the reports that go to standard output, after everything else."""
        for target in self._printed:
            for line in lines(target.form, run):
                click.echo(line)


@dataclass(frozen=True, kw_only=True)
class Ledgers:
    """The user's ledgers, as the command line names them, and the one to be written."""

    known: tuple[Path, ...]
    updated: Path | None
    prune: bool
    #: A case that is listed as failing may pass.
    lenient: bool

    def __post_init__(self) -> None:
        if self.prune and self.updated is None:
            raise UsageError("--prune-known goes with --update-known FILE")

    @cached_property
    def gate(self) -> Gate:
        """The ledgers, read at the first use. Raises CaseFileError."""
        paths = [*self.known]
        if self.updated and self.updated.exists():
            paths.append(self.updated)
        return Gate(load_user_ledgers(paths), lenient=self.lenient)

    @property
    def target(self) -> UserLedger | None:
        """The ledger to be written, if it exists already."""
        if self.updated is None:
            return None
        path = self.updated.resolve()
        return next((ledger for ledger in self.gate.ledgers if ledger.path.resolve() == path), None)

    def check(
        self, backends: Sequence[BackendInfo], cases: Sequence[Case], *, whole: bool
    ) -> tuple[Facts, BackendInfo | None]:
        """Return facts on all cases that were read, and the backend of the ledger to be written.

        The cases are `whole` if they hold all shipped ones of their operators.

        Raises CaseFileError with all entries that match nothing, UsageError unless the ledger to
        be written is about one backend of the run.
        """
        facts = facts_of(backends, cases, whole=whole)
        check(self.gate, facts, self.target if self.prune else None)
        if self.updated is None:
            return facts, None
        target = self.target
        matching = [info for info in backends if target is None or target.is_about(info)]
        if len(matching) != 1:
            there = ", ".join(info.address for info in matching) or "none of the run"
            message = f"a ledger is about one backend, this about {there}"
            raise UsageError(f"--update-known {self.updated}: {message}", "name it with -b")
        return facts, matching[0]

    def update(self, run: Run, facts: Facts, backend: BackendInfo | None) -> list[str]:
        """Write the ledger after a run, and print the changes; return why it cannot be written.

        Args:
            run: The run, with all its results.
            facts: As `check` returned them.
            backend: The backend of the ledger, as `check` returned it; None writes nothing.
        """
        path = self.updated
        target = self.target
        if backend is None or path is None:
            return []
        from opcheck.execution.ledger_update import UNDECIDED

        records = [record for record in run.records if record.backend == backend.address]
        if not run.complete or any(record.verdict in UNDECIDED for record in records):
            note(f"{path}: not updated, because not every case was judged")
            return []
        revision, messages = self._revision(reds_of(run.header), records, facts, backend)
        if revision:
            if target and not target.is_unchanged():
                note(f"{path}: not updated, because another process changed it meanwhile")
                return []
            try:
                write_text(path, _revised_text(path, target, backend, revision))
            except Unwritable as error:
                return [error.message]
        for message in messages:
            note(f"{path}: {message}")
        return []

    def _revision(
        self,
        red: Collection[Verdict],
        records: Sequence[Record],
        facts: Facts,
        backend: BackendInfo,
    ) -> "tuple[Revision, list[str]]":
        """Return the changes of the ledger, and messages about them.

        Args:
            red: The verdicts that make a run red.
            records: The results of the ledger's backend.
            facts: Facts on all cases that were read.
            backend: The backend.
        """
        from opcheck.execution.ledger_update import update_ledger

        target = self.target
        entries = target.fields.known if target else ()
        listed = {op for entry in entries for place in entry.where or () for op in place.ops}
        of_run = {record.op.name for record in records}
        return update_ledger(
            ledger=target,
            records=records,
            cases=facts.all_cases(listed | of_run),
            red={record.case for record in records if is_red(record, red)},
            version=backend.version,
            add=not in_ci(),
            prune=self.prune,
        )


def _revised_text(
    path: Path, target: UserLedger | None, backend: BackendInfo, revision: "Revision"
) -> str:
    """Return the text of a ledger after a revision: of `target`, or of a new one."""
    from opcheck.known.writing import new_ledger, revised

    text = "\n".join(target.lines) if target else new_ledger(backend.address)
    node = read_text(text, str(path), Problems())
    assert node
    text = revised(text, node, str(path), revision)
    if target and b"\r\n" in path.read_bytes():
        text = text.replace("\n", "\r\n")
    return text


@dataclass(frozen=True, kw_only=True)
class CaseFilter:
    """What a run does with the selected cases: takes a shard, or those that failed last time.

    `last_failed` is the file of a stored run, and `name` what messages call it; `earlier` are cases
    that failed in runs before that one, by backend, and did not pass since. `expect_cases` is the
    number that must be selected.
    """

    expect_cases: int | None
    last_failed: Path | None
    name: str
    earlier: Mapping[str, Collection[str]]
    shard: tuple[int, int] | None

    @cached_property
    def _last_run(self) -> Run | None:
        return read_runs(self.last_failed)[0] if self.last_failed else None

    def read_last_run(self) -> None:
        """Read the stored run now; raises CaseFileError."""
        _ = self._last_run

    @cached_property
    def failed(self) -> Collection[str] | None:
        """The ids of all cases that failed in the stored run or before, None without one."""
        if self._last_run is None:
            return None
        by_backend = [failed_cases(self._last_run), self.earlier]
        return {case for failed in by_backend for cases in failed.values() for case in cases}

    def check_count(self, cases: Sequence[Case], description: str) -> None:
        """Raise UsageError if the selection has another number of cases than expected."""
        expected = self.expect_cases
        if expected is None or expected == len(cases):
            return
        files = Counter(case.source.file for case in cases)
        counts = few([f"{file} {count:,}" for file, count in files.most_common()], 3)
        there = f"there {'is 1 case' if len(cases) == 1 else f'are {len(cases):,} cases'}"
        hint = f"of {counts}" if files else None
        raise UsageError(f"--expect-cases {expected}: {there} ({description})", hint)

    def only_failed(
        self, cases: tuple[Case, ...], description: str, addresses: Collection[str]
    ) -> tuple[tuple[Case, ...], str]:
        """Return the cases that failed last time on one of the backends, and their description.

        Those that failed earlier, and did not pass since, are among them. A case that was not run
        failed. Raises UsageError if no backend took part.
        """
        run = self._last_run
        if run is None:
            return cases, description
        there = [info.address for info in run.header.backends]
        if not {*there, *self.earlier} & {*addresses}:
            message = f"--last-failed {self.name}: it has no result of a backend of this run"
            raise UsageError(message, f"it has {', '.join(map(repr, there))}")
        failed = self._failed_ids(run, addresses) | _on_any(self.earlier, addresses)
        again = tuple(case for case in cases if case.id in failed)
        before = " or before" if self.earlier else ""
        return again, f"{description}, failed in {self.name}{before}"

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
        run = self._last_run
        if run is None:
            return []
        reasons = []
        if not run.complete:
            reasons.append(f"{self.name} is incomplete: more cases may fail than it has")
        there = {info.address for info in run.header.backends}
        if strangers := sorted({*addresses} - there):
            names = ", ".join(strangers)
            reasons.append(f"{self.name} has no result of {names}: any case may fail")
        at_any_level = choose(everything, replace(selection, level="deep"))
        excluded = {case.id for case in everything} - {case.id for case in at_any_level}
        here = {case.id for case in selected}
        gone = sorted(self._failed_ids(run, addresses) - here - excluded)
        if gone:
            named = few([*map(one_line, gone)], 3)
            verb = "is" if len(gone) == 1 else "are"
            message = (
                f"{plural(len(gone), 'case')} that failed in {self.name} {verb} not among those"
            )
            reasons.append(f"{message} selected: {named}")
        return reasons

    def _failed_ids(self, run: Run, addresses: Collection[str]) -> set[str]:
        """Return the ids of cases that failed, or were not run, on one of the backends."""
        return _on_any(failed_cases(run), addresses)


def _on_any(failed: Mapping[str, Collection[str]], addresses: Collection[str]) -> set[str]:
    """Return the cases that failed on one of the backends at `addresses`."""
    return {case for backend in addresses for case in failed.get(backend, ())}


def judge_and_show(
    run: LiveRun,
    output: JsonOutput | PrettyOutput,
    reports: Reports,
    max_failures: int | None,
) -> tuple[Records, bool]:
    """Judge the run's cases, print and write each result as it comes.

    Args:
        run: The run to judge.
        output: What standard output shows.
        reports: Files that take the results.
        max_failures: The number of failures after which to stop; None for no limit.

    Returns:
        The results, and True if the user stopped the run.
    """
    records = Records()
    failures = 0
    stopped = False
    try:
        # Before the bar, whose thread must not be inherited by processes that judge.
        results = run.results(output.is_shown)
        with output.bar:
            for record in results:
                # The footer counts what was written, no more and no less.
                with interrupt.shielded():
                    records.append(record)
                    output.take(record)
                    reports.take(record)
                output.show(record)
                failures += output.count(record)
                stopped = interrupt.asked()
                if stopped or (max_failures is not None and failures >= max_failures):
                    break
    except KeyboardInterrupt:
        stopped = True
    return records, stopped
