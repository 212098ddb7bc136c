"""Messages between the parent and a worker: questions, answers, and times.

Questions are pickled. Answers are JSON and raw bytes, because a process that a backend has been at
may be trusted with no pickle. What is needed of other packages is bound here, before a backend is
imported that changes them.
"""

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice, zip_longest
from json import dumps
from json import loads as read_json
from math import prod
from pickle import PickleBuffer, Pickler
from pickle import loads as unpickled
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import ml_dtypes
import numpy as np
from numpy import dtype as dtype_of
from numpy import frombuffer, ndarray, zeros

from opcheck.backends.base import Backend, Defect
from opcheck.backends.execute import CallFailure, Observed, Outputs, as_declared, told
from opcheck.backends.isolation.channel import Damaged
from opcheck.backends.timing import Held
from opcheck.dtypes import ELEMENT_TYPES, DType
from opcheck.model import Array, Foreign, Items, Question
from opcheck.model.question import Elapsed, Hold, Measure, Ready, Release, Released

Told = TypeVar("Told")
_BYTE = dtype_of("u1")
#: What reading a message that is none raises.
_GARBAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)
#: How many bytes are compared at once.
_PIECE = 1 << 18

#: What a worker is asked.
WorkerRequest: TypeAlias = Question | Hold | Measure | Release
#: A question is put to several backends, and pickled once.
_pickled: WeakKeyDictionary[WorkerRequest, list[Any]] = WeakKeyDictionary()


def question_parts(question: WorkerRequest) -> list[Any]:
    """A question as a message; its arrays are not copied."""
    if question not in _pickled:
        buffers: list[PickleBuffer] = []
        file = io.BytesIO()
        pickler = Pickler(file, protocol=5, buffer_callback=buffers.append)
        # NumPy's own way would have the worker look up names that a backend may have changed.
        pickler.dispatch_table = {
            ndarray: _reduced_array,
            DType: lambda dtype: (_dtype_named, (dtype.name,)),
        }
        pickler.dump(question)
        _pickled[question] = [file.getbuffer(), *(buffer.raw() for buffer in buffers)]
    return _pickled[question]


def read_question(parts: Sequence[bytearray]) -> WorkerRequest:
    """The other way round; the arrays lie in the `parts`."""
    question: WorkerRequest = unpickled(parts[0], buffers=parts[1:])
    return question


def _reduced_array(array: Array) -> Any:
    if array.dtype.hasobject:
        return _strings, (array.reshape(-1).tolist(), array.shape)
    return _array, (_spelt(array.dtype), array.shape, PickleBuffer(_bytes(array)))


def _dtype_named(name: str) -> DType:
    return ELEMENT_TYPES[name]


@dataclass(frozen=True, eq=False)
class WorkerAnswer:
    """A worker's answer to one question.

    `printed` is the end of what its backend printed, `peak` how many bytes of memory it had at
    most in its life, 0 where that is not measured.
    """

    seen: Observed
    printed: str = ""
    peak: int = 0


def answer_parts(question: Question | None, answer: WorkerAnswer) -> list[Any]:
    """Encode observations as a message; arrays equal to the first answer's are sent once.

    Without a question, nothing was fed.
    """
    seen = answer.seen
    blobs: list[memoryview] = []
    data = (question.inputs, question.second, question.inputs) if question else ()

    def listed(outputs: Outputs | None, before: Outputs | None = None) -> Any:
        if outputs is None:
            return None
        pairs = zip_longest(outputs, before or ())
        return [
            place if _same(value, first) else _described(value, blobs)
            for place, (value, first) in enumerate(islice(pairs, len(outputs)))
        ]

    record = {
        "stage": seen.stage,
        "exit": asdict(seen.exit) if seen.exit else None,
        "seconds": seen.seconds,
        "first": listed(seen.first),
        "between": listed(seen.between),
        "kept": listed(seen.kept, seen.first),
        "again": listed(seen.again, seen.first),
        "fed": [
            [
                None if _same(own, given) else _described(own, blobs)
                for own, given in zip(run, original, strict=True)
            ]
            for run, original in zip(seen.fed, data, strict=False)
        ],
        "declared": [(one.dtype, one.shape) for one in seen.declared],
        "printed": answer.printed,
        "peak": answer.peak,
    }
    return [dumps(record).encode(), *blobs]


def read_answer(parts: Sequence[bytearray], question: Question) -> WorkerAnswer:
    """The other way round; the arrays lie in the `parts`. Raises Damaged, and Defect."""
    try:
        record = read_json(parts[0])
        if "bug" in record:
            raise Defect(record["bug"])

        def outputs(said: Any, before: Outputs | None = None) -> Outputs | None:
            if said is None:
                return None
            known = before or ()
            return tuple(known[one] if isinstance(one, int) else _read(one, parts) for one in said)

        first = outputs(record["first"])
        data = (question.inputs, question.second, question.inputs)
        fed = tuple(
            tuple(
                given if one is None else _read(one, parts)
                for one, given in zip(run, own, strict=True)
            )
            for run, own in zip(record["fed"], data, strict=False)
        )
        seen = Observed(
            stage=record["stage"],
            exit=CallFailure(**record["exit"]) if record["exit"] else None,
            seconds=float(record["seconds"]),
            first=first,
            between=outputs(record["between"]),
            kept=outputs(record["kept"], first),
            again=outputs(record["again"], first),
            fed=fed,  # type: ignore[arg-type]  # what was fed is an array, whatever became of it
            declared=tuple(as_declared(*one) for one in record["declared"]),
        )
        if seen.exit is None and (first is None or (seen.kept is None) != (seen.again is None)):
            raise ValueError("neither an answer nor an exit")
        return WorkerAnswer(seen, str(record["printed"]), int(record["peak"]))
    except _GARBAGE as error:
        raise Damaged(f"{type(error).__name__}: {error}") from error


