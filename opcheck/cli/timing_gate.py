"""Gates against slower builds: a saved benchmark, or another backend of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from opcheck.cli.console import output
from opcheck.cli.options import end, given_besides
from opcheck.errors import Exit, UsageError, few

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.model import Case
    from opcheck.model.timing import Bench
    from opcheck.report.timing_store import Stored
    from opcheck.timing.comparing import Compared

#: The exit code of a gate that fails, else None, and its part of the last line.
Verdict = tuple[Exit | None, str]


@dataclass(frozen=True)
class TimingGate:
    """Limit on slowdowns; `unclear` None is "fail" where nothing is clear, else "pass"."""

    most: float
    unclear: str | None

    def verdict(self, found: Compared, base: str = "", unfair: str = "") -> Verdict:
        """Return what a comparison with `base` or an older run means, and if it is `unfair`."""
        than, by = base or "before", f"by more than {100 * found.beyond:g} %"
        slower = sum(one.verdict == "slower" for one in found.changes)
        together = any(one.verdict == "slower" for one in found.together)
        rows = len(found.changes) + len(found.missing)
        unclear = f"{found.unclear:,} of {rows:,} unclear"
        code, said = None, []
        if unfair:
            code, said = Exit.NOTHING_JUDGED, [f"the runs cannot be compared: {unfair}"]
        elif slower or together:
            mean = ", and so are all together" if together else ""
            code, said = Exit.SLOWER, [f"{slower:,} slower than {than} {by}{mean}"]
        if lost := sum(one.lacks == "new" for one in found.missing):
            had = f"have a time on {base}" if base else "had a time before"
            code, said = Exit.UNUSABLE, [f"{lost:,} that {had} have none now", *said]
        if code is None and not found.changes:
            code, said = Exit.NOTHING_JUDGED, ["nothing could be compared"]
        fails = found.unclear if self.unclear == "fail" else not found.is_decided
        if code is None and fails and self.unclear != "pass":
            code, said = Exit.NOTHING_JUDGED, [f"undecided whether slower than {than} {by}"]
        said = said or [f"nothing is seen to be slower than {than} {by}"]
        return code, "; ".join([*said, unclear])


def asked(
    most: float | None, unclear: str | None, *, stored: bool, base: str | None = None
) -> TimingGate | None:
    """Return the gate; raise UsageError without `stored` or `base`, or for too small a limit."""
    from opcheck.timing.comparing import FINEST, FINEST_WITHIN, USUAL

    if not stored and most is None:
        if unclear:
            raise UsageError("--unclear needs --baseline, --compare or --max-regression")
        return None
    if not stored and base is None:
        # Else the first backend would be the old build, whichever it is.
        raise UsageError("--max-regression needs --base BACKEND, or a saved --baseline FILE")
    least = FINEST if stored else FINEST_WITHIN
    if most is not None and most < least:
        raise UsageError(
            f"--max-regression {100 * most:g}%: {100 * least:g}% is the least that can be detected",
            "two builds in one run show less: -b old -b new --base old" if stored else None,
        )
    return TimingGate(USUAL if most is None else most, unclear)


def saved(path: Path) -> Stored:
    """Return a saved benchmark; warn if it was cut short."""
    from opcheck.report.timing_store import read

    stored = read(path)
    if not stored.complete:
        click.echo(f"opcheck: {path} is of a run that was cut short", err=True)
    return stored


def check(path: Path | None, stored: Stored | None, about: Bench, cases: Sequence[Case]) -> None:
    """Raise UsageError where the saved benchmark cannot be compared with what will be measured."""
    if stored is None:
        return
    from opcheck.report import changes
    from opcheck.suite import case_digest

    ids, known = [case.id for case in cases], {row.case: row for row in stored.rows}
    unfair = changes.unfair(changes.differences(stored.bench, about, [*known], ids))
    if unfair:
        raise UsageError(
            f"{path} cannot be compared with this run: {unfair}",
            "times would change without the build: ask for the same, or save a new baseline",
        )
    other = [case.id for case in cases if known[case.id].digest != case_digest(case)]
    lacking = [f"{path} was taken when {case} was another case" for case in other]
    for name in about.backends:
        for case in ids:
            timing = known[case].timing(name)
            if timing is None or not timing.samples:
                lacking.append(f"{path} has no time of {name} for {case}")
    if lacking:
        hint = "leave it out of both by -k, or save a new baseline with `opcheck bench --save FILE`"
        raise UsageError(few(lacking), hint)


def show(console: Console, gate: TimingGate, old: Stored | None, new: Stored) -> Verdict:
    """Print and judge a benchmark, compared with an old one or with its own baseline."""
    from opcheck.report import changes
    from opcheck.timing.comparing import compare_backends, compare_runs

    if old is None:
        base = new.bench.baseline
        found = compare_backends(new.rows, base, gate.most)
        changes.show(console, {}, found, base)
        return gate.verdict(found, base)
    cases = ([row.case for row in stored.rows] for stored in (old, new))
    differences = changes.differences(old.bench, new.bench, *cases)
    found = compare_runs(old.rows, new.rows, gate.most)
    changes.show(console, differences, found)
    return gate.verdict(found, unfair=changes.unfair(differences))


def compare(old: Path, new: Path, most: float | None, unclear: str | None) -> NoReturn:
    """Show what changed between saved benchmarks; raises UsageError for options of measuring."""
    for name in given_besides("compared", "most", "unclear"):
        raise UsageError(f"--compare measures nothing: {name} has no place beside it")
    gate = asked(most, unclear, stored=True)
    assert gate
    code, meaning = show(output(), gate, saved(old), saved(new))
    end(code or Exit.CONFORMS, meaning)
