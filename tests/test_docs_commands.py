"""Every command line that a page shows is one that opcheck understands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from opcheck.cli.group import program
from tests.shell import ROOT

HELP = {"help_option_names": ["-h", "--help"]}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "cases" / "README.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
_FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`(opcheck [^`\n]+)`")
_COMMAND = re.compile(r"^(?:\$ )?(?:\S*/)?opcheck (?P<words>.*)", re.MULTILINE)
#: What a shell makes of a line is no matter of opcheck's.
_SHELL = {"&&", "||", "|", ">", ";", "&"}


def commands(page: Path) -> Iterator[list[str]]:
    """The words behind `opcheck` in fenced blocks and in code within lines."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCED.findall(text):
        joined = block.replace("\\\n", " ").replace("&& ", "\n").replace("; ", "\n")
        yield from (_words(found["words"]) for found in _COMMAND.finditer(joined))
    # Within a line `…` stands for anything.
    inline = (found.removeprefix("opcheck ") for found in _INLINE.findall(_FENCED.sub("", text)))
    # A word alone is the name of a command.
    yield from (_words(words) for words in inline if "…" not in words and " " in words)


def _words(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    end = next((n for n, word in enumerate(words) if word in _SHELL), len(words))
    return words[:end]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_commands_and_options_that_there_are(page: Path) -> None:
    wrong = []
    for words in commands(page):
        command = program.get_command(click.Context(program), words[0]) if words else None
        if command is None:
            wrong.append(f"{words[:1]} is no command")
            continue
        if isinstance(command, click.Group) and len(words) > 1:
            inner = command.get_command(click.Context(command), words[1])
            if inner is None:
                wrong.append(f"{words[:2]} is no command")
            if inner is None or not words[2:]:
                continue
            command, words = inner, words[1:]
        try:
            # As the program makes it: a command remembers the first help option it had.
            command.make_context(words[0], words[1:], parent=click.Context(program, **HELP))
        except click.exceptions.Exit:  # --help
            continue
        except click.UsageError as error:
            wrong.append(f"{shlex.join(words)}: {error.message}")
    assert wrong == []


def test_pages_have_commands_at_all() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 20
