"""Clip, all versions."""

from typing import Any

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.operators import operator
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import maximum, minimum
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Operand, Tensor
from opcheck.numbers.faulty import bare

OP = operator("Clip", exact=True)
#: numeric_limits::max() of float, the default of version 6 for all types.
LARGEST_FLOAT32 = 3.4028234663852886e38

DEFAULT_BOUNDS = Ruling(
    "default-bounds-of-clip",
    'Bounds that "default to numeric_limits::lowest() and numeric_limits::max()" cut infinities'
    " off, or none are there; which type's limits they are, the first versions do not state.",
    ("kept", "largest", "largest_of_32_bits"),
    by_element=True,
)
MIN_ABOVE_MAX = Ruling(
    "min-above-max",
    "Before version 13 the text does not define what a min above max makes of an element.",
    ("max", "min", "refused"),
    by_element=True,
)


def within_defaults(x: Tensor, is_beyond: Any) -> Tensor:
    """Return `x`, whose elements `is_beyond` may be cut off at a bound that is left out.

    `is_beyond` masks infinities, and in the first versions what is too large for float32. These
    elements stay, or become the largest number of their own type or of float32 with their sign:
    DEFAULT_BOUNDS. In a narrower type, that of float32 is infinite.
    """
    if not np.any(is_beyond):
        return x
    reading = DEFAULT_BOUNDS.reading()
    if reading == "kept":
        return x
    largest = LARGEST_FLOAT32
    dtype = dtypes.of(np.empty(0, x.dtype))
    if reading == "largest" and dtype is not None:
        largest = dtypes.limits(dtype)[1]
    with np.errstate(over="ignore"):
        limit = np.asarray(largest).astype(x.dtype)
    return xp.where(is_beyond, xp.where(xp.less(x, 0), -limit, limit), x)


def beyond(x: Tensor, *, below: bool, above: bool, largest: float) -> Any:
    """Return a mask of the elements of `x` beyond ±`largest`, on the sides that are asked for.

    `below` and `above` ask for the sides. No integer and no NaN is beyond.
    """
    values = xp.values_of(x) if x.dtype.kind not in "biu" else np.zeros(x.shape)
    return (below & (values < -largest)) | (above & (values > largest))


@OP.formula(13)
def clip(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Return `input` within [min, max]; "When 'min' is greater than 'max'", all is `max`.

    min, max: tensors of rank 0; None for no bound, where an infinity stays, or becomes the largest
    number of its type or of float32, with its sign: DEFAULT_BOUNDS. Where the input or a bound is
    NaN, the result is NaN, or the other number: NAN_IN_MAXIMUM, NAN_IN_MINIMUM. Raises InvalidNode
    for a bound of rank 1 or more.
    """
    for bound in (min, max):
        if bound is not None and bound.ndim:
            raise InvalidNode(f"a bound of shape {list(bound.shape)}; allowed: scalars")
    largest = finite_limit(input)
    is_beyond = beyond(input, below=min is None, above=max is None, largest=largest)
    return between(within_defaults(input, is_beyond), min, max)


def finite_limit(x: Tensor) -> float:
    """Return the largest finite number of a tensor's type, if that is a float of 16 bits or more.

    For other types, such as integers, it is infinity: none of their numbers is beyond it.
    """
    dtype = dtypes.of(np.empty(0, x.dtype))
    if dtype is None or dtype.kind != "float":
        return np.inf
    return float(dtypes.limits(dtype)[1])


def between(x: Tensor, low: Operand | None, high: Operand | None) -> Tensor:
    """Return `x` within [low, high], where None is no bound; a `low` above `high` gives `high`.

    Where `x` or a bound is NaN, the result is NaN, or the other number: NAN_IN_MAXIMUM,
    NAN_IN_MINIMUM.
    """
    if low is not None:
        x = maximum(x, low)
    if high is not None:
        x = minimum(x, high)
    return x


def of_crossed_bounds(x: Tensor, low: Operand, high: Operand) -> Tensor:
    """Return `x` within bounds of which `low` is above `high`: `high` everywhere, or `low`.

    MIN_ABOVE_MAX decides which bound is applied last. By its reading "refused", raises InvalidNode.
    NaN in `x` stays, or gives way to a bound: NAN_IN_MAXIMUM, NAN_IN_MINIMUM.
    """
    reading = MIN_ABOVE_MAX.reading()
    reject(reading == "refused", "min above max")
    if reading == "max":
        return between(x, low, high)
    return maximum(minimum(x, high), low)


@OP.formula(11, 12)
def clip_11(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Return `input` within [min, max], in versions 11 and 12.

    min, max: tensors of rank 0; None for no bound, where an infinity stays, or becomes the largest
    number of its type or of float32, with its sign: DEFAULT_BOUNDS. Where the input or a bound is
    NaN, the result is NaN, or the other number: NAN_IN_MAXIMUM, NAN_IN_MINIMUM.

    A `min` above `max` makes every element `max`, or `min`, or raises InvalidNode: MIN_ABOVE_MAX.
    Raises InvalidNode for a bound of rank 1 or more, and TypeError for bounds whose errors leave
    open which is the larger: in a graph, the node is not judged then.
    """
    clipped = clip(input, min, max)
    if min is not None and max is not None and bare(min) > bare(max):
        return of_crossed_bounds(input, min, max)
    return clipped


@OP.formula(1, 6)
def clip_1(input: Tensor, *, min: float | None, max: float | None) -> Tensor:
    """Return `input` within [min, max], which are attributes in versions 1 and 6.

    None is no bound, nor is the default of version 6, the lowest or largest number of float32.
    There, elements beyond float32's numbers stay, or become the largest number of their type or of
    float32: DEFAULT_BOUNDS. Where the input or a bound is NaN, the result is NaN, or the other
    number: NAN_IN_MAXIMUM, NAN_IN_MINIMUM. A `min` above `max` makes every element `max`, or `min`,
    or raises InvalidNode: MIN_ABOVE_MAX.
    """
    low = None if min in (None, -LARGEST_FLOAT32) else min
    high = None if max in (None, LARGEST_FLOAT32) else max
    largest = np.minimum(finite_limit(input), LARGEST_FLOAT32)
    is_beyond = beyond(input, below=low is None, above=high is None, largest=float(largest))
    if low is not None and high is not None and low > high:
        return of_crossed_bounds(input, low, high)
    return between(within_defaults(input, is_beyond), low, high)


@OP.mutant("min counted more than max where it is above it", 13)
def max_before_min(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Mutant: the upper bound is applied first.

    Raises InvalidNode for a bound of rank 1 or more.
    """
    return clip(clip(input, None, max), min)
