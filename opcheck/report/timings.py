"""Timings in a terminal: each case once it is measured; means and growth with the size last.

Then changes between two benchmarks, or between two backends of one.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate, cycle, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.cells import cell_len
from rich.console import Console

from opcheck import analysis
from opcheck.errors import Unwritable, UsageError, few
from opcheck.grouping import group_by
from opcheck.model.timing import Bench, Rows, Timed, Timing
from opcheck.report import plain_text
from opcheck.report.plain_text import brief, digits, interval, percent, seconds
from opcheck.report.style import Cell, StyledLines, put_all, together, unlike
from opcheck.timing import Compared, Ratio, Spread, TimingChange, means, ratio, scaling, spread
from opcheck.timing import words as verdict_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter

    from opcheck.timing import Scaling

#: From this width on, there is room for whole intervals and wider gaps.
_WIDE = 100
#: The width of the longest verdict.
_VERDICT = 8
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
    lines.fill(", ".join(together(brief(part)) for part in parts if part))
    backends = (
        f"{address} {version}".rstrip() + " (baseline)" * (address == bench.baseline)
        for address, version in bench.backends.items()
    )
    lines.fill(", ".join(together(brief(one)) for one in backends))
    processes = f"{bench.workers} process{'es' * (bench.workers != 1)} a backend"
    caches = "caches emptied before every call" if bench.cold else "caches warm"
    lines.fill(f"{processes}, {plain_text.plural(bench.threads, 'thread')} each, {caches}")
    for name, count in bench.other_threads.items():
        threads = plain_text.plural(count, "thread")
        lines.fill(f"{brief(name)} computes in {threads}", "yellow")
    silent = ", ".join(brief(one) for one, n in bench.threads_of.items() if n is None)
    if silent:
        lines.fill(f"How many threads they have, nobody can tell of: {silent}", "yellow")
    for name, what in bench.included.items():
        lines.fill(f"Times of {brief(name)} include {what}", "yellow")
    lines.blank()


def show_case(console: Console, bench: Bench, row: Timed) -> None:
    """Print one case, with a line for each backend in the same columns as other cases."""
    lines, is_wide = StyledLines(console), console.width >= _WIDE
    lines.put((brief(row.case), "bold"))
    lines.fill(_about(row))
    timed = [(one, one.spread) for one in reported(bench, row) if one.spread]
    names = [*bench.backends, *(timing.backend for timing in row.timings)]
    longest = max((cell_len(brief(name)) for name in names), default=0)
    margin = 7 if lines.ascii_only else 6
    gap = "  " if is_wide else " "
    columns = [
        " " * min(longest, 32 if is_wide else 14),
        *(" median", "spread".rjust(margin), "ratio"),
        *(["95 % interval"] if is_wide else ["95 %".rjust(margin)]),
        *(" " * _VERDICT, " GB/s", "of copy" if is_wide else " copy", "prepared"),
    ]
    room = lines.width - sum(cell_len(column) + len(gap) for column in columns)
    bar = max(3, min(24, room))
    if timed:
        lines.head(columns, gap)
    for one, found in timed:
        share = found.median / max(other.median for _, other in timed)
        drawn = plain_text.bar(share, bar, ascii_only=lines.ascii_only)
        cells = _cells(row, one, found, is_wide=is_wide)
        lines.row([*columns, " " * bar], [*cells, drawn.ljust(bar)], gap)
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
        brief(timing.backend),
        (seconds(found.median), "bold"),
        margin(found),
        digits(one.value) if one else "1" if verdict == "baseline" else "–",
        ends,
        (verdict.ljust(_VERDICT), _COLOURS.get(verdict, "")),
        plain_text.rate(row.moved, found.median),
        percent(copy.median / found.median) if copy else "–",
        seconds(prepared[len(prepared) // 2]) if prepared else "–",
    ]


def _remarks(row: Timed, spreads: Mapping[str, Spread]) -> Iterator[tuple[str, str]]:
    for timing in row.timings:
        name = brief(timing.backend)
        if timing.backend not in spreads:
            yield f"{name} was not timed: {brief(timing.why_not)}", "red"
        elif timing.printed:
            message = brief(timing.printed.rpartition("\n")[-1])
            yield f"{name} prints while it is timed: {message}", "yellow"
    for remark, value in _MACHINE.items():
        sizes = ((name, value(one)) for name, one in spreads.items())
        some = [together(f"{brief(name)} {size}") for name, size in sizes if size]
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
    base = brief(bench.baseline)
    message = f"Geometric mean of the ratios to {base}, over {over}{found[0].of:,} cases"
    lines.fill(message, "bold")
    if over:
        lines.fill("The others are left out, because not all backends were timed there.")
    lines.fill("The interval tells how far a mean moves with the choice of cases like these.")
    width = min(32, max(cell_len(brief(mean.backend)) for mean in found))
    cells = (
        (brief(mean.backend), digits(mean.value), interval(mean.low, mean.high)) for mean in found
    )
    lines.table([" " * width, "ratio", "95 % interval"], cells)


#: Bytes that must move, and the times of that.
Point: TypeAlias = tuple[int, Spread]

_GAP = "  "
_COPY = "copy"
#: Metadata of pictures by ending, without a date.
_METADATA: Mapping[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "opcheck"},
    ".png": {"Software": "opcheck"},
}
#: Okabe and Ito's colours, which most colour-blind people can distinguish; the faintest come last.
_CURVES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
_MARKERS = "osD^vPX*<>"
#: The least factor between the ends of an axis, and that from which only powers of ten are marked.
_LEAST, _MANY = 6.0, 3e3


def show_sweeps(console: Console, bench: Bench, rows: Rows, plot: Path | None = None) -> None:
    """Print and draw the growth of times in each sweep."""
    for some in group_by((row for row in rows if row.sweep), lambda row: row.sweep).values():
        console.print()
        show_sweep(console, bench, some)
        if plot and any(timing.samples for row in some for timing in row.timings):
            draw(plot, bench, some)


def show_sweep(console: Console, bench: Bench, rows: Rows) -> None:
    """Print the times of one case in several sizes, and their growth."""
    lines = StyledLines(console)
    ordered = sorted(rows, key=lambda row: row.moved)
    lines.fill(title(rows), "bold")
    points = {backend: _points(ordered, backend) for backend in bench.backends}
    _show_times(lines, ordered, {**points, _COPY: _points(ordered, _COPY)})
    _show_growth(lines, points)
    untimed = [(row, one) for row in ordered for one in row.timings if not one.samples]
    why = group_by(untimed, lambda pair: (pair[1].backend, pair[1].why_not))
    for (backend, reason), those in why.items():
        sizes = ", ".join(plain_text.size(row.moved) for row, _ in those)
        name, reason = map(brief, (backend, reason))
        lines.fill(f"{name} was not timed: at {sizes}: {reason}", "red")


def draw(path: Path, bench: Bench, rows: Rows) -> None:
    """Draw the same, some of which has samples, reproducibly; raises Unwritable."""
    curves = {}
    for backend, version in bench.backends.items():
        if points := tuple(_points(rows, backend).values()):
            found = _growth(points)
            power = f", exponent {found.exponent:.2f}" if found else ""
            curves[f"{brief(f'{backend} {version}')}{power}"] = points
    from matplotlib import style

    # Whatever the user's settings are.
    with style.context(["default", Path(__file__).with_name("plot.mplstyle")]):
        figure = _figure(title(rows), curves, tuple(_points(rows, _COPY).values()))
        try:
            figure.savefig(path, metadata=_METADATA[path.suffix.lower()])
        except OSError as error:
            raise Unwritable(path, error) from None


def title(rows: Rows) -> str:
    """Return the title of the rows: the sweep, the operators and the element types."""
    sweep = "".join(f"{name}: " for name in dict.fromkeys(row.sweep for row in rows) if name)
    ops = ", ".join(dict.fromkeys(row.op for row in rows))
    dtypes = ", ".join(dict.fromkeys(row.dtype for row in rows))
    return brief(f"{sweep}{ops} {dtypes}")


def _points(rows: Rows, backend: str) -> dict[str, Point]:
    """Measurements of a backend, or of the copy, by case."""
    points = {}
    for row in rows:
        timing = row.timing(backend) or Timing("")
        if one := spread(row.copy if backend == _COPY else timing.samples, row.yardstick):
            points[row.case] = row.moved, one
    return points


def _growth(points: Iterable[Point]) -> "Scaling | None":
    sized = [(moved, found.median) for moved, found in points if moved]
    return scaling([moved for moved, _ in sized], [seconds for _, seconds in sized])


def _show_times(lines: StyledLines, rows: Rows, points: Mapping[str, dict[str, Point]]) -> None:
    """Print times in as many tables as it takes to fit the width."""
    widest = max((cell_len(brief(row.shapes)) for row in rows), default=0)
    # Wider shapes are not shown.
    shapes = [" " * max(widest, 5)] if widest <= 24 else []
    left = [" " * 8, *shapes]
    both = cell_len(_pair("", ""))
    todo = [(brief(backend), some) for backend, some in points.items()]
    while todo:
        columns = [*left, *(" " * (both - cell_len(name)) + name for name, _ in todo)]
        # As many as fit, and at least one.
        ends = accumulate(cell_len(column) + len(_GAP) for column in columns)
        count = max(1, sum(end - len(_GAP) <= lines.width for end in ends) - len(left))
        del columns[len(left) + count :]
        lines.head(columns)
        names = ["    size", *["shape".ljust(len(one)) for one in shapes]]
        names += [_pair("time", "GB/s")] * count
        lines.row(columns, [(name, "dim") for name in names])
        for row in rows:
            shown = [brief(row.shapes).ljust(len(one)) for one in shapes]
            cells = [plain_text.size(row.moved).rjust(8), *shown]
            for _, some in todo[:count]:
                point = some.get(row.case)
                time = seconds(point[1].median) if point else "–"
                rate = plain_text.rate(point[0], point[1].median) if point else "–"
                cells.append(_pair(time, rate))
            lines.row(columns, cells)
        lines.blank()
        del todo[:count]


def _pair(time: str, rate: str) -> str:
    """A time and a bandwidth, which share a column."""
    return f"{time:>7}{_GAP}{rate:>5}"


def _show_growth(lines: StyledLines, points: Mapping[str, dict[str, Point]]) -> None:
    growths = ((name, _growth(some.values())) for name, some in points.items())
    found = {name: one for name, one in growths if one}
    if not found:
        return
    width = min(32, max(cell_len(brief(name)) for name in found))
    columns = [" " * width, "exponent", "95 % interval", "fixed cost", "flat up to"]
    said = "Time as a fixed cost of a call and a power of the size; flat where the cost is most:"
    lines.fill(said)
    rows = (
        (
            brief(name),
            f"{one.exponent:.2f}",
            f"{one.low:.2f} to {one.high:.2f}" if math.isfinite(one.high - one.low) else "–",
            seconds(one.fixed) if one.fixed else "–",
            plain_text.size(one.flat) if one.flat else "–",
        )
        for name, one in found.items()
    )
    lines.table(columns, rows)


def check_plot(path: Path, sweeps: Collection[str]) -> None:
    """Raise UsageError if not one sweep is to be drawn, or there is no way to draw it."""
    if len(sweeps) != 1:
        said = ", ".join(sorted(sweeps)) or "none"
        hint = "choose one by --case, and its sizes by --sweep"
        raise UsageError(f"--plot draws one case in several sizes, and there is: {said}", hint)
    if path.suffix.lower() not in _METADATA:
        raise UsageError(f"{path}: a plot ends in {' or '.join(_METADATA)}")
    if not find_spec("matplotlib"):
        raise UsageError("plots need matplotlib", "pip install 'opcheck[plot]'")


def _figure(title: str, curves: Mapping[str, Sequence[Point]], copy: Sequence[Point]) -> "Figure":
    """A figure with the curves by label, and the times of a copy as a dotted line."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, FuncFormatter

    figure = Figure()
    figure.suptitle(title, fontsize=12)
    above, below = figure.subplots(2, 1, sharex=True)
    styled = zip(curves.items(), cycle(_CURVES), cycle(_MARKERS), strict=False)
    looks = [
        (points, {"color": colour, "marker": marker, "label": label})
        for (label, points), colour, marker in styled
    ]
    if copy:
        looks.append((copy, {"color": "#888888", "linestyle": ":", "label": "copy"}))
    panels: tuple[tuple[Axes, str, Formatter], ...] = (
        (above, "time of a call: median, quartiles", EngFormatter(unit="s")),
        (below, "bandwidth in GB/s", FuncFormatter(lambda value, _: f"{value:g}")),
    )
    for axes, label, formatter in panels:
        axes.set(xscale="log", yscale="log", ylabel=label)
        for points, look in looks:
            _add(axes, points, look, as_rate=axes is below)
        _mark(axes.yaxis, axes.set_ylim(_limits(axes.get_ylim())), formatter)
    below.set_xlabel("size: bytes that must move")
    _mark(below.xaxis, below.set_xlim(_limits(below.get_xlim())), EngFormatter(unit="B"))
    figure.align_ylabels()
    # Below the axes, where it hides no curve.
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _add(axes: "Axes", points: Sequence[Point], look: dict[str, Any], *, as_rate: bool) -> None:
    """Add a curve; sizes that were not measured leave no gap."""
    import numpy as np

    sized = sorted((moved, one.low, one.median, one.high) for moved, one in points if moved)
    moved, low, middle, high = np.array(sized, float).reshape(-1, 4).T
    if as_rate:
        low, middle, high = (moved / time / 1e9 for time in (high, middle, low))
    axes.errorbar(moved, middle, yerr=[middle - low, high - middle], **look)


