"""Causes by a poorer arithmetic: few bits in each step, floats for integers, 8-bit activations.

Suites need not see these mutants: narrower steps are a warning, and on most data the others agree.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opcheck.dtypes import DTYPES, is_real, limits, of
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants import elements as el
from opcheck.engine.mutants.elements import FLOATS, LONG, through
from opcheck.engine.mutants.mutant import Mutant, reading
from opcheck.engine.node import Node
from opcheck.engine.operators import Formula, Operator
from opcheck.grouping import not_none
from opcheck.model import Array
from opcheck.numbers.plain import axes_of
from opcheck.opset import Schema

#: A tensor of floating numbers in place of another.
Rounding: TypeAlias = Callable[[Array], Array]
#: The attributes by which a text states the type of a stage, and the stage in words.
_STAGES = {"stash_type": "stage one", "softmax_precision": "the Softmax"}
#: The number of steps of a signed and of an unsigned 8-bit type from 0 to its end.
_SIGNED_STEPS = 127
_UNSIGNED_STEPS = 255


def mutants(schema: Schema, known: Operator) -> Iterator[Mutant]:
    """Yield the mutants of a version that compute with less than its text has.

    known: the operator.
    """
    if not known.exact:
        yield from _of_steps(schema)
    yield from _of_8_bits()
    types = {text for parameter in schema.inputs for text in parameter.types}
    # What both types lose is lost in the wider one.
    for name, only in (("float64", el.BEYOND_FLOAT64), ("float32", el.BEYOND_FLOAT32[1:])):
        if DTYPES[name].text in types:
            yield from _of_integers(name, only)


# ── each step in a narrow type ────────────────────────────────────────────────────────────────


def _of_steps(schema: Schema) -> Iterator[Mutant]:
    """Yield mutants that round each step to a 16-bit type, and may leave its range there."""
    stages = [words for name, words in _STAGES.items() if name in schema.attributes]
    for name, only in (("float16", ("float16", *LONG)), ("bfloat16", ("bfloat16", *LONG))):
        text = f"each step was computed in {name}"
        for stage in stages:
            text = f"{stage} was computed in {name}, whatever type is stated for it"
        answer = partial(steps_in, DTYPES[name].numpy)
        yield Mutant(f"steps_in_{name}", text, answer, only=only, narrow=name)


def steps_in(narrow: Any, node: Node) -> Sequence[Array]:
    """Mutant: inputs, and the result of each function of the formula, are rounded to `narrow`."""
    return rounded_steps(narrow, node.with_inputs(partial(_rounded, narrow)))


def rounded_steps(narrow: Any, node: Node, formula: Formula | None = None) -> Sequence[Array]:
    """Return the outputs of a formula of which the result of each function is rounded to `narrow`.

    formula: in place of the operator's own, None for that. Raises InvalidNode, NotSupported and
    MemoryError as `evaluate` does.
    """
    rounding = partial(_rounded, narrow)
    called = node.primitives if formula is None else _functions_of(formula, node)
    faults: dict[str, Any] = {
        name: partial(_of_result, rounding) for name in called if " " not in name
    }
    if "mean" in faults:
        faults["mean"] = partial(_mean_by_sum, rounding)
    return evaluate(node, formula, faults=faults)


def _functions_of(formula: Formula, node: Node) -> set[str]:
    """Return the functions that a formula in place of the operator's own calls on this node."""
    trace: set[str] = set()
    evaluate(node, formula, trace=trace)
    return trace


def _rounded(narrow: Any, x: Any) -> Any:
    """Return floating numbers rounded to the type `narrow`, in their own; others as they are."""
    return through(narrow, x) if isinstance(x, np.ndarray) and is_real(x) else x


def _of_result(rounding: Rounding, original: Callable[..., Any], *operands: Any, **how: Any) -> Any:
    """Fault: results are rounded, each of several."""
    result = original(*operands, **how)
    return tuple(map(rounding, result)) if isinstance(result, tuple) else rounding(result)


def _mean_by_sum(
    rounding: Rounding,
    original: Callable[..., Any],
    x: Array,
    axis: Any = None,
    keepdims: bool = False,
) -> Array:
    """Fault: a mean is a rounded sum, which may overflow, divided by the number of its terms."""
    if not x.size:
        return rounding(original(x, axis=axis, keepdims=keepdims))
    count = prod(x.shape[at] for at in axes_of(axis, x.ndim))
    total = rounding(np.asarray(x.sum(axis=axis, keepdims=keepdims)))
    return rounding(np.asarray(total / total.dtype.type(count)))


# ── 8-bit activations ─────────────────────────────────────────────────────────────────────────


