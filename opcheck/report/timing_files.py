"""A benchmark as CSV, for spreadsheets and plots, and as a table of Markdown, for pull requests."""

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from opcheck.model.timing import Timed, Timing
from opcheck.report import markdown, plain_text, timings
from opcheck.report.timings import Stored
from opcheck.timing import Ratio, Spread, ratio, spread, words


class TimingRow(NamedTuple):
    """One backend on one case; the fields are the columns of CSV.

    Times are in seconds, `bytes` those of inputs and outputs. Cells without a value are empty: all
    numbers of a backend that is not timed, and the ratio of the baseline.
    """

    case: str
    op: str
    dtype: str
    shapes: str
    bytes: int
    derived: bool
    backend: str
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    verdict: str
    copy_median: float | None
    not_timed: str


def timing_rows(stored: Stored) -> Iterator[TimingRow]:
    """Yield a row for each backend of each case."""
    for row in stored.rows:
        base = row.timing(stored.bench.baseline)
        copy = spread(row.copy)
        for timing in row.timings:
            yield _row(row, timing, base, copy)


def _row(row: Timed, timing: Timing, base: Timing | None, copy: Spread | None) -> TimingRow:
    """Return the row of a backend, with its ratio to the baseline `base` and the `copy`'s time."""
    times = spread(timing.samples)
    to_base = ratio(timing, base) if times and base and timing is not base else None
    return TimingRow(
        case=row.case,
        op=row.op,
        dtype=row.dtype,
        shapes=row.shapes,
        bytes=row.moved,
        derived=row.is_derived,
        backend=timing.backend,
        median=times.median if times else None,
        lower_quartile=times.low if times else None,
        upper_quartile=times.high if times else None,
        ratio=to_base.value if to_base else None,
        ratio_low=to_base.low if to_base else None,
        ratio_high=to_base.high if to_base else None,
        verdict=_verdict(timing, base, to_base) if times else "",
        copy_median=copy.median if copy else None,
        not_timed="" if times else timing.why_not,
    )


def _verdict(timing: Timing, base: Timing | None, to_base: Ratio | None) -> str:
    if to_base:
        return words(to_base)
    return "baseline" if timing is base else ""


def csv_lines(stored: Stored) -> Iterator[str]:
    """Yield the header and the rows, each a line."""
    yield ",".join(TimingRow._fields)
    for row in timing_rows(stored):
        # A line each, whatever is in a text.
        cells = [plain_text.one_line(it) if isinstance(it, str) else it for it in row]
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(cells)
        yield text.getvalue()


def markdown_lines(stored: Stored) -> Iterator[str]:
    """Yield the machine and a table of all cases; one that does not fit is counted."""
    yield from markdown.fitting(_sections(stored))


def _sections(stored: Stored) -> Iterator[markdown.Section]:
    facts = timings.settings(stored.bench)
    about = "; ".join(f"{name}: {value}" for name, value in facts.items() if value)
    yield from ("## opcheck bench", "", markdown.text(about), "")
    head = ("case", "backend", "verdict", "median", "ratio", "95 % interval", "GB/s")
    yield from markdown.table(head, (), numbers=4)
    for row in timing_rows(stored):
        yield "row", [f"| {' | '.join(_markdown_cells(row))} |"]


def _markdown_cells(row: TimingRow) -> tuple[str, ...]:
    names = markdown.code(plain_text.brief(row.case)), markdown.code(plain_text.brief(row.backend))
    if row.median is None:
        reason = markdown.text(plain_text.brief(row.not_timed))
        return (*names, f"not timed: {reason}", "", "", "", "")
    interval = ""
    if row.ratio_low is not None and row.ratio_high is not None:
        interval = plain_text.interval(row.ratio_low, row.ratio_high)
    return (
        *names,
        row.verdict,
        plain_text.seconds(row.median),
        "" if row.ratio is None else plain_text.digits(row.ratio),
        interval,
        plain_text.rate(row.bytes, row.median),
    )


def lines(form: str, stored: Stored) -> Iterator[str]:
    """Return the lines of a benchmark in a format of `BENCH_FORMATS`."""
    return csv_lines(stored) if form == "csv" else markdown_lines(stored)
