"""Add, Sub, Mul, Div of two tensors, Max, Min, Sum and Mean of any number, all versions.

From version 7, or 8, on tensors broadcast to each other as NumPy's do. Before, the second of two is
stretched only if `broadcast` allows it, and several have one shape.
"""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from opcheck import numbers as xp, opset
from opcheck.engine.axes import broadcast, common_shape, from_the_front
from opcheck.engine.integers import in_type
from opcheck.engine.mutants.elements import SIGNED
from opcheck.engine.operators import (
    Formula,
    formulas_of_versions,
    operator,
    raise_unspecified,
    signature_of,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag, maximum, minimum
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array, Tensor

NAMES = """Add Div Max Mean Min Mul Sub Sum"""

INTEGERS_WITHOUT_QUOTIENT = Ruling(
    "integers-without-quotient",
    "The text does not define quotients and remainders of integers divided by 0, nor of the least "
    "one divided by -1: hardware gives any number, or stops.",
    ("anything", "refused"),
)
#: A function of two tensors that broadcast.
OfPair: TypeAlias = Callable[[Array, Array], Tensor]


# ── two tensors ───────────────────────────────────────────────────────────────────────────────


def aligned(A: Tensor, B: Tensor, broadcast: int, axis: int | None) -> Tensor:
    """Return B in a shape that broadcasts to A as the versions before 7 define it.

    Without `broadcast` (0), the shapes are equal. With it, B is one element, whatever `axis` is, or
    its axes are those of A from `axis` on; None: the last ones. A itself is never stretched.

    Raises InvalidNode for shapes that do not fit so and for an `axis` not below A's rank,
    NotSupported for a negative `axis`. Another number than 0 and 1 of `broadcast` counts as 1, as
    0, or raises InvalidNode: FLAG_OF_ANOTHER_NUMBER.
    """
    if not flag("broadcast", broadcast):
        reject(A.shape != B.shape, f"shapes {list(A.shape)} and {list(B.shape)}, and no broadcast")
        return B
    if B.size == 1:
        return xp.reshape(B, ())
    if axis is not None and axis < 0:
        raise_unspecified("negative axes")
    start = A.ndim - B.ndim if axis is None else from_the_front(axis, A.ndim)
    if start < 0 or A.shape[start : start + B.ndim] != B.shape:
        raise InvalidNode(
            f"shape {list(B.shape)} is not a part of {list(A.shape)} from axis {start}"
        )
    behind = A.ndim - start - B.ndim
    return xp.reshape(B, (*B.shape, *(1 for _ in range(behind))))


def of_pair(function: OfPair, A: Tensor, B: Tensor) -> Tensor:
    """Return `function` of two tensors that broadcast to each other, in their common shape.

    Sums, differences and products that a type of integers does not hold wrap around, or stay at the
    end of its range: OUTSIDE_THE_INTEGERS. Raises InvalidNode for shapes that do not broadcast, and
    what `function` raises: `divided` of integers without a quotient, the others nothing.
    """
    common_shape(A.shape, B.shape)
    return function(A, B)


def of_aligned_pair(
    function: OfPair, A: Tensor, B: Tensor, *, broadcast: int, axis: int | None
) -> Tensor:
    """Return `function` of two tensors, in the shape of A, before version 7.

    Without `broadcast` (0), the shapes are equal. With it, B is one element, or its axes are those
    of A from `axis` on; None: the last ones. Another number of `broadcast` counts as either or is
    refused: FLAG_OF_ANOTHER_NUMBER. Sums and products that a type of integers does not hold wrap
    around, or stay at the end of its range: OUTSIDE_THE_INTEGERS.

    Raises InvalidNode for shapes that do not fit so and for an `axis` not below A's rank,
    NotSupported for a negative `axis`, and what `function` raises: `divided` of integers without a
    quotient, the others nothing.
    """
    return function(A, aligned(A, B, broadcast, axis))


def each_version_of_pair(
    name: str, function: OfPair, since_7: Callable[..., Tensor] = of_pair
) -> Mapping[int, Formula]:
    """Return the formula of each version of an operator of two tensors, by the first opset of it.

    `name` is the operator's, and `function` that of its two tensors. Those before 7 are
    `of_aligned_pair`, with the attributes broadcast and axis; those from 7 on are `since_7`, of the
    function and both tensors. Each takes the schema's inputs.
    """
    versions = opset.versions("", name)
    newest = versions[max(versions)]
    earlier: Any = partial(of_aligned_pair, function)
    earlier.__signature__ = signature_of(newest, ("broadcast", "axis"))
    later: Any = partial(since_7, function)
    later.__signature__ = signature_of(newest, ())
    return {since: earlier if since < 7 else later for since in versions}


def divided(a: Array, b: Array) -> Array:
    """Return a/b; integers are rounded towards zero, and floats divided by 0 give infinity or NaN.

    a and b broadcast and have one type. Where an integer is divided by 0, or the least one by -1,
    no integer is the quotient: it may be anything, or is refused, INTEGERS_WITHOUT_QUOTIENT. Raises
    InvalidNode by the second reading; NotSupported, while judging, if all are such, and in graphs.
    """
    if a.dtype.kind not in "iu":
        return a / b
    is_out_of_range = (b == -1) & (a == np.iinfo(a.dtype).min)
    has_none = (b == 0) | is_out_of_range
    if not has_none.any():
        return (a - np.fmod(a, b)) // b
    check_quotients()
    divisor = np.where(has_none, b.dtype.type(1), b)
    quotient = (a - np.fmod(a, divisor)) // divisor
    return undefined_where(quotient, has_none, "integers divided by 0, or out of range")


def check_quotients() -> None:
    """Raise InvalidNode if INTEGERS_WITHOUT_QUOTIENT refuses a division by 0, or out of range."""
    is_refused = INTEGERS_WITHOUT_QUOTIENT.reading() == "refused"
    reject(is_refused, "integers divided by 0, or out of range")


def to_either_side(function: OfPair, a: Tensor, b: Tensor) -> Tensor:
    """Return `function` of a and b, of which floats may be rounded to either neighbor.

    So they are where a kernel goes on to compute with the result. Integers are exact. Raises what
    `function` does.
    """
    exact = function(a, b)
    return exact if exact.dtype.kind in "iu" else xp.inexact(exact, 0)


ADD, SUB, MUL, DIV = (operator(name) for name in ("Add", "Sub", "Mul", "Div"))
for _operator, _of_pair in ((ADD, xp.add), (SUB, xp.subtract), (MUL, xp.multiply)):
    _function = in_type(_of_pair)
    _versions = partial(each_version_of_pair, _operator.name)
    _operator.formula(build=_versions)(_function)
    _operator.alternative("", build=_versions)(partial(to_either_side, _function))
_versions_of_div = partial(each_version_of_pair, "Div")
DIV.formula(build=_versions_of_div)(divided)


@DIV.mutant("negative quotients were rounded down", only=SIGNED, build=_versions_of_div)
def quotients_rounded_down(a: Array, b: Array) -> Array:
    """Mutant: integers are divided with rounding down, as in Python.

    Raises what `divided` does where an integer is divided by 0, or the quotient is out of range.
    """
    divided(a, b)
    return a // b


# ── any number of tensors ─────────────────────────────────────────────────────────────────────


def of_many(function: Callable[..., Tensor], is_broadcasting: bool, *data_0: Tensor) -> Tensor:
    """Return `function` of tensors, of which there is at least one.

    From version 8 on (`is_broadcasting`) they broadcast to each other. Raises InvalidNode for
    shapes that do not, and before version 8 for any two shapes that differ.
    """
    if not is_broadcasting and len({x.shape for x in data_0}) > 1:
        raise InvalidNode("the shapes differ, and nothing is stretched before version 8")
    common_shape(*(x.shape for x in data_0))
    return function(*data_0)


def largest(*data: Tensor) -> Tensor:
    """Max: the larger one of the first two, of that and the third, and so on.

    Of NaN and a number it is either one: NAN_IN_MAXIMUM. One tensor is returned as it is.
    """
    return reduce(maximum, data)


def smallest(*data: Tensor) -> Tensor:
    """Min: the smaller one of the first two, of that and the third, and so on.

    Of NaN and a number it is either one: NAN_IN_MINIMUM. One tensor is returned as it is.
    """
    return reduce(minimum, data)


def sum_in_order(*data: Tensor) -> Tensor:
    """Sum, added up from the first tensor to the last; one tensor is returned as it is."""
    return reduce(xp.add, data)


def sum_in_any_order(*data: Tensor) -> Tensor:
    """Sum, added up in any order; raises InvalidNode for shapes that do not broadcast."""
    return xp.sum(xp.stack(broadcast(*data)), axis=0)


def divided_by(x: Tensor, count: int) -> Tensor:
    """Return x / count, in the type of x, which is a float; `count` is 1 or more."""
    return x / np.full((1,) * x.ndim, count, x.dtype)


def mean_in_order(*data: Tensor) -> Tensor:
    """Mean: the sum from the first tensor to the last, divided by their number."""
    return divided_by(sum_in_order(*data), len(data))


def mean_in_any_order(*data: Tensor) -> Tensor:
    """Mean: the sum in any order, divided by the number of tensors.

    Infinities of both signs give NaN. Raises InvalidNode for shapes that do not broadcast.
    """
    return divided_by(sum_in_any_order(*data), len(data))


def mean_of_shares(*data: Tensor) -> Tensor:
    """Mean: the sum of the tensors, each divided by their number.

    Raises InvalidNode for shapes that do not broadcast.
    """
    return sum_in_any_order(*(divided_by(x, len(data)) for x in data))


def running_mean(*data: Tensor) -> Tensor:
    """Mean: that of the tensors so far, moved towards each further one.

    Infinities may give NaN where the sum would not: infinity minus infinity.
    """
    mean = data[0]
    for count, x in enumerate(data[1:], start=2):
        mean = mean + divided_by(x - mean, count)
    return mean


#: The formula of the text first, then others that are as right.
OF_MANY: Mapping[str, tuple[Callable[..., Tensor], ...]] = {
    "Max": (largest,),
    "Min": (smallest,),
    "Mean": (mean_in_order, mean_in_any_order, mean_of_shares, running_mean),
    "Sum": (sum_in_order, sum_in_any_order),
}
for _name, _functions in OF_MANY.items():
    _since_8 = {since: since >= 8 for since in opset.versions("", _name)}
    _operator = operator(_name, exact=_name in ("Max", "Min"))
    _operator.formula_and_alternatives(formulas_of_versions(each=_since_8)(of_many), *_functions)
