"""What wrong values look like: a mistake that gives them, or what they have in common."""

from collections.abc import Iterator

import numpy as np

from opcheck.backends import as_outputs
from opcheck.compare.elements import Floats, wide
from opcheck.compare.ulp import distance
from opcheck.diagnose.evidence import Evidence, Outputs
from opcheck.dtypes import DType, of
from opcheck.engine import operator_of
from opcheck.engine.mutants import Mutant
from opcheck.errors import InvalidNode
from opcheck.model import Array, Foreign

#: Two arithmetics that mean the same differ by so many ULP; by more only where the right answer is
#: so many times farther away.
_SAME, _SAME_IN_16_BITS = 4, 1
_FARTHER = 16
#: And the backend's answer is nearer to the mistake's than to the right one by so much.
_NEARER = 2
#: What a single value has in common with itself is nothing.
_ENOUGH = 3


def reproduces(mistake: Mutant, evidence: Evidence) -> bool:
    """Whether who makes `mistake` gives the same wrong answer, but for rounding."""
    made = mistake.made_on(evidence.node)
    if evidence.got is None or isinstance(made, InvalidNode):
        return evidence.got is None and isinstance(made, InvalidNode)
    # Most mistakes make no difference to a node, and what is right explains no failure.
    if evidence.node.is_legal and made is evidence.node.right:
        return False
    answer = as_outputs(made)
    if len(evidence.got) != len(answer) or not all(map(_same_kind, evidence.got, answer)):
        return False
    operator = operator_of(evidence.node.op)
    rounded = operator is not None and not operator.exact
    for place, (got, given) in enumerate(zip(evidence.got, answer, strict=True)):
        if not _alike(got, given, evidence, place, rounded):
            return False
    # What would have passed explains no failure.
    return not evidence.is_right(answer)


def contradicts(mistake: Mutant, passed: Evidence) -> bool:
    """Whether who makes `mistake` would not have passed as the backend did."""
    answer = _answer(mistake, passed)
    return bool(passed.admitted) if answer is None else not passed.is_right(answer)


def refuses(mistake: Mutant, accepted: Evidence) -> bool:
    """Return True if who makes `mistake` would have refused a model that was accepted."""
    return _answer(mistake, accepted) is None


def _answer(mistake: Mutant, evidence: Evidence) -> Outputs | None:
    """What comes of a mistake, None where the node is refused."""
    answer = mistake.made_on(evidence.node)
    return None if isinstance(answer, InvalidNode) else as_outputs(answer)


def _same_kind(got: Array | Foreign, answer: Array | Foreign) -> bool:
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return isinstance(got, Foreign) and isinstance(answer, Foreign) and got == answer
    same_type = got.dtype.newbyteorder("=") == answer.dtype.newbyteorder("=")
    return same_type and got.shape == answer.shape


def _alike(
    got: Array | Foreign, answer: Array | Foreign, evidence: Evidence, place: int, rounded: bool
) -> bool:
    """Whether two outputs of one kind, at a place of the evidence, are the same."""
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return True
    dtype = of(got)
    if dtype is None or dtype.kind != "float":
        return bool(np.array_equal(got, answer))
    if not got.size:
        return True
    between = distance(got, answer)
    furthest = int(between.max())
    if not furthest or not rounded:
        return not furthest
    same = _SAME_IN_16_BITS if got.dtype.itemsize == 2 else _SAME
    right = evidence.nearest(place)
    # The most by which two arithmetics that mean the same may differ: half of the digits.
    most = same if right is None else 2 ** (dtype.precision // 2)
    if right is None or furthest > max(same, most):
        return furthest <= same
    away = np.minimum(distance(right, answer) // np.uint64(_FARTHER), np.uint64(most))
    wrong = int(distance(got, right).max())
    allowed = np.maximum(np.uint64(same), away)
    return bool((between <= allowed).all()) and furthest <= wrong // _NEARER


def resemblance(evidence: Evidence) -> str | None:
    """What wrong values have in common, in words; None where nothing fits."""
    if evidence.got is None or len(evidence.admitted) != 1:
        return None
    said: list[str | None] = []
    for place, (want, got) in enumerate(zip(evidence.admitted[0], evidence.got, strict=False)):
        right = evidence.nearest(place)
        if right is None or isinstance(got, Foreign):
            return None
        dtype = of(got)
        if dtype is None or (want.dtype or dtype) != dtype:
            return None
        lead = evidence.node.lead
        if np.array_equal(wide(right), wide(got), equal_nan=True):
            said.append("like the right values, but for the sign of zeros")
        elif lead is not None and _is_swapped(lead, right, got):
            said.append("like the right values, swapped between equal elements of the input")
        else:
            said.append(next(_words(right, got, dtype), None))
    return "; ".join(filter(None, said)) or None


def _is_swapped(given: Array, right: Array, got: Array) -> bool:
    """Return True if each value of the input has the same outputs, in another order."""
    if not given.shape == right.shape == got.shape:
        return False
    pairs = (np.stack([wide(given).ravel(), wide(out).ravel()]) for out in (right, got))
    one, other = (pair[:, np.lexsort(pair)] for pair in pairs)
    return np.array_equal(one, other)


def _words(right: Array, got: Array, dtype: DType) -> Iterator[str]:
    steps = distance(right, got)
    off = steps > 0
    wanted, actual = wide(right)[off], wide(got)[off]
    if not (np.isfinite(wanted).all() and np.isfinite(actual).all() and off.any()):
        return
    furthest = int(steps.max())
    if furthest <= 2 ** (dtype.precision // 2):
        yield f"like less precision: it would pass with a tolerance of {furthest:,} ULP"
    few, digits = 2.0 ** (3 - dtype.precision), 3 if got.dtype.itemsize == 2 else 6
    with np.errstate(over="ignore"):
        varied = wanted.size >= _ENOUGH and np.ptp(wanted) > 0
    if varied:
        with np.errstate(all="ignore"):
            factors, offsets = actual / wanted, actual - wanted
        factor = _common(factors, few * np.abs(factors))
        if factor is not None and abs(factor) > few:
            yield f"like {factor:.{digits}g} times the right values, where it is wrong"
        offset = _common(offsets, few * np.maximum(np.abs(actual), np.abs(wanted)))
        if offset is not None:
            sign = "+-"[offset < 0]
            yield f"like the right values {sign} {abs(offset):.{digits}g}, where it is wrong"


def _common(values: Floats, room: Floats) -> float | None:
    """What all values are, each within its room."""
    if not np.isfinite(values).all():
        return None
    middle = float(np.median(values))
    return middle if np.all(np.abs(values - middle) <= room) else None
