"""Put one question to one backend, record what happens, and turn that into an outcome.

A prepared task runs on data A, then on other data B, then on A again. That is in the backend's own
process, where nothing can be trusted once the backend was imported: names of NumPy that `execute`
needs are bound before that, and the results are compared in another process, by `outcome`.
"""

import reprlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from sys import stderr
from time import perf_counter
from traceback import format_exception
from typing import IO, Literal, TypeAlias

import numpy as np
from numpy import array as plain_copy, empty, generic, memmap, ndarray, str_
from numpy.ma import MaskedArray

from opcheck import dtypes
from opcheck.backends.base import Backend, Defect, Prepared, ProcessDied, UnusableAnswer
from opcheck.errors import BackendUnavailable, NotExpressible, NotSupported, WrongOperator
from opcheck.model import Array, Declared, Foreign, Items, Outcome, Question, Task, Tensors
from opcheck.model.question import (
    IN_TRACEBACK,
    TRACEBACK,
    Crashed,
    DataFiles,
    Declined,
    NotRun,
    OutOfMemory,
    Produced,
    Raised,
    TensorType,
)

Outputs: TypeAlias = tuple[Array | Foreign, ...]
#: A longer list without arrays is the numbers of one output.
_MAX_OUTPUTS = 1000
#: Errors of a backend may carry whole models; nobody reads past this.
MAX_DETAIL = 2000
#: Elements that are written to a file at a time.
_PIECE = 1 << 24
#: The last characters of a traceback that are printed.
_MAX_TRACEBACK = 4000
#: Errors that are no refusal of the data.
_NEVER_A_REFUSAL = (Defect, WrongOperator, BackendUnavailable, ProcessDied, UnusableAnswer)
_NOT_IMPLEMENTED = (NotExpressible, NotSupported, NotImplementedError)
#: Types of exceptions that have a meaning; the first that matches counts.
_SIGNALS = (*_NEVER_A_REFUSAL, SystemExit, *_NOT_IMPLEMENTED, MemoryError, BaseException)


@dataclass(frozen=True)
class CallFailure:
    """An exception that ended the work; `signal` is its type, or the base that has a meaning."""

    #: Defect: opcheck's part of the adapter failed. WrongOperator: an operator's file is wrong.
    #: BackendUnavailable: the backend is not the one asked for. ProcessDied, SystemExit: its
    #: process or program ended. UnusableAnswer: no tensors came. NotExpressible: no model states
    #: the task. NotSupported, NotImplementedError: nothing implements it. BaseException: none.
    signal: str
    kind: str
    detail: str
    documented: bool


@dataclass(eq=False)
class Observed:
    """What happened with one question in the backend's process; `execute` fills it in.

    Attributes:
        stage: The last stage that was begun.
        exit: The exception that ended the work; None if all went well.
        seconds: Time to prepare and to run, all together; 0 if something failed.
        first: The answer to A.
        between: The answer to B; None if it was refused and may be.
        kept: What the arrays of the first answer hold after the second run.
        again: The second answer to A.
        fed: The inputs of each run as they were afterwards.
        declared: The dtypes and shapes that the backend declared before the first run.
        written: The dtypes and shapes of outputs that were written to a file, not to `first`.
        printed: The end of what was printed, if the backend has a process of its own.
        peak: The most bytes of memory its process ever had; 0 if that is not measured.
    """

    stage: Literal["feed", "prepare", "run", "second run", "third run"] = "feed"
    exit: CallFailure | None = None
    seconds: float = 0.0
    first: Outputs | None = None
    between: Outputs | None = None
    kept: Outputs | None = None
    again: Outputs | None = None
    fed: tuple[tuple[Array, ...], ...] = ()
    declared: tuple[Declared, ...] = ()
    written: tuple[Declared, ...] = ()
    printed: str = ""
    peak: int = 0


def execute(backend: Backend, question: Question, *, alone: bool = False) -> Observed:
    """Run `question` on `backend` and record what happens.

    Raises KeyboardInterrupt only, and not even that if the backend is `alone` in its process.
    """
    seen = Observed()
    try:
        _run(backend, question, seen)
    except BaseException as error:  # a backend may even raise SystemExit
        if isinstance(error, KeyboardInterrupt) and not alone:
            raise
        seen.exit = _failure_of(error, backend)
        if alone and seen.exit.signal == "BaseException" and not seen.exit.documented:
            _print_traceback(error)
    return seen


