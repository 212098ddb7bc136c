"""Which elements of a row get a one: functions of a matrix whose lines are the rows.

Rows have elements. Where a choice is not about NaN, the first one is the maximum of its row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

#: The rows, in a type that NumPy compares fast.
Matrix: TypeAlias = Any
#: Whether there is a one, for each element of a matrix.
Mask: TypeAlias = Any
#: A place in each row.
Places: TypeAlias = Any
Choice: TypeAlias = Callable[[Matrix], Mask]


def top(m: Matrix) -> Matrix:
    """The maximum of each row, NaN where there is one."""
    # NumPy takes its time for each of many short rows, here and below.
    if len(m) > m.shape[1]:
        return np.ascontiguousarray(m.T).max(axis=0)[:, None]
    return m.max(axis=1, keepdims=True)


def maxima(m: Matrix) -> Mask:
    """Every maximum of each row, or every NaN of it."""
    return (m == top(m)) | np.isnan(m)


def _first_of(mask: Mask) -> Places:
    return mask.argmax(axis=1)


def _last_of(mask: Mask) -> Places:
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)


def _at(places: Any, m: Matrix) -> Mask:
    """A one at this place of each row."""
    place, columns = np.broadcast_to(places, len(m)), np.arange(m.shape[1])
    if len(m) > m.shape[1]:
        return np.ascontiguousarray((columns[:, None] == place).T)
    return columns == place[:, None]


def _without_nan(m: Matrix) -> Mask:
    """The rows without a NaN, in one column."""
    return ~np.isnan(m).any(axis=1, keepdims=True)


def first(m: Matrix) -> Mask:
    """The right choice: the first maximum."""
    return _at(_first_of(maxima(m)), m)


def where(condition: Any, m: Matrix) -> Mask:
    """The right choice, where this holds."""
    return first(m) & condition


# ── which of several maxima ───────────────────────────────────────────────────────────────────


def last_of_ties(m: Matrix) -> Mask:
    """The last maximum."""
    return _at(_last_of(maxima(m)), m)


def last_if_far(distance: int) -> Choice:
    """The last maximum, if it lies `distance` or more behind the first."""

    def choose(m: Matrix) -> Mask:
        among = maxima(m)
        a, z = _first_of(among), _last_of(among)
        return _at(np.where(z - a >= distance, z, a), m)

    return choose


def last_in_rows_of(least: int, most: int) -> Choice:
    """The last maximum, in rows of so many elements."""

    def choose(m: Matrix) -> Mask:
        return (last_of_ties if least <= m.shape[1] <= most else first)(m)

    return choose


def no_one_if_tied(m: Matrix) -> Mask:
    """The maximum where there is one only."""
    among = maxima(m)
    return among & (among.sum(axis=1, keepdims=True) == 1)


def lowest_lane(width: int) -> Choice:
    """Each of `width` lanes finds its first maximum; among equal ones the lowest lane wins."""

    def choose(m: Matrix) -> Mask:
        length = m.shape[1]
        places = np.arange(length)
        turn = places % width * length + places
        return _at(np.where(maxima(m), turn, width * length).argmin(axis=1), m)

    return choose


def later_block(width: int) -> Choice:
    """Blocks of `width` elements find their first maxima; among equal ones the last wins."""

    def choose(m: Matrix) -> Mask:
        among = maxima(m)
        start = _last_of(among) // width * width
        return _at(_first_of(among & (np.arange(m.shape[1]) >= start[:, None])), m)

    return choose


def later_half(m: Matrix) -> Mask:
    """Of both halves' first maxima the later wins if they are equal."""
    return later_block(-(-m.shape[1] // 2))(m)


def nearly_equal(m: Matrix) -> Mask:
    """The first element that `numpy.isclose` takes for the maximum."""
    most = top(m)
    close = np.isfinite(most) & (np.abs(m - most) <= 1e-8 + 1e-5 * np.abs(most))
    return _at(_first_of(maxima(m) | close), m)


# ── other elements ────────────────────────────────────────────────────────────────────────────


def second(m: Matrix) -> Mask:
    """The first maximum of what is left without the first one."""
    return first(np.where(first(m), -np.inf, m)) if m.shape[1] > 1 else first(m)


def minimum(m: Matrix) -> Mask:
    """The first minimum."""
    return first(-m)


def always(place: int) -> Choice:
    """Whatever the values are."""
    return lambda m: _at(place % m.shape[1], m)


def among(columns: slice) -> Choice:
    """The first maximum of these columns, of all where that is none of them."""

    def choose(m: Matrix) -> Mask:
        ones = np.zeros(m.shape, np.bool_)
        seen = columns if m[:, columns].size else slice(None)
        ones[:, seen] = first(m[:, seen])
        return ones

    return choose


def without_tail(width: int) -> Choice:
    """What is left after the last whole vector is not looked at."""
    return lambda m: among(slice(m.shape[1] // width * width))(m)


def zeros_in_tail(width: int) -> Choice:
    """The last vector is filled up with zeros, which may win and are then cut off."""
    return lambda m: where(~((m.shape[1] % width > 0) & (top(m) < 0)), m)


def from_start(start: float) -> Choice:
    """The running maximum starts at `start`, and only what is larger takes its place."""
    return lambda m: skipping_nan(m) & (m > start)


def from_start_at_0(start: float) -> Choice:
    """The same, and the place of the maximum starts at 0."""

    def choose(m: Matrix) -> Mask:
        ones = from_start(start)(m)
        ones[:, 0] |= ~ones.any(axis=1)
        return ones

    return choose


def index_modulo(limit: int) -> Choice:
    """The index wraps around."""
    return lambda m: _at(_first_of(maxima(m)) % limit, m)


def index_in(dtype: Any) -> Choice:
    """The index is rounded to a floating type."""

    def choose(m: Matrix) -> Mask:
        rounded = _first_of(maxima(m)).astype(dtype).astype(np.float64)
        return _at(np.minimum(rounded, m.shape[1] - 1).astype(np.intp), m)

    return choose


# ── NaN ───────────────────────────────────────────────────────────────────────────────────────


def skipping_nan(m: Matrix) -> Mask:
    """The first maximum of the rest, the first element where there is no rest."""
    return first(np.where(np.isnan(m), -np.inf, m))


def none_beside_nan(m: Matrix) -> Mask:
    """No one in a row with NaN."""
    return where(_without_nan(m), m)


def none_beside_nan_anywhere(m: Matrix) -> Mask:
    """No one at all if there is a NaN."""
    return where(_without_nan(m).all(), m)


def last_nan(m: Matrix) -> Mask:
    """The last NaN of a row."""
    return np.where(_without_nan(m), first(m), last_of_ties(m))


def behind_nan(m: Matrix) -> Mask:
    """What follows the last NaN of a row competes alone."""
    last = np.where(_without_nan(m)[:, 0], -1, _last_of(np.isnan(m)))
    behind = np.arange(m.shape[1]) > last[:, None]
    left = np.where(behind, m, -np.inf)
    among = behind & (left == top(left))
    return _at(np.where(among.any(axis=1), _first_of(among), last), m)
