"""Laying one part of a case over another, and reaching into a case by a path.

Works on nodes, so that every value of a finished case still knows where it was written.
"""

from __future__ import annotations

from typing import TypeAlias

from opcheck.reading import Node
from opcheck.suite.fields import CONTENTS

Path: TypeAlias = tuple[str, ...]

#: What a path may be, for messages.
PATHS_ARE = "a path is opset, dtype, attrs.NAME, inputs.NAME or inputs.NAME.KEY"

#: Fields in which mappings merge key by key; all others are replaced as a whole.
_MERGING = ("attrs", "inputs")


def parse_path(text: str) -> Path | None:
    """The path that `text` spells, or None if it spells none."""
    path = tuple(text.split("."))
    lengths = {"opset": (1,), "dtype": (1,), "attrs": (2,), "inputs": (2, 3)}.get(path[0], ())
    return path if len(path) in lengths and all(path) else None


def mapping(node: Node | None) -> dict[str, Node]:
    """The node's mapping, or an empty one if it is none."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def overlay(base: Node, nearer: Node) -> Node:
    """`nearer` laid over `base`: fields replace fields; attrs and inputs merge key by key."""
    merged = {
        key: _merge(mapping(base)[key], value, content=False)
        if key in _MERGING and key in mapping(base)
        else value
        for key, value in mapping(nearer).items()
    }
    return _joined(base, nearer, merged)


def _merge(base: Node, nearer: Node, *, content: bool) -> Node:
    """Mappings merge; within a tensor (`content`) what says its values replaces what did before."""
    if not (isinstance(base.value, dict) and isinstance(nearer.value, dict)):
        return nearer
    if content:
        return _joined(_without_replaced(base, nearer.value), nearer, nearer.value)
    old = base.value
    merged = {
        key: _merge(old[key], value, content=True) if key in old else value
        for key, value in nearer.value.items()
    }
    return _joined(base, nearer, merged)


def _without_replaced(base: Node, nearer: dict[str, Node]) -> Node:
    if not any(key in nearer for key in CONTENTS):
        return base
    kept = {key: value for key, value in mapping(base).items() if key not in CONTENTS}
    return Node(kept, base.mark, base.keys)


def _joined(base: Node, nearer: Node, values: dict[str, Node]) -> Node:
    return Node({**mapping(base), **values}, nearer.mark, {**base.keys, **nearer.keys})


def get(node: Node, path: Path) -> Node | None:
    """The node at `path`, or None where the path leads nowhere."""
    for step in path:
        below = mapping(node).get(step)
        if below is None:
            return None
        node = below
    return node


def put(node: Node, path: Path, value: Node) -> Node | None:
    """`node` with `value` at `path`; None where a scalar, literal or list stands in the way."""
    if not path:
        return value
    if not isinstance(node.value, dict):
        return None
    below = node.value.get(path[0], Node({}, value.mark))
    changed = put(below, path[1:], value)
    if changed is None:
        return None
    if len(path) == 1 and path[0] in CONTENTS:
        node = _without_replaced(node, {path[0]: value})
    return _joined(node, Node({}, node.mark, {path[0]: value.mark}), {path[0]: changed})


def states(node: Node, path: Path) -> bool:
    """Whether `node` says anything itself about `path`: there, or by a scalar on the way."""
    for step in path:
        if not isinstance(node.value, dict):
            return True
        if step not in node.value:
            return False
        node = node.value[step]
    return True
