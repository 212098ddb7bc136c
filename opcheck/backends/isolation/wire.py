"""Messages between the parent and a worker: questions, answers, and their transport.

Questions are pickled. Answers are dataclasses as JSON, and raw bytes: no pickle of a process that
runs a backend can be trusted, so each answer is checked against its type. Names of other packages
are bound here, before a backend is imported that may change them.

A message is a number and a list of byte strings. A small one goes through the connection. The
content of a large one lies in a nameless file that both processes have open, so that nothing is
left when both are gone. The reader marks it as read; only then the next one is written.
"""

import io
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, lockf
from functools import lru_cache
from json import dumps, loads as read_json
from math import prod
from multiprocessing.connection import Connection
from pickle import PickleBuffer, Pickler, loads as unpickled
from time import sleep
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import ml_dtypes
from numpy import dtype as dtype_of, frombuffer, ndarray, zeros

from opcheck.model import Array, Foreign, Hold, Items, Measure, Question, Release, Tensors

#: Messages up to this many bytes go through the connection. It holds several of them, so that no
#: sender waits for the reader, and takes each at once, so that none comes in pieces.
INLINE = 16_000
#: How much is kept of what a backend prints, in bytes.
TAIL = 8 << 10
#: The number of the message, how many parts it has, and whether they follow or lie in the file.
_HEAD = struct.Struct("<qq?")
#: Offsets in the file. First the number of the worker's present question.
_MARK = 0
#: Then the end of an unread message, or 0.
_UNREAD = 8
#: Then the message.
_START = 16
#: So many bytes of the file stay after a message: to get new memory takes long.
_MAX_IDLE_FILE = 32 << 20
_NUMBER = struct.Struct("<q")


@contextmanager
def locked(file: int, *, wait: bool = True) -> Iterator[None]:
    """Hold a file's lock; raise BlockingIOError if the other process has it, unless to `wait`."""
    lockf(file, LOCK_EX if wait else LOCK_EX | LOCK_NB)
    try:
        yield
    finally:
        lockf(file, LOCK_UN)


class Damaged(Exception):
    """A worker sent something that is no message."""


def is_large(parts: Sequence[Any]) -> bool:
    """Return True if these parts go through the file, where there is room for one message."""
    return 8 * len(parts) + sum(memoryview(part).nbytes for part in parts) > INLINE


class Channel:
    """One end of the way between parent and worker."""

    # The worker's end notes its present question, for the parent to read when the worker is dead.
    # It waits until its last large message was read; the parent's end never waits.

    def __init__(self, connection: "Connection[Any, Any]", file: int, *, at_worker: bool) -> None:
        self.connection = connection
        self._file = file
        self._at_worker = at_worker

    def at_work(self) -> int:
        """Return the number of the last question that the worker received, 0 if there is none."""
        return self._noted(_MARK)

    def send(self, number: int, parts: Sequence[Any]) -> None:
        """Send byte strings; raises ConnectionError if nobody reads, OSError if it lacks room."""
        views = [memoryview(part).cast("B") for part in parts]
        sizes = struct.pack(f"<{len(views)}q", *(view.nbytes for view in views))
        inline = not is_large(parts)
        head = _HEAD.pack(number, len(views), inline)
        if inline:
            self.connection.send_bytes(b"".join([head, sizes, *views]))
            return
        while self._at_worker and self._noted(_UNREAD):
            sleep(0.0005)  # until its last answer was read
        place = _START
        for view in (memoryview(sizes), *views):
            while view:
                written = os.pwrite(self._file, view, place)
                view = view[written:]
                place += written
        self._note(_UNREAD, place)
        self.connection.send_bytes(head)

    def receive(self, fits: Callable[[int], bool] | None = None) -> tuple[int, list[bytearray]]:
        """Return the number of the next message, and its parts.

        Raises EOFError or ConnectionError where the other end is closed, Damaged where what came
        makes no sense, MemoryError where a message is too large or not one that `fits`.
        """
        try:
            data = self.connection.recv_bytes(_HEAD.size + INLINE)
            number, count, inline = _HEAD.unpack_from(data)
            if self._at_worker:
                self._note(_MARK, number)
            if inline:
                return number, _parts_of(memoryview(data)[_HEAD.size :], count)
            return number, self._receive_from_file(count, fits)
        except ConnectionError:
            raise
        except (OSError, ValueError, struct.error) as error:
            raise Damaged(str(error)) from error

    def _receive_from_file(self, count: int, fits: Callable[[int], bool] | None) -> list[bytearray]:
        """Return the `count` parts of the message in the file, and mark it as read."""
        length = min(self._noted(_UNREAD), os.fstat(self._file).st_size) - _START
        try:
            if fits and not fits(length):
                raise MemoryError(f"{length:,} bytes")
            return _split(count, length, self._part)
        finally:
            if os.fstat(self._file).st_size > _MAX_IDLE_FILE:
                os.ftruncate(self._file, _START)
            self._note(_UNREAD, 0)

    def _part(self, place: int, size: int) -> bytearray:
        """Return so many bytes at a place of the message in the file."""
        # Read and not mapped: a process is killed for reading a mapped file that became shorter.
        data = bytearray(size)
        unread = memoryview(data)
        offset = place + _START
        while unread:
            count = os.preadv(self._file, [unread], offset)
            if not count:
                raise ValueError("the file ends too early")
            unread = unread[count:]
            offset += count
        return data

    def _note(self, place: int, number: int) -> None:
        os.pwrite(self._file, _NUMBER.pack(number), place)

    def _noted(self, place: int) -> int:
        noted = os.pread(self._file, _NUMBER.size, place)
        return int(_NUMBER.unpack(noted.ljust(_NUMBER.size, b"\0"))[0])


