"""Mistakes about attributes, made of what a version declares: entries of lists, types and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.evaluate import attributes_of, planned
from opcheck.engine.generic.making import but
from opcheck.engine.generic.sizes import POWERS, UNBOUNDED
from opcheck.engine.mistakes import Mistake, Node
from opcheck.errors import InvalidNode
from opcheck.model import Attrs, OpVersion, Typed
from opcheck.opset import directml

#: What is made of a list; and the values, legal or not, that a value may be taken for.
Change: TypeAlias = Callable[[tuple[int, ...]], tuple[int, ...]]
Readings: TypeAlias = Callable[[Any], Sequence[Any]]

_TYPES = ("int", "float", "string", "ints", "floats", "tensor")
#: The input on which lists are tried; of fewer axes its last ones.
_SHAPE = (1, 1, *[5000] * 4)
#: How a node is read does not depend on the type of its tensors: cases of one type decide.
_FLOAT32 = but("float32")


@dataclass(frozen=True)
class _List:
    """An attribute that is a list of integers, and the numbers of entries that it may have.

    `fixed`: the rank of the input decides how many. `neutral`: the entry that changes nothing.
    """

    name: str
    lengths: tuple[int, ...]
    fixed: bool
    neutral: int | None
    #: Powers of two that an entry may exceed.
    exceeded: tuple[int, ...]


@cache
def of_attributes(op: OpVersion) -> tuple[Mistake, ...]:
    """Return the mistakes about the attributes of a version.

    A DirectML descriptor is a structure of C: its members have the types that they are declared
    with, and there are no others.
    """
    lists = tuple(_lists(op))
    found = [mistake for one in lists for mistake in (*_entries(one), *_sizes(one))]
    if op.domain != directml.DOMAIN:
        found += [mistake for one in lists for mistake in _malformed(one)]
        found += [mistake for name in attributes_of(op) for mistake in _types(op, name)]
        told = "an attribute that no version has was ignored"
        found.append(Mistake("unknown_attribute_ignored", told, _known_only, of_form=True))
    return tuple(found)


# ── which lists there are ─────────────────────────────────────────────────────────────────────


def _lists(op: OpVersion) -> Iterator[_List]:
    """The lists of a version, found out by what the engine accepts."""
    bases = [*_bases(op)]
    for name, (kind, _) in attributes_of(op).items():
        if kind != "ints":
            continue
        legal = [
            (rank, n, fill)
            for (rank, base), n, fill in product(bases, range(1, 2 * len(_SHAPE)), (0, 1, None))
            if _legal(op, rank, {**base, name: _filled(n, fill)})
        ]
        lengths = tuple(sorted({n for _, n, _ in legal}))
        yield _List(
            name,
            lengths,
            fixed=len({(rank, n) for rank, n, _ in legal}) == len({rank for rank, *_ in legal}),
            neutral=next((fill for _, n, fill in legal if n > 1 and fill is not None), None),
            exceeded=tuple(
                1 << power
                for power in POWERS
                if any(
                    _legal(op, rank, {**base, name: _filled(n, (1 << power) + 1)})
                    for (rank, base), n in product(bases, lengths)
                )
            ),
        )


def _bases(op: OpVersion) -> Iterator[tuple[int, Attrs]]:
    """The required attributes, for every rank of inputs that there are legal ones for."""
    required = [name for name, (_, needed) in attributes_of(op).items() if needed]
    for rank in range(1, len(_SHAPE) + 1):
        bases = (dict.fromkeys(required, _filled(n, None)) for n in range(1, rank + 1))
        ones = (dict.fromkeys(required, _filled(n, 1)) for n in range(1, rank + 1))
        found = next((base for base in (*ones, *bases) if _legal(op, rank, base)), None)
        if found is not None:
            yield rank, found


def _filled(n: int, fill: int | None) -> tuple[int, ...]:
    return tuple(range(n)) if fill is None else (fill,) * n


def _legal(op: OpVersion, rank: int, attrs: Attrs) -> bool:
    try:
        planned(op, (np.broadcast_to(np.float32(0), _SHAPE[-rank:]),), attrs)
    except InvalidNode:
        return False
    return True


# ── other values ──────────────────────────────────────────────────────────────────────────────


def _entries(one: _List) -> Iterator[Mistake]:
    """Each entry of lists of each length is taken for the next, or for the neutral one."""
    for n, i in ((length, i) for length in one.lengths for i in range(length)):
        where, what = f"{one.name.lower()}_{i}_of_{n}", f"entry {i} of {n} in {one.name}"
        if n > 1:
            text = f"{what} was taken for the next"
            yield Mistake(f"{where}_as_next", text, _changed(one.name, n, _next(i)))
        if one.neutral is not None:
            text = f"{what} was taken for {one.neutral}"
            answer = _changed(one.name, n, _with_entry(i, one.neutral))
            yield Mistake(f"{where}_as_{one.neutral}", text, answer)


def _sizes(one: _List) -> Iterator[Mistake]:
    """Entries beyond a power of two are taken for that."""
    for size in one.exceeded:
        most = size << 1 if size << 1 in one.exceeded else UNBOUNDED
        up_to = f" and up to {most:,}" if most < UNBOUNDED else ""
        yield Mistake(
            f"{one.name.lower()}_above_{size}",
            f"an entry of {one.name} above {size:,}{up_to} was taken for {size:,}",
            _changed(one.name, None, _at_most(size, most)),
        )


def _next(i: int) -> Change:
    return lambda v: (*v[:i], v[(i + 1) % len(v)], *v[i + 1 :])


def _with_entry(i: int, entry: int) -> Change:
    return lambda v: (*v[:i], entry, *v[i + 1 :]) if i < len(v) else v


def _at_most(size: int, most: int) -> Change:
    return lambda v: tuple(size if size < entry <= most else entry for entry in v)


def _in_32_bits(values: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((entry + 2**31) % 2**32 - 2**31 for entry in values)


def _changed(name: str, n: int | None, change: Change) -> Callable[[Node], Sequence[Any]]:
    """The answer to another list, where one of `n` entries is stated, or of any number."""

    def answer(node: Node) -> Sequence[Any]:
        values: Any = node.attrs.get(name)
        if not isinstance(values, tuple) or n not in (None, len(values)):
            return node.right
        changed = change(values)
        return node.right if changed == values else _with(node, name, changed).right

    return answer


def _with(node: Node, name: str, value: Any) -> Node:
    others = {other: stated for other, stated in node.attrs.items() if other != name}
    return replace(node, attrs=others if value is None else {**others, name: value})


# ── what is malformed, and accepted ───────────────────────────────────────────────────────────


def _malformed(one: _List) -> Iterator[Mistake]:
    """Lists of the wrong length, and with entries that are out of range."""
    name, most, neutral = one.name, one.lengths[-1], one.neutral
    readings: dict[str, tuple[str, Readings]] = {}
    if one.fixed:
        readings["cut"] = (
            f"what {name} had too much was cut off",
            lambda v: [v[:n] for n in range(len(v) - 1, 0, -1)],
        )
        readings["repeated"] = (
            f"{name} was repeated where it was too short",
            lambda v: [(v * most)[:n] for n in range(len(v) + 1, most + 1)],
        )
    if one.fixed and neutral is not None:
        readings["filled"] = (
            f"what {name} lacked was taken for {neutral}",
            lambda v: [v + (neutral,) * n for n in range(1, most)],
        )
    # Entries of three axes; the first is the one that everybody checks.
    for i in range(1, most * 3 // 4 if neutral is not None else 0):
        text = f"entry {i} of {name} was not checked"
        readings[f"{i}_unchecked"] = text, _one(_with_entry(i, neutral or 0))
    for what, (text, reading) in readings.items():
        any_type = {} if what in ("filled", "repeated") else _FLOAT32
        yield Mistake(f"{name}_{what}".lower(), text, _accepting(name, tuple, reading), any_type)
    text = f"entries of {name} were cut down to 32 bits"
    answer = _changed(name, None, _in_32_bits)
    yield Mistake(f"{name}_in_32_bits".lower(), text, answer, _FLOAT32)


def _types(op: OpVersion, name: str) -> Iterator[Mistake]:
    """Values of other types than the declared one, and texts that are not quite right."""
    declared, required = attributes_of(op)[name]
    for kind in ("another_type", *_TYPES):
        if kind != declared:
            text = f"{name} was accepted where it was of {kind.replace('_', ' ')}"
            answer = _accepting(name, Typed, _of(kind, declared))
            yield Mistake(f"{name}_of_{kind}".lower(), text, answer, _FLOAT32, of_form=True)
    if declared == "string":
        text = f"what followed a known word in {name} was ignored"
        answer = _accepting(name, str, lambda v: [v[:n] for n in range(len(v), 0, -1)])
        yield Mistake(f"{name}_end_ignored", text, answer, _FLOAT32)
    else:
        text = f"{name} was accepted in another type that loses nothing"
        answer = _accepting(
            name, Typed, lambda v: _read(v, declared) if _exact(v, declared) else []
        )
        yield Mistake(f"{name}_of_another_type_exactly", text, answer, _FLOAT32, of_form=True)
    if declared in ("string", "ints") and not required:
        text = f"an empty {name} was taken for none"
        empty = _accepting(name, (str, tuple), lambda v: [] if v else [None])
        yield Mistake(f"{name}_empty_is_missing", text, empty, _FLOAT32)


def _one(change: Change) -> Readings:
    return lambda values: [change(values)]


def _of(kind: str, declared: str) -> Readings:
    """The reading of a value of one type, or else none at all."""
    return lambda v: [*_read(v, declared), None] if kind in (v.type, "another_type") else []


def _items(value: Typed) -> tuple[Any, ...]:
    return value.value if isinstance(value.value, tuple) else (value.value,)


def _exact(value: Typed, declared: str) -> bool:
    """True for whole numbers, as many as the declared type holds."""
    items = _items(value)
    many = declared == "ints" or len(items) == 1
    return many and all(not isinstance(item, str) and item == int(item) for item in items)


def _read(value: Typed, declared: str) -> Sequence[Any]:
    """What a value may be taken for where an attribute is of a declared type."""
    items = _items(value)
    with suppress(ValueError):
        match declared:
            case "string":
                return [str(items[0])]
            case "float":
                return [float(items[0])]
            case "int":
                return [int(float(items[0]))]
            case _:
                return [tuple(int(float(item)) for item in items)]
    return []


def _accepting(
    name: str, form: type | tuple[type, ...], readings: Readings
) -> Callable[[Node], Sequence[Any]]:
    """Accepts a node that is invalid, as the first reading of an attribute that makes it legal."""

    def answer(node: Node) -> Sequence[Any]:
        try:
            return node.right
        except InvalidNode:
            value = node.attrs.get(name)
            for reading in readings(value) if isinstance(value, form) else ():
                with suppress(InvalidNode):
                    return _with(node, name, reading).right
            raise

    return answer


def _known_only(node: Node) -> Sequence[Any]:
    known = attributes_of(node.op)
    return replace(node, attrs={n: v for n, v in node.attrs.items() if n in known}).right
