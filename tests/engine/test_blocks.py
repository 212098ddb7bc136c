import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.engine import axes
from opcheck.engine.axes import parts_along, slices


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(st.integers(0, 6), st.integers(0, 9), st.integers(0, 40)),
    st.integers(1, 60),
    st.integers(1, 20),
)
def test_blocks_hold_every_element_once_in_order_and_are_no_larger_than_asked_for(
    rows: tuple[int, int, int], size: int, least: int
) -> None:
    outer, length, inner = rows
    numbers = np.arange(math.prod(rows)).reshape(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(axes, "_RUN", least)
        found = [*parts_along((0, 2), rows, size)]
    parts = [numbers[part] for part in found]
    assert sorted(n for part in parts for n in part.flat) == numbers.reshape(-1).tolist()
    assert [part.flat[0] for part in parts] == sorted(part.flat[0] for part in parts)
    for a, n, b in found:
        some, beside = len(range(outer)[a]), len(range(inner)[b])
        assert len(range(length)[n]) == length
        # Unless a few rows are.
        assert some * length * beside <= max(size, least) or (some == 1 and beside <= least)
        assert beside >= least or range(inner)[b][-1] == inner - 1


def test_blocks_worked_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axes, "_RUN", 2)
    found = parts_along((0, 2), (5, 2, 3), 12)
    assert [*found] == [np.s_[a : min(a + 2, 5), 0:2, 0:3] for a in (0, 2, 4)]
    found = parts_along((0, 2), (2, 4, 5), 8)
    assert [*found] == [np.s_[a : a + 1, 0:4, b : min(b + 2, 5)] for a in (0, 1) for b in (0, 2, 4)]
    assert [*slices(7, 3)] == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert [*slices(0, 3)] == []
