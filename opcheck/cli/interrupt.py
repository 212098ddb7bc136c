"""Ctrl-C: once, the program ends at its next safe place; twice, at once.

Of Python's own way, an exception anywhere, other packages make errors of their own.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False
_shielded = _urgent = False


def install() -> None:
    """From now on the first Ctrl-C is only noted, and the next raises KeyboardInterrupt.

    So does a request to terminate, at once: who sends it may send the next one soon, which nobody
    can refuse.
    """
    # A shell that starts a program in the background may have it ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _note)
    signal.signal(signal.SIGTERM, _end)


def asked() -> bool:
    """Return True if the user interrupted the program."""
    return _asked


def safe_place() -> None:
    """A place where the program may end: raises KeyboardInterrupt if the user wants it to."""
    if _asked:
        raise KeyboardInterrupt


@contextmanager
def shielded() -> Iterator[Callable[[], bool]]:
    """Delay KeyboardInterrupt to the end of something short, which can ask if it should hurry."""
    global _shielded, _urgent
    _shielded = True
    try:
        yield lambda: _urgent
    finally:
        _shielded = False
    if _urgent:
        _urgent = False
        raise KeyboardInterrupt


def _end(signum: int, frame: FrameType | None) -> None:
    global _asked
    _asked = True
    _interrupt()


def _note(signum: int, frame: FrameType | None) -> None:
    global _asked
    if _asked:
        _interrupt()
    _asked = True


def _interrupt() -> None:
    global _urgent
    if not _shielded:
        raise KeyboardInterrupt
    _urgent = True