def _run(backend: Backend, question: Question, seen: Observed) -> None:
    """Prepare the task, run it on A, on B and on A again, and note in `seen` what happens."""
    if question.files:
        _run_on_files(backend, question.task, question.files, seen)
        return
    # Copied before the backend is asked: it is not to blame if memory runs out here.
    data = (question.inputs, question.second, question.inputs)
    first_data, second_data, third_data = (_copies(inputs) for inputs in data)
    start = perf_counter()
    seen.stage = "prepare"
    prepared = backend.prepare(question.task)
    seen.declared = _declared(prepared)
    seen.stage = "run"
    held = _held(prepared.run([*first_data]))
    seen.first = tuple(map(_output, held))
    if not backend.info.repeatable:
        seen.seconds = perf_counter() - start
        seen.fed = (first_data,)
        return
    seen.stage = "second run"
    between = _second_run(prepared, second_data, is_legal=question.second_is_legal)
    seen.kept = tuple(map(_output, held))
    seen.between = between
    seen.stage = "third run"
    seen.again = as_outputs(prepared.run([*third_data]))
    seen.seconds = perf_counter() - start
    seen.fed = (first_data, second_data, third_data)


def _run_on_files(backend: Backend, task: Task, files: DataFiles, seen: Observed) -> None:
    """Run the task once on data in a file, write its outputs to another, and note what happens."""
    inputs = [
        _mapped(files.inputs, start, tensor)
        for start, tensor in zip(files.starts, task.inputs, strict=True)
    ]
    start = perf_counter()
    seen.stage = "prepare"
    prepared = backend.prepare(task)
    seen.declared = _declared(prepared)
    seen.stage = "run"
    outputs = _held(prepared.run(inputs))
    seen.seconds = perf_counter() - start
    with Path(files.outputs).open("wb") as file:
        seen.written = tuple(_written(file, value) for value in outputs)
    seen.first = ()


def _mapped(file: str, start: int, tensor: TensorType) -> Array:
    """Return a tensor in a file, which takes no memory of the process and cannot be written to."""
    if 0 in tensor.shape:
        return empty(tensor.shape, tensor.dtype.numpy)
    shape = tensor.shape or (1,)
    array: Array = memmap(file, tensor.dtype.numpy, "r", start, shape).view(ndarray)
    return array.reshape(tensor.shape)


def _written(file: IO[bytes], value: object) -> Declared:
    """Write an output to a file, and return its dtype and shape; raise UnusableAnswer."""
    dtype = dtypes.of(value) if type(value) is ndarray else None
    if dtype is None or not isinstance(value, ndarray):
        raise UnusableAnswer(f"a huge output is {type(value).__name__}, not an array of numbers")
    # Copied only where its elements do not lie in order.
    flat = value.reshape(-1)
    for start in range(0, flat.size, _PIECE):
        file.write(flat[start : start + _PIECE].tobytes())
    return Declared(dtype.name, tuple(map(int, value.shape)))


def _copies(inputs: Tensors) -> tuple[Array, ...]:
    return tuple(array.copy() for array in inputs)


def _second_run(prepared: Prepared, inputs: Tensors, *, is_legal: bool) -> Outputs | None:
    """Return the answer to B; None if it is refused, unless B is legal for certain."""
    try:
        return as_outputs(prepared.run([*inputs]))
    except Exception as error:
        if is_legal or isinstance(error, _NEVER_A_REFUSAL):
            raise
        return None


def _failure_of(error: BaseException, backend: Backend) -> CallFailure:
    """Describe an exception that came out of a backend."""
    signal = next(kind for kind in _SIGNALS if isinstance(error, kind)).__name__
    detail = message_of(error)
    if isinstance(error, SystemExit):
        detail = f"would have left with status {detail or 0}"
    documented = isinstance(error, backend.documented_errors)
    return CallFailure(signal, _type_of(error), detail, documented)


