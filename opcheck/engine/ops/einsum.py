"""Einsum, both versions: sums of products along axes that letters name.

    output[output-term] = reduce-sum( input1[term1] * input2[term2] )

An equation such as "...ij,...jk->...ik" is computed in these steps:

1. The equation is split into a term of each operand and one of the output, which are letters and
   at most one ellipsis each.
2. Each axis gets a label: its letter, or ".0", ".1", … if an ellipsis stands for it.
3. Axes of one label have one length. Those of an ellipsis may have 1 as well, and are stretched.
4. Without "->" the output has the axes of the ellipsis, and the letters that occur once, sorted.
5. The operands are multiplied, and summed over all labels that the output is without. A label that
   an operand has twice stands for the diagonal.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.integers import marked_in_type
from opcheck.engine.operators import formulas_of_versions, operator, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

Shape: TypeAlias = tuple[int, ...]
#: Letters and "..." of a term, or the labels of axes.
Labels: TypeAlias = Sequence[str]

ELLIPSIS = "..."
#: A term, and an equation, both without spaces; a term may be empty.
TERM = r"[A-Za-z]*(\.\.\.)?[A-Za-z]*"
EQUATION = re.compile(f"{TERM}(,{TERM})*(->{TERM})?")

LETTER_OF_ONE_AND_MORE = Ruling(
    "letter-of-one-and-more",
    "The text has the ellipsis to enable broadcasting, and does not state whether an axis of one "
    "element that a letter names is stretched too.",
    ("stretched", "refused"),
)
ELLIPSIS_LEFT_OUT = Ruling(
    "ellipsis-left-out",
    "The text does not state whether axes of an ellipsis that the output is without are summed "
    "over, as those of letters are.",
    ("summed", "refused"),
)
ELLIPSIS_OF_NO_OPERAND = Ruling(
    "ellipsis-of-no-operand",
    "The text does not state what an ellipsis in the output means if no operand has one.",
    ("no_axes", "refused"),
)


# ── the equation ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Summation:
    """An equation next to the shapes of its operands.

    Attributes:
        operands: The labels of each operand's axes.
        output: The labels of the output's axes.
        lengths: The length of each label, in the order in which labels occur in the operands.
    """

    operands: Sequence[Labels]
    output: Labels
    lengths: Mapping[str, int]

    @property
    def summed(self) -> Labels:
        """The labels that the output is without."""
        return [label for label in self.lengths if label not in self.output]

    def numbered(self, labels: Labels) -> list[int]:
        """Return labels as numbers, which np.einsum takes: their places in `lengths`."""
        order = list(self.lengths)
        return [order.index(label) for label in labels]


def split(equation: str) -> tuple[list[Labels], Labels | None]:
    """Return the terms of the operands, and that of the output; None without "->".

    "The equation string may contain space (U+0020) character." A term may be empty: that of a
    scalar. Raises InvalidNode for a string that is no equation.
    """
    stated = equation.replace(" ", "")
    reject(not EQUATION.fullmatch(stated), f"{equation!r} is no equation")
    left, arrow, right = stated.partition("->")
    terms = [split_term(term) for term in left.split(",")]
    return terms, split_term(right) if arrow else None


def split_term(term: str) -> Labels:
    """Return the letters of a term, and "..." where the ellipsis stands; [] of an empty term."""
    return re.findall(r"\.\.\.|\w", term)


def ellipsis_labels(terms: Sequence[Labels], shapes: Sequence[Shape]) -> Labels:
    """Return the labels ".0", ".1", … of the axes that the ellipsis stands for; none without one.

    "every occurrence of ellipsis in the equation must represent the same number of dimensions."
    Raises InvalidNode for several numbers, or fewer axes than letters.
    """
    counts = {
        len(shape) - (len(term) - 1)
        for term, shape in zip(terms, shapes, strict=True)
        if ELLIPSIS in term
    }
    reject(len(counts) > 1, f"ellipses of {sorted(counts)} axes")
    count = max(counts, default=0)
    reject(count < 0, "an operand has fewer axes than its term has letters")
    return [f".{n}" for n in range(count)]


def labelled(term: Labels, ellipsis: Labels) -> Labels:
    """Return the labels of a term's axes: letters, and those of `ellipsis` in place of "..."."""
    labels: list[str] = []
    for item in term:
        if item == ELLIPSIS:
            labels += ellipsis
        else:
            labels.append(item)
    return labels


