"""The page of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from opcheck.model.timing import Bench, Timed, Timing
from opcheck.report import amounts
from opcheck.report.html import bench_plots, plots
from opcheck.report.html.page import document
from opcheck.report.html.svg import Drawing
from opcheck.report.timing_store import Stored
from opcheck.timing.ratios import Ratio, means, ratio
from opcheck.timing.ratios import words as verdict_on
from opcheck.timing.spread import Spread, spread


@dataclass(frozen=True)
class Line:
    """What is told of a backend in a case; without a `spread` it was not timed."""

    timing: Timing
    spread: Spread | None
    ratio: Ratio | None
    verdict: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A case, how fast its bytes are copied, its backends, and the name of its drawing."""

    row: Timed
    copied: str
    lines: tuple[Line, ...]
    drawing: str | None


def page(stored: Stored) -> str:
    """The whole document."""
    bench, rows = stored.bench, stored.rows
    drawings: dict[str, Drawing] = {}
    cases = []
    of = bench_plots.colours(bench)
    for number, row in enumerate(rows):
        name = None
        if plots.available() and any(timing.samples for timing in row.timings):
            name = f"t{number}"
            drawings[name] = bench_plots.times(row, of)
        copied = spread(row.copy, row.yardstick)
        rate = f"{amounts.rate(row.moved, copied.median)} GB/s" if copied else ""
        cases.append(Case(row, rate, tuple(_lines(bench, row, copied)), name))
    found = [
        (case.row.case, line.timing.backend, line.ratio)
        for case in cases
        for line in case.lines
        if line.ratio
    ]
    if found and plots.available():
        drawings["ratios"] = bench_plots.ratios(found, of)
    return document(
        "bench.html",
        stored=stored,
        bench=bench,
        machine=bench.machine,
        cases=cases,
        means=means(rows, bench.baseline),
        drawings=drawings,
        can_draw=plots.available(),
        amounts=amounts,
    )


def _lines(bench: Bench, row: Timed, copied: Spread | None) -> Iterator[Line]:
    base = row.timing(bench.baseline)
    for timing in row.timings:
        found = spread(timing.samples, row.yardstick)
        if found is None:
            yield Line(timing, None, None, "", ())
            continue
        one = ratio(timing, base) if base and timing is not base else None
        cells = tuple(_cells(row, timing, found, one, copied))
        yield Line(timing, found, one, _verdict(timing, base, one), cells)


def _verdict(timing: Timing, base: Timing | None, one: Ratio | None) -> str:
    """What a ratio means; nothing where the baseline has no time that there could be one to."""
    if timing is base:
        return "baseline"
    if one:
        return verdict_on(one)
    return "no pairs" if base and base.samples else ""


def _cells(
    row: Timed, timing: Timing, found: Spread, one: Ratio | None, copied: Spread | None
) -> Iterator[str]:
    yield amounts.seconds(found.median)
    yield f"±{amounts.percent((found.high - found.low) / found.median / 2)}"
    yield amounts.digits(one.value) if one else ""
    yield amounts.interval(one.low, one.high) if one else ""
    yield amounts.rate(row.moved, found.median)
    yield amounts.percent(copied.median / found.median) if copied else "–"
    yield amounts.seconds(median(timing.prepared)) if timing.prepared else "–"
