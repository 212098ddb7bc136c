"""A file's content as a tree with the place of every value, and its problems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from opcheck.errors import CaseFileError, OpcheckError, Problem

PlainScalar: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file: line and column (in characters), both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class FileNode:
    """One value: a scalar, a sequence (tuple) or a mapping (dict, never to be changed).

    `mark` is where the value begins, `keys` where a mapping's keys are. A key whose value was
    refused is in neither. An alias is the node it names: a tree may share nodes, but has no cycle.
    """

    value: PlainScalar | tuple[FileNode, ...] | dict[str, FileNode]
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)

    def plain(self) -> Any:
        """The value as fresh lists, dicts and scalars; recursive, as files are not deep."""
        value = self.value
        # Most items are scalars, of which none need be asked.
        if isinstance(value, tuple):
            return [n.plain() if type(n.value) in (tuple, dict) else n.value for n in value]
        if isinstance(value, dict):
            return {key: item.plain() for key, item in value.items()}
        return value

    @property
    def entries(self) -> dict[str, FileNode]:
        """Values of a mapping by key; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> tuple[FileNode, ...]:
        """Items of a list; empty for anything else."""
        return self.value if isinstance(self.value, tuple) else ()

    def get(self, *path: str | int) -> FileNode | None:
        """The value at a path; None where that leads nowhere."""
        node: FileNode | None = self
        for step in path:
            if node is None:
                return None
            if isinstance(step, str):
                node = node.entries.get(step)
            else:
                node = node.items[step] if 0 <= step < len(node.items) else None
        return node

    def without(self, keys: Collection[str]) -> FileNode:
        """The mapping without some of its keys."""
        kept = {key: value for key, value in self.entries.items() if key not in keys}
        return FileNode(kept, self.mark, self.keys)

    def at(self, path: Sequence[str | int], *, key: bool = False) -> Mark:
        """Where `path`, or with `key` its last key, begins; steps that lead nowhere are skipped."""
        node, mark = self, self.mark
        for number, step in enumerate(path, 1):
            if below := node.get(step):
                is_key = key and number == len(path) and isinstance(step, str)
                mark = node.keys.get(str(step), node.mark) if is_key else below.mark
                node = below
        return mark


class Problems(list[Problem]):
    """Problems in the order they were found."""

    def add(self, file: str, mark: Mark, message: str, hint: str | None = None) -> None:
        """Note one problem at one place of one file."""
        self.append(Problem(file, mark.line, mark.column, message, hint))

    def raise_if_any(self) -> None:
        """Raise `CaseFileError` with every problem, if there is one."""
        if self:
            raise CaseFileError(self)


class Unreadable(OpcheckError):
    """Reading cannot go on after this; everything but the file's name."""

    def __init__(self, mark: Mark, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.mark = mark


def quoted(text: str) -> str:
    """A file's text for use in a message: in quotes, shortened, and harmless to a terminal."""
    return repr(text if len(text) <= 60 else text[:59] + "…")
