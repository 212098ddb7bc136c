"""Ctrl-C: once, the program ends at its next safe place; twice, at once.

Python's own exception anywhere would become other errors in other packages.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False
_shielded = _urgent = False


def install() -> None:
    """Have the first Ctrl-C only noted, and the next raise KeyboardInterrupt."""
    # A shell that starts a program in the background may have it ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _handle)
    # A request to terminate raises it at once: one that cannot be handled may follow soon.
    signal.signal(signal.SIGTERM, _handle)


def asked() -> bool:
    """Return True if the user interrupted the program."""
    return _asked


def safe_place() -> None:
    """Raise KeyboardInterrupt if the user has interrupted the program, which may end here."""
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


def _handle(signum: int, frame: FrameType | None) -> None:
    global _asked, _urgent
    is_first, _asked = not _asked, True
    if is_first and signum == signal.SIGINT:
        return
    if not _shielded:
        raise KeyboardInterrupt
    _urgent = True
