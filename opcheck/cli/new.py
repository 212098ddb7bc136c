"""`opcheck new`: files to begin with, which run as they are."""

import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from opcheck.cli import options, values
from opcheck.cli.console import note
from opcheck.cli.group import Commands
from opcheck.cli.scopes import PROFILE_NAME, profile_name
from opcheck.errors import UsageError, writing

#: The example that each kind of backend begins as.
_EXAMPLES = {"python": "my_backend.py", "lines": "persistent.py", "program": "one_shot.cpp"}
#: The example that each operator begins as, and the names there of operator and domain.
_OPERATOR = "my_operator.py"
_OPERATOR_NAME, _DOMAIN_NAME = "MyOperator", "my.domain"
#: DOMAIN.NAME of an operator, such as my.domain.Swish.
_DOMAIN_AND_NAME = re.compile(r"(?P<domain>[a-z]\w*(?:\.[a-z]\w*)*)\.(?P<op>[A-Z]\w*)", re.ASCII)
_WORKFLOWS = Path(".github/workflows")
_SETTINGS = """\
# Backends by name, for `opcheck run -b {name}`. All keys: docs/writing-a-backend.md, Profiles.
[backends.{name}]
address = {address}
# The operators that it has: runs, ledgers and tables are about these alone. "Conv@11+:float32" is
# one in the versions from opset 11 on, and in one type: a ledger need not list what it lacks.
{operators}
# The library does not check that a model is valid:
# refuses = false
# It adds up in a narrower type than the specification's:
# accumulate = ["float16"]
"""
_GATE = """\
# Judges the backend of this repository by opcheck; docs/gate.md explains each option.
name: conformance
on: [push, pull_request]
jobs:
  conformance:
    uses: ./.github/workflows/opcheck.yml
    with:
      backends: {name}
      # options: --known known.yaml  # once opcheck run -b {name} --update-known known.yaml wrote it
      install: pip install .
"""


@dataclass(frozen=True, kw_only=True)
class NewBackendOptions:
    """Options of `opcheck new backend`."""

    name: str
    kind: Literal["python", "lines", "program"]


@dataclass(frozen=True, kw_only=True)
class NewCaseOptions:
    """Options of `opcheck new case`."""

    op: str
    file: Path | None


@dataclass(frozen=True, kw_only=True)
class NewOperatorOptions:
    """Options of `opcheck new operator`."""

    name: str


@dataclass(frozen=True, kw_only=True)
class NewGateOptions:
    """Options of `opcheck new gate`."""

    folder: Path
    address: str
    name: str | None
    ops: tuple[str, ...]


@click.group(name="new", cls=Commands)
def command() -> None:
    """Write files to begin with: a backend, a case file, an operator, or a gate.

    They run as they are. No file that is there is changed.

    \b
    opcheck new backend mine              a backend in Python, mine.py
    opcheck new backend mine --kind lines    a program that answers in lines of JSON
    opcheck new case Softmax              a case file, softmax.yaml
    opcheck new operator acme.Swish       what is right for an operator of your own, swish.py
    opcheck new gate --backend py:mine    settings, and workflows of GitHub
    """


