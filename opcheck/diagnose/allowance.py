"""How long causes are looked for: a minute or as long as the run took, whichever is longer."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from opcheck import interrupt

#: Seconds that may be spent on causes, however short the run is.
LEAST = 60.0
#: The part of all that may be spent while the run lasts: causes are chosen at its end.
WHILE_RUNNING = 0.6
#: The part that may be spent before the backend is asked again.
BEFORE_ASKING = 0.8


class NoTimeLeft(Exception):
    """The time for causes is used up, or the user interrupted the program."""


class Allowance:
    """The time of a run that may be spent on causes; unlimited if `least` is infinite.

    Args:
        least: Seconds that may be spent if the run itself takes less.
    """

    def __init__(self, least: float = LEAST) -> None:
        self.least = least
        self._began = monotonic()
        #: Seconds spent in searches that have ended.
        self._spent = 0.0
        #: When the present search began, and the part of all time that it may use up.
        self._search: tuple[float, float] | None = None

    @contextmanager
    def searching(self, part: float = 1.0) -> Iterator[None]:
        """Count the time inside the block as spent on causes; a context manager, which yields None.

        Inside, `check` raises once more than a `part` of the time allowed is spent. Within another
        search it changes nothing.
        """
        if self._search:
            yield
            return
        began = monotonic()
        self._search = began, part
        try:
            yield
        finally:
            self._search = None
            self._spent += monotonic() - began

    @contextmanager
    def up_to(self, part: float) -> Iterator[None]:
        """Leave the rest of the time to what follows in the same search; a context manager.

        Inside, `check` raises once more than a `part` of the time allowed is spent. Yields None.
        """
        search = self._search
        if search:
            began, whole = search
            self._search = began, min(part, whole)
        try:
            yield
        finally:
            self._search = search

    def check(self) -> None:
        """Raise NoTimeLeft in a search whose time is used up, or that the user interrupted.

        The time is the search's part of `least` seconds or, if that is longer, of what the run
        itself took.
        """
        if self._search is None:
            return
        began, part = self._search
        spent = self._spent + monotonic() - began
        own = monotonic() - self._began - spent
        if interrupt.asked() or spent > part * max(self.least, own):
            raise NoTimeLeft


#: The `least` of an allowance that is never used up, for searches that nobody waits for.
UNLIMITED = math.inf
