"""Time and bandwidth of backends by the size of a case."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.cells import cell_len
from rich.console import Console

from opcheck.errors import Unwritable, UsageError
from opcheck.model.timing import Bench, Rows, Timing
from opcheck.report import plain_text
from opcheck.report.plain_text import seconds
from opcheck.report.style import Column, StyledLines
from opcheck.timing.ratios import Scaling, Spread, scaling, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter

#: Bytes that must move, and the times of that.
Point: TypeAlias = tuple[int, Spread]

_GAP = "  "
#: A time and a bandwidth, which share a column.
_TIME, _RATE = Column("time", 7), Column("GB/s", 5)
_COPY = "copy"
#: Metadata of pictures by ending, without a date.
_METADATA: Mapping[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "opcheck"},
    ".png": {"Software": "opcheck"},
}
#: Okabe and Ito's colours, which most colour-blind people can distinguish; the faintest come last.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
_MARKERS = "osD^vPX*<>"
#: The least factor between the ends of an axis, and that from which only powers of ten are marked.
_LEAST, _MANY = 6.0, 3e3


def show_sweeps(console: Console, bench: Bench, rows: Rows, plot: Path | None = None) -> None:
    """Print and draw the growth of times in each sweep."""
    sweeps = plain_text.alike((row for row in rows if row.sweep), lambda row: row.sweep)
    for some in sweeps.values():
        console.print()
        show(console, bench, some)
        if plot and any(timing.samples for row in some for timing in row.timings):
            draw(plot, bench, some)


def show(console: Console, bench: Bench, rows: Rows) -> None:
    """Print the times of one case in several sizes, and their growth."""
    lines = StyledLines(console)
    ordered = sorted(rows, key=lambda row: row.moved)
    lines.fill(title(rows), "bold")
    points = {backend: _points(ordered, backend) for backend in bench.backends}
    _show_times(lines, ordered, {**points, _COPY: _points(ordered, _COPY)})
    _show_growth(lines, points)
    untimed = [(row, one) for row in ordered for one in row.timings if not one.samples]
    why = plain_text.alike(untimed, lambda pair: (pair[1].backend, pair[1].why_not))
    for (backend, reason), those in why.items():
        sizes = ", ".join(plain_text.size(row.moved) for row, _ in those)
        name, reason = map(plain_text.brief, (backend, reason))
        lines.fill(f"{name} was not timed: at {sizes}: {reason}", "red")


def draw(path: Path, bench: Bench, rows: Rows) -> None:
    """Draw the same, some of which has samples, reproducibly; raises Unwritable."""
    curves = {}
    for backend, version in bench.backends.items():
        if points := tuple(_points(rows, backend).values()):
            found = _growth(points)
            power = f", exponent {found.exponent:.2f}" if found else ""
            curves[f"{plain_text.brief(f'{backend} {version}')}{power}"] = points
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
    return plain_text.brief(f"{sweep}{ops} {dtypes}")


def _points(rows: Rows, backend: str) -> dict[str, Point]:
    """Measurements of a backend, or of the copy, by case."""
    points = {}
    for row in rows:
        timing = row.timing(backend) or Timing("")
        if one := spread(row.copy if backend == _COPY else timing.samples, row.yardstick):
            points[row.case] = row.moved, one
    return points


def _growth(points: Iterable[Point]) -> Scaling | None:
    sized = [(moved, found.median) for moved, found in points if moved]
    return scaling([moved for moved, _ in sized], [seconds for _, seconds in sized])


def _show_times(lines: StyledLines, rows: Rows, points: Mapping[str, dict[str, Point]]) -> None:
    """Print times in as many tables as it takes to fit the width."""
    widest = max((cell_len(plain_text.brief(row.shapes)) for row in rows), default=0)
    # Wider shapes are not shown.
    shapes = [Column("shape", max(widest, 5), left=True)] if widest <= 24 else []
    left = [Column("size", 8), *shapes]
    both = cell_len(_pair("", ""))
    todo = [(plain_text.brief(backend), some) for backend, some in points.items()]
    while todo:
        columns = [*left]
        for name, _ in todo:
            columns.append(Column(name, max(both, cell_len(name))))
            width = sum(column.width + len(_GAP) for column in columns) - len(_GAP)
            if len(columns) > len(left) + 1 and width > lines.width:
                columns.pop()
                break
        count = len(columns) - len(left)
        lines.head([*(Column("", column.width) for column in left), *columns[len(left) :]])
        names = [column.name for column in left] + [_pair(_TIME.name, _RATE.name)] * count
        lines.row(columns, [(name, "dim") for name in names])
        for row in rows:
            cells = [plain_text.size(row.moved), plain_text.brief(row.shapes)][: len(left)]
            for _, some in todo[:count]:
                point = some.get(row.case)
                time = seconds(point[1].median) if point else "–"
                rate = plain_text.rate(point[0], point[1].median) if point else "–"
                cells.append(_pair(time, rate))
            lines.row(columns, cells)
        lines.blank()
        del todo[:count]


def _pair(time: str, rate: str) -> str:
    return f"{_TIME.cell(time)}{_GAP}{_RATE.cell(rate)}"


def _show_growth(lines: StyledLines, points: Mapping[str, dict[str, Point]]) -> None:
    growths = ((name, _growth(some.values())) for name, some in points.items())
    found = {name: one for name, one in growths if one}
    if not found:
        return
    columns = [
        Column("", min(32, max(cell_len(plain_text.brief(name)) for name in found)), left=True),
        Column("exponent", 8),
        Column("95 % interval", 13),
        Column("fixed cost", 10),
        Column("flat up to", 10),
    ]
    said = "Time as a fixed cost of a call and a power of the size; flat where the cost is most:"
    lines.fill(said)
    rows = (
        (
            plain_text.brief(name),
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


def _figure(title: str, curves: Mapping[str, Sequence[Point]], copy: Sequence[Point]) -> Figure:
    """A figure with the curves by label, and the times of a copy as a dotted line."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, FuncFormatter

    figure = Figure()
    figure.suptitle(title, fontsize=12)
    above, below = figure.subplots(2, 1, sharex=True)
    styled = zip(curves.items(), cycle(_COLOURS), cycle(_MARKERS), strict=False)
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


def _add(axes: Axes, points: Sequence[Point], look: dict[str, Any], *, as_rate: bool) -> None:
    """Add a curve; sizes that were not measured leave no gap."""
    sized = sorted(((moved, found) for moved, found in points if moved), key=lambda point: point[0])
    sizes = [moved for moved, _ in sized]

    def values(name: str) -> list[float]:
        times = [(moved, getattr(found, name)) for moved, found in sized]
        return [moved / time / 1e9 if as_rate else time for moved, time in times]

    middle, *ends = map(values, ("median", "high", "low") if as_rate else ("median", "low", "high"))
    errors = [[abs(value - one) for value, one in zip(middle, end, strict=True)] for end in ends]
    axes.errorbar(sizes, middle, yerr=errors, **look)


def _limits(shown: tuple[float, float]) -> tuple[float, float]:
    """Limits wide enough for flat curves to look flat, and for some marks."""
    low, high = shown
    wider = max(1.0, math.sqrt(_LEAST * low / high))
    return low / wider, high * wider


def _mark(axis: Axis, limits: tuple[float, float], formatter: Formatter) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = limits
    axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > _MANY else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())
