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
from opcheck.suite.fields import PATHS_ARE, FieldPath, Omitted, overlay, parse_path, put, states
from opcheck.suite.select import LEVELS

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
#: The levels of the points of a case that states one: it, or the next. No matrix has levels.
_POSSIBLE = {level: frozenset(LEVELS[n : n + 2]) for n, level in enumerate(LEVELS)}


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
    levels: frozenset[Level] = frozenset(LEVELS)
    #: Messages, without operator versions, and their places: one mistake shows in many cases.
    reported: set[tuple[Mark, str]] = field(default_factory=set)

    def report(self, mark: Mark, message: str, hint: str | None = None, version: str = "") -> None:
        """Report a problem, unless the same was reported of another case, operator or version."""
        if (problem := (mark, message.replace(version, ""))) not in self.reported:
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
        self.file, self.problems = file, file.problems
        self.defaults = root.without(("op", "domain", "matrix", "cases", "bench"))
        known = len(self.problems)
        self.matrix = self._matrix(root, self.defaults)
        self.lost = max(lost, Omitted(len(self.problems) > known))
        self.cases_left, self.values_left = MAX_CASES, MAX_VALUES

    def expand(self, name: str, case: FileNode, lost: Omitted) -> Iterator[Concrete]:
        """The concrete cases of one entry of `cases`."""
        if not self._is_of(case):
            return
        known = len(self.problems)
        own = case.without(_NOT_IN_CASE)
        farther = {p: v for p, v in self.matrix.items() if not states(own, p)}
        matrix = {**farther, **self._matrix(case, own)}
        lost = max(lost, self.lost, Omitted(len(self.problems) > known))
        base = overlay(self.defaults, own)
        given = case.get("rows")
        rows = given.value if given else None
        entries = rows if isinstance(rows, tuple) else (FileNode({}, case.mark),)
        for number, row in enumerate(entries, 1):
            if self._is_of(row):
                label = self._label(row, number) if entries is rows else None
                nearer = row.without(_NOT_IN_CASE)
                left = {p: v for p, v in matrix.items() if not states(nearer, p)}
                concrete = Concrete("", name, label, overlay(base, nearer), lost)
                yield from self._points(concrete, left)

    def _is_of(self, entry: FileNode) -> bool:
        """Return True unless a case or row is of other operators of the file."""
        node = entry.get("op")
        return node is None or self.file.op in operators_of(node)

    def _points(self, base: Concrete, matrix: Matrix) -> Iterator[Concrete]:
        possible = _POSSIBLE[_plain(base.node, "level") or "core"] & self.file.levels
        if not possible or not self._affordable(base.node, matrix):
            return
        none, points = True, []
        for point in product(*matrix.values()):
            placed = dict(zip(matrix, point, strict=True))
            node = self._placed(base.node, placed)
            if node is None or (allowed := self._is_allowed(node)):
                none = False
            if node and allowed:
                said = ",".join(f"{'.'.join(path)}={spell(v)}" for path, v in placed.items())
                id = f"{self.file.op}/{base.name}{said and f'@{said}'}"
                points.append((f"{id}#{base.row}" if base.row else id, node))
        if none:
            self.file.report(base.node.mark, "no version of the case allows such a dtype")
        levels = _levels(base.node, [node for _, node in points])
        for (id, node), level in zip(points, levels, strict=True):
            if level in self.file.levels:
                yield Concrete(id, base.name, base.row, node, base.lost, level)

    def _is_allowed(self, node: FileNode) -> bool:
        dtype, number = node.get("dtype"), node.get("opset")
        if dtype is None or not isinstance(dtype.value, _IfAllowed):
            return True
        if number is None or not isinstance(number.value, int):
            return True  # which is reported of the case
        schema = opset.describe(self.file.domain, self.file.op, number.value)
        return schema is None or DTYPES[dtype.value].text in schema.typed.types

    def _placed(self, node: FileNode, point: Mapping[FieldPath, FileNode]) -> FileNode | None:
        for path, value in point.items():
            if (placed := put(node, path, value)) is None:
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
        """Return True if the file stays within its limits; report once if it does not."""
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
        if (node := row.get("label")) is None:
            return str(number)
        known = isinstance(node.value, str | int) and not isinstance(node.value, bool)
        if not known or not re.fullmatch(r"[A-Za-z0-9_.+-]+", str(node.value)):
            got = f"got {shown(node.plain())}"
            self.file.report(node.mark, f"a label is made of letters, digits and _ . + -; {got}")
        return str(node.value)

    def _matrix(self, owner: FileNode, plain: FileNode) -> Matrix:
        node = owner.get("matrix") or FileNode({}, owner.mark)
        found: dict[FieldPath, tuple[FileNode, ...]] = {}
        for key, values in node.entries.items():
            if (path := parse_path(key)) is None or states(plain, path):
                both = "is stated both plainly and in the matrix beside it"
                wrong, hint = (both, None) if path else ("is no path a matrix can vary", PATHS_ARE)
                self.file.report(node.keys[key], f"{quoted(key)} {wrong}", hint)
                continue
            items = self._opsets(values) if key == "opset" else values.value
            if key == "dtype" and items in [*_WORDS]:
                named = _WORDS[str(items)]
                items = tuple(FileNode(_IfAllowed(name), values.mark) for name in named)
            if isinstance(items, tuple) and items:
                found[path] = self._distinct(key, items)
            elif not values.items and (key != "opset" or values.value != "all"):
                hint = OPSETS_ARE if key == "opset" else None
                wrong = f"must be a list of values, got {shown(values.plain())}"
                message = "holds no value" if values.value == () else wrong
                self.file.report(values.mark, f"matrix {quoted(key)}: {message}", hint)
        return found

    def _distinct(self, key: str, values: tuple[FileNode, ...]) -> tuple[FileNode, ...]:
        """Drop values that ids could not distinguish, and report them."""
        found: dict[str, FileNode] = {}
        repeated: set[Mark] = set()
        for value in values:
            spelt = spell(value)
            # "11+" may repeat several opsets at once.
            if found.setdefault(spelt, value) is not value and value.mark not in repeated:
                repeated.add(value.mark)
                message = f"matrix {quoted(key)}: two values are spelt {quoted(spelt)} in ids"
                self.file.report(value.mark, message)
        return tuple(found.values())

    def _opsets(self, values: FileNode) -> object:
        """Return the opsets that a matrix names; anything but a list or a word, unchanged."""
        known = opset.versions(self.file.domain, self.file.op)
        versions = [version for version, schema in known.items() if not schema.deprecated]
        if values.value == "all":
            return tuple(FileNode(version, values.mark) for version in versions)
        if not isinstance(values.value, tuple):
            return values.value
        found: list[FileNode] = []
        for item in values.value:
            text = item.value
            if isinstance(text, str) and re.fullmatch(r"[0-9]{1,4}\+", text):
                # Of several operators, some came later than that.
                first = max(int(text[:-1]), min(known, default=0))
                later = (version for version in versions if version > first)
                found += [FileNode(number, item.mark) for number in (first, *later)]
            elif isinstance(text, int) and not isinstance(text, bool):
                found.append(item)
            else:
                self.file.report(item.mark, f"{shown(item.plain())} is no opset", OPSETS_ARE)
        return tuple(found)


