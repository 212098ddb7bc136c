"""The steps of a formula that lead to one element of its output: for `opcheck explain CASE`.

The formula runs on traced numbers. From the element back, each call is followed to the elements of
its operands: of an elementwise function those at the same place, of a reduction those along its
axes, of a product a row and a column, of a convolution the receptive field. What only moves
elements, such as a transposition, is looked through. Other calls are named with their value alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.engine import Node
from opcheck.engine.evaluate import traced
from opcheck.errors import InvalidNode, NotSupported, UsageError, WrongOperator
from opcheck.execution.expected import node_of
from opcheck.model import GRAPH
from opcheck.model.element import ElementStep, ExplainedElement
from opcheck.model.shown import ShownCase
from opcheck.numbers import plain
from opcheck.numbers.traced import Step, Traced, bare

#: An element of a traced array, or a number of the formula.
_Element: TypeAlias = "tuple[Traced, tuple[int, ...]] | float"
_SIGNS = {"add": "+", "subtract": "−", "multiply": "×", "divide": "÷", "pow": "^"}
_ELEMENTWISE = frozenset(
    "abs acos acosh asin asinh atan atanh ceil clip cos cosh erf exp expm1 floor fmod log log1p"
    " maximum minimum negative remainder round sign sin sinh sqrt tan tanh trunc".split()
)
#: Each element is one of an operand, or the same number in another type.
_MOVING = frozenset(
    "broadcast_to concat expand_dims flip getitem pad permute_dims reshape squeeze stack take"
    " take_along_axis tile where".split()
)
_SAME = frozenset("astype at_most_1 inexact".split())
_REDUCTIONS = frozenset("max mean min prod sum".split())
#: The most terms that are printed, and the largest operand that is probed for those of a sum.
_SHOWN = 9
_PROBED = 4096
#: The most steps, finished or begun; of what lies behind them the values alone are shown.
_MOST_STEPS = 150
_MATRIX = 2
_HIDDEN = (
    "its steps are not shown: opcheck shows those of floats, of operators of elements, reductions"
    " and products"
)


def explained_element(shown: ShownCase, index: tuple[int, ...] | None) -> ExplainedElement | None:
    """Return the element of the first output at an index, None for that in the middle.

    None for a case without an answer or of a model, and for an output without elements, with drawn
    ones, or that is not a tensor. Raises UsageError for an index that the output does not have.
    """
    outputs = shown.answers[0].outputs if shown.answers else ()
    if not outputs or not shown.question or shown.case.op == GRAPH or outputs[0].form != "tensor":
        return None
    output = outputs[0]
    shape = output.values.shape
    if index is None:
        index = middle(shape)
    elif len(index) != len(shape) or not all(map(range.__contains__, map(range, shape), index)):
        raise UsageError(f"--element: {output.name} has no element {[*index]}", f"{[*shape]}")
    if index is None:
        return None
    node = node_of(shown.question.task, shown.question.inputs)
    steps = steps_of(node, 0, index)
    return ExplainedElement(
        output=output,
        index=index,
        steps=steps,
        hidden="" if steps else _HIDDEN,
        is_only_answer=len(shown.answers) == 1 and not shown.answers[0].mixed,
    )


def steps_of(node: Node, place: int, index: tuple[int, ...]) -> tuple[ElementStep, ...]:
    """Return the steps that lead to an element of the output at a place; the last one is it.

    Empty for an output of integers, texts or anything else that is not traced, for a formula that
    is not computed on such numbers, and if there is no such output or it has another rank than the
    `index`. Raises IndexError for an index beyond its axes.
    """
    try:
        outputs = traced(node)
    except (InvalidNode, NotSupported, WrongOperator):
        return ()
    output = outputs[place] if place < len(outputs) else None
    if not isinstance(output, Traced) or len(index) != output.ndim:
        return ()
    walk = _Walk()
    with np.errstate(all="ignore"):
        name = walk.name(output, index)
    before = [*takewhile(lambda step: step.name != name, walk.steps)]
    if len(before) == len(walk.steps):
        # An input that was only moved.
        return (ElementStep("", name, float(output.v[index])),)
    last = walk.steps[len(before)]
    return (*before, ElementStep("", last.text, last.value))


@dataclass(frozen=True)
class _Product:
    """Two factors, or a single term of a sum."""

    factors: tuple[_Element, ...]


class _Walk:
    """Collects the steps of an element, each before those that use it."""

    def __init__(self) -> None:
        self.steps: list[ElementStep] = []
        self._names: dict[tuple[Step, tuple[int, ...]], str] = {}
        self._begun = 0

    def name(self, array: Traced, index: tuple[int, ...]) -> str:
        """Return the name of an element, `X[0, 1]` or `t3`; its steps are collected first.

        A constant of the formula is its number; "…" once 150 steps are begun.
        """
        array, index = _looked_through(array, index)
        step = array.step
        if step.is_input:
            return f"{step.name}{[*index]}" if step.name != "constant" else _number(array.v[index])
        key = step, index
        if key not in self._names:
            if self._begun == _MOST_STEPS:
                return "…"
            self._begun += 1
            self._names[key] = self._added(self._text(step, index), float(array.v[index]))
        return self._names[key]

    def _added(self, text: str, value: float) -> str:
        """Return the name of a step, which is added unless the same was computed before."""
        for earlier in self.steps:
            if (earlier.text, earlier.value) == (text, value):
                return earlier.name
        name = f"t{len(self.steps) + 1}"
        self.steps.append(ElementStep(name, text, value))
        return name

    def _text(self, step: Step, index: tuple[int, ...]) -> str:
        """Return what a call does for an element, with the names of what it reads."""
        if step.name in _SIGNS:
            first, second = (self._shown(one) for one in _same_place(step, index))
            return f"{first} {_SIGNS[step.name]} {second}"
        if step.name in _ELEMENTWISE:
            return f"{step.name}({', '.join(map(self._shown, _same_place(step, index)))})"
        if step.name in _REDUCTIONS:
            return self._of_terms(step.name, [_Product((one,)) for one in _reduced(step, index)])
        products = _products(step, index)
        if products is not None:
            return self._of_terms("sum", products)
        return f"{step.name} (its terms are not shown)"

    def _of_terms(self, function: str, terms: Sequence[_Product]) -> str:
        """Return a reduction of terms, of which the first are shown."""
        shown = [" × ".join(map(self._shown, term.factors)) for term in terms[:_SHOWN]]
        left = len(terms) - len(shown)
        more = f", … {left:,} more" if left else ""
        return f"{function} of {len(terms):,}: {', '.join(shown)}{more}"

    def _shown(self, element: _Element) -> str:
        """Return the name of an element with its value, `X[0] (1.5)`, or a number."""
        if not isinstance(element, tuple):
            return _number(element)
        array, index = element
        value = _number(array.v[index])
        name = self.name(array, index)
        return name if name == value else f"{name} ({value})"


def _number(value: Any) -> str:
    """Return a number in nine digits."""
    return f"{float(value):.9g}"


def _looked_through(array: Traced, index: tuple[int, ...]) -> tuple[Traced, tuple[int, ...]]:
    """Return the element that only moving and casting made this one of; itself without these."""
    while not array.step.is_input:
        step = array.step
        if step.name in _SAME and isinstance(step.operands[0], Traced):
            array = step.operands[0]
        elif step.name in _MOVING:
            source = _moved_from(step, index)
            if source is None:
                break
            array, index = source
        else:
            break
    return array, index


def _moved_from(step: Step, index: tuple[int, ...]) -> tuple[Traced, tuple[int, ...]] | None:
    """Return the element that a call moved to `index`; None for one that no operand has.

    The call is repeated on the places of all elements, counted through the operands.
    """
    arrays: list[Traced] = []
    begins: list[int] = []

    def coded(operand: Any) -> Any:
        """Return the places of a traced operand's elements from 1 on, and 0 for other floats."""
        if isinstance(operand, list | tuple):
            return type(operand)(map(coded, operand))
        if not isinstance(operand, Traced):
            is_float = isinstance(operand, float | np.floating | np.ndarray)
            is_float = is_float and np.asarray(operand).dtype.kind == "f"
            return np.zeros_like(operand) if is_float else operand
        begin = begins[-1] + arrays[-1].size if arrays else 1
        arrays.append(operand)
        begins.append(begin)
        return np.arange(begin, begin + operand.size, dtype=np.float64).reshape(operand.shape)

    code = int(np.asarray(step.again(coded))[index])
    for array, begin in zip(arrays, begins, strict=True):
        if begin <= code < begin + array.size:
            return _at(array, code - begin)
    return None


