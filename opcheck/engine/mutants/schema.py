"""Mutants that an operator's schema makes: attributes, inputs, versions and types misread."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from itertools import combinations, repeat
from typing import Any, TypeAlias, cast

import numpy as np

from opcheck import dtypes, opset
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants import axes
from opcheck.engine.mutants.mutant import (
    DOUBLE,
    Accepting,
    AnswerFunction,
    Mutant,
    apart_from_rounding,
    computed_in_float32,
    refusing,
)
from opcheck.engine.node import Node
from opcheck.engine.operators import Formula, Operator
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion, Typed
from opcheck.opset import Attribute, Schema

#: A stated value of an attribute, read wrongly.
AttributeReading: TypeAlias = Callable[[Any], Any]
#: Values for which an invalid one may be taken, the likeliest first.
Repairs: TypeAlias = Callable[[Any, Node], Iterable[Any]]

#: How a node is read does not depend on the type of its tensors, so that cases of one type decide.
_ONE_TYPE = ("float32",)
#: A default below this guards a division, or the like.
_SMALL = 0.01
#: Entries of a list of three or more, from either end.
_ENTRIES = (0, 1, 2, 3, -1, -2, -3, -4)


def mutants(op: OpVersion, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants that a version's schema and its neighbors give."""
    versions = opset.versions(op.domain, op.name)
    schema = versions[op.since]
    yield from _of_versions(op, known, versions)
    for attribute in schema.attributes.values():
        if attribute.name not in known.ignores:
            yield from _of_any(attribute, versions.values())
            if of_type := _BY_TYPE.get(attribute.type):
                yield from of_type(attribute)
            if isinstance(attribute.default, float) and 0 < attribute.default < _SMALL:
                yield from _of_guard(attribute, known.formulas[op.since])
            if axes.names_axes(attribute):
                yield from axes.NamedAxes(attribute).mutants()
    yield from _of_form(schema)
    yield from _of_inputs(schema)


# ── how the answers are made ──────────────────────────────────────────────────────────────────


def _read(name: str, change: AttributeReading) -> AnswerFunction:
    """The right answer to a node with a stated value misread, which may make it legal, or not."""

    def answer(node: Node) -> Sequence[Any]:
        if name not in node.attrs:
            return node.right
        value = change(node.attrs[name])
        same = value is not None and value == node.attrs[name]
        return (node if same else node.with_attrs(**{name: value})).right

    return answer


def _repaired(name: str, repairs: Repairs) -> AnswerFunction:
    """An invalid node is accepted if another value of this attribute makes it legal."""

    def repair(node: Node) -> Sequence[Any]:
        if name in node.attrs:
            for value in repairs(node.attrs[name], node):
                with suppress(InvalidNode):
                    return node.with_attrs(**{name: value}).right
        return node.right

    return Accepting(repair)


def _missing(name: str, value: Any) -> AnswerFunction:
    """The right answer, but for nodes without the attribute, which has this value there."""
    return lambda n: n.right if name in n.attrs else n.with_attrs(**{name: value}).right


