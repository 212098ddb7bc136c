"""Messages between the parent and a worker: questions and answers.

Questions are pickled. Answers are dataclasses as JSON, and raw bytes: a process that a backend has
been at may be trusted with no pickle, so each is checked against its type. What is needed of other
packages is bound here, before a backend is imported that changes them.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
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

from opcheck.backends.isolation.channel import Damaged
from opcheck.dtypes import ELEMENT_TYPES, DType
from opcheck.model import Array, Foreign, Items, Question
from opcheck.model.question import Hold, Measure, Release

Answer = TypeVar("Answer")
_BYTE = dtype_of("u1")
#: What reading a message that is none raises.
_GARBAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)
#: How many bytes are compared at once, and by how many one looks for an equal array.
_PIECE, _BEGINNING = 1 << 18, 64
#: Stands in JSON before an array, and what else an output may be.
_VALUE = "@"

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


@dataclass(frozen=True)
class Failure:
    """A worker's answer where there is no other; `usage` is an error of the command line."""

    message: str
    hint: str | None = None
    usage: bool = False


def answer_parts(answer: object, given: Sequence[Array] = ()) -> list[Any]:
    """Encode a dataclass; an array like an earlier one, or one `given`, is sent by number."""
    known: list[Array] = []
    places: dict[object, int] = {}
    blobs: list[memoryview] = []

    def place_of(array: Array) -> int:
        """Return the place of an array that is known already, else the place it gets."""
        place = len(known)
        known.append(array)
        if array.dtype.hasobject:
            return place
        first = places.setdefault((array.shape, _bytes(array)[:_BEGINNING].tobytes()), place)
        return first if first < place and _same(array, known[first]) else place

    def encoded(value: Any) -> Any:
        if isinstance(value, Foreign) and not isinstance(value, Items):
            return {_VALUE: value.description}
        if not isinstance(value, ndarray):
            return vars(value)
        own = len(known)
        if (place := place_of(value)) < own:
            return {_VALUE: place}
        if value.dtype.hasobject:
            return {_VALUE: [value.reshape(-1).tolist(), value.shape]}
        blobs.append(_bytes(value))
        return {_VALUE: [_spelt(value.dtype), value.shape, len(blobs)]}

    for array in given:
        place_of(array)
    return [dumps(answer, default=encoded).encode(), *blobs]


def read_answer(
    kind: type[Answer], parts: Sequence[bytearray], given: Sequence[Array] = ()
) -> Answer | Failure:
    """The other way round; the arrays lie in the `parts`. Raises Damaged."""
    known: list[Any] = [*given]

    def value_of(said: dict[str, Any]) -> Any:
        match said.get(_VALUE, said):
            case int(place):
                value = known[place]
            case [strings, shape]:
                value = _strings(strings, tuple(shape))
            case [spelt, shape, blob]:
                value = _array(spelt, tuple(shape), parts[blob])
            case str(description):
                return Foreign(description)
            case {"description": str(description), "values": [*values]} if all(
                isinstance(one, ndarray) for one in values
            ):
                return Items(description, tuple(values))
            case _:
                return said
        known.append(value)
        return value

    try:
        record = read_json(parts[0], object_hook=value_of)
        checked = _checked(kind)  # type: ignore[arg-type]  # mypy takes a class for unhashable
        (answer,) = checked.validate_python([record])
        if any(type(value) is float and value < 0 for value in vars(answer).values()):
            raise ValueError("a time is negative")
        return answer  # type: ignore[no-any-return]
    except _GARBAGE as error:
        raise Damaged(_said(error)) from error


def _said(error: Exception) -> str:
    """The first defect of an answer, in one line."""
    findings = getattr(error, "errors", None)
    if findings is None:
        return f"{type(error).__name__}: {error}"
    first = findings(include_url=False, include_input=False)[0]
    # The first two steps are the tuple's and the union's.
    place = ".".join(map(str, first["loc"][2:]))
    return f"{place}: {first['msg']}" if place else f"{first['msg']}"


@lru_cache
def _checked(kind: Any) -> Any:
    # Here, because a worker has no use for it.
    from pydantic import ConfigDict, TypeAdapter

    settings = ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False, extra="forbid")
    return TypeAdapter(tuple[kind | Failure], config=settings)


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


def _same(one: Array, other: Array) -> bool:
    """Bit for bit; dtype and shape too."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
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
