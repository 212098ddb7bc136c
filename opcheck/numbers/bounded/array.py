"""Arrays that know how far a sound implementation may lie from them."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from opcheck.numbers.arithmetic import Arithmetic, Grid, Number

#: Values, of one of the dtypes in `VALUES`.
Reals: TypeAlias = NDArray[Any]
#: Errors: float64, or longdouble next to values of that dtype, whose range they need.
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
#: Masks, or levels: `OVERFLOWED`, which True means too, or `ANYTHING`; they combine by `|`.
Lost: TypeAlias = NDArray[Any]
#: An infinity of the value's sign stands in its place; or NaN or an infinity of either sign.
OVERFLOWED, ANYTHING = np.int8(1), np.int8(3)
#: What counts as the size of mpmath's larger numbers, so that errors stay within float64.
CUT = 2.0**1000


@cache
def VALUES() -> tuple[np.dtype[Any], ...]:
    """The NumPy dtypes of values, the narrowest first: float64, longdouble, mpmath's numbers.

    Those of float64 tensors are at least the second. That is left out where longdouble is hardly
    wider than float64. `finfo` tells, and no platform's name, since it may depend on the compiler.
    """
    there, here = np.finfo(np.longdouble), np.finfo(np.float64)
    wider = there.nmant >= here.nmant + 11 and there.minexp < 2 * here.minexp
    kinds = (np.float64, np.longdouble, np.object_) if wider else (np.float64, np.object_)
    return tuple(np.dtype(kind) for kind in kinds)


class Common(NamedTuple):
    """An error that all elements of a group share, such as that of a row's sum.

    A relative one is a factor between 1 / (1 + `down`) and 1 + `up`, an absolute one lies between
    −`down` and `up`. `group` is the number of each element's group. All of them broadcast to the
    array's shape. Before the elements were moved, a group lies along the axes of length 1.
    """

    down: Floats
    up: Floats
    group: NDArray[np.intp]

    def rows(self, shape: tuple[int, ...]) -> Callable[[Any], Any] | None:
        """Return what makes a row of each group of an array; None if their sizes differ."""
        if self.group.shape != shape:
            along = [a for a, length in enumerate(self.group.shape) if length == 1]
            last = range(len(shape) - len(along), len(shape))
            count = max(1, self.group.size)
            return lambda part: np.moveaxis(part, along, last).reshape(count, -1)
        groups, sizes = np.unique(self.group, return_counts=True)
        if not sizes.size or not (sizes == sizes[0]).all():
            return None
        order = np.argsort(self.group, axis=None, kind="stable").reshape(len(groups), -1)
        return lambda part: part.reshape(-1)[order]


@dataclass(eq=False, slots=True)
class Errors:
    """Errors allowed before the last rounding; arrays of the values' shape. Nobody changes them.

    Attributes:
        e: A bound on the absolute error; None for no error at all.
        q: The variance that independent roundings would give; None where the arithmetic does not
            ask for it, or there is none.
        lost: Elements for which an intermediate result may have left the range of the arithmetic,
            so that they are no finite numbers; None for no element. `e` is about all others.
        common: A relative error in common with other elements, which comes on top of `e`.
        shift: An absolute error in common with other elements, which `e` includes.
    """

    e: Floats | None = None
    q: Floats | None = None
    lost: Lost | None = None
    common: Common | None = None
    shift: Common | None = None


NO_ERRORS = Errors()


@dataclass(eq=False, repr=False)
class Bounded(Number):
    """Values, and how far an implementation of the formula so far may lie from them.

    The errors are computed when first asked for: large tensors are mostly accepted by `sure` alone.

    Attributes:
        v: The values, computed so accurately that they count as exact.
        dtype: The NumPy dtype of the tensor that the array stands for.
        k: The last rounding: an error of at most `k` unit roundoffs of `grid`. It is kept apart
            because an output that was rounded to its own type is not rounded once more.
        least: A relative error that `errors.e` allows every element at the least.
        squared: No implementation computes a negative element, whatever `errors.e` reaches, because
            all are squares, magnitudes, or sums of such.
        shares: Elements may have an error in common, as `errors` tells.
        for_logarithm: A sum with smaller errors, for the function that makes much of those next
            to 1; None if there are none. Others are computed by other means, such as e^x − 1.
        addends: The terms added up here, whose errors are in the sum too.
    """

    v: Reals
    dtype: np.dtype[Any]
    arithmetic: Arithmetic
    _errors: Errors | Callable[[], Errors] = NO_ERRORS
    _: KW_ONLY
    k: float = 0.0
    grid: Grid = field(default=cast(Any, None))  # that of the arithmetic
    least: float = 0.0
    squared: bool = False
    shares: bool = False
    _settled: "Bounded | Literal[True] | None" = field(default=None, init=False)
    for_logarithm: "Bounded | None" = field(default=None, init=False)
    addends: "Bounded | None" = field(default=None, init=False)

    def __post_init__(self) -> None:
        # NumPy's operators return a scalar where there is no axis.
        self.v = np.asarray(self.v)
        self.grid = cast(Any, self.grid) or self.arithmetic.grid

    @property
    def exact(self) -> bool:
        """True if no rounding has touched the values."""
        return self._errors is NO_ERRORS and not self.k

    @property
    def errors(self) -> Errors:
        """Errors allowed before the last rounding."""
        if not isinstance(self._errors, Errors):
            found, shape = _with_a_stack(self._errors), self.v.shape
            parts: Any = found.e, found.q, found.lost
            if any(part is not None and part.shape != shape for part in parts):
                e, q, lost = (None if p is None else np.broadcast_to(p, shape) for p in parts)
                found = Errors(e, q, lost, found.common, found.shift)
            self._errors = found
        return self._errors

    #: The bound, the variance, and the lost elements of `errors`.
    e, q, lost = (property(attrgetter(f"errors.{name}")) for name in ("e", "q", "lost"))

    @property
    def sure(self) -> float:
        """A relative error that every element is allowed, the last rounding included."""
        return self.least + self.k * self.grid.u

    @property
    def has_common(self) -> bool:
        """True if elements have a relative error in common."""
        return self.shares and self.errors.common is not None

    def settled(self) -> "Bounded":
        """Return the array with all its errors in `errors`, as an operation sees it."""
        if self.exact or self._settled is True:
            return self
        if self._settled is None:
            self._settled = self._settle()
        return self._settled

    def _settle(self) -> "Bounded":
        before, arithmetic, roundoff = self.errors, self.arithmetic, self.k * self.grid.u
        magnitude = size_of(self.v)
        size = magnitude if before.e is None else magnitude + before.e
        error = size * roundoff
        if self.k and self.grid.step:
            error += self.grid.step
        if before.common is not None:
            down, up = before.common.down, before.common.up
            most = np.maximum(1 - 1 / (1 + down), up) * (1 + roundoff)
            error += np.where(size > 0, size * most, 0.0)
        if before.e is not None:
            error += before.e
        lost = before.lost
        if arithmetic.flushes and self.k:
            small = (size < arithmetic.floor) & ((self.v != 0) | (size > 0))
            if np.count_nonzero(small):
                # What becomes 0 is off by its whole value.
                error += np.where(small, magnitude, 0.0)
        # False for NaN too, so that whatever is strange is looked at.
        if not size.max(initial=0) < min(CUT, arithmetic.largest):
            finite = is_finite(self.v)
            error = np.where(finite, error, 0.0)
            over = finite & ~((size <= arithmetic.largest) & (np.abs(self.v) <= arithmetic.largest))
            if over.any():
                lost = over if lost is None else lost | over
                error = np.where(np.isnan(error), np.inf, error)
        errors = Errors(error, self.variance() if arithmetic.scatters else None, lost)
        squared = self.squared
        settled = Bounded(self.v, self.dtype, arithmetic, errors, least=self.sure, squared=squared)
        settled._settled = True  # and not itself, which only the garbage collector would free
        return settled

    def parted(self) -> tuple["Bounded", "Bounded"]:
        """The values as exact numbers, and zeros with their errors."""
        return Bounded(self.v, self.dtype, self.arithmetic), Bounded(
            np.zeros_like(self.v), self.dtype, self.arithmetic, self.settled().errors
        )

    def ends(self, *, far: bool = False) -> tuple[Reals, Reals]:
        """The least and the greatest value of each element; if `far`, of lost ones too."""
        x = self.settled()
        low, high = (x.v, x.v) if x.e is None else (x.v - x.e, x.v + x.e)
        if not far or x.lost is None:
            return low, high
        infinity, some = as_values(np.inf, x.v.dtype), x.lost > OVERFLOWED
        below, above = ((x.lost > 0) & side for side in (x.v < 0, x.v > 0))
        return np.where(some | below, -infinity, low), np.where(some | above, infinity, high)

    def variance(self) -> Floats | None:
        """The variance that independent roundings give, the last one included."""
        if not self.arithmetic.scatters:
            return None
        size, before = size_of(self.v), self.errors.q
        q = (size * self.grid.u) ** 2 / 3 if self.k else np.zeros(size.shape)
        if before is not None:
            q = q + before
        return np.where(np.isfinite(size), q, 0.0)

    def moved(self, move: Callable[[Any], Any]) -> "Bounded":
        """The array with its elements moved, left out or repeated, which costs no accuracy."""

        def errors() -> Errors:
            old = self.errors
            e, q, lost = (None if one is None else move(one) for one in (old.e, old.q, old.lost))
            common = old.common
            if common is not None:
                common = Common(*(move(np.broadcast_to(part, self.shape)) for part in common))
            return Errors(e, q, lost, common)

        later = NO_ERRORS if self._errors is NO_ERRORS else errors
        return self.like(move(self.v), later, squared=self.squared)

    def never_negative(self) -> bool:
        """Return True if no implementation computes a negative element."""
        return self.squared or (self._errors is NO_ERRORS and bool((self.v >= 0).all()))

    def like(
        self, v: Reals, errors: Errors | Callable[[], Errors], *, squared: bool = False
    ) -> "Bounded":
        """Other values, rounded last as these were."""
        return replace(self, v=v, _errors=errors, squared=squared)

    def beside(self, v: Reals, errors: Callable[[], Errors], keep: bool, least: float) -> "Bounded":
        """Values among which are these, which `keep` their last rounding apart, or do not."""
        if keep:
            return replace(self.like(v, errors), least=least, shares=False)
        grid = self.grid if self.exact else self.arithmetic.grid
        return Bounded(v, self.dtype, self.arithmetic, errors, grid=grid, least=least)

    def __getitem__(self, index: Any) -> "Bounded":
        return self.moved(lambda part: np.asarray(part[index]))

    def __repr__(self) -> str:
        return f"Bounded({self.v!r}, error={self.settled().e!r})"


def _with_a_stack(compute: Callable[[], Errors]) -> Errors:
    """Compute errors, which ask for those of the operands, and so on: a stack is soon used up."""
    try:
        sys._getframe(500)  # half of the calls that Python allows a thread
    except ValueError:
        return compute()
    with ThreadPoolExecutor(1) as another:
        return another.submit(copy_context().run, compute).result()


def size_of(v: Reals) -> Floats:
    """The absolute value of each element, in longdouble if it is that, else in float64.

    Of mpmath's numbers at most `CUT`, and their errors are in proportion to that: see `reach`.
    """
    size = np.asarray(np.abs(v))
    if size.dtype.char in "dg":
        return size
    if size.dtype.char == "O":
        size = np.where((size > CUT) & is_finite(size), CUT, size)
    return size.astype(np.float64)


def reach(v: Reals, e: Floats | None) -> Any:
    """The errors `e` of values, also of those beyond `CUT`, where they are mpmath's numbers."""
    if e is None or v.dtype != np.object_:
        return e
    e = as_values(e, v.dtype)
    return np.where(size_of(v) == CUT, e * (np.abs(v) / CUT), e)


