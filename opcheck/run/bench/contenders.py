"""Who takes part in the rounds: the processes of backends, and two pieces of work in this one."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from opcheck.backends.timing import Repeated
from opcheck.model.stopwatch import Elapsed, Measure

#: What the yardstick works on: as much as takes some tenths of a millisecond.
_YARDSTICK = bytes(range(256)) * 1024


class Measures(Protocol):
    """Something that can be timed."""

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        """Time a call, as the mean of `loops` calls."""
        ...


class Here:
    """A piece of work in this process, timed as workers time theirs."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._repeated = Repeated(call)

    def measure(self, loops: int, flushed: int = 0) -> Elapsed:
        """Time a call, as the mean of `loops` calls."""
        with _uncollected():
            return self._repeated.elapsed(Measure(loops, flushed))


@contextmanager
def _uncollected() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def copying(moved: int) -> Here:
    """A copy that moves so many bytes, half of them read and half written."""
    source = np.ones(max(1, moved // 2), np.uint8)
    target = np.zeros_like(source)
    return Here(lambda: np.copyto(target, source))


def yardstick() -> Here:
    """The same work in every run: a hash, of which no release of a library changes the steps."""
    return Here(lambda: hashlib.blake2b(_YARDSTICK).digest())
