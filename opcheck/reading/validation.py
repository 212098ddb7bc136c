"""A node against a pydantic model: the model's findings, located and reworded for users."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from opcheck.errors import did_you_mean
from opcheck.reading import FileNode, Mark, Problems, quoted

Model = TypeVar("Model", bound=BaseModel)
Location: TypeAlias = tuple[str | int, ...]

_MAPPING: Final = ("dict_type", "model_type", "model_attributes_type")
#: Pydantic's type of error for a key that is not known.
_UNKNOWN = "extra_forbidden"
#: Messages by pydantic's type of error; the braces refer to its context.
_WORDS: Final = {
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "list_type": "must be a list",
    **dict.fromkeys(_MAPPING, "must be a mapping"),
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be greater than {gt:g}",
    "less_than_equal": "must be at most {le:g}",
    "finite_number": "must be finite",
    "union_tag_invalid": "must be one of {expected_tags}",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "must not be empty",
    "too_short": "must hold at least {min_length}",
    "too_long": "must hold at most {max_length}",
}


class Fields(BaseModel):
    """Base of all file formats: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


_NAME = {"type": "string", "minLength": 1}
_NAMES = {"type": "array", "minItems": 1, "items": _NAME}
Operators: TypeAlias = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(min_length=1),
    WithJsonSchema({"description": "An operator, or a list of them.", "anyOf": [_NAME, _NAMES]}),
]


def check(
    model: type[Model],
    node: FileNode,
    file: str,
    problems: Problems,
    keys_below: Mapping[str, Sequence[str]] = MappingProxyType({}),
    hints: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Model | None, list[Location]]:
    """`node` as an instance of `model`, or None, and the paths of its malformed parts.

    Every problem is reported. `keys_below` are the keys allowed below steps of pydantic's
    locations, by default those of `model`. Steps in angle brackets are tags, not keys. `hints`
    explain how the values of some keys are written.
    """
    try:
        return model.model_validate(node.plain()), []
    except ValidationError as error:
        findings = error.errors(include_url=False)
    paths = [_path(finding, node) for finding in findings]
    unknown = [p for p, it in zip(paths, findings, strict=True) if it["type"] == _UNKNOWN]
    for path, finding in zip(paths, findings, strict=True):
        if finding["type"] == "missing":
            # An unknown key next to it may be this one, misspelt.
            beside = [str(other[-1]) for other in unknown if other[:-1] == path[:-1]]
            if not did_you_mean(str(path[-1]), beside):
                message = f"{_spelt(path[:-1])}{path[-1]!r} is missing"
                problems.add(file, node.at(path[:-1]), message)
        elif finding["type"] == _UNKNOWN:
            below = (keys_below.get(str(step)) for step in reversed(finding["loc"][:-1]))
            known = next(filter(None, below), aliases(model))
            key = str(path[-1])
            hint = did_you_mean(key, known) or f"known: {', '.join(known)}"
            problems.add(file, node.at(path, key=True), f"unknown key {quoted(key)}", hint)
        else:
            mark = node.at(path, key=finding["loc"][-1:] == ("[key]",))
            message = f"{_spelt(path)}{_reason(finding)}"
            problems.add(file, mark, message, _hint(finding, path, hints))
    return None, paths


@cache
def aliases(model: type[BaseModel]) -> list[str]:
    """The keys of a model as files spell them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def shown(value: Any) -> str:
    """A value in a message: as YAML spells it, shortened, and harmless to a terminal."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list | tuple | dict):
        return "a mapping" if isinstance(value, dict) else "a list"
    words = {"None": "null", "True": "true", "False": "false"}
    words |= {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
    spelt = words.get(str(value), str(value))
    return spelt if len(spelt) <= 40 else f"{spelt[:30]}… ({len(spelt)} characters)"


def _path(finding: Any, node: FileNode) -> Location:
    """The keys on the way, without the tags among them."""
    path: list[str | int] = []
    here: FileNode | None = node
    for number, step in enumerate(finding["loc"], 1):
        is_unknown_key = finding["type"] == _UNKNOWN and number == len(finding["loc"])
        below = here and here.get(step)
        # With "[key]" pydantic marks the key before it as wrong.
        is_tag = (step == "[key]" or str(step).startswith("<")) and below is None
        if is_unknown_key or not is_tag:
            path.append(step)
            here = below
    return tuple(path)


def _reason(finding: Any) -> str:
    kind = finding["type"]
    value = finding["input"]
    if kind == "value_error":
        return str(finding["ctx"]["error"])
    if kind not in _WORDS:
        return str(finding["msg"][0].lower() + finding["msg"][1:])
    got = "" if kind.startswith("too_") else f", got {shown(value)}"
    return f"{_WORDS[kind].format(**finding.get('ctx', {}))}{got}"


def _hint(finding: Any, path: Location, hints: Mapping[str, str]) -> str | None:
    if finding["type"] in ("list_type", "int_type", *_MAPPING):
        return hints.get(str(path[-1]) if path else "")
    if finding["type"] != "literal_error" or not isinstance(finding["input"], str):
        return None
    return did_you_mean(finding["input"], re.findall("'(.*?)'", finding["ctx"]["expected"]))


def _spelt(path: Location) -> str:
    """The keys on the way; line and column locate an item of a list."""
    keys = [step for step in path if isinstance(step, str)]
    plain = [key if re.fullmatch(r"[\w.-]{1,60}", key) else quoted(key) for key in keys]
    item = "an item of " if path and isinstance(path[-1], int) else ""
    return f"{item}{'.'.join(plain)}: " if plain else ""


def operators_of(node: FileNode) -> dict[str, Mark]:
    """The operators that an `op` names, and where."""
    items = node.items if isinstance(node.value, tuple) else (node,)
    return {str(item.value): item.mark for item in items}


def check_operators(node: FileNode, known: Collection[str], file: str, problems: Problems) -> None:
    """Report operators that the `op` of a mapping names, and that are not `known`."""
    stated = node.get("op")
    for name, mark in operators_of(stated).items() if stated else ():
        if name not in known:
            problems.add(file, mark, f"op: there is no {quoted(name)}", did_you_mean(name, known))
