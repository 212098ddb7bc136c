"""The elements of an output: which are wrong, what meets at each, and what is given there.

An element of an output is *met* by the elements of the inputs that are stretched to its place, and
by the *slice* of the leading input along the attribute `axis` or `axes`. What is given where it is
wrong is an *outcome*, such as 0 or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opcheck import opset
from opcheck.compare.elements import Floats, Mask, Want, wide
from opcheck.compare.outputs import in_its_dtype
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.facts import defaults_of
from opcheck.dtypes import DType, are_subnormal, is_real, of
from opcheck.engine import Node
from opcheck.model import Array, Foreign

#: The largest output that is looked at, in elements.
_LARGEST = 1 << 12
#: Right engines miss a floating value that opcheck computes exactly by at most this part of it.
_CLOSE = 2.0**-6
#: How the column of a slice ends that is 1 where the slice has only zeros, and 0 elsewhere.
ONLY_0 = ": only 0"
#: What is given that says nothing about the mistake.
ANY_VALUE = "wrong values"
#: What is given for what is not found: one of the attributes `default_…`.
_DEFAULT = "the default"
#: Kinds of NumPy's types that are texts, or are not known.
_TEXTS = ("O", "U", "S", "T")

#: Names the column of numbers of one input, by element, or of one property of its slices.
Column: TypeAlias = str


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of one output of one case, in a row.

    Attributes:
        columns: What meets at each element: inputs by their labels, and slices of the first.
        right: The right values, as float64; NaN of what are no numbers.
        wrong: A mask of the elements that are wrong; none of a case that passed.
        outcomes: By outcome, a mask of the elements that are it: given where wrong, else right.
        types: The types of the inputs in words, such as "the input is float32".
        single: Inputs of one element, in words.
        dtype: The type of the leading input; None without one, and for a type unknown here.
        relations: By what an input is to an attribute, such as "the input equals `alpha`", a mask
            of the elements at which it is that.
        shape: The lengths of the output's axes.
    """

    columns: Mapping[Column, Floats]
    right: Floats
    wrong: Mask
    outcomes: Mapping[str, Mask]
    types: frozenset[str]
    single: frozenset[str]
    dtype: DType | None
    relations: Mapping[str, Mask]
    shape: tuple[int, ...]


def elements_of(evidence: Evidence) -> Elements | None:
    """Return the elements of the one wrong output of a case, of the first if it passed.

    Without outputs (`evidence.got` None) the case counts as passed. None if several are wrong or
    none is known to be, if not one answer alone is admitted, and for an illegal node. None, too, if
    an output that is looked at is not a tensor, is drawn at random, has another shape than the
    right one or more than 4096 elements. Raises what a bound raises that is computed for the first
    time.
    """
    if len(evidence.admitted) != 1 or not evidence.node.is_legal:
        return None
    judged = _judged(evidence)
    if judged is None:
        return None
    right, got, wrong = judged
    node = evidence.node
    columns = dict(_columns(node, right.shape))
    return Elements(
        columns={name: np.broadcast_to(x, right.shape).ravel() for name, x in columns.items()},
        right=_numbers(right).ravel(),
        wrong=wrong.ravel(),
        outcomes={
            name: np.broadcast_to(mask, right.shape).ravel()
            for name, mask in _outcomes(node, right, got, wrong)
        },
        types=frozenset(f"{label} is {of(x)}" for label, x in _labelled(node)),
        single=frozenset(
            f"the number of elements of {label} is 1" for label, x in _labelled(node) if x.size == 1
        ),
        dtype=None if node.lead is None else of(node.lead),
        relations={
            text: np.broadcast_to(mask, right.shape).ravel()
            for text, mask in _relations(node, right.shape)
        },
        shape=right.shape,
    )


def _judged(evidence: Evidence) -> tuple[Array, Array, Mask] | None:
    """Return the right values of an output, those given, and a mask of the wrong ones.

    Of a pass, given are the right ones of its first output. None as in `elements_of`.
    """
    (wants,) = evidence.admitted
    if evidence.got is None:
        right = _right(wants[0]) if wants else None
        if right is None:
            return None
        return right, right, np.zeros(right.shape, np.bool_)
    found = []
    for place, (want, got) in enumerate(zip(wants, evidence.got, strict=False)):
        right = _right(want)
        if right is None or isinstance(got, Foreign) or got.shape != right.shape:
            return None
        wrong = _wrong(evidence, place, right, got)
        if wrong.any():
            found.append((right, got, wrong))
    return found[0] if len(found) == 1 else None


