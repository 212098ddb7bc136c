"""Two benchmarks of different times: first what was not alike in them, then what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console

from opcheck.model.timing import Bench
from opcheck.report import amounts, words
from opcheck.report.amounts import digits
from opcheck.report.lines import Column, Lines, together
from opcheck.report.look import put, unlike
from opcheck.timing.comparing import Change, Compared
from opcheck.timing.ratios import Word

_COLOURS: Mapping[Word, str] = {
    "slower": "bold red",
    "faster": "green",
    "same": "",
    "unclear": "bright_black",
}
_WIDE = 100
#: How many rows that lack for the same reason are named.
_ROWS = 5


def show(console: Console, old: Bench, new: Bench, compared: Compared) -> None:
    """Print differences of the environment, every row, and how many there are of each kind."""
    table = unlike(differences(old, new))
    if table.row_count:
        put(console, table)
        console.print()
    lines = Lines(console)
    _show_changes(lines, compared)
    _show_missing(lines, compared)
    counts = Counter(change.verdict for change in compared.changes)
    told = [f"{counts[word]:,} {word}" for word in _COLOURS if counts[word]]
    told += [f"{len(compared.missing):,} not compared"] * bool(compared.missing)
    lines.fill(", ".join(told) or "There is nothing to compare.")


def differences(old: Bench, new: Bench) -> dict[str, tuple[str, str]]:
    """What was not alike in the two runs, and how it was; an empty text where it was not at all."""
    was, now = _facts(old), _facts(new)
    both = {name: (was.get(name, ""), now.get(name, "")) for name in {**was, **now}}
    return {name: (one, other) for name, (one, other) in both.items() if one != other}


def _facts(bench: Bench) -> Mapping[str, str]:
    """What two runs should have in common; of the load, which is never the same, the kind."""
    machine = bench.machine
    busy = machine.load > machine.cores / 2
    return {
        "processor": machine.processor,
        "processors": f"{machine.cores:,}",
        "memory": amounts.size(machine.memory),
        "governor": machine.governor,
        "load": f"high: {machine.load:g}" if busy else "low",
        "platform": machine.platform,
        "threads": f"{bench.threads:,}",
        **{f"threads of {name}": f"{count:,}" for name, count in bench.other_threads.items()},
        "processes a backend": f"{bench.workers:,}",
        "caches": "cold" if bench.cold else "warm",
        "Python": bench.python,
        "opcheck": bench.opcheck,
        **{f"package {name}": version for name, version in bench.packages.items()},
        **{f"backend {name}": version for name, version in bench.backends.items()},
    }


def _show_changes(lines: Lines, compared: Compared) -> None:
    changes = (*compared.changes, *compared.together)
    if not changes:
        return
    longest = max(cell_len(words.brief(change.backend)) for change in changes)
    columns = [
        Column("new / old", 2 + min(longest, 32 if lines.width >= _WIDE else 20), left=True),
        Column("ratio", 5),
        Column("95 % interval", 13),
        Column("p", 6),
        Column("", 0, left=True),
    ]
    lines.head(columns, "  ")
    for case, alike in groupby(changes, key=lambda change: change.case):
        lines.put((words.brief(case) or "All cases together", "bold"))
        for change in alike:
            cells = [
                (f"  {words.brief(change.backend)}", ""),
                (digits(change.ratio), ""),
                (amounts.interval(change.low, change.high), ""),
                ("<0.001" if change.p < 0.001 else f"{change.p:.3f}", ""),
                _verdict(change, compared.beyond),
            ]
            lines.row(columns, cells, "  ")
    lines.blank()


def _verdict(change: Change, beyond: float) -> tuple[str, str]:
    """In words, with its colour."""
    by = f" by more than {100 * beyond:g} %" if change.verdict == "slower" else ""
    return f"{change.verdict}{by}", _COLOURS[change.verdict]


def _show_missing(lines: Lines, compared: Compared) -> None:
    """What lacks for the same reason is told together, and counted where it is much."""
    if not compared.missing:
        return
    lines.put(("Not compared", "bold"))
    alike: dict[tuple[str, str], list[str]] = {}
    for one in compared.missing:
        row = together(f"{words.brief(one.case)} [{words.brief(one.backend)}]")
        alike.setdefault((one.lacks, one.why), []).append(row)
    for (lacks, why), rows in alike.items():
        run = "either run" if lacks == "both" else f"the {lacks} run"
        left = len(rows) - _ROWS
        more = f", and {left:,} more" if left > 0 else ""
        said = f"no times in {run}: {words.brief(why)}: {', '.join(rows[:_ROWS])}{more}"
        lines.fill(said, "yellow")
    lines.blank()
