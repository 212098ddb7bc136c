"""Timings in a terminal: each case once it is measured, means over all of them at the end."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console

from opcheck.model.timing import Bench, Rows, Timed, Timing
from opcheck.report import plain_text
from opcheck.report.plain_text import digits, interval, percent, seconds
from opcheck.report.style import Cell, Column, StyledLines, together
from opcheck.timing.ratios import Ratio, Spread, means, ratio, spread
from opcheck.timing.ratios import words as verdict_on

#: From this width on, there is room for whole intervals and wider gaps.
_WIDE = 100
#: Possible flaws of times, and the size of a flaw, "" for none.
_MACHINE: Mapping[str, Callable[[Spread], str]] = {
    "busy (other processes had the processor for so much of the time, which is left out)": (
        lambda one: percent(one.waited) if one.busy else ""
    ),
    "noisy (one sample in ten took so many times the median, or longer)": (
        lambda one: digits(one.tail) if one.noisy else ""
    ),
    "drifting (so much slower at the end of its processes than at the beginning)": (
        lambda one: percent(one.drift) if one.drift else ""
    ),
}
_COLOURS = {"faster": "green", "slower": "yellow", "unclear": "bright_black"}


def show(console: Console, bench: Bench, rows: Rows, *, complete: bool = True) -> None:
    """Print a whole benchmark, such as one that was stored."""
    show_head(console, bench)
    for row in rows:
        show_case(console, bench, row)
    show_means(console, bench, rows)
    if not complete:
        said = f"INCOMPLETE: it was cut short after {plain_text.plural(len(rows), 'case')}"
        StyledLines(console).put((said, "bold red"))


def show_head(console: Console, bench: Bench) -> None:
    """Print the machine, the backends and the options."""
    lines, machine = StyledLines(console), bench.machine
    parts = [machine.processor, plain_text.plural(machine.cores, "processor")]
    parts += [f"governor {machine.governor}"] * bool(machine.governor)
    parts += [f"load {machine.load:g}", machine.platform, f"Python {bench.python}"]
    lines.fill(", ".join(together(plain_text.brief(part)) for part in parts if part))
    backends = (
        f"{address} {version}".rstrip() + " (baseline)" * (address == bench.baseline)
        for address, version in bench.backends.items()
    )
    lines.fill(", ".join(together(plain_text.brief(one)) for one in backends))
    processes = f"{bench.workers} process{'es' * (bench.workers != 1)} a backend"
    caches = "caches emptied before every call" if bench.cold else "caches warm"
    lines.fill(f"{processes}, {plain_text.plural(bench.threads, 'thread')} each, {caches}")
    for name, count in bench.other_threads.items():
        threads = plain_text.plural(count, "thread")
        lines.fill(f"{plain_text.brief(name)} computes in {threads}", "yellow")
    silent = ", ".join(plain_text.brief(one) for one, n in bench.threads_of.items() if n is None)
    if silent:
        lines.fill(f"How many threads they have, nobody can tell of: {silent}", "yellow")
    for name, what in bench.included.items():
        lines.fill(f"Times of {plain_text.brief(name)} include {what}", "yellow")
    lines.blank()


def show_case(console: Console, bench: Bench, row: Timed) -> None:
    """Print one case, with a line for each backend in the same columns as other cases."""
    lines, is_wide = StyledLines(console), console.width >= _WIDE
    lines.put((plain_text.brief(row.case), "bold"))
    lines.fill(_about(row))
    timed = [(one, one.spread) for one in reported(bench, row) if one.spread]
    names = [*bench.backends, *(timing.backend for timing in row.timings)]
    longest = max((cell_len(plain_text.brief(name)) for name in names), default=0)
    margin = 7 if lines.ascii_only else 6
    gap = "  " if is_wide else " "
    columns = [
        Column("", min(longest, 32 if is_wide else 14), left=True),
        Column("median", 7),
        Column("spread", margin),
        Column("ratio", 5),
        Column("95 % interval", 13) if is_wide else Column("95 %", margin),
        Column("", 8, left=True),
        Column("GB/s", 5),
        Column("of copy", 7) if is_wide else Column("copy", 5),
        Column("prepared", 8),
    ]
    taken = sum(column.width + len(gap) for column in columns)
    bar = Column("", max(3, min(24, lines.width - taken)), left=True)
    if timed:
        lines.head(columns, gap)
    for one, found in timed:
        share = found.median / max(other.median for _, other in timed)
        drawn = plain_text.bar(share, bar.width, ascii_only=lines.ascii_only)
        lines.row([*columns, bar], [*_cells(row, one, found, is_wide=is_wide), drawn], gap)
    for remark, colour in _remarks(row, {one.timing.backend: found for one, found in timed}):
        lines.fill(remark, colour)
    lines.blank()


def _about(row: Timed) -> str:
    """`Softmax-13 float32 [64, 50257]: 25.7 MB must move, which a copy does at 66.5 GB/s`."""
    parts = " ".join(part for part in (row.op, row.dtype, row.shapes) if part)
    if not row.moved:
        return parts  # no backend answers it rightly
    about = f"{parts}: {together(plain_text.size(row.moved))} must move"
    copy = spread(row.copy, row.yardstick)
    if copy is None:
        return about
    rate = together(f"{plain_text.rate(row.moved, copy.median)} GB/s")
    return f"{about}, which a copy does at {rate}"


@dataclass(frozen=True)
class ReportedTiming:
    """Timing of a backend, without a `spread` if it has none; `ratio` is to the baseline."""

    timing: Timing
    spread: Spread | None
    ratio: Ratio | None = None
    verdict: str = ""


def reported(bench: Bench, row: Timed) -> Iterator[ReportedTiming]:
    """Yield the timing of each backend of a case."""
    base = row.timing(bench.baseline)
    for timing in row.timings:
        found = spread(timing.samples, row.yardstick)
        if timing is base and found:
            yield ReportedTiming(timing, found, verdict="baseline")
        elif found is None or base is None or not base.samples:
            yield ReportedTiming(timing, found)
        else:
            one = ratio(timing, base)
            yield ReportedTiming(timing, found, one, verdict_on(one) if one else "no pairs")


def margin(found: Spread) -> str:
    """Half the distance of the quartiles, as a part of the median: `±1.2 %`."""
    return f"±{percent((found.high - found.low) / found.median / 2)}"


def _cells(row: Timed, shown: ReportedTiming, found: Spread, *, is_wide: bool) -> list[Cell]:
    timing, one, verdict = shown.timing, shown.ratio, shown.verdict
    ends = "" if not one else interval(one.low, one.high) if is_wide else _margin(one)
    copy = spread(row.copy, row.yardstick)
    prepared = sorted(timing.prepared)
    return [
        plain_text.brief(timing.backend),
        (seconds(found.median), "bold"),
        margin(found),
        digits(one.value) if one else "1" if verdict == "baseline" else "–",
        ends,
        (verdict, _COLOURS.get(verdict, "")),
        plain_text.rate(row.moved, found.median),
        percent(copy.median / found.median) if copy else "–",
        seconds(prepared[len(prepared) // 2]) if prepared else "–",
    ]


def _remarks(row: Timed, spreads: Mapping[str, Spread]) -> Iterator[tuple[str, str]]:
    for timing in row.timings:
        name = plain_text.brief(timing.backend)
        if timing.backend not in spreads:
            yield f"{name} was not timed: {plain_text.brief(timing.why_not)}", "red"
        elif timing.printed:
            message = plain_text.brief(timing.printed.rpartition("\n")[-1])
            yield f"{name} prints while it is timed: {message}", "yellow"
    for remark, value in _MACHINE.items():
        sizes = ((name, value(one)) for name, one in spreads.items())
        some = [together(f"{plain_text.brief(name)} {size}") for name, size in sizes if size]
        if some:
            yield f"{remark}: {', '.join(some)}", "yellow"


def _margin(found: Ratio) -> str:
    """Return the margin to the farther end: `±1.2 %`, or `×3.1` where it is large."""
    if found.low <= 0 or not math.isfinite(found.high):
        return "–"
    factor = max(found.high / found.value, found.value / found.low)
    return f"±{percent(factor - 1)}" if factor < 1.5 else f"×{digits(factor)}"


def show_means(console: Console, bench: Bench, rows: Rows) -> None:
    """Print the mean of each backend over all cases, if there are several."""
    found = means(rows, bench.baseline)
    if not found or found[0].of < 2:
        return
    lines = StyledLines(console)
    over = f"{found[0].cases:,} of " * (found[0].cases < found[0].of)
    base = plain_text.brief(bench.baseline)
    message = f"Geometric mean of the ratios to {base}, over {over}{found[0].of:,} cases"
    lines.fill(message, "bold")
    if over:
        lines.fill("The others are left out, because not all backends were timed there.")
    lines.fill("The interval tells how far a mean moves with the choice of cases like these.")
    width = min(32, max(cell_len(plain_text.brief(mean.backend)) for mean in found))
    columns = [Column("", width, left=True), Column("ratio", 5), Column("95 % interval", 13)]
    cells = (
        (plain_text.brief(mean.backend), digits(mean.value), interval(mean.low, mean.high))
        for mean in found
    )
    lines.table(columns, cells)
