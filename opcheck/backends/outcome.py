"""Turn whatever was observed of a backend into an outcome.

The first answer is judged. The last must have its form and be right too, the first must still hold,
and the inputs must be untouched.
"""

from collections.abc import Collection, Sequence

import numpy as np

from opcheck import dtypes
from opcheck.backends.base import Backend, Defect
from opcheck.backends.execute import CallFailure, Observed, Outputs, execute
from opcheck.errors import WrongOperator
from opcheck.model import Array, Foreign, Items, Outcome, Question
from opcheck.model.question import Crashed, Declined, NotRun, OutOfMemory, Produced, Raised


def attempt(backend: Backend, question: Question) -> Outcome:
    """Run `question` on `backend` in this process. Raises Defect and KeyboardInterrupt."""
    return outcome(execute(backend, question), question)


def outcome(seen: Observed, question: Question) -> Outcome:
    """Turn `seen` into an outcome; raises Defect if opcheck's own part of the adapter failed."""
    if seen.exit:
        return _failed(seen.exit, seen)
    assert seen.first is not None
    data = (question.inputs, question.second, question.inputs)
    contradictions = [_modified(seen.fed, data)]
    differs = None
    if seen.again is not None:
        assert seen.kept is not None
        kept = _changed(seen.first, seen.kept, "the first result, once the second run is over,")
        differs = _changed(seen.first, seen.again, "the third run, on the first run's data,")
        alike = question.random or [*map(_form, seen.first)] == [*map(_form, seen.again)]
        contradictions += [
            kept,
            None if alike else differs,
            _of_other_kind(seen.first, seen.between),
            _of_other_kind(seen.first, seen.again, "third"),
        ]
    is_other = differs is not None and not question.random
    pairs = zip(question.inputs, question.second, strict=True)
    other_data = any(not dtypes.identical(one, other) for one, other in pairs)
    answered = seen.between is not None and same_answers(seen.first, seen.between)
    return Produced(
        seen.first,
        seen.seconds,
        unstable=next(filter(None, contradictions), None),
        again=seen.again if is_other else None,
        differs=differs or "",
        between=seen.between,
        once=seen.again is None,
        stale=other_data and answered,
        declared=seen.declared,
    )


def _failed(exit: CallFailure, seen: Observed) -> Outcome:
    early = seen.stage in ("prepare", "run")
    match exit.signal:
        case "Defect":
            raise Defect(exit.detail)
        case "WrongOperator":
            raise WrongOperator(exit.detail)
        case "BackendUnavailable":
            return NotRun(exit.detail)
        case "ProcessDied" | "SystemExit":
            return Crashed(exit.detail)
        case "MemoryError" if seen.stage == "feed":
            return NotRun("the case's data do not fit into memory")
        case "MemoryError":
            return OutOfMemory(f"{exit.kind} in {seen.stage}: {exit.detail}".removesuffix(": "))
        # A backend that answered once implements the model.
        case "NotExpressible" | "NotSupported" | "NotImplementedError" as signal if early:
            return Declined(exit.detail, signal == "NotExpressible")
        case _:
            unusable = exit.signal == "UnusableAnswer"
            return Raised(seen.stage, exit.kind, exit.detail, exit.documented, unusable)


def same_answers(one: Outputs, other: Outputs) -> bool:
    """Return True if two answers agree in number, types and values."""
    return _changed(one, other, "") is None


def second_data(
    inputs: Sequence[Array], *, may_negate: bool = True, moved: Collection[int] = ()
) -> list[Array]:
    """Return other data of the same shapes for the second run.

    Floating tensors are reversed in memory order, which keeps the range of their values; if that
    changes nothing, they are negated, if allowed. Other types may hold indices or shapes, which
    decide if the model is legal: only those at the places `moved` are reversed.
    """
    return [_other(array, may_negate, n in moved) for n, array in enumerate(inputs)]


def _other(array: Array, may_negate: bool, moved: bool) -> Array:
    dtype = dtypes.of(array)
    numbers = dtype is not None and dtype.kind in ("float", "minifloat", "complex")
    if not numbers and not moved:
        return array.copy()
    reverse = np.ascontiguousarray(array.reshape(-1)[::-1]).reshape(array.shape)
    if numbers and may_negate and dtypes.identical(reverse, array):
        # On a tensor of rank 0, NumPy's operators return scalars.
        return np.asarray(np.negative(array))
    return reverse


def _modified(fed: Sequence[Sequence[Array]], pristine: Sequence[Sequence[Array]]) -> str | None:
    for run, (own, given) in enumerate(zip(fed, pristine, strict=False), 1):
        for place, pair in enumerate(zip(own, given, strict=True)):
            if not dtypes.identical(*pair):
                return f"input {place} of run {run} was modified"
    return None


def _of_other_kind(judged: Outputs, later: Outputs | None, which: str = "second") -> str | None:
    """Describe how a later answer differs in number or dtypes, which data do not change."""
    if later is None:
        return None
    if len(judged) != len(later):
        return f"the {which} run has {len(later)} outputs, the first had {len(judged)}"
    for place, (one, other) in enumerate(zip(judged, later, strict=True)):
        if not _alike(one, other):
            return f"the {which} run gives {_kind(other)} in output {place}, the first {_kind(one)}"
    return None


def _alike(one: Array | Foreign, other: Array | Foreign) -> bool:
    """Return True if two outputs are of one kind; data may decide the length of a sequence."""
    if isinstance(one, Items) and isinstance(other, Items):
        return len({_kind(value) for value in (*one.values, *other.values)}) <= 1
    return type(one) is type(other) and _kind(one) == _kind(other)


def _kind(value: Array | Foreign) -> str:
    match value:
        case Items(values=values):
            return f"a sequence of {', '.join(sorted({*map(_kind, values)})) or 'nothing'}"
        case Foreign(description):
            return description
        case _:
            return "string" if value.dtype.hasobject else str(value.dtype)


def _changed(judged: Outputs, later: Outputs, what: str) -> str | None:
    if len(judged) != len(later):
        return f"{what} has {len(later)} outputs, the first run had {len(judged)}"
    for place, (one, other) in enumerate(zip(judged, later, strict=True)):
        if not _equal(one, other):
            comparable = type(one) is type(other) is not Foreign
            how = "differs from the first answer" if comparable else "returned another type"
            return f"{what} {how} in output {place}"
    return None


def _form(value: Array | Foreign) -> object:
    """Return the type and the shape of an output, which the same data decide."""
    if isinstance(value, Items):
        return [*map(_form, value.values)]
    return value if isinstance(value, Foreign) else (value.dtype, value.shape)


def _equal(one: Array | Foreign, other: Array | Foreign) -> bool:
    """Return True if dtype, shape and values agree; bits of NaN and signs of 0 do not matter."""
    if isinstance(one, Items) and isinstance(other, Items):
        return same_answers(one.values, other.values)
    if isinstance(one, Foreign) or isinstance(other, Foreign):
        # Never compared with an array, which would answer element by element.
        return isinstance(one, Foreign) and isinstance(other, Foreign) and one == other
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if dtypes.identical(one, other):
        return True
    with np.errstate(invalid="ignore"):
        return bool(((one == other) | ((one != one) & (other != other))).all())
