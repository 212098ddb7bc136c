"""`opcheck explain`: what a name means that opcheck prints."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click
from click.core import Context, Parameter

from opcheck.cli import options
from opcheck.cli.console import stdout_console
from opcheck.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from opcheck.model.shown import ShownCase


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Options of `opcheck explain`."""

    name: str
    element: tuple[int, ...] | None


def _index(ctx: Context, param: Parameter, value: str | None) -> tuple[int, ...] | None:
    """Return the numbers between commas, () for ""; None for no value."""
    if value is None:
        return None
    try:
        return tuple(int(number) for number in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter("write numbers, such as 0,2,1", ctx, param) from None


@click.command(name="explain")
@click.argument("name")
@click.option(
    "--element",
    metavar="INDEX",
    callback=_index,
    help="Of a case: explain this element of its first output, such as 0,2,1; by default that in"
    " the middle.",
)
@options.takes(ExplainOptions)
def command(given: ExplainOptions) -> None:
    """Say what a name means that opcheck prints.

    NAME is a case, a verdict, a way to fail, a mistake, a defect, a ruling, an operator, a
    backend, a level, the label of a line, the head of a column, an exit code, or some words of a
    specification's sentence.

    \b
    opcheck explain warn
    opcheck explain self                     a column
    opcheck explain 'exit 4'
    opcheck explain last_of_ties             a mistake, as the likely cause of a failure
    opcheck explain ORT-0002                 a defect of a shipped ledger
    opcheck explain nan-in-maximum           a ruling
    opcheck explain 'coerced into a 2-dimensional tensor'
    opcheck explain 'Softmax/worked_example@opset=13,dtype=float32' --element 0,2

    A case is shown as `opcheck show` does, and then how one element of its output comes of the
    inputs, step by step: of floats, for operators of elements, reductions and products.

    Exit codes: 0 explained, 2 opcheck prints no such name.
    """
    if "/" in given.name and " " not in given.name:
        from opcheck.cli.show import ShowOptions, show_cases

        cases = ShowOptions(case=given.name, paths=(), full=False, dims={})
        show_cases(cases, partial(_show_element, given.element))
        return
    if given.element is not None:
        raise UsageError("--element is for a case", "name one, such as 'Relu/by_hand*'")
    from opcheck.execution.explain import explanations
    from opcheck.report.explained import show

    show(stdout_console(), explanations(given.name))


def _show_element(index: tuple[int, ...] | None, console: "Console", answered: "ShownCase") -> None:
    """Print the steps that lead to an element of the first output, if there is one."""
    from opcheck.execution.element import explained_element
    from opcheck.report import element

    explained = explained_element(answered, index)
    if explained:
        element.show(console, explained)
