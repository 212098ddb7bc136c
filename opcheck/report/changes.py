"""Changes between two benchmarks, or between two backends of one."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from rich.cells import cell_len
from rich.console import Console

from opcheck.analysis import comparing
from opcheck.errors import few
from opcheck.model.timing import Bench
from opcheck.report import plain_text
from opcheck.report.plain_text import brief, digits
from opcheck.report.style import Cell, Column, StyledLines, put_all, together, unlike
from opcheck.timing.comparing import Compared, TimingChange, Verdict

#: Settings that differ between two runs, with the old and the new value.
Differences: TypeAlias = Mapping[str, tuple[str, str]]

_COLOURS: Mapping[Verdict, str] = {
    "slower": "bold red",
    "faster": "green",
    "same": "",
    "not slower": "",
    "unclear": "bright_black",
}
_WIDE = 100
#: Settings that change times as much as a build does. Others may be the subject of the comparison,
#: such as versions of packages, or matter little next to a fixed piece of work.
_DECISIVE = {*"processor processors governor threads caches warm-up cases opcheck".split()}


def show(
    console: Console, differences: Differences, compared: Compared, base: str | None = None
) -> None:
    """Print different settings of two runs, every row, and the number of each kind.

    With a `base`, print rows of one run that are slower than it, or unclear.
    """
    put_all(console, unlike(differences))
    lines, rows, title = StyledLines(console), compared.changes, "new / old"
    where = {"old": "in the old run", "new": "in the new run", "both": "in either run"}
    if base is not None:
        rows = tuple(one for one in rows if one.verdict in ("slower", "unclear"))
        to = brief(base)
        title = f"ratio to {to}"
        where = {"old": f"of {to}", "new": "of the backend itself", "both": f"in common with {to}"}
    _show_rows(lines, title, (*rows, *compared.together), compared.beyond)
    if compared.missing:
        lines.put(("Not compared", "bold"))
    by_reason = plain_text.alike(compared.missing, lambda one: (one.lacks, one.why))
    for (lacks, why), some in by_reason.items():
        named = [together(f"{brief(one.case)} [{brief(one.backend)}]") for one in some]
        lines.fill(f"no times {where[lacks]}: {brief(why)}: {few(named, 5)}", "yellow")
    if compared.missing:
        lines.blank()
    counts = Counter(change.verdict for change in compared.changes)
    messages = [f"{counts[word]:,} {word}" for word in _COLOURS if counts[word]]
    messages += [f"{len(compared.missing):,} not compared"] * bool(compared.missing)
    lines.fill(", ".join(messages) or "There is nothing to compare.")


def differences(
    old: Bench, new: Bench, before: Collection[str] = (), after: Collection[str] = ()
) -> Differences:
    """Return the settings that differ between two runs of these cases; "" if missing."""
    found = comparing.unlike(_facts(old), _facts(new))
    if {*before} != {*after}:
        found["cases"] = _cases(before, after), _cases(after, before)
    return found


def unfair(differences: Differences) -> str:
    """Describe the differences that may change times, or ""."""
    return "; ".join(
        f"{name} {was or 'absent'} there, {now or 'absent'} here"
        for name, (was, now) in differences.items()
        if name in _DECISIVE
        or name.startswith("threads of ")
        # Other backends use caches and processors too.
        or (name.startswith("backend ") and not (was and now))
    )


def _cases(mine: Collection[str], others: Collection[str]) -> str:
    """`16 (only in this run: Hardmax/x, …)`: the number, and an example."""
    alone = [case for case in mine if case not in others]
    more = ", …" * (len(alone) > 1)
    named = f" (only in this run: {alone[0]}{more})" if alone else ""
    return f"{len(mine):,}{named}"


def _facts(bench: Bench) -> Mapping[str, str]:
    """Return the settings that two runs should share."""
    machine = bench.machine
    busy = machine.load > machine.cores / 2
    return {
        "processor": machine.processor,
        "processors": f"{machine.cores:,}",
        "memory": plain_text.size(machine.memory),
        "governor": machine.governor,
        "load": f"high: {machine.load:g}" if busy else "low",
        "platform": machine.platform,
        "threads": f"{bench.threads:,}",
        **{f"threads of {name}": f"{count:,}" for name, count in bench.other_threads.items()},
        "processes a backend": f"{bench.workers:,}",
        "caches": "cold" if bench.cold else "warm",
        "warm-up": f"{bench.warm:g} s",
        "Python": bench.python,
        "opcheck": bench.opcheck,
        **{f"package {name}": version for name, version in bench.packages.items()},
        **{f"backend {name}": version for name, version in bench.backends.items()},
    }


def _show_rows(lines: StyledLines, title: str, rows: Sequence[TimingChange], beyond: float) -> None:
    if not rows:
        return
    names = (brief(change.backend) for change in rows)
    longest = max(len(title) - 2, *map(cell_len, names))
    # Within one run there are no p-values.
    has_p = not math.isnan(rows[0].p)
    columns = [
        Column(title, 2 + min(longest, 32 if lines.width >= _WIDE else 20), left=True),
        Column("ratio", 5),
        Column("95 % interval", 13),
        *[Column("p", 6)] * has_p,
        Column("", 0, left=True),
    ]
    lines.head(columns)
    for case, alike in groupby(rows, key=lambda change: change.case):
        lines.put((brief(case) or "All cases together", "bold"))
        for change in alike:
            by = f" by more than {100 * beyond:g} %" if change.verdict == "slower" else ""
            cells: list[Cell] = [
                f"  {brief(change.backend)}",
                digits(change.ratio),
                plain_text.interval(change.low, change.high),
                *["<0.001" if change.p < 0.001 else f"{change.p:.3f}"] * has_p,
                (f"{change.verdict}{by}", _COLOURS[change.verdict]),
            ]
            lines.row(columns, cells)
    lines.blank()
