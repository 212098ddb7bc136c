"""Mutants of a schema: attributes, inputs, versions and types misread; and what a condition guards.

Kernels choose their path by attributes, sizes, types and values. A mutant for each such condition,
and for each two that can hold at once, survives until a case visits the path and checks a value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, wraps
from itertools import chain, combinations, product, repeat, starmap
from math import isfinite, ldexp, prod, trunc
from operator import methodcaller
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, opset
from opcheck.engine.evaluate import is_real
from opcheck.engine.mutants import indices, mutant, tensors
from opcheck.engine.mutants.elements import DOUBLE
from opcheck.engine.mutants.mutant import Accepting, AnswerFunction, Mutant, reading, refusing
from opcheck.engine.mutants.named_axes import NamedAxes, names_axes
from opcheck.engine.node import Node
from opcheck.engine.operators import Formula, Operator, without_readings
from opcheck.errors import InvalidNode
from opcheck.model import Array, OpVersion, Typed
from opcheck.opset import Attribute, Parameter, Schema

#: The inputs of a node.
Inputs: TypeAlias = tuple[Array | None, ...]
#: How a node is read does not depend on the type of its tensors, so that cases of one type decide.
_ONE_TYPE = ("float32",)
#: The families of functions of each element, whose kernels are loops over whole vectors.
ELEMENTWISE = frozenset(
    """
    activations arithmetic bit_cast clip functions gelu is_nan_is_inf logic mod p_relu pow swi_glu
    unary
    """.split()
)
#: More elements than the vectors and blocks of any kernel hold.
_MANY = 128
#: Powers of two from which elements reach to the next.
_LOWS = [ldexp(sign, exponent) for exponent in range(-6, 10) for sign in (1, -1)]


def mutants(op: OpVersion, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants that a version's schema and its neighbors give."""
    versions = opset.versions(op.domain, op.name)
    schema = versions[op.since]
    yield from _of_versions(op, known, versions)
    for attribute in schema.attributes.values():
        if attribute.name not in known.ignores:
            made = chain(_of_any(attribute, versions.values()), _of_type(attribute))
            # A number or text that is the output is of its type alone.
            held = opset.held(attribute) if schema.by_value else None
            yield from (replace(one, only=(held.name,)) if held else one for one in made)
            # So small a default guards a division, or the like.
            if isinstance(attribute.default, float) and 0 < attribute.default < 0.01:
                yield from _of_guard(attribute, known.formulas[op.since])
            if names_axes(attribute):
                yield from NamedAxes(attribute).mutants()
    yield from _of_form(schema)
    yield from _of_inputs(schema)
    slots = (*schema.inputs, *schema.outputs)
    of_4_bits = any("tensor(int4)" in slot.types for slot in slots)
    if of_4_bits and known.module.endswith(".quantization"):
        text = "of two elements of 4 bits in a byte the second came first"
        yield Mutant("nibbles_exchanged", text, tensors.nibbles_exchanged, any_type=True)
    if known.module.rpartition(".")[2] in ELEMENTWISE:
        yield from _of_tails(is_like_the_input=slots[0].constraint == slots[-1].constraint)


def _of_tails(*, is_like_the_input: bool) -> Iterator[Mutant]:
    """Yield mutants of a loop over vectors that leaves the rest of a tensor as it was.

    The rest is zero, or, where an output is of the input's type, the input.
    """
    tails = ("left zero", "the input") if is_like_the_input else ("left zero",)
    for width, tail in product((4, 8, 16), tails):
        text = f"what follows the last whole vector of {width} in the tensor was {tail}"
        answer = partial(tensors.tail_left, width, tail == "the input")
        yield Mutant(f"tail_of_{width}_{tail.replace(' ', '_')}", text, answer, any_type=True)


def _one_of(name: str, readings: Callable[[Any, Node], Iterable[Any]]) -> AnswerFunction:
    """The right answer to a node with a stated value misread: by the first reading it can have."""

    def answer(node: Node) -> Sequence[Any]:
        if name not in node.attrs:
            return node.right
        for value in readings(node.attrs[name], node):  # the likeliest first
            with suppress(InvalidNode):
                return node.with_attrs(**{name: value}).right
        raise InvalidNode("not supported")

    return answer