def spell(node: FileNode) -> str:
    """A value as an id spells it: [2, 3] → 2x3, [] → empty, null → none."""
    if isinstance(node.value, tuple):
        return "x".join(map(spell, node.value)) or "empty"
    if isinstance(node.value, dict):
        return "+".join(f"{key}-{spell(value)}" for key, value in node.value.items()) or "empty"
    if node.value is None:
        return "none"
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", str(node.value)) or "empty"


def _levels(base: FileNode, points: Sequence[FileNode]) -> list[Level]:
    """The levels of the points of a case, as its `level` and `core` have it."""
    level: Level = _plain(base, "level") or "core"
    core = _plain(base, "core")
    dtypes = [_plain(node, "dtype") for node in points]
    if level != "smoke":
        is_core = level == "core" and core is not None
        return ["deep" if is_core and dtype not in core else level for dtype in dtypes]
    # Level smoke is a handful: of a matrix two opsets, the newest, and float32 or the first dtype.
    opsets = [_plain(node, "opset") or 0 for node in points]
    places = [*zip(opsets, dtypes, strict=True)]
    wanted = []
    for newest in sorted({*opsets})[-2:]:
        there = [dtype for number, dtype in places if number == newest]
        wanted.append((newest, "float32" if "float32" in there else there[0]))
    return ["smoke" if place in wanted else "core" for place in places]


def _plain(node: FileNode, field: str) -> Any:
    found = node.get(field)
    return found and found.plain()


def _size(node: FileNode) -> int:
    return 1 + sum(map(_size, (*node.entries.values(), *node.items)))
