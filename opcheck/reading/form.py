"""A node against a pydantic model: the model's findings, located and reworded for users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from opcheck.errors import did_you_mean
from opcheck.reading.nodes import Node
from opcheck.reading.problems import Problems

Model = TypeVar("Model", bound=BaseModel)
Location: TypeAlias = tuple[str | int, ...]

#: The longest value that a message repeats.
_SHOWN = 60


def validate(
    model: type[Model],
    node: Node,
    file: str,
    problems: Problems,
    known_keys: Callable[[Location], Sequence[str]] | None = None,
) -> Model | None:
    """`node` as an instance of `model`; None, with every problem reported, if it has not the form.

    `known_keys` gives the keys allowed at a location of pydantic's, for "did you mean"; without
    it those of `model` are meant everywhere. Steps in angle brackets are tags, not keys.
    """
    try:
        return model.model_validate(node.plain())
    except ValidationError as error:
        keys = known_keys or (lambda _: aliases(model))
        for finding in error.errors(include_url=False):
            _report(finding, node, file, problems, keys)
        return None


def aliases(model: type[BaseModel]) -> list[str]:
    """The keys of a model as files spell them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _report(
    finding: Any,
    node: Node,
    file: str,
    problems: Problems,
    known_keys: Callable[[Location], Sequence[str]],
) -> None:
    location: Location = finding["loc"]
    path = [step for step in location if not str(step).startswith("<")]
    if finding["type"] == "extra_forbidden":
        known = known_keys(location[:-1])
        hint = did_you_mean(str(path[-1]), known) or f"known: {', '.join(known)}"
        problems.add(file, node.at(path, key=True), f"unknown key {path[-1]!r}", hint)
    elif finding["type"] == "missing":
        problems.add(file, node.at(path[:-1]), f"{_spelt(path[:-1])}{path[-1]!r} is missing")
    else:
        problems.add(file, node.at(path), f"{_spelt(path)}{_reason(finding)}")


def _reason(finding: Any) -> str:
    if finding["type"] == "value_error":
        return str(finding["ctx"]["error"])
    message = finding["msg"].replace("Input should be", "must be").replace("should", "must")
    value = finding["input"]
    got = f", got {value!r}"[:_SHOWN] if isinstance(value, str | int | float | None) else ""
    return f"{message[0].lower()}{message[1:]}{got}"


def _spelt(path: Sequence[str | int]) -> str:
    """The keys on the way; the place in a list is told by line and column."""
    keys = [step for step in path if isinstance(step, str) and step not in ("cases", "rows")]
    return f"{'.'.join(keys)}: " if keys else ""
