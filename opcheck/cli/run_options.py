"""Options of a run that come together: the user's ledgers, and the subset of the cases."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli import options
from opcheck.cli.options import PATH, check_files, flag, number, together
from opcheck.errors import Unwritable, UsageError, few
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.execution.ledger_update import LedgerUpdate
    from opcheck.known import Facts, Gate, UserLedger
    from opcheck.model import BackendInfo, Case, Run

#: The most files and cases that a message names.
_NAMED = 3

_ledger = partial(click.option, type=PATH, metavar="FILE")
_stored_run = partial(click.option, type=PATH, metavar="RUN")

known_options = together(
    _ledger(
        "--known",
        "ledgers",
        multiple=True,
        help="A ledger of known failures of yours: what it lists has to fail as listed, all else to"
        " pass. Repeatable.",
    ),
    _ledger(
        "--update-known",
        "updated",
        help="Have a ledger, which may be new, list what fails now; the exit code stays that of the"
        " run.",
    ),
    flag(
        "--prune-known",
        "prune",
        help="With --update-known: remove what no longer fails, or is nowhere.",
    ),
    flag(
        "--add-known-in-ci",
        "even_in_ci",
        help="With --update-known: add failures even where the environment variable CI is set.",
    ),
)


@dataclass(frozen=True)
class Ledgers:
    """The user's ledgers, as the command line names them, and the one to be written."""

    gate: Gate
    updated: Path | None = None
    prune: bool = False
    add: bool = True

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
        if backend is None:
            return []
        from opcheck.analysis.status import is_red, reds_of
        from opcheck.execution.ledger_update import UNDECIDED, update_ledger
        from opcheck.known.writing import new_ledger, revised
        from opcheck.reading import Problems, read_text
        from opcheck.report.files import write_text

        red = reds_of(run.header)
        mine = [record for record in run.records if record.backend == backend.address]
        if not run.complete or any(one.verdict in UNDECIDED for one in mine):
            _tell(f"{self.updated}: not updated, because not every case was judged")
            return []
        found = update_ledger(
            self.target,
            mine,
            facts.all_cases,
            {record.case for record in mine if is_red(record, red)},
            backend.version,
            add=self.add,
            prune=self.prune,
        )
        path, target = self.updated, self.target
        assert path is not None
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
        for line in _told(found, is_ci=not self.add):
            _tell(f"{path}: {line}")
        return []


def _tell(line: str) -> None:
    click.echo(f"opcheck: {line}", err=True)


def opened(
    ledgers: Sequence[Path],
    updated: Path | None,
    taken: Sequence[Path],
    *,
    prune: bool,
    even_in_ci: bool,
    cut_short: bool,
) -> Ledgers:
    """Open the ledgers that a command line names; raise UsageError and CaseFileError.

    Files that are `taken` are read or written by the same command. A run that may be `cut_short`
    cannot update a ledger, because it does not know all failures.
    """
    from opcheck.known import Gate, load_user_ledgers

    if updated is None:
        for option, given in {"--prune-known": prune, "--add-known-in-ci": even_in_ci}.items():
            if given:
                raise UsageError(f"{option} goes with --update-known FILE")
    elif cut_short:
        raise UsageError("--update-known needs the whole run: leave -x and --max-fail out")
    check_files([(f"--update-known {updated}", updated)], taken)
    paths = [*ledgers, *([updated] if updated and updated.exists() else [])]
    return Ledgers(
        Gate(load_user_ledgers(paths) if paths else ()),
        updated,
        prune,
        add=even_in_ci or os.environ.get("CI", "").lower() in ("", "0", "false"),
    )


def _told(found: LedgerUpdate, *, is_ci: bool) -> list[str]:
    counts: Mapping[str, int] = {
        "listed": found.added,
        "no longer listed": found.removed,
        "not listed, because CI is set (--add-known-in-ci lists them)": found.left * is_ci,
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


#: --expect-cases, --last-failed, --shard and --shard-by, the fields of a `Subset`.
subset_options = together(
    number(
        "--expect-cases",
        "expected",
        help="How many cases PATH, -k and the like must select; another number is an error.",
    ),
    _stored_run(
        "--lf",
        "--last-failed",
        "failed_in",
        help="Only cases that failed in this stored run, on one of the backends asked for.",
    ),
    click.option(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="Only the I-th of N shares of the cases, which take about equally long.",
    ),
    _stored_run(
        "--shard-by",
        help="Share them by the seconds in this stored run, not by size; the same for all shards.",
    ),
)


@dataclass(frozen=True)
class Subset:
    """Subset of the selected cases that a run takes; its files are stored runs, read on demand."""

    expected: int | None
    failed_in: Path | None
    shard: tuple[int, int] | None
    shard_by: Path | None

    def __post_init__(self) -> None:
        if self.shard_by and not self.shard:
            raise UsageError("--shard-by is for --shard I/N")

    @property
    def files(self) -> list[Path]:
        """The files to read."""
        return [path for path in (self.failed_in, self.shard_by) if path]

    @cached_property
    def runs(self) -> Mapping[Path, Run]:
        """The runs stored in the files. Raises CaseFileError."""
        return dict(zip(self.files, options.read_runs(*self.files), strict=True))

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
        path = self.failed_in
        if path is None:
            return cases, said
        from opcheck.analysis.status import is_failure, reds_of

        run = self.runs[path]
        there = [info.address for info in run.header.backends]
        if not {*there} & {*addresses}:
            message = f"--last-failed {path}: no backend of this run took part in it"
            raise UsageError(message, f"it has {', '.join(map(repr, there))}")
        if not run.complete:
            click.echo(f"opcheck: {path} is incomplete: more may fail than did there", err=True)
        red = reds_of(run.header)
        records = (one for one in run.records if one.backend in addresses)
        failed = {one.case for one in records if is_failure(one, red)}
        gone = [*failed - {case.id for case in cases}]
        if gone:
            named = few([*map(one_line, sorted(gone))], _NAMED)
            verb = "is" if len(gone) == 1 else "are"
            message = f"{plural(len(gone), 'case')} that failed in {path} {verb} not among those"
            click.echo(f"opcheck: {message} selected: {named}", err=True)
        return tuple(case for case in cases if case.id in failed), f"{said}, failed in {path}"

    def share(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return the cases of the shard."""
        from opcheck.suite import shard

        if self.shard is None:
            return cases
        seconds: dict[str, float] = {}
        for record in self.runs[self.shard_by].records if self.shard_by else ():
            seconds[record.case] = seconds.get(record.case, 0.0) + record.seconds
        return shard(cases, *self.shard, seconds)