def _parts_of(body: memoryview, count: int) -> list[bytearray]:
    """Return the `count` parts of a message that came through the connection."""

    def part(place: int, size: int) -> bytearray:
        return bytearray(body[place : place + size])

    return _split(count, len(body), part)


def _split(count: int, length: int, part: Callable[[int, int], bytearray]) -> list[bytearray]:
    """Return the parts of a message of `length` bytes; `part` reads so many bytes at a place."""
    place = 8 * count
    if not 0 <= place <= length:
        raise ValueError(f"{count} parts")
    parts = []
    for size in struct.unpack(f"<{count}q", part(0, place)):
        if not 0 <= size <= length - place:
            raise ValueError(f"a part of {size} bytes")
        parts.append(part(place, size))
        place += size
    return parts


Answer = TypeVar("Answer")
#: Exceptions of reading something that is no message.
_GARBAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)
#: Bytes of two arrays that are compared at once.
_PIECE = 1 << 18
#: Bytes at the beginning of an array by which an equal one is looked for.
_BEGINNING = 1 << 10
#: The key in JSON of an array, or of another kind of output.
_VALUE = "@"
WorkerRequest: TypeAlias = Question | Hold | Measure | Release
#: A question is put to several backends, and pickled once.
_pickled: WeakKeyDictionary[WorkerRequest, list[Any]] = WeakKeyDictionary()


def question_parts(question: WorkerRequest) -> list[Any]:
    """Encode a question as a message; its arrays are not copied."""
    parts = _pickled.get(question)
    if parts is None:
        buffers: list[PickleBuffer] = []
        file = io.BytesIO()
        pickler = Pickler(file, protocol=5, buffer_callback=buffers.append)
        # NumPy's own way would have the worker look up names that a backend may have changed.
        pickler.dispatch_table = {ndarray: _reduced_array}
        sent = question
        if isinstance(question, Question):
            sent = replace(question, twin=None)  # its legal twin is a question of its own
        pickler.dump(sent)
        parts = [file.getbuffer(), *(buffer.raw() for buffer in buffers)]
        _pickled[question] = parts
    return parts


def read_question(parts: Sequence[bytearray]) -> WorkerRequest:
    """Decode a question; its arrays share the memory of the `parts`."""
    question: WorkerRequest = unpickled(parts[0], buffers=parts[1:])
    return question


