"""Changes between two runs: different settings, then every changed result."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from opcheck.analysis import REGRESSIONS, Change, ChangeKind, Difference, diff_status, differences
from opcheck.grouping import group_by
from opcheck.model import Run, Verdict
from opcheck.report import summary
from opcheck.report.markdown import Section, code, fitting, table, text
from opcheck.report.plain_text import brief, kind as kind_of, one_line, plural
from opcheck.report.style import COLOURS, UNLIKE_SETTINGS, put_all, put_exit, unlike

#: The most regressions of a kind shown in a terminal.
_MAX_REGRESSIONS = 50
#: The most other changes of a kind shown in a terminal, and on a page.
_MAX_OTHERS = 10
_MAX_OTHERS_ON_PAGE = 100
_COLUMNS = ("verdict", "backend", "case", "why")


def show(
    console: Console, old: Run, new: Run, difference: Difference, *, common: bool, verbose: bool
) -> None:
    """Print settings that differ, changes by kind (all if `verbose`), and the exit code."""
    put_all(console, unlike(differences(old.header, new.header)))
    for kind, alike in groupby(difference.changes, key=attrgetter("kind")):
        _show_changes(console, kind, [*alike], verbose=verbose)
    if difference.left_out:
        console.print(Text(f"Left out: {left_out(difference)}", "yellow"), soft_wrap=True)
        console.print()
    put_exit(console, *diff_status(old, new, difference, common=common))


def _show_changes(
    console: Console, kind: ChangeKind, changes: Sequence[Change], *, verbose: bool
) -> None:
    """Print changes of one kind, and how to repeat regressions.

    Of changes that look alike, only the first is printed, unless `verbose`; others are counted.
    """
    is_regression = kind in REGRESSIONS
    colour = "bold red" if is_regression else "bold"
    console.print(Text(f"{kind}: {len(changes):,}", colour), soft_wrap=True)
    most = _MAX_REGRESSIONS if is_regression else _MAX_OTHERS
    alike = [[change] for change in changes]
    if not verbose:
        alike = [*group_by(changes, _likeness).values()][:most]
    wide = max(cell_len(was_and_is(change)) for change, *_ in alike)
    for change, *others in alike:
        record = change.record
        verdict = Text(was_and_is(change).ljust(wide), COLOURS[record.verdict])
        name = f"{one_line(record.backend)}  {one_line(record.case)}"
        console.print(Text.assemble("  ", verdict, "  ", name), soft_wrap=True)
        remarks = [why(change)]
        if is_regression:
            remarks.append(f"repeat  {one_line(record.repeat)}")
        if others:
            remarks.append(f"and {len(others):,} more like it (-v shows all)")
        for remark in filter(None, remarks):
            console.print(Text(f"  {'':{wide}}  {remark}"), soft_wrap=True)
    left = len(changes) - sum(map(len, alike))
    if left:
        console.print(Text(f"  … and {left:,} more (-v shows all)"))
    console.print()


def _likeness(change: Change) -> Hashable:
    """Return a key that changes to failures of the same cause share, and no other changes."""
    new = change.new
    if new is None or new.verdict is Verdict.PASS:
        return change.record.backend, change.record.case
    looks = new.diagnoses[0].text if new.diagnoses else kind_of(new.reason)
    return new.backend, new.op.name, was_and_is(change), new.failure, looks


def left_out(difference: Difference) -> str:
    """Count the results, by backend, that the new run does not have."""
    counts = Counter(record.backend for record in difference.left_out)
    parts = (f"{plural(n, 'result')} of {brief(name)}" for name, n in counts.items())
    return f"{', '.join(parts)} that the new run does not have"


def was_and_is(change: Change) -> str:
    """Return the verdicts: `pass → fail`, a dash for no result."""
    records = (change.old, change.new)
    return " → ".join(record.verdict.value if record else "–" for record in records)


def why(change: Change) -> str:
    """Explain the newer result, or else the older one, in a line."""
    new = change.new
    if new is None:
        return ""
    messages = []
    if new.verdict is not Verdict.PASS:
        looks = [f"likely cause: {diagnosis.text}" for diagnosis in new.diagnoses[:1]]
        messages = [summary.ledger_note(new), new.reason, *looks]
    if change.kind is ChangeKind.ANSWERS and change.old:
        messages = [f"{change.old.alternative} → {new.alternative}"]
    if change.kind in (ChangeKind.LISTED, ChangeKind.OTHERWISE) and new.known:
        messages = [new.known.cause]
    if change.kind is ChangeKind.OTHERWISE and change.old and change.old.reason != new.reason:
        messages.append(f"was: {change.old.reason}")
    if change.old and change.old.digest != new.digest and change.kind is not ChangeKind.CHANGED:
        messages.append("the case is another than before")
    return brief("; ".join(filter(None, messages)))


def markdown_lines(old: Run, new: Run, difference: Difference, *, common: bool) -> Iterator[str]:
    """Yield a page for pull requests, line by line; changes that do not fit are counted."""
    return fitting(_parts(old, new, difference, common))


def _parts(old: Run, new: Run, difference: Difference, common: bool) -> Iterator[Section]:
    """Yield the parts of the page: the exit code, different settings, and changes by kind."""
    status, meaning = diff_status(old, new, difference, common=common)
    settings = differences(old.header, new.header)
    rows = [
        (text(name), text(brief(was)), text(brief(now))) for name, (was, now) in settings.items()
    ]
    yield from (f"## opcheck diff: {text(meaning)}", "", f"exit code {int(status)}", "")
    if rows:
        yield from (f"### {UNLIKE_SETTINGS}", "", *table(("", "old", "new"), rows), "")
    for kind, alike in groupby(difference.changes, key=attrgetter("kind")):
        changes = [*alike]
        title = f"{kind.capitalize()}: {len(changes):,}"
        more = len(changes) - _MAX_OTHERS_ON_PAGE
        if kind in REGRESSIONS:
            yield from (f"### {title}", "", *table(_COLUMNS, ()))
            for change in changes:
                yield "change", (f"| {' | '.join(_cells(change))} |",)
            yield ""
        else:
            lines = [f"<details><summary>{title}</summary>", ""]
            lines += [*table(_COLUMNS, map(_cells, changes[:_MAX_OTHERS_ON_PAGE])), ""]
            if more > 0:
                lines += [f"… and {more:,} more", ""]
            yield "kind of change", (*lines, "</details>", "")
    if difference.left_out:
        yield from (f"Left out: {text(left_out(difference))}", "")


def _cells(change: Change) -> tuple[str, ...]:
    """Return a row of `_COLUMNS`, in Markdown."""
    backend = code(brief(change.record.backend))
    return was_and_is(change), backend, code(change.record.case), text(why(change))
