"""Causes of slices: a start, an end or a step is counted, clamped or followed wrongly.

They are derived from what a call states for an axis, in whatever version: lists `starts` and `ends`
as attributes or as inputs, or the attributes `start` and `end` of a shape. Suites need not see
them: of many, one could make as many more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.mutants.elements import blank
from opcheck.engine.mutants.mutant import AnswerFunction, Mutant
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator
from opcheck.model import Array
from opcheck.opset import Schema


@dataclass(frozen=True)
class Part:
    """What is taken along an axis of `length` elements, as a node states it."""

    length: int
    start: int
    end: int
    step: int = 1

    @property
    def is_backward(self) -> bool:
        """True if the step is negative."""
        return self.step < 0

    @property
    def from_the_front(self) -> "Part":
        """The same part with its start and end clamped, and counted from the front.

        An end before the first element is -1.
        """
        start = max(self.start, -self.length)
        start, end, step = slice(start, self.end, self.step).indices(self.length)
        return replace(self, start=start, end=end, step=step)

    @property
    def places(self) -> list[int]:
        """The places that are taken if start and end are counted from the front: see there.

        What lies outside of the axis is left out.
        """
        taken = range(self.start, self.end, self.step)
        return [place for place in taken if 0 <= place < self.length]


#: The places along an axis that are taken in place of those of a part.
PlacesOf: TypeAlias = Callable[[Part], Sequence[int]]
#: A part in place of another; both are as a node states them.
PartChange: TypeAlias = Callable[[Part], Part]
#: Returns True for a part about which a mutant is wrong.
Concerned: TypeAlias = Callable[[Part], bool]


def mutants(schema: Schema, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of a version that takes slices; none of another.

    known: the operator.
    """
    of_node = _parts_of(schema, known)
    if of_node is None:
        return
    for name, text, places_of in _wrong_places():
        yield Mutant(name, text, partial(_sliced, of_node, places_of))
    if not known.of_shapes:
        text = "a negative start was not counted from the end: what lies in front was read"
        answer: AnswerFunction = partial(_read_in_front, of_node)
        yield Mutant("negative_starts_read_in_front", text, answer)


# ── what a node takes ─────────────────────────────────────────────────────────────────────────

#: The tensor that a node slices, and what it takes along axes, which are counted from the front.
Slices: TypeAlias = tuple[Array, Mapping[int, Part]]
SlicesOf: TypeAlias = Callable[[Node], Slices]


def _parts_of(schema: Schema, known: Operator) -> SlicesOf | None:
    """Return what finds the slices of a version's nodes; None if it takes none."""
    inputs = {parameter.name: place for place, parameter in enumerate(schema.inputs)}
    for names in (inputs, schema.attributes):
        if {"starts", "ends"} <= names.keys():
            return partial(_of_lists, inputs)
    if known.of_shapes and {"start", "end"} <= schema.attributes.keys():
        return _of_shape
    return None


def _of_lists(inputs: Mapping[str, int], node: Node) -> Slices:
    """Return the slices of a node that has lists, as `inputs` at these places or as attributes."""

    def stated(name: str) -> list[int] | None:
        """Return a list; None if it is left out."""
        if name not in inputs:
            value: Any = node.attrs.get(name)
            return None if value is None else [*map(int, value)]
        place = inputs[name]
        array = node.inputs[place] if place < len(node.inputs) else None
        return None if array is None else [*map(int, array.tolist())]

    data = node.given[0]
    starts, ends = stated("starts") or [], stated("ends") or []
    axes = stated("axes") or range(len(starts))
    steps = stated("steps") or [1] * len(starts)
    rows = zip(axes, starts, ends, steps, strict=True)
    return data, {
        axis % data.ndim: Part(data.shape[axis], start, end, step)
        for axis, start, end, step in rows
    }


def _of_shape(node: Node) -> Slices:
    """Return what a node takes of its input's shape."""
    shape = np.array(node.given[0].shape, np.int64)
    start: Any = node.attrs.get("start", 0)
    end: Any = node.attrs.get("end", len(shape))
    return shape, {0: Part(len(shape), start, end)}


# ── answers ───────────────────────────────────────────────────────────────────────────────────


def _sliced(of_node: SlicesOf, places_of: PlacesOf, node: Node) -> Sequence[Array]:
    """Mutant: along each axis the elements at other places are taken.

    The right ones if these are the right places. Raises InvalidNode for an illegal node.
    """
    right = node.right
    data, parts = of_node(node)
    taken = {axis: places_of(part) for axis, part in parts.items()}
    if all([*taken[axis]] == part.from_the_front.places for axis, part in parts.items()):
        return right
    for axis, places in taken.items():
        data = np.take(data, np.array(places, np.int64), axis)
    return [data]


