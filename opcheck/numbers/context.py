"""How a formula is evaluated: on which kind of numbers, with which faults, and what it may draw.

`opcheck.numbers.functions` is called by formulas. Each of its functions asks `dispatch` for the
function of the kind that its operands are of.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from opcheck.errors import decline
from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Kind, Number
from opcheck.numbers.protocol import Tensor

#: Takes the place of a function: it is called with that function, and then as that function is.
FaultFunction: TypeAlias = Callable[..., Any]
#: What takes the place of functions, by their names.
Faults: TypeAlias = Mapping[str, FaultFunction]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

#: What formulas draw wherever they draw, so that they give a quantile; None to draw.
share: ContextVar[float | None] = ContextVar("share", default=None)
#: True in a graph, whose other nodes would compute with what is drawn: `drawn` raises NotSupported.
in_graph: ContextVar[bool] = ContextVar("in_graph", default=False)


class _Context(NamedTuple):
    """Context in which a formula is evaluated: see `lifting`."""

    lift: Callable[[Any], Any]
    faults: Faults
    trace: set[str] | None


def _unlifted(array: Any) -> Any:
    """Return a plain array as it is."""
    return array


_PLAIN = _Context(_unlifted, {}, None)
_context: ContextVar[_Context] = ContextVar("context", default=_PLAIN)


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable a value until the block ends, also by an exception.

    A context manager, which yields None. The value from before is restored.
    """
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def lifting(
    lift: Callable[[Any], Any], faults: Faults | None = None, trace: set[str] | None = None
) -> AbstractContextManager[None]:
    """Evaluate a formula on the kind of numbers to which `lift` brings a plain array.

    Returns a context manager: the kind is in force within its block, in this thread and task. On
    plain and on faulty numbers, `faults` take the place of functions by their names (None for no
    fault), and the functions that are called are added to the set `trace`: `add`, and for a second
    operand with axes `add by tensors`, for two operands with axes `add of tensors`. None traces
    nothing.
    """
    return setting(_context, _Context(lift, faults or {}, trace))


def lifted(array: Any) -> Tensor:
    """Return a plain array brought to the kind of numbers on which the formula is evaluated.

    That is what the `lift` in force returns, see `lifting`: integers and booleans may stay plain.
    Outside of `lifting` the array is returned as it is.
    """
    return cast(Tensor, _context.get().lift(array))


def real(x: float) -> Any:
    """Return `x` as a number of the kind in force, so that Python rounds nothing computed of it.

    It is a tensor of rank 0; or a Python float where `lifting` leaves a float64 of rank 0 plain.
    """
    number: Any = lifted(np.asarray(x, np.float64))
    if isinstance(number, np.ndarray):
        return float(x)
    return number


def if_known(x: Any) -> Any:
    """Return numbers that no rounding has touched as a plain array; anything else as it is.

    That is a `Bounded` that is `exact`; the new array has its dtype. Faulty numbers are never
    known, and returned as they are.
    """
    if isinstance(x, Number) and getattr(x, "exact", False):
        # Types that NumPy lacks take no mpf; float64 has all their numbers.
        is_extension = x.dtype.isbuiltin != 1
        return (x.v.astype(np.float64) if is_extension else x.v).astype(x.dtype)
    return x


def parted(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the values of `x` as exact numbers, and zeros with its errors, both in its shape.

    For a kind without errors, `x` itself and None. A formula uses it where its own steps would let
    errors grow: it takes the steps with the exact values, multiplies the zeros by what all steps
    together do, and adds both up.
    """
    if hasattr(x, "parted"):
        parts: tuple[Tensor, Tensor] = x.parted()
        return parts
    return x, None


def kind_of(operands: Iterable[Any]) -> Any:
    """Return the module with the functions of the first operand that is not plain.

    Lists and tuples are searched too, however deep. Without such an operand it is the module
    `plain`.
    """
    for operand in operands:
        if isinstance(operand, Kind):
            return operand.kind()
        if isinstance(operand, list | tuple):
            kind = kind_of(operand)
            if kind is not plain:
                return kind
    return plain


def dispatch(name: str, *operands: Any, **options: Any) -> Tensor:
    """Call the function `name` of the kind that the operands are of, and return its result.

    The kind is that of the first operand that is not plain, also within lists. On plain and on
    faulty operands, a fault in force takes the function's place, and the call is added to the
    trace.

    Raises AttributeError if the kind has no such function, and whatever the function raises, such
    as ValueError for shapes that do not broadcast.
    """
    kind = kind_of(operands)
    function = getattr(kind, name)
    # Integers stay plain next to faulty floats, and functions of them go wrong too.
    if kind is plain:
        return cast(Tensor, called(name, function, *operands, **options))
    return cast(Tensor, function(*operands, **options))


def called(name: str, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Call a function of a formula, or the fault that takes its place; return what that returns.

    A fault is called with `function` and then the operands and options. If the context has a trace,
    the call is added to it. Raises only what the function or the fault raises.
    """
    context = _context.get()
    if context.trace is not None:
        _trace_call(context.trace, name, operands)
    fault = context.faults.get(name)
    if fault is None:
        return function(*operands, **options)
    return fault(function, *operands, **options)


def _trace_call(trace: set[str], name: str, operands: Sequence[Any]) -> None:
    """Add a call to `trace`, in place: `add`; also `add by tensors` if the second operand has axes.

    If the first one has axes too, also `add of tensors`. A list has axes.
    """
    trace.add(name)
    others = operands[1:]
    if not others or np.ndim(others[0]) == 0:
        return
    trace.add(f"{name} by tensors")
    if np.ndim(operands[0]) > 0:
        trace.add(f"{name} of tensors")


def primitive(function: F) -> F:
    """Return the function in a form that is traced, and whose place faults can take.

    A decorator for helpers that formulas share. `lifting`'s faults and trace have the helper by its
    name, as they have `add`.
    """

    @wraps(function)
    def replaceable(*operands: Any, **options: Any) -> Any:
        return called(function.__name__, function, *operands, **options)

    return cast(F, replaceable)


def drawn(shape: Sequence[int], seed: float | None) -> NDArray[np.float64]:
    """Return independent float64 numbers of this shape, equally likely to be anywhere in [0, 1).

    The same `seed` gives the same numbers, None others each time; of a seed only its value in
    float32 counts. If the context variable `share` is set, all numbers are that share instead: so
    the caller gets a quantile of what a formula draws. The name `drawn` is added to the trace in
    force.

    Raises NotSupported in a graph (`in_graph`), where other nodes would compute with them;
    ValueError for a negative length.
    """
    decline(in_graph.get(), "what is computed of numbers drawn at random")
    trace = _context.get().trace
    if trace is not None:
        trace.add("drawn")
    quantile = share.get()
    if quantile is not None:
        return np.full(shape, quantile)
    bits = None
    if seed is not None:
        bits = int(np.float32(seed).view(np.uint32))
    # Not the generator of opcheck's data, which have seeds too.
    return np.random.Generator(np.random.Philox(bits)).random(shape)
