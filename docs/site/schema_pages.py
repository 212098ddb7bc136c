"""Pages of the formats that have a JSON Schema: ledgers, stored runs, the protocol, settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from docs.site.markdown import code, escaped, prose
from opcheck.backends.profile_fields import ProfileFileFields
from opcheck.cli.list import SCHEMAS
from opcheck.report.markdown import table

Schema: TypeAlias = Mapping[str, Any]
DOCS = Path(__file__).parent.parent


@dataclass(frozen=True)
class Format:
    """A format: its title, and the page of `docs` that explains it.

    `section` is the heading there whose table has the meaning of each field, "" if there is none.
    """

    title: str
    about: str
    page: str
    section: str = ""

    def meanings(self) -> Mapping[str, str]:
        """Return what the page's table says of each field, with links that lead from here."""
        if not self.section:
            return {}
        text = (DOCS / self.page).read_text(encoding="utf-8")
        after = text.partition(f"\n{self.section}\n")[2]
        rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", after, re.MULTILINE)
        return {field: self._from_here(meaning) for field, meaning in rows}

    def _from_here(self, text: str) -> str:
        return re.sub(
            r"\]\(([^)#]*)(#?[^)]*)\)",
            lambda link: f"](../docs/{link[1] or self.page}{link[2]})",
            text,
        )


#: Case files have a page of their own, which `docs/case_files.py` makes.
FORMATS = {
    "ledger": Format(
        "Ledger", "A list of known failures.", "known-failures.md", "## What it looks like"
    ),
    "run": Format("Stored run", "A line of the file.", "stored-runs.md"),
    "protocol": Format(
        "Protocol of programs",
        "A line that a program behind `cmd:` reads or writes.",
        "writing-a-backend.md",
    ),
    "settings": Format(
        "Settings file",
        "`opcheck.toml`, or `[tool.opcheck]` in `pyproject.toml`.",
        "writing-a-backend.md",
        "## Profiles",
    ),
}
#: More values of a choice than these are cut.
_CHOICES = 30


def pages() -> Mapping[str, str]:
    """Return the page of each format by its name."""
    schemas = {
        name: import_module(module).json_schema()
        for name, module in SCHEMAS.items()
        if name in FORMATS
    }
    schemas["settings"] = ProfileFileFields.model_json_schema()
    return {name: page(name, _with_small_parts(schema)) for name, schema in schemas.items()}


def _with_small_parts(schema: Schema) -> Schema:
    """Return a schema in which definitions without fields stand where they are named."""
    definitions = schema.get("$defs", {})

    def inlined(part: Any) -> Any:
        if isinstance(part, list):
            return [inlined(item) for item in part]
        if not isinstance(part, dict):
            return part
        definition = definitions.get(str(part.get("$ref", "")).rpartition("/")[2])
        if definition is not None and "properties" not in definition:
            return inlined(definition)
        return {key: inlined(value) for key, value in part.items()}

    result: Schema = inlined(dict(schema))
    return result


def page(name: str, schema: Schema) -> str:
    """Return the page of a format: a table of fields for each of its objects."""
    this = FORMATS[name]
    lines = [f"# {this.title}", "", f"{this.about} [How to use it](../docs/{this.page})"]
    if name in SCHEMAS:
        lines += ["", f"`opcheck schema {name}` prints the JSON Schema that this page is made of."]
    meanings = this.meanings()
    lines += ["", *_object("", schema, meanings)]
    for definition, content in schema.get("$defs", {}).items():
        if "properties" in content:
            lines += [f"## {definition}", "", *_object(definition, content, meanings)]
    return "\n".join(lines) + "\n"


def _object(name: str, schema: Schema, meanings: Mapping[str, str]) -> Iterator[str]:
    """Yield an object: its description, and its fields."""
    description = schema.get("description", "")
    for paragraph in description.split("\n\n") if name else ():
        yield from (prose(paragraph), "")
    kinds = schema.get("oneOf") or schema.get("anyOf")
    if kinds:
        yield from (f"One of: {_either(kinds)}.", "")
    fields = schema.get("properties")
    if not fields:
        return
    required = schema.get("required", ())
    rows = [
        [
            code(field) + (" (always)" if field in required else ""),
            _value(about),
            (prose(about.get("description", "")) or meanings.get(field, "")) + _default(about),
        ]
        for field, about in fields.items()
    ]
    yield from (*table(["field", "value", "meaning"], rows), "")


def _default(field: Schema) -> str:
    """Return the default of a field, if it is more than "left out"."""
    default = field.get("default")
    if default in (None, "", [], {}):
        return ""
    return f" Default: {code(json.dumps(default))}."


def _value(field: Schema) -> str:
    """Return what a field takes, in Markdown."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    kinds = field.get("anyOf") or field.get("oneOf")
    if kinds:
        return _either(kinds)
    if "enum" in field:
        shown = ", ".join(code(json.dumps(value)) for value in field["enum"][:_CHOICES])
        return shown + (", …" if len(field["enum"]) > _CHOICES else "")
    if "const" in field:
        return code(json.dumps(field["const"]))
    return _typed(field)


def _either(kinds: Iterable[Schema]) -> str:
    shown = dict.fromkeys(_value(kind) for kind in kinds if kind.get("type") != "null")
    return " or ".join(shown)


def _typed(field: Schema) -> str:
    """Return what a field of a type takes."""
    kind = field.get("type", "anything")
    if kind == "array" and "items" in field:
        return f"list of {_value(field['items'])}"
    if kind == "array" and "prefixItems" in field:
        return f"list: {', '.join(map(_value, field['prefixItems']))}"
    if kind == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"mapping to {_value(field['additionalProperties'])}"
    if isinstance(kind, list):
        kind = " or ".join(one for one in kind if one != "null")
    limits = [
        f"{sign} {field[name]}"
        for name, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"))
        if name in field
    ]
    words = re.sub("string", "text", kind)
    return escaped(" ".join([words, *limits]))
