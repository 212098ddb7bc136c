"""Calls of NumPy's functions, their costs, and the sums they make.

NumPy copies arrays that lie in short runs of memory to a buffer and back, as many runs at a time as
fit there. Long runs had better be left where they are, and how many runs there are then matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.windows import AxisWindows
from opcheck.model import Array

Call: TypeAlias = Callable[[], object]
#: Calls a function with the arguments that follow it.
Via: TypeAlias = Callable[..., Any]
#: Some windows, and an element of each, (A, windows, B).
Slice: TypeAlias = tuple[slice, Array]

# In nanoseconds, roughly: an element; an array in runs that is copied, for each element and each
# run; a run where nothing is copied; and changing the buffer for a call.
ELEMENT, _COPIED, _COPIED_RUN, _RUN, _CHANGE = 0.065, 0.06, 2.0, 28.0, 2000.0
#: The smallest buffer there is, in elements.
_NO_BUFFER = 16


def gaps(elements: float, run: float, arrays: int = 1) -> float:
    """What it adds to the cost of a call that so many of its arrays lie in runs of this length."""
    return elements / run * min(_copying(run, arrays), _RUN)


def laid_down(function: Callable[..., Any], *inputs: Array, out: Array) -> Call:
    """A function of NumPy of these arrays, to be called when they are filled."""
    how = via(*inputs, out)
    call = function if how is as_usual else partial(how, function)
    return partial(call, *inputs, out=out)


def via(*arrays: Array) -> Via:
    """Return how to call a function of these arrays."""
    runs = [(run, array.size) for array in arrays if (run := _run(array)) < array.size]
    if not runs:
        return as_usual
    run, size = min(runs)
    saved = size / run * (_copying(run, len(runs)) - _RUN)
    return _without_buffer if saved > _CHANGE else as_usual


def _copying(run: float, arrays: int) -> float:
    """Return the cost of copying this many arrays, per run."""
    return arrays * (run * _COPIED + _COPIED_RUN)


def _run(array: Array) -> int:
    """How many elements lie one after the other, at any distance, before there is a larger gap."""
    run, expected = 1, None
    for length, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if length > 1:
            if expected not in (None, stride):
                break
            run, expected = run * length, stride * length
    return run


def as_usual(function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """The function of these."""
    return function(*arguments, **more)


def in_place_first(function: Callable[..., Any], x: Array, *, out: Array) -> None:
    """The function in the place of `x`, which is then copied."""
    function(x, out=x)
    np.copyto(out, x)


def _without_buffer(function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    before = np.setbufsize(_NO_BUFFER)
    try:
        return function(*arguments, **more)
    finally:
        np.setbufsize(before)


def slices_of(block: Array, axis: AxisWindows) -> list[Slice]:
    """What there is to be added up in a block (A, L, B)."""
    return [(windows, block[:, elements]) for windows, elements in map(axis.reach, axis.offsets)]


def additions(slices: Sequence[Slice], out: Array) -> Iterator[Call]:
    """Yield the calls that fill `out`, (A, windows, B), with the sums."""
    # Those that all windows have come first, so that there need be no zeros.
    slices = sorted(slices, key=lambda some: some[0].start - some[0].stop)
    everywhere = 0
    for windows, _ in slices[:2]:
        if windows.stop - windows.start < out.shape[1]:
            break
        everywhere += 1
    if everywhere == 2:
        yield laid_down(np.add, slices[0][1], slices[1][1], out=out)
    elif everywhere:
        yield laid_down(np.absolute, slices[0][1], out=out)
    else:
        yield partial(np.copyto, out, 0)
    for windows, elements in slices[everywhere:]:
        some = out[:, windows]
        yield laid_down(np.add, some, elements, out=some)
