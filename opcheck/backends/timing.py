"""A task that a backend's own process keeps ready, and how long its runs take there.

As in `observe`, what is needed of other packages is bound before a backend is imported.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any

from numpy import uint8, zeros

from opcheck.backends.base import Backend, Bare, Repeatable
from opcheck.backends.observe import Outputs, as_outputs
from opcheck.model import Question
from opcheck.model.stopwatch import Measure

#: How far apart memory is touched, in bytes: no processor has shorter lines in its caches.
_LINE = 64
#: Where opcheck's own adapters are.
_OWN = "opcheck.backends.adapters."
#: To a call of so many seconds it matters little that others have emptied the caches.
_LONG = 0.01


class Repeated:
    """A call that is timed again and again."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._last = 0.0
        self._other = zeros(0, uint8)

    def seconds(self, asked: Measure) -> float:
        """How long a call takes, the mean of as many as asked for."""
        call, loops = self._call, asked.loops
        if asked.flushed:
            return sum(self._after_flush(asked.flushed) for _ in range(loops)) / loops
        if self._last < _LONG:
            call()
        start = perf_counter()
        for _ in repeat(None, loops):
            call()
        self._last = (perf_counter() - start) / loops
        return self._last

    def _after_flush(self, size: int) -> float:
        if self._other.size != size:
            self._other = zeros(size, uint8)
        self._other[::_LINE] += 1
        start = perf_counter()
        self._call()
        return perf_counter() - start


class Held(Repeated):
    """One task with its data, ready to be run; it took `prepared` seconds, and a `first` run.

    Where the adapter is opcheck's and can, runs are timed without what it does to bring arrays to
    the backend and back.
    """

    def __init__(self, backend: Backend, question: Question) -> None:
        gc.disable()
        gc.collect()
        # Its own copy: a backend may hold on to it, or write into it.
        self._inputs = [array.copy() for array in question.inputs]
        # Once before, because the first time much is loaded that serves for all tasks.
        backend.prepare(question.task)
        start = perf_counter()
        task = backend.prepare(question.task)
        self.prepared = perf_counter() - start
        bare = Bare(partial(task.run, self._inputs), _as_it_is)
        # Nobody else is trusted with saying what its work is.
        if isinstance(task, Repeatable) and type(task).__module__.startswith(_OWN):
            bare = task.repeated(self._inputs)
        super().__init__(bare.call)
        self._outputs = bare.outputs
        start = perf_counter()
        bare.call()
        self.first = self._last = perf_counter() - start

    def outputs(self) -> Outputs:
        """The answer of one more run, the same that is timed."""
        return as_outputs(self._outputs(self._call()))


def _as_it_is(returned: Any) -> Any:
    return returned
