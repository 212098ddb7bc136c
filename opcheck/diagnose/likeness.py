"""Whether a mistake gives what a backend gave."""

from __future__ import annotations

import numpy as np

from opcheck.backends import as_outputs
from opcheck.compare.ulp import distance
from opcheck.diagnose.evidence import Evidence, Outputs
from opcheck.dtypes import DType, of
from opcheck.engine import operator_of
from opcheck.engine.mistakes import Mistake
from opcheck.errors import InvalidNode
from opcheck.model import Array, Foreign

#: Two arithmetics that mean the same differ by so many ULP; by more only where the right answer is
#: so many times farther away.
_SAME, _SAME_IN_16_BITS = 4, 1
_FARTHER = 16
#: And the backend's answer is nearer to the mistake's than to the right one by so much.
_NEARER = 2


def reproduces(mistake: Mistake, evidence: Evidence) -> bool:
    """Whether who makes `mistake` gives the same wrong answer, but for rounding."""
    answer = _answer(mistake, evidence)
    if evidence.got is None or answer is None:
        return evidence.got is None and answer is None
    if not _same_kinds(evidence.got, answer):
        return False
    operator = operator_of(evidence.node.op)
    rounded = operator is not None and operator.rounded
    for place, (got, given) in enumerate(zip(evidence.got, answer, strict=True)):
        if not _alike(got, given, evidence.nearest(place), rounded):
            return False
    # What would have passed explains no failure.
    return not evidence.is_right(answer)


def contradicts(mistake: Mistake, passed: Evidence) -> bool:
    """Whether who makes `mistake` would not have passed as the backend did."""
    answer = _answer(mistake, passed)
    return bool(passed.admitted) if answer is None else not passed.is_right(answer)


def refuses(mistake: Mistake, accepted: Evidence) -> bool:
    """Return True if who makes `mistake` would have refused a model that was accepted."""
    return _answer(mistake, accepted) is None


def _answer(mistake: Mistake, evidence: Evidence) -> Outputs | None:
    """What comes of a mistake, None where the node is refused."""
    answer = mistake.made_on(evidence.node)
    return None if isinstance(answer, InvalidNode) else as_outputs(answer)


def _same_kinds(got: Outputs, answer: Outputs) -> bool:
    return len(got) == len(answer) and all(map(_same_kind, got, answer))


def _same_kind(got: Array | Foreign, answer: Array | Foreign) -> bool:
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return isinstance(got, Foreign) and isinstance(answer, Foreign) and got == answer
    same_type = got.dtype.newbyteorder("=") == answer.dtype.newbyteorder("=")
    return same_type and got.shape == answer.shape


def _alike(
    got: Array | Foreign, answer: Array | Foreign, right: Array | None, rounded: bool
) -> bool:
    """Whether two outputs of one kind are the same; `right` is what they should have been."""
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return True
    dtype = of(got)
    if dtype is None or dtype.kind != "float":
        return bool(np.array_equal(got, answer))
    if not got.size:
        return True
    between = distance(got, answer)
    if not between.any():
        return True
    if not rounded:
        return False
    same = np.uint64(_SAME_IN_16_BITS if got.dtype.itemsize == 2 else _SAME)
    if right is None:
        return bool((between <= same).all())
    away = np.minimum(distance(right, answer) // np.uint64(_FARTHER), np.uint64(_most(dtype)))
    wrong = distance(got, right).max()
    return bool((between <= np.maximum(same, away)).all() and between.max() <= wrong // _NEARER)


def _most(dtype: DType) -> int:
    """The most ULP by which two arithmetics that mean the same may differ: half of the digits."""
    return int(2 ** (dtype.precision // 2))
