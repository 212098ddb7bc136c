"""Questions and replies: any number of inquiries are under way on any number of backends at once.

An inquiry is a generator that yields questions, is sent their replies, and returns what it found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Sequence
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from opcheck.backends import attempt
from opcheck.backends.base import Backend
from opcheck.model import BackendInfo, Outcome, Question, Reply

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")
Inquiry: TypeAlias = Generator[Question, Reply, Found]

#: How often backends are looked after while none of them replies, in seconds.
_TICK = 0.05


class AskableBackend(Protocol):
    """A backend that is asked without waiting for its reply."""

    @property
    def info(self) -> BackendInfo:
        """Address, kind and version of the backend."""

    @property
    def has_room(self) -> bool:
        """True if one more question would be under way soon."""

    @property
    def connections(self) -> Sequence[Connection[Any, Any]]:
        """Connections that become readable when a reply comes."""

    def ask(self, question: Question) -> int:
        """Take a question; its reply comes with the number returned."""

    def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
        """Yield the replies that came by the `readable` of its connections."""


class InProcess:
    """A backend asked in this process: a crash of it ends the run, and nothing limits its time."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._done: deque[tuple[int, Reply]] = deque()
        self._asked = 0

    @property
    def info(self) -> BackendInfo:
        """Address, kind and version of the backend."""
        return self._backend.info

    @property
    def has_room(self) -> bool:
        """True until a question was answered whose reply nobody took."""
        return not self._done

    @property
    def connections(self) -> Sequence[Connection[Any, Any]]:
        """Connections that are readable while there are replies."""
        return [_readable()[0]] if self._done else []

    def ask(self, question: Question) -> int:
        """Answer a question at once; raises Defect and KeyboardInterrupt."""
        self._asked += 1
        self._done.append((self._asked, Reply(attempt(self._backend, question))))
        return self._asked

    def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
        """Yield the replies that nobody took yet."""
        while self._done:
            yield self._done.popleft()


@cache
def _readable() -> tuple[Connection[Any, Any], Connection[Any, Any]]:
    """A pipe with a byte in it: who waits for that and for several backends wakes up at once."""
    end, other = Pipe(duplex=False)
    other.send_bytes(b".")
    return end, other


class Driver(Generic[Key, Found]):
    """The inquiries that are under way, by keys of the caller's."""

    def __init__(self) -> None:
        self._asked: dict[AskableBackend, dict[int, tuple[Key, Inquiry[Found]]]] = {}
        self._ended: deque[tuple[Key, Found]] = deque()

    @property
    def is_busy(self) -> bool:
        """True while an inquiry is under way, or its result was not taken."""
        return bool(self._ended) or any(self._asked.values())

    def start(self, backend: AskableBackend, inquiry: Inquiry[Found], key: Key) -> None:
        """Begin an inquiry of `backend`; `collect` yields its result with `key`."""
        self._go_on(backend, key, inquiry, None)

    def collect(self) -> Iterator[tuple[Key, Found]]:
        """Yield the results that are there, after a short wait where there are none yet."""
        if not self._ended:
            connections = [one for backend in self._asked for one in backend.connections]
            readable = wait(connections, _TICK) if connections else []
            for backend, asked in self._asked.items():
                for ticket, reply in backend.replies(readable):
                    self._go_on(backend, *asked.pop(ticket), reply)
        while self._ended:
            yield self._ended.popleft()

    def _go_on(
        self, backend: AskableBackend, key: Key, inquiry: Inquiry[Found], reply: Reply | None
    ) -> None:
        try:
            question = next(inquiry) if reply is None else inquiry.send(reply)
        except StopIteration as end:
            self._ended.append((key, end.value))
        else:
            self._asked.setdefault(backend, {})[backend.ask(question)] = key, inquiry


def once(question: Question) -> Inquiry[Reply]:
    """An inquiry of one question."""
    return (yield question)


def at_once(inquiry: Inquiry[Found], answer: Callable[[Question], Outcome]) -> Found:
    """Return the result of an inquiry whose answers are given in this process."""
    try:
        question = next(inquiry)
        while True:
            question = inquiry.send(Reply(answer(question)))
    except StopIteration as end:
        return cast(Found, end.value)
