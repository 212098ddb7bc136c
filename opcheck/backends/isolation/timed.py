"""Requests to time, and what is told of them, as messages; the worker's part of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from json import dumps
from json import loads as read_json
from typing import Any, TypeVar

from opcheck.backends.base import Backend
from opcheck.backends.isolation.channel import Damaged
from opcheck.backends.isolation.wire import read_outputs, written_outputs
from opcheck.backends.observe import told
from opcheck.backends.timing import Held
from opcheck.model.question import Elapsed, Hold, Measure, Ready, Release, Released

Answer = TypeVar("Answer")

#: What reading a message that is none raises.
_GARBAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)


class Timer:
    """Answers requests to time, in the worker."""

    def __init__(self, backend: Backend, printed: Callable[[], str]) -> None:
        """`printed` gives the end of what was printed since the last time."""
        self._backend = backend
        self._printed = printed
        self._held: Held | None = None

    def answer(self, asked: Hold | Measure | Release) -> list[Any]:
        """What is told of a request, as a message; no exception leaves this."""
        try:
            match asked:
                case Hold(question):
                    self._held = None
                    self._held = Held(self._backend, question)
                    self._printed()  # what is printed once is in no sample
                    ready = {"prepared": self._held.prepared, "first": self._held.first}
                    return [dumps(ready).encode()]
                case Measure():
                    assert self._held
                    return [dumps(asdict(self._held.elapsed(asked))).encode()]
                case Release(other):
                    assert self._held
                    held, self._held, printed = self._held, None, self._printed()
                    outputs = held.outputs()
                    others, looked_up = held.on_other_data() if other else ((), 0.0)
                    described, blobs = written_outputs((*outputs, *others))
                    record = {"outputs": described, "count": len(outputs), "printed": printed}
                    return [dumps(record | {"looked_up": looked_up}).encode(), *blobs]
        except BaseException as error:
            self._held = None
            kind = type(error).__name__
            return [dumps({"failed": f"{kind}: {told(error)}".removesuffix(": ")}).encode()]


def read_ready(parts: Sequence[bytearray]) -> Ready | str:
    """What was told of a task that is held, or how that failed; raises Damaged."""
    return _read(parts, lambda told: Ready(_seconds(told["prepared"]), _seconds(told["first"])))


def read_elapsed(parts: Sequence[bytearray]) -> Elapsed | str:
    """What was measured, or how that failed; raises Damaged."""
    return _read(
        parts, lambda told: Elapsed(_seconds(told["seconds"]), _seconds(told["waited"], least=0))
    )


def read_release(parts: Sequence[bytearray]) -> Released | str:
    """The answer that was told, or how that failed; raises Damaged."""

    def released(told: Any) -> Released:
        outputs, count = read_outputs(told["outputs"], parts), int(told["count"])
        looked_up = _seconds(told["looked_up"], least=0)
        return Released(outputs[:count], str(told["printed"]), outputs[count:], looked_up)

    return _read(parts, released)


def _read(parts: Sequence[bytearray], read: Callable[[Any], Answer]) -> Answer | str:
    try:
        record = read_json(parts[0])
        if "failed" in record:
            return str(record["failed"])
        return read(record)
    except _GARBAGE as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error


def _seconds(told: Any, least: float = math.ulp(0)) -> float:
    """As many seconds; a clock's smallest step is more than nothing."""
    seconds = float(told)
    if not least <= seconds < math.inf:
        raise ValueError(f"{seconds} seconds")
    return seconds
