"""mpmath, at a precision of one's own, and what is taken for granted about it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

#: One thread at a time: a precision is a property of the context, and mpmath keeps constants in
#: variables that two threads could change at once.
_ALONE = threading.Lock()

#: By how many bits a function of mpmath is trusted less than it promises.
#:
#: mpmath rounds + − × ÷, √ and conversions correctly. Of exp, log and integer powers it says that
#: they are usually right to the last place; they carry 10 bits and more beyond the precision asked
#: for. Here an error of 2^8 such places is allowed for, a relative 2^(9 − precision).
DISTRUST = 9


@contextmanager
def precision(bits: int) -> Iterator[Any]:
    """A context of mpmath whose results have `bits` bits, and which nobody else uses meanwhile."""
    with _ALONE:
        context = _context()
        context.prec = bits
        yield context


@cache
def _context() -> Any:
    # Not mpmath.mp, whose precision belongs to whoever else uses mpmath in this process.
    from mpmath import MPContext

    return MPContext()


def integers(x: Any) -> tuple[int, int]:
    """`x` >= 0 as m · 2^e, in Python's own integers whatever mpmath computes with."""
    m, e = x.man_exp
    return int(m), int(e)
