"""Values against a tolerance, element by element, or against a distribution; and wrong elements.

An element's *share* is its error as a part of the allowed one: 0 for a right answer, at most 1
if the error is allowed, above 1 if not, infinite if no error is allowed. Whatever the tolerance:

- The reference rounded once to the output's dtype is right.
- NaN equals NaN, of any payload, and nothing else. An infinite reference, even if rounding made it
  so, equals the same infinity only.
- With a finite reference, NaN, infinities and values outside the operator's range are wrong.
- +0 equals -0 unless the tolerance asks for signed zeros.
- Booleans are exact; integers too, unless the tolerance is an rtol and an atol.

A distance is counted in units in the last place (ULP): steps of the dtype between two numbers.
Every value has a place in the order from -inf to inf, which -0 and +0 share. The difference of
places is an unsigned integer: it is exact across zero, subnormals and up to the infinities (one
step beyond the largest finite value), however large.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import DType, identical, of, parts, round_to
from opcheck.engine import Drawn, Expected
from opcheck.grouping import not_none
from opcheck.model import Array, Tolerance

#: The distance between NaN and anything else.
UNORDERED = 2**64 - 1
#: Elements processed together; a few temporaries of this size fit into a core's cache.
CHUNK = 1 << 16
Floats = NDArray[np.float64]
#: True for each element that is meant.
Mask = NDArray[np.bool_]
#: Indices of elements in a flat array, in C order.
Places = NDArray[np.intp]
#: The most wrong elements of one output that are kept to be shown.
WORST = 8


def distance(a: Array, b: Array) -> NDArray[np.uint64]:
    """Return the steps between `a` and `b`, element by element, as uint64 in their shape.

    Both have one shape and one floating dtype of 16 bits or more, in any memory layout and byte
    order. 0 for NaN and NaN, UNORDERED for NaN and anything else; zeros of either sign are 0 apart.

    Raises ValueError for another dtype, or for dtypes or shapes that differ.
    """
    dtype = of(a)
    if dtype is None or dtype.kind != "float" or of(b) != dtype:
        raise ValueError(f"no ULP distance between {a.dtype} and {b.dtype}")
    if a.shape != b.shape:
        raise ValueError(f"no ULP distance between shapes {a.shape} and {b.shape}")
    place_a, endless = _places(native(a))
    place_b, _ = _places(native(b))
    further = np.maximum(place_a, place_b)
    # The difference may be too large for a signed integer, and is right as an unsigned one.
    steps = np.subtract(further, np.minimum(place_a, place_b)).view(f"u{a.itemsize}")
    nan_a = np.abs(place_a) > endless
    nan_b = np.abs(place_b) > endless
    either = nan_a | nan_b
    if not either.any():
        return np.asarray(steps, np.uint64)
    return np.where(either, np.where(nan_a & nan_b, np.uint64(0), np.uint64(UNORDERED)), steps)


def chunks(*arrays: Array) -> Iterator[tuple[int, tuple[Array, ...]]]:
    """Yield the next CHUNK elements of each of the arrays, after the flat index of the first.

    All have one shape; there is at least one. Pieces are one-dimensional, in index order and in the
    machine's byte order; the last may be shorter. Those of contiguous arrays in this order are
    views. Nothing is yielded of empty arrays.
    """
    # Slices of a contiguous array are views; those of `flat` copy no more than the piece.
    flats = [array.reshape(-1) if array.flags.c_contiguous else array.flat for array in arrays]
    for start in range(0, arrays[0].size, CHUNK):
        yield start, tuple(native(flat[start : start + CHUNK]) for flat in flats)


@np.errstate(over="ignore")
def stepped(array: Array, steps: int) -> Array:
    """Return `array`, of a floating dtype, so many ULP upwards, at most to infinity; NaN stays NaN.

    `steps` below 0 go downwards, at most to −infinity. From an infinity, one step leads to the
    largest number. `array` has the machine's byte order; the result is a copy in its shape and
    dtype. −0 counts as 0, so that 0 steps lead to +0.
    """
    place, endless = _places(array)
    if abs(steps) > endless:
        # Places have no room for a step of more than from 0 to infinity; two reach everything.
        half = endless if steps > 0 else -endless
        rest = max(-endless, min(steps - half, endless))
        return stepped(stepped(array, half), rest)
    least = np.iinfo(place.dtype).min
    count = abs(steps)
    if steps > 0:
        moved = np.where(place > endless - count, endless, place + count)
    else:
        moved = np.where(place < count - endless, -endless, place - count)
    back = np.where(moved < 0, least - moved, moved).astype(place.dtype).view(array.dtype)
    return np.where(np.isnan(array), array, back)


def same(a: Array, b: Array) -> Mask:
    """Mask the elements of two arrays of one dtype that are equal; they broadcast.

    NaN equals NaN of either sign, and complex numbers with NaN in any part equal each other. +0 and
    −0 are equal but in floating dtypes of 16 bits or more. Raises ValueError for shapes that do not
    broadcast.
    """
    equal = a == b
    dtype = of(a)
    if dtype is not None and dtype.kind == "float":
        equal &= np.signbit(wide(a)) == np.signbit(wide(b))
    return np.asarray(equal | ((a != a) & (b != b)))


def native(array: Array) -> Array:
    """Return `array` in the machine's byte order: itself if it has that."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _places(array: Array) -> tuple[NDArray[np.signedinteger[Any]], int]:
    """Return the place of each number in their order, 0 and −0 at 0, and that of infinity.

    `array` is floating and in the machine's byte order; places are integers of its width, in its
    shape. That of NaN is beyond infinity's, or below that of −infinity. A negative number has
    the place of its absolute value, negated.
    """
    bits = array.view(f"i{array.itemsize}")
    endless = int(np.array(np.inf).astype(array.dtype).view(bits.dtype))
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits), endless