def _reduced_array(array: Array) -> Any:
    if array.dtype.hasobject:
        return _strings, (array.reshape(-1).tolist(), array.shape)
    return _array, (_spelt(array.dtype), array.shape, PickleBuffer(_bytes(array)))


@dataclass(frozen=True)
class Failure:
    """A worker's answer when something failed; `usage` is an error of the command line."""

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
        is_short = array.nbytes <= _BEGINNING
        content = array.tobytes() if is_short else _bytes(array)[:_BEGINNING].tobytes()
        first = places.setdefault((array.dtype, array.shape, content), place)
        return first if is_short or (first < place and _same(array, known[first])) else place

    def encoded(value: Any) -> Any:
        if isinstance(value, Foreign) and not isinstance(value, Items):
            return {_VALUE: value.description}
        if not isinstance(value, ndarray):
            return vars(value)
        own = len(known)
        place = place_of(value)
        if place < own:
            return {_VALUE: place}
        if value.dtype.hasobject:
            return {_VALUE: [value.reshape(-1).tolist(), value.shape]}
        blobs.append(_bytes(value))
        return {_VALUE: [_spelt(value.dtype), value.shape, len(blobs)]}

    for array in given:
        place_of(array)
    return [dumps(answer, default=encoded).encode(), *blobs]


def read_answer(
    kind: type[Answer], parts: Sequence[bytearray], given: Tensors = ()
) -> Answer | Failure:
    """Decode an answer; its arrays share the memory of the `parts`. Raises Damaged."""
    known: list[Any] = [*given]

    def value_of(entries: dict[str, Any]) -> Any:
        match entries.get(_VALUE, entries):
            case int(place):
                value = known[place]
            case [strings, shape]:
                value = _strings(strings, tuple(shape))
            case [spelt, shape, blob]:
                value = _array(spelt, tuple(shape), parts[blob])
            case str(description):
                return Foreign(description)
            case {"description": str(description), "values": [*values]} if _are_arrays(values):
                return Items(description, tuple(values))
            case _:
                return entries
        known.append(value)
        return value

    try:
        checked = _checked(kind)  # type: ignore[arg-type]  # mypy takes a class for unhashable
        (answer,) = checked.validate_python([read_json(parts[0], object_hook=value_of)])
        if any(type(value) is float and value < 0 for value in vars(answer).values()):
            raise ValueError("a time is negative")
        return answer  # type: ignore[no-any-return]
    except _GARBAGE as error:
        raise Damaged(_what_is_wrong(error)) from error


def _are_arrays(values: Sequence[object]) -> bool:
    return all(isinstance(value, ndarray) for value in values)


def _what_is_wrong(error: Exception) -> str:
    """Return the message of an error, of pydantic's the first one."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return f"{type(error).__name__}: {error}"
    first = errors(include_url=False, include_input=False)[0]
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
    """Return an array of strings; raise ValueError if they are none, or do not fit `shape`."""
    if {*map(type, strings)} - {str}:
        raise ValueError("something else among strings")
    array: Array = zeros(len(strings), object)
    array[:] = [*strings]
    return array.reshape(shape)


def _bytes(array: Array) -> memoryview:
    """Return the bytes of an array, not copied where they lie in order."""
    try:
        return array.reshape(-1).view(dtype_of("u1")).data
    except (TypeError, ValueError):  # elements of no bytes
        return memoryview(array.tobytes())


def _same(one: Array, other: Array) -> bool:
    """Return True if two arrays of one dtype and shape are equal."""
    # As bytes, for a backend may have changed how NumPy compares; in pieces that are soon copied.
    left = _bytes(one)
    right = _bytes(other)
    pieces = (slice(place, place + _PIECE) for place in range(0, len(left), _PIECE))
    return all(left[piece].tobytes() == right[piece].tobytes() for piece in pieces)


@lru_cache(64)
def _spelt(dtype: dtype_of[Any]) -> str:
    """Return a dtype as text: those of ml_dtypes by name, all others as NumPy spells them."""
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
    return frombuffer(blob, dtype).reshape(shape) if blob else zeros(shape, dtype)
