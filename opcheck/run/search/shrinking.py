"""Smaller nodes like one that was found: less of everything, and plainer numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.model import Array, Given, TensorSpec
from opcheck.run.search.drawing import Candidate

#: How many nodes are tried; what is found by then is small enough.
_PATIENCE = 400
#: Of tensors up to this size each element is made plainer by itself.
_FEW = 80


def shrunk(found: Candidate, still: Callable[[Candidate], bool]) -> Candidate:
    """The smallest node that is reached from `found` by steps after which it is `still` one."""
    left = _PATIENCE
    again = True
    while again:
        again = False
        for step in _steps(found):
            if left == 0:
                return found
            left -= 1
            if still(step):
                found, again = step, True
                break
    return found


def _steps(found: Candidate) -> Iterator[Candidate]:
    yield from _fewer_elements(found)
    yield from _fewer_axes(found)
    yield from _plainer_attributes(found)
    yield from _plainer_values(found)
    for number, spec in enumerate(found.inputs):
        if spec.initializer:
            yield found.with_input(number, replace(spec, initializer=False))


def _given(found: Candidate) -> Iterator[tuple[int, TensorSpec, Array]]:
    for number, spec in enumerate(found.inputs):
        if isinstance(spec.content, Given):
            yield number, spec, spec.content.values


def _holding(spec: TensorSpec, values: Array) -> TensorSpec:
    return replace(spec, shape=values.shape, content=Given(values))


def _fewer_elements(found: Candidate) -> Iterator[Candidate]:
    for number, spec, values in _given(found):
        for axis, length in enumerate(values.shape):
            halves = (range(length // 2), range(length // 2, length)) if length > 3 else ()
            singles = ([i for i in range(length) if i != gone] for gone in range(length))
            for kept in (*halves, *(singles if 1 < length <= _FEW else ())):
                smaller = np.take(values, list(kept), axis=axis)
                yield found.with_input(number, _holding(spec, smaller))


def _fewer_axes(found: Candidate) -> Iterator[Candidate]:
    for number, spec, values in _given(found):
        for axis, length in enumerate(values.shape):
            if length != 1:
                continue
            fewer = found.with_input(number, _holding(spec, values.squeeze(axis)))
            yield fewer
            stated = found.attrs.get("axis")
            for moved in (stated - 1, stated + 1) if isinstance(stated, int) else ():
                yield replace(fewer, attrs={**found.attrs, "axis": moved})


def _plainer_attributes(found: Candidate) -> Iterator[Candidate]:
    for name, value in found.attrs.items():
        yield replace(found, attrs={k: v for k, v in found.attrs.items() if k != name})
        for plainer in _plainer(value):
            yield replace(found, attrs={**found.attrs, name: plainer})


def _plainer(value: object) -> Iterator[Any]:
    match value:
        case tuple() if value and all(isinstance(one, int) for one in value):
            for place, one in enumerate(value):
                if isinstance(one, int) and one > 0:
                    yield (*value[:place], one - 1, *value[place + 1 :])
        case int() if abs(value) > 2:
            yield from (value // abs(value), value // abs(value) * 2)
        case float() if not value.is_integer():
            yield float(math.ceil(value))


def _plainer_values(found: Candidate) -> Iterator[Candidate]:
    for number, spec, values in _given(found):
        if spec.dtype.kind != "float":
            continue
        whole = np.where(np.isfinite(values), np.clip(np.rint(values), -99, 99), values)
        for change in (np.zeros_like(values), np.sign(values), whole):
            if change.tobytes() != values.tobytes() and _worth(change) < _worth(values):
                yield found.with_input(number, _holding(spec, change))
        if values.size > _FEW:
            continue
        for place in range(values.size):
            for plain in (0.0, 1.0, whole.flat[place], 2.0, -1.0):
                changed = values.copy()
                changed.flat[place] = plain
                if _worth(changed) < _worth(values):
                    yield found.with_input(number, _holding(spec, changed))


def _worth(values: Array) -> float:
    """How far values are from plain: digits to be read, roughly."""
    return float(sum(map(_digits, values.reshape(-1).tolist())))


def _digits(value: float) -> float:
    if value == 0:
        return 1 if math.copysign(1.0, value) < 0 else 0
    if not math.isfinite(value):
        return 4
    return min(len(f"{value:g}") + (value != float(f"{value:g}")) * 8, 12) + (value < 0) / 2
