"""The picture of a sweep: time and bandwidth against size, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opcheck.errors import Unwritable, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter

#: What the picture of a file with this ending is: SVG keeps letters as outlines, so that it looks
#: alike everywhere, and neither has a date in it.
_METADATA: Mapping[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "opcheck"},
    ".png": {"Software": "opcheck"},
}
#: Okabe and Ito's colours, which most colour-blind people tell apart; the faintest come last.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
_MARKERS = "osD^vPX*<>"
#: From the lowest to the highest value, an axis shows at least so much; one of more than _MANY has
#: marks at powers of ten only.
_LEAST, _MANY = 6.0, 3e3
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "opcheck",
    "svg.fonttype": "path",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.which": "both",
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
}


@dataclass(frozen=True)
class Point:
    """The bytes that must move, the seconds that takes, and the interval these lie in."""

    moved: int
    seconds: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """What one backend takes; `label` is what the legend says of it."""

    label: str
    points: tuple[Point, ...]


def check(path: Path) -> None:
    """Raise UsageError where no picture could be drawn into this file: before hours of measuring.

    That is where its ending names no known format, or matplotlib is missing.
    """
    if path.suffix.lower() not in _METADATA:
        raise UsageError(f"{path}: a plot ends in {' or '.join(_METADATA)}")
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UsageError("plots need matplotlib", "pip install 'opcheck[plot]'")


def draw(path: Path, title: str, curves: Sequence[Curve], copy: Sequence[Point]) -> None:
    """Draw the curves, and what copying takes as a dotted line; the same file for the same data.

    Raises UsageError where there is nothing to draw, and Unwritable.
    """
    check(path)
    if not curves:
        raise UsageError("nothing was timed, so there is nothing to draw")
    from matplotlib import rc_context, style

    with style.context("default"), rc_context(_STYLE):
        figure = _figure(title, curves, copy)
        metadata = _METADATA[path.suffix.lower()]
        try:
            figure.savefig(path, dpi=150, metadata=metadata)
        except OSError as error:
            raise Unwritable(path, error) from None


def _figure(title: str, curves: Sequence[Curve], copy: Sequence[Point]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8.5), layout="constrained")
    figure.suptitle(title, fontsize=12)
    above, below = figure.subplots(2, 1, sharex=True)
    for axes in (above, below):
        axes.set_xscale("log")
        axes.set_yscale("log")
    for number, curve in enumerate(curves):
        look = {
            "color": _COLOURS[number % len(_COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
            "label": curve.label,
        }
        _add(above, curve.points, look, as_rate=False)
        _add(below, curve.points, look, as_rate=True)
    if copy:
        look = {"color": "#888888", "linestyle": ":", "label": "copy"}
        _add(above, copy, look, as_rate=False)
        _add(below, copy, look, as_rate=True)
    _label(above, below)
    figure.align_ylabels()
    # Beside the axes, where it hides no curve however many there are.
    named = above.get_legend_handles_labels()
    figure.legend(*named, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _add(axes: Axes, points: Sequence[Point], look: dict[str, Any], *, as_rate: bool) -> None:
    """A curve; what was not measured leaves no gap, for sizes are few."""
    ordered = sorted((one for one in points if one.moved), key=lambda point: point.moved)
    sizes = [point.moved for point in ordered]
    values = [_value(point, point.seconds, as_rate) for point in ordered]
    ends = [
        sorted((_value(point, point.low, as_rate), _value(point, point.high, as_rate)))
        for point in ordered
    ]
    down = [max(value - low, 0) for value, (low, _) in zip(values, ends, strict=True)]
    up = [max(high - value, 0) for value, (_, high) in zip(values, ends, strict=True)]
    axes.errorbar(sizes, values, yerr=[down, up], capsize=3, linewidth=1.5, markersize=6, **look)


def _value(point: Point, seconds: float, as_rate: bool) -> float:
    return point.moved / seconds / 1e9 if as_rate else seconds


def _label(above: Axes, below: Axes) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter

    above.set_ylabel("time of a call: median, quartiles")
    below.set_ylabel("bandwidth in GB/s")
    below.set_xlabel("size: bytes that must move")
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    _mark(above.yaxis, above.set_ylim(_limits(above.get_ylim())), EngFormatter(unit="s"))
    _mark(below.yaxis, below.set_ylim(_limits(below.get_ylim())), plain)
    _mark(below.xaxis, below.set_xlim(_limits(below.get_xlim())), EngFormatter(unit="B"))


def _limits(shown: tuple[float, float]) -> tuple[float, float]:
    """Wide enough for what is flat to look flat, and for some marks."""
    low, high = shown
    wider = max(1.0, math.sqrt(_LEAST * low / high))
    return low / wider, high * wider


def _mark(axis: Axis, limits: tuple[float, float], formatter: Formatter) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = limits
    axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > _MANY else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())