def check(tolerance: Tolerance) -> None:
    """Raise ValueError for a tolerance that is negative, infinite, NaN, too large or of both kinds.

    The largest is 2⁶⁴ − 2 ULP. One of no kind is right: it allows no error.
    """
    ulp = tolerance.ulp
    rtol = tolerance.rtol
    atol = tolerance.atol
    if ulp is not None and not 0 <= ulp < UNORDERED:
        raise ValueError(f"a tolerance of {ulp} ULP is no whole number from 0 to {UNORDERED - 1}")
    if not (0 <= rtol < math.inf and 0 <= atol < math.inf):
        raise ValueError(f"rtol {rtol}, atol {atol}: both must be finite and not negative")
    if ulp is not None and (rtol or atol):
        raise ValueError("a tolerance is stated in ULP or as rtol and atol, not both")


@dataclass(frozen=True, eq=False)
class Want:
    """The expected value of one output.

    Attributes:
        name: The output's name.
        dtype: The dtype that is required; None admits any that can hold the values.
        values: The values, in the output's shape. They are exact; for a floating dtype, float64 and
            unrounded, or already in that dtype.
        low: The lower end of the operator's range, None for no limit.
        high: The upper end, None for no limit.
        bound: The error bound of correct implementations; None for an exact answer.
        rest: With a bound, what float64 has no room for: the exact value is `values` + `rest`. None
            for nothing.
        rounded: The dtype to which `values` were rounded before they became float64; None for none.
        random: Only dtype and shape are judged.
        distribution: That of numbers drawn at random, which is judged too; `values` are its
            medians. None for other numbers.
        of_random_data: The inputs were drawn at random, so that the scatter of errors is judged.
        of_own_data: The inputs are the case's own: scatter is judged if its theory holds for them.
        whole: It is an output of a whole model, where scatter alone judges what the bound, grown
            beyond use, leaves unjudged.
        form: A sequence has `items` and no values; an optional without a value ("nothing"), none.
        items: The tensors of a sequence.
        floor: Errors up to this are right under any tolerance that is not strict.
        any_order: All outputs of a node may be permuted together along this axis of the last one,
            or as its "rows"; None if their order is given.
        others: The same output under other readings of what the text leaves open for each element,
            each after its name. An element may follow any of them.
        open_at: Of a model, the rulings and nodes by which the `others` differ, in words.
        undefined: A mask of the elements that may be anything, in the shape of `values`; None for
            no element.
    """

    name: str
    dtype: DType | None
    values: Array
    low: float | None = None
    high: float | None = None
    bound: Expected | None = None
    rest: Floats | None = None
    rounded: DType | None = None
    random: bool = False
    distribution: Drawn | None = None
    of_random_data: bool = False
    of_own_data: bool = False
    whole: bool = False
    form: Literal["tensor", "sequence", "nothing"] = "tensor"
    items: tuple["Want", ...] = ()
    floor: float = 0.0
    any_order: int | Literal["rows"] | None = None
    others: tuple[tuple[str, "Want"], ...] = ()
    open_at: str = ""
    undefined: Mask | None = None

    @property
    def expected(self) -> Expected:
        """The bound of an output that has one; AssertionError for others."""
        return not_none(self.bound)


