"""The reference of `import opcheck`, of signatures, docstrings and the comments at fields."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import opcheck
from docs.site.markdown import code, fenced, prose
from opcheck.report.markdown import table

#: A heading within a docstring, such as "Args:".
_HEADING = re.compile(r"(Args|Raises|Attributes):$")
#: An item below such a heading: a name, and what it is.
_ITEM = re.compile(r"(\w+): ?(.*)")
_INDENT = 4
#: A field of a class, or a member of an enumeration.
_FIELD = re.compile(r"    (\w+)(?::| =)")
_COMMENT = re.compile(r"    #: ?(.*)")
#: Longer signatures have a line for each parameter.
_WIDE = 88


def page() -> str:
    """Return the page: functions first, then classes, then exceptions."""
    objects = {name: getattr(opcheck, name) for name in opcheck.__all__ if name[0] != "_"}
    functions = {name: it for name, it in objects.items() if inspect.isfunction(it)}
    errors = {name: it for name, it in objects.items() if _is_error(it)}
    classes = {
        name: it for name, it in objects.items() if name not in functions and name not in errors
    }
    lines = [
        "# Python",
        "",
        "What `import opcheck` offers, made of the docstrings. "
        "[opcheck from Python and pytest](../docs/python.md) shows how to use it.",
        "",
    ]
    lines += _section("Functions", functions, _function)
    lines += _section("Classes", classes, _class)
    lines += _section("Exceptions", errors, _class)
    return "\n".join(lines) + "\n"


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _section(title: str, objects: Mapping[str, Any], describe: Any) -> Iterator[str]:
    """Yield the section of some objects, each with a heading."""
    yield from (f"## {title}", "")
    for name, value in objects.items():
        yield from (f"### opcheck.{name}", "")
        yield from describe(name, value)


def _function(name: str, value: Any) -> Iterator[str]:
    yield from fenced(_signature(f"opcheck.{name}", value), "python")
    yield from docstring(inspect.getdoc(value) or "")


def _class(name: str, value: type) -> Iterator[str]:
    """Yield a class: its docstring, its fields or members, and its methods."""
    yield from docstring(inspect.getdoc(value) or "")
    rows = [[code(field), code(kind), prose(about)] for field, kind, about in _fields(value)]
    if rows:
        head = ["member", "value", "meaning"] if issubclass(value, enum.Enum) else _FIELD_COLUMNS
        yield from (*table(head, rows), "")
    for method, member in _members(value):
        yield from (f"#### {name}.{method}", "")
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function) and not isinstance(member, property):
            yield from fenced(_signature(method, function), "python")
        yield from docstring(inspect.getdoc(member) or "")


_FIELD_COLUMNS = ["field", "type", "meaning"]


def _signature(name: str, value: Any) -> str:
    """Return a signature as a definition would have it, in lines that are not too long."""
    signature = inspect.signature(value)
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    text = _plain(f"{name}{signature.replace(parameters=parameters)}")
    if len(text) <= _WIDE:
        return text
    lines = [f"    {line}," for line in _parameter_lines(parameters)]
    result = text.rpartition(") -> ")[2] if " -> " in text else "None"
    return "\n".join([f"{name}(", *lines, f") -> {result}"])


def _parameter_lines(parameters: Sequence[inspect.Parameter]) -> Iterator[str]:
    """Yield each parameter, and a star before the first that is given by name alone."""
    is_before = True
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and is_before:
            yield "*"
            is_before = False
        yield _plain(str(parameter))


def _plain(text: str) -> str:
    """Return a signature without quotes around its types and the modules of their classes."""
    text = re.sub(r"(->|:) '([^']*)'", r"\1 \2", text)
    return re.sub(
        r"\b(?:opcheck|sessions|pathlib|collections|typing)\.(?:\w+\.)*(?=[A-Z])", "", text
    )


def _fields(value: type) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of a dataclass or tuple, or members, each with its comment."""
    about: dict[str, str] = {}
    for base in reversed(inspect.getmro(value)):
        if base.__module__.startswith("opcheck"):
            about |= _comments(inspect.getsource(base).splitlines())
    if issubclass(value, enum.Enum):
        for member in value:
            yield member.name, repr(member.value), about.get(member.name, "")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name[0] != "_":
                yield field.name, _plain(_type(field.type)), about.get(field.name, "")
    elif issubclass(value, tuple):
        for name, kind in inspect.get_annotations(value).items():
            yield name, _type(kind), about.get(name, "")


def _type(kind: Any) -> str:
    """Return a type as code has it, if possible in few words."""
    if isinstance(kind, TypeVar):
        return "Any"
    if isinstance(kind, type) and not hasattr(kind, "__args__"):
        return kind.__name__
    return re.sub(r"Optional\[(.*)\]$", r"\1 | None", str(kind).replace("typing.", ""))


def _comments(source: Iterable[str]) -> dict[str, str]:
    """Return the `#:` comments above the fields of a class, by field."""
    found: dict[str, str] = {}
    pending: list[str] = []
    for line in source:
        comment = _COMMENT.match(line)
        field = _FIELD.match(line)
        if comment:
            pending.append(comment[1])
            continue
        if field and pending:
            found[field[1]] = " ".join(pending)
        pending = []
    return found


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that the class of the interface itself has."""
    for name, member in vars(value).items():
        is_method = inspect.isfunction(member) or isinstance(member, property)
        if is_method and name[0] != "_" and inspect.getdoc(member):
            yield name, member


# ── docstrings ────────────────────────────────────────────────────────────────────────────────


def docstring(text: str) -> Iterator[str]:
    """Yield a docstring as Markdown: paragraphs, indented code, and tables of arguments."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at]:
            at += 1
            continue
        block = lines[at : _end(lines, at)]
        at += len(block)
        if _HEADING.match(block[0]):
            yield from _items(block)
        elif block[0].startswith(" " * _INDENT):
            yield from fenced("\n".join(line[_INDENT:] for line in block), "python")
        else:
            yield from (prose(" ".join(block)), "")


def _end(lines: Sequence[str], at: int) -> int:
    """Return where the block that begins at a line ends: at an empty line, or a heading."""
    end = at + 1
    while end < len(lines) and lines[end] and not _HEADING.match(lines[end]):
        end += 1
    return end


def _items(block: Sequence[str]) -> Iterator[str]:
    """Yield the table of a heading's items; a further line of an item is indented more."""
    items: list[list[str]] = []
    for line in block[1:]:
        item = _ITEM.match(line[_INDENT:])
        if item:
            items.append([code(item[1]), item[2]])
        elif items:
            items[-1][1] += f" {line.strip()}"
    name = {"Args": "argument", "Raises": "exception", "Attributes": "field"}[block[0][:-1]]
    rows = [[name, prose(about)] for name, about in items]
    yield from (*table([name, "meaning"], rows), "")
