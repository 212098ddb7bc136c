"""The process in which a backend works, from its first line to its last.

It is started with one argument, a JSON object: `address`, `path` (where modules are found), `here`
(what stands in it by accident), `parent` (its process), the numbers of three inherited files
(`control`, `file` and `log`), and whether its memory is `measured`.
"""

import ctypes
import faulthandler
import os
import resource
import sys
from contextlib import suppress
from json import loads
from pathlib import Path

from opcheck import interrupt


def main(arguments: str) -> None:
    """Connect to the backend and answer questions until there are no more."""
    given = loads(arguments)
    home = os.getpid()
    if sys.platform == "linux":
        # At once, even while a backend keeps Python's lock; for the rest there is `cleanup`.
        interrupt.end_with(given["parent"])
    for file in (given["control"], given["file"], given["log"]):
        os.set_inheritable(file, False)  # they are no business of programs a backend starts
    faulthandler.enable()  # a crash tells on standard error where it was
    # And is over at once: no core is written.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # Lines printed before a crash must not be lost.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    c = ctypes.CDLL(None)
    with suppress(ValueError):  # a C library that calls it otherwise
        name = "__stdoutp" if sys.platform == "darwin" else "stdout"
        c.setvbuf(ctypes.c_void_p.in_dll(c, name), None, 1, 0)
    # Where memory runs out, Linux is to choose this process, not the one that judges.
    _tell_system("oom_score_adj", "1000")
    # It served to find opcheck, not to find engines. Adapters for users' modules put it back.
    if given["here"] is not None:
        sys.path.remove(given["here"])
    # Imported before the backend, which may change modules that this one needs.
    from opcheck.backends.isolation.answering import Answering

    worker = Answering(home, given)
    if worker.connect(given["address"]):
        # The peak of memory is to be that of the backend at work.
        _tell_system("clear_refs", "5")
        with suppress(EOFError, ConnectionError):
            while True:
                worker.answer_next()
    with suppress(BaseException):
        sys.stdout.flush()


def _tell_system(name: str, text: str) -> None:
    with suppress(OSError):  # no Linux, or not allowed
        Path(f"/proc/self/{name}").write_text(text)
