"""TOML as a tree whose values know their lines, which `tomllib` does not report."""

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from opcheck.reading.nodes import FileNode, Mark, Problems

TomlPath: TypeAlias = tuple[str, ...]
#: The file as a whole, for keys not found in its text.
_WHOLE = Mark(0, 0)

_WORD = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"(?P<key>{_WORD}(?:\s*\.\s*{_WORD})*)"
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")


def parse_toml(text: str, file: str, problems: Problems) -> FileNode | None:
    """The document; None, with the problem reported, if it is none."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        last = text.splitlines() or [""]
        mark = Mark(len(last), len(last[-1]) + 1)
        if place and place[1]:
            mark = Mark(int(place[1]), int(place[2]))
        hint = "texts stand in quotes" if "Invalid value" in str(error) else None
        problems.add(file, mark, f"no TOML: {_PLACE.sub('', str(error))}", hint)
        return None
    return _node(document, (), _marks(text))


def _node(value: Any, path: TomlPath, marks: Mapping[TomlPath, Mark]) -> FileNode:
    mark = _nearest(path, marks)
    if isinstance(value, dict):
        return FileNode(
            {key: _node(item, (*path, key), marks) for key, item in value.items()},
            mark,
            {key: _nearest((*path, key), marks) for key in value},
        )
    if isinstance(value, list):
        return FileNode(tuple(_node(item, path, marks) for item in value), mark)
    return FileNode(value, mark)


def _nearest(path: TomlPath, marks: Mapping[TomlPath, Mark]) -> Mark:
    """Return where a key is written or, inside an inline table, that table's key."""
    while path and path not in marks:
        path = path[:-1]
    return marks.get(path, _WHOLE)


def _marks(text: str) -> dict[TomlPath, Mark]:
    """The first place of every key that a line begins with, be it that of a table."""
    marks: dict[TomlPath, Mark] = {}
    table: TomlPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(rf"\s*\[\[?\s*{_KEY}\s*\]", line)
        if not (found := header or re.match(rf"\s*{_KEY}\s*=", line)):
            continue
        # A line of a text of several lines may look like a key and be none.
        with suppress(tomllib.TOMLDecodeError):
            nested: Any = tomllib.loads(f"{found['key']} = 0")
            path: TomlPath = ()
            while nested != 0:
                ((word, nested),) = nested.items()
                path = (*path, word)
            table, path = (path, path) if header else (table, (*table, *path))
            for end in range(1, len(path) + 1):
                marks.setdefault(path[:end], Mark(number, found.start("key") + 1))
    return marks
