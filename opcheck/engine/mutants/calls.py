"""Causes derived from a call: inputs, attributes and outputs that are taken for one another.

Every operator can be called so. Suites need not see these mutants: where two attributes mean alike,
no case can.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.mutants.mutant import Mutant, reading
from opcheck.engine.mutants.named_axes import names_axes
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array
from opcheck.opset import Attribute, Parameter, Schema

#: Makes outputs of a node and its right ones.
OutputsChange: TypeAlias = Callable[[Node, Sequence[Array]], Sequence[Array]]
#: Of so many outputs at most, two may be exchanged.
_MOST_OUTPUTS = 8
#: Activations and their parameters are repeated for each direction in groups of so many entries.
_GROUPS = (2, 3)


def mutants(schema: Schema, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of a version that take parts of its calls for one another.

    known: the operator.
    """
    attributes = [one for one in schema.attributes.values() if one.name not in known.ignores]
    for first, second in combinations(attributes, 2):
        if _are_alike(first, second):
            yield _with_attributes_exchanged(first.name, second.name)
    for attribute in attributes:
        if attribute.type in ("strings", "floats"):
            yield from _of_repeated_lists(attribute.name)
        if attribute.type == "ints":
            text = f"{attribute.name}, an order of axes, was taken for the inverse order"
            read = partial(_with_list, attribute.name, inverse_order)
            yield reading(f"{attribute.name}_inverted", text, read)
        if names_axes(attribute) and attribute.type == "int":
            yield from _of_negative_axes(attribute)
            text = f"{attribute.name} was taken for the last axis if it is none of the input"
            read = partial(_with_clamped_axis, attribute)
            yield reading(f"{attribute.name}_clamped_to_the_last", text, read)
    yield from _of_axes_of_the_output(schema)
    optional = [n for n, parameter in enumerate(schema.inputs) if parameter.option == "optional"]
    if optional and optional[0] < len(schema.inputs) - 1:
        text = "inputs behind an omitted one were taken for the one before"
        yield reading("absent_inputs_shifted", text, closed_up)
    yield from _of_outputs(schema.outputs)


# ── attributes ────────────────────────────────────────────────────────────────────────────────


def _are_alike(first: Attribute, second: Attribute) -> bool:
    """Return True for two attributes that can be exchanged by mistake: numbers of one type.

    Of integers only those that end in the same word can be, as q_num_heads and kv_num_heads: others
    have nothing in common, as an axis and a flag.
    """
    if first.type != second.type:
        return False
    if first.type == "int":
        return _last_word(first.name) == _last_word(second.name)
    return first.type in ("ints", "float", "floats")


def _last_word(name: str) -> str:
    """Return what follows the last "_" of a name; the name itself without one."""
    return name.rpartition("_")[2]


def _with_attributes_exchanged(first: str, second: str) -> Mutant:
    """Return the mutant that takes two attributes for one another; a missing one is missing."""

    def read(node: Node) -> Node:
        return node.with_attrs(**{first: node.attrs.get(second), second: node.attrs.get(first)})

    name = f"{first}_and_{second}_exchanged"
    return reading(name, f"{first} and {second} were exchanged", read)


def _of_repeated_lists(name: str) -> Iterator[Mutant]:
    """Yield mutants of a list that has the same entries for each of several directions."""
    for size in _GROUPS:
        for one, other in combinations(range(size), 2):
            text = f"of each {size} {name} the {_ORDINALS[one]} and {_ORDINALS[other]} "
            yield reading(
                f"{name}_{one + 1}_and_{other + 1}_of_{size}_exchanged",
                f"{text}were exchanged",
                partial(_with_list, name, partial(entries_exchanged, size, one, other)),
            )
    text = f"the first of {name} served for all"
    yield reading(f"{name}_first_for_all", text, partial(_with_list, name, first_for_all))


_ORDINALS = ("first", "second", "third")


def _with_list(name: str, change: Callable[[Sequence[Any]], Sequence[Any]], node: Node) -> Node:
    """Return a node with an attribute's list changed; itself without the attribute."""
    values = node.attrs.get(name)
    return node.with_attrs(**{name: tuple(change(values))}) if isinstance(values, tuple) else node


def entries_exchanged(size: int, one: int, other: int, values: Sequence[Any]) -> Sequence[Any]:
    """Mutant: of each `size` entries two are exchanged, by their places; other lists stay."""
    if len(values) % size:
        return values
    places = [*range(size)]
    places[one], places[other] = other, one
    return [values[start + at] for start in range(0, len(values), size) for at in places]


def first_for_all(values: Sequence[Any]) -> Sequence[Any]:
    """Mutant: each entry is the first."""
    return [*values[:1]] * len(values)


def inverse_order(values: Sequence[int]) -> Sequence[int]:
    """Mutant: the order that undoes an order of all axes; other lists stay."""
    places = range(len(values))
    return [values.index(place) for place in places] if sorted(values) == [*places] else values


def _of_negative_axes(attribute: Attribute) -> Iterator[Mutant]:
    """Yield mutants that read any negative axis as one and the same."""
    name = attribute.name
    for axis, words in ((0, "0"), (1, "1"), (None, "the default")):
        read = partial(_with_negative_axis, name, axis)
        text = f"a negative {name} was taken for {words}"
        yield reading(f"negative_{name}_is_{words.replace(' ', '_')}", text, read)