def _read(name: str, change: Callable[[Any], Any]) -> AnswerFunction:
    return _one_of(name, lambda value, node: [change(value)])


def _repaired(name: str, readings: Callable[[Any, Node], Iterable[Any]]) -> AnswerFunction:
    return Accepting(_one_of(name, readings))


def says_something(attribute: Attribute, node: Node) -> bool:
    """Return True for a node whose attribute departs from its default.

    For a list without a default, 0 or 1 along each axis is no departure; for Scan's, 0.
    """
    scans = attribute.name.startswith("scan_") or attribute.name == "directions"
    neutral = {0} if scans else {0, 1} if attribute.default is None else {attribute.default}
    value = node.attrs.get(attribute.name)
    values = value if isinstance(value, tuple) else (value,)
    tensor = attribute.type in ("tensor", "tensors", "other")
    return value is not None and (tensor or not {*values} <= neutral)


def _of_any(attribute: Attribute, schemas: Iterable[Schema]) -> Iterator[Mutant]:
    name, default = attribute.name, attribute.default
    if attribute.required:
        return
    yield Mutant(
        f"{name}_ignored",
        f"{name} was ignored, and taken for its default",
        _read(name, lambda value: None),
    )
    yield refusing(
        f"refuses_default_{name}",
        f"a node without {name} was not supported",
        lambda node: name not in node.attrs,
    )
    yield refusing(
        f"refuses_{name}",
        f"{name} was not supported, but for its default",
        partial(says_something, attribute),
    )
    others = {s.attributes[name].default for s in schemas if name in s.attributes}
    of_another = ", the default of another version"
    misread = dict.fromkeys(sorted(others - {default, None}, key=str), of_another)
    misread |= dict.fromkeys([-0.5] * (name == "cubic_coeff_a"), ", the default of other libraries")
    if isinstance(default, int | float):
        near = {default - 1, default + 1} if default else {default + 1}
        misread |= dict.fromkeys(near - misread.keys(), "")
    for value, which in misread.items():
        called = f"default_{name}_{value}".replace("-", "minus_")
        yield reading(
            called,
            f"a missing {name} was taken for {value}{which}",
            partial(lambda value, node: node.with_attrs(**{name: value, **node.attrs}), value),
        )


def _of_guard(attribute: Attribute, formula: Formula) -> Iterator[Mutant]:
    name = attribute.name
    for called, text, read, only in (
        ("left_out", "was left out", lambda value: 0.0, None),
        # The decimal number that the text or the case has, and that float32 rounds.
        (
            "as_double",
            "was a double, where attributes and their defaults are float32",
            lambda value: float(str(np.float32(value))),
            DOUBLE,
        ),
        ("twice", "was counted twice", lambda value: 2 * value, None),
    ):

        @wraps(formula)
        def misread(*inputs: Any, read: Any = read, **attrs: Any) -> Any:
            return formula(*inputs, **{**attrs, name: read(attrs[name])})

        answer = partial(mutant.evaluated, misread, None)
        yield Mutant(f"{name}_{called}", f"{name} {text}", answer, only=only)


def _of_type(attribute: Attribute) -> Iterator[Mutant]:
    about = [*_BY_TYPE.get(attribute.type, ())]
    if attribute.default:
        about += _BY_TYPE.get(f"{attribute.type} with a default", ())
    if not names_axes(attribute):
        about += _BY_TYPE.get(f"{attribute.type} for each axis", ())
    for name, text, make, change, *only in about:
        answer = make(attribute.name, change)
        yield Mutant(name.format(attribute.name), text.format(attribute.name), answer, "", *only)