@dataclass
class Findings:
    """Wrong elements of an output, collected piece by piece.

    Attributes:
        size: The number of elements of the output.
        used: The largest share.
        steps: The largest ULP distance; None for dtypes without ULP.
        unjudged: The number of elements that cannot be judged.
        wrong: A flat mask of the wrong elements; None if there are none.
        worst: Some wrong elements, the worst first: the share, negated, the place, and the allowed
            error in words.
    """

    size: int
    used: float = 0.0
    steps: int | None = 0
    unjudged: int = 0
    wrong: Mask | None = None
    worst: list[tuple[float, int, str]] = field(default_factory=list)

    def add(self, at: Callable[[], Places], shares: Floats, allowed: Callable[[int], str]) -> None:
        """Add elements with their shares, of any shape; those above 1 are wrong.

        `at()` returns their places in the output, in the order of `shares`, and `allowed(i)` the
        error allowed to `shares.flat[i]`, in words; both are called only if an element is wrong. Of
        all wrong elements, the `WORST` with the largest shares are kept.
        """
        shares = shares.reshape(-1)
        self.used = max(self.used, float(shares.max(initial=0)))
        over = np.flatnonzero(shares > 1)
        if not over.size:
            return
        places = at().reshape(-1)
        if self.wrong is None:
            self.wrong = np.zeros(self.size, np.bool_)
        self.wrong[places[over]] = True
        worst = over[np.argsort(-shares[over], kind="stable")[:WORST]]
        self.worst += [(-float(shares[i]), int(places[i]), allowed(int(i))) for i in worst]
        self.worst = sorted(self.worst)[:WORST]

    def step(self, furthest: int | None) -> None:
        """Add the largest ULP distance of a piece, None without ULP, after which none is known."""
        self.steps = None if self.steps is None or furthest is None else max(self.steps, furthest)

    @property
    def count(self) -> int:
        """Number of wrong elements so far."""
        return 0 if self.wrong is None else int(np.count_nonzero(self.wrong))


