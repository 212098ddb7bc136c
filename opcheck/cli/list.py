"""What case files say: `opcheck list`, and what they may say: `opcheck schema`."""

import json
from pathlib import Path
from typing import Any

import click

from opcheck.cli import options
from opcheck.cli.options import chosen_cases, flag, leave, output, print_records
from opcheck.errors import Exit


@click.command(name="list")
@options.selection_options
@options.dim_option
@flag(
    "--clauses",
    help="The sentences of the specification instead, each with the cases that test it.",
)
@click.option(
    "--save-questions",
    "folder",
    type=options.PATH,
    metavar="DIR",
    help="Write models and inputs, for a machine that has no opcheck.",
)
@options.format_option("json")
def command(clauses: bool, folder: Path | None, form: str, **selection: Any) -> None:
    """Show the cases that files expand to, without running anything.

    \b
    opcheck list --op Hardmax --opset 13 -k 'ties and float32'
    opcheck list my.yaml && echo "my.yaml is well formed"
    opcheck list --clauses --op Hardmax   which sentences of its text are tested, and how
    opcheck list --clauses my.yaml        the same of any ONNX operator, for my cases
    opcheck list my.yaml --save-questions DIR && ./device DIR && opcheck run my.yaml -b saved:DIR

    Exits with 2 and every problem of every file if there is one, with 5 if no case matches.
    """
    from opcheck.clauses import check_files, survey
    from opcheck.report import listing
    from opcheck.suite import load

    cases, said = chosen_cases(**selection)
    if clauses:
        check_files(cases, lambda op: load((), [op] if selection["paths"] else selection["ops"]))
    surveys = survey(cases) if clauses else ()
    if form == "json":
        pages = (record for page in surveys for record in listing.clause_records(page))
        print_records(pages if clauses else map(listing.record, cases))
    elif clauses:
        listing.show_clauses(output(), surveys)
    else:
        listing.show(output(), cases)
    if folder:
        from opcheck.execution.saving import write_questions

        count = write_questions(folder, cases)
        click.echo(f"opcheck: {count:,} questions in {folder}", err=True)
    if not cases:
        click.echo(f"opcheck: no case matches ({said})", err=True)
        leave(Exit.NOTHING_JUDGED)


@click.command(name="schema")
def schema() -> None:
    """Print the JSON Schema of case files, for editors.

    \b
    opcheck schema > opcheck.schema.json
    # then, as the first line of a case file:
    # yaml-language-server: $schema=opcheck.schema.json
    """
    from opcheck.suite.fields import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
