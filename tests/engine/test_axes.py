from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.engine.axes import coerced_to_2d, from_either_end, from_the_front
from opcheck.errors import InvalidNode

RANKS = st.integers(1, 9)


@given(RANKS)
def test_a_negative_axis_counts_from_the_back(rank: int) -> None:
    dimensions = list(range(rank))
    for axis in range(-rank, rank):
        assert from_either_end(axis, rank) == dimensions[axis]


@given(RANKS)
def test_without_negative_axes_only_the_front_counts(rank: int) -> None:
    assert [from_the_front(axis, rank) for axis in range(rank)] == list(range(rank))


@pytest.mark.parametrize("axis", [-(2**63), -4, -3, 2, 3, 2**32 + 1, 2**63 - 1])
def test_an_axis_outside_the_range_is_named_with_it(axis: int) -> None:
    with pytest.raises(InvalidNode, match=rf"^axis {axis} is outside \[-2, 1\]$"):
        from_either_end(axis, 2)
    with pytest.raises(InvalidNode, match=rf"^axis {axis} is outside \[0, 1\]$"):
        from_the_front(axis, 2)


def test_minus_one_is_outside_where_negative_axes_are_not_documented() -> None:
    with pytest.raises(InvalidNode, match=r"^axis -1 is outside \[0, 2\]$"):
        from_the_front(-1, 3)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_a_scalar_has_no_axis(axis: int) -> None:
    for resolve in (from_either_end, from_the_front):
        with pytest.raises(InvalidNode, match=rf"^axis {axis} .*rank-0"):
            resolve(axis, 0)


@pytest.mark.parametrize(
    ("shape", "axis", "matrix"),
    [
        ((2, 3, 4), 0, (1, 24)),
        ((2, 3, 4), 1, (2, 12)),
        ((2, 3, 4), 2, (6, 4)),
        ((5,), 0, (1, 5)),
        ((2, 0, 3), 1, (2, 0)),
        ((2, 0, 3), 2, (0, 3)),
    ],
)
def test_coercion_multiplies_the_dimensions_before_and_from_the_axis_on(
    shape: tuple[int, ...], axis: int, matrix: tuple[int, int]
) -> None:
    assert coerced_to_2d(shape, axis) == matrix


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_coercion_keeps_every_element(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    assert np.zeros(shape).reshape(coerced_to_2d(shape, axis)).size == np.zeros(shape).size
