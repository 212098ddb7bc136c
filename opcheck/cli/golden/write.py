"""`opcheck golden write`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from opcheck.cli.options import chosen_cases, end, processes_option, selection_options
from opcheck.cli.outputs import Command, Output
from opcheck.errors import Exit, UsageError


def _is_replaced(folder: Path, words: Sequence[str]) -> bool:
    """Return True for a folder of nothing but what opcheck wrote, with --force."""
    from opcheck.run.golden.writing import check_place
    from opcheck.run.writing import check_tests

    if "--force" not in words or not folder.is_dir() or not any(folder.iterdir()):
        return False
    for check in (check_place, check_tests):
        with suppress(UsageError):
            check(folder, force=True)
            return True
    return False


@click.command(name="write", cls=Command)
@selection_options
@click.option(
    "-o",
    "--output",
    "folder",
    type=Output(_is_replaced),
    required=True,
    metavar="DIR",
    help="The folder to be made.",
)
@click.option("--force", is_flag=True, help="Replace a folder that this command wrote.")
@click.option(
    "--data-sets",
    type=click.IntRange(min=1, max=1000),
    default=1,
    show_default=True,
    metavar="N",
    help="So many data sets a case, of other random numbers each; a case with nothing random in"
    " it, or with its answer written out, has one.",
)
@click.option("--npz", is_flag=True, help="Also NumPy's archives of all tensors.")
@processes_option
def command(
    folder: Path, force: bool, data_sets: int, npz: bool, jobs: int | None, **selection: Any
) -> None:
    """Write cases with their right answers, as ONNX's test data.

    What is written is the exact value of the operator's formula, correctly rounded. Where a case
    states another answer, nothing is written of it.

    \b
    opcheck golden write -o golden                       the shipped suites
    opcheck golden write -o golden --op Softmax --npz    one operator, for NumPy too
    opcheck golden write my.yaml -o mine --data-sets 5   my cases, with five data sets each
    opcheck golden check golden                          later, or elsewhere
    opcheck golden write onnx-node -o DIR                the node tests of the onnx package, as is
    opcheck golden write 'onnx-node/softmax*' -o DIR     some of them

    A test of `must` has to pass, and of `open` one of each case; the models of `rejected` have to
    be refused. docs/golden-files.md describes all files.

    Exit codes: 0 written, 1 a case was left out because it contradicts the oracle, 2 wrong usage
    or case file, 4 the folder cannot be written, 5 there was nothing to write, 130 interrupted.
    """
    from opcheck.cli.console import counted
    from opcheck.cli.golden.summary import show
    from opcheck.run.golden.writing import Settings, check_place, write
    from opcheck.run.machine import processors
    from opcheck.suite.sources import check_case_files, is_node_tests

    paths = selection["paths"]
    if any(map(is_node_tests, paths)):
        _write_node_tests(folder, paths, force=force)
    check_case_files(paths, "golden write")
    check_place(folder, force=force)
    cases, said = chosen_cases(**selection)
    settings, processes = Settings(data_sets, npz), jobs or processors()
    with counted("writing", len(cases)) as each:
        golden = write(folder, cases, said, settings, processes, force=force, counted=each)
    show(golden)
    wrong = len({one.case for one in golden.left_out if one.wrong})
    count = len(golden.manifest.cases)
    if not count and not wrong:
        end(Exit.NOTHING_JUDGED, f"nothing to write ({said})")
    where = f"{_cases(count)} in {folder}" if count else "nothing was written"
    code = Exit.NONCONFORMING if wrong else Exit.CONFORMS
    end(code, f"{f'{_cases(wrong)} wrong; ' if wrong else ''}{where}")


def _write_node_tests(folder: Path, paths: Sequence[Path], *, force: bool) -> NoReturn:
    """Write those of the onnx package as they are, and leave; nothing else can be said of them."""
    from opcheck.cli.console import counted
    from opcheck.run.writing import write_node_tests

    context = click.get_current_context()
    others = [
        param.opts[-1]
        for param in context.command.params
        if param.name not in ("paths", "folder", "force")
        and context.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT
    ]
    if len(paths) > 1 or others:
        told = f"{paths[0]} is written as it is, without {', '.join(others) or 'other paths'}"
        raise UsageError(told, "onnx-node/PATTERN selects some of the tests")
    with counted("writing", None) as each:
        count = write_node_tests(folder, paths[0], force=force, counted=each)
    end(Exit.CONFORMS, f"{count:,} node tests are in {folder}")


def _cases(count: int) -> str:
    return "1 case is" if count == 1 else f"{count:,} cases are"
