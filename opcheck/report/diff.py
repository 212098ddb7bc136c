"""Changes between two runs: different settings, then every changed result."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from opcheck.analysis import REGRESSIONS, Change, ChangeKind, Difference, diff_status, differences
from opcheck.model import Run, Verdict
from opcheck.report import summary
from opcheck.report.markdown import Section, code, fitting, table, text
from opcheck.report.plain_text import brief, one_line, plural
from opcheck.report.style import COLOURS, put_all, put_exit, unlike

#: The most changes of a kind shown: of regressions, of others, and of others on a page.
_WORSE, _OTHERS, _SHOWN = 50, 10, 100
_COLUMNS = "verdict", "backend", "case", "why"


def show(
    console: Console, old: Run, new: Run, found: Difference, *, common: bool, verbose: bool
) -> None:
    """Print settings that differ, changes by kind (all if `verbose`), and the exit code."""
    put_all(console, unlike(differences(old.header, new.header)))
    for kind, alike in groupby(found.changes, key=lambda change: change.kind):
        changes, colour = list(alike), "bold red" if kind in REGRESSIONS else "bold"
        console.print(Text(f"{kind}: {len(changes):,}", colour), soft_wrap=True)
        shown = changes if verbose else changes[: _WORSE if kind in REGRESSIONS else _OTHERS]
        wide = max(cell_len(was_and_is(change)) for change in shown)
        for change in shown:
            record = change.record
            verdict = Text(was_and_is(change).ljust(wide), COLOURS[record.verdict])
            name = f"{one_line(record.backend)}  {one_line(record.case)}"
            console.print(Text.assemble("  ", verdict, "  ", name), soft_wrap=True)
            said = [why(change)]
            said += [f"repeat  {one_line(record.repeat)}"] * (kind in REGRESSIONS)
            for remark in filter(None, said):
                console.print(Text(f"  {'':{wide}}  {remark}"), soft_wrap=True)
        if len(changes) > len(shown):
            console.print(Text(f"  … and {len(changes) - len(shown):,} more (-v shows all)"))
        console.print()
    if found.left_out:
        console.print(Text(f"Left out: {left_out(found)}", "yellow"), soft_wrap=True)
        console.print()
    put_exit(console, *diff_status(old, new, found, common=common))


def left_out(found: Difference) -> str:
    """Count the results, by backend, that the new run does not have."""
    counts = Counter(record.backend for record in found.left_out)
    parts = (f"{plural(n, 'result')} of {brief(name)}" for name, n in counts.items())
    return f"{', '.join(parts)} that the new run does not have"


def was_and_is(change: Change) -> str:
    """The verdicts: `pass → fail`, a dash for no result."""
    return " → ".join(one.verdict.value if one else "–" for one in (change.old, change.new))


def why(change: Change) -> str:
    """Explain the newer result, or else the older one, in a line."""
    new = change.new
    if new is None:
        return ""
    messages = []
    if new.verdict is not Verdict.PASS:
        looks = [f"looks {said.text}" for said in new.diagnoses[:1]]
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


def markdown_lines(old: Run, new: Run, found: Difference, *, common: bool) -> Iterator[str]:
    """A page for pull requests, line by line; changes that do not fit are counted."""
    return fitting(_parts(old, new, found, common))


def _parts(old: Run, new: Run, found: Difference, common: bool) -> Iterator[Section]:
    status, meaning = diff_status(old, new, found, common=common)
    unlike_ = differences(old.header, new.header).items()
    rows = [(text(name), *(text(brief(one)) for one in both)) for name, both in unlike_]
    yield from (f"## opcheck diff: {text(meaning)}", "", f"exit code {int(status)}", "")
    if rows:
        yield from ("### Not alike in the two runs", "", *table(("", "old", "new"), rows), "")
    for kind, alike in groupby(found.changes, key=lambda change: change.kind):
        changes = list(alike)
        title, more = f"{kind.capitalize()}: {len(changes):,}", len(changes) - _SHOWN
        if kind in REGRESSIONS:
            yield from (f"### {title}", "", *table(_COLUMNS, ()))
            yield from (("change", (f"| {' | '.join(_cells(one))} |",)) for one in changes)
            yield ""
        else:
            lines = [f"<details><summary>{title}</summary>", ""]
            lines += [*table(_COLUMNS, map(_cells, changes[:_SHOWN])), ""]
            lines += [f"… and {more:,} more", ""] * (more > 0)
            yield "kind of change", (*lines, "</details>", "")
    if found.left_out:
        yield from (f"Left out: {text(left_out(found))}", "")


def _cells(change: Change) -> tuple[str, ...]:
    names = code(brief(change.record.backend)), code(change.record.case)
    return was_and_is(change), *names, text(why(change))
