"""Makes `docs/case-files.md` of the JSON Schema of case files.

python docs/case_files.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from opcheck.dtypes import DTYPES
from opcheck.suite.fields import json_schema

PAGE = Path(__file__).with_suffix("").with_name("case-files.md")
Schema: TypeAlias = dict[str, Any]
#: The places in which most fields may stand, by the names of their definitions.
_PLACES = {"": "file", "CaseEntry": "case", "RowFields": "row"}
#: How the schema's ways to write a tensor or an element type are shown, the longest first.
_SHORT = {
    "number, text, truth value or nested list or [tensor](#tensor)": "[tensor](#tensor)",
    "number, text, truth value or nested list": "literal",
    " ".join(f"`{name}`" for name in DTYPES): "[dtype](#dtype)",
}
_FIRST = "Files, cases, rows"
#: The section of definitions that have one field.
_SMALL = "Expectations"
_INTRODUCTION = """\
# Fields of case files

<!-- Made by `python docs/case_files.py` of the JSON Schema; edits are lost. -->

[cases/README.md](../cases/README.md) has examples. `opcheck schema` prints the JSON Schema for \
editors.

Unknown and repeated fields are errors. `null` means that a field is left out.
"""


def text() -> str:
    """The page."""
    lines = "\n".join(_lines(json_schema())).rstrip() + "\n"
    for long, short in _SHORT.items():
        lines = lines.replace(long, short)
    return lines


def _lines(schema: Schema) -> Iterator[str]:
    """Yield the page, line by line."""
    definitions = schema["$defs"]
    yield _INTRODUCTION
    yield from _main_fields(schema)
    yield ""
    yield "## Dtype"
    yield ""
    yield f"One of {', '.join(f'`{name}`' for name in DTYPES)}."
    yield ""
    yield from _small_definitions(definitions)
    for name, definition in definitions.items():
        if not (name in _PLACES or _is_named(name, definitions) or _is_small(definition)):
            yield ""
            yield from _definition(name, definition, definitions)


def _main_fields(schema: Schema) -> Iterator[str]:
    """Yield the table of the fields of a file, a case and a row."""
    definitions = schema["$defs"]
    yield f"## {_FIRST}"
    yield ""
    yield "Required: `op`, `cases` or `bench`, and the `name` of a case."
    yield ""
    places = {name: schema if not name else definitions[name] for name in _PLACES}
    fields: dict[str, Schema] = {}
    for place in places.values():
        for name, field in place["properties"].items():
            fields.setdefault(name, field)
    yield "| field | in | value | meaning |"
    yield "|---|---|---|---|"
    for name, field in fields.items():
        having = [title for at, title in _PLACES.items() if name in places[at]["properties"]]
        where = "all" if len(having) == len(_PLACES) else ", ".join(having)
        yield f"| `{name}` | {where} | {_value(field)} | {_meaning(field, definitions)} |"


def _small_definitions(definitions: Schema) -> Iterator[str]:
    """Yield one table of all definitions that have one field."""
    yield f"## {_SMALL}"
    yield ""
    yield "| field | value | meaning |"
    yield "|---|---|---|"
    for definition in filter(_is_small, definitions.values()):
        ((field, about),) = definition["properties"].items()
        meaning = f"{_escaped(definition['description'])} {_meaning(about, definitions)}"
        yield f"| `{field}` | {_value(about)} | {meaning} |"


def _definition(name: str, definition: Schema, definitions: Schema) -> Iterator[str]:
    """Yield the section of a definition, with a table of its fields."""
    yield f"## {_title(name)}"
    yield ""
    alone = " A literal alone is its `value`." if name == "TensorFields" else ""
    yield _escaped(definition["description"]) + alone
    yield ""
    yield "| field | value | meaning |"
    yield "|---|---|---|"
    required = definition.get("required", [])
    for field, about in definition["properties"].items():
        always = " (always)" if field in required else ""
        yield f"| `{field}`{always} | {_value(about)} | {_meaning(about, definitions)} |"
    others = definition.get("additionalProperties")
    if isinstance(others, dict):
        yield f"| the name of an output | {_value(others)} | |"


def _unnamed(name: str) -> str:
    """`AlternativeGoldenField` → `GoldenField`, which is the same without `as`."""
    return name.removeprefix("Alternative")


def _is_named(name: str, definitions: Schema) -> bool:
    """Return True if a definition only adds `as` to another one."""
    return name != _unnamed(name) and _unnamed(name) in definitions


def _is_small(definition: Schema) -> bool:
    """Return True if a definition takes one field only, which is described."""
    fields = [*definition.get("properties", {}).values()]
    closed = definition.get("additionalProperties") is False
    return closed and len(fields) == 1 and "description" in fields[0]


def _title(name: str) -> str:
    """`AlternativeGoldenField` → `Alternative golden`."""
    words = re.findall("[A-Z][a-z]*", name.removesuffix("Fields").removesuffix("Field"))
    return " ".join(words).capitalize()


def _meaning(field: Schema, definitions: Schema) -> str:
    """The field's description, or else that of what it holds."""
    if "description" in field:
        return _escaped(field["description"])
    if "$ref" in field:
        return _meaning(definitions[field["$ref"].rpartition("/")[2]], definitions)
    # Of one of several kinds the description is not that of the field.
    kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
    kinds = kinds if len(kinds) == 1 else []
    kinds += [field[key] for key in ("items", "additionalProperties") if _is_schema(field.get(key))]
    return next(filter(None, (_meaning(kind, definitions) for kind in kinds)), "")


