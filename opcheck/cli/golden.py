"""`opcheck golden`: test data with the right answers in it."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from opcheck.cli import options
from opcheck.cli.group import Commands
from opcheck.errors import Exit, UsageError
from opcheck.report.plain_text import one_line

#: The most omitted cases that are named.
_LEFT_OUT = 3


@click.group(name="golden", cls=Commands)
def command() -> None:
    """Write test data with the right answers in it.

    \b
    opcheck golden write -o golden        the shipped suites, in the layout of ONNX's test data
    opcheck golden write my.yaml -o mine  my cases
    opcheck run golden -b mine            such a folder, checked against its checksums and judged
    """


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what opcheck wrote, with --force."""
    from opcheck.execution.golden import check_place

    if "--force" not in words or not folder.is_dir() or not any(folder.iterdir()):
        return False
    with suppress(UsageError):
        check_place(folder, force=True)
        return True
    return False


@command.command(name="write", cls=options.OutputCommand)
@options.selection_options
@options.declared(
    """
    -o --output folder DIR: The folder to be made.
    --force: Replace a folder that this command wrote.
    """,
    folder={"type": options.OutputPath(_is_replaced), "required": True},
)
@options.processes_option
def write(folder: Path, force: bool, jobs: int | None, **selection: Any) -> None:
    """Write cases with their right answers, as ONNX's test data.

    What is written is the exact value of the operator's formula, correctly rounded. Where a case
    states another answer, nothing is written of it.

    \b
    opcheck golden write -o golden                       the shipped suites
    opcheck golden write -o golden --op Softmax          one operator
    opcheck golden write my.yaml -o mine                 my cases

    A test of `must` has to pass, and of `open` one of each case; the models of `rejected` have to
    be refused. docs/golden-files.md describes all files.

    Exit codes: 0 written, 1 a case was left out because it contradicts the oracle, 2 wrong usage
    or case file, 4 the folder cannot be written, 5 there was nothing to write, 130 interrupted.
    """
    from opcheck.execution.golden import check_place
    from opcheck.execution.golden import write as write_cases
    from opcheck.execution.workers import processors
    from opcheck.report.style import Numbers, new_table, put_all
    from opcheck.suite.load import check_case_files

    check_case_files(selection["paths"], "golden write")
    check_place(folder, force=force)
    cases, said = options.chosen_cases(**selection)
    with options.counted("writing", len(cases)) as each:
        golden = write_cases(folder, cases, said, jobs or processors(), force=force, counted=each)
    # How a backend uses each folder's tests, where values come from, what is left out.
    folders = new_table("folder", "a backend has to", *map(Numbers, ("tests", "files")))
    duties = {
        "must": "give these answers",
        "should": "give these answers, or have a reason",
        "open": "give one of each case's",
        "rejected": "refuse the model",
    }
    for kind, duty in duties.items():
        if tests := [test for test in golden.tests if test.folder.startswith(f"{kind}/")]:
            files = sum(len(test.files) for test in tests)
            folders.add_row(kind, duty, f"{len(tests):,}", f"{files:,}")
    methods = new_table("values", Numbers("tests"), "")
    counts = Counter(test.method for test in golden.tests)
    for method, text in golden.methods.items():
        if counts[method]:
            methods.add_row(method, f"{counts[method]:,}", text)
    put_all(options.output(), folders, methods)
    left = [one for one in golden.left_out if not one.wrong]
    if left:
        click.echo(f"left out, as the manifest tells in full: {len(left):,}")
        for one in left[:_LEFT_OUT]:
            click.echo(f"  {one.what}: {one.case}: {one_line(one.reason)}")
        if len(left) > _LEFT_OUT:
            click.echo(f"  and {len(left) - _LEFT_OUT:,} more")
        click.echo()
    for one in golden.left_out:
        if one.wrong:
            click.echo(f"WRONG {one.case}\n  {one.what}: {one_line(one.reason)}")
    wrong = len({one.case for one in golden.left_out if one.wrong})
    count = len(golden.cases)
    if not count and not wrong:
        options.end(Exit.NOTHING_JUDGED, f"nothing to write ({said})")
    where = f"{_cases(count)} in {folder}" if count else "nothing was written"
    code = Exit.NONCONFORMING if wrong else Exit.CONFORMS
    options.end(code, f"{f'{_cases(wrong)} wrong; ' if wrong else ''}{where}")


def _cases(count: int) -> str:
    return "1 case is" if count == 1 else f"{count:,} cases are"
