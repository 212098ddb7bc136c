"""The way between the parent and a worker.

A message is a number and a list of byte strings. A small one goes through the connection; what is
in a large one lies in a file that has no name and that both have open, so that nothing is left of
it when both are gone. Whoever has read it says so in the file; only then another one is written.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Message:
    """A received message; `read` its parts once, before any other use of the channel.

    `_part` gives so many bytes from a place in the message, whose length is `_length`.
    """

    number: int
    _count: int
    _length: int
    _part: Callable[[int, int], bytearray]
    _over: Callable[[], None]

    def read(self, fits: Callable[[int], bool] = lambda size: True) -> list[bytearray]:
        """The parts; raises Damaged where they make no sense, MemoryError if they do not fit."""
        try:
            if not fits(self._length):
                raise MemoryError(f"{self._length:,} bytes")
            place = 8 * self._count
            if not 0 <= place <= self._length:
                raise ValueError(f"{self._count} parts")
            parts = []
            for size in struct.unpack(f"<{self._count}q", self._part(0, place)):
                if not 0 <= size <= self._length - place:
                    raise ValueError(f"a part of {size} bytes")
                parts.append(self._part(place, size))
                place += size
            return parts
        except (ValueError, OSError) as error:
            raise Damaged(str(error)) from error
        finally:
            self._over()


class Channel:
    """One end of the way between parent and worker."""

    def __init__(self, connection: Connection[Any, Any], file: int) -> None:
        self.connection = connection
        self._file = file

    def mark(self, number: int) -> None:
        """Note the number of the question that this process is at work on; that outlives it."""
        self._note(_MARK, number)

    def marked(self) -> int:
        """The number last noted, 0 if there is none."""
        return self._noted(_MARK)

    def send(self, number: int, parts: Sequence[Any], *, patient: bool = False) -> None:
        """Send byte strings; waits until the last large message was read, if `patient`.

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
        while patient and self._noted(_UNREAD):
            sleep(_NAP)
        place = _START
        for view in (memoryview(sizes), *views):
            while view:
                written = os.pwrite(self._file, view, place)
                view, place = view[written:], place + written
        self._note(_UNREAD, place)
        self.connection.send_bytes(head)

    def receive(self) -> Message:
        """The next message.

        Raises EOFError or ConnectionError where the other end is closed, Damaged where what came
        makes no sense.
        """
        try:
            data = self.connection.recv_bytes(_HEAD.size + INLINE)
            number, count, inline = _HEAD.unpack_from(data)
        except ConnectionError:
            raise
        except (OSError, struct.error) as error:
            raise Damaged(str(error)) from error
        if inline:
            body = memoryview(data)[_HEAD.size :]

            def part(place: int, size: int) -> bytearray:
                return bytearray(body[place : place + size])

            return Message(number, count, len(body), part, lambda: None)
        length = min(self._noted(_UNREAD), os.fstat(self._file).st_size) - _START
        return Message(number, count, length, self._part, self._was_read)

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
