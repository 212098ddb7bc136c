"""The page of a benchmark."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from statistics import median

from opcheck.model.timing import Timed
from opcheck.report import plain_text
from opcheck.report.html.run_page import LETTER, Drawing, document, drawn
from opcheck.report.timing_store import Stored
from opcheck.report.timings import ReportedTiming, margin, reported
from opcheck.timing.ratios import ZONE, Ratio, Spread, means, spread

#: In points: the width of the axes, height of a line, margins below and above.
_WIDTH, _LINE, _BELOW, _ABOVE = 300.0, 16.0, 30.0, 16.0
SERIES = [f"--series-{number}" for number in range(6)]


def lines(stored: Stored) -> Iterator[str]:
    """The whole document, line by line."""
    bench, rows = stored.bench, stored.rows
    drawings: dict[str, Drawing] = {}
    # Each case with the time of a copy, its backends, and the name of its drawing.
    cases: list[tuple[Timed, Spread | None, Sequence[ReportedTiming], str]] = []
    colours = dict(zip(bench.backends, cycle(SERIES), strict=False))
    for number, row in enumerate(rows):
        name = ""
        if any(timing.samples for timing in row.timings):
            name = f"t{number}"
            drawings[name] = times(row, colours)
        cases.append((row, spread(row.copy, row.yardstick), [*reported(bench, row)], name))
    compared = [
        (row.case, line.timing.backend, line.ratio)
        for row, _, lines, _ in cases
        for line in lines
        if line.ratio
    ]
    if compared:
        drawings["ratios"] = ratios(compared, colours)
    yield from document(
        "bench.html",
        stored=stored,
        bench=bench,
        machine=bench.machine,
        cases=cases,
        means=means(rows, bench.baseline),
        drawings=drawings,
        amounts=plain_text,
        margin=margin,
        median=median,
    ).split("\n")


@dataclass(frozen=True)
class _Line:
    """A backend's interval: a thin line between the outer ends, a thick one between the inner."""

    name: str
    colour: str
    ends: Sequence[float]
    behind: str = ""
    is_boundless: bool = False


def times(row: Timed, of: Mapping[str, str]) -> Drawing:
    """Draw the median, the middle half and the middle 80 % of each backend's samples."""
    import numpy as np

    lines = []
    for timing in (timing for timing in row.timings if timing.samples):
        seconds = [sample.seconds for sample in timing.samples]
        ends = np.percentile(seconds, (10, 25, 50, 75, 90)).tolist()
        lines.append(_Line(timing.backend, of[timing.backend], ends))
    label = "time of a call: median, middle half, middle 80 %"
    return _drawn(lines, label, partial(plain_text.seconds, spelt="{:g}".format))


def ratios(rows: Sequence[tuple[str, str, Ratio]], of: Mapping[str, str]) -> Drawing:
    """Draw ratios with 95 % intervals, dotted if boundless, and the band of no difference."""
    cases = [case for case, _, _ in rows]
    lines = []
    for place, (case, backend, one) in enumerate(rows):
        is_boundless = one.low <= 0 or not math.isfinite(one.high)
        low, high = (one.value, one.value) if is_boundless else (one.low, one.high)
        ends = low, one.value, one.value, one.value, high
        name = case if case not in cases[:place] else ""
        lines.append(_Line(name, of[backend], ends, backend, is_boundless))
    label = "time relative to the baseline, with its 95 % interval"
    return _drawn(lines, label, "{:g}".format, (1 / (1 + ZONE), 1 + ZONE))


def _drawn(
    lines: Sequence[_Line], label: str, spelt: Callable[[float], str], band: Sequence[float] = ()
) -> Drawing:
    """Draw the lines between their names and what is behind; around 1 a `band`, if any."""
    values = [*band, *(end for line in lines for end in line.ends)]
    is_log = max(values) > 12 * min(values)
    scale = math.log10 if is_log else float
    first, last = scale(min(values)), scale(max(values))
    gap = 0.05 * (last - first or first)
    first, last = first - gap, last + gap

    def x(value: float) -> float:
        return _WIDTH * (scale(value) - first) / (last - first)

    lines = [replace(one, name=_short(one.name), behind=_short(one.behind)) for one in lines]
    names = [one.name for one in lines], [one.behind for one in lines]
    sides = [12 + LETTER * max(map(len, some)) for some in names]
    return drawn(
        *("intervals.svg", _WIDTH, _LINE * len(lines), (*sides, _BELOW, _ABOVE), label),
        lines=lines,
        band=band,
        marks=_log_marks(first, last) if is_log else _marks(first, last),
        x=x,
        spelt=spelt,
        each=_LINE,
    )


def _marks(low: float, high: float) -> list[float]:
    """Some round numbers from `low` to `high`."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _log_marks(low: float, high: float) -> list[float]:
    """Powers of ten between those of `low` and `high`, and 2 and 5 times these where few."""
    digits = (1, 2, 5) if high - low < 2.5 else (1,)
    powers = range(math.floor(low), math.ceil(high), 1 + int(high - low) // 8)
    found = [digit * 10.0**power for power in powers for digit in digits]
    return [mark for mark in found if low <= math.log10(mark) <= high]


def _short(name: str) -> str:
    brief = plain_text.brief(name)
    return brief if len(brief) < 35 else f"{brief[:33]}…"
