"""From a file to concrete cases: every case times its rows times its matrix.

Nearer fields win: file < case < row; a plain field also wins over a farther matrix key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from opcheck import opset
from opcheck.reading import Mark, Node, Problems
from opcheck.suite.overlay import (
    PATHS_ARE,
    Path,
    get,
    mapping,
    overlay,
    parse_path,
    put,
    states,
)

#: A file that expands to more is a mistake or an attack.
MAX_CASES = 100_000

_LABEL = re.compile(r"[A-Za-z0-9_.+-]+")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_.+-]")
_NOT_IN_CASE = ("name", "rows", "matrix", "label")
_NOT_IN_DEFAULTS = ("op", "domain", "matrix", "cases")


@dataclass(frozen=True)
class Concrete:
    """A case with nothing left to expand, still as nodes."""

    id: str
    name: str
    row: str | None
    node: Node


@dataclass(frozen=True)
class Operator:
    """The operator that a file is about."""

    domain: str
    name: str


class Expansion:
    """The expansion of one file; problems are reported, and what has them is left out."""

    def __init__(self, file: str, root: Node, problems: Problems) -> None:
        self.file = file
        self.problems = problems
        self.op = Operator(_text(root, "domain"), _text(root, "op"))
        self.defaults = _without(root, _NOT_IN_DEFAULTS)
        self.file_matrix = self._matrix(root, self.defaults)
        self.budget = MAX_CASES

    def expand(self, case: Node) -> Iterator[Concrete]:
        """The concrete cases of one entry of `cases`."""
        own = _without(case, _NOT_IN_CASE)
        farther = {p: v for p, v in self.file_matrix.items() if not states(own, p)}
        matrix = {**farther, **self._matrix(case, own)}
        base = overlay(self.defaults, own)
        name = _text(case, "name")
        rows = get(case, ("rows",))
        if rows is None:
            yield from self._points(name, None, base, matrix)
            return
        assert isinstance(rows.value, tuple)
        for number, row in enumerate(rows.value, 1):
            label = self._label(row, number)
            said = _without(row, _NOT_IN_CASE)
            left = {p: v for p, v in matrix.items() if not states(said, p)}
            yield from self._points(name, label, overlay(base, said), left)

    def _points(
        self, name: str, row: str | None, base: Node, matrix: Mapping[Path, tuple[Node, ...]]
    ) -> Iterator[Concrete]:
        within, self.budget = self.budget >= 0, self.budget - prod(map(len, matrix.values()))
        if within and self.budget < 0:
            self._problem(base.mark, f"the file expands to more than {MAX_CASES:,} cases")
        if self.budget < 0:
            return
        for point in product(*matrix.values()):
            node: Node | None = base
            for path, value in zip(matrix, point, strict=True):
                placed = put(node, path, value) if node else None
                if node and placed is None:
                    where = ".".join(path)
                    self._problem(value.mark, f"matrix path {where!r} leads into a literal")
                node = placed
            if node:
                yield Concrete(self._id(name, matrix, point, row), name, row, node)

    def _id(
        self, name: str, matrix: Mapping[Path, object], point: tuple[Node, ...], row: str | None
    ) -> str:
        coordinates = ",".join(
            f"{'.'.join(path)}={spell(value)}" for path, value in zip(matrix, point, strict=True)
        )
        at = f"@{coordinates}" if coordinates else ""
        return f"{self.op.name}/{name}{at}{f'#{row}' if row else ''}"

    def _label(self, row: Node, number: int) -> str:
        node = get(row, ("label",))
        label = str(number if node is None else node.value)
        if node is not None and not _LABEL.fullmatch(label):
            self._problem(node.mark, "a label is made of letters, digits and _ . + -")
        return label

    def _matrix(self, owner: Node, plain: Node) -> dict[Path, tuple[Node, ...]]:
        node = get(owner, ("matrix",))
        found: dict[Path, tuple[Node, ...]] = {}
        for key, values in mapping(node).items():
            path = parse_path(key)
            assert node is not None
            if path is None:
                self._problem(node.keys[key], f"{key!r} is no path a matrix can vary", PATHS_ARE)
                continue
            if states(plain, path):
                message = f"{key} is stated both plainly and in the matrix beside it"
                self._problem(node.keys[key], message)
            if key == "opset":
                found[path] = self._opsets(values)
            elif isinstance(values.value, tuple) and values.value:
                found[path] = values.value
            else:
                self._problem(values.mark, f"matrix.{key}: must be a list of values")
        return found

    def _opsets(self, values: Node) -> tuple[Node, ...]:
        versions = tuple(opset.versions(self.op.domain, self.op.name))
        items = values.value if isinstance(values.value, tuple) else (values,)
        if values.value == "all":
            return tuple(Node(version, values.mark) for version in versions)
        found: list[Node] = []
        for item in items:
            text = item.value
            if isinstance(text, str) and re.fullmatch(r"[0-9]{1,4}\+", text):
                first = int(text[:-1])
                later = (version for version in versions if version > first)
                found += [Node(number, item.mark) for number in (first, *later)]
            elif isinstance(text, int) and not isinstance(text, bool):
                found.append(item)
            else:
                hint = 'an opset is a number or "13+"; the list may be the word all'
                self._problem(item.mark, f"{text!r} is no opset", hint)
        return tuple(found)

    def _problem(self, mark: Mark, message: str, hint: str | None = None) -> None:
        self.problems.add(self.file, mark, message, hint)


def spell(node: Node) -> str:
    """A value as an id spells it: [2, 3] → 2x3, [] → empty, null → none."""
    if isinstance(node.value, tuple):
        return "x".join(map(spell, node.value)) or "empty"
    if isinstance(node.value, dict):
        return "+".join(f"{key}-{spell(value)}" for key, value in node.value.items()) or "empty"
    if node.value is None:
        return "none"
    return _NOT_IN_ID.sub("_", str(node.value)) or "empty"


def _text(node: Node, key: str) -> str:
    found = get(node, (key,))
    return "" if found is None else str(found.value)


def _without(node: Node, keys: tuple[str, ...]) -> Node:
    kept = {key: value for key, value in mapping(node).items() if key not in keys}
    return Node(kept, node.mark, node.keys)
