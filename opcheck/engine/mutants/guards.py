"""Mutants that are wrong only where a condition holds: on one path of kernels.

Kernels choose their path by attributes, sizes, types and values. A mutant for each such condition,
and for each two that can hold at once, survives until a case visits the path and checks a value.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import ldexp, prod
from typing import Any

import numpy as np

from opcheck import dtypes, opset
from opcheck.dtypes import is_real
from opcheck.engine.mutants import indices, mutant
from opcheck.engine.mutants.attributes import departs_from_default
from opcheck.engine.mutants.mutant import Accepting, AnswerFunction, Mutant
from opcheck.engine.mutants.named_axes import NamedAxes, names_axes
from opcheck.engine.mutants.schema import texts_of
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array, OpVersion
from opcheck.opset import Attribute, Parameter, Schema

#: More elements than the vectors and blocks of any kernel hold.
_MANY = 128
#: Powers of two from which elements reach to the next.
_LOWS = [ldexp(sign, exponent) for exponent in range(-6, 10) for sign in (1, -1)]
#: Channels and sizes that vectors divide, and more inputs than most kernels take at once.
_CHANNELS, _IMAGE, _GROUP, _INPUTS = 8, 16, 4, 16


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
    """Yield the guarded mutants of an operator version.

    They are wrong on one path, or where two hold at once; and, of paths that meet indices, clamp an
    index out of range. Raises KeyError for a version that does not exist.
    """
    schema = opset.versions(op.domain, op.name)[op.since]
    single = [*_conditions(schema, operator)]
    pairs = [pair for pair in combinations(single, 2) if _can_hold_at_once(schema, *pair)]
    for path in [*((condition,) for condition in single), *pairs]:
        primitive = max(condition.primitive for condition in path)
        yield _mutant(path, "wrong", "the output was wrong", partial(_wrong, path), primitive)
    for condition in single:
        if not condition.of_index:
            continue
        clamped = Accepting(mutant.faulty_where(condition.holds, indices.INDEXED, indices.CLAMPED))
        yield _mutant(
            (condition,),
            "index_clamped",
            "an index out of range was clamped",
            clamped,
            indices.INDEXED,
        )


def _can_hold_at_once(schema: Schema, one: Condition, other: Condition) -> bool:
    """Return True for conditions of two families that some formula's nodes meet together.

    Conditions of the family "" are never paired.
    """
    if "" in (one.family, other.family) or one.family == other.family:
        return False
    # Of two inputs one has as many elements as the output.
    if len(schema.inputs) == 2 and "broadcast" == one.primitive == other.primitive:
        return False
    return not one.primitive or other.primitive in ("", one.primitive)


def _mutant(
    path: Sequence[Condition], does: str, text: str, answer: AnswerFunction, primitive: str
) -> Mutant:
    """Return a mutant that does something on a path; those on each of its conditions imply it."""
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
    """Return other outputs on the path; of conditions on elements only those elements, if they fit.

    A node that does not meet every condition is answered right. Raises InvalidNode and NotSupported
    as `Node.right` does.
    """
    right = node.right
    where = [condition.holds(node) for condition in path]
    if not all(map(np.any, where)):
        return right
    on_path = where[0]
    outputs = []
    for out in right:
        wrong = mutant.another(out)
        outputs.append(np.where(on_path, wrong, out) if out.shape == np.shape(on_path) else wrong)
    return outputs


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
    """Return the rank of the first input."""
    return node.rank


def _has_many_elements(node: Node) -> bool:
    """Return True if an input or output has many elements."""
    return any(x.size >= _MANY for x in (*node.tensors, *node.right))


def _has_images(node: Node) -> bool:
    """Return True for an input N×C×D1×D2, or of more axes."""
    return node.rank > 3


def _kernel_sizes(node: Node) -> set[int]:
    """Return the different sizes of a kernel along its axes, stated or those of the filters."""
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
    """Return the dtype of the last output."""
    return node.right[-1].dtype


def _of_output_type(schema: Schema) -> Iterator[Condition]:
    """Yield conditions on the type of the output, if an attribute names it; else none."""
    if not opset.naming(schema):
        return
    for dtype in dtypes.DTYPES.values():
        if dtype.text in schema.outputs[-1].types:
            text = f"the output was of {dtype.name}"
            yield Condition(
                f"output_of_{dtype.name}", text, partial(_is, dtype.numpy, _output_type)
            )


def _of_magnitudes(schema: Schema) -> Iterator[Condition]:
    """Yield conditions on elements of floats, by powers of two; none without floats."""
    if texts_of("float").isdisjoint(schema.typed.types):
        return
    for low in _LOWS:
        name = f"elements_from_{low:g}_to_{2 * low:g}".replace("-", "minus_")
        text = f"elements of the input lay between {low:g} and {2 * low:g}"
        yield Condition(name, text, partial(_from, low))


def _is(value: Any, of: Callable[[Node], Any], node: Node) -> bool:
    """Return True if `of(node)` equals `value`."""
    return bool(of(node) == value)


def _from(low: float, node: Node) -> Any:
    """Return a mask of elements of the leading input from `low` to before twice that.

    Return False if it is left out or not of floats.
    """
    x = node.lead
    if x is None or not is_real(x):
        return False
    return (x / x.dtype.type(low) >= 1) & (x / x.dtype.type(2 * low) < 1)


# ── attributes ────────────────────────────────────────────────────────────────────────────────


def _of_attribute(attribute: Attribute) -> Iterator[Condition]:
    """Yield conditions on an attribute: axes, padding, or any that is optional.

    A required attribute that names no axes has none.
    """
    name = attribute.name
    if names_axes(attribute):
        yield from _of_axes(NamedAxes(attribute))
    elif name == "auto_pad":
        for word in ("SAME", "VALID"):
            holds = partial(_is, word, _first_word_of_auto_pad)
            yield Condition(word.lower(), f"auto_pad was {word}", holds, "pads")
    elif not attribute.required:
        # Constant has one value alone.
        family = {"kernel_shape": "kernel"}.get(name, name if "value" not in name else "value")
        departs = partial(departs_from_default, attribute)
        yield Condition(name, f"{name} was not its default", departs, family)


def _of_axes(axes: NamedAxes) -> Iterator[Condition]:
    """Yield conditions on the axes that an attribute names."""
    for word, text, holds in (
        ("not_first", "was not the first", _is_not_first),
        ("not_last", "was not the last", _is_not_last),
        ("long", f"had {_MANY} entries or more", _is_long),
    ):
        yield Condition(
            f"{axes.name}_{word}", f"{axes.name} {text}", partial(holds, axes), word, of_index=True
        )


def _is_not_first(axes: NamedAxes, node: Node) -> bool:
    """Return True if none of the axes is the first; False without axes."""
    return min(axes.found(node), default=0) > 0


def _is_not_last(axes: NamedAxes, node: Node) -> bool:
    """Return True if none of the axes is the last; False without axes."""
    return max(axes.found(node), default=node.rank) < node.rank - 1


def _is_long(axes: NamedAxes, node: Node) -> bool:
    """Return True if there are many elements along the axes; False without axes."""
    lead: Any = node.lead
    count = prod(lead.shape[axis] for axis in axes.found(node))
    return bool(count >= _MANY)


def _first_word_of_auto_pad(node: Node) -> str:
    """Return SAME for SAME_UPPER and SAME_LOWER, other values as they are; "None" without one."""
    return str(node.attrs.get("auto_pad")).split("_")[0]


# ── channels, in groups: of N×C×D1×…×Dn, and of filters M×C/group×k1×…×kn ─────────────────────


def _filters(node: Node) -> Array:
    """Return the second tensor of three axes or more, which may come after scales; else the first.

    Raises IndexError without any.
    """
    images = [x for x in node.given if x.ndim > 2]
    return images[:2][-1]


def _channels(node: Node) -> int:
    """Return C."""
    return int(node.given[0].shape[1])


def _groups(by: str, node: Node) -> int:
    """Return the number of groups, which the attribute `by` has; 1 without it."""
    groups: Any = node.attrs.get(by, 1)
    return int(groups)


def _of_channels(by: str, *, filtered: bool) -> Iterator[Condition]:
    """Yield conditions on channels, and on filters where there are some."""
    text = f"the channels were a multiple of {_CHANNELS}"
    yield Condition(f"channels_of_{_CHANNELS}", text, _has_whole_channels, "channels")
    text = f"the image's size was a multiple of {_IMAGE}"
    yield Condition(f"image_of_{_IMAGE}", text, _has_whole_image, "image")
    text = f"each group had a multiple of {_GROUP} channels"
    holds = partial(_has_whole_groups, by)
    yield Condition(f"group_of_{_GROUP}", text, holds, "of_group")
    text = "each group had one channel"
    yield Condition("group_of_1", text, partial(_has_group_of_each_channel, by), "of_group")
    if filtered:
        text = f"the filters were a multiple of {_CHANNELS}"
        yield Condition(f"filters_of_{_CHANNELS}", text, _has_whole_filters, "filters")
    else:
        yield Condition(by, f"{by} was above 1", partial(_has_groups, by), by)


def _has_whole_channels(node: Node) -> bool:
    """Return True if vectors of 8 divide the channels."""
    return _channels(node) % _CHANNELS == 0


def _has_whole_image(node: Node) -> bool:
    """Return True if vectors of 16 divide the size D1×…×Dn."""
    return prod(node.given[0].shape[2:]) % _IMAGE == 0


def _has_whole_groups(by: str, node: Node) -> bool:
    """Return True if vectors of 4 divide the channels of a group; also if it has none."""
    return _channels(node) // _groups(by, node) % _GROUP == 0


def _has_group_of_each_channel(by: str, node: Node) -> bool:
    """Return True if there are several groups, of one channel each."""
    return _channels(node) == _groups(by, node) > 1


def _has_whole_filters(node: Node) -> bool:
    """Return True if vectors of 8 divide the filters."""
    return bool(_filters(node).shape[0] % _CHANNELS == 0)


def _has_groups(by: str, node: Node) -> bool:
    """Return True if there are several groups."""
    return _groups(by, node) > 1


# ── inputs ────────────────────────────────────────────────────────────────────────────────────


def _of_input(place: int, parameter: Parameter, of_index: bool) -> Iterator[Condition]:
    """Yield conditions on one input, or on all variadic ones.

    place: that of the input; of_index: it holds indices.
    """
    name = parameter.name
    if parameter.option == "variadic":
        text = f"there were more than {_INPUTS} inputs"
        yield Condition("many_inputs", text, _has_many_inputs, "inputs")
        text = "an input between others was empty"
        yield Condition("empty_input", text, _has_empty_between_others, "empty")
        return
    if parameter.option == "optional":
        yield Condition(name, f"{name} was given", partial(_has, place, _is_given), name)
    is_one = partial(_has, place, _is_one_for_many)
    text = f"{name} was one element for {_MANY} or more"
    yield Condition(f"one_{name}", text, is_one, f"one_{name}", "broadcast")
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


def _has(place: int, holds: Callable[[Array, Node], Any], node: Node) -> bool:
    """Return True if the input at `place` is given, and `holds` is true of it."""
    x = node.inputs[place] if len(node.inputs) > place else None
    return x is not None and bool(holds(x, node))


def _has_many_inputs(node: Node) -> bool:
    """Return True if there are more than 16 inputs."""
    return len(node.given) > _INPUTS


def _has_empty_between_others(node: Node) -> bool:
    """Return True if an input without elements is neither the first nor the last."""
    return not all(x.size for x in node.given[1:-1])


def _is_given(x: Array, node: Node) -> bool:
    """Return True: any input that is given."""
    return True


def _is_one_for_many(x: Array, node: Node) -> bool:
    """Return True for one element where the output has 128 or more."""
    return x.size == 1 and bool(node.right[-1].size >= _MANY)


def _has_negative(x: Array, node: Node) -> Any:
    """Return True for indices of which one is negative."""
    return (x < 0).any()


def _is_scalar(x: Array, node: Node) -> bool:
    """Return True for a tensor without axes."""
    return not x.ndim


def _has_several_axes(x: Array, node: Node) -> bool:
    """Return True for a tensor of two axes or more."""
    return x.ndim > 1


def _has_many(x: Array, node: Node) -> bool:
    """Return True for a tensor of many elements."""
    return x.size >= _MANY


def _is_of(dtype: Any, x: Array, node: Node) -> bool:
    """Return True for a tensor of a type."""
    return bool(x.dtype == np.dtype(dtype))


#: Of indices: a word, a text, the family, and the condition.
_OF_INDICES: Sequence[tuple[str, str, str, Callable[[Array, Node], Any]]] = (
    ("negative", "a negative element", "sign", _has_negative),
    ("scalar", "no axis", "index", _is_scalar),
    ("matrix", "several axes", "index", _has_several_axes),
    ("many", f"{_MANY} elements or more", "index", _has_many),
    ("int32", "type int32", "type", partial(_is_of, np.int32)),
    ("int64", "type int64", "type", partial(_is_of, np.int64)),
)