def _read_in_front(of_node: SlicesOf, node: Node) -> Sequence[Array]:
    """Mutant: a negative start is where reading begins in memory; zeros lie before the tensor.

    There are as many elements as is right. Raises InvalidNode for an illegal node.
    """
    out = node.right[0]
    data, parts = of_node(node)
    if all(part.start >= 0 for part in parts.values()) or not out.size:
        return node.right
    flat = np.zeros(out.shape, np.int64)
    for axis, count in enumerate(out.shape):
        part = parts.get(axis, Part(count, 0, count))
        start = part.start if part.start < 0 else part.from_the_front.start
        shape = [-1 if at == axis else 1 for at in range(out.ndim)]
        in_memory = int(np.prod(data.shape[axis + 1 :]))
        flat += (start + part.step * np.arange(count)).reshape(shape) * in_memory
    is_inside = (flat >= 0) & (flat < data.size)
    read = data.reshape(-1)[np.where(is_inside, flat, 0)]
    return [np.where(is_inside, read, blank(out))]


# ── wrong places ──────────────────────────────────────────────────────────────────────────────


def _wrong_places() -> Iterator[tuple[str, str, PlacesOf]]:
    """Yield the names of mutants, their texts, and the places that they take."""
    for (prefix, words, is_concerned), (verb, past, move) in product(_SLICES, _MOVES):
        for by, how in ((1, "late"), (-1, "early")):
            name = f"{prefix}slices_{verb}_one_{how}"
            text = f"{words} {past} one element too {how}"
            yield name, text, partial(_moved, is_concerned, partial(move, by))
    for which, attribute in (("starts", "start"), ("ends", "end")):
        for (prefix, words, is_concerned), (name, text, change) in product(_SLICES, _OF_ONE_END):
            concerned = partial(_has_negative, attribute, is_concerned)
            place = partial(_changed, concerned, partial(change, attribute))
            of = f" of {words}" if prefix else ""
            yield f"{prefix}negative_{which}_{name}", f"negative {which}{of} {text}", place
        yield (
            f"{which}_in_32_bits",
            f"{which} were cut down to 32 bits",
            partial(_changed, _is_any, partial(_in_32_bits, attribute)),
        )
        yield (
            f"{which}_beyond_the_axis_wrap",
            f"{which} beyond an axis were taken modulo its length",
            partial(_changed, _is_any, partial(_wrapped, attribute)),
        )
        yield (
            f"{which}_clamped_to_the_last",
            f"{which} beyond an axis were clamped to its last element",
            partial(_changed, _is_any, partial(_at_most_the_last, attribute)),
        )
    yield from _OF_DIRECTION


def _is_any(part: Part) -> bool:
    """Return True."""
    return True


def _is_backward(part: Part) -> bool:
    """Return True for a negative step."""
    return part.is_backward


def _is_forward(part: Part) -> bool:
    """Return True for a positive step."""
    return not part.is_backward


#: Which slices are wrong: the beginning of the name, and words for them.
_SLICES: tuple[tuple[str, str, Concerned], ...] = (
    ("", "slices", _is_any),
    ("forward_", "slices with a positive step", _is_forward),
    ("backward_", "slices with a negative step", _is_backward),
)


def _has_negative(attribute: str, is_concerned: Concerned, part: Part) -> bool:
    """Return True for a start or an end that is counted from the end, of a part concerned."""
    return is_concerned(part) and -part.length <= getattr(part, attribute) < 0


def _moved(is_concerned: Concerned, move: PartChange, part: Part) -> Sequence[int]:
    """Mutant: a start or an end lies one element off, in the direction of the step."""
    counted = part.from_the_front
    return move(counted).places if is_concerned(part) else counted.places


def _start_moved(by: int, part: Part) -> Part:
    """Return a part, counted from the front, that begins later by so many elements."""
    return replace(part, start=part.start + (-by if part.is_backward else by))


def _end_moved(by: int, part: Part) -> Part:
    """Return a part, counted from the front, that ends later by so many elements."""
    return replace(part, end=part.end + (-by if part.is_backward else by))


#: What a slice does one element off, in a name and in a text, and the change.
_MOVES: tuple[tuple[str, str, Callable[[int, Part], Part]], ...] = (
    ("begin", "began", _start_moved),
    ("end", "ended", _end_moved),
)


def _changed(is_concerned: Concerned, change: PartChange, part: Part) -> Sequence[int]:
    """Mutant: a part is read as another."""
    return (change(part) if is_concerned(part) else part).from_the_front.places


def _with(attribute: str, value: int, part: Part) -> Part:
    """Return a part with another start or end."""
    return replace(part, **{attribute: value})


def _one_later(attribute: str, part: Part) -> Part:
    """Return a part whose negative start or end is counted from one behind the end."""
    return _with(attribute, getattr(part, attribute) + part.length + 1, part)


def _one_earlier(attribute: str, part: Part) -> Part:
    """Return a part whose negative start or end is counted from the last element."""
    return _with(attribute, max(0, getattr(part, attribute) + part.length - 1), part)


def _of_0(attribute: str, part: Part) -> Part:
    """Return a part with 0 for a negative start or end."""
    return _with(attribute, 0, part)


