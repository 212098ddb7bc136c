"""One task on one backend: whatever happens becomes an outcome.

A prepared task runs on data A, then on other data B, then on A again. The first answer is
judged; the last must equal it, the first must still hold, and the inputs must be untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TypeAlias

import numpy as np

from opcheck.backends.base import Backend, Defect, Prepared
from opcheck.errors import BackendUnavailable, NotSupported
from opcheck.model import Array, Declined, Foreign, NotRun, Outcome, Produced, Raised, Task

Outputs: TypeAlias = tuple[Array | Foreign, ...]

#: Errors of a backend may carry whole models; nobody reads past this.
MAX_DETAIL = 2000


def attempt(
    backend: Backend,
    task: Task,
    inputs: Sequence[Array],
    second: Sequence[Array],
    *,
    second_is_legal: bool = True,
) -> Outcome:
    """What `backend` does with `task` on `inputs`, and on `second` in between.

    Unless `second_is_legal`, refusing `second` is nobody's fault. KeyboardInterrupt and Defect
    pass through; any other exception becomes an outcome.
    """
    # Made before anything is asked: running out of memory here is no failure of the backend.
    fed = [_copies(inputs), _copies(second), _copies(inputs)]
    stage = "prepare"
    try:
        prepared = backend.prepare(task)
        stage = "run"
        start = perf_counter()
        first = prepared.run(fed[0])
        seconds = perf_counter() - start
        held = _held(first)
        judged = _snapshot(held)
        stage = "second run"
        between = _in_between(prepared, fed[1], second_is_legal)
        kept = _snapshot(held)
        stage = "third run"
        again = _snapshot(_held(prepared.run(fed[2])))
    except (KeyboardInterrupt, Defect):
        raise
    except BackendUnavailable as error:
        return NotRun(_told(error))
    except BaseException as error:
        # Who answered once cannot say afterwards that nothing is implemented.
        if isinstance(error, NotSupported) and stage in ("prepare", "run"):
            return Declined(_told(error))
        documented = isinstance(error, backend.documented_errors)
        return Raised(stage, type(error).__name__, _told(error), documented)
    contradictions = (
        _modified(fed, [inputs, second, inputs]),
        _changed(judged, kept, "the first result, once the second run is over,"),
        _changed(judged, again, "the third run, on the first run's data,"),
        _of_other_kind(judged, between),
    )
    other_data = any(not _same(a, b) for a, b in zip(inputs, second, strict=True))
    return Produced(
        judged,
        seconds,
        unstable=next(filter(None, contradictions), None),
        between=between,
        stale=other_data and between is not None and same_answers(judged, between),
    )


def _in_between(
    prepared: Prepared, second: Sequence[Array], second_is_legal: bool
) -> Outputs | None:
    """The answer to the other data, None where that data may rightly be refused."""
    try:
        return _snapshot(_held(prepared.run(second)))
    except Exception as error:
        if second_is_legal or isinstance(error, Defect | BackendUnavailable):
            raise
        return None


def same_answers(one: Outputs, other: Outputs) -> bool:
    """Whether two answers agree in number, types and values."""
    return _changed(one, other, "") is None


def second_data(inputs: Sequence[Array], *, may_negate: bool = True) -> list[Array]:
    """Other data of the same shapes for the run in between.

    Floating tensors are reversed in memory order, so the values stay in the range the case was
    written for; where that changes nothing, they are negated if they may be. Other types stay,
    because values such as indices and shapes may decide whether the model is legal at all.
    """
    return [_other(array, may_negate) for array in inputs]


def _other(array: Array, may_negate: bool) -> Array:
    if array.dtype.kind not in "fV":
        return array.copy()
    reverse = np.ascontiguousarray(array.reshape(-1)[::-1]).reshape(array.shape)
    if may_negate and _same(reverse, array):
        # On a tensor of rank 0, NumPy's operators return scalars.
        return np.asarray(np.negative(array))
    return reverse


def _copies(arrays: Sequence[Array]) -> list[Array]:
    return [array.copy() for array in arrays]


def _held(result: object) -> tuple[object, ...]:
    """The outputs as the backend returned them, without copying."""
    return tuple(result) if isinstance(result, list | tuple) else (result,)


def _snapshot(held: tuple[object, ...]) -> Outputs:
    return tuple(_plain(value) for value in held)


def _plain(value: object) -> Array | Foreign:
    # A masked array has no values where it is masked.
    masked = isinstance(value, np.ma.MaskedArray)
    if isinstance(value, np.ndarray | np.generic) and not (masked or value.dtype.hasobject):
        # A subclass may lie about comparison; a plain copy can't.
        return np.array(value, subok=False)
    return Foreign(f"{type(value).__module__}.{type(value).__qualname__}")


def _modified(fed: Sequence[Sequence[Array]], pristine: Sequence[Sequence[Array]]) -> str | None:
    for run, (own, given) in enumerate(zip(fed, pristine, strict=True), 1):
        for place, pair in enumerate(zip(own, given, strict=True)):
            if not _same(*pair):
                return f"input {place} of run {run} was modified"
    return None


def _of_other_kind(judged: Outputs, between: Outputs | None) -> str | None:
    """How an answer to other data differs in what data do not change: number and dtypes."""
    if between is None:
        return None
    if len(judged) != len(between):
        return f"the second run has {len(between)} outputs, the first had {len(judged)}"
    for place, (one, other) in enumerate(zip(judged, between, strict=True)):
        if _kind(one) != _kind(other):
            return f"the second run gives {_kind(other)} in output {place}, the first {_kind(one)}"
    return None


def _kind(value: Array | Foreign) -> str:
    return value.description if isinstance(value, Foreign) else str(value.dtype)


def _changed(judged: Outputs, later: Outputs, what: str) -> str | None:
    if len(judged) != len(later):
        return f"{what} has {len(later)} outputs, the first run had {len(judged)}"
    for place, (one, other) in enumerate(zip(judged, later, strict=True)):
        if isinstance(one, Foreign) or isinstance(other, Foreign):
            # Never compared with an array, which would answer element by element.
            if not (isinstance(one, Foreign) and isinstance(other, Foreign) and one == other):
                return f"{what} returned another type in output {place}"
        elif not (_same(one, other) or _equal(one, other)):
            return f"{what} differs from the first answer in output {place}"
    return None


def _equal(one: Array, other: Array) -> bool:
    """Equal values, whatever the bits of a NaN or the sign of a zero; dtype and shape too."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    with np.errstate(invalid="ignore"):
        return bool(((one == other) | ((one != one) & (other != other))).all())


def _same(one: Array, other: Array) -> bool:
    """Bit for bit; dtype and shape too."""
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


def _told(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except Exception as second:
        text = f"(its message cannot be read: {type(second).__name__})"
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL]} … ({len(text)} characters)"
