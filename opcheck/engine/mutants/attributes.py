"""Mutants of attributes: values misread, missing ones taken for others, invalid ones accepted.

What reads a stated value is a function of it, or yields several readings of which the first that is
legal is answered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from itertools import repeat
from math import isfinite, trunc
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.mutants import mutant
from opcheck.engine.mutants.elements import DOUBLE
from opcheck.engine.mutants.mutant import Accepting, AnswerFunction, Mutant, reading, refusing
from opcheck.engine.mutants.named_axes import names_axes
from opcheck.engine.node import Node
from opcheck.engine.operators import Formula
from opcheck.errors import InvalidNode
from opcheck.opset import Attribute, Schema

#: Another value in place of a stated one; None for a missing one.
ValueChange: TypeAlias = Callable[[Any], Any]
#: Values in place of a stated one on a node, the likeliest first.
Readings: TypeAlias = Callable[[Any, Node], Iterable[Any]]
#: A list of integers.
Entries: TypeAlias = tuple[int, ...]
#: How a node is read does not depend on the type of its tensors, so that cases of one type decide.
ONE_TYPE = ("float32",)
#: A default below this guards a division, or the like.
_SMALL = 0.01
#: In other libraries than ONNX the default of `cubic_coeff_a`.
_CUBIC_COEFFICIENT = -0.5


def _one_of(name: str, readings: Readings) -> AnswerFunction:
    """Return the right answer to a node with a stated value misread.

    readings: other values, of which the first is taken that is legal. The answer raises InvalidNode
    without one; a node without the attribute is answered rightly.
    """

    def answer(node: Node) -> Sequence[Any]:
        if name not in node.attrs:
            return node.right
        for value in readings(node.attrs[name], node):
            with suppress(InvalidNode):
                return node.with_attrs(**{name: value}).right
        raise InvalidNode("not supported")

    return answer


def _read(name: str, change: ValueChange) -> AnswerFunction:
    """Return the right answer to a node with a stated value changed.

    It raises InvalidNode if that value is illegal.
    """

    def only_reading(value: Any, node: Node) -> Iterable[Any]:
        return [change(value)]

    return _one_of(name, only_reading)


def _repaired(name: str, readings: Readings) -> AnswerFunction:
    """Return right answers, and to invalid nodes those with a stated value misread.

    They raise InvalidNode if no reading of an invalid node is legal.
    """
    return Accepting(_one_of(name, readings))


def departs_from_default(attribute: Attribute, node: Node) -> bool:
    """Return True for a node whose attribute departs from its default.

    For a list without a default, 0 or 1 along each axis is no departure; for Scan's, 0.
    """
    value = node.attrs.get(attribute.name)
    if value is None:
        return False
    if attribute.type in ("tensor", "tensors", "other"):
        return True
    values = value if isinstance(value, tuple) else (value,)
    return not {*values} <= _neutral_values(attribute)


def _neutral_values(attribute: Attribute) -> set[Any]:
    """Return the values that mean the same as a missing attribute."""
    if attribute.name.startswith("scan_") or attribute.name == "directions":
        return {0}
    return {0, 1} if attribute.default is None else {attribute.default}


# ── any attribute that may be missing ─────────────────────────────────────────────────────────


def of_any(attribute: Attribute, schemas: Iterable[Schema]) -> Iterator[Mutant]:
    """Yield mutants of an optional attribute, from its schema in each version."""
    name = attribute.name
    if attribute.required:
        return
    yield reading(
        f"{name}_ignored",
        f"{name} was ignored, and taken for its default",
        partial(without, name),
    )
    yield refusing(
        f"refuses_default_{name}",
        f"a node without {name} was not supported",
        partial(is_missing, name),
    )
    yield refusing(
        f"refuses_{name}",
        f"{name} was not supported, but for its default",
        partial(departs_from_default, attribute),
    )
    for value, which in _other_defaults(attribute, schemas).items():
        yield reading(
            f"default_{name}_{value}".replace("-", "minus_"),
            f"a missing {name} was taken for {value}{which}",
            partial(with_default, name, value),
        )


def _other_defaults(attribute: Attribute, schemas: Iterable[Schema]) -> dict[Any, str]:
    """Return values that a default may be taken for, each with a clause on where it is from."""
    name = attribute.name
    default = attribute.default
    defaults = {schema.attributes[name].default for schema in schemas if name in schema.attributes}
    others = sorted(defaults - {default, None}, key=str)
    misread = dict.fromkeys(others, ", the default of another version")
    if name == "cubic_coeff_a":
        misread[_CUBIC_COEFFICIENT] = ", the default of other libraries"
    if isinstance(default, int | float):
        near = {default - 1, default + 1} if default else {default + 1}
        misread |= dict.fromkeys(near - misread.keys(), "")
    return misread


def without(name: str, node: Node) -> Node:
    """Mutant: the attribute is missing."""
    return node.with_attrs(**{name: None})


def is_missing(name: str, node: Node) -> bool:
    """Return True for a node without the attribute."""
    return name not in node.attrs


def with_default(name: str, value: Any, node: Node) -> Node:
    """Mutant: a missing attribute is `value`."""
    return node.with_attrs(**{name: value, **node.attrs})


# ── a small default, which guards a division ──────────────────────────────────────────────────


def is_guard(attribute: Attribute) -> bool:
    """Return True for an attribute whose default is positive and small."""
    return isinstance(attribute.default, float) and 0 < attribute.default < _SMALL


def of_guard(attribute: Attribute, formula: Formula) -> Iterator[Mutant]:
    """Yield mutants that compute with another ε."""
    name = attribute.name
    for called, text, read, only in (
        ("left_out", "was left out", left_out, None),
        (
            "as_double",
            "was a double, where attributes and their defaults are float32",
            as_double,
            DOUBLE,
        ),
        ("twice", "was counted twice", twice, None),
    ):

        @wraps(formula)
        def misread(*inputs: Any, read: Any = read, **attrs: Any) -> Any:
            return formula(*inputs, **{**attrs, name: read(attrs[name])})

        answer = partial(mutant.evaluated, misread, None)
        yield Mutant(f"{name}_{called}", f"{name} {text}", answer, only=only)


def left_out(value: float) -> float:
    """Mutant: 0."""
    return 0.0


def as_double(value: float) -> float:
    """Mutant: the decimal number that the text or the case has, and that float32 rounds."""
    return float(str(np.float32(value)))


def twice(value: float) -> float:
    """Mutant: 2 ε."""
    return 2 * value


# ── integers and floats ───────────────────────────────────────────────────────────────────────


def one_larger(value: int) -> int:
    """Mutant: value + 1."""
    return value + 1


def one_smaller(value: int) -> int:
    """Mutant: value - 1."""
    return value - 1


def in_32_bits(value: int) -> int:
    """Mutant: the lowest 32 bits, with their sign."""
    return (value + 2**31) % 2**32 - 2**31


def missing_for_0(value: int) -> int | None:
    """Mutant: the attribute is missing where it is 0."""
    return value or None


def of_0_or_1(value: Any, node: Node) -> Iterable[Any]:
    """Return the readings 0 and 1."""
    return (0, 1)


def of_floating_0_or_1(value: Any, node: Node) -> Iterable[Any]:
    """Return the readings 0.0 and 1.0."""
    return (0.0, 1.0)


def whole_number(rounding: Callable[[float], int], value: float) -> float:
    """Mutant: a whole number, but 1 in place of 0."""
    return float(rounding(value) or 1) if isfinite(value) else value


def whole_numbers_alone(value: float, node: Node) -> Iterable[float]:
    """Return no reading of a fraction, and the right one of a whole number."""
    return [] if value % 1 else [value]


# ── texts ─────────────────────────────────────────────────────────────────────────────────────


def of_other_case(value: str, node: Node) -> Iterable[str]:
    """Return the readings in upper and in lower case."""
    return (value.upper(), value.lower())


def of_default(value: str, node: Node) -> Iterable[None]:
    """Return the reading that the attribute is missing."""
    return (None,)


# ── lists of integers ─────────────────────────────────────────────────────────────────────────


def reversed_list(values: Entries) -> Entries:
    """Mutant: from the last entry to the first."""
    return values[::-1]


def each_one_larger(values: Entries) -> Entries:
    """Mutant: each entry + 1."""
    return tuple(value + 1 for value in values)


def each_in_32_bits(values: Entries) -> Entries:
    """Mutant: the lowest 32 bits of each entry, with their sign."""
    return tuple(map(in_32_bits, values))


def of_any_length(values: Entries, node: Node) -> Iterable[Entries]:
    """Yield lists of other lengths, filled up with 0 or 1."""
    for length in range(1, 2 * node.rank + 1):
        for fill in (0, 1):
            yield (*values, *repeat(fill, length))[:length]


def first_for_all(values: Entries) -> Entries:
    """Mutant: each entry is the first."""
    return values[:1] * len(values)


def with_entry(
    place: int,
    entries: Callable[[Entries, int], Iterable[int]],
    values: Entries,
    node: Node,
) -> Iterable[Entries]:
    """Return lists of three or more with another entry at a place.

    entries: Returns what may be there, from the list and that place counted from its beginning.
    """
    if len(values) < 3 or not -len(values) <= place < len(values):
        return [values]
    at = place % len(values)
    return [(*values[:at], entry, *values[at + 1 :]) for entry in entries(values, at)]


def next_entry(values: Entries, at: int) -> Iterable[int]:
    """Return the next entry, or the first for the last."""
    return [values[(at + 1) % len(values)]]


def entry_0_or_1(values: Entries, at: int) -> Iterable[int]:
    """Return 0 and 1."""
    return [0, 1]


def of_repeated(values: Entries, node: Node) -> Iterable[Entries]:
    """Yield longer lists of the same entries over again."""
    if not values:
        return
    for length in range(len(values) + 1, 2 * node.rank + 1):
        yield (values * length)[:length]


def of_clamped(values: Entries, node: Node) -> Iterable[Entries]:
    """Yield lists whose entries are 0 at least, and then 1."""
    for least in (0, 1):
        yield tuple(max(least, value) for value in values)


_IS_0_OR_1 = "invalid_{}_is_0_or_1"
_0_OR_1 = "an invalid {} was taken for 0, or for 1 if that is invalid too"
#: By an attribute's type, name and text, where {} is its name, and how the answer is made of what.
_BY_TYPE: Mapping[str, tuple[mutant.MutantRow, ...]] = {
    "int": (
        ("{}_one_larger", "a stated {} was taken for one larger", _read, one_larger),
        ("{}_one_smaller", "a stated {} was taken for one smaller", _read, one_smaller),
        ("{}_in_32_bits", "{} was cut down to 32 bits", _read, in_32_bits, ONE_TYPE),
        (_IS_0_OR_1, _0_OR_1, _repaired, of_0_or_1),
    ),
    "int with a default": (
        (
            "{}_0_is_the_default",
            "{} of 0 was taken for a missing one",
            _read,
            missing_for_0,
            ONE_TYPE,
        ),
    ),
    "float": (
        *(
            (
                "{}_" + word.replace(" ", "_"),
                f"{{}} was {word} to a whole number, but not to 0",
                _read,
                partial(whole_number, rounding),
            )
            for word, rounding in (("cut off", trunc), ("rounded", round))
        ),
        (
            "refuses_fractions_of_{}",
            "a fractional {} was not supported",
            _one_of,
            whole_numbers_alone,
        ),
        (_IS_0_OR_1, _0_OR_1, _repaired, of_floating_0_or_1),
    ),
    "string": (
        (
            "{}_in_any_case",
            "{} was read in lower case too",
            _repaired,
            of_other_case,
        ),
    ),
    "string with a default": (
        (
            "unknown_{}_is_the_default",
            "an unknown {} was taken for the default",
            _repaired,
            of_default,
        ),
    ),
    # Lists have an entry for each axis, or name axes; of the latter each stands there once.
    "ints": (
        ("{}_reversed", "{} was read from the last entry to the first", _read, reversed_list),
        (
            "{}_one_larger",
            "each of {} was taken for one larger",
            _read,
            each_one_larger,
        ),
        (
            "{}_in_32_bits",
            "{} were cut down to 32 bits",
            _read,
            each_in_32_bits,
            ONE_TYPE,
        ),
        (
            "{}_of_any_length",
            "what {} had too much was cut off, and what it lacked filled up with 0 or 1",
            _repaired,
            of_any_length,
        ),
    ),
    "ints for each axis": (
        ("{}_first_for_all", "the first of {} served for all", _read, first_for_all),
        *(
            (
                f"{{}}_entry_{i}_{word}".replace("-", "minus_"),
                f"of three or more {{}} entry {i} was taken for {text}",
                _one_of,
                partial(with_entry, i, entries),
            )
            for i in (0, 1, 2, 3, -1, -2, -3, -4)
            for word, text, entries in (
                ("as_next", "the next", next_entry),
                ("as_default", "0, or 1 if that is illegal", entry_0_or_1),
            )
        ),
        (
            "{}_repeated",
            "too few {} were accepted, and served again for the other axes",
            _repaired,
            of_repeated,
        ),
        (
            "{}_clamped",
            "{} that are too small were taken for the least that is legal",
            _repaired,
            of_clamped,
        ),
    ),
}


def of_type(attribute: Attribute) -> Iterator[Mutant]:
    """Yield mutants of an attribute by its type."""
    rows = [*_BY_TYPE.get(attribute.type, ())]
    if attribute.default:
        rows += _BY_TYPE.get(f"{attribute.type} with a default", ())
    if not names_axes(attribute):
        rows += _BY_TYPE.get(f"{attribute.type} for each axis", ())
    for name, text, make, change, *only in rows:
        answer = make(attribute.name, change)
        yield Mutant(name.format(attribute.name), text.format(attribute.name), answer, "", *only)
