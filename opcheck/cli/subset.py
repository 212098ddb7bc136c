"""Subset of the selected cases that a run takes, and how many there must be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli import outputs
from opcheck.cli.options import PATH, together
from opcheck.errors import UsageError
from opcheck.report.plain_text import one_line, plural

if TYPE_CHECKING:
    from opcheck.model import Case, Run

#: How many files and cases are named.
_NAMED = 3


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
    click.option(
        "--expect-cases",
        "expected",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many cases PATH, -k and the like must select; another number is an error.",
    ),
    click.option(
        "--lf",
        "--last-failed",
        "failed_in",
        type=PATH,
        metavar="RUN",
        help="Only cases that failed in this stored run, on one of the backends asked for.",
    ),
    click.option(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="Only the I-th of N shares of the cases, which take about equally long.",
    ),
    click.option(
        "--shard-by",
        type=PATH,
        metavar="RUN",
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
        return dict(zip(self.files, outputs.read_runs(*self.files), strict=True))

    def check(self, cases: Sequence[Case], said: str) -> None:
        """Raise UsageError if the selection, `said` in words, has not as many cases as it must."""
        expected = self.expected
        if expected is None or expected == len(cases):
            return
        files = Counter(case.source.file for case in cases)
        counts = ", ".join(f"{file} {count:,}" for file, count in files.most_common(_NAMED))
        more = f" and {len(files) - _NAMED} more files" if len(files) > _NAMED else ""
        there = f"there {'is 1 case' if len(cases) == 1 else f'are {len(cases):,} cases'}"
        hint = f"of {counts}{more}" if files else None
        raise UsageError(f"--expect-cases {expected}: {there} ({said})", hint)

    def failed(
        self, cases: tuple[Case, ...], said: str, addresses: Collection[str]
    ) -> tuple[tuple[Case, ...], str]:
        """Those of the cases that failed on one of the backends, and what they are in words.

        Warns of those that failed and are not here; raises UsageError if no backend took part.
        """
        path = self.failed_in
        if path is None:
            return cases, said
        from opcheck.analysis.status import is_failure, reds_of

        run = self.runs[path]
        there = [info.address for info in run.header.backends]
        if not {*there} & {*addresses}:
            message = f"it has {', '.join(map(repr, there))}"
            raise UsageError(
                f"--last-failed {path}: no backend of this run took part in it", message
            )
        if not run.complete:
            click.echo(f"opcheck: {path} is incomplete: more may fail than did there", err=True)
        red = reds_of(run.header)
        records = (one for one in run.records if one.backend in addresses)
        failed = {one.case for one in records if is_failure(one, red)}
        gone = [*failed - {case.id for case in cases}]
        if gone:
            named = ", ".join(map(one_line, sorted(gone)[:_NAMED]))
            more = f" and {len(gone) - _NAMED:,} more" if len(gone) > _NAMED else ""
            verb = "is" if len(gone) == 1 else "are"
            message = f"{plural(len(gone), 'case')} that failed in {path} {verb} not among those"
            click.echo(f"opcheck: {message} selected: {named}{more}", err=True)
        return tuple(case for case in cases if case.id in failed), f"{said}, failed in {path}"

    def share(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Those of the cases that belong to the shard."""
        from opcheck.suite import shard

        if self.shard is None:
            return cases
        seconds: dict[str, float] = {}
        for record in self.runs[self.shard_by].records if self.shard_by else ():
            seconds[record.case] = seconds.get(record.case, 0.0) + record.seconds
        return shard(cases, *self.shard, seconds)