@command.command(name="backend")
@click.argument("name", default="my_backend")
@click.option(
    "--kind",
    type=click.Choice(list(_EXAMPLES)),
    default="python",
    show_default=True,
    help="A class in Python, a program that answers in lines, or a C++ program run for each case.",
)
@options.takes(NewBackendOptions)
def backend(given: NewBackendOptions) -> None:
    """Write a backend that has two operators, NAME.py or NAME.cpp.

    \b
    opcheck new backend mine && opcheck run --op Softmax,Hardmax -b py:mine

    Exit codes: 0 written, 2 wrong usage, or the file is there, 4 it cannot be written.
    """
    from opcheck.reading import shipped_folder

    example = shipped_folder("examples") / _EXAMPLES[given.kind]
    name = given.name.removesuffix(example.suffix)
    if not name or Path(name).name != name:
        hint = "such as my_backend: the file is written here"
        raise UsageError(f"{given.name!r} is no name of a file in this folder", hint)
    if given.kind == "python" and not name.isidentifier():
        hint = "such as my_backend: Python imports it by this name"
        raise UsageError(f"{name!r} is no name of a Python module", hint)
    file = Path(name + example.suffix)
    _write({file: example.read_text("utf-8").replace(example.stem, name)})
    asked = shlex.quote(f"cmd:python3 {shlex.quote(str(file))}")
    program = shlex.quote(f"cmd:{shlex.quote(f'./{name}')} {{model}} {{inputs}} {{outputs}}")
    commands = {
        "python": [f"opcheck run --op Softmax,Hardmax --level smoke -b py:{name}"],
        "lines": [f"opcheck run --op Hardmax --level smoke -b {asked}"],
        "program": [
            shlex.join(["g++", "-std=c++17", "-O2", "-o", name, str(file)]),
            f"opcheck run --op Softmax,Hardmax --level smoke -b {program}",
        ],
    }
    _show_next(commands[given.kind])


@command.command(name="case")
@click.argument("op")
@click.argument("file", type=options.PATH, required=False)
@options.takes(NewCaseOptions)
def case(given: NewCaseOptions) -> None:
    """Write a case file of the operator OP, with a first case that ships with opcheck.

    \b
    opcheck new case Softmax              softmax.yaml
    opcheck new case Softmax cases/mine.yaml

    Exit codes: 0 written, 2 wrong usage, or the file is there, 4 it cannot be written.
    """
    from opcheck.suite.sample import sample_text

    file = given.file or Path(f"{given.op.lower()}.yaml")
    _check_absent([file])
    _write({file: sample_text(given.op, str(file))})
    quoted = shlex.quote(str(file))
    _show_next([f"opcheck list {quoted}", f"opcheck run {quoted} -b onnxruntime"])


@command.command(name="operator")
@click.argument("name", metavar="DOMAIN.NAME")
@options.takes(NewOperatorOptions)
def operator(given: NewOperatorOptions) -> None:
    """Write the specification of an operator of your own domain, and models that ask for it.

    It has the sentences, a function of ONNX's operators, and answers worked out by hand. What it
    writes is judged by these answers, and the model by the function. A backend that has a kernel of
    this name may run it, any other runs the function.

    \b
    opcheck new operator acme.Swish && python swish.py
    opcheck run swish -b onnxruntime

    A case file of an operator of ONNX is begun by `opcheck new case`.

    Exit codes: 0 written, 2 wrong usage, or the file is there, 4 it cannot be written.
    """
    from opcheck.reading import shipped_folder

    domain, op = _domain_and_name(given.name)
    example = shipped_folder("examples") / _OPERATOR
    stem = op.lower()
    text = example.read_text("utf-8").replace(example.stem, stem)
    text = text.replace(_OPERATOR_NAME, op).replace(_DOMAIN_NAME, domain)
    _write({Path(f"{stem}.py"): text})
    _show_next(
        [
            f"python {stem}.py",
            f"opcheck run {stem} -b onnxruntime",
            f"opcheck run {stem}/model.onnx --dim rows=3 --dim columns=5 -b onnxruntime",
        ]
    )


def _domain_and_name(name: str) -> tuple[str, str]:
    """Return the domain and the name of an operator that is called DOMAIN.NAME.

    Raises UsageError for another form, and for a domain whose operators opcheck knows.
    """
    from opcheck import opset

    found = _DOMAIN_AND_NAME.fullmatch(name)
    if found is None:
        raise UsageError(f"{name!r} is no operator of a domain", "write it as acme.Swish")
    if found["domain"] in ("ai.onnx", *opset.domains()):
        hint = "choose a domain of your own; `opcheck new case OP` begins a case file"
        raise UsageError(f"{name!r}: the domain {found['domain']} has its own specification", hint)
    return found["domain"], found["op"]


