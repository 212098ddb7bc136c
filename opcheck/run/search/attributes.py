"""Attributes at random: what makes sense, and what seldom does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from opcheck.model import AttrValue
from opcheck.opset import Attribute, Schema
from opcheck.run.search.candidate import Shape

Draw: TypeAlias = Callable[[Random, Shape], Any]

#: How often an attribute is stated that may be left out; without some there is little left.
_STATED = 0.4
_OFTEN = {"kernel_shape": 0.95}


def _per_axis(low: int, high: int) -> Draw:
    """A number for each axis that a window moves along."""
    return lambda rng, shape: tuple(rng.randint(low, high) for _ in shape[2:])


def _some_axes(rng: Random, shape: Shape) -> tuple[int, ...]:
    axes = rng.sample(range(len(shape)), rng.randint(1, len(shape))) if shape else []
    return tuple(axes if rng.random() < 0.2 else sorted(axes))


#: What makes sense, by the names that attributes have in ONNX and DirectML.
_BY_NAME: Mapping[str, Draw] = {
    "axis": lambda rng, shape: rng.randint(-len(shape), len(shape) - 1) if shape else 0,
    "axes": _some_axes,
    "Axes": _some_axes,
    "kernel_shape": _per_axis(1, 3),
    "strides": _per_axis(1, 3),
    "dilations": _per_axis(1, 2),
    "pads": lambda rng, shape: tuple(rng.randint(0, 2) for _ in range(2 * len(shape[2:]))),
    "auto_pad": lambda rng, shape: rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]),
    "ceil_mode": lambda rng, shape: rng.randint(0, 1),
    "p": lambda rng, shape: rng.choice([1, 2, 3, 4, 5, 17]),
}
_BY_TYPE: Mapping[str, Draw] = {
    "int": lambda rng, shape: rng.randint(-2, 3),
    "float": lambda rng, shape: rng.choice([0.5, 1.0, 2.0, -1.0]),
    "ints": lambda rng, shape: tuple(rng.randint(0, 3) for _ in shape),
}


def attributes(rng: Random, schema: Schema, shape: Shape) -> dict[str, AttrValue]:
    """A choice of attributes; whether they exclude each other is for the engine to say."""
    found: dict[str, AttrValue] = {}
    for name, declared in schema.attributes.items():
        if declared.required or rng.random() < _OFTEN.get(name, _STATED):
            value = attribute(rng, declared, shape)
            if value is not None:
                found[name] = value
    return found


def attribute(rng: Random, declared: Attribute, shape: Shape) -> AttrValue | None:
    """A value that may make sense, None where nothing is known to."""
    draw = _BY_NAME.get(declared.name) or _BY_TYPE.get(declared.type)
    value: AttrValue | None = draw(rng, shape) if draw else declared.default
    if declared.type == "float" and isinstance(value, int):
        return value + rng.choice([0.0, 0.5])
    return value


def spoilt(
    rng: Random, schema: Schema, attrs: Mapping[str, AttrValue], rank: int
) -> dict[str, AttrValue]:
    """The attributes with one of them changed to what is seldom legal."""
    if not schema.attributes:
        return dict(attrs)
    declared = rng.choice(list(schema.attributes.values()))
    odd = [rank, rank + 1, -rank - 1, -rank, 0, -1]
    match declared.type:
        case "int":
            value: AttrValue = rng.choice([*odd, 2**31, 2**32, 2**32 - 1, -(2**32)])
        case "float":
            value = rng.choice([0.0, -1.0, 1e-46, 3e38])
        case "string":
            value = rng.choice(["", "same_upper", "VALID", "SAME_UPPER"])
        case "ints":
            # Nothing large: it may be the size of something.
            value = _spoilt_list(rng, attrs.get(declared.name), odd)
        case _:
            return dict(attrs)
    return {**attrs, declared.name: value}


def _spoilt_list(rng: Random, value: Any, odd: Sequence[int]) -> tuple[int, ...]:
    numbers = list(value or (1, 1))
    place = rng.randrange(len(numbers))
    match rng.randrange(4):
        case 0:
            numbers[place] = rng.choice(odd)
        case 1:
            numbers.append(numbers[place])
        case 2:
            numbers.pop(place)
        case _:
            numbers[place] = -numbers[place]
    return tuple(numbers)