def _with_negative_axis(name: str, axis: int | None, node: Node) -> Node:
    """Return a node with `axis` in place of a negative one, None for a missing one."""
    stated = node.attrs.get(name)
    is_negative = isinstance(stated, int) and stated < 0
    return node.with_attrs(**{name: axis}) if is_negative else node


def _with_clamped_axis(attribute: Attribute, node: Node) -> Node:
    """Return a node whose axis, stated or by default, is the last one at most; scalars as is."""
    axis = node.attrs.get(attribute.name, attribute.default)
    if not isinstance(axis, int) or axis < node.rank or not node.rank:
        return node
    return node.with_attrs(**{attribute.name: node.rank - 1})


def _of_axes_of_the_output(schema: Schema) -> Iterator[Mutant]:
    """Yield mutants that count negative axes from the end of the input, not of the output.

    `axis` and `axes` are attributes or inputs. Where both have one rank, a mutant is right.
    """
    for attribute in schema.attributes.values():
        if names_axes(attribute):
            yield _counting_in_the_input(attribute.name, partial(_of_attribute, attribute.name))
    for place, parameter in enumerate(schema.inputs):
        if names_axes(parameter):
            yield _counting_in_the_input(parameter.name, partial(_of_input, place))


def _counting_in_the_input(name: str, read: Callable[[Node], Node]) -> Mutant:
    """Return the mutant that counts negative axes in the input; `read` returns the misread node."""
    text = f"negative {name} were counted from the end of the input, not of the output"
    return reading(f"negative_{name}_counted_in_the_input", text, read)


def _of_attribute(name: str, node: Node) -> Node:
    """Return a node whose attribute has what negative axes are in the first input."""
    value = node.attrs.get(name)
    if isinstance(value, int):
        return node.with_attrs(**{name: _counted(value, node.rank)})
    if not isinstance(value, tuple):
        return node
    axes = tuple(_counted(axis, node.rank) for axis in value if isinstance(axis, int))
    return node.with_attrs(**{name: axes})


def _counted(axis: int, rank: int) -> int:
    """Return an axis counted from the front of a tensor of a rank; itself if it has none there."""
    return axis + rank if -rank <= axis < 0 else axis


def _of_input(place: int, node: Node) -> Node:
    """Return a node whose input has what negative axes are in the first input."""
    axes = node.inputs[place] if place < len(node.inputs) else None
    if axes is None or axes.dtype.kind != "i":
        return node
    counted = np.where((axes < 0) & (axes >= -node.rank), axes + node.rank, axes)
    return node.with_input(place, counted.astype(axes.dtype))


# ── inputs ────────────────────────────────────────────────────────────────────────────────────


def closed_up(node: Node) -> Node:
    """Return a node whose inputs stand without gaps, where it omits some in between."""
    given = [array for array in node.inputs if array is not None]
    stays = all(array is not None for array in node.inputs[: len(given)])
    return node if stays else replace(node, inputs=tuple(given))


# ── outputs ───────────────────────────────────────────────────────────────────────────────────


def _of_outputs(outputs: Sequence[Parameter]) -> Iterator[Mutant]:
    """Yield mutants that give an output in place of another."""
    is_sequence = bool(outputs[-1].listed)
    if len(outputs) > 1 or outputs[0].option == "variadic":
        text = "every output was the first one"
        behind = 1 if is_sequence else 0
        answer = partial(_with_outputs, partial(first_for_each, behind))
        yield Mutant("first_output_for_all", text, answer)
    if not is_sequence and (len(outputs) > 1 or outputs[0].option == "variadic"):
        text = "outputs came in the opposite order"
        yield Mutant("outputs_reversed", text, partial(_with_outputs, reversed_outputs))
    named = [*enumerate(outputs)][:_MOST_OUTPUTS]
    for (place, one), (other_place, other) in combinations(named, 2):
        if len(outputs) > 2:
            text = f"the outputs {one.name} and {other.name} were exchanged"
            answer = partial(_with_outputs, partial(exchanged_outputs, place, other_place))
            yield Mutant(f"outputs_{one.name}_and_{other.name}_exchanged", text, answer)


def _with_outputs(change: OutputsChange, node: Node) -> Sequence[Array]:
    """Return the right outputs of a node, changed."""
    return change(node, node.right)


def first_for_each(behind: int, node: Node, right: Sequence[Array]) -> Sequence[Array]:
    """Mutant: each output is the first one `behind` so many, such as the length of a sequence."""
    tensors = right[behind:]
    return [*right[:behind], *(tensors[0] for _ in tensors)]


def reversed_outputs(node: Node, right: Sequence[Array]) -> Sequence[Array]:
    """Mutant: the outputs come from the last to the first."""
    return [*right[::-1]]


def exchanged_outputs(one: int, other: int, node: Node, right: Sequence[Array]) -> Sequence[Array]:
    """Mutant: two outputs are exchanged, by their places in the schema, if both are asked for."""
    places = [*(range(len(right)) if node.outputs is None else node.outputs)]
    if one not in places or other not in places:
        return right
    outputs = [*right]
    here, there = places.index(one), places.index(other)
    outputs[here], outputs[there] = right[there], right[here]
    return outputs
