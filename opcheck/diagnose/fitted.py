"""Mutants fitted to an answer or a node: attributes that were another constant, or ignored.

A floating constant is sought by secants on the element that is farthest off, and rounded to few
digits, or to a simple fraction, that give the answer too. A word such as "reverse" may be ignored
where others are not.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np

from opcheck import opset
from opcheck.compare.elements import Floats, wide
from opcheck.engine import Node
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.attributes import with_default
from opcheck.engine.mutants.mutant import Mutant, reading
from opcheck.errors import InvalidNode, NotSupported, WrongOperator
from opcheck.model import Array, OpVersion
from opcheck.opset import AttrType

#: The values of an output by an attribute's value; None where that is not legal.
_OutputBy: TypeAlias = Callable[[float], Floats | None]
#: Steps of the secant method, most often two are enough.
_STEPS = 12
#: The search ends when the element is right to so much of itself; then it must be so near at least,
#: in 16-bit types too.
_CLOSE = 1e-6
_NEAR = 2.0**-6
#: What is most often taken for a number that is missing.
_USUAL = (0.0, 1.0)
#: The digits to which constants are rounded, the fewest first.
_DIGITS = (1, 2, 3, 4, 5, 6)
#: The largest denominator of a fraction that somebody writes for a constant.
_LARGEST_DENOMINATOR = 12
#: A fraction is meant if it is so close to a number of six digits.
_CLOSE_TO_FRACTION = 2e-6
#: The fewest different wrong values to which a constant can be fitted.
_FEWEST_VALUES = 2
#: The names of fitted mutants: a missing attribute is taken for a number, or any is.
_NAME = re.compile(r"default_(?P<missing>\w+)_(?P<a>(minus_)?\d[\d.e+-]*)$")
_NAME_OF_ANY = re.compile(r"(?P<any>\w+)_always_(?P<b>(minus_)?\d[\d.e+-]*)$")
#: The end of names of mutants that ignore one word.
_IGNORED = "_taken_for_the_default"


def constants(node: Node, right: Array, got: Array, place: int) -> Iterator[list[Mutant]]:
    """Yield mutants that take a floating attribute for a constant by which an output is `got`.

    Each item has those of one attribute and one constant: 0, 1, and then that of `_constant`,
    rounded, fewer digits first. They fit one element only; whether they give all of the answer, the
    caller tests.
    right: the nearest right values of that output, the one at `place`, of the shape of `got`.
    Nothing is yielded if fewer than two different values are wrong.
    """
    wanted = wide(right)
    actual = wide(got)
    off = np.isfinite(wanted) & np.isfinite(actual) & (wanted != actual)
    if np.unique(actual[off]).size < _FEWEST_VALUES:
        return
    for name in floating_attributes(node.op):
        constant = _constant(node, name, actual, off, place)
        if constant is not None:
            # 0 is found with an error only.
            for value in dict.fromkeys([*_USUAL, *rounded(constant)]):
                yield [*taking(node.op, name, value)]


def floating_attributes(op: OpVersion) -> list[str]:
    """Return the names of a version's optional attributes that are single floating numbers."""
    return _attributes(op, "float")


def _attributes(op: OpVersion, kind: AttrType) -> list[str]:
    """Return the names of the attributes of a version that are of this type and may be missing.

    There are none of what has no schema, such as a whole model.
    """
    schema = opset.versions(op.domain, op.name).get(op.since)
    if schema is None:
        return []
    attributes = schema.attributes.values()
    return [attr.name for attr in attributes if attr.type == kind and not attr.required]


def taking(op: OpVersion, name: str, value: float) -> Iterator[Mutant]:
    """Yield the mutants that take an attribute for `value`: if it is missing, and in any case.

    Their names are such as `default_alpha_0.5` and `alpha_always_minus_2`, with six digits.
    """
    words = f"{value:.6g}"
    suffix = f"minus_{words[1:]}" if value < 0 else words
    text = f"a missing {name} was taken for {words}"
    read = partial(with_default, name, value)
    yield reading(f"default_{name}_{suffix}", text, read, derived=True)
    text = f"{name} was taken for {words}, whatever the node states"
    read = partial(_with_constant, name, value)
    yield reading(f"{name}_always_{suffix}", text, read, derived=True)


def _with_constant(name: str, value: float, node: Node) -> Node:
    """Return a node with `value` for an attribute, stated or not."""
    return node.with_attrs(**{name: value})


def ignoring_words(node: Node) -> list[Mutant]:
    """Return mutants that take one word, which an attribute of the node is, for the default.

    One for each attribute that the node states as a text.
    """
    stated = ((name, node.attrs.get(name)) for name in _attributes(node.op, "string"))
    return [_ignoring(name, word) for name, word in stated if isinstance(word, str)]


