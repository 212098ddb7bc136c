"""From a file to concrete cases: every case times its rows times its matrix.

Nearer fields win: file < case < row; a plain field also wins over a farther matrix key.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from opcheck import opset
from opcheck.dtypes import BASIC, DTYPES, NARROW, PARTS
from opcheck.model import Level
from opcheck.reading import FileNode, Mark, Problems, quoted
from opcheck.reading.validation import operators_of, shown
from opcheck.suite.fields import (
    NEWEST,
    PATHS_ARE,
    FieldPath,
    Omitted,
    overlay,
    parse_path,
    put,
    states,
)
from opcheck.suite.select import HUGE, LEVELS

#: The values of a matrix, by the paths into the case that take them.
Matrix: TypeAlias = Mapping[FieldPath, tuple[FileNode, ...]]
#: A file that expands to more cases, or to cases of more values, is a mistake or an attack.
MAX_CASES = 100_000
MAX_VALUES = 4_000_000

OPSETS_ARE = 'a list of numbers or "13+", or the word all'
#: Words for dtypes in a matrix: those of them that the version allows.
_WORDS = {
    "all": [*DTYPES],
    "floats": [name for name, dtype in BASIC.items() if dtype.kind == "float"],
    "integers": [name for name, dtype in BASIC.items() if dtype.kind == "int"],
    "numbers": [name for name in DTYPES if name in {**BASIC, **PARTS} and name != "bool"],
    "narrow": [*NARROW],
}

_NOT_IN_CASE = ("name", "op", "rows", "matrix", "label")
#: The levels of the points of a case that states one: it, or later ones. No matrix has levels.
_POSSIBLE: Mapping[Level, frozenset[Level]] = {
    **{level: frozenset(LEVELS[n:]) for n, level in enumerate(LEVELS)},
    HUGE: frozenset({HUGE}),
}


@dataclass(frozen=True)
class CaseFile:
    """Properties that all cases of a file's entry share; `name` is the file in messages."""

    name: str
    path: Path
    shipped: bool
    problems: Problems
    domain: str = ""
    op: str = ""
    opsets: frozenset[int] = frozenset()
    #: Cases of other levels are not made, of a shipped file: a user's has errors at every level.
    levels: frozenset[Level] = frozenset((*LEVELS, HUGE))
    #: Messages, without operator versions, and their places: one mistake shows in many cases.
    reported: set[tuple[Mark, str]] = field(default_factory=set)

    def report(self, mark: Mark, message: str, hint: str | None = None, version: str = "") -> None:
        """Report a problem, unless the same was reported of another case, operator or version.

        `version` is the operator's version as the message has it, which does not count when
        messages are compared. The problem is added to `problems`; nothing is raised.
        """
        problem = (mark, message.replace(version, ""))
        if problem not in self.reported:
            self.reported.add(problem)
            self.problems.add(self.name, mark, message, hint)


@dataclass(frozen=True)
class Concrete:
    """A case with nothing left to expand."""

    id: str
    name: str
    row: str | None
    node: FileNode
    #: What was reported and left out; nothing else is then reported as missing.
    lost: Omitted = Omitted.NOTHING
    level: Level = "core"


class _IfAllowed(str):
    """A dtype that a word stands for; versions without it have no such case."""