def length_of(label: str, lengths: set[int]) -> int:
    """Return the length of a label whose axes have these `lengths`: 1 only if no other is there.

    An axis of 1 is stretched to the other length, also to 0.

    Raises InvalidNode for two that are not 1: "the characters within the terms correspond to
    operands dimensions". Where a letter names axes of 1 and of another length, they are stretched
    or InvalidNode is raised: LETTER_OF_ONE_AND_MORE.
    """
    larger = lengths - {1}
    reject(len(larger) > 1, f"axes {label!r} of lengths {sorted(lengths)}")
    is_open = len(lengths) > 1 and label.isalpha()
    if is_open and LETTER_OF_ONE_AND_MORE.reading() == "refused":
        raise InvalidNode(f"axes {label!r} of lengths {sorted(lengths)}")
    return max(larger, default=1)


def lengths_of(operands: Sequence[Labels], shapes: Sequence[Shape]) -> Mapping[str, int]:
    """Return the length of each label, in the order in which the labels occur.

    Raises InvalidNode for an operand with more or fewer axes than labels, and for two lengths of a
    label, neither of which is 1; of a letter with 1 and another, see LETTER_OF_ONE_AND_MORE.
    """
    stated: dict[str, set[int]] = {}
    for labels, shape in zip(operands, shapes, strict=True):
        reject(len(labels) != len(shape), f"a term of {len(labels)} axes for shape {list(shape)}")
        for label, length in zip(labels, shape, strict=True):
            stated.setdefault(label, set()).add(length)
    return {label: length_of(label, lengths) for label, lengths in stated.items()}


def implicit_output(operands: Sequence[Labels], ellipsis: Labels) -> Labels:
    """Return the labels of an output without a term.

    "output indices are (implicitly) set to the sequence of indices appearing exactly once in the
    equation, sorted in increasing order of their ASCII values"; "In implicit mode, the ellipsis
    dimensions are set to the beginning of the output."
    """
    every = [label for labels in operands for label in labels]
    once = [label for label in every if every.count(label) == 1 and label not in ellipsis]
    return [*ellipsis, *sorted(once)]


def check_output(term: Labels, operands: Sequence[Labels], terms: Sequence[Labels]) -> None:
    """Raise InvalidNode for a letter that no operand has, NotSupported for one that occurs twice.

    term: that of the output; operands: the labels of their axes; terms: their letters and "...". An
    ellipsis that the output alone lacks, or alone has, may be refused too: ELLIPSIS_LEFT_OUT,
    ELLIPSIS_OF_NO_OPERAND.
    """
    known = {label for labels in operands for label in labels}
    letters = [item for item in term if item != ELLIPSIS]
    unknown = [letter for letter in letters if letter not in known]
    reject(unknown, f"no operand has the axes {unknown} of the output")
    if len({*letters}) < len(letters):
        raise_unspecified("a letter that is twice in the output")
    has_axes = any(label.startswith(".") for label in known)
    if ELLIPSIS not in term and has_axes and ELLIPSIS_LEFT_OUT.reading() == "refused":
        raise InvalidNode("the output is without the ellipsis of the operands")
    is_of_none = ELLIPSIS in term and not any(ELLIPSIS in operand for operand in terms)
    if is_of_none and ELLIPSIS_OF_NO_OPERAND.reading() == "refused":
        raise InvalidNode("the output has an ellipsis, and no operand has")


def summation(equation: str, shapes: Sequence[Shape]) -> Summation:
    """Return the labels of each axis by an equation, and their lengths by operands of these shapes.

    Without "->" the output has the axes of the ellipsis, then the letters that occur once, sorted.
    Raises InvalidNode for a string that is no equation, terms that do not fit the shapes, and a
    letter of the output that no operand has; NotSupported for a letter that is twice in the output.
    A letter of lengths 1 and n is stretched, an ellipsis that the output lacks summed over, and one
    that it alone has left out, or each of them raises InvalidNode: LETTER_OF_ONE_AND_MORE,
    ELLIPSIS_LEFT_OUT, ELLIPSIS_OF_NO_OPERAND.
    """
    terms, output = split(equation)
    reject(len(terms) != len(shapes), f"{len(terms)} terms for {len(shapes)} operands")
    ellipsis = ellipsis_labels(terms, shapes)
    operands = [labelled(term, ellipsis) for term in terms]
    lengths = lengths_of(operands, shapes)
    if output is None:
        return Summation(operands, implicit_output(operands, ellipsis), lengths)
    check_output(output, operands, terms)
    return Summation(operands, labelled(output, ellipsis), lengths)


# ── the sum of products ───────────────────────────────────────────────────────────────────────


def stretched(x: Array, labels: Labels, lengths: Mapping[str, int]) -> Array:
    """Return an operand with its axes of letters stretched to the letters' lengths.

    Axes of an ellipsis keep length 1, which products broadcast.
    """
    shape = tuple(
        lengths[label] if label.isalpha() else length
        for label, length in zip(labels, x.shape, strict=True)
    )
    return x if shape == x.shape else xp.broadcast_to(x, shape)


