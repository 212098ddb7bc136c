"""Arrays that know how far a sound implementation may lie from them.

The symbols are those of docs/bounds.md: *v* a value, *e* a bound on its absolute error, *q* its
variance under independent roundings, *k* the units of its last rounding, *u* the unit roundoff.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from opcheck.errors import decline
from opcheck.numbers.arithmetic import Arithmetic, Grid, Number

#: Values, of one of the dtypes in `value_dtypes()`.
Reals: TypeAlias = NDArray[Any]
#: Errors: float64, or longdouble next to values of that dtype, whose range they need.
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
#: The elements that are lost, as a mask or by levels: 0 for none, `OVERFLOWED`, which True means
#: too, `UNORDERED` or `ANYTHING`. Levels combine by `|`.
Lost: TypeAlias = NDArray[Any]
#: A level of `Lost`: an infinity of the value's sign may stand in its place.
OVERFLOWED = np.int8(1)
#: A level of `Lost`: NaN may stand in its place, as where an infinity is multiplied by 0.
UNORDERED = np.int8(2)
#: A level of `Lost`: an infinity of the other sign than the value's may stand in its place.
_TURNED = np.int8(4)
#: A level of `Lost`: NaN or an infinity of either sign may stand in its place.
ANYTHING = OVERFLOWED | UNORDERED | _TURNED
#: What counts as the size of mpmath's larger numbers, so that errors stay within float64.
CUT = 2.0**1000
#: The smallest subnormal of float64, the type of errors: for what is not 0 and smaller.
TINY = 5e-324
#: A longdouble is worth its time if it has so many more bits of significand than float64.
_MORE_BITS = 11
#: Half of the calls that Python allows a thread.
_DEEP_STACK = 500


@cache
def value_dtypes() -> tuple[np.dtype[Any], ...]:
    """Return the NumPy dtypes of values, the narrowest first: float64, longdouble, objects.

    Objects are mpmath's numbers. The values of float64 tensors are at least of the second dtype.
    longdouble is left out where it is hardly wider than float64. `finfo` decides, and no platform's
    name, as it may depend on the compiler.
    """
    wide = np.finfo(np.longdouble)
    narrow = np.finfo(np.float64)
    has_more_bits = wide.nmant >= narrow.nmant + _MORE_BITS
    has_more_range = wide.minexp < 2 * narrow.minexp
    if has_more_bits and has_more_range:
        return np.dtype(np.float64), np.dtype(np.longdouble), np.dtype(np.object_)
    return np.dtype(np.float64), np.dtype(np.object_)


class Common(NamedTuple):
    """An error that all elements of a group share, such as that of a row's sum.

    A relative one is a factor between 1 / (1 + `down`) and 1 + `up`, an absolute one lies between
    −`down` and `up`. `group` is the number of each element's group. All of them broadcast to the
    array's shape: as an operation makes them, they have length 1 along the axes along which its
    groups lie; after a movement, they have the array's shape.
    """

    down: Floats
    up: Floats
    group: NDArray[np.intp]

    def rows(self, shape: tuple[int, ...]) -> Callable[[Any], Any] | None:
        """Return a function that makes a row of each group of an array: (groups, elements of each).

        It takes arrays of this `shape`, that of the array with the error; rows are in the order of
        the groups' numbers, and elements of a row in C order. None if the groups differ in size, or
        if there are none.
        """
        if not self.group.size:
            return None
        if self.group.shape != shape:
            return self._rows_along_axes(len(shape))
        groups, sizes = np.unique(self.group, return_counts=True)
        if not (sizes == sizes[0]).all():
            return None
        order = np.argsort(self.group, axis=None, kind="stable").reshape(len(groups), -1)
        return lambda part: part.reshape(-1)[order]

    def _rows_along_axes(self, rank: int) -> Callable[[Any], Any]:
        """Return a function that makes a row of each group, for groups along axes of the array.

        These are the axes in which `group` has length 1, and its numbers ascend in the order of
        memory. The function takes arrays of this rank, that of `group`, puts those axes last, and
        returns (groups, elements of each), in the order of `group`, which must not be empty.
        """
        along = [axis for axis, length in enumerate(self.group.shape) if length == 1]
        last = range(rank - len(along), rank)
        count = self.group.size
        return lambda part: np.moveaxis(part, along, last).reshape(count, -1)

    def largest_relative(self) -> Floats:
        """Return the largest relative error of a relative one, in either direction.

        That is of a factor from 1 / (1 + `down`) to 1 + `up`. It has the shape of `up`, and is
        infinite where that is.
        """
        return np.maximum(1 - 1 / (1 + self.down), self.up)


@dataclass(eq=False, slots=True)
class Errors:
    """Errors allowed before the last rounding; arrays of the values' shape, never changed.

    Attributes:
        e: A bound on the absolute error; None for no error at all.
        q: The variance that independent roundings would give; None where the arithmetic does not
            ask for it, or there is none.
        lost: Elements for which an intermediate result may have left the range of the arithmetic,
            so that an implementation may have an infinity or NaN there, or, of integers, any
            number; None for no element. `e` is about all others, and about these where they are
            finite.
        common: A relative error in common with other elements, which comes on top of `e`.
        shift: An absolute error in common with other elements, which `e` includes.
    """

    e: Floats | None = None
    q: Floats | None = None
    lost: Lost | None = None
    common: Common | None = None
    shift: Common | None = None

    def broadcast_to(self, shape: tuple[int, ...]) -> "Errors":
        """Return the errors with `e`, `q` and `lost` in this shape; themselves if they have it.

        The new ones are views that cannot be written to. `common` and `shift` stay as they are.
        Raises ValueError if the errors do not broadcast.
        """
        parts = (self.e, self.q, self.lost)
        if all(part is None or part.shape == shape for part in parts):
            return self
        e, q, lost = (None if part is None else np.broadcast_to(part, shape) for part in parts)
        return Errors(e, q, lost, self.common, self.shift)


#: The errors of exact arrays. This object alone says so, not another one without errors.
NO_ERRORS = Errors()
#: Errors take axes of their own for a while, of the 64 that NumPy has.
MOST_AXES = 60
#: Errors, or what computes them when somebody asks.
LazyErrors: TypeAlias = Errors | Callable[[], Errors]


@dataclass(eq=False, repr=False)
class Bounded(Number):
    """Values, and how far an implementation of the formula so far may lie from them.

    The errors are computed when first asked for: large tensors are mostly accepted by
    `min_total_relative_error` alone. Raises NotSupported for more than MOST_AXES axes.

    Attributes:
        v: The values, computed so accurately that they count as exact.
        dtype: The NumPy dtype of the tensor that the array stands for.
        arithmetic: The implementation's, in which what is computed of the array is rounded.
        k: The last rounding: an error of at most `k` unit roundoffs of `grid`. It is kept apart
            because an output that was rounded to its own type is not rounded once more.
        grid: The numbers of the last rounding, by default those of the arithmetic.
        min_relative_error: A relative error that `errors.e` allows every element at the least.
        nonnegative: No implementation computes a negative element, whatever `errors.e` reaches,
            because all are squares, magnitudes, or sums of such.
        may_share_error: `errors` may have `common` or `shift`, an error in common of several
            elements. If False they have neither, which is known without computing them.
        for_logarithm: The same sum with smaller errors, for a logarithm, which makes much of errors
            next to 1; None unless `elementwise.add` has set it, as of 1 + x for tiny x.
        addends: The array of which this one is the sum, by the same object; its errors are in the
            sum too, so that their quotient scatters less. None for anything else.
    """

    v: Reals
    dtype: np.dtype[Any]
    arithmetic: Arithmetic
    _errors: LazyErrors = NO_ERRORS
    _: KW_ONLY
    k: float = 0.0
    grid: Grid = field(default=cast(Any, None))
    min_relative_error: float = 0.0
    nonnegative: bool = False
    may_share_error: bool = False
    #: This array with its last rounding among its errors, once it was asked for; True for itself.
    _with_rounding: "Bounded | Literal[True] | None" = field(default=None, init=False)
    for_logarithm: "Bounded | None" = field(default=None, init=False)
    addends: "Bounded | None" = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Complete the fields; raises NotSupported for more than MOST_AXES axes."""
        # NumPy's operators return a scalar where there is no axis.
        self.v = np.asarray(self.v)
        decline(self.v.ndim > MOST_AXES, f"bounds of tensors of more than {MOST_AXES} axes")
        self.grid = cast(Any, self.grid) or self.arithmetic.grid

    @property
    def exact(self) -> bool:
        """True if no rounding has touched the values, and no error was stated for them."""
        return self._errors is NO_ERRORS and not self.k

    @property
    def errors(self) -> Errors:
        """Errors allowed before the last rounding, in the shape of `v`.

        They are computed once, when first asked for, and with them those of the arrays of which
        this one was computed.
        """
        if not isinstance(self._errors, Errors):
            self._errors = _with_a_stack(self._errors).broadcast_to(self.v.shape)
        return self._errors

    @property
    def e(self) -> Floats | None:
        """The bound on the absolute error before the last rounding; None for no error."""
        return self.errors.e

    @property
    def q(self) -> Floats | None:
        """The variance before the last rounding; None for none."""
        return self.errors.q

    @property
    def lost(self) -> Lost | None:
        """The elements that may have left the range; None for none."""
        return self.errors.lost

    @property
    def min_total_relative_error(self) -> float:
        """A relative error that every element is allowed, the last rounding included."""
        return self.min_relative_error + self.k * self.grid.u

    @property
    def has_common(self) -> bool:
        """True if elements have a relative error in common; the errors may be computed for that."""
        return self.may_share_error and self.errors.common is not None

    def with_rounding(self) -> "Bounded":
        """Return the array with its last rounding in `errors`, as an operation sees it, and k = 0.

        `errors.e` includes the errors in common then, and `errors` has no `common` or `shift`.
        Computed once; an exact array, or one that this method gave, is returned itself.
        """
        if self.exact or self._with_rounding is True:
            return self
        if self._with_rounding is None:
            self._with_rounding = self._add_rounding()
        return self._with_rounding

    def _add_rounding(self) -> "Bounded":
        """Return the array of which `errors.e` is e + k·u·(|v| + e), and what comes on top.

        That is the standard model of floating-point arithmetic, fl(z) = z·(1 + δ) with |δ| ≤ k·u,
        of a z that is no larger than |v| + e. On top come half a subnormal step, the error in
        common, and the whole value of what may be flushed to 0. What may be larger than the
        arithmetic's largest number is lost; infinite and NaN values have no error.
        """
        before = self.errors
        arithmetic = self.arithmetic
        roundoff = self.k * self.grid.u
        magnitude = magnitude_of(self.v)
        size = magnitude
        if before.e is not None:
            size = magnitude + before.e
        error = size * roundoff
        if self.k and self.grid.step:
            error += self.grid.step
        if before.common is not None:
            factor = before.common.largest_relative() * (1 + roundoff)
            error += np.where(size > 0, size * factor, 0.0)
        if before.e is not None:
            error += before.e
        if arithmetic.flushes and self.k:
            small = (size < arithmetic.floor) & ((self.v != 0) | (size > 0))
            if np.count_nonzero(small):
                # What becomes 0 is off by its whole value, also where float64 has none for it.
                error += np.where(small, np.maximum(magnitude, TINY), 0.0)
        error, lost = self._without_overflow(size, error)
        variance = self.variance() if arithmetic.scatters else None
        rounded = Bounded(
            self.v,
            self.dtype,
            arithmetic,
            Errors(error, variance, lost),
            min_relative_error=self.min_total_relative_error,
            nonnegative=self.nonnegative,
        )
        rounded._with_rounding = True  # and not itself, which only the garbage collector would free
        return rounded

    def _without_overflow(self, size: Floats, error: Floats) -> tuple[Floats, Lost | None]:
        """Return `error`, mended where there are infinities or NaN, and the lost elements.

        `size` is |v| + e, and `error` a bound for it; all have the shape of `v`. Infinite and NaN
        values get the error 0. Lost are those of `errors`, and finite values whose `size` is beyond
        the arithmetic's largest number, as `ANYTHING` where the error leaves their sign open; None
        for no element. If there are such, an error that is NaN becomes infinite.
        """
        lost = self.errors.lost
        largest = self.arithmetic.largest
        # False of NaN: all that is not plainly within is looked at.
        is_within = size.max(initial=0) < min(CUT, largest)
        if is_within:
            return error, lost
        finite = is_finite(self.v)
        error = np.where(finite, error, 0.0)
        over = finite & ~((size <= largest) & (np.abs(self.v) <= largest))
        if over.any():
            has_a_sign = magnitude_of(self.v) * 2 > size
            levels = np.where(has_a_sign, OVERFLOWED, ANYTHING) * over
            lost = levels if lost is None else lost | levels
            error = np.where(np.isnan(error), np.inf, error)
        return error, lost

    def parted(self) -> tuple["Bounded", "Bounded"]:
        """Return the values as exact numbers, and zeros with their errors; see `numbers.parted`.

        The last rounding is among these errors.
        """
        values = Bounded(self.v, self.dtype, self.arithmetic)
        zeros = np.zeros_like(self.v)
        return values, Bounded(zeros, self.dtype, self.arithmetic, self.with_rounding().errors)

    def ends(self, *, far: bool = False) -> tuple[Reals, Reals]:
        """Return the least and the greatest value of each element, in the dtype of `v`.

        They are v − e and v + e, where e includes the last rounding. If `far`, ends of lost
        elements, which may have left the range, are infinite: on the side of the value's sign
        (neither for 0) or, at the level `ANYTHING`, on both. That they may be NaN is not told. NaN
        that is not lost has NaN for ends.
        """
        x = self.with_rounding()
        if x.e is None:
            low, high = x.v, x.v
        else:
            low, high = x.v - x.e, x.v + x.e
        if not far or x.lost is None:
            return low, high
        infinity = as_values(np.inf, x.v.dtype)
        is_anything = x.lost == ANYTHING
        is_below = is_anything | ((x.lost > 0) & (x.v < 0))
        is_above = is_anything | ((x.lost > 0) & (x.v > 0))
        return np.where(is_below, -infinity, low), np.where(is_above, infinity, high)

    def variance(self) -> Floats | None:
        """Return the variance that independent roundings give, the last one included.

        It has the shape of `v`. A rounding of z is taken as uniform between −u·|z| and u·|z|, with
        the variance (u·z)²/3. 0 of infinities and NaN. None where the arithmetic does not scatter.
        """
        if not self.arithmetic.scatters:
            return None
        magnitude = magnitude_of(self.v)
        if self.k:
            q = (magnitude * self.grid.u) ** 2 / 3
        else:
            q = np.zeros(magnitude.shape)
        before = self.errors.q
        if before is not None:
            q = q + before
        return np.where(np.isfinite(magnitude), q, 0.0)

    def moved(self, move: Callable[..., Any], *arguments: Any) -> "Bounded":
        """Return the array with its elements moved, left out or repeated, without any rounding.

        `move(array, *arguments)` does so with the values at once, and with each of their errors,
        arrays of the same shape, when these are asked for. A relative error in common stays so;
        that an absolute one is in common, `errors.shift`, is forgotten: `e` includes it anyway. The
        last rounding stays. Raises what `move` raises.
        """
        v = move(self.v, *arguments)
        if self._errors is NO_ERRORS:
            return self.with_values(v, NO_ERRORS, nonnegative=self.nonnegative)

        def moved_part(part: Any) -> Any:
            """Return `e`, `q` or `lost` with its elements moved; None if it is None."""
            return None if part is None else move(part, *arguments)

        def errors() -> Errors:
            """Return the errors of this array, moved as its values are."""
            old = self.errors
            common = old.common
            if common is not None:
                common = Common(*(moved_part(np.broadcast_to(x, self.shape)) for x in common))
            return Errors(moved_part(old.e), moved_part(old.q), moved_part(old.lost), common)

        return self.with_values(v, errors, nonnegative=self.nonnegative)

    def never_negative(self) -> bool:
        """Return True if no implementation computes a negative element.

        That is known of `nonnegative` arrays, and of exact ones without a negative element or NaN.
        """
        if self.nonnegative:
            return True
        return self._errors is NO_ERRORS and bool((self.v >= 0).all())

    def with_values(self, v: Reals, errors: LazyErrors, *, nonnegative: bool = False) -> "Bounded":
        """Return an array of other values and errors, with all other fields as they are here.

        So the last rounding, `k` to `grid`, is that of this array. `nonnegative` is True if no
        implementation computes a negative element. Only `for_logarithm` and `addends` become None.
        """
        return replace(self, v=v, _errors=errors, nonnegative=nonnegative)

    def with_joined_values(
        self,
        v: Reals,
        errors: Callable[[], Errors],
        *,
        keep_rounding: bool,
        min_relative_error: float,
    ) -> "Bounded":
        """Return an array of the values `v`, which include this one's, in its dtype and arithmetic.

        It is for what joins or chooses among several arrays. If `keep_rounding`, all of `v` were
        rounded last as this array was, and `errors()` returns the errors before that. Otherwise
        `errors()` has all roundings, and k is 0. They have nothing in common. `min_relative_error`
        is that of the result.
        """
        if keep_rounding:
            values = self.with_values(v, errors)
            return replace(values, min_relative_error=min_relative_error, may_share_error=False)
        return Bounded(
            v,
            self.dtype,
            self.arithmetic,
            errors,
            min_relative_error=min_relative_error,
        )

    def __getitem__(self, index: Any) -> "Bounded":
        """Return the elements at an index, as NumPy's arrays do; raises IndexError as they do."""
        return self.moved(lambda part: np.asarray(part[index]))

    def __repr__(self) -> str:
        return f"Bounded({self.v!r}, error={self.with_rounding().e!r})"


