"""What changed from one run to another as a page of Markdown, for pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from opcheck.model import Run
from opcheck.records.comparing import (
    REGRESSIONS,
    Change,
    Difference,
    Growth,
    Kind,
    judged,
)
from opcheck.records.merging import differences
from opcheck.report import words
from opcheck.report.diff import left_out, was_and_is, why
from opcheck.report.markdown_text import Part, code, fitting, table, text

_COLUMNS = "verdict", "backend", "case", "why"


#: How many changes of a kind are shown, unless they are for the worse.
_SHOWN = 100


def lines(old: Run, new: Run, found: Difference, *, common: bool) -> Iterator[str]:
    """The page, line by line; changes that would make it too long are left out, and counted."""
    return fitting(_parts(old, new, found, common))


def _parts(old: Run, new: Run, found: Difference, common: bool) -> Iterator[Part]:
    for line in _head(old, new, found, common):
        yield "line", partial(list, (line,))
    for kind, alike in groupby(found.changes, key=lambda change: change.kind):
        changes = list(alike)
        if kind in REGRESSIONS:
            yield "line", partial(list, (f"### {_said(kind, changes)}", "", *table(_COLUMNS, ())))
            for change in changes:
                yield "change", partial(list, (_row(change),))
            yield "line", partial(list, ("",))
        else:
            yield "kind of change", partial(_folded, kind, changes)
    for line in _tail(found):
        yield "line", partial(list, (line,))


def _head(old: Run, new: Run, found: Difference, common: bool) -> Iterator[str]:
    status, meaning = judged(old, new, found, common=common)
    yield from (f"## opcheck diff: {text(meaning)}", "", f"exit code {int(status)}", "")
    unlike = differences(old.header, new.header).items()
    if unlike:
        rows = [(text(name), *(text(words.brief(one)) for one in both)) for name, both in unlike]
        yield from ("### Not alike in the two runs", "", *table(("", "old", "new"), rows), "")


def _tail(found: Difference) -> Iterator[str]:
    if found.growths:
        rows = [
            (code(str(one.op)), text(one.dtype or ""), code(one.backend), *_shares(one))
            for one in found.growths
        ]
        head = "operator", "type", "backend", "used", "now"
        yield from ("### Passing nearer to the limit", "", *table(head, rows, numbers=2), "")
    if found.left_out:
        yield from (f"Left out: {text(left_out(found))}", "")


def _shares(growth: Growth) -> tuple[str, str]:
    return f"{growth.old:.2f}", f"{growth.new:.2f}"


def _folded(kind: Kind, changes: Sequence[Change]) -> list[str]:
    rows = [_cells(change) for change in changes[:_SHOWN]]
    left = len(changes) - len(rows)
    more = [f"… and {left:,} more", ""] if left else []
    summary = f"<details><summary>{_said(kind, changes)}</summary>"
    return [summary, "", *table(_COLUMNS, rows), "", *more, "</details>", ""]


def _said(kind: Kind, changes: Sequence[Change]) -> str:
    return f"{kind.capitalize()}: {len(changes):,}"


def _row(change: Change) -> str:
    return f"| {' | '.join(_cells(change))} |"


def _cells(change: Change) -> tuple[str, ...]:
    record = change.record
    names = code(words.brief(record.backend)), code(record.case)
    return was_and_is(change), *names, text(why(change))