def _of_8_bits() -> Iterator[Mutant]:
    """Yield mutants that quantize tensors to 8 bits by the range of their own elements."""
    for name, steps in (("int8", symmetric), ("uint8", asymmetric)):
        text = f"the input was quantized to {name}"
        yield reading(f"input_in_{name}", text, partial(_first_input, steps), only=FLOATS)
        text = f"all inputs were quantized to {name}"
        yield reading(f"inputs_in_{name}", text, partial(_all_inputs, steps), only=FLOATS)
        text = f"the result was quantized to {name}"
        yield Mutant(f"result_in_{name}", text, partial(_outputs, steps), only=FLOATS)


def _first_input(steps: Rounding, node: Node) -> Node:
    """Return a node with its leading input changed."""
    place = next((n for n, x in enumerate(node.inputs) if x is node.lead), None)
    if place is None or node.lead is None:
        return node
    return node.with_input(place, _of_floats(steps, node.lead))


def _all_inputs(steps: Rounding, node: Node) -> Node:
    """Return a node with each floating tensor changed."""
    return node.with_inputs(partial(_of_floats, steps))


def _outputs(steps: Rounding, node: Node) -> Sequence[Array]:
    """Mutant: floating outputs are changed."""
    return [_of_floats(steps, output) for output in node.right]


def _of_floats(steps: Rounding, x: Array) -> Array:
    """Return a tensor changed if its elements are floating and finite; others as they are."""
    if not is_real(x) or not x.size or not np.isfinite(x.astype(np.float64)).all():
        return x
    return np.asarray(steps(x.astype(np.float64))).astype(x.dtype)


def symmetric(x: Array) -> Array:
    """Mutant: 127 steps between 0 and the largest magnitude."""
    step = np.abs(x).max() / _SIGNED_STEPS or 1.0
    return np.asarray(np.rint(x / step) * step)


def asymmetric(x: Array) -> Array:
    """Mutant: 255 steps from the least to the largest element, of which one is 0."""
    low = min(float(x.min()), 0.0)
    step = (max(float(x.max()), 0.0) - low) / _UNSIGNED_STEPS or 1.0
    zero_point = np.rint(-low / step)
    steps = np.clip(np.rint(x / step) + zero_point, 0, _UNSIGNED_STEPS)
    return np.asarray((steps - zero_point) * step)


# ── integers in floating arithmetic ───────────────────────────────────────────────────────────


def _of_integers(name: str, only: Sequence[str]) -> Iterator[Mutant]:
    """Yield mutants that compute integers in a floating type and turn the results back."""
    for way, words, rounding in (
        ("", "cut off", np.trunc),
        ("_rounded", "rounded", np.rint),
        ("_rounded_down", "rounded down", np.floor),
    ):
        text = f"integers were computed in {name}, and {words}"
        answer = partial(in_floats, DTYPES[name].numpy, rounding, True)
        yield Mutant(f"integers_computed_in_{name}{way}", text, answer, only=only)
    text = f"integers of all inputs but the leading one went through {name}, and were clamped"
    read = partial(_others_through, DTYPES[name].numpy)
    yield reading(f"integers_of_other_inputs_through_{name}", text, read)
    text = f"integers were computed in {name}, where what is out of range became the least integer"
    answer = partial(in_floats, DTYPES[name].numpy, np.trunc, False)
    yield Mutant(f"integers_computed_in_{name}_unclamped", text, answer, only=only)


def _others_through(wide: Any, node: Node) -> Node:
    """Return a node whose integers but those of the leading input went through floats."""

    def through_floats(x: Array | None) -> Array | None:
        dtype = None if x is None else of(x)
        if x is None or x is node.lead or dtype is None or dtype.kind != "int":
            return x
        return _as_integers(x.dtype, np.rint, True, x.astype(wide))

    return replace(node, inputs=tuple(map(through_floats, node.inputs)))


def in_floats(wide: Any, rounding: Rounding, is_clamped: bool, node: Node) -> Sequence[Array]:
    """Mutant: integers of the leading input's type are floats, and results are rounded to it.

    What leaves the range of integers is at its end if it `is_clamped`; else it is the least
    integer, as processors of Intel have it.
    """
    lead = node.lead
    assert lead is not None
    own = lead.dtype

    def widened(x: Array | None) -> Array | None:
        return x.astype(wide) if x is not None and x.dtype == own else x

    outputs = evaluate(replace(node, inputs=tuple(map(widened, node.inputs))))
    convert = partial(_as_integers, own, rounding, is_clamped)
    return [convert(out) if out.dtype == wide else out for out in outputs]


def _as_integers(own: Any, rounding: Rounding, is_clamped: bool, x: Array) -> Array:
    """Return floats as integers of a type; what is out of its range is clamped, or the least.

    NaN is 0.
    """
    low, high = map(int, limits(not_none(of(np.empty(0, own)))))
    whole = np.nan_to_num(rounding(x.astype(np.longdouble)), nan=0.0)
    integers: Array = np.asarray(np.clip(whole, low, high)).astype(own)
    if is_clamped:
        return integers
    is_inside = (whole >= low) & (whole <= high)
    return np.where(is_inside, integers, own.type(low))
