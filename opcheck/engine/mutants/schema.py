"""Mutants of a schema: attributes, inputs, versions and types misread."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, combinations, product
from operator import methodcaller
from typing import Any, TypeAlias

from opcheck import dtypes, opset
from opcheck.engine.mutants import attributes, tensors, values
from opcheck.engine.mutants.attributes import ONE_TYPE
from opcheck.engine.mutants.elements import whole_vectors
from opcheck.engine.mutants.mutant import Accepting, Mutant, reading
from opcheck.engine.mutants.named_axes import NamedAxes, names_axes
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator, without_readings
from opcheck.model import Array, OpVersion, Typed
from opcheck.opset import Schema

#: The inputs of a node.
Inputs: TypeAlias = tuple[Array | None, ...]
#: The families of functions of each element, whose kernels are loops over whole vectors.
ELEMENTWISE = frozenset(
    """
    activations arithmetic bit_cast clip functions gelu is_nan_is_inf logic mod p_relu pow swi_glu
    unary
    """.split()
)


def mutants(op: OpVersion, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants that a version's schema and its neighbors give.

    known: the operator. Raises KeyError for a version that does not exist.
    """
    versions = opset.versions(op.domain, op.name)
    schema = versions[op.since]
    yield from _of_versions(op, known, versions)
    for attribute in schema.attributes.values():
        if attribute.name not in known.ignores:
            own = chain(
                attributes.of_any(attribute, versions.values()), attributes.of_type(attribute)
            )
            # A number or text that is the output is of its type alone.
            held = opset.held(attribute) if schema.by_value else None
            yield from (replace(one, only=(held.name,)) if held else one for one in own)
            if attributes.is_guard(attribute):
                yield from attributes.of_guard(attribute, known.formulas[op.since])
            if names_axes(attribute):
                yield from NamedAxes(attribute).mutants()
    yield from _of_form(schema)
    yield from _of_inputs(schema)
    slots = (*schema.inputs, *schema.outputs)
    of_4_bits = any("tensor(int4)" in slot.types for slot in slots)
    if of_4_bits and known.module.endswith(".quantization"):
        text = "of two elements of 4 bits in a byte the second came first"
        yield Mutant("nibbles_exchanged", text, values.nibbles_exchanged, any_type=True)
    if known.module.rpartition(".")[2] in ELEMENTWISE:
        yield from _of_tails(is_like_the_input=slots[0].constraint == slots[-1].constraint)


def _of_tails(*, is_like_the_input: bool) -> Iterator[Mutant]:
    """Yield mutants of a loop over vectors that leaves the rest of a tensor as it was.

    The rest is zero, or, where an output is of the input's type, the input.
    """
    tails = ("left zero", "the input") if is_like_the_input else ("left zero",)
    for width, tail in product((4, 8, 16), tails):
        text = f"what follows the last whole vector of {width} in the tensor was {tail}"
        end = partial(whole_vectors, width)
        answer = partial(tensors.computed_up_to, end, tail == "the input")
        yield Mutant(f"tail_of_{width}_{tail.replace(' ', '_')}", text, answer, any_type=True)


def _of_form(schema: Schema) -> Iterator[Mutant]:
    """Yield mutants that read attributes of an undeclared type, or undeclared attributes."""
    declared = {name: attribute.type for name, attribute in schema.attributes.items()}
    has_optional = any(not attribute.required for attribute in schema.attributes.values())
    for name, text, read, is_possible in (
        (
            "attributes_converted",
            "attributes of another type were converted to the declared one",
            converted,
            not {"int", "float", "ints"}.isdisjoint(declared.values()),
        ),
        (
            "attributes_of_another_type_ignored",
            "attributes of another type than the declared one were ignored",
            ignored_if_declared,
            has_optional,
        ),
        (
            "unknown_attributes_ignored",
            "attributes that the version does not declare were ignored",
            ignored_unless_declared,
            True,
        ),
    ):

        def answer(node: Node, read: Any = read) -> Sequence[Any]:
            attrs = dict(node.attrs)
            for stated, value in node.attrs.items():
                if isinstance(value, Typed):
                    attrs[stated] = read(declared.get(stated), value)
            return node.with_attrs(**attrs).right

        if is_possible:
            yield Mutant(name, text, answer, only=ONE_TYPE, of_form=True)


def ignored_if_declared(declared: str | None, value: Typed) -> Typed | None:
    """Mutant: an attribute of another type than declared is missing."""
    return None if declared else value


def ignored_unless_declared(declared: str | None, value: Typed) -> Typed | None:
    """Mutant: an attribute that is not declared is missing."""
    return value if declared else None


def converted(declared: str | None, value: Typed) -> Any:
    """Mutant: the value in the declared type, as it is if that cannot be."""
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