class Expansion:
    """The expansion of one file; malformed parts are reported and left out."""

    def __init__(self, file: CaseFile, root: FileNode, lost: Omitted) -> None:
        self.file = file
        self.problems = file.problems
        self.defaults = root.without(("op", "domain", "matrix", "cases", "bench"))
        known = len(self.problems)
        self.matrix = self._matrix(root, self.defaults)
        self.lost = max(lost, Omitted(len(self.problems) > known))
        self.cases_left = MAX_CASES
        self.values_left = MAX_VALUES

    def expand(self, name: str, case: FileNode, lost: Omitted) -> Iterator[Concrete]:
        """Yield the concrete cases of an entry of `cases`: its rows times the points of the matrix.

        Nothing comes of an entry for other operators, or beyond the limits of a file. `lost` is
        what was left out of the entry already. Mistakes are reported, and nothing is raised.
        """
        if not self._is_of(case):
            return
        known = len(self.problems)
        own = case.without(_NOT_IN_CASE)
        farther = {path: values for path, values in self.matrix.items() if not states(own, path)}
        matrix = {**farther, **self._matrix(case, own)}
        lost = max(lost, self.lost, Omitted(len(self.problems) > known))
        base = overlay(self.defaults, own)
        for label, row in self._rows(case):
            nearer = row.without(_NOT_IN_CASE)
            left = {path: values for path, values in matrix.items() if not states(nearer, path)}
            node = overlay(base, nearer)
            if _plain(node, "level") == "smoke" and "core" not in {*own.entries, *nearer.entries}:
                # The file's list is not about smoke.
                node = node.without(("core",))
            concrete = Concrete("", name, label, node, lost)
            yield from self._points(concrete, left)

    def _rows(self, case: FileNode) -> Iterator[tuple[str | None, FileNode]]:
        """Yield the rows of a case for this operator, with their labels; an empty one without any.

        That has the label None. What stands in place of the list and is no list was reported.
        """
        rows = case.get("rows")
        if rows is None or not isinstance(rows.value, tuple):
            yield None, FileNode({}, case.mark)
            return
        for number, row in enumerate(rows.items, 1):
            if self._is_of(row):
                yield self._label(row, number), row

    def _is_of(self, entry: FileNode) -> bool:
        """Return True unless a case or row is of other operators of the file."""
        node = entry.get("op")
        return node is None or self.file.op in operators_of(node)

    def _points(self, base: Concrete, matrix: Matrix) -> Iterator[Concrete]:
        """Yield a case for each point of the matrix, of those levels that are asked for.

        Reported are points that cannot be placed, and a matrix of whose dtypes no version allows
        one.
        """
        possible = _POSSIBLE[_plain(base.node, "level") or "core"] & self.file.levels
        if not possible or not self._affordable(base.node, matrix):
            return
        ids: list[str] = []
        nodes: list[FileNode] = []
        is_each_placed = True
        is_any_allowed = False
        for values in product(*matrix.values()):
            point = dict(zip(matrix, values, strict=True))
            node = self._placed(base.node, point)
            if node is None:
                is_each_placed = False
            elif self._is_allowed(node):
                is_any_allowed = True
                ids.append(self._id(base, point))
                nodes.append(node)
        if is_each_placed and not is_any_allowed:
            self.file.report(base.node.mark, "no version of the case allows such a dtype")
        for id, node, level in zip(ids, nodes, _levels(base.node, nodes), strict=True):
            if level in self.file.levels:
                yield Concrete(id, base.name, base.row, node, base.lost, level)

    def _id(self, base: Concrete, point: Mapping[FieldPath, FileNode]) -> str:
        """Return `Softmax/ties@dtype=float16,opset=13#2`, without what there is none of."""
        id = f"{self.file.op}/{base.name}"
        if point:
            values = [f"{'.'.join(path)}={spell(value)}" for path, value in point.items()]
            id += f"@{','.join(values)}"
        if base.row:
            id += f"#{base.row}"
        return id

    def _is_allowed(self, node: FileNode) -> bool:
        """Return False for a dtype that a word stands for, and that the version does not have.

        Other mistakes count as allowed here: they are reported of the case.
        """
        dtype = node.get("dtype")
        number = node.get("opset")
        if dtype is None or not isinstance(dtype.value, _IfAllowed):
            return True
        if number is None or not isinstance(number.value, int):
            return True  # which is reported of the case
        schema = opset.describe(self.file.domain, self.file.op, number.value)
        return schema is None or DTYPES[dtype.value].text in schema.typed.types

    def _placed(self, node: FileNode, point: Mapping[FieldPath, FileNode]) -> FileNode | None:
        """Return the case with the values of a point at their paths.

        None, with a problem reported, if a path leads into a literal, or one value replaces
        another.
        """
        for path, value in point.items():
            placed = put(node, path, value)
            if placed is None:
                message = f"matrix path {quoted('.'.join(path))} leads into a literal"
                self.file.report(value.mark, message)
                return None
            node = placed
        for path, value in point.items():
            if node.get(*path) is not value:
                message = f"another key of the matrix replaces {quoted('.'.join(path))}"
                self.file.report(value.mark, message)
                return None
        return node

    def _affordable(self, base: FileNode, matrix: Matrix) -> bool:
        """Count a case; return True while the file stays within MAX_CASES and MAX_VALUES.

        The first case beyond is reported; then False is returned for all later ones.
        """
        # Counting ends at the limit, so that it is bounded too.
        if min(self.cases_left, self.values_left) < 0:
            return False
        count = prod(map(len, matrix.values()))
        largest = sum(max(map(_size, values)) for values in matrix.values())
        self.cases_left -= count
        self.values_left -= count * (_size(base) + largest)
        if self.cases_left < 0:
            self.file.report(base.mark, f"the file expands to more than {MAX_CASES:,} cases")
        elif self.values_left < 0:
            message = f"the file expands to cases of more than {MAX_VALUES:,} values altogether"
            self.file.report(base.mark, message, "large tensors are made by fills, or lie in files")
        return min(self.cases_left, self.values_left) >= 0

    def _label(self, row: FileNode, number: int) -> str:
        """Return what the ids of a row's cases end in: its label, else its number.

        A label with other characters is reported, and returned as it is.
        """
        node = row.get("label")
        if node is None:
            return str(number)
        is_word = isinstance(node.value, str | int) and not isinstance(node.value, bool)
        if not is_word or not re.fullmatch(r"[A-Za-z0-9_.+-]+", str(node.value)):
            got = f"got {shown(node.plain())}"
            self.file.report(node.mark, f"a label is made of letters, digits and _ . + -; {got}")
        return str(node.value)

    def _matrix(self, owner: FileNode, plain: FileNode) -> Matrix:
        """Return the matrix of a file or case; `plain` are the fields beside it.

        Reported, and left out, are keys that are no paths, or are stated plainly too, and empty
        lists.
        """
        node = owner.get("matrix") or FileNode({}, owner.mark)
        matrix: dict[FieldPath, tuple[FileNode, ...]] = {}
        for key, values in node.entries.items():
            path = parse_path(key)
            if path is None:
                message = f"{quoted(key)} is not a path a matrix can vary"
                self.file.report(node.keys[key], message, PATHS_ARE)
            elif states(plain, path):
                message = f"{quoted(key)} is stated both plainly and in the matrix beside it"
                self.file.report(node.keys[key], message)
            elif items := self._items(key, values):
                matrix[path] = self._distinct(key, items)
        return matrix

    def _items(self, key: str, values: FileNode) -> tuple[FileNode, ...]:
        """Return the values that a key of a matrix takes; () with a problem reported.

        "all" of an operator without versions gives () and no problem.
        """
        if key == "opset":
            items = self._opsets(values)
        elif key == "dtype" and values.value in [*_WORDS]:
            names = _WORDS[str(values.value)]
            items = tuple(FileNode(_IfAllowed(name), values.mark) for name in names)
        else:
            items = values.value
        if isinstance(items, tuple) and items:
            return items
        # All opsets are none of an operator that is reported as unknown.
        is_unknown = key == "opset" and values.value == "all"
        if not values.items and not is_unknown:
            if values.value == ():
                wrong = "holds no value"
            else:
                wrong = f"must be a list of values, got {shown(values.plain())}"
            hint = OPSETS_ARE if key == "opset" else None
            self.file.report(values.mark, f"matrix {quoted(key)}: {wrong}", hint)
        return ()

    def _distinct(self, key: str, values: tuple[FileNode, ...]) -> tuple[FileNode, ...]:
        """Return the values without those that ids could not distinguish, which are reported."""
        by_spelling: dict[str, FileNode] = {}
        repeated: set[Mark] = set()
        for value in values:
            spelling = spell(value)
            first = by_spelling.setdefault(spelling, value)
            # "11+" may repeat several opsets at once.
            if first is not value and value.mark not in repeated:
                repeated.add(value.mark)
                message = f"matrix {quoted(key)}: two values are spelt {quoted(spelling)} in ids"
                self.file.report(value.mark, message)
        return tuple(by_spelling.values())

    def _opsets(self, values: FileNode) -> object:
        """Return the opsets that a matrix names; anything but a list or the word all, unchanged.

        "13+" stands for 13 and each later version. Items that are no opsets are reported and left
        out; deprecated versions are left out of words.
        """
        known = opset.versions(self.file.domain, self.file.op)
        versions = [version for version, schema in known.items() if not schema.deprecated]
        if values.value == "all":
            return tuple(FileNode(version, values.mark) for version in versions)
        if not isinstance(values.value, tuple):
            return values.value
        opsets: list[FileNode] = []
        for item in values.value:
            number = item.value
            if isinstance(number, str) and re.fullmatch(r"[0-9]{1,4}\+", number):
                # Of several operators, some came later than that.
                first = max(int(number[:-1]), min(known, default=0))
                later = [version for version in versions if version > first]
                opsets += [FileNode(version, item.mark) for version in (first, *later)]
            elif isinstance(number, int) and not isinstance(number, bool):
                opsets.append(item)
            else:
                message = f"{shown(item.plain())} is not an opset"
                self.file.report(item.mark, message, OPSETS_ARE)
        return tuple(opsets)


