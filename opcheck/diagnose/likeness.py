"""Whether a mistake gives what a backend gave."""

from __future__ import annotations

import numpy as np

from opcheck.backends import as_outputs
from opcheck.compare.ulp import UNORDERED, distance
from opcheck.diagnose.evidence import Evidence
from opcheck.dtypes import DType, of, round_to
from opcheck.engine.mistakes import Mistake
from opcheck.errors import InvalidNode
from opcheck.model import Array, Foreign

#: Two arithmetics that mean the same differ by so many ULP, whatever lies between them and the
#: right answer; by more only where that is very much farther away.
_SAME = 4
_FARTHER = 16


def reproduces(mistake: Mistake, evidence: Evidence) -> bool:
    """Whether who makes `mistake` gives the same wrong answer, but for rounding."""
    try:
        with np.errstate(all="ignore"):
            answer = as_outputs(mistake.answer(evidence.node))
    except InvalidNode:
        return evidence.got is None
    if evidence.got is None or len(evidence.got) != len(answer):
        return False
    farther = [_farther(evidence, place) for place in range(len(answer))]
    if not all(map(_alike, evidence.got, answer, farther)):
        return False
    # What would have passed explains no failure.
    return not evidence.is_right(answer)


def contradicts(mistake: Mistake, passed: Evidence) -> bool:
    """Whether who makes `mistake` would not have passed as the backend did."""
    try:
        with np.errstate(all="ignore"):
            answer = as_outputs(mistake.answer(passed.node))
    except InvalidNode:
        return bool(passed.admitted)
    return not passed.is_right(answer)


def _farther(evidence: Evidence, place: int) -> int:
    """How many ULP the nearest right answer lies away from this output, at its worst element."""
    assert evidence.got is not None
    got = evidence.got[place]
    wants = [wants[place] for wants in evidence.admitted if len(wants) == len(evidence.got)]
    dtype = None if isinstance(got, Foreign) else of(got)
    if isinstance(got, Foreign) or dtype is None or dtype.kind != "float":
        return 0
    right = [
        round_to(want.values.astype(np.float64), dtype)
        for want in wants
        if want.values.shape == got.shape and want.values.dtype != np.bool_
    ]
    return min((_furthest(got, one) for one in right), default=UNORDERED)


def _alike(got: Array | Foreign, answer: Array | Foreign, farther: int) -> bool:
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return isinstance(got, Foreign) and isinstance(answer, Foreign) and got == answer
    if got.dtype.newbyteorder("=") != answer.dtype.newbyteorder("=") or got.shape != answer.shape:
        return False
    dtype = of(got)
    if dtype is None or dtype.kind != "float":
        return bool(np.array_equal(got, answer))
    steps = _furthest(got, answer)
    return steps <= max(_SAME, min(farther // _FARTHER, _most(dtype)))


def _furthest(one: Array, other: Array) -> int:
    return int(distance(one, other).max()) if one.size else 0


def _most(dtype: DType) -> int:
    """The most ULP by which two arithmetics that mean the same may differ: half of the digits."""
    return int(2 ** (dtype.precision // 2))