def _in_32_bits(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _with_entry(place: int, others: Callable[..., Any], values: Any, node: Node) -> Sequence[Any]:
    """Lists of three or more with other entries at a place, from the list and that place."""
    if len(values) < 3 or not -len(values) <= place < len(values):
        return [values]
    at = place % len(values)
    return [(*values[:at], other, *values[at + 1 :]) for other in others(values, at)]


_IS_0_OR_1 = "invalid_{}_is_0_or_1"
_0_OR_1 = "an invalid {} was taken for 0, or for 1 if that is invalid too"
#: By an attribute's type, name and text, where {} is its name, and how the answer is made of what.
_BY_TYPE: Mapping[str, tuple[mutant.MutantRow, ...]] = {
    "int": (
        ("{}_one_larger", "a stated {} was taken for one larger", _read, lambda value: value + 1),
        ("{}_one_smaller", "a stated {} was taken for one smaller", _read, lambda value: value - 1),
        ("{}_in_32_bits", "{} was cut down to 32 bits", _read, _in_32_bits, _ONE_TYPE),
        (_IS_0_OR_1, _0_OR_1, _repaired, lambda value, node: (0, 1)),
    ),
    "int with a default": (
        (
            "{}_0_is_the_default",
            "{} of 0 was taken for a missing one",
            _read,
            lambda value: value or None,
            _ONE_TYPE,
        ),
    ),
    "float": (
        *(
            (
                "{}_" + word.replace(" ", "_"),
                f"{{}} was {word} to a whole number, but not to 0",
                _read,
                partial(
                    lambda change, value: float(change(value) or 1) if isfinite(value) else value,
                    change,
                ),
            )
            for word, change in (("cut off", trunc), ("rounded", round))
        ),
        (
            "refuses_fractions_of_{}",
            "a fractional {} was not supported",
            _one_of,
            lambda value, node: [] if value % 1 else [value],
        ),
        (_IS_0_OR_1, _0_OR_1, _repaired, lambda value, node: (0.0, 1.0)),
    ),
    "string": (
        (
            "{}_in_any_case",
            "{} was read in lower case too",
            _repaired,
            lambda value, node: (value.upper(), value.lower()),
        ),
    ),
    "string with a default": (
        (
            "unknown_{}_is_the_default",
            "an unknown {} was taken for the default",
            _repaired,
            lambda value, node: (None,),
        ),
    ),
    # Lists have an entry for each axis, or name axes; of the latter each stands there once.
    "ints": (
        ("{}_reversed", "{} was read from the last entry to the first", _read, lambda v: v[::-1]),
        (
            "{}_one_larger",
            "each of {} was taken for one larger",
            _read,
            lambda v: tuple(i + 1 for i in v),
        ),
        (
            "{}_in_32_bits",
            "{} were cut down to 32 bits",
            _read,
            lambda v: tuple(map(_in_32_bits, v)),
            _ONE_TYPE,
        ),
        (
            "{}_of_any_length",
            "what {} had too much was cut off, and what it lacked filled up with 0 or 1",
            _repaired,
            lambda v, node: (
                (*v, *repeat(fill, n))[:n] for n in range(1, 2 * node.rank + 1) for fill in (0, 1)
            ),
        ),
    ),
    "ints for each axis": (
        ("{}_first_for_all", "the first of {} served for all", _read, lambda v: v[:1] * len(v)),
        *(
            (
                f"{{}}_entry_{i}_{word}".replace("-", "minus_"),
                f"of three or more {{}} entry {i} was taken for {text}",
                _one_of,
                partial(_with_entry, i, others),
            )
            for i in (0, 1, 2, 3, -1, -2, -3, -4)
            for word, text, others in (
                ("as_next", "the next", lambda v, at: [v[(at + 1) % len(v)]]),
                ("as_default", "0, or 1 if that is illegal", lambda v, at: [0, 1]),
            )
        ),
        (
            "{}_repeated",
            "too few {} were accepted, and served again for the other axes",
            _repaired,
            lambda v, node: ((*v * n,)[:n] for n in range(len(v) + 1, 2 * node.rank + 1) if v),
        ),
        (
            "{}_clamped",
            "{} that are too small were taken for the least that is legal",
            _repaired,
            lambda v, node: (tuple(max(least, i) for i in v) for least in (0, 1)),
        ),
    ),
}


def _of_form(schema: Schema) -> Iterator[Mutant]:
    """Yield mutants that read attributes of an undeclared type, or undeclared attributes."""
    declared = {name: attribute.type for name, attribute in schema.attributes.items()}
    optional = [one for one in schema.attributes.values() if not one.required]
    for name, text, read, is_possible in (
        (
            "attributes_converted",
            "attributes of another type were converted to the declared one",
            _converted,
            not {"int", "float", "ints"}.isdisjoint(declared.values()),
        ),
        (
            "attributes_of_another_type_ignored",
            "attributes of another type than the declared one were ignored",
            lambda kind, value: None if kind else value,
            bool(optional),
        ),
        (
            "unknown_attributes_ignored",
            "attributes that the version does not declare were ignored",
            lambda kind, value: value if kind else None,
            True,
        ),
    ):

        def answer(node: Node, read: Any = read) -> Sequence[Any]:
            stated = node.attrs.items()
            attrs = {k: read(declared.get(k), v) if isinstance(v, Typed) else v for k, v in stated}
            return node.with_attrs(**attrs).right

        if is_possible:
            yield Mutant(name, text, answer, only=_ONE_TYPE, of_form=True)


def _converted(declared: str | None, value: Typed) -> Any:
    """The value in the declared type, as it is if that cannot be."""
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
    """Yield mutants that compute another version, or take what came with a later one."""
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
    """Return the answer of the first of these versions that declares a node's attributes."""
    for schema in later:
        if node.attrs.keys() <= schema.attributes.keys():
            return node.at(schema.op.since).right
    return node.right


#: Types in whose place others are computed, the likeliest first.
_BY_WAY_OF = ("float32", "int32", "uint32", "bool", "int64", "int8")


def _of_other_types(own: Schema, later: Sequence[Schema]) -> Iterator[Mutant]:
    """Yield mutants that accept element types that the version does not have."""
    declared = own.inputs[own.lead].types
    of_later = frozenset().union(*(schema.inputs[schema.lead].types for schema in later))
    new = (of_later - declared) & {dtype.text for dtype in dtypes.DTYPES.values()}
    via = next((name for name in _BY_WAY_OF if dtypes.DTYPES[name].text in declared), "")
    if not via:
        return
    for name, words, accepted in (
        ("later_types", "a type that came with a later version was", new),
        ("integers", "integers and booleans were", _texts("int", "bool") - declared - new),
        ("other_floats", "other floating types were", _texts("float") - declared - new),
    ):
        if accepted:
            text = f"{words} taken, and computed by way of {via}"
            yield Mutant(f"{name}_accepted", text, Accepting(partial(_by_way_of, via, accepted)))


def _texts(*kinds: str) -> frozenset[str]:
    return frozenset(d.text for d in dtypes.BASIC.values() if d.kind in kinds)


def _by_way_of(via: str, accepted: Iterable[str], node: Node) -> Sequence[Any]:
    lead = node.lead
    if lead is None or (known := dtypes.of(lead)) is None or known.text not in accepted:
        return node.right
    cast = node.with_inputs(lambda x: x.astype(via) if x.dtype == lead.dtype else x)
    return [out.astype(lead.dtype) if out.dtype == via else out for out in cast.right]


def _of_inputs(schema: Schema) -> Iterator[Mutant]:
    fixed = [(place, p) for place, p in enumerate(schema.inputs) if p.option != "variadic"]
    orders: list[tuple[str, str, Callable[[Inputs], Inputs]]] = [
        (
            f"input_{p.name}_ignored",
            f"the input {p.name} was ignored",
            partial(lambda n, inputs: (*inputs[:n], None, *inputs[n + 1 :])[: len(inputs)], place),
        )
        for place, p in fixed
        if p.option == "optional"
    ]
    orders += [
        (
            f"inputs_{p.name}_and_{q.name}_exchanged",
            f"the inputs {p.name} and {q.name} were exchanged",
            partial(_exchanged, place, other),
        )
        for (place, p), (other, q) in combinations(fixed, 2)
        if p.types & q.types
    ]
    if (start := len(fixed)) < len(schema.inputs):
        orders += [
            (
                "inputs_reversed",
                "inputs were taken from the last to the first",
                lambda inputs: (*inputs[:start], *inputs[start:][::-1]),
            ),
            (
                "last_input_ignored",
                "of several inputs the last was ignored",
                lambda inputs: inputs[: max(start + 1, len(inputs) - 1)],
            ),
        ]
    for name, text, order in orders:
        fed = partial(lambda order, node: replace(node, inputs=order(node.inputs)), order)
        yield reading(name, text, fed)


def _exchanged(place: int, other: int, inputs: Inputs) -> Inputs:
    both = {place: other, other: place}
    if len(inputs) <= other or inputs[place] is None or inputs[other] is None:
        return inputs
    return tuple(inputs[both.get(n, n)] for n in range(len(inputs)))


@dataclass(frozen=True)
class Condition:
    """A condition on legal nodes by which kernels choose their path.

    Attributes:
        name: In snake_case; fits after "where_".
        text: A clause in the past tense that fits after "where".
        holds: Return True for a node on that path, or for each of its elements.
        family: Conditions of one family are not paired with each other, those of "" with none.
        primitive: The function that a formula must call for the condition to concern it.
        of_index: Indices out of range may be met on this path.
        former_name: The name that it had before, if another.
    """

    name: str
    text: str
    holds: Callable[[Node], Any]
    family: str = ""
    primitive: str = ""
    of_index: bool = False
    former_name: str = ""


def guards(op: OpVersion, operator: Operator) -> Iterator[Mutant]:
    """Yield the guarded mutants of an operator version."""
    schema = opset.versions(op.domain, op.name)[op.since]
    single = [*_conditions(schema, operator)]
    paths = [(condition,) for condition in single] + [
        (one, other)
        for one, other in combinations(single, 2)
        if len({"", one.family, other.family}) == 3
        # Of two inputs one has as many elements as the output.
        and not (len(schema.inputs) == 2 and "broadcast" == one.primitive == other.primitive)
        and (not one.primitive or other.primitive in ("", one.primitive))
    ]
    for path in paths:
        primitive = max(condition.primitive for condition in path)
        yield _mutant(path, "wrong", "the output was wrong", partial(_wrong, path), primitive)
    for condition in (it for it in single if it.of_index):
        clamped = Accepting(mutant.faulty_where(condition.holds, indices.INDEXED, indices.CLAMPED))
        yield _mutant(
            (condition,),
            "index_clamped",
            "an index out of range was clamped",
            clamped,
            indices.INDEXED,
        )


def _mutant(
    path: Sequence[Condition], does: str, text: str, answer: AnswerFunction, primitive: str
) -> Mutant:
    names = [condition.name for condition in path]
    former_names = [condition.former_name or condition.name for condition in path]
    text = f"{text} only where {' and '.join(condition.text for condition in path)}"
    aliases: tuple[str, ...] = ()
    if former_names != names:
        aliases = (f"{does}_where_{'_and_'.join(former_names)}",)
    return Mutant(
        f"{does}_where_{'_and_'.join(names)}",
        text,
        answer,
        primitive,
        any_type=True,
        within=tuple(f"{does}_where_{name}" for name in dict.fromkeys([*names, *former_names])),
        aliases=aliases,
    )


def _wrong(path: Sequence[Condition], node: Node) -> Sequence[Any]:
    """Other outputs on the path; of conditions on elements only those elements, if they fit."""
    right, where = node.right, [condition.holds(node) for condition in path]
    if not all(map(np.any, where)):
        return right
    on, others = where[0], [(out, mutant.another(out)) for out in right]
    return [np.where(on, y, out) if out.shape == np.shape(on) else y for out, y in others]


def _conditions(schema: Schema, operator: Operator) -> Iterator[Condition]:
    """Yield the conditions by which kernels of an operator may choose their path."""
    has_kernel = "kernel_shape" in schema.attributes
    yield Condition(
        "many_elements", f"a tensor had {_MANY} elements or more", _has_many_elements, "size"
    )
    for rank in range(3 if has_kernel else 2, 6):
        yield Condition(f"rank_{rank}", f"the rank was {rank}", partial(_is, rank, _rank))
    for attribute in schema.attributes.values():
        if attribute.name not in operator.ignores:
            yield from _of_attribute(attribute)
    if has_kernel:
        yield from _of_images()
    for name in ("group", "num_groups"):
        if name in schema.attributes:
            yield from _of_channels(name, filtered=has_kernel)
            break
    yield from _of_every_input(schema)
    yield from _of_output_count(schema)
    yield from _of_output_type(schema)
    if not operator.exact and not schema.graphs:
        yield from _of_magnitudes(schema)


def _rank(node: Node) -> int:
    return node.rank


def _has_many_elements(node: Node) -> bool:
    return any(x.size >= _MANY for x in (*node.tensors, *node.right))


def _has_images(node: Node) -> bool:
    return node.rank > 3  # N×C×D1×D2


def _kernel_sizes(node: Node) -> set[int]:
    """Return the different sizes of a kernel along its axes."""
    kernel: Any = node.attrs.get("kernel_shape") or _filters(node).shape[2:]
    return {*kernel}


def _of_images() -> Iterator[Condition]:
    """Yield conditions on the windows over a tensor N×C×D1×…×Dn."""
    yield Condition("images", "there were two spatial axes or more", _has_images, "rank")
    for size, word in ((1, "ones"), (3, "threes")):
        text = f"the kernel was {size} along every axis"
        yield Condition(f"kernel_of_{word}", text, partial(_is, {size}, _kernel_sizes), "kernel")


def _of_every_input(schema: Schema) -> Iterator[Condition]:
    """Yield conditions on each input; of several variadic ones, on the first."""
    of_lead = schema.inputs[schema.lead].constraint if schema.inputs else ""
    for place, parameter in enumerate(schema.inputs):
        is_unlike_lead = parameter.constraint != of_lead
        is_index = is_unlike_lead and "tensor(int64)" in parameter.types
        for condition in _of_input(place, parameter, is_index):
            if condition.name in schema.attributes:
                # Split-1 has an attribute and an input of one name.
                name = f"{condition.name}_given"
                yield replace(condition, name=name, former_name=condition.name)
            else:
                yield condition
        if parameter.option == "variadic":
            return


def _output_count(every: int, node: Node) -> int:
    """Return how many outputs a node asks for, of `every` that there are."""
    return every if node.outputs is None else len(node.outputs)


def _of_output_count(schema: Schema) -> Iterator[Condition]:
    """Yield conditions on how many outputs are asked for, if that can differ."""
    every = 0 if schema.outputs[-1].listed else len(schema.outputs)
    least = max(1, sum(output.option == "single" for output in schema.outputs))
    if every <= least:
        return
    for count in range(least, every + 1):
        text = f"{count} of the outputs were asked for"
        holds = partial(_is, count, partial(_output_count, every))
        yield Condition(f"{count}_outputs", text, holds, "outputs")


def _output_type(node: Node) -> Any:
    return node.right[-1].dtype


def _of_output_type(schema: Schema) -> Iterator[Condition]:
    """Yield conditions on the type of the output, if an attribute names it."""
    if not opset.naming(schema):
        return
    for dtype in dtypes.DTYPES.values():
        if dtype.text in schema.outputs[-1].types:
            text = f"the output was of {dtype.name}"
            yield Condition(
                f"output_of_{dtype.name}", text, partial(_is, dtype.numpy, _output_type)
            )


def _of_magnitudes(schema: Schema) -> Iterator[Condition]:
    """Yield conditions on the elements of floating numbers, by powers of two."""
    if _texts("float").isdisjoint(schema.typed.types):
        return
    for low in _LOWS:
        name = f"elements_from_{low:g}_to_{2 * low:g}".replace("-", "minus_")
        text = f"elements of the input lay between {low:g} and {2 * low:g}"
        yield Condition(name, text, partial(_from, low))


def _is(value: Any, of: Callable[[Any], Any], node: Node) -> bool:
    return bool(of(node) == value)


def _from(low: float, node: Node) -> Any:
    """True for elements between `low` and twice that."""
    x = node.lead
    if x is None or not is_real(x):
        return False
    return (x / x.dtype.type(low) >= 1) & (x / x.dtype.type(2 * low) < 1)


def _of_attribute(attribute: Attribute) -> Iterator[Condition]:
    name, axes = attribute.name, NamedAxes(attribute).found
    if names_axes(attribute):
        for word, text, holds in (
            ("not_first", "was not the first", lambda node: min(axes(node), default=0) > 0),
            (
                "not_last",
                "was not the last",
                lambda node: max(axes(node), default=node.rank) < node.rank - 1,
            ),
            (
                "long",
                f"had {_MANY} entries or more",
                lambda node: prod(node.lead.shape[axis] for axis in axes(node)) >= _MANY,
            ),
        ):
            yield Condition(f"{name}_{word}", f"{name} {text}", holds, word, of_index=True)
    elif name == "auto_pad":
        for word in ("SAME", "VALID"):
            begins = partial(_is, word, lambda node: str(node.attrs.get(name)).split("_")[0])
            yield Condition(word.lower(), f"auto_pad was {word}", begins, "pads")
    elif not attribute.required:
        # Constant has one value alone.
        family = {"kernel_shape": "kernel"}.get(name, name if "value" not in name else "value")
        departs = partial(says_something, attribute)
        yield Condition(name, f"{name} was not its default", departs, family)


def _filters(node: Node) -> Array:
    """The second tensor of images, which may come after scales."""
    return [x for x in node.given if x.ndim > 2][:2][-1]


def _of_channels(by: str, *, filtered: bool) -> Iterator[Condition]:
    """Conditions on N×C×D1×…×Dn with channels in groups, and on filters M×C/group×k1×…×kn."""
    yield from starmap(
        Condition,
        (
            (
                "channels_of_8",
                "the channels were a multiple of 8",
                lambda node: node.given[0].shape[1] % 8 == 0,
                "channels",
            ),
            (
                "image_of_16",
                "the image's size was a multiple of 16",
                lambda node: prod(node.given[0].shape[2:]) % 16 == 0,
                "image",
            ),
            (
                "group_of_4",
                "each group had a multiple of 4 channels",
                lambda node: node.given[0].shape[1] // node.attrs.get(by, 1) % 4 == 0,
                "of_group",
            ),
            (
                "group_of_1",
                "each group had one channel",
                lambda node: node.given[0].shape[1] == node.attrs.get(by, 1) > 1,
                "of_group",
            ),
            (
                "filters_of_8",
                "the filters were a multiple of 8",
                lambda node: _filters(node).shape[0] % 8 == 0,
                "filters",
            )
            if filtered
            else (by, f"{by} was above 1", lambda node: node.attrs.get(by, 1) > 1, by),
        ),
    )


def _of_input(place: int, parameter: Parameter, of_index: bool) -> Iterator[Condition]:
    name, option = parameter.name, parameter.option
    if option == "variadic":
        yield Condition(
            "many_inputs",
            "there were more than 16 inputs",
            lambda node: len(node.given) > 16,
            "inputs",
        )
        yield Condition(
            "empty_input",
            "an input between others was empty",
            lambda node: not all(x.size for x in node.given[1:-1]),
            "empty",
        )
        return
    if option == "optional":
        yield Condition(name, f"{name} was given", partial(_has, place, lambda x, node: True), name)
    one = partial(_has, place, lambda x, node: x.size == 1 and node.right[-1].size >= _MANY)
    text = f"{name} was one element for {_MANY} or more"
    yield Condition(f"one_{name}", text, one, f"one_{name}", "broadcast")
    for word, text, family, holds in _OF_INDICES if of_index else ():
        if family == "type" and not {"tensor(int32)", "tensor(int64)"} <= parameter.types:
            continue
        yield Condition(
            f"{word}_{name}",
            f"{name} had {text}",
            partial(_has, place, holds),
            family,
            indices.INDEXED,
            of_index=word != "negative",
        )


_OF_INDICES: Sequence[tuple[str, str, str, Callable[[Any, Node], Any]]] = (
    ("negative", "a negative element", "sign", lambda x, node: (x < 0).any()),
    ("scalar", "no axis", "index", lambda x, node: not x.ndim),
    ("matrix", "several axes", "index", lambda x, node: x.ndim > 1),
    ("many", f"{_MANY} elements or more", "index", lambda x, node: x.size >= _MANY),
    ("int32", "type int32", "type", lambda x, node: x.dtype == np.int32),
    ("int64", "type int64", "type", lambda x, node: x.dtype == np.int64),
)


def _has(place: int, holds: Callable[[Any, Node], Any], node: Node) -> bool:
    x = node.inputs[place] if len(node.inputs) > place else None
    return x is not None and bool(holds(x, node))