def spell(node: FileNode) -> str:
    """Return a value as an id spells it: [2, 3] → 2x3, [] → empty, null → none.

    A mapping is its keys and values, {a: 1} → a-1. Characters that ids do not have become "_".
    """
    if isinstance(node.value, tuple):
        return "x".join(map(spell, node.value)) or "empty"
    if isinstance(node.value, dict):
        return "+".join(f"{key}-{spell(value)}" for key, value in node.value.items()) or "empty"
    if node.value is None:
        return "none"
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", str(node.value)) or "empty"


def _levels(base: FileNode, points: Sequence[FileNode]) -> list[Level]:
    """Return the levels of the points of a case, as its `level` and `core` have it.

    `level` is core by default. Of smoke, see `_levels_of_smoke`; other points that `core` does not
    list are deep, if that is stated.
    """
    level: Level = _plain(base, "level") or "core"
    core = _plain(base, "core")
    of_points = [(_plain(node, "opset") or 0, _plain(node, "dtype")) for node in points]
    levels = [level for _ in points]
    if level == "smoke":
        levels = _levels_of_smoke(of_points)
    if core is None:
        return levels
    newest = max((number for number, _ in of_points), default=0)
    return [
        "deep" if of_point == "core" and not _is_listed(core, dtype, number == newest) else of_point
        for of_point, (number, dtype) in zip(levels, of_points, strict=True)
    ]


def _is_listed(core: Sequence[str], dtype: Any, is_newest: bool) -> bool:
    """Return True if `core` lists a dtype, or that of the newest opset where a case is of that."""
    return dtype in core or (is_newest and (NEWEST in core or f"{dtype}@{NEWEST}" in core))


def _levels_of_smoke(points: Sequence[tuple[int, Any]]) -> list[Level]:
    """Return the levels of opsets and dtypes of a case of level smoke, which is a handful.

    `points` are pairs of these. Of a matrix, that is the two newest opsets in float32, or else in
    the first dtype; all other points are core.
    """
    smoke = []
    for newest in sorted({number for number, _ in points})[-2:]:
        of_newest = [dtype for number, dtype in points if number == newest]
        smoke.append((newest, "float32" if "float32" in of_newest else of_newest[0]))
    return ["smoke" if point in smoke else "core" for point in points]


def _plain(node: FileNode, field: str) -> Any:
    """Return the value of a field as Python has it, None without it."""
    value = node.get(field)
    return value and value.plain()


def _size(node: FileNode) -> int:
    """Return how many values there are at a node and below, itself included."""
    return 1 + sum(map(_size, (*node.entries.values(), *node.items)))