def _limits(shown: tuple[float, float]) -> tuple[float, float]:
    """Limits wide enough for flat curves to look flat, and for some marks."""
    low, high = shown
    wider = max(1.0, math.sqrt(_LEAST * low / high))
    return low / wider, high * wider


def _mark(axis: "Axis", limits: tuple[float, float], formatter: "Formatter") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = limits
    axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > _MANY else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())


#: Settings that differ between two runs, with the old and the new value.
Differences: TypeAlias = Mapping[str, tuple[str, str]]

_CHANGED: Mapping[str, str] = {
    "slower": "bold red",
    "faster": "green",
    "same": "",
    "not slower": "",
    "unclear": "bright_black",
}
#: Settings that change times as much as a build does. Others may be the subject of the comparison,
#: such as versions of packages, or matter little next to a fixed piece of work.
_DECISIVE = {*"processor processors governor threads caches warm-up cases opcheck".split()}


def show_changes(
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
    for (lacks, why), some in group_by(compared.missing, lambda one: (one.lacks, one.why)).items():
        named = [together(f"{brief(one.case)} [{brief(one.backend)}]") for one in some]
        lines.fill(f"no times {where[lacks]}: {brief(why)}: {few(named, 5)}", "yellow")
    if compared.missing:
        lines.blank()
    counts = Counter[str](change.verdict for change in compared.changes)
    messages = [f"{counts[word]:,} {word}" for word in _CHANGED if counts[word]]
    messages += [f"{len(compared.missing):,} not compared"] * bool(compared.missing)
    lines.fill(", ".join(messages) or "There is nothing to compare.")


def differences(
    old: Bench, new: Bench, before: Collection[str] = (), after: Collection[str] = ()
) -> Differences:
    """Return the settings that differ between two runs of these cases; "" if missing."""
    found = analysis.unlike(_facts(old), _facts(new))
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
    longest = max(len(title) - 2, *(cell_len(brief(change.backend)) for change in rows))
    # Within one run there are no p-values.
    has_p = not math.isnan(rows[0].p)
    width = 2 + min(longest, 32 if lines.width >= _WIDE else 20)
    columns = [" " * width, "ratio", "95 % interval", *["     p"] * has_p, ""]
    lines.head(columns, first=title)
    for case, alike in groupby(rows, key=lambda change: change.case):
        lines.put((brief(case) or "All cases together", "bold"))
        for change in alike:
            by = f" by more than {100 * beyond:g} %" if change.verdict == "slower" else ""
            cells: list[Cell] = [
                f"  {brief(change.backend)}",
                digits(change.ratio),
                interval(change.low, change.high),
                *["<0.001" if change.p < 0.001 else f"{change.p:.3f}"] * has_p,
                (f"{change.verdict}{by}", _CHANGED[change.verdict]),
            ]
            lines.row(columns, cells)
    lines.blank()
