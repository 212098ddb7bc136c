import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.engine.axes import (
    from_either_end,
    from_the_front,
    matrix_of,
    rows_along,
    rows_apart,
    rows_coerced,
)
from opcheck.errors import InvalidNode


@given(st.integers(1, 9))
def test_axes_count_from_the_front_and_negative_ones_from_the_back(rank: int) -> None:
    dimensions = [*range(rank)]
    assert [from_either_end(axis, rank) for axis in range(-rank, rank)] == dimensions * 2
    assert [from_the_front(axis, rank) for axis in dimensions] == dimensions


@pytest.mark.parametrize("axis", [-(2**63), -4, -3, 2, 3, 2**32 + 1, 2**63 - 1])
def test_an_axis_outside_the_range_is_named_with_it(axis: int) -> None:
    with pytest.raises(InvalidNode, match=rf"^axis {axis} is outside \[-2, 1\]$"):
        from_either_end(axis, 2)
    with pytest.raises(InvalidNode, match=rf"^axis {axis} is outside \[0, 1\]$"):
        from_the_front(axis, 2)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_a_scalar_has_no_axis(axis: int) -> None:
    for resolve in (from_either_end, from_the_front):
        with pytest.raises(InvalidNode, match=rf"^axis {axis} .*rank-0"):
            resolve(axis, 0)
    with pytest.raises(InvalidNode, match=r"^axis -1 is outside \[0, 2\]$"):
        from_the_front(-1, 3)


@pytest.mark.parametrize(
    ("shape", "axis", "matrix", "rows"),
    [
        ((2, 3, 4), 0, (1, 24), (1, 2, 12)),
        ((2, 3, 4), 1, (2, 12), (2, 3, 4)),
        ((2, 3, 4), 2, (6, 4), (6, 4, 1)),
        ((5,), 0, (1, 5), (1, 5, 1)),
        ((2, 0, 3), 1, (2, 0), (2, 0, 3)),
        ((2, 0, 3), 2, (0, 3), (0, 3, 1)),
    ],
)
def test_a_tensor_seen_as_a_matrix_and_as_rows(shape, axis, matrix, rows):
    assert matrix_of(shape, axis) == matrix
    assert rows_coerced(shape, axis) == (*matrix, 1)
    assert rows_along(shape, axis) == rows
    assert np.zeros(shape).reshape(matrix).size == np.zeros(shape).reshape(rows).size


def test_rows_are_apart_along_all_axes_but_their_own() -> None:
    def cut(since: int) -> list[int]:
        parts = [at for at, _, _ in rows_apart(since, (4, 4, 4, 999), {"axis": -2}, 1)]
        return [axis for axis in range(4) if len({at[axis].start for at in parts}) > 1]

    assert [cut(since) for since in (1, 11, 13)] == [[0, 1], [0, 1], [0, 1, 3]]
