"""Causes of floating attributes: one is multiplied, divided or turned over once too often.

A text that divides alpha by size is read as one that does not, so that alpha seems to be multiplied
by size. Of any call, the attributes give these mistakes; suites need not see them.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from opcheck.engine.mutants.mutant import Mutant, reading
from opcheck.engine.mutants.named_axes import names_axes
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.opset import Attribute, Schema

#: Another number in place of an attribute's.
NumberChange: TypeAlias = Callable[[float], float]


def mutants(schema: Schema, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of a version that take another number for a floating attribute.

    known: the operator.
    """
    attributes = [one for one in schema.attributes.values() if one.name not in known.ignores]
    counts = [one for one in attributes if one.type == "int" and not names_axes(one)]
    for attribute in attributes:
        if attribute.type != "float":
            continue
        name = attribute.name
        for suffix, text, change in _CHANGES:
            read = partial(_with_number, attribute, change)
            yield reading(f"{name}_{suffix}", f"{name} was {text}", read)
        for count in counts:
            text = f"{name} was multiplied by {count.name} once too often, or divided once too few"
            yield reading(
                f"{name}_times_{count.name}", text, partial(_with_ratio, attribute, count, 1)
            )
            text = f"{name} was divided by {count.name} once too often, or multiplied once too few"
            yield reading(
                f"{name}_over_{count.name}", text, partial(_with_ratio, attribute, count, -1)
            )


def _number_of(attribute: Attribute, node: Node) -> float | None:
    """Return the number of an attribute, stated or by default; None without either."""
    value = node.attrs.get(attribute.name, attribute.default)
    return float(value) if isinstance(value, int | float) else None


def _with_number(attribute: Attribute, change: NumberChange, node: Node) -> Node:
    """Return a node with another number for an attribute; itself without a finite one."""
    value = _number_of(attribute, node)
    changed = math.nan if value is None else change(value)
    return node.with_attrs(**{attribute.name: changed}) if math.isfinite(changed) else node


def _with_ratio(attribute: Attribute, count: Attribute, power: int, node: Node) -> Node:
    """Return a node with an attribute times a power of another, which is 2 or more; else itself."""
    factor = node.attrs.get(count.name, count.default)
    if not isinstance(factor, int) or factor < 2:
        return node
    return _with_number(attribute, lambda value: float(value * factor**power), node)


def _doubled(value: float) -> float:
    """Return twice the value."""
    return 2 * value


def _halved(value: float) -> float:
    """Return half of the value."""
    return value / 2


def _squared(value: float) -> float:
    """Return the square."""
    return value * value


def _rooted(value: float) -> float:
    """Return the square root; NaN of a negative number."""
    return math.sqrt(value) if value >= 0 else math.nan


def _turned_over(value: float) -> float:
    """Return 1 / value; NaN for 0."""
    return 1 / value if value else math.nan


def _taken_from_1(value: float) -> float:
    """Return 1 - value."""
    return 1 - value


def _negated(value: float) -> float:
    """Return -value."""
    return -value


#: The end of the name, what was done in words, and the change.
_CHANGES: tuple[tuple[str, str, NumberChange], ...] = (
    ("doubled", "doubled", _doubled),
    ("halved", "halved", _halved),
    ("squared", "squared", _squared),
    ("is_its_root", "taken for its square root", _rooted),
    ("is_its_reciprocal", "taken for its reciprocal", _turned_over),
    ("taken_from_1", "taken from 1", _taken_from_1),
    ("negated", "taken with the opposite sign", _negated),
)
