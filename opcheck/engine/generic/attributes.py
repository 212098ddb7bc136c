"""Mistakes about attributes that follow from their declarations: entries of lists, types, names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

from opcheck import opset
from opcheck.engine.mistakes import Mistake, Node
from opcheck.errors import InvalidNode
from opcheck.model import AttrValue, OpVersion, Typed
from opcheck.opset import Attribute

#: Places in a list of three or more, from either end.
_ENTRIES = (0, 1, 2, 3, -1, -2, -3, -4)
#: The value that a malformed attribute is taken for, None for none.
Reading: TypeAlias = Callable[[Attribute | None, Typed], AttrValue | Typed | None]


@cache
def of_attributes(op: OpVersion) -> tuple[Mistake, ...]:
    """Return the mistakes about the lists of integers that a version declares."""
    attributes = opset.versions(op.domain, op.name)[op.since].attributes.values()
    return tuple(m for it in attributes if it.type == "ints" for m in _entries(it.name))


def _entries(name: str) -> Iterator[Mistake]:
    """Each entry in turn is taken for the next, or for the smallest one that is legal."""
    for i in _ENTRIES:
        where, text = (
            f"{name}_entry_{i}".lower(),
            f"of three or more {name} entry {i} was taken for",
        )
        yield Mistake(f"{where}_as_next", f"{text} the next", _as_next(name, i))
        yield Mistake(f"{where}_as_default", f"{text} 0, or 1 if that is illegal", _as_0(name, i))


def _as_next(name: str, i: int) -> Callable[[Node], Sequence[Any]]:
    return lambda node: _with_entry(node, name, i, lambda values: [values[(i + 1) % len(values)]])


def _as_0(name: str, i: int) -> Callable[[Node], Sequence[Any]]:
    return lambda node: _with_entry(node, name, i, lambda _: [0, 1])


def _with_entry(
    node: Node, name: str, i: int, entries: Callable[[tuple[Any, ...]], Sequence[int]]
) -> Sequence[Any]:
    """The answer to a legal node with another entry: the first that is legal."""
    right, values = node.right, node.attrs.get(name)
    if isinstance(values, tuple) and len(values) > 2 and -len(values) <= i < len(values):
        for entry in entries(values):
            changed = list(values)
            changed[i] = entry
            with suppress(InvalidNode):
                return replace(node, attrs={**node.attrs, name: tuple(changed)}).right
    return right


def _converted(attribute: Attribute | None, value: Typed) -> AttrValue | Typed | None:
    items = value.value if isinstance(value.value, tuple) else (value.value,)
    try:
        match attribute and attribute.type:
            case "int":
                return int(float(items[0]))
            case "float":
                return float(items[0])
            case "ints":
                return tuple(int(float(item)) for item in items)
    except (ValueError, IndexError):
        pass
    return value


def _malformed(name: str, text: str, reading: Reading, harmless: Mapping[str, str]) -> Mistake:
    def answer(node: Node) -> Sequence[Any]:
        declared = opset.versions(node.op.domain, node.op.name)[node.op.since].attributes
        read = {
            key: reading(declared.get(key), value) if isinstance(value, Typed) else value
            for key, value in node.attrs.items()
        }
        attrs = {key: value for key, value in read.items() if value is not None}
        return replace(node, attrs=attrs).right

    return Mistake(name, text, answer, harmless, of_form=True)


_STRUCTURE = {"DML_ACTIVATION_HARDMAX1": "its descriptor is a structure of C, with typed members"}
MISTAKES: tuple[Mistake, ...] = (
    _malformed(
        "attributes_converted",
        "attributes of another type were converted to the declared one",
        _converted,
        _STRUCTURE,
    ),
    _malformed(
        "attributes_of_another_type_ignored",
        "attributes of another type than the declared one were ignored",
        lambda attribute, value: None if attribute else value,
        _STRUCTURE,
    ),
    _malformed(
        "unknown_attributes_ignored",
        "attributes that the version does not declare were ignored",
        lambda attribute, value: value if attribute else None,
        _STRUCTURE,
    ),
)
