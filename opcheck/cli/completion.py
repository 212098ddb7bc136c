"""`opcheck completion`, and what a shell gets when it asks for completions.

A shell script calls `opcheck` with the variable `_OPCHECK_COMPLETE`; click finds the completions.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from opcheck.cli import options
from opcheck.cli.group import COMPLETE_VARIABLE

#: Ends the text before the cursor, so that its last word is the one to complete.
_CURSOR = "\1"


def _script(shell: str) -> str:
    return Path(__file__).with_name(f"completion.{shell}").read_text("utf-8")


class _Bash(BashComplete):
    """Completion for Bash, which splits words at `:` and `=`; ids and addresses have both."""

    source_template: ClassVar[str] = _script("bash")

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one to complete, and that one, from the whole line."""
        words = split_arg_string(os.environ["COMP_LINE"] + _CURSOR)
        incomplete = words[-1].removesuffix(_CURSOR)
        value = incomplete
        if incomplete.startswith("--"):
            value = incomplete.partition("=")[2] or incomplete
        # Bash replaces its own last word only, which goes on behind a cursor inside of it.
        own = os.environ["COMP_LAST"]
        own = "" if own in ("=", ":") else own.lstrip("'\"")
        self._kept = next(k for k in range(len(value) + 1) if own.startswith(value[k:]))
        return words[1:-1], incomplete

    def format_completion(self, item: "CompletionItem[str]") -> str:
        """Return a completion as the script reads it: type, comma, what follows bash's cut."""
        return f"{_type(item)},{item.value[self._kept :]}"


class _Zsh(ZshComplete):
    """Completion for Z shell."""

    source_template: ClassVar[str] = _script("zsh")

    def format_completion(self, item: "CompletionItem[str]") -> str:
        """Return a completion as the script reads it: type, value and help, a line each."""
        _, _, value_and_help = super().format_completion(item).partition("\n")
        return f"{_type(item)}\n{value_and_help}"


def _type(item: "CompletionItem[str]") -> str:
    """Return `goes-on` for a value that no space follows, else click's type."""
    return "goes-on" if item.goes_on else item.type


#: By the name of the shell. Fish itself puts no space after `/`, `:` and `=`.
SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": FishComplete}


def register() -> None:
    """Have click answer the scripts of `opcheck completion`."""
    for shell, answers in SHELLS.items():
        add_completion_class(answers, shell)


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """Options of `opcheck completion`."""

    shell: str


@click.command(name="completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@options.takes(CompletionOptions)
def command(given: CompletionOptions) -> None:
    """Print a script that completes command lines in a shell.

    Completed are commands, options, backends, operators (after a comma too), ids of cases, element
    types, formats of reports, and files.

    \b
    eval "$(opcheck completion bash)"               in ~/.bashrc
    eval "$(opcheck completion zsh)"                in ~/.zshrc, after compinit
    opcheck completion fish > ~/.config/fish/completions/opcheck.fish
    """
    program: Any = click.get_current_context().find_root().command
    shell = SHELLS[given.shell](program, {}, "opcheck", COMPLETE_VARIABLE)
    click.echo(shell.source_template % shell.source_vars())