def _right(want: Want) -> Array | None:
    """Return the right values of an output in their type; None for what is too large or unknown."""
    is_plain = not want.random and want.distribution is None and want.form == "tensor"
    if not is_plain or want.dtype is None or want.values.size > _LARGEST:
        return None
    return in_its_dtype(want)


def _wrong(evidence: Evidence, place: int, right: Array, got: Array) -> Mask:
    """Mask the elements of an output that are wrong: off by more than correct engines may be.

    Right are equal ones, NaN too. So are finite floats within a 64th of the nearest right value, or
    within twice the error that the bound allows. All arrays have one shape. Raises what a bound
    raises that is computed for the first time.
    """
    same = np.asarray((got == right) | ((got != got) & (right != right)))
    nearest = evidence.nearest[place]
    if nearest is None:
        return ~same
    with np.errstate(all="ignore"):
        is_close = np.abs(wide(got) - wide(nearest)) <= _CLOSE * np.abs(wide(nearest))
    both_finite = np.isfinite(wide(got)) & np.isfinite(wide(nearest))
    return np.asarray(
        ~(same | (is_close & both_finite) | evidence.within_errors(place, got, nearest))
    )


def _numbers(array: Array) -> Floats:
    """Return real numbers and booleans as float64, NaN for each element of another kind."""
    if array.dtype.kind in (*_TEXTS, "c"):
        return np.full(array.shape, np.nan)
    return wide(array)


# ── what meets at an element ──────────────────────────────────────────────────────────────────


def _labelled(node: Node) -> Iterator[tuple[str, Array]]:
    """Yield the inputs that are given, each after its name in words.

    That is "the input" for a single one; one of a variadic parameter, or without a schema, goes by
    its place.
    """
    schema = opset.versions(node.op.domain, node.op.name).get(node.op.since)
    parameters = schema.inputs if schema else ()
    given = [(place, x) for place, x in enumerate(node.inputs) if x is not None]
    for place, x in given:
        if len(given) == 1:
            yield "the input", x
        elif place < len(parameters) and parameters[place].option != "variadic":
            yield f"input {parameters[place].name}", x
        else:
            yield f"input {place}", x


def _columns(node: Node, shape: tuple[int, ...]) -> Iterator[tuple[Column, Floats]]:
    """Yield what meets at the elements of an output of a shape, to which it broadcasts.

    That is the inputs, and the slices of the first one along the node's axes. Texts, complex
    numbers, and inputs that do not broadcast to the shape are left out.
    """
    labelled = [*_labelled(node)]
    for label, x in labelled:
        if x.dtype.kind in (*_TEXTS, "c") or not _broadcasts(x.shape, shape):
            continue
        yield label, wide(x)
    label, x = labelled[0] if labelled else ("", np.zeros(0))
    if is_real(x):
        for axes_in_words, axes in _axes(node, x.ndim):
            yield from _slices(f"{label}, {axes_in_words}", wide(x), axes, shape)


def _relations(node: Node, shape: tuple[int, ...]) -> Iterator[tuple[str, Mask]]:
    """Yield what inputs that are stretched to a shape are to attributes that are one number.

    They equal one, which is rounded to their type, or are above or below it.
    """
    for label, x in _labelled(node):
        is_number = is_real(x) or x.dtype.kind in "iu"
        if not is_number or not _broadcasts(x.shape, shape):
            continue
        for name, value in _single_values(node):
            if isinstance(value, str) or name.startswith("default_"):
                continue
            number = _rounded(value, x)
            yield f"{label} equals `{name}`", np.asarray(wide(x) == number)
            yield f"{label} has a value above `{name}`", np.asarray(wide(x) > number)
            yield f"{label} has a value below `{name}`", np.asarray(wide(x) < number)


def _rounded(value: Any, like: Array) -> Floats:
    """Return a number as float64, rounded to the type of an array of floats; [] in shape."""
    if not is_real(like):
        return np.asarray(value, np.float64)
    with np.errstate(all="ignore"):
        return wide(np.asarray(value).astype(like.dtype))


