"""Questions put to one backend, in worker processes of its own; every one gets its reply.

Nothing here waits but `connected` and `close`: whoever asks looks in from time to time, and waits
for all backends at once.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from opcheck.backends.isolation.process import BackendSettings, kill
from opcheck.backends.isolation.slot import DEPTH, Job, Slot
from opcheck.model import BackendInfo, NotRun, Question, Reply

#: How long, in seconds, idle workers have to clean up after themselves.
_FAREWELL = 0.5


class Pool:
    """The workers of one backend, `workers` at most; the first starts now."""

    def __init__(self, settings: BackendSettings, workers: int = 1) -> None:
        self.address = settings.name or settings.address
        #: How processes ended that were to leave, if not as they should; known once it is closed.
        self.partings: list[str] = []
        self._tickets = itertools.count(1)
        self._waiting: deque[Job] = deque()
        self._slots = [Slot(settings) for _ in range(workers)]
        self._slots[0].start()

    def connected(self, meanwhile: Callable[[], None] = lambda: None) -> BackendInfo:
        """Wait for the backend, and call `meanwhile` now and then, which may raise to end that.

        Raises BackendUnavailable or UsageError if the backend cannot be used.
        """
        first = self._slots[0]
        while first.info is None:
            meanwhile()
            assert first.process
            first.process.connection.poll(0.05)
            first.connect()
        return first.info

    @property
    def info(self) -> BackendInfo:
        """The backend, once it has `connected`."""
        info = self._slots[0].info
        assert info
        return info

    @property
    def has_room(self) -> bool:
        """Return True if one more question could start soon."""
        if self._is_given_up:
            return True
        held = sum(len(slot.jobs) + bool(slot.again) for slot in self._slots)
        return len(self._waiting) + held < DEPTH * len(self._slots)

    def ask(self, question: Question) -> int:
        """Take a question; its reply will come with the number returned."""
        ticket = next(self._tickets)
        self._waiting.append(Job(ticket, question))
        self._distribute()
        return ticket

    @property
    def connections(self) -> list[Connection[Any, Any]]:
        """Connections to wait for."""
        return [slot.process.connection for slot in self._slots if slot.process]

    def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
        """Yield the replies on the `readable` connections, by ticket.

        Raises Defect for a bug of an adapter.
        """
        for slot in self._slots:
            there = slot.process is not None and slot.process.connection in readable
            replies = slot.attend(readable=there)
            self._waiting.extendleft(reversed(slot.returned))
            slot.returned.clear()
            yield from replies
        self._distribute()
        if self._is_given_up:
            reason = str(self._slots[0].given_up)
            while self._waiting:
                yield self._waiting.popleft().ticket, Reply(NotRun(reason))

    @property
    def accidents(self) -> dict[str, int]:
        """Counts of worker deaths outside any question, by how the process ended.

        Complete once it is closed.
        """
        return Counter(said for slot in self._slots for said in slot.accidents)

    @property
    def _is_given_up(self) -> bool:
        return all(slot.given_up for slot in self._slots)

    def close(self) -> None:
        """End all workers, at once where they are at work or not there yet."""
        for slot in self._slots:
            if not slot.is_starting:
                slot.attend(readable=False)
        slots = [slot for slot in self._slots if slot.process]
        idle = [s.process for s in slots if s.process and not (s.jobs or s.is_starting)]
        kill([s.process for s in slots if s.process and s.process not in idle])
        for process in idle:
            process.leave()
        until = monotonic() + _FAREWELL
        for process in idle:
            process.wait(until)
            if process.has_ended() and (how := process.how_it_ended()) != "exited with status 0":
                self.partings.append(how)
        kill(idle)
        for slot in slots:
            slot.process = None

    def _distribute(self) -> None:
        """Hand waiting jobs out, in order, and start workers for those that find none."""
        while self._waiting:
            free = [slot for slot in self._slots if slot.takes(self._waiting[0])]
            if not free:
                break
            min(free, key=lambda slot: len(slot.jobs)).send(self._waiting.popleft())
        wanted = len(self._waiting) - sum(slot.is_starting for slot in self._slots)
        for slot in self._slots:
            if slot.process is None and not slot.given_up and (slot.again or wanted > 0):
                slot.start_again()
                wanted -= not slot.again
