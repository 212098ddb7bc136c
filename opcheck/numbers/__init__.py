"""Kinds of numbers: one formula, evaluated on several of them, gives all there is to know.

A formula is written once, with the functions of this package, which have the names and the
meaning of the Python array API standard (https://data-apis.org/array-api/). What it computes
depends on the arrays that are put in:

- *plain*: NumPy arrays. The answer, in the arrays' own type.
- *bounded* (`opcheck.numbers.bounded.Bounded`): the value, far more accurate than the type; a bound
  on how far any sound implementation of the formula may lie from it; and, if asked for, how far
  independent roundings would scatter it.
  With as many digits as are asked for, and no errors, it tells what a value rounds to.
- *faulty* (`opcheck.numbers.faulty.Faulty`): what comes out where one of the functions is wrong.

The package knows NumPy, and mpmath where precise numbers are used, and nothing of operators.
Beyond the standard there are `at_most_1`, `bilinear`, `drawn`, `erf`, `fmod`, `inexact`, `pad`,
`real`, `sums`, `top_k` and `values_of`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from opcheck.errors import decline
from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Kind, Number

#: The functions that every kind has.
NAMES = frozenset(
    """
    abs acos acosh add argmax argmin asin asinh astype at_most_1 atan atanh bilinear broadcast_to
    ceil clip concat cos cosh cumulative_prod cumulative_sum divide equal erf exp expand_dims expm1
    flip floor fmod full_like greater greater_equal inexact isfinite isinf isnan less less_equal log
    log1p logical_and logical_not logical_or logical_xor matmul max maximum mean min minimum
    multiply negative not_equal pad permute_dims pow prod remainder reshape round sign sin sinh sqrt
    squeeze stack subtract sum sums take take_along_axis tan tanh tensordot tile top_k trunc
    values_of where zeros_like
    """.split()
)

#: A tensor of any kind of numbers.
Array: TypeAlias = Any
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
#: What formulas draw wherever they draw, so that they give a quantile; None to draw.
share: ContextVar[float | None] = ContextVar("share", default=None)
#: Whether nothing is drawn: in a graph, other nodes would compute with it.
in_graph: ContextVar[bool] = ContextVar("in_graph", default=False)


def _kind_of(operands: Iterable[Any]) -> Any:
    for operand in operands:
        if isinstance(operand, Kind):
            return operand.kind()
        if isinstance(operand, list | tuple) and (kind := _kind_of(operand)) is not plain:
            return kind
    return plain


class _Context(NamedTuple):
    """Context in which a formula is evaluated: see `lifting` and `faulty.faults`."""

    lift: Callable[[Any], Any]
    faults: "Mapping[str, FaultFunction]"
    trace: set[str] | None


#: Takes the place of a function: it is called with that function, and then as that function is.
FaultFunction: TypeAlias = Callable[..., Any]
Faults: TypeAlias = Mapping[str, FaultFunction]
_context: ContextVar[_Context] = ContextVar("context", default=_Context(lambda x: x, {}, None))  # noqa: B039


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable a value meanwhile."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def lifting(
    lift: Callable[[Any], Any], faults: Faults | None = None, trace: set[str] | None = None
) -> AbstractContextManager[None]:
    """Evaluate a formula on the kind of numbers to which `lift` brings a plain array.

    Where `faulty` numbers are in force, `faults` take the place of functions by their names, and
    `trace` collects the names of those that the formula calls.
    """
    return setting(_context, _Context(lift, faults or {}, trace))


def called(name: str, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Call a function of a formula, or the fault that takes its place."""
    context = _context.get()
    if context.trace is not None:
        first, second = (*operands, 0, 0)[:2]
        context.trace.add(name)
        # What else it is, if its second operand is a tensor and no scalar.
        if np.ndim(second):
            also = [f"{name} of tensors"] * bool(np.ndim(first))
            context.trace.update([f"{name} by tensors", *also])
    if name in context.faults:
        return context.faults[name](function, *operands, **options)
    return function(*operands, **options)


def primitive(function: F) -> F:
    """Let faults take the place of a helper that formulas share, as of the functions here."""

    @wraps(function)
    def replaceable(*operands: Any, **options: Any) -> Any:
        return called(function.__name__, function, *operands, **options)

    return cast(F, replaceable)


def _dispatched(name: str) -> Callable[..., Any]:
    def function(*operands: Any, **options: Any) -> Any:
        kind = _kind_of(operands)
        found = getattr(kind, name)
        # Integers stay plain beside faulty floats, and functions of them go wrong too.
        if kind is plain:
            return called(name, found, *operands, **options)
        return found(*operands, **options)

    function.__name__ = function.__qualname__ = name
    return function


globals().update({name: _dispatched(name) for name in NAMES - {"astype"}})


def astype(x: Any, dtype: Any, *, computes: bool = False) -> Any:
    """`x` in another type; floats that a formula makes of integers are of the kind in force.

    What follows is computed in float32 where that is a 16-bit type, as in all tensors of such
    types; in that type itself if it `computes`, as where the text asks for it.
    """
    if isinstance(x, Kind):
        return x.kind().astype(x, dtype, computes=computes)
    return _context.get().lift(plain.astype(x, dtype))


def lifted(array: Any) -> Any:
    """A plain array as the kind of numbers in force has it."""
    return _context.get().lift(array)


def if_known(x: Any) -> Any:
    """The plain array of numbers that no rounding has touched; others as they are."""
    return x.v.astype(x.dtype) if isinstance(x, Number) and getattr(x, "exact", False) else x


def real(x: float) -> Any:
    """A number of the kind in force, so that Python rounds nothing that is computed from it."""
    found = _context.get().lift(np.asarray(x, np.float64))
    return float(x) if isinstance(found, np.ndarray) else found


def __getattr__(name: str) -> Any:
    nearest = ", ".join(get_close_matches(name, sorted(NAMES), n=4, cutoff=0))
    raise AttributeError(f"{__name__} has no function {name}; NAMES has {nearest} and others")


def drawn(shape: Sequence[int], seed: float | None) -> Any:
    """Independent numbers, equally likely to be anywhere in [0, 1), in float64.

    The same `seed` gives the same ones, None others each time.
    """
    decline(in_graph.get(), "what is computed of numbers drawn at random")
    if (trace := _context.get().trace) is not None:
        trace.add("drawn")
    if (known := share.get()) is not None:
        return np.full(shape, known)
    bits = None if seed is None else int(np.float32(seed).view(np.uint32))
    # Not the generator of opcheck's data, which have seeds too.
    return np.random.Generator(np.random.Philox(bits)).random(shape)


def parted(x: Any) -> tuple[Any, Any]:
    """The values of `x` as exact numbers, and zeros with its errors; None of a kind without any.

    Errors that a formula's own steps would let grow can thus go on by themselves, multiplied by
    what the steps are together.
    """
    return x.parted() if hasattr(x, "parted") else (x, None)
