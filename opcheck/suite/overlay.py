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


def parse_path(text: str) -> Path | None:
    """The path that `text` spells, or None if it spells none."""
    path = tuple(text.split("."))
    lengths = {"opset": (1,), "dtype": (1,), "attrs": (2,), "inputs": (2, 3)}.get(path[0], ())
    return path if len(path) in lengths and all(path) else None


def mapping(node: Node | None) -> dict[str, Node]:
    """The node's mapping, or an empty one if it is none."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def overlay(base: Node, nearer: Node) -> Node:
    """`nearer` laid over `base`: fields replace fields; attrs, inputs and tensors merge by key."""
    return _laid(base, nearer, ())


def _laid(base: Node, nearer: Node, path: Path) -> Node:
    """As `overlay`, of the parts of two cases that lie at `path`."""
    merges = not path or (path[0] == "inputs" and len(path) < 3) or path == ("attrs",)
    if not merges or not (isinstance(base.value, dict) and isinstance(nearer.value, dict)):
        return nearer
    if _is_tensor(path):
        base = _without_replaced(base, nearer.value)
    old = mapping(base)
    merged = {
        key: _laid(old[key], value, (*path, key)) if key in old else value
        for key, value in nearer.value.items()
    }
    return Node({**old, **merged}, nearer.mark, {**base.keys, **nearer.keys})


def _is_tensor(path: Path) -> bool:
    return len(path) == 2 and path[0] == "inputs"


def _without_replaced(tensor: Node, nearer: dict[str, Node]) -> Node:
    """`tensor` without its content, if `nearer` says another: what fills it is said once."""
    if not any(key in nearer for key in CONTENTS):
        return tensor
    kept = {key: value for key, value in mapping(tensor).items() if key not in CONTENTS}
    return Node(kept, tensor.mark, tensor.keys)


def get(node: Node, path: Path) -> Node | None:
    """The node at `path`, or None where the path leads nowhere."""
    for step in path:
        below = mapping(node).get(step)
        if below is None:
            return None
        node = below
    return node


def put(node: Node, path: Path, value: Node) -> Node | None:
    """The case `node` with `value` at `path`; None where a scalar or list stands in the way."""
    return _put(node, (), path, value)


def _put(node: Node, way: Path, rest: Path, value: Node) -> Node | None:
    if not rest:
        return value
    if node.value is not None and not isinstance(node.value, dict):
        return None
    step = rest[0]
    below = mapping(node).get(step, Node({}, value.mark))
    changed = _put(below, (*way, step), rest[1:], value)
    if changed is None:
        return None
    if _is_tensor(way):
        node = _without_replaced(node, {step: changed})
    keys = {step: value.mark, **node.keys, **({step: value.mark} if len(rest) == 1 else {})}
    return Node({**mapping(node), step: changed}, node.mark, keys)


def states(node: Node, path: Path) -> bool:
    """Whether `node` says anything itself about `path`: there, or by a scalar on the way.

    One content of a tensor says something about all of them, as it replaces them.
    """
    for number, step in enumerate(path):
        if not isinstance(node.value, dict):
            return True
        if step not in node.value:
            is_content = _is_tensor(path[:number]) and step in CONTENTS
            return is_content and any(key in node.value for key in CONTENTS)
        node = node.value[step]
    return True