def _ignoring(name: str, word: str) -> Mutant:
    """Return the mutant that takes an attribute that is `word` for the default."""

    def read(node: Node) -> Node:
        """Return the node without the attribute if it is the word, else the node itself."""
        return node.with_attrs(**{name: None}) if node.attrs.get(name) == word else node

    text = f"{name} {word} was taken for the default"
    return reading(f"{name}_{word}{_IGNORED}", text, read, derived=True)


def named(op: OpVersion, name: str) -> Mutant | None:
    """Return the fitted mutant of this name; None for a name that no such mutant has.

    The name has the attribute, of this version, with the word that is ignored or the number that is
    taken for it; of six digits that are close to a simple fraction, the fraction is taken.
    """
    for attribute in _attributes(op, "string"):
        word = name.removeprefix(f"{attribute}_").removesuffix(_IGNORED)
        if name == f"{attribute}_{word}{_IGNORED}":
            return _ignoring(attribute, word)
    for pattern in (_NAME, _NAME_OF_ANY):
        match = pattern.match(name)
        if match is None:
            continue
        attribute, text = match.group(1), match.group(2)
        try:
            value = as_meant(float(f"-{text[6:]}" if text.startswith("minus_") else text))
        except ValueError:
            return None
        if attribute in floating_attributes(op):
            mutants = {mutant.name: mutant for mutant in taking(op, attribute, value)}
            return mutants.get(name)
    return None


# ── the constant ──────────────────────────────────────────────────────────────────────────────


def _constant(node: Node, name: str, got: Floats, off: Array, place: int) -> float | None:
    """Return the value of an attribute that gives `got` in one element, the one farthest off.

    `got` is the output at `place`; `off` masks its elements that are finite and wrong. The value is
    sought from that of the node, or the default. None if the attribute has neither, if a small step
    of it does not change each of these elements or is not legal, or if no value is found.
    """
    attribute = opset.versions(node.op.domain, node.op.name)[node.op.since].attributes[name]
    start = node.attrs.get(name, attribute.default)
    if not isinstance(start, float | int):
        return None
    output_by = partial(_output, node, name, place)
    first = output_by(start)
    # A small step keeps on this side of what is clipped.
    other = start + (abs(start) or 1.0) / 16
    second = output_by(other)
    if first is None or second is None or (first == second)[off].any():
        return None
    distances = np.abs(got[off] - first[off])
    farthest = np.flatnonzero(off)[distances.argmax()]
    return _root(output_by, got.flat[farthest], farthest, (float(start), other))


def _output(node: Node, name: str, place: int, value: float) -> Floats | None:
    """Return an output in plain arithmetic with another value of an attribute.

    None if the node is not legal then.
    """
    try:
        with np.errstate(all="ignore"):
            return wide(evaluate(node.with_attrs(**{name: value}))[place])
    except (InvalidNode, NotSupported, MemoryError, WrongOperator):
        return None


def _root(
    output_by: _OutputBy, wanted: float, at: np.intp, ends: tuple[float, float]
) -> float | None:
    """Return the value by which an element of the output is `wanted`; None if none is found.

    It is sought by secants, which end when the element is right to a millionth; after 12 steps, a
    64th is enough. output_by: returns the output by the attribute's value, None if that is not
    legal, which ends the search. at: the element's place in the flat output. ends: the two values
    to begin with.
    """
    before, value = ends
    first = output_by(before)
    second = output_by(value)
    if first is None or second is None:
        return None
    error_before = float(first.flat[at]) - wanted
    error = float(second.flat[at]) - wanted
    for _ in range(_STEPS):
        if abs(error) <= _CLOSE * abs(wanted):
            break
        change = error - error_before
        if change == 0 or not np.isfinite(change):
            return None
        before, value = value, value - error * (value - before) / change
        output = output_by(value) if np.isfinite(value) else None
        if output is None:
            return None
        error_before, error = error, float(output.flat[at]) - wanted
    is_found = abs(error) <= _NEAR * abs(wanted)
    return value if is_found else None


def rounded(value: float) -> Sequence[float]:
    """Return numbers of few digits near a value, and a simple fraction, the simplest first.

    The fraction, such as 1/3, comes after those of one and two digits, and the value itself last.
    """
    near = [float(f"{value:.{digits}g}") for digits in _DIGITS]
    fraction = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return [*dict.fromkeys([*near[:2], float(fraction), *near[2:], value])]


def as_meant(value: float) -> float:
    """Return the fraction, with a denominator up to 12, that a number of six digits stands for.

    The number itself if it is not close to one.
    """
    fraction = float(Fraction(value).limit_denominator(_LARGEST_DENOMINATOR))
    return fraction if abs(fraction - value) <= _CLOSE_TO_FRACTION * abs(value) else value
