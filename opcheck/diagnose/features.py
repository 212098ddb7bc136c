"""Describe cases by facts that some of them share, in words that fit after "where"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from opcheck.model import AnyOf, AttrValue, Case, Given, Rejected, TensorSpec

#: Facts by how natural they are as a cause: what a kernel branches on, a value, a limit on a size.
PLAIN, VALUE, LIMIT = range(3)
_INT32 = 1 << 31
#: Lengths of so many leading axes are looked at.
_AXES = 4
_NUMBERS = re.compile(r"\[[-\d, ]*\]|-?\d+")


@dataclass(frozen=True)
class Feature:
    """A fact, and the cases that it holds of: bit n of `holds` is case n."""

    text: str
    rank: int
    holds: int


def invalid(case: Case) -> str:
    """Why a model must be refused, without the numbers in it; "" for a legal one."""
    expect = case.expect
    return _NUMBERS.sub("#", expect.reason) if isinstance(expect, Rejected) else ""


def legal_twin(case: Case) -> Case | None:
    """The legal twin of a model that may or must be refused, at the opset of the case."""
    parts = [a.expect for a in case.expect.alternatives] if isinstance(case.expect, AnyOf) else []
    rejected = [one for one in (case.expect, *parts) if isinstance(one, Rejected)]
    return next((replace(one.legal, opset=case.opset) for one in rejected), None)


def features(cases: Sequence[Case]) -> list[Feature]:
    """Return what distinguishes `cases`, which are of one operator, the most natural first.

    Of features that hold of the same cases only the first is kept.
    """
    attrs = {name: None for case in cases for name in case.attrs}
    facts: dict[tuple[str, int], int] = defaultdict(int)
    sizes: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for number, case in enumerate(cases):
        for fact in _facts(case, list(attrs)):
            facts[fact] |= 1 << number
        for size in _sizes(case):
            sizes[size[:2]][number] = size[2]
    found = [Feature(*fact, holds) for fact, holds in facts.items()]
    found += [
        limit for (text, rank), values in sizes.items() for limit in _limits(text, rank, values)
    ]
    everything = (1 << len(cases)) - 1
    distinct: dict[int, Feature] = {}
    for feature in sorted(found, key=lambda one: one.rank):
        if feature.holds != everything:
            distinct.setdefault(feature.holds, feature)
    return [*distinct.values()]


def _limits(text: str, rank: int, values: dict[int, int]) -> Iterator[Feature]:
    """Each value of a size as a limit, and by itself if kernels branch on it."""

    def feature(said: str, rank: int, numbers: Iterable[int]) -> Feature:
        return Feature(f"{text} is {said}", rank, sum(1 << number for number in numbers))

    for level in sorted({*values.values()}):
        # Loops over nothing are a matter of their own.
        its_rank = min(rank, VALUE) if level < 2 else rank
        if its_rank < LIMIT:
            yield feature(f"{level:,}", its_rank, (n for n, v in values.items() if v == level))
        yield feature(f"{level:,} or more", its_rank, (n for n, v in values.items() if v >= level))
        yield feature(f"{level:,} or less", its_rank, (n for n, v in values.items() if v <= level))


def _facts(case: Case, attrs: Sequence[str]) -> Iterator[tuple[str, int]]:
    for name in attrs:
        yield f"`{name}` is {'given' if name in case.attrs else 'left out'}", PLAIN
    yield from ((f"input {n} is left out", PLAIN) for n, slot in enumerate(case.slots) if not slot)
    for spec in case.inputs:
        yield from ((f"{_the(case, spec)} {fact}", PLAIN) for fact in _of_input(spec))
    yield f"the model is {f'invalid: {invalid(case)}' if invalid(case) else 'legal'}", PLAIN
    yield f"the version is {case.op.since}", VALUE
    for name, value in case.attrs.items():
        yield from ((f"`{name}` {fact}", rank) for fact, rank in _of_value(value))
        if (axes := _axes(case, name)) is None:
            continue
        yield f"`{name}` is {'in' if axes else 'out of'} range", PLAIN
        rank = len(case.inputs[0].shape)
        if isinstance(value, int) and not -rank <= value <= rank:
            yield f"`{name}` is out of range by more than one place at the end", PLAIN
        if axes == [rank - 1]:
            yield f"`{name}` is the last axis", VALUE


def _the(case: Case, spec: TensorSpec) -> str:
    return "the input" if len(case.inputs) == 1 else f"input {spec.name}"


def _of_input(spec: TensorSpec) -> Iterator[str]:
    yield f"is {spec.dtype}"
    yield "is a constant" if spec.initializer else "is fed"
    yield from (f"has an axis of length {n}" for n in (0, 1) if n in spec.shape)
    yield from (f"has length 0 along axis {n}" for n, size in enumerate(spec.shape) if not size)
    values = [put.value for put in spec.put]
    if isinstance(spec.content, Given) and spec.dtype.kind == "float":
        values += [*np.asarray(spec.content.values, np.float64).reshape(-1)[:4096]]
    yield from ["has a NaN"] * bool(np.isnan(values).any())
    yield from ["has an infinity"] * bool(np.isinf(values).any())


def _of_value(value: AttrValue) -> Iterator[tuple[str, int]]:
    values: Iterable[object] = value if isinstance(value, tuple) else (value,)
    if not isinstance(value, tuple):
        yield f"is {value}", VALUE
    elif len({*value}) > 1:
        yield "has unequal values", VALUE
    numbers = [number for number in values if isinstance(number, int | float)]
    if any(number < 0 for number in numbers):
        yield "has a negative value" if values is value else "is negative", PLAIN
    if values is value and 0 in numbers:
        yield "has a 0", VALUE
    if any(isinstance(number, int) and not -_INT32 <= number < _INT32 for number in numbers):
        yield "needs more than 32 bits", PLAIN


def _axes(case: Case, name: str) -> list[int] | None:
    """The axes that an attribute names, from 0: none if one is out of range, None if it cannot."""
    value = case.attrs.get(name)
    axes = value if isinstance(value, tuple) else (value,)
    if name.lower() not in ("axis", "axes") or not case.inputs:
        return None
    rank = len(case.inputs[0].shape)
    inside = [axis % rank for axis in axes if isinstance(axis, int) and -rank <= axis < rank]
    return inside if len(inside) == len(axes) else []


def _sizes(case: Case) -> Iterator[tuple[str, int, int]]:
    yield "the opset", VALUE, case.opset
    for spec in case.inputs:
        shape, of = spec.shape, "" if len(case.inputs) == 1 else f" of input {spec.name}"
        if "kernel_shape" in case.attrs:
            yield f"the number of spatial axes{of}", PLAIN, max(0, len(shape) - 2)
        yield f"the rank{of}", PLAIN, len(shape)
        yield from (
            (f"the length of axis {n}{of}", LIMIT, size) for n, size in enumerate(shape[:_AXES])
        )
        yield from [(f"the length of the last axis{of}", LIMIT, shape[-1])] if shape else ()
        yield f"the longest axis{of}", LIMIT, max(shape, default=0)
        yield f"the number of elements{of}", LIMIT, prod(shape)
    for name, value in case.attrs.items():
        if axes := _axes(case, name):
            shape = case.inputs[0].shape
            parts = {
                "along": [shape[axis] for axis in axes],
                "across": [size for axis, size in enumerate(shape) if axis not in axes],
                "before": shape[: axes[0]],
                "from": shape[axes[0] :],
            }
            for where, part in parts.items():
                yield f"the number of elements {where} `{name}`", LIMIT, prod(part)
        if isinstance(value, tuple):
            yield f"the number of `{name}`", VALUE, len(value)
            if numbers := [one for one in value if isinstance(one, int)]:
                yield f"the largest of `{name}`", LIMIT, max(numbers)
        elif isinstance(value, int):
            yield f"`{name}`", LIMIT, value
