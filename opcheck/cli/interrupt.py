"""Ctrl-C: once, the program ends at its next safe place; twice, at once.

Python's own way, an exception wherever the program happens to be, leads into other packages,
which print it, drop it, or make errors of their own of it: interrupted while it is imported,
onnxruntime says "initialization failed".
"""

from __future__ import annotations

import signal
from types import FrameType

_asked = False


def install() -> None:
    """From now on the first Ctrl-C is only noted, and the next raises KeyboardInterrupt."""
    # A shell that starts a program in the background may have it ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _note)


def asked() -> bool:
    """Whether the user wants the program to end."""
    return _asked


def safe_place() -> None:
    """A place where the program may end: raises KeyboardInterrupt if the user wants it to."""
    if _asked:
        raise KeyboardInterrupt


def _note(signum: int, frame: FrameType | None) -> None:
    global _asked
    if _asked:
        raise KeyboardInterrupt
    _asked = True
