"""`opcheck schema`."""

import json

import click


@click.command(name="schema")
def command() -> None:
    """Print the JSON Schema of case files, for editors.

    \b
    opcheck schema > opcheck.schema.json
    # then, as the first line of a case file:
    # yaml-language-server: $schema=opcheck.schema.json
    """
    from opcheck.suite.fields import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