def _of_the_magnitude(attribute: str, part: Part) -> Part:
    """Return a part whose start or end has lost its sign."""
    return _with(attribute, -getattr(part, attribute), part)


def _of_the_whole(attribute: str, part: Part) -> Part:
    """Return a part from the first, or up to the last, in place of a negative start or end."""
    is_at_the_front = (attribute == "start") is not part.is_backward
    beyond = part.length + 1
    return _with(attribute, -beyond if is_at_the_front else beyond, part)


#: What is made of a negative start or end: the end of the name, of the text, and the change.
_OF_ONE_END: tuple[tuple[str, str, Callable[[str, Part], Part]], ...] = (
    ("one_late", "were counted from one behind the end", _one_later),
    ("one_early", "were counted from the last element, not from behind it", _one_earlier),
    ("are_0", "were taken for 0", _of_0),
    ("without_sign", "lost their sign", _of_the_magnitude),
    ("ignored", "were ignored: the slice reached to that end of the axis", _of_the_whole),
)


def _in_32_bits(attribute: str, part: Part) -> Part:
    """Return a part whose start or end has its lowest 32 bits."""
    return _with(attribute, (getattr(part, attribute) + 2**31) % 2**32 - 2**31, part)


def _wrapped(attribute: str, part: Part) -> Part:
    """Return a part whose start or end, out of range, is taken modulo the length."""
    value = getattr(part, attribute)
    is_outside = not -part.length <= value <= part.length
    return _with(attribute, value % part.length, part) if is_outside and part.length else part


def _at_most_the_last(attribute: str, part: Part) -> Part:
    """Return a part whose start or end, beyond the axis, is its last element."""
    value = min(getattr(part, attribute), max(0, part.length - 1))
    return _with(attribute, value, part)


def _up_to_the_first(part: Part) -> Sequence[int]:
    """Mutant: of a backward slice an end before the first element is the first."""
    counted = part.from_the_front
    return (replace(counted, end=max(0, counted.end)) if part.is_backward else counted).places


def _as_in_python(part: Part) -> Sequence[int]:
    """Mutant: a backward slice from before the first element is empty."""
    if part.is_backward and part.start < -part.length:
        return []
    return part.from_the_front.places


def _end_not_counted(part: Part) -> Sequence[int]:
    """Mutant: of a backward slice a negative end is before the first element."""
    is_concerned = part.is_backward and part.end < 0
    counted = part.from_the_front
    return (replace(counted, end=-1) if is_concerned else counted).places


def _forwards(part: Part) -> Sequence[int]:
    """Mutant: the elements of a backward slice come in the order of the axis."""
    return sorted(part.from_the_front.places)


def _of_turned_axis(part: Part) -> Sequence[int]:
    """Mutant: for a negative step the axis is turned first, and sliced forwards."""
    if not part.is_backward:
        return part.from_the_front.places
    forward = replace(part, step=-part.step).from_the_front
    return [part.length - 1 - place for place in forward.places]


def _of_forward_slice(part: Part) -> Sequence[int]:
    """Mutant: a backward slice is the forward one between its ends, turned."""
    counted = part.from_the_front
    if not part.is_backward:
        return counted.places
    between = range(max(counted.end, 0), counted.start)
    return [*between][:: part.step]


def _step_without_sign(part: Part) -> Sequence[int]:
    """Mutant: the sign of a step is ignored."""
    return replace(part, step=abs(part.step)).from_the_front.places


def _whole_steps(part: Part) -> Sequence[int]:
    """Mutant: there are as many elements as whole steps fit, rounded down."""
    counted = part.from_the_front
    count = max(0, (counted.end - counted.start) // counted.step)
    return counted.places[:count]


#: Mutants of a step, and of what depends on its sign.
_OF_DIRECTION: tuple[tuple[str, str, PlacesOf], ...] = (
    (
        "backward_ends_clamped_to_the_first",
        "the end of a slice with a negative step was clamped to the first element, and left it out",
        _up_to_the_first,
    ),
    (
        "backward_starts_before_the_first_give_nothing",
        "a slice with a negative step from before the first element was empty, as in Python",
        _as_in_python,
    ),
    (
        "negative_backward_ends_before_the_first",
        "a negative end of a slice with a negative step was not counted from the end, so that it "
        "lay before the first element",
        _end_not_counted,
    ),
    (
        "backward_slices_in_forward_order",
        "the elements of a slice with a negative step came in forward order",
        _forwards,
    ),
    (
        "backward_slices_of_the_reversed_axis",
        "for a negative step the axis was reversed first, and then sliced forward",
        _of_turned_axis,
    ),
    (
        "backward_slices_reverse_the_forward_one",
        "a slice with a negative step was the forward one between its ends, reversed",
        _of_forward_slice,
    ),
    ("steps_without_sign", "the sign of steps was ignored", _step_without_sign),
    (
        "length_in_whole_steps",
        "the length of a slice was rounded down to whole steps, not up",
        _whole_steps,
    ),
)
