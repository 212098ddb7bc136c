"""Mistakes about attributes that follow from their declarations: entries of lists, types, names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

from opcheck.engine.evaluate import attributes_of
from opcheck.engine.generic.making import but
from opcheck.engine.mistakes import Mistake, Node
from opcheck.errors import InvalidNode
from opcheck.model import AttrValue, OpVersion, Typed

#: Places in a list of three or more, from either end.
_ENTRIES = (0, 1, 2, 3, -1, -2, -3, -4)
#: What a value is taken for where such a type is declared, or no such attribute; None for none.
Reading: TypeAlias = Callable[[str | None, Typed], AttrValue | Typed | None]


@cache
def of_attributes(op: OpVersion) -> tuple[Mistake, ...]:
    """Return the mistakes about the lists of integers that a version declares."""
    lists = (name for name, declared in attributes_of(op).items() if declared == "ints")
    return tuple(mistake for name in lists for mistake in _entries(name))


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
    return lambda node: _with_entry(node, name, i, lambda v: v[(i + 1) % len(v)])


def _as_0(name: str, i: int) -> Callable[[Node], Sequence[Any]]:
    def answer(node: Node) -> Sequence[Any]:
        with suppress(InvalidNode):
            return _with_entry(node, name, i, lambda _: 0)
        return _with_entry(node, name, i, lambda _: 1)

    return answer


def _with_entry(
    node: Node, name: str, i: int, entry: Callable[[tuple[Any, ...]], int]
) -> Sequence[Any]:
    """The answer to a legal node with another entry."""
    right, values = node.right, node.attrs.get(name)
    if not isinstance(values, tuple) or len(values) < 3 or not -len(values) <= i < len(values):
        return right
    i %= len(values)
    changed = (*values[:i], entry(values), *values[i + 1 :])
    return replace(node, attrs={**node.attrs, name: changed}).right


def _converted(declared: str | None, value: Typed) -> AttrValue | Typed | None:
    items = value.value if isinstance(value.value, tuple) else (value.value,)
    try:
        match declared:
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
        declared = attributes_of(node.op)
        read = {
            key: reading(declared.get(key), value) if isinstance(value, Typed) else value
            for key, value in node.attrs.items()
        }
        attrs = {key: value for key, value in read.items() if value is not None}
        return replace(node, attrs=attrs).right

    return Mistake(name, text, answer, harmless, of_form=True)


#: How a node is read does not depend on the type of its tensors, so cases of one type decide.
_HARMLESS = but("float32") | {
    "DML_ACTIVATION_HARDMAX1": "its descriptor is a structure of C, with typed members"
}
MISTAKES: tuple[Mistake, ...] = (
    _malformed(
        "attributes_converted",
        "attributes of another type were converted to the declared one",
        _converted,
        _HARMLESS,
    ),
    _malformed(
        "attributes_of_another_type_ignored",
        "attributes of another type than the declared one were ignored",
        lambda declared, value: None if declared else value,
        _HARMLESS,
    ),
    _malformed(
        "unknown_attributes_ignored",
        "attributes that the version does not declare were ignored",
        lambda declared, value: value if declared else None,
        _HARMLESS,
    ),
)