def _same_place(step: Step, index: tuple[int, ...]) -> Iterator[_Element]:
    """Yield the elements of the operands, which broadcast, at one place of the result."""
    for operand in step.operands:
        if operand is not None:
            yield _stretched(operand, index)


def _stretched(operand: Any, index: tuple[int, ...]) -> _Element:
    """Return the element of an operand, traced or not, that broadcasting stretches to `index`."""
    place = _before_stretching(np.shape(bare(operand)), index)
    return (operand, place) if isinstance(operand, Traced) else float(np.asarray(operand)[place])


def _before_stretching(shape: Sequence[int], index: Sequence[int]) -> tuple[int, ...]:
    """Return the place in an array of this shape that broadcasting stretches to `index`."""
    own = index[len(index) - len(shape) :]
    return tuple(0 if length == 1 else place for place, length in zip(own, shape, strict=True))


def _reduced(step: Step, index: tuple[int, ...]) -> list[_Element]:
    """Return the elements of the operand that a reduction along axes joins."""
    operand = step.operands[0]
    options = dict(zip(("axis", "keepdims"), step.operands[1:], strict=False))
    options |= step.options
    axes = plain.axes_of(options.get("axis"), operand.ndim)
    kept = [axis for axis in range(operand.ndim) if axis not in axes]
    places: list[Any] = [slice(None)] * operand.ndim
    for number, axis in enumerate(kept):
        places[axis] = index[axis if options.get("keepdims") else number]
    flat = np.arange(operand.size).reshape(operand.shape)[tuple(places)].ravel()
    return [_at(operand, int(place)) for place in flat]


