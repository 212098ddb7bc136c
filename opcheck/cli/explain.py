"""`opcheck explain`: what a name means that opcheck prints."""

from dataclasses import dataclass

import click

from opcheck.cli import options
from opcheck.cli.console import stdout_console


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Options of `opcheck explain`."""

    name: str


@click.command(name="explain")
@click.argument("name")
@options.takes(ExplainOptions)
def command(given: ExplainOptions) -> None:
    """Say what a name means that opcheck prints.

    NAME is a case, a verdict, a way to fail, a mistake, a defect, a ruling, an operator, a level,
    the label of a line, the head of a column, an exit code, or some words of a specification's
    sentence.

    \b
    opcheck explain warn
    opcheck explain self                     a column
    opcheck explain 'exit 4'
    opcheck explain last_of_ties             a mistake, as the likely cause of a failure
    opcheck explain ORT-0002                 a defect of a shipped ledger
    opcheck explain nan-in-maximum           a ruling
    opcheck explain 'coerced into a 2-dimensional tensor'
    opcheck explain 'Hardmax/nan@opset=13,dtype=float32'    the same as opcheck show

    Exit codes: 0 explained, 2 opcheck prints no such name.
    """
    if "/" in given.name and " " not in given.name:
        from opcheck.cli.show import ShowOptions, show_cases

        show_cases(ShowOptions(case=given.name, paths=(), full=False, dims={}))
        return
    from opcheck.execution.explain import explanations
    from opcheck.report.explained import show

    show(stdout_console(), explanations(given.name))
