"""Lines for a log, which has no progress bar: how far a command is, twice a minute."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from opcheck.cli.console import note
from opcheck.report.plain_text import duration

#: Seconds between two lines.
INTERVAL = 30.0


def time_left(elapsed: float, done: int, total: int) -> float | None:
    """Return about how many seconds the rest takes, if it goes on as so far; None at the begin."""
    return elapsed * (total - done) / done if done else None


@dataclass
class Heartbeat:
    """Prints a line every half minute while something is counted, unless a terminal has a bar.

    Attributes:
        total: The number of things to do.
        doing: The word behind the numbers, such as "judged".
        clock: Returns seconds.
    """

    total: int
    doing: str
    clock: Callable[[], float] = monotonic
    done: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._start = self._last = self.clock()
        self._is_shown = sys.stderr is not None and not sys.stderr.isatty()

    def count(self, *, failed: bool = False) -> None:
        """Count one thing that is done, and print a line if it is time for one."""
        self.done += 1
        self.failed += failed
        now = self.clock()
        if self._is_shown and now - self._last >= INTERVAL and self.done < self.total:
            self._last = now
            note(self.line(now - self._start))

    def line(self, elapsed: float) -> str:
        """Return the line: `1,212 of 1,945 judged, 3 failed, about 2 min left`."""
        parts = [f"{self.done:,} of {self.total:,} {self.doing}"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        left = time_left(elapsed, self.done, self.total)
        if left is not None:
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)
