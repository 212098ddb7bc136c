"""What `opcheck bench` times of what it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opcheck.cli.options import chosen_cases, leave
from opcheck.errors import Exit, UsageError

if TYPE_CHECKING:
    from opcheck.model import Case


def chosen(
    sweep: str | None, *, paths: Sequence[Path], **selection: Any
) -> tuple[Sequence[Case], str]:
    """The cases, and the selection in words."""
    from opcheck.suite import load_sweep, parse_sweep

    wanted = parse_sweep(sweep) if sweep else None
    cases, said = chosen_cases(paths, **selection, bench=True)
    if wanted:
        cases = load_sweep(paths, {case.id for case in cases}, wanted)
    return cases, said


def timable(cases: Sequence[Case], said: str) -> list[Case]:
    """Those that can be timed; tells of the others, and raises UsageError if there is none."""
    from opcheck.run.bench.timable import why_not

    reasons = {case.id: why_not(case) for case in cases}
    found = [case for case in cases if not reasons[case.id]]
    told = Counter(reason for reason in reasons.values() if reason)
    for reason, count in told.items():
        first = next(id for id, why in reasons.items() if why == reason)
        more = f" and {count - 1:,} more" if count > 1 else ""
        click.echo(f"opcheck: not timed: {first}{more}: {reason}", err=True)
    if cases and not found:
        raise UsageError("none of the cases can be timed")
    if not cases:
        click.echo(f"opcheck: no case matches ({said})", err=True)
        leave(Exit.NOTHING_JUDGED)
    return found
