"""The command `opcheck`, which imports a subcommand only when it is used."""

import errno
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import click

from opcheck import __version__, interrupt, own_memory
from opcheck.errors import CaseFileError, Exit, OpcheckError, WrongOperator, did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: The module of each command, and its line, so that `--help` need not import it.
COMMANDS = {
    "run": ("runs", "Judge backends by case files."),
    "new": ("new", "Write files to begin with: a backend, a case file, or a gate."),
    "bench": ("bench", "Time backends against each other, on cases they answer correctly."),
    "locate": ("models", "Find the first node of a model that a backend computes wrongly."),
    "extract": ("models", "Write the nodes of a model as case files."),
    "report": ("runs", "Show a stored run."),
    "diff": ("runs", "Show what changed from one stored run to another."),
    "merge": ("runs", "Join stored runs of one suite."),
    "pack": ("package", "Pack a stored run and its outputs into one file."),
    "verify": ("package", "Re-judge a packed run."),
    "golden": ("package", "Write test data with right answers."),
    "list": ("list", "Show the cases that files expand to."),
    "show": ("show", "Show one case: its text, model, data and right answers."),
    "explain": ("explain", "Say what a name means that opcheck prints."),
    "mutate": ("list", "Show which mutants the cases kill, and which survive."),
    "support": ("list", "Show which operators, versions and types backends have."),
    "backends": ("list", "Show the available backends."),
    "doctor": ("doctor", "Look at versions, backends and the machine."),
    "trust": ("trust", "Accept the code that a settings file names."),
    "completion": ("completion", "Print a script that completes command lines in a shell."),
    "schema": ("list", "Print the JSON Schema of case files or another format."),
}

#: The variable by which a shell asks for completions, as click names it.
COMPLETE_VARIABLE = "_OPCHECK_COMPLETE"


class Commands(click.Group):
    """A group that has a hint for an unknown command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, with a hint where the command is unknown."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            hint = did_you_mean(args[0], known) or f"commands: {', '.join(known)}"
            ctx.fail(f"no command {args[0]!r} ({hint})")
        return super().resolve_command(ctx, args)


class _Program(Commands):
    """All commands, imported when they are used; every ending of the program has its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        names = vars(importlib.import_module(f"opcheck.cli.{COMMANDS[name][0]}"))
        # The command that a module is named after is `command` there.
        return cast(click.Command, names["command" if name == COMMANDS[name][0] else name])

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the program, or answer a shell that asks for completions."""
        if COMPLETE_VARIABLE in os.environ:
            from opcheck.cli.completion import register

            register()
        return super().main(*args, **settings)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """Complete commands, without importing them, and options."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in `--help`, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Parse as click does, which prints --help and --version here."""
        with _endings():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        # Outside, so that the message names the limit.
        with own_memory.limited(), _endings():
            interrupt.safe_place()
            return super().invoke(ctx)


@contextmanager
def _endings() -> Iterator[None]:
    """End the program with the exit code of an error, Ctrl-C, or an output that takes no more."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed")
        yield
        return
    except OpcheckError as error:
        # Problems of files begin with their place, which editors and CI systems look for.
        prefix = "" if isinstance(error, CaseFileError | WrongOperator) else "opcheck: "
        _say(prefix + "\n".join(error.lines()))
        code = error.exit_code
    except MemoryError:
        _say(f"opcheck: out of memory{own_memory.limit_in_words()}")
        code = Exit.UNUSABLE
    except KeyboardInterrupt:
        _say("opcheck: interrupted")
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone, as `head` does: nothing was found wrong.
        _give_up_output()
        code = Exit.INTERRUPTED
    except OSError as error:
        # An error about a file names it, and one about a library has no number: both are bugs.
        if error.filename is not None or error.errno is None:
            raise
        _say(f"opcheck: the output cannot be written: {error.strerror}")
        _give_up_output()
        code = Exit.UNUSABLE
    sys.exit(int(code))


def _say(message: str) -> None:
    with suppress(OSError):  # the exit code says it too
        click.echo(message, err=True)


def _give_up_output() -> None:
    """Drop buffered output; otherwise Python fails once more when it flushes it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


#: What `opcheck` alone prints: the ways in, for somebody who has never used it.
_GREETING = """\
opcheck {version} tests whether a backend computes an operator as its specification says.

A first look, at the engines that are installed here, in half a minute:
  opcheck run --level smoke

I write a backend:
  opcheck new backend mine                        writes mine.py, which runs as it is
  opcheck run --op Softmax,Hardmax -b py:mine     judges it

I guard a backend in CI:
  opcheck new gate --backend py:mine              writes settings and workflows

I have a model, and doubt its answer:
  opcheck run model.onnx -b onnxruntime           judges its outputs
  opcheck locate model.onnx -b onnxruntime        names the first node that is wrong

opcheck doctor says which backends can be used here, opcheck --help has all commands.
"""


@click.group(
    cls=_Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="opcheck")
@click.pass_context
def program(context: click.Context) -> None:
    """Does a backend compute an operator as its specification says?

    \b
    opcheck run                          the shipped suites on numpy, onnxruntime, reference
    opcheck run my.yaml -b onnxruntime   my cases on one backend
    opcheck diff main.jsonl new.jsonl    what changed between two stored runs
    opcheck bench --op Softmax           how fast they are
    opcheck golden write -o golden       models, inputs and right answers as files
    opcheck list --op Hardmax -k nan     the cases that would run
    opcheck new backend mine             a backend to begin with
    opcheck mutate my.yaml               which mutants survive my cases

    Exit codes: 0 conforms, 1 something failed, 2 wrong usage or case file, 3 slower than before,
    4 a backend or the output could not be used, 5 nothing was judged, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(_GREETING.format(version=__version__), nl=False)
        # A script whose words are lost must not be green.
        sys.exit(int(Exit.USAGE))