def _of_versions(op: OpVersion, known: Operator, every: Mapping[int, Schema]) -> Iterator[Mutant]:
    """Yield mutants that compute another version, or take what came with a later one.

    every: the schemas of all versions. Versions of one formula are one mutant.
    """
    # Versions that share a formula, or whose formulas differ in readings alone, are one mutant.
    formulas = {since: without_readings(formula) for since, formula in known.formulas.items()}
    distinct = {formula: since for since, formula in reversed(formulas.items())}
    for formula, since in reversed(distinct.items()):
        if formula is not formulas[op.since]:
            text = f"version {since} was computed, whatever the model's opset"
            yield reading(f"version_{since}_always", text, methodcaller("at", since))
    later = [schema for since, schema in every.items() if since > op.since]
    own = every[op.since]
    if any(schema.attributes.keys() - own.attributes.keys() for schema in later):
        text = "attributes of a later version were taken already"
        answer = partial(_at_first_that_declares, later)
        yield Mutant("later_attributes_accepted", text, Accepting(answer))
    if own.inputs:
        yield from _of_other_types(own, later)


def _at_first_that_declares(later: Sequence[Schema], node: Node) -> Sequence[Any]:
    """Return the answer of the first of these versions that declares a node's attributes.

    Without one it is that of the node itself. Raises InvalidNode if the version forbids the node.
    """
    for schema in later:
        if node.attrs.keys() <= schema.attributes.keys():
            return node.at(schema.op.since).right
    return node.right


#: Types in whose place others are computed, the likeliest first.
_BY_WAY_OF = ("float32", "int32", "uint32", "bool", "int64", "int8")


def _of_other_types(own: Schema, later: Sequence[Schema]) -> Iterator[Mutant]:
    """Yield mutants that accept element types that the version does not have.

    None where it has no type by way of which others could be computed.
    """
    declared = own.inputs[own.lead].types
    of_later = frozenset().union(*(schema.inputs[schema.lead].types for schema in later))
    new = (of_later - declared) & {dtype.text for dtype in dtypes.DTYPES.values()}
    via = next((name for name in _BY_WAY_OF if dtypes.DTYPES[name].text in declared), "")
    if not via:
        return
    for name, words, accepted in (
        ("later_types", "a type that came with a later version was", new),
        ("integers", "integers and booleans were", texts_of("int", "bool") - declared - new),
        ("other_floats", "other floating types were", texts_of("float") - declared - new),
    ):
        if accepted:
            text = f"{words} taken, and computed by way of {via}"
            yield Mutant(f"{name}_accepted", text, Accepting(partial(by_way_of, via, accepted)))


def texts_of(*kinds: str) -> frozenset[str]:
    """Return the types of tensors of some kinds of `DType`, as a schema writes them."""
    return frozenset(dtype.text for dtype in dtypes.BASIC.values() if dtype.kind in kinds)


def by_way_of(via: str, accepted: Iterable[str], node: Node) -> Sequence[Any]:
    """Mutant: tensors of an accepted type are computed in the type `via`, and cast back."""
    lead = node.lead
    dtype = None if lead is None else dtypes.of(lead)
    if lead is None or dtype is None or dtype.text not in accepted:
        return node.right
    own = lead.dtype

    def cast(x: Array) -> Array:
        return x.astype(via) if x.dtype == own else x

    outputs = node.with_inputs(cast).right
    return [out.astype(own) if out.dtype == via else out for out in outputs]


def _of_inputs(schema: Schema) -> Iterator[Mutant]:
    """Yield mutants that take inputs for others of the same type, or ignore them."""
    fixed = [(place, p) for place, p in enumerate(schema.inputs) if p.option != "variadic"]
    orders: list[tuple[str, str, Callable[[Inputs], Inputs]]] = []
    for place, p in fixed:
        if p.option == "optional":
            name = f"input_{p.name}_ignored"
            text = f"the input {p.name} was ignored"
            orders.append((name, text, partial(without_input, place)))
    for (place, p), (other, q) in combinations(fixed, 2):
        if p.types & q.types:
            name = f"inputs_{p.name}_and_{q.name}_exchanged"
            text = f"the inputs {p.name} and {q.name} were exchanged"
            orders.append((name, text, partial(exchanged, place, other)))
    start = len(fixed)
    if start < len(schema.inputs):
        text = "inputs were taken from the last to the first"
        orders.append(("inputs_reversed", text, partial(reversed_from, start)))
        text = "of several inputs the last was ignored"
        orders.append(("last_input_ignored", text, partial(without_the_last, start)))
    for name, text, order in orders:
        yield reading(name, text, partial(with_inputs_in, order))


def with_inputs_in(order: Callable[[Inputs], Inputs], node: Node) -> Node:
    """Return the node with its inputs in the order that `order` makes of them."""
    return replace(node, inputs=order(node.inputs))


def without_input(place: int, inputs: Inputs) -> Inputs:
    """Mutant: the input at `place` is missing."""
    return (*inputs[:place], None, *inputs[place + 1 :])[: len(inputs)]


def exchanged(place: int, other: int, inputs: Inputs) -> Inputs:
    """Mutant: two inputs are exchanged, if both are there."""
    if len(inputs) <= other or inputs[place] is None or inputs[other] is None:
        return inputs
    places = {place: other, other: place}
    return tuple(inputs[places.get(n, n)] for n in range(len(inputs)))


def reversed_from(start: int, inputs: Inputs) -> Inputs:
    """Mutant: variadic inputs are in the opposite order."""
    return (*inputs[:start], *inputs[start:][::-1])


def without_the_last(start: int, inputs: Inputs) -> Inputs:
    """Mutant: the last of several variadic inputs is missing."""
    return inputs[: max(start + 1, len(inputs) - 1)]