def _print_traceback(error: BaseException) -> None:
    """Print an exception's traceback, and where a user's Python code raised it.

    Reports show the traceback with -vv, and the place with each failure.
    """
    with suppress(BaseException):
        from opcheck.backends.connect import place_of

        text = "".join(format_exception(error)).rstrip()[-_MAX_TRACEBACK:]
        lines = [f"{IN_TRACEBACK}{line}" for line in text.split("\n")]
        print(TRACEBACK, *lines, sep="\n", file=stderr)
        place = place_of(error)
        if place and "site-packages" not in place:
            print(f"raised at {place}", file=stderr)


def _declared(prepared: Prepared) -> tuple[Declared, ...]:
    """Return the outputs that a prepared task declares; raises UnusableAnswer for anything else."""
    if not hasattr(prepared, "declared"):
        return ()
    pairs = prepared.declared()
    try:
        return tuple(_declared_output(dtype, shape) for dtype, shape in pairs)
    except (TypeError, ValueError) as error:
        wanted = "a pair for each output: the name of its dtype or None, and its sizes or None"
        raise UnusableAnswer(f"declared() returned {pairs!r:.200}, not {wanted}") from error


def _declared_output(dtype: object, shape: object) -> Declared:
    """Return a declared output; raises TypeError and ValueError if it is not one."""
    if dtype is not None and not (type(dtype) is str and dtype in dtypes.DTYPES):
        raise ValueError("not a dtype")
    if shape is None:
        return Declared(dtype, None)
    if not isinstance(shape, list | tuple):
        raise TypeError("not a shape")
    # A size may be symbolic, or unknown.
    sizes = tuple(size if type(size) is int and size >= 0 else None for size in shape)
    return Declared(dtype, sizes)


def as_outputs(result: object) -> Outputs:
    """Convert what a backend returned to outputs, copied."""
    return tuple(map(_output, _held(result)))


def _held(result: object) -> tuple[object, ...]:
    """Return the outputs as the backend returned them, without copying."""
    if not isinstance(result, list | tuple):
        return (result,)
    # One that gives all its numbers as a list did not mean a list of outputs.
    if len(result) > _MAX_OUTPUTS and not isinstance(result[0], ndarray):
        return (Foreign(f"list of {len(result):,} values"),)
    return tuple(result)


def _output(value: object) -> Array | Foreign:
    if (type(value) is list or type(value) is tuple) and len(value) <= _MAX_OUTPUTS:
        items = [array for array in map(_plain, value) if type(array) is ndarray]
        if len(items) == len(value):
            return Items(f"list of {len(items)} arrays", tuple(items))
    return _plain(value)


def _plain(value: object) -> Array | Foreign:
    # By its type: an object may claim any class, and override everything, comparison included.
    # A masked array has no values where it is masked.
    if issubclass(type(value), ndarray | generic) and not issubclass(type(value), MaskedArray):
        copy: Array = plain_copy(value, subok=False, order="C")
        return _strings(copy) if copy.dtype.kind in "OUT" else copy
    if isinstance(value, Foreign):
        return value
    return Foreign(f"{type(value).__module__}.{type(value).__qualname__}"[:MAX_DETAIL])


def _strings(copy: Array) -> Array | Foreign:
    """Return strings of any kind as Python's; other objects are no tensors of ONNX."""
    items = copy.reshape(-1).tolist()
    if not all(type(item) in (str, str_) for item in items):
        return Foreign("array of Python objects")
    strings: Array = empty(copy.shape, object)
    for place, item in enumerate(items):
        strings.flat[place] = "".join([item])
    return strings


def _type_of(error: BaseException) -> str:
    """Return the name of its type; a failing metaclass is caught."""
    try:
        return "".join([type(error).__name__])
    except BaseException:  # a backend's code is asked, as below
        return "an exception without a name"


def message_of(error: BaseException) -> str:
    """Return an exception's message, shortened; a failing `__str__` is caught."""
    try:
        text = "".join([str(error)]).strip()  # plain text, whatever was made of it
        if len(text) <= MAX_DETAIL:
            return text
        return f"{text[:MAX_DETAIL]} … ({len(text)} characters)"
    except BaseException as second:  # it is the backend's code that is asked
        return f"(its message cannot be read: {type(second).__name__})"


def attempt(backend: Backend, question: Question) -> Outcome:
    """Run `question` on `backend` in this process. Raises Defect and KeyboardInterrupt."""
    return outcome(execute(backend, question), question)


