"""Suggestions: answers that a text suggests and does not state, so that a deviation is a warning.

A shipped case says so by its rule, `should`. A user's case, a model of one node and a node of a
larger model state no rule: of these, the engine decides it here. A `Suggestion` has a sentence, the
operators that it is about, and a rule that finds what it covers of a node: single elements, such as
those that a subnormal number decides, that the node may be refused, such as one of a rank that the
text does not mention, or the node as a whole, such as an order that the text does not state. A
wrong answer is a warning where nothing but covered elements is wrong, and each has a value that the
suggestion admits, or where the node as a whole is covered, and the suggestion admits the answer. A
refusal is one where the node may be refused, or is covered as a whole.

What is admitted is what an honest engine gives for the reason that the suggestion states: see
`Suggestion.admitted`. Next to each rule that covers elements stands a function of the values that
they may have; next to each that covers a node, one that examines the outputs, or one that returns
other nodes whose right answers are admitted.

The rules are next to the formulas and not in them: they are needed only once an answer is wrong,
and may evaluate the formula again on other data.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import are_subnormal, is_real
from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import GRAPH, Array

#: A mask of the covered elements of each output.
Masks: TypeAlias = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Subject:
    """A node, and the engine's outputs by the first reading of each ruling."""

    node: Node
    outputs: tuple[Array, ...]

    @property
    def name(self) -> str:
        """The name of the operator."""
        return self.node.op.name

    @property
    def since(self) -> int:
        """The version of the operator."""
        return self.node.op.since

    @cached_property
    def floats(self) -> tuple[Array, ...]:
        """The inputs of floats of 16 bits or more."""
        return tuple(filter(is_real, self.node.given))

    def input(self, place: int) -> Array | None:
        """Return the input at a place, None if it is left out."""
        inputs = self.node.inputs
        return inputs[place] if place < len(inputs) else None

    @property
    def first(self) -> Array:
        """The first input that is given."""
        return self.node.given[0]

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute that the node states, else the default."""
        return self.node.attrs.get(name, default)

    def all_if(self, is_covered: object) -> Masks | None:
        """Return masks of everything, or None."""
        return self.all() if is_covered else None

    def all(self, covered: bool = True) -> Masks:
        """Return masks of all elements, or of none."""
        return tuple(np.full(np.shape(y), covered) for y in self.outputs)

    def variants(self, *others: Sequence[Array | None]) -> "tuple[Node, ...]":
        """Return the node on each of these other inputs."""
        return tuple(replace(self.node, inputs=tuple(inputs)) for inputs in others)

    def evaluated(self, *nodes: Node) -> "Iterator[tuple[Array, ...]]":
        """Yield the outputs of other nodes; those that are illegal or not computed are left out."""
        for node in nodes:
            try:
                yield evaluate(node)
            except (InvalidNode, NotSupported, MemoryError):
                continue

    def each(self, covers: Callable[[Array], Array]) -> Masks:
        """Return the masks that `covers` gives of each output."""
        return tuple(np.asarray(covers(y), bool) for y in self.outputs)

    @cached_property
    def flushed(self) -> tuple[Array, ...] | None:
        """The outputs where subnormal numbers of the inputs are read as zeros.

        None, if the node is illegal or not computed then.
        """
        [node] = self.variants([_with_zeros(x) if is_real(x) else x for x in self.node.inputs])
        return next(self.evaluated(node), None)


#: Returns what a suggestion covers; None for nothing.
Rule: TypeAlias = Callable[[Subject], Masks | None]
#: What a suggestion makes a warning: other elements, a refusal, or another answer and a refusal.
Scope: TypeAlias = Literal["elements", "refusal", "node"]
#: Returns which elements of a backend's output, at this place, a suggestion admits where it covers
#: them. The output has the shape and type of the engine's.
Admits: TypeAlias = Callable[[Subject, int, Array], Array]
#: Returns True if a suggestion admits these outputs of a backend, as many as the engine's and of
#: their types. They may have other shapes.
Accepts: TypeAlias = Callable[[Subject, Sequence[Array]], bool]
#: Returns nodes whose right answers a suggestion admits too. They may be illegal.
OtherNodes: TypeAlias = Callable[[Subject], Iterable[Node]]


@dataclass(frozen=True)
class Suggestion:
    """What a text suggests about some operators, without a statement.

    Attributes:
        id: A short name.
        text: Why a deviation is a warning, as a sentence.
        operators: The names of the operators; empty for all.
        rule: Finds the covered elements.
        scope: What is a warning: other covered elements, a refusal of the node, or a refusal and
            another answer, which may have other shapes.
        admitted: What an answer may be instead of the right one, as a sentence; "" for a scope of
            "refusal".
        admits: Finds the covered elements of a backend's output that have an admitted value; for a
            scope of "elements", and None for the others.
        accepts: Examines other outputs of a node that is covered as a whole.
        other_nodes: Returns nodes of which a node that is covered as a whole may have the answer.
    """

    id: str
    text: str
    operators: Collection[str]
    rule: Rule
    scope: Scope = "elements"
    admitted: str = ""
    admits: Admits | None = None
    accepts: Accepts | None = None
    other_nodes: OtherNodes | None = None


@dataclass(frozen=True, eq=False)
class Suggested:
    """What the text of a node only suggests.

    Attributes:
        subject: The node, with the engine's outputs.
        found: The suggestions that cover something, each with the elements that it covers.
    """

    subject: Subject
    found: tuple[tuple[Suggestion, Masks], ...]

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """The suggestions that cover something."""
        return tuple(suggestion for suggestion, _ in self.found)

    @property
    def masks(self) -> Masks:
        """The covered elements of each output."""
        masks = self.subject.all(False)
        for _, covered in self.found:
            masks = tuple(mask | more for mask, more in zip(masks, covered, strict=True))
        return masks

    @property
    def whole(self) -> bool:
        """True if the node as a whole is covered: another answer may be a warning."""
        return any(suggestion.scope == "node" for suggestion in self.suggestions)

    @property
    def may_be_refused(self) -> bool:
        """True if a refusal is a warning."""
        return self.about_refusals() is not None

    @property
    def covers_everything(self) -> bool:
        """True if the node may be refused, or if no output has an element that the text states."""
        return self.may_be_refused or all(mask.all() for mask in self.masks)

    def without(self, suggestion: Suggestion) -> "Suggested | None":
        """Return the other suggestions; None if there are none."""
        found = tuple(each for each in self.found if each[0] is not suggestion)
        return replace(self, found=found) if found else None

    def about_refusals(self) -> "Suggested | None":
        """Return the suggestions that make a refusal a warning; None if there are none."""
        found = tuple(each for each in self.found if each[0].scope != "elements")
        return replace(self, found=found) if found else None

    def excused(self, place: int, output: Array) -> Array:
        """Return a mask of the elements of a backend's output that need not be the right ones.

        They are covered, and have a value that a suggestion admits. output: of the shape and type
        of the engine's output at this place.
        """
        excused = np.zeros(output.shape, bool)
        for suggestion, masks in self.found:
            if suggestion.scope != "elements":
                continue
            assert suggestion.admits is not None
            excused |= masks[place] & suggestion.admits(self.subject, place, output)
        return excused

    def accepts(self, outputs: Sequence[Array]) -> bool:
        """Return True if a suggestion about the node as a whole admits a backend's outputs.

        Those that are right answers of `other_nodes` are not examined here. Outputs that are not as
        many as the engine's, or of other types, are not admitted.
        """
        own = self.subject.outputs
        if len(outputs) != len(own):
            return False
        if any(got.dtype != right.dtype for got, right in zip(outputs, own, strict=True)):
            return False
        return any(
            suggestion.accepts(self.subject, outputs)
            for suggestion in self.suggestions
            if suggestion.accepts is not None
        )

    def other_nodes(self) -> Iterator[Node]:
        """Yield nodes whose right answers are admitted too. They may be illegal."""
        for suggestion in self.suggestions:
            if suggestion.other_nodes is not None:
                yield from suggestion.other_nodes(self.subject)


def suggested(node: Node) -> Suggested | None:
    """Return what the text of a node only suggests; None if it states everything.

    None too for a whole model, and for a node without an answer.
    """
    from opcheck.engine.suggestions.table import SUGGESTIONS

    if node.op == GRAPH:
        return None
    try:
        subject = Subject(node, evaluate(node))
    except (InvalidNode, NotSupported, MemoryError):
        return None
    found = tuple(_found(subject, SUGGESTIONS))
    return Suggested(subject, found) if found else None


def _found(
    subject: Subject, suggestions: Sequence[Suggestion]
) -> Iterator[tuple[Suggestion, Masks]]:
    """Yield the suggestions that cover something of a node, with what they cover."""
    for suggestion in suggestions:
        if suggestion.operators and subject.name not in suggestion.operators:
            continue
        masks = suggestion.rule(subject)
        if masks is None:
            continue
        if suggestion.scope != "elements" or any(mask.any() for mask in masks):
            yield suggestion, masks


def real(x: Array) -> Array:
    """Return numbers in float64; those of other kinds, such as texts, as zeros."""
    dtype = dtypes.of(x)
    if dtype is None or dtype.kind not in ("float", "minifloat", "int", "bool"):
        return np.zeros(np.shape(x))
    with np.errstate(invalid="ignore"):  # a NaN that signals is a value like any other
        return np.asarray(x).astype(np.float64)


def are_alike(a: Array, b: Array) -> Array:
    """Return a mask of elements that are equal, both NaN, or at most the smallest normal number.

    a, b: of one shape and type. Hardware may flush what it moves, so that a subnormal number is as
    good as zero.
    """
    if a.dtype.hasobject:
        return np.asarray(a == b, bool)
    with np.errstate(invalid="ignore"):
        are_equal = (a == b) | ((a != a) & (b != b))
    return np.asarray(are_equal | (are_small(a) & are_small(b)), bool)


def are_one_of(outputs: Sequence[Array], answers: Iterable[Sequence[Array]]) -> bool:
    """Return True if outputs are one of these answers, by shapes and by `are_alike`."""
    return any(
        all(
            output.shape == np.shape(want) and are_alike(output, want).all()
            for output, want in zip(outputs, answer, strict=True)
        )
        for answer in answers
    )


def are_small(x: Array) -> Array:
    """Return a mask of floats up to the smallest normal number; of other types none."""
    dtype = dtypes.of(x)
    if dtype is None or dtype.kind != "float":
        return np.zeros(np.shape(x), bool)
    return np.asarray(np.abs(real(x)) <= dtype.smallest_normal)


def _with_zeros(x: Array) -> Array:
    """Return floats with zeros, of the same sign, in place of subnormal numbers."""
    with np.errstate(invalid="ignore"):  # of infinities, which stay what they are
        return np.where(are_subnormal(x), x * np.zeros((), x.dtype), x)
