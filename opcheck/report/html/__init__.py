"""Pages that people look at: one file each, which opens anywhere and asks nothing of any network.

`run_page` is a run, with its totals in `overview`; `bench_page` is a benchmark. `page` renders
templates and keeps texts from outside what they are, `plots` draws. Everything but the list of all
results can be read without scripts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opcheck.model import Run
    from opcheck.report.timing_store import Stored


def lines(run: Run) -> Iterator[str]:
    """The page of a run, line by line."""
    from opcheck.report.html.run_page import page

    yield from page(run).split("\n")


def bench_lines(stored: Stored) -> Iterator[str]:
    """The page of a benchmark, line by line."""
    from opcheck.report.html.bench_page import page

    yield from page(stored).split("\n")