def _with_a_stack(compute: Callable[[], Errors]) -> Errors:
    """Return `compute()`, called in a thread of its own if this thread's stack is half used up.

    Errors ask for those of the operands, and so on: in a long formula that is deeper than Python
    allows. Raises what `compute` raises.
    """
    try:
        sys._getframe(_DEEP_STACK)
    except ValueError:
        return compute()
    with ThreadPoolExecutor(1) as another:
        return another.submit(copy_context().run, compute).result()


def magnitude_of(v: Reals) -> Floats:
    """Return the absolute value of each element, in longdouble if it is that, else in float64.

    Finite numbers of mpmath count as at most `CUT`, so that errors made of them stay within
    float64: `errors_around` scales these back. Infinities and NaN stay.
    """
    magnitude = np.asarray(np.abs(v))
    if magnitude.dtype.char in "dg":
        return magnitude
    if magnitude.dtype.char == "O":
        is_beyond = (magnitude > CUT) & is_finite(magnitude)
        magnitude = np.where(is_beyond, CUT, magnitude)
    return magnitude.astype(np.float64)


def errors_around(v: Reals, e: Floats | None) -> Any:
    """Return the errors that `e` stands for around the values `v`; None for None.

    Around mpmath's numbers, `e` of those beyond `CUT` in size is in proportion to `CUT`: it is
    multiplied by |v|/`CUT` here, and all become objects. Around others it is `e` itself.
    """
    if e is None or v.dtype != np.object_:
        return e
    e = as_values(e, v.dtype)
    return np.where(magnitude_of(v) == CUT, e * (np.abs(v) / CUT), e)