def _is_schema(value: object) -> bool:
    return isinstance(value, dict)


def _value(field: Schema) -> str:
    """Return in words what a field takes."""
    if "$ref" in field:
        return _reference(field["$ref"].rpartition("/")[2])
    for several in ("anyOf", "oneOf"):
        if several in field:
            kinds = [kind for kind in field[several] if kind != {"type": "null"}]
            return _either(dict.fromkeys(map(_value, kinds)))
    if "enum" in field:
        return " ".join(f"`{item}`" for item in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    return _typed_value(field)


def _reference(name: str) -> str:
    """Return a link to the section of a definition."""
    if name in _PLACES:
        return _link(_PLACES[name].strip("`"), _FIRST)
    definitions = json_schema()["$defs"]
    added = " with `as`" if _is_named(name, definitions) else ""
    name = _unnamed(name) if added else name
    section = _SMALL if _is_small(definitions[name]) else _title(name)
    return _link(_title(name).lower(), section) + added


def _typed_value(field: Schema) -> str:
    """Return in words what a field of a type, or of one of several, takes."""
    match field.get("type"):
        case "array":
            return _array(field)
        case "object":
            return _object(field)
        case "integer" | "number" as kind:
            return _number(kind, field)
        case "string":
            pattern = field.get("pattern")
            return f"text like `{pattern}`" if pattern else "text"
        case "boolean":
            return "truth value"
        case [*kinds]:
            names = {"array": "nested list", "boolean": "truth value", "string": "text"}
            return _either(names.get(kind, kind) for kind in kinds if kind != "null")
    return "anything that fits there"


def _either(kinds: Iterable[str]) -> str:
    """Return alternatives as a list: one comma for each word "or" but the last."""
    *first, last = kinds
    return f"{', '.join(first)} or {last}" if first else last


def _link(said: str, title: str) -> str:
    return f"[{said}](#{title.lower().replace(',', '').replace(' ', '-')})"


def _array(field: Schema) -> str:
    least = field.get("minItems", 0)
    most = field.get("maxItems")
    if "items" not in field:
        return f"list of at least {least}" if least else "list"
    items = _value(field["items"])
    if least == most:
        return f"list of {least}: {items}"
    return f"list of {items}" + (f", at least {least}" if least > 1 else "")


def _object(field: Schema) -> str:
    others = field.get("additionalProperties")
    if not isinstance(others, dict):
        return "one path and its value" if field.get("maxProperties") == 1 else "mapping"
    names = field.get("propertyNames", {}).get("enum")
    return f"mapping{' of types' if names else ''} to {_value(others)}"


def _number(kind: str, field: Schema) -> str:
    told = kind
    if "minimum" in field:
        told += f" ≥ {field['minimum']}"
    if "exclusiveMinimum" in field:
        told += f" > {field['exclusiveMinimum']}"
    return told + (f", ≤ {field['maximum']:,}" if "maximum" in field else "")


def _escaped(said: str) -> str:
    return said.replace("|", "\\|").replace("[", "\\[").replace("<", "\\<")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
