"""A question under way, its answer's size, and what is told where it had to be asked twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import psutil

from opcheck.backends.isolation.channel import INLINE
from opcheck.model import Crashed, OutOfMemory, Question, Reply, TimedOut

#: How a worker is lost.
Loss: TypeAlias = Crashed | TimedOut | OutOfMemory


@dataclass(frozen=True, eq=False)
class Job:
    """A question under way. `before` is what came of it in a process that had answered others.

    Such a process may have suffered by them, so the question is asked once more in a fresh one.
    """

    ticket: int
    question: Question
    parts: list[Any]
    before: Reply | None = None

    @cached_property
    def is_large(self) -> bool:
        """Whether it goes through the file, where there is room for one."""
        return sum(memoryview(part).nbytes for part in self.parts) > INLINE

    def once_more(self, how: Loss, printed: str, handled: int) -> Job:
        """The same, after the loss of a process that had answered `handled` questions."""
        assert isinstance(how, Crashed | OutOfMemory)
        questions = f"{handled:,} question{'s' * (handled != 1)}"
        note = f"{how.how}; its process had answered {questions} before"
        return replace(self, before=Reply(replace(how, how=note), printed))

    def told(self, reply: Reply) -> Reply:
        """What is told of the job when the last reply to it is there.

        What happened once is told even where it does not happen again: a backend that damages its
        process shows it in another case than the one that did the damage.
        """
        if self.before is None or type(self.before.outcome) is type(reply.outcome):
            return reply
        first = self.before.outcome
        assert isinstance(first, Crashed | OutOfMemory)
        said = f"{first.how}, and asked first in a fresh one it does not happen"
        return Reply(replace(first, how=said), self.before.printed)


def fits(size: int) -> bool:
    """Whether an answer can be read and judged, so that it ends its process and not this one."""
    return size <= INLINE or size < psutil.virtual_memory().available // 2