@command.command(name="gate")
@click.argument("folder", type=options.PATH, default=".")
@click.option(
    "-b",
    "--backend",
    "address",
    metavar="ADDRESS",
    default="py:my_backend",
    show_default=True,
    help="The backend that is judged.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of its profile, for -b; by default that of its module or program, or mine.",
)
@click.option(
    "--op",
    "ops",
    metavar="OP",
    multiple=True,
    callback=options.split_operators,
    shell_complete=values.operators,
    help="Operators that it has, for its profile. Repeatable; commas and patterns too.",
)
@options.takes(NewGateOptions)
def gate(given: NewGateOptions) -> None:
    """Write the settings and the workflows of a gate on GitHub.

    FOLDER is the repository of the backend. With --op, runs and ledgers are about these operators.

    \b
    opcheck new gate --backend py:mine --op Softmax,Hardmax
    opcheck run -b mine --update-known known.yaml    list what fails today
    opcheck run -b mine --known known.yaml           green until something else fails

    Exit codes: 0 written, 2 wrong usage, or one of the files is there, 4 one cannot be written.
    """
    from opcheck.reading import shipped_folder

    name = _profile_name(given)
    workflow = shipped_folder(str(_WORKFLOWS)) / "opcheck.yml"
    settings = _SETTINGS.format(
        name=name,
        address=json.dumps(given.address, ensure_ascii=False),
        operators=_operators_line(given.ops),
    )
    files = {
        "opcheck.toml": settings,
        str(_WORKFLOWS / "opcheck.yml"): workflow.read_text("utf-8"),
        str(_WORKFLOWS / "conformance.yml"): _GATE.format(name=name),
    }
    _write({given.folder / file: text for file, text in files.items()})
    comments = {
        f"opcheck run -b {name} --update-known known.yaml": "list what fails today",
        f"opcheck run -b {name} --known known.yaml": "the gate",
    }
    if not given.ops:
        what = "which operators it has: name them in opcheck.toml"
        comments = {f"opcheck support -b {name}": what, **comments}
    width = max(map(len, comments))
    _show_next([f"{command:{width}}    # {comment}" for command, comment in comments.items()])


def _profile_name(given: NewGateOptions) -> str:
    """Return the name of a gate's profile: what the user states, or what the address calls it.

    Raises UsageError for an address of no backend, and for a name that no profile can have.
    """
    from opcheck.backends.address import built_in, parse

    address = parse(given.address)
    if given.name is None:
        return profile_name(address)
    if PROFILE_NAME.fullmatch(given.name) and given.name not in built_in():
        return given.name
    hint = f"letters, digits, _ and -, and none of {', '.join(built_in())}"
    raise UsageError(f"--name {given.name!r}: no profile can have this name", hint)


def _operators_line(ops: Sequence[str]) -> str:
    """Return the line of a profile with its operators, one that is commented out for none.

    Raises UsageError for parts that name no operator.
    """
    from opcheck.suite.scope import Scope

    Scope(ops)
    shown = ops or ("Conv@11+", "MatMul", "Reduce*")
    line = f"operators = {json.dumps([*shown])}"
    return line if ops else f"# {line}"


def _check_absent(files: Sequence[Path]) -> None:
    """Raise UsageError if one of the files is there: it is somebody's work."""
    for file in files:
        if os.path.lexists(file):  # A link that leads nowhere too.
            raise _is_there(file)


def _is_there(file: Path) -> UsageError:
    return UsageError(f"{file} is there already", "choose another name")


def _write(texts: dict[Path, str]) -> None:
    """Write new files, with their folders, and name them; all or none if one is there."""
    _check_absent([*texts])
    for file, text in texts.items():
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                new = file.open("x", encoding="utf-8")
            except FileExistsError:
                raise _is_there(file) from None
            with new:
                new.write(text)
        note(f"wrote {file}")


def _show_next(commands: Sequence[str]) -> None:
    """Print the commands to run next."""
    click.echo("next:")
    for line in commands:
        click.echo(f"  {line}")