def difference_of(a: Reals, b: Reals) -> Any:
    """Return the difference of values, in the wider of their types; they broadcast.

    Raises ValueError for a type that is not in `value_dtypes()`, and for shapes that do not
    broadcast.
    """
    wide = max(a.dtype, b.dtype, key=value_dtypes().index)
    return np.asarray(as_values(a, wide) - as_values(b, wide))


def is_finite(v: Reals) -> Mask:
    """Mask values that are neither infinite nor NaN, True also for those beyond float64's range."""
    if v.dtype.char != "O":
        return np.asarray(np.isfinite(v))
    from opcheck.numbers import precise

    return precise.finite(v)


def bounded(x: NDArray[Any], arithmetic: Arithmetic) -> Bounded:
    """Return a tensor of a floating dtype as a bounded array, without any error.

    Its values are of the dtype in `value_dtypes()` that the arithmetic states. There are two
    exceptions. In arithmetic that flushes, an implementation may read subnormal numbers as 0, which
    is an error of their own size. With an `arithmetic.cut`, it may have rounded its inputs to that
    unit roundoff: they have a variance then, and no bound. Infinities and NaN have no error. Any
    byte order is taken.
    """
    with np.errstate(invalid="ignore"):  # A signalling NaN is a value like any other.
        v = as_values(x, value_dtypes()[arithmetic.values])
    errors = NO_ERRORS
    if arithmetic.cut:
        errors = Errors(q=(magnitude_of(v) * arithmetic.cut) ** 2 / 3)
    elif arithmetic.flushes:
        magnitude = magnitude_of(v)
        subnormal = (magnitude < arithmetic.smallest) & (magnitude > 0)
        if subnormal.any():
            errors = Errors(np.where(subnormal, magnitude, 0.0))
    return Bounded(v, x.dtype.newbyteorder("="), arithmetic, errors)


