"""How the time and the bandwidth of backends change with the size of a case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console

from opcheck.model.timing import Bench, Sample, Timed
from opcheck.report import amounts, plot, words
from opcheck.report.amounts import seconds
from opcheck.report.lines import Column, Lines
from opcheck.report.plot import Curve, Point
from opcheck.timing.scaling import Scaling, scaling
from opcheck.timing.spread import spread

_GAP = "  "
#: A time and a bandwidth, which stand in one column.
_TIME, _RATE = Column("time", 7), Column("GB/s", 5)
#: Shapes that are wider are not shown beside the sizes.
_SHAPES = 24
_COPY = "copy"


def show(console: Console, bench: Bench, rows: Sequence[Timed]) -> None:
    """Print the times of rows that are of one case in several sizes, and how they grow."""
    lines = Lines(console)
    ordered = sorted(rows, key=lambda row: row.moved)
    lines.fill(title(rows), "bold")
    points = {backend: _points(ordered, backend) for backend in bench.backends}
    columns = {**points, _COPY: _copies(ordered)}
    for some in _groups(lines, ordered, columns):
        _show_times(lines, ordered, some)
        lines.blank()
    _show_growth(lines, points)
    for backend, told in _untimed(ordered):
        lines.fill(f"{words.brief(backend)} was not timed: {told}", "red")


def draw(path: Path, bench: Bench, rows: Sequence[Timed]) -> None:
    """Draw the same as a picture; raises UsageError as `plot.draw` does."""
    curves = []
    for backend, version in bench.backends.items():
        if points := tuple(_points(rows, backend).values()):
            found = _growth(points)
            power = f", exponent {found.exponent:.2f}" if found else ""
            curves.append(Curve(f"{words.brief(f'{backend} {version}')}{power}", points))
    plot.draw(path, title(rows), curves, tuple(_copies(rows).values()))


def title(rows: Sequence[Timed]) -> str:
    """What the rows have in common: the sweep, the operators and the element types."""
    sweep = "".join(f"{name}: " for name in dict.fromkeys(row.sweep for row in rows) if name)
    ops = ", ".join(dict.fromkeys(row.op for row in rows))
    dtypes = ", ".join(dict.fromkeys(row.dtype for row in rows))
    return words.brief(f"{sweep}{ops} {dtypes}")


# ── points, by the case ───────────────────────────────────────────────────────────────────────


def _points(rows: Sequence[Timed], backend: str) -> dict[str, Point]:
    timings = ((row, row.timing(backend)) for row in rows)
    return _only((row, timing.samples) for row, timing in timings if timing)


def _copies(rows: Sequence[Timed]) -> dict[str, Point]:
    return _only((row, row.copy) for row in rows)


def _only(timed: Iterator[tuple[Timed, Sequence[Sample]]]) -> dict[str, Point]:
    found = ((row, spread(samples, row.yardstick)) for row, samples in timed)
    return {row.case: Point(row.moved, one.median, one.low, one.high) for row, one in found if one}


def _growth(points: Sequence[Point]) -> Scaling | None:
    sized = [point for point in points if point.moved]
    return scaling([point.moved for point in sized], [point.seconds for point in sized])


# ── times ─────────────────────────────────────────────────────────────────────────────────────


def _columns(rows: Sequence[Timed]) -> list[Column]:
    """Those on the left."""
    widest = max((cell_len(words.brief(row.shapes)) for row in rows), default=0)
    shapes = [Column("shape", max(widest, 5), left=True)] if widest <= _SHAPES else []
    return [Column("size", 8), *shapes]


def _groups(
    lines: Lines, rows: Sequence[Timed], columns: Mapping[str, dict[str, Point]]
) -> Iterator[dict[str, dict[str, Point]]]:
    """Columns that fit into one table after the other."""
    taken = sum(column.width + len(_GAP) for column in _columns(rows)) - len(_GAP)
    group: dict[str, dict[str, Point]] = {}
    for name, points in columns.items():
        width = sum(_wide(one).width + len(_GAP) for one in (*group, name))
        if group and taken + width > lines.width:
            yield group
            group = {}
        group[name] = points
    yield group


def _wide(name: str) -> Column:
    least = _TIME.width + len(_GAP) + _RATE.width
    return Column(words.brief(name), max(least, cell_len(words.brief(name))))


def _show_times(lines: Lines, rows: Sequence[Timed], group: Mapping[str, dict[str, Point]]) -> None:
    left = _columns(rows)
    columns = [*left, *map(_wide, group)]
    lines.head([*(Column("", column.width) for column in left), *columns[len(left) :]], _GAP)
    names = [column.name for column in left] + [_pair(_TIME.name, _RATE.name)] * len(group)
    lines.row(columns, [(name, "dim") for name in names], _GAP)
    for row in rows:
        cells = [amounts.size(row.moved), words.brief(row.shapes)][: len(left)]
        for points in group.values():
            point = points.get(row.case)
            told = (seconds(point.seconds), _rate(point)) if point else ("–", "–")
            cells.append(_pair(*told))
        lines.row(columns, [(cell, "") for cell in cells], _GAP)


def _pair(time: str, rate: str) -> str:
    return f"{_TIME.cell(time)}{_GAP}{_RATE.cell(rate)}"


def _rate(point: Point) -> str:
    return amounts.rate(point.moved, point.seconds)


# ── growth ────────────────────────────────────────────────────────────────────────────────────


def _show_growth(lines: Lines, points: Mapping[str, dict[str, Point]]) -> None:
    growths = {name: _growth(tuple(some.values())) for name, some in points.items()}
    found = {name: one for name, one in growths.items() if one}
    if not found:
        return
    longest = max(cell_len(words.brief(name)) for name in found)
    columns = [
        Column("", min(longest, 32), left=True),
        Column("exponent", 8),
        Column("95 % interval", 13),
        Column("fixed cost", 10),
        Column("flat up to", 10),
    ]
    lines.fill(
        "Time as a fixed cost of a call and a power of the size; flat where the cost is most:"
    )
    lines.head(columns, _GAP)
    for name, one in found.items():
        known = math.isfinite(one.low) and math.isfinite(one.high)
        cells = [
            words.brief(name),
            f"{one.exponent:.2f}",
            f"{one.low:.2f} to {one.high:.2f}" if known else "–",
            seconds(one.fixed) if one.fixed else "–",
            amounts.size(one.flat) if one.flat else "–",
        ]
        lines.row(columns, [(cell, "") for cell in cells], _GAP)
    lines.blank()


def _untimed(rows: Sequence[Timed]) -> Iterator[tuple[str, str]]:
    """Backends without a time for some size, with the reason and the sizes that it is of."""
    why: dict[tuple[str, str], list[Timed]] = {}
    for row in rows:
        for timing in row.timings:
            if not timing.samples:
                why.setdefault((timing.backend, timing.why_not), []).append(row)
    for (backend, reason), some in why.items():
        sizes = ", ".join(amounts.size(row.moved) for row in some)
        yield backend, f"at {sizes}: {words.brief(reason)}"