def sum_of_elements(x: Array, how: Summation) -> Array:
    """Return one operand with the axes `how.output`, summed over all other labels.

    x: with axes as `how.operands` labels them; those of a label twice give the diagonal. Without
    labels to sum over, elements are only moved; with them, plain integers come out in 64 bits.
    """
    # An array with one axis for each label, the summed ones last.
    order = [*how.output, *how.summed]
    grid = np.ix_(*(range(how.lengths[label]) for label in order))
    (labels,) = how.operands
    y = x[tuple(grid[order.index(label)] for label in labels)]
    if not how.summed:
        return y
    return xp.sum(y, axis=tuple(range(len(how.output), len(order))))


def product_of_two(
    labels_of_a: list[int], labels_of_b: list[int], output: list[int], a: Array, b: Array
) -> Array:
    """Return the products of two plain arrays, summed over the labels that the output is without.

    Labels are numbers, as np.einsum takes them. a and b have the axes `labels_of_a` and
    `labels_of_b`; the result has `output`.
    """
    return np.einsum(a, labels_of_a, b, labels_of_b, output, optimize=True)


def sum_of_products(operands: Sequence[Array], how: Summation) -> Array:
    """Return the products of two operands or more, with the axes `how.output`, summed over others.

    They are multiplied from left to right. All products but the last keep every label of their
    factors; the last is summed over the labels that the output is without.
    """
    terms = [how.numbered(labels) for labels in how.operands]
    last = len(operands) - 1
    y = operands[0]
    labels = terms[0]
    for n in range(1, len(operands)):
        if n == last:
            kept = how.numbered(how.output)
            # For the error bound: how many products are added up.
            count = prod(how.lengths[label] for label in how.summed)
        else:
            kept = list(dict.fromkeys(labels + terms[n]))
            count = 1
        y = xp.bilinear(y, operands[n], partial(product_of_two, labels, terms[n], kept), count)
        labels = kept
    return y


@formulas_of_versions(12, 28)
def einsum(read: Callable[[str], str], *Inputs: Array, equation: str) -> Array:
    """Return the Inputs' products, summed over the labels that the output's term is without.

    `read` makes the equation of the attribute. A sum of nothing is 0. A letter that an operand has
    twice is its diagonal.

    Raises InvalidNode for a string that is no equation, terms that do not fit the Inputs, and a
    letter of the output that no operand has; NotSupported for a letter that is twice in the output.
    Sums and products that a type of integers does not hold may be anything; while judging,
    NotSupported is raised if there are no others, and in graphs. A letter of lengths 1 and n is
    stretched, an ellipsis that the output lacks summed over, and one that it alone has left out, or
    each of them raises InvalidNode: LETTER_OF_ONE_AND_MORE, ELLIPSIS_LEFT_OUT,
    ELLIPSIS_OF_NO_OPERAND.
    """
    how = summation(read(equation), [x.shape for x in Inputs])
    operands = [
        stretched(x, labels, how.lengths) for x, labels in zip(Inputs, how.operands, strict=True)
    ]
    return marked_in_type(summed(how, *operands), partial(summed, how), *operands)


def summed(how: Summation, *operands: Array) -> Array:
    """Return the sum over one operand, or over the products of more, with the axes `how.output`."""
    if len(operands) == 1:
        return sum_of_elements(operands[0], how)
    return sum_of_products(operands, how)


def as_stated(equation: str) -> str:
    """Return the equation as it is, where a mutant reads another one."""
    return equation


EINSUM = operator("Einsum")
EINSUM.formula(build=einsum)(as_stated)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


@EINSUM.mutant("capital letters were taken for small ones", build=einsum)
def letters_of_one_case(equation: str) -> str:
    """Mutant: A is a."""
    return equation.lower()


@EINSUM.mutant("the output's term was ignored", build=einsum)
def output_always_implicit(equation: str) -> str:
    """Mutant: what follows "->" is not read."""
    return equation.partition("->")[0]


@EINSUM.mutant("small letters came before capital ones", build=einsum)
def small_letters_first(equation: str) -> str:
    """Mutant: an implicit output has a before A."""
    return equation.swapcase()


@EINSUM.mutant("letters of an implicit output came in order of appearance", build=einsum)
def letters_not_sorted(equation: str) -> str:
    """Mutant: the letters are renamed to a, b, … in the order in which they occur."""
    letters = dict.fromkeys(filter(str.isalpha, equation))
    renamed = {ord(letter): ord("a") + n for n, letter in enumerate(letters)}
    return equation.translate(renamed)