def _described(value: Array | Foreign, blobs: list[memoryview]) -> Any:
    if isinstance(value, Items):
        items = [_described(one, blobs) for one in value.values]
        return {"items": items, "description": value.description}
    if isinstance(value, Foreign):
        return value.description
    if value.dtype.hasobject:
        return {"strings": value.reshape(-1).tolist(), "shape": value.shape}
    blobs.append(_bytes(value))
    return {"dtype": _spelt(value.dtype), "shape": value.shape, "blob": len(blobs)}


def _read(said: Any, parts: Sequence[bytearray], *, within: bool = False) -> Array | Foreign:
    if isinstance(said, str):
        return Foreign(said)
    if "items" in said and not within:
        items = tuple(_read(one, parts, within=True) for one in said["items"])
        if all(isinstance(one, ndarray) for one in items):
            return Items(str(said["description"]), items)  # type: ignore[arg-type]  # as is said
        raise ValueError("something else among arrays")
    if "strings" in said:
        return _strings(said["strings"], tuple(said["shape"]))
    return _array(said["dtype"], tuple(said["shape"]), parts[said["blob"]])


def _strings(strings: Sequence[str], shape: tuple[int, ...]) -> Array:
    """Strings as NumPy keeps objects; raises ValueError where they are not those of `shape`."""
    if any(type(one) is not str for one in strings):
        raise ValueError("something else among strings")
    array: Array = zeros(len(strings), object)
    array[:] = [*strings]
    return array.reshape(shape)


def _bytes(array: Array) -> memoryview:
    """The bytes of an array, not copied where they lie in order."""
    try:
        return array.reshape(-1).view(_BYTE).data
    except (TypeError, ValueError):  # elements of no bytes
        return memoryview(array.tobytes())


def _same(one: Array | Foreign, other: Array | Foreign | None) -> bool:
    """Bit for bit; dtype and shape too."""
    if not (isinstance(one, ndarray) and isinstance(other, ndarray)):
        return False
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.hasobject:
        return bool(one.tolist() == other.tolist())
    # As bytes, for a backend may have changed how NumPy compares; in pieces that are soon copied.
    left, right = _bytes(one), _bytes(other)
    for place in range(0, len(left), _PIECE):
        if left[place : place + _PIECE].tobytes() != right[place : place + _PIECE].tobytes():
            return False
    return True


@lru_cache(64)
def _spelt(dtype: np.dtype[Any]) -> str:
    """A dtype as text: ml_dtypes' by their names, all others as NumPy spells them."""
    # Not by `dtype.name`, which looks up names that a backend may have changed.
    name = dtype.type.__name__
    return name if getattr(ml_dtypes, name, None) is dtype.type else dtype.str


def _array(spelt: str, shape: tuple[int, ...], blob: bytearray) -> Array | Foreign:
    try:
        dtype = dtype_of(getattr(ml_dtypes, spelt, spelt))
    except TypeError:
        return Foreign(f"array of {spelt}")
    if dtype.hasobject or dtype.itemsize * prod(shape) != len(blob):
        raise ValueError(f"{len(blob)} bytes for {spelt}{list(shape)}")
    if not blob:
        return zeros(shape, dtype)
    return frombuffer(blob, dtype).reshape(shape)


class Timer:
    """Answers requests to time, in the worker."""

    def __init__(self, backend: Backend, printed: Callable[[], str]) -> None:
        """`printed` gives the end of what was printed since the last time."""
        self._backend = backend
        self._printed = printed
        self._held: Held | None = None

    def answer(self, asked: Hold | Measure | Release) -> list[Any]:
        """Answer a request with a message; no exception leaves this."""
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
                    blobs: list[memoryview] = []
                    described = [_described(value, blobs) for value in (*outputs, *others)]
                    record = {"outputs": described, "count": len(outputs), "printed": printed}
                    return [dumps(record | {"looked_up": looked_up}).encode(), *blobs]
        except BaseException as error:
            self._held = None
            kind = type(error).__name__
            return [dumps({"failed": f"{kind}: {told(error)}".removesuffix(": ")}).encode()]


def read_ready(parts: Sequence[bytearray]) -> Ready | str:
    """Decode the reply about a held task, or how it failed; raises Damaged."""
    return _heard(parts, lambda told: Ready(_seconds(told["prepared"]), _seconds(told["first"])))


def read_elapsed(parts: Sequence[bytearray]) -> Elapsed | str:
    """Decode the measured times, or how measuring failed; raises Damaged."""
    return _heard(
        parts, lambda told: Elapsed(_seconds(told["seconds"]), _seconds(told["waited"], least=0))
    )


def read_release(parts: Sequence[bytearray]) -> Released | str:
    """Decode the worker's answer, or how it failed; raises Damaged."""

    def released(told: Any) -> Released:
        outputs = tuple(_read(one, parts) for one in told["outputs"])
        count = int(told["count"])
        looked_up = _seconds(told["looked_up"], least=0)
        return Released(outputs[:count], str(told["printed"]), outputs[count:], looked_up)

    return _heard(parts, released)


def _heard(parts: Sequence[bytearray], read: Callable[[Any], Told]) -> Told | str:
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