def _broadcasts(one: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Return True if an array of one shape is stretched to another."""
    try:
        return np.broadcast_shapes(one, shape) == shape
    except ValueError:
        return False


def _axes(node: Node, rank: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the axes that `axis` or `axes` names, in words, and those from `axis` on.

    Nothing without such an attribute or default, and for what is out of range.
    """
    if not rank:
        return
    for name in ("axis", "axes"):
        value = node.attrs.get(name, defaults_of(node.op).get(name))
        values = (value,) if isinstance(value, int) else value
        if not isinstance(values, tuple) or not values:
            continue
        axes = [axis for axis in values if isinstance(axis, int)]
        if not all(-rank <= axis < rank for axis in axes):
            continue
        yield f"along `{name}`", tuple(sorted({axis % rank for axis in axes}))
        if name == "axis":
            yield "from `axis` on", tuple(range(axes[0] % rank, rank))


def _slices(
    label: str, x: Floats, axes: tuple[int, ...], shape: tuple[int, ...]
) -> Iterator[tuple[Column, Floats]]:
    """Yield properties of the slices of an input along axes, by element of an output of a shape.

    The output has the shape of the input, or that without these axes, or with a 1 there. Properties
    are whether all is 0, the largest and the smallest. Nothing for an empty input.
    """
    if not x.size:
        return
    with np.errstate(all="ignore"):
        found = {
            ONLY_0: np.all(x == 0, axes, keepdims=True).astype(np.float64),
            ": largest": np.max(x, axes, keepdims=True),
            ": smallest": np.min(x, axes, keepdims=True),
        }
    for name, value in found.items():
        if shape == x.shape:
            yield f"{label}{name}", value
        elif math.prod(shape) == value.size:
            yield f"{label}{name}", value.reshape(shape)


# ── what is given ─────────────────────────────────────────────────────────────────────────────


def _outcomes(node: Node, right: Array, got: Array, wrong: Mask) -> Iterator[tuple[str, Mask]]:
    """Yield outcomes, each with a mask of the elements that are it: given if wrong, else right."""
    seen = np.where(wrong, got, right)
    if right.dtype.kind == "b":
        yield "True", seen == True  # noqa: E712 (elements of an array)
        yield "False", seen == False  # noqa: E712 (elements of an array)
    elif right.dtype.kind not in (*_TEXTS, "c"):
        numbers = wide(seen)
        yield "0", (numbers == 0) | (_may_be_flushed(node, right) & ~wrong)
        yield "NaN", np.isnan(numbers)
        yield "infinity", np.isposinf(numbers)
        yield "-infinity", np.isneginf(numbers)
        yield "1", numbers == 1
        yield from _off_by_one(right, got, wrong)
        yield "the right values with the opposite sign", wrong & _are_opposite(right, got)
    for label, x in _labelled(node):
        if x.dtype == right.dtype and _broadcasts(x.shape, right.shape):
            yield label, np.asarray((seen == x) | ((seen != seen) & (x != x)))
    masks: dict[str, Mask] = {}
    is_text = right.dtype.kind in _TEXTS
    for name, value in _single_values(node):
        if isinstance(value, str) != is_text or right.dtype.kind == "c":
            continue
        outcome = _DEFAULT if name.startswith("default_") else f"`{name}`"
        masks[outcome] = masks.get(outcome, False) | _are(seen, value)
    yield from masks.items()
    yield ANY_VALUE, wrong


def _may_be_flushed(node: Node, right: Array) -> Mask:
    """Mask elements that an engine may flush to 0: a subnormal is their right value or meets there.

    That is of floating types.
    """
    flushed = np.zeros(right.shape, np.bool_)
    for x in (right, *(x for _, x in _labelled(node))):
        if _broadcasts(x.shape, right.shape):
            flushed |= are_subnormal(x)
    return flushed


def _off_by_one(right: Array, got: Array, wrong: Mask) -> Iterator[tuple[str, Mask]]:
    """Yield the outcomes of integers one off from the right ones, with masks; none of others."""
    if right.dtype.kind not in "iu":
        return
    # Differences of 64 bits are exact in their own type alone, and there in one direction.
    smaller = wrong & (got < right) & (right - got == 1)
    larger = wrong & (got > right) & (got - right == 1)
    yield "what is one too small", smaller
    yield "what is one too large", larger
    yield "what is one too small in size", (smaller & (right > 0)) | (larger & (right < 0))


def _are_opposite(right: Array, got: Array) -> Mask:
    """Mask the numbers that are the right ones with the opposite sign."""
    if right.dtype.kind == "i":
        return np.asarray(got == -right)
    return np.asarray(wide(got) == -wide(right))


def _are(seen: Array, value: Any) -> Mask:
    """Mask the elements that are a value; a number is rounded to a floating type."""
    if is_real(seen):
        with np.errstate(all="ignore"):
            return np.asarray(wide(seen) == wide(np.asarray(value).astype(seen.dtype)))
    # NumPy's own integers are compared exactly, those of fewer bits only with what they hold.
    is_narrow = seen.dtype.kind == "V"
    return np.asarray((wide(seen) if is_narrow else seen) == value)


def _single_values(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that are one value, stated or by default, by name."""
    for name, value in {**defaults_of(node.op), **node.attrs}.items():
        if isinstance(value, np.ndarray) and value.size == 1:
            yield name, value.ravel()[0]
        elif isinstance(value, int | float | str):
            yield name, value