class ElementTolerance(NamedTuple):
    """A tolerance for the elements of one output; [`low`, `high`] is the operator's range.

    Methods take flat pieces in native byte order: `wanted` as `Want.values`, `got` in `dtype`.
    """

    dtype: DType
    tolerance: Tolerance
    low: float | None
    high: float | None

    def shares(self, wanted: Array, got: Array) -> tuple[Floats, int | None]:
        """Return each element's share, and the largest ULP distance, None for dtypes without ULP.

        A share is the error as a part of the allowed one, above 1 for a wrong element: 0 for a
        right answer, an infinity where no error is allowed. NaN is right for NaN alone, an infinity
        for the same one; NaN, infinities and numbers outside of the operator's range, which complex
        ones do not have, are wrong for a finite number. Under a tolerance in ULP, integers and
        dtypes without ULP must be equal; an rtol and an atol allow all numbers an error.

        `wanted` may be float64 for a floating dtype, and is rounded to it once. The distance is
        `UNORDERED` if one of a pair is NaN. Raises ValueError for a wanted float64 that an integer
        or boolean dtype lacks.
        """
        reference = once_rounded(wanted, self.dtype)
        match self.dtype.kind:
            case "minifloat" | "complex":
                return self._plain_shares(reference, got), None
            case "int" | "bool" | "string":
                return self._integer_shares(reference, got), None
        if identical(reference, got):
            return np.zeros(got.shape), 0
        steps = distance(reference, got)
        return self._float_shares(wanted, reference, got, steps), int(steps.max())

    def allowed_in_words(self, wanted: Array, got: Array) -> str:
        """Describe the error allowed to a wrong element; `wanted` and `got` hold it alone.

        One of "exact", "NaN", a zero with its sign, the operator's range if `got` is outside, "±3
        ULP" and "±0.001", which rtol and atol allow. A complex or NaN `got` is not compared with
        the range. Raises ValueError for a wanted float64 that an integer or boolean dtype lacks.
        """
        reference = once_rounded(wanted, self.dtype)
        if self.dtype.kind == "string":
            return "exact"
        if self.dtype.kind == "complex":
            size = self._allowed_error(np.abs(reference))[0]
            return f"±{size:.3g}" if 0 < size < math.inf else "exact"
        value = float(reference[0])
        if math.isnan(value):
            return "NaN"
        if self.tolerance.signed_zeros and _other_zero(reference, got)[0]:
            return f"{value:+.0f}"
        if math.isinf(value) or self._is_exact:
            return "exact"
        if not math.isnan(float(got[0])) and outside(wide(got), self.low, self.high)[0]:
            return self._range
        if self.tolerance.ulp is not None:
            return f"±{self.tolerance.ulp} ULP"
        return f"±{self._allowed_error(wide(wanted))[0]:.3g}"

    @property
    def _is_exact(self) -> bool:
        """True if no error is allowed to numbers of this dtype, which are not strings.

        That holds for booleans, for integers under a tolerance in ULP, and for a tolerance of 0.
        """
        tolerance = self.tolerance
        if self.dtype.kind == "bool":
            return True
        if self.dtype.kind == "int" and tolerance.ulp is not None:
            return True
        return not (tolerance.ulp or tolerance.rtol or tolerance.atol)

    @property
    def _range(self) -> str:
        """The operator's range in words; it has at least one end."""
        if self.low is None:
            return f"at most {self.high:g}"
        if self.high is None:
            return f"at least {self.low:g}"
        return f"within [{self.low:g}, {self.high:g}]"

    def _float_shares(self, wanted: Array, reference: Array, got: Array, steps: Array) -> Floats:
        """Return the shares of floating elements: of the ULP allowed, or of the rtol and atol.

        `reference` is `wanted` rounded once, and `steps` its distance to `got`; rtol and atol are
        about `wanted` itself. 0 where no step lies between, infinite for other NaN and infinities,
        outside of the operator's range, and for a zero of another sign if signed zeros count.
        """
        exact, rounded, actual = (wide(part) for part in (wanted, reference, got))
        if self.tolerance.ulp is not None:
            allowed = np.full(steps.shape, float(self.tolerance.ulp))
            shares = ratio(steps.astype(np.float64), allowed, steps <= self.tolerance.ulp)
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                error = np.abs(actual - exact)
            allowed = self._allowed_error(exact)
            # An error beyond float64 is wrong, whatever is allowed.
            shares = ratio(error, allowed, (error <= allowed) & np.isfinite(error))
        never = ~np.isfinite(rounded) | ~np.isfinite(actual) | outside(actual, self.low, self.high)
        shares[never] = np.inf
        shares[steps == 0] = 0.0
        if self.tolerance.signed_zeros:
            shares[_other_zero(rounded, actual)] = np.inf
        return shares

    def _integer_shares(self, reference: Array, got: Array) -> Floats:
        """Return the shares of integers, booleans and strings; 0 or infinite where they are exact.

        An rtol and an atol allow an error to integers, which is exact up to 64 bits, where float64
        is not. Errors of others are infinite, and those outside of the operator's range.
        """
        same = reference == got
        if self.dtype.kind != "int" or self.tolerance.ulp is not None:
            return np.where(same, 0.0, np.inf)
        # The larger minus the smaller, modulo 2**64, is right for signed and unsigned alike.
        wanted_bits = reference.astype(np.uint64)
        got_bits = got.astype(np.uint64)
        error = np.where(got > reference, got_bits - wanted_bits, wanted_bits - got_bits)
        allowed = self._allowed_error(wide(reference))
        # Compared as integers: near 2**63 float64 has only every 1024th.
        vast = allowed >= 2.0**64
        whole = np.where(vast, 0.0, allowed).astype(np.uint64)
        shares = ratio(error.astype(np.float64), allowed, (error <= whole) | vast)
        shares[outside(got, self.low, self.high)] = np.inf
        shares[same] = 0.0
        return shares

    def _plain_shares(self, reference: Array, got: Array) -> Floats:
        """Return the shares of numbers without ULP, which are complex or have 8 bits or fewer.

        Right are equal ones, and those with NaN in the same parts; under an rtol and an atol also
        NaN for NaN, and finite numbers within them, not outside of the operator's range if they are
        real. Others have infinite shares, under a tolerance in ULP all that differ. Zeros of
        another sign are wrong if signed zeros count.
        """
        exact, actual = (part.astype(np.complex128) for part in (reference, got))
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(actual - exact)
        allowed = self._allowed_error(np.abs(exact))
        finite = np.isfinite(exact) & np.isfinite(actual)
        shares = ratio(error, allowed, (error <= allowed) & finite & (self.tolerance.ulp is None))
        shares[~finite] = np.inf
        if self.dtype.kind != "complex":
            shares[outside(actual.real, self.low, self.high)] = np.inf
        lenient = bool(self.tolerance.rtol or self.tolerance.atol)
        shares[(exact == actual) | (lenient & np.isnan(exact) & np.isnan(actual))] = 0.0
        exact_parts = parts(exact)
        actual_parts = parts(actual)
        both_nan = np.isnan(exact_parts) & np.isnan(actual_parts)
        shares[np.all((exact_parts == actual_parts) | both_nan, axis=-1)] = 0.0
        if self.tolerance.signed_zeros:
            shares[np.any(_other_zero(exact_parts, actual_parts), axis=-1)] = np.inf
        return shares

    def _allowed_error(self, wanted: Floats) -> Floats:
        """Return the absolute error that rtol and atol allow, infinite where float64 ends.

        NaN of NaN, and of infinities if rtol is 0.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.tolerance.atol + self.tolerance.rtol * np.abs(wanted))


def outside(got: Array, low: float | None, high: float | None) -> Mask:
    """Mask `got` outside the operator's range [low, high]; NaN is outside of either limit.

    None is no limit; without any, nothing is outside.
    """
    beyond = np.zeros(got.shape, np.bool_)
    if low is not None:
        beyond |= ~(got >= low)
    if high is not None:
        beyond |= ~(got <= high)
    return beyond


def wide(values: Array) -> Floats:
    """Return `values` in float64, without NumPy's warning about signalling NaN; always a copy."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def once_rounded(values: Array, dtype: DType) -> Array:
    """Return real `values` in `dtype`, rounded once if needed; any if they are of it, as they are.

    Values too large for a floating `dtype` become infinite. Raises ValueError for a value that an
    integer or boolean `dtype` lacks.
    """
    return values if values.dtype == dtype.numpy else round_to(wide(values), dtype)


