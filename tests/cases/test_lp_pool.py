"""The suite of LpPool: its literals against a slow loop."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import mpmath
import numpy as np
import pytest

from opcheck.dtypes import limits
from opcheck.model import AnyOf, Case, TensorSpec, Values
from opcheck.suite import materialize, unrounded
from tests.asking import shipped_cases
from tests.precise.by_the_text import norm, windows

CASES = shipped_cases("LpPool")


def lp_pool(x: Any, attrs: Mapping[str, Any]) -> tuple[tuple[int, ...], list[Any]]:
    """The output's shape and its elements in row-major order."""
    spatial = [windows(length, axis, attrs) for axis, length in enumerate(x.shape[2:])]
    shape = (*x.shape[:2], *map(len, spatial))
    elements = []
    for n, c, *numbers in product(*map(range, shape)):
        held = (spatial[axis][number] for axis, number in enumerate(numbers))
        inside = [float(x[n, c, *place]) for place in product(*held)]
        elements.append(norm(inside, attrs.get("p", 2)))
    return shape, elements


def asked(case: Case) -> tuple[Any, dict[str, Any]]:
    """The input and the attributes of a case; a p is a float of 32 bits, or a whole number."""
    attrs: dict[str, Any] = dict(case.attrs)
    if "p" in attrs and case.op.since == 1:
        attrs["p"] = float(np.float32(attrs["p"]))
    return materialize(case.inputs[0]), attrs


def check(stated: TensorSpec, shape: Sequence[int], exact: Sequence[Any]) -> None:
    """The literal is the exact answer, rounded once to 64 bits; or infinite, beyond its type."""
    values = unrounded(stated)
    assert values.shape == tuple(shape)
    for value, right in zip(values.reshape(-1).tolist(), exact, strict=True):
        if value == mpmath.inf and right != mpmath.inf:
            assert right > limits(stated.dtype)[1] * (1 + 2.0**-stated.dtype.precision)
        else:
            assert value == float(right) or (value != value and right != right)


def explicit(attrs: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    left = {name: value for name, value in attrs.items() if name != "auto_pad"}
    return {**left, "pads": [begin, end]}


def dropped(x: Any, attrs: dict[str, Any]) -> tuple[tuple[int, ...], list[Any]]:
    """Without the windows that start past the input."""
    shape, exact = lp_pool(x, attrs)
    rank = x.ndim - 2
    first = attrs.get("pads", [0] * rank)[:rank]
    kept = [
        min(size, ceil(Fraction(x.shape[2 + i] + first[i], attrs["strides"][i])))
        for i, size in enumerate(shape[2:])
    ]
    among: Any = (..., *map(slice, kept))
    answer = np.array(exact, object).reshape(shape)[among]
    return answer.shape, answer.reshape(-1).tolist()


def size_of_the_input(x: Any, attrs: dict[str, Any]) -> tuple[tuple[int, ...], list[Any]]:
    """As many windows as elements, with the padding that takes."""
    (size,), (kernel,), (stride,) = x.shape[2:], attrs["kernel_shape"], attrs["strides"]
    padding = (size - 1) * stride + kernel - size
    fewer, more = padding // 2, padding - padding // 2
    upper = attrs["auto_pad"] == "SAME_UPPER"
    return lp_pool(x, explicit(attrs, *((fewer, more) if upper else (more, fewer))))


def no_windows(x: Any, attrs: dict[str, Any]) -> tuple[tuple[int, ...], list[Any]]:
    """No window along an axis whose size comes out as 0 or less."""
    shape, exact = lp_pool(x, attrs)
    return tuple(max(0, size) for size in shape), exact


#: What the names of alternatives mean.
READINGS: dict[str, Any] = {
    "as_in_version_11": lp_pool,
    "as_without_ceil_mode": lp_pool,
    "counted": lp_pool,
    "dropped": dropped,
    "empty": no_windows,
    "formula": lp_pool,
    "partial_window": lambda x, attrs: lp_pool(x, {**attrs, "ceil_mode": 1}),
    "rounded_up": lambda x, attrs: lp_pool(x, explicit(attrs, 0, 0)),
    "size_of_the_input": size_of_the_input,
    "whole_extent": lambda x, attrs: lp_pool(x, {**attrs, "kernel_shape": x.shape[2:]}),
}


@pytest.mark.parametrize("name", sorted({c.name for c in CASES if isinstance(c.expect, Values)}))
def test_literals_are_what_a_slow_loop_makes(name: str) -> None:
    for case in CASES:
        if case.name == name and isinstance(case.expect, Values):
            check(case.expect.outputs[0], *lp_pool(*asked(case)))


@pytest.mark.parametrize("case", [c for c in CASES if c.rule == "open"], ids=lambda c: c.id)
def test_alternatives_are_what_their_names_say(case: Case) -> None:
    assert isinstance(case.expect, AnyOf)
    for alternative in case.expect.alternatives:
        if isinstance(alternative.expect, Values):
            check(alternative.expect.outputs[0], *READINGS[alternative.name](*asked(case)))
