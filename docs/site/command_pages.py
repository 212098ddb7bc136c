"""A page for each command, of what `--help` prints: usage, text, examples and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

from docs.site.markdown import code, escaped, fenced, prose
from opcheck.cli.group import COMMANDS, program
from opcheck.report.markdown import table

#: What click puts before a paragraph that keeps its lines.
_KEPT = "\b\n"


def pages() -> Mapping[str, str]:
    """Return the page of each command by the command's name, and `index`, which lists them."""
    root = click.Context(program, info_name="opcheck", help_option_names=["-h", "--help"])
    found = {"index": "\n".join(_index(root)) + "\n"}
    for name in COMMANDS:
        command = program.get_command(root, name)
        assert command is not None, name
        found[name] = "\n".join(_page(command, root)) + "\n"
    return found


def _index(root: click.Context) -> Iterator[str]:
    """Yield the list of commands, and the text of `opcheck --help`."""
    yield from ("# Commands", "", "Made of what `--help` prints.", "")
    rows = [[f"[opcheck {name}]({name}.md)", escaped(line)] for name, (_, line) in COMMANDS.items()]
    yield from (*table(["command", "what it does"], rows), "")
    yield from _text(root.command)
    yield from ("```{toctree}", ":hidden:", "", *COMMANDS, "```")


def _page(command: click.Command, parent: click.Context) -> Iterator[str]:
    """Yield the page of a command, with a section for each command below it."""
    context = _context(command, parent)
    yield from (f"# {context.command_path}", "")
    yield from _body(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from (f"## {context.command_path} {name}", "")
            yield from _body(inner, _context(inner, context))


def _context(command: click.Command, parent: click.Context) -> click.Context:
    return click.Context(command, info_name=command.name, parent=parent)


def _body(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the usage, text and options of a command."""
    usage = " ".join(command.collect_usage_pieces(context))
    yield from fenced(f"{context.command_path} {usage}")
    yield from _text(command)
    rows = [[code(names), escaped(about)] for names, about in _options(command, context)]
    yield from (*table(["option", "what it does"], rows), "")


def _text(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a command's help; examples keep their lines."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith(_KEPT):
            yield from fenced(paragraph.removeprefix(_KEPT))
        else:
            yield from (prose(paragraph), "")


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the names of each option, as `--help` has them, and what it does."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            yield record
