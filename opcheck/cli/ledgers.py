"""The user's ledgers of known failures: the options of a run, and what is written after it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli.options import together
from opcheck.cli.outputs import check_files
from opcheck.errors import Unwritable, UsageError
from opcheck.report.plain_text import plural

if TYPE_CHECKING:
    from opcheck.execution.ledger_update import LedgerUpdate
    from opcheck.known import Gate, UserLedger
    from opcheck.known.checking import Facts
    from opcheck.model import BackendInfo, Case, Run

#: What the environment variable CI says where it does not mean that this is one.
_NO = ("", "0", "false")

#: --known, --update-known, --prune-known, --add-known-in-ci.
known_options = together(
    click.option(
        "--known",
        "ledgers",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A ledger of known failures of yours: what it lists has to fail as listed, all else to"
        " pass. Repeatable.",
    ),
    click.option(
        "--update-known",
        "updated",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Have a ledger, which may be new, list what fails now; the exit code stays that of the"
        " run.",
    ),
    click.option(
        "--prune-known",
        "prune",
        is_flag=True,
        help="With --update-known: remove what no longer fails, or is nowhere.",
    ),
    click.option(
        "--add-known-in-ci",
        "even_in_ci",
        is_flag=True,
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
        """Return facts on all cases that were read, and whose ledger is to be written, if any.

        Raises CaseFileError with all that is listed in vain, UsageError for no one backend.
        """
        from opcheck.execution.workers import facts_of
        from opcheck.known.checking import check

        facts = facts_of(backends, cases)
        check(self.gate, facts, self.target if self.prune else None)
        if self.updated is None:
            return facts, None
        target = self.target
        mine = [one for one in backends if target is None or target.is_about(one)]
        if len(mine) != 1:
            there = ", ".join(one.address for one in mine) or "none of the run"
            message = (
                f"--update-known {self.updated}: a ledger is about one backend, this about {there}"
            )
            raise UsageError(message, "name it with -b")
        return facts, mine[0]

    def update(self, run: Run, facts: Facts, backend: BackendInfo | None) -> list[str]:
        """Write the ledger after a run, and print what became of it; returns why it cannot be."""
        if backend is None:
            return []
        from opcheck.analysis.status import is_red, reds_of
        from opcheck.execution.ledger_update import UNDECIDED, update_ledger

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
        try:
            self._write(found, backend.address)
        except Unwritable as error:
            return [error.message]
        return []

    def _write(self, found: LedgerUpdate, address: str) -> None:
        from opcheck.known.writing import new_ledger, revised
        from opcheck.reading import Problems, read_text
        from opcheck.report.files import write_text

        path, target = self.updated, self.target
        assert path is not None
        if found.revision:
            if target and not target.is_unchanged():
                _tell(f"{path}: not updated, because somebody else changed it meanwhile")
                return
            text = "\n".join(target.lines) if target else new_ledger(address)
            node = read_text(text, str(path), Problems())
            assert node
            text = revised(text, node, str(path), found.revision)
            if target and b"\r\n" in path.read_bytes():
                text = text.replace("\n", "\r\n")
            write_text(path, text)
        for line in _told(found, is_ci=not self.add):
            _tell(f"{path}: {line}")


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
    """The ledgers that a command line names; raises UsageError and CaseFileError.

    What is `taken` is read or written by the same command. `cut_short`: the run may end before all
    cases were asked, after which nobody knows what fails.
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
        add=even_in_ci or os.environ.get("CI", "").lower() in _NO,
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