def as_values(x: Any, kind: np.dtype[Any]) -> Reals:
    """Return plain numbers, an array or one, as values of this NumPy dtype, which holds them all.

    It is a copy. −0 becomes 0 among mpmath's numbers, the objects.
    """
    array = np.asarray(x)
    if kind != np.object_:
        return array.astype(kind)
    from opcheck.numbers import precise

    return precise.objects(array)


def constant(x: Any, like: Bounded) -> Bounded:
    """Return a constant of the formula, which an implementation rounds to its arithmetic's numbers.

    It has the values and the shape of `x`, a plain number or array, and the dtype and arithmetic of
    `like`. Integers, booleans and arrays of which all floats are NaN or numbers of that arithmetic
    have no error; otherwise all elements have k = 1.
    """
    array = np.asarray(x)
    v = as_values(array, like.v.dtype)
    if array.dtype.kind != "f":
        return Bounded(v, like.dtype, like.arithmetic)
    exact = array.astype(np.float64)
    held = array.astype(like.arithmetic.grid.dtype.numpy)
    rounds = np.count_nonzero((held != exact) & (exact == exact))
    return Bounded(v, like.dtype, like.arithmetic, k=1.0 if rounds else 0.0)


def both_bounded(a: Any, b: Any) -> tuple[Bounded, Bounded]:
    """Return both operands as bounded arrays; a plain one becomes a `constant` like the other.

    Raises AttributeError if both are plain.
    """
    if not isinstance(a, Bounded):
        return constant(a, b), b
    if not isinstance(b, Bounded):
        return a, constant(b, a)
    return a, b