def ratio(error: Floats, allowed: Floats, fits: Mask) -> Floats:
    """Return `error` in parts of `allowed`, at most 1 where it `fits` and above 1 elsewhere.

    Infinite where nothing is allowed or the error is infinite, but 1 for those that fit, and just
    above 1 for 0/0.
    """
    quotient = np.full(error.shape, np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        np.divide(error, allowed, out=quotient, where=np.isfinite(error))
    # Of 0/0, which is NaN, `fmin` and `fmax` return the limit.
    of_right = np.fmin(quotient, 1.0)
    of_wrong = np.fmax(quotient, math.nextafter(1.0, 2.0))
    return np.asarray(np.where(fits, of_right, of_wrong))


def _other_zero(reference: Array, got: Array) -> Mask:
    """Mask zeros of another sign than wanted, in the shape of both; real numbers only."""
    wanted = wide(reference)
    actual = wide(got)
    both_zero = (wanted == 0) & (actual == 0)
    return np.asarray(both_zero & (np.signbit(wanted) != np.signbit(actual)))


#: The probability that a right answer is accused by one group of elements, or of pairs.
ERROR_RATE = 1e-10
#: Drawn numbers fall into so many bins, which are as likely.
_BINS = 256
#: The parts of a distribution below the end of each bin, but for the last.
_LEVELS = np.arange(1, _BINS) / _BINS
#: ULP by which an element may lie beyond all that can be drawn.
_BEYOND = 4
#: So many distributions are judged by themselves, of those that most elements have.
_MOST_PROFILES = 64
#: The key of the random numbers that put elements into bins: "opcheck" in ASCII.
_KEY = 0x6F_70_6368_6563_6B


class JudgedDraws(NamedTuple):
    """The judgment of numbers drawn at random; arrays have the shape of the output.

    Attributes:
        low: The lower end of what may be drawn for each element, for floats 4 ULP below.
        high: The upper end, for floats 4 ULP above.
        impossible: The elements that cannot have been drawn.
        used: How unlikely all together are; above 1, too unlikely to be right.
        text: What is least likely about them, in words; "" if nothing was compared.
    """

    low: Array
    high: Array
    impossible: Mask
    used: float = 0.0
    text: str = ""


def judged_draws(draw: Drawn, got: Array, dtype: DType) -> JudgedDraws:
    """Judge numbers drawn at random by their distribution, `draw`, whose shape and dtype they have.

    An element outside of its range by more than 4 ULP, or NaN, is impossible; so is, of a
    distribution of two values, any other one. Of a constant distribution, and of no elements,
    nothing else is judged.

    By the quantiles of its distribution, each element falls into one of 256 bins that are as
    likely. Judged are how many elements are in the first bins, of all and of those of one
    distribution, and how many pairs are on one side of the middle. Of n elements a part of more or
    less than p is in the first bins with a probability of at most exp(−n·D), where D is the
    relative entropy of the part and p (Chernoff's inequality). `used` is above 1 where that is
    below 1e-10 of a right answer.

    Raises what the operator's formula raises on these inputs.
    """
    first_end = draw.quantiles(0.0)
    last_end = draw.quantiles(math.nextafter(1.0, 0.0))
    low = np.minimum(first_end, last_end)
    high = np.maximum(first_end, last_end)
    least = low
    most = high
    size: Callable[[Array], Array] = np.asarray
    if dtype.kind == "float":
        least = stepped(low, -_BEYOND)
        most = stepped(high, _BEYOND)
    impossible = ~((least <= got) & (got <= most))
    if draw.related and dtype.kind == "float":
        got = _moved_to_near_ends(got, low, high)
        # Elements of either sign are judged by their size: all that are dropped are in first bins.
        low, high = np.sort(np.abs([low, high]), axis=0)
        got = np.abs(got)
        size = np.abs
    if (low == high).all():
        return JudgedDraws(least, most, impossible)
    runs = (
        (levels, size(quantile)) for levels, quantile in _runs_of_equal(draw.quantiles, _LEVELS)
    )
    binned = _put_into_bins(got, low, high, runs)
    impossible |= binned.is_of_two_values & (got != low) & (got != high)
    largest = max(_deviations(binned))
    return JudgedDraws(least, most, impossible, largest.share, largest.text)


def _moved_to_near_ends(got: Array, low: Array, high: Array) -> Array:
    """Return `got` with the end in place of floats within 4 ULP of it, for an end other than 0.

    Numbers that are computed from two others, of which one is drawn, are rounded; 0 is exact.
    """
    for end in (low, high):
        is_near = (stepped(end, -_BEYOND) <= got) & (got <= stepped(end, _BEYOND))
        got = np.where(is_near & (end != 0), end, got)
    return got


class _Binned(NamedTuple):
    """Elements drawn at random, put into bins that are as likely; arrays have the output's shape.

    Attributes:
        bins: The bin of each, 0 to 255.
        unsure: Those whose value fills several bins, and which were put into one of them.
        is_of_two_values: Those that can have no value but the ends of their distribution.
        profile: A number that elements of one distribution have in common.
    """

    bins: NDArray[np.int64]
    unsure: Mask
    is_of_two_values: Mask
    profile: Floats


def _runs_of_equal(
    quantiles: Callable[[float], Array],
    levels: Floats,
    of_first: Array | None = None,
    of_last: Array | None = None,
) -> Iterator[tuple[Floats, Array]]:
    """Yield all `levels` in order, several at once if their quantiles are equal, with these.

    `quantiles(share)` returns for each element the number below which this share of what may be
    drawn lies. As the share rises, each rises or each falls, so that levels between two of equal
    quantiles need not be computed: a distribution of few values has few runs. `of_first` and
    `of_last` are the quantiles of the first and last level, None if they are not known yet. Raises
    what `quantiles` raises.
    """
    if of_first is None:
        of_first = quantiles(levels[0])
    if of_last is None:
        of_last = quantiles(levels[-1]) if levels.size > 1 else of_first
    if np.array_equal(of_first, of_last, equal_nan=True):
        yield levels, of_first
        return
    middle = levels.size // 2
    lower = levels[:middle]
    upper = levels[middle:]
    of_end = of_first if lower.size == 1 else None
    of_start = of_last if upper.size == 1 else None
    yield from _runs_of_equal(quantiles, lower, of_first, of_end)
    yield from _runs_of_equal(quantiles, upper, of_start, of_last)


def _put_into_bins(
    got: Array, low: Array, high: Array, runs: Iterable[tuple[Floats, Array]]
) -> _Binned:
    """Put each element of `got` into one of 256 bins, which its distribution makes as likely.

    `runs` are the shares between the bins, in order, and the quantiles that all levels of a run
    have: for each element the number below which this share of what may be drawn lies. `low` and
    `high` are the ends. All have the shape of `got`. NaN falls into the first bin. Raises what
    `runs` raises.
    """
    first = np.zeros(got.shape, np.int64)
    last = np.zeros(got.shape, np.int64)
    is_of_two_values = np.ones(got.shape, np.bool_)
    profile = np.zeros(got.shape)
    for levels, quantile in runs:
        first += levels.size * (quantile < got)
        last += levels.size * (quantile <= got)
        is_of_two_values &= (quantile == low) | (quantile == high)
        # Not the same of two distributions, but by a rare chance.
        profile += quantile * np.sqrt(levels).sum()
    # Where a value fills several bins, this decides, in each run alike.
    within = np.random.Generator(np.random.Philox(key=_KEY)).random(got.shape)
    bins = (first + within * (last - first + 1)).astype(np.int64)
    return _Binned(bins, last > first, is_of_two_values, profile)


class Deviation(NamedTuple):
    """How far drawn numbers are from what is likely.

    Attributes:
        share: That, in parts of what is allowed; above 1 is wrong: a right answer would be so far
            off with a probability below `ERROR_RATE`.
        text: What is unlikely, in words.
    """

    share: float
    text: str


def _deviations(binned: _Binned) -> Iterator[Deviation]:
    """Yield how far off the bins of elements and of pairs are.

    First of all elements, then of those of each distribution if there are several, the 64 most
    frequent ones, and last of pairs. There is at least one element.
    """
    bins = binned.bins.reshape(-1)
    unsure = binned.unsure.reshape(-1)
    yield _deviation_of_bins(bins, unsure, "all")
    profiles, sizes = np.unique(binned.profile, return_counts=True)
    if profiles.size > 1:
        for most_frequent in profiles[np.argsort(-sizes)[:_MOST_PROFILES]]:
            alike = binned.profile.reshape(-1) == most_frequent
            yield _deviation_of_bins(bins[alike], unsure[alike], "those of one distribution")
    yield from _deviations_of_pairs(bins >= _BINS // 2, binned.bins.shape)


def _deviation_of_bins(bins: Array, unsure: Mask, whose: str) -> Deviation:
    """Return how far off elements are from an even distribution over bins.

    Compared are the parts of the elements in the first bins, 1 to 255; the one farthest off counts.
    `bins` has the bin of each element, 0 to 255, and at least one; `unsure` masks those that were
    put into one of several. `whose` begins the words.
    """
    parts = np.cumsum(np.bincount(bins, minlength=_BINS))[:-1] / bins.size
    # Those that were put into one of several bins may be off by one.
    room = float(unsure.mean()) / _BINS
    shares = _shares_of_allowed(
        parts, np.clip(parts, _LEVELS - room, _LEVELS + room), bins.size, _LEVELS.size
    )
    worst = int(shares.argmax())
    text = f"of {whose}, {parts[worst]:.1%} lie below where {_LEVELS[worst]:.1%} should"
    return Deviation(float(shares[worst]), text)


def _deviations_of_pairs(upper: Mask, shape: tuple[int, ...]) -> Iterator[Deviation]:
    """Yield how unlikely the number of pairs on one side of the middle is.

    That is done for each of three distances between the elements of a pair: 1, a row and half of
    all elements; one of 0, or as large as the whole, is left out. A pair is as likely on one side
    as not. `upper` is the flat mask of elements above the middle, in C order of `shape`.
    """
    for lag in {1, shape[-1] if shape else 1, upper.size // 2}:
        if 0 < lag < upper.size:
            alike = np.mean(upper[lag:] == upper[:-lag], keepdims=True)
            text = f"of those {lag} apart, {alike[0]:.1%} lie on one side of the middle, not half"
            shares = _shares_of_allowed(alike, np.full(1, 0.5), upper.size - lag)
            yield Deviation(float(shares[0]), text)


def _shares_of_allowed(parts: Array, likely: Array, count: int, questions: int = 1) -> Array:
    """Return the deviations of parts from `likely` ones, as shares of those allowed.

    Above 1 is wrong. `parts`, from 0 to 1, are of `count` elements. With so many `questions`, the
    probability that any of them accuses a right answer is at most `ERROR_RATE`.
    """
    # 0·log 0 is NaN, and stands for 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        within = parts * np.log(parts / likely)
        beyond = (1 - parts) * np.log((1 - parts) / (1 - likely))
    entropy = np.nan_to_num(within) + np.nan_to_num(beyond)
    shares: Array = np.sqrt(count * entropy.clip(0) / math.log(2 * questions / ERROR_RATE))
    return shares
