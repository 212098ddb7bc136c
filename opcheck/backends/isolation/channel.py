"""The way between the parent and a worker.

A message is a number and a list of byte strings. A small one goes through the connection; what is
in a large one lies in a file that has no name and that both have open, so that nothing is left of
it when both are gone. Whoever has read it says so in the file; only then another one is written.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from time import sleep
from typing import Any

#: Messages up to this many bytes go through the connection. It holds several of them, so that
#: nobody ever waits until the other has read, and takes each at once, so none comes in pieces.
INLINE = 16_000
#: The number of the message, how many parts it has, and whether they follow or lie in the file.
_HEAD = struct.Struct("<qq?")
#: What stands at the beginning of the file: the question that a worker is at work on, whether a
#: message is there that was not read, and then the message.
_MARK, _UNREAD, _START = 0, 8, 16
_NUMBER = struct.Struct("<q")
#: So many bytes of the file stay when a message was read: to get memory again takes long.
_KEPT = 32 << 20
#: How long, in seconds, a worker sleeps until it looks again whether its last answer was read.
_NAP = 0.0005


class Damaged(Exception):
    """A worker sent something that is no message."""


class Channel:
    """One end of the way between parent and worker.

    The worker's notes which question it is at work on, for its parent to read when it is dead. It
    waits until its last large message was read; the parent waits for nobody.
    """

    def __init__(self, connection: Connection[Any, Any], file: int, *, at_worker: bool) -> None:
        self.connection = connection
        self._file = file
        self._at_worker = at_worker

    def at_work(self) -> int:
        """The number of the last question that the worker received, 0 if there is none."""
        return self._noted(_MARK)

    def send(self, number: int, parts: Sequence[Any]) -> None:
        """Send byte strings.

        Raises ConnectionError where nobody is there to read them, another OSError where there is
        no room for them.
        """
        views = [memoryview(part).cast("B") for part in parts]
        sizes = struct.pack(f"<{len(views)}q", *(view.nbytes for view in views))
        inline = len(sizes) + sum(view.nbytes for view in views) <= INLINE
        head = _HEAD.pack(number, len(views), inline)
        if inline:
            self.connection.send_bytes(b"".join([head, sizes, *views]))
            return
        while self._at_worker and self._noted(_UNREAD):
            sleep(_NAP)
        place = _START
        for view in (memoryview(sizes), *views):
            while view:
                written = os.pwrite(self._file, view, place)
                view, place = view[written:], place + written
        self._note(_UNREAD, place)
        self.connection.send_bytes(head)

    def receive(
        self, fits: Callable[[int], bool] = lambda size: True
    ) -> tuple[int, list[bytearray]]:
        """The number of the next message, and its parts.

        Raises EOFError or ConnectionError where the other end is closed, Damaged where what came
        makes no sense, MemoryError where a message is too large or not one that `fits`.
        """
        try:
            data = self.connection.recv_bytes(_HEAD.size + INLINE)
            number, count, inline = _HEAD.unpack_from(data)
            if self._at_worker:
                self._note(_MARK, number)
            if inline:
                body = memoryview(data)[_HEAD.size :]
                return number, _split(
                    count, len(body), lambda place, size: bytearray(body[place : place + size])
                )
            length = min(self._noted(_UNREAD), os.fstat(self._file).st_size) - _START
            try:
                if not fits(length):
                    raise MemoryError(f"{length:,} bytes")
                return number, _split(count, length, self._part)
            finally:
                self._was_read()
        except ConnectionError:
            raise
        except (OSError, ValueError, struct.error) as error:
            raise Damaged(str(error)) from error

    def _part(self, place: int, size: int) -> bytearray:
        # Read and not mapped: who looks at a mapped file that another makes shorter is killed.
        data = bytearray(size)
        rest, place = memoryview(data), place + _START
        while rest:
            got = os.preadv(self._file, [rest], place)
            if not got:
                raise ValueError("the file ends too early")
            rest, place = rest[got:], place + got
        return data

    def _was_read(self) -> None:
        if os.fstat(self._file).st_size > _KEPT:
            os.ftruncate(self._file, _START)
        self._note(_UNREAD, 0)

    def _note(self, place: int, number: int) -> None:
        os.pwrite(self._file, _NUMBER.pack(number), place)

    def _noted(self, place: int) -> int:
        noted = os.pread(self._file, _NUMBER.size, place)
        number: int = _NUMBER.unpack(noted.ljust(_NUMBER.size, b"\0"))[0]
        return number


def _split(count: int, length: int, part: Callable[[int, int], bytearray]) -> list[bytearray]:
    """The parts of a message of `length` bytes; `part` gives so many bytes from a place in it."""
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