def outcome(seen: Observed, question: Question) -> Outcome:
    """Turn `seen` into an outcome; raises Defect if opcheck's own part of the adapter failed.

    The first answer is judged. The last must have its form and be right too, the first must still
    hold, and the inputs must be untouched.
    """
    if seen.exit:
        return _failed(seen.exit, seen)
    assert seen.first is not None
    differs: str | None = None
    if seen.again is not None:
        differs = changed(seen.first, seen.again, "the third run, on the first run's data,")
    pairs = zip(question.inputs, question.second, strict=True)
    has_other_data = any(not dtypes.identical(first, second) for first, second in pairs)
    is_as_first = seen.between is not None and same_answers(seen.first, seen.between)
    return Produced(
        seen.first,
        seen.seconds,
        unstable=next(_contradictions(seen, question, differs), None),
        again=seen.again if differs is not None and not question.random else None,
        differs=differs or "",
        between=seen.between,
        once=seen.again is None,
        stale=has_other_data and is_as_first,
        declared=seen.declared,
        written=seen.written,
    )


def _contradictions(seen: Observed, question: Question, differs: str | None) -> Iterator[str]:
    """Yield in which ways runs contradict each other; `differs` is how the third is unlike.

    The first way is shown.
    """
    data = (question.inputs, question.second, question.inputs)
    for run, (fed, inputs) in enumerate(zip(seen.fed, data, strict=False), 1):
        for place, (after, before) in enumerate(zip(fed, inputs, strict=True)):
            if not dtypes.identical(after, before):
                yield f"input {place} of run {run} was modified"
    if seen.again is None:
        return
    assert seen.first is not None
    assert seen.kept is not None
    overwritten = changed(seen.first, seen.kept, "the first result, once the second run is over,")
    if overwritten:
        yield overwritten
    has_its_form = [*map(_form, seen.first)] == [*map(_form, seen.again)]
    if differs and not question.random and not has_its_form:
        yield differs
    for later, which in ((seen.between, "second"), (seen.again, "third")):
        unlike = _of_other_kind(seen.first, later, which)
        if unlike:
            yield unlike


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
    return len(one) == len(other) and all(map(_equal, one, other))


def second_data(
    inputs: Tensors, *, may_negate: bool = True, moved: Collection[int] = ()
) -> list[Array]:
    """Return other data of the same shapes for the second run."""
    # Floating tensors are reversed in memory order, which keeps the range of their values; if that
    # changes nothing, they are negated, if allowed. Other types may hold indices or shapes, which
    # decide if the model is legal: only those at the places `moved` are reversed.
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


def _of_other_kind(judged: Outputs, later: Outputs | None, which: str) -> str | None:
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
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype
    return type(one) is type(other) and _kind(one) == _kind(other)


def _kind(value: Array | Foreign) -> str:
    match value:
        case Items(values=values):
            return f"a sequence of {', '.join(sorted({*map(_kind, values)})) or 'nothing'}"
        case Foreign(description):
            return description
        case _:
            return "string" if value.dtype.hasobject else str(value.dtype)


def changed(judged: Outputs, later: Outputs, what: str) -> str | None:
    """Describe the first difference of `later`, which `what` names; None where there is none."""
    if len(judged) != len(later):
        return f"{what} has {len(later)} outputs, the first run had {len(judged)}"
    for place, (one, other) in enumerate(zip(judged, later, strict=True)):
        if not _equal(one, other):
            comparable = type(one) is type(other) is not Foreign
            how = "differs from the first answer" if comparable else "returned another type"
            return f"{what} {how} in output {place}{_where(one, other)}"
    return None


def _where(one: Array | Foreign, other: Array | Foreign) -> str:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return ""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return ""
    at = tuple(map(int, np.unravel_index(np.argmax(_unequal(one, other)), one.shape)))
    shown = reprlib.repr if one.dtype.hasobject else str
    return f": {shown(other[at])} at {[*at]}, first {shown(one[at])}"


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
    return dtypes.identical(one, other) or not _unequal(one, other).any()


def _unequal(one: Array, other: Array) -> Array:
    with np.errstate(invalid="ignore"):
        differ: Array = np.logical_not((one == other) | ((one != one) & (other != other)))
    return differ