def _in_32_bits(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


# ── attributes ────────────────────────────────────────────────────────────────────────────────


def says_something(attribute: Attribute) -> Callable[[Node], bool]:
    """Return a test for nodes whose attribute departs from its default.

    Of a list without a default, 0 or 1 along each axis says nothing.
    """
    neutral = {0, 1} if attribute.default is None else {attribute.default}

    def departs(node: Node) -> bool:
        value = node.attrs.get(attribute.name)
        values = value if isinstance(value, tuple) else (value,)
        tensor = attribute.type in ("tensor", "tensors", "other")
        return value is not None and (tensor or not {*values} <= neutral)

    return departs


def _of_any(attribute: Attribute, schemas: Iterable[Schema]) -> Iterator[Mutant]:
    name, default = attribute.name, attribute.default
    if attribute.required:
        return
    yield Mutant(f"{name}_ignored", f"{name} was ignored, and taken for its default",
                 _read(name, lambda value: None))  # fmt: skip
    text = f"a node without {name} was not supported"
    yield refusing(f"refuses_default_{name}", text, lambda node: name not in node.attrs)
    text = f"{name} was not supported, but for its default"
    yield refusing(f"refuses_{name}", text, says_something(attribute))
    others = {s.attributes[name].default for s in schemas if name in s.attributes}
    of_another = ", the default of another version"
    misread = dict.fromkeys(sorted(others - {default, None}, key=str), of_another)
    if isinstance(default, int | float):
        near = {default - 1, default + 1} if default else {default + 1}
        misread |= dict.fromkeys(near - misread.keys(), "")
    for value, which in misread.items():
        called = f"default_{name}_{value}".replace("-", "minus_")
        yield Mutant(called, f"a missing {name} was taken for {value}{which}",
                     _missing(name, value))  # fmt: skip


def _of_number(attribute: Attribute) -> Iterator[Mutant]:
    name = attribute.name
    text = f"an invalid {name} was taken for 0, or for 1 if that is invalid too"
    zero_or_one = (0, 1) if attribute.type == "int" else (0.0, 1.0)
    yield Mutant(f"invalid_{name}_is_0_or_1", text, _repaired(name, lambda *_: zero_or_one))


def _of_int(attribute: Attribute) -> Iterator[Mutant]:
    name = attribute.name
    for step, words in ((1, "larger"), (-1, "smaller")):
        text = f"a stated {name} was taken for one {words}"
        yield Mutant(f"{name}_one_{words}", text, _read(name, partial(operator.add, step)))
    text = f"{name} was cut down to 32 bits"
    yield Mutant(f"{name}_in_32_bits", text, _read(name, _in_32_bits), only=_ONE_TYPE)
    yield from _of_number(attribute)
    if attribute.default:
        text = f"{name} of 0 was taken for a missing one"
        answer = _read(name, lambda value: value or None)
        yield Mutant(f"{name}_0_is_the_default", text, answer, only=_ONE_TYPE)


def _of_float(attribute: Attribute) -> Iterator[Mutant]:
    name = attribute.name
    for word, change in (("cut off", math.trunc), ("rounded", round)):
        text = f"{name} was {word} to a whole number, but not to 0"
        answer = _read(name, partial(_whole, change))
        yield Mutant(f"{name}_{word.replace(' ', '_')}", text, answer)
    text = f"a fractional {name} was not supported"
    yield refusing(f"refuses_fractions_of_{name}", text,
                   lambda node: cast(float, node.attrs.get(name, 0)) % 1 != 0)  # fmt: skip
    yield from _of_number(attribute)


def _of_guard(attribute: Attribute, formula: Formula) -> Iterator[Mutant]:
    name = attribute.name

    for called, text, read, only in (
        ("left_out", "was left out", lambda value: 0.0, None),
        # The decimal number that the text or the case has, and that float32 rounds.
        ("as_double", "was a double, where attributes and their defaults are float32",
         lambda value: float(str(np.float32(value))), DOUBLE),
    ):  # fmt: skip

        @wraps(formula)
        def misread(*inputs: Any, read: Any = read, **attrs: Any) -> Any:
            return formula(*inputs, **{**attrs, name: read(attrs[name])})

        def answer(node: Node, misread: Formula = misread) -> Sequence[Any]:
            return apart_from_rounding(node, evaluate(node, misread))

        yield Mutant(f"{name}_{called}", f"{name} {text}", answer, only=only)


def _whole(change: Callable[[float], int], value: float) -> float:
    return float(change(value) or 1) if math.isfinite(value) else value


def _of_string(attribute: Attribute) -> Iterator[Mutant]:
    name = attribute.name
    yield Mutant(f"{name}_in_any_case", f"{name} was read in lower case too",
                 _repaired(name, lambda value, _: (value.upper(), value.lower())))  # fmt: skip
    if attribute.default is not None:
        text = f"an unknown {name} was taken for the default"
        answer = _repaired(name, lambda value, node: (attribute.default,))
        yield Mutant(f"unknown_{name}_is_the_default", text, answer)


def _of_ints(attribute: Attribute) -> Iterator[Mutant]:
    """Lists have an entry for each axis, or name axes; of the latter each stands there once."""
    name = attribute.name

    def misread(end: str, text: str, change: AttributeReading, only: Any = None) -> Mutant:
        return Mutant(f"{name}_{end}", text, _read(name, change), only=only)

    def accepted(end: str, text: str, repairs: Repairs) -> Mutant:
        return Mutant(f"{name}_{end}", text, _repaired(name, repairs))

    text = f"{name} was read from the last entry to the first"
    yield misread("reversed", text, lambda values: values[::-1])
    text = f"each of {name} was taken for one larger"
    yield misread("one_larger", text, lambda v: tuple(i + 1 for i in v))
    text = f"{name} were cut down to 32 bits"
    yield misread("in_32_bits", text, lambda v: tuple(map(_in_32_bits, v)), _ONE_TYPE)
    text = f"what {name} had too much was cut off, and what it lacked filled up with 0 or 1"
    yield accepted("of_any_length", text, lambda v, node: (
        (*v, *repeat(fill, n))[:n] for n in _lengths(node) for fill in (0, 1)))  # fmt: skip
    if axes.names_axes(attribute):
        return
    text = f"the first of {name} served for all"
    yield misread("first_for_all", text, lambda v: v[:1] * len(v))
    for i in _ENTRIES:
        place = f"{name}_entry_{i}".replace("-", "minus_")
        text = f"of three or more {name} entry {i} was taken for"
        yield Mutant(f"{place}_as_next", f"{text} the next", _read(name, partial(_as_next, i)))
        text += " 0, or 1 if that is illegal"
        yield Mutant(f"{place}_as_default", text, _entry_as_default(name, i))
    text = f"too few {name} were accepted, and served again for the other axes"
    yield accepted("repeated", text, lambda v, node: (
        (*v * n,)[:n] for n in _lengths(node) if v and n > len(v)))  # fmt: skip
    text = f"{name} that are too small were taken for the least that is legal"
    yield accepted("clamped", text, lambda v, node: (
        tuple(max(least, i) for i in v) for least in (0, 1)))  # fmt: skip


def _lengths(node: Node) -> range:
    """Return the lengths that an operator's lists may have on a tensor of this rank."""
    return range(1, 2 * node.rank + 1)


def _with_entry(values: Any, place: int, value: Callable[[int], int]) -> Any:
    if len(values) < 3 or not -len(values) <= place < len(values):
        return values
    at = place % len(values)
    return (*values[:at], value(at), *values[at + 1 :])


def _as_next(place: int, values: Any) -> Any:
    return _with_entry(values, place, lambda at: values[(at + 1) % len(values)])


def _entry_as_default(name: str, place: int) -> AnswerFunction:
    def answer(node: Node) -> Sequence[Any]:
        with suppress(InvalidNode):
            return _read(name, lambda v: _with_entry(v, place, lambda at: 0))(node)
        return _read(name, lambda v: _with_entry(v, place, lambda at: 1))(node)

    return answer


_BY_TYPE: Mapping[str, Callable[[Attribute], Iterator[Mutant]]] = {
    "int": _of_int,
    "float": _of_float,
    "string": _of_string,
    "ints": _of_ints,
}


def _of_form(schema: Schema) -> Iterator[Mutant]:
    """Yield mutants that read attributes of an undeclared type, or undeclared attributes."""
    declared = {name: attribute.type for name, attribute in schema.attributes.items()}
    optional = [one for one in schema.attributes.values() if not one.required]
    for name, text, read, is_possible in (
        ("attributes_converted", "attributes of another type were converted to the declared one",
         _converted, not {"int", "float", "ints"}.isdisjoint(declared.values())),
        ("attributes_of_another_type_ignored",
         "attributes of another type than the declared one were ignored",
         lambda kind, value: None if kind else value, bool(optional)),
        ("unknown_attributes_ignored", "attributes that the version does not declare were ignored",
         lambda kind, value: value if kind else None, True),
    ):  # fmt: skip

        def answer(node: Node, read: Any = read) -> Sequence[Any]:
            attrs = {
                key: read(declared.get(key), value) if isinstance(value, Typed) else value
                for key, value in node.attrs.items()
            }
            return node.with_attrs(**attrs).right

        if is_possible:
            yield Mutant(name, text, answer, only=_ONE_TYPE, of_form=True)


def _converted(declared: str | None, value: Typed) -> Any:
    items = value.value if isinstance(value.value, tuple) else (value.value,)
    with suppress(ValueError, IndexError):
        match declared:
            case "int":
                return int(float(items[0]))
            case "float":
                return float(items[0])
            case "ints":
                return tuple(int(float(item)) for item in items)
    return value


# ── versions and types ────────────────────────────────────────────────────────────────────────


def _of_versions(
    op: OpVersion, known: Operator, versions: Mapping[int, Schema]
) -> Iterator[Mutant]:
    # Versions that share a formula are one mutant.
    distinct = {formula: since for since, formula in reversed(known.formulas.items())}
    for formula, since in reversed(distinct.items()):
        if formula is not known.formulas[op.since]:
            text = f"version {since} was computed, whatever the model's opset"
            answer = partial(lambda since, node: node.at(since).right, since)
            yield Mutant(f"version_{since}_always", text, answer)
    later = [schema for since, schema in versions.items() if since > op.since]
    own = versions[op.since]
    if any(schema.attributes.keys() - own.attributes.keys() for schema in later):
        text = "attributes of a later version were taken already"
        accepting = Accepting(partial(_at_the_first, later))
        yield Mutant("later_attributes_accepted", text, accepting)
    if not own.inputs:
        return
    first = own.inputs[own.lead]
    new = frozenset().union(*(schema.inputs[schema.lead].types for schema in later)) - first.types
    new &= {dtype.text for dtype in dtypes.DTYPES.values()}
    for name, words, accepted in (
        ("later_types", "a type that came with a later version was", new),
        ("integers", "integers and booleans were", _texts("int", "bool") - first.types - new),
        ("other_floats", "other floating types were", _texts("float") - first.types - new),
    ):
        if accepted:
            text = f"{words} taken, and computed by way of float32"
            yield Mutant(f"{name}_accepted", text, Accepting(partial(_of_types, accepted)))


def _texts(*kinds: str) -> frozenset[str]:
    return frozenset(d.text for d in dtypes.DTYPES.values() if d.kind in kinds)


def _of_types(accepted: Iterable[str], node: Node) -> Sequence[Any]:
    known = dtypes.ELEMENT_TYPES.get(node.dtype)
    return computed_in_float32(node) if known and known.text in accepted else node.right


def _at_the_first(later: Sequence[Schema], node: Node) -> Sequence[Any]:
    """In the first later version that has the attributes."""
    fitting = (schema for schema in later if node.attrs.keys() <= schema.attributes.keys())
    return next((node.at(schema.op.since) for schema in fitting), node).right


# ── inputs ────────────────────────────────────────────────────────────────────────────────────


def _of_inputs(schema: Schema) -> Iterator[Mutant]:
    places = [n for n, p in enumerate(schema.inputs) if p.option != "variadic"]
    for place in places:
        name = schema.inputs[place].name
        if schema.inputs[place].option == "optional":
            text = f"the input {name} was ignored"
            yield Mutant(f"input_{name}_ignored", text, partial(_without, place))
    for one, other in combinations(places, 2):
        first, second = schema.inputs[one], schema.inputs[other]
        if first.types & second.types:
            text = f"the inputs {first.name} and {second.name} were exchanged"
            name = f"inputs_{first.name}_and_{second.name}_exchanged"
            yield Mutant(name, text, partial(_exchanged, one, other))
    if schema.inputs and schema.inputs[-1].option == "variadic":
        start = len(schema.inputs) - 1
        yield Mutant(
            "inputs_reversed", "inputs were taken from the last to the first",
            lambda n: replace(n, inputs=(*n.inputs[:start], *n.inputs[start:][::-1])).right,
        )  # fmt: skip
        yield Mutant(
            "last_input_ignored", "of several inputs the last was ignored",
            lambda n: (replace(n, inputs=n.inputs[:-1]) if len(n.inputs) > start + 1 else n).right,
        )  # fmt: skip


def _has(node: Node, place: int) -> bool:
    return len(node.inputs) > place and node.inputs[place] is not None


def _without(place: int, node: Node) -> Sequence[Any]:
    return (node.with_input(place, None) if _has(node, place) else node).right


def _exchanged(one: int, other: int, node: Node) -> Sequence[Any]:
    if not (_has(node, one) and _has(node, other)):
        return node.right
    first, second = node.inputs[one], node.inputs[other]
    return node.with_input(one, second).with_input(other, first).right
