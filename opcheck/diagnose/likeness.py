"""Compare the answers of a mutant and of a backend to one node, up to rounding.

A *mutant* is an implementation that is wrong in one way. It explains a failure if it gives the same
wrong answer, in any arithmetic that means the same; a pass contradicts it if it would have failed
there. *Evidence* is the backend's answer, or refusal, with the right ones.

What asks for an operator raises WrongOperator if the file that declares it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product, starmap

import numpy as np

from opcheck.backends import as_outputs, same_answers
from opcheck.compare import compare_outputs
from opcheck.compare.elements import Floats, distance, wide
from opcheck.compare.outputs import computed_want
from opcheck.diagnose.evidence import FARTHER, SAME, Evidence, Output, is_off
from opcheck.dtypes import DTYPES, DType, identical, is_real, of
from opcheck.engine import Drawn, operator_of
from opcheck.engine.mutants import Mutant
from opcheck.engine.node import of_legality
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import (
    Array,
    Comparison,
    Foreign,
)
from opcheck.numbers import setting

#: Two arithmetics of 16 bits that mean the same differ by so many ULP; wider ones by `SAME`.
_SAME_IN_16_BITS = 1
#: Roundings of sums that cancel add up to so many bits of the largest element, and a few ULP.
_ROUNDINGS_OF_SUMS = 3
#: Errors in a 16-bit type add up to so many bits of the largest element.
_NARROW_BITS = 5
#: Parts of a distribution at which drawn numbers are compared with a mutant's.
_QUANTILES = (0.1, 0.5, 0.9)
#: How far these parts may differ.
_OFF_OF_QUANTILE = 0.1


def reproduces(mutant: Mutant, evidence: Evidence) -> bool:
    """Return True if `mutant` gives the same wrong answer, up to rounding.

    A refusal (`evidence.got` is None) is reproduced if the mutant refuses the model too; numbers
    drawn at random, if they may be drawn from the mutant's distribution. Any other answer of the
    mutant must be wrong itself. Adds a mutant that is far off to `evidence.distant`. Raises what
    the mutant raises on the node, but for InvalidNode, NotSupported and MemoryError, which count as
    a refusal, and what a bound raises that is computed for the first time.
    """
    operator = operator_of(evidence.node.op)
    is_rounded = operator is not None and not operator.exact
    if is_rounded and not mutant.narrow and _is_far_in_plain_arithmetic(mutant, evidence):
        return False
    answer = _answer(mutant, evidence)
    if answer is None:
        return False
    if evidence.got is None:  # Both refuse.
        return True
    if evidence.node.draws:
        return _draws_alike(mutant, evidence)
    if not _outputs_alike(answer, evidence, is_rounded, mutant.narrow):
        return False
    # An answer that passes explains no failure, nor does the engine's own, which a case that states
    # another one finds wrong.
    return not (evidence.is_right(answer) or _is_answer_of_engine(answer, evidence))


def _is_answer_of_engine(answer: tuple[Output, ...], evidence: Evidence) -> bool:
    """Return True if a mutant's answer is the engine's to a legal node, so that it changes nothing.

    Tensors are compared bit by bit. False where the engine computes no plain answer, and for
    outputs that are no tensors.
    """
    try:
        right = as_outputs(evidence.node.right)
    except (InvalidNode, NotSupported, MemoryError):
        return False
    return len(answer) == len(right) and all(
        isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and identical(one, other)
        for one, other in zip(answer, right, strict=True)
    )


def _is_far_in_plain_arithmetic(mutant: Mutant, evidence: Evidence) -> bool:
    """Return True if the mutant is far off in plain arithmetic, too, which takes less time.

    Far off means that rounding cannot make the backend's answer of it. True, too, if it gives
    another kind of answer, or the right one. False for illegal nodes and numbers drawn at random.
    Adds the mutant to `evidence.distant` if no poorer arithmetic explains the distance of any
    output. Raises what the mutant raises, but for what counts as a refusal, and what a bound raises
    that is computed for the first time.
    """
    if not evidence.node.is_legal or evidence.node.draws:
        return False
    with setting(of_legality, True):
        plain = _answer(mutant, evidence)
    if plain is None:
        return True
    if any(map(_is_far, evidence.got or (), plain)):
        evidence.distant.add(mutant.name)
    return any(starmap(evidence.is_far_from, enumerate(plain)))


def _outputs_alike(
    answer: tuple[Output, ...], evidence: Evidence, is_rounded: bool, narrow: str = ""
) -> bool:
    """Return True if each output is the mutant's, up to rounding, or right in both.

    `answer` are the mutant's outputs, of the kind of the backend's. `is_rounded` is True if the
    operator rounds. `narrow` is the 16-bit type in which the mutant computes, "" for none; every
    output must then be the mutant's. Raises what a bound raises that is computed for the first
    time.
    """
    got = evidence.got or ()
    right = as_outputs([*evidence.node.right]) if evidence.node.is_legal else ()
    untouched = {n for n, output in enumerate(right) if same_answers((output,), answer[n : n + 1])}

    def both_right(place: int) -> bool:
        """Return True for an output that is right in both, if another one of the backend is wrong.

        The mutant's is right if it is the engine's own, or passes where the engine computes none.
        Backend and mutant may compute it in different arithmetics. `evidence.passing` is empty if
        the backend has no wrong output.
        """
        is_right = place in untouched or (not right and evidence.passes(place, answer[place]))
        return is_right and place in evidence.passing

    # Outputs that the mutant spoils come first: bounds take longer.
    spoilt_first = sorted(range(len(answer)), key=untouched.__contains__)
    if narrow:
        return all(_alike_in(narrow, got[n], answer[n], evidence.nearest[n]) for n in spoilt_first)
    return all(
        _alike(got[n], answer[n], evidence, place=n, is_rounded=is_rounded) or both_right(n)
        for n in spoilt_first
    )


def _alike_in(narrow: str, got: Output, answer: Output, right: Array | None) -> bool:
    """Return True if an output is that of a mutant that computes in a narrow type, up to rounding.

    Its errors add up in any order, so that it may be off by some ULP, of that type, of the largest
    element of the `right` values. It is not that of the mutant if these are as near: then an error
    bound of the type explains it better. Nor is it if its largest distance is more than half of
    that to the right values. False for what is not a tensor and without `right` values.
    """
    if right is None or isinstance(got, Foreign) or isinstance(answer, Foreign):
        return False
    mine = wide(got)
    its = wide(answer)
    wanted = wide(right)
    known = np.isfinite(wanted)
    largest = float(np.abs(wanted[known]).max(initial=0))
    room = math.ldexp(largest, _NARROW_BITS - DTYPES[narrow].precision)
    from_right = _largest_distance(mine, wanted)
    return from_right > room and _largest_distance(mine, its) <= min(room, from_right / 2)


def _largest_distance(one: Floats, other: Floats) -> float:
    """Return by how much elements of two arrays of one shape differ at most; 0 of empty ones.

    Equal infinities do not differ, nor do two NaN; a NaN and a number differ by infinity.
    """
    with np.errstate(all="ignore"):
        distances = np.abs(one - other)
    distances = np.where(np.isnan(distances), np.inf, distances)
    are_same = (one == other) | (np.isnan(one) & np.isnan(other))
    return float(distances[~are_same].max(initial=0))


def _answer(mutant: Mutant, evidence: Evidence) -> tuple[Output, ...] | None:
    """Return the outputs of a mutant; an empty tuple if both it and the backend refuse.

    None if its answer cannot be the backend's: one of both refuses, the outputs differ in number,
    type or shape, or the mutant makes no difference to a legal node. Raises what the mutant raises,
    but for InvalidNode, NotSupported and MemoryError, which count as a refusal.
    """
    made = mutant.made_on(evidence.node)
    refused = isinstance(made, InvalidNode)
    if evidence.got is None:
        return () if refused else None
    if isinstance(made, InvalidNode):
        return None
    # Most mutants make no difference to a node, and a right answer explains no failure.
    if evidence.node.is_own_answer(made):
        return None
    answer = as_outputs(made)
    are_of_one_kind = len(evidence.got) == len(answer) and all(
        map(_same_kind, evidence.got, answer)
    )
    return answer if are_of_one_kind else None


def _draws_alike(mutant: Mutant, evidence: Evidence) -> bool:
    """Return True if the answer may be drawn from the mutant's distribution.

    Three quantiles of each output are compared first: about as large a part of its elements must be
    below each. Then all elements are judged, as a backend's answer is. The outputs are tensors.
    Raises what the mutant raises on the node, but for InvalidNode, NotSupported and MemoryError.
    """
    got = evidence.got or ()

    def drawn() -> Sequence[Array]:
        """Draw the mutant's outputs again, nothing if it refuses.

        While quantiles are asked for, each element is that quantile of its distribution.
        """
        answer = mutant.made_on(evidence.node)
        return () if isinstance(answer, InvalidNode) else answer

    draws = [Drawn(drawn, place) for place in range(len(got))]
    # Most mutants draw from another distribution, which is quickly seen.
    for part, (draw, output) in product(_QUANTILES, zip(draws, got, strict=True)):
        quantile = draw.quantiles(part)
        with np.errstate(invalid="ignore"):
            below = np.mean(output < quantile) - _OFF_OF_QUANTILE
            not_above = np.mean(output <= quantile) + _OFF_OF_QUANTILE
        if not below < part < not_above:
            return False
    wants = [computed_want(evidence.node.op, "", draw) for draw in draws]
    return all(output.problem is None for output in compare_outputs(wants, got))


def contradicts(mutant: Mutant, passed: Evidence) -> bool:
    """Return True if `mutant` would have failed where the backend passed.

    A refusal fails if an answer is admitted there; where none is, any answer fails. Raises what the
    mutant raises on the node, but for InvalidNode, NotSupported and MemoryError, which count as a
    refusal, and what a bound raises that is computed for the first time.
    """
    answer = mutant.made_on(passed.node)
    if isinstance(answer, InvalidNode):
        return bool(passed.admitted)
    return not passed.is_right(as_outputs(answer))


def refuses(mutant: Mutant, accepted: Evidence) -> bool:
    """Return True if `mutant` would have refused a model that was accepted.

    Its outputs are computed in plain arithmetic for that, not exactly. Raises what the mutant
    raises, but for InvalidNode, NotSupported and MemoryError, which count as a refusal.
    """
    with setting(of_legality, True):
        return isinstance(mutant.made_on(accepted.node), InvalidNode)


def _same_kind(got: Output, answer: Output) -> bool:
    """Return True for two arrays of one type and shape, and for others with equal descriptions."""
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return isinstance(got, Foreign) and isinstance(answer, Foreign) and got == answer
    same_type = got.dtype.newbyteorder("=") == answer.dtype.newbyteorder("=")
    return same_type and got.shape == answer.shape


def _alike(
    got: Output, answer: Output, evidence: Evidence, *, place: int, is_rounded: bool
) -> bool:
    """Return True if an output is that of a mutant, up to rounding; both are of one kind.

    Floats of an operator that rounds (`is_rounded`) may differ by some ULP, or more where the
    mutant is far from right; all others must be equal, NaN to NaN and 0 to −0. Outputs that are
    not tensors are equal already. A bound that is computed here for the first time raises what the
    operator's formula raises.
    """
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return True
    dtype = of(got)
    if dtype is None:
        return np.array_equal(got, answer)
    if dtype.kind != "float" or not is_rounded or not got.size:
        return np.array_equal(got, answer, equal_nan=dtype.kind != "string")
    right = evidence.nearest[place]
    if right is None:
        return _same_but_for_cancelling(got, answer, dtype)
    return _floats_alike(got, answer, right, dtype, evidence, place)


def _same_but_for_cancelling(got: Array, answer: Array, dtype: DType) -> bool:
    """Return True if floats differ by a few ULP each, or by some ULP of the largest.

    Sums may cancel. The largest is that of the finite ones of `answer`.
    """
    if int(distance(got, answer).max()) <= _same_ulp(dtype):
        return True
    its = wide(answer)
    largest = float(np.abs(its[np.isfinite(its)]).max(initial=0))
    room = math.ldexp(largest * _same_ulp(dtype), _ROUNDINGS_OF_SUMS - dtype.precision)
    return _largest_distance(wide(got), its) <= room


def _same_ulp(dtype: DType) -> int:
    """Return by how many ULP two arithmetics of a floating type that mean the same differ."""
    return _SAME_IN_16_BITS if dtype.is_half else SAME


def _floats_alike(
    got: Array, answer: Array, right: Array, dtype: DType, evidence: Evidence, place: int
) -> bool:
    """Return True if rounded values are those of a mutant, being far from the `right` ones.

    They are, within a few ULP, unless the mutant has the right value where the backend is farthest
    from it. They may be further off, if the largest distance is at most half of that to the right
    values, and each one is small next to the mutant's own error or within twice the bound. All are
    of `dtype` and one shape, and not empty; `place` is that of the output. Raises what a bound
    raises that is computed for the first time.
    """
    same = _same_ulp(dtype)
    farthest, worst = evidence.farthest[place]
    # Most mutants leave the worst element right.
    if farthest > same and answer.flat[worst] == right.flat[worst]:
        return False
    between = distance(got, answer)
    furthest_between = int(between.max())
    if furthest_between <= same:
        return True
    # The backend's answer must be nearer to the mutant's than to the right one by this factor.
    if furthest_between > farthest // 2:
        return False
    # The most by which two arithmetics that mean the same may differ: half of the digits.
    most = 2 ** (dtype.precision // 2)
    away = np.minimum(distance(right, answer) // np.uint64(FARTHER), np.uint64(most))
    allowed = between <= np.maximum(np.uint64(same), away)
    return bool(allowed.all() or (allowed | evidence.within_errors(place, got, answer)).all())


def fits_fault(rounded: Evidence) -> bool:
    """Return True if the answer in `rounded`, a view without a fault, passes there.

    It must pass by one of the admitted answers. An infinity, NaN or 0 passes where values leave the
    range of the fault's type. An element that is off by more than a quarter of the largest is wrong
    without a look at the bound; a bound that is computed for the first time raises what the
    operator's formula raises. Raises AssertionError for a refusal.
    """
    assert rounded.got is not None
    if any(map(_is_far, rounded.nearest, rounded.got)):
        return False
    for wants in rounded.admitted:
        comparisons = compare_outputs(wants, rounded.got, rounded.tolerance)
        if all(_fits(comparison, rounded, n) for n, comparison in enumerate(comparisons)):
            return True
    return False


def _is_far(base: Output | None, values: Output) -> bool:
    """Return True if an element of `values` is off by more than a quarter of the largest of `base`.

    Poorer arithmetic does not explain that, and to see it costs less than bounds do. Elements that
    are 0 in `values`, and those that are not finite on either side, do not count, nor do they make
    the largest. False unless both are arrays of one shape, and `base` has real floating numbers.
    """
    if not isinstance(base, np.ndarray) or not is_real(base):
        return False
    if isinstance(values, Foreign) or base.shape != values.shape:
        return False
    return bool(is_off(wide(base), wide(values), 4).any())


def _fits(comparison: Comparison, rounded: Evidence, place: int) -> bool:
    """Return True if the output at `place` passes, by its comparison.

    If the tier "range" decides, where a result left the range of the arithmetic, it passes only if
    there are infinities, NaN or 0, and all other elements are equal to the right ones.
    """
    right = rounded.nearest[place]
    got = (rounded.got or ())[place]
    if comparison.tier != "range" or right is None or isinstance(got, Foreign):
        return comparison.problem is None
    out = ~np.isfinite(got) | (got == 0)
    return bool(out.any() and np.array_equal(right[~out], got[~out]))
