"""Traits of the elements of an output by the values that meet there: "input A has a NaN"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from opcheck.compare.elements import Floats, Mask
from opcheck.diagnose.elements import ONLY_0, Column, Elements
from opcheck.dtypes import DType, limits

_HALF = 0.5


class Shown(NamedTuple):
    """The elements of a case, and a mask of those that would show an outcome."""

    elements: Elements
    shows: Mask


class Trait(NamedTuple):
    """A trait in words, and what masks the elements of a case that have it."""

    text: str
    holds: Callable[[Elements], Mask]


#: Kinds of numbers, in words that follow "has", and what masks them.
_KINDS: Mapping[str, Callable[[Floats], Mask]] = {
    "a NaN": np.isnan,
    "an infinity": np.isinf,
    "a positive infinity": np.isposinf,
    "a negative infinity": np.isneginf,
    "a 0": lambda x: np.asarray(x == 0),
    "a negative value": lambda x: np.asarray(x < 0),
    "a positive value": lambda x: np.asarray(x > 0),
    "a value that is not whole": lambda x: np.asarray(np.isfinite(x) & (x != np.floor(x))),
    "a value halfway between integers": lambda x: np.asarray(x - np.floor(x) == _HALF),
}

#: Kinds of right values, in words that follow "is", and what masks them.
_RIGHT_KINDS: Mapping[str, Callable[[Floats], Mask]] = {
    "NaN": np.isnan,
    "infinite": np.isinf,
    "0": _KINDS["a 0"],
    "negative": _KINDS["a negative value"],
}


def _of_column(column: Column, kind: Callable[[Floats], Mask], elements: Elements) -> Mask:
    """Mask the elements at which an input is of a kind; none where it does not meet them."""
    if column not in elements.columns:
        return np.zeros(elements.wrong.shape, np.bool_)
    with np.errstate(invalid="ignore"):
        return kind(elements.columns[column])


def _of_right(kind: Callable[[Floats], Mask], elements: Elements) -> Mask:
    """Mask the elements whose right value is of a kind."""
    with np.errstate(invalid="ignore"):
        return kind(elements.right)


def of_relation(text: str, elements: Elements) -> Mask:
    """Mask the elements at which an input is that to an attribute; none without either."""
    return elements.relations.get(text, np.zeros(elements.wrong.shape, np.bool_))


def of_single(text: str, elements: Elements) -> Mask:
    """Mask all elements of a case with this input of one element, else none."""
    return np.full(elements.wrong.shape, text in elements.single)


def _are_equal(one: Column, other: Column, elements: Elements) -> Mask:
    """Mask the elements at which two inputs are equal."""
    columns = elements.columns
    if one not in columns or other not in columns:
        return np.zeros(elements.wrong.shape, np.bool_)
    return np.asarray(columns[one] == columns[other])


def _is_one(x: Floats) -> Mask:
    return np.asarray(x == 1)


def _of_zeros(column: Column) -> str:
    """Return in words that a slice has only zeros: `the input has only 0 along axis`."""
    label, _, along = column.removesuffix(ONLY_0).partition(", ")
    return f"{label} has only 0 {along}"


def kinds(columns: Sequence[Column]) -> list[Trait]:
    """Return the traits without a bound, the likeliest first.

    They are slices of zeros, kinds of numbers in inputs and of right values, and equal inputs.
    """
    inputs = [column for column in columns if ":" not in column]
    traits = [
        Trait(_of_zeros(column), partial(_of_column, column, _is_one))
        for column in columns
        if column.endswith(ONLY_0)
    ]
    traits += [
        Trait(f"{column} has {text}", partial(_of_column, column, kind))
        for text, kind in _KINDS.items()
        for column in inputs
    ]
    traits += [
        Trait(f"the right value is {text}", partial(_of_right, kind))
        for text, kind in _RIGHT_KINDS.items()
    ]
    traits += [
        Trait(f"{first} equals {second}", partial(_are_equal, first, second))
        for first, second in combinations(inputs, 2)
    ]
    return traits


def bounds(
    columns: Sequence[Column], cases: Sequence[Elements], scope: Sequence[Shown]
) -> Iterator[Trait]:
    """Yield traits by a bound on numbers, or on their size, that no right element keeps.

    The wrong elements of the `cases` must keep it; right ones of the `scope` that show something
    must not.
    """
    dtypes = {elements.dtype for elements in cases}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    for column in columns:
        if column.endswith(ONLY_0):
            continue
        wrong = _values(column, [(elements, elements.wrong) for elements in cases])
        right = _values(column, [(elements, shows & ~elements.wrong) for elements, shows in scope])
        wrong, right = wrong[~np.isnan(wrong)], right[~np.isnan(right)]
        if not wrong.size or not right.size:
            continue
        label, _, what = column.partition(": ")
        place, _, along = label.partition(", ")
        has = f"{place} has {f'a {what} value {along}' if what else 'a value'}"
        bounds = _bounds_of_size(wrong, right, dtype) if not what else ()
        for words, test in (*bounds, *_bounds_of_value(wrong, right, dtype)):
            yield Trait(f"{has} {words}", partial(_of_column, column, test))


def _bounds_of_size(
    wrong: Floats, right: Floats, dtype: DType | None
) -> Iterator[tuple[str, Callable[[Floats], Mask]]]:
    """Yield bounds on the size of numbers that all wrong and no right ones keep, in words.

    With each comes its test. Neither array is empty or has a NaN. `dtype` is the type whose range
    may explain a bound, None for none.
    """
    wrong, right = np.abs(wrong), np.abs(right)
    if wrong.min() > right.max():
        bound, words = _bound_between(right.max(), wrong.min(), dtype)
        yield f"beyond {words}", partial(_is_beyond, bound)
    if wrong.max() < right.min():
        bound, words = _bound_between(wrong.max(), right.min())
        yield f"closer to 0 than {words}", partial(_is_near_0, bound)
        return
    # Engines may flush subnormal numbers, and 0 is right of many mistakes.
    least = float(np.finfo(np.float32).tiny)
    normal = right[right >= least]
    if normal.size and least <= wrong.min() and wrong.max() < normal.min():
        bound, words = _bound_between(wrong.max(), normal.min())
        yield f"closer to 0 than {words}, and not 0", partial(_is_near_0_and_normal, bound)


def _bounds_of_value(
    wrong: Floats, right: Floats, dtype: DType | None
) -> Iterator[tuple[str, Callable[[Floats], Mask]]]:
    """Yield bounds on numbers that all wrong and no right ones keep, in words.

    With each comes its test. Neither array is empty or has a NaN. `dtype` is the type whose range
    may explain a bound, None for none.
    """
    if wrong.min() > right.max():
        bound, words = _bound_between(right.max(), wrong.min(), dtype)
        yield f"above {words}", partial(_is_above, bound)
    if wrong.max() < right.min():
        bound, words = _bound_between(wrong.max(), right.min())
        yield f"below {words}", partial(_is_below, bound)


def _is_beyond(bound: float, x: Floats) -> Mask:
    return np.asarray(np.abs(x) > bound)


def _is_near_0(bound: float, x: Floats) -> Mask:
    return np.asarray(np.abs(x) < bound)


def _is_near_0_and_normal(bound: float, x: Floats) -> Mask:
    return np.asarray((np.abs(x) < bound) & (np.abs(x) >= float(np.finfo(np.float32).tiny)))


def _is_above(bound: float, x: Floats) -> Mask:
    return np.asarray(x > bound)


def _is_below(bound: float, x: Floats) -> Mask:
    return np.asarray(x < bound)


def _values(column: Column, masked: Iterable[tuple[Elements, Mask]]) -> Floats:
    """Return the numbers of a column at the masked elements of cases."""
    parts = [
        elements.columns[column][mask] for elements, mask in masked if column in elements.columns
    ]
    return np.concat([np.zeros(0), *parts])


def _bound_between(low: float, high: float, dtype: DType | None = None) -> tuple[float, str]:
    """Return a number from `low` to `high` that a mistake may have as its bound, and it in words.

    It is where a square or an exponential leaves the range of the type, which the words say. Else
    it is a number in the middle, rounded to the fewest digits that leave it between the two.
    """
    if dtype is not None and dtype.kind == "float":
        largest = float(limits(dtype)[1])
        for name, bound in {"square": math.sqrt(largest), "exponential": math.log(largest)}.items():
            if low <= bound < high:
                return bound, f"{bound:.4g}, whose {name} leaves the range of {dtype}"
    middle = _middle(low, high)
    for digits in range(1, 17):
        words = f"{middle:.{digits}g}"
        if low < float(words) < high:
            return float(words), words
    return middle, f"{middle:.17g}"


def _middle(low: float, high: float) -> float:
    """Return a number between two others: their geometric mean if both have one sign.

    Else it is half of their sum. Infinities count as the largest finite numbers.
    """
    if not math.isfinite(high):
        high = math.nextafter(math.inf, 0.0)
    if not math.isfinite(low):
        low = -math.nextafter(math.inf, 0.0)
    if low > 0 or high < 0:
        return math.copysign(math.sqrt(abs(low)) * math.sqrt(abs(high)), low)
    return low / 2 + high / 2
