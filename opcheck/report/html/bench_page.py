"""The page of a benchmark."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from statistics import median
from typing import TYPE_CHECKING, Any

from opcheck.model.timing import Timed
from opcheck.report import plain_text
from opcheck.report.html import plots
from opcheck.report.html.page import document
from opcheck.report.html.plots import COLOURS, Canvas, Drawing, drawing, saved
from opcheck.report.timing_store import Stored
from opcheck.report.timings import ReportedTiming, margin, reported
from opcheck.timing.ratios import ZONE, Ratio, means
from opcheck.timing.spread import Spread, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: In points: the width of the axes, height of a line, width of a letter, margins below and above.
_WIDTH, _LINE, _LETTER, _BELOW, _ABOVE = 300.0, 16.0, 5.0, 30.0, 16.0
#: The longest name next to an axis, in characters.
_NAME = 34
#: A larger factor between the ends of an axis makes it logarithmic.
_FAR = 12.0
_SERIES = [colour for name, colour in COLOURS.items() if name.startswith("--series")]


def lines(stored: Stored) -> Iterator[str]:
    """The whole document, line by line."""
    bench, rows = stored.bench, stored.rows
    drawings: dict[str, Drawing] = {}
    # Each case with the time of a copy, its backends, and the name of its drawing.
    cases: list[tuple[Timed, Spread | None, Sequence[ReportedTiming], str]] = []
    colours = dict(zip(bench.backends, cycle(_SERIES), strict=False))
    for number, row in enumerate(rows):
        name = ""
        if plots.available() and any(timing.samples for timing in row.timings):
            name = f"t{number}"
            drawings[name] = times(row, colours)
        cases.append((row, spread(row.copy, row.yardstick), [*reported(bench, row)], name))
    compared = [
        (row.case, line.timing.backend, line.ratio)
        for row, _, lines, _ in cases
        for line in lines
        if line.ratio
    ]
    if compared and plots.available():
        drawings["ratios"] = ratios(compared, colours)
    yield from document(
        "bench.html",
        stored=stored,
        bench=bench,
        machine=bench.machine,
        cases=cases,
        means=means(rows, bench.baseline),
        drawings=drawings,
        can_draw=plots.available(),
        amounts=plain_text,
        margin=margin,
        median=median,
    ).split("\n")


def times(row: Timed, of: Mapping[str, str]) -> Drawing:
    """Draw the median, the middle half and the middle 80 % of each backend's samples."""
    import numpy as np

    timed = [timing for timing in row.timings if timing.samples]
    with _axes([timing.backend for timing in timed]) as (axes, done):
        for place, timing in enumerate(timed):
            seconds = [sample.seconds for sample in timing.samples]
            ends = np.percentile(seconds, (10, 25, 50, 75, 90)).tolist()
            _interval(axes, place, ends, of[timing.backend])
        _scale(axes, "s")
        axes.set_xlabel("time of a call: median, middle half, middle 80 %", labelpad=2)
        return done()


def ratios(rows: Sequence[tuple[str, str, Ratio]], of: Mapping[str, str]) -> Drawing:
    """Draw ratios with 95 % intervals, dotted if boundless, and the band of no difference."""
    cases = [case for case, _, _ in rows]
    firsts = [case if case not in cases[:place] else "" for place, case in enumerate(cases)]
    with _axes(firsts, [backend for _, backend, _ in rows]) as (axes, done):
        axes.axvspan(1 / (1 + ZONE), 1 + ZONE, color=COLOURS["--line"], linewidth=0)
        axes.axvline(1, color=COLOURS["--soft"], linewidth=0.6)
        for place, (_, backend, one) in enumerate(rows):
            low, high = one.low, one.high
            if low <= 0 or not math.isfinite(high):
                axes.axhline(place, linewidth=0.8, linestyle=":", color=of[backend])
                low = high = one.value
            _interval(axes, place, (low, one.value, one.value, one.value, high), of[backend])
        _scale(axes, "")
        axes.set_xlabel("time relative to the baseline, with its 95 % interval", labelpad=2)
        axes.tick_params(top=True, labeltop=True)
        return done()


def _interval(axes: Axes, place: int, ends: Sequence[float], colour: str) -> None:
    """Draw a thin line between the outer ends, a thick one between the inner, and a mark."""
    low, lower, middle, upper, high = ends
    line: dict[str, Any] = {"color": colour, "solid_capstyle": "butt"}
    axes.plot((low, high), (place, place), linewidth=1.2, **line)
    axes.plot((lower, upper), (place, place), linewidth=5, **line)
    axes.plot((middle, middle), (place - 0.32, place + 0.32), linewidth=2, **line)


def _scale(axes: Axes, unit: str) -> None:
    """Set a few round marks, and a logarithmic scale for values far apart."""
    from matplotlib import ticker

    low, high = axes.dataLim.intervalx
    plain = ticker.FuncFormatter(lambda value, _: f"{value:g}")
    if low > 0 and high / low > _FAR:
        axes.set_xscale("log")
        decades = math.log10(high / low)
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        axes.xaxis.set_major_locator(ticker.MaxNLocator(5))
    axes.xaxis.set_major_formatter(ticker.EngFormatter(unit=unit) if unit else plain)
    axes.grid(axis="x", color=COLOURS["--line"], linewidth=0.5)


def _short(names: Sequence[str]) -> list[str]:
    brief = map(plain_text.brief, names)
    return [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…" for name in brief]


@contextmanager
def _axes(
    names: Sequence[str], behind: Sequence[str] = ()
) -> Iterator[tuple[Axes, Callable[[], Drawing]]]:
    """Axes with a line for each name, a text `behind` it, and a function that ends the drawing."""
    shown, ends = _short(names), _short(behind)
    left, right = (12 + _LETTER * max(map(len, some), default=0) for some in (shown, ends))
    with drawing(), warnings.catch_warnings():
        # Matplotlib's font lacks letters that a browser has.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas = Canvas()
        axes = canvas.axes
        canvas.size(_WIDTH, _LINE * len(names), (left, right, _BELOW, _ABOVE))
        canvas.bare()
        axes.set_axisbelow(True)
        axes.set_yticks(range(len(names)), shown)
        axes.set_ylim(len(names) - 0.5, -0.5)
        for line, said in enumerate(ends):
            at = axes.get_yaxis_transform()
            axes.text(1.01, line, said, transform=at, va="center")
        yield axes, lambda: saved(canvas.figure)
