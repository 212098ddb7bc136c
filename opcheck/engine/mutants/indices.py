"""Faults of indices, of places that padding reads, of scattering, and of coercion to a matrix."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants import mutant
from opcheck.engine.mutants.elements import through
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import Node
from opcheck.numbers import Array

#: Helpers of formulas: the elements at indices, and the shape of a matrix.
INDEXED, COERCED = "elements_at", "matrix_of"
#: Other indices, from those that are given and the length of the axis.
IndexChange: TypeAlias = Callable[[Array, int], Array]


def of_indices(
    change: IndexChange, original: Callable[..., Array], indices: Array, length: int, back: bool
) -> Array:
    """Fault: the elements at other indices.

    `back` lets indices below 0 count from the end. Raises InvalidNode for a changed index out of
    range.
    """
    return original(change(indices, length), length, back=back)


# ── indices out of range ──────────────────────────────────────────────────────────────────────


def wrapped(i: Array, n: int) -> Array:
    """Mutant: the index modulo the length."""
    return i % n if n else i


def nearest(i: Array, n: int) -> Array:
    """Mutant: the nearest index in range."""
    return np.clip(i, -n, n - 1) if n else i


def last_for_the_end(i: Array, n: int) -> Array:
    """Mutant: the last index for one beyond it."""
    return np.where(i == n, n - 1, i)


def nearest_but_the_first(i: Array, n: int) -> Array:
    """Mutant: the nearest index in range, but for the first."""
    return np.where(np.arange(i.size).reshape(i.shape), np.clip(i, -n, max(0, n - 1)), i)


def in_type(dtype: Any, i: Array, n: int) -> Array:
    """Mutant: indices are kept in a narrow type."""
    return through(dtype, i)


# ── negative indices ──────────────────────────────────────────────────────────────────────────


def counted_from_the_first_axis(node: Node) -> Array:
    """Mutant: negative indices are counted from the end of the first axis."""

    def counted(i: Array, n: int) -> Array:
        shape = node.given[0].shape
        return np.where(i < 0, i + (shape[0] if shape else 0), i)

    return evaluate(node, faults={INDEXED: partial(of_indices, counted)})


def magnitudes(i: Array, n: int) -> Array:
    """Mutant: the minus sign is ignored."""
    return np.abs(i)


def at_least_0(i: Array, n: int) -> Array:
    """Mutant: 0 for a negative index."""
    return np.maximum(i, 0)


def off_by_one(i: Array, n: int) -> Array:
    """Mutant: negative indices are counted from 0, which is the last."""
    return np.where((i < 0) & (i > -n), i - 1, i)


def beyond_the_end(i: Array, n: int) -> Array:
    """Mutant: negative indices are out of range."""
    return np.where(i < 0, n, i)


def lowest_beyond_the_end(i: Array, n: int) -> Array:
    """Mutant: the lowest index, which is legal, is out of range."""
    return np.where(i == -n, n, i)


def zeros(i: Array, n: int) -> Array:
    """Mutant: 0 for each index."""
    return np.zeros_like(i)


# ── helpers of Pad, of scattering, and of coercion ────────────────────────────────────────────


def symmetric(right: Callable[..., Array], at: Array, end: int) -> Array:
    """Mutant: places are reflected between elements, not at them, so that the edge is doubled."""
    return right(2 * at + 1, 2 * end + 2) // 2


def at_the_edge(right: Callable[..., Array], at: Array, n: int) -> Array:
    """Mutant: the nearest place in range, not modulo `n`."""
    return np.clip(at, 0, n - 1)


def replaced(right: Callable[..., Array], now: Array, old: Array, new: Array) -> Array:
    """Mutant: an update replaces what is there."""
    return new


def last_update(right: Callable[..., Array], now: Array, old: Array, new: Array) -> Array:
    """Mutant: an update is reduced with what was there before all of them."""
    return right(old, old, new)


def coerced(
    change: Callable[[int], int],
    original: Callable[..., tuple[int, int]],
    shape: tuple[int, ...],
    axis: int,
) -> tuple[int, int]:
    """Fault: the shape of a matrix is coerced at the axis that `change` makes of the right one."""
    return original(shape, change(axis))


def one_before(axis: int) -> int:
    """Return the axis before, but 0 at least."""
    return max(axis - 1, 0)


def one_behind(axis: int) -> int:
    """Return the axis behind."""
    return axis + 1


#: Wrong `elements_at` of some paths alone.
CLAMPED = partial(of_indices, nearest)

_AT = "the input was coerced to two dimensions"

FAULTS: tuple[Mutant, ...] = (
    Mutant(
        "negative_index_by_the_first_axis",
        "negative indices were counted from the end of the first axis, whichever was indexed",
        counted_from_the_first_axis,
        INDEXED,
        any_type=True,
    ),
    *mutant.faults(
        INDEXED,
        of_indices,
        (
            "index_wraps",
            "an index out of range was taken modulo the length",
            wrapped,
        ),
        ("index_clamped", "an index out of range was clamped to the nearest one", nearest),
        (
            "index_at_the_end_taken",
            "an index one beyond the end was taken for the last one",
            last_for_the_end,
        ),
        (
            "indices_unchecked_but_the_first",
            "no index was checked but the first one",
            nearest_but_the_first,
        ),
        ("index_in_32_bits", "indices were cut down to 32 bits", partial(in_type, np.int32)),
        of_validity=True,
    ),
    *mutant.faults(
        INDEXED,
        of_indices,
        ("index_in_int8", "indices were cut down to 8 bits", partial(in_type, np.int8)),
        ("index_in_int16", "indices were cut down to 16 bits", partial(in_type, np.int16)),
        (
            "minus_sign_of_index_ignored",
            "the minus sign of a negative index was ignored",
            magnitudes,
        ),
        ("negative_index_is_0", "negative indices were taken for 0", at_least_0),
        (
            "negative_index_off_by_one",
            "negative indices were counted from 0, which stood for the last",
            off_by_one,
        ),
        (
            "negative_index_unsigned",
            "negative indices were read as unsigned numbers, and refused",
            beyond_the_end,
        ),
        (
            "lowest_index_refused",
            "the index that counts from the back to the first was refused",
            lowest_beyond_the_end,
        ),
        ("index_0_always", "every index was taken for 0", zeros),
    ),
    mutant.faulty(
        "reflected",
        "reflect_is_symmetric",
        "the element at the edge was reflected too",
        symmetric,
        any_type=True,
    ),
    mutant.faulty(
        "wrapped_around",
        "wrap_is_edge",
        "the mode wrap was taken for edge",
        at_the_edge,
        any_type=True,
    ),
    *(
        mutant.faulty(
            f"reduced_by_{reduction}",
            name.format(reduction),
            text.format(reduction),
            fault,
            any_type=True,
        )
        for reduction in ("add", "mul", "max", "min")
        for name, text, fault in (
            ("{}_is_none", "the reduction {} was taken for none", replaced),
            (
                "last_update_under_{}",
                "under {}, of equal indices the last alone counted",
                last_update,
            ),
        )
    ),
    *mutant.faults(
        COERCED,
        coerced,
        ("coercion_one_axis_long", f"{_AT} one axis before the right one", one_before),
        ("coercion_one_axis_short", f"{_AT} behind the axis, not before it", one_behind),
    ),
)
