"""Mutants that are wrong only where a condition holds, as where a kernel chooses another path.

Kernels choose their path by attributes, sizes, types and values. A mutant for each such condition,
and for each two that can hold at once, survives until a case visits the path and checks a value.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, starmap
from math import ldexp, prod
from typing import Any

import numpy as np

from opcheck import dtypes, opset
from opcheck.engine.evaluate import is_real
from opcheck.engine.mutants.arrays import another
from opcheck.engine.mutants.axes import CLAMPED, INDEXED, NamedAxes, names_axes
from opcheck.engine.mutants.mutant import Accepting, AnswerFunction, Mutant, faulty_where
from opcheck.engine.mutants.schema import says_something
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import OpVersion
from opcheck.opset import Attribute, Schema

#: More elements than the vectors and blocks of any kernel hold.
_MANY = 128
#: Powers of two from which elements reach to the next.
_LOWS = [ldexp(sign, exponent) for exponent in range(-6, 10) for sign in (1, -1)]


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
    """

    name: str
    text: str
    holds: Callable[[Node], Any]
    family: str = ""
    primitive: str = ""
    of_index: bool = False


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
    for condition in single:
        if condition.of_index:
            clamped = Accepting(faulty_where(condition.holds, INDEXED, CLAMPED))
            yield _mutant((condition,), "index_clamped", "an index out of range was clamped",
                          clamped, INDEXED)  # fmt: skip


def _mutant(
    path: Sequence[Condition], does: str, text: str, answer: AnswerFunction, primitive: str
) -> Mutant:
    names = [condition.name for condition in path]
    text = f"{text} only where {' and '.join(condition.text for condition in path)}"
    return Mutant(f"{does}_where_{'_and_'.join(names)}", text, answer, primitive, any_type=True,
                  within=tuple(f"{does}_where_{name}" for name in names))  # fmt: skip


def _wrong(path: Sequence[Condition], node: Node) -> Sequence[Any]:
    """Other outputs on the path; of conditions on elements only those elements, if they fit."""
    right, where = node.right, [condition.holds(node) for condition in path]
    if not all(map(np.any, where)):
        return right
    return [
        np.where(where[0], another(out), out) if out.shape == np.shape(where[0]) else another(out)
        for out in right
    ]


def _conditions(schema: Schema, operator: Operator) -> Iterator[Condition]:
    images = "kernel_shape" in schema.attributes
    groups = next((name for name in ("group", "num_groups") if name in schema.attributes), "")
    yield Condition("many_elements", f"a tensor had {_MANY} elements or more",
                    lambda node: any(x.size >= _MANY for x in (*node.tensors, *node.right)),
                    "size")  # fmt: skip
    for rank in range(3 if images else 2, 6):
        yield Condition(f"rank_{rank}", f"the rank was {rank}",
                        partial(_is, rank, lambda node: node.rank))  # fmt: skip
    for attribute in schema.attributes.values():
        if attribute.name not in operator.ignores:
            yield from _of_attribute(attribute)
    if images:
        yield Condition("images", "there were two spatial axes or more",
                        lambda node: node.rank > 3, "rank")  # fmt: skip
        for size, word in ((1, "ones"), (3, "threes")):
            yield Condition(f"kernel_of_{word}", f"the kernel was {size} along every axis",
                            partial(_is, {size}, lambda node: {*(
                                node.attrs.get("kernel_shape") or node.given[-1].shape[2:])}),
                            "kernel")  # fmt: skip
    if groups:
        yield from _of_channels(groups, filtered=images)
    for place, parameter in enumerate(schema.inputs):
        unlike_lead = parameter.constraint != schema.inputs[schema.lead].constraint
        of_index = unlike_lead and "tensor(int64)" in parameter.types
        yield from _of_input(place, parameter.name, parameter.option, of_index)
    outputs = len(schema.outputs)
    least = max(1, sum(one.option == "single" for one in schema.outputs))
    for count in range(least, outputs + 1) if outputs > least else ():
        yield Condition(f"{count}_outputs", f"{count} of the outputs were asked for", partial(
            _is, count, lambda node: node.outputs or outputs), "outputs")  # fmt: skip
    for dtype in dtypes.DTYPES.values() if opset.naming(schema) else ():
        if dtype.text in schema.outputs[0].types:
            yield Condition(f"output_of_{dtype.name}", f"the output was of {dtype.name}",
                            partial(_is, dtype.numpy, lambda n: n.right[0].dtype))  # fmt: skip
    for low in () if operator.exact else _LOWS:
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
            ("not_last", "was not the last",
             lambda node: max(axes(node), default=node.rank) < node.rank - 1),
            ("long", f"had {_MANY} entries or more",
             lambda node: prod(node.lead.shape[axis] for axis in axes(node)) >= _MANY),
        ):  # fmt: skip
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


def _of_channels(by: str, *, filtered: bool) -> Iterator[Condition]:
    """Conditions on N×C×D1×…×Dn with channels in groups, and on filters M×C/group×k1×…×kn."""
    yield from starmap(Condition, (
        ("channels_of_8", "the channels were a multiple of 8",
         lambda node: node.given[0].shape[1] % 8 == 0, "channels"),
        ("image_of_16", "the image's size was a multiple of 16",
         lambda node: prod(node.given[0].shape[2:]) % 16 == 0, "image"),
        ("group_of_4", "each group had a multiple of 4 channels",
         lambda node: node.given[0].shape[1] // node.attrs.get(by, 1) % 4 == 0, "of_group"),
        ("group_of_1", "each group had one channel",
         lambda node: node.given[0].shape[1] == node.attrs.get(by, 1) > 1, "of_group"),
        ("filters_of_8", "the filters were a multiple of 8",
         lambda node: node.given[1].shape[0] % 8 == 0, "filters") if filtered else
        (by, f"{by} was above 1", lambda node: node.attrs.get(by, 1) > 1, by),
    ))  # fmt: skip


def _of_input(place: int, name: str, option: str, of_index: bool) -> Iterator[Condition]:
    """Conditions on one input, which holds indices or not."""
    if option == "variadic":
        yield Condition("many_inputs", "there were more than 16 inputs",
                        lambda node: len(node.given) > 16, "inputs")  # fmt: skip
        yield Condition("empty_input", "an input between others was empty", lambda node: not all(
            x.size for x in node.given[1:-1]), "empty")  # fmt: skip
        return
    if option == "optional":
        yield Condition(name, f"{name} was given", partial(_has, place, lambda x, node: True), name)
    one = partial(_has, place, lambda x, node: x.size == 1 and node.right[0].size >= _MANY)
    text = f"{name} was one element for {_MANY} or more"
    yield Condition(f"one_{name}", text, one, f"one_{name}", "broadcast")
    for word, text, family, holds in _OF_INDICES if of_index else ():
        yield Condition(f"{word}_{name}", f"{name} had {text}", partial(_has, place, holds),
                        family, INDEXED, of_index=word != "negative")  # fmt: skip


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