def _at(array: Traced, flat: int) -> tuple[Traced, tuple[int, ...]]:
    """Return the element at a place that is counted through the array."""
    return array, tuple(map(int, np.unravel_index(flat, array.shape)))


def _products(step: Step, index: tuple[int, ...]) -> list[_Product] | None:
    """Return the products that a call adds up to an element; None if they are not known."""
    if step.name == "matmul" and all(isinstance(one, Traced) for one in step.operands):
        a, b = step.operands
        return _of_matrices(a, b, index)
    if step.name == "bilinear":
        return _of_bilinear(step, index)
    if step.name == "sums":
        x, add_up, *_ = step.operands
        if isinstance(x, Traced) and x.size <= _PROBED:
            weights = _probed(lambda one: add_up(one.reshape(x.shape)), x.size, index)
            return [_Product((_at(x, place),)) for place in map(int, np.flatnonzero(weights))]
    return None


def _of_matrices(a: Traced, b: Traced, index: tuple[int, ...]) -> list[_Product] | None:
    """Return the products of a row and a column, also of one matrix of a stack; None of vectors."""
    if min(a.ndim, b.ndim) < _MATRIX:
        return None
    *stack, row, column = index
    of_a = _before_stretching(a.shape[:-2], stack)
    of_b = _before_stretching(b.shape[:-2], stack)
    return [_Product(((a, (*of_a, row, k)), (b, (*of_b, k, column)))) for k in range(a.shape[-1])]


def _of_bilinear(step: Step, index: tuple[int, ...]) -> list[_Product] | None:
    """Return the products of elements of both operands, as of a convolution, and the addend.

    For each element of the first operand, the place of its factor in the second is what the product
    gives for places. None if an operand is not traced, the first has more than 4096 elements, or a
    factor is not one element.
    """
    a, b, product, _, *addend = step.operands
    is_small = isinstance(a, Traced) and isinstance(b, Traced) and a.size <= _PROBED
    if not is_small:
        return None
    places = np.arange(1, b.size + 1, dtype=np.float64).reshape(b.shape)
    codes = _probed(lambda one: product(one.reshape(a.shape), places), a.size, index)
    terms = []
    for place in map(int, np.flatnonzero(codes)):
        code = int(codes[place])
        if code != codes[place] or not 1 <= code <= b.size:
            return None
        terms.append(_Product((_at(a, place), _at(b, code - 1))))
    added = [one for one in addend if one is not None]
    if added:
        terms.append(_Product((_stretched(added[0], index),)))
    return terms


def _probed(linear: Any, size: int, index: tuple[int, ...]) -> NDArray[np.float64]:
    """Return what a linear function gives at `index` for each vector with one 1."""
    codes = np.zeros(size)
    for place in range(size):
        one = np.zeros(size)
        one[place] = 1.0
        codes[place] = np.asarray(linear(one))[index]
    return codes


def middle(shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the index of the element in the middle, whose windows lie inside; None without any."""
    return tuple(length // 2 for length in shape) if prod(shape) else None
