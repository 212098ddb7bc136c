"""A command's click parameters and the fields of its dataclass of options are the same."""

import inspect
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

import click
import pytest

from opcheck import model
from opcheck.cli import group, options
from opcheck.cli.files import ReportFile, ReportTarget
from opcheck.execution import golden

#: Names that the modules of commands import for type checkers only.
TYPES = {"Level": model.Level, "Names": golden.Names}


def all_commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group.program)
    for name in group.COMMANDS:
        command = group.program.get_command(context, name)
        assert command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", one) for inner, one in command.commands.items())
        elif command.params:
            yield name, command


COMMANDS = dict(all_commands())
each_command = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())


def options_of(command: click.Command) -> type:
    hints = get_type_hints(inspect.unwrap(command.callback))  # type: ignore[arg-type]
    return hints["given"]


def flat_fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, localns=TYPES)
    found: dict[str, Any] = {}
    for field in fields(kind):
        hint = hints[field.name]
        is_group = isinstance(hint, type) and is_dataclass(hint)
        found |= flat_fields(hint) if is_group else {field.name: hint}
    return found


def type_of_one(kind: click.ParamType) -> Any:
    if isinstance(kind, ReportFile):
        return ReportTarget
    if isinstance(kind, click.Path):
        return Path
    if isinstance(kind, click.FloatRange):
        return float
    if isinstance(kind, click.IntRange) or kind is click.INT:
        return int
    if isinstance(kind, click.types.FuncParamType):
        return get_type_hints(kind.func)["return"]
    return str


def type_of(parameter: click.Parameter) -> Any:
    """The type of a parameter's value, by click's settings alone."""
    if parameter.callback:
        return get_type_hints(parameter.callback)["return"]
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return bool
    if isinstance(parameter, click.Option) and parameter.count:
        return int
    one = type_of_one(parameter.type)
    if parameter.multiple or parameter.nargs == -1:
        return tuple[one, ...]
    several = tuple[(one,) * parameter.nargs] if parameter.nargs > 1 else one
    has_value = parameter.required or isinstance(parameter.default, int | float | str | Path)
    return several if has_value else several | None


def without_choices(hint: Any) -> Any:
    return str if getattr(hint, "__origin__", None) is Literal else hint


@each_command
def test_its_parameters_are_the_fields_of_its_options(command: click.Command) -> None:
    names = [str(parameter.name) for parameter in command.params]
    assert sorted(names) == sorted(flat_fields(options_of(command)))


@each_command
def test_each_field_has_the_type_of_its_parameter(command: click.Command) -> None:
    hints = flat_fields(options_of(command))
    for parameter in command.params:
        hint = without_choices(hints[str(parameter.name)])
        assert hint == type_of(parameter), parameter.name


@options.compose(
    click.option("--dim", "dims", multiple=True, callback=options._sizes_by_name),
    click.option("--inputs"),
    click.option("--graph-elements"),
    click.option("--graph-nodes"),
    click.option("--judge-memory"),
)
@options.takes(options.ModelOptions)
def model_command(given: options.ModelOptions) -> None:
    """Take a group of options."""
    taken.append(given)


taken: list[options.ModelOptions] = []


def test_a_command_takes_its_options_as_one_frozen_object() -> None:
    click.command(model_command).main(["--dim", "n=3"], standalone_mode=False)
    [given] = taken
    assert given == options.ModelOptions(
        dims={"n": 3}, inputs=None, graph_elements=None, graph_nodes=None, judge_memory=None
    )
    with pytest.raises(FrozenInstanceError):
        given.inputs = Path("elsewhere")  # type: ignore[misc]


def test_a_missing_parameter_is_an_error() -> None:
    with pytest.raises(KeyError, match="inputs"):
        options._built(options.ModelOptions, {"dims": {}})