def minus(a: Reals, b: Reals) -> Any:
    """The difference of values, in the wider of their types."""
    wide = max(a.dtype, b.dtype, key=VALUES().index)
    return np.asarray(as_values(a, wide) - as_values(b, wide))


def is_finite(v: Reals) -> Mask:
    """Mask finite values, including those that float64 cannot hold."""
    if v.dtype.char != "O":
        return np.asarray(np.isfinite(v))
    from opcheck.numbers import precise

    return precise.finite(v)


def bounded(x: NDArray[Any], arithmetic: Arithmetic) -> Bounded:
    """A tensor of a floating dtype as it is, without any error.

    In arithmetic that flushes, an implementation may read its subnormal numbers as 0.
    """
    with np.errstate(invalid="ignore"):  # A signalling NaN is a value like any other.
        v = as_values(x, VALUES()[arithmetic.values])
    errors = NO_ERRORS
    if arithmetic.cut:
        errors = Errors(q=(size_of(v) * arithmetic.cut) ** 2 / 3)
    elif arithmetic.flushes:
        size = size_of(v)
        small = (size < arithmetic.smallest) & (size > 0)
        errors = Errors(np.where(small, size, 0.0)) if small.any() else NO_ERRORS
    return Bounded(v, x.dtype.newbyteorder("="), arithmetic, errors)


def as_values(x: Any, kind: np.dtype[Any]) -> Reals:
    """Plain numbers as values of this NumPy dtype, which holds them all."""
    array = np.asarray(x)
    if kind != np.object_:
        return array.astype(kind)
    from opcheck.numbers import precise

    return precise.objects(array)


def constant(x: Any, like: Bounded) -> Bounded:
    """A constant of the formula: its digits are rounded to the arithmetic's numbers.

    Integers, booleans and whatever those numbers hold exactly have no error.
    """
    array = np.asarray(x)
    v = as_values(array, like.v.dtype)
    if array.dtype.kind != "f":
        return Bounded(v, like.dtype, like.arithmetic)
    exact, held = array.astype(np.float64), array.astype(like.arithmetic.grid.dtype.numpy)
    rounds = np.count_nonzero((held != exact) & (exact == exact))
    return Bounded(v, like.dtype, like.arithmetic, k=1.0 if rounds else 0.0)


def pair(a: Any, b: Any) -> tuple[Bounded, Bounded]:
    """Both operands as bounded arrays; at least one is one already."""
    if not isinstance(a, Bounded):
        return constant(a, b), b
    return a, b if isinstance(b, Bounded) else constant(b, a)
