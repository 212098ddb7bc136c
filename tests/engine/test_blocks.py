import math
import threading
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.engine.axes import parts_along, slices
from opcheck.engine.native import as_laid_out, each


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
    found = [*parts_along((0, 2), rows, size, least)]
    parts = [numbers[part] for part in found]
    assert sorted(n for part in parts for n in part.flat) == numbers.reshape(-1).tolist()
    assert [part.flat[0] for part in parts] == sorted(part.flat[0] for part in parts)
    for a, n, b in found:
        some, beside = len(range(outer)[a]), len(range(inner)[b])
        assert len(range(length)[n]) == length
        # Unless a few rows are.
        assert some * length * beside <= max(size, least) or (some == 1 and beside <= least)
        assert beside >= least or range(inner)[b][-1] == inner - 1


def test_blocks_worked_out_by_hand() -> None:
    found = parts_along((0, 2), (5, 2, 3), 12, run=1)
    assert [*found] == [np.s_[a : min(a + 2, 5), 0:2, 0:3] for a in (0, 2, 4)]
    found = parts_along((0, 2), (2, 4, 5), 8, run=2)
    assert [*found] == [np.s_[a : a + 1, 0:4, b : min(b + 2, 5)] for a in (0, 1) for b in (0, 2, 4)]
    assert [*slices(7, 3)] == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert [*slices(0, 3)] == []


@pytest.mark.parametrize("threads", [1, 2, 3, 100])
def test_each_piece_is_worked_on_once_and_an_error_in_one_is_raised(threads: int) -> None:
    done: list[int] = []
    each(done.append, iter(range(50)), threads)
    each(done.append, [], threads)
    assert sorted(done) == list(range(50))

    def work(piece: int) -> None:
        if piece == 3:
            raise IndexError(f"piece {piece}")

    with pytest.raises(IndexError, match="piece 3"):
        each(work, range(5), threads)


@pytest.mark.parametrize("threads", [2, 3])
def test_as_many_threads_as_asked_for_work_at_a_time(threads: int) -> None:
    # Each waits for the others, so that fewer would never be done.
    together = threading.Barrier(threads, timeout=30)
    seen: set[int] = set()

    def work(piece: int) -> None:
        together.wait()
        seen.add(threading.get_ident())

    each(work, range(6), threads)
    assert len(seen) == threads
    assert threading.get_ident() not in seen
    alone: set[int] = set()
    for pieces, count in ((range(4), 1), (range(1), 8)):
        each(lambda piece: alone.add(threading.get_ident()), pieces, count)
    assert alone == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 2])
def test_warnings_of_numpy_are_as_the_caller_has_them(threads: int) -> None:
    def work(piece: int) -> None:
        np.divide(np.ones(2), np.zeros(2))

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        each(work, range(2), threads)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        each(work, range(4), threads)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_what_lies_in_order_can_be_seen_in_any_shape(dtype: Any) -> None:
    x = np.zeros((4, 6), dtype)
    x.flags.writeable = False
    for array in (x, x[1:3], x.reshape(2, 2, 6), x[:, :, np.newaxis], x[:0], x[2:3, 1:4]):
        assert as_laid_out(array)
        assert array.size == 0 or np.shares_memory(array.reshape(-1), array)
    swapped = x.view(np.uint16 if x.itemsize == 2 else np.uint32).byteswap()
    odd = np.zeros(4 * x.itemsize + 1, np.uint8)[1:].view(dtype)
    for array in (x.T, x[:, ::2], x[::-1], swapped.view(x.dtype.newbyteorder("S")), odd):
        assert not as_laid_out(array)
