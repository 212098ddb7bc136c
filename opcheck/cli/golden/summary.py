"""What was written, in tables and a few lines."""

from __future__ import annotations

from collections import Counter

import click
from rich.table import Table

from opcheck.cli.console import output
from opcheck.report.look import add_numbers, new_table, put
from opcheck.report.words import one_line, plural
from opcheck.run.golden.writing import Golden

#: How many of those that are left out are named.
_NAMED = 3


def show(golden: Golden) -> None:
    """Print how many tests there are of each kind, where values come from, what is left out."""
    console = output()
    if golden.tests:
        put(console, _kinds(golden))
        console.print()
        put(console, _methods(golden))
        console.print()
    fixed = Counter(case.fixed for case in golden.manifest.cases if case.fixed)
    for reason, count in fixed.most_common():
        click.echo(f"one data set only: {plural(count, 'case')}: {reason}")
    left = [one for one in golden.left_out if not one.wrong]
    if left:
        click.echo(f"left out, as the manifest tells in full: {len(left):,}")
        for one in left[:_NAMED]:
            click.echo(f"  {one.what}: {one.case}: {one_line(one.reason)}")
        if len(left) > _NAMED:
            click.echo(f"  and {len(left) - _NAMED:,} more")
        click.echo()
    wrong = [one for one in golden.left_out if one.wrong]
    for one in wrong:
        click.echo(f"WRONG {one.case}")
        click.echo(f"  {one.what}: {one_line(one.reason)}")


def _kinds(golden: Golden) -> Table:
    table = new_table("folder", "a backend has to")
    for name in ("tests", "data sets", "files"):
        add_numbers(table, name)
    duties = {
        "must": "give these answers",
        "should": "give these answers, or have a reason",
        "open": "give one of each case's",
        "rejected": "refuse the model",
    }
    for kind, duty in duties.items():
        tests = [test for test in golden.tests if test.folder.startswith(f"{kind}/")]
        if tests:
            sets = sum(len(test.data_sets) for test in tests)
            files = sum(len(test.files) for test in tests)
            table.add_row(kind, duty, f"{len(tests):,}", f"{sets:,}", f"{files:,}")
    return table


def _methods(golden: Golden) -> Table:
    table = new_table("values")
    add_numbers(table, "data sets")
    table.add_column("", overflow="fold")
    counts = Counter(
        data.method for test in golden.tests for data in test.data_sets if data.outputs
    )
    for method, text in golden.manifest.methods.items():
        if counts[method]:
            table.add_row(method, f"{counts[method]:,}", text)
    return table
